//! Stamps on the clock that never jumps. Messages carry the computer's time, which somebody may
//! set; how old a message is must not depend on that.
//!
//! Both clocks go at one rate but for what a time service adjusts, so that their difference tells
//! when the computer's time was set. A stamp belongs to one of the last differences: in general
//! only one of them makes it a time at which that was the difference. (Times that the clock has
//! shown twice because it was set back are those of after: wrong by the jump at most.)

use crate::clock::{monotonic_ns, real_ns};

/// A change of the difference between two looks that is a jump: more than a time service adjusts in
/// minutes.
const JUMP_NS: i64 = 5_000_000;

/// Times that both clocks are read again because the thread was interrupted in between.
const READS_MAX: usize = 4;

/// How long the reading of both clocks may take to be believed, ns.
const READ_NS: u64 = 100_000;

/// Times between jumps that are remembered beside that since the last one.
const ERAS_MAX: usize = 4;

/// The difference of the clocks, as of the last look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    /// Since the last jump.
    now: Era,
    /// Before it, the newest first.
    before: [Option<Era>; ERAS_MAX],
}

/// A time in which nobody set the computer's clock, as far as it was looked at.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// The computer's time less the steady one, ns.
    offset_ns: i64,
    /// The first and the last look, on the steady clock, ns.
    first_ns: i64,
    last_ns: i64,
}

impl Era {
    fn of_stamp(&self, stamp_ns: u64) -> i64 {
        signed(stamp_ns).saturating_sub(self.offset_ns)
    }
}

impl Steady {
    /// As of now.
    pub(crate) fn new() -> Self {
        let (real_ns, now_ns) = read();
        Self::since(offset(real_ns, now_ns), now_ns)
    }

    fn since(offset_ns: i64, now_ns: u64) -> Self {
        let now_ns = signed(now_ns);
        let now = Era { offset_ns, first_ns: now_ns, last_ns: now_ns };
        Self { now, before: [None; ERAS_MAX] }
    }

    /// Looks at the clocks. Gives the steady time, ns.
    pub(crate) fn look(&mut self) -> u64 {
        let (real_ns, now_ns) = read();
        self.note(real_ns, now_ns);
        now_ns
    }

    fn note(&mut self, real_ns: u64, now_ns: u64) {
        let (offset_ns, now_ns) = (offset(real_ns, now_ns), signed(now_ns));
        if offset_ns.abs_diff(self.now.offset_ns) > JUMP_NS.unsigned_abs() {
            self.before.rotate_right(1);
            self.before[0] = Some(self.now);
            self.now.first_ns = now_ns;
        }
        (self.now.offset_ns, self.now.last_ns) = (offset_ns, now_ns);
    }

    /// When a message was published that carries this stamp, on the steady clock, ns. A stamp from
    /// the future is one; a stamp from before the computer was started is negative.
    pub(crate) fn of_stamp(&self, stamp_ns: u64) -> i64 {
        // From the newest era to the oldest: the first one in which its time lies. Jumps are
        // between two looks, so each era reaches to the looks beside it.
        let (mut era, mut end_ns) = (self.now, self.now.last_ns);
        for older in self.before {
            let begin_ns = older.map_or(i64::MIN, |older| older.last_ns);
            let at_ns = era.of_stamp(stamp_ns);
            if (begin_ns..=end_ns).contains(&at_ns) {
                return at_ns;
            }
            let Some(older) = older else { break };
            (era, end_ns) = (older, era.first_ns);
        }
        // In none: of the oldest one, or from the future.
        let at_ns = era.of_stamp(stamp_ns);
        if at_ns <= self.now.last_ns { at_ns } else { self.now.of_stamp(stamp_ns) }
    }

    /// How old a message with this stamp was at the last look, ns; 0 for one from the future.
    pub(crate) fn age_ns(&self, stamp_ns: u64) -> u64 {
        duration(self.of_stamp(stamp_ns), self.now.last_ns).unwrap_or(0)
    }

    /// What ends with `end_ns` began `difference_ns` before, as plain stamps have it, known modulo
    /// `modulo`: the stamp with which it began, and how long it took, ns.
    pub(crate) fn begun(&self, end_ns: u64, difference_ns: u64, modulo: u64) -> (u64, u64) {
        let begin_ns = end_ns.wrapping_sub(difference_ns);
        if self.before[0].is_none() {
            return (begin_ns, difference_ns);
        }
        // If the time was set back, the end has the smaller stamp.
        let end = self.of_stamp(end_ns);
        let begins = [begin_ns, begin_ns.wrapping_add(modulo)];
        let spans = begins
            .into_iter()
            .filter_map(|begin_ns| Some((begin_ns, duration(self.of_stamp(begin_ns), end)?)));
        spans.min_by_key(|(_, span_ns)| *span_ns).unwrap_or((begin_ns, difference_ns))
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
        let mut steady = Steady::since(offset_ns, 100 * SECOND);
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
    fn ages_do_not_change_when_the_time_is_set_again_and_again() {
        let mut steady = Steady::since(TODAY as i64, 0);
        let mut stamps = Vec::new();
        // As a test of the whole executor has it, and back and forth.
        let sets = [0, HOUR as i64, -(HOUR as i64), 0, 2 * HOUR as i64];
        for (by_ns, at) in sets.into_iter().zip((1..).step_by(2)) {
            for at in [at, at + 1] {
                let real_ns = (TODAY + at * SECOND).wrapping_add_signed(by_ns);
                steady.note(real_ns, at * SECOND);
                stamps.push((at, real_ns));
            }
            for (then, stamp_ns) in &stamps {
                assert_eq!(steady.age_ns(*stamp_ns), (at + 1 - then) * SECOND, "{then} s, {at} s");
            }
        }
        // What is older than all that is remembered is as old as it says, or of one of these times.
        assert!(steady.age_ns(0) >= 10 * SECOND);
    }

    #[test]
    fn a_message_may_be_older_than_the_computer_is_up() {
        let steady = Steady::since(offset(TODAY, 5 * SECOND), 5 * SECOND);
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
                let begun = steady.begun(to, plain, MODULO);
                assert_eq!(
                    begun.1,
                    (end - begin) * SECOND,
                    "{begin} to {end} s, set by {by_ns} ns"
                );
            }
        }
    }

    #[test]
    fn a_time_service_that_adjusts_the_clock_is_no_jump() {
        let mut steady = Steady::since(TODAY as i64, 0);
        for step in 1..=1000 {
            // 500 parts per million, looked at once a second.
            steady.note(TODAY + step * (SECOND + 500_000), step * SECOND);
        }
        assert!(steady.before[0].is_none());
        assert_eq!(steady.age_ns(TODAY + 1000 * (SECOND + 500_000) - 7), 7);
    }
}
