//! One piece of work: what it reads, what it writes, and its end. Must not know which kernels run.

use crate::buffer::Claimed;
use crate::choice::Way;
use crate::managed;
use crate::memories::{Part, Place, copy_down, copy_up};
use crate::queue::{DeviceInput, DeviceOutput, OffloadError, Shared};
use crate::slabs::{self, Found};
use crossdock_comm::{InputHandle, Loan, Sample};
use crossdock_device::Stream;
use crossdock_msg::Message;
use crossdock_shm::{FencePoint, Region, Slab};
use std::cell::RefMut;
use std::sync::Arc;

/// One piece of work of a queue: from what is read to what is published.
///
/// Dropped before it has published anything, it waits until the device is done with what it was given:
/// the node has failed.
pub struct Work<'q> {
    shared: RefMut<'q, Shared>,
    /// What the device writes, until it is published.
    written: Vec<Written>,
    /// What it uses of shared buffers, until then.
    pub(crate) claimed: Vec<Claimed>,
    /// The device has been given something that no end stands for.
    open: bool,
}

/// Part of a loan that the device writes.
struct Written {
    part: Part,
    place: Place,
    /// Its place is in there.
    slab: Option<Arc<Slab>>,
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("device", &self.shared.device.info().name).finish()
    }
}

impl<'q> Work<'q> {
    pub(crate) fn new(shared: RefMut<'q, Shared>) -> Self {
        Work { shared, written: Vec::new(), claimed: Vec::new(), open: false }
    }

    /// Where kernels are launched.
    pub fn stream(&mut self) -> &mut Stream {
        self.open = true;
        &mut self.shared.stream
    }

    /// Where the device finds `bytes`, which are part of the message in `sample`: the fields that its
    /// publisher left to a device, or any others.
    ///
    /// Blocks if another process's device still writes the message, or another queue's, or its uploader still
    /// copies it, and the device does not wait for that itself. Allocates when memory is seen for the first
    /// time.
    ///
    /// # Errors
    /// [`OffloadError`].
    pub fn read<T: Message>(
        &mut self,
        input: &DeviceInput,
        sample: &Sample<T>,
        bytes: &[u8],
    ) -> Result<Place, OffloadError> {
        let region = sample.region().and_then(|region| {
            let part = Part::of(region, bytes, sample.seq())?;
            let block = sample.block().as_bytes().as_ptr_range();
            (block.start <= bytes.as_ptr() && bytes.as_ptr_range().end <= block.end).then_some(part)
        });
        let part = region.ok_or_else(|| self.outside(input.handle.topic()))?;
        let Shared { device, capabilities, stream, memories, own, .. } = &mut *self.shared;
        let found = match input.choice.way {
            Way::Device | Way::Copy => slabs::find(device, &part),
            Way::Managed => managed::find(device, &part).map_or(Found::Nothing, Found::There),
            Way::ZeroCopy => Found::Nothing,
        };
        if !memories.is_own(&part)
            && let Some(point) = sample.finish_point()
            && !point.is_reached().unwrap_or(false)
            && !(matches!(found, Found::There(_)) && is_awaited_by(stream, &part, &point))
        {
            input.handle.await_device(sample.seq(), &point)?;
        }
        let found = match (found, sample.uploaded_point()) {
            // Its publisher's device has failed, or has died with it: the message is in the host's memory.
            (Found::There(_), Some(point)) if !comes(stream, (&part, &point), &input.handle) => {
                Found::Nothing
            }
            (found, _) => found,
        };
        self.open = true;
        match found {
            Found::There(place) => {
                memories.keep(&part);
                return Ok(place);
            }
            Found::Partly if sample.away() => return Err(self.outside(input.handle.topic())),
            Found::Partly | Found::Nothing => {}
        }
        if input.choice.way == Way::ZeroCopy {
            // Only what is coherent is used so (`choose`): nothing is handed over.
            let no_room = OffloadError::of(input.handle.topic());
            return memories.in_place(device, &part).map_err(no_room);
        }
        let no_room = OffloadError::of(input.handle.topic());
        let (place, is_there) = memories.mirror(device, &part).map_err(no_room)?;
        if !is_there {
            let copied =
                copy_down((memories, device, stream), *capabilities, (&part, bytes), &place);
            if let Err(error) = copied {
                memories.forget(&part);
                return Err(error.into());
            }
            input.handle.count_copied(part.bytes);
        }
        input.resident.is_own(own, input.handle.topic());
        Ok(place)
    }

    /// Where the device writes `bytes`, which are part of a loan of `output`'s publisher in `region`
    /// ([`Loan::region`]).
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

    /// The same for bytes of which only the place is known.
    pub(crate) fn write_at(
        &mut self,
        output: &DeviceOutput,
        region: Region,
        bytes: *const [u8],
    ) -> Result<Place, OffloadError> {
        let seq = output.handle.published() + 1;
        let part =
            Part::of(region, bytes, seq).ok_or_else(|| self.outside(output.handle.topic()))?;
        let Shared { device, capabilities, memories, own, .. } = &mut *self.shared;
        memories.note_own(&part);
        let no_room = OffloadError::of(output.handle.topic());
        let slab = match output.choice.way {
            Way::Device => {
                let offer = |slab: &_, memory| output.handle.offer_slab(slab, memory);
                slabs::for_writing(device, *capabilities, &part, offer).map_err(&no_room)?
            }
            Way::ZeroCopy | Way::Copy | Way::Managed => None,
        };
        let in_place = match output.choice.way {
            Way::ZeroCopy => Some(memories.in_place(device, &part).map_err(&no_room)?),
            Way::Managed => managed::find(device, &part),
            Way::Copy | Way::Device => None,
        };
        let in_slab = slab.and_then(|slab| Some((Place::in_slab(&slab, &part)?, slab)));
        let (place, slab) = match (in_slab, in_place) {
            (Some((place, slab)), _) => {
                output.resident.is_shared();
                (place, Some(slab))
            }
            (None, Some(place)) => (place, None),
            (None, None) => {
                output.resident.is_own(own, output.handle.topic());
                (memories.mirror(device, &part).map_err(no_room)?.0, None)
            }
        };
        self.open = true;
        self.written.push(Written { part, place: place.clone(), slab });
        Ok(place)
    }

    /// Publishes the loan that [`Work::write`] was about, early: it is finished when the device is. `kept`
    /// (the samples that were read) is dropped then, and what was claimed of shared buffers ([`Work::share`])
    /// is released: whoever wants to claim the same before waits for that.
    ///
    /// Blocks as [`Loan::publish`] does; on a device that does not share the host's memory coherently
    /// also until the device is done, as where elements of shared buffers are copied one by one. Allocates.
    ///
    /// # Errors
    /// [`OffloadError`]; the device is done with everything then. [`OffloadError::NotHeld`]: the owner of a
    /// shared buffer counts this process among the dead, and nothing is published.
    pub fn publish<T: Message>(
        &mut self,
        output: &DeviceOutput,
        mut loan: Loan<'_, T>,
        kept: impl Send + 'static,
    ) -> Result<(), OffloadError> {
        let brought = self.bring_up(output, &mut loan).and_then(|()| self.end_claims());
        let published = brought.and_then(|claims| {
            let Some(point) = loan.early_point() else {
                // Its number was promised for a message that was then refused: it is finished before it is known.
                self.finish()?;
                drop((kept, claims));
                return published(loan.publish());
            };
            // First: whoever has the message may have its device wait for the point at once, and a device is to wait
            // only for what another one has been given.
            self.shared.stream.signal_keeping(&point, (kept, claims))?;
            published(loan.publish_early().map(|_| ()))?;
            self.shared.under_way.add(point);
            Ok(())
        });
        self.open = published.is_err() || !self.written.is_empty();
        if published.is_err() {
            self.finish()?;
        }
        published
    }

    /// Brings what the device writes to where its readers look for it.
    fn bring_up<T: Message>(
        &mut self,
        output: &DeviceOutput,
        loan: &mut Loan<'_, T>,
    ) -> Result<(), OffloadError> {
        let Shared { device, capabilities, stream, memories, .. } = &mut *self.shared;
        let bytes = loan.bytes_mut();
        let of_loan = bytes.as_ptr_range();
        let start = |part: &Part| (part.region.address() + part.offset as usize) as *const u8;
        let of_this = |written: &mut Written| of_loan.contains(&start(&written.part));
        let mut away = false;
        for Written { part, place, slab } in self.written.extract_if(.., of_this) {
            let is_wanted = match output.choice.way {
                Way::ZeroCopy => false,
                Way::Copy => true,
                // What its publisher could not have there.
                Way::Managed => !place.is_managed(),
                Way::Device => {
                    let noted =
                        slab.is_some_and(|slab| slab.note(part.seq, part.offset, part.bytes));
                    let is_wanted = output.read_elsewhere
                        || if noted {
                            !output.handle.slabs_reach_all()
                        } else {
                            output.handle.peers() > 0
                        };
                    away |= noted && !is_wanted;
                    is_wanted
                }
            };
            if !is_wanted {
                continue;
            }
            let from = start(&part) as usize - of_loan.start as usize;
            let bytes = &mut bytes[from..][..part.bytes as usize];
            copy_up((memories, device, stream), *capabilities, (&part, bytes), &place)?;
            output.handle.count_copied(part.bytes);
        }
        if away {
            output.resident.count_away();
            loan.leave_on_device();
        }
        Ok(())
    }

    /// Waits for all work of the queue: for a node that reads on the host what the device has computed
    /// for it. Blocks.
    ///
    /// # Errors
    /// [`OffloadError::Device`]: some of it failed.
    pub fn finish(&mut self) -> Result<(), OffloadError> {
        self.open = false;
        Ok(self.shared.stream.finish()?)
    }

    /// What the queue has; the device may be given something.
    pub(crate) fn used(&mut self) -> &mut Shared {
        self.open = true;
        &mut self.shared
    }

    pub(crate) fn device_name(&self) -> String {
        self.shared.device.info().name.clone()
    }

    fn outside(&self, topic: &str) -> OffloadError {
        let (device, topic) = (self.device_name(), topic.to_owned());
        OffloadError::Outside { device, topic }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if self.open {
            // What failed is told by the call before or by the next.
            let _ = self.shared.stream.finish();
        }
    }
}

/// What became of a loan.
fn published<T: Message>(
    outcome: Result<(), crossdock_comm::PublishError<Loan<'_, T>>>,
) -> Result<(), OffloadError> {
    outcome.map_err(|refused| {
        forget(refused.loan);
        refused.reason.into()
    })
}

/// No message of its number is in the memory of a loan that was not published.
fn forget<T: Message>(mut loan: Loan<'_, T>) {
    let region = loan.region();
    if let Some(part) = Part::of(region, loan.bytes_mut(), 0)
        && let Some(slab) = part.region.slab_at(part.offset, 0)
    {
        slab.clear(part.offset);
    }
}

/// Waits for a message that is brought to the device, or has the device do so. False: it does not come.
fn comes(stream: &mut Stream, (part, point): (&Part, &FencePoint), input: &InputHandle) -> bool {
    match point.is_reached() {
        Ok(false) => is_awaited_by(stream, part, point) || input.await_uploaded(point),
        Ok(true) => true,
        Err(_) => false,
    }
}

/// Has the device itself wait, in the stream's order, for a message that another queue of this process
/// writes or brings; false: the thread must wait. Not for other processes: one that dies leaves its device's work
/// unfinished, and what was made of it would be published already.
fn is_awaited_by(stream: &mut Stream, part: &Part, point: &FencePoint) -> bool {
    // Only a publisher of this process shows how its chunks lie.
    let is_here = part.region.grid().is_some();
    // If the device cannot wait for it, the thread does.
    is_here && stream.wait(point).is_ok()
}
