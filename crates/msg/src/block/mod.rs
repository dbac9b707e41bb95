//! Memory in the flat layout: the only module of this crate that holds unsafe code.
//!
//! Protocol. A block is the payload of one message. The process that published it keeps a writable
//! mapping of the same memory, so **nothing that was read once stays true**:
//!
//! 1. A scalar is read by exactly one volatile load. The caller works with the loaded value.
//! 2. A reference {u64 offset, u32 length, u32 capacity} is loaded once, as two 8-byte words, and
//!    the loaded copy is checked against the block's own pointer and length (which live in this
//!    process, not in the block) before a slice is made. It is never read a second time.
//! 3. A record (a struct inside a block) is a pointer that was checked once against the block's
//!    length. Its bounds depend on nothing in shared memory, so they stay true.
//! 4. Elements handed out are plain numbers: every bit pattern is a value. Text is a [`Text`]: it
//!    can be compared and copied, and becomes a `&str` or a `String` by a checked copy alone,
//!    because a `&str` whose bytes another process changes makes safe code read past its end.
//!
//! Memory visibility: a slice taken from a sample is the publisher's memory itself. A correct
//! publisher never writes a published payload; with an incorrect one the values may change under
//! the reader, but no access leaves the block.
//!
//! This module knows no message type; offsets and sizes come from its callers as constants.

mod buffer;
mod build;
mod build_error;
mod extra;
mod record;
mod sequence;
mod text;

pub use buffer::FlatBuffer;
pub use build::{BlockMut, RecordMut};
pub use build_error::{BuildError, FieldPlace};
pub use extra::Extra;
pub use record::Record;
pub use sequence::{Sequence, SequenceBuilder, Slices, SlicesBuilder};
pub use text::{Text, Texts};

use std::marker::PhantomData;

#[cfg(target_endian = "big")]
compile_error!("the flat layout is little endian; big-endian hosts are not supported");

/// Alignment of a block's first byte that typed access needs; pools give 64 or 4096.
pub const BLOCK_ALIGNMENT: usize = 8;

/// Bytes of a reference {u64 offset, u32 length, u32 capacity} in the flat layout.
pub const REFERENCE_BYTES: usize = 16;

/// Arrays from this size on start at a page: 64 KiB, where a page of padding is below 7 %.
const LARGE_ARRAY_BYTES: usize = 65_536;

/// Alignment of a primitive array of `bytes` bytes: 64, and 4096 from 64 KiB on.
#[inline]
pub const fn array_alignment(bytes: usize) -> usize {
    if bytes >= LARGE_ARRAY_BYTES { 4096 } else { 64 }
}

/// Bit of a reference's capacity that marks a payload outside the block. Reserved in v1.
pub const EXTERNAL_BUFFER: u32 = 1 << 31;

/// A number whose every bit pattern is a value, so that any bytes of a block may be read as one.
///
/// Sealed: the ten numeric types of message fields (`bool` fields are stored as `u8`).
pub trait Plain: Copy + Send + Sync + 'static + private::Sealed {}

mod private {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($number:ty),*) => {
        $(impl private::Sealed for $number {}
        impl Plain for $number {})*
    };
}
plain!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// Why bytes could not be read as a message in the flat layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlatError {
    /// The block is shorter than the message's root struct.
    #[error(
        "the block has {block_bytes} bytes, but the message's root struct needs {root_bytes}: it \
         was cut off or is of another type; compare type and layout hash of both sides"
    )]
    TooShort {
        /// Bytes that there are.
        block_bytes: usize,
        /// Bytes that the root struct needs.
        root_bytes: usize,
    },
    /// The memory does not start or an array does not lie at the alignment of its elements.
    #[error(
        "the data of the field at byte {at} is not aligned to {alignment} bytes: keep blocks in \
         memory aligned to 64 bytes (FlatBuffer) and check that the publisher has this layout hash"
    )]
    Misaligned {
        /// Byte position of the reference, 0 for the block itself.
        at: usize,
        /// Alignment that is needed, in bytes.
        alignment: usize,
    },
    /// A reference points outside the block.
    #[error(
        "the reference at byte {at} covers {bytes} bytes from byte {offset}, but the block has \
         {block_bytes}: the message is damaged or of another layout; compare the layout hashes"
    )]
    OutOfBlock {
        /// Byte position of the reference in the block.
        at: usize,
        /// Offset that it holds.
        offset: u64,
        /// Bytes that it claims.
        bytes: u64,
        /// Bytes that the block has.
        block_bytes: usize,
    },
    /// The top bit of a capacity is set: the payload is in another memory space.
    #[error(
        "the field at byte {at} lives in an external buffer, which layout v1 reserves and this \
         version cannot read: let the publisher put the payload into the block"
    )]
    ExternalBuffer {
        /// Byte position of the reference in the block.
        at: usize,
    },
    /// A bounded field holds more elements than its type allows.
    #[error(
        "the field at byte {at} holds {length} elements, but its type allows {bound}: the \
         publisher broke the bound; check that both sides use one definition"
    )]
    OverBound {
        /// Byte position of the reference in the block, 0 if it is not known.
        at: usize,
        /// Elements that it holds.
        length: usize,
        /// Elements that the type allows.
        bound: usize,
    },
    /// Several references cover the same bytes, so that the message is larger than its block.
    #[error(
        "the message's fields together cover more than the block's {block_bytes} bytes: their \
         references overlap, so the message is damaged and is not converted"
    )]
    Overlap {
        /// Bytes that the block has.
        block_bytes: usize,
    },
    /// Every value was asked for, and the message has more than fit.
    #[error(
        "the message takes more than {limit} bytes of memory as JSON: read one field of it, or read \
         it with a program that has its type"
    )]
    JsonTooLarge {
        /// Most bytes.
        limit: usize,
    },
    /// A text does not end with a NUL byte, or a capacity is smaller than the length.
    #[error(
        "the field at byte {at} has length {length} and capacity {capacity} without room for its \
         end mark: the publisher does not follow flat layout v1"
    )]
    Capacity {
        /// Byte position of the reference in the block.
        at: usize,
        /// Length that it holds.
        length: u32,
        /// Capacity that it holds.
        capacity: u32,
    },
    /// A text is not valid UTF-8.
    #[error("the text of {bytes} bytes is not UTF-8 from byte {valid} on: read it as bytes")]
    NotUtf8 {
        /// Length of the text.
        bytes: usize,
        /// Bytes before the first wrong one.
        valid: usize,
    },
    /// A text is longer than the buffer that it was to be copied into.
    #[error(
        "the text has {bytes} bytes, but the buffer for its copy has {room}: give a longer one"
    )]
    NoRoom {
        /// Length of the text.
        bytes: usize,
        /// Length of the buffer.
        room: usize,
    },
    /// A message is larger than its encoding can express.
    #[error("the message needs more than {limit} bytes as CDR: split it into several messages")]
    TooLarge {
        /// Largest encoding in bytes.
        limit: usize,
    },
    /// One of the above, in a field with this path.
    #[error("field `{field}`: {cause}")]
    InField {
        /// Path of the field, such as `fields[3].name`.
        field: Box<str>,
        /// What is wrong there.
        cause: Box<FlatError>,
    },
}

/// Read access to the bytes of one message, which another process may still be writing.
///
/// A pointer and a length: copying it is free. No method blocks, allocates or locks; it may be
/// sent to other threads. See the module's head for memory visibility.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    start: *const u8,
    bytes: usize,
    lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: a block only reads memory that stays mapped for 'a, from any thread, like `&'a [u8]`.
unsafe impl Send for Block<'_> {}
// SAFETY: as above; it has no interior state.
unsafe impl Sync for Block<'_> {}

impl std::fmt::Debug for Block<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Block of {} bytes", self.bytes)
    }
}

/// A fetched reference: a copy that the memory's writer cannot change any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Bytes from the start of the block.
    pub offset: u64,
    /// Elements.
    pub length: u32,
    /// Elements that there is room for; its top bit is [`EXTERNAL_BUFFER`].
    pub capacity: u32,
}

impl<'a> Block<'a> {
    /// A block over bytes of this process.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { start: bytes.as_ptr(), bytes: bytes.len(), lifetime: PhantomData }
    }

    /// A block over memory that another process may write.
    ///
    /// # Safety
    ///
    /// `bytes` bytes from `start` must stay mapped and readable for `'a`. They may change.
    #[inline]
    pub const unsafe fn from_raw(start: *const u8, bytes: usize) -> Self {
        Self { start, bytes, lifetime: PhantomData }
    }

    /// Length in bytes.
    #[inline]
    pub const fn len(self) -> usize {
        self.bytes
    }

    /// Whether there is no byte at all.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.bytes == 0
    }

    /// Address of the first byte, for alignment checks and raw transfers.
    #[inline]
    pub const fn as_ptr(self) -> *const u8 {
        self.start
    }

    /// `count` bytes from byte `at`, or nothing when they are not all inside the block.
    #[inline]
    pub fn bytes(self, at: usize, count: usize) -> Option<&'a [u8]> {
        self.elements(at, count)
    }

    /// The whole block as bytes.
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        // SAFETY: `start` and `bytes` describe memory that stays mapped for 'a (constructors).
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    /// One number at byte `at` by a single volatile load, or nothing when it is not inside the
    /// block or not aligned.
    #[inline]
    pub fn read<V: Plain>(self, at: usize) -> Option<V> {
        let place = self.elements::<V>(at, 1)?.as_ptr();
        // SAFETY: `elements` checked bounds and alignment; every bit pattern of V is a value.
        Some(unsafe { place.read_volatile() })
    }

    /// Fetches the reference at byte `at`: each of its two 8-byte words by one load.
    #[inline]
    pub fn reference(self, at: usize) -> Result<Reference, FlatError> {
        let (Some(offset), Some(counts)) =
            (self.read::<u64>(at), at.checked_add(8).and_then(|at| self.read::<u64>(at)))
        else {
            return Err(self.out_of_block(at, at as u64, REFERENCE_BYTES as u64));
        };
        Ok(Reference { offset, length: counts as u32, capacity: (counts >> 32) as u32 })
    }

    /// The elements that the reference at byte `at` names. The reference is fetched once.
    ///
    /// # Errors
    ///
    /// The reference or its elements lie outside the block, are misaligned or external.
    #[inline]
    pub fn slice<V: Plain>(self, at: usize) -> Result<&'a [V], FlatError> {
        let reference = self.reference(at)?;
        self.slice_of(reference, at)
    }

    /// The elements that an already fetched reference names; `at` is for the error text only.
    #[inline]
    pub fn slice_of<V: Plain>(self, reference: Reference, at: usize) -> Result<&'a [V], FlatError> {
        if reference.capacity & EXTERNAL_BUFFER != 0 {
            return Err(FlatError::ExternalBuffer { at });
        }
        if reference.length == 0 {
            return Ok(&[]);
        }
        let found = usize::try_from(reference.offset)
            .ok()
            .and_then(|offset| self.elements::<V>(offset, reference.length as usize));
        match found {
            Some(slice) => Ok(slice),
            None => Err(self.refuse::<V>(reference, at)),
        }
    }

    /// Bounds of `reference.length` records of `stride` bytes, checked against the block.
    ///
    /// Gives the offset of the first and the count; both stay true whatever is written later.
    #[inline]
    pub fn records_of(
        self,
        reference: Reference,
        stride: usize,
        at: usize,
    ) -> Result<(usize, usize), FlatError> {
        if reference.capacity & EXTERNAL_BUFFER != 0 {
            return Err(FlatError::ExternalBuffer { at });
        }
        if reference.length == 0 {
            return Ok((0, 0));
        }
        let count = reference.length as usize;
        let outside = || {
            let bytes = (stride as u64).saturating_mul(u64::from(reference.length));
            self.out_of_block(at, reference.offset, bytes)
        };
        let offset = usize::try_from(reference.offset).map_err(|_| outside())?;
        let bytes = count.checked_mul(stride).ok_or_else(outside)?;
        if self.bytes(offset, bytes).is_none() {
            return Err(outside());
        }
        if !(self.start as usize).wrapping_add(offset).is_multiple_of(BLOCK_ALIGNMENT) {
            return Err(FlatError::Misaligned { at, alignment: BLOCK_ALIGNMENT });
        }
        Ok((offset, count))
    }

    #[inline]
    fn elements<V: Plain>(self, at: usize, count: usize) -> Option<&'a [V]> {
        let bytes = count.checked_mul(size_of::<V>())?;
        if at > self.bytes || bytes > self.bytes - at {
            return None;
        }
        // SAFETY: `at` is at most the block's length.
        let first = unsafe { self.start.add(at) };
        if !(first as usize).is_multiple_of(align_of::<V>()) {
            return None;
        }
        // SAFETY: bounds and alignment were just checked against this process's own values; every
        // bit pattern of V is a value; the memory stays mapped for 'a.
        Some(unsafe { std::slice::from_raw_parts(first.cast(), count) })
    }

    #[cold]
    fn refuse<V: Plain>(self, reference: Reference, at: usize) -> FlatError {
        let bytes = u64::from(reference.length) * size_of::<V>() as u64;
        match reference.offset.checked_add(bytes) {
            Some(end) if end <= self.bytes as u64 => {
                FlatError::Misaligned { at, alignment: align_of::<V>() }
            }
            _ => self.out_of_block(at, reference.offset, bytes),
        }
    }

    #[cold]
    fn out_of_block(self, at: usize, offset: u64, bytes: u64) -> FlatError {
        FlatError::OutOfBlock { at, offset, bytes, block_bytes: self.bytes }
    }
}

/// The bytes of numbers, in the order of this machine, which is little endian.
#[inline]
pub fn as_bytes<V: Plain>(values: &[V]) -> &[u8] {
    // SAFETY: numbers have no padding, and u8 has no alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of numbers, writable.
#[inline]
pub fn as_bytes_mut<V: Plain>(values: &mut [V]) -> &mut [u8] {
    let bytes = size_of_val(values);
    // SAFETY: as in `as_bytes`; any bytes are a V.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), bytes) }
}

/// Refuses a length above a bound; `at` is for the error text.
#[inline]
pub(crate) fn check_bound(at: usize, length: usize, bound: usize) -> Result<(), FlatError> {
    if length > bound { Err(FlatError::OverBound { at, length, bound }) } else { Ok(()) }
}
