//! A bar on a terminal that says how far something is that takes more than a second.

use crate::output;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// What takes less shows no bar.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// Time from one picture of the bar to the next.
const TICK: Duration = Duration::from_millis(200);
/// Characters of the bar itself.
const WIDTH: u64 = 30;
/// Steps between two looks at the clock.
const STEPS: u64 = 64;

/// The bar. It is shown on standard error, if that is a terminal.
pub(super) struct Bar {
    began: Instant,
    due: Option<Instant>,
    steps: u64,
    shown: bool,
}

impl Bar {
    pub(super) fn begin() -> Self {
        let began = Instant::now();
        let due = std::io::stderr().is_terminal().then(|| began + SHOWN_AFTER);
        Self { began, due, steps: 0, shown: false }
    }

    /// One more of `total` is done.
    pub(super) fn step(&mut self, total: u64) {
        self.steps += 1;
        if self.due.is_some() && self.steps.is_multiple_of(STEPS) {
            self.at(self.steps, total, "messages");
        }
    }

    /// As much of the `total` time of a recording is done; looks at the clock now and then.
    pub(super) fn step_time(&mut self, done: Duration, total: Duration) {
        self.steps += 1;
        if self.due.is_some() && self.steps.is_multiple_of(STEPS) {
            self.at_time(done, total);
        }
    }

    /// So many of `total` are done.
    pub(super) fn at(&mut self, done: u64, total: u64, unit: &str) {
        // What a bag says that it holds may be less than it does.
        let share = done.min(total) as f64 / total.max(1) as f64;
        self.show(share, || format!("{done} of {total} {unit}"));
    }

    /// So much of the `total` time of a recording is done.
    pub(super) fn at_time(&mut self, done: Duration, total: Duration) {
        let [done, total] = [done, total].map(|it| it.as_secs_f64());
        let share = if total > 0.0 { (done / total).min(1.0) } else { 0.0 };
        self.show(share, || format!("{done:.1} of {total:.1} s"));
    }

    fn show(&mut self, share: f64, words: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        self.due = Some(now + TICK);
        self.shown = true;
        output::say_over(&line(share, &words(), now - self.began));
    }

    /// Ends the line of the bar, if there is one.
    pub(super) fn end(&mut self) {
        if std::mem::take(&mut self.shown) {
            output::end_line();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.end();
    }
}

fn line(share: f64, words: &str, elapsed: Duration) -> String {
    let full = (share * WIDTH as f64) as usize;
    let bar = "#".repeat(full) + &"-".repeat(WIDTH as usize - full);
    let left = match share {
        share if share > 0.0 => {
            format!(", {:.0} s left", elapsed.as_secs_f64() * (1.0 - share) / share)
        }
        _ => String::new(),
    };
    format!("[{bar}] {:3.0} %  {words}{left}", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_what_is_done_and_how_long_it_still_takes() {
        let said = line(0.25, "30 of 120 messages", Duration::from_secs(10));
        assert_eq!(
            said,
            format!("[{}{}]  25 %  30 of 120 messages, 30 s left", "#".repeat(7), "-".repeat(23))
        );
        assert!(line(0.0, "0 of 0", Duration::ZERO).ends_with("  0 of 0"));
        assert!(line(1.0, "9 of 3", Duration::from_secs(1)).ends_with("9 of 3, 0 s left"));
    }
}
