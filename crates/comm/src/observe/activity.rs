//! Learning that processes which sleep have begun to work again, without looking again and again.
//!
//! Executors of watched processes announce when they are about to sleep. A process that was asleep
//! has worked before it announces that again.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use crossdock_shm::TrustedNames;
use rustix::event::{PollFd, PollFlags};

use crate::observe::asking::{ObserveError, ObserverOptions, poll};
use crate::observe::observer::Observer;
use crate::wire::frame::Purpose;

/// Watches processes until one of them has worked.
///
/// `Send`. While it exists, executors of the watched processes make one system call each time that
/// they are about to sleep; a process that sleeps does nothing for it.
pub struct Activity {
    observer: Observer,
}

impl std::fmt::Debug for Activity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Activity").field("processes", &self.observer.processes.len()).finish()
    }
}

impl Activity {
    /// Starts to watch the processes with these ids that are there now.
    ///
    /// Blocks until all processes of the domain have answered, at most one second each. What
    /// happened before it returns may go unannounced: look at the status tables afterwards.
    ///
    /// # Errors
    /// [`ObserveError`] when the meeting place cannot be used.
    pub fn watch(options: ObserverOptions, pids: &[u32]) -> Result<Activity, ObserveError> {
        let mut observer =
            Observer::open_for(options, &TrustedNames::of_environment(), Purpose::Watch)?;
        // Processes that cannot be watched are not waited for.
        observer.refresh()?;
        observer.processes.retain(|_, seen| pids.contains(&seen.pid));
        Ok(Activity { observer })
    }

    /// Descriptors: one of them is readable once a process has worked or has gone.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.observer.processes.values().filter_map(|seen| Some(seen.socket.as_ref()?.as_fd()))
    }

    /// Whether a process has worked or has gone. Does not block.
    pub fn has_come(&self) -> bool {
        let mut polled: Vec<_> =
            self.descriptors().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        poll(&mut polled, Duration::ZERO)
    }
}
