//! What can go wrong at a publisher, one enum per operation.

use crate::memory::CreateMemoryError;
use std::time::Duration;

/// Why a ring cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CreateRingError {
    /// A value of the configuration is out of range.
    #[error(
        "publisher `{label}`: {what} is {value}, allowed is {allowed}; change the topic's contract"
    )]
    BadConfig {
        /// The publisher's label.
        label: String,
        /// Which value.
        what: &'static str,
        /// The value.
        value: u64,
        /// What is allowed.
        allowed: String,
    },
    /// The chunks that the contract promises do not fit into its memory limit.
    #[error(
        "publisher `{label}`: depth, holds and one loan need {needed_bytes} bytes ({chunks} \
         chunks) together, more than the topic's limit of {limit_bytes}; raise the limit or lower \
         depth, holds or message size"
    )]
    MemoryLimit {
        /// The publisher's label.
        label: String,
        /// Chunks needed at least.
        chunks: u64,
        /// Bytes needed at least.
        needed_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// The memory cannot be made.
    #[error(transparent)]
    Memory(#[from] CreateMemoryError),
}

/// Who keeps chunks from being reused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The peer's label, or what else it is.
    pub label: String,
    /// Messages that it holds.
    pub chunks: usize,
}

pub(super) fn holder_list(holders: &[Holder]) -> String {
    let mut parts: Vec<String> =
        holders.iter().map(|holder| format!("{} x {}", holder.chunks, holder.label)).collect();
    if parts.is_empty() {
        parts.push("nobody".to_owned());
    }
    parts.join(", ")
}

/// Why there is no chunk to write to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoanError {
    /// The topic's memory is used up.
    #[error(
        "publisher `{label}`: no free chunk of {chunk_bytes} bytes within the topic's limit of \
         {limit_bytes} bytes: {in_ring} in the ring, {loans} in open loans, held by {}; drop \
         samples or raise the limit",
        holder_list(holders)
    )]
    Exhausted {
        /// The publisher's label.
        label: String,
        /// Size of a chunk.
        chunk_bytes: u64,
        /// The topic's limit.
        limit_bytes: u64,
        /// Chunks of messages in the ring.
        in_ring: usize,
        /// Chunks of loans that are neither published nor dropped.
        loans: usize,
        /// Who holds the others.
        holders: Vec<Holder>,
    },
    /// Larger than the topic allows at all.
    #[error(
        "publisher `{label}`: a message of {bytes} bytes can never fit into the topic's memory \
         limit of {limit_bytes} bytes; send smaller ones, or set the topic's maximum size to the \
         largest"
    )]
    TooLarge {
        /// The publisher's label.
        label: String,
        /// Bytes asked for.
        bytes: u64,
        /// The topic's limit.
        limit_bytes: u64,
    },
    /// More different sizes than a publisher may have segments.
    #[error(
        "publisher `{label}`: a message of {bytes} bytes would need segment {segments}, more than \
         allowed; set the topic's maximum size to the largest message"
    )]
    TooManySegments {
        /// The publisher's label.
        label: String,
        /// Bytes asked for.
        bytes: u64,
        /// Segments in use.
        segments: usize,
    },
    /// A peer has not mapped a new segment in time; a later loan of this size tries again.
    #[error(
        "publisher `{label}`: memory for larger messages (segment {segment}) was not mapped \
         within {waited:?} by {}; try again, or set the topic's maximum size so that nothing has \
         to grow",
        peers.join(", ")
    )]
    AwaitingPeers {
        /// The publisher's label.
        label: String,
        /// The segment.
        segment: u32,
        /// How long the loan waited.
        waited: Duration,
        /// Labels of the peers.
        peers: Vec<String>,
    },
    /// A further segment cannot be made.
    #[error(transparent)]
    Memory(#[from] CreateMemoryError),
    /// This is a forked child.
    #[error("publisher `{label}` belongs to the parent process; a forked child must open its own")]
    Forked {
        /// The publisher's label.
        label: String,
    },
}

/// Why a message was not published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// A reliable peer has not taken what the message would push out of the ring.
    #[error(
        "publisher `{label}`: reliable subscriber `{peer}` is {behind} messages behind and did \
         not move within {waited:?}; let it read faster, raise the depth of {depth}, or make the \
         topic best effort"
    )]
    TimedOut {
        /// The publisher's label.
        label: String,
        /// The slow peer's label.
        peer: String,
        /// Messages between the peer's next and the newest.
        behind: u64,
        /// Depth in force.
        depth: u64,
        /// How long the publisher waited.
        waited: Duration,
    },
    /// A reliable local link is full: its subscriber runs on this very thread, so waiting would be
    /// for ever.
    #[error(
        "publisher `{label}`: reliable local subscriber `{link}` has all {depth} messages of its \
         queue unread; let it take them before the next publish, or raise its depth"
    )]
    LinkFull {
        /// The publisher's label.
        label: String,
        /// The link's label.
        link: String,
        /// Its depth.
        depth: usize,
    },
    /// The length in the meta data is more than the loan's.
    #[error(
        "publisher `{label}`: a message of {len} bytes was written into a loan of {loaned} bytes; \
         loan more"
    )]
    TooLong {
        /// The publisher's label.
        label: String,
        /// Length claimed.
        len: usize,
        /// Length loaned.
        loaned: usize,
    },
    /// This is a forked child.
    #[error("publisher `{label}` belongs to the parent process; a forked child must open its own")]
    Forked {
        /// The publisher's label.
        label: String,
    },
}

/// A message that was not published, with the loan, which can be published again or dropped.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct PublishRefused<L: std::fmt::Debug> {
    /// The loan, unchanged.
    pub loan: L,
    /// Why. Boxed, as all errors of the data path: its results stay in registers.
    #[source]
    pub reason: Box<PublishError>,
}
