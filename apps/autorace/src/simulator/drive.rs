//! One drive on the course: vehicle, lights and camera together, and how well it went.

use crate::control::Command;
use crate::simulator::course::{Along, Course, LANE_WIDTH_M, Pose};
use crate::simulator::lights::{Light, Lights};
use crate::simulator::renderer::{Mount, Renderer};
use crate::simulator::vehicle::Vehicle;
use std::fmt;
use thiserror::Error;

/// A vehicle further from the middle line than this has left the lane, m.
pub const OFFSET_MAX_M: f64 = LANE_WIDTH_M / 2.0;
/// Bins of the offset statistics, 1 mm each.
const OFFSET_BINS: usize = 135;
/// Slower than this the vehicle stands, m/s.
const STANDING: f64 = 0.005;

/// The vehicle is beside the lane.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error(
    "the vehicle left the lane at ({x:.2} m, {y:.2} m), more than {OFFSET_MAX_M} m from its \
     middle, after {laps:.2} laps: look at /lane and /cmd_vel at this time, or lower linear_max"
)]
pub struct LeftLaneError {
    /// East, m.
    pub x: f64,
    /// North, m.
    pub y: f64,
    /// Laps driven until then.
    pub laps: f64,
}

/// How a drive went so far.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Laps driven.
    pub laps: f64,
    /// Time driven, s.
    pub seconds: f64,
    offsets: [u32; OFFSET_BINS],
    /// Lights that were red when the vehicle passed them.
    pub reds_run: u32,
    /// Lights at which it met red.
    pub reds_met: u32,
    /// Stands before a red light.
    pub stops: u32,
    /// Longest time from green to motion, s.
    pub start_delay_max_s: f64,
}

impl Outcome {
    /// Distance from the middle line that `share` of the positions keep, m; rounded up to 1 mm.
    pub fn offset_m(&self, share: f64) -> f64 {
        let total: u64 = self.offsets.iter().map(|n| u64::from(*n)).sum();
        let wanted = (total as f64 * share).ceil() as u64;
        let mut sum = 0;
        let bin = self.offsets.iter().position(|n| {
            sum += u64::from(*n);
            sum >= wanted && sum > 0
        });
        bin.map_or(0.0, |bin| (bin + 1) as f64 * 0.001)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} laps in {:.1} s; from the middle of the lane p95 {:.1} cm, max {:.1} cm; \
             red lights met {}, stops {}, run {}; slowest start after green {:.2} s",
            self.laps,
            self.seconds,
            self.offset_m(0.95) * 100.0,
            self.offset_m(1.0) * 100.0,
            self.reds_met,
            self.stops,
            self.reds_run,
            self.start_delay_max_s,
        )
    }
}

/// What the vehicle does at the light ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Waiting {
    No,
    /// Stands before light `usize`.
    Red(usize),
    /// The light turned green at this time, ns.
    Green(i64),
}

/// A vehicle on the course.
#[derive(Debug)]
pub struct Drive {
    course: Course,
    lights: Lights,
    renderer: Renderer,
    vehicle: Vehicle,
    along: Along,
    waiting: Waiting,
    red_seen: Option<usize>,
    outcome: Outcome,
    now_ns: Option<i64>,
}

impl Drive {
    /// At rest at the start, `offset_m` to the left of the middle; its time begins with the first
    /// [`advance`](Self::advance).
    ///
    /// Paints the course: allocates about 12 MB and takes some 100 ms.
    pub fn new(seed: u64, offset_m: f64) -> Self {
        let course = Course::new();
        let start = course.pose(0.0);
        let start = Pose { y: start.y + offset_m, ..start };
        Self {
            lights: Lights::new(&course, seed),
            renderer: Renderer::new(&course, Mount::SHIPPED, seed),
            vehicle: Vehicle::new(start),
            along: Along { s_m: 0.0, offset_m },
            waiting: Waiting::No,
            red_seen: None,
            outcome: Outcome {
                laps: 0.0,
                seconds: 0.0,
                offsets: [0; OFFSET_BINS],
                reds_run: 0,
                reds_met: 0,
                stops: 0,
                start_delay_max_s: 0.0,
            },
            course,
            now_ns: None,
        }
    }

    /// The same with a town beside the road ([`crate::simulator::buildings`]).
    #[must_use]
    pub fn with_buildings(mut self, seed: u64) -> Self {
        self.renderer = self.renderer.with_buildings(seed);
        self
    }

    /// Pose of the axle's middle.
    pub fn pose(&self) -> Pose {
        self.vehicle.pose()
    }

    /// Present speed and turn rate.
    pub fn motion(&self) -> Command {
        self.vehicle.motion()
    }

    /// Where the vehicle is along the course.
    pub fn along(&self) -> Along {
        self.along
    }

    /// How it went so far.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn now(&self) -> i64 {
        self.now_ns.unwrap_or(i64::MIN)
    }

    /// What the light ahead shows, if the vehicle approaches one.
    pub fn light_ahead(&self) -> Option<Light> {
        let (index, _) = self.lights.approached(self.along.s_m)?;
        Some(self.lights.shown(index, self.now()))
    }

    /// Drives under `command` until `now_ns`; the first call only says when it begins. Does not
    /// allocate or block.
    ///
    /// # Errors
    /// [`LeftLaneError`] when the vehicle is beside the lane then.
    pub fn advance(&mut self, command: Command, now_ns: i64) -> Result<(), LeftLaneError> {
        let elapsed_ns = self.now_ns.map_or(0, |last| now_ns.saturating_sub(last).max(0));
        let seconds = elapsed_ns as f64 * 1e-9;
        self.vehicle.advance(command, seconds);
        self.now_ns = Some(now_ns);
        self.outcome.seconds += seconds;
        let pose = self.vehicle.pose();
        let Some(along) = self.course.nearest(pose.x, pose.y, OFFSET_MAX_M) else {
            return Err(LeftLaneError { x: pose.x, y: pose.y, laps: self.outcome.laps });
        };
        let length_m = self.course.length_m();
        let moved = along.s_m - self.along.s_m;
        let moved = moved - length_m * (moved / length_m).round();
        self.note_lights(along.s_m, moved);
        self.along = along;
        self.outcome.laps += moved / length_m;
        let bin = (along.offset_m.abs() * 1000.0) as usize;
        self.outcome.offsets[bin.min(OFFSET_BINS - 1)] += 1;
        self.lights.step(along.s_m, now_ns);
        Ok(())
    }

    /// Stops, starts and red lights on the last `moved` metres before `s_m`.
    fn note_lights(&mut self, s_m: f64, moved: f64) {
        let now_ns = self.now();
        for index in 0..Lights::COUNT {
            let place = Lights::place_m(index);
            let red = self.lights.shown(index, now_ns) == Light::Red;
            if moved > 0.0 && (s_m - moved..s_m).contains(&place) && red {
                self.outcome.reds_run += 1;
            }
        }
        let ahead = self.lights.approached(s_m).map(|(index, _)| index);
        let red = ahead.filter(|i| self.lights.shown(*i, now_ns) == Light::Red);
        if red.is_some() && red != self.red_seen {
            self.outcome.reds_met += 1;
        }
        self.red_seen = red;
        let stands = self.vehicle.motion().linear < STANDING;
        self.waiting = match (self.waiting, red) {
            (Waiting::No, Some(index)) if stands => {
                self.outcome.stops += 1;
                Waiting::Red(index)
            }
            (Waiting::Red(_), None) => Waiting::Green(now_ns),
            (Waiting::Green(since), _) if !stands => {
                let delay = (now_ns - since) as f64 * 1e-9;
                self.outcome.start_delay_max_s = self.outcome.start_delay_max_s.max(delay);
                Waiting::No
            }
            (waiting, _) => waiting,
        };
    }

    /// Draws what the camera sees now into 640 x 480 rgb8 bytes. Does not allocate or block.
    ///
    /// # Panics
    /// When `out` has another length: a programmer's error.
    pub fn render(&mut self, out: &mut [u8]) {
        let now_ns = self.now();
        self.renderer.render(self.vehicle.pose(), &self.lights, now_ns, out);
    }
}
