//! A topic of images between software and a board, over real rings.

#![allow(dead_code)]

use crossdock_comm::{
    Bridge, BridgeOptions, Directions, Participant, ParticipantOptions, Publisher,
    PublisherOptions, Qos, Rendezvous, Subscriber, SubscriberOptions,
};
use crossdock_fabric::{Board, Cache, Library, MemoryTiming, Search};
use crossdock_graph::{Graph, Mapping, PackageDescriptions};
use crossdock_hwgen::network::Register;
use crossdock_hwgen::{Generated, Request, generate};
use crossdock_msg::frame::{FrameHeader, FramePlan};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Extra, Schema};
use crossdock_shm::Scratch;
use crossdock_test_support::{hardware_tools, workspace};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const PERIOD_PS: u64 = 10_000;
pub(crate) const FOREVER_PS: u64 = 1 << 60;
pub(crate) const DATA_BYTES: usize = 40_000;
const GRAPH: &str = "
crossdock: 1
name: both
topics:
  /image: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 40000 } }
nodes:
  camera: { package: p, type: camera, outputs: { image: /image } }
  show: { package: p, type: show, inputs: { image: /image } }
  renderer: { package: p, type: renderer, outputs: { image: /image } }
  left: { package: p, type: left, inputs: { image: /image } }
  right: { package: p, type: right, inputs: { image: /image } }
";
const MAPPING: &str = "
crossdock: 1
processes: { host: { executors: [ { mode: chain, nodes: [camera, show] } ] } }
fabrics: { board: { nodes: [renderer, left, right] } }
topics: { /image: { mapping: MAPPED } }
";
pub(crate) const TIMING: MemoryTiming = MemoryTiming {
    read_latency: 40,
    write_latency: 20,
    outstanding: 16,
    beat_256ths: 256,
    load_percent: 0,
    seed: 1,
};

fn generated(mapped: &str) -> Generated {
    let graph = Graph::from_yaml("graph", GRAPH.as_bytes()).expect("a graph");
    let mapping = Mapping::from_yaml("mapping", MAPPING.replace("MAPPED", mapped).as_bytes());
    let mapping = mapping.expect("a mapping");
    let request = Request {
        graph: &graph,
        mapping: &mapping,
        descriptions: &PackageDescriptions::default(),
        fabric: "board",
        types: &|name| Schema::shipped(name).map_err(|error| error.to_string()),
        implementations: &[],
    };
    generate(&request).expect("a network")
}

/// The board with the topic mapped so.
pub(crate) fn library(mapped: &str) -> Library {
    let search = Search { tools: Some(hardware_tools().to_owned()), ..Search::from_environment() };
    let cache = Cache::at(workspace().join("target/hw/cache"));
    let built = Library::build_board(&generated(mapped), &search, &cache, &mut |_| {});
    built.unwrap_or_else(|error| panic!("{error}")).expect("a board")
}

/// The registers of that board.
pub(crate) fn registers(mapped: &str) -> Vec<Register> {
    generated(mapped).registers
}

/// One side of the topic in software, with the board's gateway on it.
pub(crate) struct Host {
    pub(crate) camera: Publisher<Image>,
    pub(crate) show: Subscriber<Image>,
    pub(crate) bridge: Bridge,
    pub(crate) plan: FramePlan,
    pub(crate) scratch: Scratch,
    participant: Participant,
    folder: std::path::PathBuf,
}

impl Host {
    pub(crate) fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("crossdock-{test}-{}", std::process::id()));
        let options = ParticipantOptions {
            rendezvous: Rendezvous::Folder(folder.clone()),
            ..ParticipantOptions::new(0, "host")
        };
        let participant = Participant::open(options).expect("a participant");
        let schema = Arc::new(Schema::of::<Image>().expect("a schema"));
        let bounds = [("header.frame_id", 32), ("encoding", 16), ("data", DATA_BYTES as u32)];
        let bounds: BTreeMap<String, u32> =
            bounds.into_iter().map(|(name, bound)| (name.to_owned(), bound)).collect();
        let plan = FramePlan::new(&schema, &bounds).expect("a plan");
        let qos = Qos::reliable(4, Duration::from_secs(10));
        let (topic, max_bytes) = ("/image", Some(plan.chunk_bytes_max()));
        let options = BridgeOptions {
            node: "gateway",
            topic,
            offered: qos,
            requested: qos,
            directions: Directions::Both,
            max_bytes,
            doorbell: None,
        };
        let bridge = participant.bridge(&schema, options).expect("a bridge");
        let options = PublisherOptions { node: "camera", topic, qos, max_bytes, group: None };
        let camera = participant.publisher(options).expect("a publisher");
        let options = SubscriberOptions { node: "show", topic, qos, doorbell: None, group: None };
        let show = participant.subscriber(options).expect("a subscriber");
        let scratch = Scratch::create("scratch", 4096).expect("memory");
        Host { camera, show, bridge, plan, scratch, participant, folder }
    }

    /// Another bridge on the topic, for what stands for one node.
    pub(crate) fn bridge(&self, node: &str, directions: Directions) -> Bridge {
        let schema = Arc::new(Schema::of::<Image>().expect("a schema"));
        let options = BridgeOptions {
            node,
            topic: "/image",
            offered: Qos::reliable(4, Duration::from_secs(10)),
            requested: Qos::reliable(4, Duration::from_secs(10)),
            directions,
            max_bytes: Some(self.plan.chunk_bytes_max()),
            doorbell: None,
        };
        self.participant.bridge(&schema, options).expect("a bridge")
    }

    pub(crate) fn publish(&self, number: u32, bytes: usize) {
        let extra = Extra::none().text(6).text(4).bytes(bytes);
        let mut loan = self.camera.loan(extra).expect("a loan");
        let mut image = loan.message();
        image.header().set_frame_id("camera").expect("room");
        image.set_height(number);
        image.set_encoding("rgb8").expect("room");
        let data = image.data_uninit(bytes).expect("room");
        data.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at as u32 * 7 + number) as u8);
        loan.publish().map_err(|refused| refused.reason).expect("published");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

pub(crate) fn port(library: &Library, name: &str) -> u32 {
    let found = library.ports().iter().position(|port| port.name.contains(name));
    found.expect("the port") as u32
}

pub(crate) fn board(library: &Library, timing: MemoryTiming) -> Board {
    let model = library.model(1, &[PERIOD_PS]).expect("one clock");
    Board::new(model, &timing, 4).expect("a board")
}

/// A frame of the hardware publisher: an image with so many bytes.
pub(crate) fn frame(host: &Host, publisher_id: u16, sequence: u32, bytes: usize) -> Vec<u8> {
    host.publish(sequence, bytes);
    let model = host.show.take().expect("no error").expect("a message");
    let mut payload = Vec::new();
    host.plan.encode(model.block(), &mut payload).expect("a payload");
    let payload_bytes = payload.len() as u32;
    let header = FrameHeader { publisher_id, payload_bytes, sequence, stamp_ns: 0 };
    [&header.to_bytes()[..], &payload].concat()
}
