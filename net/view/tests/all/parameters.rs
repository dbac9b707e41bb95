//! Parameters of nodes that serve them, as a viewer with Foxglove's protocol gets, sets and follows
//! them.

use crate::foxglove::{Over, Watch, watch, watch_with_their_client};
use crate::running::Domain;
use crossdock_comm::service::AnyServer;
use crossdock_comm::{Participant, ParticipantOptions, PublisherOptions, Qos, ServerOptions};
use crossdock_sight::Definitions;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Longer than anything takes that works.
const LIMIT: Duration = Duration::from_secs(20);

/// A node that serves parameters with the types and by the rules of a node of ROS 2: it refuses
/// other types and an exposure of more than 1, and tells of changes.
struct Camera {
    values: Map<String, Value>,
}

impl Camera {
    fn new() -> Self {
        let values = json!({
            "exposure": { "type": 3, "double_value": 0.5 },
            "image.width": { "type": 2, "integer_value": 640 },
            "mode": { "type": 4, "string_value": "auto" },
            "key": { "type": 5, "byte_array_value": [0, 255] },
            "gains": { "type": 8, "double_array_value": [1.5, 2.5] },
        });
        Self { values: values.as_object().unwrap().clone() }
    }

    fn list(&self) -> Value {
        json!({ "result": { "names": self.values.keys().collect::<Vec<_>>() } })
    }

    /// As a node of ROS 2: nothing if one name is unknown.
    fn get(&self, request: &Value) -> Value {
        let names = request["names"].as_array().unwrap().iter();
        let values = names.map(|name| self.values.get(name.as_str().unwrap()));
        json!({ "values": values.collect::<Option<Vec<_>>>().unwrap_or_default() })
    }

    fn refusal(&self, name: &str, value: &Value) -> Option<&'static str> {
        match self.values.get(name) {
            None => Some("it is not declared"),
            Some(known) if known["type"] != value["type"] => Some("its type is another one"),
            Some(_) if value["double_value"].as_f64() > Some(1.0) => {
                Some("more than 1 is too bright")
            }
            Some(_) => None,
        }
    }

    /// The response, and what has changed.
    fn set(&mut self, request: &Value) -> (Value, Vec<Value>) {
        let (mut results, mut changed) = (Vec::new(), Vec::new());
        for parameter in request["parameters"].as_array().unwrap() {
            let (name, value) = (parameter["name"].as_str().unwrap(), &parameter["value"]);
            let refusal = self.refusal(name, value);
            if refusal.is_none() {
                self.values.insert(name.to_owned(), value.clone());
                changed.push(parameter.clone());
            }
            let reason = refusal.unwrap_or_default();
            results.push(json!({ "successful": refusal.is_none(), "reason": reason }));
        }
        (json!({ "results": results }), changed)
    }
}

/// The camera, and a node that never answers.
fn serve(domain: &Domain, is_over: &AtomicBool) {
    let options = ParticipantOptions {
        rendezvous: domain.rendezvous(),
        ..ParticipantOptions::new(0, "nodes")
    };
    let participant = Participant::open(options).unwrap();
    let definitions = Definitions::read(&[]).unwrap();
    let server = |node: &str, service: &str, name: &str| {
        let name = format!("rcl_interfaces/srv/{name}");
        let schema = Arc::new(definitions.service_of_any_hash(&name).unwrap());
        let service = format!("/{node}/{service}");
        let options = ServerOptions { node, service: &service, ..ServerOptions::default() };
        participant.any_server(schema, options).unwrap()
    };
    let _hangs = [
        server("hangs", "list_parameters", "ListParameters"),
        server("hangs", "get_parameters", "GetParameters"),
    ];
    let (list, get, set) = (
        server("camera", "list_parameters", "ListParameters"),
        server("camera", "get_parameters", "GetParameters"),
        server("camera", "set_parameters", "SetParameters"),
    );
    let schema = definitions.message_of_any_hash("rcl_interfaces/msg/ParameterEvent").unwrap();
    let options = PublisherOptions {
        node: "camera",
        topic: "/parameter_events",
        qos: Qos::reliable(1000, LIMIT),
        max_bytes: None,
        group: None,
    };
    let schema = Arc::new(schema);
    let events = participant.any_publisher(Arc::clone(&schema), options).unwrap();
    let mut camera = Camera::new();
    while !is_over.load(Relaxed) {
        answer(&list, |_| camera.list());
        answer(&get, |request| camera.get(request));
        answer(&set, |request| {
            let (response, changed) = camera.set(request);
            let event = json!({ "node": "/camera", "changed_parameters": changed });
            events.publish_cdr(&schema.cdr_of_json(&event).unwrap(), 1, [0; 2]).unwrap();
            response
        });
        std::thread::yield_now();
    }
}

fn answer(server: &AnyServer, with: impl FnOnce(&Value) -> Value) {
    let Some((request, ticket)) = server.take().unwrap() else { return };
    let schema = Arc::clone(server.schema());
    let response = with(&schema.request().to_json(request.block()).unwrap());
    let cdr = schema.response().cdr_of_json(&response).unwrap();
    // A client that has gone needs no answer.
    let _ = server.answer_cdr(&ticket, &cdr);
}

#[test]
fn parameters_are_got_set_and_followed_and_refusals_are_said() {
    parameters(watch);
}

#[test]
fn parameters_are_got_set_and_followed_by_foxgloves_own_client() {
    parameters(watch_with_their_client);
}

fn parameters(watch: Watch) {
    let domain = Domain::new("parameters");
    let (_view, address) = domain.view();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&domain, &is_over));
        let over = Over(&is_over);
        let wishes = json!({
            "topics": {},
            "calls": {},
            "parameters": {
                "services": ["/camera/set_parameters", "/hangs/get_parameters"],
                "get": ["/camera.image.width", "/camera.mode", "nameless"],
                "set": [
                    { "name": "/camera.exposure", "value": 7, "type": "float64" },
                    { "name": "/camera.image.width", "value": 320 },
                    { "name": "/camera.mode", "value": [] },
                    { "name": "/camera.gains", "value": [3.5, 4.25], "type": "float64_array" },
                ],
                "follow": ["/camera.image.width", "/camera.gains", "/camera.exposure"],
            },
        });
        let seen = watch(&address, "foxglove.sdk.v1", "", &wishes);
        drop(over);
        let Some(seen) = seen else { return };
        for capability in ["parameters", "parametersSubscribe"] {
            assert!(
                seen["capabilities"].as_array().unwrap().contains(&json!(capability)),
                "{seen}"
            );
        }
        let seen = (&seen["parameters"], seen["notes"].to_string());
        let (parameters, notes) = seen;
        // The node that hangs is left out.
        let all = json!({
            "/camera.exposure": [0.5, "float64"],
            "/camera.image.width": [640, null],
            "/camera.mode": ["auto", null],
            "/camera.key": ["AP8=", "byte_array"],
            "/camera.gains": [[1.5, 2.5], "float64_array"],
        });
        assert_eq!(parameters["all"], all);
        let some = json!({ "/camera.image.width": [640, null], "/camera.mode": ["auto", null] });
        assert_eq!(parameters["get"], some);
        let set = json!({
            "/camera.exposure": [0.5, "float64"],
            "/camera.image.width": [320, null],
            "/camera.mode": ["auto", null],
            "/camera.gains": [[3.5, 4.25], "float64_array"],
        });
        assert_eq!(parameters["set"], set, "refused ones have their old values");
        let told = json!({
            "/camera.image.width": [320, null],
            "/camera.gains": [[3.5, 4.25], "float64_array"],
        });
        assert_eq!(parameters["told"], told);
        for note in [
            "/camera.exposure keeps its value: more than 1 is too bright",
            "/camera.mode keeps its value: an empty list does not say of what it is",
            "`nameless` names no parameter",
            "parameters of /hangs: ",
        ] {
            assert!(notes.contains(note), "{note}: {notes}");
        }
    });
}
