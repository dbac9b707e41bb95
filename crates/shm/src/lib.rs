//! Host topics: one ring of descriptors per publisher in sealed shared memory, and doorbells to
//! sleep on.
//!
//! This crate moves bytes. It knows no message type, and labels and names are opaque to it. The
//! protocol and its rules are in [`protocol`].

#[cfg(not(loom))]
pub mod board;
#[cfg(not(loom))]
mod control;
#[cfg(not(loom))]
mod descriptor;
#[cfg(not(loom))]
mod doorbell;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod futex;
#[cfg(not(loom))]
pub mod histogram;
#[cfg(not(loom))]
mod home;
#[cfg(not(loom))]
mod local;
#[cfg(not(loom))]
mod memory;
pub mod pool;
pub mod protocol;
#[cfg(not(loom))]
mod publisher;
#[cfg(not(loom))]
pub mod rendezvous;
#[cfg(not(loom))]
mod sample;
#[cfg(not(loom))]
pub mod socket;
#[cfg(not(loom))]
mod subscriber;
mod sync;
#[cfg(not(loom))]
mod tables;

#[cfg(not(loom))]
pub use control::{
    AttachError, Attached, PeerConfig, RingControl, RingGeometry, SegmentFd, WakeTarget,
};
#[cfg(not(loom))]
pub use descriptor::Meta;
#[cfg(not(loom))]
pub use doorbell::{Doorbell, DoorbellControl, DoorbellOptions, JoinedPair, Woken};
#[cfg(not(loom))]
pub use home::sweep;
#[cfg(not(loom))]
pub use local::{LinkError, LocalLink, LocalOptions};
#[cfg(not(loom))]
pub use memory::{CreateMemoryError, OpenMemoryError};
#[cfg(not(loom))]
pub use publisher::{
    CreateRingError, Holder, LoanError, PublishError, PublishRefused, PublisherCounters, RawLoan,
    Reliability, RingConfig, RingPublisher,
};
#[cfg(not(loom))]
pub use sample::RawSample;
#[cfg(not(loom))]
pub use subscriber::{
    AddSegmentError, ConnectError, Losses, RingSubscriber, SubscriberConfig, SubscriberControl,
    TakeError,
};
#[cfg(not(loom))]
pub use tables::{
    AllocateError, ArmedLease, BellMemory, ConnLease, ConnTable, LAYOUT_VERSION, PairMemory,
    PeerBells, PeerConns, PeerPair,
};
