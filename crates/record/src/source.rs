//! Opens the files of bags for reading, and decompresses those that rosbag2 compressed as a whole.
//!
//! Such a file is decompressed into a file without a name in the folder for temporary files, within
//! the reader's limits: never beside the bag, and not into memory.

use crate::damage::DamageKind;
use crate::options::Opening;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// What a Zstandard frame starts with. No message in CDR starts with it.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A file of a bag.
#[derive(Debug)]
pub(crate) struct Source {
    /// The plain content.
    pub(crate) file: File,
    /// Whether the bag's own file is compressed as a whole.
    pub(crate) compressed: bool,
    /// Why the content is not complete.
    pub(crate) damage: Option<DamageKind>,
}

/// Opens a file for reading unless it is a pipe or device, which could block for ever.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    open_file(path, |what| format!("it is not a regular file but a {what}"))
}

/// Opens what somebody else names for reading: nothing but a file. A pipe would be waited for, and
/// to open a device may do something. Does not block.
///
/// # Errors
/// Those of the system; or it is no file, which `refusal` says in words, given what it is:
/// "folder", "pipe", "socket" or "device".
pub fn open_file(path: &Path, refusal: impl Fn(&str) -> String) -> io::Result<File> {
    let must_be_file = |found: FileType| {
        let what = match found {
            _ if found.is_file() => return Ok(()),
            _ if found.is_dir() => "folder",
            _ if found.is_fifo() => "pipe",
            _ if found.is_socket() => "socket",
            _ => "device",
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, refusal(what)))
    };
    must_be_file(fs::metadata(path)?.file_type())?;
    // Something else may be there by now.
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    must_be_file(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens the file at `path`.
pub(crate) fn open(path: &Path, opening: Opening<'_>) -> io::Result<Source> {
    let file = open_regular(path)?;
    let mut start = [0; ZSTD_MAGIC.len()];
    if file.read_at(&mut start, 0)? < start.len() || start != ZSTD_MAGIC {
        return Ok(Source { file, compressed: false, damage: None });
    }
    let compressed_bytes = file.metadata()?.len();
    let options = opening.options;
    let limit_bytes = options
        .expansion_bytes_free
        .saturating_add(compressed_bytes.saturating_mul(options.expansion_max));
    let plain = temporary_file()?;
    let damage = match decompress(file, &plain, limit_bytes, |at| {
        (opening.progress)(at, compressed_bytes)
    }) {
        Ok(plain_bytes) if plain_bytes > limit_bytes => {
            plain.set_len(limit_bytes)?;
            Some(DamageKind::Expands { ratio: options.expansion_max })
        }
        Ok(_) => None,
        Err(Failure::Write(error)) => {
            let folder = std::env::temp_dir();
            let folder = folder.display();
            let what = format!(
                "no room to decompress it in {folder}: {error}; free some, or name another folder by \
                 TMPDIR"
            );
            return Err(io::Error::new(error.kind(), what));
        }
        Err(Failure::Read(error)) => Some(DamageKind::Decompression(error.to_string())),
    };
    Ok(Source { file: plain, compressed: true, damage })
}

enum Failure {
    Read(io::Error),
    Write(io::Error),
}

/// Bytes that are decompressed at a time.
const STEP_BYTES: usize = 256 << 10;

/// Gives the plain bytes, at most a few more than `limit_bytes`. `tell` hears where it is in
/// `file`.
fn decompress(
    file: File,
    mut plain: &File,
    limit_bytes: u64,
    tell: impl Fn(u64),
) -> Result<u64, Failure> {
    let source = BufReader::with_capacity(STEP_BYTES, file);
    let mut decoder = zstd::Decoder::with_buffer(source).map_err(Failure::Read)?;
    let mut buffer = vec![0; STEP_BYTES];
    let mut plain_bytes = 0;
    while plain_bytes <= limit_bytes {
        let count = decoder.read(&mut buffer).map_err(Failure::Read)?;
        if count == 0 {
            break;
        }
        plain.write_all(&buffer[..count]).map_err(Failure::Write)?;
        plain_bytes += count as u64;
        let mut source = decoder.get_ref().get_ref();
        tell(source.stream_position().unwrap_or(0));
    }
    Ok(plain_bytes)
}

/// A file without a name, which goes with its last descriptor.
fn temporary_file() -> io::Result<File> {
    let folder = std::env::temp_dir();
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let error = match rustix::fs::open(&folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => return Ok(File::from(file)),
        Err(error) => error,
    };
    // A file system that cannot do this: the name is taken away at once.
    let mut bytes = [0; 16];
    let flags = rustix::rand::GetRandomFlags::empty();
    rustix::rand::getrandom(&mut bytes, flags).map_err(io::Error::from)?;
    let path = folder.join(format!("crossdock-{:032x}", u128::from_ne_bytes(bytes)));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
    // Of a kind of its own: that the folder does not exist says nothing about the bag.
    let file = file.map_err(|_| {
        let folder = folder.display();
        let error = io::Error::from(error);
        io::Error::other(format!(
            "no room to decompress it, because no file can be made in {folder}: {error}; name another \
             folder by TMPDIR"
        ))
    })?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Decompresses messages, one at a time (rosbag2's MESSAGE mode).
pub(crate) struct MessageDecoder {
    decoder: Option<zstd::stream::raw::Decoder<'static>>,
    plain: Vec<u8>,
}

impl std::fmt::Debug for MessageDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageDecoder").finish_non_exhaustive()
    }
}

impl MessageDecoder {
    pub(crate) fn new() -> Self {
        Self { decoder: None, plain: Vec::new() }
    }

    /// Whether a message is compressed.
    pub(crate) fn is_compressed(data: &[u8]) -> bool {
        data.starts_with(&ZSTD_MAGIC)
    }

    /// The plain bytes of the last message.
    pub(crate) fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// Decompresses a message, which has at most `limit_bytes`.
    ///
    /// Allocates if it is longer than those before. Memory grows with bytes that came out only.
    pub(crate) fn decode(&mut self, data: &[u8], limit_bytes: u64) -> Result<(), DamageKind> {
        use zstd::stream::raw::{InBuffer, Operation, OutBuffer};
        let wrong = |error: io::Error| DamageKind::Decompression(error.to_string());
        let decoder = match &mut self.decoder {
            Some(decoder) => {
                decoder.reinit().map_err(wrong)?;
                decoder
            }
            none => none.insert(zstd::stream::raw::Decoder::new().map_err(wrong)?),
        };
        self.plain.clear();
        let mut source = InBuffer::around(data);
        let mut filled = 0;
        // Bounded: each turn has room for more bytes, up to the limit.
        loop {
            if filled == self.plain.len() {
                if filled as u64 > limit_bytes {
                    return Err(DamageKind::TooLarge { bytes: filled as u64, limit_bytes });
                }
                self.plain.resize((2 * filled).max(STEP_BYTES.min(16 * data.len().max(64))), 0);
            }
            let mut target = OutBuffer::around_pos(&mut self.plain[..], filled);
            let before = (source.pos(), filled);
            let hint = decoder.run(&mut source, &mut target).map_err(wrong)?;
            filled = target.pos();
            if hint == 0 {
                self.plain.truncate(filled);
                if filled as u64 > limit_bytes {
                    return Err(DamageKind::TooLarge { bytes: filled as u64, limit_bytes });
                }
                return Ok(());
            }
            if filled < self.plain.len() && (source.pos(), filled) == before {
                return Err(DamageKind::Decompression("the frame is cut".to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_message_may_be_as_long_as_the_limit_and_no_longer() {
        let mut decoder = MessageDecoder::new();
        // What becomes much shorter, and what hardly does, in many steps and in one.
        let mixed =
            |count: u32| (0..count).flat_map(|it| it.wrapping_mul(0x9e37_79b1).to_le_bytes());
        for plain in [vec![0; 1024], vec![0; 3_000_000], mixed(1000).collect(), mixed(1).collect()]
        {
            let data = zstd::bulk::compress(&plain, 1).expect("compressed");
            let bytes = plain.len() as u64;
            decoder.decode(&data, bytes).expect("within the limit");
            assert_eq!(decoder.plain(), plain);
            let refused = decoder.decode(&data, bytes - 1);
            let is_too_large = matches!(refused, Err(DamageKind::TooLarge { .. }));
            assert!(is_too_large, "{bytes} bytes: {refused:?}");
            let cut = decoder.decode(&data[..data.len() - 1], bytes);
            assert!(matches!(cut, Err(DamageKind::Decompression(_))), "{bytes} bytes: {cut:?}");
        }
    }
}
