//! Graph mode: which node of an executor runs in which of its threads.
//!
//! The nodes of such an executor are spread once, before the run, so that what can run at the same
//! time does, and what follows on something stays with it if waking another thread would cost
//! more than it gains. The result is one chain per thread: a node never moves, so it needs no lock
//! and never runs twice at once; messages between the chains take the ring.
//!
//! The method is list scheduling by upward rank with the earliest finish (HEFT: H. Topcuoglu,
//! S. Hariri, M. Wu, "Performance-effective and low-complexity task scheduling for heterogeneous
//! computing", IEEE TPDS 13(3), 2002) on equal processors. Why not a pool from which threads take
//! what is ready: docs/decisions/0008-graph-mode.md.

use super::{Check, Seat, Topics};
use crate::mapping::{ExecutorMode, MappedExecutor};
use crate::violation::{Violation, ViolationKind};
use std::collections::BTreeMap;

/// What a node is expected to take if the mapping says nothing.
const COST_NS: u64 = 1_000_000;

/// From the publication in one thread to the execution in another that sleeps: measured as 15 to
/// 17 us between two cores (docs/performance.md), rounded up.
const WAKE_NS: u64 = 20_000;

/// A node of the executor with its topics, as indexes of [`Between`].
#[derive(Default)]
struct Member {
    cost_ns: u64,
    /// Topics that it publishes, on which others of the executor are.
    outputs: Vec<usize>,
    /// Topics that trigger it and on which others of the executor publish.
    triggers: Vec<usize>,
    /// Time from its start to the end of everything that follows from it.
    rank_ns: u64,
}

/// A topic between nodes of the executor.
#[derive(Default)]
struct Between {
    /// Greatest rank of a node that follows: those that it triggers, in another thread at worst,
    /// and those that read it and come after its publishers in the order of execution.
    rank_ns: u64,
    /// The last two publications by different threads: thread and time.
    last: [Option<(usize, u64)>; 2],
}

impl Between {
    /// A node in this lane has published at this time.
    fn publish(&mut self, lane: usize, at_ns: u64) {
        let [first, second] = &mut self.last;
        match first {
            Some((of, ns)) if *of == lane => *ns = at_ns.max(*ns),
            Some((_, ns)) if *ns >= at_ns => {
                let later = second.is_none_or(|(_, ns)| ns < at_ns);
                *second = if later { Some((lane, at_ns)) } else { *second };
            }
            _ => *second = first.replace((lane, at_ns)),
        }
    }

    /// When a node in this lane has what all publishers have published.
    fn arrival_ns(&self, lane: usize) -> u64 {
        let arrival = |(of, ns): (usize, u64)| if of == lane { ns } else { ns + WAKE_NS };
        self.last.iter().flatten().map(|last| arrival(*last)).max().unwrap_or(0)
    }
}

impl<'a> Check<'a> {
    /// Costs must name the executor's own nodes.
    pub(super) fn costs(&mut self) {
        let mapping = self.mapping;
        for process in &mapping.processes {
            for (index, executor) in process.executors.iter().enumerate() {
                let unknown =
                    executor.costs_us.keys().filter(|node| !executor.nodes.contains(node));
                for node in unknown {
                    let message = "`costs_us` names a node that this executor does not have";
                    let advice = "remove it, or add the node to `nodes`";
                    let number = index.to_string();
                    let path = ["processes", process.name.as_str(), &number];
                    let kind = ViolationKind::UnknownNode;
                    let violation = Violation::at(kind, &mapping.source, &path, message, advice);
                    self.note(violation.for_node(node));
                }
            }
        }
    }

    /// Gives every node of an executor in graph mode its lane. `order` is the order of execution;
    /// where it leaves a choice, nodes of such an executor with more to follow come first.
    pub(super) fn lanes(
        &self,
        seats: &mut [Option<Seat>],
        topics: &Topics<'a>,
        order: &mut [usize],
    ) {
        for (process, mapped) in self.mapping.processes.iter().enumerate() {
            for (index, executor) in mapped.executors.iter().enumerate() {
                if executor.mode != ExecutorMode::Graph || executor.threads < 2 {
                    continue;
                }
                let here = |seat: Seat| (seat.process, seat.executor) == (process, index);
                let places: Vec<usize> = (0..order.len())
                    .filter(|place| seats[order[*place]].is_some_and(here))
                    .collect();
                let nodes: Vec<usize> = places.iter().map(|place| order[*place]).collect();
                let spread = self.spread(executor, &nodes, topics);
                for (place, (node, lane)) in places.into_iter().zip(spread) {
                    if !self.options.time.is_stepped() {
                        // In steps the order is the same in every mapping.
                        order[place] = node;
                    }
                    if let Some(seat) = &mut seats[node] {
                        seat.lane = lane;
                    }
                }
            }
        }
    }

    /// These nodes, which stand in the order of execution, by rank, and the lane of each.
    fn spread(
        &self,
        executor: &MappedExecutor,
        nodes: &[usize],
        topics: &Topics<'a>,
    ) -> Vec<(usize, usize)> {
        let places: BTreeMap<usize, usize> =
            nodes.iter().enumerate().map(|(place, node)| (*node, place)).collect();
        let mut members: Vec<Member> = (nodes.iter())
            .map(|node| {
                let said_us = executor.costs_us.get(self.node_name(*node));
                let cost_ns = said_us.map_or(COST_NS, |us| u64::from(*us) * 1_000);
                Member { cost_ns, ..Member::default() }
            })
            .collect();
        let mut between: Vec<Between> = Vec::new();
        // Readers of each topic that follow on all of its publishers.
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
        for ports in topics.values() {
            let place = |node: usize| places.get(&node).copied();
            let publishers = ports.publishers.iter().filter_map(|port| place(port.node));
            let Some(last) = publishers.clone().max() else { continue };
            let topic = between.len();
            between.push(Between::default());
            publishers.for_each(|publisher| members[publisher].outputs.push(topic));
            for port in &ports.subscribers {
                match place(port.node) {
                    // What comes round a loop is no reason to run anything earlier.
                    _ if port.closes_loop => {}
                    Some(place) if port.trigger => members[place].triggers.push(topic),
                    Some(place) if place > last => readers[place].push(topic),
                    _ => {}
                }
            }
        }
        // Nothing follows on a node that stands after it.
        for (member, read) in members.iter_mut().zip(&readers).rev() {
            let after = member.outputs.iter().map(|topic| between[*topic].rank_ns).max();
            member.rank_ns = member.cost_ns + after.unwrap_or(0);
            for topic in &member.triggers {
                let rank_ns = &mut between[*topic].rank_ns;
                *rank_ns = (*rank_ns).max(member.rank_ns + WAKE_NS);
            }
            for topic in read {
                let rank_ns = &mut between[*topic].rank_ns;
                *rank_ns = (*rank_ns).max(member.rank_ns);
            }
        }
        let mut by_rank: Vec<usize> = (0..members.len()).collect();
        by_rank.sort_by_key(|place| (u64::MAX - members[*place].rank_ns, *place));
        let mut free_ns = vec![0_u64; executor.threads as usize];
        let place_one = |place: usize| {
            let Member { cost_ns, outputs, triggers, .. } = &members[place];
            let start_ns = |lane: usize| {
                let arrivals = triggers.iter().map(|topic| between[*topic].arrival_ns(lane));
                arrivals.max().unwrap_or(0).max(free_ns[lane])
            };
            // A further thread is worth it if it gains more than waking it costs.
            let opening_ns = |lane: usize| if free_ns[lane] == 0 { WAKE_NS } else { 0 };
            let lane = (0..free_ns.len()).min_by_key(|lane| start_ns(*lane) + opening_ns(*lane));
            let lane = lane.unwrap_or(0);
            let end_ns = start_ns(lane) + cost_ns;
            free_ns[lane] = end_ns;
            outputs.iter().for_each(|topic| between[*topic].publish(lane, end_ns));
            (nodes[place], lane)
        };
        by_rank.into_iter().map(place_one).collect()
    }
}
