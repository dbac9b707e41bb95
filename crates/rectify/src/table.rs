//! The table of a camera and its application by the processor; what it computes is at the head of
//! the crate.

use crate::camera::Camera;
use crate::{CHANNELS_MAX, SIDE_MAX};
use std::collections::TryReserveError;
use std::ops::Range;
use thiserror::Error;

/// Fractional bits of a position.
pub const FRACTION_BITS: u32 = 10;
const ONE: u32 = 1 << FRACTION_BITS;

/// Either coordinate of a position that has no neighbour in the picture.
pub const NOWHERE: i32 = i32::MIN;

/// One output pixel: where its upper left neighbour is, and the two fractions. All that is known of
/// a pixel is here, so that no camera makes a table longer than 8 bytes per pixel.
#[derive(Clone, Copy, Debug)]
struct Tap {
    /// Pixel index of the upper left neighbour in the raw picture; of a tap at the [`EDGE`] in the
    /// picture with one more column on the left and one more row above.
    index: u32,
    fx: u16,
    fy: u16,
}

/// Bit of `fx`, above the fraction: not all neighbours are inside.
const EDGE: u16 = 1 << 15;
/// No neighbour is inside.
const OUTSIDE: Tap = Tap { index: u32::MAX, fx: EDGE, fy: 0 };

/// The table of one camera and picture size, or of other places in a picture.
#[derive(Debug)]
pub struct RectificationTable {
    /// Of the raw picture.
    width: usize,
    height: usize,
    /// Of the picture that is made.
    made_width: usize,
    taps: Vec<Tap>,
}

/// Why there is no table.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MakeTableError {
    /// There is no memory for it.
    #[error(
        "there is no memory for the rectification table of {width} x {height} pixels, {bytes} bytes: let the \
         camera publish smaller images, or give the process more memory"
    )]
    Memory {
        /// Pixels per row.
        width: usize,
        /// Rows.
        height: usize,
        /// What the table takes.
        bytes: usize,
        /// Why.
        source: TryReserveError,
    },
}

/// Four neighbours in the order of rows, mixed by fractions in units of 1 / 1024.
#[inline]
pub fn mix(neighbours: [u8; 4], fx: u32, fy: u32) -> u8 {
    let [a, b, c, d] = neighbours.map(u32::from);
    let upper = (ONE - fx) * a + fx * b;
    let lower = (ONE - fx) * c + fx * d;
    (((ONE - fy) * upper + fy * lower + (1 << 19)) >> 20) as u8
}

impl RectificationTable {
    /// Builds the table; allocates 8 bytes per pixel, once.
    ///
    /// # Panics
    /// When a side is longer than [`SIDE_MAX`]: a programmer's error.
    pub fn new(camera: &Camera, width: usize, height: usize) -> Self {
        let size = (width, height);
        Self::of_places(size, size, |u, v| camera.raw_of_rectified(u, v))
    }

    /// As [`new`](Self::new), for a size that somebody else has named.
    ///
    /// # Errors
    /// [`MakeTableError`]: there is no memory.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn try_new(camera: &Camera, width: usize, height: usize) -> Result<Self, MakeTableError> {
        let size = (width, height);
        let mut taps = Vec::new();
        taps.try_reserve_exact(width * height).map_err(|source| {
            let bytes = width * height * size_of::<Tap>();
            MakeTableError::Memory { width, height, bytes, source }
        })?;
        Ok(Self::fill(taps, size, size, |u, v| camera.raw_of_rectified(u, v)))
    }

    /// Builds the table of a picture of the size `made` whose pixel `(u, v)` lies at `place(u, v)`
    /// in a raw picture of the size `raw`; allocates 8 bytes per pixel, once.
    ///
    /// # Panics
    /// When a side is longer than [`SIDE_MAX`]: a programmer's error.
    pub fn of_places(
        raw: (usize, usize),
        made: (usize, usize),
        place: impl Fn(f64, f64) -> (f64, f64),
    ) -> Self {
        Self::fill(Vec::with_capacity(made.0 * made.1), raw, made, place)
    }

    /// The table in `taps`, which is empty and has room for it.
    fn fill(
        mut taps: Vec<Tap>,
        raw: (usize, usize),
        made: (usize, usize),
        place: impl Fn(f64, f64) -> (f64, f64),
    ) -> Self {
        for (width, height) in [raw, made] {
            assert!(width.max(height) <= SIDE_MAX, "{width} x {height} is more than a table holds");
        }
        let (width, height) = raw;
        for v in 0..made.1 {
            for u in 0..made.0 {
                let (x, y) = place(u as f64, v as f64);
                taps.push(tap(x, y, width, height));
            }
        }
        Self { width, height, made_width: made.0, taps }
    }

    /// Size of the raw picture.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The positions of all output pixels, x and y in units of 1 / 1024 pixel, row by row; both
    /// [`NOWHERE`] where no neighbour is inside.
    pub fn positions(&self) -> impl Iterator<Item = [i32; 2]> + '_ {
        self.taps.iter().map(move |tap| match tap {
            Tap { index: u32::MAX, .. } => [NOWHERE; 2],
            Tap { fx: EDGE.., .. } => self.edge_position(*tap),
            Tap { index, fx, fy } => {
                let index = *index as usize;
                let (x, y) = (index % self.width, index / self.width);
                let scaled =
                    |whole: usize, part: u16| (whole << FRACTION_BITS) as i32 | i32::from(part);
                [scaled(x, *fx), scaled(y, *fy)]
            }
        })
    }

    /// The position of a tap at the edge.
    fn edge_position(&self, tap: Tap) -> [i32; 2] {
        let (index, columns) = (tap.index as usize, self.width + 1);
        let scaled =
            |padded: usize, part: u16| ((padded as i32 - 1) << FRACTION_BITS) | i32::from(part);
        [scaled(index % columns, tap.fx & !EDGE), scaled(index / columns, tap.fy)]
    }

    /// Makes the output rows `rows` of the picture `pixels`, which has `CHANNELS` bytes per
    /// pixel, into `out`, which holds just these rows.
    ///
    /// Does not allocate or block.
    ///
    /// # Panics
    /// When `pixels` or `out` has another size than the table says: a programmer's error.
    pub fn apply<const CHANNELS: usize>(&self, pixels: &[u8], rows: Range<usize>, out: &mut [u8]) {
        const { assert!(CHANNELS >= 1 && CHANNELS <= CHANNELS_MAX) }
        let stride = self.width * CHANNELS;
        assert_eq!(pixels.len(), stride * self.height, "size of the table");
        let (first, end) = (rows.start * self.made_width, rows.end * self.made_width);
        assert_eq!(out.len(), (end - first) * CHANNELS, "output holds the asked rows");
        let taps = &self.taps[first..end];
        for (tap, to) in taps.iter().zip(out.chunks_exact_mut(CHANNELS)) {
            if tap.fx >= EDGE {
                self.mix_edge(*tap, pixels, to);
                continue;
            }
            let at = tap.index as usize * CHANNELS;
            let upper = &pixels[at..at + 2 * CHANNELS];
            let lower = &pixels[at + stride..at + stride + 2 * CHANNELS];
            let (fx, fy) = (u32::from(tap.fx), u32::from(tap.fy));
            for c in 0..CHANNELS {
                to[c] = mix([upper[c], upper[c + CHANNELS], lower[c], lower[c + CHANNELS]], fx, fy);
            }
        }
    }

    fn mix_edge(&self, tap: Tap, pixels: &[u8], to: &mut [u8]) {
        if tap.index == OUTSIDE.index {
            to.fill(0);
            return;
        }
        let [px, py] = self.edge_position(tap);
        let (x0, y0) = (px >> FRACTION_BITS, py >> FRACTION_BITS);
        let (fx, fy) = (px as u32 & (ONE - 1), py as u32 & (ONE - 1));
        let channels = to.len();
        let inside = |x: i32, y: i32| {
            let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
            (x < self.width && y < self.height).then_some((y * self.width + x) * channels)
        };
        for (c, to) in to.iter_mut().enumerate() {
            let p = |x, y| inside(x, y).map_or(0, |at| pixels[at + c]);
            *to = mix([p(x0, y0), p(x0 + 1, y0), p(x0, y0 + 1), p(x0 + 1, y0 + 1)], fx, fy);
        }
    }
}

fn tap(x: f64, y: f64, width: usize, height: usize) -> Tap {
    let scaled = |v: f64, end: usize| {
        let v = (v * f64::from(ONE)).round();
        // One pixel beyond the border still touches it; further out (or NaN) does not.
        let limit = f64::from(ONE) * end as f64;
        (v > -f64::from(ONE) && v < limit).then_some(v as i32)
    };
    let (Some(px), Some(py)) = (scaled(x, width), scaled(y, height)) else {
        return OUTSIDE;
    };
    let (x0, y0) = (px >> FRACTION_BITS, py >> FRACTION_BITS);
    let (fx, fy) = ((px as u32 & (ONE - 1)) as u16, (py as u32 & (ONE - 1)) as u16);
    let whole = x0 >= 0 && y0 >= 0 && x0 + 1 < width as i32 && y0 + 1 < height as i32;
    if !whole {
        // Both are -1 at least.
        let index = (y0 + 1) as u32 * (width as u32 + 1) + (x0 + 1) as u32;
        return Tap { index, fx: fx | EDGE, fy };
    }
    Tap { index: y0 as u32 * width as u32 + x0 as u32, fx, fy }
}

#[cfg(test)]
mod tests {
    use super::{NOWHERE, RectificationTable};
    use crate::camera::Camera;

    #[test]
    fn without_distortion_the_picture_stays_as_it_is_also_at_the_border() {
        let camera = Camera::plumb_bob([8.0, 8.0, 3.5, 2.5], [0.0; 5]);
        let data: Vec<u8> = (0..8 * 6 * 3).map(|i| (i * 37 % 251) as u8).collect();
        let table = RectificationTable::new(&camera, 8, 6);
        let mut out = vec![1; data.len()];
        table.apply::<3>(&data, 0..6, &mut out);
        assert_eq!(out, data);
        let mut rows = vec![1; 2 * 24];
        table.apply::<3>(&data, 4..6, &mut rows);
        assert_eq!(rows, data[4 * 24..]);
        let mut grey = vec![1; 48];
        table.apply::<1>(&data[..48], 0..6, &mut grey);
        assert_eq!(grey, data[..48]);
    }

    #[test]
    fn places_of_a_picture_of_another_size_are_taken_from_the_raw_one() {
        // Two rows of three pixels, between those of a raw picture of 4 x 3.
        let table = RectificationTable::of_places((4, 3), (3, 2), |u, v| (u + 0.5, v + 0.5));
        let raw: Vec<u8> = (0..12).map(|at| at * 10).collect();
        let mut made = [0; 6];
        table.apply::<1>(&raw, 0..2, &mut made);
        assert_eq!(made, [25, 35, 45, 65, 75, 85]);
        let mut last = [0; 3];
        table.apply::<1>(&raw, 1..2, &mut last);
        assert_eq!(last, made[3..]);
        assert_eq!(table.positions().nth(4), Some([1536; 2]));
    }

    #[test]
    fn half_a_pixel_beyond_the_border_fades_to_black() {
        let camera = Camera::plumb_bob([4.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]);
        let table = RectificationTable::new(&camera, 4, 4);
        let mut out = [9; 4 * 4 * 3];
        table.apply::<3>(&[200; 4 * 4 * 3], 0..4, &mut out);
        // (3, 0): x = 3/4, r2 = 9/16, raw x = 3 * 25/16 = 4.6875: outside.
        assert_eq!(out[9], 0);
        // (2, 2): r2 = 1/2, raw = 3.0: on the last pixel, whole weight.
        assert_eq!(out[(2 * 4 + 2) * 3], 200);
        // (2, 1): r2 = 5/16, raw x = 2.625, raw y = 1.3125: inside.
        assert_eq!(out[(4 + 2) * 3], 200);
        let positions: Vec<_> = table.positions().collect();
        assert_eq!(positions[3], [NOWHERE; 2]);
        assert_eq!(positions[2 * 4 + 2], [3 * 1024; 2]);
        assert_eq!(positions[4 + 2], [2688, 1344]);
    }

    #[test]
    fn places_at_every_edge_keep_their_fractions() {
        // Between the picture's corners and one pixel beyond them, and a picture of one pixel.
        for (size, places) in [
            ((3, 2), [[-0.5, -0.25], [2.5, -0.75], [-0.125, 1.5], [2.75, 1.25], [2.0, 1.0]]),
            ((1, 1), [[-0.5, -0.25], [0.5, -0.75], [-0.125, 0.5], [0.75, 0.25], [0.0, 0.0]]),
        ] {
            let made = (places.len(), 1);
            let table = RectificationTable::of_places(size, made, |u, _| places[u as usize].into());
            let found: Vec<_> = table.positions().collect();
            assert_eq!(found, places.map(|place| place.map(|v| (v * 1024.0) as i32)));
            let mut out = [0; 5];
            table.apply::<1>(&vec![64; size.0 * size.1], 0..1, &mut out);
            let weight = |v: f64, side: usize| {
                let inside = |at: f64| f64::from(u8::from(at >= 0.0 && at < side as f64));
                let part = v - v.floor();
                (1.0 - part) * inside(v.floor()) + part * inside(v.floor() + 1.0)
            };
            let bright =
                places.map(|[x, y]| (64.0 * weight(x, size.0) * weight(y, size.1)).round());
            assert_eq!(out.map(f64::from), bright);
        }
    }
}
