//! A publisher's ring, mapped by the process of its subscribers.

use crate::distant::{Allowance, DistantMemory, map_present};
use crate::memory::Mapping;
use crate::open_memory::{Access, OpenMemoryError, map_received};
use crate::protocol::{HOLDS_MAX, Slot};
use crate::ring_geometry::{RingGeometry, SLOTS_AT, SLOTS_MAX};
use crate::tables::{Kind, Preamble};
use rustix::fd::BorrowedFd;
use std::sync::{Arc, Weak};

/// Why a subscriber cannot be connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The publisher's numbers make no sense.
    #[error("publisher `{publisher}` offers {what} {value}, allowed is {allowed}; it is at fault")]
    BadGeometry {
        /// The publisher's label.
        publisher: String,
        /// Which number.
        what: &'static str,
        /// The number.
        value: u64,
        /// What is allowed.
        allowed: String,
    },
    /// The publisher's memory is refused.
    #[error(transparent)]
    Memory(#[from] OpenMemoryError),
}

/// A publisher's ring in this process's address space, shared by all subscribers to it.
///
/// `Send + Sync`; cloning shares the mapping, which goes with the last subscriber, sample and
/// clone.
#[derive(Clone, Debug)]
pub struct RingMemory {
    mapping: Arc<Mapping>,
    geometry: RingGeometry,
    /// Only its head and slots are mapped; its payloads are read from here.
    distant: Option<(Arc<DistantMemory>, Allowance)>,
}

/// Tells whether a ring is still mapped, without keeping it so.
#[derive(Clone, Debug)]
pub struct WeakRingMemory {
    mapping: Weak<Mapping>,
    geometry: RingGeometry,
    distant: Option<(Weak<DistantMemory>, Allowance)>,
}

impl RingMemory {
    /// Checks and maps what a publisher's process sent, read-only. Allocates, maps, makes system
    /// calls.
    pub fn open(
        publisher: &str,
        ring: BorrowedFd<'_>,
        geometry: RingGeometry,
        memory_limit_bytes: u64,
    ) -> Result<Self, ConnectError> {
        check_geometry(publisher, &geometry)?;
        let bytes = geometry.ring_bytes;
        let mapping = map_received(publisher, ring, bytes, memory_limit_bytes, Access::Read)?;
        Preamble::check(publisher, &mapping, Kind::Ring)?;
        Ok(RingMemory { mapping, geometry, distant: None })
    }

    /// As [`RingMemory::open`], of a publisher that is not trusted: its messages are read by system
    /// calls, and only its head and slots are mapped, which must be present. Such a ring can only
    /// be read by copying ([`RingSubscriber::take_copied`](crate::RingSubscriber::take_copied)).
    pub fn open_distant(
        publisher: &str,
        ring: BorrowedFd<'_>,
        geometry: RingGeometry,
        memory_limit_bytes: u64,
        allowance: &Allowance,
    ) -> Result<Self, ConnectError> {
        let (slots, _) = check_geometry(publisher, &geometry)?;
        let size = (geometry.ring_bytes, memory_limit_bytes);
        let memory = DistantMemory::open(publisher, ring, size, Kind::Ring, Some(allowance))?;
        let mapping = map_present(publisher, ring, slots_end(slots))?;
        let distant = Some((Arc::new(memory), allowance.clone()));
        Ok(RingMemory { mapping, geometry, distant })
    }

    pub(crate) fn distant(&self) -> Option<&(Arc<DistantMemory>, Allowance)> {
        self.distant.as_ref()
    }

    /// The ring of a publisher of this very process.
    pub(crate) fn of_publisher(mapping: Arc<Mapping>, geometry: RingGeometry) -> Self {
        RingMemory { mapping, geometry, distant: None }
    }

    pub(crate) fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }

    /// The shape that the publisher told.
    pub fn geometry(&self) -> RingGeometry {
        self.geometry
    }

    /// For a table of rings that must not keep them mapped.
    pub fn downgrade(&self) -> WeakRingMemory {
        let RingMemory { mapping, geometry, distant } = self;
        let distant = distant.as_ref();
        WeakRingMemory {
            mapping: Arc::downgrade(mapping),
            geometry: *geometry,
            distant: distant.map(|(memory, it)| (Arc::downgrade(memory), it.clone())),
        }
    }
}

impl WeakRingMemory {
    /// The ring, if it is still mapped.
    pub fn upgrade(&self) -> Option<RingMemory> {
        let mapping = self.mapping.upgrade()?;
        let distant = match &self.distant {
            Some((memory, allowance)) => Some((memory.upgrade()?, allowance.clone())),
            None => None,
        };
        Some(RingMemory { mapping, geometry: self.geometry, distant })
    }
}

/// Bytes of a ring up to the end of its slots.
pub(crate) fn slots_end(slots: usize) -> u64 {
    SLOTS_AT + (slots * size_of::<Slot>()) as u64
}

/// Slots and holds of a legal ring.
pub(crate) fn check_geometry(
    publisher: &str,
    geometry: &RingGeometry,
) -> Result<(usize, usize), ConnectError> {
    let bad = |what: &'static str, value: u64, allowed: String| ConnectError::BadGeometry {
        publisher: publisher.to_owned(),
        what,
        value,
        allowed,
    };
    let slots = geometry.slots as usize;
    if !slots.is_power_of_two() || slots > SLOTS_MAX {
        let allowed = format!("a power of two up to {SLOTS_MAX}");
        return Err(bad("slots", u64::from(geometry.slots), allowed));
    }
    let slot_end = slots_end(slots);
    if geometry.ring_bytes < slot_end {
        let allowed = format!("at least {slot_end} for its slots");
        return Err(bad("ring bytes", geometry.ring_bytes, allowed));
    }
    let holds = geometry.holds as usize;
    if holds == 0 || holds > HOLDS_MAX {
        return Err(bad("holds", u64::from(geometry.holds), format!("1 to {HOLDS_MAX}")));
    }
    Ok((slots, holds))
}
