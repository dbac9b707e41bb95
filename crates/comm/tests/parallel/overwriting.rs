//! Reliable publishers that overwrite instead of waiting, histories that keep all, and messages
//! that expire.

use crate::common;
use std::time::Duration;

use common::child::{Process, hear, role, tell};
use common::{
    LIMIT, PATIENCE, Place, drain, open_abstract, publish, publisher, reliable, subscriber,
    try_publish,
};
use crossdock_comm::{
    Maker, Participant, ParticipantOptions, PortError, PortGroup, Publisher, PublisherOptions, Qos,
    SubscriberOptions,
};
use crossdock_msg::Extra;
use crossdock_msg::types::sensor_msgs::Image;

fn overwriting(depth: usize) -> Qos {
    reliable(depth).overwriting()
}

#[test]
fn the_oldest_message_of_a_slow_reader_goes_and_is_counted() {
    let place = Place::new("overwriting");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let output = publisher(&talker, "/image", overwriting(4));
    let input = subscriber(&listener, "/image", reliable(4));
    assert!(talker.wait_until(LIMIT, || output.peers() == 1));
    assert!(listener.wait_until(LIMIT, || input.matched() == 1));
    (1..=10).for_each(|number| publish(&output, number));
    assert_eq!(drain(&input), [7, 8, 9, 10]);
    let counters = input.counters();
    assert_eq!((counters.overwritten, counters.lapped, counters.keep_last), (6, 0, 0));
    assert_eq!(input.lost(), 6);
    assert_eq!((output.counters().waits, output.counters().timeouts), (0, 0));
}

#[test]
fn a_deeper_reader_gets_what_it_asks_for() {
    let place = Place::new("overwriting-deep");
    let participant = place.open("both");
    let output = publisher(&participant, "/image", overwriting(1));
    let input = subscriber(&participant, "/image", reliable(6));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    (1..=10).for_each(|number| publish(&output, number));
    assert_eq!(drain(&input), [5, 6, 7, 8, 9, 10]);
    assert_eq!(input.counters().overwritten, 4);
}

#[test]
fn a_full_queue_inside_a_thread_is_overwritten_as_well() {
    let place = Place::new("overwriting-group");
    let participant = place.open("both");
    let group = PortGroup::new();
    let (topic, group) = ("/image", Some(&group));
    let output: Publisher<Image> = participant
        .publisher(PublisherOptions {
            node: "source",
            topic,
            qos: overwriting(2),
            max_bytes: Some(8192),
            group,
        })
        .unwrap();
    let options =
        SubscriberOptions { node: "sink", topic, qos: reliable(2), doorbell: None, group };
    let input = participant.subscriber::<Image>(options).unwrap();
    (1..=5).for_each(|number| publish(&output, number));
    assert_eq!(drain(&input), [4, 5]);
    assert_eq!(input.counters().overwritten, 3);
}

/// The role of the process that stands still.
fn stopped_reader(place: &str) {
    let participant = match place {
        "" => Place::of_parent(place, "reader"),
        _ => unreachable!("it meets its parent under an abstract name"),
    };
    let input = subscriber(&participant, "/image", reliable(4));
    assert!(participant.wait_until(LIMIT, || input.matched() == 1));
    tell("there");
    hear();
    // What the last segment holds may still be on its way.
    let mut last = 0;
    while last != 300 {
        last = drain(&input).last().copied().unwrap_or(last);
        participant.wait_change(participant.changes(), Duration::from_millis(10));
    }
    let counters = input.counters();
    assert!(counters.overwritten > 0 && counters.corrupt == 0, "{counters:?}");
    tell("done");
    hear();
}

#[test]
fn a_stopped_reader_holds_no_publisher_up_even_if_memory_grows() {
    if let Some((_, place)) = role() {
        return stopped_reader(&place);
    }
    let test = "overwriting::a_stopped_reader_holds_no_publisher_up_even_if_memory_grows";
    let participant = open_abstract("talker");
    let output = publisher(&participant, "/image", overwriting(4));
    let mut reader = Process::start(test, "reader", "");
    reader.expect("there");
    reader.stop();
    (1..=100).for_each(|number| publish(&output, number));
    // Larger than the contract's: a segment that the reader does not map.
    let mut loan = output.loan(Extra::none().text(4).bytes(1 << 20)).unwrap();
    loan.message().data_uninit(1 << 20).unwrap().fill(1);
    loan.message().set_width(1 << 20);
    loan.message().set_encoding("rgb8").unwrap();
    loan.message().set_height(1);
    loan.set_origin([1, !1]);
    loan.publish().map_err(|refused| refused.reason).unwrap();
    (102..300).for_each(|number| publish(&output, number));
    assert_eq!((output.counters().waits, output.counters().timeouts), (0, 0));
    reader.signal(rustix::process::Signal::CONT);
    reader.say("go on");
    publish(&output, 300);
    reader.expect("done");
    reader.say("end");
    reader.finish();
}

#[test]
fn a_subscriber_that_keeps_all_passes_over_nothing() {
    let place = Place::new("keep-all");
    let (talker, listener) = (place.open("talker"), place.open("listener"));
    let all = reliable(1).keep_all();
    let output = publisher(&talker, "/image", all);
    let input = subscriber(&listener, "/image", all);
    assert!(talker.wait_until(LIMIT, || output.peers() == 1));
    assert!(listener.wait_until(LIMIT, || input.matched() == 1));
    (1..=1000).for_each(|number| publish(&output, number));
    assert_eq!(drain(&input), (1..=1000).collect::<Vec<_>>());
    assert_eq!(input.lost(), 0);
}

#[test]
fn a_publisher_that_keeps_all_waits_at_its_limit() {
    let place = Place::new("keep-all-limit");
    let participant = place.open("both");
    let all = Qos { depth: 8, ..Qos::reliable(1, Duration::from_millis(20)).keep_all() };
    let output = publisher(&participant, "/image", all);
    let input = subscriber(&participant, "/image", all);
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    (1..=8).for_each(|number| publish(&output, number));
    assert!(try_publish(&output, 9).unwrap_err().contains("behind"));
    assert_eq!(drain(&input), (1..=8).collect::<Vec<_>>());
    publish(&output, 9);
    assert_eq!(drain(&input), [9]);
}

#[test]
fn a_publisher_that_keeps_all_and_overwrites_is_refused() {
    let place = Place::new("contradiction");
    let participant = place.open("one");
    let options = PublisherOptions {
        node: "source",
        topic: "/image",
        qos: Qos::reliable(1, PATIENCE).keep_all().overwriting(),
        max_bytes: None,
        group: None,
    };
    let error = participant.publisher::<Image>(options).unwrap_err();
    assert!(matches!(error, PortError::Contradiction { .. }), "{error}");
}

fn publish_aged(output: &Publisher<Image>, number: u32, age: Duration) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut loan = output.loan(Extra::none().text(4)).unwrap();
    loan.message().set_height(number);
    loan.message().set_encoding("rgb8").unwrap();
    loan.set_origin([u64::from(number), !u64::from(number)]);
    loan.set_stamp_ns((now - age).as_nanos() as u64);
    loan.publish().map_err(|refused| refused.reason).unwrap();
}

#[test]
fn messages_older_than_their_lifespan_are_not_handed_out_and_are_counted() {
    let place = Place::new("lifespan");
    let participant = place.open("both");
    let hour = Duration::from_secs(3600);
    let output = publisher(&participant, "/image", reliable(8).lifespan(hour));
    let input = subscriber(&participant, "/image", reliable(8));
    assert!(participant.wait_until(LIMIT, || output.peers() == 1));
    publish_aged(&output, 1, 2 * hour);
    publish_aged(&output, 2, Duration::ZERO);
    publish_aged(&output, 3, 3 * hour);
    publish_aged(&output, 4, 4 * hour);
    assert_eq!(drain(&input), [2]);
    assert_eq!((input.counters().expired, input.lost()), (3, 3));
    // They are counted, and no event: nobody wants them any more.
    assert_eq!(input.events().take_lost().total, 0);
}

#[test]
fn messages_older_than_their_lifespan_are_not_waited_for() {
    let place = Place::new("lifespan-wait");
    let participant = place.open("both");
    let hour = Duration::from_secs(3600);
    let (topic, group) = ("/image", PortGroup::new());
    for group in [None, Some(&group)] {
        let qos = Qos::reliable(4, Duration::from_millis(1)).lifespan(hour);
        let plan = PublisherOptions { node: "source", topic, qos, max_bytes: Some(8192), group };
        let output: Publisher<Image> = participant.publisher(plan).unwrap();
        let options =
            SubscriberOptions { node: "sink", topic, qos: reliable(4), doorbell: None, group };
        let input = participant.subscriber::<Image>(options).unwrap();
        assert!(group.is_some() || participant.wait_until(LIMIT, || output.peers() == 1));
        (1..=4).for_each(|number| publish_aged(&output, number, 2 * hour));
        (5..=8).for_each(|number| publish_aged(&output, number, Duration::ZERO));
        // These are waited for.
        let loan = output.loan(Extra::none()).unwrap();
        assert!(loan.publish().is_err());
        assert_eq!(drain(&input), [5, 6, 7, 8]);
        let counters = input.counters();
        assert_eq!((counters.expired, counters.lapped, counters.keep_last), (4, 0, 0));
        assert_eq!(input.events().take_lost().total, 0);
        assert_eq!(output.counters().timeouts, 1);
    }
}

#[test]
fn late_subscribers_get_no_expired_history_and_a_lifespan_of_zero_is_none() {
    let place = Place::new("lifespan-history");
    let participant = place.open("both");
    let hour = Duration::from_secs(3600);
    let latched = reliable(4).transient_local();
    for (topic, lifespan, expected) in
        [("/short", hour, vec![2]), ("/zero", Duration::ZERO, vec![1, 2])]
    {
        let output = publisher(&participant, topic, latched.lifespan(lifespan));
        publish_aged(&output, 1, 2 * hour);
        publish_aged(&output, 2, Duration::ZERO);
        let input = subscriber(&participant, topic, latched);
        assert!(participant.wait_until(LIMIT, || input.matched() == 1));
        assert_eq!(drain(&input), expected, "{topic}");
    }
}

fn open_as(place: &Place, maker: Maker) -> Participant {
    Participant::open(ParticipantOptions { maker, ..place.options("plug-in") }).unwrap()
}

#[test]
fn ports_of_one_process_that_do_not_fit_are_refused_or_of_a_plug_in_not_connected() {
    let place = Place::new("maker");
    let (native, plug_in) = (place.open("native"), open_as(&place, Maker::Rmw));
    let best_effort = Qos::best_effort(1);
    let _output = publisher(&native, "/native", best_effort);
    let options = SubscriberOptions {
        node: "sink",
        topic: "/native",
        qos: reliable(1),
        doorbell: None,
        group: None,
    };
    assert!(matches!(native.subscriber::<Image>(options), Err(PortError::Mismatch(_))));
    let output = publisher(&plug_in, "/image", best_effort);
    let input = subscriber(&plug_in, "/image", reliable(1));
    let other = publisher(&plug_in, "/image", best_effort);
    assert_eq!((output.matched(), other.matched(), input.matched()), (0, 0, 0));
    let mismatches = plug_in.take_events().0;
    let texts: Vec<_> = mismatches.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains("best effort is offered")), "{texts:?}");
}
