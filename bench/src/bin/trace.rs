//! `trace`: measures what an event costs, off and on, what a traced message costs more, and what
//! a traced chain hop does; writes `trace.json`.

use crossdock_bench::Failure;
use crossdock_bench::chain::{ChainCost, HOPS, measure};
use crossdock_bench::failure::While;
use crossdock_bench::machine::{Machine, pin};
use crossdock_bench::report::Provenance;
use crossdock_bench::samples::{Percentiles, percentiles};
use crossdock_bench::scope::Scope;
use crossdock_comm::{
    Participant, ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous, Subscriber,
    SubscriberOptions,
};
use crossdock_executor::Statistics;
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt64;
use crossdock_trace::{Events, TraceView, Tracepoint, descriptors, init, monotonic_ns};
use serde::Serialize;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Operations of one sample, since one is too short for the clock.
const BATCH: u64 = 1_000;
/// Samples of each variant in each round.
const SAMPLES: usize = 2_000;
/// Times that the variants take turns.
const ROUNDS: usize = 5;
/// What is to be reached, ns.
const EVENT_ON_NS: f64 = 20.0;
const EVENT_OFF_NS: f64 = 0.5;
const MESSAGE_NS: f64 = 200.0;

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
    targets: Vec<Target>,
    rows: Vec<Row>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [option, folder] if option == "--out" => run(&PathBuf::from(folder)),
        _ => Err(Failure::new("reading the command line", "usage: trace --out FOLDER")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// The mean time of one operation, in samples of a batch each.
fn sample(samples: &mut Vec<u64>, mut operation: impl FnMut(u64)) {
    for number in 0..SAMPLES + SAMPLES / 10 {
        let start = Instant::now();
        for step in 0..BATCH {
            operation(step);
        }
        let took_ns = start.elapsed().as_nanos() as u64;
        if number >= SAMPLES / 10 {
            samples.push(took_ns);
        }
    }
}

/// One message from loan to drop, through shared memory, on one thread.
struct Hop {
    publisher: Publisher<UInt64>,
    subscriber: Subscriber<UInt64>,
    _participant: Participant,
}

impl Hop {
    fn open(folder: &Path) -> Result<Self, Failure> {
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder.join("hop")),
            ..ParticipantOptions::new(0, "trace_bench")
        };
        let participant = Participant::open(options).during("opening a participant")?;
        let (node, topic, qos) = ("hop", "/hop", Qos::best_effort(4));
        let options = PublisherOptions { node, topic, qos, max_bytes: Some(64), group: None };
        let publisher = participant.publisher(options).during("making a publisher")?;
        let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
        let subscriber = participant.subscriber(options).during("making a subscriber")?;
        Ok(Self { publisher, subscriber, _participant: participant })
    }

    fn message(&self, number: u64) -> Result<(), Failure> {
        let mut loan = self.publisher.loan(Extra::none()).during("borrowing memory")?;
        loan.message().set_data(number);
        loan.publish().map_err(|refused| refused.reason).during("publishing")?;
        let sample = self.subscriber.take().during("taking")?;
        black_box(sample.map(|sample| sample.message().data()));
        Ok(())
    }
}

fn run(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).during("making the output folder")?;
    let machine = Machine::read()?;
    pin(*machine.allowed.first().during("finding a processor")?)?;
    init("trace_bench");
    let [switch, record] = descriptors().during("finding the trace's memory")?;
    let view = TraceView::open("trace_bench", switch, record).during("opening the trace")?;
    let event = Tracepoint::<(u64, u64, u64)>::new("bench", ["a", "b", "c"]);
    let event = event.during("making a tracepoint")?;
    let scope = Scope::create()?;
    let hop = Hop::open(scope.folder())?;
    let [mut empty, mut clock, mut off, mut on] = [const { Vec::new() }; 4];
    let [mut plain, mut traced] = [const { Vec::new() }; 2];
    let mut failed = Ok(());
    for _ in 0..ROUNDS {
        sample(&mut empty, |step| _ = black_box(step));
        sample(&mut clock, |_| _ = black_box(monotonic_ns()));
        sample(&mut off, |step| emit(event, black_box(step)));
        view.trace(Events::all());
        sample(&mut on, |step| emit(event, black_box(step)));
        sample(&mut traced, |step| note(&mut failed, hop.message(step)));
        view.trace(Events::none());
        sample(&mut plain, |step| note(&mut failed, hop.message(step)));
    }
    failed?;
    let [mut hops, mut traced_hops] = [(); 2].map(|()| empty_cost());
    for _ in 0..ROUNDS {
        add(&mut hops, measure(Statistics::On, scope.folder())?);
        view.trace(Events::usual());
        add(&mut traced_hops, measure(Statistics::On, scope.folder())?);
        view.trace(Events::none());
    }
    let rows = [
        row("empty loop", empty, BATCH)?,
        row("clock read", clock, BATCH)?,
        row("event of three words, off", off, BATCH)?,
        row("event of three words, on", on, BATCH)?,
        row("message, not traced", plain, BATCH)?,
        row("message, all events", traced, BATCH)?,
        row("chain hop, not traced", hops.between_ns, HOPS as u64)?,
        row("chain hop, usual events", traced_hops.between_ns, HOPS as u64)?,
        row("node and hop, not traced", hops.whole_ns, HOPS as u64)?,
        row("node and hop, usual events", traced_hops.whole_ns, HOPS as u64)?,
    ];
    let p50 = |row: usize| rows[row].percentiles.p50_ns;
    let target = |name, p50_ns: f64, at_most_ns| Target {
        name,
        p50_ns,
        at_most_ns,
        reached: p50_ns <= at_most_ns,
    };
    let targets = vec![
        target("event off, beside the empty loop", p50(2) - p50(0), EVENT_OFF_NS),
        target("event on", p50(3), EVENT_ON_NS),
        target("a traced message more", p50(5) - p50(4), MESSAGE_NS),
        // Callbacks, loan, publish and take, of which all but these two share a reading of a clock.
        target("a traced chain hop more, whole", p50(9) - p50(8), MESSAGE_NS),
    ];
    let report = Report { provenance: Provenance::read(), machine, targets, rows: rows.into() };
    print(&report);
    let json = serde_json::to_vec_pretty(&report).during("writing the report as JSON")?;
    std::fs::write(folder.join("trace.json"), json).during("writing trace.json")
}

/// One event, with its values in registers as a node would have them.
#[inline(always)]
fn emit(event: Tracepoint<(u64, u64, u64)>, value: u64) {
    event.emit((value, value + 1, value + 2));
}

/// Keeps the first failure.
fn note(kept: &mut Result<(), Failure>, outcome: Result<(), Failure>) {
    if kept.is_ok() {
        *kept = outcome;
    }
}

fn empty_cost() -> ChainCost {
    ChainCost { between_ns: vec![], whole_ns: vec![] }
}

fn add(all: &mut ChainCost, more: ChainCost) {
    all.between_ns.extend(more.between_ns);
    all.whole_ns.extend(more.whole_ns);
}

fn row(name: &'static str, mut samples_ns: Vec<u64>, unit: u64) -> Result<Row, Failure> {
    let samples = samples_ns.len();
    let percentiles = percentiles(&mut samples_ns, unit as f64).during("measuring")?;
    Ok(Row { name, percentiles, samples })
}

fn print(report: &Report) {
    println!("{:<30}{:>10}{:>10}{:>10}{:>12}", "ns", "p50", "p99", "p99.9", "max");
    for Row { name, percentiles: found, .. } in &report.rows {
        let Percentiles { p50_ns, p99_ns, p999_ns, max_ns } = found;
        println!("{name:<30}{p50_ns:>10.2}{p99_ns:>10.2}{p999_ns:>10.2}{max_ns:>12.1}");
    }
    for Target { name, p50_ns, at_most_ns, reached } in &report.targets {
        let word = if *reached { "reached" } else { "missed" };
        println!("{name}: {p50_ns:.2} ns, at most {at_most_ns:.1} ns: {word}");
    }
}
