//! Finds the map's points in a picture, and the vehicle's pose from them.

use crate::slam::features::{Descriptor, Features};
use crate::slam::fit::{Expected, Fit, OUTLIER, fit, miss};
use crate::slam::map::Map;
use crate::slam::pose::Pose;
use crate::slam::sight::{Pixel, Sight, Spot};

/// Keyframes whose points are looked for.
pub const NEAR_MAX: usize = 6;
/// Points that are looked for in a picture.
const LOOKED_FOR_MAX: usize = 1500;
/// How far a keyframe may be whose points are looked for, m; a turn of 1 rad counts as one of
/// these.
const NEAR_M: f64 = 0.8;
const TURN_M: f64 = 1.0;
/// Keyframes that share most points with one, whose neighbours belong to its part of the map, too.
const PART_FROM: usize = 3;
/// Bits in which a key point may differ from the one that showed the point before.
pub const DIFFERENCE_MAX: u32 = 60;
/// Share, in tenths, of the second best difference that the best one stays below.
pub const CLEAR_SHARE: u32 = 8;
/// Key points lie at least this far from the edge of the picture.
const EDGE: f64 = 20.0;
/// Fewer matches say nothing of the pose.
pub const MATCHES_MIN: usize = 12;

/// A point that was found in a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// The map's point.
    pub point: usize,
    /// The key point that shows it.
    pub feature: usize,
    /// The keyframe from which its descriptor was taken.
    pub keyframe: usize,
    spot: Spot,
    pixel: Pixel,
    difference: u32,
}

impl Match {
    /// Where the point is, and where it is seen.
    pub fn sighting(&self) -> (Spot, Pixel) {
        (self.spot, self.pixel)
    }
}

/// What tracking found.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// The pose.
    pub fit: Fit,
    /// The keyframe that shares most points with the picture.
    pub reference: usize,
}

/// A point as it is looked for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    point: usize,
    keyframe: usize,
    spot: Spot,
    descriptor: Descriptor,
}

/// Scratch that is kept from picture to picture.
#[derive(Debug, Default)]
pub struct Tracker {
    wanted: Vec<Wanted>,
    marked: Vec<u32>,
    mark: u32,
    matches: Vec<Match>,
    taken: Vec<Option<usize>>,
}

/// Keyframes of `among` that are near a pose, nearest first, at most [`NEAR_MAX`].
pub fn near(map: &Map, pose: Pose, among: impl Iterator<Item = usize>) -> Vec<usize> {
    let far = |index: usize| {
        let there = map.keyframes()[index].pose;
        there.distance(pose) + TURN_M * there.angle(pose)
    };
    let mut near: Vec<(f64, usize)> =
        among.map(|index| (far(index), index)).filter(|(far, _)| *far < NEAR_M).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    near.truncate(NEAR_MAX);
    near.into_iter().map(|(_, index)| index).collect()
}

/// Keyframe `index`, those that share points with it, and those that share points with the first of
/// these: the part of the map that the vehicle is in. A part that was left belongs to it only
/// once a loop is closed.
pub fn part(map: &Map, index: usize) -> Vec<usize> {
    let mut part = vec![index];
    let direct = map.neighbours(index);
    part.extend(direct.iter().map(|n| n.0));
    for (keyframe, _) in direct.iter().take(PART_FROM) {
        part.extend(map.neighbours(*keyframe).iter().map(|n| n.0));
    }
    part.sort_unstable();
    part.dedup();
    part
}

impl Tracker {
    /// The points that the last search found.
    pub fn matches(&self) -> &[Match] {
        &self.matches
    }

    /// Looks for the points of the `keyframes` (points of the first ones count first) in a picture
    /// that is seen from about `pose`, at most `reach` pixels from where they should be.
    pub fn search(
        &mut self,
        map: &Map,
        sight: &Sight,
        (pose, reach): (Pose, f64),
        keyframes: &[usize],
        features: &Features,
    ) {
        self.want(map, keyframes);
        self.matches.clear();
        self.taken.clear();
        self.taken.resize(features.all().len(), None);
        for wanted in &self.wanted {
            let Some(pixel) = sight.project(pose, wanted.spot) else { continue };
            if !sight.contains(pixel, EDGE) {
                continue;
            }
            let best = features.best_near(pixel, reach, &wanted.descriptor);
            let Some(best) = best.filter(|b| b.is_clear(DIFFERENCE_MAX, CLEAR_SHARE)) else {
                continue;
            };
            let found = Match {
                point: wanted.point,
                feature: best.index,
                keyframe: wanted.keyframe,
                spot: wanted.spot,
                pixel: features.all()[best.index].at,
                difference: best.difference,
            };
            match self.taken[best.index] {
                Some(at) if self.matches[at].difference <= best.difference => {}
                Some(at) => self.matches[at] = found,
                None => {
                    self.taken[best.index] = Some(self.matches.len());
                    self.matches.push(found);
                }
            }
        }
    }

    /// Fits the pose to what was found, and keeps the matches that agree with it.
    pub fn settle(
        &mut self,
        map: &Map,
        sight: &Sight,
        start: Pose,
        expected: Option<Expected>,
    ) -> Option<Tracked> {
        if self.matches.len() < MATCHES_MIN {
            return None;
        }
        let fit = fit(sight, start, expected, self.matches.iter().map(Match::sighting))?;
        self.matches.retain(|m| miss(sight, fit.pose, m.sighting()) <= OUTLIER);
        if self.matches.len() < MATCHES_MIN {
            return None;
        }
        let mut shared = vec![0_u32; map.keyframes().len()];
        for found in &self.matches {
            for &(keyframe, _) in map.point(found.point).map_or(&[][..], |point| &point.seen) {
                shared[keyframe] += 1;
            }
        }
        // The newest of equals.
        let reference = shared.iter().enumerate().max_by_key(|(index, count)| (**count, *index))?.0;
        Some(Tracked { fit, reference })
    }

    /// Counts for each point that was looked for whether it was to be seen from `pose`, and was.
    pub fn count(&self, map: &mut Map, sight: &Sight, pose: Pose) {
        for wanted in &self.wanted {
            let pixel = sight.project(pose, wanted.spot);
            if pixel.is_some_and(|pixel| sight.contains(pixel, EDGE + 4.0))
                && let Some(point) = map.point_mut(wanted.point)
            {
                point.expected = point.expected.saturating_add(1);
            }
        }
        for found in &self.matches {
            if let Some(point) = map.point_mut(found.point) {
                point.found = point.found.saturating_add(1);
            }
        }
    }

    /// Lists the points of the keyframes, each once.
    fn want(&mut self, map: &Map, keyframes: &[usize]) {
        self.mark = self.mark.wrapping_add(1);
        if self.mark == 0 {
            self.marked.clear();
            self.mark = 1;
        }
        self.marked.resize(map.slots().max(self.marked.len()), 0);
        self.wanted.clear();
        for &index in keyframes {
            let keyframe = &map.keyframes()[index];
            for (feature, point) in keyframe.points.iter().enumerate() {
                let Some(number) = *point else { continue };
                let Some(point) = map.point(number) else { continue };
                if std::mem::replace(&mut self.marked[number], self.mark) == self.mark
                    || self.wanted.len() >= LOOKED_FOR_MAX
                {
                    continue;
                }
                let descriptor = keyframe.features.all()[feature].descriptor;
                let spot = point.spot;
                self.wanted.push(Wanted { point: number, keyframe: index, spot, descriptor });
            }
        }
    }
}
