//! A connection through a ring on its way from the control thread to the subscriber's thread, and
//! how its pair ends behind it.

use std::sync::{Arc, Weak};

use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::status::Entity;
use crossdock_shm::{Copies, RingSubscriber};

use crate::discovery::pair_reports::{PairNews, PairReports};
use crate::discovery::peer_link::Grip;
use crate::wire::port_info::PortInfo;
use crate::wire::qos::Qos;

/// Tells the control thread that a connection is not used any more. Dropped last.
pub(crate) struct LetGo {
    pub(crate) reports: Weak<PairReports>,
    pub(crate) pair: u32,
}

impl Drop for LetGo {
    fn drop(&mut self) {
        if let Some(reports) = self.reports.upgrade() {
            reports.tell(PairNews::LetGo(self.pair));
        }
    }
}

/// The end of a pair in which this process subscribes. It lies in the pair while that is asked for,
/// and goes to the subscriber's samples with the connection: it is dropped when nothing is held,
/// and that is the only way in which a publisher hears of it.
#[derive(Debug)]
pub(crate) struct PairEnd {
    pub(crate) reports: Weak<PairReports>,
    pub(crate) pair: u32,
    /// The publisher's process hears of the end of all at once, should this be the last. `None`: it
    /// is ours.
    pub(crate) _grip: Option<Arc<Grip>>,
}

impl Drop for PairEnd {
    fn drop(&mut self) {
        if let Some(reports) = self.reports.upgrade() {
            reports.tell(PairNews::Unheld(self.pair));
        }
    }
}

/// The publishing port of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counterpart {
    pub(crate) process: PeerName,
    /// Number of the port in that process.
    pub(crate) port: u64,
    /// Its depth.
    pub(crate) depth: usize,
    /// Node and process, for people.
    pub(crate) label: String,
    /// The user, if it is a stranger.
    pub(crate) stranger: Option<u32>,
}

/// A connection through a ring on its way from the control thread to the subscriber's. Dropping it
/// lets the pair go.
pub(crate) struct RingConnection {
    // Order matters: `let_go` goes after the ring.
    pub(crate) ring: RingSubscriber,
    /// Where messages are copied to, if its publisher is a stranger or regards us as one.
    pub(crate) copies: Option<Box<Copies>>,
    /// Who publishes.
    pub(crate) counterpart: Counterpart,
    /// Its record on our status table.
    pub(crate) record: Option<Entity>,
    /// What the publisher offers.
    pub(crate) qos: Qos,
    pub(crate) publisher: PublisherKey,
    pub(crate) let_go: LetGo,
}

impl RingConnection {
    /// Messages in it, none of which can be taken any more behind this call. A ring that breaks the
    /// protocol has none.
    pub(crate) fn unread(&mut self) -> u64 {
        let older = self.ring.skip_to_newest().unwrap_or(0);
        older + u64::from(matches!(self.ring.peek(), Ok(Some(_))))
    }

    /// Number of the pair.
    pub(crate) fn pair(&self) -> u32 {
        self.let_go.pair
    }
}

/// Orders the publishers of a topic, whatever process they are in and whenever they were met: by
/// the name of their node, then by the number of their port, which rises in the order in which the
/// node has opened its ports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PublisherKey {
    node: Box<str>,
    port: u64,
}

impl PublisherKey {
    pub(crate) fn of(publisher: &PortInfo) -> PublisherKey {
        PublisherKey { node: publisher.node.as_str().into(), port: publisher.port }
    }

    /// The node.
    pub(crate) fn node(&self) -> &str {
        &self.node
    }
}
