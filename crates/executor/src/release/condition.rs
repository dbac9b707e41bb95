//! Whether a node may run: which messages release it, and what must hold then.
//!
//! A condition has a *join*, which says which messages on triggering inputs release the node, and
//! *guards*, which must hold at each release. If a guard does not hold, the messages stay, and the
//! condition looks at them again when the next message comes on an input that releases the node.
//! For that they wait in the windows of the inputs ([`SubscriberHandle::gather`]), up to the depth
//! of each; beyond that the oldest is passed over, so that nobody waits for a node that does not
//! run. A join without guards leaves its messages with their publishers.

use crossdock_comm::{SubscriberHandle, TakeError};
use crossdock_graph::{InputPlan, NodePlan, Reliability, Time};

use crate::clock::Clock;
use crate::node::node_type::Node;
use crate::release::approximate::Options;
use crate::release::approximate_join::ApproximateJoin;
use crate::release::guards::{Guards, LookError, sentence};
use crate::release::holding::Holding;
use crate::release::input::Input;
use crate::release::join::{Join, Offence, Released};
use crate::release::window::{gather_all, is_complete, window};

/// The condition of a node.
#[derive(Debug)]
pub(crate) struct Condition {
    join: Join,
    guards: Guards,
    /// Whether every message is looked at as soon as it comes: with guards, and for approximate
    /// time.
    gathers: bool,
    /// Whether the join was complete at the last look.
    joined: bool,
    /// For a join that holds publishers up: for how long at most, ns, and since when.
    holding: Option<(u64, Holding)>,
    /// The branch that the join lacks is away: until the join is complete, every message is looked
    /// at as soon as it comes, and nobody is held up.
    is_away: bool,
    /// For messages of one stamp: the stamp for which the others were passed over.
    offence: Offence,
    /// The only input that rings, of those that a join of all lacks: the input whose message came
    /// last the time before, so that the messages before it wake nobody.
    awaited: usize,
}

/// The result of a look at a condition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// The messages that release the node, and the time of the latest of them.
    pub(crate) released: Option<(Released, u64)>,
    /// Messages passed over.
    pub(crate) unmatched: u64,
    /// Whether the join was complete but a guard did not hold.
    pub(crate) is_held_back: bool,
}

impl Condition {
    /// The condition of a plan; `None` if each message on a triggering input runs the node.
    /// `inputs` are the node's, beside the inputs of the plan. Allocates.
    ///
    /// In a stepped run, which messages wait or are passed over must not depend on where their
    /// publishers run, so the condition looks at all messages when it is the node's turn.
    pub(crate) fn new<'a>(
        plan: &NodePlan,
        inputs: impl Iterator<Item = &'a SubscriberHandle> + Clone,
        time: Time,
    ) -> Result<Option<Self>, String> {
        let Some(condition) = &plan.condition else { return Ok(None) };
        let (clock, stepped) = (Clock::new(time), time.is_stepped());
        let guards = Guards::new(plan, condition, inputs.clone(), clock)?;
        let triggers = || plan.inputs.iter().zip(inputs.clone()).filter(|(it, _)| it.trigger);
        let join = if let Some(approximate) = &condition.approximate_time {
            Join::Approximate(join_by_approximate_time(approximate, triggers())?)
        } else if condition.same.is_some() {
            Join::Same
        } else if !condition.all_of.is_empty() {
            Join::All
        } else if condition.any_of.is_empty()
            && triggers().any(|(input, _)| condition.fresh.contains(&input.port))
        {
            Join::Fresh
        } else if guards.is_empty() {
            return Ok(None);
        } else {
            Join::Each
        };
        // Without pacing nothing is away: everybody waits for everybody.
        let holds_up = matches!(join, Join::All | Join::Same) && !time.is_unpaced();
        let reliable =
            |(input, _): &(&InputPlan, _)| input.qos.reliability == Reliability::Reliable;
        let patience = triggers().filter(reliable).map(|(it, _)| it.qos.timeout_ms).min();
        let holding = patience
            .filter(|_| holds_up)
            .map(|patience_ms| (u64::from(patience_ms) * 1_000_000 / 2, Holding::default()));
        let gathers = stepped || !guards.is_empty() || matches!(join, Join::Approximate(_));
        triggers().for_each(|(_, handle)| handle.watch());
        let awaited = triggers().count().saturating_sub(1);
        let (joined, is_away, offence) = (false, false, Offence::default());
        Ok(Some(Self { join, guards, gathers, joined, holding, is_away, offence, awaited }))
    }

    /// Looks whether messages release the node, and passes over messages that can have no
    /// counterpart any more. To be called when a message may have come on the triggering inputs,
    /// `inputs`, and not before the last execution of the node is settled.
    pub(crate) fn look(
        &mut self,
        inputs: &mut [Input],
        node: &dyn Node,
        clock: &Clock,
    ) -> Result<Look, LookError> {
        let mut look = Look::default();
        for input in inputs.iter_mut() {
            // Inside the thread nobody can wait for a counterpart: the oldest made room.
            let overflow = input.handle.take_overflow();
            look.unmatched += overflow;
        }
        let (join, offence) = (&mut self.join, &mut self.offence);
        let found = if self.is_away && !self.gathers {
            join.find_while_away(inputs, offence, &mut look.unmatched)
        } else {
            // A search for approximate time gathers one message at a time.
            if self.gathers && !matches!(join, Join::Approximate(_)) {
                look.unmatched += gather_all(inputs).map_err(sentence)?;
            }
            join.find(inputs, offence, &mut look.unmatched)
        };
        let found = found.map_err(sentence)?;
        self.joined = found.is_some();
        self.is_away &= !self.joined;
        if !self.lacks(inputs, self.awaited) {
            let lacked = (0..inputs.len()).find(|place| self.lacks(inputs, *place));
            self.awaited = lacked.unwrap_or(self.awaited);
        }
        if found.is_some() {
            match self.guards.hold(node, clock)? {
                true => look.released = found,
                false => {
                    look.is_held_back = true;
                    if let Join::Approximate(join) = &mut self.join {
                        // Its messages have been chosen: no other set can have them.
                        look.unmatched += join.pass_over(inputs).map_err(sentence)?;
                        self.joined = false;
                    }
                }
            }
        }
        for input in inputs {
            input.released = input.handle.passed();
        }
        Ok(look)
    }

    /// Whether the guards hold at a release by a timer.
    pub(crate) fn lets_pass(
        &mut self,
        inputs: &[Input],
        node: &dyn Node,
        clock: &Clock,
    ) -> Result<bool, LookError> {
        if self.guards.is_empty() {
            return Ok(true);
        }
        if !matches!(self.join, Join::Approximate(_)) {
            gather_all(inputs).map_err(sentence)?;
        }
        self.guards.hold(node, clock)
    }

    /// For a join that may hold publishers up now: for how long at most, ns, and since when it
    /// does.
    pub(crate) fn holding(&mut self) -> Option<(u64, &mut Holding)> {
        let (patience_ns, holding) = self.holding.as_mut().filter(|_| !self.is_away)?;
        Some((*patience_ns, holding))
    }

    /// Whether it may hold publishers up at all.
    pub(crate) fn may_hold_up(&self) -> bool {
        self.holding.is_some()
    }

    /// The branch that the join lacks is away: nobody waits for the join until it is complete
    /// again.
    pub(crate) fn give_way(&mut self) {
        self.is_away = true;
    }

    /// The predicate that the node is asked for at each release.
    pub(crate) fn predicate(&self) -> Option<&str> {
        self.guards.predicate.as_deref()
    }

    /// After an execution: messages that the node was shown are not new for its next one.
    pub(crate) fn settle(&mut self) -> Result<(), TakeError> {
        self.guards.settle()
    }

    /// Whether the next message on a triggering input has to ring, before the executor sleeps.
    pub(crate) fn ring(&self, inputs: &[Input], place: usize) -> Ring {
        // Of the inputs whose messages wait for a counterpart, one that rings is enough.
        let is_awaited = place == self.awaited;
        match (self.gathers, &self.join) {
            (true, Join::Each) => Ring::OnNextBehindWindow,
            // No message stays with its publisher.
            _ if self.is_away => Ring::OnNextBehindWindow,
            (true, _) if self.joined || is_awaited => Ring::OnNextBehindWindow,
            (false, _) if is_awaited || is_complete(inputs) => Ring::OnNext,
            _ => Ring::Never,
        }
    }

    /// Whether the join cannot be complete before this input has another message.
    fn lacks(&self, inputs: &[Input], place: usize) -> bool {
        match &self.join {
            Join::Approximate(join) => join.waits_for(place),
            _ => !inputs[place].handle.is_ready(),
        }
    }
}

/// Which message on an input has to ring for an executor that sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// Its next message.
    OnNext,
    /// Its next message behind those in its window.
    OnNextBehindWindow,
    /// None: no message on it would make a difference.
    Never,
}

/// The join by approximate time of the node's triggering inputs.
fn join_by_approximate_time<'p, 'h>(
    plan: &crossdock_graph::ApproximateTime,
    triggers: impl Iterator<Item = (&'p InputPlan, &'h SubscriberHandle)> + Clone,
) -> Result<ApproximateJoin, String> {
    let stampless = triggers.clone().find(|(_, handle)| !handle.has_header_stamp());
    if let Some((input, _)) = stampless {
        return Err(format!(
            "its condition joins messages on input `{}` by approximate time, but {} has no \
             `header.stamp`; join inputs whose types have one",
            input.port, input.message_type
        ));
    }
    let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let bound = |port: &String| plan.lower_bounds_ns.get(port).map_or(0, |bound| ns(*bound));
    Ok(ApproximateJoin::new(&Options {
        depths: triggers.clone().map(|(it, _)| window(it)).collect(),
        max_interval_ns: plan.max_interval_ns.map_or(i64::MAX, ns),
        age_penalty: plan.age_penalty.unwrap_or(crossdock_graph::ApproximateTime::AGE_PENALTY),
        distance_min_ns: triggers.map(|(it, _)| bound(&it.port)).collect(),
    }))
}
