//! Reads ranges of a bag file: small records through a window, chunks through their decompressor.
//!
//! All sizes in the file are untrusted: memory grows with bytes that were really read or
//! decompressed, never with what a header says, and never beyond the caller's limit.

use crate::damage::DamageKind;
use crate::fields::Fields;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;

/// A range of a file as a byte source; reading does not move the file's own position.
pub(crate) struct Section<'f> {
    file: &'f File,
    position: u64,
    end: u64,
}

impl<'f> Section<'f> {
    pub(crate) fn new(file: &'f File, position: u64, end: u64) -> Self {
        Self { file, position, end }
    }
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let count = self.file.read_at(&mut buffer[..wanted], self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

/// Bytes that one refill of a [`Window`] asks for: a few hundred small records.
const WINDOW_BYTES: usize = 64 << 10;

/// Looks at small pieces of a file, mostly forwards, with few system calls.
pub(crate) struct Window<'f> {
    file: &'f File,
    start: u64,
    bytes: Vec<u8>,
    refill_bytes: usize,
}

impl<'f> Window<'f> {
    pub(crate) fn new(file: &'f File) -> Self {
        Self { file, start: 0, bytes: Vec::new(), refill_bytes: WINDOW_BYTES }
    }

    /// A window for a single look: it reads no more than it is asked for.
    pub(crate) fn small(file: &'f File) -> Self {
        Self { refill_bytes: 0, ..Self::new(file) }
    }

    /// The bytes `offset .. offset + count`, or fewer at the end of the file. Callers bound
    /// `count`.
    pub(crate) fn at(&mut self, offset: u64, count: usize) -> io::Result<&[u8]> {
        let inside = offset.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        let held = inside
            .is_some_and(|skip| skip.checked_add(count).is_some_and(|end| end <= self.bytes.len()));
        if !held {
            self.bytes.clear();
            self.start = offset;
            let wanted = count.max(self.refill_bytes) as u64;
            let section = Section::new(self.file, offset, offset.saturating_add(wanted));
            section.take(wanted).read_to_end(&mut self.bytes)?;
        }
        let skip = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        let end = skip.saturating_add(count).min(self.bytes.len());
        Ok(self.bytes.get(skip..end).unwrap_or(&[]))
    }
}

/// The fields in front of a chunk's data.
#[derive(Debug, Clone)]
pub(crate) struct ChunkHead {
    plain_bytes: u64,
    checksum: u32,
    compression: Compressed,
    /// Where the data starts, from the start of the record's body.
    data_offset: u64,
    data_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compressed {
    No,
    Lz4,
    Zstd,
}

/// Bytes of a chunk's fields without the compression's name.
const HEAD_FIXED_BYTES: usize = 40;
/// Longest name of a compression that is read in order to show it.
const COMPRESSION_NAME_BYTES_MAX: usize = 64;
/// Bytes at the start of a chunk's body that are enough for its fields.
pub(crate) const CHUNK_HEAD_BYTES_MAX: usize = HEAD_FIXED_BYTES + COMPRESSION_NAME_BYTES_MAX;

impl ChunkHead {
    /// Reads the fields from the start of a chunk record's body.
    pub(crate) fn parse(body_start: &[u8]) -> Result<ChunkHead, DamageKind> {
        let malformed = DamageKind::Malformed("the fields of a chunk are cut");
        let mut fields = Fields::new(body_start);
        let mut parse = || {
            let _times = (fields.u64()?, fields.u64()?);
            let (plain_bytes, checksum) = (fields.u64()?, fields.u32()?);
            let name = fields.string()?;
            Some((plain_bytes, checksum, name, fields.u64()?))
        };
        let (plain_bytes, checksum, name, data_bytes) = parse().ok_or(malformed)?;
        let compression = match name {
            "" => Compressed::No,
            "lz4" => Compressed::Lz4,
            "zstd" => Compressed::Zstd,
            other => return Err(DamageKind::Compression(other.to_owned())),
        };
        let data_offset = (HEAD_FIXED_BYTES + name.len()) as u64;
        Ok(ChunkHead { plain_bytes, checksum, compression, data_offset, data_bytes })
    }

    /// Bytes of the chunk's records, as its fields say.
    pub(crate) fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// Puts the chunk's records into `plain`, which is cleared first.
    ///
    /// The body lies at `body .. body + body_bytes`. With `cut` the file ends inside the chunk:
    /// what can be decompressed is given, without the checks that need the rest.
    pub(crate) fn decode(
        &self,
        file: &File,
        body: u64,
        body_bytes: u64,
        cut: bool,
        limit_bytes: u64,
        plain: &mut Vec<u8>,
    ) -> Result<(), DamageKind> {
        plain.clear();
        let room = body_bytes.saturating_sub(self.data_offset);
        if !cut && self.data_bytes > room {
            return Err(DamageKind::Malformed("the data of a chunk is longer than the chunk"));
        }
        if !cut && self.plain_bytes > limit_bytes {
            return Err(DamageKind::TooLarge { bytes: self.plain_bytes, limit_bytes });
        }
        let data = body.saturating_add(self.data_offset);
        let section = Section::new(file, data, data.saturating_add(room.min(self.data_bytes)));
        let wanted = self.plain_bytes.min(limit_bytes);
        let result = self.decompress(section, wanted, plain);
        if cut {
            return Ok(());
        }
        result.map_err(|error| match self.compression {
            Compressed::No => DamageKind::from(error),
            _ => DamageKind::Decompression(error.to_string()),
        })?;
        if plain.len() as u64 != self.plain_bytes {
            return Err(DamageKind::Malformed("the size of a chunk is not what its fields say"));
        }
        if self.checksum != 0 && self.checksum != crc32fast::hash(plain) {
            return Err(DamageKind::Checksum);
        }
        Ok(())
    }

    /// Reads at most `wanted` plain bytes; what came before an error stays in `plain`.
    fn decompress(&self, section: Section<'_>, wanted: u64, plain: &mut Vec<u8>) -> io::Result<()> {
        match self.compression {
            Compressed::No => section.take(wanted).read_to_end(plain)?,
            Compressed::Lz4 => {
                let source = BufReader::with_capacity(WINDOW_BYTES, section);
                lz4::Decoder::new(source)?.take(wanted).read_to_end(plain)?
            }
            Compressed::Zstd => {
                let source = BufReader::with_capacity(WINDOW_BYTES, section);
                zstd::Decoder::with_buffer(source)?.take(wanted).read_to_end(plain)?
            }
        };
        Ok(())
    }
}
