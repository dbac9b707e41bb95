//! The nodes: one draws frames, one shows them.

mod display;
mod renderer;

pub use display::Display;
pub use renderer::Renderer;

use crossdock_executor::Package;

/// How frames say what they are.
const ENCODING: &str = "bgra8";

/// The package with all its node types.
#[must_use]
pub fn package() -> Package {
    Package::new("frames")
        .uploaders(crossdock_offload::uploaders())
        .node::<Renderer>()
        .node::<Display>()
}
