//! Communication for ROS 2 computation graphs: typed ports, discovery, quality of service.
//!
//! A process opens a [`Participant`] for its domain and creates [`Publisher`]s and [`Subscriber`]s
//! through it, or the [`Client`]s and [`Server`]s of services. Processes of one domain find each other, compare types and quality of service, and
//! pass shared memory to each other; from then on messages travel without system calls, locks and
//! copies, and the control thread sleeps.
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

mod activity;
mod any;
mod bells;
mod buffer;
mod claims;
mod connection;
mod control;
mod copying;
mod core;
mod doorbell;
mod echo;
pub mod entities;
mod error;
pub mod event;
mod fence;
mod frame;
mod geometry;
mod group;
mod handle;
mod handshake;
mod input;
mod instance;
mod link;
mod mailbox;
mod matching;
pub mod names;
mod observer;
mod output;
mod participant;
mod parts;
mod ports;
mod publisher;
pub mod qos;
mod quiescence;
mod quotas;
mod scarce;
mod schemas;
pub mod service;
mod serving;
mod slabs;
pub mod step;
mod subscriber;
mod token;
mod unwelcome;
mod uploader;
mod window;

pub use activity::Activity;
pub use any::{AnyLoan, AnyPublisher, AnySample, AnySubscriber, Bridge, BridgeOptions, Directions};
pub use buffer::{AcceptError, BufferError, Buffers, SharedBuffer};
pub use claims::{Claim, ClaimError, ClaimRefusal, ClaimSnapshot, Holder, ReadClaim, WriteClaim};
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
pub use doorbell::Doorbell;
pub use echo::{Echo, EchoError, Echoed, Stamps};
pub use error::{DamagedPayload, LoanError, PortError, PublishCdrError, PublishError, TakeError};
pub use event::{Event, Mismatch, PeerProcess, Side};
pub use group::PortGroup;
pub use handle::{InputHandle, NextMessage, OutputHandle};
pub use input::Reading;
pub use instance::InstanceMaker;
pub use observer::{
    ConnectionSnapshot, GraphSnapshot, ObserveError, Observer, ObserverOptions, PortSnapshot,
    ProcessSnapshot,
};
pub use participant::{OpenError, Participant, ParticipantOptions, Rendezvous, TopicConnections};
pub use parts::{Part, PartError};
pub use publisher::{Loan, Publisher, PublisherCounters, PublisherOptions};
pub use qos::{BackPressure, Durability, Qos, Reliability};
pub use quiescence::Quiescence;
pub use service::{
    CallError, CallId, Client, ClientOptions, Request, RequestId, Server, ServerOptions,
};
pub use slabs::SlabTaker;
pub use subscriber::{Sample, Since, Subscriber, SubscriberCounters, SubscriberOptions, Waiting};
pub use token::{BufferId, Token, TokenError};
pub use uploader::{Uploader, Uploading};
pub use window::Gathered;
