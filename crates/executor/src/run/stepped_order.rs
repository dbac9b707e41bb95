//! The order in which an executor runs nodes in a stepped run, which can be repeated bit by bit.
//!
//! Time stands still within a step. A conductor (the player of a recording) grants phases; see
//! [`crossdock_graph::StepPlan`] for their meaning. The executor runs what a grant allows in the
//! order of the plan, which is the same in every mapping. Each node runs its timers that are due,
//! and then once for each message, when all nodes before it are done. Of messages on several
//! inputs, the order of the ports decides; of messages from several publishers, the order of their
//! nodes' names. So what a node sees depends neither on what runs elsewhere at the same time nor on
//! how long anything takes.
//!
//! Messages wake nobody: only a grant does. An executor that sleeps has worked its grant off.

use crate::clock::Clock;
use crate::run::executor::Executor;
use crate::run::step::Step;
use crate::status::node_counter;

impl Executor {
    /// The next step; `None` if everything granted is done.
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

    /// The next step of the last grant. Within a grant no node leads to one before it, so that one
    /// pass over the nodes is enough.
    fn next_granted(&mut self) -> Option<Step> {
        loop {
            let stepped = self.stepped.as_mut()?;
            let node = stepped.next;
            let place = stepped.places.get(node)?;
            if place.phase <= stepped.grant.phase && !self.nodes[node].dropped {
                let timers = place.timers.clone();
                if let Some((index, skipped)) = stepped.take_due(timers) {
                    // A timer that a jump of the recording has passed over sees the time after it.
                    let due_ns = stepped.grant.now_ns;
                    self.timer_slots[index].due_ns = due_ns;
                    self.nodes[node].record.count(node_counter::TIMER_SKIPPED, skipped);
                    let step = Step::timer(node, index);
                    if self.lets_pass(step, Some(due_ns)) {
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

    /// Takes over what the conductor has granted since the last call. False if nothing.
    fn follow_grant(&mut self) -> bool {
        self.drain_doorbell();
        let Some(stepped) = &mut self.stepped else { return false };
        // A damaged message is no grant; the subscriber has counted it.
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
