//! Services of a graph: what the file says of them, what packages describe, what a plan settles.
//!
//! Pure data; what must hold between these is in `check`.

use serde::{Deserialize, Serialize};

/// Calls that a client may have under way, unless the graph says otherwise.
pub const CLIENT_DEPTH: u32 = 8;

/// Most calls that a client may have under way.
pub const CLIENT_DEPTH_MAX: u32 = 4096;

/// What a client or a server tells those who watch its service: the events of ROS 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Introspection {
    /// Nothing.
    #[default]
    Disabled,
    /// That a request or a response was sent or taken.
    Metadata,
    /// The same with the request or the response.
    Contents,
}

impl Introspection {
    /// The words of graph files.
    pub(crate) const WORDS: [(&'static str, Self); 3] =
        [("disabled", Self::Disabled), ("metadata", Self::Metadata), ("contents", Self::Contents)];

    /// The word of graph files.
    pub(crate) fn word(self) -> &'static str {
        Self::WORDS[self as usize].0
    }
}

/// What a graph says of a service. Anything left out comes from the ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphService {
    /// Absolute ROS name (`/set_speed`).
    pub name: String,
    /// Service type (`std_srvs/srv/SetBool`).
    #[serde(rename = "type")]
    pub service_type: Option<String>,
    /// Whether the server is outside the graph.
    pub external: bool,
    /// Largest request in the flat layout that memory is made for before there is any, bytes.
    pub max_request_bytes: Option<u64>,
    /// Largest response in the flat layout that memory is made for before there is any, bytes.
    pub max_response_bytes: Option<u64>,
}

/// A connected client port of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphClient {
    /// Port of the node type.
    pub port: String,
    /// Service that it calls.
    pub service: String,
    /// Calls under way at most; `None`: [`CLIENT_DEPTH`].
    pub depth: Option<u32>,
    /// What it tells those who watch the service.
    pub introspection: Introspection,
}

/// A connected server port of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphServer {
    /// Port of the node type.
    pub port: String,
    /// Service that it serves.
    pub service: String,
    /// What it tells those who watch the service.
    pub introspection: Introspection,
}

/// A client or server port of a node type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServicePortDescription {
    /// Name, unique among the clients or servers of the node type.
    pub port: String,
    /// Service type (`std_srvs/srv/SetBool`).
    #[serde(rename = "type")]
    pub service_type: String,
    /// `RIHS01_...` of the type as this binary was built with it; `None`: not compared.
    #[serde(default)]
    pub type_hash: Option<String>,
    /// Whether a graph may leave the port unconnected.
    #[serde(default)]
    pub optional: bool,
}

/// One client, everything settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPlan {
    /// Port of the node type.
    pub port: String,
    /// Service.
    pub service: String,
    /// Service type.
    #[serde(rename = "type")]
    pub service_type: String,
    /// Calls under way at most.
    pub depth: u32,
    /// Largest request in the flat layout that memory is made for before there is any, bytes.
    pub max_request_bytes: Option<u64>,
    /// Whether its server is in the graph, and to be connected before the start.
    pub expected: bool,
    /// What it tells those who watch the service.
    #[serde(default)]
    pub introspection: Introspection,
}

/// One server, everything settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// Port of the node type.
    pub port: String,
    /// Service.
    pub service: String,
    /// Service type.
    #[serde(rename = "type")]
    pub service_type: String,
    /// Largest response in the flat layout that memory is made for before there is any, bytes.
    pub max_response_bytes: Option<u64>,
    /// Clients in the graph, to be connected before the start.
    pub clients: u32,
    /// What it tells those who watch the service.
    #[serde(default)]
    pub introspection: Introspection,
}
