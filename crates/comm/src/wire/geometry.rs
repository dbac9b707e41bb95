//! What the data planes of both sides tell each other, as the opaque bytes inside frames.
//!
//! A subscriber says where in its tables it looks and listens; a publisher answers with the shape
//! of its ring. The numbers are checked where they are used.

use crossdock_shm::{Attached, RingGeometry};

/// A subscriber's places in its process's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Of its connection.
    pub(crate) conn: u32,
    /// Messages from before now that it wants.
    pub(crate) history: u32,
    /// Does a reliable publisher wait for it, if it is reliable?
    pub(crate) waited_for: bool,
    /// May it take slabs?
    pub(crate) slabs: bool,
    /// Does it copy what it takes, because it does not trust the publisher's process?
    pub(crate) copies: bool,
    /// Where it is woken, if it is triggering.
    pub(crate) wake: Option<WakePlaces>,
}

/// Where a triggering subscriber is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WakePlaces {
    pub(crate) armed_line: u16,
    pub(crate) armed_bit: u16,
    pub(crate) ready_line: u16,
    pub(crate) input: u16,
    pub(crate) bell: u16,
}

/// Bytes of [`Places`].
const PLACES_BYTES: usize = 4 + 4 + 1 + 5 * 2;

impl Places {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PLACES_BYTES);
        bytes.extend(self.conn.to_le_bytes());
        bytes.extend(self.history.to_le_bytes());
        let flags = [self.wake.is_some(), self.waited_for, self.slabs, self.copies].map(u8::from);
        bytes.push(flags[0] | flags[1] << 1 | flags[2] << 2 | flags[3] << 3);
        let numbers = self.wake.map_or([0; 5], |wake| {
            [wake.armed_line, wake.armed_bit, wake.ready_line, wake.input, wake.bell]
        });
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Places> {
        if bytes.len() != PLACES_BYTES || bytes[8] > 15 {
            return None;
        }
        let number =
            |place: usize| u16::from_le_bytes([bytes[9 + 2 * place], bytes[10 + 2 * place]]);
        let wake = WakePlaces {
            armed_line: number(0),
            armed_bit: number(1),
            ready_line: number(2),
            input: number(3),
            bell: number(4),
        };
        Some(Places {
            conn: u32::from_le_bytes(bytes[..4].try_into().ok()?),
            history: u32::from_le_bytes(bytes[4..8].try_into().ok()?),
            waited_for: bytes[8] & 2 != 0,
            slabs: bytes[8] & 4 != 0,
            copies: bytes[8] & 8 != 0,
            wake: (bytes[8] & 1 != 0).then_some(wake),
        })
    }
}

/// A publisher's ring as a peer needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RingShape {
    pub(crate) geometry: RingGeometry,
    pub(crate) attached: Attached,
    /// Does the publisher leave alone what the subscriber holds? Else that has to be copied.
    pub(crate) held: bool,
    /// Bytes of the further segments that come with it, from segment 1 on; 0: it was given back,
    /// and no descriptor comes for it.
    pub(crate) segments: Vec<u64>,
}

const SHAPE_BYTES: usize = RingGeometry::ENCODED_BYTES + 8 + 8 + 8;

impl RingShape {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SHAPE_BYTES + 8 * self.segments.len());
        bytes.extend(self.geometry.to_bytes());
        bytes.extend(self.attached.start.to_le_bytes());
        bytes.extend(self.attached.joined.to_le_bytes());
        bytes.extend(u64::from(self.held).to_le_bytes());
        self.segments.iter().for_each(|segment| bytes.extend(segment.to_le_bytes()));
        bytes
    }

    /// `fds`: descriptors that came with it, the ring's and one for each segment.
    pub(crate) fn decode(bytes: &[u8], fds: usize) -> Option<RingShape> {
        let (fixed, segments) = bytes.split_at_checked(SHAPE_BYTES)?;
        if !segments.len().is_multiple_of(8) {
            return None;
        }
        let (geometry, numbers) = fixed.split_first_chunk::<{ RingGeometry::ENCODED_BYTES }>()?;
        let word = |chunk: &[u8]| Some(u64::from_le_bytes(chunk.try_into().ok()?));
        let segments: Vec<u64> = segments.chunks(8).map(word).collect::<Option<_>>()?;
        if segments.iter().filter(|bytes| **bytes > 0).count() != fds.checked_sub(1)? {
            return None;
        }
        Some(RingShape {
            geometry: RingGeometry::from_bytes(geometry),
            attached: Attached {
                // The number is the publisher's own affair.
                peer: 0,
                start: word(&numbers[..8])?,
                joined: word(&numbers[8..16])?,
                segments: segments.len() as u32,
            },
            held: word(&numbers[16..])? != 0,
            segments,
        })
    }

    /// Numbers and bytes of the segments that a descriptor comes for, in their order.
    pub(crate) fn sent(&self) -> impl Iterator<Item = (u32, u64)> {
        let numbered = (1..).zip(self.segments.iter().copied());
        numbered.filter(|(_, bytes)| *bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_answers_survive_the_frame_and_nothing_shorter_passes() {
        let wake =
            WakePlaces { armed_line: 1, armed_bit: 2, ready_line: 3, input: 4, bell: u16::MAX };
        for wake in [None, Some(wake)] {
            let (waited_for, slabs, copies) = (wake.is_some(), wake.is_none(), wake.is_some());
            let places = Places { conn: 7, history: 8, waited_for, slabs, copies, wake };
            assert_eq!(Places::decode(&places.encode()), Some(places));
            assert_eq!(Places::decode(&places.encode()[1..]), None);
        }
        let geometry =
            RingGeometry { ring_bytes: 1 << 40, slots: 8, holds: 4, memory_limit_bytes: 9 };
        let attached = Attached { peer: 0, start: 3, joined: 5, segments: 2 };
        let shape = RingShape { geometry, attached, held: true, segments: vec![4096, 8192] };
        assert_eq!(RingShape::decode(&shape.encode(), 3), Some(shape.clone()));
        assert_eq!(RingShape::decode(&shape.encode(), 2), None);
        assert_eq!(RingShape::decode(&shape.encode(), 0), None);
        assert_eq!(RingShape::decode(&shape.encode()[1..], 3), None);
        let given_back = RingShape { segments: vec![0, 8192], ..shape };
        assert_eq!(RingShape::decode(&given_back.encode(), 2), Some(given_back.clone()));
        assert_eq!(given_back.sent().collect::<Vec<_>>(), [(2, 8192)]);
    }
}
