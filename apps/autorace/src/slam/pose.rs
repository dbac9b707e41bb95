//! Places in the plane: position and direction of a vehicle that drives on a floor.

use crate::trig::sin_cos;
use std::f64::consts::PI;

/// Position and direction in the plane, or the step from one to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// Ahead of the origin, m.
    pub x: f64,
    /// To the left of it, m.
    pub y: f64,
    /// Direction, from x to y, rad.
    pub yaw: f64,
}

impl Pose {
    /// The origin, looking along x.
    pub const ORIGIN: Self = Self { x: 0.0, y: 0.0, yaw: 0.0 };

    /// The pose that is reached by `step`, which is seen from here.
    #[must_use]
    pub fn then(self, step: Self) -> Self {
        let [x, y, _] = self.outward([step.x, step.y, 0.0]);
        Self { x, y, yaw: wrapped(self.yaw + step.yaw) }
    }

    /// `other` as it is seen from here: `self.then(self.to(other))` is `other`.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        let [x, y, _] = self.inward([other.x, other.y, 0.0]);
        Self { x, y, yaw: wrapped(other.yaw - self.yaw) }
    }

    /// A point that is seen from here, in the frame in which this pose is given.
    pub fn outward(self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let (sin, cos) = sin_cos(self.yaw);
        [self.x + x * cos - y * sin, self.y + x * sin + y * cos, z]
    }

    /// A point of the frame in which this pose is given, as it is seen from here.
    pub fn inward(self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let (sin, cos) = sin_cos(self.yaw);
        let (dx, dy) = (x - self.x, y - self.y);
        [dx * cos + dy * sin, dy * cos - dx * sin, z]
    }

    /// Distance between both positions, m.
    pub fn distance(self, other: Self) -> f64 {
        ((self.x - other.x) * (self.x - other.x) + (self.y - other.y) * (self.y - other.y)).sqrt()
    }

    /// Angle between both directions, 0 to pi.
    pub fn angle(self, other: Self) -> f64 {
        wrapped(self.yaw - other.yaw).abs()
    }

    /// Whether all three numbers are finite.
    pub fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.yaw.is_finite()
    }
}

/// The same direction between -pi and pi.
pub fn wrapped(angle: f64) -> f64 {
    angle - 2.0 * PI * (angle / (2.0 * PI)).round()
}

#[cfg(test)]
mod tests {
    use super::{Pose, wrapped};
    use std::f64::consts::PI;

    #[test]
    fn a_step_and_its_way_back_cancel() {
        let a = Pose { x: 1.0, y: -2.0, yaw: 3.0 };
        let b = Pose { x: -0.5, y: 0.25, yaw: -2.5 };
        let step = a.to(b);
        let again = a.then(step);
        assert!(again.distance(b) < 1e-12 && again.angle(b) < 1e-12, "{again:?}");
        let home = a.then(step).then(step.to(Pose::ORIGIN));
        assert!(home.distance(a) < 1e-12 && home.angle(a) < 1e-12, "{home:?}");
        let point = [0.3, 0.4, 0.5];
        let there = a.inward(a.outward(point));
        assert!(there.iter().zip(point).all(|(a, b)| (a - b).abs() < 1e-12), "{there:?}");
    }

    #[test]
    fn directions_are_equal_after_whole_turns() {
        assert!((wrapped(7.0 * PI).abs() - PI).abs() < 1e-9);
        assert!((wrapped(2.0 * PI + 0.1) - 0.1).abs() < 1e-12);
        let (a, b) = (Pose { yaw: 3.1, ..Pose::ORIGIN }, Pose { yaw: -3.1, ..Pose::ORIGIN });
        assert!((a.angle(b) - (2.0 * PI - 6.2)).abs() < 1e-9);
    }
}
