//! The part of a server that does not depend on the service's type: whose request is next, and
//! which were given up.
//!
//! Each client has a lane on which its requests come and a ring on which its responses go. A lane
//! is looked at only when that ring is connected, so that no response is lost; clients take turns.
//! It must not know executors.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crossdock_shm::clock::now_ns;
use crossdock_shm::status::Entity;
use crossdock_shm::{DoorbellOptions, RawLoan, RawSample};

use super::client_core::service_entity;
use super::lanes::{Alone, ServiceLanes, ServiceLanesPlan};
use super::server::ServerOptions;
use super::{
    DEPTH_MAX, RequestId, ServiceType, check_service_name, mark, request_topic, response_topic,
};
use crate::discovery::handover::Counterpart;
use crate::discovery::local_ports::Audience;
use crate::discovery::participant::Participant;
use crate::error::{DamagedPayload, LoanError, PortError, TakeError};
use crate::port::doorbell::Doorbell;
use crate::port::group::PortGroup;
use crate::port::message_type::{MessageType, PayloadCheck};
use crate::port::publisher_core::{PublisherCore, PublisherPlan, Refused};
use crate::wire::qos::Qos;
use crate::wire::status_records::{kind, server_counter};

/// Requests of one client that can be held at most.
const HOLDS_MAX: usize = 15;

/// What a server keeps of a client beside its lane.
pub(crate) struct Replies {
    /// The ring of its responses.
    output: Rc<PublisherCore>,
    /// Its requests that were taken and not answered; as many as it lets us hold.
    open: Vec<Open>,
    /// No more of its requests can be held: none is looked for before one of them is closed.
    full: bool,
}

/// A request that was taken and not answered.
struct Open {
    number: u64,
    /// The client has given it up.
    given_up: bool,
}

/// A request that was taken. Dropped without an answer, it tells the client so.
pub(crate) struct Taken {
    core: Rc<ServerCore>,
    raw: RawSample,
    client: Rc<Counterpart>,
    output: Rc<PublisherCore>,
    number: u64,
    answered: Cell<bool>,
}

/// See the head of this file.
pub(crate) struct ServerCore {
    service: String,
    node: String,
    requests: ServiceLanes<Replies>,
    entity: Entity,
    response: OwnedType,
    /// What a request has to be.
    check: Option<PayloadCheck>,
    max_response_bytes: Option<usize>,
    group: Option<PortGroup>,
    /// Where a server outside executors sleeps.
    bell: Option<Doorbell>,
    /// The lane that is next.
    turn: Cell<usize>,
    /// A request that was found and not handed out.
    next: RefCell<Option<Taken>>,
    /// Requests taken and not answered.
    open: Cell<u64>,
    /// How often a request was handed out, or could not be.
    passed: Cell<u64>,
}

/// The type of responses, for the rings that are made when clients come.
struct OwnedType {
    type_name: String,
    type_hash: [u8; 32],
    layout_hash: [u8; 32],
    definition: String,
    root_bytes: usize,
}

impl OwnedType {
    fn of(message: &MessageType<'_>) -> OwnedType {
        OwnedType {
            type_name: message.type_name.to_string(),
            type_hash: message.type_hash,
            layout_hash: message.layout_hash,
            definition: message.definition.to_string(),
            root_bytes: message.root_bytes,
        }
    }

    fn as_message(&self) -> MessageType<'_> {
        MessageType {
            type_name: &self.type_name,
            type_hash: self.type_hash,
            layout_hash: self.layout_hash,
            definition: &self.definition,
            root_bytes: self.root_bytes,
            // Only what is received is checked.
            check: None,
        }
    }
}

impl ServerCore {
    pub(crate) fn create(
        participant: &Participant,
        options: &ServerOptions<'_>,
        service_type: ServiceType<'_>,
    ) -> Result<Rc<ServerCore>, PortError> {
        let ServerOptions { node, service, .. } = *options;
        check_service_name(service)?;
        let bell = match options.doorbell {
            Some(_) => None,
            None => Some(participant.doorbell(DoorbellOptions { spin: options.spin })?),
        };
        let requests = ServiceLanes::create(
            participant,
            ServiceLanesPlan {
                node,
                service,
                topic: &request_topic(service),
                // Each client says how many of its requests may wait.
                qos: Qos::reliable(1, Duration::ZERO),
                message: service_type.request,
                doorbell: options.doorbell.or(bell.as_ref()),
                alone: Alone::Yes,
            },
        )?;
        let port = requests.port();
        let entity =
            service_entity(participant, kind::SERVER, port, (node, service), &service_type, 1)?;
        Ok(Rc::new(ServerCore {
            service: service.to_string(),
            node: node.to_string(),
            requests,
            entity,
            response: OwnedType::of(&service_type.response),
            check: service_type.request.check,
            max_response_bytes: options.max_response_bytes,
            group: options.group.cloned(),
            bell,
            turn: Cell::new(0),
            next: RefCell::new(None),
            open: Cell::new(0),
            passed: Cell::new(0),
        }))
    }

    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    pub(crate) fn lanes(&self) -> &ServiceLanes<Replies> {
        &self.requests
    }

    pub(crate) fn counter(&self, counter: usize) -> u64 {
        self.entity.value(counter)
    }

    /// Clients whose both directions stand.
    pub(crate) fn clients(&self) -> usize {
        self.absorb();
        self.requests.lanes().iter().filter(|lane| lane.extra.output.peers() > 0).count()
    }

    /// Takes in clients that came and went. One that has gone waits for nothing any more.
    #[inline]
    fn absorb(&self) {
        self.requests.absorb(|_| false, |client| self.meet(client), drop);
    }

    /// Makes the ring for a new client's responses.
    #[cold]
    fn meet(&self, client: &Rc<Counterpart>) -> Option<Replies> {
        let handle = self.requests.handle();
        let participant = Participant { handle: handle.clone() };
        let response = &self.response;
        // The client's ring has room for as many words more.
        let depth = (client.depth / 2).clamp(1, DEPTH_MAX);
        let made = PublisherCore::create(
            &participant,
            PublisherPlan {
                node: &self.node,
                topic: &response_topic(&self.service, client.process, client.port),
                qos: Qos::reliable(depth, Duration::ZERO),
                max_bytes: self.max_response_bytes,
                group: self.group.as_ref(),
                bridge: None,
                message: response.as_message(),
                audience: Audience::One,
                wake: self.requests.wake(),
                memory: None,
            },
        );
        match made {
            Ok(output) => {
                Some(Replies { output, open: Vec::with_capacity(HOLDS_MAX), full: false })
            }
            Err(error) => {
                let mut state = handle.core.lock();
                let (service, client) = (&self.service, &client.label);
                state.trouble(format!("service `{service}` cannot serve {client}: {error}"));
                handle.core.publish(state);
                None
            }
        }
    }

    /// Whether a request can be taken.
    #[inline]
    pub(crate) fn is_ready(self: &Rc<Self>) -> Result<bool, TakeError> {
        if self.next.borrow().is_some() {
            return Ok(true);
        }
        let found = self.find()?;
        let ready = found.is_some();
        *self.next.borrow_mut() = found;
        Ok(ready)
    }

    /// The next request.
    #[inline]
    pub(crate) fn take(self: &Rc<Self>) -> Result<Option<Taken>, TakeError> {
        let next = self.next.borrow_mut().take();
        let found = match next {
            Some(taken) => Ok(Some(taken)),
            None => self.find(),
        };
        let handed_out = !matches!(found, Ok(None));
        self.passed.set(self.passed.get() + u64::from(handed_out));
        let taken = found?;
        if taken.is_some() {
            self.entity.add(server_counter::REQUESTS, 1);
        }
        Ok(taken)
    }

    fn find(self: &Rc<Self>) -> Result<Option<Taken>, TakeError> {
        self.absorb();
        let lanes = self.requests.lanes().len();
        for step in 0..lanes {
            let place = (self.turn.get() + step) % lanes;
            if let Some(taken) = self.find_in(place)? {
                self.turn.set(place + 1);
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// The next request of one client. What is no request of the service is passed over and
    /// reported; its client hears that nobody answers.
    fn find_in(self: &Rc<Self>, place: usize) -> Result<Option<Taken>, TakeError> {
        let (client, output, depth) = {
            let lanes = self.requests.lanes();
            let Some(lane) = lanes.get(place).filter(|lane| !lane.extra.full) else {
                return Ok(None);
            };
            (Rc::clone(&lane.counterpart), Rc::clone(&lane.extra.output), lane.counterpart.depth)
        };
        if output.peers() == 0 {
            // The client is not ready for responses; it will be, and rings then.
            return Ok(None);
        }
        // What a client that keeps the rules may have sent; of another the rest waits its turn.
        for _ in 0..=depth {
            let raw = match self.requests.take(place) {
                Ok(Some(raw)) => raw,
                Ok(None) => return Ok(None),
                Err(error) if self.note_full(place, &error) => return Ok(None),
                Err(error) => return Err(error),
            };
            let flags = raw.meta().flags;
            if flags & mark::KIND == mark::GIVE_UP {
                self.note_given_up(place, flags & mark::NUMBER);
                continue;
            }
            let number = raw.seq();
            let damage = self.check.and_then(|check| check(raw.bytes()).err());
            let taken = self.open(place, (raw, client.clone(), output.clone()), number);
            if let Some(source) = damage {
                let (topic, seq) = (self.service.clone(), number);
                self.requests.refuse(&DamagedPayload { topic, seq, source }, &client.label);
                continue;
            }
            if self.is_given_up(&client, number) {
                self.entity.add(server_counter::CANCELLED, 1);
                taken.notify(mark::CANCELLED);
                continue;
            }
            return Ok(Some(taken));
        }
        Ok(None)
    }

    fn open(
        self: &Rc<Self>,
        place: usize,
        (raw, client, output): (RawSample, Rc<Counterpart>, Rc<PublisherCore>),
        number: u64,
    ) -> Taken {
        if let Some(lane) = self.requests.lanes_mut().get_mut(place) {
            lane.extra.open.push(Open { number, given_up: false });
        }
        self.open.set(self.open.get() + 1);
        Taken { core: Rc::clone(self), raw, client, output, number, answered: Cell::new(false) }
    }

    /// Whether nothing could be taken because as many requests of this client are held as may be.
    #[cold]
    fn note_full(&self, place: usize, error: &TakeError) -> bool {
        let TakeError::Ring(error) = error else { return false };
        let full = matches!(**error, crossdock_shm::TakeError::AllHoldsInUse { .. });
        let mut lanes = self.requests.lanes_mut();
        let Some(lane) = lanes.get_mut(place).filter(|lane| full && !lane.extra.open.is_empty())
        else {
            return false;
        };
        lane.extra.full = true;
        true
    }

    fn note_given_up(&self, place: usize, number: u32) {
        let mut lanes = self.requests.lanes_mut();
        let Some(lane) = lanes.get_mut(place) else { return };
        let same = |open: &&mut Open| mark::of(0, open.number) == number;
        lane.extra.open.iter_mut().filter(same).for_each(|open| open.given_up = true);
    }

    /// Whether a client has gone, or has said that it gives a request up.
    fn is_given_up(&self, client: &Rc<Counterpart>, number: u64) -> bool {
        let lanes = self.requests.lanes();
        let Some(lane) = lanes.iter().find(|lane| Rc::ptr_eq(&lane.counterpart, client)) else {
            return true;
        };
        if lane.extra.open.iter().any(|open| open.number == number && open.given_up) {
            return true;
        }
        // In what it has sent since.
        let wanted = mark::of(mark::GIVE_UP, number);
        let mut later = (0..=client.depth as u64).map_while(|ahead| lane.connection.look(ahead));
        later.any(|meta| meta.flags == wanted)
    }

    /// A request has been answered or dropped.
    fn close(&self, client: &Rc<Counterpart>, number: u64) {
        self.open.set(self.open.get().saturating_sub(1));
        let mut lanes = self.requests.lanes_mut();
        if let Some(lane) = lanes.iter_mut().find(|lane| Rc::ptr_eq(&lane.counterpart, client)) {
            lane.extra.open.retain(|open| open.number != number);
            lane.extra.full = false;
        }
        drop(lanes);
        if self.bell.is_some() {
            self.mark_processed();
        }
    }

    /// How often [`ServerCore::take`] has given something.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.get()
    }

    /// Origin of the next request.
    pub(crate) fn next_origin(&self) -> [u64; 2] {
        self.next.borrow().as_ref().map_or([0; 2], |taken| taken.raw.meta().origin)
    }

    /// Drops the next request unanswered; false when there is none.
    pub(crate) fn discard(&self) -> bool {
        let next = self.next.borrow_mut().take();
        next.is_some()
    }

    /// Sleeps until a request is there, at most for `timeout`.
    pub(crate) fn wait(self: &Rc<Self>, timeout: Duration) -> Result<bool, TakeError> {
        let started = std::time::Instant::now();
        loop {
            if self.is_ready()? {
                return Ok(true);
            }
            let left = timeout.saturating_sub(started.elapsed());
            let Some(bell) = self.bell.as_ref().filter(|_| !left.is_zero()) else {
                return Ok(false);
            };
            bell.drain(|_| {});
            bell.sleep(Some(left), || self.arm());
        }
    }

    /// Arms the doorbells of all clients; true when something is there already.
    pub(crate) fn arm(&self) -> bool {
        self.requests.arm() && self.can_move()
    }

    /// Whether what is there can be taken: a client that is not ready for responses rings when it
    /// is.
    fn can_move(&self) -> bool {
        let lanes = self.requests.lanes();
        let ready = |lane: &super::lanes::ServiceLane<Replies>| {
            lane.connection.is_ready() && !lane.extra.full && lane.extra.output.peers() > 0
        };
        self.requests.has_notes() || lanes.iter().any(ready)
    }

    /// Shows observers that everything has been dealt with but requests that wait for their answer.
    pub(crate) fn mark_processed(&self) {
        self.requests.mark_processed(self.open.get());
    }
}

impl Taken {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.raw.bytes()
    }

    pub(crate) fn raw(&self) -> &RawSample {
        &self.raw
    }

    /// Node and process of the client.
    pub(crate) fn client(&self) -> &str {
        &self.client.label
    }

    pub(crate) fn id(&self) -> RequestId {
        let Counterpart { process, port, .. } = *self.client;
        RequestId { process, port, sequence: self.number }
    }

    /// Does nobody wait for the answer any more?
    pub(crate) fn is_given_up(&self) -> bool {
        self.core.absorb();
        self.core.is_given_up(&self.client, self.number)
    }

    pub(crate) fn loan(&self, bytes: usize) -> Result<RawLoan<'_>, LoanError> {
        self.output.loan(bytes)
    }

    /// Sends the answer, whose length is set.
    pub(crate) fn answer<'a>(
        &'a self,
        mut loan: RawLoan<'a>,
    ) -> Result<(), (RawLoan<'a>, Box<crossdock_shm::PublishError>)> {
        if self.answered.get() {
            // A second answer would be taken for the answer to another request: it is dropped.
            return Ok(());
        }
        let meta = loan.meta_mut();
        meta.stamp_ns = now_ns();
        meta.origin = self.raw.meta().origin;
        meta.flags = mark::of(mark::ANSWER, self.number);
        let unwanted = self.output.peers() == 0;
        match self.output.publish(loan) {
            Ok(()) => {
                self.core.entity.add(server_counter::RESPONSES, 1);
                self.core.entity.add(server_counter::UNWANTED, u64::from(unwanted));
                self.close();
                Ok(())
            }
            Err(Refused { loan, reason }) => Err((loan, reason)),
        }
    }

    /// Tells the client that no answer comes.
    fn notify(&self, kind: u32) {
        self.close();
        let bytes = self.core.response.root_bytes;
        if self.output.peers() == 0 || !self.output.has_room() {
            return;
        }
        let Ok(mut loan) = self.output.loan(bytes) else { return };
        loan.bytes_mut()[..bytes].fill(0);
        let meta = loan.meta_mut();
        meta.len = bytes;
        meta.stamp_ns = now_ns();
        meta.flags = mark::of(kind, self.number);
        // Refused: the client breaks the rules and waits for its time-out.
        let _ = self.output.publish(loan);
    }

    fn close(&self) {
        self.answered.set(true);
        self.core.close(&self.client, self.number);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !self.answered.get() {
            self.core.entity.add(server_counter::UNANSWERED, 1);
            self.notify(mark::UNANSWERED);
        }
    }
}
