//! A message that is being written.
//!
//! The state of a loan lies in a record of its publisher, so a loan is one pointer, and results
//! with a loan travel in registers (moving five words through memory cost 10 ns, measured).

use super::{Core, PublishError, PublishRefused, RingPublisher};
use crate::descriptor::Meta;
use crate::memory::Region;
use crate::pool::Chunk;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The state of an open loan. Made once, used again and again, freed with the publisher.
#[derive(Debug)]
pub(super) struct LoanRecord {
    /// The publisher that it belongs to.
    pub(super) core: NonNull<Core>,
    pub(super) chunk: Chunk,
    pub(super) start: NonNull<u8>,
    pub(super) bytes: usize,
    pub(super) meta: Meta,
}

/// Writable memory of one message that is not published yet.
///
/// Dropping it gives the memory back, and no subscriber sees a change. Several loans may be open. A
/// loan stays on the thread of its publisher.
#[derive(Debug)]
pub struct RawLoan<'a> {
    record: NonNull<LoanRecord>,
    publisher: PhantomData<&'a RingPublisher>,
}

/// A loan that waits without borrowing its publisher, for drivers that lend its memory to hardware.
///
/// [`RingPublisher::resume`] makes a loan of it again. Dropped, its memory stays taken until the
/// publisher goes. Any thread may keep it.
#[derive(Debug)]
#[must_use = "its memory stays taken until it is resumed"]
pub struct ParkedLoan {
    pub(super) record: NonNull<LoanRecord>,
    /// Number of the publisher.
    pub(super) publisher: u64,
}

// SAFETY: nothing follows the pointer but `resume`, on the thread that has the publisher.
unsafe impl Send for ParkedLoan {}

impl<'a> RawLoan<'a> {
    /// # Safety
    /// `record` is a record of a publisher that outlives 'a, filled for a chunk that nobody else
    /// uses, and not of another loan.
    #[inline(always)]
    pub(super) unsafe fn new(record: NonNull<LoanRecord>) -> Self {
        RawLoan { record, publisher: PhantomData }
    }

    #[inline(always)]
    fn record(&self) -> &LoanRecord {
        // SAFETY: as promised to `new`: alive, and this loan's alone.
        unsafe { self.record.as_ref() }
    }

    #[inline(always)]
    fn core(&self) -> &Core {
        // SAFETY: records do not outlive their publisher, nor does this loan.
        unsafe { self.record().core.as_ref() }
    }

    /// The memory to write to, as long as asked for, aligned to 64 bytes, contents unspecified.
    ///
    /// Subscribers see what is written after `publish`.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.parts_mut().0
    }

    /// The memory and the meta data that `publish_prepared` will send; `meta.len` starts at 0.
    #[inline]
    pub fn parts_mut(&mut self) -> (&mut [u8], &mut Meta) {
        let inert = self.core().in_child();
        // SAFETY: as promised to `new`: alive, and this loan's alone.
        let record = unsafe { self.record.as_mut() };
        if inert {
            return (&mut [], &mut record.meta);
        }
        // SAFETY: the chunk lies inside a mapping that the publisher keeps, is this loan's alone
        // (no scan found it held, nothing names it), and any byte is valid.
        let bytes = unsafe { std::slice::from_raw_parts_mut(record.start.as_ptr(), record.bytes) };
        (bytes, &mut record.meta)
    }

    /// The meta data alone; it is the loan's own memory in a forked child too.
    #[inline(always)]
    pub fn meta_mut(&mut self) -> &mut Meta {
        // SAFETY: as promised to `new`: alive, and this loan's alone.
        unsafe { &mut self.record.as_mut().meta }
    }

    /// The memory object that the bytes lie in.
    pub fn region(&self) -> Region {
        self.core().region(self.record().chunk)
    }

    /// Whether every peer has the memory that it lies in. False only after a peer did not map new
    /// memory in time and was left behind
    /// ([`PeerConfig::may_fall_behind`](crate::PeerConfig::may_fall_behind)).
    ///
    /// One load; takes a lock while some peer is behind.
    #[inline]
    pub fn reaches_all(&self) -> bool {
        self.core().control.is_everywhere(u32::from(self.record().chunk.segment))
    }

    /// Lets go of the publisher without giving the memory back.
    pub fn park(self) -> ParkedLoan {
        let parked = ParkedLoan { record: self.record, publisher: self.core().number };
        std::mem::forget(self);
        parked
    }

    /// Bytes loaned.
    #[inline]
    pub fn len(&self) -> usize {
        self.record().bytes
    }

    /// True if the loan is for an empty message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Publishes; answers the message's sequence number.
    ///
    /// Blocks while a reliable subscriber is `depth` messages behind, at most the contract's
    /// timeout. System calls: that wait, and one per sleeper that this thread wakes. On refusal the
    /// loan comes back.
    ///
    /// Memory visibility: a subscriber that takes the message sees everything written before.
    #[inline]
    pub fn publish(self, meta: Meta) -> Result<u64, PublishRefused<RawLoan<'a>>> {
        let outcome = self.core().publish_loan(self.record, &meta);
        self.ended(outcome)
    }

    /// Publishes with the meta data written through `parts_mut`; otherwise like `publish`.
    #[inline]
    pub fn publish_prepared(self) -> Result<u64, PublishRefused<RawLoan<'a>>> {
        let outcome = self.core().publish_loan(self.record, &self.record().meta);
        self.ended(outcome)
    }

    #[inline(always)]
    fn ended(
        self,
        outcome: Result<u64, Box<PublishError>>,
    ) -> Result<u64, PublishRefused<RawLoan<'a>>> {
        match outcome {
            Ok(seq) => {
                std::mem::forget(self);
                Ok(seq)
            }
            Err(reason) => Err(self.refused(reason)),
        }
    }

    #[cold]
    fn refused(self, reason: Box<PublishError>) -> PublishRefused<RawLoan<'a>> {
        PublishRefused { loan: self, reason }
    }
}

impl Drop for RawLoan<'_> {
    fn drop(&mut self) {
        self.core().abandon(self.record);
    }
}
