//! A recording as the source of a graph's topics.
//!
//! The caller says which topics a recording holds.

use crate::model::{Graph, GraphTopic};
use crate::source::Place;
use crate::violation::{Violation, ViolationKind};
use std::collections::BTreeSet;

/// A topic that a recording holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputTopic {
    /// Name of the topic.
    pub name: String,
    /// Message type as the recording names it.
    pub message_type: String,
}

impl Graph {
    /// The graph with those topics of a recording that its nodes subscribe to made external, and
    /// their names: what the launcher is to play. `recording` is its name for messages.
    ///
    /// Nothing is removed from the graph; topics that it does not use are left alone. A type that
    /// differs from what ports say is found by [`check`](crate::check).
    ///
    /// # Errors
    /// Every topic that both the recording and a node publish, and every topic whose declared type
    /// is not the recorded one.
    pub fn with_input(
        &self,
        recording: &str,
        topics: &[InputTopic],
    ) -> Result<(Self, Vec<String>), Vec<Violation>> {
        let mut graph = self.clone();
        let mut played = Vec::new();
        let mut violations = Vec::new();
        let subscribed: BTreeSet<&str> = self
            .nodes
            .iter()
            .flat_map(|node| node.inputs.iter().map(|input| input.topic.as_str()))
            .collect();
        for topic in topics {
            let conflicts = self.publishers_of(&topic.name).map(|(node, port)| {
                let path = ["nodes", node, "outputs", port];
                let kind = ViolationKind::InputConflict;
                let message = format!(
                    "both `{recording}` and node `{node}` (output `{port}`) publish the topic"
                );
                let advice = format!(
                    "leave the topic out (`run --input ... --without {}`), remove the node from the \
                     graph, or rename its topic",
                    topic.name
                );
                Violation::at(kind, &self.source, &path, message, advice)
                    .for_node(node)
                    .for_topic(&topic.name)
            });
            violations.extend(conflicts);
            if !subscribed.contains(topic.name.as_str()) || played.contains(&topic.name) {
                continue;
            }
            played.push(topic.name.clone());
            match graph.declare_played(recording, topic) {
                Ok(()) => {}
                Err(violation) => violations.push(*violation),
            }
        }
        if violations.is_empty() { Ok((graph, played)) } else { Err(violations) }
    }

    /// The graph with these topics made external, although nobody may publish them.
    #[must_use]
    pub fn without_inputs(&self, topics: &[String]) -> Self {
        let mut graph = self.clone();
        for topic in topics {
            graph.topic_from_outside(topic);
        }
        graph
    }

    /// Node and port of every publisher of a topic.
    fn publishers_of<'a>(&'a self, topic: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.nodes.iter().flat_map(move |node| {
            let outputs = node.outputs.iter().filter(move |output| output.topic == topic);
            outputs.map(|output| (node.name.as_str(), output.port.as_str()))
        })
    }

    /// The declaration of a topic, made if there is none, that says that it is external.
    pub(crate) fn topic_from_outside(&mut self, name: &str) -> &mut GraphTopic {
        let declared = self.topics.iter().position(|declared| declared.name == name);
        let place = declared.unwrap_or_else(|| {
            self.topics.push(GraphTopic { name: name.to_owned(), ..GraphTopic::default() });
            self.topics.len() - 1
        });
        self.topics[place].external = true;
        &mut self.topics[place]
    }

    fn declare_played(
        &mut self,
        recording: &str,
        topic: &InputTopic,
    ) -> Result<(), Box<Violation>> {
        let path = ["topics", topic.name.as_str(), "type"];
        let declared = self.topic_from_outside(&topic.name);
        match &declared.message_type {
            Some(known) if *known != topic.message_type => {
                let message = format!(
                    "`{recording}` holds `{}`, the graph declares `{known}`",
                    topic.message_type
                );
                let advice = "correct the declaration or play another recording";
                let kind = ViolationKind::TypeClash;
                let violation = Violation::at(kind, &self.source, &path, message, advice);
                Err(Box::new(violation.for_topic(&topic.name)))
            }
            Some(_) => Ok(()),
            None => {
                declared.message_type = Some(topic.message_type.clone());
                let start = Place { line: 1, column: 1 };
                self.source.set_elsewhere(&path, recording, Some(start));
                Ok(())
            }
        }
    }
}
