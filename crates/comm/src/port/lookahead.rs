//! The window of a subscriber: messages that somebody has looked at and nobody has taken.
//!
//! They are held, so that no publisher reuses their memory, and come first when the node takes. The
//! part of the executor that decides when a node runs looks at them here. The window of a
//! subscriber that nobody looks at is empty, which costs it one load per take.

use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;

use crossdock_msg::Block;

use crossdock_shm::RawSample;

/// Messages that a window has room for without allocating: a subscriber holds no more of one
/// publisher.
const ROOM: usize = 16;

/// See the head of this file.
pub(crate) struct Lookahead {
    messages: RefCell<VecDeque<RawSample>>,
    /// How many these are.
    len: Cell<usize>,
    /// Where `header.stamp` lies, once somebody wants to know the newest message's.
    stamp_offset: Cell<Option<usize>>,
    /// The stamp of the last message that was taken.
    last_stamp: Cell<Option<(i32, u32)>>,
}

impl Default for Lookahead {
    fn default() -> Lookahead {
        Lookahead {
            messages: RefCell::default(),
            len: Cell::new(0),
            stamp_offset: Cell::new(None),
            last_stamp: Cell::new(None),
        }
    }
}

impl Lookahead {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    pub(crate) fn push(&self, taken: RawSample) {
        let mut messages = self.messages_mut();
        messages.push_back(taken);
        self.len.set(messages.len());
    }

    pub(crate) fn pop(&self) -> Option<RawSample> {
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

    fn messages_mut(&self) -> std::cell::RefMut<'_, VecDeque<RawSample>> {
        match self.messages.try_borrow_mut() {
            Ok(messages) => messages,
            Err(_) => panic!(
                "messages were to be taken from a subscriber while its waiting ones are looked \
                 at; end `waiting()` first"
            ),
        }
    }

    pub(crate) fn messages(&self) -> Ref<'_, VecDeque<RawSample>> {
        self.messages.borrow()
    }

    /// A message leaves the input.
    #[inline]
    pub(crate) fn pass(&self, taken: &RawSample) {
        if let Some(offset) = self.stamp_offset.get() {
            self.last_stamp.set(header_stamp(taken, offset).or(self.last_stamp.get()));
        }
    }

    /// Makes room for messages and remembers from now on the stamp of each that leaves.
    pub(crate) fn watch(&self, stamp_offset: Option<usize>) {
        self.messages_mut().reserve(ROOM);
        self.stamp_offset.set(stamp_offset);
    }

    /// `header.stamp` of one of the messages.
    pub(crate) fn header_stamp_at(&self, place: usize, offset: usize) -> Option<(i32, u32)> {
        header_stamp(self.messages().get(place)?, offset)
    }

    /// Publication time and `header.stamp` of the newest message.
    pub(crate) fn newest(&self) -> Option<(u64, Option<(i32, u32)>)> {
        let messages = self.messages();
        let newest = messages.back()?;
        let stamp = self.stamp_offset.get().and_then(|offset| header_stamp(newest, offset));
        Some((newest.meta().stamp_ns, stamp))
    }

    /// `header.stamp` of the last message that has left, if somebody watches.
    pub(crate) fn last_stamp(&self) -> Option<(i32, u32)> {
        self.last_stamp.get()
    }
}

fn header_stamp(taken: &RawSample, offset: usize) -> Option<(i32, u32)> {
    let block = Block::new(taken.bytes());
    block.read::<i32>(offset).zip(block.read::<u32>(offset + 4))
}
