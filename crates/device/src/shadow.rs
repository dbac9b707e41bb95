//! The shadow device: another device whose memory of the host is a copy, brought up to date by
//! `acquire` and `release` only. On a device that shares the host's memory a forgotten call goes
//! unnoticed; here it gives old data, on every machine.
//!
//! What the unsafe blocks rest on: handles are those of the device behind, passed through unchanged.

use crate::capability::{Backend, DeviceInfo};
use crate::driver::{Access, Claims, Driver, Ending, Raw, RawSpan};
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use crossdock_shm::timeline::FencePoint;
use crossdock_shm::{Region, Scratch};
use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Shadow<D> {
    info: DeviceInfo,
    behind: D,
    /// The host's memory behind each copy.
    hosts: Mutex<HashMap<usize, Region>>,
}

impl<D: Driver> Shadow<D> {
    pub(crate) fn new(behind: D) -> Self {
        let info = DeviceInfo { backend: Backend::Shadow, ..behind.info().clone() };
        Self { info, behind, hosts: Mutex::default() }
    }

    /// Where a span of registered memory lies in the host; none for the device's own memory.
    fn host(&self, span: RawSpan) -> Option<(Region, usize)> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let region = hosts.get(&span.memory.0)?.clone();
        let start = region.address() + span.offset as usize;
        Some((region, start))
    }
}

impl<D: Driver> Driver for Shadow<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn claims(&self) -> Claims {
        let behind = self.behind.claims();
        Claims { in_place: false, managed: true, managed_concurrent: false, ..behind }
    }

    fn open_stream(&self) -> Result<Raw, DeviceError> {
        self.behind.open_stream()
    }

    unsafe fn close_stream(&self, stream: Raw) {
        // SAFETY: passed through.
        unsafe { self.behind.close_stream(stream) }
    }

    unsafe fn finish(&self, stream: Raw) -> Result<(), DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.finish(stream) }
    }

    fn allocate(&self, bytes: u64) -> Result<Raw, DeviceError> {
        self.behind.allocate(bytes)
    }

    fn allocate_shared(&self, bytes: u64) -> Result<Raw, DeviceError> {
        self.behind.allocate_shared(bytes)
    }

    unsafe fn export(&self, memory: Raw) -> Result<OwnedFd, DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.export(memory) }
    }

    fn import(&self, fd: BorrowedFd<'_>, bytes: u64, writable: bool) -> Result<Raw, DeviceError> {
        self.behind.import(fd, bytes, writable)
    }

    /// A copy on the device, whatever the device behind has: moved by `acquire` and `release` only.
    fn allocate_managed(&self, bytes: u64) -> Result<(Raw, usize), DeviceError> {
        let doing = "making managed memory";
        let mut scratch = Scratch::create("managed", bytes.max(1)).map_err(|error| {
            let (device, why) = (self.info.name.clone(), error.to_string());
            DeviceError::Driver { device, doing, why }
        })?;
        let region = scratch.region_to_write();
        // SAFETY: kept with the copy, until that is freed.
        let copy = unsafe { self.register(&region) }?;
        Ok((copy, region.address()))
    }

    unsafe fn register(&self, region: &Region) -> Result<Raw, DeviceError> {
        let copy = self.behind.allocate(region.bytes() as u64)?;
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.insert(copy.0, region.clone());
        Ok(copy)
    }

    unsafe fn free(&self, memory: Raw, of_host: bool) {
        // First: the number may be another memory's at once.
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).remove(&memory.0);
        // SAFETY: passed through.
        unsafe { self.behind.free(memory, of_host) }
    }

    unsafe fn copy(&self, stream: Raw, from: RawSpan, to: RawSpan) -> Result<(), DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.copy(stream, from, to) }
    }

    unsafe fn write(&self, stream: Raw, to: RawSpan, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.write(stream, to, bytes) }
    }

    unsafe fn read(&self, stream: Raw, from: RawSpan, bytes: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.read(stream, from, bytes) }
    }

    unsafe fn acquire(&self, stream: Raw, span: RawSpan, how: Access) -> Result<(), DeviceError> {
        match (self.host(span), how) {
            (Some((region, start)), Access::Read | Access::ReadWrite) if region.is_writable() => {
                // SAFETY: inside the region (checked by `device.rs`), which this keeps mapped and
                // writable; that nobody else uses it until `release` is what acquiring is for.
                let bytes = unsafe {
                    std::slice::from_raw_parts_mut(start as *mut u8, span.bytes as usize)
                };
                // SAFETY: passed through.
                unsafe { self.behind.read(stream, span, bytes) }
            }
            // Nothing that the device has written is asked for: only its work must be over.
            // SAFETY: passed through.
            _ => unsafe { self.behind.finish(stream) },
        }
    }

    unsafe fn release(&self, stream: Raw, span: RawSpan, how: Access) -> Result<(), DeviceError> {
        let (Some((_region, start)), Access::Write | Access::ReadWrite) = (self.host(span), how)
        else {
            return Ok(());
        };
        // SAFETY: inside the region, kept mapped; whoever releases it writes it no more.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, span.bytes as usize) };
        // SAFETY: passed through.
        unsafe { self.behind.write(stream, span, bytes) }
    }

    fn load(&self, source: &KernelSource<'_>) -> Result<Raw, DeviceError> {
        self.behind.load(source)
    }

    unsafe fn unload(&self, program: Raw) {
        // SAFETY: passed through.
        unsafe { self.behind.unload(program) }
    }

    unsafe fn kernel(&self, program: Raw, label: &str, name: &str) -> Result<Raw, DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.kernel(program, label, name) }
    }

    unsafe fn drop_kernel(&self, kernel: Raw) {
        // SAFETY: passed through.
        unsafe { self.behind.drop_kernel(kernel) }
    }

    unsafe fn launch(
        &self,
        stream: Raw,
        kernel: Raw,
        grid: Grid,
        arguments: &[Argument<'_>],
    ) -> Result<(), DeviceError> {
        // SAFETY: passed through: the memory of the arguments is that of the device behind.
        unsafe { self.behind.launch(stream, kernel, grid, arguments) }
    }

    unsafe fn signal(&self, stream: Raw, ending: Ending) -> Result<(), DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.signal(stream, ending) }
    }

    unsafe fn wait(&self, stream: Raw, point: &FencePoint) -> Result<(), DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.wait(stream, point) }
    }
}
