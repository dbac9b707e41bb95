//! What a chain costs: one executor of Crossdock runs nodes that only note when they start and
//! return. Measured is the time between the return of one and the start of the next.

use crate::Failure;
use crate::failure::While;
use crate::samples::percentiles;
use crossdock_comm::{Participant, ParticipantOptions, Publisher, Rendezvous, Subscriber};
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Interface, Node, NodeError, NodeType, Package, Remote,
    Setup, Statistics,
};
use crossdock_graph::{Graph, Interfaces, Mapping, Plan, RunOptions, Time, check};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt64;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Nodes between the first one and the last.
const RELAYS: usize = 16;
/// Hand-overs of one message on its way through the chain.
pub const HOPS: usize = RELAYS + 1;
/// Messages that warm the chain up.
const WARM_UP: usize = 2_000;
/// Messages whose way through the chain is one sample each.
const MESSAGES: usize = 30_000;
/// From one message to the next: far more than the chain takes.
const PERIOD: Duration = Duration::from_micros(20);
/// Spin before sleeping, so that it is the chain that is measured, not the waking.
const SPIN_US: u32 = 1_000;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

thread_local! {
    static RETURNED: Cell<Option<Instant>> = const { Cell::new(None) };
    static BETWEEN_NS: Cell<u64> = const { Cell::new(0) };
    static LEFT: Cell<Option<Instant>> = const { Cell::new(None) };
    static SAMPLES: RefCell<Samples> = const { RefCell::new(Samples::EMPTY) };
}

/// Sums over the hops of one message.
#[derive(Debug)]
struct Samples {
    between_ns: Vec<u64>,
    whole_ns: Vec<u64>,
}

impl Samples {
    const EMPTY: Self = Self { between_ns: vec![], whole_ns: vec![] };
}

/// The first thing that a node does.
#[inline(always)]
fn start() {
    let now = Instant::now();
    if let Some(returned) = RETURNED.get() {
        BETWEEN_NS.set(BETWEEN_NS.get() + (now - returned).as_nanos() as u64);
    }
}

/// The last thing that a node does.
#[inline(always)]
fn finish() {
    RETURNED.set(Some(Instant::now()));
}

fn publish(publisher: &Publisher<UInt64>, value: u64) -> Result<(), NodeError> {
    let mut loan = publisher.loan(Extra::none())?;
    loan.message().set_data(value);
    loan.publish().map_err(|refused| refused.reason)?;
    Ok(())
}

/// Publishes at each time of its timer, and ends the run.
struct First {
    out: Publisher<UInt64>,
    messages: usize,
}

impl NodeType for First {
    const NAME: &'static str = "first";

    fn interface() -> Interface {
        Interface::new().timer("step", PERIOD).output::<UInt64>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { out: setup.publisher("out")?, messages: 0 })
    }
}

impl Node for First {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        if self.messages == WARM_UP + MESSAGES {
            context.finish("measured");
            return Ok(());
        }
        self.messages += 1;
        publish(&self.out, self.messages as u64)?;
        BETWEEN_NS.set(0);
        finish();
        LEFT.set(RETURNED.get());
        Ok(())
    }
}

/// Takes and publishes.
struct Relay {
    input: Subscriber<UInt64>,
    out: Publisher<UInt64>,
}

impl NodeType for Relay {
    const NAME: &'static str = "relay";

    fn interface() -> Interface {
        Interface::new().input::<UInt64>("in").output::<UInt64>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")?, out: setup.publisher("out")? })
    }
}

impl Node for Relay {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        start();
        if let Some(sample) = self.input.take()? {
            publish(&self.out, sample.message().data())?;
        }
        finish();
        Ok(())
    }
}

/// Takes, and notes what the message's way has cost.
struct Last {
    input: Subscriber<UInt64>,
    next: usize,
}

impl NodeType for Last {
    const NAME: &'static str = "last";

    fn interface() -> Interface {
        Interface::new().input::<UInt64>("in")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")?, next: 1 })
    }
}

impl Node for Last {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        start();
        let whole_ns = LEFT.get().map_or(0, |left| left.elapsed().as_nanos() as u64);
        let number = self.input.take()?.map(|sample| sample.message().data());
        if number != Some(self.next as u64) {
            return Err(NodeError::new(format!("{number:?} came instead of {}", self.next)));
        }
        self.next += 1;
        if self.next > WARM_UP {
            SAMPLES.with_borrow_mut(|samples| {
                samples.between_ns.push(BETWEEN_NS.get());
                samples.whole_ns.push(whole_ns);
            });
        }
        RETURNED.set(None);
        Ok(())
    }
}

/// What a chain has cost per hop, means over the hops of one message.
#[derive(Debug, Default)]
pub struct ChainCost {
    /// From the return of one node to the start of the next, clock included.
    pub between_ns: Vec<u64>,
    /// From the start of one node to the start of the next: with take, publish and drop of a small
    /// message, clock included.
    pub whole_ns: Vec<u64>,
}

impl ChainCost {
    /// Adds what another run has found.
    pub fn add(&mut self, more: Self) {
        self.between_ns.extend(more.between_ns);
        self.whole_ns.extend(more.whole_ns);
    }
}

fn package() -> Package {
    Package::new("hops").node::<First>().node::<Relay>().node::<Last>()
}

/// first -> relay_1 -> ... -> last in one executor.
fn plan() -> Result<Plan, Failure> {
    let (mut topics, mut nodes, mut order) = (String::new(), String::new(), String::from("first"));
    let mut add = |node: &str, body: &str| {
        // Writing into a string cannot fail.
        let _ = writeln!(nodes, "  {node}: {{ package: hops, {body} }}");
    };
    add("first", "type: first, outputs: { out: /hop_0 }");
    for relay in 1..=RELAYS {
        let from = relay - 1;
        let ports = format!("inputs: {{ in: /hop_{from} }}, outputs: {{ out: /hop_{relay} }}");
        add(&format!("relay_{relay}"), &format!("type: relay, {ports}"));
        let _ = write!(order, ", relay_{relay}");
    }
    add("last", &format!("type: last, inputs: {{ in: /hop_{RELAYS} }}"));
    for hop in 0..HOPS {
        let _ = writeln!(topics, "  /hop_{hop}: {{ type: std_msgs/msg/UInt64 }}");
    }
    let graph = format!("crossdock: 1\nname: hops\ntopics:\n{topics}nodes:\n{nodes}");
    let mapping = format!(
        "crossdock: 1\nprocesses: {{ hops: {{ executors: [ {{ mode: chain, spin_us: {SPIN_US}, \
         nodes: [{order}, last] }} ] }} }}\n"
    );
    let sentences = |violations: Vec<crossdock_graph::Violation>| {
        let sentences: Vec<String> = violations.iter().map(ToString::to_string).collect();
        Failure::new("planning the chain", sentences.join("; "))
    };
    let graph = Graph::from_yaml("hops.graph.yaml", graph.as_bytes()).map_err(sentences)?;
    let mapping = Mapping::from_yaml("hops.mapping.yaml", mapping.as_bytes()).map_err(sentences)?;
    let interfaces =
        Interfaces { binaries: vec![package().description()], ..Interfaces::default() };
    let options = RunOptions { time: Time::Wall, ..RunOptions::PLAIN };
    check(&graph, &mapping, &interfaces, &options).map_err(sentences)
}

/// Runs the chain once on this thread; with `statistics` the executor's clocks are on.
pub fn measure(statistics: Statistics, folder: &Path) -> Result<ChainCost, Failure> {
    let plan = plan()?;
    let process = plan.processes.first().during("finding the process of the chain")?;
    let executor = process.executors.first().during("finding the executor of the chain")?;
    let rendezvous = Rendezvous::Folder(folder.join("chain"));
    let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, "hops") };
    let participant = Participant::open(options).during("opening a participant")?;
    SAMPLES.set(Samples {
        between_ns: Vec::with_capacity(MESSAGES + 1),
        whole_ns: Vec::with_capacity(MESSAGES + 1),
    });
    RETURNED.set(None);
    let mut executor = Executor::new(ExecutorOptions {
        participant: &participant,
        package: &package(),
        plan: executor,
        time: process.time,
        duration_ns: None,
        chains: &process.chains,
        statistics,
        remote: Remote::new(),
    })
    .during("making the executor")?;
    executor.connect(CONNECT_TIMEOUT).during("connecting the chain")?;
    executor.run().during("running the chain")?;
    let Samples { between_ns, whole_ns } = SAMPLES.replace(Samples::EMPTY);
    Ok(ChainCost { between_ns, whole_ns })
}

/// What the clock readings around a hop show with nothing in between.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ClockShare {
    /// In the time from the return of one node to the start of the next.
    pub between_ns: f64,
    /// In the time from the start of one node to the start of the next.
    pub whole_ns: f64,
}

impl ClockShare {
    /// The median over as many samples as the chain has, of as many hops each.
    pub fn measure() -> Result<Self, Failure> {
        let sample = |_| {
            BETWEEN_NS.set(0);
            let left = Instant::now();
            for _ in 0..HOPS {
                finish();
                start();
            }
            (BETWEEN_NS.get(), left.elapsed().as_nanos() as u64)
        };
        let (mut between_ns, mut whole_ns): (Vec<u64>, Vec<u64>) =
            (0..MESSAGES).map(sample).unzip();
        let middle = |samples_ns: &mut Vec<u64>| {
            percentiles(samples_ns, HOPS as f64).during("measuring the clock")
        };
        let (between, whole) = (middle(&mut between_ns)?, middle(&mut whole_ns)?);
        Ok(Self { between_ns: between.p50_ns, whole_ns: whole.p50_ns })
    }
}
