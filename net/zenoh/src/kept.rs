//! Memory that publishers here take for messages from the network. Depths are what peers over there
//! say, and so are sizes: all publishers of a bridge share one limit.

use crossdock_comm::{AnyPublisher, AnyThread, Uncarried};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What publishers take at most, if nothing else is said: some five hundred messages of 8 MB.
pub const KEPT_BYTES_MAX: u64 = 4 << 30;

/// What all publishers of a bridge take, and may take. Relaxed, as it orders nothing.
#[derive(Debug)]
pub(crate) struct Kept {
    bytes: AtomicU64,
    publishers: AtomicU64,
    max: u64,
}

impl Default for Kept {
    fn default() -> Self {
        Self::new(KEPT_BYTES_MAX)
    }
}

impl Kept {
    pub(crate) fn new(max: u64) -> Self {
        Self { bytes: AtomicU64::new(0), publishers: AtomicU64::new(0), max }
    }

    /// In all.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// No further publisher is made then, and none that takes more than its share publishes.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.load(Relaxed) > self.max
    }

    fn share(&self) -> u64 {
        self.max / self.publishers.load(Relaxed).max(1)
    }
}

/// A publisher whose memory counts.
pub(crate) struct KeepingPublisher {
    publisher: AnyPublisher<AnyThread>,
    bytes: u64,
    kept: Arc<Kept>,
}

impl KeepingPublisher {
    pub(crate) fn new(publisher: AnyPublisher<AnyThread>, kept: &Arc<Kept>) -> Self {
        kept.publishers.fetch_add(1, Relaxed);
        let mut publisher = Self { publisher, bytes: 0, kept: Arc::clone(kept) };
        publisher.note_bytes();
        publisher
    }

    /// Whether it may publish. If all take more than they may, none is stopped that takes less than
    /// its share: a peer that makes this bridge keep much does not silence the others.
    pub(crate) fn has_room(&self) -> bool {
        !self.kept.is_full() || self.bytes <= self.kept.share()
    }

    /// To be called after a message, with which its memory may have grown.
    pub(crate) fn note_bytes(&mut self) {
        let now = self.publisher.memory_bytes();
        let before = std::mem::replace(&mut self.bytes, now);
        // The sum is never less than what has been added to it.
        self.kept.bytes.fetch_add(now.wrapping_sub(before), Relaxed);
    }

    pub(crate) fn get(&self) -> &AnyPublisher<AnyThread> {
        &self.publisher
    }

    pub(crate) fn count_uncarried(&self, cause: Uncarried, count: u64) {
        self.publisher.count_uncarried(cause, count);
    }
}

impl Drop for KeepingPublisher {
    fn drop(&mut self) {
        self.kept.bytes.fetch_sub(self.bytes, Relaxed);
        self.kept.publishers.fetch_sub(1, Relaxed);
    }
}
