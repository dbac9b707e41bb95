//! Each topic with all its ports: types, quality of service, publishers.

use super::nodes::triggers;
use super::{Check, Port, Resolved, TopicPorts, Topics};
use crate::limits::{VIOLATIONS_MAX, kept_for_deeper};
use crate::names::did_you_mean;
use crate::qos::{Qos, QosPolicy};
use crate::violation::{Violation, ViolationKind};

impl<'a> Check<'a> {
    /// Every topic of the graph with its ports.
    pub(super) fn collect_topics(&self, nodes: &[Resolved<'a>]) -> Topics<'a> {
        let mut topics = Topics::new();
        for topic in &self.graph.topics {
            topics.entry(&topic.name).or_default();
        }
        for (index, (node, resolved)) in self.graph.nodes.iter().zip(nodes).enumerate() {
            let description = resolved.description;
            for input in &node.inputs {
                let described = description.and_then(|description| description.input(&input.port));
                let base = described.map_or(Qos::UNSAID, |input| input.qos.over(Qos::UNSAID));
                topics.entry(&input.topic).or_default().subscribers.push(Port {
                    node: index,
                    port: &input.port,
                    message_type: described.map(|input| input.message_type.as_str()),
                    type_hash: described.and_then(|input| input.type_hash.as_deref()),
                    tokens: false,
                    trigger: triggers(node, description, &input.port),
                    closes_loop: input.closes_loop,
                    qos: input.qos.over(self.topic_qos(&input.topic, base)),
                });
            }
            for output in &node.outputs {
                let described =
                    description.and_then(|description| description.output(&output.port));
                let base = described.map_or(Qos::UNSAID, |output| output.qos.over(Qos::UNSAID));
                topics.entry(&output.topic).or_default().publishers.push(Port {
                    node: index,
                    port: &output.port,
                    message_type: described.map(|output| output.message_type.as_str()),
                    type_hash: described.and_then(|output| output.type_hash.as_deref()),
                    tokens: described.is_some_and(|output| output.tokens),
                    trigger: false,
                    closes_loop: false,
                    qos: output.qos.over(self.topic_qos(&output.topic, base)),
                });
            }
        }
        topics
    }

    fn topic_qos(&self, topic: &str, base: Qos) -> Qos {
        self.declared.get(topic).map_or(base, |topic| topic.qos.over(base))
    }

    pub(super) fn topics(&mut self, topics: &Topics<'a>) {
        for (name, ports) in topics {
            if self.is_full() {
                return;
            }
            self.types(name, ports);
            self.quality(name, ports);
            self.depths(name, ports);
            self.publishers(name, ports, topics);
            self.several_publishers(name, ports);
        }
        for topic in &self.options.recorded {
            if !topics.contains_key(topic.as_str()) {
                let near = did_you_mean(topic, topics.keys().copied());
                let advice = if near.is_empty() { "record another topic".into() } else { near };
                let message = format!("graph `{}` has no topic to record here", self.graph.name);
                let kind = ViolationKind::UnknownTopic;
                let violation = self.fault(kind, &["topics"], message, advice);
                self.note(violation.for_topic(topic));
            }
        }
    }

    /// The place of a port in the graph file.
    fn path(&self, port: &Port<'a>, direction: &'static str) -> [&'a str; 4] {
        ["nodes", self.node_name(port.node), direction, port.port]
    }

    fn types(&mut self, name: &'a str, ports: &TopicPorts<'a>) {
        let declared = self.declared.get(name).and_then(|topic| topic.message_type.as_deref());
        let publishers = ports.publishers.iter().map(|port| (port, "outputs"));
        let subscribers = ports.subscribers.iter().map(|port| (port, "inputs"));
        let all: Vec<(&Port<'a>, &'static str)> = publishers.chain(subscribers).collect();
        let first = all.iter().find(|(port, _)| port.message_type.is_some()).copied();
        for (port, direction) in &all {
            let Some(message_type) = port.message_type else { continue };
            let node = self.node_name(port.node);
            let what = if *direction == "outputs" { "output" } else { "input" };
            let said = match (declared, first) {
                (Some(declared), _) if declared != message_type => {
                    let (file, _) = self.graph.source.find(&["topics", name, "type"]);
                    let by = match file == self.graph.source.file() {
                        true => "the topic's declaration".to_owned(),
                        false => format!("`{file}`"),
                    };
                    format!("{by} says `{declared}`")
                }
                (None, Some((first, direction))) if first.message_type != port.message_type => {
                    let what = if direction == "outputs" { "output" } else { "input" };
                    let other = self.node_name(first.node);
                    let other_type = first.message_type.unwrap_or_default();
                    format!("{what} `{}` of node `{other}` says `{other_type}`", first.port)
                }
                (_, Some((first, _))) if hashes_differ(first, port) => {
                    let other = self.node_name(first.node);
                    format!(
                        "node `{other}` was built with another definition of it ({} against {})",
                        first.type_hash.unwrap_or_default(),
                        port.type_hash.unwrap_or_default()
                    )
                }
                _ => continue,
            };
            let message = format!("{what} `{}` is of type `{message_type}`, but {said}", port.port);
            let advice = "connect it to another topic, or make the types the same";
            let path = self.path(port, direction);
            let violation = self.fault(ViolationKind::TypeClash, &path, message, advice);
            self.note(violation.for_node(node).for_topic(name));
        }
    }

    /// A subscriber may not ask for more than a publisher offers. In each policy, it is held
    /// against the first of the publishers that offer least.
    fn quality(&mut self, name: &'a str, ports: &TopicPorts<'a>) {
        for port in &ports.publishers {
            if let Some(why) = port.qos.contradiction() {
                let message = format!("output `{}` {why}", port.port);
                let advice = "say `when_full: wait`, or `history: keep_last`";
                let path = self.path(port, "outputs");
                let violation = self.fault(ViolationKind::QosMismatch, &path, message, advice);
                self.note(violation.for_node(self.node_name(port.node)).for_topic(name));
            }
        }
        for policy in QosPolicy::ALL {
            let least = ports.publishers.iter().reduce(|least, other| {
                if policy.is_less(&other.qos, &least.qos) { other } else { least }
            });
            let Some(least) = least else { return };
            for port in ports.subscribers.iter().filter(|it| policy.is_less(&least.qos, &it.qos)) {
                self.note(self.qos_mismatch(name, least, port, policy));
            }
        }
    }

    fn qos_mismatch(
        &self,
        name: &'a str,
        publisher: &Port<'a>,
        port: &Port<'a>,
        policy: QosPolicy,
    ) -> Violation {
        let message = format!(
            "input `{}` asks for {}, but output `{}` of node `{}` offers {}",
            port.port,
            policy.words(&port.qos),
            publisher.port,
            self.node_name(publisher.node),
            policy.words(&publisher.qos)
        );
        let advice = format!(
            "set `{}` on the input or `{}` on the output",
            policy.field(&publisher.qos),
            policy.field(&port.qos)
        );
        let path = self.path(port, "inputs");
        let violation = self.fault(ViolationKind::QosMismatch, &path, message, advice);
        violation.for_node(self.node_name(port.node)).for_topic(name)
    }

    /// A subscriber may ask for more messages than its publisher keeps for itself, as far as memory
    /// holds them. Where it does not, that is said: the subscriber gets less than it asks for when
    /// it is slow.
    fn depths(&mut self, name: &'a str, ports: &TopicPorts<'a>) {
        let max_bytes = self.declared.get(name).and_then(|topic| topic.max_bytes);
        let kept = |port: &&Port<'a>| kept_for_deeper(port.qos.depth.into(), max_bytes);
        let Some(publisher) = ports.publishers.iter().min_by_key(kept) else { return };
        let kept = kept(&publisher);
        for port in ports.subscribers.iter().filter(|port| u64::from(port.qos.depth) > kept) {
            let asked = port.qos.depth;
            let size =
                max_bytes.map_or_else(String::new, |bytes| format!(" of up to {bytes} bytes"));
            let message = format!(
                "input `{}` asks for {asked} messages{size}, but of output `{}` of node `{}`, whose \
                 depth is {}, memory is sure to hold {kept}: a best-effort input that is further \
                 behind may lose messages, and for a reliable one the publisher may wait earlier",
                port.port,
                publisher.port,
                self.node_name(publisher.node),
                publisher.qos.depth
            );
            let advice = format!(
                "set `depth: {asked}` on the output, which makes its memory as large, or a depth of \
                 at most {kept} on the input"
            );
            let path = self.path(port, "inputs");
            let violation = self.fault(ViolationKind::QosMismatch, &path, message, advice);
            if self.warnings.len() < VIOLATIONS_MAX {
                let node = self.node_name(port.node);
                self.warnings.push(violation.for_node(node).for_topic(name));
            }
        }
    }

    fn publishers(&mut self, name: &'a str, ports: &TopicPorts<'a>, topics: &Topics<'a>) {
        let unread = ports.subscribers.is_empty();
        if unread || !ports.publishers.is_empty() || self.is_external(name) {
            return;
        }
        let published = topics.iter().filter(|(_, ports)| !ports.publishers.is_empty());
        let near = did_you_mean(name, published.map(|(name, _)| *name));
        for port in &ports.subscribers {
            let how = if port.trigger { "triggering" } else { "non-triggering" };
            let lockstep = self.graph.nodes[port.node].lockstep.as_ref();
            // Without pacing a lock step goes on only with a command.
            let is_awaited = self.options.time.is_unpaced()
                && lockstep.is_some_and(|lockstep| lockstep.command == port.port);
            let and = if is_awaited { ", and the lock step waits for its messages" } else { "" };
            let message =
                format!("nobody publishes the topic of the {how} input `{}`{and}", port.port);
            let or_else = if near.is_empty() { "" } else { " Otherwise, " };
            let advice = format!(
                "{near}{or_else}connect it to a published topic, or declare `{name}` with \
                 `external: true` if it comes from a recording or another program"
            );
            let path = self.path(port, "inputs");
            let violation = self
                .fault(ViolationKind::NoPublisher, &path, message, advice)
                .for_node(self.node_name(port.node))
                .for_topic(name);
            if port.trigger || is_awaited {
                self.note(violation);
            } else if self.warnings.len() < VIOLATIONS_MAX {
                self.warnings.push(violation);
            }
        }
    }
}

impl<'a> Check<'a> {
    /// Two nodes that publish one topic are a mistake more often than not: subscribers get the
    /// messages of both, as they come.
    fn several_publishers(&mut self, name: &'a str, ports: &TopicPorts<'a>) {
        let [first, others @ ..] = &ports.publishers[..] else { return };
        let is_meant = self.declared.get(name).is_some_and(|topic| topic.several_publishers);
        if others.is_empty() || is_meant || self.warnings.len() >= VIOLATIONS_MAX {
            return;
        }
        let nodes = ports.publishers.iter().map(|port| format!("`{}`", self.node_name(port.node)));
        let nodes = nodes.collect::<Vec<_>>().join(", ");
        let message =
            format!("several nodes publish the topic: {nodes}; subscribers get all their messages");
        let advice = format!(
            "give each publisher a topic of its own, or declare `{name}` with \
             `several_publishers: true` if that is meant"
        );
        let path = self.path(first, "outputs");
        let violation = self.fault(ViolationKind::SeveralPublishers, &path, message, advice);
        self.warnings.push(violation.for_topic(name));
    }
}

fn hashes_differ(first: &Port<'_>, second: &Port<'_>) -> bool {
    matches!((first.type_hash, second.type_hash), (Some(a), Some(b)) if a != b)
}
