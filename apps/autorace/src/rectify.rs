//! Rectification of 8-bit rgb by a fixed-point remap table, P = K, zero border.
//!
//! Bit-exact specification: the table holds for each output pixel the raw position in units of
//! 1 / 1024 pixel, rounded to nearest (ties away from zero), from [`Camera::raw_of_rectified`].
//! With `x0 = px >> 10`, `fx = px & 1023` (the same for y) and neighbours outside of the picture
//! read as 0:
//! `out = ((1024 - fy) ((1024 - fx) p00 + fx p01) + fy ((1024 - fx) p10 + fx p11) + 2^19) >> 20`.
//! All sums fit 32 bits unsigned. A pixel with all four neighbours outside is 0.

use crate::camera::Camera;
use crate::image::Rgb;
use std::ops::Range;

/// Fractional bits of a table entry.
const FRACTION_BITS: u32 = 10;
const ONE: u32 = 1 << FRACTION_BITS;

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

/// The remap table of one camera and picture size.
#[derive(Debug)]
pub struct Rectifier {
    width: usize,
    height: usize,
    taps: Vec<Tap>,
    /// Output pixel and raw position of each tap on the border, in output order.
    borders: Vec<(u32, i32, i32)>,
}

impl Rectifier {
    /// Builds the table; allocates 8 bytes per pixel, once.
    pub fn new(camera: &Camera, width: usize, height: usize) -> Self {
        let mut taps = Vec::with_capacity(width * height);
        let mut borders = Vec::new();
        for v in 0..height {
            for u in 0..width {
                let (x, y) = camera.raw_of_rectified(u as f64, v as f64);
                taps.push(tap(x, y, width, height, taps.len(), &mut borders));
            }
        }
        Self { width, height, taps, borders }
    }

    /// Size of the pictures in and out.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Rectifies the output rows `rows` of `image` into `out`, which holds just these rows.
    ///
    /// Does not allocate or block.
    ///
    /// # Panics
    /// When `image` or `out` has another size than the table: a programmer's error.
    pub fn rectify_rows(&self, image: Rgb<'_>, rows: Range<usize>, out: &mut [u8]) {
        assert_eq!((image.width(), image.height()), (self.width, self.height), "size of the table");
        assert_eq!(out.len(), rows.len() * self.width * 3, "output holds the asked rows");
        let (data, stride) = (image.data(), self.width * 3);
        let first = rows.start * self.width;
        let taps = &self.taps[first..rows.end * self.width];
        for (tap, to) in taps.iter().zip(out.chunks_exact_mut(3)) {
            if tap.index >= BORDER {
                to.fill(0);
                continue;
            }
            let at = tap.index as usize * 3;
            let (upper, lower) = (&data[at..at + 6], &data[at + stride..at + stride + 6]);
            let (fx, fy) = (u32::from(tap.fx), u32::from(tap.fy));
            for c in 0..3 {
                to[c] = mix([upper[c], upper[c + 3], lower[c], lower[c + 3]], fx, fy);
            }
        }
        let end = rows.end * self.width;
        let start = self.borders.partition_point(|b| (b.0 as usize) < first);
        for &(pixel, px, py) in &self.borders[start..] {
            if pixel as usize >= end {
                break;
            }
            let to = (pixel as usize - first) * 3;
            self.mix_border(image, px, py, &mut out[to..to + 3]);
        }
    }

    fn mix_border(&self, image: Rgb<'_>, px: i32, py: i32, to: &mut [u8]) {
        let (x0, y0) = (px >> FRACTION_BITS, py >> FRACTION_BITS);
        let (fx, fy) = (px as u32 & (ONE - 1), py as u32 & (ONE - 1));
        let inside = |x: i32, y: i32| {
            let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
            (x < self.width && y < self.height).then_some((y * self.width + x) * 3)
        };
        for (c, to) in to.iter_mut().enumerate() {
            let p = |x, y| inside(x, y).map_or(0, |at| image.data()[at + c]);
            *to = mix([p(x0, y0), p(x0 + 1, y0), p(x0, y0 + 1), p(x0 + 1, y0 + 1)], fx, fy);
        }
    }
}

fn mix(p: [u8; 4], fx: u32, fy: u32) -> u8 {
    let [a, b, c, d] = p.map(u32::from);
    let upper = (ONE - fx) * a + fx * b;
    let lower = (ONE - fx) * c + fx * d;
    (((ONE - fy) * upper + fy * lower + (1 << 19)) >> 20) as u8
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
    use super::Rectifier;
    use crate::camera::Camera;
    use crate::image::Rgb;

    #[test]
    fn without_distortion_the_picture_stays_as_it_is_also_at_the_border() {
        let camera = Camera { intrinsics: [8.0, 8.0, 3.5, 2.5], distortion: [0.0; 5] };
        let data: Vec<u8> = (0..8 * 6 * 3).map(|i| (i * 37 % 251) as u8).collect();
        let image = Rgb::new(8, 6, &data).unwrap();
        let mut out = vec![1; data.len()];
        Rectifier::new(&camera, 8, 6).rectify_rows(image, 0..6, &mut out);
        assert_eq!(out, data);
        let mut rows = vec![1; 2 * 24];
        Rectifier::new(&camera, 8, 6).rectify_rows(image, 4..6, &mut rows);
        assert_eq!(rows, data[4 * 24..]);
    }

    #[test]
    fn half_a_pixel_beyond_the_border_fades_to_black() {
        // cx moves by half a pixel: raw = rectified + distortion(p2 = 0) + nothing; use k1 instead.
        let camera =
            Camera { intrinsics: [4.0, 4.0, 0.0, 0.0], distortion: [1.0, 0.0, 0.0, 0.0, 0.0] };
        let data = [200; 4 * 4 * 3];
        let mut out = [9; 4 * 4 * 3];
        Rectifier::new(&camera, 4, 4).rectify_rows(Rgb::new(4, 4, &data).unwrap(), 0..4, &mut out);
        // (3, 0): x = 3/4, r2 = 9/16, raw x = 3 * 25/16 = 4.6875: outside.
        assert_eq!(out[9], 0);
        // (2, 2): r2 = 1/2, raw = 3.0: on the last pixel, whole weight.
        assert_eq!(out[(2 * 4 + 2) * 3], 200);
        // (2, 1): r2 = 5/16, raw x = 2.625, raw y = 1.3125: inside.
        assert_eq!(out[(4 + 2) * 3], 200);
    }
}
