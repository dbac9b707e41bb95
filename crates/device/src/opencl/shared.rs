//! Memory for other processes on a device that is a processor: it has no memory but the host's, so
//! that a memory object is the device's memory wherever it is mapped.
//!
//! The mapping must live as long as the driver uses the buffer, which is longer than the handle
//! does where work is under way ((4) in `mod.rs`): the driver itself gives it back when it is done
//! with the buffer. Nothing waits for that.

use super::{ClMemory, Host, OpenCl};
use crate::driver::Raw;
use crate::error::DeviceError;
use cl3::memory::{CL_MEM_READ_ONLY, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR};
use cl3::types::cl_mem;
use crossdock_shm::{Region, Scratch, Sharing};
use std::ffi::c_void;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A descriptor of the memory object, for further processes.
pub(super) type Shared = OwnedFd;

/// What the driver gives back when it is done with a buffer.
struct Kept {
    _region: Region,
}

pub(super) fn allocate(device: &OpenCl, bytes: u64) -> Result<Raw, DeviceError> {
    if bytes > device.info.allocation_max_bytes {
        return Err(device.no_room(bytes));
    }
    let doing = "allocating memory to be shared";
    let mut memory = Scratch::create_open("device-memory", bytes.max(1))
        .map_err(|error| refused(device, doing, &error))?;
    let fd = memory.fd().try_clone_to_owned().map_err(|error| refused(device, doing, &error))?;
    made(device, memory.region_to_write(), bytes, fd)
}

pub(super) fn export(device: &OpenCl, memory: &ClMemory) -> Result<OwnedFd, DeviceError> {
    let doing = "exporting memory of the device";
    match &memory.shared {
        Some(fd) => fd.try_clone().map_err(|error| refused(device, doing, &error)),
        None => Err(DeviceError::NotShared { device: device.info.name.clone() }),
    }
}

pub(super) fn import(
    device: &OpenCl,
    fd: BorrowedFd<'_>,
    bytes: u64,
    writable: bool,
) -> Result<Raw, DeviceError> {
    let doing = "importing memory of another process";
    let sharing = if writable { Sharing::Open } else { Sharing::Shown };
    let region = Region::open("device-memory", fd, bytes.max(1), sharing)
        .map_err(|error| refused(device, doing, &error))?;
    let fd = fd.try_clone_to_owned().map_err(|error| refused(device, doing, &error))?;
    made(device, region, bytes, fd)
}

fn made(device: &OpenCl, region: Region, bytes: u64, fd: Shared) -> Result<Raw, DeviceError> {
    let access = if region.is_writable() { CL_MEM_READ_WRITE } else { CL_MEM_READ_ONLY };
    let at = region.address();
    let raw = device.buffer(bytes, access | CL_MEM_USE_HOST_PTR, Host::Registered(at))?;
    // SAFETY: made by `buffer`, and handed out to nobody yet.
    let memory = unsafe { &mut *(raw.0 as *mut ClMemory) };
    memory.shared = Some(fd);
    let kept = Box::into_raw(Box::new(Kept { _region: region }));
    // SAFETY: the buffer lives; what is passed belongs to the driver until it calls `on_gone`.
    let set = unsafe {
        cl3::memory::set_mem_object_destructor_callback(memory.buffer, on_gone, kept.cast())
    };
    let Err(code) = set else { return Ok(raw) };
    // SAFETY: made above and used by no work; the callback does not come.
    let memory = unsafe { Box::from_raw(raw.0 as *mut ClMemory) };
    // SAFETY: as above.
    let _ = unsafe { cl3::memory::release_mem_object(memory.buffer) };
    // SAFETY: as above; the buffer is gone.
    drop(unsafe { Box::from_raw(kept) });
    Err(device.failed("making a buffer", code))
}

/// Called by the driver when it is done with a buffer for good.
extern "C" fn on_gone(_: cl_mem, kept: *mut c_void) {
    // SAFETY: made by `made` for this one call.
    drop(unsafe { Box::from_raw(kept.cast::<Kept>()) });
}

fn refused(device: &OpenCl, doing: &'static str, error: &dyn std::error::Error) -> DeviceError {
    let (device, why) = (device.info.name.clone(), error.to_string());
    DeviceError::Driver { device, doing, why }
}
