//! `crossdock topic hz`, `bw` and `delay`: measured without a subscriber.
//!
//! Rates come from counters that are always kept, intervals and sizes of single messages from the rings
//! where there are any. It must not show messages.

use super::follow::{Follow, Source};
use super::print_json;
use super::window::Window;
use crate::arguments::{DelayArguments, MeterArguments};
use crate::output;
use crate::output::{clean, say};
use crate::summary::{bytes, duration};
use anyhow::{Result, bail};
use crossdock_comm::status_records::counter;
use crossdock_comm::{PortSnapshot, Stamps};
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
        if before.is_some_and(|before| before + 1 != stamps.seq) {
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

/// Prints the rate of a topic again and again.
pub(super) fn meter(arguments: &MeterArguments, unit: Unit) -> Result<()> {
    let MeterArguments { topic, window, interval, count, watch } = arguments;
    let interval = Duration::from_secs_f64(*interval);
    let mut passed = Passed::new(window.unwrap_or(unit.window()));
    let mut follow = Follow::start(topic, watch)?;
    if follow.is_partial() && !watch.json {
        say!(
            "note: nobody outside its publisher's executor subscribes to {}, so only counters can be \
             read: there are no single intervals and sizes",
            clean(topic)
        );
    }
    let mut before = (Instant::now(), follow.counted()?);
    let mut lines = 0;
    while count.is_none_or(|count| lines < count) {
        follow.until(Instant::now() + interval, false, |source, it| passed.add(source, it))?;
        let now = (Instant::now(), follow.counted()?);
        super::must_exist(follow.snapshot(), topic, watch.domain_id)?;
        let seconds = now.0.duration_since(before.0).as_secs_f64();
        // A publisher that was restarted counts from 0 again.
        let more = [0, 1].map(|i| now.1[i].saturating_sub(before.1[i]) as f64 / seconds);
        before = now;
        lines += 1;
        match watch.json {
            true => print_json(&meter_json(topic, more, &passed, follow.missed()))?,
            false => output::print(&meter_text(unit, more, seconds, &passed))?,
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

/// Prints how old the messages of a topic are, again and again.
pub(super) fn delay(arguments: &DelayArguments) -> Result<()> {
    let MeterArguments { topic, window, interval, count, watch } = &arguments.meter;
    let mut follow = Follow::start(topic, watch)?;
    if arguments.age {
        return age(&arguments.meter, &mut follow);
    }
    match follow.has_header() {
        Some(true) => {}
        Some(false) => bail!(
            "the messages of {} have no header, so that nothing tells when their data is from; \
             `crossdock topic delay --age` shows how long ago they were published and taken",
            clean(topic)
        ),
        None => bail!(
            "nobody outside its publisher's executor subscribes to {}, so its headers cannot be read \
             from outside; `crossdock topic delay --age` shows how long ago they were published and \
             taken, and a chain of the graph file measures from topic to topic",
            clean(topic)
        ),
    }
    let mut delays = Window::new(window.unwrap_or(Unit::Messages.window()));
    let mut lines = 0;
    while count.is_none_or(|count| lines < count) {
        let mut news = 0u64;
        let deadline = Instant::now() + Duration::from_secs_f64(*interval);
        follow.until(deadline, true, |_, stamps| {
            if let Some((seconds, nanoseconds)) = stamps.header {
                let header_ns = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
                delays.add((i128::from(stamps.stamp_ns) - header_ns) as f64 / 1e9);
                news += 1;
            }
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
                "not_seen": follow.missed(),
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

/// Prints how long ago the newest message was published, and for each subscriber how long ago the one
/// was published that it took last.
fn age(arguments: &MeterArguments, follow: &mut Follow<'_>) -> Result<()> {
    let MeterArguments { topic, interval, count, watch, .. } = arguments;
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
