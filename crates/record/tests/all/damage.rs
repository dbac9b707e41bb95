//! Truncated, damaged and hostile files: everything readable is delivered, nothing panics or hangs.

use crate::common;
use common::{Random, Scratch, check_strings, contents, options, write_strings};
use crossdock_record::{
    BagReader, BagTopic, Compression, DamageKind, OpenBagError, ReadError, ReaderOptions,
};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];

/// Opens and reads whatever `bytes` are; gives topics and messages.
fn survive(path: &Path, bytes: &[u8]) -> Option<(Vec<BagTopic>, common::Contents)> {
    fs::write(path, bytes).unwrap();
    let reader = BagReader::open_with(path, small()).ok()?;
    Some((reader.topics().to_vec(), contents(&reader)))
}

/// What a reader with little memory takes.
fn small() -> ReaderOptions {
    ReaderOptions {
        record_bytes_max: 16 << 20,
        order_bytes_max: 16 << 20,
        ..ReaderOptions::default()
    }
}

#[test]
fn a_truncated_bag_gives_all_messages_before_the_cut_and_says_where_it_ends() {
    for (place, compression) in COMPRESSIONS.into_iter().enumerate() {
        let scratch = Scratch::new(&format!("cut-{place}"));
        let path = scratch.path("whole.mcap");
        write_strings(&path, options(compression, 8_000), 1000);
        let bytes = fs::read(&path).unwrap();
        let cut_path = scratch.path("cut.mcap");
        let step = if crossdock_test_support::long() { 97 } else { 1000 };
        let mut last = 0;
        for length in (8..bytes.len()).step_by(step) {
            let (_, found) = survive(&cut_path, &bytes[..length]).unwrap();
            let count = check_strings(&found);
            assert!(count >= last, "a longer file gives fewer messages");
            last = count;
            // Only the index may be missing without a word.
            let Some(error) = found.error else {
                assert_eq!(count, 1000, "{length} bytes");
                continue;
            };
            let ReadError::Damaged { first, delivered, .. } = &error else { panic!("{error}") };
            assert!(first.offset <= length as u64);
            assert_eq!(*delivered, count as u64);
            let sentence = error.to_string();
            assert!(sentence.contains(&format!("at byte {}", first.offset)), "{sentence}");
            assert!(sentence.contains("bag convert"), "{sentence}");
        }
        assert_eq!(last, 1000);
        for length in 0..8 {
            fs::write(&cut_path, &bytes[..length]).unwrap();
            let error = BagReader::open(&cut_path).unwrap_err();
            assert!(matches!(error, OpenBagError::Empty { .. } | OpenBagError::Foreign { .. }));
        }
    }
}

#[test]
fn the_beginning_of_a_cut_chunk_is_read() {
    for (place, compression) in COMPRESSIONS.into_iter().enumerate() {
        let scratch = Scratch::new(&format!("begin-{place}"));
        let path = scratch.path("one-chunk.mcap");
        // One chunk, larger than the blocks of both compressions.
        write_strings(&path, options(compression, 1 << 30), 20_000);
        let bytes = fs::read(&path).unwrap();
        let (topics, found) = survive(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert_eq!(topics.len(), 2);
        let count = check_strings(&found);
        assert!(count > 1000, "{compression:?}: {count}");
        assert!(found.error.is_some());
    }
}

#[test]
fn a_damaged_chunk_is_left_out_and_the_rest_is_read() {
    let scratch = Scratch::new("chunk");
    let path = scratch.path("c.mcap");
    write_strings(&path, options(Compression::None, 8_000), 1000);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.windows(11).position(|window| window == b"message 500").unwrap();
    bytes[middle] ^= 1;
    let (_, found) = survive(&path, &bytes).unwrap();
    let count = check_strings(&found);
    assert!((900..1000).contains(&count), "{count}");
    let error = found.error.unwrap().to_string();
    assert!(error.contains("checksum") && error.contains("1 damaged place in all"), "{error}");
}

#[test]
fn an_index_that_leaves_a_few_bytes_between_two_chunks_is_damage() {
    const CHUNK: u8 = 0x06;
    const CHUNK_INDEX: u8 = 0x08;
    const FOOTER: u8 = 0x02;
    let scratch = Scratch::new("gap");
    let path = scratch.path("g.mcap");
    write_strings(&path, options(Compression::None, 2_000), 100);
    let mut bytes = fs::read(&path).unwrap();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let mut indexes = Vec::new();
    let mut at = 8;
    while at + 9 < bytes.len() {
        let body = at + 9;
        match bytes[at] {
            CHUNK_INDEX => indexes.push(body),
            // The checksum of the summary: 0 stands for none.
            FOOTER => bytes[body + 16..body + 20].fill(0),
            _ => {}
        }
        at = body + word(&bytes, at + 1) as usize;
    }
    // Offsets of message indexes by channel lie behind times, place and length; their total is
    // next.
    let offsets = u32::from_le_bytes(bytes[indexes[0] + 32..indexes[0] + 36].try_into().unwrap());
    let total = indexes[0] + 36 + offsets as usize;
    let shorter = word(&bytes, total) - 8;
    bytes[total..total + 8].copy_from_slice(&shorter.to_le_bytes());
    // What lies in the gap looks like the beginning of a chunk.
    let second = word(&bytes, indexes[1] + 16) as usize;
    bytes[second - 8] = CHUNK;
    let (_, found) = survive(&path, &bytes).unwrap();
    assert_eq!(check_strings(&found), 100);
    let error = found.error.unwrap().to_string();
    assert!(error.contains("reaches into the next record"), "{error}");
}

#[test]
fn random_damage_never_panics_hangs_or_gives_false_messages() {
    let seed = 0x5eed_0001;
    println!("seed {seed:#x}");
    let mut random = Random(seed);
    let rounds = if crossdock_test_support::long() { 30_000 } else { 600 };
    for (place, compression) in COMPRESSIONS.into_iter().enumerate() {
        let scratch = Scratch::new(&format!("random-{place}"));
        let path = scratch.path("r.mcap");
        write_strings(&path, options(compression, 4_000), 200);
        let whole = fs::read(&path).unwrap();
        for _ in 0..rounds {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[at] = random.next() as u8,
                    1 => bytes[at] ^= 1 << random.below(8),
                    2 => {
                        let end = (at + random.below(300)).min(bytes.len());
                        bytes.drain(at..end);
                    }
                    _ => {
                        let end = (at + 8).min(bytes.len());
                        bytes[at..end].fill(0xff);
                    }
                }
                if bytes.is_empty() {
                    break;
                }
            }
            let Some((_, found)) = survive(&path, &bytes) else { continue };
            // Checksums protect the payloads; topics and times outside of them may change.
            for (_, _, data) in &found.messages {
                assert!(data.len() < 300);
            }
        }
    }
}

#[test]
fn damaged_recordings_of_other_tools_are_survived() {
    let Some(data) = crossdock_test_support::data() else { return };
    let scratch = Scratch::new("native");
    let path = scratch.path("n.mcap");
    let seed = 0x5eed_0002;
    println!("seed {seed:#x}");
    let mut random = Random(seed);
    for name in ["talker_mcap/talker", "convert_a_mcap/rewriter_a_0", "cdr_test_mcap/cdr_test_0"] {
        let whole = fs::read(data.join(format!("bags/ros2_native/{name}.mcap"))).unwrap();
        for length in (0..whole.len()).step_by(if crossdock_test_support::long() { 1 } else { 101 })
        {
            survive(&path, &whole[..length]);
        }
        for _ in 0..if crossdock_test_support::long() { 20_000 } else { 300 } {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }
            survive(&path, &bytes);
        }
    }
}

/// A record with its opcode and length.
fn record(opcode: u8, claimed: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![opcode];
    bytes.extend_from_slice(&claimed.to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// A chunk that claims `plain` bytes.
fn chunk(plain: u64, compression: &str, data: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 16];
    body.extend_from_slice(&plain.to_le_bytes());
    body.extend_from_slice(&0u32.to_le_bytes());
    body.extend_from_slice(&(compression.len() as u32).to_le_bytes());
    body.extend_from_slice(compression.as_bytes());
    body.extend_from_slice(&(data.len() as u64).to_le_bytes());
    body.extend_from_slice(data);
    record(6, body.len() as u64, &body)
}

/// Peak memory of this process in bytes.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Text with its length.
fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

/// A file with a schema of a mebibyte for each of these identifiers, and a message of the first
/// one.
fn defined(ids: impl Iterator<Item = u16>) -> Vec<u8> {
    let definition = text(&format!("string data\n#{}", " ".repeat(1 << 20)));
    let mut file = mcap::MAGIC.to_vec();
    for id in ids {
        let name = [text("std_msgs/msg/String"), text("ros2msg")].concat();
        let body = [&id.to_le_bytes()[..], &name, &definition].concat();
        file.extend(record(3, body.len() as u64, &body));
    }
    let channel = [text("/a"), text("cdr"), vec![0; 4]].concat();
    let channel = [&[1, 0, 1, 0], &channel[..]].concat();
    file.extend(record(4, channel.len() as u64, &channel));
    let message = [&[1, 0][..], &[0; 20], &common::string_cdr("x")[..]].concat();
    file.extend(record(5, message.len() as u64, &message));
    file
}

#[test]
fn a_file_may_repeat_its_definitions_but_not_have_more_than_fit_in_memory() {
    let scratch = Scratch::new("definitions");
    let path = scratch.path("d.mcap");
    for (ids, allowed) in
        [(vec![1; 70], true), ((1..=60).collect(), true), ((1..=70).collect(), false)]
    {
        let (_, found) = survive(&path, &defined(ids.into_iter())).unwrap();
        assert_eq!(found.messages.len(), usize::from(allowed));
        // The file has no end, which is damage, too.
        let Some(ReadError::Damaged { first, .. }) = found.error else { panic!("no damage") };
        let is_too_large =
            matches!(first.kind, DamageKind::TooLarge { limit_bytes: 67_108_864, .. });
        assert_eq!(is_too_large, !allowed, "{first:?}");
    }
}

/// What a file holds: bytes, and how long the hole behind them is.
type Pieces = Vec<(Vec<u8>, u64)>;

/// A file that says that all of it is its summary.
fn summary_of_all() -> Pieces {
    let hole = 600 << 20;
    let begin = [mcap::MAGIC, &record(0x80, hole, &[])].concat();
    let summary_start = (mcap::MAGIC.len() as u64).to_le_bytes();
    let footer = record(2, 20, &[&summary_start[..], &[0; 12]].concat());
    vec![(begin, hole), ([&footer, mcap::MAGIC].concat(), 0)]
}

/// A file of messages outside chunks, each as long as may be, and of no topic.
fn long_messages() -> Pieces {
    let fields = [0; 22];
    let hole = (16 << 20) - 9 - fields.len() as u64;
    let message = record(5, fields.len() as u64 + hole, &fields);
    let mut pieces = vec![(mcap::MAGIC.to_vec(), 0)];
    pieces.extend((0..40).map(|_| (message.clone(), hole)));
    pieces.push((mcap::MAGIC.to_vec(), 0));
    pieces
}

/// A file of a chunk that says that it has few bytes, and has many that are compressed.
fn much_packed() -> Pieces {
    let hole: u64 = 600 << 20;
    let mut bytes = chunk(1000, "zstd", &[]);
    let length_at = bytes.len() - 8;
    bytes[length_at..].copy_from_slice(&hole.to_le_bytes());
    let record_bytes = bytes.len() as u64 - 9 + hole;
    bytes[1..9].copy_from_slice(&record_bytes.to_le_bytes());
    vec![([mcap::MAGIC, &bytes].concat(), hole), (mcap::MAGIC.to_vec(), 0)]
}

#[test]
fn hostile_sizes_do_not_take_memory() {
    let scratch = Scratch::new("hostile");
    let path = scratch.path("h.mcap");
    let magic = mcap::MAGIC;
    // A gigabyte of zeros in a few kilobytes.
    let bomb = zstd::bulk::compress(&vec![0; 1 << 30], 1).unwrap();
    let before = peak_bytes();
    let files = [
        record(6, u64::MAX, &[0xff; 100]),
        record(6, 1 << 40, &[]),
        record(3, u64::MAX, &[0xff; 100]),
        record(4, 12, &[0xff; 12]),
        record(5, 1 << 62, &[0; 22]),
        chunk(u64::MAX, "zstd", &bomb),
        chunk(1 << 30, "zstd", &bomb),
        chunk(1000, "zstd", &bomb),
        chunk(1 << 20, "lz4", &[0x04, 0x22, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff]),
        chunk(10, "brotli", &[]),
        chunk(9, "", &[5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        vec![0; 4096],
    ];
    for bytes in files {
        let mut file = magic.to_vec();
        file.extend_from_slice(&bytes);
        let (_, found) = survive(&path, &file).unwrap();
        assert!(found.messages.is_empty());
        assert!(found.error.is_some());
        // A cut chunk is decompressed as far as the limit goes, and no further.
        file.truncate(file.len() - 1);
        survive(&path, &file);
    }
    for pieces in [summary_of_all(), long_messages(), much_packed()] {
        let file = fs::File::create(&path).unwrap();
        let mut end = 0;
        for (bytes, hole) in pieces {
            file.write_all_at(&bytes, end).unwrap();
            end += bytes.len() as u64 + hole;
        }
        let reader = BagReader::open_with(&path, small()).unwrap();
        let mut messages = reader.messages();
        while let Some(message) = messages.next_message() {
            assert!(message.is_err());
        }
    }
    // The limit is 16 MiB; other tests run beside this one.
    let grown = peak_bytes().saturating_sub(before);
    assert!(grown < 500 << 20, "{grown} bytes");
}

/// A record that says how long it is.
fn sized(opcode: u8, body: &[u8]) -> Vec<u8> {
    record(opcode, body.len() as u64, body)
}

fn schema(id: u16, name: &str, definition: &str) -> Vec<u8> {
    let texts = [text(name), text("ros2msg"), text(definition)].concat();
    sized(3, &[&id.to_le_bytes(), &texts[..]].concat())
}

fn channel(id: u16, schema: u16, topic: &str) -> Vec<u8> {
    let numbers = [id.to_le_bytes(), schema.to_le_bytes()].concat();
    sized(4, &[&numbers, &text(topic)[..], &text("cdr"), &[0; 4]].concat())
}

/// A message that says its time.
fn message(channel: u16, time_ns: u64) -> Vec<u8> {
    let times = [time_ns.to_le_bytes(); 2].concat();
    let cdr = common::string_cdr(&time_ns.to_string());
    sized(5, &[&channel.to_le_bytes(), &[0; 4][..], &times, &cdr].concat())
}

/// A schema, a channel of it, and messages of these times.
fn few(times: impl Iterator<Item = u64>) -> Vec<Vec<u8>> {
    let first = [schema(1, "std_msgs/msg/String", "string data\n"), channel(1, 1, "/a")];
    first.into_iter().chain(times.map(|time| message(1, time))).collect()
}

/// The times of the messages that are read, and the damage that is told with its count.
fn outcome(path: &Path, bytes: &[u8]) -> (Vec<u64>, Option<(DamageKind, u64, u64)>) {
    let (_, found) = survive(path, bytes).unwrap();
    let times = found.messages.into_iter().map(|(_, time, cdr)| {
        assert_eq!(cdr, common::string_cdr(&time.to_string()));
        time
    });
    let damage = found.error.map(|error| match error {
        ReadError::Damaged { first, count, .. } => (first.kind, first.offset, count),
        other => panic!("{other}"),
    });
    (times.collect(), damage)
}

#[test]
fn wherever_a_file_is_cut_all_that_is_whole_is_read_and_the_cut_alone_is_damage() {
    let scratch = Scratch::new("cut-anywhere");
    let path = scratch.path("c.mcap");
    // Outside chunks, and in one. The messages are the last that both files have.
    let loose = few(1..4);
    let plain = loose.concat();
    let chunked = [chunk(plain.len() as u64, "", &plain)];
    let message_bytes = message(1, 1).len();
    for (name, records) in [("loose", &loose[..]), ("chunk", &chunked[..])] {
        let whole = [mcap::MAGIC, &records.concat()].concat();
        for length in mcap::MAGIC.len()..=whole.len() {
            let mut at = mcap::MAGIC.len();
            let fits = |record: &&Vec<u8>| {
                let end = at + record.len();
                (end <= length).then(|| at = end).is_some()
            };
            let _fit = records.iter().take_while(fits).count();
            let kind = match at == length {
                true => DamageKind::Unfinished,
                false => DamageKind::Truncated,
            };
            let lost = (whole.len() - length).div_ceil(message_bytes).min(3);
            let read = (1..4).take(3 - lost).collect();
            let wanted = (read, Some((kind, at as u64, 1)));
            assert_eq!(outcome(&path, &whole[..length]), wanted, "{name}, {length} bytes");
        }
    }
}

#[test]
fn an_odd_record_costs_itself_alone_and_is_named() {
    let scratch = Scratch::new("odd-records");
    let path = scratch.path("o.mcap");
    let malformed = |what| Some(DamageKind::Malformed(what));
    let in_chunk = |times: std::ops::Range<u64>| {
        let plain = times.map(|time| message(1, time)).collect::<Vec<_>>().concat();
        chunk(plain.len() as u64, "", &plain)
    };
    // The number of a chunk's data bytes stands in front of them.
    let claiming = |bytes: u64| {
        let mut record = in_chunk(10..12);
        let at = 9 + 8 + 8 + 8 + 4 + 4;
        record[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
        record
    };
    let two = 2 * message(1, 10).len() as u64;
    let large = (17_u64 << 20, 16 << 20);
    let padded = {
        let mut record = [&in_chunk(10..12)[..], &[0; 20]].concat();
        let bytes = record.len() as u64 - 9;
        record[1..9].copy_from_slice(&bytes.to_le_bytes());
        record
    };
    let behind_chunk = [in_chunk(10..12), message(1, 12)].concat();
    let all = |times: &[u64]| times.to_vec();
    let cases = [
        (sized(6, &[0; 12]), all(&[]), malformed("the fields of a chunk are cut")),
        (claiming(two + 1), all(&[]), malformed("the data of a chunk is longer than the chunk")),
        (padded, all(&[10, 11]), None),
        (
            chunk(large.0, "zstd", &[]),
            all(&[]),
            Some(DamageKind::TooLarge { bytes: large.0, limit_bytes: large.1 }),
        ),
        (sized(5, &[1; 10]), all(&[]), malformed("the fields of a message are cut")),
        (behind_chunk, all(&[10, 11, 12]), None),
        // Of a kind that nobody knows, and empty.
        (sized(0x80, &[]), all(&[]), None),
    ];
    let data_end = sized(15, &[0; 4]);
    for (record, times, damage) in cases {
        let before = few(1..3);
        let at = mcap::MAGIC.len() + before.concat().len();
        let after = [message(1, 20), in_chunk(21..23), message(1, 23)].concat();
        let bytes = [mcap::MAGIC, &before.concat(), &record, &after, &data_end].concat();
        let (found, told) = outcome(&path, &bytes);
        let wanted = [&[1, 2], &times[..], &[20, 21, 22, 23]].concat();
        assert_eq!(found, wanted, "{damage:?}");
        let told = told.map(|(kind, offset, count)| (kind, offset == at as u64, count));
        assert_eq!(told, damage.map(|kind| (kind, true, 1)));
        let counted = BagReader::open_with(&path, small()).unwrap().message_count();
        assert_eq!(counted, wanted.len() as u64);
    }
    // Messages of no channel are told of the whole range in which they are read.
    let unknown = [few(1..3).concat(), message(9, 10), message(1, 20), data_end].concat();
    let (found, told) = outcome(&path, &[mcap::MAGIC, &unknown].concat());
    let (kind, _, count) = told.unwrap();
    assert_eq!((found, kind, count), (vec![1, 2, 20], DamageKind::UnknownChannel(9), 1));
    // The last record may be an empty one.
    let bytes = [mcap::MAGIC, &few(1..3).concat(), &sized(0x80, &[])].concat();
    let end = bytes.len() as u64;
    assert_eq!(outcome(&path, &bytes), (vec![1, 2], Some((DamageKind::Unfinished, end, 1))));
}

#[test]
fn schemas_and_channels_have_numbers_of_their_own() {
    let scratch = Scratch::new("numbers");
    let path = scratch.path("n.mcap");
    // The second schema has the number of the first channel.
    let records = [
        schema(1, "std_msgs/msg/String", "string data\n"),
        channel(2, 1, "/a"),
        schema(2, "std_msgs/msg/Bool", "bool data\n"),
        channel(1, 2, "/b"),
        message(2, 1),
        message(1, 2),
        sized(15, &[0; 4]),
    ];
    let bytes = [mcap::MAGIC, &records.concat()].concat();
    let (topics, found) = survive(&path, &bytes).unwrap();
    assert!(found.error.is_none() && found.messages.len() == 2);
    let mut types: Vec<_> = topics.iter().map(|it| (&it.name[..], &it.type_name[..])).collect();
    types.sort_unstable();
    assert_eq!(types, [("/a", "std_msgs/msg/String"), ("/b", "std_msgs/msg/Bool")]);
}
