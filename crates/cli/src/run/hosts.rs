//! The other hosts of a run: found over the network that a bridge joins, met before anything is
//! started, and told of the end.
//!
//! Hosts talk on a topic, as nodes do: what carries the graph's messages carries theirs. Nothing
//! that they say is a command, a path or a name of a program. What they agree on is in `agreement`.

use super::agreement::{Agreement, HEARTBEAT, Identity, LastWord};
use super::fleet::{self, End};
use super::listening::{Heard, Listening};
use super::wake::{Wake, Woken};
use crate::arguments::{HostOptions, RunArguments};
use crate::beside::Beside;
use crate::load::HostRun;
use crate::net::Bridge;
use crate::output::say;
use anyhow::{Result, bail};
use crossdock_comm::{
    GraphSnapshot, GraphView, Participant, ParticipantOptions, PortKind, PortSnapshot, Publisher,
    PublisherOptions, Qos, RunId,
};
use crossdock_graph::{FarPort, Plan, PortEnd};
use crossdock_msg::Extra;
use crossdock_msg::types::std_msgs::String as Text;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Where hosts talk. Hidden, as its name begins with `_`.
const TOPIC: &str = "/_crossdock_hosts";

/// Name of this participant of the domain.
const PROCESS: &str = "crossdock_hosts";

/// What the node of a host is called, before its name. Hidden, too.
const NODE: &str = "_crossdock_host_";

/// Words that may wait here: all hosts of a large run say some.
const WORDS_MAX: usize = 256;

/// A host whose own processes stand says after this time what the run waits for.
const SAID_AFTER: Duration = Duration::from_secs(5);

/// How long an end waits until the others have heard of it.
const HEARD_OUT: Duration = Duration::from_secs(2);

/// This host among the others.
pub(super) struct Hosts {
    agreement: Agreement,
    far: Vec<FarPort>,
    /// What to do on another host that is missing, behind `crossdock join HOST`.
    way: String,
    /// What may keep it from being seen.
    look: &'static str,
    publisher: Publisher<Text>,
    words: Receiver<String>,
    view: GraphView,
    /// When the word is to be said again.
    due: Instant,
    /// Since when its own processes stand, and whether it has said what the run waits for.
    stands: Option<Instant>,
    has_complained: bool,
    /// Before the bridge: it ends first.
    _listening: Listening,
    /// `None`: one that runs already is used.
    bridge: Option<Beside>,
}

impl Hosts {
    /// Joins the network, and the others there.
    ///
    /// # Errors
    /// A package or a port of this computer is missing.
    pub(super) fn join(
        run: HostRun,
        interfaces: &[PathBuf],
        plan: &Plan,
        arguments: &RunArguments,
        wake: &Wake,
    ) -> Result<Self> {
        let options = &arguments.hosts;
        let bridge = bridge(interfaces, arguments)?;
        let participant = Participant::open(ParticipantOptions {
            trust: fleet::trusted(plan),
            ..ParticipantOptions::new(arguments.domain_id, PROCESS)
        })?;
        let node = format!("{NODE}{}", run.host);
        // What is lost is said again.
        let qos = Qos::best_effort(WORDS_MAX);
        let (send, words) = sync_channel(WORDS_MAX);
        let wakes = wake.caller();
        let heard = Heard { name: "crossdock-hosts", node: node.clone(), topic: TOPIC, qos };
        let listening = Listening::start::<Text>(&participant, heard, move |subscriber| {
            // A word that cannot be read, or finds no room, will be said again.
            while let Ok(Some(sample)) = subscriber.take() {
                let text = sample.message().data().ok().and_then(|text| text.string().ok());
                let _ = text.map(|text| send.try_send(text));
            }
            wakes();
        })?;
        let publisher = participant.publisher(PublisherOptions {
            node: &node,
            topic: TOPIC,
            qos,
            max_bytes: None,
            group: None,
        })?;
        let view = participant.graph()?;
        view.set_prompt_callback(wake.caller());
        let (way, look) = advice(run.files, options);
        let own = Identity {
            graph: plan.graph.clone(),
            host: run.host,
            life: RunId::random()?.to_u64(),
            graph_hash: run.graph_hash,
            mapping_hash: run.mapping_hash,
        };
        Ok(Self {
            agreement: Agreement::new(own, run.others),
            far: run.far,
            way,
            look,
            publisher,
            words,
            view,
            due: Instant::now(),
            stands: None,
            has_complained: false,
            _listening: listening,
            bridge,
        })
    }

    /// Waits until all hosts are here with the same files.
    ///
    /// # Errors
    /// One is missing after the time for it, or has other files, or a signal comes.
    pub(super) fn meet(&mut self, wake: &Wake, patience: Duration) -> Result<()> {
        let deadline = Instant::now() + patience;
        let others: Vec<&str> = self.agreement.others().collect();
        if !others.is_empty() {
            say!("waiting for the {}", named(&others));
        }
        let mut instead = String::new();
        loop {
            self.beat();
            let heard = self.agreement.heard_instead();
            if heard != instead {
                say!("heard of other runs: {heard}");
                instead = heard;
            }
            let now = Instant::now();
            match self.agreement.meet(now) {
                Ok(true) => {
                    self.say_now();
                    return Ok(());
                }
                Ok(false) => {}
                Err(fault) => {
                    self.leave(true, fault.clone());
                    bail!(fault);
                }
            }
            let missing = self.agreement.missing(now);
            if let Some(status) = self.bridge.as_mut().and_then(Beside::ended) {
                bail!("the network cannot be joined: the package `net` has ended ({status})");
            }
            if now >= deadline {
                let first = missing.first().copied().unwrap_or_default();
                let instead = match instead.as_str() {
                    "" => String::new(),
                    instead => format!("; heard instead: {instead}"),
                };
                bail!(
                    "{} did not come within {} s{instead}; start `crossdock join {first} {}. {}",
                    named(&missing),
                    patience.as_secs_f64(),
                    self.way,
                    self.look
                );
            }
            if wake.wait(std::iter::empty(), Some(self.due.min(deadline)))? == Woken::Signal {
                let missing = named(&missing);
                self.leave(false, "it was interrupted before the run began".to_owned());
                bail!("interrupted while waiting for the {missing}");
            }
        }
    }

    /// Says this host's word if it is time, takes the others' words, and looks who is there.
    fn beat(&mut self) {
        if self.due <= Instant::now() {
            self.say_now();
        }
        let graph = self.view.snapshot();
        let are_there: BTreeSet<&str> = ports(&graph, PortEnd::Publisher, TOPIC)
            .filter_map(|port| port.node.trim_start_matches('/').strip_prefix(NODE))
            .collect();
        self.agreement.see(|name| are_there.contains(name), Instant::now());
        while let Ok(text) = self.words.try_recv() {
            self.agreement.hear(&text, Instant::now());
        }
    }

    /// Says this host's word.
    fn say_now(&mut self) {
        self.due = Instant::now() + HEARTBEAT;
        let Ok(text) = serde_json::to_string(self.agreement.word()) else { return };
        // What cannot be said now is said at the next beat; the others wait that long.
        let Ok(mut loan) = self.publisher.loan(Extra::none().text(text.len())) else { return };
        if loan.message().set_data(&text).is_ok() {
            let _ = loan.publish();
        }
    }

    /// Goes on while the graph starts and runs. Gives what ends the run.
    pub(super) fn listen(&mut self) -> Option<End> {
        if let Some(status) = self.bridge.as_mut().and_then(Beside::ended) {
            let reason =
                format!("its bridge to the network, the package `net`, has ended ({status})");
            return Some(End::Failed(reason));
        }
        self.beat();
        let end = self.agreement.end(Instant::now())?;
        Some(match end.failed {
            true => End::Failed(end.reason),
            false => End::Finished(end.reason),
        })
    }

    /// When [`Self::listen`] is to be called again.
    pub(super) fn due(&self) -> Instant {
        self.agreement.silence().map_or(self.due, |silence| silence.min(self.due))
    }

    /// This host's own processes are ready: whether the run may begin everywhere.
    ///
    /// # Errors
    /// A port of another host has another type.
    pub(super) fn may_run(&mut self) -> Result<bool> {
        let stands = *self.stands.get_or_insert_with(Instant::now);
        if !self.has_complained && stands.elapsed() > SAID_AFTER {
            self.has_complained = true;
            say!("the run has not begun yet: {}", self.waits_for());
        }
        if self.unseen()?.is_empty() {
            let before = self.agreement.word().clone();
            self.agreement.be_ready();
            let may_run = self.agreement.may_run();
            if *self.agreement.word() != before {
                self.say_now();
            }
            return Ok(may_run);
        }
        Ok(false)
    }

    /// Why the run has not begun, for an error.
    pub(super) fn waits_for(&self) -> String {
        match self.unseen() {
            Ok(unseen) if unseen.is_empty() => {
                format!("{} did not get ready", named(&self.agreement.not_ready()))
            }
            Ok(unseen) => format!(
                "not seen of other hosts: {}; does a bridge on either host say that it lacks a type \
                 (name the folder of definitions with --interfaces there), and is only one network \
                 joined?",
                unseen.join(", ")
            ),
            Err(error) => error.to_string(),
        }
    }

    /// Ports of other hosts that are not seen in the graph here.
    fn unseen(&self) -> Result<Vec<String>> {
        let graph = self.view.snapshot();
        let mut unseen = Vec::new();
        for far in &self.far {
            let FarPort { host, node, end, name } = far;
            let what = || format!("{} of {name} in node `{node}` of host `{host}`", end.word());
            match ports(&graph, *end, name).find(|port| port.node == *node) {
                None => unseen.push(what()),
                Some(port) => {
                    let others = self.far.iter().filter(|it| it.end == end.other());
                    let is_far = |port: &PortSnapshot| {
                        others.clone().any(|it| it.node == port.node && it.name == *name)
                    };
                    let own = ports(&graph, end.other(), name).find(|it| !is_far(it));
                    if let Some(own) = own.filter(|own| !fit(own, port)) {
                        bail!(
                            "the {} has type `{}`, and node `{}` here has {}; build the packages of \
                             both hosts with the same definition",
                            what(),
                            port.type_name,
                            own.node,
                            match own.type_name == port.type_name {
                                true => "another definition of it".to_owned(),
                                false => format!("`{}`", own.type_name),
                            }
                        );
                    }
                }
            }
        }
        Ok(unseen)
    }

    /// Tells the others that this host ends, at once.
    pub(super) fn tell(&mut self, end: &End) {
        match end {
            End::Finished(reason) => self.leave(false, reason.clone()),
            End::Interrupted => self.leave(false, "interrupted".to_owned()),
            End::Failed(reason) => self.leave(true, reason.clone()),
        }
    }

    fn leave(&mut self, failed: bool, reason: String) {
        self.agreement.leave(LastWord { failed, reason });
        self.say_now();
    }
}

impl Drop for Hosts {
    /// Waits, for a short time, until the others have heard of the end.
    fn drop(&mut self) {
        self.leave(true, "its command could not go on, and has said why there".to_owned());
        // Who was not met says nothing of what it has heard.
        let (at_least, until) = (Instant::now() + HEARTBEAT, Instant::now() + HEARD_OUT);
        let is_known = |agreement: &Agreement| {
            let now = Instant::now();
            agreement.is_heard_out(now) && (agreement.has_met() || now >= at_least)
        };
        while !is_known(&self.agreement) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match self.words.recv_timeout(left.min(HEARTBEAT)) {
                Ok(text) => self.agreement.hear(&text, Instant::now()),
                Err(_) => self.say_now(),
            }
        }
    }
}

/// The bridge to the network that the options name, if they name one.
fn bridge(interfaces: &[PathBuf], arguments: &RunArguments) -> Result<Option<Beside>> {
    let options = &arguments.hosts;
    if !options.has_network() {
        return Ok(None);
    }
    let bridge = Bridge {
        router: !options.listen.is_empty(),
        listen: &options.listen,
        connect: &options.connect,
        config: options.net_config.as_deref(),
        humble: false,
        max_bytes: None,
        max_kept_bytes: None,
        interfaces,
    };
    bridge.start(arguments.domain_id, &arguments.files.beside.package_path).map(Some)
}

/// What to do on a host that is missing, behind `crossdock join HOST`, and what may keep it from
/// being seen.
fn advice(files: String, options: &HostOptions) -> (String, &'static str) {
    match (options.has_network(), options.listen.is_empty()) {
        (true, false) => (
            format!("{files}{}` there", options.way_here()),
            "Look whether it reaches this network, and has the same domain.",
        ),
        (true, true) => (
            format!("{files}` there, with --listen PLACE if it is the router"),
            "Look whether `net` says above that no router answers, and whether both have the same \
             domain.",
        ),
        (false, _) => (
            format!("{files}` there"),
            "No network was named here (--listen, --connect, --net-config): `crossdock net` must \
             run on both then.",
        ),
    }
}

fn ports<'a>(
    graph: &'a GraphSnapshot,
    end: PortEnd,
    name: &'a str,
) -> impl Iterator<Item = &'a PortSnapshot> {
    let kind = match end {
        PortEnd::Publisher => PortKind::Publisher,
        PortEnd::Subscriber => PortKind::Subscriber,
        PortEnd::Client => PortKind::Client,
        PortEnd::Server => PortKind::Server,
    };
    graph.ports(kind).map(|(_, port)| port).filter(move |port| port.topic == name)
}

/// Whether two ports have one type. One that takes any has all.
fn fit(left: &PortSnapshot, right: &PortSnapshot) -> bool {
    let is_any = left.type_name.is_empty() || right.type_name.is_empty();
    is_any || (&left.type_name, left.type_hash) == (&right.type_name, right.type_hash)
}

/// Hosts for people: "host `a`", "hosts `a`, `b`".
fn named(hosts: &[&str]) -> String {
    let word = if hosts.len() == 1 { "host" } else { "hosts" };
    let names: Vec<String> = hosts.iter().map(|name| format!("`{name}`")).collect();
    format!("{word} {}", names.join(", "))
}
