//! Resizing on a device: [`crate::resize`] says what it computes.
//!
//! What the unsafe blocks rest on: the arguments of a launch are those that the kernel declares, in
//! its order; it keeps to the lengths that are checked against the spans; the table is written
//! before anybody else has its memory, and never again. That nobody else uses the spans meanwhile
//! is promised by the caller of `launch`.
#![allow(unsafe_code)]

use crate::resize::{Ratio, Resizer, Tables};
use crossdock_device::{
    Argument, Device, DeviceError, Grid, Kernel, KernelSource, Memory, Span, Stream,
};
use crossdock_offload::{OffloadError, Place, Work};
use crossdock_rectify::CHANNELS_MAX;

const SOURCE: KernelSource<'_> =
    KernelSource { label: "resize.cl", text: include_str!("../../kernels/resize.cl") };

/// Work items of one group.
const GROUP: [u32; 2] = [32, 8];

/// A [`Resizer`] on a device: the same bits. One thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct ResizeOnDevice {
    kernel: Kernel,
    tables: TablesOnDevice,
    from: (u32, u32),
    to: (u32, u32),
}

#[derive(Debug)]
enum TablesOnDevice {
    Bilinear(Memory),
    Area([Ratio; 2]),
}

impl ResizeOnDevice {
    /// Compiles the kernel and uploads the tables. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(device: &Device, resizer: &Resizer) -> Result<Self, DeviceError> {
        let kernels = device.load(&SOURCE)?;
        let (kernel, tables) = match &resizer.tables {
            Tables::Bilinear(positions) => {
                let positions = positions.iter().flatten();
                let bytes: Vec<u8> = positions.flat_map(|number| number.to_ne_bytes()).collect();
                let table = TablesOnDevice::Bilinear(device.upload(&bytes)?);
                (kernels.kernel("resize_bilinear")?, table)
            }
            Tables::Area(ratios) => (kernels.kernel("resize_area")?, TablesOnDevice::Area(*ratios)),
        };
        let size = |(width, height): (usize, usize)| (width as u32, height as u32);
        let (from, to) = (size(resizer.from()), size(resizer.to()));
        let mut made = Self { kernel, tables, from, to };
        let bytes = |(width, height): (u32, u32)| u64::from(width) * u64::from(height) * 3;
        device.rehearse((bytes(from), bytes(to)), |stream, from, to| {
            // SAFETY: the memory is the rehearsal's.
            unsafe { made.launch(stream, 3, from, to) }
        })?;
        Ok(made)
    }

    /// Resizes the picture at the start of `input`, with `channels` bytes per pixel and packed
    /// rows, to the start of `output`. Returns at once; does not allocate.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: a span is shorter than its picture; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the launch is over nobody touches `output`, nor writes `input`, and both and this
    /// live.
    ///
    /// # Panics
    /// When there are more than [`CHANNELS_MAX`] channels: a programmer's error.
    pub unsafe fn launch(
        &mut self,
        stream: &mut Stream,
        channels: u32,
        input: Span<'_>,
        output: Span<'_>,
    ) -> Result<(), DeviceError> {
        assert!((1..=CHANNELS_MAX).contains(&(channels as usize)), "{channels} bytes per pixel");
        let ((width, height), (to_width, to_height)) = (self.from, self.to);
        let bytes =
            |width: u32, height: u32| u64::from(width) * u64::from(height) * u64::from(channels);
        let input = input.first(bytes(width, height))?;
        let output = output.first(bytes(to_width, to_height))?;
        let grid = Grid::plane(to_width, to_height, GROUP);
        match &self.tables {
            TablesOnDevice::Bilinear(positions) => {
                let arguments = [
                    Argument::In(positions.whole()),
                    Argument::In(input),
                    Argument::Out(output),
                    Argument::U32(width),
                    Argument::U32(height),
                    Argument::U32(to_width),
                    Argument::U32(to_height),
                    Argument::U32(channels),
                ];
                // SAFETY: as at the head of this file.
                unsafe { stream.launch(&mut self.kernel, grid, &arguments) }
            }
            TablesOnDevice::Area([across, down]) => {
                let arguments = [
                    Argument::In(input),
                    Argument::Out(output),
                    Argument::U32(width),
                    Argument::U32(to_width),
                    Argument::U32(to_height),
                    Argument::U32(across.from),
                    Argument::U32(across.to),
                    Argument::U32(down.from),
                    Argument::U32(down.to),
                    Argument::U32(channels),
                ];
                // SAFETY: as at the head of this file.
                unsafe { stream.launch(&mut self.kernel, grid, &arguments) }
            }
        }
    }

    /// [`Self::launch`] as part of a node's work.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn run(
        &mut self,
        work: &mut Work<'_>,
        channels: u32,
        from: &Place,
        to: &Place,
    ) -> Result<(), OffloadError> {
        let (from, to) = (from.span()?, to.span()?);
        // SAFETY: the places of a work are the device's until it is over.
        Ok(unsafe { self.launch(work.stream(), channels, from, to) }?)
    }
}
