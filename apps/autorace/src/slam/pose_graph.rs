//! Pose graph: all keyframes, moved so that recognised places meet.
//!
//! The steps between keyframes and those to recognised places are made to agree by
//! Levenberg-Marquardt. Its work grows with the third power of the poses. So at most [`NODES_MAX`]
//! keyframes are unknowns, evenly spread; each other one moves with the unknown before it.

use crate::slam::adjustment::step_slopes;
use crate::slam::map::{Closure, Map};
use crate::slam::pose::{Pose, wrapped};
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DMatrix, DVector, Dyn, Vector3, storage::Owned};

/// Keyframes that are unknowns, beside the keyframes of closures.
const NODES_MAX: usize = 120;
/// Newest closures that count.
const CLOSURES_MAX: usize = 32;
/// Evaluations of the errors, for each unknown.
const PATIENCE: usize = 1;
/// Deviations of a step that was seen: m and rad for each metre, and at least.
const PER_M: [f64; 2] = [0.01, 0.02];
const LEAST: [f64; 2] = [0.002, 0.002];
/// Deviations of a step to a recognised place: m and rad.
const CLOSURE: [f64; 2] = [0.01, 0.005];

/// A step between two unknowns, by their places, and its deviations (m, rad).
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    to: usize,
    step: Pose,
    sigma: [f64; 2],
}

/// The poses and their steps. The first pose is the map's origin and no unknown.
#[derive(Clone, Debug)]
struct PoseGraph {
    poses: Vec<Pose>,
    edges: Vec<Edge>,
}

/// Moves all keyframes but the first so that their steps and the closures agree, and the points
/// with them. Allocates.
pub(super) fn close(map: &mut Map) {
    let nodes = nodes(map);
    if nodes.len() < 2 {
        return;
    }
    let graph = graph(map, &nodes);
    let (graph, report) = LevenbergMarquardt::new().with_patience(PATIENCE).minimize(graph);
    if report.termination.was_usage_issue() || !graph.poses.iter().all(|pose| pose.is_finite()) {
        return;
    }
    let before: Vec<Pose> = map.keyframes().iter().map(|k| k.pose).collect();
    for (at, &node) in nodes.iter().enumerate() {
        let end = nodes.get(at + 1).copied().unwrap_or(before.len());
        for index in node..end {
            let step = before[node].to(before[index]);
            map.set_pose(index, graph.poses[at].then(step));
        }
    }
    map.carry_points(&before);
}

fn closures(map: &Map) -> &[Closure] {
    &map.closures[map.closures.len().saturating_sub(CLOSURES_MAX)..]
}

/// The keyframes that are unknowns, in their order, the first one included.
fn nodes(map: &Map) -> Vec<usize> {
    let count = map.keyframes().len();
    let every = count.div_ceil(NODES_MAX).max(1);
    let mut nodes: Vec<usize> = (0..count).step_by(every).collect();
    nodes.extend(closures(map).iter().flat_map(|closure| [closure.from, closure.to]));
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn graph(map: &Map, nodes: &[usize]) -> PoseGraph {
    let poses: Vec<Pose> = nodes.iter().map(|node| map.keyframes()[*node].pose).collect();
    let mut edges = Vec::with_capacity(poses.len() + CLOSURES_MAX);
    for to in 1..poses.len() {
        let length = poses[to - 1].distance(poses[to]);
        let sigma = std::array::from_fn(|i| LEAST[i] + PER_M[i] * length);
        edges.push(Edge { from: to - 1, to, step: poses[to - 1].to(poses[to]), sigma });
    }
    let place = |keyframe| nodes.binary_search(&keyframe).ok();
    edges.extend(closures(map).iter().filter_map(|closure| {
        let (from, to) = (place(closure.from)?, place(closure.to)?);
        Some(Edge { from, to, step: closure.step, sigma: CLOSURE })
    }));
    PoseGraph { poses, edges }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for PoseGraph {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, x: &DVector<f64>) {
        for (index, pose) in self.poses.iter_mut().skip(1).enumerate() {
            *pose = Pose { x: x[3 * index], y: x[3 * index + 1], yaw: x[3 * index + 2] };
        }
    }

    fn params(&self) -> DVector<f64> {
        let unknowns = self.poses.iter().skip(1).flat_map(|pose| [pose.x, pose.y, pose.yaw]);
        DVector::from_iterator(3 * (self.poses.len() - 1), unknowns)
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let off = |edge: &Edge| {
            let taken = self.poses[edge.from].to(self.poses[edge.to]);
            let [m, rad] = edge.sigma;
            let turned = wrapped(taken.yaw - edge.step.yaw);
            [(taken.x - edge.step.x) / m, (taken.y - edge.step.y) / m, turned / rad]
        };
        Some(DVector::from_iterator(3 * self.edges.len(), self.edges.iter().flat_map(off)))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let mut slopes = DMatrix::zeros(3 * self.edges.len(), 3 * (self.poses.len() - 1));
        for (row, edge) in self.edges.iter().enumerate() {
            let [m, rad] = edge.sigma;
            let scale = Vector3::new(1.0 / m, 1.0 / m, 1.0 / rad);
            let (by_from, by_to) = step_slopes(self.poses[edge.from], self.poses[edge.to]);
            for (pose, slope) in [(edge.from, by_from), (edge.to, by_to)] {
                // The first pose is no unknown.
                let Some(column) = pose.checked_sub(1) else { continue };
                for i in 0..3 {
                    for k in 0..3 {
                        slopes[(3 * row + i, 3 * column + k)] = scale[i] * slope[(i, k)];
                    }
                }
            }
        }
        Some(slopes)
    }
}

#[cfg(test)]
mod tests {
    use super::{NODES_MAX, close};
    use crate::slam::features::Features;
    use crate::slam::map::{Closure, Keyframe, Map};
    use crate::slam::pose::Pose;
    use std::f64::consts::PI;

    /// A circle of `count` keyframes as a vehicle drives it whose steps are 3 % too long and turn
    /// 4 % too little, and the true poses.
    fn drifted(count: usize) -> (Map, Vec<Pose>) {
        let (mut map, mut truth) = (Map::default(), Vec::new());
        let (mut pose, mut there) = (Pose::ORIGIN, Pose::ORIGIN);
        for _ in 0..count {
            let keyframe = Keyframe {
                pose,
                odometry: pose,
                driven_m: 0.0,
                features: Features::default(),
                points: Vec::new(),
            };
            map.add_keyframe(keyframe);
            truth.push(there);
            let share = 1.0 / count as f64;
            let step = Pose { x: 12.0 * share, y: 0.0, yaw: 2.0 * PI * share };
            there = there.then(step);
            pose = pose.then(Pose { x: step.x * 1.03, y: 0.0, yaw: step.yaw * 0.96 });
        }
        (map, truth)
    }

    fn worst(map: &Map, truth: &[Pose]) -> f64 {
        let errors = map.keyframes().iter().zip(truth).map(|(k, t)| k.pose.distance(*t));
        errors.fold(0.0, f64::max)
    }

    #[test]
    fn a_closure_brings_the_end_to_the_beginning_and_takes_all_keyframes_along() {
        for count in [40, 3 * NODES_MAX] {
            let (mut map, truth) = drifted(count);
            let before = worst(&map, &truth);
            let to = count - 1;
            map.closures.push(Closure { from: 0, to, step: truth[0].to(truth[to]) });
            close(&mut map);
            let end = map.keyframes()[to].pose;
            assert!(end.distance(truth[to]) < 0.03 && end.angle(truth[to]) < 0.03, "{end:?}");
            let after = worst(&map, &truth);
            assert!(before > 0.4 && after < before / 2.0, "{count}: {before} {after}");
            assert_eq!(map.keyframes()[0].pose, Pose::ORIGIN);
        }
    }

    #[test]
    fn without_a_closure_nothing_moves() {
        let (mut map, _) = drifted(40);
        let before: Vec<Pose> = map.keyframes().iter().map(|k| k.pose).collect();
        close(&mut map);
        assert!(worst(&map, &before) < 1e-9);
    }
}
