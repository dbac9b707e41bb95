//! Red or green traffic lights: the largest lamp-like patch of one HSV range.
//!
//! Bit-exact specification, on the compensated rgb8 picture:
//! 1. a pixel belongs to the mask if its HSV ([`crate::hsv`]) lies in the range; only the rows
//!    `0 .. height * rows_permille / 1000` are looked at;
//! 2. patches are connected over edges and corners (8 neighbours);
//! 3. a patch is a lamp if its area is `area_min ..= area_max` pixels, it fills at least
//!    `fill_permille` of its box, and its box is at most `aspect_permille / 1000` times as long as
//!    it is wide, either way; a box that touches the picture's edge, where the lamp is cut off, is
//!    exempt from the last rule;
//! 4. lamps have a dark housing: of the pixels of the picture that are outside of the box but
//!    within `max(2, side / 4)` pixels of it (`side` is the longer one), at least
//!    `housing_permille` have a value of at most `housing_value_max`;
//! 5. the lamp with the largest area is the light; of equals the one whose first pixel comes first
//!    in raster order.
//!
//! At most [`RUNS_MAX`] runs of mask pixels are looked at, in raster order: a picture with more
//! is not one of a lamp.

use crate::hsv::{HsvRange, hsv};
use crate::image::Rgb;

/// Bound of the run table.
pub const RUNS_MAX: usize = 16_384;

/// A share of 0 to `most`, in 1/1000; none if it is not.
pub(crate) fn permille(value: f64, most: f64) -> Option<u32> {
    (0.0..=most).contains(&value).then(|| (value * 1000.0).round() as u32)
}

/// What a lamp looks like.
#[derive(Clone, Debug)]
pub struct LampParameters {
    /// Colour of the lamp.
    pub range: HsvRange,
    /// Smallest area, pixels.
    pub area_min: u32,
    /// Largest area, pixels.
    pub area_max: u32,
    /// Share of its box that it fills at least, 1/1000.
    pub fill_permille: u32,
    /// Length of its box by its width at most, 1/1000.
    pub aspect_permille: u32,
    /// Share of the picture's rows, from the top, that are searched, 1/1000.
    pub rows_permille: u32,
    /// Share of the pixels round its box that are dark at least, 1/1000; 0: do not look.
    pub housing_permille: u32,
    /// Largest value of a dark pixel.
    pub housing_value_max: u8,
}

/// A patch of one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lamp {
    /// Pixels.
    pub area: u32,
    /// Leftmost column, top row, width and height.
    pub bounds: [i32; 4],
}

#[derive(Clone, Copy, Debug)]
struct Run {
    first: u32,
    last: u32,
    /// Index of a run of the same patch that is not later; itself at the root.
    parent: u32,
}

#[derive(Clone, Copy, Debug)]
struct Patch {
    area: u32,
    left: u32,
    top: u32,
    right: u32,
    bottom: u32,
}

/// Scratch of the search; one per node.
#[derive(Debug)]
pub struct LampSearch {
    parameters: LampParameters,
    runs: Vec<Run>,
    patches: Vec<Patch>,
}

impl LampSearch {
    /// Allocates the bounded tables.
    pub fn new(parameters: LampParameters) -> Self {
        Self {
            parameters,
            runs: Vec::with_capacity(RUNS_MAX),
            patches: Vec::with_capacity(RUNS_MAX),
        }
    }

    /// The largest lamp of `image`, if there is one. Does not allocate or block.
    pub fn find(&mut self, image: Rgb<'_>) -> Option<Lamp> {
        self.runs.clear();
        self.patches.clear();
        let rows = image.height() * self.parameters.rows_permille.min(1000) as usize / 1000;
        let mut above = 0..0;
        for y in 0..rows {
            let start = self.runs.len();
            self.collect_row(image.row(y), y as u32);
            let here = start..self.runs.len();
            self.connect(above, here.clone());
            above = here;
        }
        self.gather();
        let mut best: Option<Lamp> = None;
        for (index, patch) in self.patches.iter().enumerate() {
            let root = self.runs[index].parent as usize == index;
            let better = root && best.is_none_or(|b| patch.area > b.area);
            if better && self.is_lamp(patch, &image) && self.is_housed(patch, &image) {
                let (width, height) = (patch.right - patch.left + 1, patch.bottom - patch.top + 1);
                let bounds = [patch.left, patch.top, width, height].map(|v| v as i32);
                best = Some(Lamp { area: patch.area, bounds });
            }
        }
        best
    }

    fn collect_row(&mut self, row: &[u8], y: u32) {
        let mut open: Option<u32> = None;
        let range = &self.parameters.range;
        let (least, most) = (range.low.v, range.high.v);
        let end = (row.len() / 3) as u32;
        let pixels = row.chunks_exact(3).map(|p| {
            let v = p[0].max(p[1]).max(p[2]);
            least <= v && v <= most && range.contains(hsv(p[0], p[1], p[2]))
        });
        for (x, inside) in (0..).zip(pixels.chain(std::iter::once(false))) {
            match (open, inside) {
                (None, true) => open = Some(x),
                (Some(first), false) => {
                    open = None;
                    if self.runs.len() < RUNS_MAX {
                        let parent = self.runs.len() as u32;
                        let last = x.min(end) - 1;
                        self.runs.push(Run { first, last, parent });
                        let area = last - first + 1;
                        let (left, right) = (first, last);
                        self.patches.push(Patch { area, left, top: y, right, bottom: y });
                    }
                }
                _ => {}
            }
        }
    }

    /// Joins the runs of two neighbouring rows that touch.
    fn connect(&mut self, above: std::ops::Range<usize>, here: std::ops::Range<usize>) {
        let mut from = above.start;
        for index in here {
            let run = self.runs[index];
            while from < above.end && self.runs[from].last + 1 < run.first {
                from += 1;
            }
            let mut other = from;
            while other < above.end && self.runs[other].first <= run.last + 1 {
                let (a, b) = (self.root(index as u32), self.root(other as u32));
                self.runs[a.max(b) as usize].parent = a.min(b);
                other += 1;
            }
        }
    }

    fn root(&mut self, mut index: u32) -> u32 {
        while self.runs[index as usize].parent != index {
            let up = self.runs[index as usize].parent;
            // Halve the path: keeps later look-ups short.
            self.runs[index as usize].parent = self.runs[up as usize].parent;
            index = up;
        }
        index
    }

    /// Adds each run's patch to its root's.
    fn gather(&mut self) {
        for index in 0..self.runs.len() {
            let root = self.root(index as u32) as usize;
            if root != index {
                let part = self.patches[index];
                let whole = &mut self.patches[root];
                whole.area += part.area;
                whole.left = whole.left.min(part.left);
                whole.right = whole.right.max(part.right);
                whole.top = whole.top.min(part.top);
                whole.bottom = whole.bottom.max(part.bottom);
            }
        }
    }

    fn is_lamp(&self, patch: &Patch, image: &Rgb<'_>) -> bool {
        let p = &self.parameters;
        let (width, height) = (patch.right - patch.left + 1, patch.bottom - patch.top + 1);
        let cut = patch.left == 0
            || patch.top == 0
            || patch.right as usize + 1 == image.width()
            || patch.bottom as usize + 1 == image.height();
        let (long, short) = (u64::from(width.max(height)), u64::from(width.min(height)));
        let full = u64::from(patch.area) * 1000
            >= u64::from(p.fill_permille) * u64::from(width) * u64::from(height);
        (p.area_min..=p.area_max).contains(&patch.area)
            && full
            && (cut || long * 1000 <= u64::from(p.aspect_permille) * short)
    }

    /// Rule 4.
    fn is_housed(&self, patch: &Patch, image: &Rgb<'_>) -> bool {
        if self.parameters.housing_permille == 0 {
            return true;
        }
        let (width, height) = (patch.right - patch.left + 1, patch.bottom - patch.top + 1);
        let reach = (width.max(height) / 4).max(2);
        let columns = patch.left.saturating_sub(reach) as usize
            ..(patch.right as usize + reach as usize + 1).min(image.width());
        let rows = patch.top.saturating_sub(reach) as usize
            ..(patch.bottom as usize + reach as usize + 1).min(image.height());
        let (mut dark, mut all) = (0_u64, 0_u64);
        for y in rows {
            let row = image.row(y);
            let beside = (y as u32) < patch.top || y as u32 > patch.bottom;
            for x in columns.clone() {
                if beside || (x as u32) < patch.left || x as u32 > patch.right {
                    let value = row[x * 3].max(row[x * 3 + 1]).max(row[x * 3 + 2]);
                    dark += u64::from(value <= self.parameters.housing_value_max);
                    all += 1;
                }
            }
        }
        dark * 1000 >= u64::from(self.parameters.housing_permille) * all
    }
}

#[cfg(test)]
mod tests {
    use super::{Lamp, LampParameters, LampSearch};
    use crate::hsv::{Hsv, HsvRange};
    use crate::image::Rgb;

    fn search() -> LampSearch {
        LampSearch::new(LampParameters {
            range: HsvRange {
                low: Hsv { h: 0, s: 200, v: 200 },
                high: Hsv { h: 24, s: 255, v: 255 },
            },
            area_min: 5,
            area_max: 10_000,
            fill_permille: 400,
            aspect_permille: 2500,
            rows_permille: 1000,
            housing_permille: 500,
            housing_value_max: 90,
        })
    }

    fn picture(text: &[&str]) -> (usize, usize, Vec<u8>) {
        let pixel = |c: char| if c == '#' { [255, 10, 10] } else { [40, 40, 40] };
        let data = text.iter().flat_map(|row| row.chars().flat_map(pixel)).collect();
        (text[0].len(), text.len(), data)
    }

    fn find(text: &[&str]) -> Option<Lamp> {
        let (width, height, data) = picture(text);
        search().find(Rgb::new(width, height, &data).unwrap())
    }

    #[test]
    fn the_largest_connected_patch_wins_and_corners_connect() {
        let lamp = find(&[
            "............",
            ".##......#..",
            ".##.....#.#.",
            ".......#...#",
            "........#.#.",
            ".........#..",
        ]);
        // The ring of 8 pixels fills 8 of 25: too thin a lamp; the block has only 4 pixels.
        assert_eq!(lamp, None);
        let lamp = find(&["........", ".##..##.", ".###.##.", "..##....", "....###.", "........"]);
        assert_eq!(lamp, Some(Lamp { area: 10, bounds: [1, 1, 6, 4] }));
    }

    #[test]
    fn two_arms_that_meet_below_are_one_patch() {
        let lamp = find(&["......", ".#..#.", ".#..#.", ".####.", ".####.", "......"]);
        assert_eq!(lamp, Some(Lamp { area: 12, bounds: [1, 1, 4, 4] }));
    }

    #[test]
    fn a_patch_on_a_bright_wall_is_no_lamp() {
        let (width, height, mut data) =
            picture(&["......", ".####.", ".####.", ".####.", "......"]);
        let found = |data: &[u8]| search().find(Rgb::new(width, height, data).unwrap());
        assert_eq!(found(&data).map(|l| l.bounds), Some([1, 1, 4, 3]));
        data.iter_mut().filter(|v| **v == 40).for_each(|v| *v = 140);
        assert_eq!(found(&data), None);
    }

    #[test]
    fn a_long_bar_is_no_lamp_unless_the_edge_cuts_it() {
        assert_eq!(find(&["........", ".######.", "........"]), None);
        let lamp = find(&[".######.", "........"]);
        assert_eq!(lamp.map(|l| l.area), Some(6));
    }
}
