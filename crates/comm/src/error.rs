//! What can go wrong with ports: one error for each operation.

use std::fmt;

use crossdock_msg::{CdrError, SchemaError};
use crossdock_shm::status::AddEntityError;
use crossdock_shm::{AllocateError, CreateRingError, LinkError};

use crate::wire::mismatch::Mismatch;
use crate::wire::names::NameError;

/// A port could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// The name of the topic or of the node is not legal.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A port of this process on the same topic has another type or quality of service. What
    /// other processes have is reported as an event.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// The depth is not legal.
    #[error(
        "topic `{topic}`: depth {depth} of node `{node}` is not 1 to {limit}; change it in the \
         graph file"
    )]
    Depth {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
        /// The depth asked for.
        depth: usize,
        /// The deepest legal one.
        limit: usize,
    },
    /// Policies of the quality of service contradict each other.
    #[error("topic `{topic}`, node `{node}`: {why}")]
    Contradiction {
        /// The topic.
        topic: String,
        /// The node.
        node: String,
        /// Which, and what to change.
        why: &'static str,
    },
    /// The definition of the type is longer than a handshake carries.
    #[error("the definition of `{type_name}` has {bytes} bytes, the limit is {limit}; split it")]
    Definition {
        /// The type.
        type_name: String,
        /// Length in bytes.
        bytes: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// Other processes bear no more publishers of one process.
    #[error(
        "process `{process}` has {limit} publishers already, the most that one may have; divide it \
         into several processes"
    )]
    Publishers {
        /// The process.
        process: String,
        /// How many it may have.
        limit: usize,
    },
    /// The publisher's memory could not be made.
    #[error(transparent)]
    Ring(#[from] CreateRingError),
    /// Two ports of one group could not be joined.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The status table has no room for the port.
    #[error(transparent)]
    StatusTable(#[from] AddEntityError),
    /// The events of the service have no type.
    #[error("the events of service `{service}` cannot be published: {source}")]
    Events {
        /// The service.
        service: String,
        /// Why not.
        source: Box<SchemaError>,
    },
    /// This is a forked child.
    #[error(
        "the participant `{process}` belongs to the parent process; a forked child must open its own"
    )]
    Forked {
        /// Name of the parent.
        process: String,
    },
    /// The process has all doorbells that it can have.
    #[error(transparent)]
    Doorbell(#[from] AllocateError),
}

/// A message was not published; it comes back in `loan`, to be published again or dropped.
///
/// Blocking, threads: as the loan.
pub struct PublishError<L> {
    /// The message, unchanged.
    pub loan: L,
    /// Why it was not published.
    pub reason: Box<crossdock_shm::PublishError>,
}

impl<L> fmt::Debug for PublishError<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishError").field("reason", &self.reason).finish_non_exhaustive()
    }
}

impl<L> fmt::Display for PublishError<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)
    }
}

impl<L> std::error::Error for PublishError<L> {}

/// Nothing could be taken, although a message may be there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TakeError {
    /// All samples that may be held are held, or this is a forked child.
    #[error(transparent)]
    Ring(#[from] Box<crossdock_shm::TakeError>),
    /// The message was published while a device wrote it, and was not finished; it was passed over
    /// and counted. A take passes over messages of a publisher that is gone without this error.
    #[error(transparent)]
    Unfinished(#[from] Box<UnfinishedPayload>),
}

/// A message that a device has not finished.
#[derive(Debug, thiserror::Error)]
#[error(
    "topic `{topic}`: message {seq}, published while a device wrote it, was not finished: {why}; it \
     was passed over"
)]
pub struct UnfinishedPayload {
    /// The topic.
    pub topic: String,
    /// Number of the message.
    pub seq: u64,
    /// What became of the work.
    pub why: &'static str,
    /// The publisher is gone, and its message with it: no fault of the processes that are left.
    pub publisher_gone: bool,
    /// The device took longer than anybody waits. The connection to its publisher was cut off, so
    /// that nobody waits for it again.
    pub timed_out: bool,
}

/// There is no memory for a message.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct LoanError(#[from] Box<crossdock_shm::LoanError>);

impl LoanError {
    /// Which limit is in the way, and who holds the topic's memory.
    pub fn reason(&self) -> &crossdock_shm::LoanError {
        &self.0
    }

    /// Whether the message is larger than the topic allows at all: no memory that others give back
    /// will help.
    pub fn is_too_large(&self) -> bool {
        matches!(*self.0, crossdock_shm::LoanError::TooLarge { .. })
    }
}

/// An encoded message was not published.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishCdrError {
    /// The bytes are no message of the publisher's type.
    #[error("topic `{topic}`: {source}")]
    Cdr {
        /// The topic.
        topic: String,
        /// What is wrong.
        source: CdrError,
    },
    /// There is no memory for it.
    #[error(transparent)]
    Loan(#[from] LoanError),
    /// A reliable subscriber did not make room in time.
    #[error(transparent)]
    Publish(#[from] Box<crossdock_shm::PublishError>),
}
