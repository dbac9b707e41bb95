//! The window of a subscriber: messages that somebody has looked at and nobody has taken.
//!
//! They are held, so that no publisher reuses their memory, and come first when the node takes.
//! Whoever decides when a node runs looks at them here; a subscriber that nobody looks at has an
//! empty window, which costs it one load per take. This file must not know what is decided.

use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;

use crossdock_msg::Block;
use crossdock_shm::{Meta, TakeError as RingTakeError};

use crate::connection::Connection;
use crate::entities::counter;
use crate::error::TakeError;
use crate::input::{InputCore, Taken};

/// Messages that a window has room for without allocating: a subscriber holds no more of one
/// publisher.
const ROOM: usize = 16;

/// What [`InputCore::gather`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// One more message is in the window.
    One,
    /// There is none.
    Nothing,
    /// There may be one, but no more can be held before one is dropped.
    Full,
}

/// See the head of this file.
pub(crate) struct Window {
    messages: RefCell<VecDeque<Taken>>,
    /// How many these are.
    len: Cell<usize>,
    /// Where `header.stamp` lies, once somebody wants to know that of the newest message.
    stamp_offset: Cell<Option<usize>>,
    /// That of the last message that was taken.
    last_stamp: Cell<Option<(i32, u32)>>,
}

impl Default for Window {
    fn default() -> Window {
        Window {
            messages: RefCell::default(),
            len: Cell::new(0),
            stamp_offset: Cell::new(None),
            last_stamp: Cell::new(None),
        }
    }
}

impl Window {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    pub(crate) fn push(&self, taken: Taken) {
        let mut messages = self.messages_mut();
        messages.push_back(taken);
        self.len.set(messages.len());
    }

    pub(crate) fn pop(&self) -> Option<Taken> {
        let mut messages = self.messages_mut();
        let taken = messages.pop_front();
        self.len.set(messages.len());
        taken
    }

    /// Lets go of everything in it.
    pub(crate) fn clear(&self) {
        let messages = std::mem::take(&mut *self.messages_mut());
        self.len.set(0);
        drop(messages);
    }

    fn messages_mut(&self) -> std::cell::RefMut<'_, VecDeque<Taken>> {
        match self.messages.try_borrow_mut() {
            Ok(messages) => messages,
            Err(_) => panic!(
                "messages were to be taken from a subscriber while its waiting ones are looked \
                 at; end `waiting()` first"
            ),
        }
    }

    pub(crate) fn messages(&self) -> Ref<'_, VecDeque<Taken>> {
        self.messages.borrow()
    }

    /// A message leaves the input.
    #[inline]
    pub(crate) fn pass(&self, taken: &Taken) {
        if let Some(offset) = self.stamp_offset.get() {
            self.last_stamp.set(header_stamp(taken, offset).or(self.last_stamp.get()));
        }
    }
}

fn header_stamp(taken: &Taken, offset: usize) -> Option<(i32, u32)> {
    let block = Block::new(taken.raw.bytes());
    block.read::<i32>(offset).zip(block.read::<u32>(offset + 4))
}

impl InputCore {
    /// Moves the next message into the window; it counts as taken and uses one of the samples that
    /// may be held.
    pub(crate) fn gather(&self) -> Result<Gathered, TakeError> {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        match self.take_next(&mut state) {
            Ok(Some(taken)) => {
                self.window.push(taken);
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

    /// What is known of the message that [`InputCore::gather`] would find.
    pub(crate) fn peek_behind_window(&self) -> Option<Meta> {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        self.peek_connections(&mut state)
    }

    /// Passes over all messages but the newest, which is in the window then; answers how many.
    pub(crate) fn gather_newest(&self) -> Result<u64, TakeError> {
        let before = self.passed();
        if let Some(newest) = self.find_newest()? {
            self.window.push(newest);
        }
        Ok(self.passed() - before)
    }

    /// Makes room for messages and remembers from now on the stamp of each that leaves.
    pub(crate) fn watch(&self, stamp_offset: Option<usize>) {
        self.window.messages_mut().reserve(ROOM);
        self.window.stamp_offset.set(stamp_offset);
    }

    /// `header.stamp` of a message in the window.
    pub(crate) fn header_stamp_at(&self, place: usize, offset: usize) -> Option<(i32, u32)> {
        header_stamp(self.window.messages().get(place)?, offset)
    }

    /// Publication time and `header.stamp` of the newest message that is in the window or has left.
    pub(crate) fn newest(&self) -> Option<(u64, Option<(i32, u32)>)> {
        if let Some(newest) = self.window.messages().back() {
            let offset = self.window.stamp_offset.get();
            let stamp = offset.and_then(|offset| header_stamp(newest, offset));
            return Some((newest.raw.meta().stamp_ns, stamp));
        }
        (self.passed() > 0).then(|| (self.last_stamp_ns(), self.window.last_stamp.get()))
    }

    /// Arms the doorbells of all publishers; true when a message is there that is not in the window.
    pub(crate) fn arm_behind_window(&self) -> bool {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        // All of them, even after one had something.
        state.connections.iter().fold(false, |ready, c| c.arm() | ready) || self.has_notes()
    }

    /// Is a message there (or a loss to count) that is not in the window?
    pub(crate) fn is_ready_behind_window(&self) -> bool {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        state.connections.iter().any(Connection::is_ready)
    }

    /// Everything in the window is passed over; answers how many messages these were.
    pub(crate) fn skip_window(&self) -> u64 {
        let mut skipped = 0;
        while let Some(taken) = self.window.pop() {
            self.pass(&taken);
            skipped += 1;
        }
        // They count as taken already; nobody will process them.
        self.add(counter::SKIPPED, skipped);
        self.add(counter::PROCESSED, skipped);
        skipped
    }
}
