//! A terminal taken over and given back as it was: also when the program panics.
//!
//! A handful of escape sequences that every terminal has understood for decades, so that no library
//! is needed for them.

use anyhow::{Context, Result};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, Once, PoisonError};

/// The other screen, no cursor, no line wrapping.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &[u8] = b"\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Size of a terminal that does not say.
const SIZE_UNSAID: Size = Size { columns: 80, rows: 24 };
/// Characters of a line and lines of a screen that are drawn at most.
const SIZE_MAX: u16 = 1000;

/// The terminal that is taken over, with its settings before.
static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

struct Taken {
    terminal: OwnedFd,
    before: Termios,
}

/// Of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// A line of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) style: Style,
    pub(super) text: String,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// The head of the screen.
    Head,
    /// The names of columns.
    Columns,
    /// What somebody should look at.
    Alarm,
}

impl Style {
    fn sequence(self) -> &'static str {
        // As https://no-color.org asks for it; what is no colour stays.
        let is_coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        match self {
            Self::Plain => "",
            Self::Head => "\x1b[7m",
            Self::Columns if is_coloured => "\x1b[1;36m",
            Self::Alarm if is_coloured => "\x1b[31m",
            Self::Columns | Self::Alarm => "\x1b[1m",
        }
    }
}

/// The terminal, while it is taken over. One at a time.
pub(super) struct Screen {
    terminal: OwnedFd,
}

impl Screen {
    /// Takes over the terminal of standard output.
    pub(super) fn enter() -> Result<Self> {
        Self::enter_on(std::io::stdout().as_fd().try_clone_to_owned()?)
    }

    fn enter_on(terminal: OwnedFd) -> Result<Self> {
        static HOOK: Once = Once::new();
        // What a panic says is to be read on the screen that stays.
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        let before = tcgetattr(&terminal).context("the terminal does not say how it is set")?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw).context("the terminal cannot be set")?;
        let own = terminal.try_clone()?;
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(Taken { terminal, before });
        let screen = Self { terminal: own };
        screen.write(ENTER)?;
        Ok(screen)
    }

    /// Its size now.
    pub(super) fn size(&self) -> Size {
        let Ok(size) = tcgetwinsize(&self.terminal) else { return SIZE_UNSAID };
        if size.ws_col == 0 || size.ws_row == 0 {
            return SIZE_UNSAID;
        }
        let [columns, rows] = [size.ws_col, size.ws_row].map(|it| it.min(SIZE_MAX).into());
        Size { columns, rows }
    }

    /// Shows these lines, which fit, and nothing else.
    pub(super) fn draw(&self, lines: &[Line]) -> Result<()> {
        let mut frame = String::from("\x1b[H");
        for (index, Line { style, text: line }) in lines.iter().enumerate() {
            let on = style.sequence();
            let off = if on.is_empty() { "" } else { "\x1b[0m" };
            let end = if index + 1 < lines.len() { "\r\n" } else { "" };
            frame.push_str(&format!("{on}{line}{off}\x1b[K{end}"));
        }
        frame.push_str("\x1b[J");
        self.write(frame.as_bytes())
    }

    /// Gives the terminal back. Further calls do nothing.
    pub(super) fn leave(&self) {
        give_back();
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        write_all(&self.terminal, bytes).context("the terminal cannot be written")
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

fn give_back() {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(Taken { terminal, before }) = taken {
        // A terminal that has gone needs neither.
        let _ = write_all(&terminal, LEAVE);
        let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
    }
}

fn write_all(terminal: &OwnedFd, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(terminal, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::LocalModes;
    use std::io::Read;

    /// Both sides of a terminal.
    fn terminal() -> (std::fs::File, OwnedFd) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let side = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
        (master.into(), side)
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_speaks() {
        let (mut master, side) = terminal();
        let before = tcgetattr(&side).unwrap();
        assert!(before.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
        let own = side.try_clone().unwrap();
        let panicked = std::thread::spawn(move || {
            let screen = Screen::enter_on(own).unwrap();
            let during = tcgetattr(&screen.terminal).unwrap();
            assert!(!during.local_modes.contains(LocalModes::ICANON));
            let line = |style, text: &str| Line { style, text: text.to_owned() };
            screen.draw(&[line(Style::Head, "head"), line(Style::Plain, "body")]).unwrap();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        let after = tcgetattr(&side).unwrap();
        assert_eq!(after.local_modes, before.local_modes);
        assert_eq!(
            (after.input_modes, after.output_modes),
            (before.input_modes, before.output_modes)
        );
        let mut seen = String::new();
        while !seen.contains("\x1b[?1049l") {
            let mut bytes = [0; 4096];
            let count = master.read(&mut bytes).unwrap();
            seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        let entered = seen.find("\x1b[?1049h").unwrap();
        let left = seen.find("\x1b[?1049l").unwrap();
        assert!(entered < seen.find("body").unwrap() && seen.find("body").unwrap() < left);
        assert!(TAKEN.lock().unwrap().is_none());
    }
}
