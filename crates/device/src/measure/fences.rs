//! How ends of work come to the host, and the host's word to the device.

use super::{EmptyKernel, Lab, Measurement, elapsed_ns, observe};
use crate::device::Stream;
use crate::error::DeviceError;
use crossdock_shm::clock::monotonic_ns;
use crossdock_shm::timeline::{FencePoint, Timeline};
use std::time::{Duration, Instant};

const GROUP: &str = "fences";
/// So long the device is given to come to its wait.
const SETTLE: Duration = Duration::from_micros(50);

/// From a launch until a thread that waits for its end sees it, ns; `wait` waits for a point.
pub(crate) fn end_seen(
    (stream, empty): (&mut Stream, &mut EmptyKernel),
    timeline: &Timeline,
    repeats: u32,
    mut wait: impl FnMut(&FencePoint) -> Result<(), DeviceError>,
) -> Result<Vec<u64>, DeviceError> {
    let mut times = Vec::with_capacity(repeats as usize);
    for value in 1..=u64::from(repeats) {
        let started = Instant::now();
        empty.launch(stream)?;
        let point = FencePoint { timeline: timeline.clone(), value };
        stream.signal(&point)?;
        wait(&point)?;
        times.push(elapsed_ns(started));
    }
    Ok(times)
}

/// How the host waits.
#[derive(Clone, Copy)]
enum Wait {
    Spin,
    Sleep,
}

impl Wait {
    fn wait(self, lab: &Lab<'_>, point: &FencePoint) -> Result<(), DeviceError> {
        match self {
            Wait::Spin => lab.spin(point),
            Wait::Sleep => lab.sleep(point),
        }
    }
}

pub(super) fn measure(lab: &mut Lab<'_>) -> Result<(), DeviceError> {
    let pair = lab.device.clock_pair()?;
    for (how, wait) in [("spins", Wait::Spin), ("sleeps", Wait::Sleep)] {
        let whole = whole(lab, wait)?;
        lab.note(GROUP, &format!("launch until its end is seen by a host that {how}"), 0, whole);
        let timeline = lab.timeline()?;
        let told = observe(&mut lab.stream, 1);
        let mut seen = Vec::new();
        for value in 1..=u64::from(lab.options.repeats) {
            let point = FencePoint { timeline: timeline.clone(), value };
            lab.empty.launch(&mut lab.stream)?;
            lab.stream.signal(&point)?;
            wait.wait(lab, &point)?;
            let seen_ns = monotonic_ns();
            let ended_ns = pair.on_host(lab.told(&told)?.end_ns);
            seen.push(seen_ns.saturating_sub(ended_ns));
        }
        lab.stream.observe(None);
        lab.note(GROUP, &format!("kernel's end until it is seen by a host that {how}"), 0, seen);
    }
    match lab.can.waits_for_timelines {
        true => words(lab),
        false => {
            let why = "the device does not wait for words of the host: the host launches instead, \
                       which `launch until its end is seen` is about";
            for what in ["the host's word until its end is seen", "ping-pong, one turn"] {
                lab.found.push(Measurement::missing(GROUP, what, why));
            }
            Ok(())
        }
    }
}

fn whole(lab: &mut Lab<'_>, wait: Wait) -> Result<Vec<u64>, DeviceError> {
    let timeline = lab.timeline()?;
    // Fresh ones, so that `lab` can be asked while they are used.
    let (mut stream, mut empty) = (lab.device.stream()?, EmptyKernel::new(lab.device)?);
    let work = (&mut stream, &mut empty);
    end_seen(work, &timeline, lab.options.repeats, |point| wait.wait(lab, point))
}

/// Where the device waits for the host: one word, and many in a row with nothing but waits and ends
/// in the stream.
fn words(lab: &mut Lab<'_>) -> Result<(), DeviceError> {
    let point = |timeline: &Timeline, value| FencePoint { timeline: timeline.clone(), value };
    let (asked, done) = (lab.timeline()?, lab.timeline()?);
    let mut times = Vec::new();
    for value in 1..=u64::from(lab.options.repeats) {
        lab.stream.wait(&point(&asked, value))?;
        lab.empty.launch(&mut lab.stream)?;
        lab.stream.signal(&point(&done, value))?;
        let put = Instant::now();
        while put.elapsed() < SETTLE {
            std::hint::spin_loop();
        }
        let started = Instant::now();
        asked.advance(value);
        lab.spin(&point(&done, value))?;
        times.push(elapsed_ns(started));
    }
    lab.note(GROUP, "the host's word until its end is seen", 0, times);
    let (asked, done) = (lab.timeline()?, lab.timeline()?);
    let mut times = Vec::new();
    let turns = u64::from(lab.options.repeats);
    for (first, last) in batches(turns) {
        for value in first..=last {
            lab.stream.wait(&point(&asked, value))?;
            lab.stream.signal(&point(&done, value))?;
        }
        for value in first..=last {
            let started = Instant::now();
            asked.advance(value);
            lab.spin(&point(&done, value))?;
            times.push(elapsed_ns(started));
        }
    }
    lab.note(GROUP, "ping-pong, one turn", 0, times);
    Ok(())
}

/// Turns that stand behind a closed wait at most. Each is four commands on CUDA, and its driver
/// blocks who puts more than 112 of them there (an H200, driver 580.159): that thread is the one
/// that would open the wait.
const IN_FLIGHT_MAX: u64 = 16;

/// First and last number of turns that are put at once.
fn batches(turns: u64) -> impl Iterator<Item = (u64, u64)> {
    let firsts = (1..=turns).step_by(IN_FLIGHT_MAX as usize);
    firsts.map(move |first| (first, (first + IN_FLIGHT_MAX - 1).min(turns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_put_in_batches_that_no_queue_is_too_short_for() {
        assert_eq!(batches(3).collect::<Vec<_>>(), [(1, 3)]);
        assert_eq!(batches(34).collect::<Vec<_>>(), [(1, 16), (17, 32), (33, 34)]);
        assert_eq!(batches(1000).map(|(first, last)| last - first + 1).sum::<u64>(), 1000);
        assert!(batches(1000).all(|(first, last)| last - first < IN_FLIGHT_MAX));
    }
}
