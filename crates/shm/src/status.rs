//! The status table: what a process shows of itself to observers, in shared memory.
//!
//! One memfd per process holds a fixed table of records (ports, connections, nodes), each with a
//! name, some detail bytes, 24 counters and, if asked for, a histogram. The process maps it
//! writable and seals it; everybody else maps it read-only. An observer therefore costs the
//! observed process nothing, and cannot harm it.
//!
//! Everything is 64-bit words. Each word has one writer at a time:
//! 1. Adding, describing and removing records happens under a lock of this process. A record's
//!    version is odd while it is rewritten; a reader that sees it odd or changed reads again, a
//!    bounded number of times.
//! 2. A record's counters and histogram are written by the thread that owns its [`Entity`]: a load
//!    and a store, no read-modify-write, no fence.
//! 3. Readers trust nothing: every size and index from the status table is checked against the
//!    mapping.
//! 4. A process may name kinds of records whose changes it tells others of, see
//!    [`StatusTable::tell_changes`]. They are counted by themselves, after the record and before
//!    anybody is told.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::fs::{Mode, OFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

use crate::fork::{Blank, ForkMark, PrivateFd};
use crate::histogram::{BUCKETS, HistogramSnapshot, bucket_of};
use crate::memory::{make_memfd, populate, set_size};

mod view;

pub use view::{EntitySnapshot, StatusView};

/// Counters of one record.
pub const COUNTERS: usize = 24;
/// The longest name of a record or of a process, in bytes.
pub const NAME_BYTES_MAX: usize = 256;
/// The most detail bytes of a record.
pub const DETAIL_BYTES_MAX: usize = 704;
/// The most records and the most histograms that a reader accepts on one status table.
pub const ENTITIES_MAX: usize = 1 << 16;

/// "XDBOARD" and the version of this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"XDBOARD\x03");
const HEADER_WORDS: usize = 512;
const NAME_WORDS: usize = NAME_BYTES_MAX / 8;
const ENTITY_WORDS: usize = 152;
const HISTOGRAM_WORDS: usize = 1280;
/// How often a reader looks again at a record that is being rewritten.
const READ_TRIES_MAX: u32 = 64;

/// Words of the header.
mod header {
    pub(super) const MAGIC: usize = 0;
    pub(super) const ENTITIES: usize = 1;
    pub(super) const HISTOGRAMS: usize = 2;
    pub(super) const PID: usize = 3;
    pub(super) const CHANGES: usize = 4;
    pub(super) const NAME_LEN: usize = 5;
    /// Records from this one on were never used: reading them would make their memory resident.
    pub(super) const USED: usize = 6;
    /// Changes of records of the kinds that the process tells of.
    pub(super) const TOLD: usize = 7;
    pub(super) const NAME: usize = 8;
}

/// Words of a record. Counters start on a cache line of their own.
mod record {
    pub(super) const VERSION: usize = 0;
    /// kind: 32 | in use: 1
    pub(super) const KIND: usize = 1;
    /// name length: 32 | detail length: 32
    pub(super) const LENGTHS: usize = 2;
    /// index of the histogram + 1; 0: none
    pub(super) const HISTOGRAM: usize = 3;
    pub(super) const COUNTERS: usize = 8;
    pub(super) const NAME: usize = COUNTERS + super::COUNTERS;
    pub(super) const DETAIL: usize = NAME + super::NAME_WORDS;
}

/// Words of a histogram.
mod histogram {
    pub(super) const COUNT: usize = 0;
    pub(super) const SUM: usize = 1;
    pub(super) const MIN: usize = 2;
    pub(super) const MAX: usize = 3;
    pub(super) const BUCKETS: usize = 8;
}

const IN_USE: u64 = 1 << 32;
const _: () = assert!(record::DETAIL * 8 + DETAIL_BYTES_MAX == ENTITY_WORDS * 8);
const _: () = assert!(histogram::BUCKETS + BUCKETS <= HISTOGRAM_WORDS);
const _: () = assert!(header::NAME + NAME_WORDS <= HEADER_WORDS);

/// How many records a status table can hold. Memory that no record uses costs address space only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusConfig {
    /// Records, 1216 bytes each.
    pub entities: usize,
    /// Histograms, 10 KiB each.
    pub histograms: usize,
}

/// A status table could not be made or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenStatusError {
    /// The operating system refused.
    #[error(
        "{what} a status table failed: {errno}; check the limits on memory, address space, open \
         files and their size (`ulimit -a`)"
    )]
    System {
        /// The attempted step.
        what: &'static str,
        /// What the system said.
        #[source]
        errno: Errno,
    },
    /// A size or a name is over its limit.
    #[error("the status table's {what} is {found}, the limit is {limit}")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// The received memory is not a status table, or its owner could still shrink it.
    #[error(
        "the received memory is not a status table: {0}; is the peer another version of Crossdock?"
    )]
    Malformed(&'static str),
}

/// A record could not be added or described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddEntityError {
    /// Name or detail is too long.
    #[error(
        "the {what} of `{name}` has {found} bytes in the status table, the limit is {limit}; \
         shorten it"
    )]
    TooLong {
        /// Name or detail.
        what: &'static str,
        /// The record's name, shortened.
        name: String,
        /// Its length in bytes.
        found: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// All records, or all histograms, are in use.
    #[error(
        "no {what} is free for `{name}` in the status table of this process, all {limit} are in \
         use; spread its nodes over more processes"
    )]
    Full {
        /// Record or histogram.
        what: &'static str,
        /// The record's name.
        name: String,
        /// How many there are.
        limit: usize,
    },
    /// There is no memory for it.
    #[error(
        "there is no memory for `{name}` in the status table of this process ({errno}); free some \
         memory, or lower the limits of its topics"
    )]
    Memory {
        /// The record's name.
        name: String,
        /// What the system said.
        #[source]
        errno: Errno,
    },
}

/// A mapping of 64-bit words that other processes map too.
#[derive(Debug)]
struct Words {
    base: NonNull<AtomicU64>,
    words: usize,
    /// What a forked child sees instead.
    _blank: Blank,
}

// SAFETY: the mapping is process-wide and stays until drop; all access is by atomics.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    fn map(fd: BorrowedFd<'_>, words: usize, protection: ProtFlags) -> Result<Words, Errno> {
        let bytes = words * 8;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs nothing.
        let address = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, 0)?
        };
        let base = NonNull::new(address.cast()).ok_or(Errno::NOMEM)?;
        let mapping = Words { base, words, _blank: Blank::new(address as usize, bytes) };
        // SAFETY: the range is the mapping made above. A child after fork has no business in it.
        unsafe {
            rustix::mm::madvise(address, bytes, rustix::mm::Advice::LinuxDontFork)?;
        }
        Ok(mapping)
    }

    #[inline]
    fn at(&self, word: usize) -> &AtomicU64 {
        assert!(word < self.words, "word {word} is outside the status table");
        // SAFETY: inside the mapping, as just checked.
        let pointer = unsafe { self.base.add(word) };
        // SAFETY: aligned (a mapping starts on a page), valid until drop, only used atomically;
        // the file's size is sealed, so no access can fault.
        unsafe { pointer.as_ref() }
    }

    /// Makes the memory of words present, see [`crate::memory::Mapping::populate`].
    fn populate(&self, word: usize, words: usize) -> Result<(), Errno> {
        assert!(word + words <= self.words, "word {word} is outside the status table");
        // SAFETY: inside the mapping, as just checked.
        let start = unsafe { self.base.add(word) };
        // SAFETY: as above; only the status table's maker calls this, whose mapping may be written.
        unsafe { populate(start.cast(), words * 8) }
    }

    fn write_bytes(&self, word: usize, bytes: &[u8]) {
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            self.at(word + index).store(u64::from_le_bytes(padded), Ordering::Relaxed);
        }
    }

    fn read_bytes(&self, word: usize, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len.next_multiple_of(8));
        for index in 0..len.div_ceil(8) {
            bytes.extend(self.at(word + index).load(Ordering::Relaxed).to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` made; no reference outlives `self`.
        let result = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.words * 8) };
        debug_assert!(result.is_ok(), "a status table's own mapping can be unmapped");
    }
}

fn entity_word(index: usize) -> usize {
    HEADER_WORDS + index * ENTITY_WORDS
}

fn histogram_word(entities: usize, index: usize) -> usize {
    HEADER_WORDS + entities * ENTITY_WORDS + index * HISTOGRAM_WORDS
}

fn words_of(entities: usize, histograms: usize) -> usize {
    (HEADER_WORDS + entities * ENTITY_WORDS + histograms * HISTOGRAM_WORDS).next_multiple_of(512)
}

/// This process's own status table.
///
/// Cloning gives another handle to the same status table. `Send` and `Sync`; adding and describing
/// records takes a lock and may block on other threads that do the same, so do it at set-up.
#[derive(Clone, Debug)]
pub struct StatusTable {
    shared: Arc<StatusTableState>,
}

#[derive(Debug)]
struct StatusTableState {
    words: Words,
    fd: PrivateFd,
    config: StatusConfig,
    free: Mutex<Free>,
    told: OnceLock<Told>,
    fork: ForkMark,
}

/// Kinds of records whose changes somebody is told of.
struct Told {
    kinds: &'static [u32],
    tell: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Told").field(&self.kinds).finish()
    }
}

impl StatusTableState {
    fn populate(&self, index: usize, histogram: Option<usize>) -> Result<(), Errno> {
        self.words.populate(entity_word(index), ENTITY_WORDS)?;
        histogram.map_or(Ok(()), |histogram| {
            let word = histogram_word(self.config.entities, histogram);
            self.words.populate(word, HISTOGRAM_WORDS)
        })
    }
}

/// What nothing uses.
#[derive(Debug)]
struct Free {
    entities: FreeIndices,
    histograms: FreeIndices,
}

/// Indices below a limit that nothing uses: those given back first, so that the used ones stay
/// close together. Takes memory for what was given back only.
#[derive(Debug)]
struct FreeIndices {
    returned: Vec<usize>,
    never_used: std::ops::Range<usize>,
}

impl FreeIndices {
    fn below(limit: usize) -> Self {
        Self { returned: Vec::new(), never_used: 0..limit }
    }

    fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.never_used.is_empty()
    }

    fn take(&mut self) -> Option<usize> {
        self.returned.pop().or_else(|| self.never_used.next())
    }
}

impl StatusTable {
    /// Makes the status table of the process called `process`.
    ///
    /// # Errors
    /// [`OpenStatusError`] when the name or a size is over its limit, or the system refuses memory.
    pub fn create(process: &str, config: StatusConfig) -> Result<StatusTable, OpenStatusError> {
        let limit = |what, found, limit| OpenStatusError::Limit { what, found, limit };
        if process.len() > NAME_BYTES_MAX {
            return Err(limit("process name in bytes", process.len(), NAME_BYTES_MAX));
        }
        for (what, found) in
            [("number of records", config.entities), ("number of histograms", config.histograms)]
        {
            if found > ENTITIES_MAX {
                return Err(limit(what, found, ENTITIES_MAX));
            }
        }
        let words = words_of(config.entities, config.histograms);
        let (fd, words) = create_memory(words)?;
        let populated = words.populate(0, HEADER_WORDS);
        populated.map_err(|errno| OpenStatusError::System { what: "making pages of", errno })?;
        words.at(header::ENTITIES).store(config.entities as u64, Ordering::Relaxed);
        words.at(header::HISTOGRAMS).store(config.histograms as u64, Ordering::Relaxed);
        words.at(header::PID).store(std::process::id().into(), Ordering::Relaxed);
        words.at(header::NAME_LEN).store(process.len() as u64, Ordering::Relaxed);
        words.write_bytes(header::NAME, process.as_bytes());
        // Pairs with the acquire load in `StatusView::open`.
        words.at(header::MAGIC).store(MAGIC, Ordering::Release);
        let free = Mutex::new(Free {
            entities: FreeIndices::below(config.entities),
            histograms: FreeIndices::below(config.histograms),
        });
        Ok(StatusTable {
            shared: Arc::new(StatusTableState {
                words,
                fd: fd.into(),
                config,
                free,
                told: OnceLock::new(),
                fork: ForkMark::new(),
            }),
        })
    }

    /// The read-only descriptor that observers get.
    pub fn read_only_fd(&self) -> BorrowedFd<'_> {
        self.shared.fd.as_fd()
    }

    /// Has `tell` called after each change of a record of one of these kinds, once for all handles:
    /// later calls do nothing. It runs under the status table's lock, on the thread that changes
    /// the record, so it must neither block nor use this status table.
    pub fn tell_changes(&self, kinds: &'static [u32], tell: impl Fn() + Send + Sync + 'static) {
        self.shared.told.get_or_init(|| Told { kinds, tell: Box::new(tell) });
    }

    /// As [`StatusView::told`]. One load.
    pub fn told(&self) -> u64 {
        self.shared.words.at(header::TOLD).load(Ordering::Acquire)
    }

    /// Adds a record; it stays until the returned [`Entity`] is dropped.
    ///
    /// Allocates and takes the status table's lock.
    ///
    /// # Errors
    /// [`AddEntityError`] when a text is too long or the status table is full.
    pub fn add(&self, entity: EntityDescription<'_>) -> Result<Entity, AddEntityError> {
        let EntityDescription { kind, name, detail, histogram } = entity;
        check_lengths(name, detail)?;
        let shared = &self.shared;
        let mut free = shared.free.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |what, limit| AddEntityError::Full { what, name: name.to_string(), limit };
        if histogram == WithHistogram::Yes && free.histograms.is_empty() {
            return Err(full("histogram", shared.config.histograms));
        }
        let index = free.entities.take().ok_or_else(|| full("record", shared.config.entities))?;
        let histogram = match histogram {
            WithHistogram::Yes => free.histograms.take(),
            WithHistogram::No => None,
        };
        let populated = shared.populate(index, histogram);
        if let Err(errno) = populated {
            free.entities.returned.push(index);
            free.histograms.returned.extend(histogram);
            return Err(AddEntityError::Memory { name: name.to_string(), errno });
        }
        let used = shared.words.at(header::USED);
        if used.load(Ordering::Relaxed) <= index as u64 {
            // Release pairs with the acquire load in `StatusView::used`.
            used.store(index as u64 + 1, Ordering::Release);
        }
        let counters = NonNull::from(shared.words.at(entity_word(index) + record::COUNTERS));
        let entity = Entity {
            shared: Arc::clone(shared),
            counters,
            index,
            histogram,
            not_sync: std::marker::PhantomData,
        };
        entity.clear();
        entity.rewrite(|words, at| {
            words.at(at + record::KIND).store(u64::from(kind) | IN_USE, Ordering::Relaxed);
            let reference = histogram.map_or(0, |index| index as u64 + 1);
            words.at(at + record::HISTOGRAM).store(reference, Ordering::Relaxed);
            write_texts(words, at, name, detail);
        });
        Ok(entity)
    }
}

fn create_memory(words: usize) -> Result<(OwnedFd, Words), OpenStatusError> {
    let system = |what| move |errno| OpenStatusError::System { what, errno };
    let writable = make_memfd("crossdock-status").map_err(system("making the memory of"))?;
    set_size(writable.as_fd(), words as u64 * 8).map_err(system("sizing"))?;
    let mapping = Words::map(writable.as_fd(), words, ProtFlags::READ | ProtFlags::WRITE)
        .map_err(system("mapping"))?;
    // From here on nobody maps it writable again, not even through a reopened descriptor.
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE;
    rustix::fs::fcntl_add_seals(&writable, seals).map_err(system("sealing"))?;
    rustix::fs::fchmod(&writable, Mode::RUSR | Mode::WUSR).map_err(system("protecting"))?;
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writable));
    let read_only = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(system("reopening"))?;
    Ok((read_only, mapping))
}

fn check_lengths(name: &str, detail: &[u8]) -> Result<(), AddEntityError> {
    for (what, found, limit) in
        [("name", name.len(), NAME_BYTES_MAX), ("detail", detail.len(), DETAIL_BYTES_MAX)]
    {
        if found > limit {
            let name = name.chars().take(64).collect();
            return Err(AddEntityError::TooLong { what, name, found, limit });
        }
    }
    Ok(())
}

fn write_texts(words: &Words, at: usize, name: &str, detail: &[u8]) {
    let lengths = name.len() as u64 | (detail.len() as u64) << 32;
    words.at(at + record::LENGTHS).store(lengths, Ordering::Relaxed);
    words.write_bytes(at + record::NAME, name.as_bytes());
    words.write_bytes(at + record::DETAIL, detail);
}

/// Whether a record gets a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithHistogram {
    /// One histogram.
    Yes,
    /// None.
    No,
}

/// A record to be added.
#[derive(Clone, Copy, Debug)]
pub struct EntityDescription<'a> {
    /// What it is; the status table's users agree on the numbers.
    pub kind: u32,
    /// At most [`NAME_BYTES_MAX`] bytes.
    pub name: &'a str,
    /// At most [`DETAIL_BYTES_MAX`] bytes; the status table's users agree on their meaning.
    pub detail: &'a [u8],
    /// Whether it gets a histogram.
    pub histogram: WithHistogram,
}

/// One record of our own status table; dropping it removes the record.
///
/// `Send`, not `Sync`: one thread at a time writes its counters. Writing neither blocks nor
/// allocates; observers see counters late by at most what the processor buffers, and see each
/// counter by itself (no two of them at one moment).
#[derive(Debug)]
pub struct Entity {
    shared: Arc<StatusTableState>,
    /// Its first counter: inside the mapping that `shared` keeps.
    counters: NonNull<AtomicU64>,
    index: usize,
    histogram: Option<usize>,
    not_sync: std::marker::PhantomData<std::cell::Cell<()>>,
}

// SAFETY: the pointer is to atomics of a mapping that all threads see and that `shared` keeps.
unsafe impl Send for Entity {}

impl Entity {
    /// Sets a counter.
    #[inline]
    pub fn set(&self, counter: usize, value: u64) {
        self.counter(counter).store(value, Ordering::Relaxed);
    }

    /// Adds to a counter; wraps at 2^64.
    #[inline]
    pub fn add(&self, counter: usize, more: u64) {
        let counter = self.counter(counter);
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    /// Value of a counter.
    #[inline]
    pub fn value(&self, counter: usize) -> u64 {
        self.counter(counter).load(Ordering::Relaxed)
    }

    #[inline]
    fn counter(&self, counter: usize) -> &AtomicU64 {
        assert!(counter < COUNTERS, "a record has {COUNTERS} counters, not {counter}");
        // SAFETY: the counters of a record lie side by side, and the record lies in the mapping.
        let counter = unsafe { self.counters.add(counter) };
        // SAFETY: aligned, valid while `shared` is, only used atomically.
        unsafe { counter.as_ref() }
    }

    /// One of its counters, for other threads of this process.
    ///
    /// # Panics
    /// There are fewer counters ([`COUNTERS`]).
    pub fn reader(&self, counter: usize) -> CounterReader {
        assert!(counter < COUNTERS, "a record has {COUNTERS} counters, not {counter}");
        let word = entity_word(self.index) + record::COUNTERS + counter;
        CounterReader { shared: Arc::clone(&self.shared), word }
    }

    /// Counts a duration in the record's histogram; does nothing when it has none.
    #[inline]
    pub fn record_ns(&self, value_ns: u64) {
        let Some(index) = self.histogram else { return };
        let at = histogram_word(self.shared.config.entities, index);
        let words = &self.shared.words;
        let raise = |word: &AtomicU64, more: u64| {
            let value = word.load(Ordering::Relaxed);
            word.store(value.wrapping_add(more), Ordering::Relaxed);
            value
        };
        let before = raise(words.at(at + histogram::COUNT), 1);
        raise(words.at(at + histogram::SUM), value_ns);
        raise(words.at(at + histogram::BUCKETS + bucket_of(value_ns)), 1);
        let (min, max) = (words.at(at + histogram::MIN), words.at(at + histogram::MAX));
        if before == 0 || value_ns < min.load(Ordering::Relaxed) {
            min.store(value_ns, Ordering::Relaxed);
        }
        if value_ns > max.load(Ordering::Relaxed) {
            max.store(value_ns, Ordering::Relaxed);
        }
    }

    /// What the record's own histogram has counted; `None` when it has none. Allocates.
    pub fn histogram(&self) -> Option<HistogramSnapshot> {
        let at = histogram_word(self.shared.config.entities, self.histogram?);
        Some(read_histogram(&self.shared.words, at))
    }

    /// Replaces name and detail; counters stay.
    ///
    /// # Errors
    /// [`AddEntityError`] when a text is too long; nothing changes then.
    pub fn describe(&self, name: &str, detail: &[u8]) -> Result<(), AddEntityError> {
        check_lengths(name, detail)?;
        let _free = self.shared.free.lock().unwrap_or_else(PoisonError::into_inner);
        self.rewrite(|words, at| write_texts(words, at, name, detail));
        Ok(())
    }

    /// Rewrites the record; the caller holds the status table's lock.
    fn rewrite(&self, write: impl FnOnce(&Words, usize)) {
        let words = &self.shared.words;
        let at = entity_word(self.index);
        let version = words.at(at + record::VERSION);
        let old = version.load(Ordering::Relaxed);
        let kind_before = words.at(at + record::KIND).load(Ordering::Relaxed);
        version.store(old.wrapping_add(1), Ordering::Relaxed);
        // The odd version before what follows; pairs with the reader's acquire fence.
        fence(Ordering::Release);
        write(words, at);
        // What was written before the even version; pairs with the reader's acquire load.
        version.store(old.wrapping_add(2), Ordering::Release);
        let count = |word| {
            let word = words.at(word);
            word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
        };
        count(header::CHANGES);
        let kinds = [kind_before, words.at(at + record::KIND).load(Ordering::Relaxed)];
        let is_told = |kind: &u64| kind & IN_USE != 0;
        if let Some(told) = self.shared.told.get()
            && kinds.iter().any(|kind| is_told(kind) && told.kinds.contains(&(*kind as u32)))
        {
            // Release pairs with the acquire load of who asks what has changed.
            count(header::TOLD);
            (told.tell)();
        }
    }

    /// Counters and histogram to zero, before the record is shown.
    fn clear(&self) {
        for counter in 0..COUNTERS {
            self.set(counter, 0);
        }
        if let Some(index) = self.histogram {
            let at = histogram_word(self.shared.config.entities, index);
            for word in 0..HISTOGRAM_WORDS {
                let word = self.shared.words.at(at + word);
                // Storing to a page that was never used would make it resident.
                if word.load(Ordering::Relaxed) != 0 {
                    word.store(0, Ordering::Relaxed);
                }
            }
        }
    }
}

impl Drop for Entity {
    fn drop(&mut self) {
        if self.shared.fork.in_child() {
            return;
        }
        let mut free = self.shared.free.lock().unwrap_or_else(PoisonError::into_inner);
        self.rewrite(|words, at| {
            words.at(at + record::KIND).store(0, Ordering::Relaxed);
            words.at(at + record::HISTOGRAM).store(0, Ordering::Relaxed);
            words.at(at + record::LENGTHS).store(0, Ordering::Relaxed);
        });
        free.entities.returned.push(self.index);
        free.histograms.returned.extend(self.histogram);
    }
}

/// Reads one counter of a record. Cloning gives another reader. When the record is gone, its place
/// may be another one's.
#[derive(Clone, Debug)]
pub struct CounterReader {
    shared: Arc<StatusTableState>,
    word: usize,
}

impl CounterReader {
    /// The counter's value. One load.
    pub fn value(&self) -> u64 {
        self.shared.words.at(self.word).load(Ordering::Relaxed)
    }
}

fn read_histogram(words: &Words, at: usize) -> HistogramSnapshot {
    let read = |word: usize| words.at(at + word).load(Ordering::Relaxed);
    HistogramSnapshot {
        count: read(histogram::COUNT),
        sum_ns: read(histogram::SUM),
        min_ns: read(histogram::MIN),
        max_ns: read(histogram::MAX),
        buckets: (0..BUCKETS).map(|bucket| read(histogram::BUCKETS + bucket)).collect(),
    }
}

#[cfg(test)]
mod tests;
