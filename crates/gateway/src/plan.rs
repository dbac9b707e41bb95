//! What a host is made from, as data that a launcher sends.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A fabric, how it was built, and its gateways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPlan {
    /// Name of the fabric.
    pub fabric: String,
    /// The folder in which built networks are kept.
    pub cache: PathBuf,
    /// Which of them it is ([`Library::key`](crossdock_fabric::Library::key)).
    pub key: String,
    /// The network's identity.
    pub identity: u64,
    /// The profile whose way to host memory the board has.
    pub profile: String,
    /// What stands in registers that reset leaves alone.
    pub seed: u32,
    /// The nodes on the board, which it shows beside its own.
    pub nodes: Vec<HostedNode>,
    /// The gateways, by their number on the board.
    pub gateways: Vec<HostGateway>,
    /// Whether others do not wait for it, so that it ends if it falls behind.
    pub real_time: bool,
    /// Counts in the network's registers, which the host reads and shows in this order.
    pub counts: Vec<HostCount>,
    /// Where nodes say why they refused a message, which ends the host.
    pub refusals: Vec<HostRefusal>,
}

/// A node on the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostedNode {
    /// Its name in the graph.
    pub name: String,
    /// Its type, `package/type`.
    #[serde(rename = "type")]
    pub node_type: String,
}

/// Where a node of the board says why it refused a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRefusal {
    /// Where the number of the reason stands; 0: none.
    pub at: HostCount,
    /// The node.
    pub node: String,
    /// The reasons by their number, from 1.
    pub reasons: Vec<String>,
    /// Its inputs: the message came on one of them.
    pub inputs: Vec<HostInput>,
    /// What its module was made with, each value with its name: people look for the limits there.
    pub made_with: Vec<String>,
}

/// An input of a node of the board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostInput {
    /// Its name.
    pub port: String,
    /// Its topic.
    pub topic: String,
    /// The nodes of the graph that publish there.
    pub publishers: Vec<String>,
}

/// Where a count stands. Its meaning is for the readers of the process's status table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostCount {
    /// Byte address of its register.
    pub address: u32,
    /// Its lowest bit.
    pub low: u32,
    /// Its bits.
    pub bits: u32,
}

/// One gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostGateway {
    /// Topic.
    pub topic: String,
    /// Message type.
    #[serde(rename = "type")]
    pub message_type: String,
    /// Its definition, merged `ros2msg` text.
    pub definition: String,
    /// Bounds of its sequences and texts, by path.
    pub bounds: BTreeMap<String, u32>,
    /// Input of the node whose messages go into the fabric.
    pub down: Option<String>,
    /// Output of the node on which messages of the fabric are published.
    pub up: Option<String>,
    /// Whether hardware waits if there is no memory for its message; else it is dropped and
    /// counted.
    pub reliable: bool,
}

impl HostPlan {
    /// The plan as the text of a parameter. Allocates.
    #[must_use]
    pub fn to_text(&self) -> String {
        // Only maps with keys that are no text have no JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}
