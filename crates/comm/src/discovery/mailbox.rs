//! How the control thread hands connections to a subscriber's thread.
//!
//! The subscriber looks at one flag with each message, and locks only if it is set.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::discovery::handover::RingConnection;

/// Connections of publishers that are gone, with messages in them, that a subscriber keeps for a
/// later look; older ones go with all their messages, which are counted as lost. Without it a
/// subscriber that never takes would keep memory and descriptors of every publisher that ever was.
pub(crate) const GONE_MAX: usize = 64;

/// News for a subscriber.
pub(crate) enum Note {
    /// A publisher is connected.
    Connected(Box<RingConnection>),
    /// The publisher of this pair is gone: drain what it left, then let go.
    Gone(u32),
}

#[derive(Default)]
struct Notes {
    queue: VecDeque<Note>,
    /// Messages of connections that were given up since the last look.
    lost: u64,
    /// The subscriber is gone: nobody will look.
    closed: bool,
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Mailbox {
    has_notes: AtomicBool,
    matched: AtomicUsize,
    notes: Mutex<Notes>,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Control thread: leaves a new connection. It comes back when the subscriber is gone.
    pub(crate) fn connected(
        &self,
        connection: Box<RingConnection>,
    ) -> Result<(), Box<RingConnection>> {
        let mut notes = self.lock();
        if notes.closed {
            return Err(connection);
        }
        notes.queue.push_back(Note::Connected(connection));
        // Pairs with the acquire load in `has_notes`.
        self.has_notes.store(true, Ordering::Release);
        // Last: who sees the count finds the note. Pairs with the acquire load in `matched`.
        self.matched.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Control thread: the publisher of `pair` is gone. Returns what has to be dropped outside
    /// all locks.
    pub(crate) fn gone(&self, pair: u32) -> Option<Box<RingConnection>> {
        let mut notes = self.lock();
        if notes.closed {
            return None;
        }
        notes.queue.push_back(Note::Gone(pair));
        self.has_notes.store(true, Ordering::Release);
        // Last, as above.
        self.matched.fetch_sub(1, Ordering::Release);
        // Others the subscriber has already; it bounds them itself.
        let unseen = |pair: u32| {
            let connects = |note: &Note| matches!(note, Note::Connected(it) if it.pair() == pair);
            notes.queue.iter().position(connects)
        };
        let mut gone = notes.queue.iter().filter_map(|note| match note {
            Note::Gone(pair) => unseen(*pair).map(|place| (*pair, place)),
            Note::Connected(_) => None,
        });
        let (oldest, place) = gone.next()?;
        if gone.count() < GONE_MAX {
            return None;
        }
        let removed = notes.queue.remove(place);
        notes.queue.retain(|note| !matches!(note, Note::Gone(pair) if *pair == oldest));
        match removed {
            Some(Note::Connected(mut connection)) => {
                notes.lost += connection.unread();
                Some(connection)
            }
            _ => None,
        }
    }

    /// Control thread: the subscriber has let go of a connection whose publisher is not gone.
    pub(crate) fn cut_off(&self) {
        self.matched.fetch_sub(1, Ordering::Relaxed);
    }

    /// Subscriber: is there anything new? One load.
    #[inline]
    pub(crate) fn has_notes(&self) -> bool {
        self.has_notes.load(Ordering::Acquire)
    }

    /// Subscriber: everything that is new, oldest first, and how many messages were given up.
    pub(crate) fn take(&self) -> (VecDeque<Note>, u64) {
        let mut notes = self.lock();
        self.has_notes.store(false, Ordering::Relaxed);
        let lost = std::mem::take(&mut notes.lost);
        (std::mem::take(&mut notes.queue), lost)
    }

    /// Subscriber: goes. What it had not looked at comes back to be dropped outside the lock.
    pub(crate) fn close(&self) -> VecDeque<Note> {
        let mut notes = self.lock();
        notes.closed = true;
        std::mem::take(&mut notes.queue)
    }

    /// Publishers that are connected through the control thread.
    pub(crate) fn matched(&self) -> usize {
        self.matched.load(Ordering::Acquire)
    }
}
