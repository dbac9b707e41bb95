//! `crossdock top`: processes, nodes and topics of running graphs in one table that renews itself.
//!
//! On a terminal it takes the whole screen and listens to keys; elsewhere it prints text or JSON.

pub(crate) mod keys;
mod screen;
mod view;

use crate::arguments::TopArguments;
use crate::output;
use anyhow::Result;
use crossdock_sight::{Look, Sight};
use keys::{Key, Keyboard};
use screen::Screen;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use view::View;

/// Shows the domain until it is told to end.
pub(crate) fn top(arguments: &TopArguments) -> Result<ExitCode> {
    let mut sight = Sight::open(arguments.watch.domain_id, "crossdock top")?;
    let looks = if arguments.once { Some(1) } else { arguments.count };
    let interval = Duration::from_secs_f64(arguments.interval);
    let is_live = !arguments.once && !arguments.watch.json && std::io::stdout().is_terminal();
    // Rates are between two looks.
    let mut look = sight.look()?;
    let mut due = Instant::now() + interval;
    let mut view = View::new(arguments.watch.domain_id, arguments.sort);
    if is_live {
        let mut session = Session { screen: Screen::enter()?, keyboard: Keyboard::open()? };
        return session.run(&mut sight, look, &mut view, interval, looks);
    }
    let mut shown = 0;
    while looks.is_none_or(|looks| shown < looks) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        due = Instant::now() + interval;
        look = sight.look()?;
        output::print(&match arguments.watch.json {
            true => crate::output::json_line(&look)?,
            false => view.page(&look),
        })?;
        shown += 1;
    }
    Ok(ExitCode::SUCCESS)
}

/// A terminal that shows the table.
struct Session {
    screen: Screen,
    keyboard: Keyboard,
}

impl Session {
    fn run(
        &mut self,
        sight: &mut Sight,
        mut look: Look,
        view: &mut View,
        interval: Duration,
        looks: Option<u64>,
    ) -> Result<ExitCode> {
        let mut shown = 0;
        let mut due = Instant::now() + interval;
        loop {
            let size = self.screen.size();
            self.screen.draw(&view.screen(&look, size))?;
            if looks.is_some_and(|looks| shown >= looks) {
                return Ok(ExitCode::SUCCESS);
            }
            match self.keyboard.wait(due)? {
                Some(Key::Quit) => return Ok(ExitCode::SUCCESS),
                Some(Key::Suspend) => {
                    self.screen.leave();
                    self.keyboard.suspend()?;
                    self.screen = Screen::enter()?;
                }
                Some(key) => view.press(key, &look, size),
                None if view.is_paused() => due = Instant::now() + interval,
                None => {
                    due = Instant::now() + interval;
                    look = sight.look()?;
                    shown += 1;
                }
            }
        }
    }
}
