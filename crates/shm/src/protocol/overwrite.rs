//! A ring of records that one thread writes without looking and others read meanwhile: the oldest
//! records are overwritten. What the flight recorder of a thread is made of.
//!
//! Plain atomics, as everything here.
//!
//! | word | written by | says |
//! |---|---|---|
//! | `begun` | the writer | record numbers below this may be under way; rises in steps of `batch` |
//! | `done` | the writer | record numbers below this are complete |
//! | `words` | the writer | record `n` in place `n mod records` |
//!
//! - **W1 begin.** Record `n` overwrites record `n - records`. Before the first record of a batch:
//!   begun = n + batch, then a Release fence. So who reads any word of the batch, and looks at
//!   `begun` behind an Acquire fence, sees that the batch had begun.
//! - **W2 write.** The words Relaxed, done = n + 1 Release.
//! - **R1 read.** done Acquire, then words Relaxed of records below it; an Acquire fence; begun
//!   Relaxed. Record `n` is whole if begun <= n + records: nobody had begun to overwrite it when
//!   its last word had been read. Otherwise it is lost, and the reader counts it.
//!
//! The writer counts its records itself, never waits and never looks at a reader. The price of
//! batches, which save the fence of most records, is that up to `batch` of the oldest records count
//! as overwritten early. A writer that dies in the middle of a record leaves `done` below it:
//! nobody reads it.

use super::weaken::{fence_unless, order_unless, spot};
use crate::sync::{AtomicU64, Ordering};

/// Words of one record: a cache line. Two are enough to be torn apart in a model.
pub const RECORD_WORDS: usize = if cfg!(loom) { 2 } else { 8 };

/// A ring, as its writer and its readers see it.
#[derive(Clone, Copy, Debug)]
pub struct OverwriteRing<'a> {
    /// Record numbers below this may be under way.
    pub begun: &'a AtomicU64,
    /// Record numbers below this are complete.
    pub done: &'a AtomicU64,
    /// The records; their number is a power of two.
    pub words: &'a [AtomicU64],
    /// Records that begin together; a power of two, fewer than there are records.
    pub batch: u64,
}

impl OverwriteRing<'_> {
    /// How many records it holds.
    #[inline(always)]
    pub fn records(&self) -> u64 {
        (self.words.len() / RECORD_WORDS) as u64
    }

    #[inline(always)]
    fn place(&self, record: u64) -> &[AtomicU64] {
        let start = (record & (self.records() - 1)) as usize * RECORD_WORDS;
        self.words.get(start..start + RECORD_WORDS).unwrap_or_default()
    }

    /// The writer: adds record `number`, which follows the last one; words that are not given are
    /// unspecified. Never blocks.
    #[inline(always)]
    pub fn write<const N: usize>(&self, number: u64, record: [u64; N]) {
        const { assert!(N <= RECORD_WORDS) };
        if number & (self.batch - 1) == 0 {
            self.begin(number);
        }
        for (word, value) in self.place(number).iter().zip(record) {
            word.store(value, Ordering::Relaxed);
        }
        // Pairs with the Acquire of `read`.
        self.done.store(number + 1, order_unless(spot::RECORD_RELEASE, Ordering::Release));
    }

    #[cold]
    fn begin(&self, number: u64) {
        self.begun.store(number + self.batch, Ordering::Relaxed);
        // Pairs with the Acquire fence of `read`.
        fence_unless(spot::RECORD_FENCE, Ordering::Release);
    }

    /// A reader: all whole records from number `from` on, in order. Gives the number of the first
    /// one that was not there yet, and how many were overwritten before they could be read. Bounded
    /// by the size of the ring, whatever the words say; allocates nothing.
    pub fn read(&self, from: u64, copies: &mut Vec<[u64; RECORD_WORDS]>) -> (u64, u64) {
        copies.clear();
        // Pairs with the Release of `write`.
        let done = self.done.load(order_unless(spot::RECORD_ACQUIRE, Ordering::Acquire));
        let oldest = done.saturating_sub(self.records());
        let first = from.max(oldest);
        if first >= done {
            return (from, 0);
        }
        for record in first..done {
            let place = self.place(record);
            copies.push(std::array::from_fn(|word| {
                place.get(word).map_or(0, |word| word.load(Ordering::Relaxed))
            }));
        }
        // Pairs with the Release fence of `begin`.
        fence_unless(spot::RECORD_LOOK, Ordering::Acquire);
        let begun = self.begun.load(Ordering::Relaxed);
        let whole = begun.saturating_sub(self.records()).clamp(first, done);
        copies.drain(..(whole - first) as usize);
        (done, whole - from)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn memory(records: usize) -> (AtomicU64, AtomicU64, Vec<AtomicU64>) {
        let words = (0..records * RECORD_WORDS).map(|_| AtomicU64::new(0)).collect();
        (AtomicU64::new(0), AtomicU64::new(0), words)
    }

    #[test]
    fn a_late_reader_gets_the_newest_records_and_the_number_of_lost_ones() {
        let (begun, done, words) = memory(16);
        let ring = OverwriteRing { begun: &begun, done: &done, words: &words, batch: 4 };
        let mut copies = Vec::new();
        assert_eq!(ring.read(0, &mut copies), (0, 0));
        for number in 0..3 {
            ring.write(number, [number, number * 2]);
        }
        assert_eq!(ring.read(0, &mut copies), (3, 0));
        assert_eq!(
            copies.iter().map(|it| (it[0], it[1])).collect::<Vec<_>>(),
            [(0, 0), (1, 2), (2, 4)]
        );
        for number in 3..41 {
            ring.write(number, [number, number * 2]);
        }
        // Of 16 the batch of 4 that is under way counts as gone.
        assert_eq!(ring.read(3, &mut copies), (41, 25));
        assert_eq!(copies.iter().map(|it| it[0]).collect::<Vec<_>>(), (28..41).collect::<Vec<_>>());
        assert_eq!(ring.read(41, &mut copies), (41, 0));
    }

    #[test]
    fn counters_that_a_writer_never_had_are_survived() {
        let (begun, done, words) = memory(8);
        let ring = OverwriteRing { begun: &begun, done: &done, words: &words, batch: 2 };
        let mut copies = Vec::new();
        for (first, second) in [(0, u64::MAX), (u64::MAX, 5), (3, 9), (u64::MAX, u64::MAX)] {
            begun.store(first, Ordering::Relaxed);
            done.store(second, Ordering::Relaxed);
            let (_, _) = ring.read(0, &mut copies);
            assert!(copies.len() <= 8);
        }
    }

    #[test]
    fn a_reader_beside_a_writer_never_sees_a_mixed_record() {
        let (begun, done, words) = memory(64);
        let ring = OverwriteRing { begun: &begun, done: &done, words: &words, batch: 8 };
        let stop = AtomicBool::new(false);
        const RECORDS: u64 = 200_000;
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut next, mut seen, mut lost) = (0, 0, 0);
                let mut copies = Vec::new();
                loop {
                    let last = stop.load(Ordering::Acquire);
                    let (now, gone) = ring.read(next, &mut copies);
                    let first = now - copies.len() as u64;
                    for (number, copy) in (first..).zip(&copies) {
                        let expected: [u64; 8] =
                            std::array::from_fn(|word| number * (word as u64 + 1));
                        assert_eq!(*copy, expected);
                    }
                    (next, seen, lost) = (now, seen + copies.len() as u64, lost + gone);
                    if last {
                        return (seen, lost);
                    }
                }
            });
            for number in 0..RECORDS {
                ring.write(
                    number,
                    std::array::from_fn::<_, 8, _>(|word| number * (word as u64 + 1)),
                );
            }
            stop.store(true, Ordering::Release);
            let (seen, lost) = reader.join().expect("the reader");
            assert_eq!(seen + lost, RECORDS);
            assert!(seen >= 48, "the last records are there when the writer has ended");
        });
    }
}
