//! The map and its path over the course, and how far they are off, as SVG and text.

use super::path::{Ground, PATH_POINTS_MAX, TRUE_COLOUR};
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
/// Colours of both estimated paths.
const MAP_COLOUR: &str = "#ff9a38";
const WHEELS_COLOUR: &str = "#9a9aa6";
/// Colours of points, from the floor upwards.
const COLOURS: usize = 10;

/// A map as the page shows it.
pub(super) struct Section {
    /// HTML: what the map is, and how far it is off.
    pub(super) text: String,
    /// A picture of its own.
    pub(super) svg: String,
}

/// What a recording says of a map; none: nothing.
pub(super) fn section(recorded: &Recorded) -> Option<Section> {
    let mapped = &recorded.mapped;
    let truth: Vec<Reading<Pose>> = recorded
        .places
        .iter()
        .map(|place| Reading {
            stamp_ns: place.stamp_ns,
            value: Pose { x: place.value.x, y: place.value.y, yaw: 0.0 },
        })
        .collect();
    let of_path = error_of(&mapped.path, &truth)?;
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
    Some(Section { text, svg: svg(recorded, &truth, of_path.alignment) })
}

fn svg(recorded: &Recorded, truth: &[Reading<Pose>], alignment: Pose) -> String {
    let ground = Ground::new(MARGIN_M);
    let mut svg = ground.begin("map and path on the course");
    dots(&mut svg, &ground, &recorded.mapped.points, alignment);
    let wheels = error_of(&recorded.wheels, truth).map(|error| error.alignment);
    let paths = [
        (&recorded.wheels[..], wheels.unwrap_or_default(), WHEELS_COLOUR, 1.0),
        (truth, Pose::ORIGIN, TRUE_COLOUR, 2.0),
        (&recorded.mapped.path[..], alignment, MAP_COLOUR, 1.5),
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
    let legend = [
        (TRUE_COLOUR, "where the axle went"),
        (MAP_COLOUR, "path by the map"),
        (WHEELS_COLOUR, "what the wheels say"),
        ("hsl(150,60%,65%)", "points of the map"),
    ];
    ground.end(&mut svg, &legend);
    svg
}

/// The points of a map, in one line of dots for each colour.
fn dots(svg: &mut String, ground: &Ground, points: &[[f32; 3]], alignment: Pose) {
    let mut places = vec![String::new(); COLOURS];
    for point in points.iter().step_by(points.len().div_ceil(POINTS_MAX).max(1)) {
        let [x, y, z] = alignment.outward(point.map(f64::from));
        let share = (z / HIGH_M).clamp(0.0, 1.0);
        let (x, y) = ground.point(x, y);
        let colour = (share * (COLOURS - 1) as f64).round() as usize;
        let _ = write!(places[colour], "M{x:.1} {y:.1}h0");
    }
    for (colour, places) in places.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
        let light = 45.0 + 45.0 * colour as f64 / (COLOURS - 1) as f64;
        let _ = write!(
            svg,
            "<path d=\"{places}\" stroke=\"hsl(150,60%,{light:.0}%)\" stroke-width=\"3\" \
             stroke-linecap=\"square\"/>"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{Section, section};
    use crate::recording::{Mapped, Place, Recorded};
    use crate::score::Reading;
    use crate::slam::pose::Pose;

    #[test]
    fn a_map_is_drawn_with_its_error_and_nothing_without_one() {
        assert!(section(&Recorded::default()).is_none());
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
        let Section { text, svg } = section(&recorded).expect("a map");
        assert!(text.contains("7 points from 3 keyframes, 1 loop closures"), "{text}");
        assert!(text.contains("0.0 cm, 0.00 %") && svg.matches("h0").count() == 7, "{text} {svg}");
        assert!(text.contains("wheels alone</td><td>not recorded"), "{text}");
    }
}
