//! The package binary: its node for the launcher. `crossdock net` starts it by itself.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match crossdock_net::package().main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to hear that it could not be said.
            let _ = writeln!(std::io::stderr(), "crossdock-net: {error}");
            ExitCode::FAILURE
        }
    }
}
