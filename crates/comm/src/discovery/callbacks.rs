//! The thread that runs callbacks of users, so that no callback can hold up or stop the control
//! thread or a thread that uses a port.
//!
//! It starts with the first callback that is set, and ends with the participant. If it cannot
//! start, the callback is not set, and its setter is told. A callback that blocks holds up the
//! other callbacks of its participant and nothing else. One that panics is dropped and reported.
//! Nobody waits for this thread.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// Runs what belongs to a user: a callback, or its end. False: that panicked, and the hook for
/// panics has reported it.
pub(crate) fn contained(run: impl FnOnce()) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else { return true };
    // What it panicked with is the user's as well, and may panic in its turn.
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
    false
}

/// What has a callback to run.
pub(crate) trait Calls: Send + Sync {
    /// Runs what is due. On the thread of callbacks.
    fn call(&self);
}

#[derive(Default)]
struct Queue {
    /// Each caller at most once: as many as there are ports.
    due: VecDeque<Weak<dyn Calls>>,
    over: bool,
}

#[derive(Default)]
struct DueCalls {
    queue: Mutex<Queue>,
    came: Condvar,
}

impl DueCalls {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let mut queue = self.lock();
            let due = loop {
                match queue.due.pop_front() {
                    _ if queue.over => return,
                    Some(due) => break due,
                    None => {
                        queue = self.came.wait(queue).unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(queue);
            if let Some(due) = due.upgrade() {
                // Callers contain their callbacks. This is for their end: they may go here, with
                // callbacks of other kinds.
                contained(|| {
                    due.call();
                    drop(due);
                });
            }
        }
    }
}

/// See the head of this file. Dropping it ends the thread behind the callback that runs.
#[derive(Default)]
pub(crate) struct Callbacks {
    shared: Arc<DueCalls>,
    is_started: Mutex<bool>,
}

impl Callbacks {
    /// Starts the thread, if it does not run.
    pub(crate) fn start(&self) -> io::Result<()> {
        let mut is_started = self.is_started.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_started {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("crossdock-calls".to_string());
            thread.spawn(move || shared.run())?;
            *is_started = true;
        }
        Ok(())
    }

    /// Has `due` called soon. Takes a lock, and wakes the thread.
    pub(crate) fn queue(&self, due: Weak<dyn Calls>) {
        self.shared.lock().due.push_back(due);
        self.shared.came.notify_one();
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.came.notify_one();
    }
}
