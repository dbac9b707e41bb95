//! What a chain hop is compared with: dynamic calls and clock readings, measured on this machine
//! in this run. Knows no system.

use crate::Failure;
use crate::failure::While;
use crate::samples::{Percentiles, percentiles};
use std::hint::black_box;
use std::time::Instant;

/// Dynamic calls in one sample's unit.
pub const CALLS: usize = 8;
/// Clock readings in one sample's unit.
pub const CLOCK_READS: usize = 4;
/// Units per sample, since one is too short for the clock.
const BATCH: u32 = 256;
/// Samples of each yardstick.
pub const SAMPLES: usize = 20_000;

trait Step {
    fn step(&mut self, value: u64) -> u64;
}

struct Add(u64);
struct Mix(u64);
struct Turn(u32);
struct Count(u64);

impl Step for Add {
    fn step(&mut self, value: u64) -> u64 {
        value.wrapping_add(self.0)
    }
}

impl Step for Mix {
    fn step(&mut self, value: u64) -> u64 {
        value ^ self.0
    }
}

impl Step for Turn {
    fn step(&mut self, value: u64) -> u64 {
        value.rotate_left(self.0)
    }
}

impl Step for Count {
    fn step(&mut self, value: u64) -> u64 {
        self.0 += 1;
        value
    }
}

/// [`CALLS`] calls, one after the other, through as many trait objects of four types.
pub fn dynamic_calls() -> Result<Percentiles, Failure> {
    let mut steps: Vec<Box<dyn Step>> = vec![];
    for round in 0..CALLS as u64 / 4 {
        steps.push(Box::new(Add(round)));
        steps.push(Box::new(Mix(round)));
        steps.push(Box::new(Turn(7)));
        steps.push(Box::new(Count(round)));
    }
    let mut value = 1;
    measure(|| {
        for step in black_box(&mut steps) {
            value = step.step(value);
        }
        black_box(value);
    })
}

/// [`CLOCK_READS`] readings of the monotonic clock.
pub fn clock_reads() -> Result<Percentiles, Failure> {
    measure(|| {
        for _ in 0..CLOCK_READS {
            black_box(Instant::now());
        }
    })
}

fn measure(mut unit: impl FnMut()) -> Result<Percentiles, Failure> {
    let mut sample = |_| {
        let start = Instant::now();
        for _ in 0..BATCH {
            unit();
        }
        start.elapsed().as_nanos() as u64
    };
    (0..SAMPLES / 10).map(&mut sample).for_each(drop);
    let mut samples: Vec<u64> = (0..SAMPLES).map(sample).collect();
    percentiles(&mut samples, f64::from(BATCH)).during("measuring a yardstick")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yardsticks_take_time() {
        for found in [dynamic_calls(), clock_reads()] {
            assert!(found.expect("samples").p50_ns > 0.0);
        }
    }
}
