//! Gateways: they do not hear each other, and they show ports of nodes that are elsewhere.

use std::sync::Arc;

use crossdock_comm::{
    BackPressure, Event, Maker, MemberOptions, Participant, ParticipantOptions, PortKind,
    PublisherOptions, Qos, ServerOptions, SubscriberOptions,
};
use crossdock_comm::{ClientOptions, service::AnyClient};
use crossdock_msg::{Schema, ServiceSchema};

use crate::common::{LIMIT, Place, drain, publish, publisher, reliable, subscriber};

fn gateway(place: &Place, name: &str) -> Participant {
    let options = ParticipantOptions { maker: Maker::Gateway, ..place.options(name) };
    Participant::open(options).unwrap()
}

#[test]
fn what_a_gateway_carries_in_no_gateway_carries_further() {
    let place = Place::new("gateways");
    let (one, other, local) =
        (gateway(&place, "one"), gateway(&place, "other"), place.open("local"));
    let carries_in = publisher(&one, "/image", reliable(4));
    let back = subscriber(&one, "/image", reliable(4));
    let further = subscriber(&other, "/image", reliable(4));
    let local_in = subscriber(&local, "/image", reliable(4));
    let local_out = publisher(&local, "/image", reliable(4));
    assert!(local.wait_until(LIMIT, || local_out.matched() == 3 && local_in.matched() == 2));
    assert!(one.wait_until(LIMIT, || carries_in.matched() == 1 && back.matched() == 1));
    assert!(other.wait_until(LIMIT, || further.matched() == 1));

    publish(&carries_in, 1);
    publish(&local_out, 2);
    let mut heard = drain(&local_in);
    heard.sort_unstable();
    assert_eq!(heard, [1, 2]);
    assert_eq!((drain(&back), drain(&further)), (vec![2], vec![2]));
    let told = |participant: &Participant| {
        let (events, _) = participant.take_events();
        events.into_iter().any(|event| matches!(event, Event::Mismatch(_)))
    };
    assert!(!told(&one) && !told(&other));
}

#[test]
fn a_gateways_client_is_not_served_by_a_gateway() {
    let place = Place::new("gateway-services");
    let (one, other, local) =
        (gateway(&place, "one"), gateway(&place, "other"), place.open("local"));
    let schema = Arc::new(ServiceSchema::shipped("std_srvs/srv/SetBool").unwrap());
    let serve = |participant: &Participant| {
        let options = ServerOptions { node: "far", service: "/set", ..ServerOptions::default() };
        participant.any_server(Arc::clone(&schema), options).unwrap()
    };
    let call = |participant: &Participant| -> AnyClient {
        let options = ClientOptions { node: "far", service: "/set", ..ClientOptions::default() };
        participant.any_client(Arc::clone(&schema), options).unwrap()
    };
    let server = serve(&one);
    let clients = [call(&other), call(&one), call(&local)];
    assert!(one.wait_until(LIMIT, || server.clients() == 1));
    assert!(local.wait_until(LIMIT, || clients[2].has_server()));
    assert!(!clients[0].has_server() && !clients[1].has_server());
}

#[test]
fn a_member_is_seen_in_the_place_of_the_port_that_carries_it() {
    let place = Place::new("gateway-members");
    let (one, local) = (gateway(&place, "one"), place.open("local"));
    let schema = Arc::new(Schema::shipped("sensor_msgs/msg/Image").unwrap());
    let (node, qos, doorbell, group) = ("gateway", reliable(4), None, None);
    let options = SubscriberOptions { node, topic: "/image", qos, doorbell, group };
    let carrier = one.any_subscriber_of(&schema, options, BackPressure::Never).unwrap();
    let options = MemberOptions {
        publishes: false,
        node: "/far/viewer",
        topic: "/image",
        type_name: "sensor_msgs/msg/Image",
        type_hash: [3; 32],
        qos: Qos::best_effort(7),
        carrier: Some(carrier.gid()),
    };
    let viewer = one.add_member(options).unwrap();
    let nobody = MemberOptions { carrier: None, node: "printer", ..options };
    let _printer = one.add_member(nobody).unwrap();
    // A second port that carries for them.
    let options_of_spare =
        SubscriberOptions { node, topic: "/image", qos, doorbell: None, group: None };
    let spare = one.any_subscriber_of(&schema, options_of_spare, BackPressure::Never).unwrap();
    assert!(one.add_member(MemberOptions { topic: "image", ..options }).is_err());

    let view = local.graph().unwrap();
    let ends = || {
        let graph = view.snapshot();
        let ports = graph.ports(PortKind::Subscriber);
        let mut ends: Vec<_> =
            ports.map(|(_, port)| (port.node.clone(), port.qos.depth, port.gid)).collect();
        ends.sort();
        ends
    };
    assert!(local.wait_until(LIMIT, || ends().len() == 2), "{:?}", ends());
    let seen = ends();
    assert_eq!((seen[0].0.as_str(), seen[0].1, seen[0].2), ("/far/viewer", 7, viewer.gid()));
    assert_eq!(seen[1].0, "printer");
    drop((viewer, spare));
    assert!(local.wait_until(LIMIT, || ends().len() == 2 && ends()[0].0 != "/far/viewer"));
}

#[test]
fn a_publisher_knows_how_many_it_reaches_through_a_gateway() {
    let place = Place::new("gateway-reached");
    let (one, local) = (gateway(&place, "one"), place.open("local"));
    let schema = Arc::new(Schema::shipped("sensor_msgs/msg/Image").unwrap());
    let (node, qos, max_bytes) = ("source", Qos::best_effort(4), Some(4096));
    let options = PublisherOptions { node, topic: "/image", qos, max_bytes, group: None };
    let output = local.any_publisher(Arc::clone(&schema), options).unwrap();
    let view = local.graph().unwrap();
    let reached = || view.snapshot().carried_to(&output.gateways(), &qos);
    let (node, doorbell, group) = ("gateway", None, None);
    let options = SubscriberOptions { node, topic: "/image", qos, doorbell, group };
    let carrier = one.any_subscriber_of(&schema, options, BackPressure::Never).unwrap();
    let near = subscriber(&local, "/image", Qos::best_effort(4));
    assert!(local.wait_until(LIMIT, || output.matched() == 2));
    assert_eq!((output.gateways(), reached()), (vec![carrier.gid()], 0));
    let member = |node, qos| MemberOptions {
        publishes: false,
        node,
        topic: "/image",
        type_name: "sensor_msgs/msg/Image",
        type_hash: schema.type_hash().0,
        qos,
        carrier: Some(carrier.gid()),
    };
    let add = |options| one.add_member(options).unwrap();
    let _picky = add(member("/far/picky", reliable(7)));
    let _nobody = add(MemberOptions { carrier: None, ..member("/far/none", Qos::best_effort(7)) });
    let two = ["/far/one", "/far/two"].map(|node| add(member(node, Qos::best_effort(7))));
    assert!(local.wait_until(LIMIT, || reached() == 2), "{}", reached());
    drop(two);
    assert!(local.wait_until(LIMIT, || reached() == 0), "{}", reached());
    drop(carrier);
    assert!(local.wait_until(LIMIT, || output.matched() == 1));
    assert!(output.gateways().is_empty());
    drop(near);
}
