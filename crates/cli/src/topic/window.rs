//! The newest values of a measurement and their statistics, as `ros2 topic hz` and `delay` show
//! them.

use std::collections::VecDeque;

/// The newest `limit` values.
#[derive(Debug)]
pub(super) struct Window {
    values: VecDeque<f64>,
    limit: usize,
}

/// Of the values in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Statistics {
    pub(super) mean: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) std_dev: f64,
    pub(super) count: usize,
}

impl Window {
    /// For at least one value.
    pub(super) fn new(limit: usize) -> Self {
        Self { values: VecDeque::new(), limit: limit.max(1) }
    }

    pub(super) fn add(&mut self, value: f64) {
        if self.values.len() == self.limit {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    /// `None` while there are no values.
    pub(super) fn statistics(&self) -> Option<Statistics> {
        let count = self.values.len();
        if count == 0 {
            return None;
        }
        let mean = self.values.iter().sum::<f64>() / count as f64;
        let spread = self.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let std_dev = (spread / count as f64).sqrt();
        let min = self.values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Statistics { mean, min, max, std_dev, count })
    }
}

impl Statistics {
    /// Least, greatest and spread of seconds, in the words of `ros2`.
    pub(super) fn line(&self) -> String {
        let Self { min, max, std_dev, count, .. } = self;
        format!("\tmin: {min:.6}s max: {max:.6}s std dev: {std_dev:.6}s window: {count}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_of_the_newest_values() {
        let mut window = Window::new(4);
        assert_eq!(window.statistics(), None);
        for value in [100.0, 2.0, 4.0, 4.0, 6.0] {
            window.add(value);
        }
        let Statistics { mean, min, max, std_dev, count } = window.statistics().unwrap();
        assert_eq!((mean, min, max, count), (4.0, 2.0, 6.0, 4));
        assert!((std_dev - 2.0_f64.sqrt()).abs() < 1e-12);
    }
}
