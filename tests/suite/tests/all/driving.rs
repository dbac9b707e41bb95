//! The driving graph as a user runs it: on recordings, on the closed course, in both mappings; the
//! image pipeline on recordings; and the map of the course.

mod image_pipeline;
mod slam;

use crossdock_suite::{Run, binaries};
use crossdock_test_support::{data, long, shared, skip, workspace};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const HIGHWAY: &str = "apps/autorace/highway.graph.yaml";
const COURSE: &str = "apps/autorace/course.graph.yaml";

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Runs the highway graph on a recording at maximum rate and scores what comes out.
fn score(test: &str, bag: &str, params: &str, truth: &str) -> Option<Value> {
    let data = shared()?.join("data");
    let run = Run::new(test);
    let out = run.file("out.mcap");
    let params = format!("apps/autorace/params/{params}.yaml");
    let summary = run.json(&[
        "run",
        HIGHWAY,
        "--input",
        text(&data.join(bag)),
        "--params",
        &params,
        "--record",
        text(&out),
        "--topics",
        "/lane,/traffic_light",
        "--rate",
        "max",
        "--json",
    ]);
    assert_eq!(summary["ok"], true, "{summary:#}");
    nothing_is_lost(&summary);
    let score = Command::new(binaries().join("crossdock-autorace"))
        .args(["score", "--truth", text(&data.join(bag).join(truth)), text(&out)])
        .output()
        .expect("score runs");
    assert!(score.status.success(), "{}", String::from_utf8_lossy(&score.stderr));
    let score: Value = serde_json::from_slice(&score.stdout).expect("JSON");

    Some(score)
}

fn nothing_is_lost(summary: &Value) {
    for topic in summary["topics"].as_array().expect("topics") {
        for (cause, count) in topic["losses"].as_object().expect("losses") {
            assert_eq!(count, 0, "{} lost messages: {cause}", topic["topic"]);
        }
    }
}

/// Digests of the payloads of every topic of a recording, in order: the payloads of a drive are
/// gigabytes.
fn payloads(path: &Path) -> BTreeMap<String, Vec<[u8; 32]>> {
    let bytes = std::fs::read(path).expect("the recording");
    let mut topics: BTreeMap<String, Vec<[u8; 32]>> = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).expect("MCAP") {
        let message = message.expect("a message");
        let digest = Sha256::digest(&message.data).into();
        topics.entry(message.channel.topic.clone()).or_default().push(digest);
    }
    topics
}

fn lanes_are_right(score: &Value) {
    assert_eq!(score["frames"], score["frames_with_message"], "{score:#}");
    assert_eq!(score["ok_frames"], score["ok_frames_with_lane"], "{score:#}");
    let error = |key: &str| score["centre_error_px"][key].as_f64().expect("a number");
    // A twentieth above what `docs/performance.md` publishes.
    assert!(error("median") <= 0.51 && error("p95") <= 2.62, "{score:#}");
}

/// Whether `opencl:0` can be used; if not, that is a skip.
fn is_device_there(run: &Run) -> bool {
    let listed = run.json(&["device", "list", "--json"]);
    let there = listed.as_array().expect("devices").iter().any(|it| it["name"] == "opencl:0");
    if !there {
        skip("no OpenCL driver");
    }
    there
}

#[test]
fn what_a_device_computes_is_the_same_bit_for_bit_in_every_way_to_it() {
    let run = Run::new("devices");
    let Some(data) = data().filter(|_| is_device_there(&run)) else { return };
    let bag = data.join("driving/highway_drive_1hz");
    let drive = |name: &str, mapping: &str| {
        let out = run.file(&format!("{name}.mcap"));
        let summary = run.json(&[
            "run",
            HIGHWAY,
            "--input",
            text(&bag),
            "--params",
            "apps/autorace/params/highway.yaml",
            "--mapping",
            mapping,
            "--rate",
            "max",
            "--record",
            text(&out),
            "--json",
        ]);
        assert_eq!(summary["ok"], true, "{summary:#}");
        nothing_is_lost(&summary);
        (payloads(&out), summary)
    };
    let (chain, on_processor) = drive("chain", "apps/autorace/highway.chain.mapping.yaml");
    assert!(on_processor.get("devices").is_none());
    let messages = chain["/lane/view"].len() as u64;
    // Copies of messages at the ports of a node: down, up, or both.
    let compare = |name: &str, mapping: &str, model: &str, copies: [(&str, u64); 3]| {
        let (device, summary) = drive(name, mapping);
        for (topic, digests) in &chain {
            let first = digests.iter().zip(&device[topic]).position(|(a, b)| a != b);
            assert_eq!((first, digests.len()), (None, device[topic].len()), "{name}: {topic}");
        }
        let rows = summary["devices"].as_array().expect("rows");
        assert_eq!(rows.len(), 6, "{summary:#}");
        // Each payload lies in each memory once at most; the recorder has all of them in the
        // host's.
        for row in rows {
            let device = row["device"].as_str().expect("a device");
            let resident = if model == "zero_copy" {
                json!({ "host": 1 })
            } else {
                json!({ "host": 1, device: 1 })
            };
            assert_eq!(row["resident"], resident, "{name}: {row}");
        }
        for (node, expected) in copies {
            let rows = rows.iter().filter(|row| row["node"] == node);
            let rows: Vec<&Value> = rows.inspect(|row| assert_eq!(row["model"], model)).collect();
            let sum: u64 = rows.iter().map(|row| row["copies"].as_u64().expect("a count")).sum();
            assert_eq!(sum, expected * messages, "{name}: {node} {rows:?}");
        }
    };
    let device = "apps/autorace/highway.device.mapping.yaml";
    compare("zero_copy", device, "zero_copy", [("compensation", 0), ("blur", 0), ("planner", 0)]);
    let processes = "apps/autorace/highway.device_processes.mapping.yaml";
    compare("apart", processes, "zero_copy", [("compensation", 0), ("blur", 0), ("planner", 0)]);
    // The recorder reads everything, so that all comes up; only the camera's image goes down.
    let text_of = |path: &str| std::fs::read_to_string(workspace().join(path)).expect("a mapping");
    let topics = "/camera/image_raw /camera/image_compensated /camera/image_blurred /lane/view";
    for (device, model) in [("opencl:0", "device"), ("shadow:opencl:0", "copy")] {
        let models: Vec<String> =
            topics.split(' ').map(|topic| format!("{topic}: {model}")).collect();
        let text = text_of("apps/autorace/highway.device.mapping.yaml")
            .replace("opencl:0", device)
            .replace("otherwise: cpu", &format!("topics: {{ {} }}", models.join(", ")));
        let file = run.file(&format!("{model}.mapping.yaml"));
        std::fs::write(&file, text).expect("a file");
        let file = file.to_str().expect("a path in UTF-8");
        compare(model, file, model, [("compensation", 2), ("blur", 1), ("planner", 1)]);
    }
}

#[test]
fn every_frame_of_the_highway_at_25_hz_gives_a_lane() {
    let bag = "driving/highway_a_25hz";
    let Some(score) = score("highway_a", bag, "highway", "lane_truth.json") else { return };
    lanes_are_right(&score);
}

#[test]
fn every_frame_of_the_highway_at_1_hz_gives_a_lane() {
    let bag = "driving/highway_drive_1hz";
    let Some(score) = score("highway_drive", bag, "highway", "lane_truth.json") else { return };
    lanes_are_right(&score);
}

#[test]
fn a_road_without_yellow_has_no_left_line() {
    let bag = "driving/white_lanes_25hz";
    let Some(score) = score("white_lanes", bag, "white_lanes", "lane_truth.json") else { return };
    assert_eq!(score["left_valid_false"], score["frames"], "{score:#}");
}

#[test]
fn lights_of_the_rendered_drive_are_right() {
    let bag = "autorace_sim/autorace_a_15hz";
    let Some(score) = score("autorace_a", bag, "autorace", "truth.json") else { return };
    let count = |key: &str| score[key].as_u64().expect("a count");
    assert_eq!(score["frames"], score["frames_with_message"], "{score:#}");
    assert!(count("lights_right") * 100 >= count("lit_frames") * 95, "{score:#}");
    assert_eq!(score["lights_false"], serde_json::json!([]), "{score:#}");
}

#[test]
fn the_closed_course_is_driven_and_does_not_depend_on_the_mapping() {
    let end = if long() { ["--laps", "3"] } else { ["--duration", "20"] };
    let drive = |name: &str, mapping: &str| {
        let run = Run::new(name);
        let out = run.file("drive.mcap");
        let summary = run.json(&[
            "run",
            COURSE,
            "--mapping",
            mapping,
            "--rate",
            "max",
            end[0],
            end[1],
            "--record",
            text(&out),
            "--json",
        ]);
        assert_eq!(summary["ok"], true, "{summary:#}");
        nothing_is_lost(&summary);
        payloads(&out)
    };
    let chain = drive("course_chain", "apps/autorace/course.chain.mapping.yaml");
    let processes = drive("course_processes", "apps/autorace/course.processes.mapping.yaml");
    let threads = drive("course_threads", "apps/autorace/course.threads.mapping.yaml");
    let counts = |topics: &BTreeMap<String, Vec<[u8; 32]>>| -> BTreeMap<String, usize> {
        topics.iter().map(|(topic, messages)| (topic.clone(), messages.len())).collect()
    };
    for (other, name) in [(&processes, "processes"), (&threads, "threads")] {
        assert_eq!(counts(&chain), counts(other), "{name}");
        for (topic, messages) in &chain {
            let first = messages.iter().zip(&other[topic]).position(|(a, b)| a != b);
            assert_eq!(first, None, "{topic}: the first message that differs in {name}");
        }
    }
}
