//! The pose from which known points are seen where they are seen: Gauss-Newton on three unknowns.
//!
//! Done for every picture, and some hundred times to know a place again: so it does not allocate.

use crate::slam::pose::{Pose, wrapped};
use crate::slam::sight::{Pixel, Sight, Spot};

/// Standard deviation of a key point's place, pixels: corners are whole pixels, found anew in each.
pub const PIXEL_SIGMA: f64 = 1.0;
/// Beyond this many pixels a sighting counts linearly.
const LINEAR_FROM: f64 = 2.0;
/// Beyond this many pixels a sighting is no sighting of the point.
pub const OUTLIER: f64 = 4.0;
const ROUNDS: usize = 10;
/// From this round on, outliers do not count.
const STRICT_FROM: usize = 4;

/// What is known of the pose before anything is seen.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Where it should be.
    pub pose: Pose,
    /// Standard deviation of each coordinate, m.
    pub sigma_m: f64,
    /// Standard deviation of the direction, rad.
    pub sigma_yaw: f64,
}

/// The best pose.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// The pose.
    pub pose: Pose,
    /// Inverse of its covariance: x, y, yaw.
    pub information: [[f64; 3]; 3],
}

/// Pixels between where `point` is seen from `pose` and `pixel`; infinite if it is not ahead.
pub fn miss(sight: &Sight, pose: Pose, (point, pixel): (Spot, Pixel)) -> f64 {
    sight.project(pose, point).map_or(f64::INFINITY, |[u, v]| {
        let (du, dv) = (u - pixel[0], v - pixel[1]);
        (du * du + dv * dv).sqrt()
    })
}

/// Fits a pose to sightings, beginning with `start`. Does not allocate or block.
///
/// None if what is seen says too little about the pose.
pub fn fit(
    sight: &Sight,
    start: Pose,
    expected: Option<Expected>,
    seen: impl Iterator<Item = (Spot, Pixel)> + Clone,
) -> Option<Fit> {
    let mut pose = start;
    let mut information = [[0.0; 3]; 3];
    for round in 0..ROUNDS {
        information = [[0.0; 3]; 3];
        let mut right = [0.0; 3];
        if let Some(prior) = expected {
            let off =
                [prior.pose.x - pose.x, prior.pose.y - pose.y, wrapped(prior.pose.yaw - pose.yaw)];
            for (i, sigma) in
                [prior.sigma_m, prior.sigma_m, prior.sigma_yaw].into_iter().enumerate()
            {
                information[i][i] += 1.0 / (sigma * sigma);
                right[i] += off[i] / (sigma * sigma);
            }
        }
        for (point, pixel) in seen.clone() {
            let Some(there) = sight.project_with_slopes(pose, point) else { continue };
            let (there, slope) = (there.pixel, there.by_pose);
            let off = [pixel[0] - there[0], pixel[1] - there[1]];
            let length = (off[0] * off[0] + off[1] * off[1]).sqrt();
            if round >= STRICT_FROM && length > OUTLIER {
                continue;
            }
            let weight = (LINEAR_FROM / length.max(LINEAR_FROM)) / (PIXEL_SIGMA * PIXEL_SIGMA);
            for i in 0..3 {
                right[i] += weight * (slope[0][i] * off[0] + slope[1][i] * off[1]);
                for k in 0..3 {
                    information[i][k] +=
                        weight * (slope[0][i] * slope[0][k] + slope[1][i] * slope[1][k]);
                }
            }
        }
        let [dx, dy, dyaw] = solve(&information, right)?;
        pose = Pose { x: pose.x + dx, y: pose.y + dy, yaw: wrapped(pose.yaw + dyaw) };
        if round >= STRICT_FROM && dx.abs().max(dy.abs()) < 1e-6 && dyaw.abs() < 1e-6 {
            break;
        }
    }
    pose.is_finite().then_some(Fit { pose, information })
}

/// Solves a symmetric positive system; none if it is (nearly) singular.
pub fn solve(a: &[[f64; 3]; 3], b: [f64; 3]) -> Option<[f64; 3]> {
    let inverse = inverse(a)?;
    Some([0, 1, 2].map(|i| (0..3).map(|k| inverse[i][k] * b[k]).sum()))
}

/// Inverse of a symmetric positive matrix; none if it is (nearly) singular.
pub fn inverse(a: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let minor = |i: usize, k: usize| {
        let (r, s) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((k + 1) % 3, (k + 2) % 3);
        a[r][c] * a[s][d] - a[r][d] * a[s][c]
    };
    let determinant: f64 = (0..3).map(|k| a[0][k] * minor(0, k)).sum();
    let scale = a[0][0] * a[1][1] * a[2][2];
    if !(determinant.is_finite() && determinant > 1e-9 * scale) || scale <= 0.0 {
        return None;
    }
    Some([0, 1, 2].map(|i| [0, 1, 2].map(|k| minor(k, i) / determinant)))
}

#[cfg(test)]
mod tests {
    use super::{Expected, fit, inverse, miss};
    use crate::simulator::texture::scatter;
    use crate::slam::pose::Pose;
    use crate::slam::sight::{Pixel, Sight, Spot};

    fn sight() -> Sight {
        Sight::new(640, 480, 530.0, [0.17, 0.07, 0.28])
    }

    /// Points ahead of `pose` and where they are seen; every fifth somewhere else.
    fn seen(pose: Pose, spoil: bool) -> Vec<(Spot, Pixel)> {
        let draw = |i: u64, k: u64| (scatter(9, i, k) % 1000) as f64 / 1000.0;
        (0..60)
            .filter_map(|i| {
                let point =
                    pose.outward([0.5 + 2.0 * draw(i, 0), draw(i, 1) - 0.5, 0.5 * draw(i, 2)]);
                let [u, v] = sight().project(pose, point)?;
                let off = if spoil && i % 5 == 0 { 60.0 } else { 0.0 };
                Some((point, [(u + off).round(), v.round()]))
            })
            .collect()
    }

    #[test]
    fn the_pose_is_found_from_afar_and_among_wrong_sightings() {
        let truth = Pose { x: 1.0, y: 2.0, yaw: 2.9 };
        let start = truth.then(Pose { x: 0.08, y: -0.05, yaw: 0.06 });
        for spoil in [false, true] {
            let seen = seen(truth, spoil);
            let found = fit(&sight(), start, None, seen.iter().copied()).unwrap();
            assert!(found.pose.distance(truth) < 0.005, "{spoil}: {:?}", found.pose);
            assert!(found.pose.angle(truth) < 0.003, "{spoil}: {:?}", found.pose);
            let good = seen.iter().filter(|s| miss(&sight(), found.pose, **s) < 2.0).count();
            assert_eq!(good, seen.len() - if spoil { 12 } else { 0 });
        }
    }

    #[test]
    fn without_sightings_the_expected_pose_stays_and_without_either_there_is_none() {
        let pose = Pose { x: 0.2, y: 0.1, yaw: 0.3 };
        let expected = Expected { pose, sigma_m: 0.01, sigma_yaw: 0.01 };
        let found = fit(&sight(), Pose::ORIGIN, Some(expected), std::iter::empty()).unwrap();
        assert!(found.pose.distance(pose) < 1e-9 && found.pose.angle(pose) < 1e-9);
        assert!(fit(&sight(), pose, None, std::iter::empty()).is_none());
    }

    #[test]
    fn an_inverse_cancels_and_a_singular_matrix_has_none() {
        let a = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        let b = inverse(&a).unwrap();
        for (i, row) in a.iter().enumerate() {
            for k in 0..3 {
                let sum: f64 = row.iter().zip(&b).map(|(left, right)| left * right[k]).sum();
                assert!((sum - f64::from(u8::from(i == k))).abs() < 1e-12);
            }
        }
        assert_eq!(inverse(&[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), None);
    }
}
