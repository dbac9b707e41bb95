//! `crossdock service` against a server that runs in the test: as a user types it.

use crate::place::Place;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossdock_comm::{Server, ServerOptions};
use crossdock_msg::Extra;
use crossdock_msg::types::std_srvs::srv::SetBool;

#[test]
fn services_are_listed_described_and_called_from_the_command_line() {
    let place = Place::new("service");
    let participant = place.participant("lights");
    let ended = Arc::new(AtomicBool::new(false));
    let (is_ended, serving) = (Arc::clone(&ended), participant.clone());
    let (ready, is_ready) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        let options =
            ServerOptions { node: "lamp", service: "/lamp/switch", ..ServerOptions::default() };
        let server: Server<SetBool> = serving.server(options).expect("a server");
        ready.send(()).expect("the test waits");
        while !is_ended.load(Ordering::Relaxed) {
            if !server.wait(Duration::from_millis(20)).expect("requests") {
                continue;
            }
            let request = server.take().expect("a request").expect("it is there");
            let on = request.message().data();
            let mut response = request.loan(Extra::none().text(8)).expect("memory");
            response.message().set_success(on);
            response.message().set_message(if on { "on" } else { "off" }).expect("room");
            response.send().expect("an answer");
        }
    });
    is_ready.recv().expect("a server");

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

    let wrong =
        place.refused(&["service", "call", "/lamp/switch", "std_srvs/SetBool", "{date: true}"]);
    assert!(wrong.contains("has no field `date`; its fields are data"), "{wrong}");
    let typed = ["service", "call", "/lamp/switch", "std_srvs/Trigger", "--timeout", "1"];
    let typed = place.refused(&typed);
    assert!(typed.contains("Trigger_Request") && typed.contains("SetBool_Request"), "{typed}");
    let missing = place.refused(&["service", "type", "/lamp"]);
    assert!(missing.contains("crossdock service list"), "{missing}");
    let unknown = place.refused(&["service", "call", "/lamp/switch", "my_srvs/srv/Dim"]);
    assert!(unknown.contains("my_srvs") && unknown.contains("--interfaces"), "{unknown}");
    let nobody = ["service", "call", "/lamp/other", "std_srvs/SetBool", "--timeout", "0.01"];
    let nobody = place.refused(&nobody);
    assert!(nobody.contains("service `/lamp/other` has no server"), "{nobody}");
    assert!(nobody.contains("waiting for a server of /lamp/other"), "{nobody}");

    ended.store(true, Ordering::Relaxed);
    server.join().expect("the server ends");
}
