//! Nodes that leave their work to a device.
//!
//! A node type that says [`on_device`](crossdock_executor::NodeDescription::on_device) has kernels
//! beside its function for the processor, and the mapping picks one of the two. On a device,
//! `execute` takes a message, gives the device the work, publishes, and returns: the executor goes
//! on while the device computes.
//!
//! 1. [`Queue::of`] opens the device that the mapping names. All nodes of an executor that use one
//!    device share one queue of work, which runs in order; nodes that are to run at the same time
//!    on the device belong to different executors.
//! 2. [`Queue::begin`] begins one piece of [`Work`]; it waits only if too much is under way.
//! 3. [`Work::read`] and [`Work::write`] say where the device finds the bytes of a message that was
//!    taken and of a loan: in the host's memory, or in memory of its own ([`Way`]). A message that
//!    stays in memory of this device, or was uploaded, is used where it is, whatever queue or
//!    process its publisher has; any other is copied at most once per queue, whatever the number of
//!    nodes that read it. What another queue's device still writes is waited for.
//! 4. The node launches kernels on [`Work::stream`].
//! 5. [`Work::publish`] publishes *early*: subscribers on devices go on with the message at once,
//!    others wait for the device when they take it. What was read is held until the device is done.
//!
//! A message of a node on the processor that several executors read on one device is uploaded once,
//! by its publisher's executor, as soon as it is published ([`uploaders`]).
//!
//! What a node has claimed of a shared buffer gets to the device by [`Work::share`], as the mapping
//! says of the topic of its tokens ([`Queue::buffers`]) or of the service that it came by
//! ([`Queue::buffers_of`]); the claims end with the work. Exactly the claimed elements are copied,
//! if any.
//!
//! [`DeviceStage`] is all of this for a node with one input and one output.
//!
//! A trace has each kernel, from when until when the device ran it.
//!
//! What is copied is counted at the ports, and shown in the closing table with the way of each
//! topic and its reason.

#![deny(unsafe_code)]

mod buffer;
mod choice;
mod device_stage;
mod elements;
mod instance;
mod managed;
mod memories;
mod queue;
mod resident;
mod slabs;
mod staging;
mod trace;
mod under_way;
mod uploader;
mod work;
mod work_reads;
mod work_writes;

pub use buffer::DeviceBuffers;
pub use choice::{Choice, Refusal, Way, choose, choose_for_buffers};
pub use device_stage::{DeviceStage, Target};
pub use instance::instances;
pub use managed::managed_memory;
pub use memories::Place;
pub use queue::{DeviceInput, DeviceOutput, OffloadError, Queue};
pub use uploader::{UPLOADED, upload_reason, uploaders};
pub use work::Work;
