//! Who writes which elements in which swap. Must not know what is computed.
//!
//! The array has two halves. In even swaps the device has the even elements of the right half and the processor the
//! odd ones of the left half; in odd swaps the device has the odd ones of the left half and the processor the
//! even ones of the right half. The device also reads those of its parity in the other half, which nobody writes
//! meanwhile: the sets are disjoint.

/// Distance between two elements of a part.
pub const STEP: u32 = 2;

/// Every second element from `first` on, `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Index of the first one.
    pub first: u32,
    /// How many they are.
    pub count: u32,
}

impl Part {
    /// The indexes of its elements.
    pub fn indexes(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |at| (self.first + STEP * at) as usize)
    }

    /// Share `share` of it, if it is divided between `shares`: consecutive elements, the last share has what
    /// is left over.
    ///
    /// # Panics
    /// When there is no such share: a programmer's error.
    #[must_use]
    pub fn share(self, share: u32, shares: u32) -> Part {
        assert!(share < shares, "share {share} of {shares}");
        let usual = self.count / shares;
        let count = if share + 1 == shares { self.count - usual * share } else { usual };
        Part { first: self.first + STEP * usual * share, count }
    }

    /// The indexes that a copy of it has to cover: from the first element to behind the last.
    #[must_use]
    pub fn covered(self) -> std::ops::Range<u32> {
        let last = self.first + STEP * self.count.saturating_sub(1);
        self.first..if self.count == 0 { self.first } else { last + 1 }
    }
}

/// One swap of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Its number in the run, from 0.
    pub number: u32,
    /// Of the whole array: a power of two from 8 on.
    pub elements: u32,
}

impl Swap {
    /// What the device writes.
    #[must_use]
    pub fn of_device(self) -> Part {
        match self.number % 2 {
            0 => Part { first: self.elements / 2, count: self.elements / 4 },
            _ => Part { first: 1, count: self.elements / 4 },
        }
    }

    /// What the device reads besides: those of its parity in the other half, in the same order.
    #[must_use]
    pub fn read_by_device(self) -> Part {
        let part = self.of_device();
        Part { first: (part.first + self.elements / 2) % self.elements, ..part }
    }

    /// What the processor writes.
    #[must_use]
    pub fn of_processor(self) -> Part {
        match self.number % 2 {
            0 => Part { first: 1, count: self.elements / 4 },
            _ => Part { first: self.elements / 2, count: self.elements / 4 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parts_are_disjoint_and_the_ones_that_are_described() {
        for (number, elements) in [(0, 8), (1, 8), (0, 64), (7, 64)] {
            let swap = Swap { number, elements };
            let half = elements as usize / 2;
            let sets = [swap.of_device(), swap.read_by_device(), swap.of_processor()];
            let sets = sets.map(|part| part.indexes().collect::<BTreeSet<_>>());
            let all: BTreeSet<_> = sets.iter().flatten().copied().collect();
            assert_eq!(all.len(), 3 * half / 2, "disjoint");
            assert!(all.last().is_some_and(|last| *last < elements as usize));
            let (right, odd) = (number % 2 == 0, number as usize % 2);
            assert!(sets[0].iter().all(|it| (*it >= half) == right && it % 2 == odd));
            assert!(sets[1].iter().all(|it| (*it >= half) != right && it % 2 == odd));
            assert!(sets[2].iter().all(|it| (*it >= half) != right && it % 2 != odd));
        }
    }

    #[test]
    fn shares_are_the_whole_part_and_keep_its_order() {
        let part = Part { first: 33, count: 13 };
        for shares in 1..=5 {
            let together = (0..shares).flat_map(|share| part.share(share, shares).indexes());
            assert!(together.eq(part.indexes()), "{shares}");
        }
        assert_eq!(part.covered(), 33..58);
        assert!(Part { first: 4, count: 0 }.covered().is_empty());
    }
}
