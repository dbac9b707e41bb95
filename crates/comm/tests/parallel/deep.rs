//! Subscribers that are deeper than their publisher, in another process: they end nothing.

use crate::common;
use common::{LIMIT, Place, check, publish, reliable, subscriber};
use crossdock_comm::{Participant, Publisher, PublisherOptions, Qos, Subscriber};
use crossdock_msg::types::sensor_msgs::Image;

/// Messages of more than the smallest pool of a topic.
const MANY: u32 = 3000;

/// A publisher of small messages, as a node's command is, and its executor's first subscriber.
fn command(
    ours: &Participant,
    theirs: &Participant,
    qos: Qos,
    deep: Qos,
) -> (Publisher<Image>, Subscriber<Image>, Subscriber<Image>) {
    let options = PublisherOptions {
        node: "control",
        topic: "/cmd",
        qos,
        max_bytes: Some(2000),
        group: None,
    };
    let output = ours.publisher(options).unwrap();
    let wheels = subscriber(theirs, "/cmd", qos);
    let log = subscriber(theirs, "/cmd", deep);
    assert!(theirs.wait_until(LIMIT, || wheels.matched() == 1 && log.matched() == 1));
    assert!(ours.wait_until(LIMIT, || output.peers() == 2));
    (output, wheels, log)
}

fn drain(input: &Subscriber<Image>) -> Vec<u32> {
    let mut numbers = Vec::new();
    while let Some(sample) = input.take().unwrap() {
        numbers.push(check(&sample));
    }
    numbers
}

#[test]
fn deep_subscribers_that_keep_up_are_served_without_end() {
    let place = Place::new("keep_up");
    let (ours, theirs) = (place.open("vehicle"), place.open("second"));
    for (qos, deep) in [
        (Qos::best_effort(8), Qos::best_effort(500)),
        (reliable(4), reliable(1000)),
        (reliable(1), Qos::best_effort(16_384)),
    ] {
        let (output, wheels, log) = command(&ours, &theirs, qos, deep);
        for number in 1..=MANY {
            publish(&output, number);
            assert_eq!((drain(&wheels), drain(&log)), (vec![number], vec![number]));
        }
        assert_eq!((wheels.lost(), log.lost()), (0, 0));
    }
}

#[test]
fn a_deep_best_effort_subscriber_that_stands_still_gets_what_it_asked_for_and_ends_nothing() {
    let place = Place::new("stand_still");
    let (ours, theirs) = (place.open("vehicle"), place.open("second"));
    let deep = Qos::best_effort(1000);
    let (output, wheels, log) = command(&ours, &theirs, reliable(4), deep);
    for number in 1..=MANY {
        publish(&output, number);
        assert_eq!(drain(&wheels), [number]);
    }
    // Small messages are all kept.
    let expected: Vec<u32> = (MANY - 999..=MANY).collect();
    assert_eq!((drain(&log), log.lost()), (expected, u64::from(MANY) - 1000));
}
