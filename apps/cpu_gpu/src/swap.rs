//! Who writes and reads which elements in which swap.
//!
//! The array has two halves. In even swaps the device has the even elements of the right half and
//! the processor the odd ones of the left half; in odd swaps the device has the odd ones of the
//! left half and the processor the even ones of the right half. The device also reads those of its
//! parity in the other half, which nobody writes meanwhile: the sets are disjoint.

use crate::benchmark::Benchmark;
use crossdock_comm::Part;

/// Distance between two elements of a part.
pub const STEP: u64 = 2;

/// One swap of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Its number in the run, from 0.
    pub number: u32,
    /// Of the whole array: a power of two, [`Benchmark::POWER_MIN`] or more.
    pub elements: u32,
}

/// What one worker does in a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// What it writes.
    pub writes: Part,
    /// What it reads besides.
    pub reads: Part,
}

impl Swap {
    /// The device's share `share` of `shares`.
    ///
    /// # Panics
    /// When there is no such share: a programmer's error.
    #[must_use]
    pub fn of_device(self, benchmark: Benchmark, (share, shares): (u32, u32)) -> Share {
        assert!(share < shares, "share {share} of {shares}");
        let (share, shares) = (u64::from(share), u64::from(shares));
        let first = if self.is_even() { self.half() } else { 1 };
        let others = self.quarter((first + self.half()) % u64::from(self.elements));
        Share {
            writes: self.quarter(first).share(share, shares),
            reads: match benchmark {
                Benchmark::Cache => others,
                Benchmark::Concurrent => others.share(share, shares),
            },
        }
    }

    /// The processor's share `share` of `shares`.
    ///
    /// # Panics
    /// As [`Swap::of_device`].
    #[must_use]
    pub fn of_processor(self, (share, shares): (u32, u32)) -> Share {
        assert!(share < shares, "share {share} of {shares}");
        let first = if self.is_even() { 1 } else { self.half() };
        let writes = self.quarter(first).share(u64::from(share), u64::from(shares));
        Share { writes, reads: Part::NONE }
    }

    fn is_even(self) -> bool {
        self.number.is_multiple_of(2)
    }

    fn half(self) -> u64 {
        u64::from(self.elements / 2)
    }

    /// Every second element of a half.
    fn quarter(self, first: u64) -> Part {
        Part::new(first, STEP, u64::from(self.elements / 4)).expect("32-bit numbers are in range")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parts_are_disjoint_and_the_ones_that_are_described() {
        for (number, elements) in [(0, 16), (1, 16), (0, 64), (7, 64)] {
            let swap = Swap { number, elements };
            let half = u64::from(elements / 2);
            let device = swap.of_device(Benchmark::Cache, (0, 1));
            let sets = [device.writes, device.reads, swap.of_processor((0, 1)).writes];
            let sets = sets.map(|part| part.elements().collect::<BTreeSet<_>>());
            let all: BTreeSet<_> = sets.iter().flatten().copied().collect();
            assert_eq!(all.len() as u64, 3 * half / 2, "disjoint");
            assert!(all.last().is_some_and(|last| *last < u64::from(elements)));
            let (right, odd) = (number % 2 == 0, u64::from(number) % 2);
            assert!(sets[0].iter().all(|it| (*it >= half) == right && it % 2 == odd));
            assert!(sets[1].iter().all(|it| (*it >= half) != right && it % 2 == odd));
            assert!(sets[2].iter().all(|it| (*it >= half) != right && it % 2 != odd));
        }
    }

    #[test]
    fn shares_are_the_whole_part_and_what_is_read_lies_opposite() {
        let swap = Swap { number: 1, elements: 64 };
        let whole = swap.of_device(Benchmark::Concurrent, (0, 1));
        for shares in 1..=3 {
            let share = |it| swap.of_device(Benchmark::Concurrent, (it, shares));
            let writes = (0..shares).flat_map(|it| share(it).writes.elements());
            assert!(writes.eq(whole.writes.elements()), "{shares}");
            for it in 0..shares {
                let pairs = share(it).writes.elements().zip(share(it).reads.elements());
                assert!(pairs.into_iter().all(|(own, other)| other == own + 32), "{shares}");
            }
            let cache = swap.of_device(Benchmark::Cache, (shares - 1, shares));
            assert_eq!(cache.reads, whole.reads);
        }
    }
}
