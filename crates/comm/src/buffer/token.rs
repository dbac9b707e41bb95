//! Tokens: what a node may do with a shared buffer in one turn, as a message of type
//! `crossdock_interfaces/msg/SharedBuffer` says it.
//!
//! A token is a word, not a right: each process that has the buffer could claim any part of it.
//! Claims, not tokens, keep two nodes from writing the same elements.

use crossdock_msg::FlatError;
use crossdock_msg::types::crossdock_interfaces::{
    BufferPartBuilder, BufferPartView, SharedBufferBuilder, SharedBufferView,
};
use crossdock_shm::ElementType;
use crossdock_shm::rendezvous::PeerName;

use crate::buffer::parts::{Part, PartError};

/// Which buffer, in all of the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId {
    /// The process that made it.
    pub(crate) owner: PeerName,
    /// Its number there, never used twice.
    pub(crate) number: u64,
}

impl std::fmt::Display for BufferId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let owner = self.owner.to_bytes();
        for byte in &owner[..4] {
            write!(f, "{byte:02x}")?;
        }
        write!(f, "/{}", self.number)
    }
}

/// What a message says of a shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Which.
    pub buffer: BufferId,
    /// Over when the owner begins the next one ([`crate::SharedBuffer::accept_abandoned`]).
    pub generation: u64,
    /// Type of its elements.
    pub element: ElementType,
    /// How many there are.
    pub count: u64,
    /// What the receiver shall write.
    pub writes: Part,
    /// What it may read besides.
    pub reads: Part,
    /// Counts on from turn to turn.
    pub turn: u64,
}

/// A message is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The message is damaged.
    #[error(transparent)]
    Message(#[from] FlatError),
    /// There is no such type of elements.
    #[error("a token names an unknown element type, {0}; run one version of Crossdock everywhere")]
    Element(u8),
    /// Its numbers make no part.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A part that is not in the buffer.
    #[error(
        "a token names {part}, but the buffer has {count} elements; mend the node that sent it"
    )]
    Outside {
        /// The part.
        part: Part,
        /// Elements of the buffer.
        count: u64,
    },
}

impl Token {
    /// What a message says. Checked: parts lie in the buffer. Allocates nothing.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn of(message: SharedBufferView<'_>) -> Result<Token, TokenError> {
        let number = message.element();
        let element = ElementType::of_number(number).ok_or(TokenError::Element(number))?;
        let count = message.count();
        let (writes, reads) = (part(message.writes())?, part(message.reads())?);
        for part in [writes, reads] {
            if part.end() > count {
                return Err(TokenError::Outside { part, count });
            }
        }
        let owner = PeerName::from_bytes(message.owner());
        Ok(Token {
            buffer: BufferId { owner, number: message.buffer() },
            generation: message.generation(),
            element,
            count,
            writes,
            reads,
            turn: message.turn(),
        })
    }

    /// Says it in a message.
    pub fn write(&self, message: &mut SharedBufferBuilder<'_>) {
        message.set_owner(&self.buffer.owner.to_bytes());
        message.set_buffer(self.buffer.number);
        message.set_generation(self.generation);
        message.set_element(self.element as u8);
        message.set_count(self.count);
        self.writes.write(&mut message.writes());
        self.reads.write(&mut message.reads());
        message.set_turn(self.turn);
    }
}

fn part(view: BufferPartView<'_>) -> Result<Part, PartError> {
    Part::new(view.first(), view.step(), view.count())
}

impl Part {
    /// Says it in a message.
    pub fn write(self, message: &mut BufferPartBuilder<'_>) {
        message.set_first(self.first());
        message.set_step(self.step());
        message.set_count(self.count());
    }
}
