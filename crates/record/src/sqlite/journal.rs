//! Pages beside a SQLite file: the write-ahead log (`-wal`) and the rollback journal (`-journal`).
//!
//! A recorder that was killed leaves one of them. SQLite would write what they hold into the file.
//! Here the file stays as it is: pages that they hold are read from them.
//!
//! - The log holds new pages. Those up to its last commit count, each in its newest form.
//! - The journal holds old pages of a transaction that was not completed. They all count.

use crate::source::open_regular;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Pages that are read from a journal in place of the file's.
#[derive(Debug)]
pub(super) struct Overlay {
    file: File,
    /// Where each page lies in the journal.
    places: BTreeMap<u32, u64>,
    page_bytes: usize,
}

impl Overlay {
    pub(super) fn place(&self, page: u32) -> Option<(&File, u64)> {
        Some((&self.file, *self.places.get(&page)?))
    }

    pub(super) fn total_bytes(&self) -> u64 {
        (self.places.len() * self.page_bytes) as u64
    }
}

/// Reads the journal beside the file at `path`, if there is one that counts.
pub(super) fn find(path: &Path, page_bytes: usize) -> io::Result<Option<Overlay>> {
    for (ending, read) in [("-wal", read_log as ReadPlaces), ("-journal", read_journal)] {
        let beside = beside(path, ending);
        let mut file = match open_regular(&beside) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let what = format!("{} cannot be read: {error}", beside.display());
                return Err(io::Error::new(error.kind(), what));
            }
        };
        let places = read(&mut file, page_bytes)?;
        if !places.is_empty() {
            return Ok(Some(Overlay { file, places, page_bytes }));
        }
    }
    Ok(None)
}

type Places = BTreeMap<u32, u64>;
type ReadPlaces = fn(&mut File, usize) -> io::Result<Places>;

/// `bag.db3` and `-wal` give `bag.db3-wal`.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Fills `buffer`; false if the file ends before.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match source.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn word(bytes: &[u8], index: usize) -> u32 {
    let at = index * 4;
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// First words of a log: its checksums are of words in the one or the other order.
const LOG_MAGIC_LITTLE: u32 = 0x377f_0682;
const LOG_MAGIC_BIG: u32 = 0x377f_0683;
const LOG_VERSION: u32 = 3_007_000;
const LOG_HEAD_BYTES: usize = 32;
const FRAME_HEAD_BYTES: usize = 24;
/// Bytes of a journal that are read at a time.
const READ_BYTES: usize = 256 << 10;

/// The running checksum of a log.
struct Checksum {
    big: bool,
    sums: (u32, u32),
}

impl Checksum {
    /// Goes on over `bytes`, whose number is a multiple of eight.
    fn add(&mut self, bytes: &[u8]) {
        let read = if self.big { u32::from_be_bytes } else { u32::from_le_bytes };
        for eight in bytes.chunks_exact(8) {
            let word = |at: usize| read([eight[at], eight[at + 1], eight[at + 2], eight[at + 3]]);
            self.sums.0 = self.sums.0.wrapping_add(word(0)).wrapping_add(self.sums.1);
            self.sums.1 = self.sums.1.wrapping_add(word(4)).wrapping_add(self.sums.0);
        }
    }
}

/// The pages of the complete transactions in a write-ahead log.
fn read_log(file: &mut File, page_bytes: usize) -> io::Result<Places> {
    let mut source = BufReader::with_capacity(READ_BYTES, file);
    let (mut complete, mut open) = (Places::new(), Places::new());
    let mut head = [0; LOG_HEAD_BYTES];
    if !fill(&mut source, &mut head)? {
        return Ok(complete);
    }
    let magic = word(&head, 0);
    let sound = matches!(magic, LOG_MAGIC_LITTLE | LOG_MAGIC_BIG)
        && word(&head, 1) == LOG_VERSION
        && word(&head, 2) as usize == page_bytes;
    let mut checksum = Checksum { big: magic == LOG_MAGIC_BIG, sums: (0, 0) };
    checksum.add(&head[..24]);
    if !sound || checksum.sums != (word(&head, 6), word(&head, 7)) {
        return Ok(complete);
    }
    let salt = (word(&head, 4), word(&head, 5));
    let mut at = LOG_HEAD_BYTES as u64;
    let mut frame = vec![0; FRAME_HEAD_BYTES + page_bytes];
    // Bounded by the length of the log. What follows the first frame that does not fit is of an
    // earlier use of the log, or was cut.
    while fill(&mut source, &mut frame)? {
        checksum.add(&frame[..8]);
        checksum.add(&frame[FRAME_HEAD_BYTES..]);
        let fits = (word(&frame, 2), word(&frame, 3)) == salt
            && checksum.sums == (word(&frame, 4), word(&frame, 5));
        if !fits {
            break;
        }
        open.insert(word(&frame, 0), at + FRAME_HEAD_BYTES as u64);
        let commits = word(&frame, 1) != 0;
        if commits {
            complete.append(&mut open);
        }
        at += frame.len() as u64;
    }
    Ok(complete)
}

/// First bytes of a journal whose transaction was not completed.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
const JOURNAL_HEAD_BYTES: usize = 28;
/// Sizes of a disk's sectors that SQLite knows; the head of a journal fills one.
const SECTOR_BYTES: std::ops::RangeInclusive<u32> = 32..=65536;
/// Distance of the bytes of a page that its checksum covers.
const CHECKED_STEP: usize = 200;

/// The old pages of a transaction that was not completed.
fn read_journal(file: &mut File, page_bytes: usize) -> io::Result<Places> {
    let mut places = Places::new();
    let mut head = [0; JOURNAL_HEAD_BYTES];
    let mut record = vec![0; 4 + page_bytes + 4];
    let mut at = 0;
    // A journal has parts, each with a head of its own. Bounded by the length of the journal: each
    // turn goes on by a sector, at least.
    loop {
        file.seek(SeekFrom::Start(at))?;
        if !fill(file, &mut head)? || !head.starts_with(&JOURNAL_MAGIC) {
            return Ok(places);
        }
        // Words 0 and 1 are the magic; word 4 is the size of the file before the transaction.
        let (count, nonce, sector) = (word(&head, 2), word(&head, 3), word(&head, 5));
        if word(&head, 6) as usize != page_bytes || !SECTOR_BYTES.contains(&sector) {
            return Ok(places);
        }
        at += u64::from(sector);
        file.seek(SeekFrom::Start(at))?;
        let mut source = BufReader::with_capacity(READ_BYTES, &mut *file);
        for _ in 0..count {
            if !fill(&mut source, &mut record)? || !is_sound(&record, nonce, page_bytes) {
                return Ok(places);
            }
            places.entry(word(&record, 0)).or_insert(at + 4);
            at += record.len() as u64;
        }
        at = at.next_multiple_of(u64::from(sector));
    }
}

/// Whether the checksum behind a page of a journal is right.
fn is_sound(record: &[u8], nonce: u32, page_bytes: usize) -> bool {
    let (page, stored) = record[4..].split_at(page_bytes);
    let checked = (1..).map_while(|step| page_bytes.checked_sub(step * CHECKED_STEP));
    let checksum = checked
        .filter(|place| *place > 0)
        .fold(nonce, |sum, place| sum.wrapping_add(u32::from(page[place])));
    checksum == word(stored, 0)
}
