//! Free ports: used by several threads, one at a time, while peers come, go and are killed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossdock_comm::service::{AnyClient, AnyServer, Outcome, SendError, SendFlatError};
use crossdock_comm::status_records::{client_counter, counter, server_counter};
use crossdock_comm::{
    Access, AnswerError, AnyPublisher, AnySubscriber, AnyThread, BackPressure, CallError, CallId,
    Client, DoorbellOptions, FreeClientOptions, FreePublisherOptions, FreeServerOptions,
    FreeSubscriberOptions, Observer, ObserverOptions, Participant, Publisher, Qos, Rendezvous,
    Server, SharedDoorbell, Subscriber, Ticket,
};
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::{Extra, FlatError, ServiceSchema};

use crate::common::child::{Process, hear, role, tell};
use crate::common::{LIMIT, Place, check, publish, publisher, reliable, subscriber};

const fn is_send<T: Send>() {}
const fn is_shared<T: Send + Sync>() {}

const _: () = {
    is_send::<Publisher<Image, AnyThread>>();
    is_send::<Subscriber<Image, AnyThread>>();
    is_send::<AnyPublisher<AnyThread>>();
    is_send::<AnySubscriber<AnyThread>>();
    is_send::<Client<AddTwoInts, AnyThread>>();
    is_send::<Server<AddTwoInts, AnyThread>>();
    is_send::<AnyClient<AnyThread>>();
    is_send::<AnyServer<AnyThread>>();
    is_shared::<Ticket>();
    is_shared::<SharedDoorbell>();
};

fn free_publisher(participant: &Participant, topic: &str, qos: Qos) -> Publisher<Image, AnyThread> {
    let options = FreePublisherOptions { node: "source", topic, qos, max_bytes: Some(8192) };
    participant.free_publisher(options).unwrap()
}

fn free_subscriber(
    participant: &Participant,
    topic: &str,
    doorbell: Option<&SharedDoorbell>,
) -> Subscriber<Image, AnyThread> {
    let (qos, back_pressure) = (reliable(8), BackPressure::All);
    let options = FreeSubscriberOptions { node: "sink", topic, qos, back_pressure, doorbell };
    participant.free_subscriber(options).unwrap()
}

/// Waits until it holds, whoever brings it about.
fn until(is_met: impl Fn() -> bool) -> bool {
    let end = Instant::now() + LIMIT;
    while !is_met() {
        if Instant::now() > end {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Publishes message `number` on a free port.
fn send(output: &Publisher<Image, AnyThread>, number: u32) {
    let bytes = 64 + (number as usize * 37) % 1000;
    let mut loan = output.loan(Extra::none().text(4).bytes(bytes)).unwrap();
    let mut image = loan.message();
    image.set_height(number);
    image.set_width(bytes as u32);
    image.set_encoding("rgb8").unwrap();
    image.data_uninit(bytes).unwrap().fill(number as u8);
    loan.set_stamp_ns(u64::from(number));
    loan.set_origin([u64::from(number), !u64::from(number)]);
    loan.publish().unwrap();
}

/// A child that publishes or subscribes until it is killed.
fn child(place: &str, role: &str) {
    let participant = Place::of_parent(place, role);
    if role == "publish" {
        let output = publisher(&participant, "/there", Qos::best_effort(8));
        tell("ready");
        for number in 1.. {
            publish(&output, number);
            std::thread::yield_now();
        }
    }
    let input = subscriber(&participant, "/here", Qos::best_effort(8));
    tell("ready");
    let mut kept = std::collections::VecDeque::new();
    loop {
        if let Some(sample) = input.take().unwrap() {
            check(&sample);
            kept.push_back(sample);
            kept.truncate(3);
        }
        std::thread::yield_now();
    }
}

#[test]
fn ports_are_used_by_any_thread_while_peers_come_go_and_are_killed() {
    let test = "any_thread::ports_are_used_by_any_thread_while_peers_come_go_and_are_killed";
    if let Some((role, place)) = role() {
        return child(&place, &role);
    }
    let place = Place::new("any-thread");
    let participant = place.open("parent");
    let output = Mutex::new((free_publisher(&participant, "/here", reliable(8)), 0));
    let options = FreeSubscriberOptions {
        node: "sink",
        topic: "/there",
        qos: Qos::best_effort(8),
        back_pressure: BackPressure::Never,
        doorbell: None,
    };
    let input: Mutex<Subscriber<Image, _>> =
        Mutex::new(participant.free_subscriber(options).unwrap());
    let (over, seen) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut kept = None;
                while !over.load(Ordering::Relaxed) {
                    let (output, number) = &mut *output.lock().unwrap();
                    *number += 1;
                    send(output, *number);
                    // A sample outlives the lock, on this thread.
                    if let Some(sample) = input.lock().unwrap().take().unwrap() {
                        check(&sample);
                        seen.fetch_add(1, Ordering::Relaxed);
                        kept = Some(sample);
                    }
                    std::thread::yield_now();
                }
                drop(kept);
            });
        }
        for round in 0..6 {
            let mut children =
                [("publish"), ("subscribe")].map(|role| Process::start(test, role, place.path()));
            children.iter_mut().for_each(|child| child.expect("ready"));
            let before = seen.load(Ordering::Relaxed);
            let end = Instant::now() + LIMIT;
            let there = || {
                let peers = output.lock().unwrap().0.peers();
                peers == 1 && seen.load(Ordering::Relaxed) > before + 10
            };
            while !there() {
                assert!(Instant::now() < end, "round {round}: not connected");
                std::thread::yield_now();
            }
            children.iter_mut().for_each(|child| _ = child.kill_running());
            children.into_iter().for_each(Process::was_killed);
            assert!(participant.wait_until(LIMIT, || output.lock().unwrap().0.peers() == 0));
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_subscriber_that_no_publisher_waits_for_lets_it_go_on_whatever_thread_has_it() {
    let place = Place::new("free_pressure");
    let participant = place.open("both");
    let (topic, qos, doorbell) = ("/image", reliable(4), None);
    let output = free_publisher(&participant, topic, qos);
    let back_pressure = BackPressure::Never;
    let options = FreeSubscriberOptions { node: "sink", topic, qos, back_pressure, doorbell };
    let input: Subscriber<Image, AnyThread> = participant.free_subscriber(options).unwrap();
    assert!(until(|| input.matched() == 1 && output.matched() == 1));
    (1..=20).for_each(|number| send(&output, number));
    assert_eq!(output.counters().waits, 0);
    assert_eq!(input.take().unwrap().unwrap().message().height(), 17, "the last four");
}

#[test]
fn threads_share_a_doorbell_and_whatever_they_do_when_it_rings_hurts_nobody_else() {
    let place = Place::new("shared-doorbell");
    let participant = place.open("here");
    let bell = participant.shared_doorbell(DoorbellOptions::default()).unwrap();
    let (calm, wild) = (
        free_subscriber(&participant, "/calm", Some(&bell)),
        free_subscriber(&participant, "/wild", Some(&bell)),
    );
    assert_ne!(calm.doorbell_index(), wild.doorbell_index());
    // One thread ends in a panic with its port, as soon as that rings.
    let other_bell = participant.shared_doorbell(DoorbellOptions::default()).unwrap();
    let panics = free_subscriber(&participant, "/panics", Some(&other_bell));
    let victim = std::thread::spawn(move || {
        // Rung for its publisher first, then for the message.
        loop {
            let check = || assert!(!panics.is_ready(), "what it does when a message comes");
            other_bell.wait(Some(LIMIT), || panics.arm(), |_| check());
            // What came before it was armed does not ring.
            check();
        }
    });
    let ports = Arc::new(Mutex::new((Some(calm), Some(wild))));
    let served = Arc::new(AtomicU64::new(0));
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let (bell, ports, served) = (bell.clone(), Arc::clone(&ports), Arc::clone(&served));
            std::thread::spawn(move || {
                while served.load(Ordering::Relaxed) < 100 {
                    let arm = || {
                        let ports = ports.lock().unwrap();
                        let calm = ports.0.as_ref().is_some_and(Subscriber::arm);
                        ports.1.as_ref().is_some_and(Subscriber::arm) || calm
                    };
                    bell.wait(Some(Duration::from_millis(50)), arm, |_| {});
                    let mut ports = ports.lock().unwrap();
                    while let Some(sample) = ports.0.as_ref().and_then(|it| it.take().unwrap()) {
                        check(&sample);
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                    // The other one is dropped by who was woken for it.
                    if ports.1.as_ref().is_some_and(Subscriber::is_ready) {
                        ports.1 = None;
                    }
                }
            })
        })
        .collect();
    let there = place.open("there");
    let outputs = ["/calm", "/wild", "/panics"].map(|topic| publisher(&there, topic, reliable(8)));
    assert!(until(|| outputs.iter().all(|it| it.peers() == 1)));
    outputs[1..].iter().for_each(|output| publish(output, 1));
    assert!(victim.join().is_err(), "it was not rung for");
    for number in 1..=100 {
        publish(&outputs[0], number);
    }
    waiting.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(until(|| outputs[1..].iter().all(|it| it.peers() == 0)));
    // The control thread lives: who comes now is met.
    let late = free_subscriber(&participant, "/calm", None);
    assert!(until(|| outputs[0].peers() == 2));
    drop(late);
}

fn free_server(participant: &Participant) -> Server<AddTwoInts, AnyThread> {
    let options =
        FreeServerOptions { node: "adder", service: "/add", ..FreeServerOptions::default() };
    participant.free_server(options).unwrap()
}

fn free_client(participant: &Participant, depth: usize) -> Client<AddTwoInts, AnyThread> {
    let options = FreeClientOptions { service: "/add", depth, ..FreeClientOptions::default() };
    participant.free_client(options).unwrap()
}

/// Sends calls `0..count`; each adds its number and 1.
fn call_all(client: &Client<AddTwoInts, AnyThread>, count: i64) -> Vec<CallId> {
    let send = |number| {
        let mut request = client.loan(Extra::none()).unwrap();
        request.message().set_a(number);
        request.message().set_b(1);
        request.send(LIMIT).unwrap()
    };
    (0..count).map(send).collect()
}

/// Takes `count` requests and keeps their tickets and their sums.
fn take_tickets(server: &Server<AddTwoInts, AnyThread>, count: usize) -> Vec<(Ticket, i64)> {
    let mut tickets = Vec::new();
    while tickets.len() < count {
        assert!(server.wait(LIMIT).unwrap(), "{} requests came", tickets.len());
        while let Some((message, ticket)) = server.take_message().unwrap() {
            tickets.push((ticket, message.message().a() + message.message().b()));
        }
    }
    tickets
}

fn answer(server: &Server<AddTwoInts, AnyThread>, ticket: &Ticket, sum: i64) {
    let answered = server.answer(ticket, Extra::none(), |mut response| {
        response.set_sum(sum);
        Ok::<(), FlatError>(())
    });
    answered.unwrap();
}

/// Takes `count` ends of calls.
fn take_sums(client: &Client<AddTwoInts, AnyThread>, count: usize) -> BTreeMap<CallId, i64> {
    let (mut sums, end) = (BTreeMap::new(), Instant::now() + LIMIT);
    while sums.len() < count {
        if let Some(outcome) = client.take().unwrap() {
            sums.insert(outcome.call, outcome.result.unwrap().message().sum());
        }
        assert!(Instant::now() < end, "{} calls of {count} have ended", sums.len());
        std::thread::yield_now();
    }
    sums
}

const CALLS: usize = 128;

#[test]
fn a_hundred_calls_are_under_way_and_answered_in_any_order_by_any_thread() {
    let place = Place::new("tickets");
    let (here, there) = (place.open("here"), place.open("there"));
    let server = Arc::new(Mutex::new(free_server(&there)));
    let client = free_client(&here, CALLS);
    let is_met = || server.lock().unwrap().clients() == 1 && client.is_connected();
    assert!(until(is_met));
    for backwards in [false, true] {
        let calls = call_all(&client, CALLS as i64);
        let refused = client.loan(Extra::none()).unwrap().send(LIMIT).unwrap_err();
        assert!(matches!(refused.reason, SendError::Busy { depth: CALLS, .. }));
        drop(refused);
        let mut tickets = take_tickets(&server.lock().unwrap(), CALLS);
        if backwards {
            tickets.reverse();
        }
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (server, part) =
                    (Arc::clone(&server), tickets.split_off(tickets.len() * 3 / 4));
                std::thread::spawn(move || {
                    for (ticket, sum) in part {
                        let server = server.lock().unwrap();
                        answer(&server, &ticket, sum);
                        let again =
                            server.answer(&ticket, Extra::none(), |_| Ok::<(), FlatError>(()));
                        assert!(matches!(again, Err(AnswerError::Answered { .. })));
                    }
                })
            })
            .collect();
        for (ticket, sum) in tickets {
            answer(&server.lock().unwrap(), &ticket, sum);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let sums = take_sums(&client, CALLS);
        for (number, call) in calls.iter().enumerate() {
            assert_eq!(sums[call], number as i64 + 1);
        }
    }
}

#[test]
fn a_ticket_tells_that_its_call_was_given_up_and_can_be_refused() {
    let place = Place::new("ticket-end");
    let (here, there) = (place.open("here"), place.open("there"));
    let server = free_server(&there);
    let client = free_client(&here, 4);
    assert!(until(|| server.clients() == 1 && client.is_connected()));
    let calls = call_all(&client, 3);
    let tickets = take_tickets(&server, 3);
    assert!(client.cancel(calls[0]));
    assert!(server.is_cancelled(&tickets[0].0) && !server.is_cancelled(&tickets[1].0));
    server.refuse(&tickets[1].0);
    let refused = next_end(&client);
    assert!(
        refused.call == calls[1] && matches!(refused.result, Err(CallError::Unanswered { .. }))
    );
    drop(client);
    assert!(until(|| server.clients() == 0));
    assert!(server.is_cancelled(&tickets[2].0));
    let gone = server.answer(&tickets[2].0, Extra::none(), |_| Ok::<(), FlatError>(()));
    assert!(matches!(gone, Err(AnswerError::ClientGone { .. })));
}

/// The next end of a call.
fn next_end(client: &Client<AddTwoInts, AnyThread>) -> Outcome<AddTwoInts> {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(outcome) = client.take().unwrap() {
            return outcome;
        }
        assert!(Instant::now() < end, "nothing has ended");
        std::thread::yield_now();
    }
}

#[test]
fn a_ticket_that_is_dropped_on_any_thread_ends_its_call() {
    let place = Place::new("ticket-dropped");
    let (here, there) = (place.open("here"), place.open("there"));
    let server = free_server(&there);
    let client = free_client(&here, 4);
    assert!(until(|| server.clients() == 1 && client.is_connected()));
    // More often than calls may be under way: none of them stays.
    for _ in 0..3 {
        let calls = call_all(&client, 4);
        let mut tickets = take_tickets(&server, 4);
        // One has timed out for its client, and one is answered.
        assert!(client.cancel(calls[0]));
        let (ticket, sum) = tickets.pop().unwrap();
        answer(&server, &ticket, sum);
        drop(ticket);
        std::thread::spawn(move || drop(tickets)).join().unwrap();
        // It looks.
        assert_eq!(server.clients(), 1);
        let mut ended: BTreeMap<_, _> =
            (0..3).map(|_| next_end(&client)).map(|end| (end.call, end.result)).collect();
        assert_eq!(ended.remove(&calls[3]).unwrap().unwrap().message().sum(), 4);
        for call in &calls[1..3] {
            let result = ended.remove(call).unwrap();
            assert!(matches!(result, Err(CallError::Unanswered { .. })), "{result:?}");
        }
        assert!(until(|| client.take().unwrap().is_none() && client.under_way() == 0));
    }
    assert_eq!(server.counter(server_counter::UNANSWERED), 9);
}

#[test]
fn a_sleeping_server_is_woken_by_a_ticket_that_is_dropped() {
    let place = Place::new("ticket-wakes");
    let (here, there) = (place.open("here"), place.open("there"));
    let server = free_server(&there);
    let client = free_client(&here, 1);
    assert!(until(|| server.clients() == 1 && client.is_connected()));
    assert!(client.wait_for_server(Duration::MAX), "it is there");
    call_all(&client, 1);
    let ticket = take_tickets(&server, 1);
    let (over, served) = std::sync::mpsc::channel();
    let serving = std::thread::spawn(move || {
        // For ever, as far as this test is concerned.
        assert!(server.wait(Duration::MAX).unwrap());
        over.send(()).unwrap();
    });
    drop(ticket);
    assert!(matches!(next_end(&client).result, Err(CallError::Unanswered { .. })));
    call_all(&client, 1);
    served.recv_timeout(LIMIT).unwrap();
    serving.join().unwrap();
}

/// Requests that a server has taken and not done with, as observers see it.
fn unprocessed(place: &Place) -> u64 {
    let options = ObserverOptions {
        domain_id: 0,
        name: "observer".into(),
        rendezvous: Rendezvous::Folder(place.0.clone()),
        access: Access::SameUser,
    };
    let graph = Observer::open(options).unwrap().snapshot().unwrap();
    let ports = graph.processes.iter().flat_map(|process| &process.subscribers);
    let of_requests = ports.filter(|port| port.topic.starts_with("rq/"));
    let open = of_requests
        .map(|port| port.counters[counter::MESSAGES] - port.counters[counter::PROCESSED]);
    open.sum()
}

#[test]
fn a_ticket_counts_once_whatever_is_done_with_it() {
    let place = Place::new("ticket-once");
    let (here, there) = (place.open("here"), place.open("there"));
    let (server, other) = (free_server(&there), free_server(&there));
    let client = free_client(&here, 2);
    assert!(until(|| server.clients() == 1 && client.is_connected()));
    call_all(&client, 2);
    let tickets = take_tickets(&server, 2);
    assert_eq!(unprocessed(&place), 2);
    // Of another server: neither has anything to do with it.
    other.refuse(&tickets[0].0);
    let wrong = other.answer(&tickets[0].0, Extra::none(), |_| Ok::<(), FlatError>(()));
    assert!(matches!(wrong, Err(AnswerError::ClientGone { .. })));
    server.refuse(&tickets[0].0);
    // More often than the client has room for responses.
    for _ in 0..8 {
        server.refuse(&tickets[0].0);
        let again = server.answer(&tickets[0].0, Extra::none(), |_| Ok::<(), FlatError>(()));
        assert!(matches!(again, Err(AnswerError::Answered { .. })));
    }
    assert_eq!(unprocessed(&place), 1);
    answer(&server, &tickets[1].0, 7);
    server.refuse(&tickets[1].0);
    let counts = [server_counter::UNANSWERED, server_counter::RESPONSES];
    assert_eq!(counts.map(|counter| server.counter(counter)), [1, 1]);
    assert_eq!(counts.map(|counter| other.counter(counter)), [0, 0]);
    assert!(matches!(next_end(&client).result, Err(CallError::Unanswered { .. })));
    assert_eq!(next_end(&client).result.unwrap().message().sum(), 7);
    // A client that has gone leaves nothing open.
    call_all(&client, 2);
    let tickets = take_tickets(&server, 2);
    assert_eq!(unprocessed(&place), 2);
    drop(client);
    assert!(until(|| server.clients() == 0));
    assert_eq!(unprocessed(&place), 0);
    drop(tickets);
    assert_eq!(server.clients(), 0);
}

/// A child with the other end of the service, until it is killed.
fn serve_or_call(place: &str, role: &str) {
    let participant = Place::of_parent(place, role);
    if role == "client" {
        let client = free_client(&participant, CALLS);
        assert!(client.wait_for_server(LIMIT));
        call_all(&client, CALLS as i64);
        tell("called");
        while hear().is_some() {}
        return;
    }
    let server = free_server(&participant);
    let tickets = take_tickets(&server, CALLS);
    tell("taken");
    while hear().is_some() {}
    drop(tickets);
}

#[test]
fn a_killed_client_leaves_its_tickets_without_use_and_a_killed_server_ends_all_calls() {
    let test = "any_thread::a_killed_client_leaves_its_tickets_without_use_and_a_killed_server_ends_all_calls";
    if let Some((role, place)) = role() {
        return serve_or_call(&place, &role);
    }
    let place = Place::new("ticket-kill");
    let participant = place.open("parent");
    let server = free_server(&participant);
    for _ in 0..3 {
        let mut child = Process::start(test, "client", place.path());
        let tickets = take_tickets(&server, CALLS);
        child.expect("called");
        child.kill();
        assert!(participant.wait_until(LIMIT, || server.clients() == 0));
        assert!(tickets.iter().all(|(ticket, _)| server.is_cancelled(ticket)));
    }
    drop(server);
    let client = free_client(&participant, CALLS);
    for _ in 0..3 {
        let mut child = Process::start(test, "server", place.path());
        assert!(client.wait_for_server(LIMIT));
        call_all(&client, CALLS as i64);
        child.expect("taken");
        child.kill();
        let end = Instant::now() + LIMIT;
        let mut ended = 0;
        while ended < CALLS {
            if let Some(outcome) = client.take().unwrap() {
                assert!(matches!(outcome.result, Err(CallError::ServerGone { .. })));
                ended += 1;
            }
            assert!(Instant::now() < end, "{ended} calls have ended");
        }
    }
}

#[test]
fn a_server_of_a_type_that_is_known_at_run_time_answers_typed_clients() {
    let place = Place::new("any-server");
    let (here, there) = (place.open("here"), place.open("there"));
    let schema = Arc::new(ServiceSchema::of::<AddTwoInts>().unwrap());
    let options =
        FreeServerOptions { node: "adder", service: "/add", ..FreeServerOptions::default() };
    let server = there.free_any_server(schema, options).unwrap();
    let client = free_client(&here, 2);
    assert!(until(|| server.clients() == 1 && client.is_connected()));
    let calls = call_all(&client, 2);
    for _ in 0..2 {
        assert!(server.wait(LIMIT).unwrap());
        let (request, ticket) = server.take().unwrap().unwrap();
        assert_eq!(request.id().sequence, ticket.id().sequence);
        let [a, b] = [0, 8].map(|at| request.block().read::<i64>(at).unwrap());
        drop(request);
        let wrong = server.answer_cdr(&ticket, &[0, 1, 0, 0, 7]);
        assert!(matches!(wrong, Err(AnswerError::Write(_))), "{wrong:?}");
        let mut cdr = vec![0, 1, 0, 0];
        cdr.extend((a + b).to_le_bytes());
        server.answer_cdr(&ticket, &cdr).unwrap();
    }
    let sums = take_sums(&client, 2);
    assert_eq!(sums.into_iter().collect::<Vec<_>>(), [(calls[0], 1), (calls[1], 2)]);
}

/// A client and a server of a type that is known at run time only, in one process each.
fn any_ends(place: &Place) -> (AnyClient<AnyThread>, AnyServer<AnyThread>) {
    let schema = Arc::new(ServiceSchema::of::<AddTwoInts>().unwrap());
    let options =
        FreeServerOptions { node: "adder", service: "/add", ..FreeServerOptions::default() };
    let there = place.open("there");
    let server = there.free_any_server(Arc::clone(&schema), options).unwrap();
    let options = FreeClientOptions { service: "/add", depth: 4, ..FreeClientOptions::default() };
    let client = place.open("here").free_any_client(schema, options).unwrap();
    assert!(until(|| server.clients() == 1 && client.has_server()));
    (client, server)
}

/// Sends a call that adds 1 to a number.
fn send_flat(client: &AnyClient<AnyThread>, number: i64) -> CallId {
    let write = |memory: &mut [u8]| -> Result<usize, &str> {
        memory[..8].copy_from_slice(&number.to_ne_bytes());
        memory[8..16].copy_from_slice(&1i64.to_ne_bytes());
        Ok(16)
    };
    client.send_flat(16, LIMIT, write).unwrap()
}

/// Answers one request.
fn answer_flat(server: &AnyServer<AnyThread>) {
    assert!(server.wait(LIMIT).unwrap());
    let (request, ticket) = server.take().unwrap().unwrap();
    let [a, b] = [0, 8].map(|at| request.block().read::<i64>(at).unwrap());
    drop(request);
    let refused = server.answer_flat(&ticket, 8, |_| Err("not this time"));
    assert!(matches!(refused, Err(AnswerError::Write("not this time"))), "{refused:?}");
    let write = |memory: &mut [u8]| -> Result<usize, &str> {
        memory[..8].copy_from_slice(&(a + b).to_ne_bytes());
        Ok(8)
    };
    server.answer_flat(&ticket, 8, write).unwrap();
}

#[test]
fn a_damaged_answer_ends_its_call_unanswered_is_counted_and_told_once() {
    let place = Place::new("damaged-answers");
    let (here, there) = (place.open("here"), place.open("there"));
    let schema = Arc::new(ServiceSchema::of::<AddTwoInts>().unwrap());
    let options =
        FreeServerOptions { node: "adder", service: "/add", ..FreeServerOptions::default() };
    let server = there.free_any_server(schema, options).unwrap();
    let client = free_client(&here, 3);
    assert!(until(|| server.clients() == 1 && client.is_connected()));
    let calls = call_all(&client, 3);
    for bytes in [1, 0, 8] {
        assert!(server.wait(LIMIT).unwrap());
        let (request, ticket) = server.take().unwrap().unwrap();
        drop(request);
        let write = |memory: &mut [u8]| -> Result<usize, &str> {
            memory.fill(0);
            Ok(bytes)
        };
        server.answer_flat(&ticket, 8, write).unwrap();
    }
    let (mut ended, end) = (Vec::new(), Instant::now() + LIMIT);
    while ended.len() < calls.len() {
        ended.extend(client.take().unwrap());
        assert!(Instant::now() < end, "{} calls have ended", ended.len());
    }
    for outcome in &ended[..2] {
        let error = outcome.result.as_ref().unwrap_err();
        assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    }
    assert_eq!(ended[2].result.as_ref().unwrap().message().sum(), 0);
    let counts = [client_counter::RESPONSES, client_counter::UNANSWERED];
    assert_eq!(counts.map(|it| client.counter(it)), [1, 2]);
    let told: Vec<_> = here.take_events().0.iter().map(ToString::to_string).collect();
    let told = told.iter().filter(|text| text.contains("is damaged")).count();
    assert_eq!(told, 1);
}

#[test]
fn calls_in_the_flat_layout_are_written_where_they_are_read_or_not_sent_at_all() {
    let place = Place::new("flat-calls");
    let (client, server) = any_ends(&place);
    let refused = client.send_flat(16, LIMIT, |_| Err("not this time"));
    assert!(matches!(refused, Err(SendFlatError::Write("not this time"))), "{refused:?}");
    let calls = [send_flat(&client, 1), send_flat(&client, 2)];
    for (call, sum) in calls.into_iter().zip([2, 3]) {
        answer_flat(&server);
        let outcome = client.wait_for_any().unwrap().unwrap();
        let response = outcome.result.unwrap();
        assert_eq!((outcome.call, response.block().read::<i64>(0)), (call, Some(sum)));
    }
    assert!(client.wait_for_any().unwrap().is_none(), "no call is under way");
    let refused = send_flat(&client, 7);
    assert!(server.wait(LIMIT).unwrap());
    server.refuse(&server.take().unwrap().unwrap().1);
    let outcome = client.wait_for_any().unwrap().unwrap();
    assert_eq!(outcome.call, refused);
    assert!(matches!(outcome.result, Err(CallError::Unanswered { .. })));
    // A call that is not sent has a number and no outcome.
    let lost = client.lose().unwrap();
    assert!(!calls.contains(&lost) && client.take().unwrap().is_none());
    let next = send_flat(&client, 3);
    assert!(next != lost && !calls.contains(&next));
    let answering = std::thread::spawn(move || {
        answer_flat(&server);
        answer_flat(&server);
        server
    });
    let response = client.call_flat(16, LIMIT, |memory| -> Result<usize, &str> {
        memory[..16].fill(0);
        memory[0] = 7;
        Ok(16)
    });
    assert_eq!(response.unwrap().block().read::<i64>(0), Some(7));
    let outcome = client.take().unwrap().unwrap();
    assert_eq!(outcome.call, next);
    drop(answering.join().unwrap());
    assert!(until(|| {
        client.settle();
        !client.has_server()
    }));
}

#[test]
fn requests_that_are_no_messages_of_their_type_are_refused_counted_and_reported_once() {
    let place = Place::new("damaged_request");
    let (there, here) = (place.open("there"), place.open("here"));
    let server = free_server(&there);
    let schema = Arc::new(ServiceSchema::of::<AddTwoInts>().unwrap());
    let options = FreeClientOptions { service: "/add", depth: 4, ..FreeClientOptions::default() };
    let client = here.free_any_client(schema, options).unwrap();
    assert!(until(|| server.clients() == 1 && client.has_server()));
    // Two numbers have 16 bytes.
    for _ in 0..2 {
        client.send_flat(16, LIMIT, |_| -> Result<usize, &str> { Ok(4) }).unwrap();
    }
    let call = send_flat(&client, 7);
    let [(_, number)] = &take_tickets(&server, 1)[..] else { panic!("one request") };
    assert_eq!(*number, 7 + 1, "the one behind them comes all the same");
    for _ in 0..2 {
        let outcome = client.wait_for_any().unwrap().unwrap();
        assert_ne!(outcome.call, call);
        assert!(matches!(outcome.result, Err(CallError::Unanswered { .. })));
    }
    let heard: Vec<String> = there.take_events().0.iter().map(|it| it.to_string()).collect();
    let told = |text: &&String| text.contains("/add") && text.contains("it came from");
    assert_eq!(heard.iter().filter(told).count(), 1, "{heard:?}");
}

#[test]
fn what_has_come_is_counted_once_whether_it_was_taken_or_not() {
    let place = Place::new("arrived");
    let (client, server) = any_ends(&place);
    assert_eq!((server.arrived(), client.arrived()), (0, 0));
    assert!(!server.arm() && !client.arm(), "nothing is there");
    (0..3).for_each(|number| _ = send_flat(&client, number));
    assert!(server.arm() && !client.arm(), "requests are there");
    assert_eq!((server.arrived(), server.arrived()), (3, 0));
    answer_flat(&server);
    answer_flat(&server);
    send_flat(&client, 3);
    assert_eq!(server.arrived(), 1);
    assert!(client.take().unwrap().is_some());
    assert_eq!((client.arrived(), client.arrived()), (2, 0));
    let participant = place.open("topics");
    let qos = Qos::best_effort(4);
    let output = free_publisher(&participant, "/image", qos);
    let options = FreeSubscriberOptions {
        node: "sink",
        topic: "/image",
        qos,
        back_pressure: BackPressure::Never,
        doorbell: None,
    };
    let input = participant.free_any_subscriber(None, options).unwrap();
    assert!(until(|| input.matched() == 1 && output.peers() == 1));
    assert_eq!(input.arrived(), 0);
    (1..=2).for_each(|number| send(&output, number));
    assert!(input.take().unwrap().is_some());
    assert_eq!((input.arrived(), input.arrived()), (2, 0));
    // No more than are kept.
    (3..=20).for_each(|number| send(&output, number));
    assert_eq!((input.arrived(), input.arrived()), (4, 0));
}
