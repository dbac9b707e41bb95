//! Lane control alone in a fabric: a join of three topics from outside.

use super::{COURSE, IN_REAL_TIME, drive, recorded, written};
use crossdock_suite::Run;
use crossdock_test_support::workspace;
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Lane control in a fabric, the other nodes of the graph in one chain.
fn control_in_hardware(run: &Run, others: &str) -> String {
    let chain = match others.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ drive: {{ executors: [ {{ mode: chain, nodes: [{others}] }} ] }} }}"),
    };
    let topics = ["/lane", "/traffic_light/red", "/traffic_light/green", "/cmd_vel"];
    let topics: String =
        topics.map(|topic| format!("  {topic}: {{ mapping: gateway }}\n")).concat();
    let mapping = format!(
        "crossdock: 1\nprocesses: {chain}\nfabrics: {{ board: {{ nodes: [control] }} }}\n\
         topics:\n{topics}"
    );
    written(run, "control.mapping.yaml", &mapping)
}

#[test]
fn lane_control_alone_in_hardware_drives_the_course_the_same() {
    let run = Run::new("fabric_control");
    let others = "simulator, compensation, blur, planner, polyfit, red_light, green_light, lights, \
                  features, snapshot";
    let mapping = control_in_hardware(&run, others);
    let duration = ["--duration", "1"];
    let placed = [&[COURSE, "--mapping", &mapping], &duration[..]].concat();
    let (_, hardware) = drive("fabric_control_hardware", &placed);
    let (_, software) = drive("fabric_control_software", &[&[COURSE], &duration[..]].concat());
    assert!(hardware["/cmd_vel"].len() >= 14, "too few commands to say anything");
    assert_eq!(hardware["/cmd_vel"], software["/cmd_vel"]);
}

/// The graph of lane control alone, as the course has it, beside its hardware and its messages.
fn control_alone(run: &Run) -> String {
    for name in ["hardware", "interfaces"] {
        let folder = workspace().join("apps/autorace").join(name);
        symlink(folder, run.file(name)).expect("a link");
    }
    let text = std::fs::read_to_string(workspace().join(COURSE)).expect("the graph");
    let topics = ["  /lane:", "  /traffic_light/red:", "  /traffic_light/green:", "  /cmd_vel:"];
    let topics = text.lines().filter(|line| topics.iter().any(|topic| line.starts_with(topic)));
    let topics: Vec<&str> = topics.collect();
    let node = text.lines().skip_while(|line| *line != "  control:");
    let node: Vec<&str> = node.take_while(|line| *line != "  lights:").collect();
    let graph = format!(
        "crossdock: 1\nname: course\ntopics:\n{}\nnodes:\n{}\n",
        topics.join("\n"),
        node.join("\n")
    );
    written(run, "control.graph.yaml", &graph)
}

/// A recording without some of its messages, each told by its topic and its number there.
fn lacking(from: &Path, to: &Path, without: &[(&str, usize)]) {
    let bytes = std::fs::read(from).expect("a recording");
    let mut writer =
        mcap::Writer::new(std::fs::File::create(to).expect("a file")).expect("a writer");
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for message in mcap::MessageStream::new(&bytes).expect("MCAP") {
        let message = message.expect("a message");
        let number = numbers.entry(message.channel.topic.clone()).or_default();
        *number += 1;
        if !without.contains(&(message.channel.topic.as_str(), *number)) {
            writer.write(&message).expect("a message is written");
        }
    }
    writer.finish().expect("the recording ends");
}

#[test]
fn a_recording_that_lacks_messages_of_a_join_is_played_to_its_end_by_hardware_too() {
    let run = Run::new("fabric_lacking");
    let (whole, some) = (run.file("whole.mcap"), run.file("some.mcap"));
    let topics = "/lane,/traffic_light/red,/traffic_light/green";
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (whole_name, some_name) = (path(&whole), path(&some));
    let recording = ["--record", &whole_name, "--topics", topics];
    let words = ["run", COURSE, "--rate", "max", "--duration", "1", "--json"];
    assert_eq!(run.json(&[&words[..], &recording].concat())["ok"], true);
    // Messages of the two other topics wait behind each other, inside and in front of the board.
    let gaps = [("/traffic_light/red", 4), ("/traffic_light/red", 5), ("/lane", 9)];
    lacking(&whole, &some, &gaps);
    let (graph, mapping) = (control_alone(&run), control_in_hardware(&run, ""));
    let input = [graph.as_str(), "--input", &some_name];
    let placed = [&input[..], &["--mapping", &mapping]].concat();
    let (_, hardware) = drive("fabric_lacking_hardware", &placed);
    let (_, software) = drive("fabric_lacking_software", &input);
    assert_eq!(software["/cmd_vel"].len(), 12);
    assert_eq!(hardware["/cmd_vel"], software["/cmd_vel"]);
}

#[test]
fn a_recording_with_a_long_gap_in_a_topic_of_a_join_loses_nothing_behind_the_gap() {
    let run = Run::new("long_gap");
    let (whole, some) = (run.file("whole.mcap"), run.file("some.mcap"));
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (whole_name, some_name) = (path(&whole), path(&some));
    let topics = "/lane,/traffic_light/red,/traffic_light/green";
    let recording = ["--record", &whole_name, "--topics", topics];
    let words = ["run", COURSE, "--rate", "max", "--duration", "1.2", "--json"];
    assert_eq!(run.json(&[&words[..], &recording].concat())["ok"], true);
    // More are missing than the others' inputs are deep.
    let gap: Vec<(&str, usize)> = (4..12).map(|number| ("/lane", number)).collect();
    lacking(&whole, &some, &gap);
    let (with_all, without) = (recorded(&whole)["/lane"].len(), recorded(&some)["/lane"].len());
    assert_eq!(with_all - without, 8);
    // The join gives way before the player does.
    let patient = std::fs::read_to_string(control_alone(&run)).expect("the graph");
    let hasty =
        patient.replace("{ max_bytes: 1000,", "{ max_bytes: 1000, qos: { timeout_ms: 1000 },");
    assert_ne!(hasty, patient);
    let graph = written(&run, "control.graph.yaml", &hasty);
    let (summary, found) = drive("long_gap_played", &[&graph, "--input", &some_name, IN_REAL_TIME]);
    assert_eq!(found["/cmd_vel"].len(), without, "{summary:#}");
    let notes = summary["notes"].as_array().expect("notes");
    let is_loss = |note: &&serde_json::Value| note.to_string().contains("not played");
    assert!(!notes.iter().any(|note| is_loss(&note)), "{notes:#?}");
}
