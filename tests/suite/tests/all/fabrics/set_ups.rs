//! Sources of hardware that are made anew for the parameters of a graph: other cameras, other
//! vehicles and their recordings.

use super::{
    CAMERA, CAMERA_STREAMED, COMPENSATED, HIGHWAY, INSIDE, crossdock, drive, flagged,
    the_mapping_does_not_matter, topic, written,
};
use crossdock_suite::{Run, binaries};
use crossdock_test_support::{shared, workspace};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const FUSED: &str = "apps/image_pipeline/fused.graph.yaml";
const FUSED_BOARD: &str = "apps/image_pipeline/fused.board.mapping.yaml";
const BOARD: &str = "apps/autorace/highway.board.mapping.yaml";
const PACKAGE: &str = "image_pipeline.hardware.yaml";
const CALIBRATION: &str = "apps/image_pipeline/hardware/camera.yaml";
/// Recordings with the parameters of their camera, and a duration of five pictures at least.
const RECORDINGS: [[&str; 3]; 4] = [
    ["autorace_sim/autorace_a_15hz", "autorace", "0.5"],
    ["driving/highway_a_25hz", "highway", "0.3"],
    ["driving/highway_drive_1hz", "highway", "6"],
    ["driving/white_lanes_25hz", "white_lanes", "0.3"],
];

/// The graph with projection and lane following, on recordings.
const FOLLOWING: &str = "apps/autorace/following.graph.yaml";
/// Recordings with the parameters of their camera beside the ones in this graph, and a duration of
/// five pictures at least.
const FOLLOWED: [(&str, &[&str], &str); 2] = [
    ("autorace_sim/autorace_a_15hz", &[], "0.5"),
    (
        "driving/white_lanes_25hz",
        &["--params", "apps/autorace/params/following_white_lanes.yaml"],
        "0.3",
    ),
];

/// The hardware of the image pipeline and both graphs with it, for a calibration of the test's own;
/// the calibration's name.
fn with_a_calibration_of_its_own(run: &Run) -> String {
    let package = workspace().join("apps/image_pipeline/hardware");
    let folder = run.file("hardware");
    let copied = Command::new("cp").arg("-r").arg(&package).arg(&folder).status();
    assert!(copied.expect("cp starts").success());
    let camera = folder.join("camera.yaml").to_str().expect("UTF-8").to_owned();
    for (file, from) in [
        (format!("hardware/{PACKAGE}"), package.join(PACKAGE)),
        ("camera.graph.yaml".to_owned(), workspace().join(CAMERA)),
        ("fused.graph.yaml".to_owned(), workspace().join(FUSED)),
    ] {
        let text = std::fs::read_to_string(from).expect("the file");
        written(run, &file, &text.replace(CALIBRATION, &camera));
    }
    camera
}

/// Another lens than the one that the sources are made for.
fn change(calibration: &str) {
    let text = std::fs::read_to_string(calibration).expect("the calibration");
    let changed = text.replace("0.", "0.0");
    assert_ne!(changed, text);
    std::fs::write(calibration, changed).expect("written");
}

/// What `check` says of a graph of the test's own.
fn check(run: &Run, graph: &str, mapping: &str) -> (Output, String) {
    let graph = run.file(graph);
    let said = run.output(&["check", graph.to_str().expect("UTF-8"), "--mapping", mapping]);
    let errors = String::from_utf8_lossy(&said.stderr).into_owned();
    (said, errors)
}

#[test]
fn a_file_that_a_module_was_made_from_still_holds_what_it_held_then_or_it_is_made_anew() {
    let run = Run::new("fabric_file");
    let camera = with_a_calibration_of_its_own(&run);
    let (said, errors) = check(&run, "fused.graph.yaml", FUSED_BOARD);
    assert!(said.status.success(), "{errors}");
    change(&camera);
    // The node that has both in one is hardware alone: nobody can make its source anew.
    let (said, errors) = check(&run, "fused.graph.yaml", FUSED_BOARD);
    assert_eq!(said.status.code(), Some(1), "{errors}");
    let anew = "make the sources of `rectify_resize` anew";
    for part in ["was not made from what", &camera, anew, PACKAGE] {
        assert!(errors.contains(part), "`{part}` is missing in: {errors}");
    }
    let (said, errors) = check(&run, "camera.graph.yaml", CAMERA_STREAMED);
    assert!(said.status.success(), "{errors}");
    std::fs::remove_file(&camera).expect("removed");
    for (graph, mapping) in
        [("fused.graph.yaml", FUSED_BOARD), ("camera.graph.yaml", CAMERA_STREAMED)]
    {
        let (said, errors) = check(&run, graph, mapping);
        assert_eq!(said.status.code(), Some(1), "{errors}");
        assert!(errors.contains("cannot be read"), "{errors}");
    }
}

#[test]
fn a_calibration_that_hardware_cannot_be_made_of_is_named_with_what_is_wrong_in_it() {
    let run = Run::new("fabric_calibration");
    let camera = with_a_calibration_of_its_own(&run);
    let shipped = std::fs::read_to_string(&camera).expect("the calibration");
    let line = {
        let graph = std::fs::read_to_string(run.file("camera.graph.yaml")).expect("the graph");
        1 + graph.lines().position(|line| line.contains(&camera)).expect("its line")
    };
    for (from, to, told) in [
        ("plumb_bob", "equidistant", "the distortion model is `equidistant` with 5 coefficients"),
        ("data: [1.0, 0.0, 0.0,", "data: [1.0, 0.5, 0.0,", "matrix R is not a rotation"),
    ] {
        let changed = shipped.replacen(from, to, 1);
        assert_ne!(changed, shipped);
        std::fs::write(&camera, changed).expect("written");
        let (said, errors) = check(&run, "camera.graph.yaml", CAMERA_STREAMED);
        assert_eq!(said.status.code(), Some(1), "{errors}");
        let place = format!("camera.graph.yaml:{line}:");
        let with = format!("cannot be made with calibration ({camera}): ");
        let file = format!("says: calibration {camera}: ");
        for part in [&place, &with, &file, told] {
            assert!(errors.contains(part), "`{part}` is missing in: {errors}");
        }
        assert!(!errors.contains(PACKAGE), "{errors}");
    }
}

#[test]
#[ignore = "long: a board of its own"]
fn rectification_on_a_board_follows_the_calibration() {
    let run = Run::new("fabric_lens");
    change(&with_a_calibration_of_its_own(&run));
    let graph = run.file("camera.graph.yaml");
    let driven = |kind: &str| {
        let mapping = format!("apps/image_pipeline/camera.{kind}.mapping.yaml");
        let graph = graph.to_str().expect("UTF-8");
        drive(&format!("fabric_lens_{kind}"), &[graph, "--mapping", &mapping, "--duration", "0.2"])
            .1
    };
    let [software, hardware] = ["chain", "streamed"].map(driven);
    assert!(software["/resize/image_raw"].len() >= 5);
    assert!(software["/resize/image_raw"] == hardware["/resize/image_raw"]);
}

/// What `check` says of the highway's graph on a board with these parameters and more words.
fn check_highway(run: &Run, params: &str, more: &[&str]) -> (bool, String) {
    let params = format!("apps/autorace/params/{params}.yaml");
    let words = ["check", HIGHWAY, "--mapping", BOARD, "--params", &params];
    let said = crossdock(run, &[&words, more].concat()).output().expect("crossdock starts");
    (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
}

#[test]
fn hardware_is_made_for_the_parameters_of_the_graph_or_refused_with_the_reason() {
    let run = Run::new("set_up");
    for params in ["autorace", "highway", "white_lanes"] {
        let (passes, errors) = check_highway(&run, params, &[]);
        assert!(passes, "{params}: {errors}");
    }
    let rolled =
        "planner.homography:=[0.38, 0.58, -173.0, 0.02, 2.71, -591.0, 0.0, 0.0018, -0.158]";
    let (passes, errors) = check_highway(&run, "white_lanes", &["-p", rolled]);
    assert!(!passes, "{errors}");
    let told = ["node `planner`", "`crossdock-autorace lane-setup` says", "a camera without roll"];
    assert!(told.iter().all(|part| errors.contains(part)), "{errors}");
    // The one that is wrong is named, where it was said: neither what else is made anew nor a file
    // that is as it is shipped.
    let more = ["-p", "red_light.rows:=0.6", "-p", "red_light.fill:=1.001"];
    let (passes, errors) = check_highway(&run, "white_lanes", &more);
    assert!(!passes, "{errors}");
    let told = "-p red_light.fill:=1.001: node `red_light`: `red_light` in hardware cannot be made with fill: \
                `crossdock-autorace red-light-setup` says: `fill` of red_light is 1.001, and has to be a \
                share, 0 to 1; change this parameter, or keep the node in a process";
    assert!(errors.contains(told), "{errors}");
    assert!(!errors.contains("autorace.hardware.yaml"), "{errors}");

    // Two nodes of a type on one board have one module.
    let light = |name: &str, other: &str, more: &str| {
        format!(
            "  {name}: {{ package: autorace, type: red_light, inputs: {{ image: /a, other: /{other} }}, outputs: \
             {{ light: /{name} }}{more} }}\n"
        )
    };
    let two = format!(
        "crossdock: 1\nname: two\ntopics:\n  /a: {}\n  /one: {{ bounds: {{ header.frame_id: 64 }} }}\n  /other: \
         {{ bounds: {{ header.frame_id: 64 }} }}\nnodes:\n{}{}",
        topic(921_600, "external: true, "),
        light("one", "other", ""),
        light("other", "one", ", parameters: { fill: 0.5 }")
    );
    let graph = written(&run, "two.graph.yaml", &two);
    let autorace = workspace().join("apps/autorace");
    let mapped = |fabrics: &str| {
        let mapping = format!(
            "crossdock: 1\nprocesses: {{}}\nfabrics: {fabrics}\ntopics:\n  /a: {{ mapping: gateway }}\n  \
             /one: {{ mapping: gateway }}\n  /other: {{ mapping: gateway }}\n"
        );
        let mapping = written(&run, "two.mapping.yaml", &mapping);
        let mut command = crossdock(&run, &["check", &graph, "--mapping", &mapping]);
        command.arg("--package-path").arg(autorace.join("hardware"));
        command.arg("--interfaces").arg(autorace.join("interfaces"));
        let said = command.output().expect("crossdock starts");
        (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    let (passes, errors) = mapped("{ board: { nodes: [one, other] } }");
    assert!(!passes, "{errors}");
    let told = ["node `other`", "`fill` is another value than node `one` has", "one module"];
    assert!(told.iter().all(|part| errors.contains(part)), "{errors}");
    let (passes, errors) = mapped("{ east: { nodes: [one] }, west: { nodes: [other] } }");
    assert!(passes, "{errors}");
}

#[test]
fn a_command_of_a_package_binary_makes_the_source_that_is_shipped_or_one_for_other_values() {
    let run = Run::new("set_up_command");
    let package = "apps/autorace/hardware/autorace.hardware.yaml";
    let file = run.file("made.sv");
    let command = |words: &[&str]| {
        let mut command = Command::new(binaries().join("crossdock-autorace"));
        let said = command.current_dir(workspace()).arg("lane-setup").args(words).output();
        let said = said.expect("the package binary starts");
        (said.status.success(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    let out = file.to_str().expect("UTF-8");
    let shipped = workspace().join("apps/autorace/hardware/lane_planner/lane_planner_setup.sv");
    let shipped = std::fs::read_to_string(shipped).expect("the source");
    assert_eq!(command(&[package, "-o", out]), (true, String::new()));
    assert!(std::fs::read_to_string(&file).expect("it") == shipped);
    assert!(command(&["-p", "contrast_min:=20", "-o", out, package]).0);
    let other = std::fs::read_to_string(&file).expect("it");
    assert!(other.contains("Contrast = 20;") && !shipped.contains("Contrast = 20;"));
    for (words, told) in [
        (&[package][..], "name a hardware package file and -o FILE"),
        (&[package, "-o", out, "-p", "contrast:=20"], "did you mean `contrast_min`?"),
        (&["nowhere.yaml", "-o", out], "the hardware package file nowhere.yaml cannot be read"),
        (&[package, "-o", "/nowhere/made.sv"], "choose another file"),
    ] {
        let (done, said) = command(words);
        assert!(!done && said.contains(told), "{words:?}: {said}");
    }
}

#[test]
fn a_set_up_that_fails_is_told_and_what_it_leaves_behind_ends_with_it() {
    let run = Run::new("set_up_fails");
    let real = binaries().join("crossdock-autorace");
    let with = |how: &str| {
        let script = format!(
            "#!/bin/sh\ncase \"$1\" in *-setup) {how};; esac\nexec {} \"$@\"\n",
            real.display()
        );
        let program = written(&run, "packages/crossdock-autorace", &script);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, executable).expect("executable");
        let folder = run.file("packages");
        check_highway(&run, "white_lanes", &["--package-path", folder.to_str().expect("UTF-8")])
    };
    let (passes, errors) = with("exit 7");
    let told = "`crossdock-autorace lane-setup` failed without a word (exit status: 7)";
    assert!(!passes && errors.contains(told), "{errors}");
    let (passes, errors) = with("printf '\\033[2Jno\\n' >&2; exit 1");
    assert!(!passes && errors.contains("[2Jno") && !errors.contains('\u{1b}'), "{errors}");
    // It would hold the other end of what it says for an hour.
    let (passes, errors) = with("sleep 3600 &");
    assert!(passes, "{errors}");
    let (passes, errors) = with("yes | head -c 1000000 >&2");
    assert!(passes, "{errors}");
}

#[test]
#[ignore = "long: three boards with seven nodes"]
fn every_recording_gives_the_same_with_the_whole_graph_on_a_board() {
    let Some(shared) = shared() else { return };
    for [bag, params, duration] in RECORDINGS {
        let bag = shared.join("data").join(bag);
        let params = format!("apps/autorace/params/{params}.yaml");
        let bag = Path::to_str(&bag).expect("UTF-8");
        let arguments = ["--input", bag, "--params", &params, "--duration", duration];
        let mapping = ["highway", "board"];
        let (_, topics) = the_mapping_does_not_matter(HIGHWAY, mapping, &INSIDE, &arguments);
        assert!(topics["/cmd_vel"].len() >= 5, "{bag}");
    }
}

/// In this mapping the graph with projection and lane following publishes what it does in one
/// chain, but for the topics inside the fabric: all messages of each recording.
fn following_is_the_same(kind: &str, inside: &[&str]) -> Vec<BTreeMap<String, Vec<Vec<u8>>>> {
    let Some(shared) = shared() else { return Vec::new() };
    let followed = FOLLOWED.iter().map(|(bag, params, duration)| {
        let bag = shared.join("data").join(bag);
        let bag = bag.to_str().expect("UTF-8");
        let arguments = [&["--input", bag, "--duration", duration], *params].concat();
        let mapping = ["following", kind];
        let (_, topics) = the_mapping_does_not_matter(FOLLOWING, mapping, inside, &arguments);
        assert!(topics["/cmd_vel"].len() >= 5, "{bag}: {}", topics["/cmd_vel"].len());
        topics
    });
    followed.collect()
}

#[test]
fn lanes_are_followed_on_recordings_the_same_in_one_chain_and_in_processes() {
    for topics in following_is_the_same("processes", &[]) {
        let lanes = &topics["/lane"];
        // A lane begins with two flags: whether its left and its right stripe are valid.
        assert!(flagged(lanes, 2) > 0, "no stripe in {} lanes", lanes.len());
    }
}

#[test]
#[ignore = "long: two boards with seven nodes"]
fn lanes_are_followed_on_recordings_the_same_with_the_whole_graph_on_a_board() {
    let inside = [COMPENSATED, "/camera/image_blurred", "/lane/projected", "/lane"];
    following_is_the_same("board", &inside);
}
