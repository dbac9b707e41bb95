//! Networks that tests and examples build: one topic of bounded bytes.

#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod pictures;

use crossdock_graph::{Graph, Mapping, PackageDescriptions};
use crossdock_hwgen::{Generated, Request, generate};
use crossdock_msg::Schema;
use std::fmt::Write as _;

/// Longest data of a message.
pub(crate) const DATA_BYTES: usize = 4000;

/// A network of one topic with so many publishers and subscribers.
pub(crate) fn network(publishers: usize, subscribers: usize, topic: &str) -> Generated {
    let mut nodes = String::new();
    let mut names = Vec::new();
    for (count, word, port) in [(publishers, "p", "outputs"), (subscribers, "s", "inputs")] {
        for index in 0..count {
            writeln!(nodes, "  {word}{index}: {{ package: t, type: t, {port}: {{ x: {topic} }} }}")
                .unwrap();
            names.push(format!("{word}{index}"));
        }
    }
    let graph = format!(
        "crossdock: 1\nname: test\ntopics:\n  {topic}: {{ type: t/msg/Data, \
         bounds: {{ data: {DATA_BYTES} }} }}\nnodes:\n{nodes}"
    );
    let mapping = format!(
        "crossdock: 1\nprocesses: {{}}\nfabrics: {{ board: {{ nodes: [{}] }} }}\n\
         topics: {{ {topic}: {{ mapping: hardware }} }}\n",
        names.join(", ")
    );
    let request = Request {
        graph: &Graph::from_yaml("graph", graph.as_bytes()).unwrap(),
        mapping: &Mapping::from_yaml("mapping", mapping.as_bytes()).unwrap(),
        descriptions: &PackageDescriptions::default(),
        fabric: "board",
        types: &|name| Schema::parse(name, "uint8[] data\n").map_err(|error| error.to_string()),
        implementations: &[],
    };
    generate(&request).unwrap()
}

/// A frame of a message with this much data, whose bytes follow from the seed.
pub(crate) fn frame(publisher_id: u16, seed: u64, data_bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; 32 + data_bytes];
    frame[0] = 1;
    frame[2..4].copy_from_slice(&publisher_id.to_le_bytes());
    frame[4..8].copy_from_slice(&(8 + data_bytes as u32).to_le_bytes());
    frame[24..28].copy_from_slice(&(data_bytes as u32).to_le_bytes());
    let mut state = seed;
    for byte in &mut frame[32..] {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 56) as u8;
    }
    frame
}
