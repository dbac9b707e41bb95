//! The integration tests of this crate as one program: one is built and linked faster than many.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../common/mod.rs"]
mod common;

mod cdr;
mod corpus;
mod definition;
mod events;
mod flat_layout;
mod flipped_texts;
mod foreign_cdr;
mod frame;
mod generated;
mod golden;
mod hashes;
mod idl;
mod languages;
mod members;
mod mutating_publisher;
mod property;
mod services;
mod user_package;
mod written;
