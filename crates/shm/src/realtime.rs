//! The one thing that real-time threads need and that has no safe call: `SCHED_FIFO`.

use rustix::io::Errno;

/// Runs the calling thread with `SCHED_FIFO` at this priority (1 to 99) from now on, before every
/// thread of the usual scheduling. Threads and processes that it makes later do not inherit it.
///
/// One system call; does not block or allocate.
///
/// # Errors
/// [`Errno::PERM`] without the right to this priority, [`Errno::INVAL`] outside 1 to 99.
pub fn use_fifo(priority: u8) -> Result<(), Errno> {
    let parameters = libc::sched_param { sched_priority: priority.into() };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: 0 names the calling thread, and `parameters` lives through the call.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) };
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> i32 {
        // SAFETY: 0 names the calling thread; nothing is written.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_real_time_thread_does_not_pass_its_priority_on() {
        let made_by = |priority| {
            let thread = std::thread::spawn(move || {
                let set = use_fifo(priority);
                (set, policy(), std::thread::spawn(policy).join().ok())
            });
            thread.join().ok()
        };
        let usual = libc::SCHED_OTHER;
        assert_eq!(made_by(0), Some((Err(Errno::INVAL), usual, Some(usual))));
        let expected = match made_by(1) {
            // Without the right nothing changes.
            Some((Err(Errno::PERM), ..)) => (Err(Errno::PERM), usual, Some(usual)),
            _ => (Ok(()), libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, Some(usual)),
        };
        assert_eq!(made_by(1), Some(expected));
    }
}
