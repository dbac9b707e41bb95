//! Lanes and lights of a drive against their truth files.
//!
//! Pure: takes what was found as values and the truth as JSON text; knows no recording.

use crate::camera::{Homography, HomographyError};
use crate::lane::{Lane, column_at_front_row};
use serde_json::{Value, json};
use thiserror::Error;

/// What was published for one image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading<T> {
    /// Stamp of the image, ns.
    pub stamp_ns: i64,
    /// The message.
    pub value: T,
}

/// State of a traffic light message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// No light in sight.
    None,
    /// Red.
    Red,
    /// Green.
    Green,
}

/// Everything that was published along a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// Stamp of the first image, ns.
    pub first_stamp_ns: i64,
    /// `/lane`.
    pub lanes: Vec<Reading<Lane>>,
    /// `/traffic_light`.
    pub lights: Vec<Reading<Shown>>,
}

/// Why there is no score.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ScoreError {
    /// The truth is not JSON.
    #[error("the truth file is not JSON ({0}): give lane_truth.json or truth.json")]
    Json(#[from] serde_json::Error),
    /// A key is missing or has another type.
    #[error("the truth file has no usable `{key}`: give lane_truth.json or truth.json")]
    Key {
        /// The path of the key.
        key: String,
    },
    /// The homography is not one.
    #[error("the truth file's bev.H cannot be used: {0}")]
    Homography(#[from] HomographyError),
}

fn missing(key: &str) -> ScoreError {
    ScoreError::Key { key: key.to_owned() }
}

fn number(value: &Value, key: &str) -> Result<f64, ScoreError> {
    value[key].as_f64().ok_or_else(|| missing(key))
}

/// Scores `readings` against the text of a truth file; which kind it is shows in its keys.
///
/// The result is what `crossdock-autorace score` prints. Errors are in pixels of the rectified
/// image; percentiles are null if nothing was measured.
///
/// # Errors
/// [`ScoreError`] when the truth cannot be used.
pub fn score(truth: &str, readings: &Readings) -> Result<Value, ScoreError> {
    let truth: Value = serde_json::from_str(truth)?;
    if truth.get("per_frame").is_some() {
        score_lanes(&truth, readings)
    } else if truth.get("frames").is_some_and(Value::is_array) {
        score_lights(&truth, readings)
    } else {
        Err(missing("per_frame` or `frames"))
    }
}

/// What was found for each truth frame: `round((stamp - first) * rate_hz)`.
fn by_frame<T: Copy>(
    readings: &[Reading<T>],
    first_stamp_ns: i64,
    rate_hz: f64,
    frames: usize,
) -> (Vec<Option<T>>, usize) {
    let mut found = vec![None; frames];
    let mut surplus = 0;
    for reading in readings {
        let seconds = (reading.stamp_ns - first_stamp_ns) as f64 * 1e-9;
        let index = (seconds * rate_hz).round();
        let place = (index >= 0.0).then_some(index as usize).and_then(|i| found.get_mut(i));
        match place {
            Some(place @ None) => *place = Some(reading.value),
            _ => surplus += 1,
        }
    }
    (found, surplus)
}

/// Value below which `share` of the sorted values lie.
fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[(last as f64 * share).round() as usize])
}

fn score_lanes(truth: &Value, readings: &Readings) -> Result<Value, ScoreError> {
    let rate_hz = number(truth, "rate_hz")?;
    let frames = truth["per_frame"].as_array().ok_or_else(|| missing("per_frame"))?;
    let homography: [[f64; 3]; 3] = serde_json::from_value(truth["bev"]["H"].clone())?;
    let front = Homography::new(homography)?.inverse();
    let rows: Vec<f64> = serde_json::from_value(truth["rows"].clone())?;
    let (lanes, surplus) =
        by_frame(&readings.lanes, readings.first_stamp_ns, rate_hz, frames.len());
    let (mut ok, mut found, mut both, mut unseen) = (0, 0, 0, Vec::new());
    let (mut left_false, mut errors) = (0, Vec::new());
    for (index, (frame, lane)) in frames.iter().zip(&lanes).enumerate() {
        let is_ok = frame["ok"].as_bool().ok_or_else(|| missing("per_frame[].ok"))?;
        ok += usize::from(is_ok);
        found += usize::from(lane.is_some());
        left_false += usize::from(lane.is_some_and(|lane| lane.left.is_none()));
        let Some(Lane { left: Some(left), right: Some(right) }) = *lane else {
            if is_ok {
                unseen.push(index);
            }
            continue;
        };
        both += usize::from(is_ok);
        let centres = frame["centre_at_rows"].as_array();
        let centres = centres.ok_or_else(|| missing("per_frame[].centre_at_rows"))?;
        for (row, centre) in rows.iter().zip(centres).filter(|_| is_ok) {
            let centre = centre.as_f64().ok_or_else(|| missing("per_frame[].centre_at_rows"))?;
            let columns = [&left, &right].map(|line| column_at_front_row(line, &front, *row));
            if let [Some(left), Some(right)] = columns {
                errors.push(((left + right) / 2.0 - centre).abs());
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    Ok(json!({
        "kind": "lanes",
        "frames": frames.len(),
        "frames_with_message": found,
        "messages_without_frame": surplus,
        "ok_frames": ok,
        "ok_frames_with_lane": both,
        "ok_frames_without_lane": unseen,
        "left_valid_false": left_false,
        "centre_errors": errors.len(),
        "centre_error_px": {
            "median": percentile(&errors, 0.5),
            "p95": percentile(&errors, 0.95),
            "max": errors.last(),
        },
        "lights": lights_without_truth(&readings.lights),
    }))
}

/// A recording whose truth knows no light has none: whatever was reported is false.
fn lights_without_truth(lights: &[Reading<Shown>]) -> Value {
    let lit = lights.iter().filter(|reading| reading.value != Shown::None).count();
    json!({ "messages": lights.len(), "false": lit })
}

fn score_lights(truth: &Value, readings: &Readings) -> Result<Value, ScoreError> {
    let rate_hz = number(truth, "rate_hz")?;
    let frames = truth["frames"].as_array().ok_or_else(|| missing("frames"))?;
    let (lights, surplus) =
        by_frame(&readings.lights, readings.first_stamp_ns, rate_hz, frames.len());
    let (lanes, _) = by_frame(&readings.lanes, readings.first_stamp_ns, rate_hz, frames.len());
    let (mut lit, mut right, mut found) = (0, 0, 0);
    let (mut missed, mut swapped, mut invented) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (frame, light)) in frames.iter().zip(&lights).enumerate() {
        let expected = match frame["light"].as_str() {
            Some("RED") => Shown::Red,
            Some("GREEN") => Shown::Green,
            Some("NONE") => Shown::None,
            _ => return Err(missing("frames[].light")),
        };
        found += usize::from(light.is_some());
        lit += usize::from(expected != Shown::None);
        match (expected, light.unwrap_or(Shown::None)) {
            (Shown::None, Shown::None) => {}
            (Shown::None, _) => invented.push(index),
            (_, Shown::None) => missed.push(index),
            (expected, shown) if expected == shown => right += 1,
            _ => swapped.push(index),
        }
    }
    let both = lanes.iter().flatten().filter(|l| l.left.is_some() && l.right.is_some()).count();
    Ok(json!({
        "kind": "lights",
        "frames": frames.len(),
        "frames_with_message": found,
        "messages_without_frame": surplus,
        "lit_frames": lit,
        "lights_right": right,
        "lights_missed": missed,
        "lights_swapped": swapped,
        "lights_false": invented,
        "right_share": if lit == 0 { Value::Null } else { json!(right as f64 / lit as f64) },
        "lanes": lanes.iter().flatten().count(),
        "lanes_with_both_lines": both,
    }))
}

#[cfg(test)]
mod tests {
    use super::{Reading, Readings, Shown, score};
    use crate::lane::{Lane, Line};

    #[test]
    fn lights_are_counted_as_right_missed_swapped_and_false() {
        let truth = r#"{"rate_hz": 10, "frames": [
            {"light": "RED"}, {"light": "RED"}, {"light": "GREEN"}, {"light": "NONE"}]}"#;
        let shown = [Shown::Red, Shown::None, Shown::Red, Shown::Green];
        let lights = (0_i64..).zip(shown).map(|(i, value)| {
            // A jittered clock still finds its frame.
            Reading { stamp_ns: 5_000_000_000 + i * 100_000_000 + 30_000_000 * (i % 2), value }
        });
        let readings = Readings {
            first_stamp_ns: 5_000_000_000,
            lights: lights.collect(),
            ..Readings::default()
        };
        let score = score(truth, &readings).unwrap();
        assert_eq!(score["lit_frames"], 3);
        assert_eq!(score["lights_right"], 1);
        assert_eq!(score["lights_missed"], serde_json::json!([1]));
        assert_eq!(score["lights_swapped"], serde_json::json!([2]));
        assert_eq!(score["lights_false"], serde_json::json!([3]));
    }

    #[test]
    fn lanes_are_measured_on_ok_frames_only_and_missing_ones_are_named() {
        let truth = r#"{"rate_hz": 25, "rows": [100], "bev": {"H": [[1,0,0],[0,1,0],[0,0,1]]},
            "per_frame": [
              {"ok": true, "centre_at_rows": [300.0]},
              {"ok": true, "centre_at_rows": [300.0]},
              {"ok": false, "centre_at_rows": [0.0]}]}"#;
        let line = |x| Some(Line([0.0, 0.0, x]));
        let lane = Lane { left: line(142.0), right: line(462.0) };
        let readings = Readings {
            first_stamp_ns: 0,
            lanes: vec![
                Reading { stamp_ns: 0, value: lane },
                Reading { stamp_ns: 40_000_000, value: Lane { left: None, ..lane } },
                Reading { stamp_ns: 80_000_000, value: lane },
            ],
            lights: Vec::new(),
        };
        let score = score(truth, &readings).unwrap();
        assert_eq!(score["ok_frames"], 2);
        assert_eq!(score["ok_frames_with_lane"], 1);
        assert_eq!(score["ok_frames_without_lane"], serde_json::json!([1]));
        assert_eq!(score["left_valid_false"], 1);
        assert_eq!(score["centre_error_px"]["median"], 2.0);
    }

    #[test]
    fn another_file_is_refused_with_the_name_of_what_is_missing() {
        let error = score("{}", &Readings::default()).unwrap_err().to_string();
        assert!(error.contains("per_frame"), "{error}");
        assert!(score("[", &Readings::default()).is_err());
    }
}
