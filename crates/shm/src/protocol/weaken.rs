//! Negative controls: each constant names one ordering or re-check that a model run may leave out.
//!
//! It must not exist in the product: without `--cfg loom` the question "is it weakened?" is `false`
//! at compile time. A control that no model catches is either an ordering nobody needs or a blind
//! model.

use crate::sync::{Ordering, fence};

/// The spots that a model run can weaken, numbered for the table in `tests/model`.
pub mod spot {
    /// take: no SeqCst fence between the hold and the second look at `slot.seq`.
    pub const TAKE_FENCE: u32 = 1;
    /// scan: no SeqCst fence before the holds are read.
    pub const SCAN_FENCE: u32 = 2;
    /// scan: hold words read Relaxed.
    pub const SCAN_ACQUIRE: u32 = 3;
    /// drop: hold word cleared Relaxed.
    pub const DROP_RELEASE: u32 = 4;
    /// publish: no Release fence between the GONE mark and the new fields.
    pub const BUSY_FENCE: u32 = 5;
    /// take: no second look at `slot.seq`.
    pub const NO_RECHECK: u32 = 6;
    /// publish: no SeqCst fence between `head` and the armed words.
    pub const DOOR_FENCE: u32 = 7;
    /// arm: no SeqCst fence between the armed bit and `head`.
    pub const ARM_FENCE: u32 = 8;
    /// take: no Acquire fence between the fields and the second look at `slot.seq`.
    pub const READ_FENCE: u32 = 9;
    /// publish: `slot.seq` and `head` stored Relaxed.
    pub const HEAD_RELEASE: u32 = 10;
    /// take: hold word stored Relaxed.
    pub const HOLD_RELEASE: u32 = 11;
    /// take: a free hold word searched Relaxed.
    pub const SEARCH_ACQUIRE: u32 = 12;
    /// attach: no SeqCst fence between the inbox and the reply.
    pub const ATTACH_FENCE: u32 = 13;
    /// scan: the inbox is not looked at behind the fence.
    pub const SCAN_INBOX: u32 = 14;
    /// publish: the inbox is not looked at behind the fence.
    pub const DOOR_INBOX: u32 = 15;
    /// reliable take: no SeqCst fence between the cursor and `head.waiting`.
    pub const CURSOR_FENCE: u32 = 16;
    /// blocked publisher: no SeqCst fence between `head.waiting` and the cursors.
    pub const WAITING_FENCE: u32 = 17;
    /// evict: `slot.seq` marked GONE with a Relaxed store.
    pub const EVICT_RELEASE: u32 = 18;
    /// bell: `ready` set after the word instead of before it.
    pub const BELL_ORDER: u32 = 19;
    /// take: cursor stored Relaxed.
    pub const CURSOR_RELEASE: u32 = 20;
    /// loan: evicts what falls out of the ring with the next message.
    pub const EVICT_IN_LOAN: u32 = 21;
    /// wake relay: bits set after the first futex wake instead of before it.
    pub const RELAY_ORDER: u32 = 22;
    /// nudge: set after the word instead of before it.
    pub const NUDGE_ORDER: u32 = 23;
    /// overwrite ring: no Release fence between `begun` and the words.
    pub const RECORD_FENCE: u32 = 24;
    /// overwrite ring: `done` stored Relaxed.
    pub const RECORD_RELEASE: u32 = 25;
    /// overwrite ring: `done` read Relaxed.
    pub const RECORD_ACQUIRE: u32 = 26;
    /// overwrite ring: no Acquire fence between the words and `begun`.
    pub const RECORD_LOOK: u32 = 27;
    /// claim: no SeqCst fence between the announcement and the look at the others.
    pub const CLAIM_FENCE: u32 = 28;
    /// claim: no Release fence between the taken place and its words.
    pub const CLAIM_ENTRY: u32 = 29;
    /// claim: the states of others read Relaxed.
    pub const CLAIM_LOOK: u32 = 30;
    /// claim: no Acquire fence between the words of others and the second look at the state.
    pub const CLAIM_WORDS: u32 = 31;
    /// claim: released Relaxed.
    pub const CLAIM_RELEASE: u32 = 32;
    /// claim: a place taken Relaxed, behind its mark.
    pub const CLAIM_TAKE: u32 = 33;
}

#[cfg(loom)]
std::thread_local! {
    // Every thread of a model is a coroutine of the operating-system thread that checks it.
    static WEAK: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Chooses what the models of this operating-system thread leave out; 0 is nothing.
#[cfg(loom)]
pub fn set(spot: u32) {
    WEAK.with(|weak| weak.set(spot));
}

/// Is `spot` left out of this model run?
#[cfg(loom)]
pub fn is(spot: u32) -> bool {
    WEAK.with(|weak| weak.get() == spot)
}

/// Nothing is ever left out of the product.
#[cfg(not(loom))]
#[inline(always)]
pub const fn is(_spot: u32) -> bool {
    false
}

/// `fence(order)`, unless the model leaves `spot` out.
#[inline(always)]
pub(crate) fn fence_unless(spot: u32, order: Ordering) {
    if !is(spot) {
        fence(order);
    }
}

/// `order`, or Relaxed when the model leaves `spot` out.
#[inline(always)]
pub(crate) fn order_unless(spot: u32, order: Ordering) -> Ordering {
    if is(spot) { Ordering::Relaxed } else { order }
}
