//! What the graph here has that the network is to know.

use crossdock_comm::{GraphSnapshot, Maker, PeerName, PortKind, PortSnapshot};
use std::collections::BTreeSet;

/// Topics by which the parts of a run conduct each other.
const INNER: &str = "/_crossdock/";

/// Nodes that look after one computer's graph: they are of no use to others, and serve no
/// parameters, which programs of ROS 2 would wait for.
const CARETAKERS: [&str; 2] = ["net/net", "view/view"];

/// A node here, by its process and its whole name.
pub(crate) type NodeKey = (PeerName, String);

/// A port here.
#[derive(Clone, Debug)]
pub(crate) struct LocalEnd {
    pub(crate) process: PeerName,
    pub(crate) kind: PortKind,
    pub(crate) port: PortSnapshot,
}

/// The nodes and ports that are not themselves here for somebody elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Local {
    /// With their enclaves.
    pub(crate) nodes: BTreeSet<(NodeKey, String)>,
    pub(crate) ends: Vec<LocalEnd>,
}

impl Local {
    pub(crate) fn of(snapshot: &GraphSnapshot) -> Self {
        let mut local = Local::default();
        let mut known: BTreeSet<NodeKey> = BTreeSet::new();
        let mut caretakers: BTreeSet<NodeKey> = BTreeSet::new();
        for (process, node) in snapshot.nodes() {
            let key = (process.name, node.name.clone());
            if CARETAKERS.contains(&node.detail.node_type.as_str()) {
                caretakers.insert(key);
            } else if node.detail.maker != Maker::Gateway {
                known.insert(key.clone());
                let enclave = node.detail.enclave.trim_end_matches('/').to_owned();
                local.nodes.insert((key, enclave));
            }
        }
        let kinds = [PortKind::Publisher, PortKind::Subscriber, PortKind::Server, PortKind::Client];
        for kind in kinds {
            for (process, port) in snapshot.ports(kind) {
                if port.maker == Maker::Gateway || port.topic.starts_with(INNER) {
                    continue;
                }
                // Programs without nodes have ports, too.
                let key = (process.name, port.node.clone());
                if caretakers.contains(&key) {
                    continue;
                }
                if known.insert(key.clone()) {
                    local.nodes.insert((key, String::new()));
                }
                local.ends.push(LocalEnd { process: process.name, kind, port: port.clone() });
            }
        }
        local
    }

    /// Publishers of a topic, of a type.
    pub(crate) fn publishers<'a>(
        &'a self,
        topic: &'a str,
        type_name: &'a str,
    ) -> impl Iterator<Item = &'a LocalEnd> {
        self.ends.iter().filter(move |end| {
            let port = &end.port;
            end.kind == PortKind::Publisher && port.topic == topic && port.type_name == type_name
        })
    }

    /// Subscribers of a topic, of a type. Some take any type.
    pub(crate) fn subscribers<'a>(
        &'a self,
        topic: &'a str,
        type_name: &'a str,
    ) -> impl Iterator<Item = &'a LocalEnd> {
        self.ends.iter().filter(move |end| {
            let port = &end.port;
            let fits = port.type_name.is_empty() || port.type_name == type_name;
            end.kind == PortKind::Subscriber && port.topic == topic && fits
        })
    }

    /// Whether a node here serves a service, of whatever type.
    pub(crate) fn serves(&self, service: &str) -> bool {
        self.ends.iter().any(|end| end.kind == PortKind::Server && end.port.topic == service)
    }
}
