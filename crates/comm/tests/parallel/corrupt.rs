//! Publishers whose rings are nonsense, beside good ones: a subscriber cuts them off, counts and
//! reports them, and gets what the good ones have, however it looks.

use crate::common;
use std::sync::atomic::{AtomicU32, Ordering};

use common::ring::{HEAD, check_word, slot_at};
use common::{LIMIT, Place, check, drain, publish, publisher, reliable, subscriber};
use crossdock_comm::{
    Event, Gathered, Participant, Publisher, PublisherOptions, Subscriber, SubscriberOptions,
};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_test_support::OwnMemory;

const TOPIC: &str = "/image";

/// What is nonsense in a ring.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// The check word of a message, found by a look.
    Check,
    /// The place of a message, found by a take.
    Place,
    /// The same, and the number of the newest message.
    Head,
}

/// A publisher of its own name, so that its ring can be told from others in this process.
struct Corrupt {
    name: String,
    _output: Publisher<Image>,
}

impl Corrupt {
    /// Its ring is spoiled once `input` is connected to it: a message of this stamp seems to be
    /// there.
    fn new(
        (source, sink): (&Participant, &Participant),
        input: &Subscriber<Image>,
        fault: Fault,
        stamp_ns: u64,
    ) -> Corrupt {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("bad{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let matched = input.matched();
        let output = source.publisher(PublisherOptions {
            node: &name,
            topic: TOPIC,
            qos: reliable(4),
            max_bytes: Some(8192),
            group: None,
        });
        assert!(sink.wait_until(LIMIT, || input.matched() > matched));
        let memory = OwnMemory::open();
        let rings = memory.shared(&format!("{name}inprocess"));
        let [ring] = &rings[..] else { panic!("{rings:?}") };
        let words = [1 << 40, 8, stamp_ns, 0, 0, 0];
        let check = match fault {
            Fault::Check => 0,
            Fault::Place | Fault::Head => check_word(1, &words),
        };
        if matches!(fault, Fault::Head) {
            memory.write(ring.start + HEAD.start, &[u64::MAX]);
        }
        let at = ring.start + slot_at(1);
        memory.write(at + 8, &words);
        memory.write(at + 56, &[check]);
        memory.write(at, &[1]);
        Corrupt { name, _output: output.unwrap() }
    }
}

/// A way to get at the next message of a subscriber: its number.
type Look = fn(&Subscriber<Image>) -> Option<u32>;

const LOOKS: [(&str, Look); 7] = [
    ("take", |input| input.take().unwrap().as_ref().map(check)),
    ("latest", |input| input.latest().unwrap().as_ref().map(check)),
    ("peek", |input| {
        input.handle().peek()?;
        input.take().unwrap().as_ref().map(check)
    }),
    ("gather", |input| {
        assert_eq!(input.handle().gather().unwrap(), Gathered::One);
        input.take().unwrap().as_ref().map(check)
    }),
    ("gather newest", |input| {
        input.handle().gather_newest().unwrap();
        input.take().unwrap().as_ref().map(check)
    }),
    ("header stamp", |input| {
        assert!(input.handle().peek_header_stamp().unwrap().is_some());
        input.take().unwrap().as_ref().map(check)
    }),
    ("skip", |input| input.handle().skip().unwrap().then_some(7)),
];

/// What was reported, but who came and went.
fn reports(participant: &Participant) -> Vec<String> {
    let events = participant.take_events().0.into_iter();
    let troubles = events.filter(|event| matches!(event, Event::Trouble(_)));
    troubles.map(|event| event.to_string()).collect()
}

#[test]
fn a_corrupt_publisher_is_cut_off_and_the_others_are_heard_however_one_looks() {
    for (look_name, look) in LOOKS {
        let is_newest = matches!(look_name, "latest" | "gather newest");
        for fault in [Fault::Check, Fault::Place, Fault::Head] {
            // Before and behind the good message.
            for stamp_ns in [0, 1000] {
                if is_newest && matches!((fault, stamp_ns), (Fault::Place, 0)) {
                    // What is older than the newest is passed over, so nobody finds the nonsense.
                    continue;
                }
                let case = format!("{look_name}, {fault:?}, {stamp_ns}");
                let place = Place::new("corrupt");
                let (source, sink) = (place.open("source"), place.open("sink"));
                let input = subscriber(&sink, TOPIC, reliable(4));
                let good = publisher(&source, TOPIC, reliable(4));
                assert!(sink.wait_until(LIMIT, || input.matched() == 1));
                let bad = Corrupt::new((&source, &sink), &input, fault, stamp_ns);
                publish(&good, 7);
                assert_eq!(look(&input), Some(7), "{case}");
                // Nothing is left to take but the nonsense.
                assert_eq!(drain(&input), Vec::<u32>::new(), "{case}");
                let counters = input.counters();
                assert_eq!((counters.corrupt, input.lost()), (1, 1), "{case}");
                let told = reports(&sink);
                assert_eq!(told.len(), 1, "{case}: {told:?}");
                let whom = told[0].contains(&bad.name) && told[0].contains("is corrupt");
                assert!(whom, "{case}: {told:?}");
                publish(&good, 8);
                assert_eq!(drain(&input), [8], "{case}");
                assert!(sink.wait_until(LIMIT, || input.matched() == 1), "{case}");
            }
        }
    }
}

#[test]
fn publishers_that_are_all_corrupt_leave_a_subscriber_that_waits_for_a_good_one() {
    for fault in [Fault::Check, Fault::Place, Fault::Head] {
        let place = Place::new("all-corrupt");
        let (source, sink) = (place.open("source"), place.open("sink"));
        let input = subscriber(&sink, TOPIC, reliable(4));
        let options = SubscriberOptions {
            node: "any",
            topic: TOPIC,
            qos: reliable(4),
            doorbell: None,
            group: None,
        };
        let untyped = sink.any_subscriber(options).unwrap();
        for bad in 1..=3 {
            let _bad = Corrupt::new((&source, &sink), &input, fault, bad);
            assert!(sink.wait_until(LIMIT, || untyped.matched() == 1));
            assert!(input.take().unwrap().is_none());
            assert!(untyped.take().unwrap().is_none());
            assert_eq!((input.counters().corrupt, untyped.counters().corrupt), (bad, bad));
            let nobody = || input.matched() + untyped.matched() == 0;
            assert!(sink.wait_until(LIMIT, nobody), "{fault:?}");
        }
        let good = publisher(&source, TOPIC, reliable(4));
        assert!(sink.wait_until(LIMIT, || input.matched() + untyped.matched() == 2));
        publish(&good, 9);
        assert_eq!(drain(&input), [9]);
        assert_eq!(untyped.take().unwrap().map(|sample| sample.stamp_ns()), Some(9));
    }
}
