//! Recordings that are longer than the pools of the topics they feed.

use crossdock_suite::Run;
use crossdock_test_support::{data, number};
use std::borrow::Cow;
use std::path::Path;

const HIGHWAY: &str = "apps/autorace/highway.graph.yaml";
const COURSE: &str = "apps/autorace/course.graph.yaml";
/// Small messages of a topic that the smallest pool of a topic with `max_bytes` holds.
const SMALLEST_POOL: usize = 256;

/// Two nodes in a row, so that messages of small topics go from process to process.
const GRAPH: &str = "crossdock: 1
name: twice
topics:
  /traffic_light: { max_bytes: 1000 }
nodes:
  first:
    package: autorace
    type: traffic_light
    inputs: { red: /traffic_light/red, green: /traffic_light/green }
    outputs: { light: /traffic_light }
    condition: { all_of: [red, green], same: stamp }
  second:
    package: autorace
    type: traffic_light
    inputs: { red: /traffic_light, green: /traffic_light/green }
    outputs: { light: /traffic_light/again }
    condition: { all_of: [red, green], same: stamp }
";
const PROCESSES: &str = "crossdock: 1
processes:
  first: { executors: [{ mode: event, nodes: [first] }] }
  second: { executors: [{ mode: event, nodes: [second] }] }
";

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Plays a recording again and again into another one, until it has so many messages of each topic.
/// All its messages begin with a header, whose stamps go on as the times do.
fn looped(from: &Path, to: &Path, per_topic: usize) {
    let bytes = std::fs::read(from).expect("a recording");
    let messages = mcap::MessageStream::new(&bytes).expect("MCAP");
    let mut messages: Vec<_> = messages.map(|it| it.expect("a message")).collect();
    messages.sort_by_key(|message| message.log_time);
    let topic = messages[0].channel.topic.clone();
    let in_loop = messages.iter().filter(|message| message.channel.topic == topic).count();
    let span = messages[messages.len() - 1].log_time - messages[0].log_time;
    // One period more, so that the next loop begins as the messages follow each other.
    let period = span + span / (in_loop as u64 - 1);
    let file = std::fs::File::create(to).expect("a file");
    let mut writer = mcap::Writer::new(std::io::BufWriter::new(file)).expect("a writer");
    for turn in 0..per_topic.div_ceil(in_loop) as u64 {
        for message in &messages {
            let mut message = message.clone();
            message.log_time += turn * period;
            message.publish_time += turn * period;
            message.sequence += u32::try_from(turn * in_loop as u64).expect("a number");
            message.data = Cow::Owned(later(&message.data, turn * period));
            writer.write(&message).expect("a message is written");
        }
    }
    writer.finish().expect("the recording ends");
}

/// The same message with a later stamp: the first two words behind CDR's four bytes.
fn later(data: &[u8], by_ns: u64) -> Vec<u8> {
    let mut data = data.to_vec();
    let word = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes"));
    let ns = u64::from(word(4)) * 1_000_000_000 + u64::from(word(8)) + by_ns;
    data[4..8].copy_from_slice(&((ns / 1_000_000_000) as u32).to_le_bytes());
    data[8..12].copy_from_slice(&((ns % 1_000_000_000) as u32).to_le_bytes());
    data
}

fn executions(report: &serde_json::Value, node: &str) -> u64 {
    let rows = report["nodes"].as_array().expect("nodes");
    let row = rows.iter().find(|row| row["node"] == node).expect("a row");
    row["executions"].as_u64().expect("a number")
}

#[test]
fn a_recording_with_more_messages_than_a_pool_holds_is_replayed_from_process_to_process() {
    let run = Run::new("longer");
    let (short, long) = (run.file("short.mcap"), run.file("long.mcap"));
    let topics = "/traffic_light/red,/traffic_light/green";
    let words = ["run", COURSE, "--rate", "max", "--duration", "1", "--json", "--record"];
    let report = run.json(&[&words[..], &[text(&short), "--topics", topics]].concat());
    assert_eq!(report["ok"], true, "{report:#}");
    looped(&short, &long, SMALLEST_POOL + 1);
    let (graph, mapping) = (run.file("twice.graph.yaml"), run.file("twice.mapping.yaml"));
    std::fs::write(&graph, GRAPH).expect("a file");
    std::fs::write(&mapping, PROCESSES).expect("a file");
    let report =
        run.json(&["replay", text(&graph), text(&long), "--mapping", text(&mapping), "--json"]);
    let all = executions(&report["runs"][0], "first");
    assert!(all > SMALLEST_POOL as u64, "{report:#}");
    assert_eq!(executions(&report["runs"][0], "second"), all);
}

/// All messages of a run that a subscriber did not get.
fn lost(report: &serde_json::Value) -> u64 {
    let rows = report["topics"].as_array().expect("topics");
    let causes = rows.iter().filter_map(|row| row["lost"].as_object()).flat_map(|it| it.values());
    causes.map(|count| count.as_u64().expect("a number")).sum()
}

#[test]
#[ignore = "half an hour: ten minutes of driving in every mapping"]
fn ten_minutes_of_the_highway_go_through_every_mapping() {
    let Some(data) = data() else { return };
    let run = Run::new("ten_minutes");
    let frames = number("CROSSDOCK_FRAMES").unwrap_or(10 * 60 * 25) as usize;
    let recording = |name: &str, frames| {
        let path = run.file(name);
        looped(&data.join("driving/highway_a_25hz/highway_a_25hz.mcap"), &path, frames);
        path
    };
    let (all, few) = (recording("all.mcap", frames), recording("few.mcap", frames / 100));
    for mapping in ["chain", "processes", "device", "device_processes", "hardware"] {
        let file = format!("apps/autorace/highway.{mapping}.mapping.yaml");
        let (words, frames) = match mapping {
            // Of hardware no run is like another, and a second of driving takes minutes.
            "hardware" => {
                (vec!["run", HIGHWAY, "--input", text(&few), "--rate", "max"], frames / 100)
            }
            _ => (vec!["replay", HIGHWAY, text(&all)], frames),
        };
        let report = run.json(&[&words[..], &["--mapping", &file, "--json"]].concat());
        let report = report["runs"].get(0).unwrap_or(&report);
        for node in ["decode", "polyfit", "control", "features"] {
            assert!(executions(report, node) >= frames as u64, "{mapping}, {node}: {report:#}");
        }
        assert_eq!(lost(report), 0, "{mapping}: {report:#}");
    }
}
