//! When a process that has ended is started again, and when it is given up.

use crossdock_graph::Restart;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Longest wait before a start, however often the process has ended.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The ends of one process.
#[derive(Debug)]
pub(super) struct Restarts {
    policy: Restart,
    /// Those within the policy's window, oldest first; never more than its limit.
    recent: VecDeque<Instant>,
    total: u32,
}

impl Restarts {
    pub(super) fn new(policy: Restart) -> Self {
        Self { policy, recent: VecDeque::new(), total: 0 }
    }

    pub(super) fn policy(&self) -> Restart {
        self.policy
    }

    /// Starts so far, the first one not counted.
    pub(super) fn total(&self) -> u32 {
        self.total
    }

    /// The process has ended: how long to wait before it is started again. `None`: it has ended too
    /// often.
    pub(super) fn after(&mut self, now: Instant) -> Option<Duration> {
        let window = Duration::from_secs(self.policy.within_s.into());
        while self.recent.front().is_some_and(|end| now.duration_since(*end) >= window) {
            self.recent.pop_front();
        }
        let before = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        if before >= self.policy.limit {
            return None;
        }
        self.recent.push_back(now);
        self.total += 1;
        let first = Duration::from_millis(self.policy.backoff_ms.into());
        let factor = 1_u32.checked_shl(before).unwrap_or(u32::MAX);
        Some(first.saturating_mul(factor).min(WAIT_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_graph::RestartWhen;

    #[test]
    fn waits_double_until_the_process_is_given_up_and_begin_anew_after_the_window() {
        let policy =
            Restart { when: RestartWhen::OnFailure, limit: 3, within_s: 10, backoff_ms: 100 };
        let mut restarts = Restarts::new(policy);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let wait = |ms| Some(Duration::from_millis(ms));
        assert_eq!(restarts.after(at(0)), wait(100));
        assert_eq!(restarts.after(at(200)), wait(200));
        assert_eq!(restarts.after(at(9_999)), wait(400));
        assert_eq!(restarts.after(at(9_999)), None);
        assert_eq!(restarts.after(at(10_200)), wait(200));
        assert_eq!(restarts.after(at(60_000)), wait(100));
        assert_eq!(restarts.total(), 5);
    }

    #[test]
    fn no_wait_is_longer_than_half_a_minute() {
        let policy =
            Restart { when: RestartWhen::Always, limit: 100, within_s: 86_400, backoff_ms: 1 };
        let mut restarts = Restarts::new(policy);
        let now = Instant::now();
        let last = (0..100).fold(None, |_, _| restarts.after(now));
        assert_eq!(last, Some(WAIT_MAX));
        assert_eq!(restarts.after(now), None);
    }
}
