//! Building a message in place: the root struct at byte 0, everything of variable length behind it.
//!
//! The memory is this process's own until the message is published, so plain writes do. Overflow is
//! an error, never a copy to somewhere else.

use super::build_error::{BuildError, FieldPlace};
use super::record::assert_nested;
use super::{
    BLOCK_ALIGNMENT, Plain, REFERENCE_BYTES, SequenceBuilder, SlicesBuilder, Text, array_alignment,
};
use crate::message::Message;
use std::marker::PhantomData;

/// The same error of the field at byte `offset` of a struct of type `M`.
#[cold]
fn in_struct<M: Message>(error: BuildError, offset: usize) -> BuildError {
    error.in_struct(M::TYPE_NAME, M::DEFINITION, offset)
}

/// Most elements that a reference can name; its capacity counts a text's NUL byte, too.
const LENGTH_MAX: usize = (super::EXTERNAL_BUFFER - 2) as usize;

/// Writable memory of one message under construction.
///
/// `top` is the end of the part in use: 0 before the root struct is set up. It outlives the
/// builders, so that a message may be built in several steps. Not shared between threads; no method
/// blocks or allocates.
pub struct BlockMut<'a> {
    memory: &'a mut [u8],
    top: &'a mut usize,
}

impl<'a> BlockMut<'a> {
    /// Memory to build in. Its first byte must be aligned to 8, better to 64, bytes.
    #[inline]
    pub fn new(memory: &'a mut [u8], top: &'a mut usize) -> Self {
        Self { memory, top }
    }

    /// The same block for a shorter time.
    #[inline]
    pub fn reborrow(&mut self) -> BlockMut<'_> {
        BlockMut { memory: self.memory, top: self.top }
    }

    /// Bytes in use: what has to be published.
    #[inline]
    pub fn used(&self) -> usize {
        *self.top
    }

    /// Claims `bytes` bytes of the tail at a multiple of `alignment`; `at` is for the error text.
    #[inline]
    fn claim(&mut self, at: usize, bytes: usize, alignment: usize) -> Result<usize, BuildError> {
        let start = self.top.next_multiple_of(alignment);
        match start.checked_add(bytes) {
            Some(end) if end <= self.memory.len() => {
                *self.top = end;
                Ok(start)
            }
            _ => Err(self.overflow(at, bytes, alignment)),
        }
    }

    #[cold]
    fn overflow(&self, at: usize, bytes: usize, alignment: usize) -> BuildError {
        let block_bytes = self.memory.len();
        let padding = self.top.next_multiple_of(alignment) - *self.top;
        let free = block_bytes.saturating_sub(*self.top);
        let (field, wanted) = (FieldPlace::element(at), bytes.saturating_add(padding));
        BuildError::Overflow { field, wanted, free, block_bytes }
    }

    #[inline]
    fn set_reference(&mut self, at: usize, offset: usize, length: usize, capacity: usize) {
        let words = [offset as u64, length as u64 | ((capacity as u64) << 32)];
        let place = self.range_mut(at, REFERENCE_BYTES);
        place[..8].copy_from_slice(&words[0].to_le_bytes());
        place[8..].copy_from_slice(&words[1].to_le_bytes());
    }

    /// Claims room for `length` numbers and points the reference at byte `at` there.
    #[inline]
    pub(super) fn claim_slice<V: Plain>(
        &mut self,
        at: usize,
        length: usize,
    ) -> Result<&mut [V], BuildError> {
        if length == 0 {
            self.set_reference(at, 0, 0, 0);
            return Ok(&mut []);
        }
        check_length(at, length, LENGTH_MAX)?;
        let bytes = length.saturating_mul(size_of::<V>());
        let start = self.claim(at, bytes, array_alignment(bytes))?;
        self.set_reference(at, start, length, length);
        Ok(self.slice_mut(start, length))
    }

    #[inline]
    fn slice_mut<V: Plain>(&mut self, at: usize, length: usize) -> &mut [V] {
        let place = &mut self.memory[at..at + length * size_of::<V>()];
        let first = place.as_mut_ptr();
        assert!((first as usize).is_multiple_of(align_of::<V>()), "the block is not aligned to 8");
        // SAFETY: `place` is exclusively ours, long enough and aligned (assertion above); any bits
        // are a V.
        unsafe { std::slice::from_raw_parts_mut(first.cast(), length) }
    }

    /// Copies `text` and a NUL byte to the tail and points the reference at byte `at` there.
    #[inline]
    pub(super) fn set_text(&mut self, at: usize, text: Text<'_>) -> Result<(), BuildError> {
        if text.is_empty() {
            self.set_reference(at, 0, 0, 0);
            return Ok(());
        }
        check_length(at, text.len(), LENGTH_MAX)?;
        let start = self.claim(at, text.len() + 1, 1)?;
        let place = self.range_mut(start, text.len() + 1);
        text.copy_bytes(&mut place[..text.len()]);
        place[text.len()] = 0;
        self.set_reference(at, start, text.len(), text.len() + 1);
        Ok(())
    }

    /// Claims `count` zeroed structs and points the reference at byte `at` there.
    #[inline]
    fn claim_records(
        &mut self,
        at: usize,
        count: usize,
        stride: usize,
    ) -> Result<usize, BuildError> {
        if count == 0 {
            self.set_reference(at, 0, 0, 0);
            return Ok(0);
        }
        check_length(at, count, LENGTH_MAX)?;
        let bytes = count.saturating_mul(stride);
        let start = self.claim(at, bytes, BLOCK_ALIGNMENT)?;
        self.range_mut(start, bytes).fill(0);
        self.set_reference(at, start, count, count);
        Ok(start)
    }

    /// `count` bytes from byte `at` on. Callers have checked that they are inside the block.
    #[inline]
    pub(super) fn range_mut(&mut self, at: usize, count: usize) -> &mut [u8] {
        &mut self.memory[at..at + count]
    }
}

/// Refuses a length above a bound.
#[inline]
fn check_length(at: usize, length: usize, bound: usize) -> Result<(), BuildError> {
    if length <= bound {
        return Ok(());
    }
    let field = FieldPlace::element(at);
    Err(BuildError::OverBound { field, length, bound })
}

/// A struct of message type `M` under construction: the part of a builder that touches memory.
///
/// Not shared between threads; no method blocks or allocates. What is written here becomes visible
/// to subscribers when the loan is published, not before.
pub struct RecordMut<'a, M> {
    block: BlockMut<'a>,
    /// Invariant: `at + M::ROOT_BYTES <= block.memory.len()`, aligned for M.
    at: usize,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> std::fmt::Debug for RecordMut<'_, M> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} at byte {}, under construction", M::TYPE_NAME, self.at)
    }
}

impl<'a, M: Message> RecordMut<'a, M> {
    /// The root struct of a block; zeroed when the block's `top` is 0, left as it is otherwise.
    ///
    /// # Panics
    ///
    /// The memory is shorter than `M::ROOT_BYTES` or not aligned to 8 bytes.
    #[inline]
    pub fn root(block: BlockMut<'a>) -> Self {
        const { assert!(M::ROOT_ALIGNMENT <= BLOCK_ALIGNMENT) };
        let start = block.memory.as_ptr() as usize;
        assert!(
            block.memory.len() >= M::ROOT_BYTES && start.is_multiple_of(BLOCK_ALIGNMENT),
            "memory for a {} needs {} bytes aligned to 8",
            M::TYPE_NAME,
            M::ROOT_BYTES
        );
        if *block.top < M::ROOT_BYTES {
            block.memory[..M::ROOT_BYTES].fill(0);
            *block.top = M::ROOT_BYTES;
        }
        Self { block, at: 0, message: PhantomData }
    }

    /// # Safety
    ///
    /// `at + M::ROOT_BYTES` is at most the memory's length, and byte `at` is aligned for M.
    #[inline]
    pub(super) unsafe fn unchecked(block: BlockMut<'a>, at: usize) -> Self {
        Self { block, at, message: PhantomData }
    }

    /// Byte offset of the struct in its block.
    #[inline]
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Bytes of the whole block in use so far.
    #[inline]
    pub fn used(&self) -> usize {
        self.block.used()
    }

    #[inline]
    fn place<V, const AT: usize, const COUNT: usize>(&mut self) -> *mut V {
        const {
            assert!(
                AT + COUNT * size_of::<V>() <= M::ROOT_BYTES,
                "the field is outside the struct"
            );
            assert!(AT.is_multiple_of(align_of::<V>()), "the field's offset is not aligned");
            assert!(
                align_of::<V>() <= M::ROOT_ALIGNMENT,
                "the struct is aligned less than a field"
            );
        }
        let at = self.at + AT;
        // SAFETY: the struct is inside the memory (invariant) and the field inside the struct
        // (checked above at compile time).
        unsafe { self.block.memory.as_mut_ptr().add(at) }.cast()
    }

    /// Sets the number at byte `AT`.
    #[inline]
    pub fn set<V: Plain, const AT: usize>(&mut self, value: V) {
        let place = self.place::<V, AT, 1>();
        // SAFETY: inside the struct and aligned (`place`); the memory is exclusively ours.
        unsafe { place.write(value) }
    }

    /// Sets the bool at byte `AT`.
    #[inline]
    pub fn set_flag<const AT: usize>(&mut self, value: bool) {
        self.set::<u8, AT>(u8::from(value));
    }

    /// The array at byte `AT`, to be filled in place.
    #[inline]
    pub fn array_mut<V: Plain, const AT: usize, const COUNT: usize>(&mut self) -> &mut [V; COUNT] {
        let first = self.place::<[V; COUNT], AT, 1>();
        // SAFETY: as in `set`; any bits are a V.
        unsafe { &mut *first }
    }

    /// The struct's bytes from `AT` on: a run of plain fields, for conversion by one copy.
    #[inline]
    pub fn bytes_mut<const AT: usize, const BYTES: usize>(&mut self) -> &mut [u8] {
        self.array_mut::<u8, AT, BYTES>()
    }

    /// The nested struct at byte `AT`.
    #[inline]
    pub fn nested<N: Message, const AT: usize>(&mut self) -> RecordMut<'_, N> {
        const { assert_nested::<M, N>(AT, 1) };
        let at = self.at + AT;
        // SAFETY: inside the struct and aligned by the assertion above.
        unsafe { RecordMut::unchecked(self.block.reborrow(), at) }
    }

    /// A fixed array of structs at byte `AT`.
    #[inline]
    pub fn nested_array<N: Message, const AT: usize, const COUNT: usize>(
        &mut self,
    ) -> SequenceBuilder<'_, N> {
        const { assert_nested::<M, N>(AT, COUNT) };
        let at = self.at + AT;
        // SAFETY: inside the struct and aligned by the assertion above.
        unsafe { SequenceBuilder::<N>::unchecked(self.block.reborrow(), at, COUNT) }
    }

    /// A fixed array of texts at byte `AT`.
    #[inline]
    pub fn slices_array<V: Plain, const AT: usize, const COUNT: usize>(
        &mut self,
    ) -> SlicesBuilder<'_, V> {
        let _ = self.place::<[u64; 2], AT, COUNT>();
        let at = self.at + AT;
        SlicesBuilder::inside(self.block.reborrow(), at, COUNT)
    }

    /// Copies `text` and a NUL byte to the tail. Setting a field again takes new room.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    #[inline]
    pub fn set_text<const AT: usize>(&mut self, text: Text<'_>) -> Result<(), BuildError> {
        let _ = self.place::<[u64; 2], AT, 1>();
        self.block.set_text(self.at + AT, text).map_err(|error| in_struct::<M>(error, AT))
    }

    /// Room for `length` numbers in the tail; contents are unspecified.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    #[inline]
    pub fn slice_uninit<V: Plain, const AT: usize>(
        &mut self,
        length: usize,
    ) -> Result<&mut [V], BuildError> {
        let _ = self.place::<[u64; 2], AT, 1>();
        self.block.claim_slice(self.at + AT, length).map_err(|error| in_struct::<M>(error, AT))
    }

    /// Copies `values` to the tail.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    #[inline]
    pub fn set_slice<V: Plain, const AT: usize>(&mut self, values: &[V]) -> Result<(), BuildError> {
        self.slice_uninit::<V, AT>(values.len())?.copy_from_slice(values);
        Ok(())
    }

    /// Copies the bytes of numbers to the tail; what does not make up a whole number is left out.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    #[inline]
    pub fn set_slice_bytes<V: Plain, const AT: usize>(
        &mut self,
        bytes: &[u8],
    ) -> Result<(), BuildError> {
        let values = self.slice_uninit::<V, AT>(bytes.len() / size_of::<V>())?;
        let place = super::as_bytes_mut(values);
        place.copy_from_slice(&bytes[..place.len()]);
        Ok(())
    }

    /// Room for `count` structs in the tail, all zero.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    #[inline]
    pub fn sequence<N: Message, const AT: usize>(
        &mut self,
        count: usize,
    ) -> Result<SequenceBuilder<'_, N>, BuildError> {
        const {
            assert!(N::ROOT_ALIGNMENT <= BLOCK_ALIGNMENT);
            assert!(N::ROOT_BYTES.is_multiple_of(N::ROOT_ALIGNMENT));
        }
        let _ = self.place::<[u64; 2], AT, 1>();
        let start = self.block.claim_records(self.at + AT, count, N::ROOT_BYTES);
        let start = start.map_err(|error| in_struct::<M>(error, AT))?;
        // SAFETY: `claim_records` made room for `count` structs at a multiple of 8 from the start
        // of the memory, which `root` checked to be aligned to 8.
        Ok(unsafe { SequenceBuilder::<N>::unchecked(self.block.reborrow(), start, count) })
    }

    /// Room for `count` references to texts or other runs of numbers in the tail, all empty.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    #[inline]
    pub fn slices<V: Plain, const AT: usize>(
        &mut self,
        count: usize,
    ) -> Result<SlicesBuilder<'_, V>, BuildError> {
        let _ = self.place::<[u64; 2], AT, 1>();
        let start = self.block.claim_records(self.at + AT, count, REFERENCE_BYTES);
        let start = start.map_err(|error| in_struct::<M>(error, AT))?;
        Ok(SlicesBuilder::inside(self.block.reborrow(), start, count))
    }

    /// Refuses a length above the bound of the field at byte `AT`.
    ///
    /// # Errors
    ///
    /// The length is above the bound.
    #[inline]
    pub fn check_bound<const AT: usize>(
        &self,
        length: usize,
        bound: usize,
    ) -> Result<(), BuildError> {
        check_length(self.at + AT, length, bound).map_err(|error| in_struct::<M>(error, AT))
    }

    /// The elements that were set or reserved last for the field at byte `AT`.
    #[inline]
    pub fn slice_mut<V: Plain, const AT: usize>(&mut self) -> &mut [V] {
        let words = *self.array_mut::<u64, AT, 2>();
        let (start, length) = (words[0] as usize, words[1] as u32 as usize);
        let used = *self.block.top;
        let inside = length
            .checked_mul(size_of::<V>())
            .and_then(|bytes| start.checked_add(bytes))
            .is_some_and(|end| end <= used);
        // The reference was written by this builder; one that it did not write reads as empty.
        if inside && length > 0 { self.block.slice_mut(start, length) } else { &mut [] }
    }
}
