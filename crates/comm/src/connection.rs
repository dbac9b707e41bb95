//! A subscriber's side of one connection: where the next message comes from and what was missed.
//!
//! Lives on the subscriber's thread once it was taken out of the mailbox. This file must not know
//! topics, types or other connections.

use std::sync::{Arc, Weak};

use crossdock_msg::Schema;
use crossdock_shm::board::Entity;
use crossdock_shm::{LocalLink, Losses, Meta, RawSample, RingSubscriber, TakeError};

use crate::core::Core;
use crate::entities::CONNECTION_POSITION;

/// Tells the control thread that a connection is not used any more. Dropped last.
pub(crate) struct LetGo {
    pub(crate) core: Weak<Core>,
    pub(crate) pair: u32,
}

impl Drop for LetGo {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.let_go(self.pair);
        }
    }
}

enum Lane {
    Ring { ring: RingSubscriber, let_go: LetGo },
    /// `handled`: messages published before the link, taken or passed over; not those it lost.
    Local { link: LocalLink, handled: u64 },
}

/// See the head of this file.
pub(crate) struct Connection {
    // Order matters: the lane's `LetGo` goes after its ring.
    lane: Lane,
    /// Its record on our board.
    record: Option<Entity>,
    /// The publisher's type, where the subscriber takes any.
    schema: Option<Arc<Schema>>,
    /// What is behind the ring's losses that were counted.
    counted: Losses,
    /// The publisher is gone: nothing new comes.
    gone: bool,
    /// How often others were preferred while this one had a message.
    passed_over: u64,
    /// How often that may happen: the publisher's depth.
    depth: u64,
}

/// What a subscriber lost on one connection since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewLosses {
    pub(crate) lapped: u64,
    pub(crate) keep_last: u64,
    pub(crate) corrupt: u64,
}

impl Connection {
    pub(crate) fn ring(
        ring: RingSubscriber,
        let_go: LetGo,
        record: Option<Entity>,
        schema: Option<Arc<Schema>>,
        depth: u64,
    ) -> Connection {
        let lane = Lane::Ring { ring, let_go };
        Connection::new(lane, record, schema, depth)
    }

    /// `published`: how many messages the publisher had published before the link joined it.
    pub(crate) fn local(
        link: LocalLink,
        published: u64,
        record: Option<Entity>,
        schema: Option<Arc<Schema>>,
        depth: u64,
    ) -> Connection {
        let lane = Lane::Local { link, handled: published };
        Connection::new(lane, record, schema, depth)
    }

    fn new(
        lane: Lane,
        record: Option<Entity>,
        schema: Option<Arc<Schema>>,
        depth: u64,
    ) -> Connection {
        let counted = Losses::default();
        let connection =
            Connection { lane, record, schema, counted, gone: false, passed_over: 0, depth };
        connection.show_position();
        connection
    }

    /// Number of the pair; `None` inside a thread.
    pub(crate) fn pair(&self) -> Option<u32> {
        match &self.lane {
            Lane::Ring { let_go, .. } => Some(let_go.pair),
            Lane::Local { .. } => None,
        }
    }

    pub(crate) fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref()
    }

    /// The publisher is gone.
    pub(crate) fn set_gone(&mut self) {
        self.gone = true;
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<Meta>, TakeError> {
        match &mut self.lane {
            Lane::Ring { ring, .. } => ring.peek(),
            Lane::Local { link, .. } => Ok(link.peek()),
        }
    }

    /// Is there a message, or a loss to count?
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        match &self.lane {
            Lane::Ring { ring, .. } => ring.is_ready(),
            Lane::Local { link, .. } => link.is_ready(),
        }
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Result<Option<RawSample>, TakeError> {
        let taken = match &mut self.lane {
            Lane::Ring { ring, .. } => ring.take()?,
            Lane::Local { link, handled, .. } => {
                let taken = link.take()?;
                *handled += u64::from(taken.is_some());
                taken
            }
        };
        self.passed_over = 0;
        self.show_position();
        Ok(taken)
    }

    /// Passes over the oldest message; false when there is none.
    pub(crate) fn skip(&mut self) -> Result<bool, TakeError> {
        let skipped = match &mut self.lane {
            Lane::Ring { ring, .. } => ring.skip()?,
            Lane::Local { link, handled, .. } => {
                let skipped = link.skip();
                *handled += u64::from(skipped);
                skipped
            }
        };
        self.show_position();
        Ok(skipped)
    }

    /// Passes over all messages but the newest; returns how many.
    pub(crate) fn skip_to_newest(&mut self) -> Result<u64, TakeError> {
        let skipped = match &mut self.lane {
            Lane::Ring { ring, .. } => ring.skip_to_newest()?,
            Lane::Local { link, handled, .. } => {
                // Bounded by the depth of the link.
                let older = link.len().saturating_sub(1);
                (0..older).for_each(|_| _ = link.skip());
                *handled += older as u64;
                older as u64
            }
        };
        self.show_position();
        Ok(skipped)
    }

    /// Arms the publisher's doorbell for a triggering subscriber; true when a message is there,
    /// so that the executor must not sleep.
    pub(crate) fn arm(&self) -> bool {
        match &self.lane {
            Lane::Ring { ring, .. } => ring.arm(),
            Lane::Local { link, .. } => link.is_ready(),
        }
    }

    /// Another connection was preferred although this one had a message.
    pub(crate) fn pass_over(&mut self) {
        self.passed_over += 1;
    }

    /// Must this one be preferred now, whatever its stamp? No ring waits for more than its depth.
    pub(crate) fn has_waited(&self) -> bool {
        self.passed_over >= self.depth
    }

    /// What was lost since the last call.
    #[inline]
    pub(crate) fn new_losses(&mut self) -> NewLosses {
        let now = match &self.lane {
            Lane::Ring { ring, .. } => ring.losses(),
            Lane::Local { link, .. } => Losses { keep_last: link.lost(), ..Losses::default() },
        };
        if now == self.counted {
            return NewLosses::default();
        }
        let before = std::mem::replace(&mut self.counted, now);
        NewLosses {
            lapped: now.lapped.wrapping_sub(before.lapped),
            keep_last: now.keep_last.wrapping_sub(before.keep_last),
            corrupt: now.corrupt.wrapping_sub(before.corrupt),
        }
    }

    /// Shows observers how far this connection has got.
    #[inline]
    fn show_position(&self) {
        let position = match &self.lane {
            Lane::Ring { ring, .. } => ring.next() - 1,
            Lane::Local { link, handled } => handled + link.lost(),
        };
        if let Some(record) = &self.record {
            record.set(CONNECTION_POSITION, position);
        }
    }
}
