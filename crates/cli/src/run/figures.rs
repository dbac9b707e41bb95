//! The figures of a run, read from the boards of its processes. It must not know how they are shown.

use crate::summary::{ChainRow, Losses, NodeRow, Percentiles, TopicRow};
use anyhow::Result;
use crossdock_comm::entities::{counter, kind};
use crossdock_comm::{
    Access, GraphSnapshot, HistogramSnapshot, Observer, ObserverOptions, PortSnapshot,
    ProcessSnapshot, Rendezvous,
};
use crossdock_executor::record::{chain_counter, node_counter};
use crossdock_graph::{Plan, TopicPlan};
use crossdock_record::{PlayReport, RecordReport};

/// Observes the processes of a run.
pub(crate) struct Figures {
    observer: Observer,
    /// Process ids of the run, the launcher's own among them.
    pids: Vec<u32>,
}

/// What was read.
pub(crate) struct Reading {
    pub(crate) nodes: Vec<NodeRow>,
    pub(crate) topics: Vec<TopicRow>,
    pub(crate) chains: Vec<ChainRow>,
    pub(crate) simulated_s: Option<f64>,
    /// Why a process could not be read.
    pub(crate) unreachable: Vec<String>,
}

impl Figures {
    /// Attaches to the processes with these ids; they do no work for it later.
    pub(crate) fn attach(domain_id: u32, name: &str, pids: Vec<u32>) -> Result<Self> {
        let mut observer = Observer::open(observer_options(domain_id, name))?;
        observer.refresh()?;
        Ok(Self { observer, pids })
    }

    /// Messages published so far in the whole run. Reads shared memory only.
    pub(crate) fn published(&mut self) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let publishers = snapshot.processes.iter().flat_map(|process| &process.publishers);
        Ok(publishers.map(|port| port.counters[counter::MESSAGES]).sum())
    }

    /// Reads everything.
    pub(crate) fn read(&mut self, plan: &Plan) -> Result<Reading> {
        let snapshot = self.snapshot()?;
        let nodes = self.nodes(plan, &snapshot);
        let topics = plan.topics.iter().map(|topic| topic_row(topic, &snapshot)).collect();
        let chains = self.chains(plan, &snapshot);
        let simulated_s = simulated_s(plan, &nodes);
        Ok(Reading { nodes, topics, chains, simulated_s, unreachable: snapshot.unreachable })
    }

    fn snapshot(&mut self) -> Result<GraphSnapshot> {
        let mut snapshot = self.observer.snapshot()?;
        snapshot.processes.retain(|process| self.pids.contains(&process.pid));
        Ok(snapshot)
    }

    /// One row per node, in the order of the plan.
    fn nodes(&self, plan: &Plan, snapshot: &GraphSnapshot) -> Vec<NodeRow> {
        let mut rows = Vec::new();
        for process in &plan.processes {
            let seen = snapshot.processes.iter().find(|seen| seen.process == process.name);
            for node in process.executors.iter().flat_map(|executor| &executor.nodes) {
                let record = seen.and_then(|seen| {
                    let mut records = seen.others.iter();
                    let record =
                        records.find(|it| it.kind == kind::NODE && it.name == node.name)?;
                    Some((record, self.observer.histogram(seen.name, record)))
                });
                let count = |index: usize| record.as_ref().map_or(0, |(it, _)| it.counters[index]);
                rows.push(NodeRow {
                    node: node.name.clone(),
                    process: process.name.clone(),
                    executions: count(node_counter::EXECUTIONS),
                    unmatched: count(node_counter::UNMATCHED),
                    execute: percentiles(record.as_ref().and_then(|(_, it)| it.as_ref())),
                });
            }
        }
        rows
    }

    /// One row per chain, from all processes that publish on its last topic.
    fn chains(&self, plan: &Plan, snapshot: &GraphSnapshot) -> Vec<ChainRow> {
        let rows = plan.chains.iter().map(|chain| {
            let mut merged = HistogramSnapshot::empty();
            let mut count = 0;
            for process in &snapshot.processes {
                let records = process.others.iter();
                for record in records.filter(|it| it.kind == kind::CHAIN && it.name == chain.name) {
                    count += record.counters[chain_counter::MESSAGES];
                    if let Some(histogram) = self.observer.histogram(process.name, record) {
                        merged.merge(&histogram);
                    }
                }
            }
            ChainRow {
                chain: chain.name.clone(),
                from: chain.from.clone(),
                to: chain.to.clone(),
                count,
                time: percentiles(Some(&merged)),
            }
        });
        rows.collect()
    }
}

/// How this command observes: the same user's processes of a domain at the usual place.
pub(crate) fn observer_options(domain_id: u32, name: &str) -> ObserverOptions {
    ObserverOptions {
        domain_id,
        name: name.to_owned(),
        rendezvous: Rendezvous::default_folder(),
        access: Access::SameUser,
    }
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

fn topic_row(topic: &TopicPlan, snapshot: &GraphSnapshot) -> TopicRow {
    let ports = |of: fn(&ProcessSnapshot) -> &Vec<PortSnapshot>| {
        let ports = snapshot.processes.iter().flat_map(of);
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
        },
    }
}

/// The simulated time that a node in lock step has made; `None` when no node makes time.
fn simulated_s(plan: &Plan, rows: &[NodeRow]) -> Option<f64> {
    let executors = plan.processes.iter().flat_map(|process| &process.executors);
    let mut nodes = executors.flat_map(|executor| &executor.nodes);
    nodes.find_map(|node| {
        let lockstep = node.lockstep.as_ref()?;
        let timer = node.timers.iter().find(|timer| timer.name == lockstep.timer)?;
        let row = rows.iter().find(|row| row.node == node.name)?;
        Some(row.executions as f64 * timer.period_ns as f64 / 1e9)
    })
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
