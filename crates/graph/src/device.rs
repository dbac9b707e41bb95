//! What a mapping says of devices: which nodes leave their work to one, and how the messages of a
//! topic get there. Model and reading.
//!
//! Whether the nodes have kernels is for `check`.

use crate::expansion::free_topic_fault;
use crate::names::token_fault;
use crate::read::{Keys, Reading};
use crate::yaml::{Entry, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const DEVICE: Keys =
    Keys { what: "a device", required: &["device", "nodes"], optional: &["otherwise", "topics"] };
const OTHERWISE: [(&str, Otherwise); 2] = [("refuse", Otherwise::Refuse), ("cpu", Otherwise::Cpu)];
const MODELS: [CopyModel; 5] =
    [CopyModel::Auto, CopyModel::Copy, CopyModel::Managed, CopyModel::ZeroCopy, CopyModel::Device];

/// A device and the nodes that leave their work to it. Each of these has a place in a process, too:
/// the thread that gives the device its work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MappedDevice {
    /// Name, unique in the mapping, a ROS name token.
    pub name: String,
    /// Which one, as `crossdock device list` names it (`opencl:0`).
    pub device: String,
    /// Names of its nodes.
    pub nodes: Vec<String>,
    /// What follows if it is not there.
    pub otherwise: Otherwise,
    /// How the messages of a topic get to it and back, or the shared buffers of a service's
    /// requests, if that is not left to what the device can do.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub topics: BTreeMap<String, CopyModel>,
}

/// What follows where a device is not there or cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// The run does not start.
    #[default]
    Refuse,
    /// The nodes compute on the processor, and the run says so.
    Cpu,
}

/// How the payload of a topic's messages gets to a device and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyModel {
    /// As the device can do it best, by trial.
    #[default]
    Auto,
    /// Each message is copied to the device once, whatever the number of nodes that read it there,
    /// and from it once.
    Copy,
    /// Memory that the driver moves, in the one process of all publishers and subscribers.
    Managed,
    /// The device reads and writes the host's memory in place.
    ZeroCopy,
    /// The payload stays in memory of the device as long as only nodes of that device read it; for
    /// anybody else it is copied once.
    Device,
}

impl CopyModel {
    /// The word for it in a mapping file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Copy => "copy",
            Self::Managed => "managed",
            Self::ZeroCopy => "zero_copy",
            Self::Device => "device",
        }
    }
}

/// What a node that leaves its work to a device has to know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicePlan {
    /// Which one (`opencl:0`).
    pub device: String,
    /// What follows if it is not there.
    pub otherwise: Otherwise,
    /// The models of the topics on the node's ports, and of the services that it has servers of.
    pub topics: BTreeMap<String, DeviceTopic>,
}

/// A topic as a node on a device has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceTopic {
    /// How its messages get to the device and back.
    pub model: CopyModel,
    /// Whether a copy is a reason to refuse the start.
    pub may_copy: bool,
    /// Whether any subscriber is known beforehand that is no node of this device, so that messages
    /// are needed in memory of the host.
    pub read_elsewhere: bool,
    /// Whether any node of this device in another process subscribes, so that it needs the device's
    /// memory from there.
    pub other_processes: bool,
    /// Whether all publishers and subscribers that are known beforehand are in one process.
    pub one_process: bool,
    /// Whether any message comes from another process than the node's, so that this one may only
    /// read it where it lies. Shared buffers may be written by all who have them.
    pub foreign: bool,
    /// Whether messages may be found in memory that all nodes of the device share: a node of the
    /// device publishes them, or a [`DeviceUpload`] brings them there.
    pub in_slabs: bool,
    /// Whether its messages have tokens of shared buffers in them: what is said here is about the
    /// buffers then.
    pub tokens: bool,
}

/// A topic of a node on the processor that nodes of one device read in several executors: the
/// executor of its publisher is to bring each message to the device, once for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceUpload {
    /// Topic, on one output of the node.
    pub topic: String,
    /// The device (`opencl:0`).
    pub device: String,
    /// The model of the topic: `auto`, `copy` or `device`.
    pub model: CopyModel,
    /// Executors with nodes of the device that read the topic: two or more.
    pub executors: u32,
    /// Executors among them that are in the process of the publisher.
    pub executors_here: u32,
    /// Its messages are tokens of shared buffers, which the host reads: they stay where they are,
    /// and what is to be there for all executors are the buffers.
    pub tokens: bool,
}

/// A topic whose messages a node's publisher is to keep in memory that the driver of a device moves
/// ([`CopyModel::Managed`]), or by which it hands out shared buffers that are to lie there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManagedTopic {
    /// Topic on one output of the node, or service that it is a client of.
    pub name: String,
    /// The device (`opencl:0`).
    pub device: String,
    /// Its messages are tokens of shared buffers: they stay where they are, and the buffers lie
    /// there.
    pub tokens: bool,
}

/// The map `devices` of mapping files.
pub(crate) fn read_devices(reading: &mut Reading, tree: &Tree) -> Vec<MappedDevice> {
    reading.source.set(&["devices"], tree.place);
    let entries = reading.map(tree, "`devices`");
    entries.iter().map(|entry| device(reading, entry)).collect()
}

fn device(reading: &mut Reading, entry: &Entry) -> MappedDevice {
    let name = entry.key.clone();
    reading.source.set(&["devices", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the device", token_fault);
    let fields = reading.fields(&entry.value, &DEVICE);
    let device = fields.get("device").and_then(|tree| reading.text(tree, "`device`"));
    let nodes = fields.get("nodes").map_or_else(Vec::new, |tree| {
        let path = ["devices", name.as_str()];
        reading.nodes(tree, &path, "a node of a device", &format!("device `{name}`"))
    });
    let otherwise = fields.get("otherwise");
    let otherwise = otherwise.and_then(|tree| reading.choice(tree, "`otherwise`", &OTHERWISE));
    let mut topics = BTreeMap::new();
    for entry in fields.get("topics").map_or(&[][..], |tree| reading.map(tree, "`topics`")) {
        reading.source.set(&["devices", &name, &entry.key], entry.key_place);
        reading.check_name(&entry.key, entry.key_place, "the topic", free_topic_fault);
        let words = MODELS.map(|model| (model.word(), model));
        let model = reading.choice(&entry.value, "a copy model", &words);
        topics.extend(model.map(|model| (entry.key.clone(), model)));
    }
    MappedDevice {
        name,
        device: device.unwrap_or_default(),
        nodes,
        otherwise: otherwise.unwrap_or_default(),
        topics,
    }
}
