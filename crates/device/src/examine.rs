//! The examination of a device: what every driver must do right, and how long it takes here. The
//! tests of this crate and `crossdock device test` run the same.

use crate::device::{Device, Memory, Stream};
use crate::driver::Access;
use crate::error::DeviceError;
use crate::kernel::{Argument, Grid, KernelSource};
use crate::measure::{self, Distribution, EmptyKernel, PATIENCE};
use crate::trial;
use crossdock_shm::timeline::{FencePoint, Timeline};
use crossdock_shm::{Scratch, Sharing};
use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::dup2_stderr;
use serde::Serialize;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

const SOURCE: KernelSource<'_> = KernelSource {
    label: "examination",
    text: "
XD_KERNEL add(XD_IN(from), XD_OUT(to), u32 count, u32 more) {
    XD_READ(u32, from);
    XD_WRITE(u32, to);
    if (XD_X < count) to[XD_X] = from[XD_X] + more;
}
XD_KERNEL transpose(XD_IN(from), XD_OUT(to), u32 width, u32 height) {
    XD_READ(u32, from);
    XD_WRITE(u32, to);
    if (XD_X < width && XD_Y < height) to[XD_X * height + XD_Y] = from[XD_Y * width + XD_X];
}
",
};

/// The sources of all kernels that this crate has of its own: those that try, examine and measure
/// devices.
pub fn own_kernels() -> [KernelSource<'static>; 3] {
    [trial::SOURCE, SOURCE, measure::SOURCE]
}

/// So long a device that waits is watched for going on too early.
const EARLY: Duration = Duration::from_millis(20);
/// Repetitions behind a time.
const REPEATS: u32 = 200;

/// One part of the examination.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What was tried.
    pub name: &'static str,
    /// What was found; or why it failed.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How a part ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// As it must be.
    Passed(String),
    /// Not as it must be.
    Failed(String),
}

/// Why a part ended early.
enum Stop {
    Device(DeviceError),
    Wrong(String),
}

impl From<DeviceError> for Stop {
    fn from(error: DeviceError) -> Self {
        Stop::Device(error)
    }
}

type Part = fn(&mut Bench<'_>) -> Result<String, Stop>;

/// What all parts use.
struct Bench<'a> {
    device: &'a Device,
    stream: Stream,
}

/// Examines a device. Blocks for some seconds; a part that fails does not stop the others.
///
/// # Errors
/// [`DeviceError`]: not even a stream can be opened.
pub fn examine(device: &Device) -> Result<Vec<Finding>, DeviceError> {
    let mut bench = Bench { device, stream: device.stream()? };
    let claims = device.driver().claims();
    let mut parts: Vec<(&'static str, Part)> = vec![
        ("memory of its own", own_memory),
        ("memory of the host", host_memory),
        ("kernels over parts of memory", parts_of_memory),
        ("two dimensions", two_dimensions),
        ("order of a stream", order),
        ("ends of work on timelines", fences),
        ("words of its compiler", compiler),
    ];
    if claims.waits_for_timelines {
        parts.push(("waits of its own for timelines", waits));
    }
    // What cannot even be tried fails in the parts above.
    if device.capabilities().is_ok_and(|can| can.managed) {
        parts.push(("memory that the driver moves", managed_memory));
    }
    if claims.exports_memory {
        parts.push(("memory for other processes", shared_memory));
    }
    let run = |(name, part): (&'static str, Part)| {
        let outcome = match part(&mut bench) {
            Ok(found) => Outcome::Passed(found),
            Err(Stop::Device(error)) => Outcome::Failed(error.to_string()),
            Err(Stop::Wrong(what)) => Outcome::Failed(what),
        };
        Finding { name, outcome }
    };
    Ok(parts.into_iter().map(run).collect())
}

fn expect(right: bool, what: impl FnOnce() -> String) -> Result<(), Stop> {
    if right { Ok(()) } else { Err(Stop::Wrong(what())) }
}

fn bytes_of(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

impl Bench<'_> {
    fn filled(&mut self, words: impl IntoIterator<Item = u32>) -> Result<Memory, Stop> {
        let bytes = bytes_of(words);
        let memory = self.device.allocate(bytes.len() as u64)?;
        // SAFETY: nobody else has it.
        unsafe { self.stream.write(&bytes, memory.whole())? };
        Ok(memory)
    }

    fn holds(&mut self, memory: &Memory, words: impl IntoIterator<Item = u32>) -> Result<(), Stop> {
        let (wanted, mut found) = (bytes_of(words), vec![0; memory.bytes() as usize]);
        self.stream.read(memory.whole(), &mut found)?;
        let differs = wanted.chunks(4).zip(found.chunks(4)).position(|(one, other)| one != other);
        expect(wanted == found, || match differs {
            Some(word) => format!("word {word} is not what the kernel must write"),
            None => format!("{} bytes instead of {}", found.len(), wanted.len()),
        })
    }
}

fn own_memory(bench: &mut Bench<'_>) -> Result<String, Stop> {
    const BYTES: u64 = 16 << 20;
    let words = (BYTES / 4) as u32;
    let from = bench.filled(0..words)?;
    let to = bench.device.allocate(BYTES)?;
    let started = Instant::now();
    // SAFETY: nobody else has them, and both live until the stream has finished.
    unsafe { bench.stream.copy(from.whole(), to.whole())? };
    bench.stream.finish()?;
    let took = started.elapsed();
    bench.holds(&to, 0..words)?;
    let rate = BYTES as f64 / took.as_secs_f64() / 1e9;
    Ok(format!("copies 16 MiB inside at {rate:.1} GB/s"))
}

fn host_memory(bench: &mut Bench<'_>) -> Result<String, Stop> {
    const WORDS: u32 = 4096;
    let doing = "making memory of the host";
    let mut scratch = Scratch::create("examination", u64::from(WORDS) * 4)
        .map_err(|error| Stop::Wrong(format!("{doing}: {error}")))?;
    let region = scratch.region_to_write();
    let started = Instant::now();
    let memory = bench.device.register(&region)?;
    let registered = started.elapsed();
    bench.stream.acquire(memory.whole(), Access::Write)?;
    scratch.write(0, &bytes_of(0..WORDS));
    bench.stream.release(memory.whole(), Access::Write)?;
    let mut add = bench.device.load(&SOURCE)?.kernel("add")?;
    let span = memory.whole();
    let arguments =
        [Argument::In(span), Argument::Out(span), Argument::U32(WORDS), Argument::U32(5)];
    // SAFETY: as `SOURCE` declares them; nobody looks until they are acquired.
    unsafe { bench.stream.launch(&mut add, Grid::line(WORDS, 64), &arguments)? };
    bench.stream.acquire(span, Access::Read)?;
    let mut found = vec![0; WORDS as usize * 4];
    scratch.read(0, &mut found);
    bench.stream.release(span, Access::Read)?;
    expect(found == bytes_of(5..WORDS + 5), || "the host does not see the kernel's words".into())?;
    let can = bench.device.capabilities()?;
    let how = match (can.host_memory, can.coherent) {
        (true, true) => "used in place, coherent",
        (true, false) => "used in place, to be acquired and released",
        (false, _) => "copied when acquired and released",
    };
    Ok(format!("{how}; registered in {:.1} us", registered.as_secs_f64() * 1e6))
}

/// The host and the device take turns on some words of managed memory.
fn managed_memory(bench: &mut Bench<'_>) -> Result<String, Stop> {
    const WORDS: u32 = 1 << 20;
    const TURNS: u32 = 4;
    let memory = bench.device.allocate_managed(u64::from(WORDS) * 4)?;
    let host = memory.host().ok_or_else(|| Stop::Wrong("the host has no address for it".into()))?;
    let at = |word: u32| host.cast::<u32>().wrapping_add(word as usize);
    let mut add = bench.device.load(&SOURCE)?.kernel("add")?;
    let span = memory.whole();
    let arguments =
        [Argument::In(span), Argument::Out(span), Argument::U32(WORDS), Argument::U32(1)];
    bench.stream.acquire(span, Access::Write)?;
    // SAFETY: acquired, and `word` is less than `WORDS`; this holds below, too.
    (0..WORDS).for_each(|word| unsafe { at(word).write(word) });
    bench.stream.release(span, Access::Write)?;
    let started = Instant::now();
    for _ in 0..TURNS {
        // SAFETY: as `SOURCE` declares them; nobody looks until they are acquired.
        unsafe { bench.stream.launch(&mut add, Grid::line(WORDS, 64), &arguments)? };
        bench.stream.acquire(span, Access::ReadWrite)?;
        for word in 0..WORDS {
            // SAFETY: as above.
            let number = unsafe { at(word).read() };
            // SAFETY: as above.
            unsafe { at(word).write(number.wrapping_add(1)) };
        }
        bench.stream.release(span, Access::ReadWrite)?;
    }
    let took = started.elapsed() / TURNS;
    bench.stream.acquire(span, Access::Read)?;
    // SAFETY: as above.
    let wrong = (0..WORDS).find(|word| unsafe { at(*word).read() } != word + 2 * TURNS);
    bench.stream.release(span, Access::Read)?;
    expect(wrong.is_none(), || format!("word {} is not what both must write", wrong.unwrap_or(0)))?;
    let how = match bench.device.capabilities()?.managed_concurrent {
        true => "host and device at once",
        false => "host and device in turns",
    };
    Ok(format!("{how}; a turn of both over 4 MiB: {:.0} us", took.as_secs_f64() * 1e6))
}

fn parts_of_memory(bench: &mut Bench<'_>) -> Result<String, Stop> {
    let memory = bench.filled(0..300)?;
    let mut add = bench.device.load(&SOURCE)?.kernel("add")?;
    // Neither starts nor ends where a device would like it.
    let (from, to) = (memory.span(4, 101 * 4)?, memory.span(150 * 4, 101 * 4)?);
    let arguments =
        [Argument::In(from), Argument::Out(to), Argument::U32(101), Argument::U32(1000)];
    // SAFETY: as `SOURCE` declares them; they do not overlap, and nobody else has them.
    unsafe { bench.stream.launch(&mut add, Grid::line(101, 64), &arguments)? };
    let written = (1001..1102).chain(251..300);
    bench.holds(&memory, (0..150).chain(written))?;
    Ok("start at any multiple of 4".to_owned())
}

fn two_dimensions(bench: &mut Bench<'_>) -> Result<String, Stop> {
    const WIDTH: u32 = 70;
    const HEIGHT: u32 = 33;
    let from = bench.filled(0..WIDTH * HEIGHT)?;
    let to = bench.device.allocate(u64::from(WIDTH * HEIGHT) * 4)?;
    let mut transpose = bench.device.load(&SOURCE)?.kernel("transpose")?;
    let arguments = [
        Argument::In(from.whole()),
        Argument::Out(to.whole()),
        Argument::U32(WIDTH),
        Argument::U32(HEIGHT),
    ];
    // SAFETY: as `SOURCE` declares them; nobody else has them.
    unsafe {
        bench.stream.launch(&mut transpose, Grid::plane(WIDTH, HEIGHT, [16, 8]), &arguments)?;
    }
    bench.holds(&to, (0..WIDTH).flat_map(|x| (0..HEIGHT).map(move |y| y * WIDTH + x)))?;
    Ok(format!("{WIDTH} x {HEIGHT} in groups of 16 x 8"))
}

fn order(bench: &mut Bench<'_>) -> Result<String, Stop> {
    let memory = bench.filled([0; 64])?;
    let mut add = bench.device.load(&SOURCE)?.kernel("add")?;
    let span = memory.whole();
    let arguments = [Argument::In(span), Argument::Out(span), Argument::U32(64), Argument::U32(1)];
    for _ in 0..REPEATS {
        // SAFETY: as `SOURCE` declares them; each launch comes after the one before.
        unsafe { bench.stream.launch(&mut add, Grid::line(64, 64), &arguments)? };
    }
    bench.stream.finish()?;
    bench.holds(&memory, [REPEATS; 64])?;
    let mut empty = EmptyKernel::new(bench.device)?;
    let (put, whole) = measure::launches(&mut bench.stream, &mut empty, REPEATS)?;
    Ok(format!("a launch takes {}, {} with its end", median_us(put), median_us(whole)))
}

fn median_us(times_ns: Vec<u64>) -> String {
    let median_ns = Distribution::of(times_ns).map_or(0, |times| times.p50_ns);
    format!("{:.1} us", median_ns as f64 / 1e3)
}

fn fences(bench: &mut Bench<'_>) -> Result<String, Stop> {
    let timeline = timeline()?;
    let memory = bench.filled([0; 64])?;
    let mut add = bench.device.load(&SOURCE)?.kernel("add")?;
    let span = memory.whole();
    let arguments = [Argument::In(span), Argument::Out(span), Argument::U32(64), Argument::U32(1)];
    for value in 1..=u64::from(REPEATS) {
        // SAFETY: as `SOURCE` declares them; each launch comes after the one before.
        unsafe { bench.stream.launch(&mut add, Grid::line(64, 64), &arguments)? };
        let point = FencePoint { timeline: timeline.clone(), value };
        bench.stream.signal(&point)?;
        let reached = point.sleep(PATIENCE);
        expect(reached == Ok(true), || format!("end {value} of {REPEATS}: {reached:?}"))?;
    }
    bench.holds(&memory, [REPEATS; 64])?;
    let timeline = self::timeline()?;
    let mut empty = EmptyKernel::new(bench.device)?;
    let work = (&mut bench.stream, &mut empty);
    let whole = measure::end_seen(work, &timeline, REPEATS, |point| {
        // All of them came above; one that is late makes the time what it is.
        let _ = point.sleep(PATIENCE);
        Ok(())
    })?;
    Ok(format!("launch, end and a sleeping thread's wake-up: {}", median_us(whole)))
}

fn timeline() -> Result<Timeline, Stop> {
    let made = Timeline::create("examination");
    made.map_err(|error| Stop::Wrong(format!("making a timeline: {error}")))
}

/// The device waits for what the host moves on or poisons. Everything that a driver might wait for
/// the device for (loading a kernel, seeing a timeline first) is done in the first step.
fn waits(bench: &mut Bench<'_>) -> Result<String, Stop> {
    /// The value that is waited for, and how it comes; `None`: it is there already.
    type Step = (u64, Option<fn(&Timeline)>);
    const STEPS: [Step; 8] = [
        (0, None),
        (1, Some(|timeline| timeline.advance(1))),
        (2, Some(|timeline| timeline.advance(5))),
        (3, None),
        (9, Some(Timeline::poison)),
        // Below, at and above the value that the poison came at.
        (4, None),
        (5, None),
        (6, None),
    ];
    let (asked, done) = (timeline()?, timeline()?);
    let memory = bench.filled([0; 64])?;
    let mut add = bench.device.load(&SOURCE)?.kernel("add")?;
    let span = memory.whole();
    let arguments = [Argument::In(span), Argument::Out(span), Argument::U32(64), Argument::U32(1)];
    let mut took = Duration::ZERO;
    for ((value, release), number) in STEPS.into_iter().zip(1..) {
        bench.stream.wait(&FencePoint { timeline: asked.clone(), value })?;
        // SAFETY: as `SOURCE` declares them; each launch comes after the one before.
        unsafe { bench.stream.launch(&mut add, Grid::line(64, 64), &arguments)? };
        let end = FencePoint { timeline: done.clone(), value: number };
        bench.stream.signal(&end)?;
        let early = release.map(|release| {
            let early = end.sleep(EARLY);
            release(&asked);
            early
        });
        let started = Instant::now();
        let reached = end.sleep(PATIENCE);
        took = if early.is_some() { started.elapsed() } else { took };
        if reached != Ok(true) || early.is_some_and(|early| early != Ok(false)) {
            // Whatever still waits shall not wait for ever.
            asked.poison();
            let what = format!("a wait for {value}: early {early:?}, then {reached:?}");
            return Err(Stop::Wrong(what));
        }
    }
    bench.holds(&memory, [STEPS.len() as u32; 64])?;
    Ok(format!(
        "released by a value and by poison, the latter in {:.1} us",
        took.as_secs_f64() * 1e6
    ))
}

/// In one process: with two, a graph does it.
fn shared_memory(bench: &mut Bench<'_>) -> Result<String, Stop> {
    const BYTES: u64 = 3 << 20;
    let words = (BYTES / 4) as u32;
    let started = Instant::now();
    let memory = bench.device.allocate_shared(BYTES)?;
    let fd = memory.export()?;
    let seen = bench.device.import(fd.as_fd(), BYTES, Sharing::Shown)?;
    let took = started.elapsed();
    drop(fd);
    // SAFETY: nobody else has it.
    unsafe { bench.stream.write(&bytes_of(0..words), memory.whole())? };
    // It outlives its maker.
    drop(memory);
    bench.holds(&seen, 0..words)?;
    // SAFETY: refused.
    let refused = unsafe { bench.stream.write(&[0; 4], seen.whole()) };
    let right = matches!(refused, Err(DeviceError::ReadOnly { .. }));
    expect(right, || format!("memory to be read only is written: {refused:?}"))?;
    Ok(format!("made, exported and imported in {:.1} us", took.as_secs_f64() * 1e6))
}

fn compiler(bench: &mut Bench<'_>) -> Result<String, Stop> {
    let source = KernelSource { label: "broken", text: "XD_KERNEL broken() { nowhere = 1; }" };
    match without_errors(|| bench.device.load(&source)) {
        Err(DeviceError::Compile { log, .. }) if log.contains("nowhere") => {
            Ok("errors name what is wrong".to_owned())
        }
        Err(error) => Err(Stop::Wrong(format!("an error without the compiler's words: {error}"))),
        Ok(_) => Err(Stop::Wrong("compiled what cannot be compiled".to_owned())),
    }
}

/// Runs something while nobody hears what the process prints on standard error: PoCL's compiler
/// counts its errors there, beside the log that it returns.
fn without_errors<T>(run: impl FnOnce() -> T) -> T {
    let own = std::io::stderr();
    let heard = fcntl_dupfd_cloexec(&own, 3).and_then(|kept| {
        let nowhere =
            rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        dup2_stderr(nowhere).map(|()| kept)
    });
    let done = run();
    if let Ok(kept) = heard {
        // A descriptor that was there a moment ago takes its place again.
        let _ = dup2_stderr(kept);
    }
    done
}
