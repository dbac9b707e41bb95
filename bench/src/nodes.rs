//! Crossdock's executors as peers of others: graph and mapping of a shape, the nodes in it, and
//! the life of a process that runs them. The nodes pass messages on and do nothing else.

use crate::Failure;
use crate::between;
use crate::child::block;
use crate::control::{ChildPlan, Command, Control, Launch, Reply, Role, Shape, System, Way};
use crate::failure::While;
use crate::machine::pin;
use crate::payload::Payload;
use crate::rounds::{Gate, now_ns};
use crate::systems::crossdock::{AROUND_BYTES, topic};
use crate::usage::Usage;
use crossdock_comm::{Participant, ParticipantOptions, Publisher, Rendezvous, Subscriber};
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Node, NodeDescription, NodeError, NodeType, Package,
    Remote, Setup, Statistics,
};
use crossdock_graph::{
    Graph, Mapping, PackageDescriptions, Plan, ProcessPlan, RunOptions, Time, Violation, check,
};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::UInt8MultiArray;
use std::cell::Cell;
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Workers of a fork, and so inputs of a join.
pub const WORKERS: usize = 4;
/// Until the source of a chain on one thread begins; then it is polled.
const BEGIN: Duration = Duration::from_millis(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// What the nodes of this process share; nodes are made by the executor, from nothing.
struct Shared {
    payload: Payload,
    gate: Gate,
}

static SHARED: OnceLock<Shared> = OnceLock::new();

thread_local! {
    /// A chain on one thread: messages still to send before and while measuring.
    static WARM_UP: Cell<u32> = const { Cell::new(0) };
    static COUNT: Cell<u32> = const { Cell::new(0) };
    static BEFORE: Cell<Option<Usage>> = const { Cell::new(None) };
}

fn shared() -> Result<&'static Shared, NodeError> {
    SHARED.get().ok_or_else(|| NodeError::new("the benchmark has not said what to do"))
}

fn publish(
    publisher: &Publisher<UInt8MultiArray>,
    payload: Payload,
    number: u64,
) -> Result<(), NodeError> {
    let mut loan = publisher.loan(Extra::none().bytes(payload.bytes))?;
    payload.write(loan.message().data_uninit(payload.bytes)?, number);
    loan.publish().map_err(|refused| refused.reason)?;
    Ok(())
}

fn take(
    subscriber: &Subscriber<UInt8MultiArray>,
    payload: Payload,
    number: u64,
) -> Result<(), NodeError> {
    let sample = subscriber.take()?;
    let sample = sample.ok_or_else(|| NodeError::new(format!("message {number} is not there")))?;
    let data = sample.message().data()?;
    payload.read(data, number).map_err(|failure| NodeError::new(failure.to_string()))
}

/// Publishes whenever the chain has nothing to do.
struct Source {
    out: Publisher<UInt8MultiArray>,
    number: u64,
}

impl NodeType for Source {
    const NAME: &'static str = "source";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("begin", BEGIN).publisher::<UInt8MultiArray>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { out: setup.publisher("out")?, number: 0 })
    }
}

impl Node for Source {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let (warm_up, count) = (u64::from(WARM_UP.get()), u64::from(COUNT.get()));
        if self.number == warm_up {
            let usage = Usage::now().map_err(|failure| NodeError::new(failure.to_string()))?;
            BEFORE.set(Some(usage));
        }
        if self.number == warm_up + count {
            context.finish("measured");
            return Ok(());
        }
        self.number += 1;
        context.poll_again();
        between::begin(self.number);
        publish(&self.out, shared()?.payload, self.number)?;
        between::note_return();
        Ok(())
    }
}

/// Takes and publishes.
struct Relay {
    input: Subscriber<UInt8MultiArray>,
    out: Publisher<UInt8MultiArray>,
    number: u64,
}

impl NodeType for Relay {
    const NAME: &'static str = "relay";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<UInt8MultiArray>("in")
            .publisher::<UInt8MultiArray>("out")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")?, out: setup.publisher("out")?, number: 0 })
    }
}

impl Node for Relay {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        between::note_start();
        self.number += 1;
        let payload = shared()?.payload;
        take(&self.input, payload, self.number)?;
        publish(&self.out, payload, self.number)?;
        between::note_return();
        Ok(())
    }
}

/// The last node of a chain on one thread: it keeps the samples.
struct Last {
    input: Subscriber<UInt8MultiArray>,
    number: u64,
}

impl NodeType for Last {
    const NAME: &'static str = "last";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<UInt8MultiArray>("in")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { input: setup.subscriber("in")?, number: 0 })
    }
}

impl Node for Last {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        between::note_start();
        self.number += 1;
        take(&self.input, shared()?.payload, self.number)?;
        let whole_ns = between::since_begin_ns();
        if self.number > u64::from(WARM_UP.get()) {
            between::keep(whole_ns);
        }
        Ok(())
    }
}

/// The last node of a chain or fork whose head is another process: it tells the head.
struct Tail<const INPUTS: usize> {
    inputs: Vec<Subscriber<UInt8MultiArray>>,
    number: u64,
}

fn input_name(index: usize) -> String {
    format!("in_{index}")
}

impl<const INPUTS: usize> NodeType for Tail<INPUTS> {
    const NAME: &'static str = if INPUTS == 1 { "tail" } else { "join" };

    fn description() -> NodeDescription {
        let add = |interface: NodeDescription, index| {
            interface.subscriber::<UInt8MultiArray>(&input_name(index))
        };
        (0..INPUTS).fold(NodeDescription::new(), add)
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let inputs = (0..INPUTS).map(|index| setup.subscriber(&input_name(index)));
        Ok(Self { inputs: inputs.collect::<Result<_, _>>()?, number: 0 })
    }
}

impl<const INPUTS: usize> Node for Tail<INPUTS> {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        self.number += 1;
        let Shared { payload, gate } = shared()?;
        self.inputs.iter().try_for_each(|input| take(input, *payload, self.number))?;
        gate.arrived(self.number, now_ns()).map_err(|failure| NodeError::new(failure.to_string()))
    }
}

fn package() -> Package {
    Package::new("peers")
        .node::<Source>()
        .node::<Relay>()
        .node::<Last>()
        .node::<Tail<1>>()
        .node::<Tail<WORKERS>>()
}

/// Graph and mapping of a shape, and the names of the mapping's processes.
#[derive(Debug, Clone)]
pub struct Files {
    /// Graph file.
    pub graph: String,
    /// Mapping file.
    pub mapping: String,
    /// One after the other on the way of a message.
    pub processes: Vec<String>,
}

/// Nodes in the order of a message's way, each with its line of the graph.
type Nodes = Vec<(String, String)>;

fn relay(name: &str, from: &str, to: &str) -> (String, String) {
    let ports = format!("inputs: {{ in: {from} }}, outputs: {{ out: {to} }}");
    (name.to_owned(), format!("type: relay, {ports}"))
}

/// True: its first node is one of its own, not another process.
fn is_alone(shape: Shape, system: System) -> bool {
    system == System::CrossdockChain && matches!(shape, Shape::Chain(_))
}

/// The nodes behind a head that is another process, or in front of them one that is not.
fn nodes(shape: Shape, system: System, topic_of: &impl Fn(&str) -> String) -> Nodes {
    let hop = |index: usize| topic_of(&hop_name(index));
    let mut nodes = vec![];
    match shape {
        Shape::Chain(count) => {
            let last = count - 2;
            let alone = is_alone(shape, system);
            if alone {
                nodes.push((
                    "first".into(),
                    format!("type: source, outputs: {{ out: {} }}", hop(0)),
                ));
            }
            for index in 1..=last {
                nodes.push(relay(&format!("relay_{index}"), &hop(index - 1), &hop(index)));
            }
            let (kind, port) = if alone { ("last", "in") } else { ("tail", "in_0") };
            let ports = format!("type: {kind}, inputs: {{ {port}: {} }}", hop(last));
            nodes.push(("last".into(), ports));
        }
        Shape::Fork(workers) => {
            let (start, spread) = (topic_of("start"), topic_of("spread"));
            nodes.push(relay("source", &start, &spread));
            let mut inputs = String::new();
            for worker in 0..workers {
                let part = topic_of(&part_name(worker));
                nodes.push(relay(&format!("worker_{worker}"), &spread, &part));
                // Writing into a string cannot fail.
                let _ = write!(inputs, "{}: {part}, ", input_name(worker));
            }
            let all: Vec<String> = (0..workers).map(input_name).collect();
            let all = format!("condition: {{ all_of: [{}] }}", all.join(", "));
            nodes.push(("last".into(), format!("type: join, inputs: {{ {inputs} }}, {all}")));
        }
    }
    nodes
}

/// Name of the topic between two nodes of a chain.
pub fn hop_name(index: usize) -> String {
    format!("hop_{index}")
}

/// Name of the topic from a worker to the join.
pub fn part_name(worker: usize) -> String {
    format!("part_{worker}")
}

/// Writes the files of `shape` as `system` runs it, with topics of the case `case_name`.
pub fn files(shape: Shape, system: System, case_name: &str, bytes: usize) -> Files {
    let topic_of = |name: &str| topic(&format!("{case_name}/{name}"));
    let nodes = nodes(shape, system, &topic_of);
    let names = match shape {
        Shape::Chain(count) => (0..count - 1).map(hop_name).collect(),
        Shape::Fork(workers) => ["start", "spread"]
            .map(str::to_owned)
            .into_iter()
            .chain((0..workers).map(part_name))
            .collect::<Vec<_>>(),
    };
    let (mut topics, mut lines) = (String::new(), String::new());
    let max_bytes = bytes + AROUND_BYTES;
    for (index, name) in names.iter().enumerate() {
        let external = index == 0 && !is_alone(shape, system);
        let external = if external { "external: true, " } else { "" };
        // Writing into a string cannot fail.
        let _ = writeln!(
            topics,
            "  {}: {{ type: std_msgs/msg/UInt8MultiArray, {external}max_bytes: {max_bytes}, \
             qos: {{ reliability: best_effort, depth: 4 }} }}",
            topic_of(name)
        );
    }
    for (name, line) in &nodes {
        let _ = writeln!(lines, "  {name}: {{ package: peers, {line} }}");
    }
    let names: Vec<&str> = nodes.iter().map(|(name, _)| name.as_str()).collect();
    let (mut processes, mut mapping) = (vec![], String::from("crossdock: 1\nprocesses:\n"));
    let mut add = |process: &str, executor: &str| {
        let _ = writeln!(mapping, "  {process}: {{ executors: [ {{ {executor} }} ] }}");
        processes.push(process.to_owned());
    };
    match system {
        System::CrossdockEvent => {
            names.iter().for_each(|name| add(name, &format!("mode: event, nodes: [{name}]")));
        }
        System::CrossdockGraph => {
            let nodes = names.join(", ");
            add("all", &format!("mode: graph, threads: 2, nodes: [{nodes}]"));
        }
        _ => add("all", &format!("mode: chain, nodes: [{}]", names.join(", "))),
    }
    let graph = format!("crossdock: 1\nname: peers\ntopics:\n{topics}nodes:\n{lines}");
    Files { graph, mapping, processes }
}

fn plan_of(launch: &Launch) -> Result<ProcessPlan, Failure> {
    let sentences = |violations: Vec<Violation>| {
        let sentences: Vec<String> = violations.iter().map(ToString::to_string).collect();
        Failure::new("planning the nodes", sentences.join("; "))
    };
    let Launch { graph, mapping, process } = launch;
    let graph = Graph::from_yaml("peers.graph.yaml", graph.as_bytes()).map_err(sentences)?;
    let mapping =
        Mapping::from_yaml("peers.mapping.yaml", mapping.as_bytes()).map_err(sentences)?;
    let interfaces = PackageDescriptions {
        binaries: vec![package().description()],
        ..PackageDescriptions::default()
    };
    let options = RunOptions { time: Time::Wall, ..RunOptions::PLAIN };
    let plan: Plan = check(&graph, &mapping, &interfaces, &options).map_err(sentences)?;
    let mut processes = plan.processes.into_iter();
    processes.find(|plan| plan.name == *process).during("finding the process of the plan")
}

fn prepare(plan: &ChildPlan) -> Result<(ProcessPlan, Participant), Failure> {
    let launch = plan.way.launch.as_ref().during("finding the graph")?;
    let process = plan_of(launch)?;
    let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
    // Set once per process, which plays one part only.
    let _ = SHARED.set(Shared { payload, gate: Gate::open(plan)? });
    let rendezvous = Rendezvous::Folder(plan.folder.join("crossdock"));
    let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, "peers") };
    let participant = Participant::open(options).during("opening a participant")?;
    Ok((process, participant))
}

fn executor(
    process: &ProcessPlan,
    index: usize,
    participant: &Participant,
    remote: Remote,
) -> Result<Executor, Failure> {
    let mut executor = Executor::new(ExecutorOptions {
        participant,
        package: &package(),
        plan: process.executors.get(index).during("finding an executor")?,
        time: process.time,
        duration_ns: None,
        chains: &process.chains,
        statistics: Statistics::On,
        remote,
    })
    .during("making the executor")?;
    executor.connect(CONNECT_TIMEOUT).during("connecting the nodes")?;
    Ok(executor)
}

/// Runs the executors of one process until the coordinator has no more commands.
pub fn serve(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
    let (process, participant) = prepare(plan)?;
    let remotes: Vec<Remote> = process.executors.iter().map(|_| Remote::new()).collect();
    let (ready, readies) = channel();
    std::thread::scope(|scope| {
        let threads: Vec<_> = remotes
            .iter()
            .enumerate()
            .map(|(index, remote)| {
                let (process, participant, ready) = (&process, &participant, ready.clone());
                let cpu = plan.way.cpus.get(index % plan.way.cpus.len().max(1)).copied();
                scope.spawn(move || {
                    pin(cpu.unwrap_or(plan.cpu))?;
                    run(process, index, participant, remote.clone(), &ready)
                })
            })
            .collect();
        drop(ready);
        let served = report(control, readies.iter().take(threads.len()).count(), threads.len());
        remotes.iter().for_each(Remote::stop);
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<(), Failure>>| {
            thread.join().map_err(|_| Failure::new("running the nodes", "an executor panicked"))?
        };
        let ended: Result<Vec<()>, Failure> = threads.into_iter().map(join).collect();
        ended.and(served)
    })
}

fn run(
    process: &ProcessPlan,
    index: usize,
    participant: &Participant,
    remote: Remote,
    ready: &Sender<()>,
) -> Result<(), Failure> {
    let mut executor = executor(process, index, participant, remote)?;
    // The receiver counts them; when it is gone, so is the run.
    let _ = ready.send(());
    executor.run().during("running the nodes").map(drop)
}

fn report(control: &mut Control, ready: usize, of: usize) -> Result<(), Failure> {
    (ready == of).then_some(()).during("starting the executors")?;
    control.reply(&Reply::Ready)?;
    let mut before = Usage::now()?;
    while let Some(command) = control.await_command()? {
        match command {
            Command::Run { .. } => before = Usage::now()?,
            Command::Report => control.reply(&block(vec![], Usage::now()?.since(before)))?,
        }
    }
    Ok(())
}

/// The plan of a chain of two nodes where others publish and take by hand on one thread.
pub fn alone(plan: ChildPlan) -> ChildPlan {
    let shape = Shape::Chain(2);
    let way = one_process(shape, plan.system, &plan.case_name, plan.payload_bytes);
    ChildPlan { role: Role::OneThread, way, ..plan }
}

/// What the process of a shape that is all in one needs to know.
pub fn one_process(shape: Shape, system: System, case_name: &str, bytes: usize) -> Way {
    let Files { graph, mapping, mut processes } = files(shape, system, case_name, bytes);
    let launch = processes.pop().map(|process| Launch { graph, mapping, process });
    Way { shape: Some(shape), launch, ..Way::default() }
}

/// Runs a chain on this thread, once per block.
pub fn one_thread(plan: &ChildPlan, control: &mut Control) -> Result<(), Failure> {
    let (process, participant) = prepare(plan)?;
    control.reply(&Reply::Ready)?;
    while let Some(Command::Run { warm_up, count }) = control.await_command()? {
        WARM_UP.set(warm_up);
        COUNT.set(count);
        between::clear(count as usize);
        let mut executor = executor(&process, 0, &participant, Remote::new())?;
        executor.run().during("running the chain")?;
        let after = Usage::now()?;
        let usage = after.since(BEFORE.take().during("finding when the measuring began")?);
        let (samples_ns, seconds_ns) = between::take();
        control.reply(&Reply::Block { samples_ns, seconds_ns, usage })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_a_graph_in_every_mapping() {
        let systems = [System::CrossdockEvent, System::CrossdockGraph, System::CrossdockChain];
        for system in systems {
            for shape in [Shape::Chain(2), Shape::Chain(10), Shape::Fork(WORKERS)] {
                let Files { graph, mapping, processes } = files(shape, system, "case-1", 64);
                for process in processes {
                    let launch = Launch { graph: graph.clone(), mapping: mapping.clone(), process };
                    let plan = plan_of(&launch).expect("a plan");
                    assert!(!plan.executors.is_empty());
                }
            }
        }
    }
}
