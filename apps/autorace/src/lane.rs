//! A lane as two parabolas in the bird's-eye view.
//!
//! Knows the view's geometry, not how the lines were found.

use crate::camera::Homography;
use crate::lane_view::VIEW_HEIGHT;

/// `x = c[0] t^2 + c[1] t + c[2]`, t = (959 - y) / 960, x in view pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line(pub [f64; 3]);

impl Line {
    /// Column at `t`: 0 at the vehicle, near 1 at the far end.
    pub fn at(&self, t: f64) -> f64 {
        let [a, b, c] = self.0;
        (a * t + b) * t + c
    }
}

/// `t` of view row `y`.
pub fn t_of_row(y: f64) -> f64 {
    ((VIEW_HEIGHT - 1) as f64 - y) / VIEW_HEIGHT as f64
}

/// View row of `t`.
pub fn row_of_t(t: f64) -> f64 {
    (VIEW_HEIGHT - 1) as f64 - t * VIEW_HEIGHT as f64
}

/// The lines found in one image; a side that was not seen is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lane {
    /// Yellow line.
    pub left: Option<Line>,
    /// White line.
    pub right: Option<Line>,
}

/// Steps of [`column_at_front_row`]; the view has 960 rows, each step halves the interval.
const BISECTIONS: usize = 40;

/// Front column where `line` crosses the front (rectified) row `row`; none if it does not.
///
/// `front` maps the view to the front picture. Does not allocate or block.
pub fn column_at_front_row(line: &Line, front: &Homography, row: f64) -> Option<f64> {
    let point = |t: f64| front.apply(line.at(t), row_of_t(t));
    let (mut near, mut far) = (t_of_row((VIEW_HEIGHT - 1) as f64), t_of_row(0.0));
    let below = |t: f64| point(t).1 >= row;
    if !below(near) || below(far) {
        // A little beyond either end of the view is still a fair reading of the parabola.
        (near, far) = (-0.1, 1.1);
        if !below(near) || below(far) {
            return None;
        }
    }
    for _ in 0..BISECTIONS {
        let middle = (near + far) / 2.0;
        if below(middle) { near = middle } else { far = middle }
    }
    Some(point((near + far) / 2.0).0)
}

#[cfg(test)]
mod tests {
    use super::{Line, column_at_front_row};
    use crate::camera::Homography;

    #[test]
    fn a_line_crosses_the_front_row_where_the_homography_says() {
        let h = Homography::new([
            [-0.383_430_356, -1.123_587_883, 437.899_382],
            [0.0, -3.961_087_004, 1_188.326_101],
            [0.0, -0.003_586_956_5, 1.0],
        ])
        .unwrap();
        // Truth of one recorded frame, rounded to its two decimals.
        let line = Line([-110.177_149_613, -5.941_890_153, 170.529_329_301]);
        for (row, expected) in [(320.0, 260.83), (360.0, 214.15), (400.0, 162.63), (430.0, 123.13)]
        {
            let x = column_at_front_row(&line, &h.inverse(), row).unwrap();
            assert!((x - expected).abs() < 0.01, "row {row}: {x} instead of {expected}");
        }
        assert!(column_at_front_row(&line, &h.inverse(), 100.0).is_none());
    }
}
