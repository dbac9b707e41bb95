//! `chain`: measures what a chain hop costs and writes `chain.json`.

use crossdock_bench::chain::{ChainCost, ClockShare, HOPS, Shape, measure};
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Findings, Table, run_command};
use crossdock_bench::machine::pin;
use crossdock_bench::samples::{Percentiles, percentiles};
use crossdock_bench::scope::Scope;
use crossdock_bench::{Failure, yardsticks};
use crossdock_executor::Statistics;
use std::process::ExitCode;

/// Times that each variant runs, in turn.
const ROUNDS: usize = 5;
/// A bare hop may cost this much even where dynamic calls are cheaper.
const BARE_NS: f64 = 10.0;

fn main() -> ExitCode {
    run_command(|_| run())
}

fn run() -> Result<Findings, Failure> {
    let mut found = Findings::new("chain", "Hops of a chain")?;
    pin(*found.machine.allowed.first().during("finding a processor")?)?;
    let scope = Scope::create()?;
    let (mut bare, mut timed) = (ChainCost::default(), ChainCost::default());
    for _ in 0..ROUNDS {
        bare.add(measure(Shape::SMALL, Statistics::Off, scope.folder())?);
        timed.add(measure(Shape::SMALL, Statistics::On, scope.folder())?);
    }
    let clock = ClockShare::measure()?;
    let (calls, reads) = (yardsticks::dynamic_calls()?, yardsticks::clock_reads()?);
    let hops = [
        ("hop, bare", bare.between_ns, clock.between_ns),
        ("hop, statistics on", timed.between_ns, clock.between_ns),
        ("node and hop, bare", bare.whole_ns, clock.whole_ns),
        ("node and hop, statistics on", timed.whole_ns, clock.whole_ns),
    ];
    let mut table = Table::of_times("The mean over the hops of one message", "what");
    let goals = [Some(calls.p50_ns.max(BARE_NS)), Some(reads.p50_ns), None, None];
    for ((name, samples_ns, clock_ns), goal) in hops.into_iter().zip(goals) {
        let times = without_clock(samples_ns, clock_ns)?;
        table.times(name, &times);
        if let Some(at_most_ns) = goal {
            found.target(name, times.p50_ns, at_most_ns, "ns");
        }
    }
    table.times("8 dynamic calls", &calls);
    table.times("4 clock reads", &reads);
    found.table(table);
    let ClockShare { between_ns, whole_ns } = clock;
    found.note(format!(
        "taken off for the benchmark's own clock readings: {between_ns:.1} ns per hop, \
         {whole_ns:.1} ns per node and hop"
    ));
    Ok(found)
}

fn without_clock(mut samples_ns: Vec<u64>, clock_ns: f64) -> Result<Percentiles, Failure> {
    let found = percentiles(&mut samples_ns, HOPS as f64).during("measuring the chain")?;
    Ok(Percentiles {
        p50_ns: found.p50_ns - clock_ns,
        p99_ns: found.p99_ns - clock_ns,
        p999_ns: found.p999_ns - clock_ns,
        max_ns: found.max_ns - clock_ns,
    })
}
