//! A subscriber's data path: peek, take, skip, arm.
//!
//! The protocol's subscriber rules are S1..S6 in `protocol`. Everything in the ring is another
//! process's word. So it is checked, and a publisher that is caught lying is cut off.

mod copied;

use crate::descriptor::{Descriptor, Meta};
use crate::distant::{Allowance, DistantMemory};
use crate::futex;
use crate::home::Home;
use crate::lifeline::Lifeline;
use crate::memory::{MapRef, MapSlice, Mapping, Region};
use crate::open_memory::{Access, OpenMemoryError, map_received};
use crate::prefetch;
use crate::protocol::{Conn, Corruption, FIELDS, GONE, Head, Peek, Ring, Slot};
use crate::ring_geometry::{Attached, HEAD_AT, RingGeometry, SEGMENTS_MAX, SLOTS_AT};
use crate::ring_memory::{ConnectError, RingMemory, check_geometry};
use crate::sample::RawSample;
use crate::tables::{ArmedLease, ConnLease, Kind, Preamble};
use crate::timeline::FencePoint;
use rustix::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The most looks at the ring in one call while a fast publisher laps it; each look moves on.
const LOOKS_MAX: usize = 64;

/// A subscriber's side of a connection.
#[derive(Debug)]
pub struct SubscriberConfig {
    /// Names the subscriber in errors.
    pub label: String,
    /// Names the publisher in errors.
    pub publisher: String,
    /// Its connection; the peer was told its place. Keep a clone until the publisher has detached
    /// the subscriber: until then it looks at this place.
    pub conn: ConnLease,
    /// Its armed bit, if it is triggering; the peer was told its place.
    pub armed: Option<ArmedLease>,
    /// Keep last: messages further behind the newest one are skipped and counted. `u64::MAX`: keep
    /// all.
    pub depth: u64,
    /// True if the publisher waits for it, as the peer was told.
    pub reliable: bool,
    /// Samples that it may hold, at most what the geometry says.
    pub holds: usize,
    /// Most bytes that this process maps of one publisher.
    pub memory_limit_bytes: u64,
    /// Ends when the subscriber and its last sample are gone: then, not earlier, the publisher may
    /// be told to detach it.
    pub lifeline: Lifeline,
    /// The caller's name for the publisher, which each sample tells.
    pub source: [u8; 16],
}

/// Why a further segment is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddSegmentError {
    /// A number that does not exist or is in use.
    #[error(
        "publisher `{publisher}` sent segment {index}, expected is a new one from 1 to {limit}; \
         it is at fault"
    )]
    BadIndex {
        /// The publisher's label.
        publisher: String,
        /// The number.
        index: u32,
        /// The largest number.
        limit: usize,
    },
    /// The publisher's memory is refused.
    #[error(transparent)]
    Memory(#[from] OpenMemoryError),
}

/// A take failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TakeError {
    /// The subscriber keeps as many samples as agreed.
    #[error(
        "subscriber `{subscriber}` already keeps all {holds} samples it may; drop one, or give the \
         publisher a larger depth (up to 14)"
    )]
    AllHoldsInUse {
        /// The subscriber's label.
        subscriber: String,
        /// The number agreed.
        holds: usize,
    },
    /// The publisher broke the protocol; the connection is cut off for good.
    #[error(
        "publisher `{publisher}` is corrupt ({fault:?} at message {seq}); subscriber \
         `{subscriber}` has cut it off"
    )]
    Corrupt {
        /// The subscriber's label.
        subscriber: String,
        /// The publisher's label.
        publisher: String,
        /// The message looked for.
        seq: u64,
        /// What was found.
        fault: Corruption,
    },
    /// This is a forked child.
    #[error(
        "subscriber `{subscriber}` belongs to the parent process; a forked child must open its own"
    )]
    Forked {
        /// The subscriber's label.
        subscriber: String,
    },
}

/// Messages that a subscriber did not get, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Evicted before they were taken (a reliable publisher evicts none).
    pub lapped: u64,
    /// Further behind the newest one than the subscriber's own depth.
    pub keep_last: u64,
    /// Passed over on request; not lost.
    pub skipped: u64,
    /// Could not be copied: too long, no room left for copies, or in memory that this process
    /// cannot read. Only if messages are copied.
    pub refused: u64,
    /// 1 once the publisher was found corrupt.
    pub corrupt: u64,
}

#[derive(Debug)]
struct SubscriberState {
    publisher: String,
    memory_limit_bytes: u64,
    mapped_bytes: AtomicU64,
    /// The publisher is not trusted, and its memory is not mapped.
    allowance: Option<Allowance>,
    /// Does the publisher serve it?
    alive: AtomicBool,
}

/// The half of a subscriber that the control thread uses; `Send + Sync`. It keeps neither the
/// subscriber nor its memory.
#[derive(Clone, Debug)]
pub struct SubscriberControl {
    shared: Arc<SubscriberState>,
    home: Weak<Home>,
}

impl SubscriberControl {
    /// Maps a further segment of the publisher; acknowledge it to the publisher afterwards. Does
    /// nothing if the segment is mapped already or the subscriber is gone.
    pub fn add_segment(
        &self,
        index: u32,
        bytes: u64,
        fd: BorrowedFd<'_>,
    ) -> Result<(), AddSegmentError> {
        let shared = &*self.shared;
        let bad = || AddSegmentError::BadIndex {
            publisher: shared.publisher.clone(),
            index,
            limit: SEGMENTS_MAX - 1,
        };
        if index == 0 || index as usize >= SEGMENTS_MAX {
            return Err(bad());
        }
        let Some(home) = self.home.upgrade() else { return Ok(()) };
        if home.has_segment(index as usize) {
            return Ok(());
        }
        // Address space of all segments together; one limit each, since each may hold the whole
        // limit.
        let limit = shared.memory_limit_bytes;
        if let Some(allowance) = &shared.allowance {
            let (label, kind) = (&shared.publisher, Kind::Segment);
            let memory = DistantMemory::open(label, fd, (bytes, limit), kind, Some(allowance))?;
            return home.add_distant(index as usize, memory.into()).then_some(()).ok_or_else(bad);
        }
        let mapping = map_received(&shared.publisher, fd, bytes, limit, Access::Read)?;
        Preamble::check(&shared.publisher, &mapping, Kind::Segment)?;
        shared.mapped_bytes.fetch_add(bytes, Ordering::Relaxed);
        home.add_segment(index as usize, mapping).then_some(()).ok_or_else(bad)
    }

    /// A further segment of a publisher of this process; one that is there already stays as it is.
    pub(crate) fn share_segment(&self, index: usize, mapping: &Arc<Mapping>) {
        if let Some(home) = self.home.upgrade()
            && !home.has_segment(index)
        {
            home.add_segment(index, Arc::clone(mapping));
        }
    }

    /// The publisher has given a segment back: nobody holds anything there, and its memory goes.
    /// A publisher that lies makes samples that lie there read zeros, and no more than that.
    pub fn give_back(&self, index: u32) {
        if let Some(home) = self.home.upgrade()
            && index > 0
        {
            home.vacate(index as usize);
        }
    }

    /// A segment of the publisher; `None`: it is not mapped.
    pub fn segment(&self, index: u32) -> Option<Region> {
        self.home.upgrade()?.segment(index as usize)
    }

    /// Says that the publisher no longer serves the subscriber: it is gone, or one of the two has
    /// ended the connection. The subscriber can still take the messages in the ring whose memory it
    /// has mapped.
    pub fn publisher_gone(&self) {
        self.shared.alive.store(false, Ordering::Release);
    }

    /// True if the subscriber was dropped and none of its samples is left. Only then the publisher
    /// may be told to detach it.
    pub fn is_released(&self) -> bool {
        let home = self.home.upgrade();
        home.is_none_or(|home| home.in_child() || home.is_closed() && home.conn().holds_nothing())
    }
}

/// Why nothing new can be taken.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The publisher was caught lying.
    Corrupt(Corruption),
    /// The publisher serves it no more: messages up to this one were there then.
    Behind(u64),
}

/// Reads the messages of one publisher.
///
/// `Send`, not `Sync`. No call blocks, locks or allocates; the only system call is the wake-up of a
/// publisher that waits for this very subscriber.
#[derive(Debug)]
pub struct RingSubscriber {
    label: String,
    shared: Arc<SubscriberState>,
    home: Arc<Home>,
    head: MapRef<Head>,
    slots: MapSlice<Slot>,
    conn: MapRef<Conn>,
    armed: Option<ArmedLease>,
    next: u64,
    joined: u64,
    depth: u64,
    reliable: bool,
    holds: usize,
    losses: Losses,
    end: Option<End>,
    not_sync: std::marker::PhantomData<std::cell::Cell<()>>,
}

impl RingSubscriber {
    /// Maps a ring and starts where the publisher said. Allocates, maps, makes system calls.
    pub fn connect(
        config: SubscriberConfig,
        ring: BorrowedFd<'_>,
        geometry: RingGeometry,
        attached: Attached,
    ) -> Result<Self, ConnectError> {
        let limit = config.memory_limit_bytes;
        let ring = RingMemory::open(&config.publisher, ring, geometry, limit)?;
        Self::connect_mapped(config, &ring, attached)
    }

    /// Starts in a ring that is mapped already. Allocates.
    pub fn connect_mapped(
        config: SubscriberConfig,
        ring: &RingMemory,
        attached: Attached,
    ) -> Result<Self, ConnectError> {
        let (mapping, geometry) = (Arc::clone(ring.mapping()), ring.geometry());
        let (slots, holds) = check_geometry(&config.publisher, &geometry)?;
        let holds = holds.min(config.holds.max(1));
        let bytes = geometry.ring_bytes;
        let limit = config.memory_limit_bytes;
        let small = || OpenMemoryError::TooSmall {
            label: config.publisher.clone(),
            bytes,
            wanted: SLOTS_AT,
        };
        let head = MapRef::new(&mapping, HEAD_AT).ok_or_else(small)?;
        let slots = MapSlice::new(&mapping, SLOTS_AT, slots).ok_or_else(small)?;
        let conn = config.conn.conn().clone();
        let home = Home::for_ring(config.conn.clone(), config.lifeline, config.source);
        home.add_segment(0, mapping);
        if let Some((memory, _)) = ring.distant() {
            home.add_distant(0, Arc::clone(memory));
        }
        let shared = Arc::new(SubscriberState {
            publisher: config.publisher,
            memory_limit_bytes: limit,
            mapped_bytes: AtomicU64::new(bytes),
            allowance: ring.distant().map(|(_, allowance)| allowance.clone()),
            alive: AtomicBool::new(true),
        });
        let mut subscriber = RingSubscriber {
            label: config.label,
            shared,
            home,
            head,
            slots,
            conn,
            armed: config.armed,
            next: attached.start.clamp(1, GONE - 1),
            joined: attached.joined,
            depth: config.depth.max(1),
            reliable: config.reliable,
            holds,
            losses: Losses::default(),
            end: None,
            not_sync: std::marker::PhantomData,
        };
        subscriber.move_cursor();
        Ok(subscriber)
    }

    #[inline(always)]
    fn ring(&self) -> Ring<'_> {
        Ring { head: &self.head, slots: &self.slots }
    }

    /// The half for the control thread.
    pub fn control(&self) -> SubscriberControl {
        SubscriberControl { shared: self.shared.clone(), home: Arc::downgrade(&self.home) }
    }

    /// The caller's name for the publisher.
    #[inline]
    pub fn source(&self) -> [u8; 16] {
        self.home.source()
    }

    /// Rule S4. Wakes the publisher if it waits for this step.
    #[inline]
    fn move_cursor(&mut self) {
        let waiting = self.reliable.then_some(&self.head.waiting);
        if self.conn.move_cursor(self.next, waiting) {
            futex::wake_all(futex::low_half(&self.conn.cursor));
        }
    }

    /// Takes no further messages. A reliable publisher must not wait for a cursor that stays, so
    /// this wakes one that does.
    #[cold]
    pub fn leave(&mut self) {
        self.next = GONE - 1;
        self.move_cursor();
    }

    #[cold]
    fn cut_off(&mut self, fault: Corruption) -> Box<TakeError> {
        self.end = Some(End::Corrupt(fault));
        self.losses.corrupt = 1;
        Box::new(TakeError::Corrupt {
            subscriber: self.label.clone(),
            publisher: self.shared.publisher.clone(),
            seq: self.next,
            fault,
        })
    }

    #[cold]
    fn all_holds_in_use(&self) -> Box<TakeError> {
        let (subscriber, holds) = (self.label.clone(), self.holds);
        Box::new(TakeError::AllHoldsInUse { subscriber, holds })
    }

    /// In a child, or at the end. True: there are messages before the end.
    #[cold]
    fn is_before_end(&mut self) -> Result<bool, Box<TakeError>> {
        match self.end {
            _ if self.home.in_child() => {
                Err(Box::new(TakeError::Forked { subscriber: self.label.clone() }))
            }
            Some(End::Corrupt(fault)) => Err(self.cut_off(fault)),
            Some(End::Behind(last)) => Ok(self.next <= last),
            None => Ok(true),
        }
    }

    /// The publisher serves it no more ([`SubscriberControl::publisher_gone`]): what is there now
    /// can still be taken, and nothing that comes later, should the publisher go on.
    #[cold]
    pub fn end_here(&mut self) {
        if self.end.is_none() && !self.home.in_child() {
            self.end = Some(End::Behind(self.ring().newest()));
        }
    }

    /// How many of the messages `self.next..to` this subscriber was entitled to.
    fn entitled(&self, to: u64) -> u64 {
        // Relaxed: the mark that was seen, or the head, comes after it (`Ring::open`).
        let opened = self.head.opened.load(Ordering::Relaxed);
        let first = self.next.max(self.joined).max(opened.min(to));
        to.saturating_sub(first)
    }

    /// Rule S2: `next` is gone.
    #[cold]
    fn lapped(&mut self) -> Result<(), Box<TakeError>> {
        match self.ring().oldest(self.next) {
            Ok(oldest) => {
                self.losses.lapped += self.entitled(oldest);
                self.next = oldest;
                self.move_cursor();
                Ok(())
            }
            Err(fault) => Err(self.cut_off(fault)),
        }
    }

    /// Keep last: true if messages were passed over.
    #[inline]
    fn keep_last(&mut self) -> Result<bool, Box<TakeError>> {
        if self.depth >= self.slots.len() as u64 {
            return Ok(false);
        }
        // Is the message there that would push `next` out? Its slot is a line that the publisher
        // has not written for a while; the head, which it writes with every message, is not read.
        if self.ring().peek(self.next.saturating_add(self.depth)) == Peek::Empty {
            return Ok(false);
        }
        let newest = self.ring().newest();
        let oldest = newest.saturating_add(1).saturating_sub(self.depth);
        if self.next >= oldest {
            return Ok(false);
        }
        if newest & GONE != 0 {
            return Err(self.cut_off(Corruption::TailAhead));
        }
        self.losses.keep_last += self.entitled(oldest);
        self.next = oldest;
        self.move_cursor();
        Ok(true)
    }

    /// Moves on to a message that is there. False: there is none.
    #[inline]
    fn find(&mut self) -> Result<bool, Box<TakeError>> {
        if (self.end.is_some() || self.home.in_child()) && !self.is_before_end()? {
            return Ok(false);
        }
        for _ in 0..LOOKS_MAX {
            match self.ring().peek(self.next) {
                Peek::Empty => return Ok(false),
                Peek::Lapped => self.lapped()?,
                Peek::Ready => {
                    if !self.keep_last()? {
                        return Ok(true);
                    }
                }
            }
        }
        // The publisher laps this subscriber faster than it looks; the next call goes on.
        Ok(false)
    }

    /// Takes the oldest message that was not taken, and holds it until the sample is dropped.
    /// `None`: there is none.
    #[inline]
    pub fn take(&mut self) -> Result<Option<RawSample>, Box<TakeError>> {
        for _ in 0..LOOKS_MAX {
            if !self.find()? {
                return Ok(None);
            }
            let Some((index, hold)) = self.conn.free_hold(self.holds) else {
                return Err(self.all_holds_in_use());
            };
            let seq = self.next;
            let Some(words) = self.ring().take(seq, hold) else {
                self.lapped()?;
                continue;
            };
            match self.believe(seq, &words) {
                Ok((payload, meta)) => {
                    prefetch::to_read(payload, meta.len);
                    // SAFETY: the word was 0 and is the sample's now; the payload was just found in
                    // the home.
                    let sample = unsafe { RawSample::new(&self.home, index, seq, payload, meta) };
                    self.next = seq + 1;
                    self.move_cursor();
                    return Ok(Some(sample));
                }
                Err(fault) => {
                    Conn::drop_hold(hold);
                    self.pass_unreachable(seq, &words, fault)?;
                }
            }
        }
        Ok(None)
    }

    /// A message that is not to be believed, or that lies in a segment which is not here: nobody
    /// waits until a best-effort subscriber, or one that is served no more, has mapped it. Such a
    /// message is lost, unless the segment has come meanwhile.
    #[cold]
    fn pass_unreachable(
        &mut self,
        seq: u64,
        words: &[u64; FIELDS],
        fault: Corruption,
    ) -> Result<(), Box<TakeError>> {
        let waited_for = self.reliable && self.alive();
        let segment = Descriptor::from_words(seq, words).map(|it| usize::from(it.chunk.segment));
        let Some(segment) = segment.filter(|it| !waited_for && (1..SEGMENTS_MAX).contains(it))
        else {
            return Err(self.cut_off(fault));
        };
        if self.home.has_segment(segment) {
            // It has come since, or the place in it is none.
            return match self.believe(seq, words) {
                Ok(_) => Ok(()),
                Err(fault) => Err(self.cut_off(fault)),
            };
        }
        self.losses.lapped += self.entitled(seq + 1);
        self.next = seq + 1;
        self.move_cursor();
        Ok(())
    }

    #[inline(always)]
    fn believe(&self, seq: u64, words: &[u64; FIELDS]) -> Result<(NonNull<u8>, Meta), Corruption> {
        let Descriptor { chunk, meta } =
            Descriptor::from_words(seq, words).ok_or(Corruption::BadCheck)?;
        let payload = self.home.payload(chunk, meta.len).ok_or(Corruption::OutsideMemory)?;
        Ok((payload, meta))
    }

    /// The meta data of the message that `take` would give, without taking it.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<Meta>, Box<TakeError>> {
        for _ in 0..LOOKS_MAX {
            if !self.find()? {
                return Ok(None);
            }
            if let Some(words) = self.ring().read(self.next) {
                return match Descriptor::from_words(self.next, &words) {
                    Some(descriptor) => Ok(Some(descriptor.meta)),
                    None => Err(self.cut_off(Corruption::BadCheck)),
                };
            }
        }
        Ok(None)
    }

    /// The meta data of the message `ahead` places behind the next one, without moving; `None`: it
    /// is not there, or is being overwritten. Reads one slot.
    pub fn look(&self, ahead: u64) -> Option<Meta> {
        let seq = self.next.checked_add(ahead).filter(|seq| *seq < GONE)?;
        if self.is_over(seq) {
            return None;
        }
        if self.ring().peek(seq) != Peek::Ready {
            return None;
        }
        Some(Descriptor::from_words(seq, &self.ring().read(seq)?)?.meta)
    }

    /// True if there is a message, or a loss to count. One load of the slot.
    #[inline]
    pub fn is_ready(&self) -> bool {
        !self.is_over(self.next) && self.ring().peek(self.next) != Peek::Empty
    }

    /// Is nothing of message `seq` to be looked at any more?
    #[inline]
    fn is_over(&self, seq: u64) -> bool {
        let ended = self.end.is_some_and(|end| match end {
            End::Corrupt(_) => true,
            End::Behind(last) => seq > last,
        });
        ended || self.home.in_child()
    }

    /// Passes over the oldest message that was not taken; true if there was one.
    #[inline]
    pub fn skip(&mut self) -> Result<bool, Box<TakeError>> {
        if !self.find()? {
            return Ok(false);
        }
        self.next += 1;
        self.losses.skipped += 1;
        self.move_cursor();
        Ok(true)
    }

    /// Passes over all messages but the newest; answers how many.
    pub fn skip_to_newest(&mut self) -> Result<u64, Box<TakeError>> {
        if !self.find()? {
            return Ok(0);
        }
        let newest = self.ring().newest();
        if newest & GONE != 0 {
            return Err(self.cut_off(Corruption::TailAhead));
        }
        let skipped = newest.saturating_sub(self.next);
        if skipped > 0 {
            self.next = newest;
            self.losses.skipped += skipped;
            self.move_cursor();
        }
        Ok(skipped)
    }

    /// Asks to be woken by the next message. True: one is there already, do not sleep.
    ///
    /// A subscriber that is not triggering is never woken; the answer says whether a message is
    /// there.
    #[inline]
    pub fn arm(&self) -> bool {
        if self.is_over(self.next) {
            return false;
        }
        match &self.armed {
            Some(lease) => {
                let (word, bit) = lease.word();
                // A head beyond slots that are empty: a publisher that has just opened its ring, or
                // one that lies. There is nothing to take, and the next message finds the bit.
                self.ring().arm(word, bit, self.next) && self.ring().peek(self.next) != Peek::Empty
            }
            None => self.is_ready(),
        }
    }

    /// Messages that the subscriber did not get, by cause.
    #[inline]
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Messages lost: lapped and beyond the own depth.
    #[inline]
    pub fn lost(&self) -> u64 {
        self.losses.lapped + self.losses.keep_last
    }

    /// Sequence number of the next message to look for.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Sequence number of the newest message in the ring; 0 before the first.
    #[inline]
    pub fn last(&self) -> u64 {
        match self.home.in_child() {
            true => 0,
            false => self.ring().newest(),
        }
    }

    /// True if the fence point belongs to a message of its publisher.
    pub fn is_source_of(&self, point: &FencePoint) -> bool {
        point.timeline.is_of(&self.head)
    }

    /// True if the publisher serves the subscriber and keeps the protocol. Messages that it left in
    /// the ring can be taken in any case.
    pub fn alive(&self) -> bool {
        !matches!(self.end, Some(End::Corrupt(_))) && self.shared.alive.load(Ordering::Acquire)
    }
}

impl Drop for RingSubscriber {
    fn drop(&mut self) {
        if !self.home.in_child() {
            // Samples that are left keep the connection.
            self.leave();
        }
        self.home.close();
    }
}
