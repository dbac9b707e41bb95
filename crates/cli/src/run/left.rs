//! What the processes of a run left behind that ended before it: their figures, what they were doing,
//! which messages were lost with them. It must not know how it is shown.

use crossdock_comm::status_records::{Triggering, counter, kind};
use crossdock_comm::{EntitySnapshot, HistogramSnapshot, Observer, PeerName, ProcessSnapshot};
use crossdock_executor::status::{node_counter, running};
use crossdock_graph::{NodePlan, Plan};
use std::collections::BTreeMap;

/// A process that has ended, as its status table was.
pub(super) struct Left {
    pub(super) snapshot: ProcessSnapshot,
    histograms: BTreeMap<usize, HistogramSnapshot>,
}

impl Left {
    /// Reads the status table of a process for the last time.
    pub(super) fn read(observer: &Observer, pid: u32) -> Option<Self> {
        let snapshot = observer.status_tables().into_iter().find(|process| process.pid == pid)?;
        let records = snapshot.others.iter();
        let histograms = records
            .filter_map(|record| Some((record.index, observer.histogram(snapshot.name, record)?)));
        Some(Self { histograms: histograms.collect(), snapshot })
    }

    pub(super) fn histogram(
        &self,
        process: PeerName,
        record: &EntitySnapshot,
    ) -> Option<HistogramSnapshot> {
        let own = self.snapshot.name == process;
        own.then(|| self.histograms.get(&record.index).cloned()).flatten()
    }

    /// Which nodes were executing, and what released them: ` while node `a` ran on input `b``.
    pub(super) fn last_words(&self, plan: &Plan) -> String {
        let processes = plan.all_processes().filter(|it| it.name == self.snapshot.process);
        let nodes = processes.flat_map(|process| &process.executors).flat_map(|it| &it.nodes);
        let ran = nodes.filter_map(|node| Some((node, self.running(node)?)));
        let ran: Vec<String> =
            ran.map(|(node, what)| format!("node `{}` ran on {what}", node.name)).collect();
        match ran.is_empty() {
            true => " while none of its nodes ran".to_owned(),
            false => format!(" while {}", ran.join(" and ")),
        }
    }

    fn running(&self, node: &NodePlan) -> Option<String> {
        let mut records = self.snapshot.others.iter();
        let record = records.find(|it| it.kind == kind::NODE && it.name == node.name)?;
        running(node, record.counters[node_counter::RUNNING])
    }

    /// Messages that were published for the process and that neither it has finished nor `next`, the
    /// process that takes its place, will get: by topic. `between` are processes that took its place
    /// before and ended before their nodes began, in that order: they finished nothing, and may have had
    /// publishers that were not there before. Publishers that have gone, too, say nothing.
    pub(super) fn lost(&self, between: &[&Self], next: &ProcessSnapshot) -> BTreeMap<String, u64> {
        let mut lost: BTreeMap<String, u64> = BTreeMap::new();
        let port = |process: &ProcessSnapshot, port: u64| {
            let found = process.subscribers.iter().find(|it| it.port == port);
            found.map(|it| (it.node.clone(), it.topic.clone()))
        };
        let lives = std::iter::once(self).chain(between.iter().copied());
        // Of each connection of `next` the first life that had it, too.
        for after in &next.connections {
            let of = port(next, after.detail.subscriber);
            let before = lives.clone().find_map(|life| {
                life.snapshot.connections.iter().find(|before| {
                    after.detail.publisher_process == before.detail.publisher_process
                        && after.detail.publisher == before.detail.publisher
                        && port(&life.snapshot, before.detail.subscriber) == of
                })
            });
            let waits = after.detail.triggering == Triggering::Yes;
            let (true, Some(before)) = (waits, before) else { continue };
            let missed = after.position.saturating_sub(before.position);
            *lost.entry(before.topic.clone()).or_default() += missed;
        }
        let triggering = |port: u64| {
            let mut connections = self.snapshot.connections.iter();
            connections
                .any(|it| it.detail.subscriber == port && it.detail.triggering == Triggering::Yes)
        };
        for input in self.snapshot.subscribers.iter().filter(|it| triggering(it.port)) {
            let (taken, done) = (counter::MESSAGES, counter::PROCESSED);
            let unfinished = input.counters[taken].saturating_sub(input.counters[done]);
            *lost.entry(input.topic.clone()).or_default() += unfinished;
        }
        lost.retain(|_, count| *count > 0);
        lost
    }
}
