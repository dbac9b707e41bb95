//! The table of a camera and its application by the processor; what it computes is at the head of
//! the crate.

use crate::camera::Camera;
use crate::{CHANNELS_MAX, SIDE_MAX};
use std::ops::Range;

/// Fractional bits of a position.
pub const FRACTION_BITS: u32 = 10;
const ONE: u32 = 1 << FRACTION_BITS;

/// Either coordinate of a position that has no neighbour in the picture.
pub const NOWHERE: i32 = i32::MIN;

/// One output pixel: where its upper left neighbour is, and the two fractions.
#[derive(Clone, Copy, Debug)]
struct Tap {
    /// Pixel index of the upper left neighbour in the raw picture, or [`OUTSIDE`] / [`BORDER`].
    index: u32,
    fx: u16,
    fy: u16,
}

/// No neighbour is inside.
const OUTSIDE: u32 = u32::MAX;
/// Some neighbours are inside: `borders` tells where.
const BORDER: u32 = u32::MAX - 1;

/// The table of one camera and picture size, or of other places in a picture.
#[derive(Debug)]
pub struct RectificationTable {
    /// Of the raw picture.
    width: usize,
    height: usize,
    /// Of the picture that is made.
    made_width: usize,
    taps: Vec<Tap>,
    /// Output pixel and raw position of each tap on the border, in output order.
    borders: Vec<(u32, i32, i32)>,
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
        for (width, height) in [raw, made] {
            assert!(width.max(height) <= SIDE_MAX, "{width} x {height} is more than a table holds");
        }
        let (width, height) = raw;
        let mut taps = Vec::with_capacity(made.0 * made.1);
        let mut borders = Vec::new();
        for v in 0..made.1 {
            for u in 0..made.0 {
                let (x, y) = place(u as f64, v as f64);
                taps.push(tap(x, y, width, height, taps.len(), &mut borders));
            }
        }
        Self { width, height, made_width: made.0, taps, borders }
    }

    /// Size of the raw picture.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// The positions of all output pixels, x and y in units of 1 / 1024 pixel, row by row; both
    /// [`NOWHERE`] where no neighbour is inside.
    pub fn positions(&self) -> impl Iterator<Item = [i32; 2]> + '_ {
        let mut borders = self.borders.iter();
        self.taps.iter().map(move |tap| match tap.index {
            OUTSIDE => [NOWHERE; 2],
            BORDER => borders.next().map_or([NOWHERE; 2], |&(_, px, py)| [px, py]),
            index => {
                let (x, y) = (index as usize % self.width, index as usize / self.width);
                let scaled =
                    |whole: usize, part: u16| (whole << FRACTION_BITS) as i32 | i32::from(part);
                [scaled(x, tap.fx), scaled(y, tap.fy)]
            }
        })
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
            if tap.index >= BORDER {
                to.fill(0);
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
        let start = self.borders.partition_point(|b| (b.0 as usize) < first);
        for &(pixel, px, py) in &self.borders[start..] {
            if pixel as usize >= end {
                break;
            }
            let to = (pixel as usize - first) * CHANNELS;
            self.mix_border(pixels, px, py, &mut out[to..to + CHANNELS]);
        }
    }

    fn mix_border(&self, pixels: &[u8], px: i32, py: i32, to: &mut [u8]) {
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

fn tap(
    x: f64,
    y: f64,
    width: usize,
    height: usize,
    pixel: usize,
    borders: &mut Vec<(u32, i32, i32)>,
) -> Tap {
    let none = Tap { index: OUTSIDE, fx: 0, fy: 0 };
    let scaled = |v: f64, end: usize| {
        let v = (v * f64::from(ONE)).round();
        // One pixel beyond the border still touches it; further out (or NaN) does not.
        let limit = f64::from(ONE) * end as f64;
        (v > -f64::from(ONE) && v < limit).then_some(v as i32)
    };
    let (Some(px), Some(py)) = (scaled(x, width), scaled(y, height)) else {
        return none;
    };
    let (x0, y0) = (px >> FRACTION_BITS, py >> FRACTION_BITS);
    let whole = x0 >= 0 && y0 >= 0 && x0 + 1 < width as i32 && y0 + 1 < height as i32;
    if !whole {
        borders.push((pixel as u32, px, py));
        return Tap { index: BORDER, ..none };
    }
    Tap {
        index: y0 as u32 * width as u32 + x0 as u32,
        fx: (px as u32 & (ONE - 1)) as u16,
        fy: (py as u32 & (ONE - 1)) as u16,
    }
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
}
