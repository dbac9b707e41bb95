//! A process of nodes, from its first request to its exit: the package binary's side of the control
//! protocol.
//!
//! The main thread sleeps on the control socket and on the executors' notices; every executor has
//! a thread of its own. None of this is on the data path.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossdock_comm::{
    CONTROL_PROTOCOL_VERSION, Participant, ParticipantOptions, RunId, Troubles, child_flag,
};
use crossdock_graph::{OnFailure, ProcessPlan, Realtime};
use rustix::process::Signal;

use crate::node::package::Package;
use crate::node::shown::Shown;
use crate::process::alone;
use crate::process::event::ProcessEvent;
use crate::process::executor_thread::{ExecutorThread, ProcessParts};
use crate::process::notices::{NOTICES_MAX, Notice, Notices};
use crate::process::protocol::{Report, Request};
use crate::process::realtime;
use crate::process::set_up;
use crate::process::socket::{
    CONTROL_VALUE, CONTROL_VARIABLE, ControlError, ControlSocket, Received, readable,
};
use crate::run::panics;
use crate::run::remote::Remote;

/// How long nodes may take to return when the run is to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Notices that are passed on before the launcher is listened to again.
const NOTICES_A_TURN: usize = 16;

impl Package {
    /// The main function of a package binary: obeys the launcher that started it, until the run
    /// ends. Started by hand it runs one node by itself, as its command line says: `--help` tells
    /// how. Call it before anything else, and return what it returns.
    ///
    /// # Errors
    ///
    /// The launcher or the command line cannot be understood, or a node does not return when the
    /// run is to stop. What fails in nodes is reported to the launcher, if there is one, and not
    /// here.
    pub fn main(self) -> Result<(), PackageError> {
        let words = std::env::args_os().skip(1);
        self.main_with(words.map(|word| word.to_string_lossy().into_owned()))
    }

    /// [`main`](Self::main) with these words in place of the words of the command line, the
    /// program's name left out: for programs that have words of their own.
    ///
    /// # Errors
    ///
    /// As for [`main`](Self::main).
    pub fn main_with(self, words: impl IntoIterator<Item = String>) -> Result<(), PackageError> {
        match std::env::var_os(CONTROL_VARIABLE) {
            Some(value) if value == CONTROL_VALUE => obey(&self),
            _ => {
                let words: Vec<String> = words.into_iter().collect();
                set_up::run(&self, &words).unwrap_or_else(|| alone::run(&self, words))
            }
        }
    }
}

/// Obeys the launcher until the run ends.
fn obey(package: &Package) -> Result<(), PackageError> {
    let mut socket = adopt_control_socket()?;
    leave_signals_to_launcher()?;
    answer(&socket, &Report::Speaks(CONTROL_PROTOCOL_VERSION))?;
    loop {
        match socket.receive::<Request>(None)? {
            Received::Frame(Request::Describe) => {
                answer(&socket, &Report::Description(package.description()))?;
            }
            Received::Frame(Request::Launch { plan, run }) => {
                panics::keep();
                let run = run.map(RunId::from_u64);
                return Process::new(package.clone(), *plan, run, socket)?.run();
            }
            Received::Frame(Request::Start { .. } | Request::Resume | Request::Drain) => {
                return Err(ControlError::Packet.into());
            }
            Received::Frame(Request::Stop) | Received::Closed => return Ok(()),
            Received::Nothing => {}
        }
    }
}

/// SIGINT, SIGTERM and SIGHUP may come to all processes of a run at once: from a service manager,
/// or when a session ends. The launcher hears them, too, and ends the run in order. So these
/// signals do nothing here as long as the launcher is there. A forked child does not belong to the
/// run: they end it.
fn leave_signals_to_launcher() -> Result<(), PackageError> {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        signal_hook::flag::register_conditional_default(signal.as_raw(), child_flag())
            .map_err(ControlError::Socket)?;
    }
    Ok(())
}

/// The launcher is gone: signals end the process as they end any other.
fn take_signals_back() {
    child_flag().store(true, Ordering::Relaxed);
}

/// Takes over the standard input as the control socket and leaves `/dev/null` in its place, so
/// that no node can read the launcher's requests.
fn adopt_control_socket() -> Result<ControlSocket, PackageError> {
    let adopted = || {
        let fd = std::io::stdin().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        Ok(fd)
    };
    let fd: OwnedFd = adopted().map_err(ControlError::Socket)?;
    Ok(ControlSocket::adopt(fd)?)
}

/// Reports an event to the launcher.
fn tell(socket: &ControlSocket, event: ProcessEvent) -> Result<(), PackageError> {
    answer(socket, &Report::Event(event))
}

/// Sends a report. A launcher that is gone is no error: the end of the socket shows it next.
fn answer(socket: &ControlSocket, report: &Report) -> Result<(), PackageError> {
    match socket.send(report) {
        Ok(()) | Err(ControlError::Closed) => Ok(()),
        Err(other) => Err(other.into()),
    }
}

/// Bytes of a backtrace that are sent: some hundred frames.
const BACKTRACE_BYTES_MAX: usize = 64 * 1024;

/// A process with its plan.
pub(crate) struct Process {
    socket: ControlSocket,
    notices: Arc<Notices>,
    members: Vec<Member>,
    name: String,
    /// Its memory is to stay in RAM.
    lock_memory: bool,
    realtime: Realtime,
    /// Executors that are not connected yet.
    unready: usize,
    /// Executors that may still begin something by themselves.
    active: usize,
    launcher_gone: bool,
    /// Until when the nodes have to return, once the run is to stop.
    stop_by: Option<Instant>,
    /// What its executors share, and keep until they end.
    parts: Weak<ProcessParts>,
}

/// One executor, seen from the main thread.
struct Member {
    remote: Remote,
    /// Whether it begins something without a message: it begins last.
    is_source: bool,
    /// A message lets it begin behind this simulated time, ns; it ends when this is dropped.
    start: Option<Sender<u64>>,
    thread: JoinHandle<()>,
    ended: bool,
}

impl Process {
    pub(crate) fn new(
        package: Package,
        plan: ProcessPlan,
        run: Option<RunId>,
        socket: ControlSocket,
    ) -> Result<Self, PackageError> {
        let mut process = Self {
            socket,
            notices: Arc::new(Notices::new()?),
            members: Vec::new(),
            name: plan.name.clone(),
            lock_memory: plan.lock_memory,
            realtime: plan.realtime,
            unready: plan.executors.len(),
            active: plan.executors.len(),
            launcher_gone: false,
            stop_by: None,
            parts: Weak::new(),
        };
        if let Err(error) = process.spawn_executors(package, plan, run) {
            process.fail(failure_of_process(error))?;
        }
        Ok(process)
    }

    fn spawn_executors(
        &mut self,
        package: Package,
        plan: ProcessPlan,
        run: Option<RunId>,
    ) -> Result<(), String> {
        let options =
            ParticipantOptions { run, ..ParticipantOptions::new(plan.domain_id, &plan.name) };
        let participant = Participant::open(options).map_err(|error| error.to_string())?;
        plan.uncopied.iter().for_each(|topic| participant.forbid_copies(topic));
        let parts = Arc::new(ProcessParts { package, plan, participant });
        self.parts = Arc::downgrade(&parts);
        for (index, executor) in parts.plan.executors.iter().enumerate() {
            let (start, started) = channel();
            let remote = Remote::new();
            let member = ExecutorThread {
                index,
                process: Arc::clone(&parts),
                notices: Arc::clone(&self.notices),
                remote: remote.clone(),
                started,
            };
            let name = &executor.name;
            let thread = thread::Builder::new().name(name.clone()).spawn(move || member.main());
            let thread = thread
                .map_err(|error| format!("no thread can be had for executor `{name}`: {error}"))?;
            let is_source = executor.has_timers();
            self.members.push(Member {
                remote,
                is_source,
                start: Some(start),
                thread,
                ended: false,
            });
        }
        Ok(())
    }

    /// Serves launcher and executors until all executors have ended.
    pub(crate) fn run(mut self) -> Result<(), PackageError> {
        while !self.members.iter().all(|member| member.ended) {
            // The end of the control socket would wake us for ever.
            let socket = (!self.launcher_gone).then(|| self.socket.as_fd());
            let fds: Vec<_> = socket.into_iter().chain([self.notices.as_fd()]).collect();
            if !readable(&fds, self.stop_by)? {
                return self.give_up();
            }
            // The launcher is heard in between, however many notices the executors give.
            for _ in 0..NOTICES_A_TURN {
                let Some((index, notice)) = self.notices.take() else { break };
                self.notice(index, notice)?;
            }
            self.tell_left_out()?;
            if !self.launcher_gone {
                self.request()?;
            }
        }
        // Their ports are gone. The participant is left, and leaves the domain when the last of
        // them drops it. Panics have been reported.
        for member in self.members.drain(..) {
            let _ = member.thread.join();
        }
        answer(&self.socket, &Report::Stopped)
    }

    fn notice(&mut self, index: usize, notice: Notice) -> Result<(), PackageError> {
        match notice {
            Notice::Event(ProcessEvent::Ready) => {
                self.unready -= 1;
                if self.unready == 0 && self.stop_by.is_none() {
                    self.ready()?;
                }
            }
            Notice::Event(ProcessEvent::AtRest) => {
                self.active -= 1;
                if self.active == 0 {
                    tell(&self.socket, ProcessEvent::AtRest)?;
                }
            }
            Notice::Event(failed @ ProcessEvent::Failed { .. }) => self.fail(failed)?,
            Notice::Event(event) => tell(&self.socket, event)?,
            Notice::Backtrace(backtrace) => {
                // Finding the names of the frames takes its time, which no message waits for here.
                let mut text = backtrace.to_string();
                let fits = |end: &usize| text.is_char_boundary(*end);
                let end = (0..=BACKTRACE_BYTES_MAX.min(text.len())).rev().find(fits);
                text.truncate(end.unwrap_or(0));
                tell(&self.socket, ProcessEvent::Backtrace(text))?;
            }
            Notice::Ended => self.members[index].ended = true,
        }
        Ok(())
    }

    /// Says that executors gave more notices than anybody can read.
    fn tell_left_out(&mut self) -> Result<(), PackageError> {
        match self.notices.take_left_out() {
            0 => Ok(()),
            count => {
                let text = format!(
                    "{count} reports of its nodes were left out: more than {NOTICES_MAX} of them \
                     were waiting"
                );
                tell(&self.socket, ProcessEvent::Warning(text))
            }
        }
    }

    /// From now on what other processes give reason to is told at once. Until now the executors
    /// have looked, because some of it ends the run before it begins.
    fn hear_troubles(&self) {
        let Some(parts) = self.parts.upgrade() else { return };
        let (notices, mut troubles) = (Arc::clone(&self.notices), Troubles::default());
        parts.participant.set_event_callback(move |event| {
            if let Some(text) = troubles.news(&event) {
                // No executor is asked for by its index: it is about all of them.
                notices.give(0, Notice::Event(ProcessEvent::Warning(text)));
            }
        });
    }

    /// All executors are ready, so that the process has all the memory that it will use.
    fn ready(&mut self) -> Result<(), PackageError> {
        self.hear_troubles();
        let locked = match self.lock_memory {
            true => realtime::lock_memory(&self.name),
            false => Ok(()),
        };
        match (locked, self.realtime) {
            (Err(error), Realtime::Required) => {
                return self.fail(failure_of_process(error));
            }
            (Err(text), Realtime::Preferred) => tell(&self.socket, ProcessEvent::Warning(text))?,
            (Ok(()), _) => {}
        }
        tell(&self.socket, ProcessEvent::Ready)
    }

    fn request(&mut self) -> Result<(), PackageError> {
        match self.socket.receive::<Request>(Some(Duration::ZERO)) {
            Ok(Received::Nothing) => {}
            Ok(Received::Frame(Request::Start { made_ns })) => {
                // Executors that begin something by themselves come last.
                let sources = self.members.iter().filter(|member| member.is_source);
                let others = self.members.iter().filter(|member| !member.is_source);
                let all = others.chain(sources);
                for start in all.filter_map(|member| member.start.as_ref()) {
                    // An executor that has ended meanwhile needs no start.
                    let _ = start.send(made_ns);
                }
            }
            Ok(Received::Frame(Request::Resume)) => {
                self.members.iter().for_each(|member| member.remote.resume());
            }
            Ok(Received::Frame(Request::Drain)) => {
                self.members.iter().for_each(|member| member.remote.drain());
            }
            Ok(Received::Frame(Request::Stop)) => self.stop(),
            Ok(Received::Closed) => {
                self.launcher_gone = true;
                take_signals_back();
                self.stop();
            }
            Ok(Received::Frame(_)) => return Err(ControlError::Packet.into()),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Stops all executors and reports the failure; the process then waits until the launcher stops
    /// it.
    fn fail(&mut self, failed: ProcessEvent) -> Result<(), PackageError> {
        for member in &self.members {
            member.remote.stop();
        }
        tell(&self.socket, failed)
    }

    fn stop(&mut self) {
        self.stop_by.get_or_insert_with(|| Instant::now() + STOP_TIMEOUT);
        for member in &mut self.members {
            member.start = None;
            member.remote.stop();
        }
    }

    /// A node does not return: the process ends without it.
    fn give_up(&self) -> Result<(), PackageError> {
        let mut busy = self.members.iter().filter(|member| !member.ended);
        let node = busy.find_map(|member| member.remote.node()).unwrap_or_default();
        let stuck = PackageError::Stuck { node: node.clone(), waited_s: STOP_TIMEOUT.as_secs() };
        let (error, policy) = (stuck.to_string(), OnFailure::StopRun);
        tell(&self.socket, ProcessEvent::Failed { node, error, policy })?;
        Err(stuck)
    }
}

/// A failure that is no node's.
fn failure_of_process(error: String) -> ProcessEvent {
    ProcessEvent::Failed { node: String::new(), error, policy: OnFailure::StopRun }
}

/// Why the main function of a package binary could not do its work.
///
/// Its `Debug` text is the same sentence as its `Display` text, because that is what Rust prints
/// of an error that a main function returns. Whatever the sentence quotes of files and of other
/// processes, neither text has control characters but ends of lines, with a margin behind them.
#[non_exhaustive]
pub enum PackageError {
    /// The binary was started by hand, and cannot do what its command line says, or its node
    /// failed. Packages with commands of their own can say so, too.
    Alone {
        /// Sentences, one a line.
        sentence: String,
    },
    /// The launcher sent a message that is not of the control protocol, or its socket failed.
    Control {
        /// A sentence.
        error: String,
    },
    /// A node did not return after the run was stopped.
    Stuck {
        /// The node; empty if its executor has not said which.
        node: String,
        /// How long the process waited for it, seconds.
        waited_s: u64,
    },
}

impl fmt::Display for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone { sentence } => Shown::new(sentence).fmt(f),
            Self::Control { error } => {
                let error = Shown::new(error);
                write!(f, "the launcher cannot be understood, so this process ends: {error}")
            }
            Self::Stuck { node, waited_s } if node.is_empty() => write!(
                f,
                "an executor did not end within {waited_s} s of the end of the run, so its process \
                 ends without it"
            ),
            Self::Stuck { node, waited_s } => write!(
                f,
                "node `{}` did not return from its work within {waited_s} s of the end of the \
                 run, so its process ends without it; neither `create` nor `execute` may wait",
                Shown::new(node)
            ),
        }
    }
}

impl fmt::Debug for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PackageError {}

impl From<ControlError> for PackageError {
    fn from(error: ControlError) -> Self {
        Self::Control { error: error.to_string() }
    }
}
