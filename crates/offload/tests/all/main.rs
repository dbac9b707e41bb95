//! The integration tests of this crate as one program: one is built and linked faster than many.
#![allow(missing_docs)]
#![allow(unsafe_code, reason = "launching a kernel is unsafe; that of a test is in the test")]

mod buffer_kills;
mod buffers;
mod foreign;
mod kills;
mod offload;
mod order;
mod room;
mod uploading;

mod killed;
mod pixels;
mod running;
