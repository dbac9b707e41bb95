//! Peers that say what no node of ROS 2 says.

use crate::foreign::{CHATTER, Foreign, attachment};
use crate::graphs::{
    Place, cdr, free_place, hear, heard, listener, meet, reliable, say, talker, until,
};
use crossdock_comm::{GraphView, PortKind};
use crossdock_sight::lost_of;
use crossdock_wire::Gid;
use std::time::{Duration, SystemTime};
use zenoh::Wait as _;
use zenoh::qos::CongestionControl;
use zenoh::time::{NTP64, Timestamp};

#[test]
fn malformed_messages_and_tokens_are_counted_and_nothing_else_happens() {
    let (graph, place) = (Place::new("hostile"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let listens = listener(&here, "/chatter", reliable(10));
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    // Else zenoh drops some at their side on a busy machine.
    let publisher = foreign
        .session
        .declare_publisher(format!("0/chatter/{CHATTER}"))
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until("the port is there", || listens.matched() == 1);
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());

    let put = |cdr: Vec<u8>, attachment: Option<Vec<u8>>| {
        let put = publisher.put(cdr);
        match attachment {
            Some(attachment) => put.attachment(attachment).wait().unwrap(),
            None => put.wait().unwrap(),
        }
    };
    let good = attachment(1, gid);
    put(cdr("no attachment"), None);
    put(cdr("short attachment"), Some(good[..20].to_vec()));
    put(Vec::new(), Some(good.clone()));
    put(vec![0, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f], Some(good.clone()));
    put(cdr("cut off")[..10].to_vec(), Some(good.clone()));
    put(vec![0xff; 1 << 20], Some(good.clone()));
    publisher.delete().wait().unwrap();
    until("they are counted", || net.counters().malformed == 7);
    until("those that are none of the type are seen at the port, as `top` shows them", || {
        let graph = graph.look();
        let mut ports = graph.ports(PortKind::Publisher);
        ports.any(|(_, port)| port.node == "foreigner" && lost_of(port).corrupt == 4)
    });
    // Some peers have GIDs that are not made of their tokens.
    put(cdr("of a strange GID"), Some(attachment(1, Gid([9; 16]))));
    assert_eq!(hear(&listens, 1), ["of a strange GID"]);
    put(cdr("at once"), Some(attachment(2, Gid([9; 16]))));
    assert_eq!(hear(&listens, 1), ["at once"]);

    let tokens: Vec<_> = [
        "@ros2_lv/0/zz/0/0/NN/%/%/talker",
        "@ros2_lv/0/aa/0/0/NN/%/%/not-a-name",
        "@ros2_lv/0/aa/0/1/MP/%/%/talker/%chatter",
        "@ros2_lv/0/aa/0/1/XX/%/%/talker",
        "@ros2_lv/0/aa",
    ]
    .into_iter()
    .map(|token| foreign.session.liveliness().declare_token(token).wait().unwrap())
    .collect();
    until("they are counted", || net.counters().tokens_refused == 5);
    put(cdr("still here"), Some(good));
    assert_eq!(hear(&listens, 1), ["still here"]);
    drop(tokens);
    assert!(heard(&listens).is_empty() && net.is_alive());
}

/// Publishers here that stand for those of the foreign peer.
fn strangers(view: &GraphView) -> usize {
    let graph = view.snapshot();
    graph.ports(PortKind::Publisher).filter(|(_, port)| port.node == "foreigner").count()
}

#[test]
fn a_flood_of_topics_leaves_the_others_alone_and_goes_with_its_peer() {
    const COUNT: u32 = 1000;
    let (left, right, place) = (Place::new("flooded"), Place::new("beside"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let nets = [left.router(&place), right.client(&place)];
    let talks = talker(&here, "/chatter", reliable(100));
    let listens = listener(&there, "/chatter", reliable(100));
    meet(&talks, &[&listens]);
    let view = here.graph().unwrap();
    let foreign = Foreign::join(&place);
    let tokens: Vec<_> = (0..COUNT)
        .map(|number| foreign.endpoint(number, "MP", &format!("flood_{number}"), "::,10:,:,:,,"))
        .collect();
    say(&talks, "in the flood");
    assert_eq!(hear(&listens, 1), ["in the flood"]);
    until("all of them are seen", || strangers(&view) == COUNT as usize);
    // One of them works as ever, on both computers.
    let listens_too = [&here, &there].map(|it| listener(it, "/flood_7", reliable(10)));
    let key = format!("0/flood_7/{CHATTER}");
    let publisher = foreign.session.declare_publisher(key).wait().unwrap();
    let (gid, mut has_heard) = (tokens[7].1, [false; 2]);
    until("both hear it", || {
        publisher.put(cdr("drop by drop")).attachment(attachment(1, gid)).wait().unwrap();
        std::thread::sleep(Duration::from_millis(10));
        for (has_heard, listener) in has_heard.iter_mut().zip(&listens_too) {
            *has_heard |= heard(listener).iter().any(|text| text == "drop by drop");
        }
        has_heard == [true; 2]
    });
    foreign.session.close().wait().unwrap();
    until("all of them are gone", || strangers(&view) == 0);
    say(&talks, "after the flood");
    assert_eq!(hear(&listens, 1), ["after the flood"]);
    assert!(nets.iter().all(|net| net.is_alive() && net.counters().tokens_refused == 0));
}

#[test]
fn a_clock_that_is_an_hour_wrong_either_way_hides_no_message() {
    const HOUR: Duration = Duration::from_secs(3600);
    let (graph, place) = (Place::new("clocks"), free_place());
    let net = graph.router(&place);
    let here = graph.open("here");
    let listens = listener(&here, "/chatter", reliable(10));
    let foreign = Foreign::join(&place);
    let (_token, gid) = foreign.endpoint(1, "MP", "chatter", "::,10:,:,:,,");
    let publisher =
        foreign.session.declare_publisher(format!("0/chatter/{CHATTER}")).wait().unwrap();
    until("it is wanted", || publisher.matching_status().wait().unwrap().matching());
    until("the port is there", || listens.matched() == 1);
    let now = foreign.session.new_timestamp();
    let (own, hour) = (*now.get_time(), NTP64::from(HOUR));
    for (number, time) in [own + hour, own - hour, own].into_iter().enumerate() {
        let stamp = Timestamp::new(time, *now.get_id());
        let put = publisher.put(cdr(&number.to_string())).timestamp(stamp);
        put.attachment(attachment(number as i64, gid)).wait().unwrap();
    }
    let mut seen = Vec::new();
    until("all of them are heard", || {
        while let Some(sample) = listens.take().unwrap() {
            let text = sample.message().data().unwrap().string().unwrap();
            seen.push((text, Duration::from_nanos(sample.stamp_ns())));
        }
        seen.len() == 3
    });
    let texts: Vec<&str> = seen.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["0", "1", "2"]);
    // The time at which they came is that of this computer.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert!(seen.iter().all(|(_, at)| now.abs_diff(*at) < HOUR / 2), "{now:?}: {seen:?}");
    assert_eq!(net.counters().taken, 3);
}
