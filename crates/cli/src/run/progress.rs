//! One line on a terminal that says how far a run is; nothing while nothing happens.
//!
//! While messages flow the launcher's main thread looks at the status tables twice a second. When
//! nothing new is there it asks the processes to say when they have worked again, and sleeps; they
//! do nothing for that while they sleep, too.

use super::figures::Figures;
use crate::output;
use crossdock_comm::Activity;
use crossdock_record::Player;
use std::io::IsTerminal;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Time from one line to the next.
const TICK: Duration = Duration::from_millis(500);

/// The line.
pub(crate) struct Progress {
    started: Instant,
    /// When the next line is due; `None`: not before something happens.
    due: Option<Instant>,
    /// Tells when something happens, while no line is due.
    activity: Option<Activity>,
    published: u64,
    shown: bool,
}

impl Progress {
    /// Shows something only where standard error is a terminal.
    pub(crate) fn new(started: Instant) -> Self {
        let due = std::io::stderr().is_terminal().then(|| started + TICK);
        Self { started, due, activity: None, published: 0, shown: false }
    }

    /// One of these descriptors is readable when something happens after idleness.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.activity.iter().flat_map(Activity::descriptors)
    }

    /// Shows the line if it is due. When the next one is, `None` while the graph is idle.
    pub(crate) fn next(&mut self, player: Option<&Player>, figures: &Figures) -> Option<Instant> {
        let now = Instant::now();
        if self.activity.take_if(|activity| activity.has_come()).is_some() {
            // Not at once, so that single messages with pauses cost two looks a second at most.
            self.due = Some(now + TICK);
        }
        if self.due? > now {
            return self.due;
        }
        let before = std::mem::replace(&mut self.published, figures.published());
        self.show(player, now);
        // Between the messages of a recording more are to come; else silence means idle.
        let is_busy = self.published != before || player.is_some();
        if is_busy || !self.rest(figures) {
            self.due = Some(now + TICK);
        }
        self.due
    }

    /// Waits for something to happen; false when something has meanwhile.
    fn rest(&mut self, figures: &Figures) -> bool {
        self.due = None;
        // Without it the line stays as it is: a graph that cannot be watched runs all the same.
        self.activity = figures.activity().ok();
        if figures.published() == self.published {
            return true;
        }
        self.activity = None;
        false
    }

    /// Ends the line.
    pub(crate) fn end(&self) {
        if self.shown {
            output::end_line();
        }
    }

    fn show(&mut self, player: Option<&Player>, now: Instant) {
        let elapsed_s = now.duration_since(self.started).as_secs_f64();
        let played = player.map_or_else(String::new, |player| {
            let progress = player.progress();
            format!(", {} of {} recorded ones played", progress.messages, progress.total)
        });
        output::say_over(&format!("{elapsed_s:8.1} s  {} messages{played}", self.published));
        self.shown = true;
    }
}
