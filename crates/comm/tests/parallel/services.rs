//! Services between threads and processes: own responses, no copies, time-outs, cancellation, and
//! servers and clients that die in mid-call.

use crate::common;
use std::time::{Duration, Instant};

use common::child::{Process, hear, role, tell};
use common::{LIMIT, Place};
use crossdock_comm::service::{self, AnyClient, Outcome, SendError};
use crossdock_comm::status_records::{client_counter, counter, server_counter};
use crossdock_comm::{
    AnswerError, CallError, Client, ClientOptions, Observer, ObserverOptions, Participant,
    ParticipantOptions, RunId, Server, ServerOptions,
};
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_srvs::srv::SetBool;
use crossdock_msg::{Extra, Message, Service, TypeHash};

const SERVICE: &str = "/add_two_ints";
/// Never reached: what waits for so long has failed.
const NEVER: Duration = Duration::from_secs(120);

/// An image there, an image back.
enum Invert {}

impl Service for Invert {
    const TYPE_NAME: &'static str = "test_srvs/srv/Invert";
    const TYPE_HASH: TypeHash = TypeHash([7; 32]);
    type Request = Image;
    type Response = Image;
}

fn client<S: Service>(participant: &Participant, depth: usize) -> Client<S> {
    let options = ClientOptions { service: SERVICE, depth, ..ClientOptions::default() };
    participant.client(options).unwrap()
}

fn server<S: Service>(participant: &Participant) -> Server<S> {
    let options = ServerOptions { service: SERVICE, ..ServerOptions::default() };
    participant.server(options).unwrap()
}

fn request(
    client: &Client<AddTwoInts>,
    a: i64,
    b: i64,
) -> crossdock_comm::service::RequestLoan<'_, AddTwoInts> {
    let mut request = client.loan(Extra::none()).unwrap();
    request.message().set_a(a);
    request.message().set_b(b);
    request
}

fn answer(request: &crossdock_comm::Request<AddTwoInts>) {
    let mut response = request.loan(Extra::none()).unwrap();
    response.message().set_sum(request.message().a() + request.message().b());
    response.send().unwrap();
}

/// Answers until the parent says nothing more, or kills this process.
fn serve_until_told(participant: &Participant) {
    let server = server::<AddTwoInts>(participant);
    tell("serving");
    let ended = std::thread::spawn(|| while hear().is_some() {});
    while !ended.is_finished() {
        if server.wait(Duration::from_millis(50)).unwrap() {
            answer(&server.take().unwrap().unwrap());
        }
    }
}

/// Waits for what another process or thread does.
#[track_caller]
fn eventually(mut is_met: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + LIMIT;
    while !is_met() {
        assert!(std::time::Instant::now() < end, "it did not happen");
        std::thread::yield_now();
    }
}

/// Waits for the next call of a client to end.
fn next_outcome<S: Service>(client: &Client<S>) -> Outcome<S> {
    let end = std::time::Instant::now() + LIMIT;
    while std::time::Instant::now() < end {
        if let Some(outcome) = client.take().unwrap() {
            return outcome;
        }
        std::thread::yield_now();
    }
    panic!("no call has ended");
}

fn next_request(server: &Server<AddTwoInts>) -> crossdock_comm::Request<AddTwoInts> {
    assert!(server.wait(LIMIT).unwrap(), "no request has come");
    server.take().unwrap().unwrap()
}

#[test]
fn four_clients_at_once_get_their_own_responses_only() {
    let place = Place::new("four-clients");
    const CALLS: i64 = 200;
    let clients: Vec<_> = (0..4i64)
        .map(|number| {
            let options = place.options(&format!("client {number}"));
            std::thread::spawn(move || {
                let participant = Participant::open(options).unwrap();
                let client = client::<AddTwoInts>(&participant, 8);
                assert!(client.wait_for_server(LIMIT));
                // Eight calls under way at a time, each with what only this client asks.
                let mut sent = 0;
                let mut sums: Vec<i64> = Vec::new();
                while (sums.len() as i64) < CALLS {
                    while sent < CALLS
                        && request(&client, number * 1_000_000, sent).send(NEVER).is_ok()
                    {
                        sent += 1;
                    }
                    let outcome = next_outcome(&client);
                    sums.push(outcome.result.unwrap().message().sum());
                }
                let wanted: Vec<_> = (0..CALLS).map(|call| number * 1_000_000 + call).collect();
                assert_eq!(sums, wanted);
                assert_eq!(client.counter(client_counter::RESPONSES), CALLS as u64);
                assert_eq!(client.counter(client_counter::LATE), 0);
            })
        })
        .collect();
    let participant = place.open("server");
    let server = server::<AddTwoInts>(&participant);
    for _ in 0..4 * CALLS {
        answer(&next_request(&server));
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert_eq!(server.counter(server_counter::RESPONSES), 4 * CALLS as u64);
}

#[test]
fn calls_between_processes_are_answered_and_a_killed_server_ends_them_at_once() {
    let test =
        "services::calls_between_processes_are_answered_and_a_killed_server_ends_them_at_once";
    if let Some((role, place)) = role() {
        let participant = Place::of_parent(&place, "server");
        if role == "answers" {
            return serve_until_told(&participant);
        }
        // Takes requests and never answers.
        let server = server::<AddTwoInts>(&participant);
        tell("serving");
        let first = next_request(&server);
        let second = next_request(&server);
        tell("holds two");
        hear();
        drop((first, second));
        return;
    }
    let place = Place::new("killed-server");
    let participant = place.open("client");
    let client = client::<AddTwoInts>(&participant, 8);
    let refused = request(&client, 1, 1).call(NEVER).unwrap_err();
    assert!(
        matches!(&refused, CallError::NotSent(SendError::NoServer { mismatch: None, .. })),
        "{refused}"
    );
    assert!(!client.wait_for_server(Duration::ZERO));

    let mut holder = Process::start(test, "holds", place.path());
    holder.expect("serving");
    assert!(client.wait_for_server(LIMIT));
    let first = request(&client, 1, 2).send(NEVER).unwrap();
    let second = request(&client, 3, 4).send(NEVER).unwrap();
    holder.expect("holds two");
    holder.kill();
    for call in [first, second] {
        let outcome = next_outcome(&client);
        assert_eq!(outcome.call, call);
        let error = outcome.result.unwrap_err();
        assert!(matches!(error, CallError::ServerGone { .. }), "{error}");
        assert!(error.to_string().contains("process `server`"), "{error}");
    }
    assert_eq!(client.under_way(), 0);

    // The same client goes on with the next server, and a call that waits ends as well.
    let mut server = Process::start(test, "answers", place.path());
    server.expect("serving");
    assert!(client.wait_for_server(LIMIT));
    for number in 0..100 {
        let response = request(&client, number, 1).call(LIMIT).unwrap();
        assert_eq!(response.message().sum(), number + 1);
    }
    server.finish();
    let mut holder = Process::start(test, "holds", place.path());
    holder.expect("serving");
    assert!(client.wait_for_server(LIMIT));
    let _under_way = request(&client, 1, 2).send(NEVER).unwrap();
    let killer = std::thread::spawn(move || {
        holder.expect("holds two");
        holder.kill();
    });
    let error = request(&client, 5, 6).call(NEVER).unwrap_err();
    assert!(matches!(error, CallError::ServerGone { .. }), "{error}");
    killer.join().unwrap();
}

#[test]
fn a_stopped_server_costs_its_clients_their_time_out_and_is_back_when_it_goes_on() {
    let test =
        "services::a_stopped_server_costs_its_clients_their_time_out_and_is_back_when_it_goes_on";
    if let Some((_, place)) = role() {
        return serve_until_told(&Place::of_parent(&place, "server"));
    }
    let place = Place::new("stopped_server");
    let child = {
        let mut child = Process::start(test, "server", place.path());
        child.expect("serving");
        child
    };
    let participant = place.open("client");
    let client = client::<AddTwoInts>(&participant, 2);
    assert!(client.wait_for_server(LIMIT));
    assert_eq!(request(&client, 1, 2).call(NEVER).unwrap().message().sum(), 3);
    child.stop();
    // Every call takes as long as it says, and says whom it has waited for.
    let mut timed_out = 0;
    loop {
        match request(&client, 1, 2).send(Duration::from_millis(5)) {
            Ok(_) => match next_outcome(&client).result.unwrap_err() {
                error @ CallError::TimedOut { .. } => {
                    assert!(error.to_string().contains("server"), "{error}");
                    timed_out += 1;
                }
                error => panic!("{error}"),
            },
            // Its requests are still with the server.
            Err(refused) => {
                assert!(matches!(refused.reason, SendError::Busy { .. }), "{}", refused.reason);
                break;
            }
        }
    }
    assert_eq!(timed_out, 2, "as many as may be under way");
    // Others call each other meanwhile.
    let other = place.open("other");
    let options = ServerOptions { service: "/other", ..ServerOptions::default() };
    let near: Server<AddTwoInts> = other.server(options).unwrap();
    let options = ClientOptions { service: "/other", ..ClientOptions::default() };
    let far: Client<AddTwoInts> = participant.client(options).unwrap();
    // A server makes room for its clients when it is looked at.
    eventually(|| near.clients() == 1 && far.is_connected());
    request(&far, 3, 4).send(NEVER).unwrap();
    answer(&next_request(&near));
    assert_eq!(next_outcome(&far).result.unwrap().message().sum(), 7);
    child.signal(rustix::process::Signal::CONT);
    // What was given up is not carried out or not delivered; then there is room again.
    eventually(|| match request(&client, 5, 6).send(NEVER) {
        Ok(_) => true,
        Err(refused) => {
            assert!(matches!(refused.reason, SendError::Busy { .. }), "{}", refused.reason);
            // Its answers are looked at where outcomes are.
            assert!(client.take().unwrap().is_none());
            false
        }
    });
    assert_eq!(next_outcome(&client).result.unwrap().message().sum(), 11);
    assert_eq!(client.counter(client_counter::TIMED_OUT), 2);
    assert_eq!(client.counter(client_counter::SERVER_GONE), 0);
    child.finish();
}

/// Asks for images and stands still; then it says how its calls ended.
fn ask_for_images(participant: &Participant) {
    let client = client::<Invert>(participant, 4);
    assert!(client.wait_for_server(LIMIT));
    for _ in 0..4 {
        client.loan(Extra::none()).unwrap().send(NEVER).unwrap();
    }
    tell("asked");
    assert!(hear().is_some());
    let mut ends: Vec<_> = std::iter::repeat_with(|| next_outcome(&client)).take(4).collect();
    ends.sort_by_key(|end| end.call);
    let ends = ends.into_iter().map(|end| match end.result {
        Ok(image) => format!("{}", image.message().width()),
        Err(CallError::Unanswered { .. }) => "unanswered".to_owned(),
        Err(error) => panic!("{error}"),
    });
    tell(&ends.collect::<Vec<_>>().join(" "));
    hear();
}

const LARGE_BYTES: usize = 1 << 20;

#[test]
fn a_stopped_client_is_waited_for_once_and_ends_no_server_where_memory_grows_for_its_responses() {
    let test = "services::a_stopped_client_is_waited_for_once_and_ends_no_server_where_memory_grows_\
                for_its_responses";
    if let Some((_, place)) = role() {
        return ask_for_images(&Place::of_parent(&place, "stops"));
    }
    let place = Place::new("stopped-client");
    let participant = place.open("server");
    let server = server::<Invert>(&participant);
    let mut stops = Process::start(test, "client", place.path());
    let mut requests = Vec::new();
    while requests.len() < 4 {
        assert!(server.wait(LIMIT).unwrap());
        while let Some(request) = server.take().unwrap() {
            requests.push(request);
        }
    }
    stops.expect("asked");
    stops.stop();
    let [first, second, third, fourth] = requests.try_into().unwrap_or_else(|_| panic!());
    let extra = Extra::none().bytes(LARGE_BYTES);
    // A node that answers in place hears nothing of it: the request is unanswered.
    let mut response = first.loan(extra).unwrap();
    response.message().set_width(7);
    response.send().unwrap();
    drop(first);
    assert_eq!(server.counter(server_counter::UNANSWERED), 1);
    let answer = |ticket: &_, width| {
        server.answer(ticket, extra, |mut image| {
            image.set_width(width);
            image.data_uninit(LARGE_BYTES).map(|data| data.fill(1))
        })
    };
    let (second, third) = (second.into_ticket(), third.into_ticket());
    let waits = Instant::now();
    for _ in 0..20 {
        let refused = answer(&second, 2);
        assert!(matches!(refused, Err(AnswerError::StandsStill { .. })), "{refused:?}");
    }
    // Each wait would be a second.
    assert!(waits.elapsed() < Duration::from_secs(10));
    // What lies in memory that it has is sent meanwhile.
    let mut small = fourth.loan(Extra::none()).unwrap();
    small.message().set_width(4);
    small.send().unwrap();
    drop(fourth);
    stops.signal(rustix::process::Signal::CONT);
    eventually(|| answer(&second, 2).is_ok());
    answer(&third, 3).unwrap();
    stops.say("go on");
    stops.expect("unanswered 2 3 4");
    stops.say("end");
    stops.finish();
}

#[test]
fn a_stopped_server_is_waited_for_once_where_memory_grows_for_a_request() {
    let test = "services::a_stopped_server_is_waited_for_once_where_memory_grows_for_a_request";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "stops");
        let server = server::<Invert>(&participant);
        tell("serves");
        assert!(server.wait(LIMIT).unwrap());
        let request = server.take().unwrap().unwrap();
        let mut response = request.loan(Extra::none()).unwrap();
        response.message().set_width(request.message().data().unwrap().len() as u32);
        response.send().unwrap();
        drop(request);
        hear();
        return;
    }
    let place = Place::new("stopped-server");
    let participant = place.open("client");
    let client = client::<Invert>(&participant, 4);
    let mut stops = Process::start(test, "server", place.path());
    stops.expect("serves");
    assert!(client.wait_for_server(LIMIT));
    stops.stop();
    let waits = Instant::now();
    let send = || {
        let mut request = client.loan(Extra::none().bytes(LARGE_BYTES)).unwrap();
        request.message().data_uninit(LARGE_BYTES).unwrap().fill(1);
        request.send(NEVER).map_err(|refused| refused.reason)
    };
    for _ in 0..20 {
        let refused = send();
        assert!(matches!(refused, Err(SendError::StandsStill { .. })), "{refused:?}");
    }
    // Each wait would be a second.
    assert!(waits.elapsed() < Duration::from_secs(10));
    stops.signal(rustix::process::Signal::CONT);
    eventually(|| send().is_ok());
    let response = next_outcome(&client).result.unwrap();
    assert_eq!(response.message().width(), LARGE_BYTES as u32);
    drop(response);
    stops.say("end");
    stops.finish();
}

#[test]
fn a_killed_client_is_seen_by_the_server_and_the_others_are_served() {
    let test = "services::a_killed_client_is_seen_by_the_server_and_the_others_are_served";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "client");
        let client = client::<AddTwoInts>(&participant, 8);
        assert!(client.wait_for_server(LIMIT));
        request(&client, 1, 2).send(NEVER).unwrap();
        request(&client, 3, 4).send(NEVER).unwrap();
        tell("sent");
        hear();
        return;
    }
    let place = Place::new("killed-client");
    let participant = place.open("server");
    let server = server::<AddTwoInts>(&participant);
    let mut child = Process::start(test, "client", place.path());
    let held = next_request(&server);
    child.expect("sent");
    assert!(!held.is_cancelled());
    assert!(held.client().contains("process `client`"), "{}", held.client());
    child.kill();
    eventually(|| held.is_cancelled());
    answer(&held);
    // Its other request is gone with it.
    assert!(server.take().unwrap().is_none());
    let other = place.open("other");
    let other = client::<AddTwoInts>(&other, 8);
    let call = || request(&other, 2, 2).send(NEVER);
    eventually(|| server.clients() == 1 && other.is_connected());
    call().unwrap();
    answer(&next_request(&server));
    assert_eq!(next_outcome(&other).result.unwrap().message().sum(), 4);
}

/// Client and server of one participant, connected.
fn pair<S: Service>(name: &str, depth: usize) -> (Place, Participant, Client<S>, Server<S>) {
    let place = Place::new(name);
    let participant = place.open("both");
    let (client, server) = (client::<S>(&participant, depth), server::<S>(&participant));
    assert_eq!(server.clients(), 1);
    assert!(client.is_connected());
    (place, participant, client, server)
}

/// The memory object and the offset in it that an address is mapped to: the same for everybody who
/// reads the same bytes, whatever the address.
fn place_of(address: *const u8) -> (String, u64) {
    let address = address as u64;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let number = |digits: &str| u64::from_str_radix(digits, 16).unwrap();
    for line in maps.lines() {
        let columns: Vec<_> = line.split_whitespace().collect();
        let (start, end) = columns[0].split_once('-').unwrap();
        if (number(start)..number(end)).contains(&address) {
            return (columns[4].to_string(), number(columns[2]) + address - number(start));
        }
    }
    panic!("nothing is mapped at {address:#x}");
}

#[test]
fn eight_mib_go_both_ways_without_a_copy() {
    const BYTES: usize = 8 << 20;
    let place = Place::new("large-calls");
    let participant = place.open("both");
    let max = Some(BYTES + 4096);
    let options =
        ClientOptions { service: SERVICE, max_request_bytes: max, ..ClientOptions::default() };
    let client = participant.client::<Invert>(options).unwrap();
    let options =
        ServerOptions { service: SERVICE, max_response_bytes: max, ..ServerOptions::default() };
    let server = participant.server::<Invert>(options).unwrap();
    assert_eq!(server.clients(), 1);
    for round in 0..3u8 {
        let mut loan = client.loan(Extra::none().bytes(BYTES)).unwrap();
        let mut image = loan.message();
        let data = image.data_uninit(BYTES).unwrap();
        data.fill(round);
        let written_at = place_of(data.as_ptr());
        loan.send(NEVER).unwrap();
        let request = server.take().unwrap().unwrap();
        let asked = request.message().data().unwrap();
        assert_eq!(place_of(asked.as_ptr()), written_at, "the request was moved");
        let mut response = request.loan(Extra::none().bytes(BYTES)).unwrap();
        let mut image = response.message();
        let data = image.data_uninit(BYTES).unwrap();
        data.iter_mut().zip(asked).for_each(|(out, byte)| *out = !byte);
        let answered_at = place_of(data.as_ptr());
        response.send().unwrap();
        drop(request);
        let response = next_outcome(&client).result.unwrap();
        let got = response.message().data().unwrap();
        assert_eq!(place_of(got.as_ptr()), answered_at, "the response was moved");
        assert!(got.len() == BYTES && got.iter().all(|byte| *byte == !round));
    }
    let options = ObserverOptions {
        domain_id: 0,
        name: "observer".into(),
        rendezvous: crossdock_comm::Rendezvous::Folder(place.0.clone()),
        access: crossdock_comm::Access::SameUser,
    };
    let snapshot = Observer::open(options).unwrap().snapshot().unwrap();
    let ports = snapshot.processes.iter().flat_map(|process| &process.publishers);
    let bytes: Vec<_> =
        ports.map(|port| (port.counters[counter::COPIES], port.counters[counter::BYTES])).collect();
    assert_eq!(bytes.len(), 2, "requests and responses");
    assert!(bytes.iter().all(|(copies, bytes)| *copies == 0 && *bytes > 3 * BYTES as u64));
    let seen = &snapshot.processes[0];
    let copies: Vec<_> =
        seen.subscribers.iter().map(|port| port.counters[counter::COPIES]).collect();
    assert_eq!(copies, [0, 0]);
    let [asked, served] = [&seen.clients[..], &seen.servers[..]].map(|ports| match ports {
        [port] => (port.topic.as_str(), port.counters[client_counter::CALLS]),
        ports => panic!("{ports:?}"),
    });
    assert_eq!((asked, served), ((SERVICE, 3), (SERVICE, 3)));
    assert_eq!(seen.clients[0].qos.depth, service::DEPTH, "as its options say");
}

#[test]
fn a_time_out_ends_the_call_and_the_late_response_is_dropped_and_counted() {
    let (_place, _participant, client, server) = pair::<AddTwoInts>("time-out", 4);
    let call = request(&client, 1, 2).send(Duration::from_millis(1)).unwrap();
    let held = next_request(&server);
    let outcome = next_outcome(&client);
    assert_eq!(outcome.call, call);
    let error = outcome.result.unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error}");
    assert!(held.is_cancelled(), "the server is told");
    assert_eq!(client.under_way(), 1, "the server has not done with it");
    answer(&held);
    assert!(client.take().unwrap().is_none());
    assert_eq!((client.counter(client_counter::LATE), client.under_way()), (1, 0));
    assert_eq!(client.counter(client_counter::TIMED_OUT), 1);
    // The next call gets its own response.
    request(&client, 5, 6).send(NEVER).unwrap();
    answer(&next_request(&server));
    assert_eq!(next_outcome(&client).result.unwrap().message().sum(), 11);
}

#[test]
fn what_a_client_gives_up_is_not_taken_or_seen_to_be_given_up() {
    let (_place, _participant, client, server) = pair::<AddTwoInts>("cancel", 8);
    let calls: Vec<_> =
        (0..4).map(|number| request(&client, number, 0).send(NEVER).unwrap()).collect();
    let first = next_request(&server);
    assert!(!first.is_cancelled());
    // One that is being worked at, one that was not taken yet.
    assert!(client.cancel(calls[0]) && client.cancel(calls[2]));
    assert!(!client.cancel(calls[2]), "it was given up already");
    assert!(first.is_cancelled());
    drop(first);
    for wanted in [1, 3] {
        let request = next_request(&server);
        assert_eq!(request.message().a(), wanted);
        assert!(!request.is_cancelled());
        answer(&request);
    }
    assert!(server.take().unwrap().is_none());
    for call in [calls[1], calls[3]] {
        let outcome = next_outcome(&client);
        assert_eq!(outcome.call, call);
        outcome.result.unwrap();
    }
    assert!(client.take().unwrap().is_none());
    assert_eq!((client.under_way(), client.counter(client_counter::CANCELLED)), (0, 2));
    assert_eq!(server.counter(server_counter::CANCELLED), 1);
    assert!(!client.cancel(calls[1]), "it has ended");
}

#[test]
fn a_server_that_is_slower_than_the_depth_holds_its_clients_up_and_loses_nothing() {
    const DEPTH: usize = 3;
    let (_place, _participant, client, server) = pair::<AddTwoInts>("slow-server", DEPTH);
    for number in 0..DEPTH as i64 {
        request(&client, number, 0).send(NEVER).unwrap();
    }
    let refused = request(&client, 99, 0).send(NEVER).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused.reason, SendError::Busy { under_way: DEPTH, .. }), "{text}");
    assert!(text.contains("depth is 3"), "{text}");
    // It comes back, and goes out once there is room.
    let kept = refused.loan;
    // Answers out of order are told apart.
    let held: Vec<_> = (0..DEPTH).map(|_| next_request(&server)).collect();
    held.iter().rev().for_each(answer);
    drop(held);
    let sums: Vec<_> = (0..DEPTH)
        .map(|_| next_outcome(&client))
        .map(|outcome| (outcome.call.sequence(), outcome.result.unwrap().message().sum()))
        .collect();
    assert_eq!(sums, [(3, 2), (2, 1), (1, 0)]);
    kept.send(NEVER).unwrap();
    answer(&next_request(&server));
    assert_eq!(next_outcome(&client).result.unwrap().message().sum(), 99);
    assert_eq!(client.counter(client_counter::REFUSED), 1);
}

#[test]
fn a_server_may_hold_as_many_requests_as_it_can_and_goes_on_when_it_drops_one() {
    let (_place, _participant, client, server) = pair::<AddTwoInts>("holding-server", 64);
    for number in 0..64 {
        request(&client, number, 0).send(NEVER).unwrap();
    }
    let mut held = Vec::new();
    while let Some(request) = server.take().unwrap() {
        held.push(request);
    }
    assert!((4..=15).contains(&held.len()), "{} are held", held.len());
    let dropped = held.len() as i64;
    held.clear();
    for _ in 0..dropped {
        let error = next_outcome(&client).result.unwrap_err();
        assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    }
    for number in dropped..64 {
        let request = next_request(&server);
        assert_eq!(request.message().a(), number);
        answer(&request);
        drop(request);
        assert_eq!(next_outcome(&client).result.unwrap().message().sum(), number);
    }
}

#[test]
fn a_call_that_no_held_response_makes_room_for_fails_at_once() {
    const DEPTH: i64 = 32;
    let (_place, _participant, client, server) = pair::<AddTwoInts>("held-responses", 32);
    (0..DEPTH).for_each(|number| _ = request(&client, number, 0).send(NEVER).unwrap());
    (0..DEPTH).for_each(|_| answer(&next_request(&server)));
    let held: Vec<_> = (0..15).map(|_| next_outcome(&client).result.unwrap()).collect();
    (0..15).for_each(|number| _ = request(&client, number, 0).send(NEVER).unwrap());
    // All calls are under way, and the responses that are there cannot be taken.
    let error = request(&client, 1, 1).call(NEVER).unwrap_err();
    assert!(matches!(error, CallError::Take(_)), "{error}");
    drop(held);
    let sums: Vec<_> =
        (15..DEPTH).map(|_| next_outcome(&client).result.unwrap().message().sum()).collect();
    assert_eq!(sums, (15..DEPTH).collect::<Vec<_>>());
}

#[test]
fn a_second_server_stands_by_and_takes_over_when_the_first_goes() {
    let place = Place::new("stand-by");
    let (one, two, three) = (place.open("one"), place.open("two"), place.open("three"));
    let first = server::<AddTwoInts>(&one);
    let client = client::<AddTwoInts>(&three, 8);
    eventually(|| first.clients() == 1 && client.is_connected());
    let second = server::<AddTwoInts>(&two);
    // It is told why it is not asked.
    eventually(|| {
        two.take_events().0.iter().any(|event| event.to_string().contains("one at a time"))
    });
    request(&client, 1, 1).send(NEVER).unwrap();
    answer(&next_request(&first));
    assert_eq!(next_outcome(&client).result.unwrap().message().sum(), 2);
    assert_eq!(second.clients(), 0);
    request(&client, 1, 1).send(NEVER).unwrap();
    let held = next_request(&first);
    drop((held, first));
    next_outcome(&client).result.unwrap_err();
    eventually(|| second.clients() == 1 && client.is_connected());
    request(&client, 2, 3).send(NEVER).unwrap();
    answer(&next_request(&second));
    assert_eq!(next_outcome(&client).result.unwrap().message().sum(), 5);
}

#[test]
fn clients_of_a_run_are_counted_without_processes_beside_it() {
    let place = Place::new("clients-in-run");
    let run = RunId::random().unwrap();
    let of_run = |name| {
        let options = ParticipantOptions { run: Some(run), ..place.options(name) };
        Participant::open(options).unwrap()
    };
    let (one, two, beside) = (of_run("one"), of_run("two"), place.open("beside"));
    let server = server::<AddTwoInts>(&one);
    let other = client::<AddTwoInts>(&beside, 8);
    eventually(|| server.clients() == 1 && other.is_connected());
    assert_eq!(server.handle().clients_in_run(), 0);
    let ours = client::<AddTwoInts>(&two, 8);
    eventually(|| server.clients() == 2 && ours.is_connected());
    assert_eq!(server.handle().clients_in_run(), 1);
}

/// Servers of one service: the first one that a client has met answers, and when it goes the next.
fn take_turns(client: &Client<AddTwoInts>, mut servers: Vec<Server<AddTwoInts>>) {
    let mut number = 0;
    while !servers.is_empty() {
        eventually(|| servers.iter().any(|it| it.clients() == 1) && client.is_connected());
        let serving = servers.iter().position(|server| server.clients() == 1).unwrap();
        for _ in 0..3 {
            number += 1;
            request(client, number, number).send(NEVER).unwrap();
            answer(&next_request(&servers[serving]));
            assert_eq!(next_outcome(client).result.unwrap().message().sum(), 2 * number);
        }
        for (place, other) in servers.iter().enumerate().filter(|(place, _)| *place != serving) {
            assert_eq!(other.clients(), 0, "server {place} has a client that is served");
            assert!(other.take().unwrap().is_none(), "server {place} got a request, too");
        }
        drop(servers.remove(serving));
    }
    eventually(|| !client.is_connected());
    let error = request(client, 1, 1).send(NEVER).unwrap_err().reason.to_string();
    assert!(!error.contains("one at a time"), "{error}");
}

#[test]
fn several_servers_of_one_process_stand_by_for_each_other() {
    let place = Place::new("several-servers");
    let (here, there) = (place.open("here"), place.open("there"));
    for (server_side, client_side) in [(&here, &here), (&here, &there)] {
        // Before the client and after it.
        let mut servers = vec![server(server_side), server(server_side)];
        let client = client::<AddTwoInts>(client_side, 8);
        eventually(|| servers.iter().any(|it| it.clients() == 1) && client.is_connected());
        servers.push(server(server_side));
        take_turns(&client, servers);
    }
    // Two of one process, one of another.
    let servers = vec![server(&here), server(&there), server(&here)];
    take_turns(&client(&there, 8), servers);
}

#[test]
fn clients_find_a_server_that_takes_the_place_of_another_one_at_once() {
    let place = Place::new("server-again");
    let (here, there) = (place.open("here"), place.open("there"));
    let clients = [client::<AddTwoInts>(&here, 8), client(&there, 8)];
    for number in 0..20 {
        let server = server::<AddTwoInts>(&here);
        for client in &clients {
            eventually(|| server.clients() == clients.len() && client.is_connected());
            request(client, number, 1).send(NEVER).unwrap();
            answer(&next_request(&server));
            assert_eq!(next_outcome(client).result.unwrap().message().sum(), number + 1);
        }
    }
}

#[test]
fn a_client_of_another_type_is_refused_by_name_of_both_sides() {
    let place = Place::new("service-types");
    let (one, two) = (place.open("one"), place.open("two"));
    let _server = server::<SetBool>(&one);
    let here = one.client::<AddTwoInts>(ClientOptions { service: SERVICE, ..Default::default() });
    let text = here.unwrap_err().to_string();
    assert!(text.contains("AddTwoInts") && text.contains("SetBool"), "{text}");
    let client = client::<AddTwoInts>(&two, 8);
    let mut text = String::new();
    eventually(|| {
        text = request(&client, 1, 1).call(NEVER).unwrap_err().to_string();
        text.contains("AddTwoInts")
    });
    let service = format!("service `{SERVICE}`");
    let types = ["srv/AddTwoInts`", "srv/SetBool`", "rename one of the services"];
    for part in ["process `one`", "process `two`", &service].into_iter().chain(types) {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    // Users know of no topic behind it.
    assert!(!text.contains("topic"), "{text}");
}

#[test]
fn calls_of_a_type_known_at_run_time_are_the_same_calls() {
    let test = "services::calls_of_a_type_known_at_run_time_are_the_same_calls";
    if let Some((_, place)) = role() {
        return serve_until_told(&Place::of_parent(&place, "server"));
    }
    let place = Place::new("any-client");
    let participant = place.open("client");
    let schema = crossdock_msg::ServiceSchema::shipped(AddTwoInts::TYPE_NAME).unwrap();
    let options = ClientOptions { service: SERVICE, ..ClientOptions::default() };
    let client: AnyClient = participant.any_client(schema.into(), options).unwrap();
    let mut server = Process::start(test, "server", place.path());
    server.expect("serving");
    assert!(client.wait_for_server(LIMIT));
    let mut cdr = vec![0, 1, 0, 0];
    cdr.extend(40i64.to_le_bytes());
    cdr.extend(2i64.to_le_bytes());
    let response = client.call_cdr(&cdr, LIMIT).unwrap();
    let json = response.schema().response().to_json(response.block()).unwrap();
    assert_eq!(json, serde_json::json!({ "sum": 42 }));
    assert!(client.call_cdr(&cdr[..8], LIMIT).is_err(), "cut off");
    server.finish();
    assert_eq!(<AddTwoInts as Service>::Request::ROOT_BYTES, 16);
}
