//! Calls of services, both ways, between two graphs and with a peer that is nothing of ours.

use crate::adder::{Adder, Manner, SERVICE, add, caller_of};
use crate::foreign::{Foreign, attachment};
use crate::graphs::{LIMIT, Place, free_place, until};
use crate::link::Link;
use crossdock_comm::{CallError, CallId, Client, GraphView, Participant, PortKind};
use crossdock_msg::Extra;
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_net::{Net, NetCounters};
use crossdock_wire::{Attachment, Gid};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use zenoh::Wait as _;
use zenoh::query::{Query, QueryTarget, Reply};

/// The type as the network has it.
fn add_type() -> String {
    let hash = <AddTwoInts as crossdock_msg::Service>::TYPE_HASH;
    format!("example_interfaces::srv::dds_::AddTwoInts_/{hash}")
}

fn key() -> String {
    format!("0{SERVICE}/{}", add_type())
}

fn caller(participant: &Participant) -> Client<AddTwoInts> {
    caller_of(participant, SERVICE)
}

/// Waits for the end of a call, and checks that the client hears that its server has gone.
fn ended_as_its_server_went(client: &Client<AddTwoInts>) -> CallId {
    let mut outcome = None;
    until("the call has ended", || {
        outcome = client.take().unwrap();
        outcome.is_some()
    });
    let outcome = outcome.unwrap();
    let error = outcome.result.unwrap_err();
    assert!(matches!(error, CallError::ServerGone { .. }), "{error}");
    outcome.call
}

fn sees(view: &GraphView, kind: PortKind, node: &str) -> bool {
    let graph = view.snapshot();
    graph.ports(kind).any(|(_, port)| port.node == node && port.topic == SERVICE)
}

/// All calls have ended on both sides, and nothing is kept of them.
fn all_end(nets: &[&Net]) {
    until("nothing waits any more", || nets.iter().all(|it| it.counters().calls_waiting == 0));
}

fn refused(counters: NetCounters) -> u64 {
    let NetCounters { malformed, unknown, calls_refused, .. } = counters;
    malformed + unknown + calls_refused
}

#[test]
fn calls_go_both_ways_and_each_is_answered_once() {
    let (left, right, place) = (Place::new("call-left"), Place::new("call-right"), free_place());
    let nets = [left.router(&place), right.client(&place)];
    let adder = Adder::start(&left, Manner::Answers);
    let there = right.open("there");
    let client = caller(&there);
    assert!(client.wait_for_server(LIMIT));
    for number in 0..100 {
        assert_eq!(add(&client, number, 1000, LIMIT).unwrap(), number + 1000);
    }
    assert_eq!(adder.taken(), 100);
    all_end(&[&nets[0], &nets[1]]);
    let (asked, served) = (nets[1].counters(), nets[0].counters());
    assert_eq!((asked.calls_asked, asked.calls_answered), (100, 100), "{asked:?}");
    assert_eq!((served.calls_served, served.calls_replied), (100, 100), "{served:?}");
    let view = there.graph().unwrap();
    until("the far server is seen under its own name", || sees(&view, PortKind::Server, "adder"));
    let here = left.open("here");
    let view = here.graph().unwrap();
    until("the far client is seen", || sees(&view, PortKind::Client, "caller"));

    // The other way, once the server has changed sides.
    drop((adder, client));
    let adder = Adder::start(&right, Manner::Answers);
    let client = caller(&here);
    assert!(client.wait_for_server(LIMIT));
    assert_eq!(add(&client, 2, 3, LIMIT).unwrap(), 5);
    assert_eq!(adder.taken(), 1);
    all_end(&[&nets[0], &nets[1]]);
}

#[test]
fn a_server_of_the_own_side_takes_the_place_of_a_far_one() {
    let (left, right, place) = (Place::new("own-left"), Place::new("own-right"), free_place());
    let nets = [left.router(&place), right.client(&place)];
    let far = Adder::start(&right, Manner::Answers);
    let here = left.open("here");
    let client = caller(&here);
    assert!(client.wait_for_server(LIMIT));
    assert_eq!(add(&client, 1, 2, LIMIT).unwrap(), 3);
    assert_eq!(far.taken(), 1);
    let own = Adder::start(&left, Manner::Answers);
    let view = here.graph().unwrap();
    until("the far server's port has gone", || {
        let graph = view.snapshot();
        let servers = graph.ports(PortKind::Server);
        servers.filter(|(_, port)| port.topic == SERVICE).count() == 1
    });
    // The client hears that the far one has gone.
    until("the own server answers", || add(&client, 0, 1, LIMIT).is_ok() && own.taken() > 0);
    let taken = (far.taken(), own.taken() + 10);
    for number in 0..10 {
        assert_eq!(add(&client, number, 1, LIMIT).unwrap(), number + 1);
    }
    assert_eq!((far.taken(), own.taken()), taken);
    all_end(&[&nets[0], &nets[1]]);
}

#[test]
fn a_call_without_an_answer_ends_as_on_shared_memory() {
    let (left, right, place) = (Place::new("end-left"), Place::new("end-right"), free_place());
    let nets = [left.router(&place), right.client(&place)];
    let there = right.open("there");
    let client = caller(&there);

    let adder = Adder::start(&left, Manner::Drops);
    assert!(client.wait_for_server(LIMIT));
    let error = add(&client, 1, 2, LIMIT).unwrap_err();
    assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    drop(adder);
    until("the server has gone", || !client.is_connected());

    let adder = Adder::start(&left, Manner::Keeps);
    assert!(client.wait_for_server(LIMIT));
    let error = add(&client, 1, 2, Duration::from_millis(100)).unwrap_err();
    assert!(matches!(error, CallError::TimedOut { .. }), "{error}");
    until("nobody waits here any more", || nets[1].counters().calls_waiting == 0);
    until("the call's place is free again", || {
        client.take().unwrap().is_none() && client.under_way() == 0
    });

    let mut request = client.loan(Extra::none()).unwrap();
    request.message().set_a(1);
    let call = request.send(LIMIT).map_err(|refused| refused.reason).unwrap();
    until("it has come", || adder.taken() == 2);
    drop(adder);
    assert_eq!(ended_as_its_server_went(&client), call);
    all_end(&[&nets[0], &nets[1]]);
}

/// A server of somebody else: hands its queries to the test.
pub(crate) fn foreign_server(foreign: &Foreign) -> (impl Sized + use<>, Gid, Receiver<Query>) {
    let (token, gid) = foreign.declare(7, "SS", SERVICE, &add_type(), "::,10:,:,:,,");
    let (sender, queries) = channel();
    let sender = Mutex::new(sender);
    let queryable = foreign
        .session
        .declare_queryable(key())
        .complete(true)
        .callback(move |query| drop(sender.lock().unwrap().send(query)))
        .wait()
        .unwrap();
    ((token, queryable), gid, queries)
}

pub(crate) fn sum_cdr(sum: i64) -> Vec<u8> {
    [&[0, 1, 0, 0][..], &sum.to_le_bytes()].concat()
}

fn request_cdr(a: i64, b: i64) -> Vec<u8> {
    [&[0, 1, 0, 0][..], &a.to_le_bytes(), &b.to_le_bytes()].concat()
}

#[test]
fn a_foreign_server_is_asked_once_and_its_first_answer_counts() {
    let (graph, place) = (Place::new("foreign-server"), free_place());
    let net = graph.router(&place);
    let foreign = Foreign::join(&place);
    let (_server, _, queries) = foreign_server(&foreign);
    let here = graph.open("here");
    let client = caller(&here);
    assert!(client.wait_for_server(LIMIT));
    let answerer = std::thread::spawn(move || {
        let query = queries.recv_timeout(LIMIT).unwrap();
        let said = Attachment::decode(&query.attachment().unwrap().to_bytes()).unwrap();
        assert_eq!(query.payload().unwrap().to_bytes().as_ref(), request_cdr(40, 2));
        let mut numbers = vec![said.sequence];
        for sum in [42, 43] {
            let reply = query.reply(query.key_expr().clone(), sum_cdr(sum));
            reply.attachment(said.encode()).wait().unwrap();
        }
        drop(query);
        // What is no answer, and an answer to something else.
        for (cdr, ahead) in [(vec![1, 2, 3], 0), (sum_cdr(1), 1)] {
            let query = queries.recv_timeout(LIMIT).unwrap();
            let said = Attachment::decode(&query.attachment().unwrap().to_bytes()).unwrap();
            let attachment = Attachment { sequence: said.sequence + ahead, ..said };
            let reply = query.reply(query.key_expr().clone(), cdr);
            reply.attachment(attachment.encode()).wait().unwrap();
            numbers.push(said.sequence);
        }
        (numbers, queries)
    });
    assert_eq!(add(&client, 40, 2, LIMIT).unwrap(), 42);
    for _ in 0..2 {
        let error = add(&client, 1, 1, LIMIT).unwrap_err();
        assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    }
    let (numbers, queries) = answerer.join().unwrap();
    assert_eq!(numbers, [1, 2, 3], "each is asked once");
    let counters = net.counters();
    assert_eq!((counters.calls_asked, counters.calls_answered, counters.malformed), (3, 1, 2));

    // It goes in the middle of a call.
    let request = client.loan(Extra::none()).unwrap();
    request.send(LIMIT).map_err(|refused| refused.reason).unwrap();
    let _asked = queries.recv_timeout(LIMIT).unwrap();
    foreign.session.close().wait().unwrap();
    ended_as_its_server_went(&client);
    all_end(&[&net]);
}

#[test]
fn a_far_peer_that_is_killed_ends_its_calls_and_leaves_nothing() {
    let (graph, place) = (Place::new("killed"), free_place());
    let net = graph.router(&place);
    let link = Link::to(&place);
    let foreign = Foreign::join(&link.place);
    let (server, _, queries) = foreign_server(&foreign);
    let here = graph.open("here");
    let client = caller(&here);
    assert!(client.wait_for_server(LIMIT));
    // It drops a call: its client hears so, although nobody says it on the network.
    let dropping = std::thread::spawn(move || {
        drop(queries.recv_timeout(LIMIT).unwrap());
        queries
    });
    let error = add(&client, 1, 1, LIMIT).unwrap_err();
    assert!(matches!(error, CallError::Unanswered { .. }), "{error}");
    let queries = dropping.join().unwrap();

    let request = client.loan(Extra::none()).unwrap();
    request.send(LIMIT).map_err(|refused| refused.reason).unwrap();
    let asked = queries.recv_timeout(LIMIT).unwrap();
    link.cut();
    ended_as_its_server_went(&client);
    all_end(&[&net]);
    drop((asked, server, client));

    // A client that is killed while it waits.
    let adder = Adder::start(&graph, Manner::Keeps);
    let link = Link::to(&place);
    let foreign = Foreign::join(&link.place);
    await_server(&foreign);
    let (_token, gid) = foreign.declare(3, "SC", SERVICE, &add_type(), "::,10:,:,:,,");
    let get = foreign.session.get(key()).target(QueryTarget::AllComplete).timeout(LIMIT);
    let get = get.payload(request_cdr(1, 2)).attachment(attachment(1, gid));
    let _replies = get.wait().unwrap();
    until("the server has got it", || adder.taken() == 1);
    assert_eq!(net.counters().calls_waiting, 1);
    link.cut();
    all_end(&[&net]);
}

/// Waits for the token of our adder, as nodes of ROS 2 wait for a server.
fn await_server(foreign: &Foreign) {
    let tokens = format!("@ros2_lv/0/*/*/*/SS/%/%/adder/%add_two_ints/{}/*", add_type());
    until("our server has a token", || {
        let tokens = foreign.session.liveliness().get(&tokens).wait().unwrap();
        tokens.into_iter().any(|reply| reply.result().is_ok())
    });
}

/// Asks as a node of rmw_zenoh does, and gives all replies when there can be no more.
fn ask(foreign: &Foreign, cdr: Vec<u8>, attachment: Option<Vec<u8>>) -> Vec<Reply> {
    let get = foreign.session.get(key()).target(QueryTarget::AllComplete).timeout(LIMIT);
    let get = get.consolidation(zenoh::query::ConsolidationMode::None).payload(cdr);
    let replies = match attachment {
        Some(attachment) => get.attachment(attachment).wait().unwrap(),
        None => get.wait().unwrap(),
    };
    replies.into_iter().collect()
}

#[test]
fn a_foreign_client_gets_one_answer_with_its_number() {
    let (graph, place) = (Place::new("foreign-client"), free_place());
    let net = graph.router(&place);
    let adder = Adder::start(&graph, Manner::Answers);
    let foreign = Foreign::join(&place);
    await_server(&foreign);

    // It asks right after its token, as programs of ROS 2 do.
    let (token, gid) = foreign.declare(3, "SC", SERVICE, &add_type(), "::,10:,:,:,,");
    for sequence in 1..=20 {
        let replies = ask(&foreign, request_cdr(sequence, 1), Some(attachment(sequence, gid)));
        let [reply] = &replies[..] else { panic!("{replies:?}") };
        let sample = reply.result().unwrap();
        assert_eq!(sample.payload().to_bytes().as_ref(), sum_cdr(sequence + 1));
        let said = Attachment::decode(&sample.attachment().unwrap().to_bytes()).unwrap();
        assert_eq!((said.sequence, said.gid), (sequence, gid));
    }
    // Some peers have GIDs that are not made of their tokens.
    let strange = Gid([9; 16]);
    for sequence in 1..=2 {
        let replies = ask(&foreign, request_cdr(sequence, 7), Some(attachment(sequence, strange)));
        let [reply] = &replies[..] else { panic!("{replies:?}") };
        let said = reply.result().unwrap().attachment().unwrap().to_bytes();
        assert_eq!(Attachment::decode(&said).unwrap().gid, strange);
    }
    assert_eq!(adder.taken(), 22);
    assert_eq!(net.counters().calls_served, 22);
    drop(token);
    let here = graph.open("here");
    let view = here.graph().unwrap();
    until("the far client is gone", || !sees(&view, PortKind::Client, "foreigner"));
    all_end(&[&net]);
}

#[test]
fn hostile_calls_are_refused_and_counted_and_others_go_on() {
    let (graph, place) = (Place::new("hostile-calls"), free_place());
    let net = graph.router(&place);
    let adder = Adder::start(&graph, Manner::Keeps);
    let foreign = Foreign::join(&place);
    await_server(&foreign);
    let replies = ask(&foreign, request_cdr(1, 2), Some(attachment(1, Gid([9; 16]))));
    assert!(replies.iter().all(|reply| reply.result().is_err()), "of nobody: {replies:?}");
    assert_eq!(net.counters().unknown, 1);
    let (_token, gid) = foreign.declare(3, "SC", SERVICE, &add_type(), "::,10:,:,:,,");
    until("a client is there", || {
        let replies = ask(&foreign, vec![0, 1], Some(attachment(1, gid)));
        assert!(replies.iter().all(|reply| reply.result().is_err()));
        net.counters().malformed > 0
    });
    let before = refused(net.counters());
    let good = request_cdr(1, 2);
    let wrong = [
        (good.clone(), None),
        (good.clone(), Some(vec![7; 20])),
        (Vec::new(), Some(attachment(1, gid))),
        (vec![0xff; 1 << 20], Some(attachment(1, gid))),
    ];
    for (cdr, attachment) in wrong {
        let replies = ask(&foreign, cdr, attachment);
        assert!(replies.iter().all(|reply| reply.result().is_err()), "{replies:?}");
    }
    let pattern = foreign.session.get("0/**").target(QueryTarget::All).payload(good.clone());
    let pattern = pattern.attachment(attachment(1, gid)).timeout(LIMIT).wait().unwrap();
    assert!(pattern.into_iter().all(|reply| reply.result().is_err()));
    assert_eq!(refused(net.counters()) - before, 5, "{:?}", net.counters());

    // Calls that are never answered: as many wait as may, the others are refused.
    let (sender, ends) = channel();
    for sequence in 0..1000 {
        let sender = sender.clone();
        let get = foreign.session.get(key()).target(QueryTarget::AllComplete).timeout(LIMIT);
        get.payload(good.clone())
            .attachment(attachment(sequence, gid))
            .callback(move |reply| sender.send(reply.result().is_err()).unwrap_or_default())
            .wait()
            .unwrap();
    }
    for _ in 128..1000 {
        assert!(ends.recv_timeout(LIMIT).unwrap(), "it is refused");
    }
    until("the others wait", || net.counters().calls_waiting == 128);
    until("the server has got the others", || adder.taken() == 128);

    // Somebody else is served as if nothing were.
    let (_second, second) = foreign.declare(4, "SC", SERVICE, &add_type(), "::,10:,:,:,,");
    let get = foreign.session.get(key()).target(QueryTarget::AllComplete).timeout(LIMIT);
    let get = get.payload(good).attachment(attachment(1, second));
    let _replies = get.wait().unwrap();
    until("the server has got it", || adder.taken() == 129);
    foreign.session.close().wait().unwrap();
    all_end(&[&net]);
    assert!(net.is_alive());
}
