//! What the mapper is told of the noise of odometry.

/// Deviations of odometry, for each metre that it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OdometryNoise {
    /// Of the way, m for each metre.
    pub m_per_m: f64,
    /// Of the direction, rad for each metre.
    pub rad_per_m: f64,
}

/// Deviations of a step however short it is: m and rad.
const LEAST: [f64; 2] = [0.001, 0.001];

impl OdometryNoise {
    /// Deviations of a step of `way_m`: m and rad.
    pub fn over(&self, way_m: f64) -> [f64; 2] {
        let way_m = way_m.abs();
        [LEAST[0] + self.m_per_m * way_m, LEAST[1] + self.rad_per_m * way_m]
    }
}
