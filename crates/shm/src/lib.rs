//! Host topics: one ring of descriptors per publisher in sealed shared memory, and doorbells to
//! sleep on.
//!
//! This crate moves bytes. It knows no message type, and labels are opaque to it. The protocol and
//! its rules are in [`protocol`].
//!
//! | object | one per | who maps it |
//! |---|---|---|
//! | ring ([`RingPublisher`]) | publisher port | its process; subscribers and observers read-only |
//! | [`ConnTable`] | process | its process; peers that publish to it, read-only |
//! | a bell of [`BellMemory`] | executor | its process and the peers that trigger it |
//! | [`SharedMemory`] | buffer that several nodes write | its owner's process; its members |
//! | [`PairMemory`] | pair of processes | both |
//!
//! A publisher and a subscriber in one process; between processes a control plane carries the
//! descriptors and the plain numbers in between:
//!
//! ```
//! use crossdock_shm::*;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let publisher = RingPublisher::create(
//!     "camera",
//!     RingConfig {
//!         slots: 64,
//!         depth: 4,
//!         history: 1,
//!         chunk_bytes: 1024,
//!         sizing: Sizing::Contract,
//!         holds_per_subscriber: 4,
//!         memory_limit_bytes: 1 << 20,
//!         transient_local: false,
//!         reliability: Reliability::BestEffort,
//!         prefault_chunks: 0,
//!         growth_timeout: std::time::Duration::from_secs(1),
//!     },
//! )?;
//! let control = publisher.control();
//!
//! // The subscribing process: a connection, whose table the publishing process maps read-only.
//! let conns = ConnTable::create("viewer")?;
//! let conn = conns.allocate()?;
//! let attached = control.attach(PeerConfig {
//!     label: "viewer".into(),
//!     conns: PeerConns::open("viewer", conns.fd())?,
//!     conn: conn.index(),
//!     depth: 4,
//!     reliable: false,
//!     may_fall_behind: true,
//!     history: 0,
//!     trusted: true,
//!     wake: None,
//! })?;
//! let config = SubscriberConfig {
//!     label: "viewer".into(),
//!     publisher: "camera".into(),
//!     conn,
//!     armed: None,
//!     depth: 4,
//!     reliable: false,
//!     holds: 4,
//!     memory_limit_bytes: 1 << 21,
//!     lifeline: Lifeline::none(),
//!     source: [0; 16],
//! };
//! let mut subscriber =
//!     RingSubscriber::connect(config, control.ring_fd(), control.geometry(), attached)?;
//!
//! let mut loan = publisher.loan(1024)?;
//! loan.bytes_mut()[..5].copy_from_slice(b"image");
//! loan.publish(Meta { len: 5, ..Meta::default() }).map_err(|refused| refused.reason)?;
//! let sample = subscriber.take()?.expect("a message");
//! assert_eq!(sample.bytes(), b"image");
//! # Ok(())
//! # }
//! ```

#[cfg(not(loom))]
mod budget;
#[cfg(not(loom))]
pub mod clock;
#[cfg(not(loom))]
mod copies;
#[cfg(not(loom))]
mod descriptor;
#[cfg(not(loom))]
mod distant;
#[cfg(not(loom))]
mod doorbell;
#[cfg(not(loom))]
mod driver;
pub mod faults;
#[cfg(not(loom))]
mod fork;
#[cfg(not(loom))]
mod futex;
#[cfg(not(loom))]
pub mod histogram;
#[cfg(not(loom))]
mod home;
#[cfg(not(loom))]
mod keeper;
#[cfg(not(loom))]
mod lifeline;
#[cfg(not(loom))]
mod local;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod observer;
#[cfg(not(loom))]
mod open_memory;
#[cfg(not(loom))]
mod per_process;
#[cfg(not(loom))]
mod pinned;
pub mod pool;
#[cfg(not(loom))]
mod prefetch;
pub mod protocol;
#[cfg(not(loom))]
mod publisher;
#[cfg(not(loom))]
mod pulse;
#[cfg(not(loom))]
mod queue;
#[cfg(not(loom))]
pub mod realtime;
#[cfg(not(loom))]
mod received;
#[cfg(not(loom))]
pub mod rendezvous;
#[cfg(not(loom))]
mod ring_geometry;
#[cfg(not(loom))]
mod ring_memory;
#[cfg(not(loom))]
mod sample;
#[cfg(not(loom))]
mod shared;
#[cfg(not(loom))]
mod slab;
#[cfg(not(loom))]
pub mod socket;
#[cfg(not(loom))]
pub mod status;
#[cfg(not(loom))]
mod subscriber;
mod sync;
#[cfg(not(loom))]
mod tables;
#[cfg(not(loom))]
pub mod timeline;
#[cfg(all(test, not(loom)))]
mod trials;
#[cfg(not(loom))]
mod trust;
#[cfg(not(loom))]
mod words;

#[cfg(not(loom))]
pub use budget::{Budget, TRUST_BY_NAME};
#[cfg(not(loom))]
pub use copies::Copies;
#[cfg(not(loom))]
pub use descriptor::{Marks, Meta};
#[cfg(not(loom))]
pub use distant::Allowance;
#[cfg(not(loom))]
pub use doorbell::{Doorbell, DoorbellControl, DoorbellOptions, JoinedPair, Woken};
#[cfg(not(loom))]
pub use driver::{DriverMemory, MemoryMaker, SlabMemory};
#[cfg(not(loom))]
pub use fork::{ForkMark, PrivateFd, child_flag};
#[cfg(not(loom))]
pub use home::sweep;
#[cfg(not(loom))]
pub use keeper::{KeepError, Keeper};
#[cfg(not(loom))]
pub use lifeline::Lifeline;
#[cfg(not(loom))]
pub use local::{LinkError, LocalLink, LocalOptions};
#[cfg(not(loom))]
pub use memory::{CreateMemoryError, Region, Scratch, Sharing};
#[cfg(not(loom))]
pub use observer::{CopyError, CopyTarget, RingObserver};
#[cfg(not(loom))]
pub use open_memory::OpenMemoryError;
#[cfg(not(loom))]
pub use pinned::Pinned;
#[cfg(not(loom))]
pub use publisher::{
    AttachError, CreateRingError, Holder, LoanError, ParkedLoan, PeerConfig, PublishError,
    PublishRefused, PublisherCounters, RawLoan, Reliability, RingConfig, RingControl,
    RingPublisher, SegmentFd, Sizing, WakeTarget,
};
#[cfg(not(loom))]
pub use pulse::{Pulse, Signs};
#[cfg(not(loom))]
pub use received::ReceivedFd;
#[cfg(not(loom))]
pub use ring_geometry::{Attached, RingGeometry};
#[cfg(not(loom))]
pub use ring_memory::{ConnectError, RingMemory, WeakRingMemory};
#[cfg(not(loom))]
pub use sample::RawSample;
#[cfg(not(loom))]
pub use shared::{Element, ElementType, SHARED_BYTES_MAX, SharedMemory};
#[cfg(not(loom))]
pub use slab::{ChunkGrid, SLABS_MAX, Slab, SlabShape};
#[cfg(not(loom))]
pub use subscriber::{
    AddSegmentError, Losses, RingSubscriber, SubscriberConfig, SubscriberControl, TakeError,
};
#[cfg(not(loom))]
pub use tables::{
    AllocateError, ArmedLease, BellMemory, ConnLease, ConnTable, LAYOUT_VERSION, PairMemory,
    PeerBell, PeerConns, PeerPair,
};
#[cfg(not(loom))]
pub use timeline::{FencePoint, Timeline};
#[cfg(not(loom))]
pub use trust::{Standing, Trust, TrustError, TrustedNames};
#[cfg(not(loom))]
pub use words::{OwnWords, PeerWords, sleep_on, wake};

/// Granularity of everything that is mapped: the smallest page of Linux.
pub(crate) const PAGE_BYTES: usize = 4096;
