//! The picture nodes' kernels against the processor: all pixels are equal.

use crate::on_device::{both, equal, run};
use crate::{common, parameters};
use crossdock_autorace::blur::Blur;
use crossdock_autorace::camera::{Camera, Homography};
use crossdock_autorace::compensation::compensate;
use crossdock_autorace::gpu::{BlurOnDevice, CompensationOnDevice, LaneViewOnDevice};
use crossdock_autorace::image::{Gray, Rgb};
use crossdock_autorace::lane_view::{LaneView, VIEW_HEIGHT, VIEW_WIDTH, ViewParameters};
use crossdock_device::DeviceError;
use crossdock_test_support::data;

/// Pictures of many colours and sizes that no group divides: width, height, rgb8.
fn noise(width: usize, height: usize) -> (usize, usize, Vec<u8>) {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    // Blocks of one colour beside noise: both flat and busy places.
    let block = [next(), next(), next()];
    let pixels = (0..width * height * 3).map(|at| match at / 60 % 3 {
        0 => block[at % 3],
        _ => next(),
    });
    (width, height, pixels.collect())
}

#[test]
fn compensation_and_blur_on_a_device_equal_the_processors_bit_by_bit() {
    for device in both() {
        let mut blur = BlurOnDevice::new(&device).expect("kernels");
        for (width, height, pixels) in [noise(1, 1), noise(3, 2), noise(61, 47), noise(333, 100)] {
            let size = (width as u32, height as u32);
            let image = Rgb::new(width, height, &pixels).expect("whole");
            let mut expected = vec![0; pixels.len()];
            // Clipping of nothing, of some, of half; the small ones have too little range to
            // stretch.
            for clip in [0, 100, 5000] {
                let mut compensation = CompensationOnDevice::new(&device, clip).expect("kernels");
                compensate(image, clip, &mut expected);
                let found = run(&device, &pixels, pixels.len(), |stream, from, to| {
                    // SAFETY: both live until the stream has been acquired from, and nobody looks
                    // until then.
                    unsafe { compensation.launch(stream, size, from, to) }
                });
                equal("compensation", &found, &expected);
            }
            Blur::new(width).blur(image, &mut expected);
            let found = run(&device, &pixels, pixels.len(), |stream, from, to| {
                // SAFETY: as above.
                unsafe { blur.launch(stream, (size.0, size.1, 3), from, to) }
            });
            equal("blur", &found, &expected);
            let grey = &pixels[..width * height];
            let mut expected = vec![0; grey.len()];
            Blur::new(width)
                .blur_gray(Gray::new(width, height, grey).expect("whole"), &mut expected);
            let found = run(&device, grey, grey.len(), |stream, from, to| {
                // SAFETY: as above.
                unsafe { blur.launch(stream, (size.0, size.1, 1), from, to) }
            });
            equal("blur of grey", &found, &expected);
        }
    }
}

/// The view of the highway camera, as the shipped graph has it.
fn highway(rectify: bool) -> ViewParameters {
    let camera = Camera::plumb_bob(
        [770.971083097094, 767.5108207881973, 340.71246400047005, 259.3112101808657],
        [-0.24666857920489518, -0.025451217618939745, -0.00067, 0.000134, 0.010682622312210378],
    );
    let homography = Homography::new([
        [-0.3834303561137266, -1.1235878828261165, 437.89938166848566],
        [0.0, -3.9610870044401056, 1188.3261013320318],
        [0.0, -0.003586956537637726, 1.0],
    ]);
    parameters::view(rectify.then_some(camera), homography.expect("it has an inverse"))
}

#[test]
fn the_lanes_of_a_real_picture_on_a_device_equal_the_processors_bit_by_bit() {
    let devices = both();
    let Some(shared) = data() else { return };
    if devices.is_empty() {
        return;
    }
    let bag = shared.join("driving/highway_a_25hz/highway_a_25hz.mcap");
    let jpeg = common::pictures(&bag, 1).pop().expect("a picture");
    let (width, height, pixels) = common::decode(&jpeg);
    let image = Rgb::new(width, height, &pixels).expect("whole");
    let mut compensated = vec![0; pixels.len()];
    compensate(image, 100, &mut compensated);
    let image = Rgb::new(width, height, &compensated).expect("whole");
    for rectify in [true, false] {
        let mut expected = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
        let parameters = highway(rectify);
        LaneView::new(parameters.clone(), width, height)
            .mark(image, &mut expected)
            .expect("marked");
        for mark in [1, 2, 4] {
            let count = expected.iter().filter(|class| **class & mark != 0).count();
            assert!(count > 100, "the view has {count} pixels of class {mark}");
        }
        for device in &devices {
            let view = LaneViewOnDevice::new(device, parameters.clone(), width, height);
            let mut view = view.expect("kernels");
            let found = run(device, &compensated, expected.len(), |stream, from, to| {
                // SAFETY: both live until the stream has been acquired from, and nobody looks until
                // then.
                unsafe { view.launch(stream, from, to) }
            });
            equal("view", &found, &expected);
        }
    }
}

#[test]
fn spans_that_are_shorter_than_a_picture_are_refused() {
    let Some(device) = both().into_iter().next() else { return };
    let mut blur = BlurOnDevice::new(&device).expect("kernels");
    let mut compensation = CompensationOnDevice::new(&device, 100).expect("kernels");
    let mut view = LaneViewOnDevice::new(&device, highway(true), 640, 480).expect("kernels");
    let memory = device.allocate(300).expect("memory");
    let mut stream = device.stream().expect("a stream");
    let (all, some) = (memory.whole(), memory.span(0, 299).expect("a span"));
    let refused = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::OutOfRange { .. })), "{result:?}");
    };
    // SAFETY: refused, as is what follows.
    refused(unsafe { blur.launch(&mut stream, (10, 10, 3), some, all) });
    // SAFETY: as above.
    refused(unsafe { blur.launch(&mut stream, (10, 10, 3), all, some) });
    // SAFETY: as above.
    refused(unsafe { compensation.launch(&mut stream, (10, 10), some, all) });
    // SAFETY: as above.
    refused(unsafe { compensation.launch(&mut stream, (u32::MAX, u32::MAX), all, all) });
    // SAFETY: as above.
    refused(unsafe { view.launch(&mut stream, all, all) });
}
