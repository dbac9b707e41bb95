//! A disk, quota or file size limit that is used up while a bag is written.
//!
//! One test in a process of its own: the file size limit counts for the whole process.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use common::{Random, Scratch, check_strings, contents, options, string_cdr, string_topic, text};
use crossdock_comm::{Participant, ParticipantOptions, PublisherOptions, Qos, Rendezvous};
use crossdock_msg::Schema;
use crossdock_record::{
    BagReader, BagWriter, Compression, LogTime, RecordError, Recorder, RecorderOptions,
    TopicDescription, TopicToRecord, WriteError, WriterOptions,
};
use crossdock_test_support::SmallDisk;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of the small disk.
const DISK_BYTES: u64 = 2 << 20;

/// Writes until the writer refuses; checks the refusal, the finished bag, and what it holds.
fn fill(path: &Path, options: WriterOptions, expected: &str) {
    let mut writer = BagWriter::create(path, options).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    let mut accepted = 0;
    let error = loop {
        let cdr = string_cdr(&text(accepted));
        let time = accepted * 1_000_000;
        match writer.write(topic, time, time, &[IoSlice::new(&cdr)]) {
            Ok(_) => accepted += 1,
            Err(error) => break error,
        }
        assert!(accepted < 1_000_000, "the limit never came");
    };
    let WriteError::NoSpace { saved, .. } = &error else { panic!("{error}") };
    assert_eq!(saved.messages, accepted);
    let sentence = error.to_string();
    for part in [path.to_str().unwrap(), expected, "are safe", "free some space"] {
        assert!(sentence.contains(part), "{part} in {sentence}");
    }
    // It stays refused without harm, and the bag can be finished in full form.
    assert!(writer.write(topic, 0, 0, &[IoSlice::new(&[0; 100_000])]).is_err());
    assert_eq!(writer.finish().unwrap().messages, accepted);
    let reader = BagReader::open(path).unwrap();
    assert!(reader.damage().is_none() && reader.remarks().is_empty(), "{reader:?}");
    let found = contents(&reader);
    assert!(found.error.is_none());
    assert_eq!(check_strings(&found) as u64, accepted);
}

/// What a bag is made of until the disk is full.
struct Shape {
    name: &'static str,
    compression: Compression,
    chunk_bytes: usize,
    topics: usize,
    /// Bytes of the definition of each topic, and of each message.
    definition_bytes: usize,
    message_bytes: usize,
}

/// Bags in which one kind of what must follow a message takes much of the space.
const SHAPES: [Shape; 6] = {
    let shape = Shape {
        name: "tiny.mcap",
        compression: Compression::None,
        chunk_bytes: 4 << 20,
        topics: 1,
        definition_bytes: 10,
        message_bytes: 0,
    };
    [
        Shape { name: "chunks.mcap", chunk_bytes: 1000, topics: 60, message_bytes: 20, ..shape },
        Shape { name: "definitions", topics: 8, definition_bytes: 60_000, ..shape },
        Shape { name: "topics", topics: 400, message_bytes: 100, ..shape },
        Shape { name: "lz4", compression: Compression::Lz4, message_bytes: 3000, ..shape },
        Shape { name: "zstd", compression: Compression::Zstd, message_bytes: 3000, ..shape },
        shape,
    ]
};

/// Writes a bag of this shape until the writer refuses; checks what the finished bag holds.
fn fill_shape(folder: &Path, shape: &Shape) {
    let path = folder.join(shape.name);
    let mut writer =
        BagWriter::create(&path, options(shape.compression, shape.chunk_bytes)).unwrap();
    let topics: Vec<_> = (0..shape.topics)
        .map(|number| {
            let padding = "-".repeat(shape.definition_bytes);
            let definition = format!("string data\n# {number} {padding}");
            let topic = TopicDescription { definition, ..string_topic(&format!("/t{number}")) };
            writer.add_topic(topic).unwrap()
        })
        .collect();
    let mut random = Random(1);
    let bytes: Vec<u8> = (0..shape.message_bytes).map(|_| random.next() as u8).collect();
    let mut accepted = 0;
    loop {
        // No two messages are the same, so that they do not become shorter.
        let bytes: Vec<u8> = bytes.iter().map(|byte| byte ^ random.next() as u8).collect();
        let topic = topics[accepted as usize % topics.len()];
        match writer.write(topic, accepted, accepted, &[IoSlice::new(&bytes)]) {
            Ok(_) => accepted += 1,
            Err(WriteError::NoSpace { saved, .. }) => break assert_eq!(saved.messages, accepted),
            Err(error) => panic!("{}: {error}", shape.name),
        }
        assert!(accepted < 1_000_000, "the limit never came");
    }
    let saved = writer.finish().unwrap();
    assert_eq!(saved.messages, accepted, "{}", shape.name);
    assert!(saved.bytes > DISK_BYTES / 4, "{}: {} bytes are used", shape.name, saved.bytes);
    let reader = BagReader::open(&path).unwrap();
    assert!(reader.damage().is_none() && reader.remarks().is_empty(), "{reader:?}");
    let found = contents(&reader);
    assert_eq!((found.messages.len() as u64, found.error.is_none()), (accepted, true));
    // The next bag gets the whole disk again.
    let _ = std::fs::remove_file(&path);
    let _ = std::fs::remove_dir_all(&path);
}

/// Records a topic until the disk is full; checks what the recorder says and leaves.
fn record_until_full(scratch: &Scratch, out: &Path) {
    let participant = Participant::open(ParticipantOptions {
        rendezvous: Rendezvous::Folder(scratch.path("meet")),
        ..ParticipantOptions::new(0, "full")
    })
    .unwrap();
    let qos = Qos::reliable(10, Duration::from_secs(60));
    let schema = Arc::new(Schema::shipped("std_msgs/msg/String").unwrap());
    let port = PublisherOptions { node: "n", topic: "/a", qos, max_bytes: None, group: None };
    let publisher = participant.any_publisher(schema, port).unwrap();
    let writer = BagWriter::create(out, options(Compression::None, 100_000)).unwrap();
    let topics = vec![TopicToRecord::new("/a", qos)];
    let record = RecorderOptions::new("r", topics, LogTime::Wall);
    let recorder = Recorder::start(&participant, writer, record).unwrap();
    assert!(participant.wait_until(Duration::from_secs(60), || publisher.matched() == 1));
    let mut number = 0;
    while !recorder.is_finished() {
        publisher.publish_cdr(&string_cdr(&text(number)), number, [0; 2]).unwrap();
        number += 1;
        assert!(number < 1_000_000, "the disk never filled");
    }
    let RecordError::Write { source, report } = recorder.stop().unwrap_err() else { panic!() };
    assert!(source.to_string().contains("are safe"), "{source}");
    let reader = BagReader::open(out).unwrap();
    assert!(reader.damage().is_none() && reader.remarks().is_empty());
    let found = contents(&reader);
    assert_eq!(found.messages.len() as u64, report.saved.messages);
    assert_eq!(report.topics[0].recorded, report.saved.messages);
    for (number, (_, _, data)) in (0u64..).zip(&found.messages) {
        assert_eq!(*data, string_cdr(&text(number)));
    }
}

#[test]
fn a_full_disk_refuses_the_next_message_and_loses_none_that_was_accepted() {
    let scratch = Scratch::new("full");
    let disk = scratch.path("disk");
    if let Some(_mounted) = SmallDisk::mount(&disk, DISK_BYTES) {
        for (name, compression, chunk_bytes) in [
            ("plain.mcap", Compression::None, 100_000),
            ("lz4", Compression::Lz4, 100_000),
            ("zstd", Compression::Zstd, 100_000),
            // Everything waits in one chunk for the space that it has.
            ("waiting.mcap", Compression::None, 4 << 20),
        ] {
            fill(&disk.join(name), options(compression, chunk_bytes), "No space left");
            // The next bag gets the whole disk again.
            let _ = std::fs::remove_file(disk.join(name));
            let _ = std::fs::remove_dir_all(disk.join(name));
        }
        SHAPES.iter().for_each(|shape| fill_shape(&disk, shape));
        record_until_full(&scratch, &disk.join("recorded"));
        // A bag that cannot be begun is not in the way of the next attempt.
        let (next, rest) = (disk.join("next"), disk.join("rest"));
        std::fs::write(&rest, vec![0; 64 << 20]).unwrap_err();
        let create = || BagWriter::create(&next, options(Compression::None, 1000));
        assert!(create().unwrap_err().to_string().contains("No space left"));
        std::fs::remove_file(&rest).unwrap();
        create().unwrap().finish().unwrap();
    } else {
        println!("no small disk can be mounted here; only the file size limit is tested");
    }
    let before = getrlimit(Resource::Fsize);
    let limit = Rlimit { current: Some(1 << 20), maximum: before.maximum };
    setrlimit(Resource::Fsize, limit).unwrap();
    fill(&scratch.path("limited"), options(Compression::Lz4, 100_000), "File too large");
    setrlimit(Resource::Fsize, before).unwrap();
}
