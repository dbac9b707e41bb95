//! What the two benchmarks compute. Must not know devices, memory or nodes.
//!
//! Both fill an array of N = 2^power elements with uniform integers from 1 to 100 and change it in S swaps
//! ([`Swap`] says who has which elements).
//!
//! - **Cache**, `i32`, S = 8. The processor does `m[j] = (i32) sqrt(m[j] * (m[j] / 2.3))` a thousand times, in 64-bit
//!   floating point. For each of its elements the device adds up all elements of the same parity in the
//!   other half, twice, wrapping: memory and caches of the device are what it takes.
//! - **Concurrent**, `f32`, S = 10. The processor does `m[j] = sqrt(m[j] * (m[j] / 2.3))` twice, in 64-bit floating point,
//!   stored in 32. The device computes `t = 2 sqrt(m[r] + m[other])`, then for f = 0 and 1
//!   `t = t / (f + sqrt(pi t) / 0.7) * 1.6`, and stores `m[r] = t`, in 32-bit floating point: one read beside its own
//!   element, one write.

use crate::array::Cells;
use crate::swap::{Part, Swap};
use std::fmt;

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
    /// The smallest array: each kind of node has two elements to share.
    pub const POWER_MIN: u32 = 3;
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
        crate::array::filled(elements as usize, |number| match self {
            Self::Cache => number,
            Self::Concurrent => (number as f32).to_bits(),
        })
    }

    /// The processor's work on `part`. Does not allocate.
    ///
    /// # Panics
    /// When the part is not in the array.
    pub fn on_processor<C: Cells + ?Sized>(self, cells: &mut C, part: Part) {
        match self {
            Self::Cache => {
                for index in part.indexes() {
                    let mut value = cells.bits(index) as i32;
                    for _ in 0..CACHE_ROUNDS {
                        // Read and written each time, as the work is on memory.
                        value = std::hint::black_box(root(f64::from(value)) as i32);
                    }
                    cells.set_bits(index, value as u32);
                }
            }
            Self::Concurrent => {
                for index in part.indexes() {
                    let mut value = f32::from_bits(cells.bits(index));
                    for _ in 0..CONCURRENT_ROUNDS {
                        value = root(f64::from(value)) as f32;
                    }
                    cells.set_bits(index, value.to_bits());
                }
            }
        }
    }

    /// The device's work on share `share` of `shares` of its part, done by this thread: what a kernel must
    /// give.
    ///
    /// # Panics
    /// When the array is smaller than the swap says.
    pub fn as_device<C: Cells + ?Sized>(
        self,
        cells: &mut C,
        swap: Swap,
        (share, shares): (u32, u32),
    ) {
        let part = swap.of_device().share(share, shares);
        let others = swap.read_by_device();
        match self {
            Self::Cache => {
                let sum = |sum: u32, other| sum.wrapping_add(cells.bits(other));
                let once = others.indexes().fold(0, sum);
                for index in part.indexes() {
                    let added = once.wrapping_mul(PASSES);
                    cells.set_bits(index, cells.bits(index).wrapping_add(added));
                }
            }
            Self::Concurrent => {
                for (index, other) in part.indexes().zip(others.share(share, shares).indexes()) {
                    let pair = [index, other].map(|it| f32::from_bits(cells.bits(it)));
                    let mut value = 2.0 * (pair[0] + pair[1]).sqrt();
                    for f in [0.0, 1.0] {
                        value = value / (f + (std::f32::consts::PI * value).sqrt() / 0.7) * 1.6;
                    }
                    cells.set_bits(index, value.to_bits());
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

    const ELEMENTS: u32 = 16;

    #[test]
    fn the_processors_share_of_the_cache_benchmark_ends_at_nothing() {
        let mut array = Benchmark::Cache.first(ELEMENTS);
        let before = array.clone();
        let part = Swap { number: 0, elements: ELEMENTS }.of_processor();
        Benchmark::Cache.on_processor(&mut array[..], part);
        let changed = part.indexes().collect::<Vec<_>>();
        for (index, (now, then)) in array.iter().zip(&before).enumerate() {
            let expected = if changed.contains(&index) { 0 } else { *then };
            assert_eq!(*now, expected, "element {index}");
        }
    }

    #[test]
    fn the_devices_share_of_the_cache_benchmark_adds_the_other_half_twice_and_wraps() {
        let mut array = vec![1_u32; ELEMENTS as usize];
        array[8] = i32::MAX as u32;
        Benchmark::Cache.as_device(&mut array[..], Swap { number: 0, elements: ELEMENTS }, (0, 1));
        assert_eq!(array[8] as i32, i32::MAX.wrapping_add(8));
        assert_eq!((array[10], array[9], array[0]), (9, 1, 1));
    }

    #[test]
    fn the_concurrent_benchmark_is_what_its_formula_says() {
        let mut array = vec![2.0_f32.to_bits(); ELEMENTS as usize];
        let swap = Swap { number: 1, elements: ELEMENTS };
        Benchmark::Concurrent.as_device(&mut array[..], swap, (0, 1));
        Benchmark::Concurrent.on_processor(&mut array[..], swap.of_processor());
        // t = 2 sqrt(4) = 4; / (sqrt(4 pi) / 0.7) * 1.6 = 1.263783; / (1 + sqrt(pi t) / 0.7) * 1.6 = 0.526165.
        let t = f64::from(f32::from_bits(array[1]));
        let first = 4.0 / ((4.0 * std::f64::consts::PI).sqrt() / 0.7) * 1.6;
        let second = first / (1.0 + (first * std::f64::consts::PI).sqrt() / 0.7) * 1.6;
        assert!((t / second - 1.0).abs() < 1e-6, "{t}, not {second}");
        // 2 / 2.3, as each round divides by sqrt(2.3).
        let j = f64::from(f32::from_bits(array[8]));
        assert!((j / (2.0 / 2.3) - 1.0).abs() < 1e-6, "{j}");
        assert_eq!(f32::from_bits(array[0]), 2.0);
    }

    #[test]
    fn shares_give_what_the_whole_gives() {
        for benchmark in Benchmark::ALL {
            for number in 0..2 {
                let swap = Swap { number, elements: ELEMENTS };
                let mut whole = benchmark.first(ELEMENTS);
                benchmark.as_device(&mut whole[..], swap, (0, 1));
                let mut shared = benchmark.first(ELEMENTS);
                (0..2).for_each(|it| benchmark.as_device(&mut shared[..], swap, (it, 2)));
                assert_eq!(whole, shared, "{benchmark}, swap {number}");
            }
        }
    }
}
