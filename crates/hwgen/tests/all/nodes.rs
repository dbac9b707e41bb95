//! Nodes with an implementation are part of the board; what does not fit is refused with position,
//! names and advice.

use crossdock_graph::{Graph, HardwarePackage, Mapping, PackageDescriptions, Violation};
use crossdock_hwgen::{Generated, Implementation, Request, SourceText, generate};
use crossdock_msg::Schema;

const GRAPH: &str = "\
crossdock: 1
name: g
topics:
  /a: { type: sensor_msgs/msg/Image, external: true, bounds: { header.frame_id: 32, encoding: 16, data: 4000 } }
  /b: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 4000 } }
nodes:
  first: { package: p, type: filter, inputs: { image: /a }, outputs: { image: /b }, parameters: { level: -7 } }
  second: { package: p, type: filter, inputs: { image: /b } }
  watch: { package: p, type: watch, inputs: { image: /b } }
";
const MAPPING: &str = "\
crossdock: 1
processes: {}
fabrics: { board: { nodes: [first, second, watch] } }
topics:
  /a: { mapping: gateway }
  /b: { mapping: hardware }
";
const PACKAGE: &str = "\
crossdock: 1
package: p
nodes:
  filter:
    module: filter_core
    sources: [rtl/filter_core.sv, rtl/filter.svh]
    parameters: { level: 3, size: 8 }
    inputs:
      image: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 5000 } }
    outputs:
      image: { type: sensor_msgs/msg/Image, optional: true, bounds: { header.frame_id: 8, encoding: 8, data: 1 } }
";
/// It takes messages apart, and sends frames of its own making.
const SOURCE: &str = "\
`include \"filter.svh\"
module filter_core #(parameter int LEVEL = 0, parameter int SIZE = 1) (input wire clk); // pixel_levels
  filter_image_take u_take (.clk(clk), .replay(1'b0));
  memif_mmu u_mmu (.clk(clk));
endmodule
";
const INCLUDED: &str = "// what filter_core includes\n";

/// Graph, mapping and a package with one source.
#[derive(Clone)]
pub(crate) struct Files {
    pub(crate) graph: String,
    pub(crate) mapping: String,
    pub(crate) package: String,
    pub(crate) source: String,
    /// Values that sources were made anew for.
    pub(crate) set_up: Vec<String>,
}

impl Files {
    fn new() -> Self {
        let [graph, mapping, package, source] =
            [GRAPH, MAPPING, PACKAGE, SOURCE].map(str::to_owned);
        Self { graph, mapping, package, source, set_up: Vec::new() }
    }

    pub(crate) fn generated(&self) -> Result<Generated, Vec<String>> {
        let lines = |violations: Vec<Violation>| -> Vec<String> {
            violations.iter().map(ToString::to_string).collect()
        };
        let package = HardwarePackage::from_yaml("p.hardware.yaml", self.package.as_bytes());
        let package = package.map_err(lines)?;
        let implementations: Vec<Implementation<'_>> = (package.nodes.iter())
            .map(|node| {
                let sources = node.sources.iter().map(|name| SourceText {
                    name: name.clone(),
                    text: if name.ends_with(".svh") { INCLUDED } else { &self.source }.to_owned(),
                });
                let sources = sources.collect();
                let set_up = self.set_up.clone();
                Implementation { package: &package, node, sources, set_up }
            })
            .collect();
        let request = Request {
            graph: &Graph::from_yaml("g.yaml", self.graph.as_bytes()).map_err(lines)?,
            mapping: &Mapping::from_yaml("m.yaml", self.mapping.as_bytes()).map_err(lines)?,
            descriptions: &PackageDescriptions {
                binaries: Vec::new(),
                hardware: vec![package.clone()],
            },
            fabric: "board",
            types: &|name| Schema::shipped(name).map_err(|error| error.to_string()),
            implementations: &implementations,
        };
        generate(&request).map_err(lines)
    }
}

/// The only violation with one piece of one of the files replaced.
#[track_caller]
fn refused(from: &str, to: &str) -> String {
    let violations = all_refused(&[(from, to)]);
    assert_eq!(violations.len(), 1, "{violations:#?}");
    violations[0].clone()
}

#[track_caller]
fn all_refused(changes: &[(&str, &str)]) -> Vec<String> {
    let mut files = Files::new();
    for (from, to) in changes {
        let Files { graph, mapping, package, source, .. } = &mut files;
        let mut texts = [graph, mapping, package, source].into_iter();
        let text = texts.find(|text| text.contains(from)).expect("the piece is somewhere");
        *text = text.replacen(from, to, 1);
    }
    files.generated().unwrap_err()
}

/// Two nodes of the board have more memory and more multipliers than some parts.
const LARGE: &str =
    "    area: { lut: 100, ff: 200, bram18: 400, dsp: 700, in_uram: { bram18: 390, uram: 30 } }\n";

/// Files in which the node type has an area.
fn with_area(area: &str) -> Files {
    let mut files = Files::new();
    let sources = "    sources: [rtl/filter_core.sv, rtl/filter.svh]\n";
    assert!(files.package.contains(sources));
    files.package = files.package.replacen(sources, &format!("{sources}{area}"), 1);
    files
}

#[test]
fn nodes_count_in_the_area_and_a_part_has_room_for_them_or_the_warning_says_what_is_short() {
    let mut files = with_area(LARGE);
    // The third node is an edge of the board: nobody knows what it takes.
    let made = files.generated().unwrap();
    let report = &made.files["report.md"];
    for node in ["first", "second"] {
        let row = format!("| {node} | `filter_core` | 1 | 100 | 200 | 400 | 700 |\n");
        assert!(report.contains(&row), "{report}");
    }
    let all = report.lines().find(|line| line.starts_with("| all | ")).unwrap();
    let board = with_area("    area: { lut: 0, ff: 0, bram18: 0, dsp: 0 }\n").generated().unwrap();
    let rest = board.files["report.md"].lines().find(|line| line.starts_with("| all | "));
    let figures = |line: &str| -> Vec<u64> {
        line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect()
    };
    let [count, lut, ff, bram18, dsp] = figures(rest.unwrap())[..] else { panic!("{rest:?}") };
    assert_eq!(figures(all), [count, lut + 200, ff + 400, bram18 + 800, dsp + 1400]);
    assert!(report.contains("\nNot in the sum: `watch`, as no hardware package file says "));
    let fits = format!(
        "| 624 | 96 | 1728 | as far as is known: yes, with {} blocks and 30 of ",
        bram18 + 410
    );
    assert!(report.contains(&fits), "{report}");
    assert!(report.contains("| 64 | 1248 | as far as is known: no |\n"), "{report}");
    let [warning] = made.warnings.as_slice() else { panic!("{:?}", made.warnings) };
    let (told, small) = warning.split_once(". That is more than some parts have: ").unwrap();
    let takes = format!(
        "network `network_board` and its nodes take about {} blocks of 18 kbit, {} look-up tables, {} \
         flip-flops and 1400 multipliers, without `watch`, as no hardware package file says what they \
         take (`area`), with other values of `LEVEL` of `first`",
        bram18 + 800,
        lut + 200,
        ff + 400
    );
    assert_eq!(told, takes);
    let short = "XCK26 (KV260) has 1248 multipliers, LFE5UM-85F (boards with an \
                 ECP5-85) has 208 blocks, 156 multipliers; shorten ";
    assert!(small.starts_with(short), "{warning}");
    // With a figure of each node the answer is one of the whole board, but for a node whose figure
    // is of another value of its parameter.
    files.package.push_str(WATCH);
    let made = files.generated().unwrap();
    let report = &made.files["report.md"];
    assert!(!report.contains("Not in the sum"), "{report}");
    let unlike = "\nThe figures of nodes are of other values of `LEVEL` of `first`.\n";
    assert!(report.contains(unlike), "{report}");
    assert!(report.contains("| 624 | 96 | 1728 | as far as is known: yes, with "), "{report}");
    // The value has nothing to do with the area, or is the one that the figure is of.
    let mut free = files.clone();
    let (from, to) = ("parameters: { level", "sized_by: [size]\n    parameters: { level");
    free.package = free.package.replacen(from, to, 1);
    let mut default = files.clone();
    default.graph = default.graph.replacen("{ level: -7 }", "{ level: 3 }", 1);
    for changed in [free, default] {
        assert!(changed.package != files.package || changed.graph != files.graph);
        let made = changed.generated().unwrap();
        let report = &made.files["report.md"];
        assert!(!report.contains("other values of"), "{report}");
        assert!(report.contains("| 624 | 96 | 1728 | yes, with "), "{report}");
        assert!(report.contains("| 64 | 1248 | no |\n"), "{report}");
        assert!(!made.warnings[0].contains("without"), "{:?}", made.warnings);
    }
    // A part that the mapping names has to have room.
    let mut named = files.clone();
    let on = |files: &mut Files, part: &str| {
        let fabric = "fabrics: { board: {";
        assert!(files.mapping.contains(fabric));
        files.mapping = files.mapping.replacen(fabric, &format!("{fabric} part: {part},"), 1);
        files.generated()
    };
    let made = on(&mut named.clone(), "kv260").unwrap();
    assert!(
        made.room_is_in_doubt
            && made.warnings[0].contains("than some parts have: XCK26 (KV260) has")
    );
    // A sum that fits may be too low.
    let made = on(&mut named.clone(), "ZCU104").unwrap();
    let told = "whether XCZU7EV (ZCU104) has room is not known: the figures of nodes are of other values of \
                `LEVEL` of `first`; synthesise";
    assert!(made.room_is_in_doubt && made.warnings[0].starts_with(told), "{:?}", made.warnings);
    named.graph = named.graph.replacen("{ level: -7 }", "{ level: 3 }", 1);
    let refused = on(&mut named.clone(), "XCK26").unwrap_err();
    assert!(refused[0].starts_with("m.yaml:") && refused[0].contains("1248 multipliers; shorten"));
    let made = on(&mut named.clone(), "ZCU104").unwrap();
    assert!(!made.room_is_in_doubt && made.warnings.is_empty(), "{:?}", made.warnings);
    let refused = on(&mut named, "zcu102").unwrap_err();
    let told =
        "of a part or board `zcu102`; name one of XCZU7EV (ZCU104), XCK26 (KV260), LFE5UM-85F";
    assert!(refused[0].contains(told), "{refused:?}");
    // A source was made anew for a value that the area depends on, as far as is said.
    let mut anew = files.clone();
    anew.graph = anew.graph.replacen("{ level: -7 }", "{ level: 3 }", 1);
    anew.set_up = vec!["gain".to_owned()];
    let report = &anew.generated().unwrap().files["report.md"];
    assert!(report.contains("other values of `gain` of `first`"), "{report}");
}

const WATCH: &str = "  \
  watch:
    module: filter_core
    sources: [rtl/filter_core.sv, rtl/filter.svh]
    area: { lut: 0, ff: 0, bram18: 0, dsp: 0 }
    inputs:
      image: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 5000 } }
";

#[test]
fn nodes_without_an_area_are_named_in_the_report() {
    let made = Files::new().generated().unwrap();
    let named = "\nNot in the sum: `first`, `second`, `watch`, as no hardware package file says ";
    assert!(made.files["report.md"].contains(named), "{}", made.files["report.md"]);
    assert!(made.files["report.md"].contains("| 624 | 96 | 1728 | as far as is known: yes |"));
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
}

#[test]
fn nodes_are_wired_to_their_streams_with_their_ids_and_parameters() {
    let generated = Files::new().generated().unwrap();
    let board = &generated.files["board_board.sv"];
    let instance = |name: &str| {
        let from = board.find(&format!(") {name} (\n")).expect("an instance");
        let before = board[..from].rfind("  filter_core #(").expect("its module");
        board[before..].split("  );").next().expect("its end").to_owned()
    };
    let first = instance("u_node__first");
    for line in [
        ".LEVEL(-7)",
        ".SIZE(8)",
        ".clk(ticks_node__first)",
        ".busy(busy_node__first)",
        ".s_axis_image_tdata(m_axis_first_image_tdata)",
        ".s_axis_image_tready(m_axis_first_image_tready)",
        ".m_axis_image_tdata(s_axis_first_image_tdata)",
        ".image_publisher_id(16'd2)",
    ] {
        assert!(first.contains(&format!("    {line}")), "{line}\n{first}");
    }
    assert!(generated.network.ports().find(|it| it.2.publisher_id == 2).unwrap().1);
    let second = instance("u_node__second");
    for line in [
        ".LEVEL(3)",
        ".m_axis_image_tready(1'b1)",
        ".m_axis_image_tdata()",
        ".image_publisher_id(16'd0)",
    ] {
        assert!(second.contains(&format!("    {line}")), "{line}\n{second}");
    }
    // The node without an implementation stays an edge, and no other.
    let edges: Vec<&str> = board
        .lines()
        .filter(|line| {
            line.contains("_axis_")
                && line.starts_with("  ")
                && (line.contains("input wire") || line.contains("output wire"))
                && line.contains("tvalid")
        })
        .collect();
    assert_eq!(edges.len(), 1, "{edges:#?}");
    assert!(edges[0].contains("m_axis_watch_image_tvalid"), "{edges:#?}");
    let active = board.lines().find(|line| line.contains("assign active")).expect("it is there");
    for part in [
        "busy_node__first",
        "busy_node__second",
        "m_axis_watch_image_tvalid",
        "s_axis_first_image_tvalid",
        "allowed_arvalid",
        "s_axis_gateway_a_tvalid",
        "restart_busy",
    ] {
        assert!(active.contains(part), "{part}: {active}");
    }
}

#[test]
fn a_board_has_what_its_nodes_name_and_no_more() {
    let files = Files::new().generated().unwrap().files;
    let nodes: Vec<&str> = files["nodes.f"].lines().collect();
    // `memif_mmu` has a part; the comment and the port's name bring nothing.
    assert_eq!(
        nodes,
        [
            "memif_gate.sv",
            "memif_mmu.sv",
            "frame_take.sv",
            "filter_image_take.sv",
            "filter_core.sv"
        ]
    );
    let board: Vec<&str> = files["board.f"].lines().collect();
    for name in &nodes {
        assert_eq!(board.iter().filter(|it| it == &name).count(), 1, "{name}: {board:#?}");
    }
    assert_eq!(board.last(), Some(&"board_board.sv"));
    assert_eq!(files["filter.svh"], INCLUDED, "included files lie beside the sources");
    let take = &files["filter_image_take.sv"];
    assert!(take.contains("module filter_image_take #(\n  parameter int unsigned WIDTH = 64"));
    assert!(take.contains("input `image` of node type `filter`"), "{take}");
    assert!(take.contains("32'd5000};"), "the bound of the port, not that of a topic");
    assert!(files["filter_image_publish.sv"].contains("32'd1};"));
    assert!(files["network.json"].contains("\"module\": \"filter_core\""));
}

#[test]
fn a_crossing_that_a_node_names_has_its_constraints_in_the_export() {
    let mut files = Files::new();
    let scoped = |files: &Files| {
        let files = files.generated().unwrap().files;
        let (_, rest) = files["vivado.tcl"].split_once("set scoped {\n").unwrap();
        (rest.split_once("\n}").unwrap().0.to_owned(), files.contains_key("axis_cdc.xdc"))
    };
    assert_eq!(scoped(&files), ("  reset_sync".to_owned(), false));
    files.source = files.source.replace("memif_mmu u_mmu", "axis_cdc u_cdc");
    assert_eq!(scoped(&files), ("  axis_cdc\n  reset_sync".to_owned(), true));
}

#[test]
fn without_implementations_nothing_changes_but_what_is_inside() {
    let with = Files::new().generated().unwrap();
    let mut files = Files::new();
    files.package = files.package.replace("package: p", "package: q");
    let without = files.generated().unwrap();
    assert!(without.network.nodes.is_empty() && !without.files.contains_key("nodes.f"));
    assert_eq!(with.files["sources.f"], without.files["sources.f"]);
    assert_ne!(with.identity, without.identity, "the host sees another board");
    for name in ["hmt_a.sv", "hmt_b.sv", "layout_a.sv", "registers.md"] {
        let text = |it: &Generated| it.files[name].replace(&format!("{:#018x}", it.identity), "");
        assert_eq!(text(&with), text(&without), "{name}");
    }
}

#[test]
fn a_topic_with_longer_messages_than_an_input_has_room_for_is_refused() {
    assert_eq!(
        refused(
            "external: true, bounds: { header.frame_id: 32, encoding: 16, data: 4000",
            "external: true, bounds: { header.frame_id: 32, encoding: 16, data: 5001"
        ),
        "g.yaml:4:99: node `first`, topic `/a`: messages of the topic have up to 5001 in `data`, input \
         `image` of `filter` has room for 5000 (p.hardware.yaml); lower the topic's bound of `data` in \
         the graph file"
    );
    assert_eq!(
        refused(
            "header.frame_id: 8, encoding: 8, data: 1 }",
            "header.frame_id: 33, encoding: 8, data: 1 }"
        ),
        "g.yaml:5:48: node `first`, topic `/b`: output `image` of `filter` publishes up to 33 in \
         `header.frame_id` (p.hardware.yaml), messages of the topic have 32 at most; raise the topic's \
         bound of `header.frame_id` in the graph file"
    );
}

#[test]
fn a_stream_of_another_width_needs_a_converter() {
    let violations = all_refused(&[
        ("parameters: { level: 3", "width: 128\n    parameters: { level: 3"),
        ("second: { package: p, type: filter", "second: { package: p, type: watch"),
    ]);
    assert_eq!(
        violations,
        [
            "m.yaml:5:3: node `first`, topic `/a`: input `image` of `filter` has 128 bits \
             (p.hardware.yaml), its stream has 64; add `subscribers: { first: { image: { width: 128, \
             converter: true } } }` to the topic in the mapping file",
            "m.yaml:6:3: node `first`, topic `/b`: output `image` of `filter` has 128 bits \
             (p.hardware.yaml), its stream has 64; add `publishers: { first: { image: { width: 128, \
             converter: true } } }` to the topic in the mapping file",
        ]
    );
    let mut files = Files::new();
    files.package =
        files.package.replace("parameters: { level: 3", "width: 128\n    parameters: { level: 3");
    files.graph = files
        .graph
        .replace("second: { package: p, type: filter", "second: { package: p, type: watch");
    let port = "{ first: { image: { width: 128, converter: true } } }";
    files.mapping = files.mapping.replace("gateway }", &format!("gateway, subscribers: {port} }}"));
    files.mapping =
        files.mapping.replace("hardware }", &format!("hardware, publishers: {port} }}"));
    let board = files.generated().unwrap().files["board_board.sv"].clone();
    assert!(board.contains("wire [127:0] m_axis_first_image_tdata;"), "{board}");
}

#[test]
fn a_port_with_widths_has_the_width_of_its_stream_and_its_module_is_told() {
    let mut files = Files::new();
    files.package = files.package.replace("data: 5000 }", "data: 5000 }, widths: [64, 128]");
    files.graph = files
        .graph
        .replace("second: { package: p, type: filter", "second: { package: p, type: watch");
    let of = |files: &Files| {
        let generated = files.generated().unwrap();
        let width = generated.network.nodes[0].inputs[0].width;
        (width, generated.files["board_board.sv"].clone())
    };
    let (width, board) = of(&files);
    assert_eq!(width, 64);
    assert!(board.contains("    .IMAGE_BITS(64)"), "{board}");
    files.mapping = files
        .mapping
        .replace("gateway }", "gateway, width: 128, gateway: { width: 64, converter: true } }");
    let (width, board) = of(&files);
    assert_eq!(width, 128);
    assert!(board.contains("    .IMAGE_BITS(128)"), "{board}");
    assert!(board.contains("wire [127:0] m_axis_first_image_tdata;"), "{board}");
    // The output has none.
    assert!(board.contains("wire [63:0] s_axis_first_image_tdata;"), "{board}");
    files.mapping = files.mapping.replace("width: 128", "width: 256");
    assert_eq!(
        files.generated().unwrap_err(),
        ["m.yaml:5:3: node `first`, topic `/a`: input `image` of `filter` has 64 or 128 bits \
          (p.hardware.yaml), its stream has 256; add `subscribers: { first: { image: { width: 128, \
          converter: true } } }` to the topic in the mapping file"]
    );
}

#[test]
fn a_node_has_one_clock() {
    assert_eq!(
        refused(
            "/a: { mapping: gateway }",
            "/a: { mapping: gateway, subscribers: { first: { image: { clock: fast } } } }"
        ),
        "m.yaml:6:3: node `first`, topic `/b`: output `image` has the clock `clk`, port `image` of the \
         same node `fast_clk`: a node has one clock; give all ports of the node one `clock`; a crossing \
         stands before them"
    );
}

#[test]
fn ports_and_parameters_must_be_those_of_the_node_type() {
    assert_eq!(
        refused("parameters: { level: -7 }", "parameters: { levels: -7 }"),
        "g.yaml:7:107: node `first`: `filter` has no parameter `levels`; did you mean `level`?"
    );
    // Every node has this one, which is about where its time comes from.
    let mut timed = Files::new();
    timed.graph = timed.graph.replacen("level: -7", "level: -7, use_sim_time: true", 1);
    assert!(timed.generated().is_ok());
    let wide = refused("parameters: { level: -7 }", "parameters: { level: 3000000000 }");
    assert_eq!(
        wide,
        "g.yaml:7:106: node `first`: parameter `level` must be an integer of 32 bits in the module; choose \
         -2147483648 to 2147483647"
    );
    let types = all_refused(&[(
        "/b: { type: sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 4000 } }",
        "/b: { type: std_msgs/msg/UInt8 }",
    )]);
    assert_eq!(
        types,
        [
            "g.yaml:7:79: node `first`, topic `/b`: output `image` of `filter` is of type \
             `sensor_msgs/msg/Image` (p.hardware.yaml), the topic of type `std_msgs/msg/UInt8`; connect \
             it to another topic, or make the types the same",
            "g.yaml:8:56: node `second`, topic `/b`: input `image` of `filter` is of type \
             `sensor_msgs/msg/Image` (p.hardware.yaml), the topic of type `std_msgs/msg/UInt8`; connect \
             it to another topic, or make the types the same",
        ]
    );
}

#[test]
fn a_node_on_a_topic_in_host_memory_has_a_gateway_of_its_own() {
    let mut files = Files::new();
    files.mapping = files.mapping.replace("/a: { mapping: gateway }", "/a: { mapping: software }");
    let generated = files.generated().unwrap();
    let direct = generated.network.gateways().filter(|topic| topic.direct).map(|it| it.shown());
    assert_eq!(direct.collect::<Vec<_>>(), ["/a to first.image"]);
    let board = &generated.files["board_board.sv"];
    assert!(board.contains(".s_axis_image_tdata(m_axis_first_image_tdata)"), "{board}");
}

#[test]
fn names_that_are_taken_are_refused() {
    assert_eq!(
        refused("endmodule", "endmodule module axis_fifo; endmodule"),
        "p.hardware.yaml:6:15: the source `rtl/filter_core.sv` defines `axis_fifo`, a name that is \
         taken: a module of the hardware library; rename the module or package"
    );
    assert_eq!(
        refused("endmodule", "endmodule package layout_b; endpackage"),
        "p.hardware.yaml:6:15: the source `rtl/filter_core.sv` defines `layout_b`, a name that is taken: \
         generated for topic `/b`; rename the module or package"
    );
    let found = refused("endmodule", "endmodule module filter_image_publish; endmodule");
    assert_eq!(
        found,
        "p.hardware.yaml:11:7: its adapter would be called `filter_image_publish`, a name that is \
         taken: `rtl/filter_core.sv` of `filter`; rename the port, the node type, or the other one"
    );
    let found = all_refused(&[("[rtl/filter_core.sv,", "[rtl/gateway.sv,")]);
    assert_eq!(
        found[0],
        "p.hardware.yaml:6:15: the source `rtl/gateway.sv` cannot be called `gateway.sv`: that is a \
         module of the hardware library; rename the file"
    );
}

#[test]
fn two_node_types_may_share_sources_and_not_a_name() {
    let other = "  other:\n    module: filter_core\n    sources: [rtl/filter_core.sv]\n    inputs:\n      image: { type: \
                 sensor_msgs/msg/Image, bounds: { header.frame_id: 32, encoding: 16, data: 5000 } }\n";
    let mut files = Files::new();
    files.package.push_str(other);
    files.graph = files.graph.replace("type: watch", "type: other");
    let shared = files.generated().unwrap();
    assert_eq!(shared.network.nodes.len(), 3);
    assert_eq!(shared.files["nodes.f"].matches("filter_core.sv").count(), 1);
    let mut two_files = files.clone();
    two_files.package = two_files.package.replace("[rtl/filter_core.sv]", "[rtl/other.sv]");
    assert_eq!(
        two_files.generated().unwrap_err(),
        [
            "p.hardware.yaml:14:15: the source `rtl/other.sv` defines `filter_core`, a name that is taken: \
          `rtl/filter_core.sv` of `filter`; rename the module or package"
        ]
    );
    files.package = files.package.replace(
        "module: filter_core\n    sources: [rtl/filter_core.sv]\n",
        "module: nobody\n    sources: [rtl/filter_core.sv]\n",
    );
    assert_eq!(
        files.generated().unwrap_err(),
        [
            "p.hardware.yaml:13:13: no source defines the module `nobody`; name the file with it under \
          `sources`, or the module under `module`"
        ]
    );
}

#[test]
fn what_a_node_drops_is_counted_in_a_word_of_the_board_behind_those_of_the_network() {
    let mut files = Files::new();
    let plain = files.generated().unwrap();
    assert!(!plain.files["board.f"].contains("event_count"));
    files.package = files
        .package
        .replace("    module: filter_core\n", "    module: filter_core\n    drops: true\n");
    let generated = files.generated().unwrap();
    let of = |name: &str| generated.registers.iter().find(|it| it.name == name).unwrap();
    let (first, second) = (of("first.dropped"), of("second.dropped"));
    let reads = plain.registers.iter().filter(|it| it.access == "read").count() as u32;
    assert_eq!((first.address, second.address), (8 * reads, 8 * reads + 8));
    assert_eq!((first.bits, first.access), (16, "read"));
    assert_eq!(
        (first.counts[0].of.as_str(), first.counts[0].at.as_str()),
        ("first", "filter of p")
    );
    assert!(!generated.registers.iter().any(|it| it.name == "watch.dropped"), "it does not say so");
    let board = &generated.files["board_board.sv"];
    for part in [
        format!("  wire [{}:0] status;", 64 * (reads + 2) - 1),
        format!(".status(status[{}:0])", 64 * reads - 1),
        ".dropped(dropped_node__second)".to_owned(),
        format!(".count(status[{} +: 16])", 64 * (reads + 1)),
    ] {
        assert!(board.contains(&part), "{part} is not in {board}");
    }
    assert!(generated.files["board.f"].lines().any(|name| name == "event_count.sv"));
    assert!(generated.files["registers.md"].contains("`first.dropped`"));
    // The network is the same without its board, and a host can tell the boards apart.
    let network = format!("constexpr uint32_t status_words = {reads};");
    assert!(generated.files["wrapper.cpp"].contains(&network));
    assert_ne!(generated.identity, plain.identity);
}
