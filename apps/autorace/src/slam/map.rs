//! The map: keyframes, points, and which keyframe sees which point.
//!
//! Every keyframe has a slot for each of its key points, which names the point that it shows. Every
//! point lists the keyframes that see it, in the order of their numbers. Both sides always agree.

use crate::slam::features::Features;
use crate::slam::pose::Pose;
use crate::slam::sight::Spot;

/// A picture that stays in the map.
#[derive(Clone, Debug)]
pub struct Keyframe {
    /// Where the vehicle was, in the map's frame.
    pub pose: Pose,
    /// Where odometry said that it was.
    pub odometry: Pose,
    /// Way that odometry had counted until then, m.
    pub driven_m: f64,
    /// What was seen.
    pub features: Features,
    /// Per key point, the map's point that it shows.
    pub points: Vec<Option<usize>>,
}

/// One sighting of a point: keyframe, and key point in it.
pub type Sighting = (usize, usize);

/// A corner of something that does not move.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where it is.
    pub spot: Spot,
    /// Keyframes that see it, by number.
    pub seen: Vec<Sighting>,
    /// Pictures in which it should have been seen.
    pub expected: u32,
    /// Pictures in which it was.
    pub found: u32,
}

/// A step between two keyframes that saw the same place at different times.
#[derive(Clone, Copy, Debug)]
pub struct Closure {
    /// The older keyframe.
    pub from: usize,
    /// The newer one.
    pub to: usize,
    /// The newer one as it is seen from the older one.
    pub step: Pose,
}

/// Keyframes and points.
#[derive(Clone, Debug, Default)]
pub struct Map {
    keyframes: Vec<Keyframe>,
    points: Vec<Option<Point>>,
    free: Vec<usize>,
    /// Places that were recognised.
    pub closures: Vec<Closure>,
}

impl Map {
    /// All keyframes, by number.
    pub fn keyframes(&self) -> &[Keyframe] {
        &self.keyframes
    }

    /// Sets where keyframe `index` was.
    pub fn set_pose(&mut self, index: usize, pose: Pose) {
        self.keyframes[index].pose = pose;
    }

    /// Number of places for points, empty ones included.
    pub fn slots(&self) -> usize {
        self.points.len()
    }

    /// Number of points.
    pub fn count(&self) -> usize {
        self.points.len() - self.free.len()
    }

    /// A point by its number, if it still is one.
    pub fn point(&self, index: usize) -> Option<&Point> {
        self.points.get(index)?.as_ref()
    }

    /// As [`point`](Self::point), to change it; sightings are changed by this type only.
    pub fn point_mut(&mut self, index: usize) -> Option<&mut Point> {
        self.points.get_mut(index)?.as_mut()
    }

    /// All points with their numbers.
    pub fn points(&self) -> impl Iterator<Item = (usize, &Point)> {
        self.points.iter().enumerate().filter_map(|(i, point)| Some((i, point.as_ref()?)))
    }

    /// Adds a keyframe that sees no point yet and gives its number.
    pub fn add_keyframe(&mut self, keyframe: Keyframe) -> usize {
        self.keyframes.push(keyframe);
        self.keyframes.len() - 1
    }

    /// Adds a point that both sightings show.
    pub fn add_point(&mut self, spot: Spot, a: Sighting, b: Sighting) -> usize {
        let point = Point { spot, seen: Vec::new(), expected: 2, found: 2 };
        let index = match self.free.pop() {
            Some(index) => {
                self.points[index] = Some(point);
                index
            }
            None => {
                self.points.push(Some(point));
                self.points.len() - 1
            }
        };
        self.observe(index, a);
        self.observe(index, b);
        index
    }

    /// Notes that a keyframe sees a point; false if the key point or the keyframe has another one.
    pub fn observe(&mut self, index: usize, sighting: Sighting) -> bool {
        let (keyframe, feature) = sighting;
        let Some(point) = self.points.get_mut(index).and_then(Option::as_mut) else { return false };
        let slot = &mut self.keyframes[keyframe].points[feature];
        match point.seen.binary_search_by_key(&keyframe, |s| s.0) {
            Err(at) if slot.is_none() => {
                *slot = Some(index);
                point.seen.insert(at, sighting);
                true
            }
            _ => false,
        }
    }

    /// Takes a sighting back; a point that fewer than two keyframes see is removed.
    pub fn forget(&mut self, index: usize, keyframe: usize) {
        let Some(point) = self.points.get_mut(index).and_then(Option::as_mut) else { return };
        if let Ok(at) = point.seen.binary_search_by_key(&keyframe, |s| s.0) {
            let (_, feature) = point.seen.remove(at);
            self.keyframes[keyframe].points[feature] = None;
        }
        if point.seen.len() < 2 {
            self.remove(index);
        }
    }

    /// Removes a point and all its sightings.
    pub fn remove(&mut self, index: usize) {
        let Some(point) = self.points.get_mut(index).and_then(Option::take) else { return };
        for (keyframe, feature) in point.seen {
            self.keyframes[keyframe].points[feature] = None;
        }
        self.free.push(index);
    }

    /// Says that `from` is the same point as `to`, which takes over its sightings.
    pub fn merge(&mut self, from: usize, to: usize) {
        if from == to || self.point(to).is_none() {
            return;
        }
        let Some(point) = self.points.get_mut(from).and_then(Option::take) else { return };
        self.free.push(from);
        for &(keyframe, feature) in &point.seen {
            self.keyframes[keyframe].points[feature] = None;
        }
        for sighting in point.seen {
            self.observe(to, sighting);
        }
        if let Some(to) = self.point_mut(to) {
            to.expected = to.expected.saturating_add(point.expected);
            to.found = to.found.saturating_add(point.found);
        }
    }

    /// Keyframes that share points with keyframe `index`, with their number: most first.
    pub fn neighbours(&self, index: usize) -> Vec<(usize, usize)> {
        let mut shared = vec![0; self.keyframes.len()];
        for point in self.keyframes[index].points.iter().flatten() {
            for &(keyframe, _) in self.point(*point).map_or(&[][..], |point| &point.seen) {
                shared[keyframe] += 1;
            }
        }
        let mut neighbours: Vec<(usize, usize)> = shared
            .into_iter()
            .enumerate()
            .filter(|&(keyframe, count)| count > 0 && keyframe != index)
            .collect();
        neighbours.sort_by_key(|&(keyframe, count)| (std::cmp::Reverse(count), keyframe));
        neighbours
    }

    /// Moves each point with the first keyframe that sees it, from the poses `before` to now.
    pub fn carry_points(&mut self, before: &[Pose]) {
        for point in self.points.iter_mut().flatten() {
            let Some(&(keyframe, _)) = point.seen.first() else { continue };
            let local = before[keyframe].inward(point.spot);
            point.spot = self.keyframes[keyframe].pose.outward(local);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Keyframe, Map};
    use crate::slam::features::{Features, Seen};
    use crate::slam::pose::Pose;

    fn keyframe() -> Keyframe {
        let seen = (0..4).map(|i| Seen { at: [f64::from(i); 2], descriptor: [0; 4] }).collect();
        Keyframe {
            pose: Pose::ORIGIN,
            odometry: Pose::ORIGIN,
            driven_m: 0.0,
            features: Features::new(seen, [9.0; 2]),
            points: vec![None; 4],
        }
    }

    /// Both sides of the sightings say the same.
    fn check(map: &Map) {
        for (index, point) in map.points() {
            assert!(point.seen.len() >= 2 && point.seen.is_sorted());
            for &(keyframe, feature) in &point.seen {
                assert_eq!(map.keyframes()[keyframe].points[feature], Some(index));
            }
        }
        let slots = map.keyframes().iter().flat_map(|k| k.points.iter().flatten());
        let sightings: usize = map.points().map(|(_, point)| point.seen.len()).sum();
        assert_eq!(slots.count(), sightings);
    }

    #[test]
    fn sightings_agree_on_both_sides_whatever_happens_to_points() {
        let mut map = Map::default();
        for _ in 0..4 {
            map.add_keyframe(keyframe());
        }
        let a = map.add_point([0.0; 3], (1, 0), (0, 0));
        let b = map.add_point([1.0; 3], (1, 1), (2, 1));
        assert!(map.observe(a, (3, 2)));
        assert!(!map.observe(a, (3, 3)), "a keyframe sees a point once");
        assert!(!map.observe(b, (0, 0)), "a key point shows one point");
        check(&map);
        assert_eq!(map.neighbours(1), [(0, 1), (2, 1), (3, 1)]);
        map.merge(b, a);
        check(&map);
        assert_eq!(map.count(), 1);
        assert_eq!(map.point(a).unwrap().seen, [(0, 0), (1, 0), (2, 1), (3, 2)]);
        map.forget(a, 1);
        map.forget(a, 2);
        check(&map);
        map.forget(a, 0);
        assert_eq!((map.count(), map.point(a).is_none()), (0, true));
        let again = map.add_point([2.0; 3], (0, 0), (1, 0));
        assert!(again <= b, "places are used again");
        check(&map);
    }

    #[test]
    fn points_move_with_the_keyframe_that_saw_them_first() {
        let mut map = Map::default();
        map.add_keyframe(keyframe());
        map.add_keyframe(keyframe());
        let point = map.add_point([1.0, 0.0, 0.5], (1, 0), (0, 0));
        let before = [Pose::ORIGIN; 2];
        map.set_pose(0, Pose { x: 0.0, y: 1.0, yaw: std::f64::consts::FRAC_PI_2 });
        map.carry_points(&before);
        let spot = map.point(point).unwrap().spot;
        assert!((spot[0]).abs() < 1e-12 && (spot[1] - 2.0).abs() < 1e-12 && spot[2] == 0.5);
    }
}
