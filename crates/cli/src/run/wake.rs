//! What the launcher's main thread sleeps on: processes, signals, the player and the recorder.

use anyhow::{Context, Result};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

/// Why the main thread woke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Ctrl-C, SIGTERM, or SIGHUP: the terminal or the session has gone.
    Signal,
    /// Ctrl-Z, which was refused.
    Suspension,
    /// A process has something to say.
    Process,
    /// Somebody used a caller.
    Called,
    /// The time is over.
    Deadline,
}

/// Whether this process was started with the signal ignored; false where that cannot be known.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The descriptors that do not belong to a process.
pub(crate) struct Wake {
    signals: UnixStream,
    /// Ctrl-Z, where it is refused.
    suspensions: Option<UnixStream>,
    calls: Arc<OwnedFd>,
}

/// What Ctrl-Z does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspension {
    /// The launcher stands still until it is told to go on, as any program.
    Allowed,
    /// Nothing: nodes wait for the launcher, which records what they publish.
    Refused,
}

impl Wake {
    /// Takes over SIGINT, SIGTERM and SIGHUP; SIGTSTP where Ctrl-Z is refused.
    pub(crate) fn new(suspension: Suspension) -> Result<Self> {
        Self::made(suspension).context("what wakes the command for signals cannot be made")
    }

    fn made(suspension: Suspension) -> Result<Self> {
        let (signals, sender) = UnixStream::pair()?;
        let register = |signal, sender: &UnixStream| -> Result<()> {
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)
                .context("Ctrl-C cannot be caught")?;
            Ok(())
        };
        // Who starts a program with `nohup` wants it to outlive the session.
        let hang_up = Some(SIGHUP).filter(|signal| !is_ignored(*signal));
        for signal in [SIGINT, SIGTERM].into_iter().chain(hang_up) {
            register(signal, &sender)?;
        }
        let suspensions = match suspension {
            Suspension::Allowed => None,
            Suspension::Refused => {
                let (suspensions, sender) = UnixStream::pair()?;
                register(SIGTSTP, &sender)?;
                Some(suspensions)
            }
        };
        let calls = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { signals, suspensions, calls: Arc::new(calls) })
    }

    /// A function that wakes the main thread, from any thread.
    pub(crate) fn caller(&self) -> impl Fn() + Send + Sync + 'static {
        let calls = Arc::clone(&self.calls);
        move || {
            // Only a full counter refuses, and then the thread is awake anyway.
            let _ = rustix::io::write(&*calls, &1_u64.to_ne_bytes());
        }
    }

    /// Sleeps until something happens, at most until `deadline`; without one, without end.
    pub(crate) fn wait<'a>(
        &self,
        processes: impl Iterator<Item = BorrowedFd<'a>>,
        deadline: Option<Instant>,
    ) -> Result<Woken> {
        let mut polled = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.calls, PollFlags::IN),
        ];
        polled.extend(self.suspensions.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        polled.extend(processes.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            });
            match poll(&mut polled, left.as_ref()) {
                Ok(0) => return Ok(Woken::Deadline),
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error).context("the launcher cannot wait"),
            }
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        if is_ready(&polled[0]) {
            // One byte per signal, so that a second one is heard of by itself.
            let mut byte = [0; 1];
            let _ = rustix::io::read(&self.signals, &mut byte);
            return Ok(Woken::Signal);
        }
        if is_ready(&polled[1]) {
            let mut count = [0; 8];
            // Emptied, whatever it was; another thread cannot have emptied it.
            let _ = rustix::io::read(self.calls.as_fd(), &mut count);
            return Ok(Woken::Called);
        }
        if let Some(suspensions) = self.suspensions.as_ref().filter(|_| is_ready(&polled[2])) {
            let mut bytes = [0; 16];
            let _ = rustix::io::read(suspensions, &mut bytes);
            return Ok(Woken::Suspension);
        }
        Ok(Woken::Process)
    }
}
