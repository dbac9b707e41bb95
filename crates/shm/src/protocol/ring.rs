//! The ring of descriptors: what a publisher says to all of its subscribers.

use super::conn::Conn;
use super::weaken::{fence_unless, order_unless, spot};
use crate::faults::{self, fault};
use crate::sync::{AtomicU64, Ordering};

/// Mark on `Slot::seq`: this sequence number has left the ring.
pub const GONE: u64 = 1 << 63;

/// Words of a timeline, see `timeline`.
pub const TIMELINE_WORDS: usize = 3;

/// Words of a descriptor; fewer under the model checker, which pays for every atomic.
pub const FIELDS: usize = if cfg!(loom) { 2 } else { 7 };

/// First cache lines of a publisher's memory: 128 bytes, written by the publisher only.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Head {
    /// Last published sequence number; 0 before the first.
    pub head: AtomicU64,
    /// Oldest sequence number that is still in the ring.
    pub tail: AtomicU64,
    /// First sequence number written after the ring was last opened: nobody could read an earlier
    /// one.
    pub opened: AtomicU64,
    /// The blocked publisher waits for a cursor to pass this number; 0: it does not wait.
    pub waiting: AtomicU64,
    /// When the publisher has said last that it is alive, in ns of the system's clock; 0: never. A
    /// hint, and not part of what the model checker runs.
    pub alive_ns: std::sync::atomic::AtomicU64,
    reserved: [u64; 3],
    /// A line of its own, which a device may write: how far early messages are finished. Not part
    /// of what the model checker runs, which has one word here that only grows: see `timeline`.
    pub finished: [std::sync::atomic::AtomicU64; TIMELINE_WORDS],
    /// The same for messages that are uploaded to a device: how far they are there.
    pub uploaded: [std::sync::atomic::AtomicU64; TIMELINE_WORDS],
    reserved_too: [u64; 2],
}

/// One descriptor: 64 bytes, one cache line, written by the publisher only.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Slot {
    /// `s`: holds message s; `s | GONE`: message s has left; 0: never used.
    pub seq: AtomicU64,
    /// offset, length, stamp, origin (2), kind, check; see `Descriptor::to_words`.
    pub fields: [AtomicU64; FIELDS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Head>() == 128 && size_of::<Slot>() == 64);

impl Default for Head {
    fn default() -> Self {
        Head {
            head: AtomicU64::new(0),
            tail: AtomicU64::new(1),
            opened: AtomicU64::new(1),
            waiting: AtomicU64::new(0),
            alive_ns: Default::default(),
            reserved: [0; 3],
            finished: Default::default(),
            uploaded: Default::default(),
            reserved_too: [0; 2],
        }
    }
}

impl Default for Slot {
    fn default() -> Self {
        Slot { seq: AtomicU64::new(0), fields: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// What one look at a slot says about the message that a subscriber wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peek {
    /// Not published yet.
    Empty,
    /// There to be taken.
    Ready,
    /// It has left the ring; `Ring::oldest` says where to go on.
    Lapped,
}

/// Why a subscriber stops believing a publisher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// A message is gone, but the ring says that it is not older than the oldest one.
    TailBehind,
    /// The ring says that it holds more messages than it has slots.
    TooMany,
    /// The oldest message is said to be newer than the newest one.
    TailAhead,
    /// A descriptor names a segment, offset or length outside the publisher's memory.
    OutsideMemory,
    /// A descriptor's check word does not fit its other words.
    BadCheck,
}

/// Head and slots of one ring, as mapped by the process that looks at them.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    /// The first cache lines.
    pub head: &'a Head,
    /// As many slots as the geometry says: a power of two.
    pub slots: &'a [Slot],
}

impl<'a> Ring<'a> {
    #[inline(always)]
    fn slot(&self, seq: u64) -> &'a Slot {
        // The mask keeps the index inside; the length is a power of two that never changes.
        &self.slots[seq as usize & (self.slots.len() - 1)]
    }

    // ---- publisher ----

    /// Rule P4: takes `seq`, the oldest message, out of the ring. Its chunk may be reused after a
    /// later scan that does not find `seq` held.
    #[inline]
    pub fn evict(&self, seq: u64) {
        // Release pairs with the Acquire in `oldest`: a thread that sees this tail sees a head >=
        // tail - 1.
        self.head.tail.store(seq + 1, Ordering::Release);
        // Release pairs with the Acquire of `peek` and of the second look in `take`: a thread that
        // sees the mark sees the tail beyond it.
        let order = order_unless(spot::EVICT_RELEASE, Ordering::Release);
        self.slot(seq).seq.store(seq | GONE, order);
    }

    /// Rule P5: publishes `seq`. Its slot's former message was evicted and the payload is written.
    #[inline]
    pub fn publish(&self, seq: u64, words: &[u64; FIELDS]) {
        let slot = self.slot(seq);
        // Release fence pairs with the Acquire fence in `take`: a reader that saw a new field sees
        // the GONE mark of the old message at its second look.
        fence_unless(spot::BUSY_FENCE, Ordering::Release);
        if faults::is(fault::NUMBER_FIRST) {
            slot.seq.store(seq, Ordering::Release);
            self.head.head.store(seq, Ordering::Release);
        }
        for (field, word) in slot.fields.iter().zip(words) {
            field.store(*word, Ordering::Relaxed);
        }
        let order = order_unless(spot::HEAD_RELEASE, Ordering::Release);
        // Release pairs with the Acquire of `peek`: payload and fields come before it.
        slot.seq.store(seq, order);
        // Release pairs with the Acquire of `newest`.
        self.head.head.store(seq, order);
    }

    /// Rule P6: what stands before this call (a published message) is seen by every subscriber that
    /// arms behind its own fence, or its armed bit is seen behind this one.
    #[inline(always)]
    pub fn before_doors(&self) {
        // Pairs with the fence in `arm` and the fence of `Inbox::attached`.
        fence_unless(spot::DOOR_FENCE, Ordering::SeqCst);
    }

    /// Rule P7: what was evicted before this call and is not found held after it is free.
    #[inline]
    pub fn begin_scan(&self) {
        // Pairs with the fence in `take` and the fence of `Inbox::attached`.
        fence_unless(spot::SCAN_FENCE, Ordering::SeqCst);
    }

    /// Rule P8: says that the publisher will wait until a cursor passes `seq`; the caller then
    /// reads the cursors once more before it sleeps.
    pub fn announce_wait(&self, seq: u64) {
        self.head.waiting.store(seq, Ordering::Relaxed);
        // Pairs with the fence in `Conn::move_cursor`.
        fence_unless(spot::WAITING_FENCE, Ordering::SeqCst);
    }

    /// The publisher waits no longer.
    pub fn end_wait(&self) {
        self.head.waiting.store(0, Ordering::Relaxed);
    }

    /// Rule P2: opens a ring that nobody could read as empty behind message `last`.
    pub fn open(&self, last: u64) {
        let slots = self.slots.len() as u64;
        self.head.opened.store(last + 1, Ordering::Relaxed);
        // The same order as in `publish` and `evict`: head, then tail, then the marks.
        self.head.head.store(last, Ordering::Release);
        self.head.tail.store(last + 1, Ordering::Release);
        for seq in (last + 1).saturating_sub(slots).max(1)..=last {
            self.slot(seq).seq.store(seq | GONE, Ordering::Release);
        }
    }

    // ---- subscriber ----

    /// Last published sequence number.
    #[inline(always)]
    pub fn newest(&self) -> u64 {
        // Acquire pairs with the Release of `publish`.
        self.head.head.load(Ordering::Acquire)
    }

    /// Rule S1: looks at the slot of `seq` only: a polling subscriber shares one cache line.
    #[inline(always)]
    pub fn peek(&self, seq: u64) -> Peek {
        // Acquire pairs with the Release of `publish` and `evict`.
        let found = self.slot(seq).seq.load(Ordering::Acquire);
        if found == seq {
            Peek::Ready
        } else if found & !GONE < seq {
            Peek::Empty
        } else {
            Peek::Lapped
        }
    }

    /// Rule S2: where to go on after `seq` was seen to be gone, checked against lies.
    pub fn oldest(&self, seq: u64) -> Result<u64, Corruption> {
        let newest_before = self.newest();
        // Acquire pairs with the Release of `evict` and `open`.
        let tail = self.head.tail.load(Ordering::Acquire);
        if tail <= seq {
            return Err(Corruption::TailBehind);
        }
        // The head was read first: later evictions only make the difference smaller.
        if newest_before >= tail && newest_before - tail >= self.slots.len() as u64 {
            return Err(Corruption::TooMany);
        }
        // The head read now is at least as new as the tail.
        if tail > self.newest().saturating_add(1) || tail & GONE != 0 {
            return Err(Corruption::TailAhead);
        }
        Ok(tail)
    }

    /// Rule S3: holds `seq` (`peek` said Ready) and reads its descriptor. `None`: it is gone.
    #[inline]
    pub fn take(&self, seq: u64, hold: &AtomicU64) -> Option<[u64; FIELDS]> {
        let slot = self.slot(seq);
        // Release pairs with the Acquire of `collect_holds`: a scan that reads this number also
        // sees that the word's former sample was dropped.
        hold.store(seq, order_unless(spot::HOLD_RELEASE, Ordering::Release));
        // Pairs with the fence of `begin_scan`: either the scan sees the hold, or the second look
        // below sees the GONE mark that stood before the scan.
        fence_unless(spot::TAKE_FENCE, Ordering::SeqCst);
        let words = std::array::from_fn(|i| slot.fields[i].load(Ordering::Relaxed));
        // Pairs with the Release fence of `publish`.
        fence_unless(spot::READ_FENCE, Ordering::Acquire);
        if !Conn::rechecks() || slot.seq.load(Ordering::Acquire) == seq {
            return Some(words);
        }
        Conn::drop_hold(hold);
        None
    }

    /// Reads the descriptor of `seq` without holding it: good for a look, not for the payload.
    #[inline]
    pub fn read(&self, seq: u64) -> Option<[u64; FIELDS]> {
        let slot = self.slot(seq);
        let words = std::array::from_fn(|i| slot.fields[i].load(Ordering::Relaxed));
        // Pairs with the Release fence of `publish`.
        fence_unless(spot::READ_FENCE, Ordering::Acquire);
        (slot.seq.load(Ordering::Acquire) == seq).then_some(words)
    }

    /// Rule S6: arms `bit` before sleeping. True: message `next` is there, do not sleep.
    #[inline]
    pub fn arm(&self, armed: &AtomicU64, bit: u64, next: u64) -> bool {
        // AcqRel pairs with the swap of `armed::fired`.
        armed.fetch_or(bit, Ordering::AcqRel);
        // Pairs with the fence of `before_doors`: either the publisher sees the bit or this look
        // sees its message.
        fence_unless(spot::ARM_FENCE, Ordering::SeqCst);
        self.newest() >= next
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_leaves_between_the_first_look_and_the_take_is_not_held() {
        let (head, slots) = (Head::default(), std::array::from_fn::<_, 2, _>(|_| Slot::default()));
        let (ring, hold) = (Ring { head: &head, slots: &slots }, AtomicU64::new(0));
        (1..=2).for_each(|seq| ring.publish(seq, &[seq; FIELDS]));
        assert_eq!((ring.peek(1), ring.peek(2)), (Peek::Ready, Peek::Ready));
        ring.evict(1);
        assert_eq!((ring.take(1, &hold), hold.load(Ordering::Relaxed)), (None, 0));
        ring.publish(3, &[3; FIELDS]);
        assert_eq!((ring.take(1, &hold), hold.load(Ordering::Relaxed)), (None, 0));
        assert_eq!((ring.take(2, &hold), hold.load(Ordering::Relaxed)), (Some([2; FIELDS]), 2));
    }

    #[test]
    fn only_the_cursor_that_passes_what_the_publisher_waits_for_wakes_it_and_only_while_it_waits() {
        let (head, waiting_for) = (Head::default(), 3);
        let ring = Ring { head: &head, slots: &[] };
        let wakes = |from: u64, to: u64| {
            let conn = Conn::default();
            conn.cursor.store(from, Ordering::Relaxed);
            conn.move_cursor(to, Some(&head.waiting))
        };
        ring.announce_wait(waiting_for);
        assert_eq!(
            (wakes(3, 4), wakes(1, 9), wakes(2, 3), wakes(4, 5)),
            (true, true, false, false)
        );
        ring.end_wait();
        assert!(!wakes(3, 4));
    }
}
