//! `crossdock topic hz`, `bw` and `delay`: measured without a subscriber, but for delays in a
//! chain.
//!
//! Rates come from counters that are always kept, intervals and sizes of single messages from the
//! rings, or from counters that are read often. It must not show messages.

use super::follow::{Follow, Source, pause};
use super::print_json;
use super::taken::Taken;
use super::window::Window;
use crate::arguments::{DelayArguments, MeterArguments, MeterOptions, WatchArguments};
use crate::output;
use crate::output::{clean, say};
use anyhow::{Result, bail};
use crossdock_comm::status_records::counter;
use crossdock_comm::{PortSnapshot, Stamps};
use crossdock_sight::{bytes, duration};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Messages,
    Bytes,
}

impl Unit {
    /// Messages that statistics are made of, as in `ros2`.
    fn window(self) -> usize {
        match self {
            Self::Messages => 10_000,
            Self::Bytes => 100,
        }
    }
}

/// What went by.
struct Passed {
    /// Seconds from each message to the next of any publisher.
    intervals: Window,
    sizes: Window,
    /// The newest message: its stamp, ns.
    newest_ns: Option<u64>,
    /// Number of the newest message of each publisher.
    numbers: BTreeMap<Source, u64>,
}

impl Passed {
    fn new(window: usize) -> Self {
        let (intervals, sizes) = (Window::new(window), Window::new(window));
        Self { intervals, sizes, newest_ns: None, numbers: BTreeMap::new() }
    }

    fn add(&mut self, source: Source, stamps: Stamps) {
        self.sizes.add(stamps.bytes as f64);
        let before = self.numbers.insert(source, stamps.seq);
        if before.is_some_and(|before| before.wrapping_add(1) != stamps.seq) {
            // What came between was not seen: the interval is none of two neighbours.
            self.newest_ns = None;
        }
        if let Some(newest_ns) = self.newest_ns {
            // Two publishers are not read in the order of their stamps.
            self.intervals.add(stamps.stamp_ns.abs_diff(newest_ns) as f64 / 1e9);
        }
        self.newest_ns = Some(stamps.stamp_ns.max(self.newest_ns.unwrap_or(0)));
    }
}

/// A topic that is measured.
struct TopicMeter<'a> {
    topic: &'a str,
    follow: Follow<'a>,
    passed: Passed,
    /// Messages and bytes at the last line.
    before: (Instant, [u64; 2]),
}

impl<'a> TopicMeter<'a> {
    fn start(topic: &'a str, options: &MeterOptions, unit: Unit) -> Result<Self> {
        let mut follow = Follow::start(topic, &options.watch)?;
        let passed = Passed::new(options.window.unwrap_or(unit.window()));
        let before = (Instant::now(), follow.counted()?);
        Ok(Self { topic, follow, passed, before })
    }

    fn look(&mut self) -> Result<()> {
        let Self { follow, passed, .. } = self;
        follow.look(false, |source, it| passed.add(source, it))
    }

    /// The line of the time since the last one.
    fn line(&mut self, unit: Unit, watch: &WatchArguments) -> Result<String> {
        let now = (Instant::now(), self.follow.counted()?);
        super::must_exist(self.follow.snapshot(), self.topic, watch.domain_id)?;
        let seconds = now.0.duration_since(self.before.0).as_secs_f64();
        // A publisher that was restarted counts from 0 again.
        let more = [0, 1].map(|i| now.1[i].saturating_sub(self.before.1[i]) as f64 / seconds);
        self.before = now;
        let Self { topic, follow, passed, .. } = self;
        match watch.json {
            true => output::json_line(&meter_json(topic, more, passed, follow.missed())),
            false => Ok(meter_text(unit, more, seconds, passed)),
        }
    }
}

/// Prints the rates of topics again and again.
pub(super) fn meter(arguments: &MeterArguments, unit: Unit) -> Result<()> {
    let MeterArguments { topics, meter: options } = arguments;
    let MeterOptions { interval, count, watch, .. } = options;
    let meters = topics.iter().map(|topic| TopicMeter::start(topic, options, unit));
    let mut meters = meters.collect::<Result<Vec<_>>>()?;
    let mut lines = 0;
    while count.is_none_or(|count| lines < count) {
        let deadline = Instant::now() + Duration::from_secs_f64(*interval);
        loop {
            meters.iter_mut().try_for_each(TopicMeter::look)?;
            if !pause(deadline) {
                break;
            }
        }
        lines += 1;
        for meter in &mut meters {
            let head = match (topics.len(), watch.json) {
                (1, _) | (_, true) => String::new(),
                (_, false) => format!("{}\n", clean(meter.topic)),
            };
            output::print(&(head + &meter.line(unit, watch)?))?;
        }
    }
    Ok(())
}

fn meter_json(topic: &str, [hz, bytes_per_s]: [f64; 2], passed: &Passed, missed: u64) -> Value {
    let intervals = passed.intervals.statistics();
    let sizes = passed.sizes.statistics();
    json!({
        "topic": topic,
        "hz": hz,
        "bytes_per_s": bytes_per_s,
        "interval_s": intervals.map(|it| json!({
            "mean": it.mean, "min": it.min, "max": it.max, "std_dev": it.std_dev,
            "window": it.count,
        })),
        "message_bytes": sizes.map(|it| json!({
            "mean": it.mean, "min": it.min, "max": it.max, "window": it.count,
        })),
        "not_seen": missed,
    })
}

fn meter_text(unit: Unit, [hz, bytes_per_s]: [f64; 2], seconds: f64, passed: &Passed) -> String {
    match unit {
        Unit::Messages if hz == 0.0 => "no new messages\n".to_owned(),
        Unit::Messages => {
            let intervals = passed.intervals.statistics();
            let line = intervals.map(|it| it.line()).unwrap_or_default();
            format!("average rate: {hz:.3} over {seconds:.1} s\n{line}")
        }
        Unit::Bytes => {
            let line = passed.sizes.statistics().map(|it| {
                let [mean, min, max] = [it.mean, it.min, it.max].map(|size| bytes(size as u64));
                format!("\tmessage size mean: {mean} min: {min} max: {max} window: {}\n", it.count)
            });
            let size = bytes(bytes_per_s as u64);
            format!("{size}/s, {hz:.3} messages/s\n{}", line.unwrap_or_default())
        }
    }
}

/// Where the stamps of headers are read.
enum Headers<'a> {
    /// On the rings, from outside.
    Rings(Box<Follow<'a>>),
    /// As a subscriber, where a publisher has no ring.
    Taken(Taken),
}

impl Headers<'_> {
    /// Opens what `follow` has found. Fails if the messages have no header.
    fn open<'a>(follow: Follow<'a>, topic: &'a str, watch: &WatchArguments) -> Result<Headers<'a>> {
        if follow.has_header() == Some(false) {
            bail!("{}", no_header(topic));
        }
        if !follow.is_partial() {
            return Ok(Headers::Rings(Box::new(follow)));
        }
        say!(
            "note: nobody outside the executor of {} subscribes to it; this command does, so its \
             publisher writes each message to shared memory until the command ends",
            clean(topic)
        );
        Ok(Headers::Taken(Taken::start((topic, None), "delay", watch)?))
    }

    /// Gives `each` publication and header of what goes by until `deadline`, in ns.
    fn until(
        &mut self,
        topic: &str,
        deadline: Instant,
        mut each: impl FnMut(i128, i128),
    ) -> Result<()> {
        let header_ns = |(seconds, nanoseconds): (i32, u32)| {
            i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
        };
        match self {
            Self::Rings(follow) => loop {
                follow.look(true, |_, it| {
                    it.header.into_iter().for_each(|it_header| {
                        each(it.stamp_ns.into(), header_ns(it_header));
                    });
                })?;
                if !pause(deadline) {
                    return Ok(());
                }
            },
            Self::Taken(taken) => {
                while let Some(sample) = taken.next(Some(deadline))? {
                    let Some(at) = sample.schema().stamp_offset() else {
                        bail!("{}", no_header(topic))
                    };
                    let block = sample.block();
                    let header = block.read::<i32>(at).zip(block.read::<u32>(at + 4));
                    header.into_iter().for_each(|it| each(sample.stamp_ns().into(), header_ns(it)));
                }
                Ok(())
            }
        }
    }

    /// Messages that went by unseen.
    fn missed(&self) -> u64 {
        match self {
            Self::Rings(follow) => follow.missed(),
            Self::Taken(taken) => taken.lost(),
        }
    }
}

fn no_header(topic: &str) -> String {
    format!(
        "the messages of {} have no header, so that nothing tells when their data is from; \
         `crossdock topic delay --age` shows how long ago they were published and taken",
        clean(topic)
    )
}

/// Prints how old the messages of a topic are, again and again.
pub(super) fn delay(arguments: &DelayArguments) -> Result<()> {
    let DelayArguments { topic, meter: options, age: is_of_age } = arguments;
    let MeterOptions { window, interval, count, watch } = options;
    let mut follow = Follow::start(topic, watch)?;
    if *is_of_age {
        return age(topic, options, &mut follow);
    }
    let mut headers = Headers::open(follow, topic, watch)?;
    let mut delays = Window::new(window.unwrap_or(Unit::Messages.window()));
    let mut lines = 0;
    while count.is_none_or(|count| lines < count) {
        let mut news = 0u64;
        let deadline = Instant::now() + Duration::from_secs_f64(*interval);
        headers.until(topic, deadline, |published_ns, header_ns| {
            delays.add((published_ns - header_ns) as f64 / 1e9);
            news += 1;
        })?;
        lines += 1;
        let found = delays.statistics();
        if watch.json {
            print_json(&json!({
                "topic": topic,
                "messages": news,
                "delay_s": found.map(|it| json!({
                    "mean": it.mean, "min": it.min, "max": it.max, "std_dev": it.std_dev,
                    "window": it.count,
                })),
                "not_seen": headers.missed(),
            }))?;
            continue;
        }
        output::print(&match found {
            Some(found) if news > 0 => {
                format!("average delay: {:.6}\n{}", found.mean, found.line())
            }
            _ => "no new messages\n".to_owned(),
        })?;
    }
    Ok(())
}

/// Looks at status tables that make one line of ages.
const AGES_PER_LINE: u32 = 20;

/// Prints how long ago the newest message was published, and for each subscriber how long ago the
/// one was published that it took last.
fn age(topic: &str, options: &MeterOptions, follow: &mut Follow<'_>) -> Result<()> {
    let MeterOptions { interval, count, watch, .. } = options;
    let pause = Duration::from_secs_f64(*interval) / AGES_PER_LINE;
    let mut lines = 0;
    while count.is_none_or(|count| lines < count) {
        let mut ages: BTreeMap<(&str, String, String), Window> = BTreeMap::new();
        for _ in 0..AGES_PER_LINE {
            std::thread::sleep(pause);
            follow.counted()?;
            let now_ns = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
            for process in &follow.snapshot().processes {
                let sides = [("published", &process.publishers), ("taken", &process.subscribers)];
                for (what, port) in sides
                    .into_iter()
                    .flat_map(|(what, ports)| ports.iter().map(move |it| (what, it)))
                {
                    if let Some(age_s) = age_s(port, topic, now_ns) {
                        let key = (what, port.node.clone(), process.process.clone());
                        let window = Window::new(AGES_PER_LINE as usize);
                        ages.entry(key).or_insert(window).add(age_s);
                    }
                }
            }
        }
        super::must_exist(follow.snapshot(), topic, watch.domain_id)?;
        lines += 1;
        if watch.json {
            let rows = ages.iter().filter_map(|((what, node, process), window)| {
                let it = window.statistics()?;
                let age_s = json!({ "mean": it.mean, "min": it.min, "max": it.max });
                Some(json!({ "port": what, "node": node, "process": process, "age_s": age_s }))
            });
            print_json(&json!({ "topic": topic, "ages": rows.collect::<Vec<_>>() }))?;
            continue;
        }
        let mut text = String::new();
        for ((what, node, process), window) in &ages {
            let Some(it) = window.statistics() else { continue };
            let [mean, min, max] =
                [it.mean, it.min, it.max].map(|seconds| duration((seconds * 1e9) as u64));
            let who = clean(&format!("node {node}, process {process}"));
            let by = if *what == "published" { "newest published by" } else { "newest taken by" };
            text.push_str(&format!("{by} {who}: age mean {mean} min {min} max {max}\n"));
        }
        output::print(if text.is_empty() { "nothing was published yet\n" } else { &text })?;
    }
    Ok(())
}

fn age_s(port: &PortSnapshot, topic: &str, now_ns: u128) -> Option<f64> {
    let stamp_ns = port.counters[counter::NEWEST_NS];
    let is_wanted = port.topic == topic && stamp_ns > 0;
    is_wanted.then(|| now_ns.saturating_sub(stamp_ns.into()) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_as_in_ros2_and_silence_says_so() {
        let mut passed = Passed::new(4);
        for seconds in [0.04, 0.05, 0.06] {
            passed.intervals.add(seconds);
        }
        passed.sizes.add(2048.0);
        let text = |unit, hz| meter_text(unit, [hz, 40_960.0], 1.0, &passed);
        assert_eq!(
            text(Unit::Messages, 20.0),
            "average rate: 20.000 over 1.0 s\n\tmin: 0.040000s max: 0.060000s std dev: 0.008165s \
             window: 3\n"
        );
        assert_eq!(text(Unit::Messages, 0.0), "no new messages\n");
        let size = bytes(2048);
        assert_eq!(
            text(Unit::Bytes, 20.0),
            format!(
                "{}/s, 20.000 messages/s\n\tmessage size mean: {size} min: {size} max: {size} window: 1\n",
                bytes(40_960)
            )
        );
        // One message alone has a rate and no interval.
        let one = meter_text(Unit::Messages, [1.0, 8.0], 1.0, &Passed::new(4));
        assert_eq!(one, "average rate: 1.000 over 1.0 s\n");
    }
}
