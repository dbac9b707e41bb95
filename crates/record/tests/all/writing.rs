//! Writing bags: round trips, folders, what must not be overwritten, killed writers.

use crate::common;
use common::{
    RELIABLE, Scratch, check_strings, contents, options, string_cdr, string_topic, text,
    write_strings,
};
use crossdock_record::{
    BagReader, BagWriter, Compression, CreateBagError, Durability, History, OfferedQos, QosLimits,
    Reliability, TopicDescription, WriterOptions,
};
use std::fs;
use std::io::{BufRead, BufReader, IoSlice, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

#[test]
fn what_is_written_is_read_back_with_every_compression_as_file_and_folder() {
    for (place, compression) in COMPRESSIONS.into_iter().enumerate() {
        for name in ["bag.mcap", "bag"] {
            let scratch = Scratch::new(&format!("round-{place}"));
            let path = scratch.path(name);
            write_strings(&path, options(compression, 10_000), 3000);
            let reader = BagReader::open(&path).unwrap();
            assert_eq!(reader.message_count(), 3000);
            assert_eq!(reader.remarks(), [] as [String; 0]);
            let topic = &reader.topics()[0];
            assert_eq!(topic.name, "/a");
            assert_eq!(topic.type_name, "std_msgs/msg/String");
            assert_eq!(topic.definition.as_deref(), Some("string data\n"));
            assert_eq!(topic.type_hash.as_deref(), Some(common::STRING_HASH));
            assert_eq!(topic.qos, [RELIABLE]);
            assert!(topic.problems.is_empty());
            let found = contents(&reader);
            assert!(found.error.is_none());
            assert_eq!(check_strings(&found), 3000);
        }
    }
}

#[test]
fn every_shared_bag_survives_being_written_again() {
    let Some(data) = crossdock_test_support::data() else { return };
    let scratch = Scratch::new("again");
    let bags = ["driving/highway_a_25hz", "bags/lidar_car_cloud_mcap", "bags/jackal_imu_odom_mcap"];
    for (name, compression) in bags.into_iter().zip(COMPRESSIONS) {
        let reader = BagReader::open(data.join(name)).unwrap();
        let path = scratch.path(name);
        let mut writer = BagWriter::create(&path, WriterOptions::new(compression)).unwrap();
        let describe = |topic: &crossdock_record::BagTopic| TopicDescription {
            name: topic.name.clone(),
            type_name: topic.type_name.clone(),
            definition: topic.definition.clone().unwrap(),
            type_hash: topic.type_hash.clone().unwrap(),
            qos: topic.qos.clone(),
        };
        let topics: Vec<_> = reader
            .topics()
            .iter()
            .map(|topic| writer.add_topic(describe(topic)).unwrap())
            .collect();
        let mut messages = reader.messages();
        while let Some(message) = messages.next_message() {
            let message = message.unwrap();
            // Two slices, as a head and a large payload come from an encoder.
            let (head, tail) = message.data.split_at(message.data.len() / 3);
            let slices = [IoSlice::new(head), IoSlice::new(tail)];
            let (log, publish) = (message.log_time_ns, message.publish_time_ns);
            writer.write(topics[message.topic], log, publish, &slices).unwrap();
        }
        writer.finish().unwrap();
        let copy = BagReader::open(&path).unwrap();
        assert_eq!(copy.topics(), reader.topics());
        assert_eq!(contents(&copy).messages, contents(&reader).messages);
    }
}

#[test]
fn qos_and_strange_names_survive_in_channels_and_metadata() {
    let scratch = Scratch::new("qos");
    let path = scratch.path("q");
    let best_effort = OfferedQos {
        history: History::KeepAll,
        depth: 0,
        reliability: Reliability::BestEffort,
        durability: Durability::TransientLocal,
        limits: QosLimits::NONE,
    };
    let mut writer = BagWriter::create(&path, WriterOptions::new(Compression::None)).unwrap();
    let names = ["/odd \"name\": - #\u{e9}", "/none"];
    let offers = [vec![RELIABLE, best_effort], Vec::new()];
    for (name, qos) in names.into_iter().zip(offers.clone()) {
        let topic = writer.add_topic(TopicDescription { qos, ..string_topic(name) }).unwrap();
        writer.write(topic, 1, 1, &[]).unwrap();
    }
    writer.finish().unwrap();
    for path in [path.clone(), path.join("q_0.mcap")] {
        let reader = BagReader::open(path).unwrap();
        assert!(reader.remarks().is_empty());
        let found: Vec<_> = reader.topics().iter().map(|topic| topic.name.as_str()).collect();
        assert_eq!(found, names);
        let found: Vec<_> = reader.topics().iter().map(|topic| topic.qos.clone()).collect();
        assert_eq!(found, offers);
    }
}

#[test]
fn an_existing_bag_is_never_overwritten() {
    let scratch = Scratch::new("exists");
    for name in ["bag.mcap", "bag"] {
        let path = scratch.path(name);
        write_strings(&path, options(Compression::None, 1000), 3);
        let error = BagWriter::create(&path, options(Compression::None, 1000)).unwrap_err();
        assert!(matches!(error, CreateBagError::Exists { .. }));
        assert!(error.to_string().contains("not overwritten"), "{error}");
        assert_eq!(contents(&BagReader::open(&path).unwrap()).messages.len(), 3);
    }
    let error = BagWriter::create("/", options(Compression::None, 1)).unwrap_err();
    assert!(matches!(error, CreateBagError::Name { .. }));
}

#[test]
fn a_dropped_writer_leaves_a_complete_bag() {
    let scratch = Scratch::new("dropped");
    let path = scratch.path("d");
    let mut writer = BagWriter::create(&path, WriterOptions::new(Compression::Zstd)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    writer.write(topic, 5, 5, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    drop(writer);
    let reader = BagReader::open(&path).unwrap();
    assert!(reader.damage().is_none());
    assert_eq!(contents(&reader).messages.len(), 1);
}

#[test]
fn a_chunk_is_complete_in_the_file_when_it_is_old_or_flushed() {
    let scratch = Scratch::new("due");
    let path = scratch.path("due.mcap");
    let options = WriterOptions {
        flush_interval: Duration::from_secs(3600),
        ..WriterOptions::new(Compression::Lz4)
    };
    let mut writer = BagWriter::create(&path, options).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    assert_eq!(writer.flush_due(), None);
    let before = Instant::now();
    writer.write(topic, 0, 0, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    assert!(writer.flush_due().unwrap() >= before + options.flush_interval);
    assert_eq!(writer.saved().messages, 0);
    writer.flush().unwrap();
    assert_eq!(writer.flush_due(), None);
    assert_eq!(writer.saved().messages, 1);
    assert_eq!(writer.saved().bytes, fs::metadata(&path).unwrap().len());
    // The unfinished file is read, and said to be unfinished.
    let found = contents(&BagReader::open(&path).unwrap());
    assert_eq!(found.messages.len(), 1);
    let error = found.error.unwrap().to_string();
    assert!(error.contains("without its closing records"), "{error}");
    writer.finish().unwrap();
    // An interval of zero completes every message.
    let options = WriterOptions { flush_interval: Duration::ZERO, ..options };
    let mut writer = BagWriter::create(scratch.path("each.mcap"), options).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    writer.write(topic, 0, 0, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    assert_eq!(writer.saved().messages, 1);
}

#[test]
fn messages_of_many_mebibytes_are_read_whole() {
    let scratch = Scratch::new("long");
    let bytes = 9 << 20;
    let mut random = common::Random(7);
    let letters = (0..bytes).map(|_| char::from(b' ' + random.below(64) as u8)).collect();
    // One that becomes hardly shorter, and one that becomes much shorter.
    let cdrs = [letters, "x".repeat(bytes)].map(|text: String| string_cdr(&text));
    for compression in COMPRESSIONS.into_iter().chain([Compression::Messages]) {
        let path = scratch.path(&format!("{compression:?}"));
        let mut writer = BagWriter::create(&path, WriterOptions::new(compression)).unwrap();
        let topic = writer.add_topic(string_topic("/a")).unwrap();
        for (time, cdr) in (0..).zip(&cdrs) {
            writer.write(topic, time, time, &[IoSlice::new(cdr)]).unwrap();
        }
        writer.finish().unwrap();
        let found = contents(&BagReader::open(&path).unwrap());
        let read = found.messages.iter().map(|(_, _, cdr)| cdr);
        assert!(found.error.is_none() && read.eq(&cdrs), "{compression:?}");
    }
}

/// Set in the process that is killed: the bag that it writes.
const CHILD: &str = "CROSSDOCK_RECORD_TEST_CHILD";

/// Not a test of its own: the child of the next test writes here until it is killed.
#[test]
fn a_writer_that_is_going_to_be_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let compression = COMPRESSIONS[path.len() % 3];
    // A folder has several files.
    let options = WriterOptions { split_bytes: Some(300_000), ..options(compression, 20_000) };
    let mut writer = BagWriter::create(Path::new(&path), options).unwrap();
    let topics = ["/a", "/b"].map(|name| writer.add_topic(string_topic(name)).unwrap());
    let mut reported = 0;
    let mut out = std::io::stderr();
    for number in 0.. {
        let cdr = string_cdr(&text(number));
        let time = number * 1_000_000;
        writer.write(topics[number as usize % 2], time, time, &[IoSlice::new(&cdr)]).unwrap();
        let saved = writer.saved().messages;
        if saved > reported {
            reported = saved;
            if writeln!(out, "saved {saved}").is_err() {
                return;
            }
        }
    }
}

#[test]
fn everything_that_was_saved_is_read_after_a_kill() {
    let scratch = Scratch::new("killed");
    let rounds = if crossdock_test_support::long() { 300 } else { 12 };
    for round in 0..rounds {
        let path = scratch.path(&format!("killed-{round}{}", ["", ".mcap"][round % 2]));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writing::a_writer_that_is_going_to_be_killed", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut saved = 0;
        for _ in 0..=round % 7 {
            let line = lines.next().unwrap().unwrap();
            saved = line.strip_prefix("saved ").unwrap().parse().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = contents(&BagReader::open(&path).unwrap());
        assert!(check_strings(&found) >= saved, "{} of {saved}", found.messages.len());
        assert!(found.error.is_some(), "an interrupted bag must be said to be one");
        for (place, (_, time, _)) in found.messages.iter().enumerate() {
            assert_eq!(*time, place as u64 * 1_000_000, "a message is missing");
        }
    }
}

#[test]
fn a_file_has_as_many_topics_as_the_format_has_numbers() {
    let scratch = Scratch::new("numbers");
    let path = scratch.path("many.mcap");
    let mut writer = BagWriter::create(&path, options(Compression::None, 1 << 20)).unwrap();
    let named = |number: usize| TopicDescription {
        definition: String::new(),
        qos: Vec::new(),
        ..string_topic(&format!("/t{number}"))
    };
    let topics: Vec<_> = (0..65_536).map(|it| writer.add_topic(named(it)).unwrap()).collect();
    let error = writer.add_topic(named(65_536)).unwrap_err().to_string();
    assert!(error.starts_with("topic /t65536 cannot be written to "), "{error}");
    assert!(error.contains("a file holds at most 65536 topics; choose some of them"), "{error}");
    assert_eq!(writer.add_topic(named(65_535)).unwrap(), topics[65_535]);
    for topic in [topics[0], topics[65_535]] {
        writer.write(topic, 1, 1, &[IoSlice::new(&string_cdr("a"))]).unwrap();
    }
    assert_eq!(writer.finish().unwrap().messages, 2);
    let reader = BagReader::open(&path).unwrap();
    assert_eq!((reader.topics().len(), reader.message_count()), (65_536, 2));
    let found = contents(&reader);
    assert!(found.error.is_none());
    let names = found.messages.iter().map(|(topic, ..)| reader.topics()[*topic].name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["/t0", "/t65535"]);
}
