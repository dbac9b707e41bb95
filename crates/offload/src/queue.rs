//! The queue of an executor's work on one device, and the ports of its nodes.

use crate::buffer::DeviceBuffers;
use crate::choice::{Choice, Refusal, Way, choose, choose_for_buffers};
use crate::elements::ElementCopies;
use crate::memories::Memories;
use crate::resident::{OwnTopics, Resident};
use crate::slabs::Importer;
use crate::trace::QueueTrace;
use crate::under_way::{Room, UnderWay};
use crate::work::Work;
use crossdock_comm::{Publisher, PublisherHandle, Subscriber, SubscriberHandle, TakeError};
use crossdock_device::{Capabilities, Device, DeviceError, DeviceInfo, Stream};
use crossdock_executor::{NodeError, Server, Setup};
use crossdock_graph::{DeviceTopic, Otherwise};
use crossdock_msg::{Message, Service};
use crossdock_shm::PublishError;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

/// How long a device may take for one piece before it counts as hung.
const WORK_LIMIT: Duration = Duration::from_secs(10);

/// Work of a device did not come about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OffloadError {
    /// The device refuses or has failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The device has no room for messages of a topic, or for a shared buffer.
    #[error("`{name}`: {source}")]
    NoRoom {
        /// The topic, or the topic or service of the buffer's tokens.
        name: String,
        /// Which device, and how much.
        source: DeviceError,
    },
    /// A message that another device writes did not get finished.
    #[error(transparent)]
    Take(#[from] TakeError),
    /// The message was not published.
    #[error(transparent)]
    Publish(#[from] Box<PublishError>),
    /// What was given does not lie in the message.
    #[error(
        "node gave device {device} bytes that do not belong to a message of `{topic}`; give it a \
         loan or a sample of that topic"
    )]
    Outside {
        /// The device.
        device: String,
        /// Topic of the message.
        topic: String,
    },
    /// The claims that were given are not of one buffer.
    #[error("node gave device {device} claims of two buffers at once; share them one by one")]
    TwoBuffers {
        /// The device.
        device: String,
    },
    /// A shared buffer is not this process's to write any more.
    #[error(
        "the connection to the owner of a shared buffer that {device} writes is gone, so the owner \
         counts this process as dead; the result is not published"
    )]
    NotHeld {
        /// The device.
        device: String,
    },
    /// The device does not go on.
    #[error(
        "{device}: its work has not ended in 10 s; examine it with `crossdock device test {device}`"
    )]
    Hung {
        /// The device.
        device: String,
    },
}

impl OffloadError {
    /// What memory for messages of a topic, or for buffers by that name, was not made for.
    pub(crate) fn of(name: &str) -> impl Fn(DeviceError) -> OffloadError {
        move |source| match source {
            DeviceError::OutOfMemory { .. } => {
                OffloadError::NoRoom { name: name.to_owned(), source }
            }
            source => OffloadError::Device(source),
        }
    }
}

/// What the nodes of one executor share of a device.
pub(crate) struct QueueState {
    pub(crate) device: Device,
    pub(crate) capabilities: Capabilities,
    pub(crate) stream: Stream,
    pub(crate) memories: Memories,
    /// Of these it has memory of its own.
    pub(crate) own: OwnTopics,
    /// Made for the first node with shared buffers that are copied.
    pub(crate) elements: Option<ElementCopies>,
    pub(crate) under_way: UnderWay,
    trace: QueueTrace,
}

thread_local! {
    /// The queues of this thread's executor, by the names of their devices.
    static QUEUES: RefCell<HashMap<String, Weak<RefCell<QueueState>>>> = RefCell::default();
}

/// A node's access to its device. Belongs to the thread of its executor; cloning shares the queue.
#[derive(Clone)]
pub struct Queue {
    shared: Rc<RefCell<QueueState>>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The queue may be lent to a piece of work.
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

/// An input whose messages go to the device.
#[derive(Debug)]
pub struct DeviceInput {
    pub(crate) handle: SubscriberHandle,
    pub(crate) choice: Choice,
    pub(crate) resident: Resident,
}

/// An output whose messages come from the device.
#[derive(Debug)]
pub struct DeviceOutput {
    pub(crate) handle: PublisherHandle,
    pub(crate) choice: Choice,
    pub(crate) read_elsewhere: bool,
    pub(crate) resident: Resident,
}

impl Queue {
    /// The queue of the node that is being made; `None`: it computes on the processor, because the
    /// mapping says so, or because the device cannot be used and the mapping allows that (the run
    /// then says so). Opens the device, tries what it can do: blocks, for a second the first time
    /// in a process.
    ///
    /// # Errors
    /// The device is not there or does not work, and the mapping does not allow the processor.
    pub fn of(setup: &mut Setup<'_>) -> Result<Option<Queue>, NodeError> {
        let Some(plan) = setup.device() else { return Ok(None) };
        match shared(&plan.device) {
            Ok(shared) => Ok(Some(Queue { shared })),
            Err(error) if plan.otherwise == Otherwise::Cpu => {
                setup.warn(format!("it computes on the processor: {error}"));
                Ok(None)
            }
            Err(error) => Err(NodeError::new(format!(
                "{error}; to let the node compute on the processor instead, write \
                 `otherwise: cpu` at the device in the mapping"
            ))),
        }
    }

    /// The device, to load kernels on and to make memory of.
    #[must_use]
    pub fn device(&self) -> Device {
        self.shared.borrow().device.clone()
    }

    /// An input of the node: its messages are from now on handed out while a device still writes
    /// them.
    ///
    /// # Errors
    /// [`Refusal`](crate::Refusal): the mapping asks for what the device cannot do.
    pub fn input<T: Message>(
        &self,
        setup: &Setup<'_>,
        subscriber: &Subscriber<T>,
    ) -> Result<DeviceInput, NodeError> {
        let handle = subscriber.handle();
        let (choice, topic, resident) = self.settle(setup, handle.topic())?;
        handle.hand_out_early(true);
        let takes = !matches!(choice.way, Way::ZeroCopy | Way::Managed) && topic.in_slabs;
        let taker = takes.then(|| Importer::of(self.device()));
        handle.take_slabs(taker);
        Ok(DeviceInput { handle, choice, resident })
    }

    /// An output of the node.
    ///
    /// # Errors
    /// As [`Queue::input`].
    pub fn output<T: Message>(
        &self,
        setup: &Setup<'_>,
        publisher: &Publisher<T>,
    ) -> Result<DeviceOutput, NodeError> {
        let handle = publisher.handle();
        let (choice, topic, resident) = self.settle(setup, handle.topic())?;
        let read_elsewhere = topic.read_elsewhere;
        Ok(DeviceOutput { handle, choice, read_elsewhere, resident })
    }

    /// The shared buffers that the tokens on an input are about: they get to the device as the
    /// mapping says of that topic, and copies are counted at the input. Where there are some,
    /// kernels are compiled for them: blocks, for a second the first time.
    ///
    /// # Errors
    /// As [`Queue::input`].
    pub fn buffers<T: Message>(
        &self,
        setup: &Setup<'_>,
        subscriber: &Subscriber<T>,
    ) -> Result<DeviceBuffers, NodeError> {
        let handle = subscriber.handle();
        let (choice, resident) = self.settle_buffers(setup, handle.topic())?;
        let topic = handle.topic().to_owned();
        Ok(DeviceBuffers::new(choice, &topic, Some(handle), resident))
    }

    /// The shared buffers that come with requests of a service: they get to the device as the
    /// mapping says of the service, and copies are counted beside that. Blocks as
    /// [`Queue::buffers`].
    ///
    /// # Errors
    /// As [`Queue::input`].
    pub fn buffers_of<S: Service>(
        &self,
        setup: &Setup<'_>,
        server: &Server<S>,
    ) -> Result<DeviceBuffers, NodeError> {
        let (choice, resident) = self.settle_buffers(setup, server.service())?;
        Ok(DeviceBuffers::new(choice, server.service(), None, resident))
    }

    fn settle_buffers(
        &self,
        setup: &Setup<'_>,
        name: &str,
    ) -> Result<(Choice, Resident), NodeError> {
        let (choice, _, resident) = self.settle_by(setup, name, choose_for_buffers)?;
        let shared = &mut *self.shared.borrow_mut();
        // Where buffers are to be managed, those that their owner could not have there are copied.
        if choice.way != Way::ZeroCopy && shared.elements.is_none() {
            shared.elements = Some(ElementCopies::new(&shared.device)?);
        }
        Ok((choice, resident))
    }

    fn settle(
        &self,
        setup: &Setup<'_>,
        topic: &str,
    ) -> Result<(Choice, DeviceTopic, Resident), NodeError> {
        self.settle_by(setup, topic, choose)
    }

    fn settle_by(
        &self,
        setup: &Setup<'_>,
        name: &str,
        choose: fn(&str, DeviceTopic, &DeviceInfo, Capabilities) -> Result<Choice, Refusal>,
    ) -> Result<(Choice, DeviceTopic, Resident), NodeError> {
        let Some(asked) = setup.device().and_then(|plan| plan.topics.get(name)).copied() else {
            return Err(NodeError::new(format!("the plan says nothing of `{name}`")));
        };
        let shared = self.shared.borrow();
        let info = shared.device.info();
        let choice = choose(name, asked, info, shared.capabilities)?;
        let said = [setup.node(), &info.name, choice.way.word(), choice.reason];
        let resident = Resident::new(setup.status_table(), name, said)?;
        Ok((choice, asked, resident))
    }

    /// Begins one piece of work. Blocks while four are under way.
    ///
    /// # Errors
    /// [`OffloadError`]: the device has failed, or does not go on.
    pub fn begin(&self) -> Result<Work<'_>, OffloadError> {
        let mut shared = self.shared.borrow_mut();
        let QueueState { trace, device, stream, under_way, .. } = &mut *shared;
        if under_way.room(device, WORK_LIMIT)? == Room::Late {
            return Err(OffloadError::Hung { device: device.info().name.clone() });
        }
        trace.look(device, stream);
        if shared.memories.has_left() {
            shared.stream.finish()?;
            shared.memories.sweep();
        }
        Ok(Work::new(shared))
    }
}

fn shared(name: &str) -> Result<Rc<RefCell<QueueState>>, DeviceError> {
    QUEUES.with_borrow_mut(|queues| {
        queues.retain(|_, queue| queue.strong_count() > 0);
        if let Some(known) = queues.get(name).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let device = Device::open(name)?;
        let shared = Rc::new(RefCell::new(QueueState {
            capabilities: device.capabilities()?,
            stream: device.stream()?,
            memories: Memories::default(),
            own: OwnTopics::new(),
            elements: None,
            under_way: UnderWay::default(),
            trace: QueueTrace::new(name),
            device,
        }));
        queues.insert(name.to_owned(), Rc::downgrade(&shared));
        Ok(shared)
    })
}
