//! What experiments ask of this command: lines at once, folders, and runs of graphs with `crossdock
//! run`.

use crate::definitions::definitions;
use crate::files::Violations;
use crate::hardware::{FabricFiles, generate_fabric};
use crate::load::{interfaces, read_graph};
use crate::output;
use crate::packages::Packages;
use crate::scratch::Scratch;
use crate::trace;
use anyhow::{Context, Error, Result, bail, ensure};
use crossdock_experiments::{
    Caller, Drive, Driven, FabricOf, GraphNetwork, GraphRun, Recorded, RunOutcome,
};
use crossdock_fabric::Progress;
use crossdock_graph::Mapping;
use crossdock_msg::{Block, FlatBuffer, Schema};
use crossdock_record::BagReader;
use crossdock_trace::Summary;
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
        let mut command = own_run(&scratch)?;
        command
            .arg(file("run.graph.yaml", run.graph)?)
            .arg("--mapping")
            .arg(file("run.mapping.yaml", run.mapping)?)
            .arg("--params")
            .arg(file("run.yaml", run.parameters)?)
            .arg("--record")
            .arg(&recording)
            .args(["--topics", run.topic]);
        let summary = ended(command, &summary)?;
        Ok(RunOutcome { messages: read(&recording, run.topic)?, summary })
    }

    fn drive(&mut self, drive: &Drive<'_>) -> Result<Driven> {
        let Drive { graph, mapping, duration_s, topics, traced } = *drive;
        let scratch = Scratch::new("bench")?;
        let (recording, summary) = (scratch.file("run.mcap"), scratch.file("run.json"));
        let mut command = own_run(&scratch)?;
        command
            .arg(graph)
            .args(["--rate", "max", "--duration", &duration_s.to_string(), "--record"])
            .arg(&recording)
            .args(["--topics", &topics.join(",")]);
        if let Some(mapping) = mapping {
            command.arg("--mapping").arg(mapping);
        }
        let trace = scratch.file("trace");
        if traced {
            command.arg("--trace").arg(&trace);
        }
        let summary = ended(command, &summary)?;
        let reader = BagReader::open(&recording)?;
        let mut found = vec![Vec::new(); topics.len()];
        let mut messages = reader.messages();
        while let Some(message) = messages.next_message() {
            let message = message?;
            let name = &reader.topics()[message.topic].name;
            if let Some(place) = topics.iter().position(|topic| topic == name) {
                let (stamp_ns, cdr) = (message.publish_time_ns, message.data.to_vec());
                found[place].push(Recorded { stamp_ns, cdr });
            }
        }
        let trace = traced.then(|| trace::read(&trace)).transpose()?;
        Ok(Driven { messages: found, summary, trace: trace.as_ref().map(Summary::of) })
    }

    fn network(&mut self, of: &FabricOf<'_>) -> Result<GraphNetwork> {
        let graph = read_graph(of.graph)?;
        let mapping = Mapping::from_yaml("the experiment's mapping", of.mapping.as_bytes());
        let mapping = mapping.map_err(Violations::from)?.in_graph(&graph);
        let packages = Packages::of_graph(&[], &graph, of.graph)?;
        let definitions = definitions(&interfaces(&[], of.graph, &graph))?;
        let types = |name: &str| {
            let schema = Schema::from_library(definitions.library(), name);
            schema.map_err(|error| error.to_string())
        };
        let generated = generate_fabric(&FabricFiles {
            graph: &graph,
            mapping: &mapping,
            packages: &packages,
            fabric: of.fabric,
            types: &types,
        })?;
        ensure!(generated.has_board(), "{}", generated.obstacle());
        let topics = generated.network.topics.iter().map(|topic| {
            let schema = types(&topic.layout.type_name).map_err(Error::msg)?;
            let bounds = graph.topic(&topic.name).map(|it| it.bounds.clone());
            Ok((topic.name.clone(), (schema, bounds.unwrap_or_default())))
        });
        let topics = topics.collect::<Result<_>>()?;
        Ok(GraphNetwork { generated, topics })
    }
}

/// `crossdock run` of this program. Its processes meet in the folder of the experiment: graphs of
/// the user may run beside it, with topics of the same names.
fn own_run(scratch: &Scratch) -> Result<process::Command> {
    let program = std::env::current_exe().context("where this command lies")?;
    let mut command = process::Command::new(program);
    command.arg("run").env("CROSSDOCK_RENDEZVOUS", scratch.file("meeting"));
    Ok(command)
}

/// Runs `crossdock run` to its end and gives its closing table, for which it has this file.
fn ended(mut command: process::Command, file: &Path) -> Result<Value> {
    let output = command.arg("--summary").arg(file).output();
    let output = output.context("`crossdock run` does not start")?;
    // A run that a node has ended says so in its closing table, one that was refused on standard
    // error.
    let said = std::fs::read(file).ok();
    let summary: Value =
        said.map(|text| serde_json::from_slice(&text)).transpose()?.unwrap_or_default();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{}", summary["end"].as_str().unwrap_or(reason(&errors)));
    }
    Ok(summary)
}

/// Why a run was refused, in what it has said: without its warnings, and without the word that
/// this command's own error begins with.
fn reason(errors: &str) -> &str {
    const WORD: &str = "error: ";
    let begins = |at: &usize| *at == 0 || errors[..*at].ends_with('\n');
    let first = errors.match_indices(WORD).map(|(at, _)| at).find(begins);
    first.map_or(errors, |at| &errors[at + WORD.len()..]).trim()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_refused_run_is_told_without_its_warnings_and_its_word() {
        for (errors, expected) in [
            ("error: /a is published already\n", "/a is published already"),
            ("warning: error: b\nerror: a\n    c\n", "a\n    c"),
            ("thread `main` panicked\n", "thread `main` panicked"),
            ("", ""),
        ] {
            assert_eq!(reason(errors), expected);
        }
    }
}
