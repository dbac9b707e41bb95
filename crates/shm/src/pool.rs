//! The chunks of one publisher: which are in the ring, which have left it, which are free.
//!
//! Private memory of the publisher's thread: nothing that a peer can write is read here. Holds come
//! in as a list of sequence numbers.

use crate::PAGE_BYTES;
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
    /// Bytes that are present of each chunk that was ever used, if only as much is made present as
    /// messages need; `None`: chunks are present as a whole, up to `present`.
    parts: Option<Vec<u64>>,
    /// So much of every chunk in `parts` is present, or more: a message that needs no more looks up
    /// none of them.
    everywhere: u64,
}

/// No segment has this number.
const NO_SEGMENT: u16 = u16::MAX;

/// All chunks of one publisher.
///
/// Loans come from two classes at most: small chunks in the ring's own segment, and the chunks of
/// the newest further segment. A class that larger chunks have replaced is *left*: its chunks come
/// back, and when the last one has, its segment can be given back.
#[derive(Debug)]
pub struct Pool {
    /// Those that loans come from.
    classes: Vec<Class>,
    /// Those that were left, and not all of whose chunks have come back.
    left: Vec<Class>,
    /// The segment all of whose chunks are of the first class; [`NO_SEGMENT`]: there is none.
    sole: u16,
    /// Segments ever used.
    segments: usize,
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
    /// Bytes that chunks of the newest class may use in any case.
    newest_bytes: u64,
    /// Bytes of the chunks that were ever used, but for what was given back.
    used_bytes: u64,
    /// Chunks of loans that are neither published nor dropped.
    loaned: usize,
}

/// Rounds a chunk size up: 64 B aligned, 4 KiB aligned from 4 KiB up.
pub const fn chunk_bytes(bytes: u64) -> Option<u64> {
    let page = PAGE_BYTES as u64;
    let align: u64 = if bytes >= page { page } else { 64 };
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
        Class {
            segment,
            chunk_bytes,
            first,
            total,
            fresh: 0,
            present: first,
            free,
            scattered: 0,
            parts: None,
            everywhere: 0,
        }
    }

    /// Only as much of a chunk is made present as messages need.
    #[must_use]
    pub fn in_parts(self) -> Self {
        Class { parts: Some(Vec::new()), ..self }
    }

    /// Offset behind the last chunk.
    fn end(&self) -> u64 {
        self.first + self.total * self.chunk_bytes
    }

    fn contains(&self, chunk: Chunk) -> bool {
        chunk.segment == self.segment && (self.first..self.end()).contains(&chunk.offset)
    }

    /// Has every chunk that was ever used come back?
    fn is_whole(&self) -> bool {
        self.free.len() as u64 == self.fresh
    }

    /// Bytes that count as used because of it.
    fn used_bytes(&self) -> u64 {
        match &self.parts {
            Some(parts) => parts.iter().sum(),
            None => self.fresh * self.chunk_bytes,
        }
    }

    /// Bytes that a message of `bytes` bytes needs to be present of a chunk.
    fn needed(&self, bytes: u64) -> u64 {
        match self.parts {
            Some(_) => bytes.max(1).next_multiple_of(PAGE_BYTES as u64).min(self.chunk_bytes),
            None => self.chunk_bytes,
        }
    }

    fn part(&self, offset: u64) -> Option<(usize, u64)> {
        let index = ((offset - self.first) / self.chunk_bytes) as usize;
        self.parts.as_ref().map(|parts| (index, parts[index]))
    }

    /// Bytes that count as used from now on if a message of `bytes` bytes lies in this chunk, which
    /// was used before.
    #[inline]
    fn lacks(&self, offset: u64, bytes: u64) -> u64 {
        let needed = self.needed(bytes);
        if needed <= self.everywhere {
            return 0;
        }
        self.part(offset).map_or(0, |(_, there)| needed.saturating_sub(there))
    }

    /// What was ever used of the chunks that are not free. Looks at all free ones.
    #[cold]
    fn busy_bytes(&self) -> u64 {
        let free = self.free.iter().map(|offset| match self.part(*offset) {
            Some((_, there)) => there,
            None => self.chunk_bytes,
        });
        self.used_bytes().saturating_sub(free.sum())
    }

    /// The free chunk that lacks least for a message of `bytes` bytes, if that is at most `room`.
    /// Looks at all free ones.
    fn take_fullest(&mut self, bytes: u64, room: u64) -> Option<Chunk> {
        let free = self.free.iter().enumerate().rev();
        let lacking = free.map(|(place, offset)| (place, self.lacks(*offset, bytes)));
        let (place, lacks) = lacking.min_by_key(|(_, lacks)| *lacks)?;
        let offset = (lacks <= room).then(|| self.free.swap_remove(place))?;
        Some(Chunk { segment: self.segment, offset })
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
        if let Some(parts) = &mut self.parts {
            parts.push(0);
            self.everywhere = 0;
        }
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
        let mut pool = Pool {
            classes: vec![class],
            left: Vec::new(),
            sole: NO_SEGMENT,
            segments: 1,
            small_end: 0,
            live: VecDeque::with_capacity(retained + 1),
            retired: Vec::with_capacity(retained.max(SCAN_BATCH) * 2),
            held: 0,
            limit_bytes,
            newest_bytes: 0,
            used_bytes: 0,
            loaned: 0,
        };
        pool.note_classes();
        pool
    }

    /// The classes have changed.
    fn note_classes(&mut self) {
        let small = self.classes.first().filter(|class| class.segment == 0 && !class.is_large());
        self.small_end = small.map_or(0, |class| class.chunk_bytes + 1);
        // Two classes share a segment only if one of them was left.
        let first = self.classes.first().filter(|_| self.left.is_empty());
        self.sole = first.map_or(NO_SEGMENT, |class| class.segment);
    }

    /// A further class for larger loans, which takes the place of the one before; its segment is
    /// the next one.
    pub fn add(&mut self, class: Class) {
        let ring = usize::from(self.classes.first().is_some_and(|class| class.segment == 0));
        self.left.extend(self.classes.drain(ring..));
        self.classes.push(class);
        self.segments += 1;
        self.note_classes();
    }

    /// Loans come from the other class from now on, which there must be. What is in use stays so
    /// until it is free.
    pub fn leave_ring(&mut self) {
        if self.ring_class().is_some() {
            self.left.push(self.classes.remove(0));
            self.note_classes();
        }
    }

    /// The chunks in the ring's own segment; `None`: they were left.
    pub fn ring_class(&self) -> Option<&Class> {
        self.classes.first().filter(|class| class.segment == 0)
    }

    /// Was none of the chunks in the ring's own segment ever used?
    pub fn is_ring_unused(&self) -> bool {
        self.ring_class().is_some_and(|class| class.fresh == 0)
    }

    /// What is left of the ring's own segment is cut into chunks of this size from now on, behind
    /// the chunks that were used. Answers where the first lies and how many there are; `None`, and
    /// nothing changes, if there is no room for `chunks_min` of them. Allocates.
    pub fn cut_ring(&mut self, chunk_bytes: u64, chunks_min: u64) -> Option<(u64, u64)> {
        let old = self.ring_class()?;
        let align = if chunk_bytes >= PAGE_BYTES as u64 { PAGE_BYTES as u64 } else { 64 };
        let first = (old.first + old.fresh * old.chunk_bytes).next_multiple_of(align);
        let total = old.end().saturating_sub(first) / chunk_bytes;
        if total < chunks_min {
            return None;
        }
        let mut class = Class::new(0, chunk_bytes, first, total);
        class.present = old.present.max(first);
        let mut old = std::mem::replace(&mut self.classes[0], class);
        // What was used of it comes back, and nothing more is cut out of it.
        old.total = old.fresh;
        if old.fresh > 0 {
            self.left.push(old);
        }
        self.note_classes();
        Some((first, total))
    }

    /// Bytes that chunks may use in all, from now on, and of the newest class in any case, although
    /// classes that were left cannot go. Sizes double from class to class: if `newest_bytes` is at
    /// most half of the limit and grows with the sizes, all take at most twice the limit.
    pub fn follow_messages(&mut self, limit_bytes: u64, newest_bytes: u64) {
        (self.limit_bytes, self.newest_bytes) = (limit_bytes, newest_bytes);
    }

    /// Bytes that chunks may use in all.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes of the chunks that were ever used, but for what was given back.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Are there classes that were left?
    #[inline]
    pub fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// The segment of a class that was left and has all its chunks back, if `can_go` lets it go:
    /// it counts as used no longer.
    pub fn forget_left(&mut self, can_go: impl Fn(u16) -> bool) -> Option<u16> {
        // Memory of the ring's own segment stays; its books are not needed any more.
        self.left.retain(|class| class.segment != 0 || !class.is_whole());
        self.note_classes();
        let left = self.left.iter();
        let place = left.enumerate().find(|(_, it)| it.is_whole() && can_go(it.segment))?.0;
        let class = self.left.swap_remove(place);
        self.note_classes();
        self.used_bytes -= class.used_bytes();
        Some(class.segment)
    }

    /// Whether a loan of `bytes` comes from the small chunks of the ring's own segment.
    #[inline(always)]
    pub fn is_small(&self, bytes: u64) -> bool {
        bytes < self.small_end
    }

    /// Place of the smallest class that a loan of `bytes` fits into.
    #[inline]
    pub fn class_for(&self, bytes: u64) -> Option<usize> {
        // The ring's own come first, and are the smaller ones.
        self.classes.iter().position(|class| bytes <= class.chunk_bytes)
    }

    /// The class at `place`.
    #[inline]
    pub fn class(&self, place: usize) -> &Class {
        &self.classes[place]
    }

    /// Segments ever used.
    pub fn segments(&self) -> usize {
        self.segments
    }

    /// Bytes of the chunks of the newest segment.
    pub fn newest_chunk_bytes(&self) -> u64 {
        self.classes.last().map_or(0, |class| class.chunk_bytes)
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

    /// The chunk that was freed last of the class at `place`, if `bytes` bytes of it are present.
    #[inline(always)]
    pub fn take_whole(&mut self, place: usize, bytes: u64) -> Option<Chunk> {
        let class = &self.classes[place];
        let offset = *class.free.last()?;
        let behind = if class.parts.is_some() { 0 } else { offset + class.chunk_bytes };
        if class.lacks(offset, bytes) > 0 || behind > class.present {
            return None;
        }
        self.take_free(place)
    }

    /// A chunk of the class at `place` for `bytes` bytes. `scanned`: `reclaim` was just called.
    /// `frugal`: no fresh memory beyond half of the limit, since there is something that need not
    /// be kept.
    pub fn take(
        &mut self,
        place: usize,
        bytes: u64,
        peers: usize,
        scanned: bool,
        frugal: bool,
    ) -> Taken {
        let retired = self.retired.len();
        let limit_bytes = if frugal { self.limit_bytes / 2 } else { self.limit_bytes };
        let mut room = limit_bytes.saturating_sub(self.used_bytes);
        let class = &mut self.classes[place];
        if let Some(offset) = class.free.last()
            && class.lacks(*offset, bytes) <= room
            && let Some(chunk) = class.take_free()
        {
            self.loaned += 1;
            return Taken::Chunk(chunk);
        }
        if room < class.needed(bytes) && self.newest_bytes > 0 {
            // What was left may be whole but for one message that is held, and what earlier
            // messages have used of free chunks may be too short now.
            room = room.max(self.newest_bytes.saturating_sub(class.busy_bytes()));
        }
        // Memory is short: chunks that are nearly large enough grow again and again, and the others
        // stay as they are.
        if let Some(chunk) = class.take_fullest(bytes, room) {
            self.loaned += 1;
            return Taken::Chunk(chunk);
        }
        let early = class.is_large() || class.parts.is_some();
        let batch = if early { 1 } else { SCAN_BATCH.max(2 * peers) };
        if !scanned && retired >= self.held + batch {
            return Taken::Scan;
        }
        if class.needed(bytes) <= room
            && let Some(chunk) = class.take_fresh()
        {
            // Parts count when they are present.
            self.used_bytes += if class.parts.is_some() { 0 } else { class.chunk_bytes };
            self.loaned += 1;
            return Taken::Chunk(chunk);
        }
        if scanned || retired == 0 { Taken::Nothing } else { Taken::Scan }
    }

    /// A chunk of the class at `place` that was used before, is free, and has `bytes` bytes
    /// present.
    pub fn take_present(&mut self, place: usize, bytes: u64) -> Option<Chunk> {
        let chunk = self.classes[place].take_fullest(bytes, 0);
        self.loaned += usize::from(chunk.is_some());
        chunk
    }

    /// Offset and bytes of what must be made present before `bytes` bytes of a chunk that was just
    /// taken from the class at `place` are written; `None`: all of it is.
    #[inline]
    pub fn absent(&self, place: usize, chunk: Chunk, bytes: u64) -> Option<(u64, u64)> {
        let class = &self.classes[place];
        if class.parts.is_some() {
            let lacks = class.lacks(chunk.offset, bytes);
            let there = || class.part(chunk.offset).map_or(0, |(_, there)| there);
            return (lacks > 0).then(|| (chunk.offset + there(), lacks));
        }
        let end = chunk.offset + class.chunk_bytes;
        (end > class.present).then(|| {
            let ahead = if class.is_large() { 0 } else { AHEAD_BYTES };
            (class.present, (end + ahead).min(class.end()) - class.present)
        })
    }

    /// Everything of the chunk before `end` is present, or everything of its class.
    pub fn note_present(&mut self, place: usize, chunk: Chunk, end: u64) {
        let class = &mut self.classes[place];
        match (class.part(chunk.offset), &mut class.parts) {
            (Some((index, there)), Some(parts)) => {
                parts[index] = end - chunk.offset;
                class.everywhere = parts.iter().copied().min().unwrap_or(0);
                self.used_bytes += parts[index] - there;
            }
            _ => class.present = end,
        }
    }

    /// The chunk that was taken last from the class at `place` cannot be made present: it is free,
    /// or the next fresh one again.
    pub fn give_back_absent(&mut self, place: usize, chunk: Chunk) {
        self.loaned -= 1;
        let class = &mut self.classes[place];
        let is_fresh = class.part(chunk.offset).is_none_or(|(_, there)| there == 0);
        if !is_fresh {
            class.free.push(chunk.offset);
            return;
        }
        class.fresh -= 1;
        match &mut class.parts {
            Some(parts) => _ = parts.pop(),
            None => self.used_bytes -= class.chunk_bytes,
        }
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
        let Pool { classes, left, retired, sole, .. } = self;
        retired.retain(|used| {
            let held = is_held(used.seq);
            if !held {
                free_into(classes, left, *sole, used.chunk());
            }
            held
        });
        self.held = self.retired.len();
        self.classes.iter_mut().for_each(Class::scatter);
    }

    #[inline]
    fn free(&mut self, chunk: Chunk) {
        free_into(&mut self.classes, &mut self.left, self.sole, chunk);
    }
}

#[inline(always)]
fn free_into(classes: &mut [Class], left: &mut [Class], sole: u16, chunk: Chunk) {
    match classes {
        [class, ..] if chunk.segment == sole => class.free.push(chunk.offset),
        _ => find_and_free(classes, left, chunk),
    }
}

#[inline(never)]
fn find_and_free(classes: &mut [Class], left: &mut [Class], chunk: Chunk) {
    let class = classes.iter_mut().chain(left).find(|class| class.contains(chunk));
    debug_assert!(class.is_some(), "{chunk:?} is of no class");
    if let Some(class) = class {
        class.free.push(chunk.offset);
    }
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
                match pool.take(0, 64, 1, false, false) {
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

    fn fresh(pool: &mut Pool, bytes: u64) -> Chunk {
        match pool.take(0, bytes, 1, false, false) {
            Taken::Chunk(chunk) => chunk,
            _ => panic!("no chunk of {bytes} bytes"),
        }
    }

    #[test]
    fn chunks_are_made_present_before_they_are_written_and_once() {
        let (first, small, pages) = (4096, 320, 16 << 10);
        let mut pool = Pool::new(Class::new(0, small, first, 1000), 4, 1 << 20);
        let chunk = fresh(&mut pool, 64);
        // Small chunks with what follows them, as one system call for many.
        assert_eq!(pool.absent(0, chunk, 64), Some((first, small + pages)));
        pool.note_present(0, chunk, first + small + pages);
        for _ in 0..pages / small {
            let chunk = fresh(&mut pool, 64);
            assert_eq!(pool.absent(0, chunk, 64), None, "{chunk:?}");
        }
        let chunk = fresh(&mut pool, 64);
        let (from, bytes) = pool.absent(0, chunk, 64).expect("it is behind all that is present");
        assert_eq!((from, from + bytes), (first + small + pages, chunk.offset + small + pages));

        // Of a chunk in parts only the pages of its message.
        let mut pool = Pool::new(Class::new(0, 1 << 20, first, 10).in_parts(), 4, 1 << 24);
        let chunk = fresh(&mut pool, 5000);
        assert_eq!(pool.absent(0, chunk, 5000), Some((first, 8192)));
        pool.note_present(0, chunk, first + 8192);
        assert_eq!(pool.absent(0, chunk, 8192), None);
        assert_eq!(pool.absent(0, chunk, 8193), Some((first + 8192, 4096)));
    }

    #[test]
    fn a_ring_is_cut_anew_if_just_as_many_chunks_as_wanted_have_room_and_no_fewer() {
        let ring = || Pool::new(Class::new(0, 320, 4096, 100), 4, 1 << 20);
        let room = 100 * 320 / 6400;
        assert_eq!(ring().cut_ring(6400, room + 1), None);
        assert_eq!(ring().cut_ring(6400, room), Some((4096, room)));
        // Behind a chunk that was used, from the next page on.
        let mut used = ring();
        fresh(&mut used, 64);
        assert_eq!(used.cut_ring(6400, 1), Some((8192, room - 1)));
    }

    #[test]
    fn a_chunk_that_cannot_be_made_present_is_not_in_use() {
        let mut pool = Pool::new(Class::new(0, 320, 4096, 100), 4, 1 << 20);
        let kept = fresh(&mut pool, 64);
        let (used, absent) = (pool.used_bytes, fresh(&mut pool, 64));
        assert_eq!(pool.used_bytes, used + 320);
        pool.give_back_absent(0, absent);
        assert_eq!(pool.used_bytes, used);
        assert_eq!(fresh(&mut pool, 64), absent, "it is the next one, behind {kept:?}");
    }
}
