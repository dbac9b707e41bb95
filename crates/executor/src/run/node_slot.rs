//! What an executor keeps of its nodes, their outputs and their timers.

use std::fmt;
use std::ops::Range;

use crossdock_comm::{PublisherHandle, SubscriberHandle};
use crossdock_graph::{Limit, OnFailure, TimerPlan};
use crossdock_trace::ExecutorTrace;

use crate::clock::Clock;
use crate::finish::Finish;
use crate::node::context::{Context, Trigger};
use crate::node::error::NodeError;
use crate::node::node_type::Node;
use crate::node::time_jump::JumpThreshold;
use crate::origin::{self, Beginning, Origin};
use crate::release::condition::Condition;
use crate::release::timers::Rate;
use crate::run::limits::{Age, LatencyLimit};
use crate::run::number_set::NumberSet;
use crate::run::ros_time::OtherClock;
use crate::run::step::Step;
use crate::status::{ChainRecord, NodeRecord};
use crate::steady::Steady;

/// A node and what surrounds it.
pub(crate) struct NodeSlot {
    pub(crate) name: String,
    pub(crate) node: Box<dyn Node>,
    /// Its inputs except bridges: messages taken from them are processed when it returns.
    pub(crate) inputs: Box<[SubscriberHandle]>,
    /// Its releasing inputs, as a range of the executor's inputs.
    pub(crate) triggers: Range<usize>,
    /// The only one of them, if one message on it releases the node.
    pub(crate) only_trigger: Option<usize>,
    /// Decides when it runs, if not at each message on one of these.
    pub(crate) condition: Option<Box<Condition>>,
    /// The nodes of this executor that its messages lead to, directly or over other nodes.
    pub(crate) descendants: NumberSet,
    /// In a chain: the step that its outputs lead to, if there is exactly one and it needs no
    /// choice.
    pub(crate) follower: Option<Step>,
    /// Nothing needs attention after an execution: no span ends here, no limit of time holds, and
    /// no node of the executor has a client or server.
    pub(crate) is_bare: bool,
    /// Its outputs that lead to nodes of this executor.
    pub(crate) outputs: Box<[Output]>,
    /// Its outputs on which measured spans end.
    pub(crate) ends: Box<[End]>,
    /// Handle in traces of the executions that neither a single message nor a timer runs.
    pub(crate) callback: u64,
    /// Handle in traces of the calls that tell it of missed limits.
    pub(crate) limits_callback: u64,
    pub(crate) record: NodeRecord,
    /// How long an execution may take: `budget` again, or the largest number if there is none.
    pub(crate) budget_ns: u64,
    pub(crate) budget: Option<Limit>,
    /// Inputs whose messages have a greatest age.
    pub(crate) ages: Box<[Age]>,
    pub(crate) on_failure: OnFailure,
    /// All ports that it has opened, to be closed if it is taken out.
    pub(crate) ports: (Box<[SubscriberHandle]>, Box<[PublisherHandle]>),
    pub(crate) dropped: bool,
    /// It takes its time from `/clock`, in a run by the computer's time.
    pub(crate) follows_topic: bool,
    /// From which size on it is told of jumps of simulated time.
    pub(crate) jumps: Option<JumpThreshold>,
}

impl fmt::Debug for NodeSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeSlot").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The result of one execution of a node.
pub(crate) struct Execution {
    pub(crate) result: Result<(), NodeError>,
    /// The node wants to be polled again.
    pub(crate) again: bool,
    /// Start and end of the execution, if they are measured.
    pub(crate) start_ns: Option<u64>,
    pub(crate) end_ns: Option<u64>,
}

impl NodeSlot {
    /// Lets the node execute. Counts, measures and traces the execution as `callback`, released by
    /// a message from `inside` the executor or not.
    #[inline(always)]
    pub(crate) fn call(
        &mut self,
        trigger: Trigger<'_>,
        (callback, inside): (u64, bool),
        (clock, finish): (&Clock, &mut Finish),
        trace: ExecutorTrace,
    ) -> Execution {
        let mut context = Context { node: &self.name, trigger, clock, finish, again: false };
        let start_ns = self.record.start_ns();
        trace.start(callback, inside, start_ns);
        let result = self.node.execute(&mut context);
        let again = context.again;
        self.record.left();
        let end_ns = self.record.executed(start_ns);
        trace.end(callback, end_ns);
        Execution { result, again, start_ns, end_ns }
    }
}

/// An output that leads to nodes of the same executor.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) handle: PublisherHandle,
    /// Messages published up to the last look.
    pub(crate) published: u64,
    /// The inputs that they lead to, in graph order.
    pub(crate) successors: Box<[Successor]>,
}

/// An input that an output of the same executor leads to, and its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Successor {
    pub(crate) input: usize,
    pub(crate) node: usize,
}

/// An output on which a measured span ends.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) handle: PublisherHandle,
    pub(crate) beginning: Beginning,
    pub(crate) published: u64,
    pub(crate) record: ChainRecord,
    pub(crate) latency_limit: Option<LatencyLimit>,
}

impl End {
    /// After an execution that ended at `at_ns`: measures the messages just published on this
    /// output. True if they were later than a limit.
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
    /// The clock that it goes by, if that is not the time of the run.
    pub(crate) other: Option<OtherClock>,
    /// Place of the timer in the node's plan.
    pub(crate) place: u32,
    /// Handle of its executions in traces.
    pub(crate) callback: u64,
    /// When it was due the last time that it fired, ns.
    pub(crate) due_ns: u64,
}

impl TimerSlot {
    pub(crate) fn new(
        node: usize,
        (place, plan): (usize, &TimerPlan),
        other: Option<OtherClock>,
        callback: u64,
    ) -> Self {
        let TimerPlan { period_ns, offset_ns, priority, .. } = *plan;
        let rate = Rate { period_ns, offset_ns, priority };
        let (name, place) = (plan.name.clone(), place as u32);
        Self { node, name, rate, other, place, callback, due_ns: 0 }
    }
}
