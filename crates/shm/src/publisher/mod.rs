//! A publisher's data path: loan, write in place, publish, wake.
//!
//! The protocol's publisher rules (P1..P9 in `protocol`) in the order in which they happen; chunks
//! are `pool`'s business, peers come from `control`. It must not know sockets, topics or types.

mod doors;
mod engine;
mod errors;

pub use errors::{CreateRingError, Holder, LoanError, PublishError, PublishRefused};

use crate::control::{RingControl, RingGeometry};
use crate::descriptor::Meta;
use crate::fork::ForkMark;
use crate::local::LocalLink;
use crate::memory::{MapRef, MapSlice, Mapping, OwnMemory, PAGE_BYTES, Writers};
use crate::pool::{Chunk, Class, chunk_bytes};
use crate::protocol::{HOLDS_MAX, Head, Ring, Slot};
use crate::tables::{Kind, Preamble};
use engine::State;
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// Offset of `Head` in a ring's memory; the preamble lies before it.
pub(crate) const HEAD_AT: u64 = 128;
/// Offset of the slots in a ring's memory.
pub(crate) const SLOTS_AT: u64 = PAGE_BYTES as u64;
/// Slots of a ring: 4 MiB of descriptors.
pub(crate) const SLOTS_MAX: usize = 1 << 16;

/// What a publisher promises its reliable subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reliability {
    /// Never waits; who is slow loses messages, counted.
    BestEffort,
    /// Waits for reliable subscribers, at most this long per message.
    Reliable {
        /// The longest wait.
        timeout: Duration,
    },
}

/// A publisher's contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingConfig {
    /// Slots of the ring: a power of two, more than `depth`. Peers with a larger depth are served
    /// up to `slots - 1`.
    pub slots: usize,
    /// Messages retained for slow subscribers.
    pub depth: usize,
    /// Messages that stay although everybody has taken them, for late joiners and latest-value
    /// readers: 1 to `depth`.
    pub history: usize,
    /// Largest message of the contract, in bytes; a larger one makes memory grow.
    pub chunk_bytes: usize,
    /// Samples that one subscriber may hold: 1 to 15.
    pub holds_per_subscriber: usize,
    /// Bytes that payloads may use in all.
    pub memory_limit_bytes: u64,
    /// Is the history also kept while nobody is connected, and given to late joiners?
    pub transient_local: bool,
    /// Does it wait for reliable subscribers?
    pub reliability: Reliability,
    /// Chunks whose memory is made present at creation, so that no message pays for a first touch.
    pub prefault_chunks: usize,
    /// How long a loan that makes memory grow waits for peers to map it.
    pub growth_timeout: Duration,
}

/// What happened at a publisher so far.
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
    label: Arc<str>,
    config: RingConfig,
    control: Arc<RingControl>,
    head: MapRef<Head>,
    slots: MapSlice<Slot>,
    state: RefCell<State>,
    fork: ForkMark,
}

/// Writable memory of one message that is not published yet.
///
/// Dropping it gives the memory back and changes nothing that a subscriber can see; several may be
/// open.
#[derive(Debug)]
pub struct RawLoan<'a> {
    publisher: &'a RingPublisher,
    chunk: Chunk,
    start: NonNull<u8>,
    bytes: usize,
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
    if config.history == 0 || config.history > config.depth {
        return Err(refused("history", config.history, format!("1 to {} (depth)", config.depth)));
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
    let first = SLOTS_AT + (config.slots * size_of::<Slot>()) as u64;
    let first = first.next_multiple_of(PAGE_BYTES as u64);
    Ok((chunk, first, limit_bytes / chunk))
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
        mapping.prefault(0, first);
        mapping.prefault(first, (config.prefault_chunks as u64).min(total) * chunk);
        let outside = || CreateMemoryError::BadSize { label: label.to_owned(), bytes: ring_bytes };
        let head = MapRef::<Head>::new(&mapping, HEAD_AT).ok_or_else(outside)?;
        let slots = MapSlice::new(&mapping, SLOTS_AT, config.slots).ok_or_else(outside)?;
        let geometry = RingGeometry {
            ring_bytes: mapping.bytes() as u64,
            slots: config.slots as u32,
            holds: config.holds_per_subscriber as u32,
            memory_limit_bytes: config.memory_limit_bytes,
        };
        let label: Arc<str> = label.into();
        let history = if config.transient_local { config.history as u64 } else { 0 };
        let control = Arc::new(RingControl::new(label.clone(), memory, geometry, history));
        let class = Class::new(0, chunk, first, total);
        let state = State::new(&config, class, mapping);
        let publisher = RingPublisher {
            label,
            config,
            control,
            head,
            slots,
            state: RefCell::new(state),
            fork: ForkMark::new(),
        };
        // The memory is all zeros: an empty ring behind message 0.
        publisher.ring().open(0);
        Ok(publisher)
    }

    /// The half for the control thread.
    pub fn control(&self) -> Arc<RingControl> {
        self.control.clone()
    }

    /// Names the publisher in errors.
    pub fn label(&self) -> &str {
        &self.label
    }

    #[inline(always)]
    pub(crate) fn ring(&self) -> Ring<'_> {
        Ring { head: &self.head, slots: &self.slots }
    }

    /// A chunk of at least `bytes` bytes to write to; its contents are unspecified.
    ///
    /// Evicts nothing that a reader could still want; an abandoned loan changes nothing. Blocks
    /// only while memory grows (`growth_timeout`).
    #[inline]
    pub fn loan(&self, bytes: usize) -> Result<RawLoan<'_>, Box<LoanError>> {
        if self.fork.in_child() {
            return Err(self.forked_loan());
        }
        let state = &mut *self.state.borrow_mut();
        let chunk = self.take_chunk(state, bytes)?;
        let start = state.start(chunk);
        Ok(RawLoan { publisher: self, chunk, start, bytes })
    }

    /// Peers connected from outside this thread's local links.
    pub fn peers(&self) -> usize {
        self.control.peers()
    }

    /// What happened so far.
    pub fn counters(&self) -> PublisherCounters {
        self.state.borrow().counters
    }

    /// Number of the last published message; 0 before the first.
    pub fn published(&self) -> u64 {
        self.state.borrow().seq
    }

    /// Takes note of peers that came or went; the data path does the same with each message. An
    /// executor calls it for a publisher that is idle for long, so that nothing of dead peers is
    /// kept.
    pub fn settle(&self) {
        if !self.fork.in_child() {
            self.absorb(&mut self.state.borrow_mut());
        }
    }

    /// Hands messages to a subscriber on the same thread from the next one on.
    ///
    /// Panics when called on another thread than the one that made the link.
    pub fn link(&self, link: &LocalLink) -> Result<(), crate::local::LinkError> {
        let mut state = self.state.borrow_mut();
        link.join(&self.label, &state.mappings)?;
        state.links.push(link.lane());
        Ok(())
    }
}

use crate::memory::CreateMemoryError;

impl Drop for RingPublisher {
    fn drop(&mut self) {
        if !self.fork.in_child() {
            self.control.close();
        }
    }
}

impl<'a> RawLoan<'a> {
    /// The memory to write to, as long as asked for, aligned to 64 bytes, contents unspecified.
    ///
    /// What is written becomes visible to subscribers with `publish`.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.publisher.fork.in_child() {
            return &mut [];
        }
        // SAFETY: the chunk lies inside a mapping that the publisher keeps, is this loan's alone
        // (no scan found it held, nothing names it), and any byte is valid.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Bytes loaned.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Is the loan for an empty message?
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Publishes; answers the message's sequence number.
    ///
    /// Blocks while a reliable subscriber is `depth` messages behind, at most the contract's
    /// timeout. System calls: that wait, and one per sleeper that this thread wakes. On refusal the
    /// loan comes back.
    ///
    /// Memory visibility: what was written before is visible to whoever takes the message.
    #[inline]
    pub fn publish(self, meta: Meta) -> Result<u64, PublishRefused<RawLoan<'a>>> {
        match self.publisher.publish_chunk(self.chunk, self.bytes, meta) {
            Ok(seq) => {
                std::mem::forget(self);
                Ok(seq)
            }
            Err(reason) => Err(PublishRefused { loan: self, reason }),
        }
    }
}

impl Drop for RawLoan<'_> {
    fn drop(&mut self) {
        if !self.publisher.fork.in_child() {
            self.publisher.state.borrow_mut().pool.give_back(self.chunk);
        }
    }
}

/// A mapping of one of the publisher's segments.
pub(crate) type SegmentMapping = Arc<Mapping>;
