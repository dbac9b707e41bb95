//! `death`: measures how soon the death of a process is known and writes `death.json`.

use crossdock_bench::Failure;
use crossdock_bench::death::{Row, measure, victim};
use crossdock_bench::failure::While;
use crossdock_bench::machine::Machine;
use crossdock_bench::report::Provenance;
use crossdock_bench::scope::Scope;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Private memory and kills of each row; each with and without the keeper.
const ROWS: [(usize, usize); 6] =
    [(1, 200), (16, 300), (64, 100), (256, 50), (512, 30), (1024, 20)];
/// The row that has a target, in microseconds at p50 and p99.
const TARGET: (usize, f64, f64) = (16, 1000.0, 5000.0);

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    provenance: Provenance,
    machine: Machine,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [role, rest @ ..] if role == "victim" => victim(rest),
        [option, folder] if option == "--out" => run(&PathBuf::from(folder), 1),
        [option, folder, quick] if option == "--out" && quick == "--quick" => {
            run(&PathBuf::from(folder), 10)
        }
        _ => Err(Failure::new("reading the command line", "usage: death --out FOLDER [--quick]")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, divisor: usize) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).during("making the output folder")?;
    let scope = Scope::create()?;
    let mut rows = vec![];
    println!(
        "{:>8} {:>7} {:>22} {:>22}",
        "MiB", "keeper", "known: p50, p99 (us)", "name: p50, p99 (us)"
    );
    for (mib, kills) in ROWS {
        for keeper in [true, false] {
            let row = measure(mib, keeper, (kills / divisor).max(5), scope.folder())?;
            let us = |ns: f64| ns / 1000.0;
            println!(
                "{mib:>8} {keeper:>7} {:>11.0}{:>11.0} {:>11.0}{:>11.0}",
                us(row.known.p50_ns),
                us(row.known.p99_ns),
                us(row.name_free.p50_ns),
                us(row.name_free.p99_ns)
            );
            rows.push(row);
        }
    }
    let (mib, p50_us, p99_us) = TARGET;
    if let Some(row) = rows.iter().find(|row| row.private_mib == mib && row.keeper) {
        let reached = row.known.p50_ns <= p50_us * 1e3 && row.known.p99_ns <= p99_us * 1e3;
        let word = if reached { "reached" } else { "missed" };
        println!("{mib} MiB, at most {p50_us} us (p50) and {p99_us} us (p99): {word}");
    }
    let report = Report { provenance: Provenance::read(), machine: Machine::read()?, rows };
    let json = serde_json::to_vec_pretty(&report).during("writing the report as JSON")?;
    std::fs::write(folder.join("death.json"), json).during("writing death.json")
}
