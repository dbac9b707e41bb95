//! Writes bags: one MCAP file, or a rosbag2 folder.
//!
//! Messages are collected into chunks in memory; a complete chunk goes to the file in one piece, so
//! that a killed process costs at most the open chunk. The writer takes disk space for a message,
//! closing records included, before it accepts the message. So a full disk refuses the next message
//! and leaves a bag that can be finished.

use crate::metadata::{BagSummary, TopicCount};
use crate::qos::{OfferedQos, write_profiles};
use crate::reserve::Reserve;
use mcap::records::MessageHeader;
use mcap::write::NoSeek;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all: the least processor time.
    None,
    /// LZ4: little processor time, some saving.
    Lz4,
    /// Zstandard at its default level: more of both.
    Zstd,
}

/// How a bag is written.
#[derive(Debug, Clone, Copy)]
pub struct WriterOptions {
    /// How chunks are compressed.
    pub compression: Compression,
    /// Uncompressed bytes after which a chunk is complete and goes to the file.
    pub chunk_bytes: usize,
    /// Age of a chunk at which the next [`BagWriter::write`] completes it; see
    /// [`BagWriter::flush_due`].
    pub flush_interval: Duration,
}

impl WriterOptions {
    /// Chunks of 1 MiB, completed after one second at the latest.
    pub fn new(compression: Compression) -> Self {
        Self { compression, chunk_bytes: 1 << 20, flush_interval: Duration::from_secs(1) }
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
    /// RIHS01 hash of the type; empty when not known.
    pub type_hash: String,
    /// QoS profiles that the publishers offer.
    pub qos: Vec<OfferedQos>,
}

/// A topic of one [`BagWriter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenTopic(usize);

/// Why a bag cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateBagError {
    /// There is something at the path already.
    #[error(
        "{} exists already and is not overwritten; give another name, or move it away",
        path.display()
    )]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// The path has no name for a bag.
    #[error("{} does not name a bag; give a name like `drive.mcap` or `drive`", path.display())]
    Name {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error(
        "{} cannot be created: {source}; give a place that you may write to and that has room",
        path.display()
    )]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// What of a bag is safe on the disk when writing stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Messages.
    pub messages: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Why a message, a topic or the end of a bag was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The disk, quota or file size limit is used up. Nothing that was accepted is lost: the bag
    /// can be finished, or written on once there is space.
    #[error(
        "{} cannot grow by {needed_bytes} bytes: {source}; all {} messages so far ({} bytes) are \
         safe; free some space or record to another disk",
        path.display(), saved.messages, saved.bytes
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Bytes that were asked for.
        needed_bytes: u64,
        /// What is safe.
        saved: Saved,
        /// The operating system's error.
        source: io::Error,
    },
    /// Writing failed in a way that ends the bag. The file was cut back to what is complete.
    #[error(
        "writing {} failed: {reason}; its first {} messages ({} bytes) are safe, but without an \
         index: who plays it looks through the whole file first",
        path.display(), saved.messages, saved.bytes
    )]
    Failed {
        /// The file.
        path: PathBuf,
        /// What happened.
        reason: String,
        /// What is safe.
        saved: Saved,
    },
    /// A topic, type or definition is longer than the file format allows, or there are too many.
    #[error("topic {topic} cannot be written to {}: {reason}", path.display())]
    Topic {
        /// The file.
        path: PathBuf,
        /// The topic.
        topic: String,
        /// What the format does not allow.
        reason: String,
    },
    /// metadata.yaml could not be written; the MCAP file is complete.
    #[error(
        "{} cannot be written: {source}; the .mcap file beside it is complete: open that",
        path.display()
    )]
    Metadata {
        /// metadata.yaml.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// The file that the MCAP library writes into; it can be cut off from it.
struct Sink {
    file: Arc<File>,
    state: Arc<SinkState>,
}

#[derive(Debug, Default)]
struct SinkState {
    /// Bytes that are in the file. Only this writer's thread uses it: Relaxed.
    position: AtomicU64,
    /// No more bytes may reach the file. Only this writer's thread uses it: Relaxed.
    closed: AtomicBool,
}

impl Write for Sink {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if self.state.closed.load(Ordering::Relaxed) {
            return Err(io::Error::other("the bag is closed after an error"));
        }
        let count = (&*self.file).write(buffer)?;
        self.state.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type McapWriter = mcap::Writer<NoSeek<BufWriter<Sink>>>;

/// Bytes in which small records are collected on their way to the file.
const SINK_BUFFER_BYTES: usize = 64 << 10;
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

struct Topic {
    description: TopicDescription,
    channel: u16,
    messages: u64,
    /// Messages of complete chunks.
    saved: u64,
    sequence: u32,
}

/// What has been given to the MCAP library and is not yet in the file.
#[derive(Debug, Default)]
struct OpenChunk {
    bytes: u64,
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
    path: PathBuf,
    folder: Option<PathBuf>,
    options: WriterOptions,
    /// `None` once the bag is finished or has failed.
    mcap: Option<McapWriter>,
    file: Arc<File>,
    sink: Arc<SinkState>,
    reserve: Reserve,
    topics: Vec<Topic>,
    open: OpenChunk,
    chunks: u64,
    definition_bytes: u64,
    /// Bytes of the file after the last complete chunk.
    saved_bytes: u64,
    span_ns: Option<(u64, u64)>,
    joined: Vec<u8>,
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
        options: WriterOptions,
    ) -> Result<BagWriter, CreateBagError> {
        let path = path.as_ref();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| CreateBagError::Name { path: path.to_owned() })?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| creation_error(parent, source))?;
        }
        let (folder, path) = if path.extension().is_some_and(|extension| extension == "mcap") {
            (None, path.to_owned())
        } else {
            fs::create_dir(path).map_err(|source| creation_error(path, source))?;
            (Some(path.to_owned()), path.join(format!("{name}_0.mcap")))
        };
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = Arc::new(file.map_err(|source| creation_error(&path, source))?);
        let sink = Arc::new(SinkState::default());
        let out = Sink { file: Arc::clone(&file), state: Arc::clone(&sink) };
        let created = mcap_options(&options)
            .create(NoSeek::new(BufWriter::with_capacity(SINK_BUFFER_BYTES, out)))
            .and_then(|mut mcap| mcap.flush().map(|()| mcap));
        let mcap = created.map_err(|error| match error {
            mcap::McapError::Io(source) => creation_error(&path, source),
            other => creation_error(&path, io::Error::other(other.to_string())),
        })?;
        let saved_bytes = sink.position.load(Ordering::Relaxed);
        Ok(BagWriter {
            path,
            folder,
            options,
            mcap: Some(mcap),
            file,
            sink,
            reserve: Reserve::new(),
            topics: Vec::new(),
            open: OpenChunk::default(),
            chunks: 0,
            definition_bytes: 0,
            saved_bytes,
            span_ns: None,
            joined: Vec::new(),
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
        Saved { messages, bytes: self.saved_bytes }
    }

    /// Adds a topic; its channel and definition go in front of its first message.
    ///
    /// Allocates. A topic of the same name may be added again with another QoS or type.
    ///
    /// # Errors
    /// When the format cannot hold it, when there is no space, or after a failure.
    pub fn add_topic(&mut self, topic: TopicDescription) -> Result<WrittenTopic, WriteError> {
        let sizes = [&topic.name, &topic.type_name, &topic.definition, &topic.type_hash];
        let lengths = sizes.iter().map(|text| text.len() as u64).sum::<u64>();
        let profiles = write_profiles(&topic.qos, "");
        // The records are in the data and in the summary; the text is in metadata.yaml too.
        let bytes = lengths + profiles.len() as u64 + METADATA_TOPIC_BYTES;
        if bytes > u64::from(u32::MAX) {
            return Err(self.topic_error(&topic.name, "its definition is longer than 4 GiB"));
        }
        self.definition_bytes += bytes;
        if let Err(error) = self.ensure_space(bytes) {
            self.definition_bytes -= bytes;
            return Err(error);
        }
        let metadata = BTreeMap::from([
            ("offered_qos_profiles".to_owned(), profiles),
            ("topic_type_hash".to_owned(), topic.type_hash.clone()),
        ]);
        let Some(mcap) = &mut self.mcap else { return Err(self.closed()) };
        let added = mcap
            .add_schema(&topic.type_name, "ros2msg", topic.definition.as_bytes())
            .and_then(|schema| mcap.add_channel(schema, &topic.name, "cdr", &metadata));
        let channel = match added {
            Ok(channel) => channel,
            Err(mcap::McapError::Io(error)) => return Err(self.fail(&error)),
            Err(error) => return Err(self.topic_error(&topic.name, &error.to_string())),
        };
        self.open.bytes += bytes;
        let known = self.topics.iter().position(|known| known.channel == channel);
        if let Some(known) = known {
            return Ok(WrittenTopic(known));
        }
        self.topics.push(Topic { description: topic, channel, messages: 0, saved: 0, sequence: 0 });
        Ok(WrittenTopic(self.topics.len() - 1))
    }

    /// Writes a message whose CDR bytes are the concatenation of `slices`.
    ///
    /// The bytes are copied into the open chunk (several slices are joined first). Completes the
    /// chunk, which blocks on the file system, when it is large or old enough. Times are in
    /// nanoseconds.
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
    ) -> Result<(), WriteError> {
        let bytes = slices.iter().map(|slice| slice.len() as u64).sum::<u64>();
        self.ensure_space(bytes + MESSAGE_OVERHEAD_BYTES)?;
        let Some(mcap) = &mut self.mcap else { return Err(self.closed()) };
        let target = &mut self.topics[topic.0];
        let header = MessageHeader {
            channel_id: target.channel,
            sequence: target.sequence,
            log_time: log_time_ns,
            publish_time: publish_time_ns,
        };
        let data: &[u8] = match slices {
            [] => &[],
            [one] => one,
            several => {
                self.joined.clear();
                several.iter().for_each(|slice| self.joined.extend_from_slice(slice));
                &self.joined
            }
        };
        if let Err(error) = mcap.write_to_known_channel(&header, data) {
            return Err(self.fail(&error));
        }
        target.sequence = target.sequence.wrapping_add(1);
        target.messages += 1;
        let span = self.span_ns.get_or_insert((log_time_ns, log_time_ns));
        *span = (span.0.min(log_time_ns), span.1.max(log_time_ns));
        self.open.messages += 1;
        self.open.bytes += bytes + MESSAGE_OVERHEAD_BYTES;
        let since = *self.open.since.get_or_insert_with(Instant::now);
        let large = self.open.bytes >= self.options.chunk_bytes as u64;
        if large || since.elapsed() >= self.options.flush_interval {
            self.flush()?;
        }
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
        if self.open.bytes > 0 {
            self.chunks += 1;
        }
        self.open = OpenChunk::default();
        self.saved_bytes = self.sink.position.load(Ordering::Relaxed);
        for topic in &mut self.topics {
            topic.saved = topic.messages;
        }
        Ok(())
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
            self.sink.closed.store(true, Ordering::Relaxed);
            self.mcap = None;
            // What cannot be removed stays as an empty bag, which harms nothing.
            let _ = fs::remove_file(&self.path);
            if let Some(folder) = &self.folder {
                let _ = fs::remove_dir(folder);
            }
        }
    }

    fn close(&mut self) -> Result<Saved, WriteError> {
        self.flush()?;
        let Some(mut mcap) = self.mcap.take() else {
            return Err(self.closed());
        };
        let ended = mcap
            .finish()
            .map_err(|error| error.to_string())
            .and_then(|_| mcap.into_inner().into_inner().flush().map_err(|e| e.to_string()));
        if let Err(reason) = ended {
            return Err(self.fail(&reason));
        }
        self.saved_bytes = self.sink.position.load(Ordering::Relaxed);
        // Gives back the space that was taken beyond the end.
        let settled = self.file.set_len(self.saved_bytes).and_then(|()| self.file.sync_all());
        if let Err(error) = settled {
            return Err(self.fail(&error));
        }
        self.store_metadata()?;
        Ok(self.saved())
    }

    fn store_metadata(&self) -> Result<(), WriteError> {
        let (Some(folder), Some(name)) =
            (&self.folder, self.path.file_name().and_then(|name| name.to_str()))
        else {
            return Ok(());
        };
        let topics = self.topics.iter().map(|topic| TopicCount {
            name: &topic.description.name,
            type_name: &topic.description.type_name,
            type_hash: &topic.description.type_hash,
            qos: &topic.description.qos,
            messages: topic.saved,
        });
        let summary = BagSummary {
            file_name: name,
            span_ns: self.span_ns.unwrap_or((0, 0)),
            topics: topics.collect(),
        };
        summary.store(folder).map_err(|source| WriteError::Metadata {
            path: folder.join(crate::folder::METADATA_NAME),
            source,
        })
    }

    /// Takes space for `more` bytes of data, and for everything that must follow it.
    fn ensure_space(&mut self, more: u64) -> Result<(), WriteError> {
        let channels = self.topics.len() as u64 + 1;
        let data = self.open.bytes + more;
        // Neither LZ4 nor Zstandard makes data larger by more than 1/128 and a few fixed bytes.
        let chunk = data + data / 128 + CHUNK_OVERHEAD_BYTES;
        let indexes = (self.chunks + 2)
            * (CHUNK_OVERHEAD_BYTES + channels * CHANNEL_PER_CHUNK_BYTES)
            + self.open.messages * 16;
        let metadata = METADATA_BYTES + self.definition_bytes;
        let needed = chunk + indexes + 2 * self.definition_bytes + CLOSING_BYTES + metadata;
        let end = self.sink.position.load(Ordering::Relaxed) + needed;
        let Err(source) = self.reserve.ensure(&self.file, end) else { return Ok(()) };
        if self.mcap.is_some() {
            // What was accepted has its space: bring it to the file before anything else happens.
            self.flush()?;
        }
        Err(WriteError::NoSpace {
            path: self.path.clone(),
            needed_bytes: more,
            saved: self.saved(),
            source,
        })
    }

    /// Ends the bag after an error: the file is cut back to its last complete chunk.
    fn fail(&mut self, error: &dyn std::fmt::Display) -> WriteError {
        self.sink.closed.store(true, Ordering::Relaxed);
        self.mcap = None;
        let mut reason = error.to_string();
        if let Err(cut) = self.file.set_len(self.saved_bytes) {
            reason = format!("{reason}, and the file could not be cut back: {cut}");
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

    fn topic_error(&self, topic: &str, reason: &str) -> WriteError {
        WriteError::Topic {
            path: self.path.clone(),
            topic: topic.to_owned(),
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

/// Chunks are collected in memory and written whole; no threads; an index for quick opening.
fn mcap_options(options: &WriterOptions) -> mcap::WriteOptions {
    let compression = match options.compression {
        Compression::None => None,
        Compression::Lz4 => Some(mcap::Compression::Lz4),
        Compression::Zstd => Some(mcap::Compression::Zstd),
    };
    mcap::WriteOptions::new()
        .profile("ros2")
        .library(concat!("crossdock-record ", env!("CARGO_PKG_VERSION")))
        .compression(compression)
        .compression_threads(0)
        .chunk_size(Some(options.chunk_bytes as u64))
        .disable_seeking(true)
}
