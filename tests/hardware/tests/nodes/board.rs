//! The board of the closed course: pictures and lights of software go down to it, and what its
//! nodes make of them comes back through its gateways, over real rings, as the software nodes
//! make it.

use crate::frames::{self, Fields, Limits, Random};
use crate::{lane_control, lane_planner, twin};
use crossdock_autorace::messages::autorace_msgs::{Lane, TrafficLight};
use crossdock_autorace::nodes::package as software;
use crossdock_comm::{
    AnyLoan, AnySample, Bridge, BridgeOptions, Directions, Participant, ParticipantOptions,
    Publisher, PublisherOptions, Qos, Rendezvous, Subscriber, SubscriberOptions,
};
use crossdock_executor::NodeError;
use crossdock_fabric::{
    Board, Cache, HostEvent, IDLE_CYCLES, Library, MemoryTiming, Outgoing, Search, Stop,
};
use crossdock_graph::{
    Graph, HardwarePackage, Mapping, PackageDescriptions, ParameterOverrides, ParameterValue,
    Violation,
};
use crossdock_hardware_tests::must;
use crossdock_hwgen::{Generated, Implementation, Request, SourceText, generate};
use crossdock_image_pipeline::nodes::package as image_pipeline;
use crossdock_msg::frame::{FrameHeader, FramePlan, SegmentSource};
use crossdock_msg::types::geometry_msgs::TwistStamped;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Block, FlatBuffer, Message, Schema};
use crossdock_shm::Scratch;
use crossdock_test_support::{hardware_tools, workspace};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const PERIOD_PS: u64 = 10_000;
const TIMING: MemoryTiming = MemoryTiming {
    read_latency: 40,
    write_latency: 20,
    outstanding: 16,
    beat_256ths: 256,
    load_percent: 0,
    seed: 1,
};
/// As in the graph file: the bounds of both topics.
const LIMITS: Limits =
    Limits { bound: 921_600, max_bytes: 921_600, max_width: 640, size: Some((640, 480)) };
/// What goes down, with its plan.
const IN: [(&str, usize); 3] =
    [("/camera/image_raw", 0), ("/traffic_light/red", 2), ("/traffic_light/green", 2)];
/// What comes back of what the nodes make: the blurred picture and the view stay in the fabric.
const OUT: [(&str, usize); 3] = [("/camera/image_compensated", 0), ("/lane", 1), ("/cmd_vel", 3)];
/// Room for the small fields of a message.
const SMALL_BYTES: usize = 4096;

fn shown(all: Vec<Violation>) -> String {
    all.iter().map(|it| it.to_string() + "\n").collect()
}

fn autorace(name: &str) -> String {
    must(std::fs::read_to_string(workspace().join("apps/autorace").join(name)))
}

/// The parameters of a node of the graph in the file of this name in `params`.
pub(crate) fn params(name: &str, node: &str) -> BTreeMap<String, ParameterValue> {
    let path = format!("params/{name}.yaml");
    let read = ParameterOverrides::from_yaml(&path, autorace(&path).as_bytes()).map_err(shown);
    must(read).nodes.remove(node).expect("the node's parameters")
}

/// The hardware package as it is shipped, but for these limits.
pub(crate) fn package(limits: Limits) -> HardwarePackage {
    let name = "hardware/autorace.hardware.yaml";
    let text = autorace(name)
        .replace("data: 921600", &format!("data: {}", limits.bound))
        .replace("max_bytes: 921600", &format!("max_bytes: {}", limits.max_bytes))
        .replace("max_width: 640", &format!("max_width: {}", limits.max_width));
    must(HardwarePackage::from_yaml(name, text.as_bytes()).map_err(shown))
}

/// The schema of a message type, of this package or shipped.
fn schema(name: &str) -> Result<Schema, String> {
    let found = match name {
        Lane::TYPE_NAME => Schema::of::<Lane>(),
        TrafficLight::TYPE_NAME => Schema::of::<TrafficLight>(),
        name => Schema::shipped(name),
    };
    found.map_err(|error| error.to_string())
}

/// The network and board of fabric `board`, with the sources that are shipped for this package.
pub(crate) fn generated(package: &HardwarePackage, graph: &str, mapping: &str) -> Generated {
    let folder = workspace().join("apps").join(&package.name).join("hardware");
    let text = |name: &String| must(std::fs::read_to_string(folder.join(name)));
    let implementations = package.nodes.iter().map(|node| {
        let sources = node.sources.iter();
        let sources = sources.map(|name| SourceText { name: name.clone(), text: text(name) });
        Implementation { package, node, sources: sources.collect(), set_up: Vec::new() }
    });
    let implementations: Vec<Implementation<'_>> = implementations.collect();
    let interfaces = PackageDescriptions {
        binaries: vec![software().description(), image_pipeline().description()],
        hardware: vec![package.clone()],
    };
    let request = Request {
        graph: &must(Graph::from_yaml("graph", graph.as_bytes()).map_err(shown)),
        mapping: &must(Mapping::from_yaml("mapping", mapping.as_bytes()).map_err(shown)),
        descriptions: &interfaces,
        fabric: "board",
        types: &schema,
        implementations: &implementations,
    };
    must(generate(&request).map_err(shown))
}

/// The software on both sides of the board, and the host's ends of its gateways.
struct Host {
    camera: Publisher<Image>,
    lights: [Publisher<TrafficLight>; 2],
    down: [Bridge; 3],
    up: [Bridge; 3],
    compensated: Subscriber<Image>,
    lane: Subscriber<Lane>,
    command: Subscriber<TwistStamped>,
    /// Of pictures, lanes, lights and commands.
    plans: [FramePlan; 4],
    scratch: Scratch,
    _participant: Participant,
    folder: PathBuf,
}

impl Host {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("crossdock-course-{}", std::process::id()));
        let participant = must(Participant::open(ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder.clone()),
            ..ParticipantOptions::new(0, "host")
        }));
        let schemas = [
            must(Schema::of::<Image>()),
            must(Schema::of::<Lane>()),
            must(Schema::of::<TrafficLight>()),
            must(Schema::of::<TwistStamped>()),
        ]
        .map(Arc::new);
        let bounds = BTreeMap::from([("header.frame_id".to_owned(), 64)]);
        let plan = |of: usize| must(FramePlan::new(&schemas[of], &bounds));
        let plans = [LIMITS.plan(), plan(1), plan(2), plan(3)];
        let qos = Qos::reliable(4, Duration::from_secs(10));
        let bridge = |(topic, of): (&str, usize)| {
            let max_bytes = Some(plans[of].chunk_bytes_max());
            let (node, directions, doorbell) = ("gateway", Directions::Both, None);
            let (offered, requested) = (qos, qos);
            let options =
                BridgeOptions { node, topic, offered, requested, directions, max_bytes, doorbell };
            must(participant.bridge(&schemas[of], options))
        };
        let down = IN.map(bridge);
        let sent = |at: usize| {
            let (topic, of) = IN[at];
            let max_bytes = Some(plans[of].chunk_bytes_max());
            PublisherOptions { node: "eyes", topic, qos, max_bytes, group: None }
        };
        let camera = must(participant.publisher(sent(0)));
        let lights = [1, 2].map(|at| must(participant.publisher(sent(at))));
        let up = OUT.map(bridge);
        let shown = |at: usize| {
            let topic = OUT[at].0;
            SubscriberOptions { node: "show", topic, qos, doorbell: None, group: None }
        };
        let compensated = must(participant.subscriber(shown(0)));
        let lane = must(participant.subscriber(shown(1)));
        let command = must(participant.subscriber(shown(2)));
        let scratch = must(Scratch::create("scratch", (IN.len() * SMALL_BYTES) as u64));
        let _participant = participant;
        Self {
            camera,
            lights,
            down,
            up,
            compensated,
            lane,
            command,
            plans,
            scratch,
            _participant,
            folder,
        }
    }

    /// A picture and its lights go down, and what comes up is published: the payloads that
    /// subscribers get, and the cycles from the first word to the board to its last one.
    fn through(
        &mut self,
        board: &mut Board,
        (down, up): ([u32; 3], [u32; 3]),
        (picture, lights): (&FlatBuffer, &[FlatBuffer; 2]),
        number: u32,
    ) -> ([Vec<u8>; 3], u64) {
        let published = |result: Result<(), NodeError>| result.unwrap_or_else(|it| panic!("{it}"));
        published(twin::publish(&self.camera, picture));
        for (publisher, light) in self.lights.iter().zip(lights) {
            published(twin::publish_light(publisher, light));
        }
        let samples = [0, 1, 2].map(|at: usize| {
            let sample = must(self.down[at].subscriber.as_ref().expect("a subscriber").take());
            sample.expect("the message")
        });
        let outgoing: Vec<_> =
            samples.iter().enumerate().map(|(at, sample)| self.gathered(at, sample)).collect();
        let mut loans = [0, 1, 2].map(|at: usize| {
            let publisher = self.up[at].publisher.as_ref().expect("a publisher");
            must(publisher.loan(self.plans[OUT[at].1].chunk_bytes_max()))
        });
        let mut regions = vec![self.scratch.region()];
        regions.extend(samples.iter().map(|sample| sample.region().expect("a region")));
        regions.extend(loans.iter().map(AnyLoan::region));
        assert!(board.reach(&regions));

        let tag = number as u16;
        let begun_ps = board.now_ps();
        for ((loan, up), (_, of)) in loans.iter_mut().zip(up).zip(OUT) {
            let plan = &self.plans[of];
            let front = plan.front_bytes();
            let address = loan.bytes_mut().as_ptr() as usize + front;
            let capacity = loan.bytes_mut().len() - front - plan.behind_bytes_max();
            board.lend(up, tag, address, capacity as u32);
        }
        let stamp_ns = 5_000_000_000 + u64::from(number);
        // Not the nodes' own numbers.
        let sequence = 70 + number;
        for (down, (payload_bytes, segments)) in down.into_iter().zip(&outgoing) {
            let payload_bytes = *payload_bytes;
            board.send(down, &Outgoing { tag, sequence, stamp_ns, payload_bytes, segments });
        }
        let (mut sent, mut arrived, mut took_ps) = (0, [None; 3], 0);
        while sent < down.len() || arrived.contains(&None) {
            // Idle: the message is lost.
            assert_eq!(board.run(&mut [], &mut [], 1 << 60), Ok(Stop::Done));
            while let Some(event) = board.event() {
                match event {
                    HostEvent::Sent { gateway, tag: of, status } => {
                        assert!(down.contains(&gateway) && of == tag && status.is_good());
                        sent += 1;
                    }
                    HostEvent::Arrived { gateway, tag: came, bytes, sequence, status, .. } => {
                        let at = up.iter().position(|it| *it == gateway).expect("a gateway");
                        assert_eq!((came, status.is_good()), (tag, true));
                        assert_eq!(sequence, number, "the node counts its own messages");
                        arrived[at] = Some(bytes);
                        took_ps = board.now_ps() - begun_ps;
                    }
                    other @ HostEvent::Unknown { .. } => panic!("{other:?}"),
                }
            }
        }
        for ((at, mut loan), (_, of)) in loans.into_iter().enumerate().zip(OUT) {
            let bytes = arrived[at].expect("a message");
            let front = self.plans[of].front_bytes();
            let header = must(FrameHeader::read(&loan.bytes_mut()[front..]));
            assert_eq!((header.sequence, header.stamp_ns), (number, stamp_ns));
            let adopted = must(self.plans[of].adopt(loan.bytes_mut(), front, bytes as usize));
            loan.set_len(adopted.block_bytes);
            loan.publish().unwrap_or_else(|refused| panic!("{}", refused.reason));
        }
        let shown = [
            self.payload(0, must(self.compensated.take()).expect("the picture").block()),
            self.payload(1, must(self.lane.take()).expect("the lane").block()),
            self.payload(3, must(self.command.take()).expect("the command").block()),
        ];
        (shown, took_ps / PERIOD_PS)
    }

    /// A message on its way down: bytes of its payload, and the places of its segments.
    fn gathered(&mut self, at: usize, sample: &AnySample) -> (u32, Vec<(usize, u32)>) {
        let (mut small, mut segments) = (vec![0; SMALL_BYTES], Vec::new());
        let plan = &self.plans[IN[at].1];
        let payload = must(plan.gather(sample.block(), 256, &mut small, &mut segments));
        assert!(self.scratch.write(at * SMALL_BYTES, &small));
        let place = |source| match source {
            SegmentSource::Scratch => self.scratch.region().address() + at * SMALL_BYTES,
            SegmentSource::Block => sample.block().as_ptr() as usize,
        };
        let segments = segments.iter();
        let places = segments.map(|it| (place(it.source) + it.offset, it.bytes as u32));
        (payload as u32, places.collect())
    }

    fn payload(&self, of: usize, block: Block<'_>) -> Vec<u8> {
        let mut payload = Vec::new();
        must(self.plans[of].encode(block, &mut payload));
        payload
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// Pictures of the course, with those of its recording where there is one.
fn pictures() -> Vec<Fields> {
    let mut random = Random::new(3);
    let mut all = vec![frames::noise(640, 480, &mut random)];
    if let Some(data) = crossdock_test_support::data() {
        let bag = data.join("autorace_sim/autorace_a_15hz/autorace_a_15hz.mcap");
        let stamps: Vec<i64> = frames::stamps(&bag).into_iter().step_by(150).take(2).collect();
        all.extend(frames::recorded(&bag, &stamps));
        assert_eq!(all.len(), 3);
    }
    all
}

#[test]
#[ignore = "long: minutes of simulation"]
fn the_course_with_nodes_on_a_board_sees_the_pictures_of_the_software_nodes() {
    let generated = generated(
        &package(LIMITS),
        &autorace("course.graph.yaml"),
        &autorace("course.hardware.mapping.yaml"),
    );
    let gateway = |topic: &str| {
        let mut topics = generated.network.gateways();
        topics.position(|it| it.name == topic).expect("a gateway") as u32
    };
    let gateways = (IN.map(|(topic, _)| gateway(topic)), OUT.map(|(topic, _)| gateway(topic)));
    let search = Search { tools: Some(hardware_tools().to_owned()), ..Search::from_environment() };
    let cache = Cache::at(workspace().join("target/hw/cache"));
    let library = must(Library::build_board(&generated, &search, &cache, &mut |_| {}));
    let library = library.expect("a board");
    assert!(
        library.ports().is_empty(),
        "all nodes of the fabric are inside: {:?}",
        library.ports()
    );
    let model = library.model(1, &[PERIOD_PS]).expect("one clock");
    let mut board = Board::new(model, &TIMING, 4).expect("a board");
    board.set_idle_cycles(IDLE_CYCLES);

    let pictures = pictures();
    let blocks: Vec<FlatBuffer> = pictures.iter().map(Fields::block).collect();
    let compensated = twin::published::<Image>(
        software(),
        "image_compensation",
        ["image", "compensated"],
        "{}",
        blocks.clone(),
    );
    let blurred = twin::published::<Image>(
        software(),
        "gaussian_blur",
        ["image", "blurred"],
        "{}",
        compensated.clone(),
    );
    let told = lane_planner::told(LIMITS);
    let views =
        twin::published::<Image>(software(), "lane_planner", ["image", "view"], &told, blurred);
    let told = "{ gate: 110 }";
    let lanes = twin::published::<Lane>(software(), "polyfit", ["view", "lane"], told, views);
    // Both lamps at once, then the green one alone: it stops and goes on.
    let lights: Vec<[FlatBuffer; 2]> = (pictures.iter().enumerate())
        .map(|(number, picture)| {
            let light = |state, area| lane_control::light(picture.stamp, b"l", state, area, [3; 4]);
            [light(u8::from(number == 0), 4000), light(2, 50)]
        })
        .collect();
    let told = (lanes.iter().zip(&lights))
        .flat_map(|(lane, [red, green])| [(0, lane.clone()), (1, red.clone()), (2, green.clone())]);
    let commands = twin::commands("{}", told.collect());
    assert_eq!(commands.len(), lights.len());
    let mut host = Host::new();
    for (number, block) in blocks.iter().enumerate() {
        let sent = (block, &lights[number]);
        let (found, cycles) = host.through(&mut board, gateways, sent, number as u32);
        let expected = [&compensated[number], &lanes[number], &commands[number]];
        for ((topic, of), (expected, found)) in OUT.iter().zip(expected.iter().zip(&found)) {
            let expected = host.payload(*of, Block::new(expected.as_slice()));
            assert!(*found == expected, "{topic}: picture {number} of {} bytes", found.len());
        }
        // In, a table, out through blur and planner at the same time, then the lines and the
        // command. What the gateways add is their latency, whatever the picture's size.
        let beats = found[0].len() as u64 / 8 + 3;
        assert!(cycles < 2 * beats + 60_000, "{cycles} cycles for {beats} beats");
    }
    assert_eq!(board.run(&mut [], &mut [], 1 << 60), Ok(Stop::Idle));
    assert_eq!(board.traffic().refused, 0);
}
