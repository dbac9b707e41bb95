//! A look at a ring from outside: copies messages, holds nothing, costs the publisher nothing.
//!
//! It never writes. A ring without subscribers is not written and shows nothing.

use crate::descriptor::{Descriptor, Marks, Meta};
use crate::memory::{MapRef, MapSlice, Mapping};
use crate::open_memory::{Access, OpenMemoryError, map_received};
use crate::protocol::{Corruption, GONE, Head, Peek, Ring, Slot};
use crate::ring_geometry::{
    HEAD_AT, PAYLOAD_ALIGN, RingGeometry, SEGMENTS_MAX, SLOTS_AT, SLOTS_MAX,
};
use crate::sync::{AtomicU64, Ordering, fence};
use crate::tables::{Kind, Preamble};
use crate::timeline::POISON;
use rustix::fd::BorrowedFd;
use std::sync::Arc;

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
}

/// Copies messages out of a ring that it is not connected to. `Send`; no call blocks; only copying
/// allocates.
#[derive(Debug)]
pub struct RingObserver {
    head: MapRef<Head>,
    slots: MapSlice<Slot>,
    segments: [Option<Arc<Mapping>>; SEGMENTS_MAX],
    next: u64,
    missed: u64,
}

impl RingObserver {
    /// Maps a ring read-only and starts behind its newest message.
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
        let bytes = geometry.ring_bytes;
        let mapping = map_received(label, ring, bytes, memory_limit_bytes, Access::Read)?;
        Preamble::check(label, &mapping, Kind::Ring)?;
        let wanted = SLOTS_AT + (slots * size_of::<Slot>()) as u64;
        let small = || OpenMemoryError::TooSmall { label: label.to_owned(), bytes, wanted };
        let head = MapRef::new(&mapping, HEAD_AT).ok_or_else(small)?;
        let slots = MapSlice::new(&mapping, SLOTS_AT, slots).ok_or_else(small)?;
        let mut segments = std::array::from_fn(|_| None);
        segments[0] = Some(mapping);
        let mut observer = RingObserver { head, slots, segments, next: 1, missed: 0 };
        // Numbers have 63 bits; whatever a publisher claims, there is a next one.
        observer.next = (observer.ring().newest() & !GONE) + 1;
        Ok(observer)
    }

    /// Maps a further segment; numbers that do not exist are ignored.
    pub fn add_segment(
        &mut self,
        label: &str,
        index: u32,
        bytes: u64,
        fd: BorrowedFd<'_>,
        memory_limit_bytes: u64,
    ) -> Result<(), OpenMemoryError> {
        let mapping = map_received(label, fd, bytes, memory_limit_bytes, Access::Read)?;
        Preamble::check(label, &mapping, Kind::Segment)?;
        if let Some(place) = self.segments.get_mut(index as usize).filter(|_| index > 0) {
            *place = Some(mapping);
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
    /// unmapped segment stays the next one. If no bytes are asked for, nothing needs to be mapped.
    pub fn copy_next(
        &mut self,
        payload: &mut Vec<u8>,
        bytes_max: usize,
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
            let wanted = meta.len.min(bytes_max);
            payload.clear();
            if wanted == 0 {
                self.next = seq + 1;
                return Ok(Some((seq, meta)));
            }
            if meta.marks.any(Marks::AWAY) {
                self.pass_over();
                continue;
            }
            if meta.marks.any(Marks::EARLY) {
                let [finished, ..] = &self.head.finished;
                // Acquire pairs with `Timeline::advance`.
                let finished = finished.load(Ordering::Acquire);
                match (finished & !POISON >= seq, finished & POISON != 0) {
                    (true, _) => {}
                    (false, false) => return Ok(None),
                    // Nobody will finish it.
                    (false, true) => {
                        self.pass_over();
                        continue;
                    }
                }
            }
            let Some(mapping) =
                self.segments.get(usize::from(chunk.segment)).and_then(Option::as_ref)
            else {
                return Err(CopyError::UnknownSegment { seq, segment: chunk.segment });
            };
            let words = (wanted as u64).div_ceil(8);
            let aligned = chunk.offset.is_multiple_of(PAYLOAD_ALIGN);
            let source = MapSlice::<AtomicU64>::new(mapping, chunk.offset, words as usize);
            let source = source.filter(|_| aligned).ok_or(corrupt(Corruption::OutsideMemory))?;
            // The chunk may be written again meanwhile: word by word, then a second look.
            payload
                .extend(source.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()));
            payload.truncate(wanted);
            // Pairs with the publisher's fence between the GONE mark and the reuse of the chunk
            // (P7).
            fence(Ordering::Acquire);
            if self.ring().peek(seq) == Peek::Ready {
                self.next = seq + 1;
                return Ok(Some((seq, meta)));
            }
        }
        Ok(None)
    }
}
