//! How many bytes a message needs beside its root struct.
//!
//! The sum is an upper bound that does not depend on the order in which fields are set, because it
//! counts the largest padding that each one may need.

use super::{BLOCK_ALIGNMENT, REFERENCE_BYTES, array_alignment};
use crate::message::Message;

/// Room to reserve behind a message's root struct for texts and sequences.
///
/// Pure arithmetic: neither blocks nor allocates. Sums saturate, and a saturated sum is refused as
/// too large when memory is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    bytes: usize,
}

impl Extra {
    /// No room: a message without texts and sequences, or with all of them empty.
    #[inline]
    pub const fn none() -> Self {
        Self { bytes: 0 }
    }

    /// Exactly this many bytes, for callers that worked out the layout themselves.
    #[inline]
    pub const fn exactly(bytes: usize) -> Self {
        Self { bytes }
    }

    /// A text of `length` bytes and its NUL byte.
    #[inline]
    #[must_use]
    pub const fn text(self, length: usize) -> Self {
        if length == 0 { self } else { self.add(length.saturating_add(1)) }
    }

    /// A sequence of `count` bytes.
    #[inline]
    #[must_use]
    pub const fn bytes(self, count: usize) -> Self {
        self.values::<u8>(count)
    }

    /// A sequence of `count` numbers.
    #[inline]
    #[must_use]
    pub const fn values<V>(self, count: usize) -> Self {
        let bytes = count.saturating_mul(size_of::<V>());
        if bytes == 0 { self } else { self.add(bytes.saturating_add(array_alignment(bytes) - 1)) }
    }

    /// A sequence of `count` structs. Texts and sequences inside them are added on their own.
    #[inline]
    #[must_use]
    pub const fn sequence<M: Message>(self, count: usize) -> Self {
        self.records(count, M::ROOT_BYTES)
    }

    /// A sequence of `count` texts. Each text is added on its own.
    #[inline]
    #[must_use]
    pub const fn references(self, count: usize) -> Self {
        self.records(count, REFERENCE_BYTES)
    }

    /// Bytes to reserve behind the root struct, padding included.
    #[inline]
    pub const fn total(self) -> usize {
        self.bytes
    }

    #[inline]
    const fn records(self, count: usize, stride: usize) -> Self {
        let bytes = count.saturating_mul(stride);
        if bytes == 0 { self } else { self.add(bytes.saturating_add(BLOCK_ALIGNMENT - 1)) }
    }

    #[inline]
    const fn add(self, bytes: usize) -> Self {
        Self { bytes: self.bytes.saturating_add(bytes) }
    }
}
