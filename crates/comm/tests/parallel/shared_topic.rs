//! One ring for all ports of a participant on a topic.

use std::sync::Arc;
use std::time::Instant;

use crossdock_comm::{
    Participant, PortKind, PublisherOptions, Qos, SharedMessage, SharedSubscriber, SharedTopic,
    SharedTopicOptions, SubscriberOptions,
};
use crossdock_msg::types::std_msgs;
use crossdock_msg::{Extra, Schema};

use crate::common::{LIMIT, Place, reliable};

fn open(participant: &Participant, qos: Qos) -> SharedTopic {
    let schema = Arc::new(Schema::of::<std_msgs::String>().unwrap());
    let (node, topic, max_bytes, doorbell) = ("context", "/events", None, None);
    let options = SharedTopicOptions { node, topic, qos, max_bytes, doorbell };
    participant.shared_topic(&schema, options)
}

/// `text` as CDR.
fn cdr(text: &str) -> Vec<u8> {
    let mut cdr = vec![0, 1, 0, 0];
    cdr.extend((text.len() as u32 + 1).to_le_bytes());
    cdr.extend(text.as_bytes());
    cdr.push(0);
    cdr
}

fn text(message: &SharedMessage) -> String {
    message.schema().to_json(message.block()).unwrap()["data"].as_str().unwrap().to_string()
}

fn take(subscriber: &SharedSubscriber) -> Arc<SharedMessage> {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(message) = subscriber.take().unwrap() {
            return message;
        }
        assert!(Instant::now() < end, "no message");
        std::thread::yield_now();
    }
}

#[test]
fn members_of_two_participants_hear_each_other_and_know_who_spoke() {
    let place = Place::new("shared-topic");
    let (here, there) = (place.open("here"), place.open("there"));
    let topics = [&here, &there].map(|participant| open(participant, reliable(100)));
    let members: Vec<_> = (0..60)
        .map(|member| {
            let topic = &topics[member % 2];
            (topic.publisher("member").unwrap(), topic.subscriber("member", 100).unwrap())
        })
        .collect();
    let met =
        || topics.iter().all(|it| it.matched_publishers() == 2 && it.matched_subscribers() == 2);
    let end = Instant::now() + LIMIT;
    while !met() {
        assert!(Instant::now() < end, "not connected");
        std::thread::yield_now();
    }
    let gids: std::collections::BTreeSet<_> = members
        .iter()
        .flat_map(|(publisher, subscriber)| [publisher.gid(), subscriber.gid()])
        .collect();
    assert_eq!(gids.len(), 120, "each has a GID of its own");
    for (number, (publisher, _)) in members.iter().enumerate() {
        publisher.publish_cdr(&cdr(&format!("I am {number}")), number as u64).unwrap();
    }
    // Each hears all of them, its own participant's and itself among them, each once; used by
    // several threads.
    std::thread::scope(|scope| {
        for (_, subscriber) in &members {
            scope.spawn(|| {
                let mut heard = std::collections::BTreeMap::new();
                while heard.len() < members.len() {
                    let message = take(subscriber);
                    let who = message.gid().expect("a member");
                    assert_eq!(heard.insert(who, text(&message)), None, "it comes once");
                }
                for (number, (publisher, _)) in members.iter().enumerate() {
                    assert_eq!(heard[&publisher.gid()], format!("I am {number}"));
                }
                assert_eq!(subscriber.lost(), 0);
            });
        }
    });
}

#[test]
fn members_and_ports_of_their_own_share_a_topic() {
    let place = Place::new("shared-and-own");
    let (here, there) = (place.open("here"), place.open("there"));
    let topic = open(&here, reliable(8));
    let (node, qos, group) = ("own", reliable(8), None);
    let options = PublisherOptions { node, topic: "/events", qos, max_bytes: Some(256), group };
    let output = there.publisher::<std_msgs::String>(options).unwrap();
    let options = SubscriberOptions { node, topic: "/events", qos, doorbell: None, group };
    let input = there.subscriber::<std_msgs::String>(options).unwrap();
    let publisher = topic.publisher("member").unwrap();
    let [deep, flat] = [8, 2].map(|depth| topic.subscriber("member", depth).unwrap());
    let met = || topic.matched_publishers() == 2 && input.matched() == 2;
    let end = Instant::now() + LIMIT;
    while !met() {
        assert!(Instant::now() < end, "{} publishers", topic.matched_publishers());
        std::thread::yield_now();
    }
    for number in 0..5 {
        let said = format!("own {number}");
        let mut loan = output.loan(Extra::none().text(said.len())).unwrap();
        loan.message().set_data(&said).unwrap();
        loan.publish().unwrap();
    }
    for number in 0..5 {
        let message = take(&deep);
        assert_eq!((text(&message), message.gid()), (format!("own {number}"), None));
    }
    assert_eq!((text(&take(&flat)), flat.lost()), ("own 3".to_string(), 3));
    publisher.publish_cdr(&cdr("shared"), 9).unwrap();
    let end = Instant::now() + LIMIT;
    loop {
        let Some(sample) = input.take().unwrap() else {
            assert!(Instant::now() < end, "nothing of the member");
            continue;
        };
        if sample.message().data().unwrap() == "shared" {
            break;
        }
    }
    // A member that has gone takes nothing any more, and the others go on.
    drop(flat);
    assert_eq!(text(&take(&deep)), "shared");
    assert!(publisher.publish_cdr(&[0, 1, 0], 0).is_err());
}

#[test]
fn others_see_members_as_ports_of_their_nodes_and_not_the_ports_that_carry_them() {
    let place = Place::new("shared-seen");
    let (here, there) = (place.open("here"), place.open("there"));
    let view = there.graph().unwrap();
    let topic = open(&here, reliable(100));
    let (one, two) = (topic.publisher("one").unwrap(), topic.publisher("/front/two").unwrap());
    let reader = topic.subscriber("one", 5).unwrap();
    let seen = |kind| -> Vec<(String, [u8; 16], usize)> {
        let graph = view.snapshot();
        let ports = graph.ports(kind).filter(|(_, port)| port.topic == "/events");
        let mut seen: Vec<_> =
            ports.map(|(_, port)| (port.node.clone(), port.gid, port.qos.depth)).collect();
        seen.sort();
        seen
    };
    let publishers = [("/front/two".to_string(), two.gid(), 100), ("one".into(), one.gid(), 100)];
    let end = Instant::now() + LIMIT;
    while seen(PortKind::Publisher) != publishers {
        assert!(Instant::now() < end, "{:?}", seen(PortKind::Publisher));
        std::thread::yield_now();
    }
    assert_eq!(seen(PortKind::Subscriber), [("one".into(), reader.gid(), 5)]);
    drop(two);
    while seen(PortKind::Publisher) != publishers[1..] {
        assert!(Instant::now() < end, "{:?}", seen(PortKind::Publisher));
        std::thread::yield_now();
    }
    assert!(topic.publisher("no name").is_err());
    drop((one, reader));
}

#[test]
fn a_shared_topic_has_a_ring_while_somebody_publishes_and_connections_while_somebody_reads() {
    let place = Place::new("shared-lazy");
    let (here, there) = (place.open("here"), place.open("there"));
    let topics = [&here, &there].map(|participant| open(participant, reliable(8)));
    let until = |what: &str, is_met: &dyn Fn() -> bool| {
        let end = Instant::now() + LIMIT;
        while !is_met() {
            assert!(Instant::now() < end, "{what}");
            std::thread::yield_now();
        }
    };
    let connections = || [&here, &there].map(|it| it.topic_connections("/events").incoming);
    let publishers = topics.each_ref().map(|topic| topic.publisher("member").unwrap());
    publishers[0].publish_cdr(&cdr("to nobody"), 1).unwrap();
    assert_eq!(connections(), [0, 0]);
    for round in 0..3 {
        let reader = topics[1].subscriber("reader", 8).unwrap();
        until("both publishers", &|| topics[1].matched_publishers() == 2);
        assert_eq!(connections(), [0, 2]);
        publishers[0].publish_cdr(&cdr("heard"), round).unwrap();
        assert_eq!(text(&take(&reader)), "heard");
        drop(reader);
        until("nobody reads", &|| connections() == [0, 0]);
        until("no reader", &|| topics[0].matched_subscribers() == 0);
    }
    let reader = topics[1].subscriber("reader", 8).unwrap();
    until("both publishers", &|| topics[1].matched_publishers() == 2);
    drop(publishers);
    until("no publisher", &|| topics[1].matched_publishers() == 0);
    let again = topics[0].publisher("member").unwrap();
    until("one publisher", &|| topics[1].matched_publishers() == 1);
    again.publish_cdr(&cdr("again"), 9).unwrap();
    assert_eq!(text(&take(&reader)), "again");
}
