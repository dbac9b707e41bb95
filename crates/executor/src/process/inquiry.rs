//! Asks a package binary for the descriptions of its node types.

use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossdock_graph::BinaryDescription;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::process::protocol::{OtherVersion, Report, Request, Version};
use crate::process::socket::{
    CONTROL_VALUE, CONTROL_VARIABLE, ControlError, ControlSocket, Received, readable,
};

/// How long a process that has described itself may take to exit before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// The last bytes that a binary has printed on standard error, as many as an error shows.
const WORDS_BYTES_MAX: usize = 1024;

/// Starts a package binary and asks for the descriptions of all its node types; waits at most
/// `timeout` for the answer.
///
/// Standard output of the binary goes nowhere; the error shows its standard error if it does not
/// answer. The binary and all processes that it has started are gone afterwards. Several threads
/// may call this at the same time. Allocates, starts a process and a thread.
///
/// # Errors
///
/// The binary cannot be started, speaks another version of the control protocol, or is no package
/// of Crossdock: it ended, answered something else, or did not answer in time.
pub fn describe(program: &Path, timeout: Duration) -> Result<BinaryDescription, DescribeError> {
    let fail = |what, words| DescribeError { program: program.to_owned(), what, words };
    let (mut socket, theirs) =
        ControlSocket::pair().map_err(|error| fail(Fault::Control(error), String::new()))?;
    let child = Command::new(program)
        .env(CONTROL_VARIABLE, CONTROL_VALUE)
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = child.map_err(|error| fail(Fault::Spawn(error), String::new()))?;
    let words = child.stderr.take().map(Words::listen);
    let answer = ask(&mut socket, timeout);
    drop(socket);
    end(child, answer.is_ok());
    answer.map_err(|what| fail(what, words.map(|words| words.said()).unwrap_or_default()))
}

fn ask(socket: &mut ControlSocket, timeout: Duration) -> Result<BinaryDescription, Fault> {
    socket.send(&Request::Describe).map_err(Fault::from)?;
    let (begin, mut version) = (Instant::now(), Version::default());
    loop {
        let rest = timeout.saturating_sub(begin.elapsed());
        let report = match socket.receive::<Report>(Some(rest))? {
            Received::Frame(report) => version.check(report).map_err(Fault::Version)?,
            Received::Closed => return Err(Fault::NotAPackage),
            Received::Nothing => return Err(Fault::Silent(timeout)),
        };
        match report {
            None => {}
            Some(Report::Description(description)) => return Ok(description),
            Some(_) => return Err(Fault::NotAPackage),
        }
    }
}

/// Ends a process whose control socket has been closed: at once if it did not answer.
fn end(mut child: Child, answered: bool) {
    let pid = Pid::from_child(&child);
    let deadline = Instant::now() + if answered { EXIT_TIMEOUT } else { Duration::ZERO };
    let ended = pidfd_open(pid, PidfdFlags::empty())
        .map_err(ControlError::from)
        .and_then(|pidfd| readable(&[pidfd.as_fd()], Some(deadline)));
    // Its children go with it. The id of its group cannot be another's until it is waited for.
    if !matches!(ended, Ok(true)) || !answered {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    // Fails only if it was waited for already.
    let _ = child.wait();
}

/// How long to wait for the end of a process's output once the process is gone. A child that has
/// left its group may hold the pipe for longer.
const WORDS_TIMEOUT: Duration = Duration::from_secs(1);

/// The last bytes that a process prints on standard error.
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

/// Why a package binary has not described itself.
#[derive(Debug)]
pub struct DescribeError {
    program: PathBuf,
    what: Fault,
    /// The end of what it printed on standard error.
    words: String,
}

#[derive(Debug)]
enum Fault {
    Spawn(std::io::Error),
    NotAPackage,
    Version(OtherVersion),
    Silent(Duration),
    Control(ControlError),
}

impl From<ControlError> for Fault {
    fn from(error: ControlError) -> Self {
        match error {
            // It has ended without an answer.
            ControlError::Closed => Self::NotAPackage,
            other => Self::Control(other),
        }
    }
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.display();
        match &self.what {
            Fault::Spawn(error) => write!(
                f,
                "the package binary {program} cannot be started: {error}; check that it exists, \
                 is built for this computer and may be executed"
            ),
            Fault::NotAPackage => write!(
                f,
                "{program} did not answer like a package binary; its main function must call \
                 `Package::main`, and it must be built with this version of Crossdock"
            ),
            Fault::Version(other) => f.write_str(&other.of(&self.program)),
            Fault::Silent(timeout) => write!(
                f,
                "{program} did not describe its nodes within {} s; its main function must call \
                 `Package::main` before anything that takes long",
                timeout.as_secs_f64()
            ),
            Fault::Control(error) => {
                write!(f, "talking to the package binary {program} failed: {error}")
            }
        }?;
        match self.words.as_str() {
            "" => Ok(()),
            words => write!(f, "; it printed: {words}"),
        }
    }
}

impl std::error::Error for DescribeError {}
