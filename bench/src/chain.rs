//! What a chain costs: one executor of Crossdock runs nodes that note when they start and return,
//! and pass a message on. Measured is the time between the return of one and the start of the next.

use crate::Failure;
use crate::failure::While;
use crate::payload::{BYTES_MIN, Payload};
use crate::samples::percentiles;
use crossdock_comm::{Participant, ParticipantOptions, Publisher, Rendezvous, Sample, Subscriber};
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Node, NodeDescription, NodeError, NodeType, Package,
    Remote, Setup, Statistics,
};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, Plan, RunOptions, Time, check};
use crossdock_msg::types::std_msgs::{UInt8MultiArray, UInt64};
use crossdock_msg::{Extra, Message};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Hand-overs of one small message on its way through the chain.
pub const HOPS: usize = Shape::SMALL.hops();

/// A chain and its messages.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Nodes between the first one and the last.
    pub relays: usize,
    /// What the messages hold: bytes of this many, or `None`: one number.
    pub payload: Option<Payload>,
    /// Messages that warm the chain up.
    pub warm_up: usize,
    /// Messages whose way through the chain is one sample each.
    pub messages: usize,
}

impl Shape {
    /// 18 nodes, one number.
    pub const SMALL: Self = Self { relays: 16, payload: None, warm_up: 2_000, messages: 30_000 };

    /// Hand-overs of one message.
    pub const fn hops(self) -> usize {
        self.relays + 1
    }

    /// A message without payload code is one number.
    fn payload(self) -> Payload {
        self.payload.unwrap_or(Payload { bytes: BYTES_MIN, touched: false })
    }
}

/// From one message to the next: far more than the chain takes.
const PERIOD: Duration = Duration::from_micros(20);
/// Spin before sleeping, so that it is the chain that is measured, not the waking.
const SPIN_US: u32 = 1_000;
/// Room for the parts of a message around its bytes.
const AROUND_BYTES: usize = 256;
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

/// What the messages of a chain are made of.
trait Carried: Message + 'static {
    /// The node types for it.
    const NODES: [&'static str; 3];

    fn publish(out: &Publisher<Self>, number: u64, payload: Payload) -> Result<(), NodeError>;

    /// The number.
    fn read(sample: &Sample<Self>, payload: Payload) -> Result<u64, NodeError>;
}

impl Carried for UInt64 {
    const NODES: [&'static str; 3] = ["first", "relay", "last"];

    #[inline]
    fn publish(out: &Publisher<Self>, number: u64, _: Payload) -> Result<(), NodeError> {
        let mut loan = out.loan(Extra::none())?;
        loan.message().set_data(number);
        loan.publish().map_err(|refused| refused.reason)?;
        Ok(())
    }

    #[inline]
    fn read(sample: &Sample<Self>, _: Payload) -> Result<u64, NodeError> {
        Ok(sample.message().data())
    }
}

impl Carried for UInt8MultiArray {
    const NODES: [&'static str; 3] = ["first_of_bytes", "relay_of_bytes", "last_of_bytes"];

    #[inline]
    fn publish(out: &Publisher<Self>, number: u64, payload: Payload) -> Result<(), NodeError> {
        let mut loan = out.loan(Extra::none().bytes(payload.bytes))?;
        payload.write(loan.message().data_uninit(payload.bytes)?, number);
        loan.publish().map_err(|refused| refused.reason)?;
        Ok(())
    }

    #[inline]
    fn read(sample: &Sample<Self>, payload: Payload) -> Result<u64, NodeError> {
        let data = sample.message().data()?;
        let number = data.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        payload.read(data, number)?;
        Ok(number)
    }
}

/// What all node types are told.
fn with_payload(interface: NodeDescription) -> NodeDescription {
    interface.parameter("bytes", BYTES_MIN as i64, "length of a message").parameter(
        "touched",
        false,
        "whether all of it is written and read",
    )
}

fn payload(setup: &Setup<'_>) -> Result<Payload, NodeError> {
    Ok(Payload { bytes: setup.parameter("bytes")?, touched: setup.parameter("touched")? })
}

/// Publishes at each time of its timer, and ends the run.
struct First<T: Carried> {
    out: Publisher<T>,
    payload: Payload,
    left: usize,
    number: u64,
}

impl<T: Carried> NodeType for First<T> {
    const NAME: &'static str = T::NODES[0];

    fn description() -> NodeDescription {
        with_payload(NodeDescription::new().timer("step", PERIOD).publisher::<T>("out")).parameter(
            "messages",
            0,
            "after which the run ends",
        )
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (payload, left) = (payload(setup)?, setup.parameter("messages")?);
        Ok(Self { out: setup.publisher("out")?, payload, left, number: 0 })
    }
}

impl<T: Carried> Node for First<T> {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(left) = self.left.checked_sub(1) else {
            context.finish("measured");
            return Ok(());
        };
        self.left = left;
        self.number += 1;
        T::publish(&self.out, self.number, self.payload)?;
        BETWEEN_NS.set(0);
        finish();
        LEFT.set(RETURNED.get());
        Ok(())
    }
}

/// Takes and publishes.
struct Relay<T: Carried> {
    input: Subscriber<T>,
    out: Publisher<T>,
    payload: Payload,
}

impl<T: Carried> NodeType for Relay<T> {
    const NAME: &'static str = T::NODES[1];

    fn description() -> NodeDescription {
        with_payload(NodeDescription::new().subscriber::<T>("in").publisher::<T>("out"))
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let payload = payload(setup)?;
        Ok(Self { input: setup.subscriber("in")?, out: setup.publisher("out")?, payload })
    }
}

impl<T: Carried> Node for Relay<T> {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        start();
        if let Some(sample) = self.input.take()? {
            T::publish(&self.out, T::read(&sample, self.payload)?, self.payload)?;
        }
        finish();
        Ok(())
    }
}

/// Takes, and notes what the message's way has cost.
struct Last<T: Carried> {
    input: Subscriber<T>,
    payload: Payload,
    next: u64,
    warm_up: u64,
}

impl<T: Carried> NodeType for Last<T> {
    const NAME: &'static str = T::NODES[2];

    fn description() -> NodeDescription {
        with_payload(NodeDescription::new().subscriber::<T>("in")).parameter(
            "warm_up",
            0,
            "messages that are not counted",
        )
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (payload, warm_up) = (payload(setup)?, setup.parameter("warm_up")?);
        Ok(Self { input: setup.subscriber("in")?, payload, next: 1, warm_up })
    }
}

impl<T: Carried> Node for Last<T> {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        start();
        let whole_ns = LEFT.get().map_or(0, |left| left.elapsed().as_nanos() as u64);
        let sample = self.input.take()?;
        let number = sample.map(|sample| T::read(&sample, self.payload)).transpose()?;
        if number != Some(self.next) {
            return Err(NodeError::new(format!("{number:?} came instead of {}", self.next)));
        }
        self.next += 1;
        if self.next > self.warm_up {
            SAMPLES.with_borrow_mut(|samples| {
                samples.between_ns.push(BETWEEN_NS.get());
                samples.whole_ns.push(whole_ns);
            });
        }
        RETURNED.set(None);
        Ok(())
    }
}

/// What a chain has cost, sums over the hops of one message.
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
    let small = Package::new("hops").node::<First<UInt64>>().node::<Relay<UInt64>>();
    let small = small.node::<Last<UInt64>>().node::<First<UInt8MultiArray>>();
    small.node::<Relay<UInt8MultiArray>>().node::<Last<UInt8MultiArray>>()
}

/// first -> relay_1 -> ... -> last in one executor.
fn plan(shape: Shape) -> Result<Plan, Failure> {
    let (mut topics, mut nodes, mut order) = (String::new(), String::new(), String::from("first"));
    let Payload { bytes, touched } = shape.payload();
    let (message_type, types) = match shape.payload {
        None => (UInt64::TYPE_NAME, UInt64::NODES),
        Some(_) => (UInt8MultiArray::TYPE_NAME, UInt8MultiArray::NODES),
    };
    let mut add = |node: &str, node_type: &str, ports: &str, more: &str| {
        let parameters = format!("parameters: {{ bytes: {bytes}, touched: {touched}{more} }}");
        let body = format!("package: hops, type: {node_type}, {ports}, {parameters}");
        // Writing into a string cannot fail.
        let _ = writeln!(nodes, "  {node}: {{ {body} }}");
    };
    let messages = format!(", messages: {}", shape.warm_up + shape.messages);
    add("first", types[0], "outputs: { out: /hop_0 }", &messages);
    for relay in 1..=shape.relays {
        let from = relay - 1;
        let ports = format!("inputs: {{ in: /hop_{from} }}, outputs: {{ out: /hop_{relay} }}");
        add(&format!("relay_{relay}"), types[1], &ports, "");
        let _ = write!(order, ", relay_{relay}");
    }
    let ports = format!("inputs: {{ in: /hop_{} }}", shape.relays);
    add("last", types[2], &ports, &format!(", warm_up: {}", shape.warm_up));
    let max_bytes = bytes + AROUND_BYTES;
    for hop in 0..shape.hops() {
        let _ =
            writeln!(topics, "  /hop_{hop}: {{ type: {message_type}, max_bytes: {max_bytes} }}");
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
    let interfaces = PackageDescriptions {
        binaries: vec![package().description()],
        ..PackageDescriptions::default()
    };
    let options = RunOptions { time: Time::Wall, ..RunOptions::PLAIN };
    check(&graph, &mapping, &interfaces, &options).map_err(sentences)
}

/// Runs the chain once on this thread; with `statistics` the executor's clocks are on.
pub fn measure(shape: Shape, statistics: Statistics, folder: &Path) -> Result<ChainCost, Failure> {
    let plan = plan(shape)?;
    let process = plan.processes.first().during("finding the process of the chain")?;
    let executor = process.executors.first().during("finding the executor of the chain")?;
    let rendezvous = Rendezvous::Folder(folder.join("chain"));
    let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, "hops") };
    let participant = Participant::open(options).during("opening a participant")?;
    SAMPLES.set(Samples {
        between_ns: Vec::with_capacity(shape.messages + 1),
        whole_ns: Vec::with_capacity(shape.messages + 1),
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
            (0..Shape::SMALL.messages).map(sample).unzip();
        let middle = |samples_ns: &mut Vec<u64>| {
            percentiles(samples_ns, HOPS as f64).during("measuring the clock")
        };
        let (between, whole) = (middle(&mut between_ns)?, middle(&mut whole_ns)?);
        Ok(Self { between_ns: between.p50_ns, whole_ns: whole.p50_ns })
    }
}
