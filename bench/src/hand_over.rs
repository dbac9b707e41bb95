//! What it costs to hand a message from one thread of an executor in graph mode to another that
//! sleeps, and beside it a bare futex hand-over between two threads: from just before the
//! publication, or the store of the word, until the other thread runs.

use crate::Failure;
use crate::failure::While;
use crate::machine::pin;
use crossdock_comm::{Participant, ParticipantOptions, Publisher, Rendezvous, Subscriber};
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Node, NodeDescription, NodeError, NodeType, Package,
    Remote, Setup, Statistics,
};
use crossdock_graph::{
    ExecutorPlan, Graph, Mapping, PackageDescriptions, Plan, ProcessPlan, RunOptions, Violation,
    check,
};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt64;
use crossdock_trace::monotonic_ns;
use rustix::io::Errno;
use rustix::thread::futex;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::thread::{Scope, ScopedJoinHandle, scope};
use std::time::{Duration, Instant};

/// From one hand-over to the next: long enough for both threads to sleep.
const PERIOD: Duration = Duration::from_micros(200);
/// Hand-overs that are not counted.
const WARM_UP: usize = 200;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

thread_local! {
    static HAS_SOURCE: Cell<bool> = const { Cell::new(false) };
    static SAMPLES_NS: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
}

/// Publishes the time at each time of its timer, and ends the run.
struct Source {
    out: Publisher<UInt64>,
    left: usize,
}

impl NodeType for Source {
    const NAME: &'static str = "source";

    fn description() -> NodeDescription {
        let interface = NodeDescription::new().timer("step", PERIOD).publisher::<UInt64>("out");
        interface.parameter("messages", 0, "after which the run ends")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        HAS_SOURCE.set(true);
        Ok(Self { out: setup.publisher("out")?, left: setup.parameter("messages")? })
    }
}

impl Node for Source {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(left) = self.left.checked_sub(1) else {
            context.finish("measured");
            return Ok(());
        };
        self.left = left;
        let mut loan = self.out.loan(Extra::none())?;
        loan.message().set_data(monotonic_ns());
        loan.publish().map_err(|refused| refused.reason)?;
        Ok(())
    }
}

/// Notes when it starts, if it is in the other thread.
struct Follower {
    input: Subscriber<UInt64>,
}

impl NodeType for Follower {
    const NAME: &'static str = "follower";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<UInt64>("in")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")? })
    }
}

impl Node for Follower {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let now_ns = monotonic_ns();
        if let Some(sample) = self.input.take()?
            && !HAS_SOURCE.get()
        {
            let took_ns = now_ns.saturating_sub(sample.message().data());
            SAMPLES_NS.with_borrow_mut(|samples| samples.push(took_ns));
        }
        Ok(())
    }
}

fn package() -> Package {
    Package::new("pool").node::<Source>().node::<Follower>()
}

/// One executor of two threads. What its nodes are said to cost puts one follower into each.
fn plan(messages: usize) -> Result<Plan, Failure> {
    let sentences = |violations: Vec<Violation>| {
        let sentences: Vec<String> = violations.iter().map(ToString::to_string).collect();
        Failure::new("planning the pool", sentences.join("; "))
    };
    let follower = "{ package: pool, type: follower, inputs: { in: /handed } }";
    let graph = format!(
        "crossdock: 1\nname: pool\nnodes:\n  source: {{ package: pool, type: source, \
         outputs: {{ out: /handed }}, parameters: {{ messages: {messages} }} }}\n  \
         left: {follower}\n  right: {follower}\n"
    );
    let mapping = "crossdock: 1\nprocesses: { pool: { executors: [ { mode: graph, threads: 2, \
                   nodes: [source, left, right], costs_us: { source: 1, left: 4000, right: 4000 } \
                   } ] } }\n";
    let graph = Graph::from_yaml("pool.graph.yaml", graph.as_bytes()).map_err(sentences)?;
    let mapping = Mapping::from_yaml("pool.mapping.yaml", mapping.as_bytes()).map_err(sentences)?;
    let binaries = vec![package().description()];
    let interfaces = PackageDescriptions { binaries, ..PackageDescriptions::default() };
    check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).map_err(sentences)
}

/// One thread of the pool.
struct Lane<'a> {
    participant: &'a Participant,
    process: &'a ProcessPlan,
    executor: &'a ExecutorPlan,
    remote: Remote,
    cpu: usize,
    messages: usize,
}

impl Lane<'_> {
    fn run(self) -> Result<Vec<u64>, Failure> {
        pin(self.cpu)?;
        SAMPLES_NS.set(Vec::with_capacity(self.messages));
        let mut executor = Executor::new(ExecutorOptions {
            participant: self.participant,
            package: &package(),
            plan: self.executor,
            time: self.process.time,
            duration_ns: None,
            chains: &self.process.chains,
            statistics: Statistics::On,
            remote: self.remote,
        })
        .during("making an executor")?;
        executor.connect(CONNECT_TIMEOUT).during("connecting the pool")?;
        executor.run().during("running the pool")?;
        Ok(SAMPLES_NS.take())
    }
}

/// Times of `count` hand-overs from the first thread of the pool to the second, in ns.
pub fn between_lanes(cpus: [usize; 2], count: usize, folder: &Path) -> Result<Vec<u64>, Failure> {
    let messages = WARM_UP + count;
    let plan = plan(messages)?;
    let process = plan.processes.first().during("finding the process of the pool")?;
    let is_source = |executor: &&ExecutorPlan| executor.has_timers();
    let source = process.executors.iter().find(is_source).during("finding the source")?;
    let other = process.executors.iter().find(|it| !is_source(it)).during("finding its peer")?;
    let rendezvous = Rendezvous::Folder(folder.join("pool"));
    let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, "pool") };
    let participant = &Participant::open(options).during("opening a participant")?;
    let remote = Remote::new();
    let lane =
        |executor, cpu, remote| Lane { participant, process, executor, remote, cpu, messages };
    let mut samples_ns = scope(|threads| {
        let woken = lane(other, cpus[1], remote.clone());
        let woken = threads.spawn(move || woken.run());
        let waking = lane(source, cpus[0], Remote::new());
        let waking = joined(threads.spawn(move || waking.run()));
        // All of the messages have been published; the last may still be under way.
        remote.drain();
        std::thread::sleep(10 * PERIOD);
        remote.stop();
        joined(woken).and_then(|samples_ns| waking.map(|_| samples_ns))
    })?;
    if samples_ns.len() + WARM_UP < messages / 2 {
        let got = samples_ns.len();
        return Err(Failure::new("measuring hand-overs", format!("{got} of {messages} came")));
    }
    Ok(samples_ns.split_off(WARM_UP))
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().map_err(|_| Failure::new("running a thread", "it panicked"))?
}

/// A word on a cache line of its own, and when it was last written.
#[repr(align(64))]
struct Word {
    word: AtomicU32,
    stamp_ns: AtomicU64,
}

/// Times of `count` bare hand-overs: a store, a wake-up, and the load behind the sleep, in ns.
/// `shared`: the word is one that other processes could map, too, as those of doorbells are.
pub fn bare(cpus: [usize; 2], count: usize, shared: bool) -> Result<Vec<u64>, Failure> {
    let flags = if shared { futex::Flags::empty() } else { futex::Flags::PRIVATE };
    let word = Word { word: AtomicU32::new(0), stamp_ns: AtomicU64::new(0) };
    let messages = (WARM_UP + count) as u32;
    scope(|threads| {
        let sleeper = sleeper(threads, &word, flags, messages, cpus[1]);
        let waker = threads.spawn(|| {
            pin(cpus[0])?;
            let mut due = Instant::now() + PERIOD;
            for number in 1..=messages {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                due += PERIOD;
                word.stamp_ns.store(monotonic_ns(), Relaxed);
                // Release: pairs with the load in `sleeper`.
                word.word.store(number, Release);
                futex::wake(&word.word, flags, 1).during("waking")?;
            }
            Ok(())
        });
        joined(waker)?;
        joined(sleeper)
    })
}

fn sleeper<'scope>(
    threads: &'scope Scope<'scope, '_>,
    word: &'scope Word,
    flags: futex::Flags,
    messages: u32,
    cpu: usize,
) -> ScopedJoinHandle<'scope, Result<Vec<u64>, Failure>> {
    threads.spawn(move || {
        pin(cpu)?;
        let mut samples_ns = Vec::with_capacity(messages as usize);
        let mut last = 0;
        while last < messages {
            match futex::wait(&word.word, flags, last, None) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(Failure::new("sleeping on the futex", error)),
            }
            let now_ns = monotonic_ns();
            // Acquire: pairs with the store of the waker.
            let seen = word.word.load(Acquire);
            if seen != last && last >= WARM_UP as u32 {
                samples_ns.push(now_ns.saturating_sub(word.stamp_ns.load(Relaxed)));
            }
            last = seen;
        }
        Ok(samples_ns)
    })
}
