//! What a subscriber says to one publisher: its cursor and the messages that it holds.

use super::ring::GONE;
use super::weaken::{fence_unless, is, order_unless, spot};
use crate::sync::{AtomicU64, Ordering};

/// Hold words of one connection, and with that the upper limit of samples that one subscriber may
/// keep at a time. 15, so that a `Conn` is two cache lines; smaller under the model checker.
pub const HOLDS_MAX: usize = if cfg!(loom) { 2 } else { 15 };

/// One subscriber's side of one connection: 128 bytes, written by the subscriber only.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Conn {
    /// Next sequence number that the subscriber wants; 0 until it has started.
    pub cursor: AtomicU64,
    /// Sequence numbers in use by samples; 0 is free.
    pub hold: [AtomicU64; HOLDS_MAX],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Conn>() == 128);

impl Default for Conn {
    fn default() -> Self {
        Conn { cursor: AtomicU64::new(0), hold: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Conn {
    /// Subscriber: place and address of a hold word that no sample uses (rule S3), among the first
    /// `agreed`.
    #[inline]
    pub fn free_hold(&self, agreed: usize) -> Option<(usize, &AtomicU64)> {
        // Acquire pairs with the Release of `drop_hold`: a sample may have been dropped on another
        // thread, and its last reads of the payload must be over before the word is used again.
        let order = order_unless(spot::SEARCH_ACQUIRE, Ordering::Acquire);
        self.hold.iter().take(agreed).enumerate().find(|(_, hold)| hold.load(order) == 0)
    }

    /// Subscriber: the sample that used `hold` is gone (rule S5).
    #[inline(always)]
    pub fn drop_hold(hold: &AtomicU64) {
        // Release pairs with the Acquire of `collect_holds`: reads of the payload come before its
        // reuse.
        hold.store(0, order_unless(spot::DROP_RELEASE, Ordering::Release));
    }

    /// Subscriber: everything before `next` has been taken or skipped (rule S4).
    ///
    /// Answers whether the blocked publisher waits for exactly this step and must be woken; asks
    /// only if the subscriber is reliable, because nobody waits for another one.
    #[inline]
    pub fn move_cursor(&self, next: u64, reliable: Option<&AtomicU64>) -> bool {
        let waiting = match reliable {
            None => {
                // Release pairs with the fence of `begin_scan` behind `wanted`: a subscriber
                // without holds (a device) has read what the cursor passes.
                self.cursor.store(next, order_unless(spot::CURSOR_RELEASE, Ordering::Release));
                return false;
            }
            Some(waiting) => waiting,
        };
        let before = self.cursor.load(Ordering::Relaxed);
        self.cursor.store(next, order_unless(spot::CURSOR_RELEASE, Ordering::Release));
        // Pairs with the fence in `Ring::announce_wait`: either this load sees what the publisher
        // waits for, or the publisher's look at the cursors sees `next`.
        fence_unless(spot::CURSOR_FENCE, Ordering::SeqCst);
        let passed = waiting.load(Ordering::Relaxed);
        passed != 0 && before <= passed && passed < next
    }

    /// Publisher: what this subscriber wants next; `joined` until it has started (rule P3).
    #[inline]
    pub fn wanted(&self, joined: u64) -> u64 {
        // Relaxed: what is evicted because of it is reused behind the fence of `begin_scan` only,
        // and that fence makes this load acquire the Release of `move_cursor`.
        match self.cursor.load(Ordering::Relaxed) {
            0 => joined,
            cursor => cursor & !GONE,
        }
    }

    /// Publisher, behind the fence of `Ring::begin_scan`: adds what this subscriber holds to
    /// `held`.
    #[inline]
    pub fn collect_holds(&self, agreed: usize, held: &mut Vec<u64>) {
        // Acquire pairs with the Release of `drop_hold` and of `Ring::take`.
        let order = order_unless(spot::SCAN_ACQUIRE, Ordering::Acquire);
        for hold in &self.hold[..agreed.min(HOLDS_MAX)] {
            let seq = hold.load(order);
            if seq != 0 {
                held.push(seq);
            }
        }
    }

    /// Subscriber: does no sample use a hold word any more?
    #[inline]
    pub fn holds_nothing(&self) -> bool {
        // Acquire pairs with the Release of `drop_hold`: what follows may give the memory back.
        self.hold.iter().all(|hold| hold.load(Ordering::Acquire) == 0)
    }

    /// Whether `weaken` removed the subscriber's second look.
    #[inline(always)]
    pub(super) fn rechecks() -> bool {
        !is(spot::NO_RECHECK)
    }
}
