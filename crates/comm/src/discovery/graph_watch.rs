//! Who hears of changes of the graph: peers hear of ours, we hear of theirs.
//!
//! Nodes and ports stand on status tables, which are the one truth. A frame only says that there is
//! something new to read there:
//! 1. A participant that has a [`GraphView`](crate::GraphView) asks each peer once for its status
//!    table (`AskStatusTable`, `StatusTable`).
//! 2. It asks to be told of the next change beyond what it has seen (`WatchGraph`).
//! 3. The peer tells it once (`GraphChanged`), at once if there is one already, and nothing more
//!    until it is asked again.
//!
//! So changes that come faster than they are read are told together, at most one frame waits for a
//! process that does not read, and a peer that tells what it was not asked for breaks a rule.
//! A stranger is asked again after a pause only.

use std::os::fd::AsFd;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crossdock_shm::rendezvous::PeerName;
use crossdock_shm::status::{OpenStatusError, StatusView};
use crossdock_shm::{ReceivedFd, Standing};

use crate::discovery::graph_state::{Cache, PeerGraph, Read};
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::participant_state::{ParticipantState, Peer};
use crate::discovery::peer_link::{PeerLink, Stage};
use crate::discovery::view_callbacks::Arms;
use crate::quotas;
use crate::wire::frame::Frame;
use crate::wire::snapshot::{GraphSnapshot, ProcessSnapshot};

/// How long a stranger that has told of a change is left alone.
const STRANGER_PAUSE: Duration = Duration::from_millis(100);

/// A process whose status table is to be read.
struct Source {
    name: PeerName,
    process: String,
    pid: u32,
    standing: Standing,
    /// What the table has told.
    told: u64,
    table: Arc<StatusView>,
}

impl ParticipantCore {
    /// The first view is there: opens our own status table and asks all peers for theirs.
    pub(crate) fn start_graph(&self) -> Result<(), OpenStatusError> {
        let mut own = self.graph.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own.is_none() {
            *own = Some(Arc::new(StatusView::open(self.status_table.read_only_fd())?));
            let mut state = self.lock();
            state.watches_graph = true;
            state.peers.values_mut().for_each(ask);
            self.publish(state);
        }
        Ok(())
    }

    /// The graph now. Reads the status tables that have changed since the last call.
    pub(crate) fn graph_snapshot(&self) -> Arc<GraphSnapshot> {
        // Held while tables are read: one thread reads what others want, too.
        let mut cache = self.graph.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let (changed, unreachable) = self.changed_tables(&mut cache);
        let (known, look) = (cache.processes.len(), cache.look);
        cache.processes.retain(|_, read| read.look == look);
        let is_new = known != cache.processes.len() || cache.graph.unreachable != unreachable;
        if !is_new && changed.is_empty() {
            return Arc::clone(&cache.graph);
        }
        for source in changed {
            let Source { name, told, .. } = source;
            let snapshot = Arc::new(read_table(&source));
            cache.processes.insert(name, Read { table: source.table, told, look, snapshot });
        }
        let processes = cache.processes.values().map(|it| Arc::clone(&it.snapshot));
        let mut processes: Vec<_> = processes.collect();
        processes.sort_unstable_by_key(|process| process.name);
        cache.graph = Arc::new(GraphSnapshot { processes, unreachable });
        Arc::clone(&cache.graph)
    }

    /// The processes whose status tables have to be read (again), and why other tables cannot
    /// be. What has not changed is noted to be there still.
    fn changed_tables(&self, cache: &mut Cache) -> (Vec<Source>, Vec<String>) {
        cache.look += 1;
        let look = cache.look;
        // Before the records are read: what changes meanwhile is read again next time.
        let mut is_known = |name: PeerName, table: &Arc<StatusView>, seen: Option<u64>| {
            let read = cache.processes.get_mut(&name);
            let Some(read) = read.filter(|it| Arc::ptr_eq(&it.table, table)) else {
                return Err(table.told());
            };
            if seen != Some(read.told) {
                let told = table.told();
                if told != read.told {
                    return Err(told);
                }
            }
            read.look = look;
            Ok(())
        };
        let (mut changed, mut unreachable) = (Vec::new(), Vec::new());
        let own = self.graph.own.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(table) = own
            && let Err(told) = is_known(self.name, &table, None)
        {
            let (name, process, pid) = (self.name, self.process.clone(), std::process::id());
            changed.push(Source { name, process, pid, standing: Standing::Own, told, table });
        }
        for Peer { link, graph, .. } in self.lock().peers.values() {
            let Some(name) = link.name.filter(|_| link.stage == Stage::Live) else { continue };
            match &graph.table {
                None => {}
                Some(Err(why)) => unreachable.push(format!("{}: {why}", link.peer())),
                Some(Ok(table)) => {
                    let seen = graph.awaited.then_some(graph.seen);
                    let Err(told) = is_known(name, table, seen) else { continue };
                    let pid = Some(link.identity.pid).filter(|pid| *pid != 0);
                    let (process, table) = (link.process.clone(), Arc::clone(table));
                    let (pid, standing) = (pid.unwrap_or_else(|| table.pid()), link.standing);
                    changed.push(Source { name, process, pid, standing, told, table });
                }
            }
        }
        (changed, unreachable)
    }
}

impl Arms for ParticipantCore {
    fn arm(&self) {
        self.graph.hook.arm();
        let mut state = self.lock();
        state.peers.values_mut().for_each(|peer| peer.graph.note_told());
        arm_peers(&mut state);
        let is_broken = state.peers.values().any(|peer| peer.link.broken.is_some());
        let is_patient = state.graph_patience.is_some();
        drop(state);
        // The control thread removes what broke, and does not sleep beyond the pause of a stranger.
        if is_broken || is_patient {
            self.wake();
        }
    }
}

fn read_table(source: &Source) -> ProcessSnapshot {
    let records_max = match quotas::hold(source.standing) {
        true => quotas::RECORDS_MAX,
        false => usize::MAX,
    };
    let records = source.table.entities_below(records_max);
    ProcessSnapshot::new(source.name, source.process.clone(), source.pid, records)
}

/// Asks a peer for its status table, once.
fn ask(peer: &mut Peer) {
    if peer.link.stage == Stage::Live && !std::mem::replace(&mut peer.graph.asked, true) {
        peer.link.send(&Frame::AskStatusTable, &[]);
    }
}

/// A peer is there.
pub(crate) fn became_live(state: &mut ParticipantState, token: u64) {
    if let Some(peer) = state.peers.get_mut(&token).filter(|_| state.watches_graph) {
        ask(peer);
    }
}

/// A peer asks for our status table.
pub(crate) fn asked(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
) -> Result<(), String> {
    let Some(Peer { link, graph, .. }) = state.peers.get_mut(&token) else { return Ok(()) };
    if std::mem::replace(&mut graph.has_ours, true) {
        return Err("it asked twice for the status table".to_string());
    }
    link.send(&Frame::StatusTable, &[core.status_table.read_only_fd()]);
    Ok(())
}

/// The status table of a peer has come.
pub(crate) fn received(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
    fds: &[ReceivedFd],
) -> Result<(), String> {
    let Some(Peer { graph, .. }) = state.peers.get_mut(&token) else { return Ok(()) };
    if !graph.asked || graph.table.is_some() {
        return Err("it sent a status table that was not asked for".to_string());
    }
    let fd = fds.first().ok_or("it sent a status table without memory")?;
    let table = match StatusView::open(fd.as_fd()) {
        Ok(table) => Ok(Arc::new(table)),
        Err(error @ OpenStatusError::Malformed(_)) => return Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    graph.table = Some(table);
    core.graph.views.tell();
    Ok(())
}

/// A peer waits for our next change beyond what it has seen.
pub(crate) fn watched(core: &ParticipantCore, state: &mut ParticipantState, token: u64, seen: u64) {
    let Some(Peer { link, graph, .. }) = state.peers.get_mut(&token) else { return };
    core.graph.hook.arm();
    graph.waits = core.status_table.told() == seen;
    if !graph.waits {
        link.send(&Frame::GraphChanged, &[]);
    }
}

/// A peer's part of the graph has changed.
pub(crate) fn changed(
    core: &ParticipantCore,
    state: &mut ParticipantState,
    token: u64,
) -> Result<(), String> {
    let Some(Peer { link, graph, .. }) = state.peers.get_mut(&token) else { return Ok(()) };
    if !std::mem::take(&mut graph.awaited) {
        return Err("it told of a change of the graph without being asked".to_string());
    }
    graph.note_told();
    graph.pause_ends = link.standing.is_stranger().then(|| Instant::now() + STRANGER_PAUSE);
    core.graph.views.tell();
    Ok(())
}

/// A peer has gone, and its part of the graph with it.
pub(crate) fn peer_left(core: &ParticipantCore, peer: &Peer) {
    if peer.graph.table.is_some() {
        core.graph.views.tell();
    }
}

/// At the end of a turn: tells of changes of ours, and asks strangers again if it is time.
pub(crate) fn sweep(core: &ParticipantCore, state: &mut ParticipantState) {
    if core.graph.hook.take_due() {
        for Peer { link, graph, .. } in state.peers.values_mut() {
            if std::mem::take(&mut graph.waits) {
                link.send(&Frame::GraphChanged, &[]);
            }
        }
        core.graph.views.tell();
    }
    if state.graph_patience.is_some_and(|due| due <= Instant::now()) {
        arm_peers(state);
    }
}

fn arm_peers(state: &mut ParticipantState) {
    let now = Instant::now();
    state.graph_patience = None;
    for Peer { link, graph, .. } in state.peers.values_mut() {
        match graph.pause_ends.filter(|ends| *ends > now) {
            None => arm(link, graph),
            Some(ends) => {
                let soonest = state.graph_patience.map_or(ends, |other: Instant| other.min(ends));
                state.graph_patience = Some(soonest);
            }
        }
    }
}

/// Asks a peer for what changes beyond what was seen.
fn arm(link: &mut PeerLink, graph: &mut PeerGraph) {
    let Some(Ok(_)) = &graph.table else { return };
    if link.stage == Stage::Live && !std::mem::replace(&mut graph.awaited, true) {
        link.send(&Frame::WatchGraph { seen: graph.seen }, &[]);
    }
}
