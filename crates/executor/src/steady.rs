//! Stamps on the clock that never jumps. Messages carry the computer's time, which somebody may
//! set; how old a message is must not depend on that. It must not know messages.
//!
//! Both clocks go at one rate but for what a time service adjusts, so that their difference tells
//! when the computer's time was set. A stamp belongs to the difference of before or of after: only
//! one of the two makes it a time that has been, on its side of the jump. (Times that the clock has
//! shown twice because it was set back are those of after: wrong by the jump at most.)

use crate::clock::{monotonic_ns, real_ns};

/// A change of the difference between two looks that is a jump: more than a time service adjusts in
/// minutes.
const JUMP_NS: i64 = 5_000_000;

/// Times that both clocks are read again because the thread was interrupted in between.
const READS_MAX: usize = 4;

/// How long the reading of both clocks may take to be believed, ns.
const READ_NS: u64 = 100_000;

/// The difference of the clocks, as of the last look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    /// The computer's time less the steady one, ns.
    offset_ns: i64,
    /// When that was so, on the steady clock, ns.
    now_ns: u64,
    /// Before the last jump.
    before: Option<Before>,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    offset_ns: i64,
    /// When that was seen last, on the steady clock, ns.
    until_ns: u64,
}

impl Steady {
    /// As of now.
    pub(crate) fn new() -> Self {
        let (real_ns, now_ns) = read();
        Self { offset_ns: offset(real_ns, now_ns), now_ns, before: None }
    }

    /// Looks at the clocks. Gives the steady time, ns.
    pub(crate) fn look(&mut self) -> u64 {
        let (real_ns, now_ns) = read();
        self.note(real_ns, now_ns);
        now_ns
    }

    fn note(&mut self, real_ns: u64, now_ns: u64) {
        let offset_ns = offset(real_ns, now_ns);
        if offset_ns.abs_diff(self.offset_ns) > JUMP_NS.unsigned_abs() {
            self.before = Some(Before { offset_ns: self.offset_ns, until_ns: self.now_ns });
        }
        (self.offset_ns, self.now_ns) = (offset_ns, now_ns);
    }

    /// When a message was published that carries this stamp, on the steady clock, ns. A stamp from
    /// the future is one; a stamp from before the computer was started is negative.
    pub(crate) fn of_stamp(&self, stamp_ns: u64) -> i64 {
        let time = |offset_ns: i64| signed(stamp_ns).saturating_sub(offset_ns);
        let (after, now_ns) = (time(self.offset_ns), signed(self.now_ns));
        match self.before {
            // After the jump, and before now.
            Some(Before { until_ns, .. }) if (signed(until_ns)..=now_ns).contains(&after) => after,
            Some(Before { offset_ns, .. }) if time(offset_ns) <= now_ns => time(offset_ns),
            Some(_) | None => after,
        }
    }

    /// How old a message with this stamp was at the last look, ns; 0 for one from the future.
    pub(crate) fn age_ns(&self, stamp_ns: u64) -> u64 {
        duration(self.of_stamp(stamp_ns), signed(self.now_ns)).unwrap_or(0)
    }

    /// From one stamp to a later one, ns, where their plain difference is `difference_ns`, known
    /// modulo `modulo`.
    pub(crate) fn between_ns(&self, end_ns: u64, difference_ns: u64, modulo: u64) -> u64 {
        if self.before.is_none() {
            return difference_ns;
        }
        let end = self.of_stamp(end_ns);
        let begin_ns = end_ns.wrapping_sub(difference_ns);
        // If the time was set back, the end has the smaller stamp.
        let begins =
            [begin_ns, begin_ns.wrapping_add(modulo)].map(|begin_ns| self.of_stamp(begin_ns));
        let spans = begins.into_iter().filter_map(|begin| duration(begin, end));
        spans.min().unwrap_or(difference_ns)
    }
}

/// Times up to the year 2262 as they are, later ones as that.
pub(crate) fn signed(time_ns: u64) -> i64 {
    i64::try_from(time_ns).unwrap_or(i64::MAX)
}

/// From one time to another that is not before it, ns.
pub(crate) fn duration(from_ns: i64, to_ns: i64) -> Option<u64> {
    (from_ns <= to_ns).then(|| to_ns.abs_diff(from_ns))
}

fn offset(real_ns: u64, now_ns: u64) -> i64 {
    (real_ns as i64).wrapping_sub(now_ns as i64)
}

/// Both clocks at nearly one time.
fn read() -> (u64, u64) {
    let mut read = (real_ns(), monotonic_ns());
    for _ in 1..READS_MAX {
        let before_ns = monotonic_ns();
        read = (real_ns(), monotonic_ns());
        if read.1 - before_ns <= READ_NS {
            break;
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const HOUR: u64 = 3600 * SECOND;
    /// Some time of this century.
    const TODAY: u64 = 1_790_000_000 * SECOND;

    /// Clocks that have run from 100 s to 110 s, when the time was set by so much, and on to 112 s.
    fn set_by(by_ns: i64) -> (Steady, impl Fn(u64) -> u64) {
        let before = |at: u64| TODAY + at;
        let after = move |at: u64| (TODAY + at).wrapping_add_signed(by_ns);
        let offset_ns = offset(before(100 * SECOND), 100 * SECOND);
        let mut steady = Steady { offset_ns, now_ns: 100 * SECOND, before: None };
        steady.note(before(110 * SECOND), 110 * SECOND);
        steady.note(after(112 * SECOND), 112 * SECOND);
        // What a message says that was published then, if the time was set at 111 s.
        (steady, move |at| if at < 111 * SECOND { before(at) } else { after(at) })
    }

    #[test]
    fn ages_do_not_change_when_the_time_is_set() {
        for by_ns in [HOUR as i64, -(HOUR as i64), 3 * SECOND as i64] {
            let (steady, stamp_at) = set_by(by_ns);
            for at in [105, 109, 111, 112] {
                let age = steady.age_ns(stamp_at(at * SECOND));
                assert_eq!(age, (112 - at) * SECOND, "published at {at} s, set by {by_ns} ns");
            }
        }
    }

    #[test]
    fn a_message_may_be_older_than_the_computer_is_up() {
        let offset_ns = offset(TODAY, 5 * SECOND);
        let steady = Steady { offset_ns, now_ns: 5 * SECOND, before: None };
        assert_eq!(steady.age_ns(TODAY - HOUR), HOUR);
        assert_eq!(steady.age_ns(0), TODAY);
    }

    #[test]
    fn a_stamp_that_was_said_twice_is_off_by_the_jump_at_most() {
        // At 109 s before the time was set back by 3 s, and at 112 s after that.
        let (steady, stamp_at) = set_by(-3 * SECOND as i64);
        for at in [105, 109, 111, 112] {
            let age = steady.age_ns(stamp_at(at * SECOND));
            assert!(age.abs_diff((112 - at) * SECOND) <= 3 * SECOND, "published at {at} s: {age}");
        }
    }

    #[test]
    fn spans_over_a_jump_are_as_long_as_they_were() {
        const MODULO: u64 = 1 << 48;
        for by_ns in [HOUR as i64, -(HOUR as i64)] {
            let (steady, stamp_at) = set_by(by_ns);
            for (begin, end) in [(108, 109), (109, 112), (111, 112)] {
                let (from, to) = (stamp_at(begin * SECOND), stamp_at(end * SECOND));
                let plain = to.wrapping_sub(from) % MODULO;
                let span = steady.between_ns(to, plain, MODULO);
                assert_eq!(span, (end - begin) * SECOND, "{begin} to {end} s, set by {by_ns} ns");
            }
        }
    }

    #[test]
    fn a_time_service_that_adjusts_the_clock_is_no_jump() {
        let mut steady = Steady { offset_ns: TODAY as i64, now_ns: 0, before: None };
        for step in 1..=1000 {
            // 500 parts per million, looked at once a second.
            steady.note(TODAY + step * (SECOND + 500_000), step * SECOND);
        }
        assert!(steady.before.is_none());
        assert_eq!(steady.age_ns(TODAY + 1000 * (SECOND + 500_000) - 7), 7);
    }
}
