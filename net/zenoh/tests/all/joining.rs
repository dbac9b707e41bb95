//! How networks are joined, what is seen then, and what is said if that fails.

use crate::foreign::Foreign;
use crate::graphs::{Place, free_place, hear, heard, listener, meet, reliable, say, talker, until};
use crossdock_comm::Qos;
use crossdock_net::{Joining, Net};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use zenoh::Wait as _;

#[test]
fn two_graphs_hear_each_other_once_and_see_each_others_nodes() {
    let (left, right, place) = (Place::new("left"), Place::new("right"), free_place());
    let (here, there) = (left.open("here"), right.open("there"));
    let nets = [left.router(&place), right.client(&place)];
    let talks = talker(&here, "/chatter", reliable(100));
    let back = listener(&here, "/chatter", reliable(100));
    let listens = [(); 3].map(|()| listener(&there, "/chatter", reliable(100)));
    let answers = talker(&there, "/answer", reliable(100));
    let hears = listener(&here, "/answer", Qos::best_effort(100));
    meet(&talks, &[&back, &listens[0], &listens[1], &listens[2]]);
    meet(&answers, &[&hears]);

    let [before, _] = [&nets[0], &nets[1]].map(Net::counters);
    let texts: Vec<String> = (0..100).map(|number| format!("message {number}")).collect();
    texts.iter().for_each(|text| say(&talks, text));
    for listener in &listens {
        assert_eq!(hear(listener, 100), texts);
    }
    assert_eq!(hear(&back, 100), texts, "nothing comes back");
    say(&answers, "yes");
    assert_eq!(hear(&hears, 1), ["yes"]);
    let after = nets[0].counters();
    assert_eq!(after.put - before.put, 100, "each message is put once: {after:?}");
    assert_eq!(nets[1].counters().overtaken, 0);
    assert!(heard(&back).is_empty() && listens.iter().all(|it| heard(it).is_empty()));

    let graph = there.graph().unwrap();
    until("the far talker is seen under its own name", || {
        let snapshot = graph.snapshot();
        let ports = snapshot.ports(crossdock_comm::PortKind::Publisher);
        { ports }.any(|(_, port)| port.node == "talker" && port.topic == "/chatter")
    });
}

#[test]
fn a_port_that_is_taken_is_said() {
    let (place, network) = (Place::new("taken"), free_place());
    let _first = place.router(&network);
    let second = Place::new("taken");
    let (listen, connect) = (vec![network.clone()], Vec::new());
    let error = second.try_bridge(Joining::Router { listen, connect }).unwrap_err().to_string();
    assert!(error.contains(&network) && error.contains("--connect"), "{error}");
}

#[test]
fn a_place_that_is_none_is_said() {
    let place = Place::new("wrong");
    let connect = vec!["somewhere".to_owned()];
    let error = place.try_bridge(Joining::Client { connect }).unwrap_err().to_string();
    assert!(error.contains("somewhere") && error.contains("tcp/"), "{error}");
}

#[test]
fn a_router_that_is_not_there_is_said_and_waited_for() {
    let (left, right, place) = (Place::new("late-left"), Place::new("late-right"), free_place());
    let client = left.client(&place);
    let mut notes = Vec::new();
    until("the missing router is said", || {
        notes.extend(client.take_notes());
        notes.iter().any(|note| note.contains("no router answers") && note.contains(&place))
    });
    let _router = right.router(&place);
    let (here, there) = (left.open("here"), right.open("there"));
    let talks = talker(&here, "/chatter", reliable(10));
    meet(&talks, &[&listener(&there, "/chatter", reliable(10))]);
}

#[test]
fn a_bridge_that_is_alone_in_its_domain_says_where_the_others_are() {
    let place = free_place();
    let other = Place::new("domain-of-others").router(&place);
    let foreign = Foreign::join(&place);
    let token = "@ros2_lv/7/aa/0/0/NN/%/%/stray";
    let _token = foreign.session.liveliness().declare_token(token).wait().unwrap();
    let mut notes = Vec::new();
    until("the other domain is said", || {
        notes.extend(other.take_notes());
        let says = "nobody over there is in domain 0, but there are nodes in domain 7:";
        notes.iter().any(|note| note.contains(says))
    });
}

#[test]
fn a_place_that_takes_connections_and_says_nothing_is_said_and_holds_up_no_end() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("tcp/{}", silent.local_addr().unwrap());
    let client = Place::new("silent").client(&place);
    let mut notes = Vec::new();
    until("the silent place is said", || {
        notes.extend(client.take_notes());
        notes.iter().any(|note| note.contains("has not answered yet") && note.contains(&place))
    });
    let begin = Instant::now();
    drop(client);
    // Zenoh would wait for 10 s.
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

/// Sockets of this process, by their numbers.
fn own_sockets() -> BTreeSet<String> {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = descriptors.filter_map(|it| std::fs::read_link(it.unwrap().path()).ok());
    let number = |link: std::path::PathBuf| {
        let link = link.to_str()?;
        Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    links.filter_map(number).collect()
}

/// Where this process listens by TCP, or takes datagrams from everybody, as the kernel has it.
fn listens_at() -> BTreeSet<String> {
    const STATES: [(&str, &str); 4] =
        [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
    let mut places = BTreeSet::new();
    for (protocol, listening) in STATES {
        let Ok(table) = std::fs::read_to_string(format!("/proc/self/net/{protocol}")) else {
            continue;
        };
        let own = own_sockets();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[3] == listening && own.contains(fields[9]) {
                places.insert(fields[1].to_owned());
            }
        }
    }
    places
}

#[test]
fn nobody_beyond_this_computer_reaches_a_bridge_that_was_not_told_so() {
    let (left, right, place) = (Place::new("reach-left"), Place::new("reach-right"), free_place());
    let place = place.replace("127.0.0.1", "localhost");
    let nets = [left.router(&place), right.client(&place)];
    let (here, there) = (left.open("here"), right.open("there"));
    let talks = talker(&here, "/chatter", reliable(10));
    meet(&talks, &[&listener(&there, "/chatter", reliable(10))]);
    // Addresses are hexadecimal, each word of four bytes with its low byte first.
    let is_here = |at: &String| {
        let v4 = at.len() == 13 && at[..8].ends_with("7F");
        v4 || at.starts_with("00000000000000000000000001000000:")
    };
    // Other tests of this process listen, too: they are not to be reached either.
    let places = listens_at();
    let port: u16 = place.rsplit(':').next().unwrap().parse().unwrap();
    assert!(places.iter().any(|at| at.ends_with(&format!(":{port:04X}"))), "{places:?}");
    assert!(places.iter().all(is_here), "{places:?}");
    drop(nets);
}
