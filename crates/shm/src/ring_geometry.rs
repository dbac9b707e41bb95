//! What both sides of a ring know of its memory: offsets, limits, and the numbers of the handshake.

/// Offset of `Head` in a ring's memory; the preamble lies before it.
pub(crate) const HEAD_AT: u64 = 128;
/// Offset of the slots in a ring's memory: its second page.
pub(crate) const SLOTS_AT: u64 = 4096;
/// Slots of a ring: 4 MiB of descriptors.
pub(crate) const SLOTS_MAX: usize = 1 << 16;

/// Segments of one publisher's memory: the ring's own and further ones for larger messages. Their
/// numbers are not used again. Chunks double with each but the first, so that so many are never
/// needed for messages that fit into `ADDRESS_BYTES_MAX`.
pub(crate) const SEGMENTS_MAX: usize = 48;

/// Bytes of one segment at most, and so of a message whose size nobody has promised.
pub(crate) const ADDRESS_BYTES_MAX: u64 = 1 << 36;

/// Alignment of every payload.
pub(crate) const PAYLOAD_ALIGN: u64 = 64;

/// What a subscriber must know of a ring before it maps it: plain numbers for the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingGeometry {
    /// Bytes of the ring's memory object.
    pub ring_bytes: u64,
    /// Slots: a power of two.
    pub slots: u32,
    /// Samples that one subscriber may hold.
    pub holds: u32,
    /// Most bytes that all segments of this publisher may have together.
    pub memory_limit_bytes: u64,
}

impl RingGeometry {
    /// Bytes of the encoded form.
    pub const ENCODED_BYTES: usize = 24;

    /// Little-endian, in the order of the fields.
    pub fn to_bytes(&self) -> [u8; Self::ENCODED_BYTES] {
        let mut bytes = [0; Self::ENCODED_BYTES];
        bytes[..8].copy_from_slice(&self.ring_bytes.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.slots.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.holds.to_le_bytes());
        bytes[16..].copy_from_slice(&self.memory_limit_bytes.to_le_bytes());
        bytes
    }

    /// The reverse of `to_bytes`; the values are checked when a subscriber connects.
    pub fn from_bytes(bytes: &[u8; Self::ENCODED_BYTES]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        RingGeometry {
            ring_bytes: word(0),
            slots: word(8) as u32,
            holds: (word(8) >> 32) as u32,
            memory_limit_bytes: word(16),
        }
    }
}

/// What a new peer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Its number at this publisher, for `detach` and `acknowledge`.
    pub peer: u32,
    /// First sequence number to look for.
    pub start: u64,
    /// Messages before this one are history: missing ones are not lost.
    pub joined: u64,
    /// Segments beside the ring that it gets with the reply; it counts as having acknowledged them.
    pub segments: u32,
}
