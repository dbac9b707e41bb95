//! The chunks of one publisher: which are in the ring, which have left it, which are free.
//!
//! Private memory of the publisher's thread: nothing that a peer can write is read here. Holds come
//! in as a list of sequence numbers.

use std::collections::VecDeque;

/// A chunk of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Segment of the publisher's memory.
    pub segment: u16,
    /// Bytes from the start of the segment.
    pub offset: u64,
}

/// A message's number and chunk, for the queues that each message passes: two words.
#[derive(Clone, Copy, Debug)]
struct Used {
    seq: u64,
    /// The segment above, the offset below.
    chunk: u64,
}

/// Offsets are addresses in a mapping. Processors have less than 2^48 of them.
const OFFSET_BITS: u32 = 48;

impl Used {
    #[inline(always)]
    fn new(seq: u64, chunk: Chunk) -> Self {
        debug_assert!(chunk.offset >> OFFSET_BITS == 0, "{chunk:?}");
        Used { seq, chunk: u64::from(chunk.segment) << OFFSET_BITS | chunk.offset }
    }

    #[inline(always)]
    fn chunk(self) -> Chunk {
        let offset = self.chunk & ((1 << OFFSET_BITS) - 1);
        Chunk { segment: (self.chunk >> OFFSET_BITS) as u16, offset }
    }
}

/// Chunk size from which a chunk is given back as early as possible, so that it is reused while the
/// cache is still warm; below it, waiting and freeing many with one scan is cheaper.
pub const LARGE_BYTES: u64 = 64 << 10;

/// Memory that is made present beyond a fresh small chunk, so that not each of them costs a call.
const AHEAD_BYTES: u64 = 16 << 10;

/// Retired small chunks that one scan at least frees, while fresh memory is left.
const SCAN_BATCH: usize = 32;

/// Chunks of one size: one segment.
#[derive(Debug)]
pub struct Class {
    /// Segment that all chunks of this class lie in.
    pub segment: u16,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Offset of the first chunk.
    first: u64,
    /// Chunks in all.
    total: u64,
    /// Chunks that were never used: `fresh..total`.
    fresh: u64,
    /// Offset behind the memory whose pages are present.
    present: u64,
    /// Used and free again; the last one freed is the first one reused.
    free: Vec<u64>,
    /// `fresh` when `free` was last put out of order.
    scattered: u64,
}

/// All chunks of one publisher.
#[derive(Debug)]
pub struct Pool {
    classes: Vec<Class>,
    /// Loans come from this place on; what lies before was left.
    first: usize,
    /// Loans of less than so many bytes come from the small chunks of the ring's own segment; 0:
    /// none does.
    small_end: u64,
    /// The messages in the ring, the oldest first, each under the number that it was published
    /// with.
    live: VecDeque<Used>,
    /// Messages that left the ring and may still be held.
    retired: Vec<Used>,
    /// Of `retired`, how many the last scan found held.
    held: usize,
    /// Bytes that chunks may use in all.
    limit_bytes: u64,
    /// Bytes of the chunks that were ever used.
    used_bytes: u64,
    /// Chunks of loans that are neither published nor dropped.
    loaned: usize,
}

/// Rounds a chunk size up: 64 B aligned, 4 KiB aligned from 4 KiB up.
pub const fn chunk_bytes(bytes: u64) -> Option<u64> {
    let align: u64 = if bytes >= 4096 { 4096 } else { 64 };
    match bytes.checked_add(align - 1) {
        Some(sum) => {
            let rounded = sum & !(align - 1);
            Some(if rounded == 0 { 64 } else { rounded })
        }
        None => None,
    }
}

impl Class {
    /// `total` chunks of `chunk_bytes` from `first` on.
    pub fn new(segment: u16, chunk_bytes: u64, first: u64, total: u64) -> Self {
        let free = Vec::with_capacity(usize::try_from(total.min(4096)).unwrap_or(0));
        Class { segment, chunk_bytes, first, total, fresh: 0, present: first, free, scattered: 0 }
    }

    /// The first `bytes` bytes of the chunks are present already.
    #[must_use]
    pub fn with_present(self, bytes: u64) -> Self {
        Class { present: self.first + bytes, ..self }
    }

    fn is_large(&self) -> bool {
        self.chunk_bytes >= LARGE_BYTES
    }

    fn take_fresh(&mut self) -> Option<Chunk> {
        if self.fresh == self.total {
            return None;
        }
        let offset = self.first + self.fresh * self.chunk_bytes;
        self.fresh += 1;
        Some(Chunk { segment: self.segment, offset })
    }

    fn take_free(&mut self) -> Option<Chunk> {
        self.free.pop().map(|offset| Chunk { segment: self.segment, offset })
    }

    /// Puts the free chunks out of order, once for all that were ever used. Chunks that follow each
    /// other at one distance are foreseen by the processor that reads them: it fetches the next one
    /// while that is being written, which costs its writer as much as the message itself.
    fn scatter(&mut self) {
        if self.scattered == self.fresh || self.is_large() {
            return;
        }
        self.scattered = self.fresh;
        // Shuffled (Fisher and Yates) by xorshift (Marsaglia 2003), always in the same way.
        let mut random = 0x9e37_79b9_u32;
        for last in (1..self.free.len()).rev() {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            let other = (u64::from(random) * (last as u64 + 1)) >> 32;
            self.free.swap(last, other as usize);
        }
    }
}

/// What `Pool::take` wants before it can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A chunk to write to.
    Chunk(Chunk),
    /// Scan the holds, call `reclaim`, ask again.
    Scan,
    /// Nothing is free, not even after a scan.
    Nothing,
}

impl Pool {
    /// A pool with one class; room for `retained` messages without another allocation.
    pub fn new(class: Class, retained: usize, limit_bytes: u64) -> Self {
        let small_end = if class.is_large() { 0 } else { class.chunk_bytes + 1 };
        Pool {
            classes: vec![class],
            first: 0,
            small_end,
            live: VecDeque::with_capacity(retained + 1),
            retired: Vec::with_capacity(retained.max(SCAN_BATCH) * 2),
            held: 0,
            limit_bytes,
            used_bytes: 0,
            loaned: 0,
        }
    }

    /// A further class for larger loans; its segment number is its place.
    pub fn add(&mut self, class: Class) {
        self.classes.push(class);
    }

    /// Loans come from classes that are added from now on; what is in use stays so until it is
    /// free.
    pub fn leave_classes(&mut self) {
        self.first = self.classes.len();
        self.small_end = 0;
    }

    /// Whether a loan of `bytes` comes from the small chunks of the ring's own segment.
    #[inline(always)]
    pub fn is_small(&self, bytes: u64) -> bool {
        bytes < self.small_end
    }

    /// Do any loans?
    #[inline(always)]
    pub fn has_small(&self) -> bool {
        self.small_end > 0
    }

    /// Place of the smallest class that a loan of `bytes` fits into.
    #[inline]
    pub fn class_for(&self, bytes: u64) -> Option<usize> {
        if self.first == 0 && bytes <= self.classes[0].chunk_bytes {
            return Some(0);
        }
        let fits = self.classes.iter().enumerate().skip(self.first);
        let fits = fits.filter(|(_, class)| bytes <= class.chunk_bytes);
        fits.min_by_key(|(_, class)| class.chunk_bytes).map(|(place, _)| place)
    }

    /// The class at `place`.
    #[inline]
    pub fn class(&self, place: usize) -> &Class {
        &self.classes[place]
    }

    /// Segments in use.
    pub fn segments(&self) -> usize {
        self.classes.len()
    }

    /// Is early eviction worth it for this class?
    #[inline]
    pub fn is_large(&self, place: usize) -> bool {
        self.classes[place].is_large()
    }

    /// Messages in the ring.
    #[inline]
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// Messages that have left the ring and were not found free yet.
    #[inline]
    pub fn retired(&self) -> usize {
        self.retired.len()
    }

    /// Chunks in loans.
    pub fn loaned(&self) -> usize {
        self.loaned
    }

    /// A chunk of the class at `place` that was used before and is free.
    #[inline(always)]
    pub fn take_free(&mut self, place: usize) -> Option<Chunk> {
        let chunk = self.classes[place].take_free();
        self.loaned += usize::from(chunk.is_some());
        chunk
    }

    /// The chunk that `take_free` would give.
    #[inline(always)]
    pub fn next_free(&self, place: usize) -> Option<Chunk> {
        let class = &self.classes[place];
        class.free.last().map(|offset| Chunk { segment: class.segment, offset: *offset })
    }

    /// A chunk of the class at `place`. `scanned`: `reclaim` was just called. `frugal`: no fresh
    /// memory beyond half of the limit, since there is something that need not be kept.
    #[inline]
    pub fn take(&mut self, place: usize, peers: usize, scanned: bool, frugal: bool) -> Taken {
        let retired = self.retired.len();
        let class = &mut self.classes[place];
        if let Some(chunk) = class.take_free() {
            self.loaned += 1;
            return Taken::Chunk(chunk);
        }
        let batch = if class.is_large() { 1 } else { SCAN_BATCH.max(2 * peers) };
        if !scanned && retired >= self.held + batch {
            return Taken::Scan;
        }
        let used_bytes = self.used_bytes + class.chunk_bytes;
        let limit_bytes = if frugal { self.limit_bytes / 2 } else { self.limit_bytes };
        if used_bytes <= limit_bytes
            && let Some(chunk) = class.take_fresh()
        {
            self.used_bytes = used_bytes;
            self.loaned += 1;
            return Taken::Chunk(chunk);
        }
        if scanned || retired == 0 { Taken::Nothing } else { Taken::Scan }
    }

    /// Offset and bytes of what must be made present before a chunk that was just taken is written;
    /// `None`: all of it is.
    #[inline]
    pub fn absent(&self, chunk: Chunk) -> Option<(u64, u64)> {
        let class = &self.classes[usize::from(chunk.segment)];
        let end = chunk.offset + class.chunk_bytes;
        (end > class.present).then(|| {
            let ahead = if class.is_large() { 0 } else { AHEAD_BYTES };
            let last = class.first + class.total * class.chunk_bytes;
            (class.present, (end + ahead).min(last) - class.present)
        })
    }

    /// Everything of the chunk's class before `end` is present.
    pub fn note_present(&mut self, chunk: Chunk, end: u64) {
        self.classes[usize::from(chunk.segment)].present = end;
    }

    /// The chunk that was taken last cannot be made present: it is the next fresh one again.
    pub fn give_back_fresh(&mut self, chunk: Chunk) {
        let class = &mut self.classes[usize::from(chunk.segment)];
        class.fresh -= 1;
        self.used_bytes -= class.chunk_bytes;
        self.loaned -= 1;
    }

    /// A loan was dropped unpublished: its chunk is the next one used.
    #[inline]
    pub fn give_back(&mut self, chunk: Chunk) {
        self.loaned -= 1;
        self.free(chunk);
    }

    /// A loan was published into the ring as the newest message.
    #[inline]
    pub fn publish_live(&mut self, seq: u64, chunk: Chunk) {
        self.loaned -= 1;
        self.live.push_back(Used::new(seq, chunk));
    }

    /// A loan was published to local links only: it is out of the ring from the start.
    #[inline]
    pub fn publish_retired(&mut self, seq: u64, chunk: Chunk) {
        self.loaned -= 1;
        self.retired.push(Used::new(seq, chunk));
    }

    /// The oldest message of the ring leaves it, if it is not newer than `last`. Answers its
    /// number, under which the caller evicts it: the one that it was published with.
    #[inline]
    pub fn retire_oldest(&mut self, last: u64) -> Option<u64> {
        let oldest = *self.live.front().filter(|oldest| oldest.seq <= last)?;
        self.live.pop_front();
        self.retired.push(oldest);
        Some(oldest.seq)
    }

    /// Puts an old fault back: messages in the ring are numbered back from the newest one.
    #[cfg(any(test, feature = "faults"))]
    pub fn renumber(&mut self, newest: u64) {
        for (back, used) in self.live.iter_mut().rev().enumerate() {
            used.seq = newest - back as u64;
        }
    }

    /// Frees every retired message that `is_held` does not name.
    pub fn reclaim(&mut self, is_held: impl Fn(u64) -> bool) {
        let classes = &mut self.classes;
        self.retired.retain(|used| {
            let held = is_held(used.seq);
            if !held {
                free_into(classes, used.chunk());
            }
            held
        });
        self.held = self.retired.len();
        self.classes.iter_mut().for_each(Class::scatter);
    }

    #[inline]
    fn free(&mut self, chunk: Chunk) {
        free_into(&mut self.classes, chunk);
    }
}

#[inline]
fn free_into(classes: &mut [Class], chunk: Chunk) {
    classes[usize::from(chunk.segment)].free.push(chunk.offset);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_used_again_follow_each_other_at_no_fixed_distance() {
        let mut pool = Pool::new(Class::new(0, 320, 4096, 1000), 4, 1 << 20);
        let mut offsets = vec![];
        for seq in 1..=400 {
            let chunk = loop {
                match pool.take(0, 1, false, false) {
                    Taken::Chunk(chunk) => break chunk,
                    Taken::Scan => pool.reclaim(|_| false),
                    Taken::Nothing => panic!("no chunk for message {seq}"),
                }
            };
            pool.publish_live(seq, chunk);
            if seq > 4 {
                assert_eq!(pool.retire_oldest(seq - 4), Some(seq - 4));
            }
            offsets.push(chunk.offset);
        }
        let used_again = &offsets[100..];
        let repeats =
            |three: &&[u64]| three[1].wrapping_sub(three[0]) == three[2].wrapping_sub(three[1]);
        let repeated = used_again.windows(3).filter(repeats).count();
        assert!(
            repeated < used_again.len() / 8,
            "{repeated} of {}: {used_again:?}",
            used_again.len()
        );
    }
}
