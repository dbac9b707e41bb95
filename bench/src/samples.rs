//! Percentiles from exact samples: every sample is kept, nothing is binned.

use serde::{Deserialize, Serialize};

/// What is reported of a set of samples, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the samples are not above this.
    pub p50_ns: f64,
    /// 99 % are not above this.
    pub p99_ns: f64,
    /// 99.9 % are not above this.
    pub p999_ns: f64,
    /// The largest sample.
    pub max_ns: f64,
}

/// Percentiles (nearest rank) of `samples_ns`, each divided by `divisor`. `None` without samples.
pub fn percentiles(samples_ns: &mut [u64], divisor: f64) -> Option<Percentiles> {
    samples_ns.sort_unstable();
    let last = samples_ns.len().checked_sub(1)?;
    let at = |fraction: f64| {
        let rank = (fraction * samples_ns.len() as f64).ceil() as usize;
        samples_ns[rank.saturating_sub(1).min(last)] as f64 / divisor
    };
    Some(Percentiles { p50_ns: at(0.5), p99_ns: at(0.99), p999_ns: at(0.999), max_ns: at(1.0) })
}

/// The middle of `values`; of an even number the lower one. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples_by_nearest_rank() {
        let mut samples: Vec<u64> = (1..=1000).rev().collect();
        let found = percentiles(&mut samples, 1.0).expect("samples");
        let expected = Percentiles { p50_ns: 500.0, p99_ns: 990.0, p999_ns: 999.0, max_ns: 1000.0 };
        assert_eq!(found, expected);
        assert_eq!(percentiles(&mut [7], 2.0).map(|one| one.p999_ns), Some(3.5));
        assert_eq!(percentiles(&mut [], 1.0), None);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_lower_middle() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }
}
