//! Shared memory as a hostile process makes it: sealed as is asked for, and writable all the time.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::sync::atomic::{AtomicU64, Ordering};

/// A memory object of 64-bit words, mapped writable for ever.
#[derive(Debug)]
pub struct HostileMemory {
    fd: OwnedFd,
    words: &'static [AtomicU64],
}

impl HostileMemory {
    /// Zeros that cannot be shrunk any more.
    ///
    /// # Panics
    /// There is no memory.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create(c"hostile", flags).expect("memory");
        rustix::fs::ftruncate(&fd, bytes as u64).expect("memory");
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK).expect("a seal");
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; it is never undone.
        let start = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, &fd, 0)
        };
        let start = start.expect("a mapping").cast::<AtomicU64>();
        // SAFETY: aligned to a page, as long as mapped, for ever; an atomic takes any bits.
        let words = unsafe { std::slice::from_raw_parts(start, bytes / 8) };
        Self { fd, words }
    }

    /// Nobody can map it for writing any more or make holes in it, as an honest publisher's ring.
    ///
    /// # Panics
    /// It cannot be sealed so.
    #[must_use]
    pub fn sealed(self) -> Self {
        rustix::fs::fcntl_add_seals(&self.fd, SealFlags::FUTURE_WRITE).expect("a seal");
        self
    }

    /// The same size and contents as an honest memory object.
    ///
    /// # Panics
    /// It cannot be read.
    #[must_use]
    pub fn like(honest: BorrowedFd<'_>, bytes: usize) -> Self {
        let memory = Self::new(bytes);
        memory.copy_from(honest);
        memory
    }

    /// Takes over the contents of an honest memory object, as far as both reach; zeros beyond.
    ///
    /// # Panics
    /// It cannot be read.
    pub fn copy_from(&self, honest: BorrowedFd<'_>) {
        let mut bytes = vec![0; self.words.len() * 8];
        rustix::io::pread(honest, &mut bytes, 0).expect("the memory can be read");
        for (word, bytes) in self.words.iter().zip(bytes.chunks_exact(8)) {
            let value: [u8; 8] = std::array::from_fn(|index| bytes[index]);
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        }
    }

    /// The descriptor, to be handed out.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Its size in words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// It has no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Writes one word; the index wraps.
    pub fn set(&self, index: usize, value: u64) {
        self.words[index % self.words.len()].store(value, Ordering::Release);
    }

    /// Reads one word; the index wraps.
    #[must_use]
    pub fn word(&self, index: usize) -> u64 {
        self.words[index % self.words.len()].load(Ordering::Acquire)
    }

    /// `count` bytes from byte `at`; `None` if they are not all inside.
    #[must_use]
    pub fn bytes(&self, at: u64, count: u64) -> Option<Vec<u8>> {
        let end = at.checked_add(count).filter(|end| *end <= self.words.len() as u64 * 8)?;
        let byte = |at: u64| self.word((at / 8) as usize).to_ne_bytes()[(at % 8) as usize];
        Some((at..end).map(byte).collect())
    }
}
