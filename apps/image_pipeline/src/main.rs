//! The package binary: its nodes for the launcher, one node by itself, and a source of its
//! hardware.
#![forbid(unsafe_code)]

use crossdock_executor::PackageError;

fn main() -> Result<(), PackageError> {
    crossdock_image_pipeline::nodes::package().main()
}
