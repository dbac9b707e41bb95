//! One piece of work, from its begin to its end. What it reads and writes is in `work_reads` and
//! `work_writes`.

use crate::buffer::Claimed;
use crate::choice::Way;
use crate::memories::{Part, Place, copy_up};
use crate::queue::{DeviceOutput, OffloadError, QueueState};
use crossdock_comm::Loan;
use crossdock_device::Stream;
use crossdock_msg::Message;
use crossdock_shm::Slab;
use std::cell::RefMut;
use std::sync::Arc;

/// One piece of work of a queue: from what is read to what is published.
///
/// Dropped before it has published anything, it waits until the device is done with what it was
/// given: the node has failed.
pub struct Work<'q> {
    pub(crate) queue: RefMut<'q, QueueState>,
    /// What the device writes, until it is published.
    pub(crate) written: Vec<Written>,
    /// What it uses of shared buffers, until then.
    pub(crate) claimed: Vec<Claimed>,
    /// The device has been given something that no end stands for.
    pub(crate) open: bool,
}

/// Part of a loan that the device writes.
pub(crate) struct Written {
    pub(crate) part: Part,
    pub(crate) place: Place,
    /// Its place is in there.
    pub(crate) slab: Option<Arc<Slab>>,
}

impl std::fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("device", &self.queue.device.info().name).finish()
    }
}

impl<'q> Work<'q> {
    pub(crate) fn new(queue: RefMut<'q, QueueState>) -> Self {
        Work { queue, written: Vec::new(), claimed: Vec::new(), open: false }
    }

    /// Where kernels are launched.
    pub fn stream(&mut self) -> &mut Stream {
        self.open = true;
        &mut self.queue.stream
    }

    /// Publishes the loan that [`Work::write`] was about, early: it is finished when the device is.
    /// `kept` (the samples that were read) is dropped then, and what was claimed of shared buffers
    /// ([`Work::share`]) is released: a node that wants to claim the same before waits for that.
    ///
    /// Blocks as [`Loan::publish`] does; on a device that does not share the host's memory
    /// coherently also until the device is done, as where elements of shared buffers are copied one
    /// by one. Allocates.
    ///
    /// # Errors
    /// [`OffloadError`]; the device is done with everything then. [`OffloadError::NotHeld`]: the
    /// owner of a shared buffer counts this process among the dead, and nothing is published.
    pub fn publish<T: Message>(
        &mut self,
        output: &DeviceOutput,
        mut loan: Loan<'_, T>,
        kept: impl Send + 'static,
    ) -> Result<(), OffloadError> {
        let copied = self.copy_back(output, &mut loan).and_then(|()| self.end_claims());
        let published = copied.and_then(|claims| {
            let Some(point) = loan.early_point() else {
                // Its number was promised for a message that was then refused: it is finished
                // before it is known.
                self.finish()?;
                drop((kept, claims));
                return published(loan.publish());
            };
            // First: a subscriber of the message may let its device wait for the point at once, and
            // a device is to wait only for what another one has been given.
            let keeping = self.queue.under_way.keeping();
            self.queue.stream.signal_keeping(&point, (kept, claims, keeping))?;
            published(loan.publish_early().map(|_| ()))?;
            self.queue.under_way.add(point);
            Ok(())
        });
        self.open = published.is_err() || !self.written.is_empty();
        if published.is_err() {
            self.finish()?;
        }
        published
    }

    /// Copies what the device writes to where its readers look for it.
    fn copy_back<T: Message>(
        &mut self,
        output: &DeviceOutput,
        loan: &mut Loan<'_, T>,
    ) -> Result<(), OffloadError> {
        let QueueState { device, capabilities, stream, memories, .. } = &mut *self.queue;
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

    /// Waits for all work of the queue: for a node that reads on the host what the device has
    /// computed for it. Blocks.
    ///
    /// # Errors
    /// [`OffloadError::Device`]: some of it failed.
    pub fn finish(&mut self) -> Result<(), OffloadError> {
        self.open = false;
        Ok(self.queue.stream.finish()?)
    }

    /// What the queue has; the device may be given something.
    pub(crate) fn used(&mut self) -> &mut QueueState {
        self.open = true;
        &mut self.queue
    }

    pub(crate) fn device_name(&self) -> String {
        self.queue.device.info().name.clone()
    }

    pub(crate) fn outside(&self, topic: &str) -> OffloadError {
        let (device, topic) = (self.device_name(), topic.to_owned());
        OffloadError::Outside { device, topic }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if self.open {
            // What failed is told by the call before or by the next.
            let _ = self.queue.stream.finish();
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
