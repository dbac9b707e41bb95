//! An array that processor and device change together in one thread, without nodes: one swap at a time, each with
//! the calls that a program made by hand would use. Must not know runs, nor how they are measured.
//!
//! The array lies in memory of the host of its own. The processor uses it through atomics only, the device as another
//! process would, and parts of a swap are disjoint: see the module.

use crate::array::Cells;
use crate::benchmark::{Benchmark, Model};
use crate::gpu::SwapOnDevice;
use crate::native::Form;
use crate::swap::{Part, Swap};
use crossdock_device::timeline::Poisoned;
use crossdock_device::{
    Access, Capabilities, Device, DeviceError, FencePoint, Memory, Stream, Timeline,
};
use crossdock_shm::{CreateMemoryError, Region, Scratch};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Bytes of an element.
const ELEMENT_BYTES: usize = 4;
/// How long the end of a swap is looked for before the thread sleeps: about what a wake-up takes.
const SPIN: Duration = Duration::from_micros(50);
/// How long a device may take for one swap before it counts as hung.
const SWAP_LIMIT: Duration = Duration::from_secs(60);

/// A benchmark cannot run natively.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NativeError {
    /// The device refuses or has failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
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
    benchmark: Benchmark,
    form: Form,
    elements: u32,
    region: Region,
    capabilities: Capabilities,
    kernel: SwapOnDevice,
    reach: Reach,
    ends: Timeline,
    /// Ends that have been given to the stream.
    given: u64,
    copied_bytes: u64,
    // Dropped before the memory that its work uses.
    stream: Stream,
}

/// How the device gets at the array.
#[derive(Debug)]
enum Reach {
    /// In the host's memory.
    InPlace(Memory),
    /// In memory of its own; `host` is the array, registered so that the device copies it by itself.
    Copy { own: Memory, host: Option<Memory> },
}

/// The elements of a region, for the processor.
struct Elements<'a>(&'a Region, usize);

impl Elements<'_> {
    fn element(&self, index: usize) -> &AtomicU32 {
        assert!(index < self.1, "element {index} of {}", self.1);
        let address = (self.0.address() + index * ELEMENT_BYTES) as *mut u32;
        // SAFETY: inside the region, which was made with room for all elements, begins at a page, may be
        // written and lives as long as this; this process uses it through atomics only.
        unsafe { AtomicU32::from_ptr(address) }
    }
}

impl Cells for Elements<'_> {
    fn bits(&self, index: usize) -> u32 {
        self.element(index).load(Ordering::Relaxed)
    }

    fn set_bits(&mut self, index: usize, bits: u32) {
        self.element(index).store(bits, Ordering::Relaxed);
    }
}

impl NativeArray {
    /// An array of 2^`power` elements and all that its swaps need. Blocks, for seconds the first time.
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
        let region = Scratch::create("native", bytes)?.region_to_write();
        let reach = match model {
            Model::ZeroCopy => Reach::InPlace(device.register(&region)?),
            Model::Copy => {
                // Where kernels cannot use the host's memory, the driver cannot copy from it by itself either.
                let registers = form == Form::Best && capabilities.host_memory;
                let host = if registers { Some(device.register(&region)?) } else { None };
                Reach::Copy { own: device.allocate(bytes)?, host }
            }
            Model::Managed => {
                let device = device.info().name.clone();
                let why = "its driver offers no memory that it moves itself";
                return Err(NativeError::Model { device, model, why });
            }
        };
        Ok(Self {
            benchmark,
            form,
            elements,
            region,
            capabilities,
            kernel: SwapOnDevice::new(device, benchmark)?,
            reach,
            ends: Timeline::create("native")?,
            given: 0,
            copied_bytes: 0,
            stream: device.stream()?,
        })
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
        let elements = Elements(&self.region, self.elements as usize);
        (0..self.elements as usize).map(|index| elements.bits(index)).collect()
    }

    /// Replaces all elements.
    ///
    /// # Panics
    /// When there are more or fewer of them.
    pub fn fill(&mut self, words: &[u32]) {
        assert_eq!(words.len(), self.elements as usize, "all elements");
        let mut elements = Elements(&self.region, words.len());
        words.iter().enumerate().for_each(|(index, bits)| elements.set_bits(index, *bits));
    }

    /// One swap: the device's part and the processor's. Blocks until both are done.
    ///
    /// # Errors
    /// [`NativeError`]; the array is then of no use until it is filled.
    pub fn swap(&mut self, number: u32) -> Result<(), NativeError> {
        let swap = Swap { number, elements: self.elements };
        let outcome = match (&self.reach, self.form) {
            (Reach::InPlace(_), _) => self.swap_in_place(swap),
            (Reach::Copy { host: Some(_), .. }, _) => self.swap_with_copies(swap),
            (Reach::Copy { host: None, .. }, _) => self.swap_in_turn(swap),
        };
        if outcome.is_err() {
            // Nothing of it is under way when the caller goes on; what failed is told already.
            let _ = self.stream.finish();
        }
        outcome
    }

    /// Launch, processor meanwhile, wait.
    fn swap_in_place(&mut self, swap: Swap) -> Result<(), NativeError> {
        let Reach::InPlace(memory) = &self.reach else { return Ok(()) };
        if !self.capabilities.coherent {
            self.stream.release(memory.whole(), Access::Write)?;
        }
        // SAFETY: (2) of the module: the processor uses its own part until the device's is done.
        unsafe { self.kernel.launch(&mut self.stream, swap, (0, 1), memory.whole()) }?;
        if self.form == Form::Best {
            self.signal()?;
        }
        self.on_processor(swap);
        match self.form {
            Form::Best => self.wait()?,
            Form::Paper => self.stream.finish()?,
        }
        let Reach::InPlace(memory) = &self.reach else { return Ok(()) };
        if !self.capabilities.coherent {
            let (offset, bytes) = byte_range(swap.of_device());
            self.stream.acquire(memory.span(offset, bytes)?, Access::Read)?;
        }
        Ok(())
    }

    /// Copies by the device itself; the processor works as soon as the array is there.
    fn swap_with_copies(&mut self, swap: Swap) -> Result<(), NativeError> {
        let Reach::Copy { own, host: Some(host) } = &self.reach else { return Ok(()) };
        if !self.capabilities.coherent {
            self.stream.release(host.whole(), Access::Write)?;
        }
        let bytes = u64::from(self.elements) * ELEMENT_BYTES as u64;
        // SAFETY: nobody else uses the array until `wait`.
        unsafe { self.stream.copy(host.span(0, bytes)?, own.whole()) }?;
        self.signal()?;
        let Reach::Copy { own, host: Some(host) } = &self.reach else { return Ok(()) };
        // SAFETY: nobody else uses memory of the device's own.
        unsafe { self.kernel.launch(&mut self.stream, swap, (0, 1), own.whole()) }?;
        self.wait()?;
        let (offset, up) = byte_range(swap.of_device());
        // SAFETY: (2) of the module: between its elements lie such that nobody writes in this swap.
        unsafe { self.stream.copy(own.span(offset, up)?, host.span(offset, up)?) }?;
        self.copied_bytes += bytes + up;
        self.signal()?;
        self.on_processor(swap);
        self.wait()?;
        let Reach::Copy { host: Some(host), .. } = &self.reach else { return Ok(()) };
        if !self.capabilities.coherent {
            self.stream.acquire(host.span(offset, up)?, Access::Read)?;
        }
        Ok(())
    }

    /// Each step waits for the one before: copy, kernel, copy, processor.
    fn swap_in_turn(&mut self, swap: Swap) -> Result<(), NativeError> {
        let Reach::Copy { own, .. } = &self.reach else { return Ok(()) };
        let all = 0..u64::from(self.elements) * ELEMENT_BYTES as u64;
        let down = bytes_of(&self.region, all);
        // SAFETY: nobody else uses memory of the device's own.
        unsafe { self.stream.write(down, own.whole()) }?;
        // SAFETY: as above.
        unsafe { self.kernel.launch(&mut self.stream, swap, (0, 1), own.whole()) }?;
        self.stream.finish()?;
        let (offset, bytes) = byte_range(swap.of_device());
        let copied = down.len() as u64 + bytes;
        let up = bytes_of_mut(&mut self.region, offset..offset + bytes);
        self.stream.read(own.span(offset, bytes)?, up)?;
        self.copied_bytes += copied;
        self.on_processor(swap);
        Ok(())
    }

    fn on_processor(&self, swap: Swap) {
        let mut elements = Elements(&self.region, self.elements as usize);
        self.benchmark.on_processor(&mut elements, swap.of_processor());
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
        let started = Instant::now();
        while started.elapsed() < SPIN {
            if point.is_reached().map_err(failed)? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        match point.sleep(SWAP_LIMIT).map_err(failed)? {
            true => Ok(()),
            false => Err(NativeError::Hung { device: device() }),
        }
    }
}

/// Offset and length of what covers a part, bytes.
fn byte_range(part: Part) -> (u64, u64) {
    let Range { start, end } = part.covered();
    let bytes = |elements: u32| u64::from(elements) * ELEMENT_BYTES as u64;
    (bytes(start), bytes(end - start))
}

fn bytes_of(region: &Region, range: Range<u64>) -> &[u8] {
    assert!(range.end <= region.bytes() as u64, "bytes of the array");
    let start = (region.address() + range.start as usize) as *const u8;
    // SAFETY: inside the region, which lives as long as the borrow; only the array's owner writes it, and not
    // while it is borrowed.
    unsafe { std::slice::from_raw_parts(start, (range.end - range.start) as usize) }
}

fn bytes_of_mut(region: &mut Region, range: Range<u64>) -> &mut [u8] {
    assert!(range.end <= region.bytes() as u64, "bytes of the array");
    let start = (region.address() + range.start as usize) as *mut u8;
    // SAFETY: as above, and the region may be written; the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(start, (range.end - range.start) as usize) }
}
