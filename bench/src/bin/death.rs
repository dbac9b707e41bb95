//! `death`: measures how soon the death of a process is known and writes `death.json`.

use crossdock_bench::Failure;
use crossdock_bench::death::{measure, victim};
use crossdock_bench::findings::{Cell, Findings, Table, report, run_command};
use crossdock_bench::plan::Extent;
use crossdock_bench::scope::Scope;
use std::process::ExitCode;

/// Private memory and kills of each row; each with and without the keeper.
const ROWS: [(usize, usize); 6] =
    [(1, 200), (16, 300), (64, 100), (256, 50), (512, 30), (1024, 20)];
/// The row that has a target, and the target.
const TARGET_MIB: usize = 16;
const P50_US: f64 = 1000.0;
const P99_US: f64 = 5000.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [role, rest @ ..] if role == "victim" => report(victim(rest)),
        _ => run_command(run),
    }
}

fn run(extent: Extent) -> Result<Findings, Failure> {
    let mut found = Findings::new("death", "Until the death of a process is known")?;
    let scope = Scope::create()?;
    let columns =
        ["private MiB", "keeper", "known, p50 us", "p99 us", "name free, p50 us", "p99 us"];
    let mut table = Table::new("From SIGKILL", &columns);
    let divisor = if extent == Extent::Quick { 10 } else { 1 };
    for (mib, kills) in ROWS {
        for keeper in [true, false] {
            let row = measure(mib, keeper, (kills / divisor).max(5), scope.folder())?;
            let times =
                [row.known.p50_ns, row.known.p99_ns, row.name_free.p50_ns, row.name_free.p99_ns];
            let us = times.map(|ns| Cell::from(ns / 1e3));
            let has = if keeper { "yes" } else { "no" };
            table.row([mib.into(), has.into()].into_iter().chain(us));
            if mib == TARGET_MIB && keeper {
                let name = |which| format!("death of {mib} MiB known, {which}");
                found.target(name("p50"), row.known.p50_ns / 1e3, P50_US, "us");
                found.target(name("p99"), row.known.p99_ns / 1e3, P99_US, "us");
            }
        }
    }
    found.table(table);
    Ok(found)
}
