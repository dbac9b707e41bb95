//! The polyfit node's core: two parabolas through the marked pixels of the bird's-eye view.
//!
//! Integer specification. With `s = 959 - y` and the lines' columns doubled to keep half pixels:
//! 1. **Points**: every run of 3..=72 neighbouring pixels of a row that carry the line's bit and
//!    that does not touch the view's edge or an unseen pixel is one point `(s, x2 = first + last)`,
//!    at most 8 per row and line, from the left. Left line: yellow; right line: white.
//! 2. **Search** (points of every 8th row): all `c0` in `-320..=320`, `c1` in `-240..=240` in steps
//!    of 20; each point votes for its base `x2 / 2 - (c0 s s + c1 s 960) / 921600` (truncated) in
//!    bins of 10 px within `gate` of the expected base; a line's score is the best sum of two
//!    neighbouring bins, the candidate's score `16 * (left + right)` less one per step between the
//!    candidate and the expected shape. The first best candidate in raster order wins.
//!    Expected: the lines found last, if not older than `track_age_ns`; else straight ones at
//!    columns 160 and 480.
//! 3. **Refinement**, three rounds with margins 40, 24 and 16 px: the points within the margin of
//!    the line enter integer sums up to `s^4`; the normal equations are solved by Cramer's rule in
//!    128-bit integers with one f64 division per coefficient. A line with fewer than 200 points
//!    or shorter than half of the view keeps the curvature of step 2 or of the longer line; one
//!    shorter than a sixth also keeps the slope.
//! 4. **Validity**: `points_min` points in at least `bands_min` of 16 bands of 60 rows; the lane's
//!    width at s = 96 and s = 432 between 0.65 and 1.5 times 320 px, else the line with fewer
//!    points goes.

use crate::lane::{Lane, Line};
use crate::lane_view::{
    LANE_WIDTH, LEFT_COLUMN, RIGHT_COLUMN, UNSEEN, VIEW_HEIGHT, VIEW_WIDTH, WHITE, YELLOW,
};

/// What the fit is told.
#[derive(Clone, Debug)]
pub struct FitParameters {
    /// Half width of the search for a line's base, view pixels.
    pub gate: i32,
    /// Points that a valid line has at least.
    pub points_min: u32,
    /// Bands (of 16) in which a valid line has points.
    pub bands_min: u32,
    /// How old the lines found last may be to be expected again, ns.
    pub track_age_ns: i64,
}

const RUN_MIN: usize = 3;
const RUN_MAX: usize = 72;
const RUNS_PER_ROW: usize = 8;
const SEARCH_ROWS: usize = 8;
const SEARCH_STEP: i32 = 20;
const CURVE_MAX: i32 = 320;
const SLOPE_MAX: i32 = 240;
const BIN: i32 = 10;
/// Widest gate, view pixels: bounds the vote table.
pub const GATE_MAX: i32 = 160;
const BINS_MAX: usize = (2 * GATE_MAX / BIN) as usize + 1;
const MARGINS: [i32; 3] = [40, 24, 16];
const ROWS: i64 = VIEW_HEIGHT as i64;

/// One run of a line's pixels in a row.
#[derive(Clone, Copy, Debug)]
struct Point {
    s: i32,
    x2: i32,
}

/// How well a line is supported by the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// Points within the last margin.
    pub points: u32,
    /// Bands of 60 rows (of 16) that have any.
    pub bands: u32,
}

/// The fit of one image.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fit {
    /// The valid lines.
    pub lane: Lane,
    /// Support of the left line, valid or not.
    pub left: Support,
    /// Support of the right line, valid or not.
    pub right: Support,
}

/// A candidate or refined line: coefficients in 1/256 view pixel.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    c: [i64; 3],
}

impl Curve {
    fn of(line: &Line) -> Self {
        Self { c: line.0.map(|c| (c * 256.0).round() as i64) }
    }

    /// Column at `s` in 1/256 px.
    fn at(&self, s: i32) -> i64 {
        let s = i64::from(s);
        (self.c[0] * s * s + self.c[1] * s * ROWS) / (ROWS * ROWS) + self.c[2]
    }
}

/// Finds the lines of successive images; keeps the lines found last.
#[derive(Debug)]
pub struct LaneFit {
    parameters: FitParameters,
    points: [Vec<Point>; 2],
    track: Option<Track>,
}

#[derive(Clone, Copy, Debug)]
struct Track {
    stamp_ns: i64,
    lines: [Line; 2],
}

impl LaneFit {
    /// Allocates room for the points of one view.
    pub fn new(parameters: FitParameters) -> Self {
        let parameters = FitParameters { gate: parameters.gate.clamp(BIN, GATE_MAX), ..parameters };
        let room = || Vec::with_capacity(VIEW_HEIGHT * RUNS_PER_ROW);
        Self { parameters, points: [room(), room()], track: None }
    }

    /// Fits the lines marked in `view` (the bytes of [`crate::lane_view::LaneView::mark`]), taken
    /// at `stamp_ns`.
    ///
    /// Does not allocate or block.
    ///
    /// # Panics
    /// When `view` has another length than the bird's-eye view: a programmer's error.
    pub fn fit(&mut self, view: &[u8], stamp_ns: i64) -> Fit {
        assert_eq!(view.len(), VIEW_WIDTH * VIEW_HEIGHT, "input is the bird's-eye view");
        self.collect(view);
        let expected = self.expected(stamp_ns);
        let mut curves = self.search(&expected);
        let mut support = [Support::default(); 2];
        let mut lines = [Line([0.0; 3]); 2];
        for margin in MARGINS {
            let sums = [0, 1].map(|side| Sums::within(&self.points[side], &curves[side], margin));
            // The better supported line first: the other one may borrow its curvature.
            let first = usize::from(sums[1].reach() > sums[0].reach());
            lines[first] = sums[first].solve(&curves[first]);
            let lent = if sums[first].is_long() {
                Curve { c: [Curve::of(&lines[first]).c[0], curves[1 - first].c[1], 0] }
            } else {
                curves[1 - first]
            };
            lines[1 - first] =
                sums[1 - first].solve(&Curve { c: [lent.c[0], lent.c[1], curves[1 - first].c[2]] });
            curves = lines.map(|line| Curve::of(&line));
            support = [sums[0].support(), sums[1].support()];
        }
        let fit = self.judge(lines, support);
        self.follow(&fit.lane, &expected, stamp_ns);
        fit
    }

    /// Step 1.
    fn collect(&mut self, view: &[u8]) {
        self.points.iter_mut().for_each(Vec::clear);
        for (y, row) in view.chunks_exact(VIEW_WIDTH).enumerate() {
            let s = (VIEW_HEIGHT - 1 - y) as i32;
            for (bit, points) in [YELLOW, WHITE].into_iter().zip(&mut self.points) {
                collect_runs(row, bit, s, points);
            }
        }
    }

    fn expected(&self, stamp_ns: i64) -> [Line; 2] {
        match self.track {
            Some(track)
                if stamp_ns >= track.stamp_ns
                    && stamp_ns - track.stamp_ns <= self.parameters.track_age_ns =>
            {
                track.lines
            }
            _ => [LEFT_COLUMN, RIGHT_COLUMN].map(|column| Line([0.0, 0.0, f64::from(column)])),
        }
    }

    /// Step 2.
    fn search(&self, expected: &[Line; 2]) -> [Curve; 2] {
        let shape = [0, 1].map(|power| {
            let mean = (expected[0].0[power] + expected[1].0[power]) / 2.0;
            (mean / f64::from(SEARCH_STEP)).round() as i32
        });
        let bases = expected.map(|line| line.0[2].round() as i32);
        let mut best = (i32::MIN, [Curve::default(); 2]);
        for c0 in (-CURVE_MAX..=CURVE_MAX).step_by(SEARCH_STEP as usize) {
            for c1 in (-SLOPE_MAX..=SLOPE_MAX).step_by(SEARCH_STEP as usize) {
                let votes = [0, 1].map(|side| self.vote(side, c0, c1, bases[side]));
                let steps =
                    (c0 / SEARCH_STEP - shape[0]).abs() + (c1 / SEARCH_STEP - shape[1]).abs();
                let score = 16 * (votes[0].0 + votes[1].0) - steps;
                if score > best.0 {
                    let curve = |base: i32| Curve { c: [c0, c1, base].map(|c| i64::from(c) * 256) };
                    best = (score, [curve(votes[0].1), curve(votes[1].1)]);
                }
            }
        }
        best.1
    }

    /// Best two neighbouring bins of one line for one shape: their votes and the base between.
    fn vote(&self, side: usize, c0: i32, c1: i32, base: i32) -> (i32, i32) {
        let gate = self.parameters.gate;
        let bins = (2 * gate / BIN) as usize;
        let mut votes = [0_i32; BINS_MAX];
        for point in self.points[side].iter().filter(|p| p.s % SEARCH_ROWS as i32 == 0) {
            let s = i64::from(point.s);
            let shift = (i64::from(c0) * s * s + i64::from(c1) * s * ROWS) / (ROWS * ROWS);
            let offset = point.x2 / 2 - shift as i32 - base + gate;
            if (0..bins as i32 * BIN).contains(&offset) {
                votes[(offset / BIN) as usize] += 1;
            }
        }
        let mut best = (0, base);
        for bin in 0..bins {
            let sum = votes[bin] + votes[bin + 1];
            if sum > best.0 {
                // Weighted middle of the two bins.
                let middle = bin as i32 * BIN + BIN / 2 + BIN * votes[bin + 1] / sum;
                best = (sum, base - gate + middle);
            }
        }
        best
    }

    /// Step 4.
    fn judge(&self, lines: [Line; 2], support: [Support; 2]) -> Fit {
        let mut valid = support.map(|support| {
            support.points >= self.parameters.points_min
                && support.bands >= self.parameters.bands_min
        });
        if valid == [true, true] {
            let fits = [96.0, 432.0].into_iter().all(|s| {
                let t = s / VIEW_HEIGHT as f64;
                let width = lines[1].at(t) - lines[0].at(t);
                (0.65..=1.5).contains(&(width / f64::from(LANE_WIDTH)))
            });
            if !fits {
                valid[usize::from(support[1].points <= support[0].points)] = false;
            }
        }
        let lane = Lane { left: valid[0].then_some(lines[0]), right: valid[1].then_some(lines[1]) };
        Fit { lane, left: support[0], right: support[1] }
    }

    fn follow(&mut self, lane: &Lane, expected: &[Line; 2], stamp_ns: i64) {
        if lane.left.is_none() && lane.right.is_none() {
            return;
        }
        let width = f64::from(LANE_WIDTH);
        let beside = |line: Line, by: f64| Line([line.0[0], line.0[1], line.0[2] + by]);
        let left = lane.left.or(lane.right.map(|right| beside(right, -width)));
        let right = lane.right.or(lane.left.map(|left| beside(left, width)));
        let lines = [left.unwrap_or(expected[0]), right.unwrap_or(expected[1])];
        self.track = Some(Track { stamp_ns, lines });
    }
}

fn collect_runs(row: &[u8], bit: u8, s: i32, points: &mut Vec<Point>) {
    let mut found = 0;
    let mut x = 0;
    while x < VIEW_WIDTH && found < RUNS_PER_ROW {
        // Most of a view is empty: step over eight unmarked pixels at a time.
        while x + 8 <= VIEW_WIDTH && row[x..x + 8].iter().all(|v| v & bit == 0) {
            x += 8;
        }
        while x < VIEW_WIDTH && row[x] & bit == 0 {
            x += 1;
        }
        let first = x;
        while x < VIEW_WIDTH && row[x] & bit != 0 {
            x += 1;
        }
        let seen = |x: usize| row.get(x).is_some_and(|v| v & UNSEEN == 0);
        let whole = first > 0 && seen(first - 1) && seen(x);
        if (RUN_MIN..=RUN_MAX).contains(&(x - first)) && whole {
            points.push(Point { s, x2: (first + x - 1) as i32 });
            found += 1;
        }
    }
}

/// Integer sums of the points near a curve.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    s: [i64; 5],
    x: [i64; 3],
    first: i32,
    last: i32,
    bands: u32,
}

impl Sums {
    fn within(points: &[Point], curve: &Curve, margin: i32) -> Self {
        let mut sums = Self { first: i32::MAX, last: i32::MIN, ..Self::default() };
        for point in points {
            let distance = i64::from(point.x2) * 128 - curve.at(point.s);
            if distance.abs() > i64::from(margin) * 256 {
                continue;
            }
            let (mut power, s, x2) = (1_i64, i64::from(point.s), i64::from(point.x2));
            for index in 0..5 {
                sums.s[index] += power;
                if index < 3 {
                    sums.x[index] += power * x2;
                }
                power *= s;
            }
            sums.first = sums.first.min(point.s);
            sums.last = sums.last.max(point.s);
            sums.bands |= 1 << (point.s / 60);
        }
        sums
    }

    /// Rows from the first to the last point.
    fn reach(&self) -> i32 {
        if self.s[0] == 0 { 0 } else { self.last - self.first }
    }

    fn is_long(&self) -> bool {
        self.s[0] >= 200 && self.reach() >= VIEW_HEIGHT as i32 / 2
    }

    fn support(&self) -> Support {
        Support { points: self.s[0] as u32, bands: self.bands.count_ones() }
    }

    /// Least squares; what the points cannot say comes from `given`.
    fn solve(&self, given: &Curve) -> Line {
        let rows = VIEW_HEIGHT as f64;
        let kept = given.c.map(|c| c as f64 / 256.0);
        let n = self.s.map(i128::from);
        let x = self.x.map(i128::from);
        if self.is_long() {
            let d = det([[n[4], n[3], n[2]], [n[3], n[2], n[1]], [n[2], n[1], n[0]]]);
            if d > 0 {
                let a = det([[x[2], n[3], n[2]], [x[1], n[2], n[1]], [x[0], n[1], n[0]]]);
                let b = det([[n[4], x[2], n[2]], [n[3], x[1], n[1]], [n[2], x[0], n[0]]]);
                let c = det([[n[4], n[3], x[2]], [n[3], n[2], x[1]], [n[2], n[1], x[0]]]);
                let by = 2.0 * d as f64;
                return Line([a as f64 / by * (rows * rows), b as f64 / by * rows, c as f64 / by]);
            }
        }
        // Take the known curvature off: x2 - 2 c0 s^2 / 960^2, times 256 * 960^2 to stay whole.
        let scale = 256 * i128::from(ROWS * ROWS);
        let curve = 2 * i128::from(given.c[0]);
        let (x0, x1) = (scale * x[0] - curve * n[2], scale * x[1] - curve * n[3]);
        let d = n[0] * n[2] - n[1] * n[1];
        if self.reach() >= VIEW_HEIGHT as i32 / 6 && d > 0 {
            let by = 2.0 * scale as f64 * d as f64;
            let slope = (n[0] * x1 - n[1] * x0) as f64 / by * rows;
            return Line([kept[0], slope, (n[2] * x0 - n[1] * x1) as f64 / by]);
        }
        if n[0] == 0 {
            return Line(kept);
        }
        // Take the slope off, too: 2 c1 s / 960.
        let x0 = x0 - 2 * i128::from(given.c[1]) * i128::from(ROWS) * n[1];
        Line([kept[0], kept[1], x0 as f64 / (2.0 * scale as f64 * n[0] as f64)])
    }
}

fn det(m: [[i128; 3]; 3]) -> i128 {
    m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
}

#[cfg(test)]
mod tests {
    use super::{FitParameters, LaneFit};
    use crate::lane::{Line, t_of_row};
    use crate::lane_view::{VIEW_HEIGHT, VIEW_WIDTH, WHITE, YELLOW};

    fn draw(view: &mut [u8], line: &Line, bit: u8, rows: impl Iterator<Item = usize>) {
        for y in rows {
            let x = line.at(t_of_row(y as f64)).round() as i64;
            for x in (x - 6)..=(x + 6) {
                if (0..VIEW_WIDTH as i64).contains(&x) {
                    view[y * VIEW_WIDTH + x as usize] |= bit;
                }
            }
        }
    }

    fn fit() -> LaneFit {
        LaneFit::new(FitParameters {
            gate: 70,
            points_min: 60,
            bands_min: 3,
            track_age_ns: 500_000_000,
        })
    }

    #[test]
    fn drawn_parabolas_come_back_also_when_the_right_one_is_dashed() {
        let left = Line([-110.0, -6.0, 171.0]);
        let right = Line([-100.0, -45.0, 487.0]);
        let mut view = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
        draw(&mut view, &left, YELLOW, 0..VIEW_HEIGHT);
        draw(&mut view, &right, WHITE, (100..900).filter(|y| y % 240 < 90));
        let found = fit().fit(&view, 0);
        for (found, drawn) in [(found.lane.left, left), (found.lane.right, right)] {
            let found = found.expect("line is valid");
            for t in [0.0, 0.25, 0.5] {
                assert!((found.at(t) - drawn.at(t)).abs() < 2.0, "{found:?} {drawn:?} at {t}");
            }
        }
    }

    #[test]
    fn an_empty_view_has_no_lane_and_one_line_alone_is_one_sided() {
        let mut view = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
        let mut fit = fit();
        assert_eq!(fit.fit(&view, 0).lane, crate::lane::Lane::default());
        draw(&mut view, &Line([0.0, 0.0, 481.0]), WHITE, 0..VIEW_HEIGHT);
        let lane = fit.fit(&view, 1).lane;
        assert!(lane.left.is_none());
        assert_eq!(lane.centre_at(0.5, 570.0).map(|x| x.round()), Some(321.0));
    }

    #[test]
    fn lines_at_the_wrong_distance_are_not_both_believed() {
        let mut view = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
        draw(&mut view, &Line([0.0, 0.0, 226.0]), YELLOW, 0..VIEW_HEIGHT);
        draw(&mut view, &Line([0.0, 0.0, 415.0]), WHITE, 300..VIEW_HEIGHT);
        let lane = fit().fit(&view, 0).lane;
        assert!(lane.left.is_some() && lane.right.is_none(), "{lane:?}");
    }
}
