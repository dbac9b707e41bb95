//! Elements of an array, and what it holds at first.
//!
//! An element is 32 bits: an `i32` or an `f32`, as the benchmark says.

use crossdock_comm::{Part, ReadClaim, WriteClaim};
use std::sync::atomic::{AtomicU32, Ordering};

/// Elements of a part of the array that may be read, by their place in the part.
pub trait Cells {
    /// How many there are.
    fn count(&self) -> u64;

    /// The bits of one.
    ///
    /// # Panics
    /// When there is no such element: a programmer's error.
    fn bits(&self, at: u64) -> u32;
}

/// Elements of a part that threads may change, each thread others, while nodes use other parts.
pub trait CellsToWrite: Cells + Sync {
    /// Writes one.
    ///
    /// # Panics
    /// As [`Cells::bits`].
    fn set_bits(&self, at: u64, bits: u32);
}

impl Cells for ReadClaim<u32> {
    fn count(&self) -> u64 {
        ReadClaim::count(self)
    }

    fn bits(&self, at: u64) -> u32 {
        self.get(at)
    }
}

impl Cells for WriteClaim<u32> {
    fn count(&self) -> u64 {
        WriteClaim::count(self)
    }

    fn bits(&self, at: u64) -> u32 {
        self.get(at)
    }
}

impl CellsToWrite for WriteClaim<u32> {
    fn set_bits(&self, at: u64, bits: u32) {
        self.set(at, bits);
    }
}

/// A part of an array in memory of this process.
#[derive(Clone, Copy, Debug)]
pub struct Within<'a> {
    words: &'a [AtomicU32],
    part: Part,
}

impl<'a> Within<'a> {
    /// `part` of `words`.
    ///
    /// # Panics
    /// When it is not in there.
    pub fn new(words: &'a [AtomicU32], part: Part) -> Self {
        assert!(part.end() <= words.len() as u64, "{part} of {} elements", words.len());
        Self { words, part }
    }

    fn cell(&self, at: u64) -> &AtomicU32 {
        assert!(at < self.part.count(), "element {at} of {}", self.part);
        &self.words[(self.part.first() + at * self.part.step()) as usize]
    }
}

impl Cells for Within<'_> {
    fn count(&self) -> u64 {
        self.part.count()
    }

    fn bits(&self, at: u64) -> u32 {
        self.cell(at).load(Ordering::Relaxed)
    }
}

impl CellsToWrite for Within<'_> {
    fn set_bits(&self, at: u64, bits: u32) {
        self.cell(at).store(bits, Ordering::Relaxed);
    }
}

/// Where the sequence of numbers begins.
const SEED: u64 = 0x5eed_c0de_2021_0024;
/// Elements are 1 to this at first.
const LARGEST: u64 = 100;

/// What an array of so many elements holds at first: uniform integers from 1 to 100, the same ones
/// always, as `bits` makes elements of them. Allocates.
pub fn filled(elements: u32, bits: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut state = SEED;
    let number = |_| {
        // SplitMix64: every state gives 64 well mixed bits.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The upper half times the range: uniform to one in 2^25.
        bits((((mixed >> 32) * LARGEST) >> 32) as u32 + 1)
    };
    (0..elements).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_from_1_to_100_and_always_the_same() {
        let numbers = filled(1 << 16, |number| number);
        let mut counts = [0_u32; 101];
        numbers.iter().for_each(|number| counts[*number as usize] += 1);
        assert_eq!(counts[0], 0);
        // 655 are expected of each; five standard deviations are 128.
        assert!(counts[1..].iter().all(|count| count.abs_diff(655) < 128), "{counts:?}");
        assert_eq!(numbers[..8], filled(8, |number| number));
    }
}
