//! A device whose memory is too small for what a graph wants there. PoCL's has the size that the
//! environment says, so this program runs again with less of it. Needs an OpenCL driver (PoCL).

use crate::killed::{self, Running};
use crate::pixels::{self, BYTES, MESSAGES, SAID, is_device_there};
use crate::running;
use crossdock_device::Device;
use crossdock_executor::RunError;

/// GiB of memory that PoCL's device has; a quarter of it may be one piece.
const LIMIT: (&str, &str) = ("POCL_MEMORY_LIMIT", "1");

/// Its publishers have a memory of 4 GiB, of which they touch what messages need.
const LARGE: u64 = 100_000_000;

fn run(device: &str, max_bytes: [u64; 2], model: &str) -> Result<(), RunError> {
    let [a, b] = max_bytes;
    let graph = format!(
        "
crossdock: 1
name: room
topics:
  /a: {{ max_bytes: {a}, qos: {{ timeout_ms: 60000 }} }}
  /b: {{ max_bytes: {b}, qos: {{ timeout_ms: 60000 }} }}
nodes:
  camera: {{ package: pixels, type: camera, outputs: {{ image: /a }} }}
  one: {{ package: pixels, type: add, inputs: {{ from: /a }}, outputs: {{ to: /b }}, parameters: {{ more: 5 }} }}
  sink: {{ package: pixels, type: sink, inputs: {{ image: /b }}, parameters: {{ more: 5 }} }}
"
    );
    let devices = format!(
        "devices: {{ gpu: {{ device: \"{device}\", nodes: [one], topics: {{ /a: {model}, /b: {model} }} }} }}\n"
    );
    running::run(("room", &graph), &["camera, one, sink"], &devices, pixels::package)
}

#[test]
fn what_has_no_room_is_named_with_topic_node_and_next_step_or_copied_by_the_host() {
    let test =
        "room::what_has_no_room_is_named_with_topic_node_and_next_step_or_copied_by_the_host";
    if killed::role().is_none() {
        if is_device_there() {
            let place = killed::place("room");
            Running::start_with(test, "small", &place, LIMIT).succeed();
            std::fs::remove_dir_all(place).expect("a folder");
        }
        return;
    }
    let limit = Device::open("opencl:0").expect("a device").info().allocation_max_bytes;
    assert!(limit < 1 << 30, "the environment has set it");
    for (max_bytes, model, topic) in [
        ([LARGE, 20_000], "zero_copy", "/a"),
        ([20_000, LARGE], "zero_copy", "/b"),
        ([20_000, LARGE], "device", "/b"),
    ] {
        let error = run("opencl:0", max_bytes, model).expect_err("there is no room");
        assert_eq!(error.node, "one", "{error}");
        let named = format!("`{topic}`: opencl:0: no room for ");
        let told = format!(" bytes (at most {limit} in one piece); take less");
        assert!(error.error.contains(&named) && error.error.contains(&told), "{error}");
        assert!(error.error.contains("leave the node to the processor"), "{error}");
    }
    // The messages themselves are small: they are copied where their memory is too large to be
    // registered.
    for device in ["opencl:0", "shadow:opencl:0"] {
        assert_eq!(run(device, [LARGE, LARGE], "copy"), Ok(()), "{device}");
        let (n, bytes) = (u64::from(MESSAGES), u64::from(MESSAGES) * BYTES as u64);
        assert_eq!(SAID.lock().expect("no panic")["one"], [n, bytes, n, 0], "{device}");
    }
}
