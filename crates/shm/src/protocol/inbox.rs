//! How the control thread tells a publisher's thread who came and who went.
//!
//! A stack that any thread pushes to and only the publisher's thread empties, whole.

use super::weaken::{fence_unless, spot};
use crate::sync::{AtomicPtr, Ordering};
use std::ptr;

struct Note<T> {
    next: *mut Note<T>,
    value: T,
}

/// Notes from control threads to one publisher's (or executor's) thread.
pub struct Inbox<T> {
    top: AtomicPtr<Note<T>>,
    owns: std::marker::PhantomData<T>,
}

// SAFETY: a note belongs to the pushing thread until the push, to the emptying thread after the
// swap; values cross threads, hence T: Send.
unsafe impl<T: Send> Send for Inbox<T> {}
// SAFETY: as above; no method gives out a reference to a value that is still in the inbox.
unsafe impl<T: Send> Sync for Inbox<T> {}

impl<T> std::fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inbox")
    }
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox { top: AtomicPtr::new(ptr::null_mut()), owns: std::marker::PhantomData }
    }
}

impl<T> Inbox<T> {
    /// Any thread: leaves a note. Allocates.
    pub fn push(&self, value: T) {
        let note = Box::into_raw(Box::new(Note { next: ptr::null_mut(), value }));
        let mut top = self.top.load(Ordering::Relaxed);
        // Bounded in practice by the number of control threads that push at the same moment (one).
        loop {
            // SAFETY: the note is ours until the exchange succeeds.
            unsafe { (*note).next = top };
            // Release pairs with the Acquire of `take_all`: the note is written before it is seen.
            match self.top.compare_exchange(top, note, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => top = found,
            }
        }
    }

    /// Rule P1: the control thread calls this between the push and the reply to a new peer.
    pub fn attached(&self) {
        // Pairs with the fences of `begin_scan` and `before_doors`: either the look into the inbox
        // behind them finds the peer, or whatever the peer does sees what stood before them.
        fence_unless(spot::ATTACH_FENCE, Ordering::SeqCst);
    }

    /// Owner: is there nothing? One load.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        // Relaxed: behind a SeqCst fence that pairs with `attached`; `take_all` acquires.
        self.top.load(Ordering::Relaxed).is_null()
    }

    /// Owner: takes all notes, oldest first. Frees them: not for the path of every message.
    pub fn take_all(&self) -> Vec<T> {
        // Acquire pairs with the Release of `push`.
        let mut note = self.top.swap(ptr::null_mut(), Ordering::Acquire);
        let mut values = Vec::new();
        // Bounded by the number of notes: nobody can add to the list that was swapped out.
        while !note.is_null() {
            // SAFETY: every note comes from `Box::into_raw` and leaves the list exactly once.
            let owned = unsafe { Box::from_raw(note) };
            note = owned.next;
            values.push(owned.value);
        }
        values.reverse();
        values
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        // A failed model has no atomics left to look at.
        if !(cfg!(loom) && std::thread::panicking()) {
            drop(self.take_all());
        }
    }
}
