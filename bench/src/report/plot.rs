//! A line plot as SVG text: named places on the x axis, a logarithmic y axis. Knows nothing of what
//! it shows; colours come from the page by class name.

use std::fmt::Write;

const WIDTH: f64 = 586.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 156.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;
/// Least vertical distance between the labels of two lines, in pixels.
const LABEL_STEP: f64 = 14.0;

/// One line.
#[derive(Debug, Clone)]
pub struct Series {
    /// Written at its end.
    pub name: String,
    /// Class of its colour and dashes.
    pub class: &'static str,
    /// Index of a place and the value there; values are above zero.
    pub points: Vec<(usize, f64)>,
}

/// What is drawn.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Above the plot.
    pub title: String,
    /// Below the x axis.
    pub x_label: String,
    /// The places on the x axis.
    pub places: Vec<String>,
    /// The lines.
    pub series: Vec<Series>,
}

impl Plot {
    /// The plot as one `<svg>` element; values are nanoseconds. `None` without a single point.
    pub fn svg(&self) -> Option<String> {
        let values = || self.series.iter().flat_map(|series| &series.points).map(|point| point.1);
        let lowest = values().reduce(f64::min)?.log10().floor();
        let highest = values().reduce(f64::max)?.log10().ceil().max(lowest + 1.0);
        let y = |value: f64| {
            let part = (value.log10() - lowest) / (highest - lowest);
            TOP + (1.0 - part) * (HEIGHT - TOP - BOTTOM)
        };
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\">\n\
             <text class=\"title\" x=\"{LEFT}\" y=\"18\">{0}</text>\n",
            escape(&self.title)
        );
        self.axes(&mut svg, lowest as i32, highest as i32, &y);
        for series in &self.series {
            self.line(&mut svg, series, &y);
        }
        self.labels(&mut svg, &y);
        svg.push_str("</svg>\n");
        Some(svg)
    }

    fn x(&self, place: usize) -> f64 {
        let width = WIDTH - LEFT - RIGHT;
        let step = width / self.places.len().max(1) as f64;
        LEFT + step * (place as f64 + 0.5)
    }

    fn axes(&self, svg: &mut String, lowest: i32, highest: i32, y: &dyn Fn(f64) -> f64) {
        let right = WIDTH - RIGHT;
        for power in lowest..=highest {
            let (value, at) = (10f64.powi(power), y(10f64.powi(power)));
            push(
                svg,
                format_args!(
                    "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>\n",
                    LEFT - 8.0,
                    at + 4.0,
                    duration(value)
                ),
            );
        }
        for (place, name) in self.places.iter().enumerate() {
            push(
                svg,
                format_args!(
                    "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{}\">{}</text>\n",
                    self.x(place),
                    HEIGHT - BOTTOM + 18.0,
                    escape(name)
                ),
            );
        }
        push(
            svg,
            format_args!(
                "<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{}\">{}</text>\n",
                (LEFT + right) / 2.0,
                HEIGHT - 8.0,
                escape(&self.x_label)
            ),
        );
    }

    fn line(&self, svg: &mut String, series: &Series, y: &dyn Fn(f64) -> f64) {
        let points: Vec<String> = (series.points.iter())
            .map(|&(place, value)| format!("{:.1},{:.1}", self.x(place), y(value)))
            .collect();
        let class = series.class;
        push(
            svg,
            format_args!("<polyline class=\"line {class}\" points=\"{}\"/>\n", points.join(" ")),
        );
        for &(place, value) in &series.points {
            let (x, y) = (self.x(place), y(value));
            push(
                svg,
                format_args!(
                    "<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\">\
                 <title>{}, {}: {}</title></circle>\n",
                    escape(&series.name),
                    escape(&self.places[place]),
                    duration(value)
                ),
            );
        }
    }

    /// Names beside the last points, pushed apart where they would overlap.
    fn labels(&self, svg: &mut String, y: &dyn Fn(f64) -> f64) {
        let ends = self.series.iter().filter_map(|series| Some((series, series.points.last()?)));
        let mut ends: Vec<(f64, &Series)> =
            ends.map(|(series, &(_, value))| (y(value), series)).collect();
        ends.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut free = TOP;
        for (at, series) in ends {
            let at = at.max(free);
            free = at + LABEL_STEP;
            push(
                svg,
                format_args!(
                    "<text class=\"name {}\" x=\"{}\" y=\"{:.1}\">{}</text>\n",
                    series.class,
                    WIDTH - RIGHT + 8.0,
                    at + 4.0,
                    escape(&series.name)
                ),
            );
        }
    }
}

/// Writing into a string cannot fail.
fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(arguments);
}

/// Nanoseconds as people read them.
pub fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    match value {
        value if value == value.round() && value < 1e3 => format!("{value} {unit}"),
        value if value < 10.0 => format!("{value:.2} {unit}"),
        value if value < 100.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.0} {unit}"),
    }
}

/// Text as it may stand between tags and in attributes.
pub fn escape(text: &str) -> String {
    let entity = |character| match character {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(entity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_with_the_unit_that_fits() {
        assert_eq!(duration(1.53), "1.53 ns");
        assert_eq!(duration(100.0), "100 ns");
        assert_eq!(duration(14_600.0), "14.6 µs");
        assert_eq!(duration(2_462_753.0), "2.46 ms");
    }

    #[test]
    fn a_plot_without_points_is_not_drawn() {
        let mut plot = Plot {
            title: "a < b".to_owned(),
            x_label: "payload".to_owned(),
            places: vec!["64 B".to_owned()],
            series: vec![],
        };
        assert!(plot.svg().is_none());
        let points = vec![(0, 10.0)];
        plot.series.push(Series { name: "one".to_owned(), class: "floor", points });
        assert!(plot.svg().expect("a point").contains("a &lt; b"));
    }
}
