//! The usual node on a device: one message in, one message out.

use crate::memories::Place;
use crate::queue::{DeviceInput, DeviceOutput, OffloadError, Queue};
use crate::work::Work;
use crossdock_comm::{Loan, Publisher, Sample, Subscriber, TakeError};
use crossdock_device::{Device, DeviceError};
use crossdock_executor::{NodeError, Setup};
use crossdock_msg::Message;
use crossdock_shm::Region;

/// One stage of a pipeline on a device: a queue, one input, one output, and the node's kernels `K`.
#[derive(Debug)]
pub struct DeviceStage<K> {
    queue: Queue,
    input: DeviceInput,
    output: DeviceOutput,
    /// Its kernels, with their tables and scratch.
    pub kernels: K,
}

/// The part of a loan that a device writes.
#[derive(Clone, Debug)]
pub struct Target {
    region: Region,
    at: *const [u8],
}

impl Target {
    /// `bytes`, which are part of a loan in `region` ([`Loan::region`]).
    #[must_use]
    pub fn new(region: Region, bytes: &[u8]) -> Self {
        Target { region, at: bytes }
    }
}

impl<K> DeviceStage<K> {
    /// The stage on the device that the mapping names; `None`: the node computes on the processor.
    /// `make` makes the kernels. Blocks, for seconds the first time.
    ///
    /// # Errors
    /// As [`Queue::of`] and [`Queue::input`], and what `make` says.
    pub fn of<A: Message, B: Message>(
        setup: &mut Setup<'_>,
        subscriber: &Subscriber<A>,
        publisher: &Publisher<B>,
        make: impl FnOnce(&Device) -> Result<K, DeviceError>,
    ) -> Result<Option<Self>, NodeError> {
        let Some(queue) = Queue::of(setup)? else { return Ok(None) };
        let input = queue.input(setup, subscriber)?;
        let output = queue.output(setup, publisher)?;
        let kernels = make(&queue.device())?;
        Ok(Some(DeviceStage { queue, input, output, kernels }))
    }

    /// The device, for kernels that are made later.
    #[must_use]
    pub fn device(&self) -> Device {
        self.queue.device()
    }

    /// Has the device make the message in `loan`, whose part `target` it writes, of the bytes of
    /// `sample` that `read` names, and publishes it early. `launch` gives it the kernels. A message
    /// that died with its publisher is passed over: nothing is published then.
    ///
    /// Blocks and allocates as [`Queue::begin`], [`Work::read`] and [`Work::publish`] do.
    ///
    /// # Errors
    /// Theirs, and what `read` and `launch` say.
    pub fn publish<A: Message, B: Message>(
        &mut self,
        sample: Sample<A>,
        read: impl FnOnce(&Sample<A>) -> Result<&[u8], NodeError>,
        (loan, target): (Loan<'_, B>, Target),
        launch: impl FnOnce(&mut K, &mut Work<'_>, &Place, &Place) -> Result<(), OffloadError>,
    ) -> Result<(), NodeError> {
        let mut work = self.queue.begin()?;
        let from = match work.read(&self.input, &sample, read(&sample)?) {
            Err(OffloadError::Take(TakeError::Unfinished(it))) if it.publisher_gone => {
                return Ok(());
            }
            from => from?,
        };
        let Target { region, at } = target;
        let to = work.write_at(&self.output, region, at)?;
        launch(&mut self.kernels, &mut work, &from, &to)?;
        Ok(work.publish(&self.output, loan, sample)?)
    }
}
