//! What a device can do with memory of the host: tried, not believed. The same trial for all drivers.

use crate::capability::Capabilities;
use crate::device::{Device, Memory};
use crate::driver::{Access, Claims};
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use crossdock_shm::Scratch;

/// Adds one to every word and says where it has found them.
pub(crate) const SOURCE: KernelSource<'_> = KernelSource {
    label: "trial",
    text: "
XD_KERNEL trial(XD_OUT(words), XD_OUT(seen), u32 count) {
    XD_WRITE(u32, words);
    XD_WRITE(u64, seen);
    if (XD_X >= count) return;
    words[XD_X] += 1;
    if (XD_X == 0) seen[0] = (u64)words;
}
",
};

const WORDS: u32 = 1024;

/// What the host saw.
struct Seen {
    /// The first and the last word without asking for the memory, and after having asked.
    before: [u32; 2],
    after: [u32; 2],
    /// Where the kernel has found them.
    address: u64,
}

pub(crate) fn capabilities(device: &Device) -> Result<Capabilities, DeviceError> {
    let Claims { in_place, alignment_bytes, f64, waits_for_timelines, exports_memory } =
        device.driver().claims();
    let mut scratch = Scratch::create("trial", u64::from(WORDS) * 4).map_err(|error| {
        let (device, why) = (device.info().name.clone(), error.to_string());
        DeviceError::Driver { device, doing: "making memory for a trial", why }
    })?;
    let region = scratch.region_to_write();
    let at = region.address() as u64;
    let seen = match device.register(&region) {
        Ok(memory) => Some(tried(device, &memory, &mut scratch)?),
        // Not in place then.
        Err(_) => None,
    };
    let expected = [8, 9];
    let in_place = in_place && seen.as_ref().is_some_and(|seen| seen.after == expected);
    Ok(Capabilities {
        host_memory: in_place,
        same_address: in_place && seen.as_ref().is_some_and(|seen| seen.address == at),
        coherent: in_place && seen.as_ref().is_some_and(|seen| seen.before == expected),
        alignment_bytes,
        f64,
        waits_for_timelines,
        exports_memory,
    })
}

fn tried(device: &Device, memory: &Memory, scratch: &mut Scratch) -> Result<Seen, DeviceError> {
    let mut kernel = device.load(&SOURCE)?.kernel("trial")?;
    let address = device.allocate(8)?;
    let mut stream = device.stream()?;
    let last = WORDS as usize * 4 - 4;
    stream.acquire(memory.whole(), Access::Write)?;
    scratch.write(0, &7u32.to_ne_bytes());
    scratch.write(last, &8u32.to_ne_bytes());
    stream.release(memory.whole(), Access::Write)?;
    let arguments =
        [Argument::Out(memory.whole()), Argument::Out(address.whole()), Argument::U32(WORDS)];
    // SAFETY: as `SOURCE` declares them; nobody looks until the stream has finished.
    unsafe { stream.launch(&mut kernel, Grid::line(WORDS, 64), &arguments)? };
    stream.finish()?;
    let words = |scratch: &Scratch| {
        [0, last].map(|at| {
            let mut word = [0; 4];
            scratch.read(at, &mut word);
            u32::from_ne_bytes(word)
        })
    };
    let before = words(scratch);
    stream.acquire(memory.whole(), Access::Read)?;
    let after = words(scratch);
    stream.release(memory.whole(), Access::Read)?;
    let mut found = [0; 8];
    stream.read(address.whole(), &mut found)?;
    Ok(Seen { before, after, address: u64::from_ne_bytes(found) })
}
