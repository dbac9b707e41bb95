//! `service`: measures what a call costs beside two hops of topics, and writes `service.json`.

use crossdock_bench::Failure;
use crossdock_bench::failure::While;
use crossdock_bench::machine::{Cores, Machine};
use crossdock_bench::report::Provenance;
use crossdock_bench::samples::{Percentiles, median, percentiles};
use crossdock_bench::scope::Scope;
use crossdock_bench::service::{CHILD, Case, Measuring, OTHERS, Waits, Way, answer};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Blocks of each way, in turn.
const BLOCKS: usize = 21;
/// Round trips of a block, and of the warm-up before the first one.
const CALLS: usize = 1_000;
/// A call may take so much of two hops of topics.
const AT_MOST: f64 = 1.15;

#[derive(Serialize)]
struct Row {
    way: String,
    bytes: usize,
    waits: &'static str,
    cores: &'static str,
    /// Clients beside the measured one.
    others: usize,
    #[serde(flatten)]
    round_trip: Percentiles,
}

#[derive(Serialize)]
struct Quotient {
    name: String,
    /// p50 over p50.
    of_medians: f64,
    /// Median of the quotients of neighbouring blocks.
    paired: f64,
    /// None: reported only.
    at_most: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    provenance: Provenance,
    machine: Machine,
    quotients: Vec<Quotient>,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [word, ..] if word == CHILD => answer(&arguments),
        [option, folder] if option == "--out" => run(&PathBuf::from(folder)),
        _ => Err(Failure::new("reading the command line", "usage: service --out FOLDER")),
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
    let (mut rows, mut quotients) = (Vec::new(), Vec::new());
    let small = 64;
    let large = 8 << 20;
    let cases = [
        (small, Waits::Asleep, false, Cores::Same, Some(AT_MOST)),
        (small, Waits::Asleep, false, Cores::Different, Some(AT_MOST)),
        (small, Waits::Polling, false, Cores::Different, None),
        (small, Waits::Asleep, true, Cores::Same, None),
        (large, Waits::Asleep, false, Cores::Same, None),
    ];
    for (bytes, waits, crowded, cores, at_most) in cases {
        let placed = machine.placement(cores);
        let Ok(cpus) = placed else { continue };
        let case = Case { bytes, waits, crowded, cpus };
        measure(case, cores, at_most, &mut rows, &mut quotients)?;
    }
    let report = Report { provenance: Provenance::read(), machine, quotients, rows };
    print(&report);
    let json = serde_json::to_vec_pretty(&report).during("writing the report as JSON")?;
    std::fs::write(folder.join("service.json"), json).during("writing service.json")
}

fn measure(
    case: Case,
    cores: Cores,
    at_most: Option<f64>,
    rows: &mut Vec<Row>,
    quotients: &mut Vec<Quotient>,
) -> Result<(), Failure> {
    let scope = Scope::create()?;
    let _answering = case.start(scope.folder())?;
    let mut measuring = Measuring::open(case, scope.folder())?;
    let ways: &[Way] = match case.crowded {
        true => &[Way::Topics, Way::Service, Way::Filtered],
        false => &[Way::Topics, Way::Service],
    };
    let mut samples: Vec<Vec<u64>> = vec![Vec::new(); ways.len()];
    let mut medians: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
    for way in ways {
        measuring.measure(*way, CALLS)?;
    }
    for _ in 0..BLOCKS {
        for (place, way) in ways.iter().enumerate() {
            let mut block = measuring.measure(*way, CALLS)?;
            let found = percentiles(&mut block, 1.0).during("measuring")?;
            medians[place].push(found.p50_ns);
            samples[place].extend(block);
        }
    }
    let waits = if case.waits == Waits::Asleep { "wake" } else { "poll" };
    let cores = if matches!(cores, Cores::Same) { "same" } else { "different" };
    let others = if case.crowded { OTHERS } else { 0 };
    let first = rows.len();
    for (way, samples) in ways.iter().zip(&mut samples) {
        let round_trip = percentiles(samples, 1.0).during("measuring")?;
        let way = format!("{way:?}").to_lowercase();
        rows.push(Row { way, bytes: case.bytes, waits, cores, others, round_trip });
    }
    for place in 1..ways.len() {
        let pairs = medians[place].iter().zip(&medians[0]);
        let paired: Vec<f64> = pairs.map(|(one, topics)| one / topics).collect();
        let row = &rows[first + place];
        let (p50_ns, topics_ns) = (row.round_trip.p50_ns, rows[first].round_trip.p50_ns);
        quotients.push(Quotient {
            name: format!(
                "{} of two topic hops, {} B, {waits}, {cores} cores, {others} others",
                row.way, case.bytes
            ),
            of_medians: p50_ns / topics_ns,
            paired: median(&paired).during("comparing")?,
            at_most: at_most.filter(|_| ways[place] == Way::Service),
        });
    }
    Ok(())
}

fn print(report: &Report) {
    println!("{:<56}{:>12}{:>12}{:>12}", "round trip, ns", "p50", "p99", "p99.9");
    for row in &report.rows {
        let Row { way, bytes, waits, cores, others, round_trip } = row;
        let name = format!("{way}, {bytes} B, {waits}, {cores} cores, {others} others");
        let Percentiles { p50_ns, p99_ns, p999_ns, .. } = round_trip;
        println!("{name:<56}{p50_ns:>12.0}{p99_ns:>12.0}{p999_ns:>12.0}");
    }
    for Quotient { name, of_medians, paired, at_most } in &report.quotients {
        let verdict = match at_most {
            None => String::new(),
            Some(limit) if paired <= limit => format!(", at most {limit}: reached"),
            Some(limit) => format!(", at most {limit}: missed"),
        };
        println!("{name}: {of_medians:.3} (paired {paired:.3}){verdict}");
    }
}
