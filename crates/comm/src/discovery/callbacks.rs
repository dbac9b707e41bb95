//! The thread that runs callbacks of users, so that no callback can hold up or stop the control
//! thread or a thread that uses a port.
//!
//! It starts with the first callback that may block, and ends with the participant. If it cannot
//! start, the callback is not set, and its setter is told. A callback that blocks holds up the
//! other callbacks of its participant and nothing else. One that panics is dropped and reported.
//! Nobody waits for this thread.
//!
//! As long as all callbacks are prompt, there is no such thread: the control thread runs them at
//! the end of its turn, with no lock held.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use crate::discovery::pair_reports::Waker;

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
    /// Runs what is due. Never on two threads at a time.
    fn call(&self);
}

#[derive(Default)]
struct Queue {
    /// Each caller at most once: as many as there are ports.
    due: VecDeque<Weak<dyn Calls>>,
    has_thread: bool,
    over: bool,
}

#[derive(Default)]
struct DueCalls {
    queue: Mutex<Queue>,
    came: Condvar,
    /// Whose turn it is to call.
    turn: Mutex<()>,
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
            // The control thread may be in its last prompt call.
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            call(&due);
        }
    }
}

fn call(due: &Weak<dyn Calls>) {
    if let Some(due) = due.upgrade() {
        // Callers contain their callbacks. This is for their end: they may go here, with
        // callbacks of other kinds.
        contained(|| {
            due.call();
            drop(due);
        });
    }
}

/// See the head of this file. Dropping it ends the thread behind the callback that runs.
pub(crate) struct Callbacks {
    shared: Arc<DueCalls>,
    /// Of the control thread.
    waker: Arc<Waker>,
    is_started: Mutex<bool>,
}

impl Callbacks {
    pub(crate) fn new(waker: Arc<Waker>) -> Callbacks {
        Callbacks { shared: Arc::default(), waker, is_started: Mutex::default() }
    }

    /// Starts the thread, if it does not run. From now on it runs all callbacks: a prompt call that
    /// is under way is waited for.
    pub(crate) fn start(&self) -> io::Result<()> {
        let mut is_started = self.is_started.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_started {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("crossdock-calls".to_string());
            thread.spawn(move || shared.run())?;
            self.shared.lock().has_thread = true;
            drop(self.shared.turn.lock());
            *is_started = true;
        }
        Ok(())
    }

    /// Has `due` called soon. Takes a lock, and wakes the thread that calls.
    pub(crate) fn queue(&self, due: Weak<dyn Calls>) {
        let mut queue = self.shared.lock();
        queue.due.push_back(due);
        let has_thread = queue.has_thread;
        drop(queue);
        match has_thread {
            true => self.shared.came.notify_one(),
            false => self.waker.wake(),
        }
    }

    /// On the control thread, which holds no lock: calls what is due, if all callbacks are prompt.
    /// What comes meanwhile has its turn afterwards.
    pub(crate) fn run_prompt(&self) {
        // Else the thread calls.
        let _turn = match self.shared.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let due = self.shared.lock().due.len();
        for _ in 0..due {
            let mut queue = self.shared.lock();
            if queue.has_thread {
                return;
            }
            let Some(due) = queue.due.pop_front() else { return };
            drop(queue);
            call(&due);
        }
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.came.notify_one();
    }
}
