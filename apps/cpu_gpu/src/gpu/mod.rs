//! The benchmarks on a device, and memory that processor and device use together without nodes.
//!
//! What the unsafe blocks of the files here rest on:
//! 1. The arguments of a launch are those that the kernel declares, in its order, and it keeps to
//!    elements that are checked against the span.
//! 2. Parts of one swap are disjoint ([`crate::swap`]): what the device writes nobody else touches,
//!    and what it reads nobody writes, until the launch is over. Callers of `launch` promise it.
//! 3. The array in memory of the host is used by this process through atomics only.
#![allow(unsafe_code)]

mod crew;
mod kernel;
mod native_array;
mod shared_array;

pub use crew::Crew;
pub use kernel::{LaunchError, SwapOnDevice};
pub use native_array::{NativeArray, NativeError};
pub use shared_array::{SharedArray, SharedArrayError, Under};

use std::sync::atomic::AtomicU32;

/// The elements of an array for threads that use parts of it at the same time.
pub fn cells(words: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: they have the same size and alignment, and nobody else uses the words while they are
    // borrowed.
    unsafe { &*(std::ptr::from_mut(words) as *const [AtomicU32]) }
}
