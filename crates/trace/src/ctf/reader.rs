//! Reads a trace that Crossdock has written. Files are other people's input: every length is
//! checked, and a packet is read when its head is sound.

use super::metadata;
use super::{EXTENDED, MAGIC, METADATA, PACKET_HEAD_BYTES, PROCNAME_BYTES};
use crate::model::{Event, Trace, Value};
use crate::schema::{EVENTS, FieldType};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest packet. The writer ends one with the event that makes it 256 KiB long.
const PACKET_BYTES_MAX: u64 = 16_777_216;

/// Longest description.
const METADATA_BYTES_MAX: u64 = 16_777_216;

/// Memory of all events, at most, so that the reader takes less than 1 GiB.
const EVENTS_BYTES_MAX: usize = 805_306_368;

/// An event with its share of the list that grows, of the list's sorting, and of the heap.
const EVENT_BYTES: usize = 144;

/// Least memory of a text beside its bytes.
const TEXT_BYTES: usize = 32;

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
    /// The events need too much memory.
    #[error(
        "{} is not read from byte {byte} on: the events of the trace take more than {limit} bytes of \
         memory; record a shorter time or fewer --events, or read it with babeltrace2",
        path.display()
    )]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// From where on its events are missing.
        byte: usize,
        /// Most bytes.
        limit: usize,
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
/// Takes less than 1 GiB; files give no more events when that is used up.
///
/// # Errors
/// [`ReadTraceError`] says why nothing can be read: the folder holds no trace of ours.
pub fn read(folder: &Path) -> Result<ReadTrace, ReadTraceError> {
    read_within(folder, EVENTS_BYTES_MAX)
}

/// Memory that events may take, and what is left of it.
struct Memory {
    limit: usize,
    left: usize,
}

fn read_within(folder: &Path, limit: usize) -> Result<ReadTrace, ReadTraceError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| ReadTraceError::Io { path, source }
    };
    let path = folder.join(METADATA);
    let (mut file, bytes) = open(&path)?;
    let mut text = Vec::new();
    file.by_ref().take(METADATA_BYTES_MAX).read_to_end(&mut text).map_err(io(&path))?;
    let foreign = |what: String| ReadTraceError::Foreign { path: path.clone(), what };
    if bytes > METADATA_BYTES_MAX {
        return Err(foreign(format!("it has more than {METADATA_BYTES_MAX} bytes")));
    }
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
    let mut memory = Memory { limit, left: limit };
    let read = |path: &PathBuf| stream(path, &mut trace, &mut memory).err();
    let damage = files.iter().filter_map(read).collect();
    trace.sort();
    Ok(ReadTrace { trace, damage })
}

/// Opens a file and gives its length; what is none, such as a pipe that nobody writes, is refused.
fn open(path: &Path) -> Result<(File, u64), ReadTraceError> {
    let io = |source| ReadTraceError::Io { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(io(std::io::Error::other("it is no file")));
    }
    let file = File::open(path).map_err(io)?;
    let bytes = file.metadata().map_err(io)?.len();
    Ok((file, bytes))
}

/// Reads the events of one file, up to its end, the first damage, or the end of the memory.
fn stream(path: &Path, trace: &mut Trace, memory: &mut Memory) -> Result<(), ReadTraceError> {
    let (mut file, bytes) = open(path)?;
    let (mut at, mut buffer) = (0, Vec::new());
    while at < bytes {
        at += packet((&mut file, path), (at, bytes), &mut buffer, trace, memory)?;
    }
    Ok(())
}

/// Adds so many bytes of a file to the buffer, fewer at its end.
fn fill(
    (file, path): (&mut File, &Path),
    bytes: u64,
    buffer: &mut Vec<u8>,
) -> Result<(), ReadTraceError> {
    let read = file.take(bytes).read_to_end(buffer);
    read.map(|_| ()).map_err(|source| ReadTraceError::Io { path: path.to_owned(), source })
}

/// Reads the packet at byte `at` of a file; gives its length.
fn packet(
    (file, path): (&mut File, &Path),
    (at, bytes): (u64, u64),
    buffer: &mut Vec<u8>,
    trace: &mut Trace,
    memory: &mut Memory,
) -> Result<u64, ReadTraceError> {
    buffer.clear();
    fill((file, path), PACKET_HEAD_BYTES as u64, buffer)?;
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let mut head = Cursor { bytes: buffer, start, at: 0, path };
    if head.u32()? != MAGIC {
        return Err(head.damaged("no packet begins here"));
    }
    head.take(16 + 4)?;
    head.take(16)?;
    let content = head.u64()?;
    let size = head.u64()?;
    head.take(8)?;
    let discarded = head.u64()?;
    head.take(4)?;
    let behind = (content / 8).checked_sub(PACKET_HEAD_BYTES as u64);
    let behind =
        behind.filter(|_| content == size && content % 8 == 0 && content / 8 <= bytes - at);
    let Some(behind) = behind else {
        return Err(head.damaged("the packet's size does not fit the file"));
    };
    if content / 8 > PACKET_BYTES_MAX {
        return Err(head.damaged("the packet is longer than 16 MiB"));
    }
    let first = head.at;
    fill((file, path), behind, buffer)?;
    let mut events = Cursor { bytes: buffer, start, at: first, path };
    let mut last = None;
    while events.at < (content / 8) as usize {
        let (byte, limit) = (start.saturating_add(events.at), memory.limit);
        let too_large = || ReadTraceError::TooLarge { path: path.to_owned(), byte, limit };
        let thread = event(&mut events, trace)?;
        let taken = trace.events.last().map_or(0, bytes_of);
        let Some(left) = memory.left.checked_sub(taken) else {
            trace.events.pop();
            return Err(too_large());
        };
        memory.left = left;
        last = Some(thread);
    }
    if let Some(thread) = last {
        let known = &mut trace.threads[thread].discarded;
        *known = discarded.max(*known);
    }
    Ok(content / 8)
}

/// Memory of an event.
fn bytes_of(event: &Event) -> usize {
    let behind = |value: &Value| match value {
        Value::Text(text) => TEXT_BYTES + text.len(),
        _ => 0,
    };
    let behind: usize = event.values.iter().map(behind).sum();
    EVENT_BYTES + event.values.capacity() * size_of::<Value>() + behind
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

/// A place in a packet.
struct Cursor<'a> {
    bytes: &'a [u8],
    /// Byte of the file at which the packet begins.
    start: usize,
    at: usize,
    path: &'a Path,
}

impl<'a> Cursor<'a> {
    fn damaged(&self, what: &'static str) -> ReadTraceError {
        ReadTraceError::Damaged {
            path: self.path.to_owned(),
            byte: self.start.saturating_add(self.at),
            what,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctf::TraceWriter;
    use crate::schema::EventKind;

    #[test]
    fn a_trace_that_needs_more_memory_gives_the_events_that_fit_and_says_where_the_others_begin() {
        let folder =
            std::env::temp_dir().join(format!("crossdock-long-trace-{}", std::process::id()));
        let mut trace = Trace::at(0);
        let thread = trace.thread((1, 1, "main")).expect("room");
        let class = EventKind::ALL.iter().position(|kind| *kind == EventKind::CallbackStart);
        let class = class.expect("a kind");
        let values = vec![Value::Unsigned(1), Value::Signed(0)];
        let event = |at_ns| Event { at_ns, thread, class, values: values.clone() };
        trace.events.extend((0..1000).map(event));
        let mut writer = TraceWriter::create(&folder, &trace).expect("a folder");
        writer.append(&trace).expect("room");
        writer.finish().expect("room");
        let read = read_within(&folder, 100 * bytes_of(&trace.events[0]) + 1);
        let whole = read_within(&folder, 1000 * bytes_of(&trace.events[0]));
        std::fs::remove_dir_all(&folder).expect("a folder");
        let read = read.expect("our own");
        assert_eq!(read.trace.events, trace.events[..100]);
        let [ReadTraceError::TooLarge { byte, .. }] = read.damage[..] else {
            panic!("{:?}", read.damage)
        };
        assert_eq!((byte - PACKET_HEAD_BYTES) % 100, 0, "an event begins at byte {byte}");
        let whole = whole.expect("our own");
        assert_eq!((whole.trace, whole.damage.len()), (trace, 0));
    }
}
