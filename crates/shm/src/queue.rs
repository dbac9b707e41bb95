//! A bounded queue of descriptors inside one thread.

use crate::Meta;
use crate::descriptor::{Descriptor, PACKED, pack, unpack};
use crate::pool::Chunk;
use std::sync::atomic::{AtomicU64, Ordering};

/// A sequence number and a packed descriptor: one cache line.
///
/// Atomic words, although one thread uses them, because the compiler moves them one by one: moving
/// two neighbours with one load, just after they were stored one by one, makes the processor wait
/// for both stores to reach its cache (7 ns for each such load, measured).
#[repr(align(64))]
#[derive(Debug, Default)]
struct Place {
    seq: AtomicU64,
    words: [AtomicU64; PACKED],
}

/// First in, first out; never grows.
#[derive(Debug)]
pub(crate) struct Queue {
    /// As many as fit, at least one.
    places: Box<[Place]>,
    first: usize,
    len: usize,
}

impl Queue {
    /// Room for `depth` descriptors. Allocates; nothing else here does.
    pub(crate) fn new(depth: usize) -> Self {
        Queue { places: (0..depth.max(1)).map(|_| Place::default()).collect(), first: 0, len: 0 }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.len == self.places.len()
    }

    #[inline(always)]
    fn place(&self, behind_first: usize) -> &Place {
        let at = self.first + behind_first;
        &self.places[if at < self.places.len() { at } else { at - self.places.len() }]
    }

    /// Sequence number of the oldest.
    #[inline]
    pub(crate) fn first_seq(&self) -> Option<u64> {
        (self.len > 0).then(|| self.place(0).seq.load(Ordering::Relaxed))
    }

    /// The oldest, which stays.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<(u64, Descriptor)> {
        let seq = self.first_seq()?;
        let words = &self.place(0).words;
        Some((seq, unpack(std::array::from_fn(|i| words[i].load(Ordering::Relaxed)))))
    }

    /// Drops the oldest; false when there is none.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> bool {
        if self.len == 0 {
            return false;
        }
        self.first = if self.first + 1 < self.places.len() { self.first + 1 } else { 0 };
        self.len -= 1;
        true
    }

    /// Adds one; answers whether the oldest had to go for it.
    #[inline(always)]
    pub(crate) fn push(&mut self, seq: u64, chunk: Chunk, meta: &Meta) -> bool {
        let dropped = self.is_full() && self.pop();
        let place = self.place(self.len);
        place.seq.store(seq, Ordering::Relaxed);
        for (to, word) in place.words.iter().zip(pack(chunk, meta)) {
            to.store(word, Ordering::Relaxed);
        }
        self.len += 1;
        dropped
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Marks;

    fn marks(seq: u64) -> Marks {
        let all = [Marks::EARLY, Marks::AWAY, Marks::UPLOADED];
        let set = all.into_iter().zip([2, 3, 5]).filter(|(_, every)| seq.is_multiple_of(*every));
        set.fold(Marks::default(), |marks, (mark, _)| marks.or(mark))
    }

    fn push(queue: &mut Queue, seq: u64) -> bool {
        let meta =
            Meta { len: 7, stamp_ns: seq * 10, origin: [seq, !seq], flags: 3, marks: marks(seq) };
        queue.push(seq, Chunk { segment: 2, offset: seq * 64 }, &meta)
    }

    #[test]
    fn keeps_the_newest_in_order_and_whole() {
        let mut queue = Queue::new(3);
        assert_eq!((queue.first(), queue.pop()), (None, false));
        let dropped: Vec<bool> = (1..=5).map(|seq| push(&mut queue, seq)).collect();
        assert_eq!(dropped, [false, false, false, true, true]);
        assert!(queue.is_full());
        for expected in 3..=5 {
            let (seq, Descriptor { chunk, meta }) = queue.first().expect("one is left");
            assert_eq!((seq, queue.first_seq()), (expected, Some(expected)));
            assert_eq!(chunk, Chunk { segment: 2, offset: seq * 64 });
            let origin = [seq, !seq];
            assert_eq!(
                meta,
                Meta { len: 7, stamp_ns: seq * 10, origin, flags: 3, marks: marks(seq) }
            );
            assert!(queue.pop());
        }
        assert_eq!(queue.len(), 0);
    }
}
