//! Every pixel of the truth, which is exact bilinear interpolation in floating point.

#![allow(clippy::print_stdout, reason = "measured errors are printed")]

use crate::pictures::{CASES, Picture, calibration, picture};
use crossdock_image_pipeline::resize::{Interpolation, Resizer};
use crossdock_rectify::RectificationTable;

pub(crate) fn rectified(table: &RectificationTable, raw: &Picture) -> Vec<u8> {
    let mut out = vec![0; raw.pixels.len()];
    match raw.channels {
        1 => table.apply::<1>(&raw.pixels, 0..raw.size.1, &mut out),
        _ => table.apply::<3>(&raw.pixels, 0..raw.size.1, &mut out),
    }
    out
}

pub(crate) fn resized(resizer: &Resizer, channels: usize, pixels: &[u8]) -> Vec<u8> {
    let (width, height) = resizer.to();
    let mut out = vec![0; width * height * channels];
    match channels {
        1 => resizer.apply::<1>(pixels, &mut out),
        _ => resizer.apply::<3>(pixels, &mut out),
    }
    out
}

fn close(what: &str, found: &[u8], truth: &[u8]) {
    assert_eq!(found.len(), truth.len(), "{what}");
    let worst = found.iter().zip(truth).map(|(a, b)| a.abs_diff(*b)).max();
    let off = found.iter().zip(truth).filter(|(a, b)| a != b).count();
    println!("{what}: worst {worst:?} levels, {off} of {} bytes differ", found.len());
    assert!(worst <= Some(1), "{what}: {worst:?}");
}

#[test]
fn every_pixel_is_within_one_level_of_the_truth() {
    let Some(shared) = crossdock_test_support::data() else { return };
    let folder = shared.join("calibration");
    for (name, camera) in CASES {
        let (raw, truth) = (picture(&folder, name, "in"), picture(&folder, name, "rect"));
        let calibration = calibration(&folder, camera);
        assert_eq!((calibration.width, calibration.height), raw.size);
        let table = RectificationTable::new(&calibration.camera, raw.size.0, raw.size.1);
        let found = rectified(&table, &raw);
        close(name, &found, &truth.pixels);
        let truth = picture(&folder, name, "rect_resized");
        assert_eq!(truth.size, (raw.size.0 / 2, raw.size.1 / 2));
        for interpolation in [Interpolation::Bilinear, Interpolation::Area] {
            let resizer = Resizer::new(raw.size, truth.size, interpolation).expect("tables");
            let found = resized(&resizer, raw.channels, &found);
            close(&format!("{name}, {interpolation:?}"), &found, &truth.pixels);
        }
    }
}
