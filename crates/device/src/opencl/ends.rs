//! Ends of work that are to come: how they are told, and how another stream of the device waits for
//! one.

use crate::driver::Ending;
use cl3::error_codes::cl_int;
use cl3::event;
use cl3::types::cl_event;
use crossdock_shm::timeline::FencePoint;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One that is to come.
#[derive(Debug)]
struct End {
    /// Of the timeline's word, which tells timelines apart.
    address: usize,
    value: u64,
    event: Arc<Event>,
}

/// A reference to a `cl_event`, given back when it is dropped: never under the lock of [`Ends`],
/// because drivers may call back with locks of their own.
#[derive(Debug)]
pub(super) struct Event(usize);

impl Event {
    pub(super) fn raw(&self) -> cl_event {
        self.0 as cl_event
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: this has the reference, and nobody uses it any more.
        let _ = unsafe { event::release_event(self.raw()) };
    }
}

/// The ends of one device.
#[derive(Debug, Default)]
pub(super) struct Ends(Mutex<Vec<End>>);

/// What the driver hands back when work is over.
struct Told {
    ending: Ending,
    ends: Arc<Ends>,
    event: Arc<Event>,
}

impl Ends {
    fn ends(&self) -> MutexGuard<'_, Vec<End>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has `ending` told when the command of `event` is over. Takes the event.
    pub(super) fn tell(self: &Arc<Self>, event: cl_event, ending: Ending) -> Result<(), cl_int> {
        let FencePoint { timeline, value } = ending.point();
        let (address, event) = (timeline.value_address(), Arc::new(Event(event as usize)));
        self.ends().push(End { address, value: *value, event: Arc::clone(&event) });
        let told = Told { ending, ends: Arc::clone(self), event: Arc::clone(&event) };
        let told = Box::into_raw(Box::new(told));
        let set = event::set_event_callback(event.raw(), event::CL_COMPLETE, on_end, told.cast());
        set.inspect_err(|_| {
            self.forget(&event);
            // SAFETY: the callback does not come.
            drop(unsafe { Box::from_raw(told) });
        })
    }

    /// The event of the work that is to reach a point; `None`: none is under way.
    pub(super) fn of(&self, point: &FencePoint) -> Option<Arc<Event>> {
        let address = point.timeline.value_address();
        let ends = self.ends();
        let end = ends.iter().find(|end| end.address == address && end.value >= point.value)?;
        Some(Arc::clone(&end.event))
    }

    /// The caller has a reference, too.
    fn forget(&self, event: &Arc<Event>) {
        self.ends().retain(|end| !Arc::ptr_eq(&end.event, event));
    }
}

/// Called by the driver, on a thread of its own, when the work before a marker is over.
extern "C" fn on_end(_: cl_event, status: cl_int, told: *mut c_void) {
    // SAFETY: made by `tell` for this one call.
    let told = unsafe { Box::from_raw(told.cast::<Told>()) };
    let Told { ending, ends, event } = *told;
    match status {
        event::CL_COMPLETE => ending.reached(),
        _ => ending.failed(),
    }
    // Then: a thread that does not find it here finds the point reached.
    ends.forget(&event);
}
