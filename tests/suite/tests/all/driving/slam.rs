//! The map of the closed course as a user makes it: driven, recorded, scored, on a page.

use super::{nothing_is_lost, payloads, text};
use crossdock_suite::{Run, binaries};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const GRAPH: &str = "apps/autorace/course_slam.graph.yaml";
const TOPICS: &str = "/odom,/wheels,/features,/slam/pose,/slam/path,/slam/map,/slam/state";
/// The error that a map may have, in percent of the driven way.
const BOUND: f64 = 2.0;

fn drive(run: &Run, mapping: &str, out: &Path, end: [&str; 2], more: &[&str]) -> Value {
    let mapping = format!("apps/autorace/course_slam.{mapping}.mapping.yaml");
    let arguments = ["run", GRAPH, "--mapping", &mapping, "--rate", "max", "--topics", TOPICS];
    let record = ["--record", text(out), end[0], end[1], "--json"];
    let summary = run.json(&[&arguments[..], &record[..], more].concat());
    assert_eq!(summary["ok"], true, "{summary:#}");
    nothing_is_lost(&summary);
    summary
}

/// Runs the package's binary, which must succeed, and gives its output.
fn autorace(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(binaries().join("crossdock-autorace")).args(arguments).output();
    let output = output.expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    output.stdout
}

fn score(out: &Path) -> Value {
    let graph = crossdock_test_support::workspace().join(GRAPH);
    let score = autorace(&["trajectory", text(out), "--graph", text(&graph)]);
    serde_json::from_slice(&score).expect("JSON")
}

fn percent(of: &Value) -> f64 {
    of["rmse_percent"].as_f64().expect("a number")
}

#[test]
fn a_map_does_not_depend_on_the_mapping_and_comes_onto_the_page() {
    let run = Run::new("slam");
    let [chain, apart] = ["chain", "processes"].map(|mapping| {
        let out = run.file(&format!("{mapping}.mcap"));
        drive(&run, mapping, &out, ["--duration", "7"], &[]);
        out
    });
    let (of_chain, of_apart) = (payloads(&chain), payloads(&apart));
    assert_eq!(of_chain.len(), 7, "{:?}", of_chain.keys());
    for (topic, messages) in &of_chain {
        let first = messages.iter().zip(&of_apart[topic]).position(|(a, b)| a != b);
        assert_eq!((first, messages.len()), (None, of_apart[topic].len()), "{topic}");
    }
    let score = score(&chain);
    // What is made again from the recording is what was published.
    assert_eq!(score["made_again"]["poses"], score["published"]["poses"], "{score:#}");
    assert_eq!(score["made_again"]["keyframes"], score["published"]["keyframes"], "{score:#}");
    assert!(percent(&score["published"]["poses"]) <= BOUND, "{score:#}");
    let folder = run.file("page");
    autorace(&["report", text(&chain), "-o", text(&folder)]);
    let page = std::fs::read_to_string(folder.join("index.html")).expect("a page");
    assert!(page.contains("<h2>Map</h2>") && page.contains("wheels alone"), "no map on the page");
    for (file, lines) in [("path.svg", 1), ("map.svg", 3)] {
        assert!(page.contains(&format!("src=\"{file}\"")), "{file} is not on the page");
        let svg = std::fs::read_to_string(folder.join(file)).expect("a picture");
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width="), "{svg}");
        assert_eq!(svg.matches("<polyline").count(), lines, "{file}: {svg}");
    }
}

/// What the makefile sets a variable to.
fn set_in_makefile(variable: &str) -> String {
    let makefile = crossdock_test_support::workspace().join("Makefile");
    let makefile = std::fs::read_to_string(makefile).expect("the makefile");
    let set = makefile.lines().find_map(|line| line.strip_prefix(variable)?.strip_prefix(" := "));
    set.expect("the variable").to_owned()
}

#[test]
#[ignore = "long: the whole drive of `make demo`"]
fn the_demo_drives_until_a_loop_is_closed_and_shows_the_map() {
    let [graph, topics, seconds] =
        ["DEMO_GRAPH", "DEMO_TOPICS", "DEMO_SECONDS"].map(set_in_makefile);
    let run = Run::new("demo");
    let out = run.file("drive.mcap");
    let drive = ["run", &graph, "--rate", "max", "--duration", &seconds, "--topics", &topics];
    let summary = run.json(&[&drive[..], &["--record", text(&out), "--json"]].concat());
    assert_eq!(summary["ok"], true, "{summary:#}");
    nothing_is_lost(&summary);
    let recorded = payloads(&out);
    let all: Vec<&str> = topics.split(',').collect();
    assert!(all.iter().all(|topic| recorded.contains_key(*topic)), "{:?}", recorded.keys());
    let score = score(&out);
    assert!(score["published"]["loop_closures"].as_u64() > Some(0), "{score:#}");
    assert!(percent(&score["published"]["path"]) <= BOUND, "{score:#}");
    let folder = run.file("page");
    autorace(&["report", text(&out), "-o", text(&folder), "--graph", &graph]);
    let page = std::fs::read_to_string(folder.join("index.html")).expect("a page");
    for part in ["<h2>What the camera saw</h2>", "src=\"path.svg\"", "src=\"map.svg\""] {
        assert!(page.contains(part), "no `{part}` on the page");
    }
}

#[test]
#[ignore = "long: three laps through the whole graph"]
fn three_laps_through_the_whole_graph_keep_the_bound() {
    for seed in ["1", "2", "3"] {
        let run = Run::new("slam_laps");
        let out = run.file("drive.mcap");
        drive(&run, "processes", &out, ["--laps", "3"], &["--seed", seed]);
        let score = score(&out);
        let published = &score["published"];
        assert!(percent(&published["poses"]) <= BOUND, "{score:#}");
        assert!(percent(&published["path"]) <= BOUND, "{score:#}");
        assert!(published["loop_closures"].as_u64() > Some(0), "{score:#}");
        assert!(percent(&score["odometry_alone"]) > BOUND, "the bound says nothing: {score:#}");
        let open = percent(&score["without_loop_closing"]["path"]);
        assert!(percent(&published["path"]) < open, "closing loops helps: {score:#}");
    }
}
