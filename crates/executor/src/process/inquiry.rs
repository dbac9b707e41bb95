//! Asks a package binary for the descriptions of its node types.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crossdock_graph::BinaryDescription;

use crate::process::protocol::{OtherVersion, Report, Request, Version};
use crate::process::short_run::ShortRun;
use crate::process::shortage::start_advice;
use crate::process::socket::{
    CONTROL_VALUE, CONTROL_VARIABLE, ControlError, ControlSocket, Received,
};

/// How long a process that has described itself may take to exit before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

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
    let mut command = Command::new(program);
    command.env(CONTROL_VARIABLE, CONTROL_VALUE).stdin(Stdio::from(theirs));
    let run = ShortRun::start(&mut command);
    // Nobody but the binary has its end of the socket.
    drop(command);
    let run = run.map_err(|error| fail(Fault::Spawn(error), String::new()))?;
    let answer = ask(&mut socket, timeout);
    drop(socket);
    let ended = run.end(if answer.is_ok() { EXIT_TIMEOUT } else { Duration::ZERO });
    answer.map_err(|what| fail(what, ended.map(|ended| ended.words()).unwrap_or_default()))
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
                "the package binary {program} cannot be started: {error}; {}",
                start_advice(error)
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
