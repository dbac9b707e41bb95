//! A process of nodes, from its first request to its exit: the side of the control protocol that
//! a package binary plays. It must not know how an executor does its work.
//!
//! The main thread sleeps on the control socket and on the executors' notices; every executor has
//! a thread of its own. None of this is on the data path.

use std::backtrace::Backtrace;
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossdock_comm::{Participant, ParticipantOptions, PrivateFd, RunId, child_flag};
use crossdock_graph::{ExecutorPlan, OnFailure, ProcessPlan, Realtime};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::Signal;

use crate::control::{
    CONTROL_VALUE, CONTROL_VARIABLE, ControlError, ControlSocket, Received, Report, Request,
    readable,
};
use crate::executor::{Executor, ExecutorOptions, RunEnd, RunError, panic_text};
use crate::package::{Package, PackageError};
use crate::panics;
use crate::realtime;
use crate::record::Statistics;
use crate::remote::Remote;

/// How long nodes may take to return when the run is to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the connections of a process may take to stand once its nodes do: every other process
/// of the run has to come up meanwhile.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// The main function of a package binary.
pub(crate) fn main(package: &Package) -> Result<(), PackageError> {
    let mut socket = adopt_control_socket(package)?;
    leave_signals_to_launcher()?;
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
            Received::Frame(Request::Start | Request::Resume | Request::Drain) => {
                return Err(ControlError::Packet.into());
            }
            Received::Frame(Request::Stop) | Received::Closed => return Ok(()),
            Received::Nothing => {}
        }
    }
}

/// SIGINT, SIGTERM and SIGHUP may come to all processes of a run at once: from a service manager, or
/// when a session ends. The launcher hears them, too, and ends the run in order; so they do nothing
/// here as long as it is there. A forked child does not belong to the run: they end it.
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
/// that no node can read the launcher's words.
fn adopt_control_socket(package: &Package) -> Result<ControlSocket, PackageError> {
    if std::env::var_os(CONTROL_VARIABLE).is_none_or(|value| value != CONTROL_VALUE) {
        return Err(PackageError::NotLaunched { package: package.name().to_owned() });
    }
    let adopted = || {
        let fd = std::io::stdin().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        Ok(fd)
    };
    let fd: OwnedFd = adopted().map_err(ControlError::Socket)?;
    Ok(ControlSocket::adopt(fd)?)
}

/// Sends; a launcher that is gone is no error, the end of the socket tells it next.
fn answer(socket: &ControlSocket, report: &Report) -> Result<(), PackageError> {
    match socket.send(report) {
        Ok(()) | Err(ControlError::Closed) => Ok(()),
        Err(other) => Err(other.into()),
    }
}

/// Of a backtrace, that much is sent: some hundred frames.
const BACKTRACE_BYTES_MAX: usize = 64 * 1024;

/// A process with its plan.
struct Process {
    socket: ControlSocket,
    notices: Arc<Notices>,
    members: Vec<Member>,
    name: String,
    /// Its memory is to stay in RAM.
    lock_memory: bool,
    realtime: Realtime,
    /// Executors that are not connected yet.
    unready: usize,
    launcher_gone: bool,
    /// Until when the nodes have to return, once the run is to stop.
    stop_by: Option<Instant>,
}

/// One executor, seen from the main thread.
struct Member {
    remote: Remote,
    /// Whether something begins in it without a message: it begins last.
    is_source: bool,
    /// Lets it begin; dropped, it ends.
    start: Option<Sender<()>>,
    thread: JoinHandle<()>,
    ended: bool,
}

impl Process {
    fn new(
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
            launcher_gone: false,
            stop_by: None,
        };
        if let Err(error) = process.spawn_executors(package, plan, run) {
            process.fail(String::new(), error, OnFailure::StopRun)?;
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
        let shared = Arc::new(Shared { package, plan, participant });
        for index in 0..shared.plan.executors.len() {
            let (start, started) = channel();
            let remote = Remote::new();
            let member = Thread {
                index,
                shared: Arc::clone(&shared),
                notices: Arc::clone(&self.notices),
                remote: remote.clone(),
                started,
            };
            let name = &shared.plan.executors[index].name;
            let thread = thread::Builder::new().name(name.clone()).spawn(move || member.main());
            let thread = thread
                .map_err(|error| format!("no thread can be had for executor `{name}`: {error}"))?;
            let is_source = shared.plan.executors[index].has_timers();
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
    fn run(mut self) -> Result<(), PackageError> {
        while !self.members.iter().all(|member| member.ended) {
            // The end of the control socket would wake us for ever.
            let socket = (!self.launcher_gone).then(|| self.socket.as_fd());
            let fds: Vec<_> = socket.into_iter().chain([self.notices.as_fd()]).collect();
            if !readable(&fds, self.stop_by)? {
                return self.give_up();
            }
            // The launcher is heard in between, however much the executors have to tell.
            for _ in 0..NOTICES_A_TURN {
                let Some((index, notice)) = self.notices.take() else { break };
                self.notice(index, notice)?;
            }
            self.tell_left_out()?;
            if !self.launcher_gone {
                self.request()?;
            }
        }
        // Their ports are gone; what is left is the participant, which leaves the domain when the
        // last of them drops it. What panicked has been reported.
        for member in self.members.drain(..) {
            let _ = member.thread.join();
        }
        answer(&self.socket, &Report::Stopped)
    }

    fn notice(&mut self, index: usize, notice: Notice) -> Result<(), PackageError> {
        match notice {
            Notice::Ready => {
                self.unready -= 1;
                if self.unready == 0 && self.stop_by.is_none() {
                    self.ready()?;
                }
            }
            Notice::Finished { reason } => answer(&self.socket, &Report::Finished { reason })?,
            Notice::Failed { node, error, policy } => self.fail(node, error, policy)?,
            Notice::Dropped { node, error } => {
                answer(&self.socket, &Report::Dropped { node, error })?;
            }
            Notice::Warning { text } => answer(&self.socket, &Report::Warning { text })?,
            Notice::Backtrace(backtrace) => {
                // Finding the names of the frames takes its time, which no message waits for here.
                let mut text = backtrace.to_string();
                let fits = |end: &usize| text.is_char_boundary(*end);
                let end = (0..=BACKTRACE_BYTES_MAX.min(text.len())).rev().find(fits);
                text.truncate(end.unwrap_or(0));
                answer(&self.socket, &Report::Backtrace { text })?;
            }
            Notice::Ended => self.members[index].ended = true,
        }
        Ok(())
    }

    /// Says that executors had more to tell than anybody can read.
    fn tell_left_out(&mut self) -> Result<(), PackageError> {
        match self.notices.take_left_out() {
            0 => Ok(()),
            count => {
                let text = format!(
                    "{count} reports of its nodes were left out: more than {NOTICES_MAX} of them \
                     were waiting"
                );
                answer(&self.socket, &Report::Warning { text })
            }
        }
    }

    /// Everything stands: the memory is what it will be.
    fn ready(&mut self) -> Result<(), PackageError> {
        let locked = match self.lock_memory {
            true => realtime::lock_memory(&self.name),
            false => Ok(()),
        };
        match (locked, self.realtime) {
            (Err(error), Realtime::Required) => {
                return self.fail(String::new(), error, OnFailure::StopRun);
            }
            (Err(text), Realtime::Preferred) => answer(&self.socket, &Report::Warning { text })?,
            (Ok(()), _) => {}
        }
        answer(&self.socket, &Report::Ready)
    }

    fn request(&mut self) -> Result<(), PackageError> {
        match self.socket.receive::<Request>(Some(Duration::ZERO)) {
            Ok(Received::Nothing) => {}
            Ok(Received::Frame(Request::Start)) => {
                // Those that begin by themselves come last.
                let sources = self.members.iter().filter(|member| member.is_source);
                let others = self.members.iter().filter(|member| !member.is_source);
                let all = others.chain(sources);
                for start in all.filter_map(|member| member.start.as_ref()) {
                    // An executor that has ended meanwhile needs no start.
                    let _ = start.send(());
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

    /// No node executes any more; the process waits for the launcher's word to take down the rest.
    fn fail(&mut self, node: String, error: String, policy: OnFailure) -> Result<(), PackageError> {
        for member in &self.members {
            member.remote.stop();
        }
        answer(&self.socket, &Report::Failed { node, error, policy })
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
        answer(&self.socket, &Report::Failed { node, error, policy })?;
        Err(stuck)
    }
}

/// What all executors of a process use.
struct Shared {
    package: Package,
    plan: ProcessPlan,
    participant: Participant,
}

/// What the thread of one executor needs.
struct Thread {
    index: usize,
    shared: Arc<Shared>,
    notices: Arc<Notices>,
    remote: Remote,
    started: Receiver<()>,
}

impl Thread {
    fn main(self) {
        // Nodes' panics while they are made or run are caught where they happen; what is caught
        // here are panics while nodes are dropped.
        let ended = catch_unwind(AssertUnwindSafe(|| self.execute())).unwrap_or_else(|panic| {
            let error = format!(
                "a node of executor `{}` panicked while it was dropped{}: {}",
                self.plan().name,
                panics::place(),
                panic_text(&*panic)
            );
            Err(RunError { node: String::new(), error })
        });
        if let Err(RunError { node, error }) = ended {
            let policy = OnFailure::StopRun;
            self.report(Notice::Failed { node, error, policy });
        }
        self.notices.give(self.index, Notice::Ended);
    }

    /// Reports a failure, and how it came about, should it have been a panic.
    fn report(&self, failure: Notice) {
        self.notices.give(self.index, failure);
        if let Some(backtrace) = panics::backtrace() {
            self.notices.give(self.index, Notice::Backtrace(Box::new(backtrace)));
        }
    }

    fn plan(&self) -> &ExecutorPlan {
        &self.shared.plan.executors[self.index]
    }

    /// What the mapping asks for and the computer may refuse.
    fn claim(&self, claim: fn(&ExecutorPlan) -> Result<(), String>) -> Result<(), RunError> {
        match (claim(self.plan()), self.shared.plan.realtime) {
            (Err(error), Realtime::Required) => Err(RunError { node: String::new(), error }),
            (Err(text), Realtime::Preferred) => {
                self.notices.give(self.index, Notice::Warning { text });
                Ok(())
            }
            (Ok(()), _) => Ok(()),
        }
    }

    fn execute(&self) -> Result<(), RunError> {
        panics::enter();
        // Before the nodes are made, so that their memory is near their CPUs.
        self.claim(realtime::bind)?;
        let mut executor = Executor::new(ExecutorOptions {
            participant: &self.shared.participant,
            package: &self.shared.package,
            plan: self.plan(),
            time: self.shared.plan.time,
            duration_ns: self.shared.plan.duration_ns,
            chains: &self.shared.plan.chains,
            statistics: Statistics::On,
            remote: self.remote.clone(),
        })?;
        for text in std::mem::take(&mut executor.warnings) {
            self.notices.give(self.index, Notice::Warning { text });
        }
        executor.connect(CONNECT_TIMEOUT)?;
        // After the nodes were made, which may take as long as it likes.
        self.claim(realtime::prioritise)?;
        self.notices.give(self.index, Notice::Ready);
        if self.started.recv().is_err() {
            return Ok(());
        }
        loop {
            match executor.run() {
                Ok(RunEnd::Stopped) => break,
                Ok(RunEnd::Finished { reason }) => {
                    self.notices.give(self.index, Notice::Finished { reason });
                }
                Ok(RunEnd::NodeDropped(RunError { node, error })) => {
                    self.report(Notice::Dropped { node, error });
                }
                Err(failed) => {
                    let policy = executor.on_failure(&failed);
                    let RunError { node, error } = failed;
                    self.report(Notice::Failed { node, error, policy });
                    break;
                }
            }
        }
        // Publishers elsewhere do not wait until the process ends.
        executor.leave();
        // What was counted stays readable until the launcher has had its look and stops the
        // process.
        let _ = self.started.recv();
        Ok(())
    }
}

/// What an executor tells the main thread.
enum Notice {
    Ready,
    Finished {
        reason: String,
    },
    Failed {
        node: String,
        error: String,
        policy: OnFailure,
    },
    Dropped {
        node: String,
        error: String,
    },
    Warning {
        text: String,
    },
    /// How the last failure came about.
    Backtrace(Box<Backtrace>),
    Ended,
}

impl Notice {
    /// Whether the process cannot go on rightly without it. An executor gives few of these.
    fn is_vital(&self) -> bool {
        match self {
            Self::Ready | Self::Finished { .. } | Self::Failed { .. } | Self::Ended => true,
            Self::Dropped { .. } | Self::Warning { .. } | Self::Backtrace(_) => false,
        }
    }
}

/// Notices that wait for the main thread, but for the vital ones: each node is taken out at most once,
/// and few of a run are.
const NOTICES_MAX: usize = 256;

/// Notices that are passed on before the launcher is listened to again.
const NOTICES_A_TURN: usize = 16;

/// Notices on their way to the main thread, with a descriptor that it can sleep on.
struct Notices {
    waiting: Mutex<Waiting>,
    bell: PrivateFd,
}

#[derive(Default)]
struct Waiting {
    queue: VecDeque<(usize, Notice)>,
    /// Those that found no room since the last look.
    left_out: u64,
}

impl Notices {
    fn new() -> Result<Self, ControlError> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { waiting: Mutex::default(), bell: bell.into() })
    }

    fn give(&self, index: usize, notice: Notice) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.queue.len() >= NOTICES_MAX && !notice.is_vital() {
            waiting.left_out += 1;
            return;
        }
        waiting.queue.push_back((index, notice));
        // Cannot fail: a counter of 64 bits does not overflow by ones.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    fn take(&self) -> Option<(usize, Notice)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let notice = waiting.queue.pop_front();
        if waiting.queue.is_empty() {
            // Nothing to read means that the bell is quiet already.
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.bell, &mut count);
        }
        notice
    }

    fn take_left_out(&self) -> u64 {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut waiting.left_out)
    }
}

impl AsFd for Notices {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl From<ControlError> for PackageError {
    fn from(error: ControlError) -> Self {
        Self::Control { error: error.to_string() }
    }
}
