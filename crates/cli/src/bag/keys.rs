//! Keys while a bag is played or recorded on a terminal.

use crate::top::keys::{Key, Keyboard};
use anyhow::{Context, Result};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};
use std::io::IsTerminal;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// The keys of a terminal. Dropping sets the terminal back.
pub(super) struct Keys {
    keyboard: Keyboard,
    /// How the terminal was set.
    before: Termios,
}

impl Keys {
    /// Lets the terminal of standard input hand out each key at once, and not show it. `None`:
    /// nobody is there, the person does not want it, or another program has the terminal: a command
    /// in the background that set it would be stopped.
    pub(super) fn open(disabled: bool) -> Result<Option<Self>> {
        let input = std::io::stdin();
        if disabled || !input.is_terminal() || tcgetpgrp(&input).is_ok_and(|it| it != getpgrp()) {
            return Ok(None);
        }
        let before = tcgetattr(&input).context("the terminal does not say how it is set")?;
        let keyboard = Keyboard::open()?;
        let mut own = before.clone();
        own.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &own).context("the terminal cannot be set")?;
        Ok(Some(Self { keyboard, before }))
    }

    /// What becomes readable with a key.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.keyboard.keys_fd()
    }

    /// The next key that was pressed; `None`: none is left.
    pub(super) fn next(&mut self) -> Result<Option<Key>> {
        self.keyboard.wait(Instant::now())
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that has gone needs no settings.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
