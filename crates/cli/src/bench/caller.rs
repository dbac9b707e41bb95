//! What experiments ask of this command: lines at once, folders, and runs of graphs with `crossdock
//! run`.

use crate::output;
use crate::scratch::Scratch;
use anyhow::{Context, Result, bail};
use crossdock_experiments::{Caller, GraphRun, RunOutcome};
use crossdock_fabric::Progress;
use crossdock_msg::{Block, FlatBuffer};
use crossdock_record::BagReader;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process;

/// This command, for one experiment.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Removed when the experiment is over.
    folders: Vec<Scratch>,
}

impl Caller for Command {
    fn show(&mut self, line: &str) -> Result<()> {
        output::print(line)
    }

    fn progress(&mut self, progress: Progress<'_>) {
        output::tell(progress);
    }

    fn folder(&mut self) -> Result<PathBuf> {
        let made = Scratch::new("bench")?;
        let folder = made.folder().to_owned();
        self.folders.push(made);
        Ok(folder)
    }

    fn run(&mut self, run: &GraphRun<'_>) -> Result<RunOutcome> {
        let scratch = Scratch::new("bench")?;
        let file = |name: &str, text: &str| -> Result<PathBuf> {
            let path = scratch.file(name);
            output::write(Some(&path), text)?;
            Ok(path)
        };
        let (recording, summary) = (scratch.file("run.mcap"), scratch.file("run.json"));
        let output =
            process::Command::new(std::env::current_exe().context("where this command lies")?)
                .arg("run")
                .arg(file("run.graph.yaml", run.graph)?)
                .arg("--mapping")
                .arg(file("run.mapping.yaml", run.mapping)?)
                .arg("--params")
                .arg(file("run.yaml", run.parameters)?)
                .arg("--record")
                .arg(&recording)
                .args(["--topics", run.topic])
                .arg("--summary")
                .arg(&summary)
                .output()
                .context("`crossdock run` does not start")?;
        // A run that a node has ended says so in its closing table, one that was refused on
        // standard error.
        let said = std::fs::read(&summary).ok();
        let summary: Value =
            said.map(|text| serde_json::from_slice(&text)).transpose()?.unwrap_or_default();
        if !output.status.success() {
            let refused = String::from_utf8_lossy(&output.stderr);
            bail!("{}", summary["end"].as_str().unwrap_or(refused.trim()));
        }
        Ok(RunOutcome { messages: read(&recording, run.topic)?, summary })
    }
}

/// The messages of a topic in a recording.
fn read(recording: &Path, topic: &str) -> Result<Vec<Value>> {
    let reader = BagReader::open(recording)?;
    let mut found = Vec::new();
    let mut messages = reader.messages();
    while let Some(message) = messages.next_message() {
        let message = message?;
        let of = &reader.topics()[message.topic];
        if of.name != topic {
            continue;
        }
        let schema = of.schema()?;
        let mut flat = FlatBuffer::with_bytes(schema.flat_bytes_of_cdr(message.data)?);
        schema.decode_cdr(message.data, flat.as_mut_slice())?;
        found.push(schema.to_json(Block::new(flat.as_slice()))?);
    }
    Ok(found)
}
