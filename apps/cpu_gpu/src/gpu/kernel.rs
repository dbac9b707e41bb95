//! The kernels of both benchmarks: [`crate::benchmark`] says what they compute.

use crate::benchmark::Benchmark;
use crate::swap::{STEP, Share, Swap};
use crossdock_comm::Part;
use crossdock_device::{Argument, Device, DeviceError, Grid, Kernel, KernelSource, Span, Stream};

const CACHE: KernelSource<'_> =
    KernelSource { label: "cache.cl", text: include_str!("../../kernels/cache.cl") };
const CONCURRENT: KernelSource<'_> =
    KernelSource { label: "concurrent.cl", text: include_str!("../../kernels/concurrent.cl") };

/// Work items of one group.
const GROUP: u32 = 128;
/// Elements of the rehearsal.
const REHEARSED: u32 = 16;
/// Bytes of an element.
const ELEMENT_BYTES: u64 = 4;

/// A kernel was not launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The device refuses or has failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Somebody says what no swap says.
    #[error(
        "the kernel of {benchmark} cannot write {} and read {}: its parts must have every second \
         element of the array; mend the scheduler", share.writes, share.reads
    )]
    Share {
        /// The benchmark.
        benchmark: Benchmark,
        /// What was asked for.
        share: Share,
    },
}

/// A benchmark's kernel on a device. One thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct SwapOnDevice {
    benchmark: Benchmark,
    kernel: Kernel,
}

impl SwapOnDevice {
    /// Compiles the kernel. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(device: &Device, benchmark: Benchmark) -> Result<Self, DeviceError> {
        let source = match benchmark {
            Benchmark::Cache => &CACHE,
            Benchmark::Concurrent => &CONCURRENT,
        };
        let mut made = Self { benchmark, kernel: device.load(source)?.kernel(benchmark.name())? };
        let bytes = u64::from(REHEARSED) * ELEMENT_BYTES;
        device.rehearse((bytes, bytes), |stream, _, to| {
            let share = Swap { number: 0, elements: REHEARSED }.of_device(benchmark, (0, 1));
            // SAFETY: the memory is the rehearsal's.
            match unsafe { made.launch(stream, REHEARSED, share, to) } {
                Err(LaunchError::Device(error)) => Err(error),
                _ => Ok(()),
            }
        })?;
        Ok(made)
    }

    /// Puts the device's work on a share into the stream, on the array of `elements` elements at
    /// the start of `array`. Returns at once; does not allocate.
    ///
    /// # Errors
    /// [`LaunchError::Share`]: the share is not one of this benchmark's;
    /// [`DeviceError::OutOfRange`]: the span is shorter than the array; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the launch is over nobody touches what the share writes, nor writes what it reads, and
    /// the memory and this live.
    pub unsafe fn launch(
        &mut self,
        stream: &mut Stream,
        elements: u32,
        share: Share,
        array: Span<'_>,
    ) -> Result<(), LaunchError> {
        let array = array.first(u64::from(elements) * ELEMENT_BYTES)?;
        let refused = || LaunchError::Share { benchmark: self.benchmark, share };
        let [own, others] = [share.writes, share.reads].map(|part| numbers(part, elements));
        let (own, others) = own.zip(others).ok_or_else(refused)?;
        if self.benchmark == Benchmark::Concurrent && own.1 != others.1 {
            return Err(refused());
        }
        // SAFETY: inside the array; the rest is the caller's promise.
        unsafe { self.put(stream, (array, own), (array, others), STEP as u32) }
    }

    /// The same where the share's elements lie side by side: those that it writes at the start of
    /// `own`, those that it reads at the start of `others`, as many as are said.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: a span is shorter; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the launch is over nobody touches `own`, nor writes `others`, and the memory and this
    /// live.
    pub unsafe fn launch_dense(
        &mut self,
        stream: &mut Stream,
        (own, own_count): (Span<'_>, u32),
        (others, others_count): (Span<'_>, u32),
    ) -> Result<(), LaunchError> {
        let own_span = own.first(u64::from(own_count) * ELEMENT_BYTES)?;
        let others_span = others.first(u64::from(others_count) * ELEMENT_BYTES)?;
        let (own, others) = ((own_span, (0, own_count)), (others_span, (0, others_count)));
        // SAFETY: inside the spans; the rest is the caller's promise.
        unsafe { self.put(stream, own, others, 1) }
    }

    /// # Safety
    /// As [`SwapOnDevice::launch`], and all elements lie in the spans.
    unsafe fn put(
        &mut self,
        stream: &mut Stream,
        (own, (first, count)): (Span<'_>, (u32, u32)),
        (others, (others_first, others_count)): (Span<'_>, (u32, u32)),
        step: u32,
    ) -> Result<(), LaunchError> {
        let arguments = [
            Argument::Out(own),
            Argument::In(others),
            Argument::U32(first),
            Argument::U32(count),
            Argument::U32(others_first),
            Argument::U32(others_count),
            Argument::U32(step),
        ];
        let grid = Grid::line(count, GROUP);
        // SAFETY: (1) of the module; (2) is the caller's promise.
        Ok(unsafe { stream.launch(&mut self.kernel, grid, &arguments) }?)
    }
}

/// First element and number of elements as kernels count them; `None`: not one that they can have.
fn numbers(part: Part, elements: u32) -> Option<(u32, u32)> {
    let is_stepped = part.step() == STEP || part.count() < 2;
    let fits = is_stepped && part.end() <= u64::from(elements);
    // Below `elements`.
    fits.then_some((part.first() as u32, part.count() as u32))
}
