//! The peers and segments of a publisher, as the control thread sees them: who comes, who goes.
//!
//! Descriptors and plain numbers go in and out; the control plane carries them. The publisher's own
//! thread learns of changes through an inbox (protocol rule P1) and never waits for a lock here,
//! except when it makes a new segment or a change is waiting for it.

use crate::futex;
use crate::memory::{MapRef, Mapping, OwnMemory};
use crate::protocol::{ARMED_WORDS, Conn, GONE, HOLDS_MAX, Head, Inbox, READY_BITS};
use crate::ring_geometry::{Attached, RingGeometry, SEGMENTS_MAX};
use crate::ring_memory::RingMemory;
use crate::subscriber::SubscriberControl;
use crate::tables::{
    ARMED_LINES_MAX, BELLS_MAX, PeerBell, PeerConns, PeerPair, READY_LINES_MAX, lock,
};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Peers of one publisher, attached or not yet forgotten by its thread.
pub(crate) const PEERS_MAX: usize = 16_384;

/// Where a triggering subscriber is woken. All numbers come from the peer and are checked by
/// `attach`.
#[derive(Clone, Debug)]
pub struct WakeTarget {
    /// What the subscribing process shares with this one.
    pub pair: PeerPair,
    /// The executor's bell.
    pub bell: PeerBell,
    /// Line of armed bits, used for this publisher only.
    pub armed_line: u16,
    /// Bit in that line.
    pub armed_bit: u16,
    /// The executor's line of ready bits.
    pub ready_line: u16,
    /// The executor's bit for this input.
    pub input: u16,
    /// The number of that bell in its process.
    pub index: u16,
}

/// A subscriber of another process (or of this one, over the ring) that wants to be served.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Names the peer in errors: process, node.
    pub label: String,
    /// The subscribing process's connections.
    pub conns: PeerConns,
    /// Place of this connection in them.
    pub conn: u32,
    /// Messages that the subscriber wants retained for it.
    pub depth: usize,
    /// Is the publisher to wait for it?
    pub reliable: bool,
    /// May it be left behind when memory grows and it does not map that in time? Either it is best
    /// effort, and misses what lies there, or it must not be sent that
    /// ([`RawLoan::reaches_all`](crate::RawLoan::reaches_all)). Else the loan fails.
    pub may_fall_behind: bool,
    /// Does it decide what the publisher may use again? A peer that is not trusted copies what it
    /// takes: what it says to hold, where it has got to, and what it has mapped count for nothing.
    pub trusted: bool,
    /// Messages from before now that it wants, if the publisher is transient local.
    pub history: usize,
    /// Present if it is triggering.
    pub wake: Option<WakeTarget>,
}

/// Why a peer is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// Too many.
    #[error(
        "publisher `{publisher}` already has {limit} peers; `{peer}` must wait until some have gone"
    )]
    Full {
        /// The publisher's label.
        publisher: String,
        /// The peer's label.
        peer: String,
        /// The limit.
        limit: usize,
    },
    /// The peer named a place that does not exist.
    #[error(
        "peer `{peer}` of publisher `{publisher}` names {what} {value}, allowed is less than \
         {limit}"
    )]
    OutOfRange {
        /// The publisher's label.
        publisher: String,
        /// The peer's label.
        peer: String,
        /// Which place.
        what: &'static str,
        /// The value.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// The publisher is gone.
    #[error("publisher `{publisher}` has gone; `{peer}` must look for another one")]
    Gone {
        /// The publisher's label.
        publisher: String,
        /// The peer's label.
        peer: String,
    },
}

/// One further segment of a publisher's memory, for a peer.
#[derive(Debug)]
pub struct SegmentFd {
    /// Its number, from 1.
    pub index: u32,
    /// Its size.
    pub bytes: u64,
    /// Read-only.
    pub fd: OwnedFd,
}

/// A peer as the publisher's thread knows it. What scans look at comes first: of many peers each
/// costs one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Peer {
    pub(crate) conn: MapRef<Conn>,
    pub(crate) joined: u64,
    pub(crate) depth: u64,
    pub(crate) reliable: bool,
    pub(crate) trusted: bool,
    pub(crate) label: Arc<str>,
    pub(crate) wake: Option<WakeTarget>,
}

/// What the control thread leaves in the inbox. A peer that goes before the publisher's thread has
/// looked takes its body out again, so that an idle publisher keeps nothing of it. A second body
/// under one number takes the place of the first.
#[derive(Debug)]
pub(crate) enum Note {
    Attach(u32, Arc<Mutex<Option<Box<Peer>>>>),
    Detach(u32),
}

/// What a publisher does for a peer. A peer moves down this list, or from `Behind` back up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Service {
    /// Everything.
    Full,
    /// It did not map new memory in time, and nobody waits for that: it gets nothing from there
    /// until it has.
    Behind,
    /// Nothing but that what it holds is not used again: it may still read.
    HoldsOnly,
    /// None; the publisher's thread has not forgotten it yet.
    Going,
}

#[derive(Debug)]
struct PeerRecord {
    body: Arc<Mutex<Option<Box<Peer>>>>,
    /// Did the publisher's thread take a body of it before the one that may wait there now?
    known: bool,
    conn: MapRef<Conn>,
    label: Arc<str>,
    may_fall_behind: bool,
    /// Segments that it has mapped, the ring's own not counted.
    acknowledged: u32,
    service: Service,
    /// Does the publisher wait until it has mapped new memory?
    trusted: bool,
}

impl PeerRecord {
    /// Are messages kept out of segments that it has not mapped?
    fn is_awaited(&self) -> bool {
        self.trusted && self.service == Service::Full
    }

    /// Does it get new memory?
    fn is_served(&self) -> bool {
        self.service <= Service::Behind
    }
}

/// Memory for messages beside the ring's.
#[derive(Debug)]
pub(crate) enum Segment {
    /// Other processes map it.
    Shared(OwnMemory),
    /// A driver has made it for this process alone.
    Private(Arc<Mapping>),
    /// Larger ones have taken its place, and nobody holds anything there.
    GivenBack(Arc<Mapping>),
}

impl Segment {
    pub(crate) fn mapping(&self) -> &Arc<Mapping> {
        match self {
            Segment::Shared(memory) => memory.mapping(),
            Segment::Private(mapping) | Segment::GivenBack(mapping) => mapping,
        }
    }
}

#[derive(Debug, Default)]
struct ControlTable {
    peers: Vec<Option<PeerRecord>>,
    free: Vec<u32>,
    segments: Vec<Segment>,
    gone: bool,
}

type Notifier = Box<dyn Fn() + Send + Sync>;

/// The control thread's half of a publisher: `Send + Sync`, lives as long as anybody wants it.
pub struct RingControl {
    label: Arc<str>,
    ring: OwnMemory,
    head: MapRef<Head>,
    geometry: RingGeometry,
    history: u64,
    pub(crate) inbox: Inbox<Note>,
    /// Last published sequence number, whether or not the ring was written.
    pub(crate) published: AtomicU64,
    table: Mutex<ControlTable>,
    /// Further segments that every live peer has mapped; the publisher's thread sleeps on it.
    usable: AtomicU32,
    /// Is some peer [`Service::Behind`]?
    some_behind: AtomicBool,
    /// Does the publisher's thread wait for a slow peer?
    pub(crate) blocked: AtomicBool,
    attached: AtomicU32,
    /// See [`RingControl::outgrown`].
    outgrown: AtomicU64,
    notifier: OnceLock<Notifier>,
}

impl std::fmt::Debug for RingControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingControl").field("label", &self.label).finish_non_exhaustive()
    }
}

impl RingControl {
    pub(crate) fn new(
        label: Arc<str>,
        (ring, head): (OwnMemory, MapRef<Head>),
        geometry: RingGeometry,
        history: u64,
    ) -> Self {
        RingControl {
            label,
            ring,
            head,
            geometry,
            history,
            inbox: Inbox::default(),
            published: AtomicU64::new(0),
            table: Mutex::default(),
            usable: AtomicU32::new(0),
            some_behind: AtomicBool::new(false),
            blocked: AtomicBool::new(false),
            attached: AtomicU32::new(0),
            outgrown: AtomicU64::new(0),
            notifier: OnceLock::new(),
        }
    }

    /// The publisher's label.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What peers must know of the ring.
    pub fn geometry(&self) -> RingGeometry {
        self.geometry
    }

    /// The ring's memory, read-only, for peers and observers.
    pub fn ring_fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }

    /// The ring for subscribers of this very process: nothing is mapped a second time.
    pub fn memory(&self) -> RingMemory {
        RingMemory::of_publisher(self.ring.mapping().clone(), self.geometry)
    }

    /// Attached peers.
    #[inline]
    pub fn peers(&self) -> usize {
        self.attached.load(Ordering::Relaxed) as usize
    }

    /// Last published sequence number.
    pub fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    /// Bytes of the last message for which memory grew although the contract names a largest
    /// message, which it exceeds ([`Sizing::Contract`]); `None`: there was none. One load.
    ///
    /// [`Sizing::Contract`]: crate::Sizing::Contract
    pub fn outgrown(&self) -> Option<u64> {
        Some(self.outgrown.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    /// Publisher: memory is about to grow for a message of so many bytes.
    pub(super) fn note_outgrown(&self, bytes: u64) {
        self.outgrown.store(bytes, Ordering::Relaxed);
    }

    /// Says to all who watch the publisher that it is alive, at this time of the system's clock.
    /// One store; any thread.
    pub fn say_alive(&self, now_ns: u64) {
        self.head.alive_ns.store(now_ns, Ordering::Relaxed);
    }

    /// When that was said last; 0: never.
    pub fn alive_ns(&self) -> u64 {
        self.head.alive_ns.load(Ordering::Relaxed)
    }

    /// Does its thread wait for a slow reliable subscriber? It may have ended meanwhile.
    pub fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::SeqCst)
    }

    /// Called (once, before the first peer) with what wakes the control thread: a new segment has
    /// to be sent to peers, or they have to be told of one that was given back. It is called on
    /// the publisher's thread and must not block.
    pub fn set_notifier(&self, notifier: impl Fn() + Send + Sync + 'static) {
        let _ = self.notifier.set(Box::new(notifier));
    }

    fn check(&self, config: &PeerConfig) -> Result<MapRef<Conn>, AttachError> {
        let refused = |what: &'static str, value: u64, limit: usize| AttachError::OutOfRange {
            publisher: self.label.to_string(),
            peer: config.label.clone(),
            what,
            value,
            limit: limit as u64,
        };
        if let Some(wake) = &config.wake {
            let checks = [
                ("armed line", wake.armed_line, ARMED_LINES_MAX),
                ("armed bit", wake.armed_bit, ARMED_WORDS * 64),
                ("ready line", wake.ready_line, READY_LINES_MAX),
                ("input", wake.input, READY_BITS),
                ("bell", wake.index, BELLS_MAX),
            ];
            for (what, value, limit) in checks {
                if usize::from(value) >= limit {
                    return Err(refused(what, u64::from(value), limit));
                }
            }
        }
        let conn = config.conns.conn(config.conn);
        conn.ok_or_else(|| refused("connection", u64::from(config.conn), crate::tables::CONNS_MAX))
    }

    /// Takes a peer in; the publisher's thread serves it from its very next message on (rule P1).
    ///
    /// Any thread but the publisher's; takes a lock, allocates.
    pub fn attach(&self, config: PeerConfig) -> Result<Attached, AttachError> {
        let conn = self.check(&config)?;
        let mut table = lock(&self.table);
        if table.gone {
            let publisher = self.label.to_string();
            return Err(AttachError::Gone { publisher, peer: config.label });
        }
        let peer = match table.free.pop() {
            Some(peer) => peer,
            None if table.peers.len() < PEERS_MAX => {
                table.peers.push(None);
                (table.peers.len() - 1) as u32
            }
            None => {
                let publisher = self.label.to_string();
                return Err(AttachError::Full { publisher, peer: config.label, limit: PEERS_MAX });
            }
        };
        let label: Arc<str> = config.label.into();
        // Counts from what was surely published before; the publisher's thread sees the note before
        // it evicts anything newer, or finds it behind its next fence.
        let joined_at_least = self.published() + 1;
        let body = Arc::new(Mutex::new(Some(Box::new(Peer {
            label: label.clone(),
            conn: conn.clone(),
            joined: joined_at_least,
            depth: config.depth as u64,
            reliable: config.reliable && config.trusted,
            trusted: config.trusted,
            wake: config.wake,
        }))));
        let segments = table.segments.len() as u32;
        table.peers[peer as usize] = Some(PeerRecord {
            body: body.clone(),
            known: false,
            conn,
            label,
            may_fall_behind: config.may_fall_behind,
            acknowledged: segments,
            service: Service::Full,
            trusted: config.trusted,
        });
        self.inbox.push(Note::Attach(peer, body));
        self.inbox.attached();
        self.attached.fetch_add(1, Ordering::Relaxed);
        let joined = self.published() + 1;
        let history = self.history.min(config.history as u64);
        let start = joined.saturating_sub(history).max(1);
        Ok(Attached { peer, start, joined, segments })
    }

    /// Serves a peer no more, and keeps what it holds: it may read as long as it likes. Nothing is
    /// woken, waited for or sent for it. [`RingControl::detach`] ends it. Unknown numbers are
    /// ignored.
    ///
    /// Any thread but the publisher's; takes a lock, allocates; one system call if the publisher is
    /// blocked.
    pub fn retire(&self, peer: u32) {
        let mut table = lock(&self.table);
        let Some(Some(record)) = table.peers.get_mut(peer as usize) else { return };
        if !record.is_served() {
            return;
        }
        record.service = Service::HoldsOnly;
        self.attached.fetch_sub(1, Ordering::Relaxed);
        let (label, conn) = (record.label.clone(), record.conn.clone());
        let (joined, trusted) = (GONE - 1, record.trusted);
        let quiet = Peer { label, conn, joined, depth: 0, reliable: false, trusted, wake: None };
        let was_seen = lock(&record.body).replace(Box::new(quiet)).is_none();
        if was_seen {
            // It takes the place of the one that the publisher's thread has.
            record.known = true;
            self.inbox.push(Note::Attach(peer, record.body.clone()));
            self.inbox.attached();
        }
        let conn = record.conn.clone();
        self.update_usable(&table);
        drop(table);
        self.wake_blocked(&conn);
    }

    /// Lets a peer go: it is dead, or it has said that it holds nothing any more. Its holds and its
    /// cursor count no longer. Unknown numbers are ignored.
    ///
    /// Any thread but the publisher's; takes a lock; one system call if the publisher is blocked.
    pub fn detach(&self, peer: u32) {
        let mut table = lock(&self.table);
        let Some(Some(record)) = table.peers.get_mut(peer as usize) else { return };
        if record.service == Service::Going {
            return;
        }
        if record.is_served() {
            self.attached.fetch_sub(1, Ordering::Relaxed);
        }
        let was_seen = lock(&record.body).take().is_none() || record.known;
        let conn = record.conn.clone();
        if was_seen {
            record.service = Service::Going;
            self.inbox.push(Note::Detach(peer));
            self.inbox.attached();
        } else {
            table.peers[peer as usize] = None;
            table.free.push(peer);
        }
        self.update_usable(&table);
        drop(table);
        self.wake_blocked(&conn);
    }

    /// The publisher's thread may wait for a peer that nobody waits for any more.
    fn wake_blocked(&self, conn: &Conn) {
        if self.blocked.load(Ordering::SeqCst) {
            futex::wake_all(futex::low_half(&conn.cursor));
        }
    }

    /// The publisher's thread has forgotten a peer: its number may be used again.
    pub(crate) fn forgotten(&self, peer: u32) {
        let mut table = lock(&self.table);
        if let Some(place) = table.peers.get_mut(peer as usize)
            && place.take().is_some()
        {
            table.free.push(peer);
        }
    }

    /// Whether messages lie in memory that only this process has ([`RingPublisher::keep_in`]), so
    /// that peers elsewhere cannot read them. Takes a lock.
    ///
    /// [`RingPublisher::keep_in`]: crate::RingPublisher::keep_in
    pub fn is_private(&self) -> bool {
        matches!(lock(&self.table).segments.last(), Some(Segment::Private(_)))
    }

    /// The further segments, as a new peer or an observer in another process needs them: those
    /// before the first that only this process has, but for those that were given back.
    pub fn segments(&self) -> std::io::Result<Vec<SegmentFd>> {
        let table = lock(&self.table);
        let there = table.segments.iter().enumerate();
        let there = there.take_while(|(_, it)| !matches!(it, Segment::Private(_)));
        let there = there.filter(|(_, it)| matches!(it, Segment::Shared(_)));
        there.filter_map(|(place, _)| segment_fd(&table, place).transpose()).collect()
    }

    /// Segments that were given back, a bit each: peers need their memory no more. Takes a lock.
    pub fn given_back(&self) -> u64 {
        let table = lock(&self.table);
        let given = table.segments.iter().enumerate();
        let given = given.filter(|(_, it)| matches!(it, Segment::GivenBack(_)));
        given.fold(0, |all, (place, _)| all | 1 << (place + 1))
    }

    /// Gives a subscriber of this very process all further segments that it does not have: nothing
    /// is mapped a second time.
    pub fn share_segments(&self, subscriber: &SubscriberControl) {
        let table = lock(&self.table);
        for (place, segment) in table.segments.iter().enumerate() {
            if !matches!(segment, Segment::GivenBack(_)) {
                subscriber.share_segment(place + 1, segment.mapping());
            }
        }
    }

    /// The segments that a peer has not acknowledged: what the control thread has to send it after
    /// a notification, as far as it has not done so. Empty for a peer that is gone. Takes a lock;
    /// does not look at other peers.
    pub fn unacknowledged(&self, peer: u32) -> std::ops::Range<u32> {
        let table = lock(&self.table);
        let count = table.segments.len() as u32;
        match table.peers.get(peer as usize) {
            Some(Some(record)) if record.is_served() => record.acknowledged + 1..count + 1,
            _ => 0..0,
        }
    }

    /// One further segment, to be sent to a peer; `None`: there is none, only this process has it,
    /// or it was given back.
    pub fn segment(&self, index: u32) -> std::io::Result<Option<SegmentFd>> {
        let table = lock(&self.table);
        match (index as usize).checked_sub(1).filter(|place| *place < table.segments.len()) {
            Some(place) => segment_fd(&table, place),
            None => Ok(None),
        }
    }

    /// A peer has mapped all segments up to `segment`.
    pub fn acknowledge(&self, peer: u32, segment: u32) {
        let mut table = lock(&self.table);
        let count = table.segments.len() as u32;
        if let Some(Some(record)) = table.peers.get_mut(peer as usize) {
            record.acknowledged = record.acknowledged.max(segment.min(count));
            if record.service == Service::Behind && record.acknowledged == count {
                record.service = Service::Full;
            }
        }
        self.update_usable(&table);
    }

    fn update_usable(&self, table: &ControlTable) {
        let count = table.segments.len() as u32;
        let awaited = table.peers.iter().flatten().filter(|record| record.is_awaited());
        let usable = awaited.map(|record| record.acknowledged).min().unwrap_or(count);
        let some_behind =
            table.peers.iter().flatten().any(|record| record.service == Service::Behind);
        self.some_behind.store(some_behind, Ordering::Relaxed);
        // Release pairs with the Acquire of `usable`.
        if self.usable.swap(usable, Ordering::AcqRel) != usable {
            futex::wake_all(&self.usable);
        }
    }

    /// Publisher: a further segment exists.
    pub(crate) fn add_segment(&self, segment: Segment) {
        let mut table = lock(&self.table);
        table.segments.push(segment);
        self.update_usable(&table);
        drop(table);
        if let Some(notifier) = self.notifier.get() {
            notifier();
        }
    }

    /// Publisher: nobody uses this segment any more.
    pub(crate) fn give_back(&self, index: u32) {
        let mut table = lock(&self.table);
        let place = table.segments.get_mut((index as usize).wrapping_sub(1));
        let Some(segment) = place else { return };
        let mapping = segment.mapping().clone();
        let gone = std::mem::replace(segment, Segment::GivenBack(mapping));
        drop(table);
        // Closes its descriptor.
        drop(gone);
        if let Some(notifier) = self.notifier.get() {
            notifier();
        }
    }

    /// Publisher: further segments that every live peer has mapped.
    pub(crate) fn usable(&self) -> u32 {
        self.usable.load(Ordering::Acquire)
    }

    /// Publisher: has every peer that is served mapped this segment? One load while none was left
    /// behind, else it takes a lock.
    pub(crate) fn is_everywhere(&self, segment: u32) -> bool {
        // It alone leaves peers behind, so it sees its own store.
        if segment == 0 || !self.some_behind.load(Ordering::Relaxed) {
            return true;
        }
        let table = lock(&self.table);
        let behind = |record: &PeerRecord| record.service == Service::Behind;
        let mut missing = table.peers.iter().flatten().filter(|record| behind(record));
        missing.all(|record| record.acknowledged >= segment)
    }

    pub(crate) fn usable_word(&self) -> &AtomicU32 {
        &self.usable
    }

    /// Labels of the peers that have not acknowledged `segment`.
    pub(crate) fn missing(&self, segment: u32) -> Vec<String> {
        let table = lock(&self.table);
        let awaited = table.peers.iter().flatten().filter(|record| record.is_awaited());
        awaited
            .filter(|record| record.acknowledged < segment)
            .map(|record| record.label.to_string())
            .collect()
    }

    /// Publisher: it has waited long enough for peers that may fall behind and have not
    /// acknowledged `segment`. Takes a lock.
    pub(crate) fn leave_behind(&self, segment: u32) {
        let mut table = lock(&self.table);
        let slow = table.peers.iter_mut().flatten().filter(|record| {
            record.is_awaited() && record.may_fall_behind && record.acknowledged < segment
        });
        slow.for_each(|record| record.service = Service::Behind);
        self.update_usable(&table);
    }

    /// The publisher is gone: nobody can attach any more.
    pub(crate) fn close(&self) {
        lock(&self.table).gone = true;
    }
}

fn segment_fd(table: &ControlTable, place: usize) -> std::io::Result<Option<SegmentFd>> {
    let Segment::Shared(memory) = &table.segments[place] else { return Ok(None) };
    let fd = memory.fd().as_fd().try_clone_to_owned()?;
    Ok(Some(SegmentFd { index: place as u32 + 1, bytes: memory.mapping().bytes() as u64, fd }))
}

const _: () = assert!(HOLDS_MAX == 15);
// A bit each, see `given_back`.
const _: () = assert!(SEGMENTS_MAX <= 64);
