//! Lane following's core: where the lane's two stripes are in a projected picture of the road.
//!
//! The picture has any size whose columns are a multiple of 8 and whose rows are one of
//! [`BANDS`]; a lane is 320 columns wide, and its middle stands in the picture's. Integer
//! specification, bit by bit. Columns are doubled to keep half pixels, `s` counts rows from below:
//! 1. **Marks**: each pixel is marked yellow or white as in step 1 of [`crate::lane_view`], with
//!    windows from 19 to 51 pixels in all rows.
//! 2. **Points**: step 1 of [`crate::lane_fit`]; nothing is unseen but what is beside the picture.
//! 3. **Windows**: the rows are [`BANDS`] bands of equal height, `s = 0` in the first one. From
//!    band to band a window follows each stripe, with its middle at first where the stripe is
//!    expected (step 5), and then where the band before says. A band's points within `gate` of the
//!    middle, or 40 pixels if a band before has found the stripe, count. If they are as many as a
//!    fifth of the band's rows, rounded down and 1 at least, the stripe is found there: its column
//!    is the mean of the points, to the nearest, halves up. The window of the next band is a
//!    *drift* further than this column, or than the window if nothing is found. The drift is 0,
//!    until two bands one behind the other have found the stripe: then it is the difference of
//!    their columns, 64 pixels at most.
//! 4. **Stripe**: its column is that of band 2. If it is not found there, it is the middle of the
//!    window, or the column of the first band that has found it, if that lies above. It is valid if
//!    `points_min` points count in all bands and `bands_min` bands have found it. If both are, and
//!    lie less than 0.65 or more than 1.5 lanes apart, the one with fewer points goes, the right
//!    one if they have as many.
//! 5. **Expected**: what the last picture with a valid stripe has found, if it is not older than
//!    `track_age_ns`: the column of the first band that has found the stripe, or a lane beside that
//!    of the other one if the stripe is not valid. Else half a lane beside the middle.
//!
//! A message has the columns of a bird's-eye view whose middle is 320: a stripe is the line without
//! slope at `column / 2 - width / 2 + 320`.

use crate::hsv::HsvRange;
use crate::image::{ImageError, Rgb};
use crate::lane::{Lane, Line};
use crate::lane_fit::{Point, RUNS_PER_ROW, collect_runs};
use crate::lane_view::{LANE_WIDTH, RowMarker, VIEW_WIDTH, WHITE, Window, YELLOW};
use thiserror::Error;

/// Parts of a picture, one above the other.
pub const BANDS: usize = 12;
/// The band whose columns are followed.
const FOLLOWED: usize = 2;
/// Contrast windows: 6 % and 16 % of a lane.
pub(crate) const WINDOW: Window = Window { inner: 19, outer: 51 };
/// Half width of a window behind a band that has found the stripe, doubled.
const MARGIN: i32 = 2 * 40;
/// Of the drift, doubled.
const DRIFT_MAX: i32 = 2 * 64;
/// A lane, doubled.
const LANE: i32 = 2 * LANE_WIDTH;
/// Widest gate, columns.
pub const GATE_MAX: i32 = 160;
/// Sides of pictures.
pub(crate) const WIDTHS: std::ops::RangeInclusive<usize> = 400..=2040;
/// Rows that hardware can count.
pub(crate) const HEIGHT_MAX: usize = 1020;

/// What lane following is told.
#[derive(Clone, Debug)]
pub struct StripeParameters {
    /// Width and height of projected pictures.
    pub size: (usize, usize),
    /// HSV box of the yellow line.
    pub yellow: HsvRange,
    /// HSV box of the white line.
    pub white: HsvRange,
    /// Levels of value by which a white pixel exceeds the mean on either side of it.
    pub contrast_min: u8,
    /// Half width of the window in which a stripe is looked for first, columns.
    pub gate: i32,
    /// Points that a valid stripe has at least.
    pub points_min: u32,
    /// Bands that have found a valid stripe, at least.
    pub bands_min: u32,
    /// How old the stripes found last may be to be expected again, ns.
    pub track_age_ns: i64,
}

/// The parameters cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StripeError {
    /// The size of pictures.
    #[error(
        "projected pictures are {width} x {height}, but lane following needs a width that is a \
         multiple of 8 from {} to {}, and a height that is a multiple of {BANDS} and at most \
         {HEIGHT_MAX}: project to another size",
        WIDTHS.start(), WIDTHS.end()
    )]
    Size {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// The gate.
    #[error("gate is {gate} columns, but must be 1 to {GATE_MAX}")]
    Gate {
        /// Columns.
        gate: i32,
    },
}

/// Fails unless pictures of this size can be followed.
pub(crate) fn check_size((width, height): (usize, usize)) -> Result<(), StripeError> {
    let fits = WIDTHS.contains(&width) && width.is_multiple_of(8);
    let is_high = (BANDS..=HEIGHT_MAX).contains(&height) && height.is_multiple_of(BANDS);
    if fits && is_high { Ok(()) } else { Err(StripeError::Size { width, height }) }
}

/// What is found of one stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stripe {
    /// Doubled, in the followed band.
    column: i32,
    /// Doubled, of the first band that has found it.
    base: i32,
    points: u32,
    bands: u32,
}

#[derive(Clone, Copy, Debug)]
struct Track {
    stamp_ns: i64,
    bases: [i32; 2],
}

/// Finds the stripes of successive pictures; keeps what was found last.
#[derive(Debug)]
pub struct Stripes {
    parameters: StripeParameters,
    marker: RowMarker,
    marks: Vec<u8>,
    points: [Vec<Point>; 2],
    track: Option<Track>,
}

impl Stripes {
    /// Allocates room for the points of a picture.
    ///
    /// # Errors
    /// [`StripeError`]: the size of pictures, or the gate.
    pub fn new(parameters: StripeParameters) -> Result<Self, StripeError> {
        check_size(parameters.size)?;
        let gate = parameters.gate;
        if !(1..=GATE_MAX).contains(&gate) {
            return Err(StripeError::Gate { gate });
        }
        let (width, height) = parameters.size;
        let room = || Vec::with_capacity(height * RUNS_PER_ROW);
        let (marker, marks) = (RowMarker::new(width), vec![0; width]);
        Ok(Self { parameters, marker, marks, points: [room(), room()], track: None })
    }

    /// The stripes in the projected picture `image`, taken at `stamp_ns`, as lines of a bird's-eye
    /// view.
    ///
    /// Does not allocate or block.
    ///
    /// # Errors
    /// [`ImageError::Size`] when the picture has another size.
    pub fn find(&mut self, image: Rgb<'_>, stamp_ns: i64) -> Result<Lane, ImageError> {
        let (width, height) = self.parameters.size;
        image.expect_size(width, height)?;
        self.collect(image);
        let expected = self.expected(stamp_ns);
        let stripes = [0, 1].map(|side| self.follow(side, expected[side]));
        let valid = self.judge(stripes);
        self.keep(stripes, valid, stamp_ns);
        let shift = VIEW_WIDTH as i32 - width as i32;
        let line = |column: i32| Line([0.0, 0.0, f64::from(column + shift) / 2.0]);
        let [left, right] = [0, 1].map(|side| valid[side].then(|| line(stripes[side].column)));
        Ok(Lane { left, right })
    }

    /// Steps 1 and 2.
    fn collect(&mut self, image: Rgb<'_>) {
        let StripeParameters { size: (_, height), yellow, white, contrast_min, .. } =
            &self.parameters;
        self.points.iter_mut().for_each(Vec::clear);
        for y in 0..*height {
            let row = image.row(y);
            self.marker.mark(row, [yellow, white], (*contrast_min, WINDOW), &mut self.marks);
            let s = (height - 1 - y) as i32;
            for (bit, points) in [YELLOW, WHITE].into_iter().zip(&mut self.points) {
                collect_runs(&self.marks, bit, s, points);
            }
        }
    }

    /// Step 5.
    fn expected(&self, stamp_ns: i64) -> [i32; 2] {
        let middle = self.parameters.size.0 as i32;
        match self.track {
            Some(Track { stamp_ns: last_ns, bases })
                if stamp_ns >= last_ns && stamp_ns - last_ns <= self.parameters.track_age_ns =>
            {
                bases
            }
            _ => [middle - LANE / 2, middle + LANE / 2],
        }
    }

    /// Steps 3 and 4 for one stripe.
    fn follow(&self, side: usize, expected: i32) -> Stripe {
        let rows = self.parameters.size.1 / BANDS;
        let least = (rows / 5).max(1) as u32;
        let mut points = self.points[side].iter().rev().peekable();
        let (mut window, mut drift, mut before) = (expected, 0, None::<i32>);
        let mut stripe = Stripe::default();
        for band in 0..BANDS {
            let end = ((band + 1) * rows) as i32;
            let margin = if stripe.bands == 0 { 2 * self.parameters.gate } else { MARGIN };
            let (mut count, mut sum) = (0, 0);
            while let Some(point) = points.next_if(|point| point.s < end) {
                if (point.x2 - window).abs() <= margin {
                    count += 1;
                    sum += point.x2;
                }
            }
            stripe.points += count;
            let found = (count >= least).then(|| (2 * sum + count as i32) / (2 * count as i32));
            if let (Some(column), Some(before)) = (found, before) {
                drift = (column - before).clamp(-DRIFT_MAX, DRIFT_MAX);
            }
            let at = found.unwrap_or(window);
            if let Some(column) = found {
                if stripe.bands == 0 {
                    stripe.base = column;
                }
                stripe.bands += 1;
            }
            // The first band that has found it counts if it lies above.
            if band == FOLLOWED || (band > FOLLOWED && stripe.bands == 1 && found.is_some()) {
                stripe.column = at;
            }
            before = found;
            window = at + drift;
        }
        stripe
    }

    fn judge(&self, [left, right]: [Stripe; 2]) -> [bool; 2] {
        let StripeParameters { points_min, bands_min, .. } = self.parameters;
        let mut valid =
            [left, right].map(|it| it.points >= points_min && it.bands >= bands_min.max(1));
        let fits = (LANE * 65 / 100..=LANE * 3 / 2).contains(&(right.column - left.column));
        if valid == [true, true] && !fits {
            valid[usize::from(right.points <= left.points)] = false;
        }
        valid
    }

    fn keep(&mut self, [left, right]: [Stripe; 2], valid: [bool; 2], stamp_ns: i64) {
        let bases = match valid {
            [true, true] => [left.base, right.base],
            [true, false] => [left.base, left.base + LANE],
            [false, true] => [right.base - LANE, right.base],
            [false, false] => return,
        };
        self.track = Some(Track { stamp_ns, bases });
    }
}

#[cfg(test)]
mod tests {
    use super::{StripeError, StripeParameters, Stripes};
    use crate::hsv::{Hsv, HsvRange};
    use crate::image::Rgb;
    use crate::lane::Lane;

    const SIZE: (usize, usize) = (1000, 600);
    const YELLOW: [u8; 3] = [230, 200, 20];
    const WHITE: [u8; 3] = [240, 240, 240];

    fn parameters() -> StripeParameters {
        let range = |low: [u8; 3], high: [u8; 3]| {
            let hsv = |[h, s, v]: [u8; 3]| Hsv { h, s, v };
            HsvRange { low: hsv(low), high: hsv(high) }
        };
        StripeParameters {
            size: SIZE,
            yellow: range([15, 75, 100], [36, 255, 255]),
            white: range([0, 0, 110], [179, 70, 255]),
            contrast_min: 12,
            gate: 110,
            points_min: 60,
            bands_min: 3,
            track_age_ns: 500_000_000,
        }
    }

    /// The column of a stripe in each row, if it is there, and its colour.
    type Stripe<'a> = (&'a dyn Fn(usize) -> Option<i64>, [u8; 3]);

    /// A grey road with stripes of 12 columns whose middles lie at `column(s)`.
    fn road(stripes: &[Stripe<'_>]) -> Vec<u8> {
        let mut data = vec![60; SIZE.0 * SIZE.1 * 3];
        for (column, colour) in stripes {
            for s in 0..SIZE.1 {
                let Some(middle) = column(s) else { continue };
                for x in (middle - 6)..(middle + 6) {
                    let Ok(x) = usize::try_from(x) else { continue };
                    if x < SIZE.0 {
                        let at = ((SIZE.1 - 1 - s) * SIZE.0 + x) * 3;
                        data[at..at + 3].copy_from_slice(colour);
                    }
                }
            }
        }
        data
    }

    fn columns(lane: &Lane) -> [Option<f64>; 2] {
        [lane.left, lane.right].map(|line| line.map(|line| line.0[2]))
    }

    fn found(stripes: &mut Stripes, data: &[u8], stamp_ns: i64) -> [Option<f64>; 2] {
        let image = Rgb::new(SIZE.0, SIZE.1, data).expect("whole");
        columns(&stripes.find(image, stamp_ns).expect("of this size"))
    }

    #[test]
    fn bent_and_dashed_stripes_are_found_at_the_height_that_is_followed() {
        // Two bands see each dash; the curve leaves the first gate far behind.
        let left = |s: usize| Some(330 + (s * s / 1200) as i64);
        let right = |s: usize| (s % 250 < 150).then(|| 650 + (s * s / 1200) as i64);
        let data = road(&[(&left, YELLOW), (&right, WHITE)]);
        let mut stripes = Stripes::new(parameters()).expect("usable");
        let [Some(left), Some(right)] = found(&mut stripes, &data, 0) else {
            panic!("both are there");
        };
        // At s = 124: 13 columns further, less the middle of a pixel, and 180 columns beside the
        // view.
        assert!((left - 162.5).abs() < 1.5 && (right - 482.5).abs() < 1.5, "{left} {right}");
    }

    #[test]
    fn a_stripe_that_moved_is_expected_where_it_was_unless_that_is_long_ago() {
        let mut stripes = Stripes::new(parameters()).expect("usable");
        let at = |column: i64| road(&[(&move |_| Some(column), WHITE)]);
        let right = |columns: [Option<f64>; 2]| columns[1];
        assert_eq!(right(found(&mut stripes, &at(760), 0)), Some(579.5));
        let second = 1_000_000_000;
        assert_eq!(right(found(&mut stripes, &at(860), second / 2)), Some(679.5));
        assert_eq!(right(found(&mut stripes, &at(860), second)), Some(679.5));
        assert_eq!(right(found(&mut stripes, &at(860), 2 * second)), None);
    }

    #[test]
    fn an_empty_road_has_no_stripe_and_two_at_a_wrong_distance_are_not_both_believed() {
        let mut stripes = Stripes::new(parameters()).expect("usable");
        assert_eq!(found(&mut stripes, &road(&[]), 0), [None; 2]);
        let narrow = road(&[(&|_| Some(440), YELLOW), (&|s| (s >= 50).then_some(560), WHITE)]);
        assert_eq!(found(&mut stripes, &narrow, 0), [Some(259.5), None]);
    }

    #[test]
    fn sizes_that_have_no_bands_or_no_room_for_a_lane_are_refused() {
        for size in [(1000, 601), (1004, 600), (320, 600), (1000, 0), (2048, 600)] {
            let error = Stripes::new(StripeParameters { size, ..parameters() }).unwrap_err();
            assert!(matches!(error, StripeError::Size { .. }), "{size:?}: {error}");
        }
        let error = Stripes::new(StripeParameters { gate: 161, ..parameters() }).unwrap_err();
        assert!(error.to_string().starts_with("gate is 161"), "{error}");
        let mut stripes = Stripes::new(parameters()).expect("usable");
        assert!(stripes.find(Rgb::new(2, 2, &[0; 12]).expect("whole"), 0).is_err());
    }
}
