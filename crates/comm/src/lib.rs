//! Communication for ROS 2 computation graphs: typed ports, discovery, quality of service.
//!
//! A process opens a [`Participant`] for its domain and creates [`Publisher`]s and [`Subscriber`]s
//! through it, or the [`Client`]s and [`Server`]s of services. Processes of one domain find each
//! other, compare types and quality of service, and pass shared memory to each other; from then on
//! messages travel without system calls, locks and copies, and the control thread sleeps.
//!
//! ```no_run
//! use crossdock_comm::{Participant, ParticipantOptions, PublisherOptions, Qos};
//! use crossdock_msg::Extra;
//! use crossdock_msg::types::std_msgs;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let participant = Participant::open(ParticipantOptions::new(0, "talker"))?;
//! let publisher = participant.publisher::<std_msgs::String>(PublisherOptions {
//!     node: "talker",
//!     topic: "/chatter",
//!     qos: Qos::best_effort(4),
//!     max_bytes: Some(256),
//!     group: None,
//! })?;
//! let mut loan = publisher.loan(Extra::none().text(5))?;
//! loan.message().set_data("hello")?;
//! loan.publish().map_err(|refused| refused.reason)?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

// Rooms, from the bottom up: `patience`, `quotas` and `wire`; `error`, `device` and `buffer`;
// `discovery`; `port`; `service` and `step`. `observe` stands on the lowest three. Who may import
// what is checked (`tests/suite/tests/all/architecture.rs`).
mod buffer;
mod device;
mod discovery;
mod error;
mod observe;
mod patience;
mod port;
mod quotas;
pub mod service;
pub mod step;
mod wire;

pub use buffer::claims::{
    Claim, ClaimError, ClaimRefusal, ClaimSnapshot, Holder, ReadClaim, WriteClaim,
};
pub use buffer::instance::InstanceMaker;
pub use buffer::parts::{Part, PartError};
pub use buffer::token::{BufferId, Token, TokenError};
pub use crossdock_shm::histogram::HistogramSnapshot;
pub use crossdock_shm::realtime::use_fifo;
pub use crossdock_shm::rendezvous::{PeerName, RunId};
pub use crossdock_shm::socket::Access;
pub use crossdock_shm::status::{
    Entity, EntityDescription, EntitySnapshot, StatusTable, WithHistogram,
};
pub use crossdock_shm::{
    CopyError, DoorbellControl, DoorbellOptions, DriverMemory, Element, ElementType, MemoryMaker,
    ParkedLoan, PrivateFd, Region, Scratch, Slab, SlabMemory, Woken, child_flag,
};
pub use crossdock_shm::{Standing, TrustError, TrustedNames};
pub use device::slabs::SlabTaker;
pub use device::upload::{Uploader, Uploading};
pub use discovery::event::{self, Event, Troubles};
pub use discovery::graph_view::GraphView;
pub use discovery::handshake::PUBLISHERS_OF_PEER_MAX;
pub use discovery::node_entry::{NodeEntry, NodeOptions};
pub use discovery::participant::{OpenError, Participant, ParticipantOptions};
pub use discovery::port_events::{
    CountStatus, IncompatibleQosStatus, LivelinessStatus, MatchedStatus, PortEvent, PortEvents,
};
pub use discovery::subscribing_side::TopicConnections;
pub use error::{LoanError, PortError, PublishCdrError, PublishError, TakeError};
pub use observe::activity::Activity;
pub use observe::asking::{ObserveError, ObserverOptions};
pub use observe::echo::{Echo, EchoBuffer, EchoError, Echoed, Stamps};
pub use observe::observer::Observer;
pub use observe::quiescence::Quiescence;
pub use port::buffers::{AcceptError, BufferError, Buffers, SharedBuffer};
pub use port::counters::{PublisherCounters, SubscriberCounters, Uncarried};
pub use port::doorbell::{Doorbell, SharedDoorbell};
pub use port::erased::{NextMessage, PublisherHandle, SubscriberHandle};
pub use port::group::PortGroup;
pub use port::member::{Member, MemberOptions};
pub use port::owner::{AnyThread, OwnThread, Owner};
pub use port::publisher::{FreePublisherOptions, Loan, Publisher, PublisherOptions};
pub use port::shared_topic::{
    SharedMessage, SharedPublisher, SharedSubscriber, SharedTopic, SharedTopicOptions,
};
pub use port::subscriber::{
    FreeSubscriberOptions, Sample, Since, Subscriber, SubscriberOptions, Waiting,
};
pub use port::subscriber_core::Reading;
pub use port::subscriber_core::gathering::Gathered;
pub use port::untyped::{
    AnyLoan, AnyPublisher, AnySample, AnySubscriber, Bridge, BridgeOptions, Directions,
};
pub use service::{
    AnswerError, CallError, CallId, Client, ClientOptions, FreeClientOptions, FreeServerOptions,
    Introspection, Request, RequestId, Server, ServerOptions, Ticket,
};
pub use wire::frame::VERSION as CONTROL_PROTOCOL_VERSION;
pub use wire::meeting_place::Rendezvous;
pub use wire::mismatch::{Mismatch, Side};
pub use wire::peer_process::PeerProcess;
pub use wire::port_info::Maker;
pub use wire::qos::{
    BackPressure, Durability, History, Liveliness, Qos, QosConflict, Reliability, WhenFull,
};
pub use wire::snapshot::{
    ConnectionSnapshot, GraphSnapshot, MemberSnapshot, NodeSnapshot, PortKind, PortSnapshot,
    ProcessSnapshot,
};
pub use wire::{names, qos, status_records};
