//! Runs a case with `crossdock run`, and reads what its scheduler has published.

use super::case::Case;
use super::files;
use crate::arguments::CpuGpuArguments;
use anyhow::{Context, Result, bail, ensure};
use crossdock_msg::{Block, FlatBuffer};
use crossdock_record::BagReader;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The topic of the results.
const TOPIC: &str = "/run";

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

/// A folder that goes when this does.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("crossdock-cpu-gpu-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// All runs of a case, warm-up first.
pub(super) fn runs(case: &Case, arguments: &CpuGpuArguments) -> Result<Vec<Run>> {
    let folder = Folder::new()?;
    let file = |name: &str, text: &str| -> Result<PathBuf> {
        let path = folder.0.join(name);
        crate::output::write(Some(&path), text)?;
        Ok(path)
    };
    let graph = file("case.graph.yaml", files::graph(case.architecture))?;
    let mapping = file("case.mapping.yaml", &files::mapping(case, &arguments.device))?;
    let parameters = file("case.yaml", &files::parameters(case, arguments))?;
    let recording = folder.0.join("case.mcap");
    let output = Command::new(std::env::current_exe().context("where this command lies")?)
        .arg("run")
        .arg(graph)
        .arg("--mapping")
        .arg(mapping)
        .arg("--params")
        .arg(parameters)
        .arg("--record")
        .arg(&recording)
        .args(["--topics", TOPIC])
        .output()
        .context("`crossdock run` does not start")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{case}: {}", said.trim());
    }
    let runs = read(&recording).with_context(|| case.to_string())?;
    let expected = (arguments.warm_up + arguments.runs) as usize;
    ensure!(runs.len() == expected, "{case}: {} runs were recorded, not {expected}", runs.len());
    Ok(runs)
}

fn read(recording: &Path) -> Result<Vec<Run>> {
    let reader = BagReader::open(recording)?;
    let mut runs = Vec::new();
    let mut messages = reader.messages();
    while let Some(message) = messages.next_message() {
        let message = message?;
        let topic = &reader.topics()[message.topic];
        if topic.name != TOPIC {
            continue;
        }
        let schema = topic.schema()?;
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(message.data)?);
        schema.decode_cdr(message.data, flat.as_mut_slice())?;
        runs.push(serde_json::from_value(schema.to_json(Block::new(flat.as_slice()))?)?);
    }
    Ok(runs)
}
