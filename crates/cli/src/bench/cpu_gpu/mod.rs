//! `crossdock bench cpu-gpu`: the benchmarks of the CPU-iGPU paper, natively and as nodes, in every model, architecture
//! and transport. It must not know what the benchmarks compute: that is the package's, `apps/cpu_gpu`.

mod case;
mod figures;
mod files;
mod page;
mod paper;
mod row;
mod runs;

use super::conditions::Conditions;
use super::{Report, Results};
use crate::bench::arguments::CpuGpuArguments;
use crate::output::{self, say};
use anyhow::{Result, bail};
use case::{Can, cases};
use crossdock_device::{Capabilities, Device, DeviceInfo, Kind};
use row::Row;
use serde_json::json;
use std::process::ExitCode;

const NAME: &str = "cpu-gpu";

/// Runs the experiment, writes its files and tells whether every array was right.
pub(crate) fn cpu_gpu(arguments: &CpuGpuArguments) -> Result<ExitCode> {
    let results = Results::of(NAME, &arguments.out)?;
    if let Some(json) = &arguments.json {
        output::must_be_writable(json)?;
    }
    let device = Device::open(&arguments.device)?;
    let (info, capabilities) = (device.info().clone(), device.capabilities()?);
    // Its context is not needed meanwhile.
    drop(device);
    let (cases, impossible) = cases(arguments, can(&info, capabilities));
    if let (true, Some((case, why))) = (cases.is_empty(), impossible.first()) {
        bail!("{} cannot run {case}: {why}", info.name);
    }
    let conditions = Conditions::now(&info, capabilities);
    let mut rows = Vec::new();
    for case in &cases {
        let row = Row::of(case, &runs::runs(case, arguments)?);
        output::print(&page::terminal(&row))?;
        rows.push(row);
    }
    let mut facts = conditions.facts();
    (facts["runs"], facts["warm_up"]) = (arguments.runs.into(), arguments.warm_up.into());
    let impossible_facts = impossible.iter();
    facts["not_possible"] = impossible_facts
        .map(|(case, why)| json!({ "case": case.to_string(), "why": why }))
        .collect();
    let page = page::page(&rows, &impossible, &conditions, (arguments.runs, arguments.warm_up));
    Report { rows: &rows, facts, page }.write(&results)?;
    if let Some(json) = &arguments.json {
        std::fs::copy(results.file("json"), json)?;
    }
    let mut code = ExitCode::SUCCESS;
    for row in &rows {
        if let Some(fault) = &row.fault {
            say!("error: {}: {fault}", row.case);
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

fn can(info: &DeviceInfo, capabilities: Capabilities) -> Can {
    let zero_copy = capabilities.host_memory && capabilities.coherent;
    let shares_memory = info.kind == Kind::Cpu || capabilities.same_address;
    let auto = if zero_copy && shares_memory { "zc" } else { "sc" };
    let Capabilities { managed, managed_concurrent: managed_at_once, .. } = capabilities;
    Can { zero_copy, managed, managed_at_once, auto }
}
