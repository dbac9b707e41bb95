//! What the command tells of recordings, topics and packages that are not as usual.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;

use super::probe::{Place, Running};
use super::{TWO, apart, flows};

/// A recording of points: on `/a` as ROS 2 encodes them, on `/b` in JSON.
fn half_in_json(path: &Path) {
    let file = BufWriter::new(File::create(path).expect("a file"));
    let mut writer = mcap::WriteOptions::new().profile("ros2").create(file).expect("a recording");
    // A standard type, which need not be defined.
    let schema = writer.add_schema("geometry_msgs/msg/PointStamped", "", b"").expect("a type");
    // CDR's four bytes, a stamp, an empty text of one byte, three numbers behind a gap.
    let point = [&[0, 1, 0, 0][..], &[0; 8], &[1, 0, 0, 0], &[0; 4 + 3 * 8]].concat();
    for (topic, encoding, data) in [("/a", "cdr", &point[..]), ("/b", "json", b"{}")] {
        let channel_id =
            writer.add_channel(schema, topic, encoding, &BTreeMap::new()).expect("a topic");
        let (sequence, log_time, publish_time) = (1, 1_000_000, 1_000_000);
        let header = mcap::records::MessageHeader { channel_id, sequence, log_time, publish_time };
        writer.write_to_known_channel(&header, data).expect("a message");
    }
    writer.finish().expect("a whole file");
}

#[test]
fn a_run_says_which_topic_of_its_recording_is_in_json_and_not_played() {
    let place = Place::new("json", "");
    let bag = place.file("half.mcap");
    half_in_json(&bag);
    let graph = "topics:
  /b: { type: geometry_msgs/msg/PointStamped, external: true }
nodes:
  hears: { package: probe, type: relay, inputs: { in: /a } }
  waits: { package: probe, type: relay, inputs: { in: /b } }
";
    let words = ["--input", &place.text("half.mcap"), "--rate", "max", "--json"];
    let ended = Running::start(place.run(graph, &words)).end();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let told = "topic /b of the recording is not played: ";
    let lines = ended.errors.lines().filter(|line| line.contains(told));
    let lines: Vec<&str> = lines.collect();
    let is_told = lines.len() == 1 && lines[0].contains("json");
    assert!(is_told, "nothing says once that /b is in JSON: {}", ended.errors);
    assert!(!ended.errors.contains("topic /a of the recording"), "{}", ended.errors);
}

#[test]
fn a_topic_that_nobody_subscribes_to_is_measured_without_a_word_of_chains() {
    let place = Place::new("unheard", "");
    let mapping = apart(&place);
    let run = Running::start(place.run(TWO, &["--json", "--mapping", &mapping]));
    flows(&place, "/b");
    for (command, figure, says) in
        [("hz", "average rate: ", false), ("delay", "average delay: ", true)]
    {
        let mut measures = Command::new(env!("CARGO_BIN_EXE_crossdock"));
        measures.args(["topic", command, "/b", "-n", "1"]);
        place.prepare(&mut measures);
        let ended = Running::start(measures).end();
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.errors);
        assert!(ended.output.contains(figure), "{command}: {}", ended.output);
        let note = "nobody outside the executor of /b subscribes to it";
        assert_eq!(ended.errors.contains(note), says, "{command}: {}", ended.errors);
        let all = ended.output + &ended.errors;
        assert!(!all.contains("chain"), "{command}: there is none: {all}");
    }
    drop(run);
}

#[test]
fn packages_that_wait_for_each_other_describe_themselves_side_by_side() {
    let place = Place::without_package("meet");
    let made = Command::new("mkfifo").arg(place.file("meeting")).status().expect("mkfifo starts");
    assert!(made.success(), "no pipe could be made");
    // A pipe with a name is open when both its ends are.
    let opens = |how: &str| format!(": {how} {}", place.text("meeting"));
    place.package("probe", "runs::package_binary", &opens(">"));
    place.package("ten", "kills::package_binary", &opens("<"));
    let graph = "crossdock: 1
name: meeting
topics:
  /image: { type: sensor_msgs/msg/Image, external: true }
nodes:
  of_one: { package: probe, type: source, outputs: { out: /a } }
  of_another: { package: ten, type: sink, inputs: { in: /image } }
";
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossdock"));
    command.args(["check", &place.written("graph.yaml", graph)]);
    place.prepare(&mut command);
    let ended = Running::start(command).end();
    assert_eq!(ended.code, Some(0), "{}{}", ended.output, ended.errors);
}
