//! Those who take messages in a trial: subscribers of the ring and links of the publisher's thread.
//!
//! Each holds what it gets against the books.

use super::books::{Books, Claim, User};
use crate::local::{LocalLink, LocalOptions};
use crate::subscriber::{RingSubscriber, SubscriberControl, TakeError};
use crate::tables::ConnLease;
use crate::{RawSample, RingControl};

/// Samples; each has to stay what it was.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Of the one who holds them.
    number: u64,
    held: Vec<RawSample>,
}

/// What a message says: a mark at its start, and at its end if it is long enough.
pub(super) fn write(bytes: &mut [u8], mark: u64) {
    bytes[..8].copy_from_slice(&mark.to_le_bytes());
    if let Some(start) = bytes.len().checked_sub(8).filter(|start| *start >= 8) {
        bytes[start..].copy_from_slice(&mark.to_le_bytes());
    }
}

fn mark(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Does it say this?
pub(super) fn check(bytes: &[u8], expected: u64, what: &str, number: u64) {
    let (first, last) = (mark(&bytes[..8]), mark(&bytes[bytes.len() - 8..]));
    assert!(
        (first, last) == (expected, expected) || bytes.len() < 16 && first == expected,
        "{what} {number} reads {first} and {last} where {expected} was written"
    );
}

impl Samples {
    fn new(number: u64) -> Self {
        Samples { number, held: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// A message was taken.
    fn add(&mut self, sample: RawSample, books: &mut Books) {
        check(sample.bytes(), books.written(sample.seq()), "message", sample.seq());
        let address = sample.bytes().as_ptr().addr();
        books.begin(address, User::Sample(self.number, sample.seq()));
        self.held.push(sample);
    }

    /// Drops one.
    pub(super) fn drop_at(&mut self, place: usize, books: &mut Books) {
        let sample = self.held.swap_remove(place);
        check(sample.bytes(), books.written(sample.seq()), "sample", sample.seq());
        books.end(User::Sample(self.number, sample.seq()));
    }

    pub(super) fn drop_all(&mut self, books: &mut Books) {
        while !self.held.is_empty() {
            self.drop_at(self.held.len() - 1, books);
        }
    }

    /// Each still says what was written.
    pub(super) fn check(&self, books: &Books) {
        for sample in &self.held {
            check(sample.bytes(), books.written(sample.seq()), "sample", sample.seq());
        }
    }
}

/// A subscriber of the ring.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) samples: Samples,
    /// `None`: it has gone, and its samples are left.
    subscriber: Option<RingSubscriber>,
    control: SubscriberControl,
    pub(super) peer: u32,
    /// Kept until the publisher was told to let the reader go. Were the place used again before,
    /// the publisher would wait for the next reader's cursor under this one's name.
    pub(super) conn: ConnLease,
    /// Messages that it may be behind without passing over the oldest.
    keeps: u64,
    /// Does the publisher wait for it?
    pub(super) reliable: bool,
    holds: usize,
    pub(super) claim: Claim,
}

/// What a reader was told when it came.
pub(super) struct Terms {
    pub(super) number: u64,
    pub(super) peer: u32,
    pub(super) conn: ConnLease,
    pub(super) keeps: u64,
    pub(super) reliable: bool,
    pub(super) holds: usize,
    pub(super) claim: Claim,
}

impl Reader {
    pub(super) fn new(subscriber: RingSubscriber, terms: Terms) -> Self {
        let Terms { number, peer, conn, keeps, reliable, holds, claim } = terms;
        let control = subscriber.control();
        let samples = Samples::new(number);
        let subscriber = Some(subscriber);
        Reader { samples, subscriber, control, peer, conn, keeps, reliable, holds, claim }
    }

    pub(super) fn is_there(&self) -> bool {
        self.subscriber.is_some()
    }

    /// May it lose messages now? `depth`: of the contract.
    fn may_lose(&self, books: &Books, depth: u64) -> bool {
        let behind = books.last() + 1 - self.claim.next();
        behind > self.keeps || !self.reliable && behind > depth
    }

    /// Takes one message; false: there was none, or it holds all that it may.
    pub(super) fn take(&mut self, books: &mut Books, depth: u64) -> bool {
        let may_lose = self.may_lose(books, depth);
        let Some(subscriber) = &mut self.subscriber else { return false };
        match subscriber.take() {
            Ok(Some(sample)) => {
                self.claim.got(sample.seq(), subscriber.lost(), may_lose);
                self.samples.add(sample, books);
                true
            }
            Ok(None) => {
                assert_eq!(self.claim.next(), books.last() + 1, "a message is not there");
                false
            }
            Err(error) => {
                let all_in_use = matches!(*error, TakeError::AllHoldsInUse { .. });
                assert!(all_in_use && self.samples.len() == self.holds, "{error}");
                false
            }
        }
    }

    /// Passes over one message.
    pub(super) fn skip(&mut self, books: &Books, depth: u64) {
        let may_lose = self.may_lose(books, depth);
        let Some(subscriber) = &mut self.subscriber else { return };
        if subscriber.skip().expect("an honest publisher") {
            self.claim.got(subscriber.next() - 1, subscriber.lost(), may_lose);
        }
    }

    /// Takes all there is and keeps none of it.
    pub(super) fn drain(&mut self, books: &mut Books, depth: u64) {
        if self.samples.len() == self.holds {
            self.samples.drop_at(0, books);
        }
        while self.take(books, depth) {
            self.samples.drop_at(self.samples.len() - 1, books);
        }
    }

    /// What it looks for next, if it is there.
    pub(super) fn wants(&self) -> u64 {
        self.subscriber.as_ref().map_or(u64::MAX, RingSubscriber::next)
    }

    /// Does it go to the newest message only if it is asked to?
    pub(super) fn can_jump(&self) -> bool {
        self.keeps == u64::MAX
    }

    /// Goes to the newest message.
    pub(super) fn jump(&mut self) {
        let Some(subscriber) = &mut self.subscriber else { return };
        let skipped = subscriber.skip_to_newest().expect("an honest publisher");
        self.claim.skipped(skipped);
    }

    /// It goes; its samples stay.
    pub(super) fn leave(&mut self) {
        self.subscriber = None;
    }

    /// It has gone, and so have its samples: the publisher is told.
    pub(super) fn is_over(&self, control: &RingControl) -> bool {
        let is_over = self.control.is_released();
        if is_over {
            control.detach(self.peer);
        }
        is_over
    }

    /// Its process is gone, with all that it held.
    pub(super) fn die(mut self, control: &RingControl, books: &mut Books) {
        for sample in &self.samples.held {
            books.end(User::Sample(self.samples.number, sample.seq()));
        }
        control.detach(self.peer);
        self.subscriber = None;
    }

    /// For memory that grows: what maps segments for it.
    pub(super) fn mapper(&self) -> (u32, SubscriberControl) {
        (self.peer, self.control.clone())
    }
}

/// A subscriber on the publisher's thread.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) samples: Samples,
    pub(super) link: Option<LocalLink>,
    options: LocalOptions,
    claim: Claim,
}

impl Chain {
    pub(super) fn new(number: u64, options: LocalOptions, books: &Books) -> Self {
        let next = books.last() + 1;
        Chain {
            samples: Samples::new(number),
            link: Some(LocalLink::new(options.clone())),
            options,
            claim: Claim::new(next, next),
        }
    }

    /// Does it refuse the next message?
    pub(super) fn is_full(&self) -> bool {
        let len = self.link.as_ref().map_or(0, LocalLink::len);
        self.options.reliable && len == self.options.depth
    }

    /// From which message on memory is kept for it when memory is short.
    pub(super) fn wanted(&self, books: &Books, depth: u64) -> Option<u64> {
        let len = self.link.as_ref().map_or(0, LocalLink::len) as u64;
        let kept = if self.options.reliable { len } else { len.min(depth) };
        (kept > 0).then(|| books.last() + 1 - kept)
    }

    pub(super) fn take(&mut self, books: &mut Books, depth: u64) -> bool {
        let Some(link) = &self.link else { return false };
        let behind = books.last() + 1 - self.claim.next();
        let may_lose = !self.options.reliable && behind > depth.min(self.options.depth as u64);
        match link.take() {
            Ok(Some(sample)) => {
                self.claim.got(sample.seq(), link.lost(), may_lose);
                self.samples.add(sample, books);
                true
            }
            Ok(None) => {
                assert_eq!(self.claim.next(), books.last() + 1, "a message is not there");
                false
            }
            Err(error) => {
                let all_in_use = matches!(*error, TakeError::AllHoldsInUse { .. });
                assert!(all_in_use && self.samples.len() == self.options.holds, "{error}");
                false
            }
        }
    }

    pub(super) fn drain(&mut self, books: &mut Books, depth: u64) {
        if self.samples.len() == self.options.holds {
            self.samples.drop_at(0, books);
        }
        while self.take(books, depth) {
            self.samples.drop_at(self.samples.len() - 1, books);
        }
    }
}
