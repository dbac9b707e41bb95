//! What a node of the load does beside communicating, the same code on every system: it reads bytes
//! and writes bytes, and the processor time of that is noted.

use super::record::Record;
use crate::payload::BYTES_MIN;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

/// Of a message that does not trigger so many bytes are read.
pub const PART: usize = 4096;

/// One execution.
#[derive(Debug)]
pub struct Work {
    started_ns: u64,
    number: Option<u64>,
    sum: u64,
    differs: bool,
    touched: bool,
}

impl Work {
    /// The node has its messages and the memory for its own. Not `touched`: of each message only
    /// the number is read and written.
    #[inline]
    pub fn begin(touched: bool) -> Self {
        Self { started_ns: thread_ns(), number: None, sum: 0, differs: false, touched }
    }

    /// Reads a message that triggers, all of it.
    #[inline]
    pub fn read(&mut self, message: &[u8]) {
        let number = number_of(message);
        // What triggers a node together belongs to one iteration.
        self.differs |= self.number.is_some_and(|before| before != number);
        self.number = Some(number);
        if self.touched {
            self.sum = self.sum.wrapping_add(sum(message));
        }
    }

    /// Reads the first part of a message that does not trigger.
    #[inline]
    pub fn glance(&mut self, message: &[u8]) {
        let bytes = if self.touched { message.len().min(PART) } else { BYTES_MIN };
        self.sum = self.sum.wrapping_add(sum(&message[..bytes]));
    }

    /// The iteration; what a timer releases says which.
    #[inline]
    pub fn begins(&mut self, number: u64) {
        self.number = Some(number);
    }

    /// Writes a message, all of it.
    #[inline]
    pub fn write(&self, message: &mut [u8]) {
        if self.touched {
            message.fill(self.sum as u8);
        }
        message[..BYTES_MIN].copy_from_slice(&self.number.unwrap_or(0).to_le_bytes());
    }

    /// Reading and writing are done. Gives the iteration.
    #[inline]
    pub fn end(self, record: &Record) -> u64 {
        black_box(self.sum);
        record.worked(thread_ns() - self.started_ns, self.differs || self.number.is_none());
        self.number.unwrap_or(0)
    }
}

/// The iteration that a message belongs to.
#[inline]
pub fn number_of(message: &[u8]) -> u64 {
    message.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The wrapping sum of all whole 8-byte words.
#[inline]
fn sum(message: &[u8]) -> u64 {
    let words = message.as_chunks::<8>().0.iter();
    words.fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// Processor time of this thread: others on the processor do not count.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
