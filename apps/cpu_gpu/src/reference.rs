//! What an array must hold after a run: computed by one thread, one swap after the other.

use crate::array::Within;
use crate::benchmark::Benchmark;
use crate::gpu::{Crew, cells};
use crate::swap::{Share, Swap};

/// How far a device's 32-bit floating point may be off, relative to the reference.
pub const TOLERANCE: f32 = 1e-5;

/// The first element of an array that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "element {index} is {found} after the last swap, but one thread computes {expected}; \
     `crossdock device test` examines the device alone"
)]
pub struct Mismatch {
    /// Its index.
    pub index: usize,
    /// What it is.
    pub found: f64,
    /// What it should be.
    pub expected: f64,
}

/// What an array of `elements` holds after a run in which each part is worked on `times` times per
/// swap. Allocates; takes as long as one thread needs.
#[must_use]
pub fn computed(benchmark: Benchmark, elements: u32, times: u32) -> Vec<u32> {
    let (mut array, alone) = (benchmark.first(elements), Crew::alone());
    for number in 0..benchmark.swaps() {
        let swap = Swap { number, elements };
        let Share { writes, reads } = swap.of_device(benchmark, (0, 1));
        let of_processor = swap.of_processor((0, 1)).writes;
        let array = cells(&mut array);
        for _ in 0..times {
            benchmark.as_device(&Within::new(array, writes), &Within::new(array, reads));
            benchmark.on_processor(&Within::new(array, of_processor), &alone);
        }
    }
    array
}

/// Holds an array against the reference: `cache` exactly, `concurrent` to [`TOLERANCE`].
///
/// # Errors
/// The first element that is wrong.
///
/// # Panics
/// When their lengths differ.
pub fn compare(benchmark: Benchmark, found: &[u32], expected: &[u32]) -> Result<(), Mismatch> {
    assert_eq!(found.len(), expected.len(), "arrays of one run");
    let value = |bits: u32| match benchmark {
        Benchmark::Cache => f64::from(bits as i32),
        Benchmark::Concurrent => f64::from(f32::from_bits(bits)),
    };
    let is_right = |(found, expected): (u32, u32)| match benchmark {
        Benchmark::Cache => found == expected,
        Benchmark::Concurrent => {
            let [found, expected] = [found, expected].map(f32::from_bits);
            // False, too, where one of them is no number.
            (found - expected).abs() <= TOLERANCE * expected.abs()
        }
    };
    let mut pairs = found.iter().copied().zip(expected.iter().copied());
    match pairs.position(|pair| !is_right(pair)) {
        None => Ok(()),
        Some(index) => {
            let (found, expected) = (value(found[index]), value(expected[index]));
            Err(Mismatch { index, found, expected })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_element_is_found_and_named() {
        for benchmark in Benchmark::ALL {
            let expected = computed(benchmark, 64, 1);
            assert_eq!(compare(benchmark, &expected, &expected), Ok(()));
            let mut found = expected.clone();
            found[17] = match benchmark {
                Benchmark::Cache => found[17].wrapping_add(1),
                Benchmark::Concurrent => (f32::from_bits(found[17]) * 1.000_02).to_bits(),
            };
            let mismatch = compare(benchmark, &found, &expected).expect_err("it is wrong");
            assert_eq!(mismatch.index, 17, "{benchmark}");
            found[17] = f32::NAN.to_bits();
            assert!(compare(benchmark, &found, &expected).is_err(), "{benchmark}");
        }
    }

    #[test]
    fn half_of_the_elements_are_written_in_a_run() {
        for benchmark in Benchmark::ALL {
            let (before, after) = (benchmark.first(64), computed(benchmark, 64, 1));
            // Those at odd places of the left half and at even ones of the right half; the others
            // are only read.
            let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
            assert!(changed >= 28, "{benchmark}: {changed}");
        }
    }
}
