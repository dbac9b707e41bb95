//! Nodes on a device, in each way that messages can get there, in one executor and in several: what
//! they compute is right, and what is copied is what has to be. Needs an OpenCL driver (PoCL).
#![allow(missing_docs)]
#![allow(unsafe_code, reason = "launching a kernel is unsafe; that of a test is in the test")]

mod pixels;

use crossdock_comm::{Participant, ParticipantOptions, Rendezvous};
use crossdock_device::Device;
use crossdock_executor::{Executor, ExecutorOptions, Remote, RunEnd, RunError, Statistics};
use crossdock_graph::{Graph, Interfaces, Mapping, RunOptions, check};
use pixels::{BYTES, MESSAGES, PATIENCE, SAID, is_device_there, package};
use std::os::unix::fs::DirBuilderExt;

/// camera -> one -> (two -> sink, other), most of them on the device. Publishers are patient: the first
/// launch of a kernel may take a second.
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
    let graph = Graph::from_yaml("graph", GRAPH.as_bytes()).expect("a graph");
    let executors: Vec<String> =
        executors.iter().map(|nodes| format!("{{ mode: chain, nodes: [{nodes}] }}")).collect();
    let mapping = format!(
        "crossdock: 1\nprocesses: {{ main: {{ executors: [ {} ] }} }}\n{devices}",
        executors.join(", ")
    );
    let mapping = Mapping::from_yaml("mapping", mapping.as_bytes()).expect("a mapping");
    let interfaces =
        Interfaces { binaries: vec![package().description()], ..Interfaces::default() };
    let plan = check(&graph, &mapping, &interfaces, &RunOptions::PLAIN).expect("a plan");
    let folder = std::env::temp_dir().join(format!("xd-{name}-{}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder).expect("a folder");
    let mut options = ParticipantOptions::new(0, name);
    options.rendezvous = Rendezvous::Folder(folder.clone());
    let participant = Participant::open(options).expect("a participant");
    let process = &plan.processes[0];
    let remotes: Vec<Remote> = process.executors.iter().map(|_| Remote::new()).collect();
    let outcome = std::thread::scope(|scope| {
        let threads: Vec<_> = process
            .executors
            .iter()
            .zip(&remotes)
            .map(|(plan, remote)| {
                let (participant, remotes) = (&participant, &remotes);
                scope.spawn(move || {
                    let mut executor = Executor::new(ExecutorOptions {
                        participant,
                        package: &package(),
                        plan,
                        time: process.time,
                        duration_ns: None,
                        chains: &[],
                        statistics: Statistics::On,
                        remote: remote.clone(),
                    })
                    .and_then(|mut executor| executor.connect(PATIENCE).map(|()| executor));
                    let end = match &mut executor {
                        Ok(executor) => executor.run(),
                        Err(error) => Err(error.clone()),
                    };
                    // One has seen all, or cannot go on: so do the others.
                    remotes.iter().for_each(Remote::stop);
                    end
                })
            })
            .collect();
        let ends: Vec<_> = threads.into_iter().map(|it| it.join().expect("no panic")).collect();
        let finished = |end: &RunEnd| matches!(end, RunEnd::Finished { .. });
        if let Some(error) = ends.iter().find_map(|end| end.as_ref().err()) {
            return Err(error.clone());
        }
        assert!(ends.iter().flatten().any(finished), "{ends:?}");
        Ok(())
    });
    drop(participant);
    let _ = std::fs::remove_dir_all(folder);
    outcome
}

const CHAIN: &[&str] = &["camera, one, two, other, sink"];
const THREADS: &[&str] = &["camera", "one, two, other", "sink"];
const EACH: &[&str] = &["camera", "one", "two, other", "sink"];

fn said(node: &str) -> Vec<u64> {
    SAID.lock().expect("no panic")[node].clone()
}

/// One test, because what nodes say goes by their names.
#[test]
fn each_way_computes_the_same_and_copies_what_it_must() {
    if !is_device_there() {
        return;
    }
    // Its context stays from run to run.
    let _open = Device::open("opencl:0").expect("it was listed");
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
        expect("opencl:0", "zero_copy", [[0, 0, 0, n], [0, 0, 0, n], [0, 0, 0, n]]);
        expect("opencl:0", "auto", [[0, 0, 0, n], [0, 0, 0, n], [0, 0, 0, n]]);
        // /b is down already where its publisher has the same queue; `other` shares what `two` brought.
        let down_b = if apart { [n, bytes] } else { [0, 0] };
        for device in ["opencl:0", "shadow:opencl:0"] {
            let b = [down_b[0], down_b[1], n, 0];
            expect(device, "copy", [[n, bytes, n, 0], b, [0, 0, n, 0]]);
            // Nobody reads /d, and /b is read on the host only where its nodes are apart.
            let up_b = if apart { n } else { 0 };
            expect(device, "device", [[n, bytes, up_b, 0], b, [0, 0, 0, 0]]);
        }
    }
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
    for (model, why) in [("zero_copy", "in place (tried)"), ("managed", "of one process")] {
        let error = run("cannot", CHAIN, &devices(model)).expect_err("it cannot");
        assert!(error.error.contains(why) && error.error.contains("/a"), "{error}");
    }
}
