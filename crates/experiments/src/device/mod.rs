//! What the calls of a device take here, and how long messages that kernels write are on their way
//! to those who read them.

mod messages;

use crate::options::DeviceOptions;
use crate::report::{Column, Table};
use anyhow::Result;
use crossdock_device::{Device, DeviceInfo, Kind, MeasureOptions, Measurement, measure};
use serde_json::{Value, json};

/// Said of a device that is the processor.
const NO_GPU: &str = "the device is the host's own processor: nothing here is about GPUs";

/// What was measured of a device.
#[derive(Clone, Debug)]
pub struct DeviceReport {
    /// What device it is.
    pub head: String,
    /// The figures.
    pub table: Table,
    /// What was not measured, and why: a line for each.
    pub missing: String,
    /// All of it as JSON, with the device's driver and capabilities and the date.
    pub json: Value,
}

/// Measures.
///
/// # Errors
/// The device cannot be used, or one of its calls fails.
pub fn device(options: &DeviceOptions) -> Result<DeviceReport> {
    let how = match options.quick {
        true => MeasureOptions::QUICK,
        false => MeasureOptions::USUAL,
    };
    let device = Device::open(&options.device)?;
    let can = device.capabilities()?;
    let mut rows = measure(&device, how)?;
    rows.extend(messages::hand_off(&device, how.repeats)?);
    let info = device.info();
    let json = json!({
        "experiment": "device",
        "date": crate::date::now(),
        "device": info,
        "capabilities": can,
        "note": if info.kind == Kind::Cpu { NO_GPU } else { "" },
        "rows": rows.iter().map(row).collect::<Vec<Value>>(),
    });
    let (table, missing) = table(&rows);
    Ok(DeviceReport { head: head(info), table, missing, json })
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

/// The figures, and what is missing.
fn table(rows: &[Measurement]) -> (Table, String) {
    let columns = vec![
        Column::Words(""),
        Column::Words("what"),
        Column::Numbers("KiB"),
        Column::Numbers("count"),
        Column::Numbers("p50 us"),
        Column::Numbers("p99 us"),
        Column::Numbers("GB/s"),
    ];
    let (mut cells, mut missing) = (Vec::new(), String::new());
    let us = |time_ns: u64| format!("{:.2}", time_ns as f64 / 1e3);
    for row in rows {
        let bytes = match row.bytes {
            0 => String::new(),
            bytes => (bytes >> 10).to_string(),
        };
        let (group, what) = (row.group.to_owned(), row.what.clone());
        let Some(took) = row.took else {
            missing +=
                &format!("not measured: {group}, {what}: {}", row.why_not).replace('\n', " ");
            missing.push('\n');
            continue;
        };
        let rate = row.rate_gb_s().map_or_else(String::new, |rate| format!("{rate:.2}"));
        let (count, p50, p99) = (took.count.to_string(), us(took.p50_ns), us(took.p99_ns));
        cells.push(vec![group, what, bytes, count, p50, p99, rate]);
    }
    (Table { columns, rows: cells }, missing)
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
        let (table, missing) = table(&rows);
        let cells = ["copies", "inside the device", "1024", "1", "262.14", "262.14", "4.00"];
        assert_eq!(table.rows, [cells]);
        assert_eq!(missing, "not measured: fences, ping-pong: no waits\n");
        assert_eq!(row(&rows[0])["rate_gb_s"], 4.0);
        assert_eq!(row(&rows[1])["took"], Value::Null);
    }
}
