//! What an experiment asks of the command that runs it.

use anyhow::{Context, Result};
use crossdock_fabric::{Cache, Library, Progress, Search};
use crossdock_hwgen::Generated;
use crossdock_msg::Schema;
use crossdock_trace::Summary;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The command that runs an experiment.
pub trait Caller {
    /// Shows a line that was found before the experiment is over.
    ///
    /// # Errors
    /// It cannot be shown.
    fn show(&mut self, line: &str) -> Result<()>;

    /// Hears of what takes long.
    fn progress(&mut self, progress: Progress<'_>);

    /// A new, empty folder that nobody else may look into, which stays until the experiment is
    /// over.
    ///
    /// # Errors
    /// It cannot be made.
    fn folder(&mut self) -> Result<PathBuf>;

    /// Runs a graph to its end. Blocks.
    ///
    /// # Errors
    /// The graph was refused, or its run failed.
    fn run(&mut self, run: &GraphRun<'_>) -> Result<RunOutcome>;

    /// Runs a graph file with a simulator in software as fast as it can, and gives messages of it.
    /// Blocks.
    ///
    /// # Errors
    /// The graph was refused, its run failed, or its recording or trace cannot be read.
    fn drive(&mut self, drive: &Drive<'_>) -> Result<Driven>;

    /// The network of a fabric, with the board of its nodes. Blocks while it reads their sources.
    ///
    /// # Errors
    /// A file cannot be read, or what is in it is wrong.
    fn network(&mut self, fabric: &FabricOf<'_>) -> Result<GraphNetwork>;
}

/// A fabric of a graph file.
#[derive(Clone, Copy, Debug)]
pub struct FabricOf<'a> {
    /// The graph file.
    pub graph: &'a Path,
    /// Text of a mapping file that places nodes of the graph.
    pub mapping: &'a str,
    /// Name of the fabric there.
    pub fabric: &'a str,
}

/// The network of a fabric of a graph file.
#[derive(Debug)]
pub struct GraphNetwork {
    /// The network.
    pub generated: Generated,
    /// The topics that pass through it: their types and bounds.
    pub topics: BTreeMap<String, (Schema, BTreeMap<String, u32>)>,
}

/// A run of a graph file with a simulator.
#[derive(Debug)]
pub struct Drive<'a> {
    /// The graph file.
    pub graph: &'a Path,
    /// The mapping file; all of a package in one chain without.
    pub mapping: Option<&'a Path>,
    /// In simulated time.
    pub duration_s: f64,
    /// The topics whose messages are the result.
    pub topics: &'a [&'a str],
    /// Whether the run is traced.
    pub traced: bool,
}

/// What a run with a simulator has come to.
#[derive(Debug)]
pub struct Driven {
    /// The messages, topic by topic.
    pub messages: Vec<Vec<Recorded>>,
    /// The closing table.
    pub summary: Value,
    /// What a trace says, if the run was traced.
    pub trace: Option<Summary>,
}

/// A message of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it was published, in nanoseconds.
    pub stamp_ns: u64,
    /// The message in CDR, with its header of four bytes.
    pub cdr: Vec<u8>,
}

/// A graph to run, as texts of its files.
#[derive(Debug)]
pub struct GraphRun<'a> {
    /// Text of the graph file.
    pub graph: &'a str,
    /// Text of the mapping file.
    pub mapping: &'a str,
    /// Text of the parameter file.
    pub parameters: &'a str,
    /// The topic whose messages are the result.
    pub topic: &'a str,
}

/// What a run has come to.
#[derive(Debug)]
pub struct RunOutcome {
    /// The messages of the topic, in order.
    pub messages: Vec<Value>,
    /// The closing table.
    pub summary: Value,
}

impl RunOutcome {
    /// The messages as values of their type.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> Result<Vec<T>> {
        let messages = std::mem::take(&mut self.messages).into_iter();
        Ok(messages.map(serde_json::from_value).collect::<Result<_, _>>()?)
    }
}

/// The simulation of a network, from the cache or built.
pub(crate) fn library(generated: &Generated, caller: &mut dyn Caller) -> Result<Library> {
    let (cache, search) = (Cache::from_environment()?, Search::from_environment());
    Ok(Library::build(generated, &search, &cache, &mut |progress| caller.progress(progress))?)
}

/// The simulation of a network with its board, from the cache or built.
pub(crate) fn board_library(generated: &Generated, caller: &mut dyn Caller) -> Result<Library> {
    let (cache, search) = (Cache::from_environment()?, Search::from_environment());
    let mut tell = |progress: Progress<'_>| caller.progress(progress);
    let built = Library::build_board(generated, &search, &cache, &mut tell)?;
    built.context("the network has no board")
}
