//! `service`: measures what a call costs beside two hops of topics, and writes `service.json`.

use crossdock_bench::Failure;
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Findings, Table, report, run_command};
use crossdock_bench::machine::Cores;
use crossdock_bench::samples::{median, percentiles};
use crossdock_bench::scope::Scope;
use crossdock_bench::service::{CHILD, Case, Measuring, OTHERS, Waits, Way, answer};
use std::process::ExitCode;

/// Blocks of each way, in turn.
const BLOCKS: usize = 21;
/// Round trips of a block, and of the warm-up before the first one.
const CALLS: usize = 1_000;
/// A call may take so much of two hops of topics.
const AT_MOST: f64 = 1.15;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first() {
        Some(word) if word == CHILD => report(answer(&arguments)),
        _ => run_command(|_| run()),
    }
}

fn run() -> Result<Findings, Failure> {
    let mut found = Findings::new("service", "A call beside two topic hops")?;
    let mut table = Table::of_times("Round trips", "way");
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
        match found.machine.placement(cores) {
            Ok(cpus) => {
                let case = Case { bytes, waits, crowded, cpus };
                measure(case, cores, at_most, &mut table, &mut found)?;
            }
            Err(why) => found.note(format!("cores {cores:?} are not measured: {why}")),
        }
    }
    found.table(table);
    Ok(found)
}

fn measure(
    case: Case,
    cores: Cores,
    at_most: Option<f64>,
    table: &mut Table,
    found: &mut Findings,
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
    let placed = format!("{} B, {waits}, {cores} cores, {others} others", case.bytes);
    let names: Vec<String> = ways.iter().map(|way| format!("{way:?}").to_lowercase()).collect();
    for (name, samples) in names.iter().zip(&mut samples) {
        let round_trip = percentiles(samples, 1.0).during("measuring")?;
        table.times(&format!("{name}, {placed}"), &round_trip);
    }
    for place in 1..ways.len() {
        let pairs = medians[place].iter().zip(&medians[0]);
        let paired: Vec<f64> = pairs.map(|(one, topics)| one / topics).collect();
        let paired = median(&paired).during("comparing")?;
        let name = format!("{} of two topic hops, {placed}", names[place]);
        match at_most.filter(|_| ways[place] == Way::Service) {
            Some(at_most) => found.target(name, paired, at_most, ""),
            None => found.comparison(name, paired, ""),
        }
    }
    Ok(())
}
