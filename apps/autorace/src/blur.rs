//! 5 x 5 Gaussian blur of 8-bit pictures (rgb or grey), exact in integers.
//!
//! Bit-exact specification: per channel, weights `w = [1 4 6 4 1]` in both directions,
//! `out = (sum over dx, dy in -2..=2 of w[dx] w[dy] in(x + dx, y + dy) + 128) >> 8`; coordinates
//! beyond the border are clamped to it (the outermost pixel repeats). Every product and sum fits
//! 16 bits: 255 * 256 + 128 < 65536. Separable with no intermediate rounding.

use crate::image::{Gray, Rgb};

/// Scratch of the blur: five rows of horizontal sums.
#[derive(Debug)]
pub struct Blur {
    stride: usize,
    padded: Vec<u8>,
    rows: [Vec<u16>; 5],
}

/// Pixels that the window reaches beyond its centre.
const REACH: usize = 2;

impl Blur {
    /// Scratch for rgb pictures `width` pixels wide; allocates once.
    pub fn new(width: usize) -> Self {
        Self {
            stride: width * 3,
            padded: vec![0; (width + 2 * REACH) * 3],
            rows: std::array::from_fn(|_| vec![0; width * 3]),
        }
    }

    /// Blurs `image` into `out`. Does not allocate (unless the picture is wider) or block.
    ///
    /// # Panics
    /// When `out` has another length than the picture: a programmer's error.
    pub fn blur(&mut self, image: Rgb<'_>, out: &mut [u8]) {
        self.blur_rows::<3>(image.data(), image.width(), image.height(), out);
    }

    /// The same for a grey picture.
    ///
    /// # Panics
    /// When `out` has another length than the picture: a programmer's error.
    pub fn blur_gray(&mut self, image: Gray<'_>, out: &mut [u8]) {
        self.blur_rows::<1>(image.data(), image.width(), image.height(), out);
    }

    fn blur_rows<const C: usize>(
        &mut self,
        data: &[u8],
        width: usize,
        height: usize,
        out: &mut [u8],
    ) {
        assert_eq!(out.len(), data.len(), "output and input have the same size");
        let stride = width * C;
        if stride > self.stride {
            *self = Self::new(width);
        }
        if stride == 0 || height == 0 {
            return;
        }
        let row = |y: usize| &data[y * stride..(y + 1) * stride];
        for y in 0..REACH.min(height) {
            self.sum_row::<C>(row(y), y);
        }
        for (y, to) in out.chunks_exact_mut(stride).enumerate() {
            if y + REACH < height {
                self.sum_row::<C>(row(y + REACH), y + REACH);
            }
            let at = |dy: usize| &self.rows[(y + dy).saturating_sub(REACH).min(height - 1) % 5];
            let (a, b, c, d, e) = (at(0), at(1), at(2), at(3), at(4));
            let outer = a[..stride].iter().zip(&e[..stride]);
            let inner = b[..stride].iter().zip(&d[..stride]);
            for (((to, (a, e)), (b, d)), c) in to.iter_mut().zip(outer).zip(inner).zip(&c[..stride])
            {
                *to = ((a + e + 4 * (b + d) + 6 * c + 128) >> 8) as u8;
            }
        }
    }

    /// Horizontal weights of one row, into the slot `y % 5`.
    fn sum_row<const C: usize>(&mut self, row: &[u8], y: usize) {
        let stride = row.len();
        self.padded[REACH * C..REACH * C + stride].copy_from_slice(row);
        for i in 0..REACH {
            self.padded.copy_within(REACH * C..REACH * C + C, i * C);
            let last = REACH * C + stride;
            self.padded.copy_within(last - C..last, last + i * C);
        }
        let p = &self.padded;
        let taps =
            p[..stride].iter().zip(&p[C..]).zip(&p[2 * C..]).zip(&p[3 * C..]).zip(&p[4 * C..]);
        for (to, ((((a, b), c), d), e)) in self.rows[y % 5].iter_mut().zip(taps) {
            let [a, b, c, d, e] = [a, b, c, d, e].map(|v| u16::from(*v));
            *to = a + e + 4 * (b + d) + 6 * c;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Blur;
    use crate::image::{Gray, Rgb};

    fn reference(width: usize, height: usize, data: &[u8]) -> Vec<u8> {
        let w = [1_u32, 4, 6, 4, 1];
        let mut out = vec![0; data.len()];
        for (i, to) in out.iter_mut().enumerate() {
            let (y, x, c) = (i / 3 / width, i / 3 % width, i % 3);
            let mut sum = 128;
            for dy in 0..5 {
                for dx in 0..5 {
                    let yy = (y + dy).saturating_sub(2).min(height - 1);
                    let xx = (x + dx).saturating_sub(2).min(width - 1);
                    sum += w[dx] * w[dy] * u32::from(data[(yy * width + xx) * 3 + c]);
                }
            }
            *to = (sum >> 8) as u8;
        }
        out
    }

    #[test]
    fn every_size_equals_the_sum_of_25_products() {
        let mut state = 1_u32;
        let mut blur = Blur::new(1);
        for (width, height) in [(1, 1), (1, 7), (7, 1), (2, 2), (3, 4), (5, 5), (17, 9), (64, 3)] {
            let data: Vec<u8> = (0..width * height * 3)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect();
            let mut out = vec![0; data.len()];
            blur.blur(Rgb::new(width, height, &data).unwrap(), &mut out);
            assert_eq!(out, reference(width, height, &data), "{width} x {height}");
            let one: Vec<u8> = data.chunks(3).map(|p| p[1]).collect();
            let green: Vec<u8> = out.chunks(3).map(|p| p[1]).collect();
            let mut out = vec![0; one.len()];
            blur.blur_gray(Gray::new(width, height, &one).unwrap(), &mut out);
            assert_eq!(out, green, "grey {width} x {height}");
        }
    }
}
