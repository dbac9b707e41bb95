//! What registering memory of the host takes: to be read and written, and to be read only.

use super::{Lab, Measurement, elapsed_ns};
use crate::error::DeviceError;
use crossdock_shm::{Region, Scratch, Sharing};
use std::time::Instant;

const GROUP: &str = "registration";
/// Sizes, bytes: that it is proportional shows.
const SIZES: [u64; 4] = [64 << 10, 1 << 20, 16 << 20, 64 << 20];
/// A figure takes about as long for each size.
const BYTES_PER_FIGURE: u64 = 512 << 20;

pub(super) fn measure(lab: &mut Lab<'_>) -> Result<(), DeviceError> {
    for (bytes, repeats) in lab.sizes(&SIZES, BYTES_PER_FIGURE) {
        let mut scratch = Scratch::create("measurement", bytes)
            .map_err(|error| lab.failed("making memory of the host", error))?;
        let own = scratch.region_to_write();
        // As messages of other processes are: the mapping itself may only be read.
        let foreign = Region::open("measurement", scratch.fd(), bytes, Sharing::Shown)
            .map_err(|error| lab.failed("mapping memory of the host", error))?;
        for (how, region) in [("read and written", own), ("read only", foreign)] {
            let what = format!("register, 4 KiB pages, {how}");
            let (taken, given) = match of_region(lab, &region, repeats) {
                Err(error @ DeviceError::ReadOnlyMapping { .. }) => {
                    lab.found.push(Measurement::missing(GROUP, &what, error.to_string()));
                    continue;
                }
                times => times?,
            };
            lab.note(GROUP, &what, bytes, taken);
            lab.note(GROUP, &format!("give back, 4 KiB pages, {how}"), bytes, given);
        }
    }
    lab.found.push(Measurement::missing(
        GROUP,
        "register, huge pages",
        "memory objects that messages lie in have pages of 4 KiB",
    ));
    Ok(())
}

fn of_region(
    lab: &Lab<'_>,
    region: &Region,
    repeats: u64,
) -> Result<(Vec<u64>, Vec<u64>), DeviceError> {
    let (mut taken, mut given) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        let started = Instant::now();
        let memory = lab.device.register(region)?;
        taken.push(elapsed_ns(started));
        let started = Instant::now();
        drop(memory);
        given.push(elapsed_ns(started));
    }
    Ok((taken, given))
}
