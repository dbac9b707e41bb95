//! When the timers of an executor are due, on a clock that somebody else reads.
//!
//! Timers of one period, offset and priority are a *rate group*: they are due together, skip
//! together, and fire one after the other in the order in which they were given. Of several groups
//! that are due in real time the one of the higher priority goes first, then the one of the shorter
//! period (rate monotonic), also between two timers of another group; only a group that has waited
//! for its whole period goes before all others. In simulated time the earlier one goes first, so
//! that it does not matter in which jumps time advances.
//!
//! A due time is the one before plus the period, whatever the lateness: nothing drifts.

use std::cmp::Reverse;

use crossdock_comm::step::first_due_ns;
use crossdock_graph::Time;

/// Times that one timer may be late in one jump of simulated time and still fire for each: a
/// second of simulated time at 1 kHz. A longer jump realigns the timer; what it skips is counted.
const CATCH_UP_MAX: u64 = 1000;

/// How often a timer fires, and when among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) period_ns: u64,
    /// `Some`: at the multiples of the period on the clock, so much later. `None`: one period after
    /// the start, and so on.
    pub(crate) offset_ns: Option<u64>,
    pub(crate) priority: u32,
}

impl From<u64> for Rate {
    fn from(period_ns: u64) -> Self {
        Self { period_ns, offset_ns: None, priority: 0 }
    }
}

/// All timers of an executor.
#[derive(Debug)]
pub(crate) struct Timers {
    groups: Vec<Group>,
    late: Late,
    /// The earliest time at which a timer fires; `u64::MAX` without timers or before the start.
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

/// A rate group.
#[derive(Debug)]
struct Group {
    rate: Rate,
    /// Indexes of its timers, ascending.
    timers: Vec<usize>,
    /// When it is due next.
    due_ns: u64,
    /// The time of the last release, or of the start.
    seen_ns: u64,
    /// How many of its timers have fired of the last release; all of them when none is left.
    fired: usize,
    /// When that was due, and how often it was skipped after that.
    released_ns: u64,
    skipped: u64,
}

impl Group {
    fn is_under_way(&self) -> bool {
        self.fired < self.timers.len()
    }

    /// When its next timer fires.
    fn next_ns(&self) -> u64 {
        if self.is_under_way() { self.released_ns } else { self.due_ns }
    }

    fn start(&mut self, now_ns: u64) {
        let Rate { period_ns, offset_ns, .. } = self.rate;
        self.fired = self.timers.len();
        self.seen_ns = now_ns;
        self.due_ns = first_due_ns(period_ns, offset_ns, now_ns);
    }

    fn release(&mut self, now_ns: u64, late: Late) {
        let behind = (now_ns - self.due_ns) / self.rate.period_ns;
        self.skipped = match late {
            Late::Skip => behind,
            Late::CatchUp if behind > CATCH_UP_MAX => behind,
            Late::CatchUp => 0,
        };
        self.released_ns = self.due_ns;
        self.seen_ns = now_ns;
        self.fired = 0;
        let periods = (self.skipped + 1).saturating_mul(self.rate.period_ns);
        self.due_ns = self.due_ns.saturating_add(periods);
    }
}

/// A timer that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Its index.
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
    #[cfg(test)]
    pub(crate) fn new(rates: impl IntoIterator<Item = Rate>, late: Late) -> Self {
        Self::of(rates.into_iter().enumerate(), late)
    }

    /// The same of timers with these indexes.
    pub(crate) fn of(rates: impl IntoIterator<Item = (usize, Rate)>, late: Late) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for (index, rate) in rates {
            let rate = Rate { period_ns: rate.period_ns.max(1), ..rate };
            if let Some(group) = groups.iter_mut().find(|group| group.rate == rate) {
                group.timers.push(index);
                group.fired += 1;
                continue;
            }
            let timers = vec![index];
            let (due_ns, seen_ns, released_ns, skipped) = (u64::MAX, 0, 0, 0);
            let fired = 1;
            groups.push(Group { rate, timers, due_ns, seen_ns, fired, released_ns, skipped });
        }
        Self { groups, late, next_ns: u64::MAX }
    }

    /// Every timer is due one period after `now_ns`, or at its next time on the clock.
    pub(crate) fn start(&mut self, now_ns: u64) {
        self.groups.iter_mut().for_each(|group| group.start(now_ns));
        self.find_next();
    }

    /// The clock was set back to `now_ns`. As in ROS 2, a timer that has fired later than that is
    /// due one period after it, or at its next time on the clock; any other goes on.
    pub(crate) fn set_back(&mut self, now_ns: u64) {
        let running = self.groups.iter_mut().filter(|group| group.due_ns != u64::MAX);
        running.filter(|group| now_ns < group.seen_ns).for_each(|group| group.start(now_ns));
        self.find_next();
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// No timer is ever due again.
    pub(crate) fn stop(&mut self) {
        for group in &mut self.groups {
            group.due_ns = u64::MAX;
            group.fired = group.timers.len();
        }
        self.find_next();
    }

    /// This timer is never due again, not even after a start. The others of its group go on.
    pub(crate) fn end(&mut self, index: usize) {
        for group in &mut self.groups {
            if let Some(place) = group.timers.iter().position(|timer| *timer == index) {
                group.timers.remove(place);
                group.fired -= usize::from(place < group.fired);
            }
        }
        self.groups.retain(|group| !group.timers.is_empty());
        self.find_next();
    }

    /// When the next timer is due, ns; `None` when none is running.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        (self.next_ns != u64::MAX).then_some(self.next_ns)
    }

    /// Whether some timers of a group have fired and others are still to.
    pub(crate) fn is_under_way(&self) -> bool {
        self.groups.iter().any(Group::is_under_way)
    }

    /// The next timer that is due at `now_ns`; it is due again one period later.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Option<Due> {
        if self.next_ns > now_ns {
            return None;
        }
        let late = self.late;
        let rank = |group: &Group| {
            let Rate { period_ns, priority, .. } = group.rate;
            let next_ns = group.next_ns();
            // The others are ordered by time first, too, but all at one and the same.
            let first_ns = match late {
                Late::CatchUp => next_ns,
                Late::Skip if now_ns - next_ns >= period_ns && !group.is_under_way() => next_ns,
                Late::Skip => u64::MAX,
            };
            (first_ns, Reverse(priority), period_ns, next_ns)
        };
        let due = self.groups.iter_mut().filter(|group| group.next_ns() <= now_ns);
        let group = due.min_by_key(|group| rank(group))?;
        if !group.is_under_way() {
            group.release(now_ns, late);
        }
        let index = group.timers[group.fired];
        group.fired += 1;
        let due = Due { index, due_ns: group.released_ns, skipped: group.skipped };
        self.find_next();
        Some(due)
    }

    fn find_next(&mut self) {
        self.next_ns = self.groups.iter().map(Group::next_ns).min().unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fired(timers: &mut Timers, now_ns: u64) -> Vec<(usize, u64)> {
        std::iter::from_fn(|| timers.take_due(now_ns)).map(|due| (due.index, due.due_ns)).collect()
    }

    #[test]
    fn timers_of_simulated_time_fire_in_order_of_time_then_the_fastest_first() {
        let mut timers = Timers::new([20, 10].map(Rate::from), Late::CatchUp);
        assert_eq!(timers.next_ns(), None);
        timers.start(100);
        assert_eq!(timers.next_ns(), Some(110));
        assert_eq!(fired(&mut timers, 109), []);
        assert_eq!(
            fired(&mut timers, 140),
            [(1, 110), (1, 120), (0, 120), (1, 130), (1, 140), (0, 140)]
        );
        timers.stop();
        assert_eq!(timers.next_ns(), None);
    }

    #[test]
    fn a_late_timer_of_the_wall_clock_fires_once_and_keeps_its_grid() {
        let mut timers = Timers::new([10].map(Rate::from), Late::Skip);
        timers.start(0);
        assert_eq!(timers.take_due(37), Some(Due { index: 0, due_ns: 10, skipped: 2 }));
        assert_eq!(timers.take_due(37), None);
        assert_eq!(timers.next_ns(), Some(40));
    }

    #[test]
    fn a_jump_of_simulated_time_does_not_fire_without_end() {
        let mut timers = Timers::new([1].map(Rate::from), Late::CatchUp);
        timers.start(0);
        // As many periods as are caught up with, then one more.
        assert_eq!(fired(&mut timers, 1001).len(), 1001);
        assert_eq!(timers.take_due(2003), Some(Due { index: 0, due_ns: 1002, skipped: 1001 }));
        assert_eq!(fired(&mut timers, 2003), []);
        assert_eq!(fired(&mut timers, 1_000_000_000).len(), 1);
        assert_eq!(timers.next_ns(), Some(1_000_000_001));
    }

    #[test]
    fn a_clock_that_is_set_back_starts_the_timers_again_that_have_fired_later() {
        let mut timers = Timers::new([10, 1000].map(Rate::from), Late::Skip);
        timers.start(0);
        // A jump forward: due once, then on the grid.
        assert_eq!(fired(&mut timers, 105), [(0, 10)]);
        assert_eq!(timers.next_ns(), Some(110));
        timers.set_back(104);
        // The slow one has not fired yet.
        assert_eq!(timers.next_ns(), Some(114));
        assert_eq!(fired(&mut timers, 1000), [(0, 114), (1, 1000)]);
        timers.set_back(1000);
        assert_eq!(timers.next_ns(), Some(1004));
        timers.set_back(3);
        assert_eq!(fired(&mut timers, 13), [(0, 13)]);
        timers.stop();
        timers.set_back(0);
        assert_eq!(timers.next_ns(), None);
    }

    #[test]
    fn timers_of_one_rate_fire_and_skip_together() {
        let mut timers = Timers::new([10, 20, 10, 10].map(Rate::from), Late::Skip);
        timers.start(0);
        assert_eq!(fired(&mut timers, 9), []);
        let first = timers.take_due(10);
        assert_eq!(first, Some(Due { index: 0, due_ns: 10, skipped: 0 }));
        // What the first takes does not make the others skip more than it.
        assert!(timers.is_under_way() && timers.next_ns() == Some(10));
        assert_eq!(fired(&mut timers, 11), [(2, 10), (3, 10)]);
        assert!(!timers.is_under_way());
        let late: Vec<_> = std::iter::from_fn(|| timers.take_due(39)).collect();
        let skips = |index, due_ns, skipped| Due { index, due_ns, skipped };
        // The slow one has not waited for its whole period yet.
        let fast = [0, 2, 3].map(|index| skips(index, 20, 1));
        assert_eq!(late[..3], fast);
        assert_eq!(late[3..], [skips(1, 20, 0)]);
        assert_eq!(timers.next_ns(), Some(40));
    }

    #[test]
    fn a_timer_that_has_ended_leaves_its_group_to_the_others() {
        let mut timers = Timers::new([10, 10, 10, 7].map(Rate::from), Late::Skip);
        timers.start(0);
        timers.end(3);
        assert_eq!(timers.next_ns(), Some(10));
        // In the middle of a release, one that has fired and one that has not.
        assert_eq!(timers.take_due(10).map(|due| due.index), Some(0));
        timers.end(0);
        timers.end(1);
        assert_eq!(fired(&mut timers, 11), [(2, 10)]);
        assert_eq!(fired(&mut timers, 20), [(2, 20)]);
        timers.start(100);
        assert_eq!(fired(&mut timers, 110), [(2, 110)]);
        timers.end(2);
        timers.start(200);
        assert_eq!(timers.next_ns(), None);
    }

    #[test]
    fn a_faster_group_or_one_of_higher_priority_goes_between_the_timers_of_another() {
        let slow = Rate::from(1000);
        let mut timers = Timers::new([slow, slow, Rate::from(100)], Late::Skip);
        timers.start(0);
        assert_eq!(timers.take_due(100).map(|due| due.index), Some(2));
        for due_ns in (200..1000).step_by(100) {
            assert_eq!(fired(&mut timers, due_ns), [(2, due_ns)]);
        }
        let order: Vec<_> = [1000, 1010, 1105, 1110]
            .map(|now_ns| timers.take_due(now_ns).map(|due| due.index))
            .to_vec();
        assert_eq!(order, [Some(2), Some(0), Some(2), Some(1)]);

        let urgent = Rate { priority: 1, ..slow };
        let mut timers = Timers::new([Rate::from(100), urgent], Late::Skip);
        timers.start(0);
        (100..=900).step_by(100).for_each(|now_ns| _ = timers.take_due(now_ns));
        assert_eq!(fired(&mut timers, 1000), [(1, 1000), (0, 1000)]);
    }

    #[test]
    fn a_group_that_is_always_due_does_not_starve_another_for_ever() {
        let mut timers = Timers::new([1, 50].map(Rate::from), Late::Skip);
        timers.start(0);
        let order = (1..=60).map(|round| timers.take_due(round * 5).map(|due| due.index));
        assert_eq!(order.filter(|index| *index == Some(1)).count(), 3);
    }

    #[test]
    fn timers_with_an_offset_go_by_the_grid_of_the_clock() {
        let at = |offset_ns| Rate { offset_ns: Some(offset_ns), ..Rate::from(10) };
        let mut timers = Timers::new([at(0), at(3), Rate::from(10)], Late::Skip);
        timers.start(104);
        assert_eq!(fired(&mut timers, 109), []);
        assert_eq!(fired(&mut timers, 112), [(0, 110)]);
        assert_eq!(fired(&mut timers, 113), [(1, 113)]);
        assert_eq!(fired(&mut timers, 124), [(2, 114), (0, 120), (1, 123)]);
        timers.start(102);
        assert_eq!(timers.next_ns(), Some(103));
        timers.start(103);
        assert_eq!(timers.next_ns(), Some(110));
    }
}
