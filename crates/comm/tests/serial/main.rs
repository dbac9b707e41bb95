//! Tests that run one at a time, because they count the descriptors, mappings and threads of their
//! process.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../common/mod.rs"]
mod common;

mod buffers;
mod exhaustion;
mod held;
mod hostile;
mod idle;
mod kills;
mod limits;
mod sweeps;

use common::turn;
