//! The kernels against the processor: all pixels are equal.

use crate::on_device::{both, equal, run};
use crate::pictures::{CASES, Picture, calibration, picture};
use crate::truth::{rectified, resized};
use crossdock_device::{Device, DeviceError};
use crossdock_image_pipeline::gpu::{RectifyOnDevice, ResizeOnDevice};
use crossdock_image_pipeline::resize::{Interpolation, Resizer};
use crossdock_rectify::{Camera, RectificationTable};

fn compare_rectification(device: &Device, table: &RectificationTable, raw: &Picture) {
    let mut rectify = RectifyOnDevice::new(device, table).expect("kernels");
    let found = run(device, &raw.pixels, raw.pixels.len(), |stream, from, to| {
        // SAFETY: both live until the stream has been acquired from, and nobody looks until then.
        unsafe { rectify.0.launch(stream, raw.channels as u32, from, to) }
    });
    equal("rectification", &found, &rectified(table, raw));
}

fn compare_resizing(device: &Device, to: (usize, usize), how: Interpolation, raw: &Picture) {
    let resizer = Resizer::new(raw.size, to, how).expect("tables");
    let mut resize = ResizeOnDevice::new(device, &resizer).expect("kernels");
    let expected = resized(&resizer, raw.channels, &raw.pixels);
    let found = run(device, &raw.pixels, expected.len(), |stream, from, to| {
        // SAFETY: as above.
        unsafe { resize.launch(stream, raw.channels as u32, from, to) }
    });
    equal(&format!("{how:?} from {:?} to {to:?}", raw.size), &found, &expected);
}

#[test]
fn real_pictures_on_a_device_equal_the_processors_bit_by_bit() {
    let devices = both();
    let Some(shared) = crossdock_test_support::data() else { return };
    let folder = shared.join("calibration");
    for (name, camera) in CASES.into_iter().filter(|_| !devices.is_empty()) {
        let raw = picture(&folder, name, "in");
        let calibration = calibration(&folder, camera);
        let table = RectificationTable::new(&calibration.camera, raw.size.0, raw.size.1);
        let half = (raw.size.0 / 2, raw.size.1 / 2);
        for device in &devices {
            compare_rectification(device, &table, &raw);
            compare_resizing(device, half, Interpolation::Bilinear, &raw);
            compare_resizing(device, half, Interpolation::Area, &raw);
        }
    }
}

/// A picture of noise, one of whose sides no group divides.
fn noise(size: (usize, usize), channels: usize) -> Picture {
    let mut state = 11_u32;
    let pixels = (0..size.0 * size.1 * channels).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    Picture { size, channels, pixels: pixels.collect() }
}

#[test]
fn borders_and_odd_sizes_on_a_device_equal_the_processors_bit_by_bit() {
    // Strong lenses, turned and shifted: much of the rectified picture lies on the border or beyond
    // it.
    let wild = Camera {
        intrinsics: [40.0, 44.0, 30.5, 20.25],
        distortion: [0.9, -0.2, 0.03, -0.02, 0.01, 0.3, 0.02, 0.001],
        rotation: [[0.8, 0.0, -0.6], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8]],
        rectified: [30.0, 30.0, 10.0, 22.0],
    };
    let plain = Camera::plumb_bob([60.0, 60.0, 30.0, 20.0], [-0.4, 0.2, 0.0, 0.0, 0.0]);
    for device in both() {
        for (size, channels) in [((61, 43), 3), ((61, 43), 1), ((1, 1), 3), ((33, 2), 1)] {
            let raw = noise(size, channels);
            for camera in [wild, plain] {
                compare_rectification(
                    &device,
                    &RectificationTable::new(&camera, size.0, size.1),
                    &raw,
                );
            }
            let smaller = (size.0.div_ceil(3), size.1.div_ceil(2));
            compare_resizing(&device, smaller, Interpolation::Area, &raw);
            for to in [smaller, size, (size.0 * 2 + 1, size.1 * 3)] {
                compare_resizing(&device, to, Interpolation::Bilinear, &raw);
            }
        }
    }
}

#[test]
fn spans_that_are_shorter_than_a_picture_are_refused() {
    let Some(device) = both().into_iter().next() else { return };
    let camera = Camera::plumb_bob([60.0, 60.0, 5.0, 5.0], [0.0; 5]);
    let rectify = RectifyOnDevice::new(&device, &RectificationTable::new(&camera, 10, 10));
    let resizer = Resizer::new((10, 10), (5, 5), Interpolation::Area).expect("tables");
    let resize = ResizeOnDevice::new(&device, &resizer);
    let (mut rectify, mut resize) = (rectify.expect("kernels"), resize.expect("kernels"));
    let memory = device.allocate(300).expect("memory");
    let mut stream = device.stream().expect("a stream");
    let (all, some) = (memory.whole(), memory.span(0, 299).expect("a span"));
    let few = memory.span(0, 74).expect("a span");
    let refused = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::OutOfRange { .. })), "{result:?}");
    };
    // SAFETY: refused, as is what follows.
    refused(unsafe { rectify.0.launch(&mut stream, 3, some, all) });
    // SAFETY: as above.
    refused(unsafe { rectify.0.launch(&mut stream, 3, all, some) });
    // SAFETY: as above.
    refused(unsafe { resize.launch(&mut stream, 3, some, all) });
    // SAFETY: as above.
    refused(unsafe { resize.launch(&mut stream, 3, all, few) });
}
