//! Which node is next: the order of a chain, the order of arrival, conditions, timers.
//!
//! Chain mode. A message from outside (or a timer) runs a node; then every node that this
//! released, in graph order, but none before its own successors have nothing left to do: of several
//! messages that a node published at once the first goes through the whole chain before the next,
//! and no queue inside grows beyond what one execution published. Only when nothing is left inside
//! is the next message from outside looked at: the inputs take turns, so that none can starve
//! another.
//!
//! Event mode. Of everything that is there, the message that was published first runs its node;
//! with equal times graph order decides. Only a node whose output has no room left in the queue of
//! a successor waits until that successor has run.
//!
//! In both modes simulated time is followed before anything else, and timers that are due fire
//! before messages from outside run anything; timers of real time take turns with messages. The
//! timers of a rate group (`timers`) fire one after the other, in graph order.
//!
//! A stepped run has another order, in both modes: see `stepped_order`.

use crossdock_comm::SubscriberHandle;
use crossdock_graph::ExecutorMode;

use crate::clock::Clock;
use crate::release::condition::Look;
use crate::release::input::Input;
use crate::release::join::Released;
use crate::release::timers::Due;
use crate::run::executor::Executor;
use crate::run::outcome::RunError;
use crate::run::step::Step;
use crate::status::{RUNNING_PREDICATE, node_counter};

impl Executor {
    /// The next step, `None` when there is nothing to do until something arrives or falls due, or
    /// when there is a fault.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Step> {
        self.trace.next();
        if self.follows_time {
            if self.stepped.is_some() {
                return self.next_stepped();
            }
            self.follow_clock();
            self.follow_topic();
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
            match output.handle.published() - output.published {
                0 => return None,
                1 if self.released.is_empty() => {
                    output.published += 1;
                    return Some(follower);
                }
                _ => {}
            }
        }
        self.release_all(node);
        None
    }

    /// Releases all nodes that what a node has published leads to.
    pub(crate) fn release_all(&mut self, node: usize) {
        for output in &mut self.nodes[node].outputs {
            let messages = output.handle.published() - output.published;
            if messages == 0 {
                continue;
            }
            output.published += messages;
            for successor in &output.successors {
                self.inputs[successor.input].feed(messages);
                match self.mode {
                    ExecutorMode::Event => self.arrived.insert(successor.input),
                    _ => self.released.insert(successor.node),
                }
            }
        }
    }

    /// Chain mode: the next node that a message from inside has released.
    #[inline]
    fn next_inside(&mut self) -> Option<Step> {
        loop {
            while let Some(node) = self.next_released() {
                if self.executed.contains(node) {
                    self.executed.remove(node);
                    self.settle(node);
                }
                if self.fault.is_some() {
                    return None;
                }
                if let Some((step, _)) = self.step_of(node) {
                    return Some(step);
                }
                self.released.remove(node);
            }
            if !self.settle_all() {
                return None;
            }
        }
    }

    /// The first released node, in graph order round from the last one executed, of whose
    /// successors none is released.
    #[inline]
    fn next_released(&self) -> Option<usize> {
        let first = self.released.next_around(self.next_node)?;
        let mut node = first;
        // At most once round: the last of the released nodes in graph order has no such successor.
        while self.nodes[node].descendants.meets(&self.released) {
            node = self.released.next_around(node + 1)?;
            if node == first {
                break;
            }
        }
        Some(node)
    }

    /// Chain mode: settles what has executed since the last time. True when some of it has more to
    /// do.
    fn settle_all(&mut self) -> bool {
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
        self.fault.is_none() && !self.released.is_empty()
    }

    /// What a node was released for is done, even if it did not take the message.
    pub(crate) fn settle(&mut self, node: usize) {
        let slot = &mut self.nodes[node];
        if let Some(condition) = &mut slot.condition
            && let Err(error) = condition.settle()
        {
            let error = format!("left a message that cannot be skipped: {error}");
            self.fault = Some(RunError { node: slot.name.clone(), error });
            return;
        }
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
        slot.inputs.iter().for_each(SubscriberHandle::mark_processed);
        slot.record.show(left);
    }

    /// What comes from outside, when nothing is left inside: a timer that is due, else a message.
    fn next_outside(&mut self) -> Option<Step> {
        if self.fault.is_some() {
            return None;
        }
        self.drain_doorbell();
        // A timer of real time that has just fired gives way to a message: one with more work than
        // period would let nothing else run.
        let gives_way = std::mem::take(&mut self.timer_fired);
        let timer = if gives_way { None } else { self.next_timer() };
        let step = timer.or_else(|| self.next_message_or_call_in_time());
        let step = if step.is_none() && gives_way { self.next_timer() } else { step };
        step.or_else(|| self.next_poll())
    }

    /// What has come may have been published at a time that was not known when the executor looked
    /// for it: no node sees a time before its message's. What falls due then goes first, and
    /// the message stays for the next look.
    fn next_message_or_call_in_time(&mut self) -> Option<Step> {
        let step = self.next_message_or_call()?;
        if self.follows_time {
            self.follow_clock();
            self.follow_topic();
            return self.next_timer().or(Some(step));
        }
        Some(step)
    }

    /// Messages and what comes to clients and servers take turns, so that none can starve the
    /// other.
    fn next_message_or_call(&mut self) -> Option<Step> {
        if self.calls.is_empty() {
            return self.next_message();
        }
        match self.calls.go_first() {
            true => self.next_call().or_else(|| self.next_message()),
            false => self.next_message().or_else(|| self.next_call()),
        }
    }

    /// The end of a call, or a request. Both come from outside, even if this executor sent them.
    fn next_call(&mut self) -> Option<Step> {
        if self.finish.is_exhausted() {
            return None;
        }
        match self.calls.next() {
            Ok(step) => step,
            Err((step, error)) => {
                self.fault = Some(self.failure(step, &format!("cannot go on: {error}")));
                None
            }
        }
    }

    /// Nodes that drive a device come last, and take turns.
    fn next_poll(&mut self) -> Option<Step> {
        let node = self.polled.next_around(self.next_node)?;
        self.polled.remove(node);
        Some(Step::poll(node))
    }

    /// A message that releases a node: in a chain the inputs take turns, else the earliest of all.
    fn next_message(&mut self) -> Option<Step> {
        if self.finish.is_exhausted() {
            return None;
        }
        let step = match self.mode {
            ExecutorMode::Event => self.earliest(),
            _ => self.next_in_turn(),
        };
        if let Some(step) = step
            && !self.inputs[self.nodes[step.node()].triggers.clone()].iter().any(Input::is_fed)
        {
            self.finish.count();
        }
        step
    }

    fn next_in_turn(&mut self) -> Option<Step> {
        while let Some(input) = self.arrived.next_around(self.next_input) {
            self.next_input = input + 1;
            if let Some((step, _)) = self.step_of(self.inputs[input].node) {
                return Some(step);
            }
            self.arrived.remove(input);
        }
        None
    }

    fn earliest(&mut self) -> Option<Step> {
        let mut earliest: Option<(Step, (bool, u64))> = None;
        let mut from = 0;
        while let Some(input) = self.arrived.next(from) {
            from = input + 1;
            let node = self.inputs[input].node;
            let Some((step, stamp_ns)) = self.step_of(node) else {
                self.arrived.remove(input);
                continue;
            };
            let rank = (self.has_to_wait(node), stamp_ns);
            if earliest.is_none_or(|(_, other)| rank < other) {
                earliest = Some((step, rank));
            }
        }
        earliest.map(|(step, _)| step)
    }

    /// Whether a successor's queue could not take what this node has published at once before.
    fn has_to_wait(&self, node: usize) -> bool {
        let mut successors = self.nodes[node].outputs.iter().flat_map(|output| &output.successors);
        successors.any(|successor| !self.inputs[successor.input].has_room())
    }

    /// Event mode: settles the node that has just executed, then everything comes from outside.
    fn next_event(&mut self) -> Option<Step> {
        if let Some(node) = self.executed.next(0) {
            self.executed.remove(node);
            self.settle(node);
        }
        self.next_outside()
    }

    /// What releases this node, if anything does, and when it was published: its condition, else
    /// the message on a triggering input that was published first.
    pub(crate) fn step_of(&mut self, node: usize) -> Option<(Step, u64)> {
        let slot = &self.nodes[node];
        if slot.condition.is_some() {
            return self.look(node);
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

    /// Looks whether a node's condition lets it run. The time is the time of the last message that
    /// it took for that.
    #[inline(never)]
    fn look(&mut self, node: usize) -> Option<(Step, u64)> {
        let clock = *self.clock_of(node);
        let Self { nodes, inputs, remote, .. } = self;
        let slot = &mut nodes[node];
        let condition = slot.condition.as_mut()?;
        let is_asked = condition.predicate().is_some();
        if is_asked {
            remote.set_current(Step::condition(node));
            slot.record.entered(RUNNING_PREDICATE, 0);
        }
        let looked = condition.look(&mut inputs[slot.triggers.clone()], &*slot.node, &clock);
        if is_asked {
            slot.record.left();
        }
        match looked {
            Ok(Look { released, unmatched, is_held_back }) => {
                slot.record.count(node_counter::UNMATCHED, unmatched);
                slot.record.count(node_counter::HELD_BACK, u64::from(is_held_back));
                let (released, stamp_ns) = released?;
                let step = match released {
                    Released::Join => Step::condition(node),
                    Released::Input(place) => Step::input(node, slot.triggers.start + place),
                };
                Some((step, stamp_ns))
            }
            Err(error) => {
                self.fault = Some(self.failure(Step::condition(node), &error));
                None
            }
        }
    }

    /// Whether the condition of a node lets the timer run it that has just fired. `due_ns` is when
    /// that was due on the clock of the run, if it goes by that.
    pub(crate) fn lets_pass(&mut self, step: Step, due_ns: Option<u64>) -> bool {
        let mut clock = *self.clock_of(step.node());
        let Self { nodes, inputs, remote, .. } = self;
        let slot = &mut nodes[step.node()];
        let Some(condition) = &mut slot.condition else { return true };
        let is_asked = condition.predicate().is_some();
        if is_asked {
            remote.set_current(step);
            slot.record.entered(RUNNING_PREDICATE, 0);
        }
        // As for the node itself, simulated time is the time at which the timer was due.
        if let Some(due_ns) = due_ns {
            clock.replace(due_ns);
        }
        let passes = condition.lets_pass(&inputs[slot.triggers.clone()], &*slot.node, &clock);
        if is_asked {
            slot.record.left();
        }
        match passes {
            Ok(lets_pass) => {
                slot.record.count(node_counter::HELD_BACK, u64::from(!lets_pass));
                lets_pass
            }
            Err(error) => {
                self.fault = Some(self.failure(step, &error));
                false
            }
        }
    }

    /// The timer that is due, else the lockstep that is released: time goes on only when
    /// everything of the time before has been done.
    fn next_timer(&mut self) -> Option<Step> {
        self.next_due().or_else(|| self.next_lockstep())
    }

    fn next_due(&mut self) -> Option<Step> {
        // Each round fires a timer whose node is held back.
        for _ in 0..=self.timer_slots.len() {
            let Some(next_ns) = self.timers.next_ns() else { break };
            let now_ns = self.timer_ns();
            if next_ns > now_ns {
                break;
            }
            let Some(due) = self.timers.take_due(now_ns) else { break };
            // A rate group goes to its end before a message has its turn.
            self.timer_fired = self.clock == Clock::Wall && !self.timers.is_under_way();
            let step = self.fire(due, Some(due.due_ns));
            if step.is_some() || self.fault.is_some() {
                return step;
            }
        }
        if self.other_timers.is_empty() { None } else { self.next_due_elsewhere() }
    }

    /// The step of a timer that has fired, if its node is not held back. `time_ns` is the time of
    /// the run that the node is to see.
    pub(crate) fn fire(&mut self, due: Due, time_ns: Option<u64>) -> Option<Step> {
        let Due { index, due_ns, skipped } = due;
        let timer = &mut self.timer_slots[index];
        timer.due_ns = due_ns;
        let step = Step::timer(timer.node, index);
        self.nodes[timer.node].record.count(node_counter::TIMER_SKIPPED, skipped);
        self.lets_pass(step, time_ns).then_some(step)
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
