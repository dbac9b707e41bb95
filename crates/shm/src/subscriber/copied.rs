//! Messages that are copied when they are taken, because their publisher is not trusted or does not
//! wait for holds. Nothing of such a message is believed before it lies in memory of this process.

use super::{LOOKS_MAX, RingSubscriber, TakeError};
use crate::copies::{Copies, copy_words};
use crate::descriptor::{Descriptor, Marks, Meta};
use crate::protocol::{Conn, Corruption, FIELDS, Peek};
use crate::sample::RawSample;
use crate::sync::fence;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

impl RingSubscriber {
    /// Messages are copied from now on ([`RingSubscriber::take_copied`]): as many can be held as
    /// there is room for. Once, before the first is taken.
    pub fn keep_copies(&mut self, copies: &Copies) {
        self.holds = self.holds.min(copies.holds());
        self.home.keep_copies(copies.mapping());
    }

    /// As [`RingSubscriber::take`], for a publisher that is not trusted, or that does not wait for
    /// holds: the sample is a copy in memory of this process, made before anything is believed of
    /// it.
    ///
    /// A message that cannot be copied is passed over and counted
    /// ([`Losses::refused`](super::Losses::refused)). One system call, which reads the message, if
    /// its publisher is not trusted; others only when it is longer than those before it.
    pub fn take_copied(
        &mut self,
        copies: &mut Copies,
    ) -> Result<Option<RawSample>, Box<TakeError>> {
        for _ in 0..LOOKS_MAX {
            if !self.find()? {
                return Ok(None);
            }
            let Some((index, hold)) = self.conn.free_hold(self.holds) else {
                return Err(self.all_holds_in_use());
            };
            let seq = self.next;
            let Some(words) = self.ring().take(seq, hold) else {
                self.lapped()?;
                continue;
            };
            match self.copy(seq, &words, index, copies) {
                Ok(Some((payload, meta))) => {
                    // Pairs with the publisher's fence between the GONE mark and the reuse of the
                    // chunk (P7): a publisher that does not wait for holds may have used it again.
                    fence(Ordering::Acquire);
                    if self.ring().peek(seq) != Peek::Ready {
                        Conn::drop_hold(hold);
                        self.lapped()?;
                        continue;
                    }
                    // SAFETY: the word was 0 and is the sample's now; the payload is in the buffer
                    // of this hold word, in memory that the home keeps.
                    let sample = unsafe { RawSample::new(&self.home, index, seq, payload, meta) };
                    self.next = seq + 1;
                    self.move_cursor();
                    return Ok(Some(sample));
                }
                Ok(None) => {
                    Conn::drop_hold(hold);
                    self.losses.refused += 1;
                    self.next = seq + 1;
                    self.move_cursor();
                }
                Err(fault) => {
                    Conn::drop_hold(hold);
                    return Err(self.cut_off(fault));
                }
            }
        }
        Ok(None)
    }

    /// Copies a message; `None`: that cannot be done.
    fn copy(
        &self,
        seq: u64,
        words: &[u64; FIELDS],
        index: usize,
        copies: &mut Copies,
    ) -> Result<Option<(NonNull<u8>, Meta)>, Corruption> {
        let Descriptor { chunk, meta } =
            Descriptor::from_words(seq, words).ok_or(Corruption::BadCheck)?;
        // What a device still writes, or has kept, cannot be read here.
        let elsewhere = meta.marks.any(Marks::EARLY) || meta.marks.any(Marks::AWAY);
        // A publisher does not wait for strangers either, to map what it has made.
        if elsewhere || !self.home.has_segment(usize::from(chunk.segment)) {
            return Ok(None);
        }
        let whole = meta.len.checked_next_multiple_of(8).ok_or(Corruption::OutsideMemory)?;
        if self.home.is_distant() {
            let from = self.home.distant_payload(chunk, meta.len);
            let from = from.ok_or(Corruption::OutsideMemory)?;
            let Some(to) = copies.room(index, whole) else { return Ok(None) };
            // SAFETY: `room` gives as much memory of this process, which belongs to the hold word
            // that the caller has taken; any byte is valid.
            let place = unsafe { std::slice::from_raw_parts_mut(to.as_ptr(), meta.len) };
            if !from.read(chunk.offset, place) {
                // Its publisher has given it back meanwhile.
                return Ok(None);
            }
            return Ok(Some((to, copied(meta))));
        }
        let from = self.home.payload(chunk, whole).ok_or(Corruption::OutsideMemory)?;
        let Some(to) = copies.room(index, whole) else { return Ok(None) };
        // SAFETY: `payload` found all words inside a mapping, aligned to 64; `room` gives memory of
        // this process, aligned to pages, which belongs to the hold word that the caller has taken.
        unsafe { copy_words(from, to, meta.len) };
        Ok(Some((to, copied(meta))))
    }
}

/// What a copy says of itself: it is complete, and no device has to do with it.
fn copied(mut meta: Meta) -> Meta {
    meta.marks.clear(Marks::EARLY.or(Marks::AWAY).or(Marks::UPLOADED));
    meta
}
