//! Shared memory of 64-bit words for structures of other crates. All access is atomic, so a peer
//! can break only the meaning of a word.

use crate::futex;
use crate::memory::{CreateMemoryError, MapSlice, OwnMemory, Sharing, Writers};
use crate::open_memory::{Access, OpenMemoryError, map_received};
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Words that this process made. `Send + Sync`; zero at first, untouched pages cost nothing.
///
/// In a forked child they must not be touched ([`OwnWords::in_child`]), unless they are
/// [`Sharing::Open`]: those stay mapped there.
#[derive(Debug)]
pub struct OwnWords {
    memory: OwnMemory,
    words: MapSlice<AtomicU64>,
}

impl OwnWords {
    /// Makes `words` words. Allocates, makes system calls.
    ///
    /// # Errors
    /// [`CreateMemoryError`] when the size is not legal or the system refuses.
    pub fn create(label: &str, words: usize, sharing: Sharing) -> Result<Self, CreateMemoryError> {
        let writers = match sharing {
            Sharing::Shown => Writers::Maker,
            Sharing::Open => Writers::Everybody,
        };
        let bytes = (words as u64).saturating_mul(8);
        let memory = OwnMemory::create(label, bytes, writers)?;
        if sharing == Sharing::Open {
            memory.mapping().keep_in_children();
        }
        let bad = || CreateMemoryError::BadSize { label: label.to_owned(), bytes };
        let words = MapSlice::new(memory.mapping(), 0, words).ok_or_else(bad)?;
        Ok(Self { memory, words })
    }

    /// Makes memory for `words` words from `first` on present: to be done before they are touched,
    /// because one whose page cannot be had then is SIGBUS. The first 512 words are present from
    /// the start. One system call.
    ///
    /// # Errors
    /// [`CreateMemoryError`] when the memory cannot be had.
    pub fn populate(
        &self,
        label: &str,
        first: usize,
        words: usize,
    ) -> Result<(), CreateMemoryError> {
        self.memory.populate(label, first as u64 * 8, words as u64 * 8)
    }

    /// The descriptor for peers.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.memory.fd()
    }

    /// Is this a forked child of the process that made them? One load.
    #[inline(always)]
    pub fn in_child(&self) -> bool {
        self.memory.mapping().in_child()
    }
}

impl Deref for OwnWords {
    type Target = [AtomicU64];
    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        &self.words
    }
}

/// Words that another process made. `Send + Sync`. What they say is that process's word, and may
/// change at any time; they stay readable after its death.
#[derive(Debug)]
pub struct PeerWords {
    words: MapSlice<AtomicU64>,
}

impl PeerWords {
    /// Maps the first `words` words of a received descriptor. With [`Sharing::Shown`] they must not
    /// be stored to: the mapping is read-only and a store faults.
    ///
    /// # Errors
    /// [`OpenMemoryError`] when it is not sealed against shrinking, smaller, or cannot be mapped.
    pub fn open(
        label: &str,
        fd: BorrowedFd<'_>,
        words: usize,
        sharing: Sharing,
    ) -> Result<Self, OpenMemoryError> {
        let access = match sharing {
            Sharing::Shown => Access::Read,
            Sharing::Open => Access::ReadWrite,
        };
        let bytes = (words as u64).saturating_mul(8);
        let mapping = map_received(label, fd, bytes, bytes, access)?;
        let small = || OpenMemoryError::TooSmall {
            label: label.to_owned(),
            bytes: mapping.bytes() as u64,
            wanted: bytes,
        };
        let words = MapSlice::new(&mapping, 0, words).ok_or_else(small)?;
        Ok(Self { words })
    }
}

impl Deref for PeerWords {
    type Target = [AtomicU64];
    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        &self.words
    }
}

/// Sleeps while `word`, which lies in shared memory, is `seen`, at most `timeout`; may wake without
/// reason. One system call. Only the lower half of the word is compared.
pub fn sleep_on(word: &AtomicU64, seen: u64, timeout: Option<Duration>) {
    futex::wait(futex::low_half(word), seen as u32, timeout);
}

/// Wakes everybody who sleeps on `word`, in whatever process. One system call.
pub fn wake(word: &AtomicU64) {
    futex::wake_all(futex::low_half(word));
}
