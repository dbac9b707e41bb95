//! The memory that the samples of one subscriber need: its hold words and the mappings of the
//! payload.
//!
//! A sample must outlive its subscriber and its publisher, yet taking one must cost no reference
//! count (two read-modify-writes per message). So the hold word itself is the reference:
//! 1. While a hold word is not 0, somebody owns the home: the subscriber, or after it the
//!    `LEFT_BEHIND` list.
//! 2. A subscriber that goes while samples exist puts its home on that list first, then sets
//!    `closed`.
//! 3. Dropping a sample clears its hold word as its last access to the home. If it saw `closed`
//!    before, it clears the word under the list's lock and gives the home back if it was the last
//!    sample.
//! 4. If `closed` was set between that look and the store, the home stays on the list until the
//!    next sweep: whenever a subscriber comes or goes, or when `sweep` is called.
//!
//! 5. What a sample says of its message lies beside its hold word in private memory (`Entry`), so
//!    that a sample is one pointer. An entry is written by the subscriber's thread while its hold
//!    word is 0 or its own, and read by the sample's owner while it is not 0.
//!
//! 6. What must not end before the last sample (the `Lifeline`: the socket to the publisher's
//!    process, and the word to it that its memory may be used again) belongs to the home and ends
//!    with it. Nothing else keeps a home: code that only looks has a weak reference.

use crate::descriptor::Meta;
use crate::distant::DistantMemory;
use crate::fork::ForkMark;
use crate::lifeline::Lifeline;
use crate::memory::{MapRef, Mapping, Region};
use crate::per_process::PerProcess;
use crate::pool::Chunk;
use crate::protocol::{Conn, HOLDS_MAX, Head};
use crate::ring_geometry::{HEAD_AT, PAYLOAD_ALIGN, SEGMENTS_MAX};
use crate::tables::{ConnLease, lock};
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

#[derive(Debug)]
enum Holds {
    /// In this process's connection table, where the publisher's process sees them.
    Ring(ConnLease),
    /// In private memory, for a publisher on the same thread.
    Local(Box<Conn>),
}

/// What one sample says of its message. Two cache lines: samples of one subscriber may live on
/// several threads.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Entry {
    home: NonNull<Home>,
    hold: NonNull<AtomicU64>,
    pub(crate) payload: NonNull<u8>,
    pub(crate) seq: u64,
    pub(crate) meta: Meta,
}

/// The hold words of one subscriber and the mappings that its samples point into.
#[derive(Debug)]
pub(crate) struct Home {
    holds: Holds,
    entries: [UnsafeCell<Entry>; HOLDS_MAX],
    segments: [OnceLock<Arc<Mapping>>; SEGMENTS_MAX],
    /// Segments that are not mapped, if the publisher is not trusted: then nothing but the head and
    /// the slots of its ring is.
    distant: OnceLock<Box<[OnceLock<Arc<DistantMemory>>; SEGMENTS_MAX]>>,
    /// Of this process, for copies of messages.
    copies: OnceLock<Arc<Mapping>>,
    closed: AtomicBool,
    fork: ForkMark,
    /// What the subscriber's owner calls the publisher.
    source: [u8; 16],
    /// Rule 6.
    _lifeline: Lifeline,
}

// SAFETY: the entries follow rule 5; everything else is atomic, locked, or constant.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

static LEFT_BEHIND: PerProcess<Mutex<Vec<Arc<Home>>>> = PerProcess::new();

/// Gives back the memory of subscribers that are gone and whose last sample is gone too.
///
/// Happens by itself whenever a subscriber comes or goes; a control thread may call it after it was
/// woken. Any thread; takes a lock.
pub fn sweep() {
    let mut left = lock(LEFT_BEHIND.of_process());
    let mut free: Vec<Arc<Home>> = Vec::new();
    left.retain(|home| {
        let held = !home.conn().holds_nothing();
        if !held {
            free.push(home.clone());
        }
        held
    });
    drop(left);
    // Mappings are undone outside the lock.
    drop(free);
}

impl Home {
    pub(crate) fn for_ring(conn: ConnLease, lifeline: Lifeline, source: [u8; 16]) -> Arc<Self> {
        sweep();
        Self::new(Holds::Ring(conn), lifeline, source)
    }

    pub(crate) fn for_local() -> Arc<Self> {
        sweep();
        Self::new(Holds::Local(Box::default()), Lifeline::none(), [0; 16])
    }

    fn new(holds: Holds, lifeline: Lifeline, source: [u8; 16]) -> Arc<Self> {
        Arc::new_cyclic(|home: &std::sync::Weak<Home>| {
            // The address is the home's own, which does not move; nobody looks through it before it
            // is made.
            let home = NonNull::new(home.as_ptr().cast_mut()).unwrap_or(NonNull::dangling());
            let conn: &Conn = match &holds {
                Holds::Ring(lease) => lease.conn(),
                Holds::Local(conn) => conn,
            };
            let entries = std::array::from_fn(|index| {
                UnsafeCell::new(Entry {
                    home,
                    hold: NonNull::from(&conn.hold[index]),
                    payload: NonNull::dangling(),
                    seq: 0,
                    meta: Meta::default(),
                })
            });
            Home {
                entries,
                segments: std::array::from_fn(|_| OnceLock::new()),
                distant: OnceLock::new(),
                copies: OnceLock::new(),
                closed: AtomicBool::new(false),
                fork: ForkMark::new(),
                source,
                _lifeline: lifeline,
                holds,
            }
        })
    }

    /// Rule 5: the entry of hold word `index`, which the caller has just set, to be written.
    #[inline(always)]
    pub(crate) fn entry(&self, index: usize) -> NonNull<Entry> {
        // SAFETY: the address of a cell in an array is never null.
        unsafe { NonNull::new_unchecked(self.entries[index].get()) }
    }

    #[inline(always)]
    pub(crate) fn conn(&self) -> &Conn {
        match &self.holds {
            Holds::Ring(lease) => lease.conn(),
            Holds::Local(conn) => conn,
        }
    }

    #[inline]
    pub(crate) fn source(&self) -> [u8; 16] {
        self.source
    }

    #[inline(always)]
    pub(crate) fn in_child(&self) -> bool {
        self.fork.in_child()
    }

    /// Adds a segment; false if its place is taken or does not exist.
    pub(crate) fn add_segment(&self, index: usize, mapping: Arc<Mapping>) -> bool {
        self.segments.get(index).is_some_and(|place| place.set(mapping).is_ok())
    }

    /// Adds a segment that is not mapped, as all segments of the publisher are not then. As
    /// [`Home::add_segment`].
    pub(crate) fn add_distant(&self, index: usize, memory: Arc<DistantMemory>) -> bool {
        let segments =
            self.distant.get_or_init(|| Box::new(std::array::from_fn(|_| OnceLock::new())));
        segments.get(index).is_some_and(|place| place.set(memory).is_ok())
    }

    /// Are payloads read without a mapping?
    pub(crate) fn is_distant(&self) -> bool {
        self.distant.get().is_some()
    }

    /// The memory of a payload that is read without a mapping, if it lies inside and is aligned.
    pub(crate) fn distant_payload(&self, chunk: Chunk, len: usize) -> Option<&DistantMemory> {
        let memory = self.distant.get()?.get(usize::from(chunk.segment))?.get()?;
        let is_inside = memory.holds(chunk.offset, len as u64);
        (is_inside && chunk.offset.is_multiple_of(PAYLOAD_ALIGN)).then_some(memory)
    }

    /// The memory of a segment goes; its addresses stay.
    pub(crate) fn vacate(&self, index: usize) {
        if let Some(memory) = self.distant.get().and_then(|it| it.get(index)?.get()) {
            memory.let_go();
        }
        if let Some(mapping) = self.segments.get(index).and_then(OnceLock::get) {
            mapping.vacate();
        }
    }

    /// Keeps the memory that messages are copied to. No descriptor names it.
    pub(crate) fn keep_copies(&self, mapping: &Arc<Mapping>) {
        let _ = self.copies.set(Arc::clone(mapping));
    }

    /// Can this segment be read?
    pub(crate) fn has_segment(&self, index: usize) -> bool {
        if let Some(distant) = self.distant.get() {
            return distant.get(index).is_some_and(|place| place.get().is_some());
        }
        self.segments.get(index).is_some_and(|place| place.get().is_some())
    }

    /// A segment that is mapped.
    pub(crate) fn segment(&self, index: usize) -> Option<Region> {
        self.segments.get(index)?.get().map(Region::to_read)
    }

    /// Address of a payload, if it lies inside a known segment and is aligned.
    #[inline]
    pub(crate) fn payload(&self, chunk: Chunk, len: usize) -> Option<NonNull<u8>> {
        if !chunk.offset.is_multiple_of(PAYLOAD_ALIGN) {
            return None;
        }
        self.segments.get(usize::from(chunk.segment))?.get()?.range(chunk.offset, len as u64)
    }

    /// The segment that an address lies in.
    pub(crate) fn region(&self, payload: NonNull<u8>) -> Option<Region> {
        let mapped = self.segments.iter().chain([&self.copies]).filter_map(OnceLock::get);
        mapped.map(Region::to_read).find(|region| {
            let offset = (payload.as_ptr() as usize).wrapping_sub(region.address());
            offset < region.bytes()
        })
    }

    /// The head of the publisher's ring, which is its first segment.
    pub(crate) fn head(&self) -> Option<MapRef<Head>> {
        MapRef::new(self.segments[0].get()?, HEAD_AT)
    }

    /// Has the subscriber gone?
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Rule 2: the subscriber goes.
    pub(crate) fn close(self: &Arc<Self>) {
        if self.in_child() {
            return;
        }
        let mut left = lock(LEFT_BEHIND.of_process());
        left.push(self.clone());
        // Release pairs with the Acquire in `release`: who sees it finds the home on the list.
        self.closed.store(true, Ordering::Release);
        drop(left);
        sweep();
    }

    /// The home of an entry whose hold word is not 0.
    ///
    /// # Safety
    /// The entry's hold word is not 0 and belongs to the caller alone, for as long as the answer is
    /// used.
    #[inline(always)]
    pub(crate) unsafe fn of<'a>(entry: NonNull<Entry>) -> &'a Home {
        // SAFETY: rule 1: the hold word is not 0, so the home and its entries are alive.
        let home = unsafe { (*entry.as_ptr()).home };
        // SAFETY: as above; homes are only shared.
        unsafe { home.as_ref() }
    }

    /// Rule 3: the sample of `entry` goes.
    ///
    /// # Safety
    /// The entry's hold word is not 0 and belongs to the caller alone, who does not use either any
    /// more.
    #[inline]
    pub(crate) unsafe fn release(entry: NonNull<Entry>) {
        // SAFETY: as the caller promises.
        let home = unsafe { Self::of(entry) };
        if home.in_child() {
            return;
        }
        // SAFETY: rule 1, as above.
        let hold = unsafe { (*entry.as_ptr()).hold };
        // SAFETY: hold words live in memory that the home owns.
        let hold = unsafe { hold.as_ref() };
        // Acquire pairs with the Release in `close`.
        if home.closed.load(Ordering::Acquire) {
            return Self::release_closed(hold);
        }
        // The last access: the home may be gone as soon as this store is visible.
        Conn::drop_hold(hold);
    }

    #[cold]
    fn release_closed(hold: &AtomicU64) {
        let left = lock(LEFT_BEHIND.of_process());
        Conn::drop_hold(hold);
        drop(left);
        sweep();
    }
}

/// As another thread has it at the moment of a fork.
#[cfg(test)]
pub(crate) fn lock_left_behind() -> std::sync::MutexGuard<'static, Vec<Arc<Home>>> {
    lock(LEFT_BEHIND.of_process())
}
