//! The launcher's side: starting a package binary and talking to it. It must not know how a
//! process executes its plan, nor where its words are shown.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crossdock_graph::{BinaryInterface, OnFailure, ProcessPlan};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::control::{
    CONTROL_VALUE, CONTROL_VARIABLE, ControlError, ControlSocket, Received, Report, Request,
    readable,
};

/// How long a process may take to describe itself.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a process may take from the end of its control socket to its exit before it is killed:
/// longer than it gives its own nodes to return.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);

/// What to start.
#[derive(Clone, Debug)]
pub struct SpawnOptions {
    /// The package binary (`target/debug/crossdock-autorace`).
    pub program: PathBuf,
    /// Arguments before which no plan is read; normally empty.
    pub arguments: Vec<OsString>,
    /// Variables added to the environment that the process inherits.
    pub environment: Vec<(OsString, OsString)>,
}

/// What a launched process reports.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessEvent {
    /// All its nodes stand and every expected connection with them.
    Ready,
    /// A node asked for the end of the run, and everything in flight in its executor is done. The
    /// process still serves messages until it is stopped.
    Finished {
        /// The node's words.
        reason: String,
    },
    /// A node failed, or the process could not do what its plan says. None of its nodes executes
    /// any more; its counters stay readable until it is stopped.
    Failed {
        /// Name of the node, empty when it was none.
        node: String,
        /// A sentence.
        error: String,
        /// What the graph says of a failure of this node.
        policy: OnFailure,
    },
    /// A node failed and was taken out, as the graph says. Everything else goes on.
    NodeDropped {
        /// Name of the node.
        node: String,
        /// A sentence.
        error: String,
    },
    /// How the panic came about that was the last failure, where `RUST_BACKTRACE` asks for that; lines.
    Backtrace(String),
    /// The process goes on without something that the mapping prefers; a sentence.
    Warning(String),
    /// The process has ended.
    Exited(ExitStatus),
}

/// A package binary that runs as a child process, in a process group of its own so that a Ctrl-C
/// in the terminal reaches only the launcher.
///
/// Waits for events on it as a descriptor ([`AsFd`]): when it is readable, [`event`](Self::event)
/// with a time of zero gives what came, until it gives `None`. Dropping it closes the control
/// socket, at which the process stops cleanly, waits for its exit and kills it after 15 s.
///
/// Not for the data path: all methods allocate and make system calls.
#[derive(Debug)]
pub struct LaunchedProcess {
    program: PathBuf,
    child: Child,
    /// `None` once the other side is gone.
    socket: Option<ControlSocket>,
    exit: Option<ExitStatus>,
}

impl LaunchedProcess {
    /// Starts the binary. Its standard input is the control socket, output and error are ours.
    ///
    /// # Errors
    ///
    /// The file cannot be executed, or no socket pair can be had.
    pub fn spawn(options: &SpawnOptions) -> Result<Self, LaunchError> {
        use std::os::unix::process::CommandExt;

        let program = &options.program;
        let fail = |what| LaunchError { program: program.clone(), what };
        let (socket, theirs) = ControlSocket::pair().map_err(|error| fail(error.into()))?;
        let child = Command::new(program)
            .args(&options.arguments)
            .envs(options.environment.iter().map(|(name, value)| (name, value)))
            .env(CONTROL_VARIABLE, CONTROL_VALUE)
            .stdin(Stdio::from(theirs))
            .process_group(0)
            .spawn()
            .map_err(|error| fail(LaunchErrorKind::Spawn(error)))?;
        Ok(Self { program: program.clone(), child, socket: Some(socket), exit: None })
    }

    /// The binary.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks for the interfaces of all node types in the binary; waits up to 20 s.
    ///
    /// # Errors
    ///
    /// The binary is no package of Crossdock: it ended, said something else, or nothing in time.
    pub fn describe(&mut self) -> Result<BinaryInterface, LaunchError> {
        self.send(&Request::Describe).map_err(|error| match error.what {
            // It has ended without a word.
            LaunchErrorKind::Control(ControlError::Closed) => {
                self.error(LaunchErrorKind::NotAPackage)
            }
            _ => error,
        })?;
        let socket = self.socket.as_mut();
        let received = socket.map(|socket| socket.receive::<Report>(Some(DESCRIBE_TIMEOUT)));
        match received {
            Some(Ok(Received::Frame(Report::Interfaces(interface)))) => Ok(interface),
            Some(Ok(Received::Frame(_))) => Err(self.error(LaunchErrorKind::NotAPackage)),
            Some(Ok(Received::Nothing)) => Err(self.error(LaunchErrorKind::Silent)),
            Some(Err(error)) => Err(self.error(error.into())),
            Some(Ok(Received::Closed)) | None => Err(self.error(LaunchErrorKind::NotAPackage)),
        }
    }

    /// Sends the plan. The answer comes as [`ProcessEvent::Ready`] or [`ProcessEvent::Failed`].
    ///
    /// # Errors
    ///
    /// The process is gone or does not read.
    pub fn launch(&mut self, plan: &ProcessPlan) -> Result<(), LaunchError> {
        self.send(&Request::Launch(Box::new(plan.clone())))
    }

    /// Lets the nodes of a process that is ready begin.
    ///
    /// # Errors
    ///
    /// The process is gone or does not read.
    pub fn start(&mut self) -> Result<(), LaunchError> {
        self.send(&Request::Start)
    }

    /// Tells the process that another one has died and is back: messages that were in flight may be
    /// lost. A node in lock step goes on without the answer to its last output.
    ///
    /// # Errors
    ///
    /// The process does not read. One that is gone already is no error.
    pub fn resume(&mut self) -> Result<(), LaunchError> {
        self.ask(&Request::Resume)
    }

    /// Lets the process come to rest: its timers fire no more, messages that come are still served.
    ///
    /// # Errors
    ///
    /// The process does not read. One that is gone already is no error.
    pub fn drain(&mut self) -> Result<(), LaunchError> {
        self.ask(&Request::Drain)
    }

    /// Asks the process to stop when the executions under way have returned; it then exits.
    ///
    /// # Errors
    ///
    /// The process does not read. One that is gone already is no error.
    pub fn stop(&mut self) -> Result<(), LaunchError> {
        self.ask(&Request::Stop)
    }

    fn ask(&mut self, request: &Request) -> Result<(), LaunchError> {
        match self.send(request) {
            Err(LaunchError { what: LaunchErrorKind::Control(ControlError::Closed), .. }) => Ok(()),
            other => other,
        }
    }

    /// The next thing that the process reports, waiting at most `timeout` (`None`: until there is
    /// one). `None` when there was nothing in that time. After [`ProcessEvent::Exited`] every call
    /// gives it again. A process that has closed its control socket is waited for until its exit,
    /// whatever the time, and killed after 15 s.
    ///
    /// # Errors
    ///
    /// The process says something that is not of the control protocol.
    pub fn event(
        &mut self,
        timeout: Option<Duration>,
    ) -> Result<Option<ProcessEvent>, LaunchError> {
        let Some(socket) = self.socket.as_mut() else {
            return Ok(Some(ProcessEvent::Exited(self.exited()?)));
        };
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            return match socket.receive::<Report>(rest) {
                Ok(Received::Frame(Report::Ready)) => Ok(Some(ProcessEvent::Ready)),
                Ok(Received::Frame(Report::Finished { reason })) => {
                    Ok(Some(ProcessEvent::Finished { reason }))
                }
                Ok(Received::Frame(Report::Failed { node, error, policy })) => {
                    Ok(Some(ProcessEvent::Failed { node, error, policy }))
                }
                Ok(Received::Frame(Report::Dropped { node, error })) => {
                    Ok(Some(ProcessEvent::NodeDropped { node, error }))
                }
                Ok(Received::Frame(Report::Backtrace { text })) => {
                    Ok(Some(ProcessEvent::Backtrace(text)))
                }
                Ok(Received::Frame(Report::Warning { text })) => {
                    Ok(Some(ProcessEvent::Warning(text)))
                }
                // The exit follows, and with it the event that matters.
                Ok(Received::Frame(Report::Stopped)) => continue,
                Ok(Received::Frame(Report::Interfaces(_))) => {
                    Err(self.error(LaunchErrorKind::NotAPackage))
                }
                Ok(Received::Nothing) => Ok(None),
                Ok(Received::Closed) => Ok(Some(ProcessEvent::Exited(self.exited()?))),
                Err(error) => Err(self.error(error.into())),
            };
        }
    }

    /// Waits for the exit of a process whose control socket has closed, and kills it when it takes
    /// longer than 15 s.
    fn exited(&mut self) -> Result<ExitStatus, LaunchError> {
        self.socket = None;
        if let Some(status) = self.exit {
            return Ok(status);
        }
        let exited = self.wait_exit(Instant::now() + EXIT_TIMEOUT);
        if !matches!(exited, Ok(true)) {
            // An error means that it ended in this moment.
            let _ = self.child.kill();
        }
        let status = self.child.wait().map_err(|error| self.error(LaunchErrorKind::Wait(error)))?;
        self.exit = Some(status);
        Ok(status)
    }

    fn wait_exit(&self, deadline: Instant) -> Result<bool, ControlError> {
        let pidfd = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
        readable(&[pidfd.as_fd()], Some(deadline))
    }

    fn send(&mut self, request: &Request) -> Result<(), LaunchError> {
        let sent = match &self.socket {
            Some(socket) => socket.send(request),
            None => Err(ControlError::Closed),
        };
        sent.map_err(|error| self.error(error.into()))
    }

    fn error(&self, what: LaunchErrorKind) -> LaunchError {
        LaunchError { program: self.program.clone(), what }
    }
}

impl AsFd for LaunchedProcess {
    /// Readable when [`LaunchedProcess::event`] has something to give.
    ///
    /// # Panics
    ///
    /// After [`ProcessEvent::Exited`]: there is nothing to wait for.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_ref().expect("no descriptor is left after the exit of the process").as_fd()
    }
}

impl Drop for LaunchedProcess {
    fn drop(&mut self) {
        // A process that cannot be waited for is beyond the reach of a destructor.
        let _ = self.exited();
    }
}

/// Why a package binary could not be started, asked or told something.
#[derive(Debug)]
pub struct LaunchError {
    program: PathBuf,
    what: LaunchErrorKind,
}

#[derive(Debug)]
enum LaunchErrorKind {
    Spawn(std::io::Error),
    Wait(std::io::Error),
    NotAPackage,
    Silent,
    Control(ControlError),
}

impl From<ControlError> for LaunchErrorKind {
    fn from(error: ControlError) -> Self {
        Self::Control(error)
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.display();
        match &self.what {
            LaunchErrorKind::Spawn(error) => write!(
                f,
                "the package binary {program} cannot be started: {error}; check that it exists, \
                 is built for this computer and may be executed"
            ),
            LaunchErrorKind::Wait(error) => {
                write!(f, "the exit of the package binary {program} cannot be awaited: {error}")
            }
            LaunchErrorKind::NotAPackage => write!(
                f,
                "{program} did not answer like a package binary; its main function must call \
                 `Package::main`, and it must be built with this version of Crossdock"
            ),
            LaunchErrorKind::Silent => write!(
                f,
                "{program} did not describe its nodes within {} s; its main function must call \
                 `Package::main` before anything that takes long",
                DESCRIBE_TIMEOUT.as_secs()
            ),
            LaunchErrorKind::Control(error) => {
                write!(f, "talking to the package binary {program} failed: {error}")
            }
        }
    }
}

impl std::error::Error for LaunchError {}
