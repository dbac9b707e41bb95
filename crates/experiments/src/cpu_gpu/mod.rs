//! `crossdock bench cpu-gpu`: the benchmarks of the CPU-iGPU paper, natively and as nodes, in every
//! model, architecture and transport. What the benchmarks compute is in the package,
//! `apps/cpu_gpu`.

mod case;
mod figures;
mod files;
mod page;
mod paper;
mod row;
mod runs;

use crate::caller::Caller;
use crate::conditions::Conditions;
use crate::options::CpuGpuOptions;
use crate::report::{Report, Shown};
use anyhow::{Result, bail};
use case::{Can, cases};
use crossdock_device::{Capabilities, Device, DeviceInfo};
use crossdock_graph::{CopyModel, DeviceTopic};
use crossdock_offload::{Way, choose_for_buffers};
use row::Row;
use serde_json::json;

const NAME: &str = "cpu-gpu";

/// Runs the experiment. Each row is shown when it is found.
///
/// # Errors
/// The device cannot be used or can run none of the cases, or a run fails.
pub fn cpu_gpu(options: &CpuGpuOptions, caller: &mut dyn Caller) -> Result<Report> {
    let device = Device::open(&options.device)?;
    let (info, capabilities) = (device.info().clone(), device.capabilities()?);
    // Its context is not needed meanwhile.
    drop(device);
    let (cases, impossible) = cases(options, can(&info, capabilities));
    if let (true, Some((case, why))) = (cases.is_empty(), impossible.first()) {
        bail!("{} cannot run {case}: {why}", info.name);
    }
    let conditions = Conditions::now(&info, capabilities);
    let mut rows = Vec::new();
    for case in &cases {
        let row = Row::of(case, &runs::runs(case, options, caller)?);
        caller.show(&page::terminal(&row))?;
        rows.push(row);
    }
    let mut facts = conditions.facts();
    (facts["runs"], facts["warm_up"]) = (options.runs.into(), options.warm_up.into());
    let impossible_facts = impossible.iter();
    facts["not_possible"] = impossible_facts
        .map(|(case, why)| json!({ "case": case.to_string(), "why": why }))
        .collect();
    let page = page::page(&rows, &impossible, &conditions, (options.runs, options.warm_up));
    let faults = rows.iter().filter_map(|row| {
        let fault = row.fault.as_ref()?;
        Some(format!("{}: {fault}", row.case))
    });
    let faults = faults.collect();
    let shown = Shown::Lines(String::new());
    Ok(Report::of(NAME, &rows, &facts, page, shown).with_faults(faults))
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
