//! How long a wait goes on. A caller may be as patient as it wants: a time that no clock reaches is
//! for ever.

use std::time::{Duration, Instant};

/// A wait with a limit of time, which begins when this is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// `None`: never.
    end: Option<Instant>,
}

impl Patience {
    pub(crate) fn new(timeout: Duration) -> Patience {
        Patience { end: Instant::now().checked_add(timeout) }
    }

    /// What is left of it; zero when it is over.
    pub(crate) fn left(self) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_its_time_is_over_and_one_without_limit_never_does() {
        assert_eq!(Patience::new(Duration::ZERO).left(), Duration::ZERO);
        let hour = Duration::from_secs(3600);
        let left = Patience::new(hour).left();
        assert!(!left.is_zero() && left <= hour);
        assert_eq!(Patience::new(Duration::MAX).left(), Duration::MAX);
    }
}
