//! Runs in steps: in which phase of a step each node runs, and which phases a message leads to.
//!
//! The nodes are in the order of `triggers`, taken from the graph file alone, so that it is the
//! same in every mapping. If a node is before another in it, and publishes what the other reads or
//! reads what the other publishes, it must have finished first: where the two are in one executor
//! its order sees to that, otherwise the later one is a phase later.

use super::hardware::Hardware;
use super::{Check, Port, Resolved, Seat, Thread, Topics};
use crate::description::TimerClock;
use crate::plan::{ProcessPlan, StepPlan, StepTimer};
use crate::qos::{Qos, Reliability};
use crate::violation::ViolationKind;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Messages that one step may lead to on one input that triggers. They wait until the turn of their
/// node comes, which is when everything before it is done.
const STEP_DEPTH: u32 = 512;

/// Topic of the simulated time, which the launcher publishes.
const CLOCK_TOPIC: &str = "/clock";

/// The phase of each node, by its index in the graph.
pub(super) struct Stepping {
    phases: Vec<u32>,
}

/// The latest phases on one side of a topic: the latest of all and its executor, and the latest of
/// all other executors.
#[derive(Clone, Copy, Default)]
struct Latest {
    first: Option<(u32, Thread)>,
    second: Option<u32>,
}

impl Latest {
    fn add(&mut self, phase: u32, executor: Thread) {
        match self.first {
            Some((first, of)) if of == executor => self.first = Some((first.max(phase), of)),
            Some((first, _)) if first >= phase => self.second = self.second.max(Some(phase)),
            first => {
                self.second = first.map(|(phase, _)| phase);
                self.first = Some((phase, executor));
            }
        }
    }

    /// The first phase in which somebody in `executor` comes after all of these.
    fn after(&self, executor: Thread) -> u32 {
        match self.first {
            None => 0,
            Some((phase, of)) if of == executor => {
                phase.max(self.second.map_or(0, |second| second + 1))
            }
            Some((phase, _)) => phase + 1,
        }
    }
}

impl<'a> Check<'a> {
    /// What is measured: in steps nothing, because messages carry simulated time only, which does
    /// not pass within a step.
    pub(super) fn measured_chains(&self) -> Vec<crate::model::Chain> {
        if self.options.time.is_stepped() { Vec::new() } else { self.graph.chains.clone() }
    }

    /// What cannot be repeated bit by bit is refused where a run is to be.
    pub(super) fn steppable(&mut self, hardware: &Hardware<'a>, topics: &Topics<'a>) {
        if !self.options.time.is_stepped() {
            return;
        }
        for node in hardware.keys().copied().collect::<Vec<_>>() {
            let message = "it is mapped to a fabric, which takes its own time within a step, so \
                           that the run cannot be repeated bit by bit";
            let advice = "map it to a process of the mapping, or play the recording with \
                          `crossdock run --input`";
            let kind = ViolationKind::NotRepeatable;
            let violation = self.fault(kind, &["nodes", node], message, advice);
            self.note(violation.for_node(node));
        }
        let mut calling = Vec::new();
        for node in &self.graph.nodes {
            let client = node.clients.first().map(|client| ("clients", "client", &client.port));
            let server = node.servers.first().map(|server| ("servers", "server", &server.port));
            let Some((key, what, port)) = client.or(server) else { continue };
            let message = format!(
                "it has a {what} (`{port}`): when a call is answered depends on how long others \
                 take, so that the run cannot be repeated bit by bit"
            );
            let advice = "leave the node out of the graph and replay what it published, or play the \
                          recording with `crossdock run --input`";
            let path = ["nodes", &node.name, key, port];
            let violation = self.fault(ViolationKind::NotRepeatable, &path, message, advice);
            calling.push(violation.for_node(&node.name));
        }
        calling.into_iter().for_each(|violation| self.note(violation));
        let played: Vec<&str> = self.options.played.iter().map(String::as_str).collect();
        for (topic, ports) in topics {
            let inside = ports.publishers.first();
            let Some(port) = inside.filter(|_| played.contains(topic) || *topic == CLOCK_TOPIC)
            else {
                continue;
            };
            let node = self.node_name(port.node);
            let message = format!(
                "node `{node}` (output `{}`) publishes the topic beside the recording, so that the \
                 order of their messages is not known",
                port.port
            );
            let advice = "remove the node from the graph, or rename its topic";
            let kind = ViolationKind::NotRepeatable;
            let path = ["nodes", node, "outputs", port.port];
            let violation = self.fault(kind, &path, message, advice);
            self.note(violation.for_node(node).for_topic(topic));
        }
    }

    /// Timers that go by the computer's clocks fire at other times in each run.
    pub(super) fn steppable_timers(&mut self, nodes: &[Resolved<'a>]) {
        if !self.options.time.is_stepped() {
            return;
        }
        for (node, resolved) in self.graph.nodes.iter().zip(nodes) {
            let timers = resolved.description.into_iter().flat_map(|it| &it.timers);
            for timer in timers.filter(|timer| timer.clock != TimerClock::Ros) {
                let message = format!(
                    "timer `{}` goes by the computer's clock, so that the run cannot be repeated \
                     bit by bit",
                    timer.name
                );
                let advice = "let the node use a timer of ROS time, or play the recording with \
                              `crossdock run --input`";
                let kind = ViolationKind::NotRepeatable;
                let violation = self.fault(kind, &["nodes", &node.name], message, advice);
                self.note(violation.for_node(&node.name));
            }
        }
    }

    /// What an input asks for in steps: one that triggers gets every message of a step.
    pub(super) fn stepped_qos(&self, port: &Port<'a>, topic: &str) -> Qos {
        if !port.trigger || self.is_external(topic) {
            return port.qos.timeless();
        }
        let depth = port.qos.depth.max(STEP_DEPTH);
        Qos { reliability: Reliability::Reliable, depth, ..port.qos.timeless() }
    }

    /// The phase of every node; `None` if the run is not stepped.
    pub(super) fn stepping(
        &self,
        seats: &[Option<Seat>],
        topics: &Topics<'a>,
        order: &[usize],
    ) -> Option<Stepping> {
        if !self.options.time.is_stepped() {
            return None;
        }
        let mut phases = vec![0; self.graph.nodes.len()];
        // Of those before the node whose turn it is.
        let mut publishers: BTreeMap<&str, Latest> = BTreeMap::new();
        let mut readers: BTreeMap<&str, Latest> = BTreeMap::new();
        for node in order.iter().copied() {
            let Some(seat) = seats[node] else { continue };
            let executor = seat.thread();
            let own = &self.graph.nodes[node];
            let inputs = own.inputs.iter().map(|input| publishers.get(input.topic.as_str()));
            let outputs = own.outputs.iter().map(|output| readers.get(output.topic.as_str()));
            let before = inputs.chain(outputs).flatten();
            let phase = before.map(|latest| latest.after(executor)).max().unwrap_or(0);
            phases[node] = phase;
            for output in own.outputs.iter().filter(|it| topics.contains_key(it.topic.as_str())) {
                publishers.entry(&output.topic).or_default().add(phase, executor);
            }
            for input in own.inputs.iter().filter(|it| topics.contains_key(it.topic.as_str())) {
                readers.entry(&input.topic).or_default().add(phase, executor);
            }
        }
        Some(Stepping { phases })
    }

    /// Tells the nodes of the plan their phases, and says which phases what leads to.
    pub(super) fn step_plan(
        &self,
        stepping: Stepping,
        topics: &Topics<'a>,
        processes: &mut [ProcessPlan],
    ) -> StepPlan {
        let Stepping { phases } = stepping;
        let indexes: BTreeMap<&str, usize> =
            self.graph.nodes.iter().enumerate().map(|(it, node)| (&*node.name, it)).collect();
        let mut rates: BTreeMap<(u64, Option<u64>), Vec<usize>> = BTreeMap::new();
        let executors = processes.iter_mut().flat_map(|process| &mut process.executors);
        for node in executors.flat_map(|executor| &mut executor.nodes) {
            let Some(&index) = indexes.get(node.name.as_str()) else { continue };
            node.phase = phases[index];
            for timer in &node.timers {
                let rate = (timer.period_ns.max(1), timer.offset_ns);
                rates.entry(rate).or_default().push(index);
            }
        }
        let released = |topic: &str| -> Vec<usize> {
            let ports = topics.get(topic).into_iter().flat_map(|ports| &ports.subscribers);
            ports.filter(|port| port.trigger).map(|port| port.node).collect()
        };
        let outside = topics.keys().filter(|topic| {
            **topic == CLOCK_TOPIC || self.options.played.iter().any(|played| played == **topic)
        });
        StepPlan {
            phases: phases.iter().max().map_or(0, |last| last + 1),
            topics: outside
                .map(|topic| {
                    let phases = self.phases_after(released(topic), &phases, &released);
                    ((*topic).to_owned(), phases)
                })
                .collect(),
            timers: rates
                .into_iter()
                .map(|((period_ns, offset_ns), nodes)| StepTimer {
                    period_ns,
                    offset_ns,
                    phases: self.phases_after(nodes, &phases, &released),
                })
                .collect(),
        }
    }

    /// The phases of these nodes and of all that they may lead to.
    fn phases_after(
        &self,
        nodes: Vec<usize>,
        phases: &[u32],
        released: &impl Fn(&str) -> Vec<usize>,
    ) -> Vec<u32> {
        let mut seen: BTreeSet<usize> = nodes.iter().copied().collect();
        let mut topics: BTreeSet<&str> = BTreeSet::new();
        let mut queue = VecDeque::from(nodes);
        while let Some(node) = queue.pop_front() {
            for output in &self.graph.nodes[node].outputs {
                if topics.insert(&output.topic) {
                    queue.extend(released(&output.topic).into_iter().filter(|it| seen.insert(*it)));
                }
            }
        }
        let phases: BTreeSet<u32> = seen.into_iter().map(|node| phases[node]).collect();
        phases.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_comes_from_another_executor_needs_a_new_phase() {
        let mut latest = Latest::default();
        assert_eq!(latest.after((0, 0, 0)), 0);
        latest.add(0, (0, 0, 0));
        assert_eq!((latest.after((0, 0, 0)), latest.after((0, 1, 0))), (0, 1));
        latest.add(2, (1, 0, 0));
        assert_eq!((latest.after((1, 0, 0)), latest.after((0, 0, 0))), (2, 3));
        latest.add(2, (0, 0, 0));
        assert_eq!((latest.after((1, 0, 0)), latest.after((0, 0, 0))), (3, 3));
        latest.add(4, (1, 0, 0));
        assert_eq!((latest.after((1, 0, 0)), latest.after((0, 0, 0))), (4, 5));
    }
}
