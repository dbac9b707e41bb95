//! One struct of the flat layout inside a block, read at offsets that are compile-time constants.
//!
//! It knows no field names; generated views give it offsets, and constants that do not fit into the
//! struct do not compile.

use super::{Block, FlatError, Plain, REFERENCE_BYTES, Reference, Sequence, Slices, Text, Texts};
use crate::message::Message;
use std::marker::PhantomData;

/// A struct of message type `M` inside a block: the part of a view that touches memory.
///
/// Copying it is free; no method blocks, allocates or locks. See [`crate::block`] for memory
/// visibility.
pub struct Record<'a, M> {
    block: Block<'a>,
    /// Byte offset of the struct. Invariant: `at + M::ROOT_BYTES <= block.len()`, and the address
    /// is a multiple of `M::ROOT_ALIGNMENT`.
    at: usize,
    message: PhantomData<fn() -> M>,
}

impl<M> Clone for Record<'_, M> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Record<'_, M> {}

impl<M: Message> std::fmt::Debug for Record<'_, M> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} at byte {} of {:?}", M::TYPE_NAME, self.at, self.block)
    }
}

impl<'a, M: Message> Record<'a, M> {
    /// The root struct of a block.
    ///
    /// # Errors
    ///
    /// The block is too short or does not start at a multiple of 8.
    #[inline]
    pub fn root(block: Block<'a>) -> Result<Self, FlatError> {
        const { assert!(M::ROOT_ALIGNMENT <= super::BLOCK_ALIGNMENT) };
        if block.len() < M::ROOT_BYTES {
            let (block_bytes, root_bytes) = (block.len(), M::ROOT_BYTES);
            return Err(FlatError::TooShort { block_bytes, root_bytes });
        }
        if !(block.as_ptr() as usize).is_multiple_of(super::BLOCK_ALIGNMENT) {
            return Err(FlatError::Misaligned { at: 0, alignment: super::BLOCK_ALIGNMENT });
        }
        Ok(Self { block, at: 0, message: PhantomData })
    }

    /// # Safety
    ///
    /// `at + M::ROOT_BYTES <= block.len()`, and the address of byte `at` is a multiple of
    /// `M::ROOT_ALIGNMENT`.
    #[inline]
    pub(super) const unsafe fn unchecked(block: Block<'a>, at: usize) -> Self {
        Self { block, at, message: PhantomData }
    }

    /// The block that the struct lies in.
    #[inline]
    pub const fn block(self) -> Block<'a> {
        self.block
    }

    #[inline]
    fn place<V, const AT: usize, const COUNT: usize>(self) -> *const V {
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
        // SAFETY: the struct is inside the block (invariant) and the field inside the struct
        // (checked above at compile time).
        unsafe { self.block.start.add(self.at + AT) }.cast()
    }

    /// The number at byte `AT`, by one volatile load.
    #[inline]
    pub fn get<V: Plain, const AT: usize>(self) -> V {
        let place = self.place::<V, AT, 1>();
        // SAFETY: `place` is inside the struct and aligned for V, because the struct's address and
        // `AT` are (invariant and `place`); any bits are a V.
        unsafe { place.read_volatile() }
    }

    /// The bool at byte `AT`: any value but 0 is true.
    #[inline]
    pub fn flag<const AT: usize>(self) -> bool {
        self.get::<u8, AT>() != 0
    }

    /// A small array by value, each element by one volatile load.
    #[inline]
    pub fn array<V: Plain, const AT: usize, const COUNT: usize>(self) -> [V; COUNT] {
        let first = self.place::<V, AT, COUNT>();
        std::array::from_fn(|index| {
            // SAFETY: index < COUNT, and `place` checked room for COUNT elements.
            let place = unsafe { first.add(index) };
            // SAFETY: as in `get`.
            unsafe { place.read_volatile() }
        })
    }

    /// A large array in place.
    #[inline]
    pub fn array_ref<V: Plain, const AT: usize, const COUNT: usize>(self) -> &'a [V; COUNT] {
        let first = self.place::<[V; COUNT], AT, 1>();
        // SAFETY: as in `get`; the memory stays mapped for 'a.
        unsafe { &*first }
    }

    /// The struct's bytes from `AT` on: a run of plain fields, for conversion by one copy.
    #[inline]
    pub fn bytes<const AT: usize, const BYTES: usize>(self) -> &'a [u8] {
        self.array_ref::<u8, AT, BYTES>()
    }

    /// The nested struct at byte `AT`.
    #[inline]
    pub fn nested<N: Message, const AT: usize>(self) -> Record<'a, N> {
        const { assert_nested::<M, N>(AT, 1) };
        // SAFETY: inside the struct and aligned by the assertion above.
        unsafe { Record::unchecked(self.block, self.at + AT) }
    }

    /// Fetches the reference at byte `AT`: each of its two 8-byte words by one volatile load.
    #[inline]
    pub fn reference<const AT: usize>(self) -> Reference {
        let _ = self.place::<u8, AT, REFERENCE_BYTES>();
        let words = self.array::<u64, AT, 2>();
        let (length, capacity) = (words[1] as u32, (words[1] >> 32) as u32);
        Reference { offset: words[0], length, capacity }
    }

    /// The elements that the reference at byte `AT` names; checked at every call.
    ///
    /// # Errors
    ///
    /// The elements lie outside the block, are misaligned or external.
    #[inline]
    pub fn slice<V: Plain, const AT: usize>(self) -> Result<&'a [V], FlatError> {
        self.block.slice_of(self.reference::<AT>(), self.at + AT)
    }

    /// The text that the reference at byte `AT` names; checked at every call.
    ///
    /// # Errors
    ///
    /// The text lies outside the block or is external.
    #[inline]
    pub fn text<const AT: usize>(self) -> Result<Text<'a>, FlatError> {
        Ok(Text::new(self.slice::<u8, AT>()?))
    }

    /// The structs that the reference at byte `AT` names; checked at every call.
    ///
    /// # Errors
    ///
    /// The structs lie outside the block, are misaligned or external.
    #[inline]
    pub fn sequence<N: Message, const AT: usize>(self) -> Result<Sequence<'a, N>, FlatError> {
        Sequence::of(self.block, self.reference::<AT>(), self.at + AT)
    }

    /// The texts that the reference at byte `AT` names.
    ///
    /// # Errors
    ///
    /// The array of references lies outside the block, is misaligned or external.
    #[inline]
    pub fn texts<const AT: usize>(self) -> Result<Texts<'a>, FlatError> {
        Texts::of(self.block, self.reference::<AT>(), self.at + AT)
    }

    /// The runs of numbers that the reference at byte `AT` names.
    ///
    /// # Errors
    ///
    /// The array of references lies outside the block, is misaligned or external.
    #[inline]
    pub fn slices<V: Plain, const AT: usize>(self) -> Result<Slices<'a, V>, FlatError> {
        Slices::of(self.block, self.reference::<AT>(), self.at + AT)
    }

    /// Refuses a length above the bound of the field at byte `AT`.
    ///
    /// # Errors
    ///
    /// The length is above the bound.
    #[inline]
    pub fn check_bound<const AT: usize>(
        self,
        length: usize,
        bound: usize,
    ) -> Result<(), FlatError> {
        super::check_bound(self.at + AT, length, bound)
    }

    /// A fixed array of structs at byte `AT`.
    #[inline]
    pub fn nested_array<N: Message, const AT: usize, const COUNT: usize>(self) -> Sequence<'a, N> {
        const { assert_nested::<M, N>(AT, COUNT) };
        // SAFETY: inside the struct and aligned by the assertion above.
        unsafe { Sequence::unchecked(self.block, self.at + AT, COUNT) }
    }

    /// A fixed array of texts at byte `AT`.
    #[inline]
    pub fn texts_array<const AT: usize, const COUNT: usize>(self) -> Texts<'a> {
        let _ = self.place::<[u64; 2], AT, COUNT>();
        Texts::inline_array(self.block, self.at + AT, COUNT)
    }

    /// A fixed array of runs of numbers at byte `AT`.
    #[inline]
    pub fn slices_array<V: Plain, const AT: usize, const COUNT: usize>(self) -> Slices<'a, V> {
        let _ = self.place::<[u64; 2], AT, COUNT>();
        Slices::inline_array(self.block, self.at + AT, COUNT)
    }
}

/// Stops the build when `count` structs N at byte `at` would leave struct M or be misaligned.
pub(super) const fn assert_nested<M: Message, N: Message>(at: usize, count: usize) {
    assert!(at + count * N::ROOT_BYTES <= M::ROOT_BYTES, "the field is outside the struct");
    assert!(N::ROOT_ALIGNMENT <= M::ROOT_ALIGNMENT, "the struct is aligned less than a field");
    assert!(at.is_multiple_of(N::ROOT_ALIGNMENT), "the field's offset is not aligned");
    assert!(N::ROOT_BYTES.is_multiple_of(N::ROOT_ALIGNMENT), "the struct's size is not aligned");
}
