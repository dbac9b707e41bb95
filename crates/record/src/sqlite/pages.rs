//! The pages of a SQLite file as its last complete transaction has left them.

use super::journal::{self, Overlay};
use crate::damage::DamageKind;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What each SQLite file starts with.
pub(crate) const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes of the header of the file, in front of the first page's own content.
pub(super) const FILE_HEAD_BYTES: usize = 100;
/// Sizes of pages that SQLite knows.
const PAGE_BYTES_MIN: usize = 512;
const PAGE_BYTES_MAX: usize = 65536;
/// Bytes of a page that rows may use, at least: SQLite's own limit.
const USABLE_BYTES_MIN: usize = 480;
/// The newest version of the format: with a write-ahead log.
const READ_VERSION_MAX: u8 = 2;

/// How a file stores text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextEncoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

/// An opened SQLite file.
#[derive(Debug)]
pub(crate) struct Pages {
    file: File,
    overlay: Option<Overlay>,
    page_bytes: usize,
    usable_bytes: usize,
    encoding: TextEncoding,
}

impl Pages {
    /// Reads the header of `file`. `path` says where its journals are; `None`: it has none.
    ///
    /// The error is a sentence fragment that says why no page can be read.
    pub(crate) fn open(file: File, path: Option<&Path>) -> Result<Pages, String> {
        let mut head = [0; FILE_HEAD_BYTES];
        file.read_exact_at(&mut head, 0).map_err(|error| format!("its header: {error}"))?;
        if !head.starts_with(SQLITE_MAGIC) {
            return Err("it does not start as a SQLite file does".to_owned());
        }
        // The largest size does not fit into the field.
        let page_bytes = match u16::from_be_bytes([head[16], head[17]]) {
            1 => PAGE_BYTES_MAX,
            bytes => usize::from(bytes),
        };
        if page_bytes < PAGE_BYTES_MIN || !page_bytes.is_power_of_two() {
            return Err(format!("its header says that a page has {page_bytes} bytes"));
        }
        let (read_version, reserved) = (head[19], usize::from(head[20]));
        if read_version > READ_VERSION_MAX {
            return Err(format!("it has version {read_version} of the format, a newer one"));
        }
        let usable_bytes = page_bytes - reserved;
        if usable_bytes < USABLE_BYTES_MIN {
            return Err(format!("its header keeps {reserved} bytes of each page for others"));
        }
        let encoding = match head[56..60] {
            [0, 0, 0, 2] => TextEncoding::Utf16Little,
            [0, 0, 0, 3] => TextEncoding::Utf16Big,
            // 0: a file that no table was ever made in.
            [0, 0, 0, 0 | 1] => TextEncoding::Utf8,
            _ => return Err("its header names an unknown encoding of text".to_owned()),
        };
        let overlay = match path {
            Some(path) => journal::find(path, page_bytes).map_err(|error| error.to_string())?,
            None => None,
        };
        Ok(Pages { file, overlay, page_bytes, usable_bytes, encoding })
    }

    /// Bytes of a page that rows may use.
    pub(super) fn usable_bytes(&self) -> usize {
        self.usable_bytes
    }

    /// Where a page lies in the file, for reports.
    pub(crate) fn offset(&self, page: u32) -> u64 {
        u64::from(page.saturating_sub(1)) * self.page_bytes as u64
    }

    /// Bytes that can be read at all: no sound table claims more.
    pub(super) fn total_bytes(&self) -> u64 {
        let file = self.file.metadata().map_or(0, |metadata| metadata.len());
        file + self.overlay.as_ref().map_or(0, Overlay::total_bytes)
    }

    /// Reads page `number` (from 1) into `page`, whose old content goes.
    pub(super) fn read(&self, number: u32, page: &mut Vec<u8>) -> Result<(), DamageKind> {
        if number == 0 {
            return Err(DamageKind::Malformed("it leads to a page 0"));
        }
        page.resize(self.page_bytes, 0);
        let place = self.overlay.as_ref().and_then(|overlay| overlay.place(number));
        let read = match place {
            Some((file, offset)) => file.read_exact_at(page, offset),
            None => self.file.read_exact_at(page, self.offset(number)),
        };
        read.map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => DamageKind::Truncated,
            _ => DamageKind::from(error),
        })
    }

    /// A stored text. What is no text becomes replacement characters.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        let wide = |unit: fn([u8; 2]) -> u16| {
            let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        };
        match self.encoding {
            TextEncoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
            TextEncoding::Utf16Little => wide(u16::from_le_bytes),
            TextEncoding::Utf16Big => wide(u16::from_be_bytes),
        }
    }
}
