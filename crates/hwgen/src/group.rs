//! From graph and mapping to the network of a fabric: groups publishers and subscribers, settles
//! widths, clocks and FIFOs, and refuses what cannot be.

use crate::Request;
use crate::layout::PayloadLayout;
use crate::message::MessageShape;
use crate::names::{identifier, is_identifier};
use crate::network::{
    Arbiter, BROADCAST_PORTS, Clock, Network, NetworkPort, PortOwner, Stage, TopicNetwork,
};
use crossdock_graph::{
    PortStream, STREAM_WIDTH_DEFAULT, StreamFifo, TopicMapping, TopicStream, Violation,
    ViolationKind, cycles,
};
use std::collections::{BTreeMap, BTreeSet};

/// Publishers of one topic: what the module `axis_arb` can be made for.
const PUBLISHERS_MAX: usize = 64;
/// Beats of a keep-all FIFO and of a slot of a keep-last FIFO, and least beats of both.
const FIFO_BEATS_MAX: u64 = 1 << 20;
const SLOT_BEATS_MAX: u64 = 1 << 18;
const FIFO_BEATS_MIN: u64 = 4;
const SLOT_BEATS_MIN: u64 = 2;
/// Characters of an identifier. Files are named after modules, and file systems allow 255 bytes.
const IDENTIFIER_CHARS_MAX: usize = 200;

pub(crate) struct Grouping<'a> {
    request: &'a Request<'a>,
    nodes: BTreeSet<&'a str>,
    next_id: u16,
    pub(crate) violations: Vec<Violation>,
}

/// A port on a topic: node, port.
pub(crate) type Ends<'a> = Vec<(&'a str, &'a str)>;

impl<'a> Grouping<'a> {
    pub(crate) fn new(request: &'a Request<'a>) -> Self {
        let fabrics = request.mapping.fabrics.iter();
        let fabric = fabrics.filter(|fabric| fabric.name == request.fabric);
        let nodes = fabric.flat_map(|fabric| &fabric.nodes).map(String::as_str).collect();
        Self { request, nodes, next_id: 1, violations: Vec::new() }
    }

    /// The network; what is wrong is in `violations` then.
    pub(crate) fn network(&mut self) -> Network {
        let mut names: BTreeMap<&str, (Ends<'a>, Ends<'a>, bool)> = BTreeMap::new();
        for node in &self.request.graph.nodes {
            let here = self.nodes.contains(node.name.as_str());
            for output in &node.outputs {
                let (publishers, _, elsewhere) = names.entry(&output.topic).or_default();
                match here {
                    true => publishers.push((&node.name, &output.port)),
                    false => *elsewhere = true,
                }
            }
            for input in node.inputs.iter().filter(|_| here) {
                let (_, subscribers, _) = names.entry(&input.topic).or_default();
                subscribers.push((&node.name, &input.port));
            }
        }
        let (mut topics, mut software_topics) = (Vec::new(), Vec::new());
        for (name, (publishers, subscribers, elsewhere)) in names {
            if publishers.is_empty() && subscribers.is_empty() {
                continue;
            }
            let gateway = match self.request.mapping.topic_mapping(name) {
                TopicMapping::Hardware => false,
                TopicMapping::Gateway => true,
                _ => {
                    software_topics.push(name.to_owned());
                    topics.extend(self.direct(name, &publishers, &subscribers));
                    continue;
                }
            };
            let external = self.request.graph.topic(name).is_some_and(|topic| topic.external);
            let down = gateway && (elsewhere || external) && !subscribers.is_empty();
            let up = gateway && !publishers.is_empty();
            let Some(message) = self.layout(name, &publishers, &subscribers) else { continue };
            let named = (name, identifier(name));
            topics.extend(self.topic(named, message, &publishers, &subscribers, [down, up]));
        }
        let mut clocks = vec![Clock { name: None }];
        clocks.extend(topics.iter().flat_map(TopicNetwork::clocks));
        clocks.sort();
        clocks.dedup();
        let network = Network {
            graph: self.request.graph.name.clone(),
            fabric: self.request.fabric.to_owned(),
            module: format!("network_{}", self.request.fabric),
            clocks,
            topics,
            software_topics,
            nodes: Vec::new(),
        };
        self.names(&network);
        self.message_names(&network);
        self.clock_names(&network);
        self.unescaped(&network);
        self.cycles(&network);
        network
    }

    /// Notes a violation at a part of the mapping.
    fn refuse(
        &mut self,
        path: &[&str],
        node: Option<&str>,
        topic: &str,
        message: String,
        advice: impl Into<String>,
    ) {
        let source = &self.request.mapping.source;
        let violation = Violation::at(ViolationKind::Stream, source, path, message, advice);
        let violation = violation.for_topic(topic);
        self.violations.push(match node {
            Some(node) => violation.for_node(node),
            None => violation,
        });
    }

    // Layouts -------------------------------------------------------------------------------------

    pub(crate) fn layout(
        &mut self,
        topic: &str,
        publishers: &Ends<'_>,
        subscribers: &Ends<'_>,
    ) -> Option<(PayloadLayout, MessageShape)> {
        let graph = self.request.graph;
        let fault = |message: String, advice: String| {
            let path = ["topics", topic];
            Violation::at(ViolationKind::Layout, &graph.source, &path, message, advice)
                .for_topic(topic)
        };
        let Some(type_name) = self.message_type(topic, publishers, subscribers) else {
            let advice = "add `type: package/msg/Type` to the topic in the graph file";
            let message = "the topic is in hardware, and nothing says its message type";
            self.violations.push(fault(message.into(), advice.into()));
            return None;
        };
        let schema = match (self.request.types)(&type_name) {
            Ok(schema) => schema,
            Err(error) => {
                let message = format!("the type {type_name} cannot be used in hardware: {error}");
                let advice = "name the folder with its package by `--interfaces`";
                self.violations.push(fault(message, advice.into()));
                return None;
            }
        };
        let none = BTreeMap::new();
        let bounds = graph.topic(topic).map_or(&none, |topic| &topic.bounds);
        let hash = schema.type_hash().to_string();
        let faults = match PayloadLayout::new(schema.layout(), hash, bounds) {
            Ok(payload) => {
                let shape = MessageShape::new(schema.layout(), &payload);
                return Some((payload, shape));
            }
            Err(faults) => faults,
        };
        for found in faults {
            let (path, message, advice) = found.told(&type_name, "the topic in the graph file");
            let violation = match &path {
                Some(path) => {
                    let path = ["topics", topic, "bounds", path];
                    let kind = ViolationKind::Layout;
                    Violation::at(kind, &graph.source, &path, message, advice).for_topic(topic)
                }
                None => fault(message, advice),
            };
            self.violations.push(violation);
        }
        None
    }

    /// What the graph declares, or what the package of one of the ports says.
    fn message_type(
        &self,
        topic: &str,
        publishers: &Ends<'_>,
        subscribers: &Ends<'_>,
    ) -> Option<String> {
        let Request { graph, descriptions, .. } = self.request;
        if let Some(declared) = graph.topic(topic).and_then(|topic| topic.message_type.clone()) {
            return Some(declared);
        }
        let description = |node: &str| {
            let node = graph.node(node)?;
            descriptions.node_type(&node.package, &node.node_type)
        };
        let outputs = publishers
            .iter()
            .filter_map(|(node, port)| Some(&description(node)?.output(port)?.message_type));
        let inputs = subscribers
            .iter()
            .filter_map(|(node, port)| Some(&description(node)?.input(port)?.message_type));
        outputs.chain(inputs).next().cloned()
    }

    // Topics --------------------------------------------------------------------------------------

    /// `identifier` tells it from all others of the network.
    pub(crate) fn topic(
        &mut self,
        (name, identifier): (&str, String),
        (layout, shape): (PayloadLayout, MessageShape),
        publishers: &Ends<'_>,
        subscribers: &Ends<'_>,
        [down, up]: [bool; 2],
    ) -> Option<TopicNetwork> {
        let stream = self.request.mapping.topic_stream(name);
        let mut topic = TopicNetwork {
            name: name.to_owned(),
            identifier,
            direct: false,
            width: stream.width.unwrap_or(STREAM_WIDTH_DEFAULT),
            clock: Clock { name: stream.clock.clone() },
            layout,
            shape,
            publishers: Vec::new(),
            subscribers: Vec::new(),
            arbiter: None,
            broadcasts: Vec::new(),
            runtime_enable: stream.runtime_enable,
            probe: stream.probe,
        };
        for (node, port) in publishers {
            let said = stream.publisher(node, port);
            let published = self.port(&topic, "publishers", Some((*node, *port)), &said);
            topic.publishers.push(published);
        }
        if down {
            // What stands in the way up only is left out.
            let said = PortStream { fifo: None, probe: false, ..stream.gateway.clone() };
            let published = self.port(&topic, "publishers", None, &said);
            topic.publishers.push(published);
        }
        for (node, port) in subscribers {
            let said = stream.subscriber(node, port);
            let subscribed = self.port(&topic, "subscribers", Some((*node, *port)), &said);
            topic.subscribers.push(subscribed);
        }
        if up {
            let mut subscribed = self.port(&topic, "subscribers", None, &stream.gateway);
            // A gateway does not hear what it has moved down itself.
            subscribed.filtered_id = match (down, topic.publishers.last()) {
                (true, Some(own)) => own.publisher_id,
                _ => 0,
            };
            topic.subscribers.push(subscribed);
        }
        if topic.publishers.len() > PUBLISHERS_MAX {
            let message = format!(
                "{} publishers in one fabric, more than {PUBLISHERS_MAX}",
                topic.publishers.len()
            );
            let advice = "split the topic";
            self.refuse(&["topics", name], None, name, message, advice);
        }
        settle(&mut topic, &stream);
        Some(topic)
    }

    fn port(
        &mut self,
        topic: &TopicNetwork,
        key: &str,
        end: Option<(&str, &str)>,
        said: &PortStream,
    ) -> NetworkPort {
        let publishes = key == "publishers";
        let (owner, name) = match end {
            Some((node, port)) => (
                PortOwner::Node { node: node.to_owned(), port: port.to_owned() },
                format!("{}_{port}", identifier(node)),
            ),
            None => (PortOwner::Gateway, format!("gateway_{}", topic.identifier)),
        };
        let width = said.width.unwrap_or(topic.width);
        let clock = match &said.clock {
            Some(name) => Clock { name: Some(name.clone()) },
            None => topic.clock.clone(),
        };
        let path = match end {
            Some((node, port)) => vec!["topics", &topic.name, key, node, port],
            None => vec!["topics", &topic.name, "gateway"],
        };
        let node = end.map(|(node, _)| node);
        if width != topic.width && !said.converter {
            let does = if publishes { "gives" } else { "takes" };
            let message = format!(
                "`{}` {does} beats of {width} bits, the topic has {}, and no converter is named",
                owner.shown(),
                topic.width
            );
            let advice = "add `converter: true` there, which slows the topic to the narrower side, \
                          or give both one width";
            self.refuse(&path, node, &topic.name, message, advice);
        }
        let mut stages = Vec::new();
        let crossing = (clock != topic.clock).then(|| match publishes {
            true => (clock.clone(), topic.clock.clone()),
            false => (topic.clock.clone(), clock.clone()),
        });
        let crossing = crossing.map(|(from, to)| Stage::Crossing { from, to, width: topic.width });
        let converter = (width != topic.width).then(|| {
            let (from, to) = if publishes { (width, topic.width) } else { (topic.width, width) };
            Stage::Width { from, to, clock: clock.clone() }
        });
        if publishes {
            stages.extend(converter);
            stages.extend(crossing);
        } else {
            let fifo = said.fifo.and_then(|fifo| self.fifo(topic, fifo, &path, node));
            stages.extend(fifo);
            stages.extend(crossing);
            stages.extend(converter);
        }
        let publisher_id = if publishes { self.next_id } else { 0 };
        // Ports are limited to far less than 2^16 per graph.
        self.next_id = self.next_id.saturating_add(u16::from(publishes));
        let signals = format!("{}_{name}", if publishes { "s_axis" } else { "m_axis" });
        let probe = said.probe;
        NetworkPort { owner, signals, width, clock, publisher_id, filtered_id: 0, stages, probe }
    }

    fn fifo(
        &mut self,
        topic: &TopicNetwork,
        fifo: StreamFifo,
        path: &[&str],
        node: Option<&str>,
    ) -> Option<Stage> {
        let message_beats = topic.beats_max(topic.width);
        let (beats, max, what) = match fifo {
            StreamFifo::Beats(beats) => (u64::from(beats), FIFO_BEATS_MAX, "FIFO"),
            StreamFifo::Messages(messages) => {
                let beats = u64::from(messages) * message_beats;
                let beats = beats.max(FIFO_BEATS_MIN).next_power_of_two();
                (beats, FIFO_BEATS_MAX, "FIFO")
            }
            StreamFifo::KeepLast(_) => {
                let beats = message_beats.max(SLOT_BEATS_MIN).next_power_of_two();
                (beats, SLOT_BEATS_MAX, "slot of a keep-last FIFO")
            }
        };
        if beats > max {
            let message = format!(
                "a {what} has at most {max} beats, and {beats} would be needed: the longest message \
                 has {message_beats} at {} bits",
                topic.width
            );
            let advice = "choose fewer messages, smaller bounds or wider beats";
            self.refuse(path, node, &topic.name, message, advice);
            return None;
        }
        // At most 2^20.
        let beats = beats as u32;
        Some(match fifo {
            StreamFifo::KeepLast(messages) => Stage::KeepLast { messages, slot_beats: beats },
            _ => Stage::Fifo { beats },
        })
    }

    // Names ---------------------------------------------------------------------------------------

    fn names(&mut self, network: &Network) {
        let source = &self.request.graph.source;
        let mut topics: BTreeMap<&str, &str> = BTreeMap::new();
        let mut ports: BTreeMap<&str, (&TopicNetwork, String)> = BTreeMap::new();
        for topic in &network.topics {
            let path = ["topics", topic.name.as_str()];
            let kind = ViolationKind::HardwareName;
            if let Some(other) = topics.insert(&topic.identifier, &topic.name) {
                let message =
                    format!("it becomes `{}` in hardware, as `{other}` does", topic.identifier);
                let violation = Violation::at(kind, source, &path, message, "rename one of them");
                self.violations.push(violation.for_topic(&topic.name));
            }
            for (publishes, port) in (topic.publishers.iter().map(|port| (true, port)))
                .chain(topic.subscribers.iter().map(|port| (false, port)))
            {
                let direction = if publishes { "outputs" } else { "inputs" };
                let path = match &port.owner {
                    PortOwner::Node { node, port } => vec!["nodes", node, direction, port],
                    PortOwner::Gateway => path.to_vec(),
                };
                let too_long = port.signals.len() > IDENTIFIER_CHARS_MAX;
                // What follows is an underscore and a signal.
                let reserved = format!("{}_", port.signals).contains("__");
                let shown = port.owner.shown();
                let message = match ports.insert(&port.signals, (topic, shown.clone())) {
                    Some((on, other)) => format!(
                        "`{shown}` becomes `{}` in hardware, as `{other}` on `{}` does",
                        port.signals, on.name
                    ),
                    None if reserved => format!(
                        "`{shown}` becomes `{}` in hardware, and tools keep double underscores \
                         for themselves",
                        port.signals
                    ),
                    None if too_long => {
                        format!(
                            "its identifier in hardware has more than {IDENTIFIER_CHARS_MAX} characters"
                        )
                    }
                    None => continue,
                };
                let advice = "rename node, port or topic";
                let violation = Violation::at(kind, source, &path, message, advice);
                let violation = violation.for_topic(&topic.name);
                self.violations.push(match &port.owner {
                    PortOwner::Node { node, .. } => violation.for_node(node),
                    PortOwner::Gateway => violation,
                });
            }
        }
        if let Some(topic) =
            network.topics.iter().find(|topic| topic.identifier.len() > IDENTIFIER_CHARS_MAX)
        {
            let message = format!(
                "its identifier in hardware has more than {IDENTIFIER_CHARS_MAX} characters"
            );
            let path = ["topics", topic.name.as_str()];
            let kind = ViolationKind::HardwareName;
            let violation = Violation::at(kind, source, &path, message, "choose a shorter name");
            self.violations.push(violation.for_topic(&topic.name));
        }
    }

    /// Topics whose direct streams have names of their own may have messages of one name.
    fn message_names(&mut self, network: &Network) {
        let mut seen: BTreeMap<String, &TopicNetwork> = BTreeMap::new();
        let mut told = BTreeSet::new();
        for topic in &network.topics {
            let other = *seen.entry(topic.message()).or_insert(topic);
            let is_noted = other.name == topic.name || other.identifier == topic.identifier;
            if is_noted || !told.insert(&topic.name) {
                continue;
            }
            let (path, source) = (["topics", topic.name.as_str()], &self.request.graph.source);
            let message = format!(
                "its messages become `{}` in hardware, as those on `{}` do",
                topic.message(),
                other.name
            );
            let kind = ViolationKind::HardwareName;
            let violation = Violation::at(kind, source, &path, message, "rename one of them");
            self.violations.push(violation.for_topic(&topic.name));
        }
    }

    /// Ports of clocks that a model in C++ would have another name for.
    fn clock_names(&mut self, network: &Network) {
        let is_reserved = |clock: &Clock| clock.clk().contains("__");
        let reserved = network.clocks.iter().filter(|clock| is_reserved(clock));
        for clock in reserved {
            let at_topic = |topic: &&TopicNetwork| topic.clock == *clock;
            let at_port = |(_, _, port): &(&TopicNetwork, bool, &NetworkPort)| port.clock == *clock;
            let port = network.ports().find(at_port);
            let path = match (network.topics.iter().find(at_topic), &port) {
                (Some(topic), _) => vec!["topics", &topic.name, "clock"],
                (None, Some((topic, publishes, port))) => match &port.owner {
                    PortOwner::Node { node, port } => {
                        let key = if *publishes { "publishers" } else { "subscribers" };
                        vec!["topics", &topic.name, key, node, port, "clock"]
                    }
                    PortOwner::Gateway => vec!["topics", &topic.name, "gateway", "clock"],
                },
                (None, None) => vec!["topics"],
            };
            let message = format!(
                "the clock `{}` becomes `{}` in hardware, and tools keep double underscores for \
                 themselves",
                clock.name.as_deref().unwrap_or_default(),
                clock.clk()
            );
            let (kind, source) = (ViolationKind::HardwareName, &self.request.mapping.source);
            let violation = Violation::at(kind, source, &path, message, "rename the clock");
            self.violations.push(violation);
        }
    }

    /// Generated files quote no name: one that would have to be is refused.
    fn unescaped(&mut self, network: &Network) {
        const ADVICE: &str = "use letters, digits and underscores, no digit first";
        let refused = |name: &str| {
            (!is_identifier(name)).then(|| format!("{name:?} cannot be an identifier in hardware"))
        };
        let (graph, mapping) = (&self.request.graph.source, &self.request.mapping.source);
        let kind = ViolationKind::HardwareName;
        let mut found = Vec::new();
        let clocks = network.clocks.iter().filter_map(|clock| clock.name.as_deref());
        for name in [network.graph.as_str(), &network.fabric].into_iter().chain(clocks) {
            let at = |message| Violation::at(kind, mapping, &["fabrics"], message, ADVICE);
            found.extend(refused(name).map(at));
        }
        for topic in &network.topics {
            let path = ["topics", topic.name.as_str()];
            let name = refused(&topic.identifier);
            let at = |message| Violation::at(kind, graph, &path, message, ADVICE);
            found.extend(name.map(at).map(|violation| violation.for_topic(&topic.name)));
            for port in topic.publishers.iter().chain(&topic.subscribers) {
                let PortOwner::Node { node, .. } = &port.owner else { continue };
                let path = ["nodes", node.as_str()];
                let at = |message| Violation::at(kind, graph, &path, message, ADVICE);
                found.extend(refused(&port.signals).map(at).map(|it| it.for_node(node)));
            }
        }
        self.violations.append(&mut found);
    }

    // Cycles --------------------------------------------------------------------------------------

    /// Refuses cycles of nodes in which every input waits without a FIFO of a whole message.
    fn cycles(&mut self, network: &Network) {
        let nodes = &self.request.graph.nodes;
        let numbers = nodes.iter().map(|node| node.name.as_str()).zip(0..);
        let numbers: BTreeMap<&str, usize> = numbers.collect();
        let mut edges: Vec<Vec<(usize, Edge<'_>)>> = vec![Vec::new(); nodes.len()];
        for topic in &network.topics {
            let beats = topic.beats_max(topic.width);
            for publisher in &topic.publishers {
                let PortOwner::Node { node: from, .. } = &publisher.owner else { continue };
                for subscriber in &topic.subscribers {
                    let PortOwner::Node { node: to, port } = &subscriber.owner else { continue };
                    let isolated = subscriber.stages.iter().any(|stage| match stage {
                        Stage::Fifo { beats: depth } => u64::from(*depth) >= beats,
                        Stage::KeepLast { .. } => true,
                        _ => false,
                    });
                    if !isolated {
                        let edge = Edge { topic: &topic.name, to, port };
                        edges[numbers[from.as_str()]].push((numbers[to.as_str()], edge));
                    }
                }
            }
        }
        let edge = |node: usize, at: &mut usize| {
            *at += 1;
            edges[node].get(*at - 1).copied()
        };
        let mut found: Vec<Vec<(&str, Edge<'_>)>> = Vec::new();
        cycles(nodes.len(), edge, |way, to| {
            let from = way.iter().position(|(node, _)| *node == to).unwrap_or_default();
            let way = way[from..].iter();
            found.push(way.map(|(node, edge)| (nodes[*node].name.as_str(), *edge)).collect());
        });
        for way in found {
            self.cycle(&way);
        }
    }

    fn cycle(&mut self, way: &[(&str, Edge<'_>)]) {
        let mut shown = String::new();
        for (node, edge) in way {
            shown.push_str(&format!("{node} -> {} -> ", edge.topic));
        }
        let Some((first, _)) = way.first() else { return };
        let Some((_, last)) = way.last() else { return };
        let message = format!(
            "hardware nodes form a cycle without a FIFO of a whole message, in which each may wait \
             for the next for ever: {shown}{first}"
        );
        let advice = format!(
            "add `subscribers: {{ {}: {{ {}: {{ fifo_messages: 1 }} }} }}` to the topic in the \
             mapping file, or a FIFO elsewhere in the cycle",
            last.to, last.port
        );
        let source = &self.request.mapping.source;
        let path = ["topics", last.topic];
        let kind = ViolationKind::HardwareCycle;
        let violation = Violation::at(kind, source, &path, message, advice);
        self.violations.push(violation.for_topic(last.topic).for_node(last.to));
    }
}

#[derive(Clone, Copy)]
struct Edge<'a> {
    topic: &'a str,
    to: &'a str,
    port: &'a str,
}

/// Which modules join and serve the ports.
fn settle(topic: &mut TopicNetwork, stream: &TopicStream) {
    let (publishers, subscribers) = (topic.publishers.len(), topic.subscribers.len());
    let watchdog_cycles = stream.watchdog_cycles.unwrap_or(0);
    let check = stream.check.unwrap_or(publishers > 1);
    let filtered = topic.subscribers.iter().any(|port| port.filtered_id != 0);
    topic.runtime_enable &= subscribers > 0;
    if subscribers > 1 || filtered || topic.runtime_enable {
        topic.broadcasts = tree(subscribers);
    }
    if publishers > 1 || (publishers == 1 && (check || watchdog_cycles > 0)) {
        // A tree has taken the second cycle already that the first beat of a message may take.
        let register = check && topic.broadcasts.len() <= 1;
        topic.arbiter = Some(Arbiter { check, watchdog_cycles, register });
    }
}

/// Ports of the broadcasts of each level for so many subscribers, the first level first.
fn tree(subscribers: usize) -> Vec<Vec<usize>> {
    let mut levels = Vec::new();
    let mut ports = subscribers;
    loop {
        let count = ports.div_ceil(BROADCAST_PORTS);
        // As even as can be: the first ones get what is left over.
        let level = (0..count).map(|index| ports / count + usize::from(index < ports % count));
        levels.insert(0, level.collect());
        if count == 1 {
            return levels;
        }
        ports = count;
    }
}
