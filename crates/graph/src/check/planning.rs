//! The plan of a graph in which nothing is wrong.

use super::fabrics::{Gateway, Gateways};
use super::{Check, Port, Resolved, Seat, Thread, TopicPorts, Topics};
use crate::description::NodeTypeDescription;
use crate::mapping::ExecutorMode;
use crate::model::{Chain, Copies, GraphNode, InputReading};
use crate::parameters::USE_SIM_TIME;
use crate::plan::{
    ExecutorPlan, ExpectedConnections, InputPlan, LogLevel, NodePlan, OutputPlan, Plan,
    PortReference, ProcessPlan, Route, Routes, Time, TimerPlan, TopicPlan, WatchPlan,
};
use crate::policy::{OnFailure, Restart};
use crate::qos::{Qos, Reliability, WhenFull};
use crate::value::ParameterValue;
use std::collections::{BTreeMap, BTreeSet};

/// How long a publisher waits for its subscribers in a run without pacing, milliseconds: as long as
/// a recorder may be held up by its disk.
const UNPACED_TIMEOUT_MS: u32 = 30_000;

/// Number of ports on one topic, all in all, by thread and by process.
pub(super) struct Tally {
    pub(super) total: u32,
    /// Ports of the launcher among them.
    launcher: u32,
    by_lane: BTreeMap<Thread, u32>,
    by_process: BTreeMap<usize, u32>,
}

impl Tally {
    fn new(ports: &[Port<'_>], seats: &[Option<Seat>], by_launcher: bool, gateways: u32) -> Self {
        let launcher = u32::from(by_launcher);
        let mut tally = Self {
            total: launcher + gateways,
            launcher,
            by_lane: BTreeMap::new(),
            by_process: BTreeMap::new(),
        };
        for seat in ports.iter().filter_map(|port| seats[port.node]) {
            tally.total += 1;
            *tally.by_lane.entry(seat.thread()).or_default() += 1;
            *tally.by_process.entry(seat.process).or_default() += 1;
        }
        tally
    }

    /// How a port in this seat reaches the ports that were counted.
    fn routes(&self, seat: Seat) -> Routes {
        let here = self.by_lane.get(&seat.thread());
        let in_thread = here.copied().unwrap_or_default();
        Routes { in_thread, ring: self.total - in_thread }
    }

    fn in_process(&self, process: usize) -> u32 {
        self.by_process.get(&process).copied().unwrap_or_default()
    }
}

/// Publishers and subscribers of one topic, counted.
pub(super) struct Tallies {
    pub(super) publishers: Tally,
    pub(super) subscribers: Tally,
}

impl<'a> Check<'a> {
    pub(super) fn plan(
        self,
        seats: &[Option<Seat>],
        nodes: &[Resolved<'a>],
        topics: &Topics<'a>,
        order: &[usize],
        gateways: &Gateways<'a>,
    ) -> Plan {
        let stepping = self.stepping(seats, topics, order);
        let tallies: BTreeMap<&str, Tallies> = (topics.iter())
            .map(|(name, ports)| {
                let gateways = gateways.get(name).map_or(&[][..], Vec::as_slice);
                let chains = self.graph.chains.iter().filter(|chain| chain.from == *name);
                let watchers =
                    chains.filter_map(|it| self.watcher(it, seats, topics)).count() as u32;
                (*name, self.tallies(name, ports, seats, gateways, watchers))
            })
            .collect();
        let processes = (0..self.mapping.processes.len())
            .map(|process| self.process(process, seats, nodes, topics, &tallies, order))
            .collect();
        let mut processes: Vec<ProcessPlan> = processes;
        let steps = stepping.map(|stepping| self.step_plan(stepping, topics, &mut processes));
        let topic_plans =
            topics.iter().map(|(name, ports)| self.topic_plan(name, ports, seats, &tallies[name]));
        let launcher = tallies
            .iter()
            .filter(|(_, tally)| tally.publishers.launcher + tally.subscribers.launcher > 0);
        Plan {
            graph: self.graph.name.clone(),
            processes,
            fabrics: (0..self.mapping.fabrics.len())
                .map(|index| self.fabric(index, gateways, topics, &tallies))
                .collect(),
            topics: topic_plans.collect(),
            launcher: launcher
                .map(|(name, tally)| ExpectedConnections {
                    topic: (*name).to_owned(),
                    publishers: tally.publishers.total,
                    subscribers: tally.subscribers.total,
                    publishers_here: tally.publishers.launcher,
                    subscribers_here: tally.subscribers.launcher,
                })
                .collect(),
            chains: self.measured_chains(),
            warnings: self.warnings,
            trust: self.mapping.trust.clone(),
            steps,
        }
    }

    /// Topics whose messages must not be copied.
    pub(super) fn uncopied(&self) -> Vec<String> {
        let uncopied = self.graph.topics.iter().filter(|it| it.copies == Copies::Forbidden);
        uncopied.map(|topic| topic.name.clone()).collect()
    }

    fn tallies(
        &self,
        name: &str,
        ports: &TopicPorts<'a>,
        seats: &[Option<Seat>],
        gateways: &[Gateway<'a>],
        watchers: u32,
    ) -> Tallies {
        let up = gateways.iter().filter(|gateway| gateway.up.is_some()).count() as u32;
        let down = gateways.iter().filter(|gateway| gateway.down.is_some()).count() as u32;
        let played = self.options.played.iter().any(|topic| topic == name);
        let recorded = self.options.recorded.iter().any(|topic| topic == name);
        Tallies {
            publishers: Tally::new(&ports.publishers, seats, played, up),
            subscribers: Tally::new(&ports.subscribers, seats, recorded, down + watchers),
        }
    }

    fn process(
        &self,
        process: usize,
        seats: &[Option<Seat>],
        nodes: &[Resolved<'a>],
        topics: &Topics<'a>,
        tallies: &BTreeMap<&str, Tallies>,
        order: &[usize],
    ) -> ProcessPlan {
        let mapped = &self.mapping.processes[process];
        let own: Vec<usize> = order
            .iter()
            .copied()
            .filter(|node| seats[*node].is_some_and(|seat| seat.process == process))
            .collect();
        let first = mapped.executors.first().and_then(|executor| executor.nodes.first());
        let package = first.and_then(|name| self.graph.node(name));
        let lanes = mapped.executors.iter().enumerate().flat_map(|(index, executor)| {
            (0..executor.threads as usize).map(move |lane| (index, executor, lane))
        });
        let executors = lanes.filter_map(|(index, executor, lane)| {
            let seated = |node: &&usize| {
                seats[**node].is_some_and(|seat| (seat.executor, seat.lane) == (index, lane))
            };
            let plan = |node: &usize| self.node_plan(*node, seats, nodes, topics, tallies);
            let nodes: Vec<NodePlan> = own.iter().filter(seated).filter_map(plan).collect();
            // A thread for which nothing is left is none.
            (!nodes.is_empty()).then(|| ExecutorPlan {
                name: self.lane_name(process, index, lane),
                mode: match executor.mode {
                    ExecutorMode::Graph => ExecutorMode::Chain,
                    mode => mode,
                },
                spin_us: executor.spin_us,
                priority: executor.priority,
                affinity: executor.affinity.clone(),
                watches: self.watches((process, index, lane), seats, topics, tallies),
                nodes,
            })
        });
        ProcessPlan {
            uncopied: self.uncopied(),
            name: mapped.name.clone(),
            binary: own
                .first()
                .and_then(|node| nodes[*node].binary)
                .map_or_else(String::new, |binary| binary.binary.clone()),
            package: package.map_or_else(String::new, |node| node.package.clone()),
            domain_id: self.options.domain_id,
            time: self.options.time,
            duration_ns: self.options.duration_ns,
            executors: executors.collect(),
            expected: self.expected(process, &own, tallies),
            chains: self.measured_chains(),
            lock_memory: mapped.lock_memory,
            realtime: mapped.realtime,
            // What a process that begins anew has missed depends on when it died.
            restart: if self.options.time.is_stepped() { Restart::NEVER } else { mapped.restart },
        }
    }

    fn expected(
        &self,
        process: usize,
        nodes: &[usize],
        tallies: &BTreeMap<&str, Tallies>,
    ) -> Vec<ExpectedConnections> {
        let mut names = BTreeSet::new();
        for node in nodes.iter().map(|node| &self.graph.nodes[*node]) {
            names.extend(node.inputs.iter().map(|input| input.topic.as_str()));
            names.extend(node.outputs.iter().map(|output| output.topic.as_str()));
        }
        let counted = names.into_iter().filter_map(|name| Some((name, tallies.get(name)?)));
        counted
            .map(|(name, tally)| ExpectedConnections {
                topic: name.to_owned(),
                publishers: tally.publishers.total,
                subscribers: tally.subscribers.total,
                publishers_here: tally.publishers.in_process(process),
                subscribers_here: tally.subscribers.in_process(process),
            })
            .collect()
    }

    fn node_plan(
        &self,
        index: usize,
        seats: &[Option<Seat>],
        nodes: &[Resolved<'a>],
        topics: &Topics<'a>,
        tallies: &BTreeMap<&str, Tallies>,
    ) -> Option<NodePlan> {
        let (seat, description) = (seats[index]?, nodes[index].description?);
        let node = &self.graph.nodes[index];
        let inputs = description.inputs.iter().filter_map(|described| {
            let input = node.input(&described.port)?;
            let ports = &topics.get(input.topic.as_str())?.subscribers;
            let port = ports.iter().find(|port| port.node == index && port.port == input.port)?;
            Some(InputPlan {
                port: input.port.clone(),
                topic: input.topic.clone(),
                message_type: described.message_type.clone(),
                trigger: port.trigger,
                reading: match input.reading.or(described.reading) {
                    _ if port.trigger => InputReading::Next,
                    Some(InputReading::SinceLast) => InputReading::SinceLast,
                    _ => InputReading::Latest,
                },
                max_age: input.max_age,
                qos: self.input_qos(port, &input.topic),
                window: port.qos.depth,
                routes: tallies.get(input.topic.as_str())?.publishers.routes(seat),
            })
        });
        let outputs = description.outputs.iter().filter_map(|described| {
            let output = node.output(&described.port)?;
            let ports = &topics.get(output.topic.as_str())?.publishers;
            let port = ports.iter().find(|port| port.node == index && port.port == output.port)?;
            let declared = self.declared.get(output.topic.as_str());
            Some(OutputPlan {
                port: output.port.clone(),
                topic: output.topic.clone(),
                message_type: described.message_type.clone(),
                qos: self.output_qos(port),
                max_bytes: declared.and_then(|topic| topic.max_bytes),
                copies: declared.map_or(Copies::Allowed, |topic| topic.copies),
                routes: tallies.get(output.topic.as_str())?.subscribers.routes(seat),
            })
        });
        let in_lockstep = self.options.time.is_in_lockstep();
        Some(NodePlan {
            name: node.name.clone(),
            package: node.package.clone(),
            node_type: node.node_type.clone(),
            device: self.device_plan(index, seats, topics),
            uploads: self.device_uploads(index, seats, topics),
            managed: self.managed_topics(index, seats, topics),
            phase: 0,
            inputs: inputs.collect(),
            outputs: outputs.collect(),
            clients: self.client_plans(node, description),
            servers: self.server_plans(node, description),
            timers: timer_plans(node, description),
            condition: node.condition.clone(),
            lockstep: node.lockstep.clone().filter(|_| in_lockstep),
            budget: node.budget,
            on_failure: self.on_failure(node, seat),
            log_level: LogLevel::default(),
            enclave: None,
            use_sim_time: self.options.time == Time::Wall
                && node.parameters.get(USE_SIM_TIME) == Some(&ParameterValue::Bool(true)),
            parameters: parameters(node, description),
        })
    }

    /// What follows from a failure of this node.
    fn on_failure(&self, node: &GraphNode, seat: Seat) -> OnFailure {
        let restarts = self.mapping.processes[seat.process].restart.is_possible();
        let unsaid = if restarts { OnFailure::RestartProcess } else { OnFailure::StopRun };
        node.on_failure.unwrap_or(unsaid)
    }

    /// The executor that watches a chain with a max_latency: the only one that publishes on its
    /// last topic. Without pacing nothing is late because time passes.
    fn watcher(
        &self,
        chain: &Chain,
        seats: &[Option<Seat>],
        topics: &Topics<'a>,
    ) -> Option<Thread> {
        if self.options.time.is_unpaced() || chain.max_latency.is_none() {
            return None;
        }
        let ports = &topics.get(chain.to.as_str())?.publishers;
        let executors: BTreeSet<_> =
            ports.iter().map(|port| seats[port.node].map(Seat::thread)).collect();
        let mut executors = executors.into_iter();
        executors.next()?.filter(|_| executors.next().is_none())
    }

    /// Chains that an executor watches.
    fn watches(
        &self,
        executor: Thread,
        seats: &[Option<Seat>],
        topics: &Topics<'a>,
        tallies: &BTreeMap<&str, Tallies>,
    ) -> Vec<WatchPlan> {
        let chains = self.graph.chains.iter();
        let watched = chains.filter(|it| self.watcher(it, seats, topics) == Some(executor));
        let plan = |chain: &Chain| {
            let publishers = tallies.get(chain.from.as_str()).map_or(0, |it| it.publishers.total);
            WatchPlan { chain: chain.name.clone(), publishers }
        };
        watched.map(plan).collect()
    }

    /// Without pacing nothing is gained by dropping a message, and which one it hits would depend
    /// on the mapping: whatever the graph publishes waits for those that it triggers, and long
    /// enough for a slow disk.
    pub(super) fn output_qos(&self, port: &Port<'a>) -> Qos {
        match self.options.time.is_unpaced() {
            true => Qos {
                reliability: Reliability::Reliable,
                when_full: WhenFull::Wait,
                timeout_ms: port.qos.timeout_ms.max(UNPACED_TIMEOUT_MS),
                ..port.qos.timeless()
            },
            false => self.in_time(port.qos),
        }
    }

    /// The counterpart of [`Self::output_qos`]. Publishers outside the graph offer what they like;
    /// a recording is played message by message. An input that does not trigger holds nobody up.
    pub(super) fn input_qos(&self, port: &Port<'a>, topic: &str) -> Qos {
        if self.options.time.is_stepped() {
            return self.stepped_qos(port, topic);
        }
        if self.options.time.is_unpaced() && port.trigger && !self.is_external(topic) {
            return Qos { reliability: Reliability::Reliable, ..port.qos.timeless() };
        }
        self.in_time(port.qos)
    }

    /// Deadlines, lifespans and leases are times of the computer's clock: simulated time has none
    /// of them.
    fn in_time(&self, qos: Qos) -> Qos {
        match self.options.time {
            Time::Wall => qos,
            Time::Simulated { .. } => qos.timeless(),
        }
    }

    fn topic_plan(
        &self,
        name: &str,
        ports: &TopicPorts<'a>,
        seats: &[Option<Seat>],
        tally: &Tallies,
    ) -> TopicPlan {
        let declared = self.declared.get(name);
        let references = |ports: &[Port<'a>], others: &Tally| -> Vec<PortReference> {
            let seated = ports.iter().filter_map(|port| Some((port, seats[port.node]?)));
            seated
                .map(|(port, seat)| PortReference {
                    process: self.mapping.processes[seat.process].name.clone(),
                    executor: self.lane_name(seat.process, seat.executor, seat.lane),
                    node: self.node_name(port.node).to_owned(),
                    port: port.port.to_owned(),
                    trigger: port.trigger,
                    routes: others.routes(seat),
                })
                .collect()
        };
        let publishers = references(&ports.publishers, &tally.subscribers);
        let subscribers = references(&ports.subscribers, &tally.publishers);
        let all = || publishers.iter().chain(&subscribers);
        let in_thread = all().any(|port| port.routes.in_thread > 0);
        let ring = all().any(|port| port.routes.ring > 0);
        let of_ports = ports.publishers.iter().chain(&ports.subscribers);
        let message_type = of_ports.filter_map(|port| port.message_type).next();
        let message_type = message_type.map(str::to_owned);
        TopicPlan {
            name: name.to_owned(),
            message_type: message_type.or_else(|| declared?.message_type.clone()),
            external: declared.is_some_and(|topic| topic.external),
            played: tally.publishers.launcher > 0,
            recorded: tally.subscribers.launcher > 0,
            max_bytes: declared.and_then(|topic| topic.max_bytes),
            copies: declared.map_or(Copies::Allowed, |topic| topic.copies),
            route: match (in_thread, ring) {
                (false, false) => Route::Unconnected,
                (true, false) => Route::InThread,
                (false, true) => Route::Ring,
                (true, true) => Route::Both,
            },
            mapping: self.topic_mappings.get(name).copied().unwrap_or_default(),
            publishers,
            subscribers,
        }
    }
}

/// All parameters of a node type with the value from the graph, or else their default.
fn parameters(
    node: &GraphNode,
    description: &NodeTypeDescription,
) -> BTreeMap<String, ParameterValue> {
    let parameters = description.parameters.iter().map(|parameter| {
        let wanted = parameter.default.parameter_type();
        let said = node.parameters.get(&parameter.name);
        let value = said.and_then(|value| value.converted_to(wanted));
        (parameter.name.clone(), value.unwrap_or_else(|| parameter.default.clone()))
    });
    parameters.collect()
}

/// All timers of a node type with the period from the graph or else from the description.
fn timer_plans(node: &GraphNode, description: &NodeTypeDescription) -> Vec<TimerPlan> {
    let timers = description.timers.iter().filter_map(|described| {
        let said = node.timers.iter().find(|timer| timer.name == described.name);
        let period_ns = said.and_then(|timer| timer.period.period_ns()).or(described.period_ns)?;
        Some(TimerPlan {
            name: described.name.clone(),
            period_ns,
            clock: described.clock,
            offset_ns: said.and_then(|timer| timer.offset_ns),
            priority: said.map_or(0, |timer| timer.priority),
        })
    });
    timers.collect()
}
