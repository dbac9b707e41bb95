//! The map and its path over the course, and how far they are off, as SVG and text.

use super::path::{Ground, PATH_POINTS_MAX};
use crate::recording::Recorded;
use crate::score::Reading;
use crate::slam::pose::Pose;
use crate::trajectory::{TrajectoryError, driven_m, error_of};
use std::fmt::Write;

/// Most points that are drawn.
const POINTS_MAX: usize = 6000;
/// Floor shown round the course, m: the walls stand 0.7 m from it.
const MARGIN_M: f64 = 0.8;
/// A point at least this high has the last colour, m.
const HIGH_M: f64 = 0.6;

/// The section of the page; empty if the recording has no map.
pub(super) fn section(recorded: &Recorded) -> String {
    let mapped = &recorded.mapped;
    let truth: Vec<Reading<Pose>> = recorded
        .places
        .iter()
        .map(|place| Reading {
            stamp_ns: place.stamp_ns,
            value: Pose { x: place.value.x, y: place.value.y, yaw: 0.0 },
        })
        .collect();
    let Some(of_path) = error_of(&mapped.path, &truth) else { return String::new() };
    let way = driven_m(&truth);
    let said = |error: Option<TrajectoryError>| match error {
        Some(error) => {
            format!("{:.1} cm, {:.2} %", error.rmse_m * 100.0, error.rmse_m / way * 100.0)
        }
        None => "not recorded".to_owned(),
    };
    let [keyframes, points, closures] = mapped.counts.unwrap_or_default();
    let mut text = format!(
        "<h2>Map</h2><p>What the node <code>slam</code> knows at the end: {points} points from \
         {keyframes} keyframes, {closures} loop closures. Dots: points, from the floor (dark) upwards \
         (bright); orange: the path by the map; blue: where the axle went; grey: what the wheels say. \
         The map and the wheels' path are turned and moved to where they fit the true path best.</p>\
         <table><tr><th>root of the mean square of the errors on {way:.1} m</th><th>m, and of the \
         way</th></tr>"
    );
    for (what, error) in [
        ("path by the map", Some(of_path)),
        ("poses as they were published", error_of(&mapped.poses, &truth)),
        ("wheels alone", error_of(&recorded.wheels, &truth)),
    ] {
        // Writing to a string does not fail, here and below.
        let _ = write!(text, "<tr><td>{what}</td><td>{}</td></tr>", said(error));
    }
    text.push_str("</table>");
    text.push_str(&svg(recorded, &truth, of_path.alignment));
    text
}

fn svg(recorded: &Recorded, truth: &[Reading<Pose>], alignment: Pose) -> String {
    let ground = Ground::new(MARGIN_M);
    let mut svg = ground.begin("map and path on the course");
    let points = &recorded.mapped.points;
    for point in points.iter().step_by(points.len().div_ceil(POINTS_MAX).max(1)) {
        let [x, y, z] = alignment.outward(point.map(f64::from));
        let share = (z / HIGH_M).clamp(0.0, 1.0);
        let (x, y) = ground.point(x, y);
        let light = 45.0 + 45.0 * share;
        let _ = write!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"3\" height=\"3\" \
             fill=\"hsl(150,60%,{light:.0}%)\"/>",
            x - 1.5,
            y - 1.5
        );
    }
    let wheels = error_of(&recorded.wheels, truth).map(|error| error.alignment);
    let paths = [
        (&recorded.wheels[..], wheels.unwrap_or_default(), "#9a9aa6", 1.0),
        (truth, Pose::ORIGIN, "#38b6ff", 2.0),
        (&recorded.mapped.path[..], alignment, "#ff9a38", 1.5),
    ];
    for (path, alignment, colour, stroke) in paths {
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{stroke}\" points=\""
        );
        for reading in path.iter().step_by(path.len().div_ceil(PATH_POINTS_MAX).max(1)) {
            let [x, y, _] = alignment.outward([reading.value.x, reading.value.y, 0.0]);
            let (x, y) = ground.point(x, y);
            let _ = write!(svg, "{x:.1},{y:.1} ");
        }
        svg.push_str("\"/>");
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::section;
    use crate::recording::{Mapped, Place, Recorded};
    use crate::score::Reading;
    use crate::slam::pose::Pose;

    #[test]
    fn a_map_is_drawn_with_its_error_and_nothing_without_one() {
        assert_eq!(section(&Recorded::default()), "");
        let at = |i: i64| (i as f64 * 0.1, (i as f64 * 0.3).sin());
        let places = (0..20).map(|i| Reading { stamp_ns: i, value: at(i) });
        let pose = |i: i64| Pose { x: at(i).0 + 1.0, y: at(i).1, yaw: 0.0 };
        let poses: Vec<_> = (0..20).map(|i| Reading { stamp_ns: i, value: pose(i) }).collect();
        let recorded = Recorded {
            places: places
                .map(|r| Reading {
                    stamp_ns: r.stamp_ns,
                    value: Place { x: r.value.0, y: r.value.1 },
                })
                .collect(),
            mapped: Mapped {
                path: poses,
                points: vec![[1.0, 0.0, 0.3]; 7],
                counts: Some([3, 7, 1]),
                ..Mapped::default()
            },
            ..Recorded::default()
        };
        let text = section(&recorded);
        assert!(text.contains("7 points from 3 keyframes, 1 loop closures"), "{text}");
        assert!(text.contains("0.0 cm, 0.00 %") && text.matches("<rect").count() == 8, "{text}");
        assert!(text.contains("wheels alone</td><td>not recorded"), "{text}");
    }
}
