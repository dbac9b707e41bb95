//! Reads a trace that Crossdock has written. Files are other people's input: every length is
//! checked.

use super::metadata;
use super::{EXTENDED, MAGIC, METADATA, PACKET_HEAD_BYTES, PROCNAME_BYTES};
use crate::model::{Event, Trace, Value};
use crate::schema::{EVENTS, FieldType};
use std::path::{Path, PathBuf};

/// A trace could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadTraceError {
    /// The system refused.
    #[error("{} cannot be read: {source}; name the folder of a trace", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The description is not one of ours.
    #[error(
        "{} was not written by this version of Crossdock: {what}; read it with babeltrace2",
        path.display()
    )]
    Foreign {
        /// The description.
        path: PathBuf,
        /// Where it differs.
        what: String,
    },
    /// A file does not hold what the description says.
    #[error("{} is damaged at byte {byte}: {what}; its events from there on are missing", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where.
        byte: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// What could be read of a trace.
#[derive(Debug)]
pub struct ReadTrace {
    /// Its events, in order of time.
    pub trace: Trace,
    /// Of each file that could not be read to its end: from where on its events are missing, and
    /// why.
    pub damage: Vec<ReadTraceError>,
}

/// Reads a whole trace into memory. A stream that is damaged gives the events before the damage.
///
/// # Errors
/// [`ReadTraceError`] says why nothing can be read: the folder holds no trace of ours.
pub fn read(folder: &Path) -> Result<ReadTrace, ReadTraceError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| ReadTraceError::Io { path, source }
    };
    let path = folder.join(METADATA);
    let text = read_file(&path)?;
    let foreign = |what: String| ReadTraceError::Foreign { path: path.clone(), what };
    let text = String::from_utf8(text).map_err(|_| foreign("it is no text".to_owned()))?;
    let described = metadata::read(&text).map_err(foreign)?;
    let mut trace = Trace::at(described.epoch_offset_ns);
    if described.classes.get(..EVENTS.len()) != Some(&trace.classes[..]) {
        return Err(foreign("it has other events".to_owned()));
    }
    trace.classes = described.classes;
    let entries = std::fs::read_dir(folder).map_err(io(folder))?;
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.map_err(io(folder))?;
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with('.') && name != METADATA {
            files.push(entry.path());
        }
    }
    files.sort();
    let read = |path: &PathBuf| stream(path, &mut trace).err();
    let damage = files.iter().filter_map(read).collect();
    trace.sort();
    Ok(ReadTrace { trace, damage })
}

/// Reads the events of one file, up to its end or the first damage.
fn stream(path: &Path, trace: &mut Trace) -> Result<(), ReadTraceError> {
    let bytes = read_file(path)?;
    let mut packets = Cursor { bytes: &bytes, at: 0, path };
    while packets.at < bytes.len() {
        packet(&mut packets, trace)?;
    }
    Ok(())
}

/// Reads a file; what is none, such as a pipe that nobody writes, is refused.
fn read_file(path: &Path) -> Result<Vec<u8>, ReadTraceError> {
    let io = |source| ReadTraceError::Io { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(io(std::io::Error::other("it is no file")));
    }
    std::fs::read(path).map_err(io)
}

/// Reads one packet.
fn packet(file: &mut Cursor<'_>, trace: &mut Trace) -> Result<(), ReadTraceError> {
    let start = file.at;
    if file.u32()? != MAGIC {
        return Err(file.damaged("no packet begins here"));
    }
    file.take(16 + 4)?;
    file.take(16)?;
    let content = file.u64()?;
    let size = file.u64()?;
    file.take(8)?;
    let discarded = file.u64()?;
    file.take(4)?;
    let end = start.checked_add((content / 8) as usize).filter(|end| *end <= file.bytes.len());
    let legal = content == size && content % 8 == 0 && content / 8 >= PACKET_HEAD_BYTES as u64;
    let Some(end) = end.filter(|_| legal) else {
        return Err(file.damaged("the packet's size does not fit the file"));
    };
    let mut events = Cursor { bytes: &file.bytes[..end], at: file.at, path: file.path };
    let mut last = None;
    while events.at < end {
        last = Some(event(&mut events, trace)?);
    }
    if let Some(thread) = last {
        let known = &mut trace.threads[thread].discarded;
        *known = discarded.max(*known);
    }
    file.at = end;
    Ok(())
}

/// Reads one event; gives its thread.
fn event(file: &mut Cursor<'_>, trace: &mut Trace) -> Result<usize, ReadTraceError> {
    if file.u16()? != EXTENDED {
        return Err(file.damaged("an event without extended header"));
    }
    let class = file.u32()? as usize;
    let at_ns = file.u64()?;
    let (pid, tid) = (file.u32()?, file.u32()?);
    let procname = file.take(PROCNAME_BYTES)?;
    let name = procname.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    let thread = trace.thread((pid, tid, &name));
    let thread = thread.ok_or_else(|| file.damaged("there are too many threads"))?;
    let fields = trace.classes.get(class).map_or(0, |class| class.fields.len());
    let mut values = Vec::with_capacity(fields);
    let unknown = || file.damaged("an event of no known kind");
    for (_, kind) in &trace.classes.get(class).ok_or_else(unknown)?.fields {
        values.push(match kind {
            FieldType::I32 | FieldType::U32 => Value::of_word(*kind, file.u32()?.into()),
            FieldType::Text => {
                let rest = &file.bytes[file.at..];
                let length = rest.iter().position(|byte| *byte == 0);
                let length = length.ok_or_else(|| file.damaged("a text without end"))?;
                let text = file.take(length)?;
                let text = Value::Text(String::from_utf8_lossy(text).into_owned());
                file.take(1)?;
                text
            }
            FieldType::Gid => {
                let mut gid = [0; 16];
                gid.copy_from_slice(file.take(16)?);
                Value::Gid(gid)
            }
            kind => Value::of_word(*kind, file.u64()?),
        });
    }
    trace.events.push(Event { at_ns, thread, class, values });
    Ok(thread)
}

/// A place in a file.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    path: &'a Path,
}

impl<'a> Cursor<'a> {
    fn damaged(&self, what: &'static str) -> ReadTraceError {
        ReadTraceError::Damaged { path: self.path.to_owned(), byte: self.at, what }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ReadTraceError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..length).ok_or_else(|| self.damaged("it ends too early"))?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadTraceError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, ReadTraceError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, ReadTraceError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, ReadTraceError> {
        self.array().map(u64::from_le_bytes)
    }
}
