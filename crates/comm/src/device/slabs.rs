//! What ports keep of slabs: what a publisher has offered, how far each subscriber is, and who
//! takes them.
//!
//! How slabs are handed on is in `discovery::slab_exchange`.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crossdock_shm::{ReceivedFd, Slab, SlabMemory, SlabShape};

/// Takes memory of a device that a publisher in another process shares.
pub trait SlabTaker: Send + Sync {
    /// The device, as the publisher's process names it, too.
    fn device(&self) -> &str;

    /// Imports the first `bytes` bytes of the memory behind a descriptor that another process has
    /// sent, to be read only. Called on the control thread or on the port's own; may block for as
    /// long as a driver does, and must not use ports.
    ///
    /// # Errors
    /// Why it cannot be had: part of a sentence, with the next step.
    fn import(&self, memory: BorrowedFd<'_>, bytes: u64) -> Result<SlabMemory, String>;
}

/// Whether a subscriber takes slabs.
#[derive(Clone, Default)]
pub(crate) enum Wish {
    #[default]
    No,
    /// Its node is being made.
    Undecided,
    Yes(Arc<dyn SlabTaker>),
}

/// A slab that a publisher of this process has offered.
pub(crate) struct Offered {
    pub(crate) slab: Arc<Slab>,
    /// For other processes; `None`: the device cannot hand its memory out.
    pub(crate) memory: Option<OwnedFd>,
}

/// A slab that a peer has offered to a subscriber that is undecided.
pub(crate) struct Offer {
    pub(crate) number: u32,
    pub(crate) shape: SlabShape,
    pub(crate) device: String,
    /// The memory and the index.
    pub(crate) fds: [ReceivedFd; 2],
}

/// What one subscriber has of its publisher's slabs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// It may take slabs.
    wanted: bool,
    /// It gets no more of them.
    pub(crate) refused: bool,
    pub(crate) sent: u32,
    pub(crate) taken: u32,
}

impl Progress {
    pub(crate) fn new(wanted: bool) -> Progress {
        Progress { wanted, ..Progress::default() }
    }

    fn has_all(self, slabs: usize) -> bool {
        self.is_taker() && self.taken as usize == slabs
    }

    fn is_open(self, slabs: usize) -> bool {
        self.is_taker() && (self.taken as usize) < slabs
    }

    pub(crate) fn is_taker(self) -> bool {
        self.wanted && !self.refused
    }
}

/// How many subscribers outside its group do not have all slabs of a publisher.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    without: AtomicU32,
    /// Of these, those whose answer is still to come.
    open: AtomicU32,
    /// Subscribers outside the group that take slabs, or may. Counted if the publisher has an
    /// uploader.
    takers: AtomicU32,
    has_uploader: AtomicBool,
}

impl Reach {
    /// Has every subscriber all slabs, as far as is known? One load.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        // A subscriber that comes at the same time finds the message marked. Acquire pairs with
        // `expect`.
        self.without.load(Ordering::Acquire) == 0
    }

    /// Is an answer of a subscriber to come?
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// The publisher has an uploader from now on.
    pub(crate) fn set_uploader(&self) {
        self.has_uploader.store(true, Ordering::Relaxed);
    }

    /// Does the publisher have an uploader?
    pub(crate) fn has_uploader(&self) -> bool {
        self.has_uploader.load(Ordering::Relaxed)
    }

    /// Counts again: the subscribers outside the group as they stand, and the slabs that were
    /// offered.
    pub(crate) fn recount(&self, subscribers: impl Iterator<Item = Progress>, slabs: usize) {
        let (mut without, mut open, mut takers) = (0, 0, 0);
        for progress in subscribers {
            without += u32::from(!progress.has_all(slabs));
            open += u32::from(progress.is_open(slabs));
            takers += u32::from(progress.is_taker());
        }
        self.without.store(without, Ordering::Relaxed);
        self.open.store(open, Ordering::Relaxed);
        self.takers.store(takers, Ordering::Relaxed);
    }

    /// Does any subscriber outside the group take slabs, as far as is known? One load.
    #[inline]
    pub(crate) fn has_takers(&self) -> bool {
        // What a subscriber that just came does not find in a slab it copies itself.
        self.takers.load(Ordering::Relaxed) > 0
    }

    /// A subscriber is about to join; the lock is held until it is counted.
    pub(crate) fn expect(&self, wanted: bool) {
        self.open.fetch_add(u32::from(wanted), Ordering::Relaxed);
        // Release pairs with `is_complete`: a thread that counts it knows whether an answer is to
        // come.
        self.without.fetch_add(1, Ordering::Release);
    }
}
