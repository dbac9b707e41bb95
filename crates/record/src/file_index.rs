//! Finds out what one MCAP file holds: its channels, and where its messages lie.
//!
//! A finished file has a summary, which is checked against itself. Ranges that the summary does not
//! explain are walked record by record. A file without a usable summary is walked as a whole,
//! chunks included, so a truncated file gives all its messages. Memory is bounded by the file's own
//! size and by named limits.

use crate::chunk::{CHUNK_HEAD_BYTES_MAX, ChunkDecoder, ChunkHead, Window};
use crate::damage::{Damage, DamageKind, Damages};
use crate::fields::{Fields, RECORD_HEAD_BYTES, split_record};
use crate::options::Opening;
use mcap::MAGIC;
use mcap::records::op;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of loose messages (outside chunks) that are read together: the usual size of a chunk.
const RUN_BYTES: u64 = 1 << 20;
/// All schema and channel records of a file together; real bags have some 100 KiB.
pub(crate) const DEFINITIONS_BYTES_MAX: u64 = 64 << 20;
/// Largest summary: a million chunks at 64 bytes of index each.
const SUMMARY_BYTES_MAX: u64 = 256 << 20;
/// Opcode, length, three fields of the footer and the closing magic.
const FOOTER_BYTES: u64 = 9 + 20 + 8;

/// A range of the file that holds messages and is read as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) kind: SegmentKind,
    /// Where its first record starts.
    pub(crate) offset: u64,
    /// Where it ends.
    pub(crate) end: u64,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    Chunk,
    /// A chunk inside which the file ends.
    CutChunk,
    /// Message records outside any chunk, one behind the other.
    Run,
    /// Pages of a SQLite file; offset and end are places in the list of its pages.
    Rows,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaRecord {
    pub(crate) name: String,
    pub(crate) encoding: String,
    pub(crate) text: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelRecord {
    pub(crate) schema: u16,
    pub(crate) topic: String,
    pub(crate) encoding: String,
    pub(crate) metadata: BTreeMap<String, String>,
}

/// What one file holds.
#[derive(Debug, Clone)]
pub(crate) struct FileIndex {
    pub(crate) path: PathBuf,
    pub(crate) schemas: BTreeMap<u16, SchemaRecord>,
    pub(crate) channels: BTreeMap<u16, ChannelRecord>,
    /// Sorted by first log time, then by place.
    pub(crate) segments: Vec<Segment>,
    /// Messages that the file holds as far as it could be read.
    pub(crate) message_count: u64,
    /// Messages of each channel, as far as it is known.
    pub(crate) counts: BTreeMap<u16, u64>,
    /// First and last log time; `None` without messages.
    pub(crate) span_ns: Option<(u64, u64)>,
    pub(crate) damages: Damages,
}

impl FileIndex {
    /// Of a file that nothing is known about yet.
    pub(crate) fn new(path: &Path) -> FileIndex {
        FileIndex {
            path: path.to_owned(),
            schemas: BTreeMap::new(),
            channels: BTreeMap::new(),
            segments: Vec::new(),
            message_count: 0,
            counts: BTreeMap::new(),
            span_ns: None,
            damages: Damages::default(),
        }
    }

    /// Counts a message that was found.
    pub(crate) fn count(&mut self, channel: Option<u16>, log_ns: u64) {
        self.message_count += 1;
        if let Some(channel) = channel {
            *self.counts.entry(channel).or_default() += 1;
        }
        let span = self.span_ns.get_or_insert((log_ns, log_ns));
        *span = (span.0.min(log_ns), span.1.max(log_ns));
    }

    /// Looks through `file`, which starts with the MCAP magic.
    pub(crate) fn build(path: &Path, file: &File, opening: Opening<'_>) -> io::Result<FileIndex> {
        let length = file.metadata()?.len();
        if let Some(index) = Builder::new(path, file, length, opening).read_by_summary() {
            return Ok(index);
        }
        let mut builder = Builder::new(path, file, length, opening);
        builder.walk(MAGIC.len() as u64, length);
        Ok(builder.finish())
    }
}

/// How a walk over a range of records ended.
#[derive(Debug, PartialEq, Eq)]
enum WalkEnd {
    /// At a record that closes the data section.
    Closed,
    /// At the end of the range.
    Range,
    /// At a record that cannot be passed.
    Broken,
}

struct Builder<'f> {
    file: &'f File,
    length: u64,
    window: Window<'f>,
    plain: Vec<u8>,
    decoder: ChunkDecoder,
    /// Bytes of chunks that may still be decompressed.
    plain_bytes_left: u64,
    opening: Opening<'f>,
    definitions_bytes: u64,
    index: FileIndex,
}

impl<'f> Builder<'f> {
    fn new(path: &Path, file: &'f File, length: u64, opening: Opening<'f>) -> Self {
        Builder {
            file,
            length,
            window: Window::new(file),
            plain: Vec::new(),
            decoder: ChunkDecoder::default(),
            plain_bytes_left: opening
                .options
                .expansion_bytes_free
                .saturating_add(length.saturating_mul(opening.options.expansion_max)),
            opening,
            definitions_bytes: 0,
            index: FileIndex::new(path),
        }
    }

    fn damage(&mut self, offset: u64, kind: DamageKind) {
        self.index.damages.add(Damage { path: self.index.path.clone(), offset, kind });
    }

    fn finish(mut self) -> FileIndex {
        self.index.segments.sort_by_key(|segment| (segment.start_ns, segment.offset));
        self.index
    }

    /// Builds the index from the summary; `None` when there is none that can be trusted.
    fn read_by_summary(mut self) -> Option<FileIndex> {
        let footer_offset = self.length.checked_sub(FOOTER_BYTES)?;
        let footer = self.window.at(footer_offset, FOOTER_BYTES as usize).ok()?;
        let (opcode, body, magic) = split_record(footer)?;
        if opcode != op::FOOTER || magic != MAGIC {
            return None;
        }
        let mut fields = Fields::new(body);
        let (start, _, checksum) = (fields.u64()?, fields.u64()?, fields.u32()?);
        let bytes = footer_offset.checked_sub(start)?;
        if start < MAGIC.len() as u64 || bytes > SUMMARY_BYTES_MAX {
            return None;
        }
        // The checksum covers the summary and the footer up to the checksum itself.
        let covered = bytes + FOOTER_BYTES - 12;
        let summary = self.window.at(start, usize::try_from(covered).ok()?).ok()?.to_vec();
        if summary.len() as u64 != covered {
            return None;
        }
        if checksum != 0 && crc32fast::hash(&summary) != checksum {
            return None;
        }
        let mut chunks = self.read_summary(summary.get(..usize::try_from(bytes).ok()?)?)?;
        chunks.sort_by_key(|chunk| chunk.offset);
        self.fill_gaps(&chunks, start)?;
        Some(self.finish())
    }

    /// Takes over the summary's records; `None` when they do not fit together.
    fn read_summary(&mut self, mut rest: &[u8]) -> Option<Vec<ChunkEntry>> {
        let mut chunks = Vec::new();
        let mut statistics = None;
        while !rest.is_empty() {
            let (opcode, body, tail) = split_record(rest)?;
            match opcode {
                op::SCHEMA | op::CHANNEL => self.define(opcode, body).ok()?,
                op::CHUNK_INDEX => chunks.push(ChunkEntry::parse(body)?),
                op::STATISTICS => statistics = Some(Statistics::parse(body)?),
                _ => {}
            }
            rest = tail;
        }
        let statistics = statistics?;
        let complete = statistics.chunk_count as usize == chunks.len()
            && statistics.channel_count as usize == self.index.channels.len()
            && usize::from(statistics.schema_count) == self.index.schemas.len();
        self.index.message_count = statistics.message_count;
        self.index.span_ns = statistics.span_ns;
        self.index.counts = statistics.counts;
        complete.then_some(chunks)
    }

    /// Makes segments of the indexed chunks and walks what lies between them.
    fn fill_gaps(&mut self, chunks: &[ChunkEntry], data_end: u64) -> Option<()> {
        let counted = (self.index.message_count, self.index.span_ns, self.index.counts.clone());
        let mut at = MAGIC.len() as u64;
        for chunk in chunks {
            let end = chunk.offset.checked_add(chunk.bytes)?;
            if chunk.offset < at || end > data_end {
                return None;
            }
            // A damaged gap is reported; the chunks behind it are known from the index.
            if self.walk(at, chunk.offset) == WalkEnd::Closed {
                return None;
            }
            self.index.segments.push(Segment {
                kind: SegmentKind::Chunk,
                offset: chunk.offset,
                end,
                start_ns: chunk.start_ns,
                end_ns: chunk.end_ns,
            });
            at = end.checked_add(chunk.message_index_bytes)?;
        }
        if at > data_end {
            return None;
        }
        self.walk(at, data_end);
        let index = &mut self.index;
        (index.message_count, index.span_ns, index.counts) = counted;
        Some(())
    }

    /// Goes through the records of `from .. to` without looking into indexed chunks.
    fn walk(&mut self, from: u64, to: u64) -> WalkEnd {
        let mut at = from;
        while at < to {
            (self.opening.progress)(at, self.length);
            let head = match self.window.at(at, RECORD_HEAD_BYTES) {
                Ok(head) => head,
                Err(error) => return self.broken(at, error.into()),
            };
            let Some((&opcode, mut fields)) =
                head.split_first().map(|(opcode, rest)| (opcode, Fields::new(rest)))
            else {
                return self.broken(at, DamageKind::Truncated);
            };
            let Some(bytes) = fields.u64() else {
                return self.broken(at, DamageKind::Truncated);
            };
            let body = at + RECORD_HEAD_BYTES as u64;
            let end = body.saturating_add(bytes);
            if opcode == 0 {
                return self.broken(at, DamageKind::Malformed("its kind is 0"));
            }
            if body > to {
                // What the index leaves between two chunks is shorter than any record.
                return self.broken(at, DamageKind::Malformed("it reaches into the next record"));
            }
            if matches!(opcode, op::DATA_END | op::FOOTER) && end <= to {
                return WalkEnd::Closed;
            }
            let cut = end > to;
            if let Err(kind) = self.visit(opcode, at, body, end.min(to), cut) {
                self.damage(at, kind);
            }
            if cut && to == self.length {
                return self.broken(at, DamageKind::Truncated);
            }
            if cut {
                return self.broken(at, DamageKind::Malformed("it reaches into the next record"));
            }
            at = end;
        }
        if to == self.length {
            self.damage(at, DamageKind::Unfinished);
        }
        WalkEnd::Range
    }

    fn broken(&mut self, at: u64, kind: DamageKind) -> WalkEnd {
        self.damage(at, kind);
        WalkEnd::Broken
    }

    /// Takes over one record of the data section whose body lies at `body .. end`.
    fn visit(
        &mut self,
        opcode: u8,
        at: u64,
        body: u64,
        end: u64,
        cut: bool,
    ) -> Result<(), DamageKind> {
        match opcode {
            op::CHUNK => self.visit_chunk(at, body, end, cut),
            op::MESSAGE if !cut => self.visit_loose(at, body, end),
            op::SCHEMA | op::CHANNEL if !cut => {
                let bytes = end - body;
                if bytes > DEFINITIONS_BYTES_MAX {
                    let limit_bytes = DEFINITIONS_BYTES_MAX;
                    return Err(DamageKind::TooLarge { bytes, limit_bytes });
                }
                let body = self.window.at(body, bytes as usize)?.to_vec();
                self.define(opcode, &body)
            }
            _ => Ok(()),
        }
    }

    fn visit_chunk(&mut self, at: u64, body: u64, end: u64, cut: bool) -> Result<(), DamageKind> {
        let head_bytes = (end - body).min(CHUNK_HEAD_BYTES_MAX as u64) as usize;
        let parsed = ChunkHead::parse(self.window.at(body, head_bytes)?);
        let head = match parsed {
            // A file that ends inside the fields is truncated, which the caller reports.
            Err(DamageKind::Malformed(_)) if cut => return Ok(()),
            other => other?,
        };
        let mut plain = std::mem::take(&mut self.plain);
        let limit_bytes = self.opening.options.record_bytes_max.min(self.plain_bytes_left);
        let buffers = (&mut self.decoder, &mut plain);
        let result = head.decode(self.file, body, end - body, cut, limit_bytes, buffers);
        self.plain_bytes_left = self.plain_bytes_left.saturating_sub(plain.len() as u64);
        let result = result.and_then(|()| self.visit_plain(&plain, cut));
        self.plain = plain;
        if head.plain_bytes() > limit_bytes && limit_bytes < self.opening.options.record_bytes_max {
            return Err(DamageKind::Expands { ratio: self.opening.options.expansion_max });
        }
        if let Some((start_ns, end_ns)) = result? {
            let kind = if cut { SegmentKind::CutChunk } else { SegmentKind::Chunk };
            self.index.segments.push(Segment { kind, offset: at, end, start_ns, end_ns });
        }
        Ok(())
    }

    /// Goes through the records of a chunk; gives first and last log time if it holds messages.
    fn visit_plain(&mut self, plain: &[u8], cut: bool) -> Result<Option<(u64, u64)>, DamageKind> {
        let mut rest = plain;
        let mut span_ns: Option<(u64, u64)> = None;
        while let Some((opcode, body, tail)) = split_record(rest) {
            match opcode {
                op::SCHEMA | op::CHANNEL => self.define(opcode, body)?,
                op::MESSAGE => {
                    let head = MessageHead::parse(body)
                        .ok_or(DamageKind::Malformed("the fields of a message are cut"))?;
                    let span = span_ns.get_or_insert((head.log_ns, head.log_ns));
                    *span = (span.0.min(head.log_ns), span.1.max(head.log_ns));
                    self.index.count(Some(head.channel), head.log_ns);
                }
                _ => {}
            }
            rest = tail;
        }
        if !rest.is_empty() && !cut {
            return Err(DamageKind::Malformed("the last record of a chunk is cut"));
        }
        Ok(span_ns)
    }

    /// Adds a message outside any chunk to the run before it, or starts a new run.
    fn visit_loose(&mut self, at: u64, body: u64, end: u64) -> Result<(), DamageKind> {
        if end - at > self.opening.options.record_bytes_max {
            let limit_bytes = self.opening.options.record_bytes_max;
            return Err(DamageKind::TooLarge { bytes: end - at, limit_bytes });
        }
        let bytes = (end - body).min(MessageHead::BYTES as u64) as usize;
        let head = MessageHead::parse(self.window.at(body, bytes)?)
            .ok_or(DamageKind::Malformed("the fields of a message are cut"))?;
        self.index.count(Some(head.channel), head.log_ns);
        let last = self.index.segments.last_mut();
        let grows = |run: &&mut Segment| {
            run.kind == SegmentKind::Run && run.end == at && end - run.offset <= RUN_BYTES
        };
        if let Some(run) = last.filter(grows) {
            run.end = end;
            run.start_ns = run.start_ns.min(head.log_ns);
            run.end_ns = run.end_ns.max(head.log_ns);
            return Ok(());
        }
        let kind = SegmentKind::Run;
        let (start_ns, end_ns) = (head.log_ns, head.log_ns);
        self.index.segments.push(Segment { kind, offset: at, end, start_ns, end_ns });
        Ok(())
    }

    /// Takes over a schema or channel record. The first one of an id counts.
    fn define(&mut self, opcode: u8, body: &[u8]) -> Result<(), DamageKind> {
        let mut fields = Fields::new(body);
        let cut = DamageKind::Malformed("the fields of a schema or channel are cut");
        let id = fields.u16().ok_or(cut.clone())?;
        let known = match opcode {
            op::SCHEMA => self.index.schemas.contains_key(&id),
            _ => self.index.channels.contains_key(&id),
        };
        // Writers repeat definitions; only the first one of an id costs memory.
        if known {
            return Ok(());
        }
        self.definitions_bytes += body.len() as u64;
        if self.definitions_bytes > DEFINITIONS_BYTES_MAX {
            let limit_bytes = DEFINITIONS_BYTES_MAX;
            return Err(DamageKind::TooLarge { bytes: self.definitions_bytes, limit_bytes });
        }
        if opcode == op::SCHEMA {
            let schema = SchemaRecord::parse(fields).ok_or(cut)?;
            self.index.schemas.insert(id, schema);
        } else {
            let channel = ChannelRecord::parse(fields).ok_or(cut)?;
            self.index.channels.insert(id, channel);
        }
        Ok(())
    }
}

impl SchemaRecord {
    fn parse(mut fields: Fields<'_>) -> Option<Self> {
        let (name, encoding) = (fields.string()?.to_owned(), fields.string()?.to_owned());
        Some(SchemaRecord { name, encoding, text: fields.prefixed()?.to_vec() })
    }
}

impl ChannelRecord {
    fn parse(mut fields: Fields<'_>) -> Option<Self> {
        let schema = fields.u16()?;
        let (topic, encoding) = (fields.string()?.to_owned(), fields.string()?.to_owned());
        let mut pairs = Fields::new(fields.prefixed()?);
        let mut metadata = BTreeMap::new();
        while !pairs.rest().is_empty() {
            metadata.insert(pairs.string()?.to_owned(), pairs.string()?.to_owned());
        }
        Some(ChannelRecord { schema, topic, encoding, metadata })
    }
}

/// The fields in front of a message's payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageHead {
    pub(crate) channel: u16,
    pub(crate) log_ns: u64,
    pub(crate) publish_ns: u64,
}

impl MessageHead {
    /// Bytes of the fields, which the payload follows.
    pub(crate) const BYTES: usize = 2 + 4 + 8 + 8;

    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (channel, _sequence) = (fields.u16()?, fields.u32()?);
        Some(MessageHead { channel, log_ns: fields.u64()?, publish_ns: fields.u64()? })
    }
}

/// One chunk in the summary's index.
#[derive(Debug)]
struct ChunkEntry {
    start_ns: u64,
    end_ns: u64,
    offset: u64,
    bytes: u64,
    message_index_bytes: u64,
}

impl ChunkEntry {
    fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (start_ns, end_ns) = (fields.u64()?, fields.u64()?);
        let (offset, bytes) = (fields.u64()?, fields.u64()?);
        let _offsets_of_indexes = fields.prefixed()?;
        Some(ChunkEntry { start_ns, end_ns, offset, bytes, message_index_bytes: fields.u64()? })
    }
}

/// The counts of the summary that tell whether it is complete.
struct Statistics {
    message_count: u64,
    schema_count: u16,
    channel_count: u32,
    chunk_count: u32,
    span_ns: Option<(u64, u64)>,
    counts: BTreeMap<u16, u64>,
}

impl Statistics {
    fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(body);
        let (message_count, schema_count) = (fields.u64()?, fields.u16()?);
        let (channel_count, _attachments, _metadata) =
            (fields.u32()?, fields.u32()?, fields.u32()?);
        let chunk_count = fields.u32()?;
        let span_ns = (fields.u64()?, fields.u64()?);
        let span_ns = Some(span_ns).filter(|_| message_count > 0);
        let mut pairs = Fields::new(fields.prefixed()?);
        let mut counts = BTreeMap::new();
        while !pairs.rest().is_empty() {
            counts.insert(pairs.u16()?, pairs.u64()?);
        }
        Some(Statistics {
            message_count,
            schema_count,
            channel_count,
            chunk_count,
            span_ns,
            counts,
        })
    }
}
