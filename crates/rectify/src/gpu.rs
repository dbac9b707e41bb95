//! The table on a device: uploaded once, applied by a kernel. All unsafe code of the crate is here.
//!
//! What the unsafe blocks rest on: the arguments are those that `remap.cl` declares, in its order;
//! it writes `width * rows * channels` bytes of its output, reads `width * height * channels` of
//! its input and the whole table, which [`RectificationOnDevice::launch_rows`] has checked against
//! the spans. That nobody else uses the spans meanwhile is its caller's promise.
#![allow(unsafe_code)]

use crate::CHANNELS_MAX;
use crate::table::RectificationTable;
use crossdock_device::{
    Argument, Device, DeviceError, Grid, Kernel, KernelSource, Memory, Span, Stream,
};
use std::ops::Range;

const SOURCE: KernelSource<'_> =
    KernelSource { label: "remap.cl", text: include_str!("../kernels/remap.cl") };

/// Work items of one group: a row of a warp, and rows that share neighbours.
const GROUP: [u32; 2] = [32, 8];

/// A [`RectificationTable`] on a device: the same bits. One thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct RectificationOnDevice {
    kernel: Kernel,
    positions: Memory,
    width: u32,
    height: u32,
}

impl RectificationOnDevice {
    /// Compiles the kernel and uploads the table, 8 bytes per pixel. Blocks, for seconds the first
    /// time.
    ///
    /// # Errors
    /// [`DeviceError`].
    ///
    /// # Panics
    /// When the table makes pictures of another size: a programmer's error.
    pub fn new(device: &Device, table: &RectificationTable) -> Result<Self, DeviceError> {
        let bytes: Vec<u8> =
            table.positions().flatten().flat_map(|number| number.to_ne_bytes()).collect();
        let (width, height) = table.size();
        assert_eq!(bytes.len(), width * height * 8, "pictures keep their size");
        let positions = device.upload(&bytes)?;
        let kernel = device.load(&SOURCE)?.kernel("remap")?;
        Ok(Self { kernel, positions, width: width as u32, height: height as u32 })
    }

    /// Size of the pictures in and out, pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// Rectifies the picture at the start of `input`, with `channels` bytes per pixel and packed
    /// rows, to the start of `output`. Returns at once; does not allocate.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: a span is shorter than a picture; as [`Stream::launch`].
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
        // SAFETY: as the caller promises.
        unsafe { self.launch_rows(stream, channels, 0..self.height, input, output) }
    }

    /// As [`launch`](Self::launch), for the rows `rows` alone: `output` holds just these.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    ///
    /// # Safety
    /// As [`launch`](Self::launch).
    ///
    /// # Panics
    /// When the picture has no such rows, or as [`launch`](Self::launch): a programmer's error.
    pub unsafe fn launch_rows(
        &mut self,
        stream: &mut Stream,
        channels: u32,
        rows: Range<u32>,
        input: Span<'_>,
        output: Span<'_>,
    ) -> Result<(), DeviceError> {
        let Self { width, height, .. } = *self;
        assert!((1..=CHANNELS_MAX).contains(&(channels as usize)), "{channels} bytes per pixel");
        assert!(rows.start <= rows.end && rows.end <= height, "{rows:?} of {height} rows");
        let count = rows.end - rows.start;
        let stride = u64::from(width) * u64::from(channels);
        let input = input.first(u64::from(height) * stride)?;
        let output = output.first(u64::from(count) * stride)?;
        let arguments = [
            Argument::In(self.positions.whole()),
            Argument::In(input),
            Argument::Out(output),
            Argument::U32(width),
            Argument::U32(height),
            Argument::U32(channels),
            Argument::U32(rows.start),
            Argument::U32(count),
        ];
        let grid = Grid::plane(width, count, GROUP);
        // SAFETY: as at the head of this file.
        unsafe { stream.launch(&mut self.kernel, grid, &arguments) }
    }
}
