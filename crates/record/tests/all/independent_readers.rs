//! Bags that are written here are opened by independent libraries (PyPI rosbags, mcap,
//! mcap-ros2-support).

use crate::common;
use common::{Scratch, options, string_cdr, text, write_strings};
use crossdock_msg::{Block, EventHead, EventKind, EventSchema, FlatBuffer, ServiceSchema};
use crossdock_record::{BagReader, BagWriter, Compression, TopicDescription, WriterOptions};
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

/// Of the second reader, pinned, beside what the first needs.
const MCAP: [&str; 3] = ["mcap==1.6.0", "mcap-ros2-support==0.6.0", "zstandard==0.25.0"];

/// The Python interpreter of the private environment; without it the test is skipped by name.
fn python() -> Option<PathBuf> {
    // Both tests use one environment, which must be made once.
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("record-python-env");
    let packages = [crossdock_test_support::ROSBAGS, &MCAP].concat();
    let made = MADE.get_or_init(|| crossdock_test_support::python(&folder, &packages));
    if let Err(why) = made {
        crossdock_test_support::skip(why);
    }
    made.clone().ok()
}

/// What the independent readers say of a bag.
fn read(python: &Path, bag: &Path) -> Vec<Vec<String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_bag.py");
    let output = Command::new(python).arg(script).arg(bag).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn independent_readers_decode_what_is_written() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("independent");
    let count = 300;
    for (place, compression) in COMPRESSIONS.into_iter().enumerate() {
        for name in [format!("bag{place}.mcap"), format!("bag{place}")] {
            let path = scratch.path(&name);
            write_strings(&path, options(compression, 5000), count);
            let lines = read(&python, &path);
            for reader in ["rosbags", "mcap"] {
                let found: Vec<_> = lines.iter().filter(|line| line[0] == reader).collect();
                assert_eq!(found.len() as u64, count, "{reader}, {name}");
                for (number, line) in (0u64..).zip(found) {
                    let topic = ["/a", "/b"][(number % 2) as usize];
                    assert_eq!(line[1..3], [topic, "std_msgs/msg/String"]);
                    assert_eq!(line[3], (number * 1_000_000).to_string());
                    let checksum = crc32fast::hash(&string_cdr(&text(number)));
                    assert_eq!(line[4], checksum.to_string());
                    assert_eq!(line[5], text(number));
                }
            }
            for topic in ["/a", "/b"] {
                let qos: Vec<_> = lines
                    .iter()
                    .filter(|line| line[0] == "rosbags-qos" && line[1] == topic)
                    .map(|line| line[2..].join(" "))
                    .collect();
                assert_eq!(qos, ["KEEP_LAST 4 RELIABLE VOLATILE"]);
            }
        }
    }
}

#[test]
fn independent_readers_see_split_bags_and_long_messages_that_were_not_copied() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("independent-split");
    let path = scratch.path("bag");
    let options = WriterOptions { split_bytes: Some(500_000), ..options(Compression::None, 5000) };
    let mut writer = BagWriter::create(&path, options).unwrap();
    let topic = writer.add_topic(common::string_topic("/a")).unwrap();
    let text = |number: u64| "y".repeat(if number.is_multiple_of(3) { 100_000 } else { 10 });
    let count = 40;
    for number in 0..count {
        let cdr = string_cdr(&text(number));
        // In pieces, as a recorder writes them.
        let (head, tail) = cdr.split_at(8);
        let slices = [IoSlice::new(head), IoSlice::new(tail)];
        let copies = writer.write(topic, number, number, &slices).unwrap();
        assert_eq!(copies, u64::from(!number.is_multiple_of(3)));
    }
    writer.finish().unwrap();
    assert!(path.join("bag_2.mcap").exists());
    let lines = read(&python, &path);
    let found: Vec<_> = lines.iter().filter(|line| line[0] == "rosbags").collect();
    assert_eq!(found.len() as u64, count);
    for (number, line) in (0..).zip(found) {
        assert_eq!((&line[3], &line[5]), (&number.to_string(), &text(number)));
    }
    // The first file by itself.
    assert!(lines.iter().filter(|line| line[0] == "mcap").count() > 5);
}

#[test]
fn independent_readers_decompress_the_files_and_messages_that_rosbag2s_modes_compress() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("independent-modes");
    for compression in [Compression::Files, Compression::Messages] {
        let path = scratch.path(&format!("{compression:?}"));
        let plain = options(compression, 2000);
        let options = WriterOptions { split_duration: Some(Duration::from_millis(100)), ..plain };
        write_strings(&path, options, 300);
        let lines = read(&python, &path);
        let found: Vec<_> = lines.iter().filter(|line| line[0] == "rosbags").collect();
        assert_eq!(found.len(), 300, "{compression:?}");
        for (number, line) in (0..).zip(found) {
            assert_eq!((&line[3], &line[5]), (&(number * 1_000_000).to_string(), &text(number)));
        }
    }
}

/// The event of a request whose only field is true, encoded.
fn event_of(service: &ServiceSchema, events: &EventSchema) -> Vec<u8> {
    let mut request = FlatBuffer::with_bytes(service.request().root_bytes());
    service.request().decode_cdr(&[0, 1, 0, 0, 1], request.as_mut_slice()).unwrap();
    let contents = Some(Block::new(request.as_slice()));
    let head = EventHead {
        kind: EventKind::RequestReceived,
        stamp_ns: 5_000_000_007,
        client_gid: [3; 16],
        sequence_number: 9,
    };
    let mut flat = FlatBuffer::with_bytes(events.bytes(contents.map(Block::len)));
    events.write(&head, contents, flat.as_mut_slice()).unwrap();
    let mut event = Vec::new();
    events.schema().encode_cdr(Block::new(flat.as_slice()), &mut event).unwrap();
    event
}

#[test]
fn independent_readers_read_the_events_of_services_and_all_topics_beside_them() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("independent-events");
    let path = scratch.path("bag");
    let mut writer = BagWriter::create(&path, options(Compression::Zstd, 5000)).unwrap();
    let service = ServiceSchema::shipped("std_srvs/srv/SetBool").unwrap();
    let events = EventSchema::of(&service).unwrap();
    let schema = events.schema();
    let of_events = writer
        .add_topic(TopicDescription {
            name: "/lamp/_service_event".to_owned(),
            type_name: schema.type_name().to_owned(),
            definition: schema.definition().to_owned(),
            type_hash: schema.type_hash().to_string(),
            ..common::string_topic("/a")
        })
        .unwrap();
    let texts = writer.add_topic(common::string_topic("/a")).unwrap();
    let event = event_of(&service, &events);
    for number in 0..20 {
        writer.write(of_events, number, number, &[IoSlice::new(&event)]).unwrap();
        writer.write(texts, number, number, &[IoSlice::new(&string_cdr(&text(number)))]).unwrap();
    }
    writer.finish().unwrap();
    let lines = read(&python, &path);
    for (reader, decoded) in [("rosbags", "SetBool_Event"), ("mcap", "NoneType")] {
        let of = |topic: &str, shown: &str| {
            let is_it = |line: &&Vec<String>| line[..2] == [reader, topic] && line[5] == shown;
            lines.iter().filter(is_it).count()
        };
        let found: Vec<_> = lines.iter().filter(|line| line[0] == reader).collect();
        assert_eq!(found.len(), 40, "{reader}");
        assert_eq!((0..20).map(|number| of("/a", &text(number))).sum::<usize>(), 20, "{reader}");
        let sums = found.iter().filter(|line| line[1] == "/lamp/_service_event");
        let same = crc32fast::hash(&event).to_string();
        assert_eq!(sums.filter(|line| line[4] == same).count(), 20, "{reader}");
        let typed = |line: &&&Vec<String>| line[5].ends_with(decoded);
        assert_eq!(found.iter().filter(typed).count(), 20, "{reader}: {found:?}");
    }
}

#[test]
fn independent_readers_see_copies_of_real_recordings_unchanged() {
    let (Some(data), Some(python)) = (crossdock_test_support::data(), python()) else { return };
    let scratch = Scratch::new("copies");
    for name in ["driving/highway_drive_1hz", "bags/lidar_car_cloud_mcap"] {
        let reader = BagReader::open(data.join(name)).unwrap();
        let path = scratch.path("copy").join(name);
        let options = WriterOptions::new(Compression::Zstd);
        let mut writer = BagWriter::create(&path, options).unwrap();
        let mut topics = Vec::new();
        for topic in reader.topics() {
            let description = TopicDescription {
                name: topic.name.clone(),
                type_name: topic.type_name.clone(),
                definition: topic.definition.clone().unwrap(),
                type_hash: topic.type_hash.clone().unwrap(),
                qos: topic.qos.clone(),
            };
            topics.push(writer.add_topic(description).unwrap());
        }
        let mut expected = Vec::new();
        let mut messages = reader.messages();
        while let Some(message) = messages.next_message() {
            let message = message.unwrap();
            let (time, data) = (message.log_time_ns, message.data);
            writer.write(topics[message.topic], time, time, &[IoSlice::new(data)]).unwrap();
            let topic = &reader.topics()[message.topic];
            let checksum = crc32fast::hash(data).to_string();
            expected.push(
                [&topic.name, &topic.type_name, &time.to_string(), &checksum].map(String::clone),
            );
        }
        writer.finish().unwrap();
        let lines = read(&python, &path);
        for reader in ["rosbags", "mcap"] {
            let found: Vec<_> =
                lines.iter().filter(|line| line[0] == reader).map(|line| &line[1..5]).collect();
            assert_eq!(found, expected, "{reader}, {name}");
        }
    }
}
