//! A message that a subscriber has taken.
//!
//! It must not know whether it came through a ring or through a local link.

use crate::descriptor::{Descriptor, Meta};
use crate::home::Home;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A message in shared memory, read-only, held until this is dropped.
///
/// Blocking/allocation/threads: `Send`; dropping is one store on any thread (a lock, if the subscriber is gone).
/// It may outlive its subscriber and its publisher. In a forked child it is inert and empty.
///
/// Memory visibility: everything that the publisher wrote before it published is visible. While this lives, a
/// publisher that keeps the protocol does not write to the payload; one that does not keep it can change
/// bytes at any time, so whatever is read from here more than once must be checked once.
#[derive(Debug)]
pub struct RawSample {
    payload: NonNull<u8>,
    hold: NonNull<AtomicU64>,
    home: NonNull<Home>,
    seq: u64,
    meta: Meta,
}

// SAFETY: the hold word and the home are made of atomics and locks; the payload is only read.
unsafe impl Send for RawSample {}
// SAFETY: `&RawSample` only reads.
unsafe impl Sync for RawSample {}

impl RawSample {
    /// `hold` holds `seq` in `home`; `None` if the descriptor does not lie inside (the hold stays).
    #[inline]
    pub(crate) fn new(
        home: &Arc<Home>,
        hold: &AtomicU64,
        seq: u64,
        descriptor: &Descriptor,
    ) -> Option<Self> {
        let meta = descriptor.meta;
        let payload = home.payload(descriptor.chunk, meta.len)?;
        Some(RawSample {
            payload,
            hold: NonNull::from(hold),
            home: NonNull::from(&**home),
            seq,
            meta,
        })
    }

    /// The payload.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let (start, len) = self.raw_parts();
        // SAFETY: inside a mapping that the hold keeps alive (home rule 1), readable, any byte is valid;
        // that nobody writes is what a publisher promises and seals cannot enforce (see above).
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// Address and length of the payload, aligned to 64 bytes, valid while this lives.
    #[inline]
    pub fn raw_parts(&self) -> (*const u8, usize) {
        // SAFETY: home rule 1: this sample's hold word is not 0.
        if unsafe { self.home.as_ref() }.in_child() {
            return (NonNull::<u64>::dangling().as_ptr().cast_const().cast(), 0);
        }
        (self.payload.as_ptr(), self.meta.len)
    }

    /// Sequence number: consecutive per publisher, from 1.
    #[inline]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// What travelled with the payload.
    #[inline]
    pub fn meta(&self) -> Meta {
        self.meta
    }
}

impl Drop for RawSample {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made from this home and a hold word of it; a sample is the only owner of its hold.
        unsafe { Home::release(self.home, self.hold) }
    }
}
