//! Node types in hardware against the same ones in software, and hardware nodes against either.
//! Sources and streams are for the network generator.

use super::{Check, Resolved};
use crate::description::NodeTypeDescription;
use crate::hardware_package::{HardwareNode, HardwarePackage};
use crate::names::listed;
use crate::violation::{Violation, ViolationKind};
use std::collections::BTreeSet;

/// A node type in hardware with the package that it is in.
pub(super) type Implementation<'a> = (&'a HardwarePackage, &'a HardwareNode);

impl<'a> Check<'a> {
    /// What exists twice must be the same seen from outside, wherever the mapping places it.
    /// Hardware may lack what a graph may leave unconnected: the network generator refuses a graph
    /// that connects it.
    pub(super) fn agreement(&mut self) {
        let mut seen = BTreeSet::new();
        for node in &self.graph.nodes {
            if self.is_full() || !seen.insert((&node.package, &node.node_type)) {
                continue;
            }
            let package = self.descriptions.package(&node.package);
            let software = package.and_then(|package| package.node_type(&node.node_type));
            let hardware = self.descriptions.hardware_node(&node.package, &node.node_type);
            if let (Some(software), Some(hardware)) = (software, hardware) {
                self.same_ports(software, hardware);
            }
        }
    }

    fn same_ports(&mut self, software: &NodeTypeDescription, (package, node): Implementation<'a>) {
        let hardware = &node.description;
        let node_type = &hardware.node_type;
        let binary = self.binary_name(&package.name);
        for (what, key, publishes) in [("input", "inputs", false), ("output", "outputs", true)] {
            let (of_software, of_hardware) =
                (ports(software, publishes), ports(hardware, publishes));
            let mut differs = |path: &[&str], message: String| {
                let path: Vec<&str> = [&["nodes", node_type.as_str(), key], path].concat();
                let advice = format!(
                    "make the {what}s of `{node_type}` the same here and in `{binary}`, which has {}",
                    listed(of_software.iter().map(|(port, ..)| *port))
                );
                let kind = ViolationKind::HardwareNode;
                self.note(Violation::at(kind, &package.source, &path, message, advice));
            };
            for (port, message_type, _) in &of_hardware {
                match of_software.iter().find(|(other, ..)| other == port) {
                    None => differs(
                        &[port],
                        format!("{what} `{port}` of `{node_type}` is in hardware, not in software"),
                    ),
                    Some((_, other, _)) if other != message_type => differs(
                        &[port, "type"],
                        format!(
                            "{what} `{port}` of `{node_type}` is of type `{message_type}` in hardware \
                             and of type `{other}` in software"
                        ),
                    ),
                    Some(_) => {}
                }
            }
            for (port, ..) in of_software.iter().filter(|(.., optional)| !optional) {
                if !of_hardware.iter().any(|(other, ..)| other == port) {
                    let message =
                        format!("{what} `{port}` of `{node_type}` is in software, not in hardware");
                    differs(&[], message);
                }
            }
        }
    }

    fn binary_name(&self, package: &str) -> String {
        let binary = self.descriptions.binary_of(&[package]);
        binary.map_or_else(|| format!("crossdock-{package}"), |binary| binary.binary.clone())
    }

    /// Node types of hardware nodes as far as anything describes them.
    pub(super) fn resolve_hardware(&self, fabric: impl Fn(&str) -> bool) -> Vec<Resolved<'a>> {
        let nodes = self.graph.nodes.iter().map(|node| {
            let in_fabric = fabric(&node.name);
            let description = match in_fabric {
                true => self.descriptions.node_type(&node.package, &node.node_type),
                false => None,
            };
            let hardware = self.descriptions.hardware_node(&node.package, &node.node_type);
            Resolved { binary: None, description, hardware, in_fabric }
        });
        nodes.collect()
    }
}

/// Names, message types, and whether a graph may leave them unconnected.
fn ports(description: &NodeTypeDescription, publishes: bool) -> Vec<(&str, &str, bool)> {
    if publishes {
        let outputs = description.outputs.iter();
        return outputs
            .map(|it| (it.port.as_str(), it.message_type.as_str(), it.optional))
            .collect();
    }
    let inputs = description.inputs.iter();
    inputs.map(|it| (it.port.as_str(), it.message_type.as_str(), it.optional)).collect()
}
