//! Lists of node and topic names in the JSON, as chains of the graph.

use super::{Described, Import, Taken, snake_token, unique};
use crate::model::{Chain, Graph, Period};
use crate::policy::{Limit, OnMiss};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

impl Import<'_> {
    /// Every list of node and topic names in the JSON is a chain from the first to the last one.
    /// Where the first is a node that only publishes, all nodes of the list that only publish begin
    /// one.
    pub(super) fn chains(
        &mut self,
        root: &Map<String, Value>,
        described: &[Described<'_>],
        topics: &BTreeMap<String, String>,
        mut graph: Graph,
    ) -> Option<Graph> {
        let nodes: BTreeMap<&str, &Described<'_>> =
            described.iter().map(|node| (node.original, node)).collect();
        let mut taken = Taken::new();
        for (key, value) in root {
            let items: Option<Vec<&str>> =
                value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
            let Some(items) = items.filter(|items| items.len() > 1) else { continue };
            let known = |item: &&&str| nodes.contains_key(**item) || topics.contains_key(**item);
            if items.iter().filter(known).count() < items.len() {
                continue;
            }
            let (first, last) = (items[0], items[items.len() - 1]);
            let to = nodes.get(last).and_then(|node| node.publishes.first().copied());
            let Some(to) = topics.get(to.unwrap_or(last)) else { continue };
            let source = |item: &str| -> Option<&Described<'_>> {
                nodes.get(item).copied().filter(|node| node.subscribes.is_empty())
            };
            let sources: Vec<&Described<'_>> = match source(first) {
                Some(_) => items.iter().filter_map(|item| source(item)).collect(),
                None => Vec::new(),
            };
            let way = format!("by way of {}", items.join(", "));
            for source in &sources {
                let Some(from) = source.publishes.first().and_then(|from| topics.get(*from)) else {
                    continue;
                };
                let name = match sources.len() {
                    1 => snake_token(key, "chain"),
                    _ => snake_token(&format!("{key}_{}", source.name), "chain"),
                };
                let chain = self.chain(&unique(&name, &mut taken), [from, to], &way, Some(source));
                graph.chains.push(chain);
            }
            if sources.is_empty() {
                let from = nodes.get(first).and_then(|node| node.subscribes.first().copied());
                let Some(from) = topics.get(from.unwrap_or(first)) else { continue };
                let name = unique(&snake_token(key, "chain"), &mut taken);
                graph.chains.push(self.chain(&name, [from, to], &way, None));
            }
        }
        Some(graph)
    }

    fn chain(
        &mut self,
        name: &str,
        [from, to]: [&String; 2],
        way: &str,
        source: Option<&Described<'_>>,
    ) -> Chain {
        let path = ["chains", name];
        self.notes.add(&path, way);
        let period_ns = source.and_then(|source| Period::PeriodMs(source.period_ms?).period_ns());
        if let (Some(_), Some(source)) = (period_ns, source) {
            self.notes.add(&path, format!("its max_latency is the period of {}", source.original));
        }
        let max_latency = period_ns.map(|limit_ns| Limit { limit_ns, on_miss: OnMiss::Count });
        Chain { name: name.to_owned(), from: from.clone(), to: to.clone(), max_latency }
    }
}
