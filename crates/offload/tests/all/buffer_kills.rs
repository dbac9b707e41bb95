//! Workers on a device, and the owner of the buffer that they share, killed at any moment: nobody
//! hangs, what comes out is right, and nothing of the dead is kept, nor their memory of the device.
//! Needs an OpenCL driver (PoCL).
//!
//! Twenty kills; with CROSSDOCK_LONG=1 three hundred. The seed is printed; CROSSDOCK_SEED=<seed>
//! repeats a run's decisions (the moments are the machine's).

use crate::killed::{self, Running, participant};
use crate::pixels::{is_device_there, tested};
use crossdock_comm::{
    Buffers, Part, Participant, Publisher, PublisherOptions, Qos, SharedBuffer, Subscriber,
    SubscriberOptions, Token,
};
use crossdock_device::{Argument, Device, Grid, Kernel, KernelSource};
use crossdock_executor::{Context, Node, NodeDescription, NodeError, NodeType, Package, Setup};
use crossdock_msg::Extra;
use crossdock_msg::types::crossdock_interfaces::SharedBuffer as Message;
use crossdock_offload::{DeviceBuffers, DeviceOutput, OffloadError, Queue, instances};
use crossdock_test_support::{done, long, seed};
use std::path::Path;
use std::time::{Duration, Instant};

const COUNT: u64 = 4096;
/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);
const WORKERS: [&str; 2] = ["even", "odd"];

const KERNELS: KernelSource<'_> = KernelSource {
    label: "buffer_kills.rs",
    text: "
XD_KERNEL fill(XD_OUT(array), u32 first, u32 count, u32 turn) {
    XD_WRITE(u32, array);
    if (XD_X < count) array[first + 2 * XD_X] = (first + 2 * XD_X) * turn + 1;
}
",
};

/// Of every second element of the array, by `half`.
fn half(half: u64) -> Part {
    Part::every(2, half, COUNT).expect("a part")
}

fn filled(at: u64, turn: u64) -> u32 {
    (at as u32).wrapping_mul(turn as u32) + 1
}

/// Fills every second element on the device. Owners may die: what is theirs is passed over.
struct Worker {
    work: Subscriber<Message>,
    done: Publisher<Message>,
    buffers: Buffers,
    half: u64,
    queue: Queue,
    on_device: DeviceBuffers,
    output: DeviceOutput,
    fill: Kernel,
}

impl NodeType for Worker {
    const NAME: &'static str = "worker";

    fn description() -> NodeDescription {
        NodeDescription::new()
            .subscriber::<Message>("work")
            .publisher::<Message>("done")
            .parameter("half", 0, "0: the even elements, 1: the odd ones")
            .on_device()
    }

    fn create(setup: &mut Setup<'_>) -> Result<Self, NodeError> {
        let (work, done) = (setup.subscriber("work")?, setup.publisher("done")?);
        let queue = Queue::of(setup)?.ok_or_else(|| NodeError::new("it needs a device"))?;
        let half: i64 = setup.parameter("half")?;
        Ok(Self {
            buffers: setup.buffers(),
            half: half as u64,
            on_device: queue.buffers(setup, &work)?,
            output: queue.output(setup, &done)?,
            fill: queue.device().load(&KERNELS)?.kernel("fill")?,
            work,
            done,
            queue,
        })
    }
}

impl Node for Worker {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<(), NodeError> {
        let Ok(Some(sample)) = self.work.take() else { return Ok(()) };
        let token = Token::of(sample.message())?;
        let Ok(array) = self.buffers.open::<u32>(&token) else { return Ok(()) };
        let Ok(writes) = array.write(half(self.half)) else { return Ok(()) };
        let mut loan = self.done.loan(Extra::none())?;
        token.write(&mut loan.message());
        let mut work = self.queue.begin()?;
        let place = work.share(&self.on_device, writes, [])?;
        assert_eq!(self.on_device.mirrors(), 0, "the buffer has memory of the device for all");
        let numbers = [self.half, COUNT / 2, token.turn];
        let [first, count, turn] = numbers.map(|number| Argument::U32(number as u32));
        let arguments = [Argument::Out(place.span()?), first, count, turn];
        // SAFETY: the kernel's arguments; it writes what is claimed.
        unsafe {
            work.stream().launch(&mut self.fill, Grid::line(COUNT as u32 / 2, 64), &arguments)?
        };
        match work.publish(&self.output, loan, sample) {
            Err(OffloadError::NotHeld { .. }) => Ok(()),
            other => Ok(other?),
        }
    }
}

const GRAPH: &str = "
crossdock: 1
name: buffer_kills
topics:
  /work: { type: crossdock_interfaces/msg/SharedBuffer, external: true, max_bytes: 512, qos: { depth: 16, timeout_ms: 60000 } }
  /even: { max_bytes: 512, qos: { depth: 16, timeout_ms: 60000 } }
  /odd: { max_bytes: 512, qos: { depth: 16, timeout_ms: 60000 } }
nodes:
  even: { package: buffer_kills, type: worker, inputs: { work: /work }, outputs: { done: /even }, parameters: { half: 0 } }
  odd: { package: buffer_kills, type: worker, inputs: { work: /work }, outputs: { done: /odd }, parameters: { half: 1 } }
";

fn worker(name: &str, place: &Path, device: &str) {
    let mapping = format!(
        "crossdock: 1
processes:
  even: {{ executors: [ {{ mode: event, nodes: [even] }} ] }}
  odd: {{ executors: [ {{ mode: event, nodes: [odd] }} ] }}
devices: {{ gpu: {{ device: \"{device}\", nodes: [even, odd], topics: {{ /work: copy }} }} }}
"
    );
    let package = Package::new("buffer_kills").node::<Worker>();
    killed::run(name, place, (GRAPH, &mapping), &package);
}

/// Has the array, deals turns and looks at what came of them. No node: it is the test, or one of
/// its processes.
struct Owner {
    participant: Participant,
    work: Publisher<Message>,
    done: [Subscriber<Message>; 2],
    /// Tells turns that were right.
    seen: Publisher<Message>,
    array: SharedBuffer<u32>,
    turn: u64,
}

impl Owner {
    fn new(place: &Path, device: &str) -> Owner {
        let participant = participant("owner", place);
        let qos = Qos::reliable(16, PATIENCE);
        let publisher = |topic| {
            let options =
                PublisherOptions { node: "owner", topic, qos, max_bytes: Some(512), group: None };
            participant.publisher(options).expect("a publisher")
        };
        let device = Device::open(device).expect("it was listed");
        let makers = vec![instances(&device).expect("it was tried")];
        let buffers = participant.buffers("owner").with_instances(makers);
        let array = buffers.create("array", COUNT).expect("a buffer");
        assert_eq!(array.instances(), 1);
        let done = ["/even", "/odd"].map(|topic| subscriber(&participant, topic));
        let (work, seen) = (publisher("/work"), publisher("/seen"));
        Owner { work, seen, done, array, turn: 0, participant }
    }

    /// Until both workers are there.
    fn meet(&self) {
        let are_there =
            || self.work.matched() == 2 && self.done.iter().all(|done| done.matched() == 1);
        assert!(self.participant.wait_until(PATIENCE, are_there), "the workers do not come");
    }

    fn deal(&self) {
        let mut loan = self.work.loan(Extra::none()).expect("memory");
        self.array.token(Part::range(0, COUNT), Part::NONE, self.turn).write(&mut loan.message());
        loan.publish().map_err(|refused| refused.reason).expect("it is published");
    }

    /// Until both have answered; then the array must be right.
    fn hear(&mut self, state: &str) {
        let started = Instant::now();
        let mut heard = [false; 2];
        while !heard.iter().all(|heard| *heard) {
            assert!(started.elapsed() < PATIENCE, "turn {} has no end {state}", self.turn);
            for (heard, done) in heard.iter_mut().zip(&self.done) {
                // What the dead have left unfinished is an error once.
                if let Ok(Some(sample)) = done.take() {
                    *heard |= Token::of(sample.message()).expect("a token").turn == self.turn;
                }
            }
            std::thread::yield_now();
        }
        // A worker that was given the turn twice may be at it again.
        let claim = loop {
            match self.array.read(Part::range(0, COUNT)) {
                Ok(claim) => break claim,
                Err(error) => assert!(started.elapsed() < PATIENCE, "{error} {state}"),
            }
        };
        let wrong = (0..).zip(claim.iter()).find(|(at, found)| *found != filled(*at, self.turn));
        assert_eq!(wrong, None, "turn {} {state}", self.turn);
    }

    fn next(&mut self, state: &str) {
        self.turn += 1;
        self.deal();
        self.hear(state);
    }
}

fn subscriber(participant: &Participant, topic: &str) -> Subscriber<Message> {
    let qos = Qos::reliable(16, PATIENCE);
    let options = SubscriberOptions { node: "owner", topic, qos, doorbell: None, group: None };
    participant.subscriber(options).expect("a subscriber")
}

fn random() -> impl FnMut(u64) -> u64 {
    let mut state = seed();
    move |end| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    }
}

/// Lets a moment of up to a few turns go by, at the end of which somebody is killed. Nothing waits
/// for it.
fn moment(microseconds: u64) {
    let end = Instant::now() + Duration::from_micros(microseconds);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

/// Memory objects and descriptors: no more than at first, but for what a process meets its peers
/// by, and the array and instance of an owner that has just died.
fn assert_kept(running: &[Running], before: &[(usize, usize)]) {
    for (process, before) in running.iter().zip(before) {
        let now = (process.mapped(), process.open());
        let is_little = now.0 <= before.0 + 4 && now.1 <= before.1 + 4;
        assert!(is_little, "{before:?} memory objects and descriptors at first, {now:?} at last");
        // A GPU's own memory is nowhere in the host's.
        if tested().starts_with("opencl") {
            let instances = process.mapped_as("device-memory");
            assert!((1..=2).contains(&instances), "{instances} instances at last");
        }
    }
}

fn resources(running: &[Running]) -> Vec<(usize, usize)> {
    running.iter().map(|it| (it.mapped(), it.open())).collect()
}

#[test]
fn workers_that_die_leave_the_array_and_its_instance_to_the_others() {
    let test = "buffer_kills::workers_that_die_leave_the_array_and_its_instance_to_the_others";
    let device = tested();
    if let Some((name, place)) = killed::role() {
        return worker(&name, &place, device);
    }
    if !is_device_there() {
        return;
    }
    let place = killed::place("workers-die");
    let start = |name: &str| Running::start(test, name, &place);
    let mut workers = WORKERS.map(start);
    let mut owner = Owner::new(&place, device);
    owner.meet();
    (0..5).for_each(|_| owner.next("at first"));
    let before = resources(&workers);
    let mut below = random();
    let mut abandoned = 0;
    let kills = if long() { 200 } else { 14 };
    for round in 0..kills {
        let victim = below(2) as usize;
        owner.turn += 1;
        owner.deal();
        moment(below(3000));
        workers[victim].kill();
        let is_gone = || owner.work.matched() == 1 && owner.done[victim].matched() == 0;
        assert!(owner.participant.wait_until(PATIENCE, is_gone));
        workers[victim] = start(WORKERS[victim]);
        owner.meet();
        abandoned += owner.array.accept_abandoned().expect("it is dead").len();
        let state = format!("in round {round}, after `{}` was killed", WORKERS[victim]);
        owner.deal();
        owner.hear(&state);
        owner.next(&state);
    }
    // Of so many kills some come while a worker is at it.
    assert!(abandoned > 0 || !long(), "no worker was killed at work");
    done(kills, "kills");
    assert_kept(&workers, &before);
    drop((workers, owner));
    let _ = std::fs::remove_dir_all(place);
}

#[test]
fn owners_that_die_take_their_arrays_and_instances_with_them() {
    let test = "buffer_kills::owners_that_die_take_their_arrays_and_instances_with_them";
    let device = "shadow:opencl:0";
    match killed::role() {
        Some((role, place)) if role == "owner" => {
            let mut owner = Owner::new(&place, device);
            owner.meet();
            loop {
                owner.next("of an owner");
                let mut loan = owner.seen.loan(Extra::none()).expect("memory");
                let none = owner.array.token(Part::NONE, Part::NONE, owner.turn);
                none.write(&mut loan.message());
                loan.publish().map_err(|refused| refused.reason).expect("it is published");
            }
        }
        Some((name, place)) => return worker(&name, &place, device),
        None => {}
    }
    if !is_device_there() {
        return;
    }
    let place = killed::place("owners-die");
    let watcher = participant("watcher", &place);
    let seen = subscriber(&watcher, "/seen");
    let right = |count: u32| {
        let started = Instant::now();
        let mut turns = 0;
        while turns < count {
            assert!(started.elapsed() < PATIENCE, "{turns} of {count} turns were right");
            turns += u32::from(seen.take().expect("a message").is_some());
            std::thread::yield_now();
        }
    };
    let workers = WORKERS.map(|name| Running::start(test, name, &place));
    let mut owner = Running::start(test, "owner", &place);
    right(5);
    let before = resources(&workers);
    let mut below = random();
    let kills = if long() { 100 } else { 6 };
    for _ in 0..kills {
        moment(below(3000));
        owner.kill();
        owner = Running::start(test, "owner", &place);
        // More than what was on its way.
        right(40);
    }
    done(kills, "kills");
    assert_kept(&workers, &before);
    drop((workers, owner, watcher));
    let _ = std::fs::remove_dir_all(place);
}
