//! Messages of another process on a device that does not register memory which may only be read:
//! the mapping is refused or copies go through memory that is registered, and what is computed is
//! right. Two processes. Needs an OpenCL driver (PoCL).

use crate::killed::{self, Running, participant, place};
use crate::pixels::{BYTES, PATIENCE, is_device_there, package, wrong};
use crossdock_comm::{Qos, Subscriber, SubscriberOptions};
use crossdock_msg::types::sensor_msgs::Image;
use std::path::Path;
use std::time::Instant;

/// camera -> one -> this test: a process each, `one` on the device.
const GRAPH: &str = "
crossdock: 1
name: foreign
topics:
  /a: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /b: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
nodes:
  camera:
    { package: pixels, type: camera, outputs: { image: /a }, parameters: { messages: 4000000000 } }
  one: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /b }, parameters: { more: 5 } }
";

/// Messages that are looked at: many times what is under way.
const SEEN: u32 = 100;

fn process(name: &str, place: &Path, (device, model): (&str, &str)) {
    let mapping = format!(
        "crossdock: 1\nprocesses: {{ camera: {{ executors: [ {{ mode: event, nodes: [camera] }} ] }}, \
         one: {{ executors: [ {{ mode: event, nodes: [one] }} ] }} }}\n\
         devices: {{ gpu: {{ device: \"{device}:opencl:0\", nodes: [one], topics: {{ /a: {model}, /b: {model} }} }} }}\n"
    );
    killed::run(name, place, (GRAPH, &mapping), &package());
}

#[test]
fn messages_of_other_processes_get_to_a_device_that_does_not_register_them() {
    let test = "foreign::messages_of_other_processes_get_to_a_device_that_does_not_register_them";
    if let Some((role, place)) = killed::role() {
        let mut words = role.split(' ');
        let mut word = || words.next().expect("a name, a device and a model");
        let (name, device, model) = (word(), word(), word());
        return process(name, &place, (device, model));
    }
    if !is_device_there() {
        return;
    }
    for (device, model) in [("discrete-rw", "copy"), ("discrete-rw", "auto"), ("discrete", "copy")]
    {
        let place = place(&format!("foreign-{device}-{model}"));
        let processes = ["one", "camera"]
            .map(|name| Running::start(test, &format!("{name} {device} {model}"), &place));
        let sink = participant("sink", &place);
        let qos = Qos::reliable(4, PATIENCE);
        let options =
            SubscriberOptions { node: "sink", topic: "/b", qos, doorbell: None, group: None };
        let input: Subscriber<Image> = sink.subscriber(options).expect("a subscriber");
        let (started, mut last) = (Instant::now(), 0);
        for seen in 0..SEEN {
            let sample = loop {
                assert!(started.elapsed() < PATIENCE, "{device} {model}: {seen} messages came");
                match input.take().expect("whole messages") {
                    Some(sample) => break sample,
                    None => std::thread::yield_now(),
                }
            };
            let (number, data) = (sample.message().width(), sample.message().data().expect("data"));
            assert!(number > last, "{device} {model}: {number} after {last}");
            assert_eq!((data.len(), wrong(data, number, 5)), (BYTES, None), "{device} {model}");
            last = number;
        }
        drop((input, sink, processes));
        let _ = std::fs::remove_dir_all(place);
    }
}
