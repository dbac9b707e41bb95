//! Runs a software node on messages and gives what it publishes: its hardware twin has to publish
//! the same.

use crossdock_autorace::messages::autorace_msgs::{Lane, TrafficLight};
use crossdock_autorace::nodes::package as software;
use crossdock_comm::{Participant, ParticipantOptions, Publisher, Rendezvous, Subscriber};
use crossdock_executor::{
    Context, Executor, ExecutorOptions, Node, NodeDescription, NodeError, NodeType, Package,
    Remote, RunEnd, Setup, Statistics,
};
use crossdock_graph::{
    Graph, Mapping, PackageDescriptions, ParameterOverrides, RunOptions, Violation, check,
};
use crossdock_hardware_tests::must;
use crossdock_msg::types::geometry_msgs::TwistStamped;
use crossdock_msg::types::sensor_msgs::{Image, ImageView};
use crossdock_msg::types::std_msgs::{HeaderBuilder, HeaderView};
use crossdock_msg::{Block, Extra, FlatBuffer, Message};
use crossdock_test_support::workspace;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::unix::fs::DirBuilderExt;
use std::time::Duration;

/// Topics whose messages a [`Watch`] keeps.
const WATCHED: usize = 4;

thread_local! {
    /// What is to be sent, with the publisher that sends it.
    static SENT: RefCell<VecDeque<(usize, FlatBuffer)>> = const { RefCell::new(VecDeque::new()) };
    static SEEN: RefCell<[Vec<FlatBuffer>; WATCHED]> = const { RefCell::new([const { Vec::new() }; WATCHED]) };
}

/// The next message to be sent.
fn next(context: &mut Context<'_>) -> Option<(usize, FlatBuffer)> {
    let next = SENT.with_borrow_mut(VecDeque::pop_front);
    if next.is_none() {
        context.finish("all messages are sent");
    }
    next
}

/// Keeps all that has come.
fn keep<M: Message>(subscriber: &Subscriber<M>, topic: usize) -> Result<(), NodeError> {
    while let Some(sample) = subscriber.take()? {
        let block = FlatBuffer::from_bytes(sample.block().as_bytes());
        SEEN.with_borrow_mut(|seen| seen[topic].push(block));
    }
    Ok(())
}

/// Copies a header.
fn copy(from: HeaderView<'_>, mut to: HeaderBuilder<'_>) -> Result<(), NodeError> {
    to.stamp().set_sec(from.stamp().sec());
    to.stamp().set_nanosec(from.stamp().nanosec());
    to.set_frame_id_text(from.frame_id()?)?;
    Ok(())
}

/// Publishes the lane of a block.
pub(crate) fn publish_lane(
    publisher: &Publisher<Lane>,
    block: &FlatBuffer,
) -> Result<(), NodeError> {
    let from = Lane::view(Block::new(block.as_slice()))?;
    let mut loan = publisher.loan(Extra::none().text(from.header().frame_id()?.len()))?;
    let mut to = loan.message();
    copy(from.header(), to.header())?;
    to.set_left_valid(from.left_valid());
    to.set_right_valid(from.right_valid());
    to.set_left(&from.left());
    to.set_right(&from.right());
    loan.publish()?;
    Ok(())
}

/// Publishes the light of a block.
pub(crate) fn publish_light(
    publisher: &Publisher<TrafficLight>,
    block: &FlatBuffer,
) -> Result<(), NodeError> {
    let from = TrafficLight::view(Block::new(block.as_slice()))?;
    let mut loan = publisher.loan(Extra::none().text(from.header().frame_id()?.len()))?;
    let mut to = loan.message();
    copy(from.header(), to.header())?;
    to.set_state(from.state());
    to.set_area(from.area());
    to.set_box(&from.r#box());
    loan.publish()?;
    Ok(())
}

/// Publishes the image message of a block.
pub(crate) fn publish(publisher: &Publisher<Image>, block: &FlatBuffer) -> Result<(), NodeError> {
    let from: ImageView<'_> = Image::view(Block::new(block.as_slice()))?;
    let (frame_id, encoding, data) = (from.header().frame_id()?, from.encoding()?, from.data()?);
    let extra = Extra::none().text(frame_id.len()).text(encoding.len()).bytes(data.len());
    let mut loan = publisher.loan(extra)?;
    let mut to = loan.message();
    copy(from.header(), to.header())?;
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
        let Some((_, block)) = next(context) else { return Ok(()) };
        publish(&self.0, &block)
    }
}

/// Publishes lanes and lights, a message at each time of its timer.
struct Results {
    lane: Publisher<Lane>,
    lights: [Publisher<TrafficLight>; 2],
}

impl NodeType for Results {
    const NAME: &'static str = "results";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_micros(100))
            .publisher::<Lane>("lane")
            .publisher::<TrafficLight>("red")
            .publisher::<TrafficLight>("green")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let lights = [setup.publisher("red")?, setup.publisher("green")?];
        Ok(Self { lane: setup.publisher("lane")?, lights })
    }
}

impl Node for Results {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        match next(context) {
            None => Ok(()),
            Some((0, block)) => publish_lane(&self.lane, &block),
            Some((light, block)) => publish_light(&self.lights[light - 1], &block),
        }
    }
}

/// Publishes images and lights of another node, a message at each time of its timer.
struct Mixed {
    image: Publisher<Image>,
    other: Publisher<TrafficLight>,
}

impl NodeType for Mixed {
    const NAME: &'static str = "mixed";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .timer("step", Duration::from_micros(100))
            .publisher::<Image>("image")
            .publisher::<TrafficLight>("other")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        Ok(Self { image: setup.publisher("image")?, other: setup.publisher("other")? })
    }
}

impl Node for Mixed {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<(), NodeError> {
        match next(context) {
            None => Ok(()),
            Some((0, block)) => publish(&self.image, &block),
            Some((_, block)) => publish_light(&self.other, &block),
        }
    }
}

/// Keeps what the nodes find out about a picture.
struct Watch {
    lane: Subscriber<Lane>,
    red: Subscriber<TrafficLight>,
    green: Subscriber<TrafficLight>,
    command: Subscriber<TwistStamped>,
}

impl NodeType for Watch {
    const NAME: &'static str = "watch";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<Lane>("lane")
            .subscriber::<TrafficLight>("red")
            .subscriber::<TrafficLight>("green")
            .subscriber::<TwistStamped>("command")
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (lane, red) = (setup.subscriber("lane")?, setup.subscriber("red")?);
        let (green, command) = (setup.subscriber("green")?, setup.subscriber("command")?);
        Ok(Self { lane, red, green, command })
    }
}

impl Node for Watch {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        keep(&self.lane, 0)?;
        keep(&self.red, 1)?;
        keep(&self.green, 2)?;
        keep(&self.command, 3)
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
        keep(&self.0, 0)
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
        messages.iter().map(|it| it.as_slice().len()).max().unwrap_or(0).max(1 << 21) + 256;
    let name = package.description().packages[0].name.clone();
    let graph = format!(
        "crossdock: 1\nname: twin\ntopics:\n  /in: {{ max_bytes: {max_bytes} }}\n  /out: {{ max_bytes: \
         {max_bytes} }}\nnodes:\n  camera: {{ package: ends, type: camera, outputs: {{ image: /in }} }}\n  \
         twin: {{ package: {name}, type: {node}, inputs: {{ {input}: /in }}, outputs: {{ {output}: /out }}, \
         parameters: {told} }}\n  sink: {{ package: ends, type: sink, inputs: {{ image: /out }} }}\n"
    );
    let graph = must(Graph::from_yaml("twin", graph.as_bytes()).map_err(shown));
    let package = Package::new("ends").node::<Camera>().node::<Sink<M>>().with(package);
    let messages = messages.into_iter().map(|block| (0, block)).collect();
    let [found, ..] = ran(&graph, &package, messages);
    found
}

/// The commands that lane control with these parameters, in YAML, publishes for lanes (0), red (1)
/// and green (2) lights in this order, as the condition in the graph joins them.
pub(crate) fn commands(told: &str, messages: VecDeque<(usize, FlatBuffer)>) -> Vec<FlatBuffer> {
    let graph = format!(
        "crossdock: 1\nname: twin\nnodes:\n  results: {{ package: ends, type: results, outputs: {{ lane: \
         /lane, red: /red, green: /green }} }}\n  twin: {{ package: autorace, type: lane_control, inputs: \
         {{ lane: /lane, red: /red, green: /green }}, outputs: {{ command: /command }}, condition: {{ \
         all_of: [lane, red, green], same: stamp }}, parameters: {told} }}\n  sink: {{ package: ends, type: \
         sink, inputs: {{ image: /command }} }}\n"
    );
    let graph = must(Graph::from_yaml("twin", graph.as_bytes()).map_err(shown));
    let package = Package::new("ends").node::<Results>().node::<Sink<TwistStamped>>();
    let [found, ..] = ran(&graph, &package.with(software()), messages);
    found
}

/// The lights that node type `node` (red_light or green_light) with these parameters, in YAML,
/// publishes for images (0) and lights of the other node (1) in this order.
pub(crate) fn lights(
    node: &str,
    told: &str,
    messages: VecDeque<(usize, FlatBuffer)>,
) -> Vec<FlatBuffer> {
    let graph = format!(
        "crossdock: 1\nname: twin\ntopics:\n  /image: {{ max_bytes: 1000000 }}\n  /other: {{ max_bytes: \
         1000, qos: {{ depth: 32 }} }}\nnodes:\n  mixed: {{ package: ends, type: mixed, outputs: {{ image: \
         /image, other: /other }} }}\n  twin: {{ package: autorace, type: {node}, inputs: {{ image: /image, \
         other: {{ topic: /other, trigger: false }} }}, outputs: {{ light: /light }}, parameters: {told} \
         }}\n  sink: {{ package: ends, type: sink, inputs: {{ image: /light }} }}\n"
    );
    let graph = must(Graph::from_yaml("twin", graph.as_bytes()).map_err(shown));
    let package = Package::new("ends").node::<Mixed>().node::<Sink<TrafficLight>>();
    let [found, ..] = ran(&graph, &package.with(software()), messages);
    found
}

/// Lanes, red and green lights and commands of the driving graph for these pictures, with the
/// parameters of this file of `params/`.
pub(crate) fn driven(params: &str, pictures: Vec<FlatBuffer>) -> [Vec<FlatBuffer>; WATCHED] {
    let file = |name: &str| must(std::fs::read(workspace().join("apps/autorace").join(name)));
    let name = format!("params/{params}.yaml");
    let overrides = ParameterOverrides::from_yaml(&name, &file(&name));
    let graph = Graph::from_yaml("highway", &file("highway.graph.yaml"));
    let graph = must(graph.map_err(shown)).with_parameters(&must(overrides.map_err(shown)));
    let mut graph = must(graph.map_err(shown));
    let watch = "crossdock: 1\nname: watch\nnodes:\n  watch: { package: ends, type: watch, inputs: { lane: \
                 /lane, red: /traffic_light/red, green: /traffic_light/green, command: /cmd_vel } }\n";
    let watch = must(Graph::from_yaml("watch", watch.as_bytes()).map_err(shown));
    graph.nodes.retain(|node| !["features", "lights"].contains(&node.name.as_str()));
    graph.nodes.extend(watch.nodes);
    // A camera in place of recorded pictures that are to be decoded.
    graph.chains.clear();
    graph.topics.retain(|topic| {
        !topic.external && topic.name != "/features" && topic.name != "/traffic_light"
    });
    let decode = graph.nodes.iter_mut().find(|node| node.name == "decode");
    let camera = decode.expect("the node that publishes pictures");
    "ends".clone_into(&mut camera.package);
    Camera::NAME.clone_into(&mut camera.node_type);
    camera.inputs.clear();
    let package = Package::new("ends").node::<Camera>().node::<Watch>().with(software());
    ran(&graph, &package, pictures.into_iter().map(|block| (0, block)).collect())
}

fn shown(all: Vec<Violation>) -> String {
    all.iter().map(|it| it.to_string() + "\n").collect()
}

/// Runs a graph in one chain until everything is sent: what has been seen. No node may fail.
fn ran(
    graph: &Graph,
    package: &Package,
    messages: VecDeque<(usize, FlatBuffer)>,
) -> [Vec<FlatBuffer>; WATCHED] {
    let nodes = graph.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
    let mapping = format!(
        "crossdock: 1\nprocesses: {{ twin: {{ executors: [ {{ mode: chain, nodes: [{nodes}] }} ] }} }}\n"
    );
    let mapping = must(Mapping::from_yaml("twin", mapping.as_bytes()).map_err(shown));
    let interfaces =
        PackageDescriptions { binaries: vec![package.description()], hardware: Vec::new() };
    let plan = must(check(graph, &mapping, &interfaces, &RunOptions::PLAIN).map_err(shown));
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
    SENT.set(messages);
    let process = &plan.processes[0];
    let mut executor = must(Executor::new(ExecutorOptions {
        participant: &participant,
        package,
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
