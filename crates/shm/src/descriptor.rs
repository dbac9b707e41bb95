//! What a slot says about one message, in memory (`Descriptor`) and on the slot (seven words).
//!
//! Words in, words out.

use crate::pool::Chunk;
use crate::protocol::FIELDS;

/// What travels with the payload of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Payload bytes in use.
    pub len: usize,
    /// When the message was published, in ns of the clock that the caller uses.
    pub stamp_ns: u64,
    /// Which trigger the message goes back to; opaque.
    pub origin: [u64; 2],
    /// Opaque.
    pub flags: u32,
    /// What devices have to do with it.
    pub marks: Marks,
}

/// What devices have to do with a message: a set of marks. One word, as on the slot: fields of a
/// byte each would be put together and taken apart with every message (2 to 4 ns, measured).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u32);

impl Marks {
    /// The message was published while a device still wrote it: it is finished when the publisher's
    /// timeline ([`RingPublisher::timeline`](crate::RingPublisher::timeline)) has come to its
    /// number.
    pub const EARLY: Marks = Marks(1 << 0);
    /// What a device writes of the message is in memory of that device only: see
    /// [`Slab`](crate::Slab). Those bytes of the payload are unspecified.
    pub const AWAY: Marks = Marks(1 << 1);
    /// A device still copies the message to memory of its own, where its readers find it: it is
    /// there when the publisher's timeline for that
    /// ([`RingPublisher::uploaded`](crate::RingPublisher::uploaded)) has come to its number. The
    /// payload is complete at once.
    pub const UPLOADED: Marks = Marks(1 << 2);

    /// All that there are.
    const ALL: u32 = Self::EARLY.0 | Self::AWAY.0 | Self::UPLOADED.0;

    /// These and those.
    #[must_use]
    pub const fn or(self, others: Marks) -> Marks {
        Marks(self.0 | others.0)
    }

    /// Is any of these set?
    #[inline(always)]
    pub fn any(self, of: Marks) -> bool {
        self.0 & of.0 != 0
    }

    /// Sets these, too.
    #[inline(always)]
    pub fn set(&mut self, more: Marks) {
        self.0 |= more.0;
    }

    /// Takes these away; true: some were set.
    #[inline(always)]
    pub fn clear(&mut self, these: Marks) -> bool {
        let were_set = self.any(these);
        self.0 &= !these.0;
        were_set
    }
}

/// A message's place and its `Meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) chunk: Chunk,
    pub(crate) meta: Meta,
}

/// Catches a stray write into a slot, not a liar. The rotations tell the words apart.
#[inline(always)]
fn check_word(seq: u64, words: &[u64; FIELDS]) -> u64 {
    let [offset, len, stamp, origin_0, origin_1, kind, _] = *words;
    !seq.rotate_left(32)
        ^ offset
        ^ len.rotate_left(17)
        ^ stamp.rotate_left(7)
        ^ origin_0.rotate_left(29)
        ^ origin_1.rotate_left(41)
        ^ kind.rotate_left(53)
}

/// Words of a descriptor without its check.
pub(crate) const PACKED: usize = 6;

/// offset, length, stamp, origin (2), kind (segment:16 | unused:13 | marks:3 | flags:32).
#[inline(always)]
pub(crate) fn pack(chunk: Chunk, meta: &Meta) -> [u64; PACKED] {
    let marks = u64::from(meta.marks.0) << 32;
    let kind = u64::from(chunk.segment) << 48 | marks | u64::from(meta.flags);
    let [origin_0, origin_1] = meta.origin;
    [chunk.offset, meta.len as u64, meta.stamp_ns, origin_0, origin_1, kind]
}

/// The inverse of `pack`; a length that this machine cannot address becomes its largest.
#[inline(always)]
pub(crate) fn unpack(words: [u64; PACKED]) -> Descriptor {
    let [offset, len, stamp_ns, origin_0, origin_1, kind] = words;
    let chunk = Chunk { segment: (kind >> 48) as u16, offset };
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let (origin, flags) = ([origin_0, origin_1], kind as u32);
    let marks = Marks((kind >> 32) as u32 & Marks::ALL);
    let meta = Meta { len, stamp_ns, origin, flags, marks };
    Descriptor { chunk, meta }
}

/// What `pack` gives, and the check word.
#[inline(always)]
pub(crate) fn to_words(seq: u64, chunk: Chunk, meta: &Meta) -> [u64; FIELDS] {
    let [offset, len, stamp, origin_0, origin_1, kind] = pack(chunk, meta);
    let mut words = [offset, len, stamp, origin_0, origin_1, kind, 0];
    words[FIELDS - 1] = check_word(seq, &words);
    words
}

impl Descriptor {
    /// `None`: the check word does not fit.
    #[inline(always)]
    pub(crate) fn from_words(seq: u64, words: &[u64; FIELDS]) -> Option<Self> {
        if words[FIELDS - 1] != check_word(seq, words) {
            return None;
        }
        let [offset, len, stamp, origin_0, origin_1, kind, _] = *words;
        Some(unpack([offset, len, stamp, origin_0, origin_1, kind]))
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn marks_are_set_and_taken_away_alone() {
        let mut marks = Marks::EARLY;
        marks.set(Marks::UPLOADED);
        assert_eq!(marks, Marks::EARLY.or(Marks::UPLOADED));
        assert!(marks.any(Marks::UPLOADED) && !marks.any(Marks::AWAY));
        assert!(!marks.clear(Marks::AWAY));
        assert!(marks.clear(Marks::EARLY.or(Marks::AWAY)));
        assert_eq!(marks, Marks::UPLOADED);
    }
}
