//! `crossdock bench device`: what the calls of a device take here, and how long messages that
//! kernels write are on their way to those who read them. It must not know how devices are driven.

mod messages;

use crate::output;
use crate::output::clean;
use crate::table::{Align, Table};
use anyhow::{Context, Result};
use clap::Args;
use crossdock_device::{Device, DeviceInfo, Kind, MeasureOptions, Measurement, measure};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    /// Device, as `crossdock device list` names it
    #[arg(long)]
    device: String,
    /// File for the result, with the device, its driver and capabilities, and the date
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Few repetitions and small pieces of memory: to see that it works
    #[arg(long)]
    quick: bool,
}

/// Said of a device that is the processor.
const NO_GPU: &str = "the device is the host's own processor: nothing here is about GPUs";

/// Measures, prints a table, and writes the result's file.
pub(crate) fn device(arguments: &DeviceArguments) -> Result<ExitCode> {
    if let Some(path) = &arguments.json {
        output::must_be_writable(path)?;
    }
    let options = match arguments.quick {
        true => MeasureOptions::QUICK,
        false => MeasureOptions::USUAL,
    };
    let device = Device::open(&arguments.device)?;
    let can = device.capabilities()?;
    let mut rows = measure(&device, options)?;
    rows.extend(messages::hand_off(&device, options.repeats)?);
    let info = device.info();
    let is_host = info.kind == Kind::Cpu;
    if let Some(path) = &arguments.json {
        let result = json!({
            "experiment": "device",
            "date": super::date::now(),
            "command": std::env::args().collect::<Vec<_>>().join(" "),
            "device": info,
            "capabilities": can,
            "note": if is_host { NO_GPU } else { "" },
            "rows": rows.iter().map(row).collect::<Vec<Value>>(),
        });
        output::write(Some(path), &output::json(&result)?).context("--json")?;
    }
    output::print(&head(info))?;
    output::print(&table(&rows))?;
    Ok(ExitCode::SUCCESS)
}

fn row(row: &Measurement) -> Value {
    let mut value = json!(row);
    value["rate_gb_s"] = json!(row.rate_gb_s());
    value
}

fn head(info: &DeviceInfo) -> String {
    let note = if info.kind == Kind::Cpu { format!("{NO_GPU}\n") } else { String::new() };
    format!("{}: {}, driver {}, {}\n{note}\n", info.name, info.model, info.driver, info.version)
}

fn table(rows: &[Measurement]) -> String {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("what", Align::Left),
        ("KiB", Align::Right),
        ("count", Align::Right),
        ("p50 us", Align::Right),
        ("p99 us", Align::Right),
        ("GB/s", Align::Right),
    ]);
    let mut missing = String::new();
    let us = |time_ns: u64| format!("{:.2}", time_ns as f64 / 1e3);
    for row in rows {
        let bytes = match row.bytes {
            0 => String::new(),
            bytes => (bytes >> 10).to_string(),
        };
        let (group, what) = (row.group.to_owned(), row.what.clone());
        let Some(took) = row.took else {
            missing += &clean(&format!("not measured: {group}, {what}: {}", row.why_not));
            missing.push('\n');
            continue;
        };
        let rate = row.rate_gb_s().map_or_else(String::new, |rate| format!("{rate:.2}"));
        let (count, p50, p99) = (took.count.to_string(), us(took.p50_ns), us(took.p99_ns));
        table.row([group, what, bytes, count, p50, p99, rate]);
    }
    table.text() + "\n" + &missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_was_not_measured_says_why() {
        let rows = [
            Measurement::new("copies", "inside the device", 1 << 20, vec![262_144]),
            Measurement::missing("fences", "ping-pong", "no waits"),
        ];
        let text = table(&rows);
        let lines: Vec<&str> = text.lines().collect();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            words(lines[1]),
            ["copies", "inside", "the", "device", "1024", "1", "262.14", "262.14", "4.00"]
        );
        assert_eq!(lines[2..], ["", "not measured: fences, ping-pong: no waits"]);
        assert_eq!(row(&rows[0])["rate_gb_s"], 4.0);
        assert_eq!(row(&rows[1])["took"], Value::Null);
    }
}
