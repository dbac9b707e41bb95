//! Image compensation: stretches the brightness so that a clipped share of outliers saturates.
//!
//! Bit-exact specification, 8-bit rgb in and out, same size:
//! 1. luma of a pixel: `y = (77 r + 150 g + 29 b + 128) >> 8` (0..=255);
//! 2. histogram of `y` over all `n` pixels;
//! 3. `cut = n * clip_per_myriad / 20000` (integer division): pixels to drop at either end;
//!    `low` is the first bin whose running count exceeds `cut`, `high` the last one whose count
//!    from the top exceeds `cut`; if `high - low < 16` (a blank picture), the table is the
//!    identity;
//! 4. table: `v <= low -> 0`, `v >= high -> 255`,
//!    else `((v - low) * 255 + (high - low) / 2) / (high - low)`;
//! 5. each channel of each pixel goes through the table.
//!
//! Two passes over the picture; no state is kept from one image to the next.

use crate::image::Rgb;

/// Smallest brightness range, in levels, that is stretched: below it there is only noise.
const RANGE_MIN: usize = 16;

/// The brightness range that [`compensate`] maps to 0..=255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Brightest level that becomes 0.
    pub low: u8,
    /// Darkest level that becomes 255.
    pub high: u8,
}

/// Luma of one pixel, 0..=255.
pub fn luma(r: u8, g: u8, b: u8) -> u8 {
    ((77 * u32::from(r) + 150 * u32::from(g) + 29 * u32::from(b) + 128) >> 8) as u8
}

/// Pixels that are dropped at either end of the histogram of so many.
pub(crate) fn cut(pixels: u64, clip_per_myriad: u32) -> u64 {
    pixels * u64::from(clip_per_myriad) / 20_000
}

/// Finds the range of `image` when `clip_per_myriad` / 10000 of its pixels count as outliers.
///
/// Half of them are dropped at either end. Does not allocate or block.
pub fn measure(image: Rgb<'_>, clip_per_myriad: u32) -> Range {
    // Four partial histograms: neighbouring pixels are often equal, and adding to one counter
    // again and again would wait for its own store.
    let mut parts = [[0_u32; 256]; 4];
    for (index, p) in image.data().chunks_exact(3).enumerate() {
        parts[index & 3][usize::from(luma(p[0], p[1], p[2]))] += 1;
    }
    let bin = |v: usize| parts.iter().map(|part| u64::from(part[v])).sum::<u64>();
    let cut = cut((image.width() * image.height()) as u64, clip_per_myriad);
    let first_beyond = |bins: [usize; 256]| {
        let mut count = 0;
        bins.into_iter().find(|&v| {
            count += bin(v);
            count > cut
        })
    };
    // With cut < pixels / 2 both exist unless the picture is empty.
    let low = first_beyond(std::array::from_fn(|v| v)).unwrap_or(0);
    let high = first_beyond(std::array::from_fn(|v| 255 - v)).unwrap_or(255);
    if high < low + RANGE_MIN {
        return Range { low: 0, high: 255 };
    }
    Range { low: low as u8, high: high as u8 }
}

/// The table of step 4.
pub fn table(range: Range) -> [u8; 256] {
    let (low, high) = (u32::from(range.low), u32::from(range.high));
    let mut table = [0; 256];
    for (v, out) in (0_u32..).zip(table.iter_mut()) {
        *out = if v <= low {
            0
        } else if v >= high {
            255
        } else {
            (((v - low) * 255 + (high - low) / 2) / (high - low)) as u8
        };
    }
    table
}

/// Compensates `image` into `out`, which must have the same number of bytes.
///
/// Does not allocate or block.
///
/// # Panics
/// When `out` has another length: a programmer's error.
pub fn compensate(image: Rgb<'_>, clip_per_myriad: u32, out: &mut [u8]) -> Range {
    assert_eq!(out.len(), image.data().len(), "output and input have the same size");
    let range = measure(image, clip_per_myriad);
    let table = table(range);
    for (to, &from) in out.iter_mut().zip(image.data()) {
        *to = table[usize::from(from)];
    }
    range
}

#[cfg(test)]
mod tests {
    use super::{Range, compensate, measure, table};
    use crate::image::Rgb;

    #[test]
    fn a_ramp_loses_its_outliers_and_fills_the_whole_range() {
        // 100 grey pixels 100..200: one per cent clips nothing at 50 / 10000, one pixel at 200.
        let data: Vec<u8> = (100..200_u8).flat_map(|v| [v, v, v]).collect();
        let image = Rgb::new(100, 1, &data).unwrap();
        assert_eq!(measure(image, 50), Range { low: 100, high: 199 });
        assert_eq!(measure(image, 200), Range { low: 101, high: 198 });
        let mut out = vec![0; data.len()];
        compensate(image, 200, &mut out);
        assert_eq!((out[0], out[3], out[297], out[294]), (0, 0, 255, 255));
        assert_eq!(out[50 * 3], ((150 - 101) * 255 + 48_u32).div_euclid(97) as u8);
    }

    #[test]
    fn a_blank_picture_is_left_alone() {
        let data = [77; 300];
        let mut out = [0; 300];
        let range = compensate(Rgb::new(10, 10, &data).unwrap(), 100, &mut out);
        assert_eq!(range, Range { low: 0, high: 255 });
        assert_eq!(out, data);
        assert!(table(range).iter().enumerate().all(|(v, &to)| v == usize::from(to)));
    }
}
