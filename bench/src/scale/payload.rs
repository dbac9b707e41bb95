//! What a message of these measurements carries: its head, and bytes; all or the first 64
//! are written and read. The same code for every system.

use crate::Failure;
use rustix::time::{ClockId, clock_gettime};

/// Bytes that an untouched message has written and read.
pub(crate) const LOOKED_AT: usize = 64;

/// The start of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Of the block, from 0.
    pub(crate) number: u32,
    /// The block.
    pub(crate) block: u32,
    /// When it was due.
    pub(crate) due_ns: u64,
    /// When it was published.
    pub(crate) stamp_ns: u64,
    /// Whether its publisher sends no more in this block.
    pub(crate) last: bool,
}

/// The monotonic clock, the same in all processes.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Writes a message, all but its stamp.
pub(crate) fn write(memory: &mut [u8], head: &Head, touched: bool) {
    let length = if touched { memory.len() } else { LOOKED_AT };
    memory[..length].fill(head.number as u8);
    let words = [
        u64::from(head.number) << 32 | u64::from(head.block),
        head.due_ns,
        0,
        u64::from(head.last),
    ];
    for (place, word) in memory.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
}

/// Stamps a message that is written, and answers the stamp.
#[inline]
pub(crate) fn stamp(memory: &mut [u8]) -> u64 {
    let now_ns = now_ns();
    memory[16..24].copy_from_slice(&now_ns.to_le_bytes());
    now_ns
}

/// The head of a message.
#[inline]
pub(crate) fn head(memory: &[u8]) -> Head {
    let words = memory.as_chunks::<8>().0;
    let word = |at: usize| words.get(at).copied().map_or(0, u64::from_le_bytes);
    Head {
        number: (word(0) >> 32) as u32,
        block: word(0) as u32,
        due_ns: word(1),
        stamp_ns: word(2),
        last: word(3) != 0,
    }
}

/// Reads a message behind its head and checks it.
pub(crate) fn read(memory: &[u8], head: &Head, touched: bool) -> Result<(), Failure> {
    let length = if touched { memory.len() } else { LOOKED_AT };
    let words = memory.get(..length).unwrap_or(&[]).as_chunks::<8>().0;
    let sum =
        words.iter().skip(4).fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    let expected = u64::from_le_bytes([head.number as u8; 8]).wrapping_mul(words.len() as u64 - 4);
    match words.len() > 4 && sum == expected {
        true => Ok(()),
        false => Err(Failure::new(
            format!("reading message {}", head.number),
            format!("the words sum up to {sum:#x} instead of {expected:#x}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for touched in [false, true] {
            let mut memory = vec![0; 256];
            let written = Head { number: 700, block: 3, due_ns: 5, stamp_ns: 0, last: true };
            write(&mut memory, &written, touched);
            let stamp_ns = stamp(&mut memory);
            let found = head(&memory);
            assert_eq!(found, Head { stamp_ns, ..written });
            read(&memory, &found, touched).expect("as written");
            let changed = if touched { 255 } else { 63 };
            memory[changed] ^= 1;
            read(&memory, &found, touched).expect_err("one bit differs");
        }
    }
}
