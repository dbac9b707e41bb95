//! The load: the graph file and its mappings, planned as `crossdock run` plans them, and the same
//! as plain lists for systems that know neither. Runs nothing.

use super::nodes;
use crate::Failure;
use crate::failure::While;
use crossdock_graph::{
    Graph, Mapping, NodePlan, PackageDescriptions, ParameterValue, Plan, RunOptions, Violation,
    check,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a second.
pub const RATE_HZ: u64 = 30;
/// From one release to the next.
pub const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / RATE_HZ);

/// Where the nodes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// One chain.
    Chain,
    /// One executor in event mode.
    Event,
    /// One executor in graph mode, two threads.
    Graph,
    /// Eight processes, each with one executor in event mode.
    Processes,
}

impl Places {
    const fn mapping(self) -> (&'static str, &'static str) {
        match self {
            Places::Chain => {
                ("chain.mapping.yaml", include_str!("../../perception/chain.mapping.yaml"))
            }
            Places::Event => {
                ("event.mapping.yaml", include_str!("../../perception/event.mapping.yaml"))
            }
            Places::Graph => {
                ("graph.mapping.yaml", include_str!("../../perception/graph.mapping.yaml"))
            }
            Places::Processes => {
                ("processes.mapping.yaml", include_str!("../../perception/processes.mapping.yaml"))
            }
        }
    }
}

/// Graph and mapping, checked and settled.
pub fn plan(places: Places) -> Result<Plan, Failure> {
    let (name, mapping) = places.mapping();
    let sentences = |violations: Vec<Violation>| {
        let sentences: Vec<String> = violations.iter().map(ToString::to_string).collect();
        Failure::new("planning the load", sentences.join("; "))
    };
    let graph = include_str!("../../perception/perception.graph.yaml");
    let graph = Graph::from_yaml("perception.graph.yaml", graph.as_bytes()).map_err(sentences)?;
    let mapping = Mapping::from_yaml(name, mapping.as_bytes()).map_err(sentences)?;
    let binaries = vec![nodes::package().description()];
    let interfaces = PackageDescriptions { binaries, ..PackageDescriptions::default() };
    check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).map_err(sentences)
}

/// A node, with its topics as indexes into [`Load::topics`].
#[derive(Debug)]
pub struct NodeLoad {
    /// Index into [`Load::processes`].
    pub process: usize,
    /// All of them have come when it runs; none: a timer releases it.
    pub triggers: Vec<usize>,
    /// Read when it runs.
    pub reads: Vec<usize>,
    /// Written by nobody else.
    pub outputs: Vec<usize>,
}

/// A topic.
#[derive(Debug)]
pub struct TopicLoad {
    /// Name in the graph.
    pub name: String,
    /// Length of every message.
    pub bytes: usize,
    /// Process of its publisher.
    pub process: usize,
    /// Number of subscribers.
    pub subscribers: usize,
    /// Other processes in which it triggers a node.
    pub wakes: Vec<usize>,
}

/// The load as lists.
#[derive(Debug)]
pub struct Load {
    /// Names.
    pub processes: Vec<String>,
    /// In an order in which none triggers one before it.
    pub nodes: Vec<NodeLoad>,
    /// In the order of their publishers.
    pub topics: Vec<TopicLoad>,
}

impl Load {
    /// The load as it is spread over processes.
    pub fn read(places: Places) -> Result<Self, Failure> {
        let plan = plan(places)?;
        let mut load = Self { processes: vec![], nodes: vec![], topics: vec![] };
        let mut topics: BTreeMap<&str, usize> = BTreeMap::new();
        let mut placed: Vec<(usize, &NodePlan)> = vec![];
        for (process, part) in plan.processes.iter().enumerate() {
            load.processes.push(part.name.clone());
            let nodes = part.executors.iter().flat_map(|executor| &executor.nodes);
            placed.extend(nodes.map(|node| (process, node)));
        }
        for (process, node) in &placed {
            for (output, bytes) in node.outputs.iter().zip(bytes(node)?) {
                topics.insert(&output.topic, load.topics.len());
                let (name, process) = (output.topic.clone(), *process);
                let (subscribers, wakes) = (0, vec![]);
                load.topics.push(TopicLoad { name, bytes, process, subscribers, wakes });
            }
        }
        for (process, node) in placed {
            let mut found = NodeLoad { process, triggers: vec![], reads: vec![], outputs: vec![] };
            for input in &node.inputs {
                let index = *topics.get(input.topic.as_str()).during("finding a topic")?;
                let topic = &mut load.topics[index];
                topic.subscribers += 1;
                if !input.trigger {
                    found.reads.push(index);
                    continue;
                }
                found.triggers.push(index);
                if topic.process != process && !topic.wakes.contains(&process) {
                    topic.wakes.push(process);
                }
            }
            found.outputs = node.outputs.iter().map(|it| topics[it.topic.as_str()]).collect();
            load.nodes.push(found);
        }
        Ok(load)
    }

    /// Messages of one iteration that subscribers get.
    pub fn deliveries(&self) -> usize {
        self.topics.iter().map(|topic| topic.subscribers).sum()
    }

    /// Bytes that one iteration writes, and that it reads.
    pub fn bytes(&self) -> [usize; 2] {
        let bytes = |topic: &usize| self.topics[*topic].bytes;
        let read = |node: &NodeLoad| {
            let all: usize = node.triggers.iter().map(bytes).sum();
            let newest = node.reads.iter().map(bytes).map(|bytes| bytes.min(super::work::PART));
            all + newest.sum::<usize>()
        };
        let written = self.topics.iter().map(|topic| topic.bytes).sum();
        [written, self.nodes.iter().map(read).sum()]
    }
}

/// Lengths of a node's messages, beside its outputs.
fn bytes(node: &NodePlan) -> Result<Vec<usize>, Failure> {
    let lengths = match node.parameters.get("bytes") {
        Some(ParameterValue::IntegerArray(lengths)) => lengths.as_slice(),
        _ => &[],
    };
    let lengths = lengths.iter().map(|length| usize::try_from(*length).during("reading a length"));
    let lengths: Vec<usize> = lengths.collect::<Result<_, _>>()?;
    match lengths.len() == node.outputs.len() {
        true => Ok(lengths),
        false => Err(Failure::new(format!("reading node {}", node.name), "one length per output")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_as_large_as_the_paper_says_in_every_mapping() {
        for places in [Places::Chain, Places::Event, Places::Graph, Places::Processes] {
            let load = Load::read(places).expect("a plan");
            assert!(load.topics.len() > 50, "{} publishers", load.topics.len());
            assert!(load.deliveries() > 100, "{} subscribers", load.deliveries());
            let sources = load.nodes.iter().filter(|node| node.triggers.is_empty());
            assert_eq!(sources.count(), 1, "one release");
            let small = load.topics.iter().map(|topic| topic.bytes).min();
            let large = load.topics.iter().map(|topic| topic.bytes).max();
            assert!(small <= Some(16) && large >= Some(3_000_000));
        }
        assert_eq!(plan(Places::Graph).expect("a plan").processes[0].executors.len(), 2);
        assert_eq!(Load::read(Places::Processes).expect("a plan").processes.len(), 8);
    }
}
