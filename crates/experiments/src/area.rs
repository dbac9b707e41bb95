//! `crossdock bench network-area`: what networks of one topic take of an UltraScale+ part.

use crate::caller::Caller;
use crate::networks::{Topic, network};
use crate::options::NetworkAreaOptions;
use crate::report::{Column, Report, Shown, Table};
use crate::rows::Record;
use anyhow::Result;
use crossdock_fabric::{Area, Cache, Search};
use serde_json::{Value, json};
use std::fmt::Write as _;

const PUBLISHERS: [usize; 4] = [1, 2, 4, 8];
const SUBSCRIBERS: [usize; 5] = [1, 2, 4, 8, 16];
const QUICK_PUBLISHERS: [usize; 1] = [2];
const QUICK_SUBSCRIBERS: [usize; 2] = [1, 8];
/// Bound of the messages: decides the width of the counters that hold lengths against headers.
const DATA_BYTES_MAX: u64 = 1 << 20;

/// One network.
struct Row {
    topic: Topic,
    width_bits: u32,
    area: Area,
    yosys: String,
}

impl Record for Row {
    fn columns(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("publishers", self.topic.publishers.into()),
            ("subscribers", self.topic.subscribers.into()),
            ("width_bits", self.width_bits.into()),
            ("checks_lengths", checks(self.topic).into()),
            ("lut", self.area.lut.into()),
            ("ff", self.area.ff.into()),
            ("bram18", self.area.bram18.into()),
            ("is", "ours".into()),
            ("family", "UltraScale+ (synth_xilinx -family xcup)".into()),
            ("tool", self.yosys.clone().into()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]
    }
}

/// Only an arbiter checks.
fn checks(topic: Topic) -> bool {
    topic.check && topic.publishers > 1
}

/// Synthesises the networks.
///
/// # Errors
/// Yosys is missing or fails, or a network cannot be made.
pub fn network_area(options: &NetworkAreaOptions, caller: &mut dyn Caller) -> Result<Report> {
    let (publishers, subscribers): (&[usize], &[usize]) = match options.quick {
        true => (&QUICK_PUBLISHERS, &QUICK_SUBSCRIBERS),
        false => (&PUBLISHERS, &SUBSCRIBERS),
    };
    let (search, cache) = (Search::from_environment(), Cache::from_environment()?);
    let mut rows = Vec::new();
    for width_bits in &options.width {
        for publishers in publishers {
            for subscribers in subscribers {
                let variants: &[bool] = if *publishers > 1 { &[true, false] } else { &[false] };
                for check in variants {
                    let (publishers, subscribers) = (*publishers, *subscribers);
                    let topic = Topic { publishers, subscribers, check: *check };
                    let kind = if *check { "checked" } else { "plain" };
                    let name = format!("{kind}_{publishers}_to_{subscribers}_of_{width_bits}");
                    let generated = network(&name, &[topic], *width_bits, DATA_BYTES_MAX)?;
                    let (area, yosys) = Area::of(&generated, &search, &cache, &mut |progress| {
                        caller.progress(progress);
                    })?;
                    rows.push(Row { topic, width_bits: *width_bits, area, yosys });
                }
            }
        }
    }
    let facts = json!({ "payload_bytes_max": DATA_BYTES_MAX + 8 });
    let page = page(&rows);
    Ok(Report::of("network-area", &rows, &facts, page, Shown::Table(terminal(&rows))))
}

fn terminal(rows: &[Row]) -> Table {
    let columns = vec![
        Column::Numbers("publishers"),
        Column::Numbers("subscribers"),
        Column::Numbers("bits"),
        Column::Words("checks"),
        Column::Numbers("LUT"),
        Column::Numbers("FF"),
        Column::Numbers("BRAM18"),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            row.topic.publishers.to_string(),
            row.topic.subscribers.to_string(),
            row.width_bits.to_string(),
            (if checks(row.topic) { "lengths" } else { "-" }).to_owned(),
            row.area.lut.to_string(),
            row.area.ff.to_string(),
            row.area.bram18.to_string(),
        ]
    });
    Table { columns, rows: cells.collect() }
}

fn page(rows: &[Row]) -> String {
    let yosys = rows.first().map_or("", |row| &row.yosys);
    let mut text = format!(
        "# Area of networks of one topic\n\nLook-up tables / flip-flops of an UltraScale+ part as {yosys} \
         counts them (`synth_xilinx -family xcup`, flat, no pads); no vendor's tool and no clock rate. \
         Crossdock {}. Messages of at most {DATA_BYTES_MAX} bytes of data. Nothing is random here. \
         The fpgaDDS paper prints the area of whole applications only (table II): not reproducible \
         here.\n",
        env!("CARGO_PKG_VERSION")
    );
    let mut groups: Vec<(u32, bool)> =
        rows.iter().map(|row| (row.width_bits, row.topic.check)).collect();
    groups.sort_unstable();
    groups.dedup();
    for (width_bits, check) in groups {
        let of_group = || {
            rows.iter().filter(move |row| (row.width_bits, row.topic.check) == (width_bits, check))
        };
        let mut publishers: Vec<usize> = of_group().map(|row| row.topic.publishers).collect();
        publishers.dedup();
        let line = |count: usize| of_group().filter(move |row| row.topic.publishers == count);
        let subscribers = line(publishers[0]).map(|row| row.topic.subscribers.to_string());
        let subscribers: Vec<String> = subscribers.collect();
        let what = if check { "lengths checked" } else { "data path alone" };
        let _ = writeln!(
            text,
            "\n{width_bits} bit, {what}:\n\n| publishers | {} subscribers |\n|---|{}",
            subscribers.join(" | "),
            "---|".repeat(subscribers.len())
        );
        for count in publishers {
            let cells = line(count).map(|row| format!("{} / {}", row.area.lut, row.area.ff));
            let _ = writeln!(text, "| {count} | {} |", cells.collect::<Vec<_>>().join(" | "));
        }
    }
    text
}
