//! Reading bags: recordings of other tools, folders, foreign and unusual files.

use crate::common;
use common::{STRING_HASH, Scratch, contents, options, string_cdr, write_strings};
use crossdock_msg::{Block, FlatBuffer};
use crossdock_record::{
    BagReader, Compression, DamageKind, Durability, History, OpenBagError, ReadError,
    ReaderOptions, Reliability, TopicProblem,
};
use mcap::records::MessageHeader;
use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

fn bags_in(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bags_in(&path, extension, found);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

fn shared_bags(data: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["driving", "autorace_sim", "bags", "calibration"] {
        bags_in(&data.join(folder), extension, &mut found);
    }
    found.sort();
    found
}

/// An MCAP file of another writer, built in memory.
struct Foreign {
    writer: mcap::Writer<Cursor<Vec<u8>>>,
}

impl Foreign {
    fn new(options: mcap::WriteOptions) -> Self {
        Self { writer: options.profile("ros2").create(Cursor::new(Vec::new())).unwrap() }
    }

    fn topic(&mut self, name: &str, schema: Option<(&str, &str, &str)>, encoding: &str) -> u16 {
        let id = schema.map_or(0, |(type_name, form, text)| {
            self.writer.add_schema(type_name, form, text.as_bytes()).unwrap()
        });
        self.writer.add_channel(id, name, encoding, &BTreeMap::new()).unwrap()
    }

    fn message(&mut self, channel_id: u16, log_time: u64, data: &[u8]) {
        let header = MessageHeader { channel_id, sequence: 0, log_time, publish_time: log_time };
        self.writer.write_to_known_channel(&header, data).unwrap();
    }

    fn store(mut self, path: &Path) {
        self.writer.finish().unwrap();
        fs::write(path, self.writer.into_inner().into_inner()).unwrap();
    }
}

const STRING: Option<(&str, &str, &str)> =
    Some(("std_msgs/msg/String", "ros2msg", "string data\n"));

#[test]
fn every_shared_mcap_bag_is_read_completely_and_in_order() {
    let Some(data) = crossdock_test_support::data() else {
        return;
    };
    // Messages and topics as two independent readers count them.
    let expected = BTreeMap::from([
        ("autorace_a_15hz", (400, 2)),
        ("jackal_imu_odom_mcap", (3001, 2)),
        ("lidar_car_cloud_mcap", (2, 1)),
        ("cdr_test_0", (7, 2)),
        ("rewriter_a_0", (150, 2)),
        ("rewriter_b_0", (75, 2)),
        ("talker", (20, 3)),
        ("opencv_left_mono8_mcap", (18, 2)),
        ("udacity_raw_1280x720_mcap", (4, 2)),
        ("highway_a_25hz", (152, 2)),
        ("highway_drive_1hz", (38, 2)),
        ("white_lanes_25hz", (100, 1)),
    ]);
    let bags = shared_bags(&data, "mcap");
    assert_eq!(bags.len(), expected.len());
    for file in bags {
        let (messages, topics) = expected[file.file_stem().unwrap().to_str().unwrap()];
        for path in [file.as_path(), file.parent().unwrap()] {
            let reader = BagReader::open(path).unwrap();
            assert!(reader.remarks().is_empty(), "{:?}", reader.remarks());
            assert_eq!(reader.topics().len(), topics, "{}", path.display());
            assert_eq!(reader.message_count(), messages);
            let found = contents(&reader);
            assert!(found.error.is_none(), "{:?}", found.error);
            assert_eq!(found.messages.len() as u64, messages);
            assert!(found.messages.is_sorted_by_key(|(_, time, _)| *time));
            for topic in reader.topics() {
                assert!(topic.problems.is_empty(), "{topic:?}");
                assert!(topic.definition.is_some());
                assert_eq!(topic.type_name.split('/').nth(1), Some("msg"));
            }
        }
    }
}

#[test]
fn type_hashes_and_qos_come_from_channels_or_metadata() {
    let Some(data) = crossdock_test_support::data() else { return };
    let reader = BagReader::open(data.join("driving/highway_a_25hz")).unwrap();
    let image = &reader.topics()[0];
    assert_eq!(image.name, "/camera/image_raw/compressed");
    let hash = "RIHS01_15640771531571185e2efc8a100baf923961a4d15d5569652e6cb6691e8e371a";
    assert_eq!(image.type_hash.as_deref(), Some(hash));
    let reader = BagReader::open(data.join("bags/ros2_native/talker_mcap/talker.mcap")).unwrap();
    let talk = reader.topics().iter().find(|topic| topic.name == "/topic").unwrap();
    assert_eq!(talk.qos[0].reliability, Reliability::Reliable);
    assert_eq!(talk.qos[0].durability, Durability::Volatile);
    assert_eq!(talk.qos[0].history, History::Unknown);
    // Its channels carry no QoS; its metadata.yaml lists two profiles of one topic.
    let reader = BagReader::open(data.join("bags/ros2_native/convert_a_mcap")).unwrap();
    let empty = reader.topics().iter().find(|topic| topic.name == "/a_empty").unwrap();
    let offered: Vec<_> = empty.qos.iter().map(|qos| (qos.depth, qos.reliability)).collect();
    assert_eq!(offered, [(1, Reliability::Reliable), (2, Reliability::BestEffort)]);
}

#[test]
fn files_that_are_no_bag_are_refused_by_what_they_are() {
    let scratch = Scratch::new("foreign");
    let store = |name: &str, bytes: &[u8]| {
        let path = scratch.path(name);
        fs::write(&path, bytes).unwrap();
        BagReader::open(path).unwrap_err()
    };
    assert!(matches!(store("a.mcap", b""), OpenBagError::Empty { .. }));
    assert!(matches!(store("b.mcap", b"hello, this is text"), OpenBagError::Foreign { .. }));
    assert!(matches!(store("c.bag", b"#ROSBAG V2.0\n....."), OpenBagError::Ros1 { .. }));
    let zstd = store("d.mcap.zstd", b"\x28\xb5\x2f\xfd....");
    assert!(zstd.to_string().contains("cannot be decompressed"), "{zstd}");
    let missing = BagReader::open(scratch.path("missing")).unwrap_err();
    assert!(matches!(missing, OpenBagError::NotFound { .. }));
    fs::create_dir(scratch.path("empty")).unwrap();
    let empty = BagReader::open(scratch.path("empty")).unwrap_err();
    assert!(matches!(empty, OpenBagError::NoBag { .. }));
    // Opening a device must not wait for it.
    assert!(matches!(BagReader::open("/dev/zero").unwrap_err(), OpenBagError::Io { .. }));
}

#[test]
fn unusable_topics_are_named_and_the_others_are_read() {
    let scratch = Scratch::new("topics");
    let path = scratch.path("mixed.mcap");
    let mut foreign = Foreign::new(mcap::WriteOptions::new());
    let event = "uint8 info\n---\nint64 sum\n";
    let channels = [
        foreign.topic("/good", STRING, "cdr"),
        foreign.topic("/old", Some(("std_msgs/String", "ros1msg", "string data")), "ros1"),
        foreign.topic("/idl", Some(("a_msgs/msg/B", "ros2idl", "module a_msgs {};")), "cdr"),
        foreign.topic("/bare", None, "cdr"),
        foreign.topic("/event", Some(("a/srv/Add_Event", "ros2msg", event)), "cdr"),
        foreign.topic("/good", Some(("std_msgs/msg/Bool", "ros2msg", "bool data")), "cdr"),
        foreign.topic("/short", Some(("std_msgs/String", "ros2msg", "string data\n")), "cdr"),
        foreign.topic("/omg", Some(("a_msgs/msg/B", "omgidl", "module a_msgs {};")), "cdr"),
    ];
    for (time, channel) in channels.iter().enumerate() {
        foreign.message(*channel, time as u64, &string_cdr("x"));
    }
    foreign.store(&path);
    let reader = BagReader::open(&path).unwrap();
    let problems: Vec<_> = reader.topics().iter().map(|topic| &topic.problems[..]).collect();
    assert_eq!(problems[0], []);
    assert!(matches!(&problems[1][0], TopicProblem::MessageEncoding(name) if name == "ros1"));
    assert!(
        matches!(&problems[2][0], TopicProblem::IdlDefinition(what) if what.contains("a_msgs"))
    );
    assert_eq!(problems[3][0], TopicProblem::NoDefinition);
    assert_eq!(problems[4], []);
    assert!(matches!(problems[5][0], TopicProblem::Conflict { .. }));
    assert_eq!(reader.topics()[6].type_name, "std_msgs/msg/String");
    assert!(matches!(&problems[7][0], TopicProblem::SchemaEncoding(name) if name == "omgidl"));
    let found = contents(&reader);
    assert!(found.error.is_none());
    let topics: Vec<_> = found.messages.iter().map(|(topic, ..)| *topic).collect();
    assert_eq!(topics, [0, 2, 3, 4, 6, 7]);
}

#[test]
fn messages_in_another_encoding_are_no_messages_of_the_topic_beside_them() {
    let scratch = Scratch::new("encodings");
    let path = scratch.path("e.mcap");
    let mut foreign = Foreign::new(mcap::WriteOptions::new());
    let channels = ["cdr", "json", "cdr"].map(|encoding| foreign.topic("/t", STRING, encoding));
    for (time, channel) in (1..).zip(channels) {
        foreign.message(channel, time, &string_cdr("x"));
    }
    foreign.store(&path);
    let reader = BagReader::open(&path).unwrap();
    let problems: Vec<_> = reader.topics().iter().map(|topic| &topic.problems[..]).collect();
    assert_eq!(problems, [&[][..], &[TopicProblem::MessageEncoding("json".to_owned())]]);
    let found = contents(&reader);
    let found: Vec<_> = found.messages.iter().map(|(topic, time, _)| (*topic, *time)).collect();
    assert_eq!(found, [(0, 1), (0, 3)]);
}

#[test]
fn a_definition_that_is_no_text_or_too_long_to_be_looked_at_says_so() {
    const IDL_BYTES_MAX: usize = 1 << 20;
    let scratch = Scratch::new("texts");
    let path = scratch.path("t.mcap");
    let idl = |bytes: usize| {
        let text = IN_IDL.to_owned();
        let comment = "/".repeat(bytes - text.len());
        (text + &comment).into_bytes()
    };
    let mut foreign = Foreign::new(mcap::WriteOptions::new());
    let schemas = [
        ("std_msgs/msg/String", "ros2msg", vec![0xff]),
        ("my_msgs/msg/Other", "ros2idl", vec![0xff]),
        ("my_msgs/msg/Greeting", "ros2idl", idl(IDL_BYTES_MAX)),
        ("my_msgs/msg/Greeting", "ros2idl", idl(IDL_BYTES_MAX + 1)),
    ];
    for (topic, (name, form, text)) in ["/0", "/1", "/2", "/3"].into_iter().zip(schemas) {
        let id = foreign.writer.add_schema(name, form, &text).unwrap();
        let channel = foreign.writer.add_channel(id, topic, "cdr", &BTreeMap::new()).unwrap();
        foreign.message(channel, 1, &string_cdr("x"));
    }
    foreign.store(&path);
    let reader = BagReader::open(&path).unwrap();
    let problems: Vec<_> = reader.topics().iter().map(|topic| &topic.problems[..]).collect();
    let text = [TopicProblem::DefinitionText];
    assert_eq!(problems[..3], [&text[..], &text, &[]]);
    let [TopicProblem::IdlDefinition(what)] = problems[3] else { panic!("{:?}", problems[3]) };
    assert!(what.contains("it has 1048577 bytes"), "{what}");
}

/// What rosbag2 records of a type that only `.idl` files define.
const IN_IDL: &str = "\
================================================================================
IDL: my_msgs/msg/Greeting
#include \"my_msgs/msg/Tone.idl\"
module my_msgs { module msg { struct Greeting { string data; my_msgs::msg::Tone tone; }; }; };
================================================================================
IDL: my_msgs/msg/Tone
module my_msgs { module msg { @verbatim(language=\"comment\", text=\"loud?\") struct Tone {
  @default(value=3) octet loudness; }; }; };
";

#[test]
fn definitions_in_idl_are_understood_and_copied_in_the_form_that_all_readers_know() {
    let scratch = Scratch::new("idl");
    let path = scratch.path("idl.mcap");
    let mut foreign = Foreign::new(mcap::WriteOptions::new());
    let channel = foreign.topic("/idl", Some(("my_msgs/msg/Greeting", "ros2idl", IN_IDL)), "cdr");
    let data = [&string_cdr("hello")[..], &[7]].concat();
    foreign.message(channel, 5, &data);
    foreign.store(&path);
    let reader = BagReader::open(&path).unwrap();
    let topic = &reader.topics()[0];
    assert_eq!(topic.problems, []);
    let schema = topic.schema().unwrap();
    let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(&data).unwrap());
    schema.decode_cdr(&data, flat.as_mut_slice()).unwrap();
    let value = schema.to_json(Block::new(flat.as_slice())).unwrap();
    assert_eq!(value.to_string(), r#"{"data":"hello","tone":{"loudness":7}}"#);
    let text = topic.definition.as_deref().unwrap();
    assert!(text.contains("MSG: my_msgs/Tone") || text.contains("MSG: my_msgs/msg/Tone"), "{text}");
}

#[test]
fn chunks_that_overlap_in_time_are_merged() {
    let scratch = Scratch::new("overlap");
    let path = scratch.path("overlap.mcap");
    // Every message closes its chunk; the times go back and forth.
    let mut foreign = Foreign::new(mcap::WriteOptions::new().chunk_size(Some(1)));
    let channel = foreign.topic("/t", STRING, "cdr");
    let times = [50, 10, 40, 20, 30, 90, 60, 80, 70];
    for time in times {
        foreign.message(channel, time, &string_cdr(&time.to_string()));
    }
    foreign.store(&path);
    let found = contents(&BagReader::open(&path).unwrap());
    let order: Vec<_> = found.messages.iter().map(|(_, time, _)| *time).collect();
    assert_eq!(order, [10, 20, 30, 40, 50, 60, 70, 80, 90]);
}

#[test]
fn files_without_chunks_or_without_a_summary_are_read_too() {
    let scratch = Scratch::new("bare");
    let plain = mcap::WriteOptions::new();
    let variants = [
        ("loose", plain.clone().use_chunks(false)),
        ("bare", plain.clone().emit_summary_records(false).emit_summary_offsets(false)),
        ("unrepeated", plain.clone().repeat_channels(false).repeat_schemas(false)),
        ("lz4", plain.clone().compression(Some(mcap::Compression::Lz4)).chunk_size(Some(4096))),
        ("seeking", plain.compression(None).calculate_chunk_crcs(false)),
    ];
    for (name, options) in variants {
        let path = scratch.path(&format!("{name}.mcap"));
        let mut foreign = Foreign::new(options);
        let channel = foreign.topic("/t", STRING, "cdr");
        for number in 0..5000 {
            foreign.message(channel, number, &string_cdr(&common::text(number)));
        }
        foreign.store(&path);
        let reader = BagReader::open(&path).unwrap();
        assert_eq!(reader.message_count(), 5000, "{name}");
        assert!(reader.damage().is_none(), "{name}: {:?}", reader.damage());
        let found = contents(&reader);
        assert!(found.error.is_none(), "{name}: {:?}", found.error);
        assert_eq!(found.messages.len(), 5000);
        for (number, (_, time, data)) in found.messages.iter().enumerate() {
            assert_eq!(*time, number as u64);
            assert_eq!(*data, string_cdr(&common::text(number as u64)));
        }
    }
}

#[test]
fn a_message_outside_chunks_may_be_as_large_as_the_limit_and_no_larger() {
    let scratch = Scratch::new("loose-limit");
    let path = scratch.path("loose.mcap");
    let mut foreign = Foreign::new(mcap::WriteOptions::new().use_chunks(false));
    let channel = foreign.topic("/t", STRING, "cdr");
    let texts = ["a".repeat(1000), "b".repeat(1001), "c".to_owned(), "d".repeat(1000)];
    for (time, text) in (1..).zip(&texts) {
        foreign.message(channel, time, &string_cdr(text));
    }
    foreign.store(&path);
    // Opcode and length of a record, fields of a message.
    let record_bytes_max = (9 + 22 + string_cdr(&texts[0]).len()) as u64;
    let options = ReaderOptions { record_bytes_max, ..ReaderOptions::default() };
    let found = contents(&BagReader::open_with(&path, options).unwrap());
    let times: Vec<_> = found.messages.iter().map(|(_, time, _)| *time).collect();
    assert_eq!(times, [1, 3, 4]);
    let Some(ReadError::Damaged { first, count, .. }) = found.error else { panic!("no damage") };
    let (bytes, limit_bytes) = (record_bytes_max + 1, record_bytes_max);
    assert_eq!((first.kind, count), (DamageKind::TooLarge { bytes, limit_bytes }, 1));
}

/// A folder with the parts `bag_0`, `bag_1`, `bag_10` of one recording.
fn split_bag(scratch: &Scratch) -> PathBuf {
    let folder = scratch.path("bag");
    fs::create_dir(&folder).unwrap();
    for (part, number) in [0u64, 1, 10].into_iter().enumerate() {
        let mut foreign = Foreign::new(mcap::WriteOptions::new());
        let channel = foreign.topic("/t", STRING, "cdr");
        for step in 0..10 {
            foreign.message(channel, part as u64 * 10 + step, &string_cdr("x"));
        }
        foreign.store(&folder.join(format!("bag_{number}.mcap")));
    }
    folder
}

fn metadata_naming(files: &str) -> String {
    format!(
        "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n  \
         starting_time:\n    nanoseconds_since_epoch: 99\n  relative_file_paths: {files}\n"
    )
}

#[test]
fn a_bag_of_several_files_is_read_in_the_order_of_its_metadata_or_of_its_names() {
    let scratch = Scratch::new("split");
    let folder = split_bag(&scratch);
    let times: Vec<u64> = (0..30).collect();
    let read = || {
        let reader = BagReader::open(&folder).unwrap();
        assert_eq!(reader.topics().len(), 1);
        let found = contents(&reader);
        let order: Vec<_> = found.messages.iter().map(|(_, time, _)| *time).collect();
        (order, reader.remarks().to_vec(), found.error)
    };
    let (order, remarks, error) = read();
    assert_eq!(order, times);
    assert!(remarks[0].contains("metadata.yaml is missing"), "{remarks:?}");
    assert!(error.is_none());
    let store = |text: &str| fs::write(folder.join("metadata.yaml"), text).unwrap();
    store(&metadata_naming("[bag_0.mcap, bag/bag_1.mcap, /old/place/bag_10.mcap]"));
    let (order, remarks, error) = read();
    assert_eq!((order, remarks.len()), (times.clone(), 0));
    assert!(error.is_none());
    store("rosbag2_bagfile_information: [broken");
    let (order, remarks, _) = read();
    assert_eq!((order, remarks.len()), (times, 1));
}

#[test]
fn a_file_that_metadata_names_several_times_is_read_once() {
    let scratch = Scratch::new("named-twice");
    let folder = split_bag(&scratch);
    // The second and third name lead to the same file as the first.
    let names = "[bag_0.mcap, ../bag_0.mcap, bag_0.mcap, bag_1.mcap, bag_10.mcap]";
    fs::write(folder.join("metadata.yaml"), metadata_naming(names)).unwrap();
    let reader = BagReader::open(&folder).unwrap();
    assert_eq!((contents(&reader).messages.len(), reader.message_count()), (30, 30));
    let remarks = reader.remarks();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    assert!(remarks[0].contains("bag_0.mcap is named more than once"), "{remarks:?}");
}

#[test]
fn metadata_that_is_longer_than_allowed_is_not_read_in_part() {
    let scratch = Scratch::new("long-metadata");
    let folder = split_bag(&scratch);
    // What would be cut off is a comment: the rest of the text is sound.
    let text = metadata_naming("[bag_0.mcap]") + "\n#";
    for (bytes, count) in [(8 << 20, 10), ((8 << 20) + 1, 30)] {
        let padded = format!("{text}{}", "-".repeat(bytes - text.len()));
        fs::write(folder.join("metadata.yaml"), padded).unwrap();
        let reader = BagReader::open(&folder).unwrap();
        assert_eq!(contents(&reader).messages.len(), count, "{bytes} bytes");
        let is_unusable = reader.remarks()[0].contains("cannot be used");
        assert_eq!(is_unusable, count == 30, "{:?}", reader.remarks());
    }
}

#[test]
fn files_of_the_folder_that_metadata_does_not_name_are_told() {
    let scratch = Scratch::new("not-named");
    let folder = split_bag(&scratch);
    fs::write(folder.join("metadata.yaml"), metadata_naming("[bag_0.mcap]")).unwrap();
    let reader = BagReader::open(&folder).unwrap();
    let remarks = reader.remarks();
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    let (file, step) =
        ("bag_1.mcap and 1 more of the folder are not read", "`crossdock bag reindex`");
    assert!(remarks[0].contains(file) && remarks[0].contains(step), "{remarks:?}");
}

#[test]
fn a_missing_file_of_a_bag_is_reported_after_the_others_were_read() {
    let scratch = Scratch::new("missing");
    let folder = split_bag(&scratch);
    let names = "[bag_0.mcap, bag_1.mcap, bag_2.mcap]";
    fs::write(folder.join("metadata.yaml"), metadata_naming(names)).unwrap();
    let found = contents(&BagReader::open(&folder).unwrap());
    assert_eq!(found.messages.len(), 20);
    let text = found.error.unwrap().to_string();
    assert!(text.contains("bag_2.mcap") && text.contains("missing"), "{text}");
    // If none is there, somebody has renamed them.
    fs::write(folder.join("metadata.yaml"), metadata_naming("[gone.mcap]")).unwrap();
    let renamed = BagReader::open(&folder).unwrap();
    assert!(renamed.remarks()[0].contains("no file that it names is there"));
    assert_eq!(contents(&renamed).messages.len(), 30);
    for number in [0, 1, 10] {
        fs::remove_file(folder.join(format!("bag_{number}.mcap"))).unwrap();
    }
    let error = BagReader::open(&folder).unwrap_err();
    assert!(matches!(error, OpenBagError::FilesMissing { .. }), "{error}");
    // What keeps metadata.yaml from being read is no reason not to read the files.
    let scratch = Scratch::new("no-metadata");
    let folder = split_bag(&scratch);
    fs::create_dir(folder.join("metadata.yaml")).unwrap();
    let found = BagReader::open(&folder).unwrap();
    assert!(found.remarks()[0].contains("it is not a regular file"), "{:?}", found.remarks());
}

#[test]
fn a_bag_is_found_by_its_metadata_and_a_folder_without_files_is_none() {
    let scratch = Scratch::new("by-metadata");
    let folder = split_bag(&scratch);
    let metadata = folder.join("metadata.yaml");
    fs::write(&metadata, metadata_naming("[bag_0.mcap, bag_1.mcap]")).unwrap();
    assert_eq!(contents(&BagReader::open(&metadata).unwrap()).messages.len(), 20);
    let empty = scratch.path("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(empty.join("metadata.yaml"), metadata_naming("[]")).unwrap();
    let error = BagReader::open(&empty).unwrap_err();
    assert!(matches!(error, OpenBagError::Metadata { .. }), "{error}");
    assert!(error.to_string().contains("it names no files"), "{error}");
    // A pipe is not waited for.
    fs::remove_file(empty.join("metadata.yaml")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(empty.join("metadata.yaml")).status();
    assert!(made.unwrap().success());
    let error = BagReader::open(&empty).unwrap_err().to_string();
    assert!(error.contains("metadata.yaml cannot be used (it is not a regular file but a pipe)"));
}

/// What metadata.yaml of each version says of a bag with one topic, in that version's form.
fn metadata_of_version(version: u64) -> String {
    let mut text = format!(
        "rosbag2_bagfile_information:\n  version: {version}\n  storage_identifier: mcap\n  \
         relative_file_paths:\n    - bag_0.mcap\n  duration:\n    nanoseconds: 1\n  \
         starting_time:\n    nanoseconds_since_epoch: 5\n  message_count: 3\n  \
         topics_with_message_count:\n    - topic_metadata:\n        name: /a\n        \
         type: std_msgs/msg/String\n        serialization_format: cdr\n"
    );
    let number = "history: 1\\n  depth: 7\\n  reliability: 2\\n  durability: 1\\n";
    let word = "history: keep_last\\n  depth: 7\\n  reliability: best_effort\\n  durability: \
                transient_local\\n";
    let plain = word.replace("\\n", "\n          ");
    match version {
        ..4 => {}
        4..8 => text += &format!("        offered_qos_profiles: \"- {number}\"\n"),
        8 => text += &format!("        offered_qos_profiles: \"- {word}\"\n"),
        _ => text += &format!("        offered_qos_profiles:\n          - {plain}\n"),
    }
    if version >= 7 {
        text += &format!("        type_description_hash: {STRING_HASH}\n");
    }
    text += "      message_count: 3\n";
    if version >= 3 {
        text += "  compression_format: \"\"\n  compression_mode: \"\"\n";
    }
    if version >= 5 {
        text += "  files:\n    - path: bag_0.mcap\n      message_count: 3\n";
    }
    if version >= 6 {
        text += "  custom_data: ~\n";
    }
    if version >= 8 {
        text += "  ros_distro: jazzy\n";
    }
    text
}

#[test]
fn metadata_of_versions_2_to_9_adds_what_the_channels_lack() {
    let scratch = Scratch::new("versions");
    let folder = scratch.path("bag");
    fs::create_dir(&folder).unwrap();
    let mut foreign = Foreign::new(mcap::WriteOptions::new());
    let channel = foreign.topic("/a", STRING, "cdr");
    (0..3).for_each(|time| foreign.message(channel, time, &string_cdr("x")));
    foreign.store(&folder.join("bag_0.mcap"));
    for version in 2..=10 {
        fs::write(folder.join("metadata.yaml"), metadata_of_version(version)).unwrap();
        let reader = BagReader::open(&folder).unwrap();
        assert_eq!(contents(&reader).messages.len(), 3, "{version}");
        let topic = &reader.topics()[0];
        let qos: Vec<_> =
            topic.qos.iter().map(|q| (q.depth, q.reliability, q.durability)).collect();
        let offered = (7, Reliability::BestEffort, Durability::TransientLocal);
        assert_eq!(qos, if version < 4 { vec![] } else { vec![offered] }, "{version}");
        assert_eq!(topic.type_hash.as_deref(), (version >= 7).then_some(STRING_HASH));
        // What the next version brings is not known.
        let remarks = reader.remarks();
        assert_eq!(remarks.len(), usize::from(version == 10), "{remarks:?}");
    }
}

#[test]
fn messages_are_numbered_by_topic_and_reading_can_be_repeated() {
    let scratch = Scratch::new("numbers");
    let path = scratch.path("n.mcap");
    write_strings(&path, options(Compression::Lz4, 2000), 101);
    let reader = BagReader::open(&path).unwrap();
    for _ in 0..2 {
        let mut messages = reader.messages();
        let mut counts = [0u64; 2];
        while let Some(message) = messages.next_message() {
            let message = message.unwrap();
            counts[message.topic] += 1;
            assert_eq!(message.number, counts[message.topic]);
        }
        assert_eq!(counts, [51, 50]);
    }
}
