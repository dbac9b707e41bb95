//! `crossdock topic`: topics of running graphs, seen without disturbing them.
//!
//! Lists, rates and counters come from the boards of the processes, which are read-only memory here.
//! It must not subscribe, except to show the messages of a topic that stays inside a chain.

mod echo;
mod meter;
mod table;

use crate::arguments::{TopicCommand, WatchArguments};
use crate::output;
use crate::run::observer_options;
use anyhow::{Result, bail};
use crossdock_comm::{GraphSnapshot, Observer, PortSnapshot, ProcessSnapshot};
use std::process::ExitCode;

/// Runs one of the topic commands.
pub(crate) fn topic(command: &TopicCommand) -> Result<ExitCode> {
    match command {
        TopicCommand::List { watch } => table::list(watch)?,
        TopicCommand::Info { topic, watch } => table::info(topic, watch)?,
        TopicCommand::Echo { topic, count, once, full, watch } => {
            let count = if *once { Some(1) } else { *count };
            echo::echo(&echo::Wishes { topic, count, full: *full, json: watch.json }, watch)?;
        }
        TopicCommand::Hz(arguments) => meter::meter(arguments, meter::Unit::Messages)?,
        TopicCommand::Bw(arguments) => meter::meter(arguments, meter::Unit::Bytes)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the domain for watching.
fn open(watch: &WatchArguments) -> Result<Observer> {
    Ok(Observer::open(observer_options(watch.domain_id, "crossdock topic"))?)
}

/// The running graphs, with a warning for each process that does not answer.
fn look(observer: &mut Observer) -> Result<GraphSnapshot> {
    let snapshot = observer.snapshot()?;
    for reason in &snapshot.unreachable {
        eprintln!("warning: {reason}");
    }
    Ok(snapshot)
}

/// The publishers of a topic.
fn publishers<'a>(
    snapshot: &'a GraphSnapshot,
    topic: &'a str,
) -> impl Iterator<Item = (&'a ProcessSnapshot, &'a PortSnapshot)> {
    snapshot.processes.iter().flat_map(move |process| {
        let ports = process.publishers.iter().filter(move |port| port.topic == topic);
        ports.map(move |port| (process, port))
    })
}

/// Fails when nobody has a port on the topic.
fn must_exist(snapshot: &GraphSnapshot, topic: &str, domain_id: u32) -> Result<()> {
    let mut ports = snapshot
        .processes
        .iter()
        .flat_map(|process| process.publishers.iter().chain(&process.subscribers));
    if !ports.any(|port| port.topic == topic) {
        bail!(
            "no running graph in domain {domain_id} has the topic {topic}; `crossdock topic list` \
             shows those that exist, --domain-id looks elsewhere"
        );
    }
    Ok(())
}

/// Prints one JSON value a line.
fn print_json(value: &serde_json::Value) -> Result<()> {
    output::print(&format!("{value}\n"))
}
