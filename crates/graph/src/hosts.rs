//! Hosts: the computers that share the processes of a mapping. Model, reading, rules, and the part
//! of a graph and its mapping that one of them runs.
//!
//! How hosts meet is for the launcher. Each host checks its own part alone: it may lack the
//! packages of the others.

use crate::description::PackageDescriptions;
use crate::mapping::Mapping;
use crate::model::{Chain, Copies, Graph, GraphNode, GraphOutput};
use crate::names::{did_you_mean, listed, token_fault};
use crate::read::{Keys, Reading};
use crate::service::GraphService;
use crate::violation::{Violation, ViolationKind};
use crate::yaml::{Data, Entry, Tree};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const HOST: Keys = Keys { what: "a host", required: &["processes"], optional: &[] };

/// A computer and the processes that run there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MappedHost {
    /// Name, unique in the mapping, a ROS name token. It need not be the computer's name on a
    /// network.
    pub name: String,
    /// Names of its processes.
    pub processes: Vec<String>,
}

/// What one host of a mapping runs.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPart {
    /// Its nodes. What other hosts publish and serve is external here.
    pub graph: Graph,
    /// Its processes, without hosts.
    pub mapping: Mapping,
    /// Ports of other hosts that ports here are to be connected to.
    pub far: Vec<FarPort>,
    /// What the graph asks for and no host can do alone.
    pub warnings: Vec<Violation>,
}

/// A port of a node on another host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FarPort {
    /// Host.
    pub host: String,
    /// Node.
    pub node: String,
    /// What kind of port.
    pub end: PortEnd,
    /// Topic or service.
    pub name: String,
}

/// Which end of a topic or a service a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PortEnd {
    /// An output.
    Publisher,
    /// An input.
    Subscriber,
    /// A client.
    Client,
    /// A server.
    Server,
}

impl PortEnd {
    /// As a word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Subscriber => "subscriber",
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    /// What such a port is connected to.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Publisher => Self::Subscriber,
            Self::Subscriber => Self::Publisher,
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The map `hosts` of mapping files.
pub(crate) fn read_hosts(reading: &mut Reading, tree: &Tree) -> Vec<MappedHost> {
    reading.source.set(&["hosts"], tree.place);
    let entries = reading.map(tree, "`hosts`");
    entries.iter().map(|entry| host(reading, entry)).collect()
}

fn host(reading: &mut Reading, entry: &Entry) -> MappedHost {
    let name = entry.key.clone();
    reading.source.set(&["hosts", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the host", token_fault);
    let fields = reading.fields(&entry.value, &HOST);
    let mut processes = Vec::new();
    if let Some(tree) = fields.get("processes") {
        for item in reading.list(tree, "`processes`") {
            let Some(process) = reading.text(item, "a process of a host") else { continue };
            reading.source.set(&["hosts", &name, &process], item.place);
            processes.push(process);
        }
        if processes.is_empty() && matches!(tree.data, Data::List(_)) {
            let message = format!("host `{name}` has no process");
            let advice = "add one or remove the host";
            reading.note(ViolationKind::MissingKey, tree.place, message, advice);
        }
    }
    MappedHost { name, processes }
}

/// The host of each process that has exactly one, and what is wrong with the others. Nothing is,
/// if the mapping names no hosts.
fn hosts_of_processes(mapping: &Mapping) -> (BTreeMap<&str, &str>, Vec<Violation>) {
    let known: BTreeSet<&str> = mapping.processes.iter().map(|it| it.name.as_str()).collect();
    let mut hosts: BTreeMap<&str, &str> = BTreeMap::new();
    let mut violations = Vec::new();
    let mut note = |path: &[&str], kind, message: String, advice: String| {
        violations.push(Violation::at(kind, &mapping.source, path, message, advice));
    };
    let mut names = BTreeSet::new();
    for host in &mapping.hosts {
        if !names.insert(host.name.as_str()) {
            let message = format!("host `{}` is there twice", host.name);
            let advice = "rename one of them".to_owned();
            note(&["hosts", &host.name], ViolationKind::Duplicate, message, advice);
        }
        for process in &host.processes {
            let path = ["hosts", &host.name, process];
            if !known.contains(process.as_str()) {
                let message = format!("the mapping has no process `{process}`");
                let near = did_you_mean(process, known.iter().copied());
                let advice = if near.is_empty() { "remove it".to_owned() } else { near };
                note(&path, ViolationKind::Host, message, advice);
            } else if let Some(first) = hosts.get(process.as_str()) {
                let message =
                    format!("process `{process}` is on two hosts, first on host `{first}`");
                let advice = "remove one of the two places".to_owned();
                note(&path, ViolationKind::MappedTwice, message, advice);
            } else {
                hosts.insert(process, &host.name);
            }
        }
    }
    if mapping.hosts.is_empty() {
        return (hosts, violations);
    }
    for process in mapping.processes.iter().filter(|it| !hosts.contains_key(it.name.as_str())) {
        let message = format!("process `{}` is on no host", process.name);
        let advice = format!("add `{}` to the processes of a host", process.name);
        let path = ["processes", process.name.as_str()];
        violations.push(Violation::at(
            ViolationKind::Unmapped,
            &mapping.source,
            &path,
            message,
            advice,
        ));
    }
    if let Some(fabric) = mapping.fabrics.first() {
        let message = "a mapping with hosts cannot have fabrics";
        let advice = "place the nodes in processes, or map the graph to one computer";
        let path = ["fabrics", fabric.name.as_str()];
        violations.push(Violation::at(
            ViolationKind::Host,
            &mapping.source,
            &path,
            message,
            advice,
        ));
    }
    (hosts, violations)
}

/// Topics and services, and the nodes at each of their ends.
type Ends<'a> = BTreeMap<(PortEnd, &'a str), BTreeSet<&'a str>>;

impl Graph {
    /// What `host` runs of this graph. The mapping is the whole graph's, with its names. Nodes
    /// that it places nowhere are in every part, so that a check finds them.
    ///
    /// Pure: allocates, does not block, may be called from any thread.
    ///
    /// # Errors
    /// The mapping names no such host, or what it says of hosts does not fit.
    pub fn part_of_host(&self, mapping: &Mapping, host: &str) -> Result<HostPart, Vec<Violation>> {
        let (hosts, mut violations) = hosts_of_processes(mapping);
        if !mapping.hosts.iter().any(|it| it.name == host) {
            let known = mapping.hosts.iter().map(|it| it.name.as_str());
            let near = did_you_mean(host, known.clone());
            let message = format!("the mapping has no host `{host}`");
            let has = format!("its hosts are: {}", listed(known));
            let advice = if near.is_empty() { has } else { near };
            let source = &mapping.source;
            violations.push(Violation::at(
                ViolationKind::Host,
                source,
                &["hosts"],
                message,
                advice,
            ));
        }
        if !violations.is_empty() {
            return Err(violations);
        }
        let mut away: BTreeMap<&str, &str> = BTreeMap::new();
        for process in mapping.processes.iter().filter(|it| hosts[it.name.as_str()] != host) {
            let nodes = process.executors.iter().flat_map(|executor| &executor.nodes);
            away.extend(nodes.map(|node| (node.as_str(), hosts[process.name.as_str()])));
        }
        let here = self.ends(|node| !away.contains_key(node));
        let there = self.ends(|node| away.contains_key(node));
        let violations = self.uncopied_between(&here, &there);
        if !violations.is_empty() {
            return Err(violations);
        }
        let mut far: Vec<FarPort> = Vec::new();
        for ((end, name), nodes) in &there {
            if here.contains_key(&(end.other(), *name)) {
                far.extend(nodes.iter().map(|node| FarPort {
                    host: away[node].to_owned(),
                    node: (*node).to_owned(),
                    end: *end,
                    name: (*name).to_owned(),
                }));
            }
        }
        far.sort();
        let is_here = |name: &str| here.keys().any(|(_, known)| *known == name);
        let is_there = |name: &str| there.keys().any(|(_, known)| *known == name);
        let mut graph = self.clone();
        graph.nodes.retain(|node| !away.contains_key(node.name.as_str()));
        graph.arguments.retain(|argument| !away.contains_key(argument.node.as_str()));
        graph.topics.retain(|topic| is_here(&topic.name) || !is_there(&topic.name));
        for port in &far {
            match port.end {
                PortEnd::Publisher => drop(graph.topic_from_outside(&port.name)),
                PortEnd::Server => graph.call_outside(&port.name),
                PortEnd::Subscriber | PortEnd::Client => {}
            }
        }
        graph.open_at_the_border();
        let part = mapping.without_hosts(
            |process| hosts[process] == host,
            |node| !away.contains_key(node),
            |name| is_here(name) || !is_there(name),
        );
        Ok(HostPart { graph, mapping: part, far, warnings: self.cut_chains(&away) })
    }

    /// Outputs whose messages name shared buffers, which are memory of one computer, on topics to
    /// which one of `far` subscribes.
    #[must_use]
    pub fn buffers_between_hosts(
        &self,
        far: &[FarPort],
        descriptions: &PackageDescriptions,
    ) -> Vec<Violation> {
        let outputs = self.nodes.iter().flat_map(|node| {
            let package = descriptions.package(&node.package);
            let described = package.and_then(|package| package.node_type(&node.node_type));
            let outputs = node.outputs.iter();
            outputs.filter_map(move |it| Some((node, it, described?.output(&it.port)?)))
        });
        let crosses =
            |topic: &str| far.iter().any(|it| it.end == PortEnd::Subscriber && it.name == topic);
        let shared = outputs.filter(|(_, it, described)| described.tokens && crosses(&it.topic));
        let violation = |(node, output): (&GraphNode, &GraphOutput)| {
            let message = "its messages name shared buffers, which no other computer has";
            let advice = "place all nodes of the topic on one host";
            let path = ["nodes", node.name.as_str(), "outputs", &output.port];
            Violation::at(ViolationKind::Host, &self.source, &path, message, advice)
                .for_node(&node.name)
                .for_topic(&output.topic)
        };
        shared.map(|(node, output, _)| violation((node, output))).collect()
    }

    fn ends(&self, is_meant: impl Fn(&str) -> bool) -> Ends<'_> {
        let mut ends = Ends::new();
        for node in self.nodes.iter().filter(|node| is_meant(&node.name)) {
            let outputs = node.outputs.iter().map(|it| (PortEnd::Publisher, it.topic.as_str()));
            let inputs = node.inputs.iter().map(|it| (PortEnd::Subscriber, it.topic.as_str()));
            let clients = node.clients.iter().map(|it| (PortEnd::Client, it.service.as_str()));
            let servers = node.servers.iter().map(|it| (PortEnd::Server, it.service.as_str()));
            for end in outputs.chain(inputs).chain(clients).chain(servers) {
                ends.entry(end).or_default().insert(node.name.as_str());
            }
        }
        ends
    }

    /// Topics between hosts whose messages must not be copied.
    fn uncopied_between(&self, here: &Ends<'_>, there: &Ends<'_>) -> Vec<Violation> {
        let uncopied = self.topics.iter().filter(|topic| topic.copies == Copies::Forbidden);
        let crosses = |name: &str| {
            [PortEnd::Publisher, PortEnd::Subscriber].into_iter().any(|end| {
                here.contains_key(&(end, name)) && there.contains_key(&(end.other(), name))
            })
        };
        let between = uncopied.filter(|topic| crosses(&topic.name));
        let violation = |name: &str| {
            let message = "the topic says `copies: forbidden`, and has nodes on several hosts";
            let advice = "place its nodes on one host, or allow copies";
            let (kind, path) = (ViolationKind::Host, ["topics", name, "copies"]);
            Violation::at(kind, &self.source, &path, message, advice).for_topic(name)
        };
        between.map(|topic| violation(&topic.name)).collect()
    }

    fn call_outside(&mut self, name: &str) {
        match self.services.iter_mut().find(|service| service.name == name) {
            Some(service) => service.external = true,
            None => self.services.push(GraphService {
                name: name.to_owned(),
                external: true,
                ..GraphService::default()
            }),
        }
    }

    /// Chains that no host has as a whole.
    fn cut_chains(&self, away: &BTreeMap<&str, &str>) -> Vec<Violation> {
        let hosts: BTreeSet<Option<&str>> =
            self.nodes.iter().map(|node| away.get(node.name.as_str()).copied()).collect();
        let is_cut = |chain: &&Chain| {
            let is_on = |host| move |node: &str| away.get(node).copied() == host;
            !hosts.iter().any(|host| self.leads(&chain.from, &chain.to, is_on(*host)))
        };
        let warning = |chain: &Chain| {
            let message =
                format!("chain `{}` leads over several hosts: it is not measured", chain.name);
            let advice = "let it begin and end on one host, or ignore this";
            let path = ["chains", chain.name.as_str()];
            Violation::at(ViolationKind::Host, &self.source, &path, message, advice)
        };
        self.chains.iter().filter(is_cut).map(warning).collect()
    }

    /// Takes away what needs nodes that are elsewhere: chains without a way here, and the word of
    /// inputs that close a loop over other hosts.
    fn open_at_the_border(&mut self) {
        let all = |_: &str| true;
        let chains = self.chains.iter().filter(|chain| self.leads(&chain.from, &chain.to, all));
        let chains = chains.cloned().collect();
        let open: BTreeSet<(String, String)> = (self.nodes.iter())
            .flat_map(|node| {
                let closing = node.inputs.iter().filter(|input| input.closes_loop);
                let open = closing.filter(|input| {
                    let mut outputs = node.outputs.iter();
                    !outputs.any(|output| self.leads(&output.topic, &input.topic, all))
                });
                open.map(|input| (node.name.clone(), input.port.clone()))
            })
            .collect();
        for node in &mut self.nodes {
            for input in &mut node.inputs {
                input.closes_loop &= !open.contains(&(node.name.clone(), input.port.clone()));
            }
        }
        self.chains = chains;
    }

    /// Whether messages of one topic lead to messages of another one by nodes that are meant.
    fn leads(&self, from: &str, to: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut ways: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for node in self.nodes.iter().filter(|node| is_meant(&node.name)) {
            for input in &node.inputs {
                let outputs = node.outputs.iter().map(|output| output.topic.as_str());
                ways.entry(&input.topic).or_default().extend(outputs);
            }
        }
        let (mut known, mut next) = (BTreeSet::from([from]), vec![from]);
        while let Some(topic) = next.pop() {
            for after in ways.get(topic).into_iter().flatten() {
                if known.insert(after) {
                    next.push(after);
                }
            }
        }
        known.contains(to)
    }
}

impl Mapping {
    /// Everything that is wrong with what it says of hosts.
    pub(crate) fn host_faults(&self) -> Vec<Violation> {
        hosts_of_processes(self).1
    }

    /// The mapping of one host: its processes, and what is said of their nodes, topics and
    /// services.
    fn without_hosts(
        &self,
        has_process: impl Fn(&str) -> bool,
        has_node: impl Fn(&str) -> bool,
        has_topic: impl Fn(&str) -> bool,
    ) -> Self {
        let mut part = self.clone();
        part.hosts.clear();
        part.processes.retain(|process| has_process(&process.name));
        for device in &mut part.devices {
            device.nodes.retain(|node| has_node(node));
            device.topics.retain(|topic, _| has_topic(topic));
        }
        part.devices.retain(|device| !device.nodes.is_empty());
        part.topics.retain(|topic| has_topic(&topic.name));
        part
    }
}
