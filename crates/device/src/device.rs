//! Devices, streams, memory and kernels as the rest of the system has them: handles that give
//! themselves back, and the checks that hold for every driver.

use crate::capability::{Capabilities, DeviceInfo};
use crate::clock::{ClockPair, KernelObserver, Observed};
use crate::driver::{Access, Driver, Ending, Raw, RawSpan};
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use crate::trial;
use crossdock_shm::timeline::FencePoint;
use crossdock_shm::{Region, Sharing};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

/// A device of this machine. Cheap to clone; `Send + Sync`. All that is opened through one
/// process's handles of a device shares one context of its driver.
#[derive(Clone, Debug)]
pub struct Device {
    core: Arc<Core>,
}

/// What the handles of one device share.
#[derive(Debug)]
pub(crate) struct Core {
    driver: Box<dyn Driver>,
    capabilities: OnceLock<Capabilities>,
}

impl Core {
    pub(crate) fn new(driver: Box<dyn Driver>) -> Self {
        Self { driver, capabilities: OnceLock::new() }
    }
}

impl Device {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    pub(crate) fn driver(&self) -> &dyn Driver {
        &*self.core.driver
    }

    /// Who it is.
    pub fn info(&self) -> &DeviceInfo {
        self.driver().info()
    }

    /// What it can do. The first call of a process tries it: that blocks and may take a second.
    ///
    /// # Errors
    /// [`DeviceError`]: the device cannot even be tried.
    pub fn capabilities(&self) -> Result<Capabilities, DeviceError> {
        if let Some(known) = self.core.capabilities.get() {
            return Ok(*known);
        }
        let tried = trial::capabilities(self)?;
        Ok(*self.core.capabilities.get_or_init(|| tried))
    }

    /// One moment on the clocks of the host and of the device. Blocks until the device has
    /// answered: microseconds, more if it has other work. Clocks drift apart, so ask again to
    /// compare times for long.
    ///
    /// # Errors
    /// [`DeviceError::Driver`]: it cannot be read.
    pub fn clock_pair(&self) -> Result<ClockPair, DeviceError> {
        self.driver().clock_pair()
    }

    /// A stream: work that is put there runs in order. Blocks while the driver makes it.
    ///
    /// # Errors
    /// [`DeviceError::Driver`].
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Ok(Stream { raw: self.driver().open_stream()?, device: self.clone(), observer: None })
    }

    /// Memory of the device, of undefined content.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], [`DeviceError::Driver`].
    pub fn allocate(&self, bytes: u64) -> Result<Memory, DeviceError> {
        let raw = self.driver().allocate(bytes)?;
        Ok(self.memory(raw, bytes, What::Own))
    }

    /// Memory of the device, of undefined content, that other processes can use, too: they
    /// [`import`](Device::import) what [`Memory::export`] gives out. Takes whole pages of the
    /// device (2 MiB mostly): few large pieces, not one per message. Blocks, makes system calls.
    ///
    /// # Errors
    /// [`DeviceError::CannotShare`] without [`Capabilities::exports_memory`]; as
    /// [`Device::allocate`].
    pub fn allocate_shared(&self, bytes: u64) -> Result<Memory, DeviceError> {
        self.can_share()?;
        let raw = self.driver().allocate_shared(bytes)?;
        Ok(self.memory(raw, bytes, What::Shared { writable: true }))
    }

    /// The first `bytes` bytes of the memory that another process, or this one, has
    /// [exported](Memory::export) on the same device. Kernels here write it only if it is
    /// [`Sharing::Open`]. Once per process, not per message: blocks, makes system calls. It lives
    /// until all its users have dropped it, even if its maker is gone; the descriptor may be closed
    /// at once.
    ///
    /// Memory: a kernel here sees what another process's kernel has written when a [`FencePoint`]
    /// that stands for that work was reached before the launch.
    ///
    /// # Errors
    /// [`DeviceError::CannotShare`] without [`Capabilities::exports_memory`];
    /// [`DeviceError::Driver`]: it is no such descriptor, of another device, or of less memory.
    pub fn import(
        &self,
        fd: BorrowedFd<'_>,
        bytes: u64,
        sharing: Sharing,
    ) -> Result<Memory, DeviceError> {
        self.can_share()?;
        let writable = sharing == Sharing::Open;
        let raw = self.driver().import(fd, bytes, writable)?;
        Ok(self.memory(raw, bytes, What::Shared { writable }))
    }

    fn memory(&self, raw: Raw, bytes: u64, what: What) -> Memory {
        Memory { raw, device: self.clone(), bytes, what }
    }

    fn can_share(&self) -> Result<(), DeviceError> {
        match self.driver().claims().exports_memory {
            true => Ok(()),
            false => Err(DeviceError::CannotShare { device: self.info().name.clone() }),
        }
    }

    /// Memory that the driver moves itself, of undefined content: kernels have it as any other, and
    /// the host at [`Memory::host`], to be [acquired](Stream::acquire) and
    /// [released](Stream::release) as registered memory is. Where the device has memory of its own,
    /// its pages go where they are used; where it shares the host's, they stay. Of this process
    /// only: messages cannot lie there. Blocks, makes system calls.
    ///
    /// # Errors
    /// [`DeviceError::NotManaged`] without [`Capabilities::managed`]; as [`Device::allocate`].
    pub fn allocate_managed(&self, bytes: u64) -> Result<Memory, DeviceError> {
        let tried = self.core.capabilities.get().is_none_or(|tried| tried.managed);
        if !self.driver().claims().managed || !tried {
            return Err(DeviceError::NotManaged { device: self.info().name.clone() });
        }
        let (raw, host) = self.driver().allocate_managed(bytes)?;
        Ok(self.memory(raw, bytes, What::Managed(host)))
    }

    /// Memory of the device that holds these bytes: a table of a kernel. Blocks until they are
    /// there.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    pub fn upload(&self, bytes: &[u8]) -> Result<Memory, DeviceError> {
        let memory = self.allocate(bytes.len().max(1) as u64)?;
        if !bytes.is_empty() {
            // SAFETY: nobody else has this memory yet.
            unsafe { self.stream()?.write(bytes, memory.whole()) }?;
        }
        Ok(memory)
    }

    /// Memory of the host for kernels to use: in place if [`Capabilities::host_memory`]. Registered
    /// once, not per message. The region stays mapped as long as this lives.
    ///
    /// # Errors
    /// [`DeviceError::ReadOnlyMapping`] without [`Capabilities::read_only_host_memory`];
    /// [`DeviceError::Overlap`]: try again later; [`DeviceError::Driver`]: the driver refuses it.
    pub fn register(&self, region: &Region) -> Result<Memory, DeviceError> {
        // SAFETY: the memory keeps the region until it is freed.
        let raw = unsafe { self.driver().register(region) }?;
        let bytes = region.bytes() as u64;
        Ok(self.memory(raw, bytes, What::Host(region.clone())))
    }

    /// Compiles kernels. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError::Compile`] with the compiler's words.
    pub fn load(&self, source: &KernelSource<'_>) -> Result<Kernels, DeviceError> {
        let raw = self.driver().load(source)?;
        Ok(Kernels { raw, device: self.clone(), label: source.label.to_owned() })
    }

    /// Launches kernels once, on memory of its own, and waits for them: some drivers compile a
    /// kernel for good at its first launch, which may take a second that no message should wait
    /// for. `launch` gets memory of so many bytes to read and to write, of undefined content.
    /// Blocks.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn rehearse(
        &self,
        (read_bytes, written_bytes): (u64, u64),
        launch: impl FnOnce(&mut Stream, Span<'_>, Span<'_>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let (from, to) = (self.allocate(read_bytes)?, self.allocate(written_bytes)?);
        let mut stream = self.stream()?;
        launch(&mut stream, from.whole(), to.whole())?;
        stream.finish()
    }

    fn same(&self, other: &Device, what: &'static str) -> Result<(), DeviceError> {
        if Arc::ptr_eq(&self.core, &other.core) {
            return Ok(());
        }
        let (device, other) = (self.info().name.clone(), other.info().name.clone());
        Err(DeviceError::OtherDevice { device, what, other })
    }
}

/// Memory that kernels of one device can use. Freed when dropped; that waits for all work of the
/// device if the memory is the host's or managed.
#[derive(Debug)]
pub struct Memory {
    raw: Raw,
    device: Device,
    bytes: u64,
    what: What,
}

/// Whose memory it is.
#[derive(Debug)]
enum What {
    /// The device's.
    Own,
    /// The device's, and other processes can use it, too.
    Shared { writable: bool },
    /// The host's.
    Host(Region),
    /// The driver moves it; the host has it here.
    Managed(usize),
}

impl Memory {
    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The memory of the host that it is; `None`: it is the device's own, or managed.
    pub fn region(&self) -> Option<&Region> {
        match &self.what {
            What::Host(region) => Some(region),
            What::Own | What::Shared { .. } | What::Managed(_) => None,
        }
    }

    /// Where the host has memory of [`Device::allocate_managed`], as long as this lives; `None` for
    /// any other. Never null, aligned to 16 bytes.
    ///
    /// Memory: the host reads and writes it only between [`Stream::acquire`] and
    /// [`Stream::release`]; outside, an access may be a fault on some devices and finds old data on
    /// others. With [`Capabilities::managed_concurrent`] it may at any time use what no work of the
    /// device that is under way uses; it sees what a kernel has written when that is over (a
    /// [`FencePoint`] that was reached, [`Stream::finish`]), and kernels see what it wrote before
    /// their launch.
    pub fn host(&self) -> Option<*mut [u8]> {
        let What::Managed(start) = self.what else { return None };
        Some(std::ptr::slice_from_raw_parts_mut(start as *mut u8, self.bytes as usize))
    }

    /// The host has an address for it.
    fn is_of_host(&self) -> bool {
        matches!(self.what, What::Host(_) | What::Managed(_))
    }

    fn is_writable(&self) -> bool {
        match &self.what {
            What::Own | What::Managed(_) => true,
            What::Shared { writable } => *writable,
            What::Host(region) => region.is_writable(),
        }
    }

    /// A range of it.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`].
    pub fn span(&self, offset: u64, bytes: u64) -> Result<Span<'_>, DeviceError> {
        if offset.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            let (device, memory_bytes) = (self.device.info().name.clone(), self.bytes);
            return Err(DeviceError::OutOfRange { device, offset, bytes, memory_bytes });
        }
        Ok(Span { memory: self, offset, bytes })
    }

    /// A descriptor of it for other processes, which [`Device::import`] takes; they must be told
    /// its length. Makes system calls.
    ///
    /// # Errors
    /// [`DeviceError::NotShared`] if [`Device::allocate_shared`] has not made it;
    /// [`DeviceError::Driver`].
    pub fn export(&self) -> Result<OwnedFd, DeviceError> {
        if !matches!(self.what, What::Shared { .. }) {
            return Err(DeviceError::NotShared { device: self.device.info().name.clone() });
        }
        // SAFETY: this driver's, alive.
        unsafe { self.device.driver().export(self.raw) }
    }

    /// All of it.
    pub fn whole(&self) -> Span<'_> {
        Span { memory: self, offset: 0, bytes: self.bytes }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this driver's, and used by nobody any more: spans borrow this.
        unsafe { self.device.driver().free(self.raw, self.is_of_host()) }
    }
}

/// A range of a [`Memory`].
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    memory: &'a Memory,
    offset: u64,
    bytes: u64,
}

impl<'a> Span<'a> {
    /// Its length.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Where it lies in its memory.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// Its memory.
    pub fn memory(self) -> &'a Memory {
        self.memory
    }

    /// The first `bytes` bytes of it.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: it is shorter.
    pub fn first(self, bytes: u64) -> Result<Self, DeviceError> {
        if bytes <= self.bytes {
            return Ok(Span { bytes, ..self });
        }
        let device = self.memory.device.info().name.clone();
        let (offset, memory_bytes) = (self.offset, self.bytes);
        Err(DeviceError::OutOfRange { device, offset, bytes, memory_bytes })
    }

    pub(crate) fn raw(self) -> RawSpan {
        RawSpan { memory: self.memory.raw, offset: self.offset, bytes: self.bytes }
    }

    fn writable(self) -> Result<Self, DeviceError> {
        match self.memory.is_writable() {
            true => Ok(self),
            false => Err(DeviceError::ReadOnly { device: self.memory.device.info().name.clone() }),
        }
    }
}

/// Compiled kernels.
#[derive(Debug)]
pub struct Kernels {
    raw: Raw,
    device: Device,
    label: String,
}

impl Kernels {
    /// One of them.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`].
    pub fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        // SAFETY: this driver's program, alive.
        let raw = unsafe { self.device.driver().kernel(self.raw, &self.label, name) }?;
        Ok(Kernel { raw, device: self.device.clone(), name: name.into() })
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        // SAFETY: this driver's; kernels that were taken from it keep it themselves.
        unsafe { self.device.driver().unload(self.raw) }
    }
}

/// One kernel, ready to be launched. One thread at a time launches it.
#[derive(Debug)]
pub struct Kernel {
    raw: Raw,
    device: Device,
    name: Arc<str>,
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // SAFETY: this driver's; launched work keeps what it needs.
        unsafe { self.device.driver().drop_kernel(self.raw) }
    }
}

/// A queue of one device: what is put there runs in order. `Send`; dropping it waits for its work.
#[derive(Debug)]
pub struct Stream {
    raw: Raw,
    device: Device,
    observer: Option<Arc<dyn KernelObserver>>,
}

impl Stream {
    /// Its device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Has kernels that are launched from now on observed, or no longer. While none is, a launch
    /// takes one branch for it; while one is, it allocates.
    pub fn observe(&mut self, observer: Option<Arc<dyn KernelObserver>>) {
        self.observer = observer;
    }

    /// Runs a kernel after what stands in the stream. Returns at once; does not block.
    ///
    /// Memory: the kernel sees what work before it in this stream has written, what the host has
    /// released ([`Stream::release`]), and what a [`FencePoint`] stands for that was reached before
    /// this call.
    ///
    /// # Errors
    /// [`DeviceError::OtherDevice`], [`DeviceError::ReadOnly`], [`DeviceError::Driver`].
    ///
    /// # Safety
    /// The arguments fit the kernel in number, order and type, and it keeps to its spans.
    /// Until the launch is over nobody touches what it writes, nor writes what it reads, and the
    /// memory lives.
    pub unsafe fn launch(
        &mut self,
        kernel: &mut Kernel,
        grid: Grid,
        arguments: &[Argument<'_>],
    ) -> Result<(), DeviceError> {
        self.device.same(&kernel.device, "kernel")?;
        for argument in arguments {
            match argument {
                Argument::In(span) => self.device.same(&span.memory.device, "memory")?,
                Argument::Out(span) => {
                    self.device.same(&span.memory.device, "memory")?;
                    span.writable()?;
                }
                Argument::U32(_) | Argument::I32(_) | Argument::F32(_) | Argument::U64(_) => {}
            }
        }
        let observed = self.observer.as_ref().map(|it| Observed::new(it, &kernel.name));
        // SAFETY: all of this driver, alive; the rest is the caller's promise.
        unsafe { self.device.driver().launch(self.raw, kernel.raw, grid, arguments, observed) }
    }

    /// Copies between two spans of one length, after what stands in the stream. Returns at once.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`] if `to` is shorter; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the copy is over nobody touches `to`, nor writes `from`, and both live.
    pub unsafe fn copy(&mut self, from: Span<'_>, to: Span<'_>) -> Result<(), DeviceError> {
        self.device.same(&from.memory.device, "memory")?;
        self.device.same(&to.memory.device, "memory")?;
        let to = to.writable()?.memory.span(to.offset, from.bytes)?;
        // SAFETY: of this driver, alive, inside; the rest is the caller's promise.
        unsafe { self.device.driver().copy(self.raw, from.raw(), to.raw()) }
    }

    /// Copies from the host into memory of the device, after what stands in the stream. Blocks
    /// until it is done.
    ///
    /// # Errors
    /// As [`Stream::copy`].
    ///
    /// # Safety
    /// Nobody else touches `to` meanwhile.
    pub unsafe fn write(&mut self, bytes: &[u8], to: Span<'_>) -> Result<(), DeviceError> {
        self.device.same(&to.memory.device, "memory")?;
        let to = to.writable()?.memory.span(to.offset, bytes.len() as u64)?;
        // SAFETY: of this driver, alive, inside.
        unsafe { self.device.driver().write(self.raw, to.raw(), bytes) }
    }

    /// Copies from memory of the device to the host, after what stands in the stream. Blocks until
    /// it is done.
    ///
    /// # Errors
    /// As [`Stream::copy`].
    pub fn read(&mut self, from: Span<'_>, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.device.same(&from.memory.device, "memory")?;
        let from = from.memory.span(from.offset, bytes.len() as u64)?;
        // SAFETY: of this driver, alive, inside; who writes it has promised that nobody else does.
        unsafe { self.device.driver().read(self.raw, from.raw(), bytes) }
    }

    /// Waits for the stream's work and makes registered memory of the host, or managed memory, the
    /// host's to use, until [`Stream::release`]. Blocks. Costs nothing more than the wait where the
    /// device is coherent. Without [`Capabilities::managed_concurrent`] all of a managed memory
    /// becomes the host's, and no work under way may use any of it.
    ///
    /// # Errors
    /// [`DeviceError::NotOfHost`]; as [`Stream::copy`].
    pub fn acquire(&mut self, span: Span<'_>, how: Access) -> Result<(), DeviceError> {
        let span = self.of_host(span)?;
        // SAFETY: of this driver, alive, inside.
        unsafe { self.device.driver().acquire(self.raw, span.raw(), how) }
    }

    fn of_host<'a>(&self, span: Span<'a>) -> Result<Span<'a>, DeviceError> {
        self.device.same(&span.memory.device, "memory")?;
        match span.memory.is_of_host() {
            true => Ok(span),
            false => Err(DeviceError::NotOfHost { device: self.device.info().name.clone() }),
        }
    }

    /// Makes what was acquired the device's again, for what comes after in this stream. What the
    /// host was to write must be written. `how` is as at the acquiring.
    ///
    /// # Errors
    /// As [`Stream::copy`].
    pub fn release(&mut self, span: Span<'_>, how: Access) -> Result<(), DeviceError> {
        let span = self.of_host(span)?;
        // SAFETY: of this driver, alive, inside.
        unsafe { self.device.driver().release(self.raw, span.raw(), how) }
    }

    /// Moves the timeline of `point` on when all that stands in the stream is done; poisons it if
    /// that fails. Returns at once.
    ///
    /// # Errors
    /// [`DeviceError::Driver`]; the timeline is then poisoned.
    pub fn signal(&mut self, point: &FencePoint) -> Result<(), DeviceError> {
        self.signal_keeping(point, ())
    }

    /// As [`Stream::signal`], and keeps what that work uses until it is over: then `kept` is
    /// dropped, on a thread of the driver's. Allocates.
    ///
    /// # Errors
    /// As [`Stream::signal`]; `kept` is dropped then, so that the caller waits for the stream first
    /// if that matters ([`Stream::finish`]).
    pub fn signal_keeping(
        &mut self,
        point: &FencePoint,
        kept: impl Send + 'static,
    ) -> Result<(), DeviceError> {
        let ending = Ending::new(point.clone(), Box::new(kept));
        // SAFETY: this driver's stream, alive.
        unsafe { self.device.driver().signal(self.raw, ending) }
    }

    /// Lets what is put into the stream from now on run when `point` is reached; the thread goes
    /// on. To be called only when the work that reaches the point has been put into a stream, or
    /// its host is on the way: the driver may wait for all of the device in other calls. Where a
    /// stream of this device in this process [signals](Stream::signal) the point, every driver
    /// orders the two streams.
    ///
    /// A poisoned timeline lets the stream go on, too: a user of the results looks at the point
    /// again ([`FencePoint::is_reached`]).
    ///
    /// # Errors
    /// [`DeviceError::CannotWait`] for a point that no stream of this device in this process
    /// signals, without [`Capabilities::waits_for_timelines`] or if the device cannot see the
    /// timeline: wait for the point on the host then. [`DeviceError::Driver`].
    pub fn wait(&mut self, point: &FencePoint) -> Result<(), DeviceError> {
        if point.is_reached() == Ok(true) {
            return Ok(());
        }
        let tried = self.device.core.capabilities.get().is_none_or(|can| can.waits_for_timelines);
        let by_word = tried && self.device.driver().claims().waits_for_timelines;
        // SAFETY: this driver's stream, alive.
        unsafe { self.device.driver().wait(self.raw, point, by_word) }
    }

    /// Waits for all work of the stream. Blocks.
    ///
    /// # Errors
    /// [`DeviceError::Driver`]: some of it failed.
    pub fn finish(&mut self) -> Result<(), DeviceError> {
        // SAFETY: this driver's stream, alive.
        unsafe { self.device.driver().finish(self.raw) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: this driver's stream, used by nobody any more.
        unsafe { self.device.driver().close_stream(self.raw) }
    }
}
