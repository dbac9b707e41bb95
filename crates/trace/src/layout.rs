//! How a process's trace memory is laid out, in words.
//!
//! Two objects. The *switch* is one page that everybody may write: the mask of what is traced. The
//! *record* is written by its process alone: a head, a table of threads, the definitions
//! (initialisation events, never overwritten), and one ring for each thread.

/// What both begin with: "XDTRACE" and the version of this layout.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"XDTRACE\x01");

/// Words of the switch.
pub(crate) mod switch {
    pub(crate) const MAGIC: usize = 0;
    /// One bit for each kind of event.
    pub(crate) const MASK: usize = 1;
    pub(crate) const WORDS: usize = 512;
}

/// Words of the head.
pub(crate) mod head {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const PID: usize = 1;
    /// Words of definitions that are complete, and definitions that found no room.
    pub(crate) const DEFINED: usize = 2;
    pub(crate) const UNDEFINED: usize = 3;
    /// Threads that found no ring, ever.
    pub(crate) const RINGLESS: usize = 4;
    pub(crate) const NAME_BYTES: usize = 5;
    pub(crate) const NAME: usize = 8;
    pub(crate) const NAME_WORDS: usize = 32;
    pub(crate) const WORDS: usize = 64;
}

/// Words of a thread's row; each row has cache lines of its own.
pub(crate) mod thread {
    /// 0: free, 1: in use.
    pub(crate) const STATE: usize = 0;
    pub(crate) const TID: usize = 1;
    /// Rises whenever another thread takes the row.
    pub(crate) const GENERATION: usize = 2;
    /// The thread's first record.
    pub(crate) const FIRST: usize = 3;
    pub(crate) const NAME: usize = 4;
    pub(crate) const NAME_WORDS: usize = 2;
    /// Apart from what readers look at all the time.
    pub(crate) const BEGUN: usize = 8;
    pub(crate) const DONE: usize = 9;
    pub(crate) const WORDS: usize = 16;
}

/// Threads of a process that have rings. More of them have their events counted as lost.
pub const THREADS_MAX: usize = 64;
/// Records of a thread's ring: 1 MiB.
pub const RING_RECORDS: usize = 16_384;
/// Records that begin together.
pub(crate) const BATCH: u64 = 64;
/// Words of definitions: 4 MiB, a few thousand ports.
pub(crate) const DEFINITION_WORDS: usize = 1 << 19;

const RING_WORDS: usize = RING_RECORDS * crossdock_shm::protocol::RECORD_WORDS;
pub(crate) const THREADS: usize = head::WORDS;
pub(crate) const DEFINITIONS: usize = THREADS + THREADS_MAX * thread::WORDS;
const RINGS: usize = (DEFINITIONS + DEFINITION_WORDS).next_multiple_of(512);
pub(crate) const RECORD_OBJECT_WORDS: usize = RINGS + THREADS_MAX * RING_WORDS;

const _: () = assert!(head::NAME + head::NAME_WORDS <= head::WORDS);
const _: () = assert!(thread::NAME + thread::NAME_WORDS <= thread::BEGUN);
const _: () = assert!(thread::DONE < thread::WORDS);
const _: () = assert!((BATCH as usize) < RING_RECORDS && RING_RECORDS.is_power_of_two());

/// Words of the row of a thread.
pub(crate) fn row(thread: usize) -> std::ops::Range<usize> {
    let start = THREADS + thread * thread::WORDS;
    start..start + thread::WORDS
}

/// Words of the ring of a thread.
pub(crate) fn ring(thread: usize) -> std::ops::Range<usize> {
    let start = RINGS + thread * RING_WORDS;
    start..start + RING_WORDS
}

/// The ring of a thread, in the words of a process's record.
pub(crate) fn ring_of(
    words: &[std::sync::atomic::AtomicU64],
    thread: usize,
) -> crossdock_shm::protocol::OverwriteRing<'_> {
    let row = &words[row(thread)];
    crossdock_shm::protocol::OverwriteRing {
        begun: &row[thread::BEGUN],
        done: &row[thread::DONE],
        words: &words[ring(thread)],
        batch: BATCH,
    }
}
