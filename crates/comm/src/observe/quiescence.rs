//! Waiting until a graph has nothing left to do, for replay at maximum rate.
//!
//! A graph is quiescent if every triggering subscriber has reached the last message of each of its
//! publishers, and its node has finished with all that it took. Two scans of all status tables must
//! show this, with nothing published to these subscribers between them. Executors announce when
//! they are about to sleep; only then is another scan worth its cost.
//!
//! Processes of strangers are not watched: nobody waits for them, and what they publish keeps
//! nobody.

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

/// Watches the processes of a domain for the moment at which they have nothing left to do, those of
/// strangers left out.
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
    /// By port: place on the status table, version.
    publishers: HashMap<u64, (usize, u64)>,
    /// Those that trigger a node: port, place on the status table, version.
    subscribers: Vec<(u64, usize, u64)>,
    /// The connections of these.
    connections: Vec<(ConnectionDetail, usize, u64)>,
}

/// Two scans with equal results between which nothing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scan {
    /// Everything that was published to triggering subscribers.
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

    /// Whether a process is one of those that have to finish.
    pub fn waits_for(&self, process: PeerName) -> bool {
        self.records.contains_key(&process) && self.run.is_none_or(|run| process.is_in(run))
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

    /// Reads all status tables once: of publishers only those whose messages somebody is triggered
    /// by. A player of many topics scans behind each message.
    fn scan(&mut self) -> Scan {
        for (name, records) in &mut self.records {
            if let Some(seen) = self.observer.processes.get(name) {
                records.update(seen);
            }
        }
        let mut scan = Scan { published: 0, drained: true };
        for (name, records) in self.records.iter().filter(|(name, _)| self.waits_for(**name)) {
            if let Some(seen) = self.observer.processes.get(name) {
                scan.drained &= self.has_reached_all(seen, records, &mut scan.published)
                    && records.has_finished(seen);
            }
        }
        scan
    }

    /// Has every triggering subscriber of a process reached the end of all its publishers? Adds to
    /// `published` what these have published.
    fn has_reached_all(&self, seen: &Observed, records: &Records, published: &mut u64) -> bool {
        records.connections.iter().all(|(detail, place, version)| {
            let process = detail.publisher_process;
            let publisher = self.records.get(&process).zip(self.observer.processes.get(&process));
            let publisher = publisher
                .and_then(|(of, seen)| Some((of.publishers.get(&detail.publisher)?, seen)));
            let Some(((at, of_version), publishing)) = publisher else {
                // It is gone, or a stranger's: what is left is drained like everything else.
                return true;
            };
            let last = publishing.view.counters(*at, *of_version);
            let position = seen.view.counters(*place, *version);
            let Some((last, position)) = last.zip(position) else { return false };
            let last = last[counter::MESSAGES];
            *published = published.wrapping_add(last);
            position[CONNECTION_POSITION] >= last
        })
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
                    match entity.kind {
                        kind::PUBLISHER => _ = self.publishers.insert(port.port, place),
                        _ => self.subscribers.push((port.port, place.0, place.1)),
                    }
                }
                kind::CONNECTION => {
                    let detail = ConnectionDetail::decode(&entity.detail);
                    let detail = detail.filter(|detail| detail.triggering != Triggering::No);
                    self.connections.extend(detail.map(|detail| (detail, place.0, place.1)));
                }
                _ => {}
            }
        }
        let triggered: HashSet<_> =
            self.connections.iter().map(|(detail, ..)| detail.subscriber).collect();
        self.subscribers.retain(|(port, ..)| triggered.contains(port));
    }

    /// Have the nodes of this process finished with all that they took?
    fn has_finished(&self, seen: &Observed) -> bool {
        self.subscribers.iter().all(|(_, place, version)| {
            seen.view
                .counters(*place, *version)
                .is_some_and(|counters| counters[counter::MESSAGES] == counters[counter::PROCESSED])
        })
    }
}
