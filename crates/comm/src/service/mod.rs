//! Services: calls with an answer, over two topics of their own for each client.
//!
//! A [`Client`] publishes its requests on a ring of its own; the [`Server`] subscribes to the rings of
//! all its clients and has one ring of responses for each. So a client sees its own responses only,
//! both directions are built in place and read where they were written, and a client that does not
//! read holds up nobody but itself.
//!
//! * A request is named by its client and its number on the client's ring ([`RequestId`]). A response
//!   says in its descriptor which number it answers; order does not matter.
//! * At most `depth` calls of a client are under way, given-up ones included until the server has done
//!   with them: neither side ever waits for room.
//! * A client that gives a call up (time-out, [`Client::cancel`]) says so on its ring. The server
//!   does not take such a request any more, or sees it by [`Request::is_cancelled`].
//! * A client belongs to the server that it met first, until that one goes; then to another one that is
//!   there. Two servers never get the same request.
//! * When a server goes, by its own will or killed, the transport's notice ends its calls at once.
//!
//! ```no_run
//! use std::time::Duration;
//! use crossdock_comm::{Client, ClientOptions, Participant, ParticipantOptions};
//! use crossdock_msg::Extra;
//! use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let participant = Participant::open(ParticipantOptions::new(0, "adder"))?;
//! let client: Client<AddTwoInts> = participant.client(ClientOptions {
//!     node: "adder",
//!     service: "/add_two_ints",
//!     ..ClientOptions::default()
//! })?;
//! if client.wait_for_server(Duration::from_secs(1)) {
//!     let mut request = client.loan(Extra::none())?;
//!     request.message().set_a(2);
//!     request.message().set_b(3);
//!     let response = request.call(Duration::from_secs(1))?;
//!     assert_eq!(response.message().sum(), 5);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! This file holds what clients and servers share, and what the control thread keeps for them. It must
//! not know executors.

mod any_client;
mod client;
mod client_core;
mod error;
mod handle;
mod lanes;
mod server;
mod server_core;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crossdock_msg::{Block, FlatError, Message, Schema};
use crossdock_shm::rendezvous::PeerName;

use crate::core::{Core, State};
use crate::event::Mismatch;
use crate::frame::Frame;
use crate::matching::{self, LOCAL};
use crate::names::{INNER_PREFIXES, NameError, NameKind, check_name};

pub use any_client::{AnyClient, AnyResponse, CallCdrError};
pub use client::{Client, ClientOptions, Outcome, RequestLoan, SendRefused};
pub use client_core::CallClock;
pub use error::{CallError, SendError};
pub use handle::{ClientHandle, ServerHandle};
pub use server::{Request, ResponseLoan, Server, ServerOptions};

/// Calls that a client has under way at most, unless its options say otherwise.
pub const DEPTH: usize = 8;

/// The deepest that a client or server can be.
pub const DEPTH_MAX: usize = 1 << 12;

/// The longest name of a service in bytes: the topics behind it have longer ones.
pub const SERVICE_BYTES_MAX: usize = 180;

/// What a descriptor of a service's topic says beside the payload: a kind, and the number of a request
/// cut to 28 bits, which tells apart the few that are under way.
pub(crate) mod mark {
    /// Bits that hold a request's number.
    pub(crate) const NUMBER: u32 = (1 << 28) - 1;
    /// The kind.
    pub(crate) const KIND: u32 = !NUMBER;
    /// Of a response: the answer.
    pub(crate) const ANSWER: u32 = 0;
    /// Of a response without contents: the server has dropped the request.
    pub(crate) const UNANSWERED: u32 = 1 << 28;
    /// Of a response without contents: the request was given up before it was taken.
    pub(crate) const CANCELLED: u32 = 2 << 28;
    /// Of a message on the requests' topic: the client gives up the request of this number.
    pub(crate) const GIVE_UP: u32 = 3 << 28;

    /// The mark of this kind for a request.
    pub(crate) fn of(kind: u32, request: u64) -> u32 {
        kind | request as u32 & NUMBER
    }
}

/// Who asked, and which of his requests it is: as in ROS 2, a client and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    /// The client's process.
    pub process: PeerName,
    /// The client's port in that process.
    pub port: u64,
    /// The number of the request at that client, from 1; consecutive but for calls given up.
    pub sequence: u64,
}

/// One call of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) u64);

impl CallId {
    /// The number of the request at its client.
    pub fn sequence(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.0)
    }
}

/// What ports need to know of a message type.
#[derive(Clone, Copy)]
pub(crate) struct MessageType<'a> {
    pub(crate) type_name: &'a str,
    pub(crate) type_hash: [u8; 32],
    pub(crate) layout_hash: [u8; 32],
    pub(crate) definition: &'a str,
    pub(crate) root_bytes: usize,
    /// Whether a payload can be looked at as this type. `None`: the type is known at run time only.
    pub(crate) check: Option<PayloadCheck>,
}

/// Says what is wrong with a payload. What it finds depends on the payload's length alone, so it
/// holds as long as the payload is held.
pub(crate) type PayloadCheck = fn(&[u8]) -> Result<(), FlatError>;

fn check_payload<T: Message>(bytes: &[u8]) -> Result<(), FlatError> {
    T::view(Block::new(bytes)).map(drop)
}

impl MessageType<'static> {
    pub(crate) fn of<T: Message>() -> Self {
        MessageType {
            type_name: T::TYPE_NAME,
            type_hash: T::TYPE_HASH.0,
            layout_hash: T::LAYOUT_HASH.0,
            definition: T::DEFINITION,
            root_bytes: T::ROOT_BYTES,
            check: Some(check_payload::<T>),
        }
    }
}

impl<'a> MessageType<'a> {
    pub(crate) fn of_schema(schema: &'a Schema) -> Self {
        MessageType {
            type_name: schema.type_name(),
            type_hash: schema.type_hash().0,
            layout_hash: schema.layout_hash().0,
            definition: schema.definition(),
            root_bytes: schema.root_bytes(),
            check: None,
        }
    }
}

/// A service's type, and those of its two messages.
#[derive(Clone, Copy)]
pub(crate) struct ServiceType<'a> {
    pub(crate) type_name: &'a str,
    pub(crate) type_hash: [u8; 32],
    pub(crate) request: MessageType<'a>,
    pub(crate) response: MessageType<'a>,
}

impl ServiceType<'static> {
    pub(crate) fn of<S: crossdock_msg::Service>() -> Self {
        ServiceType {
            type_name: S::TYPE_NAME,
            type_hash: S::TYPE_HASH.0,
            request: MessageType::of::<S::Request>(),
            response: MessageType::of::<S::Response>(),
        }
    }
}

/// The topic of all clients' requests.
pub(crate) fn request_topic(service: &str) -> String {
    let [requests, _] = INNER_PREFIXES;
    format!("{requests}{service}")
}

/// The topic of one client's responses, which that client's process and port name.
pub(crate) fn response_topic(service: &str, process: PeerName, port: u64) -> String {
    use std::fmt::Write as _;
    let [_, responses] = INNER_PREFIXES;
    let mut topic = format!("{responses}{service}/c");
    for byte in process.to_bytes() {
        let _ = write!(topic, "{byte:02x}");
    }
    let _ = write!(topic, "_{port}");
    topic
}

/// Checks a service's name: that of a topic, a little shorter.
///
/// # Errors
/// [`NameError`] quotes the name and the rule that it breaks.
pub fn check_service_name(service: &str) -> Result<(), NameError> {
    check_name(NameKind::Service, service)
}

/// What the control plane keeps for services.
#[derive(Default)]
pub(crate) struct Registry {
    /// Subscribers' processes that were refused because a publisher for one has its one, by publisher
    /// and token.
    standing_by: BTreeSet<(u64, u64)>,
    /// Publishers for one that have lost it while others stand by.
    vacant: BTreeSet<u64>,
    /// Why the last server that was met cannot serve, by topic of requests of clients here.
    mismatches: BTreeMap<String, Mismatch>,
}

/// Topics of which a mismatch is remembered.
const MISMATCHES_MAX: usize = 1024;

impl Registry {
    /// The process of `token` wants to serve a publisher that is served already.
    pub(crate) fn stand_by(&mut self, publisher: u64, token: u64) {
        self.standing_by.insert((publisher, token));
    }

    /// A publisher has lost a subscriber.
    pub(crate) fn has_room(&mut self, publisher: u64) {
        if self.standing_by.range((publisher, 0)..=(publisher, u64::MAX)).next().is_some() {
            self.vacant.insert(publisher);
        }
    }

    pub(crate) fn peer_gone(&mut self, token: u64) {
        self.standing_by.retain(|(_, waiting)| *waiting != token);
    }

    pub(crate) fn forget(&mut self, publisher: u64, topic: &str) {
        self.standing_by.retain(|(known, _)| *known != publisher);
        self.vacant.remove(&publisher);
        self.mismatches.remove(topic);
    }

    pub(crate) fn note_mismatch(&mut self, mismatch: &Mismatch) {
        let [requests, _] = INNER_PREFIXES;
        let is_request = check_name(NameKind::Inner, &mismatch.topic).is_ok()
            && mismatch.topic.starts_with(requests);
        if is_request && self.mismatches.len() < MISMATCHES_MAX {
            self.mismatches.insert(mismatch.topic.clone(), mismatch.clone());
        }
    }

    pub(crate) fn mismatch(&self, topic: &str) -> Option<&Mismatch> {
        self.mismatches.get(topic)
    }
}

/// Offers publishers that have lost their one subscriber to those that stand by.
pub(crate) fn offer_again(core: &Arc<Core>, state: &mut State) {
    while let Some(publisher) = state.services.vacant.pop_first() {
        let waiting = state.services.standing_by.range((publisher, 0)..=(publisher, u64::MAX));
        let waiting: Vec<_> = waiting.copied().collect();
        for key in waiting {
            state.services.standing_by.remove(&key);
            let (_, token) = key;
            if token == LOCAL {
                matching::offer_again(core, state, publisher);
            } else if let Some(info) = state.publishers.get(&publisher).map(|it| it.info.clone()) {
                // To the other process it is a publisher that has just come.
                state.send(token, &Frame::Withdraw { port: publisher });
                state.send(token, &Frame::Advertise(info));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_the_longest_service_are_legal_and_tell_clients_apart() {
        let service = format!("/{}", "x".repeat(SERVICE_BYTES_MAX - 1));
        check_service_name(&service).unwrap();
        assert!(check_service_name(&format!("{service}y")).is_err());
        let process = PeerName::from_bytes([0xab; 16]);
        let longest = response_topic(&service, process, u64::MAX);
        check_name(NameKind::Inner, &longest).unwrap();
        check_name(NameKind::Inner, &request_topic(&service)).unwrap();
        assert_ne!(response_topic("/a", process, 1), response_topic("/a", process, 11));
    }

    #[test]
    fn a_mark_keeps_kind_and_number_apart() {
        let mark = mark::of(mark::UNANSWERED, u64::from(mark::NUMBER) + 3);
        assert_eq!((mark & mark::KIND, mark & mark::NUMBER), (mark::UNANSWERED, 2));
    }
}
