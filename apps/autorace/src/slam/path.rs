//! The driven path: places that hang on keyframes, so that they move with the map.

use crate::slam::map::Map;
use crate::slam::pose::Pose;

/// A place on the way.
#[derive(Clone, Copy, Debug)]
struct Place {
    stamp_ns: i64,
    driven_m: f64,
    keyframe: usize,
    /// The vehicle as it is seen from the keyframe.
    step: Pose,
}

/// Places at distances, at most a given number: if they become more, every other one goes, and the
/// distance doubles.
#[derive(Clone, Debug)]
pub(super) struct DrivenPath {
    places: Vec<Place>,
    every_m: f64,
    places_max: usize,
}

impl DrivenPath {
    /// An empty path with a place every `every_m`, at most `places_max` (two or more).
    pub(super) fn new(every_m: f64, places_max: usize) -> Self {
        Self { places: Vec::new(), every_m, places_max: places_max.max(2) }
    }

    /// Notes where the vehicle is, if it has come far enough since the last place.
    pub(super) fn note(&mut self, stamp_ns: i64, driven_m: f64, keyframe: usize, step: Pose) {
        let far = |last: &Place| driven_m - last.driven_m >= self.every_m;
        if !self.places.last().is_none_or(far) {
            return;
        }
        if self.places.len() >= self.places_max {
            let mut keep = false;
            self.places.retain(|_| {
                keep = !keep;
                keep
            });
            self.every_m *= 2.0;
        }
        self.places.push(Place { stamp_ns, driven_m, keyframe, step });
    }

    /// Number of places.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// All places by the map as it is now, with their stamps.
    pub(super) fn poses<'a>(&'a self, map: &'a Map) -> impl Iterator<Item = (i64, Pose)> + 'a {
        let pose = |p: &Place| map.keyframes()[p.keyframe].pose.then(p.step);
        self.places.iter().map(move |place| (place.stamp_ns, pose(place)))
    }
}

#[cfg(test)]
mod tests {
    use super::DrivenPath;
    use crate::slam::pose::Pose;

    #[test]
    fn the_path_keeps_its_bound_its_beginning_and_its_order() {
        let mut path = DrivenPath::new(0.05, 10);
        for i in 0..1000 {
            path.note(i, i as f64 * 0.02, 0, Pose::ORIGIN);
            assert!(path.len() <= 10);
        }
        let stamps: Vec<i64> = path.places.iter().map(|p| p.stamp_ns).collect();
        assert_eq!(stamps[0], 0);
        assert!(stamps.is_sorted() && stamps.len() >= 5, "{stamps:?}");
        assert!(*stamps.last().unwrap() > 700, "{stamps:?}");
    }
}
