//! Which node runs in which process, and which binary a process is made of.

use super::hardware::Hardware;
use super::{Check, Resolved, Seat};
use crate::description::BinaryDescription;
use crate::names::{did_you_mean, listed};
use crate::violation::{Violation, ViolationKind};
use std::collections::{BTreeMap, BTreeSet};

impl<'a> Check<'a> {
    /// The seat of every node, by its index in the graph; hardware nodes have none.
    pub(super) fn place(&mut self, hardware: &Hardware<'a>) -> Vec<Option<Seat>> {
        let names = self.graph.nodes.iter().enumerate();
        let indexes: BTreeMap<&str, usize> =
            names.map(|(index, node)| (node.name.as_str(), index)).collect();
        let mut seats: Vec<Option<Seat>> = vec![None; self.graph.nodes.len()];
        let mapping = self.mapping;
        for (process_index, process) in mapping.processes.iter().enumerate() {
            for (executor_index, executor) in process.executors.iter().enumerate() {
                for (position, name) in executor.nodes.iter().enumerate() {
                    let number = executor_index.to_string();
                    let path = ["processes", &process.name, &number, name];
                    let (process, executor) = (process_index, executor_index);
                    let seat = Seat { process, executor, position, lane: 0 };
                    match indexes.get(name.as_str()) {
                        None if self.is_full() => {}
                        None => self.unknown_node(name, &path, indexes.keys().copied()),
                        Some(_) if hardware.contains_key(name.as_str()) => {
                            self.in_process_and_fabric(name, &path, hardware[name.as_str()]);
                        }
                        Some(index) => match seats[*index] {
                            Some(first) => self.mapped_twice(name, &path, first),
                            None => seats[*index] = Some(seat),
                        },
                    }
                }
            }
        }
        self.unmapped(&seats, hardware);
        self.executor_names();
        seats
    }

    fn unknown_node(&mut self, name: &str, path: &[&str], known: impl Iterator<Item = &'a str>) {
        let message = format!("graph `{}` has no such node", self.graph.name);
        let near = did_you_mean(name, known);
        let advice = if near.is_empty() { "remove it from the mapping".into() } else { near };
        let kind = ViolationKind::UnknownNode;
        let violation = Violation::at(kind, &self.mapping.source, path, message, advice);
        self.note(violation.for_node(name));
    }

    fn mapped_twice(&mut self, name: &str, path: &[&str], first: Seat) {
        let process = &self.mapping.processes[first.process].name;
        let message = format!("the node is mapped twice, first to process `{process}`");
        let advice = "remove one of the two places";
        let kind = ViolationKind::MappedTwice;
        let violation = Violation::at(kind, &self.mapping.source, path, message, advice);
        self.note(violation.for_node(name));
    }

    fn in_process_and_fabric(&mut self, name: &str, path: &[&str], fabric: usize) {
        let fabric = &self.mapping.fabrics[fabric].name;
        let message = format!("the node is mapped twice, to a process and to fabric `{fabric}`");
        let advice = "remove one of the two places";
        let kind = ViolationKind::MappedTwice;
        let violation = Violation::at(kind, &self.mapping.source, path, message, advice);
        self.note(violation.for_node(name));
    }

    fn unmapped(&mut self, seats: &[Option<Seat>], hardware: &Hardware<'a>) {
        let graph = self.graph;
        let missing =
            graph.nodes.iter().zip(seats).filter(|(node, seat)| {
                seat.is_none() && !hardware.contains_key(node.name.as_str())
            });
        for (node, _) in missing {
            let message = "the mapping gives the node no place";
            let advice = format!("add `{}` to an executor or a fabric of the mapping", node.name);
            let kind = ViolationKind::Unmapped;
            let source = &self.mapping.source;
            let violation = Violation::at(kind, source, &["processes"], message, advice);
            self.note(violation.for_node(&node.name));
        }
    }

    fn executor_names(&mut self) {
        let mapping = self.mapping;
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for (process_index, process) in mapping.processes.iter().enumerate() {
            for (executor_index, executor) in process.executors.iter().enumerate() {
                let mut names = vec![self.executor_name(process_index, executor_index)];
                let lanes = 0..executor.threads as usize;
                names.extend(lanes.map(|it| self.lane_name(process_index, executor_index, it)));
                // The one lane of an executor has its name.
                names.dedup();
                for name in names.into_iter().filter(|name| !seen.insert(name.clone())) {
                    let message = format!("executor `{name}` is there twice");
                    let number = executor_index.to_string();
                    let path = ["processes", process.name.as_str(), &number];
                    let source = &mapping.source;
                    let kind = ViolationKind::Duplicate;
                    let advice = "rename one of them";
                    self.note(Violation::at(kind, source, &path, message, advice));
                }
            }
        }
    }

    /// The name of an executor: its own, else its process's name, and its number if there are more.
    pub(super) fn executor_name(&self, process: usize, executor: usize) -> String {
        let process = &self.mapping.processes[process];
        match process.executors[executor].name.as_str() {
            "" if process.executors.len() == 1 => process.name.clone(),
            "" => format!("{}.{executor}", process.name),
            name => name.to_owned(),
        }
    }

    /// The name of a thread of an executor: the executor's name, and the thread's number if there
    /// are more.
    pub(super) fn lane_name(&self, process: usize, executor: usize, lane: usize) -> String {
        let name = self.executor_name(process, executor);
        match self.mapping.processes[process].executors[executor].threads {
            0 | 1 => name,
            _ => format!("{name}.{lane}"),
        }
    }

    /// Binary and description of every node, by its index in the graph. A node in a process is
    /// software; one in a fabric is described by its package's binary, else by its hardware
    /// package.
    pub(super) fn resolve(
        &mut self,
        seats: &[Option<Seat>],
        hardware: &Hardware<'a>,
    ) -> Vec<Resolved<'a>> {
        let binaries: Vec<Option<&'a BinaryDescription>> =
            (0..self.mapping.processes.len()).map(|index| self.binary(index, seats)).collect();
        let nodes = self.graph.nodes.iter().zip(seats);
        nodes
            .map(|(node, seat)| {
                let of_process = seat.and_then(|seat| binaries[seat.process]);
                let binary = of_process.or_else(|| self.descriptions.binary_of(&[&node.package]));
                let package = binary.and_then(|binary| binary.package(&node.package));
                let description = package.and_then(|package| package.node_type(&node.node_type));
                let in_fabric = hardware.contains_key(node.name.as_str());
                let hardware = self.descriptions.hardware_node(&node.package, &node.node_type);
                let of_hardware = hardware.filter(|_| in_fabric).map(|(_, it)| &it.description);
                Resolved { binary, description: description.or(of_hardware), hardware, in_fabric }
            })
            .collect()
    }

    /// The binary that offers all packages of a process.
    fn binary(&mut self, process: usize, seats: &[Option<Seat>]) -> Option<&'a BinaryDescription> {
        let of_process = |seat: &Option<Seat>| seat.is_some_and(|seat| seat.process == process);
        let nodes = self.graph.nodes.iter().zip(seats).filter(|(_, seat)| of_process(seat));
        let mut packages: Vec<&str> = Vec::new();
        for (node, _) in nodes {
            let known = self.descriptions.package(&node.package).is_some();
            if known && !packages.contains(&node.package.as_str()) {
                packages.push(&node.package);
            }
        }
        let binary = self.descriptions.binary_of(&packages);
        if binary.is_none() && packages.len() > 1 {
            let name = &self.mapping.processes[process].name;
            let message = format!(
                "process `{name}` has nodes of the packages {}, which no binary links together",
                listed(packages.iter().copied())
            );
            let advice = "give each package a process of its own, or build a binary whose `main` \
                          registers the nodes of all of them";
            let path = ["processes", name];
            let kind = ViolationKind::NotLinkedTogether;
            self.note(Violation::at(kind, &self.mapping.source, &path, message, advice));
        }
        binary.filter(|_| !packages.is_empty())
    }
}
