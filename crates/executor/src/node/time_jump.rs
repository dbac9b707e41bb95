//! Jumps of simulated time: from which size on a node is told of one, and what it is told.

use std::fmt;
use std::time::Duration;

/// From which size on a node is told of a jump of simulated time, as in ROS 2's clocks. A direction
/// that is not named is not told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JumpThreshold {
    /// Nanoseconds; 0: never.
    forward_ns: u64,
    backward_ns: u64,
}

impl JumpThreshold {
    /// No jump is told.
    #[must_use]
    pub const fn new() -> Self {
        Self { forward_ns: 0, backward_ns: 0 }
    }

    /// Jumps forward are told from this size on. The first message on `/clock` jumps from 0.
    #[must_use]
    pub fn forward(self, size: Duration) -> Self {
        Self { forward_ns: nanoseconds(size), ..self }
    }

    /// Jumps back are told from this size on.
    #[must_use]
    pub fn backward(self, size: Duration) -> Self {
        Self { backward_ns: nanoseconds(size), ..self }
    }

    /// Whether a jump is at least as large.
    pub(crate) fn is_reached(self, jump: TimeJump) -> bool {
        let forward_ns = jump.to_ns.saturating_sub(jump.from_ns);
        let backward_ns = jump.from_ns.saturating_sub(jump.to_ns);
        (self.forward_ns > 0 && forward_ns >= self.forward_ns)
            || (self.backward_ns > 0 && backward_ns >= self.backward_ns)
    }
}

/// At least one: a jump of no size is none.
fn nanoseconds(size: Duration) -> u64 {
    u64::try_from(size.as_nanos()).unwrap_or(u64::MAX).max(1)
}

/// A jump of simulated time, from one message on `/clock` to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeJump {
    /// The time before, nanoseconds; 0 before the first message.
    pub from_ns: u64,
    /// The time after, nanoseconds.
    pub to_ns: u64,
}

impl TimeJump {
    /// How far time has jumped, nanoseconds; below 0 back.
    #[must_use]
    pub fn delta_ns(self) -> i64 {
        let forward = i64::try_from(self.to_ns.saturating_sub(self.from_ns)).unwrap_or(i64::MAX);
        let backward = i64::try_from(self.from_ns.saturating_sub(self.to_ns)).unwrap_or(i64::MAX);
        forward - backward
    }
}

impl fmt::Display for TimeJump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "jump of time by {:.9} s", self.delta_ns() as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_counts_for_its_own_direction() {
        let jump = |from_ns, to_ns| TimeJump { from_ns, to_ns };
        let both = JumpThreshold::new()
            .forward(Duration::from_nanos(10))
            .backward(Duration::from_nanos(5));
        for (from, to, is_told) in
            [(0, 10, true), (0, 9, false), (9, 4, true), (9, 5, false), (7, 7, false)]
        {
            assert_eq!(both.is_reached(jump(from, to)), is_told, "{from} to {to}");
        }
        assert!(!JumpThreshold::new().is_reached(jump(0, u64::MAX)));
        let any = JumpThreshold::new().backward(Duration::ZERO);
        assert!(any.is_reached(jump(1, 0)) && !any.is_reached(jump(0, 1)));
        assert!(!any.is_reached(jump(1, 1)));
        assert_eq!(jump(5, 3).delta_ns(), -2);
        assert_eq!(jump(0, u64::MAX).delta_ns(), i64::MAX);
    }
}
