//! The part of a server that does not depend on the service's type: whose request is next, and
//! which were given up.
//!
//! Each client has a lane on which its requests come and a ring on which its responses go. A lane
//! is looked at only when that ring is connected, so that no response is lost; clients take turns.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossdock_msg::EventKind;
use crossdock_shm::clock::now_ns;
use crossdock_shm::status::Entity;
use crossdock_shm::{DoorbellOptions, PublishError, RawLoan, RawSample, TRUST_BY_NAME};

use super::callers::Callers;
use super::client_core::service_entity;
use super::error::AnswerError;
use super::introspection::Witness;
use super::lanes::{ServiceLane, ServiceLanes, ServiceLanesPlan};
use super::server::ServerOptions;
use super::ticket::{Caller, DroppedTickets, Ticket};
use super::{
    DEPTH_MAX, RequestId, ServiceType, check_service_name, mark, request_topic, response_topic,
};
use crate::discovery::handover::Counterpart;
use crate::discovery::local_ports::Audience;
use crate::discovery::participant::Participant;
use crate::error::{LoanError, PortError, TakeError};
use crate::port::doorbell::{Input, OwnBell};
use crate::port::message_type::{MessageType, PayloadCheck};
use crate::port::owner::{OwnThread, Owner};
use crate::port::publisher_core::{PublisherCore, PublisherPlan, Refused};
use crate::wire::qos::Qos;
use crate::wire::status_records::{kind, server_counter};

/// What a server keeps of a client beside its lane.
pub(crate) struct Replies<O: Owner> {
    caller: Arc<Caller>,
    /// The ring of its responses.
    output: O::Of<PublisherCore>,
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

/// A request that was found: it is open until it is answered or refused.
pub(crate) struct Found {
    pub(crate) raw: RawSample,
    pub(crate) ticket: Ticket,
}

/// A request that was taken, with what its answer needs. Dropped without an answer, it tells the
/// client so.
pub(crate) struct Taken {
    core: Rc<ServerCore<OwnThread>>,
    /// `None`: only the ticket is left, in other hands.
    found: Option<Found>,
    output: Rc<PublisherCore>,
}

/// See the head of this file.
pub(crate) struct ServerCore<O: Owner> {
    service: String,
    node: String,
    requests: ServiceLanes<Replies<O>>,
    callers: Callers,
    /// Who tells others of its requests.
    witness: Option<Box<Witness>>,
    entity: Entity,
    response: OwnedType,
    /// What a request has to be, and the copy of a stranger's.
    check: Option<PayloadCheck>,
    check_copy: Option<PayloadCheck>,
    max_response_bytes: Option<usize>,
    /// Where a server outside executors sleeps.
    bell: Option<OwnBell>,
    /// The lane that is next.
    turn: Cell<usize>,
    /// A request that was found and not handed out.
    next: RefCell<Option<Found>>,
    /// Requests of all clients that were taken and not answered.
    open: Cell<u64>,
    dropped: Arc<DroppedTickets>,
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
            check_whole: None,
        }
    }
}

impl<O: Owner> ServerCore<O> {
    pub(crate) fn create(
        participant: &Participant,
        options: &ServerOptions<'_>,
        input: Option<Input>,
        service_type: ServiceType<'_>,
    ) -> Result<ServerCore<O>, PortError> {
        let ServerOptions { node, service, .. } = *options;
        check_service_name(service)?;
        let spin = options.spin;
        let bell = match input {
            Some(_) => None,
            None => Some(participant.own_bell(DoorbellOptions { spin })?),
        };
        let input = input.or_else(|| bell.as_ref().map(OwnBell::add_input));
        let requests = ServiceLanes::create(
            participant,
            ServiceLanesPlan {
                node,
                topic: &request_topic(service),
                // Each client says how many of its requests may wait.
                qos: Qos::reliable(1, Duration::ZERO),
                message: service_type.request,
                doorbell: input,
            },
        )?;
        let port = requests.port();
        let entity =
            service_entity(participant, kind::SERVER, port, (node, service), &service_type, 1)?;
        let (names, told) = ((node, service), options.introspection);
        let witness = Witness::create(participant, told, names, &service_type, options.group)?;
        let dropped = Arc::new(DroppedTickets::new(requests.wake()));
        Ok(ServerCore {
            service: service.to_string(),
            node: node.to_string(),
            requests,
            callers: Callers::of(&service_type),
            witness,
            entity,
            response: OwnedType::of(&service_type.response),
            check: service_type.request.check,
            check_copy: service_type.request.check_whole,
            max_response_bytes: options.max_response_bytes,
            bell,
            turn: Cell::new(0),
            next: RefCell::new(None),
            open: Cell::new(0),
            dropped,
            passed: Cell::new(0),
        })
    }

    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    pub(crate) fn lanes(&self) -> &ServiceLanes<Replies<O>> {
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

    /// The same without clients of processes outside our run. Takes the participant's lock.
    pub(crate) fn clients_in_run(&self) -> usize {
        self.absorb();
        self.requests.lanes().iter().filter(|lane| lane.extra.output.matched_in_run() > 0).count()
    }

    /// Takes in clients that came and went, and tickets that were dropped. A client that has gone
    /// waits for nothing any more.
    #[inline]
    fn absorb(&self) {
        self.requests.absorb(
            |_| false,
            |client| self.meet(client),
            |lane| self.count_closed(lane.extra.open.len()),
        );
        if self.dropped.has_some() {
            self.refuse_dropped();
        }
    }

    #[cold]
    fn refuse_dropped(&self) {
        for RequestId { process, port, sequence } in self.dropped.take() {
            self.entity.add(server_counter::UNANSWERED, 1);
            let lanes = self.requests.lanes();
            let mut callers = lanes.iter().map(|lane| &lane.extra.caller);
            let of_client = |it: &&Arc<Caller>| {
                it.counterpart.process == process && it.counterpart.port == port
            };
            let caller = callers.find(of_client).map(Arc::clone);
            drop(lanes);
            if let Some(caller) = caller {
                self.notify(&caller, sequence, mark::UNANSWERED);
            }
        }
    }

    /// Makes the ring for a new client's responses.
    #[cold]
    fn meet(&self, client: &Arc<Counterpart>) -> Option<Replies<O>> {
        let handle = self.requests.handle();
        let participant = Participant { handle: handle.clone() };
        let response = &self.response;
        // The client's ring has room for as many words more.
        let depth = (client.depth / 2).clamp(1, DEPTH_MAX);
        let made = PublisherCore::create_alone(
            &participant,
            PublisherPlan {
                node: &self.node,
                topic: &response_topic(&self.service, client.process, client.port),
                qos: Qos::reliable(depth, Duration::ZERO),
                max_bytes: self.max_response_bytes,
                group: None,
                bridge: None,
                message: response.as_message(),
                audience: Audience::One,
                wake: self.requests.wake(),
                memory: None,
            },
        );
        match made {
            Ok(output) => {
                let (counterpart, dropped) = (Arc::clone(client), Arc::clone(&self.dropped));
                let caller = Arc::new(Caller { counterpart, dropped });
                Some(Replies { caller, output, open: Vec::with_capacity(depth), full: false })
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
    pub(crate) fn is_ready(&self) -> Result<bool, TakeError> {
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
    pub(crate) fn take_found(&self) -> Result<Option<Found>, TakeError> {
        let next = self.next.borrow_mut().take();
        let found = match next {
            Some(found) => Ok(Some(found)),
            None => self.find(),
        };
        let handed_out = !matches!(found, Ok(None));
        self.passed.set(self.passed.get() + u64::from(handed_out));
        let found = found?;
        if let Some(Found { raw, ticket }) = &found {
            self.entity.add(server_counter::REQUESTS, 1);
            if let Some(witness) = &self.witness {
                let event = witness.note(EventKind::RequestReceived, ticket.names(), raw.bytes());
                witness.tell(event);
            }
        }
        Ok(found)
    }

    fn find(&self) -> Result<Option<Found>, TakeError> {
        self.absorb();
        let lanes = self.requests.lanes().len();
        for step in 0..lanes {
            let place = (self.turn.get() + step) % lanes;
            if let Some(found) = self.find_in(place)? {
                self.turn.set(place + 1);
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The next request of one client. What is no request of the service is passed over and
    /// reported; its client hears that nobody answers.
    fn find_in(&self, place: usize) -> Result<Option<Found>, TakeError> {
        let caller = {
            let lanes = self.requests.lanes();
            let Some(lane) = lanes.get(place).filter(|lane| !lane.extra.full) else {
                return Ok(None);
            };
            if lane.extra.output.peers() == 0 {
                // The client is not ready for responses; it will be, and rings then.
                return Ok(None);
            }
            Arc::clone(&lane.extra.caller)
        };
        // What a client that keeps the rules may have sent; of another the rest waits its turn.
        for _ in 0..=caller.counterpart.depth {
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
            let (number, origin) = (raw.seq(), raw.meta().origin);
            let check = if self.requests.is_copied(place) { self.check_copy } else { self.check };
            let damage = check.and_then(|check| check(raw.bytes()).err());
            self.open(place, number);
            let ticket = Ticket::new(Arc::clone(&caller), number, origin);
            if self.turns_away(&caller) {
                self.refuse(&ticket);
                continue;
            }
            if let Some(source) = damage {
                self.requests.pass_damaged(&self.service, number, &source, ticket.client());
                self.refuse(&ticket);
                continue;
            }
            if self.is_given_up(&ticket) {
                self.entity.add(server_counter::CANCELLED, 1);
                ticket.close();
                self.notify(&caller, number, mark::CANCELLED);
                continue;
            }
            return Ok(Some(Found { raw, ticket }));
        }
        Ok(None)
    }

    /// Whether the requests of a client are not taken, because it is a stranger and the service
    /// controls this process. Told once for each user.
    #[inline]
    fn turns_away(&self, caller: &Caller) -> bool {
        let uid = caller.counterpart.stranger.filter(|_| self.callers == Callers::Trusted);
        uid.inspect(|uid| self.tell_of_stranger(*uid)).is_some()
    }

    #[cold]
    fn tell_of_stranger(&self, uid: u32) {
        let service = &self.service;
        self.requests.report_once(
            format!("stranger {uid}: {service}"),
            format!(
                "user {uid}, who is not trusted, calls service `{service}`, which obeys trusted users only: \
                 nothing is done; to obey the user, trust it by name ({TRUST_BY_NAME})"
            ),
        );
    }

    fn open(&self, place: usize, number: u64) {
        if let Some(lane) = self.requests.lanes_mut().get_mut(place) {
            lane.extra.open.push(Open { number, given_up: false });
        }
        self.open.set(self.open.get() + 1);
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

    /// Whether a client has gone, or has said that it gives a request up. A few loads.
    pub(crate) fn is_given_up(&self, ticket: &Ticket) -> bool {
        let number = ticket.number();
        let lanes = self.requests.lanes();
        let Some(lane) = lane_of(&lanes, ticket.caller()) else { return true };
        if lane.extra.open.iter().any(|open| open.number == number && open.given_up) {
            return true;
        }
        // In what it has sent since.
        let wanted = mark::of(mark::GIVE_UP, number);
        let mut later = (0..=ticket.caller().counterpart.depth as u64)
            .map_while(|ahead| lane.connection.look(ahead));
        later.any(|meta| meta.flags == wanted)
    }

    /// The same, with what the control thread has told since.
    pub(crate) fn is_cancelled(&self, ticket: &Ticket) -> bool {
        self.absorb();
        self.is_given_up(ticket)
    }

    /// A request has been answered or dropped; false: it was before, or its client has gone.
    fn close(&self, caller: &Arc<Caller>, number: u64) -> bool {
        let mut lanes = self.requests.lanes_mut();
        let Some(lane) = lanes.iter_mut().find(|lane| is_of(lane, caller)) else { return false };
        let open = lane.extra.open.len();
        lane.extra.open.retain(|open| open.number != number);
        lane.extra.full = false;
        let closed = open - lane.extra.open.len();
        drop(lanes);
        self.count_closed(closed);
        closed > 0
    }

    fn count_closed(&self, requests: usize) {
        self.open.set(self.open.get().saturating_sub(requests as u64));
        if self.bell.is_some() {
            self.mark_processed();
        }
    }

    /// A request's memory was given back: more of its client's can be held.
    pub(crate) fn let_go(&self, Found { raw, ticket }: Found) -> Ticket {
        drop(raw);
        let mut lanes = self.requests.lanes_mut();
        if let Some(lane) = lanes.iter_mut().find(|lane| is_of(lane, ticket.caller())) {
            lane.extra.full = false;
        }
        ticket
    }

    /// Answers the request of a ticket with `bytes` bytes at most, which `write` writes.
    pub(crate) fn answer<E>(
        &self,
        ticket: &Ticket,
        bytes: usize,
        write: impl FnOnce(&mut RawLoan<'_>) -> Result<(), E>,
    ) -> Result<(), AnswerError<E>> {
        self.absorb();
        let lanes = self.requests.lanes();
        let service = || self.service.clone();
        let Some(lane) = lane_of(&lanes, ticket.caller()) else {
            let client = ticket.client().to_owned();
            return Err(AnswerError::ClientGone { service: service(), client });
        };
        if !lane.extra.open.iter().any(|open| open.number == ticket.number()) {
            return Err(AnswerError::Answered { service: service(), id: ticket.id() });
        }
        let output = &*lane.extra.output;
        let mut loan = output.loan(bytes)?;
        if !loan.reaches_all() {
            let client = ticket.client().to_owned();
            return Err(AnswerError::StandsStill { service: service(), client, bytes });
        }
        write(&mut loan).map_err(AnswerError::Write)?;
        self.send(ticket, output, loan).map_err(|(_, reason)| AnswerError::Publish(reason))?;
        drop(lanes);
        self.answered(ticket);
        Ok(())
    }

    fn answered(&self, ticket: &Ticket) {
        ticket.close();
        self.close(ticket.caller(), ticket.number());
    }

    /// Sends an answer, whose length is set. One that has no room at its client is dropped: the
    /// client asks for more than it said, which is no fault of those who answer.
    fn send<'a>(
        &self,
        ticket: &Ticket,
        output: &'a PublisherCore,
        mut loan: RawLoan<'a>,
    ) -> Result<(), (RawLoan<'a>, Box<PublishError>)> {
        let meta = loan.meta_mut();
        meta.stamp_ns = now_ns();
        meta.origin = ticket.origin();
        meta.flags = mark::of(mark::ANSWER, ticket.number());
        let (len, unwanted) = (meta.len, output.peers() == 0);
        // Noted before the response is the client's, told when it has gone out.
        let event = self.witness.as_ref().and_then(|witness| {
            witness.note(EventKind::ResponseSent, ticket.names(), &loan.bytes_mut()[..len])
        });
        if let Err(Refused { loan, reason }) = output.publish(loan) {
            if !matches!(*reason, PublishError::TimedOut { .. } | PublishError::LinkFull { .. }) {
                return Err((loan, reason));
            }
            drop(loan);
            self.note_without_room(ticket);
            return Ok(());
        }
        if let Some(witness) = &self.witness {
            witness.tell(event);
        }
        self.entity.add(server_counter::RESPONSES, 1);
        self.entity.add(server_counter::UNWANTED, u64::from(unwanted));
        Ok(())
    }

    #[cold]
    fn note_without_room(&self, ticket: &Ticket) {
        self.entity.add(server_counter::UNWANTED, 1);
        let (service, client) = (&self.service, ticket.client());
        self.requests.report_once(
            format!("without room: {service}"),
            format!(
                "service `{service}`: {client} has no room for an answer: it has more calls under way than it \
                 said, or takes no answers; the answer was dropped. Others like it are counted as unwanted, \
                 and not told"
            ),
        );
    }

    /// A request is dropped unanswered. Of one that was answered or refused before, and of another
    /// server's, nothing follows.
    pub(crate) fn refuse(&self, ticket: &Ticket) {
        if Arc::ptr_eq(&ticket.caller().dropped, &self.dropped) && ticket.close() {
            self.entity.add(server_counter::UNANSWERED, 1);
            self.notify(ticket.caller(), ticket.number(), mark::UNANSWERED);
        }
    }

    /// Tells the client that no answer comes to an open request.
    fn notify(&self, caller: &Arc<Caller>, number: u64, kind: u32) {
        if !self.close(caller, number) {
            return;
        }
        let bytes = self.response.root_bytes;
        let lanes = self.requests.lanes();
        let Some(lane) = lane_of(&lanes, caller) else { return };
        let output = &*lane.extra.output;
        if output.peers() == 0 || !output.has_room() {
            return;
        }
        let Some(mut loan) = output.loan(bytes).ok().filter(RawLoan::reaches_all) else { return };
        loan.bytes_mut()[..bytes].fill(0);
        let meta = loan.meta_mut();
        meta.len = bytes;
        meta.stamp_ns = now_ns();
        meta.flags = mark::of(kind, number);
        // Refused: the client breaks the rules and waits for its time-out.
        let _ = output.publish(loan);
    }

    /// How often [`ServerCore::take_found`] has given something.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.get()
    }

    /// Origin of the next request.
    pub(crate) fn next_origin(&self) -> [u64; 2] {
        self.next.borrow().as_ref().map_or([0; 2], |found| found.ticket.origin())
    }

    /// Drops the next request unanswered; false when there is none.
    pub(crate) fn discard(&self) -> bool {
        let next = self.next.borrow_mut().take();
        if let Some(Found { ticket, .. }) = &next {
            self.refuse(ticket);
        }
        next.is_some()
    }

    /// Sleeps until a request is there, at most for `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<bool, TakeError> {
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
        let ready = |lane: &Lane<O>| {
            lane.connection.is_ready() && !lane.extra.full && lane.extra.output.peers() > 0
        };
        self.requests.has_notes() || lanes.iter().any(ready)
    }

    /// Shows observers that everything has been dealt with but requests that wait for their answer.
    pub(crate) fn mark_processed(&self) {
        self.requests.mark_processed(self.open.get());
    }
}

/// What a server has of one client.
type Lane<O> = ServiceLane<Replies<O>>;

fn is_of<O: Owner>(lane: &Lane<O>, caller: &Arc<Caller>) -> bool {
    Arc::ptr_eq(&lane.extra.caller, caller)
}

fn lane_of<'a, O: Owner>(lanes: &'a [Lane<O>], caller: &Arc<Caller>) -> Option<&'a Lane<O>> {
    lanes.iter().find(|lane| is_of(lane, caller))
}

impl ServerCore<OwnThread> {
    /// The next request, which keeps the port.
    #[inline]
    pub(crate) fn take(self: &Rc<Self>) -> Result<Option<Taken>, TakeError> {
        let Some(found) = self.take_found()? else { return Ok(None) };
        let of_lane = |lane: &Lane<OwnThread>| Rc::clone(&lane.extra.output);
        let output = lane_of(&self.requests.lanes(), found.ticket.caller()).map(of_lane);
        let Some(output) = output else {
            // Its client has gone since it was found.
            found.ticket.close();
            return Ok(None);
        };
        Ok(Some(Taken { core: Rc::clone(self), found: Some(found), output }))
    }
}

impl Taken {
    fn found(&self) -> &Found {
        match &self.found {
            Some(found) => found,
            None => unreachable!("taken out by `into_ticket`, which ends this"),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.found().raw.bytes()
    }

    pub(crate) fn raw(&self) -> &RawSample {
        &self.found().raw
    }

    pub(crate) fn ticket(&self) -> &Ticket {
        &self.found().ticket
    }

    /// Lets go of the request's memory.
    pub(crate) fn into_ticket(mut self) -> Ticket {
        match self.found.take() {
            Some(found) => self.core.let_go(found),
            None => unreachable!("taken out here alone"),
        }
    }

    /// Does nobody wait for the answer any more?
    pub(crate) fn is_given_up(&self) -> bool {
        self.core.is_cancelled(self.ticket())
    }

    pub(crate) fn loan(&self, bytes: usize) -> Result<RawLoan<'_>, LoanError> {
        self.output.loan(bytes)
    }

    /// Sends the answer, whose length is set.
    pub(crate) fn answer<'a>(
        &'a self,
        loan: RawLoan<'a>,
    ) -> Result<(), (RawLoan<'a>, Box<PublishError>)> {
        // A second answer would be taken for the answer to another request: it is dropped. If the
        // client stands still and has not mapped the memory, the request is dropped unanswered, and
        // the client hears so when it goes on.
        if self.ticket().is_closed() || !loan.reaches_all() {
            return Ok(());
        }
        self.core.send(self.ticket(), &self.output, loan)?;
        self.core.answered(self.ticket());
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(found) = &self.found {
            self.core.refuse(&found.ticket);
        }
    }
}
