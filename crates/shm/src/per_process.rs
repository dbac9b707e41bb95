//! Locked tables of the whole process that a forked child does not inherit.
//!
//! Another thread of the parent may hold a lock at the moment of the fork, and nobody in the child would
//! ever unlock it. So a child finds a table of its own, empty, and never touches that of its parent. It
//! must not know what lies in the table.

use crate::fork::ForkMark;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

struct Owned<T> {
    mark: ForkMark,
    value: T,
}

/// A value that each process makes for itself, once.
pub(crate) struct PerProcess<T: 'static>(AtomicPtr<Owned<T>>);

impl<T: Default + Send + Sync> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        PerProcess(AtomicPtr::new(ptr::null_mut()))
    }

    /// That of this process. Allocates the first time; takes no lock.
    pub(crate) fn of_process(&self) -> &'static T {
        let known = self.0.load(Ordering::Acquire);
        // SAFETY: null, or leaked below and never freed.
        if let Some(owned) = unsafe { known.as_ref() }
            && !owned.mark.in_child()
        {
            return &owned.value;
        }
        let made = Box::new(Owned { mark: ForkMark::new(), value: T::default() });
        let made = Box::into_raw(made);
        // Release pairs with the Acquire above. What a child finds of its parent stays where it is.
        let found = match self.0.compare_exchange(known, made, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => made,
            Err(found) => {
                // Another thread of this process was first.
                // SAFETY: made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
                found
            }
        };
        // SAFETY: leaked by this thread or by the one that was first, never freed.
        let owned = unsafe { &*found };
        &owned.value
    }
}
