//! The boards of the experiment: one publisher, hardware subscribers and one in software on a topic
//! of pictures, made like any user's.

use crate::networks::generated;
use anyhow::{Context, Result};
use crossdock_fabric::Library;
use crossdock_hwgen::Generated;
use crossdock_msg::Schema;
use std::fmt::Write as _;

/// The topic.
pub(crate) const TOPIC: &str = "/image";
/// Bounds of its messages besides the data.
pub(crate) const TEXTS: [(&str, u32); 2] = [("header.frame_id", 16), ("encoding", 8)];

/// Who publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Hardware,
    Software,
}

impl Side {
    pub(crate) const ALL: [Self; 2] = [Self::Hardware, Self::Software];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
        }
    }
}

/// Where the topic lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapped {
    /// In host memory: each hardware node reads or writes it itself.
    Software,
    /// In hardware, with a gateway.
    Gateway,
}

impl Mapped {
    pub(crate) const ALL: [Self; 2] = [Self::Software, Self::Gateway];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Gateway => "gateway",
        }
    }
}

/// What the board of a cell is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) publisher: Side,
    /// Subscribers in hardware; there is one in software besides.
    pub(crate) subscribers: usize,
    pub(crate) mapped: Mapped,
    pub(crate) width_bits: u32,
    /// Most bytes of a picture.
    pub(crate) data_bytes_max: u32,
}

impl Shape {
    /// The network with its board.
    pub(crate) fn generated(&self) -> Result<Generated> {
        let Self { publisher, subscribers, mapped, width_bits, data_bytes_max } = *self;
        let texts = TEXTS.map(|(field, bound)| format!("{field}: {bound}")).join(", ");
        let mut graph = format!(
            "crossdock: 1\nname: gateway\ntopics:\n  {TOPIC}: {{ type: sensor_msgs/msg/Image, bounds: \
             {{ {texts}, data: {data_bytes_max} }} }}\nnodes:\n  \
             source: {{ package: bench, type: source, outputs: {{ image: {TOPIC} }} }}\n  \
             show: {{ package: bench, type: show, inputs: {{ image: {TOPIC} }} }}\n"
        );
        let mut hardware: Vec<String> = (0..subscribers).map(|index| format!("s{index}")).collect();
        for node in &hardware {
            // Writing to a String cannot fail.
            let _ = writeln!(
                graph,
                "  {node}: {{ package: bench, type: s, inputs: {{ image: {TOPIC} }} }}"
            );
        }
        let software = match publisher {
            Side::Hardware => {
                hardware.insert(0, "source".to_owned());
                "show"
            }
            Side::Software => "source, show",
        };
        let mapping = format!(
            "crossdock: 1\nprocesses: {{ host: {{ executors: [ {{ mode: chain, nodes: [{software}] }} ] \
             }} }}\nfabrics: {{ board: {{ nodes: [{}] }} }}\ntopics: {{ {TOPIC}: {{ mapping: {}, width: \
             {width_bits} }} }}\n",
            hardware.join(", "),
            mapped.word()
        );
        generated("board", &graph, &mapping, &|name| {
            Schema::shipped(name).map_err(|error| error.to_string())
        })
    }
}

/// Index of the port of this node.
pub(crate) fn port(library: &Library, node: &str) -> Result<u32> {
    let ends = format!("_axis_{node}_image");
    let found = library.ports().iter().zip(0..).find(|(port, _)| port.name.ends_with(&ends));
    found.map(|(_, index)| index).with_context(|| format!("the board has no port of {node}"))
}
