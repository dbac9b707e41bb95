//! Which limit of the number cruncher takes how long on this machine.

use crate::cruncher::primes;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Largest limit that is tried: work grows with its square, and this one takes minutes.
pub const LIMIT_MAX: u64 = 1 << 20;
/// Measurements of one limit; the shortest counts: what else runs only makes it longer.
const REPEATS: usize = 5;
/// Steps in which a limit is approached; each halves the rest or better.
const STEPS_MAX: usize = 12;

/// How long counting the primes up to `limit` takes, at best of a few times. Blocks for that long.
#[must_use]
pub fn crunch_time(limit: u64) -> Duration {
    let once = || {
        let start = Instant::now();
        black_box(primes(black_box(limit)));
        start.elapsed()
    };
    (0..REPEATS).map(|_| once()).min().unwrap_or_default()
}

/// The limit whose primes take about `time` to count (to 1 %, or as near as the clock lets one
/// get), and how long they take. Blocks for some hundred times as long.
#[must_use]
pub fn limit_of(time: Duration) -> (u64, Duration) {
    let (mut limit, mut best) = (64, (64, crunch_time(64)));
    for _ in 0..STEPS_MAX {
        let taken = crunch_time(limit);
        if taken.abs_diff(time) < best.1.abs_diff(time) {
            best = (limit, taken);
        }
        let ratio = time.as_secs_f64() / taken.as_secs_f64().max(1e-9);
        if (ratio - 1.0).abs() < 0.01 {
            break;
        }
        // Nearly quadratic; by steps, because short times are measured badly.
        let factor = ratio.sqrt().clamp(0.1, 8.0);
        limit = ((limit as f64 * factor).round() as u64).clamp(2, LIMIT_MAX);
    }
    best
}
