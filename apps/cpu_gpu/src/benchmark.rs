//! What the two benchmarks compute.
//!
//! Both fill an array of N = 2^power elements with uniform integers from 1 to 100 and change it in
//! S swaps ([`Swap`](crate::swap::Swap) says who has which elements).
//!
//! - **Cache**, `i32`, S = 8. The processor does `m[j] = (i32) sqrt(m[j] * (m[j] / 2.3))` a
//!   thousand times, in 64-bit floating point. For each of its elements the device adds up all
//!   elements of the same parity in the other half, twice, wrapping: memory and caches of the
//!   device are what it takes.
//! - **Concurrent**, `f32`, S = 10. The processor does `m[j] = sqrt(m[j] * (m[j] / 2.3))` twice, in
//!   64-bit floating point, stored in 32. The device computes `t = 2 sqrt(m[r] + m[other])`, then
//!   for f = 0 and 1 `t = t / (f + sqrt(pi t) / 0.7) * 1.6`, and stores `m[r] = t`, in 32-bit
//!   floating point: one read beside its own element, one write.

use crate::array::{Cells, CellsToWrite};
use crate::gpu::Crew;
use std::fmt;
use std::ops::Range;

/// How often the processor changes each of its elements in the cache benchmark.
const CACHE_ROUNDS: u32 = 1000;
/// The same in the concurrent one.
const CONCURRENT_ROUNDS: u32 = 2;
/// How often a device adds up the other half.
const PASSES: u32 = 2;

/// One of the two benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Benchmark {
    /// The device's work lives on its caches.
    Cache,
    /// The device reads each element once; processor and device can work at the same time.
    Concurrent,
}

/// How the array gets to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// Standard copy (SC): to memory of the device and back.
    Copy,
    /// Unified memory (UM): memory that the driver moves.
    Managed,
    /// Zero copy (ZC): the device uses the host's memory.
    ZeroCopy,
}

impl Benchmark {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Cache, Self::Concurrent];
    /// The smallest array: each kind of worker has four elements to share.
    pub const POWER_MIN: u32 = 4;
    /// The largest array: 512 MiB.
    pub const POWER_MAX: u32 = 27;

    /// As commands and files name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Concurrent => "concurrent",
        }
    }

    /// The benchmark of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Swaps of a run.
    #[must_use]
    pub fn swaps(self) -> u32 {
        match self {
            Self::Cache => 8,
            Self::Concurrent => 10,
        }
    }

    /// Elements of the array unless said otherwise, as a power of two.
    #[must_use]
    pub fn usual_power(self) -> u32 {
        match self {
            Self::Cache => 16,
            Self::Concurrent => 23,
        }
    }

    /// What an array holds at first. Allocates.
    #[must_use]
    pub fn first(self, elements: u32) -> Vec<u32> {
        crate::array::filled(elements, |number| match self {
            Self::Cache => number,
            Self::Concurrent => (number as f32).to_bits(),
        })
    }

    /// The processor's work on its part, which the threads of a crew share. Does not allocate.
    pub fn on_processor(self, part: &impl CellsToWrite, crew: &Crew) {
        crew.work(&|share, shares| {
            let until = |share: u32| part.count() * u64::from(share) / u64::from(shares);
            self.on_elements(part, until(share)..until(share + 1));
        });
    }

    fn on_elements(self, part: &impl CellsToWrite, elements: Range<u64>) {
        match self {
            Self::Cache => {
                for at in elements {
                    let mut value = part.bits(at) as i32;
                    for _ in 0..CACHE_ROUNDS {
                        // To memory and back each time: that is what the work is on.
                        value = std::hint::black_box(root(f64::from(value)) as i32);
                    }
                    part.set_bits(at, value as u32);
                }
            }
            Self::Concurrent => {
                for at in elements {
                    let mut value = f32::from_bits(part.bits(at));
                    for _ in 0..CONCURRENT_ROUNDS {
                        value = root(f64::from(value)) as f32;
                    }
                    part.set_bits(at, value.to_bits());
                }
            }
        }
    }

    /// The device's work on a part, done by this thread: what a kernel must give. `others` is what
    /// it reads besides. Does not allocate.
    ///
    /// # Panics
    /// In the concurrent benchmark, when `others` are fewer.
    pub fn as_device(self, part: &impl CellsToWrite, others: &impl Cells) {
        match self {
            Self::Cache => {
                let sum = |sum: u32, at| sum.wrapping_add(others.bits(at));
                let added = (0..others.count()).fold(0, sum).wrapping_mul(PASSES);
                for at in 0..part.count() {
                    part.set_bits(at, part.bits(at).wrapping_add(added));
                }
            }
            Self::Concurrent => {
                for at in 0..part.count() {
                    let pair = [part.bits(at), others.bits(at)].map(f32::from_bits);
                    let mut value = 2.0 * (pair[0] + pair[1]).sqrt();
                    for f in [0.0, 1.0] {
                        value = value / (f + (std::f32::consts::PI * value).sqrt() / 0.7) * 1.6;
                    }
                    part.set_bits(at, value.to_bits());
                }
            }
        }
    }
}

/// The step of the processor's work.
fn root(value: f64) -> f64 {
    (value * (value / 2.3)).sqrt()
}

impl fmt::Display for Benchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Model {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Copy, Self::Managed, Self::ZeroCopy];

    /// As commands and the paper name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "sc",
            Self::Managed => "um",
            Self::ZeroCopy => "zc",
        }
    }

    /// The model of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::array::Within;
    use crate::gpu::cells;
    use crate::swap::{Share, Swap};

    const ELEMENTS: u32 = 16;

    fn on_processor(benchmark: Benchmark, array: &mut [u32], number: u32) {
        let Share { writes, .. } = Swap { number, elements: ELEMENTS }.of_processor((0, 1));
        benchmark.on_processor(&Within::new(cells(array), writes), &Crew::new(3));
    }

    fn as_device(benchmark: Benchmark, array: &mut [u32], number: u32, share: (u32, u32)) {
        let swap = Swap { number, elements: ELEMENTS };
        let Share { writes, reads } = swap.of_device(benchmark, share);
        let array = cells(array);
        benchmark.as_device(&Within::new(array, writes), &Within::new(array, reads));
    }

    #[test]
    fn the_processors_share_of_the_cache_benchmark_ends_at_nothing() {
        let mut array = Benchmark::Cache.first(ELEMENTS);
        let before = array.clone();
        on_processor(Benchmark::Cache, &mut array, 0);
        for (index, (now, then)) in array.iter().zip(&before).enumerate() {
            let is_changed = index < 8 && index % 2 == 1;
            assert_eq!(*now, if is_changed { 0 } else { *then }, "element {index}");
        }
    }

    #[test]
    fn the_devices_share_of_the_cache_benchmark_adds_the_other_half_twice_and_wraps() {
        let mut array = vec![1_u32; ELEMENTS as usize];
        array[8] = i32::MAX as u32;
        as_device(Benchmark::Cache, &mut array, 0, (0, 1));
        assert_eq!(array[8] as i32, i32::MAX.wrapping_add(8));
        assert_eq!((array[10], array[9], array[0]), (9, 1, 1));
    }

    #[test]
    fn the_concurrent_benchmark_is_what_its_formula_says() {
        let mut array = vec![2.0_f32.to_bits(); ELEMENTS as usize];
        as_device(Benchmark::Concurrent, &mut array, 1, (0, 1));
        on_processor(Benchmark::Concurrent, &mut array, 1);
        let t = f64::from(f32::from_bits(array[1]));
        let first = 4.0 / ((4.0 * std::f64::consts::PI).sqrt() / 0.7) * 1.6;
        let second = first / (1.0 + (first * std::f64::consts::PI).sqrt() / 0.7) * 1.6;
        assert!((t / second - 1.0).abs() < 1e-6, "{t}, not {second}");
        // Each round divides by the root of 2.3.
        let j = f64::from(f32::from_bits(array[8]));
        assert!((j / (2.0 / 2.3) - 1.0).abs() < 1e-6, "{j}");
        assert_eq!(f32::from_bits(array[0]), 2.0);
    }

    #[test]
    fn shares_give_what_the_whole_gives() {
        for benchmark in Benchmark::ALL {
            for number in 0..2 {
                let (mut whole, mut shared) =
                    (benchmark.first(ELEMENTS), benchmark.first(ELEMENTS));
                as_device(benchmark, &mut whole, number, (0, 1));
                (0..2).for_each(|it| as_device(benchmark, &mut shared, number, (it, 2)));
                assert_eq!(whole, shared, "{benchmark}, swap {number}");
            }
        }
    }
}
