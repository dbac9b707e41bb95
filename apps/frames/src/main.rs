//! The package binary: its nodes for the launcher.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the command prints")]

use crossdock_frames::nodes::package;
use std::process::ExitCode;

const USAGE: &str = "\
usage: crossdock-frames

The program is started by `crossdock run` and holds the nodes of a graph.
";

fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some("-h" | "--help" | "help") => {
            print!("{USAGE}");
            Ok(())
        }
        Some(other) => Err(format!("there is no command `{other}`\n\n{USAGE}")),
        None => package().main().map_err(|error| error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("crossdock-frames: {error}");
            ExitCode::FAILURE
        }
    }
}
