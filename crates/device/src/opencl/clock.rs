//! When kernels ran, and the device's clock beside the host's.

use super::OpenCl;
use crate::clock::{ClockPair, KernelTimes, Observed};
use crate::error::DeviceError;
use cl3::command_queue as queue;
use cl3::error_codes::cl_int;
use cl3::event;
use cl3::types::{cl_command_queue, cl_event};
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// How the clock of a device is read.
#[derive(Clone, Copy, Debug, Default)]
enum Reading {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// The driver says it (OpenCL 2.1).
    Timer,
    /// The end of a marker in this queue (`cl_command_queue`) is on that clock.
    Marker(usize),
}

/// The clock of one device.
#[derive(Debug, Default)]
pub(super) struct Clock {
    reading: Mutex<Reading>,
}

impl Clock {
    /// A moment on both clocks.
    pub(super) fn pair(&self, device: &OpenCl) -> Result<ClockPair, DeviceError> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*reading, Reading::Unknown) {
            *reading = match timer(device) {
                Ok(_) => Reading::Timer,
                // Older devices, and drivers that have the function but not the clock (PoCL 3.1).
                Err(_) => Reading::Marker(device.queue(DOING)? as usize),
            };
        }
        let read = || match *reading {
            Reading::Marker(queue) => marker(queue as cl_command_queue),
            Reading::Timer | Reading::Unknown => timer(device),
        };
        ClockPair::of(read).map_err(|code| device.failed(DOING, code))
    }

    /// Gives back what was opened. Nobody reads it any more.
    pub(super) fn close(&mut self) {
        let reading = self.reading.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Reading::Marker(queue) = std::mem::take(reading) {
            // SAFETY: opened by `pair`, and all its markers are over.
            let _ = unsafe { queue::release_command_queue(queue as cl_command_queue) };
        }
    }
}

const DOING: &str = "reading the clock of the device";

/// What the driver says: the times of commands are on this clock.
fn timer(device: &OpenCl) -> Result<u64, cl_int> {
    cl3::device::get_device_and_host_timer(device.device()).map(|[device_ns, _host_ns]| device_ns)
}

/// When a marker ended that is put into a queue with nothing else.
fn marker(queue: cl_command_queue) -> Result<u64, cl_int> {
    // SAFETY: no wait list.
    let event = unsafe { queue::enqueue_marker_with_wait_list(queue, 0, ptr::null()) }?;
    let ended = queue::finish(queue).and_then(|()| time(event, event::CL_PROFILING_COMMAND_END));
    // SAFETY: the marker's own event, which nobody else has.
    let _ = unsafe { event::release_event(event) };
    ended
}

fn time(event: cl_event, of: u32) -> Result<u64, cl_int> {
    event::get_event_profiling_info(event, of).map(u64::from)
}

/// Tells when the command of an event ran, when it is over. Takes the event. What cannot be told is
/// not: the command itself is on its way.
pub(super) fn observe(event: cl_event, observed: Observed) {
    let observed = Box::into_raw(Box::new(observed));
    let set = event::set_event_callback(event, event::CL_COMPLETE, on_over, observed.cast());
    if set.is_err() {
        // SAFETY: the callback does not come.
        drop(unsafe { Box::from_raw(observed) });
        release(event);
    }
}

fn release(event: cl_event) {
    // SAFETY: the reference that the command was put with.
    let _ = unsafe { event::release_event(event) };
}

/// Called by the driver, on a thread of its own, when a kernel is over.
extern "C" fn on_over(event: cl_event, status: cl_int, observed: *mut c_void) {
    // SAFETY: made by `observe` for this one call.
    let observed = unsafe { Box::from_raw(observed.cast::<Observed>()) };
    if status == event::CL_COMPLETE
        && let Ok(begin_ns) = time(event, event::CL_PROFILING_COMMAND_START)
        && let Ok(end_ns) = time(event, event::CL_PROFILING_COMMAND_END)
    {
        observed.ran(KernelTimes { begin_ns, end_ns });
    }
    release(event);
}
