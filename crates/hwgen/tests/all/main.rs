//! The integration tests of this crate as one program: one is built and linked faster than many.

#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

mod direct;
mod golden;
mod layouts;
mod messages;
mod names;
mod nodes;
mod refusals;
mod support;
