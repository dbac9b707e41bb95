//! What ports have counted, as their status records say it.

use crate::port::publisher_core::PublisherCore;
use crate::port::subscriber_core::SubscriberCore;
use crate::wire::status_records::counter;

/// Why a port of a bridge to a network could not carry a message on: the port counts it for all who
/// look at the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uncarried {
    /// The network took it too slowly, or not at all, or lost it.
    Network,
    /// It is no message of its type.
    Malformed,
    /// It is larger than a message of the topic may be.
    Oversize,
    /// There is no memory for it.
    NoRoom,
}

impl Uncarried {
    pub(crate) fn counter(self) -> usize {
        match self {
            Uncarried::Network => counter::LOST_NETWORK,
            Uncarried::Malformed => counter::LOST_CORRUPT,
            Uncarried::Oversize => counter::LOST_OVERSIZE,
            Uncarried::NoRoom => counter::LOST_NO_ROOM,
        }
    }
}

/// What happened at a publisher so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublisherCounters {
    /// Messages published.
    pub messages: u64,
    /// Payload bytes published.
    pub bytes: u64,
    /// Payloads that were converted or copied on the way in.
    pub copies: u64,
    /// Bytes that were copied from a device or to it. Other copies are not among them.
    pub copied_bytes: u64,
    /// Messages published while nobody was connected.
    pub unmatched: u64,
    /// Publishes refused because a reliable subscriber did not take in time.
    pub timeouts: u64,
    /// Publishes that had to wait for a reliable subscriber.
    pub waits: u64,
    /// Sleeping executors woken.
    pub wakes: u64,
}

impl PublisherCounters {
    pub(crate) fn read(core: &PublisherCore) -> PublisherCounters {
        PublisherCounters {
            messages: core.counter(counter::MESSAGES),
            bytes: core.counter(counter::BYTES),
            copies: core.counter(counter::COPIES),
            copied_bytes: core.counter(counter::COPIED_BYTES),
            unmatched: core.counter(counter::LOST_UNMATCHED),
            timeouts: core.counter(counter::LOST_TIMEOUT),
            waits: core.counter(counter::WAITS),
            wakes: core.counter(counter::WAKES),
        }
    }
}

/// What happened at a subscriber so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscriberCounters {
    /// Messages taken.
    pub taken: u64,
    /// Payload bytes taken.
    pub bytes: u64,
    /// Messages that the node has finished with.
    pub processed: u64,
    /// Messages passed over on request, or because nobody waits for this subscriber
    /// ([`crate::BackPressure`]).
    pub skipped: u64,
    /// Lost: overtaken by a best-effort publisher.
    pub lapped: u64,
    /// Lost: more than `depth` waited.
    pub keep_last: u64,
    /// Lost: overwritten by a reliable publisher that does not wait.
    pub overwritten: u64,
    /// Lost: older than its publisher's lifespan.
    pub expired: u64,
    /// Lost: damaged.
    pub corrupt: u64,
    /// Payloads that were copied: to a device, or when they were taken, because their publisher is
    /// a stranger or does not wait for holds.
    pub copies: u64,
    /// Bytes that were copied to a device. Copies of what was taken are not among them.
    pub copied_bytes: u64,
}

impl SubscriberCounters {
    pub(crate) fn read(core: &SubscriberCore) -> SubscriberCounters {
        SubscriberCounters {
            taken: core.counter(counter::MESSAGES),
            bytes: core.counter(counter::BYTES),
            processed: core.counter(counter::PROCESSED),
            skipped: core.counter(counter::SKIPPED),
            lapped: core.counter(counter::LOST_LAPPED),
            keep_last: core.counter(counter::LOST_KEEP_LAST),
            overwritten: core.counter(counter::LOST_OVERWRITTEN),
            expired: core.counter(counter::LOST_EXPIRED),
            corrupt: core.counter(counter::LOST_CORRUPT),
            copies: core.counter(counter::COPIES),
            copied_bytes: core.counter(counter::COPIED_BYTES),
        }
    }
}
