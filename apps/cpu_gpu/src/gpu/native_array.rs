//! An array that processor and device change together without nodes: one swap at a time, each with
//! the calls that a program made by hand would use.
//!
//! The array lies in memory of the host of its own. The processor uses it through atomics only, the
//! device as another process would, and parts of a swap are disjoint: see the module.

use super::crew::Crew;
use crate::array::{Cells, CellsToWrite, Within};
use crate::benchmark::{Benchmark, Model};
use crate::gpu::{LaunchError, SwapOnDevice};
use crate::native::Form;
use crate::swap::{Share, Swap};
use crossdock_comm::Part;
use crossdock_device::timeline::Poisoned;
use crossdock_device::{Access, Device, DeviceError, FencePoint, Memory, Stream, Timeline};
use crossdock_shm::{CreateMemoryError, Region, Scratch};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Bytes of an element.
const ELEMENT_BYTES: usize = 4;
/// How long a device may take for one swap before it counts as hung.
const SWAP_LIMIT: Duration = Duration::from_secs(60);

/// A benchmark cannot run natively.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NativeError {
    /// The device refuses or has failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The kernel was not launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The system has no memory.
    #[error(transparent)]
    Memory(#[from] CreateMemoryError),
    /// The device cannot do what the model needs.
    #[error("{device} cannot run the model {model}: {why}; choose another one")]
    Model {
        /// Name of the device.
        device: String,
        /// The model.
        model: Model,
        /// What is in the way.
        why: &'static str,
    },
    /// What the device was given has failed.
    #[error(
        "{device}: a swap has failed: {source}; `crossdock device test {device}` tries it alone"
    )]
    Failed {
        /// Name of the device.
        device: String,
        /// How far it had come.
        source: Poisoned,
    },
    /// The device does not go on.
    #[error(
        "{device}: a swap has not ended in 60 s; `crossdock device test {device}` tries it alone"
    )]
    Hung {
        /// Name of the device.
        device: String,
    },
}

/// See the head of this file. `Send`; one thread at a time uses it.
#[derive(Debug)]
pub struct NativeArray {
    /// Does the processor's part.
    crew: Crew,
    benchmark: Benchmark,
    form: Form,
    elements: u32,
    /// Where the processor has the array: in what `reach` or `_region` keeps.
    host: HostMemory,
    /// Processor and device may use it at the same time.
    concurrent: bool,
    kernel: SwapOnDevice,
    reach: Reach,
    ends: Timeline,
    /// Ends that have been given to the stream.
    given: u64,
    copied_bytes: u64,
    _region: Option<Region>,
    stream: Stream,
}

/// How the device gets at the array.
#[derive(Debug)]
enum Reach {
    /// In the host's memory, or in memory that the driver moves.
    InPlace(Memory),
    /// In memory of its own; `host` is the array, registered so that the device copies it by
    /// itself.
    Copy { own: Memory, host: Option<Memory> },
}

/// Memory of the host that an array lies in.
#[derive(Clone, Copy, Debug)]
struct HostMemory {
    address: usize,
    bytes: usize,
}

impl HostMemory {
    fn of_region(region: &Region) -> Self {
        Self { address: region.address(), bytes: region.bytes() }
    }

    /// The bytes, for a copy. The caller has the array for itself.
    fn bytes(&self, offset: u64, bytes: u64) -> &[u8] {
        let start = self.start(offset, bytes);
        // SAFETY: inside (`start` has looked), alive as long as the array, which borrows this;
        // nobody writes it meanwhile.
        unsafe { std::slice::from_raw_parts(start, bytes as usize) }
    }

    fn bytes_mut(&mut self, offset: u64, bytes: u64) -> &mut [u8] {
        let start = self.start(offset, bytes);
        // SAFETY: as above, and nobody else reads it either; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(start, bytes as usize) }
    }

    /// All elements, for the processor's threads.
    fn cells(&self) -> &[AtomicU32] {
        // SAFETY: (3) of the module. Aligned to 16 bytes or a page, may be written, and alive as
        // long as the array, which borrows this.
        unsafe {
            std::slice::from_raw_parts(self.address as *const AtomicU32, self.bytes / ELEMENT_BYTES)
        }
    }

    fn start(&self, offset: u64, bytes: u64) -> *mut u8 {
        assert!(offset + bytes <= self.bytes as u64, "bytes of the array");
        (self.address + offset as usize) as *mut u8
    }
}

impl NativeArray {
    /// An array of 2^`power` elements and all that its swaps need. Blocks, for seconds the first
    /// time.
    ///
    /// # Errors
    /// [`NativeError`].
    ///
    /// # Panics
    /// When the power is not one of [`Benchmark::POWER_MIN`] to [`Benchmark::POWER_MAX`].
    pub fn new(
        device: &Device,
        benchmark: Benchmark,
        power: u32,
        (model, form): (Model, Form),
    ) -> Result<Self, NativeError> {
        assert!((Benchmark::POWER_MIN..=Benchmark::POWER_MAX).contains(&power), "power {power}");
        let elements = 1_u32 << power;
        let bytes = u64::from(elements) * ELEMENT_BYTES as u64;
        let capabilities = device.capabilities()?;
        let mut region = None;
        let mut in_region = || -> Result<Region, NativeError> {
            let made = Scratch::create("native", bytes)?.region_to_write();
            Ok(region.insert(made).clone())
        };
        let (host, reach, concurrent) = match model {
            Model::ZeroCopy => {
                let region = in_region()?;
                let reach = Reach::InPlace(device.register(&region)?);
                (HostMemory::of_region(&region), reach, capabilities.coherent)
            }
            Model::Copy => {
                let region = in_region()?;
                // Where kernels cannot use the host's memory, the driver cannot copy from it by
                // itself either.
                let can = capabilities.host_memory && capabilities.coherent;
                let registers = form == Form::Best && can;
                let copied = if registers { Some(device.register(&region)?) } else { None };
                let reach = Reach::Copy { own: device.allocate(bytes)?, host: copied };
                (HostMemory::of_region(&region), reach, false)
            }
            Model::Managed => {
                let device_name = device.info().name.clone();
                let refused = |why| NativeError::Model { device: device_name, model, why };
                if !capabilities.managed {
                    return Err(refused(
                        "its driver offers no memory that it moves itself (tried)",
                    ));
                }
                let memory = device.allocate_managed(bytes)?;
                let Some(at) = memory.host() else {
                    return Err(refused("the host has no address for memory that it moves"));
                };
                let host = HostMemory { address: at.cast::<u8>().addr(), bytes: at.len() };
                (host, Reach::InPlace(memory), capabilities.managed_concurrent)
            }
        };
        let mut made = Self {
            crew: match form {
                Form::Best => Crew::new(0),
                Form::Paper => Crew::alone(),
            },
            benchmark,
            form,
            elements,
            host,
            concurrent,
            kernel: SwapOnDevice::new(device, benchmark)?,
            reach,
            ends: Timeline::create("native")?,
            given: 0,
            copied_bytes: 0,
            _region: region,
            stream: device.stream()?,
        };
        made.give_to_host()?;
        Ok(made)
    }

    /// How many elements it has.
    #[must_use]
    pub fn elements(&self) -> u32 {
        self.elements
    }

    /// Bytes that were copied between host and device so far.
    #[must_use]
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// The elements. Allocates.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        let elements = self.all();
        (0..elements.count()).map(|at| elements.bits(at)).collect()
    }

    /// Replaces all elements.
    ///
    /// # Panics
    /// When there are more or fewer of them.
    pub fn fill(&mut self, words: &[u32]) {
        assert_eq!(words.len(), self.elements as usize, "all elements");
        let elements = self.all();
        (0..).zip(words).for_each(|(at, bits)| elements.set_bits(at, *bits));
    }

    fn all(&self) -> Within<'_> {
        Within::new(self.host.cells(), Part::range(0, u64::from(self.elements)))
    }

    /// The device's work on a share alone. Blocks until it is done.
    ///
    /// # Errors
    /// As [`NativeArray::swap`].
    pub fn on_device(&mut self, share: Share) -> Result<(), NativeError> {
        let outcome = match &self.reach {
            Reach::InPlace(_) => self.in_place(share, None),
            Reach::Copy { .. } => self.in_turn(share),
        };
        if outcome.is_err() {
            let _ = self.stream.finish();
        }
        outcome
    }

    /// One swap: the device's part and the processor's. Blocks until both are done.
    ///
    /// # Errors
    /// [`NativeError`]; the array is then of no use until it is filled.
    pub fn swap(&mut self, number: u32) -> Result<(), NativeError> {
        let swap = Swap { number, elements: self.elements };
        let share = swap.of_device(self.benchmark, (0, 1));
        let outcome = match &self.reach {
            Reach::InPlace(_) => self.in_place(share, Some(swap)),
            Reach::Copy { host: Some(_), .. } => self.with_copies(share, swap),
            Reach::Copy { host: None, .. } => {
                let done = self.in_turn(share);
                done.map(|()| self.on_processor(swap))
            }
        };
        if outcome.is_err() {
            // Nothing of it is under way when the caller goes on; what failed is told already.
            let _ = self.stream.finish();
        }
        outcome
    }

    /// Launch, processor meanwhile, wait. Where the two may not use the memory at the same time,
    /// the processor comes last. `swap`: what the processor does; `None`: nothing.
    fn in_place(&mut self, share: Share, swap: Option<Swap>) -> Result<(), NativeError> {
        let Reach::InPlace(memory) = &self.reach else { return Ok(()) };
        if !self.concurrent {
            self.stream.release(memory.whole(), Access::ReadWrite)?;
        }
        // SAFETY: (2) of the module: the processor uses its own part until the device's is done.
        unsafe { self.kernel.launch(&mut self.stream, self.elements, share, memory.whole()) }?;
        if !self.concurrent {
            self.give_to_host()?;
            swap.into_iter().for_each(|swap| self.on_processor(swap));
            return Ok(());
        }
        match self.form {
            Form::Best => {
                self.signal()?;
                swap.into_iter().for_each(|swap| self.on_processor(swap));
                self.wait()
            }
            Form::Paper => {
                swap.into_iter().for_each(|swap| self.on_processor(swap));
                Ok(self.stream.finish()?)
            }
        }
    }

    /// Where processor and device take turns: it is the processor's now. Waits for the device.
    fn give_to_host(&mut self) -> Result<(), NativeError> {
        match &self.reach {
            Reach::InPlace(memory) if !self.concurrent => {
                Ok(self.stream.acquire(memory.whole(), Access::ReadWrite)?)
            }
            _ => Ok(()),
        }
    }

    /// Copies by the device itself, of the ranges that its share lies in, beside the processor's
    /// work.
    fn with_copies(&mut self, share: Share, swap: Swap) -> Result<(), NativeError> {
        let Reach::Copy { own, host: Some(host) } = &self.reach else { return Ok(()) };
        for (offset, down) in [byte_range(share.reads), byte_range(share.writes)] {
            // SAFETY: (2) of the module: the processor writes elements between those of the share
            // meanwhile, and what comes of these is used by nobody.
            unsafe { self.stream.copy(host.span(offset, down)?, own.span(offset, down)?) }?;
            self.copied_bytes += down;
        }
        // SAFETY: nobody else uses memory of the device's own.
        unsafe { self.kernel.launch(&mut self.stream, self.elements, share, own.whole()) }?;
        let (offset, up) = byte_range(share.writes);
        // SAFETY: (2) of the module: between its elements lie such that nobody writes in this swap.
        unsafe { self.stream.copy(own.span(offset, up)?, host.span(offset, up)?) }?;
        self.copied_bytes += up;
        self.signal()?;
        self.on_processor(swap);
        self.wait()
    }

    /// Each step waits for the one before: copy, kernel, copy.
    fn in_turn(&mut self, share: Share) -> Result<(), NativeError> {
        let Reach::Copy { own, .. } = &self.reach else { return Ok(()) };
        let bytes = u64::from(self.elements) * ELEMENT_BYTES as u64;
        let down = self.host.bytes(0, bytes);
        // SAFETY: nobody else uses memory of the device's own.
        unsafe { self.stream.write(down, own.whole()) }?;
        // SAFETY: as above.
        unsafe { self.kernel.launch(&mut self.stream, self.elements, share, own.whole()) }?;
        self.stream.finish()?;
        let (offset, up) = byte_range(share.writes);
        self.stream.read(own.span(offset, up)?, self.host.bytes_mut(offset, up))?;
        self.copied_bytes += bytes + up;
        Ok(())
    }

    /// The processor's part of a swap. Blocks until all of it is done.
    fn on_processor(&self, swap: Swap) {
        let part = Within::new(self.host.cells(), swap.of_processor((0, 1)).writes);
        self.benchmark.on_processor(&part, &self.crew);
    }

    fn signal(&mut self) -> Result<(), NativeError> {
        self.given += 1;
        let point = FencePoint { timeline: self.ends.clone(), value: self.given };
        Ok(self.stream.signal(&point)?)
    }

    /// Until all that was signalled is done.
    fn wait(&self) -> Result<(), NativeError> {
        let point = FencePoint { timeline: self.ends.clone(), value: self.given };
        let device = || self.stream.device().info().name.clone();
        let failed = |source| NativeError::Failed { device: device(), source };
        match point.wait(SWAP_LIMIT).map_err(failed)? {
            true => Ok(()),
            false => Err(NativeError::Hung { device: device() }),
        }
    }
}

/// Offset and length of what covers a part, bytes.
fn byte_range(part: Part) -> (u64, u64) {
    (part.first() * ELEMENT_BYTES as u64, (part.end() - part.first()) * ELEMENT_BYTES as u64)
}

impl Drop for NativeArray {
    fn drop(&mut self) {
        // The memory goes before the stream. What failed is told already.
        let _ = self.stream.finish();
    }
}
