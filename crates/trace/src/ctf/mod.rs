//! Traces as folders in the Common Trace Format 1.8, in the shape that LTTng's user-space tracer
//! gives them, so that babeltrace2, Trace Compass and the tools of ros2_tracing read them.
//!
//! There is one stream class, and one file for each thread. docs/formats/trace.md has the bytes.

mod metadata;
mod reader;
mod writer;

pub use reader::{ReadTrace, ReadTraceError, read};
pub use writer::{TraceWriter, WriteTraceError};

/// What every packet begins with.
const MAGIC: u32 = 0xC1FC_1FC1;
/// The file that describes the others.
const METADATA: &str = "metadata";
/// An event's id that says that the extended form of the header follows.
const EXTENDED: u16 = u16::MAX;
/// Bytes of a thread's name, the last one 0.
const PROCNAME_BYTES: usize = 17;
/// Bytes of a packet before its first event: magic, UUID, stream id; begin, end, content, size,
/// number, discarded, cpu.
const PACKET_HEAD_BYTES: usize = 4 + 16 + 4 + 6 * 8 + 4;
