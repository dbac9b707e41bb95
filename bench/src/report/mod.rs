//! What a run found, and how it is written: `transport.json` for programs, `transport.html` for
//! people. Measures nothing.

mod page;
pub mod plot;

use crate::Failure;
use crate::coordinator::Row;
use crate::failure::While;
use crate::machine::{Cores, Machine};
use crate::plan::{Extent, Schedule};
use crate::targets::{Verdict, judge};
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A placement that this machine does not have.
#[derive(Debug, Clone, Serialize)]
pub struct Unavailable {
    /// Which.
    pub cores: Cores,
    /// Why not.
    pub why: String,
}

/// Everything that a run found.
#[derive(Debug, Serialize)]
pub struct Report {
    /// As given.
    pub command: String,
    /// Of the sources, with a mark where they are changed.
    pub commit: String,
    /// Of the peer.
    pub peer: &'static str,
    /// Seconds since 1970 at the start.
    pub started_s: u64,
    /// Of the whole run.
    pub duration_s: f64,
    /// How much was measured.
    pub extent: Extent,
    /// Blocks and their length.
    pub schedule: Schedule,
    /// Where.
    pub machine: Machine,
    /// What this machine cannot show.
    pub unavailable: Vec<Unavailable>,
    /// What went wrong.
    pub failures: Vec<String>,
    /// Samples behind all rows together.
    pub samples: usize,
    /// Rows against each other.
    pub targets: Vec<Verdict>,
    /// The measurements.
    pub rows: Vec<Row>,
    #[serde(skip)]
    start: Instant,
}

impl Report {
    /// A report without rows.
    pub fn new(extent: Extent, machine: Machine) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            command: std::env::args().collect::<Vec<_>>().join(" "),
            commit: commit(),
            peer: "iceoryx2 0.10.0",
            started_s: started.map_or(0, |time| time.as_secs()),
            duration_s: 0.0,
            extent,
            schedule: extent.schedule(),
            machine,
            unavailable: vec![],
            failures: vec![],
            samples: 0,
            targets: vec![],
            rows: vec![],
            start: Instant::now(),
        }
    }

    /// Fills in what follows from the rows.
    pub fn finish(&mut self) {
        self.duration_s = self.start.elapsed().as_secs_f64();
        self.samples = self.rows.iter().map(|row| row.samples).sum();
        self.targets = judge(&self.rows);
    }
}

/// Of the sources in the current folder; "unknown" outside a repository.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    match git(&["status", "--porcelain"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit} with local changes"),
    }
}

/// Writes both files into `folder`.
pub fn write(report: &Report, folder: &Path) -> Result<(), Failure> {
    let json = serde_json::to_vec_pretty(report).during("writing the report as JSON")?;
    std::fs::write(folder.join("transport.json"), json).during("writing transport.json")?;
    let html = page::page(report);
    std::fs::write(folder.join("transport.html"), html).during("writing transport.html")
}
