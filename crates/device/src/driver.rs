//! What a driver must do for [`Device`](crate::Device): raw handles, no checks of ranges or owners,
//! which `device.rs` makes once for all drivers. A new kind of device is a new implementation of
//! this.

use crate::capability::DeviceInfo;
use crate::clock::{ClockPair, Observed};
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use crossdock_shm::Region;
use crossdock_shm::timeline::FencePoint;
use std::fmt::Debug;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A driver's own name for a stream, a memory, a program or a kernel: an address or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw(pub(crate) usize);

/// What the host will do with memory between acquire and release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read what the device has written.
    Read,
    /// Write all of it for the device to read; what was there may be lost.
    Write,
    /// Read what the device has written, and write what the device shall read; the rest stays.
    ReadWrite,
}

/// What is asked of a driver rather than tried; as in [`Capabilities`](crate::Capabilities).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claims {
    /// Registered memory is the host's own, not a copy, whether or not the host sees at once what
    /// kernels write.
    pub(crate) in_place: bool,
    /// Host and device have one memory.
    pub(crate) integrated: bool,
    pub(crate) alignment_bytes: u32,
    pub(crate) f64: bool,
    pub(crate) waits_for_timelines: bool,
    pub(crate) exports_memory: bool,
    pub(crate) managed: bool,
    pub(crate) managed_concurrent: bool,
}

/// What follows when work is over: on whatever thread its driver tells it. Dropped untold, it has
/// failed.
#[derive(Debug)]
pub(crate) struct Ending {
    point: FencePoint,
    /// What the work uses. It is dropped when the work is over; if the work went well, before its
    /// end is told, so that a listener finds it free.
    kept: Option<Kept>,
    is_told: bool,
}

/// What only has to be there.
struct Kept(#[allow(dead_code, reason = "it is dropped")] Box<dyn Send>);

impl Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Kept")
    }
}

impl Ending {
    pub(crate) fn new(point: FencePoint, kept: Box<dyn Send>) -> Self {
        Self { point, kept: Some(Kept(kept)), is_told: false }
    }

    /// Where it is told.
    pub(crate) fn point(&self) -> &FencePoint {
        &self.point
    }

    /// It is done.
    pub(crate) fn reached(mut self) {
        self.is_told = true;
        self.kept = None;
        self.point.timeline.advance(self.point.value);
    }

    /// It has failed, and so has all that comes after it.
    pub(crate) fn failed(self) {
        drop(self);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.is_told {
            self.point.timeline.poison();
        }
    }
}

/// A range of a memory, inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawSpan {
    pub(crate) memory: Raw,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A device as its driver has it.
///
/// # Safety of the unsafe functions
/// Handles are of this driver and not closed yet; spans lie inside their memories. Memory that a
/// running kernel or copy writes is not touched by anybody else until it is over, and what it reads
/// is not written. Kernels keep to the spans that they are given.
pub(crate) trait Driver: Debug + Send + Sync {
    /// Who it is.
    fn info(&self) -> &DeviceInfo;

    /// What it says that it can do.
    fn claims(&self) -> Claims;

    /// A queue whose work runs in order.
    fn open_stream(&self) -> Result<Raw, DeviceError>;

    /// Waits for its work and gives it back.
    unsafe fn close_stream(&self, stream: Raw);

    /// Waits for all its work.
    unsafe fn finish(&self, stream: Raw) -> Result<(), DeviceError>;

    /// Memory of the device.
    fn allocate(&self, bytes: u64) -> Result<Raw, DeviceError>;

    /// Memory of the device that other processes can import; asked only of who claims it.
    fn allocate_shared(&self, _bytes: u64) -> Result<Raw, DeviceError> {
        Err(DeviceError::CannotShare { device: self.info().name.clone() })
    }

    /// A descriptor of memory that was allocated so, for other processes.
    unsafe fn export(&self, _memory: Raw) -> Result<OwnedFd, DeviceError> {
        Err(DeviceError::CannotShare { device: self.info().name.clone() })
    }

    /// The first `bytes` of the memory behind a descriptor; written by kernels here if `writable`.
    fn import(&self, _: BorrowedFd<'_>, _bytes: u64, _writable: bool) -> Result<Raw, DeviceError> {
        Err(DeviceError::CannotShare { device: self.info().name.clone() })
    }

    /// Memory that the driver moves itself, and its address for the host; asked only of who claims
    /// it.
    fn allocate_managed(&self, _bytes: u64) -> Result<(Raw, usize), DeviceError> {
        Err(DeviceError::NotManaged { device: self.info().name.clone() })
    }

    /// Memory of the host, which stays mapped until [`Driver::free`].
    unsafe fn register(&self, region: &Region) -> Result<Raw, DeviceError>;

    /// Gives memory back; waits for all work of the device where the host has an address for it.
    unsafe fn free(&self, memory: Raw, of_host: bool);

    /// Copies between memories that have the same length, in the stream's order.
    unsafe fn copy(&self, stream: Raw, from: RawSpan, to: RawSpan) -> Result<(), DeviceError>;

    /// Copies from the host; over when it returns.
    unsafe fn write(&self, stream: Raw, to: RawSpan, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies to the host; over when it returns.
    unsafe fn read(&self, stream: Raw, from: RawSpan, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Waits for the stream's work and makes registered or managed memory the host's to look at.
    unsafe fn acquire(&self, stream: Raw, span: RawSpan, how: Access) -> Result<(), DeviceError>;

    /// Makes such memory the device's again, in the stream's order.
    unsafe fn release(&self, stream: Raw, span: RawSpan, how: Access) -> Result<(), DeviceError>;

    /// Compiles kernels.
    fn load(&self, source: &KernelSource<'_>) -> Result<Raw, DeviceError>;

    /// Gives a program back.
    unsafe fn unload(&self, program: Raw);

    /// One kernel of a program.
    unsafe fn kernel(&self, program: Raw, label: &str, name: &str) -> Result<Raw, DeviceError>;

    /// Gives a kernel back.
    unsafe fn drop_kernel(&self, kernel: Raw);

    /// Runs a kernel, in the stream's order; returns at once. `observed` is told when it ran, on
    /// the clock of [`Driver::clock_pair`].
    unsafe fn launch(
        &self,
        stream: Raw,
        kernel: Raw,
        grid: Grid,
        arguments: &[Argument<'_>],
        observed: Option<Observed>,
    ) -> Result<(), DeviceError>;

    /// One moment on the clocks of the host and of the device.
    fn clock_pair(&self) -> Result<ClockPair, DeviceError>;

    /// Has `ending` told ([`Ending::reached`], [`Ending::failed`]) when all work that stands in the
    /// stream is over; drops it if that cannot be had.
    unsafe fn signal(&self, stream: Raw, ending: Ending) -> Result<(), DeviceError>;

    /// Lets what is put into the stream from now on run when `point` is reached or its timeline is
    /// poisoned; returns at once. Where a stream of this device and process is to signal the point,
    /// the driver orders the two streams; else the device waits for the timeline's word, if
    /// `by_word`.
    unsafe fn wait(
        &self,
        stream: Raw,
        point: &FencePoint,
        by_word: bool,
    ) -> Result<(), DeviceError>;
}
