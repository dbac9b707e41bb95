//! A bar on a terminal that says how far something is that takes more than a second.

use crate::output;
use crossdock_record::BagReader;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// What takes less shows no bar.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// Time from one picture of the bar to the next.
const TICK: Duration = Duration::from_millis(200);
/// Characters of the bar itself.
const WIDTH: u64 = 30;

/// A part in time of a bag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    start_ns: u64,
    length_ns: u64,
}

impl Part {
    /// From one log time to another.
    pub(super) fn between(start_ns: u64, end_ns: u64) -> Self {
        Self { start_ns, length_ns: end_ns.saturating_sub(start_ns) }
    }

    /// From one log time to another, or to the end of the bag. `None`: all of it, whose messages it
    /// counts.
    pub(super) fn of(reader: &BagReader, start_ns: u64, end_ns: u64) -> Option<Self> {
        if (start_ns, end_ns) == (0, u64::MAX) {
            return None;
        }
        Some(Self::between(start_ns, end_ns.min(reader.end_ns())))
    }
}

/// Nanoseconds of seconds that a user gave.
pub(super) fn ns(seconds: f64) -> u64 {
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

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

    /// One more message is done, of this log time: of a part in time, or of `total` messages. On a
    /// terminal it looks at the clock: a bag may have few messages, and large ones.
    pub(super) fn step(&mut self, part: Option<Part>, total: u64, time_ns: u64) {
        self.steps += 1;
        if self.due.is_some() {
            self.at(part, (self.steps, total), time_ns);
        }
    }

    /// So many of `total` messages are done, the last of this log time. The time counts in a part.
    pub(super) fn at(&mut self, part: Option<Part>, (done, total): (u64, u64), time_ns: u64) {
        match part {
            None => self.show(share(done, total), || format!("{done} of {total} messages")),
            Some(Part { start_ns, length_ns }) => {
                let done_ns = time_ns.saturating_sub(start_ns);
                let [done, length] = [done_ns, length_ns].map(|ns| ns as f64 / 1e9);
                self.show(share(done_ns, length_ns), || format!("{done:.1} of {length:.1} s"));
            }
        }
    }

    /// So many of the bytes of a file are done.
    pub(super) fn at_bytes(&mut self, done: u64, total: u64) {
        self.show(share(done, total), || format!("{} of {} KiB", done >> 10, total >> 10));
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

/// What a bag says that it holds may be less than it does.
fn share(done: u64, total: u64) -> f64 {
    done.min(total) as f64 / total.max(1) as f64
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
