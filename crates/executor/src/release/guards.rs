//! Guards of a condition: what must hold at each release of a node.

use crossdock_comm::{SubscriberHandle, TakeError};
use crossdock_graph::{InputReading, NodePlan};

use crate::clock::Clock;
use crate::node::node_type::Node;
use crate::release::window::{gather, window};
use crate::steady::Steady;

/// Why the guards cannot be looked at: a sentence.
pub(crate) type LookError = String;

/// The guards of a condition: what must hold at each release.
#[derive(Debug)]
pub(super) struct Guards {
    /// The clocks by which messages age in real time.
    steady: Steady,
    /// Inputs that do not trigger and that the guards look at.
    watched: Vec<Watched>,
    /// The places in `watched` of inputs on which a message must have come.
    fresh: Vec<usize>,
    /// Inputs with a greatest age of their newest message, ns.
    ages: Vec<(SubscriberHandle, u64)>,
    /// The predicate that the node is asked for.
    pub(super) predicate: Option<String>,
}

/// An input that guards look at.
#[derive(Debug)]
struct Watched {
    handle: SubscriberHandle,
    reading: InputReading,
    room: usize,
    depth: usize,
    /// How many messages will have left the input when the next execution has settled: messages
    /// that an execution has seen and left are not new for the next one.
    seen: u64,
}

impl Guards {
    /// The guards of a node's condition. `inputs` are the node's, beside its plan.
    pub(super) fn new<'a>(
        plan: &NodePlan,
        condition: &crossdock_graph::Condition,
        inputs: impl Iterator<Item = &'a SubscriberHandle> + Clone,
        clock: Clock,
    ) -> Result<Self, String> {
        let mut guards = Self {
            steady: Steady::new(),
            watched: Vec::new(),
            fresh: Vec::new(),
            ages: Vec::new(),
            predicate: condition.predicate.clone(),
        };
        guards.watch(plan, condition, inputs.clone());
        for (input, handle) in plan.inputs.iter().zip(inputs) {
            let Some(age_ns) = condition.newest_not_older_than_ns.get(&input.port) else {
                continue;
            };
            if clock != Clock::Wall && !handle.has_header_stamp() {
                return Err(format!(
                    "its condition asks for the age of messages on input `{}`, but {} has no \
                     `header.stamp`, by which ages go in simulated time; ask for `fresh` instead",
                    input.port, input.message_type
                ));
            }
            guards.ages.push((handle.clone(), *age_ns));
        }
        Ok(guards)
    }

    /// Watches the inputs that do not trigger and that a guard asks for.
    fn watch<'a>(
        &mut self,
        plan: &NodePlan,
        condition: &crossdock_graph::Condition,
        inputs: impl Iterator<Item = &'a SubscriberHandle>,
    ) {
        for (input, handle) in plan.inputs.iter().zip(inputs).filter(|(it, _)| !it.trigger) {
            let is_fresh = condition.fresh.contains(&input.port);
            let has_age = condition.newest_not_older_than_ns.contains_key(&input.port);
            let is_command =
                plan.lockstep.as_ref().is_some_and(|lockstep| lockstep.command == input.port);
            if is_command || !is_fresh && !has_age && self.predicate.is_none() {
                continue;
            }
            if is_fresh {
                self.fresh.push(self.watched.len());
            }
            let room = window(input);
            let (handle, reading) = (handle.clone(), input.reading);
            handle.watch();
            let depth = input.qos.depth as usize;
            self.watched.push(Watched { handle, reading, room, depth, seen: 0 });
        }
    }

    /// After an execution: messages that the node was shown are not new for its next one.
    pub(super) fn settle(&self) -> Result<(), TakeError> {
        for place in &self.fresh {
            let Watched { handle, seen, .. } = &self.watched[*place];
            // At most as many as were in the window.
            while handle.passed() < *seen && handle.skip()? {}
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.watched.is_empty() && self.ages.is_empty() && self.predicate.is_none()
    }

    /// Whether all of them hold now.
    pub(super) fn hold(&mut self, node: &dyn Node, clock: &Clock) -> Result<bool, LookError> {
        for Watched { handle, reading, room, depth, seen } in &mut self.watched {
            match reading {
                InputReading::SinceLast => _ = gather(handle, *room, *depth).map_err(sentence)?,
                _ if handle.is_ready_to_gather() => {
                    handle.gather_newest().map_err(sentence)?;
                }
                _ => {}
            }
            *seen = handle.passed() + handle.gathered() as u64;
        }
        if self.fresh.iter().any(|place| self.watched[*place].handle.gathered() == 0) {
            return Ok(false);
        }
        if !self.ages.is_empty() {
            self.steady.look();
            let age_ns = |stamp_ns: u64| match clock {
                Clock::Wall => self.steady.age_ns(stamp_ns),
                Clock::Simulated { now_ns } => now_ns.saturating_sub(stamp_ns),
            };
            let is_young = |(handle, limit_ns): &(SubscriberHandle, u64)| {
                let newest_ns = match handle.newest() {
                    None => return false,
                    Some((_, Some((sec, nanosec)))) => {
                        u64::try_from(sec).unwrap_or(0) * 1_000_000_000 + u64::from(nanosec)
                    }
                    Some((published_ns, None)) => published_ns,
                };
                age_ns(newest_ns) <= *limit_ns
            };
            if !self.ages.iter().all(is_young) {
                return Ok(false);
            }
        }
        match &self.predicate {
            Some(name) => node
                .holds(name)
                .map_err(|error| format!("asked its predicate `{name}`, which failed: {error}")),
            None => Ok(true),
        }
    }
}

/// The sentence of an input that cannot be looked at.
pub(super) fn sentence(error: TakeError) -> LookError {
    format!("cannot go on: {error}")
}
