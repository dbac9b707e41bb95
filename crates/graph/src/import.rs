//! Computation graphs in the JSON form of published figures and launch files, read into graphs.
//!
//! The JSON says nodes, their topics, sometimes periods, rules and chains. What a graph file needs
//! beyond that is filled in by rules stated here and marked with comments in the text.

mod chains;
mod kinds;

use crate::expansion::{ROOT, shown};
use crate::limits::{FILE_BYTES_MAX, NAME_CHARS_MAX, NODE_CHARS_MAX, NODES_MAX, VIOLATIONS_MAX};
use crate::model::{Graph, GraphInput, GraphNode, GraphOutput, GraphTimer, GraphTopic, Period};
use crate::names::message_type_fault;
use crate::violation::{Violation, ViolationKind};
use crate::walk::closing_inputs;
use crate::write::Notes;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

pub use kinds::{ImportJoin, ImportOptions};

/// Package of imported nodes: the JSON does not name one.
const PACKAGE: &str = "imported";

/// A graph that was read from JSON.
#[derive(Debug)]
pub struct Imported {
    /// The graph.
    pub graph: Graph,
    /// The same as the text of a graph file, with comments on what the JSON did not say.
    pub text: String,
}

impl Graph {
    /// Reads a graph from JSON with `nodes` (`name`, `pub`, `sub`, optionally `env`, `period_ms` or
    /// `timer_ms`, `rule`) and `topics` (`name`, `type`), and lists of names as chains.
    ///
    /// - Names that ROS does not allow are made valid, ports are named after their topics.
    /// - Nodes marked `env` stand for the world outside: what they publish becomes external.
    /// - A node with a period gets a timer, and its inputs do not trigger.
    /// - Where triggers would form a cycle, the input that closes it does not trigger.
    /// - The `kind` of a node, which it may share with others, is its node type: its ports are then
    ///   numbered, `input_1` and `output_1` first, and what else it says in numbers are parameters.
    /// - A chain that begins at nodes which only publish is one from each of them, and their period
    ///   is its max_latency.
    ///
    /// `file` is its name for messages and for the graph; it is not opened. Pure and deterministic.
    ///
    /// # Errors
    /// What keeps the JSON from being read as a graph.
    pub fn import_json(file: &str, text: &[u8]) -> Result<Imported, Vec<Violation>> {
        Self::import_json_with(file, text, &ImportOptions::default())
    }

    /// The same, told what the JSON does not say.
    ///
    /// # Errors
    /// As [`import_json`](Self::import_json); and a kind that no node has.
    pub fn import_json_with(
        file: &str,
        text: &[u8],
        options: &ImportOptions,
    ) -> Result<Imported, Vec<Violation>> {
        let mut import = Import::new(file, options);
        let graph = import.document(text);
        match graph {
            Some(graph) if import.violations.is_empty() => {
                let text = graph.to_yaml_with(&import.notes);
                Ok(Imported { graph, text })
            }
            _ => Err(import.violations),
        }
    }
}

/// A node as the JSON describes it, for readers of what a graph does not hold.
pub(crate) struct JsonNode {
    /// Name in the JSON.
    pub(crate) original: String,
    /// Name in the graph.
    pub(crate) name: String,
    /// Whether it stands for the world outside and is no node of the graph.
    pub(crate) is_environment: bool,
    /// What the JSON says under the key that was asked for.
    pub(crate) value: Option<Value>,
}

/// The nodes of a computation graph in JSON, with the names that the import gives them and what
/// each says under `key`.
pub(crate) fn json_nodes(
    file: &str,
    text: &[u8],
    key: &str,
) -> Result<Vec<JsonNode>, Vec<Violation>> {
    let options = ImportOptions::default();
    let mut import = Import::new(file, &options);
    let root = import.root(text);
    let described = root.as_ref().and_then(|root| import.described(root));
    let Some(described) = described.filter(|_| import.violations.is_empty()) else {
        return Err(import.violations);
    };
    let node = |node: Described<'_>| JsonNode {
        original: node.original.to_owned(),
        name: node.name,
        is_environment: node.is_environment,
        value: node.fields.get(key).cloned(),
    };
    Ok(described.into_iter().map(node).collect())
}

struct Import<'a> {
    file: &'a str,
    options: &'a ImportOptions,
    violations: Vec<Violation>,
    notes: Notes,
}

/// What the JSON says of one node.
struct Described<'a> {
    /// Name in the JSON.
    original: &'a str,
    /// Name in the graph.
    name: String,
    publishes: Vec<&'a str>,
    subscribes: Vec<&'a str>,
    is_environment: bool,
    period_ms: Option<f64>,
    /// Node type that it shares with others.
    kind: Option<String>,
    fields: &'a Map<String, Value>,
}

impl<'a> Import<'a> {
    fn new(file: &'a str, options: &'a ImportOptions) -> Self {
        Self { file, options, violations: Vec::new(), notes: Notes::default() }
    }

    fn fault(&mut self, kind: ViolationKind, message: String, advice: &str) {
        if self.violations.len() < VIOLATIONS_MAX {
            let violation = Violation::placed(kind, self.file, None, message, advice);
            self.violations.push(violation);
        }
    }

    fn document(&mut self, text: &[u8]) -> Option<Graph> {
        let root = self.root(text)?;
        let described = self.described(&root)?;
        let topics = topic_names(&root, &described);
        let graph = self.graph(&root, &described, &topics);
        self.chains(&root, &described, &topics, graph)
    }

    fn root(&mut self, text: &[u8]) -> Option<Map<String, Value>> {
        if text.len() > FILE_BYTES_MAX {
            let message = format!("the file has {} bytes, more than {FILE_BYTES_MAX}", text.len());
            self.fault(ViolationKind::Limit, message, "check its name");
            return None;
        }
        match serde_json::from_slice(text) {
            Ok(Value::Object(root)) => Some(root),
            Ok(_) => {
                let message = "the JSON is no object".to_owned();
                self.fault(ViolationKind::WrongValue, message, "import a file with `nodes`");
                None
            }
            Err(error) => {
                self.fault(ViolationKind::Syntax, format!("not JSON: {error}"), "check the file");
                None
            }
        }
    }

    fn described<'v>(&mut self, root: &'v Map<String, Value>) -> Option<Vec<Described<'v>>> {
        let Some(nodes) = root.get("nodes").and_then(Value::as_array) else {
            let message = "the JSON has no list `nodes`".to_owned();
            self.fault(ViolationKind::MissingKey, message, "import a computation graph");
            return None;
        };
        if nodes.len() > NODES_MAX {
            let message = format!("the graph has {} nodes, more than {NODES_MAX}", nodes.len());
            self.fault(ViolationKind::Limit, message, "split it");
            return None;
        }
        let mut taken = Taken::new();
        let mut originals = BTreeSet::new();
        let mut described = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let fields = node.as_object();
            let name = fields.and_then(|fields| fields.get("name")).and_then(Value::as_str);
            let (Some(fields), Some(original)) = (fields, name) else {
                let message = format!("node {index} has no text `name`");
                self.fault(ViolationKind::MissingKey, message, "give it a name");
                continue;
            };
            if !originals.insert(original) {
                let message = format!("node `{original}` is there twice");
                self.fault(ViolationKind::Duplicate, message, "rename one of them");
                continue;
            }
            let period = ["period_ms", "timer_ms"].iter().find_map(|key| fields.get(*key));
            described.push(Described {
                original,
                name: unique(&shown(ROOT, &snake_path(original, "node")), &mut taken),
                publishes: self.names(original, fields, "pub"),
                subscribes: self.names(original, fields, "sub"),
                is_environment: fields.get("env").and_then(Value::as_bool).unwrap_or_default(),
                period_ms: self.period(original, period),
                kind: kinds::kind(fields),
                fields,
            });
        }
        Some(described)
    }

    fn names<'v>(&mut self, node: &str, fields: &'v Map<String, Value>, key: &str) -> Vec<&'v str> {
        let Some(value) = fields.get(key) else { return Vec::new() };
        let items = value.as_array();
        let names: Option<Vec<&str>> =
            items.and_then(|items| items.iter().map(Value::as_str).collect());
        let Some(names) = names else {
            let message = format!("`{key}` of node `{node}` is no list of topic names");
            self.fault(ViolationKind::WrongValue, message, "write it as a list of texts");
            return Vec::new();
        };
        let mut seen = BTreeSet::new();
        names.into_iter().filter(|name| seen.insert(*name)).collect()
    }

    fn period(&mut self, node: &str, value: Option<&Value>) -> Option<f64> {
        let period_ms = value?.as_f64();
        let valid = period_ms.filter(|ms| Period::PeriodMs(*ms).period_ns().is_some());
        if valid.is_none() {
            let message = format!("the period of node `{node}` is no number of milliseconds");
            self.fault(ViolationKind::OutOfRange, message, "write 0.001 to 86400000");
        }
        valid
    }

    fn header(&mut self, root: &Map<String, Value>, described: &[Described<'_>]) {
        self.notes.add(&[], format!("Imported from {}.", base_name(self.file)));
        for key in ["source", "licence", "note"] {
            if let Some(text) = root.get(key).and_then(Value::as_str) {
                self.notes.add(&[], format!("{key}: {text}"));
            }
        }
        let unknown = self.not_said(described);
        self.notes.add(&[], unknown);
    }

    fn graph(
        &mut self,
        root: &Map<String, Value>,
        described: &[Described<'_>],
        topics: &BTreeMap<String, String>,
    ) -> Graph {
        self.header(root, described);
        let mut graph = Graph {
            name: snake_token(base_name(self.file).split('.').next().unwrap_or_default(), "graph"),
            topics: self.topics(root, described, topics),
            ..Graph::default()
        };
        for node in described.iter().filter(|node| !node.is_environment) {
            graph.nodes.push(self.node(node, topics));
        }
        if graph.nodes.is_empty() && self.violations.is_empty() {
            let message = "the graph has no node of its own".to_owned();
            self.fault(ViolationKind::MissingKey, message, "import another graph");
        }
        self.break_cycles(&mut graph);
        self.conditions(described, &mut graph);
        graph
    }

    fn topics(
        &mut self,
        root: &Map<String, Value>,
        described: &[Described<'_>],
        names: &BTreeMap<String, String>,
    ) -> Vec<GraphTopic> {
        let mut types = BTreeMap::new();
        let listed = root.get("topics").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut order: Vec<&str> = Vec::new();
        for topic in listed {
            let Some(name) = topic.get("name").and_then(Value::as_str) else { continue };
            order.push(name);
            types.insert(name, topic.get("type").and_then(Value::as_str));
        }
        let ports = described.iter().flat_map(|node| node.publishes.iter().chain(&node.subscribes));
        order.extend(ports.copied());
        let ends = ends(described);
        let mut seen = BTreeSet::new();
        let mut topics = Vec::new();
        for original in order.into_iter().filter(|name| seen.insert(*name)) {
            let Some(name) = names.get(original) else { continue };
            let mut topic = GraphTopic { name: name.clone(), ..GraphTopic::default() };
            let path = ["topics", name.as_str()];
            if name != original && name.strip_prefix('/') != Some(original) {
                self.notes.add(&path, format!("was `{original}`"));
            }
            match types.get(original).copied().flatten() {
                Some(known) if message_type_fault(known).is_none() => {
                    topic.message_type = Some(known.to_owned());
                }
                Some(known) => self.notes.add(&path, format!("type `{known}` is no message type")),
                None => self.notes.add(&path, "type not known"),
            }
            topic.external = ends.get(original).is_some_and(|ends| self.is_external(ends, &path));
            topics.push(topic);
        }
        topics
    }

    /// Whether a topic has subscribers but no publisher inside, with a comment on who outside.
    fn is_external(&mut self, ends: &Ends<'_>, path: &[&str]) -> bool {
        if !ends.outside.is_empty() {
            let outside = ends.outside.join(", ");
            self.notes.add(path, format!("published outside the graph by {outside}"));
            return true;
        }
        if !ends.is_published && ends.is_subscribed {
            self.notes.add(path, "nobody in the graph publishes it");
            return true;
        }
        false
    }

    fn node(&mut self, described: &Described<'_>, topics: &BTreeMap<String, String>) -> GraphNode {
        let name = described.name.as_str();
        let path = ["nodes", name];
        if described.original != name {
            self.notes.add(&path, format!("was `{}`", described.original));
        }
        let last = name.rsplit('/').next().unwrap_or(name);
        let mut node = GraphNode {
            name: name.to_owned(),
            package: self.package().to_owned(),
            node_type: described.kind.clone().unwrap_or_else(|| last.to_owned()),
            ..GraphNode::default()
        };
        let known = ["name", "pub", "sub", "env", "period_ms", "timer_ms"];
        for (key, value) in
            described.fields.iter().filter(|(key, _)| !known.contains(&key.as_str()))
        {
            match described.kind.as_ref().and_then(|_| kinds::parameter(key, value)) {
                Some(value) => {
                    node.parameters.insert(key.clone(), value);
                }
                None if key == "kind" && described.kind.is_some() => {}
                None => self.notes.add(&path, format!("{key}: {value}")),
            }
        }
        let timed = described.period_ms.is_some();
        if let Some(period_ms) = described.period_ms {
            let period = Period::PeriodMs(period_ms);
            node.timers.push(GraphTimer {
                name: "step".to_owned(),
                period,
                offset_ns: None,
                priority: 0,
            });
            if !described.subscribes.is_empty() {
                self.notes.add(&path, "its timer runs it, so its inputs do not trigger");
            }
        }
        let of_kind = described.kind.is_some();
        let port = |number: usize, side: &str, topic: &str, taken: &mut Taken| match of_kind {
            true => format!("{side}_{}", number + 1),
            false => unique(&port_name(topic), taken),
        };
        let mut taken = Taken::new();
        let inputs = described.subscribes.iter().filter_map(|topic| topics.get(*topic));
        for (number, topic) in inputs.enumerate() {
            node.inputs.push(GraphInput {
                port: port(number, "input", topic, &mut taken),
                topic: topic.clone(),
                trigger: timed.then_some(false),
                ..GraphInput::default()
            });
        }
        taken.clear();
        let outputs = described.publishes.iter().filter_map(|topic| topics.get(*topic));
        for (number, topic) in outputs.enumerate() {
            node.outputs.push(GraphOutput {
                port: port(number, "output", topic, &mut taken),
                topic: topic.clone(),
                ..GraphOutput::default()
            });
        }
        node
    }

    /// Walks the triggers in file order and unties each input that leads back to a node on the way.
    fn break_cycles(&mut self, graph: &mut Graph) {
        let triggers = |_, input: &GraphInput| input.trigger != Some(false);
        let ports = closing_inputs(graph, triggers, |_, _| true);
        for (node, port) in ports {
            self.untie(&mut graph.nodes[node], port);
        }
    }

    fn untie(&mut self, node: &mut GraphNode, port: usize) {
        let Some(input) = node.inputs.get_mut(port) else { return };
        if input.trigger.replace(false).is_none() {
            let path = ["nodes", node.name.as_str(), "inputs", input.port.as_str()];
            self.notes.add(&path, "would close a cycle of triggers");
        }
    }
}

/// Who is on a topic.
#[derive(Default)]
struct Ends<'v> {
    /// Publishers that stand for the world outside.
    outside: Vec<&'v str>,
    /// Whether a node inside publishes it.
    is_published: bool,
    /// Whether a node inside subscribes to it.
    is_subscribed: bool,
}

fn ends<'v>(described: &[Described<'v>]) -> BTreeMap<&'v str, Ends<'v>> {
    let mut ends: BTreeMap<&str, Ends<'v>> = BTreeMap::new();
    for node in described {
        for topic in &node.publishes {
            let ends = ends.entry(topic).or_default();
            match node.is_environment {
                true => ends.outside.push(node.original),
                false => ends.is_published = true,
            }
        }
        for topic in node.subscribes.iter().filter(|_| !node.is_environment) {
            ends.entry(topic).or_default().is_subscribed = true;
        }
    }
    ends
}

/// Graph names of all topics by their names in the JSON.
fn topic_names(root: &Map<String, Value>, described: &[Described<'_>]) -> BTreeMap<String, String> {
    let listed = root.get("topics").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let listed = listed.iter().filter_map(|topic| topic.get("name")?.as_str());
    let ports = described.iter().flat_map(|node| node.publishes.iter().chain(&node.subscribes));
    let mut taken = Taken::new();
    let mut names = BTreeMap::new();
    for original in listed.chain(ports.copied()) {
        if names.contains_key(original) {
            continue;
        }
        let tokens = original.split('/').filter(|token| !token.is_empty());
        let tokens: Vec<String> = tokens.map(|token| valid_token(token, "topic")).collect();
        let tokens = if tokens.is_empty() { vec!["topic".to_owned()] } else { tokens };
        let name = unique(&shortened(&format!("/{}", tokens.join("/")), TOPIC_CHARS), &mut taken);
        names.insert(original.to_owned(), name);
    }
    names
}

fn base_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Characters of the names of topics and of nodes: so far below the limits that a number can be
/// added.
const TOPIC_CHARS: usize = NAME_CHARS_MAX - 50;
const NODE_CHARS: usize = NODE_CHARS_MAX - 10;

fn shortened(name: &str, chars_max: usize) -> String {
    match name.char_indices().nth(chars_max) {
        None => name.to_owned(),
        Some((end, _)) => name[..end].trim_end_matches(['/', '_']).to_owned(),
    }
}

/// Names given so far, each with the number to try next behind it.
type Taken = BTreeMap<String, u32>;

/// The name, with a number behind it if it is taken.
fn unique(name: &str, taken: &mut Taken) -> String {
    let mut candidate = name.to_owned();
    let mut number = taken.get(name).copied().unwrap_or(1);
    // Ends: the number grows, and only finitely many names are taken.
    while taken.contains_key(&candidate) {
        number += 1;
        candidate = format!("{}_{number}", name.trim_end_matches('_'));
    }
    taken.insert(name.to_owned(), number);
    taken.entry(candidate.clone()).or_insert(1);
    candidate
}

/// The token with everything replaced that ROS does not allow.
fn valid_token(token: &str, prefix: &str) -> String {
    let mut valid = String::new();
    for c in token.chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '_' };
        if c != '_' || !valid.ends_with('_') {
            valid.push(c);
        }
    }
    match valid.chars().next() {
        _ if valid.trim_matches('_').is_empty() => prefix.to_owned(),
        Some(first) if first.is_ascii_digit() => format!("{prefix}_{valid}"),
        _ => valid,
    }
}

/// `GaussianBlur` -> `gaussian_blur`, `NDTLocalizer` -> `ndt_localizer`, `1` -> `node_1`.
fn snake_token(token: &str, prefix: &str) -> String {
    let characters: Vec<char> = token.chars().collect();
    let mut snake = String::new();
    for (index, c) in characters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| characters.get(before));
        let after_lower = before.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let after_upper = before.is_some_and(char::is_ascii_uppercase);
        let before_lower = characters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_lower || (after_upper && before_lower)) {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    shortened(&valid_token(&snake, prefix), TOPIC_CHARS)
}

fn snake_path(name: &str, prefix: &str) -> String {
    let tokens = name.split('/').filter(|token| !token.is_empty());
    let tokens: Vec<String> = tokens.map(|token| snake_token(token, prefix)).collect();
    if tokens.is_empty() { prefix.to_owned() } else { shortened(&tokens.join("/"), NODE_CHARS) }
}

fn port_name(topic: &str) -> String {
    snake_token(topic.rsplit('/').next().unwrap_or(topic), "port")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_valid_and_unique() {
        assert_eq!(snake_token("GaussianBlur", "node"), "gaussian_blur");
        assert_eq!(snake_token("NDTLocalizer", "node"), "ndt_localizer");
        assert_eq!(snake_token("Lanelet2MapLoader", "node"), "lanelet2_map_loader");
        assert_eq!(snake_token("ORBSLAM3", "node"), "orbslam3");
        assert_eq!(snake_token("1", "node"), "node_1");
        assert_eq!(snake_path("/camera/Rectify Node", "node"), "camera/rectify_node");
        let mut taken = Taken::new();
        assert_eq!(unique("a", &mut taken), "a");
        assert_eq!(unique("a", &mut taken), "a_2");
    }
}
