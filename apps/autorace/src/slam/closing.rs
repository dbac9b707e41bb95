//! Loop closing: knows a place again, makes sure of it, and joins both parts of the map.

use crate::simulator::texture::scatter;
use crate::slam::features::{Best, difference};
use crate::slam::fit::{Fit, fit, miss};
use crate::slam::map::{Closure, Map};
use crate::slam::places::Places;
use crate::slam::pose::Pose;
use crate::slam::pose_graph;
use crate::slam::sight::{Pixel, Sight, Spot};
use crate::slam::track::{CLEAR_SHARE, DIFFERENCE_MAX, Tracker, near, part};

/// Way since a keyframe after which it may be a place that is known again, m.
const WAY_MIN_M: f64 = 3.0;
/// A keyframe that shares as many points needs no closure.
const SHARED_MAX: usize = 20;
/// Keyframes whose pictures are compared with a new one.
const CANDIDATES: usize = 3;
/// Key points of a candidate with a word in common, at least.
const VOTES_MIN: u32 = 25;
/// Pairs of key points and points, at least.
const PAIRS_MIN: usize = 12;
/// Draws of two pairs, and rounds for each.
const DRAWS: u64 = 80;
const DRAW_SEED: u64 = 0x51a4_c105;
/// Pixels by which a pair of a drawn pose may miss.
const MISS_MAX: f64 = 5.0;
/// Pairs that agree, at least: as a number, and in tenths of all pairs.
const AGREE_MIN: usize = 10;
const AGREE_TENTHS: usize = 4;
/// Points that are found when all of the place are looked for, at least.
const FOUND_MIN: usize = 30;
/// Pixels round a point's place in which it is looked for then.
const REACH: f64 = 10.0;
/// How far the map may be off for each metre since the place was left.
const DRIFT_MAX: f64 = 0.15;
const DRIFT_ANGLE_MAX: f64 = 0.1;
/// Two closures in a row agree if they differ by at most this: m, rad.
const AGREE_M: f64 = 0.10;
const AGREE_RAD: f64 = 0.06;
/// Keyframes between which closures are in a row.
const ROW: usize = 4;

/// A place that was known again.
#[derive(Clone, Copy, Debug)]
struct Known {
    old: usize,
    new: usize,
    /// Where the new keyframe is, by the map of the old one.
    pose: Pose,
}

/// What is known of places, and the last one that was known again.
#[derive(Debug, Default)]
pub(super) struct Closing {
    places: Places,
    last: Option<Known>,
    tracker: Tracker,
}

impl Closing {
    /// Looks whether keyframe `new` shows a place that was left long ago. If two keyframes in a row
    /// say so, the map is joined there. True if it was.
    pub(super) fn note(&mut self, map: &mut Map, sight: &Sight, new: usize) -> bool {
        let candidates = self.candidates(map, new);
        self.places.add(map.keyframes()[new].features.all());
        let known = candidates.into_iter().find_map(|old| self.verify(map, sight, old, new));
        let Some(known) = known else { return false };
        let before = self.last.replace(known);
        let again = before.is_some_and(|before| in_a_row(map, &before, &known));
        if again {
            self.join(map, &known);
            self.last = None;
        }
        again
    }

    /// Keyframes that may show what `new` shows, the best first.
    fn candidates(&mut self, map: &Map, new: usize) -> Vec<usize> {
        let keyframe = &map.keyframes()[new];
        let mut shared = vec![0; map.keyframes().len()];
        for (index, count) in map.neighbours(new) {
            shared[index] = count;
        }
        let votes = self.places.votes(keyframe.features.all());
        let mut candidates: Vec<(u32, usize)> = votes
            .iter()
            .enumerate()
            .filter(|&(index, count)| {
                let way = keyframe.driven_m - map.keyframes()[index].driven_m;
                way >= WAY_MIN_M && shared[index] < SHARED_MAX && *count >= VOTES_MIN
            })
            .map(|(index, count)| (*count, index))
            .collect();
        candidates.sort_by_key(|&(count, index)| (std::cmp::Reverse(count), index));
        candidates.truncate(CANDIDATES);
        candidates.into_iter().map(|(_, index)| index).collect()
    }

    /// Finds where `new` is by the points of `old`, if many of them agree.
    fn verify(&mut self, map: &Map, sight: &Sight, old: usize, new: usize) -> Option<Known> {
        let pairs = pairs(map, old, new);
        let first = draw(sight, map.keyframes()[old].pose, &pairs, new as u64)?;
        // All points of the place have to agree, not only one keyframe's points.
        let place = part(map, old).into_iter().filter(|keyframe| is_old(map, *keyframe, new));
        let there = near(map, first.pose, place);
        let features = &map.keyframes()[new].features;
        let mut pose = first.pose;
        for _ in 0..2 {
            self.tracker.search(map, sight, (pose, REACH), &there, features);
            pose = self.tracker.settle(map, sight, pose, None)?.fit.pose;
        }
        let keyframe = &map.keyframes()[new];
        let way = keyframe.driven_m - map.keyframes()[old].driven_m;
        let off = pose.distance(keyframe.pose) <= DRIFT_MAX * way
            && pose.angle(keyframe.pose) <= DRIFT_ANGLE_MAX * way;
        (off && self.tracker.matches().len() >= FOUND_MIN).then_some(Known { old, new, pose })
    }

    /// Adds the closure, moves the map, and makes one point of each two that are the same.
    fn join(&mut self, map: &mut Map, known: &Known) {
        let step = map.keyframes()[known.old].pose.to(known.pose);
        map.closures.push(Closure { from: known.old, to: known.new, step });
        pose_graph::close(map);
        for found in self.tracker.matches() {
            let sighting = (known.new, found.feature);
            match map.keyframes()[known.new].points[found.feature] {
                Some(own) => map.merge(own, found.point),
                None => {
                    map.observe(found.point, sighting);
                }
            }
        }
    }
}

/// Whether the vehicle has come far since a keyframe.
fn is_old(map: &Map, keyframe: usize, new: usize) -> bool {
    map.keyframes()[new].driven_m - map.keyframes()[keyframe].driven_m >= WAY_MIN_M
}

fn in_a_row(map: &Map, before: &Known, now: &Known) -> bool {
    let step = map.keyframes()[before.new].pose.to(map.keyframes()[now.new].pose);
    let expected = before.pose.then(step);
    now.new - before.new <= ROW
        && expected.distance(now.pose) <= AGREE_M
        && expected.angle(now.pose) <= AGREE_RAD
}

/// Points of keyframe `old`, and where `new` seems to show them.
fn pairs(map: &Map, old: usize, new: usize) -> Vec<(Spot, Pixel)> {
    let (old, new) = (&map.keyframes()[old], &map.keyframes()[new]);
    let mut of_new: Vec<Option<Best>> = vec![None; new.points.len()];
    let mut of_old: Vec<Option<Best>> = vec![None; old.points.len()];
    for (a, point) in old.points.iter().enumerate() {
        if point.is_none() {
            continue;
        }
        let descriptor = &old.features.all()[a].descriptor;
        for (b, seen) in new.features.all().iter().enumerate() {
            let bits = difference(descriptor, &seen.descriptor);
            Best::note(&mut of_old[a], b, bits);
            Best::note(&mut of_new[b], a, bits);
        }
    }
    let clear = |best: &Option<Best>| best.filter(|b| b.is_clear(DIFFERENCE_MAX, CLEAR_SHARE));
    (0..of_old.len())
        .filter_map(|a| {
            let b = clear(&of_old[a])?.index;
            let spot = map.point(old.points[a]?)?.spot;
            (of_new[b]?.index == a).then_some((spot, new.features.all()[b].at))
        })
        .collect()
}

/// The pose with which most pairs agree, of those that two drawn pairs say.
fn draw(sight: &Sight, start: Pose, pairs: &[(Spot, Pixel)], salt: u64) -> Option<Fit> {
    if pairs.len() < PAIRS_MIN {
        return None;
    }
    let count = |pose: Pose| pairs.iter().filter(|p| miss(sight, pose, **p) <= MISS_MAX).count();
    let mut best: Option<(usize, Pose)> = None;
    for number in 0..DRAWS {
        let pick = |k| (scatter(DRAW_SEED ^ salt, number, k) % pairs.len() as u64) as usize;
        let (a, b) = (pick(0), pick(1));
        if a == b {
            continue;
        }
        let Some(drawn) = fit(sight, start, None, [pairs[a], pairs[b]].into_iter()) else {
            continue;
        };
        let agree = count(drawn.pose);
        if best.is_none_or(|(most, _)| agree > most) {
            best = Some((agree, drawn.pose));
        }
    }
    let (agree, pose) = best?;
    if agree < AGREE_MIN || agree * 10 < pairs.len() * AGREE_TENTHS {
        return None;
    }
    let agreeing = pairs.iter().copied().filter(|p| miss(sight, pose, *p) <= MISS_MAX);
    fit(sight, pose, None, agreeing)
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::simulator::texture::scatter;
    use crate::slam::pose::Pose;
    use crate::slam::sight::{Pixel, Sight, Spot};

    fn pairs(sight: &Sight, pose: Pose, wrong: u64) -> Vec<(Spot, Pixel)> {
        let draw = |i: u64, k: u64| (scatter(3, i, k) % 1000) as f64 / 1000.0;
        (0..60)
            .filter_map(|i| {
                let spot = pose.outward([0.6 + draw(i, 0), draw(i, 1) - 0.5, 0.4 * draw(i, 2)]);
                let pixel = sight.project(pose, spot)?;
                let lost = [640.0 * draw(i, 3), 480.0 * draw(i, 4)];
                Some((spot, if i < wrong { lost } else { pixel }))
            })
            .collect()
    }

    #[test]
    fn a_place_is_found_among_as_many_wrong_pairs_and_not_among_wrong_ones_alone() {
        let sight = Sight::new(640, 480, 530.0, [0.17, 0.07, 0.28]);
        let truth = Pose { x: 3.0, y: 1.0, yaw: 1.0 };
        let start = truth.then(Pose { x: 0.06, y: 0.03, yaw: -0.08 });
        let found = draw(&sight, start, &pairs(&sight, truth, 30), 1).unwrap();
        assert!(found.pose.distance(truth) < 1e-3 && found.pose.angle(truth) < 1e-3);
        assert!(draw(&sight, start, &pairs(&sight, truth, 60), 1).is_none());
        assert!(draw(&sight, start, &pairs(&sight, truth, 0)[..5], 1).is_none());
    }
}
