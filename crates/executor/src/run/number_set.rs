//! A set of small numbers with a cheap "next number after": which nodes or inputs have work.

/// A set of the numbers from 0 up to a capacity that is fixed when it is made. No method but
/// [`NumberSet::new`] allocates.
#[derive(Debug)]
pub(crate) struct NumberSet {
    words: Box<[u64]>,
}

impl NumberSet {
    /// An empty set for the numbers below `capacity`.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { words: vec![0; capacity.div_ceil(64).max(1)].into_boxed_slice() }
    }

    /// The set of all numbers below `capacity`.
    pub(crate) fn full(capacity: usize) -> Self {
        let mut set = Self::new(capacity);
        (0..capacity).for_each(|number| set.insert(number));
        set
    }

    /// Adds a number.
    ///
    /// # Panics
    ///
    /// When it is not below the capacity rounded up to 64.
    #[inline]
    pub(crate) fn insert(&mut self, number: usize) {
        self.words[number / 64] |= 1 << (number % 64);
    }

    /// Takes a number out.
    #[inline]
    pub(crate) fn remove(&mut self, number: usize) {
        self.words[number / 64] &= !(1 << (number % 64));
    }

    /// Whether a number is in it.
    #[inline]
    pub(crate) fn contains(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Whether a number is in both sets.
    #[inline]
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(one, other)| one & other != 0)
    }

    /// Adds all numbers of another set of the same capacity.
    pub(crate) fn insert_all(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(one, other)| *one |= other);
    }

    /// Whether there is no number in it.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The smallest number that is `from` or more.
    #[inline]
    pub(crate) fn next(&self, from: usize) -> Option<usize> {
        let word = *self.words.get(from / 64)? & (u64::MAX << (from % 64));
        if word != 0 {
            return Some(from / 64 * 64 + word.trailing_zeros() as usize);
        }
        let later = from / 64 + 1;
        let skipped = self.words.get(later..)?.iter().position(|word| *word != 0)? + later;
        Some(skipped * 64 + self.words[skipped].trailing_zeros() as usize)
    }

    /// The smallest number that is `from` or more, else the smallest of all.
    #[inline]
    pub(crate) fn next_around(&self, from: usize) -> Option<usize> {
        self.next(from).or_else(|| self.next(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_number_is_found_across_words() {
        let mut set = NumberSet::new(200);
        assert_eq!(set.next_around(0), None);
        assert!(set.is_empty());
        for number in [3, 64, 130, 199] {
            set.insert(number);
        }
        let all = std::iter::successors(set.next(0), |number| set.next(number + 1));
        assert_eq!(all.collect::<Vec<_>>(), [3, 64, 130, 199]);
        assert!(set.contains(130) && !set.contains(131) && !set.contains(10_000));
        assert_eq!(set.next(65), Some(130));
        assert_eq!(set.next(200), None);
        assert_eq!(set.next_around(200), Some(3));
        let mut other = NumberSet::new(200);
        other.insert(131);
        assert!(!set.meets(&other));
        other.insert_all(&set);
        assert!(set.meets(&other));
        set.remove(3);
        assert_eq!(set.next_around(200), Some(64));
        assert_eq!(set.next(10_000), None);
    }
}
