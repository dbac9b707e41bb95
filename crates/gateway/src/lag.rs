//! How far the simulation of a board is behind real time.

use crossdock_executor::NodeError;
use std::time::{Duration, Instant};

/// Behind by so much, while more messages wait, a board does not keep up. A computer with other
/// work to do stands still for less.
const LAG_MAX: Duration = Duration::from_secs(1);

/// Compares the time on a board with the time that its simulation takes. A board that rests is up
/// to date: what it had to do is done.
#[derive(Debug)]
pub(crate) struct Lag {
    fabric: String,
    /// When it was last at rest, and the time on the board then, ps.
    rested: Option<(Instant, u64)>,
    /// Real time since then, and time on the board.
    passed: [Duration; 2],
}

impl Lag {
    pub(crate) fn new(fabric: String) -> Self {
        Self { fabric, rested: None, passed: [Duration::ZERO; 2] }
    }

    /// Takes note of a time on the board, ps. True: since it was last at rest, it has fallen behind
    /// by more than [`LAG_MAX`].
    pub(crate) fn is_too_long(&mut self, rests: bool, now: Instant, board_ps: u64) -> bool {
        if rests {
            self.rested = None;
            return false;
        }
        let (rested, rested_ps) = *self.rested.get_or_insert((now, board_ps));
        let on_board = Duration::from_nanos(board_ps.saturating_sub(rested_ps) / 1000);
        self.passed = [now.saturating_duration_since(rested), on_board];
        self.passed[0].saturating_sub(on_board) > LAG_MAX
    }

    /// What follows from it: messages of this topic wait.
    pub(crate) fn error(&self, topic: &str) -> NodeError {
        let [real, on_board] = self.passed.map(|time| time.as_secs_f64());
        NodeError::new(format!(
            "the simulation of fabric `{}` cannot keep up with real time: it took {real:.1} s for \
             {:.1} ms on the board, and messages of {topic} wait; if a recording or a node with \
             `lockstep` makes the time, write `on_lag: slow_time` for the fabric into the mapping, or run \
             with --rate max; else publish less often",
            self.fabric,
            on_board * 1e3
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_behind_by_what_its_simulation_takes_longer_since_it_was_at_rest() {
        let start = Instant::now();
        let after = |ms: u64| start + Duration::from_millis(ms);
        const MS: u64 = 1_000_000_000;
        let mut lag = Lag::new("board".to_owned());
        assert!(!lag.is_too_long(false, after(0), 5 * MS));
        assert!(!lag.is_too_long(false, after(1000), 15 * MS));
        assert!(lag.is_too_long(false, after(1011), 15 * MS));
        let error = lag.error("/image").to_string();
        assert!(error.contains("it took 1.0 s for 10.0 ms on the board"), "{error}");
        // At rest, and later busy again.
        assert!(!lag.is_too_long(true, after(1100), 16 * MS));
        assert!(!lag.is_too_long(false, after(9000), 16 * MS));
        assert!(!lag.is_too_long(false, after(9900), 17 * MS));
        // As fast as real time, however long.
        assert!(!lag.is_too_long(false, after(60_000), 51_020 * MS));
    }
}
