//! Routers and peers that go, and come again.

use crate::foreign::Foreign;
use crate::graphs::{Place, free_place, heard, listener, meet, reliable, say, talker, until};
use crossdock_comm::{GraphView, PortKind};
use std::time::{Duration, Instant};
use zenoh::{Config, Session, Wait as _};

/// The graph is right again so soon after a connection closed or a session stands again.
pub(crate) const RIGHT_AGAIN: Duration = Duration::from_secs(2);
/// How often a client looks whether its router is there again.
const LOOKS: Duration = Duration::from_secs(1);

fn router(place: &str) -> Session {
    let mut config = Config::default();
    config.insert_json5("mode", "\"router\"").unwrap();
    config.insert_json5("listen/endpoints", &format!("[{place:?}]")).unwrap();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    zenoh::open(config).wait().unwrap()
}

pub(crate) fn publishers(view: &GraphView, topic: &str) -> usize {
    let graph = view.snapshot();
    let ports = graph.ports(PortKind::Publisher);
    ports.filter(|(_, port)| port.topic == topic).count()
}

#[test]
fn a_router_that_goes_takes_far_nodes_with_it_and_brings_them_back() {
    let (left, right, place) = (Place::new("re-left"), Place::new("re-right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let first = router(&place);
    let nets = [left.client(&place), right.client(&place)];
    let talks = talker(&here, "/chatter", reliable(100));
    let listens = listener(&there, "/chatter", reliable(100));
    meet(&talks, &[&listens]);
    let view = there.graph().unwrap();
    until("the far talker is seen", || publishers(&view, "/chatter") == 1);
    first.close().wait().unwrap();
    drop(first);
    let closed = Instant::now();
    until("the far talker is gone", || publishers(&view, "/chatter") == 0);
    assert!(closed.elapsed() < RIGHT_AGAIN, "{:?}", closed.elapsed());
    let says = |end: &str| nets[1].take_notes().iter().any(|note| note.ends_with(end));
    until("the client says so", || says("has gone; it is looked for each second"));
    say(&talks, "lost");

    let _second = router(&place);
    let opened = Instant::now();
    until("the far talker is back", || publishers(&view, "/chatter") == 1);
    assert!(opened.elapsed() < LOOKS + RIGHT_AGAIN, "{:?}", opened.elapsed());
    until("the client says that, too", || says("is there again"));
    meet(&talks, &[&listens]);
    let taken = nets[1].counters().taken;
    say(&talks, "once");
    until("it is taken", || nets[1].counters().taken == taken + 1);
    assert_eq!(heard(&listens), ["once"]);
    assert_eq!(publishers(&view, "/chatter"), 1);
}

#[test]
fn a_peer_that_goes_takes_its_ports_with_it() {
    let (graph, place) = (Place::new("gone"), free_place());
    let _net = graph.router(&place);
    let here = graph.open("here");
    let view = here.graph().unwrap();
    let foreign = Foreign::join(&place);
    let _ends = [
        foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,"),
        foreign.endpoint(2, "MS", "heard", "::,10:,:,:,,"),
    ];
    let subscribers = || {
        let graph = view.snapshot();
        graph.ports(PortKind::Subscriber).filter(|(_, port)| port.topic == "/heard").count()
    };
    until("both are there", || publishers(&view, "/chatter") == 1 && subscribers() == 1);
    foreign.session.close().wait().unwrap();
    let closed = Instant::now();
    until("both are gone", || publishers(&view, "/chatter") == 0 && subscribers() == 0);
    assert!(closed.elapsed() < RIGHT_AGAIN, "{:?}", closed.elapsed());
}
