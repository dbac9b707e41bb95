//! A value that stays on its thread, inside something that may move.

use crate::local::thread_token;
use std::mem::ManuallyDrop;

/// Keeps a value that is not `Send` for the thread that made it: it may be carried to another
/// thread, and is used and dropped on its own one only.
///
/// An access on another thread panics. Dropped on another thread, the value stays where it is for
/// good.
#[derive(Debug)]
pub struct Pinned<T> {
    thread: usize,
    value: ManuallyDrop<T>,
}

// SAFETY: the value is touched on its own thread only: `get`, `get_mut` and `drop` check that. A
// thread that takes the place of one that has ended finds a value that nobody else uses.
unsafe impl<T> Send for Pinned<T> {}

impl<T> Pinned<T> {
    /// A value of the calling thread.
    pub fn new(value: T) -> Self {
        Pinned { thread: thread_token(), value: ManuallyDrop::new(value) }
    }

    fn is_here(&self) -> bool {
        thread_token() == self.thread
    }

    /// The value.
    ///
    /// # Panics
    /// On another thread than its own.
    pub fn get_mut(&mut self) -> &mut T {
        assert!(self.is_here(), "a value was used on a thread that did not make it");
        &mut self.value
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        if self.is_here() {
            // SAFETY: dropped once, here, and not used any more.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn a_pinned_value_is_used_and_dropped_on_its_own_thread_only() {
        let value = Rc::new(7);
        let mut here = Pinned::new(Rc::clone(&value));
        assert_eq!(**here.get_mut(), 7);
        drop(here);
        assert_eq!(Rc::strong_count(&value), 1);
        let mut there = Pinned::new(Rc::clone(&value));
        let used = std::thread::spawn(move || _ = there.get_mut()).join();
        assert!(used.is_err(), "it was used elsewhere");
        assert_eq!(Rc::strong_count(&value), 2, "it was dropped elsewhere");
    }
}
