//! Messages between a publisher and a subscriber on the same thread, past the ring.
//!
//! The publisher pushes descriptors into a bounded queue, the subscriber pops them and holds the
//! chunk with a hold word that the publisher's scan looks at, as for any other subscriber.
//! Everything but the hold words belongs to one thread, and each access checks that.

use crate::descriptor::{Descriptor, Meta};
use crate::home::Home;
use crate::memory::Mapping;
use crate::pool::Chunk;
use crate::protocol::HOLDS_MAX;
use crate::queue::Queue;
use crate::sample::RawSample;
use crate::subscriber::TakeError;
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The size of a link's queue, and what it does when it is full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalOptions {
    /// Names the subscriber in errors.
    pub label: String,
    /// Messages that the queue holds.
    pub depth: usize,
    /// If the queue is full, refuse the next message (true) or forget the oldest one (false).
    pub reliable: bool,
    /// Samples that the subscriber may hold: 1 to 15.
    pub holds: usize,
}

/// A link cannot join a publisher.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// It has already joined one.
    #[error(
        "local link `{link}` already belongs to another publisher; give `{publisher}` a link of \
         its own"
    )]
    Taken {
        /// The link's label.
        link: String,
        /// The publisher's label.
        publisher: String,
    },
}

thread_local! {
    static TOKEN: u8 = const { 0 };
}

/// Tells threads apart that live at the same time.
#[inline(always)]
pub(crate) fn thread_token() -> usize {
    TOKEN.with(|token| std::ptr::from_ref(token).addr())
}

/// What belongs to the thread.
#[derive(Debug)]
struct Waiting {
    messages: Queue,
    /// Messages pushed out by newer ones.
    keep_last_lost: u64,
}

/// Both ends of a link.
#[derive(Debug)]
pub(crate) struct LinkEnds {
    options: LocalOptions,
    owner: usize,
    home: Arc<Home>,
    joined: AtomicBool,
    closed: AtomicBool,
    queue: UnsafeCell<Waiting>,
}

// SAFETY: `queue` is only touched through `LinkEnds::queue`, which refuses every thread but the
// owner; the rest is atomic, locked or constant.
unsafe impl Send for LinkEnds {}
// SAFETY: as above.
unsafe impl Sync for LinkEnds {}

impl LinkEnds {
    #[inline(always)]
    fn queue<R>(&self, each: impl FnOnce(&mut Waiting) -> R) -> R {
        assert!(
            thread_token() == self.owner,
            "a local link was used on a thread that did not make it"
        );
        // SAFETY: this thread is the only one that comes here; `each` is this file's own
        // straight-line code and does not come here again.
        each(unsafe { &mut *self.queue.get() })
    }

    pub(crate) fn label(&self) -> &str {
        &self.options.label
    }

    #[cold]
    fn refusal(&self, forked: bool) -> Box<TakeError> {
        let (subscriber, holds) = (self.label().to_owned(), self.options.holds);
        Box::new(match forked {
            true => TakeError::Forked { subscriber },
            false => TakeError::AllHoldsInUse { subscriber, holds },
        })
    }

    pub(crate) fn depth(&self) -> usize {
        self.options.depth
    }

    /// Publisher: is a message refused because the queue of a reliable link is full?
    #[inline]
    pub(crate) fn refuses(&self) -> bool {
        self.options.reliable && !self.is_closed() && self.queue(|queue| queue.messages.is_full())
    }

    /// Publisher: forgets the oldest messages whose stamps are before this time; true if there was
    /// one.
    pub(crate) fn forget_before(&self, stamp_ns: u64) -> bool {
        self.queue(|queue| {
            let before = queue.keep_last_lost;
            while let Some((_, oldest)) = queue.messages.first()
                && oldest.meta.stamp_ns < stamp_ns
                && queue.messages.pop()
            {
                queue.keep_last_lost += 1;
            }
            queue.keep_last_lost > before
        })
    }

    #[inline(always)]
    fn is_closed(&self) -> bool {
        // Only a hint on other threads; set by the owner.
        self.closed.load(Ordering::Relaxed)
    }

    /// Publisher: hands a message over.
    #[inline]
    pub(crate) fn push(&self, seq: u64, chunk: Chunk, meta: &Meta) {
        if self.is_closed() {
            return;
        }
        self.queue(|queue| {
            queue.keep_last_lost += u64::from(queue.messages.push(seq, chunk, meta));
        });
    }

    /// Publisher: messages that were not taken.
    pub(crate) fn len(&self) -> usize {
        if self.is_closed() { 0 } else { self.queue(|queue| queue.messages.len()) }
    }

    /// Publisher: has a link that may lose messages more than `depth` of them?
    pub(crate) fn can_spare(&self, depth: usize) -> bool {
        !self.options.reliable && self.len() > depth
    }

    /// Publisher: memory is short. Forgets the older half of what is beyond `depth`, if there is
    /// any.
    pub(crate) fn spare(&self, depth: usize) -> bool {
        let can_spare = self.can_spare(depth);
        if can_spare {
            self.queue(|queue| {
                let beyond = queue.messages.len() - depth;
                for _ in 0..beyond.div_ceil(2) {
                    queue.keep_last_lost += u64::from(queue.messages.pop());
                }
            });
        }
        can_spare
    }

    /// Publisher: everything from this number on may still be taken.
    #[inline]
    pub(crate) fn pending(&self) -> u64 {
        if self.is_closed() {
            return u64::MAX;
        }
        self.queue(|queue| queue.messages.first_seq().unwrap_or(u64::MAX))
    }

    #[inline]
    pub(crate) fn collect_holds(&self, held: &mut Vec<u64>) {
        self.home.conn().collect_holds(self.options.holds, held);
    }

    /// Publisher: closed, and no sample is left?
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed() && self.home.conn().holds_nothing()
    }

    pub(crate) fn add_segment(&self, index: usize, mapping: &Arc<Mapping>) {
        self.home.add_segment(index, mapping.clone());
    }
}

/// The subscriber's end of a link: belongs to the thread that made it. Used on another one it
/// panics; dropped there, what waits in it is forgotten.
///
/// Taking and publishing over it: no atomic read-modify-write, no fence, no lock, no system call,
/// no allocation.
#[derive(Debug)]
pub struct LocalLink {
    lane: Arc<LinkEnds>,
}

impl LocalLink {
    /// A link that no publisher has joined yet; `RingPublisher::link` joins one. Allocates.
    ///
    /// Panics if depth or holds are 0 or holds exceed 15.
    pub fn new(options: LocalOptions) -> Self {
        assert!(options.depth > 0, "a local link needs a depth of at least 1");
        assert!((1..=HOLDS_MAX).contains(&options.holds), "a local link has 1 to 15 holds");
        let messages = Queue::new(options.depth);
        let lane = LinkEnds {
            options,
            owner: thread_token(),
            home: Home::for_local(),
            joined: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            queue: UnsafeCell::new(Waiting { messages, keep_last_lost: 0 }),
        };
        LocalLink { lane: Arc::new(lane) }
    }

    pub(crate) fn lane(&self) -> Arc<LinkEnds> {
        self.lane.clone()
    }

    pub(crate) fn join(&self, publisher: &str, mappings: &[Arc<Mapping>]) -> Result<(), LinkError> {
        self.lane.queue(|_| ());
        if self.lane.joined.swap(true, Ordering::Relaxed) {
            let (link, publisher) = (self.lane.label().to_owned(), publisher.to_owned());
            return Err(LinkError::Taken { link, publisher });
        }
        for (index, mapping) in mappings.iter().enumerate() {
            self.lane.add_segment(index, mapping);
        }
        Ok(())
    }

    /// The oldest message that was not taken.
    #[inline]
    pub fn take(&self) -> Result<Option<RawSample>, Box<TakeError>> {
        let lane = &*self.lane;
        if lane.home.in_child() {
            return Err(lane.refusal(true));
        }
        lane.queue(|queue| {
            let Some((seq, Descriptor { chunk, meta })) = queue.messages.first() else {
                return Ok(None);
            };
            let Some((index, hold)) = lane.home.conn().free_hold(lane.options.holds) else {
                return Err(lane.refusal(false));
            };
            let Some(payload) = lane.home.payload(chunk, meta.len) else {
                debug_assert!(false, "the publisher's own chunks lie inside its segments");
                return Ok(None);
            };
            hold.store(seq, crate::sync::Ordering::Release);
            // SAFETY: the word was 0 and is the sample's now; the payload was just found in the
            // home.
            let sample = unsafe { RawSample::new(&lane.home, index, seq, payload, meta) };
            queue.messages.pop();
            Ok(Some(sample))
        })
    }

    /// Looks at the oldest message that was not taken.
    #[inline]
    pub fn peek(&self) -> Option<Meta> {
        self.lane.queue(|queue| queue.messages.first().map(|(_, descriptor)| descriptor.meta))
    }

    /// Is there a message?
    #[inline]
    pub fn is_ready(&self) -> bool {
        !self.is_empty()
    }

    /// Messages that were not taken.
    #[inline]
    pub fn len(&self) -> usize {
        self.lane.queue(|queue| queue.messages.len())
    }

    /// Is there no message?
    pub fn is_empty(&self) -> bool {
        self.lane.queue(|queue| queue.messages.len() == 0)
    }

    /// Passes over the oldest message; true if there was one.
    #[inline]
    pub fn skip(&self) -> bool {
        self.lane.queue(|queue| queue.messages.pop())
    }

    /// Messages forgotten because the queue was full.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.lane.queue(|queue| queue.keep_last_lost)
    }
}

impl Drop for LocalLink {
    fn drop(&mut self) {
        if thread_token() == self.lane.owner {
            self.lane.queue(|queue| queue.messages.clear());
        }
        self.lane.closed.store(true, Ordering::Relaxed);
        self.lane.home.close();
    }
}
