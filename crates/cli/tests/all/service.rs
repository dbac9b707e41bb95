//! `crossdock service` against a server that runs in the test: as a user types it.

use crate::place::{Place, Program, wait_for};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossdock_comm::{Introspection, Participant, Qos, Server, ServerOptions, SharedTopicOptions};
use crossdock_msg::types::std_msgs;
use crossdock_msg::types::std_srvs::srv::SetBool;
use crossdock_msg::{Extra, Schema};

/// A lamp that answers on a thread of its own, and what it was asked.
struct Lamp {
    ended: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Vec<bool>>>,
}

impl Lamp {
    fn start(participant: &Participant, introspection: Introspection) -> Self {
        Self::start_slow(participant, introspection, Duration::ZERO)
    }

    /// It takes its time for each request.
    fn start_slow(participant: &Participant, introspection: Introspection, work: Duration) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (is_ended, serving) = (Arc::clone(&ended), participant.clone());
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let (node, service) = ("lamp", "/lamp/switch");
            let options = ServerOptions { node, service, introspection, ..Default::default() };
            let server: Server<SetBool> = serving.server(options).expect("a server");
            ready.send(()).expect("the test waits");
            let mut asked = Vec::new();
            while !is_ended.load(Ordering::Relaxed) {
                if !server.wait(Duration::from_millis(20)).expect("requests") {
                    continue;
                }
                let request = server.take().expect("a request").expect("it is there");
                let on = request.message().data();
                asked.push(on);
                std::thread::sleep(work);
                let mut response = request.loan(Extra::none().text(8)).expect("memory");
                response.message().set_success(on);
                response.message().set_message(if on { "on" } else { "off" }).expect("room");
                response.send().expect("an answer");
            }
            asked
        });
        is_ready.recv().expect("a server");
        Self { ended, thread: Some(thread) }
    }

    /// What it was asked.
    fn end(mut self) -> Vec<bool> {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("the server ends")
    }
}

#[test]
fn recorded_requests_are_sent_again_to_the_service() {
    let place = Place::new("requests");
    let participant = place.participant("lights");
    let lamp = Lamp::start(&participant, Introspection::Contents);
    let mut recorder = Program::start({
        let line = ["bag", "record", "--all-services", "-o", "calls", "-p", "20"];
        let mut command = place.command(&line);
        command.stderr(Stdio::piped()).stdout(Stdio::piped());
        command
    });
    wait_for(recorder.child(), "recording /lamp/switch/_service_event");
    let topic = "/lamp/switch/_service_event";
    let recorded = || participant.topic_connections(topic).outgoing > 0;
    assert!(participant.wait_until(Duration::from_secs(60), recorded));
    for value in ["{data: true}", "{data: false}", "{data: true}"] {
        place.said(&["service", "call", "/lamp/switch", "std_srvs/SetBool", value]);
    }
    let id = rustix::process::Pid::from_child(recorder.child());
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
    let output = recorder.end();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "6 messages of 1 topic, 0 lost\n");
    assert_eq!(lamp.end(), [true, false, true]);
    let info = place.said(&["bag", "info", "calls"]);
    assert!(info.contains("std_srvs/srv/SetBool_Event | Count: 6"), "{info}");

    // The last requests still wait for it when all of the bag is played.
    let work = Duration::from_millis(200);
    let lamp = Lamp::start_slow(&participant, Introspection::Off, work);
    let again = ["bag", "play", "calls", "--publish-service-requests"];
    // The events of responses are passed over.
    assert_eq!(place.said(&again), "3 messages of 1 topic\n");
    assert_eq!(place.said(&[&again[..], &["--rate", "max"]].concat()), "3 messages of 1 topic\n");
    // The client has told nothing.
    let none = [&again[..], &["--service-requests-source", "client_introspection"]].concat();
    assert_eq!(place.said(&none), "0 messages of 1 topic\n");
    // As topics, which nobody hears.
    assert_eq!(place.said(&["bag", "play", "calls"]), "6 messages of 1 topic\n");
    assert_eq!(lamp.end(), [true, false, true, true, false, true]);
    let nobody = place.refused(&again);
    assert!(nobody.contains("3 messages of /lamp/switch were not played"), "{nobody}");
    assert!(nobody.contains("service `/lamp/switch` has no server"), "{nobody}");
}

#[test]
fn services_are_listed_described_and_called_from_the_command_line() {
    let place = Place::new("service");
    let participant = place.participant("lights");
    let lamp = Lamp::start(&participant, Introspection::Off);

    assert_eq!(place.said(&["service", "list"]), "/lamp/switch\n");
    assert_eq!(place.said(&["service", "list", "-t"]), "/lamp/switch [std_srvs/srv/SetBool]\n");
    assert_eq!(place.said(&["service", "type", "/lamp/switch"]), "std_srvs/srv/SetBool\n");
    assert_eq!(place.said(&["service", "find", "std_srvs/srv/SetBool"]), "/lamp/switch\n");
    let none = place.refused(&["service", "find", "std_srvs/srv/Trigger"]);
    assert!(none.contains("the types are std_srvs/srv/SetBool"), "{none}");
    let near = place.refused(&["service", "info", "/lamp/swich"]);
    assert!(near.contains("did you mean `/lamp/switch`?"), "{near}");
    let picture = place.said(&["graph", "--live", "--interval", "0.05"]);
    assert!(
        picture.contains("shape=hexagon") && picture.contains("label=\"/lamp/switch"),
        "{picture}"
    );
    assert!(picture.contains("tooltip=\"server 0\"") && !picture.contains("_request"), "{picture}");
    let call =
        ["service", "call", "/lamp/switch", "std_srvs/srv/SetBool", "{data: true}", "--json"];
    let response = place.said(&call);
    assert_eq!(response, "{\"success\":true,\"message\":\"on\"}\n");
    let shown = place.crossdock(&["service", "call", "/lamp/switch", "std_srvs/SetBool"]);
    let [told, shown] = [shown.stderr, shown.stdout].map(|it| String::from_utf8(it).expect("text"));
    assert!(shown.contains("\"message\": \"off\""), "{shown}");
    assert_eq!(told, "", "nobody waits for a server that is there");
    let info = place.said(&["service", "info", "/lamp/switch"]);
    assert!(info.contains("lamp") && info.contains("lights"), "{info}");
    let info = place.said(&["service", "info", "/lamp/switch", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
    assert_eq!(
        (&info["servers"][0]["requests"], &info["servers"][0]["responses"]),
        (&2.into(), &2.into())
    );
    let topics = place.said(&["topic", "list", "--json"]);
    assert_eq!(topics.trim(), "[]", "the topics of services are hidden");
    let topics = place.crossdock(&["topic", "list", "-v"]);
    let told = String::from_utf8(topics.stderr).expect("text");
    assert!(told.contains("the process in domain 0 has no topic"), "{told}");
    let node = place.said(&["node", "info", "lamp"]);
    assert!(node.contains("/lamp/switch: std_srvs/srv/SetBool"), "{node}");
    assert!(!node.contains("rq/") && !node.contains("rr/"), "{node}");

    let wrong =
        place.refused(&["service", "call", "/lamp/switch", "std_srvs/SetBool", "{date: true}"]);
    assert!(wrong.contains("has no field `date`; its fields are data"), "{wrong}");
    let typed = ["service", "call", "/lamp/switch", "std_srvs/Trigger", "--timeout", "1"];
    let typed = place.refused(&typed);
    assert!(typed.contains("srv/Trigger`") && typed.contains("srv/SetBool`"), "{typed}");
    let missing = place.refused(&["service", "type", "/lamp"]);
    assert!(missing.contains("crossdock service list"), "{missing}");
    let unknown = place.refused(&["service", "call", "/lamp/switch", "my_srvs/srv/Dim"]);
    assert!(unknown.contains("my_srvs") && unknown.contains("--interfaces"), "{unknown}");
    let nobody = ["service", "call", "/lamp/other", "std_srvs/SetBool", "--timeout", "0.01"];
    let nobody = place.refused(&nobody);
    assert!(nobody.contains("service `/lamp/other` has no server"), "{nobody}");
    assert!(nobody.contains("waiting for a server of /lamp/other"), "{nobody}");

    assert_eq!(lamp.end(), [true, false]);
}

#[test]
fn nodes_that_share_a_port_are_each_shown_with_it() {
    let place = Place::new("sharing");
    let participant = place.participant("container");
    let schema = Arc::new(Schema::of::<std_msgs::String>().expect("a type"));
    let (node, topic, qos) = ("_container", "/events", Qos::reliable(4, Duration::from_secs(1)));
    let options = SharedTopicOptions { node, topic, qos, max_bytes: None, doorbell: None };
    let events = participant.shared_topic(&schema, options);
    let nodes = ["/left/talker", "/right/talker", "listener"];
    let _speak = nodes[..2].iter().map(|node| events.publisher(node)).collect::<Vec<_>>();
    let _hear = events.subscriber(nodes[2], 4).expect("a subscriber");

    let topics = place.said(&["topic", "list", "-v"]);
    let wanted = "Published topics:\n * /events [std_msgs/msg/String] 2 publishers\n\n\
                  Subscribed topics:\n * /events [std_msgs/msg/String] 1 subscriber\n";
    assert_eq!(topics, wanted);
    for (node, head) in [(nodes[0], "Publishers"), (nodes[2], "Subscribers")] {
        let info = place.said(&["node", "info", node]);
        let wanted = format!("  {head}:\n    /events: std_msgs/msg/String\n");
        assert!(info.contains(&wanted), "{info}");
    }
}
