//! Runs a software node on messages and gives what it publishes: its hardware twin has to publish
//! the same.

use crossdock_comm::{Participant, ParticipantOptions, Publisher, Rendezvous, Subscriber};
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Node, NodeDescription, NodeError, NodeType, Package,
    Remote, RunEnd, Setup, Statistics,
};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, RunOptions, check};
use crossdock_hardware_tests::must;
use crossdock_msg::types::sensor_msgs::{Image, ImageView};
use crossdock_msg::{Block, Extra, FlatBuffer, Message};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;

thread_local! {
    static SENT: RefCell<VecDeque<FlatBuffer>> = const { RefCell::new(VecDeque::new()) };
    static SEEN: RefCell<Vec<FlatBuffer>> = const { RefCell::new(Vec::new()) };
}

/// Publishes the image message of a block.
pub(crate) fn publish(publisher: &Publisher<Image>, block: &FlatBuffer) -> Result<(), NodeError> {
    let from: ImageView<'_> = Image::view(Block::new(block.as_slice()))?;
    let (frame_id, encoding, data) = (from.header().frame_id()?, from.encoding()?, from.data()?);
    let extra = Extra::none().text(frame_id.len()).text(encoding.len()).bytes(data.len());
    let mut loan = publisher.loan(extra)?;
    let mut to = loan.message();
    to.header().stamp().set_sec(from.header().stamp().sec());
    to.header().stamp().set_nanosec(from.header().stamp().nanosec());
    to.header().set_frame_id_text(frame_id)?;
    to.set_height(from.height());
    to.set_width(from.width());
    to.set_encoding_text(encoding)?;
    to.set_is_bigendian(from.is_bigendian());
    to.set_step(from.step());
    to.data_uninit(data.len())?.copy_from_slice(data);
    loan.publish()?;
    Ok(())
}

/// Publishes what there is, a message at each time of its timer.
struct Camera(Publisher<Image>);

impl NodeType for Camera {
    const NAME: &'static str = "camera";

    fn description() -> NodeDescription {
        NodeDescription::new().timer("step", Duration::from_micros(100)).publisher::<Image>("image")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self(setup.publisher("image")?))
    }
}

impl Node for Camera {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(block) = SENT.with_borrow_mut(VecDeque::pop_front) else {
            context.finish("all messages are sent");
            return Ok(());
        };
        publish(&self.0, &block)
    }
}

/// Keeps what comes.
struct Sink<M: Message>(Subscriber<M>);

impl<M: Message + 'static> NodeType for Sink<M> {
    const NAME: &'static str = "sink";

    fn description() -> NodeDescription {
        NodeDescription::new().subscriber::<M>("image")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self(setup.subscriber("image")?))
    }
}

impl<M: Message + 'static> Node for Sink<M> {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Some(sample) = self.0.take()? else { return Ok(()) };
        let block = FlatBuffer::from_bytes(sample.block().as_bytes());
        SEEN.with_borrow_mut(|seen| seen.push(block));
        Ok(())
    }
}

/// The messages of type `M` that node type `node` of `package` publishes at `output` for the images
/// at `input`, as blocks; `told` are its parameters, in YAML. None of them may make it fail.
pub(crate) fn published<M: Message + 'static>(
    package: Package,
    node: &str,
    [input, output]: [&str; 2],
    told: &str,
    messages: Vec<FlatBuffer>,
) -> Vec<FlatBuffer> {
    let max_bytes =
        messages.iter().map(|it| it.as_slice().len()).max().unwrap_or(0).max(1 << 20) + 256;
    let name = package.description().packages[0].name.clone();
    let graph = format!(
        "crossdock: 1\nname: twin\ntopics:\n  /in: {{ max_bytes: {max_bytes} }}\n  /out: {{ max_bytes: \
         {max_bytes} }}\nnodes:\n  camera: {{ package: ends, type: camera, outputs: {{ image: /in }} }}\n  \
         twin: {{ package: {name}, type: {node}, inputs: {{ {input}: /in }}, outputs: {{ {output}: /out }}, \
         parameters: {told} }}\n  sink: {{ package: ends, type: sink, inputs: {{ image: /out }} }}\n"
    );
    let mapping = "crossdock: 1\nprocesses: { twin: { executors: [ { mode: chain, nodes: [camera, twin, \
                   sink] } ] } }\n";
    let shown = |all: Vec<crossdock_graph::Violation>| {
        all.iter().map(|it| it.to_string() + "\n").collect::<String>()
    };
    let graph = must(Graph::from_yaml("twin", graph.as_bytes()).map_err(shown));
    let mapping = must(Mapping::from_yaml("twin", mapping.as_bytes()).map_err(shown));
    let package = Package::new("ends").node::<Camera>().node::<Sink<M>>().with(package);
    let interfaces =
        PackageDescriptions { binaries: vec![package.description()], hardware: Vec::new() };
    let plan = must(check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).map_err(shown));
    let folder = std::env::temp_dir().join(format!(
        "crossdock-twin-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    must(std::fs::DirBuilder::new().mode(0o700).create(&folder));
    let participant = must(Participant::open(ParticipantOptions {
        rendezvous: Rendezvous::Folder(folder.clone()),
        ..ParticipantOptions::new(0, "twin")
    }));
    SENT.set(messages.into());
    let process = &plan.processes[0];
    let mut executor = must(Executor::new(ExecutorOptions {
        participant: &participant,
        package: &package,
        plan: &process.executors[0],
        time: process.time,
        duration_ns: None,
        chains: &process.chains,
        statistics: Statistics::Off,
        remote: Remote::new(),
    }));
    must(executor.connect(Duration::from_secs(60)));
    let end = must(executor.run());
    assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
    drop(executor);
    drop(participant);
    must(std::fs::remove_dir_all(&folder));
    SEEN.take()
}
