//! `trace`: measures what an event costs, off and on, what a traced message costs more, and what
//! a traced chain hop does; writes `trace.json`.

use crossdock_bench::Failure;
use crossdock_bench::chain::{ChainCost, HOPS, Shape, measure};
use crossdock_bench::failure::While;
use crossdock_bench::findings::{Findings, Table, run_command};
use crossdock_bench::machine::pin;
use crossdock_bench::samples::percentiles;
use crossdock_bench::scope::Scope;
use crossdock_comm::{
    Participant, ParticipantOptions, Publisher, PublisherOptions, Qos, Rendezvous, Subscriber,
    SubscriberOptions,
};
use crossdock_executor::Statistics;
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt64;
use crossdock_trace::{Events, TraceView, Tracepoint, descriptors, init, monotonic_ns};
use std::hint::black_box;
use std::path::Path;
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

fn main() -> ExitCode {
    run_command(|_| run())
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

fn run() -> Result<Findings, Failure> {
    let mut found = Findings::new("trace", "What tracing costs")?;
    pin(*found.machine.allowed.first().during("finding a processor")?)?;
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
    let (mut hops, mut traced_hops) = (ChainCost::default(), ChainCost::default());
    for _ in 0..ROUNDS {
        hops.add(measure(Shape::SMALL, Statistics::On, scope.folder())?);
        view.trace(Events::usual());
        traced_hops.add(measure(Shape::SMALL, Statistics::On, scope.folder())?);
        view.trace(Events::none());
    }
    let mut table = Table::of_times("Off and on, in turn", "what");
    let mut p50_ns = |name: &str, mut samples_ns: Vec<u64>, unit: u64| {
        let times = percentiles(&mut samples_ns, unit as f64).during("measuring")?;
        table.times(name, &times);
        Ok::<f64, Failure>(times.p50_ns)
    };
    let hops_per_sample = HOPS as u64;
    let empty_ns = p50_ns("empty loop", empty, BATCH)?;
    p50_ns("clock read", clock, BATCH)?;
    let off_ns = p50_ns("event of three words, off", off, BATCH)?;
    let on_ns = p50_ns("event of three words, on", on, BATCH)?;
    let plain_ns = p50_ns("message, not traced", plain, BATCH)?;
    let traced_ns = p50_ns("message, all events", traced, BATCH)?;
    p50_ns("chain hop, not traced", hops.between_ns, hops_per_sample)?;
    p50_ns("chain hop, usual events", traced_hops.between_ns, hops_per_sample)?;
    let whole_ns = p50_ns("node and hop, not traced", hops.whole_ns, hops_per_sample)?;
    let traced_whole_ns =
        p50_ns("node and hop, usual events", traced_hops.whole_ns, hops_per_sample)?;
    found.table(table);
    found.target("event off, beside the empty loop", off_ns - empty_ns, EVENT_OFF_NS, "ns");
    found.target("event on", on_ns, EVENT_ON_NS, "ns");
    found.target("a traced message more", traced_ns - plain_ns, MESSAGE_NS, "ns");
    // Callbacks, loan, publish and take; all but these two share a reading of a clock.
    let more_ns = traced_whole_ns - whole_ns;
    found.target("a traced chain hop more, whole", more_ns, MESSAGE_NS, "ns");
    Ok(found)
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
