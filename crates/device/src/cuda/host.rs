//! Memory of the host that is registered with the driver, for all CUDA devices of this process.
//!
//! The driver refuses to register an address twice, from whatever context. But two devices may use one
//! topic's memory, a publisher and a subscriber in one process have one mapping of it, and a
//! timeline may lie in memory that is registered anyway. So what is registered is counted here:
//! 1. An entry is a range that this module has registered, portable between contexts, with the number
//!    of its users. A range inside one with an entry uses that.
//! 2. Each user keeps the memory mapped as long as its [`Pinned`] lives, and has made sure that no
//!    work of its device uses it any more when it drops that.
//! 3. The last user takes the entry away and unregisters the range.
//!
//! It must not know what lies in the memory.

use super::context::Context;
use super::failure;
use super::table::Code;
use crate::error::DeviceError;
use cudarc::driver::sys::{
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_READ_ONLY,
};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A range that is registered (1).
#[derive(Debug)]
struct Entry {
    start: usize,
    bytes: usize,
    users: usize,
    /// Where it was registered.
    context: Arc<Context>,
}

static ENTRIES: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn entries() -> MutexGuard<'static, Vec<Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the mapping of a range allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapped {
    /// Reading and writing.
    ReadWrite,
    /// At least reading.
    Read,
}

/// Why a range was not registered.
#[derive(Debug)]
pub(super) enum Refused {
    /// A part of it is registered already, here or by somebody else in this process.
    Overlap(DeviceError),
    Other(DeviceError),
}

/// A user of registered memory (2). `Send + Sync`.
#[derive(Debug)]
pub(super) struct Pinned {
    /// Start of the entry.
    start: usize,
}

impl Pinned {
    /// Registers a range, or uses what is registered. Pins its pages: takes time in proportion, tenths
    /// of a millisecond for each MiB. `read_only` says that the device can have memory that it only
    /// reads.
    ///
    /// # Safety
    /// Rule 2.
    pub(super) unsafe fn new(
        context: &Arc<Context>,
        start: usize,
        bytes: usize,
        mapped: Mapped,
        read_only: bool,
    ) -> Result<Self, Refused> {
        let end = start + bytes;
        let mut entries = entries();
        let mut around = entries.iter_mut();
        if let Some(entry) = around.find(|it| it.start <= start && end <= it.start + it.bytes) {
            entry.users += 1;
            return Ok(Self { start: entry.start });
        }
        let doing = "registering memory of the host";
        let _here = context.enter().map_err(Refused::Other)?;
        let register = |flags: u32| {
            // SAFETY: mapped, as the caller promises; the flags are the driver's.
            unsafe { (context.api.call.cuMemHostRegister_v2)(start as *mut c_void, bytes, flags) }
        };
        let shared = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
        // To be written first, whatever is asked for: the range may be a publisher's own, which it
        // writes elsewhere in this process, and cannot be registered again for that. A mapping that is
        // read-only is refused so, because its pages cannot be pinned for writing.
        let mut code = register(shared);
        let overlaps = code == failure::ALREADY_REGISTERED;
        if code != Code::SUCCESS && !overlaps && mapped == Mapped::Read && read_only {
            code = register(shared | CU_MEMHOSTREGISTER_READ_ONLY);
        }
        match context.done(doing, code) {
            Ok(()) => {}
            Err(error) if overlaps => return Err(Refused::Overlap(error)),
            Err(_) if mapped == Mapped::Read && !read_only => {
                let why = format!(
                    "{}; this device cannot have memory that it only reads: map the topic with copies",
                    context.api.words(code)
                );
                return Err(Refused::Other(context.refused(doing, why)));
            }
            Err(error) => return Err(Refused::Other(error)),
        }
        entries.push(Entry { start, bytes, users: 1, context: Arc::clone(context) });
        Ok(Self { start })
    }

    /// Where the device has an address of the range.
    pub(super) fn on_device(&self, context: &Context, address: usize) -> Result<u64, DeviceError> {
        let _here = context.enter()?;
        let mut start = 0;
        let host = self.start as *mut c_void;
        // SAFETY: registered, as long as this lives; a place for an address.
        let code = unsafe { (context.api.call.cuMemHostGetDevicePointer_v2)(&mut start, host, 0) };
        context.done("asking where memory of the host is", code)?;
        // Asked of the start, which is what was registered; the rest lies behind it.
        Ok(start + (address - self.start) as u64)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let mut entries = entries();
        let Some(place) = entries.iter().position(|entry| entry.start == self.start) else {
            return;
        };
        entries[place].users -= 1;
        if entries[place].users > 0 {
            return;
        }
        let entry = entries.swap_remove(place);
        // Still locked: who registers the range again comes after this.
        if let Ok(_here) = entry.context.enter() {
            let start = entry.start as *mut c_void;
            // SAFETY: registered by this module (1), used by nobody any more (2).
            let _ = unsafe { (entry.context.api.call.cuMemHostUnregister)(start) };
        }
    }
}
