//! `crossdock topic hz` and `bw`: rates from counters that are always kept. Nothing is subscribed.

use super::{look, must_exist, open, print_json, publishers};
use crate::arguments::MeterArguments;
use crate::output;
use crate::summary::bytes;
use anyhow::Result;
use crossdock_comm::entities::counter;
use serde_json::json;
use std::time::{Duration, Instant};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Messages,
    Bytes,
}

/// Prints the rate of a topic once per window.
pub(super) fn meter(arguments: &MeterArguments, unit: Unit) -> Result<()> {
    let MeterArguments { topic, window, count, watch } = arguments;
    let window = Duration::from_secs_f64(*window);
    let mut observer = open(watch)?;
    let mut read = || -> Result<(Instant, [u64; 2])> {
        let snapshot = look(&mut observer)?;
        must_exist(&snapshot, topic, watch.domain_id)?;
        let sum =
            |index: usize| publishers(&snapshot, topic).map(|(_, port)| port.counters[index]).sum();
        Ok((Instant::now(), [sum(counter::MESSAGES), sum(counter::BYTES)]))
    };
    let mut before = read()?;
    let mut lines = 0;
    while count.is_none_or(|count| lines < count) {
        std::thread::sleep(window);
        let now = read()?;
        let seconds = now.0.duration_since(before.0).as_secs_f64();
        // A publisher that was restarted counts from 0 again.
        let more = [0, 1].map(|i| now.1[i].saturating_sub(before.1[i]) as f64 / seconds);
        before = now;
        lines += 1;
        if watch.json {
            let [messages, bytes] = more;
            print_json(&json!({ "topic": topic, "hz": messages, "bytes_per_s": bytes }))?;
            continue;
        }
        output::print(&match unit {
            Unit::Messages => format!("{:.3} Hz over {seconds:.1} s\n", more[0]),
            Unit::Bytes => format!("{}/s, {:.3} Hz\n", bytes(more[1] as u64), more[0]),
        })?;
    }
    Ok(())
}
