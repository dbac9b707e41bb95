//! metadata.yaml is made anew from the files of a folder.

use crate::common::{Scratch, contents, options, string_topic, write_strings};
use crossdock_record::{
    BagReader, BagWriter, Compression, ReaderOptions, ReindexError, WriterOptions, reindex,
    reindex_telling,
};
use std::cell::RefCell;
use std::fs;
use std::path::Path;

#[test]
fn what_reindex_writes_is_what_the_writer_wrote() {
    let scratch = Scratch::new("reindex");
    let bag = scratch.path("bag");
    let options = WriterOptions { split_bytes: Some(8000), ..options(Compression::Lz4, 1000) };
    write_strings(&bag, options, 300);
    let metadata = bag.join("metadata.yaml");
    let written = fs::read_to_string(&metadata).unwrap();
    fs::remove_file(&metadata).unwrap();
    assert!(!BagReader::open(&bag).unwrap().remarks().is_empty());
    let done = reindex(&bag).unwrap();
    assert_eq!((done.messages, done.damage), (300, None));
    assert_eq!(fs::read_to_string(&metadata).unwrap(), written);
    assert!(BagReader::open(&bag).unwrap().remarks().is_empty());
    // A broken one is replaced.
    fs::write(&metadata, "{ broken").unwrap();
    reindex(&bag).unwrap();
    assert_eq!(fs::read_to_string(&metadata).unwrap(), written);
}

#[test]
fn a_bag_whose_recorder_was_killed_gets_metadata_for_what_it_has() {
    let scratch = Scratch::new("reindex-killed");
    let bag = scratch.path("bag");
    write_strings(&bag, options(Compression::None, 1000), 100);
    fs::remove_file(bag.join("metadata.yaml")).unwrap();
    let file = bag.join("bag_0.mcap");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let done = reindex(&bag).unwrap();
    assert!(done.messages > 10 && done.messages < 90, "{}", done.messages);
    assert!(done.damage.is_some());
    let found = contents(&BagReader::open(&bag).unwrap());
    assert_eq!(found.messages.len() as u64, done.messages);
}

#[test]
fn sqlite_bags_are_reindexed_and_mixed_folders_are_not() {
    let Some(data) = crossdock_test_support::data() else { return };
    let scratch = Scratch::new("reindex-sqlite");
    let bag = scratch.path("bag");
    fs::create_dir(&bag).unwrap();
    let native = data.join("bags/ros2_native");
    fs::copy(native.join("cdr_test_db3/cdr_test_0.db3"), bag.join("bag_0.db3")).unwrap();
    assert_eq!(reindex(&bag).unwrap().messages, 7);
    let reader = BagReader::open(&bag).unwrap();
    assert!(reader.remarks().is_empty(), "{:?}", reader.remarks());
    assert_eq!(contents(&reader).messages.len(), 7);
    fs::copy(native.join("cdr_test_mcap/cdr_test_0.mcap"), bag.join("bag_1.mcap")).unwrap();
    assert!(matches!(reindex(&bag), Err(ReindexError::TwoStorages { .. })));
    let empty = scratch.path("empty");
    fs::create_dir(&empty).unwrap();
    assert!(matches!(reindex(&empty), Err(ReindexError::Open(_))));
    assert!(matches!(reindex(&empty.join("none")), Err(ReindexError::NoFolder { .. })));
}

#[test]
fn a_file_without_messages_does_not_say_when_its_bag_begins() {
    let scratch = Scratch::new("reindex-empty");
    let bag = scratch.path("bag");
    let mut writer = BagWriter::create(&bag, options(Compression::None, 1000)).unwrap();
    let topic = writer.add_topic(string_topic("/a")).unwrap();
    for time in [5_000_000_000, 7_000_000_000] {
        writer.write(topic, time, time, &[]).unwrap();
    }
    writer.finish().unwrap();
    // As a recorder leaves it that was stopped just after it began a file.
    let next = BagWriter::create(bag.join("bag_1.mcap"), options(Compression::None, 1000));
    next.unwrap().finish().unwrap();
    let done = reindex(&bag).unwrap();
    assert_eq!((done.files, done.messages, done.damage), (2, 2, None));
    let text = fs::read_to_string(bag.join("metadata.yaml")).unwrap();
    let whole = "  duration:\n    nanoseconds: 2000000000\n  starting_time:\n    \
                 nanoseconds_since_epoch: 5000000000\n";
    assert!(text.contains(whole), "{text}");
}

/// Takes what is told of a file of this length: it begins at its start, rises with each record, and
/// comes close to the end.
fn rises_to(length: u64, told: &[(u64, u64)]) {
    assert!(told.iter().all(|(_, total)| *total == length), "{length}: {told:?}");
    assert!(told.windows(2).all(|two| two[0].0 < two[1].0), "{told:?}");
    let (first, last) = (told.first().expect("words").0, told.last().expect("words").0);
    assert!(first < length / 4 && last > length - length / 4 && last < length, "{told:?}");
    assert!(told.len() > 10, "{told:?}");
}

#[test]
fn who_looks_through_files_without_an_index_hears_how_far_that_is() {
    let scratch = Scratch::new("telling");
    let bag = scratch.path("bag");
    let options = WriterOptions { split_bytes: Some(8000), ..options(Compression::None, 300) };
    write_strings(&bag, options, 300);
    let files = ["bag_0.mcap", "bag_1.mcap"].map(|name| bag.join(name));
    let length = |path: &Path| fs::metadata(path).unwrap().len();
    for path in &files {
        // As if the recorder had been killed: there is no index.
        fs::File::options().write(true).open(path).unwrap().set_len(length(path) / 2).unwrap();
    }
    let told = RefCell::new(Vec::new());
    let progress = |at: u64, total: u64| told.borrow_mut().push((at, total));
    BagReader::open_telling(&files[0], ReaderOptions::default(), &progress).unwrap();
    rises_to(length(&files[0]), &told.take());

    reindex_telling(&bag, &progress).unwrap();
    let told = told.take();
    // One file after the other, each from its start.
    let second = told.windows(2).position(|two| two[1].0 < two[0].0).expect("another file") + 1;
    rises_to(length(&files[0]), &told[..second]);
    let third = told[second..].windows(2).position(|two| two[1].0 < two[0].0);
    rises_to(length(&files[1]), &told[second..][..third.map_or(told.len() - second, |at| at + 1)]);
}
