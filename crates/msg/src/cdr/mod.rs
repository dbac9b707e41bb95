//! CDR, the wire and recording encoding: XCDR1, little endian, behind a 4-byte header.
//!
//! `reader` and `writer` hold the primitive steps that generated code strings together; `plan`
//! works out those steps for a type, and `dynamic` carries them out for types known only at run
//! time. `foreign` rewrites big-endian input and XCDR2, and finds the field of an error. They share
//! no state with the rest of the crate: bytes in, flat layout out, and back.
//!
//! Wide text is a count of UTF-16 units followed by 4 bytes per unit, as XCDR1 writers do; texts
//! carry a NUL byte that their length counts.

mod dynamic;
mod foreign;
mod plan;
mod reader;
mod writer;

pub(crate) use dynamic::{check_length, decode, decode_at, encode, flat_bytes, flat_bytes_at};
pub(crate) use foreign::rewritten_or;
pub(crate) use plan::{Op, Plan, Target};
pub use reader::{CdrReader, FlatSize, WideText};
pub use writer::{CdrBuffer, CdrSink, CdrSize, CdrSlices};

use crate::block::BuildError;

/// Bytes of the encapsulation header.
pub const HEADER_BYTES: usize = 4;

/// Bytes that may follow a message: writers pad to a multiple of 4.
const PADDING_MAX: usize = 3;

/// Header of XCDR1 little endian.
pub const HEADER_LITTLE_ENDIAN: [u8; HEADER_BYTES] = [0, 1, 0, 0];

/// Why CDR could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CdrError {
    /// The input ends before the message does.
    #[error(
        "the CDR ends at byte {bytes}, but the message needs {wanted} bytes from byte {at} on: it \
         was cut off, or written with another definition of the type"
    )]
    TooShort {
        /// Byte position in the input.
        at: usize,
        /// Bytes needed there.
        wanted: usize,
        /// Bytes of the input.
        bytes: usize,
    },
    /// The header names another encoding.
    #[error(
        "the CDR header is {header:02x?}, but only XCDR1 (00 00, 00 01) and XCDR2 of final or \
         appendable types (00 06 to 00 09) can be read: convert the message, or record it with \
         another writer"
    )]
    Encoding {
        /// The first two bytes.
        header: [u8; 2],
    },
    /// A part has another length than the input says.
    #[error(
        "a part of the CDR ends at byte {at}, but the length before it says {says}: the input is \
         damaged, or written with another definition of the type"
    )]
    Delimiter {
        /// Where the part ends in the input.
        at: usize,
        /// Where its length says that it ends.
        says: usize,
    },
    /// One of these, in a field with this path.
    #[error("field `{field}`: {cause}")]
    InField {
        /// Path of the field, such as `fields[3].name`.
        field: Box<str>,
        /// What is wrong there.
        cause: Box<CdrError>,
    },
    /// A text's last byte is not NUL.
    #[error("the text at byte {at} of the CDR does not end with a NUL byte: the input is damaged")]
    NotTerminated {
        /// Byte position in the input.
        at: usize,
    },
    /// A wide text holds a value above 0xffff.
    #[error("the wide text at byte {at} of the CDR holds {unit:#x}, which is not a UTF-16 unit")]
    WideUnit {
        /// Byte position in the input.
        at: usize,
        /// The value.
        unit: u32,
    },
    /// A bounded field holds more elements than its type allows.
    #[error(
        "the field at byte {at} of the CDR holds {length} elements, but its type allows {bound}: \
         it was written with another definition of the type"
    )]
    OverBound {
        /// Byte position in the input.
        at: usize,
        /// Elements that it holds.
        length: usize,
        /// Elements that the type allows.
        bound: usize,
    },
    /// More input than message.
    #[error(
        "the message ends at byte {at}, but the CDR goes on to byte {bytes}: it was written with \
         another definition of the type"
    )]
    Trailing {
        /// End of the message in the input.
        at: usize,
        /// Bytes of the input.
        bytes: usize,
    },
    /// The memory for the flat layout is too small or not aligned.
    #[error("the decoded message needs {wanted} bytes, but has room for {room}: reserve more")]
    Room {
        /// Bytes that the flat layout takes.
        wanted: usize,
        /// Bytes given.
        room: usize,
    },
    /// A field does not fit into the message under construction.
    #[error(transparent)]
    Build(#[from] BuildError),
}
