//! The kernels of both benchmarks: [`crate::benchmark`] says what they compute.

use crate::benchmark::Benchmark;
use crate::swap::Swap;
use crossdock_device::{Argument, Device, DeviceError, Grid, Kernel, KernelSource, Span, Stream};

const CACHE: KernelSource<'_> =
    KernelSource { label: "cache.cl", text: include_str!("../../kernels/cache.cl") };
const CONCURRENT: KernelSource<'_> =
    KernelSource { label: "concurrent.cl", text: include_str!("../../kernels/concurrent.cl") };

/// Work items of one group.
const GROUP: u32 = 128;
/// Elements of the rehearsal.
const REHEARSED: u32 = 8;
/// Bytes of an element.
const ELEMENT_BYTES: u64 = 4;

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
            let swap = Swap { number: 0, elements: REHEARSED };
            // SAFETY: the memory is the rehearsal's.
            unsafe { made.launch(stream, swap, (0, 1), to) }
        })?;
        Ok(made)
    }

    /// Puts share `share` of `shares` of the device's part of a swap into the stream, on the array at the start of
    /// `array`. Returns at once; does not allocate.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: the span is shorter than the array; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the launch is over nobody touches the share's elements, nor writes those that the device reads
    /// ([`Swap::read_by_device`]), and the memory and this live.
    pub unsafe fn launch(
        &mut self,
        stream: &mut Stream,
        swap: Swap,
        (share, shares): (u32, u32),
        array: Span<'_>,
    ) -> Result<(), DeviceError> {
        let array = array.first(u64::from(swap.elements) * ELEMENT_BYTES)?;
        let part = swap.of_device().share(share, shares);
        let others = swap.read_by_device();
        let own = [Argument::Out(array), Argument::U32(part.first), Argument::U32(part.count)];
        let grid = Grid::line(part.count, GROUP);
        match self.benchmark {
            Benchmark::Cache => {
                let [array, first, count] = own;
                let others = [Argument::U32(others.first), Argument::U32(others.count)];
                let [others_first, others_count] = others;
                let arguments = [array, first, count, others_first, others_count];
                // SAFETY: (1) of the module; (2) is the caller's promise.
                unsafe { stream.launch(&mut self.kernel, grid, &arguments) }
            }
            Benchmark::Concurrent => {
                let [array, first, count] = own;
                let others = Argument::U32(others.share(share, shares).first);
                // SAFETY: as above.
                unsafe { stream.launch(&mut self.kernel, grid, &[array, first, count, others]) }
            }
        }
    }
}
