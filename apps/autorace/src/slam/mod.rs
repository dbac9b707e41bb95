//! Simultaneous localisation and mapping with one camera and odometry, for a vehicle on a floor.
//!
//! The front end is [`crate::features`]. For every picture, [`Slam::step`]
//! 1. moves the last pose by what odometry says,
//! 2. looks for the points of the nearest keyframes of this part of the map (`track`) and fits
//!    the pose to them (`fit`): three unknowns, because the vehicle does not leave the floor and
//!    the camera is fixed to it.
//!
//! If the picture shows little of its keyframe or is far from it, it becomes a keyframe:
//! 3. key points that other keyframes show, too, become points (`growth`),
//! 4. the newest keyframes and their points are adjusted together (`bundle`),
//! 5. a place that was left long ago is known again (`places`, `closing`); then all keyframes
//!    move so that both ends meet (`pose_graph`).
//!
//! Odometry gives the scale: one camera has none. The map's origin is the first pose.
//!
//! Bounds: keyframes and points have a largest number; beyond it the map grows no more and the
//! vehicle is localised in it. A picture that is no keyframe costs a search of at most
//! [`track::NEAR_MAX`] keyframes. The same input gives the same bits on one machine: nothing is
//! random, and nothing runs in other threads.

mod adjustment;
mod bundle;
mod closing;
pub mod features;
pub mod fit;
mod growth;
pub mod map;
pub mod odometry;
mod path;
mod places;
pub mod pose;
mod pose_graph;
pub mod sight;
pub mod track;

use crate::slam::closing::Closing;
use crate::slam::features::{Features, Seen};
use crate::slam::fit::{Expected, inverse};
use crate::slam::map::{Keyframe, Map};
use crate::slam::odometry::OdometryNoise;
use crate::slam::path::DrivenPath;
use crate::slam::pose::Pose;
use crate::slam::sight::Sight;
use crate::slam::track::{MATCHES_MIN, Tracker, near, part};
use thiserror::Error;

/// Most key points of a picture.
pub const FEATURES_MAX: usize = 4096;
/// Most keyframes of a map.
pub const KEYFRAMES_MAX: usize = 4096;
/// Most points of a map.
pub const POINTS_MAX: usize = 1 << 18;
/// Odometry that moves further from one picture to the next is broken, m.
const STEP_MAX_M: f64 = 2.0;
/// Pixels round a point's place in which it is looked for, first and if too few are found.
const REACHES: [f64; 2] = [12.0, 30.0];
/// Matches that are enough.
const MATCHES_GOOD: usize = 30;
/// A picture becomes a keyframe if it is this far from its keyframe: m, rad.
const KEYFRAME_TURN: f64 = 0.2;
/// Tenths of its keyframe's points below which a picture becomes one, and the least way then, m.
const SHOWN_TENTHS: usize = 4;
const KEYFRAME_LEAST_M: f64 = 0.03;
/// Earlier keyframes with which new points are made.
const GROWN_FROM: usize = 3;
/// Pictures after which a point that is seldom found is removed, and how seldom, in tenths.
const EXPECTED_MIN: u32 = 15;
const FOUND_TENTHS: u32 = 2;
/// Way between places of the path, m.
const PATH_EVERY_M: f64 = 0.05;

/// What the mapper is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlamParameters {
    /// The camera.
    pub sight: Sight,
    /// How much odometry is to be believed.
    pub noise: OdometryNoise,
    /// Way from keyframe to keyframe, m.
    pub keyframe_m: f64,
    /// Whether places are known again.
    pub close_loops: bool,
    /// Most keyframes.
    pub keyframes_max: usize,
    /// Most points.
    pub points_max: usize,
    /// Most places of the path.
    pub path_max: usize,
}

/// Why a picture cannot be used.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SlamError {
    /// Odometry is not finite, or jumps.
    #[error(
        "odometry moves from ({:.3}, {:.3}) to ({:.3}, {:.3}) between two pictures, but may move \
         {STEP_MAX_M} m: look at the topic of the input `odometry`",
        from.x, from.y, to.x, to.y
    )]
    Odometry {
        /// The pose before.
        from: Pose,
        /// The new one.
        to: Pose,
    },
    /// Time does not go on.
    #[error(
        "the picture of {now_ns} ns came after the one of {last_ns} ns: a map knows one drive, \
         start the node again for another one"
    )]
    Time {
        /// The last stamp.
        last_ns: i64,
        /// The new one.
        now_ns: i64,
    },
    /// A key point is outside of the picture.
    #[error(
        "a key point is at ({x}, {y}), but the picture has {width} x {height} pixels: set `width` \
         and `height` as the camera has them"
    )]
    Outside {
        /// Its column.
        x: f64,
        /// Its row.
        y: f64,
        /// Columns of the picture.
        width: f64,
        /// Its rows.
        height: f64,
    },
    /// Too many key points.
    #[error("a picture has {0} key points, but may have {FEATURES_MAX}: lower `per_cell`")]
    Count(usize),
}

/// What a picture said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Localised {
    /// The vehicle in the map's frame.
    pub pose: Pose,
    /// Covariance of x, y, yaw.
    pub covariance: [[f64; 3]; 3],
    /// Whether the map says so; else odometry alone does.
    pub tracked: bool,
    /// Points that were found.
    pub matches: usize,
    /// Whether the picture became a keyframe.
    pub keyframe: bool,
    /// Whether the map was joined at a known place.
    pub closed: bool,
}

/// The last picture.
#[derive(Clone, Copy, Debug)]
struct Last {
    stamp_ns: i64,
    odometry: Pose,
    pose: Pose,
    reference: usize,
    driven_m: f64,
}

/// The mapper: a map, the path, and the last pose.
#[derive(Debug)]
pub struct Slam {
    parameters: SlamParameters,
    map: Map,
    path: DrivenPath,
    tracker: Tracker,
    closing: Closing,
    last: Option<Last>,
}

impl Slam {
    /// An empty map.
    pub fn new(parameters: SlamParameters) -> Self {
        Self {
            parameters,
            map: Map::default(),
            path: DrivenPath::new(PATH_EVERY_M, parameters.path_max),
            tracker: Tracker::default(),
            closing: Closing::default(),
            last: None,
        }
    }

    /// The map.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Number of places of the path.
    pub fn path_len(&self) -> usize {
        self.path.len()
    }

    /// The driven path by the map as it is now, with stamps.
    pub fn path(&self) -> impl Iterator<Item = (i64, Pose)> + '_ {
        self.path.poses(&self.map)
    }

    /// Takes the next picture's key points and the odometry of the same time. Allocates; adjusts
    /// the map if the picture becomes a keyframe.
    ///
    /// # Errors
    /// [`SlamError`]; the map is as before.
    pub fn step(
        &mut self,
        stamp_ns: i64,
        odometry: Pose,
        seen: Vec<Seen>,
    ) -> Result<Localised, SlamError> {
        self.check(stamp_ns, odometry, &seen)?;
        let features = Features::new(seen, self.parameters.sight.size);
        let Some(last) = self.last else {
            return Ok(self.begin(stamp_ns, odometry, features));
        };
        let step = last.odometry.to(odometry);
        let way = step.distance(Pose::ORIGIN);
        let [sigma_m, sigma_yaw] = self.parameters.noise.over(way);
        let expected = Expected { pose: last.pose.then(step), sigma_m, sigma_yaw };
        let tracked = self.track(&last, expected, &features);
        let pose = tracked.map_or(expected.pose, |t| t.fit.pose);
        let mut now = Last {
            stamp_ns,
            odometry,
            pose,
            reference: tracked.map_or(last.reference, |t| t.reference),
            driven_m: last.driven_m + way,
        };
        let flat = [sigma_m * sigma_m, sigma_m * sigma_m, sigma_yaw * sigma_yaw];
        let flat = [0, 1, 2].map(|i| [0, 1, 2].map(|k| if i == k { flat[i] } else { 0.0 }));
        let covariance = tracked.and_then(|t| inverse(&t.fit.information)).unwrap_or(flat);
        let matches = if tracked.is_some() { self.tracker.matches().len() } else { 0 };
        if tracked.is_some() {
            self.tracker.count(&mut self.map, &self.parameters.sight, pose);
        }
        let mut localised = Localised {
            pose,
            covariance,
            tracked: tracked.is_some(),
            matches,
            keyframe: self.wants_keyframe(&now, matches),
            closed: false,
        };
        if localised.keyframe {
            localised.closed = self.add_keyframe(&mut now, features, matches > 0);
            localised.pose = now.pose;
        }
        self.last = Some(now);
        let step = self.map.keyframes()[now.reference].pose.to(now.pose);
        self.path.note(stamp_ns, now.driven_m, now.reference, step);
        Ok(localised)
    }

    fn check(&self, stamp_ns: i64, odometry: Pose, seen: &[Seen]) -> Result<(), SlamError> {
        let from = self.last.map_or(Pose { yaw: 0.0, ..odometry }, |last| last.odometry);
        if !odometry.is_finite() || from.distance(odometry) > STEP_MAX_M {
            return Err(SlamError::Odometry { from, to: odometry });
        }
        if let Some(last) = self.last.filter(|last| last.stamp_ns >= stamp_ns) {
            return Err(SlamError::Time { last_ns: last.stamp_ns, now_ns: stamp_ns });
        }
        if seen.len() > FEATURES_MAX {
            return Err(SlamError::Count(seen.len()));
        }
        let sight = &self.parameters.sight;
        match seen.iter().find(|seen| !sight.contains(seen.at, 0.0)) {
            Some(&Seen { at: [x, y], .. }) => {
                let [width, height] = sight.size;
                Err(SlamError::Outside { x, y, width, height })
            }
            None => Ok(()),
        }
    }

    /// The first picture: the map's origin.
    fn begin(&mut self, stamp_ns: i64, odometry: Pose, features: Features) -> Localised {
        let mut now = Last { stamp_ns, odometry, pose: Pose::ORIGIN, reference: 0, driven_m: 0.0 };
        self.add_keyframe(&mut now, features, false);
        self.last = Some(now);
        self.path.note(stamp_ns, 0.0, 0, Pose::ORIGIN);
        Localised {
            pose: Pose::ORIGIN,
            covariance: [[0.0; 3]; 3],
            tracked: true,
            matches: 0,
            keyframe: true,
            closed: false,
        }
    }

    /// Looks for the map near the expected pose.
    fn track(
        &mut self,
        last: &Last,
        expected: Expected,
        features: &Features,
    ) -> Option<track::Tracked> {
        let sight = &self.parameters.sight;
        let part = part(&self.map, last.reference);
        let mut keyframes = near(&self.map, expected.pose, part.into_iter());
        // What was just seen is looked for even if the map says that it is far.
        for index in [last.reference, self.map.keyframes().len() - 1] {
            if !keyframes.contains(&index) {
                keyframes.insert(0, index);
            }
        }
        let mut tracked = None;
        for reach in REACHES {
            let place = (expected.pose, reach);
            self.tracker.search(&self.map, sight, place, &keyframes, features);
            tracked = self.tracker.settle(&self.map, sight, expected.pose, Some(expected));
            if self.tracker.matches().len() >= MATCHES_GOOD {
                break;
            }
        }
        tracked
    }

    fn wants_keyframe(&self, now: &Last, matches: usize) -> bool {
        let keyframes = self.map.keyframes();
        let (Some(newest), true) =
            (keyframes.last(), keyframes.len() < self.parameters.keyframes_max)
        else {
            return false;
        };
        let reference = &keyframes[now.reference];
        let (far, turned) = (reference.pose.distance(now.pose), reference.pose.angle(now.pose));
        let shown = reference.points.iter().flatten().count();
        let poor = matches * 10 < shown * SHOWN_TENTHS || matches < MATCHES_GOOD;
        let moved = now.driven_m - newest.driven_m;
        far >= self.parameters.keyframe_m
            || turned >= KEYFRAME_TURN
            || (poor && moved >= KEYFRAME_LEAST_M)
    }

    /// Makes a keyframe of the picture. True if the map was joined at a known place.
    fn add_keyframe(&mut self, now: &mut Last, features: Features, tracked: bool) -> bool {
        let SlamParameters { sight, noise, points_max, close_loops, .. } = self.parameters;
        let points = vec![None; features.all().len()];
        let (pose, odometry, driven_m) = (now.pose, now.odometry, now.driven_m);
        let new = self.map.add_keyframe(Keyframe { pose, odometry, driven_m, features, points });
        if tracked {
            for found in self.tracker.matches() {
                self.map.observe(found.point, (new, found.feature));
            }
        }
        self.drop_seldom_found();
        for old in self.grown_from(new) {
            growth::grow(&mut self.map, &sight, new, old, points_max);
        }
        bundle::adjust(&mut self.map, &sight, &noise, new);
        let closed = close_loops && self.closing.note(&mut self.map, &sight, new);
        if closed {
            bundle::adjust(&mut self.map, &sight, &noise, new);
        }
        (now.pose, now.reference) = (self.map.keyframes()[new].pose, new);
        closed
    }

    /// Keyframes that may show what the newest one shows: the last ones, and those that share most.
    fn grown_from(&self, new: usize) -> Vec<usize> {
        let mut from: Vec<usize> = (new.saturating_sub(GROWN_FROM)..new).rev().collect();
        let shared = self.map.neighbours(new);
        let more = shared.iter().map(|n| n.0).filter(|n| *n + GROWN_FROM < new).take(GROWN_FROM);
        from.extend(more);
        from
    }

    fn drop_seldom_found(&mut self) {
        let seldom = |point: &map::Point| {
            point.expected >= EXPECTED_MIN && point.found * 10 < point.expected * FOUND_TENTHS
        };
        let seldom: Vec<usize> =
            self.map.points().filter(|(_, point)| seldom(point)).map(|(index, _)| index).collect();
        for index in seldom {
            self.map.remove(index);
        }
    }
}

const _: () = assert!(MATCHES_GOOD > MATCHES_MIN, "enough is more than the least");

#[cfg(test)]
mod tests {
    use super::features::Seen;
    use super::odometry::OdometryNoise;
    use super::pose::Pose;
    use super::sight::Sight;
    use super::{FEATURES_MAX, Slam, SlamError, SlamParameters};

    fn slam() -> Slam {
        Slam::new(SlamParameters {
            sight: Sight::new(640, 480, 530.0, [0.17, 0.07, 0.28]),
            noise: OdometryNoise { m_per_m: 0.03, rad_per_m: 0.08 },
            keyframe_m: 0.1,
            close_loops: true,
            keyframes_max: 10,
            points_max: 100,
            path_max: 10,
        })
    }

    fn at(x: f64) -> Pose {
        Pose { x, y: 3.0, yaw: 1.0 }
    }

    #[test]
    fn without_key_points_the_vehicle_goes_where_odometry_says() {
        let mut slam = slam();
        let start = Pose { x: 5.0, y: 3.0, yaw: 1.0 };
        for i in 0..50_i64 {
            let odometry = start.then(Pose { x: 0.02 * i as f64, y: 0.0, yaw: 0.01 * i as f64 });
            let localised = slam.step(i, odometry, Vec::new()).unwrap();
            let expected = start.to(odometry);
            assert!(localised.pose.distance(expected) < 1e-9, "{localised:?}");
            assert_eq!(localised.tracked, i == 0);
        }
        assert!(slam.map().keyframes().len() <= 10 && slam.path_len() <= 10);
    }

    #[test]
    fn strange_input_is_refused_and_changes_nothing() {
        let mut slam = slam();
        let seen = |x: f64| Seen { at: [x, 10.0], descriptor: [0; 4] };
        let nan = at(f64::NAN);
        assert!(matches!(slam.step(5, nan, Vec::new()), Err(SlamError::Odometry { .. })));
        slam.step(5, at(0.0), vec![seen(3.0)]).unwrap();
        assert!(matches!(slam.step(6, at(2.5), Vec::new()), Err(SlamError::Odometry { .. })));
        let again = slam.step(5, at(0.0), Vec::new());
        assert_eq!(again, Err(SlamError::Time { last_ns: 5, now_ns: 5 }));
        for x in [-1.0, 640.0, f64::NAN, f64::INFINITY] {
            let outside = slam.step(6, at(0.1), vec![seen(x)]);
            assert!(matches!(outside, Err(SlamError::Outside { .. })), "{x}");
        }
        let many = vec![seen(3.0); FEATURES_MAX + 1];
        assert_eq!(slam.step(6, at(0.1), many), Err(SlamError::Count(FEATURES_MAX + 1)));
        assert!(slam.step(6, at(0.1), vec![seen(3.0); 300]).is_ok());
    }

    #[test]
    fn each_error_says_what_to_do() {
        let texts = [
            SlamError::Odometry { from: at(0.0), to: at(9.0) }.to_string(),
            SlamError::Time { last_ns: 2, now_ns: 1 }.to_string(),
            SlamError::Outside { x: 700.0, y: 1.0, width: 640.0, height: 480.0 }.to_string(),
            SlamError::Count(5000).to_string(),
        ];
        for (text, step) in texts.iter().zip(["look at", "start the node", "set", "lower"]) {
            assert!(text.contains(step), "{text}");
        }
    }
}
