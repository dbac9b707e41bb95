//! `crossdock bench`: runs experiments, prints what they have found and writes it as CSV, JSON and
//! a page. The experiments are the crate `crossdock-experiments`.

pub(crate) mod arguments;
mod caller;

use crate::output::{self, say};
use crate::table;
use anyhow::{Context, Result};
use arguments::{BenchCommand, CpuGpuArguments, DeviceArguments, OutFolder};
use caller::Command;
use crossdock_experiments::{self as experiments, Caller, DeviceReport, Report, Shown};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the experiment that the command names.
pub(crate) fn bench(command: &BenchCommand) -> Result<ExitCode> {
    match command {
        BenchCommand::Hmt { out, options } => {
            Results::of("hmt", out)?.of_run(|caller| experiments::hmt(options, caller))
        }
        BenchCommand::ExecutionModes { out, options } => Results::of("execution-modes", out)?
            .of_run(|caller| experiments::execution_modes(options, caller)),
        BenchCommand::MemifLoad { out, options } => Results::of("memif-load", out)?
            .of_run(|caller| experiments::memory_load(options, caller)),
        BenchCommand::Gateway { out, options } => {
            Results::of("gateway", out)?.of_run(|caller| experiments::gateway(options, caller))
        }
        BenchCommand::Driving { out, options } => {
            let results = Results::of("driving", out)?.with_tables(&experiments::DRIVING_TABLES)?;
            results.of_run(|caller| experiments::driving(options, caller))
        }
        BenchCommand::Pipeline { out, options } => {
            Results::of("pipeline", out)?.of_run(|caller| experiments::pipeline(options, caller))
        }
        BenchCommand::CpuGpu(arguments) => cpu_gpu(arguments),
        BenchCommand::Frames { out, options } => {
            Results::of("frames", out)?.of_run(|caller| experiments::frames(options, caller))
        }
        BenchCommand::NetworkArea { out, options } => Results::of("network-area", out)?
            .of_run(|caller| experiments::network_area(options, caller)),
        BenchCommand::Device(arguments) => device(arguments),
    }
}

fn cpu_gpu(arguments: &CpuGpuArguments) -> Result<ExitCode> {
    let CpuGpuArguments { out, options, json } = arguments;
    Results::of("cpu-gpu", out)?.of_run(|caller| {
        if let Some(path) = json {
            output::must_be_writable(path)?;
        }
        let report = experiments::cpu_gpu(options, caller)?;
        if let Some(path) = json {
            output::write(Some(path), &output::json(&report.json)?).context("--json")?;
        }
        Ok(report)
    })
}

/// Measures a device: its only file is the one that is named.
fn device(arguments: &DeviceArguments) -> Result<ExitCode> {
    let DeviceArguments { options, json: path } = arguments;
    if let Some(path) = path {
        output::must_be_writable(path)?;
    }
    let DeviceReport { head, table, missing, mut json } = experiments::device(options)?;
    if let Some(path) = path {
        json["command"] = json!(std::env::args().collect::<Vec<_>>().join(" "));
        output::write(Some(path), &output::json(&json)?).context("--json")?;
    }
    output::print(&head)?;
    output::print(&format!("{}\n{missing}", table::aligned(table)))?;
    Ok(ExitCode::SUCCESS)
}

/// Where an experiment leaves its results. Made before it begins: one may take an hour.
struct Results {
    experiment: &'static str,
    folder: PathBuf,
}

impl Results {
    /// The folder, which is made if it is not there, for files that may be written.
    fn of(experiment: &'static str, out: &OutFolder) -> Result<Results> {
        let folder = out.folder(experiment);
        std::fs::create_dir_all(&folder).with_context(|| {
            let folder = folder.display();
            format!("the folder {folder} cannot be made; name another one with --out")
        })?;
        let results = Results { experiment, folder };
        for ending in ["csv", "json", "md"] {
            output::must_be_writable(&results.file(ending))?;
        }
        Ok(results)
    }

    /// The same for an experiment that has these tables beside its rows.
    fn with_tables(self, names: &[&str]) -> Result<Results> {
        for name in names {
            output::must_be_writable(&self.file(&format!("{name}.csv")))?;
        }
        Ok(self)
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.experiment))
    }

    /// Runs the experiment, prints what it has found, writes its files, and names what is not as it
    /// has to be.
    fn of_run(self, run: impl FnOnce(&mut dyn Caller) -> Result<Report>) -> Result<ExitCode> {
        let Report { shown, csv, tables, json, page, remark, faults } =
            run(&mut Command::default())?;
        output::print(&match shown {
            Shown::Lines(lines) => lines,
            Shown::Table(table) => table::aligned(table),
        })?;
        let mut files = vec![
            (self.file("csv"), csv),
            (self.file("json"), output::json(&json)?),
            (self.file("md"), page),
        ];
        files
            .extend(tables.into_iter().map(|(name, csv)| (self.file(&format!("{name}.csv")), csv)));
        for (file, text) in &files {
            output::write(Some(file), text)?;
        }
        let names: Vec<_> = files.iter().map(|(file, _)| file.display().to_string()).collect();
        output::print(&format!("{}\n{remark}", names.join(", ")))?;
        for fault in &faults {
            say!("error: {fault}");
        }
        Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
