//! ROS 2 messages: definitions, type hashes, one flat layout for every memory, CDR, Rust types.
//!
//! * [`definition`] reads `.msg`, `.srv`, `.action` and `.idl` files and the merged text of
//!   recordings; [`find`] finds the files in folders and sourced workspaces.
//! * [`Schema`] resolves a type: its RIHS01 hash, its flat layout, its codec, JSON for people.
//! * [`Message`] is implemented by the types in [`types`] and by those that [`generate`] writes in
//!   a user's build script.
//! * [`Service`] is a request and a response; [`ServiceSchema`] the same at run time;
//!   [`EventSchema`] what ROS 2 tells of calls.
//! * [`Action`] is a goal, a result and feedback.
//! * [`frame`] converts messages from and to the frames of hardware nodes.
//! * [`block`] reads and builds messages in place, safely even when another process still writes.
//!
//! ```
//! use crossdock_msg::types::std_msgs::Header;
//! use crossdock_msg::{Block, BlockMut, CdrBuffer, Extra, FlatBuffer, Message};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let extra = Extra::none().text("camera".len());
//! let mut memory = FlatBuffer::with_bytes(Header::ROOT_BYTES + extra.total());
//! let mut used = 0;
//! let mut header = Header::builder(BlockMut::new(memory.as_mut_slice(), &mut used));
//! header.stamp().set_sec(7);
//! header.set_frame_id("camera")?;
//!
//! let header = Header::view(Block::new(&memory.as_slice()[..used]))?;
//! assert_eq!(header.stamp().sec(), 7);
//! assert_eq!(header.frame_id()?, b"camera");
//!
//! let mut cdr = CdrBuffer::new();
//! Header::encode_cdr(header, &mut cdr)?;
//! assert_eq!(cdr.as_bytes().len(), 4 + 8 + 4 + 7);
//! # Ok(())
//! # }
//! ```
//!
//! The crate is pure: it opens no device, no socket and no shared memory, and knows no topic. Only
//! `block` holds unsafe code.

#![deny(unsafe_code)]

// Generated code says `::crossdock_msg` wherever it is compiled, here too.
extern crate self as crossdock_msg;

mod action;
#[allow(unsafe_code, reason = "reads and writes shared memory; see its head for the protocol")]
pub mod block;
pub mod cdr;
pub mod definition;
mod derived;
mod difference;
mod event;
mod field;
pub mod find;
mod float128;
pub mod frame;
pub mod generate;
mod hash;
mod json;
pub mod layout;
mod members;
mod message;
pub mod resolve;
pub mod rihs;
mod schema;
mod service;
mod stamp;
mod standard;
mod terminal;
#[rustfmt::skip]
pub mod types;
mod value;
mod walk;

pub use action::Action;
pub use block::{Block, BlockMut, BuildError, Extra, FlatBuffer, FlatError, Sequence};
pub use cdr::{CdrBuffer, CdrError, CdrSlices};
pub use difference::FieldDifference;
pub use event::{EventHead, EventKind, EventSchema};
pub use field::FieldError;
pub use hash::{LayoutHash, ParseHashError, TypeHash};
pub use json::{JSON_BYTES_MAX, JsonOptions, SHOWN_BYTES_MAX};
pub use members::{Member, TypeMembers};
pub use message::Message;
pub use schema::{Schema, SchemaError};
pub use service::{Service, ServiceSchema, ShippedService};
pub use stamp::{STAMP_NS_MAX, stamp_of};
pub use terminal::drives_terminal;
pub use value::{ValueError, WrittenMessage};
