//! The peer as its documentation recommends: beside every topic an event of the same name; who
//! publishes also notifies, who takes has the listeners of all its topics in one WaitSet, finds the
//! one that fired in a map, and takes all that is there. Its defaults, but for as many ports as
//! there are, and for the same depth as the other system has.

use super::payload::{self, Head};
use super::{Cost, Inputs, Outputs, Role, Shape, ThreadPlan, Work};
use crate::Failure;
use crate::failure::While;
use crate::systems::iceoryx::node_in;
use iceoryx2::node::Node;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::event::PortFactory as EventTopic;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory as DataTopic;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// A topic's publisher with the event that says that it has published.
type Publishing<S> = (Publisher<S, [u8], ()>, Notifier<S>);
/// A topic's subscriber with the event that it waits for.
type Subscribing<S> = (Subscriber<S, [u8], ()>, Listener<S>);

struct Topic<S: Service> {
    data: DataTopic<S, [u8], ()>,
    events: EventTopic<S>,
}

impl<S: Service> Topic<S> {
    fn open(node: &Node<S>, shape: &Shape, topic: usize) -> Result<Self, Failure> {
        let name = format!("{}/{topic}", shape.name);
        let name = ServiceName::new(&name).during("naming an iceoryx2 service")?;
        let data = node
            .service_builder(&name)
            .publish_subscribe::<[u8]>()
            .payload_alignment(Alignment::new(64).during("aligning the payload")?)
            .max_publishers(shape.publishers)
            .max_subscribers(shape.subscribers)
            .max_nodes(shape.threads_per_topic)
            .subscriber_max_buffer_size(shape.depth)
            .open_or_create()
            .during("opening an iceoryx2 service")?;
        let events = node
            .service_builder(&name)
            .event()
            .max_notifiers(shape.publishers)
            .max_listeners(shape.subscribers)
            .max_nodes(shape.threads_per_topic)
            .open_or_create()
            .during("opening an iceoryx2 event service")?;
        Ok(Self { data, events })
    }

    fn connected(&self, shape: &Shape) -> bool {
        let (data, events) = (self.data.dynamic_config(), self.events.dynamic_config());
        data.number_of_publishers() == shape.publishers
            && data.number_of_subscribers() == shape.subscribers
            && events.number_of_notifiers() == shape.publishers
            && events.number_of_listeners() == shape.subscribers
    }
}

/// Opens the ports of a thread and hands them to `work`.
pub(super) fn with_ports<S: Service>(
    folder: &Path,
    shape: &Shape,
    thread: &ThreadPlan,
    work: impl Work,
) -> Result<(), Failure>
where
    Listener<S>: SynchronousMultiplexing,
{
    let node = node_in::<S>(folder)?;
    let topics = thread.topics.clone().map(|topic| Topic::open(&node, shape, topic));
    let topics: Result<Vec<_>, Failure> = topics.collect();
    let topics = topics?;
    if thread.role != Role::Subscribe {
        let ports = topics.iter().map(|topic| {
            let publisher = topic.data.publisher_builder().initial_max_slice_len(shape.bytes);
            let publisher = publisher.create().during("making an iceoryx2 publisher")?;
            let notifier = topic.events.notifier_builder().create();
            Ok((publisher, notifier.during("making an iceoryx2 notifier")?))
        });
        let ports: Result<_, Failure> = ports.collect();
        return work.publish(&mut IceoryxOutputs { topics: &topics, ports: ports?, shape });
    }
    let ports = topics.iter().map(|topic| {
        let subscriber = topic.data.subscriber_builder().create();
        let listener = topic.events.listener_builder().create();
        Ok((
            subscriber.during("making an iceoryx2 subscriber")?,
            listener.during("making an iceoryx2 listener")?,
        ))
    });
    let ports: Result<Vec<_>, Failure> = ports.collect();
    let ports = ports?;
    let wait_set = WaitSetBuilder::new().signal_handling_mode(SignalHandlingMode::Disabled);
    let wait_set = wait_set.create::<S>().during("making a WaitSet")?;
    let guards = ports.iter().map(|(_, listener)| {
        wait_set.attach_notification(listener).during("attaching to the WaitSet")
    });
    let guards: Result<Vec<_>, Failure> = guards.collect();
    let guards = guards?;
    let ids = guards.iter().map(WaitSetAttachmentId::from_guard);
    let places = ids.enumerate().map(|(place, id)| (id, place)).collect();
    let inputs = IceoryxInputs { topics: &topics, ports: &ports, places, shape };
    work.subscribe(&mut IceoryxWaiting { inputs, wait_set: &wait_set })
}

struct IceoryxOutputs<'a, S: Service> {
    topics: &'a [Topic<S>],
    ports: Vec<Publishing<S>>,
    shape: &'a Shape,
}

impl<S: Service> Outputs for IceoryxOutputs<'_, S> {
    #[inline]
    fn publish(&mut self, place: usize, head: Head) -> Result<Cost, Failure> {
        let (publisher, notifier) = &self.ports[place];
        let before_ns = payload::now_ns();
        let mut sample = publisher.loan_slice_uninit(self.shape.bytes).during("loaning")?;
        let loaned_ns = payload::now_ns();
        let memory = sample.payload_mut();
        // SAFETY: every byte of shared memory has a value, even where this process never wrote one.
        let memory = unsafe {
            std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), memory.len())
        };
        payload::write(memory, &head, self.shape.touched);
        let stamp_ns = payload::stamp(memory);
        // SAFETY: as above, the bytes are initialised.
        let sample = unsafe { sample.assume_init() };
        sample.send().during("sending")?;
        notifier.notify().during("notifying")?;
        let publish_ns = payload::now_ns() - stamp_ns;
        Ok(Cost { loan_ns: loaned_ns - before_ns, publish_ns })
    }

    fn connected(&mut self) -> bool {
        self.topics.iter().all(|topic| topic.connected(self.shape))
    }
}

struct IceoryxInputs<'a, S: Service> {
    topics: &'a [Topic<S>],
    ports: &'a [Subscribing<S>],
    places: HashMap<WaitSetAttachmentId<S>, usize>,
    shape: &'a Shape,
}

struct IceoryxWaiting<'a, S: Service> {
    inputs: IceoryxInputs<'a, S>,
    wait_set: &'a WaitSet<S>,
}

impl<S: Service> Inputs for IceoryxWaiting<'_, S> {
    #[inline]
    fn sleep_and_take(
        &mut self,
        limit: Duration,
        each: &mut impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let IceoryxInputs { ports, places, .. } = &self.inputs;
        let mut outcome = Ok(());
        let mut serve = |place: usize| -> Result<(), Failure> {
            let (subscriber, listener) = &ports[place];
            listener.try_wait(|_| {}).during("taking the events")?;
            while let Some(sample) = subscriber.receive().during("taking")? {
                each(sample.payload())?;
            }
            Ok(())
        };
        let on_event = |id: WaitSetAttachmentId<S>| {
            if let Some(&place) = places.get(&id)
                && let Err(failure) = serve(place)
            {
                outcome = Err(failure);
            }
            CallbackProgression::Continue
        };
        let waited = self.wait_set.wait_and_process_once_with_timeout(on_event, limit);
        waited.during("waiting in the WaitSet")?;
        outcome
    }

    fn connected(&mut self) -> bool {
        self.inputs.topics.iter().all(|topic| topic.connected(self.inputs.shape))
    }
}
