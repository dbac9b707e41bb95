//! The map of the closed course in a plain loop: camera, key points, wheels, map. A driver who
//! knows the
//! course stands in for lane following, so that a lap takes seconds.
#![allow(clippy::print_stdout, reason = "figures are printed")]

use crossdock_autorace::compensation::compensate;
use crossdock_autorace::control::Command;
use crossdock_autorace::features::{FeatureParameters, FeatureSearch};
use crossdock_autorace::image::Rgb;
use crossdock_autorace::nodes::slam_parameters_of;
use crossdock_autorace::score::Reading;
use crossdock_autorace::simulator::course::{Course, Pose as CoursePose};
use crossdock_autorace::simulator::drive::Drive;
use crossdock_autorace::simulator::wheels::{WheelErrors, Wheels};
use crossdock_autorace::slam::features::{Seen, descriptor};
use crossdock_autorace::slam::pose::Pose;
use crossdock_autorace::slam::{Slam, SlamParameters};
use crossdock_autorace::trajectory::{TrajectoryError, driven_m, error_of};
use std::time::{Duration, Instant};

/// Share of the driven way that the error may be.
const BOUND: f64 = 0.02;
const PERIOD_NS: i64 = 66_666_667;

/// The errors of the wheels in course_slam.graph.yaml.
fn wheel_errors(seed: u64) -> WheelErrors {
    WheelErrors { track_m: 0.16, left: 0.01, right: 0.02, noise_m: 0.003, seed }
}

fn plain(pose: CoursePose) -> Pose {
    Pose { x: pose.x, y: pose.y, yaw: pose.yaw }
}

/// A vehicle that drives along the middle of the lane and sees the town.
struct Tour {
    course: Course,
    drive: Drive,
    wheels: Wheels,
    search: FeatureSearch,
    raw: Vec<u8>,
    compensated: Vec<u8>,
    now_ns: i64,
}

impl Tour {
    fn new(seed: u64) -> Self {
        let parameters = FeatureParameters { threshold: 25, per_cell: 5 };
        let mut drive = Drive::new(seed, 0.0).with_buildings(seed);
        drive.advance(Command::default(), 0).expect("it stands on the lane");
        let [raw, compensated] = [0; 2].map(|_| vec![0; 640 * 480 * 3]);
        Self {
            course: Course::new(),
            drive,
            wheels: Wheels::new(wheel_errors(seed)),
            search: FeatureSearch::new(parameters, 640, 480),
            raw,
            compensated,
            now_ns: 0,
        }
    }

    /// Drives for one period; the stamp, the true pose, what the wheels say, and the key points.
    fn step(&mut self) -> (i64, Pose, Pose, Vec<Seen>) {
        let ahead = self.course.pose(self.drive.along().s_m + 0.25);
        let [x, y, _] = plain(self.drive.pose()).inward([ahead.x, ahead.y, 0.0]);
        let linear = 0.2;
        let command = Command { linear, angular: linear * 2.0 * y / (x * x + y * y) };
        self.now_ns += PERIOD_NS;
        self.drive.advance(command, self.now_ns).expect("it keeps to the lane");
        self.drive.render(&mut self.raw);
        compensate(Rgb::new(640, 480, &self.raw).expect("whole"), 100, &mut self.compensated);
        let image = Rgb::new(640, 480, &self.compensated).expect("whole");
        let found = self.search.find(image).expect("640 x 480");
        let seen = |f: &crossdock_autorace::features::Feature| Seen {
            at: [f64::from(f.x), f64::from(f.y)],
            descriptor: descriptor(&f.descriptor),
        };
        let seen = found.iter().map(seen).collect();
        let truth = self.drive.pose();
        (self.now_ns, plain(truth), plain(self.wheels.follow(truth).0), seen)
    }

    fn laps(&self) -> f64 {
        self.drive.outcome().laps
    }
}

fn parameters() -> SlamParameters {
    slam_parameters_of(None).expect("the defaults are within their bounds")
}

/// A map, its poses as they were published, and what it cost.
struct Mapped {
    slam: Slam,
    poses: Vec<Reading<Pose>>,
    lost: usize,
    times: Vec<Duration>,
}

impl Mapped {
    fn new(parameters: SlamParameters) -> Self {
        Self { slam: Slam::new(parameters), poses: Vec::new(), lost: 0, times: Vec::new() }
    }

    fn step(&mut self, stamp_ns: i64, wheels: Pose, seen: Vec<Seen>) {
        let begin = Instant::now();
        let localised = self.slam.step(stamp_ns, wheels, seen).expect("a good picture");
        self.times.push(begin.elapsed());
        self.lost += usize::from(!localised.tracked);
        self.poses.push(Reading { stamp_ns, value: localised.pose });
    }

    fn path(&self) -> Vec<Reading<Pose>> {
        self.slam.path().map(|(stamp_ns, value)| Reading { stamp_ns, value }).collect()
    }

    fn describe(&mut self, truth: &[Reading<Pose>]) -> String {
        self.times.sort_unstable();
        let at = |share: f64| self.times[(self.times.len() as f64 * share) as usize];
        let (path, poses) = (self.path(), &self.poses);
        let cm = |error: Option<TrajectoryError>| error.map_or(f64::NAN, |e| 100.0 * e.rmse_m);
        format!(
            "path {:.1} cm, poses {:.1} cm; {} keyframes, {} points, {} closures, lost {}; {:.1?} \
             median, {:.1?} p90, {:.1?} most",
            cm(error_of(&path, truth)),
            cm(error_of(poses, truth)),
            self.slam.map().keyframes().len(),
            self.slam.map().count(),
            self.slam.map().closures.len(),
            self.lost,
            at(0.5),
            at(0.9),
            self.times[self.times.len() - 1],
        )
    }
}

/// Errors of a drive: with loop closing, without, and of the wheels alone, as shares of the way.
struct Errors {
    closed: [f64; 2],
    open: f64,
    wheels: f64,
    closures: usize,
    /// With loop closing, and without.
    keyframes: [usize; 2],
}

fn drive(seed: u64, laps: f64) -> Errors {
    let mut tour = Tour::new(seed);
    let mut closed = Mapped::new(parameters());
    let mut open = Mapped::new(SlamParameters { close_loops: false, ..parameters() });
    let (mut truth, mut wheels) = (Vec::new(), Vec::new());
    while tour.laps() < laps {
        let (stamp_ns, pose, said, seen) = tour.step();
        truth.push(Reading { stamp_ns, value: pose });
        wheels.push(Reading { stamp_ns, value: said });
        closed.step(stamp_ns, said, seen.clone());
        open.step(stamp_ns, said, seen);
    }
    let way = driven_m(&truth);
    let share = |of: &[Reading<Pose>]| error_of(of, &truth).expect("poses").rmse_m / way;
    let errors = Errors {
        closed: [share(&closed.path()), share(&closed.poses)],
        open: share(&open.path()),
        wheels: share(&wheels),
        closures: closed.slam.map().closures.len(),
        keyframes: [&closed, &open].map(|mapped| mapped.slam.map().keyframes().len()),
    };
    println!("seed {seed}, {way:.1} m; wheels alone {:.1} cm", 100.0 * errors.wheels * way);
    println!("  closed: {}", closed.describe(&truth));
    println!("  open:   {}", open.describe(&truth));
    errors
}

fn check(errors: &Errors) {
    assert!(errors.closures > 0, "no place was known again");
    assert!(errors.closed.iter().all(|e| *e <= BOUND), "{:?}", errors.closed);
    // The bound says something: what the map is made from does not keep it.
    assert!(errors.wheels > BOUND, "{}", errors.wheels);
    assert!(errors.closed[0] * 5.0 < errors.wheels, "{:?} {}", errors.closed, errors.wheels);
}

#[test]
fn a_lap_and_a_bit_give_a_map_that_closes_and_keeps_the_bound() {
    check(&drive(1, 1.12));
}

#[test]
#[ignore = "long: three laps with several seeds"]
fn three_laps_keep_the_bound_with_every_seed() {
    for seed in 1..=8 {
        let errors = drive(seed, 3.0);
        check(&errors);
        let [closed, open] = errors.keyframes;
        // What was seen in the first lap is not mapped again.
        assert!(closed * 3 < open * 2, "{closed} {open}");
        assert!(errors.open <= BOUND, "{}", errors.open);
    }
}

#[test]
fn the_same_input_gives_the_same_bits_and_a_full_map_grows_no_more() {
    let mut tour = Tour::new(5);
    let small = SlamParameters { keyframes_max: 12, points_max: 150, ..parameters() };
    let [mut a, mut b] = [0; 2].map(|_| Mapped::new(parameters()));
    let mut full = Mapped::new(small);
    for _ in 0..180 {
        let (stamp_ns, _, said, seen) = tour.step();
        full.step(stamp_ns, said, seen.clone());
        let map = full.slam.map();
        assert!(map.keyframes().len() <= 12 && map.count() <= 150);
        a.step(stamp_ns, said, seen.clone());
        b.step(stamp_ns, said, seen);
    }
    assert!(a.slam.map().keyframes().len() > 12, "{}", a.slam.map().keyframes().len());
    assert_eq!(full.slam.map().keyframes().len(), 12);
    for (a, b) in a.poses.iter().zip(&b.poses) {
        assert_eq!(a, b);
    }
    let points = |m: &Mapped| m.slam.map().points().map(|(_, p)| p.spot).collect::<Vec<_>>();
    assert_eq!(points(&a), points(&b));
}
