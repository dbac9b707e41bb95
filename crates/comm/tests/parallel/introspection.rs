//! Events of services: who hears what of a call, and that a call waits for nobody who listens.

use crate::common::{LIMIT, Place};
use crossdock_comm::service::{Introspection, event_topic};
use crossdock_comm::{
    AnySubscriber, Client, ClientOptions, Participant, PortError, Qos, Server, ServerOptions,
    SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::std_srvs::srv::SetBool;
use serde_json::{Value, json};

const SERVICE: &str = "/lamp/switch";

fn client(participant: &Participant, introspection: Introspection) -> Client<SetBool> {
    let options = ClientOptions { service: SERVICE, introspection, ..ClientOptions::default() };
    participant.client(options).unwrap()
}

fn server(participant: &Participant, introspection: Introspection) -> Server<SetBool> {
    let options = ServerOptions { service: SERVICE, introspection, ..ServerOptions::default() };
    participant.server(options).unwrap()
}

fn listener(participant: &Participant) -> AnySubscriber {
    let (topic, qos) = (event_topic(SERVICE), Qos::best_effort(64));
    let options =
        SubscriberOptions { node: "ear", topic: &topic, qos, doorbell: None, group: None };
    participant.any_subscriber(options).unwrap()
}

/// Waits until both know each other: a server meets its clients when it looks for requests.
fn connect(client: &Client<SetBool>, server: &Server<SetBool>) {
    let end = std::time::Instant::now() + LIMIT;
    while server.clients() == 0 || !client.is_connected() {
        assert!(std::time::Instant::now() < end, "they did not meet");
        std::thread::yield_now();
    }
}

/// One call, from the request to the taken response.
fn call(client: &Client<SetBool>, server: &Server<SetBool>, on: bool) {
    let mut request = client.loan(Extra::none()).unwrap();
    request.message().set_data(on);
    request.send(LIMIT).unwrap();
    assert!(server.wait(LIMIT).unwrap());
    let request = server.take().unwrap().unwrap();
    let mut response = request.loan(Extra::none().text(4)).unwrap();
    response.message().set_success(true);
    response.message().set_message("done").unwrap();
    response.send().unwrap();
    drop(request);
    assert!(client.take().unwrap().unwrap().result.is_ok());
}

fn heard(listener: &AnySubscriber) -> Vec<Value> {
    let next = || listener.take().unwrap();
    std::iter::from_fn(next)
        .map(|sample| {
            assert_eq!(sample.schema().type_name(), "std_srvs/srv/SetBool_Event");
            sample.schema().validate(sample.block()).unwrap();
            sample.schema().to_json(sample.block()).unwrap()
        })
        .collect()
}

/// Waits until what these tell is heard.
fn meet(listener: &AnySubscriber, tellers: &[&Participant]) {
    let topic = event_topic(SERVICE);
    for teller in tellers {
        assert!(teller.wait_until(LIMIT, || teller.topic_connections(&topic).outgoing > 0));
    }
    let end = std::time::Instant::now() + LIMIT;
    while listener.matched() < tellers.len() {
        assert!(std::time::Instant::now() < end, "they did not meet");
        // Takes in who has come.
        assert!(listener.take().unwrap().is_none());
        std::thread::yield_now();
    }
}

#[test]
fn both_ends_tell_of_a_call_what_they_are_asked_to_tell() {
    let place = Place::new("introspection");
    let (here, there) = (place.open("here"), place.open("there"));
    let listener = listener(&place.open("listener"));
    let client = client(&here, Introspection::Metadata);
    let server = server(&there, Introspection::Contents);
    connect(&client, &server);
    meet(&listener, &[&here, &there]);
    call(&client, &server, true);
    call(&client, &server, false);
    let mut events = heard(&listener);
    // Those of one call in the order in which it went.
    events.sort_by_key(|event| {
        let info = &event["info"];
        (info["sequence_number"].as_i64(), info["event_type"].as_i64())
    });
    let kinds: Vec<_> = events.iter().map(|event| event["info"]["event_type"].as_i64()).collect();
    assert_eq!(kinds, [0, 1, 2, 3, 0, 1, 2, 3].map(Some));
    let numbers = |of: usize| events[of]["info"]["sequence_number"].as_i64().unwrap();
    assert!((1..4).all(|place| numbers(place) == numbers(0)) && numbers(4) > numbers(3));
    let gids: Vec<_> = events.iter().map(|event| &event["info"]["client_gid"]).collect();
    assert!(gids.iter().all(|gid| *gid == gids[0]) && gids[0] != &json!(vec![0; 16]));
    for event in &events {
        assert!(event["info"]["stamp"]["sec"].as_i64() > Some(1_600_000_000), "{event}");
    }
    // The client tells no contents.
    for sent in [0, 3, 4, 7] {
        assert_eq!((&events[sent]["request"], &events[sent]["response"]), (&json!([]), &json!([])));
    }
    assert_eq!(events[1]["request"], json!([{ "data": true }]));
    assert_eq!(events[5]["request"], json!([{ "data": false }]));
    assert_eq!(events[2]["response"], json!([{ "success": true, "message": "done" }]));
    assert_eq!(events[2]["request"], json!([]));
}

#[test]
fn a_port_that_tells_nothing_has_no_topic_and_one_that_tells_waits_for_nobody() {
    let place = Place::new("introspection-off");
    let (here, there) = (place.open("here"), place.open("there"));
    let server = server(&there, Introspection::Off);
    let plain = client(&here, Introspection::Off);
    connect(&plain, &server);
    call(&plain, &server, true);
    drop(plain);
    let listener = listener(&there);
    let client = client(&here, Introspection::Contents);
    connect(&client, &server);
    meet(&listener, &[&here]);
    assert_eq!(there.topic_connections(&event_topic(SERVICE)).outgoing, 0);
    // Far more than anybody keeps: the listener does not take, and no call waits for it.
    for number in 0..500 {
        call(&client, &server, number % 2 == 0);
    }
    let events = heard(&listener);
    assert!(!events.is_empty() && listener.lost() > 0, "{} heard", events.len());
    assert_eq!(events.len() as u64 + listener.lost(), 1000);
    assert_eq!(events.last().unwrap()["info"]["event_type"], 3, "the newest one is there");
}

#[test]
fn a_service_that_is_none_of_ros_2_cannot_be_watched() {
    enum Odd {}
    impl crossdock_msg::Service for Odd {
        const TYPE_NAME: &'static str = "odd";
        const TYPE_HASH: crossdock_msg::TypeHash = crossdock_msg::TypeHash([7; 32]);
        type Request = crossdock_msg::types::std_srvs::srv::SetBoolRequest;
        type Response = crossdock_msg::types::std_srvs::srv::SetBoolResponse;
    }
    let place = Place::new("introspection-odd");
    let participant = place.open("here");
    let introspection = Introspection::Metadata;
    let options = ClientOptions { service: SERVICE, introspection, ..ClientOptions::default() };
    let error = participant.client::<Odd>(options).unwrap_err();
    assert!(matches!(error, PortError::Events { .. }), "{error}");
    assert!(error.to_string().contains(SERVICE) && error.to_string().contains("`odd`"), "{error}");
}
