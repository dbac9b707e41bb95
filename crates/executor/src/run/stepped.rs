//! What an executor keeps of a stepped run: the grants of the conductor, and the times of its
//! timers.

use std::ops::Range;

use crossdock_comm::step::{
    EndPublisher, Grant, StepSubscriber, first_due_ns, is_due, next_due_ns,
};
use crossdock_comm::{Doorbell, Participant, PortError, PortGroup, SubscriberHandle};

use crate::release::timers::Rate;
use crate::run::clock_topic::node_name;
use crate::run::node_slot::TimerSlot;

/// What an executor keeps of the step that it is in.
#[derive(Debug)]
pub(crate) struct Stepped {
    pub(super) grants: StepSubscriber,
    end: EndPublisher,
    /// By node: its phase, and its timers as a range of `timers`.
    pub(super) places: Box<[Place]>,
    /// Beside the executor's timers, which stand still: in a step, the timers of each node have
    /// their own turn.
    timers: Box<[Due]>,
    /// The last grant.
    pub(super) grant: Grant,
    /// The nodes before this one have nothing left to do in the last grant.
    pub(super) next: usize,
}

/// The place of a node in a step.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) phase: u32,
    pub(super) timers: Range<usize>,
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

    /// Starts all timers.
    pub(super) fn start_timers(&mut self) {
        for Due { rate, due_ns } in &mut self.timers {
            *due_ns = first_due_ns(rate.period_ns, rate.offset_ns, self.grant.now_ns);
        }
    }

    /// The next of these timers that is due, and how many of its times were skipped, as time may
    /// jump.
    pub(super) fn take_due(&mut self, timers: Range<usize>) -> Option<(usize, u64)> {
        let now_ns = self.grant.now_ns;
        let due = |index: &usize| self.timers[*index].due_ns;
        let index = timers.min_by_key(due).filter(|index| is_due(due(index), now_ns))?;
        let Due { rate, due_ns } = &mut self.timers[index];
        let skipped = (now_ns - *due_ns) / rate.period_ns;
        *due_ns = next_due_ns(rate.period_ns, *due_ns, now_ns);
        Some((index, skipped))
    }

    /// The input whose messages wake the executor.
    pub(crate) fn handle(&self) -> &SubscriberHandle {
        self.grants.handle()
    }

    /// Tells the conductor that a node has asked for the end.
    pub(crate) fn ask_end(&self) {
        self.end.ask();
    }
}
