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

use crossdock_executor::Package;

/// The package with all its node types.
pub fn package() -> Package {
    Package::new("image_pipeline")
        .uploaders(crossdock_offload::uploaders())
        .node::<Camera>()
        .node::<Rectify>()
        .node::<Resize>()
}
