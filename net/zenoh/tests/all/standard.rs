//! Parameters and actions, as the tools of ROS 2 use them: their types are known from a folder.

use crate::graphs::{LIMIT, Place, free_place, reliable, until};
use crossdock_comm::{
    AnyThread, BackPressure, FreeClientOptions, FreePublisherOptions, FreeServerOptions,
    FreeSubscriberOptions, Participant,
};
use crossdock_msg::{Schema, ServiceSchema};
use crossdock_net::{Joining, KEPT_BYTES_MAX, Net, NetOptions};
use crossdock_sight::Definitions;
use crossdock_wire::Hashes;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const VALUE: &str = "uint8 type\nbool bool_value\nint64 integer_value\nfloat64 double_value\n\
    string string_value\nbyte[] byte_array_value\nbool[] bool_array_value\n\
    int64[] integer_array_value\nfloat64[] double_array_value\nstring[] string_array_value\n";

const FILES: [(&str, &str); 6] = [
    ("rcl_interfaces/msg/ParameterValue.msg", VALUE),
    ("rcl_interfaces/msg/Parameter.msg", "string name\nParameterValue value\n"),
    ("rcl_interfaces/msg/SetParametersResult.msg", "bool successful\nstring reason\n"),
    ("rcl_interfaces/srv/GetParameters.srv", "string[] names\n---\nParameterValue[] values\n"),
    (
        "rcl_interfaces/srv/SetParameters.srv",
        "Parameter[] parameters\n---\nSetParametersResult[] results\n",
    ),
    (
        "example_interfaces/action/Fibonacci.action",
        "int32 order\n---\nint32[] sequence\n---\nint32[] sequence\n",
    ),
];

/// Definitions in a folder of their own.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("crossdock-net-types-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        for (path, text) in FILES {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn definitions(&self) -> Definitions {
        Definitions::read(std::slice::from_ref(&self.0)).unwrap()
    }

    fn bridge(&self, place: &Place, joining: Joining) -> Net {
        let (participant, hashes) = (place.options("net"), Hashes::Rihs01);
        let interfaces = vec![self.0.clone()];
        let bytes_max = None;
        let kept_bytes_max = KEPT_BYTES_MAX;
        let options =
            NetOptions { participant, joining, hashes, interfaces, bytes_max, kept_bytes_max };
        Net::start(options).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is no reason to fail a test that has passed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes CDR.
#[derive(Default)]
struct Cdr(Vec<u8>);

impl Cdr {
    fn number(mut self, bytes: &[u8]) -> Self {
        self.0.resize(self.0.len().next_multiple_of(bytes.len()), 0);
        self.0.extend(bytes);
        self
    }

    fn length(self, length: usize) -> Self {
        self.number(&(length as u32).to_le_bytes())
    }

    fn text(self, text: &str) -> Self {
        let mut cdr = self.length(text.len() + 1);
        cdr.0.extend(text.as_bytes());
        cdr.0.push(0);
        cdr
    }

    /// A parameter's value that is an integer.
    fn integer(self, value: i64) -> Self {
        let cdr = self.number(&[2]).number(&[0]).number(&value.to_le_bytes());
        let cdr = cdr.number(&0_f64.to_le_bytes()).text("");
        (0..5).fold(cdr, |cdr, _| cdr.length(0))
    }

    fn done(self) -> Vec<u8> {
        [&[0, 1, 0, 0][..], &self.0].concat()
    }
}

/// Serves calls with `answer`, of a request in CDR, until it is dropped.
struct Service {
    sender: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Service {
    fn start(
        participant: &Participant,
        schema: &Arc<ServiceSchema>,
        service: &str,
        mut answer: impl FnMut(&[u8]) -> Vec<u8> + Send + 'static,
    ) -> Self {
        let options = FreeServerOptions { node: "talker", service, ..Default::default() };
        let server = participant.free_any_server(Arc::clone(schema), options).unwrap();
        let (sender, over) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            while over.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                server.wait(Duration::from_millis(20)).unwrap();
                while let Some((request, ticket)) = server.take().unwrap() {
                    let mut cdr = Vec::new();
                    request.schema().request().encode_cdr(request.block(), &mut cdr).unwrap();
                    server.answer_cdr(&ticket, &answer(&cdr)).unwrap();
                }
            }
        });
        Self { sender: Some(sender), thread: Some(thread) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.sender.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

/// Calls a service once, with a request in CDR.
fn call(
    participant: &Participant,
    schema: &Arc<ServiceSchema>,
    service: &str,
    cdr: &[u8],
) -> Vec<u8> {
    let options = FreeClientOptions { node: "tool", service, ..Default::default() };
    let client = participant.free_any_client(Arc::clone(schema), options).unwrap();
    assert!(client.wait_for_server(LIMIT), "{service}");
    let response = client.call_cdr(cdr, LIMIT).unwrap();
    let mut cdr = Vec::new();
    schema.response().encode_cdr(response.block(), &mut cdr).unwrap();
    cdr
}

fn service(definitions: &Definitions, name: &str) -> Arc<ServiceSchema> {
    Arc::new(definitions.service_of_any_hash(name).unwrap())
}

fn bridges(folder: &Folder, left: &Place, right: &Place) -> [Net; 2] {
    let place = free_place();
    let (listen, connect) = (vec![place.clone()], Vec::new());
    let router = folder.bridge(left, Joining::Router { listen, connect });
    [router, folder.bridge(right, Joining::Client { connect: vec![place] })]
}

#[test]
fn parameters_of_a_far_node_are_read_and_set() {
    let folder = Folder::new("parameters");
    let (left, right) = (Place::new("param-left"), Place::new("param-right"));
    let _nets = bridges(&folder, &left, &right);
    let definitions = folder.definitions();
    let get = service(&definitions, "rcl_interfaces/srv/GetParameters");
    let set = service(&definitions, "rcl_interfaces/srv/SetParameters");
    let (here, there) = (left.open("here"), right.open("there"));
    let (sender, was_set) = std::sync::mpsc::channel();
    let _services = [
        Service::start(&here, &get, "/talker/get_parameters", |request| {
            assert_eq!(request, Cdr::default().length(1).text("speed").done());
            Cdr::default().length(1).integer(42).done()
        }),
        Service::start(&here, &set, "/talker/set_parameters", move |request| {
            sender.send(request.to_vec()).unwrap();
            Cdr::default().length(1).number(&[1]).text("").done()
        }),
    ];
    let request = Cdr::default().length(1).text("speed").done();
    let values = call(&there, &get, "/talker/get_parameters", &request);
    assert_eq!(values, Cdr::default().length(1).integer(42).done());
    let request = Cdr::default().length(1).text("speed").integer(7).done();
    let results = call(&there, &set, "/talker/set_parameters", &request);
    assert_eq!(results, Cdr::default().length(1).number(&[1]).text("").done());
    assert_eq!(was_set.recv_timeout(LIMIT).unwrap(), request);
}

#[test]
fn goals_and_feedback_of_an_action_go_over() {
    let folder = Folder::new("actions");
    let (left, right) = (Place::new("action-left"), Place::new("action-right"));
    let _nets = bridges(&folder, &left, &right);
    let definitions = folder.definitions();
    let send = service(&definitions, "example_interfaces/action/Fibonacci_SendGoal");
    let result = service(&definitions, "example_interfaces/action/Fibonacci_GetResult");
    let feedback = definitions.message_of_any_hash(FEEDBACK).map(Arc::new).unwrap();
    let (here, there) = (left.open("here"), right.open("there"));
    let accepted = Cdr::default().number(&[1]).number(&[0; 4]).number(&[0; 4]).done();
    let sequence = Cdr::default().number(&[4]).length(2).number(&[1; 4]).number(&[1; 4]).done();
    let (to_accept, of_result) = (accepted.clone(), sequence.clone());
    let _services = [
        Service::start(&here, &send, "/fib/_action/send_goal", move |_| to_accept.clone()),
        Service::start(&here, &result, "/fib/_action/get_result", move |_| of_result.clone()),
    ];
    let goal = [&[0, 1, 0, 0][..], &[9; 16], &3_i32.to_le_bytes()].concat();
    let answer = call(&there, &send, "/fib/_action/send_goal", &goal);
    assert_eq!(answer[..5], accepted[..5]);
    let answer = call(&there, &result, "/fib/_action/get_result", &goal[..20]);
    assert_eq!(answer, sequence);
    hear_feedback(&here, &there, &feedback);
}

const FEEDBACK: &str = "example_interfaces/action/Fibonacci_FeedbackMessage";

fn hear_feedback(here: &Participant, there: &Participant, schema: &Arc<Schema>) {
    let (node, topic, qos, max_bytes) = ("fib", "/fib/_action/feedback", reliable(10), None);
    let options = FreePublisherOptions { node, topic, qos, max_bytes };
    let talks = here.free_any_publisher(Arc::clone(schema), options).unwrap();
    let (back_pressure, doorbell) = (BackPressure::Never, None);
    let options = FreeSubscriberOptions { node, topic, qos, back_pressure, doorbell };
    let listens: crossdock_comm::AnySubscriber<AnyThread> =
        there.free_any_subscriber(Some(Arc::clone(schema)), options).unwrap();
    let message = [&[0, 1, 0, 0][..], &[9; 16], &1_u32.to_le_bytes(), &5_i32.to_le_bytes()];
    until("feedback comes", || {
        talks.publish_cdr(&message.concat(), 1, [0; 2]).unwrap();
        std::thread::sleep(Duration::from_millis(10));
        let Some(sample) = listens.take().unwrap() else { return false };
        let mut cdr = Vec::new();
        schema.encode_cdr(sample.block(), &mut cdr).unwrap();
        assert_eq!(cdr, message.concat());
        true
    });
}
