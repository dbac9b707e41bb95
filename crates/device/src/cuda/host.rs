//! Memory of the host that is registered with the driver, for all CUDA devices of this process:
//! which ranges are is counted in `pinned.rs`.

use super::context::Context;
use super::failure;
use super::table::Code;
use crate::error::DeviceError;
use crate::pinned::{self, Mapped, Pinning, Refused, Registrar, Table};
use cudarc::driver::sys::{
    CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_READ_ONLY,
};
use std::ffi::c_void;
use std::sync::Arc;

/// One for all contexts: the driver refuses an address that any of them has registered.
static TABLE: Table<Arc<Context>> = Table::new();

/// A user of registered memory. `Send + Sync`.
pub(super) type Pinned = pinned::Pinned<Arc<Context>>;

const DOING: &str = "registering memory of the host";

/// Registers a range, or uses what is registered, as [`Table::pin`].
///
/// # Safety
/// The memory stays mapped as long as what this returns lives, and that is dropped only when no
/// work of the device uses it any more.
pub(super) unsafe fn pin(
    context: &Arc<Context>,
    range: (usize, usize),
    mapped: Mapped,
    takes_read_only: bool,
) -> Result<Pinned, Refused<DeviceError>> {
    // SAFETY: as the caller promises.
    unsafe { TABLE.pin(context, range, mapped, takes_read_only) }
}

/// Where the device has an address of a range.
pub(super) fn on_device(
    pinned: &Pinned,
    context: &Context,
    address: usize,
) -> Result<u64, DeviceError> {
    let _here = context.enter()?;
    let mut start = 0;
    let host = pinned.start() as *mut c_void;
    // SAFETY: registered, as long as `pinned` lives; a place for an address.
    let code = unsafe { (context.api.call.cuMemHostGetDevicePointer_v2)(&mut start, host, 0) };
    context.done("asking where memory of the host is", code)?;
    // Asked of the start, which is what was registered; the rest lies behind it.
    Ok(start + (address - pinned.start()) as u64)
}

impl Registrar for Arc<Context> {
    type Error = DeviceError;

    unsafe fn register(
        &self,
        start: usize,
        bytes: usize,
        how: Pinning,
    ) -> Result<(), Refused<DeviceError>> {
        let _here = self.enter().map_err(Refused::Other)?;
        let shared = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
        let flags = match how {
            Pinning::ToWrite => shared,
            Pinning::ToRead => shared | CU_MEMHOSTREGISTER_READ_ONLY,
        };
        // SAFETY: mapped, as the caller promises; the flags are the driver's.
        let code =
            unsafe { (self.api.call.cuMemHostRegister_v2)(start as *mut c_void, bytes, flags) };
        match self.done(DOING, code) {
            Ok(()) => Ok(()),
            Err(error) if code == failure::ALREADY_REGISTERED => Err(Refused::Overlap(error)),
            Err(error) => Err(Refused::Other(error)),
        }
    }

    unsafe fn unregister(&self, start: usize) {
        if let Ok(_here) = self.enter() {
            // SAFETY: registered by `register`, used by nobody any more.
            let _: Code = unsafe { (self.api.call.cuMemHostUnregister)(start as *mut c_void) };
        }
    }
}
