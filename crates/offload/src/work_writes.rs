//! Where a device puts what it writes: each way of a topic by itself.

use crate::choice::Way;
use crate::managed;
use crate::memories::{Part, Place};
use crate::queue::{DeviceOutput, OffloadError, QueueState};
use crate::slabs;
use crate::work::{Work, Written};
use crossdock_shm::{Region, Slab};
use std::sync::Arc;

impl Work<'_> {
    /// Where the device writes `bytes`, which are part of a loan of `output`'s publisher in
    /// `region` ([`Loan::region`](crossdock_comm::Loan::region)).
    ///
    /// # Errors
    /// [`OffloadError`].
    pub fn write(
        &mut self,
        output: &DeviceOutput,
        region: Region,
        bytes: &[u8],
    ) -> Result<Place, OffloadError> {
        self.write_at(output, region, bytes)
    }

    /// The same for bytes of a known place only.
    pub(crate) fn write_at(
        &mut self,
        output: &DeviceOutput,
        region: Region,
        bytes: *const [u8],
    ) -> Result<Place, OffloadError> {
        let seq = output.handle.published() + 1;
        let part = Part::of(region, bytes, seq);
        let part = part.ok_or_else(|| self.outside(output.handle.topic()))?;
        let no_room = OffloadError::of(output.handle.topic());
        let QueueState { device, memories, .. } = &mut *self.queue;
        memories.note_own(&part);
        let (place, slab) = match output.choice.way {
            Way::ZeroCopy => (memories.in_place(device, &part).map_err(no_room)?, None),
            Way::Copy => (self.write_mirror(output, &part)?, None),
            // What its publisher could not have there is copied.
            Way::Managed => match managed::find(device, &part) {
                Some(place) => (place, None),
                None => (self.write_mirror(output, &part)?, None),
            },
            Way::Device => match self.write_slab(output, &part)? {
                Some((place, slab)) => (place, Some(slab)),
                None => (self.write_mirror(output, &part)?, None),
            },
        };
        self.open = true;
        self.written.push(Written { part, place: place.clone(), slab });
        Ok(place)
    }

    /// In the slab that stands for the chunk, which other queues and processes reach; `None`: there
    /// is none.
    fn write_slab(
        &mut self,
        output: &DeviceOutput,
        part: &Part,
    ) -> Result<Option<(Place, Arc<Slab>)>, OffloadError> {
        let QueueState { device, capabilities, .. } = &mut *self.queue;
        let offer = |slab: &_, memory| output.handle.offer_slab(slab, memory);
        let slab = slabs::for_writing(device, *capabilities, part, offer);
        let slab = slab.map_err(OffloadError::of(output.handle.topic()))?;
        let found = slab.and_then(|slab| Some((Place::in_slab(&slab, part)?, slab)));
        if found.is_some() {
            output.resident.is_shared();
        }
        Ok(found)
    }

    /// In memory of the queue's own.
    fn write_mirror(&mut self, output: &DeviceOutput, part: &Part) -> Result<Place, OffloadError> {
        let QueueState { device, memories, own, .. } = &mut *self.queue;
        output.resident.is_own(own, output.handle.topic());
        let mirror = memories.mirror(device, part);
        Ok(mirror.map_err(OffloadError::of(output.handle.topic()))?.0)
    }
}
