//! What the tests of this crate share: the data beside the repository, folders, small bags.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

use crossdock_record::{
    BagReader, BagWriter, Compression, Durability, History, OfferedQos, QosLimits, ReadError,
    Reliability, TopicDescription, WriterOptions,
};
use std::fs;
use std::io::IoSlice;
use std::path::{Path, PathBuf};

/// A fresh folder for one test, removed at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(test: &str) -> Self {
        let name = format!("{test}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// xorshift64*: enough for tests, and reproducible from its seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

pub(crate) const RELIABLE: OfferedQos = OfferedQos {
    history: History::KeepLast,
    depth: 4,
    reliability: Reliability::Reliable,
    durability: Durability::Volatile,
    limits: QosLimits::NONE,
};

pub(crate) const STRING_HASH: &str =
    "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";

pub(crate) fn string_topic(name: &str) -> TopicDescription {
    TopicDescription {
        name: name.to_owned(),
        type_name: "std_msgs/msg/String".to_owned(),
        definition: "string data\n".to_owned(),
        type_hash: STRING_HASH.to_owned(),
        qos: vec![RELIABLE],
    }
}

/// A std_msgs/String in CDR.
pub(crate) fn string_cdr(text: &str) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    bytes
}

pub(crate) fn options(compression: Compression, chunk_bytes: usize) -> WriterOptions {
    WriterOptions { chunk_bytes, ..WriterOptions::new(compression) }
}

/// Writes `count` strings, one per millisecond, turn by turn on `/a` and `/b`.
pub(crate) fn write_strings(path: &Path, options: WriterOptions, count: u64) {
    let mut writer = BagWriter::create(path, options).unwrap();
    let topics = ["/a", "/b"].map(|name| writer.add_topic(string_topic(name)).unwrap());
    for number in 0..count {
        let cdr = string_cdr(&text(number));
        let time = 1_000_000 * number;
        let topic = topics[(number % 2) as usize];
        writer.write(topic, time, time, &[IoSlice::new(&cdr)]).unwrap();
    }
    assert_eq!(writer.finish().unwrap().messages, count);
}

/// The text of message `number`, of varying length.
pub(crate) fn text(number: u64) -> String {
    format!("message {number} {}", "x".repeat((number * 37 % 200) as usize))
}

/// Nanoseconds since 1970, by the computer's clock.
pub(crate) fn wall_ns() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_nanos() as u64
}

/// What a reading gives: `(topic, log time, payload)` of every message, and the final error.
pub(crate) struct Contents {
    pub(crate) messages: Vec<(usize, u64, Vec<u8>)>,
    pub(crate) error: Option<ReadError>,
}

pub(crate) fn contents(reader: &BagReader) -> Contents {
    let mut found = Contents { messages: Vec::new(), error: None };
    let mut messages = reader.messages();
    while let Some(message) = messages.next_message() {
        match message {
            Ok(message) => {
                assert!(found.error.is_none(), "a message after the final error");
                let (topic, data) = (message.topic, message.data.to_vec());
                found.messages.push((topic, message.log_time_ns, data));
            }
            Err(error) => assert!(found.error.replace(error).is_none(), "two errors"),
        }
    }
    assert!(messages.next_message().is_none());
    found
}

/// Checks that every message is one that [`write_strings`] wrote, in order; gives their number.
pub(crate) fn check_strings(found: &Contents) -> usize {
    let mut last = None;
    for (_, time, data) in &found.messages {
        assert!(last < Some(*time), "order");
        assert_eq!(*data, string_cdr(&text(time / 1_000_000)));
        last = Some(*time);
    }
    found.messages.len()
}
