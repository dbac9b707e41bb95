//! `figures`: latency over the size of messages, as the Apex.OS paper shows it; writes
//! `figures.json`.

use crossdock_bench::figures::find;
use crossdock_bench::findings::run_command;
use crossdock_bench::programs::child_or;
use std::process::ExitCode;

fn main() -> ExitCode {
    child_or(|| run_command(find))
}
