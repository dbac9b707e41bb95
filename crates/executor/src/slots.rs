//! What an executor keeps of its nodes, their triggering inputs and their timers.
//! Plain data; it must not know in which order they are used.

use std::fmt;
use std::ops::Range;

use crossdock_comm::{InputHandle, OutputHandle};
use crossdock_graph::{InputPlan, NodePlan, TimerPlan};

use crate::node::Node;
use crate::origin::{self, Beginning, NO_ORIGIN, Origin};
use crate::record::{ChainRecord, NodeRecord};

/// A node and what surrounds it.
pub(crate) struct NodeSlot {
    pub(crate) name: String,
    pub(crate) node: Box<dyn Node>,
    /// Its releasing inputs, as a range of the executor's inputs.
    pub(crate) triggers: Range<usize>,
    /// Whether it runs only when all of these hold messages of one stamp.
    pub(crate) has_condition: bool,
    /// Inputs of this executor that its outputs lead to, in graph order.
    pub(crate) successors: Box<[usize]>,
    /// Its outputs on which measured spans end.
    pub(crate) ends: Box<[End]>,
    pub(crate) record: NodeRecord,
}

impl fmt::Debug for NodeSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeSlot").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An input that can release a node.
#[derive(Debug)]
pub(crate) struct Input {
    /// The node that it releases.
    pub(crate) node: usize,
    pub(crate) port: String,
    pub(crate) topic: String,
    pub(crate) handle: InputHandle,
    pub(crate) purpose: Purpose,
    /// The span that begins on its topic.
    pub(crate) beginning: Option<Beginning>,
    /// Messages that can wait in it.
    pub(crate) depth: usize,
    /// Messages that it had been through when the node was released last.
    pub(crate) position: u64,
}

impl Input {
    /// Before an execution that this input releases.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.position = self.handle.position();
    }

    /// After an execution that this input released: the message is done with, even if the node
    /// did not take it. Gives the number of messages that it left, 0 or 1.
    #[inline]
    pub(crate) fn settle(&mut self) -> u64 {
        let left = self.handle.position() == self.position;
        if left {
            self.handle.skip();
        }
        self.handle.mark_processed();
        left.into()
    }

    /// The origin that what follows from its next message inherits.
    #[inline]
    pub(crate) fn origin(&self) -> Origin {
        let Some(message) = self.handle.peek() else { return NO_ORIGIN };
        match self.beginning {
            Some(beginning) => origin::begin(message.origin, beginning, message.stamp_ns),
            None => message.origin,
        }
    }
}

/// What an input is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Each message runs the node.
    Trigger,
    /// The node's condition needs it.
    Condition,
    /// A lockstep waits for its command.
    Command,
}

impl Purpose {
    /// What an input is watched for; `None` when its messages wait until the node asks for them.
    pub(crate) fn of(node: &NodePlan, input: &InputPlan) -> Option<Self> {
        let lockstep = node.lockstep.as_ref();
        match &node.condition {
            _ if lockstep.is_some_and(|lockstep| lockstep.command == input.port) => {
                Some(Self::Command)
            }
            Some(condition) => condition.all_of.contains(&input.port).then_some(Self::Condition),
            None => input.trigger.then_some(Self::Trigger),
        }
    }
}

/// An output on which a measured span ends.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) handle: OutputHandle,
    pub(crate) beginning: Beginning,
    pub(crate) published: u64,
    pub(crate) record: ChainRecord,
}

impl End {
    /// After an execution: measures what has just been published on this output.
    #[inline]
    pub(crate) fn settle(&mut self, origin: Origin) {
        let published = self.handle.published();
        let messages = published - self.published;
        if messages > 0 {
            self.published = published;
            let latency_ns =
                origin::latency_ns(origin, self.beginning, self.handle.last_stamp_ns());
            self.record.published(messages, latency_ns);
        }
    }
}

/// A timer of a node.
#[derive(Debug)]
pub(crate) struct TimerSlot {
    pub(crate) node: usize,
    pub(crate) name: String,
    pub(crate) period_ns: u64,
}

impl TimerSlot {
    pub(crate) fn new(node: usize, plan: &TimerPlan) -> Self {
        Self { node, name: plan.name.clone(), period_ns: plan.period_ns }
    }
}
