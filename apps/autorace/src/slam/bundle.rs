//! Bundle adjustment of the newest keyframe, those that share points with it, and their points.

use crate::slam::adjustment::{Adjustment, Anchor, Sighting, Step};
use crate::slam::fit::{OUTLIER, miss};
use crate::slam::map::Map;
use crate::slam::odometry::OdometryNoise;
use crate::slam::sight::Sight;

/// Keyframes whose poses are adjusted.
const FREE_MAX: usize = 6;
/// Keyframes that stay as they are, and see the same points.
const FIXED_MAX: usize = 6;
/// Points that are adjusted.
const POINTS_MAX: usize = 400;

/// The keyframes and points of one adjustment.
struct Window {
    free: Vec<usize>,
    fixed: Vec<usize>,
    points: Vec<usize>,
}

impl Window {
    /// A keyframe as the adjustment knows it; none if it is outside the window.
    fn from(&self, map: &Map, keyframe: usize) -> Option<Anchor> {
        match self.free.binary_search(&keyframe) {
            Ok(index) => Some(Anchor::Free(index)),
            Err(_) if self.fixed.contains(&keyframe) => {
                Some(Anchor::Fixed(map.keyframes()[keyframe].pose))
            }
            Err(_) => None,
        }
    }
}

/// Adjusts what is round keyframe `newest`, then takes back sightings that do not agree.
pub(super) fn adjust(map: &mut Map, sight: &Sight, noise: &OdometryNoise, newest: usize) {
    let mut window = window(map, newest);
    let mut adjustment = problem(map, sight, noise, &mut window);
    if adjustment.free.is_empty() || adjustment.points.is_empty() {
        return;
    }
    adjustment.minimise();
    for (&keyframe, &pose) in window.free.iter().zip(&adjustment.free) {
        map.set_pose(keyframe, pose);
    }
    for (&number, (spot, _)) in window.points.iter().zip(&adjustment.points) {
        if let Some(point) = map.point_mut(number) {
            point.spot = *spot;
        }
        drop_outliers(map, sight, number);
    }
}

fn window(map: &Map, newest: usize) -> Window {
    let neighbours = map.neighbours(newest);
    let mut free = vec![newest];
    free.extend(neighbours.iter().map(|n| n.0).filter(|n| *n != 0).take(FREE_MAX - 1));
    free.sort_unstable();
    // The first keyframe is the map's origin, and the oldest of those that share anything holds
    // the others if nothing else does.
    free.retain(|keyframe| *keyframe != 0);
    let mut points = Vec::new();
    let mut marked = vec![false; map.slots()];
    for &keyframe in free.iter().rev() {
        for &point in map.keyframes()[keyframe].points.iter().flatten() {
            if points.len() < POINTS_MAX && !std::mem::replace(&mut marked[point], true) {
                points.push(point);
            }
        }
    }
    let mut shared = vec![0; map.keyframes().len()];
    for point in points.iter().filter_map(|number| map.point(*number)) {
        for &(keyframe, _) in &point.seen {
            shared[keyframe] += 1;
        }
    }
    let mut fixed: Vec<usize> =
        (0..shared.len()).filter(|k| shared[*k] > 0 && !free.contains(k)).collect();
    fixed.sort_by_key(|k| (std::cmp::Reverse(shared[*k]), *k));
    fixed.truncate(FIXED_MAX);
    if fixed.is_empty() && free.len() > 1 {
        fixed.push(free.remove(0));
    }
    fixed.sort_unstable();
    points.sort_unstable();
    Window { free, fixed, points }
}

/// The least squares of a window; points that say nothing leave it.
fn problem(map: &Map, sight: &Sight, noise: &OdometryNoise, window: &mut Window) -> Adjustment {
    let mut points = Vec::with_capacity(window.points.len());
    let mut kept = Vec::with_capacity(window.points.len());
    for &number in &window.points {
        let Some(point) = map.point(number) else { continue };
        let sighting = |&(keyframe, feature): &(usize, usize)| {
            let from = window.from(map, keyframe)?;
            let seen = &map.keyframes()[keyframe];
            sight.project(seen.pose, point.spot)?;
            Some(Sighting { from, pixel: seen.features.all()[feature].at })
        };
        let sightings: Vec<Sighting> = point.seen.iter().filter_map(sighting).collect();
        // One ray says nothing of a distance.
        if sightings.len() >= 2 {
            points.push((point.spot, sightings));
            kept.push(number);
        }
    }
    window.points = kept;
    let pose = |keyframe: &usize| map.keyframes()[*keyframe].pose;
    let free = window.free.iter().map(pose).collect();
    let step = |(to, keyframe): (usize, &usize)| {
        let before = keyframe.checked_sub(1)?;
        let (from, after) = (&map.keyframes()[before], &map.keyframes()[*keyframe]);
        Some(Step {
            // A keyframe outside the window holds its successor, too.
            from: window.from(map, before).unwrap_or(Anchor::Fixed(from.pose)),
            to,
            measured: from.odometry.to(after.odometry),
            sigma: noise.over(after.driven_m - from.driven_m),
        })
    };
    let steps = window.free.iter().enumerate().filter_map(step).collect();
    Adjustment { sight: *sight, free, points, steps }
}

fn drop_outliers(map: &mut Map, sight: &Sight, number: usize) {
    let Some(point) = map.point(number) else { return };
    let spot = point.spot;
    let wrong = |&(keyframe, feature): &(usize, usize)| {
        let seen = &map.keyframes()[keyframe];
        miss(sight, seen.pose, (spot, seen.features.all()[feature].at)) > OUTLIER
    };
    let wrong: Vec<usize> = point.seen.iter().filter(|s| wrong(s)).map(|s| s.0).collect();
    for keyframe in wrong {
        map.forget(number, keyframe);
    }
}
