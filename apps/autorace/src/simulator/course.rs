//! The course: a closed middle line of straights and arcs with a yellow line to its left and a
//! white one to its right.
//!
//! Lengths in metres; x east, y north; distance `s` runs along the middle line from the start.

use crate::trig::sin_cos;

/// Distance between the middles of the two lines, m.
pub const LANE_WIDTH_M: f64 = 0.268;
/// Width of a line, m.
pub const LINE_WIDTH_M: f64 = 0.018;

/// Position and direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// East, m.
    pub x: f64,
    /// North, m.
    pub y: f64,
    /// Direction from east to north, rad.
    pub yaw: f64,
}

/// A piece of the middle line.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Distance of its beginning.
    start_m: f64,
    length_m: f64,
    from: Pose,
    /// Direction at the beginning: cosine and sine.
    direction: (f64, f64),
    /// Signed curvature, 1/m; 0: straight. Left bends are positive.
    curvature: f64,
}

/// Where a point is in relation to the middle line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Along {
    /// Distance along the middle line, m.
    pub s_m: f64,
    /// Offset to the left of it, m.
    pub offset_m: f64,
}

/// The closed middle line.
#[derive(Clone, Debug)]
pub struct Course {
    pieces: Vec<Piece>,
    length_m: f64,
}

/// The pieces of the shipped course: length (m) and turn (degrees to the left, 0: straight).
/// Two straights, four bends of 0.65 m radius, and a chicane of four arcs of 0.8 m radius whose
/// chords add up to 1.6 m, so that both long sides measure 2.4 m.
const SHAPE: [(f64, i32); 12] = [
    (2.4, 0),
    (0.65, 90),
    (1.2, 0),
    (0.65, 90),
    (0.3, 0),
    (0.8, 30),
    (0.8, -60),
    (0.8, 30),
    (0.5, 0),
    (0.65, 90),
    (1.2, 0),
    (0.65, 90),
];

const DEGREE: f64 = 0.017_453_292_519_943_295;

impl Course {
    /// The shipped course; starts at (0, 0) eastward and turns left.
    pub fn new() -> Self {
        let mut at = Pose { x: 0.0, y: 0.0, yaw: 0.0 };
        let mut start_m = 0.0;
        let mut degrees = 0;
        let mut pieces = Vec::with_capacity(SHAPE.len());
        for (size, turn) in SHAPE {
            // Of an arc, `size` is the radius.
            let angle = f64::from(turn) * DEGREE;
            let (length_m, curvature) = if turn == 0 {
                (size, 0.0)
            } else {
                (size * angle.abs(), f64::from(turn.signum()) / size)
            };
            let (sin, cos) = sin_cos(at.yaw);
            let piece = Piece { start_m, length_m, from: at, direction: (cos, sin), curvature };
            degrees += turn;
            let end = piece.pose(length_m);
            at = Pose { yaw: f64::from(degrees) * DEGREE, ..end };
            start_m += length_m;
            pieces.push(piece);
        }
        Self { pieces, length_m: start_m }
    }

    /// Length of one lap, m.
    pub fn length_m(&self) -> f64 {
        self.length_m
    }

    /// Pose on the middle line at distance `s_m` (any number of laps).
    pub fn pose(&self, s_m: f64) -> Pose {
        let laps = (s_m / self.length_m).floor();
        let s_m = s_m - laps * self.length_m;
        let index = self.pieces.partition_point(|piece| piece.start_m <= s_m).max(1) - 1;
        let piece = &self.pieces[index];
        piece.pose(s_m - piece.start_m)
    }

    /// The nearest place of the middle line within `reach_m` of a point, if there is one.
    pub fn nearest(&self, x: f64, y: f64, reach_m: f64) -> Option<Along> {
        let mut best: Option<Along> = None;
        for piece in &self.pieces {
            let Some(along) = piece.nearest(x, y) else { continue };
            let near = along.offset_m.abs() <= reach_m;
            if near && best.is_none_or(|b| along.offset_m.abs() < b.offset_m.abs()) {
                best = Some(along);
            }
        }
        best
    }

    /// West, south, east and north of the middle line, m.
    pub fn bounds(&self) -> [f64; 4] {
        let mut bounds = [f64::MAX, f64::MAX, f64::MIN, f64::MIN];
        let steps = 1000;
        for step in 0..steps {
            let at = self.pose(self.length_m * f64::from(step) / f64::from(steps));
            bounds[0] = bounds[0].min(at.x);
            bounds[1] = bounds[1].min(at.y);
            bounds[2] = bounds[2].max(at.x);
            bounds[3] = bounds[3].max(at.y);
        }
        bounds
    }
}

impl Default for Course {
    fn default() -> Self {
        Self::new()
    }
}

impl Piece {
    fn pose(&self, s_m: f64) -> Pose {
        let (cos, sin) = self.direction;
        if self.curvature == 0.0 {
            let (x, y) = (self.from.x + s_m * cos, self.from.y + s_m * sin);
            return Pose { x, y, yaw: self.from.yaw };
        }
        let (turn_sin, turn_cos) = sin_cos(s_m * self.curvature);
        let (ahead, left) = (turn_sin / self.curvature, (1.0 - turn_cos) / self.curvature);
        Pose {
            x: self.from.x + ahead * cos - left * sin,
            y: self.from.y + ahead * sin + left * cos,
            yaw: self.from.yaw + s_m * self.curvature,
        }
    }

    /// The foot of the perpendicular from a point, if it lies on this piece.
    fn nearest(&self, x: f64, y: f64) -> Option<Along> {
        let (cos, sin) = self.direction;
        let (dx, dy) = (x - self.from.x, y - self.from.y);
        let (ahead, left) = (dx * cos + dy * sin, dy * cos - dx * sin);
        if self.curvature == 0.0 {
            let inside = (0.0..=self.length_m).contains(&ahead);
            return inside.then_some(Along { s_m: self.start_m + ahead, offset_m: left });
        }
        // In a frame where every arc turns left: centre at (0, radius), angle from the bottom.
        let radius = 1.0 / self.curvature.abs();
        let left = if self.curvature > 0.0 { left } else { -left };
        let (up, distance) =
            (radius - left, (ahead * ahead + (radius - left) * (radius - left)).sqrt());
        // Arcs are at most a quarter turn: both ends are tested by signs of cross products.
        let (end_sin, end_cos) = sin_cos(self.length_m / radius);
        let before_end = ahead * end_cos - up * end_sin <= 0.0;
        if ahead < 0.0 || !before_end || distance == 0.0 {
            return None;
        }
        let angle = angle_of(ahead / distance, up / distance);
        let offset = radius - distance;
        let offset_m = if self.curvature > 0.0 { offset } else { -offset };
        Some(Along { s_m: self.start_m + angle * radius, offset_m })
    }
}

/// Steps of [`angle_of`]: each halves the interval of a right angle.
const ANGLE_STEPS: usize = 48;

/// Angle in 0..=pi/2 of a unit vector with that sine and cosine.
fn angle_of(sin: f64, cos: f64) -> f64 {
    let (mut low, mut high) = (0.0, 90.0 * DEGREE);
    for _ in 0..ANGLE_STEPS {
        let middle = (low + high) / 2.0;
        let (s, c) = sin_cos(middle);
        if c * sin > s * cos { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::Course;

    #[test]
    fn the_course_closes_and_its_pieces_join_smoothly() {
        let course = Course::new();
        let end = course.pose(course.length_m() - 1e-9);
        assert!(end.x.abs() < 1e-6 && end.y.abs() < 1e-6, "{end:?}");
        let mut last = course.pose(0.0);
        for step in 1..5000 {
            let at = course.pose(course.length_m() * f64::from(step) / 5000.0);
            let moved = ((at.x - last.x).powi(2) + (at.y - last.y).powi(2)).sqrt();
            assert!((moved - course.length_m() / 5000.0).abs() < 1e-6, "{step}: {moved}");
            last = at;
        }
    }

    #[test]
    fn a_point_beside_the_middle_line_is_found_again() {
        let course = Course::new();
        for step in 0..500 {
            let s_m = course.length_m() * (f64::from(step) + 0.37) / 500.0;
            let at = course.pose(s_m);
            for offset in [-0.12, 0.0, 0.08] {
                let (x, y) = (at.x - offset * at.yaw.sin(), at.y + offset * at.yaw.cos());
                let along = course.nearest(x, y, 0.2).expect("is near");
                assert!((along.offset_m - offset).abs() < 1e-9, "{s_m} {offset} {along:?}");
                assert!((along.s_m - s_m).abs() < 1e-9, "{s_m} {offset} {along:?}");
            }
        }
        assert_eq!(course.nearest(1.0, 0.9, 0.2), None);
    }
}
