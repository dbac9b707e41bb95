//! The mapping: which node runs in which process and executor or in which fabric, and where the
//! messages of each topic live.
//!
//! Pure data. Whether it fits a graph is for `check`.

use crate::device::{CopyModel, MappedDevice};
use crate::expansion::{join, shown};
use crate::hosts::MappedHost;
use crate::model::{Graph, GraphNode};
use crate::policy::{OnLag, Realtime, Restart};
use crate::source::Source;
use crate::stream::TopicStream;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Assignment of the nodes of a graph to processes, executors and fabrics, and of its topics to
/// software, hardware or gateways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mapping {
    /// Processes, in file order.
    pub processes: Vec<MappedProcess>,
    /// Fabrics with the nodes that are hardware there, in file order.
    pub fabrics: Vec<MappedFabric>,
    /// Devices with the nodes that leave their work to them, in file order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<MappedDevice>,
    /// Topics that the mapping names, in file order; every other topic is software-mapped.
    pub topics: Vec<MappedTopic>,
    /// Users and groups whose processes are trusted like our own.
    #[serde(skip_serializing_if = "TrustedUsers::is_empty")]
    pub trust: TrustedUsers,
    /// Computers that share the processes, in file order; empty: all of them run on one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<MappedHost>,
    /// Where each part was written; empty for a mapping built in code.
    #[serde(skip)]
    pub source: Source,
}

/// Users and groups, by name, whose processes are trusted like the processes of the user who runs
/// the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedUsers {
    /// Users.
    pub users: Vec<String>,
    /// Groups: all of their members.
    pub groups: Vec<String>,
}

impl TrustedUsers {
    /// Whether nobody else is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }
}

/// One process of a mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MappedProcess {
    /// Name, unique in the mapping, a ROS name token.
    pub name: String,
    /// Executors, one thread each but for those in graph mode.
    pub executors: Vec<MappedExecutor>,
    /// Whether its memory stays in RAM.
    pub lock_memory: bool,
    /// What follows if rights that it asks for are missing.
    pub realtime: Realtime,
    /// When it is started again.
    pub restart: Restart,
}

/// One executor of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedExecutor {
    /// Name; empty: `<process>` for the only executor of a process, else `<process>.<index>`.
    pub name: String,
    /// How it runs its nodes.
    pub mode: ExecutorMode,
    /// How long it polls before it sleeps, microseconds. 0: it sleeps at once.
    pub spin_us: u32,
    /// Priority of all of its threads with `SCHED_FIFO`, 1 to 99; `None`: the usual scheduling.
    pub priority: Option<u8>,
    /// CPUs that each of its threads may run on; empty: all.
    pub affinity: Vec<u32>,
    /// Names of its nodes.
    pub nodes: Vec<String>,
    /// Threads of an executor in graph mode, its lanes; 1 in the other modes.
    pub threads: u32,
    /// What one execution of a node is expected to take, microseconds; 1000 if nothing is said.
    /// Only graph mode looks at it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub costs_us: BTreeMap<String, u32>,
}

impl Default for MappedExecutor {
    /// A chain without nodes.
    fn default() -> Self {
        Self {
            name: String::new(),
            mode: ExecutorMode::Chain,
            spin_us: 0,
            priority: None,
            affinity: Vec::new(),
            nodes: Vec::new(),
            threads: 1,
            costs_us: BTreeMap::new(),
        }
    }
}

/// How an executor runs its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecutorMode {
    /// In a fixed order on one thread; successors run after `execute` returns.
    #[default]
    Chain,
    /// Each node when one of its triggers fires.
    Event,
    /// On several threads, each node always on the same one: what can run at the same time is
    /// spread over chains, one per thread. A plan has these chains.
    Graph,
}

/// A fabric (the configurable logic of one FPGA) and the nodes that are hardware there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedFabric {
    /// Name, unique in the mapping, a ROS name token.
    pub name: String,
    /// Names of its nodes.
    pub nodes: Vec<String>,
    /// What a run in real time does if the fabric is simulated and falls behind.
    #[serde(skip_serializing_if = "OnLag::is_default")]
    pub on_lag: OnLag,
    /// The FPGA that it is to fit into, by the name of the part or of a board that has it; `None`:
    /// nobody has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// Where the messages of one topic live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedTopic {
    /// Absolute ROS topic name.
    pub name: String,
    /// Where its messages live.
    pub mapping: TopicMapping,
    /// Its AXI stream, where its messages are in a fabric.
    #[serde(skip_serializing_if = "is_unsaid")]
    pub stream: TopicStream,
}

fn is_unsaid(stream: &TopicStream) -> bool {
    *stream == TopicStream::default()
}

/// Where the messages of a topic live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TopicMapping {
    /// In host memory; a hardware node on it reads or writes there, each for itself.
    #[default]
    Software,
    /// In one fabric, which they never leave.
    Hardware,
    /// In host memory and in each fabric that has a node on the topic; a gateway per fabric moves
    /// each message once.
    Gateway,
}

impl TopicMapping {
    /// The word for it in a mapping file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Hardware => "hardware",
            Self::Gateway => "gateway",
        }
    }
}

impl Mapping {
    /// One process per package, named like the package, with all its nodes in one chain. Packages
    /// come in the order of their first node.
    #[must_use]
    pub fn one_chain_per_package(graph: &Graph) -> Self {
        Self::one_chain_per_package_of(&graph.nodes)
    }

    /// The same for some of the nodes of a graph.
    pub(crate) fn one_chain_per_package_of<'a>(
        nodes: impl IntoIterator<Item = &'a GraphNode>,
    ) -> Self {
        let mut mapping = Self::default();
        for node in nodes {
            let process = mapping.processes.iter_mut().find(|process| process.name == node.package);
            match process {
                Some(process) => process.executors[0].nodes.push(node.name.clone()),
                None => mapping.processes.push(single(&node.package, ExecutorMode::Chain, node)),
            }
        }
        mapping
    }

    /// One process per node, named like the node with `_` between the parts of its name.
    #[must_use]
    pub fn one_process_per_node(graph: &Graph) -> Self {
        let processes = graph.nodes.iter();
        let name = |node: &GraphNode| node.name.trim_start_matches('/').replace('/', "_");
        let processes = processes.map(|node| single(&name(node), ExecutorMode::Event, node));
        Self { processes: processes.collect(), ..Self::default() }
    }

    /// The mapping with the names that nodes and topics have in `graph`: a mapping file says them
    /// as the graph file does, below the graph's namespace or from the root.
    #[must_use]
    pub fn in_graph(&self, graph: &Graph) -> Self {
        let namespace = graph.source.namespace();
        self.with_names(&|node| shown(namespace, node), &|topic| vec![join(namespace, topic)])
    }

    /// The mapping with other names of nodes, and with other names of topics. One topic may
    /// have become several.
    pub(crate) fn with_names(
        &self,
        node: &dyn Fn(&str) -> String,
        topic: &dyn Fn(&str) -> Vec<String>,
    ) -> Self {
        let mut mapping = self.clone();
        let all = |nodes: &mut Vec<String>| nodes.iter_mut().for_each(|name| *name = node(name));
        for executor in mapping.processes.iter_mut().flat_map(|it| &mut it.executors) {
            all(&mut executor.nodes);
            let costs = std::mem::take(&mut executor.costs_us).into_iter();
            executor.costs_us = costs.map(|(name, cost)| (node(&name), cost)).collect();
        }
        mapping.fabrics.iter_mut().for_each(|fabric| all(&mut fabric.nodes));
        let mut on_devices: BTreeSet<String> = BTreeSet::new();
        for device in &mut mapping.devices {
            on_devices.extend(device.nodes.iter().cloned());
            all(&mut device.nodes);
            let topics = std::mem::take(&mut device.topics).into_iter();
            let new = |(name, model): (String, CopyModel)| {
                topic(name.as_str()).into_iter().map(move |it| (it, model))
            };
            device.topics = topics.flat_map(new).collect();
        }
        let topics = std::mem::take(&mut mapping.topics).into_iter();
        let renamed = topics.flat_map(|mapped| {
            let stream = mapped.stream.with_nodes(node);
            let MappedTopic { name, mapping, .. } = mapped;
            let named = move |name| MappedTopic { name, mapping, stream: stream.clone() };
            topic(&name).into_iter().map(named)
        });
        mapping.topics = renamed.collect();
        mapping.source.move_parts(|path| {
            let first = |name: &str| topic(name).into_iter().next().unwrap_or(name.to_owned());
            let parts: Vec<&str> = path.iter().map(String::as_str).collect();
            let mut new = Vec::new();
            match parts[..] {
                ["processes", _, _, name] => new.push((3, node(name))),
                ["fabrics", _, name] => new.push((2, node(name))),
                ["devices", _, name] if on_devices.contains(name) => new.push((2, node(name))),
                ["devices", _, name] => new.push((2, first(name))),
                ["topics", name, ref rest @ ..] => {
                    new.push((1, first(name)));
                    if let ["publishers" | "subscribers", name, ..] = rest {
                        new.push((3, node(name)));
                    }
                }
                _ => {}
            }
            new.into_iter().for_each(|(place, name)| path[place] = name);
        });
        mapping
    }

    /// Where the messages of a topic live.
    #[must_use]
    pub fn topic_mapping(&self, topic: &str) -> TopicMapping {
        let named = self.topics.iter().find(|mapped| mapped.name == topic);
        named.map_or(TopicMapping::Software, |mapped| mapped.mapping)
    }

    /// What the mapping says of a topic's AXI stream.
    #[must_use]
    pub fn topic_stream(&self, topic: &str) -> TopicStream {
        let named = self.topics.iter().find(|mapped| mapped.name == topic);
        named.map(|mapped| mapped.stream.clone()).unwrap_or_default()
    }

    /// The same mapping without the positions of its parts.
    #[must_use]
    pub fn without_source(&self) -> Self {
        Self { source: Source::default(), ..self.clone() }
    }
}

fn single(name: &str, mode: ExecutorMode, node: &GraphNode) -> MappedProcess {
    let nodes = vec![node.name.clone()];
    let executor = MappedExecutor { mode, nodes, ..MappedExecutor::default() };
    MappedProcess { name: name.to_owned(), executors: vec![executor], ..MappedProcess::default() }
}
