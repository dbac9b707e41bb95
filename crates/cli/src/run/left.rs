//! What a process of a run left behind in the lives that have ended: its figures, what it was
//! doing, which messages were lost with it. Its size does not depend on the number of lives. It
//! must not know how it is shown.

use super::process_figures::ProcessFigures;
use crossdock_comm::status_records::{Triggering, counter, kind};
use crossdock_comm::{PeerName, ProcessSnapshot};
use crossdock_executor::status::{node_counter, running};
use crossdock_graph::{NodePlan, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// See the head of this file.
pub(super) struct Left {
    /// The sums of all lives that have ended, without connections.
    pub(super) figures: ProcessFigures,
    /// What the next life that begins is compared with; `None` once it has begun.
    waiting: Option<Waiting>,
}

/// How far a process had got when it ended.
struct Waiting {
    /// The last message that each of its inputs had taken of each publisher, as the first life says
    /// that was connected to it.
    positions: BTreeMap<Link, u64>,
    /// Messages that its nodes had taken and not finished, by topic.
    unfinished: BTreeMap<String, u64>,
}

/// An input and one of its publishers, the same in all lives of the input's process.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    publisher_process: PeerName,
    publisher: u64,
    node: String,
    topic: String,
}

impl Left {
    /// A process has ended for the first time.
    pub(super) fn new(life: ProcessFigures) -> Self {
        let waiting = Some(Waiting::of(&life.table));
        let mut figures = life;
        figures.table.connections.clear();
        Self { figures, waiting }
    }

    /// It has ended once more. `known` are the processes that may still be there.
    pub(super) fn add(&mut self, life: &ProcessFigures, known: &BTreeSet<PeerName>) {
        match &mut self.waiting {
            Some(waiting) => waiting.add(&life.table, known),
            None => self.waiting = Some(Waiting::of(&life.table)),
        }
        self.figures.add(life);
    }

    /// A life of the process begins, with connections as in `next`. Gives the messages by topic
    /// that were published for the process since the last life that began and that neither that one
    /// has finished nor `next` will get. Publishers that have gone, too, say nothing.
    pub(super) fn lost(&mut self, next: &ProcessSnapshot) -> BTreeMap<String, u64> {
        let Some(Waiting { positions, unfinished: mut lost }) = self.waiting.take() else {
            return BTreeMap::new();
        };
        for (link, triggering, position) in links(next) {
            let Some(before) = positions.get(&link).filter(|_| triggering) else { continue };
            *lost.entry(link.topic).or_default() += position.saturating_sub(*before);
        }
        lost.retain(|_, count| *count > 0);
        lost
    }
}

impl Waiting {
    fn of(life: &ProcessSnapshot) -> Self {
        let triggering = |port: u64| {
            let mut connections = life.connections.iter();
            connections
                .any(|it| it.detail.subscriber == port && it.detail.triggering == Triggering::Yes)
        };
        let mut unfinished: BTreeMap<String, u64> = BTreeMap::new();
        for input in life.subscribers.iter().filter(|it| triggering(it.port)) {
            let (taken, done) = (counter::MESSAGES, counter::PROCESSED);
            let count = input.counters[taken].saturating_sub(input.counters[done]);
            *unfinished.entry(input.topic.clone()).or_default() += count;
        }
        let mut positions = BTreeMap::new();
        for (link, _, position) in links(life) {
            positions.entry(link).or_insert(position);
        }
        Self { positions, unfinished }
    }

    /// A life has ended before its nodes began: they finished nothing, and it may have been
    /// connected to publishers that were not there before. Those that have gone are forgotten.
    fn add(&mut self, life: &ProcessSnapshot, known: &BTreeSet<PeerName>) {
        for (link, _, position) in links(life) {
            self.positions.entry(link).or_insert(position);
        }
        self.positions.retain(|link, _| known.contains(&link.publisher_process));
    }
}

/// The connections of a life: whether they release their node, and their positions.
fn links(life: &ProcessSnapshot) -> impl Iterator<Item = (Link, bool, u64)> {
    life.connections.iter().filter_map(|connection| {
        let detail = &connection.detail;
        let input = life.subscribers.iter().find(|it| it.port == detail.subscriber)?;
        let link = Link {
            publisher_process: detail.publisher_process,
            publisher: detail.publisher,
            node: input.node.clone(),
            topic: input.topic.clone(),
        };
        Some((link, detail.triggering == Triggering::Yes, connection.position))
    })
}

/// Which nodes of a process that has ended were executing, and what released them: ` while node `a`
/// ran on input `b``.
pub(super) fn last_words(plan: &Plan, life: &ProcessSnapshot) -> String {
    let processes = plan.all_processes().filter(|it| it.name == life.process);
    let nodes = processes.flat_map(|process| &process.executors).flat_map(|it| &it.nodes);
    let ran = nodes.filter_map(|node| Some((node, what_ran(life, node)?)));
    let ran: Vec<String> =
        ran.map(|(node, what)| format!("node `{}` ran on {what}", node.name)).collect();
    match ran.is_empty() {
        true => " while none of its nodes ran".to_owned(),
        false => format!(" while {}", ran.join(" and ")),
    }
}

fn what_ran(life: &ProcessSnapshot, node: &NodePlan) -> Option<String> {
    let mut records = life.others.iter();
    let record = records.find(|it| it.kind == kind::NODE && it.name == node.name)?;
    running(node, record.counters[node_counter::RUNNING])
}
