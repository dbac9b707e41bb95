//! How the camera of a vehicle sees the world: projection, rays, and points from two rays.
//!
//! The camera is fixed to the vehicle at a known place and looks ahead and down by a known angle.
//! World axes: x and y of [`Pose`], z up from the floor. Camera axes: x right, y down, z ahead.

use crate::slam::pose::Pose;
use crate::trig::sin_cos;

/// Nearer than this nothing is seen, m along the optical axis.
pub const NEAR_M: f64 = 0.05;

/// A point of the world, m.
pub type Spot = [f64; 3];
/// A place in the picture: column and row, pixels.
pub type Pixel = [f64; 2];

/// Where a point is seen, and how that moves: a row for each axis of the picture.
#[derive(Clone, Copy, Debug)]
pub struct Slopes {
    /// The place in the picture.
    pub pixel: Pixel,
    /// Pixels for each m and rad of the pose: x, y, yaw.
    pub by_pose: [[f64; 3]; 2],
    /// Pixels for each m of the point: x, y, z.
    pub by_point: [[f64; 3]; 2],
}

/// Lens and mount of a camera without distortion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// Focal length, pixels.
    pub focal: f64,
    /// Principal point, pixels.
    pub centre: Pixel,
    /// Columns and rows of the picture.
    pub size: [f64; 2],
    /// Above the floor, m.
    pub height_m: f64,
    /// Ahead of the middle of the axle, m.
    pub forward_m: f64,
    /// Sine and cosine of the angle downward.
    pub pitch: (f64, f64),
}

impl Sight {
    /// A camera whose principal point is the middle of a picture of `width` x `height` pixels.
    pub fn new(width: usize, height: usize, focal: f64, mount: [f64; 3]) -> Self {
        let [height_m, forward_m, pitch] = mount;
        Self {
            focal,
            centre: [(width as f64 - 1.0) / 2.0, (height as f64 - 1.0) / 2.0],
            size: [width as f64, height as f64],
            height_m,
            forward_m,
            pitch: sin_cos(pitch),
        }
    }

    /// Camera axes of a point that a vehicle at `pose` sees at `[ahead, left, up]` of its axle.
    fn axes(&self, [ahead, left, up]: Spot) -> Spot {
        let (ahead, up) = (ahead - self.forward_m, up - self.height_m);
        let (sin, cos) = self.pitch;
        [-left, -ahead * sin - up * cos, ahead * cos - up * sin]
    }

    /// Where a vehicle at `pose` sees `point`, if it is ahead of the camera.
    pub fn project(&self, pose: Pose, point: Spot) -> Option<Pixel> {
        let [x, y, z] = self.axes(pose.inward(point));
        (z >= NEAR_M)
            .then(|| [self.centre[0] + self.focal * x / z, self.centre[1] + self.focal * y / z])
    }

    /// As [`project`](Self::project), and how the pixel moves with the pose and with the point.
    pub fn project_with_slopes(&self, pose: Pose, point: Spot) -> Option<Slopes> {
        let local = pose.inward(point);
        let [x, y, z] = self.axes(local);
        if z < NEAR_M {
            return None;
        }
        let (yaw_sin, yaw_cos) = sin_cos(pose.yaw);
        let (sin, cos) = self.pitch;
        let [ahead, left, _] = local;
        let scale = self.focal / z;
        // What a change of ahead, left and up does to both axes of the picture.
        let moved = |ahead: f64, left: f64, up: f64| {
            let (dx, dy, dz) = (-left, -ahead * sin - up * cos, ahead * cos - up * sin);
            [scale * (dx - x / z * dz), scale * (dy - y / z * dz)]
        };
        let (by_x, by_y) = (moved(yaw_cos, -yaw_sin, 0.0), moved(yaw_sin, yaw_cos, 0.0));
        let (by_yaw, by_z) = (moved(left, -ahead, 0.0), moved(0.0, 0.0, 1.0));
        Some(Slopes {
            pixel: [self.centre[0] + scale * x, self.centre[1] + scale * y],
            by_pose: [0, 1].map(|i| [-by_x[i], -by_y[i], by_yaw[i]]),
            by_point: [0, 1].map(|i| [by_x[i], by_y[i], by_z[i]]),
        })
    }

    /// Whether a pixel lies in the picture, `margin` from its edge.
    pub fn contains(&self, pixel: Pixel, margin: f64) -> bool {
        (0..2).all(|i| pixel[i] >= margin && pixel[i] <= self.size[i] - 1.0 - margin)
    }

    /// Camera position and the direction (of length 1) to what is seen at `pixel`.
    pub fn ray(&self, pose: Pose, pixel: Pixel) -> (Spot, Spot) {
        let (x, y) =
            ((pixel[0] - self.centre[0]) / self.focal, (pixel[1] - self.centre[1]) / self.focal);
        let (sin, cos) = self.pitch;
        let seen = [cos - y * sin, -x, -sin - y * cos];
        let length = (1.0 + x * x + y * y).sqrt();
        let turned = Pose { x: 0.0, y: 0.0, yaw: pose.yaw }.outward(seen);
        let eye = pose.outward([self.forward_m, 0.0, self.height_m]);
        (eye, turned.map(|v| v / length))
    }

    /// The point nearest to both rays, and the sine of the angle between them.
    ///
    /// None if the rays are parallel or meet behind a camera.
    pub fn meet(&self, a: (Pose, Pixel), b: (Pose, Pixel)) -> Option<(Spot, f64)> {
        let ((from_a, along_a), (from_b, along_b)) = (self.ray(a.0, a.1), self.ray(b.0, b.1));
        let dot = |u: Spot, v: Spot| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
        let base = [0, 1, 2].map(|i| from_b[i] - from_a[i]);
        let cosine = dot(along_a, along_b);
        let sine2 = 1.0 - cosine * cosine;
        if sine2 < 1e-9 {
            return None;
        }
        let (p, q) = (dot(base, along_a), dot(base, along_b));
        let (s, t) = ((p - q * cosine) / sine2, (p * cosine - q) / sine2);
        if s < NEAR_M || t < NEAR_M {
            return None;
        }
        let spot =
            [0, 1, 2].map(|i| (from_a[i] + s * along_a[i] + from_b[i] + t * along_b[i]) / 2.0);
        Some((spot, sine2.sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::Sight;
    use crate::simulator::renderer::Mount;
    use crate::slam::pose::Pose;

    fn sight() -> Sight {
        let mount = Mount::SHIPPED;
        let placed = [mount.height_m, mount.forward_m, mount.pitch];
        Sight::new(mount.width, mount.height, mount.focal, placed)
    }

    #[test]
    fn the_floor_is_seen_where_the_lane_planners_view_has_it() {
        // The view's homography is made independently: its middle column, 0.5 m ahead of the
        // camera.
        let view = Mount::SHIPPED.view(0.22, 0.70).unwrap().inverse();
        let row = 959.0 - 960.0 * (0.5 - 0.22) / (0.70 - 0.22);
        let (u, v) = view.apply(320.0, row);
        let pose = Pose { x: 2.0, y: -1.0, yaw: 0.7 };
        let point = pose.outward([0.07 + 0.5, 0.0, 0.0]);
        let pixel = sight().project(pose, point).unwrap();
        assert!((pixel[0] - u).abs() < 1.0 && (pixel[1] - v).abs() < 1.0, "{pixel:?} {u} {v}");
    }

    #[test]
    fn the_slope_is_how_the_pixel_moves() {
        let (sight, pose) = (sight(), Pose { x: 0.3, y: 0.2, yaw: -0.4 });
        let point = pose.outward([1.1, 0.3, 0.25]);
        let slopes = sight.project_with_slopes(pose, point).unwrap();
        let pixel = slopes.pixel;
        let projected = sight.project(pose, point).unwrap();
        assert!((0..2).all(|i| (projected[i] - pixel[i]).abs() < 1e-9), "{projected:?} {pixel:?}");
        let step = 1e-6;
        for i in 0..3 {
            let mut moved = pose;
            *[&mut moved.x, &mut moved.y, &mut moved.yaw][i] += step;
            let mut shifted = point;
            shifted[i] += step;
            let by_pose = sight.project(moved, point).unwrap();
            let by_point = sight.project(pose, shifted).unwrap();
            for row in 0..2 {
                let found = (by_pose[row] - pixel[row]) / step;
                assert!((found - slopes.by_pose[row][i]).abs() < 1e-2, "{row} {i}: {slopes:?}");
                let found = (by_point[row] - pixel[row]) / step;
                assert!((found - slopes.by_point[row][i]).abs() < 1e-2, "{row} {i}: {slopes:?}");
            }
        }
    }

    #[test]
    fn two_rays_meet_at_the_point_and_parallel_ones_nowhere() {
        let sight = sight();
        let (a, b) = (Pose { yaw: 0.1, ..Pose::ORIGIN }, Pose { x: 0.2, y: 0.05, yaw: -0.1 });
        let point = [1.3, 0.25, 0.4];
        let pixel = |pose| sight.project(pose, point).unwrap();
        let (met, sine) = sight.meet((a, pixel(a)), (b, pixel(b))).unwrap();
        assert!(met.iter().zip(point).all(|(m, p)| (m - p).abs() < 1e-9), "{met:?}");
        assert!(sine > 0.02);
        assert_eq!(sight.meet((a, pixel(a)), (a, pixel(a))), None);
        assert_eq!(sight.project(a, [-1.0, 0.0, 0.2]), None);
    }
}
