//! Where things lie in a ring, for tests that spoil one.

use std::ops::Range;

/// The head: the number of the newest message first.
pub const HEAD: Range<u64> = 128..256;
/// The slots.
pub const SLOTS_AT: u64 = 4096;
/// How many these are.
pub const SLOTS: u64 = 1024;
/// The chunks of the pool.
pub const CHUNKS_AT: u64 = SLOTS_AT + SLOTS * 64;

/// Where the slot of a message lies: its number and seven words.
pub fn slot_at(seq: u64) -> u64 {
    SLOTS_AT + 64 * (seq % SLOTS)
}

/// The check word of a descriptor, so that a lie is believed as far as it can be.
pub fn check_word(seq: u64, words: &[u64]) -> u64 {
    !seq.rotate_left(32)
        ^ words[0]
        ^ words[1].rotate_left(17)
        ^ words[2].rotate_left(7)
        ^ words[3].rotate_left(29)
        ^ words[4].rotate_left(41)
        ^ words[5].rotate_left(53)
}
