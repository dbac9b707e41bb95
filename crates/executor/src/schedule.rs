//! Who is next: the order of a chain, the order of arrival, conditions, timers, sleep.
//! It must not know what nodes do, nor how messages travel.
//!
//! Chain mode. A message from outside (or a timer) runs a node; then every node that this
//! released, in graph order; a node that published several messages lets its successors run for
//! the first one, then, in another round, for the next. Only when nothing is left inside is the
//! next message from outside looked at: the inputs take turns, so that none can starve another.
//!
//! Event mode. Of everything that is there, the message that was published first runs its node;
//! with equal times graph order decides. Timers that are due come first.
//!
//! In both modes simulated time is followed before anything else, and the timers that it makes
//! due fire before messages from outside.

use crossdock_graph::ExecutorMode;

use crate::executor::{Cause, Executor, Step};
use crate::record::node_counter;
use crate::timers::Due;

impl Executor {
    /// The next step, `None` when there is nothing to do until something arrives or falls due.
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

    /// Chain mode: the next node that a message from inside has released, in graph order, round
    /// from the last one.
    #[inline]
    fn next_inside(&mut self) -> Option<Step> {
        while let Some(node) = self.pending.next_around(self.position + 1) {
            let step = self.step_of(node);
            if step.is_some() {
                return step;
            }
            self.pending.remove(node);
        }
        None
    }

    /// Chain mode: what comes from outside, when nothing is left inside.
    fn next_outside(&mut self) -> Option<Step> {
        self.drain_doorbell();
        if let Some(step) = self.next_timer() {
            return Some(step);
        }
        if self.finish.is_exhausted() {
            return None;
        }
        while let Some(input) = self.arrived.next_around(self.served + 1) {
            self.served = input;
            let step = self.step_of(self.inputs[input].node);
            if step.is_some() {
                self.finish.count();
                return step;
            }
            self.arrived.remove(input);
        }
        None
    }

    /// Event mode: the earliest of all.
    fn next_event(&mut self) -> Option<Step> {
        self.drain_doorbell();
        if let Some(step) = self.next_timer() {
            return Some(step);
        }
        if self.finish.is_exhausted() {
            return None;
        }
        let mut earliest: Option<Step> = None;
        let mut from = 0;
        while let Some(input) = self.arrived.next(from) {
            from = input + 1;
            match self.step_of(self.inputs[input].node) {
                Some(step) if earliest.is_none_or(|other| step.stamp_ns < other.stamp_ns) => {
                    earliest = Some(step);
                }
                Some(_) => {}
                None => self.arrived.remove(input),
            }
        }
        if earliest.is_some() {
            self.finish.count();
        }
        earliest
    }

    /// What releases this node, if anything does: its condition, else the message on a triggering
    /// input that was published first.
    #[inline]
    fn step_of(&mut self, node: usize) -> Option<Step> {
        let slot = &self.nodes[node];
        if slot.has_condition {
            return self.satisfy(node);
        }
        let mut earliest: Option<Step> = None;
        for index in slot.triggers.clone() {
            let Some(message) = self.inputs[index].handle.peek() else { continue };
            let stamp_ns = message.stamp_ns;
            if earliest.is_none_or(|other| stamp_ns < other.stamp_ns) {
                earliest = Some(Step { node, cause: Cause::Input(index), stamp_ns });
            }
        }
        earliest
    }

    /// Brings the inputs of a condition to messages of one stamp, skipping older ones that have no
    /// counterpart and never will: stamps only rise on a topic. The step's stamp is that of the
    /// message that completed the set.
    fn satisfy(&mut self, node: usize) -> Option<Step> {
        let range = self.nodes[node].triggers.clone();
        let inputs = &self.inputs[range];
        // Every round but the last skips a message, and no more can wait than the depths allow;
        // those that a publisher adds meanwhile ring and bring us back.
        let rounds: usize = inputs.iter().map(|input| input.depth).sum();
        for _ in 0..=rounds {
            let mut newest = (i32::MIN, 0);
            let mut stamp_ns = 0;
            for input in inputs {
                newest = newest.max(input.handle.peek_header_stamp()?);
                stamp_ns = stamp_ns.max(input.handle.peek()?.stamp_ns);
            }
            let mut same = true;
            for input in inputs {
                if input.handle.peek_header_stamp()? < newest {
                    input.handle.skip();
                    self.nodes[node].record.count(node_counter::UNMATCHED, 1);
                    same = false;
                }
            }
            if same {
                return Some(Step { node, cause: Cause::Condition, stamp_ns });
            }
        }
        None
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
        let node = self.timer_slots[index].node;
        self.nodes[node].record.count(node_counter::TIMER_SKIPPED, skipped);
        Some(Step { node, cause: Cause::Timer(index), stamp_ns: due_ns })
    }
}
