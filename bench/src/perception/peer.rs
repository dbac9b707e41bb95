//! The load over iceoryx2: the same processes as the mapping of processes has, each one thread that
//! sleeps in a `WaitSet`. A topic is a publish-subscribe service; where it triggers a node of
//! another process there is an event service beside it, and one listener in that process. Inside a
//! process nothing is notified: after each wake-up the nodes run, in order, for what has come. That
//! is fewer events than a listener per subscriber would be.

use super::load::{Load, NodeLoad, PERIOD, Places};
use super::record::Record;
use super::work::{Work, number_of};
use crate::Failure;
use crate::failure::While;
use crate::systems::iceoryx::node_in;
use iceoryx2::node::Node;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::sample::Sample;
use iceoryx2::service::port_factory::event::PortFactory as Events;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory as Data;
use std::path::Path as FilePath;
use std::time::{Duration, Instant};

type Kind = ipc::Service;

/// How long the others may take to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A topic that this process has a port on.
struct Topic {
    data: Data<Kind, [u8], ()>,
    events: Option<Events<Kind>>,
    subscribers: usize,
    listeners: usize,
}

impl Topic {
    fn open(node: &Node<Kind>, load: &Load, index: usize) -> Result<Self, Failure> {
        let topic = &load.topics[index];
        let name = |kind: &str| {
            ServiceName::new(&format!("{}/{kind}", topic.name)).during("naming an iceoryx2 service")
        };
        let data = node
            .service_builder(&name("data")?)
            .publish_subscribe::<[u8]>()
            .payload_alignment(Alignment::new(64).during("aligning the payload")?)
            .max_subscribers(topic.subscribers.max(1))
            .max_nodes(load.processes.len())
            .open_or_create()
            .during("opening an iceoryx2 service")?;
        let listeners = topic.wakes.len();
        let events = (listeners > 0).then(|| {
            let events = node.service_builder(&name("events")?).event();
            let events = events.max_listeners(listeners).max_nodes(load.processes.len());
            events.open_or_create().during("opening an iceoryx2 event service")
        });
        let (events, subscribers) = (events.transpose()?, topic.subscribers);
        Ok(Self { data, events, subscribers, listeners })
    }

    /// Whether all that the load has are there.
    fn is_connected(&self) -> bool {
        let data = self.data.dynamic_config();
        let heard = self.events.as_ref().is_none_or(|events| {
            let events = events.dynamic_config();
            events.number_of_listeners() == self.listeners && events.number_of_notifiers() == 1
        });
        data.number_of_subscribers() == self.subscribers
            && data.number_of_publishers() == 1
            && heard
    }
}

/// An input with the message that waits for the node, or the newest one.
struct Input {
    subscriber: Subscriber<Kind, [u8], ()>,
    sample: Option<Sample<Kind, [u8], ()>>,
}

fn samples(inputs: &[Input]) -> impl Iterator<Item = &Sample<Kind, [u8], ()>> {
    inputs.iter().filter_map(|input| input.sample.as_ref())
}

struct Output {
    publisher: Publisher<Kind, [u8], ()>,
    notifier: Option<Notifier<Kind>>,
    bytes: usize,
}

struct Member {
    triggers: Vec<Input>,
    reads: Vec<Input>,
    outputs: Vec<Output>,
}

impl Member {
    fn open(node: &NodeLoad, topics: &[Option<Topic>], load: &Load) -> Result<Self, Failure> {
        let topic = |index: &usize| topics[*index].as_ref().during("finding a topic");
        let input = |index: &usize| {
            let subscriber = topic(index)?.data.subscriber_builder().create();
            Ok(Input { subscriber: subscriber.during("making a subscriber")?, sample: None })
        };
        let output = |index: &usize| {
            let (topic, bytes) = (topic(index)?, load.topics[*index].bytes);
            let publisher = topic.data.publisher_builder().initial_max_slice_len(bytes).create();
            let notifier = topic.events.as_ref().map(|events| events.notifier_builder().create());
            let notifier = notifier.transpose().during("making a notifier")?;
            Ok(Output { publisher: publisher.during("making a publisher")?, notifier, bytes })
        };
        Ok(Self {
            triggers: node.triggers.iter().map(input).collect::<Result<_, Failure>>()?,
            reads: node.reads.iter().map(input).collect::<Result<_, Failure>>()?,
            outputs: node.outputs.iter().map(output).collect::<Result<_, Failure>>()?,
        })
    }

    /// Looks at the inputs. True: all that it needs has come.
    fn is_ready(&mut self) -> Result<bool, Failure> {
        for input in &mut self.triggers {
            if input.sample.is_none() {
                input.sample = input.subscriber.receive().during("receiving")?;
            }
        }
        let numbers = || samples(&self.triggers).map(|sample| number_of(sample.payload()));
        let newest = numbers().max();
        if numbers().any(|number| Some(number) != newest) {
            // Its counterpart was overwritten before it was taken.
            let is_older =
                |sample: &mut Sample<Kind, [u8], ()>| Some(number_of(sample.payload())) != newest;
            self.triggers.iter_mut().for_each(|input| _ = input.sample.take_if(is_older));
        }
        Ok(!self.triggers.is_empty() && self.triggers.iter().all(|it| it.sample.is_some()))
    }

    fn execute(&mut self, record: &Record) -> Result<(), Failure> {
        let begun = self.triggers.is_empty().then(|| record.begin());
        for input in &mut self.reads {
            while let Some(newer) = input.subscriber.receive().during("receiving")? {
                input.sample = Some(newer);
            }
        }
        let mut loans = [const { None }; 4];
        for (loan, output) in loans.iter_mut().zip(&self.outputs) {
            *loan = Some(output.publisher.loan_slice_uninit(output.bytes).during("loaning")?);
        }
        let mut work = Work::begin(true);
        if let Some(iteration) = begun {
            work.begins(iteration);
        }
        samples(&self.triggers).for_each(|sample| work.read(sample.payload()));
        samples(&self.reads).for_each(|sample| work.glance(sample.payload()));
        for loan in loans.iter_mut().flatten() {
            let memory = loan.payload_mut();
            // SAFETY: every byte of shared memory has a value, even where nobody ever wrote one.
            let memory = unsafe {
                std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), memory.len())
            };
            work.write(memory);
        }
        let iteration = work.end(record);
        for (loan, output) in loans.into_iter().flatten().zip(&self.outputs) {
            // SAFETY: all of it has been written above.
            let sample = unsafe { loan.assume_init() };
            sample.send().during("sending")?;
            if let Some(notifier) = &output.notifier {
                notifier.notify().during("notifying")?;
            }
        }
        self.triggers.iter_mut().for_each(|input| input.sample = None);
        record.executed(iteration);
        Ok(())
    }
}

/// Runs the nodes of one process until it is ended.
pub fn run(process: usize, folder: &FilePath) -> Result<(), Failure> {
    let load = Load::read(Places::Processes)?;
    let record = Record::of_environment(load.nodes.len())?;
    let node = node_in::<Kind>(folder)?;
    let own: Vec<&NodeLoad> = load.nodes.iter().filter(|it| it.process == process).collect();
    let mut topics: Vec<Option<Topic>> = load.topics.iter().map(|_| None).collect();
    for part in &own {
        for index in part.triggers.iter().chain(&part.reads).chain(&part.outputs) {
            if topics[*index].is_none() {
                topics[*index] = Some(Topic::open(&node, &load, *index)?);
            }
        }
    }
    let members = own.iter().map(|part| Member::open(part, &topics, &load));
    let mut members: Vec<Member> = members.collect::<Result<_, _>>()?;
    let mut listeners: Vec<Listener<Kind>> = vec![];
    for (topic, about) in topics.iter().zip(&load.topics) {
        if let Some(events) = topic.as_ref().and_then(|topic| topic.events.as_ref())
            && about.wakes.contains(&process)
        {
            let listener = events.listener_builder().create();
            listeners.push(listener.during("making a listener")?);
        }
    }
    await_start(&topics, &record)?;
    serve(&mut members, &listeners, &record)
}

/// All ports stand, in all processes.
fn await_start(topics: &[Option<Topic>], record: &Record) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    let mut told = false;
    while !record.has_started() {
        if !told && topics.iter().flatten().all(Topic::is_connected) {
            record.add_ready();
            told = true;
        }
        if Instant::now() > deadline {
            return Err(Failure::new("connecting over iceoryx2", "others have not come"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn serve(
    members: &mut [Member],
    listeners: &[Listener<Kind>],
    record: &Record,
) -> Result<(), Failure> {
    let wait_set = WaitSetBuilder::new().signal_handling_mode(SignalHandlingMode::Disabled);
    let wait_set = wait_set.create::<Kind>().during("making a WaitSet")?;
    let source = members.iter().position(|member| member.triggers.is_empty());
    let tick = source.map(|_| wait_set.attach_interval(PERIOD)).transpose();
    let tick = tick.during("attaching the timer to the WaitSet")?;
    let attach =
        |listener| wait_set.attach_notification(listener).during("attaching to the WaitSet");
    let guards: Vec<_> = listeners.iter().map(attach).collect::<Result<_, _>>()?;
    loop {
        let (mut due, mut taken) = (false, Ok(0));
        let on_event = |id: WaitSetAttachmentId<Kind>| {
            due |= tick.as_ref().is_some_and(|tick| id.has_event_from(tick));
            let mut rung = listeners.iter().zip(&guards);
            if let Some((listener, _)) = rung.find(|(_, guard)| id.has_event_from(guard)) {
                taken = listener.try_wait(|_| {});
            }
            CallbackProgression::Continue
        };
        // Returns early, too, when the process was paused.
        wait_set.wait_and_process_once(on_event).during("waiting in the WaitSet")?;
        taken.during("taking the events")?;
        if let (true, Some(source)) = (due, source) {
            members[source].execute(record)?;
        }
        // Ends: what comes from outside comes 30 times a second.
        let mut again = true;
        while std::mem::take(&mut again) {
            for member in members.iter_mut() {
                while member.is_ready()? {
                    member.execute(record)?;
                    again = true;
                }
            }
        }
    }
}
