//! A publisher's data path: loan, write in place, publish, wake.
//!
//! The protocol's publisher rules (P1..P8 in `protocol`), in the order in which they happen. `pool`
//! keeps the chunks, and peers come from `control`.

mod doors;
mod engine;
mod errors;
mod growth;
mod loan;
mod peers;
mod room;

pub use errors::{CreateRingError, Holder, LoanError, PublishError, PublishRefused};
pub use loan::{ParkedLoan, RawLoan};
pub use peers::{AttachError, PeerConfig, RingControl, SegmentFd, WakeTarget};

use crate::PAGE_BYTES;
use crate::driver::MemoryMaker;
use crate::fork::ForkMark;
use crate::local::LocalLink;
use crate::memory::{CreateMemoryError, MapRef, MapSlice, Mapping, OwnMemory, Writers};
use crate::pool::{Class, chunk_bytes};
use crate::protocol::{HOLDS_MAX, Head, Ring, Slot};
use crate::ring_geometry::{ADDRESS_BYTES_MAX, HEAD_AT, RingGeometry, SLOTS_AT, SLOTS_MAX};
use crate::slab::ChunkGrid;
use crate::tables::{Kind, Preamble};
use crate::timeline::{Of, Timeline};
use engine::State;
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A publisher's promise to its reliable subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Never waits; slow subscribers lose messages, counted.
    BestEffort,
    /// Waits for reliable subscribers, at most this long per message.
    Reliable {
        /// The longest wait.
        timeout: Duration,
        /// A message that is older, by its stamp, is not waited for; `None`: every one is.
        lifespan: Option<Duration>,
    },
}

/// What the size of messages follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizing {
    /// The contract names the largest message; a larger one makes memory grow within the limit.
    Contract,
    /// Nobody has promised sizes: the first message determines the first chunks, memory grows with
    /// the messages, and so does its limit: room for twice as many of the largest message as the
    /// ring and one subscriber hold.
    Messages,
}

/// A publisher's contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingConfig {
    /// Slots of the ring: a power of two, more than `depth`. The ring keeps at most `slots - 1`
    /// messages for peers with a larger depth.
    pub slots: usize,
    /// Messages kept for slow subscribers. A subscriber that asks for more gets more, if half of
    /// `memory_limit_bytes` holds them, and never less than this.
    pub depth: usize,
    /// Messages that stay for late joiners after every subscriber has taken them: 0 to `depth`.
    pub history: usize,
    /// Largest message of the contract, in bytes; a larger one makes memory grow.
    pub chunk_bytes: usize,
    /// Whether the contract determines the size of chunks, or the messages.
    pub sizing: Sizing,
    /// Samples that one subscriber may hold: 1 to 15.
    pub holds_per_subscriber: usize,
    /// Bytes that payloads may use in all; more, if their sizes determine that
    /// ([`Sizing::Messages`]).
    pub memory_limit_bytes: u64,
    /// True if the history is also kept while nobody is connected, and given to late joiners.
    pub transient_local: bool,
    /// Whether it waits for reliable subscribers, and how long.
    pub reliability: Reliability,
    /// Chunks whose memory is made present at creation, so no message pays for a first touch.
    pub prefault_chunks: usize,
    /// How long a loan that makes memory grow waits for peers to map it.
    pub growth_timeout: Duration,
}

/// Counts of a publisher so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublisherCounters {
    /// Messages published.
    pub messages: u64,
    /// Payload bytes published.
    pub bytes: u64,
    /// Sleeping executors woken by this thread.
    pub wakes: u64,
    /// Wake-ups passed on to sleepers that were woken first.
    pub relayed: u64,
    /// Scans of the hold words.
    pub scans: u64,
    /// Publishes that had to wait for a reliable subscriber.
    pub would_block: u64,
    /// Publishes refused after waiting.
    pub refused: u64,
}

/// Writes messages of one publisher port.
///
/// `Send`, not `Sync`: one thread at a time. The data path (`loan`, `publish`) takes no lock,
/// allocates nothing and makes no system call, except: the documented wake-up of sleepers, the wait
/// for a slow reliable subscriber, the growth of memory, and the absorption of peers that came or
/// went.
#[derive(Debug)]
pub struct RingPublisher {
    /// From a box; a pointer, so that records may point back.
    core: NonNull<Core>,
}

// SAFETY: the core is owned; all it holds is Send but for pointers into itself and its mappings.
// Open loans borrow the publisher and keep it where it is.
unsafe impl Send for RingPublisher {}

/// What a publisher is.
#[derive(Debug)]
struct Core {
    /// Tells publishers of this process apart, those that are gone included.
    number: u64,
    label: Arc<str>,
    config: RingConfig,
    control: Arc<RingControl>,
    head: MapRef<Head>,
    slots: MapSlice<Slot>,
    state: RefCell<State>,
    fork: ForkMark,
}

/// Mapping and size of a new ring, or why the contract cannot be kept.
fn plan(label: &str, config: &RingConfig) -> Result<(u64, u64, u64), CreateRingError> {
    let refused = |what, value: usize, allowed: String| CreateRingError::BadConfig {
        label: label.to_owned(),
        what,
        value: value as u64,
        allowed,
    };
    if !config.slots.is_power_of_two() || config.slots > SLOTS_MAX {
        return Err(refused("slots", config.slots, format!("a power of two up to {SLOTS_MAX}")));
    }
    if config.depth == 0 || config.depth >= config.slots {
        let allowed = format!("1 to {} (slots - 1)", config.slots - 1);
        return Err(refused("depth", config.depth, allowed));
    }
    if config.history > config.depth {
        return Err(refused("history", config.history, format!("0 to {} (depth)", config.depth)));
    }
    if config.holds_per_subscriber == 0 || config.holds_per_subscriber > HOLDS_MAX {
        let allowed = format!("1 to {HOLDS_MAX}");
        return Err(refused("holds per subscriber", config.holds_per_subscriber, allowed));
    }
    let chunk = chunk_bytes(config.chunk_bytes as u64)
        .filter(|chunk| *chunk <= 1 << 40)
        .ok_or_else(|| refused("chunk size", config.chunk_bytes, "up to 2^40 bytes".to_owned()))?;
    let chunks = (config.depth + config.holds_per_subscriber + 1) as u64;
    let needed_bytes = chunk.saturating_mul(chunks);
    let limit_bytes = config.memory_limit_bytes;
    if needed_bytes > limit_bytes {
        let label = label.to_owned();
        return Err(CreateRingError::MemoryLimit { label, chunks, needed_bytes, limit_bytes });
    }
    Ok((chunk, list_bytes(config), limit_bytes / chunk))
}

/// Bytes before the first chunk: the head of the ring and its list of messages.
fn list_bytes(config: &RingConfig) -> u64 {
    let end = SLOTS_AT + (config.slots * size_of::<Slot>()) as u64;
    end.next_multiple_of(PAGE_BYTES as u64)
}

impl RingPublisher {
    /// Makes a ring. `label` names the publisher in errors: process, node, topic.
    ///
    /// Allocates, maps, makes system calls.
    pub fn create(label: &str, config: RingConfig) -> Result<Self, CreateRingError> {
        let (chunk, first, total) = plan(label, &config)?;
        let ring_bytes = first.saturating_add(total.saturating_mul(chunk));
        let memory = OwnMemory::create(label, ring_bytes, Writers::Maker)?;
        let mapping = memory.mapping().clone();
        Preamble::write(&mapping, Kind::Ring);
        if config.sizing == Sizing::Contract {
            mapping.slabs().set_grid(ChunkGrid { segment: 0, first, chunk_bytes: chunk, total });
        }
        let present = (config.prefault_chunks as u64).min(total) * chunk;
        memory.populate(label, 0, first + present)?;
        let outside = || CreateMemoryError::BadSize { label: label.to_owned(), bytes: ring_bytes };
        let head = MapRef::<Head>::new(&mapping, HEAD_AT).ok_or_else(outside)?;
        let slots = MapSlice::new(&mapping, SLOTS_AT, config.slots).ok_or_else(outside)?;
        let geometry = RingGeometry {
            ring_bytes: mapping.bytes() as u64,
            slots: config.slots as u32,
            holds: config.holds_per_subscriber as u32,
            memory_limit_bytes: match config.sizing {
                Sizing::Contract => config.memory_limit_bytes,
                Sizing::Messages => config.memory_limit_bytes.max(ADDRESS_BYTES_MAX),
            },
        };
        let label: Arc<str> = label.into();
        let history = if config.transient_local { config.history as u64 } else { 0 };
        let control =
            Arc::new(RingControl::new(label.clone(), (memory, head.clone()), geometry, history));
        let class = Class::new(0, chunk, first, total).with_present(present);
        let state = State::new(&config, class, mapping);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let core = Core {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            label,
            config,
            control,
            head,
            slots,
            state: RefCell::new(state),
            fork: ForkMark::new(),
        };
        // The memory is all zeros: an empty ring behind message 0.
        core.ring().open(0);
        // Subscribers cannot count themselves as sleepers, since they only read.
        for [_, sleepers, _] in [&core.head.finished, &core.head.uploaded] {
            sleepers.store(1, Ordering::Relaxed);
        }
        Ok(RingPublisher { core: NonNull::from(Box::leak(Box::new(core))) })
    }

    #[inline(always)]
    fn core(&self) -> &Core {
        // SAFETY: made by `create`, freed by `drop`, only ever shared in between.
        unsafe { self.core.as_ref() }
    }

    /// The half for the control thread.
    pub fn control(&self) -> Arc<RingControl> {
        self.core().control.clone()
    }

    /// Names the publisher in errors.
    pub fn label(&self) -> &str {
        &self.core().label
    }

    /// A chunk of at least `bytes` bytes to write to; its contents are unspecified.
    ///
    /// Within the contract's depth, it evicts no message that a reader could still want. An
    /// abandoned loan changes nothing. Blocks only while memory grows (`growth_timeout`).
    #[inline]
    pub fn loan(&self, bytes: usize) -> Result<RawLoan<'_>, Box<LoanError>> {
        let record = self.core().take_loan(bytes)?;
        // SAFETY: just filled for this loan, which borrows the publisher.
        Ok(unsafe { RawLoan::new(record) })
    }

    /// From the next loan on, messages lie in memory that a driver makes for this process.
    /// Subscribers of other processes cannot read them ([`RingControl::is_private`]), so there
    /// should be none. Memory for the contract's messages is made now; it grows for larger ones as
    /// usual.
    ///
    /// # Errors
    /// The driver makes no memory. Then nothing has changed.
    pub fn keep_in(&self, maker: Box<dyn MemoryMaker>) -> Result<(), CreateMemoryError> {
        self.core().keep_in(maker)
    }

    /// Makes a loan of a parked one. Does not block or allocate.
    ///
    /// # Errors
    /// The token belongs to another publisher; it comes back.
    pub fn resume(&self, parked: ParkedLoan) -> Result<RawLoan<'_>, ParkedLoan> {
        if parked.publisher != self.core().number {
            return Err(parked);
        }
        // SAFETY: numbers are given once in a process, so the record is of this publisher, which is
        // alive; the loan that used it was parked, and this takes the only token for it.
        Ok(unsafe { RawLoan::new(parked.record) })
    }

    /// True if the next message would be published without waiting for a reliable subscriber.
    pub fn has_room(&self) -> bool {
        let core = self.core();
        core.in_child() || core.has_room()
    }

    /// Peers connected from outside this thread's local links.
    #[inline]
    pub fn peers(&self) -> usize {
        self.core().control.peers()
    }

    /// What happened so far.
    #[inline]
    pub fn counters(&self) -> PublisherCounters {
        self.core().state.borrow().counters
    }

    /// Bytes of payload memory that are present, and those that may be: the limit in force.
    pub fn memory_bytes(&self) -> (u64, u64) {
        let state = self.core().state.borrow();
        (state.pool.used_bytes(), state.pool.limit_bytes())
    }

    /// Bytes of the list of its messages, which are present from the start.
    pub fn list_bytes(&self) -> u64 {
        list_bytes(&self.core().config)
    }

    /// Number of the last published message; 0 before the first.
    #[inline]
    pub fn published(&self) -> u64 {
        self.core().state.borrow().seq
    }

    /// How far the messages that were published early ([`Marks::EARLY`](crate::Marks::EARLY)) are
    /// finished. When the device is done with a message, its publisher moves this on to the
    /// message's number, in the order of the numbers. The message's memory is not used again before
    /// that, even if no subscriber holds it. Allocates; any thread may move it on.
    pub fn timeline(&self) -> Timeline {
        Timeline::of_publisher(self.core().head.clone(), Of::Finished)
    }

    /// How far uploads of messages to a device ([`Marks::UPLOADED`](crate::Marks::UPLOADED)) are
    /// done: as [`timeline`](Self::timeline), but a timeline of its own.
    pub fn uploaded(&self) -> Timeline {
        Timeline::of_publisher(self.core().head.clone(), Of::Uploaded)
    }

    /// Takes note of peers that came or went. The data path does the same with each message. An
    /// executor calls this for a publisher that is idle for long, so that the publisher keeps
    /// nothing of dead peers.
    pub fn settle(&self) {
        let core = self.core();
        if !core.in_child() {
            core.absorb(&mut core.state.borrow_mut());
        }
    }

    /// Hands messages to a subscriber on the same thread from the next one on.
    ///
    /// Panics when called on another thread than the one that made the link.
    pub fn link(&self, link: &LocalLink) -> Result<(), crate::local::LinkError> {
        let core = self.core();
        let mut state = core.state.borrow_mut();
        link.join(&core.label, &state.mappings)?;
        state.links.push(link.lane());
        Ok(())
    }
}

impl Drop for RingPublisher {
    fn drop(&mut self) {
        // SAFETY: made by `create` from a box; no loan borrows the publisher any more.
        let core = unsafe { Box::from_raw(self.core.as_ptr()) };
        if !core.in_child() {
            core.control.close();
        }
    }
}

impl Core {
    #[inline(always)]
    fn ring(&self) -> Ring<'_> {
        Ring { head: &self.head, slots: &self.slots }
    }

    #[inline(always)]
    fn in_child(&self) -> bool {
        self.fork.in_child()
    }
}

/// A mapping of one of the publisher's segments.
pub(crate) type SegmentMapping = Arc<Mapping>;
