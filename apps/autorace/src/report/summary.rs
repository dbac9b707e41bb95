//! The closing table of the run, as far as the page shows it.

use super::{ReportError, file_error};
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// The parts of `crossdock run --summary` that are shown; what is not there stays empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Summary {
    pub(super) graph: String,
    pub(super) end: String,
    pub(super) real_s: f64,
    pub(super) simulated_s: Option<f64>,
    pub(super) nodes: Vec<NodeRow>,
    pub(super) topics: Vec<TopicRow>,
    pub(super) chains: Vec<ChainRow>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeRow {
    pub(super) node: String,
    pub(super) process: String,
    pub(super) executions: u64,
    #[serde(flatten)]
    pub(super) execute: Percentiles,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TopicRow {
    pub(super) topic: String,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) copies: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChainRow {
    pub(super) chain: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) count: u64,
    #[serde(flatten)]
    pub(super) time: Percentiles,
}

/// Of a distribution of times, ns.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Percentiles {
    pub(super) p50_ns: Option<u64>,
    pub(super) p99_ns: Option<u64>,
    pub(super) max_ns: Option<u64>,
}

pub(super) fn read(path: &Path) -> Result<Summary, ReportError> {
    let text = fs::read(path).map_err(file_error(path))?;
    serde_json::from_slice(&text)
        .map_err(|cause| ReportError::Summary { path: path.to_owned(), cause })
}

/// A time with three digits and a unit; a dash when it was not measured.
pub(super) fn time(time_ns: Option<u64>) -> String {
    let Some(time_ns) = time_ns else { return "–".to_owned() };
    let value = time_ns as f64;
    let (value, unit) = match time_ns {
        0..1_000 => return format!("{time_ns} ns"),
        1_000..1_000_000 => (value / 1e3, "µs"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{Summary, time};

    #[test]
    fn a_closing_table_is_read_and_what_is_missing_stays_empty() {
        let text = r#"{"graph":"course","end":"3 laps","ok":true,"real_s":9.5,"simulated_s":60.0,
            "nodes":[{"node":"blur","process":"drive","executions":9,"p50_ns":1234567,
                      "p99_ns":2000000,"max_ns":null}],
            "chains":[]}"#;
        let summary: Summary = serde_json::from_str(text).unwrap();
        assert_eq!(summary.nodes[0].executions, 9);
        assert_eq!(time(summary.nodes[0].execute.p50_ns), "1.23 ms");
        assert_eq!(time(summary.nodes[0].execute.max_ns), "–");
        assert!(summary.topics.is_empty());
    }
}
