//! What launching an empty kernel takes.

use super::{EmptyKernel, Lab, elapsed_ns, observe};
use crate::clock::ClockPair;
use crate::device::Stream;
use crate::error::DeviceError;
use crossdock_shm::clock::monotonic_ns;
use std::time::Instant;

const GROUP: &str = "launches";

/// The call alone, and launch with the wait for its end, ns each; no more than so many are put at
/// once.
pub(crate) fn launches(
    stream: &mut Stream,
    empty: &mut EmptyKernel,
    repeats: u32,
) -> Result<(Vec<u64>, Vec<u64>), DeviceError> {
    /// Queues are deeper than this.
    const AT_ONCE: u32 = 50;
    let mut calls = Vec::with_capacity(repeats as usize);
    for number in 1..=repeats {
        let started = Instant::now();
        empty.launch(stream)?;
        calls.push(elapsed_ns(started));
        if number % AT_ONCE == 0 {
            stream.finish()?;
        }
    }
    stream.finish()?;
    let mut whole = Vec::with_capacity(repeats as usize);
    for _ in 0..repeats {
        let started = Instant::now();
        empty.launch(stream)?;
        stream.finish()?;
        whole.push(elapsed_ns(started));
    }
    Ok((calls, whole))
}

pub(super) fn measure(lab: &mut Lab<'_>) -> Result<(), DeviceError> {
    let repeats = lab.options.repeats;
    let (calls, whole) = launches(&mut lab.stream, &mut lab.empty, repeats)?;
    lab.note(GROUP, "the call", 0, calls);
    lab.note(GROUP, "launch and wait for the stream", 0, whole);
    let pair = lab.device.clock_pair()?;
    lab.note(GROUP, "uncertainty of the device's clock", 0, vec![pair.uncertainty_ns]);
    let times = observe(&mut lab.stream, 1);
    let begun = began(lab, pair, &times);
    lab.stream.observe(None);
    let (begun, ran) = begun?;
    lab.note(GROUP, "launch until the kernel begins (device's clock)", 0, begun);
    lab.note(GROUP, "an empty kernel (device's clock)", 0, ran);
    Ok(())
}

fn began(
    lab: &mut Lab<'_>,
    pair: ClockPair,
    times: &std::sync::mpsc::Receiver<crate::clock::KernelTimes>,
) -> Result<(Vec<u64>, Vec<u64>), DeviceError> {
    let (mut begun, mut ran) = (Vec::new(), Vec::new());
    for _ in 0..lab.options.repeats {
        let launched_ns = monotonic_ns();
        lab.empty.launch(&mut lab.stream)?;
        lab.stream.finish()?;
        let times = lab.told(times)?;
        begun.push(pair.on_host(times.begin_ns).saturating_sub(launched_ns));
        ran.push(times.end_ns.saturating_sub(times.begin_ns));
    }
    Ok((begun, ran))
}
