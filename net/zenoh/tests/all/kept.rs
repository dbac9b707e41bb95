//! What publishers keep for latecomers.

use crate::graphs::{Place, free_place, hear, listener, reliable, say, talker, until};

#[test]
fn latecomers_get_what_was_kept_on_both_sides() {
    let (left, right, place) = (Place::new("kept-left"), Place::new("kept-right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let _nets = [left.router(&place), right.client(&place)];
    let qos = reliable(3).transient_local();
    let talks = talker(&here, "/map", qos);
    ["one", "two", "three", "four"].iter().for_each(|text| say(&talks, text));
    let first = listener(&there, "/map", qos);
    assert_eq!(hear(&first, 3), ["two", "three", "four"]);
    // One that comes when all is known, and one more when something new was said.
    let second = listener(&there, "/map", qos);
    assert_eq!(hear(&second, 3), ["two", "three", "four"]);
    say(&talks, "five");
    assert_eq!(hear(&first, 1), ["five"]);
    assert_eq!(hear(&second, 1), ["five"]);
    drop((first, second));
    let view = there.graph().unwrap();
    until("nobody listens", || {
        let graph = view.snapshot();
        let mut ports = graph.ports(crossdock_comm::PortKind::Subscriber);
        !ports.any(|(_, port)| port.topic == "/map")
    });
    let third = listener(&there, "/map", reliable(10).transient_local());
    assert_eq!(hear(&third, 3), ["three", "four", "five"]);
    say(&talks, "six");
    assert_eq!(hear(&third, 1), ["six"], "what was kept came once");
}
