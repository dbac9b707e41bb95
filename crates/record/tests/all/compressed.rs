//! Bags that rosbag2 compressed: whole files, and message by message.

use crate::common;
use common::{
    Scratch, check_strings, contents, options, string_cdr, string_topic, text, write_strings,
};
use crossdock_record::{
    BagReader, BagWriter, Compression, DamageKind, OpenBagError, ReadError, ReaderOptions,
    WriterOptions, reindex,
};
use std::fs;
use std::io::IoSlice;
use std::path::Path;
use std::time::Duration;

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
fn bags_are_written_in_the_modes_of_rosbag2_and_read_back() {
    let scratch = Scratch::new("compressed-written");
    for (compression, mode, ending) in
        [(Compression::Files, "FILE", ".mcap.zstd"), (Compression::Messages, "MESSAGE", ".mcap")]
    {
        let bag = scratch.path(mode);
        let plain = options(compression, 2000);
        let by_time = WriterOptions { split_duration: Some(Duration::from_millis(100)), ..plain };
        write_strings(&bag, by_time, 600);
        let metadata = fs::read_to_string(bag.join("metadata.yaml")).unwrap();
        assert!(metadata.contains("compression_format: \"zstd\""), "{metadata}");
        assert!(metadata.contains(&format!("compression_mode: \"{mode}\"")), "{metadata}");
        // Six files, and nothing beside them: the plain ones have gone.
        let mut names: Vec<_> = fs::read_dir(&bag)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let files = (0..6).map(|number| format!("{mode}_{number}{ending}"));
        assert_eq!(names, files.chain(["metadata.yaml".to_owned()]).collect::<Vec<_>>());
        assert_eq!(metadata.matches(ending).count(), 12, "{metadata}");
        let read = || contents(&BagReader::open(&bag).unwrap());
        assert!(read().error.is_none());
        assert_eq!(check_strings(&read()), 600);
        // After a recorder was killed, the files say how they are compressed.
        fs::remove_file(bag.join("metadata.yaml")).unwrap();
        assert_eq!(reindex(&bag).unwrap().messages, 600);
        let again = fs::read_to_string(bag.join("metadata.yaml")).unwrap();
        assert_eq!(again, metadata);
        assert_eq!(check_strings(&read()), 600);
        let file = scratch.path("one.mcap");
        let refused = BagWriter::create(&file, WriterOptions::new(compression)).unwrap_err();
        assert!(refused.to_string().contains("without .mcap"), "{refused}");
        assert!(!file.exists());
    }
}

#[test]
fn a_file_that_cannot_be_compressed_stays_whole_and_is_said_at_the_end() {
    let scratch = Scratch::new("compressed-not");
    let bag = scratch.path("bag");
    let by_time = WriterOptions {
        split_duration: Some(Duration::from_millis(100)),
        ..options(Compression::Files, 2000)
    };
    let mut writer = BagWriter::create(&bag, by_time).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    // What is there is never overwritten.
    fs::write(bag.join("bag_1.mcap.zstd.unfinished"), "somebody's").unwrap();
    for number in 0..300 {
        let time = number * 1_000_000;
        writer.write(topic, time, time, &[IoSlice::new(&string_cdr(&text(number)))]).unwrap();
    }
    let error = writer.finish().unwrap_err().to_string();
    assert!(error.contains("bag_1.mcap cannot be compressed"), "{error}");
    let names = ["bag_0.mcap.zstd", "bag_1.mcap", "bag_2.mcap"];
    let metadata = fs::read_to_string(bag.join("metadata.yaml")).unwrap();
    for name in names {
        assert!(bag.join(name).exists() && metadata.contains(&format!("\"{name}\"")), "{metadata}");
    }
    assert!(metadata.contains("compression_mode: \"FILE\""), "{metadata}");
    let found = contents(&BagReader::open(&bag).unwrap());
    assert!(found.error.is_none());
    assert_eq!(check_strings(&found), 300);
    // Other readers do not look for a compression of which there is none.
    let plain = scratch.path("plain");
    let writer = BagWriter::create(&plain, options(Compression::Files, 2000)).unwrap();
    fs::write(plain.join("plain_0.mcap.zstd.unfinished"), "somebody's").unwrap();
    writer.finish().unwrap_err();
    let metadata = fs::read_to_string(plain.join("metadata.yaml")).unwrap();
    assert!(metadata.contains("compression_mode: \"\""), "{metadata}");
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

#[test]
fn a_message_that_is_compressed_by_itself_is_copied_once_more() {
    let scratch = Scratch::new("compressed-copies");
    for (compression, more) in
        [(Compression::Files, 0), (Compression::Zstd, 0), (Compression::Messages, 1)]
    {
        let path = scratch.path(&format!("{compression:?}"));
        let mut writer = BagWriter::create(&path, options(compression, 1000)).unwrap();
        let topic = writer.add_topic(string_topic("/a")).unwrap();
        let copies = writer.write(topic, 0, 0, &[IoSlice::new(&string_cdr("x"))]).unwrap();
        assert_eq!(copies, 1 + more, "{compression:?}");
        writer.finish().unwrap();
    }
}

#[test]
fn a_file_that_is_there_plain_and_compressed_is_read_once() {
    let scratch = Scratch::new("compressed-both");
    let bag = scratch.path("bag");
    write_strings(&bag, options(Compression::None, 1000), 30);
    fs::remove_file(bag.join("metadata.yaml")).unwrap();
    let plain = bag.join("bag_0.mcap");
    let packed = bag.join("bag_0.mcap.zstd");
    fs::write(&packed, zstd::encode_all(&fs::read(&plain).unwrap()[..], 1).unwrap()).unwrap();
    let read = || {
        let reader = BagReader::open(&bag).unwrap();
        let found = contents(&reader);
        let names: Vec<_> = reader.files().map(|it| it.file_name().unwrap().to_owned()).collect();
        (names, check_strings(&found), found.error.is_none())
    };
    // A recorder that is killed while it removes the plain one leaves both.
    assert_eq!(read(), (vec!["bag_0.mcap".into()], 30, true));
    // One that is killed before names a file that it has not made yet.
    fs::remove_file(&packed).unwrap();
    metadata(&bag, "FILE", "zstd", &["bag_0.mcap.zstd"]);
    assert_eq!(read(), (vec!["bag_0.mcap".into()], 30, true));
    let reader = BagReader::open(&bag).unwrap();
    assert!(reader.remarks().is_empty(), "{:?}", reader.remarks());
}
