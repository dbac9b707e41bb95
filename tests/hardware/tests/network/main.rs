//! Generated networks: they lint and elaborate, and deliver every message once, in order per
//! publisher, to every subscriber.
#![allow(missing_docs)]

mod random;

use crossdock_graph::{Graph, HardwarePackage, Mapping, PackageDescriptions};
use crossdock_hardware_tests::synthesis::area;
use crossdock_hardware_tests::{Design, Mutation, Report, Simulation, lint, must, on_all_cores};
use crossdock_hwgen::network::Register;
use crossdock_hwgen::{Generated, Implementation, Request, SourceText, generate};
use crossdock_msg::Schema;
use crossdock_test_support::{sample, seed, workspace};
use random::Random;

const TESTBENCH: &str = "testbench/network/network_tb.cpp";

fn generated(graph: &str, mapping: &str, fabric: &str) -> Generated {
    with_nodes(graph, mapping, fabric, &[])
}

fn with_nodes(
    graph: &str,
    mapping: &str,
    fabric: &str,
    implementations: &[Implementation<'_>],
) -> Generated {
    let violations = |all: Vec<crossdock_graph::Violation>| -> String {
        let lines: Vec<String> = all.iter().map(ToString::to_string).collect();
        format!("{}\n{graph}\n{mapping}", lines.join("\n"))
    };
    let read = Graph::from_yaml("graph", graph.as_bytes()).map_err(violations);
    let placed = Mapping::from_yaml("mapping", mapping.as_bytes()).map_err(violations);
    let request = Request {
        graph: &must(read),
        mapping: &must(placed),
        descriptions: &PackageDescriptions::default(),
        fabric,
        types: &|name| Schema::shipped(name).map_err(|error| error.to_string()),
        implementations,
    };
    must(generate(&request).map_err(violations))
}

/// All that is generated comes from `generate`, the library modules too.
fn design(generated: &Generated) -> Design {
    let sources = generated.files["sources.f"].lines();
    sources.fold(Design::new(&generated.network.module, &[]), |design, name| {
        design.with_source(name, &generated.files[name])
    })
}

/// The network with its gateways.
fn board(generated: &Generated) -> Design {
    let sources = generated.files["board.f"].lines();
    sources.fold(Design::new(&generated.network.board(), &[]), |design, name| {
        design.with_source(name, &generated.files[name])
    })
}

/// The module for block designs round this one, which makes resets of its own.
fn block(design: Design, generated: &Generated) -> Design {
    let block = format!("{}_block", design.top());
    let files = [format!("{block}.v"), "reset_sync.sv".to_owned()];
    let with = |design: Design, file: &String| design.with_source(file, &generated.files[file]);
    files.iter().fold(design, with).with_top(&block)
}

fn simulation(generated: &Generated) -> Simulation {
    let with =
        |simulation: Simulation, name: &str| simulation.with_file(name, &generated.files[name]);
    let simulation = Simulation::new(design(generated), TESTBENCH).with_model("Vnetwork");
    with(with(simulation, "network.h"), "wrapper.cpp")
        .with_file("registers.hpp", &register_map(generated))
}

/// What `registers.json` and `network.json` say, for the testbench.
fn register_map(generated: &Generated) -> String {
    let mut text = String::from(
        "#pragma once\n#include <cstddef>\n#include <cstdint>\nstruct HostRegister {\n  \
         uint32_t address; bool written; const char *topic, *clock, *port; uint32_t bits;\n};\n\
         const HostRegister host_registers[] = {\n",
    );
    for Register { address, access, topic, clock, port, bits, .. } in &generated.registers {
        let written = *access == "write";
        text += &format!("  {{{address}, {written}, {topic:?}, {clock:?}, {port:?}, {bits}}},\n");
    }
    text += "};\nstruct TopicWidth { const char* topic; size_t bytes; };\n\
             const TopicWidth topic_widths[] = {\n";
    for topic in &generated.network.topics {
        text += &format!("  {{{:?}, {}}},\n", topic.name, topic.width / 8);
    }
    text + "};\n"
}

/// Lints, simulates, and holds the cycles of topics without stages at ports against the report.
fn holds(generated: &Generated, seed: u64) -> Report {
    must(lint(&design(generated)));
    let report = must(simulation(generated).run(&["--seed", &seed.to_string()]));
    for topic in &generated.network.topics {
        let mut ports = topic.publishers.iter().chain(&topic.subscribers);
        let is_plain = ports.all(|port| port.stages.is_empty() && port.filtered_id == 0);
        let publishers = topic.publishers.len() as u64;
        if is_plain && publishers > 0 && !topic.subscribers.is_empty() {
            let cycles = publishers * topic.beats_max(topic.width) + topic.constant_cycles();
            let measured = report.value(&format!("cycles {}", topic.name));
            assert_eq!(measured, cycles, "{} with {publishers} publishers", topic.name);
        }
    }
    report
}

/// Its fabric has a name of its own, so that results of different networks are kept side by side.
fn random(seed: u64) -> Generated {
    let fabric = format!("seed{seed}");
    let (graph, mapping) = Random::new(seed).network(&fabric, seed.is_multiple_of(8));
    generated(&graph, &mapping, &fabric)
}

#[test]
fn random_networks_deliver_every_message_once_and_in_order_to_every_subscriber() {
    let reports = on_all_cores((5..=8).collect(), |seed| holds(&random(seed), seed));
    // Among them are networks with probes, and such whose subscribers were switched.
    for what in ["probed", "switched"] {
        assert!(reports.iter().any(|report| report.value(what) > 0), "none has {what}");
    }
}

#[test]
#[ignore = "long: 200 networks, others each time"]
fn two_hundred_random_networks_deliver_every_message() {
    // Of a thousand: what has been built stays on the disk.
    let seeds = sample((1..1001).collect(), 200, seed());
    on_all_cores(seeds, |seed: u64| {
        println!("network {seed}");
        holds(&random(seed), seed);
    });
}

/// The driving graph with short messages: with whole images the keep-last FIFO alone is megabytes.
fn drive() -> Generated {
    let data = workspace().join("crates/hwgen/tests/data");
    let read = |name| std::fs::read_to_string(data.join(name)).expect("data of the golden test");
    let graph = read("drive.graph.yaml").replace("data: 921600", "data: 600");
    generated(&graph, &read("drive.mapping.yaml"), "board")
}

#[test]
#[ignore = "long: a minute of elaboration"]
fn the_driving_graphs_network_lints_and_elaborates_in_both_tools() {
    let generated = drive();
    holds(&generated, 1);
    let found = must(area(&design(&generated)));
    // The report adds up modules that were measured alone: in one piece some of it goes away.
    let row = generated.files["report.md"].lines().find(|line| line.starts_with("| all | |"));
    let estimated: Vec<u64> = (row.expect("the sum").split('|').skip(4))
        .filter_map(|figure| figure.trim().parse().ok())
        .collect();
    let [lut, ff, bram18, dsp] = estimated[..] else { panic!("{estimated:?}") };
    for (estimated, found) in [(lut, found.lut), (ff, found.ff), (bram18, found.bram18)] {
        let share = estimated as f64 / found as f64;
        assert!((0.75..1.34).contains(&share), "estimated {estimated}, found {found}");
    }
    assert_eq!((dsp, found.dsp), (0, 0), "nothing multiplies");
}

#[test]
fn the_module_for_block_designs_has_the_ports_of_the_network() {
    let generated = drive();
    must(lint(&block(design(&generated), &generated)));
}

const SWAPPED: Mutation = Mutation {
    what: "two subscribers take each others beats",
    file: "hmt_light_red.sv",
    from: ".m_axis_tready({b0_2_tready, b0_1_tready, b0_0_tready})",
    to: ".m_axis_tready({b0_2_tready, b0_0_tready, b0_1_tready})",
};

const ENABLES_SWAPPED: Mutation = Mutation {
    what: "two subscribers take each others switch",
    file: "hmt_image_compensated.sv",
    from: ".enable(enable[0 +: 4])",
    to: ".enable({enable[3:2], enable[0], enable[1]})",
};

const PROBED_ELSEWHERE: Mutation = Mutation {
    what: "a probe listens before the clock crossing",
    file: "hmt_image_compensated.sv",
    from: ".s_axis_tvalid(m_axis_blur_image_tvalid),\n    .s_axis_tready(m_axis_blur_image_tready),\n    .clear",
    to: ".s_axis_tvalid(b0_0_tvalid),\n    .s_axis_tready(b0_0_tready),\n    .clear",
};

#[test]
#[ignore = "long: faults that must be caught"]
fn a_network_that_is_wired_wrongly_is_noticed() {
    for mutation in [SWAPPED, ENABLES_SWAPPED, PROBED_ELSEWHERE] {
        must(simulation(&drive()).catches(&mutation, &["--seed", "1"]));
    }
}

/// A topic in both directions, one down, one up; one that the host has no part in.
const BOARD_GRAPH: &str = "
crossdock: 1
name: gateways
topics:
  /image: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 4096 } }
  /speed: { type: std_msgs/msg/UInt64 }
  /found: { type: std_msgs/msg/UInt64 }
  /inner: { type: std_msgs/msg/UInt64 }
nodes:
  camera: { package: p, type: camera, outputs: { image: /image, speed: /speed } }
  renderer: { package: p, type: renderer, outputs: { image: /image }, inputs: { speed: /speed } }
  filter: { package: p, type: filter, inputs: { image: /image }, outputs: { inner: /inner } }
  count: { package: p, type: count, inputs: { inner: /inner }, outputs: { found: /found } }
  show: { package: p, type: show, inputs: { image: /image, found: /found } }
";

#[test]
fn a_board_has_gateways_in_each_direction_at_all_widths_and_lints() {
    for width in [64, 512] {
        let mapping = format!(
            "crossdock: 1\nprocesses: {{ host: {{ executors: [ {{ mode: chain, nodes: [camera, show] }} ] }} }}\n\
             fabrics: {{ board: {{ nodes: [renderer, filter, count] }} }}\ntopics:\n  \
             /image: {{ mapping: gateway, width: {width} }}\n  \
             /speed: {{ mapping: gateway, width: {width} }}\n  \
             /found: {{ mapping: gateway, width: {width} }}\n  \
             /inner: {{ mapping: hardware, clock: fast, probe: true }}\n"
        );
        let generated = generated(BOARD_GRAPH, &mapping, "board");
        must(lint(&board(&generated)));
        must(lint(&block(board(&generated), &generated)));
    }
}

/// Nodes, topics and clocks that are called like signals and instances of a board, or like parts of
/// their names.
const LIKE_SIGNALS: &str = "
crossdock: 1
name: signals
topics:
  /yellow: { type: std_msgs/msg/UInt64, external: true }
  /node_restart: { type: std_msgs/msg/UInt64 }
  /restart_seen: { type: std_msgs/msg/UInt64, external: true }
nodes:
  restart: { package: p, type: work, inputs: { in: /yellow }, outputs: { out: /node_restart } }
  memory: { package: p, type: work, inputs: { in: /node_restart } }
  gateway_yellow: { package: p, type: work, inputs: { in: /node_restart } }
  registers: { package: p, type: work, inputs: { in: /restart_seen } }
  osif: { package: p, type: work, inputs: { in: /yellow } }
  address: { package: p, type: work, inputs: { in: /yellow } }
  write: { package: p, type: work, inputs: { in: /yellow } }
";
const LIKE_SIGNALS_PLACED: &str = "
crossdock: 1
processes: {}
fabrics:
  signals: { nodes: [restart, memory, gateway_yellow, registers, osif, address, write] }
topics:
  /yellow: { mapping: gateway }
  /restart_seen: { mapping: software }
  /node_restart:
    mapping: gateway
    probe: true
    runtime_enable: true
    subscribers:
      memory: { in: { clock: busy, probe: true } }
      gateway_yellow: { in: { clock: unused_control, probe: true } }
";
const LIKE_SIGNALS_PACKAGE: &str = "
crossdock: 1
package: p
nodes:
  work:
    module: core
    drops: true
    refuses: [is empty]
    sources: [core.sv]
    inputs: { in: { type: std_msgs/msg/UInt64 } }
    outputs: { out: { type: std_msgs/msg/UInt64, optional: true } }
";
/// Hands frames on as they are.
const LIKE_SIGNALS_NODE: &str = "
module core (
  input wire clk, input wire rst,
  input wire [63:0] s_axis_in_tdata, input wire [7:0] s_axis_in_tkeep, input wire s_axis_in_tlast,
  input wire s_axis_in_tuser, input wire s_axis_in_tvalid, output wire s_axis_in_tready,
  output wire [63:0] m_axis_out_tdata, output wire [7:0] m_axis_out_tkeep, output wire m_axis_out_tlast,
  output wire m_axis_out_tuser, output wire m_axis_out_tvalid, input wire m_axis_out_tready,
  input wire [15:0] out_publisher_id, output wire busy, output wire dropped, output wire [2:0] refused
);
  assign {m_axis_out_tdata, m_axis_out_tkeep} = {s_axis_in_tdata, s_axis_in_tkeep};
  assign {m_axis_out_tlast, m_axis_out_tuser} = {s_axis_in_tlast, s_axis_in_tuser};
  assign {m_axis_out_tvalid, s_axis_in_tready} = {s_axis_in_tvalid, m_axis_out_tready};
  assign {busy, dropped, refused} = '0;
  wire unused = &{1'b0, clk, rst, out_publisher_id};
endmodule
";

#[test]
fn names_that_are_those_of_a_boards_own_signals_lint() {
    let package = HardwarePackage::from_yaml("p.hardware.yaml", LIKE_SIGNALS_PACKAGE.as_bytes());
    let package = package.expect("a hardware package");
    let node = package.node_type("work").expect("the node type");
    let source = SourceText { name: "core.sv".into(), text: LIKE_SIGNALS_NODE.into() };
    let sources = vec![source];
    let node = Implementation { package: &package, node, sources, set_up: Vec::new() };
    let generated = with_nodes(LIKE_SIGNALS, LIKE_SIGNALS_PLACED, "signals", &[node]);
    must(lint(&board(&generated)));
}

#[test]
fn gateways_that_cannot_share_host_memory_have_no_board_and_the_report_says_why() {
    let mapping = "crossdock: 1\nprocesses: { host: { executors: [ { mode: chain, nodes: [camera, show] } ] } }\n\
         fabrics: { board: { nodes: [renderer, filter, count] } }\ntopics:\n  \
         /image: { mapping: gateway, width: 128 }\n  /speed: { mapping: gateway }\n  \
         /found: { mapping: gateway }\n  /inner: { mapping: hardware }\n";
    let generated = generated(BOARD_GRAPH, mapping, "board");
    assert!(!generated.files.contains_key("board.f"));
    let report = &generated.files["report.md"];
    let said = report.split("## No board").nth(1).expect("the reason");
    assert!(said.contains("`/image`") && said.contains("128") && said.contains("64"), "{said}");
}
