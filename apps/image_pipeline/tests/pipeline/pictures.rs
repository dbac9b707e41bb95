//! The pictures and calibrations beside the repository.

use crossdock_image_pipeline::calibration::{Calibration, Projection};
use std::path::Path;

/// Pictures with truth, and the calibration of their camera.
pub(crate) const CASES: [(&str, &str); 6] = [
    ("left01", "opencv_left_640x480"),
    ("left02", "opencv_left_640x480"),
    ("left03", "opencv_left_640x480"),
    ("left04", "opencv_left_640x480"),
    ("udacity_01", "udacity_1280x720"),
    ("udacity_09", "udacity_1280x720"),
];

/// A picture as it is in its file.
pub(crate) struct Picture {
    pub(crate) size: (usize, usize),
    pub(crate) channels: usize,
    pub(crate) pixels: Vec<u8>,
}

/// A picture `<name>_<what>.png` of the folder `calibration`.
pub(crate) fn picture(folder: &Path, name: &str, what: &str) -> Picture {
    let path = folder.join(format!("rectify_resize/{name}_{what}.png"));
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("picture is readable"));
    let mut reader = png::Decoder::new(file).read_info().expect("picture is PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a bounded picture")];
    let info = reader.next_frame(&mut pixels).expect("picture is whole");
    pixels.truncate(info.buffer_size());
    let size = (info.width as usize, info.height as usize);
    Picture { size, channels: info.color_type.samples(), pixels }
}

pub(crate) fn calibration(folder: &Path, name: &str) -> Calibration {
    let path = folder.join(format!("{name}.yaml"));
    Calibration::read(&path, Projection::CameraInfo).expect("calibration is readable")
}
