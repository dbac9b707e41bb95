//! What a client or a server tells those who watch the service, as in ROS 2: an event for each
//! request and each response that it sends or takes, on a topic beside the service.
//!
//! The events have a ring of their own, made with the port. While nobody subscribes to it, an event
//! costs a load. A call never waits for it: those who are behind are overtaken, and an event for
//! which there is no memory is counted as refused.

use std::sync::Arc;
use std::time::Duration;

use crossdock_msg::{Block, EventHead, EventKind, EventSchema};
use crossdock_shm::RawLoan;
use crossdock_shm::clock::now_ns;

use super::ServiceType;
use crate::discovery::local_ports::Audience;
use crate::discovery::participant::Participant;
use crate::error::PortError;
use crate::port::group::{GroupContext, NO_STAMP, PortGroup};
use crate::port::message_type::MessageType;
use crate::port::publisher_core::{PublisherCore, PublisherPlan};
use crate::wire::qos::Qos;

/// What the publishers of events offer: they keep as many for a subscriber that is behind as
/// ROS 2's default says, and wait for nobody.
pub const EVENT_QOS: Qos = Qos::reliable(10, Duration::ZERO).overwriting();

/// What a client or a server tells those who watch the service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Introspection {
    /// Nothing: it publishes no events, and has no memory for them.
    #[default]
    Off,
    /// That a request or a response was sent or taken: when, whose, and its number.
    Metadata,
    /// The same with the request or the response, which is copied.
    Contents,
}

/// The topic of a service's events.
pub fn event_topic(service: &str) -> String {
    format!("{service}/_service_event")
}

/// Publishes the events of one client or server.
pub(super) struct Witness {
    output: Box<PublisherCore>,
    events: EventSchema,
    with_contents: bool,
    /// The stamps of the executor.
    group: Option<Arc<GroupContext>>,
}

impl Witness {
    /// `None`: it tells nothing. Allocates, maps memory, takes the participant's lock.
    pub(super) fn create(
        participant: &Participant,
        introspection: Introspection,
        (node, service): (&str, &str),
        service_type: &ServiceType<'_>,
        group: Option<&PortGroup>,
    ) -> Result<Option<Box<Witness>>, PortError> {
        let with_contents = match introspection {
            Introspection::Off => return Ok(None),
            Introspection::Metadata => false,
            Introspection::Contents => true,
        };
        let ServiceType { type_name, request, response, .. } = service_type;
        let events =
            EventSchema::of_definitions(type_name, [request.definition, response.definition])
                .map_err(|source| PortError::Events {
                    service: service.to_owned(),
                    source: Box::new(source),
                })?;
        let plan = PublisherPlan {
            node,
            topic: &event_topic(service),
            qos: EVENT_QOS,
            max_bytes: (!with_contents).then_some(events.schema().root_bytes()),
            // Its subscribers in the same executor find it as all others do.
            group: None,
            bridge: None,
            message: MessageType::of_schema(events.schema()),
            audience: Audience::Topic,
            wake: None,
            memory: None,
        };
        let output = PublisherCore::create_alone(participant, plan)?;
        let group = group.map(|group| Arc::clone(group.context()));
        Ok(Some(Box::new(Witness { output, events, with_contents, group })))
    }

    /// An event in memory, to be published when it has happened; `None`: nobody watches, or there
    /// is no memory for it, which is counted.
    #[inline]
    pub(super) fn note(
        &self,
        kind: EventKind,
        (client_gid, sequence_number): ([u8; 16], u64),
        contents: &[u8],
    ) -> Option<RawLoan<'_>> {
        if self.output.matched() == 0 {
            return None;
        }
        let contents = self.with_contents.then(|| Block::new(contents));
        let made = self.output.loan(self.events.bytes(contents.map(Block::len)));
        let mut loan = made.inspect_err(|_| self.output.count_refused()).ok()?;
        let stamp_ns = match self.group.as_ref().map_or(NO_STAMP, |group| group.stamp_ns()) {
            NO_STAMP => now_ns(),
            stamp_ns => stamp_ns,
        };
        let head = EventHead { kind, stamp_ns, client_gid, sequence_number };
        // A request that is no message of its type is counted where it is taken, too.
        let written = self.events.write(&head, contents, loan.bytes_mut());
        let len = written.inspect_err(|_| self.output.count_refused()).ok()?;
        let meta = loan.meta_mut();
        (meta.len, meta.stamp_ns) = (len, stamp_ns);
        if contents.is_some() {
            self.output.count_copy();
        }
        Some(loan)
    }

    /// Publishes an event of [`Witness::note`].
    pub(super) fn tell(&self, event: Option<RawLoan<'_>>) {
        if let Some(event) = event {
            // What is refused is counted by the port.
            let _ = self.output.publish(event);
        }
    }
}
