//! What an executor keeps of its nodes, their triggering inputs and their timers.
//! Plain data; it must not know in which order they are used.

use std::fmt;
use std::ops::Range;

use crossdock_comm::{InputHandle, OutputHandle, TakeError};
use crossdock_graph::{InputPlan, Limit, NodePlan, OnFailure, TimerPlan};
use crossdock_trace::ExecutorTrace;

use crate::clock::Clock;
use crate::condition::Condition;
use crate::limits::{Age, LatencyLimit};
use crate::node::Node;
use crate::origin::{self, Beginning, NO_ORIGIN, Origin};
use crate::ready::NumberSet;
use crate::record::{ChainRecord, NodeRecord};
use crate::steady::Steady;
use crate::step::Step;
use crate::timers::Rate;

/// A node and what surrounds it.
pub(crate) struct NodeSlot {
    pub(crate) name: String,
    pub(crate) node: Box<dyn Node>,
    /// Its inputs but bridges: what it has taken from them is processed when it returns.
    pub(crate) inputs: Box<[InputHandle]>,
    /// Its releasing inputs, as a range of the executor's inputs.
    pub(crate) triggers: Range<usize>,
    /// The only one of them, if it needs no other.
    pub(crate) only_trigger: Option<usize>,
    /// When it runs, if not at each message on one of these.
    pub(crate) condition: Option<Box<Condition>>,
    /// The nodes of this executor that its messages lead to, over any number of others.
    pub(crate) descendants: NumberSet,
    /// In a chain: the step that its outputs lead to, if there is only one and it needs no choice.
    pub(crate) follower: Option<Step>,
    /// Nothing is to be seen to after an execution: no span ends here, no limit of time holds, and
    /// the executor's nodes call nobody.
    pub(crate) is_bare: bool,
    /// Its outputs that lead to nodes of this executor.
    pub(crate) outputs: Box<[Output]>,
    /// Its outputs on which measured spans end.
    pub(crate) ends: Box<[End]>,
    /// What its executions are called in traces that neither a single message nor a timer runs.
    pub(crate) callback: u64,
    /// What its being told of missed limits is called there.
    pub(crate) limits_callback: u64,
    pub(crate) record: NodeRecord,
    /// How long an execution may take: `budget` again, the largest number where there is none.
    pub(crate) budget_ns: u64,
    pub(crate) budget: Option<Limit>,
    /// Inputs whose messages may not be older than something.
    pub(crate) ages: Box<[Age]>,
    pub(crate) on_failure: OnFailure,
    /// Everything that it has opened, to be closed should it be taken out.
    pub(crate) ports: (Box<[InputHandle]>, Box<[OutputHandle]>),
    pub(crate) dropped: bool,
}

impl fmt::Debug for NodeSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeSlot").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An output that leads to nodes of the same executor.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) handle: OutputHandle,
    /// Messages published up to the last look.
    pub(crate) published: u64,
    /// Where they lead, in graph order.
    pub(crate) successors: Box<[Successor]>,
}

/// An input that an output of the same executor leads to, and its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Successor {
    pub(crate) input: usize,
    pub(crate) node: usize,
}

/// An input that can release a node.
#[derive(Debug)]
pub(crate) struct Input {
    /// The node that it releases.
    pub(crate) node: usize,
    pub(crate) port: String,
    /// Place of the port in the node's plan.
    pub(crate) place: u32,
    pub(crate) topic: String,
    pub(crate) handle: InputHandle,
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

/// What an input is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Each message runs the node.
    Trigger,
    /// The node's condition needs it.
    Condition,
    /// A lockstep waits for its command.
    Command,
    /// Its messages are for a node that is polled: they wait until it takes them.
    Polled,
}

impl Purpose {
    /// What an input is watched for; `None` when its messages wait until the node asks for them.
    pub(crate) fn of(node: &NodePlan, input: &InputPlan) -> Option<Self> {
        let lockstep = node.lockstep.as_ref();
        match &node.condition {
            _ if lockstep.is_some_and(|lockstep| lockstep.command == input.port) => {
                Some(Self::Command)
            }
            Some(condition) if !condition.is_each_message() => {
                input.trigger.then_some(Self::Condition)
            }
            _ => input.trigger.then_some(Self::Trigger),
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
    pub(crate) latency_limit: Option<LatencyLimit>,
}

impl End {
    /// After an execution, which ended at `at_ns`: measures what has just been published on this
    /// output. True when it was later than a limit.
    #[inline]
    pub(crate) fn settle(
        &mut self,
        origin: Origin,
        clocks: (Clock, &mut Steady),
        trace: ExecutorTrace,
        at_ns: Option<u64>,
    ) -> bool {
        let published = self.handle.published();
        let messages = published - self.published;
        if messages == 0 {
            return false;
        }
        self.published = published;
        let latency_ns = origin::latency_ns(origin, self.beginning, self.handle.last_stamp_ns());
        if let Some(latency_ns) = latency_ns {
            trace.chain_end(self.record.handle(), latency_ns, at_ns);
        }
        self.record.published(messages, latency_ns);
        match &mut self.latency_limit {
            Some(it) => it.judge(&self.handle, messages, latency_ns, clocks, &self.record),
            None => false,
        }
    }
}

/// A timer of a node.
#[derive(Debug)]
pub(crate) struct TimerSlot {
    pub(crate) node: usize,
    pub(crate) name: String,
    pub(crate) rate: Rate,
    /// Place of the timer in the node's plan.
    pub(crate) place: u32,
    /// What its executions are called in traces.
    pub(crate) callback: u64,
    /// When it fired last, or rather was due to, ns.
    pub(crate) due_ns: u64,
}

impl TimerSlot {
    pub(crate) fn new(node: usize, place: usize, plan: &TimerPlan, callback: u64) -> Self {
        let TimerPlan { period_ns, offset_ns, priority, .. } = *plan;
        let rate = Rate { period_ns, offset_ns, priority };
        let (name, place) = (plan.name.clone(), place as u32);
        Self { node, name, rate, place, callback, due_ns: 0 }
    }
}
