//! What processes of a run left behind when they ended: what they were doing, how far they were,
//! and which messages were lost with them.

use crossdock_comm::status_records::{Triggering, counter, kind};
use crossdock_comm::{ConnectionSnapshot, EntitySnapshot, PeerName, ProcessSnapshot};
use crossdock_executor::status::{node_counter, running};
use crossdock_graph::{FabricPlan, NodePlan, Plan, ProcessPlan};
use std::collections::{BTreeMap, BTreeSet};

/// What a process that has ended was doing, and how far it was.
#[derive(Debug, Default)]
pub(crate) struct LastWords {
    /// Which nodes were executing, and what released them: ` while node `a` ran on input `b``.
    pub(crate) doing: String,
    /// Simulated time that its nodes in lock step have made, ns.
    pub(crate) made_ns: u64,
}

impl LastWords {
    pub(super) fn of(plan: &Plan, life: &ProcessSnapshot) -> Self {
        let processes = plan.all_processes().filter(|it| it.name == life.process);
        let nodes = processes.flat_map(ProcessPlan::nodes);
        let ran = nodes.filter_map(|node| Some((node, what_runs(life, node)?)));
        let ran: Vec<String> =
            ran.map(|(node, what)| format!("node `{}` ran on {what}", node.name)).collect();
        // The only node of a host is of no graph file.
        let is_host = |it: &&FabricPlan| it.host.as_ref().is_some_and(|it| it.name == life.process);
        let doing = match (plan.fabrics.iter().find(is_host), ran.is_empty()) {
            (Some(fabric), true) => {
                format!(" while fabric `{}`, which it hosts, was at rest", fabric.name)
            }
            (Some(fabric), false) => {
                format!(" while fabric `{}`, which it hosts, was at work", fabric.name)
            }
            (None, true) => " while none of its nodes ran".to_owned(),
            (None, false) => format!(" while {}", ran.join(" and ")),
        };
        Self { doing, made_ns: made_ns(&life.others) }
    }
}

/// What a node is doing, or was when its process died; `None`: it does not execute.
pub(super) fn what_runs(life: &ProcessSnapshot, node: &NodePlan) -> Option<String> {
    let mut records = life.others.iter();
    let record = records.find(|it| it.kind == kind::NODE && it.name == node.name)?;
    running(node, record.counters[node_counter::RUNNING])
}

/// The latest simulated time that these records of nodes in lock step have made, ns.
pub(super) fn made_ns<'a>(records: impl IntoIterator<Item = &'a EntitySnapshot>) -> u64 {
    let nodes = records.into_iter().filter(|record| record.kind == kind::NODE);
    nodes.map(|record| record.counters[node_counter::MADE_NS]).max().unwrap_or(0)
}

/// Lives of processes that have ended, as long as messages may still be lost with them.
#[derive(Default)]
pub(super) struct Left {
    /// In the order of their ends.
    lives: Vec<Life>,
    /// How many lives have ended so far: the time of this bookkeeping.
    ends: u64,
    /// When the nodes of a process began that took the place of another one.
    began: BTreeMap<PeerName, u64>,
    /// Processes that nobody has replaced yet: when the life ended whose nodes had begun.
    away: BTreeMap<String, u64>,
}

struct Life {
    began: u64,
    ended: u64,
    table: ProcessSnapshot,
}

impl Left {
    /// A process has ended.
    pub(super) fn add(&mut self, table: ProcessSnapshot) {
        let (began, ended) = (self.began.get(&table.name).copied().unwrap_or(0), self.ends);
        self.ends += 1;
        // Those that end before another one's nodes have begun have finished nothing.
        self.away.entry(table.process.clone()).or_insert(ended);
        self.lives.push(Life { began, ended, table });
    }

    /// The nodes of `next` are about to begin in the place of a process that has ended. Gives the
    /// messages by topic that were published for the process and that neither the one before has
    /// finished nor `next` will get. `tables` are the tables of all processes that are there.
    pub(super) fn replace(
        &mut self,
        next: &ProcessSnapshot,
        tables: &[ProcessSnapshot],
    ) -> BTreeMap<String, u64> {
        self.began.insert(next.name, self.ends);
        let ended = self.away.remove(&next.process);
        let lost = self.lost(ended, Until::Replaced(next));
        self.forget(tables);
        lost
    }

    /// The same of a process whose place nobody has taken so far: what was published for it until
    /// now.
    pub(super) fn missed(
        &self,
        process: &str,
        tables: &[ProcessSnapshot],
    ) -> BTreeMap<String, u64> {
        self.lost(self.away.get(process).copied(), Until::Now(tables))
    }

    /// What was lost with the life that ended then.
    fn lost(&self, ended: Option<u64>, until: Until<'_>) -> BTreeMap<String, u64> {
        let before = ended.and_then(|ended| self.lives.iter().find(|life| life.ended == ended));
        before.map(|before| Gap { left: self, before, until }.lost()).unwrap_or_default()
    }

    fn has_ended(&self, process: PeerName) -> bool {
        self.lives.iter().any(|life| life.table.name == process)
    }

    /// Whether it took the place of a process that had ended.
    fn is_replacement(&self, process: PeerName) -> bool {
        self.began.contains_key(&process)
    }

    /// Forgets what no loss will be counted from: lives that no process there is connected to, once
    /// no process is away. So their number does not grow with the deaths of a run.
    fn forget(&mut self, tables: &[ProcessSnapshot]) {
        if !self.away.is_empty() {
            return;
        }
        let connections = tables.iter().flat_map(|table| &table.connections);
        let publishers: BTreeSet<_> = connections.map(|it| it.detail.publisher_process).collect();
        self.lives.retain(|life| publishers.contains(&life.table.name));
        self.began.retain(|name, _| tables.iter().any(|table| table.name == *name));
    }

    /// How many are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lives.len() + self.began.len() + self.away.len()
    }
}

/// A process that has ended, and how long it is away.
struct Gap<'a> {
    left: &'a Left,
    /// The one whose nodes had begun.
    before: &'a Life,
    until: Until<'a>,
}

enum Until<'a> {
    /// This process takes its place.
    Replaced(&'a ProcessSnapshot),
    /// None has so far; what observed processes have published, those of ended ones may be among
    /// them.
    Now(&'a [ProcessSnapshot]),
}

impl<'a> Gap<'a> {
    fn lost(&self) -> BTreeMap<String, u64> {
        let mut lost: BTreeMap<String, u64> = BTreeMap::new();
        let unfinished = unfinished(&self.before.table);
        let passed_by = match self.until {
            Until::Replaced(next) => self.passed_by(next).collect(),
            Until::Now(tables) => {
                let there = tables.iter().filter(|table| !self.left.has_ended(table.name));
                self.published(there.map(|table| (table, self.left.is_replacement(table.name))))
            }
        };
        let lives = self.left.lives.iter();
        let gone = self.published(lives.map(|gone| (&gone.table, gone.began > self.before.ended)));
        for (topic, count) in passed_by.into_iter().chain(gone).chain(unfinished) {
            *lost.entry(topic).or_default() += count;
        }
        lost.retain(|_, count| *count > 0);
        lost
    }

    /// Of publishers that `next` is connected to: what they published while the process was away.
    /// One that the process before did not have began after its end, and all that came before the
    /// connection is lost.
    fn passed_by(&self, next: &'a ProcessSnapshot) -> impl Iterator<Item = (String, u64)> {
        next.connections.iter().filter(|after| triggers(after)).filter_map(move |after| {
            let publisher = (after.detail.publisher_process, after.detail.publisher);
            let node = node_of(next, after.detail.subscriber)?;
            let from = self.from(publisher, node, self.left.is_replacement(publisher.0))?;
            Some((after.topic.clone(), after.position.saturating_sub(from)))
        })
    }

    /// Of publishers of these processes, each with whether it began while the process was away: all
    /// that they have published and the process before had not reached.
    fn published<'t>(
        &self,
        processes: impl Iterator<Item = (&'t ProcessSnapshot, bool)>,
    ) -> Vec<(String, u64)> {
        let inputs = self.inputs();
        let mut lost = Vec::new();
        for (process, is_new) in processes {
            for port in &process.publishers {
                let nodes = inputs.iter().filter(|(_, topic)| *topic == port.topic);
                for (node, topic) in nodes {
                    let publisher = (process.name, port.port);
                    let Some(from) = self.from(publisher, node, is_new) else { continue };
                    let published = port.counters[counter::MESSAGES];
                    lost.push(((*topic).to_owned(), published.saturating_sub(from)));
                }
            }
        }
        lost
    }

    /// From which message of a publisher on a node of the process has lost them.
    fn from(&self, publisher: (PeerName, u64), node: &str, is_new: bool) -> Option<u64> {
        self.position(publisher, node).or(is_new.then_some(0))
    }

    /// The nodes of the process and the topics whose messages release them.
    fn inputs(&self) -> BTreeSet<(&str, &str)> {
        let next = match self.until {
            Until::Replaced(next) => Some(next),
            Until::Now(_) => None,
        };
        let lives = [&self.before.table].into_iter().chain(next);
        let connections = lives.flat_map(|process| {
            process.connections.iter().filter(|it| triggers(it)).map(move |it| (process, it))
        });
        let named = connections
            .filter_map(|(of, it)| Some((node_of(of, it.detail.subscriber)?, it.topic.as_str())));
        named.collect()
    }

    /// How far a node of the process before was with the messages of a publisher.
    fn position(&self, publisher: (PeerName, u64), node: &str) -> Option<u64> {
        let mut connections = self.before.table.connections.iter();
        let found = connections.find(|it| {
            (it.detail.publisher_process, it.detail.publisher) == publisher
                && triggers(it)
                && node_of(&self.before.table, it.detail.subscriber) == Some(node)
        });
        found.map(|it| it.position)
    }
}

/// Messages by topic that were to release nodes of these processes and have not been worked off:
/// published and not taken, or taken and not finished. `tables`: of all publishers.
pub(super) fn in_flight<'a>(
    processes: impl IntoIterator<Item = &'a ProcessSnapshot>,
    tables: &[ProcessSnapshot],
) -> BTreeMap<String, u64> {
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    for process in processes {
        let waiting = process.connections.iter().filter(|it| triggers(it)).filter_map(|it| {
            let mut tables = tables.iter();
            let publisher = tables.find(|table| table.name == it.detail.publisher_process)?;
            let mut ports = publisher.publishers.iter();
            let port = ports.find(|port| port.port == it.detail.publisher)?;
            let published = port.counters[counter::MESSAGES];
            Some((it.topic.clone(), published.saturating_sub(it.position)))
        });
        for (topic, count) in waiting.chain(unfinished(process)).filter(|(_, count)| *count > 0) {
            *left.entry(topic).or_default() += count;
        }
    }
    left
}

/// Messages that a process had taken and not finished, by topic.
fn unfinished(life: &ProcessSnapshot) -> impl Iterator<Item = (String, u64)> {
    let of_triggering =
        |port: u64| life.connections.iter().any(|it| it.detail.subscriber == port && triggers(it));
    let inputs = life.subscribers.iter().filter(move |it| of_triggering(it.port));
    inputs.map(|input| {
        let (taken, done) = (counter::MESSAGES, counter::PROCESSED);
        (input.topic.clone(), input.counters[taken].saturating_sub(input.counters[done]))
    })
}

/// The node to which a subscriber of a process belongs.
fn node_of(process: &ProcessSnapshot, port: u64) -> Option<&str> {
    let found = process.subscribers.iter().find(|it| it.port == port);
    found.map(|it| it.node.as_str())
}

/// Whether messages of a connection release the node.
fn triggers(connection: &ConnectionSnapshot) -> bool {
    connection.detail.triggering == Triggering::Yes
}
