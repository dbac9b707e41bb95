//! Parts of shared buffers: arithmetic sets of elements, and whether two of them have one in
//! common. Pure.

use std::fmt;

/// The elements `first`, `first + step`, and so on: `count` of them. "The even ones of the right
/// half" of 64 is `first` 32, `step` 2, `count` 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Part {
    first: u64,
    /// At least 1; 1 if there are fewer than two.
    step: u64,
    count: u64,
}

/// The numbers make no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{count} elements from {first} on in steps of {step} are not a part of a buffer; choose a step \
     of at least 1 and a last index below 2^64"
)]
pub struct PartError {
    /// Its first element.
    pub first: u64,
    /// Between two.
    pub step: u64,
    /// How many.
    pub count: u64,
}

impl Part {
    /// No element.
    pub const NONE: Part = Part { first: 0, step: 1, count: 0 };

    /// The elements `first`, `first + step`, and so on, `count` of them.
    ///
    /// # Errors
    /// [`PartError`]: the step is 0, or the last one cannot be said.
    pub const fn new(first: u64, step: u64, count: u64) -> Result<Part, PartError> {
        let error = PartError { first, step, count };
        if count == 0 {
            return Ok(Part::NONE);
        }
        if count == 1 {
            return Ok(Part { first, step: 1, count });
        }
        let Some(span) = step.checked_mul(count - 1) else { return Err(error) };
        if step == 0 || first.checked_add(span).is_none() {
            return Err(error);
        }
        Ok(Part { first, step, count })
    }

    /// The elements from `first` on that are below `end`, side by side.
    pub const fn range(first: u64, end: u64) -> Part {
        if end <= first {
            return Part::NONE;
        }
        Part { first, step: 1, count: end - first }
    }

    /// Every `step`-th element from `first` on that is below `end`.
    ///
    /// # Errors
    /// [`PartError`]: the step is 0.
    pub const fn every(step: u64, first: u64, end: u64) -> Result<Part, PartError> {
        if step == 0 {
            return Err(PartError { first, step, count: 0 });
        }
        if end <= first {
            return Ok(Part::NONE);
        }
        Part::new(first, step, (end - first).div_ceil(step))
    }

    /// The first element; 0 of none.
    pub const fn first(self) -> u64 {
        self.first
    }

    /// Between two elements; 1: they lie side by side.
    pub const fn step(self) -> u64 {
        self.step
    }

    /// How many there are.
    pub const fn count(self) -> u64 {
        self.count
    }

    /// Are there none?
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The last element; `None` of none.
    pub const fn last(self) -> Option<u64> {
        match self.count {
            0 => None,
            count => Some(self.first + self.step * (count - 1)),
        }
    }

    /// One behind the last element; 0 of none.
    pub const fn end(self) -> u64 {
        match self.last() {
            None => 0,
            // At 2^64 - 1 no buffer ends.
            Some(last) => last.saturating_add(1),
        }
    }

    /// Is the element one of them?
    pub const fn contains(self, element: u64) -> bool {
        if self.count == 0 || element < self.first {
            return false;
        }
        let ahead = element - self.first;
        ahead.is_multiple_of(self.step) && ahead / self.step < self.count
    }

    /// All elements, in order.
    pub fn elements(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |index| self.first + index * self.step)
    }

    /// One of `of` shares that together are this part, about equally large and in order: where
    /// several nodes split the work. None beyond the last share.
    pub fn share(self, index: u64, of: u64) -> Part {
        if index >= of {
            return Part::NONE;
        }
        let border = |at: u64| (u128::from(self.count) * u128::from(at) / u128::from(of)) as u64;
        let (from, to) = (border(index), border(index + 1));
        let first = self.first.saturating_add(self.step.saturating_mul(from));
        Part::new(first, self.step, to - from).unwrap_or(Part::NONE)
    }

    /// Do the two have an element in common? Exact; takes at most some hundred divisions, and a few
    /// comparisons if the ranges are apart or the steps the same. Allocates nothing.
    pub fn overlaps(self, other: Part) -> bool {
        let (Some(last), Some(others)) = (self.last(), other.last()) else { return false };
        let (low, high) = (self.first.max(other.first), last.min(others));
        if low > high {
            return false;
        }
        if self.step == 1 || other.step == 1 || self.step == other.step {
            // Of one progression the elements between are the other's, or never.
            let (coarse, fine) =
                if self.step >= other.step { (self, other) } else { (other, self) };
            let next = coarse.next(low);
            return next <= high && fine.contains(next);
        }
        first_common(self, other, low) <= u128::from(high)
    }

    /// The first element of the endless progression at or behind `low`, which is not before
    /// `first`.
    fn next(self, low: u64) -> u64 {
        let ahead = low - self.first;
        let steps = ahead.div_ceil(self.step);
        // Beyond 2^64 there is none: behind every `high`.
        steps.checked_mul(self.step).and_then(|way| way.checked_add(self.first)).unwrap_or(u64::MAX)
    }
}

/// The first element at or behind `low` that both endless progressions have; `u128::MAX`: there is
/// none. `low` is before neither's first.
fn first_common(a: Part, b: Part, low: u64) -> u128 {
    let (step_a, step_b) = (i128::from(a.step), i128::from(b.step));
    let (gcd, of_a) = bezout(step_a, step_b);
    let between = i128::from(b.first) - i128::from(a.first);
    if between % gcd != 0 {
        return u128::MAX;
    }
    // a.first + k * step_a is b's, too, for k = between / gcd * of_a, modulo step_b / gcd. All
    // factors are below 2^64, so no product reaches 2^128; it is unsigned because it may pass
    // 2^127.
    let modulus = (step_b / gcd) as u128;
    let scaled = (between / gcd).rem_euclid(step_b / gcd) as u128;
    let of_a = of_a.rem_euclid(step_b / gcd) as u128;
    let k = scaled * of_a % modulus;
    let Some(common) = u128::from(a.first).checked_add(k * u128::from(a.step)) else {
        return u128::MAX;
    };
    let period = u128::from(a.step) * modulus;
    let low = u128::from(low);
    if common >= low {
        return common;
    }
    let turns = (low - common).div_ceil(period);
    turns.checked_mul(period).and_then(|way| way.checked_add(common)).unwrap_or(u128::MAX)
}

/// The greatest common divisor of two positive numbers, and by how much the first must be taken for
/// it.
fn bezout(a: i128, b: i128) -> (i128, i128) {
    let (mut rest, mut factor) = ((a, b), (1_i128, 0_i128));
    // Euclid: less than 93 turns for numbers below 2^64.
    while rest.1 != 0 {
        let quotient = rest.0 / rest.1;
        rest = (rest.1, rest.0 - quotient * rest.1);
        factor = (factor.1, factor.0 - quotient * factor.1);
    }
    (rest.0, factor.0)
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, step, count) = (self.first, self.step, self.count);
        match (self.last(), step) {
            (None, _) => f.write_str("no element"),
            (Some(last), _) if last == first => write!(f, "element {first}"),
            (Some(last), 1) => write!(f, "elements {first} to {last}"),
            (Some(last), _) => {
                write!(f, "elements {first}, {}, .. {last} ({count} of them)", first + step)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn part(first: u64, step: u64, count: u64) -> Part {
        Part::new(first, step, count).unwrap()
    }

    /// Numbers from a fixed seed.
    fn random() -> impl FnMut(u64) -> u64 {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        move |end| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % end
        }
    }

    #[test]
    fn two_parts_overlap_exactly_if_their_sets_do() {
        let mut below = random();
        let (mut apart, mut together) = (0, 0);
        for _ in 0..100_000 {
            let mut any = || part(below(60), 1 + below(24), below(12));
            let (a, b) = (any(), any());
            let elements = |part: Part| part.elements().collect::<BTreeSet<_>>();
            let common = !elements(a).is_disjoint(&elements(b));
            assert_eq!(a.overlaps(b), common, "{a:?} {b:?}");
            assert_eq!(b.overlaps(a), common, "{b:?} {a:?}");
            *(if common { &mut together } else { &mut apart }) += 1;
        }
        assert!(apart > 10_000 && together > 10_000, "{apart} {together}");
    }

    #[test]
    fn the_largest_numbers_are_compared_exactly() {
        const MAX: u64 = u64::MAX;
        // Two steps without a common divisor: the only common element is known.
        let (p, q) = (4_294_967_291_u64, 4_294_967_279_u64);
        let at = MAX - 7;
        let a = part(at - p * 9, p, 10);
        let b = part(at - q * 8, q, 9);
        assert!(a.overlaps(b) && b.overlaps(a));
        let short = part(at - q * 8, q, 8);
        assert!(!a.overlaps(short) && !short.overlaps(a));
        assert!(part(0, MAX, 2).overlaps(part(MAX, 1, 1)));
        assert!(part(0, MAX, 2).overlaps(part(MAX - 3, 3, 2)));
        assert!(!part(0, MAX, 2).overlaps(part(MAX - 3, 2, 2)));
        assert!(!part(0, MAX - 1, 2).overlaps(part(1, MAX - 1, 2)));
        assert!(part(3, MAX - 4, 2).overlaps(part(1, MAX - 2, 2)));
        assert!(!part(0, 1 << 63, 2).overlaps(part(1, (1 << 63) - 2, 2)));
        assert!(part(1, 1 << 63, 2).overlaps(part(0, (1 << 63) + 1, 2)));
    }

    #[test]
    fn numbers_that_make_no_part_are_refused() {
        assert!(Part::new(0, 0, 2).is_err());
        assert!(Part::new(u64::MAX, 1, 2).is_err());
        assert!(Part::new(0, u64::MAX, 3).is_err());
        assert!(Part::every(0, 0, 9).is_err());
        assert_eq!(Part::new(7, 0, 0), Ok(Part::NONE));
        assert_eq!(part(7, 0, 1), part(7, 5, 1));
    }

    #[test]
    fn shares_are_the_whole_in_order() {
        let mut below = random();
        for _ in 0..2000 {
            let whole = part(below(50), 1 + below(5), below(40));
            let of = 1 + below(7);
            let shares = (0..of).flat_map(|index| whole.share(index, of).elements());
            assert!(shares.eq(whole.elements()), "{whole:?} in {of}");
            assert!(whole.share(of, of).is_empty());
        }
    }

    #[test]
    fn a_part_says_what_it_is() {
        let even = Part::every(2, 32, 64).unwrap();
        assert_eq!(even.to_string(), "elements 32, 34, .. 62 (16 of them)");
        assert_eq!(Part::range(3, 9).to_string(), "elements 3 to 8");
        assert_eq!(
            (Part::range(3, 4).to_string(), Part::NONE.to_string()),
            ("element 3".into(), "no element".into())
        );
        assert!(
            even.contains(62) && !even.contains(63) && !even.contains(64) && !even.contains(30)
        );
        assert_eq!((even.end(), Part::NONE.end()), (63, 0));
    }
}
