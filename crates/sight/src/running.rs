//! A running graph in the words of graph and mapping files, with what was measured, so that what
//! draws graph files draws it, too.
//!
//! Node names of several processes that are the same are told apart by process id. It must not
//! subscribe to anything.

use crate::text::{bytes, duration};
use crate::{
    Reading, Span, detail, executor_of, is_hidden, is_hidden_node, lost_of, node_detail, of_kind,
};
use crossdock_comm::status_records::{NodeDetail, Triggering, client_counter, counter, kind};
use crossdock_comm::{Maker, PeerName, PortSnapshot, ProcessSnapshot};
use crossdock_executor::status::{chain_counter, executor_counter, node_counter, timer_counter};
use crossdock_graph::{
    Chain, ExecutorMode, Figures, Graph, GraphClient, GraphInput, GraphNode, GraphOutput,
    GraphServer, GraphService, GraphTimer, GraphTopic, Limit, MappedExecutor, MappedProcess,
    Mapping, OnMiss, Period, Picture,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is drawn at a node that a gateway shows here.
const ELSEWHERE: &str = "on another computer";

/// A running graph in the words of graph and mapping files.
#[derive(Debug)]
pub struct Running {
    /// Nodes, topics, services and chains.
    pub graph: Graph,
    /// Processes and executors.
    pub mapping: Mapping,
    /// Rates, losses and times.
    pub figures: Figures,
    /// Calls per second, by service.
    calls: BTreeMap<String, f64>,
}

impl Running {
    /// What runs in a domain, as two readings show it.
    pub fn of(now: &Reading, before: &Reading, domain_id: u32) -> Self {
        let span = Span::new(now, Some(before));
        let names = Names::of(&now.graph.processes);
        let reading = reading_ports(&now.graph.processes);
        let graph = Graph { name: format!("domain {domain_id}"), ..Graph::default() };
        let mut running = Self {
            graph,
            mapping: Mapping::default(),
            figures: Figures::default(),
            calls: BTreeMap::new(),
        };
        for process in &now.graph.processes {
            running.add_process(&span, process, &names, &reading);
        }
        running.add_topics(now);
        running.add_services(now);
        running.add_chains(&now.graph.processes);
        running
    }

    /// The graph, ready to be drawn.
    pub fn picture(&self) -> Picture<'_> {
        let Self { graph, mapping, figures, .. } = self;
        Picture { graph, mapping: Some(mapping), descriptions: None, figures: Some(figures) }
    }

    fn add_process(
        &mut self,
        span: &Span<'_>,
        process: &ProcessSnapshot,
        names: &Names<'_>,
        reading: &BTreeSet<(PeerName, u64)>,
    ) {
        let mut nodes: BTreeMap<&str, GraphNode> = BTreeMap::new();
        let mut seats: BTreeMap<String, MappedExecutor> = BTreeMap::new();
        let node = |name: &str| GraphNode { name: names.node(process, name), ..Default::default() };
        let records = of_kind(&process.others, kind::NODE);
        for record in records.filter(|record| !is_hidden_node(&record.name)) {
            let mut found = node(&record.name);
            let NodeDetail { node_type: type_name, maker, .. } = node_detail(record);
            let (package, node_type) = type_name.split_once('/').unwrap_or(("", &type_name));
            (found.package, found.node_type) = (package.to_owned(), node_type.to_owned());
            found.timers = timers(process, &record.name);
            let executor = executor_of(&process.others, record.counters[node_counter::THREAD]);
            if let Some(executor) = executor {
                let mode = match detail(executor).as_str() {
                    "chain" => ExecutorMode::Chain,
                    _ => ExecutorMode::Event,
                };
                let thread = executor.counters[executor_counter::THREAD];
                let seat = seats.entry(format!("{thread}")).or_insert_with(|| MappedExecutor {
                    name: executor.name.clone(),
                    mode,
                    ..MappedExecutor::default()
                });
                seat.nodes.push(found.name.clone());
            }
            let text = match maker {
                // Its figures are those of a record here, which nobody counts on.
                Maker::Gateway => Some(ELSEWHERE.to_owned()),
                Maker::Native | Maker::Rmw => span.node_text(process.name, record),
            };
            if let Some(text) = text {
                self.figures.nodes.insert(found.name.clone(), text);
            }
            nodes.insert(&record.name, found);
        }
        let mut free = MappedExecutor {
            name: "no executor".to_owned(),
            mode: ExecutorMode::Event,
            ..MappedExecutor::default()
        };
        let ports = process.publishers.iter().chain(&process.subscribers);
        let ports = ports.chain(&process.clients).chain(&process.servers);
        for port in ports.filter(|port| !is_hidden_node(&port.node)) {
            nodes.entry(&port.node).or_insert_with(|| {
                let found = node(&port.node);
                free.nodes.push(found.name.clone());
                found
            });
        }
        self.add_ports(span, process, &mut nodes, reading);
        let mut executors: Vec<MappedExecutor> = seats.into_values().collect();
        executors.extend(Some(free).filter(|free| !free.nodes.is_empty()));
        if !executors.is_empty() {
            let name = names.process(process);
            self.mapping.processes.push(MappedProcess {
                name,
                executors,
                ..MappedProcess::default()
            });
        }
        self.graph.nodes.extend(nodes.into_values());
    }

    fn add_ports(
        &mut self,
        span: &Span<'_>,
        process: &ProcessSnapshot,
        nodes: &mut BTreeMap<&str, GraphNode>,
        reading: &BTreeSet<(PeerName, u64)>,
    ) {
        let rate = |port: &PortSnapshot| {
            let messages = |port: &PortSnapshot| port.counters[counter::MESSAGES];
            let rate = span.port_rate(process.name, port, messages);
            let rate = match rate {
                None => "new".to_owned(),
                // A gateway carries nothing that nobody wants.
                Some(0.0) if port.maker == Maker::Gateway => "not carried".to_owned(),
                Some(rate) => format!("{rate:.1} Hz"),
            };
            match lost_of(port).total() {
                0 => rate,
                lost => format!("{rate}, {lost} lost"),
            }
        };
        for port in process.publishers.iter().filter(|port| !is_hidden(&port.topic)) {
            let Some(node) = nodes.get_mut(port.node.as_str()) else { continue };
            let (name, topic) = (format!("out {}", node.outputs.len()), port.topic.clone());
            self.figures.publishers.insert((node.name.clone(), topic.clone()), rate(port));
            node.outputs.push(GraphOutput { port: name, topic, ..GraphOutput::default() });
        }
        for port in process.subscribers.iter().filter(|port| !is_hidden(&port.topic)) {
            let Some(node) = nodes.get_mut(port.node.as_str()) else { continue };
            let (name, topic) = (format!("in {}", node.inputs.len()), port.topic.clone());
            self.figures.subscribers.insert((node.name.clone(), topic.clone()), rate(port));
            let trigger = Some(!reading.contains(&(process.name, port.port)));
            let input = GraphInput { port: name, topic, trigger, ..GraphInput::default() };
            node.inputs.push(input);
        }
        for port in &process.clients {
            let Some(node) = nodes.get_mut(port.node.as_str()) else { continue };
            let (name, service) = (format!("client {}", node.clients.len()), port.topic.clone());
            node.clients.push(GraphClient { port: name, service, ..GraphClient::default() });
            let calls = self.calls.entry(port.topic.clone()).or_default();
            let made =
                span.port_rate(process.name, port, |port| port.counters[client_counter::CALLS]);
            *calls += made.unwrap_or(0.0);
        }
        for port in &process.servers {
            let Some(node) = nodes.get_mut(port.node.as_str()) else { continue };
            let (name, service) = (format!("server {}", node.servers.len()), port.topic.clone());
            node.servers.push(GraphServer { port: name, service, ..GraphServer::default() });
        }
    }

    /// Services that ports are on: with their type, and how often they are called.
    fn add_services(&mut self, now: &Reading) {
        let ends = now.graph.processes.iter().flat_map(|it| it.clients.iter().chain(&it.servers));
        let types: BTreeMap<&str, &str> =
            ends.map(|port| (port.topic.as_str(), port.type_name.as_str())).collect();
        let served: BTreeSet<&str> = (self.graph.nodes.iter())
            .flat_map(|node| node.servers.iter().map(|server| server.service.as_str()))
            .collect();
        let services = types.into_iter().map(|(name, service_type)| GraphService {
            name: name.to_owned(),
            service_type: Some(service_type.to_owned()),
            // Nobody here serves it.
            external: !served.contains(name),
            ..GraphService::default()
        });
        self.graph.services = services.collect();
        let rate = |rate: f64| format!("{rate:.1} calls/s");
        let calls = std::mem::take(&mut self.calls).into_iter();
        self.figures.services = calls.map(|(name, calls)| (name, rate(calls))).collect();
    }

    fn add_topics(&mut self, now: &Reading) {
        let mut types: BTreeMap<&str, &str> = BTreeMap::new();
        for process in &now.graph.processes {
            let ports = process.publishers.iter().chain(&process.subscribers);
            for port in ports.filter(|port| !is_hidden(&port.topic)) {
                let known = types.entry(&port.topic).or_default();
                if known.is_empty() {
                    *known = &port.type_name;
                }
            }
        }
        let published: BTreeSet<&str> = self
            .graph
            .nodes
            .iter()
            .flat_map(|node| node.outputs.iter().map(|output| output.topic.as_str()))
            .collect();
        let topics = types.into_iter().map(|(name, message_type)| GraphTopic {
            name: name.to_owned(),
            message_type: Some(message_type.to_owned()).filter(|it| !it.is_empty()),
            // Nobody here publishes it.
            external: !published.contains(name),
            ..GraphTopic::default()
        });
        self.graph.topics = topics.collect();
        let sizes = now.graph.processes.iter().flat_map(|process| &process.publishers);
        let mut mean: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for port in sizes {
            let (messages, size) = mean.entry(&port.topic).or_default();
            *messages = messages.saturating_add(port.counters[counter::MESSAGES]);
            *size = size.saturating_add(port.counters[counter::BYTES]);
        }
        for (topic, (messages, size)) in mean {
            if let Some(mean) = size.checked_div(messages) {
                self.figures.topics.insert(topic.to_owned(), format!("{} each", bytes(mean)));
            }
        }
    }

    fn add_chains(&mut self, processes: &[Arc<ProcessSnapshot>]) {
        let records = processes.iter().flat_map(|it| of_kind(&it.others, kind::CHAIN));
        let mut known = BTreeSet::new();
        for record in records.filter(|record| known.insert(record.name.clone())) {
            if let Some((from, to)) = detail(record).split_once(' ') {
                let [name, from, to] = [&record.name, from, to].map(str::to_owned);
                let limit_ns = record.counters[chain_counter::MAX_LATENCY_NS];
                // What follows from a miss is not on the status table.
                let limit = Limit { limit_ns, on_miss: OnMiss::Count };
                let max_latency = (limit_ns != 0).then_some(limit);
                self.graph.chains.push(Chain { name, from, to, max_latency });
            }
        }
    }
}

impl Span<'_> {
    /// How often a node executes, and how long that takes.
    fn node_text(
        &self,
        process: PeerName,
        record: &crossdock_comm::EntitySnapshot,
    ) -> Option<String> {
        let (per_s, mean_ns) = self.executions(process, record);
        let mean = mean_ns.map(|ns| format!(", {} each", duration(ns))).unwrap_or_default();
        Some(format!("{:.1} /s{mean}", per_s?))
    }
}

/// Subscribers that nothing triggers: all their connections say so.
fn reading_ports(processes: &[Arc<ProcessSnapshot>]) -> BTreeSet<(PeerName, u64)> {
    let mut reading = BTreeSet::new();
    let mut triggered = BTreeSet::new();
    for process in processes {
        for connection in &process.connections {
            let port = (process.name, connection.detail.subscriber);
            match connection.detail.triggering {
                Triggering::Yes => triggered.insert(port),
                Triggering::No => reading.insert(port),
            };
        }
    }
    &reading - &triggered
}

fn timers(process: &ProcessSnapshot, node: &str) -> Vec<GraphTimer> {
    let timers = of_kind(&process.others, kind::TIMER).filter(|timer| timer.name == node);
    let timer = |record: &crossdock_comm::EntitySnapshot| GraphTimer {
        name: detail(record),
        period: Period::PeriodMs(record.counters[timer_counter::PERIOD_NS] as f64 / 1e6),
        offset_ns: None,
        priority: 0,
    };
    timers.map(timer).collect()
}

/// How often each name occurs: names may occur several times.
struct Names<'a> {
    nodes: BTreeMap<&'a str, usize>,
    processes: BTreeMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    fn of(processes: &'a [Arc<ProcessSnapshot>]) -> Self {
        let mut names = Self { nodes: BTreeMap::new(), processes: BTreeMap::new() };
        for process in processes {
            *names.processes.entry(&process.process).or_default() += 1;
            let ports = process.publishers.iter().chain(&process.subscribers);
            let ports = ports.chain(&process.clients).chain(&process.servers);
            let nodes = of_kind(&process.others, kind::NODE).map(|it| it.name.as_str());
            let own: BTreeSet<&str> = nodes.chain(ports.map(|port| port.node.as_str())).collect();
            for node in own {
                *names.nodes.entry(node).or_default() += 1;
            }
        }
        names
    }

    fn node(&self, process: &ProcessSnapshot, name: &str) -> String {
        unique(&self.nodes, name, process.pid)
    }

    fn process(&self, process: &ProcessSnapshot) -> String {
        unique(&self.processes, &process.process, process.pid)
    }
}

fn unique(known: &BTreeMap<&str, usize>, name: &str, pid: u32) -> String {
    match known.get(name) {
        Some(2..) => format!("{name} (pid {pid})"),
        _ => name.to_owned(),
    }
}
