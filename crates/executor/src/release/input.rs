//! An input that can release a node, as its executor keeps it.

use crossdock_comm::{SubscriberHandle, TakeError};
use crossdock_trace::ExecutorTrace;

use crate::node::opened::Purpose;
use crate::origin::{self, Beginning, NO_ORIGIN, Origin};

/// An input that can release a node.
#[derive(Debug)]
pub(crate) struct Input {
    /// The node that it releases.
    pub(crate) node: usize,
    pub(crate) port: String,
    /// Place of the port in the node's plan.
    pub(crate) place: u32,
    pub(crate) topic: String,
    pub(crate) handle: SubscriberHandle,
    pub(crate) purpose: Purpose,
    /// What the executions that it runs are called in traces.
    pub(crate) callback: u64,
    /// The span that begins on its topic, and its handle in traces.
    pub(crate) beginning: Option<Beginning>,
    pub(crate) chain: u64,
    /// Messages that can wait in it.
    pub(crate) depth: usize,
    /// Of those, messages that can wait in its window for a condition.
    pub(crate) window: usize,
    /// Whether this executor's own nodes publish on its topic.
    pub(crate) inside: bool,
    /// Messages that have left the input, or will have when the node has been settled.
    pub(crate) released: u64,
    /// Messages that came from inside, and the most that came of one execution.
    pub(crate) fed: u64,
    pub(crate) fed_at_once: u64,
}

impl Input {
    /// Messages have come from inside.
    #[inline]
    pub(crate) fn feed(&mut self, messages: u64) {
        self.fed += messages;
        self.fed_at_once = self.fed_at_once.max(messages);
    }

    /// Whether messages from inside are waiting.
    #[inline]
    pub(crate) fn is_fed(&self) -> bool {
        self.fed > self.handle.passed()
    }

    /// Whether one more execution may feed it as much as one has before.
    pub(crate) fn has_room(&self) -> bool {
        self.fed + self.fed_at_once <= self.handle.passed() + self.depth as u64
    }

    /// After executions that this input released: their messages are done with, even if the node
    /// did not take them. Gives the number of messages that it left.
    #[inline]
    pub(crate) fn settle(&mut self) -> Result<u64, TakeError> {
        let mut left = 0;
        // At most as many rounds as there were executions since the last time.
        while self.handle.passed() < self.released && self.handle.skip()? {
            left += 1;
        }
        self.released = self.handle.passed();
        Ok(left)
    }

    /// The origin that what follows from its next message inherits.
    #[inline]
    pub(crate) fn origin(&self, trace: ExecutorTrace) -> Origin {
        let Some(message) = self.handle.peek() else { return NO_ORIGIN };
        match self.beginning {
            Some(beginning) => {
                trace.chain_start(self.chain, message.stamp_ns, None);
                origin::begin(message.origin, beginning, message.stamp_ns)
            }
            None => message.origin,
        }
    }
}
