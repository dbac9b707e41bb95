//! Networks in which chains of three hardware nodes stand between a publisher and a subscriber: the
//! chains of `hw/testbench/chain`, which its hardware test runs too.

use crate::networks::{MESSAGE, generated};
use anyhow::{Context, Result};
use crossdock_hwgen::Generated;
use crossdock_hwgen::network::{NetworkPort, TopicNetwork};
use crossdock_msg::Schema;
use std::fmt::Write as _;

/// Nodes of a chain.
pub(crate) const NODES: usize = 3;
/// Bits of their streams, whatever the board: see `hw/node_shell`.
pub(crate) const WIDTH_BITS: u32 = 64;
/// What the kernels add to each byte of a payload, all together.
pub(crate) const ADDED: u8 = 3;
/// Publisher id of the last node.
pub(crate) const LAST_ID: u16 = 3;

/// What a chain is made of, what stands in for its topic left out.
const SOURCES: [(&str, &str); 4] = [
    ("axis_fifo.sv", include_str!("../../../hw/axis_fifo/axis_fifo.sv")),
    ("node_shell.sv", include_str!("../../../hw/node_shell/node_shell.sv")),
    ("chain_kernel.sv", include_str!("../../../hw/testbench/chain/chain_kernel.sv")),
    ("chain.sv", include_str!("../../../hw/testbench/chain/chain.sv")),
];

/// A chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// Receive, compute, send one after the other in each node; else dataflow.
    pub(crate) sequential: bool,
    /// Cycles in which the kernel of each node computes a beat.
    pub(crate) beat_cycles: [u8; NODES],
}

impl Chain {
    pub(crate) fn mode(self) -> &'static str {
        if self.sequential { "sequential" } else { "dataflow" }
    }

    /// The topic that it stands in for.
    pub(crate) fn topic(self) -> String {
        let [first, second, third] = self.beat_cycles;
        format!("/{}_{first}_{second}_{third}", self.mode())
    }
}

/// The network of these chains, for messages of at most so much data.
pub(crate) fn network(chains: &[Chain], data_bytes_max: u64) -> Result<Generated> {
    let (mut declared, mut nodes, mut mapped) = (String::new(), String::new(), String::new());
    let mut names = Vec::new();
    for (number, chain) in chains.iter().enumerate() {
        let topic = chain.topic();
        let _ = writeln!(
            declared,
            "  {topic}: {{ type: {}, bounds: {{ data: {data_bytes_max} }} }}",
            MESSAGE.0
        );
        let _ = writeln!(mapped, "  {topic}: {{ mapping: hardware, width: {WIDTH_BITS} }}");
        for (letter, ports) in [("p", "outputs"), ("s", "inputs")] {
            let node = format!("{letter}{number}");
            let _ = writeln!(
                nodes,
                "  {node}: {{ package: bench, type: {letter}, {ports}: {{ data: {topic} }} }}"
            );
            names.push(node);
        }
    }
    let graph = format!("crossdock: 1\nname: bench\ntopics:\n{declared}nodes:\n{nodes}");
    let mapping = format!(
        "crossdock: 1\nprocesses: {{}}\nfabrics: {{ chains: {{ nodes: [{}] }} }}\ntopics:\n{mapped}",
        names.join(", ")
    );
    let mut network = generated("chains", &graph, &mapping, &|name| {
        Schema::parse(name, MESSAGE.1).map_err(|error| error.to_string())
    })?;
    for chain in chains {
        let topics = &network.network.topics;
        let topic = topics.iter().find(|topic| topic.name == chain.topic());
        let topic = topic.context("the network lacks a topic")?;
        let (file, text) = (format!("hmt_{}.sv", topic.identifier), stand_in(*chain, topic)?);
        // The generator made wires of it: one publisher, one subscriber.
        network.files.insert(file, text).context("the network lacks a topic's file")?;
    }
    let files = &mut network.files;
    let mut list: String = SOURCES.map(|(name, _)| format!("{name}\n")).concat();
    list += files.get("sources.f").context("the network lacks its list")?;
    files.insert("sources.f".to_owned(), list);
    files.extend(SOURCES.map(|(name, text)| (name.to_owned(), text.to_owned())));
    Ok(network)
}

/// The topic's module with a chain in it.
fn stand_in(chain: Chain, topic: &TopicNetwork) -> Result<String> {
    let from = topic.publishers.first().context("a topic without a publisher")?;
    let to = topic.subscribers.first().context("a topic without a subscriber")?;
    let [first, second, third] = chain.beat_cycles.map(u32::from);
    let mut text = format!(
        "// Topic {} with a chain of nodes in it.\n`default_nettype none\n\nmodule hmt_{} (\n  input wire clk,\n  \
         input wire rst",
        topic.name, topic.identifier
    );
    let signals = [("tdata", 64), ("tkeep", 8), ("tlast", 1), ("tuser", 1), ("tvalid", 1)];
    let mut connections = String::new();
    let mut side = |port: &NetworkPort, prefix: &str, [with, against]: [&str; 2]| {
        for (signal, bits) in signals {
            let _ = write!(text, ",\n  {with} wire [{}:0] {}_{signal}", bits - 1, port.signals);
            let _ = write!(connections, ",\n    .{prefix}_{signal}({}_{signal})", port.signals);
        }
        let _ = write!(text, ",\n  {against} wire {}_tready", port.signals);
        let _ = write!(connections, ",\n    .{prefix}_tready({}_tready)", port.signals);
    };
    side(from, "s_axis", ["input", "output"]);
    side(to, "m_axis", ["output", "input"]);
    let _ = write!(
        text,
        "\n);\n\n  chain #(\n    .SEQUENTIAL(1'b{}),\n    .MAX_BYTES({}),\n    .BEAT_CYCLES({})\n  ) u_chain \
         (\n    .clk(clk),\n    .rst(rst){connections},\n    .computing()\n  );\n\nendmodule\n\n\
         `default_nettype wire\n",
        u8::from(chain.sequential),
        topic.layout.payload_bytes_max,
        first | second << 8 | third << 16
    );
    Ok(text)
}
