//! What `crossdock-autorace trajectory` prints: how good the map of a recorded drive is.
//!
//! The recording's poses are scored as they were published. Beside that the map is made again from
//! the recorded key points and wheels, with and without loop closing. The true poses are used for
//! scoring only.

use crate::recording::{self, FEATURES_TOPIC, ODOMETRY_TOPIC, RecordingError, WHEELS_TOPIC};
use crate::score::Reading;
use crate::slam::pose::Pose;
use crate::slam::{Slam, SlamError, SlamParameters};
use crate::trajectory::{driven_m, error_of};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why there is no score.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SlamScoreError {
    /// The recording cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A topic that is needed is not there.
    #[error(
        "{} has no message of {topic}: record {ODOMETRY_TOPIC}, {WHEELS_TOPIC} and {FEATURES_TOPIC} \
         of a drive with the graph course_slam", path.display()
    )]
    Missing {
        /// The recording.
        path: PathBuf,
        /// The topic.
        topic: &'static str,
    },
    /// The map cannot be made.
    #[error("{}: {cause}", path.display())]
    Slam {
        /// The recording.
        path: PathBuf,
        /// What is wrong.
        cause: SlamError,
    },
}

/// A map that was made again.
struct Made {
    slam: Slam,
    poses: Vec<Reading<Pose>>,
    tracked: usize,
    times: Vec<Duration>,
}

/// Scores the recording at `path`; blocks on the file system, and computes for some seconds.
///
/// # Errors
/// [`SlamScoreError`] names what is missing.
pub fn score(path: &Path, parameters: SlamParameters) -> Result<Value, SlamScoreError> {
    let recorded = recording::read(path)?;
    let missing = |topic| SlamScoreError::Missing { path: path.to_owned(), topic };
    let pose = |reading: &Reading<recording::Place>| Reading {
        stamp_ns: reading.stamp_ns,
        value: Pose { x: reading.value.x, y: reading.value.y, yaw: 0.0 },
    };
    let mut truth: Vec<Reading<Pose>> = recorded.places.iter().map(pose).collect();
    truth.sort_by_key(|reading| reading.stamp_ns);
    let way = driven_m(&truth);
    let scored =
        |estimate: &[Reading<Pose>]| error_of(estimate, &truth).map(|error| error.to_json(way));
    let odometry = scored(&recorded.wheels).ok_or(missing(WHEELS_TOPIC))?;
    let mut report = json!({ "driven_m": (way * 1e3).round() / 1e3, "odometry_alone": odometry });
    let mapped = &recorded.mapped;
    if let Some(published) = scored(&mapped.poses) {
        report["published"] = json!({
            "poses": published,
            "path": scored(&mapped.path),
            "keyframes": mapped.counts.map(|c| c[0]),
            "map_points": mapped.counts.map(|c| c[1]),
            "loop_closures": mapped.counts.map(|c| c[2]),
        });
    }
    for (name, close_loops) in [("made_again", true), ("without_loop_closing", false)] {
        let parameters = SlamParameters { close_loops, ..parameters };
        let made = make(path, &recorded.wheels, parameters)?;
        let poses = scored(&made.poses).ok_or(missing(FEATURES_TOPIC))?;
        let path: Vec<Reading<Pose>> =
            made.slam.path().map(|(stamp_ns, value)| Reading { stamp_ns, value }).collect();
        report[name] = json!({
            "poses": poses,
            "path": scored(&path),
            "keyframes": made.slam.map().keyframes().len(),
            "map_points": made.slam.map().count(),
            "loop_closures": made.slam.map().closures.len(),
            "pictures_without_map": made.poses.len() - made.tracked,
            "ms_per_picture": milliseconds(made.times),
        });
    }
    Ok(report)
}

/// Mean and percentiles of times.
fn milliseconds(mut times: Vec<Duration>) -> Value {
    times.sort_unstable();
    let ms = |time: &Duration| (time.as_secs_f64() * 1e5).round() / 1e2;
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).map(ms);
    let mean = times.iter().sum::<Duration>().checked_div(times.len() as u32);
    json!({ "mean": mean.as_ref().map(ms), "p50": at(0.5), "p90": at(0.9), "max": times.last().map(ms) })
}

fn make(
    path: &Path,
    wheels: &[Reading<Pose>],
    parameters: SlamParameters,
) -> Result<Made, SlamScoreError> {
    let slam = Slam::new(parameters);
    let mut made = Made { slam, poses: Vec::new(), tracked: 0, times: Vec::new() };
    let mut failed = None;
    recording::key_points(path, |stamp_ns, seen| {
        // Both come with each picture, in the order of time.
        let Ok(at) = wheels.binary_search_by_key(&stamp_ns, |w| w.stamp_ns) else { return };
        let begin = Instant::now();
        match made.slam.step(stamp_ns, wheels[at].value, seen) {
            Ok(localised) => {
                made.times.push(begin.elapsed());
                made.tracked += usize::from(localised.tracked);
                made.poses.push(Reading { stamp_ns, value: localised.pose });
            }
            Err(cause) => {
                failed.get_or_insert(cause);
            }
        }
    })?;
    match failed {
        Some(cause) => Err(SlamScoreError::Slam { path: path.to_owned(), cause }),
        None => Ok(made),
    }
}
