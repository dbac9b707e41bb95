//! Rectification against exact bilinear interpolation, on chessboard pictures of two real cameras.

use crossdock_autorace::camera::Camera;
use crossdock_autorace::image::Rgb;
use crossdock_autorace::rectify::Rectifier;
use std::path::Path;

/// Width, height and rgb8 bytes of a PNG (grey becomes three equal channels).
fn png_rgb(path: &Path) -> (usize, usize, Vec<u8>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).expect("picture is readable"));
    let mut reader = png::Decoder::new(file).read_info().expect("picture is PNG");
    let mut data = vec![0; reader.output_buffer_size().expect("a bounded picture")];
    let info = reader.next_frame(&mut data).expect("picture is whole");
    data.truncate(info.buffer_size());
    if info.color_type == png::ColorType::Grayscale {
        data = data.into_iter().flat_map(|v| [v; 3]).collect();
    }
    (info.width as usize, info.height as usize, data)
}

/// The numbers between the brackets of the line that begins with `key`.
fn numbers(text: &str, key: &str) -> Vec<f64> {
    let line = text.lines().find(|line| line.starts_with(key)).expect("the key is there");
    let list = line.split(['[', ']']).nth(1).expect("a list");
    list.split(',').map(|number| number.trim().parse().expect("a number")).collect()
}

fn camera(path: &Path) -> Camera {
    let text = std::fs::read_to_string(path).expect("calibration is readable");
    let k = numbers(&text, "camera_matrix");
    let distortion = numbers(&text, "distortion_coefficients").try_into().expect("five numbers");
    Camera { intrinsics: [k[0], k[4], k[2], k[5]], distortion }
}

#[test]
fn every_pixel_is_within_one_level_of_exact_bilinear_rectification() {
    let Some(shared) = crossdock_test_support::data() else { return };
    let folder = shared.join("calibration");
    let left = camera(&folder.join("opencv_left_640x480.yaml"));
    let udacity = camera(&folder.join("udacity_1280x720.yaml"));
    let cases = ["left01", "left02", "left03", "left04"].map(|name| (name, left));
    let cases = cases.into_iter().chain([("udacity_01", udacity), ("udacity_09", udacity)]);
    for (name, camera) in cases {
        let picture = |end: &str| png_rgb(&folder.join(format!("rectify_resize/{name}_{end}.png")));
        let ((width, height, input), (_, _, truth)) = (picture("in"), picture("rect"));
        let mut out = vec![0; input.len()];
        let rectifier = Rectifier::new(&camera, width, height);
        let image = Rgb::new(width, height, &input).expect("whole");
        rectifier.rectify_rows(image, 0..height, &mut out);
        let worst = out.iter().zip(&truth).map(|(a, b)| a.abs_diff(*b)).max();
        let off = out.iter().zip(&truth).filter(|(a, b)| a != b).count();
        println!("{name}: worst {worst:?} levels, {off} of {} bytes differ", out.len());
        assert!(worst <= Some(1), "{name}: {worst:?}");
    }
}
