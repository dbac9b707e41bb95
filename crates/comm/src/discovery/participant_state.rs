//! What a participant's ports and its control thread share under one lock: processes, ports, pairs,
//! and events to be told.
//!
//! Ports change it when they are created and dropped, the control thread when a socket says
//! something. The lock is never taken on the data path. The rules of connecting are above, in
//! `subscribing_side` and `publishing_side`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use crossdock_shm::rendezvous::{PeerName, RunId};
use crossdock_shm::socket::ProcessMark;
use crossdock_shm::{Standing, SubscriberControl};

use crate::buffer::registry::BufferRegistry;
use crate::discovery::event::{Event, Events};
use crate::discovery::graph_state::PeerGraph;
use crate::discovery::local_ports::{LocalPublisher, LocalSubscriber};
use crate::discovery::own_name::OwnName;
use crate::discovery::pairs::{Incoming, LOCAL, Outgoing, OutgoingKey, PeerTables};
use crate::discovery::peer_link::{PeerLink, Stage};
use crate::discovery::refusals::Refusals;
use crate::discovery::scarce::{Scarcity, Unconnected};
use crate::discovery::schemas::Schemas;
use crate::discovery::service_standby::ServiceStandby;
use crate::discovery::unwelcome::Unwelcome;
use crate::discovery::watches::Watches;
use crate::quotas::Budgets;
use crate::wire::frame::Frame;
use crate::wire::mismatch::{Mismatch, Side};
use crate::wire::peer_process::PeerProcess;
use crate::wire::port_info::PortInfo;

/// Tokens of the control thread's own descriptors in epoll; peers have larger ones.
pub(crate) const TOKEN_WAKE: u64 = 1;
pub(crate) const TOKEN_LISTENER: u64 = 2;
pub(crate) const TOKEN_ARRIVALS: u64 = 3;
const OWN_TOKENS_MAX: u64 = 16;

/// Sentences about the meeting place that are told within [`TOLD_FOR`]: others can give reason to
/// more and more of them.
const TOLD_MAX: usize = 1024;
/// How long they are remembered at least.
const TOLD_FOR: Duration = Duration::from_secs(3600);

/// A peer process and what connects us to it.
pub(crate) struct Peer {
    pub(crate) link: PeerLink,
    /// Publishers of that process.
    pub(crate) publishers: BTreeMap<u64, PortInfo>,
    /// Memory of that process and of the pair of processes.
    pub(crate) tables: PeerTables,
    /// What both processes know of each other's part of the graph.
    pub(crate) graph: PeerGraph,
}

/// Everything that the lock protects.
pub(crate) struct ParticipantState {
    /// The run that this process belongs to.
    pub(crate) run: Option<RunId>,
    pub(crate) peers: BTreeMap<u64, Peer>,
    pub(crate) tokens_by_name: HashMap<PeerName, u64>,
    /// Processes that broke a rule under a name: not greeted there again. The name is not theirs
    /// alone: others may have put a socket of theirs in the place of its owner's.
    pub(crate) banned: HashSet<(PeerName, ProcessMark)>,
    /// Processes that we knocked at: they may answer that they do not let us in.
    pub(crate) knocked: HashSet<ProcessMark>,
    pub(crate) publishers: BTreeMap<u64, LocalPublisher>,
    pub(crate) subscribers: BTreeMap<u64, LocalSubscriber>,
    /// Pairs in which we subscribe, by number.
    pub(crate) incoming: BTreeMap<u32, Incoming>,
    /// Pairs in which we publish.
    pub(crate) outgoing: BTreeMap<OutgoingKey, Outgoing>,
    /// What this process shares with itself, for pairs inside it.
    pub(crate) own: PeerTables,
    pub(crate) schemas: Schemas,
    /// What services need beside their ports.
    pub(crate) services: ServiceStandby,
    pub(crate) buffers: BufferRegistry,
    pub(crate) events: Events,
    /// What waits for free descriptors.
    pub(crate) scarcity: Scarcity,
    /// Counts everything that may change who is connected.
    pub(crate) changes: u64,
    /// The count that waiting threads were told.
    pub(super) told: u64,
    /// Processes that closed our connection before they welcomed us.
    pub(crate) unwelcome: Unwelcome,
    /// Whether others find us.
    pub(crate) own_name: OwnName,
    /// What strangers have used.
    pub(crate) budgets: Budgets,
    /// Deadlines and leases.
    pub(crate) watches: Watches,
    /// Topics whose messages must not be copied.
    pub(crate) uncopied: BTreeSet<String>,
    /// There is or was a view of the graph: peers are asked for their status tables.
    pub(crate) watches_graph: bool,
    /// When a peer is asked again to tell of changes of the graph.
    pub(crate) graph_patience: Option<Instant>,
    /// Whom we refused, and who refused us.
    refusals: Refusals,
    pub(crate) refused: Refusals,
    /// Users whose publishers are left out because of what they use up.
    pub(crate) left_out: Refusals,
    /// What was told of the meeting place, which others can have us look at again and again; since
    /// when.
    told_once: BTreeSet<String>,
    told_since: Instant,
    next_token: u64,
    next_port: u64,
    next_pair: u32,
}

impl ParticipantState {
    pub(crate) fn new(run: Option<RunId>) -> ParticipantState {
        ParticipantState {
            run,
            peers: BTreeMap::new(),
            tokens_by_name: HashMap::new(),
            banned: HashSet::new(),
            knocked: HashSet::new(),
            publishers: BTreeMap::new(),
            subscribers: BTreeMap::new(),
            incoming: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            own: PeerTables::default(),
            schemas: Schemas::default(),
            services: ServiceStandby::default(),
            buffers: BufferRegistry::default(),
            events: Events::default(),
            scarcity: Scarcity::default(),
            changes: 0,
            told: 0,
            unwelcome: Unwelcome::default(),
            own_name: OwnName::default(),
            budgets: Budgets::default(),
            watches: Watches::default(),
            uncopied: BTreeSet::new(),
            watches_graph: false,
            graph_patience: None,
            refusals: Refusals::default(),
            refused: Refusals::default(),
            left_out: Refusals::default(),
            told_once: BTreeSet::new(),
            told_since: Instant::now(),
            next_token: OWN_TOKENS_MAX,
            next_port: 1,
            next_pair: 1,
        }
    }

    /// Whether the process of `token` is one of ours: whom publishers of topics may be held up by,
    /// whose connections count, and whose ports must fit. In a run these are the processes of that
    /// run. A stranger never is: everybody can read a run's number in names, and take such a name.
    pub(crate) fn waits_for(&self, token: u64) -> bool {
        if token == LOCAL {
            return true;
        }
        let Some(link) = self.peers.get(&token).map(|peer| &peer.link) else { return false };
        let is_in_run = |run| link.name.is_some_and(|name| name.is_in(run));
        !link.standing.is_stranger() && self.run.is_none_or(is_in_run)
    }

    /// The subscriber's half of a pair that is live.
    pub(crate) fn live_control(&self, pair: u32) -> Option<SubscriberControl> {
        self.incoming.get(&pair)?.live_control().cloned()
    }

    /// A new token for a descriptor in epoll; never used twice.
    pub(crate) fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token
    }

    /// A new port number; never used twice.
    pub(crate) fn port(&mut self) -> u64 {
        self.next_port += 1;
        self.next_port
    }

    /// A pair number that no pair of ours uses.
    pub(crate) fn pair(&mut self) -> u32 {
        // Bounded by the number of pairs, which is far below 2^32.
        loop {
            self.next_pair = self.next_pair.wrapping_add(1).max(1);
            if !self.incoming.contains_key(&self.next_pair) {
                return self.next_pair;
            }
        }
    }

    /// Tells of a publisher and a subscriber, one of them of the process of `token`.
    pub(crate) fn mismatch(
        &mut self,
        token: u64,
        publisher: (&PortInfo, &str),
        subscriber: (&PortInfo, &str),
        reason: String,
    ) {
        let mismatch = Mismatch {
            topic: publisher.0.topic.clone(),
            publisher: Side::new(publisher.0, publisher.1),
            subscriber: Side::new(subscriber.0, subscriber.1),
            reason,
            within_run: self.waits_for(token),
        };
        self.services.note_mismatch(&mismatch);
        self.events.push(Event::Mismatch(Box::new(mismatch)));
        self.changes += 1;
    }

    /// How long the control thread may sleep; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let graph = self.graph_patience.map(|due| due.saturating_duration_since(Instant::now()));
        let watches = self.watches.patience();
        let own_name = self.own_name.patience();
        let all = [self.scarcity.patience(), self.unwelcome.patience(), own_name, graph, watches];
        all.into_iter().flatten().min()
    }

    pub(crate) fn trouble(&mut self, text: String) {
        self.events.push(Event::Trouble(text));
        self.changes += 1;
    }

    /// What others can give reason to again and again: told once.
    pub(crate) fn trouble_once(&mut self, text: String) {
        self.trouble_once_for(text.clone(), text);
    }

    /// The same where each has a text of its own, but all are of one kind.
    pub(crate) fn trouble_once_for(&mut self, kind: String, text: String) {
        if self.told_once.len() >= TOLD_MAX {
            if self.told_since.elapsed() < TOLD_FOR {
                return;
            }
            self.told_once.clear();
            self.told_since = Instant::now();
        }
        if self.told_once.insert(kind) {
            self.trouble(text);
        }
    }

    /// A pair could not be connected for want of descriptors or memory: it is tried again.
    pub(crate) fn scarce_pair(&mut self, pair: Unconnected, text: &str) {
        if self.scarcity.note_pair(pair) {
            self.trouble(format!(
                "{text}; it is tried again until descriptors and memory are free"
            ));
        }
    }

    /// Processes could not be met or served for want of descriptors or memory: it is tried again.
    pub(crate) fn scarce(&mut self, text: &str) {
        if self.scarcity.note_others() {
            self.trouble(format!(
                "{text}; it is tried again until descriptors and memory are free"
            ));
        }
    }

    /// Who the process behind a token is to us; this process itself: our own.
    pub(crate) fn standing(&self, token: u64) -> Standing {
        match self.peers.get(&token) {
            _ if token == LOCAL => Standing::Own,
            Some(peer) => peer.link.standing,
            // Gone meanwhile: nothing is believed of it.
            None => Standing::Stranger,
        }
    }

    /// The user of a stranger.
    pub(crate) fn stranger(&self, token: u64) -> Option<u32> {
        let uid = self.peers.get(&token).map_or(u32::MAX, |peer| peer.link.identity.uid);
        self.standing(token).is_stranger().then_some(uid)
    }

    /// A process is not let in, or comes again and again: told once for each user and reason. True:
    /// it was told.
    pub(crate) fn turn_away(&mut self, peer: PeerProcess, reason: String) -> bool {
        let kind = kind_of(&reason);
        self.turn_away_for(&kind, peer, reason)
    }

    /// The same where each process has a reason of its own, but all are of one kind.
    pub(crate) fn turn_away_for(&mut self, kind: &str, peer: PeerProcess, reason: String) -> bool {
        let Some(behind) = self.refusals.note(peer.uid, kind) else { return false };
        self.cut_off(peer, reason + &behind);
        true
    }

    pub(crate) fn cut_off(&mut self, peer: PeerProcess, reason: String) {
        self.events.push(Event::PeerCutOff { peer, reason });
        self.changes += 1;
    }

    /// Sends a frame without descriptors to a live peer.
    pub(crate) fn send(&mut self, token: u64, frame: &Frame) {
        if let Some(peer) = self.peers.get_mut(&token) {
            peer.link.send(frame, &[]);
        }
    }

    /// Sends a frame to all live peers.
    pub(crate) fn broadcast(&mut self, frame: &Frame) {
        for peer in self.peers.values_mut() {
            if peer.link.stage == Stage::Live {
                peer.link.send(frame, &[]);
            }
        }
    }
}

/// Words that are as long may be names of sockets.
const WORD_BYTES_MAX: usize = 31;

/// What a reason has in common with others of its kind: its words without numbers and names, which
/// a peer can make up without end.
fn kind_of(reason: &str) -> String {
    let is_fixed =
        |word: &&str| word.len() <= WORD_BYTES_MAX && !word.contains(|c: char| c.is_ascii_digit());
    let texts = reason.split('`').step_by(2).flat_map(str::split_whitespace);
    texts.filter(is_fixed).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quotas;
    use crate::wire::limit::Limit;

    #[test]
    fn so_many_sentences_of_the_meeting_place_are_told_and_more_only_after_a_while() {
        let mut state = ParticipantState::new(None);
        let tell = |state: &mut ParticipantState| {
            let before = state.changes;
            (0..5 * TOLD_MAX).for_each(|number| state.trouble_once(number.to_string()));
            state.changes - before
        };
        assert_eq!(tell(&mut state), TOLD_MAX as u64);
        assert_eq!(tell(&mut state), 0);
        state.told_since = Instant::now().checked_sub(TOLD_FOR).expect("a time");
        assert_eq!(tell(&mut state), TOLD_MAX as u64);
        let mut state = ParticipantState::new(None);
        (0..5).for_each(|pid| state.trouble_once_for("kind".to_owned(), pid.to_string()));
        assert_eq!(state.changes, 1);
    }

    #[test]
    fn what_a_peer_makes_up_is_of_one_kind_and_hides_no_limit_that_is_exceeded() {
        let mut state = ParticipantState::new(None);
        let peer = |pid: u32| PeerProcess { name: String::new(), pid, uid: 7 };
        let version = |number: u32| {
            format!("it speaks version {number} of the control protocol, we speak 11; run one")
        };
        assert!(state.turn_away(peer(1), version(1)));
        (2..100).for_each(|number| assert!(!state.turn_away(peer(number), version(number))));
        // Of 32 letters there are names without end that have no digit.
        let name = |letter: char| {
            let name: String = std::iter::repeat_n(letter, 32).collect();
            format!("it greets as {name}, and nobody listens there")
        };
        let greeted = "abcdef".chars().filter(|letter| state.turn_away(peer(1), name(*letter)));
        assert_eq!(greeted.count(), 1);
        for limit in [Limit::ProcessesOfUser, Limit::Processes, Limit::VisitsOfUser, Limit::Visits]
        {
            assert!(state.turn_away(peer(1), quotas::refusal(limit, 7)), "{limit:?}");
        }
        assert!(state.turn_away(peer(1), quotas::refusal(Limit::Publishers, 7)));
        assert!(state.turn_away(peer(1), quotas::refusal(Limit::Peers, 7)));
    }
}
