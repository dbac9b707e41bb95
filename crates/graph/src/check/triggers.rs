//! What triggers what: the order of execution, cycles, measured chains.
//!
//! Nodes and topics are both vertices here, so that a topic with many publishers and subscribers
//! costs their sum and not their product.

use super::{Check, Port, Seat, Topics};
use crate::violation::ViolationKind;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The vertices and edges of triggering: node -> topic -> node.
struct Triggering<'t> {
    /// Topic names in order; vertex `nodes + i` is topic `i`.
    topics: Vec<&'t str>,
    nodes: usize,
    after: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
    /// Subscribers that read a topic without being triggered, by topic vertex.
    readers: Vec<Vec<usize>>,
}

impl<'t> Triggering<'t> {
    /// All triggers and reads, or, where `opened`, those without the inputs that close loops.
    fn new(nodes: usize, topics: &Topics<'t>, opened: bool) -> Self {
        let count = nodes + topics.len();
        let mut edges = Self {
            topics: topics.keys().copied().collect(),
            nodes,
            after: vec![Vec::new(); count],
            before: vec![Vec::new(); count],
            readers: vec![Vec::new(); count],
        };
        for (index, ports) in topics.values().enumerate() {
            let topic = nodes + index;
            for publisher in &ports.publishers {
                edges.after[publisher.node].push(topic);
                edges.before[topic].push(publisher.node);
            }
            for subscriber in &ports.subscribers {
                if opened && subscriber.closes_loop {
                    continue;
                }
                if subscriber.trigger {
                    edges.after[topic].push(subscriber.node);
                    edges.before[subscriber.node].push(topic);
                } else {
                    edges.readers[topic].push(subscriber.node);
                }
            }
        }
        edges
    }

    /// Every vertex that can be reached from `start` over `edges` within `alive`, itself included
    /// only if a way leads back.
    fn reach(edges: &[Vec<usize>], start: usize, alive: &[bool]) -> Vec<bool> {
        let mut reached = vec![false; edges.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(vertex) = queue.pop_front() {
            for next in edges[vertex].iter().filter(|next| alive[**next]) {
                if !std::mem::replace(&mut reached[*next], true) {
                    queue.push_back(*next);
                }
            }
        }
        reached
    }

    /// What follows a vertex over triggers and over reads without trigger, one by one.
    fn follower(&self, vertex: usize, place: usize) -> Option<usize> {
        let after = &self.after[vertex];
        after.get(place).or_else(|| self.readers[vertex].get(place - after.len())).copied()
    }

    /// The circle of each vertex, as the number of one of its members: vertices share a circle when
    /// triggers and reads lead from each of them to the other.
    fn circles(&self) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let mut number = vec![NONE; self.after.len()];
        let mut circle = vec![NONE; self.after.len()];
        // The way walked so far, and those of its vertices that may begin a circle.
        let (mut way, mut beginnings) = (Vec::new(), Vec::new());
        let mut walked = 0;
        for start in 0..self.after.len() {
            let mut visits = Vec::new();
            if number[start] == NONE {
                visits.push((start, 0));
            }
            // Each vertex comes up once, and once more for each edge from it.
            while let Some((vertex, place)) = visits.pop() {
                if place == 0 {
                    number[vertex] = walked;
                    walked += 1;
                    way.push(vertex);
                    beginnings.push(vertex);
                }
                let Some(next) = self.follower(vertex, place) else {
                    if beginnings.pop_if(|last| *last == vertex).is_some() {
                        while let Some(member) = way.pop() {
                            circle[member] = vertex;
                            if member == vertex {
                                break;
                            }
                        }
                    }
                    continue;
                };
                visits.push((vertex, place + 1));
                if number[next] == NONE {
                    visits.push((next, 0));
                } else if circle[next] == NONE {
                    // A way back: what lies between cannot begin a circle of its own.
                    while beginnings.pop_if(|last| number[*last] > number[next]).is_some() {}
                }
            }
        }
        circle
    }

    /// Takes away reads without trigger that lie on a circle, if no order serves them all: first
    /// those of nodes that only timers release, which begin their loop; of what is still on a
    /// circle those whose reader stands before the publisher in the mapping. Without this, nodes
    /// that read each other would be put off behind all others.
    fn open_circles(&mut self, rank: &[usize]) {
        let circle = self.circles();
        for topic in self.nodes..self.readers.len() {
            let before = &self.before;
            self.readers[topic]
                .retain(|reader| circle[*reader] != circle[topic] || !before[*reader].is_empty());
        }
        let circle = self.circles();
        for topic in self.nodes..self.readers.len() {
            let publishers = self.before[topic].iter().filter(|it| circle[**it] == circle[topic]);
            let Some(last) = publishers.map(|it| rank[*it]).max() else { continue };
            self.readers[topic]
                .retain(|reader| circle[*reader] != circle[topic] || last < rank[*reader]);
        }
    }

    /// The shortest way from `start` back to itself within `alive`, as vertices from `start` on.
    fn shortest_cycle(&self, start: usize, alive: &[bool]) -> Option<Vec<usize>> {
        let mut from: Vec<Option<usize>> = vec![None; self.after.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(vertex) = queue.pop_front() {
            for next in self.after[vertex].iter().copied().filter(|next| alive[*next]) {
                if next == start {
                    let mut cycle = vec![vertex];
                    let mut last = vertex;
                    while let Some(before) = from[last].filter(|_| last != start) {
                        cycle.push(before);
                        last = before;
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if from[next].is_none() {
                    from[next] = Some(vertex);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// Orders nodes so that none triggers one before it, and as near to the order of the mapping as
/// that allows. Among nodes that are ready, those come first whose non-triggering inputs have been
/// published, so that a reader sees what was made in the same round.
struct Sorter<'s, 't> {
    edges: &'s Triggering<'t>,
    /// Position of each node that is wanted if nothing speaks against it.
    rank: Vec<usize>,
    /// Triggers (nodes) or publishers (topics) that have not been ordered yet, by vertex.
    waiting: Vec<usize>,
    /// Topics read without trigger whose publishers have not all been ordered yet, by node.
    stale: Vec<usize>,
    ready: BTreeSet<(bool, usize, usize)>,
    order: Vec<usize>,
}

impl Sorter<'_, '_> {
    fn sort(mut self) -> Vec<usize> {
        let nodes = self.edges.nodes;
        // Topics without publisher hold nobody up.
        for topic in nodes..self.waiting.len() {
            if self.waiting[topic] == 0 {
                self.publish(topic);
            }
        }
        for node in 0..nodes {
            if self.waiting[node] == 0 {
                self.ready.insert(self.key(node));
            }
        }
        while let Some((_, _, node)) = self.ready.pop_first() {
            self.order.push(node);
            self.waiting[node] = usize::MAX;
            for topic in &self.edges.after[node] {
                self.waiting[*topic] -= 1;
                if self.waiting[*topic] == 0 {
                    self.publish(*topic);
                }
            }
        }
        self.order
    }

    fn key(&self, node: usize) -> (bool, usize, usize) {
        (self.stale[node] > 0, self.rank[node], node)
    }

    /// Notes that all publishers of a topic have been ordered.
    fn publish(&mut self, topic: usize) {
        for reader in &self.edges.readers[topic] {
            let was_ready = self.ready.remove(&self.key(*reader));
            self.stale[*reader] -= 1;
            if was_ready {
                self.ready.insert(self.key(*reader));
            }
        }
        for node in &self.edges.after[topic] {
            self.waiting[*node] -= 1;
            if self.waiting[*node] == 0 {
                self.ready.insert(self.key(*node));
            }
        }
    }
}

impl<'a> Check<'a> {
    /// All nodes in an order of execution, by their index in the graph. Notes every cycle.
    pub(super) fn order(&mut self, seats: &[Option<Seat>], topics: &Topics<'a>) -> Vec<usize> {
        let nodes = self.graph.nodes.len();
        let mut edges = Triggering::new(nodes, topics, true);
        let mut by_seat: Vec<usize> = (0..nodes).collect();
        if !self.options.time.is_stepped() {
            // What is to be the same in every mapping goes by the graph file alone.
            by_seat.sort_by_key(|node| (seats[*node].is_none(), seats[*node], *node));
        }
        let mut rank = vec![0; nodes];
        for (position, node) in by_seat.into_iter().enumerate() {
            rank[node] = position;
        }
        edges.open_circles(&rank);
        let mut stale = vec![0; nodes];
        for reader in edges.readers.iter().flatten() {
            stale[*reader] += 1;
        }
        let waiting = edges.before.iter().map(Vec::len).collect();
        let ready = BTreeSet::new();
        let order = Sorter { edges: &edges, rank, waiting, stale, ready, order: Vec::new() }.sort();
        if order.len() < nodes {
            self.cycles(&edges, topics, &order);
        }
        order
    }

    fn cycles(&mut self, edges: &Triggering<'a>, topics: &Topics<'a>, ordered: &[usize]) {
        let mut alive = vec![true; edges.after.len()];
        for node in ordered {
            alive[*node] = false;
        }
        for start in 0..edges.nodes {
            if !alive[start] {
                continue;
            }
            let Some(cycle) = edges.shortest_cycle(start, &alive) else { continue };
            self.note_cycle(edges, topics, &cycle);
            // One cycle is enough for all nodes that are tied up with it.
            let forward = Triggering::reach(&edges.after, start, &alive);
            let backward = Triggering::reach(&edges.before, start, &alive);
            for (vertex, alive) in alive.iter_mut().enumerate() {
                *alive &= !(forward[vertex] && backward[vertex]);
            }
        }
    }

    fn note_cycle(&mut self, edges: &Triggering<'a>, topics: &Topics<'a>, cycle: &[usize]) {
        let topic_name = |vertex: usize| edges.topics[vertex - edges.nodes];
        let mut way = String::new();
        for pair in cycle.chunks(2) {
            if let [node, topic] = pair {
                way += &format!("{} -[{}]-> ", self.node_name(*node), topic_name(*topic));
            }
        }
        way += self.node_name(cycle[0]);
        // Break it at a node that has a timer already, else at the first one.
        let pairs = cycle.len() / 2;
        let has_timer = |pair: &usize| !self.graph.nodes[cycle[pair * 2]].timers.is_empty();
        let pair = (0..pairs).find(has_timer).unwrap_or_default();
        let node = cycle[pair * 2];
        let topic = topic_name(cycle[(pair * 2 + cycle.len() - 1) % cycle.len()]);
        let closes = |port: &&Port<'a>| port.node == node && port.trigger;
        let port = topics
            .get(topic)
            .and_then(|ports| ports.subscribers.iter().find(closes))
            .map_or("", |port| port.port);
        let name = self.node_name(node);
        let message = format!("triggers form a cycle: {way}");
        let advice = format!(
            "break it at one node: release the node by a timer and make its input on the cycle \
             non-triggering, for example `{port}: {{ topic: {topic}, trigger: false }}` at `{name}`; \
             where messages are meant to go round, say `closes_loop: true` there"
        );
        let path = ["nodes", name, "inputs", port];
        let violation = self.fault(ViolationKind::TriggerCycle, &path, message, advice);
        self.note(violation.for_node(name).for_topic(topic));
    }

    /// What is said to close a loop must trigger and close one; a loop has no end within a step.
    pub(super) fn loops(&mut self, topics: &Topics<'a>) {
        let edges = Triggering::new(self.graph.nodes.len(), topics, false);
        let alive = vec![true; edges.after.len()];
        for (index, (topic, ports)) in topics.iter().enumerate() {
            for port in ports.subscribers.iter().filter(|port| port.closes_loop) {
                let is_loop = || Triggering::reach(&edges.after, port.node, &alive);
                let (kind, message, advice) = if self.options.time.is_stepped() {
                    let message = "the input closes a loop, which has no end within a step";
                    let advice = "play the recording with `crossdock run --input`";
                    (ViolationKind::NotRepeatable, message, advice)
                } else if !port.trigger {
                    let message = "the input is said to close a loop, but does not trigger";
                    (ViolationKind::TriggerCycle, message, "remove `closes_loop`")
                } else if !is_loop()[edges.nodes + index] {
                    let message = "the input is said to close a loop, but no triggers lead from its node \
                                   to its topic";
                    (ViolationKind::TriggerCycle, message, "remove `closes_loop`")
                } else {
                    continue;
                };
                let name = self.node_name(port.node);
                let path = ["nodes", name, "inputs", port.port];
                let violation = self.fault(kind, &path, message, advice);
                self.note(violation.for_node(name).for_topic(topic));
            }
        }
    }

    /// Every chain must have a way of triggers from its first to its last topic.
    pub(super) fn chains(&mut self, topics: &Topics<'a>) {
        let graph = self.graph;
        let edges = Triggering::new(graph.nodes.len(), topics, false);
        let vertices = edges.topics.iter().enumerate();
        let vertex: BTreeMap<&str, usize> =
            vertices.map(|(index, name)| (*name, edges.nodes + index)).collect();
        let alive = vec![true; edges.after.len()];
        for chain in &graph.chains {
            let ends = [("from", &chain.from), ("to", &chain.to)];
            let mut found = [None; 2];
            for ((key, topic), found) in ends.into_iter().zip(&mut found) {
                *found = vertex.get(topic.as_str()).copied();
                if found.is_none() {
                    let path = ["chains", chain.name.as_str(), key];
                    let near = crate::names::did_you_mean(topic, vertex.keys().copied());
                    let advice = match near.as_str() {
                        "" => "name a topic that a node publishes or subscribes to".to_owned(),
                        _ => near,
                    };
                    let message = format!("chain `{}` names an unknown topic", chain.name);
                    let kind = ViolationKind::UnknownTopic;
                    let violation = self.fault(kind, &path, message, advice);
                    self.note(violation.for_topic(topic));
                }
            }
            let [Some(from), Some(to)] = found else { continue };
            if !Triggering::reach(&edges.after, from, &alive)[to] {
                let message = format!(
                    "chain `{}` has no way of triggers from `{}` to `{}`",
                    chain.name, chain.from, chain.to
                );
                let advice = "correct its topics, or let the inputs on the way trigger";
                let path = ["chains", chain.name.as_str()];
                let violation = self.fault(ViolationKind::ChainUnreachable, &path, message, advice);
                self.note(violation.for_topic(&chain.to));
            }
        }
    }
}
