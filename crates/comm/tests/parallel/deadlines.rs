//! Deadlines that are missed, and publishers that are alive, silent or gone: told on both sides, of
//! this process and of others that are stopped and killed.

use crate::common;
use std::time::Duration;

use common::child::{Process, hear, role, tell};
use common::{LIMIT, Place, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::{
    Liveliness, LivelinessStatus, Participant, PortEvent, PortEvents, PortGroup, Publisher,
    PublisherOptions, Qos, Subscriber, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use rustix::process::Signal;

/// Longer than any test, shorter than what counts as no limit.
const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(20);

fn by_topic(lease: Duration) -> Qos {
    reliable(4).liveliness(Liveliness::ManualByTopic, lease)
}

/// Publishes with the stamp of the moment, as nodes do.
fn publish_now(publisher: &Publisher<Image>) {
    publisher.loan(Extra::none()).unwrap().publish().map_err(|refused| refused.reason).unwrap();
}

/// Adds what has changed until it is so.
#[track_caller]
fn until_alive(participant: &Participant, events: &PortEvents, wanted: (u64, u64)) {
    let is_so = || {
        let LivelinessStatus { alive, not_alive, .. } = events.take_liveliness();
        (alive, not_alive) == wanted
    };
    assert!(participant.wait_until(LIMIT, is_so), "{:?}", events.take_liveliness());
}

fn until_missed(participant: &Participant, events: &PortEvents, times: u64) {
    let first = events.take_deadline_missed();
    let mut seen = first.total;
    let mut total = || {
        let missed = events.take_deadline_missed();
        seen += missed.change;
        assert_eq!(seen, missed.total, "total and changes differ");
        missed.total
    };
    assert!(participant.wait_until(LIMIT, || total() >= times));
}

fn in_one_group(
    participant: &Participant,
    group: Option<&PortGroup>,
    qos: Qos,
) -> (Publisher<Image>, Subscriber<Image>) {
    let topic = "/image";
    let options = PublisherOptions { node: "source", topic, qos, max_bytes: Some(8192), group };
    let output = participant.publisher(options).unwrap();
    let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group };
    let input = participant.subscriber(options).unwrap();
    assert!(participant.wait_until(LIMIT, || input.matched() == 1));
    (output, input)
}

#[test]
fn both_sides_miss_each_deadline_without_a_message_from_the_first_message_on() {
    let place = Place::new("deadline");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let qos = reliable(4).deadline(SHORT);
    let (output, input) = (publisher(&talker, "/image", qos), subscriber(&listener, "/image", qos));
    let silent = (publisher(&talker, "/silent", qos), subscriber(&listener, "/silent", qos));
    let patient = reliable(4).deadline(LONG);
    let in_time = (publisher(&talker, "/slow", patient), subscriber(&listener, "/slow", patient));
    let all = [&input, &silent.1, &in_time.1];
    assert!(listener.wait_until(LIMIT, || all.iter().all(|input| input.matched() == 1)));
    let (sender, calls) = std::sync::mpsc::channel();
    input
        .events()
        .set_callback(PortEvent::DeadlineMissed, move |kind| {
            sender.send(kind).unwrap_or_default();
        })
        .unwrap();
    publish_now(&output);
    publish_now(&in_time.0);
    assert_eq!(calls.recv_timeout(LIMIT), Ok(PortEvent::DeadlineMissed));
    until_missed(&listener, &input.events(), 5);
    until_missed(&talker, &output.events(), 5);
    for events in [silent.0.events(), silent.1.events(), in_time.0.events(), in_time.1.events()] {
        assert_eq!(events.take_deadline_missed().total, 0);
    }
    // Nothing comes from a publisher that has gone.
    let total = input.events().take_deadline_missed().total;
    drop(output);
    until_missed(&listener, &input.events(), total + 2);
}

#[test]
fn deadlines_are_watched_inside_a_group_and_with_stamps_of_another_clock() {
    let place = Place::new("deadline-group");
    let participant = place.open("both");
    let group = PortGroup::new();
    for group in [None, Some(&group)] {
        let (output, input) = in_one_group(&participant, group, reliable(4).deadline(SHORT));
        // Its stamp says 1970.
        publish(&output, 1);
        until_missed(&participant, &input.events(), 3);
        until_missed(&participant, &output.events(), 3);
        assert_eq!(drain(&input), [1]);
    }
}

#[test]
fn a_publisher_that_speaks_by_topic_is_lost_when_it_falls_silent_and_back_when_it_speaks() {
    let place = Place::new("by-topic");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let output = publisher(&talker, "/image", by_topic(SHORT));
    let input = subscriber(&listener, "/image", by_topic(LONG));
    assert!(listener.wait_until(LIMIT, || input.matched() == 1));
    let lost = || output.events().take_liveliness_lost().total;
    until_alive(&listener, &input.events(), (0, 1));
    assert!(talker.wait_until(LIMIT, || lost() == 1));
    // Whichever thread runs when: what was said is seen, although it is over soon.
    for speak in [Publisher::assert_liveliness, publish_now] {
        let lost_before = lost();
        let (sender, calls) = std::sync::mpsc::channel();
        let events = input.events();
        let alive = listener.wait_until(LIMIT, || {
            speak(&output);
            events.take_liveliness().alive == 1
        });
        assert!(alive);
        input
            .events()
            .set_callback(PortEvent::LivelinessChanged, move |kind| {
                sender.send(kind).unwrap_or_default();
            })
            .unwrap();
        assert_eq!(calls.recv_timeout(LIMIT), Ok(PortEvent::LivelinessChanged));
        until_alive(&listener, &input.events(), (0, 1));
        assert!(talker.wait_until(LIMIT, || lost() > lost_before));
        drain_images(&input);
    }
    drop(output);
    until_alive(&listener, &input.events(), (0, 0));
}

fn drain_images(input: &Subscriber<Image>) {
    while input.take().unwrap().is_some() {}
}

#[test]
fn liveliness_is_watched_inside_a_group_and_ends_with_the_subscription() {
    let place = Place::new("by-topic-group");
    let participant = place.open("both");
    let group = PortGroup::new();
    for group in [None, Some(&group)] {
        let (output, input) = in_one_group(&participant, group, by_topic(SHORT));
        until_alive(&participant, &input.events(), (0, 1));
        let spoken = participant.wait_until(LIMIT, || {
            output.assert_liveliness();
            input.events().take_liveliness().alive == 1
        });
        assert!(spoken);
        drop(input);
        assert!(participant.wait_until(LIMIT, || output.matched() == 0));
    }
}

#[test]
fn each_message_is_a_sign_of_life_though_all_have_one_stamp() {
    let place = Place::new("one-stamp");
    let participant = place.open("both");
    let group = PortGroup::new();
    for group in [None, Some(&group)] {
        let (output, input) = in_one_group(&participant, group, by_topic(SHORT));
        for _ in 0..2 {
            until_alive(&participant, &input.events(), (0, 1));
            let spoken = participant.wait_until(LIMIT, || {
                publish(&output, 1);
                drain(&input);
                input.events().take_liveliness().alive == 1
            });
            assert!(spoken);
        }
    }
}

#[test]
fn without_a_lease_a_publisher_is_alive_while_it_is_connected() {
    let place = Place::new("no-lease");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let output = publisher(&talker, "/image", reliable(4));
    let input = subscriber(&listener, "/image", reliable(4));
    let events = input.events();
    assert!(listener.wait_until(LIMIT, || input.matched() == 1));
    let status = events.take_liveliness();
    assert_eq!((status.alive, status.alive_change, status.not_alive), (1, 1, 0));
    assert!(!events.has_news(PortEvent::LivelinessChanged));
    drop(output);
    assert!(listener.wait_until(LIMIT, || input.matched() == 0));
    let status = events.take_liveliness();
    assert_eq!((status.alive, status.alive_change, status.not_alive_change), (0, -1, 0));
}

#[test]
fn a_process_that_is_stopped_is_silent_and_one_that_is_killed_is_gone() {
    let test = "deadlines::a_process_that_is_stopped_is_silent_and_one_that_is_killed_is_gone";
    let lease = Duration::from_millis(200);
    let automatic = |lease| reliable(4).liveliness(Liveliness::Automatic, lease);
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        // It says nothing itself: its control thread does.
        let _output = publisher(&participant, "/image", automatic(lease));
        tell("here");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("stopped");
    let listener = place.open("listener");
    let input = subscriber(&listener, "/image", automatic(LONG));
    let mut child = Process::start(test, "talk", place.path());
    child.expect("here");
    until_alive(&listener, &input.events(), (1, 0));
    child.stop();
    until_alive(&listener, &input.events(), (0, 1));
    child.signal(Signal::CONT);
    until_alive(&listener, &input.events(), (1, 0));
    let total = input.events().take_matched().total;
    child.kill_running();
    until_alive(&listener, &input.events(), (0, 0));
    assert_eq!((input.events().take_matched().total, total), (1, 1), "it was one connection");
    child.was_killed();
}
