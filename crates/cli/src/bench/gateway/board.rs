//! The boards of the experiment: one publisher, hardware subscribers and one in software on a topic of
//! pictures, made like any user's. Must not know what is measured on them.

use crate::bench::tell;
use crate::files::Violations;
use anyhow::{Context, Result};
use crossdock_fabric::{Cache, Library, Search};
use crossdock_graph::{Graph, Mapping, PackageDescriptions};
use crossdock_hwgen::{Generated, Request, generate};
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
        let graph = Graph::from_yaml("bench graph", graph.as_bytes()).map_err(Violations::from)?;
        let mapping = Mapping::from_yaml("bench mapping", mapping.as_bytes());
        let request = Request {
            graph: &graph,
            mapping: &mapping.map_err(Violations::from)?,
            descriptions: &PackageDescriptions::default(),
            fabric: "board",
            types: &|name| Schema::shipped(name).map_err(|error| error.to_string()),
            implementations: &[],
        };
        Ok(generate(&request).map_err(Violations::from)?)
    }
}

/// The board's simulation, from the cache or built.
pub(crate) fn library(generated: &Generated) -> Result<Library> {
    let cache = Cache::from_environment()?;
    let built = Library::build_board(generated, &Search::from_environment(), &cache, &mut tell)?;
    built.context("the network has no board")
}

/// Index of the port of this node.
pub(crate) fn port(library: &Library, node: &str) -> Result<u32> {
    let ends = format!("_axis_{node}_image");
    let found = library.ports().iter().zip(0..).find(|(port, _)| port.name.ends_with(&ends));
    found.map(|(_, index)| index).with_context(|| format!("the board has no port of {node}"))
}
