//! Nodes of a kind: several of one node type, with parameters; and what an import is told besides.

use super::{Described, Import, PACKAGE, snake_token};
use crate::condition::Condition;
use crate::model::Graph;
use crate::names::{listed, token_fault};
use crate::value::ParameterValue;
use crate::violation::ViolationKind;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What the JSON of a computation graph does not say.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Package of all nodes.
    pub package: Option<String>,
    /// What nodes of a kind wait for, by kind.
    pub conditions: BTreeMap<String, ImportJoin>,
}

/// The condition of an imported node over all its triggering inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportJoin {
    /// One message of each, the oldest first.
    AllOf,
    /// The newest of each, once something has come on each since the node ran last.
    Fresh,
}

/// The node type that a node's kind names.
pub(super) fn kind(fields: &Map<String, Value>) -> Option<String> {
    let kind = fields.get("kind")?.as_str().filter(|kind| !kind.is_empty())?;
    Some(snake_token(kind, "kind"))
}

/// The value of a parameter, if a node of a kind says one under this key.
pub(super) fn parameter(key: &str, value: &Value) -> Option<ParameterValue> {
    if token_fault(key).is_some() {
        return None;
    }
    match value {
        Value::Bool(value) => Some(ParameterValue::Bool(*value)),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Some(ParameterValue::Integer(integer)),
            None => number.as_f64().filter(|it| it.is_finite()).map(ParameterValue::Double),
        },
        _ => None,
    }
}

impl Import<'_> {
    pub(super) fn package(&self) -> &str {
        self.options.package.as_deref().unwrap_or(PACKAGE)
    }

    /// What was filled in, for the head of the graph file.
    pub(super) fn not_said(&self, described: &[Described<'_>]) -> String {
        let mut said = Vec::new();
        if self.options.package.is_none() {
            said.push(format!("packages (`{PACKAGE}` stands in)"));
        }
        let of_kind = described.iter().filter(|node| node.kind.is_some()).count();
        if of_kind < described.len() {
            said.push("node types (named after the nodes)".to_owned());
        }
        let mut text = match said.is_empty() {
            true => String::new(),
            false => format!("Not said there: {}; ", said.join(" and ")),
        };
        text.push_str(match (of_kind, of_kind == described.len()) {
            (0, _) => "ports are named after their topics.",
            (_, true) => "ports are numbered.",
            (_, false) => "ports are named after their topics; ports of kinds are numbered.",
        });
        let first = text[..1].to_uppercase();
        text.replace_range(..1, &first);
        text
    }

    /// Gives nodes of the kinds that the options name their conditions.
    pub(super) fn conditions(&mut self, described: &[Described<'_>], graph: &mut Graph) {
        let kinds: BTreeSet<&str> = described.iter().filter_map(|it| it.kind.as_deref()).collect();
        for (kind, join) in &self.options.conditions {
            if !kinds.contains(kind.as_str()) {
                let message = format!("no node is of the kind `{kind}`");
                let advice = format!("kinds of this graph: {}", listed(kinds.iter().copied()));
                self.fault(ViolationKind::UnknownNodeType, message, &advice);
            }
            let of_kind = described.iter().filter(|it| it.kind.as_ref() == Some(kind));
            let names: BTreeSet<&str> = of_kind.map(|it| it.name.as_str()).collect();
            for node in graph.nodes.iter_mut().filter(|it| names.contains(it.name.as_str())) {
                let inputs = node.inputs.iter().filter(|input| input.trigger != Some(false));
                let ports: Vec<String> = inputs.map(|input| input.port.clone()).collect();
                // With fewer there is nothing to wait for.
                if ports.len() < 2 {
                    continue;
                }
                node.condition = Some(match join {
                    ImportJoin::AllOf => Condition { all_of: ports, ..Condition::default() },
                    ImportJoin::Fresh => Condition { fresh: ports, ..Condition::default() },
                });
            }
        }
    }
}
