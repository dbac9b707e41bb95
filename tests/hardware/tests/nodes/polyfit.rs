//! The hardware node of polyfit against the software one, view by view.

use crate::board;
use crate::frames::{self, Fields, Limits, Random, Sent, Wrong};
use crate::lane_planner::in_yaml;
use crate::picture_node::{MAPPING, TESTBENCH, node_design, node_simulation};
use crate::twin;
use crossdock_autorace::lane_view::{VIEW_HEIGHT, VIEW_WIDTH};
use crossdock_autorace::nodes::package as software;
use crossdock_graph::{ParameterOverrides, ParameterValue};
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Design, Mutants, Mutation, Report, Simulation, lint, must};
use crossdock_msg::types::sensor_msgs::{Image, ImageView};
use crossdock_msg::{Block, FlatBuffer, Message};
use crossdock_test_support::{done, workspace};
use std::path::{Path, PathBuf};

/// A board with the node alone.
const GRAPH: &str = "
crossdock: 1
name: alone
topics:
  /image: { bounds: { data: 614400, header.frame_id: 64, encoding: 16 } }
  /made: { bounds: { header.frame_id: 64 } }
nodes:
  camera: { package: ends, type: camera, outputs: { image: /image } }
  node:
    package: autorace
    type: polyfit
    inputs: { view: /image }
    outputs: { lane: /made }
  sink: { package: ends, type: sink, inputs: { lane: /made } }
";

const PARTS: [&str; 12] = [
    "polyfit_view_take",
    "polyfit_lane_publish",
    "polyfit_messages",
    "frame_take",
    "frame_publish",
    "picture_check",
    "message_shell",
    "row_runs",
    "line_vote",
    "point_moments",
    "line_solve",
    "to_double",
];

/// The bounds of its input.
const VIEWS: Limits = Limits {
    bound: (VIEW_WIDTH * VIEW_HEIGHT) as u32,
    max_bytes: (VIEW_WIDTH * VIEW_HEIGHT) as u32,
    max_width: VIEW_WIDTH as u32,
    size: Some((VIEW_WIDTH as u32, VIEW_HEIGHT as u32)),
};

/// The node for views with so many bits in a beat.
fn design(gate: i64, bits: u32) -> Design {
    let limits = Limits { bound: 921_600, max_bytes: 921_600, max_width: 640, size: None };
    let modules = PARTS.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let design = node_design(board::package(limits), (GRAPH, MAPPING), "polyfit", &modules)
        .set("GATE", gate as u64);
    match bits {
        64 => design,
        bits => design.set("VIEW_BITS", bits.into()),
    }
}

fn simulation(gate: i64, bits: u32) -> Simulation {
    let bytes = bits / 8;
    let ports = format!(
        "#define NODE_INPUT s_axis_view\n#define NODE_OUTPUT m_axis_lane\n\
         #define NODE_PUBLISHER_ID lane_publisher_id\n#define NODE_STREAMS 0\n\
         #define NODE_INPUT_BYTES {bytes}\n#define NODE_MAX_BYTES 614400\n"
    );
    node_simulation(design(gate, bits), TESTBENCH, &ports)
}

/// The file of these frames for the testbench with what the software node publishes for them, and
/// how many that are; and in how many of these both lines, and at least one are valid.
fn file(sent: &[Sent], gate: i64) -> (PathBuf, u64, [usize; 2]) {
    let reason = |view: ImageView<'_>| Wrong::of(view, &[("mono8", 1)], VIEWS).first();
    let told = format!("{{ gate: {gate} }}");
    frames::of_lanes(sent, VIEWS, reason, ("polyfit", "view"), &told)
}

fn run((gate, bits): (i64, u32), vectors: &Path, options: &[&str]) -> Report {
    let vectors = vectors.to_str().expect("a path");
    must(simulation(gate, bits).run(&[&["--vectors", vectors], options].concat()))
}

/// The mark of a line in a view.
const WHITE: u8 = 1;
const YELLOW: u8 = 2;
const UNSEEN: u8 = 4;

/// Draws a line of chance beside a column: solid or dashed, noisy, of some width.
fn draw(view: &mut [u8], random: &mut Random, column: i64, mark: u8) {
    let curve = random.below(500) as i64 - 250;
    let slope = random.below(400) as i64 - 200;
    let column = column + random.below(120) as i64 - 60;
    let (first, last) = [(0, 960), (0, 960), (0, 400), (300, 700), (900, 940)][random.below(5)];
    let dash = [960, 960, 200, 60][random.below(4)];
    let (half, noise) = (1 + random.below(20) as i64, random.below(12));
    for s in first..last {
        if s % (2 * dash) >= dash {
            continue;
        }
        let at = s as i64;
        let middle = column + curve * at * at / 921_600 + slope * at / 960;
        let middle = middle + random.below(noise + 1) as i64;
        for x in middle - half..=middle + half {
            if (0..VIEW_WIDTH as i64).contains(&x) {
                view[(VIEW_HEIGHT - 1 - s) * VIEW_WIDTH + x as usize] |= mark;
            }
        }
    }
}

/// Draws a line into some rows, counted from below: its middle is this column, doubled.
fn put(view: &mut [u8], rows: impl Iterator<Item = usize>, mark: u8, column: impl Fn(f64) -> f64) {
    for s in rows {
        let middle = column(s as f64).round() as usize;
        let wide = 6 + (middle + 1) % 2;
        let at = (VIEW_HEIGHT - 1 - s) * VIEW_WIDTH + (middle + 1 - wide) / 2;
        view[at..at + wide].iter_mut().for_each(|it| *it |= mark);
    }
}

/// Doubled columns of a line: its base, slope and curvature.
fn line(base: f64, slope: f64, curve: f64) -> impl Fn(f64) -> f64 {
    move |s| 2.0 * (base + slope * s / 1024.0 + curve * s * s / 1_048_576.0)
}

/// A view of short straight lines, a lane's width from each other.
fn near(left: f64) -> Vec<u8> {
    let mut view = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
    put(&mut view, 0..151, YELLOW, line(left, 0.0, 0.0));
    put(&mut view, 0..151, WHITE, line(left + 320.0, 0.0, 0.0));
    view
}

/// Views on both sides of each limit of a node with a gate of 110: how long behind the one before,
/// and how many of its lines are valid.
fn at_limits() -> Vec<(i64, Vec<u8>, usize)> {
    const LONG: i64 = 2_000_000_000;
    const ALL: std::ops::Range<usize> = 0..VIEW_HEIGHT;
    let of = |draw: &dyn Fn(&mut [u8])| {
        let mut view = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
        draw(&mut view);
        view
    };
    // Lines that reach over 160 rows say their slope, those over 480 their curvature, if they have
    // 200 points. What a line does not say is a step of 32 of the search.
    let mut all: Vec<_> = [
        of(&|view| {
            put(view, 300..460, YELLOW, line(160.0, 100.0, 0.0));
            put(view, 300..461, WHITE, line(480.0, 100.0, 0.0));
        }),
        of(&|view| {
            put(view, 100..580, YELLOW, line(160.0, 0.0, 100.0));
            put(view, 100..581, WHITE, line(480.0, 0.0, 130.0));
        }),
        of(&|view| {
            put(view, (100..100 + 3 * 199).step_by(3), YELLOW, line(160.0, 0.0, 100.0));
            put(view, (100..100 + 3 * 200).step_by(3), WHITE, line(480.0, 0.0, 130.0));
        }),
    ]
    .map(|view| (LONG, view, 2))
    .into();
    // A lane is 208 to 480 wide, below and above.
    for (left, width, slope, valid) in [
        (216.0, 208.0, 0.0, 2),
        (216.0, 208.6, -2.8, 1),
        (216.0, 207.4, 2.8, 1),
        (80.0, 480.0, 0.0, 2),
        (80.0, 479.4, 2.8, 1),
        (80.0, 480.6, -2.8, 1),
    ] {
        let view = of(&|view| {
            put(view, ALL, YELLOW, line(left, 0.0, 0.0));
            put(view, ALL, WHITE, line(left + width, slope, 0.0));
        });
        all.push((LONG, view, valid));
    }
    // The search knows curvatures of 11 steps to either side and slopes of 8: 352 and 256.
    let right_bent = of(&|view| put(view, 480..950, YELLOW, line(56.0, 256.0, 384.0)));
    let left_bent = of(&|view| put(view, 480..950, WHITE, line(584.0, -256.0, -384.0)));
    all.extend([right_bent, left_bent].map(|view| (LONG, view, 1)));
    // From where lines are expected the gate reaches from column 50, and 370, on.
    let only = |mark, at| of(&|view: &mut [u8]| put(view, ALL, mark, line(at, 0.0, 0.0)));
    for left in [51.0, 48.0] {
        all.push((LONG, near(left), 2));
        all.extend([(LONG, only(WHITE, 480.0), 1), (40_000_000, near(left), 2)]);
    }
    // Beside a left line alone, a right one is expected, too.
    all.extend([(LONG, only(YELLOW, 160.0), 1), (40_000_000, near(160.0), 2)]);
    all
}

/// A view of chance: lines that may be a lane, spots, noise, places that are not seen.
fn view(random: &mut Random, number: usize) -> Fields {
    let mut data = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
    match number % 8 {
        // All bits of all pixels, in groups of all lengths.
        6 => {
            let mut value = 0;
            for byte in &mut data {
                if random.below(5) == 0 {
                    value = random.next() as u8;
                }
                *byte = value;
            }
        }
        7 => {}
        kind => {
            // Lines that are too near to each other are no lane: one of them has to go.
            let inward = if kind == 3 { 80 } else { 0 };
            if kind != 4 {
                draw(&mut data, random, 160 + inward, YELLOW);
            }
            if kind != 5 {
                draw(&mut data, random, 480 - inward, WHITE);
            }
            for _ in 0..random.below(40) {
                let (x, y) = (random.below(VIEW_WIDTH - 20), random.below(VIEW_HEIGHT - 20));
                let (mark, wide) = (1 << random.below(3), 1 + random.below(20));
                for row in y..y + 1 + random.below(20) {
                    data[row * VIEW_WIDTH + x..][..wide].iter_mut().for_each(|it| *it |= mark);
                }
            }
            for corner in 0..random.below(200) {
                data[(VIEW_HEIGHT - 1 - corner) * VIEW_WIDTH..][..200 - corner].fill(UNSEEN);
            }
        }
    }
    let mut fields = Fields::grey(VIEW_WIDTH, VIEW_HEIGHT, data);
    fields.frame_id = (0..random.below(65)).map(|_| random.next() as u8).collect();
    fields
}

/// Makes of a view what is none.
fn odd(mut fields: Fields, number: usize, random: &mut Random) -> Fields {
    match number % 9 {
        0 => fields.encoding = [&b"rgb8"[..], b"mono16", b"mono", b""][random.below(4)].to_vec(),
        1 => fields.step += 1,
        2 => fields.height += 1,
        3 => fields = Fields::grey(VIEW_WIDTH / 2, VIEW_HEIGHT * 2, fields.data),
        4 => {
            fields.data.pop();
        }
        5 => fields.data.clear(),
        6 => fields = Fields::grey(63, 47, fields.data[..63 * 47].to_vec()),
        // Above the bounds of its port.
        7 => fields.data.extend([0; 64]),
        _ => fields.frame_id = vec![b'f'; 65],
    }
    fields
}

/// Good views in the order of their time, mostly, and between them odd and damaged ones.
fn chance(seed: u64, count: usize) -> Vec<Sent> {
    let mut random = Random::new(seed);
    let (mut all, mut now) = (Vec::new(), 5_i64);
    for number in 0..count {
        let mut good = view(&mut random, number);
        // Lines that were found are too old in some views, and in some of the future.
        now += [40, 40, 100, 499, 500, 501, 2000, -300][random.below(8)] * 1_000_000;
        now += random.below(3) as i64 - 1;
        good.stamp = frames::stamp_of(now);
        all.push(frames::frame(&good, &mut random));
        let other = view(&mut random, number + 3);
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
    all
}

/// The file of views at the limits.
fn file_at_limits() -> PathBuf {
    let (mut random, mut now) = (Random::new(1), 0);
    let (mut sent, mut wanted) = (Vec::new(), [0, 0]);
    for (behind, data, valid) in at_limits() {
        now += behind;
        let view = Fields::grey(VIEW_WIDTH, VIEW_HEIGHT, data);
        sent.push(frames::frame(&Fields { stamp: frames::stamp_of(now), ..view }, &mut random));
        wanted[0] += usize::from(valid == 2);
        wanted[1] += usize::from(valid > 0);
    }
    let (path, _, found) = file(&sent, 110);
    assert_eq!(found, wanted, "views with both lines, and with one");
    path
}

#[test]
fn the_node_is_clean_under_all_warnings() {
    must(lint(&design(70, 64)));
    must(lint(&design(160, 64)));
    must(lint(&design(70, 128)));
}

#[test]
fn views_of_all_kinds_give_the_lanes_of_the_software_node() {
    let (path, published, [both, one]) = file(&chance(1, 24), 110);
    assert!(both >= 4 && one > both && published as usize > one, "{both} {one} {published}");
    for (bits, seed, stalls) in [(64, "1", "25"), (64, "2", "0"), (128, "3", "25"), (128, "4", "0")]
    {
        let report = run((110, bits), &path, &["--seed", seed, "--stalls", stalls]);
        assert_eq!(report.value("published"), published);
        assert_eq!(report.value("dropped"), 16, "{report:?}");
    }
}

#[test]
fn views_at_the_limits_give_the_lanes_of_the_software_node() {
    run((110, 128), &file_at_limits(), &["--seed", "1", "--stalls", "0"]);
}

/// Views of one time whose lines move away from where they are expected at first, until the first
/// of them are out of reach.
fn moving() -> PathBuf {
    let mut random = Random::new(1);
    let view = |left| Fields {
        stamp: frames::stamp_of(5),
        ..Fields::grey(VIEW_WIDTH, VIEW_HEIGHT, near(left))
    };
    let sent = [51.0, 150.0, 250.0].map(|left| frames::frame(&view(left), &mut random));
    let (path, _, found) = file(&sent, 110);
    assert_eq!(found, [3, 3]);
    path
}

#[test]
fn after_a_reset_the_node_expects_no_lines() {
    run((110, 128), &moving(), &["--seed", "4", "--stalls", "5", "--rounds", "2"]);
}

/// Views of pictures of a recording, by the software nodes with the parameters of this file.
fn recorded(bag: &Path, params: &str, stamps: &[i64]) -> (Vec<Fields>, i64) {
    let name = format!("params/{params}.yaml");
    let text = must(std::fs::read(workspace().join("apps/autorace").join(&name)));
    let shown = |all: Vec<crossdock_graph::Violation>| format!("{all:?}");
    let overrides = must(ParameterOverrides::from_yaml(&name, &text).map_err(shown));
    let pictures: Vec<Fields> = frames::recorded(bag, stamps);
    let mut blocks: Vec<FlatBuffer> = pictures.iter().map(Fields::block).collect();
    let planner = in_yaml(&overrides.nodes["planner"]);
    for (node, ports, told) in [
        ("image_compensation", ["image", "compensated"], "{}"),
        ("gaussian_blur", ["image", "blurred"], "{}"),
        ("lane_planner", ["image", "view"], &planner),
    ] {
        blocks = twin::published::<Image>(software(), node, ports, told, blocks);
    }
    let views = blocks.iter().zip(&pictures).map(|(block, picture)| {
        let view = must(Image::view(Block::new(block.as_slice())));
        let data = must(view.data()).to_vec();
        Fields { stamp: picture.stamp, ..Fields::grey(VIEW_WIDTH, VIEW_HEIGHT, data) }
    });
    let ParameterValue::Integer(gate) = overrides.nodes["polyfit"]["gate"] else {
        panic!("the gate is a number");
    };
    (views.collect(), gate)
}

/// Views of recordings: some, or all. Gives how many.
fn equals_its_twin_on_recordings(sparse: bool) -> u64 {
    let Some(data) = crossdock_test_support::data() else { return 0 };
    let mut random = Random::new(1);
    let mut total = 0;
    let bags: [(&str, &str); 4] = [
        ("driving/highway_a_25hz/highway_a_25hz.mcap", "highway"),
        ("autorace_sim/autorace_a_15hz/autorace_a_15hz.mcap", "autorace"),
        ("driving/highway_drive_1hz/highway_drive_1hz.mcap", "highway"),
        ("driving/white_lanes_25hz/white_lanes_25hz.mcap", "white_lanes"),
    ];
    for (bag, params) in bags.into_iter().take(if sparse { 2 } else { 4 }) {
        let bag = data.join(bag);
        let mut stamps = frames::stamps(&bag);
        if sparse {
            stamps.truncate(2);
        }
        // The testbench holds the frames of a file in memory. What was found last is expected in
        // the views of a file, and forgotten before the next one.
        for some in stamps.chunks(50) {
            let (views, gate) = recorded(&bag, params, some);
            let sent: Vec<_> = views.iter().map(|it| frames::frame(it, &mut random)).collect();
            let (path, published, [_, one]) = file(&sent, gate);
            assert!(one > 0, "{params}: no line in {published} views");
            for bits in [64, 128] {
                run((gate, bits), &path, &["--seed", "1", "--stalls", "2"]);
            }
            if !sparse {
                must(std::fs::remove_file(path));
            }
            total += published;
        }
    }
    total
}

#[test]
fn recorded_views_give_the_lanes_of_the_software_node() {
    equals_its_twin_on_recordings(true);
}

#[test]
#[ignore = "long: all pictures of recordings"]
fn all_recorded_views_give_the_lanes_of_the_software_node() {
    done(equals_its_twin_on_recordings(false), "lanes");
}

#[test]
fn a_lane_leaves_an_eighth_of_a_millisecond_after_its_view() {
    let mut random = Random::new(1);
    let mut data = vec![0; VIEW_WIDTH * VIEW_HEIGHT];
    for row in data.chunks_exact_mut(VIEW_WIDTH) {
        row[155..165].fill(YELLOW);
        row[475..485].fill(WHITE);
    }
    let view = Fields::grey(VIEW_WIDTH, VIEW_HEIGHT, data);
    let sent: Vec<_> = (0..3).map(|_| frames::frame(&view, &mut random)).collect();
    let (path, _, both) = file(&sent, 110);
    assert_eq!(both, [3, 3]);
    for (bits, beats) in [(64, sent[0].beats()), (128, sent[0].beats().div_ceil(2))] {
        let report = run((110, bits), &path, &["--seed", "1", "--stalls", "0"]);
        let behind = report.value("latency") - beats;
        assert!(behind < 12_500, "{behind} cycles behind the last beat, {bits} bit");
        assert!(report.value("period") < beats + 12_500, "{report:?}");
    }
}

/// Views at the limits have to show this one, views of chance the others.
const FAULT_OF_A_LIMIT: Mutation = Mutation {
    what: "short lines have to be longer to say their slope",
    file: "fit_lines.sv",
    from: "SlopeRows = 10'd160;",
    to: "SlopeRows = 10'd162;",
};
const FAULTS: [Mutation; 6] = [
    Mutation {
        what: "a line that is too old is expected",
        file: "fit_lines.sv",
        from: "wire                is_fresh = tracked && !age[63] && age <= TrackAge;",
        to: "wire                is_fresh = tracked && !age[63];",
    },
    Mutation {
        what: "the last rounds take points from further away",
        file: "fit_lines.sv",
        from: "(round == 2'd1) ? 6'd24 : 6'd16;",
        to: "6'd24;",
    },
    Mutation {
        what: "a curvature is never lent",
        file: "fit_lines.sv",
        from: "lent <= is_long[longer];",
        to: "lent <= 1'b0;",
    },
    Mutation {
        what: "the wrong one of two lines goes",
        file: "fit_lines.sv",
        from: "valid[fewer] <= 1'b0;",
        to: "valid[!fewer] <= 1'b0;",
    },
    Mutation {
        what: "a refused view leaves its points behind",
        file: "polyfit.sv",
        from: "    .clear(next),",
        to: "    .clear(next && made),",
    },
    Mutation {
        what: "pictures of another size are taken",
        file: "polyfit.sv",
        from: "    .WIDTH(640),\n    .HEIGHT(960)",
        to: "    .WIDTH(0),\n    .HEIGHT(0)",
    },
];

#[test]
#[ignore = "long: a simulator for each fault"]
fn faults_of_the_node_are_caught() {
    let (path, _, _) = file(&chance(1, 24), 110);
    let caught = |vectors: &Path, fault: &Mutation| {
        let vectors = vectors.to_str().expect("a path");
        let options = ["--vectors", vectors, "--seed", "1", "--stalls", "5"];
        must(simulation(110, 64).catches(fault, &options));
    };
    caught(&file_at_limits(), &FAULT_OF_A_LIMIT);
    FAULTS.iter().for_each(|fault| caught(&path, fault));
}

#[test]
#[ignore = "long: synthesis of a whole node"]
fn the_node_takes_no_more_area_than_its_budget() {
    must(area_within_budget(&design(110, 64)));
    must(area_within_budget(&design(110, 128)));
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_fit_are_found() {
    let (path, _, _) = file(&chance(1, 12), 10);
    let limits = file_at_limits();
    let runs = [&limits, &path]
        .map(|path| ["--vectors", path.to_str().expect("a path"), "--seed", "1", "--stalls", "5"]);
    let again = moving();
    let again = ["--vectors", again.to_str().expect("a path"), "--seed", "4", "--rounds", "2"];
    Mutants::of("fit_lines")
        .simulated(simulation(110, 64), &runs[0])
        .simulated(simulation(110, 64), &again)
        .simulated(simulation(10, 64), &runs[1])
        .are_found();
}
