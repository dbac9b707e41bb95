//! A subscriber's own memory for messages whose publisher might change them.
//!
//! A message is copied once when it is taken, word by word, and only the copy is read. Each hold
//! word of the subscriber has one buffer. Its pages are made when a message is larger than all
//! earlier ones there, and stay.

use crate::PAGE_BYTES;
use crate::budget::{Budget, Charge};
use crate::memory::{CreateMemoryError, Mapping, OwnMemory, Writers};
use crate::protocol::HOLDS_MAX;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the head of this file. `Send`: it goes with its subscriber.
#[derive(Debug)]
pub struct Copies {
    memory: OwnMemory,
    holds: usize,
    /// Bytes from buffer to buffer, which is the longest message.
    stride: u64,
    /// How much of each buffer is there.
    present: [u64; HOLDS_MAX],
    budget: Arc<Budget>,
    /// Its address space, counted until this goes.
    _addresses: Charge,
}

impl Copies {
    /// Address space for `holds` messages of up to `message_bytes_max` bytes, which is taken of
    /// `addresses` while this lives. Makes system calls; takes memory, of `budget`, only when
    /// messages are copied.
    ///
    /// # Errors
    /// [`CreateMemoryError`]; also if `addresses` has not as much left.
    pub fn create(
        label: &str,
        holds: usize,
        message_bytes_max: u64,
        budget: &Arc<Budget>,
        addresses: &Arc<Budget>,
    ) -> Result<Self, CreateMemoryError> {
        let holds = holds.clamp(1, HOLDS_MAX);
        let stride = message_bytes_max.max(1).next_multiple_of(PAGE_BYTES as u64);
        let bytes = stride * holds as u64;
        let addresses = addresses.charge(bytes).ok_or_else(|| CreateMemoryError::BeyondBudget {
            label: label.to_owned(),
            bytes,
            limit: addresses.limit(),
        })?;
        let memory = OwnMemory::create(label, bytes, Writers::Maker)?;
        let (present, budget) = ([0; HOLDS_MAX], Arc::clone(budget));
        Ok(Copies { memory, holds, stride, present, budget, _addresses: addresses })
    }

    /// Messages that there is room for at a time.
    pub(crate) fn holds(&self) -> usize {
        self.holds
    }

    pub(crate) fn mapping(&self) -> &Arc<Mapping> {
        self.memory.mapping()
    }

    /// Room for a message of `len` bytes in buffer `index`; `None`: it is too long, or the budget
    /// or the system's memory is used up. A system call when it is longer than all before it there.
    pub(crate) fn room(&mut self, index: usize, len: usize) -> Option<NonNull<u8>> {
        let (len, offset) = (len as u64, index as u64 * self.stride);
        if index >= self.holds || len > self.stride {
            return None;
        }
        let present = self.present[index];
        if len > present {
            let wanted = len.next_multiple_of(PAGE_BYTES as u64);
            let more = wanted - present;
            if !self.budget.take(more) {
                return None;
            }
            if self.memory.mapping().populate(offset + present, more).is_err() {
                self.budget.give_back(more);
                return None;
            }
            self.present[index] = wanted;
        }
        self.memory.mapping().range(offset, len)
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        self.budget.give_back(self.present.iter().sum());
    }
}

/// Copies `len` bytes, each word once, from memory that somebody else may be writing.
///
/// # Safety
/// `from` is aligned to 8 and the words that hold its `len` bytes are mapped for reading; `to` is
/// aligned to 8, as long, this process's own, and nobody else uses it meanwhile.
pub(crate) unsafe fn copy_words(from: NonNull<u8>, to: NonNull<u8>, len: usize) {
    let (from, to) = (from.cast::<AtomicU64>(), to.cast::<u64>());
    for word in 0..len.div_ceil(8) {
        // SAFETY: one of the words that the caller promises to be mapped.
        let place = unsafe { from.add(word) };
        // SAFETY: aligned and mapped, as the caller promises; read-only memory allows atomic loads.
        let value = unsafe { place.as_ref() }.load(Ordering::Relaxed);
        // SAFETY: as long as the source, in whole words: buffers are made of pages.
        let place = unsafe { to.add(word) };
        // SAFETY: nobody else uses it.
        unsafe { place.write(value) };
    }
}
