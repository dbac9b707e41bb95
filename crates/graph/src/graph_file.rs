//! Reading of one graph file as it was written.
//!
//! Checks what one file can say alone: keys, kinds, ranges, names. What its names mean and what it
//! includes is for `include`. What must hold between its parts
//! and with the packages is in `check`. The format is described in `docs/formats`.

use crate::condition::Condition;
use crate::expansion::{
    free_service_fault, free_topic_fault, written_service_fault, written_topic_fault,
};
use crate::hardware_package::bounds;
use crate::include::{Include, read_includes};
use crate::limits::{MESSAGE_BYTES_MAX, QOS_DEPTH_MAX, TIMEOUT_MS_MAX, TIMER_PRIORITY_MAX};
use crate::model::{
    Argument, Chain, Copies, Graph, GraphInput, GraphNode, GraphOutput, GraphTimer, GraphTopic,
    InputReading, Lockstep, Period,
};
use crate::names::{
    message_type_fault, namespace_fault, node_fault, service_type_fault, token_fault,
};
use crate::parameters::read_parameters;
use crate::policy_file::{read_limit, read_on_failure};
use crate::qos::{Durability, History, Liveliness, QosRequest, Reliability, WhenFull};
use crate::read::{Fields, Keys, Reading};
use crate::service::{CLIENT_DEPTH_MAX, GraphClient, GraphServer, GraphService, Introspection};
use crate::violation::ViolationKind;
use crate::yaml::{self, Data, Entry, Tree};
use std::collections::BTreeMap;

const GRAPH: Keys = Keys {
    what: "a graph file",
    required: &["crossdock", "name"],
    optional: &["nodes", "namespace", "include", "arguments", "topics", "services", "chains"],
};
const ARGUMENT: Keys =
    Keys { what: "an argument", required: &["node", "parameter"], optional: &["doc"] };
const TOPIC: Keys = Keys {
    what: "a topic",
    required: &[],
    optional: &["type", "external", "several_publishers", "copies", "max_bytes", "bounds", "qos"],
};
const QOS: Keys = Keys {
    what: "`qos`",
    required: &[],
    optional: &[
        "reliability",
        "when_full",
        "timeout_ms",
        "history",
        "depth",
        "durability",
        "deadline_ms",
        "lifespan_ms",
        "liveliness",
        "lease_duration_ms",
    ],
};
const NODE: Keys = Keys {
    what: "a node",
    required: &["package", "type"],
    optional: &[
        "namespace",
        "inputs",
        "outputs",
        "clients",
        "servers",
        "condition",
        "timers",
        "lockstep",
        "budget_ms",
        "on_overrun",
        "on_failure",
        "parameters",
    ],
};
const INPUT: Keys = Keys {
    what: "an input",
    required: &["topic"],
    optional: &["trigger", "closes_loop", "read", "max_age_ms", "on_miss", "qos"],
};
const OUTPUT: Keys = Keys { what: "an output", required: &["topic"], optional: &["qos"] };
const SERVICE: Keys = Keys {
    what: "a service",
    required: &[],
    optional: &["type", "external", "max_request_bytes", "max_response_bytes"],
};
const CLIENT: Keys =
    Keys { what: "a client", required: &["service"], optional: &["depth", "introspection"] };
const SERVER: Keys =
    Keys { what: "a server", required: &["service"], optional: &["introspection"] };
const TIMER: Keys = Keys {
    what: "a timer",
    required: &[],
    optional: &["rate_hz", "period_ms", "offset_ms", "priority"],
};
const LOCKSTEP: Keys = Keys { what: "a lockstep", required: &["timer", "command"], optional: &[] };
const CHAIN: Keys =
    Keys { what: "a chain", required: &["from", "to"], optional: &["max_latency_ms", "on_miss"] };

/// A graph file as it was written: names are not expanded, and what it includes is not there.
pub(crate) struct Draft {
    pub(crate) graph: Graph,
    /// The namespace of the names in the file.
    pub(crate) namespace: Option<String>,
    /// The namespace of each node that says one, by the node's name.
    pub(crate) namespaces: BTreeMap<String, String>,
    pub(crate) includes: Vec<Include>,
}

/// Reads one graph file. What is wrong with it goes to the reading that comes back, where the
/// positions are, too.
pub(crate) fn read_draft(file: &str, text: &[u8]) -> (Option<Draft>, Reading) {
    let mut reading = Reading::new(file);
    let tree = yaml::parse(file, text, &mut reading.violations);
    let draft = tree.map(|tree| draft(&mut reading, &tree));
    (draft, reading)
}

fn draft(reading: &mut Reading, tree: &Tree) -> Draft {
    let fields = reading.fields(tree, &GRAPH);
    reading.version(&fields);
    let mut graph = Graph::default();
    let mut namespaces = BTreeMap::new();
    if let Some(tree) = fields.get("name") {
        graph.name = reading.name(tree, "the graph's name", token_fault).unwrap_or_default();
    }
    let namespace = fields.get("namespace");
    let namespace = namespace.and_then(|tree| reading.name(tree, "the namespace", namespace_fault));
    let includes = fields.get("include").map(|tree| read_includes(reading, tree));
    let includes = includes.unwrap_or_default();
    if let Some(tree) = fields.get("arguments") {
        let entries = reading.map(tree, "`arguments`");
        graph.arguments = entries.iter().filter_map(|entry| argument(reading, entry)).collect();
    }
    if let Some(tree) = fields.get("topics") {
        let entries = reading.map(tree, "`topics`");
        graph.topics = entries.iter().map(|entry| topic(reading, entry)).collect();
    }
    if let Some(tree) = fields.get("services") {
        let entries = reading.map(tree, "`services`");
        graph.services = entries.iter().map(|entry| service(reading, entry)).collect();
    }
    let is_map = matches!(tree.data, Data::Map(_));
    if is_map && fields.get("nodes").is_none() && fields.get("include").is_none() {
        let (message, advice) = ("a graph file needs the key `nodes`", "add `nodes: ...`");
        reading.note(ViolationKind::MissingKey, tree.place, message, advice);
    }
    if let Some(tree) = fields.get("nodes") {
        let entries = reading.map(tree, "`nodes`");
        graph.nodes = entries.iter().map(|entry| node(reading, entry, &mut namespaces)).collect();
        // What is included may have some.
        let is_alone = fields.get("include").is_none();
        if entries.is_empty() && is_alone && matches!(tree.data, Data::Map(_)) {
            let (message, advice) = ("the graph has no node", "add one under `nodes`");
            reading.note(ViolationKind::MissingKey, tree.place, message, advice);
        }
    }
    if let Some(tree) = fields.get("chains") {
        let entries = reading.map(tree, "`chains`");
        graph.chains = entries.iter().filter_map(|entry| chain(reading, entry)).collect();
    }
    reading.source.set(&[], tree.place);
    Draft { graph, namespace, namespaces, includes }
}

fn argument(reading: &mut Reading, entry: &Entry) -> Option<Argument> {
    let name = &entry.key;
    reading.source.set(&["arguments", name], entry.key_place);
    reading.check_name(name, entry.key_place, "the argument", argument_fault);
    let fields = reading.fields(&entry.value, &ARGUMENT);
    let node = reading.name(fields.get("node")?, "the argument's node", node_fault)?;
    let parameter = reading.text(fields.get("parameter")?, "the argument's parameter")?;
    let doc = fields.get("doc").and_then(|tree| reading.text(tree, "`doc`")).unwrap_or_default();
    Some(Argument { name: name.clone(), node, parameter, doc })
}

/// Arguments are written with dashes if that is usual on a command line.
fn argument_fault(name: &str) -> Option<String> {
    token_fault(&name.replace('-', "_"))
}

fn topic(reading: &mut Reading, entry: &Entry) -> GraphTopic {
    let name = entry.key.clone();
    let path = ["topics", name.as_str()];
    reading.source.set(&path, entry.key_place);
    reading.topic = Some(name.clone());
    reading.check_name(&name, entry.key_place, "the topic", free_topic_fault);
    let fields = reading.fields(&entry.value, &TOPIC);
    let mut topic = GraphTopic { name: name.clone(), ..GraphTopic::default() };
    if let Some(tree) = fields.get("type") {
        reading.source.set(&["topics", &name, "type"], tree.place);
        topic.message_type = reading.name(tree, "the message type", message_type_fault);
    }
    if let Some(tree) = fields.get("external") {
        topic.external = reading.boolean(tree, "`external`").unwrap_or_default();
    }
    if let Some(tree) = fields.get("several_publishers") {
        let is_meant = reading.boolean(tree, "`several_publishers`");
        topic.several_publishers = is_meant.unwrap_or_default();
    }
    if let Some(tree) = fields.get("copies") {
        let words = [("allowed", Copies::Allowed), ("forbidden", Copies::Forbidden)];
        topic.copies = reading.choice(tree, "`copies`", &words).unwrap_or_default();
    }
    if let Some(tree) = fields.get("max_bytes") {
        topic.max_bytes = reading.integer(tree, "`max_bytes`", 1..=MESSAGE_BYTES_MAX);
    }
    if let Some(tree) = fields.get("bounds") {
        topic.bounds = bounds(reading, tree, &["topics", &name]);
    }
    if let Some(tree) = fields.get("qos") {
        topic.qos = qos(reading, tree, &["topics", &name, "qos"]);
    }
    reading.topic = None;
    topic
}

fn service(reading: &mut Reading, entry: &Entry) -> GraphService {
    let name = entry.key.clone();
    reading.source.set(&["services", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the service", free_service_fault);
    let fields = reading.fields(&entry.value, &SERVICE);
    let mut service = GraphService { name: name.clone(), ..GraphService::default() };
    if let Some(tree) = fields.get("type") {
        reading.source.set(&["services", &name, "type"], tree.place);
        service.service_type = reading.name(tree, "the service type", service_type_fault);
    }
    if let Some(tree) = fields.get("external") {
        service.external = reading.boolean(tree, "`external`").unwrap_or_default();
    }
    let mut bytes = |key: &str| {
        let tree = fields.get(key)?;
        reading.integer(tree, &format!("`{key}`"), 1..=MESSAGE_BYTES_MAX)
    };
    service.max_request_bytes = bytes("max_request_bytes");
    service.max_response_bytes = bytes("max_response_bytes");
    service
}

/// The service of a client or server port.
fn port_service(reading: &mut Reading, tree: &Tree, path: &[&str]) -> Option<String> {
    let service = reading.name(tree, "the service", written_service_fault)?;
    reading.source.set(path, tree.place);
    Some(service)
}

fn client(reading: &mut Reading, node: &str, entry: &Entry) -> Option<GraphClient> {
    let port = entry.key.clone();
    let path = ["nodes", node, "clients", &port];
    reading.check_name(&port, entry.key_place, "the client", token_fault);
    reading.source.set(&path, entry.key_place);
    if matches!(entry.value.data, Data::Scalar { .. }) {
        let service = port_service(reading, &entry.value, &path)?;
        return Some(GraphClient { port, service, ..GraphClient::default() });
    }
    let fields = reading.fields(&entry.value, &CLIENT);
    let service = fields.get("service").and_then(|tree| port_service(reading, tree, &path));
    let depth = fields
        .get("depth")
        .and_then(|tree| reading.integer(tree, "`depth`", 1..=u64::from(CLIENT_DEPTH_MAX)));
    let depth = depth.map(|depth| u32::try_from(depth).unwrap_or(CLIENT_DEPTH_MAX));
    let introspection = introspection(reading, fields.get("introspection"));
    Some(GraphClient { port, service: service?, depth, introspection })
}

/// What an end of a service tells those who watch it.
fn introspection(reading: &mut Reading, tree: Option<&Tree>) -> Introspection {
    let said = tree.and_then(|tree| reading.choice(tree, "`introspection`", &Introspection::WORDS));
    said.unwrap_or_default()
}

fn server(reading: &mut Reading, node: &str, entry: &Entry) -> Option<GraphServer> {
    let port = entry.key.clone();
    let path = ["nodes", node, "servers", &port];
    reading.check_name(&port, entry.key_place, "the server", token_fault);
    reading.source.set(&path, entry.key_place);
    if matches!(entry.value.data, Data::Scalar { .. }) {
        let service = port_service(reading, &entry.value, &path)?;
        return Some(GraphServer { port, service, ..GraphServer::default() });
    }
    let fields = reading.fields(&entry.value, &SERVER);
    let service = fields.get("service").and_then(|tree| port_service(reading, tree, &path));
    let introspection = introspection(reading, fields.get("introspection"));
    Some(GraphServer { port, service: service?, introspection })
}

fn qos(reading: &mut Reading, tree: &Tree, path: &[&str]) -> QosRequest {
    reading.source.set(path, tree.place);
    let fields = reading.fields(tree, &QOS);
    let reliabilities =
        [("reliable", Reliability::Reliable), ("best_effort", Reliability::BestEffort)];
    let durabilities =
        [("volatile", Durability::Volatile), ("transient_local", Durability::TransientLocal)];
    let whens = [("wait", WhenFull::Wait), ("overwrite", WhenFull::Overwrite)];
    let histories = [("keep_last", History::KeepLast), ("keep_all", History::KeepAll)];
    let kinds =
        [("automatic", Liveliness::Automatic), ("manual_by_topic", Liveliness::ManualByTopic)];
    let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    QosRequest {
        reliability: fields
            .get("reliability")
            .and_then(|tree| reading.choice(tree, "`reliability`", &reliabilities)),
        timeout_ms: fields
            .get("timeout_ms")
            .and_then(|tree| reading.integer(tree, "`timeout_ms`", 1..=TIMEOUT_MS_MAX))
            .map(narrow),
        when_full: fields
            .get("when_full")
            .and_then(|tree| reading.choice(tree, "`when_full`", &whens)),
        history: fields
            .get("history")
            .and_then(|tree| reading.choice(tree, "`history`", &histories)),
        depth: fields
            .get("depth")
            .and_then(|tree| reading.integer(tree, "`depth`", 1..=QOS_DEPTH_MAX))
            .map(narrow),
        durability: fields
            .get("durability")
            .and_then(|tree| reading.choice(tree, "`durability`", &durabilities)),
        deadline_ns: qos_time(reading, &fields, "deadline_ms"),
        lifespan_ns: qos_time(reading, &fields, "lifespan_ms"),
        liveliness: fields
            .get("liveliness")
            .and_then(|tree| reading.choice(tree, "`liveliness`", &kinds)),
        lease_duration_ns: qos_time(reading, &fields, "lease_duration_ms"),
    }
}

/// A time in milliseconds, as ns; 0: no limit.
fn qos_time(reading: &mut Reading, fields: &Fields<'_>, key: &str) -> Option<u64> {
    let tree = fields.get(key)?;
    let ms = reading.number(tree, &format!("`{key}`"))?;
    if ms == 0.0 {
        return Some(0);
    }
    let ns = Period::PeriodMs(ms).period_ns();
    if ns.is_none() {
        let message = format!("`{key}` must be 0 (no limit), or 0.001 to 86400000");
        reading.note(ViolationKind::OutOfRange, tree.place, message, "choose a value in between");
    }
    ns
}

fn node(
    reading: &mut Reading,
    entry: &Entry,
    namespaces: &mut BTreeMap<String, String>,
) -> GraphNode {
    let name = entry.key.clone();
    reading.source.set(&["nodes", &name], entry.key_place);
    reading.node = Some(name.clone());
    reading.check_name(&name, entry.key_place, "the node", node_fault);
    let fields = reading.fields(&entry.value, &NODE);
    let mut node = GraphNode { name: name.clone(), ..GraphNode::default() };
    if let Some(tree) = fields.get("namespace") {
        namespaces.extend(node_namespace(reading, &name, tree).map(|it| (name.clone(), it)));
    }
    if let Some(tree) = fields.get("package") {
        reading.source.set(&["nodes", &name, "package"], tree.place);
        node.package = reading.name(tree, "the package", token_fault).unwrap_or_default();
    }
    if let Some(tree) = fields.get("type") {
        reading.source.set(&["nodes", &name, "type"], tree.place);
        node.node_type = reading.name(tree, "the node type", token_fault).unwrap_or_default();
    }
    if let Some(tree) = fields.get("inputs") {
        let entries = reading.map(tree, "`inputs`");
        node.inputs = entries.iter().filter_map(|entry| input(reading, &name, entry)).collect();
    }
    if let Some(tree) = fields.get("outputs") {
        let entries = reading.map(tree, "`outputs`");
        node.outputs = entries.iter().filter_map(|entry| output(reading, &name, entry)).collect();
    }
    if let Some(tree) = fields.get("clients") {
        let entries = reading.map(tree, "`clients`");
        node.clients = entries.iter().filter_map(|entry| client(reading, &name, entry)).collect();
    }
    if let Some(tree) = fields.get("servers") {
        let entries = reading.map(tree, "`servers`");
        node.servers = entries.iter().filter_map(|entry| server(reading, &name, entry)).collect();
    }
    if let Some(tree) = fields.get("condition") {
        reading.source.set(&["nodes", &name, "condition"], tree.place);
        node.condition = Condition::read(reading, tree);
    }
    if let Some(tree) = fields.get("timers") {
        let entries = reading.map(tree, "`timers`");
        node.timers = entries.iter().filter_map(|entry| timer(reading, &name, entry)).collect();
    }
    if let Some(tree) = fields.get("lockstep") {
        node.lockstep = lockstep(reading, &name, tree);
    }
    node.budget = read_limit(reading, &fields, "budget_ms", "on_overrun");
    if let Some(tree) = fields.get("on_failure") {
        reading.source.set(&["nodes", &name, "on_failure"], tree.place);
        node.on_failure = read_on_failure(reading, tree);
    }
    if let Some(tree) = fields.get("parameters") {
        node.parameters = read_parameters(reading, tree, &["nodes", &name, "parameters"]);
    }
    reading.node = None;
    node
}

/// The namespace of a node. One whose name is whole has it there.
fn node_namespace(reading: &mut Reading, node: &str, tree: &Tree) -> Option<String> {
    let namespace = reading.name(tree, "the namespace", namespace_fault)?;
    if node.starts_with('/') {
        let message = "the node's name begins with `/`, so it has its namespace already";
        let advice = "write the last part of the name as the key, or remove `namespace`";
        reading.note(ViolationKind::InvalidName, tree.place, message, advice);
        return None;
    }
    Some(namespace)
}

/// A port is written `port: /topic` or as a map with the key `topic`.
fn port_topic(reading: &mut Reading, tree: &Tree, path: &[&str]) -> Option<String> {
    let topic = reading.name(tree, "the topic", written_topic_fault)?;
    reading.source.set(path, tree.place);
    Some(topic)
}

fn input(reading: &mut Reading, node: &str, entry: &Entry) -> Option<GraphInput> {
    let port = entry.key.clone();
    let path = ["nodes", node, "inputs", &port];
    reading.check_name(&port, entry.key_place, "the input", token_fault);
    reading.source.set(&path, entry.key_place);
    if matches!(entry.value.data, Data::Scalar { .. }) {
        let topic = port_topic(reading, &entry.value, &path)?;
        return Some(GraphInput { port, topic, ..GraphInput::default() });
    }
    let fields = reading.fields(&entry.value, &INPUT);
    let topic = fields.get("topic").and_then(|tree| port_topic(reading, tree, &path));
    reading.topic.clone_from(&topic);
    let trigger = fields.get("trigger").and_then(|tree| reading.boolean(tree, "`trigger`"));
    let closes_loop =
        fields.get("closes_loop").and_then(|tree| reading.boolean(tree, "`closes_loop`"));
    let closes_loop = closes_loop.unwrap_or(false);
    let max_age = read_limit(reading, &fields, "max_age_ms", "on_miss");
    let qos = fields
        .get("qos")
        .map(|tree| qos(reading, tree, &["nodes", node, "inputs", &port, "qos"]))
        .unwrap_or_default();
    let words = [("latest", InputReading::Latest), ("since_last", InputReading::SinceLast)];
    let said = fields.get("read").and_then(|tree| reading.choice(tree, "`read`", &words));
    reading.topic = None;
    Some(GraphInput { port, topic: topic?, trigger, closes_loop, reading: said, max_age, qos })
}

fn output(reading: &mut Reading, node: &str, entry: &Entry) -> Option<GraphOutput> {
    let port = entry.key.clone();
    let path = ["nodes", node, "outputs", &port];
    reading.check_name(&port, entry.key_place, "the output", token_fault);
    reading.source.set(&path, entry.key_place);
    if matches!(entry.value.data, Data::Scalar { .. }) {
        let topic = port_topic(reading, &entry.value, &path)?;
        return Some(GraphOutput { port, topic, ..GraphOutput::default() });
    }
    let fields = reading.fields(&entry.value, &OUTPUT);
    let topic = fields.get("topic").and_then(|tree| port_topic(reading, tree, &path));
    reading.topic.clone_from(&topic);
    let qos = fields
        .get("qos")
        .map(|tree| qos(reading, tree, &["nodes", node, "outputs", &port, "qos"]))
        .unwrap_or_default();
    reading.topic = None;
    Some(GraphOutput { port, topic: topic?, qos })
}

fn timer(reading: &mut Reading, node: &str, entry: &Entry) -> Option<GraphTimer> {
    let name = entry.key.clone();
    reading.source.set(&["nodes", node, "timers", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the timer", token_fault);
    let fields = reading.fields(&entry.value, &TIMER);
    let (place, period) = match (fields.get("rate_hz"), fields.get("period_ms")) {
        (Some(tree), None) => (tree.place, Period::RateHz(reading.positive(tree, "`rate_hz`")?)),
        (None, Some(tree)) => {
            (tree.place, Period::PeriodMs(reading.positive(tree, "`period_ms`")?))
        }
        _ if !matches!(entry.value.data, Data::Map(_)) => return None,
        _ => {
            let message = format!("timer `{name}` needs either `rate_hz` or `period_ms`");
            let advice = "write one of them, like `rate_hz: 15`";
            reading.note(ViolationKind::MissingKey, entry.value.place, message, advice);
            return None;
        }
    };
    if period.period_ns().is_none() {
        let message = format!("the period of timer `{name}` must be 1 us to 1 day");
        reading.note(ViolationKind::OutOfRange, place, message, "choose a value in between");
        return None;
    }
    let offset = fields.get("offset_ms").map(|tree| (tree, reading.number(tree, "`offset_ms`")));
    let offset_ns = match offset {
        None => None,
        Some((tree, ms)) => {
            let offset_ns = (ms? * 1e6).round();
            // NaN is in no range.
            if !(0.0..period.period_ns()? as f64).contains(&offset_ns) {
                let message =
                    format!("`offset_ms` of timer `{name}` must be 0 to below its period");
                let advice = "choose a value in between";
                reading.note(ViolationKind::OutOfRange, tree.place, message, advice);
                return None;
            }
            Some(offset_ns as u64)
        }
    };
    let priority = fields.get("priority");
    let priority = priority
        .and_then(|tree| reading.integer(tree, "`priority`", 0..=TIMER_PRIORITY_MAX))
        .and_then(|priority| u32::try_from(priority).ok());
    Some(GraphTimer { name, period, offset_ns, priority: priority.unwrap_or_default() })
}

fn lockstep(reading: &mut Reading, node: &str, tree: &Tree) -> Option<Lockstep> {
    reading.source.set(&["nodes", node, "lockstep"], tree.place);
    let fields = reading.fields(tree, &LOCKSTEP);
    let timer = fields.get("timer").and_then(|tree| reading.text(tree, "`timer`"));
    let command = fields.get("command").and_then(|tree| reading.text(tree, "`command`"));
    Some(Lockstep { timer: timer?, command: command? })
}

fn chain(reading: &mut Reading, entry: &Entry) -> Option<Chain> {
    let name = entry.key.clone();
    reading.source.set(&["chains", &name], entry.key_place);
    reading.check_name(&name, entry.key_place, "the chain", node_fault);
    let fields = reading.fields(&entry.value, &CHAIN);
    let mut end = |key: &str| {
        let tree = fields.get(key)?;
        reading.source.set(&["chains", &name, key], tree.place);
        reading.name(tree, &format!("the topic of `{key}`"), free_topic_fault)
    };
    let (from, to) = (end("from"), end("to"));
    let max_latency = read_limit(reading, &fields, "max_latency_ms", "on_miss");
    Some(Chain { name: name.clone(), from: from?, to: to?, max_latency })
}
