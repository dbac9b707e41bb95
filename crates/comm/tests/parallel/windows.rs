//! Messages that somebody looks at before the node takes them: what is known of the next one, and
//! the window of those that were looked at.

use std::time::Duration;

use crossdock_comm::{
    Access, DoorbellOptions, Gathered, NextMessage, Observer, ObserverOptions, Participant,
    PortGroup, Publisher, PublisherOptions, Qos, Rendezvous, Subscriber, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;

use crate::common::{LIMIT, Place, check, drain, publish, publisher, reliable, subscriber};

fn next(number: u64) -> Option<NextMessage> {
    Some(NextMessage { stamp_ns: number, origin: [number, !number] })
}

/// Through the ring, or inside a group.
fn ends(participant: &Participant, inside: bool) -> (Publisher<Image>, Subscriber<Image>) {
    let group = PortGroup::new();
    let (topic, qos, group) = ("/image", reliable(8), inside.then_some(&group));
    let options = PublisherOptions { node: "source", topic, qos, max_bytes: Some(8192), group };
    let output = participant.publisher(options).unwrap();
    let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group };
    let input = participant.subscriber(options).unwrap();
    (output, input)
}

/// Publishes a message whose header has a stamp of its own.
fn publish_stamped(output: &Publisher<Image>, number: u32) {
    let mut loan = output.loan(Extra::none().text(4)).unwrap();
    let mut message = loan.message();
    message.set_height(number);
    message.set_encoding("rgb8").unwrap();
    let mut header = message.header();
    let mut stamp = header.stamp();
    stamp.set_sec(number as i32);
    stamp.set_nanosec(number + 100);
    loan.set_stamp_ns(u64::from(number));
    loan.set_origin([u64::from(number), !u64::from(number)]);
    loan.publish().map_err(|refused| refused.reason).unwrap();
}

fn header_stamp(number: u32) -> (i32, u32) {
    (number as i32, number + 100)
}

#[test]
fn what_is_known_of_the_next_message_is_told_without_taking_it() {
    let place = Place::new("next");
    let participant = place.open("both");
    for inside in [false, true] {
        let (output, input) = ends(&participant, inside);
        let handle = input.handle();
        assert_eq!(handle.peek(), None);
        publish(&output, 1);
        publish(&output, 2);
        assert_eq!((handle.peek(), handle.peek()), (next(1), next(1)));
        assert_eq!((input.counters().taken, handle.passed()), (0, 0));
        assert_eq!(check(&input.take().unwrap().unwrap()), 1);
        assert_eq!(handle.peek(), next(2));
        assert_eq!(handle.gather().unwrap(), Gathered::One);
        assert_eq!((handle.peek(), handle.peek_to_gather()), (next(2), None));
        assert_eq!(drain(&input), [2]);
        assert_eq!(handle.peek(), None);
    }
}

#[test]
fn of_several_publishers_the_message_that_is_taken_next_is_the_one_that_is_known() {
    let place = Place::new("next-of-several");
    let participant = place.open("both");
    let ahead = publisher(&participant, "/image", reliable(4));
    let behind = publisher(&participant, "/image", reliable(4));
    let input = subscriber(&participant, "/image", reliable(4));
    publish(&ahead, 1000);
    // The one whose clock is ahead gets its turn as well.
    for number in 0..10 {
        publish(&behind, number);
        let known = input.handle().peek();
        assert_eq!(known, next(u64::from(check(&input.take().unwrap().unwrap()))));
    }
}

#[test]
fn messages_that_were_looked_at_are_the_next_ones_and_leave_one_by_one() {
    let place = Place::new("window");
    let participant = place.open("both");
    for inside in [false, true] {
        let (output, input) = ends(&participant, inside);
        let handle = input.handle();
        handle.watch();
        assert_eq!((handle.gather().unwrap(), handle.newest()), (Gathered::Nothing, None));
        (1..=3).for_each(|number| publish_stamped(&output, number));
        assert_eq!(handle.peek_to_gather(), next(1));
        assert_eq!(
            (handle.gather().unwrap(), handle.gather().unwrap()),
            (Gathered::One, Gathered::One)
        );
        assert_eq!((handle.gathered(), handle.peek_to_gather()), (2, next(3)));
        let stamps = [0, 1, 2].map(|place| handle.gathered_header_stamp(place));
        assert_eq!(stamps, [Some(header_stamp(1)), Some(header_stamp(2)), None]);
        assert_eq!(handle.newest(), Some((2, Some(header_stamp(2)))));
        assert!(handle.is_ready() && handle.is_ready_to_gather());
        // They are the subscriber's, and still in its input.
        assert_eq!((input.counters().taken, handle.left(), handle.last_stamp_ns()), (2, 0, 0));
        assert_eq!(input.take().unwrap().unwrap().message().height(), 1);
        assert_eq!((handle.gathered(), handle.left(), handle.last_stamp_ns()), (1, 1, 1));
        assert_eq!(input.take().unwrap().unwrap().message().height(), 2);
        assert_eq!(handle.newest(), Some((2, Some(header_stamp(2)))), "it has left");
        assert_eq!(input.take().unwrap().unwrap().message().height(), 3);
        assert!(!handle.is_ready() && !handle.is_ready_to_gather());
        assert_eq!((handle.passed(), handle.left(), handle.missed()), (3, 3, 0));
    }
}

#[test]
fn looking_at_the_newest_message_passes_over_all_others_once() {
    let place = Place::new("newest");
    let participant = place.open("both");
    for inside in [false, true] {
        let (output, input) = ends(&participant, inside);
        let handle = input.handle();
        assert_eq!(handle.gather_newest().unwrap(), 0);
        (1..=2).for_each(|number| publish(&output, number));
        assert_eq!(handle.gather().unwrap(), Gathered::One);
        (3..=4).for_each(|number| publish(&output, number));
        // One was in the window, two were not.
        assert_eq!(handle.gather_newest().unwrap(), 3);
        assert_eq!((handle.gathered(), handle.peek()), (1, next(4)));
        assert_eq!((handle.left(), handle.missed()), (1, 2));
        assert_eq!((input.counters().skipped, input.lost()), (3, 0));
        assert_eq!(handle.gather_newest().unwrap(), 0, "it is the newest already");
        assert_eq!(drain(&input), [4]);
        assert_eq!((handle.passed(), handle.left(), handle.missed()), (4, 2, 2));
    }
}

#[test]
fn no_more_messages_are_looked_at_than_may_be_held() {
    let place = Place::new("full-window");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", Qos::best_effort(20));
    let input = subscriber(&participant, "/image", Qos::best_effort(20));
    let handle = input.handle();
    (1..=17).for_each(|number| publish(&output, number));
    while handle.gather().unwrap() == Gathered::One {}
    assert_eq!((handle.gather().unwrap(), handle.gathered()), (Gathered::Full, 15));
    let held = input.take().unwrap();
    assert_eq!(handle.gather().unwrap(), Gathered::Full, "the node holds it");
    drop(held);
    assert_eq!(handle.gather().unwrap(), Gathered::One);
    assert_eq!(drain(&input), (2..=17).collect::<Vec<_>>());
}

#[test]
fn who_waits_for_messages_to_look_at_is_woken_by_those_that_nobody_has_looked_at() {
    let place = Place::new("armed-window");
    let participant = place.open("both");
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let output = publisher(&participant, "/image", reliable(4));
    let options = SubscriberOptions {
        node: "sink",
        topic: "/image",
        qos: reliable(4),
        doorbell: Some(&bell),
        group: None,
    };
    let input = participant.subscriber::<Image>(options).unwrap();
    assert!(participant.wait_until(LIMIT, || input.matched() == 1));
    let handle = input.handle();
    publish(&output, 1);
    assert!(handle.arm_to_gather(), "one is there");
    assert_eq!(handle.gather().unwrap(), Gathered::One);
    bell.drain(|_| ());
    assert!(handle.arm() && !handle.arm_to_gather());
    publish(&output, 2);
    let mut rung = Vec::new();
    bell.drain(|index| rung.push(Some(index)));
    assert_eq!(rung, [handle.doorbell_index()]);
}

#[test]
fn a_subscriber_that_takes_no_more_holds_no_publisher_up_though_it_stays() {
    let place = Place::new("left");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", Qos::reliable(2, Duration::from_millis(50)));
    let input = subscriber(&participant, "/image", reliable(2));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    publish(&output, 1);
    publish(&output, 2);
    input.handle().leave();
    (3..=10).for_each(|number| publish(&output, number));
    assert_eq!((output.counters().timeouts, input.matched()), (0, 1));
}

#[test]
fn what_was_passed_over_for_the_newest_message_is_seen_to_be_read() {
    let place = Place::new("passed-over");
    let participant = place.open("both");
    let group = PortGroup::new();
    let options = ObserverOptions {
        domain_id: 0,
        name: "observer".into(),
        rendezvous: Rendezvous::Folder(place.0.clone()),
        access: Access::SameUser,
    };
    let mut observer = Observer::open(options).unwrap();
    for group in [None, Some(&group)] {
        let (topic, qos) = ("/image", reliable(8));
        let options = PublisherOptions { node: "source", topic, qos, max_bytes: Some(8192), group };
        let outputs = [0, 1].map(|_| participant.publisher::<Image>(options).unwrap());
        let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group };
        let input = participant.subscriber::<Image>(options).unwrap();
        assert!(participant.wait_until(LIMIT, || input.matched() == 2));
        (0..6).for_each(|number| publish(&outputs[number as usize % 2], number));
        assert_eq!(check(&input.latest().unwrap().unwrap()), 5);
        let seen = observer.snapshot().unwrap();
        let read: Vec<_> = seen.processes[0].connections.iter().map(|it| it.position).collect();
        assert_eq!(read, [3, 3]);
    }
}

#[test]
fn a_port_that_was_closed_is_connected_to_nobody_though_others_still_have_it() {
    let place = Place::new("closed");
    let participant = place.open("both");
    let other = place.open("other");
    let qos = Qos::reliable(2, Duration::from_millis(50));
    let output = publisher(&participant, "/image", qos);
    let (input, beside) = (subscriber(&other, "/image", qos), subscriber(&other, "/image", qos));
    let matched = || [input.matched(), beside.matched()];
    assert!(other.wait_until(LIMIT, || matched() == [1, 1]));
    publish(&output, 1);
    publish(&output, 2);
    let handle = input.handle();
    assert_eq!(handle.gather().unwrap(), Gathered::One);
    handle.close();
    handle.close();
    assert_eq!((handle.gathered(), matched()), (0, [0, 1]));
    assert!(participant.wait_until(LIMIT, || output.matched() == 1));
    assert_eq!(drain(&beside), [1, 2]);
    (3..=4).for_each(|number| publish(&output, number));
    assert_eq!((drain(&input), drain(&beside)), (vec![], vec![3, 4]));
    output.handle().close();
    assert!(other.wait_until(LIMIT, || beside.matched() == 0));
    assert!(drain(&beside).is_empty());
    assert!(participant.wait_until(LIMIT, || output.matched() == 0));
}

#[test]
fn the_last_message_of_a_publisher_is_known_behind_its_handle() {
    let place = Place::new("last");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(2));
    let handle = output.handle();
    assert_eq!((handle.topic(), handle.published(), handle.last_stamp_ns()), ("/image", 0, 0));
    assert_eq!((handle.last_header_stamp(), handle.matched(), handle.peers()), (None, 0, 0));
    (6..=7).for_each(|number| publish_stamped(&output, number));
    assert_eq!((handle.published(), handle.last_stamp_ns()), (2, 7));
    assert_eq!(handle.last_header_stamp(), Some(header_stamp(7)));
    let input = subscriber(&participant, "/image", reliable(2));
    assert!(participant.wait_until(LIMIT, || input.matched() == 1));
    assert_eq!((handle.matched(), handle.peers()), (1, 1));
}
