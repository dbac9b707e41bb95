//! What the processes of a run print, on its way to the launcher's own output.
//!
//! Processes write into pipes and a thread of the launcher reads them. So a terminal that has gone
//! is no error of a node, one that stops writers in the background stops no node, and what nodes
//! print does not get between the lines of `--json`. Lines of several processes stay whole.

use crate::output;
use anyhow::{Context, Result};
use crossdock_executor::launch::OutputPipes;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of a line that is not complete yet before it is written all the same.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// How long a line may stay incomplete before what there is of it is written.
const LINE_PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Where a process's standard output goes; its standard error goes to the launcher's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Where the launcher's goes.
    Same,
    /// To standard error: standard output is for one JSON value.
    StandardError,
}

/// Passes on what processes print.
pub(super) struct Pipes {
    target: Target,
    inbox: Arc<Inbox>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

/// What the thread is told, and how it is woken.
struct Inbox {
    news: Mutex<News>,
    bell: OwnedFd,
}

/// What the thread has not seen yet.
#[derive(Default)]
struct News {
    pipes: Vec<Pipe>,
    /// No more pipes will come.
    is_over: bool,
}

/// One pipe, and the line that is not complete yet.
struct Pipe {
    fd: OwnedFd,
    stream: output::Stream,
    line: Vec<u8>,
}

impl Pipes {
    /// Starts the thread.
    pub(super) fn open(target: Target) -> Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .context("what passes on the prints of nodes cannot be made")?;
        let inbox = Arc::new(Inbox { news: Mutex::default(), bell });
        let (tell, ended) = channel();
        let of_thread = Arc::clone(&inbox);
        std::thread::Builder::new()
            .name("crossdock-out".to_owned())
            .spawn(move || pass_on(&of_thread, &tell))
            .context(
                "the thread that passes on what nodes print cannot be started; check the limits on \
                 threads and address space (ulimit -u, -v)",
            )?;
        Ok(Self { target, inbox, ended })
    }

    /// Passes on what comes out of these, too.
    pub(super) fn add(&self, pipes: OutputPipes) {
        let stdout = match self.target {
            Target::Same => output::Stream::Output,
            Target::StandardError => output::Stream::Error,
        };
        let both = [(pipes.stdout, stdout), (pipes.stderr, output::Stream::Error)];
        let both = both.map(|(fd, stream)| Pipe { fd, stream, line: Vec::new() });
        self.inbox.change(|news| news.pipes.extend(both));
    }

    /// All processes have ended: waits until what they have printed is written, but not for
    /// programs that they have left behind, nor for a terminal that stands still.
    pub(super) fn finish(&self, patience: Duration) {
        self.inbox.change(|news| news.is_over = true);
        // Nothing is ever sent: the end of the thread is the word, or the time is over.
        let _ = self.ended.recv_timeout(patience);
    }
}

impl Inbox {
    fn change(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner));
        // Only a full counter refuses, and then the thread is awake anyway.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

/// The thread: ends when no pipe is open and none will come.
fn pass_on(inbox: &Inbox, _ended: &Sender<()>) {
    let mut pipes: Vec<Pipe> = Vec::new();
    let mut buffer = vec![0; LINE_BYTES_MAX];
    loop {
        let is_over = {
            let mut news = inbox.news.lock().unwrap_or_else(PoisonError::into_inner);
            pipes.append(&mut news.pipes);
            news.is_over
        };
        if pipes.is_empty() && is_over {
            return;
        }
        let is_partial = pipes.iter().any(|pipe| !pipe.line.is_empty());
        let mut polled = vec![PollFd::new(&inbox.bell, PollFlags::IN)];
        polled.extend(
            pipes.iter().map(|pipe| PollFd::from_borrowed_fd(pipe.fd.as_fd(), PollFlags::IN)),
        );
        let ready: Vec<bool> = match poll(&mut polled, is_partial.then_some(&LINE_PATIENCE)) {
            Ok(_) => polled.iter().map(|fd| !fd.revents().is_empty()).collect(),
            Err(Errno::INTR) => continue,
            // Nothing can be waited for: nobody reads the pipes, and the processes hear of it.
            Err(_) => return,
        };
        if ready[0] {
            let _ = rustix::io::read(&inbox.bell, &mut [0; 8]);
        }
        let mut ready = ready[1..].iter();
        let is_silent = !ready.clone().any(|ready| *ready);
        pipes.retain_mut(|pipe| {
            let is_ready = ready.next().copied().unwrap_or(false);
            if is_silent {
                pipe.write_all();
            }
            !is_ready || pipe.read(&mut buffer)
        });
    }
}

impl Pipe {
    /// Passes on what is there; false at the end.
    fn read(&mut self, buffer: &mut [u8]) -> bool {
        match rustix::io::read(&self.fd, &mut *buffer) {
            Ok(count @ 1..) => {
                self.line.extend_from_slice(&buffer[..count]);
                if self.line.len() > LINE_BYTES_MAX {
                    self.write_all();
                } else if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
                    self.stream.write(&self.line[..=end]);
                    self.line.drain(..=end);
                }
                true
            }
            Err(Errno::INTR) => true,
            Ok(_) | Err(_) => {
                self.write_all();
                false
            }
        }
    }

    fn write_all(&mut self) {
        if !self.line.is_empty() {
            self.stream.write(&self.line);
            self.line.clear();
        }
    }
}
