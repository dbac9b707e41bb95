//! The hardware node of image compensation against the software one, frame by frame.

use crate::board;
use crate::frames::{self, Limits, Random};
use crossdock_graph::HardwareNode;
use crossdock_hardware_tests::budget::area_within_budget;
use crossdock_hardware_tests::{Design, Mutation, Report, Simulation, lint, must};
use std::path::Path;

const TESTBENCH: &str = "../apps/autorace/hardware/image_compensation/image_compensation_tb.cpp";
/// A board with this node alone, its topics' bounds such that any limits of the node fit.
const GRAPH: &str = "
crossdock: 1
name: alone
topics:
  /image: { bounds: { data: 1, header.frame_id: 64, encoding: 16 } }
  /compensated: { bounds: { data: 16777216, header.frame_id: 64, encoding: 16 } }
nodes:
  camera: { package: ends, type: camera, outputs: { image: /image } }
  node:
    package: autorace
    type: image_compensation
    inputs: { image: /image }
    outputs: { compensated: /compensated }
  sink: { package: ends, type: sink, inputs: { image: /compensated } }
";
const MAPPING: &str = "
crossdock: 1
processes: { host: { executors: [ { mode: chain, nodes: [camera, sink] } ] } }
fabrics: { board: { nodes: [node] } }
topics: { /image: { mapping: gateway }, /compensated: { mapping: gateway } }
";
/// A small node whose messages may be longer than its pictures.
const SMALL: Limits = Limits { bound: 4000, max_bytes: 3000 };
/// The node as it is shipped.
const SHIPPED: Limits = Limits { bound: 921_600, max_bytes: 921_600 };

/// What of a board's files the node is made of, beside its own sources.
const PARTS: [&str; 6] = [
    "frame_take.sv",
    "frame_publish.sv",
    "image_compensation_image_take.sv",
    "image_compensation_compensated_publish.sv",
    "pixel_levels.sv",
    "replay.sv",
];

/// The node with its adapters, as the generator makes them from the package file with these limits.
fn node(limits: Limits) -> Design {
    let package = board::package(limits);
    let files = board::generated(&package, GRAPH, MAPPING).files;
    let sources = package.nodes[0].sources.iter().map(|it| HardwareNode::file_name(it));
    let design = PARTS
        .into_iter()
        .chain(sources)
        .fold(Design::new("image_compensation", &[]), |design, name| {
            design.with_source(name, &files[name])
        });
    design.set("MAX_BYTES", u64::from(limits.max_bytes))
}

fn simulation(limits: Limits) -> Simulation {
    Simulation::new(node(limits), TESTBENCH)
}

fn run(limits: Limits, vectors: &Path, options: &[&str]) -> Report {
    let vectors = vectors.to_str().expect("a path");
    must(simulation(limits).run(&[&["--vectors", vectors], options].concat()))
}

#[test]
fn the_node_is_clean_under_all_warnings() {
    must(lint(&node(SHIPPED)));
    must(lint(&node(SMALL)));
}

#[test]
fn frames_of_all_kinds_become_what_the_software_node_makes_of_them() {
    let (path, count) = frames::file(&frames::chance(1, 300, SMALL), SMALL);
    assert!(count > 350, "{count} pictures");
    for (seed, stalls) in [("1", "30"), ("2", "3"), ("3", "0")] {
        let report = run(SMALL, &path, &["--seed", seed, "--stalls", stalls]);
        assert_eq!(report.value("published"), count);
        assert!(report.value("dropped") > 50, "{report:?}");
    }
}

#[test]
fn after_a_reset_the_node_begins_anew() {
    let (path, _) = frames::file(&frames::chance(2, 300, SMALL), SMALL);
    run(SMALL, &path, &["--seed", "4", "--resets", "1"]);
}

#[test]
fn recorded_pictures_become_what_the_software_node_makes_of_them() {
    let Some(data) = crossdock_test_support::data() else { return };
    let mut random = Random::new(1);
    let mut sent = Vec::new();
    for (bag, every) in [
        ("driving/highway_a_25hz/highway_a_25hz.mcap", 60),
        ("autorace_sim/autorace_a_15hz/autorace_a_15hz.mcap", 100),
    ] {
        let pictures = frames::recorded(&data.join(bag), every, 2);
        assert_eq!(pictures.len(), 2, "{bag}");
        sent.extend(pictures.iter().map(|it| frames::frame(it, &mut random)));
    }
    let (path, count) = frames::file(&sent, SHIPPED);
    assert_eq!(count, 4);
    run(SHIPPED, &path, &["--seed", "1", "--stalls", "10"]);
}

#[test]
fn a_picture_takes_its_beats_twice_and_a_table_and_the_next_one_overlaps() {
    let mut random = Random::new(1);
    let picture = frames::Fields::picture(640, 480, vec![100; 921_600]);
    let sent: Vec<_> = (0..3).map(|_| frames::frame(&picture, &mut random)).collect();
    let (path, _) = frames::file(&sent, SHIPPED);
    let report = run(SHIPPED, &path, &["--seed", "1", "--stalls", "0"]);
    let beats = sent[0].beats();
    let (latency, period) = (report.value("latency"), report.value("period"));
    assert!((2 * beats..2 * beats + 630).contains(&latency), "{report:?}");
    assert!((beats..beats + 630).contains(&period), "{report:?}");
}

const FAULTS: [Mutation; 9] = [
    Mutation {
        what: "what is no message is dropped without a word",
        file: "image_compensation.sv",
        from: "dropped <= !rst && ends && (failed || !good);",
        to: "dropped <= !rst && ends && !good;",
    },
    Mutation {
        what: "another encoding is a picture",
        file: "image_compensation.sv",
        from: "encoding_length == 32'd4 && encoding[31:0] == Rgb8",
        to: "encoding_length == 32'd4",
    },
    Mutation {
        what: "rows may have any length",
        file: "image_compensation.sv",
        from: "&& row_bytes == {2'd0, step} &&",
        to: "&&",
    },
    Mutation {
        what: "the area is looked at modulo a power of two",
        file: "image_compensation.sv",
        from: "over <= ((step >> Bits) != '0 && height != '0) || ((height >> Bits) != '0 && step != '0);",
        to: "over <= 1'b0;",
    },
    Mutation {
        what: "pictures longer than the memory are cut",
        file: "image_compensation.sv",
        from: "&& length <= 32'(MAX_BYTES);",
        to: ";",
    },
    Mutation {
        what: "the picture of a damaged message stays in the kernel",
        file: "image_compensation.sv",
        from: "if (feeds && (failed || (came && settled && !good))) doomed <= 1'b1;",
        to: "if (feeds && came && settled && !good) doomed <= 1'b1;",
    },
    Mutation {
        what: "a picture is fed before a refused one is gone",
        file: "image_compensation.sv",
        from: ".s_valid(data_valid && feeds && !doomed),",
        to: ".s_valid(data_valid && feeds),",
    },
    Mutation {
        what: "a refused picture leaves in place of the one before it",
        file: "image_compensation.sv",
        from: "wire         drains = doomed && !held;",
        to: "wire         drains = doomed;",
    },
    Mutation {
        what: "the clock stops while a message is held",
        file: "image_compensation.sv",
        from: "else if (held || doomed || (",
        to: "else if ((",
    },
];

#[test]
fn faults_of_the_node_are_caught() {
    let (path, _) = frames::file(&frames::chance(1, 300, SMALL), SMALL);
    let vectors = path.to_str().expect("a path");
    for fault in &FAULTS {
        let options = ["--vectors", vectors, "--seed", "1", "--stalls", "30"];
        must(simulation(SMALL).catches(fault, &options));
    }
}

#[test]
fn the_node_takes_no_more_area_than_its_budget() {
    // What grows with the picture is memory alone, and the tool takes minutes for much of it.
    must(area_within_budget(&node(Limits { bound: 24_000, max_bytes: 24_000 })));
}
