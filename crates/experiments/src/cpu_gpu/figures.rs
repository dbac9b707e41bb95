//! Figures of many runs. Pure.

/// Resamples of a bootstrap.
const RESAMPLES: usize = 2000;
/// Where its random numbers begin.
const SEED: u64 = 0x2545_f491_4f6c_dd1d;

/// Mean, standard deviation and median.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) median: f64,
}

impl Figures {
    pub(super) fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = if values.len() < 2 { 0.0 } else { (squares / (count - 1.0)).sqrt() };
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[middle],
            _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
        };
        Self { mean, sd, median }
    }
}

/// How much more the first of pairs take than the second, percent of the second, of their means,
/// with the interval in which 95 % of resampled pairs lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Overhead {
    pub(super) percent: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Overhead {
    /// `None`: nothing to compare with.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let overhead = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            let (own, other) = pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
            (own / other - 1.0) * 100.0
        };
        if pairs.is_empty() || pairs.iter().any(|pair| pair.1 <= 0.0) {
            return None;
        }
        let mut state = SEED;
        let mut random = |below: usize| {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (((state >> 32) * below as u64) >> 32) as usize
        };
        let mut found: Vec<f64> = (0..RESAMPLES)
            .map(|_| overhead(&mut (0..pairs.len()).map(|_| pairs[random(pairs.len())])))
            .collect();
        found.sort_by(f64::total_cmp);
        let percent = overhead(&mut pairs.iter().copied());
        let (low, high) = (found[RESAMPLES / 40], found[RESAMPLES - 1 - RESAMPLES / 40]);
        Some(Self { percent, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_definition() {
        let figures = Figures::of(&[1.0, 2.0, 3.0, 6.0]);
        assert_eq!((figures.mean, figures.median), (3.0, 2.5));
        assert!((figures.sd - (14.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Figures::of(&[4.0]), Figures { mean: 4.0, sd: 0.0, median: 4.0 });
    }

    #[test]
    fn an_overhead_lies_in_its_interval_and_a_constant_one_has_none() {
        let constant = [(1.1, 1.0), (2.2, 2.0), (3.3, 3.0)];
        let overhead = Overhead::of(&constant).expect("pairs");
        assert!((overhead.percent - 10.0).abs() < 1e-9);
        assert!(overhead.high - overhead.low < 1e-9);
        let spread: Vec<_> = (0..30).map(|it| (1.0 + f64::from(it % 5) / 10.0, 1.0)).collect();
        let overhead = Overhead::of(&spread).expect("pairs");
        assert!(overhead.low < 20.0 && (overhead.percent - 20.0).abs() < 1e-9);
        assert!(overhead.high > 20.0 && overhead.high - overhead.low < 15.0, "{overhead:?}");
        assert_eq!(Overhead::of(&[(1.0, 0.0)]), None);
        assert_eq!(Overhead::of(&[]), None);
    }
}
