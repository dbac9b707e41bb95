//! An executor in a run that is stepped: who runs when so that a run can be repeated bit by bit.
//!
//! Time stands still within a step. A conductor (the player of a recording) grants phases; see
//! [`crossdock_graph::StepPlan`] for what they are. What a grant allows runs here in the order of
//! the plan, which is the same in every mapping: each node runs its timers that are due, then once
//! for each message, when all before it are done; of messages on several inputs the order of the
//! ports decides, of messages of several publishers the order of their nodes' names. So what a node
//! sees does not depend on what runs elsewhere at the same time, nor on how long anything takes.
//!
//! Messages wake nobody: only a grant does, and sleep says that it is worked off. This file must not
//! know who conducts, nor what begins a step.

use std::ops::Range;

use crossdock_comm::step::{
    EndPublisher, Grant, StepSubscriber, first_due_ns, is_due, next_due_ns,
};
use crossdock_comm::{Doorbell, InputHandle, Participant, PortError, PortGroup};

use crate::clock::{Clock, node_name};
use crate::executor::Executor;
use crate::record::node_counter;
use crate::slots::TimerSlot;
use crate::step::Step;
use crate::timers::Rate;

/// What an executor keeps of the step that it is in.
#[derive(Debug)]
pub(crate) struct Stepped {
    grants: StepSubscriber,
    end: EndPublisher,
    /// By node: its phase, and its timers as a range of `timers`.
    places: Box<[Place]>,
    /// Beside the executor's timers. These stand still: in steps each node's have their own turn.
    timers: Box<[Due]>,
    /// The last grant.
    grant: Grant,
    /// Of the nodes that it allows, those before this one have nothing left to do.
    next: usize,
}

#[derive(Clone, Debug)]
struct Place {
    phase: u32,
    timers: Range<usize>,
}

/// A timer and when it is due.
#[derive(Debug)]
struct Due {
    rate: Rate,
    due_ns: u64,
}

impl Stepped {
    pub(crate) fn open(
        participant: &Participant,
        executor: &str,
        doorbell: &Doorbell,
        group: &PortGroup,
        phases: impl Iterator<Item = u32>,
        timers: &[TimerSlot],
    ) -> Result<Self, PortError> {
        let name = node_name(executor);
        let grants = StepSubscriber::open(participant, &name, Some(doorbell), Some(group))?;
        let end = EndPublisher::open(participant, &name)?;
        let places = phases.enumerate().map(|(node, phase)| {
            let first = timers.partition_point(|timer| timer.node < node);
            let last = timers.partition_point(|timer| timer.node <= node);
            Place { phase, timers: first..last }
        });
        let places: Box<[Place]> = places.collect();
        let next = places.len();
        let timers = timers.iter().map(|timer| Due {
            rate: Rate { period_ns: timer.rate.period_ns.max(1), ..timer.rate },
            due_ns: u64::MAX,
        });
        let timers = timers.collect();
        let grant = Grant { step: 0, phase: 0, now_ns: 0 };
        Ok(Self { grants, end, places, timers, grant, next })
    }

    /// All timers start.
    fn start_timers(&mut self) {
        for Due { rate, due_ns } in &mut self.timers {
            *due_ns = first_due_ns(rate.period_ns, rate.offset_ns, self.grant.now_ns);
        }
    }

    /// The next one of these timers that is due, and how often it was due besides: time may jump.
    fn take_due(&mut self, timers: Range<usize>) -> Option<(usize, u64)> {
        let now_ns = self.grant.now_ns;
        let due = |index: &usize| self.timers[*index].due_ns;
        let index = timers.min_by_key(due).filter(|index| is_due(due(index), now_ns))?;
        let Due { rate, due_ns } = &mut self.timers[index];
        let skipped = (now_ns - *due_ns) / rate.period_ns;
        *due_ns = next_due_ns(rate.period_ns, *due_ns, now_ns);
        Some((index, skipped))
    }

    /// What wakes the executor.
    pub(crate) fn handle(&self) -> &InputHandle {
        self.grants.handle()
    }

    /// A node has asked for the end.
    pub(crate) fn ask_end(&self) {
        self.end.ask();
    }
}

impl Executor {
    /// The next step, `None` when all that is granted is done.
    pub(crate) fn next_stepped(&mut self) -> Option<Step> {
        loop {
            while let Some(node) = self.executed.next(0) {
                self.executed.remove(node);
                self.settle(node);
            }
            if self.fault.is_some() {
                return None;
            }
            if let Some(step) = self.next_granted() {
                return Some(step);
            }
            // Grants come one by one, each after the one before was worked off everywhere.
            if self.fault.is_some() || !self.follow_grant() {
                return None;
            }
        }
    }

    /// Within a grant no node leads to one before it, so that it is gone through once.
    fn next_granted(&mut self) -> Option<Step> {
        loop {
            let stepped = self.stepped.as_mut()?;
            let node = stepped.next;
            let place = stepped.places.get(node)?;
            if place.phase <= stepped.grant.phase && !self.nodes[node].dropped {
                let timers = place.timers.clone();
                if let Some((index, skipped)) = stepped.take_due(timers) {
                    // A timer that a jump of the recording has passed over sees where it led.
                    let due_ns = stepped.grant.now_ns;
                    self.timer_slots[index].due_ns = due_ns;
                    self.nodes[node].record.count(node_counter::TIMER_SKIPPED, skipped);
                    let step = Step::timer(node, index);
                    if self.lets_pass(step, due_ns) {
                        return Some(step);
                    }
                    if self.fault.is_some() {
                        return None;
                    }
                    continue;
                }
                if let Some((step, _)) = self.step_of(node) {
                    return Some(step);
                }
                if self.polled.contains(node) {
                    self.polled.remove(node);
                    return Some(Step::poll(node));
                }
            }
            if self.fault.is_some() {
                return None;
            }
            self.stepped.as_mut()?.next += 1;
        }
    }

    /// Takes over what the conductor has granted since. False when nothing.
    fn follow_grant(&mut self) -> bool {
        self.drain_doorbell();
        let Some(stepped) = &mut self.stepped else { return false };
        // A damaged message is no grant; it is counted where it was found.
        let Ok(Some(grant)) = stepped.grants.latest() else { return false };
        let first = stepped.grant.step == 0;
        stepped.grant = grant;
        stepped.next = 0;
        if first {
            stepped.start_timers();
        }
        self.clock = Clock::Simulated { now_ns: grant.now_ns };
        self.group.set_stamp_ns(grant.now_ns);
        true
    }
}
