//! The two futex calls of this crate, on words in shared memory.
//!
//! Waiting and waking need read access only.

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Timespec};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Woken, interrupted, or the word had changed already.
    Woken,
    /// The time is over.
    TimedOut,
}

/// Sleeps while `word` is `value`, at most `timeout`. One system call.
pub(crate) fn wait(word: &AtomicU32, value: u32, timeout: Option<Duration>) -> Waited {
    let limit = timeout.map(|timeout| Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    });
    match futex::wait(word, Flags::empty(), value, limit.as_ref()) {
        Err(Errno::TIMEDOUT) => Waited::TimedOut,
        _ => Waited::Woken,
    }
}

/// Wakes one sleeper of `word`; true if there was one. One system call.
pub(crate) fn wake_one(word: &AtomicU32) -> bool {
    matches!(futex::wake(word, Flags::empty(), 1), Ok(woken) if woken > 0)
}

/// Wakes everybody who sleeps on `word`. One system call.
pub(crate) fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, Flags::empty(), i32::MAX as u32);
}

/// The half of a 64-bit counter that changes with every step, as a word to sleep on.
pub(crate) fn low_half(counter: &AtomicU64) -> &AtomicU32 {
    let halves: *mut AtomicU32 = counter.as_ptr().cast();
    let low = if cfg!(target_endian = "little") { 0 } else { 1 };
    // SAFETY: an AtomicU64 is two 32-bit words; 1 stays inside.
    let low = unsafe { halves.add(low) };
    // SAFETY: aligned and alive as `counter`; only the kernel looks through this reference.
    unsafe { &*low }
}
