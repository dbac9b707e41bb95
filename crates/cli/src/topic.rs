//! `crossdock topic`: topics of running graphs, seen without disturbing them.
//!
//! Lists, rates and counters come from the status tables of the processes, which are read-only
//! memory here. It must not subscribe, except to show the messages of a topic that stays inside a
//! chain, or as a subscriber of the quality of service that the user asks for. `pub` publishes.

mod echo;
mod endpoints;
mod follow;
mod meter;
mod publish;
mod qos;
mod table;
mod taken;
mod window;

pub(crate) use table::{port_json, qos};

use crate::arguments::{TopicCommand, WatchArguments};
use crate::output;
use crate::output::{clean, near_name};
use crate::run::observer_options;
use anyhow::{Result, bail};
use crossdock_comm::{GraphSnapshot, Maker, Observer, PortKind, PortSnapshot, ProcessSnapshot};
use std::collections::BTreeSet;
use std::process::ExitCode;

/// Runs one of the topic commands.
pub(crate) fn topic(command: &TopicCommand) -> Result<ExitCode> {
    match command {
        TopicCommand::List(arguments) => table::list(arguments)?,
        TopicCommand::Type { topic, watch } => table::print_type(topic, watch)?,
        TopicCommand::Find { message_type, watch } => table::find(message_type, watch)?,
        TopicCommand::Info { topic, verbose, watch } => table::info(topic, *verbose, watch)?,
        TopicCommand::Echo(arguments) => echo::echo(arguments)?,
        TopicCommand::Pub(arguments) => publish::publish(arguments)?,
        TopicCommand::Hz(arguments) => meter::meter(arguments, meter::Unit::Messages)?,
        TopicCommand::Bw(arguments) => meter::meter(arguments, meter::Unit::Bytes)?,
        TopicCommand::Delay(arguments) => meter::delay(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the domain for watching.
fn open(watch: &WatchArguments) -> Result<Observer> {
    Ok(Observer::open(observer_options(watch.domain_id, "crossdock topic"))?)
}

/// The running graphs, with a warning for each process that does not answer and was not told of
/// yet.
fn look_again(observer: &mut Observer, told: &mut BTreeSet<String>) -> Result<GraphSnapshot> {
    let snapshot = observer.snapshot()?;
    output::warn(snapshot.unreachable.iter().filter(|reason| told.insert((*reason).clone())));
    Ok(snapshot)
}

/// The running graphs, with a warning for each process that does not answer.
fn look(observer: &mut Observer) -> Result<GraphSnapshot> {
    look_again(observer, &mut BTreeSet::new())
}

/// The publishers of a topic.
fn publishers<'a>(
    snapshot: &'a GraphSnapshot,
    topic: &'a str,
) -> impl Iterator<Item = (&'a ProcessSnapshot, &'a PortSnapshot)> {
    snapshot.ports(PortKind::Publisher).filter(move |(_, port)| port.topic == topic)
}

/// Whether a topic comes from other computers alone.
fn is_far(snapshot: &GraphSnapshot, topic: &str) -> bool {
    let mut publishers = publishers(snapshot, topic).peekable();
    publishers.peek().is_some() && publishers.all(|(_, port)| port.maker == Maker::Gateway)
}

/// Fails when nobody has a port on the topic.
fn must_exist(snapshot: &GraphSnapshot, topic: &str, domain_id: u32) -> Result<()> {
    let ports = snapshot
        .processes
        .iter()
        .flat_map(|process| process.publishers.iter().chain(&process.subscribers));
    let topics: BTreeSet<&str> = ports.map(|port| port.topic.as_str()).collect();
    if !topics.contains(topic) {
        output::must_be_seen(snapshot.processes.len(), &snapshot.unreachable, domain_id)?;
        bail!(
            "no running graph in domain {domain_id} has the topic {}; {}`crossdock topic list` \
             shows those that exist, --domain-id looks elsewhere",
            clean(topic),
            clean(&near_name(topic, topics))
        );
    }
    Ok(())
}

/// Prints one JSON value a line.
fn print_json(value: &serde_json::Value) -> Result<()> {
    output::print(&output::json_line(value)?)
}
