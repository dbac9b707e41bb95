//! `crossdock topic list` and `info`: what the status tables say of topics and their ports.

use super::{endpoints, look, must_exist, open};
use crate::arguments::{ListArguments, WatchArguments};
use crate::output;
use crate::output::{clean, say};
use crate::table::{Align, Table};
use anyhow::Result;
use crossdock_comm::status_records::{Carrier, counter};
use crossdock_comm::{GraphSnapshot, MemberSnapshot, Observer, PortKind, PortSnapshot, Qos};
use crossdock_sight::{bytes, is_hidden, lost_of, sum};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Ports of one topic, each with the name of its process.
#[derive(Default)]
struct Topic<'a> {
    publishers: Vec<(&'a str, &'a PortSnapshot)>,
    subscribers: Vec<(&'a str, &'a PortSnapshot)>,
    /// Those of nodes that are elsewhere, each with its process here and the port of that process
    /// that carries its messages.
    members: Vec<(&'a str, &'a MemberSnapshot)>,
    /// How many publishers and subscribers nodes have: several may share one of those above.
    of_nodes: [usize; 2],
    /// Types of publishers and subscribers, each with whether it is a stranger's.
    types: BTreeSet<(bool, &'a str)>,
}

impl Topic<'_> {
    /// All types, strangers' last.
    fn type_names(&self) -> Vec<&str> {
        let is_first = |(is_stranger, name): &&(bool, &str)| {
            !is_stranger || !self.types.contains(&(false, name))
        };
        self.types.iter().filter(is_first).map(|(_, name)| *name).collect()
    }

    /// The first of the types; empty if there is none.
    fn type_name(&self) -> &str {
        self.type_names().first().copied().unwrap_or("")
    }

    /// All types with commas between them.
    fn type_text(&self) -> String {
        self.type_names().join(", ")
    }

    /// What a port of a process carries.
    fn carried_by(
        &self,
        process: &str,
        port: &PortSnapshot,
    ) -> impl Iterator<Item = &PortSnapshot> {
        let of_port = move |(name, member): &&(&str, &MemberSnapshot)| {
            *name == process && member.carrier == port.port
        };
        self.members.iter().filter(of_port).map(|(_, member)| &member.port)
    }

    fn published(&self, index: usize) -> u64 {
        sum(self.publishers.iter().map(|(_, port)| port.counters[index]))
    }
}

fn topics<'a>(observer: &Observer, snapshot: &'a GraphSnapshot) -> BTreeMap<&'a str, Topic<'a>> {
    let mut topics: BTreeMap<&str, Topic<'_>> = BTreeMap::new();
    for process in &snapshot.processes {
        let name = process.process.as_str();
        let is_stranger = observer.stranger(process.name).is_some();
        let visible = |port: &&PortSnapshot| !is_hidden(&port.topic);
        for port in process.publishers.iter().filter(visible) {
            topics.entry(&port.topic).or_default().publishers.push((name, port));
        }
        for port in process.subscribers.iter().filter(visible) {
            topics.entry(&port.topic).or_default().subscribers.push((name, port));
        }
        let ports = process.publishers.iter().chain(&process.subscribers);
        for port in ports.filter(visible).filter(|port| !port.type_name.is_empty()) {
            let types = &mut topics.entry(&port.topic).or_default().types;
            types.insert((is_stranger, port.type_name.as_str()));
        }
        for member in process.members.iter().filter(|member| !is_hidden(&member.port.topic)) {
            topics.entry(&member.port.topic).or_default().members.push((name, member));
        }
    }
    for (side, kind) in [PortKind::Publisher, PortKind::Subscriber].into_iter().enumerate() {
        for (_, port) in snapshot.ports(kind) {
            if let Some(topic) = topics.get_mut(port.topic.as_str()) {
                topic.of_nodes[side] += 1;
            }
        }
    }
    topics
}

/// Lists all topics of the domain.
pub(super) fn list(arguments: &ListArguments) -> Result<()> {
    let ListArguments { show_types, verbose, count_topics, watch } = arguments;
    let mut observer = open(watch)?;
    let snapshot = look(&mut observer)?;
    must_be_seen(&snapshot, watch)?;
    let topics = topics(&observer, &snapshot);
    if *count_topics {
        return output::print(&format!("{}\n", topics.len()));
    }
    if watch.json {
        let rows = topics.iter().map(|(name, topic)| {
            json!({
                "topic": name,
                "type": topic.type_name(),
                "types": topic.type_names(),
                "publishers": topic.of_nodes[0],
                "subscribers": topic.of_nodes[1],
                "messages": topic.published(counter::MESSAGES),
                "bytes": topic.published(counter::BYTES),
            })
        });
        let rows: Vec<Value> = rows.collect();
        return output::print_json(&rows);
    }
    if topics.is_empty() {
        say!("{}", no_topic(&snapshot, watch.domain_id));
    }
    if *verbose || *show_types {
        return output::print(&in_ros2_form(&topics, *verbose));
    }
    let mut table = Table::new(&[
        ("topic", Align::Left),
        ("type", Align::Left),
        ("publishers", Align::Right),
        ("subscribers", Align::Right),
        ("messages", Align::Right),
        ("bytes", Align::Right),
    ]);
    for (name, topic) in &topics {
        table.row([
            (*name).to_owned(),
            topic.type_text(),
            topic.of_nodes[0].to_string(),
            topic.of_nodes[1].to_string(),
            topic.published(counter::MESSAGES).to_string(),
            bytes(topic.published(counter::BYTES)),
        ]);
    }
    output::print(&table.text())
}

fn must_be_seen(snapshot: &GraphSnapshot, watch: &WatchArguments) -> Result<()> {
    output::must_be_seen(snapshot.processes.len(), &snapshot.unreachable, watch.domain_id)
}

/// Why no topic is shown.
fn no_topic(snapshot: &GraphSnapshot, domain_id: u32) -> String {
    match snapshot.processes.len() {
        0 => output::nothing_runs(domain_id),
        1 => format!("the process in domain {domain_id} has no topic"),
        processes => format!("the {processes} processes in domain {domain_id} have no topic"),
    }
}

/// The lines of `ros2 topic list -t` and `-v`, for those who read them with a program.
fn in_ros2_form(topics: &BTreeMap<&str, Topic<'_>>, verbose: bool) -> String {
    let mut text = String::new();
    let mut side = |head: &str, count: &dyn Fn(&Topic<'_>) -> usize, what: &str| {
        text.push_str(head);
        for (name, topic) in topics {
            let line = format!("{name} [{}]", topic.type_text());
            match (verbose, count(topic)) {
                (false, _) => text.push_str(&format!("{}\n", clean(&line))),
                (true, 0) => {}
                (true, 1) => text.push_str(&format!(" * {} 1 {what}\n", clean(&line))),
                (true, many) => text.push_str(&format!(" * {} {many} {what}s\n", clean(&line))),
            }
        }
    };
    if verbose {
        side("Published topics:\n", &|topic| topic.of_nodes[0], "publisher");
        side("\nSubscribed topics:\n", &|topic| topic.of_nodes[1], "subscriber");
    } else {
        side("", &|_| 0, "");
    }
    text
}

/// Prints the type of a topic.
pub(super) fn print_type(name: &str, watch: &WatchArguments) -> Result<()> {
    let mut observer = open(watch)?;
    let snapshot = look(&mut observer)?;
    must_exist(&snapshot, name, watch.domain_id)?;
    let topics = topics(&observer, &snapshot);
    let Some(topic) = topics.get(name) else { return Ok(()) };
    let types = topic.type_names();
    if watch.json {
        let value = json!({ "topic": name, "type": topic.type_name(), "types": types });
        return output::print_json(&value);
    }
    // One of any type has none to print.
    let lines = if types.is_empty() { vec![""] } else { types };
    output::print(&lines.into_iter().map(|name| clean(name) + "\n").collect::<String>())
}

/// Lists the topics of a type, one a line.
pub(super) fn find(message_type: &str, watch: &WatchArguments) -> Result<()> {
    let mut observer = open(watch)?;
    let snapshot = look(&mut observer)?;
    must_be_seen(&snapshot, watch)?;
    let topics = topics(&observer, &snapshot);
    let found = topics.iter().filter(|(_, topic)| topic.type_names().contains(&message_type));
    let names: Vec<&str> = found.map(|(name, _)| *name).collect();
    if watch.json {
        return output::print_json(&names);
    }
    if names.is_empty() {
        let of_type = nothing_of_type(&topics, message_type);
        say!("{}", of_type.unwrap_or_else(|| no_topic(&snapshot, watch.domain_id)));
    }
    output::print(&names.iter().map(|name| clean(name) + "\n").collect::<String>())
}

/// `None`: there is no topic at all.
fn nothing_of_type(topics: &BTreeMap<&str, Topic<'_>>, of: &str) -> Option<String> {
    if topics.is_empty() {
        return None;
    }
    let types: BTreeSet<String> =
        topics.values().flat_map(|topic| topic.type_names()).map(clean).collect();
    let types: Vec<String> = types.into_iter().collect();
    Some(format!("no topic has the type {}; the types are {}", clean(of), types.join(", ")))
}

/// Shows everything that is known of one topic.
pub(super) fn info(name: &str, verbose: bool, watch: &WatchArguments) -> Result<()> {
    let mut observer = open(watch)?;
    let snapshot = look(&mut observer)?;
    must_exist(&snapshot, name, watch.domain_id)?;
    let topics = topics(&observer, &snapshot);
    let Some(topic) = topics.get(name) else { return Ok(()) };
    let carried = carried(&snapshot, name);
    if watch.json {
        let ports = |ports: &[(&str, &PortSnapshot)]| -> Vec<Value> {
            ports.iter().map(|(process, port)| port_json(process, port)).collect()
        };
        let value = json!({
            "topic": name,
            "type": topic.type_name(),
            "types": topic.type_names(),
            "publishers": ports(&topic.publishers),
            "subscribers": ports(&topic.subscribers),
            "elsewhere": topic.members.iter().map(|(process, member)| member_json(process, member))
                .collect::<Vec<_>>(),
            "connections": { "ring": carried.0, "in_thread": carried.1 },
        });
        return output::print_json(&value);
    }
    if verbose {
        let sides = [PortKind::Publisher, PortKind::Subscriber];
        let sides = sides.map(|kind| {
            let ports = snapshot.ports(kind).map(|(_, port)| port);
            ports.filter(|port| port.topic == name).collect::<Vec<_>>()
        });
        return output::print(&endpoints::in_ros2_form(&topic.type_names(), sides));
    }
    let (ring, in_thread) = carried;
    output::print(&format!(
        "{}: {}\n{ring} connections through the ring, {in_thread} inside a thread\n\n{}",
        clean(name),
        clean(&topic.type_text()),
        ports(topic).text()
    ))
}

/// What is known of a port of a node that is elsewhere.
fn member_json(process: &str, member: &MemberSnapshot) -> Value {
    json!({
        "end": match member.kind {
            PortKind::Publisher => "publisher",
            _ => "subscriber",
        },
        "node": member.port.node,
        "process": process,
        "type": member.port.type_name,
        "type_hash": endpoints::hash(&member.port),
        "gid": endpoints::gid(&member.port),
        "qos": qos(&member.port.qos),
    })
}

/// The ports of a topic with their figures.
fn ports(topic: &Topic<'_>) -> Table<8> {
    let mut table = Table::new(&[
        ("port", Align::Left),
        ("node", Align::Left),
        ("process", Align::Left),
        ("qos", Align::Left),
        ("messages", Align::Right),
        ("bytes", Align::Right),
        ("copies", Align::Right),
        ("lost", Align::Right),
    ]);
    for (kind, ports) in [("publisher", &topic.publishers), ("subscriber", &topic.subscribers)] {
        for (process, port) in ports {
            table.row([
                kind.to_owned(),
                port.node.clone(),
                (*process).to_owned(),
                qos(&port.qos),
                port.counters[counter::MESSAGES].to_string(),
                bytes(port.counters[counter::BYTES]),
                port.counters[counter::COPIES].to_string(),
                lost_of(port).total().to_string(),
            ]);
            // Its figures are theirs together.
            for member in topic.carried_by(process, port) {
                let [a, b, c, d] = [const { String::new() }; 4];
                let (kind, process) = ("  for".to_owned(), (*process).to_owned());
                table.row([kind, member.node.clone(), process, qos(&member.qos), a, b, c, d]);
            }
        }
    }
    table
}

/// Connections of a topic: through the ring, inside a thread.
fn carried(snapshot: &GraphSnapshot, topic: &str) -> (usize, usize) {
    let connections = snapshot.processes.iter().flat_map(|process| &process.connections);
    let (ring, in_thread): (Vec<_>, Vec<_>) = connections
        .filter(|connection| connection.topic == topic)
        .partition(|connection| connection.detail.carrier == Carrier::Ring);
    (ring.len(), in_thread.len())
}

/// A port's quality of service in words.
pub(crate) fn qos(qos: &Qos) -> String {
    qos.to_string()
}

/// What is known of a port.
pub(crate) fn port_json(process: &str, port: &PortSnapshot) -> Value {
    let count = |index: usize| port.counters[index];
    json!({
        "topic": port.topic,
        "node": port.node,
        "process": process,
        "type": port.type_name,
        "type_hash": endpoints::hash(port),
        "gid": endpoints::gid(port),
        "maker": port.maker.to_string(),
        "qos": qos(&port.qos),
        "messages": count(counter::MESSAGES),
        "bytes": count(counter::BYTES),
        "copies": count(counter::COPIES),
        "lost": {
            "lapped": count(counter::LOST_LAPPED),
            "keep_last": count(counter::LOST_KEEP_LAST),
            "overwritten": count(counter::LOST_OVERWRITTEN),
            "expired": count(counter::LOST_EXPIRED),
            "timed_out": count(counter::LOST_TIMEOUT),
            "corrupt": count(counter::LOST_CORRUPT),
            "network": count(counter::LOST_NETWORK),
            "oversize": count(counter::LOST_OVERSIZE),
            "no_room": count(counter::LOST_NO_ROOM),
        },
        "unheard": count(counter::LOST_UNMATCHED),
        "skipped": count(counter::SKIPPED),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_types_of_a_topic_are_named_once_and_those_of_strangers_last() {
        let mut topic = Topic::default();
        assert_eq!((topic.type_name(), topic.type_text()), ("", String::new()));
        topic.types = BTreeSet::from([(true, "a/msg/A"), (true, "b/msg/B"), (false, "b/msg/B")]);
        assert_eq!(topic.type_names(), ["b/msg/B", "a/msg/A"]);
        assert_eq!(
            (topic.type_name(), topic.type_text().as_str()),
            ("b/msg/B", "b/msg/B, a/msg/A")
        );
    }
}
