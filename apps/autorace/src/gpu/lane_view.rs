//! The lane planner's masks and bird's-eye view on a device: [`crate::lane_view`] says what they
//! are.

use super::{LINE, PLANE, words};
use crate::hsv::{HUE, Hsv, SATURATION};
use crate::lane_view::{VIEW_HEIGHT, VIEW_WIDTH, ViewParameters, ViewTables};
use crossdock_device::{
    Argument, Device, DeviceError, Grid, Kernel, KernelSource, Memory, Span, Stream,
};
use crossdock_offload::{OffloadError, Place, Work};
use crossdock_rectify::RectificationOnDevice;
use std::ops::Range;

const SOURCE: KernelSource<'_> =
    KernelSource { label: "lane_view.cl", text: include_str!("../../kernels/lane_view.cl") };

/// Pixels of the view.
const VIEW_PIXELS: u32 = (VIEW_WIDTH * VIEW_HEIGHT) as u32;

/// Rectification, masks and bird's-eye view on a device, in four launches (three without
/// rectification). One thread at a time uses it; `Send`.
#[derive(Debug)]
pub struct LaneViewOnDevice {
    /// With the rows that it rectifies.
    remap: Option<(RectificationOnDevice, Memory)>,
    colours: Kernel,
    stand_out: Kernel,
    warp: Kernel,
    size: (u32, u32),
    /// Rows of the front picture that the view uses.
    rows: Range<u32>,
    contrast_min: u8,
    /// Of the HSV conversion, then the ranges of yellow and white.
    tables: Memory,
    ranges: Memory,
    windows: Memory,
    sources: Memory,
    values: Memory,
    classes: Memory,
}

impl LaneViewOnDevice {
    /// Compiles the kernels, makes the tables for pictures of `width` x `height` and uploads them,
    /// about 8 MB at 640 x 480 with scratch. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// [`DeviceError`].
    pub fn new(
        device: &Device,
        parameters: ViewParameters,
        width: usize,
        height: usize,
    ) -> Result<Self, DeviceError> {
        let view = ViewTables::new(parameters, width, height);
        let ViewParameters { yellow, white, contrast_min, .. } = view.parameters;
        let ends = [yellow.low, yellow.high, white.low, white.high];
        let ranges = words(ends.iter().map(|Hsv { h, s, v }| [*h, *s, *v]));
        let tables = words(SATURATION.iter().chain(&HUE).map(|number| number.to_ne_bytes()));
        let windows = view.windows.iter().flat_map(|window| [window.inner, window.outer]);
        let windows = words(windows.map(|side| (side as u32).to_ne_bytes()));
        let sources = words(view.warp.iter().map(|source| source.to_ne_bytes()));
        let pixels = (view.rows.len() * width).max(1) as u64;
        let kernels = device.load(&SOURCE)?;
        let remap = view.remap.as_ref().map(|table| {
            Ok((RectificationOnDevice::new(device, table)?, device.allocate(pixels * 3)?))
        });
        let mut made = Self {
            remap: remap.transpose()?,
            colours: kernels.kernel("colours")?,
            stand_out: kernels.kernel("stand_out")?,
            warp: kernels.kernel("warp")?,
            size: (width as u32, height as u32),
            rows: view.rows.start as u32..view.rows.end as u32,
            contrast_min,
            tables: device.upload(&tables)?,
            ranges: device.upload(&ranges)?,
            windows: device.upload(&windows)?,
            sources: device.upload(&sources)?,
            values: device.allocate(pixels)?,
            classes: device.allocate(pixels)?,
        };
        let bytes = (width as u64 * height as u64 * 3, u64::from(VIEW_PIXELS));
        device.rehearse(bytes, |stream, from, to| {
            // SAFETY: the memory is the rehearsal's.
            unsafe { made.launch(stream, from, to) }
        })?;
        Ok(made)
    }

    /// Marks the lines of an rgb8 picture of the size of the tables in the view `output` of
    /// [`VIEW_WIDTH`] * [`VIEW_HEIGHT`] bytes. Returns at once; does not allocate.
    ///
    /// # Errors
    /// [`DeviceError::OutOfRange`]: a span is shorter than its picture; as [`Stream::launch`].
    ///
    /// # Safety
    /// Until the launch is over nobody touches `output`, nor writes `input`, and both and this
    /// live. All launches go into one stream.
    pub unsafe fn launch(
        &mut self,
        stream: &mut Stream,
        input: Span<'_>,
        output: Span<'_>,
    ) -> Result<(), DeviceError> {
        let (width, height) = self.size;
        let input = input.first(u64::from(width) * u64::from(height) * 3)?;
        let output = output.first(u64::from(VIEW_PIXELS))?;
        let rows = self.rows.end - self.rows.start;
        let front = match &mut self.remap {
            Some((remap, rectified)) => {
                let (rows, to) = (self.rows.clone(), rectified.whole());
                // SAFETY: (2) of the module.
                unsafe { remap.launch_rows(stream, 3, rows, input, to) }?;
                to
            }
            None => {
                let stride = u64::from(width) * 3;
                let start = input.offset() + u64::from(self.rows.start) * stride;
                input.memory().span(start, u64::from(rows) * stride)?
            }
        };
        let (values, classes) = (self.values.whole(), self.classes.whole());
        let arguments = [
            Argument::In(front),
            Argument::In(self.tables.whole()),
            Argument::In(self.ranges.whole()),
            Argument::Out(values),
            Argument::Out(classes),
            Argument::U32(rows * width),
        ];
        let line = Grid::line(rows * width, LINE);
        // SAFETY: (1) and (2) of the module.
        unsafe { stream.launch(&mut self.colours, line, &arguments) }?;
        let arguments = [
            Argument::In(self.windows.whole()),
            Argument::In(values),
            Argument::Out(classes),
            Argument::U32(width),
            Argument::U32(rows),
            Argument::U32(u32::from(self.contrast_min)),
        ];
        let plane = Grid::plane(width, rows, PLANE);
        // SAFETY: as above.
        unsafe { stream.launch(&mut self.stand_out, plane, &arguments) }?;
        let arguments = [
            Argument::In(self.sources.whole()),
            Argument::In(classes),
            Argument::Out(output),
            Argument::U32(VIEW_PIXELS),
        ];
        // SAFETY: as above.
        unsafe { stream.launch(&mut self.warp, Grid::line(VIEW_PIXELS, LINE), &arguments) }
    }

    /// Width and height of the pictures, pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.size.0 as usize, self.size.1 as usize)
    }

    /// [`Self::launch`] as part of a node's work.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn run(
        &mut self,
        work: &mut Work<'_>,
        from: &Place,
        to: &Place,
    ) -> Result<(), OffloadError> {
        let (from, to) = (from.span()?, to.span()?);
        // SAFETY: (3) of the module.
        Ok(unsafe { self.launch(work.stream(), from, to) }?)
    }
}
