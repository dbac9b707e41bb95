//! What ports need to know of a message type, whether it is known when the program is built or at
//! run time only.

use crossdock_msg::cdr::CdrSize;
use crossdock_msg::{Block, FlatError, Message, Schema};

use crate::discovery::local_ports::Takes;

/// What ports need to know of a message type.
#[derive(Clone, Copy)]
pub(crate) struct MessageType<'a> {
    pub(crate) type_name: &'a str,
    pub(crate) type_hash: [u8; 32],
    pub(crate) layout_hash: [u8; 32],
    pub(crate) definition: &'a str,
    pub(crate) root_bytes: usize,
    /// Whether a payload can be looked at as this type. `None`: the type is known at run time only.
    pub(crate) check: Option<PayloadCheck>,
    /// The same for all that the payload refers to. It holds for payloads that nobody changes, such
    /// as copies of what strangers publish.
    pub(crate) check_whole: Option<PayloadCheck>,
}

/// Says what is wrong with a payload. What `check` finds depends on the payload's length alone, so
/// it holds as long as the payload is held.
pub(crate) type PayloadCheck = fn(&[u8]) -> Result<(), FlatError>;

fn check_payload<T: Message>(bytes: &[u8]) -> Result<(), FlatError> {
    T::view(Block::new(bytes)).map(drop)
}

fn check_whole_payload<T: Message>(bytes: &[u8]) -> Result<(), FlatError> {
    T::write_cdr(T::view(Block::new(bytes))?, &mut CdrSize::start(bytes.len()))
}

impl MessageType<'static> {
    pub(crate) fn of<T: Message>() -> Self {
        MessageType {
            type_name: T::TYPE_NAME,
            type_hash: T::TYPE_HASH.0,
            layout_hash: T::LAYOUT_HASH.0,
            definition: T::DEFINITION,
            root_bytes: T::ROOT_BYTES,
            check: Some(check_payload::<T>),
            check_whole: Some(check_whole_payload::<T>),
        }
    }
}

impl MessageType<'static> {
    /// Whatever type the publisher has.
    pub(crate) const ANY: Self = MessageType {
        type_name: "",
        type_hash: [0; 32],
        layout_hash: [0; 32],
        definition: "",
        root_bytes: 0,
        check: None,
        check_whole: None,
    };
}

impl<'a> MessageType<'a> {
    /// What a subscriber of this type takes.
    pub(crate) fn taken(&self) -> Takes {
        Takes::One(self.definition.into())
    }

    pub(crate) fn of_schema(schema: &'a Schema) -> Self {
        MessageType {
            type_name: schema.type_name(),
            type_hash: schema.type_hash().0,
            layout_hash: schema.layout_hash().0,
            definition: schema.definition(),
            root_bytes: schema.root_bytes(),
            check: None,
            check_whole: None,
        }
    }
}
