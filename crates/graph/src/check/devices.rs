//! Nodes that leave their work to a device: whether they can, and what they are told of it.

use super::{Check, Resolved, Seat, Thread, TopicPorts, Topics};
use crate::device::{CopyModel, DevicePlan, DeviceTopic, DeviceUpload, ManagedTopic};
use crate::model::Copies;
use crate::names::{did_you_mean, listed};
use crate::qos::Durability;
use crate::violation::{Violation, ViolationKind};
use std::collections::{BTreeMap, BTreeSet};

fn are_tokens(ports: &TopicPorts<'_>) -> bool {
    ports.publishers.iter().any(|port| port.tokens)
}

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
        let mut used: BTreeMap<&str, &str> = BTreeMap::new();
        for (number, device) in mapping.devices.iter().enumerate() {
            // As two of them their nodes would copy for each other what they share.
            if let Some(other) = used.insert(&device.device, &device.name) {
                let message = format!("it is `{}` again, as `{other}` is", device.device);
                let advice = format!("put its nodes and topics under `{other}`");
                let path = ["devices", device.name.as_str()];
                self.device_fault(ViolationKind::Duplicate, &path, "", message, advice);
            }
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
        let Some(description) = resolved.description else { return };
        if !description.on_device {
            let package = resolved.binary.and_then(|it| it.package(&node.package));
            let types = package.map_or(&[][..], |package| &package.nodes);
            let able = types.iter().filter(|it| it.on_device).map(|it| it.node_type.as_str());
            let message = format!("`{}` has no kernels for devices", description.node_type);
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
            let model = self.copy_model(number, name);
            let stays = matches!(model, CopyModel::Auto | CopyModel::Device);
            let is_published_there =
                self.is_external(name) || ports.publishers.iter().any(|port| is_on(port.node));
            let is_brought = !are_tokens(ports)
                && self.upload(name, ports, seats).is_some_and(|(to, _)| to == number);
            let in_slabs = stays && is_published_there || is_brought;
            let topic = DeviceTopic {
                model,
                may_copy: self.may_copy(name),
                read_elsewhere: late
                    || self.options.recorded.iter().any(|topic| topic == name)
                    || subscribers.clone().any(|node| !is_on(node)),
                other_processes: subscribers.any(|node| is_on(node) && is_apart(node)),
                one_process: self.is_of_one_process(name, seats),
                foreign: self.is_external(name)
                    || ports
                        .publishers
                        .iter()
                        .any(|port| seats[port.node].is_none_or(|seat| seat.process != here)),
                in_slabs,
                tokens: are_tokens(ports),
            };
            (name.to_owned(), topic)
        });
        // What comes with requests of a service: shared buffers. Clients of the service see what is
        // written there.
        let services = ports.servers.iter().map(|server| {
            let asked = DeviceTopic {
                model: self.copy_model(number, &server.service),
                may_copy: true,
                read_elsewhere: true,
                other_processes: false,
                one_process: self.is_of_one_process(&server.service, seats),
                foreign: false,
                in_slabs: false,
                tokens: true,
            };
            (server.service.clone(), asked)
        });
        Some(DevicePlan {
            device: device.device.clone(),
            otherwise: device.otherwise,
            topics: topics.chain(services).collect(),
        })
    }

    /// Whether all who publish on a topic or subscribe to it, or call a service or serve it, are in
    /// one process, as far as is known beforehand.
    fn is_of_one_process(&self, name: &str, seats: &[Option<Seat>]) -> bool {
        if self.is_external(name) || self.options.recorded.iter().any(|topic| topic == name) {
            return false;
        }
        let on_it = self.graph.nodes.iter().zip(seats).filter(|(node, _)| {
            node.inputs.iter().any(|input| input.topic == name)
                || node.outputs.iter().any(|output| output.topic == name)
                || node.clients.iter().any(|client| client.service == name)
                || node.servers.iter().any(|server| server.service == name)
        });
        // Without a seat it is in hardware.
        let mut processes = on_it.map(|(_, seat)| seat.map(|seat| seat.process));
        let first = processes.next().flatten();
        first.is_some() && processes.all(|process| process == first)
    }

    /// What a node publishes, or hands out as shared buffers, from memory that the driver of a
    /// device moves. One driver's memory only can have it: that of the first device that asks for
    /// it.
    pub(super) fn managed_topics(
        &self,
        node: usize,
        seats: &[Option<Seat>],
        topics: &Topics<'a>,
    ) -> Vec<ManagedTopic> {
        let ports = &self.graph.nodes[node];
        let outputs = ports.outputs.iter().map(|output| output.topic.as_str());
        let of_node = outputs.chain(ports.clients.iter().map(|client| client.service.as_str()));
        let managed = of_node.filter_map(|name| {
            let asks = |number: &usize| self.copy_model(*number, name) == CopyModel::Managed;
            let number = (0..self.mapping.devices.len()).find(asks)?;
            let is_possible = self.is_of_one_process(name, seats);
            is_possible.then(|| ManagedTopic {
                name: name.to_owned(),
                device: self.mapping.devices[number].device.clone(),
                // Requests of a service are no messages of a topic: what they carry is buffers.
                tokens: topics.get(name).is_none_or(are_tokens),
            })
        });
        managed.collect()
    }

    fn copy_model(&self, device: usize, topic: &str) -> CopyModel {
        self.mapping.devices[device].topics.get(topic).copied().unwrap_or_default()
    }

    fn may_copy(&self, topic: &str) -> bool {
        self.declared.get(topic).is_none_or(|topic| topic.copies == Copies::Allowed)
    }

    /// The device to which publishers on the processor upload messages of a topic, and
    /// the executors whose nodes read them there. With one executor the queue of that brings them
    /// itself. Memory of one device only can stand for a publisher's: of several devices, the one
    /// that most executors use.
    fn upload(
        &self,
        topic: &str,
        ports: &TopicPorts<'a>,
        seats: &[Option<Seat>],
    ) -> Option<(usize, BTreeSet<Thread>)> {
        if !self.may_copy(topic) || ports.publishers.iter().all(|it| !self.is_host(it.node, seats))
        {
            return None;
        }
        let mut executors: BTreeMap<usize, BTreeSet<Thread>> = BTreeMap::new();
        for node in ports.subscribers.iter().map(|port| port.node) {
            if let (Some(device), Some(seat)) = (self.device_of(node), seats[node]) {
                executors.entry(device).or_default().insert(seat.thread());
            }
        }
        executors.retain(|device, executors| {
            let model = self.copy_model(*device, topic);
            executors.len() > 1
                && matches!(model, CopyModel::Auto | CopyModel::Copy | CopyModel::Device)
        });
        // The last of those with most: the first device of the mapping goes last.
        executors.into_iter().rev().max_by_key(|(_, executors)| executors.len())
    }

    /// Does the node compute on the processor, in a process?
    fn is_host(&self, node: usize, seats: &[Option<Seat>]) -> bool {
        self.device_of(node).is_none() && seats[node].is_some()
    }

    /// The topics of a node that its executor is to bring to a device. A node on another device has
    /// none: what it publishes is not yet in memory of the host then.
    pub(super) fn device_uploads(
        &self,
        node: usize,
        seats: &[Option<Seat>],
        topics: &Topics<'a>,
    ) -> Vec<DeviceUpload> {
        let Some(seat) = seats[node].filter(|_| self.is_host(node, seats)) else {
            return Vec::new();
        };
        let outputs = self.graph.nodes[node].outputs.iter();
        let gateways = outputs.filter_map(|output| {
            let topic = output.topic.as_str();
            let ports = topics.get(topic)?;
            let (device, executors) = self.upload(topic, ports, seats)?;
            let here = executors.iter().filter(|thread| thread.0 == seat.process);
            Some(DeviceUpload {
                topic: topic.to_owned(),
                device: self.mapping.devices[device].device.clone(),
                model: self.copy_model(device, topic),
                executors_here: here.count() as u32,
                executors: executors.len() as u32,
                tokens: are_tokens(ports),
            })
        });
        gateways.collect()
    }
}
