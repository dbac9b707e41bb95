//! Which publishers and subscribers fit, and why two that do not are not connected.

use std::fmt;

use crate::wire::names::service_of;
use crate::wire::port_info::{Maker, PortInfo};
use crate::wire::qos::{Qos, QosConflict};

/// One side of a connection that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Its node.
    pub node: String,
    /// Its process.
    pub process: String,
    /// Its type; empty when it takes any.
    pub type_name: String,
    /// Its quality of service.
    pub qos: Qos,
}

impl Side {
    pub(crate) fn new(port: &PortInfo, process: &str) -> Side {
        Side {
            node: port.node.clone(),
            process: process.to_string(),
            type_name: port.type_name.clone(),
            qos: port.qos,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}` in process `{}`", self.node, self.process)
    }
}

/// Why a publisher and a subscriber of one topic, or a client and a server of one service, cannot
/// be connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The topic; of a service, the topic of its requests.
    pub topic: String,
    /// The publishing side, or the client.
    pub publisher: Side,
    /// The subscribing side, or the server.
    pub subscriber: Side,
    /// What does not fit, and what to change.
    pub reason: String,
    /// Whether a process of our own run of a graph is at the other end, or this process itself.
    /// True of all processes but strangers' if this one belongs to no run.
    pub within_run: bool,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { topic, publisher, subscriber, reason, within_run: _ } = self;
        match service_of(topic) {
            Some(service) => {
                write!(f, "service `{service}`: {subscriber} cannot serve {publisher}: {reason}")
            }
            None => {
                write!(f, "topic `{topic}`: {subscriber} cannot take from {publisher}: {reason}")
            }
        }
    }
}

impl std::error::Error for Mismatch {}

/// In what two ports differ that keeps them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// Name, definition or layout of the type.
    Type,
    /// A policy of the quality of service.
    Qos(QosConflict),
}

/// Whether two ports have nothing to do with each other although they are on one topic: what one
/// gateway has carried in is carried no further by another, nor back by itself. Nobody is told: the
/// two do not clash.
pub(crate) fn never_meet(publisher: &PortInfo, subscriber: &PortInfo) -> bool {
    publisher.maker == Maker::Gateway && subscriber.maker == Maker::Gateway
}

/// In what `publisher` and `subscriber` differ; `None`: they fit.
pub(crate) fn clash(publisher: &PortInfo, subscriber: &PortInfo) -> Option<Clash> {
    match types_differ(publisher, subscriber) {
        Some(_) => Some(Clash::Type),
        None => publisher.qos.conflict_with(&subscriber.qos).map(Clash::Qos),
    }
}

/// Why `publisher` cannot serve `subscriber`; `None` when it can. The same rule runs on both
/// sides of a connection, because neither trusts the other.
pub(crate) fn conflict(publisher: &PortInfo, subscriber: &PortInfo) -> Option<String> {
    if let Some(reason) = types_differ(publisher, subscriber) {
        return Some(reason);
    }
    let conflict = publisher.qos.conflict_with(&subscriber.qos)?;
    Some(format!(
        "{conflict} (offered: {}; requested: {}); change one of the two",
        publisher.qos, subscriber.qos
    ))
}

fn types_differ(publisher: &PortInfo, subscriber: &PortInfo) -> Option<String> {
    if !subscriber.type_name.is_empty() {
        if publisher.type_name != subscriber.type_name {
            return Some(names_differ(publisher, subscriber));
        }
        if publisher.type_hash != subscriber.type_hash {
            return Some(format!(
                "both say `{}`, but the definitions differ (RIHS01_{} and RIHS01_{}); build both \
                 with the same message package",
                publisher.type_name,
                hex(&publisher.type_hash),
                hex(&subscriber.type_hash)
            ));
        }
        if publisher.layout_hash != subscriber.layout_hash {
            return Some(format!(
                "both say `{}`, but lay it out differently in memory; build both with the same \
                 version of Crossdock",
                publisher.type_name
            ));
        }
    }
    None
}

fn names_differ(publisher: &PortInfo, subscriber: &PortInfo) -> String {
    let (theirs, ours) = (publisher.type_name.as_str(), subscriber.type_name.as_str());
    if service_of(&publisher.topic).is_none() {
        return format!(
            "it publishes type `{theirs}`, the subscriber expects `{ours}`; rename one of the topics"
        );
    }
    let [theirs, ours] = [theirs, ours].map(|name| name.strip_suffix("_Request").unwrap_or(name));
    format!("it calls type `{theirs}`, the server has type `{ours}`; rename one of the services")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn port(type_name: &str, qos: Qos) -> PortInfo {
        PortInfo {
            port: 1,
            node: "camera".into(),
            topic: "/image".into(),
            type_name: type_name.into(),
            type_hash: [0xab; 32],
            layout_hash: [1; 32],
            qos,
            maker: crate::wire::port_info::Maker::Native,
        }
    }

    #[test]
    fn a_mismatch_names_both_sides_and_what_to_change() {
        let publisher = port("a/msg/A", Qos::best_effort(1));
        let subscriber = port("a/msg/A", Qos::reliable(2, Duration::ZERO));
        let mismatch = Mismatch {
            topic: "/image".into(),
            publisher: Side::new(&publisher, "drive"),
            subscriber: Side::new(&PortInfo { node: "lane".into(), ..subscriber.clone() }, "lane"),
            reason: conflict(&publisher, &subscriber).unwrap(),
            within_run: true,
        };
        let text = mismatch.to_string();
        for part in ["/image", "camera", "drive", "`lane`", "best effort", "depth 2", "change"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }

    #[test]
    fn types_are_compared_by_name_definition_and_layout() {
        let qos = Qos::best_effort(1);
        let publisher = port("a/msg/A", qos);
        assert_eq!(conflict(&publisher, &publisher), None);
        assert!(conflict(&publisher, &port("a/msg/B", qos)).unwrap().contains("a/msg/B"));
        let other = PortInfo { type_hash: [0xcd; 32], ..publisher.clone() };
        assert!(conflict(&publisher, &other).unwrap().contains("RIHS01_cdcd"));
        let other = PortInfo { layout_hash: [2; 32], ..publisher.clone() };
        assert!(conflict(&publisher, &other).unwrap().contains("memory"));
        assert_eq!(conflict(&publisher, &port("", qos)), None);
    }
}
