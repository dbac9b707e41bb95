//! Writes bags: one MCAP file, or a rosbag2 folder.
//!
//! A bag in a folder may have several files, each of them sound by itself. Messages are collected
//! into chunks in memory; a complete chunk goes to the file in one piece, so that a killed process
//! costs at most the open chunk. The writer takes disk space for a message, closing records
//! included, before it accepts the message. So a full disk refuses the next message and leaves a
//! bag that can be finished.

use crate::mcap_file::{McapFile, MessageFields, TYPE_HASH_KEY};
use crate::metadata::{BagSummary, FileSummary, TopicCount};
use crate::outer::{FileCompression, MessageEncoder, Outer, compressed_name};
use crate::qos::{OfferedQos, write_profiles};
use crate::reserve::Reserve;
use crate::write_error::{CreateBagError, Saved, WriteError};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How a bag is compressed: chunk by chunk, or as rosbag2's own modes of compression do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all: the least processor time.
    None,
    /// Chunks with LZ4: little processor time, some saving.
    Lz4,
    /// Chunks with Zstandard at its default level: more of both.
    Zstd,
    /// Each message with Zstandard (rosbag2's mode MESSAGE), in a folder only: readers learn it
    /// from metadata.yaml.
    Messages,
    /// Each file of a folder with Zstandard (rosbag2's mode FILE) when it is complete, on a thread
    /// of its own. The next file may be complete before: then the writer waits.
    Files,
}

impl Compression {
    fn outer(self) -> Outer {
        match self {
            Compression::None | Compression::Lz4 | Compression::Zstd => Outer::Nothing,
            Compression::Messages => Outer::Messages,
            Compression::Files => Outer::Files,
        }
    }
}

/// How a bag is written.
#[derive(Debug, Clone, Copy)]
pub struct WriterOptions {
    /// How the bag is compressed.
    pub compression: Compression,
    /// Uncompressed bytes after which a chunk is complete and goes to the file. If files are split
    /// by size, chunks have at most an eighth of that size.
    pub chunk_bytes: usize,
    /// Age of a chunk at which the next [`BagWriter::write`] completes it; see
    /// [`BagWriter::flush_due`].
    pub flush_interval: Duration,
    /// Bytes in one file of a bag in a folder after which the next message goes into a new file, as
    /// in rosbag2: a file has so many, and up to a chunk, a message and its index more. Files that
    /// are compressed as a whole become smaller. `None` and bags of one file: no limit.
    pub split_bytes: Option<u64>,
    /// Recorded time in one file of a bag in a folder, likewise.
    pub split_duration: Option<Duration>,
}

impl WriterOptions {
    /// Chunks of 1 MiB, completed after one second at the latest; not split.
    pub fn new(compression: Compression) -> Self {
        Self {
            compression,
            chunk_bytes: 1 << 20,
            flush_interval: Duration::from_secs(1),
            split_bytes: None,
            split_duration: None,
        }
    }
}

/// Describes a topic that is written.
///
/// Plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicDescription {
    /// Topic name.
    pub name: String,
    /// Type name like `std_msgs/msg/String`.
    pub type_name: String,
    /// Definition of the type with all types that it uses, in the ros2msg form.
    pub definition: String,
    /// RIHS01 hash of the type; empty when not known. It is not written for types that belong to a
    /// service or an action.
    pub type_hash: String,
    /// QoS profiles that the publishers offer.
    pub qos: Vec<OfferedQos>,
}

/// What the names of types have in them that belong to services and actions.
const OTHER_NAMESPACES: [&str; 2] = ["/srv/", "/action/"];

/// A topic of one [`BagWriter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenTopic(usize);

/// Chunks in the least size of a file after which the next one begins: so much a file may be
/// longer.
const CHUNKS_OF_SPLIT: u64 = 8;
/// Bytes of the shortest chunks into which files that are split are divided.
const SPLIT_CHUNK_BYTES_MIN: usize = 4 << 10;
/// Opcode, length and fields of a message record, of its index entry, rounded up.
const MESSAGE_OVERHEAD_BYTES: u64 = 64;
/// Fixed parts of a chunk, its index records, and its entry in the summary, without what grows with
/// the channels.
const CHUNK_OVERHEAD_BYTES: u64 = 512;
/// Bytes by which each channel makes the indexes of a chunk larger: 15 behind the chunk, 10 in the
/// summary, rounded up.
const CHANNEL_PER_CHUNK_BYTES: u64 = 32;
/// Data end, statistics, summary offsets, footer, magic.
const CLOSING_BYTES: u64 = 1024;
/// metadata.yaml without topics, and what one topic adds beside its names.
const METADATA_BYTES: u64 = 4096;
const METADATA_TOPIC_BYTES: u64 = 1024;
/// What one more file adds to metadata.yaml.
const METADATA_FILE_BYTES: u64 = 1024;

struct Topic {
    description: TopicDescription,
    /// In the file that is written; `None`: it has no message of the topic yet.
    channel: Option<u16>,
    messages: u64,
    /// Messages of complete chunks.
    saved: u64,
    sequence: u32,
}

/// What has been accepted and is not yet in the file.
#[derive(Debug, Default)]
struct OpenChunk {
    messages: u64,
    since: Option<Instant>,
}

/// A bag that is being written.
///
/// Finish it with [`BagWriter::finish`]; dropping it finishes it too but hides errors. Steady
/// writing allocates per chunk, not per message; memory is bounded by
/// [`chunk_bytes`](WriterOptions::chunk_bytes) plus twice the largest message. Blocks on the file
/// system when a chunk is complete. `Send`, used by one thread at a time.
pub struct BagWriter {
    /// The file that is written.
    path: PathBuf,
    folder: Option<PathBuf>,
    /// Of the bag; with a number, of a file in the folder.
    name: String,
    options: WriterOptions,
    /// `None` once the bag is finished or has failed.
    mcap: Option<McapFile>,
    reserve: Reserve,
    topics: Vec<Topic>,
    /// Places in the list: a bag may have tens of thousands of topics.
    by_name: BTreeMap<String, Vec<usize>>,
    open: OpenChunk,
    /// Bytes of definitions in this file, and of all in metadata.yaml.
    definition_bytes: u64,
    metadata_bytes: u64,
    /// Bytes of this file after the last complete chunk.
    saved_bytes: u64,
    /// Messages that this file was given, and their first time.
    file_messages: u64,
    file_start_ns: u64,
    /// The files before.
    done: Vec<FileSummary>,
    done_bytes: u64,
    /// The last of them, if it is being compressed.
    compressing: Option<FileCompression>,
    /// Why files are not compressed any more.
    uncompressed: Option<(PathBuf, io::Error)>,
    encoder: Option<MessageEncoder>,
    failure: Option<String>,
}

impl BagWriter {
    /// Creates the bag at `path`: one file if it ends in `.mcap`, else a rosbag2 folder.
    ///
    /// Missing parent folders are made. Blocks on the file system.
    ///
    /// # Errors
    /// When there is something at `path` already, or the operating system refuses.
    pub fn create(
        path: impl AsRef<Path>,
        mut options: WriterOptions,
    ) -> Result<BagWriter, CreateBagError> {
        let path = path.as_ref();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| CreateBagError::Name { path: path.to_owned() })?
            .to_owned();
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| creation_error(parent, source))?;
        }
        let outer = options.compression.outer();
        let (folder, path) = if path.extension().is_some_and(|extension| extension == "mcap") {
            if outer != Outer::Nothing {
                return Err(CreateBagError::NoFolder { path: path.to_owned() });
            }
            (None, path.to_owned())
        } else {
            fs::create_dir(path).map_err(|source| creation_error(path, source))?;
            (Some(path.to_owned()), path.join(format!("{name}_0.mcap")))
        };
        let mcap = begin(&path, &options).map_err(|source| {
            if source.kind() != io::ErrorKind::AlreadyExists {
                remove_begun(folder.as_deref(), &path);
            }
            creation_error(&path, source)
        })?;
        let saved_bytes = mcap.position();
        let encoder = match outer {
            Outer::Messages => Some(MessageEncoder::new()),
            _ => None,
        };
        let encoder = encoder.transpose().map_err(|source| creation_error(&path, source))?;
        if let (Some(most), Some(_)) = (options.split_bytes, &folder) {
            let share = usize::try_from(most / CHUNKS_OF_SPLIT).unwrap_or(usize::MAX);
            options.chunk_bytes = options.chunk_bytes.min(share.max(SPLIT_CHUNK_BYTES_MIN));
        }
        Ok(BagWriter {
            path,
            folder,
            name,
            options,
            mcap: Some(mcap),
            reserve: Reserve::new(),
            topics: Vec::new(),
            by_name: BTreeMap::new(),
            open: OpenChunk::default(),
            definition_bytes: 0,
            metadata_bytes: METADATA_BYTES,
            saved_bytes,
            file_messages: 0,
            file_start_ns: 0,
            done: Vec::new(),
            done_bytes: 0,
            compressing: None,
            uncompressed: None,
            encoder,
            failure: None,
        })
    }

    /// The MCAP file that is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is safe on the disk even if the process is killed now.
    pub fn saved(&self) -> Saved {
        let messages = self.topics.iter().map(|topic| topic.saved).sum();
        Saved { messages, bytes: self.done_bytes + self.saved_bytes }
    }

    /// Adds a topic; its channel and definition go in front of its first message.
    ///
    /// Allocates. A topic of the same name may be added again with another QoS or type.
    ///
    /// # Errors
    /// When the format cannot hold it, when there is no space, or after a failure.
    pub fn add_topic(&mut self, mut topic: TopicDescription) -> Result<WrittenTopic, WriteError> {
        // With a hash beside a type that they do not know by its name, readers of others refuse the
        // whole bag.
        if OTHER_NAMESPACES.iter().any(|namespace| topic.type_name.contains(namespace)) {
            topic.type_hash.clear();
        }
        let of_name = self.by_name.get(&topic.name).into_iter().flatten();
        let known = of_name.copied().find(|place| self.topics[*place].description == topic);
        if let Some(known) = known {
            return Ok(WrittenTopic(known));
        }
        self.metadata_bytes += bytes_of(&topic);
        let topic = Topic { description: topic, channel: None, messages: 0, saved: 0, sequence: 0 };
        self.topics.push(topic);
        let place = self.topics.len() - 1;
        if let Err(error) = self.add_channel(place) {
            let topic = self.topics.pop();
            self.metadata_bytes -= topic.map_or(0, |topic| bytes_of(&topic.description));
            return Err(error);
        }
        let name = self.topics[place].description.name.clone();
        self.by_name.entry(name).or_default().push(place);
        Ok(WrittenTopic(place))
    }

    /// Adds the channel of a topic to the file that is written.
    fn add_channel(&mut self, place: usize) -> Result<u16, WriteError> {
        let bytes = bytes_of(&self.topics[place].description);
        if bytes > u64::from(u32::MAX) {
            return Err(self.topic_error(place, "its definition is longer than 4 GiB"));
        }
        self.definition_bytes += bytes;
        if let Err(error) = self.ensure_space(bytes) {
            self.definition_bytes -= bytes;
            return Err(error);
        }
        let TopicDescription { name, type_name, definition, type_hash, qos } =
            &self.topics[place].description;
        let profiles = write_profiles(qos, "");
        let metadata =
            [("offered_qos_profiles", profiles.as_str()), (TYPE_HASH_KEY, type_hash.as_str())];
        let Some(mcap) = &mut self.mcap else { return Err(self.closed()) };
        match mcap.add_channel(name, (type_name, definition), &metadata) {
            Ok(channel) => {
                self.topics[place].channel = Some(channel);
                Ok(channel)
            }
            Err(reason) => {
                self.definition_bytes -= bytes;
                Err(self.topic_error(place, reason))
            }
        }
    }

    /// Writes a message whose CDR bytes are the concatenation of `slices`. Gives how often the
    /// bytes were copied in memory: once, into the open chunk; once more to compress each message;
    /// or not at all if chunks are not compressed and the message is long, which then goes to the
    /// file from where it lies.
    ///
    /// Completes the chunk, which blocks on the file system, when it is large or old enough. Times
    /// are in nanoseconds.
    ///
    /// # Errors
    /// [`WriteError::NoSpace`] before the message is accepted: everything written so far stays safe
    /// and writing may be tried again. [`WriteError::Failed`] ends the bag.
    ///
    /// # Panics
    /// When `topic` was not given by this writer.
    pub fn write(
        &mut self,
        topic: WrittenTopic,
        log_time_ns: u64,
        publish_time_ns: u64,
        slices: &[IoSlice<'_>],
    ) -> Result<u64, WriteError> {
        if self.is_split_due(log_time_ns) {
            self.begin_next_file()?;
        }
        let Some(mut encoder) = self.encoder.take() else {
            return self.write_plain(topic, (log_time_ns, publish_time_ns), slices);
        };
        let written = match encoder.encode(slices) {
            Ok(packed) => {
                let packed = [IoSlice::new(packed)];
                let copies = self.write_plain(topic, (log_time_ns, publish_time_ns), &packed);
                copies.map(|copies| copies + 1)
            }
            Err(error) => Err(self.fail(&error)),
        };
        self.encoder = Some(encoder);
        written
    }

    /// Writes a message as it is into the file that is written; gives its copies.
    fn write_plain(
        &mut self,
        topic: WrittenTopic,
        (log_time_ns, publish_time_ns): (u64, u64),
        slices: &[IoSlice<'_>],
    ) -> Result<u64, WriteError> {
        let bytes = slices.iter().map(|slice| slice.len() as u64).sum::<u64>();
        self.ensure_space(bytes + MESSAGE_OVERHEAD_BYTES)?;
        let channel = match self.topics[topic.0].channel {
            Some(channel) => channel,
            None => self.add_channel(topic.0)?,
        };
        let Some(mcap) = &mut self.mcap else { return Err(self.closed()) };
        let target = &mut self.topics[topic.0];
        let fields = MessageFields {
            channel,
            sequence: target.sequence,
            log_ns: log_time_ns,
            publish_ns: publish_time_ns,
        };
        let direct = mcap.is_direct(bytes);
        if direct {
            if let Err(error) = mcap.write_direct(fields, slices) {
                return Err(self.fail(&error));
            }
        } else {
            mcap.collect(fields, slices);
        }
        target.sequence = target.sequence.wrapping_add(1);
        target.messages += 1;
        if self.file_messages == 0 {
            self.file_start_ns = log_time_ns;
        }
        self.file_messages += 1;
        if direct {
            self.note_saved();
            return Ok(0);
        }
        let large = mcap.open_bytes() >= self.options.chunk_bytes as u64;
        self.open.messages += 1;
        let since = *self.open.since.get_or_insert_with(Instant::now);
        if large || since.elapsed() >= self.options.flush_interval {
            self.flush()?;
        }
        Ok(1)
    }

    /// Whether the next message belongs into a new file.
    fn is_split_due(&self, log_time_ns: u64) -> bool {
        if self.folder.is_none() || self.file_messages == 0 {
            return false;
        }
        let Some(mcap) = &self.mcap else { return false };
        // As in rosbag2, what is in the file counts. The open chunk may become much smaller.
        let bytes = mcap.position();
        let spent_ns = u128::from(log_time_ns.saturating_sub(self.file_start_ns));
        self.options.split_bytes.is_some_and(|most| bytes >= most)
            || self.options.split_duration.is_some_and(|most| spent_ns >= most.as_nanos())
    }

    /// Lets the next message go into a new file, unless this one has none or the bag is one file.
    pub(crate) fn split(&mut self) -> Result<(), WriteError> {
        match self.folder.is_some() && self.file_messages > 0 {
            true => self.begin_next_file(),
            false => Ok(()),
        }
    }

    /// Completes the file that is written and begins the next one of the folder.
    fn begin_next_file(&mut self) -> Result<(), WriteError> {
        let Some(folder) = self.folder.clone() else { return Ok(()) };
        let number = self.done.len() + 1;
        let path = folder.join(format!("{}_{number}.mcap", self.name));
        let next = match begin(&path, &self.options) {
            Ok(next) => next,
            Err(error) => {
                // What was made of it is of no use; the files before are whole.
                let _ = fs::remove_file(&path);
                self.complete_file()?;
                self.await_compression();
                let reason = format!("the next file, {}, cannot be begun: {error}", path.display());
                self.failure = Some(reason);
                self.store_metadata()?;
                return Err(self.closed());
            }
        };
        if let Err(error) = self.complete_file() {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.saved_bytes = next.position();
        (self.path, self.mcap, self.reserve) = (path, Some(next), Reserve::new());
        (self.file_messages, self.definition_bytes) = (0, 0);
        self.metadata_bytes += METADATA_FILE_BYTES;
        self.topics.iter_mut().for_each(|topic| topic.channel = None);
        Ok(())
    }

    /// When the open chunk should be completed with [`BagWriter::flush`]; `None` when it is empty.
    pub fn flush_due(&self) -> Option<Instant> {
        Some(self.open.since? + self.options.flush_interval)
    }

    /// Completes the open chunk: all messages so far are in the file, safe from a killed process.
    ///
    /// They are not yet safe from a power failure. Blocks on the file system.
    ///
    /// # Errors
    /// [`WriteError::Failed`], which ends the bag.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        let Some(mcap) = &mut self.mcap else { return Err(self.closed()) };
        if let Err(error) = mcap.flush() {
            return Err(self.fail(&error));
        }
        self.note_saved();
        Ok(())
    }

    /// Everything that was accepted is in the file.
    fn note_saved(&mut self) {
        self.open = OpenChunk::default();
        self.saved_bytes = self.mcap.as_ref().map_or(self.saved_bytes, McapFile::position);
        for topic in &mut self.topics {
            topic.saved = topic.messages;
        }
    }

    /// Completes the bag: index, closing records and metadata.yaml, all on the disk.
    ///
    /// Blocks until the disk has everything.
    ///
    /// # Errors
    /// When the end could not be written; what was complete before stays readable.
    pub fn finish(mut self) -> Result<Saved, WriteError> {
        self.close()
    }

    /// Removes the bag if no message was given to it; otherwise finishes it. Hides errors.
    pub(crate) fn discard_empty(mut self) {
        if self.topics.iter().all(|topic| topic.messages == 0) {
            self.mcap = None;
            remove_begun(self.folder.as_deref(), &self.path);
        }
    }

    fn close(&mut self) -> Result<Saved, WriteError> {
        self.complete_file()?;
        self.await_compression();
        self.store_metadata()?;
        match self.uncompressed.take() {
            None => Ok(self.saved()),
            Some((path, source)) => Err(WriteError::Uncompressed { path, source }),
        }
    }

    /// Brings the closing records of the file to the disk.
    fn complete_file(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        let Some(mcap) = &mut self.mcap else { return Err(self.closed()) };
        // Gives back the space that was taken beyond the end.
        let settled = mcap.finish().and_then(|()| {
            mcap.file().set_len(mcap.position())?;
            mcap.file().sync_all()
        });
        if let Err(error) = settled {
            return Err(self.fail(&error));
        }
        let (bytes, span_ns) = (mcap.position(), mcap.span_ns());
        self.mcap = None;
        self.saved_bytes = 0;
        self.note_file(span_ns, bytes);
        self.await_compression();
        if self.options.compression == Compression::Files && self.uncompressed.is_none() {
            match FileCompression::begin(&self.path) {
                Ok(begun) => self.compressing = Some(begun),
                Err(error) => self.uncompressed = Some((self.path.clone(), error)),
            }
        }
        Ok(())
    }

    /// Waits for the file that is being compressed. What keeps one from being compressed keeps the
    /// following, too; the recording goes on without.
    fn await_compression(&mut self) {
        let Some(compressing) = self.compressing.take() else { return };
        let path = compressing.path().to_owned();
        match compressing.wait() {
            Ok(()) => {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                let named = |file: &&mut FileSummary| Some(&file.name) == name.as_ref();
                if let Some(file) = self.done.iter_mut().find(named) {
                    file.name = compressed_name(&file.name);
                }
            }
            Err(error) => self.uncompressed = Some((path, error)),
        }
    }

    fn note_file(&mut self, span_ns: Option<(u64, u64)>, bytes: u64) {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let messages = self.topics.iter().map(|topic| topic.saved).sum::<u64>();
        let before = self.done.iter().map(|file| file.messages).sum::<u64>();
        self.done.push(FileSummary { name, span_ns, messages: messages - before });
        self.done_bytes += bytes;
    }

    fn store_metadata(&self) -> Result<(), WriteError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let topics = self.topics.iter().map(|topic| TopicCount {
            name: &topic.description.name,
            type_name: &topic.description.type_name,
            type_hash: &topic.description.type_hash,
            qos: &topic.description.qos,
            messages: topic.saved,
        });
        let names = self.done.iter().map(|file| file.name.as_str());
        let summary = BagSummary {
            storage: "mcap",
            outer: self.options.compression.outer().of_files(names),
            files: &self.done,
            topics: topics.collect(),
        };
        summary.store(folder).map_err(|source| WriteError::Metadata {
            path: folder.join(crate::metadata::METADATA_NAME),
            source,
        })
    }

    /// Takes space for `more` bytes of data, and for everything that must follow it.
    fn ensure_space(&mut self, more: u64) -> Result<(), WriteError> {
        let Some(mcap) = &self.mcap else { return Err(self.closed()) };
        let channels = self.topics.len() as u64 + 1;
        let data = mcap.open_bytes() + more;
        // Neither LZ4 nor Zstandard makes data larger by more than 1/128 and a few fixed bytes.
        let chunk = data + data / 128 + CHUNK_OVERHEAD_BYTES;
        let indexes = (mcap.chunks() + 2)
            * (CHUNK_OVERHEAD_BYTES + channels * CHANNEL_PER_CHUNK_BYTES)
            + self.open.messages * 16;
        let needed =
            chunk + indexes + 2 * self.definition_bytes + CLOSING_BYTES + self.metadata_bytes;
        let end = mcap.position() + needed;
        let Err(source) = self.reserve.ensure(mcap.file(), end) else { return Ok(()) };
        // What was accepted has its space: bring it to the file before anything else happens.
        self.flush()?;
        Err(WriteError::NoSpace {
            path: self.path.clone(),
            needed_bytes: more,
            saved: self.saved(),
            source,
        })
    }

    /// Ends the bag after an error: the file is cut back to its last complete chunk.
    fn fail(&mut self, error: &dyn std::fmt::Display) -> WriteError {
        let mut reason = error.to_string();
        if let Some(mcap) = self.mcap.take() {
            if let Err(cut) = mcap.file().set_len(self.saved_bytes) {
                reason = format!("{reason}, and the file could not be cut back: {cut}");
            }
            self.note_file(mcap.span_ns(), self.saved_bytes);
            self.saved_bytes = 0;
            self.await_compression();
        }
        self.failure = Some(reason.clone());
        let failed = WriteError::Failed { path: self.path.clone(), reason, saved: self.saved() };
        // A folder without metadata.yaml is read as well; the first error is the one to report.
        let _ = self.store_metadata();
        failed
    }

    /// The error of whatever is tried after the bag has ended.
    fn closed(&self) -> WriteError {
        let reason = self.failure.clone().unwrap_or_else(|| "it is finished".to_owned());
        WriteError::Failed { path: self.path.clone(), reason, saved: self.saved() }
    }

    fn topic_error(&self, place: usize, reason: &str) -> WriteError {
        WriteError::Topic {
            path: self.path.clone(),
            topic: self.topics[place].description.name.clone(),
            reason: reason.to_owned(),
        }
    }
}

impl Drop for BagWriter {
    fn drop(&mut self) {
        if self.mcap.is_some() {
            // Errors can only be had from `finish`.
            let _ = self.close();
        }
    }
}

impl std::fmt::Debug for BagWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BagWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

fn creation_error(path: &Path, source: io::Error) -> CreateBagError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::AlreadyExists => CreateBagError::Exists { path },
        _ => CreateBagError::Io { path, source },
    }
}

/// Removes a bag without a message. What cannot be removed harms nothing.
fn remove_begun(folder: Option<&Path>, path: &Path) {
    let _ = fs::remove_file(path);
    let _ = folder.map(fs::remove_dir);
}

/// Begins a file, which must not be there.
fn begin(path: &Path, options: &WriterOptions) -> io::Result<McapFile> {
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    McapFile::begin(file, options.compression)
}

/// Bytes of a topic's records, and of its entry in metadata.yaml, about.
fn bytes_of(topic: &TopicDescription) -> u64 {
    let texts = [&topic.name, &topic.type_name, &topic.definition, &topic.type_hash];
    let lengths = texts.iter().map(|text| text.len() as u64).sum::<u64>();
    lengths + write_profiles(&topic.qos, "").len() as u64 + METADATA_TOPIC_BYTES
}
