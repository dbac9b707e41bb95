//! The one door to atomics: std's in the product, loom's under `--cfg loom`.
//!
//! It must not know the protocol. No other file of this crate names `std::sync::atomic` for memory
//! that the protocol speaks about, so that the model checker runs the very source that the product
//! runs.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
