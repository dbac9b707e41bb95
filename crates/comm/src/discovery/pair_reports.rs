//! What threads that own ports tell the control thread of pairs: a pair is not used any more, or
//! nothing of it is held.
//!
//! It is a list and what wakes the control thread, so that connections and samples need no other
//! part of the participant.

use std::sync::{Arc, Mutex, PoisonError};

use crossdock_shm::{ForkMark, PrivateFd};

/// What becomes of a pair of ours on threads that know nothing of the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairNews {
    /// The subscriber takes nothing from it any more; samples may be left.
    LetGo(u32),
    /// Nothing of its publisher's memory is held any more: its publisher may be told so.
    Unheld(u32),
}

/// See the head of this file.
pub(crate) struct PairReports {
    /// In the order in which they came.
    news: Mutex<Vec<PairNews>>,
    waker: Arc<Waker>,
    fork: ForkMark,
}

impl PairReports {
    pub(crate) fn new(waker: Arc<Waker>) -> PairReports {
        PairReports { news: Mutex::new(Vec::new()), waker, fork: ForkMark::new() }
    }

    /// Leaves a report and wakes the control thread. Does nothing in a forked child.
    pub(crate) fn tell(&self, news: PairNews) {
        if self.fork.in_child() {
            return;
        }
        self.news.lock().unwrap_or_else(PoisonError::into_inner).push(news);
        self.waker.wake();
    }

    /// All reports since the last call, in order.
    pub(crate) fn take(&self) -> Vec<PairNews> {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Wakes the control thread: an eventfd.
pub(crate) struct Waker(PrivateFd);

impl Waker {
    pub(crate) fn new(eventfd: PrivateFd) -> Waker {
        Waker(eventfd)
    }

    /// Any thread; one system call.
    pub(crate) fn wake(&self) {
        // The counter overflows after 2^64 wake-ups that nobody reads; a full one wakes as well.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Control thread: takes back all calls of [`Waker::wake`].
    pub(crate) fn woken(&self) {
        let mut count = [0u8; 8];
        let _ = rustix::io::read(&self.0, &mut count);
    }
}
