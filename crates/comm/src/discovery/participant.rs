//! A participant: this process's membership in one domain.
//!
//! It owns the control thread, the status table and the tables that peers map. Ports are created
//! through it.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossdock_shm::rendezvous::{PeerName, RendezvousError, RunId};
use crossdock_shm::socket::{Access, SocketError};
use crossdock_shm::status::{OpenStatusError, StatusConfig, StatusTable};
use crossdock_shm::{
    BellMemory, ConnTable, CreateMemoryError, Keeper, Trust, TrustError, TrustedNames,
};
use rustix::event::{EventfdFlags, epoll};
use rustix::io::Errno;

use crate::discovery::control_thread;
use crate::discovery::event::Event;
use crate::discovery::participant_core::{ParticipantCore, ParticipantParts};
use crate::discovery::participant_state::{TOKEN_ARRIVALS, TOKEN_LISTENER, TOKEN_WAKE};
use crate::discovery::peer_link::Stage;
use crate::discovery::subscribing_side::{self, TopicConnections};
use crate::error::PortError;
use crate::patience::Patience;
use crate::wire::meeting_place::Rendezvous;
use crate::wire::names::{NameError, NameKind, check_name};
use crate::wire::port_info::Maker;

/// Ports and connections of a process that observers can see.
const STATUS_TABLE: StatusConfig = StatusConfig { entities: 32_768, histograms: 4096 };

/// How to open a participant.
#[derive(Clone, Debug)]
pub struct ParticipantOptions {
    /// `ROS_DOMAIN_ID`: processes of different domains do not see each other.
    pub domain_id: u32,
    /// Name of the process for people, at most 128 bytes; it need not be unique.
    pub name: String,
    /// Where to meet the others.
    pub rendezvous: Rendezvous,
    /// Whose processes may connect: usually what [`Rendezvous::access`] says of the place.
    pub access: Access,
    /// Users and groups whose processes are as our own, beside what the place says.
    pub trust: TrustedNames,
    /// Let peers hear of this process's death before the kernel has torn down its memory, by a
    /// helper task ([`crossdock_shm::Keeper`]). The default; a debugger of memory that knows no
    /// such tasks (valgrind) needs it off: `CROSSDOCK_KEEPER=off` in the environment.
    pub keeper: bool,
    /// The run of a graph that the process belongs to. Its publishers wait for slow subscribers of
    /// the run only: a program beside it loses what it does not take in time, and counts that.
    /// `None`: publishers wait for all reliable subscribers.
    pub run: Option<RunId>,
    /// Who makes the ports and nodes of this process, as others see it. If it is not
    /// [`Maker::Native`], two ports of this process that do not fit are not connected, as in ROS
    /// 2, and hear of it; otherwise the second one is refused.
    pub maker: Maker,
}

impl ParticipantOptions {
    /// Domain and name; the default folder, for whom that is.
    pub fn new(domain_id: u32, name: &str) -> ParticipantOptions {
        let rendezvous = Rendezvous::default_folder();
        ParticipantOptions {
            domain_id,
            name: name.to_string(),
            access: rendezvous.access(),
            rendezvous,
            trust: TrustedNames::of_environment(),
            keeper: std::env::var_os("CROSSDOCK_KEEPER").is_none_or(|value| value != "off"),
            run: None,
            maker: Maker::Native,
        }
    }
}

/// A participant could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The process name is not legal.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The meeting place cannot be used.
    #[error(transparent)]
    Rendezvous(#[from] RendezvousError),
    /// A user or a group that is to be trusted is not known.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A socket name could not be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The status table could not be made.
    #[error(transparent)]
    StatusTable(#[from] OpenStatusError),
    /// The tables that peers map could not be made.
    #[error(transparent)]
    Memory(#[from] CreateMemoryError),
    /// The control thread could not be started.
    #[error("the control thread of `{process}` cannot be started: {what}: {source}")]
    Thread {
        /// Name of the process.
        process: String,
        /// The attempted step.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

/// This process's membership in one domain.
///
/// Cloning gives another handle. `Send` and `Sync`. One control thread serves all handles and
/// ports; it sleeps while nothing is created, dropped or announced, and is never on the data path.
/// The last handle, port or connection that goes ends it.
///
/// It belongs to the process that opened it. A forked child has none of its names, sockets, memory
/// and ports: calls there return errors or nothing, dropping it does nothing, the parent and its
/// peers notice nothing of either. A child that wants to take part opens a participant of its own.
#[derive(Clone)]
pub struct Participant {
    pub(crate) handle: Arc<ParticipantHandle>,
}

/// Keeps the control thread; ports and connections hold one too.
pub(crate) struct ParticipantHandle {
    pub(crate) core: Arc<ParticipantCore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for ParticipantHandle {
    fn drop(&mut self) {
        if self.core.in_child() {
            // The control thread is the parent's: there is nothing here to wake or wait for.
            std::mem::forget(self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take());
            return;
        }
        self.core.stop.store(true, Ordering::Release);
        self.core.wake();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // The control thread never owns a handle for longer than it holds the lock, but it may
        // be the one that drops the last one: it then ends by itself.
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the control thread has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Participant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Participant")
            .field("process", &self.handle.core.process)
            .field("domain_id", &self.handle.core.domain_id)
            .finish_non_exhaustive()
    }
}

impl Participant {
    /// Joins a domain.
    ///
    /// Allocates, makes files and one thread; blocks for file-system work only. Other processes
    /// are met while the caller goes on: see [`Participant::wait_change`].
    ///
    /// # Errors
    /// [`OpenError`] says what could not be made and what to change.
    pub fn open(options: ParticipantOptions) -> Result<Participant, OpenError> {
        check_name(NameKind::Process, &options.name)?;
        crossdock_trace::init(&options.name);
        let core = Arc::new(open_core(&options)?);
        let for_thread = Arc::clone(&core);
        let thread = std::thread::Builder::new()
            .name("crossdock-ctl".to_string())
            .spawn(move || control_thread::run(&for_thread))
            .map_err(|source| OpenError::Thread {
                process: options.name.clone(),
                what: "starting it",
                source,
            })?;
        let handle = ParticipantHandle { core, thread: Mutex::new(Some(thread)) };
        Ok(Participant { handle: Arc::new(handle) })
    }

    /// Name of this process, as given.
    pub fn process(&self) -> &str {
        &self.handle.core.process
    }

    /// The domain.
    pub fn domain_id(&self) -> u32 {
        self.handle.core.domain_id
    }

    /// The unique name of this process at the rendezvous.
    pub fn peer_name(&self) -> PeerName {
        self.handle.core.name
    }

    /// The run of a graph that this process belongs to, as given. Takes the participant's lock.
    pub fn run(&self) -> Option<RunId> {
        self.handle.core.lock().run
    }

    /// The status table on which this process shows its ports; executors add their nodes and
    /// chains.
    pub fn status_table(&self) -> &StatusTable {
        &self.handle.core.status_table
    }

    /// Names of the processes that this one is connected to. Takes the participant's lock.
    pub fn peers(&self) -> Vec<String> {
        let state = self.handle.core.lock();
        let live = state.peers.values().filter(|peer| peer.link.stage == Stage::Live);
        live.map(|peer| peer.link.process.clone()).collect()
    }

    /// Takes the events since the last call, oldest first, and how many were dropped because
    /// nobody took them (at most [`crate::event::EVENTS_MAX`] are kept). None, if a
    /// [callback](Participant::set_event_callback) hears them.
    pub fn take_events(&self) -> (Vec<Event>, u64) {
        self.handle.core.lock().events.take()
    }

    /// A number that grows whenever a port, a connection or a peer comes or goes, or an event
    /// is there.
    pub fn changes(&self) -> u64 {
        self.handle.core.lock().changes
    }

    /// Blocks until [`Participant::changes`] is no longer `seen`, at most for `timeout`. Returns
    /// the new number.
    pub fn wait_change(&self, seen: u64, timeout: Duration) -> u64 {
        self.handle.core.wait_change(seen, timeout)
    }

    /// Blocks until `is_met` holds, looking again whenever something changed, at most for
    /// `timeout`. Returns whether it holds.
    pub fn wait_until(&self, timeout: Duration, mut is_met: impl FnMut() -> bool) -> bool {
        let patience = Patience::new(timeout);
        loop {
            let seen = self.changes();
            if is_met() {
                return true;
            }
            let left = patience.left();
            if left.is_zero() {
                return false;
            }
            self.wait_change(seen, left);
        }
    }

    /// How many connections a topic has in this process: publishers of ours and of others that
    /// subscribers of ours are connected to, and subscribers that publishers of ours serve, ports
    /// of one [`crate::PortGroup`], strangers, and processes outside our run of a graph, if this is
    /// one, not counted. Takes the participant's lock.
    pub fn topic_connections(&self, topic: &str) -> TopicConnections {
        let state = self.handle.core.lock();
        subscribing_side::topic_connections(&state, topic)
    }

    /// Is this a port of ours to make?
    pub(crate) fn check_process(&self) -> Result<(), PortError> {
        match self.handle.core.in_child() {
            true => Err(PortError::Forked { process: self.process().to_string() }),
            false => Ok(()),
        }
    }

    /// Messages of this topic must not be copied: a process is refused on it if one of both does
    /// not trust the other, since messages between them are. Both are told. To be said before the
    /// topic has ports here.
    pub fn forbid_copies(&self, topic: &str) {
        self.handle.core.lock().uncopied.insert(topic.to_owned());
    }

    /// An executor calls this before it sleeps, so that somebody who waits for the graph to drain
    /// looks at the status tables. One fence and one load when nobody watches, else one system call
    /// for each watcher.
    pub fn announce_idle(&self) {
        self.handle.core.announce_idle();
    }
}

fn open_core(options: &ParticipantOptions) -> Result<ParticipantCore, OpenError> {
    let step = |what: &'static str| {
        let process = options.name.clone();
        move |errno: Errno| OpenError::Thread { process, what, source: errno.into() }
    };
    let label = &options.name;
    let trust = Trust::new(&options.trust)?;
    let keeper = options.keeper.then(Keeper::of_process).transpose();
    let (keeper, unkept) = match keeper {
        Ok(keeper) => (keeper, None),
        Err(error) => (None, Some(error.to_string())),
    };
    let status_table = StatusTable::create(label, STATUS_TABLE)?;
    let conns = ConnTable::create(label)?;
    let bells = BellMemory::new(label);
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(step("making an epoll"))?;
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let wake = rustix::event::eventfd(0, flags).map_err(step("making an eventfd"))?;
    let config = options.rendezvous.config(options.domain_id, options.access);
    let name = options.run.map_or_else(PeerName::random, PeerName::random_in)?;
    // Last, because from here on others may connect.
    let rendezvous = crossdock_shm::rendezvous::Rendezvous::join(&config, name)?;
    let watch = |fd: BorrowedFd<'_>, token| {
        let data = epoll::EventData::new_u64(token);
        epoll::add(&epoll, fd, data, epoll::EventFlags::IN)
    };
    watch(std::os::fd::AsFd::as_fd(&wake), TOKEN_WAKE).map_err(step("watching its eventfd"))?;
    watch(rendezvous.listener(), TOKEN_LISTENER).map_err(step("watching its socket"))?;
    if let Some(arrivals) = rendezvous.arrivals() {
        watch(arrivals, TOKEN_ARRIVALS).map_err(step("watching for arrivals"))?;
    }
    let core = ParticipantCore::new(ParticipantParts {
        process: options.name.clone(),
        domain_id: options.domain_id,
        access: options.access,
        run: options.run,
        maker: options.maker,
        trust,
        keeper,
        rendezvous,
        epoll: epoll.into(),
        wake: wake.into(),
        status_table,
        conns,
        bells,
    });
    if let Some(why) = unkept {
        core.lock().trouble(why);
    }
    Ok(core)
}
