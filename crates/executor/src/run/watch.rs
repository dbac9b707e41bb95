//! Watches for chains that begin and do not end.
//!
//! A message that is published too late is seen at the output on which its chain ends. A message
//! that never comes is seen by a *watch* of the executor that would publish it: a subscriber to the
//! first topic of the chain, for which no publisher waits. The watch asks to be rung for one
//! message, and then looks again when the latency limit of that message is over. So it costs at
//! most two wake-ups per limit while messages come, and none while no message comes.

use crossdock_comm::{
    AnySubscriber, Doorbell, PortError, Qos, SubscriberHandle, SubscriberOptions,
};
use crossdock_graph::{NodePlan, OnMiss, WatchPlan};

use crate::run::options::ExecutorOptions;
use crate::steady::{self, Steady};

/// Looks for a chain that has begun and does not end.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(super) chain: String,
    pub(super) max_latency_ns: u64,
    pub(super) on_miss: OnMiss,
    /// The node that is told.
    pub(super) node: usize,
    _subscriber: AnySubscriber,
    handle: SubscriberHandle,
    publishers: usize,
    /// The message that has to end the chain.
    pending: Option<Begun>,
    /// Time of the next look, ns on the steady clock; `None`: when it rings.
    pub(super) until_ns: Option<u64>,
}

/// A message on the first topic of a chain.
#[derive(Clone, Copy, Debug)]
struct Begun {
    stamp_ns: u64,
    /// When it was published, ns on the steady clock.
    at_ns: i64,
}

impl Watch {
    /// Publishers of the chain's first topic in the plan, for the barrier before the start.
    pub(crate) fn publishers(&self) -> usize {
        self.publishers
    }

    /// The input on which it hears of them.
    pub(crate) fn handle(&self) -> &SubscriberHandle {
        &self.handle
    }

    /// Stamp of the newest message since the last look. Older ones are passed over.
    fn newest_ns(&self) -> Option<u64> {
        let mut newest = None;
        // Nobody waits for the watch: there is one message per publisher.
        for _ in 0..=self.handle.matched() {
            let Some(message) = self.handle.peek() else { break };
            newest = newest.max(Some(message.stamp_ns));
            if !matches!(self.handle.skip(), Ok(true)) {
                break;
            }
        }
        self.handle.mark_processed();
        newest
    }

    /// Looks at `now_ns` how long a message has waited in vain, if one has. `is_answered`: whether
    /// the message with a stamp, or a newer one, has led to a message at the end of a chain.
    pub(super) fn look(
        &mut self,
        steady: &Steady,
        now_ns: u64,
        is_answered: impl Fn(&str, u64) -> bool,
    ) -> Option<u64> {
        if self.until_ns.is_some_and(|until_ns| now_ns < until_ns) {
            return None;
        }
        let overdue = |begun: Option<Begun>| {
            let begun = begun.filter(|begun| !is_answered(&self.chain, begun.stamp_ns))?;
            let waited_ns = steady::duration(begun.at_ns, steady::signed(now_ns))?;
            (waited_ns >= self.max_latency_ns).then_some(waited_ns)
        };
        let mut waited_ns = overdue(self.pending);
        let newest = self.newest_ns();
        self.pending = newest.map(|stamp_ns| Begun { stamp_ns, at_ns: steady.of_stamp(stamp_ns) });
        let end_ns = |begun: Begun| begun.at_ns.saturating_add_unsigned(self.max_latency_ns);
        self.until_ns = self.pending.map(|begun| u64::try_from(end_ns(begun)).unwrap_or(0));
        if self.until_ns.is_some_and(|until_ns| until_ns <= now_ns) {
            // It has been over before it was looked at.
            waited_ns = overdue(self.pending).or(waited_ns);
            (self.until_ns, self.pending) = (None, None);
        }
        waited_ns
    }

    /// Asks to be rung for the next message, unless it will look by itself. True when one is there.
    pub(crate) fn arm(&self) -> bool {
        self.until_ns.is_none() && self.handle.arm()
    }
}

/// The watches of an executor: one for each chain with a latency limit that ends in it.
pub(crate) fn watches(
    options: &ExecutorOptions<'_>,
    doorbell: &Doorbell,
) -> Result<Vec<Watch>, PortError> {
    let mut watches = Vec::new();
    for WatchPlan { chain: name, publishers } in &options.plan.watches {
        let chain = options.chains.iter().find(|chain| chain.name == *name);
        let Some((chain, limit)) = chain.and_then(|it| Some((it, it.max_latency?))) else {
            continue;
        };
        let ends = |plan: &NodePlan| plan.outputs.iter().any(|output| output.topic == chain.to);
        let Some(node) = options.plan.nodes.iter().position(ends) else { continue };
        let subscriber = options.participant.watching_subscriber(SubscriberOptions {
            node: &options.plan.nodes[node].name,
            topic: &chain.from,
            qos: Qos::best_effort(1),
            doorbell: Some(doorbell),
            group: None,
        })?;
        watches.push(Watch {
            chain: name.clone(),
            max_latency_ns: limit.limit_ns,
            on_miss: limit.on_miss,
            node,
            handle: subscriber.handle(),
            publishers: *publishers as usize,
            _subscriber: subscriber,
            pending: None,
            until_ns: None,
        });
    }
    Ok(watches)
}
