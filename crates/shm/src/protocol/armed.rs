//! Which triggered subscribers want to be woken by the next message of one publisher.
//!
//! A bit is a number that the publisher looks up in private memory.

use crate::sync::{AtomicU64, Ordering};

/// Words of one line; more triggered subscribers of one process on one publisher need another line.
pub const ARMED_WORDS: usize = if cfg!(loom) { 1 } else { 8 };

/// The triggered subscribers of one process on one publisher: 64 bytes, read-modify-write by both
/// sides, private to that pair of processes.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct ArmedLine {
    /// One bit per triggered subscriber.
    pub words: [AtomicU64; ARMED_WORDS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<ArmedLine>() == 64);

impl Default for ArmedLine {
    fn default() -> Self {
        ArmedLine { words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// Rule P6, behind `Ring::before_doors`: takes the armed bits of one word; mostly one load that
/// finds 0.
#[inline(always)]
pub fn fired(word: &AtomicU64) -> u64 {
    // The fence of `before_doors` orders this load; a bit that it misses belongs to a subscriber
    // whose look at `head` sees the message.
    if word.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    // AcqRel pairs with the fetch_or of `Ring::arm`.
    word.swap(0, Ordering::AcqRel)
}
