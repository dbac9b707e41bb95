//! The time of day, and the time that never jumps, in nanoseconds, cheap enough to stamp every
//! message and every event with.
//!
//! Reading the system's clock costs a third of a small message's publish (25 to 35 ns measured).
//! Reading the processor's counter costs 10 ns. Linux itself keeps time by that counter if all
//! processors agree on it and it never stops. Then this clock adds the counter to the system's last
//! reading for at most `SPAN_NS`, and reads the system's clock again. So it follows every
//! correction of the system's clock, and two processes disagree by tens of nanoseconds. On other
//! machines it is the system's clock.

use rustix::time::{ClockId, clock_gettime};
use std::time::{SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970. Allocates nothing, locks nothing; no system call if the kernel lets
/// user space read its clock.
///
/// Never goes back within a thread, unless the system's clock is set back.
#[inline]
pub fn now_ns() -> u64 {
    counter::now_ns()
}

/// Nanoseconds on the clock that is never set (`CLOCK_MONOTONIC`), as cheap as [`now_ns`]: for
/// times that are compared with each other, in one process or between processes of one computer.
///
/// Never goes back within a thread.
#[inline]
pub fn monotonic_ns() -> u64 {
    counter::monotonic_ns()
}

/// [`now_ns`] and [`monotonic_ns`] by one reading of the counter.
#[inline]
pub fn both_ns() -> (u64, u64) {
    counter::both_ns()
}

fn system_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

fn system_monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Longest time between two readings of the system's clock. With a rate that is wrong by 50
/// millionths the stamps at its end are wrong by 50 ns.
#[cfg(any(target_arch = "x86_64", test))]
const SPAN_NS: u64 = 1_000_000;

/// From one reading of the system's clock to the next. Knows no counter, so that tests can turn it.
#[cfg(any(target_arch = "x86_64", test))]
mod follow {
    use super::SPAN_NS;
    use std::cell::Cell;

    /// Shortest time between two readings that a rate is taken from: 30 ns of jitter are 60
    /// millionths of it.
    const MEASURED_NS: u64 = SPAN_NS / 2;
    /// Longest such time: the system's clock may have been set in between, and a guest may have
    /// moved to another machine.
    const MEASURED_NS_MAX: u64 = 1_000_000_000;
    /// Readings further behind than this are not caught up with: the system's clock was set back.
    const AHEAD_NS_MAX: u64 = 10_000;
    /// Ticks within which counter and system's clock are read together, unless the thread was
    /// interrupted in between: about a microsecond.
    pub(super) const TOGETHER_TICKS: u64 = 2_000;
    /// Ticks per nanosecond that a counter can have: 2^4, and as many nanoseconds per tick.
    const RATE_BITS: u32 = 28;

    /// How one thread's clock goes on from its last reading of the system's.
    pub(super) struct Follower {
        /// Counter and time at the reading.
        ticks: Cell<u64>,
        ns: Cell<u64>,
        /// Nanoseconds per tick, times 2^28.
        rate: Cell<u64>,
        /// Ticks for which it goes on; 0: not at all.
        span: Cell<u64>,
        /// What the system's clock said at the reading: `ns` may be ahead of it.
        system_ns: Cell<u64>,
    }

    impl Follower {
        pub(super) const fn new() -> Self {
            Follower {
                ticks: Cell::new(0),
                ns: Cell::new(0),
                rate: Cell::new(0),
                span: Cell::new(0),
                system_ns: Cell::new(0),
            }
        }

        /// The time at `ticks`, unless the last reading is too long ago.
        #[inline(always)]
        pub(super) fn at(&self, ticks: u64) -> Option<u64> {
            let passed = ticks.wrapping_sub(self.ticks.get());
            // A counter that went back has passed almost 2^64.
            (passed < self.span.get()).then(|| self.ns.get() + self.elapsed(passed))
        }

        #[inline(always)]
        fn elapsed(&self, passed: u64) -> u64 {
            (passed * self.rate.get()) >> RATE_BITS
        }

        /// Notes that the system's clock said `system_ns` between two readings of the counter,
        /// if they are close enough to tell when; the time then.
        pub(super) fn read_between(&self, before: u64, after: u64, system_ns: u64) -> u64 {
            match after.wrapping_sub(before) < TOGETHER_TICKS {
                true => self.read(before.midpoint(after), system_ns),
                false => self.caught_up(after, system_ns),
            }
        }

        /// Notes that the system's clock said `system_ns` at `ticks`; the time then.
        pub(super) fn read(&self, ticks: u64, system_ns: u64) -> u64 {
            let passed = ticks.wrapping_sub(self.ticks.get());
            let elapsed = system_ns.wrapping_sub(self.system_ns.get());
            let now_ns = self.caught_up(ticks, system_ns);
            if elapsed < MEASURED_NS && self.span.get() == 0 {
                // Too early to tell the rate.
                return now_ns;
            }
            self.ticks.set(ticks);
            self.system_ns.set(system_ns);
            self.ns.set(now_ns);
            self.span.set(0);
            let rate = u128::from(elapsed) << RATE_BITS;
            let rate = rate.checked_div(u128::from(passed)).unwrap_or(0);
            let usual = (1 << (RATE_BITS - 4)..1 << (RATE_BITS + 4)).contains(&rate);
            if usual && (MEASURED_NS..MEASURED_NS_MAX).contains(&elapsed) {
                let rate = rate as u64;
                let span = (SPAN_NS << RATE_BITS) / rate;
                // Where it is ahead it goes on so much slower that it meets the system's clock.
                let ahead = now_ns - system_ns;
                self.rate.set(rate.saturating_sub((ahead << RATE_BITS) / span));
                self.span.set(span);
            }
            now_ns
        }

        /// The system's time at `ticks`, or the last time said if that is a little later.
        pub(super) fn caught_up(&self, ticks: u64, system_ns: u64) -> u64 {
            let passed = ticks.wrapping_sub(self.ticks.get()).min(self.span.get());
            let said = self.ns.get() + self.elapsed(passed);
            match said.saturating_sub(system_ns) {
                1..AHEAD_NS_MAX => said,
                _ => system_ns,
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use super::follow::Follower;
    use super::{system_monotonic_ns, system_ns};
    use std::arch::x86_64::_rdtsc;
    use std::fs;
    use std::sync::OnceLock;

    std::thread_local! {
        static REAL: Follower = const { Follower::new() };
        static MONOTONIC: Follower = const { Follower::new() };
    }

    #[inline(always)]
    pub(super) fn ticks() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; no other memory is touched.
        unsafe { _rdtsc() }
    }

    #[inline]
    pub(super) fn now_ns() -> u64 {
        REAL.with(|follower| at(follower, ticks(), system_ns))
    }

    #[inline]
    pub(super) fn monotonic_ns() -> u64 {
        MONOTONIC.with(|follower| at(follower, ticks(), system_monotonic_ns))
    }

    #[inline]
    pub(super) fn both_ns() -> (u64, u64) {
        let ticks = ticks();
        let real_ns = REAL.with(|follower| at(follower, ticks, system_ns));
        (real_ns, MONOTONIC.with(|follower| at(follower, ticks, system_monotonic_ns)))
    }

    #[inline(always)]
    pub(super) fn at(follower: &Follower, ticks: u64, system: fn() -> u64) -> u64 {
        match follower.at(ticks) {
            Some(ns) => ns,
            None => read(follower, system),
        }
    }

    #[cold]
    #[inline(never)]
    fn read(follower: &Follower, system: fn() -> u64) -> u64 {
        static TRUSTED: OnceLock<bool> = OnceLock::new();
        if !TRUSTED.get_or_init(|| is_trusted(fs::read_to_string(NAMED_IN))) {
            return system();
        }
        let before = ticks();
        let system_ns = system();
        follower.read_between(before, ticks(), system_ns)
    }

    pub(super) const NAMED_IN: &str =
        "/sys/devices/system/clocksource/clocksource0/current_clocksource";

    /// Does the kernel keep time by the counter, if this is what it names?
    pub(super) fn is_trusted(named: std::io::Result<String>) -> bool {
        named.is_ok_and(|name| name.trim() == "tsc")
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) use super::{system_monotonic_ns as monotonic_ns, system_ns as now_ns};

    pub(super) fn both_ns() -> (u64, u64) {
        (now_ns(), monotonic_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::follow::{Follower, TOGETHER_TICKS};
    use super::{ClockId, SPAN_NS, both_ns, clock_gettime, monotonic_ns, now_ns, system_ns};
    use std::time::{Duration, Instant};

    /// A counter with 2.3 ticks per ns that a system's clock runs beside.
    fn ticks(ns: u64) -> u64 {
        ns * 23 / 10
    }

    const START_NS: u64 = 1_800_000_000_000_000_000;

    /// A follower that knows the rate since `at` ns.
    fn following(at: u64) -> Follower {
        let follower = Follower::new();
        follower.read(ticks(at - SPAN_NS), START_NS + at - SPAN_NS);
        follower.read(ticks(at), START_NS + at);
        follower
    }

    #[test]
    fn it_goes_on_by_the_counter_and_asks_again_after_the_span() {
        let follower = following(5 * SPAN_NS);
        for after in [0, 1, 1000, SPAN_NS / 2, SPAN_NS - 10] {
            let ns = follower.at(ticks(5 * SPAN_NS + after)).expect("within the span");
            assert!(ns.abs_diff(START_NS + 5 * SPAN_NS + after) <= 2, "{ns} after {after}");
        }
        assert_eq!(follower.at(ticks(6 * SPAN_NS + 10)), None);
        assert_eq!(follower.at(ticks(4 * SPAN_NS)), None, "the counter went back");
    }

    #[test]
    fn it_never_goes_back_although_the_systems_clock_runs_slower_now() {
        let follower = following(5 * SPAN_NS);
        let mut last = 0;
        // 300 millionths slower than the rate that was measured.
        for step in 0..20_000 {
            let after = step * 997;
            let at = ticks(5 * SPAN_NS + after);
            let system_ns = START_NS + 5 * SPAN_NS + after - after * 3 / 10_000;
            let ns = follower.at(at).unwrap_or_else(|| follower.read(at, system_ns));
            assert!(ns >= last, "{ns} after {last}");
            assert!(ns.abs_diff(system_ns) < 1_000, "{ns}, the system {system_ns}");
            last = ns;
        }
    }

    #[test]
    fn it_follows_a_clock_that_was_set() {
        for shift in [-3_600_000_000_000, -1_000_000, 20_000, 3_600_000_000_000_i64] {
            let follower = following(5 * SPAN_NS);
            let at = 7 * SPAN_NS;
            let set_ns = (START_NS + at).wrapping_add_signed(shift);
            assert_eq!(follower.read(ticks(at), set_ns), set_ns, "shifted by {shift} ns");
            let after = set_ns + SPAN_NS;
            follower.read(ticks(at + SPAN_NS), after);
            let ns = follower.at(ticks(at + SPAN_NS + 1000)).expect("within the span");
            assert!(ns.abs_diff(after + 1000) < 10, "shifted by {shift} ns");
        }
    }

    #[test]
    fn a_reading_is_in_the_middle_of_the_counters_around_it() {
        let follower = following(5 * SPAN_NS);
        let (at, read_ns) = (ticks(7 * SPAN_NS), START_NS + 7 * SPAN_NS);
        let around = TOGETHER_TICKS / 2 - 1;
        assert_eq!(follower.read_between(at - around, at + around, read_ns), read_ns);
        let ns = follower.at(at).expect("within the span");
        assert!(ns.abs_diff(read_ns) <= 1, "{ns}");
    }

    #[test]
    fn a_reading_that_was_interrupted_changes_nothing() {
        let follower = following(5 * SPAN_NS);
        let at = 5 * SPAN_NS + SPAN_NS / 2;
        let interrupted_ns = START_NS + at + 100_000;
        let before = ticks(at) - TOGETHER_TICKS;
        assert_eq!(follower.read_between(before, ticks(at), interrupted_ns), interrupted_ns);
        let ns = follower.at(ticks(at + 100)).expect("within the span");
        assert!(ns.abs_diff(START_NS + at + 100) <= 2, "{ns}");
    }

    #[test]
    fn it_agrees_with_the_systems_clock() {
        let started = system_ns();
        let mut last = 0;
        while system_ns() - started < 20 * SPAN_NS {
            let before = system_ns();
            let ns = now_ns();
            let after = system_ns();
            assert!(ns >= last);
            assert!(ns + 10_000 > before && ns < after + 10_000, "{before} {ns} {after}");
            last = ns;
        }
    }

    #[test]
    fn time_that_is_never_set_goes_on_as_the_standard_library_says() {
        // The thread may lose its processor between any two of these.
        let (early, started_ns, late) = (Instant::now(), monotonic_ns(), Instant::now());
        let mut last = started_ns;
        while late.elapsed() < Duration::from_nanos(20 * SPAN_NS) {
            let before = late.elapsed();
            let ns = monotonic_ns();
            let after = early.elapsed();
            let passed = Duration::from_nanos(ns - started_ns);
            let slack = Duration::from_micros(50);
            assert!(ns >= last);
            assert!(passed + slack > before && passed < after + slack, "{before:?} {passed:?}");
            last = ns;
        }
    }

    #[test]
    fn time_that_is_never_set_is_the_systems() {
        let system = || {
            let now = clock_gettime(ClockId::Monotonic);
            Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
        };
        let slack = Duration::from_micros(50);
        for _ in 0..1000 {
            let (before, now, after) = (system(), Duration::from_nanos(monotonic_ns()), system());
            assert!(now + slack > before && now < after + slack, "{before:?} {now:?} {after:?}");
            let (real_ns, ns) = both_ns();
            let now = Duration::from_nanos(ns);
            assert!(now + slack > after && now < system() + slack, "{after:?} {now:?}");
            assert!(Duration::from_nanos(now_ns().abs_diff(real_ns)) < Duration::from_secs(1));
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_systems_clock_is_asked_each_time_unless_the_kernel_keeps_time_by_the_counter() {
        use super::counter;
        const CALLS: u32 = 100_000;
        std::thread_local! {
            static ASKED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        }
        let system = || {
            ASKED.set(ASKED.get() + 1);
            counter::ticks() / 2
        };
        let follower = Follower::new();
        (0..CALLS).for_each(|_| _ = counter::at(&follower, counter::ticks(), system));
        let trusted = counter::is_trusted(std::fs::read_to_string(counter::NAMED_IN));
        assert_eq!(ASKED.get() < CALLS, trusted, "{} times", ASKED.get());
        for (named, trusted) in [("tsc\n", true), ("hpet\n", false), ("", false)] {
            assert_eq!(counter::is_trusted(Ok(named.to_owned())), trusted, "{named}");
        }
        assert!(!counter::is_trusted(Err(std::io::ErrorKind::NotFound.into())));
    }
}
