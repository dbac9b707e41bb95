//! The hardware nodes of the red and the green light against the software ones, image by image.

use crate::board;
use crate::frames::{self, Fields, InOrder, Limits, Random, Sent};
use crate::lane_control::{light, plan};
use crate::lane_planner::in_yaml;
use crate::picture_node::{node_design, node_simulation};
use crate::twin;
use crossdock_autorace::light_setup::{green_light_setup_of, red_light_setup_of};
use crossdock_autorace::messages::autorace_msgs::TrafficLight;
use crossdock_autorace::nodes::package as software;
use crossdock_graph::{HardwarePackage, ParameterValue};
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Design, Mutants, Mutation, Report, Simulation, lint, must};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Block, FlatBuffer, Message};
use crossdock_test_support::{done, workspace};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// A board with the node alone.
const GRAPH: &str = "
crossdock: 1
name: alone
topics:
  /image: { bounds: { data: 921600, header.frame_id: 64, encoding: 16 } }
  /other: { bounds: { header.frame_id: 64 } }
  /light: { bounds: { header.frame_id: 64 } }
nodes:
  eyes: { package: ends, type: eyes, outputs: { image: /image, other: /other } }
  node:
    package: autorace
    type: NODE
    inputs: { image: /image, other: { topic: /other, trigger: false } }
    outputs: { light: /light }
  sink: { package: ends, type: sink, inputs: { light: /light } }
";
const MAPPING: &str = "
crossdock: 1
processes: { host: { executors: [ { mode: chain, nodes: [eyes, sink] } ] } }
fabrics: { board: { nodes: [node] } }
topics:
  /image: { mapping: gateway }
  /other: { mapping: gateway }
  /light: { mapping: gateway }
";
const TESTBENCH: &str = "../apps/autorace/hardware/joined_node_tb.cpp";
const PARTS: [&str; 9] = [
    "frame_take",
    "frame_publish",
    "picture_check",
    "message_shell",
    "pixel_gear",
    "pixel_hsv",
    "mark_runs",
    "run_patches",
    "margin_count",
];

/// A node as it is made.
#[derive(Clone, Copy)]
pub(crate) struct Eye {
    node: &'static str,
    size: (u32, u32),
    area_min: u32,
    /// `None`: as shipped, more than a small picture has.
    area_max: Option<u32>,
    /// Values in place of those of the package file.
    values: &'static [(&'static str, f64)],
}

/// As shipped.
const RED: Eye =
    Eye { node: "red_light", size: (640, 480), area_min: 40, area_max: None, values: &[] };
const GREEN: Eye = Eye { node: "green_light", ..RED };
/// A small picture: every tenth pixel of the camera's.
pub(crate) const SMALL_RED: Eye =
    Eye { size: (64, 48), area_min: 5, area_max: Some(SMALL_AREA), ..RED };
const SMALL_AREA: u32 = 120;
/// It needs no housing, searches everything, and takes what fills less of its box.
const SMALL_GREEN: Eye = Eye {
    values: &[("housing", 0.0), ("rows", 1.0), ("fill", 0.2), ("aspect_max", 1.5)],
    node: "green_light",
    ..SMALL_RED
};

impl Eye {
    /// The colour of a lamp.
    fn near(self) -> Pixel {
        if self.node == "red_light" { [230, 30, 20] } else { [10, 190, 60] }
    }

    fn limits(self) -> Limits {
        let max_bytes = self.size.0 * self.size.1 * 3;
        Limits { bound: 921_600, max_bytes, max_width: 1 << 20, size: Some(self.size) }
    }

    fn package(self) -> HardwarePackage {
        let limits = Limits { bound: 921_600, max_bytes: 921_600, max_width: 640, size: None };
        let mut package = board::package(limits);
        let node = package.nodes.iter_mut().find(|it| it.description.node_type == self.node);
        let built_in = &mut node.expect("the node type").built_in;
        for (name, value) in self.values {
            built_in.insert((*name).to_owned(), ParameterValue::Double(*value));
        }
        package
    }

    /// The file of what it is made with.
    fn setup(self) -> (String, String) {
        let package = self.package();
        let text = match self.node {
            "red_light" => red_light_setup_of(&package),
            _ => green_light_setup_of(&package),
        };
        (format!("{}_setup.sv", self.node), must(text))
    }

    /// The parameters of the software node.
    fn told(self) -> String {
        let package = self.package();
        let values = &package.node_type(self.node).expect("the node type").built_in;
        let most = self.area_max.map(|most| format!("area_max: {most}, ")).unwrap_or_default();
        in_yaml(values).replacen("{ ", &format!("{{ area_min: {}, {most}", self.area_min), 1)
    }

    fn design(self) -> Design {
        let node = self.node;
        let adapters = ["image_take", "other_take", "light_publish", "messages"];
        let adapters = adapters.iter().map(|it| format!("{node}_{it}"));
        let modules: Vec<String> = adapters.chain(PARTS.map(str::to_owned)).collect();
        let graph = GRAPH.replace("NODE", node);
        let design = node_design(self.package(), (&graph, MAPPING), node, &modules);
        let (name, text) = self.setup();
        let design = design.with_source(&name, &text);
        let design = design.set("AREA_MIN", self.area_min.into());
        let most = self.area_max.into_iter();
        let design = most.fold(design, |design, most| design.set("AREA_MAX", most.into()));
        design.set("WIDTH", self.size.0.into()).set("HEIGHT", self.size.1.into())
    }

    fn simulation(self) -> Simulation {
        let ports = "#define NODE_INPUTS(of) of(s_axis_image) of(s_axis_other)\n\
                     #define NODE_OUTPUT m_axis_light\n\
                     #define NODE_PUBLISHER_ID light_publisher_id\n\
                     #define NODE_REASON(dut) (dut).refused\n";
        node_simulation(self.design(), TESTBENCH, ports)
    }

    fn run(self, vectors: &Path, options: &[&str]) -> Report {
        let vectors = vectors.to_str().expect("a path");
        // Counting every pixel round some patches of a picture.
        let longest = ["--longest", "600000"];
        must(self.simulation().run(&[&["--vectors", vectors], options, &longest].concat()))
    }

    /// The file of images (0) and lights of the other node (1) in this order for the testbench with
    /// what the software node publishes for them, and its lights.
    fn file(self, all: &[(usize, Sent)]) -> (PathBuf, Vec<FlatBuffer>) {
        let (images, lights) = (self.limits().plan(), plan::<TrafficLight>(64));
        let reason_of = |block: &FlatBuffer| {
            frames::reason_of_rgb(must(Image::view(Block::new(block.as_slice()))), self.limits())
        };
        let (mut inputs, mut others, mut results) = ([const { Vec::new() }; 2], 0, 0);
        let (mut headers, mut told) = (Vec::new(), VecDeque::new());
        let (mut dropped, mut reasons) = (0, Vec::new());
        for (index, (input, sent)) in all.iter().enumerate() {
            let plan = if *input == 0 { &images } else { &lights };
            let message = frames::messages(std::slice::from_ref(sent), plan).pop().flatten();
            let picture = message.as_ref().filter(|_| *input == 0);
            let reason = picture.map(|(_, block)| reason_of(block)).filter(|reason| *reason != 0);
            reasons.extend(reason);
            let message = message.filter(|_| reason.is_none());
            let mut frame = InOrder::from(sent);
            if *input == 0 {
                // The last one may come while the image does.
                frame.after = others - u32::from(others > 0 && index % 2 == 0);
            } else {
                frame.behind = results;
                others += 1;
            }
            inputs[*input].push(frame);
            match message {
                Some((header, block)) => {
                    told.push_back((*input, block));
                    if *input == 0 {
                        headers.push(header);
                        results += 1;
                    }
                }
                None => {
                    dropped += 1;
                    results += 1;
                }
            }
        }
        let found = twin::lights(self.node, &self.told(), told);
        assert_eq!(found.len(), headers.len(), "one light for each picture");
        let expected = headers.iter().zip(&found);
        let expected: Vec<Vec<u8>> =
            expected.map(|(header, block)| frames::published(header, block, &lights)).collect();
        (frames::written_joined(&inputs, (dropped, &reasons), &expected), found)
    }
}

/// What a light shows, and its area.
fn shown(block: &FlatBuffer) -> (u8, u32) {
    let view = must(TrafficLight::view(Block::new(block.as_slice())));
    (view.state(), view.area())
}

fn lit(lights: &[FlatBuffer]) -> usize {
    lights.iter().filter(|it| shown(it).0 != 0).count()
}

type Pixel = [u8; 3];

/// A lamp of chance, or something like one: a disc, a ring, a bar, arms that meet below, stairs,
/// with a housing or without.
fn draw(picture: &mut Fields, random: &mut Random, colour: Pixel) {
    let (width, height) = (picture.width as i32, picture.height as i32);
    let (x0, y0) = (random.below(width as usize) as i32, random.below(height as usize) as i32);
    let mut mark = |x: i32, y: i32, colour: Pixel| {
        if (0..width).contains(&x) && (0..height).contains(&y) {
            picture.data[((y * width + x) * 3) as usize..][..3].copy_from_slice(&colour);
        }
    };
    let (w, h) = (1 + random.below(14) as i32, 1 + random.below(14) as i32);
    let around = [0, 1, 2, 4, 9][random.below(5)];
    for (y, x) in (-around..h + around).flat_map(|y| (-around..w + around).map(move |x| (y, x))) {
        if random.below(8) > 0 {
            mark(x0 + x, y0 + y, [30, 35, 25]);
        }
    }
    let kind = random.below(6);
    for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
        let (dx, dy) = (2 * x - w + 1, 2 * y - h + 1);
        let round = dx * dx * h * h + dy * dy * w * w;
        let is_marked = match kind {
            0 | 1 => round <= w * w * h * h,
            2 => round <= w * w * h * h && round * 3 > w * w * h * h,
            3 => x % 3 == 0 || y == h - 1,
            4 => (x + 3 * y) % 5 < 3,
            _ => true,
        };
        if is_marked && random.below(40) > 0 {
            mark(x0 + x, y0 + y, colour);
        }
    }
}

/// A picture of chance with colours near those of a lamp.
fn picture(eye: Eye, random: &mut Random, number: usize) -> Fields {
    let (width, height) = (eye.size.0 as usize, eye.size.1 as usize);
    let ground = [20, 90, 110, 111, 140, 200][random.below(6)];
    let noisy = random.below(30);
    let near = eye.near();
    let colour = |random: &mut Random| {
        near.map(|level| (i32::from(level) + random.below(2 * 24) as i32 - 24).clamp(0, 255) as u8)
    };
    let mut picture = Fields::picture(width, height, vec![ground; width * height * 3]);
    for pixel in picture.data.chunks_exact_mut(3) {
        if random.below(100) < noisy {
            pixel.copy_from_slice(&colour(random));
        }
    }
    // A board of squares: all runs that there may be.
    if number % 16 == 7 {
        for (at, pixel) in picture.data.chunks_exact_mut(3).enumerate() {
            if (at % width + at / width) % 2 == 0 {
                pixel.copy_from_slice(&near);
            }
        }
    }
    // Now and then it is dark: long enough for a lamp to be gone, and for a new start.
    let is_dark = [20..30, 36..60, 95..105].iter().any(|it| it.contains(&(number % 150)));
    if is_dark {
        picture.data.fill(ground);
    }
    for _ in 0..if is_dark { 0 } else { random.below(7) } {
        let colour = colour(random);
        draw(&mut picture, random, colour);
    }
    // One whose last pixel is the picture's: it is there when nothing more comes.
    if number % 16 == 11 {
        for row in height - 6..height {
            let from = (row * width + width - 6) * 3;
            picture.data[from..from + 18]
                .chunks_exact_mut(3)
                .for_each(|it| it.copy_from_slice(&near));
        }
    }
    picture.frame_id = (0..random.below(65)).map(|_| random.next() as u8).collect();
    picture
}

/// A picture with a patch of so many pixels that touches all sides of its box, and so many dark
/// pixels close to the box; `None`: all are dark.
fn patch(eye: Eye, (wide, high): (usize, usize), area: usize, dark: Option<usize>) -> Fields {
    let (width, height) = (eye.size.0 as usize, eye.size.1 as usize);
    let (left, top) = (20, 8);
    let ground = if dark.is_some() { 200 } else { 20 };
    let mut picture = Fields::picture(width, height, vec![ground; width * height * 3]);
    let mut mark = |(x, y): (usize, usize), colour: Pixel| {
        picture.data[(y * width + x) * 3..][..3].copy_from_slice(&colour);
    };
    let inside = (0..high).flat_map(|y| (0..wide).map(move |x| (x, y)));
    let (sides, others): (Vec<_>, Vec<_>) = inside.partition(|(x, y)| *x == 0 || *y == high - 1);
    for (x, y) in sides.into_iter().chain(others).take(area) {
        mark((left + x, top + y), eye.near());
    }
    let near = (top - 1..=top + high).flat_map(|y| (left - 1..=left + wide).map(move |x| (x, y)));
    let is_inside = |x, y| (left..left + wide).contains(&x) && (top..top + high).contains(&y);
    for at in near.filter(|(x, y)| !is_inside(*x, *y)).take(dark.unwrap_or(0)) {
        mark(at, [20; 3]);
    }
    picture
}

/// Pictures on both sides of each limit of a small eye, and whether they show a lamp.
fn at_limits(eye: Eye) -> Vec<(Fields, bool)> {
    let most = SMALL_AREA as usize;
    let mut all = vec![((2, 2), 4, None, false), ((2, 3), 5, None, true)];
    all.extend([((10, 12), most, None, true), ((11, 11), most + 1, None, false)]);
    all.extend(if eye.node == "red_light" {
        [
            // How much of its box it fills: 0.35.
            ((5, 8), 13, None, false),
            ((5, 8), 14, None, true),
            // How long it is: 2.2.
            ((5, 11), 55, None, true),
            ((12, 5), 60, None, false),
            // How much is dark around it: 0.4 of 40 pixels.
            ((3, 3), 9, Some(15), false),
            ((3, 3), 9, Some(16), true),
        ]
    } else {
        [
            ((10, 10), 19, None, false),
            ((9, 10), 18, None, true),
            ((6, 4), 24, None, true),
            ((4, 7), 28, None, false),
            ((3, 3), 9, Some(0), true),
            ((3, 3), 4, None, false),
        ]
    });
    let shown = all
        .into_iter()
        .map(|(sides, area, dark, is_lamp)| (patch(eye, sides, area, dark), is_lamp));
    shown.collect()
}

/// Images of rising stamps, some odd or damaged, and between them lights of the other node for
/// images before, of other times, damaged, several for the same image. Behind them come
/// those at the limits.
fn chance(eye: Eye, seed: u64, count: usize) -> Vec<(usize, Sent)> {
    let mut random = Random::new(seed);
    let (mut all, mut stamps) = (Vec::new(), vec![(-2_i32, 5_u32)]);
    let lights = plan::<TrafficLight>(4096);
    for number in 0..count {
        let many = [0, 1, 1, 1, 2, 12][random.below(6)];
        for other in 0..many {
            let back = [0, 0, 0, 1, 5][random.below(5)].min(stamps.len() - 1);
            let (mut sec, mut nanosec) = stamps[stamps.len() - 1 - back];
            match random.below(6) {
                // The same time in other words.
                0 if nanosec < u32::MAX - 1_000_000_000 => {
                    (sec, nanosec) = (sec - 1, nanosec + 1_000_000_000);
                }
                1 => sec += 7,
                _ => {}
            }
            let is_quiet = [20..60, 95..105].iter().any(|it| it.contains(&(number % 150)));
            let state = if is_quiet { 0 } else { [0, 0, 0, 0, 1, 2, 3, 255][random.below(8)] };
            let frame_id = vec![b'l'; if other == 11 { 65 } else { random.below(65) }];
            let area = random.next() as u32;
            let block = light((sec, nanosec), &frame_id, state, area, [7; 4]);
            let mut frame = frames::framed(&block, &lights, &mut random);
            if random.below(10) == 0 {
                frame = frames::damage(frame, number, &mut random);
            }
            all.push((1, frame));
        }
        let (sec, nanosec) = stamps[stamps.len() - 1];
        let stamp = [(sec, nanosec + 1 + random.below(99) as u32), (sec + 1, 4_000_000)];
        let mut good = picture(eye, &mut random, number);
        good.stamp = stamp[usize::from(random.below(4) == 0)];
        stamps.push(good.stamp);
        all.push((0, frames::frame(&good, &mut random)));
        match number % 6 {
            0 => {
                let odd = frames::odd(good, number / 6, eye.limits(), &mut random);
                all.push((0, frames::frame(&odd, &mut random)));
            }
            3 => {
                let frame = frames::frame(&good, &mut random);
                all.push((0, frames::damage(frame, number / 6, &mut random)));
            }
            _ => {}
        }
    }
    for (picture, _) in at_limits(eye) {
        let (sec, nanosec) = stamps[stamps.len() - 1];
        // Red before it arms green; green before it would hide red.
        let other = light((sec, nanosec), b"", u8::from(eye.node == "green_light"), 9, [7; 4]);
        all.push((1, frames::framed(&other, &lights, &mut random)));
        let picture = Fields { stamp: (sec + 1, nanosec), ..picture };
        stamps.push(picture.stamp);
        all.push((0, frames::frame(&picture, &mut random)));
    }
    all
}

#[test]
fn what_is_shipped_is_made_of_the_values_in_the_package_file() {
    for eye in [RED, GREEN] {
        let (name, made) = eye.setup();
        let path = workspace().join("apps/autorace/hardware/light").join(&name);
        assert!(
            made == must(std::fs::read_to_string(path)),
            "make it anew: crossdock-autorace {}-setup apps/autorace/hardware/autorace.hardware.yaml \
             -o apps/autorace/hardware/light/{name}",
            eye.node.replace('_', "-")
        );
    }
}

#[test]
fn the_nodes_are_clean_under_all_warnings() {
    for eye in [RED, GREEN, SMALL_RED, SMALL_GREEN] {
        must(lint(&eye.design()));
    }
}

fn equals_its_twin_by_chance(eye: Eye) {
    let (path, lights) = eye.file(&chance(eye, 1, 150));
    let lit = lit(&lights);
    assert!(lit > 15 && lights.len() - lit > 15, "{lit} of {}", lights.len());
    let limits: Vec<bool> = at_limits(eye).into_iter().map(|(_, is_lamp)| is_lamp).collect();
    let last = lights[lights.len() - limits.len()..].iter().map(|it| shown(it).0 != 0);
    assert_eq!(last.collect::<Vec<_>>(), limits, "a lamp is shown at the limits");
    for (seed, stalls) in [("1", "25"), ("2", "0")] {
        let report = eye.run(&path, &["--seed", seed, "--stalls", stalls, "--silence", "0"]);
        assert_eq!(report.value("published"), lights.len() as u64);
        assert!(report.value("dropped") > 40, "{report:?}");
    }
}

#[test]
fn images_of_all_kinds_give_the_red_lights_of_the_software_node() {
    equals_its_twin_by_chance(SMALL_RED);
}

#[test]
fn images_of_all_kinds_give_the_green_lights_of_the_software_node() {
    equals_its_twin_by_chance(SMALL_GREEN);
}

#[test]
fn after_a_reset_the_node_begins_anew() {
    let (path, _) = SMALL_GREEN.file(&chance(SMALL_GREEN, 2, 12));
    SMALL_GREEN.run(&path, &["--seed", "3", "--stalls", "10", "--silence", "0", "--resets", "4"]);
}

/// Images of recordings with the lights of both nodes: some, or all, as the driving graph sees
/// them. Gives how many.
fn equals_its_twin_on_recordings(eyes: &[Eye], sparse: bool) -> u64 {
    let Some(data) = crossdock_test_support::data() else { return 0 };
    let mut random = Random::new(1);
    let (mut total, mut shines) = (0, 0);
    let bags: [(&str, &str); 4] = [
        ("autorace_sim/autorace_a_15hz/autorace_a_15hz.mcap", "autorace"),
        ("driving/highway_a_25hz/highway_a_25hz.mcap", "highway"),
        ("driving/highway_drive_1hz/highway_drive_1hz.mcap", "highway"),
        ("driving/white_lanes_25hz/white_lanes_25hz.mcap", "white_lanes"),
    ];
    let lights = plan::<TrafficLight>(4096);
    for (bag, params) in bags.into_iter().take(if sparse { 1 } else { 4 }) {
        let bag = data.join(bag);
        let mut stamps = frames::stamps(&bag);
        if sparse {
            // The first ones with a lamp.
            stamps = stamps.into_iter().skip(40).take(3).collect();
        }
        // Pictures take much memory. What was seen is forgotten before the next ones.
        for some in stamps.chunks(40) {
            let pictures = frames::recorded(&bag, some);
            let blocks: Vec<FlatBuffer> = pictures.iter().map(Fields::block).collect();
            let [_, reds, greens, _] = twin::driven(params, blocks.clone());
            let compensated = twin::published::<Image>(
                software(),
                "image_compensation",
                ["image", "compensated"],
                "{}",
                blocks,
            );
            for &eye in eyes {
                let (own, others) =
                    if eye.node == "red_light" { (&reds, &greens) } else { (&greens, &reds) };
                let images = eye.limits().plan();
                let all: Vec<_> = (compensated.iter().zip(others))
                    .flat_map(|(image, other)| {
                        let image = frames::framed(image, &images, &mut random);
                        [(0, image), (1, frames::framed(other, &lights, &mut random))]
                    })
                    .collect();
                let (path, alone) = eye.file(&all);
                // The twin alone does what it does in the graph.
                assert!(own.iter().map(shown).eq(alone.iter().map(shown)), "{params}");
                eye.run(&path, &["--seed", "1", "--stalls", "2", "--silence", "0"]);
                if !sparse {
                    must(std::fs::remove_file(path));
                }
                total += some.len() as u64;
                shines += lit(&alone);
            }
        }
    }
    assert!(total == 0 || shines > 0, "no light in {total} images");
    total
}

#[test]
fn recorded_images_give_the_lights_of_the_software_node() {
    equals_its_twin_on_recordings(&[RED], true);
}

#[test]
#[ignore = "long: all pictures of recordings"]
fn all_recorded_images_give_the_lights_of_the_software_nodes() {
    done(equals_its_twin_on_recordings(&[RED, GREEN], false), "lights");
}

#[test]
#[ignore = "long: a simulator of the whole picture"]
fn more_runs_than_count_give_the_light_of_the_software_node() {
    // A lamp above, dots, and a larger lamp below: behind the last run that counts.
    let (mut random, mut all) = (Random::new(1), Vec::new());
    for with_dots in [true, false] {
        let mut picture = Fields::picture(640, 480, vec![20; 921_600]);
        let mut fill = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
            for (y, x) in rows.flat_map(|y| columns.clone().map(move |x| (y, x))) {
                picture.data[(y * 640 + x) * 3..][..3].copy_from_slice(&[255, 10, 10]);
            }
        };
        fill(10..20, 100..110);
        if with_dots {
            for y in (40..150).step_by(2) {
                (0..640).step_by(2).for_each(|x| fill(y..y + 1, x..x + 1));
            }
        }
        fill(160..190, 200..230);
        picture.stamp = (i32::from(!with_dots), 0);
        all.push((0, frames::frame(&picture, &mut random)));
    }
    let (path, lights) = RED.file(&all);
    assert_eq!(lights.iter().map(shown).collect::<Vec<_>>(), [(1, 100), (1, 900)]);
    RED.run(&path, &["--seed", "1", "--stalls", "0"]);
}

#[test]
#[ignore = "long: a simulator of the whole picture"]
fn a_light_leaves_ten_microseconds_after_an_image_with_a_lamp() {
    let (mut random, mut all) = (Random::new(1), Vec::new());
    for number in 0..3 {
        let mut picture = Fields::picture(640, 480, vec![20; 921_600]);
        picture.stamp = (number, 0);
        for (y, x) in (100..130).flat_map(|y| (300..330).map(move |x| (y, x))) {
            picture.data[(y * 640 + x) * 3..][..3].copy_from_slice(&[255, 10, 10]);
        }
        all.push((0, frames::frame(&picture, &mut random)));
    }
    let (path, lights) = RED.file(&all);
    assert_eq!(lit(&lights), 3);
    let report = RED.run(&path, &["--seed", "1", "--stalls", "0"]);
    assert!(report.value("latency") < 1000, "{report:?}");
    assert!(report.value("period") < all[0].1.beats() + 1000, "{report:?}");
}

/// A module of a light with a testbench of its own.
fn alone(module: &str) -> Simulation {
    let folder = "apps/autorace/hardware/light";
    let design = Design::new(module, &[]).with_file(&format!("{folder}/{module}.sv"));
    must(lint(&design));
    Simulation::new(design, &format!("../{folder}/{module}_tb.cpp"))
}

#[test]
fn the_other_light_counts_for_the_image_of_its_stamp_under_stalls_and_resets() {
    let report = must(alone("other_light").run(&["--seed", "1"]));
    let (found, lit) = (report.value("found"), report.value("lit"));
    assert!(found > 2000 && lit > 2000 && found < 18_000 && lit < 18_000, "{report:?}");
}

#[test]
fn green_counts_while_it_is_armed() {
    let report = must(alone("green_arm").run(&["--seed", "1"]));
    assert!(report.value("ignored") > 500 && report.value("again") > 20, "{report:?}");
}

const FAULTS: [Mutation; 10] = [
    Mutation {
        what: "a lamp may not be as large as is allowed",
        file: "find_lamp.sv",
        from: "is_area <= 32'(AREA_MAX)",
        to: "is_area < 32'(AREA_MAX)",
    },
    Mutation {
        what: "an image is refused without the reason",
        file: "message_shell.sv",
        from: "refused <= looks ? s_fault : '0;",
        to: "refused <= '0;",
    },
    Mutation {
        what: "a box as large as the best wins",
        file: "find_lamp.sv",
        from: "&& is_area > area;",
        to: "&& is_area >= area;",
    },
    Mutation {
        what: "a lamp that is cut off is held against its length",
        file: "find_lamp.sv",
        from: "has_shape <= is_cut || ",
        to: "has_shape <= ",
    },
    Mutation {
        what: "a patch on a wall is a lamp",
        file: "find_lamp.sv",
        from: "(HOUSING == 0 || is_housed);",
        to: "1'b1;",
    },
    Mutation {
        what: "a refused image leaves its rows behind",
        file: "seen_light.sv",
        from: "    .clear(next),\n    .s_data",
        to: "    .clear(next && made),\n    .s_data",
    },
    Mutation {
        what: "a byte is taken twice while runs wait",
        file: "find_lamp.sv",
        from: "    .s_valid(whole && runs_ready),",
        to: "    .s_valid(whole),",
    },
    Mutation {
        what: "the last note of an image counts",
        file: "other_light.sv",
        from: "if (is_found || at == 3'd7) begin",
        to: "if (at == 3'd7) begin",
    },
    Mutation {
        what: "a time in other words is another time",
        file: "other_light.sv",
        from: "seconds_ns + $signed({32'd0, part});",
        to: "{seconds_ns[31:0], part};",
    },
    Mutation {
        what: "what fails of the other light is not told",
        file: "red_light_messages.sv",
        from: "untold + {1'b0, other_failed}",
        to: "untold",
    },
];

const FAULTS_OF_GREEN: [Mutation; 3] = [
    Mutation {
        what: "red does not arm green",
        file: "green_arm.sv",
        from: "wire         is_armed = armed || red_before;",
        to: "wire         is_armed = armed;",
    },
    Mutation {
        what: "green that is gone stays armed",
        file: "green_arm.sv",
        from: "(is_armed && !is_gone);",
        to: "is_armed;",
    },
    Mutation {
        what: "a long time without light is no new start",
        file: "green_arm.sv",
        from: "dark_now >= RearmImages || (is",
        to: "(is",
    },
];

#[test]
#[ignore = "long: a simulator for each fault"]
fn faults_of_the_nodes_are_caught() {
    for (eye, faults) in [(SMALL_RED, &FAULTS[..]), (SMALL_GREEN, &FAULTS_OF_GREEN)] {
        let (path, _) = eye.file(&chance(eye, 1, 150));
        let vectors = path.to_str().expect("a path");
        let options = ["--vectors", vectors, "--seed", "1", "--stalls", "25", "--silence", "0"];
        let longest = ["--longest", "600000"];
        for fault in faults {
            must(eye.simulation().catches(fault, &[&options[..], &longest].concat()));
        }
    }
}

#[test]
#[ignore = "long: synthesis of a whole node"]
fn the_nodes_take_no_more_area_than_their_budget() {
    for eye in [RED, GREEN] {
        must(area_within_budget(&eye.design()));
    }
}

/// The images of chance of an eye have to notice these.
pub(crate) fn seen<'a>(mutants: Mutants<'a>, eye: Eye) -> Mutants<'a> {
    let (path, _) = eye.file(&chance(eye, 1, 150));
    let vectors = ["--vectors", path.to_str().expect("a path"), "--longest", "600000"];
    let options = ["--seed", "1", "--stalls", "25", "--silence", "0"];
    let resets = ["--seed", "3", "--stalls", "10", "--silence", "0", "--resets", "4"];
    let runs = [&options[..], &resets[..]].map(|run| [&vectors[..], run].concat());
    runs.iter().fold(mutants, |mutants, run| mutants.simulated(eye.simulation(), run))
}

const UNLIT: &str = "seen_light shows no box if no lamp is found";
const UNSEEN: &str = "before green is seen for the first time, the count of images says nothing";
const HARMLESS: [(&str, &str); 12] = [
    (
        "find_lamp.sv: `wire [11:0]       reach = (quarter < 32'd2) ? 12'd2 : quarter[11:0];`: `<` \
         becomes `<=`",
        "two are two",
    ),
    ("find_lamp.sv: `left <= '0;`: `'0` becomes `'1`", UNLIT),
    ("find_lamp.sv: `top <= '0;`: `'0` becomes `'1`", UNLIT),
    ("find_lamp.sv: `width <= '0;`: `'0` becomes `'1`", UNLIT),
    ("find_lamp.sv: `height <= '0;`: `'0` becomes `'1`", UNLIT),
    ("find_lamp.sv: `left <= '0;`: `left <= '0;` becomes `;`", UNLIT),
    ("find_lamp.sv: `top <= '0;`: `top <= '0;` becomes `;`", UNLIT),
    ("find_lamp.sv: `width <= '0;`: `width <= '0;` becomes `;`", UNLIT),
    ("find_lamp.sv: `height <= '0;`: `height <= '0;` becomes `;`", UNLIT),
    ("green_arm.sv: `dark_images <= '0;`: `'0` becomes `'1`", UNSEEN),
    ("green_arm.sv: `dark_images <= '0;`: `dark_images <= '0;` becomes `;`", UNSEEN),
    (
        "other_light.sv: `asked <= 1'b0;`: line 2 of 2: `asked <= 1'b0;` becomes `;`",
        "in a reset of two cycles the first one ends a question as any other does",
    ),
];

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_lights_are_found() {
    for module in ["find_lamp", "seen_light"] {
        seen(seen(Mutants::of(module), SMALL_RED), SMALL_GREEN).but(&HARMLESS).are_found();
    }
}

#[test]
#[ignore = "long: mutants"]
fn mutants_of_the_other_light_and_of_the_arm_are_found() {
    let run = ["--seed", "1"];
    Mutants::of("other_light").simulated(alone("other_light"), &run).but(&HARMLESS).are_found();
    Mutants::of("green_arm").simulated(alone("green_arm"), &run).but(&HARMLESS).are_found();
}
