//! The package binary: its nodes for the launcher, and one node by itself.
#![forbid(unsafe_code)]

use crossdock_cpu_gpu::nodes::package;
use crossdock_executor::PackageError;

fn main() -> Result<(), PackageError> {
    package().main()
}
