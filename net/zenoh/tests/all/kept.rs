//! What publishers keep for latecomers.

use crate::graphs::{Place, free_place, hear, heard, listener, reliable, say, talker, until};

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

#[test]
fn publishers_on_both_sides_that_keep_messages_are_heard_once_each() {
    let (left, right, place) = (Place::new("both-left"), Place::new("both-right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let nets = [left.router(&place), right.client(&place)];
    let qos = reliable(10).transient_local();
    let (left_talks, right_talks) = (talker(&here, "/map", qos), talker(&there, "/map", qos));
    for number in 0..10 {
        say(&left_talks, &format!("left {number}"));
        say(&right_talks, &format!("right {number}"));
    }
    let [mut left_heard, mut right_heard] = [Vec::new(), Vec::new()];
    let first = listener(&there, "/map", reliable(100).transient_local());
    right_heard.extend(hear(&first, 20));
    let second = listener(&here, "/map", reliable(100).transient_local());
    left_heard.extend(hear(&second, 20));
    // Behind all that may come twice.
    say(&left_talks, "end");
    for (listens, all) in [(&first, &mut right_heard), (&second, &mut left_heard)] {
        until("the end is heard", || {
            all.extend(heard(listens));
            all.iter().any(|text| text == "end")
        });
        for side in ["left", "right"] {
            let of_side = all.iter().filter(|text| text.starts_with(side)).cloned();
            let wanted: Vec<String> = (0..10).map(|number| format!("{side} {number}")).collect();
            assert_eq!(of_side.collect::<Vec<_>>(), wanted);
        }
    }
    for (net, taken) in nets.iter().zip([10, 11]) {
        let counters = net.counters();
        assert_eq!((counters.taken, counters.unknown), (taken, 0), "{counters:?}");
    }
}

/// Somebody over there who wants few messages does not make it few for the others.
#[test]
fn a_deep_latecomer_gets_what_a_shallow_one_did_not_want() {
    let (left, right, place) = (Place::new("deep-left"), Place::new("deep-right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let nets = [left.router(&place), right.client(&place)];
    let shallow = listener(&there, "/map", reliable(1).transient_local());
    let view = here.graph().unwrap();
    until("the shallow one is seen", || {
        let graph = view.snapshot();
        graph.processes.iter().any(|it| it.members.iter().any(|member| member.port.topic == "/map"))
    });
    let talks = talker(&here, "/map", reliable(200).transient_local());
    (0..200).for_each(|number| say(&talks, &number.to_string()));
    until("the last one has come", || heard(&shallow).iter().any(|text| text == "199"));
    let deep = listener(&there, "/map", reliable(200).transient_local());
    let wanted: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    assert_eq!(hear(&deep, 200), wanted);
    assert_eq!(nets[0].counters().overtaken, 0);
}

/// The bridge then asks for what it has kept, and what others say meanwhile is neither lost nor
/// heard twice.
#[test]
fn a_publisher_that_keeps_messages_comes_to_a_topic_on_which_others_speak() {
    const COUNT: usize = 4000;
    let (left, right, place) = (Place::new("joins-left"), Place::new("joins-right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let nets = [left.router(&place), right.client(&place)];
    for round in 0..4 {
        let topic = format!("/round_{round}");
        let listens = listener(&here, &topic, reliable(1000).keep_all());
        let talks = talker(&there, &topic, reliable(1000).keep_all());
        until("they have met", || listens.matched() == 1 && talks.matched() == 1);
        let mut all = Vec::new();
        let mut keeps = None;
        for number in 0..COUNT {
            say(&talks, &number.to_string());
            all.extend(heard(&listens));
            if number == COUNT / 4 {
                let talks = talker(&there, &topic, reliable(5).transient_local());
                say(&talks, "kept");
                keeps = Some(talks);
            }
            // Slow enough for the network, and fast enough for a gap of a millisecond.
            std::thread::yield_now();
            until("it keeps up", || {
                all.extend(heard(&listens));
                number < all.len() + 200
            });
        }
        until("the last one is heard", || {
            all.extend(heard(&listens));
            all.contains(&(COUNT - 1).to_string()) && all.iter().any(|text| text == "kept")
        });
        assert_eq!(all.iter().filter(|text| *text == "kept").count(), 1);
        all.retain(|text| text != "kept");
        let wanted: Vec<String> = (0..COUNT).map(|number| number.to_string()).collect();
        assert!(all == wanted, "{} heard of {COUNT}", all.len());
        drop(keeps);
    }
    assert_eq!(nets[1].counters().overtaken, 0);
}
