//! The lane planner's core: which pixels of the road are yellow or white line, seen from above.
//!
//! Bit-exact specification, after rectification ([`crossdock_rectify`]) of the rows that the view
//! uses:
//! 1. each pixel to HSV ([`crate::hsv`]); bit [`YELLOW`] if it lies in the yellow range, bit
//!    [`WHITE`] if it lies in the white range and stands out of its row: with the window sums
//!    `L = sum v(x - outer ..= x - inner)`, `R = sum v(x + inner ..= x + outer)` over the `nl`,
//!    `nr` pixels of them that are inside the picture, `v * nl >= L + contrast_min * nl` and the
//!    same on the right (an empty window is satisfied). `inner` and `outer` are per row: 6 % and
//!    16 % of the lane's width there, rounded half up, at least 3 and `inner + 2` pixels;
//! 2. bird's-eye view of 640 x 960: each of its pixels copies the bits of the front pixel nearest
//!    to the inverse homography of its centre (coordinates rounded, ties away from zero);
//!    pixels without one are [`UNSEEN`]. y = 959 is nearest to the vehicle.
//!
//! The contrast condition keeps bright road surface, walls and sky out, whatever the exposure.

use crate::camera::{Camera, Homography};
use crate::hsv::{HsvRange, hsv};
use crate::image::{ImageError, Rgb};
use crossdock_rectify::RectificationTable;

/// Columns of the bird's-eye view.
pub const VIEW_WIDTH: usize = 640;
/// Rows of the bird's-eye view.
pub const VIEW_HEIGHT: usize = 960;
/// Distance in view pixels between the lines of a straight lane, and where they stand.
pub const LANE_WIDTH: i32 = 320;
/// Column of the left line of a straight lane.
pub const LEFT_COLUMN: i32 = 160;
/// Column of the right line of a straight lane.
pub const RIGHT_COLUMN: i32 = 480;
/// Mask bit: white line.
pub const WHITE: u8 = 1;
/// Mask bit: yellow line.
pub const YELLOW: u8 = 2;
/// Mask bit: the camera does not see this place.
pub const UNSEEN: u8 = 4;

/// What the lane planner is told.
#[derive(Clone, Debug)]
pub struct ViewParameters {
    /// Camera for the rectification; none: pictures are used as they are.
    pub camera: Option<Camera>,
    /// Rectified picture to bird's-eye view.
    pub homography: Homography,
    /// HSV box of the yellow line.
    pub yellow: HsvRange,
    /// HSV box of the white line.
    pub white: HsvRange,
    /// Levels of value by which a white pixel exceeds the mean on either side of it.
    pub contrast_min: u8,
}

/// What is computed once for one picture size, for the processor and for devices.
#[derive(Debug)]
pub(crate) struct ViewTables {
    pub(crate) parameters: ViewParameters,
    pub(crate) size: (usize, usize),
    pub(crate) remap: Option<RectificationTable>,
    /// Rows of the front picture that the view uses.
    pub(crate) rows: std::ops::Range<usize>,
    /// Contrast windows of each row in `rows`.
    pub(crate) windows: Vec<Window>,
    /// Front pixel of each view pixel, counted from the first row of `rows`, or [`OUTSIDE`].
    pub(crate) warp: Vec<u32>,
}

/// Tables and scratch for one picture size.
#[derive(Debug)]
pub struct LaneView {
    tables: ViewTables,
    rectified: Vec<u8>,
    classes: Vec<u8>,
    marker: RowMarker,
}

/// Marks the lines in rows of one width.
#[derive(Debug)]
pub(crate) struct RowMarker {
    values: Vec<u8>,
    white: Vec<bool>,
    sums: Vec<u32>,
}

pub(crate) const OUTSIDE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) inner: usize,
    pub(crate) outer: usize,
}

impl ViewTables {
    pub(crate) fn new(parameters: ViewParameters, width: usize, height: usize) -> Self {
        let front = parameters.homography.inverse();
        let mut warp = Vec::with_capacity(VIEW_WIDTH * VIEW_HEIGHT);
        let (mut first, mut last) = (height, 0);
        for y in 0..VIEW_HEIGHT {
            for x in 0..VIEW_WIDTH {
                let (u, v) = front.apply(x as f64, y as f64);
                let (u, v) = (u.round(), v.round());
                let inside = u >= 0.0 && v >= 0.0 && u < width as f64 && v < height as f64;
                if inside {
                    let (u, v) = (u as usize, v as usize);
                    (first, last) = (first.min(v), last.max(v));
                    warp.push((v * width + u) as u32);
                } else {
                    warp.push(OUTSIDE);
                }
            }
        }
        let rows = if first <= last { first..last + 1 } else { 0..0 };
        for index in warp.iter_mut().filter(|index| **index != OUTSIDE) {
            *index -= (rows.start * width) as u32;
        }
        let windows =
            rows.clone().map(|v| window(&parameters.homography, &front, v, width)).collect();
        let remap = parameters.camera.map(|camera| RectificationTable::new(&camera, width, height));
        Self { parameters, size: (width, height), remap, windows, warp, rows }
    }
}

impl LaneView {
    /// Builds the tables for pictures of `width` x `height`; allocates about 8 MB at 640 x 480.
    pub fn new(parameters: ViewParameters, width: usize, height: usize) -> Self {
        let tables = ViewTables::new(parameters, width, height);
        let pixels = tables.rows.len() * width;
        Self {
            tables,
            rectified: vec![0; pixels * 3],
            classes: vec![0; pixels],
            marker: RowMarker::new(width),
        }
    }

    /// Marks the lines of `image` in the view `out` of [`VIEW_WIDTH`] * [`VIEW_HEIGHT`] bytes.
    ///
    /// Does not allocate or block.
    ///
    /// # Errors
    /// [`ImageError::Size`] when the picture has another size than the tables.
    ///
    /// # Panics
    /// When `out` has another length: a programmer's error.
    pub fn mark(&mut self, image: Rgb<'_>, out: &mut [u8]) -> Result<(), ImageError> {
        assert_eq!(out.len(), VIEW_WIDTH * VIEW_HEIGHT, "output is the bird's-eye view");
        let ViewTables { size: (width, height), rows, .. } = &self.tables;
        image.expect_size(*width, *height)?;
        let (width, rows) = (*width, rows.clone());
        let mut rectified = std::mem::take(&mut self.rectified);
        match &self.tables.remap {
            Some(table) => table.apply::<3>(image.data(), rows, &mut rectified),
            None => rectified
                .copy_from_slice(&image.data()[rows.start * width * 3..rows.end * width * 3]),
        }
        for (index, row) in rectified.chunks_exact(width * 3).enumerate() {
            self.classify(index, row);
        }
        self.rectified = rectified;
        for (to, &from) in out.iter_mut().zip(&self.tables.warp) {
            *to = if from == OUTSIDE { UNSEEN } else { self.classes[from as usize] };
        }
        Ok(())
    }

    /// Step 1 for one rectified row.
    fn classify(&mut self, index: usize, row: &[u8]) {
        let ViewTables { parameters, size: (width, _), windows, .. } = &self.tables;
        let classes = &mut self.classes[index * width..(index + 1) * width];
        let contrast = (parameters.contrast_min, windows[index]);
        self.marker.mark(row, [&parameters.yellow, &parameters.white], contrast, classes);
    }
}

impl RowMarker {
    /// Allocates room for rows of this width.
    pub(crate) fn new(width: usize) -> Self {
        Self { values: vec![0; width], white: vec![false; width], sums: vec![0; width + 1] }
    }

    /// Step 1 for one row: the marks of pixels that are yellow, and of white ones that exceed the
    /// road beside them by so much, into `classes`.
    ///
    /// Does not allocate or block.
    pub(crate) fn mark(
        &mut self,
        row: &[u8],
        [yellow, white]: [&HsvRange; 2],
        (contrast_min, Window { inner, outer }): (u8, Window),
        classes: &mut [u8],
    ) {
        let width = classes.len();
        let mut sum = 0;
        for (x, p) in row.chunks_exact(3).enumerate() {
            let pixel = hsv(p[0], p[1], p[2]);
            classes[x] = if yellow.contains(pixel) { YELLOW } else { 0 };
            self.white[x] = white.contains(pixel);
            self.values[x] = pixel.v;
            sum += u32::from(pixel.v);
            self.sums[x + 1] = sum;
        }
        let contrast = u32::from(contrast_min);
        let exceeds = |v: u32, from: usize, to: usize| {
            let n = to.saturating_sub(from) as u32;
            n == 0 || v * n >= self.sums[to] - self.sums[from] + contrast * n
        };
        for (x, class) in classes.iter_mut().enumerate() {
            if !self.white[x] {
                continue;
            }
            let v = u32::from(self.values[x]);
            let left = exceeds(v, x.saturating_sub(outer), (x + 1).saturating_sub(inner));
            if left && exceeds(v, (x + inner).min(width), (x + outer + 1).min(width)) {
                *class |= WHITE;
            }
        }
    }
}

/// Contrast window of front row `v`: shares of the lane's width there.
fn window(homography: &Homography, front: &Homography, v: usize, width: usize) -> Window {
    // The view's row of the lane's middle at this front row, then one front pixel to the side.
    let middle = width as f64 / 2.0;
    let (_, row) = homography.apply(middle, v as f64);
    let (left, _) = front.apply(f64::from(LEFT_COLUMN), row);
    let (right, _) = front.apply(f64::from(RIGHT_COLUMN), row);
    let lane = (right - left).max(0.0).min(width as f64);
    let inner = ((lane * 0.06 + 0.5) as usize).max(3);
    let outer = ((lane * 0.16 + 0.5) as usize).max(inner + 2);
    Window { inner, outer }
}
