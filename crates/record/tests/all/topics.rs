//! What the topics of a bag are: their definitions, and what lets them be joined or not used.

use crate::common;
use common::{RELIABLE, Scratch, contents, options, string_cdr, string_topic};
use crossdock_msg::definition::{TypeName, parse_merged};
use crossdock_msg::resolve::Library;
use crossdock_record::{
    BagReader, BagWriter, Compression, OfferedQos, TopicDescription, TopicProblem,
};
use std::io::IoSlice;
use std::path::Path;

/// Writes a message of each of these topics.
fn write(path: &Path, topics: impl IntoIterator<Item = TopicDescription>) {
    let mut writer = BagWriter::create(path, options(Compression::None, 1000)).unwrap();
    for topic in topics {
        let topic = writer.add_topic(topic).unwrap();
        writer.write(topic, 1, 1, &[IoSlice::new(&string_cdr("x"))]).unwrap();
    }
    writer.finish().unwrap();
}

fn of_type(name: &str, type_name: &str, definition: &str) -> TopicDescription {
    TopicDescription {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        definition: definition.to_owned(),
        type_hash: String::new(),
        qos: vec![RELIABLE],
    }
}

fn library(type_name: &str, text: &str) -> Library {
    let name = TypeName::parse(type_name).unwrap();
    parse_merged(&name, text).unwrap().into_iter().fold(Library::new(), Library::with)
}

#[test]
fn definitions_from_elsewhere_take_the_place_of_missing_and_broken_ones_alone() {
    let scratch = Scratch::new("define");
    let path = scratch.path("d.mcap");
    let sound = of_type("/sound", "my_msgs/msg/Text", "string data # as recorded\n");
    // A type that is shipped lacks nothing.
    let shipped = of_type("/shipped", "std_msgs/msg/String", "");
    write(&path, [sound.clone(), shipped.clone()]);
    assert!(!BagReader::open(&path).unwrap().lacks_definitions());
    std::fs::remove_file(&path).unwrap();
    let missing = of_type("/missing", "my_msgs/msg/Other", "");
    let broken = of_type("/broken", "my_msgs/msg/Other", "no such type\n");
    write(&path, [sound, shipped, missing, broken]);
    let mut reader = BagReader::open(&path).unwrap();
    assert!(reader.lacks_definitions());
    let before = reader.topics().to_vec();
    assert_eq!(before[2].problems, [TopicProblem::NoDefinition]);
    // A library without the types changes nothing.
    reader.define(&library("my_msgs/msg/None", "bool data\n"));
    assert_eq!((reader.topics(), reader.remarks().len()), (&before[..], 0));
    let mut both = library("my_msgs/msg/Other", "string data\n");
    let text = TypeName::parse("my_msgs/msg/Text").unwrap();
    parse_merged(&text, "int32 data\n").unwrap().into_iter().for_each(|it| both.add(it));
    reader.define(&both);
    assert!(!reader.lacks_definitions());
    let after = reader.topics();
    assert_eq!(after[..2], before[..2]);
    for topic in &after[2..] {
        assert_eq!(
            (topic.definition.as_deref(), &topic.problems[..]),
            (Some("string data\n"), &[][..])
        );
    }
    // What was recorded and is not used is said.
    let [remark] = reader.remarks() else { panic!("{:?}", reader.remarks()) };
    assert!(remark.contains("/broken") && remark.contains("from elsewhere"), "{remark}");
}

#[test]
fn a_topic_that_is_in_several_files_has_the_publishers_of_all_and_one_definition() {
    let scratch = Scratch::new("absorb");
    let profile = |depth| OfferedQos { depth, ..RELIABLE };
    let topic = |depth, definition: &str| TopicDescription {
        qos: vec![profile(depth)],
        ..of_type("/a", "my_msgs/msg/Text", definition)
    };
    let files = [
        // Its definition comes later, and another one after that.
        topic(1, ""),
        topic(2, ""),
        topic(1, "string data\n"),
        topic(3, "string data # said\n"),
    ];
    let paths = (0..4).map(|number| scratch.path(&format!("{number}.mcap")));
    for (path, topic) in paths.clone().zip(files) {
        write(&path, [topic]);
    }
    let join = |count| {
        let joined =
            BagReader::join(paths.clone().take(count).map(|it| BagReader::open(it).unwrap()));
        let [topic] = joined.topics() else { panic!("{:?}", joined.topics()) };
        let depths: Vec<_> = topic.qos.iter().map(|qos| qos.depth).collect();
        (depths, topic.definition.clone(), topic.problems.clone())
    };
    assert_eq!(join(2), (vec![1, 2], None, vec![TopicProblem::NoDefinition]));
    let defined = Some("string data\n".to_owned());
    assert_eq!(join(3), (vec![1, 2], defined.clone(), vec![]));
    assert_eq!(join(4), (vec![1, 2, 3], defined, vec![]));
    // Other problems stay.
    let odd = |definition: &str| of_type("/b", "no_ros_type", definition);
    let paths = ["odd", "odd2"].map(|name| scratch.path(name).with_extension("mcap"));
    write(&paths[0], [odd("")]);
    write(&paths[1], [odd("string data\n")]);
    let joined = BagReader::join(paths.iter().map(|path| BagReader::open(path).unwrap()));
    let [topic] = joined.topics() else { panic!("{:?}", joined.topics()) };
    assert_eq!(topic.problems, [TopicProblem::TypeName("no_ros_type".to_owned())]);
    // A bag may have any number of profiles of one topic.
    let path = scratch.path("many.mcap");
    write(
        &path,
        (1..=300).map(|depth| TopicDescription { qos: vec![profile(depth)], ..string_topic("/a") }),
    );
    let reader = BagReader::open(&path).unwrap();
    let depths = reader.topics()[0].qos.iter().map(|qos| qos.depth);
    assert!(depths.eq(1..=256));
    assert_eq!(contents(&reader).messages.len(), 300);
}

#[test]
fn a_type_without_fields_is_known_by_its_hash() {
    let scratch = Scratch::new("no-fields");
    let path = scratch.path("n.mcap");
    let hashed = TopicDescription {
        type_hash: common::STRING_HASH.to_owned(),
        ..of_type("/known", "my_msgs/msg/Nothing", "")
    };
    let defined = of_type("/defined", "my_msgs/msg/Text", "string data\n");
    write(&path, [hashed, defined, of_type("/unknown", "my_msgs/msg/None", "")]);
    let reader = BagReader::open(&path).unwrap();
    let definitions: Vec<_> = reader.topics().iter().map(|it| it.definition.as_deref()).collect();
    assert_eq!(definitions, [Some(""), Some("string data\n"), None]);
    assert_eq!(reader.topics()[2].problems, [TopicProblem::NoDefinition]);
}
