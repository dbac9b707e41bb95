//! Stand-ins for devices that a test machine lacks: another device, behind rules that hold
//! elsewhere.
//!
//! | name | memory of the host |
//! |---|---|
//! | `shadow:` | a copy; only `acquire` and `release` bring it up to date |
//! | `discrete:` | used in place once it is registered, as by NVIDIA's driver (`bus.rs`) |
//! | `discrete-rw:` | the same, but memory that this process may only read is not registered |
//!
//! On `shadow:` a forgotten `acquire` or `release` gives old data.
//!
//! All of them refuse what is undefined elsewhere and goes well here: memory that is acquired twice
//! or released without having been acquired, and work on memory that the host has acquired.
//!
//! What the unsafe blocks rest on: handles belong to the device behind, passed through
//! unchanged.

use crate::bus::{self, Bus};
use crate::capability::{Backend, DeviceInfo};
use crate::clock::{ClockPair, Observed};
use crate::driver::{Access, Claims, Driver, Ending, Raw, RawSpan};
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use crate::pinned::Pinned;
use crossdock_shm::timeline::FencePoint;
use crossdock_shm::{Region, Scratch};
use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Memory of the host is a copy.
    Copies,
    /// Memory of the host is registered with the driver of a GPU on a bus.
    OnBus(Bus),
}

impl Rules {
    /// What stands before the name of the device behind.
    const PREFIXES: [(&'static str, Self); 3] = [
        ("shadow:", Self::Copies),
        ("discrete:", Self::OnBus(Bus { takes_read_only: true })),
        ("discrete-rw:", Self::OnBus(Bus { takes_read_only: false })),
    ];

    /// The rules that a name asks for, and the name of the device behind.
    pub(crate) fn of(name: &str) -> Option<(Self, &str)> {
        Self::PREFIXES.into_iter().find_map(|(prefix, it)| Some((it, name.strip_prefix(prefix)?)))
    }

    fn prefix(self) -> &'static str {
        Self::PREFIXES.into_iter().find(|(_, it)| *it == self).map_or("", |(prefix, _)| prefix)
    }
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Shadow<D> {
    info: DeviceInfo,
    rules: Rules,
    behind: D,
    /// The host's memory behind each registration.
    hosts: Mutex<HashMap<usize, Host>>,
    /// What the host has acquired.
    lent: Mutex<Vec<Lent>>,
}

/// Memory of the host.
#[derive(Debug)]
struct Host {
    region: Region,
    _pinned: Option<Pinned<Bus>>,
}

/// A span that the host has acquired.
#[derive(Clone, Copy, Debug)]
struct Lent {
    span: RawSpan,
    how: Access,
}

impl Lent {
    fn overlaps(&self, span: RawSpan) -> bool {
        let RawSpan { memory, offset, bytes } = self.span;
        memory == span.memory && offset < span.offset + span.bytes && span.offset < offset + bytes
    }

    fn is(&self, span: RawSpan, how: Access) -> bool {
        let key = |span: RawSpan| (span.memory, span.offset, span.bytes);
        key(self.span) == key(span) && self.how == how
    }
}

impl<D: Driver> Shadow<D> {
    pub(crate) fn new(behind: D, rules: Rules) -> Self {
        let identity = format!("{}{}", rules.prefix(), behind.info().identity);
        let info = DeviceInfo { backend: Backend::Shadow, identity, ..behind.info().clone() };
        Self { info, rules, behind, hosts: Mutex::default(), lent: Mutex::default() }
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<usize, Host>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lent(&self) -> MutexGuard<'_, Vec<Lent>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a span of memory lies in the host that is a copy here; none for the device's own
    /// memory.
    fn copied(&self, span: RawSpan) -> Option<(Region, usize)> {
        let hosts = self.hosts();
        let region = hosts.get(&span.memory.0)?.region.clone();
        let start = region.address() + span.offset as usize;
        (self.rules == Rules::Copies).then_some((region, start))
    }

    fn unpaired(&self, what: String) -> DeviceError {
        DeviceError::Unpaired { device: self.info.name.clone(), what }
    }

    /// Refuses work on what the host has acquired: it may read what the host only reads.
    fn may_use(&self, span: RawSpan, writes: bool) -> Result<(), DeviceError> {
        let is_in_use = |lent: &&Lent| lent.overlaps(span) && (writes || lent.how != Access::Read);
        match self.lent().iter().find(is_in_use) {
            None => Ok(()),
            Some(Lent { how, .. }) => {
                let RawSpan { offset, bytes, .. } = span;
                Err(self.unpaired(format!(
                    "the device is given {bytes} bytes from {offset} that the host has acquired ({how:?}) and \
                     not released"
                )))
            }
        }
    }

    fn lend(&self, span: RawSpan, how: Access) -> Result<(), DeviceError> {
        let mut lent = self.lent();
        let both_read = |it: &Lent| how == Access::Read && it.how == Access::Read;
        if lent.iter().any(|it| it.overlaps(span) && !both_read(it)) {
            let RawSpan { offset, bytes, .. } = span;
            return Err(self.unpaired(format!("{bytes} bytes from {offset} are acquired twice")));
        }
        lent.push(Lent { span, how });
        Ok(())
    }

    fn take_back(&self, span: RawSpan, how: Access) -> Result<(), DeviceError> {
        let mut lent = self.lent();
        let Some(place) = lent.iter().position(|it| it.is(span, how)) else {
            let RawSpan { offset, bytes, .. } = span;
            return Err(self.unpaired(format!(
                "{bytes} bytes from {offset} are released ({how:?}) that were not acquired so"
            )));
        };
        lent.swap_remove(place);
        Ok(())
    }

    /// Copies a span to the host, after the work of the stream.
    ///
    /// # Safety
    /// As [`Driver::acquire`].
    unsafe fn bring_up(&self, stream: Raw, span: RawSpan, how: Access) -> Result<(), DeviceError> {
        match (self.copied(span), how) {
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
}

impl<D: Driver> Driver for Shadow<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn claims(&self) -> Claims {
        let behind = self.behind.claims();
        match self.rules {
            Rules::Copies => Claims {
                in_place: false,
                integrated: false,
                managed: true,
                managed_concurrent: false,
                ..behind
            },
            Rules::OnBus(_) => Claims { in_place: true, integrated: false, ..behind },
        }
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
        if self.rules != Rules::Copies {
            return self.behind.allocate_managed(bytes);
        }
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
        let (raw, pinned) = match self.rules {
            Rules::Copies => (self.behind.allocate(region.bytes() as u64)?, None),
            Rules::OnBus(bus) => {
                // SAFETY: `device.rs` keeps the region mapped until the memory is freed, which
                // waits for the device's work.
                let pinned = unsafe { bus::pin(bus, region, &self.info.name) }?;
                // SAFETY: passed through.
                (unsafe { self.behind.register(region) }?, Some(pinned))
            }
        };
        self.hosts().insert(raw.0, Host { region: region.clone(), _pinned: pinned });
        Ok(raw)
    }

    unsafe fn free(&self, memory: Raw, of_host: bool) {
        // First: the number may be another memory's at once.
        let host = self.hosts().remove(&memory.0);
        self.lent().retain(|lent| lent.span.memory != memory);
        // SAFETY: passed through.
        unsafe { self.behind.free(memory, of_host) };
        // Then: no work uses it any more.
        drop(host);
    }

    unsafe fn copy(&self, stream: Raw, from: RawSpan, to: RawSpan) -> Result<(), DeviceError> {
        self.may_use(from, false)?;
        self.may_use(to, true)?;
        // SAFETY: passed through.
        unsafe { self.behind.copy(stream, from, to) }
    }

    unsafe fn write(&self, stream: Raw, to: RawSpan, bytes: &[u8]) -> Result<(), DeviceError> {
        self.may_use(to, true)?;
        // SAFETY: passed through.
        unsafe { self.behind.write(stream, to, bytes) }
    }

    unsafe fn read(&self, stream: Raw, from: RawSpan, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.may_use(from, false)?;
        // SAFETY: passed through.
        unsafe { self.behind.read(stream, from, bytes) }
    }

    unsafe fn acquire(&self, stream: Raw, span: RawSpan, how: Access) -> Result<(), DeviceError> {
        self.lend(span, how)?;
        let acquired = match self.rules {
            // SAFETY: passed through.
            Rules::Copies => unsafe { self.bring_up(stream, span, how) },
            // SAFETY: passed through.
            Rules::OnBus(_) => unsafe { self.behind.acquire(stream, span, how) },
        };
        acquired.inspect_err(|_| _ = self.take_back(span, how))
    }

    unsafe fn release(&self, stream: Raw, span: RawSpan, how: Access) -> Result<(), DeviceError> {
        self.take_back(span, how)?;
        if self.rules != Rules::Copies {
            // SAFETY: passed through.
            return unsafe { self.behind.release(stream, span, how) };
        }
        let (Some((_region, start)), Access::Write | Access::ReadWrite) = (self.copied(span), how)
        else {
            return Ok(());
        };
        // SAFETY: inside the region, kept mapped; the host has released it and writes it no more.
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
        observed: Option<Observed>,
    ) -> Result<(), DeviceError> {
        for argument in arguments {
            match argument {
                Argument::In(span) => self.may_use(span.raw(), false)?,
                Argument::Out(span) => self.may_use(span.raw(), true)?,
                Argument::U32(_) | Argument::I32(_) | Argument::F32(_) | Argument::U64(_) => {}
            }
        }
        // SAFETY: passed through: the memory of the arguments belongs to the device behind.
        unsafe { self.behind.launch(stream, kernel, grid, arguments, observed) }
    }

    fn clock_pair(&self) -> Result<ClockPair, DeviceError> {
        self.behind.clock_pair()
    }

    unsafe fn signal(&self, stream: Raw, ending: Ending) -> Result<(), DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.signal(stream, ending) }
    }

    unsafe fn wait(
        &self,
        stream: Raw,
        point: &FencePoint,
        by_word: bool,
    ) -> Result<(), DeviceError> {
        // SAFETY: passed through.
        unsafe { self.behind.wait(stream, point, by_word) }
    }
}
