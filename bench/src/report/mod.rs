//! What a run found, and how it is written: `transport.json` for programs, `transport.html` for
//! people. Measures nothing.

mod joined;
mod page;
pub mod plot;
mod provenance;

pub use joined::joined_page;
pub use provenance::Provenance;

use crate::Failure;
use crate::coordinator::Row;
use crate::failure::While;
use crate::machine::{Cores, Machine};
use crate::plan::{Extent, Schedule};
use crate::targets::{Verdict, judge};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

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
    /// Of what, by what command.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Of the peer.
    pub peer: &'static str,
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
        Self {
            provenance: Provenance::read(),
            peer: "iceoryx2 0.10.0",
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

/// Writes both files into `folder`.
pub fn write(report: &Report, folder: &Path) -> Result<(), Failure> {
    let json = serde_json::to_vec_pretty(report).during("writing the report as JSON")?;
    std::fs::write(folder.join("transport.json"), json).during("writing transport.json")?;
    let html = page::page(report);
    std::fs::write(folder.join("transport.html"), html).during("writing transport.html")
}
