//! The mapping: which node runs in which process and executor.
//!
//! Pure data. Must not know what nodes do; whether it fits a graph is for `check`.

use crate::model::Graph;
use crate::source::Source;
use serde::{Deserialize, Serialize};

/// Assignment of the nodes of a graph to processes and executors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mapping {
    /// Processes, in file order.
    pub processes: Vec<MappedProcess>,
    /// Where each part was written; empty for a mapping built in code.
    #[serde(skip)]
    pub source: Source,
}

/// One process of a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedProcess {
    /// Name, unique in the mapping, a ROS name token.
    pub name: String,
    /// Executors, one thread each.
    pub executors: Vec<MappedExecutor>,
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
    /// Names of its nodes.
    pub nodes: Vec<String>,
}

/// How an executor runs its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecutorMode {
    /// In a fixed order on one thread; successors run after `execute` returns.
    Chain,
    /// Each node when one of its triggers fires.
    Event,
}

impl Mapping {
    /// One process per package, named like the package, with all its nodes in one chain. Packages
    /// come in the order of their first node.
    #[must_use]
    pub fn one_chain_per_package(graph: &Graph) -> Self {
        let mut mapping = Self::default();
        for node in &graph.nodes {
            let process = mapping.processes.iter_mut().find(|process| process.name == node.package);
            match process {
                Some(process) => process.executors[0].nodes.push(node.name.clone()),
                None => mapping.processes.push(single(&node.package, ExecutorMode::Chain, node)),
            }
        }
        mapping
    }

    /// One process per node, named like the node.
    #[must_use]
    pub fn one_process_per_node(graph: &Graph) -> Self {
        let processes = graph.nodes.iter();
        let processes = processes.map(|node| single(&node.name, ExecutorMode::Event, node));
        Self { processes: processes.collect(), source: Source::default() }
    }

    /// The same mapping without the positions of its parts.
    #[must_use]
    pub fn without_source(&self) -> Self {
        Self { source: Source::default(), ..self.clone() }
    }
}

fn single(name: &str, mode: ExecutorMode, node: &crate::model::GraphNode) -> MappedProcess {
    let nodes = vec![node.name.clone()];
    let executor = MappedExecutor { name: String::new(), mode, spin_us: 0, nodes };
    MappedProcess { name: name.to_owned(), executors: vec![executor] }
}
