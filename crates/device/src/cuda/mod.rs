//! Devices behind CUDA's driver interface. The driver's library is loaded when devices are asked
//! for; if there is none, there are no devices, and opening one says why.
//!
//! | file | what it is for |
//! |---|---|
//! | `table`, `api` | the library's functions, read when the program runs |
//! | `failure` | what results mean |
//! | `listing` | which devices there are, and their opening |
//! | `mps` | whether processes share a GPU or take turns |
//! | `context` | the context that all of a process shares |
//! | `host` | registered memory |
//! | `words` | timelines as the device sees them |
//! | `slab` | memory for other processes |
//! | `stream` | streams, and how ends come to be known |
//! | `clock` | the device's clock |
//! | `nvrtc`, `architecture` | the compiler, which needs no GPU |
//! | `parameters` | arguments of launches |
//!
//! What the unsafe blocks rest on:
//! 1. A [`Raw`] is the address of a box that this driver has made; it is opened again once, by the
//!    function that `device.rs` calls when the handle is dropped.
//! 2. Ranges were checked against their memory, and belong to this device.
//! 3. The driver's functions may be called from any thread, in whose context they are then: each
//!    function here enters it first.
//! 4. Nothing keeps what a command uses: memory and modules are given back after the device has
//!    finished all its work.

mod api;
mod architecture;
mod clock;
mod context;
mod failure;
mod host;
mod listing;
mod mps;
mod nvrtc;
mod parameters;
mod slab;
mod stream;
mod table;
mod words;

pub use architecture::{Architecture, ParseArchitectureError};
pub(crate) use listing::{PREFIX, list, open};

use crate::capability::DeviceInfo;
use crate::clock::{ClockPair, Observed};
use crate::driver::{Access, Claims, Driver, Ending, Raw, RawSpan};
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use crate::pinned::{Mapped, Refused};
use clock::Clock;
use context::Context;
use crossdock_shm::Region;
use crossdock_shm::timeline::FencePoint;
use cudarc::driver::sys::{CUfunction, CUmodule};
use host::Pinned;
use nvrtc::{Failure, Nvrtc, Output};
use parameters::{PARAMETERS_MAX, Parameters};
use slab::Slab;
use std::ffi::CString;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stream::{Stores, Stream, Streams};
use table::Code;
use words::Words;

/// How long watchers may take to let go of words when the device has ended its work.
const LET_GO: Duration = Duration::from_millis(20);

/// One device.
#[derive(Debug)]
pub(crate) struct Cuda {
    info: DeviceInfo,
    claims: Claims,
    context: Arc<Context>,
    architecture: Architecture,
    /// It can have memory of the host that it only reads.
    read_only: bool,
    words: Words,
    /// How it stores to timelines.
    stores: Stores,
    /// Those that are open.
    streams: Streams,
    clock: Clock,
}

/// Memory that kernels use, and where the device has it.
#[derive(Debug)]
struct Memory {
    address: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The device's own.
    Own,
    /// The device's own, for other processes, too.
    Shared(Slab),
    /// The driver moves it.
    Managed,
    /// The host's.
    Host { _pinned: Pinned },
}

/// A module that is loaded; its kernels keep it.
#[derive(Debug)]
struct Module {
    context: Arc<Context>,
    /// `CUmodule`.
    raw: usize,
}

/// A kernel of it.
#[derive(Debug)]
struct Function {
    /// `CUfunction`.
    raw: usize,
    _module: Arc<Module>,
}

impl Drop for Module {
    fn drop(&mut self) {
        // (4)
        self.context.settle();
        if let Ok(_here) = self.context.enter() {
            // SAFETY: loaded by this driver, and none of its kernels is left.
            let _ = unsafe { (self.context.api.call.cuModuleUnload)(self.raw as CUmodule) };
        }
    }
}

/// What a raw handle stands for.
///
/// # Safety
/// The handle is one of this type, and not given back.
unsafe fn behind<'a, T>(raw: Raw) -> &'a T {
    // SAFETY: as the caller promises (1).
    unsafe { &*(raw.0 as *const T) }
}

fn handle<T>(value: T) -> Raw {
    Raw(Box::into_raw(Box::new(value)) as usize)
}

/// Gives back what a raw handle stands for.
///
/// # Safety
/// As [`behind`], and nobody uses it any more.
unsafe fn taken<T>(raw: Raw) -> Box<T> {
    // SAFETY: as the caller promises (1).
    unsafe { Box::from_raw(raw.0 as *mut T) }
}

/// Where the device has the start of a span.
///
/// # Safety
/// The span is of this driver, and its memory is not given back.
unsafe fn address(span: RawSpan) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { behind::<Memory>(span.memory) }.address + span.offset
}

/// Compiles kernels for an architecture, as [`Device::load`](crate::Device::load) does for that of
/// its device: to see without a GPU whether they compile. The result is the code for the device (a
/// CUBIN). Loads NVRTC the first time: from the folder in the environment variable
/// `CROSSDOCK_NVRTC`, or the one that the system has. Blocks for tens of milliseconds, allocates;
/// any thread.
///
/// # Errors
/// [`DeviceError::Compile`] with the compiler's words, [`DeviceError::Architecture`] if NVRTC does
/// not know it, [`DeviceError::NoCompiler`].
pub fn compile_for_cuda(
    source: &KernelSource<'_>,
    architecture: Architecture,
) -> Result<Vec<u8>, DeviceError> {
    let compiled = Nvrtc::get().and_then(|it| it.compile(source, architecture, Output::Binary));
    compiled.map_err(|failure| not_compiled("CUDA", source, architecture, failure))
}

/// Version of the compiler of this machine, such as 13.0. Loads it.
///
/// # Errors
/// [`DeviceError::NoCompiler`].
pub fn nvrtc_version() -> Result<String, DeviceError> {
    let device = || "CUDA".to_owned();
    match Nvrtc::get() {
        Ok(nvrtc) => Ok(nvrtc.version()),
        Err(Failure::NoCompiler(why) | Failure::Unknown(why) | Failure::Source(why)) => {
            Err(DeviceError::NoCompiler { device: device(), why })
        }
    }
}

fn not_compiled(
    device: &str,
    source: &KernelSource<'_>,
    architecture: Architecture,
    failure: Failure,
) -> DeviceError {
    let (device, label) = (device.to_owned(), source.label.to_owned());
    match failure {
        Failure::NoCompiler(why) => DeviceError::NoCompiler { device, why },
        Failure::Source(log) => DeviceError::Compile { device, label, log },
        Failure::Unknown(why) => {
            DeviceError::Architecture { device, label, architecture: architecture.to_string(), why }
        }
    }
}

impl Cuda {
    fn new(
        info: DeviceInfo,
        claims: Claims,
        context: Arc<Context>,
        architecture: Architecture,
        (read_only, stores): (bool, Stores),
    ) -> Self {
        let (words, streams, clock) = (Words::default(), Streams::default(), Clock::new(&context));
        Self { info, claims, context, architecture, read_only, words, stores, streams, clock }
    }

    fn pinned(&self, region: &Region) -> Result<Pinned, DeviceError> {
        let (start, bytes) = (region.address(), region.bytes());
        let mapped = if region.is_writable() { Mapped::ReadWrite } else { Mapped::Read };
        // SAFETY: `device.rs` keeps the region mapped until the memory is freed, which waits for
        // the device's work.
        let pin = || unsafe { host::pin(&self.context, (start, bytes), mapped, self.read_only) };
        let mut pinned = pin();
        if matches!(pinned, Err(Refused::Overlap(_))) {
            // A timeline lies in it, perhaps: that of its publisher lies before the chunks. Work
            // that uses it comes to its end here; its watcher lets go of the word a moment later.
            self.context.settle();
            let started = Instant::now();
            let range = start..start + bytes;
            // Bounded by the time.
            while !self.words.make_room(&range) && started.elapsed() < LET_GO {
                std::thread::yield_now();
            }
            pinned = pin();
        }
        let device = || self.info.name.clone();
        pinned.map_err(|refused| match refused {
            Refused::Overlap(error) => {
                DeviceError::Overlap { device: device(), why: error.to_string() }
            }
            Refused::ReadOnly(error) if !error.is_lost() => {
                DeviceError::ReadOnlyMapping { device: device(), why: error.to_string() }
            }
            Refused::ReadOnly(error) | Refused::Other(error) => error,
        })
    }
}

/// Who may touch managed memory if the driver has no faults of the device to move it by: then
/// the host may not, while any work of the device is under way, but for what is attached to it.
mod managed {
    use cudarc::driver::sys::CUmemAttach_flags;

    /// Any stream; the host if the device can be interrupted.
    pub(super) const OF_DEVICE: u32 = CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
    /// The host alone.
    pub(super) const OF_HOST: u32 = CUmemAttach_flags::CU_MEM_ATTACH_HOST as u32;
}

impl Cuda {
    /// Gives managed memory to the host or to the device, in the stream's order, if that has to
    /// be said. All of it: the driver knows no parts.
    ///
    /// # Safety
    /// Handles are of this driver and not closed yet.
    unsafe fn attach(&self, stream: Raw, span: RawSpan, to: u32) -> Result<(), DeviceError> {
        // SAFETY: as the caller promises (1).
        let memory = unsafe { behind::<Memory>(span.memory) };
        if !matches!(memory.what, What::Managed) || self.claims.managed_concurrent {
            return Ok(());
        }
        // SAFETY: as the caller promises (1).
        let stream = unsafe { behind::<Stream>(stream) };
        let _here = self.context.enter()?;
        let attach = self.context.api.call.cuStreamAttachMemAsync;
        // SAFETY: the start of managed memory; 0: all of it; a flag of the driver's.
        let code = unsafe { attach(stream.raw(), memory.address, 0, to) };
        self.context.done("giving managed memory over", code)
    }
}

impl Driver for Cuda {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn claims(&self) -> Claims {
        self.claims
    }

    fn open_stream(&self) -> Result<Raw, DeviceError> {
        Stream::open(&self.context, &self.streams).map(handle)
    }

    unsafe fn close_stream(&self, stream: Raw) {
        // SAFETY: (1).
        drop(unsafe { taken::<Stream>(stream) });
    }

    unsafe fn finish(&self, stream: Raw) -> Result<(), DeviceError> {
        // SAFETY: (1).
        unsafe { behind::<Stream>(stream) }.finish()
    }

    fn allocate(&self, bytes: u64) -> Result<Raw, DeviceError> {
        let _here = self.context.enter()?;
        let (mut address, asked) = (0, usize::try_from(bytes.max(1)));
        let asked = asked.map_err(|_| self.context.no_room(bytes))?;
        // SAFETY: a place for an address.
        let code = unsafe { (self.context.api.call.cuMemAlloc_v2)(&mut address, asked) };
        self.context.had("allocating memory", code, bytes)?;
        Ok(handle(Memory { address, what: What::Own }))
    }

    fn allocate_shared(&self, bytes: u64) -> Result<Raw, DeviceError> {
        let slab = Slab::create(&self.context, bytes)?;
        Ok(handle(Memory { address: slab.address(), what: What::Shared(slab) }))
    }

    unsafe fn export(&self, raw: Raw) -> Result<OwnedFd, DeviceError> {
        // SAFETY: (1).
        match &unsafe { behind::<Memory>(raw) }.what {
            What::Shared(slab) => slab.export(),
            What::Own | What::Managed | What::Host { .. } => {
                Err(DeviceError::NotShared { device: self.info.name.clone() })
            }
        }
    }

    fn import(&self, fd: BorrowedFd<'_>, bytes: u64, writable: bool) -> Result<Raw, DeviceError> {
        let slab = Slab::import(&self.context, fd, bytes, writable)?;
        Ok(handle(Memory { address: slab.address(), what: What::Shared(slab) }))
    }

    fn allocate_managed(&self, bytes: u64) -> Result<(Raw, usize), DeviceError> {
        let _here = self.context.enter()?;
        let (mut address, asked) = (0, usize::try_from(bytes.max(1)));
        let asked = asked.map_err(|_| self.context.no_room(bytes))?;
        let allocate = self.context.api.call.cuMemAllocManaged;
        // SAFETY: a place for an address, which is the host's, too; a flag of the driver's.
        let code = unsafe { allocate(&mut address, asked, managed::OF_DEVICE) };
        self.context.had("allocating managed memory", code, bytes)?;
        Ok((handle(Memory { address, what: What::Managed }), address as usize))
    }

    unsafe fn register(&self, region: &Region) -> Result<Raw, DeviceError> {
        if !self.claims.in_place {
            let why = "this device cannot use memory of the host: map the topic with copies";
            return Err(self.context.refused("registering memory of the host", why));
        }
        let pinned = self.pinned(region)?;
        let address = host::on_device(&pinned, &self.context, region.address())?;
        Ok(handle(Memory { address, what: What::Host { _pinned: pinned } }))
    }

    unsafe fn free(&self, memory: Raw, _of_host: bool) {
        // (4), whatever memory it is.
        self.context.settle();
        // SAFETY: (1).
        let memory = unsafe { taken::<Memory>(memory) };
        if let (What::Own | What::Managed, Ok(_here)) = (&memory.what, self.context.enter()) {
            // SAFETY: allocated by this driver, used by nobody any more (4).
            let _ = unsafe { (self.context.api.call.cuMemFree_v2)(memory.address) };
        }
    }

    unsafe fn copy(&self, stream: Raw, from: RawSpan, to: RawSpan) -> Result<(), DeviceError> {
        if from.bytes == 0 {
            return Ok(());
        }
        let _here = self.context.enter()?;
        // SAFETY: (1), (2).
        let source = unsafe { address(from) };
        // SAFETY: (1), (2).
        let target = unsafe { address(to) };
        // SAFETY: (1).
        let stream = unsafe { behind::<Stream>(stream) }.raw();
        // By the addresses the driver knows which memory each is, and takes the engine for that.
        let copy = self.context.api.call.cuMemcpyAsync;
        // SAFETY: (2), which holds for memory of the host, too: the device has an address for it.
        let code = unsafe { copy(target, source, from.bytes as usize, stream) };
        self.context.done("copying", code)
    }

    unsafe fn write(&self, stream: Raw, to: RawSpan, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: (1).
        let stream = unsafe { behind::<Stream>(stream) };
        if !bytes.is_empty() {
            let _here = self.context.enter()?;
            // SAFETY: (1), (2).
            let target = unsafe { address(to) };
            let copy = self.context.api.call.cuMemcpyHtoDAsync_v2;
            // SAFETY: (2); the slice lives until the stream has finished, below.
            let code = unsafe { copy(target, bytes.as_ptr().cast(), bytes.len(), stream.raw()) };
            self.context.done("copying to the device", code)?;
        }
        stream.finish()
    }

    unsafe fn read(&self, stream: Raw, from: RawSpan, bytes: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: (1).
        let stream = unsafe { behind::<Stream>(stream) };
        if !bytes.is_empty() {
            let _here = self.context.enter()?;
            // SAFETY: (1), (2).
            let source = unsafe { address(from) };
            let copy = self.context.api.call.cuMemcpyDtoHAsync_v2;
            let target = bytes.as_mut_ptr().cast();
            // SAFETY: (2); the slice lives until the stream has finished, below.
            let code = unsafe { copy(target, source, bytes.len(), stream.raw()) };
            self.context.done("copying from the device", code)?;
        }
        stream.finish()
    }

    unsafe fn acquire(&self, stream: Raw, span: RawSpan, _: Access) -> Result<(), DeviceError> {
        // SAFETY: (1).
        unsafe { self.attach(stream, span, managed::OF_HOST) }?;
        // Registered memory is coherent once the work is over.
        // SAFETY: (1).
        unsafe { behind::<Stream>(stream) }.finish()
    }

    unsafe fn release(&self, stream: Raw, span: RawSpan, _: Access) -> Result<(), DeviceError> {
        // A launch makes visible what its thread has written before.
        // SAFETY: (1).
        unsafe { self.attach(stream, span, managed::OF_DEVICE) }
    }

    fn load(&self, source: &KernelSource<'_>) -> Result<Raw, DeviceError> {
        let name = &self.info.name;
        let misfit = |why| {
            let (device, label) = (name.clone(), source.label.to_owned());
            let architecture = self.architecture.to_string();
            DeviceError::Architecture { device, label, architecture, why }
        };
        let compiled = Nvrtc::get().and_then(|nvrtc| {
            // What it does not know is told by trying it.
            let way = nvrtc.way_to(self.architecture);
            let (architecture, output) = way.unwrap_or((self.architecture, Output::Binary));
            Ok((nvrtc, nvrtc.compile(source, architecture, output)?))
        });
        let (nvrtc, image) =
            compiled.map_err(|failure| not_compiled(name, source, self.architecture, failure))?;
        let _here = self.context.enter()?;
        let mut module: CUmodule = ptr::null_mut();
        // SAFETY: a place for a handle; an image that the compiler has made, which says its own
        // length or, as PTX, ends with a zero byte.
        let code =
            unsafe { (self.context.api.call.cuModuleLoadData)(&mut module, image.as_ptr().cast()) };
        if failure::is_misfit(code) {
            let why = self.context.api.words(code);
            let (compiler, driver) = (nvrtc.version(), self.context.api.version());
            return Err(misfit(format!(
                "{why}; NVRTC is of CUDA {compiler} and the driver of CUDA {driver}: install a newer \
                 driver, or name an NVRTC of the driver's version in {}",
                nvrtc::FOLDER
            )));
        }
        self.context.had("loading kernels", code, image.len() as u64)?;
        let context = Arc::clone(&self.context);
        Ok(handle(Arc::new(Module { context, raw: module as usize })))
    }

    unsafe fn unload(&self, program: Raw) {
        // SAFETY: (1).
        drop(unsafe { taken::<Arc<Module>>(program) });
    }

    unsafe fn kernel(&self, program: Raw, label: &str, name: &str) -> Result<Raw, DeviceError> {
        let none = || DeviceError::NoKernel {
            device: self.info.name.clone(),
            label: label.to_owned(),
            kernel: name.to_owned(),
        };
        // SAFETY: (1).
        let module = unsafe { behind::<Arc<Module>>(program) };
        let text = CString::new(name).map_err(|_| none())?;
        let _here = self.context.enter()?;
        let mut function: CUfunction = ptr::null_mut();
        let find = self.context.api.call.cuModuleGetFunction;
        // SAFETY: a place for a handle, a module that is loaded, a text that lives.
        let code = unsafe { find(&mut function, module.raw as CUmodule, text.as_ptr()) };
        if code == failure::NOT_FOUND {
            return Err(none());
        }
        self.context.done("looking for a kernel", code)?;
        Ok(handle(Function { raw: function as usize, _module: Arc::clone(module) }))
    }

    unsafe fn drop_kernel(&self, kernel: Raw) {
        // SAFETY: (1).
        drop(unsafe { taken::<Function>(kernel) });
    }

    unsafe fn launch(
        &self,
        stream: Raw,
        kernel: Raw,
        grid: Grid,
        arguments: &[Argument<'_>],
        observed: Option<Observed>,
    ) -> Result<(), DeviceError> {
        let doing = "launching a kernel";
        // SAFETY: (1), (2). The offset is a parameter of its own.
        let start = |span: RawSpan| unsafe { behind::<Memory>(span.memory) }.address;
        let parameters = Parameters::of(arguments, start);
        let mut parameters = parameters.ok_or_else(|| {
            let why = format!("more than {PARAMETERS_MAX} parameters; a span takes two");
            self.context.refused(doing, why)
        })?;
        if grid.items.contains(&0) {
            return Ok(());
        }
        let group = grid.group.map(|size| size.max(1));
        let groups: [u32; 3] = std::array::from_fn(|axis| grid.items[axis].div_ceil(group[axis]));
        // SAFETY: (1).
        let function = unsafe { behind::<Function>(kernel) }.raw as CUfunction;
        // SAFETY: (1).
        let stream = unsafe { behind::<Stream>(stream) };
        let observed = match observed {
            None => None,
            Some(observed) => Some((observed, self.clock.base()?, stream.note_time()?)),
        };
        let mut pointers = parameters.pointers();
        let _here = self.context.enter()?;
        let launch = self.context.api.call.cuLaunchKernel;
        // SAFETY: as many values as there are arguments, which are the kernel's as the caller of
        // `Stream::launch` promises; the driver copies them before it returns.
        let code = unsafe {
            launch(
                function,
                groups[0],
                groups[1],
                groups[2],
                group[0],
                group[1],
                group[2],
                0,
                stream.raw(),
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        match code {
            Code::SUCCESS => {
                if let Some((observed, base, begin)) = observed {
                    // The kernel is on its way: when it ran is not told if this fails.
                    let _ = stream.observe(observed, base, begin);
                }
                Ok(())
            }
            failure::INVALID_VALUE => {
                let (why, most) = (self.context.api.words(code), self.info.group_max);
                let why =
                    format!("{why} ({groups:?} groups of {group:?}; at most {most} in a group)");
                Err(self.context.refused(doing, why))
            }
            code => self.context.done(doing, code),
        }
    }

    fn clock_pair(&self) -> Result<ClockPair, DeviceError> {
        self.clock.pair()
    }

    unsafe fn signal(&self, stream: Raw, ending: Ending) -> Result<(), DeviceError> {
        // Without the word the watcher moves the timeline on.
        let word = match self.stores {
            Stores::None => None,
            Stores::Words | Stores::Halves => {
                self.words.of(&self.context, &ending.point().timeline).ok()
            }
        };
        // SAFETY: (1).
        unsafe { behind::<Stream>(stream) }.signal(ending, word, self.stores)
    }

    unsafe fn wait(
        &self,
        stream: Raw,
        point: &FencePoint,
        by_word: bool,
    ) -> Result<(), DeviceError> {
        // SAFETY: (1).
        let stream = unsafe { behind::<Stream>(stream) };
        if stream.follow(&self.streams, point)? {
            return Ok(());
        }
        let cannot = |why: &str| {
            let (device, why) = (self.info.name.clone(), why.to_owned());
            DeviceError::CannotWait { device, why }
        };
        if !by_word {
            return Err(cannot("no stream of this process is to reach the point"));
        }
        let word = self.words.of(&self.context, &point.timeline).map_err(|why| cannot(&why))?;
        stream.wait(point, word)
    }
}

#[cfg(test)]
mod tests;
