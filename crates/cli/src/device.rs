//! `crossdock device`: which devices this machine has, what they can do, and whether they do it
//! right.

use crate::arguments::{DeviceCommand, JsonArguments};
use crate::output;
use crate::output::{clean, say};
use crate::table::{Align, Table};
use anyhow::{Context, Result};
use crossdock_device::{
    Architecture, Capabilities, Device, DeviceInfo, KernelSource, Outcome, compile_for_cuda,
    devices, examine, nvrtc_version, own_kernels,
};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs one of the device commands.
pub(crate) fn device(command: &DeviceCommand) -> Result<ExitCode> {
    match command {
        DeviceCommand::List(arguments) => list(arguments),
        DeviceCommand::Info { device, json } => info(device, json),
        DeviceCommand::Test { device, json } => test(device, json),
        DeviceCommand::Compile { files, architecture, json } => compile(files, architecture, json),
    }
}

fn list(arguments: &JsonArguments) -> Result<ExitCode> {
    let found = devices();
    if arguments.json {
        output::print_json(&found)?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        say!(
            "no device: neither CUDA nor OpenCL has one here (`crossdock device info cuda:0` and \
             `opencl:0` say why); a GPU's driver comes with its maker's packages, \
             `pocl-opencl-icd` makes the processor itself a device"
        );
    }
    let columns = [
        ("device", Align::Left),
        ("kind", Align::Left),
        ("units", Align::Right),
        ("memory", Align::Right),
        ("model", Align::Left),
        ("driver", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for DeviceInfo { name, kind, units, memory_bytes, model, driver, .. } in found {
        let kind = format!("{kind:?}").to_lowercase();
        table.row([name, kind, units.to_string(), mebibytes(memory_bytes), model, driver]);
    }
    output::print(&table.text())?;
    Ok(ExitCode::SUCCESS)
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn info(name: &str, arguments: &JsonArguments) -> Result<ExitCode> {
    let device = Device::open(name)?;
    let (info, can) = (device.info(), device.capabilities()?);
    if arguments.json {
        let all = json!({ "device": info, "capabilities": can });
        output::print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let DeviceInfo { name, identity, model, vendor, driver, version, backend, kind, .. } = info;
    let Capabilities { alignment_bytes, .. } = can;
    let yes = |word: bool| if word { "yes" } else { "no" }.to_owned();
    let lower = |word: &dyn std::fmt::Debug| format!("{word:?}").to_lowercase();
    let lines = [
        ("device", name.clone()),
        ("model", model.clone()),
        ("identity", identity.clone()),
        ("vendor", vendor.clone()),
        ("driver", format!("{driver}, {version}")),
        ("backend", lower(backend)),
        ("kind", lower(kind)),
        ("compute units", info.units.to_string()),
        ("memory", mebibytes(info.memory_bytes)),
        ("largest allocation", mebibytes(info.allocation_max_bytes)),
        ("largest group", info.group_max.to_string()),
        ("uses memory of the host in place", yes(can.host_memory)),
        ("also what may only be read", yes(can.read_only_host_memory)),
        ("has the host's memory as its own", yes(can.integrated)),
        ("at the host's addresses", yes(can.same_address)),
        ("coherent with the host", yes(can.coherent)),
        ("alignment of registered memory", format!("{alignment_bytes} B")),
        ("64-bit floating point", yes(can.f64)),
        ("waits for timelines itself", yes(can.waits_for_timelines)),
        ("hands its memory to other processes", yes(can.exports_memory)),
        (
            "managed memory",
            match (can.managed, can.managed_concurrent) {
                (false, _) => "no",
                (true, false) => "yes, host and device in turns",
                (true, true) => "yes, host and device at once",
            }
            .to_owned(),
        ),
    ];
    let processes = info.mps.as_ref().map(|mps| {
        let how =
            if mps.in_use { "at the same time, through MPS" } else { "in turns, without MPS" };
        ("work of several processes", format!("{how}: {}", mps.why))
    });
    let lines = lines.into_iter().chain(processes).collect::<Vec<_>>();
    let line = |(name, value): &(&str, String)| format!("{name:<37}{}\n", clean(value));
    output::print(&lines.iter().map(line).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

fn test(name: &str, arguments: &JsonArguments) -> Result<ExitCode> {
    let device = Device::open(name)?;
    let findings = examine(&device)?;
    let failed = findings.iter().filter(|one| matches!(one.outcome, Outcome::Failed(_))).count();
    if arguments.json {
        let all = json!({ "device": device.info(), "findings": findings });
        output::print_json(&all)?;
    } else {
        let mut table = Table::new(&[("part", Align::Left), ("", Align::Left), ("", Align::Left)]);
        for finding in &findings {
            let (word, what) = match &finding.outcome {
                Outcome::Passed(what) => ("passed", what),
                Outcome::Failed(what) => ("FAILED", what),
            };
            table.row([finding.name.to_owned(), word.to_owned(), what.clone()]);
        }
        output::print(&table.text())?;
        if failed > 0 {
            let parts = findings.len();
            say!(
                "error: {name} fails {failed} of {parts} parts; do not map topics to it: \
                 update its driver and try again"
            );
        }
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Files of kernels are small; a larger one is something else.
const SOURCE_BYTES_MAX: u64 = 16 << 20;

fn compile(
    files: &[PathBuf],
    architectures: &[Architecture],
    arguments: &JsonArguments,
) -> Result<ExitCode> {
    let version = nvrtc_version()?;
    let mut texts = Vec::new();
    for file in files {
        let label = file.display().to_string();
        let bytes =
            std::fs::metadata(file).with_context(|| format!("{label} cannot be read"))?.len();
        anyhow::ensure!(
            bytes <= SOURCE_BYTES_MAX,
            "{label} has {bytes} bytes, kernels at most {SOURCE_BYTES_MAX}; name a file of kernels"
        );
        let text = std::fs::read_to_string(file);
        texts.push((text.with_context(|| format!("{label} cannot be read"))?, label));
    }
    let mut sources: Vec<_> =
        texts.iter().map(|(text, label)| KernelSource { label, text }).collect();
    if sources.is_empty() {
        sources.extend(own_kernels());
    }
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    let columns = [("kernels", Align::Left), ("architecture", Align::Left), ("", Align::Left)];
    let mut table = Table::new(&columns);
    for source in &sources {
        for architecture in architectures {
            let (file, error, outcome) = match compile_for_cuda(source, *architecture) {
                Ok(code) => (source.label, None, format!("{} bytes", code.len())),
                Err(error) => (source.label, Some(error.to_string()), "FAILED".to_owned()),
            };
            rows.push(json!({
                "kernels": file, "architecture": architecture, "compiled": error.is_none(),
                "error": error,
            }));
            table.row([clean(file), architecture.to_string(), outcome]);
            errors.extend(error);
        }
    }
    let failed = if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if arguments.json {
        let all = json!({ "nvrtc": version, "compiled": rows });
        output::print_json(&all)?;
        return Ok(failed);
    }
    output::print(&table.text())?;
    // One mistake is one for all architectures, mostly.
    errors.dedup();
    for error in errors {
        say!("error: {error}");
    }
    Ok(failed)
}
