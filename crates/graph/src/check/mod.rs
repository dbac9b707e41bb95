//! The check of graph, mapping and descriptions against each other, and the plan that follows.
//!
//! Each file beside this one holds the rules on one subject; all note what they find and go on.
//! Time grows with the number of nodes and ports, never with the number of their pairs.

mod conditions;
mod devices;
mod fabrics;
mod hardware;
mod lanes;
mod nodes;
mod packages;
mod placement;
mod planning;
mod policies;
mod services;
mod steps;
mod structure;
mod topics;
mod triggers;

use crate::description::{BinaryDescription, NodeTypeDescription, PackageDescriptions};
use crate::limits::VIOLATIONS_MAX;
use crate::mapping::{Mapping, TopicMapping};
use crate::model::{Graph, GraphTopic};
use crate::plan::{Pacing, Plan, Time};
use crate::qos::Qos;
use crate::violation::{Violation, ViolationKind};
use packages::Implementation;
use std::collections::BTreeMap;

/// What a run adds to graph and mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// ROS domain id, 0 to [`DOMAIN_ID_MAX`](crate::limits::DOMAIN_ID_MAX).
    pub domain_id: u32,
    /// What time means.
    pub time: Time,
    /// Topics that the launcher plays, from [`Graph::with_input`].
    pub played: Vec<String>,
    /// Topics that the launcher records.
    pub recorded: Vec<String>,
    /// Simulated time after which the run ends, nanoseconds; `None`: it goes on.
    pub duration_ns: Option<u64>,
}

impl RunOptions {
    /// Domain 0, wall clock, nothing played or recorded.
    pub const PLAIN: Self = Self {
        domain_id: 0,
        time: Time::Wall,
        played: Vec::new(),
        recorded: Vec::new(),
        duration_ns: None,
    };
}

/// Checks that graph, mapping and descriptions fit together and settles every choice.
///
/// Pure: allocates, does not block, may be called from any thread. The same arguments give the same
/// plan, order included.
///
/// # Errors
/// Every rule that is broken, by file and position, at most
/// [`VIOLATIONS_MAX`](crate::limits::VIOLATIONS_MAX) of them.
pub fn check(
    graph: &Graph,
    mapping: &Mapping,
    descriptions: &PackageDescriptions,
    options: &RunOptions,
) -> Result<Plan, Vec<Violation>> {
    let mut check = Check::new(graph, mapping, descriptions, options);
    check.structure();
    if !check.violations.is_empty() {
        // Names that are used twice would make every later message ambiguous.
        return Err(check.violations);
    }
    check.run_options();
    mapping.host_faults().into_iter().for_each(|fault| check.note(fault));
    check.costs();
    let hardware = check.hardware_nodes();
    let mut seats = check.place(&hardware);
    let nodes = check.resolve(&seats, &hardware);
    check.nodes(&nodes);
    check.services(&nodes);
    check.agreement();
    let topics = check.collect_topics(&nodes);
    check.topics(&topics);
    check.queues(&nodes, &topics);
    check.topic_mappings(&hardware, &topics);
    check.left_to_hardware(&hardware);
    check.steppable(&hardware, &topics);
    check.steppable_timers(&nodes);
    let mut order = check.order(&seats, &topics);
    check.loops(&topics);
    check.chains(&topics);
    check.policies(&seats);
    check.devices(&seats, &nodes, &topics);
    check.arguments(&nodes);
    if check.violations.is_empty() {
        let gateways = check.gateways(&hardware, &topics);
        check.lanes(&mut seats, &topics, &mut order);
        return Ok(check.plan(&seats, &nodes, &topics, &order, &gateways));
    }
    check.violations.sort_by(|a, b| (&a.file, a.place).cmp(&(&b.file, b.place)));
    Err(check.violations)
}

/// Checks that a mapping fits a graph as far as hardware is concerned: its fabrics, its topic
/// mappings and what it says of streams; and its hardware nodes against what `descriptions` say of
/// their types. Needs no package: if nothing describes a node type, it is taken as the graph
/// uses it.
///
/// Pure: allocates, does not block, may be called from any thread.
///
/// # Errors
/// Every rule that is broken, by file and position.
pub fn check_fabrics(
    graph: &Graph,
    mapping: &Mapping,
    descriptions: &PackageDescriptions,
) -> Result<(), Vec<Violation>> {
    let options = RunOptions::PLAIN;
    let mut check = Check::new(graph, mapping, descriptions, &options);
    check.structure();
    if check.violations.is_empty() {
        let hardware = check.hardware_nodes();
        let nodes = check.resolve_hardware(|node| hardware.contains_key(node));
        check.known_nodes(&nodes);
        check.agreement();
        let topics = check.collect_topics(&nodes);
        check.topic_mappings(&hardware, &topics);
    }
    check.done()
}

/// The state of one check.
struct Check<'a> {
    graph: &'a Graph,
    mapping: &'a Mapping,
    descriptions: &'a PackageDescriptions,
    options: &'a RunOptions,
    /// Topics with a declaration.
    declared: BTreeMap<&'a str, &'a GraphTopic>,
    /// Topics that the mapping names; all others are software-mapped.
    topic_mappings: BTreeMap<&'a str, TopicMapping>,
    /// The index of the device of each node that is on one; of several the first.
    devices: BTreeMap<&'a str, usize>,
    violations: Vec<Violation>,
    warnings: Vec<Violation>,
}

/// Where a node runs: indexes into the mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    process: usize,
    executor: usize,
    position: usize,
    /// Thread of an executor in graph mode; 0 in the other modes.
    lane: usize,
}

/// What runs nodes one after the other: process, executor, and its thread.
type Thread = (usize, usize, usize);

impl Seat {
    fn thread(self) -> Thread {
        (self.process, self.executor, self.lane)
    }
}

/// A node with its description, if there is one.
#[derive(Clone, Copy)]
struct Resolved<'a> {
    binary: Option<&'a BinaryDescription>,
    description: Option<&'a NodeTypeDescription>,
    /// The node type in hardware, wherever this node is.
    hardware: Option<Implementation<'a>>,
    /// The mapping places the node in a fabric.
    in_fabric: bool,
}

/// A connected port with everything settled that descriptions and graph say about it.
#[derive(Clone, Copy)]
struct Port<'a> {
    /// Index of the node in the graph.
    node: usize,
    port: &'a str,
    /// `None` when the node type or port is unknown, which is noted elsewhere.
    message_type: Option<&'a str>,
    type_hash: Option<&'a str>,
    /// False for inputs: who publishes says what messages have in them.
    tokens: bool,
    /// False for outputs.
    trigger: bool,
    /// It triggers, and the graph says that this closes a loop: no order of nodes heeds it.
    closes_loop: bool,
    qos: Qos,
}

/// A topic with all its ports, in the order of the graph's nodes.
#[derive(Default)]
struct TopicPorts<'a> {
    publishers: Vec<Port<'a>>,
    subscribers: Vec<Port<'a>>,
}

type Topics<'a> = BTreeMap<&'a str, TopicPorts<'a>>;

impl<'a> Check<'a> {
    fn new(
        graph: &'a Graph,
        mapping: &'a Mapping,
        descriptions: &'a PackageDescriptions,
        options: &'a RunOptions,
    ) -> Self {
        Self {
            graph,
            mapping,
            descriptions,
            options,
            declared: graph.topics.iter().map(|topic| (topic.name.as_str(), topic)).collect(),
            topic_mappings: (mapping.topics.iter())
                .map(|topic| (topic.name.as_str(), topic.mapping))
                .collect(),
            devices: (mapping.devices.iter().enumerate().rev())
                .flat_map(|(index, it)| it.nodes.iter().map(move |node| (node.as_str(), index)))
                .collect(),
            violations: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// What was found, in order.
    fn done(mut self) -> Result<(), Vec<Violation>> {
        self.violations.sort_by(|a, b| (&a.file, a.place).cmp(&(&b.file, b.place)));
        if self.violations.is_empty() { Ok(()) } else { Err(self.violations) }
    }

    fn note(&mut self, violation: Violation) {
        if !self.is_full() && !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    /// A violation at a part of the graph.
    fn fault(
        &self,
        kind: ViolationKind,
        path: &[&str],
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Violation {
        Violation::at(kind, &self.graph.source, path, message, advice)
    }

    fn node_name(&self, index: usize) -> &'a str {
        &self.graph.nodes[index].name
    }

    fn is_external(&self, topic: &str) -> bool {
        self.declared.get(topic).is_some_and(|topic| topic.external)
    }

    /// Whether nothing more would be reported: what costs time per message need not go on.
    fn is_full(&self) -> bool {
        self.violations.len() >= VIOLATIONS_MAX
    }

    fn run_options(&mut self) {
        let id = self.options.domain_id;
        let max = crate::limits::DOMAIN_ID_MAX;
        let kind = ViolationKind::OutOfRange;
        if id > max {
            let message = format!("the domain id {id} is above {max}");
            let violation = Violation::placed(kind, "", None, message, "choose 0 to 232");
            self.note(violation);
        }
        if let Time::Simulated { pacing: Pacing::Rate(rate) | Pacing::AtMost(rate) } =
            self.options.time
            && !(rate.is_finite() && rate > 0.0)
        {
            let message = format!("the rate {rate} is not a finite number above 0");
            let advice = "choose a rate like 1 or 0.5, or `max`";
            self.note(Violation::placed(kind, "", None, message, advice));
        }
        for topic in &self.options.played {
            if self.is_external(topic) {
                continue;
            }
            let message = "the topic is to be played but is not external";
            let advice = "declare it with `external: true`";
            let violation =
                self.fault(ViolationKind::InputConflict, &["topics", topic], message, advice);
            self.note(violation.for_topic(topic));
        }
    }
}
