//! The package binary: its nodes for the launcher, and one node by itself.
#![forbid(unsafe_code)]

use crossdock_executor::PackageError;
use crossdock_image_pipeline::nodes::package;

fn main() -> Result<(), PackageError> {
    package().main()
}
