//! The driven path against the course, and the distance from the lane's middle, as SVG.

use crate::recording::Place;
use crate::score::Reading;
use crate::simulator::course::{Course, LANE_WIDTH_M};
use crate::simulator::lights::Lights;
use crate::trig::sin_cos;
use std::fmt::Write;

/// Pixels per metre.
const SCALE: f64 = 170.0;
/// Floor shown round the course, m.
const MARGIN_M: f64 = 0.4;
/// Points of a drawn line of the course.
const COURSE_POINTS: u32 = 720;
/// Colour of the path that the axle took.
pub(super) const TRUE_COLOUR: &str = "#38b6ff";
/// Most points of a drawn path.
pub(super) const PATH_POINTS_MAX: usize = 4000;

/// Every n-th of the readings, so that at most [`PATH_POINTS_MAX`] are drawn.
fn thinned(places: &[Reading<Place>]) -> impl Iterator<Item = &Reading<Place>> {
    places.iter().step_by(places.len().div_ceil(PATH_POINTS_MAX).max(1))
}

/// The course from above, as a picture's ground.
pub(super) struct Ground {
    course: Course,
    /// West and north edge, m.
    origin: (f64, f64),
    /// Size, m.
    size: (f64, f64),
}

impl Ground {
    /// Shows `margin_m` of floor round the course.
    pub(super) fn new(margin_m: f64) -> Self {
        let course = Course::new();
        let [west, south, east, north] = course.bounds();
        let size = (east - west + 2.0 * margin_m, north - south + 2.0 * margin_m);
        Self { course, origin: (west - margin_m, north + margin_m), size }
    }

    /// Where a place of the course is in the picture.
    pub(super) fn point(&self, x: f64, y: f64) -> (f64, f64) {
        ((x - self.origin.0) * SCALE, (self.origin.1 - y) * SCALE)
    }

    /// A picture of its own with the course's lines and lights; its end tag is missing.
    pub(super) fn begin(&self, label: &str) -> String {
        let (width, height) = (self.size.0 * SCALE, self.size.1 * SCALE);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\"><title>{label}</title>\
             <rect width=\"100%\" height=\"100%\" fill=\"#2c2c30\"/>"
        );
        self.draw_course(&mut svg);
        svg
    }

    /// Says in the lower left corner what has which colour, and ends the picture.
    pub(super) fn end(&self, svg: &mut String, legend: &[(&str, &str)]) {
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.0}\" style=\"font:12px system-ui,sans-serif;fill:#f2f2f0;\
             stroke:#2c2c30;stroke-width:4px;paint-order:stroke\">",
            self.size.1 * SCALE - 10.0
        );
        for (colour, what) in legend {
            let _ = write!(
                svg,
                "<tspan dx=\"12\" style=\"fill:{colour}\">\u{25a0}</tspan><tspan dx=\"4\">{what}</tspan>"
            );
        }
        svg.push_str("</text></svg>\n");
    }

    fn draw_course(&self, svg: &mut String) {
        let course = &self.course;
        for (offset, colour, stroke) in [
            (LANE_WIDTH_M / 2.0, "#e6d21e", 3.0),
            (-LANE_WIDTH_M / 2.0, "#f2f2f0", 3.0),
            (0.0, "#5c5c66", 1.0),
        ] {
            svg.push_str("<polygon fill=\"none\" points=\"");
            for step in 0..COURSE_POINTS {
                let at =
                    course.pose(course.length_m() * f64::from(step) / f64::from(COURSE_POINTS));
                let (sin, cos) = sin_cos(at.yaw);
                let (x, y) = self.point(at.x - offset * sin, at.y + offset * cos);
                // Writing to a string does not fail.
                let _ = write!(svg, "{x:.1},{y:.1} ");
            }
            let _ = write!(svg, "\" stroke=\"{colour}\" stroke-width=\"{stroke}\"/>");
        }
        for index in 0..Lights::COUNT {
            let at = course.pose(Lights::place_m(index));
            let (sin, cos) = sin_cos(at.yaw);
            let (x, y) = self.point(at.x + 0.215 * sin, at.y - 0.215 * cos);
            let _ = write!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\" fill=\"#e03030\"/>\
             <circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"7\" fill=\"#20b040\"/>",
                x + 14.0
            );
        }
    }
}

/// The course from above with the driven path.
pub(super) fn course_svg(places: &[Reading<Place>]) -> String {
    let ground = Ground::new(MARGIN_M);
    let mut svg = ground.begin("driven path on the course");
    let _ = write!(
        svg,
        "<polyline fill=\"none\" stroke=\"{TRUE_COLOUR}\" stroke-width=\"2\" points=\""
    );
    for place in thinned(places) {
        let (x, y) = ground.point(place.value.x, place.value.y);
        let _ = write!(svg, "{x:.1},{y:.1} ");
    }
    svg.push_str("\"/>");
    ground
        .end(&mut svg, &[(TRUE_COLOUR, "where the axle went"), ("#5c5c66", "middle of the lane")]);
    svg
}

/// Distance from the lane's middle over time, and its 95th percentile in metres.
pub(super) fn offset_svg(places: &[Reading<Place>]) -> (String, Option<f64>) {
    let course = Course::new();
    let (width, height, edge) = (900.0, 180.0, 30.0);
    let span = |readings: &[Reading<Place>]| -> Option<(i64, i64)> {
        Some((readings.first()?.stamp_ns, readings.last()?.stamp_ns))
    };
    let Some((first, last)) = span(places) else { return (String::new(), None) };
    let seconds = ((last - first) as f64 * 1e-9).max(1e-3);
    let half = LANE_WIDTH_M / 2.0;
    let y_of = |offset: f64| height / 2.0 - offset / half * (height / 2.0 - 10.0);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"distance from the middle of the lane over time\">"
    );
    for offset_cm in [-10, -5, 0, 5, 10] {
        let y = y_of(f64::from(offset_cm) * 0.01);
        let _ = write!(
            svg,
            "<line x1=\"{edge}\" x2=\"{width}\" y1=\"{y:.1}\" y2=\"{y:.1}\" class=\"grid\"/>\
             <text x=\"0\" y=\"{:.1}\">{offset_cm} cm</text>",
            y + 4.0
        );
    }
    svg.push_str("<polyline fill=\"none\" stroke=\"#1f86c8\" stroke-width=\"1.5\" points=\"");
    let mut offsets = Vec::new();
    for place in thinned(places) {
        let near = course.nearest(place.value.x, place.value.y, half);
        let Some(along) = near else { continue };
        let share = (place.stamp_ns - first) as f64 * 1e-9 / seconds;
        let _ = write!(svg, "{:.1},{:.1} ", edge + share * (width - edge), y_of(along.offset_m));
        offsets.push(along.offset_m.abs());
    }
    let _ = write!(
        svg,
        "\"/><text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{seconds:.0} s</text></svg>",
        width - 2.0,
        height - 4.0
    );
    offsets.sort_by(f64::total_cmp);
    let p95 = offsets.len().checked_sub(1).map(|n| offsets[(n as f64 * 0.95).round() as usize]);
    (svg, p95)
}
