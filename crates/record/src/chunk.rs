//! Reads ranges of a bag file: small records through a window, chunks through their decompressor.
//!
//! All sizes in the file are untrusted: memory grows with bytes that were really read or
//! decompressed, never with what a header says, and never beyond the caller's limit.

use crate::damage::DamageKind;
use crate::fields::Fields;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// A range of a file as a byte source; reading does not move the file's own position.
#[derive(Clone)]
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

/// Bytes that are made room for before any came: a few chunks of the usual size.
const STEP_BYTES: usize = 4 << 20;

/// Bytes that are read at a time if somebody sums them up: they are still in a core's own cache
/// then.
const PIECE_BYTES: usize = 256 << 10;

/// Puts what the source gives into `out` in the place of what is there: `wanted` bytes, or fewer if
/// it ends or fails before. Memory grows with bytes that came.
pub(crate) fn fill(source: impl Read, wanted: u64, out: &mut Vec<u8>) -> io::Result<()> {
    fill_in_pieces(source, wanted, out, usize::MAX, |_| {})
}

/// The same in pieces of at most `piece_bytes`, which `sum` gets one after the other.
fn fill_in_pieces(
    mut source: impl Read,
    wanted: u64,
    out: &mut Vec<u8>,
    piece_bytes: usize,
    mut sum: impl FnMut(&[u8]),
) -> io::Result<()> {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    // What is there serves as room, which then need not be cleared.
    out.truncate(wanted);
    let mut filled = 0;
    let mut result = Ok(());
    // Bounded: each turn fills some of the room, or ends.
    while filled < wanted {
        if filled == out.len() {
            out.resize(wanted.min((2 * filled).max(STEP_BYTES)), 0);
        }
        let end = filled.saturating_add(piece_bytes).min(out.len());
        match source.read(&mut out[filled..end]) {
            Ok(0) => break,
            Ok(count) => {
                sum(&out[filled..filled + count]);
                filled += count;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    out.truncate(filled);
    result
}

/// Decompresses chunks, one after the other; what that takes is used again.
#[derive(Default)]
pub(crate) struct ChunkDecoder {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    packed: Vec<u8>,
}

impl std::fmt::Debug for ChunkDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkDecoder").finish_non_exhaustive()
    }
}

/// Memory for the plain bytes of a chunk that is made before they come: so many times its packed
/// bytes, which are there.
const ROOM_PER_PACKED: u64 = 32;
/// Packed bytes of a chunk that are kept in memory for the next one, at most.
const PACKED_BYTES_KEPT: usize = 4 << 20;

impl ChunkDecoder {
    /// Decompresses all of a chunk at once, straight to where it belongs; false if that cannot be
    /// done: the chunk is damaged, or is longer than its packed bytes let expect.
    fn zstd(&mut self, section: Section<'_>, wanted: u64, plain: &mut Vec<u8>) -> io::Result<bool> {
        let bytes = section.end.saturating_sub(section.position);
        let wanted_bytes = usize::try_from(wanted).unwrap_or(usize::MAX);
        // No more than these bytes could be made.
        if bytes > zstd::zstd_safe::compress_bound(wanted_bytes) as u64 {
            return Ok(false);
        }
        fill(section, bytes, &mut self.packed)?;
        let room = (ROOM_PER_PACKED * self.packed.len() as u64).max(STEP_BYTES as u64);
        let decoder = match &mut self.zstd {
            Some(decoder) => decoder,
            none => none.insert(zstd::bulk::Decompressor::new()?),
        };
        plain.clear();
        let done = wanted <= room && {
            plain.reserve(wanted_bytes);
            decoder.decompress_to_buffer(&self.packed, plain).is_ok()
        };
        if self.packed.capacity() > PACKED_BYTES_KEPT {
            self.packed = Vec::new();
        }
        plain.truncate(wanted_bytes);
        Ok(done)
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

    /// Puts the chunk's records into `plain`, in the place of what is there.
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
        (decoder, plain): (&mut ChunkDecoder, &mut Vec<u8>),
    ) -> Result<(), DamageKind> {
        let room = body_bytes.saturating_sub(self.data_offset);
        if !cut && self.data_bytes > room {
            plain.clear();
            return Err(DamageKind::Malformed("the data of a chunk is longer than the chunk"));
        }
        if !cut && self.plain_bytes > limit_bytes {
            plain.clear();
            return Err(DamageKind::TooLarge { bytes: self.plain_bytes, limit_bytes });
        }
        let data = body.saturating_add(self.data_offset);
        let section = Section::new(file, data, data.saturating_add(room.min(self.data_bytes)));
        let wanted = self.plain_bytes.min(limit_bytes);
        // What a cut chunk gives before its end is found piece by piece.
        let decoder = (!cut).then_some(decoder);
        let result = self.decompress(section, wanted, decoder, plain);
        if cut {
            return Ok(());
        }
        let checksum = result.map_err(|error| match self.compression {
            Compressed::No => DamageKind::from(error),
            _ => DamageKind::Decompression(error.to_string()),
        })?;
        if plain.len() as u64 != self.plain_bytes {
            return Err(DamageKind::Malformed("the size of a chunk is not what its fields say"));
        }
        if self.checksum != 0 && self.checksum != checksum {
            return Err(DamageKind::Checksum);
        }
        Ok(())
    }

    /// Gives at most `wanted` plain bytes; what came before an error is in `plain`. Returns their
    /// checksum if the chunk has one.
    fn decompress(
        &self,
        section: Section<'_>,
        wanted: u64,
        decoder: Option<&mut ChunkDecoder>,
        plain: &mut Vec<u8>,
    ) -> io::Result<u32> {
        let mut checksum = crc32fast::Hasher::new();
        let sum = |piece: &[u8]| {
            if self.checksum != 0 {
                checksum.update(piece);
            }
        };
        match self.compression {
            Compressed::No => fill_in_pieces(section, wanted, plain, PIECE_BYTES, sum)?,
            Compressed::Lz4 => {
                // It has a buffer of its own.
                fill_in_pieces(lz4::Decoder::new(section)?, wanted, plain, PIECE_BYTES, sum)?;
            }
            Compressed::Zstd => {
                if let Some(decoder) = decoder
                    && decoder.zstd(section.clone(), wanted, plain)?
                {
                    return Ok(if self.checksum != 0 { crc32fast::hash(plain) } else { 0 });
                }
                fill_in_pieces(zstd::Decoder::new(section)?, wanted, plain, PIECE_BYTES, sum)?;
            }
        }
        Ok(checksum.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_a_chunk_is_bounded_by_what_comes_out_of_it() {
        let name = format!("xd-chunk-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let frame = zstd::bulk::compress(b"hello", 0).expect("compressed");
        std::fs::write(&path, &frame).expect("a file");
        let file = File::options().read(true).write(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("the file has no name");
        let head = |plain_bytes, data_bytes| ChunkHead {
            plain_bytes,
            checksum: 0,
            compression: Compressed::Zstd,
            data_offset: 0,
            data_bytes,
        };
        let mut decoder = ChunkDecoder::default();
        let mut plain = vec![7; 100];
        let bytes = frame.len() as u64;
        let mut decode = |head: ChunkHead, plain: &mut Vec<u8>| {
            let (decoded, limit) = ((&mut decoder, plain), 1 << 30);
            head.decode(&file, 0, head.data_bytes, false, limit, decoded)
        };
        decode(head(5, bytes), &mut plain).expect("a chunk");
        assert_eq!(plain, b"hello");
        // Much behind the frame, which no reader holds.
        file.set_len(256 << 20).expect("a longer file");
        decode(head(5, 256 << 20), &mut plain).expect("a chunk");
        assert_eq!(plain, b"hello");
        // Few bytes that pretend to be many: no room is made for them.
        let error = decode(head(1 << 30, bytes), &mut plain).expect_err("a size that is not true");
        assert!(matches!(error, DamageKind::Malformed(_)), "{error:?}");
        assert!(plain.capacity() <= STEP_BYTES && decoder.packed.capacity() <= STEP_BYTES);
    }
}
