//! A topic that two executors read on one device: its publisher uploads each message once, and
//! whatever becomes of that, each is read. Needs an OpenCL driver (PoCL).

use crate::pixels::{
    MESSAGES, SAID, is_device_there, is_on_a_bus, package, package_with, tested, turn,
};
use crate::running;
use crossdock_comm::{Uploader, Uploading};
use crossdock_device::{Argument, Device, Grid, Kernel, KernelSource, Memory, Stream};
use crossdock_executor::{Package, UploadSite, Uploaders};
use crossdock_shm::Scratch;
use std::time::Instant;

/// camera -> (left, right, viewer), left and right on the device; what they publish is looked at.
const GRAPH: &str = "
crossdock: 1
name: uploaders
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

/// Runs the graph, and answers what camera, left and right have to say.
fn run(device: &str, model: &str, executors: &[&str], package: fn() -> Package) -> [Vec<u64>; 3] {
    run_by(GRAPH, device, model, executors, package)
}

fn run_by(
    graph: &str,
    device: &str,
    model: &str,
    executors: &[&str],
    package: fn() -> Package,
) -> [Vec<u64>; 3] {
    let devices =
        format!("devices: {{ {} }}\n", on(device, "left, right", &["/a", "/b", "/c"], model));
    let name = format!("uploading-{model}");
    run_graph((&name, graph), executors, &devices, package);
    ["camera", "left", "right"].map(said)
}

/// Nodes on a device, and the model of their topics, in a mapping.
fn on(device: &str, nodes: &str, topics: &[&str], model: &str) -> String {
    let topics: Vec<String> = topics.iter().map(|topic| format!("{topic}: {model}")).collect();
    let (name, topics) = (device.replace(':', "_"), topics.join(", "));
    format!("{name}: {{ device: \"{device}\", nodes: [{nodes}], topics: {{ {topics} }} }}")
}

fn run_graph(graph: (&str, &str), executors: &[&str], devices: &str, package: fn() -> Package) {
    let _open = Device::open(tested()).expect("it was listed");
    let run = running::run(graph, executors, devices, package);
    assert_eq!(run, Ok(()), "{executors:?} {devices}");
}

fn said(node: &str) -> Vec<u64> {
    SAID.lock().expect("no panic")[node].clone()
}

const EACH: &[&str] = &["camera", "left", "right", "viewer", "both"];

#[test]
fn a_message_goes_to_the_device_once_for_all_executors_that_read_it_there() {
    if !is_device_there() {
        return;
    }
    let _turn = turn();
    let n = u64::from(MESSAGES);
    // One of the readers beside the camera; both in one executor: its queue copies messages once
    // anyway.
    let beside: &[&str] = &["camera, left", "right", "viewer", "both"];
    let one: &[&str] = &["camera", "left, right", "viewer", "both"];
    for (device, model, executors, copies) in [
        (tested(), "copy", EACH, Some([n, 0, 0])),
        (tested(), "device", EACH, Some([n, 0, 0])),
        ("shadow:opencl:0", "copy", EACH, Some([n, 0, 0])),
        ("shadow:opencl:0", "device", EACH, Some([n, 0, 0])),
        ("discrete:opencl:0", "auto", EACH, Some([n, 0, 0])),
        (tested(), "device", beside, Some([n, 0, 0])),
        (tested(), "auto", EACH, Some([if is_on_a_bus() { n } else { 0 }, 0, 0])),
        // Which of the two copies is a matter of who is first.
        (tested(), "copy", one, None),
    ] {
        let state = format!("{device} {model} {executors:?}");
        let [camera, left, right] = run(device, model, executors, package);
        let found = [camera[0], left[0], right[0]];
        match copies {
            Some(copies) => assert_eq!(found, copies, "{state}"),
            None => assert_eq!((found[0], left[0] + right[0]), (0, n), "{state}"),
        }
        // All of a message is uploaded, header and all.
        assert_eq!(camera[1], camera[0] / n * camera[2], "{state}");
    }
}

/// From this message on the device of the camera's uploader has failed.
const FAILS_AT: u64 = 10;

#[derive(Debug)]
struct Failing;

struct FailingUploader(Box<dyn Uploader>);

impl Uploaders for Failing {
    fn open(&self, site: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String> {
        let uploader = crossdock_offload::uploaders().open(site)?;
        Ok(uploader.map(|uploader| Box::new(FailingUploader(uploader)) as _))
    }
}

impl Uploader for FailingUploader {
    fn upload(&mut self, message: &Uploading<'_>) -> bool {
        if message.seq() < FAILS_AT {
            return self.0.upload(message);
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

    fn take_back(&mut self, message: &Uploading<'_>) {
        self.0.take_back(message);
    }
}

#[test]
fn when_the_uploaders_device_fails_readers_copy_what_it_did_not_bring() {
    if !is_device_there() {
        return;
    }
    let _turn = turn();
    let [camera, left, right] = run(tested(), "copy", EACH, || package_with(&Failing));
    let n = u64::from(MESSAGES);
    assert_eq!(camera[0], FAILS_AT - 1);
    // Of those before, a reader copies what it had not come to when the device failed.
    let others = n - FAILS_AT + 1..=n;
    assert!(others.contains(&left[0]) && others.contains(&right[0]), "{left:?} {right:?}");
}

#[derive(Debug)]
struct Refusing;

impl Uploaders for Refusing {
    fn open(&self, _: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String> {
        Err("there is no such device".to_owned())
    }
}

#[test]
fn without_an_uploader_each_executor_copies_for_itself() {
    if !is_device_there() {
        return;
    }
    let _turn = turn();
    let n = u64::from(MESSAGES);
    let said = run(tested(), "copy", EACH, || package_with(&Refusing));
    assert_eq!(said.map(|said| said[0]), [0, n, n]);
}

/// The same camera for nodes on two devices; what left writes on one of them a node on the other
/// reads.
const TWO_DEVICES: &str = "
crossdock: 1
name: two_devices
topics:
  /a: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /b: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /c: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /d: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /e: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
nodes:
  camera: { package: pixels, type: camera, outputs: { image: /a } }
  left: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /b }, parameters: { more: 5 } }
  right: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /c }, parameters: { more: 6 } }
  third: { package: pixels, type: add, inputs: { from: /b }, outputs: { to: /d }, parameters: { more: 7 } }
  fourth: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /e }, parameters: { more: 8 } }
  both:
    { package: pixels, type: both, inputs: { left: /d, right: /e }, parameters: { more_left: 12, more_right: 8 } }
";

#[test]
fn what_two_devices_read_crosses_to_each_and_what_one_writes_crosses_to_the_other_once() {
    if !is_device_there() {
        return;
    }
    let _turn = turn();
    let n = u64::from(MESSAGES);
    let devices = [
        on(tested(), "left, right", &["/a", "/b", "/c"], "device"),
        on("shadow:opencl:0", "third, fourth", &["/a", "/b", "/d", "/e"], "device"),
    ];
    let devices = format!("devices: {{ {} }}\n", devices.join(", "));
    let executors = ["camera", "left", "right", "third", "fourth", "both"];
    run_graph(("two-devices", TWO_DEVICES), &executors, &devices, package);
    // Taken and copied down, and published and copied up.
    let copies = |node| [said(node)[0], said(node)[2]];
    assert_eq!(said("camera")[0], n, "an uploader for the device with two executors");
    assert_eq!(copies("left"), [0, n], "it finds /a there, and /b is read elsewhere");
    assert_eq!(copies("third"), [n, n], "/b is on another device, and /d is read by the processor");
    assert_eq!(copies("fourth"), [n, n], "/a has an uploader to the other device only");
}

/// Keeps all of the device busy, from the first message until three have gone without their
/// uploader.
#[derive(Debug)]
struct Busy;

const UNTIL: KernelSource<'_> = KernelSource {
    label: "uploading.rs",
    text: "
XD_KERNEL until(XD_OUT(words)) {
    XD_WRITE(u32, words);
    XD_ATOMIC_ADD(&words[1], 1);
    while (*(const volatile XD_GLOBAL u32 *)words == 0) { }
}
",
};
/// In the kernel's memory, bytes: not 0 ends it, and how many of the device's units it keeps busy.
const OVER: usize = 0;
const BUSY: usize = 4;

struct BusyUploader {
    uploader: Box<dyn Uploader>,
    /// Before the memory: waits for its work.
    stream: Stream,
    until: Kernel,
    memory: Memory,
    words: Scratch,
    units: u32,
    /// Messages that went without.
    without: u32,
}

impl Uploaders for Busy {
    fn open(&self, site: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String> {
        let Some(uploader) = crossdock_offload::uploaders().open(site)? else { return Ok(None) };
        let text = |error: crossdock_device::DeviceError| error.to_string();
        let device = Device::open(&site.plan.device).map_err(text)?;
        let mut words = Scratch::create("words", 4096).map_err(|error| error.to_string())?;
        let until = device.load(&UNTIL).and_then(|it| it.kernel("until")).map_err(text)?;
        let (stream, memory) = (device.stream(), device.register(&words.region_to_write()));
        let (stream, memory) = (stream.map_err(text)?, memory.map_err(text)?);
        let units = device.info().units;
        Ok(Some(Box::new(BusyUploader {
            uploader,
            stream,
            until,
            memory,
            words,
            units,
            without: 0,
        })))
    }
}

impl BusyUploader {
    /// Returns when no unit of the device can do anything else: a driver may compile the kernel
    /// first, and do the work of other streams meanwhile.
    fn keep_busy(&mut self) {
        // More groups than any processor has cores.
        let grid = Grid::line(1 << 16, 64);
        let words = [Argument::Out(self.memory.whole())];
        // SAFETY: the kernel's argument; its memory lives as long as the stream.
        unsafe { self.stream.launch(&mut self.until, grid, &words) }.expect("launched");
        let end = Instant::now() + running::PATIENCE;
        let mut busy = [0; 4];
        while u32::from_ne_bytes(busy) < self.units {
            assert!(Instant::now() < end, "the kernel does not run on all units");
            std::thread::yield_now();
            assert!(self.words.read(BUSY, &mut busy));
        }
    }

    fn let_go(&mut self) {
        self.words.write(OVER, &1u32.to_ne_bytes());
    }
}

impl Uploader for BusyUploader {
    fn upload(&mut self, message: &Uploading<'_>) -> bool {
        if message.seq() == 1 {
            self.keep_busy();
        }
        let is_uploaded = self.uploader.upload(message);
        self.without += u32::from(!is_uploaded);
        if self.without == 3 {
            self.let_go();
        }
        is_uploaded
    }

    fn take_back(&mut self, message: &Uploading<'_>) {
        self.uploader.take_back(message);
    }
}

impl Drop for BusyUploader {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[test]
fn a_device_that_is_behind_does_not_hold_its_publisher_up_and_gets_what_comes_later() {
    let devices = crossdock_device::devices();
    let is_processor = |it: &crossdock_device::DeviceInfo| it.kind == crossdock_device::Kind::Cpu;
    if !is_device_there() || !devices.iter().any(|it| it.name == "opencl:0" && is_processor(it)) {
        return;
    }
    let _turn = turn();
    // The camera goes on before anybody has read anything.
    let ahead = GRAPH.replacen("qos: {", "qos: { depth: 16,", 1);
    let package = || package_with(&Busy);
    let [camera, left, right] = run_by(&ahead, "opencl:0", "copy", EACH, package);
    let n = u64::from(MESSAGES);
    // Four were under way, and after the device went on others followed.
    assert!(camera[0] > 4 && camera[0] <= n - 3, "{camera:?}");
    assert_eq!([left[0], right[0]], [n - camera[0]; 2], "readers copy the others");
}
