//! The two clocks of an executor: real time, read from the system, and simulated time, set by
//! messages.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossdock_graph::Time;
use rustix::time::{ClockId, clock_gettime};

/// What `now` means to the nodes and timers of an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The computer's clock.
    Wall,
    /// The time of the last message on `/clock`, 0 before the first.
    Simulated {
        /// Nanoseconds.
        now_ns: u64,
    },
}

impl Clock {
    /// The clock of a run, simulated time at 0.
    pub(crate) fn new(time: Time) -> Self {
        match time {
            Time::Wall => Self::Wall,
            _ => Self::Simulated { now_ns: 0 },
        }
    }

    /// Sets simulated time and gives the clock as it was; real time goes on by itself.
    pub(crate) fn replace(&mut self, now_ns: u64) -> Self {
        match self {
            Self::Wall => Self::Wall,
            Self::Simulated { .. } => std::mem::replace(self, Self::Simulated { now_ns }),
        }
    }

    /// Nanoseconds since 1970, or simulated ones. One clock read for the wall clock.
    pub(crate) fn now_ns(&self) -> u64 {
        match self {
            Self::Wall => real_ns(),
            Self::Simulated { now_ns } => *now_ns,
        }
    }
}

/// The time that the two fields say, nanoseconds; 0 for a time before that.
pub(crate) fn time_of(seconds: i32, nanoseconds: u32) -> u64 {
    let time_ns = i64::from(seconds) * SECOND_NS as i64 + i64::from(nanoseconds);
    u64::try_from(time_ns).unwrap_or(0)
}

/// Nanoseconds in a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Nanoseconds since 1970.
pub(crate) fn real_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds on the clock that never jumps: for durations and for timers of real time.
pub(crate) fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_msg::stamp_of;

    #[test]
    fn a_time_is_the_sum_of_its_fields_and_none_is_before_zero() {
        for (fields, time_ns) in [
            ((0, 0), 0),
            ((100, 600_000_000), 100_600_000_000),
            ((i32::MAX, 999_999_999), 2_147_483_647_999_999_999),
            ((-1, 999_999_999), 0),
            ((-5, u32::MAX), 0),
            ((i32::MIN, 0), 0),
        ] {
            assert_eq!(time_of(fields.0, fields.1), time_ns, "{fields:?}");
        }
        assert_eq!(stamp_of(time_of(7, 8)), (7, 8));
    }
}
