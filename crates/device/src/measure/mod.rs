//! What a device's calls take on this machine: launches, copies, registering memory of the host,
//! ends of work, and handing over from kernel to kernel and to the host. `crossdock bench device`
//! shows all of it; the examination (`examine.rs`) tells some of it with fewer repetitions.
//!
//! | file | what is measured |
//! |---|---|
//! | `launches` | an empty kernel |
//! | `copies` | rates over sizes, both ways |
//! | `registration` | registering memory of the host, and giving it back |
//! | `fences` | ends of work, and the device's waits |
//! | `handoff` | the gap between two kernels |

mod copies;
mod fences;
mod handoff;
mod launches;
mod registration;

pub(crate) use fences::end_seen;
pub(crate) use launches::launches;

use crate::capability::Capabilities;
use crate::clock::{KernelObserver, KernelTimes};
use crate::device::{Device, Kernel, Stream};
use crate::error::DeviceError;
use crate::kernel::{Grid, KernelSource};
use crossdock_shm::timeline::{FencePoint, Timeline};
use serde::Serialize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

pub(crate) const SOURCE: KernelSource<'_> =
    KernelSource { label: "measurement", text: "\nXD_KERNEL empty() {}\n" };

/// Nothing that measures or examines a device takes as long on one that works.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How thoroughly is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasureOptions {
    /// Repetitions behind a figure that takes microseconds; longer ones have fewer.
    pub repeats: u32,
    /// The largest piece of memory that is copied or registered, bytes.
    pub bytes_max: u64,
}

impl MeasureOptions {
    /// Some seconds.
    pub const USUAL: Self = Self { repeats: 1000, bytes_max: 64 << 20 };
    /// Tenths of a second, for trying out.
    pub const QUICK: Self = Self { repeats: 20, bytes_max: 1 << 20 };
}

/// How long something took, of some repetitions, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// Repetitions.
    pub count: usize,
    /// The median.
    pub p50_ns: u64,
    /// Of 100, 99 took at most this long.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Distribution {
    /// Of these times; `None`: there are none.
    #[must_use]
    pub fn of(mut times_ns: Vec<u64>) -> Option<Self> {
        times_ns.sort_unstable();
        let count = times_ns.len();
        let rank = |of_100: usize| times_ns[(count * of_100).div_ceil(100).max(1) - 1];
        let max_ns = *times_ns.last()?;
        Some(Self { count, p50_ns: rank(50), p99_ns: rank(99), max_ns })
    }
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measurement {
    /// What it belongs to: `launches`, `copies`, `registration`, `fences`, `hand-off`.
    pub group: &'static str,
    /// What was done.
    pub what: String,
    /// With so many bytes; 0: with none.
    pub bytes: u64,
    /// How long it took; `None`: it cannot be measured here.
    pub took: Option<Distribution>,
    /// Why not; empty if it was.
    pub why_not: String,
}

impl Measurement {
    /// What was measured.
    #[must_use]
    pub fn new(group: &'static str, what: &str, bytes: u64, times_ns: Vec<u64>) -> Self {
        let took = Distribution::of(times_ns);
        let why_not = if took.is_none() { "it never happened".to_owned() } else { String::new() };
        Self { group, what: what.to_owned(), bytes, took, why_not }
    }

    /// What cannot be.
    #[must_use]
    pub fn missing(group: &'static str, what: &str, why_not: impl Into<String>) -> Self {
        Self { group, what: what.to_owned(), bytes: 0, took: None, why_not: why_not.into() }
    }

    /// Of the bytes that are copied, at the median, GB/s; `None`: none are.
    #[must_use]
    pub fn rate_gb_s(&self) -> Option<f64> {
        let took = self.took.filter(|took| self.group == copies::GROUP && took.p50_ns > 0)?;
        Some(self.bytes as f64 / took.p50_ns as f64)
    }
}

type Part = fn(&mut Lab<'_>) -> Result<(), DeviceError>;

/// Measures a device that passes its examination. Blocks for some seconds, and uses the device
/// alone as far as it can: other work on it is measured, too. A part that fails is told as missing,
/// and the others go on.
///
/// # Errors
/// [`DeviceError`]: not even an empty kernel runs.
pub fn measure(device: &Device, options: MeasureOptions) -> Result<Vec<Measurement>, DeviceError> {
    const PARTS: [(&str, Part); 5] = [
        ("hand-off", handoff::measure),
        ("copies", copies::measure),
        ("launches", launches::measure),
        ("registration", registration::measure),
        ("fences", fences::measure),
    ];
    let mut lab = Lab::new(device, options)?;
    for (group, part) in PARTS {
        if let Err(error) = part(&mut lab) {
            lab.found.push(Measurement::missing(group, "the rest", error.to_string()));
        }
    }
    Ok(lab.found)
}

/// What all parts use.
struct Lab<'a> {
    device: &'a Device,
    can: Capabilities,
    stream: Stream,
    empty: EmptyKernel,
    options: MeasureOptions,
    found: Vec<Measurement>,
}

impl<'a> Lab<'a> {
    fn new(device: &'a Device, options: MeasureOptions) -> Result<Self, DeviceError> {
        let (can, mut stream) = (device.capabilities()?, device.stream()?);
        let mut empty = EmptyKernel::new(device)?;
        // The first launch of a kernel is not like the others.
        empty.launch(&mut stream)?;
        stream.finish()?;
        Ok(Self { device, can, stream, empty, options, found: Vec::new() })
    }

    fn note(&mut self, group: &'static str, what: &str, bytes: u64, times_ns: Vec<u64>) {
        self.found.push(Measurement::new(group, what, bytes, times_ns));
    }

    /// Those of some sizes that are to be measured, and how often each, so that none takes much
    /// longer than another.
    fn sizes(&self, sizes: &[u64], bytes_per_figure: u64) -> Vec<(u64, u64)> {
        /// Of the largest.
        const REPEATS_MIN: u64 = 5;
        let repeats_max = u64::from(self.options.repeats).max(REPEATS_MIN);
        let wanted = sizes.iter().filter(|bytes| **bytes <= self.options.bytes_max);
        let repeats = |bytes: u64| (bytes_per_figure / bytes).clamp(REPEATS_MIN, repeats_max);
        wanted.map(|bytes| (*bytes, repeats(*bytes))).collect()
    }

    fn failed(&self, doing: &'static str, why: impl ToString) -> DeviceError {
        let (device, why) = (self.device.info().name.clone(), why.to_string());
        DeviceError::Driver { device, doing, why }
    }

    fn timeline(&self) -> Result<Timeline, DeviceError> {
        Timeline::create("measurement").map_err(|error| self.failed("making a timeline", error))
    }

    /// Looks at a point until it is reached.
    fn spin(&self, point: &FencePoint) -> Result<(), DeviceError> {
        let poisoned =
            |source| DeviceError::Poisoned { device: self.device.info().name.clone(), source };
        match point.spin(PATIENCE).map_err(poisoned)? {
            true => Ok(()),
            false => Err(self.hung()),
        }
    }

    /// Sleeps until a point is reached.
    fn sleep(&self, point: &FencePoint) -> Result<(), DeviceError> {
        let poisoned =
            |source| DeviceError::Poisoned { device: self.device.info().name.clone(), source };
        match point.sleep(PATIENCE).map_err(poisoned)? {
            true => Ok(()),
            false => Err(self.hung()),
        }
    }

    fn hung(&self) -> DeviceError {
        self.failed("waiting for the end of work", format!("it did not come in {PATIENCE:?}"))
    }

    /// When the next kernel of an observed stream ran.
    fn told(&self, times: &Receiver<KernelTimes>) -> Result<KernelTimes, DeviceError> {
        times.recv_timeout(PATIENCE).map_err(|_| self.hung())
    }
}

/// A kernel without arguments that does nothing: what a launch takes by itself.
#[derive(Debug)]
pub struct EmptyKernel {
    kernel: Kernel,
}

impl EmptyKernel {
    /// Compiles it. Blocks.
    ///
    /// # Errors
    /// As [`Device::load`].
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Self { kernel: device.load(&SOURCE)?.kernel("empty")? })
    }

    /// Launches it, as [`Stream::launch`].
    ///
    /// # Errors
    /// As [`Stream::launch`].
    pub fn launch(&mut self, stream: &mut Stream) -> Result<(), DeviceError> {
        // SAFETY: it has no parameters and touches no memory.
        unsafe { stream.launch(&mut self.kernel, Grid::line(1, 1), &[]) }
    }
}

/// Hands the times of kernels on.
#[derive(Debug)]
struct Times(SyncSender<KernelTimes>);

impl KernelObserver for Times {
    fn ran(&self, _: &str, times: KernelTimes) {
        // A receiver that does not look any more has seen an error.
        let _ = self.0.try_send(times);
    }
}

/// Has a stream observed: the receiver is told when each kernel ran. At most so many may run before
/// they are asked for; of further ones it is not told.
pub fn observe(stream: &mut Stream, pending_max: usize) -> Receiver<KernelTimes> {
    let (sender, receiver) = sync_channel(pending_max);
    stream.observe(Some(Arc::new(Times(sender))));
    receiver
}

fn elapsed_ns(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_of_the_sorted_times() {
        assert_eq!(Distribution::of(vec![]), None);
        let one = Distribution { count: 1, p50_ns: 7, p99_ns: 7, max_ns: 7 };
        assert_eq!(Distribution::of(vec![7]), Some(one));
        let many = Distribution { count: 200, p50_ns: 100, p99_ns: 198, max_ns: 200 };
        assert_eq!(Distribution::of((1..=200).rev().collect()), Some(many));
    }

    #[test]
    fn rates_are_bytes_over_the_median() {
        let copies = Measurement::new("copies", "to the device", 1_000_000, vec![250_000]);
        assert_eq!(copies.rate_gb_s(), Some(4.0));
        assert_eq!(Measurement::new("launches", "call", 0, vec![5]).rate_gb_s(), None);
        assert_eq!(Measurement::missing("copies", "in place", "no").rate_gb_s(), None);
        let none = Measurement::new("fences", "end", 0, vec![]);
        assert_eq!((none.took, none.why_not.as_str()), (None, "it never happened"));
    }
}
