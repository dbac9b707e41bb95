//! Limits of time: chains with a latency limit, inputs with a greatest age, nodes with a budget. What an
//! executor notices of them, and how a node is told. It must not know in which order nodes run.
//!
//! What is published too late is seen where it is published. What never comes is seen by a *watch*
//! of the executor that would publish it: a subscriber to the topic on which the chain begins, which
//! nobody waits for. It asks to be rung for one message, and then looks again when that one's
//! limit is over; so it costs at most two wake-ups per limit while messages come, and none
//! while none comes.

use crossdock_comm::{
    AnySubscriber, BackPressure, Doorbell, InputHandle, OutputHandle, PortError, Qos,
    SubscriberOptions,
};
use crossdock_graph::{Chain, Limit, NodePlan, OnMiss, Time, WatchPlan};

use crate::clock::{Clock, monotonic_ns};
use crate::context::{Context, Trigger};
use crate::executor::{Executor, ExecutorOptions, RunError};
use crate::origin::{self, NO_ORIGIN};
use crate::record::{ChainRecord, RUNNING_LIMIT, node_counter};
use crate::steady::Steady;
use crate::step::Step;

/// A limit of time that was missed. A node hears of it by [`Node::limit_missed`].
///
/// [`Node::limit_missed`]: crate::Node::limit_missed
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Miss<'a> {
    /// A message of the node ended a chain too late.
    Late {
        /// Name of the chain.
        chain: &'a str,
        /// From the message that began it, nanoseconds.
        latency_ns: u64,
        /// What it may take.
        max_latency_ns: u64,
    },
    /// A chain that the node ends has begun, and nothing has come of it in time.
    Stalled {
        /// Name of the chain.
        chain: &'a str,
        /// Since the message that began it, nanoseconds.
        waited_ns: u64,
        /// What it may take.
        max_latency_ns: u64,
    },
    /// The newest message that the node has of an input was too old when the node ran.
    Age {
        /// The input port.
        input: &'a str,
        /// From its publication to the start of the execution, nanoseconds.
        age_ns: u64,
        /// What it may be.
        max_age_ns: u64,
    },
    /// The execution took too long.
    Budget {
        /// What it took, nanoseconds.
        took_ns: u64,
        /// What it may take.
        budget_ns: u64,
    },
}

impl std::fmt::Display for Miss<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = |time_ns: &u64| *time_ns as f64 / 1e6;
        match self {
            Self::Late { chain, latency_ns, max_latency_ns } => write!(
                f,
                "ended chain `{chain}` after {:.3} ms, later than its latency limit of {} ms",
                ms(latency_ns),
                ms(max_latency_ns)
            ),
            Self::Stalled { chain, waited_ns, max_latency_ns } => write!(
                f,
                "has not ended chain `{chain}`, which began {:.3} ms ago, within its latency limit of {} ms",
                ms(waited_ns),
                ms(max_latency_ns)
            ),
            Self::Age { input, age_ns, max_age_ns } => write!(
                f,
                "ran with a message on input `{input}` that was {:.3} ms old, more than {} ms",
                ms(age_ns),
                ms(max_age_ns)
            ),
            Self::Budget { took_ns, budget_ns } => write!(
                f,
                "took {:.3} ms, more than its budget of {} ms",
                ms(took_ns),
                ms(budget_ns)
            ),
        }
    }
}

/// No limit: longer than anything.
pub(crate) const UNLIMITED: u64 = u64::MAX;

/// The limit of a chain, at the output on which it ends.
#[derive(Debug)]
pub(crate) struct LatencyLimit {
    pub(crate) chain: String,
    pub(crate) limit: Limit,
    /// Whether it goes by simulated time.
    unpaced: bool,
    /// When the newest message on the chain's first topic that led to one here was published, ns on
    /// the steady clock.
    answered_ns: u64,
    /// How late the last message was, if it was late and nobody has been told.
    late_ns: Option<u64>,
}

impl LatencyLimit {
    pub(crate) fn of(chain: &Chain, time: Time) -> Option<Self> {
        let (chain, limit, unpaced) = (chain.name.clone(), chain.max_latency?, time.is_unpaced());
        Some(Self { chain, limit, unpaced, answered_ns: 0, late_ns: None })
    }

    /// `messages` have been published on `output`; true when they were late. In a run without
    /// pacing they are judged by simulated time: that of the run less their `header.stamp`.
    pub(crate) fn judge(
        &mut self,
        output: &OutputHandle,
        messages: u64,
        latency_ns: Option<u64>,
        (clock, steady): (Clock, &mut Steady),
        record: &ChainRecord,
    ) -> bool {
        let stamp_ns = output.last_stamp_ns();
        let latency_ns = match self.unpaced {
            true => simulated_age_ns(output, clock),
            false => latency_ns.map(|latency_ns| {
                steady.look();
                steady.between_ns(stamp_ns, latency_ns, origin::TIMES)
            }),
        };
        let Some(latency_ns) = latency_ns else { return false };
        let begun_ns = steady.of_stamp(stamp_ns).saturating_sub(latency_ns);
        self.answered_ns = self.answered_ns.max(begun_ns);
        if latency_ns <= self.limit.limit_ns {
            return false;
        }
        record.late(messages);
        self.late_ns = Some(latency_ns);
        true
    }
}

/// Simulated time since the `header.stamp` of the last message of an output.
fn simulated_age_ns(output: &OutputHandle, clock: Clock) -> Option<u64> {
    let (seconds, nanoseconds) = output.last_header_stamp()?;
    let stamp_ns = u64::try_from(seconds).ok()? * 1_000_000_000 + u64::from(nanoseconds);
    Some(clock.now_ns().saturating_sub(stamp_ns))
}

/// The greatest age of an input's messages.
#[derive(Debug)]
pub(crate) struct Age {
    handle: InputHandle,
    port: String,
    limit: Limit,
    old_ns: Option<u64>,
}

/// The ages that the inputs of a node may have, in the order of its plan. None in a run without
/// pacing, where the time from publication to execution says nothing.
pub(crate) fn ages<'a>(
    plan: &NodePlan,
    handles: impl Iterator<Item = &'a InputHandle>,
    time: Time,
) -> Box<[Age]> {
    if time.is_unpaced() {
        return Box::default();
    }
    let ages = plan.inputs.iter().zip(handles).filter_map(|(input, handle)| {
        let limit = input.max_age?;
        Some(Age { handle: handle.clone(), port: input.port.clone(), limit, old_ns: None })
    });
    ages.collect()
}

/// Looks for a chain that has begun and does not end, see the head of this file.
#[derive(Debug)]
pub(crate) struct Watch {
    chain: String,
    max_latency_ns: u64,
    on_miss: OnMiss,
    /// The node that is told.
    node: usize,
    _subscriber: AnySubscriber,
    handle: InputHandle,
    publishers: usize,
    /// When the message was published of which something is expected, ns on the steady clock.
    pending_ns: u64,
    /// When to look again, ns on the steady clock; `None`: when it rings.
    until_ns: Option<u64>,
}

impl Watch {
    /// Publishers of the chain's first topic that the plan knows, for the barrier.
    pub(crate) fn publishers(&self) -> usize {
        self.publishers
    }

    /// The input by which it hears of them.
    pub(crate) fn handle(&self) -> &InputHandle {
        &self.handle
    }

    /// Looks no more.
    pub(crate) fn close(self) {
        self.handle.close();
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

    /// What is known at `now_ns`: how long a message has waited in vain, if one has.
    fn look(&mut self, steady: &Steady, now_ns: u64, answered_ns: u64) -> Option<u64> {
        if self.until_ns.is_some_and(|until_ns| now_ns < until_ns) {
            return None;
        }
        let overdue = |begun_ns: u64| {
            let waited_ns = now_ns.saturating_sub(begun_ns);
            (begun_ns > answered_ns && waited_ns >= self.max_latency_ns).then_some(waited_ns)
        };
        let mut waited_ns = overdue(self.pending_ns);
        let newest_ns = self.newest_ns().map(|stamp_ns| steady.of_stamp(stamp_ns));
        self.until_ns = newest_ns.map(|begun_ns| begun_ns.saturating_add(self.max_latency_ns));
        self.pending_ns = newest_ns.unwrap_or(0);
        if self.until_ns.is_some_and(|until_ns| until_ns <= now_ns) {
            // It has been over before it was looked at.
            waited_ns = overdue(self.pending_ns).or(waited_ns);
            (self.until_ns, self.pending_ns) = (None, 0);
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
        let subscriber = options.participant.any_subscriber_with(
            SubscriberOptions {
                node: &options.plan.nodes[node].name,
                topic: &chain.from,
                qos: Qos::best_effort(1),
                doorbell: Some(doorbell),
                group: None,
            },
            BackPressure::Never,
        )?;
        watches.push(Watch {
            chain: name.clone(),
            max_latency_ns: limit.limit_ns,
            on_miss: limit.on_miss,
            node,
            handle: subscriber.handle(),
            publishers: *publishers as usize,
            _subscriber: subscriber,
            pending_ns: 0,
            until_ns: None,
        });
    }
    Ok(watches)
}

impl Executor {
    /// Nanoseconds until a watch looks again; `None`: when it rings.
    pub(crate) fn watches_rest_ns(&self) -> Option<u64> {
        let next_ns = self.watches.iter().filter_map(|watch| watch.until_ns).min()?;
        Some(next_ns.saturating_sub(monotonic_ns()))
    }

    /// Looks for chains that have begun and do not end. True when a node was told of one.
    #[cold]
    pub(crate) fn look_for_stalls(&mut self) -> Result<bool, RunError> {
        let now_ns = self.steady.look();
        let mut told = false;
        for index in 0..self.watches.len() {
            let watch = &self.watches[index];
            let of_chain = |limit: &&LatencyLimit| limit.chain == watch.chain;
            let limits = self.nodes.iter().flat_map(|slot| &slot.ends);
            let limits = limits.filter_map(|end| end.latency_limit.as_ref()).filter(of_chain);
            let answered_ns = limits.map(|it| it.answered_ns).max().unwrap_or(0);
            let Some(waited_ns) = self.watches[index].look(&self.steady, now_ns, answered_ns)
            else {
                continue;
            };
            let Watch { node, chain, max_latency_ns, on_miss, .. } = &self.watches[index];
            let (node, chain, max_latency_ns, on_miss) =
                (*node, chain.clone(), *max_latency_ns, *on_miss);
            let ends = self.nodes[node].ends.iter();
            let of_chain = |limit: &LatencyLimit| limit.chain == chain;
            if let Some(end) =
                ends.clone().find(|end| end.latency_limit.as_ref().is_some_and(of_chain))
            {
                end.record.stalled();
            }
            let miss = Miss::Stalled { chain: &chain, waited_ns, max_latency_ns };
            self.group.set_origin(NO_ORIGIN);
            let step = Step::limit(node);
            self.remote.set_current(step);
            self.tell(step, &miss, on_miss)?;
            self.release_all(node);
            told = true;
        }
        Ok(told)
    }

    /// After an execution that missed a limit: counts, tells the node, and ends
    /// the run where that is said.
    #[cold]
    pub(crate) fn tell_misses(&mut self, step: Step, took_ns: u64) -> Result<(), RunError> {
        let node = step.node();
        let slot = &mut self.nodes[node];
        let mut missed: Vec<(Owned, OnMiss)> = Vec::new();
        if let Some(limit) = slot.budget.filter(|limit| took_ns > limit.limit_ns) {
            slot.record.count(node_counter::OVER_BUDGET, 1);
            missed.push((Owned::Budget(took_ns, limit.limit_ns), limit.on_miss));
        }
        for age in &mut slot.ages {
            let Some(age_ns) = age.old_ns.take() else { continue };
            slot.record.count(node_counter::STALE, 1);
            let (port, limit) = (age.port.clone(), age.limit);
            missed.push((Owned::Age(port, age_ns, limit.limit_ns), limit.on_miss));
        }
        for end in &mut slot.ends {
            let Some(limit) = &mut end.latency_limit else { continue };
            let Some(late_ns) = limit.late_ns.take() else { continue };
            let (chain, limit) = (limit.chain.clone(), limit.limit);
            missed.push((Owned::Late(chain, late_ns, limit.limit_ns), limit.on_miss));
        }
        for (miss, on_miss) in &missed {
            self.tell(step, &miss.as_miss(), *on_miss)?;
        }
        Ok(())
    }

    fn tell(&mut self, step: Step, miss: &Miss<'_>, on_miss: OnMiss) -> Result<(), RunError> {
        let slot = &mut self.nodes[step.node()];
        let (clock, finish) = (&self.clock, &mut self.finish);
        let mut context =
            Context { node: &slot.name, trigger: Trigger::Limit, clock, finish, again: false };
        self.trace.start(slot.limits_callback, false, None);
        slot.record.entered(RUNNING_LIMIT, 0);
        let told = slot.node.limit_missed(miss, &mut context);
        slot.record.left();
        self.trace.end(slot.limits_callback, None);
        if context.again {
            self.polled.insert(step.node());
        }
        if let Err(error) = told {
            let what = format!("failed when it was told that it {miss}: {error}");
            return Err(self.failure(step, &what));
        }
        if self.finish.is_new() {
            self.begin_finish();
        }
        if on_miss == OnMiss::Stop {
            self.ended_by_limit = true;
            return Err(self.failure(step, &miss.to_string()));
        }
        Ok(())
    }
}

/// A [`Miss`] that borrows nothing.
enum Owned {
    Budget(u64, u64),
    Age(String, u64, u64),
    Late(String, u64, u64),
}

impl Owned {
    fn as_miss(&self) -> Miss<'_> {
        match self {
            Self::Budget(took_ns, limit_ns) => {
                Miss::Budget { took_ns: *took_ns, budget_ns: *limit_ns }
            }
            Self::Age(input, age_ns, limit_ns) => {
                Miss::Age { input, age_ns: *age_ns, max_age_ns: *limit_ns }
            }
            Self::Late(chain, latency_ns, limit_ns) => {
                Miss::Late { chain, latency_ns: *latency_ns, max_latency_ns: *limit_ns }
            }
        }
    }
}

/// After an execution: whether the node had messages that were too old when it began, which is when
/// the clocks were looked at last.
#[inline]
pub(crate) fn are_old(ages: &mut [Age], began: &Steady) -> bool {
    let mut old = false;
    for age in ages {
        let stamp_ns = age.handle.last_stamp_ns();
        let age_ns = began.age_ns(stamp_ns);
        // 0: it has had none yet.
        if stamp_ns != 0 && age_ns > age.limit.limit_ns {
            age.old_ns = Some(age_ns);
            old = true;
        }
    }
    old
}
