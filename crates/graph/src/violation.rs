//! One thing that is wrong with a file or with how files fit together.
//!
//! Must not print: it renders itself as one sentence with position and advice.

use crate::source::{Place, Source};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is wrong with a graph, mapping or parameter file, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// What rule is broken, for programs.
    pub kind: ViolationKind,
    /// File; empty for what was built in code.
    pub file: String,
    /// Where in the file.
    #[serde(flatten)]
    pub place: Option<Place>,
    /// Node concerned.
    pub node: Option<String>,
    /// Topic concerned.
    pub topic: Option<String>,
    /// What is wrong, one sentence without the final stop.
    pub message: String,
    /// What to do about it, one sentence without the final stop.
    pub advice: String,
}

/// The rule that a [`Violation`] breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ViolationKind {
    /// Not UTF-8, not YAML, or YAML that these files do not use (anchors, tags, several documents).
    Syntax,
    /// Larger, deeper or longer than these files may be.
    Limit,
    /// A key that does not exist.
    UnknownKey,
    /// A key that must be there.
    MissingKey,
    /// The same name twice.
    Duplicate,
    /// A value of the wrong kind.
    WrongValue,
    /// A number outside its range.
    OutOfRange,
    /// A name that ROS does not allow.
    InvalidName,
    /// A file that cannot be included.
    Include,
    /// A remapping that changes nothing.
    UnusedRemap,
    /// A parameter value that reaches no node.
    UnusedParameter,
    /// A package that no binary offers.
    UnknownPackage,
    /// A node type that the package does not have.
    UnknownNodeType,
    /// A port that the node type does not have.
    UnknownPort,
    /// A port that the graph must connect.
    UnconnectedPort,
    /// A timer that the node type does not have, or one whose period nobody says.
    Timer,
    /// A parameter that the node type does not have.
    UnknownParameter,
    /// A parameter value of another type.
    ParameterType,
    /// A name of a node that the graph does not have.
    UnknownNode,
    /// A name of a topic that the graph does not have.
    UnknownTopic,
    /// A triggering input that nobody publishes to.
    NoPublisher,
    /// Several nodes publish a topic, which the graph does not say is meant.
    SeveralPublishers,
    /// A client of a service that nobody serves.
    NoServer,
    /// A service with more than one server.
    ServedTwice,
    /// Two types on one topic or service.
    TypeClash,
    /// A subscriber asks for more than a publisher offers.
    QosMismatch,
    /// Triggers that form a cycle, or an input that is said to close one and does not.
    TriggerCycle,
    /// A condition that cannot hold.
    Condition,
    /// A lockstep that cannot work.
    Lockstep,
    /// A chain without a way from its first to its last topic.
    ChainUnreachable,
    /// A node that the mapping places nowhere.
    Unmapped,
    /// A node that a mapping or placement places twice, or a process on two hosts.
    MappedTwice,
    /// What a mapping says of hosts, and cannot be.
    Host,
    /// A topic whose mapping its nodes or its contract do not allow.
    TopicMapping,
    /// A type on a hardware stream without a bounded layout.
    Layout,
    /// A width, clock or FIFO of a hardware stream that cannot be.
    Stream,
    /// A hardware implementation that does not fit its software twin, its place in a graph, or
    /// others.
    HardwareNode,
    /// Hardware nodes in a cycle that nothing breaks.
    HardwareCycle,
    /// Two names that become one identifier in hardware, or one that is too long for it.
    HardwareName,
    /// Packages in one process that no binary links together.
    NotLinkedTogether,
    /// A node that wants its process started again if the mapping never does that.
    Restart,
    /// A topic that both the input recording and a node publish.
    InputConflict,
    /// A graph argument that does not exist or whose text does not fit.
    Argument,
    /// Something that cannot be repeated bit by bit, in a run that is to be.
    NotRepeatable,
}

impl Violation {
    /// A violation at the part of `source` with this path of keys.
    #[must_use]
    pub fn at(
        kind: ViolationKind,
        source: &Source,
        path: &[&str],
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        let (file, place) = source.find(path);
        Self {
            kind,
            file: file.to_owned(),
            place,
            node: None,
            topic: None,
            message: message.into(),
            advice: advice.into(),
        }
    }

    /// A violation at a position of a file that has no parts yet.
    pub(crate) fn placed(
        kind: ViolationKind,
        file: &str,
        place: Option<Place>,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            file: file.to_owned(),
            place,
            node: None,
            topic: None,
            message: message.into(),
            advice: advice.into(),
        }
    }

    /// The same violation with the node that it concerns.
    #[must_use]
    pub fn for_node(mut self, node: &str) -> Self {
        self.node = Some(node.to_owned());
        self
    }

    /// The same violation with the topic that it concerns.
    #[must_use]
    pub fn for_topic(mut self, topic: &str) -> Self {
        self.topic = Some(topic.to_owned());
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
            if let Some(place) = self.place {
                write!(f, "{}:{}:", place.line, place.column)?;
            }
            f.write_str(" ")?;
        }
        match (&self.node, &self.topic) {
            (Some(node), Some(topic)) => write!(f, "node `{node}`, topic `{topic}`: ")?,
            (Some(node), None) => write!(f, "node `{node}`: ")?,
            (None, Some(topic)) => write!(f, "topic `{topic}`: ")?,
            (None, None) => {}
        }
        write!(f, "{}; {}", self.message, self.advice)
    }
}

impl std::error::Error for Violation {}
