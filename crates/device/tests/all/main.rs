//! The integration tests of this crate as one program: one is built and linked faster than many.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod devices;
mod rules;
