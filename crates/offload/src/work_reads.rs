//! How a device gets at what it reads: each way of a topic by itself.

use crate::choice::Way;
use crate::managed;
use crate::memories::{Part, Place, copy_down};
use crate::queue::{DeviceInput, OffloadError, QueueState};
use crate::slabs::{self, Found};
use crate::work::Work;
use crossdock_comm::{Sample, SubscriberHandle};
use crossdock_device::Stream;
use crossdock_msg::Message;
use crossdock_shm::FencePoint;

impl Work<'_> {
    /// Where the device finds `bytes`, which are part of the message in `sample`: the fields that
    /// its publisher left to a device, or any others.
    ///
    /// Blocks if another process's device still writes the message, or another queue's, or its
    /// uploader still copies it, and the device does not wait for that itself. Allocates when
    /// memory is seen for the first time.
    ///
    /// # Errors
    /// [`OffloadError`].
    pub fn read<T: Message>(
        &mut self,
        input: &DeviceInput,
        sample: &Sample<T>,
        bytes: &[u8],
    ) -> Result<Place, OffloadError> {
        let part = sample.region().and_then(|region| {
            let part = Part::of(region, bytes, sample.seq())?;
            let block = sample.block().as_bytes().as_ptr_range();
            (block.start <= bytes.as_ptr() && bytes.as_ptr_range().end <= block.end).then_some(part)
        });
        let part = part.ok_or_else(|| self.outside(input.handle.topic()))?;
        let device = &self.queue.device;
        let found = match input.choice.way {
            Way::ZeroCopy => return self.read_in_place(input, sample, &part),
            Way::Device | Way::Copy => slabs::find(device, &part),
            Way::Managed => managed::find(device, &part).map_or(Found::Nothing, Found::There),
        };
        match found {
            Found::There(place) if self.comes_there(input, sample, &part)? => {
                self.open = true;
                self.queue.memories.keep(&part);
                Ok(place)
            }
            Found::There(_) => self.read_copied(input, (&part, bytes)),
            Found::Partly | Found::Nothing => {
                self.await_writer(input, sample, &part)?;
                if matches!(found, Found::Partly) && sample.away() {
                    return Err(self.outside(input.handle.topic()));
                }
                self.read_copied(input, (&part, bytes))
            }
        }
    }

    /// Zero copy: in the host's memory. Only what is coherent is used so (`choose`), so nothing is
    /// handed over.
    fn read_in_place<T: Message>(
        &mut self,
        input: &DeviceInput,
        sample: &Sample<T>,
        part: &Part,
    ) -> Result<Place, OffloadError> {
        self.await_writer(input, sample, part)?;
        self.open = true;
        let QueueState { device, memories, .. } = &mut *self.queue;
        memories.in_place(device, part).map_err(OffloadError::of(input.handle.topic()))
    }

    /// In memory of the queue's own, into which it is copied once for all nodes of the queue.
    fn read_copied(
        &mut self,
        input: &DeviceInput,
        (part, bytes): (&Part, &[u8]),
    ) -> Result<Place, OffloadError> {
        self.open = true;
        let QueueState { device, capabilities, stream, memories, own, .. } = &mut *self.queue;
        let no_room = OffloadError::of(input.handle.topic());
        let (place, is_there) = memories.mirror(device, part).map_err(no_room)?;
        if !is_there {
            let copied =
                copy_down((memories, device, stream), *capabilities, (part, bytes), &place);
            if let Err(error) = copied {
                memories.forget(part);
                return Err(error.into());
            }
            input.handle.count_copied(part.bytes);
        }
        input.resident.is_own(own, input.handle.topic());
        Ok(place)
    }

    /// The thread waits until the message is written, unless this queue writes it.
    fn await_writer<T: Message>(
        &mut self,
        input: &DeviceInput,
        sample: &Sample<T>,
        part: &Part,
    ) -> Result<(), OffloadError> {
        match unfinished(&self.queue, sample, part) {
            Some(point) => Ok(input.handle.await_device(sample.seq(), &point)?),
            None => Ok(()),
        }
    }

    /// Waits for a message that its publisher has, or uploads to, the device's memory; has the
    /// device itself wait, if it can. False: the device of its publisher has failed, or has died
    /// with it, and the message is in the host's memory.
    fn comes_there<T: Message>(
        &mut self,
        input: &DeviceInput,
        sample: &Sample<T>,
        part: &Part,
    ) -> Result<bool, OffloadError> {
        if let Some(point) = unfinished(&self.queue, sample, part)
            && !is_awaited_by(&mut self.queue.stream, part, &point)
        {
            input.handle.await_device(sample.seq(), &point)?;
        }
        let stream = &mut self.queue.stream;
        let comes = |point| comes(stream, (part, &point), &input.handle);
        Ok(sample.uploaded_point().is_none_or(comes))
    }
}

/// The end of what writes the message, if that is another queue and has not come to it yet.
fn unfinished<T: Message>(
    queue: &QueueState,
    sample: &Sample<T>,
    part: &Part,
) -> Option<FencePoint> {
    let point = sample.finish_point().filter(|_| !queue.memories.is_own(part))?;
    (!point.is_reached().unwrap_or(false)).then_some(point)
}

/// Waits for a message that is uploaded, or has the device wait. False: it does not come.
fn comes(
    stream: &mut Stream,
    (part, point): (&Part, &FencePoint),
    input: &SubscriberHandle,
) -> bool {
    match point.is_reached() {
        Ok(false) => is_awaited_by(stream, part, point) || input.await_uploaded(point),
        Ok(true) => true,
        Err(_) => false,
    }
}

/// Has the device itself wait, in the stream's order, for a message that another queue of this
/// process writes or uploads; false: the thread must wait. Not for other processes: one that dies
/// leaves its device's work unfinished, and what was made of it would be published already.
fn is_awaited_by(stream: &mut Stream, part: &Part, point: &FencePoint) -> bool {
    // Only a publisher of this process shows how its chunks lie.
    let is_here = part.region.grid().is_some();
    // If the device cannot wait for it, the thread does.
    is_here && stream.wait(point).is_ok()
}
