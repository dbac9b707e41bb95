//! The 24 bytes in front of every payload.

use super::HEADER_BYTES;

/// Version of the frame that this crate reads and writes.
const VERSION: u8 = 1;

/// What stands in front of a payload. No method blocks or allocates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHeader {
    /// Who published the message, unique in its network; 1 and up.
    pub publisher_id: u16,
    /// Bytes of the payload.
    pub payload_bytes: u32,
    /// Number of the message, counted by its publisher.
    pub sequence: u32,
    /// When it was published, ns.
    pub stamp_ns: u64,
}

/// Why bytes are not the header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameHeaderError {
    /// Fewer bytes than a header has.
    #[error("the frame has {bytes} bytes, but its header alone has 24: it was cut off")]
    TooShort {
        /// Bytes that there are.
        bytes: usize,
    },
    /// Another version, or flags that this version does not know.
    #[error(
        "the frame has version {version} and flags {flags:#04x}, but only version 1 without flags \
         can be read: generate network and nodes anew with this version of Crossdock"
    )]
    Version {
        /// First byte.
        version: u8,
        /// Second byte.
        flags: u8,
    },
}

impl FrameHeader {
    /// The header's bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = VERSION;
        bytes[2..4].copy_from_slice(&self.publisher_id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.payload_bytes.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..].copy_from_slice(&self.stamp_ns.to_le_bytes());
        bytes
    }

    /// Reads the header at the start of a frame. The reserved bytes are not looked at.
    ///
    /// # Errors
    ///
    /// The frame is shorter than a header, or of another version.
    pub fn read(frame: &[u8]) -> Result<Self, FrameHeaderError> {
        // A copy: the memory may be written by a device.
        let Some(&bytes) = frame.first_chunk::<HEADER_BYTES>() else {
            return Err(FrameHeaderError::TooShort { bytes: frame.len() });
        };
        let [version, flags, id0, id1, p0, p1, p2, p3, s0, s1, s2, s3, ..] = bytes;
        if (version, flags) != (VERSION, 0) {
            return Err(FrameHeaderError::Version { version, flags });
        }
        let stamp: [u8; 8] = std::array::from_fn(|index| bytes[16 + index]);
        Ok(Self {
            publisher_id: u16::from_le_bytes([id0, id1]),
            payload_bytes: u32::from_le_bytes([p0, p1, p2, p3]),
            sequence: u32::from_le_bytes([s0, s1, s2, s3]),
            stamp_ns: u64::from_le_bytes(stamp),
        })
    }
}
