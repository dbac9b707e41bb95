//! What steps of software take, by chance.

use crate::networks::Random;
use crossdock_fabric::{Figure, Processor};

/// Standard deviations from the median to the 99th percentile of a normal distribution.
const P99_DEVIATIONS: f64 = 2.326_347_9;

/// Draws the times of steps on one processor: log-normal, with the processor's figures as medians.
pub(crate) struct Latency {
    pub(crate) processor: Processor,
    random: Random,
    /// Deviation of the logarithm.
    deviation: f64,
}

impl Latency {
    pub(crate) fn new(processor: Processor, seed: u64) -> Self {
        let p99 = f64::from(processor.p99_percent.value) / 100.0;
        Self { processor, random: Random(seed), deviation: p99.ln() / P99_DEVIATIONS }
    }

    /// Time of a step with this figure in ns, in ps.
    pub(crate) fn of(&mut self, step_ns: Figure) -> u64 {
        let times = (self.random.normal() * self.deviation).exp();
        (f64::from(step_ns.value) * 1e3 * times).round() as u64
    }

    /// Of several steps, one after the other.
    pub(crate) fn of_all(&mut self, steps_ns: &[Figure]) -> u64 {
        steps_ns.iter().map(|step| self.of(*step)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_fabric::Profile;

    #[test]
    fn times_have_the_figure_as_median_and_the_spread_at_the_99th_percentile() {
        let processor = Profile::named("zcu104-64").and_then(|it| it.processor).unwrap();
        let mut latency = Latency::new(processor, 1);
        let mut times: Vec<u64> = (0..20_000).map(|_| latency.of(processor.wake_ns)).collect();
        times.sort_unstable();
        let median = f64::from(processor.wake_ns.value) * 1e3;
        let spread = f64::from(processor.p99_percent.value) / 100.0;
        assert!((times[10_000] as f64 / median - 1.0).abs() < 0.02, "{}", times[10_000]);
        assert!((times[19_800] as f64 / median / spread - 1.0).abs() < 0.04, "{}", times[19_800]);
        let again = Latency::new(processor, 1).of(processor.wake_ns);
        assert_eq!(Latency::new(processor, 1).of(processor.wake_ns), again);
        assert_ne!(Latency::new(processor, 2).of(processor.wake_ns), again);
    }
}
