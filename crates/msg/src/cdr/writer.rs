//! Steps of encoding, into one contiguous buffer or into a head with large arrays left in place.
//!
//! The input may be shared memory that another process damages while it is read, so the sum of all
//! referenced bytes is bounded by the block's length: references that overlap cannot make the
//! output larger than the input by more than a constant.

#![forbid(unsafe_code)]

use super::{HEADER_BYTES, HEADER_LITTLE_ENDIAN};
use crate::block::{FlatError, Plain, as_bytes};

/// Arrays below this size are copied into the head: a piece of its own costs about as much.
const SLICE_BYTES_MIN: usize = 4096;

/// Most arrays that stay in place; further ones are copied. Standard messages have one or two.
const SLICES_MAX: usize = 8;

/// Largest encoding: lengths are u32.
const CDR_BYTES_MAX: usize = u32::MAX as usize;

/// Where encoded fields go. Implemented here only.
pub trait CdrSink<'a>: private::Sealed {
    /// Appends plain fields that lie in CDR as in the struct, from a multiple of `alignment` on.
    fn run(&mut self, bytes: &'a [u8], alignment: usize);

    /// Appends a text: length, bytes, NUL.
    ///
    /// # Errors
    ///
    /// The message's references overlap.
    fn text(&mut self, text: &'a [u8]) -> Result<(), FlatError>;

    /// Appends a wide text: count, 4 bytes per unit.
    ///
    /// # Errors
    ///
    /// The message's references overlap.
    fn wide_text(&mut self, units: &'a [u16]) -> Result<(), FlatError>;

    /// Appends a sequence of numbers: count, values.
    ///
    /// # Errors
    ///
    /// The message's references overlap.
    fn array<V: Plain>(&mut self, values: &'a [V]) -> Result<(), FlatError>;

    /// Appends the count of a sequence of structs or references of `stride` bytes each.
    ///
    /// # Errors
    ///
    /// The message's references overlap.
    fn sequence(&mut self, count: usize, stride: usize) -> Result<(), FlatError>;
}

mod private {
    pub trait Sealed {}
}

/// Bytes that a head has room for from the start, so that small fields find it in one comparison.
const HEAD_BYTES_MIN: usize = 512;

/// The bytes written so far, and what may still be written.
#[derive(Debug, Default)]
struct Head {
    /// What is written, up to `end`; behind it lies what earlier messages have left.
    bytes: Vec<u8>,
    end: usize,
    /// Position in the encoding, counted from the end of the header.
    position: usize,
    /// Bytes that references may still cover.
    left: usize,
    block_bytes: usize,
}

impl Head {
    #[inline]
    fn start(&mut self, block_bytes: usize) {
        if self.bytes.len() < HEAD_BYTES_MIN {
            self.bytes.resize(HEAD_BYTES_MIN, 0);
        }
        self.bytes[..HEADER_BYTES].copy_from_slice(&HEADER_LITTLE_ENDIAN);
        self.end = HEADER_BYTES;
        self.position = 0;
        self.left = block_bytes;
        self.block_bytes = block_bytes;
    }

    fn written(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    #[inline]
    fn align(&mut self, alignment: usize) {
        let padding = self.position.next_multiple_of(alignment) - self.position;
        if padding > 0 {
            // Always 8 bytes: a constant length is one store. What follows is written over them.
            match self.bytes.get_mut(self.end..self.end + 8) {
                Some(place) => place.fill(0),
                None => self.append(&[0; 8][..padding]),
            }
            self.end += padding;
            self.position += padding;
        }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        match self.bytes.get_mut(self.end..self.end + bytes.len()) {
            Some(place) => place.copy_from_slice(bytes),
            None => self.append(bytes),
        }
        self.end += bytes.len();
        self.position += bytes.len();
    }

    /// Writes behind the end where the memory is too short. The caller moves the end.
    #[inline(never)]
    fn append(&mut self, bytes: &[u8]) {
        self.bytes.truncate(self.end);
        self.bytes.extend_from_slice(bytes);
    }

    #[inline]
    fn count(&mut self, count: usize) -> Result<(), FlatError> {
        let too_large = FlatError::TooLarge { limit: CDR_BYTES_MAX };
        let count = u32::try_from(count).map_err(|_| too_large)?;
        self.align(4);
        self.put(&count.to_le_bytes());
        Ok(())
    }

    /// Takes `bytes` off what references may cover.
    #[inline]
    fn spend(&mut self, bytes: usize) -> Result<(), FlatError> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(FlatError::Overlap { block_bytes: self.block_bytes }),
        }
    }

    #[inline]
    fn text(&mut self, text: &[u8]) -> Result<(), FlatError> {
        self.spend(text.len())?;
        self.count(text.len() + 1)?;
        self.put(text);
        self.put(&[0]);
        Ok(())
    }

    #[inline]
    fn wide_text(&mut self, units: &[u16]) -> Result<(), FlatError> {
        self.spend(size_of_val(units))?;
        self.count(units.len())?;
        for unit in units {
            self.put(&u32::from(*unit).to_le_bytes());
        }
        Ok(())
    }

    #[inline]
    fn array_head<V: Plain>(&mut self, values: &[V]) -> Result<(), FlatError> {
        self.spend(size_of_val(values))?;
        self.count(values.len())?;
        if !values.is_empty() {
            self.align(size_of::<V>());
        }
        Ok(())
    }

    #[inline]
    fn sequence(&mut self, count: usize, stride: usize) -> Result<(), FlatError> {
        self.spend(count.saturating_mul(stride))?;
        self.count(count)
    }
}

/// Counts the bytes that a message takes as CDR, writing nothing.
#[derive(Debug, Default)]
pub struct CdrSize {
    position: usize,
    left: usize,
    block_bytes: usize,
}

impl CdrSize {
    /// Starts a message, of a block of `block_bytes` bytes.
    pub fn start(block_bytes: usize) -> Self {
        Self { position: 0, left: block_bytes, block_bytes }
    }

    /// Length of the whole encoding in bytes, header included.
    pub fn total_bytes(&self) -> usize {
        self.position + HEADER_BYTES
    }

    #[inline]
    fn add(&mut self, spent: usize, bytes: usize) -> Result<(), FlatError> {
        let Some(left) = self.left.checked_sub(spent) else {
            return Err(FlatError::Overlap { block_bytes: self.block_bytes });
        };
        self.left = left;
        self.position = self.position.next_multiple_of(4) + 4 + bytes;
        Ok(())
    }
}

impl private::Sealed for CdrSize {}

impl<'a> CdrSink<'a> for CdrSize {
    #[inline]
    fn run(&mut self, bytes: &'a [u8], alignment: usize) {
        self.position = self.position.next_multiple_of(alignment) + bytes.len();
    }

    #[inline]
    fn text(&mut self, text: &'a [u8]) -> Result<(), FlatError> {
        self.add(text.len(), text.len() + 1)
    }

    #[inline]
    fn wide_text(&mut self, units: &'a [u16]) -> Result<(), FlatError> {
        self.add(size_of_val(units), 4 * units.len())
    }

    #[inline]
    fn array<V: Plain>(&mut self, values: &'a [V]) -> Result<(), FlatError> {
        self.add(size_of_val(values), 0)?;
        if !values.is_empty() {
            self.run(as_bytes(values), size_of::<V>());
        }
        Ok(())
    }

    #[inline]
    fn sequence(&mut self, count: usize, stride: usize) -> Result<(), FlatError> {
        self.add(count.saturating_mul(stride), 0)
    }
}

/// A buffer for contiguous CDR, to be used for many messages.
///
/// Grows on first use (allocates), not again for messages of the same size. Not shared between
/// threads while written.
#[derive(Debug, Default)]
pub struct CdrBuffer {
    head: Head,
}

impl CdrBuffer {
    /// An empty buffer; allocates at first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a message, of a block of `block_bytes` bytes.
    #[inline]
    pub(crate) fn start(&mut self, block_bytes: usize) {
        self.head.start(block_bytes);
        let room = self.head.bytes.len();
        self.head.bytes.reserve(block_bytes.saturating_sub(room));
    }

    /// The encoded message, header included.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.head.written()
    }

    /// The encoded message as a vector of its own.
    pub fn into_vec(mut self) -> Vec<u8> {
        self.head.bytes.truncate(self.head.end);
        self.head.bytes
    }
}

impl From<Vec<u8>> for CdrBuffer {
    /// Reuses the vector's memory; its contents are replaced by the first message.
    fn from(bytes: Vec<u8>) -> Self {
        Self { head: Head { bytes, ..Head::default() } }
    }
}

impl private::Sealed for CdrBuffer {}

impl<'a> CdrSink<'a> for CdrBuffer {
    #[inline]
    fn run(&mut self, bytes: &'a [u8], alignment: usize) {
        self.head.align(alignment);
        self.head.put(bytes);
    }

    #[inline]
    fn text(&mut self, text: &'a [u8]) -> Result<(), FlatError> {
        self.head.text(text)
    }

    #[inline]
    fn wide_text(&mut self, units: &'a [u16]) -> Result<(), FlatError> {
        self.head.wide_text(units)
    }

    #[inline]
    fn array<V: Plain>(&mut self, values: &'a [V]) -> Result<(), FlatError> {
        self.head.array_head(values)?;
        self.head.put(as_bytes(values));
        Ok(())
    }

    #[inline]
    fn sequence(&mut self, count: usize, stride: usize) -> Result<(), FlatError> {
        self.head.sequence(count, stride)
    }
}

/// CDR in pieces: small fields copied into a head, large arrays left where they are.
///
/// For writers that gather (recordings, sockets). The pieces live as long as the sample they come
/// from. At most 8 arrays stay in place; more are copied.
#[derive(Debug)]
pub struct CdrSlices<'b, 'a> {
    head: &'b mut Head,
    /// Length of the head before each array, and the array.
    arrays: [(usize, &'a [u8]); SLICES_MAX],
    count: usize,
}

impl<'b, 'a> CdrSlices<'b, 'a> {
    /// Uses the buffer's memory for the head.
    pub fn new(buffer: &'b mut CdrBuffer) -> Self {
        Self { head: &mut buffer.head, arrays: [(0, &[]); SLICES_MAX], count: 0 }
    }

    #[inline]
    pub(crate) fn start(&mut self, block_bytes: usize) {
        self.head.start(block_bytes);
        self.count = 0;
    }

    /// Length of the whole encoding in bytes.
    pub fn total_bytes(&self) -> usize {
        self.head.position + HEADER_BYTES
    }

    /// The pieces in order; none is empty.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let arrays = &self.arrays[..self.count];
        let starts = std::iter::once(0).chain(arrays.iter().map(|(end, _)| *end));
        let tail = (self.head.end, &[] as &[u8]);
        let ends = arrays.iter().copied().chain(std::iter::once(tail));
        starts
            .zip(ends)
            .flat_map(|(start, (end, array))| [&self.head.bytes[start..end], array])
            .filter(|piece| !piece.is_empty())
    }
}

impl private::Sealed for CdrSlices<'_, '_> {}

impl<'a> CdrSink<'a> for CdrSlices<'_, 'a> {
    #[inline]
    fn run(&mut self, bytes: &'a [u8], alignment: usize) {
        self.head.align(alignment);
        if bytes.len() >= SLICE_BYTES_MIN && self.count < SLICES_MAX {
            self.arrays[self.count] = (self.head.end, bytes);
            self.count += 1;
            self.head.position += bytes.len();
        } else {
            self.head.put(bytes);
        }
    }

    #[inline]
    fn text(&mut self, text: &'a [u8]) -> Result<(), FlatError> {
        self.head.text(text)
    }

    #[inline]
    fn wide_text(&mut self, units: &'a [u16]) -> Result<(), FlatError> {
        self.head.wide_text(units)
    }

    #[inline]
    fn array<V: Plain>(&mut self, values: &'a [V]) -> Result<(), FlatError> {
        self.head.array_head(values)?;
        self.run(as_bytes(values), 1);
        Ok(())
    }

    #[inline]
    fn sequence(&mut self, count: usize, stride: usize) -> Result<(), FlatError> {
        self.head.sequence(count, stride)
    }
}
