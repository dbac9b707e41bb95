//! The kernels of a queue as events of a trace: when the device ran them, on the host's clock.

use crossdock_device::{ClockPair, Device, KernelObserver, KernelTimes, Stream};
use crossdock_trace::{DeviceTrace, monotonic_ns};
use std::sync::{Arc, Mutex, PoisonError};

/// So long one comparison of the clocks of device and host serves: they drift apart by less than a
/// microsecond meanwhile.
const PAIR_NS: u64 = 1_000_000_000;

/// Whether and how the kernels of one queue are traced.
#[derive(Debug)]
pub(crate) struct QueueTrace {
    teller: Arc<Teller>,
    /// When the clocks were compared last; `None`: kernels are not observed.
    paired_ns: Option<u64>,
}

/// Is told by the driver's thread.
#[derive(Debug)]
struct Teller {
    trace: DeviceTrace,
    /// Of the two clocks; `None`: not compared yet.
    pair: Mutex<Option<ClockPair>>,
}

impl KernelObserver for Teller {
    fn ran(&self, kernel: &str, times: KernelTimes) {
        let Some(pair) = *self.pair.lock().unwrap_or_else(PoisonError::into_inner) else { return };
        let times = (pair.on_host(times.begin_ns), pair.on_host(times.end_ns));
        self.trace.kernel(kernel, times, pair.uncertainty_ns);
    }
}

impl QueueTrace {
    /// The trace of this thread's executor on a device. Allocates, takes a lock.
    pub(crate) fn new(device: &str) -> Self {
        let thread = std::thread::current();
        let trace = DeviceTrace::new(device, thread.name().unwrap_or(""));
        Self { teller: Arc::new(Teller { trace, pair: Mutex::default() }), paired_ns: None }
    }

    /// Begins or ends observing where the trace was switched. One load and one branch while nothing
    /// is traced; else it may wait for the device to read its clock, once a second.
    #[inline]
    pub(crate) fn look(&mut self, device: &Device, stream: &mut Stream) {
        if self.teller.trace.is_on() | self.paired_ns.is_some() {
            self.switch(device, stream);
        }
    }

    #[cold]
    fn switch(&mut self, device: &Device, stream: &mut Stream) {
        if !self.teller.trace.is_on() {
            stream.observe(None);
            self.paired_ns = None;
            return;
        }
        let now_ns = monotonic_ns();
        if self.paired_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < PAIR_NS) {
            return;
        }
        if self.paired_ns.replace(now_ns).is_none() {
            stream.observe(Some(self.teller.clone()));
        }
        // Without the device's clock its kernels are not told.
        let pair = device.clock_pair().ok();
        *self.teller.pair.lock().unwrap_or_else(PoisonError::into_inner) = pair;
    }
}
