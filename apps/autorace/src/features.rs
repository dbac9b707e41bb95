//! Key points with descriptors (FAST-9 corners, ORB-like): a front end for mapping, not a mapper.
//!
//! Bit-exact specification, on the luma of the compensated picture ([`crate::compensation::luma`]):
//! 1. **Corner**: on the circle of 16 pixels of radius 3, at least 9 neighbouring ones are all
//!    brighter than `centre + threshold` or all darker than `centre - threshold`; pixels nearer
//!    than [`MARGIN`] to the edge are none. Its score is the larger of the two sums of
//!    `|difference| - threshold` over all brighter and over all darker circle pixels.
//! 2. **Thinning**: it stays if its score exceeds those of the four neighbours before it in raster
//!    order and is not below those of the four after it; each cell of 64 x 48 pixels keeps its
//!    `per_cell` highest (equal scores: first in raster order).
//! 3. **Direction**: with the moments `mx = sum x I`, `my = sum y I` over the disc
//!    `x^2 + y^2 <= 225` round the corner, the first of 32 directions `i` (11.25 degrees each, x to
//!    y) with the largest `mx C[i] + my S[i]`; `C`, `S` = cosine and sine times 16384, rounded.
//! 4. **Descriptor**: 256 bits; bit `i` (byte `i / 8`, least significant first) is 1 if
//!    `B(a_i) < B(b_i)`, where `B` is the 5 x 5 Gaussian of the luma ([`crate::blur`]) and `a_i`,
//!    `b_i` are the pairs of [`pairs`], turned: `x' = (x C - y S + 8192) >> 14`,
//!    `y' = (x S + y C + 8192) >> 14`.

use crate::blur::Blur;
use crate::compensation::luma;
use crate::image::{Gray, ImageError, Rgb};
use crate::simulator::texture::scatter;
use crate::trig::sin_cos;

/// Pixels at the edge without corners: the turned pairs and the disc stay inside.
pub const MARGIN: usize = 20;
/// Pairs of a descriptor.
const PAIRS: usize = 256;
const DIRECTIONS: usize = 32;
const CELL_WIDTH: usize = 64;
const CELL_HEIGHT: usize = 48;
/// Most corners that a cell may keep.
pub const PER_CELL_MAX: usize = 32;
const DISC: i32 = 15;

/// The circle of radius 3, clockwise from the top.
const CIRCLE: [(i32, i32); 16] = [
    (0, -3),
    (1, -3),
    (2, -2),
    (3, -1),
    (3, 0),
    (3, 1),
    (2, 2),
    (1, 3),
    (0, 3),
    (-1, 3),
    (-2, 2),
    (-3, 1),
    (-3, 0),
    (-3, -1),
    (-2, -2),
    (-1, -3),
];

/// One key point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
    /// Corner score.
    pub score: u16,
    /// Direction, 1/32 turn.
    pub direction: u8,
    /// 256 comparisons.
    pub descriptor: [u8; 32],
}

/// What the front end is told.
#[derive(Clone, Copy, Debug)]
pub struct FeatureParameters {
    /// Levels by which the circle differs from its centre.
    pub threshold: u8,
    /// Corners that a cell of 64 x 48 pixels keeps (at most [`PER_CELL_MAX`]).
    pub per_cell: usize,
}

/// Tables and scratch for one picture size.
#[derive(Debug)]
pub struct FeatureSearch {
    parameters: FeatureParameters,
    size: (usize, usize),
    gray: Vec<u8>,
    smooth: Vec<u8>,
    scores: Vec<u16>,
    blur: Blur,
    /// Per direction: cosine and sine times 16384.
    directions: [(i32, i32); DIRECTIONS],
    /// Per direction and pair: offsets of both pixels from the corner, in the picture's bytes.
    offsets: Vec<[(i32, i32); PAIRS]>,
    cell: Vec<(u16, u16, u16)>,
    found: Vec<Feature>,
}

/// The 256 pairs before turning: each coordinate is the sum of two draws of `0..=13`, less 13,
/// from a fixed seed, so that pairs near the corner are more frequent.
pub fn pairs() -> [[(i32, i32); 2]; PAIRS] {
    let draw = |i: u64, k: u64| (scatter(0x0b5e_55ed, i, k) % 14) as i32;
    let coordinate = |i: u64, k: u64| draw(i, 2 * k) + draw(i, 2 * k + 1) - 13;
    std::array::from_fn(|i| {
        let i = i as u64;
        [(coordinate(i, 0), coordinate(i, 1)), (coordinate(i, 2), coordinate(i, 3))]
    })
}

impl FeatureSearch {
    /// Allocates tables and scratch for pictures of `width` x `height`.
    pub fn new(parameters: FeatureParameters, width: usize, height: usize) -> Self {
        let per_cell = parameters.per_cell.min(PER_CELL_MAX);
        let directions: [(i32, i32); DIRECTIONS] = std::array::from_fn(|i| {
            let turn = 2.0 * std::f64::consts::PI * i as f64 / DIRECTIONS as f64;
            let (sin, cos) = sin_cos(turn);
            ((cos * 16384.0).round() as i32, (sin * 16384.0).round() as i32)
        });
        let base = pairs();
        let offsets = directions.iter().map(|&(cos, sin)| {
            let place = |(x, y): (i32, i32)| {
                let column = (x * cos - y * sin + 8192) >> 14;
                let row = (x * sin + y * cos + 8192) >> 14;
                row * width as i32 + column
            };
            std::array::from_fn(|i| (place(base[i][0]), place(base[i][1])))
        });
        let cells = width.div_ceil(CELL_WIDTH) * height.div_ceil(CELL_HEIGHT);
        Self {
            parameters: FeatureParameters { per_cell, ..parameters },
            size: (width, height),
            gray: vec![0; width * height],
            smooth: vec![0; width * height],
            scores: vec![0; width * height],
            blur: Blur::new(width),
            directions,
            offsets: offsets.collect(),
            cell: Vec::with_capacity(CELL_WIDTH * CELL_HEIGHT),
            found: Vec::with_capacity(cells * per_cell),
        }
    }

    /// Most features that a picture can have.
    pub fn features_max(&self) -> usize {
        self.found.capacity()
    }

    /// The key points of `image`, cell by cell. Does not allocate or block.
    ///
    /// # Errors
    /// [`ImageError::Size`] when the picture has another size than the tables.
    pub fn find(&mut self, image: Rgb<'_>) -> Result<&[Feature], ImageError> {
        let (width, height) = self.size;
        image.expect_size(width, height)?;
        for (to, p) in self.gray.iter_mut().zip(image.data().chunks_exact(3)) {
            *to = luma(p[0], p[1], p[2]);
        }
        self.blur.blur_gray(Gray::new(width, height, &self.gray)?, &mut self.smooth);
        self.score_all();
        self.found.clear();
        for top in (0..height).step_by(CELL_HEIGHT) {
            for left in (0..width).step_by(CELL_WIDTH) {
                self.collect_cell(left, top);
            }
        }
        Ok(&self.found)
    }

    /// Step 1 for every pixel.
    fn score_all(&mut self) {
        let (width, height) = self.size;
        self.scores.fill(0);
        let offsets = CIRCLE.map(|(x, y)| y * width as i32 + x);
        let threshold = i32::from(self.parameters.threshold);
        for y in MARGIN..height.saturating_sub(MARGIN) {
            for x in MARGIN..width.saturating_sub(MARGIN) {
                let at = y * width + x;
                let centre = i32::from(self.gray[at]);
                let pixel =
                    |i: usize| i32::from(self.gray[(at as i32 + offsets[i]) as usize]) - centre;
                // Nine of sixteen in a row hold at least two of these four.
                let quick = [pixel(0), pixel(4), pixel(8), pixel(12)];
                let brighter = quick.iter().filter(|d| **d > threshold).count();
                let darker = quick.iter().filter(|d| **d < -threshold).count();
                if brighter < 2 && darker < 2 {
                    continue;
                }
                self.scores[at] = corner_score(&std::array::from_fn(pixel), threshold);
            }
        }
    }

    /// Steps 2 to 4 for one cell.
    fn collect_cell(&mut self, left: usize, top: usize) {
        let (width, height) = self.size;
        self.cell.clear();
        for y in top.max(1)..(top + CELL_HEIGHT).min(height - 1) {
            for x in left.max(1)..(left + CELL_WIDTH).min(width - 1) {
                let at = y * width + x;
                let score = self.scores[at];
                if score == 0 {
                    continue;
                }
                let s = &self.scores;
                let before = [s[at - width - 1], s[at - width], s[at - width + 1], s[at - 1]];
                let after = [s[at + 1], s[at + width - 1], s[at + width], s[at + width + 1]];
                if before.iter().all(|v| score > *v) && after.iter().all(|v| score >= *v) {
                    self.cell.push((score, x as u16, y as u16));
                }
            }
        }
        self.cell.sort_unstable_by_key(|&(score, x, y)| (std::cmp::Reverse(score), y, x));
        for index in 0..self.cell.len().min(self.parameters.per_cell) {
            let (score, x, y) = self.cell[index];
            let at = usize::from(y) * width + usize::from(x);
            let direction = self.direction(at);
            let descriptor = self.descriptor(at, direction);
            let direction = direction as u8;
            self.found.push(Feature { x, y, score, direction, descriptor });
        }
    }

    fn direction(&self, at: usize) -> usize {
        let (mut mx, mut my) = (0_i64, 0_i64);
        for y in -DISC..=DISC {
            for x in -DISC..=DISC {
                if x * x + y * y <= DISC * DISC {
                    let pixel = (at as i32 + y * self.size.0 as i32 + x) as usize;
                    let value = i64::from(self.gray[pixel]);
                    mx += i64::from(x) * value;
                    my += i64::from(y) * value;
                }
            }
        }
        let along = |i: usize| {
            let (cos, sin) = self.directions[i];
            mx * i64::from(cos) + my * i64::from(sin)
        };
        (1..DIRECTIONS).fold(0, |best, i| if along(i) > along(best) { i } else { best })
    }

    fn descriptor(&self, at: usize, direction: usize) -> [u8; 32] {
        let mut descriptor = [0; 32];
        for (i, (a, b)) in self.offsets[direction].iter().enumerate() {
            let value = |offset: &i32| self.smooth[(at as i32 + offset) as usize];
            descriptor[i / 8] |= u8::from(value(a) < value(b)) << (i % 8);
        }
        descriptor
    }
}

/// Score of a corner, 0 if it is none.
fn corner_score(circle: &[i32; 16], threshold: i32) -> u16 {
    let (mut bright_bits, mut dark_bits) = (0_u32, 0_u32);
    let (mut bright, mut dark) = (0, 0);
    for (i, &difference) in circle.iter().enumerate() {
        if difference > threshold {
            bright_bits |= 1 << i;
            bright += difference - threshold;
        } else if difference < -threshold {
            dark_bits |= 1 << i;
            dark += -difference - threshold;
        }
    }
    if has_arc(bright_bits) || has_arc(dark_bits) { bright.max(dark) as u16 } else { 0 }
}

/// Whether 9 neighbouring of 16 bits in a ring are set.
fn has_arc(bits: u32) -> bool {
    let ring = bits | bits << 16;
    // After folding by 1, 2 and 4, a bit says that it and the 7 above it are set.
    let two = ring & ring >> 1;
    let four = two & two >> 2;
    let eight = four & four >> 4;
    eight & ring >> 8 & 0xffff != 0
}

#[cfg(test)]
mod tests {
    use super::{FeatureParameters, FeatureSearch, has_arc};
    use crate::image::Rgb;

    fn search() -> FeatureSearch {
        FeatureSearch::new(FeatureParameters { threshold: 20, per_cell: 8 }, 160, 120)
    }

    fn square(left: usize, top: usize) -> Vec<u8> {
        let inside =
            |x: usize, y: usize| (left..left + 30).contains(&x) && (top..top + 30).contains(&y);
        (0..160 * 120).flat_map(|i| [if inside(i % 160, i / 160) { 200 } else { 50 }; 3]).collect()
    }

    #[test]
    fn an_arc_of_nine_is_found_wherever_it_starts_and_eight_are_not_enough() {
        for start in 0..16 {
            let arc = |n: u32| (0..n).fold(0, |bits, i| bits | 1 << ((start + i) % 16));
            assert!(has_arc(arc(9)) && has_arc(arc(16)), "{start}");
            assert!(!has_arc(arc(8)), "{start}");
        }
        assert!(!has_arc(0b0101_0101_0101_0101));
    }

    #[test]
    fn a_bright_square_has_four_corners_that_point_inwards_and_move_with_it() {
        let mut search = search();
        let features = |search: &mut FeatureSearch, data: &[u8]| {
            search.find(Rgb::new(160, 120, data).unwrap()).unwrap().to_vec()
        };
        let first = features(&mut search, &square(60, 40));
        assert_eq!(first.len(), 4, "{first:?}");
        let corners = [(60, 40, 4), (89, 40, 12), (89, 69, 20), (60, 69, 28)];
        for (x, y, direction) in corners {
            let near = |f: &&super::Feature| {
                (i32::from(f.x) - x).abs() <= 2 && (i32::from(f.y) - y).abs() <= 2
            };
            let found = first.iter().find(near).expect("a corner of the square");
            assert_eq!(found.direction, direction, "{found:?}");
        }
        let moved = features(&mut search, &square(63, 42));
        let pairs = moved.iter().filter(|m| {
            first.iter().any(|f| {
                (f.x + 3, f.y + 2, f.descriptor, f.score) == (m.x, m.y, m.descriptor, m.score)
            })
        });
        assert_eq!(pairs.count(), 4);
    }

    #[test]
    fn a_blank_picture_has_none() {
        assert!(
            search().find(Rgb::new(160, 120, &[90; 160 * 120 * 3]).unwrap()).unwrap().is_empty()
        );
    }
}
