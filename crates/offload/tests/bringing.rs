//! A topic that two executors read on one device: its publisher brings each message there once, and whatever becomes
//! of that, each is read. Needs an OpenCL driver (PoCL).
#![allow(missing_docs)]
#![allow(unsafe_code, reason = "launching a kernel is unsafe; that of a test is in the test")]

mod pixels;
mod running;

use crossdock_comm::{Bringing, Gateway};
use crossdock_device::Device;
use crossdock_executor::{GatewaySite, Gateways, Package};
use pixels::{MESSAGES, SAID, is_device_there, package, package_with};
use std::sync::{Mutex, PoisonError};

/// camera -> (left, right, viewer), left and right on the device; what they publish is looked at.
const GRAPH: &str = "
crossdock: 1
name: gateways
topics:
  /a: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /b: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /c: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
nodes:
  camera: { package: pixels, type: camera, outputs: { image: /a } }
  left: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /b }, parameters: { more: 5 } }
  right: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /c }, parameters: { more: 6 } }
  viewer: { package: pixels, type: sink, inputs: { image: /a }, parameters: { ends: false } }
  both:
    { package: pixels, type: both, inputs: { left: /b, right: /c }, parameters: { more_left: 5, more_right: 6 } }
";

/// What nodes say goes by their names: tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// Runs the graph, and answers what camera, left and right have to say.
fn run(device: &str, model: &str, executors: &[&str], package: fn() -> Package) -> [Vec<u64>; 3] {
    let _open = Device::open("opencl:0").expect("it was listed");
    let topics = ["/a", "/b", "/c"].map(|topic| format!("{topic}: {model}")).join(", ");
    let devices = format!(
        "devices: {{ gpu: {{ device: \"{device}\", nodes: [left, right], topics: {{ {topics} }} }} }}\n"
    );
    let name = format!("bringing-{model}");
    let run = running::run((&name, GRAPH), executors, &devices, package);
    assert_eq!(run, Ok(()), "{device} {model} {executors:?}");
    let said = SAID.lock().expect("no panic");
    ["camera", "left", "right"].map(|node| said[node].clone())
}

const EACH: &[&str] = &["camera", "left", "right", "viewer", "both"];

#[test]
fn a_message_goes_to_the_device_once_for_all_executors_that_read_it_there() {
    if !is_device_there() {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let n = u64::from(MESSAGES);
    // One of the readers beside the camera; both in one executor: its queue brings messages once anyway.
    let beside: &[&str] = &["camera, left", "right", "viewer", "both"];
    let one: &[&str] = &["camera", "left, right", "viewer", "both"];
    for (device, model, executors, copies) in [
        ("opencl:0", "copy", EACH, Some([n, 0, 0])),
        ("opencl:0", "device", EACH, Some([n, 0, 0])),
        ("shadow:opencl:0", "copy", EACH, Some([n, 0, 0])),
        ("shadow:opencl:0", "device", EACH, Some([n, 0, 0])),
        ("opencl:0", "device", beside, Some([n, 0, 0])),
        ("opencl:0", "auto", EACH, Some([0, 0, 0])),
        // Which of the two copies is a matter of who is first.
        ("opencl:0", "copy", one, None),
    ] {
        let state = format!("{device} {model} {executors:?}");
        let [camera, left, right] = run(device, model, executors, package);
        let found = [camera[0], left[0], right[0]];
        match copies {
            Some(copies) => assert_eq!(found, copies, "{state}"),
            None => assert_eq!((found[0], left[0] + right[0]), (0, n), "{state}"),
        }
        // All of a message is brought, header and all.
        assert_eq!(camera[1], camera[0] / n * camera[2], "{state}");
    }
}

/// From this message on the device of the camera's gateway has failed.
const FAILS_AT: u64 = 10;

#[derive(Debug)]
struct Failing;

struct FailingGateway(Box<dyn Gateway>);

impl Gateways for Failing {
    fn open(&self, site: &GatewaySite<'_>) -> Result<Option<Box<dyn Gateway>>, String> {
        let gateway = crossdock_offload::gateways().open(site)?;
        Ok(gateway.map(|gateway| Box::new(FailingGateway(gateway)) as _))
    }
}

impl Gateway for FailingGateway {
    fn bring(&mut self, message: &Bringing<'_>) -> bool {
        if message.seq() < FAILS_AT {
            return self.0.bring(message);
        }
        if message.seq() > FAILS_AT {
            return false;
        }
        // Announced, and never there.
        let region = message.region();
        let payload = message.payload();
        let (at, bytes) = (payload.as_ptr().addr() - region.address(), payload.len() as u64);
        let slab =
            region.slab_at(at as u64, bytes).expect("one slab stands for all of so few chunks");
        assert!(slab.note(message.seq(), at as u64, bytes));
        message.point().timeline.poison();
        true
    }

    fn take_back(&mut self, message: &Bringing<'_>) {
        self.0.take_back(message);
    }
}

#[test]
fn when_the_gateways_device_fails_readers_copy_what_it_did_not_bring() {
    if !is_device_there() {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let said = run("opencl:0", "copy", EACH, || package_with(&Failing));
    let (brought, others) = (FAILS_AT - 1, u64::from(MESSAGES) - FAILS_AT + 1);
    assert_eq!(said.map(|said| said[0]), [brought, others, others]);
}

#[derive(Debug)]
struct Refusing;

impl Gateways for Refusing {
    fn open(&self, _: &GatewaySite<'_>) -> Result<Option<Box<dyn Gateway>>, String> {
        Err("there is no such device".to_owned())
    }
}

#[test]
fn without_a_gateway_each_executor_copies_for_itself() {
    if !is_device_there() {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let n = u64::from(MESSAGES);
    let said = run("opencl:0", "copy", EACH, || package_with(&Refusing));
    assert_eq!(said.map(|said| said[0]), [0, n, n]);
}
