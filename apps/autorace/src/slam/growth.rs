//! New points: key points of a new keyframe that an earlier keyframe shows, too.

use crate::slam::features::{Best, difference};
use crate::slam::fit::miss;
use crate::slam::map::Map;
use crate::slam::sight::{Sight, Spot};
use crate::slam::track::CLEAR_SHARE;

/// Bits in which both key points may differ: nothing else says yet that they show the same.
const DIFFERENCE_MAX: u32 = 48;
/// Columns and rows that a key point may move between the keyframes.
const MOVED_MAX: f64 = 90.0;
/// Sine of the smallest angle between both rays: below, the distance is a guess.
const SINE_MIN: f64 = 0.017;
/// Pixels by which the rays may miss.
const MISS_MAX: f64 = 2.0;
/// A point is at most this far, m: at the smallest angle, a pixel is a tenth of it.
const FAR_M: f64 = 5.0;
/// The floor is at 0 m, and nothing lies below it but errors.
const LOWEST_M: f64 = -0.03;

/// Adds the points that keyframe `new` and keyframe `old` show and that the map lacks.
pub(super) fn grow(map: &mut Map, sight: &Sight, new: usize, old: usize, points_max: usize) {
    let pairs = pairs(map, new, old);
    for (a, b) in pairs {
        if map.count() >= points_max {
            return;
        }
        if let Some(spot) = spot(map, sight, (new, a), (old, b)) {
            map.add_point(spot, (new, a), (old, b));
        }
    }
}

/// Pairs of key points without a point, each the clearly best one of the other.
fn pairs(map: &Map, new: usize, old: usize) -> Vec<(usize, usize)> {
    let (new, old) = (&map.keyframes()[new], &map.keyframes()[old]);
    let mut of_old: Vec<Option<Best>> = vec![None; old.points.len()];
    let mut of_new: Vec<Option<Best>> = vec![None; new.points.len()];
    for (a, seen) in new.features.all().iter().enumerate() {
        if new.points[a].is_some() {
            continue;
        }
        let best = &mut of_new[a];
        old.features.near(seen.at, MOVED_MAX, |b| {
            if old.points[b].is_none() {
                let bits = difference(&seen.descriptor, &old.features.all()[b].descriptor);
                Best::note(best, b, bits);
                Best::note(&mut of_old[b], a, bits);
            }
        });
    }
    let clear = |best: &Option<Best>| best.filter(|b| b.is_clear(DIFFERENCE_MAX, CLEAR_SHARE));
    (0..of_new.len())
        .filter_map(|a| {
            let b = clear(&of_new[a])?.index;
            (clear(&of_old[b])?.index == a).then_some((a, b))
        })
        .collect()
}

/// Where the rays of two sightings meet, if that is a point of the world.
fn spot(map: &Map, sight: &Sight, a: (usize, usize), b: (usize, usize)) -> Option<Spot> {
    let sighting = |(keyframe, feature): (usize, usize)| {
        let keyframe = &map.keyframes()[keyframe];
        (keyframe.pose, keyframe.features.all()[feature].at)
    };
    let (a, b) = (sighting(a), sighting(b));
    let (spot, sine) = sight.meet(a, b)?;
    let [ahead, left, up] = a.0.inward(spot);
    let near = ahead * ahead + left * left <= FAR_M * FAR_M;
    let meets = [a, b].iter().all(|(pose, pixel)| miss(sight, *pose, (spot, *pixel)) <= MISS_MAX);
    (sine >= SINE_MIN && near && up >= LOWEST_M && meets).then_some(spot)
}
