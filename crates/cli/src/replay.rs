//! `crossdock replay`: runs a graph on a recording in steps, so that every run gives the same, and
//! says where two runs or recordings differ first.
//!
//! A run is `crossdock run`'s.

mod difference;

use crate::arguments::{FilesBeside, GraphFiles, HostOptions, Rate, ReplayArguments, RunArguments};
use crate::load::{Chosen, Loaded, OnHost, Settings, Wishes, load};
use crate::output::print_result;
use crate::run;
use crate::scratch::Scratch;
use crate::summary::Summary;
use anyhow::{Context, Result, bail};
use crossdock_comm::ObserverOptions;
use crossdock_graph::{Graph, InputTopic, Plan};
use crossdock_record::compare::{CompareOptions, compare};
use crossdock_record::{BagReader, StepTimer, Steps};
use difference::Difference;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Topic of the simulated time, which the player publishes.
pub(crate) const CLOCK_TOPIC: &str = "/clock";

/// What the command prints as JSON.
#[derive(Serialize)]
struct Report {
    runs: Vec<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Difference>,
}

/// Replays a recording, or compares.
pub(crate) fn replay(arguments: &ReplayArguments, settings: &Settings) -> Result<ExitCode> {
    let inputs = arguments.graph.as_ref().zip(arguments.bag.as_ref());
    let others = arguments.compare.as_deref();
    let report = match (inputs, others) {
        (None, Some([left, right])) => {
            let comparison = Some(compared([left, right], [left, right], None, arguments)?);
            Report { runs: Vec::new(), comparison }
        }
        (None, _) => bail!(
            "there is nothing to replay: give a graph file and a recording, or two recordings to \
             compare with `crossdock replay --compare A B`"
        ),
        (Some(_), Some([_, _])) => bail!(
            "--compare takes two recordings only without a graph to run; leave out GRAPH and BAG, or \
             one of the two"
        ),
        (Some((graph, bag)), others) => run_and_compare(graph, bag, others, arguments, settings)?,
    };
    let text = match arguments.json {
        true => crate::output::json(&report)?,
        false => {
            let runs = report.runs.iter().map(Summary::text).collect::<Vec<_>>().join("\n");
            let comparison = report.comparison.as_ref().map(Difference::text);
            let gap = if report.runs.is_empty() || comparison.is_none() { "" } else { "\n" };
            runs + gap + &comparison.unwrap_or_default()
        }
    };
    print_result(&text)?;
    let failed = report.runs.iter().find(|summary| !summary.ok);
    let equal = report.comparison.as_ref().is_none_or(Difference::is_equal);
    Ok(match failed {
        Some(failed) => failed.exit_code(),
        None if equal => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    })
}

fn run_and_compare(
    graph: &Path,
    bag: &Path,
    others: Option<&[PathBuf]>,
    arguments: &ReplayArguments,
    settings: &Settings,
) -> Result<Report> {
    if arguments.compare_mapping.is_some() && others.is_some_and(|others| !others.is_empty()) {
        bail!(
            "--compare-mapping maps a second run, and --compare RECORDING makes none; leave one out"
        );
    }
    if !arguments.topics.is_empty() && arguments.record.is_none() && others.is_none() {
        bail!("--topics says what to record or to compare; add --record OUT or --compare");
    }
    let scratch = Scratch::new("replay")?;
    let first = arguments.record.clone().or_else(|| others.map(|_| scratch.file("first.mcap")));
    let once = |mapping: Option<&PathBuf>, record: Option<&Path>| {
        run_once(graph, bag, mapping, record, arguments, settings)
    };
    let (summary, published) = once(arguments.beside.mapping.as_ref(), first.as_deref())?;
    let (mut runs, mut comparison) = (vec![summary], None);
    let ran = runs[0].ok;
    match (others, &first) {
        // What a run that failed has left says nothing.
        (Some(_), _) if !ran => {}
        (Some([]), Some(first)) => {
            let second = scratch.file("second.mcap");
            let mapping = arguments.compare_mapping.as_ref().or(arguments.beside.mapping.as_ref());
            let (summary, _) = once(mapping, Some(&second))?;
            runs.push(summary);
            if runs[1].ok {
                let names = [Path::new("first run"), Path::new("second run")];
                comparison = Some(compared([first, &second], names, None, arguments)?);
            }
        }
        (Some([recording, ..]), Some(first)) => {
            let topics = common_topics(recording, &published)?;
            let names = [Path::new("this run"), recording];
            comparison = Some(compared([first, recording], names, Some(topics), arguments)?);
        }
        (Some(_), None) | (None, _) => {}
    }
    Ok(Report { runs, comparison })
}

/// One run; also the topics that its graph publishes and that were recorded.
fn run_once(
    graph: &Path,
    bag: &Path,
    mapping: Option<&PathBuf>,
    record: Option<&Path>,
    arguments: &ReplayArguments,
    settings: &Settings,
) -> Result<(Summary, Vec<String>)> {
    let run = RunArguments {
        files: GraphFiles {
            graph: graph.to_owned(),
            beside: FilesBeside { mapping: mapping.cloned(), ..arguments.beside.clone() },
            interfaces: Vec::new(),
        },
        input: Some(bag.to_owned()),
        play_topics: Vec::new(),
        without: Vec::new(),
        record: record.map(Path::to_owned),
        topics: arguments.topics.clone(),
        rate: Some(arguments.rate.unwrap_or(Rate::Max)),
        duration: arguments.duration,
        trace: None,
        trace_on_failure: None,
        view: None,
        no_browser: false,
        hosts: HostOptions::default(),
        trace_events: Vec::new(),
        log_level: Vec::new(),
        domain_id: arguments.domain_id,
        summary: None,
        json: arguments.json,
    };
    let wishes = Wishes {
        domain_id: run.domain_id,
        input: run.input.as_deref(),
        rate: run.rate,
        duration_s: run.duration,
        record: run.record.is_some(),
        topics: &run.topics,
        settings: settings.clone(),
        chosen: Chosen::All,
        without: Some(&arguments.without),
        host: OnHost::All,
    };
    let loaded: Loaded = load(&run.files, &wishes)?;
    let topics = loaded.plan.topics.iter().filter(|topic| topic.recorded && !topic.played);
    let topics = topics.map(|topic| topic.name.clone()).collect();
    Ok((run::carry_out(loaded, &run)?, topics))
}

/// The topics of a recording that the graph publishes.
fn common_topics(recording: &Path, published: &[String]) -> Result<Vec<String>> {
    let bag = open(recording)?;
    let recorded: BTreeSet<&str> = bag.topics().iter().map(|topic| topic.name.as_str()).collect();
    let common = published.iter().filter(|topic| recorded.contains(topic.as_str())).cloned();
    let common: Vec<String> = common.collect();
    if common.is_empty() {
        bail!(
            "--compare {}: it has none of the topics that the graph publishes ({}); it has {}",
            recording.display(),
            published.join(", "),
            recorded.into_iter().collect::<Vec<_>>().join(", ")
        );
    }
    Ok(common)
}

fn open(path: &Path) -> Result<BagReader> {
    BagReader::open(path).with_context(|| format!("--compare {}", path.display()))
}

fn compared(
    bags: [&Path; 2],
    names: [&Path; 2],
    topics: Option<Vec<String>>,
    arguments: &ReplayArguments,
) -> Result<Difference> {
    let chosen = (!arguments.topics.is_empty()).then(|| arguments.topics.clone());
    let bags = [open(bags[0])?, open(bags[1])?];
    let topics = topics.or(chosen).or_else(|| without_logs(&bags));
    let options = CompareOptions { topics, ignore_stamps: arguments.ignore_stamps };
    let comparison = compare(&bags[0], &bags[1], &options);
    Ok(Difference::new(names.map(|name| name.display().to_string()), &comparison))
}

/// All topics of two recordings but the logs, whose lines have the computer's time. `None`: none
/// has logs.
fn without_logs(bags: &[BagReader; 2]) -> Option<Vec<String>> {
    let topics = bags.iter().flat_map(|bag| bag.topics()).map(|topic| topic.name.clone());
    let mut topics: BTreeSet<String> = topics.collect();
    topics.remove(run::log::TOPIC).then(|| topics.into_iter().collect())
}

/// The topics of a recording that are played: the inputs of the graph. What the graph publishes
/// itself is not played, so that the recording of a whole run can be replayed.
pub(crate) fn inputs(
    graph: &Graph,
    bag: &BagReader,
    recorded: Vec<InputTopic>,
    without: &[String],
    path: &Path,
) -> Result<Vec<InputTopic>> {
    let outputs = graph.nodes.iter().flat_map(|node| &node.outputs);
    let published: BTreeSet<&str> = outputs.map(|output| output.topic.as_str()).collect();
    let mut faults = Vec::new();
    for topic in graph.topics.iter().filter(|topic| topic.external) {
        let name = topic.name.as_str();
        if let Some(node) = graph.nodes.iter().find(|it| it.outputs.iter().any(|o| o.topic == name))
        {
            faults.push(format!(
                "topic {name} comes from outside the graph (`external: true`) and from its node \
                 `{}`, and a recording does not tell their messages apart; give them topics of \
                 their own, or remove `external`",
                node.name
            ));
        }
    }
    let holds = |name: &str| recorded.iter().any(|topic| topic.name == name);
    let mut missing: Vec<(&str, Vec<String>)> = Vec::new();
    for node in &graph.nodes {
        for input in &node.inputs {
            let name = input.topic.as_str();
            let is_known = published.contains(name) || holds(name) || name == CLOCK_TOPIC;
            if is_known || without.iter().any(|topic| topic == name) {
                continue;
            }
            let reader = format!("`{}` (input `{}`)", node.name, input.port);
            match missing.iter_mut().find(|(topic, _)| *topic == name) {
                Some((_, readers)) => readers.push(reader),
                None => missing.push((name, vec![reader])),
            }
        }
    }
    let is_read = |name: &String| {
        graph.nodes.iter().any(|node| node.inputs.iter().any(|input| input.topic == *name))
    };
    for topic in without.iter().filter(|topic| !is_read(topic)) {
        faults.push(format!("--without {topic}: no node of the graph reads it; leave it out"));
    }
    for (topic, readers) in missing {
        let unusable = bag.topics().iter().find(|it| it.name == topic);
        let unusable = unusable.and_then(|it| it.problems.first());
        let why = match unusable {
            Some(problem) => format!("cannot be played from the recording ({problem})"),
            None => "is not in the recording".to_owned(),
        };
        faults.push(format!(
            "topic {topic} is an input of the graph, read by {}, and {why}; record it too, or \
             replay without it with --without {topic}",
            readers.join(" and ")
        ));
    }
    if !faults.is_empty() {
        bail!("{} cannot be replayed: {}", path.display(), faults.join("; "));
    }
    let is_input = |topic: &InputTopic| {
        let name = topic.name.as_str();
        !published.contains(name) && name != CLOCK_TOPIC && !without.contains(&topic.name)
    };
    Ok(recorded.into_iter().filter(is_input).collect())
}

/// How the player steps a run.
pub(crate) fn player_rate(
    plan: &Plan,
    rate: Option<Rate>,
    observer: ObserverOptions,
    drain_timeout: Duration,
) -> crossdock_record::Rate {
    let steps = plan.steps.clone().unwrap_or_default();
    let timers = steps.timers.into_iter().map(|timer| StepTimer {
        period_ns: timer.period_ns,
        offset_ns: timer.offset_ns,
        phases: timer.phases,
    });
    crossdock_record::Rate::Steps(Box::new(Steps {
        observer,
        drain_timeout,
        factor: match rate {
            Some(Rate::Factor(factor)) => Some(factor),
            Some(Rate::Max) | None => None,
        },
        phases: steps.phases,
        topics: steps.topics,
        timers: timers.collect(),
        executors: plan.processes.iter().map(|process| process.executors.len()).sum(),
        recorders: usize::from(plan.topics.iter().any(|topic| topic.recorded)),
    }))
}
