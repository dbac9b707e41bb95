//! Nodes that leave their work to a device: whether they can, and what they are told of it. Must not
//! know what devices there are.

use super::{Check, Resolved, Seat, Topics};
use crate::device::{DevicePlan, DeviceTopic};
use crate::model::{Copies, Durability};
use crate::names::{did_you_mean, listed};
use crate::violation::{Violation, ViolationKind};
use std::collections::BTreeMap;

impl<'a> Check<'a> {
    pub(super) fn devices(
        &mut self,
        seats: &[Option<Seat>],
        nodes: &[Resolved<'a>],
        topics: &Topics<'a>,
    ) {
        let (graph, mapping) = (self.graph, self.mapping);
        let names = graph.nodes.iter().enumerate();
        let indexes: BTreeMap<&str, usize> =
            names.map(|(index, node)| (node.name.as_str(), index)).collect();
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (number, device) in mapping.devices.iter().enumerate() {
            for name in &device.nodes {
                let path = ["devices", device.name.as_str(), name.as_str()];
                if let Some(other) = seen.insert(name, &device.name) {
                    let message = format!("the node is on two devices, first on `{other}`");
                    let advice = "remove one of the two places".to_owned();
                    self.device_fault(ViolationKind::MappedTwice, &path, name, message, advice);
                    continue;
                }
                match indexes.get(name.as_str()) {
                    Some(index) => self.node_on_device(*index, &path, seats[*index], nodes[*index]),
                    None => {
                        let near = did_you_mean(name, indexes.keys().copied());
                        let message = format!("graph `{}` has no such node", graph.name);
                        let advice =
                            if near.is_empty() { "remove it from the device".into() } else { near };
                        let kind = ViolationKind::UnknownNode;
                        self.device_fault(kind, &path, name, message, advice);
                    }
                }
            }
            for name in device.topics.keys() {
                let is_there = topics.get(name.as_str()).is_some_and(|ports| {
                    let mut all = ports.publishers.iter().chain(&ports.subscribers);
                    all.any(|port| self.device_of(port.node) == Some(number))
                });
                let is_there = is_there || self.serves(number, name);
                if !is_there {
                    let path = ["devices", device.name.as_str(), name.as_str()];
                    let message = format!(
                        "no node of device `{}` is on topic `{name}`, or serves it",
                        device.name
                    );
                    let advice =
                        "remove it, or name a topic or service of one of its nodes".to_owned();
                    self.device_fault(ViolationKind::UnknownTopic, &path, "", message, advice);
                }
            }
        }
    }

    /// A node of the device has a server of that service.
    fn serves(&self, number: usize, service: &str) -> bool {
        let nodes = self.graph.nodes.iter();
        let on_device = nodes.filter(|node| self.devices.get(node.name.as_str()) == Some(&number));
        on_device.flat_map(|node| &node.servers).any(|server| server.service == service)
    }

    /// The index of the device that a node is on.
    fn device_of(&self, node: usize) -> Option<usize> {
        self.devices.get(self.node_name(node)).copied()
    }

    fn node_on_device(
        &mut self,
        index: usize,
        path: &[&str],
        seat: Option<Seat>,
        resolved: Resolved<'a>,
    ) {
        let node = &self.graph.nodes[index];
        let name = &node.name;
        if seat.is_none() {
            let message = "a node on a device has a thread that gives it its work: the mapping \
                           places this one in a fabric"
                .to_owned();
            let advice = "name it under an executor, or remove it from the device".to_owned();
            return self.device_fault(ViolationKind::Unmapped, path, name, message, advice);
        }
        let Some(interface) = resolved.interface else { return };
        if !interface.on_device {
            let package = resolved.binary.and_then(|it| it.package(&node.package));
            let types = package.map_or(&[][..], |package| &package.nodes);
            let able = types.iter().filter(|it| it.on_device).map(|it| it.node_type.as_str());
            let message = format!("`{}` has no kernels for devices", interface.node_type);
            let advice = format!(
                "remove it from the device; node types of package `{}` that have some: {}",
                node.package,
                listed(able)
            );
            self.device_fault(ViolationKind::UnknownNodeType, path, name, message, advice);
        }
    }

    fn device_fault(
        &mut self,
        kind: ViolationKind,
        path: &[&str],
        node: &str,
        message: String,
        advice: String,
    ) {
        let violation = Violation::at(kind, &self.mapping.source, path, message, advice);
        self.note(if node.is_empty() { violation } else { violation.for_node(node) });
    }

    /// What a node is told of its device; `None`: it computes on the processor.
    pub(super) fn device_plan(
        &self,
        node: usize,
        seats: &[Option<Seat>],
        topics: &Topics<'a>,
    ) -> Option<DevicePlan> {
        let number = self.device_of(node)?;
        let device = &self.mapping.devices[number];
        let here = seats[node]?.process;
        let ports = &self.graph.nodes[node];
        let inputs = ports.inputs.iter().map(|input| input.topic.as_str());
        let of_node = inputs.chain(ports.outputs.iter().map(|output| output.topic.as_str()));
        let of_node = of_node.filter_map(|name| Some((name, topics.get(name)?)));
        let topics = of_node.map(|(name, ports)| {
            let is_on = |node: usize| self.device_of(node) == Some(number);
            let is_apart = |node: usize| seats[node].is_some_and(|seat| seat.process != here);
            let mut subscribers = ports.subscribers.iter().map(|port| port.node);
            let late = ports.publishers.iter().any(|port| {
                port.node == node && self.output_qos(port).durability == Durability::TransientLocal
            });
            let declared = self.declared.get(name);
            let topic = DeviceTopic {
                model: device.topics.get(name).copied().unwrap_or_default(),
                may_copy: declared.is_none_or(|topic| topic.copies == Copies::Allowed),
                read_elsewhere: late
                    || self.options.recorded.iter().any(|topic| topic == name)
                    || subscribers.clone().any(|node| !is_on(node)),
                other_processes: subscribers.any(|node| is_on(node) && is_apart(node)),
            };
            (name.to_owned(), topic)
        });
        // What comes with requests of a service: shared buffers, of which its clients see what is written.
        let services = ports.servers.iter().map(|server| {
            let model = device.topics.get(&server.service).copied().unwrap_or_default();
            let asked =
                DeviceTopic { model, may_copy: true, read_elsewhere: true, other_processes: false };
            (server.service.clone(), asked)
        });
        Some(DevicePlan {
            device: device.device.clone(),
            otherwise: device.otherwise,
            topics: topics.chain(services).collect(),
        })
    }
}
