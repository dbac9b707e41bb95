//! How long a viewer's words are, seen as they pass: Foxglove's server puts each together in memory
//! before it looks at it, and a viewer need not come to an end.

use std::io;

/// Longest word of a viewer, with all its fragments: a call with a large request.
const WORD_BYTES_MAX: u64 = 4 << 20;

/// Parts of a frame's head (RFC 6455, section 5.2).
pub(crate) const OPCODE: u8 = 0x0f;
const CONTINUATION: u8 = 0;
const CONTROL: u8 = 8;
const PING: u8 = 9;
pub(crate) const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;
const LENGTH_16: u8 = 126;
pub(crate) const LENGTH_64: u8 = 127;
const MASK_BYTES: usize = 4;

/// Where in its frames a viewer is.
#[derive(Debug, Default)]
pub(crate) struct Words {
    /// The head of a frame, as far as it has come.
    head: Vec<u8>,
    /// Bytes of the frame behind its head that have not come.
    left: u64,
    /// Bytes of the word so far, what is left of this frame included.
    word: u64,
    said: usize,
    pings: usize,
}

impl Words {
    /// Sees the next bytes of the viewer.
    ///
    /// # Errors
    /// A word is too long.
    pub(crate) fn see(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let [first, rest @ ..] = bytes {
            if self.left > 0 {
                let passed = self.left.min(bytes.len() as u64);
                self.left -= passed;
                bytes = &bytes[passed as usize..];
                continue;
            }
            self.head.push(*first);
            bytes = rest;
            if let Some(length) = length(&self.head) {
                self.begin(self.head[0] & OPCODE, length)?;
                self.head.clear();
            }
        }
        Ok(())
    }

    /// Words that have begun since the last call, and pings.
    pub(crate) fn take_counts(&mut self) -> (usize, usize) {
        (std::mem::take(&mut self.said), std::mem::take(&mut self.pings))
    }

    /// A frame of this length begins.
    fn begin(&mut self, opcode: u8, length: u64) -> io::Result<()> {
        self.left = length;
        self.pings += usize::from(opcode == PING);
        self.said += usize::from((1..CONTROL).contains(&opcode));
        let before = match opcode {
            // Between the fragments of a word.
            CONTROL.. => return Ok(()),
            CONTINUATION => self.word,
            _ => 0,
        };
        self.word = before.saturating_add(length);
        match self.word > WORD_BYTES_MAX {
            true => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "a viewer may say at most {WORD_BYTES_MAX} bytes at once, and this was more; \
                     send a smaller request"
                ),
            )),
            false => Ok(()),
        }
    }
}

/// Bytes of a frame's length behind the second byte of its head.
pub(crate) fn further_bytes(second: u8) -> usize {
    match second & LENGTH {
        LENGTH_16 => 2,
        LENGTH_64 => 8,
        _ => 0,
    }
}

/// The length of a frame, if its head is whole.
pub(crate) fn length(head: &[u8]) -> Option<u64> {
    let second = *head.get(1)?;
    let further = further_bytes(second);
    let mask = if second & MASKED == 0 { 0 } else { MASK_BYTES };
    if head.len() < 2 + further + mask {
        return None;
    }
    Some(match further {
        0 => u64::from(second & LENGTH),
        _ => head[2..2 + further].iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIN: u8 = 0x80;
    const TEXT: u8 = 1;

    fn frame(first: u8, length: u64) -> Vec<u8> {
        let mut bytes = vec![first];
        match length {
            0..126 => bytes.push(MASKED | length as u8),
            _ => {
                bytes.push(MASKED | LENGTH_64);
                bytes.extend(length.to_be_bytes());
            }
        }
        bytes.extend([0; MASK_BYTES]);
        bytes
    }

    #[test]
    fn words_pass_in_any_pieces_and_one_that_is_too_long_does_not() {
        for piece in [1, 3, 1 << 20] {
            let mut words = Words::default();
            let mut see = |bytes: &[u8]| bytes.chunks(piece).try_for_each(|it| words.see(it));
            for length in [0, 5, 125, 70_000] {
                let mut bytes = frame(FIN | TEXT, length);
                bytes.extend(vec![7; length as usize]);
                see(&bytes).unwrap();
            }
            see(&frame(FIN | PING, 3)).unwrap();
            see(&[1, 2, 3]).unwrap();
            let error = see(&frame(FIN | TEXT, WORD_BYTES_MAX + 1)).unwrap_err();
            assert!(error.to_string().contains("4194304"), "{error}");
        }
    }

    #[test]
    fn fragments_of_a_word_count_together_and_pings_between_them_do_not() {
        let mut words = Words::default();
        let half = WORD_BYTES_MAX / 2;
        words.see(&frame(TEXT, half)).unwrap();
        words.see(&vec![0; half as usize]).unwrap();
        words.see(&frame(FIN | PING, 2)).unwrap();
        words.see(&[0; 2]).unwrap();
        words.see(&frame(CONTINUATION, half)).unwrap();
        words.see(&vec![0; half as usize]).unwrap();
        assert_eq!((words.take_counts(), words.take_counts()), ((1, 1), (0, 0)));
        assert!(words.see(&frame(CONTINUATION, 1)).is_err());
        let mut words = Words::default();
        assert!(words.see(&frame(TEXT, u64::MAX)).is_err());
    }
}
