//! The plan: graph, mapping and descriptions with every choice settled, one part per process.
//!
//! Pure data that the launcher sends to package binaries as JSON. Nothing in it is optional to
//! obey: an executor needs no other source.

use crate::condition::Condition;
use crate::description::TimerClock;
use crate::device::{DevicePlan, DeviceUpload, ManagedTopic};
use crate::mapping::{ExecutorMode, TopicMapping, TrustedUsers};
use crate::model::{Chain, Copies, InputReading, Lockstep};
use crate::policy::{Limit, OnFailure, Realtime, Restart};
use crate::qos::Qos;
use crate::service::{ClientPlan, ServerPlan};
use crate::value::ParameterValue;
use crate::violation::Violation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroU8;

/// Everything that a run needs to know, settled and checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name of the graph.
    pub graph: String,
    /// One part per process, in the order of the mapping.
    pub processes: Vec<ProcessPlan>,
    /// Fabrics with the nodes that are hardware there, in the order of the mapping.
    pub fabrics: Vec<FabricPlan>,
    /// Every topic of the run, by name: who is on it and which way its messages go.
    pub topics: Vec<TopicPlan>,
    /// Connections that the launcher's own ports (playing, recording) wait for.
    pub launcher: Vec<ExpectedConnections>,
    /// Spans to be measured.
    pub chains: Vec<Chain>,
    /// What is allowed but probably not meant, such as a non-triggering input without publisher.
    pub warnings: Vec<Violation>,
    /// Users and groups whose processes are trusted like our own.
    pub trust: TrustedUsers,
    /// How the run is stepped; present only with [`Pacing::Steps`].
    pub steps: Option<StepPlan>,
}

/// What one process runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessPlan {
    /// Name of the process in the mapping.
    pub name: String,
    /// Binary that offers all packages of its nodes (`crossdock-autorace`).
    pub binary: String,
    /// Package of its first node.
    pub package: String,
    /// ROS domain id.
    pub domain_id: u32,
    /// What time means in this run.
    pub time: Time,
    /// Simulated time after which a node in lock step ends the run, nanoseconds; `None`: it goes
    /// on.
    pub duration_ns: Option<u64>,
    /// Executors, one thread each.
    pub executors: Vec<ExecutorPlan>,
    /// Connections that must stand before the process is ready, one entry per topic that the
    /// process has a port on, by name.
    pub expected: Vec<ExpectedConnections>,
    /// Spans to be measured, the same list in every process.
    pub chains: Vec<Chain>,
    /// Whether its memory stays in RAM.
    pub lock_memory: bool,
    /// What follows if rights that it asks for are missing.
    pub realtime: Realtime,
    /// When the launcher starts it again.
    pub restart: Restart,
    /// Topics whose messages must not be copied, by name.
    pub uncopied: Vec<String>,
}

impl ProcessPlan {
    /// The nodes of all its executors.
    pub fn nodes(&self) -> impl Iterator<Item = &NodePlan> {
        self.executors.iter().flat_map(|executor| &executor.nodes)
    }
}

/// The nodes that are hardware in one fabric, and what joins it to host memory. None of the nodes
/// is part of a [`ProcessPlan`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FabricPlan {
    /// Name of the fabric in the mapping.
    pub name: String,
    /// Its nodes, in the order of the mapping.
    pub nodes: Vec<String>,
    /// The ways between it and host memory, by topic.
    pub gateways: Vec<GatewayPlan>,
    /// The process that hosts it, with one node that has all ends of the gateways; `None` where
    /// there is no gateway. What the fabric is made of is for the launcher to say.
    pub host: Option<ProcessPlan>,
}

/// One way between host memory and a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewayPlan {
    /// Topic.
    pub topic: String,
    /// Message type.
    #[serde(rename = "type")]
    pub message_type: String,
    /// Input of the host's node whose messages go into the fabric.
    pub down: Option<String>,
    /// Output of the host's node on which messages of the fabric are published.
    pub up: Option<String>,
    /// The hardware port that has it for itself, on a software-mapped topic; `None`: all hardware
    /// ports of the fabric on the topic share it.
    pub end: Option<HardwareEnd>,
}

/// A port of a hardware node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareEnd {
    /// Node.
    pub node: String,
    /// Port of the node type.
    pub port: String,
}

impl Plan {
    /// Topics whose messages must not be copied.
    pub fn uncopied_topics(&self) -> impl Iterator<Item = &str> {
        let uncopied = self.topics.iter().filter(|topic| topic.copies == Copies::Forbidden);
        uncopied.map(|topic| topic.name.as_str())
    }

    /// All processes of the run: first processes of nodes, then the hosts of fabrics.
    pub fn all_processes(&self) -> impl Iterator<Item = &ProcessPlan> {
        self.processes.iter().chain(self.fabrics.iter().filter_map(|fabric| fabric.host.as_ref()))
    }
}

/// What time means in a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Time {
    /// The time of the computer's clock.
    Wall,
    /// Time that the recording or the simulator makes.
    Simulated {
        /// How simulated time passes in real time.
        pacing: Pacing,
    },
}

impl Time {
    /// True if the player waits until the graph has drained, so that simulated time says nothing
    /// about how long anything takes.
    #[must_use]
    pub fn is_unpaced(self) -> bool {
        use Pacing::{AtMost, Max, Steps};
        matches!(self, Self::Simulated { pacing: Max | AtMost(_) | Steps })
    }

    /// Whether nodes with a lockstep make the time.
    #[must_use]
    pub fn is_in_lockstep(self) -> bool {
        matches!(self, Self::Simulated { pacing: Pacing::Max | Pacing::AtMost(_) })
    }

    /// How many simulated seconds may pass in a second at most, although the graph is waited for.
    #[must_use]
    pub fn at_most(self) -> Option<f64> {
        match self {
            Self::Simulated { pacing: Pacing::AtMost(rate) } => Some(rate),
            _ => None,
        }
    }

    /// Whether the run is stepped, see [`StepPlan`].
    #[must_use]
    pub fn is_stepped(self) -> bool {
        matches!(self, Self::Simulated { pacing: Pacing::Steps })
    }
}

/// How simulated time passes in real time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pacing {
    /// This many simulated seconds per second; finite and above 0.
    Rate(f64),
    /// As fast as the graph can; nodes with a lockstep wait for their command.
    Max,
    /// The same, and at most this many simulated seconds per second; finite and above 0. Time that
    /// was lost is not caught up.
    AtMost(f64),
    /// In steps: what makes the time lets it go on when everything that a message or a timer has
    /// led to is done, and each node runs in the same order in every mapping. See [`StepPlan`].
    Steps,
}

/// How a run is stepped: which phases a step has, by what begins it.
///
/// The nodes of a run have one order, the same in every mapping, in which none triggers one before
/// it. Within a step a node runs when all nodes before it that can reach it have finished; its
/// phase counts how often the way to it leads from one executor into another. All nodes of a phase
/// may run at the same time; a phase begins when the one before it is done everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepPlan {
    /// Number of phases.
    pub phases: u32,
    /// Topics that come from outside the graph, with the phases that a message on them leads to.
    pub topics: BTreeMap<String, Vec<u32>>,
    /// Periods of the timers, with the phases that they lead to.
    pub timers: Vec<StepTimer>,
}

/// All timers of one period and offset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepTimer {
    /// Nanoseconds from one time to the next. All timers begin at the first time of the run.
    pub period_ns: u64,
    /// As in [`TimerPlan`].
    pub offset_ns: Option<u64>,
    /// Phases, in order.
    pub phases: Vec<u32>,
}

/// One executor: one thread that owns nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutorPlan {
    /// Name, unique in the run.
    pub name: String,
    /// How it runs its nodes.
    pub mode: ExecutorMode,
    /// How long it polls before it sleeps, microseconds.
    pub spin_us: u32,
    /// Priority of its thread with `SCHED_FIFO`; `None`: the usual scheduling.
    pub priority: Option<u8>,
    /// CPUs that its thread may run on; empty: all.
    pub affinity: Vec<u32>,
    /// Chains that it watches.
    pub watches: Vec<WatchPlan>,
    /// Its nodes. No node triggers one before it in the list: this is the order of a chain.
    pub nodes: Vec<NodePlan>,
}

impl ExecutorPlan {
    /// Whether something begins in it without a message.
    #[must_use]
    pub fn has_timers(&self) -> bool {
        self.nodes.iter().any(|node| !node.timers.is_empty())
    }
}

/// An executor looks whether a chain that has begun ends in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchPlan {
    /// Name of the chain, one with a max_latency that ends on a topic of one of the executor's
    /// nodes.
    pub chain: String,
    /// Publishers of its first topic to be connected to.
    pub publishers: u32,
}

/// One node, every port, timer and parameter settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodePlan {
    /// Name of the node.
    pub name: String,
    /// Package of the node type.
    pub package: String,
    /// Node type in that package.
    #[serde(rename = "type")]
    pub node_type: String,
    /// The device that it leaves its work to; `None`: it computes on the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DevicePlan>,
    /// Its topics that its executor is to bring to a device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uploads: Vec<DeviceUpload>,
    /// What it publishes from memory that a driver moves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managed: Vec<ManagedTopic>,
    /// When it runs within a step, see [`StepPlan`]; 0 if the run is not stepped.
    #[serde(default)]
    pub phase: u32,
    /// Connected inputs, in the order of the node type's description.
    pub inputs: Vec<InputPlan>,
    /// Connected outputs, in the order of the node type's description.
    pub outputs: Vec<OutputPlan>,
    /// Connected clients, in the order of the node type's description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientPlan>,
    /// Connected servers, in the order of the node type's description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerPlan>,
    /// All timers of the node type.
    pub timers: Vec<TimerPlan>,
    /// When the node runs, if not at each message on a triggering input.
    pub condition: Option<Condition>,
    /// Present only when the run is in lock step: simulated time with [`Pacing::Max`].
    pub lockstep: Option<Lockstep>,
    /// How long one execution may take.
    pub budget: Option<Limit>,
    /// What follows when it fails.
    pub on_failure: OnFailure,
    /// All parameters of the node type.
    pub parameters: BTreeMap<String, ParameterValue>,
    /// The least severe lines that it logs.
    #[serde(default)]
    pub log_level: LogLevel,
    /// Its security enclave, as others see it; `None`: `/`. It protects nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enclave: Option<String>,
    /// It takes its time from `/clock`, in a run by the computer's time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub use_sim_time: bool,
}

/// How severe a line of a node's log is, with the numbers of `rcl_interfaces/msg/Log`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// For who looks for a fault.
    Debug = 10,
    /// What a user may want to know.
    #[default]
    Info = 20,
    /// Something is odd, and the node goes on.
    Warn = 30,
    /// The node could not do something.
    Error = 40,
    /// The node cannot go on.
    Fatal = 50,
}

impl LogLevel {
    /// All levels, the least severe first.
    pub const ALL: [Self; 5] = [Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal];

    /// The level in the words of ROS 2: `INFO`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
        }
    }

    /// Its number in a message.
    #[must_use]
    pub fn number(self) -> NonZeroU8 {
        NonZeroU8::new(self as u8).unwrap_or(NonZeroU8::MIN)
    }

    /// The level of a number in a message, rounded down; below all of them the least severe.
    #[must_use]
    pub fn of_number(number: u8) -> Self {
        let at_most = |level: &Self| *level as u8 <= number;
        Self::ALL.into_iter().rev().find(at_most).unwrap_or(Self::Debug)
    }
}

impl std::str::FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            format!("`{text}` is no level; the levels are debug, info, warn, error, fatal")
        })
    }
}

/// One subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputPlan {
    /// Port of the node type.
    pub port: String,
    /// Topic.
    pub topic: String,
    /// Message type.
    #[serde(rename = "type")]
    pub message_type: String,
    /// Whether a message runs the node.
    pub trigger: bool,
    /// Which messages the node reads when it asks for what has come.
    pub reading: InputReading,
    /// How old the newest message that the node has of it may be when the node runs.
    pub max_age: Option<Limit>,
    /// Requested quality of service.
    pub qos: Qos,
    /// Messages that may wait on it for a condition; beyond, the oldest is passed over.
    pub window: u32,
    /// Publishers to be connected to.
    pub routes: Routes,
}

/// One publisher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputPlan {
    /// Port of the node type.
    pub port: String,
    /// Topic.
    pub topic: String,
    /// Message type.
    #[serde(rename = "type")]
    pub message_type: String,
    /// Offered quality of service.
    pub qos: Qos,
    /// Largest message in the flat layout that memory is made for before there is any, bytes.
    pub max_bytes: Option<u64>,
    /// Whether a copy is a reason to refuse the start.
    pub copies: Copies,
    /// Subscribers to be connected to.
    pub routes: Routes,
}

/// How many connections of one port go which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routes {
    /// To ports of the same executor: a function call away, never through the ring.
    pub in_thread: u32,
    /// To ports of other executors, other processes and the launcher, through the ring.
    pub ring: u32,
}

/// One timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimerPlan {
    /// Timer of the node type.
    pub name: String,
    /// Nanoseconds from one time to the next, at least 1000.
    pub period_ns: u64,
    /// The clock that it goes by.
    #[serde(default, skip_serializing_if = "TimerClock::is_ros")]
    pub clock: TimerClock,
    /// When in its period it fires, nanoseconds, on the grid of the clock; `None`: one period after
    /// the start, and so on.
    pub offset_ns: Option<u64>,
    /// Among timers that are due, those of a higher one fire first; of equal ones those of the
    /// shorter period. Timers of one period, offset and priority are one rate group.
    pub priority: u32,
}

/// How many ports of the run are on a topic, for the barrier before the start.
///
/// All ports are counted that are known beforehand: nodes, and the launcher where it plays or
/// records the topic. Publishers of an external topic that nobody plays are not: they come and go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedConnections {
    /// Topic.
    pub topic: String,
    /// Publishers in the whole run.
    pub publishers: u32,
    /// Subscribers in the whole run.
    pub subscribers: u32,
    /// Publishers among `publishers` that are in this process itself.
    pub publishers_here: u32,
    /// Subscribers among `subscribers` that are in this process itself.
    pub subscribers_here: u32,
}

/// One topic of a run, for reports and pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicPlan {
    /// Name of the topic.
    pub name: String,
    /// Message type; `None` when no port and no declaration says it (an unused external topic).
    #[serde(rename = "type")]
    pub message_type: Option<String>,
    /// Whether publishers outside the graph are expected.
    pub external: bool,
    /// Whether the launcher plays it from a recording.
    pub played: bool,
    /// Whether the launcher records it.
    pub recorded: bool,
    /// Largest message in the flat layout that memory is made for before there is any, bytes.
    pub max_bytes: Option<u64>,
    /// Whether a copy is a reason to refuse the start.
    pub copies: Copies,
    /// Where its messages live.
    pub mapping: TopicMapping,
    /// Publishers in processes.
    pub publishers: Vec<PortReference>,
    /// Subscribers in processes.
    pub subscribers: Vec<PortReference>,
    /// Which way its messages go between processes, all executors together.
    pub route: Route,
}

/// Which way the messages of a topic go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// Nobody is connected to anybody.
    Unconnected,
    /// Every connection is inside one executor: the ring is not used.
    InThread,
    /// Every connection goes through the ring.
    Ring,
    /// Some connections are inside an executor, others go through the ring.
    Both,
}

/// A port of a node and where it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortReference {
    /// Process.
    pub process: String,
    /// Executor.
    pub executor: String,
    /// Node.
    pub node: String,
    /// Port of the node type.
    pub port: String,
    /// Whether a message runs the node; false for publishers.
    pub trigger: bool,
    /// Connections of this port by way.
    pub routes: Routes,
}
