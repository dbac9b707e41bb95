//! Reading bags in SQLite files: recorded ones, ones of other forms, damaged and hostile ones.

use crate::common;
use common::{Contents, RELIABLE, Random, STRING_HASH, Scratch, check_strings, contents};
use crossdock_msg::FlatBuffer;
use crossdock_record::{
    BagReader, BagTopic, Damage, DamageKind, OpenBagError, ReadError, ReaderOptions, TopicProblem,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a write-ahead log has the size of its pages, and the checksum of its head
/// (<https://www.sqlite.org/fileformat2.html#walformat>).
const LOG_PAGE_BYTES_AT: usize = 8;
const LOG_CHECKSUM_AT: usize = 24;

/// A bag that SQLite itself made; `None` if the computer has no Python to make it with.
fn made(scratch: &Scratch, kind: &str, count: u64, page_bytes: u32) -> Option<PathBuf> {
    let path = scratch.path(&format!("{kind}_{page_bytes}.db3"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/make_db3.py");
    let numbers = [count.to_string(), page_bytes.to_string()];
    let output = Command::new("python3").arg(script).arg(kind).arg(&path).args(numbers).output();
    let Ok(output) = output else {
        crossdock_test_support::skip("python3 is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(path)
}

fn damages(found: &Contents) -> (Option<Damage>, u64) {
    match &found.error {
        None => (None, 0),
        Some(ReadError::Damaged { first, count, .. }) => (Some(first.clone()), *count),
        Some(other) => panic!("{other}"),
    }
}

#[test]
fn every_shared_sqlite_bag_gives_what_its_recording_in_mcap_gives() {
    let Some(data) = crossdock_test_support::data() else { return };
    let native = data.join("bags/ros2_native");
    for name in ["talker", "cdr_test", "convert_a", "convert_b"] {
        let read = |storage: &str| {
            let reader = BagReader::open(native.join(format!("{name}_{storage}"))).unwrap();
            assert!(reader.remarks().is_empty(), "{:?}", reader.remarks());
            assert_eq!(reader.damage(), None);
            let found = contents(&reader);
            assert!(found.error.is_none(), "{:?}", found.error);
            let topics = reader.topics();
            let messages = found.messages.into_iter().map(|(topic, time, data)| {
                let BagTopic { name, type_name, .. } = &topics[topic];
                (name.clone(), type_name.clone(), time, data)
            });
            let mut messages: Vec<_> = messages.collect();
            // Messages of one time have no order.
            messages.sort();
            assert_eq!(messages.len() as u64, reader.message_count());
            let mut counts: Vec<_> =
                topics.iter().map(|topic| topic.name.clone()).zip(reader.topic_counts()).collect();
            counts.sort();
            (messages, counts, (reader.start_ns(), reader.end_ns()), reader.storage())
        };
        let (rows, chunks) = (read("db3"), read("mcap"));
        assert_eq!((rows.0, rows.1, rows.2), (chunks.0, chunks.1, chunks.2), "{name}");
        assert_eq!((rows.3, chunks.3), ("sqlite3", "mcap"));
    }
    let reader = BagReader::open(data.join("bags/husky_imu_odom_gps_db3")).unwrap();
    assert_eq!(reader.topics().len(), 3);
    let found = contents(&reader);
    assert_eq!((found.messages.len(), found.error.is_none()), (4252, true));
    assert!(found.messages.is_sorted_by_key(|(_, time, _)| *time));
    let schemas: Vec<_> = reader.topics().iter().map(|topic| topic.schema().unwrap()).collect();
    for (topic, _, data) in &found.messages {
        let mut flat = FlatBuffer::with_bytes(schemas[*topic].flat_bytes_of_cdr(data).unwrap());
        schemas[*topic].decode_cdr(data, flat.as_mut_slice()).unwrap();
    }
    // Version 5 of the tables: neither definitions nor hashes.
    let reader = BagReader::open(data.join("bags/ros2_native/ait_images_db3")).unwrap();
    assert_eq!(reader.topics()[0].problems, [TopicProblem::NoDefinition]);
    assert!(reader.topics()[0].schema().is_ok(), "the type is known");
    assert_eq!(contents(&reader).messages.len(), 3);
}

#[test]
fn bags_of_all_page_sizes_encodings_and_ages_are_read() {
    let scratch = Scratch::new("db3-forms");
    let count = 400;
    let forms = [
        ("sound", 512),
        ("sound", 4096),
        ("sound", 65536),
        ("utf16", 1024),
        ("utf16le", 1024),
        ("reserved", 512),
        ("old", 4096),
        ("oldest", 4096),
        ("unordered", 512),
    ];
    for (kind, page_bytes) in forms {
        let Some(path) = made(&scratch, kind, count, page_bytes) else { return };
        let reader = BagReader::open(&path).unwrap();
        let found = contents(&reader);
        assert!(found.error.is_none(), "{kind}: {:?}", found.error);
        assert_eq!(check_strings(&found) as u64, count, "{kind} {page_bytes}");
        assert_eq!(reader.message_count(), count);
        assert_eq!(reader.topic_counts(), [count / 2; 2]);
        assert_eq!((reader.start_ns(), reader.end_ns()), (0, (count - 1) * 1_000_000));
        for topic in reader.topics() {
            assert_eq!(topic.type_name, "std_msgs/msg/String");
            let modern = !kind.starts_with("old");
            assert_eq!(topic.definition.as_deref(), modern.then_some("string data\n"), "{kind}");
            assert_eq!(topic.type_hash.as_deref(), modern.then_some(STRING_HASH));
            assert_eq!(topic.qos.first(), (kind != "oldest").then_some(&RELIABLE));
        }
    }
}

#[test]
fn long_messages_are_read_whole_and_longer_ones_than_the_limit_are_named() {
    let scratch = Scratch::new("db3-large");
    let Some(path) = made(&scratch, "large", 30, 1024) else { return };
    let reader = BagReader::open(&path).unwrap();
    let found = contents(&reader);
    assert!(found.error.is_none());
    assert_eq!(found.messages.len(), 30);
    for (place, (_, time, data)) in found.messages.iter().enumerate() {
        assert_eq!(*time, place as u64 * 1_000_000);
        let text = format!("message {place} {}", "x".repeat(100_000));
        assert_eq!(*data, common::string_cdr(&text));
    }
    let limited = |record_bytes_max| {
        let options = ReaderOptions { record_bytes_max, ..ReaderOptions::default() };
        let found = contents(&BagReader::open_with(&path, options).unwrap());
        let kind = damages(&found).0.unwrap().kind;
        let DamageKind::TooLarge { bytes, limit_bytes } = kind else { panic!("{kind:?}") };
        assert_eq!(limit_bytes, record_bytes_max);
        (found.messages.len(), bytes)
    };
    let (read, bytes) = limited(10_000);
    assert_eq!(read, 0);
    // The first one is as long as the limit; the times of the others take more bytes.
    assert_eq!([bytes - 1, bytes].map(limited), [(0, bytes), (1, bytes + 4)]);
}

#[test]
fn definitions_that_would_not_fit_in_memory_are_told_and_the_messages_are_read() {
    let scratch = Scratch::new("db3-definitions");
    let Some(path) = made(&scratch, "definitions", 100, 4096) else { return };
    let found = contents(&BagReader::open(&path).unwrap());
    assert_eq!(found.messages.len(), 100);
    let (first, count) = damages(&found);
    let kind = first.unwrap().kind;
    assert!(matches!(kind, DamageKind::TooLarge { limit_bytes: 67_108_864, .. }), "{kind:?}");
    assert_eq!(count, 1);
}

#[test]
fn messages_of_all_lengths_are_read_whole_wherever_their_pages_end() {
    let scratch = Scratch::new("db3-lengths");
    // Up to nine pages: some leave the least in the page of their row, others what fills a page.
    for (kind, page_bytes) in [("lengths", 512), ("lengths", 1024), ("reserved_lengths", 512)] {
        let Some(path) = made(&scratch, kind, 1500, page_bytes) else { return };
        let found = contents(&BagReader::open(&path).unwrap());
        assert!(found.error.is_none(), "{:?}", found.error);
        assert_eq!(found.messages.len(), 1500);
        for (number, (_, _, data)) in found.messages.iter().enumerate() {
            let text = format!("message {number} {}", "x".repeat(3 * number));
            assert!(*data == common::string_cdr(&text), "message {number}: {kind} {page_bytes}");
        }
    }
}

#[test]
fn a_log_and_a_journal_beside_the_file_are_read_and_nothing_is_written() {
    let scratch = Scratch::new("db3-journals");
    let count = 2000;
    for (kind, ending) in [("log", "-wal"), ("journal", "-journal")] {
        let Some(path) = made(&scratch, kind, count, 512) else { return };
        let beside = PathBuf::from(format!("{}{ending}", path.display()));
        let before = (fs::read(&path).unwrap(), fs::read(&beside).unwrap());
        assert!(!before.1.is_empty(), "the recorder was interrupted");
        let names = || fs::read_dir(scratch.path("")).unwrap().count();
        let files = names();
        let found = contents(&BagReader::open(&path).unwrap());
        assert!(found.error.is_none(), "{kind}: {:?}", found.error);
        assert_eq!(check_strings(&found) as u64, count, "{kind}");
        assert_eq!((fs::read(&path).unwrap(), fs::read(&beside).unwrap()), before);
        assert_eq!(names(), files);
        // Without it, the file alone does not hold what was recorded.
        fs::remove_file(&beside).unwrap();
        let alone = contents(&BagReader::open(&path).unwrap()).messages;
        assert!(alone.len() < count as usize || alone[9].1 == 7, "{kind}");
        if kind == "log" {
            // The checksum of its head, and its pages' size.
            for at in [LOG_CHECKSUM_AT, LOG_PAGE_BYTES_AT] {
                let mut log = before.1.clone();
                log[at] ^= 1;
                fs::write(&beside, log).unwrap();
                let found = contents(&BagReader::open(&path).unwrap());
                assert!(found.messages == alone, "the log is none: byte {at}");
            }
        }
        fs::write(&beside, b"neither a log nor a journal").unwrap();
        BagReader::open(&path).unwrap();
    }
}

#[test]
fn views_and_triggers_of_a_hostile_file_mean_nothing() {
    let scratch = Scratch::new("db3-hostile");
    let Some(path) = made(&scratch, "hostile", 50, 4096) else { return };
    let before = fs::read(&path).unwrap();
    let reader = BagReader::open(&path).unwrap();
    let found = contents(&reader);
    assert_eq!((check_strings(&found), found.error.is_none()), (50, true));
    // The view is no table: the bag has no definitions.
    assert_eq!(reader.topics()[0].problems, [TopicProblem::NoDefinition]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_sqlite_file_without_a_bag_says_what_it_lacks() {
    let scratch = Scratch::new("db3-foreign");
    let Some(path) = made(&scratch, "foreign", 1, 4096) else { return };
    let error = BagReader::open(&path).unwrap_err();
    assert!(matches!(error, OpenBagError::Sqlite { .. }));
    assert!(error.to_string().contains("no table `messages`"), "{error}");
    let cut = scratch.path("cut.db3");
    fs::write(&cut, &fs::read(&path).unwrap()[..50]).unwrap();
    let error = BagReader::open(&cut).unwrap_err();
    assert!(error.to_string().contains("its header"), "{error}");
    // Pages have 512 bytes or more, and a power of two.
    for page_bytes in [256_u16, 1000] {
        let mut bytes = fs::read(&path).unwrap();
        bytes[16..18].copy_from_slice(&page_bytes.to_be_bytes());
        fs::write(&cut, bytes).unwrap();
        let error = BagReader::open(&cut).unwrap_err().to_string();
        assert!(error.contains(&format!("says that a page has {page_bytes} bytes")), "{error}");
    }
    // 512 bytes without what is kept for others are fewer than rows may have.
    for (at, value, what) in [(19, 3, "version 3 of the format"), (20, 33, "keeps 33 bytes")] {
        let mut bytes = fs::read(&path).unwrap();
        bytes[16..18].copy_from_slice(&512_u16.to_be_bytes());
        bytes[at] = value;
        fs::write(&cut, bytes).unwrap();
        let error = BagReader::open(&cut).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let Some(path) = made(&scratch, "no_type", 1, 4096) else { return };
    let error = BagReader::open(&path).unwrap_err().to_string();
    assert!(error.contains("no columns `name` and `type`"), "{error}");
    let Some(path) = made(&scratch, "no_rowid", 1, 4096) else { return };
    let found = contents(&BagReader::open(&path).unwrap());
    let (first, count) = damages(&found);
    assert!(first.unwrap().to_string().contains("WITHOUT ROWID"));
    assert_eq!((found.messages.len(), count), (0, 1));
}

#[test]
fn odd_rows_are_named_and_the_others_are_read() {
    let scratch = Scratch::new("db3-odd");
    let Some(path) = made(&scratch, "odd_rows", 20, 4096) else { return };
    let found = contents(&BagReader::open(&path).unwrap());
    assert_eq!(check_strings(&found), 20);
    let (first, count) = damages(&found);
    let text = first.unwrap().to_string();
    assert!(text.contains("before 1970") && text.contains(" at byte "), "{text}");
    // What the values say is told once of their page, and so is what leads to no topic; a message
    // is told by itself.
    assert_eq!(count, 3);
}

#[test]
fn a_payload_that_is_longer_than_its_row_is_damage() {
    let scratch = Scratch::new("db3-longer");
    let Some(path) = made(&scratch, "sound", 20, 4096) else { return };
    let mut bytes = fs::read(&path).unwrap();
    // The head of the record of message 6: NULL, 1, a number of three bytes, a blob of 41 bytes.
    let head = [5, 0, 9, 3, 12 + 2 * 41];
    let at = bytes.windows(head.len()).position(|bytes| bytes == head).unwrap();
    bytes[at + 4] += 2;
    fs::write(&path, bytes).unwrap();
    let reader = BagReader::open(&path).unwrap();
    let found = contents(&reader);
    assert_eq!((check_strings(&found), reader.message_count()), (19, 19));
    let text = damages(&found).0.unwrap().to_string();
    assert!(text.contains("no data, or a longer one than its row"), "{text}");
}

#[test]
fn a_type_without_a_definition_does_not_get_that_of_another_type() {
    let scratch = Scratch::new("db3-undefined");
    let Some(path) = made(&scratch, "undefined", 4, 4096) else { return };
    let reader = BagReader::open(&path).unwrap();
    let found: Vec<_> = reader
        .topics()
        .iter()
        .map(|it| (it.type_name.as_str(), it.definition.as_deref(), &it.problems[..]))
        .collect();
    let none = [TopicProblem::NoDefinition];
    let string = ("std_msgs/msg/String", Some("string data\n"), &[][..]);
    assert_eq!(found, [string, ("std_msgs/msg/Bool", None, &none)]);
}

/// Where the fields of a write-ahead log, of its frames, and of a journal lie.
const LOG_VERSION_AT: usize = 4;
const LOG_HEAD_BYTES: usize = 32;
const FRAME_HEAD_BYTES: usize = 24;
const FRAME_SALT_AT: usize = 8;
const JOURNAL_SECTOR_AT: usize = 20;
const JOURNAL_PAGE_BYTES_AT: usize = 24;
const JOURNAL_SECTOR: usize = 512;

/// Makes the checksums of a log right, in the order of bytes that its first word says.
fn seal_log(log: &mut [u8], page_bytes: usize) {
    let read = if log[3] & 1 == 1 { u32::from_be_bytes } else { u32::from_le_bytes };
    let mut sums = [0_u32; 2];
    let mut add = |bytes: &[u8]| {
        for eight in bytes.chunks_exact(8) {
            let word = |at: usize| read(eight[at..at + 4].try_into().unwrap());
            sums[0] = sums[0].wrapping_add(word(0)).wrapping_add(sums[1]);
            sums[1] = sums[1].wrapping_add(word(4)).wrapping_add(sums[0]);
        }
        sums.map(u32::to_be_bytes).concat()
    };
    let (head, frames) = log.split_at_mut(LOG_HEAD_BYTES);
    let sum = add(&head[..LOG_CHECKSUM_AT]);
    head[LOG_CHECKSUM_AT..].copy_from_slice(&sum);
    for frame in frames.chunks_exact_mut(FRAME_HEAD_BYTES + page_bytes) {
        add(&frame[..8]);
        let sum = add(&frame[FRAME_HEAD_BYTES..]);
        frame[16..FRAME_HEAD_BYTES].copy_from_slice(&sum);
    }
}

#[test]
fn a_log_counts_as_far_as_it_is_sound_and_of_the_known_form() {
    let scratch = Scratch::new("db3-log");
    let (count, page_bytes) = (600, 512);
    let Some(path) = made(&scratch, "log", count, page_bytes) else { return };
    let beside = PathBuf::from(format!("{}-wal", path.display()));
    let log = fs::read(&beside).unwrap();
    let read = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut log = log.clone();
        change(&mut log);
        fs::write(&beside, log).unwrap();
        contents(&BagReader::open(&path).unwrap()).messages.len() as u64
    };
    assert_eq!(read(&|_| {}), count);
    let alone = read(&|log| log.clear());
    assert!(alone < count);
    let sealed = |log: &mut Vec<u8>| seal_log(log, page_bytes as usize);
    assert_eq!(read(&sealed), count);
    // Of a computer with the other order of bytes.
    let turned = |log: &mut Vec<u8>| {
        log[3] ^= 1;
        sealed(log);
    };
    assert_eq!(read(&turned), count);
    for (at, what) in [(0, "another kind"), (LOG_VERSION_AT, "another version")] {
        let changed = |log: &mut Vec<u8>| {
            log[at] ^= 1;
            sealed(log);
        };
        assert_eq!(read(&changed), alone, "{what}");
    }
    let first = LOG_HEAD_BYTES;
    for at in [first + FRAME_SALT_AT, first + 16, first + FRAME_HEAD_BYTES + 100] {
        assert_eq!(read(&|log| log[at] ^= 1), alone, "byte {at}");
    }
    // What cannot be read may hold messages.
    fs::remove_file(&beside).unwrap();
    fs::create_dir(&beside).unwrap();
    let error = BagReader::open(&path).unwrap_err().to_string();
    assert!(error.contains("-wal cannot be read: it is not a regular file"), "{error}");
}

/// The same journal with all of its pages in one part, behind a sector of this size.
fn in_one_part(journal: &[u8], sector: u32) -> Vec<u8> {
    let word = |at: usize| u32::from_be_bytes(journal[at..at + 4].try_into().unwrap());
    let nonce = word(12);
    let (mut records, mut count, mut at) = (Vec::new(), 0_u32, 0);
    while journal.get(at..at + 8) == Some(&journal[..8]) {
        let part_nonce = word(at + 12);
        let bytes = word(at + JOURNAL_PAGE_BYTES_AT) as usize + 8;
        let pages = word(at + 8) as usize;
        for record in journal[at + JOURNAL_SECTOR..].chunks_exact(bytes).take(pages) {
            let (page, sum) = record.split_at(bytes - 4);
            let sum = u32::from_be_bytes(sum.try_into().unwrap());
            let sum = sum.wrapping_sub(part_nonce).wrapping_add(nonce);
            records.extend_from_slice(page);
            records.extend_from_slice(&sum.to_be_bytes());
            count += 1;
        }
        at += (JOURNAL_SECTOR + pages * bytes).next_multiple_of(JOURNAL_SECTOR);
    }
    let mut one = journal[..JOURNAL_PAGE_BYTES_AT + 4].to_vec();
    one[8..12].copy_from_slice(&count.to_be_bytes());
    one[JOURNAL_SECTOR_AT..][..4].copy_from_slice(&sector.to_be_bytes());
    one.resize(sector as usize, 0);
    one.extend_from_slice(&records);
    one
}

#[test]
fn a_journal_counts_as_far_as_it_is_sound_and_of_the_known_form() {
    let scratch = Scratch::new("db3-journal");
    let page_bytes = 512;
    let Some(path) = made(&scratch, "journal", 600, page_bytes) else { return };
    let beside = PathBuf::from(format!("{}-journal", path.display()));
    let journal = fs::read(&beside).unwrap();
    let read = |journal: &[u8]| {
        fs::write(&beside, journal).unwrap();
        BagReader::open(&path).map(|reader| contents(&reader).messages).unwrap_or_default()
    };
    let (all, alone) = (read(&journal), read(&[]));
    assert!(all != alone);
    let first_page = JOURNAL_SECTOR + 4;
    let checked = first_page + page_bytes as usize - 200;
    let page_bytes_at = JOURNAL_PAGE_BYTES_AT + 2;
    for at in [0, page_bytes_at, checked, first_page + page_bytes as usize] {
        let mut changed = journal.clone();
        changed[at] ^= 1;
        assert!(read(&changed) == alone, "byte {at}");
    }
    // Pages begin behind a sector, whose size the journal says within bounds.
    for (sector, wanted) in [(32, &all), (65_536, &all), (131_072, &alone)] {
        assert!(read(&in_one_part(&journal, sector)) == *wanted, "sectors of {sector} bytes");
    }
}

#[test]
fn a_range_of_before_its_field_variance_is_an_error_of_its_topic_alone() {
    let scratch = Scratch::new("db3-range");
    let Some(path) = made(&scratch, "range", 10, 4096) else { return };
    let reader = BagReader::open(&path).unwrap();
    let schemas: Vec<_> = reader.topics().iter().map(|topic| topic.schema().unwrap()).collect();
    let mut messages = reader.messages();
    let (mut wrong, mut right) = (0, 0);
    while let Some(message) = messages.next_message() {
        let message = message.unwrap();
        match schemas[message.topic].flat_bytes_of_cdr(message.data) {
            Ok(_) => right += 1,
            Err(error) => {
                assert_eq!(reader.topics()[message.topic].name, "/a");
                assert!(error.to_string().contains("another definition of the type"), "{error}");
                wrong += 1;
            }
        }
    }
    assert_eq!((wrong, right), (5, 5));
}

#[test]
fn damaged_pages_cost_only_their_own_messages() {
    let scratch = Scratch::new("db3-damage");
    let count = 3000;
    let Some(path) = made(&scratch, "sound", count, 1024) else { return };
    let bytes = fs::read(&path).unwrap();
    let whole = contents(&BagReader::open(&path).unwrap());
    let pages = bytes.len() / 1024;
    let seed = crossdock_test_support::seed();
    let mut random = Random(seed | 1);
    let mut read = Vec::new();
    for _ in 0..60 {
        let mut damaged = bytes.clone();
        // The first three pages say which tables there are.
        let page = 3 + random.below(pages - 3);
        for _ in 0..1 + random.below(40) {
            damaged[page * 1024 + random.below(1024)] = random.next() as u8;
        }
        fs::write(&path, &damaged).unwrap();
        let Ok(reader) = BagReader::open(&path) else { continue };
        let found = contents(&reader);
        let same = found.messages.iter().filter(|message| whole.messages.contains(message)).count();
        assert!(found.messages.len() <= count as usize + 200, "seed {seed}");
        read.push(same);
    }
    // Damage at an inner page of the table costs more; most pages have some messages each.
    read.sort_unstable();
    assert!(read[read.len() / 2] > count as usize - 20, "seed {seed}: {read:?}");
    // A file that was cut gives what is in front of the cut, as far as the tree leads there.
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let found = contents(&BagReader::open(&path).unwrap());
    let (first, _) = damages(&found);
    assert_eq!(first.unwrap().kind, DamageKind::Truncated);
    assert!(found.messages.len() > count as usize / 3, "{}", found.messages.len());
}

#[test]
fn rows_that_share_pages_do_not_multiply() {
    let scratch = Scratch::new("db3-shared");
    let Some(path) = made(&scratch, "large", 20, 4096) else { return };
    let mut bytes = fs::read(&path).unwrap();
    // Every page with rows gets twenty times the same row, which overflows into the same pages.
    for page in bytes[4096..].chunks_exact_mut(4096).filter(|page| page[0] == 13) {
        let row = [page[8], page[9]];
        page[3..5].copy_from_slice(&200_u16.to_be_bytes());
        page[8..408].chunks_exact_mut(2).for_each(|place| place.copy_from_slice(&row));
    }
    fs::write(&path, &bytes).unwrap();
    let found = contents(&BagReader::open(&path).unwrap());
    let delivered: usize = found.messages.iter().map(|(.., data)| data.len()).sum();
    assert!(delivered <= bytes.len(), "{delivered} bytes out of {}", bytes.len());
    assert!(found.error.is_some());
}
