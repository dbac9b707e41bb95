//! What packages describe about their node types: ports, timers, parameters.
//!
//! Pure data, which a package binary sends as JSON.

use crate::hardware_package::{HardwareNode, HardwarePackage};
use crate::model::InputReading;
use crate::qos::QosRequest;
use crate::service::ServicePortDescription;
use crate::value::ParameterValue;
use serde::{Deserialize, Serialize};

/// Binary and package of the process that hosts a fabric: this command itself. No package of a
/// graph has this name.
pub const FABRIC_BINARY: &str = "crossdock";

/// The descriptions of every package binary that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageDescriptions {
    /// One description per binary.
    pub binaries: Vec<BinaryDescription>,
    /// What exists in hardware, one description per package file.
    #[serde(default)]
    pub hardware: Vec<HardwarePackage>,
}

/// What one package binary answers when asked to describe itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryDescription {
    /// File name of the binary, usually `crossdock-<package>`.
    pub binary: String,
    /// Packages linked into it: nodes of any of them can share a process of this binary.
    pub packages: Vec<PackageDescription>,
}

/// The node types of one package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageDescription {
    /// Name of the package, a ROS name token.
    pub name: String,
    /// Its node types.
    pub nodes: Vec<NodeTypeDescription>,
}

/// What a node type offers and needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeTypeDescription {
    /// Name of the node type in its package (`gaussian_blur`).
    #[serde(rename = "type")]
    pub node_type: String,
    /// One sentence on what it does; may be empty.
    #[serde(default)]
    pub doc: String,
    /// Input ports.
    #[serde(default)]
    pub inputs: Vec<InputDescription>,
    /// Output ports.
    #[serde(default)]
    pub outputs: Vec<OutputDescription>,
    /// Clients of services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ServicePortDescription>,
    /// Servers of services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServicePortDescription>,
    /// Timers.
    #[serde(default)]
    pub timers: Vec<TimerDescription>,
    /// Parameters.
    #[serde(default)]
    pub parameters: Vec<ParameterDescription>,
    /// Predicates that conditions may name.
    #[serde(default)]
    pub predicates: Vec<PredicateDescription>,
    /// Whether it can leave its work to a device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_device: bool,
}

/// An input port of a node type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputDescription {
    /// Name, unique among the inputs of the node type.
    pub port: String,
    /// Message type (`sensor_msgs/msg/Image`).
    #[serde(rename = "type")]
    pub message_type: String,
    /// `RIHS01_...` of the type as this binary was built with it; `None`: not compared.
    #[serde(default)]
    pub type_hash: Option<String>,
    /// Whether a message runs the node, unless the graph says otherwise.
    pub trigger: bool,
    /// Which messages the node reads, unless the graph says otherwise; `None`: the newest.
    #[serde(default)]
    pub reading: Option<InputReading>,
    /// Whether a graph may leave the port unconnected.
    #[serde(default)]
    pub optional: bool,
    /// Quality of service, unless the graph says otherwise.
    #[serde(default)]
    pub qos: QosRequest,
}

/// An output port of a node type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputDescription {
    /// Name, unique among the outputs of the node type.
    pub port: String,
    /// Message type (`sensor_msgs/msg/Image`).
    #[serde(rename = "type")]
    pub message_type: String,
    /// `RIHS01_...` of the type as this binary was built with it; `None`: not compared.
    #[serde(default)]
    pub type_hash: Option<String>,
    /// Whether its messages are tokens of shared buffers, or have some in them: the host reads
    /// them, and what they name goes to devices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tokens: bool,
    /// Whether a graph may leave the port unconnected.
    #[serde(default)]
    pub optional: bool,
    /// Quality of service, unless the graph says otherwise.
    #[serde(default)]
    pub qos: QosRequest,
}

/// A timer of a node type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimerDescription {
    /// Name, unique among the timers of the node type.
    pub name: String,
    /// Period unless the graph says otherwise, nanoseconds; `None`: the graph must say it.
    pub period_ns: Option<u64>,
    /// The clock that it goes by.
    #[serde(default, skip_serializing_if = "TimerClock::is_ros")]
    pub clock: TimerClock,
}

/// The clock that a timer goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerClock {
    /// ROS time: simulated time, if the node has it. Else real time, which then never jumps.
    #[default]
    Ros,
    /// The computer's clock that never jumps, also in a run with simulated time.
    Steady,
    /// The computer's time, which somebody may set.
    System,
}

impl TimerClock {
    pub(crate) fn is_ros(&self) -> bool {
        *self == Self::Ros
    }
}

/// A predicate of a node type: something about the messages that wait on its inputs which must hold
/// for it to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredicateDescription {
    /// Name, unique among the predicates of the node type.
    pub name: String,
    /// One sentence on when it holds.
    pub doc: String,
}

/// A parameter of a node type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterDescription {
    /// Name, unique among the parameters of the node type.
    pub name: String,
    /// Value unless the graph says otherwise; it also fixes the type.
    pub default: ParameterValue,
    /// One sentence with the unit.
    pub doc: String,
}

impl PackageDescriptions {
    /// The description of a node type in any binary, the binary named after the package first, else
    /// in hardware.
    #[must_use]
    pub fn node_type(&self, package: &str, node_type: &str) -> Option<&NodeTypeDescription> {
        let software = self.package(package).and_then(|package| package.node_type(node_type));
        let hardware = || Some(&self.hardware_node(package, node_type)?.1.description);
        software.or_else(hardware)
    }

    /// A node type in hardware, from the first package of this name that has it.
    #[must_use]
    pub fn hardware_node(
        &self,
        package: &str,
        node_type: &str,
    ) -> Option<(&HardwarePackage, &HardwareNode)> {
        let packages = self.hardware.iter().filter(|it| it.name == package);
        packages.filter_map(|it| Some((it, it.node_type(node_type)?))).next()
    }

    /// A parameter of a node type, in software or in hardware.
    #[must_use]
    pub fn parameter(
        &self,
        package: &str,
        node_type: &str,
        name: &str,
    ) -> Option<&ParameterDescription> {
        let software = self.package(package).and_then(|package| package.node_type(node_type));
        let hardware = || self.hardware_node(package, node_type)?.1.description.parameter(name);
        software.and_then(|description| description.parameter(name)).or_else(hardware)
    }

    /// The description of a package, from `crossdock-<package>` if that binary has it, else from
    /// the first binary that does.
    #[must_use]
    pub fn package(&self, package: &str) -> Option<&PackageDescription> {
        self.binary_of(&[package])?.package(package)
    }

    /// The binary that links all of these packages: the one named after the first of them, with
    /// underscores or hyphens, if it does, else the first in order.
    #[must_use]
    pub fn binary_of(&self, packages: &[&str]) -> Option<&BinaryDescription> {
        let plain = |binary: &str| binary.replace('-', "_");
        let own = packages.first().map(|package| plain(&format!("crossdock-{package}")));
        let links_all = |binary: &&BinaryDescription| {
            packages.iter().all(|package| binary.package(package).is_some())
        };
        let mut candidates = self.binaries.iter().filter(links_all);
        let first = candidates.clone().next();
        candidates.find(|binary| Some(plain(&binary.binary)) == own).or(first)
    }
}

impl BinaryDescription {
    /// The description of a package in this binary.
    #[must_use]
    pub fn package(&self, name: &str) -> Option<&PackageDescription> {
        self.packages.iter().find(|package| package.name == name)
    }
}

impl PackageDescription {
    /// The description of a node type of this package.
    #[must_use]
    pub fn node_type(&self, node_type: &str) -> Option<&NodeTypeDescription> {
        self.nodes.iter().find(|node| node.node_type == node_type)
    }
}

impl NodeTypeDescription {
    /// The input on this port.
    #[must_use]
    pub fn input(&self, port: &str) -> Option<&InputDescription> {
        self.inputs.iter().find(|input| input.port == port)
    }

    /// The output on this port.
    #[must_use]
    pub fn output(&self, port: &str) -> Option<&OutputDescription> {
        self.outputs.iter().find(|output| output.port == port)
    }

    /// The timer of this name.
    #[must_use]
    pub fn timer(&self, name: &str) -> Option<&TimerDescription> {
        self.timers.iter().find(|timer| timer.name == name)
    }

    /// The parameter of this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&ParameterDescription> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}
