//! A viewer with Foxglove's protocol sees the graph's topics, as its clients see them.

use crate::running::{Domain, IN_A_CHAIN, ON_RINGS};
use crate::{javascript, python};
use crossdock_comm::{Participant, ParticipantOptions, Server, ServerOptions};
use crossdock_msg::Extra;
use crossdock_msg::types::example_interfaces::srv::AddTwoInts;
use crossdock_suite::until;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const IMAGE: &str = "/camera/image_raw";
const LANE: &str = "/lane";
const VIEWER: &str = "https://app.foxglove.dev";

/// Where a viewer connects, with which protocol and from which page, and what it wishes. `None`:
/// there is no such viewer here, and the test is skipped by name.
pub(crate) type Watch = fn(&str, &str, &str, &Value) -> Option<Value>;

/// A viewer that reads the protocol as its specification has it.
pub(crate) fn watch(address: &str, protocol: &str, origin: &str, wishes: &Value) -> Option<Value> {
    python::run("foxglove_client.py", &[address, protocol, origin, &wishes.to_string()])
}

/// A viewer with the client of Foxglove's makers.
pub(crate) fn watch_with_their_client(
    address: &str,
    protocol: &str,
    origin: &str,
    wishes: &Value,
) -> Option<Value> {
    javascript::run(&[address, protocol, origin, &wishes.to_string()])
}

fn subscribers(domain: &Domain, topic: &str) -> u64 {
    domain.topic(topic)["subscribers"].as_u64().unwrap_or(0)
}

fn assert_image(arrived: &Value) {
    let image = &arrived["message"];
    assert_eq!((&image["width"], &image["height"]), (&json!(640), &json!(480)), "{image}");
    assert_eq!(image["data"]["count"], 640 * 480 * 3, "{image}");
    let (least, greatest) = (&image["data"]["least"], &image["data"]["greatest"]);
    assert!(greatest.as_f64() > least.as_f64().map(|it| it + 50.0), "a picture: {image}");
}

fn assert_stamps_rise(messages: &Value) {
    let stamps = messages.as_array().unwrap().iter().map(|it| it["stamp_ns"].as_u64().unwrap());
    assert!(stamps.is_sorted_by(|a, b| a < b), "{messages}");
}

#[test]
fn images_and_lanes_are_seen_by_observation() {
    images_and_lanes(watch);
}

#[test]
fn images_and_lanes_are_seen_by_foxgloves_own_client() {
    images_and_lanes(watch_with_their_client);
}

fn images_and_lanes(watch: Watch) {
    let domain = Domain::new("rings");
    let run = domain.run(&ON_RINGS);
    let (_view, address) = domain.view();
    let before = {
        until("the graph runs", || domain.is_published(LANE));
        (subscribers(&domain, IMAGE), subscribers(&domain, LANE))
    };
    let wishes = json!({ "topics": { IMAGE: 3, LANE: 5 }, "calls": {} });
    let Some(seen) = watch(&address, "foxglove.sdk.v1", VIEWER, &wishes) else { return };
    assert_eq!(seen["channels"][IMAGE], json!(["sensor_msgs/msg/Image", "cdr", "ros2msg"]));
    assert_eq!(seen["channels"][LANE], json!(["autorace_msgs/msg/Lane", "cdr", "ros2msg"]));
    assert_eq!(seen["graph"][LANE].as_array().map(Vec::len), Some(1), "{}", seen["graph"]);
    for topic in [IMAGE, LANE] {
        assert_stamps_rise(&seen["messages"][topic]);
    }
    seen["messages"][IMAGE].as_array().unwrap().iter().for_each(assert_image);
    assert_eq!(seen["notes"], json!([]), "nobody subscribed");
    let after = (subscribers(&domain, IMAGE), subscribers(&domain, LANE));
    assert_eq!(before, after);
    run.interrupt();
    assert!(run.end().0.success());
}

#[test]
fn topics_inside_a_chain_are_subscribed_to_while_they_are_seen() {
    let domain = Domain::new("chain");
    let run = domain.run(&IN_A_CHAIN);
    let (_view, address) = domain.view();
    until("the graph runs", || domain.is_published(LANE));
    let before = subscribers(&domain, LANE);
    let wishes = json!({ "topics": { IMAGE: 2, LANE: 2 }, "calls": {} });
    // The older name of the protocol, which some viewers still use.
    let Some(seen) = watch(&address, "foxglove.websocket.v1", "", &wishes) else { return };
    assert_eq!(seen["protocol"], "foxglove.websocket.v1");
    seen["messages"][IMAGE].as_array().unwrap().iter().for_each(assert_image);
    let notes = seen["notes"].to_string();
    assert!(notes.contains("/lane is read by nobody outside its chain"), "{notes}");
    until("the view no longer subscribes", || subscribers(&domain, LANE) == before);
    run.interrupt();
    assert!(run.end().0.success());
}

#[test]
fn services_are_called() {
    services(watch);
}

#[test]
fn services_are_called_by_foxgloves_own_client() {
    services(watch_with_their_client);
}

fn services(watch: Watch) {
    let domain = Domain::new("calls");
    let (_view, address) = domain.view();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| serve_sums(&domain, &is_over));
        let over = Over(&is_over);
        let wishes = json!({ "topics": {}, "calls": { "/sum": { "a": 40, "b": 2 } } });
        let seen = watch(&address, "foxglove.sdk.v1", "", &wishes);
        drop(over);
        let Some(seen) = seen else { return };
        assert_eq!(seen["responses"]["/sum"]["sum"], 42, "{seen}");
    });
}

/// Ends the server with the test, even when that fails.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn serve_sums(domain: &Domain, is_over: &AtomicBool) {
    let options = ParticipantOptions {
        rendezvous: domain.rendezvous(),
        ..ParticipantOptions::new(0, "adder")
    };
    let participant = Participant::open(options).unwrap();
    let options = ServerOptions { node: "adder", service: "/sum", ..ServerOptions::default() };
    let server: Server<AddTwoInts> = participant.server(options).unwrap();
    while !is_over.load(Relaxed) {
        match server.take().unwrap() {
            Some(request) => {
                let sum = request.message().a() + request.message().b();
                let mut response = request.loan(Extra::none()).unwrap();
                response.message().set_sum(sum);
                response.send().unwrap();
            }
            None => std::thread::yield_now(),
        }
    }
}

#[test]
fn pages_of_strangers_are_refused() {
    let domain = Domain::new("strangers");
    let (_view, address) = domain.view();
    let wishes = json!({ "topics": {}, "calls": {} });
    let Some(seen) = watch(&address, "foxglove.sdk.v1", "https://evil.example", &wishes) else {
        return;
    };
    assert_eq!(seen, json!({ "refused": 403 }));
}
