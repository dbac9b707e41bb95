//! Hue, saturation and value of 8-bit rgb in integers.
//!
//! Bit-exact specification (the common 8-bit convention: H 0..=179 in steps of 2 degrees):
//! - `v = max(r, g, b)`, `d = v - min(r, g, b)`;
//! - `s = (d * S[v] + 2048) >> 12` with `S[0] = 0`, `S[i] = round(255 * 4096 / i)`;
//! - `h' = g - b` if `v = r`, else `b - r + 2 d` if `v = g`, else `r - g + 4 d`;
//!   `h = (h' * T[d] + 2048) >> 12` (arithmetic shift), plus 180 if negative, with `T[0] = 0`,
//!   `T[i] = round(180 * 4096 / (6 i))`.
//!
//! Rounding of the tables is half to even; no entry is a tie except those that are exact.

/// One pixel as hue (0..=179), saturation and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hsv {
    /// Hue in units of 2 degrees.
    pub h: u8,
    /// Saturation.
    pub s: u8,
    /// Value.
    pub v: u8,
}

/// A box in HSV space, both ends included. Hue may wrap: `low.h > high.h` means outside-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HsvRange {
    /// Lower ends.
    pub low: Hsv,
    /// Upper ends.
    pub high: Hsv,
}

const fn round_half_even(numerator: u32, denominator: u32) -> i32 {
    let (whole, rest) = (numerator / denominator, numerator % denominator);
    let up = 2 * rest > denominator || (2 * rest == denominator && whole % 2 == 1);
    (whole + up as u32) as i32
}

const fn reciprocal(scale: u32, times: u32) -> [i32; 256] {
    let mut table = [0; 256];
    let mut i = 1;
    while i < 256 {
        table[i] = round_half_even(scale << 12, times * i as u32);
        i += 1;
    }
    table
}

/// `S` of the specification.
pub(crate) static SATURATION: [i32; 256] = reciprocal(255, 1);
/// `T` of the specification.
pub(crate) static HUE: [i32; 256] = reciprocal(180, 6);

/// Converts one pixel. Does not allocate or block.
pub fn hsv(r: u8, g: u8, b: u8) -> Hsv {
    let v = r.max(g).max(b);
    let d = i32::from(v - r.min(g).min(b));
    let s = (d * SATURATION[usize::from(v)] + 2048) >> 12;
    let (r, g, b) = (i32::from(r), i32::from(g), i32::from(b));
    let sector = if i32::from(v) == r {
        g - b
    } else if i32::from(v) == g {
        b - r + 2 * d
    } else {
        r - g + 4 * d
    };
    let h = (sector * HUE[d as usize] + 2048) >> 12;
    Hsv { h: (if h < 0 { h + 180 } else { h }) as u8, s: s as u8, v }
}

impl HsvRange {
    /// Whether `pixel` lies in the box.
    pub fn contains(&self, pixel: Hsv) -> bool {
        let hue = if self.low.h <= self.high.h {
            self.low.h <= pixel.h && pixel.h <= self.high.h
        } else {
            pixel.h >= self.low.h || pixel.h <= self.high.h
        };
        hue && (self.low.s..=self.high.s).contains(&pixel.s)
            && (self.low.v..=self.high.v).contains(&pixel.v)
    }
}

#[cfg(test)]
mod tests {
    use super::{Hsv, HsvRange, hsv};

    #[test]
    fn the_six_corners_and_greys_have_their_textbook_hues() {
        let cases = [
            ((255, 0, 0), (0, 255, 255)),
            ((255, 255, 0), (30, 255, 255)),
            ((0, 255, 0), (60, 255, 255)),
            ((0, 255, 255), (90, 255, 255)),
            ((0, 0, 255), (120, 255, 255)),
            ((255, 0, 255), (150, 255, 255)),
            ((0, 0, 0), (0, 0, 0)),
            ((128, 128, 128), (0, 0, 128)),
            ((255, 0, 1), (0, 255, 255)),
            ((255, 0, 9), (179, 255, 255)),
        ];
        for ((r, g, b), (h, s, v)) in cases {
            assert_eq!(hsv(r, g, b), Hsv { h, s, v }, "{r} {g} {b}");
        }
    }

    #[test]
    fn all_colours_together_have_the_checksum_of_the_convention() {
        // FNV-1a over h, s, v of all 2^24 colours, b fastest; the figure was computed once with
        // another implementation of the same convention.
        let mut sum = 0xcbf2_9ce4_8422_2325_u64;
        for colour in 0..1_u32 << 24 {
            let [_, r, g, b] = colour.to_be_bytes();
            let p = hsv(r, g, b);
            for byte in [p.h, p.s, p.v] {
                sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        assert_eq!(sum, GOLDEN, "{sum:#018x}");
    }

    const GOLDEN: u64 = 0xd22f_261e_ba9e_21a0;

    #[test]
    fn a_hue_range_may_wrap_round_red() {
        let low = Hsv { h: 170, s: 100, v: 100 };
        let red = HsvRange { low, high: Hsv { h: 8, s: 255, v: 255 } };
        assert!(red.contains(Hsv { h: 175, s: 200, v: 200 }));
        assert!(red.contains(Hsv { h: 8, s: 100, v: 255 }));
        assert!(!red.contains(Hsv { h: 90, s: 200, v: 200 }));
        assert!(!red.contains(Hsv { h: 2, s: 99, v: 200 }));
    }
}
