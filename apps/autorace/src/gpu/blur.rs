//! The blur on a device: [`crate::blur`] says what it computes.

use super::{PLANE, REHEARSED, REHEARSED_BYTES, picture};
use crossdock_device::{Argument, Device, DeviceError, Grid, Kernel, KernelSource, Span, Stream};
use crossdock_offload::{OffloadError, Place, Work};

const SOURCE: KernelSource<'_> =
    KernelSource { label: "blur.cl", text: include_str!("../../kernels/blur.cl") };

/// 5 x 5 Gaussian blur on a device. One thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct BlurOnDevice {
    blur: Kernel,
}

impl BlurOnDevice {
    /// Compiles the kernel. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let mut made = Self { blur: device.load(&SOURCE)?.kernel("blur")? };
        device.rehearse((REHEARSED_BYTES, REHEARSED_BYTES), |stream, from, to| {
            // SAFETY: the memory is the rehearsal's.
            unsafe { made.launch(stream, (REHEARSED.0, REHEARSED.1, 3), from, to) }
        })?;
        Ok(made)
    }

    /// Blurs a picture of `width` x `height` with `channels` bytes per pixel. Returns at once; does
    /// not allocate.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: a span is shorter than the picture; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the launch is over nobody touches `output`, nor writes `input`, and both and this
    /// live.
    pub unsafe fn launch(
        &mut self,
        stream: &mut Stream,
        (width, height, channels): (u32, u32, u32),
        input: Span<'_>,
        output: Span<'_>,
    ) -> Result<(), DeviceError> {
        let sides = [width, height, channels];
        let arguments = [
            Argument::In(picture(input, sides)?.0),
            Argument::Out(picture(output, sides)?.0),
            Argument::U32(width),
            Argument::U32(height),
            Argument::U32(channels),
        ];
        // SAFETY: (1) and (2) of the module.
        unsafe { stream.launch(&mut self.blur, Grid::plane(width, height, PLANE), &arguments) }
    }

    /// [`Self::launch`] as part of a node's work.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn run(
        &mut self,
        work: &mut Work<'_>,
        sides: (u32, u32, u32),
        from: &Place,
        to: &Place,
    ) -> Result<(), OffloadError> {
        let (from, to) = (from.span()?, to.span()?);
        // SAFETY: (3) of the module.
        Ok(unsafe { self.launch(work.stream(), sides, from, to) }?)
    }
}
