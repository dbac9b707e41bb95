//! Lane control: drive commands from the lane's middle, stop at red, start at green.
//!
//! Pure pursuit of the lane's middle at one distance ahead: with `y` the middle's offset to the
//! left in metres and `d` its distance from the axle, the curvature is `k = 2 y / (d^2 + y^2)`, the
//! commands `linear = linear_max / (1 + slowing * |k|)` and `angular = linear * k`, limited to the
//! vehicle's limits.
//!
//! Integer specification, bit by bit, with the constants of [`ControlConstants`]. `>>` rounds down,
//! `nearest` gives the nearest whole number, halves away from zero:
//! 1. **Lines**: each coefficient is `p = nearest(c 2^16)`, at most `2^31 - 1` in size; what is no
//!    number is 0. A line's column is `x = ((((p0 T) >> 16) + p1) T >> 16) + p2`, its slope `m =
//!    ((2 p0 T) >> 16) + p1`, at most `2^35 - 1` in size.
//! 2. **Middle**: of both lines `(left + right) >> 1`. Beside one line it is half a lane away,
//!    taken across the line: `h = (isqrt(S S + (m >> 8)^2) H) >> 16`, where `isqrt` rounds down.
//! 3. **Curvature**: `e` is `(320 2^16 - middle) >> 8`, at most `2^18 - 1` in size, and `k =
//!    nearest(e C / (D D + e e))`, at most `2^28` in size.
//! 4. **Command**: `linear = nearest(V 2^20 / (2^20 + ((W |k|) >> 20)))`, and `angular` has the
//!    size `(linear |k|) >> 20`, at most `A`, and the sign of `k`. Both are in 2^-30 m/s and rad/s.

use crate::lane::{Lane, Line};
use crate::lane_view::{LANE_WIDTH, VIEW_WIDTH};
use crate::light::Lamp;
use thiserror::Error;

/// What lane control is told.
#[derive(Clone, Debug)]
pub struct ControlParameters {
    /// Metres across per column of the bird's-eye view.
    pub metres_per_column: f64,
    /// Distance of the view's near edge (t = 0) from the axle, m.
    pub near_m: f64,
    /// Distance of the view's far edge (t = 1) from the axle, m.
    pub far_m: f64,
    /// Where the middle is pursued: distance ahead of the axle, m.
    pub look_ahead_m: f64,
    /// Speed on a straight, m/s.
    pub linear_max: f64,
    /// Turn rate at most, rad/s.
    pub angular_max: f64,
    /// How much a curvature of 1/m slows down.
    pub slowing: f64,
    /// Area of the red lamp from which it is near enough to stop, pixels.
    pub stop_area: u32,
    /// Images without a lane after which the vehicle stops; until then it keeps its curvature.
    pub blind_images: u32,
}

/// The parameters cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// The view's geometry.
    #[error(
        "near_m {near_m}, far_m {far_m}, look_ahead_m {look_ahead_m} and metres_per_column \
         {metres_per_column} do not describe a view: far_m must exceed near_m, look_ahead_m be above \
         0 and at most 4 lengths of the view from its near edge, and columns be 0.0001 to 1 m wide, \
         4 to 32767 of them in a length of the view and 1 to 32767 in look_ahead_m"
    )]
    View {
        /// Distance of the near edge, m.
        near_m: f64,
        /// Distance of the far edge, m.
        far_m: f64,
        /// Distance that is pursued, m.
        look_ahead_m: f64,
        /// Width of a column, m.
        metres_per_column: f64,
    },
    /// A limit of the vehicle.
    #[error("{name} is {value}, but must be 0 to 64: give it in the unit of its documentation")]
    Limit {
        /// Name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
}

/// The parameters as whole numbers: what the arithmetic is made of, in software and in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlConstants {
    /// `T`: where the middle is pursued, in lengths of the view from its near edge, 2^-16.
    pub ahead: i64,
    /// `S`: the view's length in columns, 2^-8.
    pub stretch: i64,
    /// `H`: half a lane over `S`, of 2^-16 column and 2^-16.
    pub half: i64,
    /// `D`: the distance that is pursued in columns, 2^-8.
    pub distance: i64,
    /// `C`: what makes a curvature in 2^-20 of 1/m of columns.
    pub bend: i64,
    /// `W`: how much a curvature slows down, 2^-20.
    pub slowing: i64,
    /// `V`: speed on a straight, 2^-30 m/s.
    pub linear_max: i64,
    /// `A`: turn rate at most, 2^-30 rad/s.
    pub angular_max: i64,
}

impl ControlConstants {
    /// The constants of these parameters.
    ///
    /// # Errors
    /// [`ControlError`]: the distances are not ones of a view ahead of the vehicle, or a limit of
    /// the vehicle is out of range.
    pub fn new(parameters: &ControlParameters) -> Result<Self, ControlError> {
        let &ControlParameters { near_m, far_m, look_ahead_m, metres_per_column, .. } = parameters;
        let nearest = |value: f64| value.round() as i64;
        let length_m = far_m - near_m;
        let t = (look_ahead_m - near_m) / length_m;
        let (length, distance) = (length_m / metres_per_column, look_ahead_m / metres_per_column);
        let usable = length_m > 0.0
            && (0.0001..=1.0).contains(&metres_per_column)
            && (-4.0..=4.0).contains(&t)
            && (4.0..32768.0).contains(&length)
            && (1.0..32768.0).contains(&distance);
        if !usable {
            return Err(ControlError::View { near_m, far_m, look_ahead_m, metres_per_column });
        }
        let limit = |name, value: f64, bits: u32| match (0.0..=64.0).contains(&value) {
            true => Ok(nearest(value * (1_u64 << bits) as f64)),
            false => Err(ControlError::Limit { name, value }),
        };
        let stretch = nearest(length * 256.0);
        let half_lane = f64::from(LANE_WIDTH) / 2.0;
        Ok(Self {
            ahead: nearest(t * 65_536.0),
            stretch,
            half: nearest(half_lane * (1_u64 << 32) as f64 / stretch as f64),
            distance: nearest(distance * 256.0),
            bend: nearest((1_u64 << 29) as f64 / metres_per_column),
            slowing: limit("slowing", parameters.slowing, 20)?,
            linear_max: limit("linear_max", parameters.linear_max, 30)?,
            angular_max: limit("angular_max", parameters.angular_max, 30)?,
        })
    }

    /// Column and slope of a line where it is pursued, 2^-16 column.
    fn line(&self, line: &Line) -> (i64, i64) {
        let [p0, p1, p2] = line.0.map(|c| {
            // Not a number becomes 0.
            ((c * 65_536.0).round() as i64).clamp(-PART_MAX, PART_MAX)
        });
        let column = (((((p0 * self.ahead) >> 16) + p1) * self.ahead) >> 16) + p2;
        (column, ((2 * p0 * self.ahead) >> 16) + p1)
    }

    /// Half a lane across a line with this slope, 2^-16 column.
    fn half_lane(&self, slope: i64) -> i64 {
        let slope = slope >> 8;
        let stretched = (self.stretch * self.stretch + slope * slope).isqrt();
        (stretched * self.half) >> 16
    }

    /// Column of the lane's middle, 2^-16 column; from one line and the lane's width if need be.
    fn middle(&self, lane: &Lane) -> Option<i64> {
        match (lane.left.as_ref(), lane.right.as_ref()) {
            (Some(left), Some(right)) => Some((self.line(left).0 + self.line(right).0) >> 1),
            (Some(left), None) => {
                let (column, slope) = self.line(left);
                Some(column + self.half_lane(slope))
            }
            (None, Some(right)) => {
                let (column, slope) = self.line(right);
                Some(column - self.half_lane(slope))
            }
            (None, None) => None,
        }
    }

    /// Curvature to a middle, 2^-20 of 1/m, to the left above 0.
    fn curvature(&self, middle: i64) -> i64 {
        let offset = ((VIEW_WIDTH as i64) << 15) - middle;
        let offset = (offset >> 8).clamp(-OFFSET_MAX, OFFSET_MAX);
        let below = self.distance * self.distance + offset * offset;
        let size = nearest(offset.abs() * self.bend, below).min(CURVATURE_MAX);
        if offset < 0 { -size } else { size }
    }

    /// The command for a curvature.
    fn command(&self, curvature: i64) -> Command {
        let size = curvature.abs();
        let linear = nearest(self.linear_max << 20, (1 << 20) + ((self.slowing * size) >> 20));
        // Of 37 and 29 bits.
        let angular = ((i128::from(linear) * i128::from(size)) >> 20) as i64;
        let angular = angular.min(self.angular_max);
        let angular = if curvature < 0 { -angular } else { angular };
        Command { linear: linear as f64 / ONE, angular: angular as f64 / ONE }
    }
}

/// The nearest whole number to a quotient of two that are not below 0, halves up.
fn nearest(numerator: i64, denominator: i64) -> i64 {
    (2 * numerator + denominator) / (2 * denominator)
}

const PART_MAX: i64 = (1 << 31) - 1;
const OFFSET_MAX: i64 = (1 << 18) - 1;
const CURVATURE_MAX: i64 = 1 << 28;
/// Parts of 1 m/s and 1 rad/s in a command.
const ONE: f64 = (1_u64 << 30) as f64;

/// One drive command.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Command {
    /// Forward speed, m/s.
    pub linear: f64,
    /// Turn rate to the left, rad/s.
    pub angular: f64,
}

/// State of the control between images.
#[derive(Debug)]
pub struct LaneControl {
    constants: ControlConstants,
    stop_area: u32,
    blind_images: u32,
    stopped: bool,
    curvature: i64,
    blind: u32,
}

impl LaneControl {
    /// Starts in motion, straight ahead.
    ///
    /// # Errors
    /// [`ControlError`]: what of the parameters cannot be used.
    pub fn new(parameters: &ControlParameters) -> Result<Self, ControlError> {
        let constants = ControlConstants::new(parameters)?;
        let &ControlParameters { stop_area, blind_images, .. } = parameters;
        let (stopped, curvature, blind) = (false, 0, 0);
        Ok(Self { constants, stop_area, blind_images, stopped, curvature, blind })
    }

    /// Whether the vehicle waits for green.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The command for one image: its lane, and its red and green lamp if there are any.
    ///
    /// Does not allocate or block.
    pub fn step(&mut self, lane: &Lane, red: Option<Lamp>, green: Option<Lamp>) -> Command {
        if red.is_some_and(|lamp| lamp.area >= self.stop_area) {
            self.stopped = true;
        } else if green.is_some() {
            self.stopped = false;
        }
        match self.constants.middle(lane) {
            Some(middle) => {
                self.curvature = self.constants.curvature(middle);
                self.blind = 0;
            }
            None => self.blind = self.blind.saturating_add(1),
        }
        if self.stopped || self.blind > self.blind_images {
            return Command::default();
        }
        self.constants.command(self.curvature)
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, ControlError, ControlParameters, LaneControl};
    use crate::lane::{Lane, Line};
    use crate::light::Lamp;

    fn control() -> LaneControl {
        LaneControl::new(&PARAMETERS).unwrap()
    }

    const PARAMETERS: ControlParameters = ControlParameters {
        metres_per_column: 0.268 / 320.0,
        near_m: 0.29,
        far_m: 0.77,
        look_ahead_m: 0.41,
        linear_max: 0.22,
        angular_max: 2.84,
        slowing: 0.1,
        stop_area: 500,
        blind_images: 2,
    };

    fn lane(left: f64, right: f64) -> Lane {
        let line = |x| Some(Line([0.0, 0.0, x]));
        Lane { left: line(left), right: line(right) }
    }

    #[test]
    fn a_lane_to_the_left_turns_left_and_the_middle_goes_straight() {
        let straight = control().step(&lane(160.0, 480.0), None, None);
        // The nearest of 2^-30 m/s.
        assert!((straight.linear - 0.22).abs() < 1e-9 && straight.angular == 0.0, "{straight:?}");
        assert!(control().step(&lane(100.0, 420.0), None, None).angular > 0.1);
        assert!(control().step(&lane(220.0, 540.0), None, None).angular < -0.1);
    }

    #[test]
    fn commands_are_those_of_pure_pursuit() {
        let line = |c| Some(Line(c));
        // Both lines, and one alone, which is slanted: half a lane is longer along the row.
        for (lane, half) in [
            (Lane { left: line([60.0, -40.0, 170.0]), right: line([50.0, -30.0, 480.0]) }, 0.0),
            (Lane { left: line([60.0, -120.0, 170.0]), right: None }, 160.0),
            (Lane { left: None, right: line([-60.0, 200.0, 470.0]) }, -160.0),
        ] {
            let p = PARAMETERS;
            let t = (p.look_ahead_m - p.near_m) / (p.far_m - p.near_m);
            let stretch = (p.far_m - p.near_m) / p.metres_per_column;
            let lines: Vec<Line> = [lane.left, lane.right].into_iter().flatten().collect();
            let columns = lines.iter().map(|line| {
                let slope = (2.0 * line.0[0] * t + line.0[1]) / stretch;
                line.at(t) + half * (1.0 + slope * slope).sqrt()
            });
            let middle = columns.sum::<f64>() / lines.len() as f64;
            let y = (320.0 - middle) * p.metres_per_column;
            let k = 2.0 * y / (p.look_ahead_m * p.look_ahead_m + y * y);
            let linear = p.linear_max / (1.0 + p.slowing * k.abs());
            let found = control().step(&lane, None, None);
            let errors = [found.linear - linear, found.angular - linear * k];
            assert!(errors.iter().all(|it| it.abs() < 2e-5), "{found:?} {linear} {k}");
        }
    }

    #[test]
    fn lanes_of_any_numbers_give_commands_within_the_limits() {
        for c in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -1e300, 1e-300] {
            for lane in [lane(c, 480.0), lane(c, c), Lane { right: None, ..lane(c, c) }] {
                let Command { linear, angular } = control().step(&lane, None, None);
                assert!((0.0..=0.2200001).contains(&linear) && angular.abs() <= 2.8400001);
            }
        }
    }

    #[test]
    fn parameters_that_describe_no_vehicle_are_refused() {
        let refused = |parameters| LaneControl::new(&parameters).unwrap_err();
        let view = refused(ControlParameters { far_m: 0.1, ..PARAMETERS });
        assert!(matches!(view, ControlError::View { .. }), "{view}");
        let narrow = refused(ControlParameters { metres_per_column: 1e-6, ..PARAMETERS });
        assert!(matches!(narrow, ControlError::View { .. }), "{narrow}");
        let fast = refused(ControlParameters { linear_max: f64::NAN, ..PARAMETERS });
        assert!(fast.to_string().starts_with("linear_max is NaN"), "{fast}");
    }

    #[test]
    fn a_near_red_lamp_stops_and_only_green_starts_again() {
        let mut control = control();
        let lamp = |area| Some(Lamp { area, bounds: [0, 0, 9, 9] });
        let lane = lane(160.0, 480.0);
        assert!(control.step(&lane, lamp(499), None).linear > 0.0, "still far away");
        assert_eq!(control.step(&lane, lamp(500), None), Command::default());
        assert_eq!(control.step(&lane, None, None), Command::default());
        assert!(control.step(&lane, None, lamp(100)).linear > 0.0);
    }

    #[test]
    fn without_a_lane_it_keeps_its_curvature_for_a_while_and_then_stops() {
        let mut control = control();
        let turning = control.step(&lane(100.0, 420.0), None, None);
        assert_eq!(control.step(&Lane::default(), None, None), turning);
        assert_eq!(control.step(&Lane::default(), None, None), turning);
        assert_eq!(control.step(&Lane::default(), None, None), Command::default());
    }
}
