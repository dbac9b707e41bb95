//! How a publisher's memory follows the sizes of its messages: new chunks for larger ones, and the
//! memory of smaller ones given back.
//!
//! 1. The ring's own segment has chunks of one size. If nobody has promised sizes
//!    ([`Sizing::Messages`]), the first message determines it, and what is left of the segment is
//!    cut into larger chunks when a message needs them, up to the contract's size.
//! 2. Messages that are larger still get segments, one after the other. The chunks of the first
//!    have an eighth of slack, each further one has at least double the chunks of the one before:
//!    messages that creep upwards need few.
//! 3. Of a chunk of a further segment only as much is made present as messages need, so slack is
//!    address space and no memory.
//! 4. A segment that a larger one has replaced gets no more messages. When nobody holds any of its
//!    messages, it is given back, here and in all processes that have mapped it.
//!
//! So the messages in use lie in two segments mostly. What was ever used of the older one is at
//! most as much as they need now: twice that is the limit.

use super::engine::State;
use super::peers::Segment;
use super::{Core, LoanError, SegmentMapping, Sizing};
use crate::PAGE_BYTES;
use crate::driver::MemoryMaker;
use crate::futex;
use crate::memory::{CreateMemoryError, Mapping, OwnMemory, Writers};
use crate::pool::{Class, chunk_bytes};
use crate::ring_geometry::{ADDRESS_BYTES_MAX, SEGMENTS_MAX};
use crate::slab::ChunkGrid;
use crate::tables::{Kind, Preamble};
use std::sync::Arc;
use std::time::Instant;

/// Memory of a further segment.
struct NewSegment {
    segment: Segment,
    /// Offset of the first chunk.
    first: u64,
    /// Chunks.
    total: u64,
}

impl Core {
    /// Chunks that the contract needs: those in the ring, those that one subscriber holds, one
    /// being written, and one to spare.
    fn chunks(&self) -> u64 {
        (self.config.depth + self.config.holds_per_subscriber + 2) as u64
    }

    /// Can messages lie in the chunks at this place, as far as peers have mapped them?
    #[inline(always)]
    pub(super) fn is_usable(&self, state: &State, place: usize) -> bool {
        u32::from(state.pool.class(place).segment) <= self.control.usable()
    }

    /// A message is larger than all before it. If nobody has promised sizes, memory follows.
    #[cold]
    pub(super) fn note_largest(&self, state: &mut State, bytes: u64) {
        // What is larger will be refused: it says nothing of the messages that follow.
        if bytes > ADDRESS_BYTES_MAX {
            return;
        }
        state.largest = bytes;
        if self.config.sizing == Sizing::Contract {
            return;
        }
        let needed = bytes.next_multiple_of(PAGE_BYTES as u64).saturating_mul(self.chunks());
        let limit_bytes = self.config.memory_limit_bytes.max(needed.saturating_mul(2));
        state.pool.follow_messages(limit_bytes, needed);
        let largest = chunk_bytes(self.config.chunk_bytes as u64).unwrap_or(0);
        let Some(class) = state.pool.ring_class().filter(|_| bytes <= largest) else { return };
        let wanted = if state.pool.is_ring_unused() {
            slack(bytes)
        } else if bytes > class.chunk_bytes && state.mappings[0].slabs().is_empty() {
            slack(bytes).max(2 * class.chunk_bytes)
        } else {
            return;
        };
        // No room left for it there: a further segment has.
        let chunk = chunk_bytes(wanted).unwrap_or(largest).min(largest);
        if let Some((first, total)) = state.pool.cut_ring(chunk, 2 * self.chunks()) {
            let grid = ChunkGrid { segment: 0, first, chunk_bytes: chunk, total };
            state.mappings[0].slabs().set_grid(grid);
        }
    }

    /// Finds or makes the segment for messages larger than the contract's, and waits until every
    /// peer has it.
    #[cold]
    pub(super) fn grow(&self, state: &mut State, bytes: u64) -> Result<usize, Box<LoanError>> {
        if state.pool.class_for(bytes).is_none() {
            self.add_segment(state, bytes)?;
        }
        let too_large = || self.too_large(state, bytes);
        let place = state.pool.class_for(bytes).ok_or_else(too_large)?;
        let segment = u32::from(state.pool.class(place).segment);
        let started = Instant::now();
        // Bounded by the contract's growth timeout.
        loop {
            let usable = self.control.usable();
            if usable >= segment {
                return Ok(place);
            }
            let waited = started.elapsed();
            let Some(left) = self.config.growth_timeout.checked_sub(waited) else {
                // Peers that may fall behind are waited for no longer than this, and once.
                self.control.leave_behind(segment);
                if self.control.usable() >= segment {
                    return Ok(place);
                }
                return Err(Box::new(LoanError::AwaitingPeers {
                    label: self.label.to_string(),
                    segment,
                    waited,
                    peers: self.control.missing(segment),
                }));
            };
            futex::wait(self.control.usable_word(), usable, Some(left));
        }
    }

    fn too_large(&self, state: &State, bytes: u64) -> Box<LoanError> {
        let limit_bytes = match self.config.sizing {
            Sizing::Contract => state.pool.limit_bytes(),
            Sizing::Messages => ADDRESS_BYTES_MAX,
        };
        Box::new(LoanError::TooLarge { label: self.label.to_string(), bytes, limit_bytes })
    }

    fn add_segment(&self, state: &mut State, bytes: u64) -> Result<(), Box<LoanError>> {
        let limit_bytes = match self.config.sizing {
            Sizing::Contract => state.pool.limit_bytes(),
            Sizing::Messages => ADDRESS_BYTES_MAX,
        };
        let wanted = chunk_bytes(bytes.max(PAGE_BYTES as u64)).filter(|it| *it <= limit_bytes);
        let wanted = wanted.ok_or_else(|| self.too_large(state, bytes))?;
        let segments = state.pool.segments();
        if segments >= SEGMENTS_MAX {
            let label = self.label.to_string();
            return Err(Box::new(LoanError::TooManySegments { label, bytes, segments }));
        }
        if self.config.sizing == Sizing::Contract {
            self.control.note_outgrown(bytes);
        }
        let grown = slack(wanted);
        // A driver's memory is all there from the start.
        let doubled = match segments > 1 && state.maker.is_none() {
            true => grown.max(2 * state.pool.newest_chunk_bytes()),
            false => grown,
        };
        let fitting = [doubled, grown].into_iter().filter_map(chunk_bytes);
        let chunk = fitting.into_iter().find(|chunk| *chunk <= limit_bytes).unwrap_or(wanted);
        let made = self.make_segment(state, chunk, wanted);
        made.map_err(|error| Box::new(LoanError::Memory(error)))
    }

    /// A further segment, of chunks of `chunk` bytes for messages of `wanted` bytes so far.
    fn make_segment(
        &self,
        state: &mut State,
        chunk: u64,
        wanted: u64,
    ) -> Result<(), CreateMemoryError> {
        let NewSegment { segment, first, total } = match &state.maker {
            None => self.shared_segment(chunk, state.pool.limit_bytes() / wanted),
            Some(maker) => self.private_segment(&**maker, chunk),
        }?;
        let (number, mapping) = (state.pool.segments(), segment.mapping().clone());
        let grid = ChunkGrid { segment: number as u32, first, chunk_bytes: chunk, total };
        mapping.slabs().set_grid(grid);
        for lane in &state.links {
            lane.add_segment(number, &mapping);
        }
        let class = Class::new(number as u16, chunk, first, total);
        state.pool.add(if state.maker.is_none() { class.in_parts() } else { class });
        state.mappings.push(mapping);
        self.control.add_segment(segment);
        Ok(())
    }

    /// A memory object for chunks of this size: address space for as many messages as the limit
    /// allows; pages exist only where a message was written.
    fn shared_segment(&self, chunk: u64, messages: u64) -> Result<NewSegment, CreateMemoryError> {
        let first = PAGE_BYTES as u64;
        let total = messages.min((ADDRESS_BYTES_MAX - first) / chunk).max(1);
        let size = first.saturating_add(total.saturating_mul(chunk));
        let memory = OwnMemory::create(&self.label, size, Writers::Maker)?;
        Preamble::write(memory.mapping(), Kind::Segment);
        Ok(NewSegment { segment: Segment::Shared(memory), first, total })
    }

    /// The same of a driver, which may have every page of it at once: as few as will do, or as it
    /// likes.
    fn private_segment(
        &self,
        maker: &dyn MemoryMaker,
        chunk: u64,
    ) -> Result<NewSegment, CreateMemoryError> {
        let needed = (self.config.depth + self.config.holds_per_subscriber + 1) as u64;
        let total =
            needed.max(maker.bytes_max() / chunk).min(self.config.memory_limit_bytes / chunk);
        let bytes = total.saturating_mul(chunk);
        let refused = |why| {
            let label = self.label.to_string();
            CreateMemoryError::Driver { label, bytes, why }
        };
        let memory = maker.make(bytes).map_err(refused)?;
        if (memory.bytes() as u64) < bytes {
            return Err(refused(format!("it made {}", memory.bytes())));
        }
        let segment = Segment::Private(Arc::new(Mapping::of_driver(memory)));
        Ok(NewSegment { segment, first: 0, total })
    }

    /// See [`super::RingPublisher::keep_in`].
    pub(super) fn keep_in(&self, maker: Box<dyn MemoryMaker>) -> Result<(), CreateMemoryError> {
        let state = &mut *self.state.borrow_mut();
        let chunk = state.pool.class(0).chunk_bytes;
        let before = state.maker.replace(maker);
        if let Err(error) = self.make_segment(state, chunk, chunk) {
            state.maker = before;
            return Err(error);
        }
        state.pool.leave_ring();
        Ok(())
    }

    /// Gives back the segments that larger ones have replaced, if nobody holds any of their
    /// messages. A device may stand for memory that a slab belongs to, and a driver keeps its own:
    /// that stays.
    #[cold]
    pub(super) fn give_back_left(&self, state: &mut State) {
        let State { pool, mappings, .. } = state;
        let is_plain = |mapping: &SegmentMapping| mapping.is_shared() && mapping.slabs().is_empty();
        // Bounded by the number of segments.
        while let Some(segment) = pool.forget_left(|it| is_plain(&mappings[usize::from(it)])) {
            mappings[usize::from(segment)].vacate();
            self.control.give_back(u32::from(segment));
        }
    }
}

/// With an eighth more, so that slowly growing messages do not need new memory each.
fn slack(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 8)
}
