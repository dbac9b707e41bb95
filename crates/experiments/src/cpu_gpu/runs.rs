//! Runs a case, and gives what its scheduler has published.

use super::case::Case;
use super::files;
use crate::caller::{Caller, GraphRun};
use crate::options::CpuGpuOptions;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// One run of a benchmark, as `cpu_gpu_interfaces/msg/Run` has it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Run {
    pub(super) warm_up: bool,
    pub(super) swaps: u32,
    pub(super) took_ns: u64,
    pub(super) native_paper_ns: u64,
    pub(super) native_best_ns: u64,
    pub(super) energy_uj: u64,
    pub(super) right: bool,
    pub(super) fault: String,
    pub(super) copied_bytes: u64,
    pub(super) host_instances: u32,
    pub(super) device_instances: u32,
    pub(super) in_place: bool,
}

/// All runs of a case, warm-up first.
pub(super) fn runs(
    case: &Case,
    options: &CpuGpuOptions,
    caller: &mut dyn Caller,
) -> Result<Vec<Run>> {
    let run = GraphRun {
        graph: files::graph(case.architecture),
        mapping: &files::mapping(case, &options.device),
        parameters: &files::parameters(case, options),
        topic: "/run",
    };
    let runs: Vec<Run> = caller.run(&run).with_context(|| case.to_string())?.read()?;
    let expected = (options.warm_up + options.runs) as usize;
    ensure!(runs.len() == expected, "{case}: {} runs were recorded, not {expected}", runs.len());
    Ok(runs)
}
