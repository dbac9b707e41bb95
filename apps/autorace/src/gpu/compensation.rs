//! Image compensation on a device: [`crate::compensation`] says what it computes.

use super::{LINE, REHEARSED, REHEARSED_BYTES, picture};
use crate::compensation::cut;
use crossdock_device::{
    Argument, Device, DeviceError, Grid, Kernel, KernelSource, Memory, Span, Stream,
};
use crossdock_offload::{OffloadError, Place, Work};

const SOURCE: KernelSource<'_> =
    KernelSource { label: "compensation.cl", text: include_str!("../../kernels/compensation.cl") };

/// Brightness levels.
const LEVELS: u32 = 256;
/// Pixels that one work item of `count_levels` counts, as in `compensation.cl`.
const SHARE: u32 = 16;

/// Image compensation on a device, in four launches: nothing comes back to the host in between. One
/// thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct CompensationOnDevice {
    clear: Kernel,
    count: Kernel,
    stretch: Kernel,
    look_up: Kernel,
    bins: Memory,
    table: Memory,
    clip_per_myriad: u32,
}

impl CompensationOnDevice {
    /// Compiles the kernels and makes 1.3 kB of scratch; [`crate::compensation::measure`] says what
    /// `clip_per_myriad` is. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(device: &Device, clip_per_myriad: u32) -> Result<Self, DeviceError> {
        let kernels = device.load(&SOURCE)?;
        let mut made = Self {
            clear: kernels.kernel("clear_bins")?,
            count: kernels.kernel("count_levels")?,
            stretch: kernels.kernel("stretch_levels")?,
            look_up: kernels.kernel("look_up")?,
            bins: device.allocate(u64::from(LEVELS) * 4)?,
            table: device.allocate(u64::from(LEVELS))?,
            clip_per_myriad,
        };
        device.rehearse((REHEARSED_BYTES, REHEARSED_BYTES), |stream, from, to| {
            // SAFETY: the memory is the rehearsal's.
            unsafe { made.launch(stream, REHEARSED, from, to) }
        })?;
        Ok(made)
    }

    /// Compensates an rgb8 picture of `width` x `height`. Returns at once; does not allocate.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: a span is shorter than the picture; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the launch is over nobody touches `output`, nor writes `input`, and both and this
    /// live. All launches go into one stream.
    pub unsafe fn launch(
        &mut self,
        stream: &mut Stream,
        (width, height): (u32, u32),
        input: Span<'_>,
        output: Span<'_>,
    ) -> Result<(), DeviceError> {
        let sides = [width, height, 3];
        let (input, (output, bytes)) = (picture(input, sides)?.0, picture(output, sides)?);
        let (pixels, bins, table) = (bytes / 3, self.bins.whole(), self.table.whole());
        let level = Grid::line(LEVELS, LINE);
        // SAFETY: (1) and (2) of the module.
        unsafe { stream.launch(&mut self.clear, level, &[Argument::Out(bins)]) }?;
        let arguments = [Argument::In(input), Argument::Out(bins), Argument::U32(pixels)];
        let groups = Grid::line(pixels.div_ceil(SHARE * LINE) * LINE, LINE);
        // SAFETY: as above.
        unsafe { stream.launch(&mut self.count, groups, &arguments) }?;
        let cut = cut(u64::from(pixels), self.clip_per_myriad) as u32;
        let arguments = [Argument::In(bins), Argument::Out(table), Argument::U32(cut)];
        // SAFETY: as above.
        unsafe { stream.launch(&mut self.stretch, level, &arguments) }?;
        let arguments =
            [Argument::In(input), Argument::In(table), Argument::Out(output), Argument::U32(bytes)];
        // SAFETY: as above.
        unsafe { stream.launch(&mut self.look_up, Grid::line(bytes, LINE), &arguments) }
    }

    /// [`Self::launch`] as part of a node's work.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn run(
        &mut self,
        work: &mut Work<'_>,
        sides: (u32, u32),
        from: &Place,
        to: &Place,
    ) -> Result<(), OffloadError> {
        let (from, to) = (from.span()?, to.span()?);
        // SAFETY: (3) of the module.
        Ok(unsafe { self.launch(work.stream(), sides, from, to) }?)
    }
}
