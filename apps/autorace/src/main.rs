//! The package binary: nodes for the launcher.
#![forbid(unsafe_code)]

use crossdock_executor::PackageError;

fn main() -> Result<(), PackageError> {
    crossdock_autorace::nodes::package().main()
}
