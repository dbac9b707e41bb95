//! What a device can do with memory of the host, and with memory that its driver moves: tried, not
//! believed. The same trial for all drivers.

use crate::capability::Capabilities;
use crate::device::{Device, Memory};
use crate::driver::{Access, Claims};
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use crossdock_shm::timeline::{FencePoint, Timeline};
use crossdock_shm::{Region, Scratch, Sharing};
use std::time::Duration;

/// Adds one to every word and says where it has found them.
pub(crate) const SOURCE: KernelSource<'_> = KernelSource {
    label: "trial",
    text: "
XD_KERNEL look(XD_IN(words), XD_OUT(seen), u32 last) {
    XD_READ(u32, words);
    XD_WRITE(u32, seen);
    if (XD_X == 0) { seen[0] = words[0]; seen[1] = words[last]; }
}
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

/// Of the last word.
const LAST: usize = WORDS as usize * 4 - 4;
/// What the host writes to the first and to the last word, and what it must find there.
const WRITTEN: [u32; 2] = [7, 8];
const EXPECTED: [u32; 2] = [8, 9];

/// What the host saw.
struct Seen {
    /// The first and the last word without asking for the memory, if that may be tried, and
    /// after having asked.
    before: Option<[u32; 2]>,
    after: [u32; 2],
    /// Where the kernel has found them.
    address: u64,
}

/// The host's way to the memory that is tried.
trait Words {
    fn put(&mut self, offset: usize, word: u32);
    fn word(&self, offset: usize) -> u32;
}

impl Words for Scratch {
    fn put(&mut self, offset: usize, word: u32) {
        self.write(offset, &word.to_ne_bytes());
    }

    fn word(&self, offset: usize) -> u32 {
        let mut word = [0; 4];
        self.read(offset, &mut word);
        u32::from_ne_bytes(word)
    }
}

/// Managed memory of `WORDS` words, as the host has it.
struct Managed(*mut [u8]);

impl Words for Managed {
    fn put(&mut self, offset: usize, word: u32) {
        assert!(offset + 4 <= self.0.len());
        let at = self.0.cast::<u8>().wrapping_add(offset).cast::<u32>();
        // SAFETY: inside, by the line above; acquired, as `tried` has it.
        unsafe { at.write_unaligned(word) }
    }

    fn word(&self, offset: usize) -> u32 {
        assert!(offset + 4 <= self.0.len());
        let at = self.0.cast::<u8>().wrapping_add(offset).cast::<u32>();
        // SAFETY: as above, or no work is under way and the driver says that this may be done then.
        // Volatile: what the device writes is not to be foreseen.
        unsafe { at.read_volatile() }
    }
}

pub(crate) fn capabilities(device: &Device) -> Result<Capabilities, DeviceError> {
    let claims = device.driver().claims();
    let mut scratch = Scratch::create("trial", u64::from(WORDS) * 4).map_err(|error| {
        let (device, why) = (device.info().name.clone(), error.to_string());
        DeviceError::Driver { device, doing: "making memory for a trial", why }
    })?;
    let region = scratch.region_to_write();
    let at = region.address() as u64;
    let seen = match device.register(&region) {
        Ok(memory) => Some(tried(device, &memory, &mut scratch, Unasked::Look)?),
        // Not in place then.
        Err(_) => None,
    };
    let is_right = seen.as_ref().is_some_and(|seen| seen.after == EXPECTED);
    let coherent = is_right && seen.as_ref().is_some_and(|seen| seen.before == Some(EXPECTED));
    // What the host sees without asking is no copy, whatever the driver says.
    let in_place = is_right && (claims.in_place || coherent);
    let read_only = in_place && read_only(device, &scratch);
    let (managed, managed_concurrent) = managed(device, claims)?;
    Ok(Capabilities {
        host_memory: in_place,
        read_only_host_memory: read_only,
        integrated: claims.integrated,
        same_address: in_place && seen.as_ref().is_some_and(|seen| seen.address == at),
        coherent,
        alignment_bytes: claims.alignment_bytes,
        f64: claims.f64,
        waits_for_timelines: claims.waits_for_timelines && waits(device)?,
        exports_memory: claims.exports_memory,
        managed,
        managed_concurrent,
    })
}

/// Whether kernels read memory that this process may only read, as messages of other processes are:
/// the last two words that the trial has left in `scratch`, through a mapping that the kernel
/// protects.
fn read_only(device: &Device, scratch: &Scratch) -> bool {
    let bytes = u64::from(WORDS) * 4;
    let seen = Region::open("trial", scratch.fd(), bytes, Sharing::Shown).ok().and_then(|region| {
        let memory = device.register(&region).ok()?;
        let mut look = device.load(&SOURCE).ok()?.kernel("look").ok()?;
        let (found, mut stream) = (device.allocate(8).ok()?, device.stream().ok()?);
        let arguments =
            [Argument::In(memory.whole()), Argument::Out(found.whole()), Argument::U32(WORDS - 1)];
        // SAFETY: as `SOURCE` declares them; nobody writes the words meanwhile.
        unsafe { stream.launch(&mut look, Grid::line(1, 1), &arguments) }.ok()?;
        let mut words = [0; 8];
        stream.read(found.whole(), &mut words).ok()?;
        Some(words)
    });
    let expected = EXPECTED.map(u32::to_ne_bytes);
    seen.is_some_and(|seen| seen[..4] == expected[0] && seen[4..] == expected[1])
}

/// Whether a stream waits for a word that the host moves on. Where it does not go on it is released
/// by poison.
fn waits(device: &Device) -> Result<bool, DeviceError> {
    const PATIENCE: Duration = Duration::from_secs(5);
    let timeline = || {
        Timeline::create("trial").map_err(|error| {
            let (device, why) = (device.info().name.clone(), error.to_string());
            DeviceError::Driver { device, doing: "making a timeline for a trial", why }
        })
    };
    let (asked, done) = (timeline()?, timeline()?);
    let mut stream = device.stream()?;
    if stream.wait(&FencePoint { timeline: asked.clone(), value: 1 }).is_err() {
        return Ok(false);
    }
    let end = FencePoint { timeline: done, value: 1 };
    stream.signal(&end)?;
    asked.advance(1);
    let goes_on = end.sleep(PATIENCE) == Ok(true);
    if !goes_on {
        asked.poison();
    }
    Ok(goes_on)
}

/// Whether there is managed memory, and whether the host sees it unasked.
fn managed(device: &Device, claims: Claims) -> Result<(bool, bool), DeviceError> {
    if !claims.managed {
        return Ok((false, false));
    }
    let Ok(memory) = device.allocate_managed(u64::from(WORDS) * 4) else {
        return Ok((false, false));
    };
    let Some(host) = memory.host() else { return Ok((false, false)) };
    // To look unasked may be a fault if the driver does not say that it is allowed.
    let unasked = match claims.managed_concurrent {
        true => Unasked::Look,
        false => Unasked::Leave,
    };
    let seen = tried(device, &memory, &mut Managed(host), unasked)?;
    let is_there = seen.after == EXPECTED;
    Ok((is_there, is_there && seen.before == Some(EXPECTED)))
}

/// Whether the host looks at memory that it has not acquired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unasked {
    Look,
    Leave,
}

fn tried(
    device: &Device,
    memory: &Memory,
    words: &mut impl Words,
    unasked: Unasked,
) -> Result<Seen, DeviceError> {
    let mut kernel = device.load(&SOURCE)?.kernel("trial")?;
    let address = device.allocate(8)?;
    let mut stream = device.stream()?;
    stream.acquire(memory.whole(), Access::Write)?;
    words.put(0, WRITTEN[0]);
    words.put(LAST, WRITTEN[1]);
    stream.release(memory.whole(), Access::Write)?;
    let arguments =
        [Argument::Out(memory.whole()), Argument::Out(address.whole()), Argument::U32(WORDS)];
    // SAFETY: as `SOURCE` declares them; nobody looks until the stream has finished.
    unsafe { stream.launch(&mut kernel, Grid::line(WORDS, 64), &arguments)? };
    stream.finish()?;
    let ends = |words: &dyn Words| [0, LAST].map(|at| words.word(at));
    let before = (unasked == Unasked::Look).then(|| ends(words));
    stream.acquire(memory.whole(), Access::Read)?;
    let after = ends(words);
    stream.release(memory.whole(), Access::Read)?;
    let mut found = [0; 8];
    stream.read(address.whole(), &mut found)?;
    Ok(Seen { before, after, address: u64::from_ne_bytes(found) })
}
