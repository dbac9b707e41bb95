//! Log-linear histograms of durations: where a value is counted and what a count means.
//!
//! Each power of two is cut into 32 equal buckets, so a bucket is at most 1/32 of its lower end
//! wide and its middle is off by at most 1.6 %. Values below 32 ns are exact; values from 2^43 ns
//! (2.4 hours) on are counted in the last bucket.

/// Equal buckets in each power of two.
const LINEAR: u64 = 32;
const LINEAR_BITS: u32 = LINEAR.trailing_zeros();
/// The first power of two that is not counted apart any more: 2^43 ns are 2.4 hours.
const EXPONENT_END: u32 = 43;

/// Number of buckets of a histogram.
pub const BUCKETS: usize = (LINEAR + (EXPONENT_END - LINEAR_BITS) as u64 * LINEAR) as usize;

/// The bucket that counts `value_ns`.
#[inline]
pub const fn bucket_of(value_ns: u64) -> usize {
    if value_ns < LINEAR {
        return value_ns as usize;
    }
    let exponent = value_ns.ilog2();
    if exponent >= EXPONENT_END {
        return BUCKETS - 1;
    }
    let shift = exponent - LINEAR_BITS;
    // The leading one selects the power of two, the next five bits the bucket in it.
    let linear = (value_ns >> shift) - LINEAR;
    (LINEAR + shift as u64 * LINEAR + linear) as usize
}

/// The smallest value in ns that `bucket` counts.
pub const fn bucket_start_ns(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < LINEAR {
        return bucket;
    }
    let shift = (bucket - LINEAR) / LINEAR;
    (LINEAR + (bucket - LINEAR) % LINEAR) << shift
}

/// What a histogram had counted when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramSnapshot {
    /// Number of values. It can differ from the sum of the buckets by what was counted meanwhile.
    pub count: u64,
    /// Sum of all values in ns.
    pub sum_ns: u64,
    /// Smallest value in ns; 0 when nothing was counted.
    pub min_ns: u64,
    /// Largest value in ns.
    pub max_ns: u64,
    /// Counts; bucket `i` starts at [`bucket_start_ns`]`(i)`. Always [`BUCKETS`] long.
    pub buckets: Vec<u64>,
}

impl HistogramSnapshot {
    /// Nothing counted.
    pub fn empty() -> HistogramSnapshot {
        HistogramSnapshot { count: 0, sum_ns: 0, min_ns: 0, max_ns: 0, buckets: vec![0; BUCKETS] }
    }

    /// The value in ns that a share of `quantile` (0 to 1) of all values does not exceed, with an
    /// error of at most 1.6 %; `None` when nothing was counted.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let total: u64 = self.buckets.iter().fold(0, |sum, count| sum.saturating_add(*count));
        if total == 0 {
            return None;
        }
        let wanted = ((total as f64 * quantile.clamp(0.0, 1.0)).ceil() as u64).clamp(1, total);
        let mut seen = 0u64;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen = seen.saturating_add(*count);
            if seen >= wanted {
                let (start, end) = (bucket_start_ns(bucket), bucket_start_ns(bucket + 1));
                let middle = start + (end - start) / 2;
                return Some(middle.clamp(self.min_ns, self.max_ns.max(self.min_ns)));
            }
        }
        Some(self.max_ns)
    }

    /// Mean in ns; `None` when nothing was counted.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// What was counted after `before`, an earlier look at the same histogram. Its smallest and
    /// largest value are those of the buckets, as nobody keeps them apart for an interval.
    #[must_use]
    pub fn since(&self, before: &HistogramSnapshot) -> HistogramSnapshot {
        let pairs = self.buckets.iter().zip(&before.buckets);
        let buckets: Vec<u64> = pairs.map(|(now, then)| now.saturating_sub(*then)).collect();
        let first = buckets.iter().position(|count| *count > 0);
        let last = buckets.iter().rposition(|count| *count > 0);
        HistogramSnapshot {
            count: self.count.saturating_sub(before.count),
            sum_ns: self.sum_ns.saturating_sub(before.sum_ns),
            min_ns: first.map_or(0, bucket_start_ns).max(self.min_ns),
            max_ns: last.map_or(0, |bucket| bucket_start_ns(bucket + 1) - 1).min(self.max_ns),
            buckets,
        }
    }

    /// Adds what another histogram has counted.
    pub fn merge(&mut self, other: &HistogramSnapshot) {
        if other.count == 0 {
            return;
        }
        let smallest = if self.count == 0 { u64::MAX } else { self.min_ns };
        self.min_ns = smallest.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for (own, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *own = own.saturating_add(*more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bucket_at_most_a_32nd_wide() {
        let mut value = 0u64;
        while value < 1 << 43 {
            let bucket = bucket_of(value);
            let (start, end) = (bucket_start_ns(bucket), bucket_start_ns(bucket + 1));
            assert!(start <= value && value < end, "{value} in {bucket}: {start}..{end}");
            assert!(end - start <= (start / 32).max(1), "{bucket}: {start}..{end}");
            value += 1 + value / 97;
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket_of((1 << 43) - 1), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_within_three_percent() {
        let mut histogram = HistogramSnapshot::empty();
        for value in 1..=100_000u64 {
            histogram.buckets[bucket_of(value)] += 1;
        }
        (histogram.count, histogram.min_ns, histogram.max_ns) = (100_000, 1, 100_000);
        for (quantile, exact) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.999, 99_900.0)] {
            let found = histogram.quantile_ns(quantile).unwrap() as f64;
            assert!((found - exact).abs() / exact < 0.03, "{quantile}: {found}");
        }
        assert_eq!(histogram.quantile_ns(0.0), Some(1));
        assert_eq!(HistogramSnapshot::empty().quantile_ns(0.5), None);
    }

    #[test]
    fn an_interval_holds_only_what_was_counted_in_it() {
        let count = |histogram: &mut HistogramSnapshot, value: u64| {
            let first = histogram.count == 0;
            histogram.min_ns = if first { value } else { histogram.min_ns.min(value) };
            histogram.max_ns = histogram.max_ns.max(value);
            histogram.count += 1;
            histogram.sum_ns += value;
            histogram.buckets[bucket_of(value)] += 1;
        };
        let mut before = HistogramSnapshot::empty();
        (0..50).for_each(|_| count(&mut before, 1_000_000));
        let mut now = before.clone();
        (0..100).for_each(|value| count(&mut now, 1_000 + value));
        let since = now.since(&before);
        assert_eq!((since.count, since.sum_ns), (100, 100 * 1_000 + 99 * 50));
        assert!(since.quantile_ns(0.99).unwrap() < 1_200, "{:?}", since.quantile_ns(0.99));
        assert!(since.min_ns <= 1_000);
        assert_eq!(since.max_ns, bucket_start_ns(bucket_of(1_099) + 1) - 1);
        assert_eq!(
            now.since(&now),
            HistogramSnapshot { min_ns: 1_000, ..HistogramSnapshot::empty() }
        );
        assert_eq!(now.since(&now).quantile_ns(0.5), None);
    }

    #[test]
    fn merging_keeps_the_extremes() {
        let mut a = HistogramSnapshot::empty();
        let mut b = HistogramSnapshot::empty();
        (b.count, b.sum_ns, b.min_ns, b.max_ns) = (2, 30, 10, 20);
        b.buckets[bucket_of(10)] += 1;
        b.buckets[bucket_of(20)] += 1;
        a.merge(&b);
        a.merge(&HistogramSnapshot::empty());
        assert_eq!(a, b);
    }
}
