//! The closed loop camera -> perception -> control -> vehicle as a plain loop.

mod common;

use crossdock_autorace::blur::Blur;
use crossdock_autorace::compensation::compensate;
use crossdock_autorace::control::{ControlParameters, LaneControl};
use crossdock_autorace::hand_over::{GreenArm, OtherLight, searches_red};
use crossdock_autorace::hsv::{Hsv, HsvRange};
use crossdock_autorace::image::Rgb;
use crossdock_autorace::lane_fit::{FitParameters, LaneFit};
use crossdock_autorace::lane_view::{LaneView, VIEW_HEIGHT, VIEW_WIDTH, ViewParameters};
use crossdock_autorace::light::{LampParameters, LampSearch};
use crossdock_autorace::simulator::course::Course;
use crossdock_autorace::simulator::lights::{Light, Lights};
use crossdock_autorace::simulator::renderer::{Mount, Renderer};
use crossdock_autorace::simulator::vehicle::Vehicle;

fn range(low: [u8; 3], high: [u8; 3]) -> HsvRange {
    HsvRange {
        low: Hsv { h: low[0], s: low[1], v: low[2] },
        high: Hsv { h: high[0], s: high[1], v: high[2] },
    }
}

fn lamp(low: [u8; 3], high: [u8; 3]) -> LampSearch {
    LampSearch::new(LampParameters {
        range: range(low, high),
        area_min: 60,
        area_max: 20_000,
        fill_permille: 350,
        aspect_permille: 2200,
        rows_permille: 1000,
        housing_permille: 400,
        housing_value_max: 110,
    })
}

/// What one drive did.
#[derive(Default)]
struct Drive {
    offsets: Vec<f64>,
    laps: f64,
    images: usize,
    both_lines: usize,
    red_stops: usize,
    ran_red: Vec<f64>,
    start_delays: Vec<f64>,
    digest: u64,
}

const PERIOD_NS: i64 = 66_666_667;

fn drive(seed: u64, laps: f64) -> Drive {
    let course = Course::new();
    let mount = Mount::SHIPPED;
    let mut lights = Lights::new(&course, seed);
    let mut renderer = Renderer::new(&course, mount, seed);
    let mut vehicle = Vehicle::new(course.pose(0.0));
    let mut view = LaneView::new(
        ViewParameters {
            camera: None,
            homography: mount.view(0.22, 0.70).expect("distances differ"),
            yellow: range([10, 70, 95], [45, 255, 255]),
            white: range([0, 0, 105], [179, 70, 255]),
            contrast_min: 25,
        },
        640,
        480,
    );
    let mut fit = LaneFit::new(FitParameters {
        gate: 110,
        points_min: 60,
        bands_min: 3,
        track_age_ns: 500_000_000,
    });
    let mut control = LaneControl::new(ControlParameters {
        metres_per_column: 0.268 / 320.0,
        near_m: 0.29,
        far_m: 0.77,
        look_ahead_m: 0.40,
        linear_max: 0.22,
        angular_max: 2.84,
        slowing: 0.1,
        stop_area: 3000,
        blind_images: 10,
    });
    let mut red = lamp([0, 200, 200], [24, 255, 255]);
    let mut green = lamp([40, 210, 131], [113, 255, 255]);
    let (mut of_green, mut of_red) = (OtherLight::default(), OtherLight::default());
    let mut arm = GreenArm::default();
    let mut blur = Blur::new(640);
    let [mut raw, mut a, mut b] = [0; 3].map(|_| vec![0; 640 * 480 * 3]);
    let mut mask = vec![0; VIEW_WIDTH * VIEW_HEIGHT];

    let mut done = Drive { digest: 0xcbf2_9ce4_8422_2325, ..Drive::default() };
    let mut last_s = 0.0;
    let mut green_since: Option<i64> = None;
    let limit = (laps * 120.0 * 15.0) as i64;
    for step in 0..limit {
        let now = step * PERIOD_NS;
        let pose = vehicle.pose();
        let along = course.nearest(pose.x, pose.y, 0.3).expect("the vehicle stays near the lane");
        let moved = along.s_m - last_s;
        let moved = moved - course.length_m() * (moved / course.length_m()).round();
        last_s = along.s_m;
        done.laps += moved / course.length_m();
        if done.laps >= laps {
            break;
        }
        for index in 0..Lights::COUNT {
            let place = Lights::place_m(index);
            let crossed = along.s_m >= place && along.s_m - moved < place && moved > 0.0;
            if crossed && lights.shown(index, now) == Light::Red {
                done.ran_red.push(along.s_m);
            }
        }
        done.offsets.push(along.offset_m.abs());
        lights.step(along.s_m, now);
        renderer.render(pose, &lights, now, &mut raw);
        compensate(Rgb::new(640, 480, &raw).expect("whole"), 100, &mut a);
        let image = Rgb::new(640, 480, &a).expect("whole");
        let e = searches_red(of_green.before(now)).then(|| red.find(image)).flatten();
        let f = arm.searches(of_red.before(now)).then(|| green.find(image)).flatten();
        arm.found(f.is_some());
        of_green.note(now, f.is_some());
        of_red.note(now, e.is_some());
        blur.blur(image, &mut b);
        view.mark(Rgb::new(640, 480, &b).expect("whole"), &mut mask).expect("640 x 480");
        let found = fit.fit(&mask, now);
        let was_stopped = control.is_stopped();
        let command = control.step(&found.lane, e, f);
        if control.is_stopped() && !was_stopped {
            done.red_stops += 1;
        }
        // Delay from the light's change to motion.
        if control.is_stopped() || was_stopped {
            let shows_green = lights
                .approached(along.s_m)
                .is_some_and(|(index, _)| lights.shown(index, now) == Light::Green);
            if shows_green && green_since.is_none() {
                green_since = Some(now);
            }
        }
        if let (Some(since), true) = (green_since, command.linear > 0.0) {
            done.start_delays.push((now - since) as f64 * 1e-9);
            green_since = None;
        }
        done.images += 1;
        done.both_lines += usize::from(found.lane.left.is_some() && found.lane.right.is_some());
        for byte in command.linear.to_le_bytes().into_iter().chain(command.angular.to_le_bytes()) {
            done.digest = (done.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        save(step, &raw, &mask);
        vehicle.advance(command, PERIOD_NS as f64 * 1e-9);
    }
    done
}

fn save(step: i64, raw: &[u8], mask: &[u8]) {
    let Some(out) = std::env::var_os("SAVE_PICTURES").filter(|_| step % 75 == 0) else { return };
    let mut picture = vec![0; 1280 * 960 * 3];
    for y in 0..960 {
        let row = &mut picture[y * 1280 * 3..(y + 1) * 1280 * 3];
        if y < 480 {
            row[..640 * 3].copy_from_slice(&raw[y * 640 * 3..(y + 1) * 640 * 3]);
        }
        for x in 0..640 {
            row[(640 + x) * 3..(641 + x) * 3].fill(mask[y * 640 + x] * 60);
        }
    }
    common::save_png(
        &std::path::Path::new(&out).join(format!("drive_{step:04}.png")),
        1280,
        960,
        &picture,
    );
}

#[test]
fn three_laps_stay_in_the_lane_and_obey_every_light() {
    let start = std::time::Instant::now();
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let mut drive = drive(seed, 3.0);
    drive.offsets.sort_by(f64::total_cmp);
    let at = |share: f64| drive.offsets[((drive.offsets.len() - 1) as f64 * share) as usize];
    println!(
        "{:.2} laps, {} images in {:?}, offset p50 {:.3} p95 {:.3} max {:.3} m, both lines {}, \
         {} stops, ran red {:?}, start delays {:?}, digest {:016x}",
        drive.laps,
        drive.images,
        start.elapsed(),
        at(0.5),
        at(0.95),
        at(1.0),
        drive.both_lines,
        drive.red_stops,
        drive.ran_red,
        drive.start_delays,
        drive.digest,
    );
    assert!(drive.laps >= 3.0, "{} laps", drive.laps);
    assert!(at(0.95) <= 0.05 && at(1.0) < 0.1);
    assert!(drive.ran_red.is_empty());
    assert!(drive.red_stops > 0 && drive.start_delays.iter().all(|delay| *delay <= 1.0));
}
