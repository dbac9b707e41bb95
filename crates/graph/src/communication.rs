//! The communication mapping: from a graph and a placement of its nodes to the mapping of its
//! topics.
//!
//! The method comes from "Mapping and Optimizing Communication in ROS 2-based Applications on
//! Configurable System-on-Chip Platforms" (Lienen, Nowosad, Platzner, 2023), section 5; the rule is
//! in `docs/formats/placement.md`.

use crate::mapping::{MappedTopic, Mapping, TopicMapping};
use crate::model::{Graph, GraphNode};
use crate::placement::{Placement, hardware_nodes};
use crate::stream::{NodeStream, PortStream, StreamFifo, TopicStream};
use crate::violation::{Violation, ViolationKind};
use crate::walk::closing_inputs;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::Sum;
use std::ops::Add;

/// The mapping that follows from a graph and a placement, with the reasons in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommunicationMapping {
    /// The mapping: fabrics from the placement, every topic of the graph once, and the software
    /// nodes of a package in one chain in one process.
    pub mapping: Mapping,
    /// Every topic of the graph: declared ones first in file order, then by first use.
    pub topics: Vec<TopicChoice>,
    /// Crossings of all topics if all were software-mapped.
    pub all_software: Crossings,
    /// Crossings of all topics if there were no gateways: hardware-mapped topics are in hardware,
    /// all others are software-mapped.
    pub without_gateways: Crossings,
    /// Crossings of all topics as they are mapped.
    pub mapped: Crossings,
}

/// What was decided for one topic, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopicChoice {
    /// Name of the topic.
    pub topic: String,
    /// Where its messages live.
    pub mapping: TopicMapping,
    /// Nodes that publish it.
    pub publishers: Sides,
    /// Nodes that subscribe to it.
    pub subscribers: Sides,
    /// Whether publishers outside the graph are expected, which are software.
    pub external: bool,
    /// Fabrics of the hardware nodes on it, in the order of the placement.
    pub fabrics: Vec<String>,
    /// Whether the rule leaves the choice between software and gateway open: hardware and software
    /// are both on the topic (or several fabrics), and no fabric has more than one subscriber.
    pub open: bool,
    /// Crossings if it were software-mapped.
    pub as_software: Crossings,
    /// Crossings if it were mapped to a gateway; `None` if there is nothing to join.
    pub as_gateway: Option<Crossings>,
    /// Crossings as it is mapped.
    pub crossings: Crossings,
}

/// Nodes on a topic, by where they are placed. A node with several ports on it counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sides {
    /// Software nodes.
    pub software: u32,
    /// Hardware nodes.
    pub hardware: u32,
}

/// Ways on which messages cross the boundary between host memory and a fabric. A message takes each
/// way that leads from its publisher to a subscriber, and each once.
///
/// At a software-mapped topic every hardware node has its own: one for publishing, one for
/// subscribing. A gateway has one up if what is published in its fabric has subscribers outside,
/// and one down if what is published outside has subscribers in its fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossings {
    /// From a fabric to host memory.
    pub up: u32,
    /// From host memory to a fabric.
    pub down: u32,
}

/// What becomes of topics for which the rule leaves the choice open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpenTopics {
    /// They are mapped to gateways, like all topics between hardware and software.
    Gateway,
    /// They stay software-mapped, the paper's default: one crossing for each hardware node on them.
    #[default]
    Software,
}

impl Crossings {
    /// Both directions together.
    #[must_use]
    pub fn total(self) -> u32 {
        self.up + self.down
    }
}

impl Serialize for Crossings {
    /// With the total, which a reader wants first.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Crossings", 3)?;
        fields.serialize_field("total", &self.total())?;
        fields.serialize_field("up", &self.up)?;
        fields.serialize_field("down", &self.down)?;
        fields.end()
    }
}

impl Add for Crossings {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { up: self.up + other.up, down: self.down + other.down }
    }
}

impl Sum for Crossings {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}

impl CommunicationMapping {
    /// Maps the topics of a graph whose nodes are placed.
    ///
    /// All publishers and subscribers in software: software-mapped. All of them in one fabric:
    /// hardware-mapped. Else: a gateway, or what `open` says where the rule leaves the choice open.
    /// Publishers outside the graph are software. An input that closes a cycle of nodes in one
    /// fabric gets a FIFO of a whole message.
    ///
    /// Pure: allocates, does not block, may be called from any thread. The same arguments give the
    /// same mapping, order included.
    ///
    /// # Errors
    /// Every node of the placement that the graph does not have or that is placed twice, and every
    /// fabric that is there twice.
    pub fn new(
        graph: &Graph,
        placement: &Placement,
        open: OpenTopics,
    ) -> Result<Self, Vec<Violation>> {
        let fabric_of = checked(graph, placement)?;
        let name = |fabric: usize| placement.fabrics[fabric].name.clone();
        let mut topics = Vec::new();
        for (topic, ends) in ends(graph, &fabric_of) {
            let (as_software, as_gateway) = (ends.as_software(), ends.as_gateway());
            let (mapping, crossings) = match ends.rule() {
                Rule::Software => (TopicMapping::Software, as_software),
                Rule::Hardware => (TopicMapping::Hardware, Crossings::default()),
                Rule::Open if open == OpenTopics::Software => (TopicMapping::Software, as_software),
                Rule::Open | Rule::Gateway => (TopicMapping::Gateway, as_gateway),
            };
            topics.push(TopicChoice {
                topic: topic.to_owned(),
                mapping,
                publishers: ends.publishers.sides(),
                subscribers: ends.subscribers.sides(),
                external: ends.external,
                fabrics: ends.fabrics().into_iter().map(name).collect(),
                open: ends.rule() == Rule::Open,
                as_software,
                as_gateway: matches!(ends.rule(), Rule::Open | Rule::Gateway).then_some(as_gateway),
                crossings,
            });
        }
        let software = graph.nodes.iter();
        let software = software.filter(|node| !fabric_of.contains_key(node.name.as_str()));
        let mut mapped: Vec<MappedTopic> = (topics.iter())
            .map(|choice| MappedTopic {
                name: choice.topic.clone(),
                mapping: choice.mapping,
                stream: TopicStream::default(),
            })
            .collect();
        break_cycles(graph, &fabric_of, &mut mapped);
        let mapping = Mapping {
            fabrics: placement.fabrics.clone(),
            topics: mapped,
            ..Mapping::one_chain_per_package_of(software)
        };
        let in_hardware = |choice: &&TopicChoice| choice.mapping == TopicMapping::Hardware;
        Ok(Self {
            mapping,
            all_software: topics.iter().map(|choice| choice.as_software).sum(),
            without_gateways: (topics.iter().filter(|choice| !in_hardware(choice)))
                .map(|choice| choice.as_software)
                .sum(),
            mapped: topics.iter().map(|choice| choice.crossings).sum(),
            topics,
        })
    }
}

/// Gives each input that closes a cycle of nodes in one fabric a FIFO of a whole message: each node
/// of a cycle may wait for the next one with a message that nobody takes.
fn break_cycles(graph: &Graph, fabric_of: &BTreeMap<&str, usize>, topics: &mut [MappedTopic]) {
    let fabric = |node: usize| fabric_of.get(graph.nodes[node].name.as_str());
    let in_fabrics = topics.iter().filter(|topic| topic.mapping != TopicMapping::Software);
    let in_fabrics: BTreeSet<&str> = in_fabrics.map(|topic| topic.name.as_str()).collect();
    let mut closing = closing_inputs(
        graph,
        |node, input| fabric(node).is_some() && in_fabrics.contains(input.topic.as_str()),
        |publisher, subscriber| fabric(publisher) == fabric(subscriber),
    );
    closing.sort_unstable();
    for (node, port) in closing {
        let node = &graph.nodes[node];
        let input = &node.inputs[port];
        let fifo = PortStream { fifo: Some(StreamFifo::Messages(1)), ..PortStream::default() };
        let (node, port) = (node.name.clone(), input.port.clone());
        for topic in topics.iter_mut().filter(|topic| topic.name == input.topic) {
            let (node, port, stream) = (node.clone(), port.clone(), fifo.clone());
            topic.stream.subscribers.push(NodeStream { node, port, stream });
        }
    }
}

/// The fabric of every hardware node, by name.
fn checked<'a>(
    graph: &Graph,
    placement: &'a Placement,
) -> Result<BTreeMap<&'a str, usize>, Vec<Violation>> {
    let mut violations = Vec::new();
    let mut names = BTreeSet::new();
    for fabric in placement.fabrics.iter().filter(|fabric| !names.insert(&fabric.name)) {
        let message = format!("fabric `{}` is there twice", fabric.name);
        let path = ["fabrics", fabric.name.as_str()];
        let kind = ViolationKind::Duplicate;
        let advice = "rename one of them";
        violations.push(Violation::at(kind, &placement.source, &path, message, advice));
    }
    let (fabrics, source) = (&placement.fabrics, &placement.source);
    let fabric_of = hardware_nodes(graph, fabrics, source, "placement", &mut violations);
    if violations.is_empty() { Ok(fabric_of) } else { Err(violations) }
}

/// What the rule says of a topic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Software,
    Hardware,
    /// Between hardware and software, with at most one subscriber in each fabric.
    Open,
    Gateway,
}

/// Nodes that publish, or that subscribe, by where they are.
#[derive(Default)]
struct Placed {
    software: u32,
    by_fabric: BTreeMap<usize, u32>,
}

impl Placed {
    fn count(&mut self, fabric: Option<usize>) {
        match fabric {
            Some(fabric) => *self.by_fabric.entry(fabric).or_default() += 1,
            None => self.software += 1,
        }
    }

    fn hardware(&self) -> u32 {
        self.by_fabric.values().sum()
    }

    fn sides(&self) -> Sides {
        Sides { software: self.software, hardware: self.hardware() }
    }

    /// How many fabrics have some of these nodes while `others` are somewhere else too.
    fn crossing_fabrics(&self, others: &Self, others_outside: u32) -> u32 {
        let elsewhere = |fabric: &&usize| {
            let here = others.by_fabric.get(*fabric).copied().unwrap_or_default();
            others.software + others_outside + others.hardware() > here
        };
        // As many as there are fabrics in a file, which has a limit.
        self.by_fabric.keys().filter(elsewhere).count() as u32
    }
}

/// Who is on a topic.
#[derive(Default)]
struct Ends {
    external: bool,
    publishers: Placed,
    subscribers: Placed,
}

impl Ends {
    fn fabrics(&self) -> BTreeSet<usize> {
        let publishers = self.publishers.by_fabric.keys();
        publishers.chain(self.subscribers.by_fabric.keys()).copied().collect()
    }

    fn rule(&self) -> Rule {
        let fabrics = self.fabrics().len();
        let software = self.external || self.publishers.software + self.subscribers.software > 0;
        match (software, fabrics) {
            (_, 0) => Rule::Software,
            (false, 1) => Rule::Hardware,
            _ if self.subscribers.by_fabric.values().any(|nodes| *nodes > 1) => Rule::Gateway,
            _ => Rule::Open,
        }
    }

    fn as_software(&self) -> Crossings {
        Crossings { up: self.publishers.hardware(), down: self.subscribers.hardware() }
    }

    fn as_gateway(&self) -> Crossings {
        Crossings {
            up: self.publishers.crossing_fabrics(&self.subscribers, 0),
            down: self.subscribers.crossing_fabrics(&self.publishers, u32::from(self.external)),
        }
    }
}

/// Every topic of the graph with who is on it, in the graph's order of topics.
fn ends<'g>(graph: &'g Graph, fabric_of: &BTreeMap<&str, usize>) -> Vec<(&'g str, Ends)> {
    let names = graph.topic_names();
    let index: BTreeMap<&str, usize> = names.iter().enumerate().map(|(at, it)| (*it, at)).collect();
    let mut ends: Vec<(&str, Ends)> = names.iter().map(|name| (*name, Ends::default())).collect();
    for topic in &graph.topics {
        ends[index[topic.name.as_str()]].1.external = topic.external;
    }
    for node in &graph.nodes {
        let fabric = fabric_of.get(node.name.as_str()).copied();
        for topic in published(node) {
            ends[index[topic]].1.publishers.count(fabric);
        }
        for topic in subscribed(node) {
            ends[index[topic]].1.subscribers.count(fabric);
        }
    }
    ends
}

fn published(node: &GraphNode) -> BTreeSet<&str> {
    node.outputs.iter().map(|output| output.topic.as_str()).collect()
}

fn subscribed(node: &GraphNode) -> BTreeSet<&str> {
    node.inputs.iter().map(|input| input.topic.as_str()).collect()
}
