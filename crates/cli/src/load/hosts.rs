//! The part of a graph and its mapping that one host of the mapping runs, and what it has to know
//! of the others.

use super::Wishes;
use crate::arguments::GraphFiles;
use crate::files::{Violations, sha256};
use anyhow::Result;
use crossdock_graph::{
    FarPort, Graph, Mapping, PackageDescriptions, Plan, RosParameters, RunOptions, Violation, check,
};
use serde::Serialize;

/// The host of a mapping whose part is meant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum OnHost<'a> {
    /// All processes, as if they were on one computer.
    #[default]
    All,
    /// The first one of the mapping; if it names none, all processes.
    First,
    /// This one.
    Named(&'a str),
}

/// What a run on several hosts has to know beside its part.
pub(crate) struct HostRun {
    pub(crate) host: String,
    pub(crate) others: Vec<String>,
    /// What must be the same on all hosts, as hashes.
    pub(crate) graph_hash: String,
    pub(crate) mapping_hash: String,
    /// Ports of other hosts that ports here wait for.
    pub(crate) far: Vec<FarPort>,
    /// The graph and its mapping as words of a command line, for an error.
    pub(crate) files: String,
}

/// What is to be loaded: all of a graph, or the part of one host.
pub(super) struct Part {
    pub(super) graph: Graph,
    pub(super) mapping: Mapping,
    /// `None`: all of it.
    pub(super) host: Option<HostRun>,
    /// Arguments of the graph that belong to nodes elsewhere.
    pub(super) elsewhere: Vec<String>,
    pub(super) warnings: Vec<Violation>,
}

impl Part {
    /// The part that `wishes` ask for. The graph has its parameters and its last names.
    pub(super) fn of(
        graph: Graph,
        mapping: Mapping,
        files: &GraphFiles,
        wishes: &Wishes<'_>,
        ros_parameters: &[RosParameters],
    ) -> Result<Self> {
        let (elsewhere, warnings) = Default::default();
        let Some(name) = host_of(&mapping, wishes.host)? else {
            return Ok(Self { graph, mapping, host: None, elsewhere, warnings });
        };
        let part = graph.part_of_host(&mapping, &name).map_err(Violations::from)?;
        // What is said of nodes and names is part of the graph, wherever they are.
        let said = (&graph, &wishes.settings.arguments, ros_parameters);
        let others = mapping.hosts.iter().map(|it| it.name.clone());
        let host = HostRun {
            others: others.filter(|other| *other != name).collect(),
            host: name,
            graph_hash: hash(&said)?,
            mapping_hash: hash(&mapping)?,
            far: part.far,
            files: words(files),
        };
        let is_here = |name: &str| part.graph.arguments.iter().any(|it| it.name == *name);
        let names = graph.arguments.iter().map(|argument| argument.name.clone());
        let elsewhere = names.filter(|name| !is_here(name)).collect();
        let (graph, mapping, warnings) = (part.graph, part.mapping, part.warnings);
        Ok(Self { graph, mapping, host: Some(host), elsewhere, warnings })
    }
}

/// Simulated time is made on one computer, and stays there.
pub(super) fn must_be_real(wishes: &Wishes<'_>) -> Result<()> {
    if wishes.input.is_some() || wishes.rate.is_some() || wishes.without.is_some() {
        anyhow::bail!(
            "a run on several hosts has no simulated time: leave --input and --rate out, or give a \
             mapping without `hosts`"
        );
    }
    Ok(())
}

/// The host whose part is to be run; `None`: all processes.
fn host_of(mapping: &Mapping, wanted: OnHost<'_>) -> Result<Option<String>> {
    match (wanted, mapping.hosts.first()) {
        (OnHost::All, _) | (OnHost::First, None) => Ok(None),
        (OnHost::First, Some(first)) => Ok(Some(first.name.clone())),
        (OnHost::Named(name), Some(_)) => Ok(Some(name.to_owned())),
        (OnHost::Named(name), None) => anyhow::bail!(
            "there is no host `{name}`: the mapping names no hosts; name a mapping with `hosts` \
             (--mapping), or run the graph on this computer alone with `crossdock run`"
        ),
    }
}

/// The plan of what runs here. If a mapping has hosts and all processes are meant, it is checked
/// part by part, too.
pub(super) fn check_parts(
    graph: &Graph,
    mapping: &Mapping,
    descriptions: &PackageDescriptions,
    options: &RunOptions,
    host: Option<&HostRun>,
) -> Result<Plan, Vec<Violation>> {
    let mut plan = check(graph, mapping, descriptions, options)?;
    let mut buffers = Vec::new();
    if let Some(host) = host {
        buffers.extend(graph.buffers_between_hosts(&host.far, descriptions));
    }
    // A replay has all processes on one computer.
    for host in mapping.hosts.iter().filter(|_| !options.time.is_stepped()) {
        let part = graph.part_of_host(mapping, &host.name)?;
        check(&part.graph, &part.mapping, descriptions, options)?;
        buffers.extend(part.graph.buffers_between_hosts(&part.far, descriptions));
        for warning in part.warnings {
            if !plan.warnings.contains(&warning) {
                plan.warnings.push(warning);
            }
        }
    }
    if buffers.is_empty() { Ok(plan) } else { Err(buffers) }
}

/// SHA-256 of what a value says, in hexadecimal digits.
fn hash(value: &impl Serialize) -> Result<String> {
    Ok(sha256(serde_json::to_vec(value)?))
}

/// The graph and the mapping as words of a command line.
fn words(files: &GraphFiles) -> String {
    let mapping = files.beside.mapping.as_ref();
    let mapping = mapping.map_or_else(String::new, |it| format!(" --mapping {}", it.display()));
    format!("{}{mapping}", files.graph.display())
}
