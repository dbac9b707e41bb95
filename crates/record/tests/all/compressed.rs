//! Bags that rosbag2 compressed: whole files, and message by message.

use crate::common;
use common::{
    Scratch, check_strings, contents, options, string_cdr, string_topic, text, write_strings,
};
use crossdock_record::{
    BagReader, BagWriter, Compression, DamageKind, OpenBagError, ReadError, ReaderOptions,
};
use std::fs;
use std::io::IoSlice;
use std::path::Path;

fn metadata(folder: &Path, mode: &str, format: &str, files: &[&str]) {
    let files: String = files.iter().map(|file| format!("  - {file}\n")).collect();
    let text = format!(
        "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n  \
         relative_file_paths:\n{files}  compression_format: {format}\n  compression_mode: {mode}\n"
    );
    fs::write(folder.join("metadata.yaml"), text).unwrap();
}

#[test]
fn files_that_are_compressed_as_a_whole_are_read_in_both_storages() {
    let scratch = Scratch::new("compressed-files");
    let folder = scratch.path("bag");
    fs::create_dir(&folder).unwrap();
    let plain = scratch.path("plain.mcap");
    write_strings(&plain, options(Compression::None, 1000), 300);
    let compressed = zstd::encode_all(&fs::read(&plain).unwrap()[..], 3).unwrap();
    fs::write(folder.join("bag_0.mcap.zstd"), &compressed).unwrap();
    // Named as it was before the compression, as it is, and in no metadata.yaml at all.
    for named in [Some("bag_0.mcap"), Some("bag_0.mcap.zstd"), Some("bag/bag_0.mcap.zstd"), None] {
        match named {
            Some(named) => metadata(&folder, "FILE", "zstd", &[named]),
            None => fs::remove_file(folder.join("metadata.yaml")).unwrap(),
        }
        let reader = BagReader::open(&folder).unwrap();
        let found = contents(&reader);
        assert!(found.error.is_none(), "{:?}", found.error);
        assert_eq!((check_strings(&found), reader.message_count()), (300, 300), "{named:?}");
    }
    let Some(data) = crossdock_test_support::data() else { return };
    let path = data.join("bags/ros2_native/talker_db3/talker.db3");
    let compressed = zstd::encode_all(&fs::read(&path).unwrap()[..], 3).unwrap();
    let copy = scratch.path("talker.db3.zstd");
    fs::write(&copy, compressed).unwrap();
    let (found, whole) =
        (contents(&BagReader::open(&copy).unwrap()), contents(&BagReader::open(&path).unwrap()));
    assert!(found.error.is_none());
    assert_eq!(found.messages, whole.messages);
}

#[test]
fn a_compressed_file_that_is_cut_or_expands_too_much_gives_what_it_has() {
    let scratch = Scratch::new("compressed-cut");
    let plain = scratch.path("plain.mcap");
    write_strings(&plain, options(Compression::None, 1000), 30_000);
    let compressed = zstd::encode_all(&fs::read(&plain).unwrap()[..], 1).unwrap();
    let path = scratch.path("cut.mcap.zstd");
    fs::write(&path, &compressed[..compressed.len() / 2]).unwrap();
    let found = contents(&BagReader::open(&path).unwrap());
    let read = check_strings(&found);
    assert!((5_000..25_000).contains(&read), "{read}");
    assert!(found.error.is_some());
    fs::write(&path, &compressed).unwrap();
    let options =
        ReaderOptions { expansion_max: 1, expansion_bytes_free: 0, ..ReaderOptions::default() };
    let reader = BagReader::open_with(&path, options).unwrap();
    let found = contents(&reader);
    assert!(check_strings(&found) < 30_000);
    let Some(ReadError::Damaged { count, .. }) = found.error else { panic!("{:?}", found.error) };
    assert!(count >= 1);
}

#[test]
fn messages_that_are_compressed_one_by_one_are_read_and_a_broken_one_is_named() {
    let scratch = Scratch::new("compressed-messages");
    let bag = scratch.path("bag");
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    let topics = ["/a", "/b"].map(|name| writer.add_topic(string_topic(name)).unwrap());
    for number in 0..200 {
        let mut data = zstd::encode_all(&string_cdr(&text(number))[..], 1).unwrap();
        if number == 77 {
            data.truncate(data.len() - 3);
        }
        let (topic, time) = (topics[(number % 2) as usize], number * 1_000_000);
        writer.write(topic, time, time, &[IoSlice::new(&data)]).unwrap();
    }
    writer.finish().unwrap();
    for named in [true, false] {
        match named {
            true => metadata(&bag, "MESSAGE", "zstd", &["bag_0.mcap"]),
            false => fs::remove_file(bag.join("metadata.yaml")).unwrap(),
        }
        let found = contents(&BagReader::open(&bag).unwrap());
        assert_eq!(check_strings(&found), 199);
        let Some(ReadError::Damaged { first, count: 1, .. }) = found.error else {
            panic!("{:?}", found.error)
        };
        assert!(matches!(first.kind, DamageKind::Decompression(_)), "{first}");
    }
    // A message that expands without end.
    let bomb = zstd::encode_all(&vec![0; 3_000_000][..], 19).unwrap();
    let path = scratch.path("bomb.mcap");
    let mut writer = BagWriter::create(&path, options(Compression::None, 1000)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    writer.write(topic, 0, 0, &[IoSlice::new(&bomb)]).unwrap();
    writer.finish().unwrap();
    let options = ReaderOptions { record_bytes_max: 1_000_000, ..ReaderOptions::default() };
    let found = contents(&BagReader::open_with(&path, options).unwrap());
    assert!(found.messages.is_empty());
    assert!(found.error.unwrap().to_string().contains("more than the limit"));
}

#[test]
fn other_compressions_are_refused_by_name() {
    let scratch = Scratch::new("compressed-other");
    let bag = scratch.path("bag");
    write_strings(&bag, options(Compression::None, 1000), 3);
    metadata(&bag, "FILE", "lz4", &["bag_0.mcap"]);
    let error = BagReader::open(&bag).unwrap_err();
    assert!(matches!(error, OpenBagError::OuterCompression { .. }));
    assert!(error.to_string().contains("`lz4`"), "{error}");
}
