//! One ring for all ports of a participant on a topic where everybody speaks to everybody.
//!
//! Each of many nodes in a process publishes and subscribes `/parameter_events`, and all publish
//! `/rosout`: `n` nodes would be `n` rings and `n * n` connections. Here the participant has one
//! free publisher and one free subscriber on the topic, and its *members* stand behind them:
//! 1. A member's message goes out on the one ring. Its origin is the member's GID, and a flag says
//!    so, since other publishers of the topic use the origin otherwise.
//! 2. Who takes first takes all that is there, copies it once, and leaves it with all members that
//!    subscribe: other processes' messages, and those of members alike.
//! 3. A member keeps its last `depth` messages; what is pushed out is counted at the member.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crossdock_msg::{Block, FlatBuffer, Schema};

use crate::discovery::participant::Participant;
use crate::error::{PortError, PublishCdrError, TakeError};
use crate::port::doorbell::SharedDoorbell;
use crate::port::owner::AnyThread;
use crate::port::publisher::FreePublisherOptions;
use crate::port::subscriber::FreeSubscriberOptions;
use crate::port::untyped::{AnyPublisher, AnySample, AnySubscriber};
use crate::wire::qos::{BackPressure, Qos};

/// How to open a [`SharedTopic`].
#[derive(Clone, Copy, Debug)]
pub struct SharedTopicOptions<'a> {
    /// What its two ports are called among the nodes.
    pub node: &'a str,
    /// The topic, absolute.
    pub topic: &'a str,
    /// What the ports offer and request.
    pub qos: Qos,
    /// Largest message in bytes.
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
    topic: String,
    participant: Participant,
    /// Made with the first member that publishes, or subscribes.
    publisher: Mutex<AnyPublisher<AnyThread>>,
    reading: Mutex<Reading>,
}

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
    /// Opens the shared ports of a topic. One for each topic and participant is the point of it,
    /// which its owner has to see to.
    ///
    /// Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// As [`Participant::publisher`].
    pub fn shared_topic(
        &self,
        schema: &Arc<Schema>,
        options: SharedTopicOptions<'_>,
    ) -> Result<SharedTopic, PortError> {
        let SharedTopicOptions { node, topic, qos, max_bytes, doorbell } = options;
        let offered = FreePublisherOptions { node, topic, qos, max_bytes };
        let publisher = Mutex::new(self.free_any_publisher(Arc::clone(schema), offered)?);
        let back_pressure = BackPressure::Never;
        let requested = FreeSubscriberOptions { node, topic, qos, back_pressure, doorbell };
        let subscriber = self.free_any_subscriber(Some(Arc::clone(schema)), requested)?;
        let reading = Reading { subscriber: Some(subscriber), members: Vec::new() };
        let participant = Participant { handle: Arc::clone(&self.handle) };
        let reading = Mutex::new(reading);
        let hub = Hub { topic: topic.to_string(), participant, publisher, reading };
        Ok(SharedTopic { hub: Arc::new(hub) })
    }
}
