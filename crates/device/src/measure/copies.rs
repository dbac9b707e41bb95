//! Rates of copies over sizes.

use super::{Lab, elapsed_ns};
use crate::device::{Memory, Span, Stream};
use crate::error::DeviceError;
use crossdock_shm::Scratch;
use std::time::Instant;

pub(super) const GROUP: &str = "copies";
/// Sizes, bytes.
const SIZES: [u64; 5] = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20];
/// A figure takes about as long for each size.
const BYTES_PER_FIGURE: u64 = 256 << 20;

pub(super) fn measure(lab: &mut Lab<'_>) -> Result<(), DeviceError> {
    for (bytes, repeats) in lab.sizes(&SIZES, BYTES_PER_FIGURE) {
        of_size(lab, bytes, repeats)?;
    }
    Ok(())
}

fn of_size(lab: &mut Lab<'_>, bytes: u64, repeats: u64) -> Result<(), DeviceError> {
    let (one, other) = (lab.device.allocate(bytes)?, lab.device.allocate(bytes)?);
    let mut pageable = vec![1_u8; bytes as usize];
    let down = timed(repeats, &mut lab.stream, |stream| {
        // SAFETY: nobody else has the memory.
        unsafe { stream.write(&pageable, one.whole()) }
    })?;
    lab.note(GROUP, "to the device, from memory of the process", bytes, down);
    let up = timed(repeats, &mut lab.stream, |stream| stream.read(one.whole(), &mut pageable))?;
    lab.note(GROUP, "from the device, to memory of the process", bytes, up);
    let inside = copied(lab, repeats, (&one, &other))?;
    lab.note(GROUP, "inside the device", bytes, inside);
    let mut scratch = Scratch::create("measurement", bytes)
        .map_err(|error| lab.failed("making memory of the host", error))?;
    let host = lab.device.register(&scratch.region_to_write())?;
    if lab.can.host_memory {
        let down = copied(lab, repeats, (&host, &one))?;
        lab.note(GROUP, "to the device, from registered memory", bytes, down);
        let up = copied(lab, repeats, (&one, &host))?;
        lab.note(GROUP, "from the device, to registered memory", bytes, up);
    }
    Ok(())
}

fn copied(
    lab: &mut Lab<'_>,
    repeats: u64,
    (from, to): (&Memory, &Memory),
) -> Result<Vec<u64>, DeviceError> {
    // Registered memory is rounded up to pages.
    let bytes = from.bytes().min(to.bytes());
    let (from, to): (Span<'_>, Span<'_>) = (from.span(0, bytes)?, to.span(0, bytes)?);
    timed(repeats, &mut lab.stream, |stream| {
        // SAFETY: nobody else has the memories, and the next copy comes after this one.
        unsafe { stream.copy(from, to) }
    })
}

/// One after the other, each with the wait for its end; the first one is not counted: pages come
/// then.
fn timed(
    repeats: u64,
    stream: &mut Stream,
    mut copy: impl FnMut(&mut Stream) -> Result<(), DeviceError>,
) -> Result<Vec<u64>, DeviceError> {
    copy(stream)?;
    stream.finish()?;
    let mut times = Vec::with_capacity(repeats as usize);
    for _ in 0..repeats {
        let started = Instant::now();
        copy(stream)?;
        stream.finish()?;
        times.push(elapsed_ns(started));
    }
    Ok(times)
}
