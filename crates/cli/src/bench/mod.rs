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

/// What an experiment leaves: rows, what holds for all of them, and a page.
struct Report<'a, R> {
    /// Name of the experiment and its files.
    name: &'a str,
    rows: &'a [R],
    /// Facts for the JSON file beside the rows.
    facts: Value,
    page: String,
}

impl<R: Record> Report<'_, R> {
    /// Writes the three files into the folder, which is made where it is not there.
    fn write(&self, out: &OutFolder) -> Result<()> {
        let folder = out.folder(self.name);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
        let rows: Vec<Value> = self.rows.iter().map(rows::json).collect();
        let whole = json!({ "experiment": self.name, "facts": self.facts, "rows": rows });
        let texts = [
            ("csv", rows::csv(self.rows)),
            ("json", serde_json::to_string_pretty(&whole)? + "\n"),
            ("md", self.page.clone()),
        ];
        for (ending, text) in texts {
            crate::output::write(Some(&folder.join(format!("{}.{ending}", self.name))), &text)?;
        }
        let name = folder.join(self.name);
        crate::output::print(&format!("{0}.csv, {0}.json, {0}.md\n", name.display()))
    }
}
