//! Memory of this process that is aligned as blocks need it.

/// Owned bytes that start at a multiple of 64, zeroed at first.
///
/// For messages outside shared memory: tests, recordings, copies for observers. Growing allocates;
/// a buffer that is used again for a message of the same size does not.
#[derive(Clone, Default)]
pub struct FlatBuffer {
    lines: Vec<Line>,
    bytes: usize,
}

/// 64 bytes at a multiple of 64.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

const LINE_BYTES: usize = 64;

impl FlatBuffer {
    /// A zeroed buffer of `bytes` bytes.
    pub fn with_bytes(bytes: usize) -> Self {
        let mut buffer = Self::default();
        buffer.resize(bytes);
        buffer
    }

    /// A copy of `bytes`.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut buffer = Self::with_bytes(bytes.len());
        buffer.as_mut_slice().copy_from_slice(bytes);
        buffer
    }

    /// As [`FlatBuffer::resize`]; false, and nothing changed: there is no memory.
    pub fn try_resize(&mut self, bytes: usize) -> bool {
        let more = bytes.div_ceil(LINE_BYTES).saturating_sub(self.lines.len());
        let has_room = self.lines.try_reserve(more).is_ok();
        if has_room {
            self.resize(bytes);
        }
        has_room
    }

    /// Makes the buffer `bytes` bytes long; new lines are zeroed.
    pub fn resize(&mut self, bytes: usize) {
        self.lines.resize(bytes.div_ceil(LINE_BYTES), Line([0; LINE_BYTES]));
        self.bytes = bytes;
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `lines` holds at least `bytes` initialised bytes (`resize`), without padding.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.bytes) }
    }

    /// The bytes, writable.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`; any bytes are a Line.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.bytes) }
    }
}

impl std::fmt::Debug for FlatBuffer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "FlatBuffer of {} bytes", self.bytes)
    }
}
