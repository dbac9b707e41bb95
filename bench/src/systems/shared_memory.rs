//! Memory shared by name between the processes of one run, as words and bytes: all that the floors
//! are made of. Knows no system.

use crate::Failure;
use crate::failure::While;
use rustix::fs::{Mode, OFlags, ftruncate, open};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// A mapping of a file in shared memory, readable and writable.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for SharedMemory {}

// SAFETY: shared references give out atomic words, and bytes only under the contracts of `bytes`
// and `bytes_mut`, which speak of all threads of all processes.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Opens the file at `path`, makes it where it is not there, and maps `bytes` of it.
    pub fn open(path: &Path, bytes: usize) -> Result<Self, Failure> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::RUSR | Mode::WUSR).during("opening shared memory")?;
        ftruncate(&file, bytes as u64).during("sizing shared memory")?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the kernel chooses the address, so that no mapping of this process is replaced.
        let start = unsafe { mmap(null_mut(), bytes, protection, flags, &file, 0) };
        let start = start.during("mapping shared memory")?;
        let start = NonNull::new(start.cast()).during("mapping shared memory")?;
        Ok(Self { start, bytes })
    }

    fn at(&self, offset: usize, bytes: usize, alignment: usize) -> *mut u8 {
        assert!(offset.is_multiple_of(alignment) && offset + bytes <= self.bytes);
        // SAFETY: the assertion keeps the result inside the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// The 32-bit word at `offset`.
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        let word = self.at(offset, 4, 4);
        // SAFETY: inside the mapping and aligned (`at`), alive as long as `self`; all processes
        // use these four bytes as an atomic word only.
        unsafe { AtomicU32::from_ptr(word.cast()) }
    }

    /// The 64-bit word at `offset`.
    pub fn counter(&self, offset: usize) -> &AtomicU64 {
        let word = self.at(offset, 8, 8);
        // SAFETY: as for `word`.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    /// The bytes from `offset` on, to write.
    ///
    /// # Safety
    /// Until the slice is gone nobody else, in any process, reads or writes these bytes.
    #[expect(clippy::mut_from_ref, reason = "the contract of the function covers it")]
    pub unsafe fn bytes_mut(&self, offset: usize, bytes: usize) -> &mut [u8] {
        let start = self.at(offset, bytes, 1);
        // SAFETY: inside the mapping (`at`); the caller promises that the bytes are its alone.
        unsafe { std::slice::from_raw_parts_mut(start, bytes) }
    }

    /// The bytes from `offset` on, to read.
    ///
    /// # Safety
    /// Until the slice is gone nobody, in any process, writes these bytes.
    pub unsafe fn bytes(&self, offset: usize, bytes: usize) -> &[u8] {
        let start = self.at(offset, bytes, 1);
        // SAFETY: inside the mapping (`at`); the caller promises that nobody writes the bytes.
        unsafe { std::slice::from_raw_parts(start, bytes) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no reference into it outlives `self`.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}
