//! The integration tests of this crate as one program: one is built and linked faster than many.

#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

#[path = "../support/mod.rs"]
mod support;

mod check;
mod communication;
mod files;
mod hardware_packages;
mod import;
mod names;
mod properties;
