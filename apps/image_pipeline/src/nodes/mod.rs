//! The package's nodes: ports and parameters round the computations of this crate.
//!
//! Each node but the camera publishes one image per image, with its header and encoding. None of
//! these computes on pixels.

mod camera;
mod message;
mod rectify;
mod resize;

pub use camera::Camera;
pub use rectify::Rectify;
pub use resize::Resize;

use crate::rectify_setup::rectify_setup_of;
use crossdock_executor::Package;

/// The package with all its node types, and what makes the source of their hardware.
pub fn package() -> Package {
    Package::new("image_pipeline")
        .uploaders(crossdock_offload::uploaders())
        .node::<Camera>()
        .node::<Rectify>()
        .node::<Resize>()
        .set_up("rectify-setup", |it| Ok(rectify_setup_of(it)?))
}
