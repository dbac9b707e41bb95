//! Descriptors that other processes have sent, and how they are closed.
//!
//! A peer can send a descriptor of anything. Closing a file of some file systems waits for their
//! server (FUSE asks it to flush), and closing some sockets waits for their other end. A thread
//! that others wait for must not do that. Closing a memory object waits for nobody. So a thread
//! that nobody waits for closes all other descriptors. It starts with the first such descriptor.

use crate::per_process::PerProcess;
use crate::tables::lock;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Descriptors that wait to be closed while one blocks. Further ones stay open: a peer that sends
/// so many is cut off at each of them.
const WAITING_MAX: usize = 256;

/// A descriptor that another process has sent.
///
/// Dropping it does not block, whatever it is of.
#[derive(Debug)]
pub struct ReceivedFd {
    fd: Option<OwnedFd>,
    is_memory: bool,
}

impl From<OwnedFd> for ReceivedFd {
    /// Makes one system call, which asks nobody.
    fn from(fd: OwnedFd) -> Self {
        // Only memory objects have seals.
        let is_memory = rustix::fs::fcntl_get_seals(&fd).is_ok();
        ReceivedFd { fd: Some(fd), is_memory }
    }
}

impl AsFd for ReceivedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.fd {
            Some(fd) => fd.as_fd(),
            None => unreachable!("it is there until it is dropped"),
        }
    }
}

impl Drop for ReceivedFd {
    fn drop(&mut self) {
        if let Some(fd) = self.fd.take().filter(|_| !self.is_memory) {
            close_elsewhere(fd);
        }
    }
}

type Closer = Mutex<Option<SyncSender<OwnedFd>>>;

/// Hands a descriptor to the thread that closes them.
#[cold]
fn close_elsewhere(fd: OwnedFd) {
    static CLOSER: PerProcess<Closer> = PerProcess::new();
    let mut closer = lock(CLOSER.of_process());
    if closer.is_none() {
        let (sender, waiting) = sync_channel::<OwnedFd>(WAITING_MAX);
        let thread = std::thread::Builder::new().name("crossdock-close".to_owned());
        let started = thread.spawn(move || waiting.into_iter().for_each(drop));
        *closer = started.is_ok().then_some(sender);
    }
    let refused = match &*closer {
        None => Some(fd),
        Some(sender) => sender.try_send(fd).err().map(|error| match error {
            std::sync::mpsc::TrySendError::Full(fd)
            | std::sync::mpsc::TrySendError::Disconnected(fd) => fd,
        }),
    };
    // It stays open rather than that anybody waits.
    std::mem::forget(refused);
}
