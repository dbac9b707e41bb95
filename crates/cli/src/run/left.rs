//! What the processes of a run left behind that ended before it: their figures, what they were doing,
//! which messages were lost with them. It must not know how it is shown.

use crossdock_comm::status_records::{Triggering, counter, kind};
use crossdock_comm::{
    ConnectionSnapshot, EntitySnapshot, HistogramSnapshot, Observer, PeerName, ProcessSnapshot,
};
use crossdock_executor::status::{node_counter, running};
use crossdock_graph::{NodePlan, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// What a process that has ended was doing, and how far it was.
#[derive(Debug, Default)]
pub(crate) struct LastWords {
    /// Which nodes were executing, and what released them: ` while node `a` ran on input `b``.
    pub(crate) doing: String,
    /// Simulated time that its nodes in lock step have made, ns.
    pub(crate) made_ns: u64,
}

/// A process that has ended, as its status table was.
pub(super) struct Left {
    pub(super) snapshot: ProcessSnapshot,
    /// How many processes had ended when its nodes began.
    began: usize,
    histograms: BTreeMap<usize, HistogramSnapshot>,
}

impl Left {
    /// Reads the status table of a process for the last time. `began` says how many processes had ended
    /// when the nodes of this one began.
    pub(super) fn read(
        observer: &Observer,
        pid: u32,
        began: impl FnOnce(PeerName) -> usize,
    ) -> Option<Self> {
        let snapshot = observer.status_tables().into_iter().find(|process| process.pid == pid)?;
        let records = snapshot.others.iter();
        let histograms = records
            .filter_map(|record| Some((record.index, observer.histogram(snapshot.name, record)?)));
        let began = began(snapshot.name);
        Some(Self { histograms: histograms.collect(), snapshot, began })
    }

    /// Whether it had this name in the mapping.
    pub(super) fn is_of(&self, process: &str) -> bool {
        self.snapshot.process == process
    }

    pub(super) fn histogram(
        &self,
        process: PeerName,
        record: &EntitySnapshot,
    ) -> Option<HistogramSnapshot> {
        let own = self.snapshot.name == process;
        own.then(|| self.histograms.get(&record.index).cloned()).flatten()
    }

    pub(super) fn last_words(&self, plan: &Plan) -> LastWords {
        let processes = plan.all_processes().filter(|it| it.name == self.snapshot.process);
        let nodes = processes.flat_map(|process| &process.executors).flat_map(|it| &it.nodes);
        let ran = nodes.filter_map(|node| Some((node, self.running(node)?)));
        let ran: Vec<String> =
            ran.map(|(node, what)| format!("node `{}` ran on {what}", node.name)).collect();
        let doing = match ran.is_empty() {
            true => " while none of its nodes ran".to_owned(),
            false => format!(" while {}", ran.join(" and ")),
        };
        LastWords { doing, made_ns: made_ns(self.snapshot.others.iter()) }
    }

    fn running(&self, node: &NodePlan) -> Option<String> {
        let mut records = self.snapshot.others.iter();
        let record = records.find(|it| it.kind == kind::NODE && it.name == node.name)?;
        running(node, record.counters[node_counter::RUNNING])
    }

    /// Messages that it had taken and not finished, by topic.
    fn unfinished(&self) -> impl Iterator<Item = (String, u64)> {
        let of_triggering = |port: u64| {
            let mut connections = self.snapshot.connections.iter();
            connections.any(|it| it.detail.subscriber == port && triggers(it))
        };
        let inputs = self.snapshot.subscribers.iter().filter(move |it| of_triggering(it.port));
        inputs.map(|input| {
            let (taken, done) = (counter::MESSAGES, counter::PROCESSED);
            let count = input.counters[taken].saturating_sub(input.counters[done]);
            (input.topic.clone(), count)
        })
    }
}

/// A process that has ended, and the one that takes its place.
pub(super) struct Gap<'a> {
    /// All processes that have ended, in that order.
    pub(super) left: &'a [Left],
    /// The place among them of the one whose nodes had begun.
    pub(super) before: usize,
    /// The process that takes its place.
    pub(super) next: &'a ProcessSnapshot,
    /// Whether the process of this name was started in the place of another one.
    pub(super) is_later: &'a dyn Fn(PeerName) -> bool,
}

impl Gap<'_> {
    /// Messages that were published for the process and that neither it has finished nor the one that
    /// takes its place will get: by topic.
    pub(super) fn lost(&self) -> BTreeMap<String, u64> {
        let before = &self.left[self.before];
        let mut lost: BTreeMap<String, u64> = BTreeMap::new();
        for (topic, count) in self.passed_by().chain(self.gone()).chain(before.unfinished()) {
            *lost.entry(topic).or_default() += count;
        }
        lost.retain(|_, count| *count > 0);
        lost
    }

    /// Of publishers that are there: what they published while the process was away. One that the
    /// process before did not have began after its end, and all that came before the connection is lost.
    fn passed_by(&self) -> impl Iterator<Item = (String, u64)> {
        self.next.connections.iter().filter(|after| triggers(after)).filter_map(|after| {
            let publisher = (after.detail.publisher_process, after.detail.publisher);
            let node = node_of(self.next, after.detail.subscriber)?;
            let from = match self.position(publisher, node) {
                Some(position) => position,
                None if (self.is_later)(publisher.0) => 0,
                None => return None,
            };
            Some((after.topic.clone(), after.position.saturating_sub(from)))
        })
    }

    /// Of publishers that have ended, too: what the process before had not reached, and everything of
    /// those that began and ended while it was away.
    fn gone(&self) -> Vec<(String, u64)> {
        let inputs = self.inputs();
        let mut lost = Vec::new();
        for gone in self.left {
            for port in &gone.snapshot.publishers {
                let nodes = inputs.iter().filter(|(_, topic)| *topic == port.topic);
                for (node, topic) in nodes {
                    let from = match self.position((gone.snapshot.name, port.port), node) {
                        Some(position) => position,
                        None if gone.began > self.before => 0,
                        None => continue,
                    };
                    let published = port.counters[counter::MESSAGES];
                    lost.push(((*topic).to_owned(), published.saturating_sub(from)));
                }
            }
        }
        lost
    }

    /// The nodes of the process and the topics whose messages release them.
    fn inputs(&self) -> BTreeSet<(&str, &str)> {
        let lives = [&self.left[self.before].snapshot, self.next];
        let connections = lives.into_iter().flat_map(|process| {
            process.connections.iter().filter(|it| triggers(it)).map(move |it| (process, it))
        });
        let named = connections
            .filter_map(|(of, it)| Some((node_of(of, it.detail.subscriber)?, it.topic.as_str())));
        named.collect()
    }

    /// How far a node of the process before was with the messages of a publisher.
    fn position(&self, publisher: (PeerName, u64), node: &str) -> Option<u64> {
        let before = &self.left[self.before].snapshot;
        let mut connections = before.connections.iter();
        let found = connections.find(|it| {
            (it.detail.publisher_process, it.detail.publisher) == publisher
                && node_of(before, it.detail.subscriber) == Some(node)
        });
        found.map(|it| it.position)
    }
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

/// The latest simulated time that these records of nodes in lock step have made, ns.
pub(super) fn made_ns<'a>(records: impl Iterator<Item = &'a EntitySnapshot>) -> u64 {
    let nodes = records.filter(|record| record.kind == kind::NODE);
    nodes.map(|record| record.counters[node_counter::MADE_NS]).max().unwrap_or(0)
}
