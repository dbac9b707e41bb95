//! Nodes on a device, in each way that messages can get there, in one executor and in several: what
//! they compute is right, and what is copied is what has to be. Needs an OpenCL driver (PoCL).

use crate::pixels::{
    BYTES, MESSAGES, SAID, is_device_there, is_on_a_bus, package, package_with, tested, turn,
};
use crate::running;
use crossdock_comm::Uploader;
use crossdock_device::Device;
use crossdock_executor::{RunError, UploadSite, Uploaders};
use crossdock_trace::{Events, Summary, Trace, TraceView, descriptors, init, monotonic_ns};

/// camera -> one -> (two -> sink, other), most of them on the device. Publishers are patient: the
/// first launch of a kernel may take a second.
const GRAPH: &str = "
crossdock: 1
name: pixels
topics:
  /a: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /b: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /c: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
  /d: { max_bytes: 20000, qos: { timeout_ms: 60000 } }
nodes:
  camera: { package: pixels, type: camera, outputs: { image: /a } }
  one: { package: pixels, type: add, inputs: { from: /a }, outputs: { to: /b }, parameters: { more: 5 } }
  two: { package: pixels, type: add, inputs: { from: /b }, outputs: { to: /c }, parameters: { more: 6 } }
  other: { package: pixels, type: add, inputs: { from: /b }, outputs: { to: /d }, parameters: { more: 7 } }
  sink: { package: pixels, type: sink, inputs: { image: /c }, parameters: { more: 11 } }
";

/// Runs the graph: one list of nodes per executor, and what the mapping says of devices.
fn run(name: &str, executors: &[&str], devices: &str) -> Result<(), RunError> {
    running::run((name, GRAPH), executors, devices, package)
}

const CHAIN: &[&str] = &["camera, one, two, other, sink"];
const THREADS: &[&str] = &["camera", "one, two, other", "sink"];
const EACH: &[&str] = &["camera", "one", "two, other", "sink"];

fn said(node: &str) -> Vec<u64> {
    SAID.lock().expect("no panic")[node].clone()
}

#[test]
fn each_way_computes_the_same_and_copies_what_it_must() {
    if !is_device_there() {
        return;
    }
    let _turn = turn();
    // Its context stays from run to run.
    let _open = Device::open(tested()).expect("it was listed");
    let (n, bytes) = (u64::from(MESSAGES), u64::from(MESSAGES) * BYTES as u64);
    for (number, executors) in [CHAIN, THREADS, EACH].into_iter().enumerate() {
        let apart = number == 2;
        // What one, two and other copied down (copies, bytes), copied up, and saw in place.
        let expect = |device: &str, model: &str, counts: [[u64; 4]; 3]| {
            let topics = ["/a", "/b", "/c", "/d"].map(|topic| format!("{topic}: {model}"));
            let devices = format!(
                "devices: {{ gpu: {{ device: \"{device}\", nodes: [one, two, other], topics: {{ {} }} }} }}\n",
                topics.join(", ")
            );
            let run = run(&format!("{model}-{number}"), executors, &devices);
            assert_eq!(run, Ok(()), "{device} {model} {executors:?}");
            let found = ["one", "two", "other"].map(said);
            // The last message may have ended the run before `other` had its turn.
            for (found, expected) in found.iter().zip(counts) {
                let all = found.iter().zip(expected);
                let near =
                    all.clone().all(|(f, e)| *f == e || (e > 0 && *f <= e && *f + e / n * 2 >= e));
                assert!(near, "{device} {model} {executors:?}: {found:?}, not {expected:?}");
            }
            assert_eq!(found[0], counts[0], "{device} {model} {executors:?}");
        };
        let in_place = [[0, 0, 0, n], [0, 0, 0, n], [0, 0, 0, n]];
        // Nobody reads /d on the host, and /b stays on the device whatever queue its nodes have.
        let stays = [[n, bytes, 0, 0], [0, 0, n, 0], [0, 0, 0, 0]];
        expect(tested(), "zero_copy", in_place);
        expect(tested(), "auto", if is_on_a_bus() { stays } else { in_place });
        expect(tested(), "managed", in_place);
        // /b is down already where its publisher has the same queue; `other` shares what `two`
        // copied.
        let down_b = if apart { [n, bytes] } else { [0, 0] };
        for device in [tested(), "shadow:opencl:0", "discrete:opencl:0"] {
            let b = [down_b[0], down_b[1], n, 0];
            if device == "discrete:opencl:0" {
                // It could use the host's memory across its bus, and does where it is told to.
                expect(device, "zero_copy", in_place);
                expect(device, "auto", stays);
                continue;
            }
            expect(device, "copy", [[n, bytes, n, 0], b, [0, 0, n, 0]]);
            expect(device, "device", stays);
        }
    }
}

/// Makes no memory that a driver moves.
#[derive(Debug)]
struct Without;

impl Uploaders for Without {
    fn open(&self, _: &UploadSite<'_>) -> Result<Option<Box<dyn Uploader>>, String> {
        Ok(None)
    }
}

#[test]
fn what_cannot_lie_in_memory_that_the_driver_moves_is_copied_and_counted_or_refused() {
    if !is_device_there() {
        return;
    }
    let _turn = turn();
    let _open = Device::open(tested()).expect("it was listed");
    let (n, bytes) = (u64::from(MESSAGES), u64::from(MESSAGES) * BYTES as u64);
    let device = tested();
    let devices = &format!(
        "devices: {{ gpu: {{ device: \"{device}\", nodes: [one, two, other], topics: \
         {{ /a: managed, /b: managed, /c: managed, /d: managed }} }} }}\n"
    );
    let without = || package_with(&Without);
    assert_eq!(running::run(("without", GRAPH), THREADS, devices, without), Ok(()));
    // Down and up, as with `copy`; /b is down already.
    assert_eq!(said("one"), [n, bytes, n, 0]);
    assert_eq!(said("two"), [0, 0, n, 0]);
    let graph = GRAPH.replace("/a: { max", "/a: { copies: forbidden, max");
    assert_eq!(running::run(("strict", &graph), THREADS, devices, package), Ok(()));
    assert_eq!(said("one"), [0, 0, 0, n]);
    let error =
        running::run(("refused", &graph), THREADS, devices, without).expect_err("no copies");
    assert_eq!(error.node, "camera");
    assert!(
        error.error.contains(&format!("{device} moves")) && error.error.contains("forbids copies"),
        "{error}"
    );
}

#[test]
fn a_trace_has_each_kernel_after_the_execution_that_launched_it_has_begun() {
    if !is_device_there() {
        return;
    }
    let _turn = turn();
    let _open = Device::open(tested()).expect("it was listed");
    init("pixels");
    let [switch, record] = descriptors().expect("memory");
    let mut view = TraceView::open("pixels", switch, record).expect("a trace");
    let devices =
        &format!("devices: {{ gpu: {{ device: \"{}\", nodes: [one, two, other] }} }}\n", tested());
    let mut traced = |events| {
        view.trace(events);
        view.skip();
        assert_eq!(run("traced", CHAIN, devices), Ok(()));
        view.trace(Events::none());
        let mut trace = Trace::new();
        view.read(&mut trace);
        trace.sort();
        Summary::of(&trace)
    };
    let begun_ns = monotonic_ns();
    let summary = traced(Events::usual());
    let ended_ns = monotonic_ns();
    let kernels: Vec<_> = summary.kernels.iter().filter(|it| it.kernel == "add").collect();
    let on_device = |node: &str| matches!(node, "one" | "two" | "other");
    let executions = summary.executions.iter().filter(|it| on_device(&it.node));
    let executions: Vec<_> = executions.collect();
    // The last message may have ended the run before `other` had its turn.
    let all = 3 * MESSAGES as usize;
    assert!((all - 1..=all).contains(&kernels.len()), "{} kernels", kernels.len());
    assert!(executions.len() >= kernels.len(), "{} executions", executions.len());
    let mut last_ns = begun_ns;
    // One queue: kernels run in the order in which nodes do.
    for (kernel, execution) in kernels.iter().zip(executions) {
        let slack_ns = 2 * kernel.uncertainty_ns;
        assert_eq!((kernel.device.as_str(), kernel.pid), (tested(), std::process::id()));
        assert!(execution.start_ns <= kernel.begin_ns + slack_ns, "{kernel:?}, {execution:?}");
        assert!(last_ns <= kernel.begin_ns + slack_ns, "{kernel:?} before {last_ns}");
        assert!(kernel.begin_ns <= kernel.end_ns && kernel.end_ns <= ended_ns + slack_ns);
        last_ns = kernel.end_ns;
    }
    assert_eq!(traced(Events::none()).kernels, []);
}

#[test]
fn a_device_that_is_not_there_refuses_the_start_or_lets_the_processor_compute() {
    let devices = |otherwise: &str| {
        format!(
            "devices: {{ gpu: {{ device: \"opencl:77\", nodes: [one, two], otherwise: {otherwise} }} }}\n"
        )
    };
    let error = run("refused", CHAIN, &devices("refuse")).expect_err("no such device");
    assert_eq!(error.node, "one");
    assert!(error.error.contains("there is no device \"opencl:77\""), "{error}");
    assert!(error.error.contains("`otherwise: cpu`"), "{error}");
    assert_eq!(run("processor", CHAIN, &devices("cpu")), Ok(()));
}

#[test]
fn what_the_device_cannot_do_is_refused_with_what_it_can() {
    if !is_device_there() {
        return;
    }
    let devices = |model: &str| {
        format!(
            "devices: {{ gpu: {{ device: \"shadow:opencl:0\", nodes: [one], topics: {{ /a: {model} }} }} }}\n"
        )
    };
    for (model, why) in
        [("zero_copy", "in place while the host does (tried)"), ("managed", "in turns (tried)")]
    {
        let error = run("cannot", CHAIN, &devices(model)).expect_err("it cannot");
        assert!(error.error.contains(why) && error.error.contains("/a"), "{error}");
    }
}
