//! The launcher's side: starts a package binary and talks to it.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crossdock_comm::RunId;
use crossdock_graph::ProcessPlan;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

pub use crate::process::alone::LIFELINE_VARIABLE;
pub use crate::process::event::ProcessEvent;
use crate::process::protocol::{OtherVersion, Report, Request, Version};
use crate::process::shortage::start_advice;
use crate::process::socket::{
    CONTROL_VALUE, CONTROL_VARIABLE, ControlError, ControlSocket, Received, readable,
};

/// How long a process may take from the end of its control socket to its exit before it is killed:
/// longer than it gives its own nodes to return.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);

/// What to start.
#[derive(Clone, Debug)]
pub struct SpawnOptions {
    /// The package binary (`target/debug/crossdock-autorace`).
    pub program: PathBuf,
    /// Arguments of the binary; normally empty.
    pub arguments: Vec<OsString>,
    /// Variables added to the environment that the process inherits.
    pub environment: Vec<(OsString, OsString)>,
}

/// Where a process writes its standard output and error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessOutput {
    /// To the launcher's own.
    #[default]
    Inherited,
    /// Into two pipes, which [`LaunchedProcess::take_output`] gives. A terminal that goes away, or
    /// that stops background processes that write, then does not affect the process.
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
/// in the terminal reaches only the launcher. A signal that reaches the process all the same (a
/// SIGTERM to all processes of a service) does nothing as long as the launcher is there.
///
/// To wait for events, poll it as a descriptor ([`AsFd`]). When it is readable, call
/// [`event`](Self::event) with a timeout of zero until it returns `None`. Dropping a
/// `LaunchedProcess` closes the control socket, at which the process stops cleanly, waits for its
/// exit and kills it after 15 s.
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
    version: Version,
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

    /// Like [`spawn`](Self::spawn), with a choice of where the process writes its output.
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
                let (program, version) = (program.clone(), Version::default());
                let (exit, processor_ns) = (None, 0);
                Ok(Self { program, child, pidfd, socket, version, kill_at, exit, processor_ns })
            }
            Err(errno) => {
                let mut child = child;
                // Nobody could follow this process, so an error here changes nothing.
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

    /// Kills the process, for example one that hangs. The exit comes as an event.
    pub fn kill(&mut self) {
        // An error means that it has ended in this moment.
        let _ = self.child.kill();
        self.socket = None;
        self.kill_at = None;
    }

    /// Processor time of all its threads in ns, which the kernel counts in ticks of 10 ms; 0 before
    /// [`ProcessEvent::Exited`].
    #[must_use]
    pub fn processor_ns(&self) -> u64 {
        self.processor_ns
    }

    /// When to call [`event`](Self::event) although nothing has come: it then kills a process that
    /// has closed its control socket and does not exit.
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

    /// Sends the plan. The answer comes as [`ProcessEvent::Ready`] or [`ProcessEvent::Failed`].
    ///
    /// # Errors
    ///
    /// The process is gone or does not read.
    pub fn launch(&mut self, plan: &ProcessPlan) -> Result<(), LaunchError> {
        self.send(&Request::Launch { plan: Box::new(plan.clone()), run: None })
    }

    /// Like [`launch`](Self::launch), for a process of a run: its publishers wait for slow
    /// subscribers of the run, and not for other programs.
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
    /// The process does not read. A process that is gone already is no error: its exit comes as an
    /// event.
    pub fn start(&mut self) -> Result<(), LaunchError> {
        self.start_behind(0)
    }

    /// Like [`start`](Self::start), for a process that takes the place of one that has ended.
    /// `made_ns` is the simulated time that the one before has made
    /// ([`MADE_NS`](crate::status::node_counter::MADE_NS)): nodes in lock step go on behind it.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_behind(&mut self, made_ns: u64) -> Result<(), LaunchError> {
        self.ask(&Request::Start { made_ns })
    }

    /// Tells the process that another one has died and is back, so that messages in flight may be
    /// lost. A node in lock step goes on without the answer to its last message.
    ///
    /// # Errors
    ///
    /// The process does not read. A process that is gone already is no error.
    pub fn resume(&mut self) -> Result<(), LaunchError> {
        self.ask(&Request::Resume)
    }

    /// Lets the process come to rest: its timers fire no more, and it still serves messages that
    /// come. It answers with [`ProcessEvent::AtRest`] as soon as that is so; one that was not
    /// [started](Self::start) does not answer.
    ///
    /// # Errors
    ///
    /// The process does not read. A process that is gone already is no error.
    pub fn drain(&mut self) -> Result<(), LaunchError> {
        self.ask(&Request::Drain)
    }

    /// Asks the process to stop when the executions under way have returned; it then exits.
    ///
    /// # Errors
    ///
    /// The process does not read. A process that is gone already is no error.
    pub fn stop(&mut self) -> Result<(), LaunchError> {
        self.ask(&Request::Stop)
    }

    fn ask(&mut self, request: &Request) -> Result<(), LaunchError> {
        match self.send(request) {
            Err(LaunchError { what: LaunchErrorKind::Control(ControlError::Closed), .. }) => Ok(()),
            other => other,
        }
    }

    /// The next event of the process. Waits at most `timeout` for it (`None`: without end), and
    /// returns `None` if there was none in that time. After [`ProcessEvent::Exited`], every call
    /// returns that again. Kills a process that has not exited 15 s after it has closed its control
    /// socket ([`due`](Self::due)).
    ///
    /// # Errors
    ///
    /// The process has sent a message that is not of the control protocol, or speaks another
    /// version of the one by which processes meet. Nothing else is read from it then.
    pub fn event(
        &mut self,
        timeout: Option<Duration>,
    ) -> Result<Option<ProcessEvent>, LaunchError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        while let Some(socket) = self.socket.as_mut() {
            let rest = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let report = match socket.receive::<Report>(rest) {
                Ok(Received::Frame(report)) => {
                    self.version.check(report).map_err(LaunchErrorKind::Version)
                }
                Ok(Received::Nothing) => return Ok(None),
                Ok(Received::Closed) => {
                    self.close();
                    continue;
                }
                Err(error) => Err(error.into()),
            };
            let what = match report {
                // The exit follows, and with it the event that matters.
                Ok(None | Some(Report::Speaks(_) | Report::Stopped)) => continue,
                Ok(Some(Report::Event(event))) => return Ok(Some(event)),
                Ok(Some(Report::Description(_))) => LaunchErrorKind::NotAPackage,
                Err(what) => what,
            };
            self.close();
            return Err(self.error(what));
        }
        Ok(self.exited(deadline)?.map(ProcessEvent::Exited))
    }

    /// Whether the process has closed its control socket, as it does when it dies, and
    /// [`event`](Self::event) has not told its exit yet.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.socket.is_none() && self.exit.is_none()
    }

    /// Hears nothing of the process any more except its exit.
    fn close(&mut self) {
        self.socket = None;
        self.kill_at.get_or_insert_with(|| Instant::now() + EXIT_TIMEOUT);
    }

    /// Waits until `deadline` (`None`: without end) for the exit of a process whose control socket
    /// has closed. Kills the process if it is due.
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

/// Processor time of a process that has exited and that nobody has waited for; 0 if it is not
/// known.
fn processor_ns(pid: u32) -> u64 {
    const TICK_NS: u64 = 10_000_000;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // Behind the name, which stands in parentheses and may hold anything: user time is the field of
    // number 14 and system time the next; the first behind the name has number 3.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    ticks.fold(0, u64::saturating_add).saturating_mul(TICK_NS)
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
    Version(OtherVersion),
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
                "the package binary {program} cannot be started: {error}; {}",
                start_advice(error)
            ),
            LaunchErrorKind::Wait(error) => {
                write!(f, "the exit of the package binary {program} cannot be awaited: {error}")
            }
            LaunchErrorKind::NotAPackage => write!(
                f,
                "{program} did not answer like a package binary; its main function must call \
                 `Package::main`, and it must be built with this version of Crossdock"
            ),
            LaunchErrorKind::Version(other) => f.write_str(&other.of(&self.program)),
            LaunchErrorKind::Control(error) => {
                write!(f, "talking to the package binary {program} failed: {error}")
            }
        }
    }
}

impl std::error::Error for LaunchError {}
