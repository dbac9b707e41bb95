//! The peer: iceoryx2 as its users would set it up, with its defaults. The pool is sized for the
//! payload, nothing is ever copied, signals are not handled (cheaper), and the log is silent.

use super::{Link, PATIENCE, Topics, Use, poll_until};
use crate::Failure;
use crate::control::{ChildPlan, System};
use crate::failure::While;
use crate::payload::Payload;
use crate::scope::peer_prefix;
use iceoryx2::config::Config;
use iceoryx2::node::Node;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::event::PortFactory as EventTopic;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory as DataTopic;

/// Processes of a case, and threads that are nodes of their own: each sleeper is one.
const NODES_BESIDE_SUBSCRIBERS: usize = 4;

/// A topic: its messages and the events that tell of them.
pub struct Topic<S: Service> {
    data: DataTopic<S, [u8], ()>,
    events: EventTopic<S>,
}

/// A node of its own for the calling thread.
pub fn node<S: Service>(plan: &ChildPlan) -> Result<Node<S>, Failure> {
    node_in(&plan.folder)
}

/// A node of its own for the calling thread, for the run that meets in `folder`.
pub fn node_in<S: Service>(folder: &std::path::Path) -> Result<Node<S>, Failure> {
    set_log_level(LogLevel::Error);
    let mut config = Config::default();
    let prefix = peer_prefix(folder);
    config.global.prefix = FileName::new(prefix.as_bytes()).during("naming the peer's files")?;
    let folder = folder.join("peer");
    let folder = Path::new(folder.as_os_str().as_encoded_bytes());
    config.global.set_root_path(&folder.during("naming the peer's folder")?);
    NodeBuilder::new()
        .config(&config)
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<S>()
        .during("making an iceoryx2 node")
}

impl<S: Service> Topic<S> {
    /// Opens or makes the topic with room for the subscribers of the plan.
    pub fn open(node: &Node<S>, name: &str, plan: &ChildPlan) -> Result<Self, Failure> {
        let nodes = plan.subscribers + NODES_BESIDE_SUBSCRIBERS;
        let name_of = |kind: &str| ServiceName::new(&format!("{name}/{kind}"));
        let data = node
            .service_builder(&name_of("data").during("naming an iceoryx2 service")?)
            .publish_subscribe::<[u8]>()
            .payload_alignment(Alignment::new(64).during("aligning the payload")?)
            .max_subscribers(plan.subscribers.max(1))
            .max_nodes(nodes)
            .open_or_create()
            .during("opening an iceoryx2 service")?;
        let events = node
            .service_builder(&name_of("events").during("naming an iceoryx2 service")?)
            .event()
            .max_listeners(plan.subscribers.max(1))
            .max_nodes(nodes)
            .open_or_create()
            .during("opening an iceoryx2 event service")?;
        Ok(Self { data, events })
    }

    /// A publisher with the pool that the peer derives from the topic's limits.
    pub fn publisher(&self, plan: &ChildPlan) -> Result<Publisher<S, [u8], ()>, Failure> {
        let builder = self.data.publisher_builder().initial_max_slice_len(plan.payload_bytes);
        builder.create().during("making an iceoryx2 publisher")
    }

    /// A subscriber with the default buffer.
    pub fn subscriber(&self) -> Result<Subscriber<S, [u8], ()>, Failure> {
        self.data.subscriber_builder().create().during("making an iceoryx2 subscriber")
    }

    /// What wakes the listeners of this topic.
    pub fn notifier(&self) -> Result<Notifier<S>, Failure> {
        self.events.notifier_builder().create().during("making an iceoryx2 notifier")
    }

    /// What sleeps until a notifier of this topic wakes it.
    pub fn listener(&self) -> Result<Listener<S>, Failure> {
        self.events.listener_builder().create().during("making an iceoryx2 listener")
    }

    fn subscribers(&self) -> usize {
        self.data.dynamic_config().number_of_subscribers()
    }

    fn publishers(&self) -> usize {
        self.data.dynamic_config().number_of_publishers()
    }

    fn listeners(&self) -> usize {
        self.events.dynamic_config().number_of_listeners()
    }

    fn notifiers(&self) -> usize {
        self.events.dynamic_config().number_of_notifiers()
    }
}

/// Loans, writes and sends one message.
#[inline]
pub fn publish<S: Service>(
    publisher: &Publisher<S, [u8], ()>,
    payload: Payload,
    number: u64,
) -> Result<(), Failure> {
    let mut sample = publisher.loan_slice_uninit(payload.bytes).during("loaning")?;
    let memory = sample.payload_mut();
    // SAFETY: every byte of shared memory has a value, even where this process never wrote one.
    let memory =
        unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), memory.len()) };
    payload.write(memory, number);
    // SAFETY: as above, the bytes are initialised.
    let sample = unsafe { sample.assume_init() };
    sample.send().during("sending")?;
    Ok(())
}

enum Wait<'a, 'set, S: Service> {
    Poll,
    OnListener(&'a Listener<S>),
    OnWaitSet(&'a WaitSet<S>, &'a Listener<S>, &'a WaitSetGuard<'set, 'set, S>),
}

impl<S: Service> Wait<'_, '_, S> {
    /// Sleeps until there was an event, and takes it.
    #[inline]
    fn sleep(&self) -> Result<(), Failure> {
        match self {
            Wait::Poll => Ok(()),
            Wait::OnListener(listener) => {
                listener.blocking_wait(|_| {}).during("waiting in the listener").map(|_| ())
            }
            Wait::OnWaitSet(wait_set, listener, guard) => {
                let mut taken = Ok(0);
                let on_event = |id: WaitSetAttachmentId<S>| {
                    if id.has_event_from(guard) {
                        taken = listener.try_wait(|_| {});
                    }
                    CallbackProgression::Continue
                };
                wait_set.wait_and_process_once(on_event).during("waiting in the WaitSet")?;
                taken.during("taking the events").map(|_| ())
            }
        }
    }
}

struct IceoryxLink<'a, 'set, S: Service> {
    out: Option<&'a Topic<S>>,
    into: Option<&'a Topic<S>>,
    publisher: Option<Publisher<S, [u8], ()>>,
    notifier: Option<Notifier<S>>,
    subscriber: Option<Subscriber<S, [u8], ()>>,
    wait: Wait<'a, 'set, S>,
    payload: Payload,
}

/// Opens both topics and hands the link to `work`.
pub(super) fn with_link<S: Service>(plan: &ChildPlan, work: impl Use) -> Result<(), Failure>
where
    Listener<S>: SynchronousMultiplexing,
{
    let node = node::<S>(plan)?;
    let topics = Topics::of(plan);
    let open = |name: Option<String>| name.map(|name| Topic::open(&node, &name, plan)).transpose();
    let (out, into) = (open(topics.out)?, open(topics.into)?);
    let woken = matches!(plan.system, System::Iceoryx2Waitset | System::Iceoryx2Listener);
    let publisher = out.as_ref().map(|topic| topic.publisher(plan)).transpose()?;
    let notifier = out.as_ref().filter(|_| woken).map(Topic::notifier).transpose()?;
    let subscriber = into.as_ref().map(Topic::subscriber).transpose()?;
    let listener = into.as_ref().filter(|_| woken).map(Topic::listener).transpose()?;

    let wait_set = WaitSetBuilder::new().signal_handling_mode(SignalHandlingMode::Disabled);
    let wait_set = wait_set.create::<S>().during("making a WaitSet")?;
    let guard = match &listener {
        Some(listener) if plan.system == System::Iceoryx2Waitset => {
            Some(wait_set.attach_notification(listener).during("attaching to the WaitSet")?)
        }
        _ => None,
    };
    let wait = match (&listener, &guard) {
        (Some(listener), Some(guard)) => Wait::OnWaitSet(&wait_set, listener, guard),
        (Some(listener), None) => Wait::OnListener(listener),
        (None, _) => Wait::Poll,
    };
    let payload = Payload { bytes: plan.payload_bytes, touched: plan.touched };
    let (out, into) = (out.as_ref(), into.as_ref());
    work.run(&mut IceoryxLink { out, into, publisher, notifier, subscriber, wait, payload })
}

impl<S: Service> IceoryxLink<'_, '_, S> {
    #[inline]
    fn take(&mut self, number: u64) -> Result<Option<()>, Failure> {
        let subscriber = self.subscriber.as_ref().during("taking")?;
        let Some(sample) = subscriber.receive().during("taking")? else { return Ok(None) };
        self.payload.read(sample.payload(), number).map(Some)
    }
}

impl<S: Service> Link for IceoryxLink<'_, '_, S> {
    fn connected(&mut self, peers: usize) -> Result<bool, Failure> {
        let woken = !matches!(self.wait, Wait::Poll);
        let heard = self.out.is_none_or(|topic| {
            topic.subscribers() == peers && (!woken || topic.listeners() == peers)
        });
        let served = self
            .into
            .is_none_or(|topic| topic.publishers() == 1 && (!woken || topic.notifiers() == 1));
        Ok(heard && served)
    }

    #[inline]
    fn send(&mut self, number: u64) -> Result<(), Failure> {
        publish(self.publisher.as_ref().during("publishing")?, self.payload, number)?;
        if let Some(notifier) = &self.notifier {
            notifier.notify().during("notifying")?;
        }
        Ok(())
    }

    #[inline]
    fn receive(&mut self, number: u64) -> Result<(), Failure> {
        if let Wait::Poll = self.wait {
            return poll_until(|| self.take(number));
        }
        loop {
            // Bounded by the coordinator, which ends processes that do not answer.
            self.wait.sleep()?;
            if self.take(number)?.is_some() {
                return Ok(());
            }
        }
    }

    #[inline]
    fn poll(&mut self) -> Result<bool, Failure> {
        let subscriber = self.subscriber.as_ref().during("polling")?;
        Ok(subscriber.receive().during("polling")?.is_some())
    }
}

/// Holds `plan.subscribers` subscribers that never run, while `work` is done.
pub(super) fn with_subscribers(
    plan: &ChildPlan,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let node = node::<ipc::Service>(plan)?;
    let name = Topics::of(plan).into.during("naming the topic")?;
    let topic = Topic::open(&node, &name, plan)?;
    let subscribers: Result<Vec<_>, _> =
        (0..plan.subscribers).map(|_| topic.subscriber()).collect();
    let subscribers = subscribers?;
    let deadline = std::time::Instant::now() + PATIENCE;
    while topic.publishers() == 0 {
        if std::time::Instant::now() > deadline {
            return Err(Failure::new("waiting for the publisher", "it has not come"));
        }
        std::thread::yield_now();
    }
    // Opens the connections, so that the publisher has somebody to deliver to.
    for subscriber in &subscribers {
        subscriber.receive().during("connecting")?;
    }
    work()
}
