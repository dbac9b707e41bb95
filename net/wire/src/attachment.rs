//! What stands beside a message: its number at its publisher, when it was published, and who has
//! published it; beside a request and a response the same of the call and its client.
//!
//! Two numbers of 64 bits, little endian, then the GID behind its length.

use super::Gid;

/// Bytes of a GID on the wire.
const GID_BYTES: usize = 16;
/// Bytes of a GID in ROS 2 Humble, which pads it.
const GID_BYTES_MAX: usize = 24;
const HEAD_BYTES: usize = 2 * size_of::<i64>() + 1;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The number of the message at its publisher, or of the call at its client.
    pub sequence: i64,
    /// When it was published, in ns since 1970 by the publisher's clock.
    pub stamp_ns: i64,
    /// The endpoint that has published it, or the client.
    pub gid: Gid,
}

/// Bytes are no attachment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an attachment of {bytes} bytes is not of rmw_zenoh 0.2 or later: two numbers, and a GID of 16 \
     bytes behind its length"
)]
pub struct AttachmentError {
    bytes: usize,
}

impl Attachment {
    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_BYTES + GID_BYTES);
        out.extend(self.sequence.to_le_bytes());
        out.extend(self.stamp_ns.to_le_bytes());
        out.push(GID_BYTES as u8);
        out.extend(self.gid.0);
        out
    }

    /// Reads the bytes.
    ///
    /// # Errors
    /// [`AttachmentError`]: they have another form.
    pub fn decode(bytes: &[u8]) -> Result<Self, AttachmentError> {
        let wrong = AttachmentError { bytes: bytes.len() };
        let Some((head, gid)) = bytes.split_at_checked(HEAD_BYTES) else { return Err(wrong) };
        let (sequence, rest) = head.split_at(size_of::<i64>());
        let (stamp_ns, length) = rest.split_at(size_of::<i64>());
        let fits = usize::from(length[0]) == gid.len() && gid.len() <= GID_BYTES_MAX;
        let gid = gid.first_chunk::<GID_BYTES>().filter(|_| fits);
        let number = |bytes: &[u8]| bytes.try_into().map(i64::from_le_bytes);
        match (number(sequence), number(stamp_ns), gid) {
            (Ok(sequence), Ok(stamp_ns), Some(gid)) => {
                Ok(Self { sequence, stamp_ns, gid: Gid(*gid) })
            }
            _ => Err(wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Attachment = Attachment { sequence: 1, stamp_ns: -2, gid: Gid([7; 16]) };

    #[test]
    fn an_attachment_has_the_bytes_of_the_wire() {
        let bytes = ONE.encode();
        let mut expected = vec![1, 0, 0, 0, 0, 0, 0, 0];
        expected.extend([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 16]);
        expected.extend([7; 16]);
        assert_eq!(bytes, expected);
        assert_eq!(Attachment::decode(&bytes), Ok(ONE));
    }

    #[test]
    fn a_padded_gid_is_read() {
        let mut bytes = ONE.encode();
        bytes[16] = 24;
        bytes.extend([0; 8]);
        assert_eq!(Attachment::decode(&bytes), Ok(ONE));
    }

    #[test]
    fn other_bytes_are_no_attachment() {
        let good = ONE.encode();
        for cut in 0..good.len() {
            assert!(Attachment::decode(&good[..cut]).is_err(), "{cut}");
        }
        let mut long = good.clone();
        long.push(0);
        assert!(Attachment::decode(&long).is_err());
        let mut lying = good.clone();
        lying[16] = 0x90;
        assert!(Attachment::decode(&lying).is_err());
        let old = b"\x0fsequence_number\x01\0\0\0\0\0\0\0\x10source_timestamp\x01\0\0\0\0\0\0\0";
        assert!(Attachment::decode(old).is_err(), "of a version before 1.0 of zenoh");
    }
}
