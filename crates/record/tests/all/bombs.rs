//! Small files that would take much memory or time.

use crate::common;
use common::{Scratch, contents, options, string_cdr, string_topic, write_strings};
use crossdock_record::{
    BagReader, BagWriter, Compression, DamageKind, ReaderOptions, TopicDescription,
};
use std::fs;
use std::io::IoSlice;

#[test]
fn a_file_without_an_index_expands_no_more_than_the_limit_says() {
    let scratch = Scratch::new("bomb");
    let path = scratch.path("bomb.mcap");
    let mut writer = BagWriter::create(&path, options(Compression::Zstd, 1_000_000)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    let zeros = string_cdr(&"0".repeat(100_000));
    let count = 200;
    for number in 0..count {
        writer.write(topic, number, number, &[IoSlice::new(&zeros)]).unwrap();
    }
    writer.finish().unwrap();
    // The recorder was killed: the closing records are missing.
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 30]).unwrap();
    let read = |expansion_max, expansion_bytes_free| {
        let defaults = ReaderOptions::default();
        let options = ReaderOptions { expansion_max, expansion_bytes_free, ..defaults };
        let reader = BagReader::open_with(&path, options).unwrap();
        let kind = reader.damage().map(|damage| damage.kind.clone());
        (contents(&reader).messages.len() as u64, kind)
    };
    assert!(matches!(read(10, 4_000_000), (1..100, Some(DamageKind::Expands { ratio: 10 }))));
    // What recordings really expand to is no reason to leave anything out.
    let (whole, kind) = read(256, 1 << 30);
    assert_eq!(whole, count);
    assert!(!matches!(kind, Some(DamageKind::Expands { .. })), "{kind:?}");
    // A chunk that takes the last byte of the limit is within it.
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let chunks = summary.chunk_indexes.iter().take(2);
    let two = chunks.map(|chunk| chunk.uncompressed_size).sum::<u64>();
    let [(all_but, _), (both, _)] = [two - 1, two].map(|free| read(0, free));
    assert!(two > 2_000_000 && both > all_but, "{both} messages, and {all_but} with a byte less");
}

#[test]
fn files_that_metadata_names_and_that_are_missing_are_listed() {
    let scratch = Scratch::new("missing");
    let bag = scratch.path("split");
    write_strings(&bag, options(Compression::None, 1000), 10);
    assert!(BagReader::open(&bag).unwrap().missing_files().is_empty());
    let metadata = bag.join("metadata.yaml");
    let text = fs::read_to_string(&metadata).unwrap();
    let named = text.replacen("- \"split_0.mcap\"", "- split_0.mcap\n    - split_1.mcap", 1);
    assert_ne!(named, text);
    fs::write(&metadata, named).unwrap();
    let reader = BagReader::open(&bag).unwrap();
    assert_eq!(reader.missing_files(), [bag.join("split_1.mcap")]);
    assert_eq!(contents(&reader).messages.len(), 10);
}

#[test]
fn channels_of_one_name_are_one_topic_only_if_their_definitions_say_the_same() {
    let scratch = Scratch::new("definitions");
    let bag = scratch.path("definitions.mcap");
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    for (number, (name, definition)) in (0..).zip([
        ("/lane", "string data\n"),
        ("lane", "# A comment is no other type.\nstring data\n"),
        ("/other", "string data\n"),
        ("other", "int32 data\n"),
    ]) {
        let definition = definition.to_owned();
        let topic = TopicDescription { definition, ..string_topic(name) };
        let topic = writer.add_topic(topic).unwrap();
        writer.write(topic, number, 0, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    }
    writer.finish().unwrap();
    let reader = BagReader::open(&bag).unwrap();
    let names: Vec<_> = reader.topics().iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(names, ["/lane", "/other", "/other"]);
    let problem = reader.topics()[2].problems[0].to_string();
    assert!(problem.contains("defined otherwise"), "{problem}");
    assert_eq!(contents(&reader).messages.len(), 3);
}

#[test]
fn topics_without_a_slash_are_absolute() {
    let scratch = Scratch::new("relative");
    let bag = scratch.path("relative.mcap");
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    for (number, name) in ["lane", "/lane", "camera/image"].into_iter().enumerate() {
        let topic = writer.add_topic(string_topic(name)).unwrap();
        writer.write(topic, number as u64, 0, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    }
    writer.finish().unwrap();
    let reader = BagReader::open(&bag).unwrap();
    let names: Vec<_> = reader.topics().iter().map(|topic| topic.name.as_str()).collect();
    // In a graph both are one topic.
    assert_eq!(names, ["/lane", "/camera/image"]);
    assert_eq!(contents(&reader).messages.len(), 3);
}
