//! Writes a trace, bit by bit as it comes.

use super::metadata;
use super::{EXTENDED, MAGIC, METADATA, PACKET_HEAD_BYTES, PROCNAME_BYTES};
use crate::model::{Class, Event, Thread, Trace, Value};
use crate::schema::FieldType;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A packet is written when it has this many bytes.
const PACKET_BYTES: usize = 1 << 18;

/// A trace could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteTraceError {
    /// The folder holds something else.
    #[error("{} is not empty; name a new folder for the trace", folder.display())]
    NotEmpty {
        /// Which one.
        folder: PathBuf,
    },
    /// The system refused.
    #[error(
        "the trace cannot be written: {}: {source}; check the space there and your rights", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Writes a trace into a folder, as it comes.
///
/// `Send`. Blocks on the file system, allocates. Without [`TraceWriter::finish`] what was appended
/// is there all the same, but for what did not fill a packet.
#[derive(Debug)]
pub struct TraceWriter {
    folder: PathBuf,
    uuid: [u8; 16],
    epoch_offset_ns: i64,
    /// Classes that the description on disk has.
    described: usize,
    streams: Vec<Stream>,
}

/// One file: the events of one thread.
#[derive(Debug)]
struct Stream {
    path: PathBuf,
    file: File,
    /// Events of the packet under way.
    content: Vec<u8>,
    begin_ns: u64,
    last_ns: u64,
    packets: u64,
    discarded: u64,
    written_discarded: u64,
}

impl TraceWriter {
    /// Makes the folder, or takes one that is empty.
    ///
    /// # Errors
    /// [`WriteTraceError`] when it holds something, or cannot be written.
    pub fn create(folder: &Path, trace: &Trace) -> Result<Self, WriteTraceError> {
        let failed = |source| WriteTraceError::Io { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        if std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
            return Err(WriteTraceError::NotEmpty { folder: folder.to_owned() });
        }
        let mut writer = Self {
            folder: folder.to_owned(),
            uuid: new_uuid(trace.epoch_offset_ns),
            epoch_offset_ns: trace.epoch_offset_ns,
            described: 0,
            streams: Vec::new(),
        };
        writer.describe(&trace.classes)?;
        Ok(writer)
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the events of `trace`, whose classes and threads must be those of earlier calls or
    /// more. Events of a thread that are out of order get the time of the one before.
    ///
    /// # Errors
    /// [`WriteTraceError`] when the disk is full or the folder has gone.
    pub fn append(&mut self, trace: &Trace) -> Result<(), WriteTraceError> {
        if trace.classes.len() > self.described {
            self.describe(&trace.classes)?;
        }
        while self.streams.len() < trace.threads.len() {
            let number = self.streams.len();
            let stream = Stream::create(&self.folder, &trace.threads[number], number)?;
            self.streams.push(stream);
        }
        for event in &trace.events {
            let known = (self.streams.get_mut(event.thread), trace.classes.get(event.class));
            let (Some(stream), Some(class)) = known else { continue };
            stream.add(&trace.threads[event.thread], class, event);
            if stream.content.len() >= PACKET_BYTES {
                stream.flush(self.uuid, event.thread)?;
            }
        }
        for (stream, thread) in self.streams.iter_mut().zip(&trace.threads) {
            stream.discarded = thread.discarded;
        }
        Ok(())
    }

    /// Writes what has not filled a packet yet.
    ///
    /// # Errors
    /// As [`TraceWriter::append`].
    pub fn flush(&mut self) -> Result<(), WriteTraceError> {
        for (number, stream) in self.streams.iter_mut().enumerate() {
            stream.flush(self.uuid, number)?;
        }
        Ok(())
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// As [`TraceWriter::append`].
    pub fn finish(mut self) -> Result<(), WriteTraceError> {
        self.flush()
    }

    fn describe(&mut self, classes: &[Class]) -> Result<(), WriteTraceError> {
        let path = self.folder.join(METADATA);
        let text = metadata::write(self.uuid, self.epoch_offset_ns, classes);
        std::fs::write(&path, text).map_err(|source| WriteTraceError::Io { path, source })?;
        self.described = classes.len();
        Ok(())
    }
}

/// Names a trace: it need only differ from others of this computer.
fn new_uuid(epoch_offset_ns: i64) -> [u8; 16] {
    let now_ns = crossdock_shm::clock::now_ns();
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&now_ns.to_be_bytes());
    let other = (epoch_offset_ns as u64).rotate_left(17) ^ u64::from(std::process::id()) << 32;
    uuid[8..].copy_from_slice(&other.to_be_bytes());
    // Version 8 (of one's own making), variant 1.
    uuid[6] = uuid[6] & 0x0f | 0x80;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

impl Stream {
    fn create(folder: &Path, thread: &Thread, number: usize) -> Result<Self, WriteTraceError> {
        let path = folder.join(format!("channel_{}_{}_{number}", thread.pid, thread.tid));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|source| WriteTraceError::Io { path: path.clone(), source })?;
        Ok(Self {
            path,
            file,
            content: Vec::with_capacity(PACKET_BYTES + 4096),
            begin_ns: 0,
            last_ns: 0,
            packets: 0,
            discarded: 0,
            written_discarded: 0,
        })
    }

    fn add(&mut self, thread: &Thread, class: &Class, event: &Event) {
        let at_ns = event.at_ns.max(self.last_ns);
        if self.content.is_empty() {
            self.begin_ns = if self.packets == 0 { at_ns } else { self.last_ns };
        }
        self.last_ns = at_ns;
        let out = &mut self.content;
        out.extend(EXTENDED.to_le_bytes());
        out.extend((event.class as u32).to_le_bytes());
        out.extend(at_ns.to_le_bytes());
        out.extend(thread.pid.to_le_bytes());
        out.extend(thread.tid.to_le_bytes());
        let name = thread.name.as_bytes();
        let mut procname = [0; PROCNAME_BYTES];
        let length = name.len().min(PROCNAME_BYTES - 1);
        procname[..length].copy_from_slice(&name[..length]);
        out.extend(procname);
        for ((_, kind), value) in class.fields.iter().zip(&event.values) {
            match (kind, value) {
                (FieldType::I32 | FieldType::U32, value) => {
                    out.extend((value.word() as u32).to_le_bytes());
                }
                (FieldType::F64, Value::Float(number)) => out.extend(number.to_le_bytes()),
                (FieldType::Text, value) => {
                    out.extend(value.text().bytes().filter(|byte| *byte != 0));
                    out.push(0);
                }
                (FieldType::Gid, Value::Gid(gid)) => out.extend(gid),
                (FieldType::Gid, _) => out.extend([0; 16]),
                (_, value) => out.extend(value.word().to_le_bytes()),
            }
        }
    }

    /// Writes the packet under way, if it has events or tells of lost ones.
    fn flush(&mut self, uuid: [u8; 16], number: usize) -> Result<(), WriteTraceError> {
        if self.content.is_empty() && self.discarded == self.written_discarded {
            return Ok(());
        }
        if self.content.is_empty() {
            self.begin_ns = self.last_ns;
        }
        let bits = (PACKET_HEAD_BYTES + self.content.len()) as u64 * 8;
        let mut head = Vec::with_capacity(PACKET_HEAD_BYTES);
        head.extend(MAGIC.to_le_bytes());
        head.extend(uuid);
        head.extend(0u32.to_le_bytes());
        let words = [self.begin_ns, self.last_ns, bits, bits, self.packets, self.discarded];
        head.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        head.extend((number as u32).to_le_bytes());
        debug_assert_eq!(head.len(), PACKET_HEAD_BYTES);
        let failed = |source| WriteTraceError::Io { path: self.path.clone(), source };
        self.file.write_all(&head).map_err(failed)?;
        self.file.write_all(&self.content).map_err(failed)?;
        self.content.clear();
        self.packets += 1;
        self.written_discarded = self.discarded;
        Ok(())
    }
}
