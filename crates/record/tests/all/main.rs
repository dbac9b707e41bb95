//! The integration tests of this crate as one program: one is built and linked faster than many.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../common/mod.rs"]
mod common;

mod bombs;
mod compressed;
mod conversion;
mod damage;
mod independent_readers;
mod joining;
mod play_and_record;
mod playing;
mod reading;
mod reindexing;
mod requests;
mod splitting;
mod sqlite;
mod steering;
mod steps;
mod summaries;
mod times;
mod topics;
mod writing;
