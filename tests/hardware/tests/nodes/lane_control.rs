//! The hardware node of lane control against the software one, command by command.

use crate::board;
use crate::frames::{self, Limits, Random, Sent};
use crate::lane_planner::in_yaml;
use crate::picture_node::{node_design, node_simulation};
use crate::twin;
use crossdock_autorace::control_setup::control_setup_of;
use crossdock_autorace::messages::autorace_msgs::{Lane, TrafficLight};
use crossdock_graph::{HardwarePackage, ParameterValue};
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Design, Mutants, Mutation, Report, Simulation, lint, must};
use crossdock_msg::block::Text;
use crossdock_msg::frame::FramePlan;
use crossdock_msg::types::geometry_msgs::{TwistStamped, TwistStampedView};
use crossdock_msg::{Block, BlockMut, Extra, FlatBuffer, Message, Schema};
use crossdock_test_support::{done, workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A board with the node alone.
const GRAPH: &str = "
crossdock: 1
name: alone
topics:
  /lane: { bounds: { header.frame_id: 64 } }
  /red: { bounds: { header.frame_id: 64 } }
  /green: { bounds: { header.frame_id: 64 } }
  /made: { bounds: { header.frame_id: 64 } }
nodes:
  eyes: { package: ends, type: eyes, outputs: { lane: /lane, red: /red, green: /green } }
  node:
    package: autorace
    type: lane_control
    inputs: { lane: /lane, red: /red, green: /green }
    outputs: { command: /made }
    condition: { all_of: [lane, red, green], same: stamp }
  sink: { package: ends, type: sink, inputs: { command: /made } }
";
const MAPPING: &str = "
crossdock: 1
processes: { host: { executors: [ { mode: chain, nodes: [eyes, sink] } ] } }
fabrics: { board: { nodes: [node] } }
topics:
  /lane: { mapping: gateway }
  /red: { mapping: gateway }
  /green: { mapping: gateway }
  /made: { mapping: gateway }
";
const TESTBENCH: &str = "../apps/autorace/hardware/joined_node_tb.cpp";
const SETUP: &str = "lane_control_setup.sv";
const PARTS: [&str; 12] = [
    "lane_control_lane_take",
    "lane_control_red_take",
    "lane_control_green_take",
    "lane_control_command_publish",
    "lane_control_messages",
    "frame_take",
    "frame_publish",
    "message_shell",
    "stamp_join",
    "from_double",
    "serial_math",
    "to_double",
];

/// What the node is made with.
#[derive(Clone, Copy)]
struct Vehicle {
    /// Values in place of those of the package file.
    values: &'static [(&'static str, f64)],
    blind_images: u64,
}

/// As shipped, on the closed course.
const COURSE: Vehicle = Vehicle { values: &[], blind_images: 10 };
/// As in `highway.graph.yaml`.
const HIGHWAY: Vehicle = Vehicle {
    values: &[
        ("metres_per_column", 0.0116),
        ("near_m", 8.0),
        ("far_m", 38.0),
        ("look_ahead_m", 20.0),
        ("linear_max", 25.0),
        ("angular_max", 0.5),
        ("slowing", 10.0),
    ],
    blind_images: 10,
};
/// It looks at what is nearer than the view, and so near that curvatures meet their limit of 256/m.
/// It turns slowly, and stops soon without a lane.
const NEAR: Vehicle = Vehicle {
    values: &[
        ("metres_per_column", 0.0001),
        ("near_m", 0.003),
        ("far_m", 0.005),
        ("look_ahead_m", 0.002),
        ("angular_max", 0.43),
        ("slowing", 0.5),
    ],
    blind_images: 1,
};

impl Vehicle {
    fn package(self) -> HardwarePackage {
        let limits = Limits { bound: 921_600, max_bytes: 921_600, max_width: 640, size: None };
        let mut package = board::package(limits);
        let node = package.nodes.iter_mut().find(|it| it.description.node_type == "lane_control");
        let built_in = &mut node.expect("the node type").built_in;
        for (name, value) in self.values {
            built_in.insert((*name).to_owned(), ParameterValue::Double(*value));
        }
        package
    }

    /// The parameters of the software node.
    fn told(self) -> String {
        let package = self.package();
        let values = &package.node_type("lane_control").expect("the node type").built_in;
        let blind = format!("{{ blind_images: {}, ", self.blind_images);
        in_yaml(values).replacen("{ ", &blind, 1)
    }

    fn design(self) -> Design {
        let modules = PARTS.map(str::to_owned);
        let design = node_design(self.package(), (GRAPH, MAPPING), "lane_control", &modules);
        let design = design.with_source(SETUP, &must(control_setup_of(&self.package())));
        let design = design.set("BLIND_IMAGES", self.blind_images);
        // What is made with other values has another name.
        if self.values.is_empty() { design } else { design.set("STOP_AREA", 3000) }
    }

    fn simulation(self) -> Simulation {
        let ports = "#define NODE_INPUTS(of) of(s_axis_lane) of(s_axis_red) of(s_axis_green)\n\
                     #define NODE_OUTPUT m_axis_command\n\
                     #define NODE_PUBLISHER_ID command_publisher_id\n";
        node_simulation(self.design(), TESTBENCH, ports)
    }

    fn run(self, vectors: &Path, options: &[&str]) -> Report {
        let vectors = vectors.to_str().expect("a path");
        must(self.simulation().run(&[&["--vectors", vectors], options].concat()))
    }

    /// The file of these frames for the testbench with what the software node publishes for them,
    /// and its commands.
    fn file(self, sent: &[Vec<Sent>; 3]) -> (PathBuf, Vec<(f64, f64)>) {
        let plans = [plan::<Lane>(64), plan::<TrafficLight>(64), plan::<TrafficLight>(64)];
        let mut messages: Vec<_> = (sent.iter().zip(&plans).enumerate())
            .flat_map(|(topic, (sent, plan))| {
                let messages = frames::messages(sent, plan).into_iter().flatten();
                messages.map(move |(header, block)| (stamp(topic, &block), topic, header, block))
            })
            .collect();
        // The software gets them in the order of their time. A stamp of the future has its turn.
        messages.sort_by_key(|(stamp, topic, ..)| (*stamp, *topic));
        let stamps = [0, 1, 2].map(|topic| {
            let of_topic = messages.iter().filter(|it| it.1 == topic);
            of_topic.map(|it| it.0).collect::<BTreeSet<_>>()
        });
        let is_whole = |stamp: &(i32, u32)| stamps.iter().all(|it| it.contains(stamp));
        let lanes = messages.iter().filter(|it| it.1 == 0 && is_whole(&it.0));
        let headers: Vec<_> = lanes.map(|it| it.2).collect();
        let blocks = messages.into_iter().map(|(_, topic, _, block)| (topic, block)).collect();
        let commands = twin::commands(&self.told(), blocks);
        assert_eq!(commands.len(), headers.len(), "one command for each set");
        let plan = plan::<TwistStamped>(64);
        let expected = headers.iter().zip(&commands);
        let expected: Vec<Vec<u8>> =
            expected.map(|(header, block)| frames::published(header, block, &plan)).collect();
        let commands = commands.iter().map(|block| {
            let view: TwistStampedView<'_> = must(TwistStamped::view(Block::new(block.as_slice())));
            (view.twist().linear().x(), view.twist().angular().z())
        });
        // What is published is made of one of each input.
        let count: usize = sent.iter().map(Vec::len).sum();
        let dropped = count - sent.len() * expected.len();
        let inputs: Vec<Vec<_>> =
            sent.iter().map(|it| it.iter().map(Into::into).collect()).collect();
        (frames::written_joined(&inputs, (dropped, &[]), &expected), commands.collect())
    }
}

pub(crate) fn plan<M: Message>(frame_id: u32) -> FramePlan {
    let bounds = BTreeMap::from([("header.frame_id".to_owned(), frame_id)]);
    must(FramePlan::new(&must(Schema::of::<M>()), &bounds))
}

/// The stamp of a message: of a lane (0) or a light.
fn stamp(topic: usize, block: &FlatBuffer) -> (i32, u32) {
    let block = Block::new(block.as_slice());
    let stamp = match topic {
        0 => must(Lane::view(block)).header().stamp(),
        _ => must(TrafficLight::view(block)).header().stamp(),
    };
    (stamp.sec(), stamp.nanosec())
}

fn framed(topic: usize, block: &FlatBuffer, random: &mut Random) -> Sent {
    let plan = if topic == 0 { plan::<Lane>(4096) } else { plan::<TrafficLight>(4096) };
    frames::framed(block, &plan, random)
}

type Stamp = (i32, u32);

fn lane(stamp: Stamp, frame: &[u8], valid: [bool; 2], lines: [[f64; 3]; 2]) -> FlatBuffer {
    let extra = Extra::none().text(frame.len());
    let mut memory = FlatBuffer::with_bytes(Lane::ROOT_BYTES + extra.total());
    let mut top = 0;
    let mut to = Lane::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    to.header().stamp().set_sec(stamp.0);
    to.header().stamp().set_nanosec(stamp.1);
    must(to.header().set_frame_id_text(Text::new(frame)));
    to.set_left_valid(valid[0]);
    to.set_right_valid(valid[1]);
    to.set_left(&lines[0]);
    to.set_right(&lines[1]);
    memory
}

/// The message of a lamp.
pub(crate) fn light(
    stamp: Stamp,
    frame: &[u8],
    state: u8,
    area: u32,
    bounds: [i32; 4],
) -> FlatBuffer {
    let extra = Extra::none().text(frame.len());
    let mut memory = FlatBuffer::with_bytes(TrafficLight::ROOT_BYTES + extra.total());
    let mut top = 0;
    let mut to = TrafficLight::builder(BlockMut::new(memory.as_mut_slice(), &mut top));
    to.header().stamp().set_sec(stamp.0);
    to.header().stamp().set_nanosec(stamp.1);
    must(to.header().set_frame_id_text(Text::new(frame)));
    to.set_state(state);
    to.set_area(area);
    to.set_box(&bounds);
    memory
}

/// A coefficient of chance: mostly about as large as in a lane, else anything that 64 bits can say.
fn coefficient(random: &mut Random, about: f64, spread: usize) -> f64 {
    let near = about + random.below(2 * spread) as f64 - spread as f64;
    let part = random.below(1 << 17) as f64;
    match random.below(24) {
        0 => f64::from_bits(random.next()),
        1 => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0][random.below(4)],
        2 => [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324][random.below(4)],
        // Halves of what a coefficient is rounded to, and what is just beside them.
        3 => near.trunc() + (part + 0.5) / 65_536.0,
        4 => (near.trunc() + (part + 0.5) / 65_536.0).next_down(),
        // The largest ones.
        5 => (if near > about { 32_768.0 } else { -32_768.0 }) + (part - 65_536.0) / 65_536.0,
        _ => near + part / 131_072.0,
    }
}

/// A message of chance with this stamp for a topic; `room` bytes of its frame at most.
fn message(topic: usize, stamp: Stamp, room: usize, random: &mut Random) -> FlatBuffer {
    let frame: Vec<u8> = (0..random.below(room + 1)).map(|_| random.next() as u8).collect();
    if topic == 0 {
        let valid = [random.below(4) > 0, random.below(4) > 0];
        let both = random.below(5) > 0;
        let mut line = |column| {
            let mut of = |about, spread| coefficient(random, about, spread);
            [of(0.0, 250), of(0.0, 200), of(column, 120)]
        };
        let lines = [line(160.0), line(480.0)];
        return self::lane(stamp, &frame, valid.map(|it| it && both), lines);
    }
    let state = [0, 0, 1, 1, 2, 2, 3, 255][random.below(8)];
    let area = [0, 2999, 3000, 3001, u32::MAX, random.next() as u32][random.below(6)];
    light(stamp, &frame, state, area, [(); 4].map(|()| random.next() as i32))
}

/// Frames of the three topics with rising stamps; some are missing, damaged or too long.
fn chance(seed: u64, count: usize) -> [Vec<Sent>; 3] {
    let mut random = Random::new(seed);
    let mut sent = [const { Vec::new() }; 3];
    let mut missing = [0; 3];
    let (mut sec, mut nanosec) = (-3_i32, 5_u32);
    for number in 0..count {
        match random.below(8) {
            0 => (sec, nanosec) = (sec + 1, random.next() as u32),
            _ => match nanosec.checked_add(1 + random.below(1000) as u32) {
                Some(next) => nanosec = next,
                None => (sec, nanosec) = (sec + 1, 0),
            },
        }
        for topic in 0..3 {
            let stamp = (sec, nanosec);
            // The last set is whole. More than three in a row would make a stamp of the future of
            // what comes behind.
            let kind =
                if missing[topic] == 3 || number + 1 == count { 9 } else { random.below(10) };
            missing[topic] = if kind < 3 { missing[topic] + 1 } else { 0 };
            let mut good = message(topic, stamp, 64, &mut random);
            match kind {
                0 => continue,
                1 => {
                    let frame = framed(topic, &good, &mut random);
                    sent[topic].push(frames::damage(frame, number, &mut random));
                    continue;
                }
                // Above its bound.
                2 => {
                    good = match topic {
                        0 => lane(stamp, &[b'f'; 65], [true; 2], [[0.0; 3]; 2]),
                        _ => light(stamp, &[b'f'; 65], 1, 4000, [0; 4]),
                    }
                }
                _ => {}
            }
            sent[topic].push(framed(topic, &good, &mut random));
        }
    }
    sent
}

#[test]
fn what_is_shipped_is_made_of_the_values_in_the_package_file() {
    let path = workspace().join("apps/autorace/hardware/lane_control").join(SETUP);
    let shipped = must(std::fs::read_to_string(path));
    let made = must(control_setup_of(&COURSE.package()));
    assert!(
        made == shipped,
        "make it anew: crossdock-autorace control-setup apps/autorace/hardware/autorace.hardware.yaml \
         -o apps/autorace/hardware/lane_control/{SETUP}"
    );
}

#[test]
fn the_node_is_clean_under_all_warnings() {
    for vehicle in [COURSE, NEAR] {
        must(lint(&vehicle.design()));
    }
}

#[test]
fn messages_of_all_kinds_give_the_commands_of_the_software_node() {
    for vehicle in [COURSE, NEAR] {
        let sent = chance(1, 600);
        let (path, commands) = vehicle.file(&sent);
        let is_moving = |it: &&(f64, f64)| it.0 > 0.0;
        let moving = commands.iter().filter(is_moving).count();
        let turns = |sign: f64| commands.iter().filter(|it| it.1 * sign > 0.0).count();
        assert!(moving > 40 && commands.len() - moving > 40, "{moving} of {}", commands.len());
        assert!(turns(1.0) > 10 && turns(-1.0) > 10, "{commands:?}");
        for (seed, stalls) in [("1", "30"), ("2", "0")] {
            let report = vehicle.run(&path, &["--seed", seed, "--stalls", stalls]);
            assert_eq!(report.value("published"), commands.len() as u64);
            assert!(report.value("dropped") > 300, "{report:?}");
        }
    }
}

#[test]
fn after_a_reset_the_node_begins_anew() {
    let (path, _) = COURSE.file(&chance(2, 60));
    COURSE.run(&path, &["--seed", "3", "--stalls", "10", "--resets", "5"]);
}

#[test]
fn a_stamp_of_the_future_costs_some_commands_and_no_more() {
    let mut random = Random::new(1);
    let mut sent = [const { Vec::new() }; 3];
    let mut put = |topic: usize, stamp| {
        let message = message(topic, stamp, 8, &mut random);
        sent[topic].push(framed(topic, &message, &mut random));
    };
    for number in 0..30 {
        for topic in 0..3 {
            let stamp = (100 + number, 0);
            // In the middle a lane leaps ahead, and then some are missing.
            match (topic, number) {
                (0, 10) => put(topic, (5000, 0)),
                (0, 11..16) => {}
                _ => put(topic, stamp),
            }
        }
    }
    let (path, commands) = COURSE.file(&sent);
    assert_eq!(commands.len(), 24);
    for (seed, stalls) in [("1", "30"), ("2", "0")] {
        // None of the topics may be silent: a stamp of the future waits for the next one.
        let options = ["--seed", seed, "--stalls", stalls, "--silence", "0"];
        COURSE.run(&path, &options);
    }
}

/// Pictures of recordings: some, or all, as the driving graph sees them. Gives how many.
fn equals_its_twin_on_recordings(sparse: bool) -> u64 {
    let Some(data) = crossdock_test_support::data() else { return 0 };
    let mut random = Random::new(1);
    let mut total = 0;
    let bags: [(&str, &str, Vehicle); 4] = [
        ("autorace_sim/autorace_a_15hz/autorace_a_15hz.mcap", "autorace", COURSE),
        ("driving/highway_a_25hz/highway_a_25hz.mcap", "highway", HIGHWAY),
        ("driving/highway_drive_1hz/highway_drive_1hz.mcap", "highway", HIGHWAY),
        ("driving/white_lanes_25hz/white_lanes_25hz.mcap", "white_lanes", HIGHWAY),
    ];
    for (bag, params, vehicle) in bags.into_iter().take(if sparse { 1 } else { 4 }) {
        let bag = data.join(bag);
        let mut stamps = frames::stamps(&bag);
        if sparse {
            stamps.truncate(4);
        }
        // Pictures take much memory. What was found last is forgotten before the next ones.
        for some in stamps.chunks(100) {
            let pictures = frames::recorded(&bag, some);
            let pictures = pictures.iter().map(frames::Fields::block).collect();
            let [lanes, reds, greens, commands] = twin::driven(params, pictures);
            let sent = [lanes, reds, greens];
            assert!(sent.iter().all(|it| it.len() == some.len()), "a message for each picture");
            let mut topic = 0..;
            let sent = sent.map(|blocks| {
                let topic = topic.next().expect("a topic");
                blocks.iter().map(|it| framed(topic, it, &mut random)).collect::<Vec<_>>()
            });
            // The twin alone does what it does in the graph.
            let (path, alone) = vehicle.file(&sent);
            assert_eq!(alone.len(), commands.len());
            for (block, (linear, angular)) in commands.iter().zip(alone) {
                let view = must(TwistStamped::view(Block::new(block.as_slice())));
                let found = (view.twist().linear().x(), view.twist().angular().z());
                assert_eq!(found, (linear, angular), "{params}");
            }
            vehicle.run(&path, &["--seed", "1", "--stalls", "5"]);
            must(std::fs::remove_file(path));
            total += some.len() as u64;
        }
    }
    total
}

#[test]
fn recorded_pictures_give_the_commands_of_the_software_node() {
    equals_its_twin_on_recordings(true);
}

#[test]
#[ignore = "long: all pictures of recordings"]
fn all_recorded_pictures_give_the_commands_of_the_software_node() {
    done(equals_its_twin_on_recordings(false), "commands");
}

#[test]
fn a_command_leaves_seven_microseconds_after_the_last_of_three_messages() {
    let mut random = Random::new(1);
    let lines = [[-110.5, -6.25, 170.0], [-100.0, -45.5, 487.125]];
    let sent = [0, 1, 2].map(|topic| {
        let messages = (0..3).map(|number| match topic {
            0 => lane((number, 0), b"camera", [true; 2], lines),
            _ => light((number, 0), b"camera", 0, 0, [0; 4]),
        });
        messages.map(|it| framed(topic, &it, &mut random)).collect::<Vec<_>>()
    });
    let (path, _) = COURSE.file(&sent);
    let report = COURSE.run(&path, &["--seed", "1", "--stalls", "0"]);
    assert!(report.value("latency") < 700 && report.value("period") < 710, "{report:?}");
}

const FAULTS: [Mutation; 9] = [
    Mutation {
        what: "curvatures above four per metre are cut",
        file: "follow_lane.sv",
        from: "CurvatureMost = Width'(1) << 28;",
        to: "CurvatureMost = Width'(1) << 22;",
    },
    Mutation {
        what: "messages of any stamps are a set",
        file: "stamp_join.sv",
        from: "assign m_valid = is_complete && is_older == '0;",
        to: "assign m_valid = is_complete;",
    },
    Mutation {
        what: "what fails is not told",
        file: "stamp_join.sv",
        from: "3'(passed[i] || s_failed[i]);",
        to: "3'(passed[i]);",
    },
    Mutation {
        what: "a blind vehicle goes on an image too long",
        file: "follow_lane.sv",
        from: "blind_now > 32'(BLIND_IMAGES);",
        to: "blind > 32'(BLIND_IMAGES);",
    },
    Mutation {
        what: "green wins over red",
        file: "follow_lane.sv",
        from: "wire         stops = red_is_near || (stopped && !green_is_shown);",
        to: "wire         stops = (red_is_near || stopped) && !green_is_shown;",
    },
    Mutation {
        what: "the curvature of a stopped vehicle stays as it was",
        file: "follow_lane.sv",
        from: "state <= sees ? Parts : stands ? Tell : Slow;",
        to: "state <= stands ? Tell : sees ? Parts : Slow;",
    },
    Mutation {
        what: "halves are rounded down",
        file: "serial_math.sv",
        from: "WIDTH'(({1'b0, made} + 1'b1) >> 1)",
        to: "WIDTH'({1'b0, made} >> 1)",
    },
    Mutation {
        what: "what is no number is the largest",
        file: "from_double.sv",
        from: "over <= is_large && !is_none;",
        to: "over <= is_large;",
    },
    Mutation {
        what: "the turn rate has no limit",
        file: "follow_lane.sv",
        from: "40'((rate > AngularMax) ? AngularMax : rate);",
        to: "40'(rate);",
    },
];

#[test]
#[ignore = "long: a simulator for each fault"]
fn faults_of_the_node_are_caught() {
    let (path, _) = NEAR.file(&chance(1, 600));
    let vectors = path.to_str().expect("a path");
    for fault in &FAULTS {
        let options = ["--vectors", vectors, "--seed", "1", "--stalls", "30"];
        must(NEAR.simulation().catches(fault, &options));
    }
}

#[test]
#[ignore = "long: synthesis of a whole node"]
fn the_node_takes_no_more_area_than_its_budget() {
    must(area_within_budget(&COURSE.design()));
}

const HARMLESS: [(&str, &str); 2] = [
    (
        "follow_lane.sv: `wire [Width-1:0]         offset = (size_of(aside_8) > Width'(OffsetMost)) ? \
         Width'(OffsetMost)`: `>` becomes `>=`",
        "an offset of the limit is itself",
    ),
    (
        "follow_lane.sv: `b = '0;`: `'0` becomes `'1`",
        "only the square root leaves it so, and has no second operand",
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_control_are_found() {
    let vectors = [COURSE, NEAR].map(|it| (it, it.file(&chance(1, 600)).0));
    let all = vectors.iter().fold(Mutants::of("follow_lane"), |all, (vehicle, path)| {
        let options =
            ["--vectors", path.to_str().expect("a path"), "--seed", "1", "--stalls", "30"];
        all.simulated(vehicle.simulation(), &options)
    });
    all.but(&HARMLESS).are_found();
}
