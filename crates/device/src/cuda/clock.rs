//! The device's clock, by events: the driver tells the time between two of them. So all times are
//! taken from a *base*, an event whose moment is known on the host's clock.
//!
//! That time is a 32-bit number of milliseconds, which after two seconds has steps of 0.1 us and
//! after an hour of 0.2 ms. A long observation takes a new pair now and then, which makes a new
//! base.

use super::context::Context;
use super::failure;
use super::table::Code;
use crate::clock::{ClockPair, KernelTimes};
use crate::error::DeviceError;
use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream, CUstream_flags};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the clock is looked at without sleeping: a stream that has nothing but this event comes
/// to it in microseconds.
const SPIN: Duration = Duration::from_millis(1);

/// An event that the driver notes the time of.
#[derive(Debug)]
pub(super) struct TimedEvent {
    context: Arc<Context>,
    /// `CUevent`.
    raw: usize,
}

impl TimedEvent {
    /// Makes one. Who waits for it sleeps. The context is entered.
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        let mut raw: CUevent = ptr::null_mut();
        let flags = CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        // SAFETY: a place for a handle.
        let code = unsafe { (context.api.call.cuEventCreate)(&mut raw, flags) };
        context.done("making an event", code)?;
        Ok(Self { context: Arc::clone(context), raw: raw as usize })
    }

    pub(super) fn raw(&self) -> CUevent {
        self.raw as CUevent
    }

    /// Puts it into a stream. The context is entered.
    ///
    /// # Safety
    /// The stream is open and of this context.
    pub(super) unsafe fn record(&self, stream: CUstream) -> Result<(), DeviceError> {
        // SAFETY: both of this context, and the event is in no use.
        let code = unsafe { (self.context.api.call.cuEventRecord)(self.raw(), stream) };
        self.context.done("noting the time of the device", code)
    }

    /// From this one to a later one, ns; both are over. The context is entered.
    fn until(&self, later: &Self) -> Result<f64, Code> {
        let mut ms = 0.0;
        let between = self.context.api.call.cuEventElapsedTime;
        // SAFETY: a place for a number; two events of this context.
        let code = unsafe { between(&mut ms, self.raw(), later.raw()) };
        if code == Code::SUCCESS { Ok(f64::from(ms) * 1e6) } else { Err(code) }
    }
}

impl Drop for TimedEvent {
    fn drop(&mut self) {
        if let Ok(_here) = self.context.enter() {
            // SAFETY: made by this value; one that is still recorded goes when it is over.
            let _ = unsafe { (self.context.api.call.cuEventDestroy_v2)(self.raw()) };
        }
    }
}

/// An event and its time on the device's clock, which began with the first base.
#[derive(Debug)]
pub(super) struct Base {
    event: TimedEvent,
    device_ns: f64,
}

impl Base {
    /// When a kernel ran, of the events before and after it, which are over. The context is
    /// entered.
    pub(super) fn times(&self, begin: &TimedEvent, end: &TimedEvent) -> Result<KernelTimes, Code> {
        let at = |event| Ok((self.device_ns + self.event.until(event)?).max(0.0) as u64);
        Ok(KernelTimes { begin_ns: at(begin)?, end_ns: at(end)? })
    }
}

/// The clock of one device.
#[derive(Debug)]
pub(super) struct Clock {
    context: Arc<Context>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// A stream that has nothing but bases; 0: not open yet.
    stream: usize,
    base: Option<Arc<Base>>,
}

impl Clock {
    pub(super) fn new(context: &Arc<Context>) -> Self {
        Self { context: Arc::clone(context), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment on both clocks, which is the base from now on. Blocks for some tens of
    /// microseconds.
    pub(super) fn pair(&self) -> Result<ClockPair, DeviceError> {
        self.renewed(&mut self.state()).map(|(pair, _)| pair)
    }

    /// The newest base; the first one is made if need be.
    pub(super) fn base(&self) -> Result<Arc<Base>, DeviceError> {
        let mut state = self.state();
        match &state.base {
            Some(base) => Ok(Arc::clone(base)),
            None => self.renewed(&mut state).map(|(_, base)| base),
        }
    }

    fn renewed(&self, state: &mut State) -> Result<(ClockPair, Arc<Base>), DeviceError> {
        let (context, call) = (&self.context, &self.context.api.call);
        let doing = "reading the clock of the device";
        let _here = context.enter()?;
        if state.stream == 0 {
            let mut raw: CUstream = ptr::null_mut();
            let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            // SAFETY: a place for a handle.
            let code = unsafe { (call.cuStreamCreate)(&mut raw, flags) };
            context.done(doing, code)?;
            state.stream = raw as usize;
        }
        let origin = match &state.base {
            Some(base) => Arc::clone(base),
            None => Arc::new(self.event(state.stream).map(|event| Base { event, device_ns: 0.0 })?),
        };
        let mut bases = Vec::new();
        let pair = ClockPair::of(|| {
            let event = self.event(state.stream)?;
            let since = origin
                .event
                .until(&event)
                .map_err(|code| context.refused(doing, context.api.words(code)))?;
            let device_ns = origin.device_ns + since;
            bases.push(Base { event, device_ns });
            Ok(device_ns as u64)
        })?;
        let chosen = bases.into_iter().find(|base| base.device_ns as u64 == pair.device_ns);
        let base = chosen.map_or(origin, Arc::new);
        state.base = Some(Arc::clone(&base));
        Ok((pair, base))
    }

    /// An event that was put into the stream and is over.
    fn event(&self, stream: usize) -> Result<TimedEvent, DeviceError> {
        let event = TimedEvent::new(&self.context)?;
        // SAFETY: opened by this clock, closed when it is dropped.
        unsafe { event.record(stream as CUstream) }?;
        let call = &self.context.api.call;
        let started = Instant::now();
        // To be told by an interrupt would cost more than what is read, and be in the uncertainty
        // of the pair.
        let code = loop {
            // SAFETY: recorded, alive.
            let code = unsafe { (call.cuEventQuery)(event.raw()) };
            if code != failure::NOT_READY {
                break code;
            }
            if started.elapsed() > SPIN {
                // SAFETY: as above.
                break unsafe { (call.cuEventSynchronize)(event.raw()) };
            }
            std::hint::spin_loop();
        };
        self.context.done("reading the clock of the device", code)?;
        Ok(event)
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        let stream = self.state().stream;
        if let (true, Ok(_here)) = (stream != 0, self.context.enter()) {
            // SAFETY: opened by this value, its work over, and nobody else has it.
            let _ = unsafe { (self.context.api.call.cuStreamDestroy_v2)(stream as CUstream) };
        }
    }
}
