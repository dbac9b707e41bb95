//! From files and command line to a checked plan: graph, mapping, parameters, recording, packages.
//! It must not start anything but the packages' descriptions of themselves.

mod hosts;

pub(crate) use hosts::{HostRun, OnHost};

use crate::arguments::{GraphFiles, NodeParameters, Rate, SetParameter};
use crate::files::{FILE_BYTES_MAX, Violations, read, read_file};
use crate::output::{say, sentence};
use crate::packages::Packages;
use crate::run::set_levels;
use anyhow::{Context, Result};
use crossdock_graph::{
    Graph, IncludedFile, InputTopic, Mapping, OnLag, Pacing, ParameterArgument, ParameterOverrides,
    Placement, Plan, RosArguments, RosParameters, RunOptions, Time, TopicMapping, Violation,
};
use crossdock_record::BagReader;
use hosts::{Part, check_parts, must_be_real};
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Folder beside a graph file with message definitions of its own.
const INTERFACES_FOLDER: &str = "interfaces";

/// What a run adds to the files.
#[derive(Debug, Default)]
pub(crate) struct Wishes<'a> {
    pub(crate) domain_id: u32,
    pub(crate) input: Option<&'a Path>,
    pub(crate) rate: Option<Rate>,
    pub(crate) duration_s: Option<f64>,
    pub(crate) record: bool,
    /// Topics to record; empty: all that are not played.
    pub(crate) topics: &'a [String],
    /// What the command line says of nodes and names.
    pub(crate) settings: Settings,
    /// Topics of the recording to play.
    pub(crate) chosen: Chosen<'a>,
    /// Replay the recording, so that the run can be repeated bit by bit, without these inputs.
    pub(crate) without: Option<&'a [String]>,
    /// Whose part is meant, if the mapping names hosts.
    pub(crate) host: OnHost<'a>,
}

/// What a command line says of the nodes of a graph, beside the command's own options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Arguments of the graph: name and text.
    pub(crate) arguments: Vec<(String, String)>,
    /// What stands behind `--ros-args`.
    pub(crate) ros: RosArguments,
}

/// Which topics of a recording are played, of those that the graph subscribes to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Chosen<'a> {
    #[default]
    All,
    Only(&'a [String]),
    AllBut(&'a [String]),
}

impl<'a> Chosen<'a> {
    /// What `--play-topics` and `--without` say, at most one of them.
    pub(crate) fn of(only: &'a [String], without: &'a [String]) -> Self {
        match (only, without) {
            ([], []) => Self::All,
            ([], without) => Self::AllBut(without),
            (only, _) => Self::Only(only),
        }
    }

    /// The chosen topics of a recording.
    ///
    /// # Errors
    /// A topic is named that the recording does not have.
    fn from(self, recorded: Vec<InputTopic>, path: &Path) -> Result<Vec<InputTopic>> {
        let (option, named) = match self {
            Self::All => return Ok(recorded),
            Self::Only(named) => ("--play-topics", named),
            Self::AllBut(named) => ("--without", named),
        };
        let has = |name: &String| recorded.iter().any(|topic| topic.name == *name);
        if let Some(missing) = named.iter().find(|name| !has(name)) {
            let names: Vec<&str> = recorded.iter().map(|topic| topic.name.as_str()).collect();
            anyhow::bail!(
                "{option} {missing}: {} holds no such topic that can be played; it holds {}",
                path.display(),
                names.join(", ")
            );
        }
        let only = matches!(self, Self::Only(_));
        let chosen = recorded.into_iter().filter(|topic| named.contains(&topic.name) == only);
        Ok(chosen.collect())
    }
}

/// A run that is checked and can be started.
pub(crate) struct Loaded {
    pub(crate) graph: Graph,
    pub(crate) mapping: Mapping,
    /// Folders with message definitions beside the standard ones.
    pub(crate) interfaces: Vec<PathBuf>,
    pub(crate) plan: Plan,
    pub(crate) packages: Packages,
    pub(crate) bag: Option<BagReader>,
    /// What the user should know of the recording, sentences; first what `incomplete` says.
    pub(crate) about_bag: Vec<String>,
    /// What of the recording is not there, a sentence.
    pub(crate) incomplete: Option<String>,
    /// What the launcher plays and records.
    pub(crate) options: RunOptions,
    /// The part is one host's.
    pub(crate) host: Option<HostRun>,
}

/// Reads a graph file and all that it includes.
pub(crate) fn read_graph(path: &Path) -> Result<Graph> {
    let text = read(path, "graph file")?;
    Ok(graph_of(path, &text).map_err(Violations::from)?)
}

/// The graph of a file with this text and all that it includes.
pub(crate) fn graph_of(path: &Path, text: &[u8]) -> Result<Graph, Vec<Violation>> {
    match Graph::read(&path.display().to_string(), text, &mut open_included)? {
        (graph, unknown) if unknown.is_empty() => Ok(graph),
        (_, unknown) => Err(unknown),
    }
}

/// Opens a file that a graph file includes: it is looked for beside that file.
fn open_included(from: &str, name: &str) -> Result<IncludedFile, String> {
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        // `a/../b` is `b`, so that a file that includes itself has one name.
        let goes_up = part == Component::ParentDir;
        if goes_up && matches!(path.components().next_back(), Some(Component::Normal(_))) {
            path.pop();
        } else if part != Component::CurDir {
            path.push(part);
        }
    }
    let text = read_file(&path, FILE_BYTES_MAX).map_err(|error| error.to_string())?;
    Ok(IncludedFile { name: path.display().to_string(), text })
}

/// Reads a mapping file.
pub(crate) fn read_mapping(path: &Path) -> Result<Mapping> {
    let mapping = Mapping::from_yaml(&path.display().to_string(), &read(path, "mapping file")?);
    mapping.map_err(|violations| Violations::from(violations).into())
}

/// Reads a placement file, or the placement in a computation graph in JSON.
pub(crate) fn read_placement(path: &Path) -> Result<Placement> {
    let (name, text) = (path.display().to_string(), read(path, "placement file")?);
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let read = if is_json { Placement::from_json } else { Placement::from_yaml };
    read(&name, &text).map_err(|violations| Violations::from(violations).into())
}

/// Reads and checks everything that `files` and `wishes` name. Keys that nobody knows in the graph
/// and the mapping are told with whatever else is wrong.
pub(crate) fn load(files: &GraphFiles, wishes: &Wishes<'_>) -> Result<Loaded> {
    let (name, text) = (files.graph.display().to_string(), read(&files.graph, "graph file")?);
    let (graph, mut unknown) =
        Graph::read(&name, &text, &mut open_included).map_err(Violations::from)?;
    let mapping = match &files.beside.mapping {
        None => Mapping::one_chain_per_package(&graph),
        Some(path) => {
            let text = read(path, "mapping file")?;
            let found = Mapping::without_unknown_keys(&path.display().to_string(), &text);
            let (mapping, of_mapping) = found.map_err(|violations| {
                Violations::from([std::mem::take(&mut unknown), violations].concat())
            })?;
            unknown.extend(of_mapping);
            mapping.in_graph(&graph)
        }
    };
    let loaded = load_read(files, wishes, graph, mapping);
    if unknown.is_empty() {
        return loaded;
    }
    let mut told = Violations::from(unknown);
    if let Err(error) = loaded {
        match error.downcast::<Violations>() {
            Ok(more) => {
                told.violations.extend(more.violations);
                told.remarks.extend(more.remarks);
            }
            Err(other) => told.remarks.push(sentence(&other)),
        }
    }
    Err(told.into())
}

/// The graph with the parameters that files and `-p` give its nodes.
pub(crate) fn with_parameters(mut graph: Graph, given: &NodeParameters) -> Result<Graph> {
    for path in &given.params {
        let text = read(path, "parameter file")?;
        let overrides = ParameterOverrides::from_yaml(&path.display().to_string(), &text);
        graph = overrides
            .and_then(|overrides| graph.with_parameters(&overrides))
            .map_err(Violations::from)?;
    }
    for SetParameter { node, parameter, value } in &given.set {
        let text = format!("crossdock: 1\nnodes:\n  {node}: {{ {parameter}: {value} }}\n");
        let words = format!("-p {node}.{parameter}:={value}");
        graph = ParameterOverrides::from_words(&words, text.as_bytes())
            .and_then(|overrides| graph.with_parameters(&overrides))
            .map_err(Violations::from)?;
    }
    Ok(graph)
}

/// The parameters behind `--ros-args`, in the order of the command line.
fn ros_parameters(ros: &RosArguments) -> Result<Vec<RosParameters>> {
    let sources = ros.parameters.iter().map(|source| {
        let read = match source {
            ParameterArgument::Rule(text) => RosParameters::from_rule(text),
            ParameterArgument::File(name) => {
                RosParameters::from_yaml(name, &read(Path::new(name), "parameter file")?)
            }
        };
        Ok(read.map_err(Violations::from)?)
    });
    sources.collect()
}

/// A graph and its mapping with the names that the rules behind `--ros-args` give them. What
/// changes nothing is told in warnings.
pub(crate) fn remapped(
    graph: &Graph,
    mapping: &Mapping,
    ros: &RosArguments,
) -> Result<(Graph, Mapping, Vec<Violation>)> {
    let (graph, names, warnings) = graph.remapped(&ros.remaps).map_err(Violations::from)?;
    Ok((graph, mapping.renamed(&names), warnings))
}

/// The graph with the topics of the recording that is to be played, and their names.
fn with_bag(
    mut graph: Graph,
    bag: Option<&BagReader>,
    wishes: &Wishes<'_>,
) -> Result<(Graph, Vec<String>)> {
    let (Some(bag), Some(path)) = (bag, wishes.input) else { return Ok((graph, Vec::new())) };
    let recorded = recorded_topics(bag);
    let recorded = match wishes.without {
        Some(without) => crate::replay::inputs(&graph, bag, recorded, without, path)?,
        None => wishes.chosen.from(recorded, path)?,
    };
    if let Some(without) = wishes.without {
        graph = graph.without_inputs(without);
    }
    let (graph, played) = with_recording(&graph, bag, path, &recorded)?;
    // A replay may take no more than its time from a recording.
    if played.is_empty() && wishes.without.is_none() {
        return Err(nothing_played(bag, path));
    }
    Ok((graph, played))
}

/// Reads what goes with a graph and its mapping, and checks all of it.
fn load_read(
    files: &GraphFiles,
    wishes: &Wishes<'_>,
    graph: Graph,
    mapping: Mapping,
) -> Result<Loaded> {
    let Settings { arguments, ros } = &wishes.settings;
    let graph = with_parameters(graph, &files.beside.parameters)?;
    let (graph, mapping, mut warnings) = remapped(&graph, &mapping, ros)?;
    let ros_parameters = ros_parameters(ros)?;
    let part = Part::of(graph, mapping, files, wishes, &ros_parameters)?;
    let Part { mut graph, mapping, host, elsewhere, warnings: of_part } = part;
    if host.is_some() {
        must_be_real(wishes)?;
    }
    warnings.extend(of_part);
    let packages = Packages::of_graph(&files.beside.package_path, &graph, &files.graph)?;
    let (with_ros, unused) = graph.with_ros_parameters(&ros_parameters, &packages.descriptions);
    graph = with_ros;
    warnings.extend(unused);
    for (name, text) in arguments.iter().filter(|(name, _)| !elsewhere.contains(name)) {
        let set = graph.with_argument(&packages.descriptions, name, text);
        graph = set.map_err(|violations| remarked(violations.into(), &packages))?;
    }
    let interfaces = interfaces(&files.interfaces, &files.graph, &graph);
    let mut bag = wishes.input.map(open_bag).transpose()?;
    if let Some(bag) = bag.as_mut().filter(|bag| bag.lacks_definitions()) {
        crate::bag::define(bag, &interfaces)?;
    }
    let (graph, played) = with_bag(graph, bag.as_ref(), wishes)?;
    let recorded = recorded(&graph, &mapping, &played, wishes)?;
    let time = time(&graph, &mapping, wishes, bag.is_some())?;
    let domain_id = wishes.domain_id;
    let duration_ns = wishes.duration_s.map(|seconds| (seconds * 1e9) as u64);
    let options = RunOptions { domain_id, time, played, recorded, duration_ns };
    let incomplete = bag.as_ref().and_then(incomplete);
    let about_bag = bag.as_ref().map(|bag| about(bag, &graph)).unwrap_or_default();
    let about_bag: Vec<String> = incomplete.iter().cloned().chain(about_bag).collect();
    let plan = check_parts(&graph, &mapping, &packages.descriptions, &options, host.as_ref());
    let mut plan = plan.map_err(|violations| {
        let mut violations = remarked(violations.into(), &packages);
        violations.remarks.extend(about_bag.iter().cloned());
        violations.remarks.extend(warnings.iter().map(ToString::to_string));
        violations
    })?;
    plan.warnings.extend(warnings);
    set_levels(&mut plan, &ros.log_levels)?;
    let executors = plan.processes.iter_mut().flat_map(|process| &mut process.executors);
    for node in executors.flat_map(|executor| &mut executor.nodes) {
        node.enclave.clone_from(&ros.enclave);
    }
    if let (Some(bag), Some(path), Some(steps)) = (&bag, wishes.input, &plan.steps)
        && options.played.is_empty()
        && steps.timers.is_empty()
    {
        return Err(nothing_played(bag, path));
    }
    Ok(Loaded {
        graph,
        mapping,
        interfaces,
        plan,
        packages,
        bag,
        about_bag,
        incomplete,
        options,
        host,
    })
}

/// Folders with message definitions beside the standard ones: those that the command line names,
/// and those beside the graph file and the files that it includes.
pub(crate) fn interfaces(named: &[PathBuf], graph_file: &Path, graph: &Graph) -> Vec<PathBuf> {
    let mut interfaces = named.to_vec();
    let included = graph.source.included().iter().map(Path::new);
    for file in [graph_file].into_iter().chain(included) {
        let beside = file.parent().unwrap_or(Path::new("")).join(INTERFACES_FOLDER);
        if beside.is_dir() && !interfaces.contains(&beside) {
            interfaces.push(beside);
        }
    }
    interfaces
}

/// How long a recording is looked through without a word.
const SILENCE: Duration = Duration::from_secs(2);

fn open_bag(path: &Path) -> Result<BagReader> {
    let opened =
        or_tell_after(SILENCE, || say!("{}", looking_through(path)), || BagReader::open(path));
    opened.with_context(|| format!("--input {}", path.display()))
}

fn looking_through(path: &Path) -> String {
    let path = path.display();
    format!("looking through {path}, which has no index; that takes as long as reading it")
}

/// Does this, and tells if it takes longer than `silence`.
fn or_tell_after<T>(silence: Duration, tell: impl FnOnce() + Send, work: impl FnOnce() -> T) -> T {
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The other end goes when the work is done.
            if is_done.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
                tell();
            }
        });
        let worked = work();
        drop(done);
        worked
    })
}

/// What of a recording is not there, if anything.
fn incomplete(bag: &BagReader) -> Option<String> {
    let missing: Vec<String> =
        bag.missing_files().iter().map(|path| path.display().to_string()).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the recording is not complete: {} {} missing; put the files beside metadata.yaml",
            missing.join(", "),
            if missing.len() == 1 { "is" } else { "are" },
        )
    })
}

/// What the user should know of a recording: what is odd about it, and which topics of the graph
/// are there and cannot be played.
fn about(bag: &BagReader, graph: &Graph) -> Vec<String> {
    let names = graph.topic_names();
    let skipped = bag.topics().iter().filter(|it| !it.is_delivered());
    let skipped = skipped.filter(|it| names.contains(&it.name.as_str())).filter_map(|topic| {
        let problem = topic.problems.first()?;
        Some(format!("topic {} of the recording is not played: {problem}", topic.name))
    });
    bag.remarks().iter().cloned().chain(skipped).collect()
}

/// The topics of a recording that can be played.
fn recorded_topics(bag: &BagReader) -> Vec<InputTopic> {
    let delivered = bag.topics().iter().filter(|topic| topic.is_delivered());
    delivered
        .map(|topic| InputTopic { name: topic.name.clone(), message_type: topic.type_name.clone() })
        .collect()
}

fn with_recording(
    graph: &Graph,
    bag: &BagReader,
    path: &Path,
    topics: &[InputTopic],
) -> Result<(Graph, Vec<String>)> {
    let name = path.display().to_string();
    let (graph, played) = graph.with_input(&name, topics).map_err(Violations::from)?;
    if bag.topics().is_empty() {
        let damage = bag.damage().map(|damage| format!(" ({damage})")).unwrap_or_default();
        anyhow::bail!(
            "--input {name} holds no topic that can be read{damage}; play another \
             recording"
        );
    }
    Ok((graph, played))
}

fn nothing_played(bag: &BagReader, path: &Path) -> anyhow::Error {
    let names: Vec<&str> = bag.topics().iter().map(|topic| topic.name.as_str()).collect();
    anyhow::anyhow!(
        "no node of the graph subscribes to a topic of {}: it holds {}; rename the topics of the \
         graph or play another recording",
        path.display(),
        names.join(", ")
    )
}

/// The topics to be recorded: those asked for, else all that are not played and pass host memory.
fn recorded(
    graph: &Graph,
    mapping: &Mapping,
    played: &[String],
    wishes: &Wishes<'_>,
) -> Result<Vec<String>> {
    let stays_inside = |name: &str| mapping.topic_mapping(name) == TopicMapping::Hardware;
    if let Some(name) = wishes.topics.iter().find(|name| stays_inside(name)) {
        anyhow::bail!(
            "--topics {name}: its messages never leave the fabric, so they cannot be recorded; map \
             it to `gateway`"
        );
    }
    Ok(match (wishes.record, wishes.topics) {
        (false, _) => Vec::new(),
        (true, []) => {
            let names = graph.topic_names().into_iter().map(str::to_owned);
            names.filter(|name| !played.contains(name) && !stays_inside(name)).collect()
        }
        (true, topics) => topics.to_vec(),
    })
}

/// Time is simulated where a recording makes it, or a node in lock step if the graph is to be
/// waited for. Otherwise a simulator runs by the computer's clock.
fn time(graph: &Graph, mapping: &Mapping, wishes: &Wishes<'_>, has_bag: bool) -> Result<Time> {
    if wishes.without.is_some() {
        return Ok(Time::Simulated { pacing: Pacing::Steps });
    }
    let simulator = graph.nodes.iter().find(|node| node.lockstep.is_some());
    let slow = mapping.fabrics.iter().any(|fabric| fabric.on_lag == OnLag::SlowTime);
    let played = |rate| {
        let pacing = if slow { Pacing::AtMost(rate) } else { Pacing::Rate(rate) };
        Time::Simulated { pacing }
    };
    match (wishes.rate, has_bag, simulator) {
        (Some(Rate::Max), true, Some(node)) => Err(two_times("--rate max", &node.name)),
        (Some(Rate::Max), true, None) | (Some(Rate::Max), false, Some(_)) => {
            Ok(Time::Simulated { pacing: Pacing::Max })
        }
        (Some(Rate::Max), false, None) => anyhow::bail!(
            "--rate max needs something that makes the time: a recording (--input) or a node with \
             `lockstep` in the graph; without it the graph runs in real time"
        ),
        (Some(Rate::Factor(rate)), false, Some(_)) => {
            Ok(Time::Simulated { pacing: Pacing::AtMost(rate) })
        }
        (Some(Rate::Factor(rate)), false, None) => anyhow::bail!(
            "--rate {rate} paces a recording (--input) or a node with `lockstep` in the graph; leave \
             it out for real time"
        ),
        (_, true, Some(node)) if slow => Err(two_times("on_lag: slow_time", &node.name)),
        (Some(Rate::Factor(rate)), true, _) => Ok(played(rate)),
        (None, true, _) => Ok(played(1.0)),
        (None, false, _) if slow => Ok(Time::Simulated { pacing: Pacing::AtMost(1.0) }),
        (None, false, _) => Ok(Time::Wall),
    }
}

/// Refuses a run that is to wait for the graph, if nothing makes the time that would wait.
pub(crate) fn must_have_time(loaded: &Loaded, has_bag: bool) -> Result<()> {
    let waits = loaded.plan.all_processes().any(|process| process.time.at_most().is_some());
    let has_simulator = loaded.graph.nodes.iter().any(|node| node.lockstep.is_some());
    anyhow::ensure!(
        !waits || has_bag || has_simulator,
        "`on_lag: slow_time` of the mapping needs something that makes the time: a recording \
         (--input) or a node with `lockstep` in the graph; without it the graph runs in real time, \
         which cannot wait"
    );
    Ok(())
}

/// What a recording and a node would make together if the graph is to be waited for.
fn two_times(wish: &str, node: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "{wish} with --input: both the recording and node `{node}` (`lockstep`) would make the time; \
         leave --input out, or play the recording at a rate such as 1 without it"
    )
}

/// Says where packages were looked for when one is missing.
fn remarked(mut violations: Violations, packages: &Packages) -> Violations {
    use crossdock_graph::ViolationKind::UnknownPackage;
    if violations.violations.iter().any(|violation| violation.kind == UnknownPackage) {
        violations.remarks.push(packages.searched());
        violations.remarks.extend(packages.silent.iter().cloned());
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn work_that_takes_long_is_told_while_it_goes_on_and_other_work_is_not() {
        let (tell, told) = channel();
        let tell = || tell.send(()).expect("the work waits");
        // It does not end before it is told.
        let patience = Duration::from_secs(60);
        let heard = or_tell_after(Duration::ZERO, tell, || told.recv_timeout(patience));
        assert_eq!(heard, Ok(()), "nothing was told");
        let tell = || panic!("the work is done");
        assert_eq!(or_tell_after(Duration::from_secs(3600), tell, || 1), 1);
        let words = looking_through(Path::new("drive.mcap"));
        assert!(words.starts_with("looking through drive.mcap, which has no index"), "{words}");
    }
}
