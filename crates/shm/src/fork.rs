//! Keeps everything of a process from its forked children.
//!
//! 1. Children do not inherit the mappings of this crate (`MADV_DONTFORK`), so a child that used a
//!    port or a sample would fault. One private page tells a child from its parent: the kernel
//!    wipes it in a child, whichever call made the child.
//! 2. A child would also have copies of the parent's sockets and memory objects. Peers that wait
//!    for end of file would not hear of the parent's death, its name would go on listening, and its
//!    memory would stay. So in a child of `fork`, a descriptor of nothing replaces each
//!    [`PrivateFd`] before `fork` returns there. The numbers stay taken, so that drops in the child
//!    close only these descriptors.
//! 3. A status table is written in too many places to check each time. In a child, a private page
//!    of zeros takes its place.
//!
//! 4. Signal handlers, which a child inherits, ask a flag that is set in a child of `fork`
//!    ([`child_flag`]).
//!
//! Children that exec get nothing either way (close on exec). A child of a bare `clone` system call
//! has rule 1 only; peers then hear of the parent's death from its pidfd.

use crate::PAGE_BYTES;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The mark of this process; in a child that has made nothing of its own yet, its parent's mark.
static MARK: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Where the page cannot be had (Linux < 4.14), nobody is taken for a child.
static NEVER_A_CHILD: AtomicU32 = AtomicU32::new(1);

fn make_mark() -> Option<&'static AtomicU32> {
    // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that
    // exists.
    let page = unsafe {
        mmap_anonymous(
            ptr::null_mut(),
            PAGE_BYTES,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    }
    .ok()?;
    // SAFETY: the page was just mapped and holds nothing yet. (Linux >= 4.14; the mapping is never
    // undone.)
    unsafe { madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork) }.ok()?;
    // SAFETY: page-aligned, zeroed, mapped for the life of the process, only used as this atomic.
    let mark = unsafe { &*page.cast::<AtomicU32>() };
    mark.store(1, Ordering::Relaxed);
    Some(mark)
}

/// The mark that is this process's own.
fn known_mark() -> Option<&'static AtomicU32> {
    // SAFETY: null, or from a reference that lives as long as the process.
    let mark = unsafe { MARK.load(Ordering::Acquire).as_ref() };
    mark.filter(|mark| mark.load(Ordering::Relaxed) != 0)
}

/// Remembers the process that something was made in: one load tells whether it still is the same.
#[derive(Clone, Copy, Debug)]
pub struct ForkMark(&'static AtomicU32);

impl Default for ForkMark {
    fn default() -> Self {
        Self::new()
    }
}

impl ForkMark {
    /// The mark of this process. Makes a page for the first one of a process, and for the first one
    /// of a forked child.
    pub fn new() -> Self {
        if let Some(mark) = known_mark() {
            return ForkMark(mark);
        }
        // No lock: a child may have been forked while another thread held it. Of two threads that
        // come here at once each keeps the page that it made.
        match make_mark() {
            Some(mark) => {
                MARK.store(ptr::from_ref(mark).cast_mut(), Ordering::Release);
                ForkMark(mark)
            }
            None => ForkMark(&NEVER_A_CHILD),
        }
    }

    /// True in a child that was forked after the mark was made.
    #[inline(always)]
    pub fn in_child(self) -> bool {
        // Relaxed: only the kernel changes the word, before the child's first instruction.
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Descriptors that children do not get have numbers below this one (the largest limit on
/// descriptors that is usual, `fs.nr_open`, is 2^20; a process that is given more has others
/// below).
const NUMBERS_MAX: usize = 1 << 20;

/// Status tables of one process that a child sees as zeros; with more, a child that writes one
/// faults.
const BLANKS_MAX: usize = 1024;

/// One bit for each descriptor number that a child does not get.
static PRIVATE: [AtomicU64; NUMBERS_MAX / 64] = [const { AtomicU64::new(0) }; NUMBERS_MAX / 64];

/// Words of `PRIVATE` that were ever used.
static PRIVATE_WORDS: AtomicUsize = AtomicUsize::new(0);

/// Address and bytes of what a child sees as zeros; address 0: free.
static BLANKS: [[AtomicUsize; 2]; BLANKS_MAX] =
    [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; BLANKS_MAX];

/// A descriptor that a forked child does not get: see rule 2 of this file.
///
/// `Send` and `Sync`. Closed when it is dropped. In a child it is a descriptor of nothing.
#[derive(Debug)]
pub struct PrivateFd(OwnedFd);

impl From<OwnedFd> for PrivateFd {
    /// Makes no system call, but for the first one of a process.
    fn from(fd: OwnedFd) -> Self {
        watch_forks();
        let number = fd.as_raw_fd() as usize;
        if let Some(word) = PRIVATE.get(number / 64) {
            word.fetch_or(1 << (number % 64), Ordering::Relaxed);
            PRIVATE_WORDS.fetch_max(number / 64 + 1, Ordering::Relaxed);
        }
        PrivateFd(fd)
    }
}

impl PrivateFd {
    /// Closes the descriptor and puts another one in its place, in one step: the number stays.
    ///
    /// # Errors
    /// The limit on descriptors is below the number by now.
    pub(crate) fn replace(&self, by: BorrowedFd<'_>) -> Result<(), rustix::io::Errno> {
        let number = self.0.as_raw_fd();
        // SAFETY: replaces an open descriptor that this value owns and closes later.
        match unsafe { libc::dup3(by.as_raw_fd(), number, libc::O_CLOEXEC) } {
            -1 => Err(rustix::io::Errno::from_raw_os_error(
                std::io::Error::last_os_error().raw_os_error().unwrap_or_default(),
            )),
            _ => Ok(()),
        }
    }
}

impl AsFd for PrivateFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for PrivateFd {
    fn drop(&mut self) {
        // Before the number is free for others, whose children may want it.
        let number = self.0.as_raw_fd() as usize;
        if let Some(word) = PRIVATE.get(number / 64) {
            word.fetch_and(!(1 << (number % 64)), Ordering::Relaxed);
        }
    }
}

/// Rule 3, while it lives.
#[derive(Debug)]
pub(crate) struct Blank(Option<usize>);

impl Blank {
    /// Of a mapping of this process that children do not inherit.
    pub(crate) fn new(address: usize, bytes: usize) -> Self {
        watch_forks();
        let place = BLANKS.iter().position(|[start, size]| {
            let taken = start.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if taken {
                size.store(bytes, Ordering::Relaxed);
                // Release: a child that sees the address sees the size.
                start.store(address, Ordering::Release);
            }
            taken
        });
        Blank(place)
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            BLANKS[place][0].store(0, Ordering::Release);
        }
    }
}

/// See [`child_flag`].
static CHILD: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A flag that is false until somebody sets it, and true in every child of `fork`: for handlers of
/// signals that are right in the parent only. One for the process. Allocates the first time.
pub fn child_flag() -> Arc<AtomicBool> {
    watch_forks();
    Arc::clone(CHILD.get_or_init(Arc::default))
}

fn watch_forks() {
    // No lock, which a child might inherit from a thread that only its parent has. Two threads that
    // come here at once both leave the handler, which may run twice.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        // SAFETY: the handler does nothing but system calls and loads. Without memory for it, rule
        // 1 and pidfds are left.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_new_child)) };
        WATCHED.store(true, Ordering::Release);
    }
}

/// In a child of `fork`, before that returns. Loads and system calls only: another thread of the
/// parent may have held any lock.
unsafe extern "C" fn in_new_child() {
    if let Some(flag) = CHILD.get() {
        flag.store(true, Ordering::Relaxed);
    }
    for [start, size] in &BLANKS {
        let (start, bytes) = (start.load(Ordering::Acquire), size.load(Ordering::Relaxed));
        if start > 1 {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE
                | libc::MAP_ANONYMOUS
                | libc::MAP_NORESERVE
                | libc::MAP_FIXED_NOREPLACE;
            let place = ptr::with_exposed_provenance_mut(start);
            // SAFETY: where the parent's mapping was there is nothing here, and nothing is
            // replaced.
            let _ = unsafe { libc::mmap(place, bytes, protection, flags, -1, 0) };
        }
    }
    // SAFETY: a new descriptor of an event that nobody else has.
    let nothing = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    let words = PRIVATE_WORDS.load(Ordering::Relaxed).min(PRIVATE.len());
    for (place, word) in PRIVATE[..words].iter().enumerate() {
        let mut bits = word.load(Ordering::Relaxed);
        while bits != 0 {
            let number = (place * 64) as libc::c_int + bits.trailing_zeros() as libc::c_int;
            bits &= bits - 1;
            // SAFETY: it is the number of a private descriptor, which stays open.
            let replaced =
                nothing >= 0 && unsafe { libc::dup3(nothing, number, libc::O_CLOEXEC) } >= 0;
            if !replaced {
                // The child has no number free.
                // SAFETY: a number of ours; what owns it closes it once more, or a later one.
                let _ = unsafe { libc::close(number) };
            }
        }
    }
    if nothing >= 0 {
        // SAFETY: made above.
        let _ = unsafe { libc::close(nothing) };
    }
}
