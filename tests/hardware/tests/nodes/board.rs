//! The board of the closed course: pictures of software go down to it and come back through its
//! gateways, over real rings, and are those of the software nodes.

use crate::frames::{self, Fields, Limits, Random};
use crate::{lane_planner, twin};
use crossdock_autorace::messages::autorace_msgs::{Lane, TrafficLight};
use crossdock_autorace::nodes::package as software;
use crossdock_comm::{
    Bridge, BridgeOptions, Directions, Participant, ParticipantOptions, Publisher,
    PublisherOptions, Qos, Rendezvous, Subscriber, SubscriberOptions,
};
use crossdock_fabric::{
    Board, Cache, HostEvent, IDLE_CYCLES, Library, MemoryTiming, Outgoing, Search, Stop,
};
use crossdock_graph::{Graph, HardwarePackage, Mapping, PackageDescriptions, Violation};
use crossdock_hardware_tests::must;
use crossdock_hwgen::{Generated, Implementation, Request, SourceText, generate};
use crossdock_msg::frame::{FrameHeader, FramePlan, SegmentSource};
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
const IN: &str = "/camera/image_raw";
/// What comes back of what the nodes make: the blurred picture and the view stay in the fabric.
const OUT: [&str; 2] = ["/camera/image_compensated", "/lane"];

fn shown(all: Vec<Violation>) -> String {
    all.iter().map(|it| it.to_string() + "\n").collect()
}

fn autorace(name: &str) -> String {
    must(std::fs::read_to_string(workspace().join("apps/autorace").join(name)))
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

/// The network and board of fabric `board`.
pub(crate) fn generated(package: &HardwarePackage, graph: &str, mapping: &str) -> Generated {
    let implementation = |node| {
        let HardwarePackage { nodes, .. } = package;
        let node = nodes.iter().find(|it| it.description.node_type == node).expect("the node type");
        let text = |name: &String| autorace(&format!("hardware/{name}"));
        let sources = node.sources.iter();
        let sources = sources.map(|name| SourceText { name: name.clone(), text: text(name) });
        Implementation { package, node, sources: sources.collect() }
    };
    let interfaces = PackageDescriptions {
        binaries: vec![software().description()],
        hardware: vec![package.clone()],
    };
    let request = Request {
        graph: &must(Graph::from_yaml("graph", graph.as_bytes()).map_err(shown)),
        mapping: &must(Mapping::from_yaml("mapping", mapping.as_bytes()).map_err(shown)),
        descriptions: &interfaces,
        fabric: "board",
        types: &schema,
        implementations: &["image_compensation", "gaussian_blur", "lane_planner", "polyfit"]
            .map(implementation),
    };
    must(generate(&request).map_err(shown))
}

/// The software on both sides of the board, and the host's ends of its gateways.
struct Host {
    camera: Publisher<Image>,
    down: Bridge,
    up: [Bridge; 2],
    compensated: Subscriber<Image>,
    lane: Subscriber<Lane>,
    /// Of pictures, and of lanes.
    plans: [FramePlan; 2],
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
        let schemas = [must(Schema::of::<Image>()), must(Schema::of::<Lane>())].map(Arc::new);
        let bounds = BTreeMap::from([("header.frame_id".to_owned(), 64)]);
        let plans = [LIMITS.plan(), must(FramePlan::new(&schemas[1], &bounds))];
        let qos = Qos::reliable(4, Duration::from_secs(10));
        let bridge = |topic, of: usize| {
            let max_bytes = Some(plans[of].chunk_bytes_max());
            let (node, directions, doorbell) = ("gateway", Directions::Both, None);
            let (offered, requested) = (qos, qos);
            let options =
                BridgeOptions { node, topic, offered, requested, directions, max_bytes, doorbell };
            must(participant.bridge(&schemas[of], options))
        };
        let down = bridge(IN, 0);
        let max_bytes = Some(plans[0].chunk_bytes_max());
        let options = PublisherOptions { node: "camera", topic: IN, qos, max_bytes, group: None };
        let camera = must(participant.publisher(options));
        let up = [0, 1].map(|at| bridge(OUT[at], at));
        let shown =
            |topic| SubscriberOptions { node: "show", topic, qos, doorbell: None, group: None };
        let compensated = must(participant.subscriber(shown(OUT[0])));
        let lane = must(participant.subscriber(shown(OUT[1])));
        let scratch = must(Scratch::create("scratch", 4096));
        let _participant = participant;
        Self { camera, down, up, compensated, lane, plans, scratch, _participant, folder }
    }

    /// A picture goes down, and what comes up is published: the payloads that subscribers get, and
    /// the cycles from the first word to the board to its last one.
    fn through(
        &mut self,
        board: &mut Board,
        (down, up): (u32, [u32; 2]),
        picture: &FlatBuffer,
        number: u32,
    ) -> ([Vec<u8>; 2], u64) {
        twin::publish(&self.camera, picture).unwrap_or_else(|error| panic!("{error}"));
        let sample = must(self.down.subscriber.as_ref().expect("a subscriber").take());
        let sample = sample.expect("the picture");
        let (mut small, mut segments) = (vec![0; 4096], Vec::new());
        let payload = must(self.plans[0].gather(sample.block(), 256, &mut small, &mut segments));
        assert!(self.scratch.write(0, &small));
        let place = |source| match source {
            SegmentSource::Scratch => self.scratch.region().address(),
            SegmentSource::Block => sample.block().as_ptr() as usize,
        };
        let places: Vec<(usize, u32)> =
            segments.iter().map(|it| (place(it.source) + it.offset, it.bytes as u32)).collect();

        let mut loans = [0, 1].map(|at| {
            let publisher = self.up[at].publisher.as_ref().expect("a publisher");
            must(publisher.loan(self.plans[at].chunk_bytes_max()))
        });
        let sample_region = sample.region().expect("a region");
        let regions = [loans[0].region(), loans[1].region()];
        assert!(board.reach(&[&[sample_region, self.scratch.region()], &regions[..]].concat()));

        let tag = number as u16;
        let begun_ps = board.now_ps();
        for ((loan, up), plan) in loans.iter_mut().zip(up).zip(&self.plans) {
            let front = plan.front_bytes();
            let address = loan.bytes_mut().as_ptr() as usize + front;
            let capacity = loan.bytes_mut().len() - front - plan.behind_bytes_max();
            board.lend(up, tag, address, capacity as u32);
        }
        let stamp_ns = 5_000_000_000 + u64::from(number);
        // Not the nodes' own numbers.
        let sequence = 70 + number;
        let payload_bytes = payload as u32;
        board.send(down, &Outgoing { tag, sequence, stamp_ns, payload_bytes, segments: &places });
        let (mut is_sent, mut arrived, mut took_ps) = (false, [None; 2], 0);
        while !is_sent || arrived.contains(&None) {
            // Idle: the message is lost.
            assert_eq!(board.run(&mut [], &mut [], 1 << 60), Ok(Stop::Done));
            while let Some(event) = board.event() {
                match event {
                    HostEvent::Sent { gateway, tag: sent, status } => {
                        assert_eq!((gateway, sent, status.is_good()), (down, tag, true));
                        is_sent = true;
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
        let mut shown = [const { Vec::new() }; 2];
        for (at, mut loan) in loans.into_iter().enumerate() {
            let bytes = arrived[at].expect("a message");
            let front = self.plans[at].front_bytes();
            let header = must(FrameHeader::read(&loan.bytes_mut()[front..]));
            assert_eq!((header.sequence, header.stamp_ns), (number, stamp_ns));
            let adopted = must(self.plans[at].adopt(loan.bytes_mut(), front, bytes as usize));
            loan.set_len(adopted.block_bytes);
            loan.publish().unwrap_or_else(|refused| panic!("{}", refused.reason));
            shown[at] = match at {
                0 => self.payload(0, must(self.compensated.take()).expect("the picture").block()),
                _ => self.payload(1, must(self.lane.take()).expect("the lane").block()),
            };
        }
        (shown, took_ps / PERIOD_PS)
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
    let gateways = (gateway(IN), OUT.map(gateway));
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

    let blocks: Vec<FlatBuffer> = pictures().iter().map(Fields::block).collect();
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
    let expected = compensated.iter().zip(&lanes);
    let mut host = Host::new();
    for (number, (block, expected)) in (0..).zip(blocks.iter().zip(expected)) {
        let (found, cycles) = host.through(&mut board, gateways, block, number);
        let expected = [expected.0, expected.1];
        for (at, topic) in OUT.iter().enumerate() {
            let found = &found[at];
            let expected = host.payload(at, Block::new(expected[at].as_slice()));
            assert!(*found == expected, "{topic}: picture {number} of {} bytes", found.len());
        }
        // In, a table, out through blur and planner at the same time, then the lines. What the
        // gateways add is their latency, whatever the picture's size.
        let beats = found[0].len() as u64 / 8 + 3;
        assert!(cycles < 2 * beats + 60_000, "{cycles} cycles for {beats} beats");
    }
    assert_eq!(board.run(&mut [], &mut [], 1 << 60), Ok(Stop::Idle));
    assert_eq!(board.traffic().refused, 0);
}
