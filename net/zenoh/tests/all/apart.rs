//! What one link or one peer does is no trouble of others.

use crate::foreign::{CHATTER, Foreign, attachment};
use crate::graphs::{
    LIMIT, Place, cdr, free_place, hear, heard, listener, reliable, say, talker, until,
};
use crate::link::Link;
use crossdock_comm::Qos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use zenoh::Wait as _;
use zenoh::pubsub::Subscriber;
use zenoh::qos::CongestionControl;

/// A foreign subscriber, and what comes to it.
fn subscribe(foreign: &Foreign, topic: &str) -> (Subscriber<()>, Receiver<Vec<u8>>) {
    let (sender, messages) = channel();
    let subscriber = foreign
        .session
        .declare_subscriber(format!("0/{topic}/{CHATTER}"))
        .callback(move |sample| {
            sender.send(sample.payload().to_bytes().into_owned()).unwrap_or_default();
        })
        .wait()
        .unwrap();
    (subscriber, messages)
}

/// On the other link.
const MESSAGES: u64 = 10;

#[test]
fn a_link_that_stands_still_holds_up_neither_nodes_here_nor_other_links() {
    let (graph, place) = (Place::new("apart"), free_place());
    let net = graph.router(&place);
    let (here, beside) = (graph.open("here"), graph.open("beside"));
    let link = Link::to(&place);
    let (slow, fast) = (Foreign::join(&link.place), Foreign::join(&place));
    let _tokens = [
        slow.endpoint(1, "MS", "flood", "::,5:,:,:,,"),
        fast.endpoint(1, "MS", "chatter", "::,100:,:,:,,"),
    ];
    let floods = talker(&here, "/flood", reliable(5));
    let talks = talker(&here, "/chatter", reliable(100));
    // It keeps the last ones, and nobody waits for it.
    let near = listener(&beside, "/flood", Qos::best_effort(5));
    let (slow_end, fast_end) = (subscribe(&slow, "flood"), subscribe(&fast, "chatter"));
    for (talks, (_, messages)) in [(&floods, &slow_end), (&talks, &fast_end)] {
        until("it is subscribed to", || {
            say(talks, "hello?");
            messages.recv_timeout(Duration::from_millis(10)).is_ok()
        });
    }
    until("the neighbour is there", || {
        say(&floods, "hello?");
        !heard(&near).is_empty()
    });

    link.hold(true);
    let text = "x".repeat(200);
    // More than all buffers of the network take.
    until("the network takes no more of the flood", || {
        (0..5000).for_each(|_| say(&floods, &text));
        // A thread of the bridge that is free puts one more message soon.
        std::thread::sleep(Duration::from_millis(100));
        let put = net.counters().put;
        say(&floods, &text);
        std::thread::sleep(Duration::from_millis(100));
        net.counters().put == put
    });
    let put = net.counters().put;
    for number in 0..MESSAGES {
        let text = format!("number {number}");
        say(&floods, &text);
        say(&talks, &text);
        until("the neighbour hears it", || heard(&near).contains(&text));
        let wanted = cdr(&text);
        // Hellos may still come.
        while fast_end.1.recv_timeout(LIMIT).unwrap() != wanted {}
    }
    // All that was put is on the other link: this one has stood still to this moment.
    until("all that was put is counted", || net.counters().put >= put + MESSAGES);
    assert_eq!(net.counters().put, put + MESSAGES);
    link.hold(false);
    while slow_end.1.try_recv().is_ok() {}
    until("the slow peer hears again", || {
        say(&floods, "end");
        slow_end.1.recv_timeout(Duration::from_millis(10)).is_ok_and(|it| it == cdr("end"))
    });
}

#[test]
fn a_flood_of_messages_is_taken_or_counted_and_another_peer_is_heard_in_it() {
    const COUNT: u64 = 20_000;
    let (graph, place) = (Place::new("messages"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let [flooded, listens] = ["/flood", "/chatter"].map(|it| listener(&here, it, reliable(10)));
    let (floods, talks) = (Foreign::join(&place), Foreign::join(&place));
    let (_flood, flood_gid) = floods.endpoint(1, "MP", "flood", "::,10:,:,:,,");
    let (_talk, gid) = talks.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    let publisher = |foreign: &Foreign, topic: &str| {
        let key = format!("0/{topic}/{CHATTER}");
        // As nodes of ROS 2 do that are reliable: else zenoh drops some of a flood at their side.
        let publisher = foreign.session.declare_publisher(key);
        let publisher = publisher.congestion_control(CongestionControl::Block).wait().unwrap();
        until("it is wanted", || publisher.matching_status().wait().unwrap().matching());
        publisher
    };
    let flood = publisher(&floods, "flood");
    let talk = publisher(&talks, "chatter");
    until("the ports are there", || flooded.matched() == 1 && listens.matched() == 1);

    let sent = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&sent);
    let flooding = std::thread::spawn(move || {
        let text = cdr(&"x".repeat(200));
        for number in 1..=COUNT {
            let text = if number == COUNT { cdr("last") } else { text.clone() };
            flood.put(text).attachment(attachment(number as i64, flood_gid)).wait().unwrap();
            counts.store(number, Ordering::Relaxed);
        }
    });
    until("the flood has begun", || sent.load(Ordering::Relaxed) > COUNT / 100);
    talk.put(cdr("in the flood")).attachment(attachment(1, gid)).wait().unwrap();
    assert_eq!(hear(&listens, 1), ["in the flood"]);
    flooding.join().unwrap();
    until("each message is taken", || net.counters().taken == COUNT + 1);
    // Who takes nothing keeps the last ones.
    let kept = heard(&flooded);
    assert_eq!((kept.len(), kept.last().map(String::as_str)), (10, Some("last")));
    let counters = net.counters();
    assert_eq!(counters.malformed + counters.oversize + counters.no_room, 0, "{counters:?}");
}
