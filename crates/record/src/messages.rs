//! Reads the messages of a bag in the order of their log times.
//!
//! Files of a bag follow each other. Inside a file, chunks that overlap in time are merged, within
//! a memory limit. Bags that were joined are merged. Damaged chunks are passed over and reported at
//! the end.

use crate::bag::{Bag, BagFile, ReadError};
use crate::chunk::{CHUNK_HEAD_BYTES_MAX, ChunkDecoder, ChunkHead, Section, Window, fill};
use crate::damage::{Damage, DamageKind, Damages};
use crate::fields::{RECORD_HEAD_BYTES, split_record};
use crate::file_index::{MessageHead, Segment, SegmentKind};
use crate::options::{Opening, ReaderOptions};
use crate::source::{self, MessageDecoder};
use crate::sqlite::{Pages, RowIndex};
use mcap::records::op;
use std::fs::File;
use std::sync::Arc;

/// One message of a bag.
#[derive(Debug, Clone, Copy)]
pub struct BagMessage<'a> {
    /// Index into [`BagReader::topics`](crate::BagReader::topics).
    pub topic: usize,
    /// Number of the message among the messages of its topic, from 1.
    pub number: u64,
    /// When the recorder took the message, in nanoseconds.
    pub log_time_ns: u64,
    /// When the publisher sent the message, in nanoseconds.
    pub publish_time_ns: u64,
    /// The message in CDR with its four-byte header, not checked.
    pub data: &'a [u8],
}

/// A message inside a loaded segment.
#[derive(Debug, Clone, Copy)]
struct Entry {
    log_ns: u64,
    publish_ns: u64,
    topic: usize,
    start: usize,
    end: usize,
}

/// Messages of one chunk, at most: 64 bytes each in the largest chunk.
const CHUNK_MESSAGES_MAX: usize = 4 << 20;
/// Memory of buffers that wait to be used again: many chunks of the usual size, no large one.
const SPARE_BYTES_MAX: usize = 16 << 20;

/// A segment in memory, its messages in the order of their log times.
#[derive(Debug, Default)]
struct Loaded {
    /// Where the segment lies in the file.
    offset: u64,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    next: usize,
}

impl Loaded {
    fn next_ns(&self) -> Option<u64> {
        self.entries.get(self.next).map(|entry| entry.log_ns)
    }

    /// Memory that it takes. Small messages cost more to list than to hold.
    fn held_bytes(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }
}

/// A reading of a bag's messages; made by [`BagReader::messages`](crate::BagReader::messages).
///
/// Holds the chunks that it is in and the lists of their messages, at most
/// [`order_bytes_max`](crate::ReaderOptions::order_bytes_max) plus one chunk, for each of the bags
/// that were joined. Buffers of usual sizes are used again, so that reading allocates only when a
/// chunk is larger than those before. `Send`.
#[derive(Debug)]
pub struct Messages {
    /// One for each of the bags that were joined.
    lanes: Vec<Lane>,
    /// Messages delivered, by topic.
    numbers: Vec<u64>,
    reported: bool,
    /// Whether the last message was compressed by itself.
    was_compressed: bool,
}

/// A reading of one bag.
#[derive(Debug)]
struct Lane {
    bag: Arc<Bag>,
    /// The topic that each of the bag's topics is; `None`: it is not delivered.
    topics: Vec<Option<usize>>,
    /// Index of the file that is read, and its handle.
    file: usize,
    handle: Option<Handle>,
    decoder: MessageDecoder,
    chunks: ChunkDecoder,
    next_segment: usize,
    loaded: Vec<Loaded>,
    /// Buffers to use again.
    spare: Vec<Loaded>,
    /// Messages of before this log time are passed over, in ns.
    start_ns: u64,
    damages: Damages,
}

impl Messages {
    /// Of joined bags, each with the topic that each of its topics is, among `topics` in all.
    pub(crate) fn new(
        bags: &[(Arc<Bag>, Vec<Option<usize>>)],
        topics: usize,
        start_ns: u64,
    ) -> Self {
        let lanes = bags.iter().map(|(bag, places)| Lane::new(bag, places, start_ns)).collect();
        Messages { lanes, numbers: vec![0; topics], reported: false, was_compressed: false }
    }

    /// Whether the message that was delivered last is compressed by itself in its file.
    pub(crate) fn last_was_compressed(&self) -> bool {
        self.was_compressed
    }

    /// Gives the next message in log-time order; `None` after the last one.
    ///
    /// Messages of topics that are not delivered are passed over. Blocks on the file system.
    ///
    /// # Errors
    /// Once, after the last message, when parts of the bag could not be read.
    pub fn next_message(&mut self) -> Option<Result<BagMessage<'_>, ReadError>> {
        while let Some(lane) = self.earliest() {
            if let Some((place, entry, topic)) = self.lanes[lane].advance() {
                return Some(Ok(self.deliver(lane, place, entry, topic)));
            }
        }
        self.report().map(Err)
    }

    /// The log time of the message that comes next, in ns; `None` after the last one. Blocks on the
    /// file system. That message may turn out damaged, and then a later one comes.
    pub fn next_time_ns(&mut self) -> Option<u64> {
        self.lanes.iter_mut().filter_map(Lane::next_time_ns).min()
    }

    /// The lane with the next message. Of one bag it is not asked which time that has.
    fn earliest(&mut self) -> Option<usize> {
        if let [lane] = &self.lanes[..] {
            return (!lane.is_over()).then_some(0);
        }
        // Bags are few. Between equal times the one that was named first wins.
        let times = self.lanes.iter_mut().enumerate();
        let times = times.filter_map(|(place, lane)| Some((lane.next_time_ns()?, place)));
        times.min().map(|(_, place)| place)
    }

    /// The final error, once, when there was damage.
    fn report(&mut self) -> Option<ReadError> {
        if std::mem::replace(&mut self.reported, true) {
            return None;
        }
        let mut damages = Damages::default();
        self.lanes.iter().for_each(|lane| damages.merge(&lane.damages));
        let first = damages.first?;
        let delivered = self.numbers.iter().sum();
        Some(ReadError::Damaged { first, count: damages.count, delivered })
    }

    fn deliver(&mut self, lane: usize, place: usize, entry: Entry, topic: usize) -> BagMessage<'_> {
        self.numbers[topic] += 1;
        let lane = &self.lanes[lane];
        let data = &lane.loaded[place].bytes[entry.start..entry.end];
        self.was_compressed = MessageDecoder::is_compressed(data);
        let data = match self.was_compressed {
            true => lane.decoder.plain(),
            false => data,
        };
        BagMessage {
            topic,
            number: self.numbers[topic],
            log_time_ns: entry.log_ns,
            publish_time_ns: entry.publish_ns,
            data,
        }
    }
}

impl Lane {
    fn new(bag: &Arc<Bag>, topics: &[Option<usize>], start_ns: u64) -> Self {
        Lane {
            bag: Arc::clone(bag),
            topics: topics.to_vec(),
            file: 0,
            handle: None,
            decoder: MessageDecoder::new(),
            chunks: ChunkDecoder::default(),
            next_segment: 0,
            loaded: Vec::new(),
            spare: Vec::new(),
            start_ns,
            damages: bag.damages.clone(),
        }
    }

    fn is_over(&self) -> bool {
        self.file == self.bag.files.len()
    }

    /// Goes on to the next message of a topic that is delivered; gives the segment with it, where
    /// it lies there, and its topic. `None`: there is none.
    fn advance(&mut self) -> Option<(usize, Entry, usize)> {
        while !self.is_over() {
            self.load_due();
            let Some(place) = self.earliest() else {
                self.next_file();
                continue;
            };
            let entry = self.take(place);
            if let Some(topic) = self.wanted(&entry)
                && self.unpack(place, entry)
            {
                return Some((place, entry, topic));
            }
        }
        None
    }

    fn next_time_ns(&mut self) -> Option<u64> {
        while !self.is_over() {
            self.load_due();
            match self.earliest() {
                Some(place) => {
                    let loaded = &self.loaded[place];
                    let entry = loaded.entries[loaded.next];
                    if self.wanted(&entry).is_some() {
                        return Some(entry.log_ns);
                    }
                    self.take(place);
                }
                None => self.next_file(),
            }
        }
        None
    }

    /// The topic of a message that is delivered.
    fn wanted(&self, entry: &Entry) -> Option<usize> {
        self.topics[entry.topic].filter(|_| entry.log_ns >= self.start_ns)
    }

    fn next_file(&mut self) {
        self.file += 1;
        self.handle = None;
        self.next_segment = 0;
    }

    /// The loaded segment whose next message is the earliest; emptied segments are put aside.
    fn earliest(&mut self) -> Option<usize> {
        let mut place = 0;
        while place < self.loaded.len() {
            if self.loaded[place].next_ns().is_none() {
                let emptied = self.loaded.swap_remove(place);
                self.put_aside(emptied);
            } else {
                place += 1;
            }
        }
        // Between equal times the earlier place in the file wins.
        (0..self.loaded.len())
            .min_by_key(|place| (self.loaded[*place].next_ns(), self.loaded[*place].offset))
    }

    /// Loads the segments that may hold the next message.
    fn load_due(&mut self) {
        while self.is_load_due() {
            let bag = Arc::clone(&self.bag);
            let file = &bag.files[self.file];
            let segment = &file.index.segments[self.next_segment];
            self.next_segment += 1;
            if segment.end_ns < self.start_ns {
                continue;
            }
            let mut loaded = self.spare.pop().unwrap_or_default();
            match self.load(&bag, file, segment, &mut loaded) {
                // One without messages would wait with its bytes until another has one.
                Ok(()) if loaded.entries.is_empty() => self.put_aside(loaded),
                Ok(()) => self.loaded.push(loaded),
                Err(kind) => {
                    let path = file.index.path.clone();
                    self.damages.add(Damage { path, offset: segment.offset, kind });
                    self.put_aside(loaded);
                }
            }
        }
    }

    /// Whether the next segment may hold the next message. Asked before each message.
    fn is_load_due(&self) -> bool {
        let segments = &self.bag.files[self.file].index.segments;
        let Some(segment) = segments.get(self.next_segment) else { return false };
        let earliest = self.loaded.iter().filter_map(Loaded::next_ns).min();
        let Some(earliest_ns) = earliest else { return true };
        let held = || self.loaded.iter().map(Loaded::held_bytes).sum::<usize>() as u64;
        earliest_ns >= segment.start_ns && held() <= self.bag.options.order_bytes_max
    }

    /// Keeps the buffers of a segment for the next one, unless they are large.
    fn put_aside(&mut self, emptied: Loaded) {
        let held: usize = self.spare.iter().map(Loaded::held_bytes).sum();
        if held + emptied.held_bytes() <= SPARE_BYTES_MAX {
            self.spare.push(emptied);
        }
    }

    fn load(
        &mut self,
        bag: &Bag,
        file: &BagFile,
        segment: &Segment,
        loaded: &mut Loaded,
    ) -> Result<(), DamageKind> {
        loaded.entries.clear();
        loaded.next = 0;
        loaded.offset = segment.offset;
        let handle = match &mut self.handle {
            Some(handle) => handle,
            empty => empty.insert(Handle::open(file, &bag.options)?),
        };
        let handle = match (handle, &file.rows) {
            (Handle::Mcap(handle), _) => handle,
            (Handle::Rows(pages), Some(rows)) => {
                let damages = load_rows(bag, file, rows, pages, segment, loaded);
                for (page, kind) in damages {
                    let (path, offset) = (file.index.path.clone(), pages.offset(page));
                    self.damages.add(Damage { path, offset, kind });
                }
                loaded.entries.sort_by_key(|entry| entry.log_ns);
                return Ok(());
            }
            (Handle::Rows(_), None) => return Ok(()),
        };
        let cut = segment.kind == SegmentKind::CutChunk;
        match segment.kind {
            SegmentKind::Rows => {}
            SegmentKind::Run => {
                let section = Section::new(handle, segment.offset, segment.end);
                fill(section, segment.end - segment.offset, &mut loaded.bytes)?;
            }
            SegmentKind::Chunk | SegmentKind::CutChunk => {
                let buffers = (&mut self.chunks, &mut loaded.bytes);
                read_chunk(handle, segment, cut, bag.options.record_bytes_max, buffers)?;
            }
        }
        let unknown = list_messages(bag, file, loaded, cut)?;
        if let Some(channel) = unknown {
            let path = file.index.path.clone();
            let kind = DamageKind::UnknownChannel(channel);
            self.damages.add(Damage { path, offset: segment.offset, kind });
        }
        // Stable: messages of one time stay in the order in which they were written.
        loaded.entries.sort_by_key(|entry| entry.log_ns);
        Ok(())
    }

    /// Takes the next message of a loaded segment.
    fn take(&mut self, place: usize) -> Entry {
        let loaded = &mut self.loaded[place];
        let entry = loaded.entries[loaded.next];
        loaded.next += 1;
        entry
    }

    /// Decompresses a message that is compressed by itself; false if that fails.
    fn unpack(&mut self, place: usize, entry: Entry) -> bool {
        let loaded = &self.loaded[place];
        let data = &loaded.bytes[entry.start..entry.end];
        if !MessageDecoder::is_compressed(data) {
            return true;
        }
        let limit_bytes = self.bag.options.record_bytes_max;
        match self.decoder.decode(data, limit_bytes) {
            Ok(()) => true,
            Err(kind) => {
                let path = self.bag.files[self.file].index.path.clone();
                self.damages.add(Damage { path, offset: loaded.offset, kind });
                false
            }
        }
    }
}

/// The file that is read.
#[derive(Debug)]
enum Handle {
    Mcap(File),
    Rows(Pages),
}

impl Handle {
    fn open(file: &BagFile, options: &ReaderOptions) -> Result<Handle, DamageKind> {
        let path = &file.index.path;
        let source = source::open(path, Opening::silent(*options))?;
        if file.rows.is_none() {
            return Ok(Handle::Mcap(source.file));
        }
        let beside = Some(path.as_path()).filter(|_| !source.compressed);
        Pages::open(source.file, beside).map(Handle::Rows).map_err(DamageKind::Unreadable)
    }
}

/// Reads the messages of a segment of a SQLite file, and lists those that are delivered.
fn load_rows(
    bag: &Bag,
    file: &BagFile,
    rows: &RowIndex,
    pages: &Pages,
    segment: &Segment,
    loaded: &mut Loaded,
) -> Vec<(u32, DamageKind)> {
    loaded.bytes.clear();
    let Loaded { bytes, entries, .. } = loaded;
    let limit_bytes = bag.options.record_bytes_max;
    rows.load(pages, segment, limit_bytes, bytes, |channel, log_ns, (start, end)| {
        let Some(topic) = file.topics.get(&channel) else { return Ok(()) };
        if !bag.delivered[*topic] {
            return Ok(());
        }
        if entries.len() == CHUNK_MESSAGES_MAX {
            return Err(DamageKind::TooManyMessages { limit: CHUNK_MESSAGES_MAX });
        }
        entries.push(Entry { log_ns, publish_ns: log_ns, topic: *topic, start, end });
        Ok(())
    })
}

/// Decompresses the chunk of `segment` into `plain`.
fn read_chunk(
    file: &File,
    segment: &Segment,
    cut: bool,
    limit_bytes: u64,
    buffers: (&mut ChunkDecoder, &mut Vec<u8>),
) -> Result<(), DamageKind> {
    let body = segment.offset + RECORD_HEAD_BYTES as u64;
    let body_bytes = segment.end.saturating_sub(body);
    let mut window = Window::small(file);
    let start = window.at(segment.offset, RECORD_HEAD_BYTES + CHUNK_HEAD_BYTES_MAX)?;
    let (&opcode, _) =
        start.split_first().ok_or(DamageKind::Malformed("the chunk is not there"))?;
    if opcode != op::CHUNK {
        return Err(DamageKind::Malformed("the index of the file says that a chunk is here"));
    }
    let head = ChunkHead::parse(start.get(RECORD_HEAD_BYTES..).unwrap_or(&[]))?;
    head.decode(file, body, body_bytes, cut, limit_bytes, buffers)
}

/// Lists the messages in `loaded.bytes`; gives a channel that nothing describes, if there is one.
fn list_messages(
    bag: &Bag,
    file: &BagFile,
    loaded: &mut Loaded,
    cut: bool,
) -> Result<Option<u16>, DamageKind> {
    let mut unknown = None;
    let mut rest = loaded.bytes.as_slice();
    while let Some((opcode, body, tail)) = split_record(rest) {
        if opcode == op::MESSAGE {
            let head = MessageHead::parse(body)
                .ok_or(DamageKind::Malformed("the fields of a message are cut"))?;
            match file.topics.get(&head.channel) {
                None => unknown = Some(head.channel),
                Some(topic) if bag.delivered[*topic] => {
                    if loaded.entries.len() == CHUNK_MESSAGES_MAX {
                        let limit = CHUNK_MESSAGES_MAX;
                        return Err(DamageKind::TooManyMessages { limit });
                    }
                    let end = loaded.bytes.len() - tail.len();
                    loaded.entries.push(Entry {
                        log_ns: head.log_ns,
                        publish_ns: head.publish_ns,
                        topic: *topic,
                        start: end - (body.len() - MessageHead::BYTES),
                        end,
                    });
                }
                Some(_) => {}
            }
        }
        rest = tail;
    }
    if !rest.is_empty() && !cut {
        return Err(DamageKind::Malformed("the last record of a chunk is cut"));
    }
    Ok(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        BagReader, BagWriter, Compression, ReaderOptions, TopicDescription, WriterOptions,
    };
    use std::io::IoSlice;

    #[test]
    fn the_lists_of_small_messages_count_as_memory_that_is_held() {
        let name = format!("xd-messages-{}.mcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        let options =
            WriterOptions { chunk_bytes: 100_000, ..WriterOptions::new(Compression::Zstd) };
        let mut writer = BagWriter::create(&path, options).expect("a bag");
        let topic = TopicDescription {
            name: "/empty".to_owned(),
            type_name: "std_msgs/msg/Empty".to_owned(),
            definition: String::new(),
            type_hash: String::new(),
            qos: Vec::new(),
        };
        let topic = writer.add_topic(topic).expect("a topic");
        let count = 100_000;
        for number in 0..count {
            // Every chunk reaches over all others in time, so that all would have to be held.
            let time_ns = if number % 1000 == 0 { 0 } else { number };
            writer.write(topic, time_ns, 0, &[IoSlice::new(&[0, 1, 0, 0, 0])]).expect("room");
        }
        writer.finish().expect("a bag");
        let order_bytes_max = 500_000;
        let options = ReaderOptions { order_bytes_max, ..ReaderOptions::default() };
        let mut messages = BagReader::open_with(&path, options).expect("a bag").messages();
        let (mut read, mut most, mut largest) = (0, 0, 0);
        while let Some(message) = messages.next_message() {
            message.expect("a message");
            read += 1;
            let loaded = &messages.lanes[0].loaded;
            let held = |it: &Loaded| it.bytes.capacity() + 40 * it.entries.capacity();
            most = most.max(loaded.iter().map(held).sum());
            let one = loaded.iter().map(held).max();
            largest = largest.max(one.unwrap_or(0));
        }
        std::fs::remove_file(&path).expect("the bag");
        assert_eq!(read, count);
        assert!(most > largest, "chunks overlap");
        assert!(most <= order_bytes_max as usize + largest, "{most} bytes, {largest} in a chunk");
        assert_eq!(size_of::<Entry>(), 40);
    }
}
