//! What a message carries and how it is checked: the same code for every system, so that writing
//! and reading cost the same on all of them.

use crate::Failure;

/// Every message starts with its number, so none is smaller.
pub const BYTES_MIN: usize = 8;

/// What the two sides agree on for a whole case.
#[derive(Debug, Clone, Copy)]
pub struct Payload {
    /// Length of every message.
    pub bytes: usize,
    /// True: every byte is written before publishing and summed after taking. False: only the
    /// number is.
    pub touched: bool,
}

impl Payload {
    /// Fills the memory of message `number`.
    pub fn write(self, memory: &mut [u8], number: u64) {
        if self.touched {
            memory.fill(number as u8);
        }
        memory[..BYTES_MIN].copy_from_slice(&number.to_le_bytes());
    }

    /// Checks that `memory` is message `number`.
    pub fn read(self, memory: &[u8], number: u64) -> Result<(), Failure> {
        if memory.len() != self.bytes {
            return Err(Failure::new(
                format!("reading message {number} of {} bytes", self.bytes),
                format!("{} bytes arrived", memory.len()),
            ));
        }
        let length = if self.touched { memory.len() } else { BYTES_MIN };
        let (words, expected) = (sum(&memory[..length]), expected_sum(length, number));
        if words != expected {
            return Err(Failure::new(
                format!("reading message {number}"),
                format!("the words sum up to {words:#x} instead of {expected:#x}"),
            ));
        }
        Ok(())
    }
}

/// The wrapping sum of all whole 8-byte words.
#[inline]
fn sum(memory: &[u8]) -> u64 {
    let mut total = 0u64;
    for word in memory.as_chunks::<8>().0 {
        total = total.wrapping_add(u64::from_le_bytes(*word));
    }
    total
}

fn expected_sum(length: usize, number: u64) -> u64 {
    let filler = u64::from_le_bytes([number as u8; 8]);
    let words = (length / 8) as u64;
    filler.wrapping_mul(words - 1).wrapping_add(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_touched_message_is_checked_to_its_last_word() {
        let payload = Payload { bytes: 64, touched: true };
        let mut memory = [0; 64];
        payload.write(&mut memory, 515);
        payload.read(&memory, 515).expect("as written");
        memory[63] ^= 1;
        payload.read(&memory, 515).expect_err("one bit differs");
    }

    #[test]
    fn an_untouched_message_is_checked_by_its_number_and_length() {
        let payload = Payload { bytes: 64, touched: false };
        let mut memory = [9; 64];
        payload.write(&mut memory, 3);
        payload.read(&memory, 3).expect("as written");
        payload.read(&memory, 4).expect_err("another number");
        payload.read(&memory[..56], 3).expect_err("another length");
    }
}
