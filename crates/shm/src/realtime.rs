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
