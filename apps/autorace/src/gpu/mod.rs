//! The picture nodes' computations on a device, with the same bits as on the processor.
//!
//! Each is a struct that holds its compiled kernels, its tables (uploaded once) and its scratch,
//! and whose `launch` puts the work for one picture into a stream and returns at once. Pictures
//! begin at the start of their spans, in packed rows. Nothing here knows messages, or when a
//! picture is ready.
//!
//! What the unsafe blocks rest on:
//! 1. The arguments of a launch are those that the kernel declares, in its order, and the kernel
//!    keeps to the lengths that were checked against the spans.
//! 2. Tables are written before anybody else has their memory, and never again. Scratch is used by
//!    this struct's kernels alone. Launches of one struct go into one stream, where they run in
//!    order: that, and that nobody else uses the spans meanwhile, is promised by the caller of
//!    `launch`.
//! 3. The places of a [`Work`](crossdock_offload::Work) are the device's until it is over: what is
//!    read is held, and what is written is a loan. All work of a node is in one stream.
#![allow(unsafe_code)]

mod blur;
mod compensation;
mod lane_view;

pub use blur::BlurOnDevice;
pub use compensation::CompensationOnDevice;
pub use lane_view::LaneViewOnDevice;

use crossdock_device::{DeviceError, Span};

/// Work items of one group, along a line.
const LINE: u32 = 256;
/// Work items of one group, in a plane.
const PLANE: [u32; 2] = [32, 8];

/// Pictures that kernels are launched on beforehand, pixels; rgb8.
const REHEARSED: (u32, u32) = (640, 480);
const REHEARSED_BYTES: u64 = REHEARSED.0 as u64 * REHEARSED.1 as u64 * 3;

/// Numbers of a table as they lie in memory.
fn words<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.flatten().collect()
}

/// The start of `span` that holds a picture of these sides, and its bytes, which kernels count in
/// 32 bits.
fn picture(span: Span<'_>, sides: [u32; 3]) -> Result<(Span<'_>, u32), DeviceError> {
    let bytes = sides.into_iter().fold(1, |bytes: u64, side| bytes.saturating_mul(side.into()));
    match u32::try_from(bytes) {
        Ok(count) => Ok((span.first(bytes)?, count)),
        // More than any span is taken to hold.
        Err(_) => span.first(u64::MAX).map(|span| (span, u32::MAX)),
    }
}
