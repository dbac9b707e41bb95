//! The protocol.
mod armed;
mod bell;
mod conn;
mod inbox;
mod ring;
pub mod weaken;

pub use armed::{ARMED_WORDS, ArmedLine, fired};
pub use bell::{Bell, READY_BITS, READY_WORDS, ReadyLine, RelayLine};
pub use conn::{Conn, HOLDS_MAX};
pub use inbox::Inbox;
pub use ring::{Corruption, FIELDS, GONE, Head, Peek, Ring, Slot};
