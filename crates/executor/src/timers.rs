//! When the timers of an executor are due, on a clock that somebody else reads.
//! It must not know nodes, messages or which clock it is.

use crossdock_graph::Time;

/// Times that one timer may be late in one jump of simulated time and still fire for each: a
/// second of simulated time at 1 kHz. A longer jump realigns the timer; what it skips is counted.
const CATCH_UP_MAX: u64 = 1000;

/// All timers of an executor.
#[derive(Debug)]
pub(crate) struct Timers {
    timers: Vec<Timer>,
    late: Late,
    /// The earliest `due_ns`; `u64::MAX` without timers or before the start.
    next_ns: u64,
}

/// What happens to a timer that is late by more than its period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    /// It fires once and goes on with the next time in the future: real time is lost for ever.
    Skip,
    /// It fires for each time: simulated time jumps, and what follows must not depend on how far.
    CatchUp,
}

#[derive(Debug)]
struct Timer {
    period_ns: u64,
    due_ns: u64,
}

/// A timer that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Its index, in the order of the periods given to [`Timers::new`].
    pub(crate) index: usize,
    /// When it was due, ns.
    pub(crate) due_ns: u64,
    /// How often it was due after that and is skipped because it is too late.
    pub(crate) skipped: u64,
}

impl From<Time> for Late {
    fn from(time: Time) -> Self {
        if matches!(time, Time::Wall) { Self::Skip } else { Self::CatchUp }
    }
}

impl Timers {
    /// Timers that are not running yet.
    pub(crate) fn new(periods_ns: impl IntoIterator<Item = u64>, late: Late) -> Self {
        let timers = periods_ns
            .into_iter()
            .map(|period_ns| Timer { period_ns: period_ns.max(1), due_ns: u64::MAX });
        Self { timers: timers.collect(), late, next_ns: u64::MAX }
    }

    /// Every timer is due one period after `now_ns`.
    pub(crate) fn start(&mut self, now_ns: u64) {
        for timer in &mut self.timers {
            timer.due_ns = now_ns.saturating_add(timer.period_ns);
        }
        self.find_next();
    }

    /// No timer is ever due again.
    pub(crate) fn stop(&mut self) {
        for timer in &mut self.timers {
            timer.due_ns = u64::MAX;
        }
        self.find_next();
    }

    /// When the next timer is due, ns; `None` when none is running.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        (self.next_ns != u64::MAX).then_some(self.next_ns)
    }

    /// The timer that is due first at `now_ns`, in order of time and then of index; it is due
    /// again one period later.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Option<Due> {
        if self.next_ns > now_ns {
            return None;
        }
        let (index, timer) =
            self.timers.iter_mut().enumerate().min_by_key(|(_, timer)| timer.due_ns)?;
        let behind = (now_ns - timer.due_ns) / timer.period_ns;
        let skipped = match self.late {
            Late::Skip => behind,
            Late::CatchUp if behind > CATCH_UP_MAX => behind,
            Late::CatchUp => 0,
        };
        let due = Due { index, due_ns: timer.due_ns, skipped };
        timer.due_ns = timer.due_ns.saturating_add((skipped + 1).saturating_mul(timer.period_ns));
        self.find_next();
        Some(due)
    }

    fn find_next(&mut self) {
        self.next_ns = self.timers.iter().map(|timer| timer.due_ns).min().unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fired(timers: &mut Timers, now_ns: u64) -> Vec<(usize, u64)> {
        std::iter::from_fn(|| timers.take_due(now_ns)).map(|due| (due.index, due.due_ns)).collect()
    }

    #[test]
    fn timers_fire_in_order_of_time_then_of_index() {
        let mut timers = Timers::new([20, 10], Late::CatchUp);
        assert_eq!(timers.next_ns(), None);
        timers.start(100);
        assert_eq!(timers.next_ns(), Some(110));
        assert_eq!(fired(&mut timers, 109), []);
        assert_eq!(
            fired(&mut timers, 140),
            [(1, 110), (0, 120), (1, 120), (1, 130), (0, 140), (1, 140)]
        );
        timers.stop();
        assert_eq!(timers.next_ns(), None);
    }

    #[test]
    fn a_late_timer_of_the_wall_clock_fires_once_and_keeps_its_grid() {
        let mut timers = Timers::new([10], Late::Skip);
        timers.start(0);
        assert_eq!(timers.take_due(37), Some(Due { index: 0, due_ns: 10, skipped: 2 }));
        assert_eq!(timers.take_due(37), None);
        assert_eq!(timers.next_ns(), Some(40));
    }

    #[test]
    fn a_jump_of_simulated_time_does_not_fire_without_end() {
        let mut timers = Timers::new([1], Late::CatchUp);
        timers.start(0);
        assert_eq!(fired(&mut timers, 1_000_000_000).len(), 1);
        assert_eq!(timers.next_ns(), Some(1_000_000_001));
    }
}
