//! Pictures that a node cannot work on: the run ends with the reason, wherever the mapping has the
//! node.

use super::{CAMERA, CAMERA_STREAMED, COURSE, crossdock, written};
use crossdock_suite::Run;
use crossdock_test_support::workspace;
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;

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
/// Changes the message of a picture.
type Spoil = fn(&mut [u8]);
/// What makes of a picture none for a node, and what is said then in software and in hardware: both
/// name the same next step.
const SPOILED: [(Spoil, [&str; 2]); 2] = [
    (
        with_another_encoding,
        [
            "the image is `8UC3`",
            "it has another encoding than the node works on: convert it before",
        ],
    ),
    (
        with_padded_rows,
        [
            "1928 bytes per row of 640 pixels: send packed rows",
            "it has bytes between its rows: send packed rows",
        ],
    ),
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

/// Where the encoding and the step of an image message in CDR stand.
fn places(message: &[u8]) -> [usize; 2] {
    let word = |at: usize| {
        u32::from_le_bytes(message[at..at + 4].try_into().expect("four bytes")) as usize
    };
    // Behind the stamp and the frame's name, height, width and the length of the encoding.
    let encoding = (16 + word(12)).next_multiple_of(4) + 12;
    // Behind the encoding a byte that says how bytes are ordered.
    let step = (encoding + word(encoding - 4) + 1).next_multiple_of(4);
    [encoding, step]
}

fn with_another_encoding(message: &mut [u8]) {
    let [at, _] = places(message);
    assert_eq!(&message[at..at + 5], b"rgb8\0");
    message[at..at + 4].copy_from_slice(b"8UC3");
}

fn with_padded_rows(message: &mut [u8]) {
    let [_, at] = places(message);
    let step = message[at..at + 4].try_into().map(u32::from_le_bytes).expect("four bytes");
    message[at..at + 4].copy_from_slice(&(step + 8).to_le_bytes());
}

/// A recording with all its pictures spoiled; its name.
fn spoiled(run: &Run, bag: &str, spoil: fn(&mut [u8])) -> String {
    let to = run.file("spoiled.mcap");
    let bytes = std::fs::read(bag).expect("a recording");
    let mut writer =
        mcap::Writer::new(std::fs::File::create(&to).expect("a file")).expect("a writer");
    for message in mcap::MessageStream::new(&bytes).expect("MCAP") {
        let mut message = message.expect("a message");
        if message.channel.schema.as_ref().is_some_and(|it| it.name == IMAGE) {
            let mut data = message.data.into_owned();
            spoil(&mut data);
            message.data = Cow::Owned(data);
        }
        writer.write(&message).expect("a message is written");
    }
    writer.finish().expect("the recording ends");
    to.to_str().expect("UTF-8").to_owned()
}

const IMAGE: &str = "sensor_msgs/msg/Image";

/// The entries of a section of a graph file, each with its lines.
fn entries(graph: &str, section: &str) -> Vec<String> {
    let text = std::fs::read_to_string(workspace().join(graph)).expect("the graph");
    let lines = text.lines().skip_while(|line| *line != section).skip(1);
    let lines = lines.take_while(|line| line.starts_with(' '));
    let mut all: Vec<String> = Vec::new();
    for line in lines.filter(|line| !line.trim_start().starts_with('#')) {
        if !line.starts_with("   ") {
            all.push(String::new());
        }
        *all.last_mut().expect("an entry") += &format!("{line}\n");
    }
    all
}

/// A graph with these nodes of another one alone, and the topics that come from outside.
fn alone(run: &Run, graph: &str, nodes: &[&str]) -> (String, Vec<String>) {
    let is_kept = |entry: &String| nodes.iter().any(|it| entry.starts_with(&format!("  {it}:\n")));
    let nodes: String = entries(graph, "nodes:").into_iter().filter(is_kept).collect();
    let has = |text: &str, topic: &str| text.split([' ', ',', '\n']).any(|word| word == topic);
    let (mut topics, mut external) = (String::new(), Vec::new());
    for entry in entries(graph, "topics:") {
        let name = entry.trim_start().split(':').next().expect("a name").to_owned();
        let is_made = nodes.lines().any(|line| line.contains("outputs:") && has(line, &name));
        if is_made {
            topics += &entry;
        } else if has(&nodes, &name) {
            let light = "autorace_msgs/msg/TrafficLight";
            let message = if name.starts_with("/traffic_light") { light } else { IMAGE };
            topics += &entry.replacen('{', &format!("{{ type: {message}, external: true,"), 1);
            external.push(name);
        }
    }
    let name = Path::new(graph).file_name().and_then(|it| it.to_str()).expect("a name");
    let (name, _) = name.split_once('.').expect("a name");
    let text = format!("crossdock: 1\nname: {name}\ntopics:\n{topics}nodes:\n{nodes}");
    (written(run, "alone.graph.yaml", &text), external)
}

/// Spoiled pictures end a run of these nodes of a graph, with this parameter, with the same reason
/// in software and in hardware, where `node` is the first that gets them.
fn spoiled_pictures_end_the_run(
    run: &Run,
    (graph, parameter): (&str, &[&str]),
    (nodes, node): (&[&str], &str),
    topics: &str,
) {
    let (alone, external) = alone(run, graph, nodes);
    let bag = run.file(&format!("{node}.mcap")).to_str().expect("UTF-8").to_owned();
    let words = ["run", graph, "--rate", "max", "--duration", "0.1", "--record", &bag];
    let output = run.output(&[&words[..], &["--topics", &external.join(",")]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mapping = format!(
        "crossdock: 1\nprocesses: {{}}\nfabrics: {{ board: {{ nodes: [{}] }} }}\ntopics: {{ {topics} }}\n",
        nodes.join(", ")
    );
    let mapping = written(run, "alone.mapping.yaml", &mapping);
    let folder = Path::new(graph).parent().and_then(|it| it.to_str()).expect("a folder");
    let hardware = format!("{folder}/hardware");
    for (spoil, [in_software, in_hardware]) in SPOILED {
        let bag = spoiled(run, &bag, spoil);
        let packages = ["--package-path", &hardware, "--interfaces", "apps/autorace/interfaces"];
        let words = [&[alone.as_str(), "--input", &bag], &packages[..], parameter].concat();
        ends_with(run, &words, in_software);
        let reason = format!("fabric `board`: node `{node}` has refused a message: {in_hardware}");
        ends_with(run, &[&words[..], &["--mapping", &mapping]].concat(), &reason);
    }
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
    let nodes = (&["RectifyNode", "ResizeNode"][..], "RectifyNode");
    let topics = "/camera/image_raw: { mapping: gateway }, /camera/image_rect: { mapping: hardware }, \
                  /resize/image_raw: { mapping: gateway }";
    spoiled_pictures_end_the_run(&run, (CAMERA, &[]), nodes, topics);
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
        let parameter = (graph, &["-p", parameter][..]);
        spoiled_pictures_end_the_run(&run, parameter, (&[node], node), topics);
    }
}
