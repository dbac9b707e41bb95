//! Text inside a block: bytes that another process may change at any time.
//!
//! Nothing here hands the bytes out where they lie. They can be copied and compared; a `&str` or a
//! `String` is made of a copy alone, and it is the copy that is checked.

use super::{Block, FlatError, REFERENCE_BYTES, Reference};
use std::fmt;

/// Bytes that a comparison copies at a time.
const PIECE_BYTES: usize = 64;

/// A text field of a message, where it lies.
///
/// Copying the value is free. No method blocks or locks; those that give a `String` or a `Vec`
/// allocate. Two calls may see different texts, if an incorrect publisher goes on writing.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// Text in bytes that may be shared.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Length in bytes, without the NUL byte at its end.
    #[inline]
    pub const fn len(self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no byte at all.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Address of the first byte, for checks of where it lies.
    #[inline]
    pub const fn as_ptr(self) -> *const u8 {
        self.bytes.as_ptr()
    }

    /// As a copy of its own. Allocates.
    ///
    /// # Errors
    ///
    /// [`FlatError::NotUtf8`].
    pub fn string(self) -> Result<String, FlatError> {
        #[cfg(feature = "faults")]
        if let Some(text) = faults::checked_before_copy(self) {
            return Ok(text);
        }
        String::from_utf8(self.to_vec()).map_err(|error| FlatError::NotUtf8 {
            bytes: error.as_bytes().len(),
            valid: error.utf8_error().valid_up_to(),
        })
    }

    /// As a copy of its own; what is not UTF-8 becomes U+FFFD. Allocates.
    pub fn string_lossy(self) -> String {
        String::from_utf8(self.to_vec())
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// The bytes as a copy. Allocates.
    pub fn to_vec(self) -> Vec<u8> {
        let mut copy = vec![0; self.bytes.len()];
        copy_shared(self.bytes, &mut copy);
        copy
    }

    /// Copies the text to the start of `buffer` and gives what was copied.
    ///
    /// # Errors
    ///
    /// [`FlatError::NoRoom`] when the buffer is shorter than the text, [`FlatError::NotUtf8`].
    #[inline]
    pub fn copy_into(self, buffer: &mut [u8]) -> Result<&str, FlatError> {
        let copy = self.copy_bytes_into(buffer)?;
        std::str::from_utf8(copy)
            .map_err(|error| FlatError::NotUtf8 { bytes: copy.len(), valid: error.valid_up_to() })
    }

    /// Copies the bytes to the start of `buffer` and gives what was copied.
    ///
    /// # Errors
    ///
    /// [`FlatError::NoRoom`] when the buffer is shorter than the text.
    #[inline]
    pub fn copy_bytes_into(self, buffer: &mut [u8]) -> Result<&mut [u8], FlatError> {
        let room = buffer.len();
        let no_room = FlatError::NoRoom { bytes: self.bytes.len(), room };
        let place = buffer.get_mut(..self.bytes.len()).ok_or(no_room)?;
        copy_shared(self.bytes, place);
        Ok(place)
    }

    /// Copies to a place of the text's length.
    #[inline]
    pub(super) fn copy_bytes(self, to: &mut [u8]) {
        copy_shared(self.bytes, to);
    }

    #[inline]
    fn is(self, other: Text<'_>) -> bool {
        let mut copies = [[0; PIECE_BYTES]; 2];
        let pieces = self.bytes.chunks(PIECE_BYTES).zip(other.bytes.chunks(PIECE_BYTES));
        self.len() == other.len()
            && pieces.into_iter().all(|(one, two)| {
                let [to_one, to_two] = &mut copies;
                copy_shared(one, &mut to_one[..one.len()]);
                copy_shared(two, &mut to_two[..two.len()]);
                to_one[..one.len()] == to_two[..two.len()]
            })
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.string_lossy(), formatter)
    }
}

impl PartialEq for Text<'_> {
    #[inline]
    fn eq(&self, other: &Text<'_>) -> bool {
        self.is(*other)
    }
}

macro_rules! comparable {
    ($([$($generics:tt)*] $other:ty),* $(,)?) => {
        $(impl<$($generics)*> PartialEq<$other> for Text<'_> {
            #[inline]
            fn eq(&self, other: &$other) -> bool {
                let bytes: &[u8] = other.as_ref();
                self.is(Text::new(bytes))
            }
        })*
    };
}
comparable!(
    [] str, [] &str, [] String, [] [u8], [] &[u8], [const N: usize] [u8; N],
    [const N: usize] &[u8; N],
);

impl<'a> From<&'a str> for Text<'a> {
    #[inline]
    fn from(text: &'a str) -> Text<'a> {
        Text::new(text.as_bytes())
    }
}

impl<'a> From<&'a String> for Text<'a> {
    #[inline]
    fn from(text: &'a String) -> Text<'a> {
        Text::new(text.as_bytes())
    }
}

/// Mended faults that a test build can put back, as `crates/shm/src/faults.rs` does:
/// `scripts/faults` runs the tests that find them.
#[cfg(feature = "faults")]
mod faults {
    use super::Text;

    /// A text that is checked where it lies, and copied then; `None`: the fault is not put back.
    pub(super) fn checked_before_copy(text: Text<'_>) -> Option<String> {
        static IS_BACK: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
        let of_process =
            || std::env::var("CROSSDOCK_FAULT").is_ok_and(|it| it == "checked before copy");
        if !IS_BACK.get_or_init(of_process) {
            return None;
        }
        std::str::from_utf8(text.bytes).ok()?;
        // SAFETY: none, if somebody writes the text meanwhile: that is the fault.
        Some(unsafe { String::from_utf8_unchecked(text.to_vec()) })
    }
}

/// Copies bytes that somebody else may be writing: each is read once, and what was copied is what
/// a later look at the copy finds. Both are of one length.
#[inline]
fn copy_shared(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    // SAFETY: u8 and u64 are valid for any bits; the parts do not overlap and cover the whole.
    let (head, words, tail) = unsafe { from.align_to::<u64>() };
    let (to_head, rest) = to.split_at_mut(head.len());
    let (to_words, to_tail) = rest.split_at_mut(size_of_val(words));
    copy_bytes(head, to_head);
    for (from, to) in words.iter().zip(to_words.chunks_exact_mut(8)) {
        // SAFETY: a reference to an aligned word that stays mapped.
        let word = unsafe { std::ptr::from_ref(from).read_volatile() };
        to.copy_from_slice(&word.to_ne_bytes());
    }
    copy_bytes(tail, to_tail);
}

#[inline]
fn copy_bytes(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.iter().zip(to) {
        // SAFETY: a reference to a byte that stays mapped.
        *to = unsafe { std::ptr::from_ref(from).read_volatile() };
    }
}

/// A sequence of texts: an array of references inside a block.
///
/// Copying it is free; no method blocks, allocates or locks.
#[derive(Clone, Copy)]
pub struct Texts<'a> {
    block: Block<'a>,
    /// Invariant: `at + count * REFERENCE_BYTES <= block.len()`.
    at: usize,
    count: usize,
}

impl fmt::Debug for Texts<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} texts at byte {}", self.count, self.at)
    }
}

impl<'a> Texts<'a> {
    #[inline]
    pub(super) fn of(block: Block<'a>, reference: Reference, at: usize) -> Result<Self, FlatError> {
        let (at, count) = block.records_of(reference, REFERENCE_BYTES, at)?;
        Ok(Self { block, at, count })
    }

    #[inline]
    pub(super) const fn inline_array(block: Block<'a>, at: usize, count: usize) -> Self {
        Self { block, at, count }
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

    #[inline]
    fn element(self, index: usize) -> Result<Text<'a>, FlatError> {
        Ok(Text::new(self.block.slice(self.at + index * REFERENCE_BYTES)?))
    }

    /// Element `index`, or nothing when there are fewer.
    ///
    /// # Errors
    ///
    /// The element lies outside the block or is external.
    #[inline]
    pub fn get(self, index: usize) -> Option<Result<Text<'a>, FlatError>> {
        (index < self.count).then(|| self.element(index))
    }

    /// All elements in order, each checked when it is reached.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = Result<Text<'a>, FlatError>> + Clone {
        (0..self.count).map(move |index| self.element(index))
    }
}
