//! Waiting until a graph has nothing left to do, for replay at maximum rate.
//!
//! A graph is quiescent if every triggering subscriber has reached the last message of each of its
//! publishers, and its node has finished with all that it took. Two scans of all status tables must
//! show this, with nothing published between them. Executors announce when they are about to sleep;
//! only then is another scan worth its cost.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::AsFd;
use std::time::Duration;

use crossdock_shm::TrustedNames;
use crossdock_shm::rendezvous::{PeerName, RunId};
use crossdock_shm::socket::{FRAME_BYTES_MAX, Received};
use rustix::event::{PollFd, PollFlags};

use crate::observe::asking::{ObserveError, ObserverOptions, poll};
use crate::observe::observer::{Observed, Observer};
use crate::patience::Patience;
use crate::wire::frame::Purpose;
use crate::wire::port_info::decode_port;
use crate::wire::status_records::{
    CONNECTION_POSITION, ConnectionDetail, Triggering, counter, kind,
};

/// Frames that are read from one process before the status tables are looked at again.
const FRAMES_PER_LOOK: usize = 1024;

/// Watches the processes of a domain for the moment at which they have nothing left to do.
///
/// `Send`. While it exists, executors of the watched processes make one system call each time that
/// they are about to sleep.
pub struct Quiescence {
    observer: Observer,
    records: BTreeMap<PeerName, Records>,
    /// The run whose processes have to finish; `None`: all processes of the domain.
    run: Option<RunId>,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Quiescence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quiescence").field("processes", &self.records.len()).finish()
    }
}

/// The records of one status table that matter, as of one state of its table.
#[derive(Default)]
struct Records {
    changes: Option<u64>,
    /// Port, place on the status table, version.
    publishers: Vec<(u64, usize, u64)>,
    subscribers: Vec<(u64, usize, u64)>,
    connections: Vec<(ConnectionDetail, usize, u64)>,
}

/// Two scans with equal results between which nothing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scan {
    /// Everything that was published.
    published: u64,
    /// Nothing waits anywhere.
    drained: bool,
}

impl Quiescence {
    /// Starts to watch all processes that are there now; see [`Quiescence::refresh`].
    ///
    /// Blocks until they have answered, at most one second each.
    ///
    /// # Errors
    /// [`ObserveError`] when the meeting place cannot be used.
    pub fn open(options: ObserverOptions) -> Result<Quiescence, ObserveError> {
        let observer =
            Observer::open_for(options, &TrustedNames::of_environment(), Purpose::Watch)?;
        let buffer = vec![0; FRAME_BYTES_MAX];
        let mut quiescence = Quiescence { observer, records: BTreeMap::new(), run: None, buffer };
        quiescence.refresh()?;
        Ok(quiescence)
    }

    /// Waits for the processes of this run only: what programs beside it have not read yet keeps
    /// nobody.
    #[must_use]
    pub fn of_run(self, run: RunId) -> Quiescence {
        Quiescence { run: Some(run), ..self }
    }

    /// Looks for processes that came and went. Returns why others are not watched.
    ///
    /// # Errors
    /// [`ObserveError`] when the meeting place cannot be read.
    pub fn refresh(&mut self) -> Result<Vec<String>, ObserveError> {
        let unreachable = self.observer.refresh()?;
        let known: HashSet<_> = self.observer.processes.keys().copied().collect();
        self.records.retain(|name, _| known.contains(name));
        for name in known {
            self.records.entry(name).or_default();
        }
        Ok(unreachable)
    }

    /// How many processes are watched.
    pub fn processes(&self) -> usize {
        self.records.len()
    }

    /// Blocks until the graph is quiescent, at most for `timeout`; returns whether it is.
    ///
    /// Processes that die while it waits are left out from then on.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        let patience = Patience::new(timeout);
        loop {
            let first = self.scan();
            if first.drained && self.scan() == first {
                return true;
            }
            let left = patience.left();
            if left.is_zero() {
                return false;
            }
            self.wait_for_idle(left);
        }
    }

    /// Waits until somebody announces that it is idle, or goes.
    fn wait_for_idle(&mut self, timeout: Duration) {
        let sockets = self.observer.processes.values().filter_map(|seen| seen.socket.as_ref());
        let mut polled: Vec<_> =
            sockets.map(|socket| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)).collect();
        if !poll(&mut polled, timeout) {
            return;
        }
        let buffer = &mut self.buffer;
        let mut gone = Vec::new();
        for (name, seen) in &self.observer.processes {
            if !read_announcements(seen, buffer) {
                gone.push(*name);
            }
        }
        for name in gone {
            self.observer.processes.remove(&name);
            self.records.remove(&name);
        }
    }

    /// Reads all status tables once.
    fn scan(&mut self) -> Scan {
        let mut published: HashMap<(PeerName, u64), u64> = HashMap::new();
        let mut complete = true;
        for (name, records) in &mut self.records {
            let Some(seen) = self.observer.processes.get(name) else { continue };
            records.update(seen);
            for (port, place, version) in &records.publishers {
                match seen.view.counters(*place, *version) {
                    Some(counters) => {
                        published.insert((*name, *port), counters[counter::MESSAGES]);
                    }
                    None => complete = false,
                }
            }
        }
        let mut drained = complete;
        let is_waited_for = |name: PeerName| self.run.is_none_or(|run| name.is_in(run));
        for (name, records) in self.records.iter().filter(|(name, _)| is_waited_for(**name)) {
            let Some(seen) = self.observer.processes.get(name) else { continue };
            drained &= records.are_drained(seen, &published);
        }
        Scan { published: published.values().fold(0, |sum, one| sum.wrapping_add(*one)), drained }
    }
}

/// False: the process has gone.
fn read_announcements(seen: &Observed, buffer: &mut [u8]) -> bool {
    let Some(socket) = &seen.socket else { return true };
    for _ in 0..FRAMES_PER_LOOK {
        match socket.receive(buffer) {
            // Whatever it says means: look again.
            Ok(Received::Frame { .. }) => {}
            Ok(Received::Empty) => return true,
            Ok(Received::Closed) | Err(_) => return false,
        }
    }
    true
}

impl Records {
    /// Reads the table again if it has changed.
    fn update(&mut self, seen: &Observed) {
        let changes = seen.view.changes();
        if self.changes == Some(changes) {
            return;
        }
        *self = Records { changes: Some(changes), ..Records::default() };
        for entity in seen.view.entities() {
            let place = (entity.index, entity.version);
            match entity.kind {
                kind::PUBLISHER | kind::SUBSCRIBER => {
                    let Ok(port) = decode_port(&entity.detail) else { continue };
                    let list = match entity.kind {
                        kind::PUBLISHER => &mut self.publishers,
                        _ => &mut self.subscribers,
                    };
                    list.push((port.port, place.0, place.1));
                }
                kind::CONNECTION => {
                    let detail = ConnectionDetail::decode(&entity.detail);
                    self.connections.extend(detail.map(|detail| (detail, place.0, place.1)));
                }
                _ => {}
            }
        }
    }

    /// Has every triggering subscriber of this process reached the end of all its publishers, and
    /// its node finished with all that it took?
    fn are_drained(&self, seen: &Observed, published: &HashMap<(PeerName, u64), u64>) -> bool {
        let mut triggered = HashSet::new();
        for (detail, place, version) in &self.connections {
            if detail.triggering == Triggering::No {
                continue;
            }
            triggered.insert(detail.subscriber);
            let Some(last) = published.get(&(detail.publisher_process, detail.publisher)) else {
                // Its publisher is gone; what is left is drained like everything else.
                continue;
            };
            let counters = seen.view.counters(*place, *version);
            if counters.is_none_or(|counters| counters[CONNECTION_POSITION] < *last) {
                return false;
            }
        }
        let subscribers = self.subscribers.iter().filter(|(port, ..)| triggered.contains(port));
        subscribers.into_iter().all(|(_, place, version)| {
            seen.view
                .counters(*place, *version)
                .is_some_and(|counters| counters[counter::MESSAGES] == counters[counter::PROCESSED])
        })
    }
}
