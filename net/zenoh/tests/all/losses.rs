//! What a slow network loses is counted, and seen by all who look at the graph.

use crate::foreign::{CHATTER, Foreign};
use crate::graphs::{Place, cdr, free_place, reliable, say, talker, until};
use crate::link::Link;
use crossdock_comm::PortKind;
use crossdock_sight::lost_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zenoh::Wait as _;

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
    let view = here.graph().unwrap();
    until("the topic shows it", || {
        let graph = view.snapshot();
        let lost = graph.processes.iter().flat_map(|it| &it.subscribers).map(lost_of);
        lost.map(|it| it.network).sum::<u64>() == counters.overtaken
    });
    assert!(view.snapshot().ports(PortKind::Publisher).all(|(_, it)| lost_of(it).network == 0));
    assert!(counters.sentences()[1].contains("the network was slow"));
}
