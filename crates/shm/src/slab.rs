//! Slabs: memory of a device that stands for chunks of a publisher, so that other queues and
//! processes can read in place what the device writes of a message.
//!
//! 1. A slab stands for consecutive chunks of one segment, byte for byte: the place of a message in
//!    the segment is its place in the slab. A chunk is not used again while its message is held, so
//!    a block of the slab lives as long as the message in its chunk, without further books.
//! 2. Its *index*, words that its publisher alone writes, says for each block whose message is
//!    there, and which parts of it. The publisher clears it before the device writes (the message
//!    that was there is held by nobody) and fills it before the message is published; a holder of
//!    the message sees it filled. A publisher that lies spoils only its own messages.
//! 3. The slabs of a segment belong to its mapping. They are found from a message's place, and go
//!    with the last port or sample that keeps the segment mapped.
//!
//! This file knows no devices: their memory is a value that others make and use.

use crate::driver::SlabMemory;
use crate::memory::{CreateMemoryError, Region, Sharing};
use crate::open_memory::OpenMemoryError;
use crate::words::{OwnWords, PeerWords};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Slabs of one segment at most.
pub const SLABS_MAX: usize = 64;
/// Chunks of one slab at most.
const CHUNKS_MAX: u32 = 1 << 20;
/// Parts of a message that the index has room for.
const PARTS_MAX: usize = 3;
/// Words of the index for one block: number of the message, start and length of each part, one
/// unused: a cache line.
const BLOCK_WORDS: usize = 8;

const _: () = assert!(1 + 2 * PARTS_MAX < BLOCK_WORDS);

/// The chunks that a slab stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlabShape {
    /// Segment of the publisher's memory.
    pub segment: u32,
    /// Bytes from the start of the segment to the first chunk.
    pub first: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Chunks.
    pub chunks: u32,
}

impl SlabShape {
    /// Bytes of the slab; `None`: no such slab can be.
    pub fn bytes(&self) -> Option<u64> {
        if self.chunk_bytes == 0 || self.chunks == 0 || self.chunks > CHUNKS_MAX {
            return None;
        }
        let bytes = self.chunk_bytes.checked_mul(self.chunks.into())?;
        self.first.checked_add(bytes).map(|_| bytes)
    }

    fn index_words(&self) -> usize {
        self.chunks as usize * BLOCK_WORDS
    }

    /// The block of a range of the segment, and where the range starts in the slab and in the
    /// block.
    fn place(&self, offset: u64, bytes: u64) -> Option<(usize, u64, u64)> {
        let from = offset.checked_sub(self.first)?;
        let block = from / self.chunk_bytes;
        let in_block = from % self.chunk_bytes;
        let fits = block < self.chunks.into() && bytes <= self.chunk_bytes - in_block;
        fits.then_some((block as usize, from, in_block))
    }
}

/// How the chunks of a publisher lie in one of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkGrid {
    /// Number of the segment.
    pub segment: u32,
    /// Bytes from its start to the first chunk.
    pub first: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Chunks in all.
    pub total: u64,
}

impl ChunkGrid {
    /// The chunks for a slab; one of them has `offset` in it: at least `bytes_min`
    /// bytes and `chunks_min` chunks, and more if a segment would need too many slabs. `None`:
    /// there is no chunk.
    pub fn slab_around(&self, offset: u64, bytes_min: u64, chunks_min: u64) -> Option<SlabShape> {
        let chunk = offset.checked_sub(self.first)?.checked_div(self.chunk_bytes)?;
        if chunk >= self.total {
            return None;
        }
        let least = self.total.div_ceil(SLABS_MAX as u64).max(chunks_min).max(1);
        let chunks = bytes_min.div_ceil(self.chunk_bytes).max(least);
        let from = chunk - chunk % chunks;
        let shape = SlabShape {
            segment: self.segment,
            first: self.first + from * self.chunk_bytes,
            chunk_bytes: self.chunk_bytes,
            chunks: u32::try_from(chunks.min(self.total - from)).ok()?,
        };
        shape.bytes().map(|_| shape)
    }
}

#[derive(Debug)]
enum Index {
    Own(OwnWords),
    Peer(PeerWords),
}

/// See the head of this file. `Send + Sync`.
pub struct Slab {
    device: Box<str>,
    shape: SlabShape,
    index: Index,
    memory: SlabMemory,
}

impl std::fmt::Debug for Slab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Slab").field(&self.device).field(&self.shape).finish()
    }
}

impl Slab {
    /// A publisher's slab: `memory` of the device of that name. Its shape is a [`ChunkGrid`]'s.
    /// Allocates, makes system calls.
    ///
    /// # Errors
    /// [`CreateMemoryError`]: there is no memory for its index.
    pub fn create(
        device: &str,
        shape: SlabShape,
        memory: SlabMemory,
    ) -> Result<Self, CreateMemoryError> {
        let index = OwnWords::create("slab-index", shape.index_words(), Sharing::Shown)?;
        index.populate("slab-index", 0, shape.index_words())?;
        Ok(Slab { device: device.into(), shape, index: Index::Own(index), memory })
    }

    /// A peer's slab, from the imported `memory` and the received index. Allocates, makes
    /// system calls.
    ///
    /// # Errors
    /// [`OpenMemoryError`]: the index is none.
    pub fn open(
        device: &str,
        shape: SlabShape,
        memory: SlabMemory,
        index: BorrowedFd<'_>,
    ) -> Result<Self, OpenMemoryError> {
        let label = "slab-index";
        if shape.bytes().is_none() {
            return Err(OpenMemoryError::Layout {
                label: label.to_owned(),
                found: format!("has {} chunks of {} bytes", shape.chunks, shape.chunk_bytes),
                expected: format!("1 to {CHUNKS_MAX} of them"),
            });
        }
        let index = PeerWords::open(label, index, shape.index_words(), Sharing::Shown)?;
        Ok(Slab { device: device.into(), shape, index: Index::Peer(index), memory })
    }

    /// The device whose memory it is.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// What it stands for.
    pub fn shape(&self) -> SlabShape {
        self.shape
    }

    /// The device's memory.
    pub fn memory(&self) -> &SlabMemory {
        &self.memory
    }

    /// The descriptor of the index for peers; `None`: it is a peer's itself.
    pub fn index_fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.index {
            Index::Own(words) => Some(words.fd()),
            Index::Peer(_) => None,
        }
    }

    /// Where a range of the segment that lies in one chunk is in the slab; `None`: it is not.
    #[inline]
    pub fn place(&self, offset: u64, bytes: u64) -> Option<u64> {
        self.shape.place(offset, bytes).map(|(_, at, _)| at)
    }

    fn block(&self, block: usize) -> &[AtomicU64; BLOCK_WORDS] {
        let words: &[AtomicU64] = match &self.index {
            Index::Own(words) => words,
            Index::Peer(words) => words,
        };
        // As many words as the shape has blocks, and a place names none beyond.
        let (blocks, _) = words.as_chunks();
        &blocks[block]
    }

    /// Publisher: from now on the block of that place holds no message.
    pub fn clear(&self, offset: u64) {
        if let (Index::Own(_), Some((block, ..))) = (&self.index, self.shape.place(offset, 0)) {
            self.block(block)[0].store(0, Ordering::Relaxed);
        }
    }

    /// Publisher, before it publishes message `seq`: the device writes this part of it there.
    /// False: the index has no room for one more part.
    pub fn note(&self, seq: u64, offset: u64, bytes: u64) -> bool {
        let Index::Own(_) = &self.index else { return false };
        let Some((block, _, at)) = self.shape.place(offset, bytes) else { return false };
        // Publishing the message makes all of this visible to who takes it.
        let [number, parts @ ..] = self.block(block);
        let is_first = number.swap(seq, Ordering::Relaxed) != seq;
        let mut is_noted = false;
        for part in parts.as_chunks::<2>().0 {
            if is_first && is_noted {
                part[1].store(0, Ordering::Relaxed);
            } else if !is_noted && (is_first || part[1].load(Ordering::Relaxed) == 0) {
                part[0].store(at, Ordering::Relaxed);
                part[1].store(bytes, Ordering::Relaxed);
                is_noted = true;
            }
        }
        is_noted
    }

    /// Does the slab have all of this part of message `seq`? For who holds the message.
    pub fn holds(&self, seq: u64, offset: u64, bytes: u64) -> bool {
        self.any_part(seq, offset, bytes, |part, wanted| {
            part.start <= wanted.start && wanted.end <= part.end
        })
    }

    /// Does the slab have anything of this part of message `seq`?
    pub fn touches(&self, seq: u64, offset: u64, bytes: u64) -> bool {
        self.any_part(seq, offset, bytes, |part, wanted| {
            part.start < wanted.end && wanted.start < part.end
        })
    }

    fn any_part(
        &self,
        seq: u64,
        offset: u64,
        bytes: u64,
        fits: impl Fn(std::ops::Range<u64>, std::ops::Range<u64>) -> bool,
    ) -> bool {
        let Some((block, _, at)) = self.shape.place(offset, bytes) else { return false };
        let [number, parts @ ..] = self.block(block);
        number.load(Ordering::Relaxed) == seq
            && parts.as_chunks::<2>().0.iter().any(|part| {
                let [start, bytes_there] = part.each_ref().map(|word| word.load(Ordering::Relaxed));
                // A peer's word: sums may not fit.
                fits(start..start.saturating_add(bytes_there), at..at + bytes)
            })
    }
}

/// A grid, and the one that holds from where that ends.
#[derive(Debug)]
struct Grid {
    grid: ChunkGrid,
    later: OnceLock<Box<Grid>>,
}

/// What hangs on a mapping of a publisher's segment.
#[derive(Debug, Default)]
pub(crate) struct Slabs {
    grid: OnceLock<Box<Grid>>,
    /// Filled from the first place on; `None` until there is a slab.
    places: OnceLock<Box<[OnceLock<Arc<Slab>>; SLABS_MAX]>>,
}

impl Slabs {
    /// The mapping is a publisher's own, and this is how its chunks lie there from now on. The
    /// publisher's thread.
    pub(crate) fn set_grid(&self, grid: ChunkGrid) {
        let mut place = &self.grid;
        while let Some(known) = place.get() {
            place = &known.later;
        }
        let _ = place.set(Box::new(Grid { grid, later: OnceLock::new() }));
    }

    fn newest_grid(&self) -> Option<ChunkGrid> {
        let mut newest = self.grid.get()?;
        while let Some(later) = newest.later.get() {
            newest = later;
        }
        Some(newest.grid)
    }

    /// Does no slab stand for any of it?
    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Slab>> {
        let places = self.places.get().into_iter().flat_map(|places| places.iter());
        places.map_while(OnceLock::get)
    }
}

impl Region {
    /// How its publisher's chunks lie in it; `None`: its publisher is another process's, or there
    /// is none.
    pub fn grid(&self) -> Option<ChunkGrid> {
        self.slabs().newest_grid()
    }

    /// The slab that stands for a range that lies in one chunk. A few loads per slab.
    pub fn slab_at(&self, offset: u64, bytes: u64) -> Option<&Arc<Slab>> {
        self.slabs().all().find(|slab| slab.place(offset, bytes).is_some())
    }

    /// From now on `slab` stands for its chunks, for all who have this mapping. False: it does not
    /// lie in the region, another one stands for some of them, or there are [`SLABS_MAX`] already.
    /// Allocates.
    pub fn add_slab(&self, slab: &Arc<Slab>) -> bool {
        let range = |slab: &Slab| {
            let SlabShape { first, .. } = slab.shape;
            (first, first.saturating_add(slab.shape.bytes().unwrap_or(u64::MAX)))
        };
        let (first, end) = range(slab);
        if end > self.bytes() as u64 {
            return false;
        }
        let places = self.slabs().places.get_or_init(|| {
            let empty = std::array::from_fn(|_| OnceLock::new());
            Box::new(empty)
        });
        // Each place is set once; one that was taken meanwhile is looked at, too.
        places
            .iter()
            .find_map(|place| {
                let there = place.get_or_init(|| Arc::clone(slab));
                if Arc::ptr_eq(there, slab) {
                    return Some(true);
                }
                let (other_first, other_end) = range(there);
                (first < other_end && other_first < end).then_some(false)
            })
            .unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{OwnMemory, Writers};

    const GRID: ChunkGrid = ChunkGrid { segment: 0, first: 4096, chunk_bytes: 320, total: 100 };

    fn slab(shape: SlabShape) -> Arc<Slab> {
        Arc::new(Slab::create("gpu", shape, Arc::new(())).expect("memory"))
    }

    #[test]
    fn slabs_cover_every_chunk_once_and_no_segment_needs_more_than_there_may_be() {
        for (chunk_bytes, total) in [(64, 1), (320, 100), (4096, 70_000), (6 << 20, 9)] {
            let grid = ChunkGrid { chunk_bytes, total, ..GRID };
            let (mut offset, mut slabs) = (grid.first, 0);
            while let Some(shape) = grid.slab_around(offset, 2 << 20, 4) {
                assert_eq!(shape.first, offset);
                let last = offset + shape.bytes().expect("legal") - 1;
                assert_eq!(grid.slab_around(last, 2 << 20, 4), Some(shape));
                offset = last + 1;
                slabs += 1;
            }
            assert_eq!(offset, grid.first + chunk_bytes * total);
            assert!(slabs <= SLABS_MAX, "{slabs} slabs of {total} chunks");
        }
    }

    #[test]
    fn the_index_says_whose_message_is_there_and_which_parts_of_it() {
        let shape = GRID.slab_around(4096, 1000, 1).expect("chunks");
        assert_eq!(shape.chunks, 4);
        let own = slab(shape);
        let fd = own.index_fd().expect("own");
        let peer = Slab::open("gpu", shape, Arc::new(()), fd).expect("memory");
        let chunk = 4096 + 320;
        assert!(!peer.touches(1, chunk, 320), "nothing is there yet");
        assert!(own.note(7, chunk + 64, 100));
        assert_eq!(peer.place(chunk + 64, 100), Some(384));
        for (from, bytes, holds, touches) in [
            (64, 100, true, true),
            (70, 94, true, true),
            (63, 2, false, true),
            (0, 64, false, false),
            (160, 5, false, true),
            (164, 5, false, false),
        ] {
            let found = [peer.holds(7, chunk + from, bytes), peer.touches(7, chunk + from, bytes)];
            assert_eq!(found, [holds, touches], "{bytes} bytes from {from}");
        }
        assert!(!peer.holds(8, chunk + 64, 100) && !peer.holds(7, chunk + 320 + 64, 100));
        assert!(own.note(7, chunk + 200, 8) && own.note(7, chunk + 240, 8));
        assert!(!own.note(7, chunk + 300, 8), "no room for a fourth part");
        assert!(peer.holds(7, chunk + 240, 8) && peer.holds(7, chunk + 64, 100));
        assert!(own.note(9, chunk, 8));
        assert!(peer.holds(9, chunk, 8) && !peer.holds(9, chunk + 64, 100));
        own.clear(chunk);
        assert!(!peer.holds(9, chunk, 8));
        // Ranges that do not lie in one chunk, or in none of these.
        assert_eq!(
            (peer.place(chunk + 300, 21), peer.place(4095, 1), peer.place(4096 + 4 * 320, 1)),
            (None, None, None)
        );
    }

    #[test]
    fn a_region_takes_slabs_that_lie_in_it_and_do_not_overlap() {
        let memory = OwnMemory::create("region", 4096 + 32_000, Writers::Maker).expect("memory");
        let region = Region::to_read(memory.mapping());
        let first = slab(GRID.slab_around(4096, 1000, 1).expect("chunks"));
        let second = slab(GRID.slab_around(4096 + 4 * 320, 1000, 1).expect("chunks"));
        assert!(region.slab_at(4096, 1).is_none());
        let third = slab(GRID.slab_around(4096 + 8 * 320, 1000, 1).expect("chunks"));
        // Whichever comes first of those that lie side by side.
        assert!(region.add_slab(&second) && region.add_slab(&first));
        assert!(region.add_slab(&first), "it is there");
        assert!(!region.add_slab(&slab(first.shape())), "another one stands for these chunks");
        assert!(region.slab_at(4096 + 8 * 320, 1).is_none());
        assert!(region.add_slab(&third));
        let bytes = region.bytes() as u64;
        for (first, chunks, fits) in [(bytes - 319, 1, false), (bytes - 320, 1, true)] {
            let shape = SlabShape { first, chunks, ..third.shape() };
            assert_eq!(region.add_slab(&slab(shape)), fits, "{shape:?} in {bytes} bytes");
        }
        let found = region.slab_at(4096 + 5 * 320, 320).expect("the second");
        assert!(Arc::ptr_eq(found, &second));
        assert!(region.slab_at(4096 + 12 * 320, 1).is_none());
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        let shape = GRID.slab_around(4096, 1000, 1).expect("chunks");
        let own = slab(shape);
        let fd = own.index_fd().expect("own");
        for shape in [
            SlabShape { chunks: 0, ..shape },
            SlabShape { chunk_bytes: 0, ..shape },
            SlabShape { chunks: u32::MAX, ..shape },
            SlabShape { first: u64::MAX - 8, ..shape },
            SlabShape { chunk_bytes: u64::MAX / 2, ..shape },
        ] {
            let refused = Slab::open("gpu", shape, Arc::new(()), fd);
            assert!(matches!(refused, Err(OpenMemoryError::Layout { .. })), "{shape:?}");
        }
        let longer = SlabShape { chunks: shape.chunks + 100, ..shape };
        let refused = Slab::open("gpu", longer, Arc::new(()), fd);
        assert!(matches!(refused, Err(OpenMemoryError::TooSmall { .. })), "a short index");
    }
}
