//! What a person at the terminal wants: keys, and signals that end the program.

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// A wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Quit,
    /// What Ctrl-Z does.
    Suspend,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Left,
    Right,
    Tab,
    Letter(char),
    /// The terminal has changed its size, or an unknown key was pressed: draw again.
    Other,
}

/// Keys and signals.
pub(crate) struct Keyboard {
    /// Standard input where that is a terminal, else the terminal that is written to.
    keys: Option<OwnedFd>,
    /// Bytes of keys that were read and not heard yet: an arrow that is held down comes several
    /// times.
    unheard: Vec<u8>,
    signals: UnixStream,
    sizes: UnixStream,
}

impl Keyboard {
    /// Takes over SIGINT, SIGTERM and SIGHUP, which ask for the end.
    pub(crate) fn open() -> Result<Self> {
        let pipe = |wanted: &[i32]| -> Result<UnixStream> {
            let (signals, sender) = UnixStream::pair()?;
            signals.set_nonblocking(true)?;
            for signal in wanted {
                signal_hook::low_level::pipe::register(*signal, sender.try_clone()?)
                    .context("Ctrl-C cannot be caught")?;
            }
            Ok(signals)
        };
        let signals = pipe(&[SIGINT, SIGTERM, SIGHUP])?;
        let sizes = pipe(&[signal_hook::consts::SIGWINCH])?;
        let (input, output) = (std::io::stdin(), std::io::stdout());
        let keys = if input.is_terminal() { input.as_fd() } else { output.as_fd() };
        let (keys, unheard) = (Some(keys.try_clone_to_owned()?), Vec::new());
        Ok(Self { keys, unheard, signals, sizes })
    }

    /// What becomes readable with a key, for those who wait for more than keys.
    pub(crate) fn keys_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.keys.as_ref()?.as_fd())
    }

    /// The next wish, `None` when there is none until `deadline`.
    pub(crate) fn wait(&mut self, deadline: Instant) -> Result<Option<Key>> {
        if let Some(key) = next_key(&mut self.unheard) {
            return Ok(Some(key));
        }
        let mut polled = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.sizes, PollFlags::IN),
        ];
        polled.extend(self.keys.as_ref().map(|keys| PollFd::new(keys, PollFlags::IN)));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            match poll(&mut polled, Some(&left)) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("the terminal cannot be waited for"),
            }
        }
        let is_ready: Vec<bool> = polled.iter().map(|fd| !fd.revents().is_empty()).collect();
        if is_ready[0] {
            return Ok(Some(Key::Quit));
        }
        if is_ready[1] {
            let mut bytes = [0; 64];
            // Emptied, however often the size has changed.
            let _ = rustix::io::read(&self.sizes, &mut bytes);
            return Ok(Some(Key::Other));
        }
        Ok(Some(self.read()))
    }

    fn read(&mut self) -> Key {
        let mut bytes = [0; 64];
        let Some(keys) = &self.keys else { return Key::Other };
        match rustix::io::read(keys, &mut bytes) {
            // The terminal has gone.
            Ok(0) | Err(Errno::IO) => Key::Quit,
            Ok(count) => {
                self.unheard.extend_from_slice(&bytes[..count]);
                next_key(&mut self.unheard).unwrap_or(Key::Other)
            }
            Err(Errno::INTR | Errno::AGAIN) => Key::Other,
            // It can only be written to.
            Err(_) => {
                self.keys = None;
                Key::Other
            }
        }
    }

    /// Stops the process until it is told to go on.
    pub(crate) fn suspend(&self) -> Result<()> {
        Ok(kill_process(getpid(), Signal::TSTP)?)
    }
}

/// Takes the bytes of the first key.
fn next_key(bytes: &mut Vec<u8>) -> Option<Key> {
    let length = match bytes[..] {
        [] => return None,
        // An escape sequence ends with a letter or `~`.
        [0x1b, b'[' | b'O', ..] => {
            let end = bytes.iter().skip(2).position(|byte| matches!(byte, 0x40..=0x7e));
            end.map_or(bytes.len(), |end| end + 3)
        }
        _ => 1,
    };
    let rest = bytes.split_off(length);
    Some(key(&std::mem::replace(bytes, rest)))
}

/// The wish behind the bytes that a terminal sends for a key.
fn key(bytes: &[u8]) -> Key {
    match bytes {
        [3 | b'q' | b'Q', ..] => Key::Quit,
        [26, ..] => Key::Suspend,
        [b'\t', ..] => Key::Tab,
        b"\x1b[A" | b"\x1bOA" => Key::Up,
        b"\x1b[B" | b"\x1bOB" => Key::Down,
        b"\x1b[C" | b"\x1bOC" => Key::Right,
        b"\x1b[D" | b"\x1bOD" => Key::Left,
        b"\x1b[5~" => Key::PageUp,
        b"\x1b[6~" => Key::PageDown,
        b"\x1b[H" | b"\x1bOH" | b"\x1b[1~" => Key::Home,
        b"\x1b[F" | b"\x1bOF" | b"\x1b[4~" => Key::End,
        [letter @ 32..=126, ..] => Key::Letter(char::from(*letter)),
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_common_terminals_are_understood() {
        let known: [(&[u8], Key); 6] = [
            (b"q", Key::Quit),
            (b"\x03", Key::Quit),
            (b"\x1b[A", Key::Up),
            (b"\x1b[6~", Key::PageDown),
            (b"s", Key::Letter('s')),
            (b"\x1b[99~", Key::Other),
        ];
        for (bytes, wanted) in known {
            assert_eq!(key(bytes), wanted, "{bytes:?}");
        }
        let mut held = b"\x1b[B\x1b[B\x1bOAs".to_vec();
        let keys: Vec<Key> = std::iter::from_fn(|| next_key(&mut held)).collect();
        assert_eq!(keys, [Key::Down, Key::Down, Key::Up, Key::Letter('s')]);
    }
}
