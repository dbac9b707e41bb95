//! When the messages of a bag are due while it is played.

use crossdock_comm::ObserverOptions;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How fast a bag is played.
#[derive(Debug, Clone)]
pub enum Rate {
    /// With the recorded timing, this many times as fast; above zero and finite.
    Factor(f64),
    /// As fast as the graph takes it: each message goes out when the graph has worked off the one
    /// before, so that nothing is lost whatever the QoS.
    Max {
        /// Where the processes of the graph are found, to see when they have nothing left to do.
        observer: ObserverOptions,
        /// How long the graph may take for one message.
        drain_timeout: Duration,
        /// At most this many recorded seconds per second, above zero and finite; `None`: no limit.
        /// Time that was lost is not caught up.
        factor: Option<f64>,
    },
    /// In steps, so that a run can be repeated bit by bit: the player conducts executors that are
    /// stepped (see [`crossdock_comm::step`]).
    Steps(Box<Steps>),
}

/// How a bag is played in steps.
#[derive(Debug, Clone)]
pub struct Steps {
    /// Where the processes of the graph are found, to see when they have nothing left to do.
    pub observer: ObserverOptions,
    /// How long the graph may take for one phase of a step.
    pub drain_timeout: Duration,
    /// Recorded seconds per second, above zero and finite; `None`: as fast as the graph takes it.
    pub factor: Option<f64>,
    /// Number of phases of the graph; the first step has all of them.
    pub phases: u32,
    /// The phases that a message on a topic leads to, in order; on other topics to none.
    pub topics: BTreeMap<String, Vec<u32>>,
    /// The graph's timers, which start at the first time that is played.
    pub timers: Vec<StepTimer>,
    /// Executors that are stepped.
    pub executors: usize,
    /// Recorders that go by the steps.
    pub recorders: usize,
}

/// Timers of one period and offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTimer {
    /// From one time to the next, ns.
    pub period_ns: u64,
    /// Where on the grid of the clock they are due, ns; `None`: one period after the start, and so
    /// on.
    pub offset_ns: Option<u64>,
    /// The phases that they lead to, in order.
    pub phases: Vec<u32>,
}

/// Longest distance between two messages that is waited for: a bag with a wild time in it must not
/// put off the rest for ever.
pub(crate) const GAP_MAX: Duration = Duration::from_secs(3600);

/// Maps recorded times to instants, at one rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    factor: f64,
    /// The last message: its recorded time and when it was due.
    last: Option<(u64, Instant)>,
}

impl Pace {
    pub(crate) fn new(factor: f64) -> Self {
        Self { factor, last: None }
    }

    /// The time-line begins anew with the next message.
    pub(crate) fn restart(&mut self) {
        self.last = None;
    }

    /// When a message of this time is due at the earliest: as [`Pace::due`], but what is late moves
    /// what follows.
    pub(crate) fn due_at_most(&mut self, log_ns: u64, now: Instant) -> Instant {
        let due = self.due(log_ns, now);
        if due < now {
            self.restart();
            return self.due(log_ns, now);
        }
        due
    }

    /// Moves what is due by a pause.
    pub(crate) fn delay(&mut self, pause: Duration) {
        if let Some((_, due)) = &mut self.last {
            *due += pause;
        }
    }

    /// Changes the rate from the next message on, if it is a number above zero.
    pub(crate) fn set_factor(&mut self, factor: f64) {
        if factor > 0.0 && factor.is_finite() {
            self.factor = factor;
        }
    }

    /// When a message of this time is due, if it is the next one; `now` begins the time-line.
    ///
    /// Each due time follows from the one before, so that waiting does not add up errors; being
    /// late moves nothing.
    pub(crate) fn due(&mut self, log_ns: u64, now: Instant) -> Instant {
        let (last_ns, last_due) = *self.last.get_or_insert((log_ns, now));
        // Exact below 2^53 ns, which is 104 days.
        let gap_s = log_ns.saturating_sub(last_ns) as f64 / 1e9 / self.factor;
        let gap = Duration::try_from_secs_f64(gap_s).map_or(GAP_MAX, |gap| gap.min(GAP_MAX));
        let due = last_due + gap;
        self.last = Some((log_ns.max(last_ns), due));
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_follow_the_recorded_distances() {
        let start = Instant::now();
        let mut pace = Pace::new(2.0);
        let second = 1_000_000_000;
        assert_eq!(pace.due(10 * second, start), start);
        assert_eq!(pace.due(12 * second, start), start + Duration::from_secs(1));
        // A time that goes back is due at once; the next distance counts from the latest time.
        assert_eq!(pace.due(11 * second, start), start + Duration::from_secs(1));
        assert_eq!(pace.due(14 * second, start), start + Duration::from_secs(2));
    }

    #[test]
    fn what_is_late_moves_what_follows_if_nothing_is_caught_up() {
        let start = Instant::now();
        let mut pace = Pace::new(1.0);
        let second = 1_000_000_000;
        pace.due_at_most(10 * second, start);
        let late = start + Duration::from_secs(5);
        assert_eq!(pace.due_at_most(11 * second, late), late);
        assert_eq!(pace.due_at_most(12 * second, late), late + Duration::from_secs(1));
    }

    #[test]
    fn another_rate_holds_from_the_next_message_on() {
        let start = Instant::now();
        let mut pace = Pace::new(1.0);
        let second = 1_000_000_000;
        pace.due(0, start);
        assert_eq!(pace.due(2 * second, start), start + Duration::from_secs(2));
        pace.set_factor(4.0);
        assert_eq!(pace.due(6 * second, start), start + Duration::from_secs(3));
        for no_rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            pace.set_factor(no_rate);
        }
        assert_eq!(pace.due(10 * second, start), start + Duration::from_secs(4));
    }

    #[test]
    fn a_wild_time_is_bounded() {
        let start = Instant::now();
        let mut pace = Pace::new(0.001);
        pace.due(0, start);
        assert_eq!(pace.due(u64::MAX, start), start + GAP_MAX);
    }
}
