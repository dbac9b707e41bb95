//! A message that a subscriber has taken.

use crate::descriptor::{Marks, Meta};
use crate::home::{Entry, Home};
use crate::memory::Region;
use crate::timeline::{FencePoint, Of, Timeline};
use std::ptr::NonNull;

/// A message in shared memory, read-only, held until this is dropped.
///
/// Blocking/allocation/threads: `Send`; dropping is one store on any thread (a lock, if the
/// subscriber is gone). It may outlive its subscriber and its publisher. In a forked child it is
/// inert and empty.
///
/// Memory visibility: everything that the publisher wrote before it published is visible. While
/// this lives, a publisher that keeps the protocol does not write to the payload. A publisher that
/// breaks it can change bytes at any time, so check each value that you read, and do not read it
/// again.
#[derive(Debug)]
pub struct RawSample {
    entry: NonNull<Entry>,
}

// SAFETY: the entry belongs to the sample (home rule 5), the home is Sync, and the payload is only
// read.
unsafe impl Send for RawSample {}
// SAFETY: `&RawSample` only reads.
unsafe impl Sync for RawSample {}

impl RawSample {
    /// The message `seq`, held by the home's hold word `index`.
    ///
    /// # Safety
    /// That word is `seq`, was 0 before, and is the sample's from now on; `payload` is an address
    /// of `meta.len` bytes in a segment of the home.
    #[inline(always)]
    pub(crate) unsafe fn new(
        home: &Home,
        index: usize,
        seq: u64,
        payload: NonNull<u8>,
        meta: Meta,
    ) -> Self {
        let entry = home.entry(index);
        let place = entry.as_ptr();
        // SAFETY: home rule 5: the hold word is the caller's, so nobody else looks at the entry.
        unsafe { (*place).payload = payload };
        // SAFETY: as above.
        unsafe { (*place).seq = seq };
        // SAFETY: as above.
        unsafe { (*place).meta = meta };
        RawSample { entry }
    }

    #[inline(always)]
    fn entry(&self) -> &Entry {
        // SAFETY: home rules 1 and 5: alive and unchanged while this sample's hold word is not 0.
        unsafe { self.entry.as_ref() }
    }

    /// The payload.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let (start, len) = self.raw_parts();
        // SAFETY: inside a mapping that the hold keeps alive (home rule 1), readable, any byte is
        // valid; that nobody writes is what a publisher promises and seals cannot enforce (see
        // above).
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// Address and length of the payload, aligned to 64 bytes, valid while this lives.
    #[inline]
    pub fn raw_parts(&self) -> (*const u8, usize) {
        // SAFETY: this sample's hold word is not 0 and its own.
        if unsafe { Home::of(self.entry) }.in_child() {
            return (NonNull::<u64>::dangling().as_ptr().cast_const().cast(), 0);
        }
        let entry = self.entry();
        (entry.payload.as_ptr(), entry.meta.len)
    }

    /// What its subscriber's owner calls its publisher
    /// ([`SubscriberConfig::source`](crate::SubscriberConfig::source)); zeros if it came through a
    /// link.
    #[inline]
    pub fn source(&self) -> [u8; 16] {
        // SAFETY: this sample's hold word is not 0 and its own.
        unsafe { Home::of(self.entry) }.source()
    }

    /// The memory object that the payload lies in; `None` in a forked child.
    pub fn region(&self) -> Option<Region> {
        // SAFETY: this sample's hold word is not 0 and its own.
        let home = unsafe { Home::of(self.entry) };
        if home.in_child() {
            return None;
        }
        home.region(self.entry().payload)
    }

    /// When the message is finished, if it was published early; `None`: it was not, or this is a
    /// forked child. Allocates.
    ///
    /// When the point is reached, what the device has written is visible.
    pub fn finish_point(&self) -> Option<FencePoint> {
        if self.meta().marks.any(Marks::EARLY) { self.point(Of::Finished) } else { None }
    }

    /// The point at which the upload of the message to a device is done; `None`: it is not
    /// uploaded, or this is a forked child. Allocates. The payload itself is complete even before
    /// the point.
    pub fn uploaded_point(&self) -> Option<FencePoint> {
        if self.meta().marks.any(Marks::UPLOADED) { self.point(Of::Uploaded) } else { None }
    }

    fn point(&self, of: Of) -> Option<FencePoint> {
        // SAFETY: this sample's hold word is not 0 and its own.
        let home = unsafe { Home::of(self.entry) };
        let head = if home.in_child() { None } else { home.head() }?;
        Some(FencePoint { timeline: Timeline::of_subscriber(head, of), value: self.seq() })
    }

    /// Sequence number: consecutive per publisher, from 1.
    #[inline]
    pub fn seq(&self) -> u64 {
        self.entry().seq
    }

    /// The meta data of the message.
    #[inline]
    pub fn meta(&self) -> Meta {
        self.entry().meta
    }
}

impl Drop for RawSample {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a sample is the only owner of its hold word, which is not 0, and ends here.
        unsafe { Home::release(self.entry) }
    }
}
