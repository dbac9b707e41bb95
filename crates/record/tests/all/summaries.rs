//! The index at the end of an MCAP file: which one is believed, and what it says of files that are
//! written here.

use crate::common;
use common::{
    Scratch, check_strings, contents, options, string_cdr, string_topic, text, write_strings,
};
use crossdock_record::{BagReader, BagWriter, Compression};
use std::collections::BTreeMap;
use std::fs;
use std::io::IoSlice;

const SCHEMA: u8 = 3;
const CHANNEL: u8 = 4;
const CHUNK_INDEX: u8 = 8;
const STATISTICS: u8 = 11;
const SUMMARY_OFFSET: u8 = 14;
const FOOTER: u8 = 2;
/// Bytes of the footer's record and of the magic behind it.
const FOOTER_BYTES: usize = 9 + 20 + 8;

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Opcode and place of the body of each record from `at` to `end`.
fn records(bytes: &[u8], mut at: usize, end: usize) -> Vec<(u8, usize)> {
    let mut found = Vec::new();
    while at < end {
        found.push((bytes[at], at + 9));
        at += 9 + word(bytes, at + 1) as usize;
    }
    assert_eq!(at, end, "a record reaches beyond the end");
    found
}

/// A file whose index can be changed.
struct Indexed {
    bytes: Vec<u8>,
    footer: usize,
    statistics: usize,
    chunks: Vec<usize>,
}

impl Indexed {
    fn new(bytes: Vec<u8>) -> Self {
        let footer = bytes.len() - FOOTER_BYTES;
        let summary = records(&bytes, word(&bytes, footer + 9) as usize, footer);
        let of = |opcode| summary.iter().filter(move |it| it.0 == opcode).map(|it| it.1);
        let (statistics, chunks) = (of(STATISTICS).next().unwrap(), of(CHUNK_INDEX).collect());
        Self { bytes, footer, statistics, chunks }
    }

    /// Adds to a field of 64 bits.
    fn add(&mut self, at: usize, more: u64) {
        let sum = word(&self.bytes, at) + more;
        self.bytes[at..at + 8].copy_from_slice(&sum.to_le_bytes());
    }

    /// Bytes of the message indexes behind a chunk, in the record at `chunk` of the index.
    fn indexes_at(&self, chunk: usize) -> usize {
        let offsets = &self.bytes[chunk + 32..chunk + 36];
        chunk + 36 + u32::from_le_bytes(offsets.try_into().unwrap()) as usize
    }

    /// Makes the checksum right.
    fn seal(&mut self) {
        let start = word(&self.bytes, self.footer + 9) as usize;
        let checksum = crc32fast::hash(&self.bytes[start..self.footer + 25]);
        self.bytes[self.footer + 25..self.footer + 29].copy_from_slice(&checksum.to_le_bytes());
    }
}

#[test]
fn an_index_that_contradicts_itself_or_its_file_is_not_believed() {
    let scratch = Scratch::new("believed");
    let path = scratch.path("b.mcap");
    write_strings(&path, options(Compression::None, 2000), 100);
    let mut sound = Indexed::new(fs::read(&path).unwrap());
    // By this number one sees who is believed.
    let count_at = sound.statistics;
    sound.bytes[count_at..count_at + 8].copy_from_slice(&7_u64.to_le_bytes());
    sound.seal();
    type Change = fn(&mut Indexed);
    let no_checksum: Change = |it| it.bytes[it.footer + 25..it.footer + 29].fill(0);
    let changes: [(&str, bool, Change); 11] = [
        ("nothing", true, |_| {}),
        ("no checksum", true, no_checksum),
        ("another checksum", false, |it| it.bytes[it.footer + 25] ^= 1),
        ("another end", false, |it| *it.bytes.last_mut().unwrap() ^= 1),
        ("no footer", false, |it| {
            it.bytes[it.footer] = 0x80;
            it.seal();
        }),
        ("one more schema", false, |it| {
            it.bytes[it.statistics + 8] += 1;
            it.seal();
        }),
        ("one more channel", false, |it| {
            it.bytes[it.statistics + 10] += 1;
            it.seal();
        }),
        ("one more chunk", false, |it| {
            it.bytes[it.statistics + 22] += 1;
            it.seal();
        }),
        ("a chunk inside another one", false, |it| {
            let (first, second) = (word(&it.bytes, it.chunks[0] + 16), it.chunks[1] + 16);
            it.bytes[second..second + 8].copy_from_slice(&(first + 1).to_le_bytes());
            it.seal();
        }),
        ("a chunk beyond the end", false, |it| {
            it.add(*it.chunks.last().unwrap() + 24, 10_000);
            it.seal();
        }),
        ("message indexes beyond the end", false, |it| {
            it.add(it.indexes_at(*it.chunks.last().unwrap()), 10_000);
            it.seal();
        }),
    ];
    for (what, believed, change) in changes {
        let bytes = sound.bytes.clone();
        let mut changed = Indexed::new(bytes);
        change(&mut changed);
        fs::write(&path, &changed.bytes).unwrap();
        let reader = BagReader::open(&path).unwrap();
        assert_eq!(reader.message_count(), if believed { 7 } else { 100 }, "{what}");
        assert_eq!(reader.damage(), None, "{what}");
        // Whoever is believed: all messages are read.
        assert_eq!(check_strings(&contents(&reader)), 100, "{what}");
    }
}

#[test]
fn the_index_of_a_written_file_leads_to_each_message_and_to_each_of_its_own_parts() {
    let scratch = Scratch::new("conform");
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let path = scratch.path(&format!("{compression:?}.mcap"));
        let mut writer = BagWriter::create(&path, options(compression, 1000)).unwrap();
        let names = ["/silent", "/a", "/b"];
        let topics = names.map(|name| writer.add_topic(string_topic(name)).unwrap());
        for number in 0..40 {
            let cdr = string_cdr(&text(number));
            let topic = topics[1 + (number % 2) as usize];
            writer.write(topic, number, number + 1, &[IoSlice::new(&cdr)]).unwrap();
        }
        writer.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        // As another library reads it: through the index of each chunk to its messages.
        let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
        let stats = summary.stats.as_ref().unwrap();
        assert_eq!(stats.channel_message_counts, BTreeMap::from([(1, 20), (2, 20)]));
        let mut found = Vec::new();
        for chunk in &summary.chunk_indexes {
            for entries in summary.read_message_indexes(&bytes, chunk).unwrap().values() {
                for entry in entries {
                    let message = summary.seek_message(&bytes, chunk, entry).unwrap();
                    assert_eq!(message.log_time, entry.log_time);
                    found.push((message.log_time, message.data.into_owned()));
                }
            }
        }
        found.sort();
        let wanted = (0..40).map(|number| (number, string_cdr(&text(number))));
        assert_eq!(found, wanted.collect::<Vec<_>>(), "{compression:?}");
        assert!(summary.chunk_indexes.len() > 3);
        assert_eq!(groups(&bytes), [SCHEMA, CHANNEL, STATISTICS, CHUNK_INDEX]);
    }
    let empty = scratch.path("empty.mcap");
    BagWriter::create(&empty, options(Compression::None, 1000)).unwrap().finish().unwrap();
    assert_eq!(groups(&fs::read(&empty).unwrap()), [STATISTICS]);
}

/// The kinds of records in the groups that the summary is made of. Checks that each group is where
/// the summary says, and that they are all.
fn groups(bytes: &[u8]) -> Vec<u8> {
    let footer = bytes.len() - FOOTER_BYTES;
    assert_eq!(bytes[footer], FOOTER);
    let (mut at, offsets) = (word(bytes, footer + 9) as usize, word(bytes, footer + 17) as usize);
    let mut kinds = Vec::new();
    for (opcode, body) in records(bytes, offsets, footer) {
        assert_eq!(opcode, SUMMARY_OFFSET);
        let (kind, length) = (bytes[body], word(bytes, body + 9) as usize);
        assert_eq!(word(bytes, body + 1) as usize, at);
        let of_group = records(bytes, at, at + length);
        assert!(!of_group.is_empty() && of_group.iter().all(|record| record.0 == kind));
        at += length;
        kinds.push(kind);
    }
    assert_eq!(at, offsets);
    kinds
}
