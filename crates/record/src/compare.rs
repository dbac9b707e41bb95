//! Where two bags differ first: for the recordings of two runs that should be the same.
//!
//! Messages are compared topic by topic, in their order on the topic. The order of topics in a file
//! does not matter. Both bags are read once, side by side. If one is ahead of the other, only
//! digests of its messages are kept. Then the first different messages are read again to find the
//! field.

use crate::bag::{BagReader, BagTopic};
use crate::messages::Messages;
use crossdock_msg::{Block, FieldDifference, FlatBuffer};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

/// Messages of one topic that one bag may have before the other: 56 bytes each.
const APART_MAX: usize = 1 << 20;
/// Bytes of messages that are read again to see in which field they differ.
const SHOWN_BYTES_MAX: usize = 256 << 20;

/// What is compared.
#[derive(Debug, Clone, Default)]
pub struct CompareOptions {
    /// These topics; `None`: all.
    pub topics: Option<Vec<String>>,
    /// Leave out when messages were recorded and published, as for a run that was not repeated in
    /// simulated time.
    pub ignore_stamps: bool,
}

/// What a comparison found.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Every topic, by name.
    pub topics: Vec<ComparedTopic>,
    /// What of the one bag and of the other could not be read or compared, sentences.
    pub unread: [Vec<String>; 2],
}

/// One topic in both bags.
#[derive(Debug, Clone)]
pub struct ComparedTopic {
    /// The topic.
    pub name: String,
    /// Messages in the one bag and in the other.
    pub messages: [u64; 2],
    /// Messages that both have and that differ.
    pub differing: u64,
    /// The first difference.
    pub first: Option<TopicDifference>,
}

/// The first difference of a topic.
#[derive(Debug, Clone)]
pub struct TopicDifference {
    /// Number of the message in its topic, from 1.
    pub number: u64,
    /// Log time of the message in each bag, ns.
    pub times_ns: [Option<u64>; 2],
    /// How they differ.
    pub what: Differs,
}

/// How two messages or topics differ.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Differs {
    /// The topics have different types.
    Type {
        /// Type and hash in each bag.
        types: [String; 2],
    },
    /// Only the bag of this index (0 or 1) has the message.
    Missing {
        /// Which bag has it.
        only_in: usize,
    },
    /// The same bytes, recorded or published at other times.
    Stamp {
        /// Publish time of the message in each bag, ns.
        published_ns: [u64; 2],
    },
    /// Other bytes.
    Payload(PayloadDifference),
    /// One bag has so many messages of the topic before the other has this one that they were not
    /// compared further.
    Apart {
        /// Which bag is ahead (0 or 1).
        ahead: usize,
    },
}

/// How the bytes of two messages differ.
#[derive(Debug, Clone, Default)]
pub struct PayloadDifference {
    /// The first field that differs; `None` when it is not known.
    pub field: Option<FieldDifference>,
    /// Place of the first differing byte in the CDR, if the messages were read again.
    pub byte: Option<usize>,
    /// Bytes of each message in CDR.
    pub bytes: [usize; 2],
    /// Why the field is not known, a sentence.
    pub unknown: Option<String>,
}

impl Comparison {
    /// Whether nothing differs and everything could be read.
    pub fn is_equal(&self) -> bool {
        self.unread.iter().all(Vec::is_empty)
            && self.topics.iter().all(|topic| topic.first.is_none())
    }

    /// The topic whose first difference comes first in time.
    pub fn first(&self) -> Option<&ComparedTopic> {
        let differing = self.topics.iter().filter(|topic| topic.first.is_some());
        differing.min_by_key(|topic| {
            let times = topic.first.iter().flat_map(|first| first.times_ns);
            times.flatten().min().unwrap_or(0)
        })
    }
}

/// What is kept of a message that the other bag has not come to yet.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// Two digests with keys of this process: nobody can make two messages that share them.
    digest: [u64; 2],
    bytes: usize,
    log_ns: u64,
    publish_ns: u64,
}

/// A topic on its way.
struct Row {
    compared: ComparedTopic,
    /// Its index in each bag.
    indexes: [Option<usize>; 2],
    /// Messages that one bag (`ahead`) has and the other has not come to.
    waiting: VecDeque<Entry>,
    ahead: usize,
    /// The types differ, or the bags are too far apart: messages are only counted.
    counted_only: bool,
}

/// One bag while it is read.
struct Side {
    messages: Messages,
    /// Row of each of its topics.
    rows: Vec<Option<usize>>,
    last_ns: u64,
    ended: bool,
}

/// Compares two bags. Blocks on the file system; memory is bounded by the readers' limits, about
/// 56 MiB for what one bag has before the other, and 512 MiB for what differs.
pub fn compare(left: &BagReader, right: &BagReader, options: &CompareOptions) -> Comparison {
    compare_within([left, right], options, SHOWN_BYTES_MAX)
}

/// The same, with another bound for what differs.
fn compare_within(
    readers: [&BagReader; 2],
    options: &CompareOptions,
    shown_bytes_max: usize,
) -> Comparison {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut unread = [Vec::new(), Vec::new()];
    let is_wanted = |name: &str| {
        options.topics.as_ref().is_none_or(|topics| topics.iter().any(|topic| topic == name))
    };
    for name in options.topics.iter().flatten() {
        rows.insert(name, Row::new(name));
    }
    for (side, reader) in readers.into_iter().enumerate() {
        for (index, topic) in reader.topics().iter().enumerate() {
            if !is_wanted(&topic.name) {
                continue;
            }
            if let (false, Some(problem)) = (topic.is_delivered(), topic.problems.first()) {
                unread[side].push(format!("topic {} is not compared: {problem}", topic.name));
                continue;
            }
            let row = rows.entry(&topic.name).or_insert_with(|| Row::new(&topic.name));
            row.indexes[side] = Some(index);
        }
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.iter_mut().for_each(|row| row.compare_types(readers));
    let mut sides = [0, 1].map(|side| Side::new(readers[side], side, &rows));
    let keys = [RandomState::new(), RandomState::new()];
    while let Some(side) = behind(&sides) {
        match sides[side].next(&keys) {
            Ok(Some((Some(row), entry))) => rows[row].add(side, entry, options.ignore_stamps),
            Ok(Some((None, _))) => {}
            Ok(None) => sides[side].ended = true,
            Err(damage) => {
                unread[side].push(damage);
                sides[side].ended = true;
            }
        }
    }
    rows.iter_mut().for_each(Row::end);
    show_fields(readers, &mut rows, shown_bytes_max);
    Comparison { topics: rows.into_iter().map(|row| row.compared).collect(), unread }
}

/// The bag that is to be read on: the one that is behind in time, while it lasts.
fn behind(sides: &[Side; 2]) -> Option<usize> {
    match (sides[0].ended, sides[1].ended) {
        (true, true) => None,
        (true, false) => Some(1),
        (false, true) => Some(0),
        (false, false) => Some(usize::from(sides[1].last_ns < sides[0].last_ns)),
    }
}

impl Side {
    fn new(reader: &BagReader, side: usize, rows: &[Row]) -> Side {
        let mut places = vec![None; reader.topics().len()];
        for (place, row) in rows.iter().enumerate() {
            if let Some(index) = row.indexes[side] {
                places[index] = Some(place);
            }
        }
        Side { messages: reader.messages(), rows: places, last_ns: 0, ended: false }
    }

    /// The next message and the row of its topic.
    #[allow(clippy::type_complexity, reason = "used in one place")]
    fn next(&mut self, keys: &[RandomState; 2]) -> Result<Option<(Option<usize>, Entry)>, String> {
        let Some(message) = self.messages.next_message() else { return Ok(None) };
        let message = message.map_err(|damage| damage.to_string())?;
        self.last_ns = message.log_time_ns;
        let row = self.rows.get(message.topic).copied().flatten();
        let digest = match row {
            Some(_) => [keys[0].hash_one(message.data), keys[1].hash_one(message.data)],
            None => [0; 2],
        };
        let entry = Entry {
            digest,
            bytes: message.data.len(),
            log_ns: message.log_time_ns,
            publish_ns: message.publish_time_ns,
        };
        Ok(Some((row, entry)))
    }
}

impl Row {
    fn new(name: &str) -> Row {
        let name = name.to_owned();
        Row {
            compared: ComparedTopic { name, messages: [0; 2], differing: 0, first: None },
            indexes: [None; 2],
            waiting: VecDeque::new(),
            ahead: 0,
            counted_only: false,
        }
    }

    fn compare_types(&mut self, readers: [&BagReader; 2]) {
        let [Some(left), Some(right)] = self.indexes else { return };
        let topics = [&readers[0].topics()[left], &readers[1].topics()[right]];
        let same_definition = match [&topics[0].type_hash, &topics[1].type_hash] {
            [Some(left), Some(right)] => left == right,
            _ => match [&topics[0].definition, &topics[1].definition] {
                [Some(left), Some(right)] => left == right,
                _ => true,
            },
        };
        if topics[0].type_name == topics[1].type_name && same_definition {
            return;
        }
        let types = topics.map(|BagTopic { type_name, type_hash, .. }| match type_hash {
            Some(hash) => format!("{type_name} ({hash})"),
            None => type_name.clone(),
        });
        self.counted_only = true;
        self.differ(1, [None; 2], Differs::Type { types });
    }

    fn differ(&mut self, number: u64, times_ns: [Option<u64>; 2], what: Differs) {
        self.compared.first.get_or_insert(TopicDifference { number, times_ns, what });
    }

    /// Takes the next message of one bag.
    fn add(&mut self, side: usize, entry: Entry, ignore_stamps: bool) {
        self.compared.messages[side] += 1;
        if self.counted_only {
            return;
        }
        let number = self.compared.messages[side];
        let other = if self.ahead == side { None } else { self.waiting.pop_front() };
        let Some(other) = other else {
            self.ahead = side;
            self.waiting.push_back(entry);
            if self.waiting.len() > APART_MAX {
                let first = self.waiting.front().map(|entry| entry.log_ns);
                let times = [first.filter(|_| side == 0), first.filter(|_| side == 1)];
                let number = self.compared.messages[1 - side] + 1;
                self.differ(number, times, Differs::Apart { ahead: side });
                self.counted_only = true;
                self.waiting = VecDeque::new();
            }
            return;
        };
        let pair = if side == 0 { [entry, other] } else { [other, entry] };
        let times_ns = pair.map(|entry| Some(entry.log_ns));
        let payload = (pair[0].digest, pair[0].bytes) != (pair[1].digest, pair[1].bytes);
        let stamps = pair.map(|entry| (entry.log_ns, entry.publish_ns));
        if payload {
            let bytes = pair.map(|entry| entry.bytes);
            let what = PayloadDifference { bytes, ..PayloadDifference::default() };
            self.compared.differing += 1;
            self.differ(number, times_ns, Differs::Payload(what));
        } else if stamps[0] != stamps[1] && !ignore_stamps {
            let published_ns = pair.map(|entry| entry.publish_ns);
            self.compared.differing += 1;
            self.differ(number, times_ns, Differs::Stamp { published_ns });
        }
    }

    /// Both bags are at their ends: what still waits has no counterpart.
    fn end(&mut self) {
        let Some(entry) = self.waiting.front() else { return };
        let (side, time_ns) = (self.ahead, Some(entry.log_ns));
        let number = self.compared.messages[1 - side] + 1;
        let times = [time_ns.filter(|_| side == 0), time_ns.filter(|_| side == 1)];
        self.differ(number, times, Differs::Missing { only_in: side });
        self.waiting = VecDeque::new();
    }

    /// Number of the message whose bytes differ first, if bytes differ first.
    fn to_be_shown(&self) -> Option<u64> {
        let first = self.compared.first.as_ref()?;
        matches!(first.what, Differs::Payload(_)).then_some(first.number)
    }
}

/// Reads again what differs first, and says in which field.
fn show_fields(readers: [&BagReader; 2], rows: &mut [Row], bytes_max: usize) {
    if rows.iter().all(|row| row.to_be_shown().is_none()) {
        return;
    }
    let found = [0, 1].map(|side| fetch(readers[side], side, rows, bytes_max));
    for row in rows.iter_mut() {
        let name = row.compared.name.clone();
        let [Some(left), Some(right)] = row.indexes else { continue };
        let Some(TopicDifference { what: Differs::Payload(shown), .. }) = &mut row.compared.first
        else {
            continue;
        };
        let [Some(one), Some(other)] = [found[0].get(&name), found[1].get(&name)] else {
            shown.unknown = Some("the messages are too large to be shown".to_owned());
            continue;
        };
        let common = one.iter().zip(other).position(|(one, other)| one != other);
        shown.byte = Some(common.unwrap_or(one.len().min(other.len())));
        let topics = [&readers[0].topics()[left], &readers[1].topics()[right]];
        match field(topics, [one, other]) {
            Ok(Some(field)) => shown.field = Some(field),
            Ok(None) => {
                shown.unknown = Some("all fields are the same; padding differs".to_owned());
            }
            Err(reason) => shown.unknown = Some(reason),
        }
    }
}

/// The messages of one bag that are to be shown, by topic.
fn fetch(
    reader: &BagReader,
    side: usize,
    rows: &[Row],
    bytes_max: usize,
) -> BTreeMap<String, Vec<u8>> {
    let mut wanted: BTreeMap<usize, (u64, &str)> = BTreeMap::new();
    for row in rows {
        if let (Some(index), Some(number)) = (row.indexes[side], row.to_be_shown()) {
            wanted.insert(index, (number, &row.compared.name));
        }
    }
    let (mut found, mut bytes) = (BTreeMap::new(), 0);
    let mut messages = reader.messages();
    while !wanted.is_empty() {
        let Some(Ok(message)) = messages.next_message() else { break };
        let Some(&(number, name)) = wanted.get(&message.topic) else { continue };
        if message.number == number {
            wanted.remove(&message.topic);
            bytes += message.data.len();
            if bytes > bytes_max {
                break;
            }
            found.insert(name.to_owned(), message.data.to_vec());
        }
    }
    found
}

/// The first field in which two messages differ.
fn field(topics: [&BagTopic; 2], cdr: [&Vec<u8>; 2]) -> Result<Option<FieldDifference>, String> {
    let schema = topics[0].schema().map_err(|error| error.to_string())?;
    let flat = |cdr: &Vec<u8>| {
        let bytes = schema.flat_bytes_of_cdr(cdr).map_err(|error| error.to_string())?;
        let mut flat = FlatBuffer::with_bytes(bytes);
        schema.decode_cdr(cdr, flat.as_mut_slice()).map_err(|error| error.to_string())?;
        Ok::<FlatBuffer, String>(flat)
    };
    let (left, right) = (flat(cdr[0])?, flat(cdr[1])?);
    let (left, right) = (Block::new(left.as_slice()), Block::new(right.as_slice()));
    schema.first_difference(left, right).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
