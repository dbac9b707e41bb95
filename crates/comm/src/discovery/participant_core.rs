//! What a participant consists of: its name, its descriptors, the memory that it shares with peers,
//! and the locked state with what wakes the threads that wait for a change.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossdock_shm::rendezvous::{PeerName, Rendezvous, RunId};
use crossdock_shm::socket::{Access, ControlSocket};
use crossdock_shm::status::{Entity, EntityDescription, StatusTable, WithHistogram};
use crossdock_shm::{BellMemory, ConnTable, ForkMark, Keeper, PrivateFd, Trust};

use crate::discovery::callbacks::Callbacks;
use crate::discovery::graph_state::GraphWatch;
use crate::discovery::pair_reports::{PairReports, Waker};
use crate::discovery::participant_state::ParticipantState;
use crate::discovery::peer_link::Stage;
use crate::patience::Patience;
use crate::wire::frame::Frame;
use crate::wire::port_info::{Maker, gid_of};
use crate::wire::status_records::{ConnectionDetail, kind};

/// See the head of this file.
pub(crate) struct ParticipantCore {
    pub(crate) name: PeerName,
    pub(crate) process: String,
    pub(crate) domain_id: u32,
    pub(crate) access: Access,
    pub(crate) trust: Trust,
    /// Who makes the ports of this process.
    pub(crate) maker: Maker,
    /// Lets others hear of our death early.
    _keeper: Option<Arc<Keeper>>,
    pub(crate) epoll: Arc<PrivateFd>,
    waker: Arc<Waker>,
    pub(crate) pair_reports: Arc<PairReports>,
    pub(crate) status_table: StatusTable,
    /// What our subscribers write and publishers of other processes read.
    pub(crate) conns: ConnTable,
    /// What our executors sleep on.
    pub(crate) bells: BellMemory,
    state: Mutex<ParticipantState>,
    fork: ForkMark,
    /// What a forked child finds instead: nobody ever locks or fills it in the parent.
    childs: Mutex<ParticipantState>,
    changed: Condvar,
    pub(crate) stop: AtomicBool,
    /// A publisher of ours has made a segment that its peers need.
    pub(crate) new_segments: AtomicBool,
    /// Is there a watcher that wants to know when we have nothing to do?
    watched: AtomicBool,
    watchers: Mutex<Vec<(u64, Arc<ControlSocket>)>>,
    /// Runs what ports have to tell their users.
    pub(crate) callbacks: Arc<Callbacks>,
    /// What it knows of the graph, and who hears of it.
    pub(crate) graph: GraphWatch,
    /// Dropped last: a peer that we have greeted finds us here until that connection has ended.
    pub(crate) rendezvous: Rendezvous,
}

/// What a participant makes before it makes its core.
pub(crate) struct ParticipantParts {
    pub(crate) run: Option<RunId>,
    pub(crate) maker: Maker,
    pub(crate) process: String,
    pub(crate) domain_id: u32,
    pub(crate) access: Access,
    pub(crate) trust: Trust,
    pub(crate) keeper: Option<Arc<Keeper>>,
    pub(crate) rendezvous: Rendezvous,
    pub(crate) epoll: PrivateFd,
    pub(crate) wake: PrivateFd,
    pub(crate) status_table: StatusTable,
    pub(crate) conns: ConnTable,
    pub(crate) bells: BellMemory,
}

impl ParticipantCore {
    pub(crate) fn new(parts: ParticipantParts) -> ParticipantCore {
        let waker = Arc::new(Waker::new(parts.wake));
        let graph = GraphWatch::new(Arc::clone(&waker));
        let hook = Arc::clone(&graph.hook);
        parts.status_table.tell_changes(kind::OF_GRAPH, move || hook.changed());
        ParticipantCore {
            name: parts.rendezvous.name(),
            process: parts.process,
            domain_id: parts.domain_id,
            access: parts.access,
            trust: parts.trust,
            maker: parts.maker,
            _keeper: parts.keeper,
            rendezvous: parts.rendezvous,
            epoll: Arc::new(parts.epoll),
            pair_reports: Arc::new(PairReports::new(Arc::clone(&waker))),
            callbacks: Arc::new(Callbacks::new(Arc::clone(&waker))),
            waker,
            status_table: parts.status_table,
            conns: parts.conns,
            bells: parts.bells,
            state: Mutex::new(ParticipantState::new(parts.run)),
            fork: ForkMark::new(),
            childs: Mutex::new(ParticipantState::new(None)),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            new_segments: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            watchers: Mutex::new(Vec::new()),
            graph,
        }
    }

    /// What names a port of this process across processes.
    pub(crate) fn gid(&self, port: u64) -> [u8; 16] {
        gid_of(self.name, port)
    }

    /// Whether a port is refused that does not fit another one of this process. In ROS 2 it is only
    /// not connected.
    pub(crate) fn refuses_misfits(&self) -> bool {
        self.maker == Maker::Native
    }

    /// Locks the state. A thread that panicked under the lock does not take the others with it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ParticipantState> {
        // In a child the lock may be held for ever by a thread that only the parent has.
        let state = if self.in_child() { &self.childs } else { &self.state };
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is this a forked child of the process that joined the domain? It has none of the ports,
    /// peers and names.
    pub(crate) fn in_child(&self) -> bool {
        self.fork.in_child()
    }

    /// Unlocks the state after a change, so that threads in [`ParticipantCore::wait_change`] look
    /// again, and has the control thread remove links that broke meanwhile and look at new
    /// deadlines.
    pub(crate) fn publish(&self, mut state: MutexGuard<'_, ParticipantState>) {
        state.changes += 1;
        state.told = state.changes;
        let broken = state.peers.values().any(|peer| peer.link.broken.is_some());
        let watches = state.watches.take_new();
        drop(state);
        self.changed.notify_all();
        if broken || watches {
            self.wake();
        }
    }

    /// Unlocks the state at the end of a control thread's turn: wakes waiting threads when
    /// anything changed that they were not told of.
    pub(crate) fn publish_turn(&self, mut state: MutexGuard<'_, ParticipantState>) {
        let changed = state.changes != state.told;
        state.told = state.changes;
        drop(state);
        if changed {
            self.changed.notify_all();
        }
    }

    /// Blocks until something changed since `seen`, or the time is over; returns the new count.
    pub(crate) fn wait_change(&self, seen: u64, timeout: Duration) -> u64 {
        let patience = Patience::new(timeout);
        let mut state = self.lock();
        while state.changes == seen {
            let left = patience.left();
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.changes
    }

    /// Wakes the control thread. Any thread; one system call.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Takes back all calls of [`ParticipantCore::wake`].
    pub(crate) fn woken(&self) {
        self.waker.woken();
    }

    /// The socket of a peer that may still say something.
    pub(crate) fn socket_of(&self, token: u64) -> Option<Arc<ControlSocket>> {
        let state = self.lock();
        let link = &state.peers.get(&token)?.link;
        let may_speak = link.broken.is_none() && link.stage != Stage::Ending;
        may_speak.then(|| Arc::clone(&link.socket))
    }

    /// An executor is about to sleep: one fence and one load when nobody watches, else one
    /// system call for each watcher.
    pub(crate) fn announce_idle(&self) {
        // What the executor counted before the flag; pairs with the fence in `set_watcher`: either
        // we see the watcher here, or its first look at the status table sees the counts.
        fence(Ordering::SeqCst);
        if self.watched.load(Ordering::Relaxed) && !self.in_child() {
            self.ring_watchers();
        }
    }

    #[cold]
    fn ring_watchers(&self) {
        let frame = Frame::Idle.encode();
        let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, socket) in watchers.iter() {
            // A full socket has unread frames, which wake the watcher as well; a closed one is
            // removed by the control thread.
            let _ = socket.send(&frame, &[]);
        }
    }

    /// Adds a watcher. `welcome` tells it so: after that nobody falls asleep unannounced, and no
    /// announcement comes before.
    pub(crate) fn add_watcher(
        &self,
        token: u64,
        socket: Arc<ControlSocket>,
        welcome: impl FnOnce(),
    ) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.push((token, socket));
        self.watched.store(true, Ordering::Relaxed);
        // Pairs with the fence in `announce_idle`.
        fence(Ordering::SeqCst);
        welcome();
    }

    /// Removes a watcher.
    pub(crate) fn remove_watcher(&self, token: u64) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|(known, _)| *known != token);
        self.watched.store(!watchers.is_empty(), Ordering::Relaxed);
    }

    /// A record of a connection on the status table, or `None` and an event when the table is full:
    /// a port works without.
    pub(crate) fn connection_record(
        &self,
        state: &mut ParticipantState,
        topic: &str,
        detail: &ConnectionDetail,
    ) -> Option<Entity> {
        let description = EntityDescription {
            kind: kind::CONNECTION,
            name: topic,
            detail: &detail.encode(),
            histogram: WithHistogram::No,
        };
        match self.status_table.add(description) {
            Ok(entity) => Some(entity),
            Err(error) => {
                state.trouble(format!(
                    "a connection of `{topic}` is not shown to observers: {error}"
                ));
                None
            }
        }
    }
}
