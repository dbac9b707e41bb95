//! The driving graph as a user runs it: on recordings, on the closed course, in both mappings; and the image
//! pipeline on recordings.
#![allow(missing_docs)]

mod image_pipeline;

use crossdock_suite::{Run, binaries};
use crossdock_test_support::{long, shared};
use serde_json::Value;
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
    assert!(error("median") <= 6.0 && error("p95") <= 20.0, "{score:#}");
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
