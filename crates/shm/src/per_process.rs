//! Locked tables of the whole process that a forked child does not inherit.
//!
//! Another thread of the parent may hold a lock at the moment of the fork, and nobody in the child
//! would ever unlock it. So a child finds an empty table of its own, and never touches the table of
//! its parent.

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

    /// The value of this process. Allocates the first time; takes no lock.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::lock;
    use std::sync::Mutex;

    /// Runs something in a forked child that may take ten seconds; answers whether it ended well.
    fn ends_well_in_a_child(child: impl FnOnce()) -> bool {
        // SAFETY: the child has one thread and does what this test is about, then ends.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0);
        if pid == 0 {
            // SAFETY: SIGALRM ends it.
            unsafe { libc::alarm(10) };
            child();
            // SAFETY: ends the child at once, without what the test runner would do.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: writes one integer.
        let ended = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        ended == pid && status == 0
    }

    #[test]
    fn a_forked_child_finds_an_empty_table_and_no_lock_of_its_parents() {
        static TABLE: PerProcess<Mutex<Vec<u32>>> = PerProcess::new();
        let mut table = lock(TABLE.of_process());
        table.push(7);
        let well = ends_well_in_a_child(|| {
            let mut own = lock(TABLE.of_process());
            assert!(own.is_empty());
            own.push(8);
            drop(own);
            assert_eq!(*lock(TABLE.of_process()), [8]);
        });
        assert!(well);
        assert_eq!(*table, [7]);
    }

    #[test]
    fn a_child_forked_while_homes_and_keeper_are_locked_can_use_both() {
        let (homes, keeper) = (crate::home::lock_left_behind(), crate::keeper::lock_of_process());
        let well = ends_well_in_a_child(|| {
            crate::sweep();
            drop(crate::Keeper::of_process());
        });
        drop((homes, keeper));
        assert!(well);
    }
}
