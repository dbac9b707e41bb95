//! What a graph and a mapping must be by themselves. Files are read with the same rules; a graph
//! that was built in code meets them here for the first time.

use super::Check;
use crate::limits::{NODES_MAX, PORTS_MAX, QOS_DEPTH_MAX, TIMEOUT_MS_MAX};
use crate::names::{message_type_fault, node_fault, token_fault, topic_fault};
use crate::qos::{QosRequest, is_time};
use crate::violation::{Violation, ViolationKind};
use std::collections::BTreeSet;

impl<'a> Check<'a> {
    pub(super) fn structure(&mut self) {
        let graph = self.graph;
        self.sizes();
        if !self.violations.is_empty() {
            // What is too much is not looked at.
            return;
        }
        self.name(&graph.name, "the graph", &[], token_fault);
        let names = graph.nodes.iter().map(|node| node.name.as_str());
        self.unique(names, "node", |name| vec!["nodes", name]);
        let names = graph.topics.iter().map(|topic| topic.name.as_str());
        self.unique(names, "topic", |name| vec!["topics", name]);
        let names = graph.chains.iter().map(|chain| chain.name.as_str());
        self.unique(names, "chain", |name| vec!["chains", name]);
        let names = self.mapping.processes.iter().map(|process| process.name.as_str());
        self.unique(names, "process", |name| vec!["processes", name]);
        self.process_and_fabric();
        for topic in &graph.topics {
            self.name(&topic.name, "the topic", &["topics", &topic.name], topic_fault);
            self.qos(&topic.qos, &["topics", &topic.name, "qos"]);
            if let Some(message_type) = &topic.message_type {
                let path = ["topics", topic.name.as_str(), "type"];
                self.name(message_type, "the message type", &path, message_type_fault);
            }
        }
        let names = self.mapping.fabrics.iter().map(|fabric| fabric.name.as_str());
        self.unique(names, "fabric", |name| vec!["fabrics", name]);
        let names = self.mapping.topics.iter().map(|topic| topic.name.as_str());
        self.unique(names, "mapped topic", |name| vec!["topics", name]);
        for fabric in &self.mapping.fabrics {
            self.name(&fabric.name, "the fabric", &["fabrics", &fabric.name], token_fault);
        }
        for process in &self.mapping.processes {
            self.name(&process.name, "the process", &["processes", &process.name], token_fault);
        }
        for index in 0..graph.nodes.len() {
            self.node_structure(index);
        }
    }

    /// A fabric has a process of its name.
    fn process_and_fabric(&mut self) {
        let mapping = self.mapping;
        let processes = mapping.processes.iter().map(|process| process.name.as_str());
        let processes: BTreeSet<&str> = processes.collect();
        for fabric in mapping.fabrics.iter().filter(|it| processes.contains(it.name.as_str())) {
            let message = format!("a process and a fabric are both called `{}`", fabric.name);
            let path = ["fabrics", fabric.name.as_str()];
            let (kind, advice) = (ViolationKind::Duplicate, "rename one of them");
            self.note(Violation::at(kind, &mapping.source, &path, message, advice));
        }
    }

    fn sizes(&mut self) {
        let ports = self.graph.nodes.iter().map(|node| node.inputs.len() + node.outputs.len());
        let ports: usize = ports.sum();
        let nodes = self.graph.nodes.len();
        for (what, count, max) in [("nodes", nodes, NODES_MAX), ("ports", ports, PORTS_MAX)] {
            if count > max {
                let message = format!("the graph has {count} {what}, more than {max}");
                let kind = ViolationKind::Limit;
                self.note(self.fault(kind, &["nodes"], message, "split the graph"));
            }
        }
    }

    fn node_structure(&mut self, index: usize) {
        let node = &self.graph.nodes[index];
        let name = node.name.as_str();
        self.name(name, "the node", &["nodes", name], node_fault);
        let ports = node.inputs.iter().map(|input| input.port.as_str());
        self.unique(ports, "input", |port| vec!["nodes", name, "inputs", port]);
        let ports = node.outputs.iter().map(|output| output.port.as_str());
        self.unique(ports, "output", |port| vec!["nodes", name, "outputs", port]);
        let timers = node.timers.iter().map(|timer| timer.name.as_str());
        self.unique(timers, "timer", |timer| vec!["nodes", name, "timers", timer]);
        for input in &node.inputs {
            let path = ["nodes", name, "inputs", &input.port];
            self.name(&input.topic, "the topic", &path, topic_fault);
            self.qos(&input.qos, &path);
        }
        for output in &node.outputs {
            let path = ["nodes", name, "outputs", &output.port];
            self.name(&output.topic, "the topic", &path, topic_fault);
            self.qos(&output.qos, &path);
        }
        for timer in &node.timers {
            if timer.period.period_ns().is_none() {
                let message = format!("the period of timer `{}` must be 1 us to 1 day", timer.name);
                let path = ["nodes", name, "timers", &timer.name];
                let kind = ViolationKind::OutOfRange;
                let violation = self.fault(kind, &path, message, "choose a value in between");
                self.note(violation.for_node(name));
            }
        }
        for (parameter, value) in &node.parameters {
            if !value.is_finite() {
                let message = format!("parameter `{parameter}` is not a finite number");
                let path = ["nodes", name, "parameters", parameter];
                let kind = ViolationKind::OutOfRange;
                let violation = self.fault(kind, &path, message, "write a finite number");
                self.note(violation.for_node(name));
            }
        }
    }

    fn name(&mut self, name: &str, what: &str, path: &[&str], rule: fn(&str) -> Option<String>) {
        if let Some(fault) = rule(name) {
            let shown: String = name.chars().take(60).collect();
            let message = format!("{what} `{shown}` is no valid ROS name: it {fault}");
            let advice = "use letters, digits and single `_`, topics as `/a/b`";
            self.note(self.fault(ViolationKind::InvalidName, path, message, advice));
        }
    }

    fn qos(&mut self, qos: &QosRequest, path: &[&str]) {
        let ranges =
            [("depth", qos.depth, QOS_DEPTH_MAX), ("timeout_ms", qos.timeout_ms, TIMEOUT_MS_MAX)];
        for (key, value, max) in ranges {
            if value.is_some_and(|value| value == 0 || u64::from(value) > max) {
                let message = format!("`{key}` must be 1 to {max}");
                let kind = ViolationKind::OutOfRange;
                self.note(self.fault(kind, path, message, "choose a value in between"));
            }
        }
        for (key, ns) in qos.times() {
            if ns.is_some_and(|ns| !is_time(ns)) {
                let message = format!("`{key}` must be 0 (no limit), or 0.001 to 86400000");
                let kind = ViolationKind::OutOfRange;
                self.note(self.fault(kind, path, message, "choose a value in between"));
            }
        }
    }

    fn unique<'b>(
        &mut self,
        names: impl Iterator<Item = &'b str>,
        what: &str,
        path: impl Fn(&'b str) -> Vec<&'b str>,
    ) {
        let mut seen = BTreeSet::new();
        for name in names {
            if !seen.insert(name) {
                let message = format!("{what} `{name}` is there twice");
                let path = path(name);
                let source = match what {
                    "process" | "fabric" | "mapped topic" => &self.mapping.source,
                    _ => &self.graph.source,
                };
                let kind = ViolationKind::Duplicate;
                let violation = Violation::at(kind, source, &path, message, "rename one of them");
                self.note(violation);
            }
        }
    }
}
