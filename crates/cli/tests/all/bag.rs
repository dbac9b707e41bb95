//! `crossdock bag` as a user types it.

use crate::place::{Place, Program, wait_for};
use crossdock_comm::{AnyPublisher, PublisherOptions, Qos};
use crossdock_record::{
    BagReader, BagWriter, Compression, OfferedQos, TopicDescription, WriterOptions,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

impl Place {
    /// A bag with `count` texts on `/a` and `/b`, turn by turn, one in 10 ms from 1 s on.
    pub(crate) fn bag(&self, name: &str, count: u64) -> PathBuf {
        let path = self.path(name);
        let options = WriterOptions { chunk_bytes: 500, ..WriterOptions::new(Compression::Lz4) };
        let mut writer = BagWriter::create(&path, options).expect("a bag");
        let schema = crossdock_msg::Schema::shipped("std_msgs/msg/String").expect("shipped");
        let topics = ["/a", "/b"].map(|name| {
            let topic = TopicDescription {
                name: name.to_owned(),
                type_name: schema.type_name().to_owned(),
                definition: schema.definition().to_owned(),
                type_hash: schema.type_hash().to_string(),
                qos: vec![OfferedQos { depth: 7, ..OfferedQos::DEFAULT }],
            };
            writer.add_topic(topic).expect("a topic")
        });
        for number in 0..count {
            let text = format!("text {number:04}");
            let length = (text.len() as u32 + 1).to_le_bytes();
            let cdr = [&[0, 1, 0, 0], &length[..], text.as_bytes(), &[0]].concat();
            let time_ns = 1_000_000_000 + number * 10_000_000;
            let topic = topics[(number % 2) as usize];
            writer.write(topic, time_ns, time_ns, &[IoSlice::new(&cdr)]).expect("room");
        }
        writer.finish().expect("a bag");
        path
    }

    /// A bag with one `std_msgs/msg/Bool` on `topic`.
    fn bag_of_flag(&self, name: &str, topic: &str) {
        let options = WriterOptions::new(Compression::Lz4);
        let mut writer = BagWriter::create(self.path(name), options).expect("a bag");
        let schema = crossdock_msg::Schema::shipped("std_msgs/msg/Bool").expect("shipped");
        let topic = TopicDescription {
            name: topic.to_owned(),
            type_name: schema.type_name().to_owned(),
            definition: schema.definition().to_owned(),
            type_hash: schema.type_hash().to_string(),
            qos: Vec::new(),
        };
        let topic = writer.add_topic(topic).expect("a topic");
        writer.write(topic, 1, 1, &[IoSlice::new(&[0, 1, 0, 0, 1])]).expect("room");
        writer.finish().expect("a bag");
    }
}

/// Topic, time and payload of each message.
fn messages(path: &Path) -> Vec<(String, u64, Vec<u8>)> {
    let reader = BagReader::open(path).expect("a bag");
    let mut messages = reader.messages();
    let mut found = Vec::new();
    while let Some(message) = messages.next_message() {
        let message = message.expect("sound");
        let topic = reader.topics()[message.topic].name.clone();
        found.push((topic, message.log_time_ns, message.data.to_vec()));
    }
    found
}

#[test]
fn a_bag_is_described_checked_and_cut() {
    let place = Place::new("look");
    let bag = place.bag("drive", 100);
    let info = place.said(&["bag", "info", "drive"]);
    for part in [
        "Files:             drive_0.mcap",
        "Storage id:        mcap",
        "Duration:          0.990000000s",
        "Start:             Jan 1 1970 00:00:01.000000000 UTC (1.000000000)",
        "Messages:          100",
        "Topic information: Topic: /a | Type: std_msgs/msg/String | Count: 50 | Serialization Format: \
         cdr",
    ] {
        assert!(info.contains(part), "{part} in {info}");
    }
    assert_eq!(place.said(&["bag", "info", "drive", "-t"]), "/a\n/b\n");
    assert!(place.said(&["bag", "info", "drive", "-v"]).contains("| string data"));
    let json: serde_json::Value =
        serde_json::from_str(&place.said(&["bag", "info", "drive", "--json"])).expect("JSON");
    assert_eq!((&json["messages"], &json["topics"][1]["count"]), (&100.into(), &50.into()));
    assert!(place.said(&["bag", "check", "drive"]).contains("everything can be read"));

    place.said(&["bag", "cut", "drive", "--start", "0.2", "--duration", "0.3", "-o", "part.mcap"]);
    let whole = messages(&bag);
    assert_eq!(messages(&place.path("part.mcap")), whole[20..=50]);
    // What lies behind the end is said, not only made.
    for command in [
        &["bag", "cut", "drive", "--start", "2", "-o", "behind.mcap"][..],
        &["bag", "play", "drive", "--start-offset", "2"],
        &["bag", "play", "drive", "--playback-until-nsec", "999999999"],
    ] {
        let output = place.crossdock(command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("the bag goes from 0 to 0.990000000s"), "{command:?}: {said}");
    }
    place.said(&["bag", "cut", "drive", "--end", "0.1", "--topics", "/b", "-o", "b.mcap"]);
    assert_eq!(messages(&place.path("b.mcap")).len(), 5);
    let error = place.refused(&["bag", "cut", "drive", "--topics", "/none", "-o", "c.mcap"]);
    assert!(error.contains("no topic /none; it has: /a, /b"), "{error}");
    assert!(!place.path("c.mcap").exists());

    // A damaged bag: what is wrong is said, and the rest is read.
    let file = bag.join("drive_0.mcap");
    let mut bytes = std::fs::read(&file).expect("the file");
    let place_of_chunk = bytes.len() / 4;
    bytes[place_of_chunk..place_of_chunk + 400].fill(0xff);
    std::fs::write(&file, bytes).expect("the file");
    let found = place.refused(&["bag", "check", "drive"]);
    assert!(found.contains("damaged: ") && found.contains("not everything"), "{found}");
    let said = place.refused(&["bag", "convert", "drive", "-o", "rest"]);
    assert!(said.contains("warning: "), "{said}");
    assert!((50..100).contains(&messages(&place.path("rest")).len()));
}

#[test]
fn bags_are_converted_merged_split_and_reindexed() {
    let place = Place::new("convert");
    let bag = place.bag("drive.mcap", 60);
    let again = place.bag("again.mcap", 60);
    let whole = messages(&bag);
    place.said(&[
        "bag",
        "convert",
        "drive.mcap",
        "-o",
        "split",
        "--max-bag-duration",
        "0.2",
        "--compression",
        "none",
    ]);
    assert!(place.path("split/split_2.mcap").exists());
    assert_eq!(messages(&place.path("split")), whole);
    let metadata = place.path("split/metadata.yaml");
    let written = std::fs::read_to_string(&metadata).expect("metadata");
    std::fs::remove_file(&metadata).expect("metadata");
    assert!(place.said(&["bag", "reindex", "split"]).contains("3 files, 60 messages"));
    assert_eq!(std::fs::read_to_string(&metadata).expect("metadata"), written);
    place.said(&[
        "bag",
        "convert",
        "-i",
        "drive.mcap",
        "-i",
        "again.mcap",
        "-o",
        "both",
        "-x",
        "b$",
    ]);
    let both = messages(&place.path("both"));
    assert_eq!((both.len(), both[0] == both[1]), (60, true));
    drop(again);
    // A topic that has another type in the second bag cannot be merged: that is a failure.
    place.bag_of_flag("other.mcap", "/a");
    let merged = ["bag", "convert", "-i", "drive.mcap", "-i", "other.mcap", "-o", "merged"];
    let output = place.crossdock(&merged);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && said.contains("without those of 1 topic"), "{said}");
    assert_eq!(messages(&place.path("merged")), whole);
    let error = place.refused(&["bag", "convert", "drive.mcap", "-o", "x.mcap", "-b", "1000"]);
    assert!(error.contains("without .mcap"), "{error}");
    // The words of `ros2 bag` for compression and storage.
    for (mode, name) in [("file", "files/files_0.mcap.zstd"), ("MESSAGE", "texts/texts_0.mcap")] {
        let out = name.split('/').next().expect("a folder");
        let words = ["bag", "convert", "drive.mcap", "-o", out, "-s", "mcap", "-b", "0"];
        let compressed = ["--compression-mode", mode, "--compression-format", "zstd"];
        place.said(&[&words[..], &compressed].concat());
        assert!(place.path(name).exists(), "{name}");
        assert_eq!(messages(&place.path(out)), whole, "{mode}");
    }
    let error = place.refused(&["bag", "convert", "drive.mcap", "-o", "x", "-s", "sqlite3"]);
    assert!(error.contains("as MCAP only"), "{error}");
    let error = place.refused(&["bag", "convert", "drive.mcap", "-o", "both"]);
    assert!(error.contains("not overwritten"), "{error}");
}

#[test]
fn sqlite_bags_become_mcap_bags_with_every_message_stamp_and_quality_of_service() {
    let Some(data) = crossdock_test_support::data() else { return };
    let place = Place::new("sqlite");
    for name in [
        "bags/husky_imu_odom_gps_db3",
        "bags/ros2_native/talker_db3",
        "bags/ros2_native/convert_a_db3",
        "bags/ros2_native/convert_b_db3",
        "bags/ros2_native/cdr_test_db3",
        "bags/ros2_native/ait_images_db3",
    ] {
        let from = data.join(name);
        let out = name.rsplit('/').next().expect("a name");
        place.said(&["bag", "convert", from.to_str().expect("text"), "-o", out]);
        let (mut before, mut after) = (messages(&from), messages(&place.path(out)));
        // Of messages of one time, chunks keep the order in which they were written.
        before.sort();
        after.sort();
        assert!(before == after, "{name}");
        let topics = |path: &Path| {
            let reader = BagReader::open(path).expect("a bag");
            let topics = reader.topics().iter();
            topics
                .map(|it| (it.name.clone(), it.type_name.clone(), it.qos.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(topics(&from), topics(&place.path(out)), "{name}");
    }
}

#[test]
fn definitions_of_standard_packages_that_a_bag_lacks_are_known() {
    let Some(data) = crossdock_test_support::data() else { return };
    let place = Place::new("undefined");
    let bag = data.join("bags/ros2_native/convert_a_db3");
    let bag = bag.to_str().expect("text");
    let checked = place.said(&["bag", "check", bag]);
    assert!(checked.ends_with("everything can be read\n"), "{checked}");
    assert_eq!(place.said(&["bag", "play", bag, "--rate", "100"]), "150 messages of 2 topics\n");
    // A copy has them.
    place.said(&["bag", "convert", bag, "-o", "whole"]);
    place.said(&["bag", "cut", bag, "--duration", "1", "-o", "part"]);
    for copy in ["whole", "part"] {
        let reader = BagReader::open(place.path(copy)).expect("a bag");
        let mut topics = reader.topics().iter();
        assert!(topics.all(|topic| topic.definition.is_some()), "{copy}");
    }
    // One that cannot be made into a type gives way to one that can.
    let talker = data.join("bags/ros2_native/talker_db3");
    let mended = place.refused(&["bag", "check", talker.to_str().expect("text")]);
    assert!(mended.contains("note: topic /parameter_events"), "{mended}");
    assert!(mended.contains("takes its place"), "{mended}");
}

#[test]
fn definitions_that_a_bag_lacks_come_from_the_current_folder_or_named_ones() {
    let place = Place::new("undefined-own");
    let options = WriterOptions::new(Compression::None);
    let mut writer = BagWriter::create(place.path("thing.mcap"), options).expect("a bag");
    let topic = TopicDescription {
        name: "/thing".to_owned(),
        type_name: "own_msgs/msg/Thing".to_owned(),
        definition: "Part part\n".to_owned(),
        type_hash: String::new(),
        qos: Vec::new(),
    };
    let topic = writer.add_topic(topic).expect("a topic");
    let message = [0, 1, 0, 0, 5, 0, 0, 0];
    writer.write(topic, 1, 1, &[IoSlice::new(&message)]).expect("room");
    writer.finish().expect("a bag");
    let error = place.refused(&["bag", "check", "thing.mcap"]);
    assert!(error.contains("own_msgs/msg/Part"), "{error}");
    let folder = place.path("elsewhere/own_msgs/msg");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("Thing.msg"), "Part part\n").expect("a file");
    std::fs::write(folder.join("Part.msg"), "int32 x\n").expect("a file");
    let named = ["--interfaces", "elsewhere"];
    let with = |line: &[&str]| place.said(&[line, &named].concat());
    let checked = with(&["bag", "check", "thing.mcap"]);
    assert!(checked.ends_with("everything can be read\n"), "{checked}");
    assert_eq!(with(&["bag", "play", "thing.mcap"]), "1 message of 1 topic\n");
    // A copy has them, and needs no folder.
    with(&["bag", "convert", "thing.mcap", "-o", "whole"]);
    let checked = place.said(&["bag", "check", "whole"]);
    assert!(checked.ends_with("everything can be read\n"), "{checked}");
    // As a workspace has them below the current folder.
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("src")).expect("a link");
    let checked = place.said(&["bag", "check", "thing.mcap"]);
    assert!(checked.ends_with("everything can be read\n"), "{checked}");
    let nothing = place.refused(&["bag", "check", "thing.mcap", "--interfaces", "whole"]);
    assert!(nothing.contains("holds no interface file"), "{nothing}");
}

#[test]
fn what_is_played_is_recorded_by_others_under_the_chosen_names() {
    let place = Place::new("play");
    place.bag("drive.mcap", 40);
    let mut recorder = place
        .command(&["bag", "record", "--all", "-o", "out", "-p", "20"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a recorder");
    wait_for(&mut recorder, "Ctrl-C ends");
    // The recorder finds the topics during the delay.
    let said = place.said(&[
        "bag",
        "play",
        "drive.mcap",
        "--remap",
        "/b:=/c",
        "--delay",
        "2",
        "--start-offset",
        "0.1",
        "--rate",
        "2",
    ]);
    assert_eq!(said, "30 messages of 2 topics\n");
    let pid = rustix::process::Pid::from_child(&recorder);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let output = recorder.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, "30 messages of 2 topics, 0 lost\n");
    let found = messages(&place.path("out"));
    assert_eq!(found.len(), 30);
    assert!(found.iter().all(|(topic, ..)| topic == "/a" || topic == "/c"));
    let reader = BagReader::open(place.path("out")).expect("a bag");
    // What the player offered: what was recorded before.
    assert_eq!(reader.topics()[0].qos[0].depth, 7);
}

/// A bag of ROS 2 with the events of a service and of an action, whose definitions are those of the
/// service and of the action.
fn with_events(place: &Place) {
    let events = |name: &str, type_name: &str, definition: &str| TopicDescription {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        definition: definition.to_owned(),
        type_hash: String::new(),
        qos: vec![OfferedQos::DEFAULT],
    };
    let service = "bool data\n---\nbool success\nstring message\n";
    let action = "int32 order\n---\nint32[] all\n---\nint32[] some\n";
    let line = "=".repeat(80);
    let action = format!("{action}\n{line}\nMSG: unique_identifier_msgs/UUID\nuint8[16] uuid\n");
    let topics = [
        events("/lamp/_service_event", "std_srvs/srv/SetBool_Event", service),
        events("/count/_action/feedback", "my_msgs/action/Count_FeedbackMessage", &action),
        events("/count/_action/status", "action_msgs/msg/GoalStatusArray", &action),
    ];
    let values = [
        json!({ "info": { "event_type": 1 }, "request": [{ "data": true }] }),
        json!({ "feedback": { "some": [1, 1, 2] } }),
        json!({ "status_list": [{ "status": 2 }] }),
    ];
    let options = WriterOptions::new(Compression::None);
    let mut writer = BagWriter::create(place.path("events.mcap"), options).expect("a bag");
    for (topic, value) in topics.into_iter().zip(values) {
        let schema = crossdock_msg::Schema::parse(&topic.type_name, &topic.definition);
        let cdr = schema.expect("a type").cdr_of_json(&value).expect("a message");
        let topic = writer.add_topic(topic).expect("a topic");
        for time_ns in (0..4).map(|number| number * 100_000_000) {
            writer.write(topic, time_ns, time_ns, &[IoSlice::new(&cdr)]).expect("room");
        }
    }
    writer.finish().expect("a bag");
}

const GOALS: &str = "action_msgs/msg/GoalStatusArray";

#[test]
fn events_of_services_and_topics_of_actions_are_played_recorded_and_chosen_by_their_names() {
    let place = Place::new("events");
    with_events(&place);
    let told = place.refused(&["bag", "play", "events.mcap", "--services", "/lump"]);
    assert!(told.contains("no events of service /lump; it has: /lamp"), "{told}");
    place.said(&["bag", "convert", "events.mcap", "-o", "action.mcap", "--actions", "/count"]);
    let names = |bag: &str| {
        let found = messages(&place.path(bag));
        found.into_iter().map(|(topic, ..)| topic).collect::<BTreeSet<String>>()
    };
    let of_action = ["/count/_action/feedback", "/count/_action/status"].map(str::to_owned);
    assert_eq!(names("action.mcap"), BTreeSet::from(of_action.clone()));
    // One recorder for each kind, and one for all of it.
    let record = |name: &str, options: &[&str]| {
        let words = [&["bag", "record", "-p", "20", "-o", name], options].concat();
        let mut command = place.command(&words);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("crossdock starts");
        wait_for(&mut child, "Ctrl-C ends");
        child
    };
    let recorders = [
        ("service.mcap", record("service.mcap", &["--services", "/lamp"])),
        ("actions.mcap", record("actions.mcap", &["--all-actions"])),
        ("all.mcap", record("all.mcap", &["--all", "--exclude-actions", "/count"])),
        ("typed.mcap", record("typed.mcap", &["--topic-types", GOALS, "--include-hidden-topics"])),
        (
            "rest.mcap",
            record(
                "rest.mcap",
                &["--all-topics", "--include-hidden-topics", "--exclude-topic-types", GOALS],
            ),
        ),
    ];
    // The recorders find the topics during the delay.
    place.said(&["bag", "play", "events.mcap", "--delay", "2", "--rate", "20"]);
    for (_, child) in recorders {
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let of_service = BTreeSet::from(["/lamp/_service_event".to_owned()]);
    assert_eq!(names("service.mcap"), of_service);
    assert_eq!(names("all.mcap"), of_service);
    assert_eq!(names("actions.mcap"), BTreeSet::from(of_action.clone()));
    let [feedback, status] = of_action;
    assert_eq!(names("typed.mcap"), BTreeSet::from([status]));
    assert_eq!(
        names("rest.mcap"),
        of_service.union(&BTreeSet::from([feedback])).cloned().collect()
    );
}

#[test]
fn several_bags_are_played_as_one_with_the_words_of_ros_2() {
    let place = Place::new("several");
    place.bag("left.mcap", 20);
    place.bag("right", 20);
    for words in [
        &["bag", "play", "-i", "left.mcap", "-i", "right"][..],
        &[
            "bag",
            "play",
            "-i",
            "left.mcap",
            "mcap",
            "-i",
            "right",
            "mcap",
            "--disable-loan-message",
        ],
        &["bag", "play", "left.mcap", "right", "--clock-topics", "/a", "--log-level", "warn"],
        &["bag", "play", "left.mcap", "right", "--clock-topics-all"],
    ] {
        let words = [words, &["--rate", "max"]].concat();
        assert_eq!(place.said(&words), "40 messages of 2 topics\n", "{words:?}");
    }
    let error = place.refused(&["bag", "play", "left.mcap", "--clock-topics", "/none"]);
    assert!(error.contains("no topic /none"), "{error}");
    // The options of `ros2 bag convert` are in a file, which is no bag.
    std::fs::write(place.path("out.yaml"), "output_bags: []\n").expect("a file");
    let error = place.refused(&["bag", "convert", "-i", "left.mcap", "-o", "out.yaml"]);
    assert!(error.contains("on the command line"), "{error}");
}

#[test]
fn errors_speak_of_what_is_wrong() {
    let place = Place::new("errors");
    place.bag("drive.mcap", 4);
    // A wrong value has nothing to do with options of ROS 2 that are not taken.
    let error = place.refused(&["bag", "play", "drive.mcap", "--rate", "0"]);
    assert!(error.contains("a number above 0") && !error.contains("--storage"), "{error}");
    let error = place.refused(&["bag", "play", "drive.mcap", "--storage-config-file", "x"]);
    assert!(error.contains("--storage-config-file is not taken"), "{error}");
    // A file is there, but not the folder into which it is to be decompressed.
    place.said(&["bag", "convert", "drive.mcap", "--compression-mode", "file", "-o", "packed"]);
    let mut command = place.command(&["bag", "info", "packed"]);
    let output = command.env("TMPDIR", place.path("none")).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("another folder by TMPDIR") && !error.contains("missing"), "{error}");
}

#[test]
fn a_bag_of_more_topics_than_descriptors_is_played() {
    let place = Place::new("many-topics");
    let options = WriterOptions::new(Compression::None);
    let mut writer = BagWriter::create(place.path("many.mcap"), options).expect("a bag");
    let schema = crossdock_msg::Schema::shipped("std_msgs/msg/Empty").expect("shipped");
    for number in 0..300 {
        let topic = TopicDescription {
            name: format!("/part_{number}/state"),
            type_name: schema.type_name().to_owned(),
            definition: schema.definition().to_owned(),
            type_hash: schema.type_hash().to_string(),
            qos: Vec::new(),
        };
        let topic = writer.add_topic(topic).expect("a topic");
        writer.write(topic, number, number, &[IoSlice::new(&[0, 1, 0, 0, 0])]).expect("room");
    }
    writer.finish().expect("a bag");
    let command = place.command(&["bag", "play", "many.mcap"]);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -Sn 200; exec \"$0\" \"$@\""]).arg(command.get_program());
    shell.args(command.get_args()).current_dir(place.folder()).stdin(Stdio::null());
    shell.env("XDG_RUNTIME_DIR", place.folder()).env_remove("ROS_DOMAIN_ID");
    let output = shell.output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "300 messages of 300 topics\n");
}

/// Calls a service of a recorder or player, and gives the response.
fn call(place: &Place, service: &str, type_name: &str, request: &str) -> serde_json::Value {
    let type_name = format!("rosbag2_interfaces/srv/{type_name}");
    let said = place.said(&["service", "call", service, &type_name, request, "--json"]);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{said}: {error}"))
}

/// A program of the test that says a number on `/a` when it is told to.
pub(crate) fn talker(place: &Place) -> (crossdock_comm::Participant, AnyPublisher) {
    let participant = place.participant("talker");
    let schema = crossdock_msg::Schema::shipped("std_msgs/msg/UInt64").expect("shipped");
    let qos = Qos::best_effort(50);
    let port = PublisherOptions { node: "n", topic: "/a", qos, max_bytes: None, group: None };
    let publisher = participant.any_publisher(Arc::new(schema), port).expect("a publisher");
    (participant, publisher)
}

pub(crate) fn say(publisher: &AnyPublisher, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let cdr = [&[0, 1, 0, 0][..], &number.to_le_bytes()].concat();
        publisher.publish_cdr(&cdr, number + 1, [0; 2]).expect("room");
    }
}

pub(crate) fn recorded(path: &Path) -> Vec<u64> {
    let number = |cdr: &[u8]| u64::from_le_bytes(cdr[4..12].try_into().expect("8 bytes"));
    messages(path).iter().map(|(.., cdr)| number(cdr)).collect()
}

fn interrupt(program: Program) -> String {
    let mut program = program;
    let id = rustix::process::Pid::from_child(program.child());
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
    let output = program.end();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn a_recorder_pauses_and_splits_its_bag_as_its_services_are_called() {
    let place = Place::new("services");
    let (talking, publisher) = talker(&place);
    let mut command = place.command(&["bag", "record", "-a", "-o", "out", "--start-paused"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = Program::start(command);
    wait_for(program.child(), "recording /a");
    let connected = || talking.topic_connections("/a").outgoing > 0;
    assert!(talking.wait_until(std::time::Duration::from_secs(60), connected));
    say(&publisher, 0..5);
    let recorder = |service: &str, type_name: &str| {
        call(&place, &format!("/rosbag2_recorder/{service}"), type_name, "{}")
    };
    assert_eq!(recorder("is_paused", "IsPaused")["paused"], true);
    recorder("resume", "Resume");
    assert_eq!(recorder("is_paused", "IsPaused")["paused"], false);
    say(&publisher, 5..9);
    recorder("split_bagfile", "SplitBagfile");
    say(&publisher, 9..11);
    recorder("pause", "Pause");
    say(&publisher, 11..20);
    // Each message is written already.
    assert_eq!(recorder("snapshot", "Snapshot")["success"], false);
    let said = interrupt(program);
    assert!(said.contains("6 messages of 1 topic, 0 lost"), "{said}");
    assert_eq!(recorded(&place.path("out/out_0.mcap")), [5, 6, 7, 8]);
    assert_eq!(recorded(&place.path("out/out_1.mcap")), [9, 10]);
}

#[test]
fn messages_that_are_none_of_their_type_are_lost_for_a_recorder_and_it_says_so() {
    let place = Place::new("damaged");
    let (talking, publisher) = talker(&place);
    let mut command = place.command(&["bag", "record", "-a", "-o", "out"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = Program::start(command);
    wait_for(program.child(), "recording /a");
    let connected = || talking.topic_connections("/a").outgoing > 0;
    assert!(talking.wait_until(std::time::Duration::from_secs(60), connected));
    say(&publisher, 0..2);
    for _ in 0..3 {
        let mut loan = publisher.loan(8).expect("room");
        loan.set_len(4);
        loan.publish().map_err(|refused| refused.reason).expect("it is published");
    }
    say(&publisher, 2..4);
    // What came before the recorder had the connection is not taken if it ends by then.
    crate::runs::probe::until("seven messages", || crate::bag_keys::taken(&place) == 7);
    let id = rustix::process::Pid::from_child(program.child());
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
    let output = program.end();
    let said = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("3 messages of /a were damaged by their publisher"), "{said}");
    assert!(said.contains("4 messages of 1 topic, 3 lost"), "{said}");
    assert_eq!(recorded(&place.path("out")), [0, 1, 2, 3]);
}

#[test]
fn a_recorder_in_snapshot_mode_writes_the_newest_messages_when_it_is_asked_to() {
    let place = Place::new("snapshot");
    let (talking, publisher) = talker(&place);
    let words = ["bag", "record", "-a", "-o", "out", "--snapshot-mode", "--max-cache-size", "440"];
    let mut command = place.command(&[&words[..], &["--node-name", "black_box"]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = Program::start(command);
    wait_for(program.child(), "recording /a");
    let connected = || talking.topic_connections("/a").outgoing > 0;
    assert!(talking.wait_until(std::time::Duration::from_secs(60), connected));
    say(&publisher, 0..40);
    assert_eq!(call(&place, "/black_box/snapshot", "Snapshot", "{}")["success"], true);
    say(&publisher, 40..43);
    let said = interrupt(program);
    assert!(said.contains("3 messages were in memory"), "{said}");
    // Each has 12 bytes, and 32 in a list.
    assert_eq!(recorded(&place.path("out")), (30..40).collect::<Vec<_>>());
}

#[test]
fn a_recorder_says_whose_messages_have_another_type() {
    let place = Place::new("two-types");
    let (talking, publisher) = talker(&place);
    let mut command = place.command(&["bag", "record", "-a", "-o", "out"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = Program::start(command);
    let connected = || talking.topic_connections("/a").outgoing > 0;
    assert!(talking.wait_until(std::time::Duration::from_secs(60), connected));
    say(&publisher, 0..2);
    let other = place.participant("other");
    let schema = Arc::new(crossdock_msg::Schema::shipped("std_msgs/msg/String").expect("shipped"));
    let qos = Qos::best_effort(50);
    let port = PublisherOptions { node: "m", topic: "/a", qos, max_bytes: None, group: None };
    let _publisher = other.any_publisher(schema, port).expect("a publisher");
    wait_for(program.child(), "cannot take from node `m` in process `other`");
    wait_for(program.child(), "std_msgs/msg/String");
    say(&publisher, 2..4);
    let said = interrupt(program);
    assert!(said.contains("4 messages of 1 topic"), "{said}");
}

#[test]
fn a_player_is_steered_by_its_services() {
    let place = Place::new("player-services");
    // 100 s, of which little is played.
    place.bag("long", 10_000);
    let mut command = place.command(&["bag", "play", "long", "--start-paused", "--rate", "3"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = Program::start(command);
    let player = |service: &str, type_name: &str, request: &str| {
        call(&place, &format!("/rosbag2_player/{service}"), type_name, request)
    };
    assert_eq!(player("is_paused", "IsPaused", "{}")["paused"], true);
    assert_eq!(player("play_next", "PlayNext", "{}")["success"], true);
    assert_eq!(player("get_rate", "GetRate", "{}")["rate"], 3.0);
    assert_eq!(player("set_rate", "SetRate", "{rate: -1}")["success"], false);
    assert_eq!(player("set_rate", "SetRate", "{rate: 0.5}")["success"], true);
    assert_eq!(player("get_rate", "GetRate", "{}")["rate"], 0.5);
    player("toggle_paused", "TogglePaused", "{}");
    assert_eq!(player("is_paused", "IsPaused", "{}")["paused"], false);
    assert_eq!(player("play_next", "PlayNext", "{}")["success"], false);
    player("pause", "Pause", "{}");
    assert_eq!(player("is_paused", "IsPaused", "{}")["paused"], true);
    let seek = |seconds: u64| player("seek", "Seek", &format!("{{time: {{sec: {seconds}}}}}"));
    assert_eq!(seek(50)["success"], true);
    assert_eq!(seek(1000)["success"], false);
    player("stop", "Stop", "{}");
    let output = program.end();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn commands_that_cannot_begin_say_what_to_do() {
    let place = Place::new("refused");
    place.bag("drive.mcap", 4);
    let error = place.refused(&["bag", "record", "-o", "out"]);
    assert!(error.contains("--all"), "{error}");
    let error = place.refused(&["bag", "record", "-a", "--duration", "0.05", "-o", "out"]);
    assert!(error.contains("nobody published"), "{error}");
    let error = place.refused(&["bag", "play", "drive.mcap", "-x", "."]);
    assert!(error.contains("bag info"), "{error}");
    let error = place.refused(&["bag", "play", "drive.mcap", "--remap", "a"]);
    assert!(error.contains("/old:=/new"), "{error}");
    let error = place.refused(&["bag", "play", "drive.mcap", "--domain-id", "233"]);
    assert!(error.contains("from 0 to 232") && error.contains("ROS_DOMAIN_ID"), "{error}");
    place.bag_of_flag("flag.mcap", "/flag");
    let both = ["bag", "play", "-i", "drive.mcap", "-i", "flag.mcap", "--remap"];
    let error = place.refused(&[&both[..], &["/flag:=/a"]].concat());
    let named = "`/a` (std_msgs/msg/String) and `/flag` (std_msgs/msg/Bool) would both be";
    assert!(error.contains(named) && error.contains("--exclude-topics"), "{error}");
    std::fs::write(place.path("qos.yaml"), "/a: {reliability: maybe}").expect("a file");
    let error =
        place.refused(&["bag", "play", "drive.mcap", "--qos-profile-overrides-path", "qos.yaml"]);
    assert!(error.contains("qos.yaml") && error.contains("best_effort"), "{error}");
    let error = place.refused(&["bag", "play", "drive.mcap", "--max-kept-bytes", "1"]);
    assert!(error.contains("the publishers up to that of topic /a take "), "{error}");
    assert!(error.contains("more than 1; play fewer topics"), "{error}");
    for command in [&["bag", "play"][..], &["bag", "convert", "-o", "out"]] {
        let error = place.refused(command);
        assert!(error.contains("name a bag"), "{error}");
    }
    let words = ["bag", "record", "-a", "--snapshot-mode", "--max-cache-size", "0", "-o", "out"];
    let error = place.refused(&words);
    assert!(error.contains("more than 0 bytes"), "{error}");
    let error = place.refused(&["bag", "record", "-a", "--storage-config-file", "x.yaml"]);
    assert!(error.contains("--compression"), "{error}");
    let error = place.refused(&["bag", "info", "none"]);
    assert!(error.contains("does not exist"), "{error}");
}
