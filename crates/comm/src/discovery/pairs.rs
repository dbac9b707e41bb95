//! The pairs of a publisher and a subscriber that this process takes part in, and the memory that
//! it shares with each process for them.
//!
//! Plain data: the rules are in `subscribing_side` and `publishing_side`.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crossdock_shm::{
    ArmedLease, ConnLease, DoorbellControl, OpenMemoryError, PairMemory, PeerBell, PeerConns,
    PeerPair, ReceivedFd, RingControl, SubscriberControl, WeakRingMemory,
};

use crate::device::slabs::{Offer, Progress};
use crate::discovery::handover::PairEnd;
use crate::discovery::scarce::Failure;

/// The token of this process itself.
pub(crate) const LOCAL: u64 = 0;

/// Key of a pair in which we publish: the peer's token (0: this process) and the pair's number.
pub(crate) type OutgoingKey = (u64, u32);

/// What connects this process to one other process, or to itself.
#[derive(Default)]
pub(crate) struct PeerTables {
    /// Made by us, if we subscribe.
    pub(super) ours: Option<PairMemory>,
    /// Received from the peer, if it subscribes.
    pub(crate) theirs: Option<Theirs>,
    /// The descriptors of these, while there is no room to map them.
    pub(crate) unopened: Option<[ReceivedFd; 2]>,
    /// Bells of the peer's executors, until one is needed.
    pub(crate) unopened_bells: BTreeMap<u16, ReceivedFd>,
    /// Our executors that the peer can ring.
    pub(crate) joined: Vec<DoorbellControl>,
    /// Rings of the peer's publishers that are mapped here.
    pub(super) rings: HashMap<u64, WeakRingMemory>,
}

/// What a subscribing process shares with us.
#[derive(Clone)]
pub(crate) struct Theirs {
    pub(super) conns: PeerConns,
    pub(super) pair: PeerPair,
    /// Of executors that pairs have triggered.
    pub(crate) bells: BTreeMap<u16, PeerBell>,
}

impl Theirs {
    /// Maps what came with a `Memory` frame.
    pub(crate) fn open(label: &str, [conns, pair]: [BorrowedFd<'_>; 2]) -> Result<Theirs, Failure> {
        let failed = |error: OpenMemoryError| Failure::of(&error);
        Ok(Theirs {
            conns: PeerConns::open(label, conns).map_err(failed)?,
            pair: PeerPair::open(label, pair).map_err(failed)?,
            bells: BTreeMap::new(),
        })
    }
}

/// A pair in which this process subscribes.
pub(crate) struct Incoming {
    pub(crate) peer: u64,
    pub(super) publisher: u64,
    /// What names the publisher across processes.
    pub(super) gid: [u8; 16],
    pub(crate) subscriber: u64,
    pub(super) conn: ConnLease,
    pub(super) armed: Option<ArmedLease>,
    pub(super) stage: IncomingStage,
    /// Does the subscriber count it among those that it is matched with?
    pub(super) counted: bool,
    /// Slabs that wait for the subscriber's decision.
    pub(crate) offers: Vec<Offer>,
}

/// How far a pair in which this process subscribes is: see `subscribing_side`.
pub(crate) enum IncomingStage {
    /// Nothing is held yet: the end lies here, until the connection takes it.
    Asked(Option<PairEnd>),
    Live(SubscriberControl),
    /// Ended by us; samples may be left.
    Leaving,
    /// Let go by us, not yet by the publisher.
    Releasing,
}

impl Incoming {
    /// The subscriber's half, if the pair is live.
    pub(crate) fn live_control(&self) -> Option<&SubscriberControl> {
        match &self.stage {
            IncomingStage::Live(control) => Some(control),
            IncomingStage::Asked(_) | IncomingStage::Leaving | IncomingStage::Releasing => None,
        }
    }
}

/// A pair in which this process publishes.
pub(crate) struct Outgoing {
    pub(crate) publisher: u64,
    pub(super) control: Arc<RingControl>,
    /// Number at the ring.
    pub(super) peer: u32,
    /// Segments that were sent.
    pub(super) segments: u32,
    /// Segments that it was told to give back, a bit each.
    pub(super) told: u64,
    /// The subscriber takes no more messages; it may hold some.
    pub(crate) retired: bool,
    /// The subscriber, for people.
    pub(super) label: String,
    /// What names the subscriber across processes, if it is a gateway's.
    pub(crate) gateway: Option<[u8; 16]>,
    /// What it has of the publisher's slabs.
    pub(crate) slabs: Progress,
}
