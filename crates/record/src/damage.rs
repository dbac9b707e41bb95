//! What can be wrong inside a bag that can still be read in part.
//!
//! Damage is data, not the end of reading: readers collect it, deliver everything else, and report
//! it afterwards.

use crate::names::Shown;
use std::fmt;
use std::path::PathBuf;

/// One place in a bag that cannot be read.
///
/// Plain data; its text names the file, the byte offset and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Offset in bytes of the record that is damaged, from the start of the file.
    pub offset: u64,
    /// What is wrong.
    pub kind: DamageKind,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.path.display(), self.offset, self.kind)
    }
}

/// What is wrong at a damaged place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// The file ends inside the record that starts here.
    #[error("the file ends inside this record")]
    Truncated,
    /// The file ends between two records, without the closing records of a finished bag.
    #[error("the file ends here without its closing records")]
    Unfinished,
    /// The chunk's contents are not what was written.
    #[error("the checksum of this chunk does not match its contents")]
    Checksum,
    /// The chunk, message or file cannot be decompressed.
    #[error("this cannot be decompressed: {0}")]
    Decompression(String),
    /// The chunk uses a compression that is not known.
    #[error("this chunk is compressed with `{}`; known are lz4, zstd and none", Shown(_0))]
    Compression(String),
    /// A record or chunk claims to be larger than the reader's limit.
    #[error(
        "this record says that it holds {bytes} bytes, more than the limit of {limit_bytes}; if \
         that is right, raise `record_bytes_max`"
    )]
    TooLarge {
        /// What the record says.
        bytes: u64,
        /// The limit of the reader.
        limit_bytes: u64,
    },
    /// The chunks of a file without an index expand more than chunks of any recording.
    #[error(
        "this chunk and those before it expand to more than {ratio} times the file, unlike any \
         recording; if the file is sound, `mcap recover`, of MCAP's own tool (mcap.dev), gives it an \
         index"
    )]
    Expands {
        /// The limit.
        ratio: u64,
    },
    /// A chunk holds more messages than the reader lists.
    #[error("this chunk holds more than {limit} messages, the most that are read")]
    TooManyMessages {
        /// The limit.
        limit: usize,
    },
    /// A record does not have the form that its kind must have.
    #[error("this record is malformed: {0}")]
    Malformed(&'static str),
    /// A message belongs to a channel that nothing describes.
    #[error("a message belongs to channel {0}, which no record describes")]
    UnknownChannel(u16),
    /// A message belongs to a topic that nothing describes.
    #[error("a message belongs to topic {0}, which no row describes")]
    UnknownTopic(i64),
    /// One file of the bag is not there.
    #[error("this file of the bag is missing")]
    MissingFile,
    /// One file of the bag is empty: a recorder that is killed while it begins a file leaves that.
    #[error("this file of the bag is empty, as after a recorder was killed")]
    EmptyFile,
    /// One file of the bag is no such file.
    #[error("this file of the bag is not read: {}", Shown(_0))]
    ForeignFile(String),
    /// The operating system could not read.
    #[error("reading failed: {0}")]
    Unreadable(String),
}

impl From<std::io::Error> for DamageKind {
    fn from(error: std::io::Error) -> Self {
        DamageKind::Unreadable(error.to_string())
    }
}

/// Damage found so far: the first place and how many there are, so that memory stays bounded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Damages {
    pub(crate) first: Option<Damage>,
    pub(crate) count: u64,
}

impl Damages {
    pub(crate) fn add(&mut self, damage: Damage) {
        self.count += 1;
        self.first.get_or_insert(damage);
    }

    pub(crate) fn merge(&mut self, other: &Damages) {
        self.count += other.count;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }
}
