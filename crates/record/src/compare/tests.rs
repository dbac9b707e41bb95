//! Two bags, one of them doctored.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::{BagWriter, Compression, TopicDescription, WriterOptions};
use crossdock_msg::Schema;
use std::io::IoSlice;
use std::path::{Path, PathBuf};

/// A folder of one test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("xd-compare-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes messages (topic, time, text) as std_msgs/msg/String.
    fn bag(&self, name: &str, messages: &[(&str, u64, &str)]) -> PathBuf {
        self.bag_of(name, "std_msgs/msg/String", messages)
    }

    fn bag_of(&self, name: &str, type_name: &str, messages: &[(&str, u64, &str)]) -> PathBuf {
        let path = self.0.join(name).with_extension("mcap");
        let options = WriterOptions::new(Compression::None);
        let mut writer = BagWriter::create(&path, options).unwrap();
        let schema = Schema::shipped(type_name).unwrap();
        let mut topics = BTreeMap::new();
        for (topic, time_ns, text) in messages {
            let written = *topics.entry(*topic).or_insert_with(|| {
                let topic = TopicDescription {
                    name: (*topic).to_owned(),
                    type_name: type_name.to_owned(),
                    definition: schema.definition().to_owned(),
                    type_hash: schema.type_hash().to_string(),
                    qos: Vec::new(),
                };
                writer.add_topic(topic).unwrap()
            });
            let mut cdr = vec![0, 1, 0, 0];
            cdr.extend((text.len() as u32 + 1).to_le_bytes());
            cdr.extend(text.as_bytes());
            cdr.push(0);
            writer.write(written, *time_ns, *time_ns, &[IoSlice::new(&cdr)]).unwrap();
        }
        writer.finish().unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn compared(left: &Path, right: &Path) -> Comparison {
    let open = |path| BagReader::open(path).unwrap();
    compare(&open(left), &open(right), &CompareOptions::default())
}

/// The only topic that differs, and where it does first.
fn only(found: &Comparison) -> (&ComparedTopic, &TopicDifference) {
    assert!(!found.is_equal());
    let mut differing = found.topics.iter().filter(|topic| topic.first.is_some());
    let topic = differing.next().expect("a difference");
    assert!(differing.next().is_none(), "{found:#?}");
    (topic, topic.first.as_ref().unwrap())
}

const PLAIN: [(&str, u64, &str); 5] =
    [("/a", 1, "one"), ("/b", 1, "x"), ("/a", 2, "two"), ("/b", 3, "y"), ("/a", 4, "three")];

fn doctored(change: impl FnOnce(&mut Vec<(&'static str, u64, &'static str)>)) -> Comparison {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let scratch = Scratch::new(&format!("doctored-{number}"));
    let mut messages = PLAIN.to_vec();
    change(&mut messages);
    compared(&scratch.bag("plain", &PLAIN), &scratch.bag("doctored", &messages))
}

#[test]
fn how_topics_are_mixed_in_the_file_makes_no_difference() {
    let found = doctored(|messages| messages.swap(0, 1));
    assert!(found.is_equal(), "{found:#?}");
    assert_eq!(found.topics.iter().map(|it| it.messages).collect::<Vec<_>>(), [[3, 3], [2, 2]]);
    assert!(found.first().is_none());
}

#[test]
fn one_byte_is_found_with_its_field_and_both_values() {
    let found = doctored(|messages| messages[2].2 = "twp");
    let (topic, first) = only(&found);
    assert_eq!((topic.name.as_str(), topic.differing, first.number), ("/a", 1, 2));
    assert_eq!(first.times_ns, [Some(2), Some(2)]);
    let Differs::Payload(payload) = &first.what else { panic!("{first:?}") };
    let field = payload.field.as_ref().expect("a field");
    assert_eq!(
        (field.path.as_str(), field.left.as_str(), field.right.as_str()),
        ("data", Some("two"), Some("twp"))
    );
    assert_eq!((payload.byte, payload.bytes), (Some(4 + 4 + 2), [4 + 4 + 4; 2]));
}

#[test]
fn fields_are_shown_of_as_many_messages_as_there_is_room_for() {
    let scratch = Scratch::new("room");
    let plain = scratch.bag("plain", &PLAIN);
    let other = scratch.bag("other", &[("/a", 1, "onf"), ("/b", 1, "z"), ("/a", 2, "two")]);
    let readers = [&plain, &other].map(|path| BagReader::open(path).unwrap());
    // Header, length, text and its end.
    let (a, b) = (4 + 4 + 4, 4 + 4 + 2);
    for (bytes_max, expected) in [(a + b, [true, true]), (a + b - 1, [true, false])] {
        let readers = [&readers[0], &readers[1]];
        let found = compare_within(readers, &CompareOptions::default(), bytes_max);
        let shown = found.topics.iter().map(|topic| match &topic.first.as_ref().unwrap().what {
            Differs::Payload(payload) => payload.field.is_some(),
            other => panic!("{other:?}"),
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{bytes_max} bytes");
    }
}

#[test]
fn a_missing_and_an_extra_message_are_told_apart() {
    let found = doctored(|messages| _ = messages.pop());
    let (topic, first) = only(&found);
    assert_eq!((topic.messages, first.number), ([3, 2], 3));
    assert!(matches!(first.what, Differs::Missing { only_in: 0 }), "{first:?}");
    assert_eq!(first.times_ns, [Some(4), None]);
    let found = doctored(|messages| messages.push(("/b", 9, "z")));
    let (topic, first) = only(&found);
    assert_eq!((topic.messages, first.number), ([2, 3], 3));
    assert!(matches!(first.what, Differs::Missing { only_in: 1 }), "{first:?}");
    // One that is missing in the middle is where the bytes begin to differ.
    let found = doctored(|messages| _ = messages.remove(2));
    assert_eq!(only(&found).1.number, 2);
    // A topic that is missing as a whole.
    let found = doctored(|messages| messages.retain(|(topic, ..)| *topic == "/a"));
    let (topic, first) = only(&found);
    assert_eq!((topic.name.as_str(), topic.messages, first.number), ("/b", [2, 0], 1));
}

#[test]
fn messages_in_another_order_differ_and_the_first_in_time_is_named() {
    let found = doctored(|messages| {
        (messages[2].2, messages[4].2) = (messages[4].2, messages[2].2);
        messages[3].2 = "Y";
    });
    assert!(!found.is_equal());
    let first = found.first().expect("a difference");
    assert_eq!((first.name.as_str(), first.differing), ("/a", 2));
    assert_eq!(first.first.as_ref().unwrap().number, 2);
}

#[test]
fn other_times_differ_unless_they_are_left_out() {
    let scratch = Scratch::new("stamps");
    let left = scratch.bag("left", &PLAIN);
    let mut messages = PLAIN;
    messages[3].1 = 2;
    let right = scratch.bag("right", &messages);
    let found = compared(&left, &right);
    let (topic, first) = only(&found);
    assert_eq!((topic.name.as_str(), topic.differing, first.number), ("/b", 1, 2));
    assert!(matches!(first.what, Differs::Stamp { published_ns: [3, 2] }), "{first:?}");
    let open = |path| BagReader::open(path).unwrap();
    let options = CompareOptions { ignore_stamps: true, ..CompareOptions::default() };
    assert!(compare(&open(&left), &open(&right), &options).is_equal());
    let options =
        CompareOptions { topics: Some(vec!["/a".to_owned()]), ..CompareOptions::default() };
    assert!(compare(&open(&left), &open(&right), &options).is_equal());
    let options =
        CompareOptions { topics: Some(vec!["/c".to_owned()]), ..CompareOptions::default() };
    let neither = compare(&open(&left), &open(&right), &options);
    assert_eq!(neither.topics[0].messages, [0, 0], "a topic that neither has is named");
}

#[test]
fn another_type_differs_whatever_the_bytes() {
    let scratch = Scratch::new("types");
    let messages = [("/a", 1, "one")];
    let left = scratch.bag("left", &messages);
    let right = scratch.bag_of("right", "std_msgs/msg/Empty", &messages);
    let found = compared(&left, &right);
    let (topic, first) = only(&found);
    let Differs::Type { types } = &first.what else { panic!("{first:?}") };
    assert!(types[0].starts_with("std_msgs/msg/String (RIHS01_"), "{types:?}");
    assert!(types[1].starts_with("std_msgs/msg/Empty"), "{types:?}");
    assert_eq!(topic.messages, [1, 1]);
}

#[test]
fn a_damaged_bag_is_never_equal() {
    let scratch = Scratch::new("damaged");
    let left = scratch.bag("left", &PLAIN);
    let bytes = std::fs::read(&left).unwrap();
    let right = scratch.0.join("right.mcap");
    // One byte of a chunk whose checksum the file keeps.
    let place = bytes.windows(5).position(|it| it == b"three").expect("the text");
    let mut damaged = bytes.clone();
    damaged[place] ^= 1;
    std::fs::write(&right, &damaged).unwrap();
    let found = compared(&left, &right);
    assert!(!found.is_equal() && found.unread[0].is_empty(), "{found:#?}");
    assert_eq!(found.unread[1].len(), 1, "{found:#?}");
    // Cut off in the middle.
    std::fs::write(&right, &bytes[..place]).unwrap();
    let found = compared(&left, &right);
    assert!(!found.is_equal() && !found.unread[1].is_empty(), "{found:#?}");
}

#[test]
fn memory_stays_bounded_where_one_bag_is_far_ahead() {
    for side in [0, 1] {
        let mut row = Row::new("/a");
        let entry = Entry { digest: [1, 2], bytes: 3, log_ns: 4, publish_ns: 4 };
        let pairs = 3;
        for _ in 0..pairs {
            row.add(0, entry, false);
            row.add(1, entry, false);
        }
        for _ in 0..APART_MAX + 10 {
            row.add(side, Entry { log_ns: 5, ..entry }, false);
        }
        assert!(row.waiting.is_empty());
        let first = row.compared.first.expect("a difference");
        assert!(matches!(first.what, Differs::Apart { ahead } if ahead == side), "{first:?}");
        assert_eq!(first.number, pairs + 1, "the first that the other bag lacks");
        let times_ns = if side == 0 { [Some(5), None] } else { [None, Some(5)] };
        assert_eq!(first.times_ns, times_ns);
    }
}

#[test]
fn types_differ_if_their_hashes_do_or_without_those_their_definitions() {
    let scratch = Scratch::new("same-types");
    let (one, other) = ("RIHS01_1", "RIHS01_2");
    let cases = [
        ((one, "string data\n"), (one, "string data # said\n"), true),
        ((one, "string data\n"), (other, "string data\n"), false),
        (("", "string data\n"), (one, "string data\n"), true),
        (("", "string data\n"), (one, "int32 data\n"), false),
        (("", "string data\n"), ("", ""), true),
    ];
    for (number, (left, right, same)) in cases.into_iter().enumerate() {
        let write = |side: &str, (hash, definition): (&str, &str)| {
            let path = scratch.0.join(format!("{side}{number}.mcap"));
            let options = WriterOptions::new(Compression::None);
            let mut writer = BagWriter::create(&path, options).unwrap();
            let topic = TopicDescription {
                name: "/a".to_owned(),
                type_name: "my_msgs/msg/Text".to_owned(),
                definition: definition.to_owned(),
                type_hash: hash.to_owned(),
                qos: Vec::new(),
            };
            let topic = writer.add_topic(topic).unwrap();
            writer.write(topic, 1, 1, &[]).unwrap();
            writer.finish().unwrap();
            path
        };
        let found = compared(&write("left", left), &write("right", right));
        assert_eq!(found.is_equal(), same, "{left:?} and {right:?}");
        let typed = |first: &TopicDifference| matches!(first.what, Differs::Type { .. });
        assert_eq!(found.topics[0].first.as_ref().is_some_and(typed), !same);
    }
}

#[test]
fn the_bag_that_is_behind_in_time_is_read_on_while_it_lasts() {
    let scratch = Scratch::new("behind");
    let reader = BagReader::open(scratch.bag("plain", &PLAIN)).unwrap();
    let side =
        |(last_ns, ended)| Side { messages: reader.messages(), rows: Vec::new(), last_ns, ended };
    for (left, right, read) in [
        ((3, false), (5, false), Some(0)),
        ((5, false), (3, false), Some(1)),
        ((3, true), (5, false), Some(1)),
        ((5, false), (3, true), Some(0)),
        ((3, true), (5, true), None),
    ] {
        assert_eq!(behind(&[side(left), side(right)]), read, "{left:?}, {right:?}");
    }
}
