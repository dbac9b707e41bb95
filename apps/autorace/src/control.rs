//! Lane control: drive commands from the lane's middle, stop at red, start at green.
//!
//! Pure pursuit of the lane's middle at one distance ahead: with `y` the middle's offset to the
//! left in metres and `d` its distance from the axle, the curvature is `k = 2 y / (d^2 + y^2)`, the
//! commands `linear = linear_max / (1 + slowing * |k|)` and `angular = linear * k`, limited to the
//! vehicle's limits. Arithmetic is `+ - * /` on f64 in the written order.

use crate::lane::Lane;
use crate::lane_view::VIEW_WIDTH;
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

/// The view's geometry cannot be used.
#[derive(Debug, Error)]
#[error(
    "near_m {near_m}, far_m {far_m}, look_ahead_m {look_ahead_m} and metres_per_column \
     {metres_per_column} do not describe a view: far_m must exceed near_m, the others be above 0"
)]
pub struct ControlError {
    near_m: f64,
    far_m: f64,
    look_ahead_m: f64,
    metres_per_column: f64,
}

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
    parameters: ControlParameters,
    stopped: bool,
    curvature: f64,
    blind: u32,
}

impl LaneControl {
    /// Starts in motion, straight ahead.
    ///
    /// # Errors
    /// [`ControlError`] when the distances are not ones of a view ahead of the vehicle.
    pub fn new(parameters: ControlParameters) -> Result<Self, ControlError> {
        let ControlParameters { near_m, far_m, look_ahead_m, metres_per_column, .. } = parameters;
        let usable = far_m > near_m && look_ahead_m > 0.0 && metres_per_column > 0.0;
        if !usable {
            return Err(ControlError { near_m, far_m, look_ahead_m, metres_per_column });
        }
        Ok(Self { parameters, stopped: false, curvature: 0.0, blind: 0 })
    }

    /// Whether the vehicle waits for green.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The command for one image: its lane, and its red and green lamp if there are any.
    ///
    /// Does not allocate or block.
    pub fn step(&mut self, lane: &Lane, red: Option<Lamp>, green: Option<Lamp>) -> Command {
        let p = &self.parameters;
        if red.is_some_and(|lamp| lamp.area >= p.stop_area) {
            self.stopped = true;
        } else if green.is_some() {
            self.stopped = false;
        }
        let t = (p.look_ahead_m - p.near_m) / (p.far_m - p.near_m);
        let stretch = (p.far_m - p.near_m) / p.metres_per_column;
        match lane.centre_at(t, stretch) {
            Some(column) => {
                let y = (VIEW_WIDTH as f64 / 2.0 - column) * p.metres_per_column;
                self.curvature = 2.0 * y / (p.look_ahead_m * p.look_ahead_m + y * y);
                self.blind = 0;
            }
            None => self.blind = self.blind.saturating_add(1),
        }
        if self.stopped || self.blind > p.blind_images {
            return Command::default();
        }
        let linear = p.linear_max / (1.0 + p.slowing * self.curvature.abs());
        let angular = (linear * self.curvature).clamp(-p.angular_max, p.angular_max);
        Command { linear, angular }
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, ControlParameters, LaneControl};
    use crate::lane::{Lane, Line};
    use crate::light::Lamp;

    fn control() -> LaneControl {
        LaneControl::new(ControlParameters {
            metres_per_column: 0.268 / 320.0,
            near_m: 0.29,
            far_m: 0.77,
            look_ahead_m: 0.41,
            linear_max: 0.22,
            angular_max: 2.84,
            slowing: 0.1,
            stop_area: 500,
            blind_images: 2,
        })
        .unwrap()
    }

    fn lane(left: f64, right: f64) -> Lane {
        let line = |x| Some(Line([0.0, 0.0, x]));
        Lane { left: line(left), right: line(right) }
    }

    #[test]
    fn a_lane_to_the_left_turns_left_and_the_middle_goes_straight() {
        let straight = control().step(&lane(160.0, 480.0), None, None);
        assert_eq!(straight, Command { linear: 0.22, angular: 0.0 });
        assert!(control().step(&lane(100.0, 420.0), None, None).angular > 0.1);
        assert!(control().step(&lane(220.0, 540.0), None, None).angular < -0.1);
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
