//! A subscriber's side of one connection: where the next message comes from and what was missed.
//!
//! A connection lives on the subscriber's thread once it was taken out of the mailbox.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crossdock_shm::status::Entity;
use crossdock_shm::timeline::FencePoint;
use crossdock_shm::{Copies, LocalLink, Losses, Meta, RawSample, RingSubscriber, TakeError};

use crate::discovery::handover::{LetGo, PublisherKey, RingConnection};
use crate::discovery::port_events::PortEvents;
use crate::wire::qos::{Qos, limit};
use crate::wire::status_records::CONNECTION_POSITION;

/// Expired messages that one take passes over at most: as many as a ring holds.
const EXPIRED_MAX: usize = 2 * crate::wire::qos::DEPTH_MAX;
/// A publisher whose messages do not expire.
const FOR_EVER: u64 = u64::MAX;

/// How many subscribers of its group a publisher is linked with. The publisher alone owns it, so it
/// is there as long as the publisher is.
pub(crate) type LinkCount = Arc<AtomicUsize>;

/// Counts a link at its publisher for as long as both live.
struct CountedLink {
    links: Weak<AtomicUsize>,
    gid: [u8; 16],
    /// Of the publisher and of the subscriber.
    events: [PortEvents; 2],
}

impl CountedLink {
    fn new(links: &LinkCount, gid: [u8; 16], events: [PortEvents; 2]) -> CountedLink {
        links.fetch_add(1, Ordering::Relaxed);
        let [publisher, subscriber] = &events;
        publisher.matched();
        subscriber.connected();
        CountedLink { links: Arc::downgrade(links), gid, events }
    }

    #[inline]
    fn has_publisher(&self) -> bool {
        self.links.strong_count() > 0
    }
}

impl Drop for CountedLink {
    fn drop(&mut self) {
        if let Some(links) = self.links.upgrade() {
            links.fetch_sub(1, Ordering::Relaxed);
        }
        let [publisher, subscriber] = &self.events;
        publisher.unmatched();
        subscriber.parted(self.gid);
    }
}

/// A publisher of the same group, as a subscriber links with it.
pub(crate) struct GroupPublisher<'a> {
    pub(crate) key: PublisherKey,
    pub(crate) gid: [u8; 16],
    pub(crate) links: &'a LinkCount,
    /// Messages that it has published.
    pub(crate) published: u64,
    pub(crate) qos: &'a Qos,
    /// Of the publisher and of the subscriber.
    pub(crate) events: [PortEvents; 2],
}

/// Where the messages of a connection come from.
enum MessageSource {
    Ring {
        ring: RingSubscriber,
        let_go: LetGo,
    },
    /// The same, with each message copied when it is taken.
    Copied {
        ring: RingSubscriber,
        copies: Box<Copies>,
        let_go: LetGo,
    },
    Local {
        link: LocalLink,
        counted: CountedLink,
    },
}

/// See the head of this file.
pub(crate) struct Connection {
    // Order matters: the source's `LetGo` goes after its ring.
    source: MessageSource,
    publisher: PublisherKey,
    /// The last message number that was taken, lost or skipped.
    position: u64,
    /// The last message number whose arrival was told.
    told: u64,
    /// Was a message missed that was not counted yet?
    gap: bool,
    /// Its record on our status table.
    record: Option<Entity>,
    /// What is behind the ring's losses that were counted.
    counted: Losses,
    /// Messages that were copied and not counted yet.
    copied: u64,
    /// The publisher is gone: nothing new comes.
    gone: bool,
    /// How often others were preferred while this one had a message.
    passed_over: u64,
    /// How often that may happen: the publisher's depth.
    depth: u64,
    /// Does its publisher overwrite what is not taken in time?
    overwrites: bool,
    /// Does its publisher wait until what it offers is taken, unless it is too old?
    waits: bool,
    /// How old its messages may be; [`FOR_EVER`]: any age.
    lifespan_ns: u64,
    /// Messages that were too old, and not counted yet.
    expired: u64,
}

/// What a subscriber lost on one connection since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewLosses {
    pub(crate) lapped: u64,
    pub(crate) keep_last: u64,
    pub(crate) corrupt: u64,
    /// Not copied although they had to be.
    pub(crate) refused: u64,
    /// Older than the publisher's lifespan.
    pub(crate) expired: u64,
    /// Not lost: copied when they were taken.
    pub(crate) copied: u64,
}

impl Connection {
    /// What the control thread has made.
    pub(crate) fn ring(made: RingConnection) -> Connection {
        let RingConnection { mut ring, copies, let_go, record, qos, publisher, .. } = made;
        let position = ring.next() - 1;
        let source = match copies {
            None => MessageSource::Ring { ring, let_go },
            Some(copies) => {
                ring.keep_copies(&copies);
                MessageSource::Copied { ring, copies, let_go }
            }
        };
        Connection::new(source, publisher, position, record, &qos)
    }

    /// A link that has just joined `publisher`.
    pub(crate) fn local(
        link: LocalLink,
        publisher: GroupPublisher<'_>,
        record: Option<Entity>,
    ) -> Connection {
        let GroupPublisher { key, gid, links, published, qos, events } = publisher;
        let source = MessageSource::Local { link, counted: CountedLink::new(links, gid, events) };
        Connection::new(source, key, published, record, qos)
    }

    fn new(
        source: MessageSource,
        publisher: PublisherKey,
        position: u64,
        record: Option<Entity>,
        qos: &Qos,
    ) -> Connection {
        let connection = Connection {
            source,
            publisher,
            position,
            told: position,
            gap: false,
            record,
            counted: Losses::default(),
            copied: 0,
            gone: false,
            passed_over: 0,
            depth: qos.depth as u64,
            overwrites: qos.overwrites(),
            waits: qos.waits(),
            lifespan_ns: limit(qos.lifespan).map_or(FOR_EVER, |it| it.as_nanos() as u64),
            expired: 0,
        };
        connection.show_position();
        connection
    }

    /// Number of the pair; `None` inside a thread.
    pub(crate) fn pair(&self) -> Option<u32> {
        match &self.source {
            MessageSource::Ring { let_go, .. } | MessageSource::Copied { let_go, .. } => {
                Some(let_go.pair)
            }
            MessageSource::Local { .. } => None,
        }
    }

    /// Is each message copied when it is taken?
    pub(crate) fn is_copied(&self) -> bool {
        matches!(self.source, MessageSource::Copied { .. })
    }

    /// Its place among the publishers of a topic.
    pub(crate) fn publisher(&self) -> &PublisherKey {
        &self.publisher
    }

    /// What names the publisher across processes.
    #[inline]
    pub(crate) fn gid(&self) -> [u8; 16] {
        match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => ring.source(),
            MessageSource::Local { counted, .. } => counted.gid,
        }
    }

    /// Messages that have come since the last call, at most as many as the publisher keeps.
    pub(crate) fn take_arrived(&mut self) -> u64 {
        let last = match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => ring.last(),
            MessageSource::Local { link, .. } => self.position + link.len() as u64,
        };
        let arrived = last.saturating_sub(self.told).min(self.depth);
        self.told = self.told.max(last);
        arrived
    }

    /// The publisher of a ring serves it no more: it is drained. Should the publisher be there and
    /// go on, what comes from now on is not for this one.
    pub(crate) fn set_gone(&mut self) {
        self.gone = true;
        if let MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } =
            &mut self.source
        {
            ring.end_here();
        }
    }

    /// Nothing is taken any more: no publisher elsewhere waits for it.
    pub(crate) fn leave(&mut self) {
        if let MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } =
            &mut self.source
        {
            ring.leave();
        }
    }

    /// Is the publisher there and believed, as far as anybody here knows?
    pub(crate) fn is_alive(&self) -> bool {
        match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => ring.alive(),
            MessageSource::Local { counted, .. } => counted.has_publisher(),
        }
    }

    /// Is a fence point one of its publisher's messages?
    pub(crate) fn is_source_of(&self, point: &FencePoint) -> bool {
        match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => {
                ring.is_source_of(point)
            }
            // In one thread there is nothing to be cut off.
            MessageSource::Local { .. } => false,
        }
    }

    /// Is its publisher in the same thread?
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.source, MessageSource::Local { .. })
    }

    /// Nothing new comes.
    #[inline]
    pub(crate) fn is_gone(&self) -> bool {
        match &self.source {
            MessageSource::Ring { .. } | MessageSource::Copied { .. } => self.gone,
            MessageSource::Local { counted, .. } => !counted.has_publisher(),
        }
    }

    /// Has the publisher broken the protocol? What its ring holds is not believed any more.
    pub(crate) fn is_corrupt(&self) -> bool {
        match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => {
                ring.losses().corrupt > 0
            }
            MessageSource::Local { .. } => false,
        }
    }

    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<Meta>, Box<TakeError>> {
        match &mut self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => ring.peek(),
            MessageSource::Local { link, .. } => Ok(link.peek()),
        }
    }

    /// What travels with the message `ahead` places behind the next one; `None` when it is not
    /// there.
    pub(crate) fn look(&self, ahead: u64) -> Option<Meta> {
        match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => {
                ring.look(ahead)
            }
            MessageSource::Local { .. } => None,
        }
    }

    /// Whether as many messages of a ring are there as its publisher keeps, or as `depth`.
    pub(crate) fn is_full(&self, depth: usize) -> bool {
        match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => {
                let last = self.depth.min(depth as u64).saturating_sub(1);
                ring.look(last).is_some()
            }
            MessageSource::Local { .. } => false,
        }
    }

    /// Is there a message, or a loss to count?
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => {
                ring.is_ready()
            }
            MessageSource::Local { link, .. } => link.is_ready(),
        }
    }

    /// Does its publisher overwrite what is not taken in time?
    pub(crate) fn is_overwritten(&self) -> bool {
        self.overwrites
    }

    /// Does its publisher let go of messages only because they are too old?
    pub(crate) fn expires_untaken(&self) -> bool {
        self.waits && self.lifespan_ns != FOR_EVER
    }

    #[inline]
    pub(crate) fn take(&mut self) -> Result<Option<RawSample>, Box<TakeError>> {
        match self.take_of_any_age()? {
            Some(sample) if self.lifespan_ns != FOR_EVER => self.unexpired(Some(sample)),
            taken => Ok(taken),
        }
    }

    /// The first message that is not older than its publisher's lifespan.
    #[cold]
    fn unexpired(
        &mut self,
        mut taken: Option<RawSample>,
    ) -> Result<Option<RawSample>, Box<TakeError>> {
        let now_ns = crossdock_shm::clock::now_ns();
        for _ in 0..EXPIRED_MAX {
            let Some(sample) = &taken else { return Ok(None) };
            if sample.meta().stamp_ns.saturating_add(self.lifespan_ns) >= now_ns {
                return Ok(taken);
            }
            self.expired += 1;
            self.gap = true;
            taken = self.take_of_any_age()?;
        }
        Ok(None)
    }

    #[inline]
    fn take_of_any_age(&mut self) -> Result<Option<RawSample>, Box<TakeError>> {
        let taken = match &mut self.source {
            MessageSource::Ring { ring, .. } => ring.take()?,
            MessageSource::Copied { ring, copies, .. } => {
                let taken = ring.take_copied(copies)?;
                self.copied += u64::from(taken.is_some());
                // Copies and what could not be copied are counted where gaps are.
                self.gap = true;
                taken
            }
            MessageSource::Local { link, .. } => link.take()?,
        };
        match &taken {
            Some(sample) => self.moved_to(sample.seq()),
            None => self.found_nothing(),
        }
        Ok(taken)
    }

    /// Message `seq` was taken. Numbers are consecutive, so a gap is a loss.
    #[inline]
    fn moved_to(&mut self, seq: u64) {
        self.gap |= seq != self.position + 1;
        self.passed_over = 0;
        self.position = seq;
        self.show_position();
    }

    /// Nothing was there, but messages before may have been lost.
    #[inline]
    fn found_nothing(&mut self) {
        if let MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } = &self.source
            && ring.next() != self.position + 1
        {
            self.gap = true;
            self.position = ring.next() - 1;
            self.show_position();
        }
    }

    /// Messages were passed over: finds out where the connection is.
    fn locate(&mut self, passed_over: u64) {
        self.gap = true;
        self.position = match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => {
                ring.next() - 1
            }
            MessageSource::Local { link, .. } => {
                let lost = link.lost().wrapping_sub(self.counted.keep_last);
                self.position + passed_over + lost
            }
        };
        self.show_position();
    }

    /// Was a message missed since the last call?
    #[inline]
    pub(crate) fn take_gap(&mut self) -> bool {
        std::mem::take(&mut self.gap)
    }

    /// Passes over the oldest message; false when there is none.
    pub(crate) fn skip(&mut self) -> Result<bool, Box<TakeError>> {
        let skipped = match &mut self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => ring.skip()?,
            MessageSource::Local { link, .. } => link.skip(),
        };
        self.locate(u64::from(skipped));
        Ok(skipped)
    }

    /// Passes over all messages but the newest; returns how many.
    pub(crate) fn skip_to_newest(&mut self) -> Result<u64, Box<TakeError>> {
        let skipped = match &mut self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => {
                ring.skip_to_newest()?
            }
            MessageSource::Local { link, .. } => {
                // Bounded by the depth of the link.
                let older = link.len().saturating_sub(1);
                (0..older).for_each(|_| _ = link.skip());
                older as u64
            }
        };
        if skipped > 0 {
            self.locate(skipped);
        }
        Ok(skipped)
    }

    /// Arms the publisher's doorbell for a triggering subscriber; true when a message is there,
    /// so that the executor must not sleep.
    pub(crate) fn arm(&self) -> bool {
        match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => ring.arm(),
            MessageSource::Local { link, .. } => link.is_ready(),
        }
    }

    /// Another connection was preferred although this one had a message.
    pub(crate) fn pass_over(&mut self) {
        self.passed_over += 1;
    }

    /// Must this one be preferred now, whatever its stamp? No ring waits for more than its depth.
    pub(crate) fn has_waited(&self) -> bool {
        self.passed_over >= self.depth
    }

    /// What was lost since the last call.
    #[inline]
    pub(crate) fn new_losses(&mut self) -> NewLosses {
        let now = match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => ring.losses(),
            MessageSource::Local { link, .. } => {
                Losses { keep_last: link.lost(), ..Losses::default() }
            }
        };
        let copied = std::mem::take(&mut self.copied);
        let expired = std::mem::take(&mut self.expired);
        if now == self.counted {
            return NewLosses { copied, expired, ..NewLosses::default() };
        }
        let before = std::mem::replace(&mut self.counted, now);
        NewLosses {
            lapped: now.lapped.wrapping_sub(before.lapped),
            keep_last: now.keep_last.wrapping_sub(before.keep_last),
            corrupt: now.corrupt.wrapping_sub(before.corrupt),
            refused: now.refused.wrapping_sub(before.refused),
            expired,
            copied,
        }
    }

    /// Messages that a full queue inside the thread has forgotten since the last call; it has
    /// passed over them.
    pub(crate) fn take_overflow(&mut self) -> u64 {
        let MessageSource::Local { link, .. } = &self.source else { return 0 };
        let overflow = link.lost().wrapping_sub(self.counted.keep_last);
        if overflow > 0 {
            self.counted.keep_last = link.lost();
            // They were the oldest of the queue: right behind the position.
            self.position += overflow;
            self.show_position();
        }
        overflow
    }

    /// Shows observers that everything published so far has been looked at.
    pub(crate) fn show_waiting(&self) {
        let position = match &self.source {
            MessageSource::Ring { ring, .. } | MessageSource::Copied { ring, .. } => ring.last(),
            MessageSource::Local { link, .. } => {
                let lost = link.lost().wrapping_sub(self.counted.keep_last);
                self.position + lost + link.len() as u64
            }
        };
        if let Some(record) = &self.record {
            record.set(CONNECTION_POSITION, position);
        }
    }

    /// Shows observers how far this connection has got.
    #[inline]
    fn show_position(&self) {
        if let Some(record) = &self.record {
            record.set(CONNECTION_POSITION, self.position);
        }
    }
}
