//! Least squares of sightings and steps: poses and points together.
//!
//! Levenberg-Marquardt on the normal equations. Each point meets poses only, so its three unknowns
//! are eliminated first (Schur's complement), and what remains is a small system of the poses.

use crate::slam::fit::PIXEL_SIGMA;
use crate::slam::pose::{Pose, wrapped};
use crate::slam::sight::{Pixel, Sight, Spot};
use nalgebra::{DMatrix, DVector, Matrix2x3, Matrix3, Vector2, Vector3};

/// Standard deviations beyond which a sighting counts linearly.
const LINEAR_FROM: f64 = 2.0;
/// Standard deviations of a point that lies behind the camera: more than any step is worth.
const BEHIND: f64 = 1e3;
const ROUNDS: usize = 8;
/// Damping: at first, its factor from round to round, and where nothing helps.
const DAMPING: [f64; 3] = [1e-4, 10.0, 1e4];
/// A smaller share of the error is not worth another round.
const WORTH: f64 = 1e-3;

/// A pose that is adjusted, by its place in [`Adjustment::free`], or one that stays.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Free(usize),
    Fixed(Pose),
}

/// Where a point is seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    pub(super) from: Anchor,
    pub(super) pixel: Pixel,
}

/// A step that was measured, and its deviations (m, rad).
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) from: Anchor,
    /// Place in [`Adjustment::free`].
    pub(super) to: usize,
    pub(super) measured: Pose,
    pub(super) sigma: [f64; 2],
}

/// The unknowns and what is known of them.
#[derive(Clone, Debug)]
pub(super) struct Adjustment {
    pub(super) sight: Sight,
    pub(super) free: Vec<Pose>,
    pub(super) points: Vec<(Spot, Vec<Sighting>)>,
    pub(super) steps: Vec<Step>,
}

/// One point's part of the normal equations.
struct Eliminated {
    inverse: Matrix3<f64>,
    right: Vector3<f64>,
    /// Per sighting from a free pose: the pose, and its block with the point.
    blocks: Vec<(usize, Matrix3<f64>)>,
}

/// Weight of a residual of `length` deviations, and its part of the error.
fn huber(length: f64) -> (f64, f64) {
    if length <= LINEAR_FROM {
        (1.0, length * length / 2.0)
    } else {
        (LINEAR_FROM / length, LINEAR_FROM * (length - LINEAR_FROM / 2.0))
    }
}

impl Adjustment {
    fn pose(&self, from: Anchor) -> Pose {
        match from {
            Anchor::Free(index) => self.free[index],
            Anchor::Fixed(pose) => pose,
        }
    }

    /// What is made small.
    pub(super) fn error(&self) -> f64 {
        let mut error = 0.0;
        for (spot, sightings) in &self.points {
            for sighting in sightings {
                let seen = self.sight.project(self.pose(sighting.from), *spot);
                let off = seen.map_or(BEHIND, |[u, v]| {
                    Vector2::new(u - sighting.pixel[0], v - sighting.pixel[1]).norm() / PIXEL_SIGMA
                });
                error += huber(off).1;
            }
        }
        error + self.steps.iter().map(|s| self.off(s).norm_squared() / 2.0).sum::<f64>()
    }

    /// How far a step is off, in deviations: x, y, yaw.
    fn off(&self, step: &Step) -> Vector3<f64> {
        let taken = self.pose(step.from).to(self.free[step.to]);
        let [m, rad] = step.sigma;
        let measured = step.measured;
        Vector3::new(
            (taken.x - measured.x) / m,
            (taken.y - measured.y) / m,
            wrapped(taken.yaw - measured.yaw) / rad,
        )
    }

    /// Improves poses and points as long as that is worth it. Allocates.
    pub(super) fn minimise(&mut self) {
        let [mut damping, factor, most] = DAMPING;
        let mut error = self.error();
        for _ in 0..ROUNDS {
            let Some(better) = self.stepped(damping) else {
                damping *= factor;
                continue;
            };
            let now = better.error();
            if now.is_finite() && now < error {
                *self = better;
                let worth = error - now > WORTH * error;
                error = now;
                damping /= factor;
                if !worth {
                    break;
                }
            } else {
                damping *= factor;
            }
            if damping > most {
                break;
            }
        }
    }

    /// All unknowns one step on; none if the equations have no solution.
    fn stepped(&self, damping: f64) -> Option<Self> {
        let size = 3 * self.free.len();
        let (mut left, mut right) = (DMatrix::zeros(size, size), DVector::zeros(size));
        self.add_steps(&mut left, &mut right);
        let eliminated: Vec<Eliminated> = self
            .points
            .iter()
            .map(|(spot, seen)| self.eliminate(*spot, seen, damping, &mut left, &mut right))
            .collect::<Option<_>>()?;
        for i in 0..size {
            left[(i, i)] *= 1.0 + damping;
        }
        // Schur's complement: what the points take from the poses' equations.
        for point in &eliminated {
            for (a, block) in &point.blocks {
                let taken = block * point.inverse;
                for (b, other) in &point.blocks {
                    let mut place = left.fixed_view_mut::<3, 3>(3 * a, 3 * b);
                    place -= taken * other.transpose();
                }
                let mut place = right.fixed_rows_mut::<3>(3 * a);
                place -= taken * point.right;
            }
        }
        let moved = left.cholesky()?.solve(&right);
        let mut better = self.clone();
        for (index, pose) in better.free.iter_mut().enumerate() {
            let by = moved.fixed_rows::<3>(3 * index);
            *pose = Pose { x: pose.x + by[0], y: pose.y + by[1], yaw: wrapped(pose.yaw + by[2]) };
        }
        for ((spot, _), point) in better.points.iter_mut().zip(&eliminated) {
            let mut rest = point.right;
            for (a, block) in &point.blocks {
                rest -= block.transpose() * moved.fixed_rows::<3>(3 * a);
            }
            let by = point.inverse * rest;
            *spot = [0, 1, 2].map(|i| spot[i] + by[i]);
        }
        Some(better)
    }

    /// Adds a point's sightings to the poses' equations, and gives its own.
    fn eliminate(
        &self,
        spot: Spot,
        sightings: &[Sighting],
        damping: f64,
        left: &mut DMatrix<f64>,
        right: &mut DVector<f64>,
    ) -> Option<Eliminated> {
        let (mut own, mut own_right) = (Matrix3::zeros(), Vector3::zeros());
        let mut blocks = Vec::with_capacity(sightings.len());
        for sighting in sightings {
            let pose = self.pose(sighting.from);
            let Some(seen) = self.sight.project_with_slopes(pose, spot) else { continue };
            let rows = |rows: [[f64; 3]; 2]| {
                Matrix2x3::from_fn(|row, column| rows[row][column]) / PIXEL_SIGMA
            };
            let (by_pose, by_point) = (rows(seen.by_pose), rows(seen.by_point));
            let off = Vector2::from_fn(|i, _| sighting.pixel[i] - seen.pixel[i]) / PIXEL_SIGMA;
            let weight = huber(off.norm()).0;
            own += weight * by_point.transpose() * by_point;
            own_right += weight * by_point.transpose() * off;
            if let Anchor::Free(index) = sighting.from {
                let mut place = left.fixed_view_mut::<3, 3>(3 * index, 3 * index);
                place += weight * by_pose.transpose() * by_pose;
                let mut place = right.fixed_rows_mut::<3>(3 * index);
                place += weight * by_pose.transpose() * off;
                blocks.push((index, weight * by_pose.transpose() * by_point));
            }
        }
        for i in 0..3 {
            own[(i, i)] *= 1.0 + damping;
        }
        Some(Eliminated { inverse: own.cholesky()?.inverse(), right: own_right, blocks })
    }

    fn add_steps(&self, left: &mut DMatrix<f64>, right: &mut DVector<f64>) {
        for step in &self.steps {
            let from = self.pose(step.from);
            let off = self.off(step);
            let [m, rad] = step.sigma;
            let (by_from, by_to) = step_slopes(from, self.free[step.to]);
            let scale = Matrix3::from_diagonal(&Vector3::new(1.0 / m, 1.0 / m, 1.0 / rad));
            let mut places = vec![(step.to, scale * by_to)];
            if let Anchor::Free(index) = step.from {
                places.push((index, scale * by_from));
            }
            for (a, slope) in &places {
                let mut place = right.fixed_rows_mut::<3>(3 * a);
                place -= slope.transpose() * off;
                for (b, other) in &places {
                    let mut place = left.fixed_view_mut::<3, 3>(3 * a, 3 * b);
                    place += slope.transpose() * other;
                }
            }
        }
    }
}

/// How the step from one pose to another moves with each of them.
pub(super) fn step_slopes(from: Pose, to: Pose) -> (Matrix3<f64>, Matrix3<f64>) {
    let (sin, cos) = crate::trig::sin_cos(from.yaw);
    let taken = from.to(to);
    let by_to = Matrix3::new(cos, sin, 0.0, -sin, cos, 0.0, 0.0, 0.0, 1.0);
    let mut by_from = -by_to;
    by_from[(0, 2)] = taken.y;
    by_from[(1, 2)] = -taken.x;
    (by_from, by_to)
}

#[cfg(test)]
mod tests {
    use super::{Adjustment, Anchor, Sighting, Step, step_slopes};
    use crate::simulator::texture::scatter;
    use crate::slam::pose::Pose;
    use crate::slam::sight::Sight;

    #[test]
    fn the_slopes_are_how_a_step_moves() {
        let (from, to) = (Pose { x: 1.0, y: 2.0, yaw: 0.7 }, Pose { x: 1.4, y: 2.5, yaw: 1.1 });
        let slopes = step_slopes(from, to);
        let step = 1e-6;
        for i in 0..3 {
            let moved = |mut pose: Pose| {
                *[&mut pose.x, &mut pose.y, &mut pose.yaw][i] += step;
                pose
            };
            let off = |pose: Pose| {
                let taken = from.to(to);
                [pose.x - taken.x, pose.y - taken.y, pose.yaw - taken.yaw].map(|v| v / step)
            };
            let (by_from, by_to) = (off(moved(from).to(to)), off(from.to(moved(to))));
            for row in 0..3 {
                assert!((by_from[row] - slopes.0[(row, i)]).abs() < 1e-4, "{row} {i}");
                assert!((by_to[row] - slopes.1[(row, i)]).abs() < 1e-4, "{row} {i}");
            }
        }
    }

    #[test]
    fn poses_and_points_come_back_from_where_they_were_moved() {
        let sight = Sight::new(640, 480, 530.0, [0.17, 0.07, 0.28]);
        let draw = |i: u64, k: u64| (scatter(5, i, k) % 1000) as f64 / 1000.0 - 0.5;
        let truth: Vec<Pose> = (0..5)
            .map(|i| Pose { x: 0.12 * f64::from(i), y: 0.0, yaw: 0.05 * f64::from(i) })
            .collect();
        let spots = (0..80).map(|i| [1.5 + draw(i, 0), 0.8 * draw(i, 1), 0.2 + 0.3 * draw(i, 2)]);
        let spots: Vec<_> = spots.collect();
        let from = |i: usize| if i == 0 { Anchor::Fixed(truth[0]) } else { Anchor::Free(i - 1) };
        let sightings = |spot| -> Vec<Sighting> {
            let seen =
                |i: usize| Some(Sighting { from: from(i), pixel: sight.project(truth[i], spot)? });
            (0..5).filter_map(seen).collect()
        };
        let off = |i: u64| [0.05 * draw(i, 3), 0.05 * draw(i, 4), 0.05 * draw(i, 5)];
        let mut adjustment = Adjustment {
            sight,
            free: truth[1..]
                .iter()
                .zip(100..)
                .map(|(pose, i)| {
                    let [x, y, yaw] = off(i);
                    Pose { x: pose.x + x, y: pose.y + y, yaw: pose.yaw + yaw }
                })
                .collect(),
            points: spots
                .iter()
                .zip(0..)
                .map(|(spot, i)| {
                    let off = off(i);
                    ([0, 1, 2].map(|k| spot[k] + off[k]), sightings(*spot))
                })
                .collect(),
            steps: (1..5)
                .map(|i| Step {
                    from: from(i - 1),
                    to: i - 1,
                    measured: truth[i - 1].to(truth[i]),
                    sigma: [0.005, 0.01],
                })
                .collect(),
        };
        let before = adjustment.error();
        adjustment.minimise();
        assert!(adjustment.error() < 1e-3 * before, "{before} {}", adjustment.error());
        for (found, truth) in adjustment.free.iter().zip(&truth[1..]) {
            assert!(found.distance(*truth) < 2e-3 && found.angle(*truth) < 2e-3, "{found:?}");
        }
    }
}
