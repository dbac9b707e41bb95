//! Resizing of 8-bit pictures in integers.
//!
//! Bit-exact specification. A picture of `w` x `h` becomes one of `W` x `H`; the middle of pixel
//! `d` of `W` lies at `(d + 1/2) w / W` of `w`, as everywhere.
//!
//! **Bilinear.** Along each axis the position of pixel `d` is, in units of 1 / 1024 pixel,
//! `p = floor((1024 ((2 d + 1) w - W) + W) / (2 W))`, that is to the nearest unit, ties upwards,
//! limited to `0 ..= 1024 (w - 1)`: beyond the border the outermost pixel repeats. With
//! `x = p >> 10`, `fx = p & 1023`, `x' = min(x + 1, w - 1)`, the same for y, each channel is
//! `(top + bottom + 2^19) >> 20` in 32 bits unsigned ([`crossdock_rectify::mix`]), with
//! `top = (1024 - fy) ((1024 - fx) p(x, y) + fx p(x', y))` and
//! `bottom = fy ((1024 - fx) p(x, y') + fx p(x', y'))`.
//!
//! **Area** (only to smaller pictures): the mean of what pixel `d` covers. With `g = gcd(w, W)`,
//! `s = w / g`, `t = W / g` it covers the units `d s .. (d + 1) s`, and pixel `i` of `w` has the
//! units `i t .. (i + 1) t`; the weight of `i` is how many units both have, so that all weights of
//! an axis sum up to `s`. With both axes each channel is
//! `floor((sum of (weight x) (weight y) p + T / 2) / T)`, `T = s_x s_y` (`T / 2` rounded down). `T`
//! is at most [`AREA_MAX`], so that the sum fits 32 bits.

use crossdock_rectify::{FRACTION_BITS, SIDE_MAX, mix};
use std::ops::Range;
use thiserror::Error;

/// Largest product of the reduced sides of an area: `255.5 T` fits 32 bits.
pub const AREA_MAX: u64 = 1 << 24;

const ONE: u32 = 1 << FRACTION_BITS;

/// How a pixel is made of those that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Of the four nearest.
    Bilinear,
    /// Of all, each as far as it is covered.
    Area,
}

/// Why there is no table from one size to another.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// No size.
    #[error(
        "an image of {width} x {height} would become {to_width} x {to_height}, but images have 1 to \
         {SIDE_MAX} pixels a side: set another factor, or width and height"
    )]
    Side {
        /// Pixels per row.
        width: usize,
        /// Rows.
        height: usize,
        /// Pixels per row of the result.
        to_width: usize,
        /// Rows of the result.
        to_height: usize,
    },
    /// A mean over less than a pixel.
    #[error(
        "an image of {width} x {height} would become {to_width} x {to_height}, but the mean of an area only \
         makes images smaller: set interpolation to bilinear"
    )]
    Larger {
        /// Pixels per row.
        width: usize,
        /// Rows.
        height: usize,
        /// Pixels per row of the result.
        to_width: usize,
        /// Rows of the result.
        to_height: usize,
    },
    /// The weights are too fine.
    #[error(
        "the mean of an area cannot make {to_width} x {to_height} of {width} x {height} in 32 bits: set \
         sides that have a divisor in common with the image's, or interpolation to bilinear"
    )]
    Weights {
        /// Pixels per row.
        width: usize,
        /// Rows.
        height: usize,
        /// Pixels per row of the result.
        to_width: usize,
        /// Rows of the result.
        to_height: usize,
    },
}

/// The tables from one size to another.
#[derive(Debug)]
pub struct Resizer {
    from: (usize, usize),
    to: (usize, usize),
    pub(crate) tables: Tables,
}

/// What the pixels of each axis are made of, x first.
#[derive(Debug)]
pub(crate) enum Tables {
    /// Positions.
    Bilinear([Vec<u32>; 2]),
    /// Reduced ratios.
    Area([Ratio; 2]),
}

/// `s` and `t` of the specification.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl Resizer {
    /// From pictures of one size (width, height) to another. Allocates 4 bytes per row and column
    /// at most.
    ///
    /// # Errors
    /// [`ResizeError`].
    pub fn new(
        from: (usize, usize),
        to: (usize, usize),
        interpolation: Interpolation,
    ) -> Result<Self, ResizeError> {
        let ((width, height), (to_width, to_height)) = (from, to);
        if [width, height, to_width, to_height].iter().any(|side| !(1..=SIDE_MAX).contains(side)) {
            return Err(ResizeError::Side { width, height, to_width, to_height });
        }
        let axes = [(width, to_width), (height, to_height)];
        let tables = match interpolation {
            Interpolation::Bilinear => Tables::Bilinear(
                axes.map(|(from, to)| (0..to).map(|d| position(d, from, to)).collect()),
            ),
            Interpolation::Area => {
                if to_width > width || to_height > height {
                    return Err(ResizeError::Larger { width, height, to_width, to_height });
                }
                let ratios = axes.map(|(from, to)| {
                    let divisor = gcd(from, to);
                    Ratio { from: (from / divisor) as u32, to: (to / divisor) as u32 }
                });
                if u64::from(ratios[0].from) * u64::from(ratios[1].from) > AREA_MAX {
                    return Err(ResizeError::Weights { width, height, to_width, to_height });
                }
                Tables::Area(ratios)
            }
        };
        Ok(Self { from, to, tables })
    }

    /// Size of the pictures that go in: width, height.
    pub fn from(&self) -> (usize, usize) {
        self.from
    }

    /// Size of the pictures that come out: width, height.
    pub fn to(&self) -> (usize, usize) {
        self.to
    }

    /// Resizes the picture `pixels`, which has `CHANNELS` bytes per pixel and packed rows, into
    /// `out`. Does not allocate or block.
    ///
    /// # Panics
    /// When `pixels` or `out` has another size than the tables: a programmer's error.
    pub fn apply<const CHANNELS: usize>(&self, pixels: &[u8], out: &mut [u8]) {
        assert_eq!(pixels.len(), self.from.0 * self.from.1 * CHANNELS, "size of the tables");
        assert_eq!(out.len(), self.to.0 * self.to.1 * CHANNELS, "size of the tables");
        let row = |y: usize| &pixels[y * self.from.0 * CHANNELS..][..self.from.0 * CHANNELS];
        let rows = out.chunks_exact_mut(self.to.0 * CHANNELS).enumerate();
        match &self.tables {
            Tables::Bilinear([columns, lines]) => {
                for (d, to) in rows {
                    let (y, fy) = (lines[d] >> FRACTION_BITS, lines[d] & (ONE - 1));
                    let (y, below) = (y as usize, (y as usize + 1).min(self.from.1 - 1));
                    mix_row::<CHANNELS>(row(y), row(below), columns, fy, to);
                }
            }
            Tables::Area([across, down]) => {
                for (d, to) in rows {
                    self.average_row::<CHANNELS>(*across, *down, d, row, to);
                }
            }
        }
    }

    fn average_row<'a, const CHANNELS: usize>(
        &self,
        across: Ratio,
        down: Ratio,
        d: usize,
        row: impl Fn(usize) -> &'a [u8],
        to: &mut [u8],
    ) {
        let total = across.from * down.from;
        for (column, to) in to.chunks_exact_mut(CHANNELS).enumerate() {
            let mut sums = [total / 2; CHANNELS];
            for y in down.covered(d) {
                let (line, high) = (row(y), down.weight(d, y));
                for x in across.covered(column) {
                    let weight = high * across.weight(column, x);
                    for (sum, value) in sums.iter_mut().zip(&line[x * CHANNELS..]) {
                        *sum += weight * u32::from(*value);
                    }
                }
            }
            for (to, sum) in to.iter_mut().zip(sums) {
                *to = (sum / total) as u8;
            }
        }
    }
}

fn mix_row<const CHANNELS: usize>(
    upper: &[u8],
    lower: &[u8],
    columns: &[u32],
    fy: u32,
    to: &mut [u8],
) {
    let last = upper.len() / CHANNELS - 1;
    for (position, to) in columns.iter().zip(to.chunks_exact_mut(CHANNELS)) {
        let x = (position >> FRACTION_BITS) as usize;
        let (at, right) = (x * CHANNELS, (x + 1).min(last) * CHANNELS);
        for (c, to) in to.iter_mut().enumerate() {
            let neighbours = [upper[at + c], upper[right + c], lower[at + c], lower[right + c]];
            *to = mix(neighbours, position & (ONE - 1), fy);
        }
    }
}

fn position(d: usize, from: usize, to: usize) -> u32 {
    let (d, from, to) = (d as i64, from as i64, to as i64);
    let one = i64::from(ONE);
    let position = (one * ((2 * d + 1) * from - to) + to).div_euclid(2 * to);
    position.clamp(0, one * (from - 1)) as u32
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Ratio {
    /// Pixels of the picture that go into pixel `d`.
    fn covered(self, d: usize) -> Range<usize> {
        let (from, to) = (self.from as usize, self.to as usize);
        d * from / to..((d + 1) * from).div_ceil(to)
    }

    /// Units that pixel `i` of the picture has in common with pixel `d`.
    fn weight(self, d: usize, i: usize) -> u32 {
        let (d, i) = (d as u32, i as u32);
        let end = ((i + 1) * self.to).min((d + 1) * self.from);
        end - (i * self.to).max(d * self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::{Interpolation, Ratio, Resizer};
    use Interpolation::{Area, Bilinear};

    fn resized<const CHANNELS: usize>(
        from: (usize, usize),
        to: (usize, usize),
        interpolation: Interpolation,
        pixels: &[u8],
    ) -> Vec<u8> {
        let mut out = vec![0; to.0 * to.1 * CHANNELS];
        Resizer::new(from, to, interpolation).unwrap().apply::<CHANNELS>(pixels, &mut out);
        out
    }

    #[test]
    fn the_same_size_leaves_a_picture_as_it_is() {
        let pixels: Vec<u8> = (0..7 * 5 * 3).map(|i| (i * 37 % 251) as u8).collect();
        for interpolation in [Bilinear, Area] {
            assert_eq!(resized::<3>((7, 5), (7, 5), interpolation, &pixels), pixels);
        }
    }

    #[test]
    fn halves_are_means_of_four_rounded_up_either_way() {
        let pixels = [0, 1, 10, 20, 0, 1, 30, 41];
        for interpolation in [Bilinear, Area] {
            // (0 + 1 + 0 + 1) / 4 = 0.5 and 101 / 4 = 25.25.
            assert_eq!(resized::<1>((4, 2), (2, 1), interpolation, &pixels), [1, 25]);
        }
    }

    #[test]
    fn an_area_counts_pixels_as_far_as_they_are_covered() {
        // 3 to 2: the middle one goes in equal parts to both.
        assert_eq!(resized::<1>((3, 1), (2, 1), Area, &[30, 60, 90]), [40, 80]);
        let ratio = Ratio { from: 7, to: 3 };
        for d in 0..3 {
            let weights = ratio.covered(d).map(|i| ratio.weight(d, i));
            assert_eq!(weights.sum::<u32>(), 7);
        }
        // White stays white at the largest weights.
        let white = vec![255; 4096 * 2];
        assert!(resized::<1>((4096, 2), (4095, 1), Area, &white).iter().all(|v| *v == 255));
    }

    #[test]
    fn enlarging_keeps_the_border_and_fills_between() {
        assert_eq!(
            resized::<1>((2, 1), (4, 2), Bilinear, &[0, 100]),
            [0, 25, 75, 100, 0, 25, 75, 100]
        );
        assert_eq!(resized::<3>((1, 1), (2, 1), Bilinear, &[1, 2, 3]), [1, 2, 3, 1, 2, 3]);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused_with_the_next_step() {
        let told = |from, to, how| Resizer::new(from, to, how).unwrap_err().to_string();
        assert!(told((640, 480), (0, 1), Bilinear).contains("1 to 16384 pixels"));
        assert!(told((640, 480), (641, 480), Area).contains("interpolation to bilinear"));
        assert!(told((8191, 4093), (100, 100), Area).contains("divisor in common"));
        assert!(Resizer::new((8192, 4096), (4096, 2048), Area).is_ok());
    }
}
