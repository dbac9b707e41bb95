//! Clients and servers as executors use them: without their types, woken by a doorbell, with a
//! clock that the executor moves on.

use std::time::Duration;

use crossdock_comm::service::{CallClock, CallId};
use crossdock_comm::{
    CallError, Client, ClientOptions, Doorbell, DoorbellOptions, Participant, PortGroup, Server,
    ServerOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;

use crate::common::{LIMIT, Place};

const SERVICE: &str = "/add_two_ints";
/// Never reached on a simulated clock.
const NEVER: Duration = Duration::from_secs(120);

/// A client and a server of one executor, connected.
struct Ends {
    client: Client<AddTwoInts>,
    server: Server<AddTwoInts>,
    bell: Doorbell,
    group: PortGroup,
    participant: Participant,
    _place: Place,
}

impl Ends {
    fn new(name: &str, depth: usize) -> Ends {
        let place = Place::new(name);
        let participant = place.open("both");
        let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
        let (doorbell, group) = (Some(&bell), PortGroup::new());
        let options = ServerOptions { service: SERVICE, doorbell, ..ServerOptions::default() };
        let server = participant.server(options).unwrap();
        let options = ClientOptions {
            service: SERVICE,
            depth,
            doorbell,
            group: Some(&group),
            ..ClientOptions::default()
        };
        let client: Client<AddTwoInts> = participant.client(options).unwrap();
        assert!(participant.wait_until(LIMIT, || server.clients() == 1 && client.is_connected()));
        Ends { client, server, bell, group, participant, _place: place }
    }

    fn send(&self, a: i64, timeout: Duration) -> CallId {
        let mut request = self.client.loan(Extra::none()).unwrap();
        request.message().set_a(a);
        request.send(timeout).unwrap()
    }

    /// Answers one request with what it says.
    fn answer(&self) {
        let request = self.server.take().unwrap().unwrap();
        let mut response = request.loan(Extra::none()).unwrap();
        response.message().set_sum(request.message().a());
        response.send().unwrap();
    }

    /// What rings now.
    fn rung(&self) -> Vec<Option<u16>> {
        let mut rung = Vec::new();
        self.bell.drain(|index| rung.push(Some(index)));
        rung
    }
}

#[test]
fn requests_and_responses_ring_for_the_port_that_they_are_for() {
    let ends = Ends::new("service-bells", 4);
    let (client, server) = (ends.client.handle(), ends.server.handle());
    assert_ne!(client.doorbell_index(), server.doorbell_index());
    assert_eq!((client.service(), server.service()), (SERVICE, SERVICE));
    assert!(client.is_connected() && server.clients() == 1);
    ends.rung();
    assert!(!server.arm() && !server.is_ready().unwrap());
    ends.send(1, NEVER);
    assert_eq!(ends.rung(), [server.doorbell_index()]);
    assert!(server.arm() && server.is_ready().unwrap());
    assert!(!client.arm() && !client.is_ready());
    assert_eq!(server.passed(), 0, "it was looked at and not handed out");
    ends.answer();
    assert_eq!(ends.rung(), [client.doorbell_index()]);
    assert!(client.arm() && client.is_ready());
    assert_eq!((client.passed(), server.passed()), (0, 1));
    assert!(client.skip().unwrap() && !client.skip().unwrap());
    assert_eq!((client.passed(), ends.client.under_way()), (1, 0));
}

#[test]
fn a_server_counts_the_clients_that_have_come_and_gone() {
    let ends = Ends::new("service-clients", 4);
    let handle = ends.server.handle();
    let options = ClientOptions { service: SERVICE, ..ClientOptions::default() };
    let other: Client<AddTwoInts> = ends.participant.client(options).unwrap();
    let is_met = || handle.clients() == 2 && other.is_connected();
    assert!(ends.participant.wait_until(LIMIT, is_met));
    drop((other, ends.client));
    assert!(ends.participant.wait_until(LIMIT, || handle.clients() == 0));
}

#[test]
fn a_request_and_its_response_go_back_to_the_trigger_in_which_the_call_was_made() {
    let ends = Ends::new("service-origins", 4);
    let (client, server) = (ends.client.handle(), ends.server.handle());
    assert_eq!((client.next_origin(), server.next_origin()), ([0; 2], [0; 2]));
    ends.group.set_origin([7, 8]);
    ends.send(1, NEVER);
    ends.group.set_origin([9, 10]);
    ends.send(2, NEVER);
    assert!(server.is_ready().unwrap());
    assert_eq!(server.next_origin(), [7, 8]);
    ends.answer();
    assert!(server.is_ready().unwrap());
    assert_eq!(server.next_origin(), [9, 10]);
    // Dropped: the call ends, and not with a message.
    assert!(server.discard() && !server.discard());
    assert!(client.is_ready());
    assert_eq!(client.next_origin(), [7, 8]);
    assert_eq!(ends.client.take().unwrap().unwrap().result.unwrap().message().sum(), 1);
    assert!(client.is_ready());
    assert_eq!(client.next_origin(), [0; 2]);
    let error = ends.client.take().unwrap().unwrap().result.unwrap_err();
    assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
}

#[test]
fn a_call_times_out_at_its_own_deadline_on_the_clock_of_the_executor() {
    let ends = Ends::new("service-deadlines", 4);
    let handle = ends.client.handle();
    handle.set_clock(CallClock::Simulated(100));
    let calls = [10, 20].map(|timeout_ns| ends.send(0, Duration::from_nanos(timeout_ns)));
    for (now_ns, ended, next_ns) in
        [(109, None, Some(110)), (110, Some(calls[0]), Some(120)), (120, Some(calls[1]), None)]
    {
        handle.set_clock(CallClock::Simulated(now_ns));
        handle.expire();
        let outcome = ends.client.take().unwrap();
        assert_eq!(outcome.as_ref().map(|outcome| outcome.call), ended, "at {now_ns}");
        assert!(outcome.is_none_or(|it| matches!(it.result, Err(CallError::TimedOut { .. }))));
        assert_eq!(handle.next_deadline_ns(), next_ns);
    }
}

#[test]
fn what_a_server_has_answered_before_it_went_is_still_taken() {
    let ends = Ends::new("service-drained", 4);
    let calls = [1, 2].map(|number| ends.send(number, NEVER));
    ends.answer();
    let Ends { client, server, participant, .. } = ends;
    drop(server);
    assert!(participant.wait_until(LIMIT, || !client.is_connected()));
    let outcomes = [0, 1].map(|_| client.take().unwrap().unwrap());
    let answered = outcomes.iter().find(|outcome| outcome.call == calls[0]).unwrap();
    assert_eq!(answered.result.as_ref().unwrap().message().sum(), 1);
    let other = outcomes.iter().find(|outcome| outcome.call == calls[1]).unwrap();
    assert!(matches!(
        other.result,
        Err(CallError::ServerGone { .. } | CallError::Unanswered { .. })
    ));
}

#[test]
fn what_has_been_answered_in_time_has_not_timed_out_though_nobody_has_looked() {
    let ends = Ends::new("service-clock", 32);
    let handle = ends.client.handle();
    handle.set_clock(CallClock::Simulated(100));
    assert_eq!(handle.next_deadline_ns(), None);
    let answered = ends.send(0, Duration::from_nanos(10));
    let late = ends.send(-1, Duration::from_nanos(20));
    // More answers than responses may be held at once.
    (1..=20).for_each(|number| _ = ends.send(number, NEVER));
    assert_eq!(handle.next_deadline_ns(), Some(110));
    ends.answer();
    let held = ends.server.take().unwrap().unwrap();
    (1..=20).for_each(|_| ends.answer());
    handle.set_clock(CallClock::Simulated(120));
    handle.expire();
    let outcome = ends.client.take().unwrap().unwrap();
    assert_eq!((outcome.call, outcome.result.unwrap().message().sum()), (answered, 0));
    let (mut sums, mut timed_out) = (Vec::new(), Vec::new());
    while let Some(outcome) = ends.client.take().unwrap() {
        match outcome.result {
            Ok(response) => sums.push(response.message().sum()),
            Err(CallError::TimedOut { .. }) => timed_out.push(outcome.call),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((sums, timed_out), ((1..=20).collect(), vec![late]));
    assert!(held.is_cancelled());
}
