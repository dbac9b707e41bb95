//! The closed loop camera -> perception -> control -> vehicle as a plain loop.

use crate::parameters;
use crossdock_autorace::blur::Blur;
use crossdock_autorace::compensation::compensate;
use crossdock_autorace::control::{Command, ControlParameters, LaneControl};
use crossdock_autorace::hand_over::{GreenArm, OtherLight, searches_red};
use crossdock_autorace::image::Rgb;
use crossdock_autorace::lane_fit::{FitParameters, LaneFit};
use crossdock_autorace::lane_view::{LaneView, VIEW_HEIGHT, VIEW_WIDTH};
use crossdock_autorace::simulator::drive::{Drive, Outcome};
use crossdock_autorace::simulator::renderer::Mount;

/// A drive and the digest of all its commands.
struct Driven {
    outcome: Outcome,
    digest: u64,
}

const PERIOD_NS: i64 = 66_666_667;

fn drive(seed: u64, laps: f64) -> Driven {
    let mut drive = Drive::new(seed, 0.02);
    let mut view = LaneView::new(
        parameters::view(None, Mount::SHIPPED.view(0.22, 0.70).expect("distances differ")),
        640,
        480,
    );
    let mut fit = LaneFit::new(FitParameters {
        gate: 110,
        points_min: 60,
        bands_min: 3,
        track_age_ns: 500_000_000,
    });
    let mut control = LaneControl::new(&ControlParameters {
        metres_per_column: 0.268 / 320.0,
        near_m: 0.29,
        far_m: 0.77,
        look_ahead_m: 0.40,
        linear_max: 0.22,
        angular_max: 2.84,
        slowing: 0.1,
        stop_area: 3000,
        blind_images: 10,
    })
    .expect("a view ahead");
    let mut red = parameters::lamp([0, 200, 200], [24, 255, 255]);
    let mut green = parameters::lamp([40, 210, 131], [113, 255, 255]);
    let (mut of_green, mut of_red) = (OtherLight::default(), OtherLight::default());
    let mut arm = GreenArm::default();
    let mut blur = Blur::new(640);
    let [mut raw, mut a, mut b] = [0; 3].map(|_| vec![0; 640 * 480 * 3]);
    let mut mask = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut now = 0;
    drive.advance(Command::default(), now).expect("it stands on the lane");
    // Two minutes per lap are far more than it takes.
    let limit = (laps * 120.0 * 15.0) as i64 * PERIOD_NS;
    while drive.outcome().laps < laps && now < limit {
        drive.render(&mut raw);
        compensate(Rgb::new(640, 480, &raw).expect("whole"), 100, &mut a);
        let image = Rgb::new(640, 480, &a).expect("whole");
        let e = searches_red(of_green.before(now)).then(|| red.find(image)).flatten();
        let f = arm.searches(of_red.before(now)).then(|| green.find(image)).flatten();
        arm.found(f.is_some());
        of_green.note(now, f.is_some());
        of_red.note(now, e.is_some());
        blur.blur(image, &mut b);
        view.mark(Rgb::new(640, 480, &b).expect("whole"), &mut mask).expect("640 x 480");
        let lane = fit.fit(&mask, now).lane;
        let command = control.step(&lane, e, f);
        for byte in command.linear.to_le_bytes().into_iter().chain(command.angular.to_le_bytes()) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        now += PERIOD_NS;
        drive.advance(command, now).expect("it keeps to the lane");
    }
    Driven { outcome: drive.outcome().clone(), digest }
}

/// Digest of the commands of the drive below: changes only with what is specified in the modules.
const DIGEST: u64 = 0xf2ad_679f_da58_46c8;

#[test]
fn three_laps_stay_in_the_lane_and_obey_every_light() {
    let Driven { outcome, digest } = drive(1, 3.0);
    println!("{outcome}; digest {digest:016x}");
    assert!(outcome.laps >= 3.0);
    assert!(outcome.offset_m(0.95) <= 0.05);
    assert_eq!(outcome.reds_run, 0);
    assert!(outcome.reds_met > 0 && outcome.stops == outcome.reds_met);
    assert!(outcome.start_delay_max_s <= 1.0);
    // The same commands, bit for bit, in every build and on every machine.
    assert_eq!(digest, DIGEST, "{digest:#018x}");
}
