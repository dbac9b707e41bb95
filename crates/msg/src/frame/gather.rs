//! From a block to the payload of a frame, as segments; large ones are ranges of the
//! block, or as a whole.

use super::plan::{FramePlan, Op, Program};
use super::{DATA_ALIGNMENT, joined};
use crate::block::{BLOCK_ALIGNMENT, Block, EXTERNAL_BUFFER, FlatError, Reference};

/// A part of a payload, for hardware that fetches it by address.
///
/// Segments follow one another in the payload without a gap. Each begins at a multiple of 8 of the
/// payload and of its source, and is a multiple of 8 long but for the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where the bytes lie.
    pub source: SegmentSource,
    /// First byte, from the source's start.
    pub offset: usize,
    /// Length in bytes, never 0.
    pub bytes: usize,
}

impl Segment {
    /// Where it begins in memory, when the block begins at `block` and the scratch buffer at
    /// `scratch`.
    #[must_use]
    pub fn address(&self, block: usize, scratch: usize) -> usize {
        let source = match self.source {
            SegmentSource::Scratch => scratch,
            SegmentSource::Block => block,
        };
        source + self.offset
    }
}

/// Where the bytes of a segment lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentSource {
    /// In the scratch buffer that was given to [`FramePlan::gather`].
    Scratch,
    /// In the block itself. It must stay as it is until hardware has read it.
    Block,
}

/// Why a block could not become the payload of a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GatherError {
    /// The block's references are damaged.
    #[error(transparent)]
    Block(#[from] FlatError),
    /// A field is longer than its bound.
    #[error(
        "field `{field}` holds {length} elements, but hardware has room for {bound}: send shorter \
         messages, or raise this bound of the topic in the graph file"
    )]
    OverBound {
        /// Path of the field, such as `fields[3].name`.
        field: Box<str>,
        /// Elements that it holds.
        length: u32,
        /// Elements that there is room for.
        bound: u32,
    },
    /// The scratch buffer is full.
    #[error(
        "field `{field}` does not fit into the scratch buffer of {room} bytes: reserve what \
         FramePlan::scratch_bytes_max says"
    )]
    Scratch {
        /// Path of the field.
        field: Box<str>,
        /// Bytes that there are.
        room: usize,
    },
}

impl FramePlan {
    /// Writes the payload of a block's message as segments: texts, lengths and everything small
    /// into `scratch`, sequences (and arrays that happen to lie at a multiple of 8) of at least
    /// `in_place_bytes_min` bytes as ranges of the block. Gives the payload's length in bytes.
    ///
    /// `segments` is cleared first, and grows at most to [`FramePlan::segments_max`]: used again,
    /// it is not allocated again. `scratch` needs [`FramePlan::scratch_bytes_max`] bytes at most,
    /// and begins at an address that suits the hardware; a caller that wants the frame's header in
    /// front of the payload puts it there and hands in what is behind it. Does not block. Allocates
    /// for errors, and when `segments` grows.
    ///
    /// The block may be written meanwhile: what is read then is in bounds, whatever it is. A block
    /// that changes after the call changes the frame.
    ///
    /// # Errors
    ///
    /// The block is damaged or a field is longer than its bound; `segments` is then empty.
    pub fn gather(
        &self,
        block: Block<'_>,
        in_place_bytes_min: usize,
        scratch: &mut [u8],
        segments: &mut Vec<Segment>,
    ) -> Result<usize, GatherError> {
        segments.clear();
        let in_place_min = in_place_bytes_min.max(DATA_ALIGNMENT);
        let mut payload = Payload {
            scratch,
            used: 0,
            begun: 0,
            position: 0,
            in_place_min,
            loose: None,
            segments,
        };
        let result = self.write(block, &mut payload);
        match result {
            Ok(()) => Ok(payload.finish()),
            Err(error) => {
                segments.clear();
                Err(error)
            }
        }
    }

    /// The payload of a block's message as a whole, replacing the contents of `out`: what software
    /// in the place of hardware sends. Allocates when `out` grows; does not block.
    ///
    /// # Errors
    ///
    /// The block is damaged or a field is longer than its bound; `out` is then empty.
    pub fn encode(&self, block: Block<'_>, out: &mut Vec<u8>) -> Result<(), GatherError> {
        out.clear();
        let result = self.write(block, out);
        if result.is_err() {
            out.clear();
        }
        result
    }

    fn write<S: Sink>(&self, block: Block<'_>, out: &mut S) -> Result<(), GatherError> {
        let root_bytes = self.root_bytes;
        if block.len() < root_bytes {
            let block_bytes = block.len();
            return Err(FlatError::TooShort { block_bytes, root_bytes }.into());
        }
        if !(block.as_ptr() as usize).is_multiple_of(BLOCK_ALIGNMENT) {
            return Err(FlatError::Misaligned { at: 0, alignment: BLOCK_ALIGNMENT }.into());
        }
        let mut writer = Writer { plan: self, block, out };
        writer.element(&self.programs[0], 0)
    }
}

/// Where a payload goes.
trait Sink {
    /// Zeros up to the next multiple of `alignment`.
    fn align(&mut self, alignment: usize) -> Option<()>;

    /// Appends the block's bytes from `offset` on.
    fn put(&mut self, bytes: &[u8], offset: usize) -> Option<()>;

    /// Appends bytes that may stay where they are.
    fn put_large(&mut self, bytes: &[u8], offset: usize) -> Option<()>;

    /// Bytes that there is room for.
    fn room(&self) -> usize;
}

impl Sink for Vec<u8> {
    fn align(&mut self, alignment: usize) -> Option<()> {
        self.resize(self.len().next_multiple_of(alignment), 0);
        Some(())
    }

    fn put(&mut self, bytes: &[u8], _: usize) -> Option<()> {
        self.extend_from_slice(bytes);
        Some(())
    }

    fn put_large(&mut self, bytes: &[u8], offset: usize) -> Option<()> {
        self.put(bytes, offset)
    }

    fn room(&self) -> usize {
        usize::MAX
    }
}

/// A payload in segments.
struct Payload<'s> {
    scratch: &'s mut [u8],
    /// Bytes of scratch in use; a segment of scratch is open from `begun` on.
    used: usize,
    begun: usize,
    /// Bytes of the payload so far. Invariant: `position - (used - begun)` is a multiple of 8.
    position: usize,
    in_place_min: usize,
    /// Bytes at the start of the open segment that only complete the block's segment before it.
    loose: Option<usize>,
    segments: &'s mut Vec<Segment>,
}

impl Payload<'_> {
    /// Ends the open segment of scratch, if it holds anything.
    fn close(&mut self) {
        let bytes = self.used - self.begun;
        if bytes > 0 {
            let (source, offset) = (SegmentSource::Scratch, self.begun);
            self.segments.push(Segment { source, offset, bytes });
        }
        self.begun = self.used;
    }

    /// Ends the last segment; gives the length of the payload.
    fn finish(mut self) -> usize {
        let open = self.used - self.begun;
        match (self.loose == Some(open), self.segments.last_mut()) {
            // Only the last segment may have any length.
            (true, Some(last)) => last.bytes += open,
            _ => self.close(),
        }
        self.position
    }

    fn claim(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let place = self.scratch.get_mut(self.used..)?.get_mut(..bytes)?;
        self.used += bytes;
        self.position += bytes;
        Some(place)
    }
}

impl Sink for Payload<'_> {
    fn align(&mut self, alignment: usize) -> Option<()> {
        let padding = self.position.next_multiple_of(alignment) - self.position;
        self.claim(padding)?.fill(0);
        Some(())
    }

    fn put(&mut self, bytes: &[u8], _: usize) -> Option<()> {
        self.claim(bytes.len())?.copy_from_slice(bytes);
        Some(())
    }

    fn put_large(&mut self, bytes: &[u8], offset: usize) -> Option<()> {
        let fits = (self.position | offset).is_multiple_of(DATA_ALIGNMENT);
        if bytes.len() < self.in_place_min || !fits {
            return self.put(bytes, offset);
        }
        self.close();
        let loose = bytes.len() % DATA_ALIGNMENT;
        let whole = bytes.len() - loose;
        self.segments.push(Segment { source: SegmentSource::Block, offset, bytes: whole });
        self.position += whole;
        self.loose = (loose > 0).then_some(loose);
        self.put(&bytes[whole..], offset)
    }

    fn room(&self) -> usize {
        self.scratch.len()
    }
}

struct Writer<'a, 's, S> {
    plan: &'a FramePlan,
    block: Block<'a>,
    out: &'s mut S,
}

/// What went wrong at a step, before its path is known.
enum Fault {
    Block(FlatError),
    OverBound {
        length: u32,
        bound: u32,
    },
    Full,
    /// Deeper inside, with the path from there on.
    Inside(GatherError, Option<usize>),
}

impl From<FlatError> for Fault {
    fn from(error: FlatError) -> Self {
        Self::Block(error)
    }
}

impl<S: Sink> Writer<'_, '_, S> {
    /// One struct or text that lies at byte `base` of the block. Recursion follows the type's
    /// nesting, which is bounded by `resolve`; loops are bounded by bounds.
    fn element(&mut self, program: &Program, base: usize) -> Result<(), GatherError> {
        for step in &program.steps {
            if let Err(fault) = self.step(step.op, base) {
                return Err(self.told(fault, &step.field));
            }
        }
        Ok(())
    }

    #[cold]
    fn told(&self, fault: Fault, field: &str) -> GatherError {
        match fault {
            Fault::Block(cause) => {
                let cause = Box::new(cause);
                FlatError::InField { field: field.into(), cause }.into()
            }
            Fault::OverBound { length, bound } => {
                GatherError::OverBound { field: field.into(), length, bound }
            }
            Fault::Full => GatherError::Scratch { field: field.into(), room: self.out.room() },
            Fault::Inside(error, index) => {
                let outer = index.map_or(field.to_owned(), |index| format!("{field}[{index}]"));
                below(&outer, error)
            }
        }
    }

    fn step(&mut self, op: Op, base: usize) -> Result<(), Fault> {
        match op {
            Op::Align { alignment } => self.out.align(alignment).ok_or(Fault::Full),
            Op::Run { at, bytes, alignment } => {
                let bytes = inside(self.block, base + at, bytes)?;
                self.out.align(alignment).ok_or(Fault::Full)?;
                self.out.put_large(bytes, base + at).ok_or(Fault::Full)
            }
            Op::Text { at, bound } => {
                let reference = self.reference(base + at, bound)?;
                let text = self.block.slice_of::<u8>(reference, base + at)?;
                self.length(reference.length)?;
                self.out.put(text, 0).ok_or(Fault::Full)
            }
            Op::Numbers { at, size, bound } => {
                let reference = self.reference(base + at, bound)?;
                self.data(reference, size, base + at)
            }
            Op::Records { at, program, bound } => {
                let plan = self.plan;
                let (at, element) = (base + at, &plan.programs[program]);
                let reference = self.reference(at, bound)?;
                if element.dense {
                    return self.data(reference, element.stride, at);
                }
                let (start, count) = self.block.records_of(reference, element.stride, at)?;
                self.length(reference.length)?;
                self.repeat(element, start, count)
            }
            Op::Repeat { at, count, program } => {
                let plan = self.plan;
                self.repeat(&plan.programs[program], base + at, count)
            }
        }
    }

    fn repeat(&mut self, element: &Program, start: usize, count: usize) -> Result<(), Fault> {
        for index in 0..count {
            self.out.align(element.alignment).ok_or(Fault::Full)?;
            self.element(element, start + index * element.stride)
                .map_err(|error| Fault::Inside(error, Some(index)))?;
        }
        Ok(())
    }

    /// Fetches the reference at byte `at`, once, and holds its length against the bound.
    fn reference(&self, at: usize, bound: u32) -> Result<Reference, Fault> {
        let reference = self.block.reference(at)?;
        if reference.capacity & EXTERNAL_BUFFER != 0 {
            return Err(FlatError::ExternalBuffer { at }.into());
        }
        let length = reference.length;
        if length > bound {
            return Err(Fault::OverBound { length, bound });
        }
        Ok(reference)
    }

    fn length(&mut self, length: u32) -> Result<(), Fault> {
        self.out.align(4).ok_or(Fault::Full)?;
        self.out.put(&length.to_le_bytes(), 0).ok_or(Fault::Full)?;
        self.out.align(DATA_ALIGNMENT).ok_or(Fault::Full)
    }

    /// Length and elements of `size` bytes each that lie in the block as in the payload.
    fn data(&mut self, reference: Reference, size: usize, at: usize) -> Result<(), Fault> {
        let (start, count) = self.block.records_of(reference, size, at)?;
        self.length(reference.length)?;
        // Both were checked by `records_of`.
        let bytes = inside(self.block, start, count * size)?;
        self.out.put_large(bytes, start).ok_or(Fault::Full)
    }
}

fn inside(block: Block<'_>, at: usize, bytes: usize) -> Result<&[u8], FlatError> {
    block.bytes(at, bytes).ok_or(FlatError::OutOfBlock {
        at,
        offset: at as u64,
        bytes: bytes as u64,
        block_bytes: block.len(),
    })
}

/// The error with an outer path before its own.
fn below(outer: &str, error: GatherError) -> GatherError {
    match error {
        GatherError::Block(FlatError::InField { field, cause }) => {
            FlatError::InField { field: joined(outer, &field), cause }.into()
        }
        GatherError::OverBound { field, length, bound } => {
            GatherError::OverBound { field: joined(outer, &field), length, bound }
        }
        GatherError::Scratch { field, room } => {
            GatherError::Scratch { field: joined(outer, &field), room }
        }
        other => other,
    }
}
