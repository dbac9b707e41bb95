//! How an executor sleeps and what wakes it: its doorbell, simulated time, the next timer.

use std::time::Duration;

use crate::clock::{Clock, monotonic_ns};
use crate::node::opened::Purpose;
use crate::node::time_jump::TimeJump;
use crate::release::condition::Ring;
use crate::release::holding::HeldUp;
use crate::release::input::Input;
use crate::release::lockstep::Lockstep;
use crate::run::clock_topic::{CLOCK_DEPTH, ClockInput};
use crate::run::executor::Executor;
use crate::run::watch::Watch;

impl Executor {
    /// Notes at which inputs something may have arrived.
    #[inline]
    pub(crate) fn drain_doorbell(&mut self) {
        let Self { doorbell, bells, inputs, arrived, unarmed, polled, calls, .. } = self;
        doorbell.drain(|bell| {
            calls.note(bell);
            for &input in bells.get(usize::from(bell)).into_iter().flatten() {
                unarmed.insert(input);
                match inputs[input].purpose {
                    Purpose::Command => {}
                    Purpose::Polled => polled.insert(inputs[input].node),
                    _ => arrived.insert(input),
                }
            }
        });
    }

    /// Takes over the simulated time of the newest clock message.
    #[inline]
    pub(crate) fn follow_clock(&mut self) {
        let Some(input) = &self.clock_input else { return };
        // A damaged message is no time; the subscriber has counted it.
        if self.jump_watchers.is_empty() {
            let Ok(Some(time_ns)) = input.latest_ns() else { return };
            return self.set_time(time_ns);
        }
        // Each message by itself: together they might look like a jump, or hide one.
        for _ in 0..CLOCK_DEPTH {
            let Some(input) = &self.clock_input else { return };
            let Ok(Some(to_ns)) = input.next_ns() else { return };
            let from_ns = self.clock.now_ns();
            self.move_time(TimeJump { from_ns, to_ns }, |executor| executor.set_time(to_ns));
        }
    }

    /// The time of the run is another one.
    fn set_time(&mut self, time_ns: u64) {
        let before_ns = self.clock.now_ns();
        self.clock = Clock::Simulated { now_ns: time_ns };
        self.calls.set_time(time_ns);
        // The first message, or a recording that begins again: timers count from here.
        let first = self.timers.next_ns().is_none() && !self.finish.has_begun();
        if first || time_ns < before_ns {
            self.timers.start(time_ns);
        }
    }

    /// Starts the timers of real time. Timers of simulated time start with its first message.
    pub(crate) fn start_timers(&mut self) {
        if self.clock == Clock::Wall && self.timers.next_ns().is_none() && !self.finish.has_begun()
        {
            self.timers.start(monotonic_ns());
        }
        if !self.finish.has_begun() {
            self.start_other_timers();
        }
    }

    /// The time that timers go by.
    pub(crate) fn timer_ns(&self) -> u64 {
        match self.clock {
            Clock::Wall => monotonic_ns(),
            Clock::Simulated { now_ns } => now_ns,
        }
    }

    /// Before sleeping: lets joins give way that hold a publisher up for a branch that is away.
    /// True if one has given way, so that there is something to do; else notes when to look again.
    pub(crate) fn give_way(&mut self) -> bool {
        let mut found_any = false;
        let mut next_ns: Option<u64> = None;
        let now_ns = monotonic_ns();
        for node in &self.joins {
            let slot = &mut self.nodes[*node];
            let triggers = slot.triggers.clone();
            let Some(condition) = &mut slot.condition else { continue };
            let Some((patience_ns, holding)) = condition.holding() else { continue };
            match holding.look(&self.inputs[triggers.clone()], patience_ns, now_ns) {
                HeldUp::Nobody => {}
                HeldUp::Until(at_ns) => next_ns = next_ns.into_iter().chain([at_ns]).min(),
                HeldUp::Away => {
                    condition.give_way();
                    found_any = true;
                    for input in triggers {
                        self.arrived.insert(input);
                        self.unarmed.insert(input);
                    }
                }
            }
        }
        self.look_again_ns = next_ns;
        found_any
    }

    /// Sleeps until something arrives, a timer is due, or the executor is stopped; returns at once
    /// when something arrived meanwhile. May return without a reason.
    pub(crate) fn sleep(&mut self) {
        self.mark_idle();
        self.participant.announce_idle();
        let next_ns = [self.timers.next_ns(), self.calls.next_deadline_ns()];
        let timeout = match (self.clock, next_ns.into_iter().flatten().min()) {
            (Clock::Wall, Some(next_ns)) => {
                Some(Duration::from_nanos(next_ns.saturating_sub(monotonic_ns())))
            }
            _ => None,
        };
        let watches = self.watches_rest_ns().map(Duration::from_nanos);
        let joins = self
            .look_again_ns
            .map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(monotonic_ns())));
        let others = self.others_rest();
        let paced = self.locksteps.iter().filter_map(Lockstep::rest_ns).map(Duration::from_nanos);
        let timeout =
            timeout.into_iter().chain(watches).chain(joins).chain(others).chain(paced).min();
        self.trace.wait(timeout);
        let doorbell = self.doorbell.clone();
        doorbell.sleep(timeout, || self.arm());
    }

    /// Shows that everything that has arrived is worked off, and so is what time has released;
    /// messages that are left wait for counterparts.
    fn mark_idle(&self) {
        for clock in self.clock_input.iter().chain(&self.topic_input) {
            clock.handle().mark_processed();
        }
        if let Some(stepped) = &self.stepped {
            stepped.handle().mark_processed();
        }
        let waiting = self.inputs.iter().filter(|input| input.purpose == Purpose::Condition);
        // A player that waits for the graph to drain has to be told of every message.
        let tells = (self.unpaced || self.finish.has_begun()) && self.stepped.is_none();
        for input in waiting {
            if tells {
                input.handle.arm_to_gather();
            }
            match input.handle.is_ready() {
                true => input.handle.mark_waiting(),
                // What was looked at and passed over is done with.
                false => input.handle.mark_processed(),
            }
        }
    }

    /// Asks the publishers of all inputs that have been served to ring again. True if a message has
    /// come meanwhile, for which nobody will ring.
    fn arm(&mut self) -> bool {
        // All of them, even after one had something.
        let came = [
            self.clock_input.as_ref().is_some_and(ClockInput::arm),
            self.topic_input.as_ref().is_some_and(ClockInput::arm),
            self.calls.arm(),
            self.watches.iter().map(Watch::arm).max().unwrap_or(false),
            self.stepped.as_ref().is_some_and(|stepped| stepped.handle().arm()),
        ];
        let mut work = came.contains(&true);
        let mut from = 0;
        while let Some(input) = self.unarmed.next(from) {
            from = input + 1;
            let is_work = match self.ring(input) {
                Ring::Never => continue,
                Ring::OnNextBehindWindow => self.inputs[input].handle.arm_to_gather(),
                Ring::OnNext => {
                    self.inputs[input].handle.arm();
                    self.is_work(input)
                }
            };
            if is_work {
                self.note(input);
                work = true;
            } else {
                self.unarmed.remove(input);
            }
        }
        work
    }

    /// Which message on this input has to ring.
    fn ring(&self, input: usize) -> Ring {
        let slot = &self.nodes[self.inputs[input].node];
        match &slot.condition {
            Some(condition) if self.inputs[input].purpose == Purpose::Condition => {
                let first = slot.triggers.start;
                condition.ring(&self.inputs[slot.triggers.clone()], input - first)
            }
            _ => Ring::OnNext,
        }
    }

    /// Whether a message on this input, whose next message is to ring, gives something to do.
    fn is_work(&self, input: usize) -> bool {
        let Input { purpose, handle, .. } = &self.inputs[input];
        match purpose {
            // A condition then awaits another input, unless it lets its node run.
            Purpose::Trigger | Purpose::Condition => handle.is_ready(),
            // A node that has left messages on a bridge, and has said so, is not polled for them.
            Purpose::Polled => handle.is_ready() && !handle.is_marked_waiting(),
            // Whichever it is for: a lockstep that may be due is looked at anyway.
            Purpose::Command => self.locksteps.iter().any(Lockstep::may_be_due),
        }
    }

    /// Notes that something has arrived at an input. Commands are looked at anyway.
    fn note(&mut self, input: usize) {
        match self.inputs[input].purpose {
            Purpose::Command => {}
            Purpose::Polled => self.polled.insert(self.inputs[input].node),
            _ => self.arrived.insert(input),
        }
    }
}
