//! Messages of a bag as the Rust types of a program, and the errors of programs that read them.

use crate::bag::{BagTopic, OpenBagError, ReadError};
use crate::names::Shown;
use crossdock_msg::{Block, BlockMut, CdrError, FlatBuffer, FlatError, Message};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// A topic has another type than a program was built with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is {}, but must be {expected}: record it with this version of the package",
    Shown(topic),
    Shown(found)
)]
pub struct TopicTypeError {
    /// The topic.
    pub topic: String,
    /// Its recorded type.
    pub found: String,
    /// The type that it must have.
    pub expected: &'static str,
}

/// The bytes of a message are not what its type says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// They are no CDR of it.
    #[error(transparent)]
    Cdr(#[from] CdrError),
    /// What they say does not hold together.
    #[error(transparent)]
    Flat(#[from] FlatError),
}

/// A program cannot use a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The recording cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenBagError),
    /// Parts of it cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A topic has another type than the program's.
    #[error("{}: {source}", path.display())]
    Type {
        /// The recording.
        path: PathBuf,
        /// The topic and its types.
        source: TopicTypeError,
    },
    /// A message is not of its type.
    #[error("message {number} of {} is damaged ({reason}): record it again", Shown(topic))]
    Message {
        /// The topic.
        topic: String,
        /// Number of the message on its topic, from 1.
        number: u64,
        /// What is wrong.
        reason: String,
    },
    /// It has none of the topics that the program reads.
    #[error(
        "{} holds neither {} nor {}: record them with `crossdock run GRAPH --record`",
        path.display(), topics[0], topics[1]
    )]
    Nothing {
        /// The recording.
        path: PathBuf,
        /// The topics.
        topics: [&'static str; 2],
    },
}

impl RecordingError {
    /// Message `number` of a topic is damaged.
    #[must_use]
    pub fn damaged(topic: &BagTopic, number: u64, reason: impl Display) -> Self {
        Self::Message { topic: topic.name.clone(), number, reason: reason.to_string() }
    }
}

impl BagTopic {
    /// As [`BagTopic::check_type`], for a topic of the recording at `path`.
    ///
    /// # Errors
    /// [`RecordingError::Type`].
    pub fn check_type_in<T: Message>(&self, path: &Path) -> Result<(), RecordingError> {
        let of_path = |source| RecordingError::Type { path: path.to_owned(), source };
        self.check_type::<T>().map_err(of_path)
    }

    /// Whether its messages are of the type `T`, by name and, if it was recorded, by hash.
    ///
    /// # Errors
    /// [`TopicTypeError`]: they are of another.
    pub fn check_type<T: Message>(&self) -> Result<(), TopicTypeError> {
        let hash = T::TYPE_HASH.to_string();
        let same_hash = self.type_hash.as_ref().is_none_or(|recorded| *recorded == hash);
        if self.type_name == T::TYPE_NAME && same_hash {
            return Ok(());
        }
        let found = match self.type_name == T::TYPE_NAME {
            true => format!("{} of another definition", self.type_name),
            false => self.type_name.clone(),
        };
        Err(TopicTypeError { topic: self.name.clone(), found, expected: T::TYPE_NAME })
    }
}

/// Decodes the bytes of one message and hands its view to `use_it`. Allocates.
///
/// # Errors
/// [`DecodeError`]: they are not a message of the type `T`.
pub fn with_message<T: Message, R>(
    cdr: &[u8],
    use_it: impl FnOnce(T::View<'_>) -> R,
) -> Result<R, DecodeError> {
    let extra = T::cdr_extra(cdr)?;
    let mut memory = FlatBuffer::with_bytes(T::ROOT_BYTES + extra.total());
    let mut top = 0;
    T::decode_cdr(cdr, &mut T::builder(BlockMut::new(memory.as_mut_slice(), &mut top)))?;
    Ok(use_it(T::view(Block::new(memory.as_slice()))?))
}
