//! The payload of frames, the form that messages have on the AXI streams of hardware nodes:
//! converted from and to the flat layout without moving large data.
//!
//! * [`FramePlan`] holds a type with bounds: every length that a frame can have.
//! * [`FramePlan::gather`] reads a block and gives the payload as a list of segments; large
//!   sequences stay where they are.
//! * [`FramePlan::adopt`] makes a block of a frame that hardware wrote into a chunk; large
//!   sequences stay where they are.
//! * [`FramePlan::encode`] and [`FramePlan::decode`] do the same with memory of their own.
//!
//! The canonical order of a payload is described in docs/formats/hardware-network.md, the reasons
//! for both ways in docs/decisions/0004-frames-in-place.md.
//!
//! Blocks are read as in [`crate::block`]: another process may write them meanwhile. A reference is
//! fetched once and checked, nothing that was checked is fetched again. Frames are input of others,
//! too: hardware may be wrong, and each length is fetched once, held against its bound and against
//! the bytes that were received.

#![forbid(unsafe_code)]

mod adopt;
mod gather;
mod header;
mod plan;

pub use adopt::{AdoptError, Adopted};
pub use gather::{GatherError, Segment, SegmentSource};
pub use header::{FrameHeader, FrameHeaderError};
pub use plan::{FramePlan, FramePlanError};

/// Bytes of a frame's header, before the payload.
pub const HEADER_BYTES: usize = 24;

/// Longest payload in bytes.
pub const PAYLOAD_BYTES_MAX: u64 = (1 << 32) - 64;

/// Where the data of a sequence begins, and elements of varying length: the next multiple of this.
pub const DATA_ALIGNMENT: usize = 8;

/// A field's path with what comes before it: `fields`, `[3]`, `name` become `fields[3].name`.
#[cold]
fn joined(outer: &str, inner: &str) -> Box<str> {
    match (outer, inner) {
        ("", only) | (only, "") => only.into(),
        _ if inner.starts_with('[') => format!("{outer}{inner}").into(),
        _ => format!("{outer}.{inner}").into(),
    }
}
