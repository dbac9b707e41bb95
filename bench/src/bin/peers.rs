//! `peers`: chains and graphs of nodes in every system that can be had; writes `peers.json`.

use crossdock_bench::findings::run_command;
use crossdock_bench::peers::find;
use crossdock_bench::programs::child_or;
use std::process::ExitCode;

fn main() -> ExitCode {
    child_or(|| run_command(find))
}
