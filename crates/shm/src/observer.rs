//! A look at a ring from outside: copies messages, holds nothing, costs the publisher nothing.
//!
//! Publishers of all users are looked at, so messages are read without a mapping (see `distant`).
//! It never writes. A ring without subscribers is not written and shows nothing.

use crate::descriptor::{Descriptor, Marks, Meta};
use crate::distant::{DistantMemory, map_present};
use crate::memory::{MapRef, MapSlice};
use crate::open_memory::OpenMemoryError;
use crate::pool::Chunk;
use crate::protocol::{Corruption, GONE, Head, Peek, Ring, Slot};
use crate::ring_geometry::{
    HEAD_AT, PAYLOAD_ALIGN, RingGeometry, SEGMENTS_MAX, SLOTS_AT, SLOTS_MAX,
};
use crate::ring_memory::slots_end;
use crate::sync::{Ordering, fence};
use crate::tables::Kind;
use crate::timeline::POISON;
use rustix::fd::BorrowedFd;

/// The most looks at the ring in one call while a fast publisher laps it.
const LOOKS_MAX: usize = 64;

/// A message could not be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The publisher broke the protocol.
    #[error("the publisher is corrupt ({fault:?} at message {seq}); stop looking at it")]
    Corrupt {
        /// The message looked for.
        seq: u64,
        /// What was found.
        fault: Corruption,
    },
    /// A segment that this observer has not mapped.
    #[error("message {seq} lies in segment {segment}, which is not mapped; ask for it, then go on")]
    UnknownSegment {
        /// The message, which stays the next one.
        seq: u64,
        /// The segment.
        segment: u16,
    },
    /// A message is longer than was asked for: it counts as missed, and is not the next one any
    /// more.
    #[error("message {seq} has {bytes} bytes, {limit} are copied at most; it counts as missed")]
    TooLong {
        /// The message.
        seq: u64,
        /// Its bytes, as the publisher says.
        bytes: usize,
        /// What was asked for.
        limit: usize,
    },
    /// There is no memory for a copy: the message counts as missed, and is not the next one any
    /// more.
    #[error("there is no memory for the {bytes} bytes of message {seq}; it counts as missed")]
    NoRoom {
        /// The message.
        seq: u64,
        /// What was to be copied of it.
        bytes: usize,
    },
}

/// Where an observer copies messages to.
pub trait CopyTarget {
    /// As many bytes as that, all of them; `None`: there is no memory. The contents are
    /// overwritten.
    fn room(&mut self, bytes: usize) -> Option<&mut [u8]>;
}

impl CopyTarget for Vec<u8> {
    fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        self.try_reserve(bytes.saturating_sub(self.len())).ok()?;
        self.resize(bytes, 0);
        Some(self)
    }
}

/// How much of a message is copied.
#[derive(Clone, Copy, Debug)]
enum Extent {
    /// Its first bytes, at most so many.
    First(usize),
    /// All of it, if it is not longer.
    Whole(usize),
}

/// Copies messages out of a ring that it is not connected to. `Send`; no call blocks; only copying
/// allocates.
#[derive(Debug)]
pub struct RingObserver {
    head: MapRef<Head>,
    slots: MapSlice<Slot>,
    segments: [Option<DistantMemory>; SEGMENTS_MAX],
    next: u64,
    missed: u64,
}

impl RingObserver {
    /// Opens a ring and starts behind its newest message. Its head and its slots must be present,
    /// and are mapped read-only.
    pub fn open(
        label: &str,
        ring: BorrowedFd<'_>,
        geometry: RingGeometry,
        memory_limit_bytes: u64,
    ) -> Result<Self, OpenMemoryError> {
        let slots = geometry.slots as usize;
        if !slots.is_power_of_two() || slots > SLOTS_MAX {
            return Err(OpenMemoryError::Layout {
                label: label.to_owned(),
                found: format!("has {slots} slots"),
                expected: format!("a power of two up to {SLOTS_MAX}"),
            });
        }
        let (bytes, wanted) = (geometry.ring_bytes, slots_end(slots));
        let small = || OpenMemoryError::TooSmall { label: label.to_owned(), bytes, wanted };
        if bytes < wanted {
            return Err(small());
        }
        let size = (bytes, memory_limit_bytes);
        let memory = DistantMemory::open(label, ring, size, Kind::Ring, None)?;
        let mapping = map_present(label, ring, wanted)?;
        let head = MapRef::new(&mapping, HEAD_AT).ok_or_else(small)?;
        let slots = MapSlice::new(&mapping, SLOTS_AT, slots).ok_or_else(small)?;
        let mut segments = std::array::from_fn(|_| None);
        segments[0] = Some(memory);
        let mut observer = RingObserver { head, slots, segments, next: 1, missed: 0 };
        // Numbers have 63 bits; whatever a publisher claims, there is a next one.
        observer.next = (observer.ring().newest() & !GONE) + 1;
        Ok(observer)
    }

    /// Opens a further segment; numbers that do not exist are ignored.
    pub fn add_segment(
        &mut self,
        label: &str,
        index: u32,
        bytes: u64,
        fd: BorrowedFd<'_>,
        memory_limit_bytes: u64,
    ) -> Result<(), OpenMemoryError> {
        let size = (bytes, memory_limit_bytes);
        let memory = DistantMemory::open(label, fd, size, Kind::Segment, None)?;
        if let Some(place) = self.segments.get_mut(index as usize).filter(|_| index > 0) {
            *place = Some(memory);
        }
        Ok(())
    }

    /// The publisher has given a segment back: its memory goes.
    pub fn give_back(&mut self, index: u32) {
        if let Some(place) = self.segments.get_mut(index as usize).filter(|_| index > 0) {
            *place = None;
        }
    }

    fn ring(&self) -> Ring<'_> {
        Ring { head: &self.head, slots: &self.slots }
    }

    /// Messages that were there and could not be copied in time.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Gives the next message up, for example if its segment cannot be mapped; it counts as missed.
    pub fn pass_over(&mut self) {
        self.next += 1;
        self.missed = self.missed.saturating_add(1);
    }

    /// Copies the next message into `payload`, at most its first `bytes_max` bytes; answers its
    /// number and meta data, `None` if there is none, or a device still writes it. A message in an
    /// unknown segment stays the next one. If no bytes are asked for, no segment needs to be known.
    pub fn copy_next(
        &mut self,
        payload: &mut impl CopyTarget,
        bytes_max: usize,
    ) -> Result<Option<(u64, Meta)>, CopyError> {
        self.copy(payload, Extent::First(bytes_max))
    }

    /// The same of all of the message, if it is not longer than `bytes_max` bytes.
    pub fn copy_whole(
        &mut self,
        payload: &mut impl CopyTarget,
        bytes_max: usize,
    ) -> Result<Option<(u64, Meta)>, CopyError> {
        self.copy(payload, Extent::Whole(bytes_max))
    }

    fn copy(
        &mut self,
        payload: &mut impl CopyTarget,
        extent: Extent,
    ) -> Result<Option<(u64, Meta)>, CopyError> {
        for _ in 0..LOOKS_MAX {
            let seq = self.next;
            let corrupt = |fault| CopyError::Corrupt { seq, fault };
            match self.ring().peek(seq) {
                Peek::Empty => return Ok(None),
                Peek::Lapped => {
                    self.next = self.ring().oldest(seq).map_err(corrupt)?;
                    // A publisher may claim anything, again and again.
                    self.missed = self.missed.saturating_add(self.next - seq);
                    continue;
                }
                Peek::Ready => {}
            }
            let Some(words) = self.ring().read(seq) else { continue };
            let descriptor =
                Descriptor::from_words(seq, &words).ok_or(corrupt(Corruption::BadCheck))?;
            let Descriptor { chunk, meta } = descriptor;
            let wanted = match extent {
                Extent::First(bytes_max) => meta.len.min(bytes_max),
                Extent::Whole(limit) if meta.len > limit => {
                    self.pass_over();
                    return Err(CopyError::TooLong { seq, bytes: meta.len, limit });
                }
                Extent::Whole(_) => meta.len,
            };
            if wanted == 0 {
                let _ = payload.room(0);
                self.next = seq + 1;
                return Ok(Some((seq, meta)));
            }
            if meta.marks.any(Marks::AWAY) {
                self.pass_over();
                continue;
            }
            if meta.marks.any(Marks::EARLY) {
                match self.is_finished(seq) {
                    Some(true) => {}
                    Some(false) => return Ok(None),
                    // Nobody will finish it.
                    None => {
                        self.pass_over();
                        continue;
                    }
                }
            }
            if self.copy_chunk(payload, seq, chunk, wanted)? {
                self.next = seq + 1;
                return Ok(Some((seq, meta)));
            }
        }
        Ok(None)
    }

    /// Copies the first bytes of the message `seq` from its chunk. False: its publisher may have
    /// written something else there meanwhile.
    fn copy_chunk(
        &mut self,
        payload: &mut impl CopyTarget,
        seq: u64,
        chunk: Chunk,
        wanted: usize,
    ) -> Result<bool, CopyError> {
        let memory = self.segments.get(usize::from(chunk.segment)).and_then(Option::as_ref);
        let Some(memory) = memory else {
            return Err(CopyError::UnknownSegment { seq, segment: chunk.segment });
        };
        let aligned = chunk.offset.is_multiple_of(PAYLOAD_ALIGN);
        if !aligned || !memory.holds(chunk.offset, wanted as u64) {
            return Err(CopyError::Corrupt { seq, fault: Corruption::OutsideMemory });
        }
        let Some(place) = payload.room(wanted) else {
            self.pass_over();
            return Err(CopyError::NoRoom { seq, bytes: wanted });
        };
        // The chunk may be written again meanwhile: so there is a second look.
        let was_read = memory.read(chunk.offset, place);
        // Pairs with the publisher's fence between the GONE mark and the reuse of the chunk (P7).
        fence(Ordering::Acquire);
        Ok(was_read && self.ring().peek(seq) == Peek::Ready)
    }

    /// Has a device finished a message? `None`: it never will.
    fn is_finished(&self, seq: u64) -> Option<bool> {
        let [finished, ..] = &self.head.finished;
        // Acquire pairs with `Timeline::advance`.
        let finished = finished.load(Ordering::Acquire);
        match (finished & !POISON >= seq, finished & POISON != 0) {
            (true, _) => Some(true),
            (false, false) => Some(false),
            (false, true) => None,
        }
    }
}
