//! Which messages of publishers over there never came: each publisher numbers what it publishes.
//! A message may come before its publisher is known here, to which the missing ones are counted.

use crossdock_wire::Gid;
use std::collections::BTreeMap;

/// Publishers of a topic whose numbers are known, at most: of more, gaps are not seen.
const PUBLISHERS_MAX: usize = 16_384;

/// A larger step is no gap: the publisher numbers otherwise.
const GAP_MAX: u64 = 1 << 32;

/// The numbers of the publishers of a topic.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    of: BTreeMap<Gid, Known>,
}

#[derive(Debug)]
struct Known {
    last: i64,
    /// Messages that never came and are not counted to the publisher yet.
    missed: u64,
}

impl Numbers {
    /// A message has come; gives how many before it never did. What comes late, or once more, is
    /// none of them: kept messages are sent again.
    pub(crate) fn missed_before(&mut self, gid: Gid, sequence: i64) -> u64 {
        let Some(known) = self.of.get_mut(&gid) else {
            if self.of.len() == PUBLISHERS_MAX {
                self.of.pop_first();
            }
            self.of.insert(gid, Known { last: sequence, missed: 0 });
            return 0;
        };
        if sequence <= known.last {
            return 0;
        }
        let missed = sequence.abs_diff(known.last) - 1;
        known.last = sequence;
        let missed = if missed < GAP_MAX { missed } else { 0 };
        known.missed += missed;
        missed
    }

    /// What a publisher has missed since the last call.
    pub(crate) fn take_missed(&mut self, gid: Gid) -> u64 {
        self.of.get_mut(&gid).map_or(0, |known| std::mem::take(&mut known.missed))
    }

    /// Nobody listens any more: what comes meanwhile is not missed.
    pub(crate) fn forget(&mut self) {
        self.of.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_missed_and_repetitions_and_beginnings_are_not() {
        let (mut numbers, one, other) = (Numbers::default(), Gid([1; 16]), Gid([2; 16]));
        let steps = [(7, 0), (8, 0), (11, 2), (9, 0), (11, 0), (12, 0), (i64::MAX, 0), (1, 0)];
        for (sequence, missed) in steps {
            assert_eq!(numbers.missed_before(one, sequence), missed, "{sequence}");
        }
        assert_eq!([i64::MIN, i64::MAX].map(|it| numbers.missed_before(other, it)), [0, 0]);
        // They are counted once, whenever the publisher is known.
        assert_eq!([0; 2].map(|_| numbers.take_missed(one)), [2, 0]);
        numbers.forget();
        assert_eq!([3, 5].map(|it| numbers.missed_before(one, it)), [0, 1]);
    }

    #[test]
    fn a_flood_of_publishers_keeps_no_memory() {
        let mut numbers = Numbers::default();
        for number in 0..=PUBLISHERS_MAX as u128 {
            numbers.missed_before(Gid(number.to_be_bytes()), 1);
        }
        assert_eq!(numbers.of.len(), PUBLISHERS_MAX);
    }
}
