//! The key points of one picture, found by place and by descriptor.

use crate::slam::sight::Pixel;

/// 256 comparisons of pixels, as [`crate::features`] makes them.
pub type Descriptor = [u64; 4];

/// Side of a bucket, pixels.
const BUCKET: f64 = 32.0;
/// Most buckets of a picture along one side: of 8192 pixels.
const BUCKETS_MAX: usize = 256;

/// Number of bits in which two descriptors differ. Does not allocate or block.
pub fn difference(a: &Descriptor, b: &Descriptor) -> u32 {
    (0..4).map(|i| (a[i] ^ b[i]).count_ones()).sum()
}

/// A descriptor from its bytes, least significant first.
pub fn descriptor(bytes: &[u8; 32]) -> Descriptor {
    std::array::from_fn(|i| (0..8).rev().fold(0, |word, k| word << 8 | u64::from(bytes[i * 8 + k])))
}

/// A key point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Where it is in the picture.
    pub at: Pixel,
    /// What is round it.
    pub descriptor: Descriptor,
}

/// The two best of several candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Index of the best one.
    pub index: usize,
    /// Its difference.
    pub difference: u32,
    /// The difference of the second best one.
    pub second: u32,
}

impl Best {
    /// Takes a candidate into account.
    pub fn note(best: &mut Option<Self>, index: usize, difference: u32) {
        match best {
            Some(b) if difference >= b.difference => b.second = b.second.min(difference),
            Some(b) => *b = Self { index, difference, second: b.difference },
            None => *best = Some(Self { index, difference, second: u32::MAX }),
        }
    }

    /// Whether it is near enough, and `share` of ten nearer than the second one.
    pub fn is_clear(&self, difference_max: u32, share: u32) -> bool {
        let second = self.second.saturating_mul(share) / 10;
        self.difference <= difference_max && (self.second == u32::MAX || self.difference < second)
    }
}

/// The key points of a picture with an index of their places.
#[derive(Clone, Debug, Default)]
pub struct Features {
    seen: Vec<Seen>,
    columns: usize,
    rows: usize,
    /// Per bucket, where its members begin in `order`; one more at the end.
    starts: Vec<u32>,
    order: Vec<u32>,
}

impl Features {
    /// Indexes key points that lie in a picture of that size.
    pub fn new(seen: Vec<Seen>, size: [f64; 2]) -> Self {
        let buckets = |i: usize| ((size[i] / BUCKET).ceil() as usize).clamp(1, BUCKETS_MAX);
        let (columns, rows) = (buckets(0), buckets(1));
        let mut index = Self { seen, columns, rows, ..Self::default() };
        let mut starts = vec![0_u32; columns * rows + 1];
        for seen in &index.seen {
            starts[index.bucket(seen.at) + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0; index.seen.len()];
        for (i, seen) in (0_u32..).zip(&index.seen) {
            let place = &mut next[index.bucket(seen.at)];
            order[*place as usize] = i;
            *place += 1;
        }
        index.starts = starts;
        index.order = order;
        index
    }

    fn side(value: f64, count: usize) -> usize {
        ((value / BUCKET).max(0.0) as usize).min(count - 1)
    }

    fn bucket(&self, at: Pixel) -> usize {
        Self::side(at[1], self.rows) * self.columns + Self::side(at[0], self.columns)
    }

    /// All key points.
    pub fn all(&self) -> &[Seen] {
        &self.seen
    }

    /// Calls `each` with the index of every key point at most `reach` columns and rows away.
    pub fn near(&self, at: Pixel, reach: f64, mut each: impl FnMut(usize)) {
        if self.seen.is_empty() {
            return;
        }
        let side =
            |i: usize, count| Self::side(at[i] - reach, count)..=Self::side(at[i] + reach, count);
        for row in side(1, self.rows) {
            for column in side(0, self.columns) {
                let bucket = row * self.columns + column;
                let members = self.starts[bucket] as usize..self.starts[bucket + 1] as usize;
                for &index in &self.order[members] {
                    let there = self.seen[index as usize].at;
                    if (0..2).all(|i| (there[i] - at[i]).abs() <= reach) {
                        each(index as usize);
                    }
                }
            }
        }
    }

    /// The key points at most `reach` away whose descriptors are nearest to `wanted`.
    pub fn best_near(&self, at: Pixel, reach: f64, wanted: &Descriptor) -> Option<Best> {
        let mut best = None;
        self.near(at, reach, |index| {
            Best::note(&mut best, index, difference(&self.seen[index].descriptor, wanted));
        });
        best
    }
}

#[cfg(test)]
mod tests {
    use super::{Best, Features, Seen, descriptor, difference};

    #[test]
    fn key_points_are_found_by_place_and_by_descriptor() {
        let place = |i: usize| [(i * 37 % 640) as f64, (i * 91 % 480) as f64];
        let seen: Vec<Seen> =
            (0..500).map(|i| Seen { at: place(i), descriptor: [i as u64; 4] }).collect();
        let features = Features::new(seen.clone(), [640.0, 480.0]);
        for reach in [5.0, 40.0] {
            let mut found = Vec::new();
            features.near([300.0, 200.0], reach, |i| found.push(i));
            found.sort_unstable();
            let inside =
                |s: &Seen| (s.at[0] - 300.0).abs() <= reach && (s.at[1] - 200.0).abs() <= reach;
            let expected: Vec<usize> = (0..500).filter(|i| inside(&seen[*i])).collect();
            assert_eq!(found, expected);
        }
        let best = features.best_near(seen[77].at, 3.0, &[77; 4]).unwrap();
        assert_eq!((best.index, best.difference), (77, 0));
        assert!(
            Features::new(Vec::new(), [640.0, 480.0]).best_near([1.0; 2], 9.0, &[0; 4]).is_none()
        );
    }

    #[test]
    fn the_best_is_clear_only_if_the_second_is_much_worse() {
        let mut best = None;
        for (index, difference) in [(3, 40), (4, 90), (5, 38), (6, 200)] {
            Best::note(&mut best, index, difference);
        }
        let best: Best = best.unwrap();
        assert_eq!(best, Best { index: 5, difference: 38, second: 40 });
        assert!(!best.is_clear(50, 8));
        assert!(Best { second: 60, ..best }.is_clear(50, 8));
        assert!(!Best { second: 60, ..best }.is_clear(30, 8));
    }

    #[test]
    fn bytes_and_words_have_the_same_bits() {
        let bytes: [u8; 32] = std::array::from_fn(|i| i as u8);
        let words = descriptor(&bytes);
        assert_eq!(words[1].to_le_bytes(), bytes[8..16]);
        assert_eq!(difference(&words, &words), 0);
        assert_eq!(difference(&words, &[!words[0], words[1], words[2], words[3]]), 64);
    }
}
