//! Pictures that a node cannot work on: the run ends with the reason, wherever the mapping has the
//! node.

use super::{CAMERA, CAMERA_STREAMED, COURSE, crossdock, written};
use crossdock_suite::Run;
use serde_json::Value;

/// A graph, a parameter of one of its nodes for which its pictures do not fit, the node, its
/// topics, and what is said in software and in hardware.
const TOO_LARGE: [[&str; 6]; 4] = [
    [
        COURSE,
        "compensation.max_bytes:=900000",
        "compensation",
        "/camera/image_raw: { mapping: gateway }, /camera/image_compensated: { mapping: gateway }",
        "has 921600 bytes, but this node takes 900000 bytes at most",
        "it is larger than the node has memory for",
    ],
    [
        COURSE,
        "blur.max_width:=632",
        "blur",
        "/camera/image_compensated: { mapping: gateway }, /camera/image_blurred: { mapping: gateway }",
        "is 640 pixels wide",
        "it is larger than the node has memory for",
    ],
    [
        COURSE,
        "red_light.width:=632",
        "red_light",
        "/camera/image_compensated: { mapping: gateway }, /traffic_light/green: { mapping: gateway }, \
         /traffic_light/red: { mapping: gateway }",
        "is 640 x 480, but this node was set up for 632 x 480",
        "it has another size",
    ],
    [
        CAMERA,
        "ResizeNode.max_width:=600",
        "ResizeNode",
        "/camera/image_rect: { mapping: gateway }, /resize/image_raw: { mapping: gateway }",
        "max_width is 600 pixels",
        "it is larger than the node has memory for",
    ],
];
/// All nodes of both graphs.
const NODES: [(&str, &[&str]); 2] = [
    (
        COURSE,
        &[
            "simulator",
            "compensation",
            "blur",
            "planner",
            "polyfit",
            "red_light",
            "green_light",
            "control",
            "lights",
            "features",
            "snapshot",
        ],
    ),
    (CAMERA, &["camera", "RectifyNode", "ResizeNode"]),
];

/// Runs a graph, which ends with this reason. Gives all that is said.
fn ends_with(run: &Run, arguments: &[&str], reason: &str) -> String {
    let all = [&["run"], arguments, &["--rate", "max", "--json"]].concat();
    let output = crossdock(run, &all).output().expect("crossdock starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    let summary: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    assert_eq!(output.status.code(), Some(1), "{summary:#}");
    assert_eq!(summary["ok"], false, "{summary:#}");
    let said = summary["end"].as_str().expect("why it ended");
    assert!(said.contains(reason), "{arguments:?}: {said}");
    assert!(errors.ends_with(&format!("error: {said}\n")), "{arguments:?}: {errors}");
    said.to_owned()
}

#[test]
fn a_picture_that_a_node_cannot_work_on_ends_the_run_with_the_reason_in_hardware_too() {
    let run = Run::new("fabric_picture");
    let with = |mapping: &str, reason: &str| {
        ends_with(&run, &[CAMERA, "--mapping", mapping, "-p", "camera.width:=320"], reason)
    };
    with("apps/image_pipeline/camera.chain.mapping.yaml", "the image is 320 x 480");
    let refused = "fabric `board`: node `RectifyNode` has refused a message: it has another size";
    let said = with(CAMERA_STREAMED, refused);
    for known in [
        "input `image`: /camera/image_raw from `camera`, the last message there was published at ",
        " with height = 480, width = 320, step = 960; ",
        "its module has calibration = apps/image_pipeline/hardware/camera.yaml, projection = ",
    ] {
        assert!(said.contains(known), "{known}: {said}");
    }
    for [graph, parameter, _, _, reason, _] in TOO_LARGE {
        ends_with(&run, &[graph, "-p", parameter], reason);
    }
}

/// Resize alone on a board.
const RESIZE_ON_A_BOARD: &str = "\
crossdock: 1
processes: { drive: { executors: [ { mode: chain, nodes: [camera, RectifyNode] } ] } }
fabrics: { board: { nodes: [ResizeNode] } }
topics: { /camera/image_rect: { mapping: gateway }, /resize/image_raw: { mapping: gateway } }
";

#[test]
fn a_target_that_can_never_fit_is_refused_before_the_first_picture_in_hardware_too() {
    let run = Run::new("fabric_target");
    let mapping = written(&run, "resize.mapping.yaml", RESIZE_ON_A_BOARD);
    let target = ["-p", "ResizeNode.width:=641", "-p", "ResizeNode.height:=480"];
    let of = |more: &[&str]| {
        let all = [&["run", CAMERA, "--rate", "max", "--duration", "0.1"], more].concat();
        let output = crossdock(&run, &all).output().expect("crossdock starts");
        // The end of a run is on its table, and what is refused before it begins is an error.
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let whys = ["641 x 480 pixels", "WIDTH x HEIGHT pixels"];
    for (mapping, why) in [&[][..], &["--mapping", &mapping]].into_iter().zip(whys) {
        let (code, said) = of(&[mapping, &target].concat());
        assert_eq!(code, Some(1), "{said}");
        for part in ["ResizeNode", why, "three bytes each, are more than"] {
            assert!(said.contains(part), "`{part}` is missing in: {said}");
        }
    }
    // Wider than `max_width`, which is about what comes.
    let (code, said) = of(&["-p", "ResizeNode.width:=700", "-p", "ResizeNode.height:=400"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
#[ignore = "long: four boards"]
fn pictures_that_a_node_has_no_room_for_end_the_run_in_hardware_as_in_software() {
    let run = Run::new("fabric_large_picture");
    for [graph, parameter, node, topics, _, reason] in TOO_LARGE {
        let others = NODES.iter().find(|(of, _)| *of == graph).expect("its nodes").1;
        let others: Vec<&str> = others.iter().copied().filter(|it| *it != node).collect();
        let mapping = format!(
            "crossdock: 1\nprocesses: {{ drive: {{ executors: [ {{ mode: chain, nodes: [{}] }} ] }} \
             }}\nfabrics: {{ board: {{ nodes: [{node}] }} }}\ntopics: {{ {topics} }}\n",
            others.join(", ")
        );
        let mapping = written(&run, "large.mapping.yaml", &mapping);
        let reason = format!("fabric `board`: node `{node}` has refused a message: {reason}");
        ends_with(&run, &[graph, "--mapping", &mapping, "-p", parameter], &reason);
    }
}
