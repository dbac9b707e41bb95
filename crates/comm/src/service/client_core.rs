//! The part of a client that does not depend on the service's type: which calls are under way, and
//! what became of them.
//!
//! Requests go out on a ring of this client's own; responses come in on a lane from the server. A
//! call ends in exactly one of: response, time-out, given up, server gone, dropped by the server.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crossdock_msg::EventKind;
use crossdock_shm::clock::now_ns;
use crossdock_shm::status::{Entity, EntityDescription, WithHistogram};
use crossdock_shm::{DoorbellOptions, RawLoan, RawSample};
use rustix::time::{ClockId, clock_gettime};

use super::introspection::Witness;
use super::lanes::{ServiceLanes, ServiceLanesPlan};
use super::{
    CallError, CallId, SendError, ServiceType, check_service_name, mark, request_topic,
    response_topic,
};
use crate::discovery::handover::Counterpart;
use crate::discovery::local_ports::Audience;
use crate::discovery::participant::Participant;
use crate::error::{LoanError, PortError, TakeError};
use crate::port::connection::Connection;
use crate::port::doorbell::{Input, OwnBell};
use crate::port::message_type::{MessageType, PayloadCheck};
use crate::port::publisher_core::{PublisherCore, PublisherPlan, Refused};
use crate::wire::port_info::{PortInfo, encode_port};
use crate::wire::qos::Qos;
use crate::wire::status_records::{client_counter, kind};

use super::client::ClientOptions;

/// What the time-outs of calls go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallClock {
    /// The computer's clock that never jumps.
    #[default]
    Monotonic,
    /// Simulated time, which the client's executor moves on: now, in ns.
    Simulated(u64),
}

impl CallClock {
    pub(crate) fn now_ns(self) -> u64 {
        match self {
            CallClock::Simulated(now_ns) => now_ns,
            CallClock::Monotonic => {
                let time = clock_gettime(ClockId::Monotonic);
                let now = Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32);
                now.as_nanos() as u64
            }
        }
    }
}

/// A call that the server has not done with.
struct UnderWay {
    number: u64,
    server: Arc<Counterpart>,
    timeout: Duration,
    /// When it times out; `u64::MAX`: never.
    deadline_ns: u64,
    /// Nobody waits for the answer any more.
    given_up: bool,
}

/// What became of a call.
pub(crate) struct Ended {
    pub(crate) call: CallId,
    pub(crate) result: Result<RawSample, CallError>,
}

#[derive(Default)]
struct Calls {
    /// Oldest first; at most the client's depth.
    under_way: VecDeque<UnderWay>,
    /// Ended and not handed out; samples among them are bounded by the holds of the ring.
    ended: VecDeque<Ended>,
    /// Why nothing could be taken, to be handed out.
    fault: Option<TakeError>,
}

/// See the head of this file.
pub(crate) struct ClientCore {
    service: String,
    requests: Box<PublisherCore>,
    responses: ServiceLanes<()>,
    /// Who tells others of its calls.
    witness: Option<Box<Witness>>,
    entity: Entity,
    depth: usize,
    request_root_bytes: usize,
    /// What a response has to be. Strangers answer no requests, so that none is a copy.
    check: Option<PayloadCheck>,
    /// Where calls wait; `None`: the client belongs to an executor.
    bell: Option<OwnBell>,
    clock: Cell<CallClock>,
    /// Ends of calls handed out.
    passed: Cell<u64>,
    calls: RefCell<Calls>,
}

/// A lane whose server has gone stays until its last response was taken; one whose server has
/// broken the protocol does not.
fn is_undrained(connection: &Connection) -> bool {
    connection.is_ready() && !connection.is_corrupt()
}

/// The ring of a client's requests.
fn requests_of(
    participant: &Participant,
    options: &ClientOptions<'_>,
    message: MessageType<'_>,
) -> Result<Box<PublisherCore>, PortError> {
    let plan = PublisherPlan {
        node: options.node,
        topic: &request_topic(options.service),
        // Each call may be followed by the word that it is given up.
        qos: Qos::reliable(2 * options.depth, Duration::ZERO),
        max_bytes: options.max_request_bytes,
        group: options.group,
        bridge: None,
        message,
        audience: Audience::One,
        wake: None,
        memory: None,
    };
    PublisherCore::create_alone(participant, plan)
}

impl ClientCore {
    pub(crate) fn create(
        participant: &Participant,
        options: &ClientOptions<'_>,
        input: Option<Input>,
        service_type: ServiceType<'_>,
    ) -> Result<ClientCore, PortError> {
        let ClientOptions { node, service, depth, .. } = *options;
        check_service_name(service)?;
        if depth == 0 || depth > super::DEPTH_MAX {
            let (topic, node) = (service.to_string(), node.to_string());
            return Err(PortError::Depth { topic, node, depth, limit: super::DEPTH_MAX });
        }
        let spin = options.spin;
        let bell = match input {
            Some(_) => None,
            None => Some(participant.own_bell(DoorbellOptions { spin })?),
        };
        let input = input.or_else(|| bell.as_ref().map(OwnBell::add_input));
        let ServiceType { request, response, .. } = service_type;
        let requests = requests_of(participant, options, request)?;
        let port = requests.info().port;
        let process = participant.handle.core.name;
        let responses = ServiceLanes::create(
            participant,
            ServiceLanesPlan {
                node,
                topic: &response_topic(service, process, port),
                qos: Qos::reliable(1, Duration::ZERO),
                message: response,
                doorbell: input,
            },
        )?;
        let entity =
            service_entity(participant, kind::CLIENT, port, (node, service), &service_type, depth)?;
        let (names, told) = ((node, service), options.introspection);
        let witness = Witness::create(participant, told, names, &service_type, options.group)?;
        Ok(ClientCore {
            service: service.to_string(),
            requests,
            responses,
            witness,
            entity,
            depth,
            request_root_bytes: request.root_bytes,
            check: response.check,
            bell,
            clock: Cell::default(),
            passed: Cell::new(0),
            calls: RefCell::new(Calls {
                under_way: VecDeque::with_capacity(depth),
                ended: VecDeque::with_capacity(depth),
                fault: None,
            }),
        })
    }

    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    pub(crate) fn lanes(&self) -> &ServiceLanes<()> {
        &self.responses
    }

    pub(crate) fn bell(&self) -> Option<&OwnBell> {
        self.bell.as_ref()
    }

    pub(crate) fn set_clock(&self, clock: CallClock) {
        self.clock.set(clock);
    }

    pub(crate) fn counter(&self, counter: usize) -> u64 {
        self.entity.value(counter)
    }

    /// Calls that the server has not done with.
    pub(crate) fn under_way(&self) -> usize {
        self.calls.borrow().under_way.len()
    }

    // ---- servers ----

    /// What names the client across processes, as [`super::RequestId::client_gid`].
    pub(crate) fn gid(&self) -> [u8; 16] {
        self.requests.gid()
    }

    /// Responses that have come since the last call.
    pub(crate) fn arrived(&self) -> u64 {
        self.absorb(&mut self.calls.borrow_mut());
        self.responses.take_arrived()
    }

    /// A response was taken and is shown to nobody.
    pub(crate) fn count_left_out(&self) {
        self.entity.add(client_counter::LATE, 1);
    }

    /// Takes note of servers that came or went.
    pub(crate) fn settle(&self) {
        self.requests.settle();
        self.absorb(&mut self.calls.borrow_mut());
    }

    /// Who serves, if both directions stand.
    pub(crate) fn server(&self) -> Option<Arc<Counterpart>> {
        self.absorb(&mut self.calls.borrow_mut());
        self.connected()
    }

    #[inline]
    fn connected(&self) -> Option<Arc<Counterpart>> {
        if self.requests.peers() == 0 {
            return None;
        }
        let lanes = self.responses.lanes();
        let live = lanes.iter().rev().find(|lane| !lane.connection.is_gone());
        live.map(|lane| Arc::clone(&lane.counterpart))
    }

    /// Blocks until a server is there, at most for `timeout`; returns whether one is.
    pub(crate) fn wait_for_server(&self, timeout: Duration) -> bool {
        let participant = Participant { handle: self.requests.handle().clone() };
        participant.wait_until(timeout, || self.server().is_some())
    }

    /// Takes in servers that came and went; calls of those that went have ended.
    #[inline]
    fn absorb(&self, calls: &mut Calls) {
        let made = |_: &Arc<Counterpart>| Some(());
        self.responses.absorb(is_undrained, made, |lane| {
            self.server_gone(calls, &lane.counterpart);
        });
    }

    #[cold]
    fn server_gone(&self, calls: &mut Calls, gone: &Arc<Counterpart>) {
        let Calls { under_way, ended, .. } = calls;
        under_way.retain(|call| {
            if !Arc::ptr_eq(&call.server, gone) {
                return true;
            }
            if !call.given_up {
                self.entity.add(client_counter::SERVER_GONE, 1);
                let (service, server) = (self.service.clone(), gone.label.clone());
                let result = Err(CallError::ServerGone { service, server });
                ended.push_back(Ended { call: CallId(call.number), result });
            }
            false
        });
    }

    // ---- requests ----

    #[inline]
    pub(crate) fn loan(&self, bytes: usize) -> Result<RawLoan<'_>, LoanError> {
        self.requests.loan(bytes)
    }

    /// Sends a request whose length is set.
    #[inline]
    pub(crate) fn send<'a>(
        &'a self,
        mut loan: RawLoan<'a>,
        timeout: Duration,
    ) -> Result<CallId, (RawLoan<'a>, SendError)> {
        let calls = &mut *self.calls.borrow_mut();
        self.absorb(calls);
        let server = match self.check_room(calls) {
            Ok(server) => server,
            Err(reason) => {
                self.entity.add(client_counter::REFUSED, 1);
                return Err((loan, reason));
            }
        };
        if !loan.reaches_all() {
            self.entity.add(client_counter::REFUSED, 1);
            let (service, server) = (self.service.clone(), server.label.clone());
            let bytes = loan.len();
            return Err((loan, SendError::StandsStill { service, server, bytes }));
        }
        let meta = loan.meta_mut();
        meta.stamp_ns = now_ns();
        let len = meta.len;
        // Noted before the request is the server's, told when it has gone out.
        let event = self.witness.as_ref().and_then(|witness| {
            let request = (self.gid(), self.requests.published() + 1);
            witness.note(EventKind::RequestSent, request, &loan.bytes_mut()[..len])
        });
        if let Err(Refused { loan, reason }) = self.requests.publish(loan) {
            self.entity.add(client_counter::REFUSED, 1);
            return Err((loan, SendError::Publish(reason)));
        }
        let number = self.requests.published();
        if let Some(witness) = &self.witness {
            witness.tell(event);
        }
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = match timeout_ns {
            u64::MAX => u64::MAX,
            timeout_ns => self.clock.get().now_ns().saturating_add(timeout_ns),
        };
        let given_up = false;
        calls.under_way.push_back(UnderWay { number, server, timeout, deadline_ns, given_up });
        self.entity.add(client_counter::CALLS, 1);
        Ok(CallId(number))
    }

    #[inline]
    fn check_room(&self, calls: &Calls) -> Result<Arc<Counterpart>, SendError> {
        let Some(server) = self.connected() else { return Err(self.no_server()) };
        let under_way = calls.under_way.len();
        if under_way >= self.depth || !self.requests.has_room() {
            let given_up = calls.under_way.iter().filter(|call| call.given_up).count();
            let (service, server) = (self.service.clone(), server.label.clone());
            let depth = self.depth;
            return Err(SendError::Busy { service, server, under_way, given_up, depth });
        }
        Ok(server)
    }

    #[cold]
    fn no_server(&self) -> SendError {
        let state = self.requests.handle().core.lock();
        let mismatch = state.services.mismatch(self.requests.topic()).cloned().map(Box::new);
        SendError::NoServer { service: self.service.clone(), mismatch }
    }

    /// Gives a call up: false when it has ended already. An answer that is there is forgotten.
    pub(crate) fn cancel(&self, id: CallId) -> bool {
        let calls = &mut *self.calls.borrow_mut();
        let mut waiting = calls.under_way.iter_mut();
        let Some(call) = waiting.find(|call| call.number == id.0 && !call.given_up) else {
            return false;
        };
        call.given_up = true;
        self.entity.add(client_counter::CANCELLED, 1);
        self.tell_given_up(id.0);
        true
    }

    /// Counts a request that goes nowhere: it has a number, which no other request has. `None`:
    /// there is no room to note it.
    pub(crate) fn lose(&self) -> Option<CallId> {
        // A server that has come in between hears of no request, only that nobody waits for it.
        let number = self.requests.published() + 1;
        self.tell_given_up(number).then_some(CallId(number))
    }

    /// Tells the server, and says whether it could. Without room for it, or memory that the server
    /// has, it is not told, and its answer will be late.
    fn tell_given_up(&self, number: u64) -> bool {
        if !self.requests.has_room() {
            return false;
        }
        let bytes = self.request_root_bytes;
        let Some(mut loan) = self.requests.loan(bytes).ok().filter(RawLoan::reaches_all) else {
            return false;
        };
        loan.bytes_mut()[..bytes].fill(0);
        let meta = loan.meta_mut();
        meta.len = bytes;
        meta.stamp_ns = now_ns();
        meta.flags = mark::of(mark::GIVE_UP, number);
        // Refused: as without room.
        self.requests.publish(loan).is_ok()
    }

    /// When the next call times out, on the client's clock.
    pub(crate) fn next_deadline_ns(&self) -> Option<u64> {
        let calls = self.calls.borrow();
        let waiting = calls.under_way.iter().filter(|call| !call.given_up);
        waiting.map(|call| call.deadline_ns).min().filter(|deadline_ns| *deadline_ns != u64::MAX)
    }

    /// Ends the calls that have timed out by now.
    pub(crate) fn expire(&self) {
        if self.next_deadline_ns().is_none_or(|deadline| deadline > self.clock.get().now_ns()) {
            return;
        }
        let now_ns = self.clock.get().now_ns();
        // What has been answered has not timed out, even if nobody has looked since.
        self.take_in();
        let Calls { under_way, ended, .. } = &mut *self.calls.borrow_mut();
        let late = under_way.iter_mut().filter(|call| !call.given_up && call.deadline_ns <= now_ns);
        for call in late {
            call.given_up = true;
            self.entity.add(client_counter::TIMED_OUT, 1);
            let (service, server) = (self.service.clone(), call.server.label.clone());
            let result = Err(CallError::TimedOut { service, server, timeout: call.timeout });
            ended.push_back(Ended { call: CallId(call.number), result });
            self.tell_given_up(call.number);
        }
    }

    // ---- responses ----

    /// Takes all responses that are there, as far as they may be held.
    fn take_in(&self) {
        let faulty = self.calls.borrow().fault.is_some();
        self.resolve(|_| false);
        let fault = &mut self.calls.borrow_mut().fault;
        let held = |fault: &TakeError| match fault {
            TakeError::Ring(error) => {
                matches!(**error, crossdock_shm::TakeError::AllHoldsInUse { .. })
            }
            TakeError::Unfinished(_) => false,
        };
        // They stay where they are, and nobody has asked for them yet.
        if !faulty && fault.as_ref().is_some_and(held) {
            *fault = None;
        }
    }

    /// Sleeps until a call may have ended, so that another may be sent.
    ///
    /// # Errors
    /// As many responses are held as may be: no call will end before one is dropped.
    pub(crate) fn wait_for_room(&self, bell: &OwnBell, timeout: Duration) -> Result<(), TakeError> {
        self.resolve(|_| false);
        let mut calls = self.calls.borrow_mut();
        if let Some(fault) = calls.fault.take() {
            return Err(fault);
        }
        let full = calls.under_way.len() >= self.depth;
        drop(calls);
        if full {
            self.sleep(bell, Some(timeout));
        }
        Ok(())
    }

    /// Takes responses until `enough` of what has ended, or nothing more is there.
    #[inline]
    fn resolve(&self, enough: impl Fn(&VecDeque<Ended>) -> bool) {
        let calls = &mut *self.calls.borrow_mut();
        self.absorb(calls);
        // No more can be there than calls were under way; what a server sends beyond that waits.
        for _ in 0..=2 * self.depth {
            if enough(&calls.ended) || calls.fault.is_some() {
                return;
            }
            let lanes = self.responses.lanes().len();
            let mut taken = false;
            for place in 0..lanes {
                match self.responses.take(place) {
                    Ok(None) => {}
                    Ok(Some(raw)) => {
                        taken = true;
                        self.accept(calls, raw);
                        break;
                    }
                    Err(error) => {
                        calls.fault = Some(error);
                        break;
                    }
                }
            }
            if !taken {
                // The last response of a server that has gone may just have been taken.
                self.absorb(calls);
                return;
            }
        }
    }

    #[inline]
    fn accept(&self, calls: &mut Calls, raw: RawSample) {
        let flags = raw.meta().flags;
        let answered = |call: &UnderWay| mark::of(0, call.number) == flags & mark::NUMBER;
        let place = calls.under_way.iter().position(answered);
        let call = place.and_then(|place| calls.under_way.remove(place));
        let Some(call) = call.filter(|call| !call.given_up) else {
            let is_answer = flags & mark::KIND == mark::ANSWER;
            self.entity.add(client_counter::LATE, u64::from(is_answer));
            return;
        };
        let result = if self.is_response(&raw, &call) {
            self.entity.add(client_counter::RESPONSES, 1);
            Ok(raw)
        } else {
            self.entity.add(client_counter::UNANSWERED, 1);
            let (service, server) = (self.service.clone(), call.server.label.clone());
            Err(CallError::Unanswered { service, server })
        };
        calls.ended.push_back(Ended { call: CallId(call.number), result });
    }

    /// Whether a message is a call's response, and not the word that there is none. What is no
    /// response of the service is passed over and reported, as requests are.
    #[inline]
    fn is_response(&self, raw: &RawSample, call: &UnderWay) -> bool {
        if raw.meta().flags & mark::KIND != mark::ANSWER {
            return false;
        }
        let damage = self.check.and_then(|check| check(raw.bytes()).err());
        if let Some(damage) = &damage {
            let server = &call.server.label;
            self.responses.pass_damaged(&self.service, raw.seq(), damage, server);
        }
        damage.is_none()
    }

    /// Whether a call has ended that was not handed out (or taking failed).
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.resolve(|ended| !ended.is_empty());
        let calls = self.calls.borrow();
        !calls.ended.is_empty() || calls.fault.is_some()
    }

    /// The next call that has ended.
    #[inline]
    pub(crate) fn take(&self) -> Result<Option<Ended>, TakeError> {
        if self.bell.is_some() {
            self.expire();
        }
        self.resolve(|ended| !ended.is_empty());
        let mut calls = self.calls.borrow_mut();
        if calls.ended.is_empty()
            && let Some(fault) = calls.fault.take()
        {
            self.passed.set(self.passed.get() + 1);
            return Err(fault);
        }
        let ended = calls.ended.pop_front();
        drop(calls);
        if let (Some(witness), Some(ended)) = (&self.witness, &ended) {
            self.tell_received(witness, ended);
        }
        self.passed.set(self.passed.get() + u64::from(ended.is_some()));
        if self.bell.is_some() {
            self.mark_processed();
        }
        Ok(ended)
    }

    /// Tells those who watch that a response is handed out.
    fn tell_received(&self, witness: &Witness, ended: &Ended) {
        if let Ok(raw) = &ended.result {
            let request = (self.gid(), ended.call.0);
            witness.tell(witness.note(EventKind::ResponseReceived, request, raw.bytes()));
        }
    }

    /// How often [`ClientCore::take`] has given something.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.get()
    }

    /// Origin of the next response; zeros of a call that ended otherwise.
    pub(crate) fn next_origin(&self) -> [u64; 2] {
        let calls = self.calls.borrow();
        let next = calls.ended.front().and_then(|ended| ended.result.as_ref().ok());
        next.map_or([0; 2], |raw| raw.meta().origin)
    }

    /// Waits for the end of one call.
    pub(crate) fn wait(&self, bell: &OwnBell, id: CallId) -> Result<RawSample, CallError> {
        let is_it = |ended: &Ended| ended.call == id;
        loop {
            self.expire();
            self.resolve(|ended| ended.iter().any(is_it));
            let mut calls = self.calls.borrow_mut();
            let place = calls.ended.iter().position(is_it);
            if let Some(ended) = place.and_then(|place| calls.ended.remove(place)) {
                drop(calls);
                if let Some(witness) = &self.witness {
                    self.tell_received(witness, &ended);
                }
                self.mark_processed();
                return ended.result;
            }
            if let Some(fault) = calls.fault.take() {
                drop(calls);
                self.cancel(id);
                return Err(fault.into());
            }
            drop(calls);
            self.sleep_for_calls(bell);
        }
    }

    /// Waits for the end of any call; `None`: none is under way.
    pub(crate) fn wait_for_any(&self, bell: &OwnBell) -> Result<Option<Ended>, TakeError> {
        loop {
            let ended = self.take()?;
            let waits = || self.calls.borrow().under_way.iter().any(|call| !call.given_up);
            if ended.is_some() || !waits() {
                return Ok(ended);
            }
            self.sleep_for_calls(bell);
        }
    }

    /// Sleeps until something comes for this client, or a call times out.
    fn sleep_for_calls(&self, bell: &OwnBell) {
        let deadline_ns = self.next_deadline_ns();
        let now_ns = self.clock.get().now_ns();
        self.sleep(bell, deadline_ns.map(|at| Duration::from_nanos(at.saturating_sub(now_ns))));
    }

    /// Sleeps until something comes for this client. May return without a reason.
    pub(crate) fn sleep(&self, bell: &OwnBell, timeout: Option<Duration>) {
        bell.drain(|_| {});
        bell.sleep(timeout, || self.responses.arm());
    }

    /// Shows observers that everything handed out has been dealt with.
    pub(crate) fn mark_processed(&self) {
        let calls = self.calls.borrow();
        let waiting = calls.ended.iter().filter(|ended| ended.result.is_ok()).count();
        self.responses.mark_processed(waiting as u64);
    }
}

/// The record of a client or server on the status table.
pub(crate) fn service_entity(
    participant: &Participant,
    kind: u32,
    port: u64,
    (node, service): (&str, &str),
    service_type: &ServiceType<'_>,
    depth: usize,
) -> Result<Entity, PortError> {
    let info = PortInfo {
        port,
        node: node.to_string(),
        topic: service.to_string(),
        type_name: service_type.type_name.to_string(),
        type_hash: service_type.type_hash,
        layout_hash: [0; 32],
        qos: Qos::reliable(depth, Duration::ZERO),
        maker: participant.handle.core.maker,
    };
    let description = EntityDescription {
        kind,
        name: service,
        detail: &encode_port(&info),
        histogram: WithHistogram::No,
    };
    Ok(participant.handle.core.status_table.add(description)?)
}

#[cfg(test)]
mod tests;
