//! Memory of this process alone that a driver has made and moves between host and device by itself.
//!
//! It has an address and no descriptor, so no other process gets at it. Messages and shared buffers
//! lie in it if their port or buffer is made with a [`MemoryMaker`].

use crate::ring_geometry::PAYLOAD_ALIGN;
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory starts at multiples of this, as payloads do.
const ALIGN: usize = PAYLOAD_ALIGN as usize;

/// A device's memory as its owner has it: shared by all who use it here.
pub type SlabMemory = Arc<dyn Any + Send + Sync>;

/// Makes memory of this process, for messages or shared buffers.
pub trait MemoryMaker: std::fmt::Debug + Send {
    /// Memory of `bytes` bytes at least, of any content. Blocks for as long as a driver does.
    ///
    /// # Errors
    /// Why there is none: part of a sentence, with the next step.
    fn make(&self, bytes: u64) -> Result<DriverMemory, String>;

    /// Bytes that one memory should have at most, if its contents leave a choice.
    fn bytes_max(&self) -> u64;
}

/// See the head of this file. `Send + Sync`; goes back to its driver when it is dropped.
#[derive(Debug)]
pub struct DriverMemory {
    start: NonNull<u8>,
    bytes: usize,
    lead: u64,
    owner: SlabMemory,
}

// SAFETY: an address range, which threads use as its users agree (`DriverMemory::new`), and an
// owner that is both.
unsafe impl Send for DriverMemory {}
// SAFETY: as above; `&DriverMemory` gives out addresses only.
unsafe impl Sync for DriverMemory {}

impl DriverMemory {
    /// What lies in `memory` from the first multiple of 64 on; `None`: nothing does. It is kept as
    /// long as this lives.
    ///
    /// # Safety
    /// Any thread may read and write all of it at any time as long as `owner` lives, also while the
    /// driver's device uses other bytes of it, and nobody else does.
    pub unsafe fn new(memory: *mut [u8], owner: SlabMemory) -> Option<DriverMemory> {
        let lead = memory.cast::<u8>().align_offset(ALIGN);
        let bytes = memory.len().checked_sub(lead).filter(|bytes| *bytes > 0)?;
        // SAFETY: inside: the subtraction before.
        let start = unsafe { memory.cast::<u8>().add(lead) };
        let start = NonNull::new(start)?;
        Some(DriverMemory { start, bytes, lead: lead as u64, owner })
    }

    /// Bytes of the driver's memory before it.
    pub fn lead(&self) -> u64 {
        self.lead
    }

    /// The driver's memory.
    pub fn owner(&self) -> &SlabMemory {
        &self.owner
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
