//! `reference`: the Autoware reference system in each of its mappings. Writes `reference.json`.

use crossdock_bench::{findings, reference};
use std::process::ExitCode;

fn main() -> ExitCode {
    findings::run_command(reference::measure)
}
