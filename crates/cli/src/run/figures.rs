//! The figures of a run, read from the status tables of its processes.

use super::fabrics::Counts;
use super::fleet::trusted;
use super::left::{LastWords, Left, in_flight, made_ns};
use super::process_figures::ProcessFigures;
use super::{calls, counts, devices};
use crate::output::counted;
use crate::replay::CLOCK_TOPIC;
use crate::summary::{
    ChainRow, DeviceRow, FabricRow, GatewayRow, NodeRow, Percentiles, ServiceRow, TopicRow,
};
use anyhow::{Result, bail};
use crossdock_comm::status_records::{counter, kind};
use crossdock_comm::{
    Activity, EntitySnapshot, HistogramSnapshot, ObserveError, Observer, ObserverOptions,
    PortSnapshot, ProcessSnapshot,
};
use crossdock_executor::status::{chain_counter, node_counter};
use crossdock_gateway::record::{fabric_counter, gateway_counter};
use crossdock_graph::{Plan, ProcessPlan, Time, TopicMapping, TopicPlan};
use crossdock_record::{PlayReport, RecordReport, RecordedTopic};
use crossdock_sight::{Losses, lost_of};
use std::collections::{BTreeMap, BTreeSet};

/// Observes the processes of a run.
pub(crate) struct Figures {
    observer: Observer,
    /// Process ids of the nodes.
    pids: Vec<u32>,
    /// Why processes could not be attached to, as of the last look.
    unreachable: Vec<String>,
    /// Read for the last time before the launcher was told of their end.
    unheard: Vec<ProcessFigures>,
    /// By name: the sums of the lives of processes that have ended before the run, without
    /// connections.
    sums: BTreeMap<String, ProcessFigures>,
    left: Left,
    /// Messages that were lost with them, by topic.
    lost: BTreeMap<String, u64>,
    /// What processes had not worked off when they ended that nobody has replaced: by process, by
    /// topic.
    unworked: BTreeMap<String, BTreeMap<String, u64>>,
}

/// What was read.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) nodes: Vec<NodeRow>,
    pub(crate) topics: Vec<TopicRow>,
    pub(crate) services: Vec<ServiceRow>,
    pub(crate) gateways: Vec<GatewayRow>,
    pub(crate) fabrics: Vec<FabricRow>,
    pub(crate) devices: Vec<DeviceRow>,
    pub(crate) chains: Vec<ChainRow>,
    pub(crate) simulated_s: Option<f64>,
    /// What has to be known to understand them, sentences.
    pub(crate) notes: Vec<String>,
}

impl Figures {
    /// Attaches to the processes with these ids and to the launcher itself. They do no work for it
    /// later, and what they counted stays readable after their end.
    pub(crate) fn attach(options: ObserverOptions, pids: Vec<u32>) -> Result<Self> {
        let mut observer = Observer::open(options)?;
        let unreachable = observer.refresh()?;
        let (unheard, sums, left, lost, unworked) = Default::default();
        Ok(Self { observer, pids, unreachable, unheard, sums, left, lost, unworked })
    }

    /// A process has ended: keeps its figures. Says what it was doing.
    pub(crate) fn retire(&mut self, plan: &Plan, process: &str, pid: u32) -> LastWords {
        self.pids.retain(|known| *known != pid);
        let Some(mut life) = self.last_look(pid) else { return LastWords::default() };
        debug_assert_eq!(life.table.process, process);
        let words = LastWords::of(plan, &life.table);
        let unworked = in_flight([&life.table], &self.observer.status_tables());
        self.unworked.insert(process.to_owned(), unworked);
        self.left.add(life.table.clone());
        life.table.connections.clear();
        match self.sums.get_mut(process) {
            Some(sum) => sum.add(&life),
            None => drop(self.sums.insert(process.to_owned(), life)),
        }
        words
    }

    /// The figures of a process that has ended.
    fn last_look(&mut self, pid: u32) -> Option<ProcessFigures> {
        if let Some(at) = self.unheard.iter().position(|it| it.table.pid == pid) {
            return Some(self.unheard.swap_remove(at));
        }
        let table = self.observer.status_tables().into_iter().find(|table| table.pid == pid)?;
        Some(ProcessFigures::read(&self.observer, table))
    }

    /// Another process has taken the place of one that has ended, and its nodes have not begun.
    /// Gives how many messages were lost in between.
    pub(crate) fn revive(&mut self, process: &str, pid: u32) -> Result<u64> {
        self.pids.push(pid);
        self.refresh()?;
        let tables = self.observer.status_tables();
        // One that has ended again gets nothing: what was lost is counted with the one that comes
        // next.
        let Some(next) = tables.iter().find(|table| table.pid == pid) else { return Ok(0) };
        debug_assert_eq!(next.process, process);
        self.unworked.remove(process);
        let lost = self.left.replace(next, &tables);
        let sum = lost.values().sum();
        for (topic, count) in lost {
            *self.lost.entry(topic).or_default() += count;
        }
        Ok(sum)
    }

    /// Looks who is there. The observer forgets those that have died, and the launcher may not have
    /// heard of that yet: their figures are kept for its last look.
    fn refresh(&mut self) -> Result<()> {
        let tables = self.observer.status_tables();
        let ours = tables.into_iter().filter(|table| self.pids.contains(&table.pid));
        let before: Vec<_> =
            ours.map(|table| ProcessFigures::read(&self.observer, table)).collect();
        self.unreachable = self.observer.refresh()?;
        let there: BTreeSet<_> = self.observer.status_tables().iter().map(|it| it.pid).collect();
        self.unheard.extend(before.into_iter().filter(|it| !there.contains(&it.table.pid)));
        Ok(())
    }

    /// Messages published so far in the whole run. Reads shared memory only.
    pub(crate) fn published(&self) -> u64 {
        let tables = self.status_tables();
        let left = self.sums.values().map(|sum| &sum.table);
        let publishers = tables.iter().chain(left).flat_map(|process| &process.publishers);
        publishers.map(|port| port.counters[counter::MESSAGES]).sum()
    }

    /// Tells when a node's process has worked that sleeps now.
    pub(crate) fn activity(&self) -> Result<Activity, ObserveError> {
        Activity::watch(self.observer.options().clone(), &self.pids)
    }

    /// Reads everything. `exits` says how processes have ended that did so before they were told
    /// to; messages for those that are `returning` are lost. If the graph is not `at_rest`, a note
    /// says which messages were in flight.
    pub(crate) fn read(
        &self,
        plan: &Plan,
        counts: &Counts,
        exits: &BTreeMap<String, String>,
        (returning, at_rest): (&[&str], bool),
    ) -> Reading {
        let processes = self.processes();
        let nodes = node_rows(plan, &processes, exits);
        let chains = chain_rows(plan, &processes);
        let status_tables: Vec<_> = processes.into_iter().map(|process| process.table).collect();
        let lost = self.lost(returning);
        let topics = plan.topics.iter().map(|topic| {
            let mut row = topic_row(topic, &status_tables);
            row.losses.restart = lost.get(&topic.name).copied().unwrap_or(0);
            row
        });
        let topics = topics.collect();
        let simulated_s = simulated_s(plan, &status_tables);
        let mut notes = self.unreachable.clone();
        notes.extend(nodes.iter().filter_map(lockstep_note));
        notes.extend(clock_note(plan, &status_tables));
        notes.extend(exits.iter().map(|(process, how)| {
            match status_tables.iter().any(|seen| seen.process == *process) {
                true => format!(
                    "the figures of process `{process}`, and its part in those of topics and \
                     chains, are as it left them when it ended ({how}){}",
                    self.unworked_text(process, returning)
                ),
                false => format!(
                    "process `{process}` ended ({how}) before its figures could be had; they are \
                     missing above"
                ),
            }
        }));
        if !at_rest {
            let tables = self.status_tables();
            let left = in_flight(&tables, &tables);
            notes.extend((!left.is_empty()).then(|| {
                format!("messages that were in flight at the end of the run: {}", by_topic(&left))
            }));
        }
        let gateways = gateway_rows(&status_tables);
        let mut fabrics = fabric_rows(&status_tables);
        for fabric in &mut fabrics {
            fabric.counts = counts::rows(&fabric.fabric, counts, &status_tables);
        }
        notes.extend(gateways.iter().flat_map(gateway_notes));
        notes.extend(fabrics.iter().flat_map(|fabric| counts::notes(fabric, at_rest)));
        let services = calls::rows(&status_tables);
        let devices = devices::rows(&status_tables);
        Reading { nodes, topics, services, gateways, fabrics, devices, chains, simulated_s, notes }
    }

    /// What a process that has ended had not worked off, unless what takes its place counts that.
    fn unworked_text(&self, process: &str, returning: &[&str]) -> String {
        let unworked = self.unworked.get(process).filter(|it| !it.is_empty());
        match unworked.filter(|_| !returning.contains(&process)) {
            Some(unworked) => format!("; messages that it left: {}", by_topic(unworked)),
            None => String::new(),
        }
    }

    /// Messages by topic that were lost with ended processes, those for processes that are still
    /// away among them.
    fn lost(&self, returning: &[&str]) -> BTreeMap<String, u64> {
        let (mut lost, tables) = (self.lost.clone(), self.observer.status_tables());
        let missed = returning.iter().flat_map(|process| self.left.missed(process, &tables));
        for (topic, count) in missed {
            *lost.entry(topic).or_default() += count;
        }
        lost
    }

    /// The status tables of the run's processes that are there, the launcher's own among them.
    pub(super) fn status_tables(&self) -> Vec<ProcessSnapshot> {
        let mut status_tables = self.observer.status_tables();
        let own = std::process::id();
        status_tables.retain(|process| process.pid == own || self.pids.contains(&process.pid));
        status_tables
    }

    /// What each of the run's processes has counted in all its lives, the launcher among them.
    fn processes(&self) -> Vec<ProcessFigures> {
        let tables = self.status_tables().into_iter();
        let mut processes: Vec<_> =
            tables.map(|table| ProcessFigures::read(&self.observer, table)).collect();
        let own = std::process::id();
        for (name, sum) in &self.sums {
            let mut of_nodes = processes.iter_mut().filter(|it| it.table.pid != own);
            match of_nodes.find(|process| process.table.process == *name) {
                Some(process) => process.add(sum),
                None => processes.push(sum.clone()),
            }
        }
        processes
    }
}

/// `/image 4, /lane 1`.
fn by_topic(messages: &BTreeMap<String, u64>) -> String {
    let each: Vec<String> =
        messages.iter().map(|(topic, count)| format!("{topic} {count}")).collect();
    each.join(", ")
}

/// One row per node, in the order of the plan.
fn node_rows(
    plan: &Plan,
    processes: &[ProcessFigures],
    exits: &BTreeMap<String, String>,
) -> Vec<NodeRow> {
    let mut rows = Vec::new();
    for process in &plan.processes {
        let seen = processes.iter().find(|seen| seen.table.process == process.name);
        for node in process.nodes() {
            let count = |index: usize| {
                let records = seen.iter().flat_map(|seen| seen.records(kind::NODE, &node.name));
                records.map(|it| it.counters[index]).fold(0, u64::saturating_add)
            };
            rows.push(NodeRow {
                node: node.name.clone(),
                process: process.name.clone(),
                ended: exits.get(&process.name).cloned(),
                executions: count(node_counter::EXECUTIONS),
                unmatched: count(node_counter::UNMATCHED),
                held_back: count(node_counter::HELD_BACK),
                timer_skips: count(node_counter::TIMER_SKIPPED),
                unanswered: count(node_counter::UNANSWERED),
                over_budget: count(node_counter::OVER_BUDGET),
                stale: count(node_counter::STALE),
                failed: count(node_counter::FAILED),
                execute: percentiles(seen.and_then(|seen| seen.histogram(kind::NODE, &node.name))),
            });
        }
    }
    rows
}

/// One row per chain, from all processes that publish on its last topic.
fn chain_rows(plan: &Plan, processes: &[ProcessFigures]) -> Vec<ChainRow> {
    let rows = plan.chains.iter().map(|chain| {
        let mut merged = HistogramSnapshot::empty();
        let histograms = processes.iter().filter_map(|it| it.histogram(kind::CHAIN, &chain.name));
        histograms.for_each(|histogram| merged.merge(histogram));
        let count = |index: usize| {
            let records = processes.iter().flat_map(|it| it.records(kind::CHAIN, &chain.name));
            records.map(|it| it.counters[index]).fold(0, u64::saturating_add)
        };
        ChainRow {
            chain: chain.name.clone(),
            from: chain.from.clone(),
            to: chain.to.clone(),
            count: count(chain_counter::MESSAGES),
            max_latency_ns: chain.max_latency.map(|limit| limit.limit_ns),
            late: count(chain_counter::LATE),
            stalled: count(chain_counter::STALLED),
            time: percentiles(Some(&merged)),
        }
    });
    rows.collect()
}

/// Fails if another process publishes a topic whose publishers are all in the plan: its messages
/// would mix with the messages of the run, and its nodes would hold up the run's nodes. Strangers
/// hold nobody up, and a start that they could refuse would be theirs to decide: gives sentences
/// about them, to be told when the run begins.
pub(crate) fn must_have_topics_alone(
    domain_id: u32,
    name: &str,
    plan: &Plan,
    pids: &[u32],
) -> Result<Vec<String>> {
    let options = observer_options(domain_id, name);
    let mut observer = Observer::trusting(options, &trusted(plan))?;
    let snapshot = observer.snapshot()?;
    let own = std::process::id();
    let others = snapshot.processes.iter().filter(|it| it.pid != own && !pids.contains(&it.pid));
    // Nobody else may publish anything to a run that is to be repeated.
    let stepped = plan.steps.is_some();
    let published = plan.topics.iter();
    let published = published.filter(|it| stepped || !it.external && !it.publishers.is_empty());
    let mut published: BTreeSet<&str> = published.map(|topic| topic.name.as_str()).collect();
    published.extend(stepped.then_some(crossdock_comm::step::STEP_TOPIC));
    let mut warnings = Vec::new();
    for other in others {
        let stranger = observer.stranger(other.name);
        for port in other.publishers.iter().filter(|port| published.contains(port.topic.as_str())) {
            let who = format!(
                "{} is published in domain {domain_id} already, by node `{}` in process `{}` (pid {})",
                port.topic, port.node, other.process, other.pid
            );
            match stranger {
                None => bail!(
                    "{who}; end that run first, or give this one a domain of its own with --domain-id"
                ),
                Some(uid) => warnings.push(format!(
                    "{who} of user {uid}, who is not trusted: what it publishes mixes with the \
                     messages of the run; a domain of its own (--domain-id) or another rendezvous \
                     keeps them apart"
                )),
            }
        }
    }
    Ok(warnings)
}

/// How this command observes: the processes of a domain at the usual place, of all users who share
/// that place.
pub(crate) fn observer_options(domain_id: u32, name: &str) -> ObserverOptions {
    ObserverOptions::new(domain_id, name)
}

fn percentiles(histogram: Option<&HistogramSnapshot>) -> Percentiles {
    let Some(histogram) = histogram.filter(|histogram| histogram.count > 0) else {
        return Percentiles::default();
    };
    Percentiles {
        p50_ns: histogram.quantile_ns(0.5),
        p99_ns: histogram.quantile_ns(0.99),
        max_ns: Some(histogram.max_ns),
    }
}

fn topic_row(topic: &TopicPlan, status_tables: &[ProcessSnapshot]) -> TopicRow {
    let ports = |of: fn(&ProcessSnapshot) -> &Vec<PortSnapshot>| {
        let ports = status_tables.iter().flat_map(of);
        ports.filter(|port| port.topic == topic.name).collect::<Vec<_>>()
    };
    let publishers = ports(|process| &process.publishers);
    let subscribers = ports(|process| &process.subscribers);
    let published = |index: usize| publishers.iter().map(|port| port.counters[index]).sum::<u64>();
    // Nobody of this run publishes it: another host does, or a program beside the run.
    let seen = |index: usize| match publishers.is_empty() {
        true => subscribers.iter().map(|port| port.counters[index]).max().unwrap_or(0),
        false => published(index),
    };
    let taken = |index: usize| subscribers.iter().map(|port| port.counters[index]).sum::<u64>();
    let message_type = topic
        .message_type
        .clone()
        .or_else(|| publishers.first().map(|port| port.type_name.clone()));
    TopicRow {
        topic: topic.name.clone(),
        message_type: message_type.unwrap_or_default(),
        in_hardware: topic.mapping == TopicMapping::Hardware,
        messages: seen(counter::MESSAGES),
        bytes: seen(counter::BYTES),
        copies: published(counter::COPIES) + taken(counter::COPIES),
        unheard: published(counter::LOST_UNMATCHED),
        losses: publishers
            .iter()
            .chain(&subscribers)
            .fold(Losses::default(), |sum, port| sum.and(&lost_of(port))),
    }
}

/// What the hosts of fabrics tell of one kind, with the texts of its details.
pub(super) fn hosted(
    status_tables: &[ProcessSnapshot],
    of: u32,
) -> impl Iterator<Item = (&EntitySnapshot, String)> {
    let records = status_tables.iter().flat_map(|process| &process.others);
    let records = records.filter(move |record| record.kind == of);
    records.map(|record| (record, String::from_utf8_lossy(&record.detail).into_owned()))
}

fn gateway_rows(status_tables: &[ProcessSnapshot]) -> Vec<GatewayRow> {
    let row = |(record, fabric): (&EntitySnapshot, String)| {
        let count = |index: usize| record.counters[index];
        GatewayRow {
            topic: record.name.clone(),
            fabric,
            down: count(gateway_counter::DOWN),
            down_bytes: count(gateway_counter::DOWN_BYTES),
            up: count(gateway_counter::UP),
            up_bytes: count(gateway_counter::UP_BYTES),
            down_refused: count(gateway_counter::DOWN_REFUSED),
            up_refused: count(gateway_counter::UP_REFUSED),
            up_timed_out: count(gateway_counter::UP_TIMED_OUT),
            copied_bytes: count(gateway_counter::DOWN_COPIED),
        }
    };
    hosted(status_tables, kind::GATEWAY).map(row).collect()
}

/// What did not pass a gateway, and what to do.
fn gateway_notes(row: &GatewayRow) -> Vec<String> {
    let GatewayRow { topic, fabric, .. } = row;
    let mut notes = Vec::new();
    if row.down_refused > 0 {
        notes.push(format!(
            "{} messages of {topic} were not given to fabric `{fabric}`: they are damaged, or longer than \
             `bounds` of the topic in the graph file",
            row.down_refused
        ));
    }
    if row.up_refused > 0 {
        notes.push(format!(
            "{} messages of fabric `{fabric}` were not published on {topic}: they are cut, damaged, or \
             longer than `bounds` of the topic in the graph file",
            row.up_refused
        ));
    }
    if row.up_timed_out > 0 {
        notes.push(format!(
            "{} messages of fabric `{fabric}` were not published on {topic}: a reliable subscriber did \
             not take them in time",
            row.up_timed_out
        ));
    }
    notes
}

fn fabric_rows(status_tables: &[ProcessSnapshot]) -> Vec<FabricRow> {
    let row = |(record, profile): (&EntitySnapshot, String)| {
        let count = |index: usize| record.counters[index];
        FabricRow {
            fabric: record.name.clone(),
            profile,
            bytes_read: count(fabric_counter::BYTES_READ),
            bytes_written: count(fabric_counter::BYTES_WRITTEN),
            refused: count(fabric_counter::REFUSED),
            simulated_us: count(fabric_counter::SIMULATED_US),
            counts: Vec::new(),
        }
    };
    hosted(status_tables, kind::FABRIC).map(row).collect()
}

/// Says if time stood still for nodes, because it comes from a topic that nobody published.
fn clock_note(plan: &Plan, status_tables: &[ProcessSnapshot]) -> Option<String> {
    let by_wall = plan.all_processes().filter(|process| process.time == Time::Wall);
    let mut nodes = by_wall.flat_map(ProcessPlan::nodes).filter(|node| node.use_sim_time);
    let first = &nodes.next()?.name;
    let more = match nodes.count() as u64 {
        0 => String::new(),
        more => format!(" and {}", counted(more, "other", "others")),
    };
    let mut clocks = status_tables.iter().flat_map(|table| &table.subscribers);
    if clocks.any(|port| port.topic == CLOCK_TOPIC && port.counters[counter::MESSAGES] > 0) {
        return None;
    }
    Some(format!(
        "nobody published {CLOCK_TOPIC}, so time stood still for node `{first}`{more}; play a \
         recording beside the run with `crossdock bag play BAG --clock`, or set `use_sim_time: \
         false`"
    ))
}

/// The simulated time that nodes in lock step have made; `None` when no node makes time.
fn simulated_s(plan: &Plan, status_tables: &[ProcessSnapshot]) -> Option<f64> {
    let mut nodes = plan.processes.iter().flat_map(ProcessPlan::nodes);
    nodes.find(|node| node.lockstep.is_some())?;
    Some(made_ns(status_tables.iter().flat_map(|process| &process.others)) as f64 / 1e9)
}

/// That a node in lock step went on without an answer, if it did.
fn lockstep_note(row: &NodeRow) -> Option<String> {
    let times = match row.unanswered {
        0 => return None,
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    Some(format!(
        "node `{}` in lock step went on {times} without the answer to its last output, because a \
         process was started again; the payloads of this run may differ from another run's",
        row.node
    ))
}

/// What the user should know of how the recording was played.
pub(crate) fn play_notes(report: &PlayReport) -> Vec<String> {
    let mut notes: Vec<String> = report.damage.iter().map(ToString::to_string).collect();
    notes.extend(report.clock_note());
    for topic in &report.topics {
        if topic.mismatched + topic.refused > 0 {
            let first = topic.first_error.as_deref().unwrap_or("no reason was kept");
            notes.push(format!(
                "{} of the messages of {} were not played, the first because {first}",
                topic.mismatched + topic.refused,
                topic.name
            ));
        }
    }
    notes
}

/// What the user should know of the recording that was made.
pub(crate) fn record_notes(report: &RecordReport) -> Vec<String> {
    let incomplete = report.topics.iter().filter(|topic| topic.lost + topic.damaged > 0);
    let incomplete = incomplete.map(|topic| {
        let why = topic.first_error.as_deref().unwrap_or("its best-effort publisher was faster");
        format!(
            "{} messages of {} are missing in the recording: {why}",
            topic.lost + topic.damaged,
            topic.name
        )
    });
    incomplete.chain(report.topics.iter().filter_map(RecordedTopic::stamp_note)).collect()
}

#[cfg(test)]
mod tests;
