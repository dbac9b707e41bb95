//! Nodes in a fabric on software-mapped topics: a stream and a gateway for each of their ports.
//! Record what is meant to change with `CROSSDOCK_RECORD_GOLDEN=1`.

use crate::support;
use crossdock_graph::Mapping;
use crossdock_hwgen::network::PortOwner;
use std::path::Path;
use support::{DRIVE, DRIVE_MAPPING, generated};

const GRAPH: &str = "
crossdock: 1
name: both
topics:
  /camera/image: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 16, encoding: 8, data: 4096 } }
  /lane: { type: std_msgs/msg/Float64 }
nodes:
  camera: { package: p, type: camera, outputs: { image: /camera/image } }
  show: { package: p, type: show, inputs: { image: /camera/image, lane: /lane } }
  renderer: { package: p, type: renderer, outputs: { image: /camera/image } }
  left: { package: p, type: left, inputs: { image: /camera/image }, outputs: { lane: /lane } }
  right: { package: p, type: right, inputs: { image: /camera/image } }
";
const MAPPING: &str = "
crossdock: 1
processes: { host: { executors: [ { mode: chain, nodes: [camera, show] } ] } }
fabrics: { board: { nodes: [renderer, left, right] } }
topics: { /camera/image: { mapping: software, width: 128 }, /lane: { mapping: gateway, width: 128 } }
";
/// What wires the streams, and what people read of them.
const RECORDED: [&str; 5] = [
    "direct_camera_image_from_renderer_image.sv",
    "direct_camera_image_to_left_image.sv",
    "board_board.sv",
    "board.f",
    "report.md",
];

#[test]
fn every_port_on_a_software_mapped_topic_has_a_stream_and_a_gateway_of_its_own() {
    let made = generated(GRAPH, MAPPING).unwrap();
    assert_eq!(made.network.software_topics, ["/camera/image"]);
    let shown: Vec<String> = made.network.gateways().map(|topic| topic.shown()).collect();
    assert_eq!(
        shown,
        [
            "/camera/image from renderer.image",
            "/camera/image to left.image",
            "/camera/image to right.image",
            "/lane"
        ]
    );
    for topic in made.network.gateways().filter(|topic| topic.direct) {
        let ends = [&topic.publishers[..], &topic.subscribers[..]].concat();
        let gateways = ends.iter().filter(|port| port.owner == PortOwner::Gateway).count();
        assert_eq!((ends.len(), gateways, topic.width), (2, 1, 128), "{}", topic.shown());
        assert!(topic.arbiter.is_none() && topic.broadcasts.is_empty(), "wires");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden-direct");
    for name in RECORDED {
        let (path, text) = (folder.join(name), &made.files[name]);
        if std::env::var_os("CROSSDOCK_RECORD_GOLDEN").is_some() {
            std::fs::write(&path, text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap();
        let differs = text.lines().zip(golden.lines()).position(|(a, b)| a != b);
        assert!(*text == golden, "{name}, line {:?}", differs.map(|line| line + 1));
    }
    // Its messages are the same at every port.
    let messages = made.files["messages.f"].lines();
    assert_eq!(messages.filter(|name| name.starts_with("message_camera_image")).count(), 2);
}

#[test]
fn a_type_without_bounds_is_refused_where_hardware_reads_it_from_memory() {
    let violations = generated(&GRAPH.replace(", data: 4096", ""), MAPPING).unwrap_err();
    assert_eq!(
        violations,
        [
            "g.yaml:5:3: topic `/camera/image`: sensor_msgs/msg/Image has no longest message, as nothing \
             bounds `data`; add `bounds: { data: N }` to the topic in the graph file, in elements or bytes \
             of text"
        ]
    );
}

#[test]
fn a_topic_with_the_name_of_a_direct_stream_is_refused() {
    let graph = GRAPH.replace("/lane", "/camera/image_to_left_image");
    let mapping = MAPPING.replace("/lane", "/camera/image_to_left_image");
    let violations = generated(&graph, &mapping).unwrap_err();
    let says = "it becomes `camera_image_to_left_image` in hardware, as `/camera/image` does; rename one \
                of them";
    assert!(violations.iter().any(|it| it.ends_with(says)), "{violations:#?}");
}

#[test]
fn direct_streams_count_among_the_gateways_of_a_board() {
    // All seven topics of the driving graph in host memory: 18 ports.
    let topics = DRIVE_MAPPING.find("topics:").unwrap();
    let made = generated(DRIVE, &DRIVE_MAPPING[..topics]).unwrap();
    assert_eq!(made.network.gateways().count(), 18);
    assert!(!made.files.contains_key("board.f"));
    let says = "18 gateways in one fabric, 18 of them for single ports on software-mapped topics, more \
                than 16. To have one, map topics to `gateway`";
    assert!(made.files["report.md"].contains(says), "{}", made.files["report.md"]);
    let mapping = Mapping::from_yaml("m.yaml", &DRIVE_MAPPING.as_bytes()[..topics]).unwrap();
    let obstacle = made.obstacle_in(&mapping).unwrap().to_string();
    assert!(obstacle.starts_with("m.yaml:"), "{obstacle}");
    assert!(obstacle.contains(": 18 gateways in one fabric, 18 of them"), "{obstacle}");
}

#[test]
fn a_board_with_the_published_way_to_memory_differs_in_that_alone() {
    let made = generated(GRAPH, MAPPING).unwrap();
    let paper = crossdock_hwgen::paper::with_paper_board(made.clone());
    assert_eq!((&paper.network, paper.identity), (&made.network, made.identity));
    let changed = paper.files.iter().filter(|(name, text)| made.files.get(*name) != Some(text));
    let changed: Vec<&str> = changed.map(|(name, _)| name.as_str()).collect();
    assert_eq!(changed, ["board.f", "board_board.sv", "paper_memif.sv"]);
    let listed = |list: &str, name: &str| list.lines().any(|line| line == name);
    for (name, has) in
        [("paper_memif.sv", true), ("memif_share.sv", false), ("memif_mmu.sv", false)]
    {
        assert_eq!(listed(&paper.files["board.f"], name), has, "{name}");
        assert_eq!(listed(&made.files["board.f"], name), !has, "{name}");
    }
    // 256 bytes at 128 bit.
    assert!(paper.files["board_board.sv"].contains("READ_BURST_BEATS(16)"));
}

/// The names of a module's ports, in order.
fn ports<'a>(text: &'a str, module: &str) -> Vec<&'a str> {
    let (_, rest) = text.split_once(&format!("\nmodule {module} (\n")).unwrap();
    let (ports, _) = rest.split_once("\n);").unwrap();
    let names = ports.lines().filter(|line| line.contains(" wire "));
    names.map(|line| line.trim_end_matches(',').rsplit(' ').next().unwrap()).collect()
}

#[test]
fn a_board_is_exported_whole_with_its_port_of_host_memory() {
    let files = generated(GRAPH, MAPPING).unwrap().files;
    let script = &files["vivado.tcl"];
    let (_, rest) = script.split_once("set sources {\n").unwrap();
    let named: Vec<&str> = rest.split_once("\n}").unwrap().0.lines().map(str::trim).collect();
    let sources: Vec<&str> =
        files["board.f"].lines().chain(["reset_sync.sv", "board_board_block.v"]).collect();
    assert_eq!(named, sources);
    assert!(!script.contains('@'), "a place was not filled in");

    let block = &files["board_board_block.v"];
    let mut found = ports(block, "board_board_block");
    let mut wanted = ports(&files["board_board.sv"], "board_board");
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    for port in wanted {
        let inside = if port == "rst" { "rst_synchronous" } else { port };
        assert!(block.contains(&format!("    .{port}({inside})")), "{port}");
    }
    for signal in ["AWADDR", "WDATA", "BRESP", "ARCACHE", "RLAST"] {
        let interface = format!("xilinx.com:interface:aximm:1.0 m_axi {signal}\"");
        assert!(block.contains(&interface), "{signal}");
    }
    assert!(!files.contains_key("network_board_block.v"));
}

#[test]
fn crossings_that_are_no_topics_have_their_constraints_in_the_export() {
    // The topic has words in a clock of its own, and no crossing: its ports have that clock, too.
    let graph = (GRAPH.replace("nodes:", "  /turn: { type: std_msgs/msg/Float64 }\nnodes:"))
        .replace("outputs: { lane: /lane }", "outputs: { lane: /lane, turn: /turn }")
        .replace("right, inputs", "right, outputs: { turn: /turn }, inputs")
        .replace("renderer, outputs", "renderer, inputs: { turn: /turn }, outputs");
    let turn = ", /turn: { mapping: hardware, clock: fast, probe: true } }";
    let mapping = MAPPING.replace("width: 128 } }", &format!("width: 128 }}{turn}"));
    let files = generated(&graph, &mapping).unwrap().files;
    let crosses = |file: &&str| files[*file].contains("\n  axis_cdc #(");
    let crossings: Vec<&str> = files["board.f"].lines().filter(crosses).collect();
    assert_eq!(crossings, ["board_board.sv"], "words of the clock `fast` alone");
    assert!(files["vivado.tcl"].contains("set scoped {\n  axis_cdc\n  reset_sync\n}"));
    assert!(files["axis_cdc.xdc"].contains("set_max_delay -datapath_only"));
}

#[test]
fn bursts_of_a_board_say_that_their_memory_is_cached_and_not_secure() {
    let board = &generated(GRAPH, MAPPING).unwrap().files["board_board.sv"];
    for (signal, value) in [("cache", "4'b1111"), ("prot", "3'b010")] {
        for channel in ["aw", "ar"] {
            let assigned = format!("assign m_axi_{channel}{signal} = {value};");
            assert!(board.contains(&assigned), "{assigned}");
        }
    }
}
