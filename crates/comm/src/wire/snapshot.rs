//! A running graph at one moment: what the status tables of its processes say, decoded.
//!
//! A status table is another process's word: records that do not decode are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::status::EntitySnapshot;

use crate::wire::names::{NameKind, check_name, split_node_name};
use crate::wire::port_info::{Maker, PortInfo, decode_member, decode_port, gid_of};
use crate::wire::qos::Qos;
use crate::wire::status_records::{CONNECTION_POSITION, ConnectionDetail, NodeDetail, kind};

/// A port of a running graph.
#[derive(Clone, Debug)]
pub struct PortSnapshot {
    /// Number of the port in its process.
    pub port: u64,
    /// Its node.
    pub node: String,
    /// Its topic.
    pub topic: String,
    /// Its type; empty when it takes any.
    pub type_name: String,
    /// RIHS01 of its type.
    pub type_hash: [u8; 32],
    /// What it offers or requests.
    pub qos: Qos,
    /// What names it across processes, as [`crate::AnyPublisher::gid`] and its like say.
    pub gid: [u8; 16],
    /// Who has made it.
    pub maker: Maker,
    /// Its counters: see [`crate::status_records::counter`].
    pub counters: [u64; crossdock_shm::status::COUNTERS],
    /// Place of its record on the status table.
    pub index: usize,
    /// Changes whenever the record is used anew.
    pub version: u64,
}

/// A node of a running graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSnapshot {
    /// Its whole name: `blur`, or `/front/blur` if it has a namespace. Names need not be unique.
    pub name: String,
    /// Its type, its enclave, and who has made it.
    pub detail: NodeDetail,
}

impl NodeSnapshot {
    /// Its namespace, as ROS 2 says it: `/` or `/front`.
    pub fn namespace(&self) -> &str {
        split_node_name(&self.name).0
    }

    /// Its name without the namespace.
    pub fn own_name(&self) -> &str {
        split_node_name(&self.name).1
    }
}

/// A connection of a running graph.
#[derive(Clone, Debug)]
pub struct ConnectionSnapshot {
    /// The topic.
    pub topic: String,
    /// Who is connected to whom, and how.
    pub detail: ConnectionDetail,
    /// The last message number that was taken, lost or skipped.
    pub position: u64,
}

/// A port behind a [`crate::SharedTopic`], which a port of its process stands for.
#[derive(Clone, Debug)]
pub struct MemberSnapshot {
    /// Publisher or subscriber.
    pub kind: PortKind,
    /// Number of the port that carries its messages.
    pub carrier: u64,
    /// The member itself.
    pub port: PortSnapshot,
}

/// A process of a running graph.
#[derive(Clone, Debug)]
pub struct ProcessSnapshot {
    /// Name of its socket: unique.
    pub name: PeerName,
    /// Name that it gave itself.
    pub process: String,
    /// Its process id.
    pub pid: u32,
    /// Its nodes. Ports may also name nodes that are not among them: of programs without nodes.
    pub nodes: Vec<NodeSnapshot>,
    /// Its publishers.
    pub publishers: Vec<PortSnapshot>,
    /// Its subscribers.
    pub subscribers: Vec<PortSnapshot>,
    /// Its clients of services: the topic is the service, the type is the service's, the
    /// counters are named in [`crate::status_records::client_counter`].
    pub clients: Vec<PortSnapshot>,
    /// Its servers, with the counters of [`crate::status_records::server_counter`].
    pub servers: Vec<PortSnapshot>,
    /// Publishers and subscribers behind ports of shared topics. They have no counters.
    pub members: Vec<MemberSnapshot>,
    /// Its subscribers' connections.
    pub connections: Vec<ConnectionSnapshot>,
    /// Records that belong to executors: nodes and chains.
    pub others: Vec<EntitySnapshot>,
}

/// A running graph at one moment.
#[derive(Clone, Debug, Default)]
pub struct GraphSnapshot {
    /// All processes that answer.
    pub processes: Vec<Arc<ProcessSnapshot>>,
    /// Why others are left out.
    pub unreachable: Vec<String>,
}

/// A kind of port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PortKind {
    /// Publishers of topics.
    Publisher,
    /// Subscribers of topics.
    Subscriber,
    /// Clients of services.
    Client,
    /// Servers of services.
    Server,
}

impl ProcessSnapshot {
    pub(crate) fn new(
        name: PeerName,
        process: String,
        pid: u32,
        records: impl Iterator<Item = EntitySnapshot>,
    ) -> ProcessSnapshot {
        let (nodes, publishers, subscribers, clients, servers) = Default::default();
        let (members, connections, others) = Default::default();
        let mut snapshot = ProcessSnapshot {
            name,
            process,
            pid,
            nodes,
            publishers,
            subscribers,
            clients,
            servers,
            members,
            connections,
            others,
        };
        records.for_each(|record| snapshot.add(record));
        snapshot
    }

    fn add(&mut self, record: EntitySnapshot) {
        match record.kind {
            kind::PUBLISHER => self.publishers.extend(port_of(self.name, &record)),
            kind::SUBSCRIBER => self.subscribers.extend(port_of(self.name, &record)),
            kind::CLIENT => self.clients.extend(port_of(self.name, &record)),
            kind::SERVER => self.servers.extend(port_of(self.name, &record)),
            kind::MEMBER_PUBLISHER => self.add_member(PortKind::Publisher, &record),
            kind::MEMBER_SUBSCRIBER => self.add_member(PortKind::Subscriber, &record),
            kind::CONNECTION => {
                let position = record.counters[CONNECTION_POSITION];
                let detail = ConnectionDetail::decode(&record.detail);
                let topic = record.name;
                self.connections.extend(detail.map(|detail| ConnectionSnapshot {
                    topic,
                    detail,
                    position,
                }));
            }
            _ => {
                if record.kind == kind::NODE {
                    self.nodes.extend(node_of(&record));
                }
                self.others.push(record);
            }
        }
    }

    fn add_member(&mut self, kind: PortKind, record: &EntitySnapshot) {
        let Ok((carrier, info)) = decode_member(&record.detail) else { return };
        let port = snapshot_of(self.name, info, record);
        self.members.push(MemberSnapshot { kind, carrier, port });
    }

    /// Its ports of one kind.
    pub fn ports(&self, kind: PortKind) -> &[PortSnapshot] {
        match kind {
            PortKind::Publisher => &self.publishers,
            PortKind::Subscriber => &self.subscribers,
            PortKind::Client => &self.clients,
            PortKind::Server => &self.servers,
        }
    }

    /// Its ports of one kind as nodes have them: members of shared topics instead of the ports that
    /// carry them, and no topics behind services. A gateway has several ports that carry for the
    /// members of a topic.
    pub fn ends(&self, kind: PortKind) -> impl Iterator<Item = &PortSnapshot> {
        let carriers: BTreeSet<u64> = self.members.iter().map(|member| member.carrier).collect();
        let ports = self.ports(kind).iter();
        let topics: BTreeSet<&str> = ports
            .clone()
            .filter(|port| carriers.contains(&port.port))
            .map(|port| port.topic.as_str())
            .collect();
        let own = ports.filter(move |port| {
            let shares_topic = port.maker == Maker::Gateway && topics.contains(&*port.topic);
            !carriers.contains(&port.port) && !shares_topic
        });
        let members = self.members.iter().filter(move |member| member.kind == kind);
        let all = own.chain(members.map(|member| &member.port));
        all.filter(|port| port.topic.starts_with('/'))
    }
}

impl GraphSnapshot {
    /// All nodes, each with its process.
    pub fn nodes(&self) -> impl Iterator<Item = (&ProcessSnapshot, &NodeSnapshot)> {
        self.processes.iter().flat_map(|it| it.nodes.iter().map(move |node| (&**it, node)))
    }

    /// All ports of one kind, each with its process. Topics behind services are left out: clients
    /// and servers stand for them. Members of shared topics stand for the ports that carry them.
    pub fn ports(&self, kind: PortKind) -> impl Iterator<Item = (&ProcessSnapshot, &PortSnapshot)> {
        self.processes.iter().flat_map(move |it| it.ends(kind).map(move |port| (&**it, port)))
    }

    /// How many subscribers a publisher of this quality of service reaches through ports that
    /// carry for others ([`AnyPublisher::gateways`](crate::AnyPublisher::gateways)).
    pub fn carried_to(&self, carriers: &[[u8; 16]], offered: &Qos) -> usize {
        let reached = |process: &ProcessSnapshot| {
            let members = process.members.iter().filter(|it| it.kind == PortKind::Subscriber);
            let carried = members.filter(|it| carriers.contains(&gid_of(process.name, it.carrier)));
            carried.filter(|it| offered.conflict_with(&it.port.qos).is_none()).count()
        };
        self.processes.iter().map(|process| reached(process)).sum()
    }

    /// All topics with their types, as publishers and subscribers say.
    pub fn topics(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        self.named([PortKind::Publisher, PortKind::Subscriber])
    }

    /// All services with their types, as servers and clients say.
    pub fn services(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        self.named([PortKind::Server, PortKind::Client])
    }

    fn named(&self, kinds: [PortKind; 2]) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (_, port) in kinds.into_iter().flat_map(|kind| self.ports(kind)) {
            let types = named.entry(&port.topic).or_default();
            // A subscriber of any type says none.
            types.extend(Some(port.type_name.as_str()).filter(|name| !name.is_empty()));
        }
        named
    }
}

fn port_of(process: PeerName, record: &EntitySnapshot) -> Option<PortSnapshot> {
    Some(snapshot_of(process, decode_port(&record.detail).ok()?, record))
}

fn snapshot_of(process: PeerName, info: PortInfo, record: &EntitySnapshot) -> PortSnapshot {
    let PortInfo { port, node, topic, type_name, type_hash, qos, maker, .. } = info;
    let gid = gid_of(process, port);
    let EntitySnapshot { counters, index, version, .. } = *record;
    PortSnapshot {
        port,
        node,
        topic,
        type_name,
        type_hash,
        qos,
        gid,
        maker,
        counters,
        index,
        version,
    }
}

fn node_of(record: &EntitySnapshot) -> Option<NodeSnapshot> {
    check_name(NameKind::Node, &record.name).ok()?;
    let detail = NodeDetail::decode(&record.detail)?;
    Some(NodeSnapshot { name: record.name.clone(), detail })
}
