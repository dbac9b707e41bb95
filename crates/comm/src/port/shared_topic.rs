//! One ring for all ports of a participant on a topic where everybody speaks to everybody.
//!
//! Each of many nodes in a process publishes and subscribes `/parameter_events`, and all publish
//! `/rosout`: `n` nodes would be `n` rings and `n * n` connections. Here the participant has at
//! most one free publisher and one free subscriber on the topic, and its *members* stand behind
//! them. Each of the two is there as long as it has members: a topic that nobody reads costs no
//! connection.
//! 1. A member's message goes out on the one ring. Its origin is the member's GID, and a flag says
//!    so, since other publishers of the topic use the origin otherwise.
//! 2. Who takes first takes all that is there, copies it once, and leaves it with all members that
//!    subscribe: messages of other processes and of members alike.
//! 3. A member keeps its last `depth` messages; what is pushed out is counted at the member.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crossdock_msg::{Block, FlatBuffer, Schema};

use crate::discovery::participant::Participant;
use crate::error::{PortError, PublishCdrError, TakeError};
use crate::port::doorbell::SharedDoorbell;
use crate::port::member::Member;
use crate::port::owner::AnyThread;
use crate::port::publisher::FreePublisherOptions;
use crate::port::subscriber::FreeSubscriberOptions;
use crate::port::untyped::{AnyPublisher, AnySample, AnySubscriber};
use crate::wire::names::{NameKind, check_name};
use crate::wire::port_info::PortInfo;
use crate::wire::qos::{BackPressure, DEPTH_MAX, Qos};
use crate::wire::snapshot::PortKind;

/// How to open a [`SharedTopic`].
#[derive(Clone, Copy, Debug)]
pub struct SharedTopicOptions<'a> {
    /// The node of its two ports, in whose place others see the members.
    pub node: &'a str,
    /// The topic, absolute.
    pub topic: &'a str,
    /// What the ports offer and request.
    pub qos: Qos,
    /// Largest message in bytes that memory is planned for, see
    /// [`PublisherOptions`](crate::PublisherOptions).
    pub max_bytes: Option<usize>,
    /// Where messages ring; `None`: they do not.
    pub doorbell: Option<&'a SharedDoorbell>,
}

/// All ports of a participant on one topic: see the head of this file. `Send + Sync`; cloning
/// gives another handle.
///
/// Its members take a lock for each message, and a message is copied once in each process: it is
/// for topics with many ports and few, small messages.
#[derive(Clone)]
pub struct SharedTopic {
    hub: Arc<Hub>,
}

struct Hub {
    node: String,
    topic: String,
    qos: Qos,
    max_bytes: Option<usize>,
    doorbell: Option<SharedDoorbell>,
    schema: Arc<Schema>,
    participant: Participant,
    speaking: Mutex<Speaking>,
    reading: Mutex<Reading>,
}

/// The one publisher, and for how many it publishes.
#[derive(Default)]
struct Speaking {
    publisher: Option<AnyPublisher<AnyThread>>,
    members: usize,
}

/// The one subscriber, and those that it takes for.
#[derive(Default)]
struct Reading {
    subscriber: Option<AnySubscriber<AnyThread>>,
    members: Vec<Weak<Waiting>>,
}

/// What waits for one member.
struct Waiting {
    depth: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Arc<SharedMessage>>,
    lost: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for SharedTopic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedTopic").field(&self.hub.topic).finish()
    }
}

impl Participant {
    /// The shared ports of a topic, which are opened for their first members. One for each topic
    /// and participant is the point of it, which its owner has to see to. Allocates.
    pub fn shared_topic(
        &self,
        schema: &Arc<Schema>,
        options: SharedTopicOptions<'_>,
    ) -> SharedTopic {
        let SharedTopicOptions { node, topic, qos, max_bytes, doorbell } = options;
        let hub = Hub {
            node: node.to_string(),
            topic: topic.to_string(),
            qos,
            max_bytes,
            doorbell: doorbell.cloned(),
            schema: Arc::clone(schema),
            participant: Participant { handle: Arc::clone(&self.handle) },
            speaking: Mutex::default(),
            reading: Mutex::default(),
        };
        SharedTopic { hub: Arc::new(hub) }
    }
}

impl SharedTopic {
    /// A member that publishes, which others see as a publisher of `node`. The first one opens the
    /// ring: allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// As [`Participant::publisher`], when the node's name is not legal or the status table is
    /// full.
    pub fn publisher(&self, node: &str) -> Result<SharedPublisher, PortError> {
        check_name(NameKind::Node, node)?;
        let hub = &self.hub;
        let speaking = &mut *lock(&hub.speaking);
        let carrier = match &mut speaking.publisher {
            Some(publisher) => publisher,
            none => none.insert(hub.open_publisher()?),
        };
        let member = hub.add_member(PortKind::Publisher, node, carrier.info().clone())?;
        speaking.members += 1;
        Ok(SharedPublisher { member, hub: Arc::clone(hub) })
    }

    /// A member that keeps the last `depth` messages, from now on; at least one. Others see it as a
    /// subscriber of `node`. The first one connects with the topic's publishers.
    ///
    /// # Errors
    /// As [`SharedTopic::publisher`].
    pub fn subscriber(&self, node: &str, depth: usize) -> Result<SharedSubscriber, PortError> {
        check_name(NameKind::Node, node)?;
        let (hub, depth) = (&self.hub, depth.max(1));
        let reading = &mut *lock(&hub.reading);
        let carrier = match &mut reading.subscriber {
            Some(subscriber) => subscriber,
            none => none.insert(hub.open_subscriber()?),
        };
        let mut carrier = carrier.info().clone();
        carrier.qos.depth = depth.min(DEPTH_MAX);
        let member = hub.add_member(PortKind::Subscriber, node, carrier)?;
        let waiting = Arc::new(Waiting { depth, queue: Mutex::default() });
        reading.members.push(Arc::downgrade(&waiting));
        Ok(SharedSubscriber { member, waiting, hub: Arc::clone(hub) })
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        &self.hub.topic
    }

    /// Subscribers that the next message reaches, the participant's own one among them; 0 without a
    /// member that publishes.
    pub fn matched_subscribers(&self) -> usize {
        lock(&self.hub.speaking).publisher.as_ref().map_or(0, AnyPublisher::matched)
    }

    /// Publishers that messages come from, the participant's own one among them; 0 without a member
    /// that subscribes.
    pub fn matched_publishers(&self) -> usize {
        lock(&self.hub.reading).subscriber.as_ref().map_or(0, AnySubscriber::matched)
    }

    /// As [`crate::Subscriber::arm`], for all members.
    pub fn arm(&self) -> bool {
        lock(&self.hub.reading).subscriber.as_ref().is_some_and(AnySubscriber::arm)
    }

    /// As [`crate::Subscriber::doorbell_index`].
    pub fn doorbell_index(&self) -> Option<u16> {
        lock(&self.hub.reading).subscriber.as_ref()?.doorbell_index()
    }
}

impl Hub {
    fn open_publisher(&self) -> Result<AnyPublisher<AnyThread>, PortError> {
        let Hub { node, topic, qos, max_bytes, .. } = self;
        let (qos, max_bytes) = (*qos, *max_bytes);
        let options = FreePublisherOptions { node, topic, qos, max_bytes };
        self.participant.free_any_publisher(Arc::clone(&self.schema), options)
    }

    fn open_subscriber(&self) -> Result<AnySubscriber<AnyThread>, PortError> {
        let Hub { node, topic, qos, doorbell, .. } = self;
        let (qos, doorbell) = (*qos, doorbell.as_ref());
        let back_pressure = BackPressure::Never;
        let options = FreeSubscriberOptions { node, topic, qos, back_pressure, doorbell };
        self.participant.free_any_subscriber(Some(Arc::clone(&self.schema)), options)
    }

    /// Shows a member to others: as a port of its node, in the place of the one that carries it.
    fn add_member(
        &self,
        kind: PortKind,
        node: &str,
        carrier: PortInfo,
    ) -> Result<Member, PortError> {
        let carried_by = Some(carrier.port);
        Member::add(
            &self.participant,
            kind,
            carried_by,
            PortInfo { node: node.to_string(), ..carrier },
        )
    }

    /// Rule 2: all that is there goes to all members. Bounded by the depths of the rings.
    fn distribute(&self) -> Result<(), TakeError> {
        let Reading { subscriber, members } = &mut *lock(&self.reading);
        let Some(subscriber) = subscriber else { return Ok(()) };
        while let Some(sample) = subscriber.take()? {
            let message = Arc::new(SharedMessage::copy(&sample));
            members.retain(|member| {
                let Some(member) = member.upgrade() else { return false };
                let mut queue = lock(&member.queue);
                if queue.messages.len() == member.depth {
                    queue.messages.pop_front();
                    queue.lost += 1;
                }
                queue.messages.push_back(Arc::clone(&message));
                true
            });
        }
        Ok(())
    }
}

/// A publisher behind a [`SharedTopic`]. `Send + Sync`.
pub struct SharedPublisher {
    member: Member,
    hub: Arc<Hub>,
}

impl std::fmt::Debug for SharedPublisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedPublisher").field(&self.hub.topic).finish()
    }
}

impl SharedPublisher {
    /// The GID of this endpoint, which its messages carry.
    pub fn gid(&self) -> [u8; 16] {
        self.member.gid()
    }

    /// Publishes a message given as CDR. Takes the topic's lock; otherwise as
    /// [`AnyPublisher::publish_cdr`].
    ///
    /// # Errors
    /// [`PublishCdrError`]; nothing was published then.
    pub fn publish_cdr(&self, cdr: &[u8], stamp_ns: u64) -> Result<(), PublishCdrError> {
        let speaking = lock(&self.hub.speaking);
        match &speaking.publisher {
            Some(publisher) => publisher.publish_cdr_as(self.member.gid(), cdr, stamp_ns),
            None => unreachable!("it is there as long as a member is"),
        }
    }
}

impl Drop for SharedPublisher {
    fn drop(&mut self) {
        let speaking = &mut *lock(&self.hub.speaking);
        speaking.members -= 1;
        if speaking.members == 0 {
            speaking.publisher = None;
        }
    }
}

/// A subscriber behind a [`SharedTopic`]. `Send + Sync`.
pub struct SharedSubscriber {
    member: Member,
    waiting: Arc<Waiting>,
    hub: Arc<Hub>,
}

impl std::fmt::Debug for SharedSubscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SharedSubscriber").field(&self.hub.topic).finish()
    }
}

impl SharedSubscriber {
    /// The GID of this endpoint.
    pub fn gid(&self) -> [u8; 16] {
        self.member.gid()
    }

    /// The oldest message that this member was not given. Takes the topic's lock, and allocates for
    /// each message that has come to the participant.
    ///
    /// # Errors
    /// As [`AnySubscriber::take`].
    pub fn take(&self) -> Result<Option<Arc<SharedMessage>>, TakeError> {
        self.hub.distribute()?;
        Ok(lock(&self.waiting.queue).messages.pop_front())
    }

    /// Messages that newer ones have pushed out before they were taken.
    pub fn lost(&self) -> u64 {
        lock(&self.waiting.queue).lost
    }
}

impl Drop for SharedSubscriber {
    fn drop(&mut self) {
        let reading = &mut *lock(&self.hub.reading);
        reading.members.retain(|member| !std::ptr::eq(member.as_ptr(), &*self.waiting));
        if reading.members.is_empty() {
            reading.subscriber = None;
        }
    }
}

/// A message that members of a participant share. `Send + Sync`.
pub struct SharedMessage {
    payload: FlatBuffer,
    schema: Arc<Schema>,
    stamp_ns: u64,
    gid: Option<[u8; 16]>,
}

impl std::fmt::Debug for SharedMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedMessage").field("gid", &self.gid).finish_non_exhaustive()
    }
}

impl SharedMessage {
    fn copy(sample: &AnySample) -> SharedMessage {
        SharedMessage {
            payload: FlatBuffer::from_bytes(sample.bytes()),
            schema: Arc::clone(sample.schema()),
            stamp_ns: sample.stamp_ns(),
            gid: sample.shared_gid(),
        }
    }

    /// The payload in the flat layout, a copy. Whether it is whole can be asked with
    /// [`Schema::validate`].
    pub fn block(&self) -> Block<'_> {
        Block::new(self.payload.as_slice())
    }

    /// The type.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The stamp that its publisher gave it, in ns.
    pub fn stamp_ns(&self) -> u64 {
        self.stamp_ns
    }

    /// The GID of the member that has published it; `None`: a publisher of its own has.
    pub fn gid(&self) -> Option<[u8; 16]> {
        self.gid
    }
}
