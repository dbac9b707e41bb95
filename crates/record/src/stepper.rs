//! The steps in which a bag is played: when timers are due, and which phases a step has.
//!
//! Between two messages of the bag, time goes from one due time to the next. So everything that is
//! due at one time, and nothing else, is one step, in every mapping.

use crate::drain::Drain;
use crate::pace::{GAP_MAX, Pace, StepTimer, Steps};
use crate::player::{CLOCK_TOPIC, PlayError, StartPlayerError};
use crossdock_comm::Participant;
use crossdock_comm::step::{
    Grant, STEP_TOPIC, StepError, StepPublisher, first_due_ns, is_due, next_due_ns,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long those that are stepped may take to be connected: their processes stand already.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Conducts executors that are stepped.
pub(crate) struct Stepper {
    pub(crate) drain: Drain,
    participant: Participant,
    publisher: StepPublisher,
    pace: Option<Pace>,
    phases: u32,
    topics: BTreeMap<String, Vec<u32>>,
    timers: Vec<Timer>,
    /// Time of the last step, and its number.
    now_ns: Option<u64>,
    step: u64,
    executors: usize,
    recorders: usize,
}

struct Timer {
    rate: StepTimer,
    due_ns: u64,
}

impl Stepper {
    pub(crate) fn open(
        participant: &Participant,
        node: &str,
        steps: Steps,
    ) -> Result<Stepper, StartPlayerError> {
        let Steps { observer, drain_timeout, factor, phases, topics, timers, .. } = steps;
        let drain = Drain::open(observer, drain_timeout, participant.run());
        let timers = timers.into_iter().map(|rate| Timer {
            rate: StepTimer { period_ns: rate.period_ns.max(1), ..rate },
            due_ns: u64::MAX,
        });
        Ok(Stepper {
            drain: drain.map_err(|source| StartPlayerError::Observe { source })?,
            participant: participant.clone(),
            publisher: StepPublisher::open(participant, node).map_err(|source| {
                StartPlayerError::Port { topic: STEP_TOPIC.to_owned(), source }
            })?,
            pace: factor.map(Pace::new),
            phases,
            topics,
            timers: timers.collect(),
            now_ns: None,
            step: 0,
            executors: steps.executors,
            recorders: steps.recorders,
        })
    }

    /// Waits until everybody who is stepped hears the player and is heard.
    pub(crate) fn connect(&self) -> Result<(), PlayError> {
        let expected = self.executors + self.recorders;
        let stands = || {
            let (reached, heard) = self.publisher.connected();
            reached >= expected && heard >= self.executors
        };
        match self.participant.wait_until(CONNECT_TIMEOUT, stands) {
            true => Ok(()),
            false => Err(PlayError::NotConnected {
                expected,
                found: self.publisher.connected().0,
                timeout: CONNECT_TIMEOUT,
            }),
        }
    }

    /// The time of a message: time does not go back.
    pub(crate) fn reach(&self, time_ns: u64) -> u64 {
        self.now_ns.map_or(time_ns, |now_ns| now_ns.max(time_ns))
    }

    /// When a time is due in real time.
    pub(crate) fn due(&mut self, time_ns: u64, now: Instant) -> Instant {
        self.pace.as_mut().map_or(now, |pace| pace.due(time_ns, now))
    }

    /// The next time on the way to `target_ns`: `tick_ns` if no timer is due
    /// before, and the phases of its step. `None` when the target is reached.
    ///
    /// Over long gaps time jumps, and timers that were due meanwhile are due once at its end.
    pub(crate) fn next(&mut self, target_ns: u64, tick_ns: Option<u64>) -> Option<(u64, Vec<u32>)> {
        let Some(last_ns) = self.now_ns else {
            // What nodes published while they were made is worked off, too.
            self.now_ns = Some(target_ns);
            for timer in &mut self.timers {
                let StepTimer { period_ns, offset_ns, .. } = timer.rate;
                timer.due_ns = first_due_ns(period_ns, offset_ns, target_ns);
            }
            return Some((target_ns, (0..self.phases).collect()));
        };
        let jumps = u128::from(target_ns - last_ns) > GAP_MAX.as_nanos();
        let due_ns = self.timers.iter().map(|timer| timer.due_ns).min();
        let due_ns = due_ns.filter(|due_ns| is_due(*due_ns, target_ns));
        let now_ns = match jumps {
            true => target_ns,
            false => due_ns.into_iter().chain(tick_ns).min()?,
        };
        self.now_ns = Some(now_ns);
        let mut phases: BTreeSet<u32> = self.phases_of(CLOCK_TOPIC).into_iter().collect();
        for timer in self.timers.iter_mut().filter(|timer| is_due(timer.due_ns, now_ns)) {
            let StepTimer { period_ns, phases: of_timer, .. } = &timer.rate;
            timer.due_ns = next_due_ns(*period_ns, timer.due_ns, now_ns);
            phases.extend(of_timer);
        }
        Some((now_ns, phases.into_iter().collect()))
    }

    /// The phases that a message on this topic leads to.
    pub(crate) fn phases_of(&self, topic: &str) -> Vec<u32> {
        self.topics.get(topic).cloned().unwrap_or_default()
    }

    /// Lets a phase run; `first` begins a new step.
    pub(crate) fn grant(&mut self, now_ns: u64, phase: u32, first: bool) -> Result<(), StepError> {
        self.step += u64::from(first);
        self.publisher.grant(Grant { step: self.step, phase, now_ns })
    }

    /// Whether a node has asked for the end.
    pub(crate) fn is_end_asked(&self) -> bool {
        self.publisher.is_end_asked()
    }
}
