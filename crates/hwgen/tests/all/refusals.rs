//! What cannot be made is refused with position, names and advice.

use crate::support;
use crossdock_graph::{Graph, Mapping, PackageDescriptions};
use crossdock_hwgen::{Request, generate};
use crossdock_msg::Schema;
use support::{DRIVE, DRIVE_MAPPING, generated};

/// The only violation of the driving graph with one piece of either file replaced.
fn refused(from: &str, to: &str) -> String {
    let (graph, mapping) = (DRIVE.replacen(from, to, 1), DRIVE_MAPPING.replacen(from, to, 1));
    assert!(graph != DRIVE || mapping != DRIVE_MAPPING, "{from}");
    let violations = generated(&graph, &mapping).unwrap_err();
    assert_eq!(violations.len(), 1, "{violations:#?}");
    violations[0].clone()
}

#[test]
fn a_type_without_bounds_is_refused_with_the_fields_to_bound() {
    assert_eq!(
        refused(
            "/image/blurred: { type: sensor_msgs/msg/Image, bounds: { data: 921600, encoding: 8, \
             header.frame_id: 16 } }",
            "/image/blurred: { type: sensor_msgs/msg/Image, bounds: { data: 9 } }"
        ),
        "g.yaml:7:3: topic `/image/blurred`: sensor_msgs/msg/Image has no longest message, as \
         nothing bounds `header.frame_id`, `encoding`; add `bounds: { header.frame_id: N, encoding: \
         N }` to the topic in the graph file, in elements or bytes of text"
    );
}

#[test]
fn a_bound_that_no_field_can_have_is_refused() {
    assert_eq!(
        refused(
            "{ type: std_msgs/msg/Float64 }",
            "{ type: std_msgs/msg/Float64, bounds: { data: 1 } }"
        ),
        "g.yaml:8:50: topic `/lane`: std_msgs/msg/Float64 has no sequence or text `data` to have a \
         bound; remove it: all its fields have a fixed length"
    );
}

#[test]
fn a_topic_without_a_type_is_refused() {
    assert_eq!(
        refused("{ type: std_msgs/msg/Float64 }", "{}"),
        "g.yaml:8:3: topic `/lane`: the topic is in hardware, and nothing says its message type; add \
         `type: package/msg/Type` to the topic in the graph file"
    );
}

#[test]
fn a_cycle_without_a_fifo_of_a_message_is_refused_and_printed() {
    let cycle = "hardware nodes form a cycle without a FIFO of a whole message, in which each may \
                 wait for the next for ever: green -> /light/green -> red -> /light/red -> green; add \
                 `subscribers: { green: { red: { fifo_messages: 1 } } }` to the topic in the mapping \
                 file, or a FIFO elsewhere in the cycle";
    let place = "m.yaml:22:3: node `green`, topic `/light/red`: ";
    assert_eq!(
        refused(", subscribers: { red: { green: { fifo_messages: 1 } } }", ""),
        format!("{place}{cycle}")
    );
}

#[test]
fn a_fifo_that_is_shorter_than_a_message_breaks_no_cycle() {
    // 24 bytes of header and 300 of text are 41 beats.
    let graph = DRIVE.replace(
        "/light/green: { type: std_msgs/msg/UInt8 }",
        "/light/green: { type: std_msgs/msg/String, bounds: { data: 300 } }",
    );
    let with =
        |fifo: &str| generated(&graph, &DRIVE_MAPPING.replace("green: { fifo_messages: 1", fifo));
    assert!(with("green: { fifo_beats: 32").unwrap_err()[0].contains("form a cycle"));
    assert!(with("green: { fifo_beats: 64").is_ok());
    assert!(with("green: { keep_last: 1").is_ok());
}

#[test]
fn mixed_widths_without_a_converter_are_refused() {
    assert_eq!(
        refused("{ width: 64, converter: true } } }", "{ width: 64 } } }"),
        "m.yaml:20:30: node `follow`, topic `/image/blurred`: `follow.image` takes beats of 64 bits, \
         the topic has 128, and no converter is named; add `converter: true` there, which slows the \
         topic to the narrower side, or give both one width"
    );
}

#[test]
fn names_that_become_one_identifier_are_refused() {
    let graph = DRIVE
        .replace("/light/green: {", "/light/green: { type: std_msgs/msg/UInt8 }\n  /light_green: {")
        .replace(
            "outputs: { command: /cmd_vel } }\n  stop",
            "outputs: { command: /cmd_vel, x: /light_green } }\n  stop",
        );
    let mapping =
        DRIVE_MAPPING.replace("  /lane:", "  /light_green: { mapping: hardware }\n  /lane:");
    let violations = generated(&graph, &mapping).unwrap_err();
    assert_eq!(
        violations,
        [
            "g.yaml:11:3: topic `/light_green`: it becomes `light_green` in hardware, as `/light/green` \
          does; rename one of them"
        ]
    );
    let graph = DRIVE.replace(
        "  map: {",
        "  a_b: { package: drive, type: t, inputs: { c: /lane } }\n  \
         a: { package: drive, type: t, inputs: { b_c: /lane } }\n  map: {",
    );
    let mapping = DRIVE_MAPPING.replace("control, stop]", "control, stop, a_b, a]");
    let violations = generated(&graph, &mapping).unwrap_err();
    assert_eq!(violations.len(), 1);
    let says = "node `a`, topic `/lane`: `a.b_c` becomes `m_axis_a_b_c` in hardware, as `a_b.c` on \
                `/lane` does; rename node, port or topic";
    assert!(violations[0].ends_with(says), "{violations:#?}");
}

#[test]
fn what_a_mapping_says_of_streams_must_fit_the_graph() {
    assert_eq!(
        refused("follow: { image: { width", "folow: { image: { width"),
        "m.yaml:20:29: node `folow`, topic `/image/blurred`: graph `drive` has no such node; did you \
         mean `follow`?"
    );
    assert_eq!(
        refused("follow: { image: { width", "follow: { imag: { width"),
        "m.yaml:20:30: node `follow`, topic `/image/blurred`: the node has no input `imag` on the \
         topic; did you mean `image`?"
    );
    assert_eq!(
        refused("/cmd_vel: { mapping: gateway", "/cmd_vel: { mapping: hardware"),
        "m.yaml:24:3: node `map`, topic `/cmd_vel`: the topic is hardware-mapped, but a software node \
         subscribes to it; map the topic to `gateway`, or move the node to the topic's fabric"
    );
}

#[test]
fn a_message_that_no_fifo_can_hold_is_refused() {
    let large = DRIVE.replace("data: 921600", "data: 300000000");
    let violations = generated(&large, DRIVE_MAPPING).unwrap_err();
    let keep = "a slot of a keep-last FIFO has at most 262144 beats, and";
    assert!(violations.iter().any(|violation| violation.contains(keep)), "{violations:#?}");
}

#[test]
fn a_fabric_without_topics_in_hardware_is_refused() {
    let graph = format!("{DRIVE}  alone: {{ package: drive, type: alone }}\n");
    let mapping = "crossdock: 1\nprocesses: {}\nfabrics:\n  board: { nodes: [alone] }\n";
    let violations = generated(&graph, mapping).unwrap_err();
    assert_eq!(
        violations,
        [
            "m.yaml:4:3: fabric `board` has no topic in hardware: none of its nodes has a port; place nodes \
             there that publish or subscribe"
        ]
    );
}

/// What a graph of a program, not of a file, has for names; what is wrong, one line each.
fn refused_in_a_program(change: impl FnOnce(&mut Graph, &mut Mapping)) -> Vec<String> {
    let mut graph = Graph::from_yaml("g.yaml", DRIVE.as_bytes()).unwrap();
    let mut mapping = Mapping::from_yaml("m.yaml", DRIVE_MAPPING.as_bytes()).unwrap();
    change(&mut graph, &mut mapping);
    let request = Request {
        graph: &graph,
        mapping: &mapping,
        descriptions: &PackageDescriptions::default(),
        fabric: "board",
        types: &|name| Schema::shipped(name).map_err(|error| error.to_string()),
        implementations: &[],
    };
    let violations = generate(&request).unwrap_err();
    violations.iter().map(ToString::to_string).collect()
}

#[test]
fn a_name_that_generated_files_would_have_to_quote_is_refused() {
    const HOSTILE: &str = "lane);\nendmodule\n//";
    let port = refused_in_a_program(|graph, _| {
        let node = graph.nodes.iter_mut().find(|node| node.name == "follow").unwrap();
        HOSTILE.clone_into(&mut node.outputs[0].port);
    });
    let says = "cannot be an identifier in hardware; use letters, digits and underscores";
    assert!(port.iter().any(|line| line.contains(says)), "{port:#?}");
    let named = refused_in_a_program(|graph, _| HOSTILE.clone_into(&mut graph.name));
    assert!(named[0].contains("must not contain"), "{named:#?}");
    assert!(port.iter().all(|line| !line.contains('\n')), "{port:#?}");
}
