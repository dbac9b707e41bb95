//! The array of a scheduler as a device's worker uses it: if the mapping says so in the buffer
//! itself, else in memory of the device, to which the parts that a turn is about are copied and
//! from which what was written comes back.

use crate::benchmark::Benchmark;
use crate::gpu::{LaunchError, SwapOnDevice};
use crate::swap::Share;
use crossdock_comm::{ClaimError, Loan, Publisher, Server, SharedBuffer, Subscriber};
use crossdock_device::DeviceError;
use crossdock_executor::{NodeError, Setup};
use crossdock_msg::{Message, Service};
use crossdock_offload::{DeviceBuffers, DeviceOutput, OffloadError, Queue, Work};

/// A device did not get a turn's work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SharedArrayError {
    /// The device refuses or has failed.
    #[error(transparent)]
    Offload(#[from] OffloadError),
    /// The kernel was not launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Somebody else has what the turn is about.
    #[error(transparent)]
    Claim(#[from] ClaimError),
}

/// See the head of this file. Belongs to the thread of its executor.
#[derive(Debug)]
pub struct SharedArray {
    queue: Queue,
    buffers: DeviceBuffers,
    kernel: SwapOnDevice,
    /// Tried: kernels see memory of the host at its own address.
    same_address: bool,
    /// Where the ends of turns are published; `None`: a service's response tells them.
    done: Option<DeviceOutput>,
}

/// A turn's work, given to the device, which may still be at it. Dropped, it waits for that.
#[derive(Debug)]
#[must_use]
pub struct Under<'a> {
    work: Work<'a>,
    done: Option<&'a DeviceOutput>,
    /// Bytes that are copied for it, there and back.
    pub copied_bytes: u64,
    /// Instances of the array that were made for this worker in memory of the device.
    pub device_instances: u32,
    /// The device uses the elements at the address that this process has for them.
    pub in_place: bool,
}

impl SharedArray {
    /// For a worker that is asked over a topic and answers over another one. Compiles the kernel:
    /// blocks, for seconds the first time.
    ///
    /// # Errors
    /// The device cannot do what the mapping says of the topic, or fails.
    pub fn over_topics<T: Message, D: Message>(
        setup: &Setup<'_>,
        queue: &Queue,
        benchmark: Benchmark,
        (turn, done): (&Subscriber<T>, &Publisher<D>),
    ) -> Result<Self, NodeError> {
        let buffers = queue.buffers(setup, turn)?;
        let done = queue.output(setup, done)?;
        Ok(Self::new(queue, benchmark, buffers, Some(done))?)
    }

    /// For one that serves a service. Blocks as [`SharedArray::over_topics`].
    ///
    /// # Errors
    /// As there.
    pub fn over_service<S: Service>(
        setup: &Setup<'_>,
        queue: &Queue,
        benchmark: Benchmark,
        server: &Server<S>,
    ) -> Result<Self, NodeError> {
        Ok(Self::new(queue, benchmark, queue.buffers_of(setup, server)?, None)?)
    }

    fn new(
        queue: &Queue,
        benchmark: Benchmark,
        buffers: DeviceBuffers,
        done: Option<DeviceOutput>,
    ) -> Result<Self, DeviceError> {
        let device = queue.device();
        let same_address = device.capabilities()?.same_address;
        let kernel = SwapOnDevice::new(&device, benchmark)?;
        Ok(Self { queue: queue.clone(), buffers, kernel, same_address, done })
    }

    /// Gives the device its work on a share. Returns while the device computes, unless the host has
    /// to copy, or too much is under way. Allocates.
    ///
    /// # Errors
    /// [`SharedArrayError`]; nothing is held or under way then.
    pub fn run(
        &mut self,
        buffer: &SharedBuffer<u32>,
        share: Share,
    ) -> Result<Under<'_>, SharedArrayError> {
        let (writes, reads) = (buffer.write(share.writes)?, buffer.read(share.reads)?);
        let copied_before = self.buffers.copied_bytes();
        let mut work = self.queue.begin()?;
        let place = work.share(&self.buffers, writes, [reads])?;
        let array = place.span().map_err(OffloadError::from)?;
        let elements = buffer.count() as u32;
        // SAFETY: (2) of the module: both parts are claimed, and `work` holds the claims until the
        // end.
        unsafe { self.kernel.launch(work.stream(), elements, share, array) }?;
        let at = place.host_address();
        Ok(Under {
            work,
            done: self.done.as_ref(),
            copied_bytes: self.buffers.copied_bytes() - copied_before,
            device_instances: self.buffers.mirrors(),
            in_place: self.same_address && at == Some(buffer.address()),
        })
    }
}

impl Under<'_> {
    /// Publishes what says that the turn is over, while the device may still compute: a node that
    /// takes it on a processor waits for the device, and the parts are released then. For a worker
    /// over topics.
    ///
    /// # Errors
    /// [`OffloadError`]; nothing is held or under way then.
    ///
    /// # Panics
    /// When it is one over a service: a programmer's error.
    pub fn publish<D: Message>(mut self, loan: Loan<'_, D>) -> Result<(), OffloadError> {
        let done = self.done.expect("a worker over topics");
        self.work.publish(done, loan, ())
    }

    /// Waits for the device and releases the parts. Blocks.
    ///
    /// # Errors
    /// [`OffloadError`]: its work has failed.
    pub fn finish(mut self) -> Result<(), OffloadError> {
        self.work.finish_shared()
    }
}
