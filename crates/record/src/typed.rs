//! Messages of a bag as the Rust types that a program was built with.
//!
//! Must not know how bags are read.

use crate::bag::BagTopic;
use crossdock_msg::{Block, BlockMut, CdrError, FlatBuffer, FlatError, Message};

/// A topic has another type than a program was built with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{topic} is {found}, but must be {expected}: record it with this version of the package")]
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

impl BagTopic {
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
