//! Memory of the device that other processes can use: an allocation that stands apart from the
//! addresses it is mapped at, and that a descriptor stands for.

use super::context::Context;
use super::failure;
use super::table::Code;
use crate::error::DeviceError;
use cudarc::driver::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationGranularity_flags,
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationProp_st__bindgen_ty_1,
    CUmemAllocationType, CUmemGenericAllocationHandle, CUmemLocation, CUmemLocationType,
};
use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;

/// The only kind of descriptor that Linux has.
const FD: CUmemAllocationHandleType =
    CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// An allocation, and where it is mapped. Nobody may use it when it is dropped.
#[derive(Debug)]
pub(super) struct Slab {
    context: Arc<Context>,
    handle: CUmemGenericAllocationHandle,
    address: u64,
    /// Whole pages of the device; 0 while nothing is reserved.
    bytes: usize,
    is_mapped: bool,
}

fn location(context: &Context) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: context.device }
}

fn properties(context: &Context) -> CUmemAllocationProp {
    CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: FD,
        location: location(context),
        win32HandleMetaData: ptr::null_mut(),
        allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

/// `bytes` in whole pages of the device: both sides count them alike.
fn whole_pages(context: &Context, bytes: u64) -> Result<usize, DeviceError> {
    let (mut page, properties) = (0, properties(context));
    let least = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: a place for a number; the properties live.
    let code =
        unsafe { (context.api.call.cuMemGetAllocationGranularity)(&mut page, &properties, least) };
    context.done("asking for the size of pages", code)?;
    let whole = usize::try_from(bytes.max(1)).ok();
    let whole = whole.and_then(|bytes| bytes.checked_next_multiple_of(page.max(1)));
    whole.ok_or_else(|| context.no_room(bytes))
}

impl Slab {
    /// Takes memory of the device.
    pub(super) fn create(context: &Arc<Context>, bytes: u64) -> Result<Self, DeviceError> {
        let _here = context.enter()?;
        let whole = whole_pages(context, bytes)?;
        let (mut handle, properties) = (0, properties(context));
        // SAFETY: a place for a handle; the properties live; the flags must be 0.
        let code = unsafe { (context.api.call.cuMemCreate)(&mut handle, whole, &properties, 0) };
        context.had("allocating memory to be shared", code, bytes)?;
        Self::mapped(context, handle, whole, true)
    }

    /// Maps memory that a descriptor stands for.
    pub(super) fn import(
        context: &Arc<Context>,
        fd: BorrowedFd<'_>,
        bytes: u64,
        writable: bool,
    ) -> Result<Self, DeviceError> {
        let _here = context.enter()?;
        let whole = whole_pages(context, bytes)?;
        let mut handle = 0;
        // The number itself in the place of a pointer: so the driver wants it.
        let fd = fd.as_raw_fd() as usize as *mut c_void;
        // SAFETY: a place for a handle; the descriptor is open, and the driver checks what it is.
        let code =
            unsafe { (context.api.call.cuMemImportFromShareableHandle)(&mut handle, fd, FD) };
        context.done("importing memory of another process", code)?;
        // That there is as much the driver checks when it is mapped.
        Self::mapped(context, handle, whole, writable)
    }

    /// From here on the handle is given back if anything fails. A context is current.
    fn mapped(
        context: &Arc<Context>,
        handle: CUmemGenericAllocationHandle,
        bytes: usize,
        writable: bool,
    ) -> Result<Self, DeviceError> {
        let context = Arc::clone(context);
        let mut slab = Self { context, handle, address: 0, bytes: 0, is_mapped: false };
        let call = &slab.context.api.call;
        let doing = "mapping memory of the device";
        let mut address = 0;
        // SAFETY: a place for an address; the driver chooses it and its alignment.
        let code = unsafe { (call.cuMemAddressReserve)(&mut address, bytes, 0, 0, 0) };
        slab.context.had(doing, code, bytes as u64)?;
        (slab.address, slab.bytes) = (address, bytes);
        // SAFETY: reserved above, and the handle is this value's.
        let code = unsafe { (call.cuMemMap)(address, bytes, 0, handle, 0) };
        slab.context.done(doing, code)?;
        slab.is_mapped = true;
        slab.allow(writable)?;
        Ok(slab)
    }

    fn allow(&self, writable: bool) -> Result<(), DeviceError> {
        let set = |flags: CUmemAccess_flags| {
            let access = CUmemAccessDesc { location: location(&self.context), flags };
            // SAFETY: mapped; one descriptor, which lives.
            unsafe { (self.context.api.call.cuMemSetAccess)(self.address, self.bytes, &access, 1) }
        };
        let mut code = Code::SUCCESS;
        if !writable {
            code = set(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ);
        }
        // Some drivers map memory of the device to be written or not at all. `device.rs` refuses
        // launches that write it in any case.
        if writable || matches!(code, failure::NOT_SUPPORTED | failure::INVALID_VALUE) {
            code = set(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        }
        self.context.done("mapping memory of the device", code)
    }

    /// Where the device has it.
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// A descriptor for other processes.
    pub(super) fn export(&self) -> Result<OwnedFd, DeviceError> {
        let doing = "exporting memory of the device";
        let _here = self.context.enter()?;
        let mut number: c_int = -1;
        let place = ptr::from_mut(&mut number).cast();
        // SAFETY: a place for a descriptor, a C int for this kind; the handle is this
        // value's.
        let code = unsafe {
            (self.context.api.call.cuMemExportToShareableHandle)(place, self.handle, FD, 0)
        };
        self.context.done(doing, code)?;
        if number < 0 {
            return Err(self.context.refused(doing, "the driver gave no descriptor"));
        }
        // SAFETY: the driver has opened it for the caller.
        let fd = unsafe { OwnedFd::from_raw_fd(number as RawFd) };
        // A duplicate is closed in programs that this process starts, whatever the driver's is.
        fd.try_clone().map_err(|error| self.context.refused(doing, error.to_string()))
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        let Ok(_here) = self.context.enter() else { return };
        let call = &self.context.api.call;
        if self.is_mapped {
            // SAFETY: mapped by this value, used by nobody any more.
            let _ = unsafe { (call.cuMemUnmap)(self.address, self.bytes) };
        }
        if self.bytes > 0 {
            // SAFETY: reserved by this value, with nothing mapped there any more.
            let _ = unsafe { (call.cuMemAddressFree)(self.address, self.bytes) };
        }
        // SAFETY: this value's handle; the memory stays as long as others have it.
        let _ = unsafe { (call.cuMemRelease)(self.handle) };
    }
}
