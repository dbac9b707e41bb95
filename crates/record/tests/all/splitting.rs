//! Bags of several files, and long messages that are written from where they lie.

use crate::common;
use common::{Scratch, check_strings, contents, options, string_cdr, string_topic, text};
use crossdock_record::{
    BagReader, BagWriter, Compression, DamageKind, OpenBagError, WriterOptions, reindex,
};
use std::fs;
use std::io::IoSlice;
use std::path::Path;
use std::time::Duration;

/// Messages of a bag.
const MESSAGES: u64 = 600;

/// Writes 600 strings, one per millisecond; gives the names of the files.
fn split(path: &Path, options: WriterOptions) -> Vec<String> {
    common::write_strings(path, options, MESSAGES);
    let files = BagReader::open(path).unwrap();
    files.files().map(|file| file.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_folder_is_split_by_bytes_or_time_and_read_as_one_bag() {
    let scratch = Scratch::new("split");
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let plain = options(compression, 2000);
        let name = |what: &str| scratch.path(&format!("{what}-{compression:?}"));
        let by_bytes = WriterOptions { split_bytes: Some(8000), ..plain };
        let by_time = WriterOptions { split_duration: Some(Duration::from_millis(100)), ..plain };
        let path = name("time");
        assert_eq!(split(&path, by_time).len(), 6);
        let metadata = fs::read_to_string(path.join("metadata.yaml")).unwrap();
        assert_eq!(metadata.matches("message_count: 100").count(), 6, "{metadata}");
        assert_eq!(metadata.matches("      message_count: 300").count(), 2, "{metadata}");
        let path = name("bytes");
        let files = split(&path, by_bytes);
        assert!(files.len() > 2, "{files:?}");
        // What is in the file counts, as in rosbag2, and not what a chunk has before it is
        // compressed.
        let bytes = files.iter().map(|file| fs::metadata(path.join(file)).unwrap().len());
        for bytes in bytes.take(files.len() - 1) {
            assert!((8000..12_000).contains(&bytes), "{bytes} with {compression:?}");
        }
        for path in [name("time"), path] {
            for missing in [false, true] {
                if missing {
                    fs::remove_file(path.join("metadata.yaml")).unwrap();
                }
                let reader = BagReader::open(&path).unwrap();
                let found = contents(&reader);
                assert!(found.error.is_none(), "{:?}", found.error);
                assert_eq!((check_strings(&found), reader.message_count()), (600, 600));
            }
            // Each file is sound by itself.
            for file in fs::read_dir(&path).unwrap() {
                let found = contents(&BagReader::open(file.unwrap().path()).unwrap());
                assert!(found.error.is_none() && check_strings(&found) > 0);
            }
        }
    }
    // Short files have short chunks, so that their lengths come near to what was asked for.
    let short = WriterOptions { split_bytes: Some(64_000), ..options(Compression::None, 1 << 20) };
    let name = split(&scratch.path("short"), short)[0].clone();
    let bytes = fs::read(scratch.path("short").join(name)).unwrap();
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    assert!((8000..9000).contains(&summary.chunk_indexes[0].uncompressed_size), "{summary:?}");
    // One file stays one.
    let one = scratch.path("one.mcap");
    let options = WriterOptions { split_bytes: Some(100), ..options(Compression::None, 100) };
    assert_eq!(split(&one, options), ["one.mcap"]);
}

#[test]
fn a_file_that_is_no_bag_leaves_the_other_files_of_its_folder_readable() {
    let scratch = Scratch::new("one_of_many");
    let path = scratch.path("drive");
    let by_bytes = WriterOptions { split_bytes: Some(8000), ..options(Compression::None, 2000) };
    let count = split(&path, by_bytes).len();
    // As a recorder leaves it that is killed while it begins a file.
    fs::remove_file(path.join("metadata.yaml")).unwrap();
    let next = path.join(format!("drive_{count}.mcap"));
    let (empty, foreign) = (DamageKind::EmptyFile, "it is neither an MCAP nor a SQLite file");
    for (bytes, what) in [
        (&b""[..], empty.to_string()),
        (&b"\x89MCAP"[..], empty.to_string()),
        (&b"a letter"[..], foreign.to_owned()),
        (&b"#ROSBAG V2.0\n"[..], "it is a ROS 1 bag".to_owned()),
        (&b"SQLite format 3\0"[..], "this file of the bag is not read: ".to_owned()),
    ] {
        fs::write(&next, bytes).unwrap();
        let reader = BagReader::open(&path).unwrap();
        let damage = reader.damage().expect("it is said").to_string();
        assert!(damage.contains(&what) && damage.contains("drive_"), "{damage}");
        let found = contents(&reader);
        assert_eq!(check_strings(&found), 600);
        let error = found.error.expect("it is said at the end, too").to_string();
        assert!(error.contains(&what) && error.contains("600 messages"), "{error}");
    }
    // What cannot be read at all is said with the system's reason.
    fs::remove_file(&next).unwrap();
    fs::create_dir(&next).unwrap();
    let found = contents(&BagReader::open(&path).unwrap());
    let error = found.error.as_ref().expect("it is said").to_string();
    assert!(error.contains("reading failed: it is not a regular file"), "{error}");
    assert_eq!(check_strings(&found), 600);
    fs::remove_dir(&next).unwrap();
    // A new metadata.yaml names the files that can be read.
    fs::write(&next, b"").unwrap();
    assert_eq!(reindex(&path).unwrap().files, count);
    assert!(contents(&BagReader::open(&path).unwrap()).error.is_none());
    // With no other file it is an error.
    let alone = scratch.path("alone");
    fs::create_dir(&alone).unwrap();
    fs::write(alone.join("alone_0.mcap"), b"").unwrap();
    fs::write(alone.join("alone_1.mcap"), b"a letter").unwrap();
    let error = BagReader::open(&alone).unwrap_err();
    assert!(matches!(&error, OpenBagError::Empty { path } if path.ends_with("alone_0.mcap")));
}

#[test]
fn long_messages_go_to_the_file_as_they_are_in_the_order_of_writing() {
    let scratch = Scratch::new("direct");
    let long = |number: u64| number.is_multiple_of(5);
    let payload = |number: u64| match long(number) {
        true => string_cdr(&"z".repeat(70_000 + number as usize)),
        false => string_cdr(&text(number)),
    };
    for compression in [Compression::None, Compression::Zstd] {
        let path = scratch.path(&format!("{compression:?}.mcap"));
        let mut writer = BagWriter::create(&path, WriterOptions::new(compression)).unwrap();
        let topic = writer.add_topic(string_topic("/a")).unwrap();
        for number in 0..50 {
            let cdr = payload(number);
            let (head, rest) = cdr.split_at(8);
            let (middle, tail) = rest.split_at(1);
            let slices = [head, middle, tail].map(IoSlice::new);
            let copies = writer.write(topic, number, number, &slices).unwrap();
            let direct = compression == Compression::None && long(number);
            assert_eq!(copies, u64::from(!direct));
            // It is in the file, and so is what came before.
            assert!(!direct || writer.saved().messages == number + 1);
        }
        writer.finish().unwrap();
        let reader = BagReader::open(&path).unwrap();
        let found = contents(&reader);
        assert!(found.error.is_none(), "{:?}", found.error);
        assert_eq!((reader.message_count(), reader.topic_counts()), (50, vec![50]));
        for (number, (_, time, data)) in (0..).zip(found.messages) {
            assert_eq!((time, data), (number, payload(number)));
        }
        // From the middle on, by the index.
        let mut messages = reader.messages_from(20);
        assert_eq!(messages.next_time_ns(), Some(20));
        let first = messages.next_message().unwrap().unwrap();
        assert_eq!((first.log_time_ns, first.number), (20, 1));
    }
}

#[test]
fn each_message_may_begin_a_file_and_what_is_safe_is_told_of_all_files() {
    let scratch = Scratch::new("each");
    let path = scratch.path("each");
    let options = WriterOptions { split_bytes: Some(1), ..options(Compression::None, 1000) };
    let mut writer = BagWriter::create(&path, options).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    let bytes = |count: u64| {
        let files = (0..count).map(|number| path.join(format!("each_{number}.mcap")));
        files.map(|file| fs::metadata(file).unwrap().len()).sum::<u64>()
    };
    for number in 0..3 {
        let (time, cdr) = (number * 1_000_000, string_cdr(&text(number)));
        writer.write(topic, time, time, &[IoSlice::new(&cdr)]).unwrap();
        writer.flush().unwrap();
        let saved = writer.saved();
        assert_eq!((saved.messages, saved.bytes), (number + 1, bytes(number + 1)));
    }
    let saved = writer.finish().unwrap();
    assert_eq!((saved.messages, saved.bytes), (3, bytes(3)));
    // The first file has a message, too.
    assert_eq!(fs::read_dir(&path).unwrap().count(), 3 + 1);
    for number in 0..3 {
        let found = contents(&BagReader::open(path.join(format!("each_{number}.mcap"))).unwrap());
        assert_eq!((check_strings(&found), found.messages[0].1), (1, number * 1_000_000));
    }
}
