//! The one door to locks that `waiting` uses: std's in the product, loom's under `--cfg loom`.

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

use std::time::{Duration, Instant};

/// Locks, whatever a thread that held the lock has met.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for a notification or the deadline. May end early.
pub(crate) fn wait<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    deadline: Option<Instant>,
) -> MutexGuard<'a, T> {
    match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
        None => condvar.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner),
        Some(Duration::ZERO) => guard,
        Some(left) => {
            condvar.wait_timeout(guard, left).unwrap_or_else(std::sync::PoisonError::into_inner).0
        }
    }
}
