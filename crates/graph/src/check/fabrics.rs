//! The host of each fabric in the plan: one process, and in it one node with a port for each end of
//! a gateway.

use super::hardware::Hardware;
use super::planning::Tallies;
use super::{Check, Port, TopicPorts, Topics};
use crate::description::FABRIC_BINARY;
use crate::mapping::{ExecutorMode, TopicMapping};
use crate::model::{Copies, InputReading};
use crate::plan::{
    ExecutorPlan, ExpectedConnections, FabricPlan, GatewayPlan, HardwareEnd, InputPlan, LogLevel,
    NodePlan, OutputPlan, ProcessPlan, Routes,
};
use crate::policy::{OnFailure, Realtime, Restart};
use crate::qos::{Durability, History, Qos, Reliability, WhenFull};
use std::collections::BTreeMap;

/// The gateways of all fabrics on one topic, by the index of the fabric.
pub(super) type Gateways<'a> = BTreeMap<&'a str, Vec<Gateway<'a>>>;

/// A way between host memory and a fabric, with what its ports have to promise.
pub(super) struct Gateway<'a> {
    pub(super) fabric: usize,
    /// The hardware port that has it for itself; `None`: all of the fabric on the topic share it.
    end: Option<(&'a str, &'a str)>,
    /// From the topic into the fabric.
    pub(super) down: Option<Qos>,
    /// From the fabric to the topic.
    pub(super) up: Option<Qos>,
}

impl Gateway<'_> {
    /// What its ports are called at the host's node.
    fn port(&self, topic: &str) -> String {
        self.end.map_or_else(|| topic.to_owned(), |(node, port)| format!("{node}.{port}"))
    }
}

impl<'a> Check<'a> {
    /// All gateways of the run. On a topic that is mapped to a gateway the hardware ports of a
    /// fabric share one, which brings messages down only where they are published elsewhere; on a
    /// software-mapped topic each has its own.
    pub(super) fn gateways(&self, hardware: &Hardware<'a>, topics: &Topics<'a>) -> Gateways<'a> {
        let mut gateways = Gateways::new();
        for (name, ports) in topics {
            let found = match self.topic_mappings.get(name).copied().unwrap_or_default() {
                TopicMapping::Hardware => continue,
                TopicMapping::Gateway => self.shared(name, ports, hardware),
                TopicMapping::Software => self.direct(name, ports, hardware),
            };
            if !found.is_empty() {
                gateways.insert(*name, found);
            }
        }
        gateways
    }

    fn fabric_of(&self, port: &Port<'a>, hardware: &Hardware<'a>) -> Option<usize> {
        hardware.get(self.node_name(port.node)).copied()
    }

    fn shared(
        &self,
        topic: &str,
        ports: &TopicPorts<'a>,
        hardware: &Hardware<'a>,
    ) -> Vec<Gateway<'a>> {
        let fabric = |port: &Port<'a>| self.fabric_of(port, hardware);
        let of_fabric = |index: usize| {
            let here = |port: &&Port<'a>| fabric(port) == Some(index);
            let external = self.is_external(topic);
            let elsewhere = external || ports.publishers.iter().any(|port| !here(&port));
            let down = ports.subscribers.iter().filter(here).map(|it| self.input_qos(it, topic));
            let up = ports.publishers.iter().filter(here).map(|it| self.output_qos(it));
            Gateway {
                fabric: index,
                end: None,
                down: down.reduce(|a, b| joined(a, b, true)).filter(|_| elsewhere),
                up: up.reduce(|a, b| joined(a, b, false)),
            }
        };
        let all = (0..self.mapping.fabrics.len()).map(of_fabric);
        all.filter(|gateway| gateway.down.is_some() || gateway.up.is_some()).collect()
    }

    fn direct(
        &self,
        topic: &str,
        ports: &TopicPorts<'a>,
        hardware: &Hardware<'a>,
    ) -> Vec<Gateway<'a>> {
        let of_port = |port: &Port<'a>, down: Option<Qos>, up: Option<Qos>| {
            let end = Some((self.node_name(port.node), port.port));
            self.fabric_of(port, hardware).map(|fabric| Gateway { fabric, end, down, up })
        };
        let up = ports.publishers.iter().map(|it| of_port(it, None, Some(self.output_qos(it))));
        let down = ports.subscribers.iter();
        let down = down.map(|it| of_port(it, Some(self.input_qos(it, topic)), None));
        up.chain(down).flatten().collect()
    }

    /// A fabric, and what hosts it: `None` if nothing passes between it and host memory.
    pub(super) fn fabric(
        &self,
        index: usize,
        gateways: &Gateways<'a>,
        topics: &Topics<'a>,
        tallies: &BTreeMap<&str, Tallies>,
    ) -> FabricPlan {
        let fabric = &self.mapping.fabrics[index];
        let mut plans = Vec::new();
        let mut node = gateways_node(&fabric.name);
        let here = gateways.iter().flat_map(|(topic, all)| all.iter().map(move |it| (*topic, it)));
        for (topic, gateway) in here.filter(|(_, gateway)| gateway.fabric == index) {
            let (Some(tally), Some(ports)) = (tallies.get(topic), topics.get(topic)) else {
                continue;
            };
            let port = gateway.port(topic);
            let of_ports = ports.publishers.iter().chain(&ports.subscribers);
            let declared = self.declared.get(topic);
            let message_type = of_ports.filter_map(|port| port.message_type).next();
            let message_type = message_type.map(str::to_owned);
            let message_type =
                message_type.or_else(|| declared?.message_type.clone()).unwrap_or_default();
            // A gateway does not hear what it has moved up itself.
            let own = u32::from(gateway.down.is_some() && gateway.up.is_some());
            let routes = |total: u32| Routes { in_thread: 0, ring: total - own };
            node.inputs.extend(gateway.down.map(|qos| InputPlan {
                port: port.clone(),
                topic: topic.to_owned(),
                message_type: message_type.clone(),
                trigger: true,
                reading: InputReading::Next,
                max_age: None,
                qos,
                window: qos.depth,
                routes: routes(tally.publishers.total),
            }));
            node.outputs.extend(gateway.up.map(|qos| OutputPlan {
                port: port.clone(),
                topic: topic.to_owned(),
                message_type: message_type.clone(),
                qos,
                max_bytes: declared.and_then(|topic| topic.max_bytes),
                copies: Copies::Allowed,
                routes: routes(tally.subscribers.total),
            }));
            plans.push(GatewayPlan {
                topic: topic.to_owned(),
                message_type,
                down: gateway.down.map(|_| port.clone()),
                up: gateway.up.map(|_| port),
                end: gateway.end.map(|(node, port)| HardwareEnd {
                    node: node.to_owned(),
                    port: port.to_owned(),
                }),
            });
        }
        let host = (!plans.is_empty()).then(|| self.host(&fabric.name, node, tallies));
        FabricPlan { name: fabric.name.clone(), nodes: fabric.nodes.clone(), gateways: plans, host }
    }

    fn host(&self, name: &str, node: NodePlan, tallies: &BTreeMap<&str, Tallies>) -> ProcessPlan {
        let mut here: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        node.outputs.iter().for_each(|it| here.entry(&it.topic).or_default().0 += 1);
        node.inputs.iter().for_each(|it| here.entry(&it.topic).or_default().1 += 1);
        let expected =
            here.into_iter().filter_map(|(topic, (publishers_here, subscribers_here))| {
                let tally = tallies.get(topic)?;
                Some(ExpectedConnections {
                    topic: topic.to_owned(),
                    publishers: tally.publishers.total,
                    subscribers: tally.subscribers.total,
                    publishers_here,
                    subscribers_here,
                })
            });
        let expected = expected.collect();
        ProcessPlan {
            uncopied: self.uncopied(),
            name: name.to_owned(),
            binary: FABRIC_BINARY.to_owned(),
            package: FABRIC_BINARY.to_owned(),
            domain_id: self.options.domain_id,
            time: self.options.time,
            duration_ns: self.options.duration_ns,
            executors: vec![ExecutorPlan {
                name: name.to_owned(),
                mode: ExecutorMode::Event,
                spin_us: 0,
                priority: None,
                affinity: Vec::new(),
                watches: Vec::new(),
                nodes: vec![node],
            }],
            expected,
            chains: self.graph.chains.clone(),
            lock_memory: false,
            realtime: Realtime::default(),
            restart: Restart::NEVER,
        }
    }
}

/// The node with the host's ends of all gateways of a fabric, without ports yet.
fn gateways_node(fabric: &str) -> NodePlan {
    NodePlan {
        name: format!("gateways_{fabric}"),
        package: FABRIC_BINARY.to_owned(),
        node_type: "gateways".to_owned(),
        device: None,
        uploads: Vec::new(),
        managed: Vec::new(),
        phase: 0,
        inputs: Vec::new(),
        outputs: Vec::new(),
        clients: Vec::new(),
        servers: Vec::new(),
        timers: Vec::new(),
        condition: None,
        lockstep: None,
        budget: None,
        on_failure: OnFailure::StopRun,
        log_level: LogLevel::default(),
        enclave: None,
        use_sim_time: false,
        parameters: BTreeMap::new(),
    }
}

/// What one port has to promise in the place of two. A subscriber asks for whatever one of them
/// asks for; a publisher offers what both do.
fn joined(a: Qos, b: Qos, asks: bool) -> Qos {
    let strong = |a: bool, b: bool| if asks { a || b } else { a && b };
    let is_reliable = |qos: Qos| qos.reliability == Reliability::Reliable;
    let is_latched = |qos: Qos| qos.durability == Durability::TransientLocal;
    // A shorter time is more; 0 sets no limit.
    let time = |a: u64, b: u64| match (a.min(b), a.max(b)) {
        (0, longer) => {
            if asks {
                longer
            } else {
                0
            }
        }
        (shorter, longer) => {
            if asks {
                shorter
            } else {
                longer
            }
        }
    };
    let keeps_all = a.history == History::KeepAll || b.history == History::KeepAll;
    let overwrites = a.when_full == WhenFull::Overwrite || b.when_full == WhenFull::Overwrite;
    Qos {
        reliability: match strong(is_reliable(a), is_reliable(b)) {
            true => Reliability::Reliable,
            false => Reliability::BestEffort,
        },
        durability: match strong(is_latched(a), is_latched(b)) {
            true => Durability::TransientLocal,
            false => Durability::Volatile,
        },
        when_full: match overwrites && !keeps_all {
            true => WhenFull::Overwrite,
            false => WhenFull::Wait,
        },
        history: match keeps_all {
            true => History::KeepAll,
            false => History::KeepLast,
        },
        depth: a.depth.max(b.depth),
        timeout_ms: a.timeout_ms.max(b.timeout_ms),
        deadline_ns: time(a.deadline_ns, b.deadline_ns),
        lifespan_ns: time(a.lifespan_ns, b.lifespan_ns),
        liveliness: if asks {
            a.liveliness.max(b.liveliness)
        } else {
            a.liveliness.min(b.liveliness)
        },
        lease_duration_ns: time(a.lease_duration_ns, b.lease_duration_ns),
    }
}
