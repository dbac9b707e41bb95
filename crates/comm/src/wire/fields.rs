//! The fields of frames as bytes: numbers, byte strings, texts and names, one after the other.
//!
//! Everything that is read is another process's word: each length has a limit, each name is
//! checked.

use crossdock_shm::socket::FRAME_BYTES_MAX;

use crate::wire::names::{NameError, NameKind, check_name};

/// The longest reason or mismatch text in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 2048;

const _: () = assert!(TEXT_BYTES_MAX < FRAME_BYTES_MAX);

/// A received frame or record breaks a rule.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FieldError {
    #[error("a frame of kind {kind} ends inside its field `{field}`")]
    Short { kind: u8, field: &'static str },
    #[error("a frame of kind {kind} has {bytes} bytes behind its last field")]
    Long { kind: u8, bytes: usize },
    #[error("there is no frame of kind {0}")]
    Kind(u8),
    #[error("field `{field}` of a frame of kind {kind} is {value}, which is out of range")]
    Range { kind: u8, field: &'static str, value: u64 },
    #[error("field `{field}` of a frame of kind {kind} is not UTF-8")]
    Text { kind: u8, field: &'static str },
    #[error(transparent)]
    Name(#[from] NameError),
}

/// A text shortened to what a peer accepts, at a character's border.
pub(super) fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    // A character has at most four bytes.
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Appends fields to a frame.
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn raw(&mut self, bytes: &[u8]) -> &mut Writer {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Writer {
        self.raw(&[value])
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Writer {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Writer {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Writer {
        self.raw(&value.to_le_bytes())
    }

    /// Longer than 65 535 bytes is a programmer's error: limits are checked where values enter.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        debug_assert_eq!(usize::from(len), bytes.len());
        self.u16(len).raw(&bytes[..usize::from(len)])
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Writer {
        self.bytes(text.as_bytes())
    }
}

/// Takes fields off a received frame.
pub(super) struct Reader<'a> {
    /// The frame's kind, for errors.
    pub(super) kind: u8,
    pub(super) rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], FieldError> {
        let short = FieldError::Short { kind: self.kind, field };
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(short)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], FieldError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, FieldError> {
        Ok(self.array::<1>(field)?[0])
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, FieldError> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, FieldError> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, FieldError> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    pub(super) fn bytes(
        &mut self,
        field: &'static str,
        limit: usize,
    ) -> Result<&'a [u8], FieldError> {
        let len = usize::from(self.u16(field)?);
        if len > limit {
            return Err(self.range(field, len as u64));
        }
        self.take(len, field)
    }

    pub(super) fn range(&self, field: &'static str, value: u64) -> FieldError {
        FieldError::Range { kind: self.kind, field, value }
    }

    pub(super) fn text(
        &mut self,
        field: &'static str,
        limit: usize,
    ) -> Result<&'a str, FieldError> {
        let kind = self.kind;
        let bytes = self.bytes(field, limit)?;
        std::str::from_utf8(bytes).map_err(|_| FieldError::Text { kind, field })
    }

    pub(super) fn name(
        &mut self,
        field: &'static str,
        kind: NameKind,
    ) -> Result<String, FieldError> {
        let name = self.text(field, TEXT_BYTES_MAX)?;
        check_name(kind, name)?;
        Ok(name.to_string())
    }

    /// A text that will be shown to a person: control characters are replaced.
    pub(super) fn shown(&mut self, field: &'static str) -> Result<String, FieldError> {
        let text = self.text(field, TEXT_BYTES_MAX)?;
        Ok(text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect())
    }

    pub(super) fn flag(&mut self, field: &'static str) -> Result<Flag, FieldError> {
        match self.u8(field)? {
            0 => Ok(Flag::Off),
            1 => Ok(Flag::On),
            other => Err(self.range(field, other.into())),
        }
    }
}

pub(super) enum Flag {
    Off,
    On,
}
