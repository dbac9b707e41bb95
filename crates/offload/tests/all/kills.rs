//! Processes killed at any moment while a device works for them: what comes out is whole, nobody
//! hangs, nothing of the dead is kept. Needs an OpenCL driver (PoCL).
//!
//! Twenty kills, twenty of each node that leaves messages on the device, and twenty around an
//! uploader; with CROSSDOCK_LONG=1 three hundred. The seed is printed; CROSSDOCK_SEED=<seed>
//! repeats a run's decisions (the moments are the machine's).

use crate::killed::{self, Running, participant, place};
use crate::pixels::{BYTES, PATIENCE, is_device_there, package_with, tested, wrong};
use crossdock_comm::status_records::counter;
use crossdock_comm::{
    Access, Observer, ObserverOptions, Participant, PortSnapshot, Qos, Rendezvous, Subscriber,
    SubscriberOptions, Uploader, Uploading,
};
use crossdock_executor::{UploadSite, Uploaders};
use crossdock_msg::types::sensor_msgs::Image;
use crossdock_test_support::{done, long, seed};
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

/// camera -> (left, right) -> this test: `left` and `right` read the camera on the device, each in
/// its process.
const UPLOADED: &str = "
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
  two: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /c }, parameters: { more: 6 } }
";

const PROCESSES: [&str; 3] = ["camera", "one", "two"];

/// Says to the camera's uploader that its device shall hang: a file in the place of the test.
const HANGS: &str = "hangs";

/// Runs one process of the graph until it is killed or its parent is gone.
fn process(name: &str, place: &Path, kind: &str) {
    let (text, model) = if kind == "uploader" { (UPLOADED, "copy") } else { (GRAPH, kind) };
    let processes = PROCESSES
        .map(|name| format!("{name}: {{ executors: [ {{ mode: event, nodes: [{name}] }} ] }}"));
    let mapping = format!(
        "crossdock: 1\nprocesses: {{ {} }}\ndevices: {{ gpu: {{ device: \"{}\", nodes: [one, two], \
         topics: {{ /a: {model}, /b: {model}, /c: {model} }} }} }}\n",
        processes.join(", "),
        device(model)
    );
    killed::run(name, place, (text, &mapping), &package_with(&Hanging));
}

/// What stays on the device is tried where nothing but acquire and release shares memory of the
/// host.
fn device(model: &str) -> &'static str {
    if model == "device" { "shadow:opencl:0" } else { tested() }
}

/// Uploaders of the device as long as it does not hang.
#[derive(Debug)]
struct Hanging;

struct HangingUploader {
    uploader: Box<dyn Uploader>,
    is_hung: bool,
}

impl Uploaders for Hanging {
    fn open(&self, site: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String> {
        let uploader = crossdock_offload::uploaders().open(site)?;
        let hanging = |uploader| Box::new(HangingUploader { uploader, is_hung: false }) as _;
        Ok(uploader.map(hanging))
    }
}

impl Uploader for HangingUploader {
    fn upload(&mut self, message: &Uploading<'_>) -> bool {
        let (_, place) = killed::role().expect("a process of the graph");
        if self.is_hung || !place.join(HANGS).exists() {
            return !self.is_hung && self.uploader.upload(message);
        }
        // Announced, and never there.
        let (region, payload) = (message.region(), message.payload());
        let (at, bytes) = (payload.as_ptr().addr() - region.address(), payload.len() as u64);
        let slab =
            region.slab_at(at as u64, bytes).expect("one slab stands for all of so few chunks");
        self.is_hung = slab.note(message.seq(), at as u64, bytes);
        self.is_hung
    }

    fn take_back(&mut self, message: &Uploading<'_>) {
        self.uploader.take_back(message);
    }
}

/// A subscriber and what was added to what it gets.
type Input = (Subscriber<Image>, u32);

/// Takes `count` messages of one input.
fn take(input: &Input, count: u32, state: &str) {
    take_all(std::slice::from_ref(input), count, state);
}

/// Takes at least `count` messages of each input and checks them; each is the next of its camera's
/// life or the first of another. Of several, so that none holds up the others.
fn take_all(inputs: &[Input], count: u32, state: &str) {
    let started = Instant::now();
    let mut taken = vec![0; inputs.len()];
    while taken.iter().any(|taken| *taken < count) {
        assert!(started.elapsed() < PATIENCE, "{taken:?} of {count} messages came: {state}");
        for (input, taken) in inputs.iter().zip(&mut taken) {
            *taken += u32::from(take_one(input, state).is_some());
        }
        std::thread::yield_now();
    }
}

/// Takes a message if there is one, checks it, and answers its number in its camera's life.
fn take_one((input, more): &Input, state: &str) -> Option<u32> {
    match input.take() {
        Ok(sample) => sample.map(|sample| {
            let (number, data) = (sample.message().width(), sample.message().data().expect("data"));
            assert_eq!((data.len(), wrong(data, number, *more)), (BYTES, None), "{state}");
            number
        }),
        Err(error) => panic!("{error}: {state}"),
    }
}

/// Sums of a topic's ports, of its publishers and of its subscribers on the device.
fn sums(place: &Path, topic: &str, index: usize) -> [u64; 2] {
    let options = ObserverOptions {
        domain_id: 0,
        name: "counts".into(),
        rendezvous: Rendezvous::Folder(place.to_owned()),
        access: Access::SameUser,
    };
    let seen = Observer::open(options).and_then(|mut it| it.snapshot()).expect("a look");
    let sum = |ports: &[PortSnapshot]| {
        let of_topic = ports.iter().filter(|port| port.topic == topic);
        of_topic.map(|port| port.counters[index]).sum::<u64>()
    };
    let names = seen.processes.iter().map(|it| it.process.as_str());
    assert!(["one", "two"].iter().all(|name| names.clone().any(|it| it == *name)), "both are seen");
    let all = seen.processes.iter();
    [
        all.clone().map(|process| sum(&process.publishers)).sum(),
        all.map(|process| sum(&process.subscribers)).sum(),
    ]
}

/// Kills of two tests together.
fn kills() -> u32 {
    if long() { 300 } else { 20 }
}

fn subscriber(participant: &Participant, topic: &str) -> Subscriber<Image> {
    let qos = Qos::reliable(4, PATIENCE);
    let options = SubscriberOptions { node: "sink", topic, qos, doorbell: None, group: None };
    participant.subscriber(options).expect("a subscriber")
}

/// A number below `end`.
fn below(random: &mut u64, end: u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random % end
}

fn killed_at_random(test: &str, model: &str, kills: u32) {
    if let Some((role, place)) = killed::role() {
        let (name, model) = role.split_once(' ').expect("a name and a model");
        return process(name, &place, model);
    }
    if !is_device_there() {
        return;
    }
    let place = place(model);
    let sink = participant("sink", &place);
    let input = (subscriber(&sink, "/c"), 11);
    let start = |name: &str| Running::start(test, &format!("{name} {model}"), &place);
    let mut running = PROCESSES.map(start);
    take(&input, 5, "at first");
    let before = running.each_ref().map(|it| (it.mapped(), it.open()));
    let copies = |state: &str| {
        if model == "device" {
            assert_eq!(sums(&place, "/b", counter::COPIES), [0, 0], "{state}");
        }
    };
    copies("at first");
    let mut random = seed();
    for round in 0..kills {
        let mut below = |end: u64| below(&mut random, end);
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
    done(kills.into(), "kills");
    // A survivor maps no more than at first, except for what it meets its peers by.
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
    let test = "kills::nodes_on_a_device_in_place_survive_the_death_of_their_peers";
    killed_at_random(test, "zero_copy", kills() / 2);
}

#[test]
fn nodes_on_a_device_with_copies_survive_the_death_of_their_peers() {
    let test = "kills::nodes_on_a_device_with_copies_survive_the_death_of_their_peers";
    killed_at_random(test, "copy", kills() / 2);
}

#[test]
fn nodes_that_leave_messages_on_their_device_survive_the_death_of_their_peers() {
    let test = "kills::nodes_that_leave_messages_on_their_device_survive_the_death_of_their_peers";
    killed_at_random(test, "device", 2 * kills());
}

#[test]
fn readers_of_an_uploader_and_its_publisher_survive_each_others_death() {
    let test = "kills::readers_of_an_uploader_and_its_publisher_survive_each_others_death";
    if let Some((role, place)) = killed::role() {
        return process(role.split(' ').next().expect("a name"), Path::new(&place), "uploader");
    }
    if !is_device_there() {
        return;
    }
    let place = place("uploader");
    let sink = participant("sink", &place);
    let inputs = [(subscriber(&sink, "/b"), 5), (subscriber(&sink, "/c"), 6)];
    let start = |name: &str| Running::start(test, &format!("{name} uploader"), &place);
    let mut running = PROCESSES.map(start);
    take_all(&inputs, 5, "at first");
    // Both have the slab by now: from here on each message is copied once, by its publisher.
    let look = |index| sums(&place, "/a", index);
    let (copies, before) = (look(counter::COPIES), look(counter::MESSAGES));
    take_all(&inputs, 50, "before the first kill");
    let (now, after) = (look(counter::COPIES), look(counter::MESSAGES));
    assert_eq!(now[1], copies[1], "the readers copied");
    let (uploaded, published) = (now[0] - copies[0], after[0] - before[0]);
    // Looks at two counters of a camera that goes on are two looks.
    assert!(
        uploaded >= 40 && uploaded.abs_diff(published) <= published / 2,
        "{uploaded} of {published}"
    );
    let open = running.each_ref().map(|it| (it.mapped(), it.open()));
    let mut random = seed();
    for round in 0..kills() {
        let victim = below(&mut random, 3) as usize;
        take_all(&inputs, below(&mut random, 20) as u32, "before a kill");
        running[victim].kill();
        running[victim] = start(PROCESSES[victim]);
        take_all(&inputs, 20, &format!("round {round}: after `{}` was killed", PROCESSES[victim]));
    }
    for (process, before) in running.iter().zip(open) {
        let now = (process.mapped(), process.open());
        let is_little = now.0 <= before.0 + 2 && now.1 <= before.1 + 4;
        assert!(is_little, "{before:?} memory objects and descriptors at first, {now:?} at last");
    }
    done(kills().into(), "kills");
    // A message that is announced and never there, because its publisher dies before.
    let [left, right] = inputs;
    let inputs = [left, right, (subscriber(&sink, "/a"), 0)];
    take_all(&inputs, 1, "of the camera, too");
    let [inputs @ .., (camera, _)] = &inputs;
    std::fs::write(place.join(HANGS), "").expect("a file");
    let started = Instant::now();
    let mut announced = 0;
    loop {
        assert!(started.elapsed() < PATIENCE, "no message was announced");
        if let Some(sample) = camera.take().expect("no fault") {
            // Behind the one that is never there none is uploaded.
            let Some(point) = sample.uploaded_point() else { break };
            announced = sample.message().width();
            assert!(point.timeline.value().is_ok(), "it has not failed");
        }
        inputs.iter().for_each(|input| _ = take_one(input, "until one is announced"));
    }
    running[0].kill();
    for input in inputs {
        // What follows was not uploaded: each is copied.
        while take_one(input, "of a dead camera").is_none_or(|number| number < announced) {
            assert!(started.elapsed() < PATIENCE, "message {announced} was lost");
        }
    }
    let _ = std::fs::remove_dir_all(place);
}
