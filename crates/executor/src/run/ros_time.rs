//! Clocks beside the time of the run: the time of `/clock` for nodes that use it, steady and system
//! timers, and jumps of simulated time.
//!
//! Timers of `/clock` do what ROS 2's do. If time jumps forward, a timer that is due fires once and
//! goes on with its next time. If time jumps back behind the last time that a timer fired, the
//! timer is due one period after the new time. If time stands still, nothing is due. Before the
//! first message time is 0.

use std::time::Duration;

use crossdock_graph::{NodePlan, Time, TimerClock, TimerPlan};

use crate::clock::{Clock, monotonic_ns, real_ns};
use crate::node::context::{Context, Trigger};
use crate::node::time_jump::TimeJump;
use crate::origin::NO_ORIGIN;
use crate::release::timers::Timers;
use crate::run::clock_topic::CLOCK_DEPTH;
use crate::run::executor::Executor;
use crate::run::step::Step;
use crate::status::RUNNING_JUMP;

/// A clock that is not the time of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherClock {
    /// The computer's clock that never jumps, in a run with simulated time.
    Steady,
    /// The computer's time.
    System,
    /// The time of `/clock`, in a run by the computer's time.
    Topic,
}

impl OtherClock {
    pub(crate) const ALL: [Self; 3] = [Self::Steady, Self::System, Self::Topic];

    /// The clock of a timer, if it is not the time of the run.
    pub(crate) fn of(node: &NodePlan, timer: &TimerPlan, time: Time) -> Option<Self> {
        match (timer.clock, time) {
            (TimerClock::System, _) => Some(Self::System),
            // Timers of real time never jump.
            (TimerClock::Steady, Time::Wall) => None,
            (TimerClock::Steady, _) => Some(Self::Steady),
            (TimerClock::Ros, Time::Wall) if node.use_sim_time => Some(Self::Topic),
            (TimerClock::Ros, _) => None,
        }
    }
}

/// The timers of one of these clocks.
#[derive(Debug)]
pub(crate) struct OtherTimers {
    pub(crate) clock: OtherClock,
    pub(crate) timers: Timers,
}

/// A node is told of a jump before it and after it.
#[derive(Clone, Copy, PartialEq)]
enum When {
    Before,
    After,
}

impl Executor {
    /// The clock that a node sees.
    #[inline]
    pub(crate) fn clock_of(&self, node: usize) -> &Clock {
        if self.nodes[node].follows_topic { &self.topic_clock } else { &self.clock }
    }

    fn other_ns(&self, clock: OtherClock) -> u64 {
        match clock {
            OtherClock::Steady => monotonic_ns(),
            OtherClock::System => real_ns(),
            OtherClock::Topic => self.topic_clock.now_ns(),
        }
    }

    /// Starts the timers that go by other clocks, unless they run.
    pub(crate) fn start_other_timers(&mut self) {
        for index in 0..self.other_timers.len() {
            let now_ns = self.other_ns(self.other_timers[index].clock);
            let timers = &mut self.other_timers[index].timers;
            if timers.next_ns().is_none() {
                timers.start(now_ns);
            }
        }
    }

    /// The step of a timer that goes by another clock and is due.
    pub(crate) fn next_due_elsewhere(&mut self) -> Option<Step> {
        for index in 0..self.other_timers.len() {
            let clock = self.other_timers[index].clock;
            // Each round fires a timer whose node is held back.
            for _ in 0..=self.timer_slots.len() {
                let now_ns = self.other_ns(clock);
                let timers = &mut self.other_timers[index].timers;
                let Some(due) = timers.take_due(now_ns) else { break };
                // As timers of real time do, these give way to a message.
                self.timer_fired = !timers.is_under_way();
                let step = self.fire(due, None);
                if step.is_some() || self.fault.is_some() {
                    return step;
                }
            }
        }
        None
    }

    /// How long until a timer that goes by another clock is due; `/clock` rings by itself.
    pub(crate) fn others_rest(&self) -> Option<Duration> {
        let others = self.other_timers.iter().filter(|it| it.clock != OtherClock::Topic);
        let rests = others.filter_map(|it| {
            let next_ns = it.timers.next_ns()?;
            Some(Duration::from_nanos(next_ns.saturating_sub(self.other_ns(it.clock))))
        });
        rests.min()
    }

    /// Takes over the messages on `/clock` one by one, for nodes whose time that is, until a timer
    /// is due: it fires at the time of the message that made it so.
    pub(crate) fn follow_topic(&mut self) {
        for _ in 0..CLOCK_DEPTH {
            let Some(input) = &self.topic_input else { return };
            let now_ns = self.topic_clock.now_ns();
            let mut by_topic = self.other_timers.iter().filter(|it| it.clock == OtherClock::Topic);
            if by_topic.any(|it| it.timers.next_ns().is_some_and(|next_ns| next_ns <= now_ns)) {
                return;
            }
            // A damaged message is no time; the subscriber has counted it.
            let Ok(Some(time_ns)) = input.next_ns() else { return };
            let from_ns = self.topic_clock.now_ns();
            self.move_time(TimeJump { from_ns, to_ns: time_ns }, |executor| {
                executor.topic_clock = Clock::Simulated { now_ns: time_ns };
                let topic = executor.other_timers.iter_mut();
                for it in topic.filter(|it| it.clock == OtherClock::Topic && time_ns < from_ns) {
                    it.timers.set_back(time_ns);
                }
            });
        }
    }

    /// Moves simulated time, and tells the nodes of it that want to know.
    pub(crate) fn move_time(&mut self, jump: TimeJump, set: impl FnOnce(&mut Self)) {
        self.tell_jump(jump, When::Before);
        set(self);
        self.tell_jump(jump, When::After);
    }

    fn tell_jump(&mut self, jump: TimeJump, when: When) {
        for place in 0..self.jump_watchers.len() {
            let node = self.jump_watchers[place];
            let slot = &self.nodes[node];
            let is_told = slot.jumps.is_some_and(|threshold| threshold.is_reached(jump));
            if is_told && self.fault.is_none() {
                self.tell_node_of(jump, when, node);
            }
        }
    }

    #[cold]
    fn tell_node_of(&mut self, jump: TimeJump, when: When, node: usize) {
        let step = Step::jump(node);
        self.group.set_origin(NO_ORIGIN);
        self.remote.set_current(step);
        let slot = &mut self.nodes[node];
        let clock = if slot.follows_topic { &self.topic_clock } else { &self.clock };
        let (trigger, finish) = (Trigger::TimeJump, &mut self.finish);
        let mut context = Context { node: &slot.name, trigger, clock, finish, again: false };
        slot.record.entered(RUNNING_JUMP, 0);
        let told = match when {
            When::Before => slot.node.before_time_jump(jump, &mut context),
            When::After => slot.node.after_time_jump(jump, &mut context),
        };
        slot.record.left();
        if context.again {
            self.polled.insert(node);
        }
        if let Err(error) = told {
            let what = format!("failed when it was told of a {jump}: {error}");
            self.fault = Some(self.failure(step, &what));
            return;
        }
        if self.finish.is_new() {
            self.begin_finish();
        }
        self.release_all(node);
    }
}
