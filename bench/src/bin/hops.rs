//! `hops`: what lies between the nodes of a chain whose messages are large, and between the threads
//! of an executor in graph mode; writes `hops.json`.

use crossdock_bench::Failure;
use crossdock_bench::chain::{ChainCost, ClockShare, Shape, measure};
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Findings, Table, run_command};
use crossdock_bench::hand_over::{bare, between_lanes};
use crossdock_bench::machine::{Cores, pin};
use crossdock_bench::payload::Payload;
use crossdock_bench::plan::Extent;
use crossdock_bench::samples::{Percentiles, median, percentiles};
use crossdock_bench::scope::Scope;
use crossdock_executor::Statistics;
use std::process::ExitCode;

/// Ten nodes.
const RELAYS: usize = 8;
const BYTES: usize = 1 << 20;
/// What all hops of ten nodes may take together, ns.
const SUM_NS: f64 = 1_000.0;
/// A hand-over in graph mode beside a bare one.
const QUOTIENT: f64 = 1.5;

/// How much is measured.
struct Amount {
    rounds: usize,
    /// Messages of a chain in one round.
    messages: usize,
    /// Hand-overs of one kind in one round.
    hand_overs: usize,
}

fn main() -> ExitCode {
    run_command(run)
}

fn run(extent: Extent) -> Result<Findings, Failure> {
    let mut found = Findings::new("hops", "Hops of large messages and between threads")?;
    let scope = Scope::create()?;
    let amount = match extent {
        Extent::Quick => Amount { rounds: 5, messages: 400, hand_overs: 1_000 },
        Extent::Full => Amount { rounds: 10, messages: 2_000, hand_overs: 5_000 },
    };
    hand_overs(&mut found, &amount, &scope)?;
    pin(*found.machine.allowed.first().during("finding a processor")?)?;
    large_messages(&mut found, &amount, &scope)?;
    Ok(found)
}

fn large_messages(found: &mut Findings, amount: &Amount, scope: &Scope) -> Result<(), Failure> {
    let shape = |touched| Shape {
        relays: RELAYS,
        payload: Some(Payload { bytes: BYTES, touched }),
        warm_up: amount.messages / 10,
        messages: amount.messages,
    };
    let cases = [
        ("written and read, clocks on", true, Statistics::On),
        ("written and read, bare", true, Statistics::Off),
        ("8 bytes written and read, clocks on", false, Statistics::On),
        ("8 bytes written and read, bare", false, Statistics::Off),
    ];
    let mut costs = cases.map(|_| ChainCost::default());
    for _ in 0..amount.rounds {
        for (cost, (_, touched, statistics)) in costs.iter_mut().zip(cases) {
            cost.add(measure(shape(touched), statistics, scope.folder())?);
        }
    }
    let title = "Ten nodes, 1 MiB: sum over nine hops of (start - end of the one before)";
    let mut table = Table::of_times(title, "messages");
    for (mut cost, (name, ..)) in costs.into_iter().zip(cases) {
        let times = percentiles(&mut cost.between_ns, 1.0).during("measuring the chain")?;
        table.times(name, &times);
        for (of, value) in [("p50", times.p50_ns), ("p99", times.p99_ns)] {
            found.target(format!("ten nodes, 1 MiB, {name}, {of}"), value, SUM_NS, "ns");
        }
    }
    found.table(table);
    let clock_ns = ClockShare::measure()?.between_ns * shape(true).hops() as f64;
    found.note(format!("{clock_ns:.0} ns of each sum are the benchmark's own clock readings"));
    Ok(())
}

/// The kinds of hand-overs that alternate.
const KINDS: [&str; 3] = ["graph mode", "bare futex, one process", "bare futex, shared"];

fn hand_overs(found: &mut Findings, amount: &Amount, scope: &Scope) -> Result<(), Failure> {
    let mut table = Table::of_times("Hand-over to a thread that sleeps", "between");
    for (cores, where_) in [(Cores::Same, "same core"), (Cores::Different, "different cores")] {
        let cpus = match found.machine.placement(cores) {
            Ok(cpus) => cpus,
            Err(why) => {
                found.note(format!("hand-over, {where_}, not measured: {why}"));
                continue;
            }
        };
        let mut all = KINDS.map(|_| vec![]);
        let mut quotients = vec![];
        for _ in 0..amount.rounds {
            let mut blocks = [
                between_lanes(cpus, amount.hand_overs, scope.folder())?,
                bare(cpus, amount.hand_overs, false)?,
                bare(cpus, amount.hand_overs, true)?,
            ];
            let mut p50s_ns = [0.0; KINDS.len()];
            for (p50_ns, block) in p50s_ns.iter_mut().zip(&mut blocks) {
                *p50_ns = percentiles(block, 1.0).during("measuring hand-overs")?.p50_ns;
            }
            quotients.push(p50s_ns[0] / p50s_ns[1]);
            all.iter_mut().zip(blocks).for_each(|(all, block)| all.extend(block));
        }
        let mut times: Vec<Percentiles> = vec![];
        for (kind, samples_ns) in KINDS.iter().zip(&mut all) {
            let of = percentiles(samples_ns, 1.0).during("measuring hand-overs")?;
            table.times(&format!("{kind}, {where_}"), &of);
            times.push(of);
        }
        let name = format!("graph mode, hand-over beside a bare futex, {where_}");
        found.target(name, times[0].p50_ns / times[1].p50_ns, QUOTIENT, "");
        let paired = median(&quotients).during("comparing hand-overs")?;
        found.comparison(format!("the same, {where_}, paired blocks"), paired, "");
        let shared = times[0].p50_ns / times[2].p50_ns;
        found.comparison(format!("the same, {where_}, beside a shared futex"), shared, "");
    }
    found.table(table);
    Ok(())
}
