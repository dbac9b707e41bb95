//! The ports of this process as its control thread knows them. Plain data.

use std::num::NonZeroU8;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use crossdock_msg::Schema;
use crossdock_shm::{DoorbellControl, RingControl};

use crate::device::slabs::{Offered, Reach, Wish};
use crate::discovery::mailbox::Mailbox;
use crate::discovery::port_events::PortEvents;
use crate::wire::port_info::PortInfo;
use crate::wire::qos::BackPressure;

/// A publisher of this process.
pub(crate) struct LocalPublisher {
    pub(crate) info: PortInfo,
    pub(crate) definition: Arc<str>,
    pub(crate) control: Arc<RingControl>,
    pub(crate) group: Option<u64>,
    pub(crate) audience: Audience,
    /// The largest message, as its options named it.
    pub(crate) max_bytes: Option<usize>,
    /// Where the publisher's executor is rung when a subscriber was attached.
    pub(crate) wake: Option<Wake>,
    /// What it has offered, in order, and who has it.
    pub(crate) slabs: Vec<Offered>,
    pub(crate) reach: Arc<Reach>,
    pub(crate) level: Arc<Level>,
    pub(crate) events: PortEvents,
}

/// The least severe level that a publisher of logs lets pass: its node reads it, others may set it.
/// 0: the publisher publishes no logs. Relaxed, as it orders nothing.
#[derive(Debug, Default)]
pub(crate) struct Level(AtomicU8);

impl Level {
    #[inline]
    pub(crate) fn value(&self) -> u8 {
        self.0.load(Relaxed)
    }

    /// By the publisher's own node.
    pub(crate) fn begin(&self, level: NonZeroU8) {
        self.0.store(level.get(), Relaxed);
    }

    /// By others: sets the level if one is wanted, and gives what it is. `None`: there is no level.
    pub(crate) fn set(&self, wanted: Option<NonZeroU8>) -> Option<NonZeroU8> {
        let now = NonZeroU8::new(self.value())?;
        let Some(wanted) = wanted else { return Some(now) };
        self.begin(wanted);
        Some(wanted)
    }
}

/// Whom a publisher is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Everybody who subscribes.
    Topic,
    /// One subscriber at a time: the other end of a service.
    One,
}

/// A subscriber of this process.
pub(crate) struct LocalSubscriber {
    pub(crate) info: PortInfo,
    pub(crate) takes: Takes,
    pub(crate) back_pressure: BackPressure,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) wake: Option<Wake>,
    pub(crate) group: Option<u64>,
    pub(crate) depth: Depth,
    pub(crate) slabs: Wish,
    pub(crate) events: PortEvents,
}

/// How many messages may wait for a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// As its quality of service says.
    Own,
    /// As many as its publisher's says: services agree on one depth.
    OfPublisher,
}

impl LocalSubscriber {
    /// Whether a reliable publisher of a ring waits for it.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.info.qos.is_reliable() && self.back_pressure != BackPressure::Never
    }

    /// Whether its messages release a node; those of a port that only looks do not
    /// ([`crate::Participant::watching_subscriber`]).
    pub(crate) fn releases(&self) -> bool {
        let watches = self.takes.any().is_some() && self.back_pressure == BackPressure::Never;
        self.wake.is_some() && !watches
    }
}

/// Which types a subscriber takes.
#[derive(Clone, Debug)]
pub(crate) enum Takes {
    /// The one that it was made for, with its definition.
    One(Arc<str>),
    /// The type of the first publisher that it meets, which is left here.
    Any(LearnedType),
}

/// The type of an untyped subscriber: known from the beginning, or left by the control thread
/// before the subscriber is connected.
pub(crate) type LearnedType = Arc<OnceLock<Arc<Schema>>>;

impl Takes {
    /// The type's definition, as soon as it is known.
    pub(crate) fn definition(&self) -> Option<Arc<str>> {
        match self {
            Takes::One(definition) => Some(Arc::clone(definition)),
            Takes::Any(learned) => learned.get().map(|schema| schema.definition().into()),
        }
    }

    /// Where the type of the first publisher is left.
    pub(crate) fn any(&self) -> Option<&LearnedType> {
        match self {
            Takes::One(_) => None,
            Takes::Any(learned) => Some(learned),
        }
    }
}

/// Where a triggering subscriber's executor sleeps.
#[derive(Clone)]
pub(crate) struct Wake {
    pub(crate) bell: DoorbellControl,
    pub(crate) input: u16,
}
