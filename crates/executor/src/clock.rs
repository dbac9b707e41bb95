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

/// Nanoseconds as the two fields of `builtin_interfaces/msg/Time`: seconds and nanoseconds.
pub(crate) fn stamp(time_ns: u64) -> (i32, u32) {
    let seconds = i32::try_from(time_ns / SECOND_NS).unwrap_or(i32::MAX);
    (seconds, (time_ns % SECOND_NS) as u32)
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
