//! The graph: nodes, topics, arguments, chains, as written in a graph file or built in code.
//!
//! Pure data with no opinion: what must hold between its parts is in `check`. Where a part was
//! written is kept beside it, in [`Source`].

use crate::condition::Condition;
use crate::policy::{Limit, OnFailure};
use crate::qos::QosRequest;
use crate::service::{GraphClient, GraphServer, GraphService};
use crate::source::Source;
use crate::value::ParameterValue;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A computation graph: nodes and the topics between them. Lists keep the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Graph {
    /// Name of the graph, a ROS name token (`highway`).
    pub name: String,
    /// Parameters that may be set by name on the command line.
    pub arguments: Vec<Argument>,
    /// Topics with something to say beyond what their ports say.
    pub topics: Vec<GraphTopic>,
    /// Services with something to say beyond what their ports say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<GraphService>,
    /// Nodes of the graph.
    pub nodes: Vec<GraphNode>,
    /// Spans to be measured.
    pub chains: Vec<Chain>,
    /// Where each part was written; empty for a graph built in code.
    #[serde(skip)]
    pub source: Source,
}

impl Graph {
    /// The node of this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&GraphNode> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The declared topic of this name. A topic may also exist by its ports alone.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&GraphTopic> {
        self.topics.iter().find(|topic| topic.name == name)
    }

    /// The declared service of this name. A service may also exist by its ports alone.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<&GraphService> {
        self.services.iter().find(|service| service.name == name)
    }

    /// Every topic name of the graph, declared ones first in file order, then by first use.
    #[must_use]
    pub fn topic_names(&self) -> Vec<&str> {
        let ports = self.nodes.iter().flat_map(|node| {
            let inputs = node.inputs.iter().map(|input| input.topic.as_str());
            inputs.chain(node.outputs.iter().map(|output| output.topic.as_str()))
        });
        let mut seen = std::collections::BTreeSet::new();
        let declared = self.topics.iter().map(|topic| topic.name.as_str());
        declared.chain(ports).filter(|name| seen.insert(*name)).collect()
    }

    /// Every service name of the graph, declared ones first in file order, then by first use.
    #[must_use]
    pub fn service_names(&self) -> Vec<&str> {
        let ports = self.nodes.iter().flat_map(|node| {
            let clients = node.clients.iter().map(|client| client.service.as_str());
            clients.chain(node.servers.iter().map(|server| server.service.as_str()))
        });
        let mut seen = std::collections::BTreeSet::new();
        let declared = self.services.iter().map(|service| service.name.as_str());
        declared.chain(ports).filter(|name| seen.insert(*name)).collect()
    }

    /// The same graph without the positions of its parts: two graphs say the same when these are
    /// equal.
    #[must_use]
    pub fn without_source(&self) -> Self {
        Self { source: Source::default(), ..self.clone() }
    }
}

/// A parameter of one node that the command line may set: `crossdock run GRAPH --laps 3`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// Name on the command line, without the dashes.
    pub name: String,
    /// Node that owns the parameter.
    pub node: String,
    /// Parameter of that node.
    pub parameter: String,
    /// One line for the command's help; may be empty.
    pub doc: String,
}

/// What a graph says of a topic. Anything left out comes from the ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GraphTopic {
    /// Absolute ROS topic name (`/camera/image`).
    pub name: String,
    /// Message type (`sensor_msgs/msg/Image`).
    #[serde(rename = "type")]
    pub message_type: Option<String>,
    /// Whether publishers outside the graph are to be expected: a recording, a driver, ROS 2 nodes.
    pub external: bool,
    /// Whether several nodes are meant to publish it.
    pub several_publishers: bool,
    /// Whether a copy of a message is a reason to refuse the start.
    pub copies: Copies,
    /// Largest message in the flat layout that memory is made for before there is any, bytes. No
    /// limit: memory grows for larger ones while they are published.
    pub max_bytes: Option<u64>,
    /// Most elements of its sequences, bytes of its texts and UTF-16 units of its wide texts, by
    /// field (`header.frame_id`): what hardware, which has no memory to grow into, makes room for.
    pub bounds: BTreeMap<String, u32>,
    /// Quality of service of every port of the topic, where the port itself does not say more.
    pub qos: QosRequest,
}

/// Whether messages of a topic may be copied between publisher and subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// Copies happen where they must and are counted.
    #[default]
    Allowed,
    /// The start fails, with the reason, if a copy would be needed.
    Forbidden,
}

/// One node of a graph: an instance of a node type of a package.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GraphNode {
    /// Name, unique in the graph: a ROS name token (`blur`), or with a namespace `/front/blur`.
    pub name: String,
    /// Package that holds the node type.
    pub package: String,
    /// Node type in that package.
    #[serde(rename = "type")]
    pub node_type: String,
    /// Connected inputs.
    pub inputs: Vec<GraphInput>,
    /// Connected outputs.
    pub outputs: Vec<GraphOutput>,
    /// Connected clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<GraphClient>,
    /// Connected servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<GraphServer>,
    /// When the node runs, if not at each message on a triggering input.
    pub condition: Option<Condition>,
    /// Timers whose period the graph sets.
    pub timers: Vec<GraphTimer>,
    /// How the node keeps in step with the graph when time is simulated.
    pub lockstep: Option<Lockstep>,
    /// How long one execution may take.
    pub budget: Option<Limit>,
    /// What follows when it fails; `None`: its process is started again if the mapping says so
    /// for failures, else the run ends.
    pub on_failure: Option<OnFailure>,
    /// Parameters that differ from their defaults.
    pub parameters: BTreeMap<String, ParameterValue>,
}

impl GraphNode {
    /// The input on this port.
    #[must_use]
    pub fn input(&self, port: &str) -> Option<&GraphInput> {
        self.inputs.iter().find(|input| input.port == port)
    }

    /// The output on this port.
    #[must_use]
    pub fn output(&self, port: &str) -> Option<&GraphOutput> {
        self.outputs.iter().find(|output| output.port == port)
    }
}

/// A connected input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphInput {
    /// Port of the node type.
    pub port: String,
    /// Topic it subscribes to.
    pub topic: String,
    /// Whether a message runs the node; `None`: as the node type says.
    pub trigger: Option<bool>,
    /// Whether the triggers that lead here begin at this node: a loop that messages go round in.
    pub closes_loop: bool,
    /// Which messages the node reads, if none of them runs it; `None`: as the node type says.
    pub reading: Option<InputReading>,
    /// How old the newest message that the node has of it may be when the node runs.
    pub max_age: Option<Limit>,
    /// Quality of service, over what the topic says.
    pub qos: QosRequest,
}

/// A connected output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GraphOutput {
    /// Port of the node type.
    pub port: String,
    /// Topic it publishes to.
    pub topic: String,
    /// Quality of service, over what the topic says.
    pub qos: QosRequest,
}

/// Which messages of an input a node reads when it asks for what has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputReading {
    /// The next one: of inputs each of whose messages releases the node.
    Next,
    /// The newest; older ones are passed over.
    Latest,
    /// All since the last execution.
    SinceLast,
}

/// A timer of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphTimer {
    /// Timer of the node type.
    pub name: String,
    /// How often it fires.
    pub period: Period,
    /// When in its period it fires, nanoseconds, on the grid of the clock; `None`: one period after
    /// the start, and so on.
    pub offset_ns: Option<u64>,
    /// Among timers of one executor that are due, those of a higher one fire first; of equal ones
    /// those of the shorter period.
    pub priority: u32,
}

/// How often a timer fires, in the unit in which somebody wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// Times per second.
    RateHz(f64),
    /// Milliseconds from one time to the next.
    PeriodMs(f64),
}

impl Period {
    /// Nanoseconds from one time to the next, rounded; `None` outside 1 us to 1 day.
    #[must_use]
    pub fn period_ns(self) -> Option<u64> {
        let period_ns = match self {
            Self::RateHz(rate_hz) => 1e9 / rate_hz,
            Self::PeriodMs(period_ms) => period_ms * 1e6,
        };
        // Out of range and NaN become 0 or the largest integer, which are no periods.
        Some(period_ns.round() as u64).filter(|period_ns| is_period(*period_ns))
    }
}

/// Whether a timer can have this period: 1 us (no timer of an operating system is finer) to 1 day.
pub(crate) fn is_period(period_ns: u64) -> bool {
    (1_000..=86_400_000_000_000).contains(&period_ns)
}

/// Simulated time without real-time pacing: the timer fires when the message on the input stamped
/// like the node's last output has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lockstep {
    /// Timer of this node.
    pub timer: String,
    /// Non-triggering input of this node.
    pub command: String,
}

/// A span to be measured, from a message on one topic to the message on another that it caused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Name of the span.
    pub name: String,
    /// Topic on which it begins.
    pub from: String,
    /// Topic on which it ends.
    pub to: String,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_latency: Option<Limit>,
}
