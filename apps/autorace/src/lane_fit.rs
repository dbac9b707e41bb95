//! The polyfit node's core: two parabolas through the marked pixels of the bird's-eye view.
//!
//! Integer specification, bit by bit. With `s = 959 - y`, a line is `k0 s s / 2^20 + k1 s / 2^10 +
//! k2` in 1/256 view pixel, the sum of the first two rounded down. Its coefficients are whole and
//! at most `2^23 - 1` in size. The lines' columns are doubled to keep half pixels:
//! 1. **Points**: every run of 3..=72 neighbouring pixels of a row that carry the line's bit and
//!    that does not touch the view's edge or an unseen pixel is one point `(s, x2 = first + last)`,
//!    at most 8 per row and line, from the left. Left line: yellow; right line: white.
//! 2. **Search** (points with `s` a multiple of 8): all curvatures `32 i` px with `i` in
//!    `-11..=11`, and of each all slopes `32 j` px with `j` in `-8..=8`; each point votes for its
//!    base `x2 / 2 - (i s s >> 15) - (j s >> 5)` in bins of 8 px within `gate` of the expected
//!    base. A line's score is the best sum of two neighbouring bins, and its base the column
//!    between them; the candidate's score is `16 * (left + right)` less one per step of `i` and `j`
//!    between the candidate and the expected shape. The first best candidate wins. Expected: the
//!    lines found last, if not older than `track_age_ns`; else straight ones at columns 160 and
//!    480. Shape: the mean of both lines; bases: their `k2`; rounded, halves up.
//! 3. **Refinement**, four rounds with margins 40, 24, 16 and 16 px: the points within the margin
//!    of the line enter sums up to `s^4`; the normal equations are solved exactly by Cramer's rule,
//!    and each coefficient is the nearest whole number, halves away from zero. A line with fewer
//!    than 200 points or shorter than half of the view keeps the curvature of step 2 or of the
//!    longer line; one shorter than a sixth also keeps the slope.
//! 4. **Validity**: `points_min` points in at least `bands_min` of 16 bands of 60 rows; the lane's
//!    width at s = 96 and s = 432 between 0.65 and 1.5 times 320 px, else the line with fewer
//!    points goes.
//!
//! Messages have `t = s / 960`: `c0 = k0 225 / 2^16`, `c1 = k1 15 / 2^12` and `c2 = k2 / 2^8` are
//! exact in f64.

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
pub(crate) const RUNS_PER_ROW: usize = 8;
const SEARCH_ROWS: i32 = 8;
/// Steps of 32 px to either side that the search tries.
const CURVE_STEPS: i32 = 11;
const SLOPE_STEPS: i32 = 8;
/// Steps of the search in a coefficient, which has 1/256 px: 32 px.
const STEP_BITS: u32 = 13;
const BIN: i32 = 8;
/// Widest gate, view pixels: bounds the vote table.
pub const GATE_MAX: i32 = 160;
const BINS_MAX: usize = (2 * GATE_MAX / BIN) as usize + 1;
const MARGINS: [i64; 4] = [40, 24, 16, 16];
/// The parts of a pixel in a coefficient.
const PARTS: i64 = 256;
const COEFFICIENT_MAX: u128 = (1 << 23) - 1;
/// Where the lane's width is looked at.
const WIDTHS_AT: [i32; 2] = [96, 432];

/// One run of a line's pixels in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) s: i32,
    pub(crate) x2: i32,
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

/// A candidate or refined line: coefficients in 1/256 view pixel, of `s / 1024`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Curve {
    k: [i64; 3],
}

impl Curve {
    /// Straight, at this column.
    const fn straight(column: i32) -> Self {
        Self { k: [0, 0, column as i64 * PARTS] }
    }

    /// Column at `s` in 1/256 px.
    fn at(&self, s: i32) -> i64 {
        let s = i64::from(s);
        let [k0, k1, k2] = self.k;
        (((k0 * s + (k1 << 10)) * s) >> 20) + k2
    }

    /// The same, shifted to the right by so many columns.
    fn beside(&self, columns: i32) -> Self {
        let [k0, k1, k2] = self.k;
        Self { k: [k0, k1, k2 + i64::from(columns) * PARTS] }
    }

    /// Of `s / 960`, in pixels: exact.
    fn line(&self) -> Line {
        let [k0, k1, k2] = self.k;
        Line([(k0 * 225) as f64 / 65_536.0, (k1 * 15) as f64 / 4096.0, k2 as f64 / 256.0])
    }
}

/// The nearest whole number to `numerator / denominator`, halves away from zero, of a coefficient's
/// size at most.
fn nearest(numerator: i128, denominator: i128) -> i64 {
    let denominator = denominator.unsigned_abs();
    let size = (2 * numerator.unsigned_abs() + denominator) / (2 * denominator);
    let size = size.min(COEFFICIENT_MAX) as i64;
    if numerator < 0 { -size } else { size }
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
    lines: [Curve; 2],
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
        for margin in MARGINS {
            let sums = [0, 1].map(|side| Sums::within(&self.points[side], &curves[side], margin));
            // The better supported line first: the other one may borrow its curvature.
            let first = usize::from(sums[1].reach() > sums[0].reach());
            curves[first] = sums[first].solve(curves[first]);
            let mut given = curves[1 - first];
            if sums[first].is_long() {
                given.k[0] = curves[first].k[0];
            }
            curves[1 - first] = sums[1 - first].solve(given);
            support = sums.map(|sums| sums.support());
        }
        let valid = self.judge(&curves, support);
        self.follow(curves, valid, stamp_ns);
        let [left, right] = [0, 1].map(|side| valid[side].then(|| curves[side].line()));
        Fit { lane: Lane { left, right }, left: support[0], right: support[1] }
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

    fn expected(&self, stamp_ns: i64) -> [Curve; 2] {
        match self.track {
            Some(track)
                if stamp_ns >= track.stamp_ns
                    && stamp_ns - track.stamp_ns <= self.parameters.track_age_ns =>
            {
                track.lines
            }
            _ => [LEFT_COLUMN, RIGHT_COLUMN].map(Curve::straight),
        }
    }

    /// Step 2.
    fn search(&self, expected: &[Curve; 2]) -> [Curve; 2] {
        let shape = [0, 1].map(|power| {
            let both = expected[0].k[power] + expected[1].k[power];
            ((both + (1 << STEP_BITS)) >> (STEP_BITS + 1)) as i32
        });
        let bases = expected.map(|line| ((line.k[2] + PARTS / 2) >> 8) as i32);
        let mut best = (i32::MIN, [Curve::default(); 2]);
        for i in -CURVE_STEPS..=CURVE_STEPS {
            for j in -SLOPE_STEPS..=SLOPE_STEPS {
                let votes = [0, 1].map(|side| self.vote(side, i, j, bases[side]));
                let steps = (i - shape[0]).abs() + (j - shape[1]).abs();
                let score = 16 * (votes[0].0 + votes[1].0) - steps;
                if score > best.0 {
                    let curve = |base: i32| {
                        let k = [i << STEP_BITS, j << STEP_BITS, base * 256];
                        Curve { k: k.map(i64::from) }
                    };
                    best = (score, [curve(votes[0].1), curve(votes[1].1)]);
                }
            }
        }
        best.1
    }

    /// Best two neighbouring bins of one line for one shape: their votes and the base between.
    fn vote(&self, side: usize, i: i32, j: i32, base: i32) -> (i32, i32) {
        let gate = self.parameters.gate;
        let bins = (2 * gate / BIN) as usize;
        let mut votes = [0_i32; BINS_MAX];
        for point in self.points[side].iter().filter(|p| p.s % SEARCH_ROWS == 0) {
            let s = point.s;
            let offset = point.x2 / 2 - ((i * s * s) >> 15) - ((j * s) >> 5) - base + gate;
            if (0..bins as i32 * BIN).contains(&offset) {
                votes[(offset / BIN) as usize] += 1;
            }
        }
        let mut best = (0, base);
        for bin in 0..bins {
            let sum = votes[bin] + votes[bin + 1];
            if sum > best.0 {
                best = (sum, base - gate + (bin as i32 + 1) * BIN);
            }
        }
        best
    }

    /// Step 4: which lines are valid.
    fn judge(&self, curves: &[Curve; 2], support: [Support; 2]) -> [bool; 2] {
        let mut valid = support.map(|support| {
            support.points >= self.parameters.points_min
                && support.bands >= self.parameters.bands_min
        });
        let lane = i64::from(LANE_WIDTH) * PARTS;
        let fits = WIDTHS_AT.into_iter().all(|s| {
            let width = curves[1].at(s) - curves[0].at(s);
            (lane * 65 / 100..=lane * 3 / 2).contains(&width)
        });
        if valid == [true, true] && !fits {
            valid[usize::from(support[1].points <= support[0].points)] = false;
        }
        valid
    }

    /// Keeps what is found for the next image; a line that is not stands at a lane's width.
    fn follow(&mut self, [left, right]: [Curve; 2], valid: [bool; 2], stamp_ns: i64) {
        let lines = match valid {
            [true, true] => [left, right],
            [true, false] => [left, left.beside(LANE_WIDTH)],
            [false, true] => [right.beside(-LANE_WIDTH), right],
            [false, false] => return,
        };
        self.track = Some(Track { stamp_ns, lines });
    }
}

/// Step 1 for one row, `s` rows above the lowest one, and one line.
pub(crate) fn collect_runs(row: &[u8], bit: u8, s: i32, points: &mut Vec<Point>) {
    let mut found = 0;
    let mut x = 0;
    while x < row.len() && found < RUNS_PER_ROW {
        // Most of a view is empty: step over eight unmarked pixels at a time.
        while x + 8 <= row.len() && row[x..x + 8].iter().all(|v| v & bit == 0) {
            x += 8;
        }
        while x < row.len() && row[x] & bit == 0 {
            x += 1;
        }
        let first = x;
        while x < row.len() && row[x] & bit != 0 {
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
    fn within(points: &[Point], curve: &Curve, margin: i64) -> Self {
        let mut sums = Self { first: i32::MAX, last: i32::MIN, ..Self::default() };
        for point in points {
            let distance = i64::from(point.x2) * 128 - curve.at(point.s);
            if distance.abs() > margin * PARTS {
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
    fn solve(&self, given: Curve) -> Curve {
        let [n0, n1, n2, n3, n4] = self.s.map(i128::from);
        let [x0, x1, x2] = self.x.map(i128::from);
        let [k0, k1, _] = given.k;
        // Minors of the normal equations; none is below 0.
        let (m0, m1, m2) = (n2 * n0 - n1 * n1, n3 * n0 - n2 * n1, n3 * n1 - n2 * n2);
        if self.is_long() {
            let (m3, m4, m5) = (n4 * n0 - n2 * n2, n4 * n1 - n3 * n2, n4 * n2 - n3 * n3);
            // 200 points lie in 25 rows at least: above 0.
            let d = m0 * n4 - m1 * n3 + m2 * n2;
            let a = m0 * x2 - m1 * x1 + m2 * x0;
            let b = m3 * x1 - m1 * x2 - m4 * x0;
            let c = m2 * x2 - m4 * x1 + m5 * x0;
            return Curve { k: [nearest(a << 27, d), nearest(b << 17, d), nearest(c << 7, d)] };
        }
        // Take the known curvature off, in 2^-28 of a doubled column.
        let y0 = (x0 << 27) - i128::from(k0) * n2;
        let y1 = (x1 << 27) - i128::from(k0) * n3;
        if self.reach() >= VIEW_HEIGHT as i32 / 6 {
            let slope = nearest(n0 * y1 - n1 * y0, m0 << 10);
            return Curve { k: [k0, slope, nearest(n2 * y0 - n1 * y1, m0 << 20)] };
        }
        if n0 == 0 {
            return given;
        }
        // Take the slope off, too.
        Curve { k: [k0, k1, nearest(y0 - (i128::from(k1) << 10) * n1, n0 << 20)] }
    }
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
        assert_eq!(lane.right.map(|line| line.at(0.5).round()), Some(481.0));
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
