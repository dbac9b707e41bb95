//! An estimated trajectory against the true one: absolute trajectory error.
//!
//! Both are matched by stamp. The estimate is turned and moved as a whole so that the squares of
//! the
//! distances are least, because a map has an origin of its own. Its scale stays.

use crate::score::Reading;
use crate::slam::pose::Pose;
use serde_json::{Value, json};

/// How far an estimate is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrajectoryError {
    /// Poses with a true one of the same stamp.
    pub poses: usize,
    /// Root of the mean square of the distances, m.
    pub rmse_m: f64,
    /// The largest distance, m.
    pub max_m: f64,
    /// The motion that brings the estimate nearest to the truth.
    pub alignment: Pose,
}

impl TrajectoryError {
    /// As it is printed, with the error in percent of the driven way.
    pub fn to_json(self, driven_m: f64) -> Value {
        json!({
            "poses": self.poses,
            "rmse_m": rounded(self.rmse_m),
            "max_m": rounded(self.max_m),
            "rmse_percent": rounded(100.0 * self.rmse_m / driven_m),
        })
    }
}

/// To tenths of a millimetre.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Length of the way through all places, m.
pub fn driven_m(truth: &[Reading<Pose>]) -> f64 {
    truth.windows(2).map(|pair| pair[0].value.distance(pair[1].value)).sum()
}

/// Compares an estimate with the truth, whose readings are in the order of their stamps.
///
/// None if fewer than two poses have a true one.
pub fn error_of(estimate: &[Reading<Pose>], truth: &[Reading<Pose>]) -> Option<TrajectoryError> {
    let true_one = |reading: &Reading<Pose>| {
        let at = truth.binary_search_by_key(&reading.stamp_ns, |t| t.stamp_ns).ok()?;
        Some((reading.value, truth[at].value))
    };
    let pairs: Vec<(Pose, Pose)> = estimate.iter().filter_map(true_one).collect();
    if pairs.len() < 2 {
        return None;
    }
    let alignment = align(&pairs);
    let squares = pairs.iter().map(|(estimated, truth)| {
        let [x, y, _] = alignment.outward([estimated.x, estimated.y, 0.0]);
        (x - truth.x) * (x - truth.x) + (y - truth.y) * (y - truth.y)
    });
    let (sum, max) = squares.fold((0.0, 0.0_f64), |(sum, max), s| (sum + s, max.max(s)));
    Some(TrajectoryError {
        poses: pairs.len(),
        rmse_m: (sum / pairs.len() as f64).sqrt(),
        max_m: max.sqrt(),
        alignment,
    })
}

/// The turn and shift of the first of each pair for which the squares of the distances are least.
fn align(pairs: &[(Pose, Pose)]) -> Pose {
    let count = pairs.len() as f64;
    let mean = |value: fn(&(Pose, Pose)) -> f64| pairs.iter().map(value).sum::<f64>() / count;
    let from = (mean(|p| p.0.x), mean(|p| p.0.y));
    let to = (mean(|p| p.1.x), mean(|p| p.1.y));
    let (mut along, mut across) = (0.0, 0.0);
    for (a, b) in pairs {
        let (ax, ay, bx, by) = (a.x - from.0, a.y - from.1, b.x - to.0, b.y - to.1);
        along += ax * bx + ay * by;
        across += ax * by - ay * bx;
    }
    let turn = Pose { x: 0.0, y: 0.0, yaw: across.atan2(along) };
    let [x, y, _] = turn.outward([from.0, from.1, 0.0]);
    Pose { x: to.0 - x, y: to.1 - y, ..turn }
}

#[cfg(test)]
mod tests {
    use super::{driven_m, error_of};
    use crate::score::Reading;
    use crate::slam::pose::Pose;

    fn truth() -> Vec<Reading<Pose>> {
        let at = |i: i64| {
            let t = i as f64 * 0.05;
            Pose { x: 2.0 * t.cos(), y: t.sin(), yaw: t }
        };
        (0..100).map(|i| Reading { stamp_ns: i * 1000, value: at(i) }).collect()
    }

    #[test]
    fn a_turned_and_moved_copy_has_no_error_and_a_scaled_one_has() {
        let truth = truth();
        let moved = Pose { x: 5.0, y: -3.0, yaw: 2.5 };
        let change = |f: &dyn Fn(Pose) -> Pose| -> Vec<Reading<Pose>> {
            truth.iter().map(|r| Reading { value: f(r.value), ..*r }).collect()
        };
        let error = error_of(&change(&|p| moved.then(p)), &truth).unwrap();
        assert!(error.rmse_m < 1e-9 && error.poses == 100, "{error:?}");
        let scaled = change(&|p| Pose { x: 1.1 * p.x, y: 1.1 * p.y, ..p });
        let error = error_of(&scaled, &truth).unwrap();
        assert!(error.rmse_m > 0.05 && error.max_m >= error.rmse_m, "{error:?}");
    }

    #[test]
    fn only_poses_of_the_same_stamp_count() {
        let truth = truth();
        let late: Vec<_> =
            truth.iter().map(|r| Reading { stamp_ns: r.stamp_ns + 1, ..*r }).collect();
        assert_eq!(error_of(&late, &truth), None);
        let some: Vec<_> = truth.iter().step_by(10).copied().collect();
        assert_eq!(error_of(&some, &truth).unwrap().poses, 10);
        // Five rad of an ellipse with the half axes 2 and 1.
        assert!((7.0..8.5).contains(&driven_m(&truth)), "{}", driven_m(&truth));
    }
}
