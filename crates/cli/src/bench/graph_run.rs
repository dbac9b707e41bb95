//! One run of a graph as an experiment makes it: with `crossdock run`, from files that it writes for it. It must not know
//! what the graph does.

use crate::scratch::Scratch;
use anyhow::{Context, Result, bail};
use crossdock_msg::{Block, FlatBuffer};
use crossdock_record::BagReader;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of a run.
#[derive(Debug)]
pub(super) struct GraphRun<'a> {
    /// Text of the graph file.
    pub(super) graph: &'a str,
    /// Text of the mapping file.
    pub(super) mapping: &'a str,
    /// Text of the parameter file.
    pub(super) parameters: &'a str,
    /// The topic whose messages are the result.
    pub(super) topic: &'a str,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome<T> {
    /// The messages of the topic.
    pub(super) messages: Vec<T>,
    /// The closing table.
    pub(super) summary: Value,
}

impl GraphRun<'_> {
    /// Runs the graph to its end. Blocks.
    pub(super) fn outcome<T: DeserializeOwned>(&self) -> Result<Outcome<T>> {
        let scratch = Scratch::new("bench")?;
        let file = |name: &str, text: &str| -> Result<PathBuf> {
            let path = scratch.file(name);
            crate::output::write(Some(&path), text)?;
            Ok(path)
        };
        let (recording, summary) = (scratch.file("run.mcap"), scratch.file("run.json"));
        let output = Command::new(std::env::current_exe().context("where this command lies")?)
            .arg("run")
            .arg(file("run.graph.yaml", self.graph)?)
            .arg("--mapping")
            .arg(file("run.mapping.yaml", self.mapping)?)
            .arg("--params")
            .arg(file("run.yaml", self.parameters)?)
            .arg("--record")
            .arg(&recording)
            .args(["--topics", self.topic])
            .arg("--summary")
            .arg(&summary)
            .output()
            .context("`crossdock run` does not start")?;
        // A run that a node has ended says so in its closing table, one that was refused on standard error.
        let said = std::fs::read(&summary).ok();
        let summary: Value =
            said.map(|text| serde_json::from_slice(&text)).transpose()?.unwrap_or_default();
        if !output.status.success() {
            let refused = String::from_utf8_lossy(&output.stderr);
            bail!("{}", summary["end"].as_str().unwrap_or(refused.trim()));
        }
        Ok(Outcome { messages: read(&recording, self.topic)?, summary })
    }
}

/// The messages of a topic in a recording.
fn read<T: DeserializeOwned>(recording: &Path, topic: &str) -> Result<Vec<T>> {
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
        found.push(serde_json::from_value(schema.to_json(Block::new(flat.as_slice()))?)?);
    }
    Ok(found)
}
