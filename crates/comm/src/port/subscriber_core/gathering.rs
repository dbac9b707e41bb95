//! Messages that are looked at before they are taken: how they get into a subscriber's window, and
//! out of it without being taken.

use crossdock_shm::{Meta, TakeError as RingTakeError};

use super::SubscriberCore;
use crate::error::TakeError;
use crate::port::connection::Connection;
use crate::wire::port_info::is_of_one_process;
use crate::wire::status_records::counter;

/// What looking at one more message found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// One more message is in the window.
    One,
    /// There is none.
    Nothing,
    /// There may be one, but no more can be held before one is dropped.
    Full,
}

impl SubscriberCore {
    /// Moves the next message into the window; it counts as taken and uses one of the samples that
    /// may be held.
    pub(crate) fn gather(&self) -> Result<Gathered, TakeError> {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        match self.take_next(&mut state) {
            Ok(Some(taken)) => {
                self.lookahead.push(taken);
                Ok(Gathered::One)
            }
            Ok(None) => Ok(Gathered::Nothing),
            Err(TakeError::Ring(error))
                if matches!(*error, RingTakeError::AllHoldsInUse { .. }) =>
            {
                Ok(Gathered::Full)
            }
            Err(error) => Err(error),
        }
    }

    /// What is known of the message that [`SubscriberCore::gather`] would find.
    pub(crate) fn peek_behind_window(&self) -> Option<Meta> {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        self.peek_connections(&mut state)
    }

    /// Passes over all messages but the newest, which is in the window then; answers how many.
    pub(crate) fn gather_newest(&self) -> Result<u64, TakeError> {
        let before = self.passed();
        if let Some(newest) = self.find_newest()? {
            self.lookahead.push(newest);
        }
        Ok(self.passed() - before)
    }

    /// Publication time and `header.stamp` of the newest message that is in the window or has left.
    pub(crate) fn newest(&self) -> Option<(u64, Option<(i32, u32)>)> {
        let left =
            || (self.passed() > 0).then(|| (self.last_stamp_ns(), self.lookahead.last_stamp()));
        self.lookahead.newest().or_else(left)
    }

    /// Arms the doorbells of all publishers; true when a message is there that is not in the
    /// window.
    pub(crate) fn arm_behind_window(&self) -> bool {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        // All of them, even after one had something.
        state.connections.iter().fold(false, |ready, c| c.arm() | ready) || self.has_notes()
    }

    /// As [`Self::arm_behind_window`], but publishers of this participant do not ring.
    pub(crate) fn arm_others(&self) -> bool {
        let own = self.gid();
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        let look = |ready, c: &Connection| match is_of_one_process(c.gid(), own) {
            true => c.is_ready() | ready,
            false => c.arm() | ready,
        };
        state.connections.iter().fold(false, look) || self.has_notes()
    }

    /// Is a message there (or a loss to count) that is not in the window?
    pub(crate) fn is_ready_behind_window(&self) -> bool {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        state.connections.iter().any(Connection::is_ready)
    }

    /// Everything in the window is passed over.
    pub(crate) fn skip_window(&self) {
        let mut skipped = 0;
        while let Some(taken) = self.lookahead.pop() {
            self.pass(&taken);
            skipped += 1;
        }
        // They count as taken already; nobody will process them.
        self.add(counter::SKIPPED, skipped);
        self.add(counter::PROCESSED, skipped);
    }
}
