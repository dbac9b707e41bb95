//! The Autoware reference system: its graph is what is imported, and time that passes in steps
//! takes every release of its sensors to the same ends, whatever the mapping.

use super::{json, text};
use crossdock_suite::{Run, binaries, until};
use crossdock_test_support::shared;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All mappings of the package.
const MAPPINGS: [&str; 5] = ["chain", "event", "paths", "threads", "processes"];
const GRAPH: &str = "apps/reference_system/autoware.graph.yaml";
/// Less work than the graph file gives each node, and the primes that there are up to it.
const LIMIT: u64 = 256;
const PRIMES: i64 = 54;

fn mapping(name: &str) -> String {
    format!("apps/reference_system/autoware.{name}.mapping.yaml")
}

#[test]
fn the_graph_file_is_the_imported_one_and_all_its_mappings_are_right() {
    let run = Run::new("reference_graph");
    for name in MAPPINGS {
        let output = run.output(&["check", GRAPH, "--mapping", &mapping(name)]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && errors.is_empty(), "{name}: {errors}");
    }
    let picture = run.file("autoware.svg");
    assert!(run.output(&["graph", GRAPH, "-o", text(&picture)]).status.success());
    let picture = std::fs::read_to_string(&picture).expect("a picture");
    assert!(picture.contains("object_collision_estimator") && picture.contains("/BehaviorPlanner"));

    let Some(shared) = shared() else { return };
    let source = shared.join("data/graphs/autoware_reference_system.json");
    let options = ["--package", "reference_system", "--condition", "fusion=fresh"];
    let import = [&["graph", "import", text(&source)][..], &options].concat();
    let imported = run.output(&import);
    assert!(imported.status.success());
    let file = std::fs::read(crossdock_test_support::workspace().join(GRAPH)).expect("the graph");
    assert!(imported.stdout == file, "import it again: crossdock {import:?} -o {GRAPH}");
}

/// Payloads of a topic of a recording, in CDR.
fn payloads(path: &Path, topic: &str) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).expect("a recording");
    let messages = mcap::MessageStream::new(&bytes).expect("MCAP");
    let messages = messages.map(|message| message.expect("a message"));
    let of_topic = messages.filter(|message| message.channel.topic == topic);
    of_topic.map(|message| message.data.into_owned()).collect()
}

fn executions(summary: &Value, node: &str) -> u64 {
    let rows = summary["nodes"].as_array().expect("nodes");
    let row = rows.iter().find(|row| row["node"] == node).expect("a row of the node");
    row["executions"].as_u64().expect("a count")
}

/// A parameter file that gives every node that computes less to do.
fn less_work(run: &Run) -> PathBuf {
    let drawn = run.json(&["graph", GRAPH, "--json"]);
    let nodes = drawn["graph"]["nodes"].as_array().expect("nodes");
    let computes = |node: &&Value| !node["parameters"]["number_crunch_limit"].is_null();
    let names = nodes.iter().filter(computes).map(|node| node["name"].as_str().expect("a name"));
    let lines = names.map(|name| format!("  {name}: {{ number_crunch_limit: {LIMIT} }}\n"));
    let lines: Vec<String> = lines.collect();
    // Nine transforms, five fusions, the planner and the intersection.
    assert_eq!(lines.len(), 16);
    let file = run.file("less.params.yaml");
    std::fs::write(&file, format!("crossdock: 1\nnodes:\n{}", lines.concat())).expect("a file");
    file
}

#[test]
fn every_release_of_the_lidars_ends_the_hot_path_once_and_alike_in_all_mappings() {
    let run = Run::new("reference");
    // Some real time: all that the replays take from it is how time passes.
    let moment = run.file("moment.mcap");
    let moment = text(&moment);
    let processes = mapping("processes");
    let params = less_work(&run);
    let params = text(&params);
    let record =
        ["--params", params, "--record", moment, "--topics", "/FrontLidarDriver", "--json"];
    let graph = run.start(&[&["run", GRAPH, "--mapping", &processes][..], &record].concat());
    until("some messages of a lidar", || run.published("/FrontLidarDriver") >= 6);
    graph.interrupt();
    let (status, table) = graph.end();
    assert!(status.success(), "{table}");
    let summary: Value = serde_json::from_str(&table).expect("JSON");
    // Messages that wait for a counterpart in another process are no work that is left.
    assert_eq!(summary["notes"], serde_json::json!([]));
    for process in summary["processes"].as_array().expect("processes") {
        for key in ["processor_ns", "context_switches", "resident_bytes"] {
            assert!(process[key].as_u64() > Some(0), "{key}: {process}");
        }
    }

    let first = run.file("first.mcap");
    let words = ["replay", GRAPH, moment, "--params", params, "--record", text(&first), "--json"];
    let report = json(&run, &words, 0);
    let releases = executions(&report["runs"][0], "front_lidar_driver");
    assert!(releases >= 4, "{report:#}");
    for name in MAPPINGS {
        let mapping = mapping(name);
        let words = ["replay", GRAPH, moment, "--mapping", &mapping, "--compare", text(&first)];
        let report = json(&run, &[&words[..], &["--params", params, "--json"]].concat(), 0);
        let ran = &report["runs"][0];
        for node in ["front_lidar_driver", "rear_lidar_driver", "object_collision_estimator"] {
            assert_eq!(executions(ran, node), releases, "{name}: {node}");
        }
        let compared = report["comparison"]["topics"].as_array().expect("topics");
        assert_eq!(compared.len(), 23, "{name}");
    }

    // What came out: eight nodes passed, each of which has counted its primes.
    let ends = payloads(&first, "/ObjectCollisionEstimator");
    assert_eq!(ends.len() as u64, releases);
    for end in &ends {
        // Behind CDR's four bytes: size, 63 entries of 64 bytes, data.
        let word = |at: usize| i64::from_le_bytes(end[4 + at..][..8].try_into().expect("8 bytes"));
        assert_eq!((word(0), word(8 + 63 * 64)), (8, PRIMES));
    }
    let report = Command::new(binaries().join("crossdock-reference-system"))
        .args(["report", text(&first), "--skip", "0", "--json"])
        .output()
        .expect("the report");
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    // Time stands still within a step, and the planner's steps are its period.
    let path = &report["hot_path"];
    assert_eq!((&path["count"], &path["max_ns"]), (&releases.into(), &0.into()), "{report:#}");
    assert_eq!(report["front_lidar_samples"], releases);
    for none in ["front_lidar_without_update", "hot_path_drops"] {
        assert_eq!(report[none], 0, "{none}");
    }
    let period = &report["behavior_planner_period"];
    let expected = Value::from(100_000_000);
    assert_eq!((&period["min_ns"], &period["max_ns"]), (&expected, &expected), "{report:#}");
}
