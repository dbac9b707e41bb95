//! Shared buffers on a device: where its kernels find the elements that a node has claimed, what is
//! copied for that, and the end of the claims. Must not know which kernels run.

use crate::choice::{Choice, Way};
use crate::memories::{Part as Bytes, Place, copy_elements_down, copy_elements_up};
use crate::queue::{OffloadError, Shared};
use crate::work::Work;
use crossdock_comm::{Claim, Element, Entity, InputHandle, Part, ReadClaim, WriteClaim};
use crossdock_device::{Access, DeviceError};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// How the shared buffers get to the device that the tokens of one port are about. Belongs to the thread of
/// its executor.
#[derive(Debug)]
pub struct DeviceBuffers(Rc<Buffers>);

#[derive(Debug)]
struct Buffers {
    choice: Choice,
    /// Where copies are counted.
    input: Option<InputHandle>,
    copied_bytes: Cell<u64>,
    /// Memory of the host for elements on their way; as large as what was copied at once so far.
    staging: RefCell<Vec<u8>>,
    /// What observers see of it.
    _record: Entity,
}

impl DeviceBuffers {
    pub(crate) fn new(choice: Choice, input: Option<InputHandle>, record: Entity) -> Self {
        let (copied_bytes, staging) = (Cell::new(0), RefCell::default());
        DeviceBuffers(Rc::new(Buffers { choice, input, copied_bytes, staging, _record: record }))
    }

    /// How buffers get to the device, and why.
    #[must_use]
    pub fn choice(&self) -> &Choice {
        &self.0.choice
    }

    /// Bytes that were copied to the device and back so far, of all its buffers.
    #[must_use]
    pub fn copied_bytes(&self) -> u64 {
        self.0.copied_bytes.get()
    }
}

impl Buffers {
    fn count_copied(&self, bytes: u64) {
        self.copied_bytes.set(self.copied_bytes.get() + bytes);
        if let Some(input) = &self.input {
            input.count_copied(bytes);
        }
    }
}

/// Claims of one buffer that a piece of work is about.
pub(crate) struct Claimed {
    buffers: Rc<Buffers>,
    writes: Box<dyn Claim + Send>,
    reads: Option<Box<dyn Claim + Send>>,
    bytes: Bytes,
    place: Place,
}

/// What is left of them when the device has been given everything: to be dropped by its driver.
pub(crate) type Ending = Vec<(Box<dyn Claim + Send>, Option<Box<dyn Claim + Send>>)>;

impl Work<'_> {
    /// Where the device finds the elements of claims of one buffer: all of the buffer, so that element `i`
    /// has the index `i`. Kernels keep to what is claimed; what they find elsewhere may be anything.
    ///
    /// They are used in place, or everything from the first claimed element to the last is copied into memory
    /// of the device. The claims are held until the device is done with this piece of work: they are released
    /// by the end of what [`Work::publish`] publishes next, or by [`Work::finish_shared`].
    ///
    /// Blocks while elements are copied where the device does not see the host's memory coherently. Allocates.
    ///
    /// # Errors
    /// [`OffloadError`]; [`OffloadError::TwoBuffers`] if the claims are not of one buffer.
    pub fn share<T: Element>(
        &mut self,
        buffers: &DeviceBuffers,
        writes: WriteClaim<T>,
        reads: Option<ReadClaim<T>>,
    ) -> Result<Place, OffloadError> {
        let buffers = &buffers.0;
        let (region, offset, length) = writes.memory();
        let of_reads = reads.as_ref().map(|reads| reads.memory().0.address());
        if of_reads.is_some_and(|address| address != region.address()) {
            return Err(OffloadError::TwoBuffers { device: self.device_name() });
        }
        let needed = hull(writes.part(), reads.as_ref().map_or(Part::NONE, ReadClaim::part));
        let range = byte_range(&writes, needed);
        let bytes = Bytes { region, offset, bytes: length, seq: 0 };
        let Shared { device, capabilities, stream, memories, .. } = self.used();
        let place = match buffers.choice.way {
            Way::ZeroCopy => memories.in_place(device, &bytes)?,
            Way::Copy | Way::Device => memories.mirror(device, &bytes)?.0,
        };
        match buffers.choice.way {
            _ if needed.is_empty() => {}
            Way::ZeroCopy if capabilities.coherent => {}
            Way::ZeroCopy => stream.release(place.part(range)?, Access::Write)?,
            Way::Copy | Way::Device => {
                let staging = &mut *buffers.staging.borrow_mut();
                let gather = |bytes: &mut [u8]| writes.gather_all(needed, bytes);
                let tools = (memories, &*device, stream);
                copy_elements_down(tools, *capabilities, (&bytes, range), &place, staging, gather)?;
                buffers.count_copied(range.1);
            }
        }
        let reads = reads.map(|reads| Box::new(reads) as Box<dyn Claim + Send>);
        let (writes, buffers) = (Box::new(writes), Rc::clone(buffers));
        self.claimed.push(Claimed { buffers, writes, reads, bytes, place: place.clone() });
        Ok(place)
    }

    /// Waits until the device is done, and releases the claims of [`Work::share`]: for a server, whose
    /// response follows then. Blocks.
    ///
    /// # Errors
    /// [`OffloadError::Device`]; [`OffloadError::NotHeld`] as for [`Work::publish`].
    pub fn finish_shared(&mut self) -> Result<(), OffloadError> {
        let ending = self.end_claims()?;
        self.finish()?;
        drop(ending);
        Ok(())
    }

    /// Brings what the device writes to where others look for it, and lets them wait for what is left to do.
    pub(crate) fn end_claims(&mut self) -> Result<Ending, OffloadError> {
        let mut ending = Ending::new();
        while let Some(mut claimed) = self.claimed.pop() {
            let reads = claimed.reads.as_ref();
            let is_held = claimed.writes.is_held() && reads.is_none_or(|reads| reads.is_held());
            let brought = match is_held {
                true => self.bring_elements_up(&claimed).map_err(OffloadError::from),
                false => Err(OffloadError::NotHeld { device: self.device_name() }),
            };
            if let Err(error) = brought {
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

    fn bring_elements_up(&mut self, claimed: &Claimed) -> Result<(), DeviceError> {
        let Claimed { buffers, writes, bytes, place, .. } = claimed;
        let part = writes.part();
        let range = byte_range(&**writes, part);
        let is_in_place = buffers.choice.way == Way::ZeroCopy;
        let Shared { device, capabilities, stream, memories, .. } = self.used();
        if part.is_empty() || is_in_place && capabilities.coherent {
            return Ok(());
        }
        // Where its elements lie apart, those of others lie between them, and may be written meanwhile: they
        // are set one by one.
        let side_by_side = part.step() == 1;
        if is_in_place && side_by_side {
            return stream.acquire(place.part(range)?, Access::Read);
        }
        let as_a_whole = side_by_side && !is_in_place;
        let staging = &mut *buffers.staging.borrow_mut();
        let scatter = |bytes: &[u8]| writes.scatter_own(bytes);
        let tools = (memories, &*device, stream);
        let from = (bytes, range, as_a_whole);
        copy_elements_up(tools, *capabilities, from, place, staging, scatter)?;
        buffers.count_copied(range.1);
        Ok(())
    }
}

/// All elements from the first of two parts to the last.
fn hull(a: Part, b: Part) -> Part {
    let first = match (a.is_empty(), b.is_empty()) {
        (true, _) => b.first(),
        (_, true) => a.first(),
        (false, false) => a.first().min(b.first()),
    };
    Part::range(first, a.end().max(b.end()))
}

/// From the first element of a part to its last: where that begins, from the buffer's first element on, and
/// its length, in bytes.
fn byte_range(claim: &dyn Claim, part: Part) -> (u64, u64) {
    let length = claim.element_type().bytes();
    (part.first() * length, (part.end() - part.first()) * length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_reaches_from_the_first_claimed_element_to_the_last() {
        let even = Part::every(2, 32, 64).expect("a part");
        let others = Part::every(2, 0, 32).expect("a part");
        assert_eq!(hull(even, Part::NONE), Part::range(32, 63));
        assert_eq!(hull(Part::NONE, even), Part::range(32, 63));
        assert_eq!(hull(even, others), Part::range(0, 63));
        assert!(hull(Part::NONE, Part::NONE).is_empty());
    }
}
