//! Programs that are run for an answer: within a time, with all that they start, and with their
//! last words at hand.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::process::socket::{ControlError, readable};

/// The last bytes that a program has printed on standard error, as many as an error shows.
const WORDS_BYTES_MAX: usize = 1024;

/// How long to wait for the end of a program's output once the program is gone. A child that has
/// left its group may hold the pipe for longer.
const WORDS_TIMEOUT: Duration = Duration::from_secs(1);

/// A program that runs in a process group of its own, and whose standard error is read.
#[derive(Debug)]
pub struct ShortRun {
    child: Child,
    words: Option<Words>,
}

/// How a [`ShortRun`] ended.
#[derive(Debug)]
pub struct Ended {
    /// What the program says of its end; a signal if it was ended.
    pub status: ExitStatus,
    /// Whether it came to its end by itself.
    pub in_time: bool,
    words: Option<Words>,
}

impl Ended {
    /// The end of what it printed on standard error, at most 1024 bytes; may have control
    /// characters. Waits a second at most if somebody else still has its standard error.
    pub fn words(&self) -> String {
        self.words.as_ref().map(Words::said).unwrap_or_default()
    }
}

impl ShortRun {
    /// Starts the program. Its standard output goes nowhere. Allocates, starts a process and a
    /// thread.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn()?;
        let words = child.stderr.take().map(Words::listen);
        Ok(Self { child, words })
    }

    /// Waits at most `patience` for the program's end, and ends it otherwise. What it has started
    /// in its group is gone afterwards, too.
    ///
    /// # Errors
    /// The system says nothing of its end.
    pub fn end(mut self, patience: Duration) -> io::Result<Ended> {
        let pid = Pid::from_child(&self.child);
        let deadline = Instant::now() + patience;
        let in_time = pidfd_open(pid, PidfdFlags::empty())
            .map_err(ControlError::from)
            .and_then(|pidfd| readable(&[pidfd.as_fd()], Some(deadline)));
        // The id of its group cannot be another's until it is waited for.
        let _ = kill_process_group(pid, Signal::KILL);
        let status = self.child.wait()?;
        let in_time = in_time.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Ended { status, in_time, words: self.words })
    }
}

/// The last bytes that a process prints on standard error.
#[derive(Debug)]
struct Words {
    last: Arc<Mutex<VecDeque<u8>>>,
    /// Closed when everything was read.
    all: Receiver<()>,
}

impl Words {
    /// Reads on a thread of its own, so that the process never waits for a reader. The thread ends
    /// when the last process has closed the pipe.
    fn listen(mut pipe: ChildStderr) -> Self {
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let last = Arc::clone(&said);
        let (reading, all) = std::sync::mpsc::channel::<()>();
        let listener = std::thread::Builder::new().name("crossdock-words".to_owned());
        // Without a thread nothing is read, and a process that prints much may not answer in time.
        let _ = listener.spawn(move || {
            let mut some = [0; WORDS_BYTES_MAX];
            while let Ok(count @ 1..) = pipe.read(&mut some) {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                last.extend(&some[..count]);
                let surplus = last.len().saturating_sub(WORDS_BYTES_MAX);
                last.drain(..surplus);
            }
            drop(reading);
        });
        Self { last: said, all }
    }

    /// The text that was printed. The process must be gone.
    fn said(&self) -> String {
        // Nothing is ever sent: the other end closes.
        let _ = self.all.recv_timeout(WORDS_TIMEOUT);
        let mut said = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(said.make_contiguous()).trim().to_owned()
    }
}
