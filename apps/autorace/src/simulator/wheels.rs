//! What the encoders of both wheels say of a drive: odometry with a stated error.
//!
//! Each wheel counts its way with an error of scale of its own (a wrong radius), so that the way
//! and
//! the direction drift, and with noise that grows with the root of the way (slip).

use crate::simulator::course::Pose;
use crate::simulator::texture::scatter;
use crate::trig::sin_cos;

/// Errors of the wheels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WheelErrors {
    /// Distance between both wheels, m.
    pub track_m: f64,
    /// Share by which the left wheel counts too much.
    pub left: f64,
    /// Share by which the right wheel counts too much.
    pub right: f64,
    /// Standard deviation of the noise of each wheel after 1 m, m.
    pub noise_m: f64,
    /// Seed of the noise.
    pub seed: u64,
}

/// Odometry from two wheels.
#[derive(Clone, Debug)]
pub struct Wheels {
    errors: WheelErrors,
    last: Option<Pose>,
    pose: Pose,
    steps: u64,
}

impl Wheels {
    /// At the origin, without a way.
    pub fn new(errors: WheelErrors) -> Self {
        Self { errors, last: None, pose: Pose { x: 0.0, y: 0.0, yaw: 0.0 }, steps: 0 }
    }

    /// The vehicle has moved to `truth`: what the wheels say of its pose since the first call, and
    /// the counted way ahead (m) and turn (rad) of this step. Does not allocate or block.
    pub fn follow(&mut self, truth: Pose) -> (Pose, f64, f64) {
        let last = self.last.replace(truth).unwrap_or(truth);
        let (sin, cos) = sin_cos((last.yaw + truth.yaw) / 2.0);
        let way = (truth.x - last.x) * cos + (truth.y - last.y) * sin;
        let turn = truth.yaw - last.yaw;
        let half = self.errors.track_m / 2.0;
        let (left, right) = (way - turn * half, way + turn * half);
        let left = self.counted(left, self.errors.left, 0);
        let right = self.counted(right, self.errors.right, 1);
        self.steps += 1;
        let (way, turn) = ((left + right) / 2.0, (right - left) / self.errors.track_m);
        let (sin, cos) = sin_cos(self.pose.yaw + turn / 2.0);
        self.pose.x += way * cos;
        self.pose.y += way * sin;
        self.pose.yaw += turn;
        (self.pose, way, turn)
    }

    fn counted(&self, way: f64, error: f64, wheel: u64) -> f64 {
        // The sum of twelve draws from 0 to 1 has the deviation 1.
        let draw = |k: u64| {
            let draw = scatter(self.errors.seed, self.steps, wheel * 12 + k);
            (draw >> 11) as f64 / (1_u64 << 53) as f64
        };
        let normal = (0..12).map(draw).sum::<f64>() - 6.0;
        way * (1.0 + error) + self.errors.noise_m * way.abs().sqrt() * normal
    }
}

#[cfg(test)]
mod tests {
    use super::{WheelErrors, Wheels};
    use crate::simulator::course::{Course, Pose};

    const NONE: WheelErrors =
        WheelErrors { track_m: 0.16, left: 0.0, right: 0.0, noise_m: 0.0, seed: 1 };

    /// What the wheels say after one lap, and the true pose.
    fn lap(errors: WheelErrors) -> (Pose, Pose) {
        let course = Course::new();
        let mut wheels = Wheels::new(errors);
        let mut said = Pose { x: 0.0, y: 0.0, yaw: 0.0 };
        let steps = 1000;
        let mut yaw = 0.0;
        let mut truth = course.pose(0.0);
        for step in 0..=steps {
            truth = course.pose(course.length_m() * 0.999 * f64::from(step) / f64::from(steps));
            // The course's direction jumps by whole turns at its end only.
            yaw = truth.yaw;
            said = wheels.follow(truth).0;
        }
        assert!(yaw > 6.0, "{yaw}");
        (said, truth)
    }

    #[test]
    fn wheels_without_errors_find_back_and_unequal_ones_drift() {
        let (said, truth) = lap(NONE);
        assert!((said.x - truth.x).abs() < 1e-3 && (said.y - truth.y).abs() < 1e-3, "{said:?}");
        let (said, truth) = lap(WheelErrors { left: 0.01, right: 0.02, ..NONE });
        // 1 % of 11.3 m, by a track of 0.16 m, and of six turns' difference.
        let drift = said.yaw - truth.yaw;
        assert!((0.6..1.0).contains(&drift), "{drift}");
    }

    #[test]
    fn noise_is_repeated_by_its_seed_and_grows_with_the_root_of_the_way() {
        let noisy = |seed| lap(WheelErrors { noise_m: 0.004, seed, ..NONE }).0;
        assert_eq!(noisy(4), noisy(4));
        assert_ne!(noisy(4), noisy(5));
        let (_, truth) = lap(NONE);
        let squares: f64 = (0..60).map(|seed| (noisy(seed).yaw - truth.yaw).powi(2)).sum();
        // sqrt(2) wheels, 11.4 m: 0.004 * sqrt(2 * 11.4) / 0.16 rad.
        let deviation = (squares / 60.0).sqrt();
        assert!((0.09..0.15).contains(&deviation), "{deviation}");
    }
}
