//! Each service with all its ports: one server, one type. Calls from inside an executor never wait,
//! so that services add nothing to the order of nodes and no cycle of them can block.

use super::{Check, Resolved};
use crate::description::NodeTypeDescription;
use crate::model::GraphNode;
use crate::names::{did_you_mean, listed};
use crate::service::{CLIENT_DEPTH, ClientPlan, ServerPlan, ServicePortDescription};
use crate::violation::ViolationKind;
use std::collections::BTreeMap;

/// Which end of a service a port is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Client,
    Server,
}

impl End {
    fn key(self) -> &'static str {
        match self {
            Self::Client => "clients",
            Self::Server => "servers",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }

    fn described(self, description: &NodeTypeDescription) -> &[ServicePortDescription] {
        match self {
            Self::Client => &description.clients,
            Self::Server => &description.servers,
        }
    }

    fn connected(self, node: &GraphNode) -> Vec<(&str, &str)> {
        match self {
            Self::Client => {
                node.clients.iter().map(|it| (it.port.as_str(), it.service.as_str())).collect()
            }
            Self::Server => {
                node.servers.iter().map(|it| (it.port.as_str(), it.service.as_str())).collect()
            }
        }
    }
}

/// A connected port with its description.
#[derive(Clone, Copy)]
struct Port<'a> {
    node: usize,
    end: End,
    port: &'a str,
    described: Option<&'a ServicePortDescription>,
}

impl<'a> Check<'a> {
    pub(super) fn services(&mut self, nodes: &[Resolved<'a>]) {
        let mut services: BTreeMap<&'a str, Vec<Port<'a>>> = BTreeMap::new();
        let graph = self.graph;
        for service in &graph.services {
            services.entry(&service.name).or_default();
        }
        for (index, (node, resolved)) in graph.nodes.iter().zip(nodes).enumerate() {
            for end in [End::Client, End::Server] {
                if let Some(description) = resolved.description {
                    self.service_ports(node, description, end);
                }
                for (port, service) in end.connected(node) {
                    let of_port = |it: &&ServicePortDescription| it.port == port;
                    let described = resolved
                        .description
                        .and_then(|description| end.described(description).iter().find(of_port));
                    services.entry(service).or_default().push(Port {
                        node: index,
                        end,
                        port,
                        described,
                    });
                    if resolved.in_fabric {
                        self.in_fabric(node, end, port);
                    }
                }
            }
        }
        for (name, ports) in services {
            if self.is_full() {
                return;
            }
            self.served_once(name, &ports);
            self.service_types(name, &ports);
        }
    }

    fn in_fabric(&mut self, node: &GraphNode, end: End, port: &str) {
        let message = format!("{} `{port}` is on a node in a fabric", end.word());
        let advice = "place the node in a process: hardware has no services";
        let path = ["nodes", &node.name, end.key(), port];
        let violation = self.fault(ViolationKind::HardwareNode, &path, message, advice);
        self.note(violation.for_node(&node.name));
    }

    /// The ports of a node against its description.
    fn service_ports(&mut self, node: &GraphNode, description: &NodeTypeDescription, end: End) {
        let connected = end.connected(node);
        let described = end.described(description);
        let (key, word) = (end.key(), end.word());
        for (port, _) in &connected {
            if described.iter().any(|known| known.port == *port) {
                continue;
            }
            let known = described.iter().map(|known| known.port.as_str());
            let near = did_you_mean(port, known.clone());
            let advice = match near.as_str() {
                "" => format!("its {key} are: {}", listed(known)),
                _ => near,
            };
            let message = format!("`{}` has no {word} `{port}`", node.node_type);
            let path = ["nodes", &node.name, key, port];
            let violation = self.fault(ViolationKind::UnknownPort, &path, message, advice);
            self.note(violation.for_node(&node.name));
        }
        for known in described.iter().filter(|known| !known.optional) {
            if connected.iter().any(|(port, _)| *port == known.port) {
                continue;
            }
            let message =
                format!("{word} `{}` ({}) is not connected", known.port, known.service_type);
            let advice = format!("add `{}: /service` under `{key}`", known.port);
            let path = ["nodes", &node.name, key];
            let violation = self.fault(ViolationKind::UnconnectedPort, &path, message, advice);
            self.note(violation.for_node(&node.name));
        }
    }

    /// A service has exactly one server, unless it is external: then none of the graph's.
    fn served_once(&mut self, name: &'a str, ports: &[Port<'a>]) {
        let external = self.graph.service(name).is_some_and(|service| service.external);
        let servers = ports.iter().filter(|port| port.end == End::Server);
        for (place, server) in servers.clone().enumerate() {
            let (message, advice) = if external {
                let message = format!("the service `{name}` is external and has a server here");
                (message, "remove `external: true`, or the server")
            } else if place > 0 {
                let first = servers.clone().next().map_or("", |first| self.node_name(first.node));
                let message = format!("the service `{name}` has a server already, node `{first}`");
                (message, "serve another service: a service has one server")
            } else {
                continue;
            };
            let node = self.node_name(server.node);
            let path = ["nodes", node, "servers", server.port];
            let violation = self.fault(ViolationKind::ServedTwice, &path, message, advice);
            self.note(violation.for_node(node));
        }
        if external || servers.clone().next().is_some() {
            return;
        }
        for client in ports.iter().filter(|port| port.end == End::Client) {
            let node = self.node_name(client.node);
            let message = format!("nobody serves the service `{name}` of client `{}`", client.port);
            let advice = format!(
                "connect a server to it, or declare `{name}` under `services` with \
                 `external: true` if another program serves it"
            );
            let path = ["nodes", node, "clients", client.port];
            let violation = self.fault(ViolationKind::NoServer, &path, message, advice);
            self.note(violation.for_node(node));
        }
    }

    fn service_types(&mut self, name: &'a str, ports: &[Port<'a>]) {
        let declared = self.graph.service(name).and_then(|it| it.service_type.as_deref());
        let first = ports.iter().find_map(|port| Some((port, port.described?)));
        for port in ports {
            let (Some(described), Some((other, other_described))) = (port.described, first) else {
                continue;
            };
            let service_type = &described.service_type;
            let said = match declared {
                Some(declared) if declared != service_type => {
                    format!("the service's declaration says `{declared}`")
                }
                _ if other_described.service_type != *service_type => format!(
                    "{} `{}` of node `{}` says `{}`",
                    other.end.word(),
                    other.port,
                    self.node_name(other.node),
                    other_described.service_type
                ),
                _ if differ(&other_described.type_hash, &described.type_hash) => format!(
                    "node `{}` was built with another definition of it",
                    self.node_name(other.node)
                ),
                _ => continue,
            };
            let message = format!(
                "{} `{}` is of type `{service_type}`, but {said}",
                port.end.word(),
                port.port
            );
            let advice = "connect it to another service, or make the types the same";
            let node = self.node_name(port.node);
            let path = ["nodes", node, port.end.key(), port.port];
            let violation = self.fault(ViolationKind::TypeClash, &path, message, advice);
            self.note(violation.for_node(node));
        }
    }

    /// The clients of a node, in the order of its description.
    pub(super) fn client_plans(
        &self,
        node: &GraphNode,
        description: &NodeTypeDescription,
    ) -> Vec<ClientPlan> {
        let connected = description.clients.iter().filter_map(|described| {
            let client = node.clients.iter().find(|client| client.port == described.port)?;
            let declared = self.graph.service(&client.service);
            Some(ClientPlan {
                port: client.port.clone(),
                service: client.service.clone(),
                service_type: described.service_type.clone(),
                depth: client.depth.unwrap_or(CLIENT_DEPTH),
                max_request_bytes: declared.and_then(|service| service.max_request_bytes),
                expected: !declared.is_some_and(|service| service.external),
                introspection: client.introspection,
            })
        });
        connected.collect()
    }

    /// The servers of a node, in the order of its description.
    pub(super) fn server_plans(
        &self,
        node: &GraphNode,
        description: &NodeTypeDescription,
    ) -> Vec<ServerPlan> {
        let connected = description.servers.iter().filter_map(|described| {
            let server = node.servers.iter().find(|server| server.port == described.port)?;
            let declared = self.graph.service(&server.service);
            let clients = self.graph.nodes.iter().flat_map(|node| &node.clients);
            Some(ServerPlan {
                port: server.port.clone(),
                service: server.service.clone(),
                service_type: described.service_type.clone(),
                max_response_bytes: declared.and_then(|service| service.max_response_bytes),
                clients: clients.filter(|it| it.service == server.service).count() as u32,
                introspection: server.introspection,
            })
        });
        connected.collect()
    }
}

fn differ(first: &Option<String>, second: &Option<String>) -> bool {
    matches!((first, second), (Some(first), Some(second)) if first != second)
}
