//! Hardware nodes, and whether the mapping of each topic fits where its nodes are.

use super::{Check, TopicPorts, Topics};
use crate::limits::VIOLATIONS_MAX;
use crate::mapping::TopicMapping;
use crate::model::Copies;
use crate::names::{did_you_mean, listed};
use crate::placement::hardware_nodes;
use crate::violation::{Violation, ViolationKind};
use std::collections::{BTreeMap, BTreeSet};

/// The fabric of every hardware node, as an index into the mapping, by the node's name.
pub(super) type Hardware<'a> = BTreeMap<&'a str, usize>;

/// The nodes on one topic, each once, by where they are.
struct Ends<'a> {
    /// Software nodes, with what they do: `publishes` or `subscribes to`.
    software: Vec<(&'a str, &'static str)>,
    /// Hardware nodes by fabric.
    hardware: BTreeMap<usize, BTreeSet<&'a str>>,
}

impl<'a> Check<'a> {
    pub(super) fn hardware_nodes(&mut self) -> Hardware<'a> {
        let mapping = self.mapping;
        let violations = &mut self.violations;
        hardware_nodes(self.graph, &mapping.fabrics, &mapping.source, "mapping", violations)
    }

    /// Warns of what executors see to and hardware does not: nobody looks at it there. A condition
    /// that a module sees to is the node's.
    pub(super) fn left_to_hardware(&mut self, hardware: &Hardware<'a>) {
        let graph = self.graph;
        for node in graph.nodes.iter().filter(|node| hardware.contains_key(node.name.as_str())) {
            let name = node.name.as_str();
            let module = self.descriptions.hardware_node(&node.package, &node.node_type);
            let built_in = module.is_some_and(|(_, module)| module.condition.is_some());
            let aged = node.inputs.iter().filter(|input| input.max_age.is_some());
            let aged = aged.map(|input| vec!["nodes", name, "inputs", &input.port, "max_age_ms"]);
            let said = [
                ("condition", node.condition.is_some() && !built_in),
                ("budget_ms", node.budget.is_some()),
                ("on_failure", node.on_failure.is_some()),
            ];
            let said = said.into_iter().filter(|(_, said)| *said);
            for path in said.map(|(key, _)| vec!["nodes", name, key]).chain(aged) {
                let key = path[path.len() - 1];
                let message = format!("node `{name}` is hardware, where nobody looks at `{key}`");
                let advice = "let the hardware see to it itself, or map the node to a process";
                let violation = self.fault(ViolationKind::HardwareNode, &path, message, advice);
                if self.warnings.len() < VIOLATIONS_MAX {
                    self.warnings.push(violation.for_node(name));
                }
            }
        }
    }

    pub(super) fn topic_mappings(&mut self, hardware: &Hardware<'a>, topics: &Topics<'a>) {
        for mapped in &self.mapping.topics {
            if !topics.contains_key(mapped.name.as_str()) && !self.is_full() {
                let message = format!("graph `{}` has no such topic", self.graph.name);
                let near = did_you_mean(&mapped.name, topics.keys().copied());
                let advice =
                    if near.is_empty() { "remove it from the mapping".into() } else { near };
                self.refuse(ViolationKind::UnknownTopic, &mapped.name, None, message, advice);
            }
        }
        self.streams(hardware, topics);
        for (topic, ports) in topics {
            let ends = self.ends(ports, hardware);
            match self.topic_mappings.get(*topic).copied().unwrap_or_default() {
                TopicMapping::Software => self.software_mapped(topic, &ends),
                TopicMapping::Hardware => self.hardware_mapped(topic, &ends),
                TopicMapping::Gateway => self.gateway_mapped(topic, &ends),
            }
        }
    }

    /// What the mapping says of streams must be of hardware ports on the topic.
    fn streams(&mut self, hardware: &Hardware<'a>, topics: &Topics<'a>) {
        let mapping = self.mapping;
        for mapped in &mapping.topics {
            let Some(ports) = topics.get(mapped.name.as_str()) else { continue };
            let stream = &mapped.stream;
            for (streams, ports, key, what) in [
                (&stream.publishers, &ports.publishers, "publishers", "output"),
                (&stream.subscribers, &ports.subscribers, "subscribers", "input"),
            ] {
                let mut seen = BTreeSet::new();
                for said in streams {
                    let on = ports.iter().filter(|port| self.node_name(port.node) == said.node);
                    let on: Vec<&str> = on.map(|port| port.port).collect();
                    let (message, advice) = if !seen.insert((&said.node, &said.port)) {
                        (format!("{what} `{}` is there twice", said.port), "remove one".to_owned())
                    } else if self.graph.node(&said.node).is_none() {
                        let names = self.graph.nodes.iter().map(|node| node.name.as_str());
                        let near = did_you_mean(&said.node, names);
                        let advice = if near.is_empty() { "remove it".into() } else { near };
                        (format!("graph `{}` has no such node", self.graph.name), advice)
                    } else if !on.contains(&said.port.as_str()) {
                        let near = did_you_mean(&said.port, on.iter().copied());
                        let advice = if near.is_empty() { "remove it".into() } else { near };
                        (format!("the node has no {what} `{}` on the topic", said.port), advice)
                    } else if !hardware.contains_key(said.node.as_str()) {
                        let message = "the node is software, so it has no stream".to_owned();
                        (message, "remove it, or place the node in a fabric".to_owned())
                    } else {
                        continue;
                    };
                    let path = ["topics", &mapped.name, key, &said.node, &said.port];
                    let kind = ViolationKind::TopicMapping;
                    let violation = Violation::at(kind, &mapping.source, &path, message, advice);
                    self.note(violation.for_topic(&mapped.name).for_node(&said.node));
                }
            }
        }
    }

    fn ends(&self, ports: &TopicPorts<'a>, hardware: &Hardware<'a>) -> Ends<'a> {
        let mut ends = Ends { software: Vec::new(), hardware: BTreeMap::new() };
        let publishers = ports.publishers.iter().map(|port| (port.node, "publishes"));
        let subscribers = ports.subscribers.iter().map(|port| (port.node, "subscribes to"));
        for (node, does) in publishers.chain(subscribers) {
            let name = self.node_name(node);
            match hardware.get(name) {
                Some(fabric) => drop(ends.hardware.entry(*fabric).or_default().insert(name)),
                None if ends.software.last() == Some(&(name, does)) => {}
                None => ends.software.push((name, does)),
            }
        }
        ends
    }

    fn software_mapped(&mut self, topic: &str, ends: &Ends<'a>) {
        if let Some(node) = ends.hardware.values().flatten().next() {
            self.copies_allowed(topic, node, "software-mapped");
        }
    }

    fn hardware_mapped(&mut self, topic: &str, ends: &Ends<'a>) {
        let kind = ViolationKind::TopicMapping;
        for (node, does) in &ends.software {
            let message = format!("the topic is hardware-mapped, but a software node {does} it");
            let advice = "map the topic to `gateway`, or move the node to the topic's fabric";
            self.refuse(kind, topic, Some(node), message, advice);
        }
        if self.is_external(topic) {
            let message = "the topic is hardware-mapped, but publishers outside the graph are \
                           expected, and these are software";
            self.refuse(kind, topic, None, message, "map it to `gateway`");
        }
        if ends.hardware.len() > 1 {
            let fabrics = ends.hardware.keys().map(|it| self.mapping.fabrics[*it].name.as_str());
            let message = format!(
                "the topic is hardware-mapped, but its nodes are in the fabrics {}",
                listed(fabrics)
            );
            let advice = "map it to `gateway`, or place its nodes in one fabric";
            self.refuse(kind, topic, None, message, advice);
        }
        if ends.hardware.is_empty() && ends.software.is_empty() {
            let message = "the topic is hardware-mapped, but no hardware node is on it";
            self.refuse(kind, topic, None, message, "map it to `software`");
        }
    }

    fn gateway_mapped(&mut self, topic: &str, ends: &Ends<'a>) {
        match ends.hardware.values().flatten().next() {
            Some(node) => self.copies_allowed(topic, node, "mapped to a gateway"),
            None => {
                let kind = ViolationKind::TopicMapping;
                let message = "the topic is mapped to a gateway, but no hardware node is on it";
                self.refuse(kind, topic, None, message, "map it to `software`");
            }
        }
    }

    /// What passes the boundary between host memory and a fabric is copied.
    fn copies_allowed(&mut self, topic: &str, node: &str, mapped: &str) {
        let declared = self.declared.get(topic);
        if declared.is_none_or(|topic| topic.copies == Copies::Allowed) {
            return;
        }
        let message = format!(
            "the topic forbids copies, but it is {mapped} and the node is hardware: its messages \
             are copied between host memory and fabric"
        );
        let advice = "allow copies, or place all nodes of the topic in one fabric or in software";
        self.refuse(ViolationKind::TopicMapping, topic, Some(node), message, advice);
    }

    /// Notes a violation at a topic of the mapping.
    fn refuse(
        &mut self,
        kind: ViolationKind,
        topic: &str,
        node: Option<&str>,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) {
        let path = ["topics", topic];
        let violation = Violation::at(kind, &self.mapping.source, &path, message, advice);
        let violation = violation.for_topic(topic);
        self.note(match node {
            Some(node) => violation.for_node(node),
            None => violation,
        });
    }
}
