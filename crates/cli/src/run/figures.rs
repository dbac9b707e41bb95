//! The figures of a run, read from the status tables of its processes. It must not know how they are shown.

use super::fabrics::Counts;
use super::left::{Gap, LastWords, Left, made_ns};
use super::{calls, counts, devices};
use crate::summary::{
    ChainRow, DeviceRow, FabricRow, GatewayRow, Losses, NodeRow, Percentiles, ServiceRow, TopicRow,
};
use anyhow::{Result, bail};
use crossdock_comm::status_records::{counter, kind};
use crossdock_comm::{
    Activity, EntitySnapshot, HistogramSnapshot, ObserveError, Observer, ObserverOptions, PeerName,
    PortSnapshot, ProcessSnapshot, Rendezvous,
};
use crossdock_executor::status::{chain_counter, node_counter};
use crossdock_gateway::record::{fabric_counter, gateway_counter};
use crossdock_graph::{Plan, TopicPlan};
use crossdock_record::{PlayReport, RecordReport};
use std::collections::{BTreeMap, BTreeSet};

/// Observes the processes of a run.
pub(crate) struct Figures {
    observer: Observer,
    /// Process ids of the nodes.
    pids: Vec<u32>,
    /// Why a process could not be attached to.
    unreachable: Vec<String>,
    /// Processes that have ended before the run, in that order.
    left: Vec<Left>,
    /// Processes that have died and that nobody has retired yet.
    forgotten: Vec<Left>,
    /// Of each process that was started again and has begun: how many of `left` were there then. Later
    /// ones of this name have ended since.
    revived: BTreeMap<String, usize>,
    /// How many of `left` were there when the nodes of a process began, for those started again.
    began: BTreeMap<PeerName, usize>,
    /// Messages that were lost with them, by topic.
    lost: BTreeMap<String, u64>,
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
    pub(crate) fn attach(domain_id: u32, name: &str, pids: Vec<u32>) -> Result<Self> {
        let mut observer = Observer::open(observer_options(domain_id, name))?;
        let unreachable = observer.refresh()?;
        Ok(Self {
            observer,
            pids,
            unreachable,
            left: Vec::new(),
            forgotten: Vec::new(),
            revived: BTreeMap::new(),
            began: BTreeMap::new(),
            lost: BTreeMap::new(),
        })
    }

    /// A process has ended: keeps its figures. Says what it was doing.
    pub(crate) fn retire(&mut self, plan: &Plan, process: &str, pid: u32) -> LastWords {
        let forgotten = self.forgotten.iter().position(|left| left.snapshot.pid == pid);
        let forgotten = forgotten.map(|place| self.forgotten.swap_remove(place));
        let Some(left) = forgotten.or_else(|| self.read_last(pid)) else {
            return LastWords::default();
        };
        debug_assert_eq!(left.snapshot.process, process);
        self.pids.retain(|known| *known != pid);
        let words = left.last_words(plan);
        self.left.push(left);
        words
    }

    /// The status table of a process, should it be the last look.
    fn read_last(&self, pid: u32) -> Option<Left> {
        let began = |name| self.began.get(&name).copied().unwrap_or(0);
        Left::read(&self.observer, pid, began)
    }

    /// Another process has taken the place of one that has ended, and its nodes have not begun. Gives
    /// how many messages were lost in between.
    pub(crate) fn revive(&mut self, process: &str, pid: u32) -> Result<u64> {
        // The observer forgets processes that have died, also those of whose end the launcher is still
        // to hear.
        let seen: Vec<Left> = self.pids.iter().filter_map(|pid| self.read_last(*pid)).collect();
        self.pids.push(pid);
        self.unreachable.extend(self.observer.refresh()?);
        let status_tables = self.observer.status_tables();
        let is_there = |left: &Left| status_tables.iter().any(|it| it.pid == left.snapshot.pid);
        self.forgotten.extend(seen.into_iter().filter(|left| !is_there(left)));
        let next = status_tables.iter().find(|status_table| status_table.pid == pid);
        // One that has ended again gets nothing: what was lost is counted with the one that comes next.
        let Some(next) = next else { return Ok(0) };
        self.began.insert(next.name, self.left.len());
        let first = self.revived.insert(process.to_owned(), self.left.len()).unwrap_or(0);
        // Those after the first ended before their nodes began.
        let mut lives = (first..self.left.len()).filter(|it| self.left[*it].is_of(process));
        let Some(before) = lives.next() else { return Ok(0) };
        let is_later = |name| self.began.contains_key(&name);
        let gap = Gap { left: &self.left, before, next, is_later: &is_later };
        let lost = gap.lost();
        let sum = lost.values().sum();
        for (topic, count) in lost {
            *self.lost.entry(topic).or_default() += count;
        }
        Ok(sum)
    }

    /// Messages published so far in the whole run. Reads shared memory only.
    pub(crate) fn published(&self) -> u64 {
        let status_tables = self.status_tables();
        let publishers = status_tables.iter().flat_map(|process| &process.publishers);
        publishers.map(|port| port.counters[counter::MESSAGES]).sum()
    }

    /// Tells when a node's process has worked that sleeps now.
    pub(crate) fn activity(&self) -> Result<Activity, ObserveError> {
        Activity::watch(self.observer.options().clone(), &self.pids)
    }

    /// Reads everything. `exits` says how processes have ended that did so before they were told
    /// to.
    pub(crate) fn read(
        &self,
        plan: &Plan,
        counts: &Counts,
        exits: &BTreeMap<String, String>,
    ) -> Reading {
        let status_tables = self.status_tables();
        let nodes = self.nodes(plan, &status_tables, exits);
        let topics = plan.topics.iter().map(|topic| {
            let mut row = topic_row(topic, &status_tables);
            row.losses.restart = self.lost.get(&topic.name).copied().unwrap_or(0);
            row
        });
        let topics = topics.collect();
        let chains = self.chains(plan, &status_tables);
        let simulated_s = simulated_s(plan, &status_tables);
        let mut notes = self.unreachable.clone();
        notes.extend(nodes.iter().filter_map(lockstep_note));
        notes.extend(exits.iter().map(|(process, how)| {
            match status_tables.iter().any(|seen| seen.process == *process) {
                true => format!(
                    "the figures of process `{process}`, and its part in those of topics and \
                     chains, are as it left them when it ended ({how})"
                ),
                false => format!(
                    "process `{process}` ended ({how}) before its figures could be had; they are \
                     missing above"
                ),
            }
        }));
        let gateways = gateway_rows(&status_tables);
        let mut fabrics = fabric_rows(&status_tables);
        for fabric in &mut fabrics {
            fabric.counts = counts::rows(&fabric.fabric, counts, &status_tables);
        }
        notes.extend(gateways.iter().flat_map(gateway_notes));
        notes.extend(fabrics.iter().flat_map(counts::notes));
        let services = calls::rows(&status_tables);
        let devices = devices::rows(&status_tables);
        Reading { nodes, topics, services, gateways, fabrics, devices, chains, simulated_s, notes }
    }

    /// The status tables of the run's processes, the launcher's own among them.
    fn status_tables(&self) -> Vec<ProcessSnapshot> {
        let mut status_tables = self.observer.status_tables();
        let own = std::process::id();
        status_tables.retain(|process| process.pid == own || self.pids.contains(&process.pid));
        status_tables.extend(self.left.iter().map(|left| left.snapshot.clone()));
        status_tables
    }

    fn histogram(&self, process: PeerName, record: &EntitySnapshot) -> Option<HistogramSnapshot> {
        let mut left = self.left.iter();
        let of_left = left.find_map(|left| left.histogram(process, record));
        of_left.or_else(|| self.observer.histogram(process, record))
    }

    /// One row per node, in the order of the plan.
    fn nodes(
        &self,
        plan: &Plan,
        status_tables: &[ProcessSnapshot],
        exits: &BTreeMap<String, String>,
    ) -> Vec<NodeRow> {
        let mut rows = Vec::new();
        for process in &plan.processes {
            let seen = status_tables.iter().filter(|seen| seen.process == process.name);
            let seen: Vec<_> = seen.collect();
            for node in process.executors.iter().flat_map(|executor| &executor.nodes) {
                // More than one where the process was started again.
                let records = seen.iter().flat_map(|seen| {
                    let records = seen.others.iter();
                    let of_node =
                        records.filter(|it| it.kind == kind::NODE && it.name == node.name);
                    of_node.map(|record| (seen.name, record))
                });
                let records: Vec<_> = records.collect();
                let mut execute = HistogramSnapshot::empty();
                for (process, record) in &records {
                    if let Some(histogram) = self.histogram(*process, record) {
                        execute.merge(&histogram);
                    }
                }
                let count = |index: usize| {
                    let counts = records.iter().map(|(_, it)| it.counters[index]);
                    counts.fold(0, u64::saturating_add)
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
                    execute: percentiles(Some(&execute)),
                });
            }
        }
        rows
    }

    /// One row per chain, from all processes that publish on its last topic.
    fn chains(&self, plan: &Plan, status_tables: &[ProcessSnapshot]) -> Vec<ChainRow> {
        let rows = plan.chains.iter().map(|chain| {
            let mut merged = HistogramSnapshot::empty();
            let (mut count, mut late, mut stalled) = (0, 0, 0_u64);
            for process in status_tables {
                let records = process.others.iter();
                for record in records.filter(|it| it.kind == kind::CHAIN && it.name == chain.name) {
                    let of = |index: usize, sum: &mut u64| {
                        *sum = sum.saturating_add(record.counters[index]);
                    };
                    of(chain_counter::MESSAGES, &mut count);
                    of(chain_counter::LATE, &mut late);
                    of(chain_counter::STALLED, &mut stalled);
                    if let Some(histogram) = self.histogram(process.name, record) {
                        merged.merge(&histogram);
                    }
                }
            }
            ChainRow {
                chain: chain.name.clone(),
                from: chain.from.clone(),
                to: chain.to.clone(),
                count,
                max_latency_ns: chain.max_latency.map(|limit| limit.limit_ns),
                late,
                stalled,
                time: percentiles(Some(&merged)),
            }
        });
        rows.collect()
    }
}

/// Fails when another process publishes a topic of which the plan holds all publishers: its
/// messages would mix with those of the run, and its nodes would hold up those of the run.
pub(crate) fn must_have_topics_alone(
    domain_id: u32,
    name: &str,
    plan: &Plan,
    pids: &[u32],
) -> Result<()> {
    let snapshot = Observer::open(observer_options(domain_id, name))?.snapshot()?;
    let own = std::process::id();
    let others = snapshot.processes.iter().filter(|it| it.pid != own && !pids.contains(&it.pid));
    // Nobody else may publish anything to a run that is to be repeated.
    let stepped = plan.steps.is_some();
    let published = plan.topics.iter();
    let published = published.filter(|it| stepped || !it.external && !it.publishers.is_empty());
    let mut published: BTreeSet<&str> = published.map(|topic| topic.name.as_str()).collect();
    published.extend(stepped.then_some(crossdock_comm::step::STEP_TOPIC));
    for other in others {
        let mut ports = other.publishers.iter();
        if let Some(port) = ports.find(|port| published.contains(port.topic.as_str())) {
            bail!(
                "{} is published in domain {domain_id} already, by node `{}` in process `{}` (pid \
                 {}); end that run first, or give this one a domain of its own with --domain-id",
                port.topic,
                port.node,
                other.process,
                other.pid
            );
        }
    }
    Ok(())
}

/// How this command observes: the processes of a domain at the usual place, of whomever that is for.
pub(crate) fn observer_options(domain_id: u32, name: &str) -> ObserverOptions {
    let rendezvous = Rendezvous::default_folder();
    ObserverOptions { domain_id, name: name.to_owned(), access: rendezvous.access(), rendezvous }
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
    let taken = |index: usize| subscribers.iter().map(|port| port.counters[index]).sum::<u64>();
    let message_type = topic
        .message_type
        .clone()
        .or_else(|| publishers.first().map(|port| port.type_name.clone()));
    TopicRow {
        topic: topic.name.clone(),
        message_type: message_type.unwrap_or_default(),
        messages: published(counter::MESSAGES),
        bytes: published(counter::BYTES),
        copies: published(counter::COPIES) + taken(counter::COPIES),
        unheard: published(counter::LOST_UNMATCHED),
        losses: Losses {
            lapped: taken(counter::LOST_LAPPED),
            keep_last: taken(counter::LOST_KEEP_LAST),
            timed_out: published(counter::LOST_TIMEOUT),
            corrupt: taken(counter::LOST_CORRUPT),
            restart: 0,
        },
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
            "{} messages of {topic} were not given to fabric `{fabric}`: they are longer than `bounds` \
             of the topic in the graph file, or damaged",
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

/// The simulated time that nodes in lock step have made; `None` when no node makes time.
fn simulated_s(plan: &Plan, status_tables: &[ProcessSnapshot]) -> Option<f64> {
    let executors = plan.processes.iter().flat_map(|process| &process.executors);
    let mut nodes = executors.flat_map(|executor| &executor.nodes);
    nodes.find(|node| node.lockstep.is_some())?;
    let records = status_tables.iter().flat_map(|process| &process.others);
    Some(made_ns(records) as f64 / 1e9)
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
         process was started again; the payloads of this run need not be those of another one",
        row.node
    ))
}

/// What the user should know of how the recording was played.
pub(crate) fn play_notes(report: &PlayReport) -> Vec<String> {
    let mut notes: Vec<String> = report.damage.iter().map(ToString::to_string).collect();
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
    incomplete.collect()
}
