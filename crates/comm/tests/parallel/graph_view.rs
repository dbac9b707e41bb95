//! The graph by push: what a view shows of all processes, that changes are told, and that neither
//! callbacks nor other processes can hold it up.

use crate::common;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};

use common::child::{Process, hear, role, tell};
use common::users::{Shared, Users, greet, is_root, join, place_of_victim, told};
use common::{LIMIT, Listener, Place, publisher, reliable, subscriber};
use crossdock_comm::{
    Client, ClientOptions, EntityDescription, GraphSnapshot, GraphView, Maker, NodeOptions,
    Participant, ParticipantOptions, PeerName, PortEvent, PortKind, PortSnapshot, ProcessSnapshot,
    Publisher, PublisherOptions, Qos, Server, ServerOptions, StatusTable, SubscriberOptions,
    WithHistogram,
};
use crossdock_msg::types::sensor_msgs;
use crossdock_msg::types::std_srvs::srv::SetBool;
use crossdock_msg::{Message, Schema, Service, ServiceSchema};
use crossdock_shm::socket::{ControlSocket, FRAME_BYTES_MAX, Received};
use crossdock_shm::status::StatusConfig;

/// A view that tells of each change.
fn watch(participant: &Participant) -> (GraphView, Receiver<()>) {
    let view = participant.graph().unwrap();
    let (sender, calls) = channel();
    view.set_callback(told_by(&sender)).unwrap();
    (view, calls)
}

fn told_by(sender: &Sender<()>) -> impl FnMut() + Send + 'static {
    let sender = sender.clone();
    move || sender.send(()).unwrap_or_default()
}

/// Waits for a call after which the graph is as wanted; nobody looks without being told.
fn wait_for(
    (view, calls): &(GraphView, Receiver<()>),
    is_wanted: impl Fn(&GraphSnapshot) -> bool,
) -> Arc<GraphSnapshot> {
    loop {
        let graph = view.snapshot();
        if is_wanted(&graph) {
            return graph;
        }
        calls.recv_timeout(LIMIT).expect("nobody told of the change");
    }
}

fn node<'a>(name: &'a str) -> NodeOptions<'a> {
    NodeOptions { namespace: "/", name, enclave: "/", node_type: "" }
}

fn names(graph: &GraphSnapshot) -> Vec<String> {
    let mut names: Vec<_> = graph.nodes().map(|(_, node)| node.name.clone()).collect();
    names.sort();
    names
}

fn only(graph: &GraphSnapshot, kind: PortKind) -> (&ProcessSnapshot, &PortSnapshot) {
    let all: Vec<_> = graph.ports(kind).collect();
    assert_eq!(all.len(), 1, "{kind:?}");
    all[0]
}

#[test]
fn a_view_shows_nodes_and_ports_of_its_own_and_of_other_processes() {
    let place = Place::new("graph");
    let options = ParticipantOptions { maker: Maker::Rmw, ..place.options("talker") };
    let talker = Participant::open(options).unwrap();
    let listener = place.open("listener");
    let watching = watch(&listener);
    let shown =
        NodeOptions { namespace: "/front", name: "source", enclave: "/safe", node_type: "a/b" };
    let node = talker.add_node(shown).unwrap();
    assert_eq!(node.name(), "/front/source");
    let options = PublisherOptions {
        node: node.name(),
        topic: "/image",
        qos: reliable(7),
        max_bytes: Some(8192),
        group: None,
    };
    let output = talker.publisher::<sensor_msgs::Image>(options).unwrap();
    let input = subscriber(&listener, "/image", Qos::best_effort(3));
    let options = ServerOptions { node: "source", service: "/set", ..Default::default() };
    let server: Server<SetBool> = talker.server(options).unwrap();
    let options = ClientOptions { node: "sink", service: "/set", ..Default::default() };
    let client: Client<SetBool> = listener.client(options).unwrap();
    let kinds = [PortKind::Publisher, PortKind::Subscriber, PortKind::Client, PortKind::Server];
    let graph = wait_for(&watching, |graph| {
        kinds.iter().all(|kind| graph.ports(*kind).count() == 1) && graph.nodes().count() == 1
    });
    let (process, seen) = graph.nodes().next().unwrap();
    assert_eq!((seen.namespace(), seen.own_name()), ("/front", "source"));
    assert_eq!((seen.detail.enclave.as_str(), seen.detail.node_type.as_str()), ("/safe", "a/b"));
    assert_eq!(seen.detail.maker, Maker::Rmw);
    assert_eq!((process.name, process.process.as_str()), (talker.peer_name(), "talker"));
    assert_eq!(process.pid, std::process::id());
    let (process, port) = only(&graph, PortKind::Publisher);
    assert_eq!((process.name, port.node.as_str()), (talker.peer_name(), "/front/source"));
    assert_eq!(
        (port.type_name.as_str(), port.topic.as_str()),
        (sensor_msgs::Image::TYPE_NAME, "/image")
    );
    assert_eq!((port.type_hash, port.qos), (sensor_msgs::Image::TYPE_HASH.0, reliable(7)));
    assert_eq!((&port.gid[..8], port.maker), (&talker.peer_name().to_bytes()[..8], Maker::Rmw));
    assert_eq!(port.gid[8..], port.port.to_le_bytes());
    let (process, port) = only(&graph, PortKind::Subscriber);
    assert_eq!((process.name, port.maker), (listener.peer_name(), Maker::Native));
    assert_eq!(port.qos, Qos::best_effort(3));
    for kind in [PortKind::Client, PortKind::Server] {
        let (_, port) = only(&graph, kind);
        assert_eq!((port.topic.as_str(), port.type_name.as_str()), ("/set", SetBool::TYPE_NAME));
        assert_eq!(port.type_hash, SetBool::TYPE_HASH.0);
    }
    // Topics behind services are no topics.
    let topics: Vec<_> = graph.topics().into_iter().collect();
    assert_eq!(topics, [("/image", [sensor_msgs::Image::TYPE_NAME].into())]);
    let services: Vec<_> = graph.services().into_iter().collect();
    assert_eq!(services, [("/set", [SetBool::TYPE_NAME].into())]);
    drop((node, output, input, server, client));
    let is_empty = |graph: &GraphSnapshot| {
        graph.nodes().next().is_none() && kinds.iter().all(|kind| graph.ports(*kind).count() == 0)
    };
    wait_for(&watching, is_empty);
    assert!(Arc::ptr_eq(&watching.0.snapshot(), &watching.0.snapshot()));
    drop(talker);
    wait_for(&watching, |graph| graph.processes.len() == 1);
}

#[test]
fn a_change_of_its_own_process_is_told_too_and_names_that_are_not_legal_are_refused() {
    let place = Place::new("graph-own");
    let participant = place.open("alone");
    let watching = watch(&participant);
    let kept = participant.add_node(node("one")).unwrap();
    wait_for(&watching, |graph| names(graph) == ["one"]);
    let output = publisher(&participant, "/image", reliable(1));
    wait_for(&watching, |graph| graph.topics().contains_key("/image"));
    drop((output, kept));
    wait_for(&watching, |graph| graph.topics().is_empty() && names(graph).is_empty());
    for wrong in ["", "1st", "a b"] {
        assert!(participant.add_node(node(wrong)).is_err(), "{wrong}");
    }
    for wrong in [
        NodeOptions { enclave: "front", ..node("one") },
        NodeOptions { namespace: "front", ..node("one") },
        // Others could not read its record.
        NodeOptions { node_type: "a/b\nc", ..node("one") },
    ] {
        assert!(participant.add_node(wrong).is_err(), "{wrong:?}");
    }
}

/// A child with one node, which makes and drops nodes as it hears.
fn child_with_nodes(place: &str) {
    let participant = Participant::open(ParticipantOptions {
        rendezvous: crossdock_comm::Rendezvous::Folder(place.into()),
        ..ParticipantOptions::new(0, "child")
    });
    let participant = participant.unwrap();
    let mut nodes = vec![participant.add_node(node("child_0")).unwrap()];
    tell("ready");
    while let Some(line) = hear() {
        match line.as_str() {
            "add" => {
                nodes.push(participant.add_node(node(&format!("child_{}", nodes.len()))).unwrap())
            }
            _ => drop(nodes.pop()),
        }
    }
}

#[test]
fn changes_and_the_death_of_another_process_are_told() {
    let test = "graph_view::changes_and_the_death_of_another_process_are_told";
    if let Some((_, place)) = role() {
        return child_with_nodes(&place);
    }
    let place = Place::new("graph-death");
    let participant = place.open("watcher");
    let watching = watch(&participant);
    let mut child = Process::start(test, "child", place.path());
    child.expect("ready");
    wait_for(&watching, |graph| names(graph) == ["child_0"]);
    child.say("add");
    let graph = wait_for(&watching, |graph| names(graph) == ["child_0", "child_1"]);
    assert!(graph.processes.iter().any(|process| process.pid == child.pid()));
    child.say("drop");
    wait_for(&watching, |graph| names(graph) == ["child_0"]);
    child.kill();
    wait_for(&watching, |graph| names(graph).is_empty() && graph.processes.len() == 1);
}

#[test]
fn a_process_that_is_stopped_holds_nobody_up_and_is_heard_when_it_goes_on() {
    let test = "graph_view::a_process_that_is_stopped_holds_nobody_up_and_is_heard_when_it_goes_on";
    if let Some((_, place)) = role() {
        return child_with_nodes(&place);
    }
    let place = Place::new("graph-stopped");
    let participant = place.open("watcher");
    let watching = watch(&participant);
    let mut child = Process::start(test, "child", place.path());
    child.expect("ready");
    wait_for(&watching, |graph| names(graph) == ["child_0"]);
    child.stop();
    // Of it, the last state stays; others are told as before, and a new view shows the same.
    let other = place.open("other");
    let kept = other.add_node(node("other")).unwrap();
    wait_for(&watching, |graph| names(graph) == ["child_0", "other"]);
    drop(kept);
    let second = watch(&participant);
    wait_for(&second, |graph| names(graph) == ["child_0"]);
    child.say("add");
    child.signal(rustix::process::Signal::CONT);
    wait_for(&watching, |graph| names(graph) == ["child_0", "child_1"]);
}

#[test]
fn a_callback_that_blocks_or_panics_or_drops_its_view_stops_nobody() {
    let place = Place::new("graph-callbacks");
    let (participant, other) = (place.open("watcher"), place.open("other"));
    // Drops its own view.
    let slot: Arc<Mutex<Option<GraphView>>> = Arc::default();
    let (sender, calls) = channel();
    let view = participant.graph().unwrap();
    let owned = Arc::clone(&slot);
    let mut guard = slot.lock().unwrap();
    view.set_callback(move || {
        drop(owned.lock().unwrap().take());
        sender.send(()).unwrap();
    })
    .unwrap();
    *guard = Some(view);
    drop(guard);
    calls.recv_timeout(LIMIT).unwrap();
    // The callback has gone with its view.
    assert!(calls.recv_timeout(LIMIT).is_err());
    // Panics.
    let panicking = participant.graph().unwrap();
    let (sender, calls) = channel();
    panicking
        .set_callback(move || {
            sender.send(()).unwrap();
            panic!("a callback of this test panics");
        })
        .unwrap();
    calls.recv_timeout(LIMIT).unwrap();
    assert!(calls.recv_timeout(LIMIT).is_err());
    // Blocks: the control thread goes on, and so do snapshots.
    let blocking = participant.graph().unwrap();
    let barrier = Arc::new(Barrier::new(2));
    let blocked = Arc::clone(&barrier);
    let (entered, entries) = channel();
    blocking
        .set_callback(move || {
            entered.send(()).unwrap();
            blocked.wait();
        })
        .unwrap();
    entries.recv_timeout(LIMIT).unwrap();
    let kept = other.add_node(node("other")).unwrap();
    let output = publisher(&other, "/image", reliable(1));
    let input = subscriber(&participant, "/image", reliable(1));
    assert!(participant.wait_until(LIMIT, || input.matched() == 1));
    assert!(participant.wait_until(LIMIT, || names(&panicking.snapshot()) == ["other"]));
    drop(blocking);
    barrier.wait();
    drop((kept, output));
    assert!(participant.wait_until(LIMIT, || input.matched() == 0));
    assert!(names(&panicking.snapshot()).is_empty());
}

#[test]
fn prompt_callbacks_need_no_thread_of_their_own_until_one_that_may_block_has_it() {
    let place = Place::new("graph-prompt");
    let (participant, other) = (place.open("watcher"), place.open("other"));
    let (sender, threads) = channel();
    let named = |sender: &Sender<String>| {
        let sender = sender.clone();
        move || {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            sender.send(name).unwrap_or_default();
        }
    };
    let until = |wanted: &str, seen: &dyn Fn(&[String]) -> bool| {
        let view = participant.graph().unwrap();
        loop {
            assert_eq!(threads.recv_timeout(LIMIT).unwrap(), wanted);
            if seen(&names(&view.snapshot())) {
                return;
            }
        }
    };
    let prompt = participant.graph().unwrap();
    prompt.set_prompt_callback(named(&sender));
    let first = other.add_node(node("first")).unwrap();
    until("crossdock-ctl", &|names| names == ["first"]);
    // An event of a port, with the graph at rest.
    let output = publisher(&participant, "/image", reliable(1));
    let name_it = named(&sender);
    output.events().set_prompt_callback(PortEvent::Matched, move |_| name_it());
    let input = subscriber(&other, "/image", reliable(1));
    while output.events().take_matched().total == 0 {
        assert_eq!(threads.recv_timeout(LIMIT).unwrap(), "crossdock-ctl");
    }
    drop((first, input));
    until("crossdock-ctl", &|names| names.is_empty());
    let (entered, entries) = channel();
    let blocking = participant.graph().unwrap();
    blocking.set_callback(move || entered.send(()).unwrap_or_default()).unwrap();
    entries.recv_timeout(LIMIT).unwrap();
    // Told by the control thread before.
    while threads.try_recv().is_ok() {}
    let _second = other.add_node(node("second")).unwrap();
    until("crossdock-calls", &|names| names == ["second"]);
}

#[test]
fn a_thousand_changes_behind_one_call_are_told_by_few_and_the_last_state_is_right() {
    let place = Place::new("graph-burst");
    let (participant, other) = (place.open("watcher"), place.open("other"));
    let watching = watch(&participant);
    let kept = other.add_node(node("first")).unwrap();
    wait_for(&watching, |graph| names(graph) == ["first"]);
    let (entered, entries) = channel();
    let barrier = Arc::new(Barrier::new(2));
    let blocked = Arc::clone(&barrier);
    let mut is_first = true;
    watching
        .0
        .set_callback(move || {
            entered.send(()).unwrap();
            if std::mem::take(&mut is_first) {
                blocked.wait();
            }
        })
        .unwrap();
    entries.recv_timeout(LIMIT).unwrap();
    for _ in 0..500 {
        drop(other.add_node(node("passing")).unwrap());
    }
    let last = other.add_node(node("last")).unwrap();
    // Nothing is told while the callback runs; what came meanwhile is told by one call, and one
    // more may have been under way when the view asked again.
    let own = participant.add_node(node("own")).unwrap();
    barrier.wait();
    let mut calls = 0;
    while names(&watching.0.snapshot()) != ["first", "last", "own"] || calls == 0 {
        entries.recv_timeout(LIMIT).unwrap();
        calls += 1;
    }
    calls += entries.try_iter().count();
    assert!(calls <= 4, "{calls} calls");
    drop((kept, last, own));
    while !names(&watching.0.snapshot()).is_empty() {
        entries.recv_timeout(LIMIT).unwrap();
    }
}

/// Kinds of frames.
const WELCOME: u8 = 2;
const ASK_STATUS_TABLE: u8 = 28;
const STATUS_TABLE: u8 = 29;
const WATCH_GRAPH: u8 = 30;
const GRAPH_CHANGED: u8 = 31;

/// A peer that writes its frames by hand.
struct Mallory {
    socket: ControlSocket,
    _listener: Listener,
}

impl Mallory {
    /// Lower than any name that is drawn.
    fn greets(place: &Place, victim: PeerName, number: u8) -> Mallory {
        let mut name = [0; 16];
        name[15] = number;
        let listener = Listener::bind(place, name);
        let mallory =
            Mallory { socket: greet(place, &victim.to_string(), name, 0), _listener: listener };
        mallory.hears(WELCOME);
        mallory
    }

    fn hears(&self, kind: u8) {
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        let end = std::time::Instant::now() + LIMIT;
        loop {
            assert!(std::time::Instant::now() < end, "no frame of kind {kind}");
            match self.socket.receive(&mut buffer).unwrap() {
                Received::Frame { .. } if buffer[0] == kind => return,
                Received::Frame { .. } => {}
                Received::Empty => std::thread::yield_now(),
                Received::Closed => panic!("cut off before a frame of kind {kind}"),
            }
        }
    }

    fn says(&self, kind: u8, table: Option<&StatusTable>) {
        let fds: Vec<_> = table.iter().map(|table| table.read_only_fd()).collect();
        let _ = self.socket.send(&[kind], &fds).unwrap();
    }
}

fn table() -> StatusTable {
    StatusTable::create("mallory", StatusConfig { entities: 8, histograms: 0 }).unwrap()
}

#[test]
fn a_peer_that_tells_or_asks_what_it_may_not_is_cut_off() {
    let place = Place::new("graph-hostile");
    let victim = place.open("victim");
    let mallory = Mallory::greets(&place, victim.peer_name(), 1);
    mallory.says(STATUS_TABLE, Some(&table()));
    told(&victim, "a status table that was not asked for");
    let mallory = Mallory::greets(&place, victim.peer_name(), 2);
    mallory.says(ASK_STATUS_TABLE, None);
    mallory.hears(STATUS_TABLE);
    mallory.says(ASK_STATUS_TABLE, None);
    told(&victim, "asked twice for the status table");
    let view = victim.graph().unwrap();
    let mallory = Mallory::greets(&place, victim.peer_name(), 3);
    mallory.hears(ASK_STATUS_TABLE);
    mallory.says(STATUS_TABLE, Some(&table()));
    // Nobody has a callback, so nobody has asked to be told.
    mallory.says(GRAPH_CHANGED, None);
    told(&victim, "told of a change of the graph without being asked");
    let mallory = Mallory::greets(&place, victim.peer_name(), 4);
    mallory.hears(ASK_STATUS_TABLE);
    let memory = rustix::fs::memfd_create("no table", rustix::fs::MemfdFlags::ALLOW_SEALING);
    let memory = memory.unwrap();
    let _ = mallory.socket.send(&[STATUS_TABLE], &[std::os::fd::AsFd::as_fd(&memory)]).unwrap();
    told(&victim, "is not a status table");
    let (sender, calls) = channel();
    view.set_callback(told_by(&sender)).unwrap();
    calls.recv_timeout(LIMIT).unwrap();
    let mallory = Mallory::greets(&place, victim.peer_name(), 5);
    mallory.hears(ASK_STATUS_TABLE);
    mallory.says(STATUS_TABLE, Some(&table()));
    mallory.hears(WATCH_GRAPH);
    // Asked for one, it floods: some may come just after it was asked again.
    let end = std::time::Instant::now() + LIMIT;
    while std::time::Instant::now() < end && mallory.socket.send(&[GRAPH_CHANGED], &[]).is_ok() {}
    told(&victim, "told of a change of the graph without being asked");
    let kept = victim.add_node(node("alone")).unwrap();
    wait_for(&(view, calls), |graph| names(graph) == ["alone"] && graph.processes.len() == 1);
    drop(kept);
}

#[test]
fn records_that_are_nonsense_are_left_out() {
    let place = Place::new("graph-nonsense");
    let victim = place.open("victim");
    let watching = watch(&victim);
    let mallory = Mallory::greets(&place, victim.peer_name(), 1);
    mallory.hears(ASK_STATUS_TABLE);
    let table = table();
    let add = |kind, name: &str, detail: &[u8]| {
        let histogram = WithHistogram::No;
        table.add(EntityDescription { kind, name, detail, histogram }).unwrap()
    };
    let kept = [
        add(4, "evil\x1b[2J", b""),
        add(4, "two\nlines", b""),
        add(4, "no_enclave", b"type\nsafe"),
        add(4, "good", b"type\n/safe\nrmw"),
        add(1, "/image", b"no port"),
        add(2, "/image", &[0xff; 700]),
        add(77, "unknown", b""),
    ];
    mallory.says(STATUS_TABLE, Some(&table));
    let graph = wait_for(&watching, |graph| graph.processes.len() == 2);
    assert_eq!(names(&graph), ["good"]);
    assert!(graph.topics().is_empty());
    drop(kept);
}

/// More nodes than are read of a process that is not trusted.
const MANY: usize = 2100;

fn stranger() {
    let participant = join("stranger");
    let nodes: Vec<_> = (0..MANY)
        .map(|number| participant.add_node(node(&format!("n{number}"))).unwrap())
        .collect();
    tell("ready");
    while hear().is_some() {}
    drop(nodes);
}

#[test]
fn of_a_stranger_a_limited_number_of_records_is_read_and_of_our_own_user_all() {
    let test =
        "graph_view::of_a_stranger_a_limited_number_of_records_is_read_and_of_our_own_user_all";
    if role().is_some() {
        return stranger();
    }
    if !is_root() {
        return;
    }
    for (users, shown) in [(Users::Two, 2048), (Users::One, MANY)] {
        let shared = Shared::new("graph-stranger", users);
        let victim = shared.open("victim");
        let watching = watch(&victim);
        let mut child = shared.start(test, "stranger");
        child.expect("ready");
        wait_for(&watching, |graph| graph.nodes().count() == shown);
        child.finish();
        wait_for(&watching, |graph| graph.nodes().count() == 0);
    }
}

/// Adds a node whenever it hears a name.
fn growing_stranger() {
    let participant = join("stranger");
    let mut nodes = Vec::new();
    while let Some(name) = hear() {
        nodes.push(participant.add_node(node(&name)).unwrap());
    }
}

#[test]
fn what_a_stranger_changes_while_it_is_left_alone_is_told_after_that() {
    let test = "graph_view::what_a_stranger_changes_while_it_is_left_alone_is_told_after_that";
    if role().is_some() {
        return growing_stranger();
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("graph-growing", Users::Two);
    let victim = shared.open("victim");
    let watching = watch(&victim);
    let mut child = shared.start(test, "stranger");
    wait_for(&watching, |graph| graph.processes.len() == 2);
    for name in ["first", "second", "third"] {
        child.say(name);
        wait_for(&watching, |graph| names(graph).contains(&name.to_string()));
    }
    child.finish();
}

#[test]
fn a_stranger_that_has_told_of_a_change_is_asked_again_only_after_a_pause() {
    let test = "graph_view::a_stranger_that_has_told_of_a_change_is_asked_again_only_after_a_pause";
    if let Some((victim, _)) = role() {
        let mallory = Mallory::greets(&place_of_victim(), victim.parse().unwrap(), 1);
        mallory.hears(ASK_STATUS_TABLE);
        mallory.says(STATUS_TABLE, Some(&table()));
        mallory.hears(WATCH_GRAPH);
        let told = std::time::Instant::now();
        mallory.says(GRAPH_CHANGED, None);
        mallory.hears(WATCH_GRAPH);
        assert!(told.elapsed() >= std::time::Duration::from_millis(100));
        return tell("paused");
    }
    if !is_root() {
        return;
    }
    let shared = Shared::new("graph-pause", Users::Two);
    let victim = shared.open("victim");
    let _watching = watch(&victim);
    let mut child = shared.start(test, &victim.peer_name().to_string());
    child.expect("paused");
}

#[test]
fn ports_whose_type_is_known_at_run_time_say_the_gids_that_the_graph_shows() {
    let place = Place::new("graph-any-gids");
    let participant = place.open("alone");
    let view = participant.graph().unwrap();
    let schema = Arc::new(ServiceSchema::of::<SetBool>().unwrap());
    let options = ServerOptions { service: "/set", ..Default::default() };
    let server = participant.any_server(Arc::clone(&schema), options).unwrap();
    let options = ClientOptions { service: "/set", ..Default::default() };
    let client = participant.any_client(schema, options).unwrap();
    let schema = Arc::new(Schema::of::<sensor_msgs::Image>().unwrap());
    let (node, topic, qos) = ("any", "/image", reliable(1));
    let options = PublisherOptions { node, topic, qos, max_bytes: Some(8192), group: None };
    let output = participant.any_publisher(schema, options).unwrap();
    let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
    let input = participant.any_subscriber(options).unwrap();
    let graph = view.snapshot();
    for (kind, gid) in [
        (PortKind::Server, server.gid()),
        (PortKind::Client, client.gid()),
        (PortKind::Publisher, output.gid()),
        (PortKind::Subscriber, input.gid()),
    ] {
        assert_eq!(only(&graph, kind).1.gid, gid, "{kind:?}");
    }
}

#[test]
fn a_port_keeps_its_gid_from_its_creation_to_its_end() {
    let place = Place::new("graph-gid");
    let participant = place.open("alone");
    let view = participant.graph().unwrap();
    let outputs: Vec<Publisher<sensor_msgs::Image>> =
        (0..3).map(|_| publisher(&participant, "/image", reliable(1))).collect();
    let gids = |graph: &GraphSnapshot| -> Vec<[u8; 16]> {
        graph.ports(PortKind::Publisher).map(|(_, port)| port.gid).collect()
    };
    let before = gids(&view.snapshot());
    let different: std::collections::BTreeSet<_> = before.iter().collect();
    assert_eq!((before.len(), different.len()), (3, 3));
    let mut outputs = outputs;
    drop(outputs.remove(1));
    let after = gids(&view.snapshot());
    assert_eq!(after.len(), 2);
    assert!(after.iter().all(|gid| before.contains(gid)));
}
