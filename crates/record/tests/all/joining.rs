//! Several bags that are read, played and converted as one.

use crate::common::{contents, options, string_cdr, string_topic};
use crate::play_and_record::{Domain, play_into_from};
use crossdock_record::{
    BagReader, BagWriter, Compression, LogTime, PlayTopics, PlayerOptions, Rate, ReadError,
    TopicDescription, TopicProblem,
};
use std::io::IoSlice;
use std::path::Path;

/// A bag whose message at each of these times says the time.
fn write(path: &Path, topic: TopicDescription, times: impl Iterator<Item = u64>) {
    let mut writer = BagWriter::create(path, options(Compression::Lz4, 300)).unwrap();
    let topic = writer.add_topic(topic).unwrap();
    for time in times {
        let cdr = string_cdr(&time.to_string());
        writer.write(topic, time, time, &[IoSlice::new(&cdr)]).unwrap();
    }
    writer.finish().unwrap();
}

fn join(paths: &[&Path]) -> BagReader {
    BagReader::join(paths.iter().map(|path| BagReader::open(path).unwrap()))
}

#[test]
fn messages_of_several_bags_come_in_the_order_of_their_times_with_one_topic_of_a_name() {
    let domain = Domain::new("joining");
    let [left, right, other] = ["l.mcap", "r.mcap", "o.mcap"].map(|it| domain.scratch.path(it));
    write(&left, string_topic("/a"), (0..400).map(|number| 10 * number));
    // A comment is no other type, and a definition that lacks is none either.
    let said = "# What is said.\nstring data\n".to_owned();
    write(&right, TopicDescription { definition: said, ..string_topic("/a") }, 1000..1500);
    let none = String::new();
    let bare = TopicDescription { definition: none.clone(), type_hash: none, ..string_topic("/a") };
    write(&other, bare, (2..3000).step_by(7));
    let reader = join(&[&left, &right, &other]);
    assert_eq!(reader.topics().len(), 1);
    assert!(reader.topics()[0].schema().is_ok());
    assert_eq!((reader.start_ns(), reader.end_ns()), (0, 3990));
    assert_eq!(reader.message_count(), 400 + 500 + 429);
    assert_eq!(reader.topic_counts(), [400 + 500 + 429]);
    let found = contents(&reader);
    assert!(found.error.is_none());
    let times: Vec<u64> = found.messages.iter().map(|(_, time, _)| *time).collect();
    let mut wanted: Vec<u64> =
        (0..400).map(|it| 10 * it).chain(1000..1500).chain((2..3000).step_by(7)).collect();
    wanted.sort_unstable();
    assert_eq!(times, wanted);
    let mut from = reader.messages_from(1499);
    assert_eq!(from.next_time_ns(), Some(1499));
    assert_eq!(from.next_message().unwrap().unwrap().number, 1);
    // They are played as one.
    let options = PlayerOptions::new("player", PlayTopics::All, Rate::Factor(1.0));
    let out = domain.scratch.path("out.mcap");
    let (played, _) = play_into_from(&domain, reader, &out, options, LogTime::Wall);
    assert_eq!(played.topics[0].published, wanted.len() as u64);
    let out = contents(&BagReader::open(&out).unwrap());
    let data = |found: crate::common::Contents| found.messages.into_iter().map(|it| it.2);
    assert!(data(out).eq(data(found)));
}

#[test]
fn of_topics_of_one_name_and_two_types_the_first_bag_counts() {
    let domain = Domain::new("joining-types");
    let [left, right] = ["l.mcap", "r.mcap"].map(|name| domain.scratch.path(name));
    write(&left, string_topic("/a"), 0..3);
    let type_name = "example_interfaces/msg/String".to_owned();
    write(&right, TopicDescription { type_name, ..string_topic("/a") }, 0..3);
    let reader = join(&[&left, &right]);
    assert_eq!(reader.topics()[0].type_name, "std_msgs/msg/String");
    let problem = &reader.topics()[1].problems[0];
    assert!(matches!(problem, TopicProblem::Conflict { .. }), "{problem}");
    assert_eq!(contents(&reader).messages.len(), 3);
    // Another definition of the same type is named as such.
    let newer = TopicDescription { definition: "int32 data\n".to_owned(), ..string_topic("/a") };
    let newer_bag = domain.scratch.path("n.mcap");
    write(&newer_bag, newer, 0..3);
    let reader = join(&[&left, &newer_bag]);
    let problem = reader.topics()[1].problems[0].to_string();
    assert!(problem.contains("defined otherwise"), "{problem}");
    assert_eq!(contents(&reader).messages.len(), 3);
}

#[test]
fn damage_in_one_of_several_bags_is_said_once_at_the_end() {
    let domain = Domain::new("joining-damage");
    let [left, right] = ["l.mcap", "r.mcap"].map(|name| domain.scratch.path(name));
    write(&left, string_topic("/a"), 0..200);
    write(&right, string_topic("/b"), 0..200);
    let bytes = std::fs::read(&left).unwrap();
    std::fs::write(&left, &bytes[..bytes.len() / 2]).unwrap();
    let found = contents(&join(&[&left, &right]));
    let of_right = found.messages.iter().filter(|(topic, ..)| *topic == 1).count();
    assert_eq!(of_right, 200);
    let Some(ReadError::Damaged { first, delivered, .. }) = found.error else {
        panic!("no damage");
    };
    assert_eq!(first.path, left);
    assert_eq!(delivered, found.messages.len() as u64);
}
