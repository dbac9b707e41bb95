//! Memory of a peer that is read by system calls, and is not mapped.
//!
//! A memory object has holes: pages that nobody has touched. A process that reads a hole through a
//! mapping has the kernel make a page there, which counts as the reader's until the object goes. A
//! system call that reads a hole gives zeros and makes nothing. So messages of those who are not
//! trusted are read so, and a message that lies in holes costs no more than its copy.
//!
//! What is looked at again and again (the head and the slots of a ring) is mapped. Before, its
//! maker must have made it present and must have given up to make holes there.

use crate::budget::{Budget, Charge};
use crate::fork::PrivateFd;
use crate::memory::Mapping;
use crate::open_memory::{Access, OpenMemoryError, check_present, check_received, map_received};
use crate::tables::{Kind, PREAMBLE_WORDS, Preamble};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::SealFlags;
use rustix::io::Errno;
use std::sync::Arc;

/// What the memory of a user's processes may take here while it can be read.
#[derive(Clone, Debug)]
pub struct Allowance {
    /// Open descriptors.
    pub descriptors: Arc<Budget>,
}

impl Allowance {
    fn descriptor(&self, label: &str) -> Result<Charge, OpenMemoryError> {
        self.descriptors.charge(1).ok_or_else(|| OpenMemoryError::BeyondBudget {
            label: label.to_owned(),
            what: "descriptors",
            limit: self.descriptors.limit(),
        })
    }
}

/// See the head of this file. `Send + Sync`.
#[derive(Debug)]
pub(crate) struct DistantMemory {
    fd: PrivateFd,
    bytes: u64,
    _descriptor: Option<Charge>,
}

impl DistantMemory {
    /// Checks what a peer sent, and keeps a descriptor of it: as far as the allowance goes, if
    /// there is one.
    pub(crate) fn open(
        label: &str,
        fd: BorrowedFd<'_>,
        (bytes, limit): (u64, u64),
        kind: Kind,
        allowance: Option<&Allowance>,
    ) -> Result<Self, OpenMemoryError> {
        check_received(label, fd, bytes, limit)?;
        let descriptor = allowance.map(|it| it.descriptor(label)).transpose()?;
        let fd = fd.try_clone_to_owned().map_err(|source| OpenMemoryError::System {
            label: label.to_owned(),
            step: "keeping its descriptor",
            source,
        })?;
        let memory = DistantMemory { fd: fd.into(), bytes, _descriptor: descriptor };
        let mut preamble = [[0; 8]; PREAMBLE_WORDS];
        // What is too small for it stays zeros, which are none.
        let _ = memory.read(0, preamble.as_flattened_mut());
        Preamble::check_words(label, preamble.map(u64::from_ne_bytes), kind)?;
        Ok(memory)
    }

    /// Does a range lie inside?
    pub(crate) fn holds(&self, offset: u64, bytes: u64) -> bool {
        offset.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }

    /// Copies the bytes from an offset on; false: they are not all there, or it was let go of. One
    /// system call, if no signal comes.
    pub(crate) fn read(&self, offset: u64, to: &mut [u8]) -> bool {
        if !self.holds(offset, to.len() as u64) {
            return false;
        }
        let mut done = 0;
        // Bounded: each turn reads at least a page, or the rest.
        while done < to.len() {
            match rustix::io::pread(&self.fd, &mut to[done..], offset + done as u64) {
                Ok(0) => return false,
                Ok(more) => done += more,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Lets go of the memory object, also while it is read: a descriptor of nothing takes its
    /// place. Nothing can be read after that.
    pub(crate) fn let_go(&self) {
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        // Without a free descriptor the memory stays until this goes.
        let Ok(nothing) = rustix::event::eventfd(0, flags) else { return };
        let number = self.fd.as_fd().as_raw_fd();
        // SAFETY: replaces, in one step, an open descriptor that this value owns and closes later.
        let _ = unsafe { libc::dup3(nothing.as_raw_fd(), number, libc::O_CLOEXEC) };
    }
}

/// Maps the first `bytes` bytes of received memory for reading, if all of them are present and stay
/// so.
pub(crate) fn map_present(
    label: &str,
    fd: BorrowedFd<'_>,
    bytes: u64,
) -> Result<Arc<Mapping>, OpenMemoryError> {
    let mapping = map_received(label, fd, bytes, bytes, Access::Read)?;
    // Either seal refuses to make holes, also through a mapping that was there before it.
    let seals = rustix::fs::fcntl_get_seals(fd);
    if !seals.is_ok_and(|seals| seals.intersects(SealFlags::WRITE | SealFlags::FUTURE_WRITE)) {
        return Err(OpenMemoryError::Unsealed { label: label.to_owned(), against: "writing" });
    }
    // After the seal was seen: there are no new holes.
    check_present(label, fd, bytes)?;
    Ok(mapping)
}
