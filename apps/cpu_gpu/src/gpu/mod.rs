//! The benchmarks on a device, and memory that processor and device use together without nodes.
//!
//! What the unsafe blocks of the files here rest on:
//! 1. The arguments of a launch are those that the kernel declares, in its order, and it keeps to
//!    elements that are checked against the span.
//! 2. Parts of one swap are disjoint ([`crate::swap`]): what the device writes nobody else touches,
//!    and what it reads nobody writes, until the launch is over. Callers of `launch` promise it.
#![allow(unsafe_code)]

mod crew;
mod kernel;
mod native_array;
mod shared_array;

pub use kernel::{LaunchError, SwapOnDevice};
pub use native_array::{NativeArray, NativeError};
pub use shared_array::{SharedArray, SharedArrayError, Under};
