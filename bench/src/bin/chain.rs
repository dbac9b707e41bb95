//! `chain`: measures what a chain hop costs and writes `chain.json`.

use crossdock_bench::chain::{ChainCost, ClockShare, HOPS, measure};
use crossdock_bench::failure::While;
use crossdock_bench::machine::{Machine, pin};
use crossdock_bench::report::Provenance;
use crossdock_bench::samples::{Percentiles, percentiles};
use crossdock_bench::scope::Scope;
use crossdock_bench::{Failure, yardsticks};
use crossdock_executor::Statistics;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Times that each variant runs, in turn.
const ROUNDS: usize = 5;
/// A bare hop may cost this much even where dynamic calls are cheaper.
const BARE_NS: f64 = 10.0;

#[derive(Serialize)]
struct Row {
    name: &'static str,
    #[serde(flatten)]
    percentiles: Percentiles,
    samples: usize,
}

#[derive(Serialize)]
struct Target {
    name: &'static str,
    p50_ns: f64,
    at_most_ns: f64,
    reached: bool,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    provenance: Provenance,
    machine: Machine,
    /// A sample is the mean over the hops of one message through the chain.
    hops_per_sample: usize,
    /// Already taken off the rows of the chain.
    clock_share: ClockShare,
    targets: Vec<Target>,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [option, folder] if option == "--out" => run(&PathBuf::from(folder)),
        _ => Err(Failure::new("reading the command line", "usage: chain --out FOLDER")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).during("making the output folder")?;
    let machine = Machine::read()?;
    pin(*machine.allowed.first().during("finding a processor")?)?;
    let scope = Scope::create()?;
    let (mut bare, mut timed) = (empty_cost(), empty_cost());
    for _ in 0..ROUNDS {
        add(&mut bare, measure(Statistics::Off, scope.folder())?);
        add(&mut timed, measure(Statistics::On, scope.folder())?);
    }
    let clock = ClockShare::measure()?;
    let (calls, reads) = (yardsticks::dynamic_calls()?, yardsticks::clock_reads()?);
    let rows = vec![
        row("hop, bare", bare.between_ns, clock.between_ns)?,
        row("hop, statistics on", timed.between_ns, clock.between_ns)?,
        row("node and hop, bare", bare.whole_ns, clock.whole_ns)?,
        row("node and hop, statistics on", timed.whole_ns, clock.whole_ns)?,
    ];
    let bare_at_most = calls.p50_ns.max(BARE_NS);
    let report = Report {
        provenance: Provenance::read(),
        machine,
        hops_per_sample: HOPS,
        clock_share: clock,
        targets: vec![target(&rows[0], bare_at_most), target(&rows[1], reads.p50_ns)],
        rows: rows
            .into_iter()
            .chain([
                Row { name: "8 dynamic calls", percentiles: calls, samples: yardsticks::SAMPLES },
                Row { name: "4 clock reads", percentiles: reads, samples: yardsticks::SAMPLES },
            ])
            .collect(),
    };
    print(&report);
    let json = serde_json::to_vec_pretty(&report).during("writing the report as JSON")?;
    std::fs::write(folder.join("chain.json"), json).during("writing chain.json")
}

fn empty_cost() -> ChainCost {
    ChainCost { between_ns: vec![], whole_ns: vec![] }
}

fn add(all: &mut ChainCost, more: ChainCost) {
    all.between_ns.extend(more.between_ns);
    all.whole_ns.extend(more.whole_ns);
}

fn row(name: &'static str, mut samples_ns: Vec<u64>, clock_ns: f64) -> Result<Row, Failure> {
    let samples = samples_ns.len();
    let found = percentiles(&mut samples_ns, HOPS as f64).during("measuring the chain")?;
    let percentiles = Percentiles {
        p50_ns: found.p50_ns - clock_ns,
        p99_ns: found.p99_ns - clock_ns,
        p999_ns: found.p999_ns - clock_ns,
        max_ns: found.max_ns - clock_ns,
    };
    Ok(Row { name, percentiles, samples })
}

fn target(row: &Row, at_most_ns: f64) -> Target {
    let p50_ns = row.percentiles.p50_ns;
    Target { name: row.name, p50_ns, at_most_ns, reached: p50_ns <= at_most_ns }
}

fn print(report: &Report) {
    println!("{:<30}{:>10}{:>10}{:>10}{:>12}", "ns", "p50", "p99", "p99.9", "max");
    for Row { name, percentiles: found, .. } in &report.rows {
        let Percentiles { p50_ns, p99_ns, p999_ns, max_ns } = found;
        println!("{name:<30}{p50_ns:>10.1}{p99_ns:>10.1}{p999_ns:>10.1}{max_ns:>12.1}");
    }
    for Target { name, p50_ns, at_most_ns, reached } in &report.targets {
        let word = if *reached { "reached" } else { "missed" };
        println!("{name}: {p50_ns:.1} ns, at most {at_most_ns:.1} ns: {word}");
    }
}
