//! Services: calls with an answer, over two topics of their own for each client.
//!
//! A [`Client`] publishes its requests on a ring of its own; the [`Server`] subscribes to the rings
//! of all its clients and has one ring of responses for each. So a client sees its own responses
//! only, both directions are built in place and read where they were written, and a client that
//! does not read holds up nobody but itself.
//!
//! * A request is named by its client and its number on the client's ring ([`RequestId`]). A
//!   response says in its descriptor which number it answers; order does not matter.
//! * Messages larger than all before need memory that the other side maps. If that stands still, it
//!   is waited for once, for a second. Until it goes on, such requests are refused, and calls whose
//!   answer is such a response end unanswered.
//! * At most `depth` calls of a client are under way, given-up ones included until the server has
//!   done with them: neither side ever waits for room.
//! * A client that gives a call up (time-out, [`Client::cancel`]) says so on its ring. The server
//!   does not take such a request any more, or sees it by [`Request::is_cancelled`].
//! * A service may have several servers, in one process and in several. A client belongs to the
//!   server that it met first, until that one goes; then to another one that is there. Two servers
//!   never get the same request.
//! * An answer needs the request's [`Ticket`], not the request: [`Request::into_ticket`] gives the
//!   request's memory back, and the answer may come much later. A ticket that is dropped without an
//!   answer ends its call, as a request does.
//! * A client or a server may tell others of its calls ([`Introspection`]).
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
//! This file holds what clients and servers share.

mod any_client;
mod any_server;
mod callers;
mod client;
mod client_core;
mod erased;
mod error;
mod introspection;
mod lanes;
mod server;
mod server_core;
mod ticket;

use std::fmt;

use crossdock_shm::rendezvous::PeerName;

use crate::port::message_type::MessageType;
use crate::wire::names::{INNER_PREFIXES, NameError, NameKind, check_name};
use crate::wire::port_info::gid_of;

pub use crate::wire::names::SERVICE_BYTES_MAX;
pub use any_client::{AnyClient, AnyOutcome, AnyResponse, CallCdrError, SendFlatError};
pub use any_server::{AnyRequest, AnyServer};
pub use client::{Client, ClientOptions, FreeClientOptions, Outcome, RequestLoan, SendRefused};
pub use client_core::CallClock;
pub use erased::{ClientHandle, ServerHandle};
pub use error::{AnswerError, CallError, SendError};
pub use introspection::{EVENT_QOS, Introspection, event_topic};
pub use server::{FreeServerOptions, Request, ResponseLoan, Server, ServerOptions, Ticketed};
pub use ticket::Ticket;

/// Calls that a client has under way at most, unless its options say otherwise.
pub const DEPTH: usize = 8;

/// The deepest that a client or server can be.
pub const DEPTH_MAX: usize = 1 << 12;

/// What a descriptor of a service's topic says beside the payload: a kind, and the number of a
/// request cut to 28 bits, which tells apart the few that are under way.
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

impl RequestId {
    /// What names the client across processes.
    pub fn client_gid(&self) -> [u8; 16] {
        gid_of(self.process, self.port)
    }
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

/// A service's type, and the types of its two messages.
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

impl<'a> ServiceType<'a> {
    pub(crate) fn of_schema(schema: &'a crossdock_msg::ServiceSchema) -> Self {
        ServiceType {
            type_name: schema.type_name(),
            type_hash: schema.type_hash().0,
            request: MessageType::of_schema(schema.request()),
            response: MessageType::of_schema(schema.response()),
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

/// Checks a service's name: the rules of topics, with a shorter limit.
///
/// # Errors
/// [`NameError`] quotes the name and the rule that it breaks.
pub fn check_service_name(service: &str) -> Result<(), NameError> {
    check_name(NameKind::Service, service)
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
