//! What a participant's ports and its control thread share: one locked state and what wakes it.
//!
//! Ports change the state when they are created and dropped, the control thread when a socket
//! says something. The lock is never taken on the data path. This file must not know the rules of
//! connecting (`matching`) nor the order of frames (`handshake`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossdock_shm::rendezvous::{PeerName, Rendezvous, RunId};
use crossdock_shm::socket::{Access, ControlSocket};
use crossdock_shm::status::{Entity, StatusTable};
use crossdock_shm::{BellMemory, ConnTable, ForkMark, Keeper, PrivateFd, Standing, Trust};

use crate::buffer;
use crate::connection::PairNews;
use crate::event::{Event, Events, Mismatch, PeerProcess, Side};
use crate::frame::{Frame, PortInfo};
use crate::link::Link;
use crate::matching::{Incoming, LOCAL, LocalPublisher, LocalSubscriber, PeerTables};
use crate::quotas::Budgets;
use crate::scarce::{Scarcity, Unconnected};
use crate::schemas::Schemas;
use crate::service::Registry;
use crate::serving::Outgoing;
use crate::unwelcome::Unwelcome;

/// Processes that were turned away, and reasons, that are remembered.
const CUT_OFFS_MAX: usize = 1024;

/// A peer process and what connects us to it.
pub(crate) struct Peer {
    pub(crate) link: Link,
    /// Publishers of that process.
    pub(crate) publishers: BTreeMap<u64, PortInfo>,
    /// Memory of that process and of the pair of processes.
    pub(crate) tables: PeerTables,
}

/// Key of a pair in which we publish: the peer's token (0: this process) and the pair's number.
pub(crate) type OutgoingKey = (u64, u32);

/// Everything that the lock protects.
pub(crate) struct State {
    /// The run that this process belongs to.
    pub(crate) run: Option<RunId>,
    pub(crate) peers: BTreeMap<u64, Peer>,
    pub(crate) tokens_by_name: HashMap<PeerName, u64>,
    /// Processes that broke a rule: not connected to again.
    pub(crate) banned: HashSet<PeerName>,
    pub(crate) publishers: BTreeMap<u64, LocalPublisher>,
    pub(crate) subscribers: BTreeMap<u64, LocalSubscriber>,
    /// Pairs in which we subscribe, by number.
    pub(crate) incoming: BTreeMap<u32, Incoming>,
    /// Pairs in which we publish.
    pub(crate) outgoing: BTreeMap<OutgoingKey, Outgoing>,
    /// What this process shares with itself, for pairs inside it.
    pub(crate) own: PeerTables,
    pub(crate) schemas: Schemas,
    /// What services need beside their ports.
    pub(crate) services: Registry,
    pub(crate) buffers: buffer::Registry,
    pub(crate) events: Events,
    /// What waits for free descriptors.
    pub(crate) scarcity: Scarcity,
    /// Counts everything that may change who is connected.
    pub(crate) changes: u64,
    /// The count of which waiting threads were told.
    told: u64,
    /// Processes that closed our connection before they welcomed us.
    pub(crate) unwelcome: Unwelcome,
    /// What strangers have used.
    pub(crate) budgets: Budgets,
    /// Topics whose messages must not be copied.
    pub(crate) uncopied: BTreeSet<String>,
    /// For what which processes were cut off, so that each is told once.
    cut_offs: BTreeSet<(u32, String)>,
    next_token: u64,
    next_port: u64,
    next_pair: u32,
}

impl State {
    pub(crate) fn new(run: Option<RunId>) -> State {
        State {
            run,
            peers: BTreeMap::new(),
            tokens_by_name: HashMap::new(),
            banned: HashSet::new(),
            publishers: BTreeMap::new(),
            subscribers: BTreeMap::new(),
            incoming: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            own: PeerTables::default(),
            schemas: Schemas::default(),
            services: Registry::default(),
            buffers: buffer::Registry::default(),
            events: Events::default(),
            scarcity: Scarcity::default(),
            changes: 0,
            told: 0,
            unwelcome: Unwelcome::default(),
            budgets: Budgets::default(),
            uncopied: BTreeSet::new(),
            cut_offs: BTreeSet::new(),
            // Smaller tokens are the control thread's own descriptors.
            next_token: 16,
            next_port: 1,
            next_pair: 1,
        }
    }

    /// Whether publishers of topics may be held up by subscribers of the process of `token`: a
    /// process of a run is held up by processes of that run only.
    pub(crate) fn waits_for(&self, token: u64) -> bool {
        let Some(run) = self.run.filter(|_| token != LOCAL) else { return true };
        let name = self.peers.get(&token).and_then(|peer| peer.link.name);
        name.is_some_and(|name| name.is_in(run))
    }

    /// A new token for a descriptor in epoll; never used twice.
    pub(crate) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    /// A new port number; never used twice.
    pub(crate) fn port(&mut self) -> u64 {
        self.next_port += 1;
        self.next_port
    }

    /// A pair number that no pair of ours uses.
    pub(crate) fn pair(&mut self) -> u32 {
        // Bounded by the number of pairs, which is far below 2^32.
        loop {
            self.next_pair = self.next_pair.wrapping_add(1).max(1);
            if !self.incoming.contains_key(&self.next_pair) {
                return self.next_pair;
            }
        }
    }

    pub(crate) fn mismatch(
        &mut self,
        publisher: (&PortInfo, &str),
        subscriber: (&PortInfo, &str),
        reason: String,
    ) {
        let mismatch = Mismatch {
            topic: publisher.0.topic.clone(),
            publisher: Side::new(publisher.0, publisher.1),
            subscriber: Side::new(subscriber.0, subscriber.1),
            reason,
        };
        self.services.note_mismatch(&mismatch);
        self.events.push(Event::Mismatch(Box::new(mismatch)));
        self.changes += 1;
    }

    /// How long the control thread may sleep; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let both = [self.scarcity.patience(), self.unwelcome.patience()];
        both.into_iter().flatten().min()
    }

    pub(crate) fn trouble(&mut self, text: String) {
        self.events.push(Event::Trouble(text));
        self.changes += 1;
    }

    /// A pair could not be connected for want of descriptors or memory: it is tried again.
    pub(crate) fn scarce_pair(&mut self, pair: Unconnected, text: &str) {
        if self.scarcity.note_pair(pair) {
            self.trouble(format!(
                "{text}; it is tried again until descriptors and memory are free"
            ));
        }
    }

    /// Processes could not be met or served for want of descriptors or memory: it is tried again.
    pub(crate) fn scarce(&mut self, text: &str) {
        if self.scarcity.note_others() {
            self.trouble(format!(
                "{text}; it is tried again until descriptors and memory are free"
            ));
        }
    }

    /// Who the process behind a token is to us; this process itself: our own.
    pub(crate) fn standing(&self, token: u64) -> Standing {
        match self.peers.get(&token) {
            _ if token == LOCAL => Standing::Own,
            Some(peer) => peer.link.standing,
            // Gone meanwhile: nothing is believed of it.
            None => Standing::Stranger,
        }
    }

    /// A process is not let in, or comes again and again: told once for each reason.
    pub(crate) fn turn_away(&mut self, peer: PeerProcess, reason: String) {
        if self.cut_offs.len() >= CUT_OFFS_MAX {
            self.cut_offs.clear();
        }
        if self.cut_offs.insert((peer.pid, reason.clone())) {
            self.cut_off(peer, reason);
        }
    }

    pub(crate) fn cut_off(&mut self, peer: PeerProcess, reason: String) {
        self.events.push(Event::PeerCutOff { peer, reason });
        self.changes += 1;
    }

    /// Sends a frame without descriptors to a live peer.
    pub(crate) fn send(&mut self, token: u64, frame: &Frame) {
        if let Some(peer) = self.peers.get_mut(&token) {
            peer.link.send(frame, &[]);
        }
    }

    /// Sends a frame to all live peers.
    pub(crate) fn broadcast(&mut self, frame: &Frame) {
        for peer in self.peers.values_mut() {
            if peer.link.stage == crate::link::Stage::Live {
                peer.link.send(frame, &[]);
            }
        }
    }
}

/// See the head of this file.
pub(crate) struct Core {
    pub(crate) name: PeerName,
    pub(crate) process: String,
    pub(crate) domain_id: u32,
    pub(crate) access: Access,
    pub(crate) trust: Trust,
    /// Lets others hear of our death early.
    _keeper: Option<Arc<Keeper>>,
    pub(crate) rendezvous: Rendezvous,
    pub(crate) epoll: Arc<PrivateFd>,
    /// An eventfd that wakes the control thread.
    wake: PrivateFd,
    pub(crate) status_table: StatusTable,
    /// What our subscribers write and publishers of other processes read.
    pub(crate) conns: ConnTable,
    /// What our executors sleep on.
    pub(crate) bells: BellMemory,
    state: Mutex<State>,
    fork: ForkMark,
    /// What a forked child finds instead: nobody ever locks or fills it in the parent.
    childs: Mutex<State>,
    changed: Condvar,
    /// What became of pairs of ours, in order.
    news: Mutex<Vec<PairNews>>,
    pub(crate) stop: AtomicBool,
    /// A publisher of ours has made a segment that its peers need.
    pub(crate) new_segments: AtomicBool,
    /// Is there a watcher that wants to know when we have nothing to do?
    watched: AtomicBool,
    watchers: Mutex<Vec<(u64, Arc<ControlSocket>)>>,
}

/// What a participant makes before it makes its core.
pub(crate) struct CoreParts {
    pub(crate) run: Option<RunId>,
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

impl Core {
    pub(crate) fn new(parts: CoreParts) -> Core {
        Core {
            name: parts.rendezvous.name(),
            process: parts.process,
            domain_id: parts.domain_id,
            access: parts.access,
            trust: parts.trust,
            _keeper: parts.keeper,
            rendezvous: parts.rendezvous,
            epoll: Arc::new(parts.epoll),
            wake: parts.wake,
            status_table: parts.status_table,
            conns: parts.conns,
            bells: parts.bells,
            state: Mutex::new(State::new(parts.run)),
            fork: ForkMark::new(),
            childs: Mutex::new(State::new(None)),
            changed: Condvar::new(),
            news: Mutex::new(Vec::new()),
            stop: AtomicBool::new(false),
            new_segments: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            watchers: Mutex::new(Vec::new()),
        }
    }

    /// What names a port of this process across processes: half of the process's own name, and the
    /// port's number.
    pub(crate) fn gid(&self, port: u64) -> [u8; 16] {
        let mut gid = self.name.to_bytes();
        gid[8..].copy_from_slice(&port.to_le_bytes());
        gid
    }

    /// Locks the state. A thread that panicked under the lock does not take the others with it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // In a child the lock may be held for ever by a thread that only the parent has.
        let state = if self.in_child() { &self.childs } else { &self.state };
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is this a forked child of the process that joined the domain? It has none of the ports, peers
    /// and names.
    pub(crate) fn in_child(&self) -> bool {
        self.fork.in_child()
    }

    /// Unlocks the state after a change, so that threads in [`Core::wait_change`] look again, and
    /// has the control thread remove links that broke meanwhile.
    pub(crate) fn publish(&self, mut state: MutexGuard<'_, State>) {
        state.changes += 1;
        state.told = state.changes;
        let broken = state.peers.values().any(|peer| peer.link.broken.is_some());
        drop(state);
        self.changed.notify_all();
        if broken {
            self.wake();
        }
    }

    /// Unlocks the state at the end of a control thread's turn: wakes waiting threads when
    /// anything changed that they were not told of.
    pub(crate) fn publish_turn(&self, mut state: MutexGuard<'_, State>) {
        let changed = state.changes != state.told;
        state.told = state.changes;
        drop(state);
        if changed {
            self.changed.notify_all();
        }
    }

    /// Blocks until something changed since `seen`, or the time is over; returns the new count.
    pub(crate) fn wait_change(&self, seen: u64, timeout: Duration) -> u64 {
        let end = Instant::now() + timeout;
        let mut state = self.lock();
        while state.changes == seen {
            let left = end.saturating_duration_since(Instant::now());
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
        // The counter overflows after 2^64 wake-ups that nobody reads; a full one wakes as well.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Takes back all calls of [`Core::wake`].
    pub(crate) fn woken(&self) {
        let mut count = [0u8; 8];
        let _ = rustix::io::read(&self.wake, &mut count);
    }

    /// A connection of ours is not used any more, or nothing of it is held: the control thread tells the
    /// publisher.
    pub(crate) fn tell(&self, news: PairNews) {
        if self.in_child() {
            return;
        }
        self.news.lock().unwrap_or_else(PoisonError::into_inner).push(news);
        self.wake();
    }

    /// Everything of [`Core::tell`] since the last call, in order.
    pub(crate) fn take_news(&self) -> Vec<PairNews> {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
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
}

/// A record on the status table, or `None` and an event when the status table is full: a port works without.
pub(crate) fn connection_record(
    core: &Core,
    state: &mut State,
    topic: &str,
    detail: &crate::entities::ConnectionDetail,
) -> Option<Entity> {
    let description = crossdock_shm::status::EntityDescription {
        kind: crate::entities::kind::CONNECTION,
        name: topic,
        detail: &detail.encode(),
        histogram: crossdock_shm::status::WithHistogram::No,
    };
    match core.status_table.add(description) {
        Ok(entity) => Some(entity),
        Err(error) => {
            state.trouble(format!("a connection of `{topic}` is not shown to observers: {error}"));
            None
        }
    }
}
