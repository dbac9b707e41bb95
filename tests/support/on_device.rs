//! Kernels as the tests of packages run them, to compare them with the processor: on a device and
//! on its shadow, on memory of the host that is registered with it. The device of machines without
//! a GPU is the processor, driven by PoCL. The tests that need it include this file, because the
//! crate beside it has no devices.

use crossdock_device::{Access, Device, DeviceError, Span, Stream, devices};
use crossdock_shm::Scratch;
use crossdock_test_support::skip;

/// Where the input begins, and how far behind it the output: odd numbers, as messages begin
/// anywhere.
const START: usize = 3;
const GAP: usize = 4099;

/// What lies in the output before, and behind it afterwards.
const UNTOUCHED: u8 = 0xa5;

/// The first device and its shadow; none, and a skip, where there is no driver.
pub(crate) fn both() -> Vec<Device> {
    if devices().is_empty() {
        skip("no device");
        return vec![];
    }
    ["opencl:0", "shadow:opencl:0"].map(|name| Device::open(name).expect("a device")).into()
}

/// What `launch` makes of `input` on a device: `output` bytes.
pub(crate) fn run(
    device: &Device,
    input: &[u8],
    output: usize,
    launch: impl FnOnce(&mut Stream, Span<'_>, Span<'_>) -> Result<(), DeviceError>,
) -> Vec<u8> {
    let start = START + input.len() + GAP;
    let mut scratch = Scratch::create("pictures", (start + output + 1) as u64).expect("memory");
    let memory = device.register(&scratch.region_to_write()).expect("it is registered");
    let mut stream = device.stream().expect("a stream");
    stream.acquire(memory.whole(), Access::Write).expect("acquired");
    assert!(scratch.write(START, input));
    assert!(scratch.write(start, &vec![UNTOUCHED; output + 1]));
    stream.release(memory.whole(), Access::Write).expect("released");
    let from = memory.span(START as u64, input.len() as u64).expect("a span");
    let to = memory.span(start as u64, output as u64).expect("a span");
    launch(&mut stream, from, to).expect("it is launched");
    stream.acquire(memory.whole(), Access::Read).expect("acquired");
    let mut found = vec![0; output + 1];
    assert!(scratch.read(start, &mut found));
    assert_eq!(found.pop(), Some(UNTOUCHED), "nothing is written beyond the output");
    found
}

/// Fails unless all bytes are equal.
pub(crate) fn equal(what: &str, found: &[u8], expected: &[u8]) {
    let first = found.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!((found.len(), first), (expected.len(), None), "{what}: the first byte that differs");
}
