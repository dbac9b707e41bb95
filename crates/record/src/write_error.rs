//! Why a bag is not created, or written on.

use crate::names::Shown;
use std::io;
use std::path::PathBuf;

/// Why a bag cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateBagError {
    /// Only a folder can have this compression.
    #[error(
        "{} is one file, but to compress files or messages is for bags in folders, whose metadata.yaml \
         says it; give a name without .mcap, or compress chunks",
        path.display()
    )]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// There is something at the path already.
    #[error(
        "{} exists already and is not overwritten; give another name, or move it away",
        path.display()
    )]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// The path has no name for a bag.
    #[error("{} does not name a bag; give a name like `drive.mcap` or `drive`", path.display())]
    Name {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error(
        "{} cannot be created: {source}; give a place that you may write to and that has room",
        path.display()
    )]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// What of a bag is safe on the disk when writing stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// Messages.
    pub messages: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Why a message, a topic or the end of a bag was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The disk, quota or file size limit is used up. Nothing that was accepted is lost: the bag
    /// can be finished, or written on once there is space.
    #[error(
        "{} cannot grow by {needed_bytes} bytes: {source}; all {} messages so far ({} bytes) are \
         safe; free some space or record to another disk",
        path.display(), saved.messages, saved.bytes
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Bytes that were asked for.
        needed_bytes: u64,
        /// What is safe.
        saved: Saved,
        /// The operating system's error.
        source: io::Error,
    },
    /// Writing failed in a way that ends the bag. The file was cut back to what is complete.
    #[error(
        "writing {} failed: {reason}; its first {} messages ({} bytes) are safe, but without an \
         index: who plays it looks through the whole file first",
        path.display(), saved.messages, saved.bytes
    )]
    Failed {
        /// The file.
        path: PathBuf,
        /// What happened.
        reason: String,
        /// What is safe.
        saved: Saved,
    },
    /// A topic, type or definition is longer than the file format allows, or there are too many.
    #[error("topic {} cannot be written to {}: {reason}", Shown(topic), path.display())]
    Topic {
        /// The file.
        path: PathBuf,
        /// The topic.
        topic: String,
        /// What the format does not allow.
        reason: String,
    },
    /// A complete file could not be compressed as a whole. It stays as it is.
    #[error(
        "{} cannot be compressed: {source}; it is whole and stays as it is, and so do all files that \
         follow",
        path.display()
    )]
    Uncompressed {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// metadata.yaml could not be written; the MCAP file is complete.
    #[error(
        "{} cannot be written: {source}; the .mcap file beside it is complete: open that",
        path.display()
    )]
    Metadata {
        /// metadata.yaml.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}
