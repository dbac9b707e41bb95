//! The array: elements of 32 bits, and what it holds at first. Must not know where it lies.

/// Elements that one thread reads and writes while others use other elements of the array. An element is 32 bits:
/// an `i32` or an `f32`, as the benchmark says.
pub trait Cells {
    /// The bits of an element.
    ///
    /// # Panics
    /// When there is no such element: a programmer's error.
    fn bits(&self, index: usize) -> u32;

    /// Writes an element.
    ///
    /// # Panics
    /// As [`Cells::bits`].
    fn set_bits(&mut self, index: usize, bits: u32);
}

impl Cells for [u32] {
    fn bits(&self, index: usize) -> u32 {
        self[index]
    }

    fn set_bits(&mut self, index: usize, bits: u32) {
        self[index] = bits;
    }
}

/// Where the sequence of numbers begins.
const SEED: u64 = 0x5eed_c0de_2021_0024;
/// Elements are 1 to this at first.
const LARGEST: u64 = 100;

/// What an array of so many elements holds at first: uniform integers from 1 to 100, the same ones always, as
/// `bits` makes elements of them. Allocates.
pub fn filled(elements: usize, bits: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut state = SEED;
    let number = |_| {
        // SplitMix64: every state gives 64 well mixed bits.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The upper half times the range: uniform to one in 2^25.
        bits(((mixed >> 32) * LARGEST >> 32) as u32 + 1)
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
