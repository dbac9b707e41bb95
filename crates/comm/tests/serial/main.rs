//! Tests that run one at a time, because they count the descriptors, mappings and threads of their process.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Each test of this program holds its turn from its first line to its last.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
