//! Reads the little-endian fields of MCAP records from bytes in memory.
//!
//! Every length comes from an untrusted file: it is compared with the bytes that are there before
//! a slice is made, and nothing is allocated.

/// The unread rest of one record body.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(count)?;
        self.rest = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    /// Bytes behind a 32-bit length.
    pub(crate) fn prefixed(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        self.bytes(length)
    }

    /// A UTF-8 string behind a 32-bit length.
    pub(crate) fn string(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.prefixed()?).ok()
    }
}

/// Bytes of a record's opcode and length.
pub(crate) const RECORD_HEAD_BYTES: usize = 9;

/// Splits the first record off `bytes`: opcode, body, and what follows; `None` when it is cut.
pub(crate) fn split_record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&opcode, rest) = bytes.split_first()?;
    let mut fields = Fields::new(rest);
    let length = usize::try_from(fields.u64()?).ok()?;
    let body = fields.bytes(length)?;
    Some((opcode, body, fields.rest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_record_is_refused_without_allocating() {
        let mut fields = Fields::new(&[0xff, 0xff, 0xff, 0xff, b'a']);
        assert_eq!(fields.string(), None);
        assert!(split_record(&[5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_none());
        assert!(split_record(&[5, 1, 0, 0]).is_none());
    }

    #[test]
    fn a_record_is_split_into_opcode_body_and_rest() {
        let bytes = [5, 2, 0, 0, 0, 0, 0, 0, 0, b'h', b'i', 9];
        assert_eq!(split_record(&bytes), Some((5, &b"hi"[..], &[9][..])));
    }
}
