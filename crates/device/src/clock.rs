//! The clock of a device beside the host's, and when kernels ran.

use crossdock_shm::clock::monotonic_ns;
use serde::Serialize;
use std::fmt::Debug;
use std::sync::Arc;

/// Readings; the best one counts: now and then a thread is interrupted between the two
/// clocks.
const READINGS: u32 = 8;

/// One moment on the clocks of the host and of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockPair {
    /// On the host's, ns: `CLOCK_MONOTONIC`, as [`monotonic_ns`] and as traces have it.
    pub host_ns: u64,
    /// On the device's, ns since a start of its own.
    pub device_ns: u64,
    /// The moment was at most so long before or after `host_ns`.
    pub uncertainty_ns: u64,
}

impl ClockPair {
    /// A time of the device's clock on the host's: as exact as this pair, and off by what the
    /// clocks have drifted apart since (1 us in a second is much).
    #[must_use]
    pub fn on_host(&self, device_ns: u64) -> u64 {
        // The difference is signed: what is asked about may lie before the pair.
        self.host_ns.wrapping_add(device_ns.wrapping_sub(self.device_ns))
    }

    /// The best of some readings: `read` gives the time of the device at some moment while it runs.
    pub(crate) fn of<E>(mut read: impl FnMut() -> Result<u64, E>) -> Result<Self, E> {
        let mut best: Option<Self> = None;
        for _ in 0..READINGS {
            let before_ns = monotonic_ns();
            let device_ns = read()?;
            let after_ns = monotonic_ns();
            let uncertainty_ns = (after_ns - before_ns).div_ceil(2);
            let pair = Self { host_ns: before_ns + uncertainty_ns, device_ns, uncertainty_ns };
            if best.is_none_or(|best| uncertainty_ns < best.uncertainty_ns) {
                best = Some(pair);
            }
        }
        Ok(best.unwrap_or(Self { host_ns: 0, device_ns: 0, uncertainty_ns: u64::MAX }))
    }
}

/// When a kernel ran, on its device's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KernelTimes {
    /// Its first work item began, ns.
    pub begin_ns: u64,
    /// Its last one was over, ns.
    pub end_ns: u64,
}

/// Is told when the kernels of a stream ran ([`Stream::observe`](crate::Stream::observe)).
pub trait KernelObserver: Debug + Send + Sync {
    /// A kernel ran. Called once for each that succeeded, when it is over, in the order of their
    /// stream, on a thread of the driver's: it must neither block nor call the device.
    fn ran(&self, kernel: &str, times: KernelTimes);
}

/// A launch that somebody observes.
#[derive(Debug)]
pub(crate) struct Observed {
    observer: Arc<dyn KernelObserver>,
    kernel: Arc<str>,
}

impl Observed {
    pub(crate) fn new(observer: &Arc<dyn KernelObserver>, kernel: &Arc<str>) -> Self {
        Self { observer: Arc::clone(observer), kernel: Arc::clone(kernel) }
    }

    /// It ran.
    pub(crate) fn ran(self, times: KernelTimes) {
        self.observer.ran(&self.kernel, times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_after_a_pair_are_brought_to_the_hosts_clock() {
        let pair = ClockPair { host_ns: 5000, device_ns: 1000, uncertainty_ns: 7 };
        assert_eq!([800, 1000, 1300].map(|at| pair.on_host(at)), [4800, 5000, 5300]);
        // A device may have counted for longer than the host.
        let pair = ClockPair { host_ns: 5000, device_ns: 1 << 60, uncertainty_ns: 7 };
        assert_eq!(pair.on_host((1 << 60) + 1), 5001);
    }

    #[test]
    fn a_pair_brackets_what_was_read_and_a_clock_that_fails_is_an_error() {
        let mut moments = Vec::new();
        let mut read = || {
            moments.push(monotonic_ns());
            Ok::<_, ()>(moments[moments.len() - 1] + 1_000_000)
        };
        let pair = ClockPair::of(&mut read).expect("read");
        let moment = pair.device_ns - 1_000_000;
        assert!(moments.contains(&moment));
        assert!(pair.host_ns.abs_diff(moment) <= pair.uncertainty_ns, "{pair:?} at {moment}");
        assert_eq!(ClockPair::of(|| Err("gone")), Err("gone"));
    }
}
