//! The hardware node of lane following against the software one, picture by picture.

use crate::board;
use crate::frames::{self, Fields, Limits, Random, Sent};
use crate::image_projection;
use crate::lane_planner::in_yaml;
use crate::picture_node::{MAPPING, TESTBENCH, node_design, node_simulation};
use crate::twin;
use crossdock_autorace::nodes::package as software;
use crossdock_autorace::stripe_setup::following_setup_of;
use crossdock_graph::{HardwarePackage, ParameterValue};
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Design, Mutants, Mutation, Report, Simulation, lint, must};
use crossdock_msg::types::sensor_msgs::{Image, ImageView};
use crossdock_msg::{Block, FlatBuffer, Message};
use crossdock_test_support::{done, workspace};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A board with the node alone.
const GRAPH: &str = "
crossdock: 1
name: alone
topics:
  /image: { bounds: { data: 1800000, header.frame_id: 64, encoding: 16 } }
  /made: { bounds: { header.frame_id: 64 } }
nodes:
  camera: { package: ends, type: camera, outputs: { image: /image } }
  node:
    package: autorace
    type: lane_following
    inputs: { image: /image }
    outputs: { lane: /made }
  sink: { package: ends, type: sink, inputs: { lane: /made } }
";

const PARTS: [&str; 13] = [
    "lane_following_image_take",
    "lane_following_lane_publish",
    "lane_following_messages",
    "frame_take",
    "frame_publish",
    "picture_check",
    "message_shell",
    "byte_gear",
    "pixel_hsv",
    "row_contrast",
    "row_runs",
    "serial_math",
    "to_double",
];

const SETUP: &str = "lane_following_setup.sv";
/// Pictures as they are shipped.
const SHIPPED: (usize, usize) = (1000, 600);
/// Small ones: a lane of 320 columns has room, and one that is too wide. A band has 5 rows.
const SMALL: (usize, usize) = (496, 60);
/// Points that a small picture has in a third of its rows.
const SMALL_POINTS: u64 = 20;
/// So many that stripes of enough points are refused for their bands.
const SMALL_BANDS: u64 = 7;
/// Cycles from a small picture with both stripes to the next one: a cycle for two pixels, two for
/// each point.
const SMALL_PERIOD: u64 = 15_640;
/// Pictures for which no point is enough for a stripe, and no stripe is valid all the same.
const BARE: (usize, usize) = (448, 72);

/// Points and bands of a valid stripe at least, in pictures of this size; `None`: as shipped.
fn least(size: (usize, usize)) -> Option<[u64; 2]> {
    match size {
        SHIPPED => None,
        BARE => Some([0, 0]),
        _ => Some([SMALL_POINTS, SMALL_BANDS]),
    }
}

/// What the node is told beside the size of its pictures.
type Told = BTreeMap<String, ParameterValue>;

/// The package file for pictures of this size.
fn package(size: (usize, usize)) -> HardwarePackage {
    package_of(size, &Told::new()).0
}

/// The package file for pictures of this size and what the node is told, and what of this are
/// parameters of the module.
fn package_of((width, height): (usize, usize), told: &Told) -> (HardwarePackage, Told) {
    let limits = Limits { bound: 921_600, max_bytes: 921_600, max_width: 640, size: None };
    let mut package = board::package(limits);
    let node = package.nodes.iter_mut().find(|it| it.description.node_type == "lane_following");
    let values = &mut node.expect("the node type").built_in;
    values.insert("width".to_owned(), ParameterValue::Integer(width as i64));
    values.insert("height".to_owned(), ParameterValue::Integer(height as i64));
    let mut parameters = told.clone();
    parameters.retain(|name, value| match values.get_mut(name) {
        Some(built_in) => {
            built_in.clone_from(value);
            false
        }
        None => true,
    });
    (package, parameters)
}

fn design(size: (usize, usize), told: &Told) -> Design {
    let modules = PARTS.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let (package, parameters) = package_of(size, told);
    let setup = must(following_setup_of(&package));
    let design = node_design(package, (GRAPH, MAPPING), "lane_following", &modules);
    let design = design.with_source(SETUP, &setup);
    let design = parameters.iter().fold(design, |design, (name, value)| match value {
        ParameterValue::Integer(value) => design.set(&name.to_uppercase(), *value as u64),
        other => panic!("{name}: {other:?}"),
    });
    match least(size) {
        Some([points, bands]) => design.set("POINTS_MIN", points).set("BANDS_MIN", bands),
        None => design,
    }
}

fn simulation(size: (usize, usize)) -> Simulation {
    simulation_of(size, &Told::new())
}

/// The node that is told this.
fn simulation_of(size: (usize, usize), told: &Told) -> Simulation {
    let ports = format!(
        "#define NODE_INPUT s_axis_image\n#define NODE_OUTPUT m_axis_lane\n#define NODE_PUBLISHER_ID \
         lane_publisher_id\n#define NODE_STREAMS 0\n#define NODE_MAX_BYTES {}\n",
        size.0 * size.1 * 3
    );
    node_simulation(design(size, told), TESTBENCH, &ports)
}

/// The file of these frames for the testbench with what the software node publishes for them, and
/// how many that are; and in how many of these both stripes, and at least one are valid.
fn file(sent: &[Sent], size: (usize, usize)) -> (PathBuf, u64, [usize; 2]) {
    file_of(sent, size, &Told::new())
}

/// The same for the node that is told this.
fn file_of(sent: &[Sent], size: (usize, usize), told: &Told) -> (PathBuf, u64, [usize; 2]) {
    let (width, height) = (size.0 as u32, size.1 as u32);
    let (max_bytes, of_camera) = (width * height * 3, Some((width, height)));
    let limits = Limits { bound: 1_800_000, max_bytes, max_width: width, size: of_camera };
    let (package, parameters) = package_of(size, told);
    let mut told = package.node_type("lane_following").expect("the node type").built_in.clone();
    told.extend(parameters);
    let least = least(size).into_iter().flatten();
    for (name, least) in ["points_min", "bands_min"].into_iter().zip(least) {
        told.insert(name.to_owned(), ParameterValue::Integer(least as i64));
    }
    let told = in_yaml(&told);
    let reason = |view: ImageView<'_>| frames::reason_of_rgb(view, limits);
    frames::of_lanes(sent, limits, reason, ("lane_following", "image"), &told)
}

fn run(size: (usize, usize), vectors: &Path, options: &[&str]) -> Report {
    run_of(size, &Told::new(), vectors, options)
}

fn run_of(size: (usize, usize), told: &Told, vectors: &Path, options: &[&str]) -> Report {
    let vectors = vectors.to_str().expect("a path");
    must(simulation_of(size, told).run(&[&["--vectors", vectors], options].concat()))
}

/// Colours of the stripes.
const OF_LEFT: [u8; 3] = [230, 200, 20];
const OF_RIGHT: [u8; 3] = [240, 240, 235];

/// Draws a stripe of chance beside a column: solid or dashed, noisy, of some width, bent.
fn draw(data: &mut [u8], random: &mut Random, column: i64, colour: [u8; 3]) {
    let (width, height) = SMALL;
    let bend = random.below(160) as i64 - 80;
    let slope = random.below(120) as i64 - 60;
    let column = column + random.below(160) as i64 - 80;
    let ranges = [(0, height), (0, height), (0, height / 3), (height / 3, height), (12, 14)];
    let (first, last) = ranges[random.below(5)];
    let dash = [height, height, 9, 4][random.below(4)];
    let (half, noise) = (1 + random.below(20) as i64, random.below(9));
    for s in (first..last).filter(|s| s % (2 * dash) < dash) {
        let at = s as i64;
        let full = height as i64;
        let middle = column + bend * at * at / (full * full) + slope * at / full;
        let middle = middle + random.below(noise + 1) as i64;
        for x in (middle - half..=middle + half).filter(|x| (0..width as i64).contains(x)) {
            let at = ((height - 1 - s) * width + x as usize) * 3;
            data[at..at + 3].copy_from_slice(&colour);
        }
    }
}

/// A picture of chance: stripes that may be a lane, spots, noise of all colours, nothing.
fn picture(random: &mut Random, number: usize) -> Fields {
    let (width, height) = SMALL;
    let road = 20 + random.below(100) as u8;
    let mut data = vec![road; width * height * 3];
    match number % 8 {
        // All colours, in groups of all lengths.
        6 => {
            let mut pixel = [0; 3];
            for bytes in data.chunks_exact_mut(3) {
                if random.below(5) == 0 {
                    pixel = [[230, 200, 20], [250; 3], [0; 3], [random.next() as u8; 3]]
                        [random.below(4)];
                }
                bytes.copy_from_slice(&pixel);
            }
        }
        7 => {}
        kind => {
            data.iter_mut().for_each(|it| *it += random.below(12) as u8);
            if kind != 4 {
                draw(&mut data, random, 88, OF_LEFT);
            }
            if kind != 5 {
                draw(&mut data, random, 408, OF_RIGHT);
            }
            for _ in 0..random.below(20) {
                let (x, y) = (random.below(width - 20), random.below(height - 8));
                let colour = [[230, 200, 20], [250; 3], [20; 3]][random.below(3)];
                let wide = 1 + random.below(20);
                for row in y..y + 1 + random.below(8) {
                    let at = (row * width + x) * 3;
                    data[at..at + 3 * wide]
                        .chunks_exact_mut(3)
                        .for_each(|it| it.copy_from_slice(&colour));
                }
            }
        }
    }
    let mut fields = Fields::picture(width, height, data);
    fields.frame_id = (0..random.below(65)).map(|_| random.next() as u8).collect();
    fields
}

/// Makes of a picture what is none for the node.
fn odd(mut fields: Fields, number: usize, random: &mut Random) -> Fields {
    let (width, height) = SMALL;
    match number % 9 {
        0 => fields.encoding = [&b"bgr8"[..], b"mono8", b"rgb", b""][random.below(4)].to_vec(),
        1 => fields.step += 1,
        2 => fields.height += 1,
        3 => fields = Fields::picture(width / 2, height * 2, fields.data),
        4 => {
            fields.data.pop();
        }
        5 => fields.data.clear(),
        6 => fields = Fields::picture(63, 47, fields.data[..63 * 47 * 3].to_vec()),
        // More rows than it can count, and above the bounds of its port.
        7 => fields.data.extend([200; 3 * 10 * SMALL.0]),
        _ => fields.frame_id = vec![b'f'; 65],
    }
    fields
}

/// Two stripes with just enough points: without those of the bottom row neither is valid. The white
/// ones of these are among the last pixels to come.
fn barely_striped() -> Fields {
    let (width, height) = SMALL;
    let rows = (0..height).step_by(height / SMALL_POINTS as usize);
    let mut data = vec![60; width * height * 3];
    for s in rows {
        for (column, colour) in [(60, [230, 200, 20]), (width - 16, [240; 3])] {
            let at = ((height - 1 - s) * width + column) * 3;
            data[at..at + 30].chunks_exact_mut(3).for_each(|it| it.copy_from_slice(&colour));
        }
    }
    Fields::picture(width, height, data)
}

/// Draws a stripe into a band, or into all of them, in a small picture: its middle is this column,
/// doubled.
fn put(data: &mut [u8], band: Option<usize>, column: usize, colour: [u8; 3]) {
    let (width, height) = SMALL;
    let rows = height / 12;
    let wide = 10 + (column + 1) % 2;
    for s in band.map_or(0..height, |band| band * rows..(band + 1) * rows) {
        let at = ((height - 1 - s) * width + (column + 1 - wide) / 2) * 3;
        data[at..at + 3 * wide].chunks_exact_mut(3).for_each(|it| it.copy_from_slice(&colour));
    }
}

/// A picture with a stripe in as many bands as a valid one has at least. From band to band it moves
/// so far to the other side that its drift meets its limit, and then `step` further, doubled.
fn drifting(is_right: bool, step: usize) -> Vec<u8> {
    let mut data = vec![60; SMALL.0 * SMALL.1 * 3];
    let mut moved = 0;
    for (band, step) in [0, 76, 152, step, 48, 20, 0].into_iter().enumerate() {
        moved += step;
        let (column, colour) =
            if is_right { (940 - moved, OF_RIGHT) } else { (52 + moved, OF_LEFT) };
        put(&mut data, Some(band), column, colour);
    }
    data
}

/// A picture with straight stripes, none where there is no column.
fn straight(columns: [Option<usize>; 2]) -> Vec<u8> {
    let mut data = vec![60; SMALL.0 * SMALL.1 * 3];
    for (column, colour) in columns.into_iter().zip([OF_LEFT, OF_RIGHT]) {
        column.into_iter().for_each(|column| put(&mut data, None, column, colour));
    }
    data
}

/// Pictures on both sides of each limit: how long behind the one before, and in how many of its
/// stripes are valid.
fn at_limits() -> Vec<(i64, Vec<u8>, usize)> {
    const LONG: i64 = 2_000_000_000;
    let mut all = Vec::new();
    for is_right in [false, true] {
        // The window is 80 wide to either side of 128.
        for (step, valid) in [(208, 1), (209, 0), (48, 1), (47, 0)] {
            all.push((LONG, drifting(is_right, step), valid));
        }
    }
    for (left, right, valid) in [
        // Of a lane: 416 to 960.
        (288, 704, 2),
        (288, 703, 1),
        (16, 976, 2),
        (16, 977, 1),
        // From where a stripe is expected: 220 to either side of 176 and 816.
        (396, 816, 2),
        (397, 816, 1),
        (176, 596, 2),
        (176, 595, 1),
    ] {
        all.push((LONG, straight([Some(left), Some(right)]), valid));
    }
    // The other stripe is expected at a lane's width for half a second: 220 to either side of 216.
    let soon = 500_000_000;
    for (behind, left, valid) in [(soon, 436, 2), (soon, 437, 1), (soon + 1, 436, 1)] {
        all.push((LONG, straight([None, Some(856)]), 1));
        all.push((behind, straight([Some(left), Some(856)]), valid));
    }
    all
}

/// Good pictures in the order of their time, mostly, and between them odd and damaged ones. Behind
/// them come those at the limits. The last one is barely striped, and so late that nothing is
/// expected of the ones before.
fn chance(seed: u64, count: usize) -> Vec<Sent> {
    let mut random = Random::new(seed);
    let (mut all, mut now) = (Vec::new(), 5_i64);
    for number in 0..count {
        let mut good = picture(&mut random, number);
        // Stripes that were found are too old in some pictures, and in some of the future.
        now += [40, 40, 100, 499, 500, 501, 2000, -300][random.below(8)] * 1_000_000;
        now += random.below(3) as i64 - 1;
        good.stamp = frames::stamp_of(now);
        all.push(frames::frame(&good, &mut random));
        let other = picture(&mut random, number + 3);
        match number % 3 {
            0 => {
                let odd = odd(other, number / 3, &mut random);
                all.push(frames::frame(&odd, &mut random));
            }
            1 => {
                let frame = frames::frame(&other, &mut random);
                all.push(frames::damage(frame, number / 3, &mut random));
            }
            _ => {}
        }
    }
    for (behind, data, _) in at_limits() {
        now += behind;
        all.push(frames::frame(&picture_of(data, now), &mut random));
    }
    let stamp = frames::stamp_of(now + 10_000_000_000);
    all.push(frames::frame(&Fields { stamp, ..barely_striped() }, &mut random));
    all
}

fn picture_of(data: Vec<u8>, ns: i64) -> Fields {
    Fields { stamp: frames::stamp_of(ns), ..Fields::picture(SMALL.0, SMALL.1, data) }
}

#[test]
fn what_is_shipped_is_made_of_the_values_in_the_package_file() {
    let path = workspace().join("apps/autorace/hardware/lane_following").join(SETUP);
    let shipped = must(std::fs::read_to_string(path));
    assert!(
        must(following_setup_of(&package(SHIPPED))) == shipped,
        "make it anew: crossdock-autorace following-setup \
         apps/autorace/hardware/autorace.hardware.yaml -o \
         apps/autorace/hardware/lane_following/{SETUP}"
    );
}

#[test]
fn the_node_is_clean_under_all_warnings() {
    must(lint(&design(SHIPPED, &Told::new())));
    must(lint(&design(SMALL, &Told::new())));
}

#[test]
fn pictures_of_all_kinds_give_the_lanes_of_the_software_node() {
    let (path, published, [both, one]) = file(&chance(1, 96), SMALL);
    assert!(both >= 12 && one > both && published as usize > one, "{both} {one} {published}");
    for (seed, stalls) in [("1", "30"), ("2", "3"), ("3", "0")] {
        let report = run(SMALL, &path, &["--seed", seed, "--stalls", stalls]);
        assert_eq!(report.value("published"), published);
        assert!(report.value("dropped") >= 20, "{report:?}");
    }
}

#[test]
fn pictures_at_the_limits_are_on_both_sides_of_them() {
    let (mut random, mut now) = (Random::new(1), 0);
    let (mut sent, mut wanted) = (Vec::new(), [0, 0]);
    for (behind, data, valid) in at_limits() {
        now += behind;
        sent.push(frames::frame(&picture_of(data, now), &mut random));
        wanted[0] += usize::from(valid == 2);
        wanted[1] += usize::from(valid > 0);
        let (_, _, found) = file(&sent, SMALL);
        assert_eq!(found, wanted, "picture {}", sent.len());
    }
}

/// Pictures of one time whose left stripe moves away from where one is expected at first, until
/// the first of them is out of reach.
fn moving() -> PathBuf {
    let mut random = Random::new(1);
    let picture = |left| picture_of(straight([Some(left), Some(816)]), 5);
    let sent = [396, 200, 16].map(|left| frames::frame(&picture(left), &mut random));
    let (path, _, found) = file(&sent, SMALL);
    assert_eq!(found, [3, 3]);
    path
}

#[test]
fn after_a_reset_the_node_expects_no_stripes() {
    run(SMALL, &moving(), &["--seed", "4", "--rounds", "2"]);
}

#[test]
fn a_reset_may_come_in_the_middle_of_a_picture() {
    let (path, _, _) = file(&chance(2, 16), SMALL);
    run(SMALL, &path, &["--seed", "4", "--resets", "1"]);
}

/// The projected pictures of a recording with these stamps, as the nodes in front make them of its
/// images with these parameters of the camera.
fn recorded(bag: &Path, stamps: &[i64], params: Option<&str>) -> Vec<Fields> {
    let pictures = frames::recorded(bag, stamps);
    let mut blocks: Vec<FlatBuffer> = pictures.iter().map(Fields::block).collect();
    let projection = image_projection::told(image_projection::SHIPPED, params);
    for (node, ports, told) in [
        ("image_compensation", ["image", "compensated"], "{}"),
        ("gaussian_blur", ["image", "blurred"], "{}"),
        ("image_projection", ["image", "projected"], &projection),
    ] {
        blocks = twin::published::<Image>(software(), node, ports, told, blocks);
    }
    let projected = blocks.iter().zip(&pictures).map(|(block, picture)| {
        let view = must(Image::view(Block::new(block.as_slice())));
        let data = must(view.data()).to_vec();
        Fields { stamp: picture.stamp, ..Fields::picture(SHIPPED.0, SHIPPED.1, data) }
    });
    projected.collect()
}

/// Images of recordings: some, in the node for the camera of the course, or all, in nodes for their
/// cameras. Gives how many.
fn equals_its_twin_on_recordings(sparse: bool) -> u64 {
    let Some(data) = crossdock_test_support::data() else { return 0 };
    let mut random = Random::new(1);
    let mut total = 0;
    let highways = Some(image_projection::OF_HIGHWAYS);
    let bags = [
        ("autorace_sim/autorace_a_15hz/autorace_a_15hz.mcap", None),
        ("driving/highway_a_25hz/highway_a_25hz.mcap", highways),
        ("driving/highway_drive_1hz/highway_drive_1hz.mcap", highways),
        ("driving/white_lanes_25hz/white_lanes_25hz.mcap", highways),
    ];
    for (name, params) in bags.into_iter().take(if sparse { 2 } else { 4 }) {
        let params = params.filter(|_| !sparse);
        let told = params.map_or_else(Told::new, |it| board::params(it, "following"));
        let bag = data.join(name);
        let mut stamps = frames::stamps(&bag);
        if sparse {
            stamps.truncate(2);
        }
        // The testbench holds the frames of a file in memory. What was found last is expected in
        // the pictures of a file, and forgotten before the next one.
        for some in stamps.chunks(25) {
            let pictures = recorded(&bag, some, params);
            let sent: Vec<_> = pictures.iter().map(|it| frames::frame(it, &mut random)).collect();
            let (path, published, [_, one]) = file_of(&sent, SHIPPED, &told);
            // Each recording has a stripe that the software node finds nearly always.
            assert!(one > 0, "{name}: no stripe in {published} pictures");
            run_of(SHIPPED, &told, &path, &["--seed", "1", "--stalls", "2"]);
            if !sparse {
                must(std::fs::remove_file(path));
            }
            total += published;
        }
    }
    total
}

#[test]
fn recorded_pictures_give_the_lanes_of_the_software_node() {
    equals_its_twin_on_recordings(true);
}

#[test]
#[ignore = "long: all pictures of recordings"]
fn all_recorded_pictures_give_the_lanes_of_the_software_node() {
    done(equals_its_twin_on_recordings(false), "following-lanes");
}

/// Three pictures with both stripes, each in the middle of its half of the lane.
fn striped((width, height): (usize, usize)) -> Vec<Sent> {
    let mut random = Random::new(1);
    let mut data = vec![60; width * height * 3];
    for row in data.chunks_exact_mut(width * 3) {
        for (column, colour) in [(width / 2 - 165, [230, 200, 20]), (width / 2 + 155, [240; 3])] {
            let at = row[column * 3..(column + 10) * 3].chunks_exact_mut(3);
            at.for_each(|it| it.copy_from_slice(&colour));
        }
    }
    let picture = Fields::picture(width, height, data);
    (0..3).map(|_| frames::frame(&picture, &mut random)).collect()
}

#[test]
fn a_lane_leaves_soon_after_its_picture_which_takes_a_cycle_for_two_pixels() {
    let (path, _, both) = file(&striped(SHIPPED), SHIPPED);
    assert_eq!(both, [3, 3]);
    let report = run(SHIPPED, &path, &["--seed", "1", "--stalls", "0"]);
    // 600 points of a side, 2 cycles each, and 12 means.
    let pixels = 600 * 501;
    assert!((pixels..pixels + 2500).contains(&report.value("latency")), "{report:?}");
    assert!(report.value("period") < pixels + 2500, "{report:?}");
}

const FAULTS: [Mutation; 11] = [
    Mutation {
        what: "stripes of just the age that is allowed are too old",
        file: "follow_stripes.sv",
        from: "age <= TrackAge;",
        to: "age < TrackAge;",
    },
    Mutation {
        what: "a stripe drifts by a column less at most",
        file: "find_stripe.sv",
        from: "DriftMost = 16'sd128;",
        to: "DriftMost = 16'sd126;",
    },
    Mutation {
        what: "a picture is refused without the reason",
        file: "message_shell.sv",
        from: "refused <= looks ? s_fault : '0;",
        to: "refused <= '0;",
    },
    Mutation {
        what: "stripes that are too old are expected",
        file: "follow_stripes.sv",
        from: "tracked && !age[63] && age <= TrackAge;",
        to: "tracked && !age[63];",
    },
    Mutation {
        what: "the wrong one of two stripes goes",
        file: "follow_stripes.sv",
        from: "valid[fewer] <= 1'b0;",
        to: "valid[!fewer] <= 1'b0;",
    },
    Mutation {
        what: "stripes are followed before the last marks have come",
        file: "follow_stripes.sv",
        from: "state == Settle && beats == Beat'(Beats) && (&idle);",
        to: "state == Settle && (&idle);",
    },
    Mutation {
        what: "a refused picture leaves its points behind",
        file: "lane_following.sv",
        from: "    .clear(next),",
        to: "    .clear(next && made),",
    },
    Mutation {
        what: "pictures of another size are taken",
        file: "lane_following.sv",
        from: "    .WIDTH(Width),\n    .HEIGHT(Height)\n  ) u_messages",
        to: "    .WIDTH(0),\n    .HEIGHT(0)\n  ) u_messages",
    },
    Mutation {
        what: "a window stands still where a stripe bends",
        file: "find_stripe.sv",
        from: "window <= at + drifts;",
        to: "window <= at;",
    },
    Mutation {
        what: "a point belongs to the band below it, too",
        file: "find_stripe.sv",
        from: "{1'b0, point_row} >= band_end;",
        to: "{1'b0, point_row} > band_end;",
    },
    Mutation {
        what: "the first window is no wider than the others",
        file: "find_stripe.sv",
        from: "(bands == '0) ? 16'(2 * GATE) : Margin;",
        to: "Margin;",
    },
];

#[test]
#[ignore = "long: a simulator for each fault"]
fn faults_of_the_node_are_caught() {
    let (path, _, _) = file(&chance(1, 96), SMALL);
    let vectors = path.to_str().expect("a path");
    for fault in &FAULTS {
        let options = ["--vectors", vectors, "--seed", "1", "--stalls", "5"];
        must(simulation(SMALL).catches(fault, &options));
    }
}

#[test]
#[ignore = "long: synthesis of a whole node"]
fn the_node_takes_no_more_area_than_its_budget() {
    must(area_within_budget(&design(SHIPPED, &Told::new())));
}

const HARMLESS: [(&str, &str); 3] = [
    (
        "find_stripe.sv: `base <= '0;`: `'0` becomes `'1`",
        "where a stripe begins that no band has found is nobody's business",
    ),
    (
        "find_stripe.sv: `if (band == Followed || (band > Followed && is_first)) column <= at;`: `>` becomes \
         `>=`",
        "the followed band itself counts already",
    ),
    (
        "find_stripe.sv: `wire signed [15:0]  limited = (moved > DriftMost) ? DriftMost`: `>` becomes `>=`",
        "a drift of the limit is itself",
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_stripes_are_found() {
    let (path, _, _) = file(&chance(1, 96), SMALL);
    let options = ["--vectors", path.to_str().expect("a path"), "--seed", "1", "--stalls", "30"];
    let (path, _, both) = file(&striped(SMALL), SMALL);
    assert_eq!(both, [3, 3]);
    let soon = ["--vectors", path.to_str().expect("a path"), "--seed", "1", "--stalls", "0"];
    let blank = Fields::picture(BARE.0, BARE.1, vec![60; BARE.0 * BARE.1 * 3]);
    let (bare, _, found) = file(&[frames::frame(&blank, &mut Random::new(1))], BARE);
    assert_eq!(found, [0, 0]);
    let bare = ["--vectors", bare.to_str().expect("a path"), "--seed", "1", "--stalls", "0"];
    let again = moving();
    let again = ["--vectors", again.to_str().expect("a path"), "--seed", "4", "--rounds", "2"];
    for module in ["find_stripe", "follow_stripes", "mark_stripes"] {
        Mutants::of(module)
            .simulated(simulation(BARE), &bare)
            .simulated(simulation(SMALL), &again)
            .simulated(simulation(SMALL), &options)
            .measured(simulation(SMALL), &soon, |report| report.value("period") < SMALL_PERIOD)
            .but(&HARMLESS)
            .are_found();
    }
}
