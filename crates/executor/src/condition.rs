//! Whether a node may run: which messages release it, and what must hold then.
//! It must not know in which order nodes run, nor what wakes the executor.
//!
//! A condition has a *join*, which says what of the messages on triggering inputs releases the node,
//! and *guards*, which must hold at each release. Where a guard does not hold, the messages stay:
//! they are looked at again when the next one comes on an input that releases the node. For that
//! they wait in the windows of the inputs ([`InputHandle::gather`]), up to the depth of each; beyond
//! that the oldest is passed over, so that nobody waits for a node that does not run. A join without
//! guards leaves its messages with their publishers.

use crossdock_comm::{Gathered, InputHandle, TakeError};
use crossdock_graph::{InputPlan, InputReading, NodePlan, Reliability};

use crate::approximate::{ApproximateTime, Options};
use crate::clock::Clock;
use crate::holding::Holding;
use crate::lockstep::Stamp;
use crate::node::Node;
use crate::slots::Input;
use crate::steady::Steady;

/// Messages that can wait in the window of an input, whatever its depth: some of those that may be
/// held are the node's.
const WINDOW_MAX: usize = crossdock_graph::limits::APPROXIMATE_DEPTH_MAX as usize;

/// Messages that can wait for the condition of a node on this input.
pub(crate) fn window(input: &InputPlan) -> usize {
    WINDOW_MAX.min(input.window as usize)
}

/// The condition of a node.
#[derive(Debug)]
pub(crate) struct Condition {
    join: Join,
    guards: Guards,
    /// Whether all that comes is looked at at once: with guards, and for approximate time.
    gathers: bool,
    /// Whether the join had what it needs at the last look.
    joined: bool,
    /// For a join that holds publishers up: for how long at most, and what is known of that.
    holding: Option<(u64, Holding)>,
    /// What the join lacks is away: until it is complete, all that comes is looked at at once, and
    /// nobody is held up.
    is_away: bool,
    /// For messages of one stamp: which stamp made the others go.
    offence: Offence,
    /// Of the inputs that a join of all lacks, the one that rings: usually the last to come, so that
    /// what comes before it wakes nobody.
    awaited: usize,
}

/// The newest stamp at hand, and how many messages on other inputs were passed over because of it.
/// Of a topic whose stamps fall, or leap into the future, that would go on for ever.
#[derive(Clone, Copy, Debug, Default)]
struct Offence {
    newest: Option<(usize, Stamp)>,
    passed_over: u64,
}

#[derive(Debug)]
enum Join {
    /// Each message on a triggering input.
    Each,
    /// One message on each of them.
    All,
    /// Messages of one stamp.
    Same,
    /// The newest message on each of them.
    Fresh,
    /// Messages of nearly the same stamp.
    Approximate(Lanes),
}

/// What approximate time keeps of the triggering inputs.
#[derive(Debug)]
struct Lanes {
    sets: ApproximateTime,
    /// How many messages that had been looked at had left each input at the last look, and how many
    /// it had missed.
    left: Vec<u64>,
    missed: Vec<u64>,
    /// The first messages of the windows are a set.
    is_set: bool,
}

/// What must hold at each release.
#[derive(Debug)]
struct Guards {
    /// What ages go by in real time.
    steady: Steady,
    /// Inputs that do not trigger and that the guards look at.
    watched: Vec<Watched>,
    /// Those of them on which a message must have come, by their place in `watched`.
    fresh: Vec<usize>,
    /// Inputs whose newest message must not be older than so many ns.
    ages: Vec<(InputHandle, u64)>,
    predicate: Option<String>,
}

/// An input that guards look at.
#[derive(Debug)]
struct Watched {
    handle: InputHandle,
    reading: InputReading,
    room: usize,
    depth: usize,
    /// What of it the execution leaves and has seen is not new for the next one: how many messages
    /// will have left it then.
    seen: u64,
}

/// What releases a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// The message on the triggering input of this place.
    Input(usize),
    /// The messages of the join.
    Join,
}

/// What a look at a condition has led to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// What releases the node, and the time of its last message.
    pub(crate) released: Option<(Released, u64)>,
    /// Messages passed over.
    pub(crate) unmatched: u64,
    /// Whether the join had what it needs but a guard did not hold.
    pub(crate) is_held_back: bool,
}

/// Why a condition cannot be looked at: a sentence.
pub(crate) type LookError = String;

impl Condition {
    /// The condition of a plan; `None` when each message on a triggering input runs the node.
    /// `inputs` are the node's, beside those of the plan. `stepped`: what waits and what is passed over
    /// must not depend on where its publishers run, so all is looked at when it is the node's turn.
    /// Allocates.
    pub(crate) fn new<'a>(
        plan: &NodePlan,
        inputs: impl Iterator<Item = &'a InputHandle> + Clone,
        clock: Clock,
        stepped: bool,
    ) -> Result<Option<Self>, String> {
        let Some(condition) = &plan.condition else { return Ok(None) };
        let ports = || plan.inputs.iter().zip(inputs.clone());
        let mut guards = Guards {
            steady: Steady::new(),
            watched: Vec::new(),
            fresh: Vec::new(),
            ages: Vec::new(),
            predicate: condition.predicate.clone(),
        };
        for (input, handle) in ports().filter(|(input, _)| !input.trigger) {
            let is_fresh = condition.fresh.contains(&input.port);
            let has_age = condition.newest_not_older_than_ns.contains_key(&input.port);
            let is_command =
                plan.lockstep.as_ref().is_some_and(|lockstep| lockstep.command == input.port);
            if is_command || !is_fresh && !has_age && guards.predicate.is_none() {
                continue;
            }
            if is_fresh {
                guards.fresh.push(guards.watched.len());
            }
            let room = window(input);
            let (handle, reading) = (handle.clone(), input.reading);
            handle.watch();
            let depth = input.qos.depth as usize;
            guards.watched.push(Watched { handle, reading, room, depth, seen: 0 });
        }
        for (input, handle) in ports() {
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
        let triggers = || ports().filter(|(input, _)| input.trigger);
        let join = if let Some(approximate) = &condition.approximate_time {
            let depths = triggers().map(|(it, _)| window(it)).collect();
            let ns = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
            let bounds = &approximate.lower_bounds_ns;
            let bound = |port: &String| bounds.get(port).map_or(0, |bound| ns(*bound));
            let options = Options {
                depths,
                max_interval_ns: approximate.max_interval_ns.map_or(i64::MAX, ns),
                age_penalty: approximate
                    .age_penalty
                    .unwrap_or(crossdock_graph::ApproximateTime::AGE_PENALTY),
                distance_min_ns: triggers().map(|(it, _)| bound(&it.port)).collect(),
            };
            let stampless = triggers().find(|(_, handle)| !handle.has_header_stamp());
            if let Some((input, _)) = stampless {
                return Err(format!(
                    "its condition joins messages on input `{}` by approximate time, but {} has no \
                     `header.stamp`; join inputs whose types have one",
                    input.port, input.message_type
                ));
            }
            let sets = ApproximateTime::new(&options);
            let zeros = vec![0; triggers().count()];
            Join::Approximate(Lanes { sets, left: zeros.clone(), missed: zeros, is_set: false })
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
        let holds_up = matches!(join, Join::All | Join::Same) && clock == Clock::Wall && !stepped;
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

    /// Looks whether something releases the node: to be called when something may have come on its
    /// triggering inputs, `inputs`, and not before what it has executed is settled. Passes over what
    /// can have no counterpart any more.
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
        let found = match &mut self.join {
            Join::Approximate(lanes) => lanes.find(inputs, &mut look.unmatched),
            join if self.is_away && !self.gathers => {
                join.find_what_is_left(inputs, &mut self.offence, &mut look.unmatched)
            }
            join => {
                if self.gathers {
                    look.unmatched += gather_all(inputs).map_err(sentence)?;
                }
                join.find(inputs, &mut self.offence, &mut look.unmatched)
            }
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
                    if let Join::Approximate(lanes) = &mut self.join {
                        // Its messages have been chosen: no other set can have them.
                        look.unmatched += lanes.pass_over(inputs).map_err(sentence)?;
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

    /// Whether the guards hold at a release that no message brought.
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

    /// For a join that may hold publishers up now: for how long at most, ns, and what is known of that.
    pub(crate) fn holding(&mut self) -> Option<(u64, &mut Holding)> {
        let (patience_ns, holding) = self.holding.as_mut().filter(|_| !self.is_away)?;
        Some((*patience_ns, holding))
    }

    /// Whether it may hold publishers up at all.
    pub(crate) fn may_hold_up(&self) -> bool {
        self.holding.is_some()
    }

    /// What the join lacks is away: nobody waits for it until it is complete again.
    pub(crate) fn give_way(&mut self) {
        self.is_away = true;
    }

    /// The predicate that the node is asked for at each release.
    pub(crate) fn predicate(&self) -> Option<&str> {
        self.guards.predicate.as_deref()
    }

    /// After an execution: what the node was shown is not new for its next one.
    pub(crate) fn settle(&mut self) -> Result<(), TakeError> {
        for place in &self.guards.fresh {
            let Watched { handle, seen, .. } = &self.guards.watched[*place];
            // At most as many as were in the window.
            while handle.passed() < *seen && handle.skip()? {}
        }
        Ok(())
    }

    /// How to be told of what comes next on a triggering input, before the executor sleeps.
    pub(crate) fn watch(&self, inputs: &[Input], place: usize) -> Watch {
        // What waits for counterparts need not ring, and of these one is enough.
        let is_awaited = place == self.awaited;
        match (self.gathers, &self.join) {
            (true, Join::Each) => Watch::Gather,
            // Nothing is left with its publisher.
            _ if self.is_away => Watch::Gather,
            (true, _) if self.joined || is_awaited => Watch::Gather,
            (false, _) if is_awaited || is_complete(inputs) => Watch::Next,
            _ => Watch::Nothing,
        }
    }

    /// Whether what there is on a triggering input, where it is not gathered, is to be looked at: if
    /// it was awaited, another one is from then on.
    pub(crate) fn is_work(&self, inputs: &[Input], place: usize) -> bool {
        is_complete(inputs) || place == self.awaited && inputs[place].handle.is_ready()
    }

    /// Whether the join cannot be complete before this input has another message.
    fn lacks(&self, inputs: &[Input], place: usize) -> bool {
        match &self.join {
            Join::Approximate(lanes) => lanes.sets.waits_for(place),
            _ => !inputs[place].handle.is_ready(),
        }
    }
}

/// How to be told of what comes on an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Its next message is to ring.
    Next,
    /// Its next message behind those that have been looked at is to ring.
    Gather,
    /// Nothing that comes on it would make a difference.
    Nothing,
}

impl Join {
    /// What of the messages that are there releases the node, and when the last of it was published.
    fn find(
        &self,
        inputs: &mut [Input],
        offence: &mut Offence,
        unmatched: &mut u64,
    ) -> Result<Option<(Released, u64)>, TakeError> {
        match self {
            Self::Each => {
                let peeked = inputs.iter().enumerate();
                let peeked = peeked.filter_map(|(at, it)| Some((at, it.handle.peek()?.stamp_ns)));
                let earliest = peeked.min_by_key(|(at, stamp_ns)| (*stamp_ns, *at));
                Ok(earliest.map(|(at, stamp_ns)| (Released::Input(at), stamp_ns)))
            }
            Self::Same => {
                let (stamp_ns, skipped) = matched(inputs, offence)?;
                *unmatched += skipped;
                Ok(stamp_ns.map(|stamp_ns| (Released::Join, stamp_ns)))
            }
            Self::Fresh => {
                for input in inputs.iter() {
                    if input.handle.is_ready() {
                        *unmatched += input.handle.gather_newest()?;
                    }
                }
                Ok(last_of_all(inputs))
            }
            Self::All | Self::Approximate(_) => Ok(last_of_all(inputs)),
        }
    }
}

impl Join {
    /// The same while an input is away: takes what comes as far as there is room, and passes over the
    /// oldest only where there is none and nothing can be joined.
    fn find_what_is_left(
        &self,
        inputs: &mut [Input],
        offence: &mut Offence,
        unmatched: &mut u64,
    ) -> Result<Option<(Released, u64)>, TakeError> {
        // What comes meanwhile is looked at the next time.
        let rounds: usize = inputs.iter().map(|input| 2 * input.depth.max(WINDOW_MAX)).sum();
        for _ in 0..=rounds {
            for input in inputs.iter() {
                // At most as many as there is room for.
                while input.handle.gathered() < input.window
                    && input.handle.gather()? == Gathered::One
                {}
            }
            let found = self.find(inputs, offence, unmatched)?;
            if found.is_some() {
                return Ok(found);
            }
            let mut passed_over = 0;
            for Input { handle, window, .. } in inputs.iter() {
                if handle.gathered() >= *window && handle.is_ready_to_gather() {
                    passed_over += u64::from(handle.skip()?);
                }
            }
            if passed_over == 0 {
                return Ok(None);
            }
            *unmatched += passed_over;
        }
        Ok(None)
    }
}

fn is_complete(inputs: &[Input]) -> bool {
    inputs.iter().all(|input| input.handle.is_ready())
}

/// When the last of the next messages was published, if each input has one.
fn last_of_all(inputs: &[Input]) -> Option<(Released, u64)> {
    let mut last_ns = 0;
    for input in inputs {
        last_ns = last_ns.max(input.handle.peek()?.stamp_ns);
    }
    Some((Released::Join, last_ns))
}

impl Lanes {
    /// Adds to the lanes what has come, in the order of publication, until a set is complete.
    fn find(
        &mut self,
        inputs: &mut [Input],
        unmatched: &mut u64,
    ) -> Result<Option<(Released, u64)>, TakeError> {
        self.catch_up(inputs, unmatched)?;
        self.note_gaps(inputs);
        if self.is_set {
            return Ok(last_of_all(inputs));
        }
        // Each round looks at a message; more come meanwhile, and `sleep` finds them.
        let rounds: usize = inputs.iter().map(|input| input.depth.max(1)).sum();
        for _ in 0..=2 * rounds {
            let is_set = self.sets.next_set();
            *unmatched += self.drop_unused(inputs)?;
            if is_set {
                self.is_set = true;
                return Ok(last_of_all(inputs));
            }
            if !self.gather_one(inputs, unmatched)? {
                break;
            }
        }
        Ok(None)
    }

    /// What has left the inputs since the last look: the set that was executed, and what a node took
    /// or lost beyond that.
    fn catch_up(&mut self, inputs: &[Input], unmatched: &mut u64) -> Result<(), TakeError> {
        let same = |(input, left): (&Input, &u64)| input.handle.left() == *left;
        if inputs.iter().zip(&self.left).all(same) {
            return Ok(());
        }
        for (lane, input) in inputs.iter().enumerate() {
            let more = input.handle.left() - self.left[lane];
            if self.is_set && more == 0 {
                // The rest of its set is gone.
                *unmatched += u64::from(input.handle.skip()?);
            }
            let beyond = more.saturating_sub(u64::from(self.is_set));
            if beyond > 0 {
                self.sets.forget(lane, beyond as usize);
            }
            self.left[lane] = input.handle.left();
        }
        self.is_set = false;
        Ok(())
    }

    /// What was lost before anybody looked at it is a gap in its lane.
    fn note_gaps(&mut self, inputs: &[Input]) {
        for (lane, input) in inputs.iter().enumerate() {
            let missed = input.handle.missed();
            if std::mem::replace(&mut self.missed[lane], missed) != missed {
                self.sets.note_gap(lane);
            }
        }
    }

    /// Looks at the message that was published first of those that nobody has looked at.
    fn gather_one(&mut self, inputs: &[Input], unmatched: &mut u64) -> Result<bool, TakeError> {
        let mut earliest: Option<(u64, usize)> = None;
        for (lane, input) in inputs.iter().enumerate() {
            if let Some(next) = input.handle.peek_to_gather()
                && earliest.is_none_or(|(stamp_ns, _)| next.stamp_ns < stamp_ns)
            {
                earliest = Some((next.stamp_ns, lane));
            }
        }
        let Some((_, lane)) = earliest else { return Ok(false) };
        let handle = &inputs[lane].handle;
        let gathered = handle.gather()?;
        self.note_gaps(inputs);
        match gathered {
            Gathered::Nothing => return Ok(false),
            Gathered::One => {
                let last = handle.gathered().saturating_sub(1);
                let (sec, nanosec) = handle.gathered_header_stamp(last).unwrap_or_default();
                let stamp_ns = i64::from(sec) * 1_000_000_000 + i64::from(nanosec);
                self.sets.push(lane, stamp_ns);
            }
            Gathered::Full if handle.gathered() == 0 => return Ok(false),
            // The node keeps samples: the queue is shorter than it should be.
            Gathered::Full => {
                *unmatched += u64::from(handle.skip()?);
                self.left[lane] = handle.left();
                self.sets.forget(lane, 1);
            }
        }
        Ok(true)
    }

    /// Passes over what the search has dropped.
    fn drop_unused(&mut self, inputs: &[Input]) -> Result<u64, TakeError> {
        let mut skipped = 0;
        for (lane, input) in inputs.iter().enumerate() {
            for _ in 0..self.sets.take_dropped(lane) {
                skipped += u64::from(input.handle.skip()?);
            }
            self.left[lane] = input.handle.left();
        }
        Ok(skipped)
    }

    /// The set is not used.
    fn pass_over(&mut self, inputs: &[Input]) -> Result<u64, TakeError> {
        self.is_set = false;
        let mut skipped = 0;
        for (lane, input) in inputs.iter().enumerate() {
            skipped += u64::from(input.handle.skip()?);
            self.left[lane] = input.handle.left();
        }
        Ok(skipped)
    }
}

impl Guards {
    fn is_empty(&self) -> bool {
        self.watched.is_empty() && self.ages.is_empty() && self.predicate.is_none()
    }

    /// Whether all of them hold now.
    fn hold(&mut self, node: &dyn Node, clock: &Clock) -> Result<bool, LookError> {
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
            let is_young = |(handle, limit_ns): &(InputHandle, u64)| {
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

/// Looks at everything that has come on these inputs.
fn gather_all(inputs: &[Input]) -> Result<u64, TakeError> {
    let mut skipped = 0;
    for input in inputs {
        skipped += gather(&input.handle, input.window, input.depth)?;
    }
    Ok(skipped)
}

/// Looks at everything that has come on an input; of more than `room` messages the oldest are passed
/// over; no more than `depth` can have come of one publisher. Answers how many.
fn gather(handle: &InputHandle, room: usize, depth: usize) -> Result<u64, TakeError> {
    let before = handle.passed();
    // What comes meanwhile is looked at the next time.
    for _ in 0..=2 * depth.max(WINDOW_MAX) {
        match handle.gather()? {
            Gathered::Nothing => break,
            Gathered::One if handle.gathered() <= room => {}
            // All samples are the node's.
            Gathered::Full if handle.gathered() == 0 => break,
            Gathered::One | Gathered::Full => _ = handle.skip()?,
        }
    }
    Ok(handle.passed() - before)
}

/// Brings inputs to messages of one stamp, skipping older ones that have no counterpart and never
/// will: stamps only rise on a topic. Gives when the last of them was published, if all are there,
/// and how many messages were skipped: those without a counterpart, and those that had to make room
/// because more than the depth waited for theirs.
fn matched(inputs: &mut [Input], offence: &mut Offence) -> Result<(Option<u64>, u64), TakeError> {
    let mut skipped = 0;
    // Every round but the last skips a message, and no more can wait than the depths allow. Should
    // a publisher add some meanwhile, `sleep` finds that there is work left.
    let rounds: usize = inputs.iter().map(|input| input.depth).sum();
    for _ in 0..=rounds {
        let mut newest: Option<(usize, Stamp)> = None;
        let (mut stamp_ns, mut is_complete) = (0, true);
        for (place, input) in inputs.iter().enumerate() {
            let stamp = input.handle.peek_header_stamp()?;
            let message = input.handle.peek().zip(stamp);
            let Some((message, stamp)) = message else {
                is_complete = false;
                continue;
            };
            if newest.is_none_or(|(_, newest)| stamp > newest) {
                newest = Some((place, stamp));
            }
            stamp_ns = stamp_ns.max(message.stamp_ns);
        }
        if offence.newest != newest {
            *offence = Offence { newest, passed_over: 0 };
        }
        let Some((place, newest)) = newest else { return Ok((None, skipped)) };
        if !is_complete {
            // A stamp that others have been passed over for nearly as often as they are kept, and
            // behind which there is no more room, is none that they will come to. At least twice, so
            // that one branch catches up with another that is only ahead.
            let Input { handle, depth, .. } = &inputs[place];
            let offends = offence.passed_over >= (*depth as u64).saturating_sub(1).max(2);
            if !offends || !handle.is_full(*depth) {
                return Ok((None, skipped));
            }
            skipped += u64::from(handle.skip()?);
            continue;
        }
        let before = skipped;
        for input in inputs.iter_mut() {
            if input.handle.peek_header_stamp()?.is_some_and(|stamp| stamp < newest) {
                skipped += u64::from(input.handle.skip()?);
            }
        }
        offence.passed_over += skipped - before;
        if skipped == before {
            return Ok((Some(stamp_ns), skipped));
        }
    }
    Ok((None, skipped))
}

fn sentence(error: TakeError) -> LookError {
    format!("cannot go on: {error}")
}
