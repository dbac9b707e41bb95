//! What a node sees of the run while it executes.

use std::fmt;

use crate::clock::Clock;
use crate::finish::Finish;
use crossdock_msg::stamp_of;

/// What released a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger<'a> {
    /// A message on the subscriber of this port.
    Input(&'a str),
    /// This timer.
    Timer(&'a str),
    /// A call of this client port has ended, with a response or without.
    Response(&'a str),
    /// A request at this server port.
    Request(&'a str),
    /// The messages that the node's condition asks for.
    Condition,
    /// The node drives a device: it has asked to be polled ([`Context::poll_again`]), or a message
    /// has come on one of its bridges ([`Setup::bridge`](crate::Setup::bridge)).
    Poll,
    /// A limit of time was missed ([`Node::limit_missed`](crate::Node::limit_missed)).
    Limit,
    /// Simulated time jumps ([`Node::before_time_jump`](crate::Node::before_time_jump)).
    TimeJump,
}

impl fmt::Display for Trigger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(port) => write!(f, "input `{port}`"),
            Self::Timer(timer) => write!(f, "timer `{timer}`"),
            Self::Response(port) => write!(f, "response on client `{port}`"),
            Self::Request(port) => write!(f, "request at server `{port}`"),
            Self::Condition => write!(f, "condition"),
            Self::Poll => write!(f, "poll"),
            Self::Limit => write!(f, "limit"),
            Self::TimeJump => write!(f, "time jump"),
        }
    }
}

/// What a node sees of the run during one [`execute`](crate::Node::execute).
///
/// Messages that the node publishes meanwhile inherit the origin of what released it, by which
/// chains are measured; the node has nothing to do for that.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) node: &'a str,
    pub(crate) trigger: Trigger<'a>,
    pub(crate) clock: &'a Clock,
    pub(crate) finish: &'a mut Finish,
    pub(crate) again: bool,
}

impl<'a> Context<'a> {
    /// The name of the node in the graph.
    #[must_use]
    pub fn node(&self) -> &'a str {
        self.node
    }

    /// What released the node.
    #[must_use]
    pub fn trigger(&self) -> Trigger<'a> {
        self.trigger
    }

    /// ROS time in ns since 1970: real time (one clock read), or simulated time, which stands still
    /// during an execution and is 0 before its first message. Does not block or allocate.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The time as the two fields of `builtin_interfaces/msg/Time`: seconds and nanoseconds.
    #[must_use]
    pub fn now_stamp(&self) -> (i32, u32) {
        stamp_of(self.now_ns())
    }

    /// Asks for another execution as soon as all other work of this executor has had its turn, for
    /// nodes that drive a device which cannot ring. The executor does not sleep while a node asks.
    pub fn poll_again(&mut self) {
        self.again = true;
    }

    /// Asks for the end of the run. The executor still works off the messages in flight, and its
    /// timers fire no more. The first reason given counts. Allocates.
    pub fn finish(&mut self, reason: impl Into<String>) {
        self.finish.ask(reason.into());
    }
}
