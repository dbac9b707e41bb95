//! Ports of one process: through the ring, inside a thread, with all their qualities of service.

use crate::common;
use common::{
    LIMIT, PATIENCE, Place, check, drain, publish, publisher, reliable, subscriber, try_publish,
};
use crossdock_comm::{
    BackPressure, ClientOptions, DoorbellOptions, PortError, PortGroup, PublisherOptions, Qos,
    SubscriberOptions, TakeError,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_msg::types::std_msgs;
use crossdock_msg::types::std_srvs::srv::SetBool;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

#[test]
fn a_message_reaches_a_subscriber_of_the_same_process() {
    let place = Place::new("same");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(4));
    let input = subscriber(&participant, "/image", reliable(4));
    assert_eq!((output.peers(), input.matched()), (1, 1));
    for number in 1..=3 {
        publish(&output, number);
    }
    assert!(input.is_ready());
    assert_eq!(drain(&input), [1, 2, 3]);
    assert!(!input.is_ready());
    let counters = input.counters();
    assert_eq!((counters.taken, input.lost()), (3, 0));
    assert_eq!(output.counters().messages, 3);
}

#[test]
fn a_message_that_is_larger_than_max_bytes_comes_and_is_told_of_once() {
    let place = Place::new("outgrown");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(4));
    let input = subscriber(&participant, "/image", reliable(4));
    let mut told = Vec::new();
    let mut hear = || {
        told.extend(participant.take_events().0.iter().filter(|it| it.is_trouble()).cloned());
        told.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    publish(&output, 1);
    assert_eq!(drain(&input), [1]);
    // The second needs memory again.
    for bytes in [20_000, 100_000] {
        let mut loan = output.loan(Extra::none().bytes(bytes)).unwrap();
        loan.message().data_uninit(bytes).unwrap().fill(7);
        loan.publish().map_err(|refused| refused.reason).unwrap();
        assert_eq!(input.take().unwrap().unwrap().message().data().unwrap().len(), bytes);
        let heard = participant.wait_until(LIMIT, || !hear().is_empty());
        assert!(heard, "nobody is told of {bytes} bytes");
    }
    // The control thread has seen to the second one, too, when it has seen to this.
    let late = place.open("late");
    assert!(participant.wait_until(LIMIT, || !participant.peers().is_empty()));
    drop(late);
    let told = hear();
    let part = "publisher `source in process both on /image`: a message takes ";
    assert!(told.len() == 1 && told[0].contains(part), "{told:?}");
    assert!(told[0].contains("more than the topic's max_bytes, 8192;"), "{told:?}");
}

#[test]
fn a_port_that_is_dropped_is_counted_no_more() {
    let place = Place::new("dropped");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(4));
    for _ in 0..50 {
        let input = subscriber(&participant, "/image", reliable(4));
        assert_eq!((output.peers(), input.matched()), (1, 1));
        drop(input);
        assert_eq!((output.peers(), output.matched()), (0, 0));
    }
    let input = subscriber(&participant, "/image", reliable(4));
    drop(output);
    assert_eq!(input.matched(), 0);
}

#[test]
fn it_does_not_matter_which_port_comes_first() {
    let place = Place::new("first");
    let participant = place.open("both");
    let input = subscriber(&participant, "/image", reliable(4));
    let output = publisher(&participant, "/image", reliable(4));
    publish(&output, 7);
    assert_eq!(drain(&input), [7]);
}

#[test]
fn topics_do_not_mix() {
    let place = Place::new("topics");
    let participant = place.open("both");
    let left = publisher(&participant, "/left", reliable(4));
    let right = subscriber(&participant, "/right", reliable(4));
    assert_eq!((left.peers(), right.matched()), (0, 0));
    publish(&left, 1);
    assert_eq!(drain(&right), Vec::<u32>::new());
    assert_eq!(left.counters().unmatched, 1);
}

#[test]
fn best_effort_counts_what_is_overtaken_and_what_waited_too_long() {
    let place = Place::new("losses");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", Qos::best_effort(4));
    let shallow = subscriber(&participant, "/image", Qos::best_effort(2));
    for number in 1..=10 {
        publish(&output, number);
    }
    assert_eq!(drain(&shallow), [9, 10]);
    assert_eq!((shallow.lost(), shallow.handle().lost()), (8, 8));
    let counters = shallow.counters();
    assert_eq!(counters.lapped + counters.keep_last, 8);
}

#[test]
fn a_reliable_publisher_fails_after_its_time_out_and_gives_the_message_back() {
    let place = Place::new("timeout");
    let participant = place.open("both");
    let qos = Qos::reliable(2, std::time::Duration::from_millis(20));
    let output = publisher(&participant, "/image", qos);
    let input = subscriber(&participant, "/image", qos);
    publish(&output, 1);
    publish(&output, 2);
    let mut loan = output.loan(Extra::none().text(4).bytes(8)).unwrap();
    loan.message().set_encoding("rgb8").unwrap();
    loan.message().set_data(&[3; 8]).unwrap();
    loan.message().set_width(8);
    loan.message().set_height(3);
    loan.set_origin([3, !3]);
    let refused = loan.publish().unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("sink") && text.contains("/image"), "{text}");
    assert_eq!(output.counters().timeouts, 1);
    assert_eq!(check(&input.take().unwrap().unwrap()), 1);
    refused.loan.publish().unwrap();
    assert_eq!(drain(&input), [2, 3]);
}

#[test]
fn a_late_subscriber_gets_the_history_only_if_both_sides_are_transient_local() {
    let place = Place::new("history");
    let participant = place.open("both");
    let output = publisher(&participant, "/map", reliable(3).transient_local());
    for number in 1..=5 {
        publish(&output, number);
    }
    let latched = subscriber(&participant, "/map", reliable(2).transient_local());
    let volatile = subscriber(&participant, "/map", reliable(5));
    assert_eq!(drain(&latched), [4, 5]);
    assert_eq!(drain(&volatile), Vec::<u32>::new());
    publish(&output, 6);
    assert_eq!((drain(&latched), drain(&volatile)), (vec![6], vec![6]));
    assert_eq!((latched.lost(), volatile.lost()), (0, 0));
}

#[test]
fn latest_passes_over_older_messages_and_counts_them_as_skipped() {
    let place = Place::new("latest");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", Qos::best_effort(8));
    let other = publisher(&participant, "/image", Qos::best_effort(8));
    let input = subscriber(&participant, "/image", Qos::best_effort(8));
    for number in [1, 3, 5] {
        publish(&output, number);
        publish(&other, number + 1);
    }
    assert_eq!(check(&input.latest().unwrap().unwrap()), 6);
    assert!(input.latest().unwrap().is_none());
    assert_eq!((input.counters().skipped, input.lost()), (5, 0));
}

#[test]
fn several_publishers_are_merged_by_the_smallest_stamp() {
    let place = Place::new("merge");
    let participant = place.open("both");
    let outputs: Vec<_> = (0..3).map(|_| publisher(&participant, "/image", reliable(8))).collect();
    let input = subscriber(&participant, "/image", reliable(8));
    for number in 0..12 {
        publish(&outputs[number as usize % 3], number);
    }
    assert_eq!(drain(&input), (0..12).collect::<Vec<_>>());
}

#[test]
fn no_publisher_waits_for_more_than_its_depth_whatever_its_clock_says() {
    let place = Place::new("clock");
    let participant = place.open("both");
    let ahead = publisher(&participant, "/image", reliable(4));
    let behind = publisher(&participant, "/image", reliable(4));
    let input = subscriber(&participant, "/image", reliable(4));
    publish(&ahead, 1_000_000);
    let mut taken = Vec::new();
    for number in 0..10 {
        publish(&behind, number);
        taken.push(check(&input.take().unwrap().unwrap()));
    }
    assert_eq!(taken.iter().position(|number| *number == 1_000_000), Some(4));
}

#[test]
fn a_group_hands_over_inside_the_thread_and_leaves_the_ring_alone() {
    let place = Place::new("group");
    let participant = place.open("chain");
    let group = PortGroup::new();
    let options = PublisherOptions {
        node: "source",
        topic: "/image",
        qos: reliable(4),
        max_bytes: Some(4096),
        group: Some(&group),
    };
    let output = participant.publisher::<Image>(options).unwrap();
    let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
    let options = SubscriberOptions {
        node: "sink",
        topic: "/image",
        qos: reliable(4),
        doorbell: Some(&bell),
        group: Some(&group),
    };
    let input = participant.subscriber::<Image>(options).unwrap();
    assert_eq!((output.peers(), output.matched(), input.matched()), (0, 1, 1));
    publish(&output, 1);
    publish(&output, 2);
    assert_eq!(drain(&input), [1, 2]);
    let outside = subscriber(&participant, "/image", reliable(4));
    assert_eq!((output.peers(), output.matched()), (1, 2));
    publish(&output, 3);
    assert_eq!((drain(&input), drain(&outside)), (vec![3], vec![3]));
    drop(input);
    assert!(participant.wait_until(LIMIT, || output.matched() == 1));
    publish(&output, 4);
    drop(output);
    assert_eq!(drain(&outside), [4]);
    assert!(participant.wait_until(LIMIT, || outside.matched() == 0));
}

#[test]
fn a_reader_of_the_latest_value_holds_nobody_up_and_loses_nothing() {
    let place = Place::new("unhurried");
    let participant = place.open("both");
    let group = PortGroup::new();
    for (topic, group) in [("/ring", None), ("/inside", Some(&group))] {
        let qos = reliable(4);
        let max_bytes = Some(4096);
        let options = PublisherOptions { node: "source", topic, qos, max_bytes, group };
        let output = participant.publisher::<Image>(options).unwrap();
        let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group };
        let pressure = BackPressure::Never;
        let input = participant.subscriber_with::<Image>(options, pressure).unwrap();
        let begun = std::time::Instant::now();
        (1..=50).for_each(|number| publish(&output, number));
        assert_eq!(check(&input.latest().unwrap().unwrap()), 50, "{topic}");
        // What it asks for one by one are the last that its depth holds.
        (51..=100).for_each(|number| publish(&output, number));
        assert_eq!(drain(&input), [97, 98, 99, 100], "{topic}");
        let counters = input.counters();
        assert_eq!((counters.taken, counters.skipped, input.lost()), (5, 95, 0), "{topic}");
        assert_eq!(output.counters().waits, 0, "{topic}");
        assert!(begun.elapsed() < PATIENCE, "{topic}: the publisher waited");
    }
}

#[test]
fn the_request_of_a_reader_of_the_latest_value_must_fit_all_the_same() {
    let place = Place::new("unhurried_mismatch");
    let participant = place.open("both");
    let _output = publisher(&participant, "/image", Qos::best_effort(4));
    let (node, topic, qos) = ("sink", "/image", reliable(1));
    let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
    let error = participant.subscriber_with::<Image>(options, BackPressure::Never).unwrap_err();
    assert!(matches!(error, PortError::Mismatch(_)), "{error}");
}

#[test]
fn a_full_queue_inside_a_thread_makes_room_where_nobody_can_wait() {
    let place = Place::new("room");
    let participant = place.open("both");
    let group = PortGroup::new();
    let (topic, qos, max_bytes) = ("/image", reliable(4), Some(4096));
    let group = Some(&group);
    let options = PublisherOptions { node: "source", topic, qos, max_bytes, group };
    let output = participant.publisher::<Image>(options).unwrap();
    let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group };
    let pressure = BackPressure::Outside;
    let input = participant.subscriber_with::<Image>(options, pressure).unwrap();
    (1..=10).for_each(|number| publish(&output, number));
    assert_eq!((input.handle().take_overflow(), input.handle().passed()), (6, 6));
    (11..=12).for_each(|number| publish(&output, number));
    assert_eq!(drain(&input), [9, 10, 11, 12]);
    let counters = input.counters();
    assert_eq!((counters.taken, counters.skipped, input.lost()), (4, 8, 0));
    assert_eq!(input.handle().passed(), 12);
    // Outside the thread its publishers wait as ever.
    let impatient = Qos::reliable(2, std::time::Duration::from_millis(1));
    let other = publisher(&participant, topic, impatient);
    (1..=4).for_each(|number| publish(&other, number));
    try_publish(&other, 5).unwrap_err();
    assert_eq!(drain(&input), [1, 2, 3, 4]);
}

#[test]
fn a_dropped_publisher_can_be_drained_and_a_new_one_is_connected() {
    let place = Place::new("replaced");
    let participant = place.open("both");
    let input = subscriber(&participant, "/image", reliable(4));
    for round in 0..50 {
        let output = publisher(&participant, "/image", reliable(4));
        publish(&output, round);
        drop(output);
        assert_eq!(drain(&input), [round]);
    }
    assert!(
        participant.wait_until(LIMIT, || {
            participant.topic_connections("/image") == Default::default()
        })
    );
}

#[test]
fn a_subscriber_that_never_takes_keeps_what_the_last_publishers_that_went_have_left() {
    for looks in [false, true] {
        let place = Place::new("never-takes");
        let participant = place.open("both");
        let input = subscriber(&participant, "/image", reliable(4));
        for number in 1..=200 {
            let output = publisher(&participant, "/image", reliable(4));
            publish(&output, number);
            drop(output);
            assert!(!looks || input.is_ready());
        }
        assert_eq!(drain(&input), (137..=200).collect::<Vec<_>>(), "looks: {looks}");
        assert_eq!(input.lost(), 136);
        let output = publisher(&participant, "/image", reliable(4));
        publish(&output, 201);
        assert_eq!(drain(&input), [201]);
    }
}

#[test]
fn a_sample_outlives_its_subscriber_publisher_and_participant() {
    let place = Place::new("outlives");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(4));
    let input = subscriber(&participant, "/image", reliable(4));
    publish(&output, 42);
    let sample = input.take().unwrap().unwrap();
    drop(input);
    for number in 0..100 {
        publish(&output, number);
    }
    drop(output);
    drop(participant);
    let elsewhere = std::thread::spawn(move || check(&sample));
    assert_eq!(elsewhere.join().unwrap(), 42);
}

#[test]
fn too_many_held_samples_are_an_explicit_error() {
    let place = Place::new("holds");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", Qos::best_effort(20));
    let input = subscriber(&participant, "/image", Qos::best_effort(20));
    let mut held = Vec::new();
    for number in 0..16 {
        publish(&output, number);
        match input.take() {
            Ok(sample) => held.push(sample.unwrap()),
            Err(error) => {
                assert!(matches!(error, TakeError::Ring(_)), "{error}");
                assert!(error.to_string().contains("15"), "{error}");
            }
        }
    }
    assert_eq!(held.len(), 15);
    held.clear();
    assert_eq!(drain(&input), [15]);
}

#[test]
fn ports_of_one_process_that_do_not_fit_are_refused_with_both_names() {
    let place = Place::new("clash");
    let participant = place.open("both");
    let _output = publisher(&participant, "/image", Qos::best_effort(4));
    let options = SubscriberOptions {
        node: "lane",
        topic: "/image",
        qos: Qos::best_effort(1),
        doorbell: None,
        group: None,
    };
    let error = participant.subscriber::<std_msgs::String>(options).unwrap_err();
    assert!(matches!(error, PortError::Mismatch(_)));
    let text = error.to_string();
    for part in ["/image", "lane", "source", "std_msgs/msg/String", "sensor_msgs/msg/Image"] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    let options = SubscriberOptions { qos: reliable(1), ..options };
    let text = participant.subscriber::<Image>(options).unwrap_err().to_string();
    assert!(text.contains("best effort is offered, reliable is requested"), "{text}");
}

#[test]
fn illegal_names_and_depths_are_refused() {
    let place = Place::new("names");
    let participant = place.open("both");
    let options = SubscriberOptions {
        node: "lane",
        topic: "image",
        qos: Qos::best_effort(1),
        doorbell: None,
        group: None,
    };
    assert!(matches!(participant.subscriber::<Image>(options), Err(PortError::Name(_))));
    let options = SubscriberOptions { topic: "/image", qos: Qos::best_effort(0), ..options };
    let error = participant.subscriber::<Image>(options).unwrap_err();
    assert!(matches!(error, PortError::Depth { .. }), "{error}");
}

#[test]
fn sizes_that_no_memory_has_are_refused() {
    let place = Place::new("sizes");
    let participant = place.open("both");
    for bytes in [usize::MAX, usize::MAX - 4096, 1 << 60] {
        let max_bytes = Some(bytes);
        let options = PublisherOptions {
            node: "lane",
            topic: "/a",
            qos: reliable(1),
            max_bytes,
            group: None,
        };
        let error = participant.publisher::<Image>(options).unwrap_err();
        assert!(matches!(error, PortError::Ring(_)), "{error}");
        let options = ClientOptions {
            service: "/a",
            max_request_bytes: max_bytes,
            ..ClientOptions::default()
        };
        let error = participant.client::<SetBool>(options).unwrap_err();
        assert!(matches!(error, PortError::Ring(_)), "{error}");
    }
}

#[test]
fn untyped_ports_learn_the_type_and_carry_encoded_messages() {
    let place = Place::new("any");
    let participant = place.open("both");
    let schema = std::sync::Arc::new(crossdock_msg::Schema::of::<std_msgs::String>().unwrap());
    let options = PublisherOptions {
        node: "player",
        topic: "/chatter",
        qos: reliable(4),
        max_bytes: None,
        group: None,
    };
    let output = participant.any_publisher(schema, options).unwrap();
    let options = SubscriberOptions {
        node: "recorder",
        topic: "/chatter",
        qos: Qos::best_effort(4),
        doorbell: None,
        group: None,
    };
    let input = participant.any_subscriber(options).unwrap();
    let typed = participant
        .subscriber::<std_msgs::String>(SubscriberOptions { node: "typed", ..options })
        .unwrap();
    let cdr = b"\0\x01\0\0\x06\0\0\0hello\0";
    output.publish_cdr(cdr, 17, [1, 2]).unwrap();
    assert!(output.publish_cdr(&cdr[..9], 18, [1, 2]).is_err());
    let sample = input.take().unwrap().unwrap();
    assert_eq!(sample.schema().type_name(), "std_msgs/msg/String");
    assert_eq!((sample.stamp_ns(), sample.origin()), (17, [1, 2]));
    let mut again = Vec::new();
    sample.schema().encode_cdr(sample.block(), &mut again).unwrap();
    assert_eq!(again, cdr);
    assert_eq!(typed.take().unwrap().unwrap().message().data().unwrap(), b"hello");
    assert_eq!(output.counters().copies, 1);
}

#[test]
fn memory_grows_for_messages_larger_than_planned() {
    let place = Place::new("growth");
    let participant = place.open("both");
    let options = PublisherOptions {
        node: "source",
        topic: "/image",
        qos: reliable(2),
        max_bytes: None,
        group: None,
    };
    let output = participant.publisher::<Image>(options).unwrap();
    let input = subscriber(&participant, "/image", reliable(2));
    for bytes in [100usize, 100_000, 1_000_000, 100] {
        let mut loan = output.loan(Extra::none().bytes(bytes)).unwrap();
        loan.message().data_uninit(bytes).unwrap().fill(9);
        loan.publish().unwrap();
        let sample = input.take().unwrap().unwrap();
        let data = sample.message().data().unwrap().to_vec();
        assert!(data.len() == bytes && data.iter().all(|byte| *byte == 9));
    }
}

#[test]
fn the_next_header_stamp_can_be_looked_at_without_taking() {
    let place = Place::new("peek");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(4));
    let input = subscriber(&participant, "/image", reliable(4));
    let handle = input.handle();
    assert_eq!(handle.peek_header_stamp().unwrap(), None);
    for second in [5, 6] {
        let mut loan = output.loan(Extra::none()).unwrap();
        let mut message = loan.message();
        let mut header = message.header();
        let mut stamp = header.stamp();
        stamp.set_sec(second);
        stamp.set_nanosec(second as u32 + 1);
        loan.publish().unwrap();
    }
    assert_eq!(handle.peek_header_stamp().unwrap(), Some((5, 6)));
    assert_eq!(handle.peek_header_stamp().unwrap(), Some((5, 6)));
    assert!(handle.skip().unwrap());
    assert_eq!(handle.peek_header_stamp().unwrap(), Some((6, 7)));
    assert_eq!(input.take().unwrap().unwrap().message().header().stamp().sec(), 6);
    assert!(!handle.is_ready());
}

#[test]
fn a_triggering_input_wakes_its_sleeping_executor() {
    let place = Place::new("bell");
    let participant = place.open("both");
    let ready = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let output = publisher(&participant, "/image", reliable(4));
            ready.wait();
            for number in 1..=500 {
                publish(&output, number);
            }
            ready.wait();
        });
        let bell = participant.doorbell(DoorbellOptions::default()).unwrap();
        let options = SubscriberOptions {
            node: "sink",
            topic: "/image",
            qos: reliable(4),
            doorbell: Some(&bell),
            group: None,
        };
        let input = participant.subscriber::<Image>(options).unwrap();
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        ready.wait();
        let handle = input.handle();
        let mut taken = 0;
        while taken < 500 {
            bell.sleep(Some(LIMIT), || handle.arm());
            bell.drain(|index| assert_eq!(Some(index), handle.doorbell_index()));
            taken += drain(&input).len();
        }
        ready.wait();
    });
}

#[test]
fn a_process_with_thousands_of_connections_needs_few_mappings() {
    let place = Place::new("large");
    let participant = place.open("both");
    let (before, _) = common::resources();
    let (topics, publishers, subscribers) = (100, 2, 8);
    let name = |topic: usize| format!("/topic_{topic}");
    let outputs: Vec<_> = (0..topics * publishers)
        .map(|number| publisher(&participant, &name(number % topics), Qos::best_effort(2)))
        .collect();
    let inputs: Vec<_> = (0..topics * subscribers)
        .map(|number| subscriber(&participant, &name(number % topics), Qos::best_effort(2)))
        .collect();
    assert!(inputs.iter().all(|input| input.matched() == publishers));
    for (number, output) in outputs.iter().enumerate() {
        publish(output, number as u32);
    }
    for (number, input) in inputs.iter().enumerate() {
        let topic = (number % topics) as u32;
        assert_eq!(drain(input), [topic, topic + topics as u32]);
    }
    let (maps, _) = common::resources();
    // One for each publisher, and those that other tests have at the moment.
    assert!(maps - before < topics * publishers + 200, "{maps} mappings, {before} before");
    drop((outputs, inputs));
    let all_gone = || participant.topic_connections("/topic_0") == Default::default();
    assert!(participant.wait_until(LIMIT, all_gone));
}

/// Publishes a message that a device is said to write.
fn publish_early(output: &crossdock_comm::Publisher<Image>) -> crossdock_shm::FencePoint {
    let mut loan = output.loan(Extra::none().bytes(100)).unwrap();
    loan.message().data_uninit(100).unwrap().fill(0);
    loan.publish_early().unwrap()
}

#[test]
fn a_message_that_a_device_still_writes_is_waited_for() {
    let place = Place::new("early");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", reliable(4));
    let is_done = AtomicBool::new(false);
    let (about_to, takes) = channel();
    let point = std::thread::scope(|scope| {
        let taker = scope.spawn(|| {
            let input = subscriber(&participant, "/image", reliable(4));
            about_to.send(()).unwrap();
            while !input.is_ready() {
                std::thread::yield_now();
            }
            about_to.send(()).unwrap();
            let taken = input.take().unwrap().is_some();
            (
                taken,
                is_done.load(Ordering::SeqCst),
                input.take().unwrap_err().to_string(),
                input.lost(),
            )
        });
        takes.recv().unwrap();
        assert!(participant.wait_until(LIMIT, || output.matched() == 1));
        let point = publish_early(&output);
        takes.recv().unwrap();
        // The subscriber is at it, or soon.
        (0..1000).for_each(|_| std::thread::yield_now());
        let failing = publish_early(&output);
        is_done.store(true, Ordering::SeqCst);
        point.timeline.advance(point.value);
        failing.timeline.poison();
        let (taken, was_done, error, lost) = taker.join().unwrap();
        assert!(taken && was_done, "taken {taken}, done {was_done}");
        assert!(error.contains("message 2") && error.contains("the device has failed"), "{error}");
        assert_eq!(lost, 1);
        point
    });
    assert_eq!(point.is_reached(), Ok(true));
}

#[test]
fn a_message_that_nobody_will_finish_is_given_up_when_its_publisher_is_gone() {
    let place = Place::new("early-gone");
    let participant = place.open("both");
    let input = subscriber(&participant, "/image", reliable(4));
    let output = publisher(&participant, "/image", reliable(4));
    publish_early(&output);
    drop(output);
    assert!(input.take().unwrap().is_none());
    assert_eq!(input.counters().corrupt, 1);
}

#[test]
fn who_gives_messages_to_a_device_gets_them_early() {
    let place = Place::new("early-wanted");
    let participant = place.open("both");
    let input = subscriber(&participant, "/image", reliable(4));
    let output = publisher(&participant, "/image", reliable(4));
    input.hand_out_early(true);
    let point = publish_early(&output);
    let sample = input.take().unwrap().unwrap();
    assert_eq!(sample.finish_point().unwrap().is_reached(), Ok(false));
    assert_eq!(sample.message().data().unwrap().len(), 100);
    point.timeline.advance(point.value);
    assert_eq!(sample.finish_point().unwrap().is_reached(), Ok(true));
    assert_eq!(input.lost(), 0);
}
