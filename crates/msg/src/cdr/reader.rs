//! Steps of decoding: each one aligns, checks against the input's end, and moves on.
//!
//! Lengths are checked against the bytes that are left before anything is made from them.

#![forbid(unsafe_code)]

use super::{CdrError, HEADER_BYTES, HEADER_LITTLE_ENDIAN, PADDING_MAX};
use crate::block::{BLOCK_ALIGNMENT, array_alignment};

/// Most strict alignment in XCDR1: of float128, too.
const ALIGNMENT_MAX: usize = 8;

/// A position in one encoded message. Neither blocks nor allocates.
#[derive(Clone, Debug)]
pub struct CdrReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A wide text as encoded: 4 bytes per UTF-16 unit, all checked to fit.
#[derive(Clone, Copy, Debug)]
pub struct WideText<'a> {
    units: &'a [u8],
}

impl<'a> WideText<'a> {
    /// Number of UTF-16 units.
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "only copied, never asked")]
    pub fn len(self) -> usize {
        self.units.len() / 4
    }

    /// Copies the units out.
    ///
    /// # Panics
    ///
    /// `units` is not [`WideText::len`] long.
    #[inline]
    pub fn copy_to(self, units: &mut [u16]) {
        assert_eq!(units.len(), self.len());
        for (place, unit) in units.iter_mut().zip(self.units()) {
            *place = unit;
        }
    }

    /// The units in order.
    #[inline]
    pub fn units(self) -> impl Iterator<Item = u16> + use<'a> {
        self.units.chunks_exact(4).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }
}

impl<'a> CdrReader<'a> {
    /// Starts behind the header.
    ///
    /// # Errors
    ///
    /// The input is shorter than the header, or not XCDR1 little endian.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, CdrError> {
        let Some(header) = bytes.get(..HEADER_BYTES) else {
            return Err(CdrError::TooShort { at: 0, wanted: HEADER_BYTES, bytes: bytes.len() });
        };
        if header[..2] != HEADER_LITTLE_ENDIAN[..2] {
            return Err(CdrError::Encoding { header: [header[0], header[1]] });
        }
        Ok(Self { bytes, at: HEADER_BYTES })
    }

    /// Checks that the whole input was used, up to padding of 3 bytes.
    ///
    /// # Errors
    ///
    /// There is more.
    #[inline]
    pub fn finish(&self) -> Result<(), CdrError> {
        if self.bytes.len() - self.at > PADDING_MAX {
            return Err(CdrError::Trailing { at: self.at, bytes: self.bytes.len() });
        }
        Ok(())
    }

    /// The next `count` bytes, which start at a multiple of `alignment` from the header's end.
    ///
    /// # Errors
    ///
    /// The input ends before.
    #[inline]
    pub fn run(&mut self, count: usize, alignment: usize) -> Result<&'a [u8], CdrError> {
        // The header's length is a multiple of 4 only, so positions count from its end.
        let start = (self.at - HEADER_BYTES).next_multiple_of(alignment) + HEADER_BYTES;
        let found = start.checked_add(count).and_then(|end| self.bytes.get(start..end));
        match found {
            Some(bytes) => {
                self.at = start + count;
                Ok(bytes)
            }
            None => Err(self.too_short(start, count)),
        }
    }

    /// A sequence's length, refused when its elements of at least `bytes_min` bytes cannot fit.
    ///
    /// # Errors
    ///
    /// The input ends before.
    #[inline]
    pub fn length(&mut self, bytes_min: usize) -> Result<usize, CdrError> {
        let length = self.u32()? as usize;
        let wanted = length.saturating_mul(bytes_min);
        if wanted > self.bytes.len() - self.at {
            return Err(self.too_short(self.at, wanted));
        }
        Ok(length)
    }

    /// A text without its NUL byte.
    ///
    /// # Errors
    ///
    /// The input ends before, or the text does not end with NUL.
    #[inline]
    pub fn text(&mut self) -> Result<&'a [u8], CdrError> {
        let length = self.u32()? as usize;
        let start = self.at;
        match self.run(length, 1)?.split_last() {
            Some((0, text)) => Ok(text),
            // A length of 0 is not what the standard says, but is written by some.
            None => Ok(&[]),
            Some(_) => Err(CdrError::NotTerminated { at: start }),
        }
    }

    /// A wide text.
    ///
    /// # Errors
    ///
    /// The input ends before, or a unit is above 0xffff.
    #[inline]
    pub fn wide_text(&mut self) -> Result<WideText<'a>, CdrError> {
        let length = self.length(4)?;
        let start = self.at;
        let units = self.run(length.saturating_mul(4), 1)?;
        for (index, bytes) in units.chunks_exact(4).enumerate() {
            let unit = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            if unit > 0xffff {
                return Err(CdrError::WideUnit { at: start + 4 * index, unit });
            }
        }
        Ok(WideText { units })
    }

    /// A sequence of numbers of `size` bytes each, as bytes.
    ///
    /// # Errors
    ///
    /// The input ends before.
    #[inline]
    pub fn array(&mut self, size: usize) -> Result<&'a [u8], CdrError> {
        let length = self.length(size)?;
        // No padding follows the length of an empty sequence.
        if length == 0 { Ok(&[]) } else { self.run(length * size, size.min(ALIGNMENT_MAX)) }
    }

    /// Refuses a length above the bound of a field.
    ///
    /// # Errors
    ///
    /// The length is above the bound.
    #[inline]
    pub fn check_bound(&self, length: usize, bound: usize) -> Result<(), CdrError> {
        if length > bound {
            return Err(CdrError::OverBound { at: self.at, length, bound });
        }
        Ok(())
    }

    #[inline]
    fn u32(&mut self) -> Result<u32, CdrError> {
        let bytes = self.run(4, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    #[cold]
    fn too_short(&self, at: usize, wanted: usize) -> CdrError {
        CdrError::TooShort { at, wanted, bytes: self.bytes.len() }
    }
}

/// Adds up the flat layout of a message in the order in which decoding fills it.
#[derive(Clone, Copy, Debug)]
pub struct FlatSize {
    top: usize,
}

impl FlatSize {
    /// Starts with the root struct.
    #[inline]
    pub const fn of_root(root_bytes: usize) -> Self {
        Self { top: root_bytes }
    }

    /// A text of `length` bytes.
    #[inline]
    pub fn text(&mut self, length: usize) {
        if length > 0 {
            self.claim(length.saturating_add(1), 1);
        }
    }

    /// A sequence of numbers that takes `bytes` bytes.
    #[inline]
    pub fn array(&mut self, bytes: usize) {
        self.claim(bytes, array_alignment(bytes));
    }

    /// A sequence of `count` structs or references of `stride` bytes.
    #[inline]
    pub fn records(&mut self, count: usize, stride: usize) {
        self.claim(count.saturating_mul(stride), BLOCK_ALIGNMENT);
    }

    /// The sum in bytes; saturated when it is beyond all memory.
    #[inline]
    pub const fn total(self) -> usize {
        self.top
    }

    #[inline]
    fn claim(&mut self, bytes: usize, alignment: usize) {
        if bytes > 0 {
            let start = self.top.checked_next_multiple_of(alignment).unwrap_or(usize::MAX);
            self.top = start.saturating_add(bytes);
        }
    }
}
