//! What a bridge counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What has happened at a bridge so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetCounters {
    /// Messages that were handed to the network, each once.
    pub put: u64,
    /// Messages that were lost here, because the network took them more slowly than they came.
    pub overtaken: u64,
    /// Messages that the network did not take.
    pub refused: u64,
    /// Messages from the network that were published here.
    pub taken: u64,
    /// Messages from the network that are none of their type, or have no attachment of ROS 2.
    pub malformed: u64,
    /// Messages from the network whose publisher has no token.
    pub unknown: u64,
    /// Messages from the network for which there was no room here.
    pub unplaced: u64,
    /// Tokens from the network that are no tokens of ROS 2, or too many.
    pub tokens_refused: u64,
    /// Calls of clients here that the network was asked for, each once.
    pub calls_asked: u64,
    /// Answers from the network that went to clients here.
    pub calls_answered: u64,
    /// Calls from the network that servers here were sent, each once.
    pub calls_served: u64,
    /// Answers of servers here that went to the network.
    pub calls_replied: u64,
    /// Calls, either way, that ended without an answer: given up, the server or the client gone, or
    /// none came.
    pub calls_unanswered: u64,
    /// Calls, either way, that went nowhere: too many under way, or no server.
    pub calls_refused: u64,
    /// Calls, either way, that have not ended. Not a count.
    pub calls_waiting: u64,
}

/// The same while it is counted, by several threads. Relaxed, as it orders nothing.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) put: AtomicU64,
    pub(crate) overtaken: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) taken: AtomicU64,
    pub(crate) malformed: AtomicU64,
    pub(crate) unknown: AtomicU64,
    pub(crate) unplaced: AtomicU64,
    pub(crate) tokens_refused: AtomicU64,
    pub(crate) calls_asked: AtomicU64,
    pub(crate) calls_answered: AtomicU64,
    pub(crate) calls_served: AtomicU64,
    pub(crate) calls_replied: AtomicU64,
    pub(crate) calls_unanswered: AtomicU64,
    pub(crate) calls_refused: AtomicU64,
    pub(crate) calls_waiting: AtomicU64,
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    add(counter, 1);
}

pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Relaxed);
}

impl Counters {
    pub(crate) fn read(&self) -> NetCounters {
        NetCounters {
            put: self.put.load(Relaxed),
            overtaken: self.overtaken.load(Relaxed),
            refused: self.refused.load(Relaxed),
            taken: self.taken.load(Relaxed),
            malformed: self.malformed.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
            unplaced: self.unplaced.load(Relaxed),
            tokens_refused: self.tokens_refused.load(Relaxed),
            calls_asked: self.calls_asked.load(Relaxed),
            calls_answered: self.calls_answered.load(Relaxed),
            calls_served: self.calls_served.load(Relaxed),
            calls_replied: self.calls_replied.load(Relaxed),
            calls_unanswered: self.calls_unanswered.load(Relaxed),
            calls_refused: self.calls_refused.load(Relaxed),
            calls_waiting: self.calls_waiting.load(Relaxed),
        }
    }
}
