//! Pictures of a graph and its mapping, as DOT text and as SVG.
//!
//! Nodes, topics and services are all vertices, so that a topic with many subscribers is drawn
//! once, and so is a service with many clients: an edge goes from each client to it, and from it to
//! its server. Boxes go round processes and round hardware subgraphs. The layout is our own
//! (layers, few crossings, straight long edges) and deterministic: the same graph gives the same
//! picture, byte for byte. Works on graphs that a check would refuse, too.

mod dot;
mod groups;
mod labels;
mod layers;
mod order;
mod place;
mod svg;
#[cfg(test)]
mod tests;

use crate::condition::Condition;
use crate::description::PackageDescriptions;
use crate::mapping::Mapping;
use crate::model::{Graph, GraphNode, Period};
use std::collections::{BTreeMap, BTreeSet};

/// A graph with its mapping, ready to be drawn.
///
/// Descriptions are used only to know which inputs trigger; without them an input triggers unless
/// the graph says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// Graph to draw.
    pub graph: &'a Graph,
    /// Processes and hardware subgraphs to draw around the nodes; where it has fabrics, topics are
    /// marked by their mapping too.
    pub mapping: Option<&'a Mapping>,
    /// What the packages say about inputs.
    pub descriptions: Option<&'a PackageDescriptions>,
    /// What was measured while the graph ran.
    pub figures: Option<&'a Figures>,
}

/// Short texts beside what they are about: what was measured while a graph ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Below the names of nodes.
    pub nodes: BTreeMap<String, String>,
    /// Below the names of topics.
    pub topics: BTreeMap<String, String>,
    /// Below the names of services.
    pub services: BTreeMap<String, String>,
    /// Beside edges from a node to a topic: (node, topic).
    pub publishers: BTreeMap<(String, String), String>,
    /// Beside edges from a topic to a node: (node, topic).
    pub subscribers: BTreeMap<(String, String), String>,
}

impl Picture<'_> {
    /// The picture as text for Graphviz. Pure; allocates.
    #[must_use]
    pub fn to_dot(&self) -> String {
        dot::write(&Drawing::new(self))
    }

    /// The picture as an SVG document with its own layout. Pure; allocates.
    ///
    /// Boxes and labels never overlap. Text is escaped; names longer than a label are shortened and
    /// stand in full in the tooltip.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let drawing = Drawing::new(self);
        let layout = place::Layout::new(&drawing, svg::key_width(&drawing));
        svg::write(&drawing, &layout)
    }
}

/// What is drawn: vertices, edges and boxes around nodes.
struct Drawing {
    title: String,
    /// Nodes first, in graph order, then topics by first mention, then services by name.
    vertices: Vec<Vertex>,
    edges: Vec<Edge>,
    groups: Vec<Group>,
}

/// A dashed box.
struct Group {
    name: String,
    kind: GroupKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GroupKind {
    Process,
    /// Hardware nodes of one fabric that hardware-mapped topics and gateways join.
    Hardware,
}

struct Vertex {
    kind: VertexKind,
    /// Full name.
    name: String,
    /// Smaller lines below the name.
    details: Vec<String>,
    /// Box that the vertex is drawn in.
    group: Option<usize>,
    side: Side,
}

/// Where a node runs or the messages of a topic live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    /// There is no mapping, or one without fabrics: nothing is to be told apart.
    Unmapped,
    Software,
    Hardware,
    Gateway,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum VertexKind {
    Node,
    Topic,
    /// A topic with publishers outside.
    ExternalTopic,
    Service,
    /// A service whose server is outside.
    ExternalService,
}

impl VertexKind {
    fn is_service(self) -> bool {
        matches!(self, VertexKind::Service | VertexKind::ExternalService)
    }
}

struct Edge {
    from: usize,
    to: usize,
    kind: EdgeKind,
    /// Ports of the node on it.
    ports: Vec<String>,
    /// Whether it is part of a measured chain.
    measured: bool,
    /// Written beside it if there is room, and in its tooltip.
    label: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EdgeKind {
    Publish,
    Trigger,
    Read,
    /// From a client to its service.
    Call,
    /// From a service to its server.
    Serve,
}

impl EdgeKind {
    /// Is it a part of the ways that messages take from trigger to trigger?
    fn is_flow(self) -> bool {
        matches!(self, EdgeKind::Publish | EdgeKind::Trigger)
    }

    fn is_service(self) -> bool {
        matches!(self, EdgeKind::Call | EdgeKind::Serve)
    }
}

impl Drawing {
    fn new(picture: &Picture<'_>) -> Self {
        let graph = picture.graph;
        let seats = groups::seats(picture);
        let mut vertices: Vec<Vertex> = Vec::new();
        for node in &graph.nodes {
            let seat = seats.of.get(node.name.as_str());
            vertices.push(Vertex {
                kind: VertexKind::Node,
                name: node.name.clone(),
                details: details(node, seat.and_then(|seat| seat.executor.as_deref())),
                group: seat.map(|seat| seat.group),
                side: Side::Unmapped,
            });
        }
        let names = graph.topic_names();
        let external: BTreeSet<&str> = graph
            .topics
            .iter()
            .filter(|topic| topic.external)
            .map(|topic| topic.name.as_str())
            .collect();
        let mut index = BTreeMap::new();
        for name in names {
            index.insert(name, vertices.len());
            let kind = match external.contains(name) {
                true => VertexKind::ExternalTopic,
                false => VertexKind::Topic,
            };
            let side = Side::Unmapped;
            let name = name.to_owned();
            vertices.push(Vertex { kind, name, details: Vec::new(), group: None, side });
        }
        let services = services(graph);
        let first = vertices.len();
        vertices.extend(services.iter().map(|(name, kind)| Vertex {
            kind: *kind,
            name: (*name).to_owned(),
            details: Vec::new(),
            group: None,
            side: Side::Unmapped,
        }));
        let services = services.keys().zip(first..).map(|(name, at)| (*name, at)).collect();
        let edges = edges(picture, &index, &services);
        let title = graph.name.clone();
        let mut drawing = Self { title, vertices, edges, groups: seats.groups };
        drawing.seat_topics();
        drawing.add_hardware(picture.mapping);
        drawing.measure(graph, &index);
        if let Some(figures) = picture.figures {
            drawing.annotate(figures);
        }
        drawing
    }

    fn annotate(&mut self, figures: &Figures) {
        for vertex in &mut self.vertices {
            let of_kind = match vertex.kind {
                VertexKind::Node => &figures.nodes,
                VertexKind::Topic | VertexKind::ExternalTopic => &figures.topics,
                VertexKind::Service | VertexKind::ExternalService => &figures.services,
            };
            vertex.details.extend(of_kind.get(&vertex.name).cloned());
        }
        let name = |vertex: usize| self.vertices[vertex].name.clone();
        for edge in &mut self.edges {
            edge.label = match edge.kind {
                EdgeKind::Publish => figures.publishers.get(&(name(edge.from), name(edge.to))),
                EdgeKind::Call | EdgeKind::Serve => None,
                EdgeKind::Trigger | EdgeKind::Read => {
                    figures.subscribers.get(&(name(edge.to), name(edge.from)))
                }
            }
            .cloned();
        }
    }

    /// Marks the edges on ways of triggers between the ends of measured chains.
    fn measure(&mut self, graph: &Graph, index: &BTreeMap<&str, usize>) {
        let hard = |edge: &&Edge| edge.kind.is_flow();
        let mut after = vec![Vec::new(); self.vertices.len()];
        let mut before = vec![Vec::new(); self.vertices.len()];
        for edge in self.edges.iter().filter(hard) {
            after[edge.from].push(edge.to);
            before[edge.to].push(edge.from);
        }
        for chain in &graph.chains {
            let ends = (index.get(chain.from.as_str()), index.get(chain.to.as_str()));
            let (Some(from), Some(to)) = ends else { continue };
            let (forward, backward) = (reach(&after, *from), reach(&before, *to));
            for edge in self.edges.iter_mut().filter(|edge| edge.kind.is_flow()) {
                edge.measured |= forward[edge.from] && backward[edge.to];
            }
        }
    }
}

fn reach(edges: &[Vec<usize>], start: usize) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    let mut stack = vec![start];
    reached[start] = true;
    while let Some(vertex) = stack.pop() {
        for next in &edges[vertex] {
            if !std::mem::replace(&mut reached[*next], true) {
                stack.push(*next);
            }
        }
    }
    reached
}

fn details(node: &GraphNode, executor: Option<&str>) -> Vec<String> {
    let mut details = vec![format!("{}/{}", node.package, node.node_type)];
    for timer in &node.timers {
        let period = match timer.period {
            Period::RateHz(rate_hz) => format!("{rate_hz} Hz"),
            Period::PeriodMs(period_ms) => format!("{period_ms} ms"),
        };
        details.push(format!("timer {}: {period}", timer.name));
    }
    details.extend(node.condition.as_ref().map(Condition::summary));
    details.extend(executor.map(|executor| format!("executor {executor}")));
    details
}

/// All services by name: what the graph says of them, and what its ports are connected to.
fn services(graph: &Graph) -> BTreeMap<&str, VertexKind> {
    let ports = graph.nodes.iter().flat_map(|node| {
        let clients = node.clients.iter().map(|client| client.service.as_str());
        clients.chain(node.servers.iter().map(|server| server.service.as_str()))
    });
    let mut services: BTreeMap<_, _> = ports.map(|name| (name, VertexKind::Service)).collect();
    for service in graph.services.iter().filter(|service| service.external) {
        services.insert(&service.name, VertexKind::ExternalService);
    }
    services
}

/// Edges between nodes, topics and services; several ports of a node on one make one edge.
fn edges(
    picture: &Picture<'_>,
    index: &BTreeMap<&str, usize>,
    services: &BTreeMap<&str, usize>,
) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    let mut known: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut add = |from: usize, to: usize, kind: EdgeKind, port: &str| {
        let at = *known.entry((from, to)).or_insert_with(|| {
            edges.push(Edge { from, to, kind, ports: Vec::new(), measured: false, label: None });
            edges.len() - 1
        });
        edges[at].ports.push(port.to_owned());
        if kind == EdgeKind::Trigger {
            edges[at].kind = kind;
        }
    };
    for (node_index, node) in picture.graph.nodes.iter().enumerate() {
        let description =
            picture.descriptions.and_then(|all| all.node_type(&node.package, &node.node_type));
        for output in &node.outputs {
            if let Some(topic) = index.get(output.topic.as_str()) {
                add(node_index, *topic, EdgeKind::Publish, &output.port);
            }
        }
        for input in &node.inputs {
            let described = description.and_then(|description| description.input(&input.port));
            let trigger = input.trigger.or(described.map(|input| input.trigger));
            let kind = if trigger.unwrap_or(true) { EdgeKind::Trigger } else { EdgeKind::Read };
            if let Some(topic) = index.get(input.topic.as_str()) {
                add(*topic, node_index, kind, &input.port);
            }
        }
        for client in &node.clients {
            add(node_index, services[client.service.as_str()], EdgeKind::Call, &client.port);
        }
        for server in &node.servers {
            add(services[server.service.as_str()], node_index, EdgeKind::Serve, &server.port);
        }
    }
    edges
}

/// A name as it fits a label: long ones lose their middle.
fn shown(name: &str) -> String {
    const SHOWN_CHARS: usize = 44;
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= SHOWN_CHARS {
        return name.to_owned();
    }
    let half = SHOWN_CHARS / 2;
    let head: String = characters[..half - 1].iter().collect();
    let tail: String = characters[characters.len() - half..].iter().collect();
    format!("{head}\u{2026}{tail}")
}
