//! The placement: which nodes of a graph are hardware, and in which fabric.
//!
//! Pure data and its readers. What follows for topics is in `communication`.

use crate::expansion::shown;
use crate::import::json_nodes;
use crate::limits::VIOLATIONS_MAX;
use crate::mapping::MappedFabric;
use crate::mapping_file::read_fabrics;
use crate::model::Graph;
use crate::names::did_you_mean;
use crate::policy::OnLag;
use crate::read::{Keys, Reading};
use crate::source::Source;
use crate::violation::{Violation, ViolationKind};
use crate::yaml::{self, Tree};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

const PLACEMENT: Keys =
    Keys { what: "a placement file", required: &["crossdock", "fabrics"], optional: &[] };

/// The only fabric of a placement in JSON, which says `hw` and no more.
const JSON_FABRIC: &str = "fabric";

/// Which nodes are hardware, and where. All other nodes of the graph are software.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Fabrics and their nodes, in file order.
    pub fabrics: Vec<MappedFabric>,
    /// Where each part was written; empty for a placement built in code.
    #[serde(skip)]
    pub source: Source,
}

impl Placement {
    /// Reads a placement file. `file` is its name for messages; it is not opened.
    ///
    /// Takes time and memory in proportion to `text`, which has a limit. Does not block.
    ///
    /// # Errors
    /// Everything that is wrong with the file by itself, in the order of the file.
    pub fn from_yaml(file: &str, text: &[u8]) -> Result<Self, Vec<Violation>> {
        let mut reading = Reading::new(file);
        let tree = yaml::parse(file, text, &mut reading.violations);
        let placement = tree.map(|tree| read_placement(&mut reading, &tree));
        let (placement, source) = reading.finish(placement)?;
        Ok(Self { source, ..placement })
    }

    /// The placement with the names that nodes have in `graph`: a placement file says them as the
    /// graph file does, below the graph's namespace or from the root.
    #[must_use]
    pub fn in_graph(&self, graph: &Graph) -> Self {
        let whole = |name: &str| shown(graph.source.namespace(), name);
        let mut placement = self.clone();
        for node in placement.fabrics.iter_mut().flat_map(|fabric| &mut fabric.nodes) {
            *node = whole(node);
        }
        placement.source.move_parts(|path| {
            if let ["fabrics", _, _] = path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                path[2] = whole(&path[2]);
            }
        });
        placement
    }

    /// Reads the placement that a computation graph in JSON carries: every node says `mapping`,
    /// `hw` or `sw`. Nodes have the names that [`Graph::import_json`] gives them; hardware nodes
    /// are placed in one fabric named `fabric`. Nodes marked `env` are outside the graph and have
    /// no place.
    ///
    /// `file` is its name for messages; it is not opened. Pure and deterministic.
    ///
    /// # Errors
    /// What keeps the JSON from being read, and every node without a place.
    pub fn from_json(file: &str, text: &[u8]) -> Result<Self, Vec<Violation>> {
        let mut violations = Vec::new();
        let mut nodes = Vec::new();
        let described = json_nodes(file, text, "mapping")?;
        for node in described.iter().filter(|node| !node.is_environment) {
            match node.value.as_ref().map(Value::as_str) {
                Some(Some("hw")) => nodes.push(node.name.clone()),
                Some(Some("sw")) => {}
                said if violations.len() < VIOLATIONS_MAX => {
                    let (kind, message) = match said {
                        None => (ViolationKind::MissingKey, "the node does not say `mapping`"),
                        Some(_) => {
                            (ViolationKind::WrongValue, "`mapping` is neither `hw` nor `sw`")
                        }
                    };
                    let advice =
                        "write \"hw\" or \"sw\" for every node, or a placement file in YAML";
                    let violation = Violation::placed(kind, file, None, message, advice);
                    violations.push(violation.for_node(&node.original));
                }
                _ => {}
            }
        }
        if !violations.is_empty() {
            return Err(violations);
        }
        let fabric = MappedFabric {
            name: JSON_FABRIC.to_owned(),
            nodes,
            on_lag: OnLag::default(),
            part: None,
        };
        let fabrics = if fabric.nodes.is_empty() { Vec::new() } else { vec![fabric] };
        Ok(Self { fabrics, source: Source::new(file) })
    }
}

fn read_placement(reading: &mut Reading, tree: &Tree) -> Placement {
    reading.source.set(&[], tree.place);
    let fields = reading.fields(tree, &PLACEMENT);
    reading.version(&fields);
    let fabrics = fields.get("fabrics").map(|tree| read_fabrics(reading, tree));
    Placement { fabrics: fabrics.unwrap_or_default(), source: Source::default() }
}

/// The fabric of every hardware node, by name; a node that is placed twice stays where it was
/// first. Notes what the graph does not have and what is placed twice. `file` is what the fabrics
/// were read from, for messages: `mapping` or `placement`.
pub(crate) fn hardware_nodes<'a>(
    graph: &Graph,
    fabrics: &'a [MappedFabric],
    source: &Source,
    file: &str,
    violations: &mut Vec<Violation>,
) -> BTreeMap<&'a str, usize> {
    let known: BTreeMap<&str, ()> =
        graph.nodes.iter().map(|node| (node.name.as_str(), ())).collect();
    let mut placed: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, fabric) in fabrics.iter().enumerate() {
        for node in &fabric.nodes {
            let (kind, message, advice) = if !known.contains_key(node.as_str()) {
                // A proposal costs time; if nothing more is reported, none is needed.
                let is_full = violations.len() >= VIOLATIONS_MAX;
                let names = known.keys().copied().take(if is_full { 0 } else { usize::MAX });
                let near = did_you_mean(node, names);
                let message = format!("graph `{}` has no such node", graph.name);
                let remove = format!("remove it from the {file}");
                let advice = if near.is_empty() { remove } else { near };
                (ViolationKind::UnknownNode, message, advice)
            } else if let Some(first) = placed.get(node.as_str()) {
                let first = &fabrics[*first].name;
                let message = format!("the node is placed twice, first in fabric `{first}`");
                (ViolationKind::MappedTwice, message, "remove one of the two places".to_owned())
            } else {
                placed.insert(node, index);
                continue;
            };
            if violations.len() < VIOLATIONS_MAX {
                let path = ["fabrics", fabric.name.as_str(), node];
                let violation = Violation::at(kind, source, &path, message, advice);
                violations.push(violation.for_node(node));
            }
        }
    }
    placed
}
