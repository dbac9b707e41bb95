//! Writes one MCAP file: chunk by chunk, then the closing records.
//!
//! Messages are collected into a chunk in memory. A long message that is not to be compressed goes
//! to the file from where it lies, as a chunk of its own.

use crate::writer::Compression;
use mcap::MAGIC;
use mcap::records::op;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, Write};

/// Bytes from which a message that is not to be compressed is written from where it lies. Copying
/// fewer costs less than a chunk of their own.
pub(crate) const DIRECT_BYTES_MIN: u64 = 64 << 10;

const TOO_MANY_CHANNELS: &str =
    "a file holds at most 65536 topics; choose some of them, and the others for another bag";
const TOO_MANY_TYPES: &str =
    "a file holds at most 65535 types; choose some of the topics, and the others for another bag";

/// Key of a channel's metadata: the hash of its type.
pub(crate) const TYPE_HASH_KEY: &str = "topic_type_hash";

/// What stands in front of a message's payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageFields {
    pub(crate) channel: u16,
    pub(crate) sequence: u32,
    pub(crate) log_ns: u64,
    pub(crate) publish_ns: u64,
}

/// The chunk that grows.
#[derive(Debug, Default)]
struct OpenChunk {
    plain: Vec<u8>,
    /// Time and place of each message, by channel.
    index: Vec<Vec<(u64, u64)>>,
    span_ns: Option<(u64, u64)>,
}

/// A file that is written.
pub(crate) struct McapFile {
    file: File,
    /// Bytes in the file.
    position: u64,
    compression: Compression,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    /// Records of schemas and of channels, for the summary.
    schemas: Vec<u8>,
    channels: Vec<u8>,
    schema_ids: BTreeMap<(String, String), u16>,
    /// Messages of each channel in complete chunks.
    counts: Vec<u64>,
    open: OpenChunk,
    /// Records of the chunks, for the summary.
    chunk_index: Vec<u8>,
    chunks: u32,
    span_ns: Option<(u64, u64)>,
    /// Memory that is used again: what stands in front of a chunk, its data, what stands behind.
    head: Vec<u8>,
    packed: Vec<u8>,
    tail: Vec<u8>,
}

impl McapFile {
    /// Begins the file, which is empty.
    pub(crate) fn begin(file: File, compression: Compression) -> io::Result<McapFile> {
        let compressor = match compression {
            Compression::Zstd => {
                Some(zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?)
            }
            _ => None,
        };
        let mut start = MAGIC.to_vec();
        record(&mut start, op::HEADER, |body| {
            put_text(body, "ros2");
            put_text(body, concat!("crossdock-record ", env!("CARGO_PKG_VERSION")));
        });
        let mut mcap = McapFile {
            file,
            position: 0,
            compression,
            compressor,
            schemas: Vec::new(),
            channels: Vec::new(),
            schema_ids: BTreeMap::new(),
            counts: Vec::new(),
            open: OpenChunk::default(),
            chunk_index: Vec::new(),
            chunks: 0,
            span_ns: None,
            head: Vec::new(),
            packed: Vec::new(),
            tail: Vec::new(),
        };
        mcap.put_all(&mut [IoSlice::new(&start)])?;
        Ok(mcap)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Bytes in the file.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn chunks(&self) -> u64 {
        u64::from(self.chunks)
    }

    /// First and last log time of complete chunks.
    pub(crate) fn span_ns(&self) -> Option<(u64, u64)> {
        self.span_ns
    }

    /// Adds a channel. The format numbers channels and types with 16 bits.
    ///
    /// # Errors
    /// There are no more numbers, as a phrase with the next step.
    pub(crate) fn add_channel(
        &mut self,
        topic: &str,
        (type_name, definition): (&str, &str),
        metadata: &[(&str, &str)],
    ) -> Result<u16, &'static str> {
        let channel = u16::try_from(self.counts.len()).map_err(|_| TOO_MANY_CHANNELS)?;
        let key = (type_name.to_owned(), definition.to_owned());
        let hashed = metadata.iter().any(|(key, hash)| *key == TYPE_HASH_KEY && !hash.is_empty());
        let known = hashed || !definition.is_empty();
        let schema = match self.schema_ids.get(&key) {
            Some(schema) => *schema,
            None => {
                // 0 is no schema.
                let schema =
                    u16::try_from(self.schema_ids.len() + 1).map_err(|_| TOO_MANY_TYPES)?;
                let start = self.schemas.len();
                record(&mut self.schemas, op::SCHEMA, |body| {
                    body.extend(schema.to_le_bytes());
                    put_text(body, type_name);
                    // Of a type that nothing is known of. Definitions of known types may be empty.
                    put_text(body, if known { "ros2msg" } else { "" });
                    put_text(body, definition);
                });
                self.open.plain.extend_from_slice(&self.schemas[start..]);
                self.schema_ids.insert(key, schema);
                schema
            }
        };
        let start = self.channels.len();
        record(&mut self.channels, op::CHANNEL, |body| {
            body.extend(channel.to_le_bytes());
            body.extend(schema.to_le_bytes());
            put_text(body, topic);
            put_text(body, "cdr");
            sized(body, |pairs| {
                for (key, value) in metadata {
                    put_text(pairs, key);
                    put_text(pairs, value);
                }
            });
        });
        self.open.plain.extend_from_slice(&self.channels[start..]);
        self.open.index.push(Vec::new());
        self.counts.push(0);
        Ok(channel)
    }

    /// Bytes of the open chunk.
    pub(crate) fn open_bytes(&self) -> u64 {
        self.open.plain.len() as u64
    }

    /// Whether a message of this size is written from where it lies.
    pub(crate) fn is_direct(&self, bytes: u64) -> bool {
        !self.packs() && bytes >= DIRECT_BYTES_MIN
    }

    /// Whether chunks are compressed.
    fn packs(&self) -> bool {
        matches!(self.compression, Compression::Lz4 | Compression::Zstd)
    }

    /// Copies a message into the open chunk.
    pub(crate) fn collect(&mut self, fields: MessageFields, slices: &[IoSlice<'_>]) {
        let bytes = slices.iter().map(|slice| slice.len()).sum::<usize>();
        let chunk = &mut self.open;
        let place = chunk.plain.len() as u64;
        put_message_head(&mut chunk.plain, fields, bytes);
        slices.iter().for_each(|slice| chunk.plain.extend_from_slice(slice));
        chunk.index[usize::from(fields.channel)].push((fields.log_ns, place));
        widen(&mut chunk.span_ns, fields.log_ns);
    }

    /// Completes the open chunk, if anything is in it.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.open.plain.is_empty() {
            return Ok(());
        }
        let plain = std::mem::take(&mut self.open.plain);
        let mut packed = std::mem::take(&mut self.packed);
        let done = self.pack(&plain, &mut packed).and_then(|()| {
            let data: &[u8] = if self.packs() { &packed } else { &plain };
            let span_ns = self.open.span_ns.unwrap_or((0, 0));
            let checksum = crc32fast::hash(&plain);
            self.put_chunk(span_ns, plain.len() as u64, checksum, &mut [IoSlice::new(data)])
        });
        self.packed = packed;
        self.open.plain = plain;
        self.open.plain.clear();
        if let Some((first, last)) = self.open.span_ns.take() {
            widen(&mut self.span_ns, first);
            widen(&mut self.span_ns, last);
        }
        done
    }

    /// Writes a message from where it lies, as a chunk of its own. The open chunk comes first.
    pub(crate) fn write_direct(
        &mut self,
        fields: MessageFields,
        slices: &[IoSlice<'_>],
    ) -> io::Result<()> {
        self.flush()?;
        let bytes = slices.iter().map(|slice| slice.len()).sum::<usize>();
        let mut front = Vec::with_capacity(MESSAGE_HEAD_BYTES);
        put_message_head(&mut front, fields, bytes);
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&front);
        slices.iter().for_each(|slice| checksum.update(slice));
        self.open.index[usize::from(fields.channel)].push((fields.log_ns, 0));
        widen(&mut self.span_ns, fields.log_ns);
        let plain_bytes = (front.len() + bytes) as u64;
        let mut parts: Vec<IoSlice<'_>> = Vec::with_capacity(slices.len() + 1);
        parts.push(IoSlice::new(&front));
        parts.extend_from_slice(slices);
        let span_ns = (fields.log_ns, fields.log_ns);
        self.put_chunk(span_ns, plain_bytes, checksum.finalize(), &mut parts)
    }

    /// Completes the file; it grows no more.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        let mut end = Vec::new();
        record(&mut end, op::DATA_END, |body| body.extend(0_u32.to_le_bytes()));
        let data_end = self.position + end.len() as u64;
        let mut summary = Vec::new();
        let mut groups = Vec::new();
        let mut statistics = Vec::new();
        record(&mut statistics, op::STATISTICS, |body| self.put_statistics(body));
        for (opcode, records) in [
            (op::SCHEMA, &self.schemas),
            (op::CHANNEL, &self.channels),
            (op::STATISTICS, &statistics),
            (op::CHUNK_INDEX, &self.chunk_index),
        ] {
            if !records.is_empty() {
                groups.push((opcode, data_end + summary.len() as u64, records.len() as u64));
                summary.extend_from_slice(records);
            }
        }
        let offsets = data_end + summary.len() as u64;
        for (opcode, start, bytes) in groups {
            record(&mut summary, op::SUMMARY_OFFSET, |body| {
                body.push(opcode);
                body.extend(start.to_le_bytes());
                body.extend(bytes.to_le_bytes());
            });
        }
        // The checksum covers the summary and the footer up to the checksum itself.
        summary.push(op::FOOTER);
        summary.extend(20_u64.to_le_bytes());
        summary.extend(data_end.to_le_bytes());
        summary.extend(offsets.to_le_bytes());
        let checksum = crc32fast::hash(&summary);
        summary.extend(checksum.to_le_bytes());
        summary.extend(MAGIC);
        self.put_all(&mut [IoSlice::new(&end), IoSlice::new(&summary)])
    }

    fn put_statistics(&self, body: &mut Vec<u8>) {
        body.extend(self.counts.iter().sum::<u64>().to_le_bytes());
        body.extend((self.schema_ids.len() as u16).to_le_bytes());
        body.extend((self.counts.len() as u32).to_le_bytes());
        // Neither attachments nor metadata.
        body.extend([0; 8]);
        body.extend(self.chunks.to_le_bytes());
        let (first, last) = self.span_ns.unwrap_or((0, 0));
        body.extend(first.to_le_bytes());
        body.extend(last.to_le_bytes());
        sized(body, |pairs| {
            let counts = (0..=u16::MAX).zip(&self.counts);
            for (channel, count) in counts.filter(|(_, count)| **count > 0) {
                pairs.extend(channel.to_le_bytes());
                pairs.extend(count.to_le_bytes());
            }
        });
    }

    fn pack(&mut self, plain: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
        packed.clear();
        match (self.compression, &mut self.compressor) {
            (Compression::Zstd, Some(compressor)) => {
                packed.reserve(zstd::zstd_safe::compress_bound(plain.len()));
                compressor.compress_to_buffer(plain, packed)?;
            }
            (Compression::Lz4, _) => {
                // The chunk has a checksum of its own, and some readers take LZ4's of blocks for
                // wrong.
                let mut encoder = lz4::EncoderBuilder::new()
                    .block_checksum(lz4::liblz4::BlockChecksum::NoBlockChecksum)
                    .checksum(lz4::ContentChecksum::NoChecksum)
                    .build(std::mem::take(packed))?;
                encoder.write_all(plain)?;
                let (done, result) = encoder.finish();
                *packed = done;
                result?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes a chunk and the indexes of its messages in one go, and remembers where they are.
    fn put_chunk(
        &mut self,
        (first_ns, last_ns): (u64, u64),
        plain_bytes: u64,
        checksum: u32,
        data: &mut [IoSlice<'_>],
    ) -> io::Result<()> {
        let name = match self.compression {
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
            Compression::None | Compression::Messages | Compression::Files => "",
        };
        let data_bytes = data.iter().map(|slice| slice.len() as u64).sum::<u64>();
        let body_bytes = CHUNK_FIELDS_BYTES + name.len() as u64 + data_bytes;
        let (mut head, mut tail) = (std::mem::take(&mut self.head), std::mem::take(&mut self.tail));
        head.clear();
        head.push(op::CHUNK);
        head.extend(body_bytes.to_le_bytes());
        head.extend(first_ns.to_le_bytes());
        head.extend(last_ns.to_le_bytes());
        head.extend(plain_bytes.to_le_bytes());
        head.extend(checksum.to_le_bytes());
        put_text(&mut head, name);
        head.extend(data_bytes.to_le_bytes());
        let chunk_bytes = head.len() as u64 + data_bytes;
        tail.clear();
        let start = self.position;
        record(&mut self.chunk_index, op::CHUNK_INDEX, |body| {
            body.extend(first_ns.to_le_bytes());
            body.extend(last_ns.to_le_bytes());
            body.extend(start.to_le_bytes());
            body.extend(chunk_bytes.to_le_bytes());
            sized(body, |pairs| {
                for (channel, entries) in (0..=u16::MAX).zip(&mut self.open.index) {
                    if entries.is_empty() {
                        continue;
                    }
                    pairs.extend(channel.to_le_bytes());
                    pairs.extend((start + chunk_bytes + tail.len() as u64).to_le_bytes());
                    put_message_index(&mut tail, channel, entries);
                    self.counts[usize::from(channel)] += entries.len() as u64;
                    entries.clear();
                }
            });
            body.extend((tail.len() as u64).to_le_bytes());
            put_text(body, name);
            body.extend(data_bytes.to_le_bytes());
            body.extend(plain_bytes.to_le_bytes());
        });
        self.chunks += 1;
        let mut parts = Vec::with_capacity(data.len() + 2);
        parts.push(IoSlice::new(&head));
        parts.extend_from_slice(data);
        parts.push(IoSlice::new(&tail));
        let done = self.put_all(&mut parts);
        (self.head, self.tail) = (head, tail);
        done
    }

    /// Writes all parts. Bounded: a call that writes nothing is an error.
    fn put_all(&mut self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            match (&self.file).write_vectored(parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.position += count as u64;
                    IoSlice::advance_slices(&mut parts, count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Opcode, length and fields of a message.
const MESSAGE_HEAD_BYTES: usize = 9 + 22;
/// Fields of a chunk without the name of its compression.
const CHUNK_FIELDS_BYTES: u64 = 8 + 8 + 8 + 4 + 4 + 8;

fn put_message_head(out: &mut Vec<u8>, fields: MessageFields, bytes: usize) {
    out.push(op::MESSAGE);
    out.extend((22 + bytes as u64).to_le_bytes());
    out.extend(fields.channel.to_le_bytes());
    out.extend(fields.sequence.to_le_bytes());
    out.extend(fields.log_ns.to_le_bytes());
    out.extend(fields.publish_ns.to_le_bytes());
}

fn put_message_index(out: &mut Vec<u8>, channel: u16, entries: &[(u64, u64)]) {
    record(out, op::MESSAGE_INDEX, |body| {
        body.extend(channel.to_le_bytes());
        sized(body, |list| {
            for (time_ns, place) in entries {
                list.extend(time_ns.to_le_bytes());
                list.extend(place.to_le_bytes());
            }
        });
    });
}

/// Puts a record behind what is in `out`; `fill` makes its body.
fn record(out: &mut Vec<u8>, opcode: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(opcode);
    let length = out.len();
    out.extend([0; 8]);
    fill(out);
    let bytes = (out.len() - length - 8) as u64;
    out[length..length + 8].copy_from_slice(&bytes.to_le_bytes());
}

/// Puts bytes behind their 32-bit length. Callers keep them below 4 GiB.
fn sized(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let length = out.len();
    out.extend([0; 4]);
    fill(out);
    let bytes = (out.len() - length - 4) as u32;
    out[length..length + 4].copy_from_slice(&bytes.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    sized(out, |out| out.extend_from_slice(text.as_bytes()));
}

fn widen(span_ns: &mut Option<(u64, u64)>, time_ns: u64) {
    let span = span_ns.get_or_insert((time_ns, time_ns));
    *span = (span.0.min(time_ns), span.1.max(time_ns));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_at_once() {
        // It can only be read.
        let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
        assert!(McapFile::begin(file, Compression::None).is_err());
    }
}
