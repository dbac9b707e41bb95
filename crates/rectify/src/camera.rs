//! Camera model: pinhole with the distortion of ROS's `plumb_bob` and `rational_polynomial`. Set-up
//! code, it makes tables.

/// A calibrated camera and how its pictures are to be rectified, as in `sensor_msgs/CameraInfo`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Focal lengths and principal point of the raw picture in pixels: fx, fy, cx, cy (of K).
    pub intrinsics: [f64; 4],
    /// k1, k2, p1, p2, k3, k4, k5, k6: the last three are zero in `plumb_bob`.
    pub distortion: [f64; 8],
    /// Rotation from the camera to the rectified one, row by row (R).
    pub rotation: [[f64; 3]; 3],
    /// Focal lengths and principal point of the rectified picture (of P).
    pub rectified: [f64; 4],
}

impl Camera {
    /// No rotation.
    pub const IDENTITY: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    /// A `plumb_bob` camera (k1, k2, p1, p2, k3) whose pictures keep their intrinsics: P = K, no
    /// rotation.
    pub const fn plumb_bob(intrinsics: [f64; 4], distortion: [f64; 5]) -> Self {
        let [k1, k2, p1, p2, k3] = distortion;
        Self {
            intrinsics,
            distortion: [k1, k2, p1, p2, k3, 0.0, 0.0, 0.0],
            rotation: Self::IDENTITY,
            rectified: intrinsics,
        }
    }

    /// Where the rectified pixel (u, v) lies in the raw picture; not a number where the camera
    /// cannot see it.
    pub fn raw_of_rectified(&self, u: f64, v: f64) -> (f64, f64) {
        let [fx, fy, cx, cy] = self.rectified;
        let (x, y) = ((u - cx) / fx, (v - cy) / fy);
        // Rotated back: the inverse of a rotation is its transpose.
        let r = &self.rotation;
        let depth = x * r[0][2] + y * r[1][2] + r[2][2];
        if depth <= 0.0 {
            return (f64::NAN, f64::NAN);
        }
        let (x, y) = (
            (x * r[0][0] + y * r[1][0] + r[2][0]) / depth,
            (x * r[0][1] + y * r[1][1] + r[2][1]) / depth,
        );
        let [k1, k2, p1, p2, k3, k4, k5, k6] = self.distortion;
        let r2 = x * x + y * y;
        let radial =
            (1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1.0 + r2 * (k4 + r2 * (k5 + r2 * k6)));
        let xd = x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x);
        let yd = y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y;
        let [fx, fy, cx, cy] = self.intrinsics;
        (fx * xd + cx, fy * yd + cy)
    }
}

#[cfg(test)]
mod tests {
    use super::Camera;

    const PLAIN: Camera = Camera::plumb_bob([530.0, 530.0, 319.5, 239.5], [0.0; 5]);

    fn close(found: (f64, f64), expected: (f64, f64)) {
        let off = (found.0 - expected.0).abs().max((found.1 - expected.1).abs());
        assert!(off < 1e-9, "{found:?} instead of {expected:?}");
    }

    #[test]
    fn without_distortion_a_pixel_stays_where_it_is() {
        close(PLAIN.raw_of_rectified(17.0, 411.0), (17.0, 411.0));
    }

    #[test]
    fn other_intrinsics_of_the_rectified_picture_zoom() {
        let camera = Camera { rectified: [265.0, 265.0, 159.5, 119.5], ..PLAIN };
        close(camera.raw_of_rectified(159.5, 119.5), (319.5, 239.5));
        close(camera.raw_of_rectified(169.5, 119.5), (339.5, 239.5));
    }

    #[test]
    fn a_camera_that_looks_elsewhere_is_turned_back_and_sees_nothing_behind_it() {
        // R takes the camera's x axis to the rectified z axis: the middle of the rectified picture
        // is a quarter turn to the right of the camera, which it cannot see.
        let rotation = [[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]];
        let camera = Camera { rotation, ..PLAIN };
        assert!(camera.raw_of_rectified(319.5, 239.5).0.is_nan());
        // Half of that turn to the left of it: half of it to the right of the camera.
        let (x, y) = camera.raw_of_rectified(319.5 - 530.0, 239.5);
        close((x, y), (319.5 + 530.0, 239.5));
    }

    #[test]
    fn the_denominator_of_the_rational_model_counts() {
        let mut camera = PLAIN;
        camera.distortion[0] = 0.5;
        camera.distortion[5] = 0.5;
        close(camera.raw_of_rectified(600.0, 400.0), (600.0, 400.0));
        camera.distortion[5] = 0.0;
        let r2 = ((600.0 - 319.5) / 530.0_f64).powi(2) + ((400.0 - 239.5) / 530.0_f64).powi(2);
        let scale = 1.0 + 0.5 * r2;
        close(
            camera.raw_of_rectified(600.0, 400.0),
            (319.5 + 280.5 * scale, 239.5 + 160.5 * scale),
        );
    }
}
