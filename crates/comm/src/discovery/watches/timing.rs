//! How it is told that what should happen again and again has not happened. Times come from the
//! caller.

use std::time::{Duration, Instant};

/// How soon it is noticed that a publisher which was silent is alive again, at most.
const BACK: Duration = Duration::from_millis(100);

/// A time, on the clock that never jumps and on that of the stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(super) at: Instant,
    pub(super) wall_ns: u64,
}

impl Now {
    pub(crate) fn read() -> Now {
        Now { at: Instant::now(), wall_ns: crossdock_shm::clock::now_ns() }
    }
}

/// Something that happens again and again, seen by looks that may be far apart.
#[derive(Debug)]
pub(super) struct Recurring<M> {
    /// Changes each time.
    mark: M,
    /// When it happened last. `None`: not since the first look.
    last: Option<Instant>,
    looked: Instant,
}

impl<M: PartialEq> Recurring<M> {
    /// What has happened before `now` does not count.
    pub(super) fn since(mark: M, now: Now) -> Recurring<M> {
        Recurring { mark, last: None, looked: now.at }
    }

    /// Looks again; answers when it happened last. `stamp_ns` may be of another clock (of simulated
    /// time), or of a clock that was set: it is used only to tell where between two looks it was.
    pub(super) fn look(&mut self, mark: M, stamp_ns: u64, now: Now) -> Option<Instant> {
        if mark != self.mark {
            self.mark = mark;
            let between = now.at.saturating_duration_since(self.looked);
            let age = Duration::from_nanos(now.wall_ns.saturating_sub(stamp_ns));
            // A stamp may be a little older than the moment in which its message could be seen.
            let is_plausible = stamp_ns <= now.wall_ns && age <= 2 * between;
            let age = if is_plausible { age.min(between) } else { Duration::ZERO };
            self.last = now.at.checked_sub(age).or(Some(now.at));
        }
        self.looked = now.at;
        self.last
    }

    pub(super) fn last(&self) -> Option<Instant> {
        self.last
    }
}

/// A deadline: the longest time from one message to the next. It runs from the first message on.
#[derive(Debug)]
pub(super) struct Deadline {
    period: Duration,
    due: Option<Instant>,
}

impl Deadline {
    pub(super) fn new(period: Duration) -> Deadline {
        Deadline { period, due: None }
    }

    /// How often it was missed since the last look: each period without a message counts. No gap
    /// is overlooked if looks come when [`Deadline::next_look`] says.
    pub(super) fn missed(&mut self, last: Option<Instant>, now: Now) -> u64 {
        let Some(last) = last else { return 0 };
        let due = last + self.period;
        let due = self.due.map_or(due, |before| before.max(due));
        let late = now.at.checked_duration_since(due).map(|late| late.as_nanos());
        let missed = late.map_or(0, |late| 1 + late / self.period.as_nanos().max(1));
        let missed = u64::try_from(missed).unwrap_or(u64::MAX);
        let passed = u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX);
        self.due = due.checked_add(Duration::from_nanos(passed.saturating_mul(missed)));
        missed
    }

    pub(super) fn next_look(&self, now: Now) -> Instant {
        // Before the first message: in time for the first that may be missed.
        self.due.unwrap_or(now.at + self.period)
    }
}

/// A lease of liveliness: how long a publisher is believed alive after a sign of life.
#[derive(Debug)]
pub(super) struct Lease {
    duration: Duration,
    last: Instant,
    is_alive: bool,
}

/// What a look at a lease has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Lost,
    Back,
    /// There was a sign, too long ago.
    BackAndLost,
}

impl Lease {
    /// It begins now, with a publisher that is alive.
    pub(super) fn new(duration: Duration, now: Now) -> Lease {
        Lease { duration, last: now.at, is_alive: true }
    }

    pub(super) fn look(&mut self, last: Option<Instant>, now: Now) -> Option<Turn> {
        let last = last.map_or(self.last, |last| last.max(self.last));
        let is_back = last > self.last && !self.is_alive;
        self.last = last;
        let is_alive = (self.is_alive || is_back) && now.at < last + self.duration;
        let was_alive = std::mem::replace(&mut self.is_alive, is_alive);
        match (was_alive, is_back, is_alive) {
            (true, _, false) => Some(Turn::Lost),
            (false, true, true) => Some(Turn::Back),
            (false, true, false) => Some(Turn::BackAndLost),
            _ => None,
        }
    }

    /// When to look again. In time for every loss; soon for the next sign of a silent publisher.
    pub(super) fn next_look(&self, now: Now) -> Instant {
        match self.is_alive {
            true => self.last + self.duration,
            false => now.at + (self.duration / 2).min(BACK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const WALL: u64 = 1_800_000_000_000_000_000;

    struct Time(Instant);

    impl Time {
        fn ms(&self, ms: u32) -> Now {
            let passed = MS * ms;
            Now { at: self.0 + passed, wall_ns: WALL + passed.as_nanos() as u64 }
        }

        fn stamp(&self, ms: u32) -> u64 {
            self.ms(ms).wall_ns
        }

        fn at(&self, ms: u32) -> Instant {
            self.ms(ms).at
        }
    }

    #[test]
    fn the_stamp_tells_when_it_was_between_two_looks() {
        let time = Time(Instant::now());
        let mut seen = Recurring::since(7, time.ms(0));
        assert_eq!(seen.look(7, time.stamp(0), time.ms(50)), None, "nothing since the first look");
        assert_eq!(seen.look(8, time.stamp(70), time.ms(100)), Some(time.at(70)));
        assert_eq!(seen.look(8, time.stamp(70), time.ms(150)), Some(time.at(70)));
        // Stamped before the last look and seen after it.
        assert_eq!(seen.look(9, time.stamp(149), time.ms(200)), Some(time.at(150)));
        // Of other clocks: it happened at the latest now.
        for foreign in [0, 5, time.stamp(1_000_000), u64::MAX] {
            let mark = foreign ^ 0x55;
            assert_eq!(seen.look(mark, foreign, time.ms(250)), Some(time.at(250)));
        }
    }

    #[test]
    fn every_period_without_a_message_is_missed_once() {
        let time = Time(Instant::now());
        let mut deadline = Deadline::new(100 * MS);
        assert_eq!(deadline.missed(None, time.ms(500)), 0, "no message yet");
        assert_eq!(deadline.next_look(time.ms(500)), time.at(600));
        let first = Some(time.at(550));
        assert_eq!(deadline.missed(first, time.ms(600)), 0);
        assert_eq!(deadline.next_look(time.ms(600)), time.at(650));
        assert_eq!(deadline.missed(first, time.ms(650)), 1);
        assert_eq!(deadline.missed(first, time.ms(651)), 0);
        assert_eq!(deadline.next_look(time.ms(651)), time.at(750));
        assert_eq!(deadline.missed(first, time.ms(1051)), 4, "looked too late");
        let second = Some(time.at(1060));
        assert_eq!(deadline.missed(second, time.ms(1150)), 0);
        assert_eq!(deadline.next_look(time.ms(1150)), time.at(1160));
        // A look that came too late finds a message that came in time.
        assert_eq!(deadline.missed(Some(time.at(2000)), time.ms(2050)), 0);
    }

    #[test]
    fn a_deadline_of_a_nanosecond_counts_and_ends() {
        let time = Time(Instant::now());
        let mut deadline = Deadline::new(Duration::from_nanos(1));
        assert_eq!(deadline.missed(Some(time.at(0)), time.ms(1)), 1_000_000);
        assert_eq!(deadline.missed(Some(time.at(0)), time.ms(1)), 0);
    }

    #[test]
    fn a_lease_is_lost_once_and_comes_back_with_the_next_sign() {
        let time = Time(Instant::now());
        let mut lease = Lease::new(100 * MS, time.ms(0));
        assert_eq!(lease.next_look(time.ms(0)), time.at(100));
        assert_eq!(lease.look(None, time.ms(99)), None);
        assert_eq!(lease.look(Some(time.at(50)), time.ms(100)), None);
        assert_eq!(lease.next_look(time.ms(100)), time.at(150));
        assert_eq!(lease.look(Some(time.at(50)), time.ms(150)), Some(Turn::Lost));
        assert_eq!(lease.look(Some(time.at(50)), time.ms(180)), None);
        assert_eq!(lease.next_look(time.ms(180)), time.at(230));
        assert_eq!(lease.look(Some(time.at(200)), time.ms(230)), Some(Turn::Back));
        assert_eq!(lease.look(Some(time.at(200)), time.ms(301)), Some(Turn::Lost));
        assert_eq!(lease.look(Some(time.at(310)), time.ms(500)), Some(Turn::BackAndLost));
        assert_eq!(lease.look(Some(time.at(310)), time.ms(501)), None);
    }
}
