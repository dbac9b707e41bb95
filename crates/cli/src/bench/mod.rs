//! `crossdock bench`: experiments on the virtual board, with their results as CSV, JSON and a page,
//! and on devices.
//! It must not know how networks are made or run: that is the crates' below.

mod area;
pub(crate) mod arguments;
mod chains;
mod conditions;
mod cpu_gpu;
mod date;
pub(crate) mod device;
mod execution_modes;
mod frames;
mod gateway;
mod graph_run;
mod hmt;
mod host;
mod memory_load;
mod networks;
mod paper;
mod rows;
mod transfer;

use crate::output::tell;
use anyhow::{Context, Result};
use arguments::{BenchCommand, OutFolder};
use rows::Record;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the experiment that the command names.
pub(crate) fn bench(command: &BenchCommand) -> Result<ExitCode> {
    match command {
        BenchCommand::Hmt(arguments) => hmt::hmt(arguments),
        BenchCommand::ExecutionModes(arguments) => execution_modes::execution_modes(arguments),
        BenchCommand::MemifLoad(arguments) => memory_load::memory_load(arguments),
        BenchCommand::Gateway(arguments) => gateway::gateway(arguments),
        BenchCommand::CpuGpu(arguments) => cpu_gpu::cpu_gpu(arguments),
        BenchCommand::Frames(arguments) => frames::frames(arguments),
        BenchCommand::NetworkArea(arguments) => area::network_area(arguments),
        BenchCommand::Device(arguments) => device::device(arguments),
    }
}

/// Where an experiment leaves its results. Made before it begins: one may take an hour.
struct Results {
    experiment: &'static str,
    folder: PathBuf,
}

impl Results {
    /// The folder, which is made where it is not there, for files that may be written.
    fn of(experiment: &'static str, out: &OutFolder) -> Result<Results> {
        let folder = out.folder(experiment);
        std::fs::create_dir_all(&folder).with_context(|| {
            let folder = folder.display();
            format!("the folder {folder} cannot be made; name another one with --out")
        })?;
        let results = Results { experiment, folder };
        for ending in ["csv", "json", "md"] {
            crate::output::must_be_writable(&results.file(ending))?;
        }
        Ok(results)
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.experiment))
    }
}

/// What an experiment leaves: rows, what holds for all of them, and a page.
struct Report<'a, R> {
    rows: &'a [R],
    /// Facts for the JSON file beside the rows.
    facts: Value,
    page: String,
}

impl<R: Record> Report<'_, R> {
    /// Writes the three files.
    fn write(&self, results: &Results) -> Result<()> {
        let rows: Vec<Value> = self.rows.iter().map(rows::json).collect();
        let whole = json!({ "experiment": results.experiment, "facts": self.facts, "rows": rows });
        let texts = [
            ("csv", rows::csv(self.rows)),
            ("json", crate::output::json(&whole)?),
            ("md", self.page.clone()),
        ];
        for (ending, text) in texts {
            crate::output::write(Some(&results.file(ending)), &text)?;
        }
        let name = results.folder.join(results.experiment);
        crate::output::print(&format!("{0}.csv, {0}.json, {0}.md\n", name.display()))
    }
}
