//! Whether this process is a forked child of the one that made the mappings.
//!
//! Every mapping of this crate stays behind in the parent (`MADV_DONTFORK`), so a child that used a
//! port or a sample would fault. One private page tells: the kernel wipes it in a child, whichever
//! call made the child. It must not know ports.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Smallest page that Linux maps.
const PAGE_BYTES: usize = 4096;

static MARK: OnceLock<&'static AtomicU32> = OnceLock::new();

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

/// Remembers the process that a port was made in: one load tells whether it still is the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForkMark(&'static AtomicU32);

impl ForkMark {
    /// The mark of this process.
    pub(crate) fn new() -> Self {
        ForkMark(MARK.get_or_init(|| make_mark().unwrap_or(&NEVER_A_CHILD)))
    }

    /// True in a child that was forked after the mark was made.
    #[inline(always)]
    pub(crate) fn in_child(self) -> bool {
        // Relaxed: only the kernel changes the word, before the child's first instruction.
        self.0.load(Ordering::Relaxed) == 0
    }
}
