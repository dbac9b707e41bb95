//! Ports of several processes: meeting, matching, leaving, killed and started again.

use crate::common;
use std::time::{Duration, Instant};

use common::child::{Process, hear, role, tell};
use common::{LIMIT, Place, check, drain, open_abstract, publish, publisher, reliable, subscriber};
use crossdock_comm::{
    BackPressure, DoorbellOptions, Event, Participant, ParticipantOptions, PublisherOptions, Qos,
    RunId, SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_msgs;

/// A child that publishes `count` messages as soon as it has a subscriber, then waits for its end.
fn child_publisher(participant: &Participant, count: u32, qos: Qos) {
    let output = publisher(participant, "/image", qos);
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    for number in 1..=count {
        publish(&output, number);
    }
    tell("published");
    while hear().is_some() {}
}

/// Takes exactly `count` messages, sleeping on the doorbell, and checks their order.
fn take_in_order(participant: &Participant, count: u32, qos: Qos) {
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let input = participant
        .subscriber::<Image>(SubscriberOptions {
            node: "sink",
            topic: "/image",
            qos,
            doorbell: Some(&bell),
            group: None,
        })
        .unwrap();
    let handle = input.handle();
    let mut next = 1;
    while next <= count {
        bell.sleep(Some(LIMIT), || handle.arm());
        bell.drain(|_| ());
        for number in drain(&input) {
            assert_eq!(number, next);
            next += 1;
        }
    }
    assert_eq!(input.lost(), 0);
}

#[test]
fn a_reliable_topic_between_two_processes_loses_nothing() {
    let test = "processes::a_reliable_topic_between_two_processes_loses_nothing";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        return child_publisher(&participant, 20_000, reliable(8));
    }
    let place = Place::new("reliable");
    let participant = place.open("parent");
    let mut child = Process::start(test, "publish", place.path());
    take_in_order(&participant, 20_000, reliable(8));
    child.expect("published");
    child.finish();
    assert!(participant.wait_until(LIMIT, || participant.peers().is_empty()));
    drop(participant);
    assert_eq!(place.files(), 0);
}

#[test]
fn a_process_that_never_asks_for_the_latest_value_holds_nobody_up() {
    let test = "processes::a_process_that_never_asks_for_the_latest_value_holds_nobody_up";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let (topic, qos) = ("/image", reliable(4));
        let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group: None };
        let pressure = BackPressure::Never;
        let input = participant.subscriber_with::<Image>(options, pressure).unwrap();
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        tell("connected");
        while hear().is_some() {
            assert_eq!(check(&input.latest().unwrap().unwrap()), 1000);
            assert_eq!((input.counters().skipped, input.lost()), (999, 0));
            tell("asked");
        }
        return;
    }
    let place = Place::new("unasked");
    let participant = place.open("parent");
    // It would wait for a day, and fail.
    let output = publisher(&participant, "/image", Qos::reliable(4, Duration::from_secs(86_400)));
    let mut child = Process::start(test, "never asks", place.path());
    child.expect("connected");
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    (1..=1000).for_each(|number| publish(&output, number));
    assert_eq!(output.counters().waits, 0);
    child.say("ask");
    child.expect("asked");
    child.finish();
}

#[test]
fn processes_find_each_other_under_abstract_names_whoever_starts_first() {
    let test = "processes::processes_find_each_other_under_abstract_names_whoever_starts_first";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        return child_publisher(&participant, 100, reliable(8));
    }
    // Names are random: over several rounds each side has the lower one at times.
    for _ in 0..8 {
        let participant = open_abstract("parent");
        let mut child = Process::start(test, "publish", "");
        take_in_order(&participant, 100, reliable(8));
        child.expect("published");
        child.finish();
    }
}

#[test]
fn many_processes_that_start_at_once_are_all_connected_once() {
    let test = "processes::many_processes_that_start_at_once_are_all_connected_once";
    let others = 7;
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let output = publisher(&participant, "/image", reliable(8));
        let input = subscriber(&participant, "/image", Qos::best_effort(8));
        let all = || output.peers() == others + 1 && input.matched() == others + 1;
        assert!(participant.wait_until(LIMIT, all), "{} {}", output.peers(), input.matched());
        tell("connected");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("many");
    let mut children: Vec<_> =
        (0..=others).map(|_| Process::start(test, "both", place.path())).collect();
    children.iter_mut().for_each(|child| child.expect("connected"));
    children.into_iter().for_each(Process::finish);
    assert_eq!(place.files(), 0);
}

#[test]
fn a_late_joiner_in_another_process_gets_the_history() {
    let test = "processes::a_late_joiner_in_another_process_gets_the_history";
    let qos = reliable(4).transient_local();
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let input = subscriber(&participant, "/map", qos);
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        let mut taken = Vec::new();
        while taken.len() < 4 {
            taken.extend(drain(&input));
        }
        assert_eq!((taken, input.lost()), (vec![6, 7, 8, 9], 0));
        return;
    }
    let place = Place::new("late");
    let participant = place.open("parent");
    let output = publisher(&participant, "/map", qos);
    for number in 0..10 {
        publish(&output, number);
    }
    Process::start(test, "late", place.path()).finish();
}

#[test]
fn a_mismatch_is_an_event_on_both_sides_that_names_both() {
    let test = "processes::a_mismatch_is_an_event_on_both_sides_that_names_both";
    let mismatches = |participant: &Participant, count: usize| {
        let mut found = Vec::new();
        let enough = participant.wait_until(LIMIT, || {
            let events = participant.take_events().0.into_iter();
            found.extend(events.filter(|event| matches!(event, Event::Mismatch(_))));
            found.len() >= count
        });
        assert!(enough, "{found:?}");
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let options = SubscriberOptions {
            node: "reader",
            topic: "/type",
            qos: Qos::best_effort(1),
            doorbell: None,
            group: None,
        };
        let wrong_type = participant.subscriber::<std_msgs::String>(options).unwrap();
        let wrong_qos = subscriber(&participant, "/qos", reliable(3));
        for text in mismatches(&participant, 2) {
            tell(&text);
        }
        assert_eq!((wrong_type.matched(), wrong_qos.matched()), (0, 0));
        while hear().is_some() {}
        return;
    }
    let place = Place::new("mismatch");
    let participant = place.open("parent");
    let _types = publisher(&participant, "/type", Qos::best_effort(2));
    let _qos = publisher(&participant, "/qos", Qos::best_effort(2));
    let mut child = Process::start(test, "subscribe", place.path());
    let mut texts = mismatches(&participant, 2);
    texts.extend([child.read().unwrap(), child.read().unwrap()]);
    for text in texts {
        assert!(text.contains("parent") && text.contains("child"), "{text}");
        let type_part = text.contains("std_msgs/msg/String") && text.contains("reader");
        let qos_part = text.contains("best effort is offered") && text.contains("sink");
        assert!(type_part || qos_part, "{text}");
    }
    child.finish();
}

#[test]
fn a_subscriber_that_goes_while_its_samples_are_held_is_served_no_more() {
    let place = Place::new("gone-held");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let output = publisher(&talker, "/image", Qos::reliable(2, Duration::from_millis(50)));
    let input = subscriber(&listener, "/image", reliable(2));
    assert!(listener.wait_until(LIMIT, || input.matched() == 1));
    publish(&output, 1);
    let held = input.take().unwrap().unwrap();
    drop(input);
    assert!(talker.wait_until(LIMIT, || output.matched() == 0));
    // Nobody is waited for, and what is held stays whole.
    (2..=20).for_each(|number| publish(&output, number));
    assert_eq!((output.counters().timeouts, check(&held)), (0, 1));
}

#[test]
fn an_untyped_subscriber_learns_the_type_from_another_process() {
    let test = "processes::an_untyped_subscriber_learns_the_type_from_another_process";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        return child_publisher(&participant, 3, reliable(8));
    }
    let place = Place::new("untyped");
    let participant = place.open("parent");
    let options = SubscriberOptions {
        node: "recorder",
        topic: "/image",
        qos: reliable(8),
        doorbell: None,
        group: None,
    };
    let input = participant.any_subscriber(options).unwrap();
    let mut child = Process::start(test, "publish", place.path());
    child.expect("published");
    assert!(participant.wait_until(LIMIT, || input.matched() == 1));
    let sample = input.take().unwrap().unwrap();
    assert_eq!(sample.schema().type_name(), "sensor_msgs/msg/Image");
    sample.schema().validate(sample.block()).unwrap();
    assert_eq!(sample.schema().to_json(sample.block()).unwrap()["encoding"], "rgb8");
    child.finish();
}

#[test]
fn a_type_without_fields_is_learned_from_another_process() {
    let place = Place::new("no-fields");
    let (here, there) = (place.open("here"), place.open("there"));
    let options = SubscriberOptions {
        node: "recorder",
        topic: "/event",
        qos: reliable(4),
        doorbell: None,
        group: None,
    };
    let input = here.any_subscriber(options).unwrap();
    let options = PublisherOptions {
        node: "button",
        topic: "/event",
        qos: reliable(4),
        max_bytes: None,
        group: None,
    };
    let output = there.publisher::<std_msgs::Empty>(options).unwrap();
    assert!(here.wait_until(LIMIT, || input.matched() == 1));
    output.loan(Extra::none()).unwrap().publish().map_err(|refused| refused.reason).unwrap();
    let sample = input.take().unwrap().unwrap();
    assert_eq!(sample.schema().type_name(), "std_msgs/msg/Empty");
    sample.schema().validate(sample.block()).unwrap();
}

#[test]
fn memory_that_grows_reaches_another_process_before_the_first_message_in_it() {
    let test =
        "processes::memory_that_grows_reaches_another_process_before_the_first_message_in_it";
    let sizes = [100usize, 50_000, 200_000, 1_000_000, 100];
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let options = PublisherOptions {
            node: "source",
            topic: "/image",
            qos: reliable(8),
            max_bytes: None,
            group: None,
        };
        let output = participant.publisher::<Image>(options).unwrap();
        assert!(participant.wait_until(LIMIT, || output.peers() == 1));
        for bytes in sizes {
            let mut loan = output.loan(crossdock_msg::Extra::none().bytes(bytes)).unwrap();
            loan.message().data_uninit(bytes).unwrap().fill(bytes as u8);
            loan.publish().unwrap();
        }
        tell("published");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("segments");
    let participant = place.open("parent");
    let input = subscriber(&participant, "/image", reliable(8));
    let mut child = Process::start(test, "publish", place.path());
    child.expect("published");
    assert!(participant.wait_until(LIMIT, || input.matched() == 1));
    for bytes in sizes {
        let sample = input.take().unwrap().unwrap();
        let data = sample.message().data().unwrap();
        assert!(data.len() == bytes && data.iter().all(|byte| *byte == bytes as u8));
    }
    child.finish();
}

#[test]
fn what_a_dead_publisher_left_is_taken_before_its_connection_goes() {
    let test = "processes::what_a_dead_publisher_left_is_taken_before_its_connection_goes";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        return child_publisher(&participant, 5, reliable(8));
    }
    let place = Place::new("drained");
    let participant = place.open("parent");
    let input = subscriber(&participant, "/image", reliable(8));
    let mut child = Process::start(test, "publish", place.path());
    child.expect("published");
    assert!(participant.wait_until(LIMIT, || input.matched() == 1));
    let first = input.take().unwrap().unwrap();
    child.kill();
    assert!(participant.wait_until(LIMIT, || input.matched() == 0));
    assert_eq!(drain(&input), [2, 3, 4, 5]);
    assert_eq!(check(&first), 1);
    assert!(participant.take_events().0.iter().any(|event| matches!(event, Event::PeerLeft(_))));
}

#[test]
fn ports_come_and_go_at_any_time_and_nothing_of_them_stays() {
    let test = "processes::ports_come_and_go_at_any_time_and_nothing_of_them_stays";
    let rounds = 300;
    let churn = |participant: &Participant| {
        let mut kept = std::collections::VecDeque::new();
        for round in 0..rounds {
            let output = publisher(participant, "/image", Qos::best_effort(4));
            let input = subscriber(participant, "/image", Qos::best_effort(4));
            publish(&output, round);
            let sample = input.take().unwrap();
            kept.push_back((output, input, sample));
            // Some of them go with a sample still in hand, publishers before subscribers or after.
            if kept.len() > 3 {
                let (output, input, sample) = kept.pop_front().unwrap();
                if round % 2 == 0 {
                    drop(output);
                    drain(&input);
                    drop((input, sample));
                } else {
                    drop(input);
                    drop((sample, output));
                }
            }
        }
        drop(kept);
        let gone = participant
            .wait_until(LIMIT, || participant.topic_connections("/image") == Default::default());
        assert!(gone, "{:?}", participant.topic_connections("/image"));
        let trouble: Vec<_> = participant.take_events().0;
        let bad = trouble
            .iter()
            .find(|event| !matches!(event, Event::PeerJoined(_) | Event::PeerLeft(_)));
        assert!(bad.is_none(), "{}", bad.unwrap());
    };
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        assert!(participant.wait_until(LIMIT, || !participant.peers().is_empty()));
        tell("met");
        churn(&participant);
        tell("churned");
        while hear().is_some() {}
        return;
    }
    let place = Place::new("churn");
    let participant = place.open("parent");
    let mut child = Process::start(test, "churn", place.path());
    child.expect("met");
    churn(&participant);
    child.expect("churned");
    child.finish();
}

/// Bytes of the messages of the next test, which nobody has promised.
fn creeping() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1000), |bytes| Some(bytes + bytes / 5)).take(50)
}

#[test]
fn messages_of_sizes_that_nobody_promised_reach_another_process_and_their_old_memory_goes() {
    let test = "processes::messages_of_sizes_that_nobody_promised_reach_another_process_and_their_old_memory_goes";
    if let Some((_, place)) = role() {
        let participant = Place::of_parent(&place, "child");
        let (node, topic, qos) = ("source", "/image", reliable(2));
        let options = PublisherOptions { node, topic, qos, max_bytes: None, group: None };
        let output = participant.publisher::<Image>(options).unwrap();
        assert!(participant.wait_until(LIMIT, || output.peers() == 1));
        let mut send = |bytes: usize| {
            let mut loan = output.loan(Extra::none().bytes(bytes)).unwrap();
            let mut image = loan.message();
            image.set_height(bytes as u32);
            image.data_uninit(bytes).unwrap().fill(7);
            loan.publish().unwrap();
        };
        creeping().for_each(&mut send);
        let last = creeping().last().unwrap();
        while hear().is_some() {
            send(last);
        }
        return;
    }
    let place = Place::new("creeping");
    let participant = place.open("parent");
    let mut child = Process::start(test, "publish", place.path());
    let input = subscriber(&participant, "/image", reliable(2));
    let take = || {
        let end = Instant::now() + LIMIT;
        let sample = loop {
            if let Some(sample) = input.take().unwrap() {
                break sample;
            }
            assert!(Instant::now() < end, "no message");
            std::thread::yield_now();
        };
        let image = sample.message();
        let data = image.data().unwrap();
        assert_eq!(data.len(), image.height() as usize);
        assert!(data.iter().all(|byte| *byte == 7));
        image.height() as usize
    };
    creeping().for_each(|bytes| assert_eq!(take(), bytes));
    // Messages of one size now: of the segments of smaller ones nothing stays mapped.
    let mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|line| line.contains("crossdock:sourceinprocesschild")).count()
    };
    let done = participant.wait_until(LIMIT, || {
        child.say("next");
        take();
        mapped() == 2
    });
    assert!(done, "{} memory objects of the publisher are mapped", mapped());
    child.finish();
}

#[test]
fn connections_of_a_run_are_counted_without_processes_beside_it() {
    let place = Place::new("in-run");
    let run = RunId::random().unwrap();
    let of_run = |name| {
        let options = ParticipantOptions { run: Some(run), ..place.options(name) };
        Participant::open(options).unwrap()
    };
    let beside = place.open("beside");
    let (_talks, _hears) = (
        publisher(&beside, "/image", Qos::best_effort(4)),
        subscriber(&beside, "/image", Qos::best_effort(4)),
    );
    let one = of_run("one");
    let output = publisher(&one, "/image", Qos::best_effort(4));
    let input = subscriber(&one, "/other", Qos::best_effort(4));
    let also = publisher(&beside, "/other", Qos::best_effort(4));
    assert!(one.wait_until(LIMIT, || (output.matched(), input.matched()) == (1, 1)));
    let in_run = || (output.handle().matched_in_run(), input.handle().matched_in_run());
    assert_eq!(in_run(), (0, 0));
    assert_eq!(one.topic_connections("/image").outgoing, 0);
    let two = of_run("two");
    let _heard = subscriber(&two, "/image", Qos::best_effort(4));
    let _talking = publisher(&two, "/other", Qos::best_effort(4));
    assert!(one.wait_until(LIMIT, || in_run() == (1, 1)), "{:?}", in_run());
    assert_eq!((output.matched(), input.matched()), (2, 2));
    assert_eq!(one.topic_connections("/other").incoming, 1);
    // Without a run all count.
    assert_eq!(also.handle().matched_in_run(), also.matched());
}
