//! The gap between the end of one kernel and the beginning of the next, by the device's clock.

use super::{EmptyKernel, Lab, Measurement, observe};
use crate::device::Stream;
use crate::error::DeviceError;
use crossdock_shm::timeline::FencePoint;

const GROUP: &str = "hand-off";

pub(super) fn measure(lab: &mut Lab<'_>) -> Result<(), DeviceError> {
    // A kernel is launched by one thread at a time, and each stream has its own.
    let mut second = EmptyKernel::new(lab.device)?;
    let told = observe(&mut lab.stream, 2);
    let mut gaps = Vec::new();
    for _ in 0..lab.options.repeats {
        lab.empty.launch(&mut lab.stream)?;
        second.launch(&mut lab.stream)?;
        lab.stream.finish()?;
        let (first, second) = (lab.told(&told)?, lab.told(&told)?);
        gaps.push(second.begin_ns.saturating_sub(first.end_ns));
    }
    lab.stream.observe(None);
    lab.note(GROUP, "kernel to kernel of one queue", 0, gaps);
    let mut other = lab.device.stream()?;
    second.launch(&mut other)?;
    other.finish()?;
    let gaps = between(lab, (&mut other, &mut second), Order::HostWaits)?;
    lab.note(GROUP, "kernel to kernel of another queue, the host waits between", 0, gaps);
    let what = "kernel to kernel of another queue, the device waits";
    match between(lab, (&mut other, &mut second), Order::DeviceWaits) {
        Err(DeviceError::CannotWait { why, .. }) => {
            lab.found.push(Measurement::missing(GROUP, what, why));
            Ok(())
        }
        gaps => {
            lab.note(GROUP, what, 0, gaps?);
            Ok(())
        }
    }
}

/// Who has the second kernel wait for the first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    HostWaits,
    DeviceWaits,
}

fn between(
    lab: &mut Lab<'_>,
    (other, second): (&mut Stream, &mut EmptyKernel),
    order: Order,
) -> Result<Vec<u64>, DeviceError> {
    let timeline = lab.timeline()?;
    let (of_first, of_second) = (observe(&mut lab.stream, 1), observe(other, 1));
    let mut gaps = Vec::new();
    for value in 1..=u64::from(lab.options.repeats) {
        let point = FencePoint { timeline: timeline.clone(), value };
        lab.empty.launch(&mut lab.stream)?;
        lab.stream.signal(&point)?;
        match order {
            Order::HostWaits => lab.spin(&point)?,
            Order::DeviceWaits => other.wait(&point)?,
        }
        second.launch(other)?;
        other.finish()?;
        let (first, second) = (lab.told(&of_first)?, lab.told(&of_second)?);
        gaps.push(second.begin_ns.saturating_sub(first.end_ns));
    }
    lab.stream.observe(None);
    other.observe(None);
    Ok(gaps)
}
