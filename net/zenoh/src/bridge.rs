//! A bridge: the graph here on the network, and the network in the graph here.
//!
//! One thread compares what there is with what there should be, whenever either side tells of a
//! change: tokens for the nodes and ports here, nodes and ports here for the tokens over there,
//! subscriptions while both sides want a topic. Nothing of it depends on the order in which changes
//! come. Messages travel on threads of their topics, and of zenoh; calls on a thread of their own.
//!
//! Two bridges in one graph and one network would carry everything twice. Each has a hidden node
//! whose name says since when it is there, in the graph and on the network; one that sees an older
//! one in both stands by.

mod services;
mod topics;

use crate::calls::Calls;
use crate::counters::{NetCounters, count};
use crate::incoming::{Incoming, STRANGE_AFTER};
use crate::kept::Kept;
use crate::local::{Local, LocalEnd, NodeKey};
use crate::outgoing::{Outgoing, Sources};
use crate::remote::{Remote, TopicKey};
use crate::session::{Joining, SessionError};
use crate::shared::{Shared, Woken};
use crossdock_comm::names::split_node_name;
use crossdock_comm::{
    GraphSnapshot, GraphView, Maker, Member, NodeEntry, NodeOptions, ObserveError, Observer,
    ObserverOptions, OpenError, Participant, ParticipantOptions, PortKind,
};
use crossdock_msg::Schema;
use crossdock_msg::find::FindError;
use crossdock_sight::Definitions;
use crossdock_wire::{
    Endpoint, Gid, Hashes, NodeNames, Token, WireHash, gid_of, tokens_of_all_domains,
    tokens_of_domain,
};
use services::Services;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use zenoh::liveliness::LivelinessToken;
use zenoh::query::Reply;
use zenoh::sample::SampleKind;
use zenoh::{Session, Wait as _};

/// What the hidden nodes of bridges are called, before the rest of their names.
const BRIDGE: &str = "_crossdock_net_";

/// Between two tries to find a router, and to do what has failed.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long a router may take to answer until that is said.
const SILENT_AFTER: Duration = Duration::from_secs(2);

/// Changes that come one by one are looked at together.
const SETTLE: Duration = Duration::from_millis(5);

/// How long a new bridge looks for older ones before it carries anything.
const LOOK_AROUND: Duration = Duration::from_millis(300);

/// Who has heard of nobody for so long looks whether others are in another domain.
const ALONE_FOR: Duration = Duration::from_secs(5);

/// How long the network may take to tell of other domains, and tokens that are read, at most.
const ELSEWHERE_TIMEOUT: Duration = Duration::from_secs(1);
const ELSEWHERE_MAX: usize = 1000;

/// How long the network may take to let the bridge go.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(4);

/// What a bridge needs to know.
#[derive(Clone, Debug)]
pub struct NetOptions {
    /// How it takes part in the graph here. Its ports and nodes are made as a gateway's.
    pub participant: ParticipantOptions,
    /// How it joins the network.
    pub joining: Joining,
    /// Whether types have hashes on the network: not with ROS 2 Humble.
    pub hashes: Hashes,
    /// Folders with definitions of types, beside the shipped ones and those of the sourced ROS 2
    /// environment.
    pub interfaces: Vec<PathBuf>,
    /// Messages from the network that are encoded in more bytes are left out and counted; `None`:
    /// they may be as large as a topic allows.
    pub bytes_max: Option<usize>,
    /// Bytes that all publishers here that stand for publishers over there may take for messages
    /// and the lists of these; [`KEPT_BYTES_MAX`](crate::KEPT_BYTES_MAX) is a good value.
    pub kept_bytes_max: u64,
}

/// A bridge could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The network cannot be joined.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The graph here cannot be joined.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The graph here cannot be looked at.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// The process's own status table cannot be mapped.
    #[error("the graph cannot be watched: {0}")]
    Graph(String),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}; is the limit of threads reached?")]
    Thread(std::io::Error),
    /// A folder of definitions cannot be read.
    #[error("interfaces: {0}")]
    Interfaces(#[from] FindError),
}

/// Carries topics and services between the graph of a domain and a network until it is dropped.
///
/// `Send`. It has a thread that compares both sides, one for calls, one for each topic that goes
/// out, and those of zenoh; all sleep while nothing changes, nothing is published and nothing is
/// called.
pub struct Net {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Net").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

impl Net {
    /// Joins the graph and the network. A router listens when this returns; a client that finds no
    /// router goes on looking for one. Allocates, starts threads, opens sockets; blocks meanwhile.
    ///
    /// # Errors
    /// [`NetError`] says what is in the way.
    pub fn start(options: NetOptions) -> Result<Net, NetError> {
        let NetOptions { participant, joining, hashes, interfaces, bytes_max, kept_bytes_max } =
            options;
        joining.config()?;
        let session = match joining.waits() {
            true => None,
            false => Some(joining.open()?),
        };
        let definitions = Definitions::read(&interfaces)?;
        let rendezvous = participant.rendezvous.clone();
        let participant =
            Participant::open(ParticipantOptions { maker: Maker::Gateway, ..participant })?;
        let looks = ObserverOptions {
            rendezvous,
            ..ObserverOptions::new(participant.domain_id(), participant.process())
        };
        let observer = Observer::open(looks)?;
        let shared = Arc::new(Shared::new(bytes_max, Kept::new(kept_bytes_max)));
        let graph = participant.graph().map_err(|error| NetError::Graph(error.to_string()))?;
        let told = Arc::clone(&shared);
        graph.set_callback(move || told.tell_change()).map_err(NetError::Thread)?;
        let place = joining.place();
        let thread_shared = Arc::clone(&shared);
        let (ends, ended) = channel();
        let run = move || {
            // Goes last, with all that is below.
            let _ends: Sender<()> = ends;
            let shared = thread_shared;
            let Some(session) = joined(session, &joining, &shared) else { return };
            shared.note(joining.joined());
            if let Err(error) = joining.tell_of_router(&session, &shared) {
                shared.note(format!("that {place} goes will not be said: {error}"));
            }
            let calls = match Calls::start(&participant, &session, &shared) {
                Ok(calls) => calls,
                Err(error) => return shared.note(format!("calls cannot be carried: {error}")),
            };
            let bridge =
                Bridge::new(shared, session, participant, graph, observer, definitions, calls);
            Bridge { hashes, ..bridge }.run();
        };
        let thread = std::thread::Builder::new().name("net-graph".to_owned()).spawn(run);
        Ok(Net { shared, thread: Some(thread.map_err(NetError::Thread)?), ended })
    }

    /// Whether it still works: its thread has not panicked.
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// What has happened so far.
    pub fn counters(&self) -> NetCounters {
        self.shared.counters.read()
    }

    /// Sentences for people since the last call: routers that do not answer, types that are not
    /// known. At most 32 are kept.
    pub fn take_notes(&self) -> Vec<String> {
        self.shared.take_notes()
    }
}

impl Net {
    /// Takes leave of the graph and of the network. Blocks for at most 4 s: a network that takes
    /// nothing is left without a word, and a note says so.
    pub fn end(&mut self) {
        self.shared.end();
        let Some(thread) = self.thread.take() else { return };
        match self.ended.recv_timeout(LEAVE_TIMEOUT) {
            Err(RecvTimeoutError::Timeout) => {
                count(&self.shared.counters.left_unheard);
                self.shared.note(
                    "the network takes nothing, so it is left without a word: nodes over there see \
                     it 10 s after the last one, and messages that were on their way are lost"
                        .to_owned(),
                );
            }
            // A panic has been reported by the panic hook.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => drop(thread.join()),
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.end();
    }
}

/// Looks for the router until one answers; `None`: it is over.
fn joined(session: Option<Session>, joining: &Joining, shared: &Arc<Shared>) -> Option<Session> {
    if session.is_some() {
        return session;
    }
    let mut told = BTreeSet::new();
    let mut tell = |sentence: String| {
        if told.insert(sentence.clone()) {
            shared.note(sentence);
        }
    };
    loop {
        match open(joining, shared, &mut tell)? {
            Ok(session) => return Some(session),
            Err(error) => tell(error.to_string()),
        }
        if shared.wait(AGAIN_AFTER) == Woken::Over {
            return None;
        }
    }
}

/// One try, on a thread of its own: who waits for a place that takes a connection and says nothing
/// can end meanwhile, and is told. `None`: it is over; the try ends by itself.
fn open(
    joining: &Joining,
    shared: &Arc<Shared>,
    tell: &mut impl FnMut(String),
) -> Option<Result<Session, SessionError>> {
    let (send, opened) = channel();
    let (thread_joining, told) = (joining.clone(), Arc::clone(shared));
    let run = move || {
        // Nobody waits any more if it is over.
        let _ = send.send(thread_joining.open());
        told.tell_change();
    };
    if let Err(error) = std::thread::Builder::new().name("net-join".to_owned()).spawn(run) {
        tell(NetError::Thread(error).to_string());
        return match shared.wait(AGAIN_AFTER) {
            Woken::Over => None,
            _ => Some(joining.open()),
        };
    }
    loop {
        let woken = shared.wait(SILENT_AFTER);
        if woken == Woken::Over {
            return None;
        }
        if let Ok(opened) = opened.try_recv() {
            return Some(opened);
        }
        if woken == Woken::Nothing {
            let place = joining.place();
            tell(format!("{place} has not answered yet; is it a router of zenoh, and reachable?"));
        }
    }
}

/// A token of ours.
struct Declared {
    gid: Gid,
    /// The node or port is there as long as it is.
    token: LivelinessToken,
}

/// A node here that the network knows.
struct ToldNode {
    id: u64,
    names: NodeNames,
    #[expect(dead_code, reason = "held for as long as the node is there")]
    declared: Declared,
}

/// A topic on its way out, and those over there who want it.
struct Out {
    carrier: Outgoing,
    sources: Sources,
    members: BTreeMap<Gid, Member>,
}

/// See the module.
struct Bridge {
    shared: Arc<Shared>,
    session: Session,
    /// The session's name in tokens.
    zid: String,
    /// The name of our hidden node.
    name: String,
    participant: Participant,
    graph: GraphView,
    observer: Observer,
    definitions: Definitions,
    hashes: Hashes,
    remote: Remote,
    next_id: u64,
    own: Vec<LivelinessToken>,
    told_nodes: BTreeMap<NodeKey, ToldNode>,
    end_tokens: BTreeMap<[u8; 16], Declared>,
    node_entries: BTreeMap<(String, u64), NodeEntry>,
    out: BTreeMap<TopicKey, Out>,
    into: BTreeMap<TopicKey, Incoming>,
    calls: Calls,
    services: Services,
    /// Types that were looked for, by name and hash.
    schemas: BTreeMap<(String, WireHash), Arc<Schema>>,
    /// Since when types of topics are not known; `None`: it has been said.
    unknown: BTreeMap<(String, WireHash), Option<Instant>>,
    /// What has been said already.
    told: BTreeSet<String>,
    /// `None`: not known yet.
    stands_by: Option<bool>,
    has_failed: bool,
    /// Messages wait for the token of their publisher, or types for a node here that has them.
    is_waiting: bool,
}

impl Bridge {
    fn new(
        shared: Arc<Shared>,
        session: Session,
        participant: Participant,
        graph: GraphView,
        observer: Observer,
        definitions: Definitions,
        calls: Calls,
    ) -> Self {
        let zid = session.zid().to_string();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since = since.map_or(0, |since| since.as_micros());
        let name = format!("{BRIDGE}{since:016x}_{zid}");
        let (remote, own, told_nodes, end_tokens, node_entries) = Default::default();
        let (out, into, services, schemas, told) = Default::default();
        Self {
            shared,
            session,
            zid,
            name,
            participant,
            graph,
            observer,
            definitions,
            hashes: Hashes::default(),
            remote,
            next_id: 0,
            own,
            told_nodes,
            end_tokens,
            node_entries,
            out,
            into,
            calls,
            services,
            schemas,
            told,
            unknown: BTreeMap::new(),
            stands_by: None,
            has_failed: false,
            is_waiting: false,
        }
    }

    fn run(mut self) {
        let Some(_shown) = self.show_itself() else { return };
        let told = Arc::clone(&self.shared);
        let listening = self
            .session
            .liveliness()
            .declare_subscriber(tokens_of_domain(self.participant.domain_id()))
            .history(true)
            .callback(move |sample| {
                told.tell_token(sample.key_expr().as_str(), sample.kind() == SampleKind::Put);
            })
            .wait();
        let _listening = match listening {
            Ok(listening) => listening,
            Err(error) => return self.shared.note(format!("no nodes can be looked for: {error}")),
        };
        // The others are there for longer.
        let end = Instant::now() + LOOK_AROUND;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if self.shared.wait(left) == Woken::Over {
                return;
            }
        }
        let mut is_alone_at = Some(Instant::now() + ALONE_FOR);
        loop {
            (self.has_failed, self.is_waiting) = (false, false);
            self.compare();
            if is_alone_at.take_if(|at| *at <= Instant::now()).is_some() {
                self.look_elsewhere();
            }
            let timeout = match (self.is_waiting, self.has_failed) {
                (true, _) => STRANGE_AFTER,
                (false, true) => AGAIN_AFTER,
                (false, false) => is_alone_at
                    .map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now())),
            };
            match self.shared.wait(timeout) {
                Woken::Over => return,
                Woken::Changed => std::thread::sleep(SETTLE),
                Woken::Nothing => {}
            }
        }
    }

    /// Says in which domains others are, if nobody is in this one.
    fn look_elsewhere(&self) {
        if !self.remote.is_empty() {
            return;
        }
        let tokens = self.session.liveliness().get(tokens_of_all_domains());
        // Who cannot be asked now has nothing to say.
        let Ok(replies) = tokens.timeout(ELSEWHERE_TIMEOUT).wait() else { return };
        let domain_of = |reply: Reply| {
            let token = Token::parse(reply.result().ok()?.key_expr().as_str()).ok()?;
            Some(token.domain_id)
        };
        let own = self.participant.domain_id();
        let domains: BTreeSet<u32> = replies
            .into_iter()
            .take(ELSEWHERE_MAX)
            .filter_map(domain_of)
            .filter(|domain| *domain != own)
            .collect();
        if !domains.is_empty() {
            let domains: Vec<String> = domains.iter().take(8).map(u32::to_string).collect();
            self.shared.note(format!(
                "nobody over there is in domain {own}, but there are nodes in domain {}: all need \
                 one ROS_DOMAIN_ID",
                domains.join(", ")
            ));
        }
    }

    /// The hidden node by which bridges know each other.
    fn show_itself(&mut self) -> Option<NodeEntry> {
        let (namespace, enclave, node_type) = ("/", "/", "net/net");
        let options = NodeOptions { namespace, name: &self.name, enclave, node_type };
        let entry = match self.participant.add_node(options) {
            Ok(entry) => entry,
            Err(error) => {
                self.shared.note(format!("the bridge cannot be shown: {error}"));
                return None;
            }
        };
        let (enclave, namespace) = (String::new(), "/".to_owned());
        let node = NodeNames { enclave, namespace, name: self.name.clone() };
        let id = self.new_id();
        let declared = self.declare(id, id, node, None)?;
        self.own.push(declared.token);
        Some(entry)
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Says something once.
    fn tell(&mut self, note: String) {
        if self.told.len() < 1000 && self.told.insert(note.clone()) {
            self.shared.note(note);
        }
    }

    /// Makes what there is as it should be.
    fn compare(&mut self) {
        let snapshot = self.graph.snapshot();
        let (tokens, some_have_gone) = self.shared.tokens();
        self.is_waiting |= some_have_gone;
        self.remote.follow(&tokens, &self.zid, &self.shared);
        let stands_by = self.is_second(&snapshot);
        if self.stands_by != Some(stands_by) {
            self.stands_by = Some(stands_by);
            self.shared.note(match stands_by {
                true => {
                    "another bridge joins this graph to the same network: this one stands by".into()
                }
                false => "this bridge carries the graph".to_owned(),
            });
        }
        if stands_by {
            self.out.clear();
            self.into.clear();
            self.drop_calls();
            self.end_tokens.clear();
            self.told_nodes.clear();
            self.node_entries.clear();
            return;
        }
        let local = Local::of(&snapshot);
        self.tell_nodes(&local);
        // Who sees a server's token asks at once.
        let served = self.served(&local);
        self.open_to_network(&served);
        self.show_nodes();
        // Who sees a subscriber's token publishes at once.
        let unheard = self.carry_in(&local);
        self.tell_ends(&local, &unheard);
        self.carry_out(&local);
        self.carry_calls(&local, &served);
    }

    /// Whether an older bridge joins the same graph to the same network.
    fn is_second(&self, snapshot: &GraphSnapshot) -> bool {
        let here: BTreeSet<&str> = snapshot
            .nodes()
            .filter(|(_, node)| node.detail.maker == Maker::Gateway)
            .map(|(_, node)| node.name.as_str())
            .filter(|name| name.starts_with(BRIDGE))
            .collect();
        let nodes = self.remote.nodes();
        let mut there = nodes.values().map(|node| node.name.as_str());
        there.any(|name| name < self.name.as_str() && here.contains(name))
    }

    /// Declares a token.
    fn declare(
        &mut self,
        node_id: u64,
        id: u64,
        node: NodeNames,
        endpoint: Option<Endpoint>,
    ) -> Option<Declared> {
        let (domain_id, session) = (self.participant.domain_id(), self.zid.clone());
        let text = Token { domain_id, session, node_id, id, node, endpoint }.text();
        match self.session.liveliness().declare_token(text.clone()).wait() {
            Ok(token) => Some(Declared { gid: gid_of(&text), token }),
            Err(error) => {
                self.has_failed = true;
                self.tell(format!("the network cannot be told of {text}: {error}"));
                None
            }
        }
    }

    /// Tokens for the nodes here.
    fn tell_nodes(&mut self, local: &Local) {
        let keys: BTreeSet<&NodeKey> = local.nodes.iter().map(|(key, _)| key).collect();
        self.told_nodes.retain(|key, _| keys.contains(key));
        for (key, enclave) in &local.nodes {
            if self.told_nodes.contains_key(key) {
                continue;
            }
            let (namespace, name) = split_node_name(&key.1);
            let (enclave, namespace) = (enclave.clone(), namespace.to_owned());
            let names = NodeNames { enclave, namespace, name: name.to_owned() };
            let id = self.new_id();
            if let Some(declared) = self.declare(id, id, names.clone(), None) {
                self.told_nodes.insert(key.clone(), ToldNode { id, names, declared });
            }
        }
    }

    /// Tokens for the ports here, but for subscribers of these topics that have none yet.
    fn tell_ends(&mut self, local: &Local, unheard: &BTreeSet<String>) {
        let gids: BTreeSet<[u8; 16]> = local.ends.iter().map(|end| end.port.gid).collect();
        self.end_tokens.retain(|gid, _| gids.contains(gid));
        let published = self.remote.ends(PortKind::Publisher);
        for LocalEnd { process, kind, port } in &local.ends {
            let is_early = *kind == PortKind::Subscriber && unheard.contains(&port.topic);
            if self.end_tokens.contains_key(&port.gid) || is_early {
                continue;
            }
            // One that takes any type has the type of the topic, which it meets sooner or later.
            let (type_name, hash) = match port.type_name.is_empty() {
                false => (port.type_name.clone(), self.hashes.on_wire(port.type_hash)),
                true => match published.keys().find(|topic| topic.topic == port.topic) {
                    Some(topic) => (topic.type_name.clone(), topic.hash),
                    None => continue,
                },
            };
            let key = (*process, port.node.clone());
            let Some(node) = self.told_nodes.get(&key) else { continue };
            let (node_id, names) = (node.id, node.names.clone());
            let endpoint =
                Endpoint { kind: *kind, name: port.topic.clone(), type_name, hash, qos: port.qos };
            let id = self.new_id();
            if let Some(declared) = self.declare(node_id, id, names, Some(endpoint)) {
                self.end_tokens.insert(port.gid, declared);
            }
        }
        self.shared.set_own(self.end_tokens.values().map(|it| it.gid).collect());
    }

    /// Nodes here for those over there.
    fn show_nodes(&mut self) {
        let nodes: BTreeMap<(String, u64), NodeNames> = self
            .remote
            .nodes()
            .into_iter()
            .filter(|(_, node)| !node.name.starts_with(BRIDGE))
            .map(|((session, id), node)| ((session.to_owned(), id), node.clone()))
            .collect();
        self.node_entries.retain(|key, _| nodes.contains_key(key));
        for (key, node) in nodes {
            if self.node_entries.contains_key(&key) {
                continue;
            }
            let NodeNames { enclave, namespace, name } = &node;
            let enclave = if enclave.is_empty() { "/" } else { enclave };
            let options = NodeOptions { namespace, name, enclave, node_type: "" };
            match self.participant.add_node(options) {
                Ok(entry) => drop(self.node_entries.insert(key, entry)),
                Err(error) => self.tell(format!("a node on the network is not shown: {error}")),
            }
        }
    }
}
