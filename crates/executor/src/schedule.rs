//! Who is next: the order of a chain, the order of arrival, conditions, timers.
//! It must not know what nodes do, nor how messages travel.
//!
//! Chain mode. A message from outside (or a timer) runs a node; then every node that this
//! released, in graph order: a round. A node that published several messages lets its successors
//! run for the first one, then, in another round, for the next. Only when nothing is left inside
//! is the next message from outside looked at: the inputs take turns, so that none can starve
//! another.
//!
//! Event mode. Of everything that is there, the message that was published first runs its node;
//! with equal times graph order decides.
//!
//! In both modes simulated time is followed before anything else, and timers that are due fire
//! before messages from outside run anything.

use crossdock_comm::{InputHandle, TakeError};
use crossdock_graph::ExecutorMode;

use crate::executor::{Executor, RunError};
use crate::record::node_counter;
use crate::slots::Input;
use crate::step::Step;
use crate::timers::Due;

impl Executor {
    /// The next step, `None` when there is nothing to do until something arrives or falls due, or
    /// when there is a fault.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Step> {
        if self.clock_input.is_some() {
            self.follow_clock();
        }
        match self.mode {
            ExecutorMode::Event => self.next_event(),
            _ => self.next_inside().or_else(|| self.next_outside()),
        }
    }

    /// After an execution: releases those that what the node published leads to. Gives the next
    /// step where there is only one: the bare chain.
    #[inline]
    pub(crate) fn release_successors(&mut self, node: usize) -> Option<Step> {
        self.executed.insert(node);
        self.next_node = node + 1;
        let slot = &mut self.nodes[node];
        if let (Some(follower), [output]) = (slot.follower, &mut slot.outputs[..]) {
            let published = output.handle.published();
            if published == output.published {
                return None;
            }
            if self.released.is_empty() {
                output.published = published;
                return Some(follower);
            }
        }
        for output in &mut slot.outputs {
            let published = output.handle.published();
            if published != output.published {
                output.published = published;
                for successor in &output.successors {
                    match self.mode {
                        ExecutorMode::Event => self.arrived.insert(successor.input),
                        _ => self.released.insert(successor.node),
                    }
                }
            }
        }
        None
    }

    /// Chain mode: the next node that a message from inside has released, in graph order.
    #[inline]
    fn next_inside(&mut self) -> Option<Step> {
        loop {
            while let Some(node) = self.released.next(self.next_node) {
                self.released.remove(node);
                self.next_node = node + 1;
                // A message has just been handed to it: with one input there is nothing to ask.
                let step = match self.nodes[node].only_trigger {
                    Some(input) => Some(Step::input(node, input)),
                    None => self.step_of(node).map(|(step, _)| step),
                };
                if step.is_some() {
                    return step;
                }
            }
            if !self.end_round() {
                return None;
            }
        }
    }

    /// Chain mode: settles what the round has executed. True when there is another one to do.
    fn end_round(&mut self) -> bool {
        let mut from = 0;
        while let Some(node) = self.executed.next(from) {
            from = node + 1;
            self.executed.remove(node);
            self.settle(node);
            let inputs = &self.inputs[self.nodes[node].triggers.clone()];
            if inputs.iter().any(|input| input.inside && input.handle.is_ready()) {
                self.released.insert(node);
            }
        }
        self.next_node = 0;
        self.fault.is_none() && self.released.next(0).is_some()
    }

    /// What a node was released for is done, even if it did not take the message.
    fn settle(&mut self, node: usize) {
        let slot = &self.nodes[node];
        let mut left = 0;
        for input in &mut self.inputs[slot.triggers.clone()] {
            match input.settle() {
                Ok(skipped) => left += skipped,
                Err(error) => {
                    let port = &input.port;
                    let error =
                        format!("left a message on input `{port}` that cannot be skipped: {error}");
                    self.fault = Some(RunError { node: slot.name.clone(), error });
                    return;
                }
            }
        }
        slot.inputs.iter().for_each(InputHandle::mark_processed);
        slot.record.show(left);
    }

    /// Chain mode: what comes from outside, when nothing is left inside.
    fn next_outside(&mut self) -> Option<Step> {
        if self.fault.is_some() {
            return None;
        }
        self.drain_doorbell();
        if let Some(step) = self.next_timer() {
            return Some(step);
        }
        if self.finish.is_exhausted() {
            return None;
        }
        while let Some(input) = self.arrived.next_around(self.next_input) {
            self.next_input = input + 1;
            if let Some((step, _)) = self.step_of(self.inputs[input].node) {
                self.finish.count();
                return Some(step);
            }
            self.arrived.remove(input);
        }
        None
    }

    /// Event mode: the earliest of all.
    fn next_event(&mut self) -> Option<Step> {
        if let Some(node) = self.executed.next(0) {
            self.executed.remove(node);
            self.settle(node);
        }
        if self.fault.is_some() {
            return None;
        }
        self.drain_doorbell();
        if let Some(step) = self.next_timer() {
            return Some(step);
        }
        if self.finish.is_exhausted() {
            return None;
        }
        let mut earliest: Option<(Step, u64)> = None;
        let mut from = 0;
        while let Some(input) = self.arrived.next(from) {
            from = input + 1;
            match self.step_of(self.inputs[input].node) {
                Some(next) if earliest.is_none_or(|other| next.1 < other.1) => {
                    earliest = Some(next);
                }
                Some(_) => {}
                None => self.arrived.remove(input),
            }
        }
        if earliest.is_some() {
            self.finish.count();
        }
        earliest.map(|(step, _)| step)
    }

    /// What releases this node, if anything does, and when it was published: its condition, else
    /// the message on a triggering input that was published first.
    fn step_of(&mut self, node: usize) -> Option<(Step, u64)> {
        let slot = &self.nodes[node];
        if slot.has_condition {
            return self.satisfy(node);
        }
        let mut earliest: Option<(Step, u64)> = None;
        for index in slot.triggers.clone() {
            let Some(message) = self.inputs[index].handle.peek() else { continue };
            if earliest.is_none_or(|(_, stamp_ns)| message.stamp_ns < stamp_ns) {
                earliest = Some((Step::input(node, index), message.stamp_ns));
            }
        }
        earliest
    }

    /// Brings the inputs of a condition to messages of one stamp, skipping older ones that have no
    /// counterpart and never will: stamps only rise on a topic. The time is that of the message
    /// that completed the set.
    fn satisfy(&mut self, node: usize) -> Option<(Step, u64)> {
        let slot = &self.nodes[node];
        let step = Step::condition(node);
        let inputs = &mut self.inputs[slot.triggers.clone()];
        match matched(inputs) {
            Ok((stamp_ns, skipped)) => {
                slot.record.count(node_counter::UNMATCHED, skipped);
                stamp_ns.map(|stamp_ns| (step, stamp_ns))
            }
            Err(error) => {
                self.fault = Some(self.failure(step, &format!("cannot go on: {error}")));
                None
            }
        }
    }

    /// The timer or lockstep that is due.
    fn next_timer(&mut self) -> Option<Step> {
        if let Some(step) = self.next_lockstep() {
            return Some(step);
        }
        let next_ns = self.timers.next_ns()?;
        let now_ns = self.timer_ns();
        if next_ns > now_ns {
            return None;
        }
        let Due { index, due_ns, skipped } = self.timers.take_due(now_ns)?;
        let timer = &mut self.timer_slots[index];
        timer.due_ns = due_ns;
        self.nodes[timer.node].record.count(node_counter::TIMER_SKIPPED, skipped);
        Some(Step::timer(timer.node, index))
    }

    /// The lockstep whose command has arrived.
    fn next_lockstep(&mut self) -> Option<Step> {
        for (index, lockstep) in self.locksteps.iter_mut().enumerate() {
            let step = Step::lockstep(lockstep.node, index);
            match lockstep.is_due() {
                Ok(true) if self.duration_ns.is_some_and(|end_ns| lockstep.is_after(end_ns)) => {
                    self.finish.ask("the time is over".to_owned());
                    self.begin_finish();
                    return None;
                }
                // One release per answer: the execution says what the lockstep waits for next.
                Ok(true) => return Some(step),
                Ok(false) => {}
                Err(error) => {
                    self.fault = Some(self.failure(step, &format!("cannot go on: {error}")));
                    return None;
                }
            }
        }
        None
    }
}

/// Brings inputs to messages of one stamp. Gives when the last of them was published, if all are
/// there, and how many messages were skipped.
fn matched(inputs: &mut [Input]) -> Result<(Option<u64>, u64), TakeError> {
    let mut skipped = 0;
    // Every round but the last skips a message, and no more can wait than the depths allow. Should
    // a publisher add some meanwhile, `sleep` finds that there is work left.
    let rounds: usize = inputs.iter().map(|input| input.depth).sum();
    for _ in 0..=rounds {
        let mut newest = None;
        let mut stamp_ns = 0;
        for input in inputs.iter() {
            let stamp = input.handle.peek_header_stamp()?;
            let Some(message) = input.handle.peek().filter(|_| stamp.is_some()) else {
                return Ok((None, skipped));
            };
            newest = newest.max(stamp);
            stamp_ns = stamp_ns.max(message.stamp_ns);
        }
        let before = skipped;
        for input in inputs.iter_mut() {
            if input.handle.peek_header_stamp()? < newest {
                skipped += u64::from(input.handle.skip()?);
                input.released = input.handle.passed();
            }
        }
        if skipped == before {
            return Ok((Some(stamp_ns), skipped));
        }
    }
    Ok((None, skipped))
}
