//! From a frame that hardware wrote into a chunk to a block, in place.
//!
//! The chunk holds, from byte 0 on: the front (root struct), the frame (header, payload), the room
//! behind it. References of the root struct point into the payload: the data of sequences lie there
//! at multiples of 8, as readers of the flat layout want it. What the payload lacks is written
//! behind it: structs of sequences whose elements differ in length, references of sequences of
//! texts.
//!
//! A text needs a NUL byte behind it. What lies there is padding, or belongs to a field that comes
//! later and is copied before its place is used: a number, or a length. It is never data that stays
//! in place, because a length comes before those. So the NUL is written as soon as that field has
//! been read.

use super::header::{FrameHeader, FrameHeaderError};
use super::plan::{FramePlan, Op, Program};
use super::{DATA_ALIGNMENT, HEADER_BYTES, joined};
use crate::block::{FlatBuffer, REFERENCE_BYTES};

/// A frame that has become a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The frame's header.
    pub header: FrameHeader,
    /// Length of the block, from the chunk's first byte on.
    pub block_bytes: usize,
}

/// Why a frame could not become a block.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// The header is damaged or of another version.
    #[error(transparent)]
    Header(#[from] FrameHeaderError),
    /// The header names another length than was received.
    #[error(
        "the frame's header says {header} bytes of payload, but {received} were received: its \
         publisher does not keep to the frame's format"
    )]
    Length {
        /// Bytes as in the header.
        header: u32,
        /// Bytes of payload that were received.
        received: usize,
    },
    /// The payload ends before the message does.
    #[error(
        "the payload ends at byte {bytes}, but field `{field}` needs {wanted} bytes from byte {at} \
         on: its publisher does not keep to the layout of the type"
    )]
    TooShort {
        /// Path of the field.
        field: Box<str>,
        /// Byte position in the payload.
        at: usize,
        /// Bytes needed there.
        wanted: usize,
        /// Bytes of the payload.
        bytes: usize,
    },
    /// A field is longer than its bound.
    #[error(
        "field `{field}` at byte {at} of the payload holds {length} elements, but its bound is \
         {bound}: its publisher was generated with other bounds, or does not keep to them"
    )]
    OverBound {
        /// Path of the field.
        field: Box<str>,
        /// Byte position of its length in the payload.
        at: usize,
        /// Elements that it holds.
        length: u32,
        /// Elements that it may hold.
        bound: u32,
    },
    /// More payload than message.
    #[error(
        "the message ends at byte {at} of the payload, but the payload goes on to byte {bytes}: its \
         publisher does not keep to the layout of the type"
    )]
    Trailing {
        /// End of the message.
        at: usize,
        /// Bytes of the payload.
        bytes: usize,
    },
    /// The chunk has no room in front of the frame or behind it.
    #[error(
        "the chunk has {room} bytes of room, but field `{field}` needs {wanted}: keep \
         FramePlan::front_bytes free in front of a frame and make chunks of \
         FramePlan::chunk_bytes_max"
    )]
    Room {
        /// Path of the field; `` for the front.
        field: Box<str>,
        /// Bytes needed.
        wanted: usize,
        /// Bytes that there are.
        room: usize,
    },
}

impl FramePlan {
    /// Makes a block of the frame of `frame_bytes` bytes at byte `front` of `chunk`, in place. The
    /// block begins at the chunk's first byte, which must be aligned as blocks are.
    ///
    /// The chunk is this process's own until it is published; after an error its contents are
    /// unspecified, and it can be used for another frame. At most
    /// [`FramePlan::behind_bytes_max`] bytes behind the frame are written, none of the data of
    /// sequences is moved. Does not block; allocates for errors only.
    ///
    /// The frame is input of others: each length is read once, and held against its bound and the
    /// bytes that were received.
    ///
    /// # Errors
    ///
    /// The frame is not one message of this type within its bounds, or the chunk has no room.
    pub fn adopt(
        &self,
        chunk: &mut [u8],
        front: usize,
        frame_bytes: usize,
    ) -> Result<Adopted, AdoptError> {
        let room = |wanted, room| AdoptError::Room { field: "".into(), wanted, room };
        if front < self.root_bytes || !front.is_multiple_of(DATA_ALIGNMENT) {
            return Err(room(self.front_bytes(), front));
        }
        let behind = chunk.len().saturating_sub(front);
        let Some(frame) = chunk.get(front..).and_then(|frame| frame.get(..frame_bytes)) else {
            return Err(room(frame_bytes, behind));
        };
        let header = FrameHeader::read(frame)?;
        let received = frame_bytes - HEADER_BYTES;
        if header.payload_bytes as usize != received {
            return Err(AdoptError::Length { header: header.payload_bytes, received });
        }
        let start = front + HEADER_BYTES;
        // One byte for a text's NUL.
        let top = (start + received + 1).next_multiple_of(DATA_ALIGNMENT);
        chunk[..self.root_bytes].fill(0);
        let mut adopter =
            Adopter { plan: self, chunk, start, bytes: received, position: 0, top, open: None };
        adopter.element(&self.programs[0], 0)?;
        if adopter.position != received {
            return Err(AdoptError::Trailing { at: adopter.position, bytes: received });
        }
        let block_bytes = adopter.finish(top)?;
        Ok(Adopted { header, block_bytes })
    }

    /// A payload as a block of its own memory: what software in the place of hardware receives.
    /// Allocates; does not block.
    ///
    /// # Errors
    ///
    /// The payload is not one message of this type within its bounds.
    pub fn decode(&self, payload: &[u8]) -> Result<FlatBuffer, AdoptError> {
        let bytes = payload.len();
        let limit = usize::try_from(self.payload_bytes_max()).unwrap_or(usize::MAX);
        if bytes > limit {
            return Err(AdoptError::Trailing { at: limit, bytes });
        }
        let mut chunk = self.chunk();
        let header = FrameHeader { payload_bytes: bytes as u32, ..FrameHeader::default() };
        let front = self.front_bytes();
        let frame = &mut chunk.as_mut_slice()[front..][..HEADER_BYTES + bytes];
        frame[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        frame[HEADER_BYTES..].copy_from_slice(payload);
        let adopted = self.adopt(chunk.as_mut_slice(), front, HEADER_BYTES + bytes)?;
        chunk.resize(adopted.block_bytes);
        Ok(chunk)
    }
}

struct Adopter<'a> {
    plan: &'a FramePlan,
    chunk: &'a mut [u8],
    /// Where the payload begins in the chunk, and its length.
    start: usize,
    bytes: usize,
    /// Bytes of the payload that were read.
    position: usize,
    /// End of what is in use behind the frame.
    top: usize,
    /// Byte of the chunk that gets the NUL of the last text.
    open: Option<usize>,
}

/// What went wrong at a step, before its path is known.
enum Fault {
    TooShort {
        wanted: usize,
    },
    OverBound {
        at: usize,
        length: u32,
        bound: u32,
    },
    Room {
        wanted: usize,
    },
    /// Deeper inside, with the path from there on.
    Inside(AdoptError, usize),
}

impl Adopter<'_> {
    /// One struct or text, written to byte `base` of the chunk. Recursion follows the type's
    /// nesting, which is bounded by `resolve`; loops are bounded by bounds.
    fn element(&mut self, program: &Program, base: usize) -> Result<(), AdoptError> {
        for step in &program.steps {
            if let Err(fault) = self.step(step.op, base) {
                return Err(self.told(fault, &step.field));
            }
        }
        Ok(())
    }

    #[cold]
    fn told(&self, fault: Fault, field: &str) -> AdoptError {
        let (at, bytes) = (self.position, self.bytes);
        match fault {
            Fault::TooShort { wanted } => {
                AdoptError::TooShort { field: field.into(), at, wanted, bytes }
            }
            Fault::OverBound { at, length, bound } => {
                AdoptError::OverBound { field: field.into(), at, length, bound }
            }
            Fault::Room { wanted } => {
                AdoptError::Room { field: field.into(), wanted, room: self.chunk.len() }
            }
            Fault::Inside(error, index) => below(&format!("{field}[{index}]"), error),
        }
    }

    fn step(&mut self, op: Op, base: usize) -> Result<(), Fault> {
        match op {
            Op::Align { alignment } => self.align(alignment),
            Op::Run { at, bytes, alignment } => {
                self.align(alignment)?;
                let from = self.take(bytes)?;
                self.chunk.copy_within(from..from + bytes, base + at);
                self.end_text();
                Ok(())
            }
            Op::Text { at, bound } => {
                let length = self.length(bound)?;
                let offset = self.take(length)?;
                if length > 0 {
                    self.open = Some(offset + length);
                    self.refer(base + at, offset, length, length + 1);
                }
                Ok(())
            }
            Op::Numbers { at, size, bound } => {
                let count = self.length(bound)?;
                self.data(base + at, count, size)
            }
            Op::Records { at, program, bound } => {
                let plan = self.plan;
                let element = &plan.programs[program];
                let count = self.length(bound)?;
                if element.fixed {
                    return self.data(base + at, count, element.stride);
                }
                if count == 0 {
                    return Ok(());
                }
                let start = self.claim(count.saturating_mul(element.stride))?;
                self.refer(base + at, start, count, count);
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
            self.align(element.alignment)?;
            self.element(element, start + index * element.stride)
                .map_err(|error| Fault::Inside(error, index))?;
        }
        Ok(())
    }

    /// Skips padding.
    fn align(&mut self, alignment: usize) -> Result<(), Fault> {
        let padding = self.position.next_multiple_of(alignment) - self.position;
        self.take(padding).map(|_| ())
    }

    /// The next bytes of the payload: where they lie in the chunk.
    fn take(&mut self, bytes: usize) -> Result<usize, Fault> {
        if bytes > self.bytes - self.position {
            return Err(Fault::TooShort { wanted: bytes });
        }
        let at = self.start + self.position;
        self.position += bytes;
        Ok(at)
    }

    /// A length within its bound; the data come next.
    fn length(&mut self, bound: u32) -> Result<usize, Fault> {
        self.align(4)?;
        let at = self.position;
        let from = self.take(4)?;
        let mut word = [0; 4];
        word.copy_from_slice(&self.chunk[from..from + 4]);
        let length = u32::from_le_bytes(word);
        self.end_text();
        if length > bound {
            return Err(Fault::OverBound { at, length, bound });
        }
        self.align(DATA_ALIGNMENT)?;
        Ok(length as usize)
    }

    /// Elements that stay where they are.
    fn data(&mut self, at: usize, count: usize, size: usize) -> Result<(), Fault> {
        let offset = self.take(count.saturating_mul(size))?;
        if count > 0 {
            self.refer(at, offset, count, count);
        }
        Ok(())
    }

    /// Zeroed room behind the frame, at a multiple of 8.
    fn claim(&mut self, bytes: usize) -> Result<usize, Fault> {
        let start = self.top;
        let end = start.saturating_add(bytes);
        let place = self.chunk.get_mut(start..end).ok_or(Fault::Room { wanted: end })?;
        place.fill(0);
        // Whole structs with references in them: multiples of 8.
        self.top = end;
        Ok(start)
    }

    /// Writes the NUL of the last text, whose next byte has been used.
    fn end_text(&mut self) {
        if let Some(end) = self.open.take() {
            self.chunk[end] = 0;
        }
    }

    fn refer(&mut self, at: usize, offset: usize, length: usize, capacity: usize) {
        // Bounds leave the capacity's top bit free, with the NUL, too (`FramePlan::new`).
        let counts = length as u64 | ((capacity as u64) << 32);
        let place = &mut self.chunk[at..at + REFERENCE_BYTES];
        place[..8].copy_from_slice(&(offset as u64).to_le_bytes());
        place[8..].copy_from_slice(&counts.to_le_bytes());
    }

    /// Ends the message; gives the length of the block. `behind` is where the room behind begins.
    fn finish(mut self, behind: usize) -> Result<usize, AdoptError> {
        let end = self.start + self.bytes;
        let used = if self.top > behind { self.top } else { end };
        // A text at the very end has its NUL behind the payload.
        let used = used.max(self.open.map_or(0, |open| open + 1));
        if used > self.chunk.len() {
            let room = self.chunk.len();
            return Err(AdoptError::Room { field: "".into(), wanted: used, room });
        }
        self.end_text();
        Ok(used)
    }
}

/// The error with an outer path before its own.
fn below(outer: &str, mut error: AdoptError) -> AdoptError {
    if let AdoptError::TooShort { field, .. }
    | AdoptError::OverBound { field, .. }
    | AdoptError::Room { field, .. } = &mut error
    {
        *field = joined(outer, field);
    }
    error
}
