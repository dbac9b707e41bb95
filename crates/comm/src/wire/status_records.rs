//! What the records on a status table mean: kinds, counters, and the bytes of their details.
//!
//! This is the common language of processes and observers.

use crossdock_shm::rendezvous::PeerName;

use crate::wire::names::{NameKind, check_name};
use crate::wire::port_info::Maker;

/// Kinds of records.
pub mod kind {
    /// A publisher; the detail is its port description.
    pub const PUBLISHER: u32 = 1;
    /// A subscriber; the detail is its port description.
    pub const SUBSCRIBER: u32 = 2;
    /// A subscriber's connection to one publisher.
    pub const CONNECTION: u32 = 3;
    /// A node; the name is its whole name, the detail a [`NodeDetail`](super::NodeDetail). Counters
    /// belong to the executor.
    pub const NODE: u32 = 4;
    /// A chain; counters and detail belong to the executor.
    pub const CHAIN: u32 = 5;
    /// A gateway between a topic and a fabric; counters and detail belong to its host.
    pub const GATEWAY: u32 = 6;
    /// A fabric; counters and detail belong to its host.
    pub const FABRIC: u32 = 7;
    /// Counts in a fabric's registers; counters and detail belong to its host.
    pub const FABRIC_COUNTS: u32 = 8;
    /// An executor; counters and detail belong to the executor.
    pub const EXECUTOR: u32 = 9;
    /// A timer; counters and detail belong to the executor.
    pub const TIMER: u32 = 10;
    /// A client of a service; the detail is a port description with the service's name and type.
    pub const CLIENT: u32 = 11;
    /// A server of a service; the detail as a client's.
    pub const SERVER: u32 = 12;
    /// A topic as a node on a device has it; the detail is text: node, device, way and its reason,
    /// a line each.
    pub const DEVICE_TOPIC: u32 = 13;
    /// A publisher behind a shared topic; the detail is the number of the port that carries its
    /// messages, then its own port description.
    pub const MEMBER_PUBLISHER: u32 = 14;
    /// A subscriber behind a shared topic; the detail as such a publisher's.
    pub const MEMBER_SUBSCRIBER: u32 = 15;

    /// What the graph consists of as ROS 2 sees it: watchers are told when a record of these kinds
    /// changes.
    pub(crate) const OF_GRAPH: &[u32] =
        &[PUBLISHER, SUBSCRIBER, NODE, CLIENT, SERVER, MEMBER_PUBLISHER, MEMBER_SUBSCRIBER];
}

/// What a node's record says beside the node's name: a line each, and no lines at the end that say
/// what is usual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDetail {
    /// `<package>/<node type>`; empty: unknown.
    pub node_type: String,
    /// Its security enclave, `/` if it has none of its own.
    pub enclave: String,
    /// Who has made it.
    pub maker: Maker,
}

impl NodeDetail {
    /// A native node without an enclave.
    pub fn native(node_type: String) -> NodeDetail {
        NodeDetail { node_type, enclave: "/".to_string(), maker: Maker::Native }
    }

    /// As the record has it.
    pub fn encode(&self) -> String {
        let NodeDetail { node_type, enclave, maker } = self;
        match (enclave.as_str(), maker) {
            ("/", Maker::Native) => node_type.clone(),
            (enclave, Maker::Native) => format!("{node_type}\n{enclave}"),
            (enclave, maker) => format!("{node_type}\n{enclave}\n{maker}"),
        }
    }

    /// `None` when the bytes of a foreign status table are no such detail.
    pub fn decode(bytes: &[u8]) -> Option<NodeDetail> {
        let mut lines = std::str::from_utf8(bytes).ok()?.split('\n');
        let node_type = lines.next()?.to_string();
        let enclave = lines.next().unwrap_or("/").to_string();
        check_name(NameKind::Enclave, &enclave).ok()?;
        let maker = match lines.next() {
            None => Maker::Native,
            Some(text) => Maker::ALL.into_iter().find(|maker| maker.to_string() == text)?,
        };
        check_name(NameKind::NodeType, &node_type).ok()?;
        lines.next().is_none().then_some(NodeDetail { node_type, enclave, maker })
    }
}

/// Counters of publishers and subscribers. Each counts from the creation of the port.
pub mod counter {
    /// Publisher: messages published. Subscriber: messages taken.
    pub const MESSAGES: usize = 0;
    /// Payload bytes of these messages.
    pub const BYTES: usize = 1;
    /// Times that a payload was copied by Crossdock. Publisher: when it was published or converted,
    /// or from a device or to it. Subscriber: when it was taken, because its publisher is a
    /// stranger or does not wait for holds, or to a device.
    pub const COPIES: usize = 2;
    /// Subscriber: lost because a best-effort publisher overtook it.
    pub const LOST_LAPPED: usize = 3;
    /// Subscriber: lost because more than `depth` messages waited (keep last).
    pub const LOST_KEEP_LAST: usize = 4;
    /// Publisher: refused because a reliable subscriber did not take in time; of the events of a
    /// service also those for which there was no memory.
    pub const LOST_TIMEOUT: usize = 5;
    /// Publisher: published while nobody was connected.
    pub const LOST_UNMATCHED: usize = 6;
    /// Refused because the publisher's descriptor or payload is damaged, or what a bridge has
    /// carried in is no message of the type.
    pub const LOST_CORRUPT: usize = 7;
    /// Subscriber: passed over by `latest` or `skip`, or because nobody waits for this subscriber
    /// and more than `depth` messages were there.
    pub const SKIPPED: usize = 8;
    /// Subscriber: messages that its node has finished with.
    pub const PROCESSED: usize = 9;
    /// Publisher: sleeping executors woken.
    pub const WAKES: usize = 10;
    /// Publisher: times that it looked for chunks that nobody holds.
    pub const SCANS: usize = 11;
    /// Publisher: times that a publish had to wait for a reliable subscriber.
    pub const WAITS: usize = 12;
    /// Subscriber: lost because a reliable publisher that does not wait overwrote it.
    pub const LOST_OVERWRITTEN: usize = 15;
    /// Subscriber: lost because a message was older than its publisher's lifespan when it was
    /// looked for.
    pub const LOST_EXPIRED: usize = 16;
    /// Port of a bridge to a network: the network took it too slowly, or not at all, or lost it.
    pub const LOST_NETWORK: usize = 17;
    /// Publisher of a bridge: larger than a message of the topic may be.
    pub const LOST_OVERSIZE: usize = 18;
    /// Publisher of a bridge: there was no memory for it.
    pub const LOST_NO_ROOM: usize = 19;
    /// Bytes of the payloads that were copied to a device or from it. Part of `COPIES` are these
    /// copies; the bytes of the others are counted nowhere.
    pub const COPIED_BYTES: usize = 14;
    /// Stamp in ns of the newest message that was published or taken; 0: none yet. Not a count.
    pub const NEWEST_NS: usize = 13;
}

/// Counters of a topic as a node on a device has it. Copies of what no port counts stand at the
/// places that [`counter`] has for them.
pub mod device_counter {
    /// 1: the payload is in memory of the device for all who use it there: its publisher has it
    /// there, or the owner of a shared buffer.
    pub const SHARED: usize = 0;
    /// 1: this node was the first of its queue that has memory of the device for the payload, for
    /// this queue alone.
    pub const OWN: usize = 1;
    /// Messages of this node that are not in memory of the host.
    pub const AWAY: usize = 3;
}

/// Counters of clients. Each call ends in one of `RESPONSES`, `TIMED_OUT`, `CANCELLED`,
/// `SERVER_GONE`, `UNANSWERED`, or is under way.
pub mod client_counter {
    /// Requests sent.
    pub const CALLS: usize = 0;
    /// Calls that were answered in time.
    pub const RESPONSES: usize = 1;
    /// Calls whose time-out came first.
    pub const TIMED_OUT: usize = 2;
    /// Calls that the client gave up.
    pub const CANCELLED: usize = 3;
    /// Calls whose server went before it answered.
    pub const SERVER_GONE: usize = 4;
    /// Calls that the server dropped without an answer, or answered with what is none of the type.
    pub const UNANSWERED: usize = 5;
    /// Answers that came when nobody waited for them any more, and answers that were left out
    /// before the program took them.
    pub const LATE: usize = 6;
    /// Requests that were not sent: no server, or too many calls under way.
    pub const REFUSED: usize = 7;
}

/// Counters of servers.
pub mod server_counter {
    /// Requests that the server has taken.
    pub const REQUESTS: usize = 0;
    /// Responses sent.
    pub const RESPONSES: usize = 1;
    /// Requests whose client had given up before they were taken.
    pub const CANCELLED: usize = 2;
    /// Requests dropped without an answer.
    pub const UNANSWERED: usize = 3;
    /// Responses that nobody received: the client had gone, or had no room for them.
    pub const UNWANTED: usize = 4;
}

/// Counter of a connection: the last message number that was taken, lost or skipped.
pub const CONNECTION_POSITION: usize = 0;

/// How a connection carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Through the publisher's ring in shared memory.
    Ring,
    /// By hand-over inside one thread.
    Thread,
}

/// Whether messages on a connection release the subscriber's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triggering {
    /// Each message wakes the executor.
    Yes,
    /// The node looks when it wants to, or the port is a tool's or a watch's.
    No,
}

/// The detail of a connection's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionDetail {
    /// Port of the subscriber, in the process whose status table this is.
    pub subscriber: u64,
    /// Process of the publisher.
    pub publisher_process: PeerName,
    /// Port of the publisher, in its process.
    pub publisher: u64,
    /// How messages are carried.
    pub carrier: Carrier,
    /// Whether they release the node.
    pub triggering: Triggering,
}

const CONNECTION_DETAIL_BYTES: usize = 8 + 16 + 8 + 2;

impl ConnectionDetail {
    pub(crate) fn encode(&self) -> [u8; CONNECTION_DETAIL_BYTES] {
        let mut bytes = [0; CONNECTION_DETAIL_BYTES];
        bytes[..8].copy_from_slice(&self.subscriber.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.publisher_process.to_bytes());
        bytes[24..32].copy_from_slice(&self.publisher.to_le_bytes());
        bytes[32] = u8::from(self.carrier == Carrier::Thread);
        bytes[33] = u8::from(self.triggering == Triggering::Yes);
        bytes
    }

    /// `None` when the bytes of a foreign status table are no such detail.
    pub(crate) fn decode(bytes: &[u8]) -> Option<ConnectionDetail> {
        let bytes: &[u8; CONNECTION_DETAIL_BYTES] = bytes.try_into().ok()?;
        let word = |at: usize| -> Option<u64> {
            Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
        };
        Some(ConnectionDetail {
            subscriber: word(0)?,
            publisher_process: PeerName::from_bytes(bytes[8..24].try_into().ok()?),
            publisher: word(24)?,
            carrier: if bytes[32] == 0 { Carrier::Ring } else { Carrier::Thread },
            triggering: if bytes[33] == 0 { Triggering::No } else { Triggering::Yes },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_detail_survives_the_status_table() {
        let usual = NodeDetail::native("autorace/blur".to_string());
        assert_eq!(usual.encode(), "autorace/blur");
        let other = NodeDetail { enclave: "/front".to_string(), ..usual.clone() };
        let foreign = NodeDetail { maker: Maker::Rmw, ..NodeDetail::native(String::new()) };
        for detail in [usual, other, foreign] {
            assert_eq!(NodeDetail::decode(detail.encode().as_bytes()), Some(detail));
        }
        for wrong in ["a\nfront", "a\n/\nnobody", "a\n/\nrmw\n", "a\x1b[2J"] {
            assert_eq!(NodeDetail::decode(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(NodeDetail::decode(&[0xff]), None);
    }

    #[test]
    fn a_connections_detail_survives_the_status_table() {
        let detail = ConnectionDetail {
            subscriber: 3,
            publisher_process: PeerName::from_bytes([9; 16]),
            publisher: 1 << 40,
            carrier: Carrier::Thread,
            triggering: Triggering::Yes,
        };
        assert_eq!(ConnectionDetail::decode(&detail.encode()), Some(detail));
        assert_eq!(ConnectionDetail::decode(&detail.encode()[1..]), None);
    }
}
