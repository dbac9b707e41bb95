//! The launcher's side: starting a package binary and talking to it. It must not know how a
//! process executes its plan, nor where its words are shown.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crossdock_comm::RunId;
use crossdock_graph::{BinaryDescription, OnFailure, ProcessPlan};
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

/// Where a process writes its standard output and error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessOutput {
    /// Where its launcher does.
    #[default]
    Inherited,
    /// Into two pipes, which [`LaunchedProcess::take_output`] gives. A terminal that goes away, or
    /// that stops whoever writes from the background, is the affair of whoever reads these.
    Piped,
}

/// The ends of two pipes from which a process's standard output and error are read.
#[derive(Debug)]
pub struct OutputPipes {
    /// Its standard output.
    pub stdout: OwnedFd,
    /// Its standard error.
    pub stderr: OwnedFd,
}

/// A package binary that runs as a child process, in a process group of its own so that a Ctrl-C
/// in the terminal reaches only the launcher. What reaches it all the same (a SIGTERM to all
/// processes of a service) it leaves to the launcher, as long as that is there.
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
    /// Readable when the process has exited.
    pidfd: OwnedFd,
    /// `None` once the other side is gone.
    socket: Option<ControlSocket>,
    /// When a process is killed that has closed its control socket and does not exit.
    kill_at: Option<Instant>,
    exit: Option<ExitStatus>,
    /// Processor time that it had used when it exited, ns.
    processor_ns: u64,
}

impl LaunchedProcess {
    /// Starts the binary. Its standard input is the control socket, output and error are ours.
    ///
    /// # Errors
    ///
    /// The file cannot be executed, or no socket pair can be had.
    pub fn spawn(options: &SpawnOptions) -> Result<Self, LaunchError> {
        Self::spawn_with(options, ProcessOutput::Inherited)
    }

    /// The same with a choice of where its output goes.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_with(options: &SpawnOptions, output: ProcessOutput) -> Result<Self, LaunchError> {
        use std::os::unix::process::CommandExt;

        let stdio = || match output {
            ProcessOutput::Inherited => Stdio::inherit(),
            ProcessOutput::Piped => Stdio::piped(),
        };

        let program = &options.program;
        let fail = |what| LaunchError { program: program.clone(), what };
        let (socket, theirs) = ControlSocket::pair().map_err(|error| fail(error.into()))?;
        let child = Command::new(program)
            .args(&options.arguments)
            .envs(options.environment.iter().map(|(name, value)| (name, value)))
            .env(CONTROL_VARIABLE, CONTROL_VALUE)
            .stdin(Stdio::from(theirs))
            .stdout(stdio())
            .stderr(stdio())
            .process_group(0)
            .spawn()
            .map_err(|error| fail(LaunchErrorKind::Spawn(error)))?;
        let (socket, kill_at) = (Some(socket), None);
        // Nobody but us waits for the child, so its id cannot be another's yet.
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(pidfd) => {
                let (program, exit, processor_ns) = (program.clone(), None, 0);
                Ok(Self { program, child, pidfd, socket, kill_at, exit, processor_ns })
            }
            Err(errno) => {
                let mut child = child;
                // Whatever becomes of that: it is one that nobody could follow.
                let _ = child.kill().and_then(|()| child.wait());
                Err(fail(LaunchErrorKind::Wait(errno.into())))
            }
        }
    }

    /// The pipes of its output, once, if it was started with [`ProcessOutput::Piped`].
    pub fn take_output(&mut self) -> Option<OutputPipes> {
        let (stdout, stderr) = (self.child.stdout.take()?, self.child.stderr.take()?);
        Some(OutputPipes { stdout: stdout.into(), stderr: stderr.into() })
    }

    /// Kills the process, which is how one ends that stands still. The exit comes as an event.
    pub fn kill(&mut self) {
        // An error means that it has ended in this moment.
        let _ = self.child.kill();
        self.socket = None;
        self.kill_at = None;
    }

    /// Processor time that all its threads have used, as the kernel counts it in ticks of 10 ms, in
    /// ns; 0 before [`ProcessEvent::Exited`].
    #[must_use]
    pub fn processor_ns(&self) -> u64 {
        self.processor_ns
    }

    /// When [`event`](Self::event) has something to do although nothing has come: a process that has
    /// closed its control socket and does not exit is killed then.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.kill_at.filter(|_| self.exit.is_none())
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

    /// Asks for the descriptions of all node types in the binary; waits up to 20 s.
    ///
    /// # Errors
    ///
    /// The binary is no package of Crossdock: it ended, said something else, or nothing in time.
    pub fn describe(&mut self) -> Result<BinaryDescription, LaunchError> {
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
            Some(Ok(Received::Frame(Report::Description(description)))) => Ok(description),
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
        self.send(&Request::Launch { plan: Box::new(plan.clone()), run: None })
    }

    /// The same for a process of a run: its publishers wait for slow subscribers of the run, and not
    /// for programs beside it.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch).
    pub fn launch_in(&mut self, run: RunId, plan: &ProcessPlan) -> Result<(), LaunchError> {
        self.send(&Request::Launch { plan: Box::new(plan.clone()), run: Some(run.to_u64()) })
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
    /// gives it again. A process that has closed its control socket is killed when it has not exited
    /// 15 s later ([`due`](Self::due)).
    ///
    /// # Errors
    ///
    /// The process says something that is not of the control protocol. It is not listened to any more.
    pub fn event(
        &mut self,
        timeout: Option<Duration>,
    ) -> Result<Option<ProcessEvent>, LaunchError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        while let Some(socket) = self.socket.as_mut() {
            let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match socket.receive::<Report>(rest) {
                // The exit follows, and with it the event that matters.
                Ok(Received::Frame(Report::Stopped)) => {}
                Ok(Received::Frame(report)) => match event_of(report) {
                    Some(event) => return Ok(Some(event)),
                    None => {
                        self.close();
                        return Err(self.error(LaunchErrorKind::NotAPackage));
                    }
                },
                Ok(Received::Nothing) => return Ok(None),
                Ok(Received::Closed) => self.close(),
                Err(error) => {
                    self.close();
                    return Err(self.error(error.into()));
                }
            }
        }
        Ok(self.exited(deadline)?.map(ProcessEvent::Exited))
    }

    /// Nothing is heard of the process any more but its exit.
    fn close(&mut self) {
        self.socket = None;
        self.kill_at.get_or_insert_with(|| Instant::now() + EXIT_TIMEOUT);
    }

    /// The exit of a process whose control socket has closed, if it comes until `deadline` (`None`:
    /// whenever it comes). One that is due to be killed is killed.
    fn exited(&mut self, deadline: Option<Instant>) -> Result<Option<ExitStatus>, LaunchError> {
        if let Some(status) = self.exit {
            return Ok(Some(status));
        }
        let until = deadline.into_iter().chain(self.kill_at).min();
        let wait = |until| readable(&[self.pidfd.as_fd()], until);
        if !wait(until).map_err(|error| self.error(error.into()))? {
            if self.kill_at.is_none_or(|at| at > Instant::now()) {
                return Ok(None);
            }
            // An error means that it has ended in this moment.
            let _ = self.child.kill();
            self.kill_at = None;
        }
        // The kernel forgets it with the next call.
        self.processor_ns = processor_ns(self.id());
        let status = self.child.wait().map_err(|error| self.error(LaunchErrorKind::Wait(error)))?;
        self.exit = Some(status);
        Ok(Some(status))
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

/// Processor time of a process that has exited and that nobody has waited for; 0 if it cannot be had.
fn processor_ns(pid: u32) -> u64 {
    const TICK_NS: u64 = 10_000_000;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Behind the name, which stands in parentheses and may hold anything: user time is the field of
    // number 14 and system time the next; the first behind the name has number 3.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    ticks.fold(0, u64::saturating_add).saturating_mul(TICK_NS)
}

/// What a report is to a launcher; `None`: it is none that a launched process has to give.
fn event_of(report: Report) -> Option<ProcessEvent> {
    Some(match report {
        Report::Ready => ProcessEvent::Ready,
        Report::Finished { reason } => ProcessEvent::Finished { reason },
        Report::Failed { node, error, policy } => ProcessEvent::Failed { node, error, policy },
        Report::Dropped { node, error } => ProcessEvent::NodeDropped { node, error },
        Report::Backtrace { text } => ProcessEvent::Backtrace(text),
        Report::Warning { text } => ProcessEvent::Warning(text),
        Report::Description(_) | Report::Stopped => return None,
    })
}

impl AsFd for LaunchedProcess {
    /// Readable when [`LaunchedProcess::event`] has something to give; for ever after
    /// [`ProcessEvent::Exited`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Some(socket) => socket.as_fd(),
            None => self.pidfd.as_fd(),
        }
    }
}

impl Drop for LaunchedProcess {
    fn drop(&mut self) {
        self.socket = None;
        if self.exit.is_none() {
            // At once, if it was killed already.
            let patience = self.kill_at.get_or_insert_with(|| Instant::now() + EXIT_TIMEOUT);
            let patience = *patience;
            // A process that cannot be waited for is beyond the reach of a destructor.
            let _ = self.exited(Some(patience));
        }
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
