//! One line on a terminal that says how far a run is; nothing while nothing happens.
//! It must not wake anybody but the launcher's own main thread, and that only while messages flow.

use super::figures::Figures;
use crossdock_record::Player;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Time from one line to the next.
const TICK: Duration = Duration::from_millis(500);

/// The line.
pub(crate) struct Progress {
    started: Instant,
    /// When the next line is due; `None`: not before something happens.
    due: Option<Instant>,
    published: u64,
    shown: bool,
}

impl Progress {
    /// Shows something only where standard error is a terminal.
    pub(crate) fn new(started: Instant) -> Self {
        let due = std::io::stderr().is_terminal().then(|| started + TICK);
        Self { started, due, published: 0, shown: false }
    }

    /// Shows the line if it is due. When the next one is, `None` while the graph is idle.
    pub(crate) fn next(
        &mut self,
        player: Option<&Player>,
        figures: &mut Figures,
    ) -> Option<Instant> {
        let now = Instant::now();
        if self.due? > now {
            return self.due;
        }
        let Ok(published) = figures.published() else { return self.due };
        // Between the messages of a recording more are to come; else silence means idle.
        let busy = published != self.published || player.is_some();
        self.published = published;
        self.show(player, now);
        self.due = busy.then_some(now + TICK);
        self.due
    }

    /// Ends the line.
    pub(crate) fn end(&self) {
        if self.shown {
            eprintln!();
        }
    }

    fn show(&mut self, player: Option<&Player>, now: Instant) {
        let elapsed_s = now.duration_since(self.started).as_secs_f64();
        let played = player.map_or_else(String::new, |player| {
            let progress = player.progress();
            format!(", {} of {} recorded ones played", progress.messages, progress.total)
        });
        eprint!("\r{elapsed_s:8.1} s  {} messages{played}\x1b[K", self.published);
        // A terminal that cannot be written on shows no progress.
        let _ = std::io::stderr().flush();
        self.shown = true;
    }
}
