//! A small differential-drive vehicle: forward speed and turn rate, within its limits.

use crate::control::Command;
use crate::simulator::course::Pose;
use crate::trig::sin_cos;

/// Greatest forward speed, m/s.
pub const LINEAR_MAX: f64 = 0.22;
/// Greatest turn rate, rad/s.
pub const ANGULAR_MAX: f64 = 2.84;
/// Greatest change of the forward speed, m/s^2.
const LINEAR_RATE_MAX: f64 = 1.0;
/// Greatest change of the turn rate, rad/s^2.
const ANGULAR_RATE_MAX: f64 = 12.0;
/// Longest step of the integration, s.
const STEP_MAX: f64 = 0.02;

/// Where the axle's middle is and how it moves.
#[derive(Clone, Copy, Debug)]
pub struct Vehicle {
    pose: Pose,
    motion: Command,
}

impl Vehicle {
    /// At rest at `pose`.
    pub fn new(pose: Pose) -> Self {
        Self { pose, motion: Command::default() }
    }

    /// Position and direction.
    pub fn pose(&self) -> Pose {
        self.pose
    }

    /// Present speed and turn rate.
    pub fn motion(&self) -> Command {
        self.motion
    }

    /// Moves for `seconds` (at most one second per call counts) under `command`.
    ///
    /// A command that is not a number is a stop. Does not allocate or block.
    pub fn advance(&mut self, command: Command, seconds: f64) {
        let sane = |v: f64, limit: f64| if v.is_finite() { v.clamp(-limit, limit) } else { 0.0 };
        let linear = sane(command.linear, LINEAR_MAX);
        let angular = sane(command.angular, ANGULAR_MAX);
        let seconds = sane(seconds, 1.0).max(0.0);
        let steps = (seconds / STEP_MAX).ceil().max(1.0);
        let dt = seconds / steps;
        for _ in 0..steps as u32 {
            let toward =
                |now: f64, goal: f64, rate: f64| now + (goal - now).clamp(-rate * dt, rate * dt);
            self.motion.linear = toward(self.motion.linear, linear, LINEAR_RATE_MAX);
            self.motion.angular = toward(self.motion.angular, angular, ANGULAR_RATE_MAX);
            let turn = self.motion.angular * dt;
            let (sin, cos) = sin_cos(self.pose.yaw + turn / 2.0);
            self.pose.x += self.motion.linear * dt * cos;
            self.pose.y += self.motion.linear * dt * sin;
            self.pose.yaw += turn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Vehicle;
    use crate::control::Command;
    use crate::simulator::course::Pose;

    #[test]
    fn a_constant_turn_drives_a_circle_within_the_limits() {
        let mut vehicle = Vehicle::new(Pose { x: 0.0, y: 0.0, yaw: 0.0 });
        let command = Command { linear: 9.0, angular: 0.5 };
        for _ in 0..15 {
            vehicle.advance(command, 1.0 / 15.0);
        }
        assert_eq!(vehicle.motion(), Command { linear: 0.22, angular: 0.5 });
        let before = vehicle.pose();
        // One full turn at 0.5 rad/s takes 4 pi seconds.
        let steps = 1000;
        for _ in 0..steps {
            vehicle.advance(command, 4.0 * std::f64::consts::PI / f64::from(steps));
        }
        let after = vehicle.pose();
        assert!((after.x - before.x).abs() < 1e-3 && (after.y - before.y).abs() < 1e-3);
        vehicle.advance(Command { linear: f64::NAN, angular: f64::INFINITY }, 1.0);
        assert_eq!(vehicle.motion(), Command::default());
    }
}
