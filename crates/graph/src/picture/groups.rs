//! Which box each node and topic is drawn in: processes, and hardware subgraphs.
//!
//! Must not decide where boxes are.

use super::{Drawing, Group, GroupKind, Picture, Side, VertexKind};
use crate::mapping::{Mapping, TopicMapping};
use std::collections::{BTreeMap, BTreeSet};

/// The processes of a mapping as boxes, and which of them each node is in.
pub(super) struct Seats<'a> {
    pub(super) groups: Vec<Group>,
    pub(super) of: BTreeMap<&'a str, DrawnSeat>,
}

/// Where a software node is drawn.
pub(super) struct DrawnSeat {
    pub(super) group: usize,
    /// Name of the executor when its process has several.
    pub(super) executor: Option<String>,
}

pub(super) fn seats<'a>(picture: &Picture<'a>) -> Seats<'a> {
    let mut seats = BTreeMap::new();
    let Some(mapping) = picture.mapping else { return Seats { groups: Vec::new(), of: seats } };
    for (group, mapped) in mapping.processes.iter().enumerate() {
        for (index, executor) in mapped.executors.iter().enumerate() {
            for node in &executor.nodes {
                let name = match executor.name.as_str() {
                    "" => format!("{}.{index}", mapped.name),
                    name => name.to_owned(),
                };
                let executor = (mapped.executors.len() > 1).then_some(name);
                seats.entry(node.as_str()).or_insert(DrawnSeat { group, executor });
            }
        }
    }
    let group = |name: &String| Group { name: name.clone(), kind: GroupKind::Process };
    Seats { groups: mapping.processes.iter().map(|it| group(&it.name)).collect(), of: seats }
}

impl Drawing {
    /// A topic or service is drawn inside a process when all its ports are there and it is not
    /// external. The box of a process with one node holds nothing else.
    pub(super) fn seat_topics(&mut self) {
        let mut nodes = vec![0; self.groups.len()];
        for group in self.vertices.iter().filter_map(|vertex| vertex.group) {
            nodes[group] += 1;
        }
        let mut groups: Vec<BTreeSet<Option<usize>>> = vec![BTreeSet::new(); self.vertices.len()];
        for edge in &self.edges {
            groups[edge.to].insert(self.vertices[edge.from].group);
            groups[edge.from].insert(self.vertices[edge.to].group);
        }
        for (vertex, of_ports) in self.vertices.iter_mut().zip(groups) {
            if matches!(vertex.kind, VertexKind::Topic | VertexKind::Service) && of_ports.len() == 1
            {
                let group = of_ports.into_iter().next().flatten();
                vertex.group = group.filter(|group| nodes[*group] > 1);
            }
        }
    }

    /// Marks nodes and topics by the side of the boundary that they are on, and draws a box round
    /// each hardware subgraph: nodes of one fabric that hardware-mapped topics and gateways join,
    /// with these topics. A topic of several fabrics is drawn between their boxes.
    pub(super) fn add_hardware(&mut self, mapping: Option<&Mapping>) {
        let Some(mapping) = mapping.filter(|mapping| !mapping.fabrics.is_empty()) else { return };
        let fabric_of = self.mark(mapping);
        let mut subgraphs = Subgraphs { parent: (0..self.vertices.len()).collect() };
        // The first node of each fabric on each topic that joins its nodes.
        let mut joined: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
        for edge in &self.edges {
            for (node, topic) in [(edge.from, edge.to), (edge.to, edge.from)] {
                let joins = matches!(self.vertices[topic].side, Side::Hardware | Side::Gateway);
                let is_topic = self.vertices[topic].kind != VertexKind::Node;
                let Some(fabric) = fabric_of[node].filter(|_| joins && is_topic) else { continue };
                let first = *joined.entry(topic).or_default().entry(fabric).or_insert(node);
                subgraphs.join(first, node);
            }
        }
        let mut parts: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (node, fabric) in fabric_of.iter().enumerate() {
            if let Some(fabric) = fabric {
                parts.entry((*fabric, subgraphs.first(node))).or_default().push(node);
            }
        }
        for (topic, firsts) in joined {
            // Only one fabric: its messages are there.
            if let (1, Some((fabric, first))) = (firsts.len(), firsts.first_key_value()) {
                parts.entry((*fabric, subgraphs.first(*first))).or_default().push(topic);
            }
        }
        self.box_parts(mapping, parts);
    }

    fn box_parts(&mut self, mapping: &Mapping, parts: BTreeMap<(usize, usize), Vec<usize>>) {
        let mut count = vec![0; mapping.fabrics.len()];
        for (fabric, _) in parts.keys() {
            count[*fabric] += 1;
        }
        let mut numbers = vec![0; mapping.fabrics.len()];
        for ((fabric, _), members) in parts {
            let fabric_name = &mapping.fabrics[fabric].name;
            numbers[fabric] += 1;
            let name = match count[fabric] {
                1 => fabric_name.clone(),
                _ => format!("{fabric_name}, part {}", numbers[fabric]),
            };
            for vertex in members {
                self.vertices[vertex].group = Some(self.groups.len());
            }
            self.groups.push(Group { name, kind: GroupKind::Hardware });
        }
    }

    /// Sets the side of every vertex; the fabric of each hardware node.
    fn mark(&mut self, mapping: &Mapping) -> Vec<Option<usize>> {
        let mut placed = BTreeMap::new();
        for (fabric, mapped) in mapping.fabrics.iter().enumerate() {
            for node in &mapped.nodes {
                placed.entry(node.as_str()).or_insert(fabric);
            }
        }
        let topics = mapping.topics.iter().map(|topic| (topic.name.as_str(), topic.mapping));
        let topics: BTreeMap<&str, TopicMapping> = topics.collect();
        let mut fabric_of = vec![None; self.vertices.len()];
        for (vertex, fabric) in self.vertices.iter_mut().zip(&mut fabric_of) {
            let name = vertex.name.as_str();
            if vertex.kind.is_service() {
                continue;
            }
            vertex.side = if vertex.kind == VertexKind::Node {
                *fabric = placed.get(name).copied();
                if fabric.is_some() { Side::Hardware } else { Side::Software }
            } else {
                match topics.get(name).copied().unwrap_or_default() {
                    TopicMapping::Software => Side::Software,
                    TopicMapping::Hardware => Side::Hardware,
                    TopicMapping::Gateway => Side::Gateway,
                }
            };
        }
        fabric_of
    }
}

/// Sets of vertices that belong together; each is known by one of its vertices.
struct Subgraphs {
    parent: Vec<usize>,
}

impl Subgraphs {
    /// The lowest vertex of the set.
    fn first(&mut self, vertex: usize) -> usize {
        let mut first = vertex;
        // Ends: a parent is never above its child, and only the lowest is its own.
        while self.parent[first] != first {
            self.parent[first] = self.parent[self.parent[first]];
            first = self.parent[first];
        }
        first
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.parent[a.max(b)] = a.min(b);
    }
}
