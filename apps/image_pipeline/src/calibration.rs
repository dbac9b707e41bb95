//! Calibrations as ROS has them: `sensor_msgs/CameraInfo`, and the YAML file that
//! `camera_calibration` writes and `camera_info_manager` reads.
//!
//! Other people's input: everything is checked before a table is made of it.

use crossdock_graph::{Violation, yaml_value};
use crossdock_msg::FlatError;
use crossdock_msg::types::sensor_msgs::CameraInfoView;
use crossdock_rectify::{Camera, SIDE_MAX};
use serde_json::Value;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// How far a rotation's rows may be from unit length and right angles.
const ROTATION_TOLERANCE: f64 = 1e-6;

/// Bytes of a file that are read; longer ones are refused as YAML.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Room for the name of a distortion model; no known one is longer.
const MODEL_BYTES: usize = 32;

/// Which intrinsics rectified pictures have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    /// Intrinsics of the projection matrix P, as in `image_proc`.
    CameraInfo,
    /// Intrinsics of the camera matrix K: pictures keep their scale and centre.
    CameraMatrix,
}

impl Projection {
    /// As the parameter `projection` names it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "camera_info" => Some(Self::CameraInfo),
            "camera_matrix" => Some(Self::CameraMatrix),
            _ => None,
        }
    }
}

/// A camera and the size of its pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Lens, rotation and projection.
    pub camera: Camera,
}

/// Why a calibration cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The file cannot be read.
    #[error("calibration {path}: {cause}; check the parameter `calibration`", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The file is no YAML.
    #[error(
        "{violation}; give the YAML file that ROS's camera_calibration writes (not OpenCV's own \
         format, which begins with %YAML)"
    )]
    Yaml {
        /// The first fault.
        violation: Box<Violation>,
    },
    /// A key is missing or holds something else.
    #[error(
        "calibration {path}: `{key}` is not {expected}; compare with the file that ROS's camera_calibration \
         writes",
        path = path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
        /// What it is to be.
        expected: &'static str,
    },
    /// The message is damaged.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// What a file says cannot be used.
    #[error("calibration {path}: {cause}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: Box<CalibrationError>,
    },
    /// There is none.
    #[error(
        "the camera is not calibrated (its camera matrix K is zero): calibrate it, or give the node a file in \
         the parameter `calibration` instead of the input `camera_info`"
    )]
    Uncalibrated,
    /// No size.
    #[error(
        "the calibration is for images of {width} x {height}, but images have 1 to {SIDE_MAX} pixels a side: \
         calibrate the camera again"
    )]
    Side {
        /// Pixels per row.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// Another model of the lens, or another number of coefficients.
    #[error(
        "the distortion model is `{model}` with {count} coefficients, this node knows plumb_bob with 5 (or none) \
         and rational_polynomial with 8: calibrate the camera with one of these"
    )]
    Model {
        /// As the calibration names it.
        model: String,
        /// Coefficients.
        count: usize,
    },
    /// A matrix of another form.
    #[error("the calibration's {matrix} is not {expected}: calibrate the camera again")]
    Matrix {
        /// Which.
        matrix: &'static str,
        /// What it is to be.
        expected: &'static str,
    },
    /// The pictures are parts of the calibrated ones.
    #[error(
        "the camera info has binning or a region of interest, which this node does not undo: let \
         the camera publish whole images, or calibrate it in this mode"
    )]
    Part,
}

/// What a calibration says, wherever it stands.
struct Told<'a> {
    size: (u64, u64),
    model: &'a str,
    distortion: &'a [f64],
    k: [f64; 9],
    r: [f64; 9],
    p: [f64; 12],
}

impl Calibration {
    /// Of a message.
    ///
    /// # Errors
    /// [`CalibrationError`]. Allocates only then.
    pub fn of_info(
        info: CameraInfoView<'_>,
        projection: Projection,
    ) -> Result<Self, CalibrationError> {
        let size = (info.width(), info.height());
        let roi = info.roi();
        let region = (roi.x_offset(), roi.y_offset(), roi.width(), roi.height());
        let whole = region == (0, 0, 0, 0) || region == (0, 0, size.0, size.1);
        if !whole || info.binning_x() > 1 || info.binning_y() > 1 {
            return Err(CalibrationError::Part);
        }
        let mut model = [0; MODEL_BYTES];
        let told = Told {
            size: (size.0.into(), size.1.into()),
            model: info.distortion_model()?.copy_into(&mut model).unwrap_or("?"),
            distortion: info.d()?,
            k: info.k(),
            r: info.r(),
            p: info.p(),
        };
        told.calibration(projection)
    }

    /// Of a file. Blocks, allocates.
    ///
    /// # Errors
    /// [`CalibrationError`].
    pub fn read(path: &Path, projection: Projection) -> Result<Self, CalibrationError> {
        Self::from_yaml(path, &Self::text(path)?, projection)
    }

    /// What a file holds. Blocks, allocates.
    ///
    /// # Errors
    /// [`CalibrationError::Read`].
    pub fn text(path: &Path) -> Result<String, CalibrationError> {
        let read = || {
            // The path is somebody's word in a graph file: a pipe would be waited for.
            if !std::fs::metadata(path)?.is_file() {
                return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is no file"));
            }
            let mut text = String::new();
            File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
            Ok(text)
        };
        read().map_err(|cause| CalibrationError::Read { path: path.to_owned(), cause })
    }

    /// Of a file's text.
    ///
    /// # Errors
    /// [`CalibrationError`]; `path` is what it calls the file.
    pub fn from_yaml(
        path: &Path,
        text: &str,
        projection: Projection,
    ) -> Result<Self, CalibrationError> {
        let value = yaml_value(&path.to_string_lossy(), text).map_err(|mut violations| {
            CalibrationError::Yaml { violation: Box::new(violations.swap_remove(0)) }
        })?;
        let file = Fields { path, value };
        let distortion = file.numbers("distortion_coefficients")?;
        let told = Told {
            size: (file.side("image_width")?, file.side("image_height")?),
            model: file.value["distortion_model"]
                .as_str()
                .ok_or_else(|| file.wrong("distortion_model", "text"))?,
            distortion: &distortion,
            k: file.matrix("camera_matrix", "a matrix with 9 numbers under `data`")?,
            r: file.matrix("rectification_matrix", "a matrix with 9 numbers under `data`")?,
            p: file.matrix("projection_matrix", "a matrix with 12 numbers under `data`")?,
        };
        told.calibration(projection).map_err(|cause| CalibrationError::File {
            path: path.to_owned(),
            cause: Box::new(cause),
        })
    }
}

/// A file as a tree of values.
struct Fields<'a> {
    path: &'a Path,
    value: Value,
}

impl Fields<'_> {
    fn wrong(&self, key: &'static str, expected: &'static str) -> CalibrationError {
        CalibrationError::Key { path: self.path.to_owned(), key, expected }
    }

    fn side(&self, key: &'static str) -> Result<u64, CalibrationError> {
        self.value[key].as_u64().ok_or_else(|| self.wrong(key, "a number of pixels"))
    }

    fn numbers(&self, key: &'static str) -> Result<Vec<f64>, CalibrationError> {
        let data = self.value[key]["data"].as_array();
        let numbers = data.and_then(|data| data.iter().map(Value::as_f64).collect());
        numbers.ok_or_else(|| self.wrong(key, "a matrix with numbers under `data`"))
    }

    fn matrix<const N: usize>(
        &self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<[f64; N], CalibrationError> {
        self.numbers(key)?.try_into().map_err(|_| self.wrong(key, expected))
    }
}

impl Told<'_> {
    fn calibration(&self, projection: Projection) -> Result<Calibration, CalibrationError> {
        let (width, height) = self.size;
        let side = |side: u64| (1..=SIDE_MAX as u64).contains(&side);
        if !side(width) || !side(height) {
            return Err(CalibrationError::Side { width, height });
        }
        if self.k[0] == 0.0 {
            return Err(CalibrationError::Uncalibrated);
        }
        let intrinsics = pinhole("camera matrix K", &self.k, 3)?;
        let rectified = match projection {
            Projection::CameraInfo => pinhole("projection matrix P", &self.p, 4)?,
            Projection::CameraMatrix => intrinsics,
        };
        let camera = Camera {
            intrinsics,
            distortion: self.distortion()?,
            rotation: rotation(&self.r)?,
            rectified,
        };
        Ok(Calibration { width: width as usize, height: height as usize, camera })
    }

    fn distortion(&self) -> Result<[f64; 8], CalibrationError> {
        let d = self.distortion;
        let fits = match self.model {
            "plumb_bob" => matches!(d.len(), 0 | 5),
            "rational_polynomial" => d.len() == 8,
            _ => false,
        };
        if !fits {
            return Err(CalibrationError::Model { model: self.model.to_owned(), count: d.len() });
        }
        if d.iter().any(|number| !number.is_finite()) {
            let (matrix, expected) = ("distortion", "a list of finite numbers");
            return Err(CalibrationError::Matrix { matrix, expected });
        }
        let mut distortion = [0.0; 8];
        distortion[..d.len()].copy_from_slice(d);
        Ok(distortion)
    }
}

/// fx, fy, cx, cy of a matrix with so many columns. The fourth column of P, the other camera of a
/// stereo pair, says nothing about pixels.
fn pinhole(
    matrix: &'static str,
    numbers: &[f64],
    columns: usize,
) -> Result<[f64; 4], CalibrationError> {
    let at = |row: usize, column: usize| numbers[row * columns + column];
    let (fx, fy) = (at(0, 0), at(1, 1));
    let zeros = [at(0, 1), at(1, 0), at(2, 0), at(2, 1)];
    let form = zeros == [0.0; 4] && at(2, 2) == 1.0 && fx > 0.0 && fy > 0.0;
    if form && numbers.iter().all(|number| number.is_finite()) {
        return Ok([fx, fy, at(0, 2), at(1, 2)]);
    }
    let expected = "of the form [fx 0 cx; 0 fy cy; 0 0 1] with focal lengths above 0";
    Err(CalibrationError::Matrix { matrix, expected })
}

fn rotation(r: &[f64; 9]) -> Result<[[f64; 3]; 3], CalibrationError> {
    let rows = [[r[0], r[1], r[2]], [r[3], r[4], r[5]], [r[6], r[7], r[8]]];
    for (i, a) in rows.iter().enumerate() {
        for (j, b) in rows.iter().enumerate() {
            let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            let off = (product - f64::from(u8::from(i == j))).abs();
            if off.is_nan() || off > ROTATION_TOLERANCE {
                let (matrix, expected) = ("rectification matrix R", "a rotation");
                return Err(CalibrationError::Matrix { matrix, expected });
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::{Calibration, Camera, Projection};
    use std::path::Path;

    const FILE: &str = "
image_width: 64
image_height: 48
camera_name: test
camera_matrix: {rows: 3, cols: 3, data: [50.0, 0, 31.5, 0, 51.0, 23.5, 0, 0, 1]}
distortion_model: plumb_bob
distortion_coefficients: {rows: 1, cols: 5, data: [-0.3, 0.1, 0.001, 0.002, -0.006]}
rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
projection_matrix:
  rows: 3
  cols: 4
  data: [40.0, 0.0, 32.0, -2.0, 0.0, 41.0, 24.0, 0.0, 0.0, 0.0, 1.0, 0.0]
";

    fn read(text: &str, projection: Projection) -> Result<Calibration, String> {
        let calibration = Calibration::from_yaml(Path::new("camera.yaml"), text, projection);
        calibration.map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_of_ros_is_read_with_either_projection() {
        let k = Camera::plumb_bob([50.0, 51.0, 31.5, 23.5], [-0.3, 0.1, 0.001, 0.002, -0.006]);
        let plain = read(FILE, Projection::CameraMatrix).unwrap();
        assert_eq!(plain, Calibration { width: 64, height: 48, camera: k });
        let camera = Camera { rectified: [40.0, 41.0, 32.0, 24.0], ..k };
        assert_eq!(read(FILE, Projection::CameraInfo).unwrap().camera, camera);
        let text = FILE.replace("plumb_bob", "rational_polynomial").replace(
            "cols: 5, data: [-0.3, 0.1, 0.001, 0.002, -0.006]",
            "cols: 8, data: [1, 2, 3, 4, 5, 6, 7, 8]",
        );
        let rational = read(&text, Projection::CameraMatrix).unwrap();
        assert_eq!(rational.camera.distortion, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    }

    #[test]
    fn what_is_wrong_with_a_calibration_is_told_with_the_next_step() {
        for (from, to, told) in [
            ("image_width: 64", "image_width: 0", "0 x 48"),
            (
                "image_width: 64",
                "image_width: wide",
                "camera.yaml: `image_width` is not a number of pixels",
            ),
            (
                "plumb_bob",
                "equidistant",
                "camera.yaml: the distortion model is `equidistant` with 5",
            ),
            ("plumb_bob", "rational_polynomial", "rational_polynomial with 8"),
            ("-0.006]", ".inf]", "`distortion_coefficients` is not a matrix"),
            ("[50.0, 0,", "[0, 0,", "not calibrated"),
            ("[50.0, 0,", "[50.0, 0.5,", "camera matrix K is not of the form"),
            ("[50.0, 0, 31.5, 0,", "[50.0, 0, 31.5,", "`camera_matrix` is not a matrix with 9"),
            (
                "data: [1, 0, 0,",
                "data: [1, 0.1, 0,",
                "camera.yaml: the calibration's rectification matrix R is not a rotation",
            ),
            ("[40.0, 0.0,", "[-40.0, 0.0,", "projection matrix P is not of the form"),
            ("image_height", "image_height: 3\nimage_height", "camera.yaml:4:"),
            ("\nimage_width", "%YAML:1.0\nimage_width", "begins with %YAML"),
        ] {
            assert!(FILE.contains(from), "{from}");
            let error = read(&FILE.replacen(from, to, 1), Projection::CameraInfo).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
