//! What a slow network loses is counted, and seen by all who look at the graph.

use crate::foreign::{CHATTER, Foreign, attachment};
use crate::graphs::{
    Place, Text, cdr, free_place, hear, heard, listener, reliable, say, talker, until,
};
use crate::link::Link;
use crossdock_comm::{PortKind, Sample};
use crossdock_net::{Joining, Net, NetOptions};
use crossdock_sight::{Losses, lost_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use zenoh::Wait as _;
use zenoh::qos::CongestionControl;

#[test]
fn what_a_slow_network_does_not_take_is_counted_by_cause_and_seen_at_the_topic() {
    let (graph, place) = (Place::new("slow"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let talks = talker(&here, "/chatter", reliable(5));
    let link = Link::to(&place);
    let foreign = Foreign::join(&link.place);
    let _token = foreign.endpoint(1, "MS", "chatter", "::,5:,:,:,,");
    let heard = Arc::new(AtomicU64::new(0));
    let (hears, last) = (Arc::clone(&heard), Arc::new(AtomicU64::new(0)));
    let (ends, end) = (Arc::clone(&last), cdr("end"));
    let _subscriber = foreign
        .session
        .declare_subscriber(format!("0/chatter/{CHATTER}"))
        .callback(move |sample| {
            hears.fetch_add(1, Ordering::Relaxed);
            ends.fetch_add(u64::from(sample.payload().to_bytes() == end), Ordering::Relaxed);
        })
        .wait()
        .unwrap();
    until("it is subscribed to", || {
        say(&talks, "hello?");
        std::thread::sleep(std::time::Duration::from_millis(10));
        heard.load(Ordering::Relaxed) > 0
    });
    until("all hellos are put", || net.counters().put == heard.load(Ordering::Relaxed));
    let (before, published) = (net.counters(), talks.counters().messages);
    assert_eq!(before.overtaken, 0, "{before:?}");

    // More than all buffers of the network take.
    const COUNT: u64 = 100_000;
    let text = "x".repeat(200);
    link.hold(true);
    (0..COUNT).for_each(|_| say(&talks, &text));
    link.hold(false);
    until("the network takes messages again", || {
        say(&talks, "end");
        std::thread::sleep(std::time::Duration::from_millis(10));
        last.load(Ordering::Relaxed) > 0
    });
    let published = talks.counters().messages - published;
    let mut counters = net.counters();
    until("each message was put or lost", || {
        counters = net.counters();
        counters.put - before.put + counters.overtaken == published
    });
    assert!(counters.overtaken > 0, "{counters:?}");
    until("the topic shows it", || {
        let graph = graph.look();
        let lost = graph.processes.iter().flat_map(|it| &it.subscribers).map(lost_of);
        lost.map(|it| it.network).sum::<u64>() == counters.overtaken
    });
    assert!(graph.look().ports(PortKind::Publisher).all(|(_, it)| lost_of(it).network == 0));
    assert!(counters.sentences()[1].contains("the network was slow"));
}

#[test]
fn what_has_waited_longer_for_the_network_than_its_lifespan_is_counted() {
    const LIFESPAN: Duration = Duration::from_millis(500);
    let (graph, place) = (Place::new("old"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let talks = talker(&here, "/chatter", reliable(1000).lifespan(LIFESPAN));
    let link = Link::to(&place);
    let foreign = Foreign::join(&link.place);
    let _token = foreign.endpoint(1, "MS", "chatter", "::,5:,:,:,,");
    let key = format!("0/chatter/{CHATTER}");
    let _subscriber = foreign.session.declare_subscriber(key).callback(drop).wait().unwrap();
    let text = "x".repeat(200);
    until("it is subscribed to", || {
        say(&talks, &text);
        std::thread::sleep(Duration::from_millis(1));
        net.counters().put > 0
    });
    let gone = || {
        let counters = net.counters();
        counters.put + counters.overtaken + counters.expired
    };
    let all_gone = || {
        let (mut before, mut now) = (0, 0);
        until("all that was published has gone", || {
            now = gone();
            std::mem::replace(&mut before, now) == now
        });
        now
    };
    until("what has waited is too old", || {
        let (gone_before, published) = (all_gone(), talks.counters().messages);
        let waiting =
            || (talks.counters().messages - published).saturating_sub(gone() - gone_before);
        link.hold(true);
        // Messages that wait for their thread alone are soon gone. A busy machine looks the same:
        // then they are not too old, and it is tried again.
        until("the network takes no more", || {
            (0..1000).for_each(|_| say(&talks, &text));
            let put = net.counters().put;
            std::thread::sleep(Duration::from_millis(100));
            waiting() > 100 && net.counters().put == put
        });
        std::thread::sleep(2 * LIFESPAN);
        link.hold(false);
        all_gone();
        net.counters().expired >= 100
    });
}

#[test]
fn what_a_reliable_subscriber_does_not_take_in_time_is_counted() {
    let (graph, place) = (Place::new("late"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let takes_nothing = listener(&here, "/chatter", reliable(1).keep_all());
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::2,1000:,:,:,,");
    // Else zenoh drops some at their side on a busy machine.
    let publisher = foreign
        .session
        .declare_publisher(format!("0/chatter/{CHATTER}"))
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());
    until("the port is there", || takes_nothing.matched() == 1);
    // Some more than it keeps.
    const COUNT: i64 = 1030;
    for number in 1..=COUNT {
        let put = publisher.put(cdr(&number.to_string())).attachment(attachment(number, gid));
        put.wait().unwrap();
    }
    let mut counters = net.counters();
    until("each message was taken or lost", || {
        counters = net.counters();
        counters.taken + counters.blocked == COUNT as u64
    });
    assert!(counters.blocked > 0, "{counters:?}");
    assert_eq!(heard(&takes_nothing).len() as u64, counters.taken);
}

/// What the port here that stands for the foreign publisher has lost, as `top` shows it.
fn lost_of_foreigner(graph: &Place) -> Losses {
    let graph = graph.look();
    let mut ports = graph.ports(PortKind::Publisher);
    let port = ports.find(|(_, port)| port.node == "foreigner");
    port.map(|(_, port)| lost_of(port)).unwrap_or_default()
}

#[test]
fn what_never_came_is_counted_and_what_nobody_wanted_is_not() {
    let (graph, place) = (Place::new("gap"), free_place());
    let net = graph.router(&place);
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    let publisher =
        foreign.session.declare_publisher(format!("0/chatter/{CHATTER}")).wait().unwrap();
    let is_wanted = || publisher.matching_status().wait().unwrap().matching();
    let put = |number: i64| {
        let text = number.to_string();
        publisher.put(cdr(&text)).attachment(attachment(number, gid)).wait().unwrap();
        text
    };
    let here = graph.open("here");
    let hears = |numbers: &[i64]| {
        let listens = listener(&here, "/chatter", reliable(10));
        until("it is wanted", is_wanted);
        let texts: Vec<String> = numbers.iter().map(|number| put(*number)).collect();
        assert_eq!(hear(&listens, texts.len()), texts);
    };
    hears(&[3, 4, 9, 10]);
    until("nobody wants it", || !is_wanted());
    put(11);
    hears(&[15, 16]);
    let counters = net.counters();
    assert_eq!((counters.taken, counters.missed), (6, 4), "{counters:?}");
    assert_eq!(counters.sentences()[1], "lost: never came 4");
    until("the topic shows it", || lost_of_foreigner(&graph).network == 4);
}

#[test]
fn what_never_came_before_a_publisher_was_known_is_counted_to_it_all_the_same() {
    let (graph, place) = (Place::new("gap-unknown"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let listens = listener(&here, "/chatter", reliable(10));
    let foreign = Foreign::join(&place);
    let tell = || foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    let (token, gid) = tell();
    let publisher =
        foreign.session.declare_publisher(format!("0/chatter/{CHATTER}")).wait().unwrap();
    until("the port is there", || listens.matched() == 1);
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());
    let put = |number: i64| {
        let text = cdr(&number.to_string());
        publisher.put(text).attachment(attachment(number, gid)).wait().unwrap();
    };
    put(1);
    assert_eq!(hear(&listens, 1), ["1"]);
    // As after a cut of the wire: it is known again after its next message has come.
    token.undeclare().wait().unwrap();
    until("it has gone", || listens.matched() == 0);
    put(4);
    until("the gap is seen", || net.counters().missed == 2);
    let _token = tell();
    assert_eq!(hear(&listens, 1), ["4"]);
    until("the topic shows it", || lost_of_foreigner(&graph).network == 2);
}

#[test]
fn a_message_that_is_larger_than_the_bridge_allows_is_counted_and_seen_at_the_topic() {
    const MAX: usize = 1000;
    let (graph, place) = (Place::new("oversize"), free_place());
    let (listen, connect) = (vec![place.clone()], Vec::new());
    let options = graph.bridge_options(Joining::Router { listen, connect });
    let net = Net::start(NetOptions { bytes_max: Some(MAX), ..options }).unwrap();
    let here = graph.open("here");
    let listens = listener(&here, "/chatter", reliable(10));
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    let publisher =
        foreign.session.declare_publisher(format!("0/chatter/{CHATTER}")).wait().unwrap();
    until("the port is there", || listens.matched() == 1);
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());
    let fits = "x".repeat(MAX - cdr("").len());
    for (number, text) in
        [fits.clone(), format!("{fits}x"), "still here".to_owned()].iter().enumerate()
    {
        let put = publisher.put(cdr(text)).attachment(attachment(number as i64, gid));
        put.wait().unwrap();
    }
    assert_eq!(hear(&listens, 2), [fits, "still here".to_owned()]);
    let counters = net.counters();
    assert_eq!((counters.taken, counters.oversize), (2, 1), "{counters:?}");
    assert_eq!(counters.sentences()[1], "lost: oversize 1");
    until("the topic shows it", || lost_of_foreigner(&graph).oversize == 1);
}

#[test]
fn publishers_that_keep_more_than_the_bridge_may_are_held_up_and_no_others_are_made_until_they_go()
{
    let (graph, place) = (Place::new("kept-by-all"), free_place());
    let (listen, connect) = (vec![place.clone()], Vec::new());
    let options = graph.bridge_options(Joining::Router { listen, connect });
    let net = Net::start(NetOptions { kept_bytes_max: 1_000_000, ..options }).unwrap();
    let here = graph.open("here");
    let (listens, other) =
        (listener(&here, "/chatter", reliable(10)), listener(&here, "/other", reliable(10)));
    let foreign = Foreign::join(&place);
    let small = foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    until("the port is there", || listens.matched() == 1);
    // The list of so many messages alone takes 2 MiB.
    let deep = foreign.endpoint(2, "MP", "chatter", "::,16384:,:,:,,");
    until("the port is there", || listens.matched() == 2);
    let _late = foreign.endpoint(3, "MP", "other", "::,10:,:,:,,");
    let mut notes = Vec::new();
    until("it is said", || {
        notes.extend(net.take_notes());
        notes.iter().any(|note| note.contains("publishers of /other are not carried"))
    });
    let publisher =
        foreign.session.declare_publisher(format!("0/chatter/{CHATTER}")).wait().unwrap();
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());
    for (number, gid) in [deep.1, small.1].into_iter().enumerate() {
        let put = publisher.put(cdr("said")).attachment(attachment(number as i64, gid));
        put.wait().unwrap();
    }
    // Who takes less than its share goes on.
    assert_eq!(hear(&listens, 1), ["said"]);
    let counters = net.counters();
    assert_eq!((counters.taken, counters.no_room), (1, 1), "{counters:?}");
    assert_eq!(other.matched(), 0);
    deep.0.undeclare().wait().unwrap();
    until("there is room for the other one", || other.matched() == 1);
}

#[test]
fn a_message_for_which_a_topic_has_no_room_is_counted_and_the_next_one_comes() {
    // A topic has 256 MiB: the messages that these readers hold are more.
    const BYTES: usize = 24 << 20;
    const HELD: usize = 4;
    const READERS: usize = 4;
    let (graph, place) = (Place::new("no-room"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let readers = [(); READERS].map(|()| listener(&here, "/chatter", reliable(1)));
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::,1:,:,:,,");
    // Zenoh drops what is slow on its way, unless it is told to wait.
    let publisher = foreign.session.declare_publisher(format!("0/chatter/{CHATTER}"));
    let publisher = publisher.congestion_control(CongestionControl::Block).wait().unwrap();
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());
    until("the port is there", || readers.iter().all(|reader| reader.matched() == 1));
    let large = cdr(&"x".repeat(BYTES));
    let put = |number: usize| {
        let put = publisher.put(large.clone()).attachment(attachment(number as i64, gid));
        put.wait().unwrap();
    };
    let mut held: Vec<Sample<Text>> = Vec::new();
    for number in 0..READERS * HELD {
        put(number);
        let arrived = || net.counters().taken + net.counters().no_room > number as u64;
        until("the message is taken or lost", arrived);
        if net.counters().no_room > 0 {
            break;
        }
        // A reader that holds all that it may takes no more.
        for (index, reader) in readers.iter().enumerate().skip(number / HELD) {
            let mut sample = None;
            until("each reader has it", || {
                sample = sample.take().or_else(|| reader.take().unwrap());
                sample.is_some()
            });
            held.extend(sample.filter(|_| index == number / HELD));
        }
    }
    let counters = net.counters();
    assert_eq!(counters.no_room, 1, "{counters:?}");
    assert!(counters.sentences()[1].contains("no room 1"), "{counters:?}");
    until("the topic shows it", || lost_of_foreigner(&graph).no_room == 1);
    held.clear();
    until("what is held no more is room for others", || {
        put(100);
        std::thread::sleep(Duration::from_millis(50));
        readers[0].take().unwrap().is_some()
    });
}
