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
use crate::output;
use anyhow::{Result, bail};
use case::{Can, cases};
use crossdock_device::{Capabilities, Device, DeviceInfo};
use crossdock_graph::{CopyModel, DeviceTopic};
use crossdock_offload::{Way, choose_for_buffers};
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
            eprintln!("error: {}: {fault}", row.case);
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

fn can(info: &DeviceInfo, capabilities: Capabilities) -> Can {
    // As graphs have it: what the nodes of a case are then told, too.
    let choice = |model| {
        let asked = DeviceTopic {
            model,
            may_copy: true,
            read_elsewhere: true,
            other_processes: false,
            one_process: true,
            foreign: false,
            in_slabs: false,
            tokens: true,
        };
        choose_for_buffers("array", asked, info, capabilities).map(|choice| choice.way)
    };
    let zero_copy = choice(CopyModel::ZeroCopy).is_ok();
    let auto = if choice(CopyModel::Auto) == Ok(Way::ZeroCopy) { "zc" } else { "sc" };
    let Capabilities { managed, managed_concurrent: managed_at_once, .. } = capabilities;
    Can { zero_copy, managed, managed_at_once, auto }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossdock_device::devices;

    #[test]
    fn auto_is_what_graphs_take_on_a_processor_and_on_a_gpu_on_a_bus() {
        if devices().is_empty() {
            return crossdock_test_support::skip("no OpenCL driver");
        }
        for (name, auto, zero_copy) in [
            ("opencl:0", "zc", true),
            ("discrete:opencl:0", "sc", true),
            ("shadow:opencl:0", "sc", false),
        ] {
            let device = Device::open(name).expect("it was listed");
            let can = can(device.info(), device.capabilities().expect("tried"));
            assert_eq!((can.auto, can.zero_copy), (auto, zero_copy), "{name}");
        }
    }
}
