//! Graphs and mappings as text of their files: deterministic, and read back they are the same.
//!
//! `import` adds comments through [`Notes`].

use crate::hosts::MappedHost;
use crate::mapping::{ExecutorMode, MappedFabric, Mapping, TrustedUsers};
use crate::model::{Copies, Graph, GraphNode, GraphTopic, InputReading, Period};
use crate::policy::{OnLag, Realtime};
use crate::policy_file::{limit_fields, restart_value};
use crate::qos::{QosRequest, request_fields};
use crate::scalar::Scalar;
use crate::service::{GraphService, Introspection};
use crate::stream::stream_fields;
use crate::value::ParameterValue;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Comments to be written with a graph, by the path of the part that they precede.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    comments: BTreeMap<Vec<String>, Vec<String>>,
}

impl Notes {
    pub(crate) fn add(&mut self, path: &[&str], comment: impl Into<String>) {
        let path = path.iter().map(|key| (*key).to_owned()).collect();
        self.comments.entry(path).or_default().push(comment.into());
    }

    fn of(&self, path: &[&str]) -> &[String] {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        self.comments.get(&path).map_or(&[], Vec::as_slice)
    }
}

impl Graph {
    /// The graph as the text of a graph file. Reading it back gives an equal graph (without
    /// positions), provided that [`check`](crate::check) finds no fault in its names and numbers.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        self.to_yaml_with(&Notes::default())
    }

    pub(crate) fn to_yaml_with(&self, notes: &Notes) -> String {
        let mut out = Text { text: String::new(), notes };
        out.comments(&[], 0);
        out.line(0, "crossdock: 1");
        out.line(0, &format!("name: {}", quoted(&self.name)));
        if !self.arguments.is_empty() {
            out.line(0, "arguments:");
        }
        for argument in &self.arguments {
            out.comments(&["arguments", &argument.name], 2);
            let mut fields = vec![
                format!("node: {}", quoted(&argument.node)),
                format!("parameter: {}", quoted(&argument.parameter)),
            ];
            if !argument.doc.is_empty() {
                fields.push(format!("doc: {}", quoted(&argument.doc)));
            }
            out.line(2, &format!("{}: {}", quoted(&argument.name), flow(&fields)));
        }
        if !self.topics.is_empty() {
            out.line(0, "topics:");
        }
        for topic in &self.topics {
            out.comments(&["topics", &topic.name], 2);
            out.line(2, &format!("{}: {}", quoted(&topic.name), topic_fields(topic)));
        }
        if !self.services.is_empty() {
            out.line(0, "services:");
        }
        for service in &self.services {
            out.comments(&["services", &service.name], 2);
            out.line(2, &format!("{}: {}", quoted(&service.name), service_fields(service)));
        }
        out.line(0, if self.nodes.is_empty() { "nodes: {}" } else { "nodes:" });
        for node in &self.nodes {
            out.node(node);
        }
        if !self.chains.is_empty() {
            out.line(0, "chains:");
        }
        for chain in &self.chains {
            out.comments(&["chains", &chain.name], 2);
            let mut fields = vec![
                format!("from: {}", quoted(&chain.from)),
                format!("to: {}", quoted(&chain.to)),
            ];
            fields.extend(limit_fields(chain.max_latency, "max_latency_ms", "on_miss"));
            out.line(2, &format!("{}: {}", quoted(&chain.name), flow(&fields)));
        }
        out.text
    }
}

impl Mapping {
    /// The mapping as the text of a mapping file. Reading it back gives an equal mapping (without
    /// positions).
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let notes = Notes::default();
        let mut out = Text { text: String::new(), notes: &notes };
        out.line(0, "crossdock: 1");
        out.line(0, if self.processes.is_empty() { "processes: {}" } else { "processes:" });
        for process in &self.processes {
            out.line(2, &format!("{}:", quoted(&process.name)));
            if process.lock_memory {
                out.line(4, "lock_memory: true");
            }
            if process.realtime == Realtime::Preferred {
                out.line(4, "realtime: preferred");
            }
            if let Some(restart) = restart_value(&process.restart) {
                out.line(4, &format!("restart: {restart}"));
            }
            out.line(4, "executors:");
            for executor in &process.executors {
                let mut fields = Vec::new();
                if !executor.name.is_empty() {
                    fields.push(format!("name: {}", quoted(&executor.name)));
                }
                fields.push(match executor.mode {
                    ExecutorMode::Chain => "mode: chain".to_owned(),
                    ExecutorMode::Event => "mode: event".to_owned(),
                    ExecutorMode::Graph => format!("mode: graph, threads: {}", executor.threads),
                });
                let nodes: Vec<String> = executor.nodes.iter().map(|node| quoted(node)).collect();
                fields.push(format!("nodes: [{}]", nodes.join(", ")));
                if executor.spin_us != 0 {
                    fields.push(format!("spin_us: {}", executor.spin_us));
                }
                if !executor.costs_us.is_empty() {
                    let cost = |(node, cost): (&String, &u32)| format!("{}: {cost}", quoted(node));
                    let costs: Vec<String> = executor.costs_us.iter().map(cost).collect();
                    fields.push(format!("costs_us: {}", flow(&costs)));
                }
                fields.extend(executor.priority.map(|priority| format!("priority: {priority}")));
                if !executor.affinity.is_empty() {
                    let cpus: Vec<String> =
                        executor.affinity.iter().map(ToString::to_string).collect();
                    fields.push(format!("affinity: [{}]", cpus.join(", ")));
                }
                out.line(6, &format!("- {}", flow(&fields)));
            }
        }
        out.fabrics(&self.fabrics);
        if !self.topics.is_empty() {
            out.line(0, "topics:");
        }
        for topic in &self.topics {
            let mut fields = vec![format!("mapping: {}", topic.mapping.word())];
            fields.extend(stream_fields(&topic.stream, quoted));
            out.line(2, &format!("{}: {}", quoted(&topic.name), flow(&fields)));
        }
        out.hosts(&self.hosts);
        if !self.trust.is_empty() {
            out.line(0, &trust_line(&self.trust));
        }
        out.text
    }
}

/// Whom a mapping trusts, on one line.
fn trust_line(trust: &TrustedUsers) -> String {
    let list = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        names.join(", ")
    };
    format!("trust: {{ users: [{}], groups: [{}] }}", list(&trust.users), list(&trust.groups))
}

struct Text<'n> {
    text: String,
    notes: &'n Notes,
}

impl Text<'_> {
    fn fabrics(&mut self, fabrics: &[MappedFabric]) {
        if !fabrics.is_empty() {
            self.line(0, "fabrics:");
        }
        for fabric in fabrics {
            let nodes: Vec<String> = fabric.nodes.iter().map(|node| quoted(node)).collect();
            let mut fields = vec![format!("nodes: [{}]", nodes.join(", "))];
            if fabric.on_lag != OnLag::default() {
                fields.push(format!("on_lag: {}", fabric.on_lag.word()));
            }
            fields.extend(fabric.part.iter().map(|part| format!("part: {}", quoted(part))));
            self.line(2, &format!("{}: {}", quoted(&fabric.name), flow(&fields)));
        }
    }

    fn hosts(&mut self, hosts: &[MappedHost]) {
        if !hosts.is_empty() {
            self.line(0, "hosts:");
        }
        for host in hosts {
            let names: Vec<String> = host.processes.iter().map(|name| quoted(name)).collect();
            let fields = [format!("processes: [{}]", names.join(", "))];
            self.line(2, &format!("{}: {}", quoted(&host.name), flow(&fields)));
        }
    }

    fn line(&mut self, indent: usize, content: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{:indent$}{content}", "");
    }

    fn comments(&mut self, path: &[&str], indent: usize) {
        /// Characters of a comment line, indentation and `# ` not counted.
        const COMMENT_CHARS: usize = 90;
        for comment in self.notes.of(path) {
            let mut line = String::new();
            for word in comment.split_whitespace() {
                if !line.is_empty() && line.chars().count() + word.chars().count() > COMMENT_CHARS {
                    self.line(indent, &format!("# {line}"));
                    line.clear();
                }
                if !line.is_empty() {
                    line.push(' ');
                }
                line.extend(word.chars().filter(|c| !is_escaped(*c)));
            }
            self.line(indent, &format!("# {line}"));
        }
    }

    fn node(&mut self, node: &GraphNode) {
        let name = node.name.as_str();
        self.comments(&["nodes", name], 2);
        self.line(2, &format!("{}:", quoted(name)));
        self.line(4, &format!("package: {}", quoted(&node.package)));
        self.line(4, &format!("type: {}", quoted(&node.node_type)));
        self.inputs(node);
        if !node.outputs.is_empty() {
            self.line(4, "outputs:");
        }
        for output in &node.outputs {
            self.comments(&["nodes", name, "outputs", &output.port], 6);
            let fields = vec![format!("topic: {}", quoted(&output.topic))];
            let value = port_fields(fields, &output.topic, &output.qos);
            self.line(6, &format!("{}: {value}", quoted(&output.port)));
        }
        if !node.clients.is_empty() {
            self.line(4, "clients:");
        }
        for client in &node.clients {
            let depth = client.depth.map(|depth| format!("depth: {depth}"));
            let value = service_end(&client.service, depth, client.introspection);
            self.line(6, &format!("{}: {value}", quoted(&client.port)));
        }
        if !node.servers.is_empty() {
            self.line(4, "servers:");
        }
        for server in &node.servers {
            let value = service_end(&server.service, None, server.introspection);
            self.line(6, &format!("{}: {value}", quoted(&server.port)));
        }
        if let Some(condition) = &node.condition {
            self.line(4, &format!("condition: {}", flow(&condition.fields(quoted))));
        }
        self.timers(node);
        if let Some(lockstep) = &node.lockstep {
            let fields = [
                format!("timer: {}", quoted(&lockstep.timer)),
                format!("command: {}", quoted(&lockstep.command)),
            ];
            self.line(4, &format!("lockstep: {}", flow(&fields)));
        }
        for field in limit_fields(node.budget, "budget_ms", "on_overrun") {
            self.line(4, &field);
        }
        if let Some(policy) = node.on_failure {
            self.line(4, &format!("on_failure: {}", policy.word()));
        }
        if !node.parameters.is_empty() {
            self.line(4, "parameters:");
        }
        for (parameter, value) in &node.parameters {
            self.line(6, &format!("{}: {}", quoted(parameter), value.to_yaml()));
        }
    }

    fn inputs(&mut self, node: &GraphNode) {
        if !node.inputs.is_empty() {
            self.line(4, "inputs:");
        }
        for input in &node.inputs {
            self.comments(&["nodes", &node.name, "inputs", &input.port], 6);
            let mut fields = vec![format!("topic: {}", quoted(&input.topic))];
            fields.extend(input.trigger.map(|trigger| format!("trigger: {trigger}")));
            fields.extend(input.closes_loop.then(|| "closes_loop: true".to_owned()));
            fields.extend(input.reading.map(|reading| match reading {
                InputReading::SinceLast => "read: since_last".to_owned(),
                _ => "read: latest".to_owned(),
            }));
            fields.extend(limit_fields(input.max_age, "max_age_ms", "on_miss"));
            let value = port_fields(fields, &input.topic, &input.qos);
            self.line(6, &format!("{}: {value}", quoted(&input.port)));
        }
    }

    fn timers(&mut self, node: &GraphNode) {
        if !node.timers.is_empty() {
            self.line(4, "timers:");
        }
        for timer in &node.timers {
            let period = match timer.period {
                Period::RateHz(rate_hz) => format!("rate_hz: {}", double(rate_hz)),
                Period::PeriodMs(period_ms) => format!("period_ms: {}", double(period_ms)),
            };
            let mut fields = vec![period];
            fields.extend(
                timer.offset_ns.map(|ns| format!("offset_ms: {}", double(ns as f64 / 1e6))),
            );
            if timer.priority != 0 {
                fields.push(format!("priority: {}", timer.priority));
            }
            self.line(6, &format!("{}: {}", quoted(&timer.name), flow(&fields)));
        }
    }
}

fn flow(fields: &[String]) -> String {
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}

fn topic_fields(topic: &GraphTopic) -> String {
    let mut fields = Vec::new();
    fields.extend(topic.message_type.as_ref().map(|name| format!("type: {}", quoted(name))));
    if topic.external {
        fields.push("external: true".to_owned());
    }
    if topic.several_publishers {
        fields.push("several_publishers: true".to_owned());
    }
    if topic.copies == Copies::Forbidden {
        fields.push("copies: forbidden".to_owned());
    }
    fields.extend(topic.max_bytes.map(|max_bytes| format!("max_bytes: {max_bytes}")));
    if !topic.bounds.is_empty() {
        let bounds = topic.bounds.iter();
        let bounds: Vec<String> =
            bounds.map(|(field, bound)| format!("{}: {bound}", quoted(field))).collect();
        fields.push(format!("bounds: {}", flow(&bounds)));
    }
    fields.extend(qos_field(&topic.qos));
    flow(&fields)
}

fn service_fields(service: &GraphService) -> String {
    let mut fields = Vec::new();
    fields.extend(service.service_type.as_ref().map(|name| format!("type: {}", quoted(name))));
    if service.external {
        fields.push("external: true".to_owned());
    }
    fields.extend(service.max_request_bytes.map(|bytes| format!("max_request_bytes: {bytes}")));
    fields.extend(service.max_response_bytes.map(|bytes| format!("max_response_bytes: {bytes}")));
    flow(&fields)
}

fn port_fields(mut fields: Vec<String>, topic: &str, qos: &QosRequest) -> String {
    fields.extend(qos_field(qos));
    if fields.len() == 1 { quoted(topic) } else { flow(&fields) }
}

/// The service of a client or a server port, with what the graph says of the port.
fn service_end(service: &str, depth: Option<String>, told: Introspection) -> String {
    let mut fields = vec![format!("service: {}", quoted(service))];
    fields.extend(depth);
    if told != Introspection::default() {
        fields.push(format!("introspection: {}", told.word()));
    }
    if fields.len() == 1 { quoted(service) } else { flow(&fields) }
}

fn qos_field(qos: &QosRequest) -> Option<String> {
    let fields = request_fields(qos);
    if fields.is_empty() { None } else { Some(format!("qos: {}", flow(&fields))) }
}

impl ParameterValue {
    /// The value in YAML, on one line, as it reads back.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        fn list<T>(values: &[T], text: impl Fn(&T) -> String) -> String {
            format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(", "))
        }
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Double(value) => double(*value),
            Self::String(value) => quoted(value),
            Self::BoolArray(values) => list(values, ToString::to_string),
            Self::IntegerArray(values) => list(values, ToString::to_string),
            Self::DoubleArray(values) => list(values, |value| double(*value)),
            Self::StringArray(values) => list(values, |value| quoted(value)),
        }
    }
}

/// The shortest text that reads back as the same double and not as an integer.
fn double(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    format!("{value:?}")
}

/// Text as a YAML scalar, in quotes unless it is a plain name that nothing can take for a number.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/');
    let is_plain = text.chars().all(plain) && matches!(Scalar::resolve(text), Scalar::Text(_));
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if is_escaped(c) => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Characters that YAML does not take as they are, or that a reader would not see.
fn is_escaped(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200f}' | '\u{feff}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || (u32::from(c) & 0xfffe) == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_could_be_a_number_or_syntax_is_quoted() {
        for (text, written) in [
            ("blur", "blur"),
            ("/a/b", "/a/b"),
            ("12", "\"12\""),
            ("true", "\"true\""),
            ("", "\"\""),
            ("a: b", "\"a: b\""),
            ("\u{7}\"", "\"\\U00000007\\\"\""),
        ] {
            assert_eq!(quoted(text), written);
        }
        assert_eq!(double(1.0), "1.0");
        assert_eq!(double(1e300), "1e300");
    }

    #[test]
    fn long_comments_are_broken_into_lines() {
        let mut notes = Notes::default();
        notes.add(&[], "word ".repeat(40));
        let graph = Graph { name: "g".into(), ..Graph::default() };
        let text = graph.to_yaml_with(&notes);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert_eq!(text.matches("word").count(), 40);
    }
}
