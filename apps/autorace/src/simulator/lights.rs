//! The course's traffic lights: where they stand and when they change, by seed.
//!
//! A light shows green. When the vehicle comes within [`APPROACH_M`] of it, the seed decides
//! whether it turns red, and for how long; then it is green again.

use crate::simulator::course::Course;
use crate::simulator::texture::scatter;

/// What a light shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Light {
    /// Stop.
    Red,
    /// Go.
    Green,
}

/// Distance before a light at which it notices the vehicle, m.
pub const APPROACH_M: f64 = 1.25;
/// Distance beyond a light at which the vehicle has passed it, m.
const PASSED_M: f64 = 0.3;

/// Distances of the lights along the course, m: on the first straight and on the last side.
const PLACES_M: [f64; 2] = [2.0, 10.2];

/// One light and its state.
#[derive(Clone, Copy, Debug)]
struct Signal {
    s_m: f64,
    visits: u64,
    /// Time at which the vehicle's approach was noticed, and until when red lasts; ns.
    approach: Option<i64>,
    red_until_ns: i64,
}

/// All lights of the course.
#[derive(Clone, Debug)]
pub struct Lights {
    seed: u64,
    signals: [Signal; PLACES_M.len()],
    length_m: f64,
}

impl Lights {
    /// All green, for the given course and seed.
    pub fn new(course: &Course, seed: u64) -> Self {
        let signal = |s_m| Signal { s_m, visits: 0, approach: None, red_until_ns: i64::MIN };
        Self { seed, signals: PLACES_M.map(signal), length_m: course.length_m() }
    }

    /// Number of lights.
    pub const COUNT: usize = PLACES_M.len();

    /// Distance of light `index` along the course, m.
    pub fn place_m(index: usize) -> f64 {
        PLACES_M[index]
    }

    /// Lets time pass: the vehicle's front is at distance `s_m` of the lap at `now_ns`.
    pub fn step(&mut self, s_m: f64, now_ns: i64) {
        for (index, signal) in (0_u64..).zip(&mut self.signals) {
            let ahead = distance_ahead(signal.s_m, s_m, self.length_m);
            match signal.approach {
                None if (0.0..=APPROACH_M).contains(&ahead) => {
                    let draw = scatter(self.seed, index, signal.visits);
                    signal.approach = Some(now_ns);
                    signal.visits += 1;
                    // Two of three visits meet red, for 6 to 10 s.
                    if draw % 3 < 2 {
                        let tenths = 60 + (draw >> 8) % 41;
                        signal.red_until_ns = now_ns + tenths as i64 * 100_000_000;
                    }
                }
                Some(_) if !(-PASSED_M..=APPROACH_M + PASSED_M).contains(&ahead) => {
                    signal.approach = None;
                }
                _ => {}
            }
        }
    }

    /// What light `index` shows at `now_ns`.
    pub fn shown(&self, index: usize, now_ns: i64) -> Light {
        let red = self.signals.get(index).is_some_and(|signal| now_ns < signal.red_until_ns);
        if red { Light::Red } else { Light::Green }
    }

    /// The light that the vehicle at `s_m` approaches and its distance ahead, m.
    pub fn approached(&self, s_m: f64) -> Option<(usize, f64)> {
        (0..Self::COUNT)
            .map(|index| (index, distance_ahead(PLACES_M[index], s_m, self.length_m)))
            .find(|(_, ahead)| (0.0..=APPROACH_M).contains(ahead))
    }
}

/// Signed distance from `s_m` forward to `place_m` on a closed line, in half a lap either way.
fn distance_ahead(place_m: f64, s_m: f64, length_m: f64) -> f64 {
    let laps = ((place_m - s_m) / length_m).round();
    place_m - s_m - laps * length_m
}

#[cfg(test)]
mod tests {
    use super::{Light, Lights};
    use crate::simulator::course::Course;

    #[test]
    fn an_approach_may_turn_red_for_a_bounded_time_and_the_same_seed_repeats_it() {
        let course = Course::new();
        let run = |seed| {
            let mut lights = Lights::new(&course, seed);
            let (mut shown, mut reds) = (Vec::new(), 0);
            for visit in 0..30_i64 {
                let now = visit * 100_000_000_000;
                lights.step(1.0, now);
                shown.push(lights.shown(0, now));
                reds += i32::from(lights.shown(0, now) == Light::Red);
                assert_eq!(lights.shown(0, now + 10_100_000_000), Light::Green);
                lights.step(4.0, now + 50_000_000_000);
            }
            (shown, reds)
        };
        let (shown, reds) = run(7);
        assert_eq!(shown, run(7).0);
        assert_ne!(shown, run(8).0);
        assert!((10..30).contains(&reds), "{reds} of 30 visits met red");
    }

    #[test]
    fn the_light_ahead_is_named_across_the_start_line() {
        let course = Course::new();
        let lights = Lights::new(&course, 1);
        assert_eq!(lights.approached(1.5), Some((0, 0.5)));
        assert_eq!(lights.approached(2.1), None);
    }
}
