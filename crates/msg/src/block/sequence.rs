//! Sequences of structs and of references: their bounds are checked once, when they are made, and
//! kept in this process.
//!
//! Element contents are checked at each access; see `mod` for the protocol.

use super::record::Record;
use super::{
    Block, BlockMut, BuildError, FlatError, Plain, REFERENCE_BYTES, RecordMut, Reference, Text,
};
use crate::message::Message;
use std::marker::PhantomData;

/// Structs of message type `M`, one after the other inside a block.
///
/// Copying it is free; no method blocks, allocates or locks.
pub struct Sequence<'a, M> {
    block: Block<'a>,
    /// Invariant: `at + count * M::ROOT_BYTES <= block.len()`, each struct aligned.
    at: usize,
    count: usize,
    message: PhantomData<fn() -> M>,
}

impl<M> Clone for Sequence<'_, M> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Sequence<'_, M> {}

impl<M: Message> std::fmt::Debug for Sequence<'_, M> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} x {} at byte {}", self.count, M::TYPE_NAME, self.at)
    }
}

impl<'a, M: Message> Sequence<'a, M> {
    #[inline]
    pub(super) fn of(block: Block<'a>, reference: Reference, at: usize) -> Result<Self, FlatError> {
        const {
            assert!(M::ROOT_ALIGNMENT <= super::BLOCK_ALIGNMENT);
            assert!(M::ROOT_BYTES.is_multiple_of(M::ROOT_ALIGNMENT));
        }
        let (at, count) = block.records_of(reference, M::ROOT_BYTES, at)?;
        Ok(Self { block, at, count, message: PhantomData })
    }

    /// # Safety
    ///
    /// `count` structs from byte `at` on are inside the block, and each is aligned for M.
    #[inline]
    pub(super) const unsafe fn unchecked(block: Block<'a>, at: usize, count: usize) -> Self {
        Self { block, at, count, message: PhantomData }
    }

    /// Number of elements.
    #[inline]
    pub const fn len(self) -> usize {
        self.count
    }

    /// Whether there is no element.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Element `index`, or nothing when there are fewer.
    #[inline]
    pub fn get(self, index: usize) -> Option<M::View<'a>> {
        if index >= self.count {
            return None;
        }
        // SAFETY: index < count, so the struct is inside the block (invariant) and aligned.
        let record = unsafe { Record::unchecked(self.block, self.at + index * M::ROOT_BYTES) };
        Some(record.into())
    }

    /// All elements in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = M::View<'a>> + Clone {
        (0..self.count).map(move |index| {
            // SAFETY: index < count, as in `get`.
            unsafe { Record::unchecked(self.block, self.at + index * M::ROOT_BYTES) }.into()
        })
    }

    /// All elements' structs as bytes, padding included.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        // The invariant says that the bytes are inside the block.
        self.block.bytes(self.at, self.count * M::ROOT_BYTES).unwrap_or(&[])
    }
}

/// A sequence of runs of numbers: an array of references inside a block.
pub struct Slices<'a, V> {
    block: Block<'a>,
    /// Invariant: `at + count * REFERENCE_BYTES <= block.len()`.
    at: usize,
    count: usize,
    element: PhantomData<fn() -> V>,
}

impl<V> Clone for Slices<'_, V> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Slices<'_, V> {}

impl<V> std::fmt::Debug for Slices<'_, V> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} references at byte {}", self.count, self.at)
    }
}

impl<'a, V: Plain> Slices<'a, V> {
    #[inline]
    pub(super) fn of(block: Block<'a>, reference: Reference, at: usize) -> Result<Self, FlatError> {
        let (at, count) = block.records_of(reference, REFERENCE_BYTES, at)?;
        Ok(Self { block, at, count, element: PhantomData })
    }

    #[inline]
    pub(super) const fn inline_array(block: Block<'a>, at: usize, count: usize) -> Self {
        Self { block, at, count, element: PhantomData }
    }

    /// Number of elements.
    #[inline]
    pub const fn len(self) -> usize {
        self.count
    }

    /// Whether there is no element.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Element `index`, or nothing when there are fewer.
    ///
    /// # Errors
    ///
    /// The element lies outside the block, is misaligned or external.
    #[inline]
    pub fn get(self, index: usize) -> Option<Result<&'a [V], FlatError>> {
        (index < self.count).then(|| self.block.slice(self.at + index * REFERENCE_BYTES))
    }

    /// Refuses an element's length above the bound of its type.
    ///
    /// # Errors
    ///
    /// The length is above the bound.
    #[inline]
    pub fn check_bound(self, length: usize, bound: usize) -> Result<(), FlatError> {
        super::check_bound(self.at, length, bound)
    }

    /// All elements in order, each checked when it is reached.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = Result<&'a [V], FlatError>> + Clone {
        (0..self.count).map(move |index| self.block.slice(self.at + index * REFERENCE_BYTES))
    }
}

/// Elements of a sequence of structs while a message is built.
pub struct SequenceBuilder<'a, M> {
    block: BlockMut<'a>,
    /// Invariant as in [`Sequence`].
    at: usize,
    count: usize,
    message: PhantomData<fn() -> M>,
}

impl<M: Message> SequenceBuilder<'_, M> {
    /// # Safety
    ///
    /// `count` structs from byte `at` on are inside the block, and each is aligned for M.
    #[inline]
    pub(super) unsafe fn unchecked(
        block: BlockMut<'_>,
        at: usize,
        count: usize,
    ) -> SequenceBuilder<'_, M> {
        SequenceBuilder { block, at, count, message: PhantomData }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Element `index`, to be filled in place; all its fields are zero or empty at first.
    ///
    /// # Panics
    ///
    /// `index` is not below the count that was asked for.
    #[inline]
    pub fn at(&mut self, index: usize) -> M::Builder<'_> {
        assert!(index < self.count, "element {index} of a sequence of {}", self.count);
        let at = self.at + index * M::ROOT_BYTES;
        // SAFETY: index < count, so the struct is inside the block (invariant) and aligned.
        unsafe { RecordMut::unchecked(self.block.reborrow(), at) }.into()
    }

    /// All elements' structs as bytes, for conversion by one copy.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.block.range_mut(self.at, self.count * M::ROOT_BYTES)
    }
}

/// Elements of a sequence of texts while a message is built.
pub struct SlicesBuilder<'a, V> {
    block: BlockMut<'a>,
    /// Invariant: `at + count * REFERENCE_BYTES <= block.len()`.
    at: usize,
    count: usize,
    element: PhantomData<fn() -> V>,
}

impl<'a, V: Plain> SlicesBuilder<'a, V> {
    #[inline]
    pub(super) fn inside(block: BlockMut<'a>, at: usize, count: usize) -> Self {
        Self { block, at, count, element: PhantomData }
    }

    /// Number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no element.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Room for `length` numbers as element `index`; contents are unspecified.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    ///
    /// # Panics
    ///
    /// `index` is not below the count that was asked for.
    #[inline]
    pub fn uninit(&mut self, index: usize, length: usize) -> Result<&mut [V], BuildError> {
        assert!(index < self.count, "element {index} of a sequence of {}", self.count);
        self.block.claim_slice(self.at + index * REFERENCE_BYTES, length)
    }

    /// Copies `values` in as element `index`.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    ///
    /// # Panics
    ///
    /// `index` is not below the count that was asked for.
    #[inline]
    pub fn set(&mut self, index: usize, values: &[V]) -> Result<(), BuildError> {
        self.uninit(index, values.len())?.copy_from_slice(values);
        Ok(())
    }
}

impl SlicesBuilder<'_, u8> {
    /// Copies `text` in as element `index`, followed by its NUL byte.
    ///
    /// # Errors
    ///
    /// The block has no room left.
    ///
    /// # Panics
    ///
    /// `index` is not below the count that was asked for.
    #[inline]
    pub fn set_text(&mut self, index: usize, text: Text<'_>) -> Result<(), BuildError> {
        assert!(index < self.count, "element {index} of a sequence of {}", self.count);
        self.block.set_text(self.at + index * REFERENCE_BYTES, text)
    }
}
