//! Shared buffers on a device: where its kernels find the elements that a node has claimed, what is
//! copied for that, and the end of the claims.

use crate::choice::{Choice, Way};
use crate::elements::Tools;
use crate::instance;
use crate::managed;
use crate::memories::{BufferMemory, Part as Bytes, Place};
use crate::queue::{OffloadError, QueueState};
use crate::resident::Resident;
use crate::work::Work;
use crossdock_comm::{Claim, Element, ReadClaim, SubscriberHandle, WriteClaim};
use crossdock_device::DeviceError;
use std::cell::Cell;
use std::rc::Rc;

/// How the shared buffers get to the device that the tokens of one port are about. Belongs to the
/// thread of its executor.
#[derive(Debug)]
pub struct DeviceBuffers(Rc<Buffers>);

#[derive(Debug)]
struct Buffers {
    choice: Choice,
    /// Where copies are counted; `None`: at `resident`.
    input: Option<SubscriberHandle>,
    copied_bytes: Cell<u64>,
    mirrors: Cell<u32>,
    /// Topic or service of the tokens.
    name: String,
    resident: Resident,
}

impl DeviceBuffers {
    pub(crate) fn new(
        choice: Choice,
        name: &str,
        input: Option<SubscriberHandle>,
        resident: Resident,
    ) -> Self {
        let (copied_bytes, mirrors) = (Cell::new(0), Cell::new(0));
        let name = name.to_owned();
        DeviceBuffers(Rc::new(Buffers { choice, input, copied_bytes, mirrors, name, resident }))
    }

    /// How buffers get to the device, and why.
    #[must_use]
    pub fn choice(&self) -> &Choice {
        &self.0.choice
    }

    /// Bytes of claimed elements that were given to be copied so far, of all buffers: to the
    /// device, and back for those that are written.
    #[must_use]
    pub fn copied_bytes(&self) -> u64 {
        self.0.copied_bytes.get()
    }

    /// How often memory of the device was made here that stands for a buffer, because its owner has
    /// handed none out. Nodes of one queue use the same.
    #[must_use]
    pub fn mirrors(&self) -> u32 {
        self.0.mirrors.get()
    }
}

impl Buffers {
    fn count_copied(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.copied_bytes.set(self.copied_bytes.get() + bytes);
        match &self.input {
            Some(input) => input.count_copied(bytes),
            None => self.resident.count_copied(bytes),
        }
    }
}

/// Claims of one buffer that a piece of work is about.
pub(crate) struct Claimed {
    way: Way,
    writes: Box<dyn Claim + Send>,
    reads: Vec<Box<dyn Claim + Send>>,
    bytes: Bytes,
    place: Place,
}

/// What is left of them when the device has been given everything: to be dropped by its driver.
pub(crate) type Ending = Vec<(Box<dyn Claim + Send>, Vec<Box<dyn Claim + Send>>)>;

impl Work<'_> {
    /// Where the device finds the elements of claims of one buffer: all of the buffer, so that
    /// element `i` has the index `i`. Kernels keep to what is claimed: the others may be anything
    /// there, and somebody else's kernels may write them meanwhile.
    ///
    /// They are used in place, or copied into memory of the device that stands for the buffer, and
    /// those to write back at the end: exactly what is claimed, and nothing between. That memory is
    /// the buffer's own if its owner has handed it out
    /// ([`Setup::buffers_for`](crossdock_executor::Setup::buffers_for)), and else the queue's. The
    /// claims are held until the device is done with this piece of work: they are released by the
    /// end of what [`Work::publish`] publishes next, or by [`Work::finish_shared`].
    ///
    /// Blocks while elements are copied if the device does not see the host's memory coherently.
    /// Allocates.
    ///
    /// # Errors
    /// [`OffloadError`]; [`OffloadError::TwoBuffers`] if the claims are not of one buffer.
    pub fn share<T: Element>(
        &mut self,
        buffers: &DeviceBuffers,
        writes: WriteClaim<T>,
        reads: impl IntoIterator<Item = ReadClaim<T>>,
    ) -> Result<Place, OffloadError> {
        let buffers = &buffers.0;
        let (region, offset, length) = writes.memory();
        let address = region.address();
        let reads: Vec<_> = reads.into_iter().collect();
        if reads.iter().any(|reads| reads.memory().0.address() != address) {
            return Err(OffloadError::TwoBuffers { device: self.device_name() });
        }
        let bytes = Bytes { region, offset, bytes: length, seq: 0 };
        let way = match buffers.choice.way {
            // Its owner could not have it there.
            Way::Managed if managed::find(&self.used().device, &bytes).is_none() => Way::Copy,
            way => way,
        };
        let QueueState { device, capabilities, stream, memories, elements, own, .. } = self.used();
        let no_room = OffloadError::of(&buffers.name);
        let place = match (way, elements) {
            (Way::Copy | Way::Device, Some(elements)) => {
                let given = || instance::of(&writes, device);
                let (place, from) =
                    memories.mirror_of_buffer(device, &bytes, given).map_err(&no_room)?;
                match from {
                    BufferMemory::Known => {}
                    BufferMemory::Given => buffers.resident.is_shared(),
                    BufferMemory::Made => {
                        buffers.mirrors.set(buffers.mirrors.get() + 1);
                        buffers.resident.is_own(own, &buffers.name);
                    }
                }
                let claims = reads.iter().map(|reads| reads as &dyn Claim);
                for claim in claims.chain([&writes as &dyn Claim]) {
                    let capabilities = *capabilities;
                    let tools = Tools { device, capabilities, stream, memories };
                    elements.down(tools, claim, (&bytes, &place)).map_err(&no_room)?;
                    buffers.count_copied(copied_bytes(claim));
                }
                buffers.count_copied(copied_bytes(&writes));
                place
            }
            _ => memories.in_place(device, &bytes).map_err(no_room)?,
        };
        let reads = reads.into_iter().map(|reads| Box::new(reads) as Box<dyn Claim + Send>);
        let (writes, reads) = (Box::new(writes), reads.collect());
        self.claimed.push(Claimed { way, writes, reads, bytes, place: place.clone() });
        Ok(place)
    }

    /// Waits until the device is done, and releases the claims of [`Work::share`]: for a server,
    /// whose response follows then. Blocks.
    ///
    /// # Errors
    /// [`OffloadError::Device`]; [`OffloadError::NotHeld`] as for [`Work::publish`].
    pub fn finish_shared(&mut self) -> Result<(), OffloadError> {
        let ending = self.end_claims()?;
        self.finish()?;
        drop(ending);
        Ok(())
    }

    /// Copies what the device writes to where others look for it, and lets them wait for what is
    /// left to do.
    pub(crate) fn end_claims(&mut self) -> Result<Ending, OffloadError> {
        let mut ending = Ending::new();
        while let Some(mut claimed) = self.claimed.pop() {
            let is_held =
                claimed.writes.is_held() && claimed.reads.iter().all(|reads| reads.is_held());
            let copied = match is_held {
                true => self.copy_elements_back(&claimed).map_err(OffloadError::from),
                false => Err(OffloadError::NotHeld { device: self.device_name() }),
            };
            if let Err(error) = copied {
                // Not before the device is at rest: the claims end here.
                let _ = self.finish();
                return Err(error);
            }
            claimed.writes.note_ending();
            claimed.reads.iter_mut().for_each(|reads| reads.note_ending());
            ending.push((claimed.writes, claimed.reads));
        }
        Ok(ending)
    }

    fn copy_elements_back(&mut self, claimed: &Claimed) -> Result<(), DeviceError> {
        let Claimed { way, writes, bytes, place, .. } = claimed;
        let QueueState { device, capabilities, stream, memories, elements, .. } = self.used();
        match (way, elements) {
            (Way::Copy | Way::Device, Some(elements)) => {
                let tools = Tools { device, capabilities: *capabilities, stream, memories };
                elements.up(tools, &**writes, (bytes, place))
            }
            _ => Ok(()),
        }
    }
}

fn copied_bytes(claim: &dyn Claim) -> u64 {
    claim.part().count() * claim.element_type().bytes()
}
