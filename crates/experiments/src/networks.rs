//! Graphs of hardware topics with given numbers of publishers and subscribers, and their networks:
//! made like any user's, only in memory.

use anyhow::{Error, Result};
use crossdock_graph::{Graph, Mapping, PackageDescriptions, Violation};
use crossdock_hwgen::{Generated, Request, generate};
use crossdock_msg::Schema;
use std::fmt::Write as _;

/// The type of all messages: bytes of any number up to a bound.
pub(crate) const MESSAGE: (&str, &str) = ("crossdock_bench/msg/Bytes", "uint8[] data\n");
/// Header of a frame, length of the sequence and what is left to a multiple of 8.
const BEFORE_DATA: usize = 32;

/// A topic to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    pub(crate) publishers: usize,
    pub(crate) subscribers: usize,
    /// Whether the arbiter holds messages against their headers.
    pub(crate) check: bool,
}

impl Topic {
    pub(crate) fn name(&self) -> String {
        format!("/from_{}_to_{}", self.publishers, self.subscribers)
    }
}

/// The network of a fabric with these topics and a node per port.
pub(crate) fn network(
    fabric: &str,
    topics: &[Topic],
    width_bits: u32,
    data_bytes_max: u64,
) -> Result<Generated> {
    let (mut declared, mut nodes, mut mapped) = (String::new(), String::new(), String::new());
    let mut names = Vec::new();
    for topic in topics {
        let name = topic.name();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            declared,
            "  {name}: {{ type: {}, bounds: {{ data: {data_bytes_max} }} }}",
            MESSAGE.0
        );
        let check = if topic.publishers > 1 { topic.check } else { false };
        let _ = writeln!(
            mapped,
            "  {name}: {{ mapping: hardware, width: {width_bits}, check: {check} }}"
        );
        let sides = [(topic.publishers, "p", "outputs"), (topic.subscribers, "s", "inputs")];
        for (count, letter, ports) in sides {
            for index in 0..count {
                let node = format!("{}_{letter}{index}", &name[1..]);
                let _ = writeln!(
                    nodes,
                    "  {node}: {{ package: bench, type: {letter}, {ports}: {{ data: {name} }} }}"
                );
                names.push(node);
            }
        }
    }
    let graph = format!("crossdock: 1\nname: bench\ntopics:\n{declared}nodes:\n{nodes}");
    let mapping = format!(
        "crossdock: 1\nprocesses: {{}}\nfabrics: {{ {fabric}: {{ nodes: [{}] }} }}\ntopics:\n{mapped}",
        names.join(", ")
    );
    generated(fabric, &graph, &mapping, &|name| {
        Schema::parse(name, MESSAGE.1).map_err(|error| error.to_string())
    })
}

/// What is wrong with files of an experiment: a fault of the experiment.
fn refused(violations: Vec<Violation>) -> Error {
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    Error::msg(lines.join("\n"))
}

/// The network of a fabric of these files.
pub(crate) fn generated(
    fabric: &str,
    graph: &str,
    mapping: &str,
    types: &dyn Fn(&str) -> Result<Schema, String>,
) -> Result<Generated> {
    let graph = Graph::from_yaml("bench graph", graph.as_bytes()).map_err(refused)?;
    let mapping = Mapping::from_yaml("bench mapping", mapping.as_bytes());
    let request = Request {
        graph: &graph,
        mapping: &mapping.map_err(refused)?,
        descriptions: &PackageDescriptions::default(),
        fabric,
        types,
        implementations: &[],
    };
    generate(&request).map_err(refused)
}

/// Bytes of the frame of a message with this much data.
pub(crate) fn frame_bytes(data_bytes: u64) -> u64 {
    BEFORE_DATA as u64 + data_bytes
}

/// The frame of a message whose data follows from the seed.
pub(crate) fn frame(publisher_id: u16, sequence: u32, seed: u64, data_bytes: u32) -> Vec<u8> {
    let mut frame = Vec::with_capacity(BEFORE_DATA + data_bytes as usize);
    frame.extend([1, 0]);
    frame.extend(publisher_id.to_le_bytes());
    frame.extend((8 + data_bytes).to_le_bytes());
    frame.extend(sequence.to_le_bytes());
    frame.resize(24, 0);
    frame.extend(data_bytes.to_le_bytes());
    frame.resize(BEFORE_DATA + data_bytes as usize, 0);
    let seed = seed ^ u64::from(publisher_id) << 48 ^ u64::from(sequence) << 16;
    random_bytes(seed, &mut frame[BEFORE_DATA..]);
    frame
}

/// Fills memory with bytes that follow from the seed.
pub(crate) fn random_bytes(seed: u64, to: &mut [u8]) {
    let mut random = Random(seed);
    for bytes in to.chunks_mut(8) {
        bytes.copy_from_slice(&random.next().to_le_bytes()[..bytes.len()]);
    }
}

/// Reproducible chance (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Of the normal distribution with mean 0 and deviation 1 (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        // 53 bits of each, above 0.
        let [one, other] =
            [(); 2].map(|()| ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64);
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }
}
