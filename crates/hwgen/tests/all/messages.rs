//! Nodes that give a short message for each message, or for each set of messages of one stamp, are
//! their kernels: what they need beside it is generated.

use crate::nodes::Files;

const GRAPH: &str = "\
crossdock: 1
name: g
topics:
  /a: { type: geometry_msgs/msg/PointStamped, external: true, bounds: { header.frame_id: 16 } }
  /b: { type: geometry_msgs/msg/PointStamped, external: true, bounds: { header.frame_id: 64 } }
  /c: { type: geometry_msgs/msg/TwistStamped, bounds: { header.frame_id: 16 } }
nodes:
  node:
    package: p
    type: judge
    inputs: { one: /a, other: /b }
    outputs: { verdict: /c }
    condition: { all_of: [one, other], same: stamp }
";
const MAPPING: &str = "\
crossdock: 1
processes: {}
fabrics: { board: { nodes: [node] } }
topics:
  /a: { mapping: gateway }
  /b: { mapping: gateway }
  /c: { mapping: gateway }
";
const PACKAGE: &str = "\
crossdock: 1
package: p
nodes:
  judge:
    sources: [judge.sv]
    drops: true
    condition: { all_of: [other, one], same: stamp }
    inputs:
      one: { type: geometry_msgs/msg/PointStamped, bounds: { header.frame_id: 16 } }
      other: { type: geometry_msgs/msg/PointStamped, bounds: { header.frame_id: 64 } }
    outputs:
      verdict: { type: geometry_msgs/msg/TwistStamped, bounds: { header.frame_id: 16 } }
";
const SOURCE: &str =
    "module judge (input wire clk); judge_messages u_messages (.clk(clk)); endmodule\n";

fn files() -> Files {
    let [graph, mapping, package, source] = [GRAPH, MAPPING, PACKAGE, SOURCE].map(str::to_owned);
    Files { graph, mapping, package, source, set_up: Vec::new() }
}

/// The same with one input, an image.
fn of_images() -> Files {
    let mut files = files();
    let point = "geometry_msgs/msg/PointStamped, bounds: { header.frame_id: 16";
    let image = "sensor_msgs/msg/Image, bounds: { encoding: 16, data: 4000, header.frame_id: 16";
    let without = |text: &str, part: &str| -> String {
        text.lines().filter(|line| !line.contains(part)).map(|line| format!("{line}\n")).collect()
    };
    files.package = without(&files.package.replace(point, image), "other");
    files.graph = files.graph.replace(
        &point.replace(", ", ", external: true, "),
        &image.replacen(", ", ", external: true, ", 1),
    );
    files.graph = without(&files.graph.replace(", other: /b", ""), "condition");
    files.graph = without(&files.graph, "  /b:");
    files.mapping = without(&files.mapping, "  /b:");
    files
}

#[test]
fn a_node_that_joins_messages_has_all_but_its_kernel_made_for_it() {
    let generated = files().generated().unwrap();
    let list: Vec<&str> = generated.files["nodes.f"].lines().collect();
    for name in ["stamp_join.sv", "message_shell.sv", "judge_one_take.sv", "judge_messages.sv"] {
        assert!(list.contains(&name), "{name}: {list:#?}");
    }
    assert!(!list.contains(&"picture_check.sv"), "{list:#?}");
    let text = &generated.files["judge_messages.sv"];
    for line in [
        "    .INPUTS(2)",
        "  output wire [63:0] one__point__x",
        "  output wire [63:0] other__point__z",
        "  input  wire [63:0] verdict__twist__angular__z",
        // The first input's header is published.
        "    .field_header__stamp__sec(one__header__stamp__sec)",
        "    .field_header__frame_id(one__header__frame_id)",
        "    .header_stamp(one_header_stamp)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("output wire [511:0]") && !text.contains("  wire [511:0] verdict"));
}

#[test]
fn a_node_that_looks_at_pictures_gets_their_data_and_only_pictures() {
    let generated = of_images().generated().unwrap();
    let list: Vec<&str> = generated.files["nodes.f"].lines().collect();
    assert!(list.contains(&"picture_check.sv") && !list.contains(&"stamp_join.sv"), "{list:#?}");
    let text = &generated.files["judge_messages.sv"];
    for line in [
        "  parameter int unsigned CHANNELS = 3",
        "  output wire [31:0] one__height",
        "  parameter int unsigned ONE_BITS = 64",
        "  output wire [ONE_BITS-1:0] one__data__tdata",
        "    .WIDTH(ONE_BITS)",
        "    .WIDTH(VERDICT_BITS)",
        "  input  wire one__data__tready",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("output wire [127:0] one__encoding"), "{text}");
}

/// The same with an input that does not trigger.
fn beside() -> Files {
    let mut files = files();
    let without = |text: &str| -> String {
        let lines = text.lines().filter(|line| !line.contains("condition:"));
        lines.map(|line| format!("{line}\n")).collect()
    };
    files.package = without(&files.package)
        .replace("header.frame_id: 64 } }", "header.frame_id: 64 }, trigger: false }");
    files.graph =
        without(&files.graph).replace("other: /b }", "other: { topic: /b, trigger: false } }");
    files
}

#[test]
fn messages_of_an_input_that_does_not_trigger_are_the_kernels_to_take() {
    let generated = beside().generated().unwrap();
    let list: Vec<&str> = generated.files["nodes.f"].lines().collect();
    assert!(!list.contains(&"stamp_join.sv"), "{list:#?}");
    let text = &generated.files["judge_messages.sv"];
    for line in [
        "  output wire other_came",
        "  input  wire other_go_on",
        "  output wire [31:0] other__header__stamp__sec",
        "  output wire [63:0] other__point__z",
        // What fails of it is told beside what the shell drops, and it keeps the clock running.
        "    .failed(other_failed)",
        "    .passes(passes || other_passes)",
        "    .dropped(told)",
        "  assign dropped = told || untold != 2'd0;",
        "    .field_header__frame_id(one__header__frame_id)",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("output wire [31:0] one__header"), "{text}");
}

#[test]
fn a_node_type_that_cannot_have_one_is_told_why() {
    let refused = |files: Files| {
        let violations = files.generated().unwrap_err();
        assert_eq!(violations.len(), 1, "{violations:#?}");
        let told =
            "p.hardware.yaml:4:3: a source names `judge_messages`, but the node type has none: ";
        let why = violations[0].strip_prefix(told).unwrap_or_else(|| panic!("{violations:#?}"));
        let advice = "; change the node type, or take its messages apart in the node";
        why.strip_suffix(advice).expect("the advice").to_owned()
    };
    let with = |from: &str, to: &str| {
        let mut files = files();
        assert!(files.package.contains(from), "{from}");
        files.package = files.package.replace(from, to);
        files
    };
    let mut free = with("    condition: { all_of: [other, one], same: stamp }\n", "");
    free.graph = free.graph.replace("    condition: { all_of: [one, other], same: stamp }\n", "");
    assert!(refused(free).contains("`condition: { all_of: [...], same: stamp }` of all of them"));
    let longer = with(
        "outputs:\n      verdict: { type: geometry_msgs/msg/TwistStamped, bounds: { \
                       header.frame_id: 16",
        "outputs:\n      verdict: { type: \
                       geometry_msgs/msg/TwistStamped, bounds: { header.frame_id: 15",
    );
    assert!(refused(longer).starts_with("the bounds of header.frame_id must be the same"));
    let absent = with("header.frame_id: 64 } }", "header.frame_id: 64 }, optional: true }");
    assert_eq!(refused(absent), "all its inputs must be connected");
    let mut third = beside();
    let input = "      third: { type: geometry_msgs/msg/PointStamped, trigger: false, bounds: { \
                 header.frame_id: 64 } }\n    outputs:";
    third.package = third.package.replace("    outputs:", input);
    third.graph = third
        .graph
        .replace("trigger: false } }", "trigger: false }, third: { topic: /b, trigger: false } }");
    let told = "beside an input that does not trigger it must have exactly one that does";
    assert_eq!(refused(third), told);
    let mut short = of_images();
    short.package = short.package.replace("encoding: 16", "encoding: 4");
    short.graph = short.graph.replace("encoding: 16", "encoding: 4");
    assert_eq!(refused(short), "the bound of an image's encoding must be 5 to 64");
    let mut same = files();
    for text in [&mut same.package, &mut same.graph] {
        *text = text.replace("one", "OTHER");
    }
    assert_eq!(refused(same), "the names of its ports must differ in more than their case");
    let mut bare = of_images();
    for text in [&mut bare.package, &mut bare.graph] {
        *text = text.replace(
            "geometry_msgs/msg/TwistStamped, bounds: { header.frame_id: 16 }",
            "std_msgs/msg/UInt8",
        );
    }
    assert!(refused(bare).contains("a std_msgs/msg/Header `header`"));
}
