//! Processes killed at any moment while a device works for them: what comes out is whole, nobody hangs, nothing of
//! the dead is kept. Needs an OpenCL driver (PoCL).
//!
//! Twenty kills, and twenty of each node that leaves messages on the device; with CROSSDOCK_LONG=1 three hundred.
//! The seed is printed; CROSSDOCK_SEED=<seed> repeats a run's decisions (the moments are the machine's).
#![allow(missing_docs)]
#![allow(unsafe_code, reason = "launching a kernel is unsafe; that of a test is in the test")]

mod killed;
mod pixels;

use crossdock_comm::entities::counter;
use crossdock_comm::{
    Access, Observer, ObserverOptions, PortSnapshot, Qos, Rendezvous, Subscriber, SubscriberOptions,
};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_test_support::{long, seed};
use killed::{Running, participant};
use pixels::{BYTES, PATIENCE, is_device_there, package, wrong};
use std::path::Path;
use std::time::Instant;

/// camera -> one -> two -> this test: three processes, `one` and `two` on the device.
const GRAPH: &str = "
crossdock: 1
name: kills
topics:
  /a: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /b: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /c: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
nodes:
  camera:
    { package: pixels, type: camera, outputs: { image: /a }, parameters: { messages: 4000000000 } }
  one: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /b }, parameters: { more: 5 } }
  two: { package: pixels, type: add, inputs: { from: /b }, outputs: { to: /c }, parameters: { more: 6 } }
";

const PROCESSES: [&str; 3] = ["camera", "one", "two"];

/// Runs one process of the graph until it is killed or its parent is gone.
fn process(name: &str, place: &Path, model: &str) {
    let processes = PROCESSES
        .map(|name| format!("{name}: {{ executors: [ {{ mode: event, nodes: [{name}] }} ] }}"));
    let mapping = format!(
        "crossdock: 1\nprocesses: {{ {} }}\ndevices: {{ gpu: {{ device: \"{}\", nodes: [one, two], \
         topics: {{ /a: {model}, /b: {model}, /c: {model} }} }} }}\n",
        processes.join(", "),
        device(model)
    );
    killed::run(name, place, (GRAPH, &mapping), &package());
}

/// What stays on the device is tried where nothing but acquire and release shares memory of the host.
fn device(model: &str) -> &'static str {
    if model == "device" { "shadow:opencl:0" } else { "opencl:0" }
}

/// Takes `count` messages and checks them; each is the next of its camera's life or the first of another.
fn take(input: &Subscriber<Image>, count: u32, state: &str) {
    let started = Instant::now();
    let mut taken = 0;
    while taken < count {
        assert!(started.elapsed() < PATIENCE, "{taken} of {count} messages came: {state}");
        match input.take() {
            Ok(Some(sample)) => {
                let (number, data) =
                    (sample.message().width(), sample.message().data().expect("data"));
                assert_eq!((data.len(), wrong(data, number, 11)), (BYTES, None), "{state}");
                taken += 1;
            }
            Ok(None) => std::thread::yield_now(),
            Err(error) => panic!("{error}: {state}"),
        }
    }
}

/// Copies of payloads on /b: of its publisher and of its subscriber.
fn copies_between(place: &Path) -> [u64; 2] {
    let options = ObserverOptions {
        domain_id: 0,
        name: "counts".into(),
        rendezvous: Rendezvous::Folder(place.to_owned()),
        access: Access::SameUser,
    };
    let seen = Observer::open(options).and_then(|mut it| it.snapshot()).expect("a look");
    let copies = |ports: &[PortSnapshot]| {
        let of_topic = ports.iter().filter(|port| port.topic == "/b");
        of_topic.map(|port| port.counters[counter::COPIES]).sum::<u64>()
    };
    let names = seen.processes.iter().map(|it| it.process.as_str());
    assert!(["one", "two"].iter().all(|name| names.clone().any(|it| it == *name)), "both are seen");
    let all = seen.processes.iter();
    [
        all.clone().map(|process| copies(&process.publishers)).sum(),
        all.map(|process| copies(&process.subscribers)).sum(),
    ]
}

/// Kills of two tests together.
fn kills() -> u32 {
    if long() { 300 } else { 20 }
}

fn killed_at_random(test: &str, model: &str, kills: u32) {
    if let Some((role, place)) = killed::role() {
        let (name, model) = role.split_once(' ').expect("a name and a model");
        return process(name, &place, model);
    }
    if !is_device_there() {
        return;
    }
    let place = killed::place(&format!("kills-{model}"));
    let sink = participant("sink", &place);
    let options = SubscriberOptions {
        node: "sink",
        topic: "/c",
        qos: Qos::reliable(4, PATIENCE),
        doorbell: None,
        group: None,
    };
    let input = sink.subscriber::<Image>(options).expect("a subscriber");
    let start = |name: &str| Running::start(test, &format!("{name} {model}"), &place);
    let mut running = PROCESSES.map(start);
    take(&input, 5, "at first");
    let before = running.each_ref().map(|it| (it.mapped(), it.open()));
    let copies = |state: &str| {
        if model == "device" {
            assert_eq!(copies_between(&place), [0, 0], "{state}");
        }
    };
    copies("at first");
    let mut random = seed();
    for round in 0..kills {
        let mut below = |end: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % end
        };
        let victim = match model {
            // Both nodes on the device in turn.
            "device" => 1 + round as usize % 2,
            // One whose start is cheap in two of three cases.
            _ => [0, 0, 0, 0, 1, 2][below(6) as usize],
        };
        take(&input, below(20) as u32, "before a kill");
        running[victim].kill();
        running[victim] = start(PROCESSES[victim]);
        // What was on its way may have come: so many cannot all have been.
        take(&input, 40, &format!("round {round}: after `{}` was killed", PROCESSES[victim]));
    }
    copies("at last");
    // Whoever lived through it maps no more than at first, but for what it meets its peers by.
    for (process, before) in running.iter().zip(before) {
        let now = (process.mapped(), process.open());
        let is_little = now.0 <= before.0 + 2 && now.1 <= before.1 + 4;
        assert!(is_little, "{before:?} memory objects and descriptors at first, {now:?} at last");
    }
    drop(running);
    drop((input, sink));
    let _ = std::fs::remove_dir_all(place);
}

#[test]
fn nodes_on_a_device_in_place_survive_the_death_of_their_peers() {
    let test = "nodes_on_a_device_in_place_survive_the_death_of_their_peers";
    killed_at_random(test, "zero_copy", kills() / 2);
}

#[test]
fn nodes_on_a_device_with_copies_survive_the_death_of_their_peers() {
    let test = "nodes_on_a_device_with_copies_survive_the_death_of_their_peers";
    killed_at_random(test, "copy", kills() / 2);
}

#[test]
fn nodes_that_leave_messages_on_their_device_survive_the_death_of_their_peers() {
    let test = "nodes_that_leave_messages_on_their_device_survive_the_death_of_their_peers";
    killed_at_random(test, "device", 2 * kills());
}
