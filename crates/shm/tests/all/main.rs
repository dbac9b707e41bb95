//! The integration tests of this crate as one program: one is built and linked faster than many.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../common/mod.rs"]
mod common;

mod allocation;
mod copies;
mod depth;
mod distant;
mod doorbell;
mod faults;
mod growth;
mod memory;
mod ring;
