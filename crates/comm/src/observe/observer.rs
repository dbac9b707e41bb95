//! Looking at a running graph from outside: which processes are there, what their ports count, what
//! they say.
//!
//! An observer takes part in nothing. It asks each process once for its status table (one wake-up
//! of that process's control thread) and maps it read-only. From then on it reads the table as
//! often as it likes, at no cost to the process. Messages on a ring are copied and looked at again,
//! because no publisher waits for an observer.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU8;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossdock_msg::Schema;
use crossdock_shm::rendezvous::{Listing, PeerName, RendezvousError, Visit};
use crossdock_shm::socket::ControlSocket;
use crossdock_shm::status::{EntitySnapshot, StatusView};
use crossdock_shm::{TRUST_BY_NAME, Trust, TrustedNames};
use crossdock_trace::TraceView;
use rustix::event::{PollFd, PollFlags};

use crate::observe::asking::{
    ANSWER_TIMEOUT, Asked, Asking, ObserveError, ObserverOptions, answer, is_readable, poll,
    unexpected,
};
use crate::observe::echo::{Echo, EchoSource};
use crate::quotas;
use crate::wire::frame::{Frame, Purpose, VERSION};
use crate::wire::snapshot::{GraphSnapshot, PortSnapshot, ProcessSnapshot};
use crate::wire::status_records::{Carrier, ConnectionDetail, kind};

/// Processes that are asked at once, and sockets kept open to those that have not answered.
const ASKED_MAX: usize = 64;
/// How long a process is left alone that could not be asked, or whose answer is of no use.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// How often a process closes a connection without an answer before that is told. One that ends may
/// do so twice: when it closes its connections, and when it listens no more.
const CLOSED_MAX: u32 = 3;
/// Frames of one answer: a definition of the largest legal size, and some.
const ANSWER_FRAMES_MAX: usize = 64;
/// Reasons that are told why processes cannot be looked at.
const REASONS_MAX: usize = 64;

/// One process whose status table is open.
pub(crate) struct Observed {
    pub(crate) name: PeerName,
    pub(crate) view: StatusView,
    /// Its process id, from the kernel if it can tell.
    pub(crate) pid: u32,
    /// Its user, if that is a stranger.
    stranger: Option<u32>,
    /// Readable when it has died.
    pidfd: Option<OwnedFd>,
    /// Kept open by watchers.
    pub(crate) socket: Option<ControlSocket>,
}

/// One process that was asked for its status table.
struct Expected {
    asked: Asked,
    /// When it counts as silent.
    deadline: Instant,
    /// How often it was asked before, and closed the connection.
    closed: u32,
}

impl Expected {
    fn label(&self, name: PeerName) -> String {
        match self.asked.pid {
            0 => format!("process {name}"),
            pid => format!("the process with pid {pid}"),
        }
    }
}

/// A process that is left alone.
struct Refused {
    until: Instant,
    why: String,
    /// The user of one that is silent or whose answer is of no use, if that is a stranger.
    stranger: Option<u32>,
}

impl Observed {
    fn snapshot(&self) -> ProcessSnapshot {
        let process = self.view.process().to_string();
        ProcessSnapshot::new(self.name, process, self.pid, self.view.entities())
    }

    pub(crate) fn has_died(&self) -> bool {
        let Some(pidfd) = &self.pidfd else { return false };
        is_readable(pidfd.as_fd(), Duration::ZERO)
    }
}

/// Looks at the processes of one domain.
///
/// `Send`. Calls block while processes that are asked for the first time answer: at most one second
/// for each 64 of them, and only once for one that is stopped, which is seen when it goes on. Of
/// users who are not trusted it asks no more processes than a participant lets in
/// (`docs/limits.md`), however many names they have. Everything else only reads shared memory.
/// Takes one file descriptor per process.
pub struct Observer {
    asking: Arc<Asking>,
    purpose: Purpose,
    pub(crate) processes: BTreeMap<PeerName, Observed>,
    /// At most [`ASKED_MAX`].
    asked: BTreeMap<PeerName, Expected>,
    refused: BTreeMap<PeerName, Refused>,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("options", &self.asking.options).finish_non_exhaustive()
    }
}

impl Observer {
    /// Opens the meeting place. Takes no part: nobody learns of it.
    ///
    /// # Errors
    /// [`ObserveError`] when the place cannot be used.
    pub fn open(options: ObserverOptions) -> Result<Observer, ObserveError> {
        Observer::open_for(options, &TrustedNames::of_environment(), Purpose::Status)
    }

    /// As [`Observer::open`], with others trusted than those whom the environment names.
    ///
    /// # Errors
    /// As [`Observer::open`].
    pub fn trusting(
        options: ObserverOptions,
        trust: &TrustedNames,
    ) -> Result<Observer, ObserveError> {
        Observer::open_for(options, trust, Purpose::Status)
    }

    /// The user of a process, if that is a stranger.
    pub fn stranger(&self, process: PeerName) -> Option<u32> {
        self.processes.get(&process)?.stranger
    }

    /// Where it looks.
    pub fn options(&self) -> &ObserverOptions {
        &self.asking.options
    }

    pub(crate) fn open_for(
        options: ObserverOptions,
        trust: &TrustedNames,
        purpose: Purpose,
    ) -> Result<Observer, ObserveError> {
        let visit = Visit::open(&options.rendezvous.config(options.domain_id, options.access))?;
        let own = PeerName::random().map_err(RendezvousError::from)?;
        let trust = Trust::new(trust)?;
        let asking = Arc::new(Asking { options, visit, own, trust });
        let (processes, asked, refused) = Default::default();
        Ok(Observer { asking, purpose, processes, asked, refused })
    }

    /// Looks for processes that came and went. Returns why others could not be looked at, or may
    /// be missed.
    ///
    /// # Errors
    /// [`ObserveError`] when the meeting place cannot be read.
    pub fn refresh(&mut self) -> Result<Vec<String>, ObserveError> {
        self.asking.visit.follow()?;
        let Listing { names, left_out } = self.asking.visit.list()?;
        let listed: BTreeSet<PeerName> = names.into_iter().collect();
        let now = Instant::now();
        self.processes.retain(|name, seen| listed.contains(name) && !seen.has_died());
        self.asked.retain(|name, _| listed.contains(name));
        self.refused.retain(|name, refused| listed.contains(name) && refused.until > now);
        self.hear(Duration::ZERO);
        let known = |name: &PeerName| {
            self.processes.contains_key(name)
                || self.asked.contains_key(name)
                || self.refused.contains_key(name)
        };
        let new: Vec<PeerName> = listed.into_iter().filter(|name| !known(name)).collect();
        for names in new.chunks(ASKED_MAX) {
            names.iter().for_each(|name| self.ask(*name));
            self.hear(ANSWER_TIMEOUT);
            // Those asked next need descriptors, too: of the silent only so many are waited for.
            while self.asked.len() > ASKED_MAX {
                let Some((name, asked)) = self.asked.pop_last() else { break };
                let silent = ObserveError::Silent { process: asked.label(name) };
                self.refuse(name, silent.to_string(), asked.asked.stranger);
            }
        }
        let silent = self.asked.iter().filter(|(_, asked)| asked.deadline <= Instant::now());
        let silent = silent.map(|(name, asked)| {
            let error = ObserveError::Silent { process: asked.label(*name) };
            (asked.asked.stranger.is_some(), error.to_string())
        });
        let refused = self.refused.values();
        let refused = refused.map(|refused| (refused.stranger.is_some(), refused.why.clone()));
        let told = reasons(silent.chain(refused).collect());
        Ok(left_out.map(|it| it.to_string()).into_iter().chain(told).collect())
    }

    /// Why this process is not asked: its user is a stranger, for whom nobody waits, or who has as
    /// many here as one may.
    fn passed_over(&self, asked: &Asked) -> Option<String> {
        let uid = asked.stranger?;
        if matches!(self.purpose, Purpose::Watch) {
            return Some(format!(
                "processes of user {uid}, who is not trusted, are not waited for; to wait for them, \
                 trust the user by name ({TRUST_BY_NAME})"
            ));
        }
        let waiting = self.asked.values().map(|expected| expected.asked.stranger);
        let open = self.processes.values().map(|seen| seen.stranger);
        let silent = self.refused.values().map(|refused| refused.stranger);
        let known = waiting.chain(open).chain(silent).flatten();
        Some(quotas::refusal(quotas::refuses_process(uid, known)?, uid))
    }

    /// Asks a process for its status table.
    fn ask(&mut self, name: PeerName) {
        self.ask_until(name, Instant::now() + ANSWER_TIMEOUT, 0);
    }

    /// The same of one that may have closed the connection so often.
    fn ask_until(&mut self, name: PeerName, deadline: Instant, closed: u32) {
        match self.asking.ask(name, &self.label(name), self.purpose) {
            Ok(asked) => match self.passed_over(&asked) {
                Some(why) => self.refuse(name, why, None),
                None => drop(self.asked.insert(name, Expected { asked, deadline, closed })),
            },
            Err(error) => self.fail(name, &error, None),
        }
    }

    fn fail(&mut self, name: PeerName, error: &ObserveError, stranger: Option<u32>) {
        if !matches!(error, ObserveError::Gone { .. }) {
            self.refuse(name, error.to_string(), stranger);
        }
    }

    fn refuse(&mut self, name: PeerName, why: String, stranger: Option<u32>) {
        let until = Instant::now() + AGAIN_AFTER;
        self.refused.insert(name, Refused { until, why, stranger });
    }

    /// Opens the status tables of those that have answered, and waits for `timeout` for those that
    /// may still do so in time.
    fn hear(&mut self, timeout: Duration) {
        let end = Instant::now() + timeout;
        loop {
            let sockets = self.asked.values().map(|expected| expected.asked.socket.as_fd());
            let mut polled: Vec<_> =
                sockets.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            let now = Instant::now();
            let in_time = self.asked.values().any(|asked| asked.deadline > now);
            let left = end.saturating_duration_since(now);
            if !poll(&mut polled, if in_time { left } else { Duration::ZERO }) {
                return;
            }
            let is_ready = polled.iter().map(|fd| !fd.revents().is_empty());
            let names = self.asked.keys().copied().zip(is_ready);
            let ready: Vec<_> = names.filter_map(|(name, is)| is.then_some(name)).collect();
            for name in ready {
                let Some(asked) = self.asked.remove(&name) else { continue };
                let Expected { deadline, closed, .. } = asked;
                let stranger = asked.asked.stranger;
                match self.attach(name, asked) {
                    Ok(observed) => drop(self.processes.insert(name, observed)),
                    // It has ended, unless it is still there.
                    Err(ObserveError::Gone { .. }) => self.ask_until(name, deadline, closed + 1),
                    Err(error) => self.fail(name, &error, stranger),
                }
            }
        }
    }

    /// The graph now: looks for processes that came and went, then reads all status tables.
    ///
    /// # Errors
    /// [`ObserveError`] when the meeting place cannot be read; single processes that cannot be
    /// read are listed in the result.
    pub fn snapshot(&mut self) -> Result<GraphSnapshot, ObserveError> {
        let unreachable = self.refresh()?;
        let processes = self.processes.values().map(|seen| Arc::new(seen.snapshot())).collect();
        Ok(GraphSnapshot { processes, unreachable })
    }

    /// The status tables that are open, read without looking for processes that came or went. One
    /// whose process has died since the last [`Observer::refresh`] or [`Observer::snapshot`] is
    /// read as it was left. Reads shared memory only.
    pub fn status_tables(&self) -> Vec<ProcessSnapshot> {
        self.processes.values().map(Observed::snapshot).collect()
    }

    /// The histogram of a record of `others`, if it has one.
    pub fn histogram(
        &self,
        process: PeerName,
        entity: &EntitySnapshot,
    ) -> Option<crossdock_shm::histogram::HistogramSnapshot> {
        self.processes.get(&process)?.view.histogram(entity)
    }

    /// What a port counts now: as cheap as a look at one record. `None`: the port has gone.
    pub fn counters(
        &self,
        process: PeerName,
        port: &PortSnapshot,
    ) -> Option<[u64; crossdock_shm::status::COUNTERS]> {
        self.processes.get(&process)?.view.counters(port.index, port.version)
    }

    /// The type of a publisher or subscriber, from the definition that its process keeps.
    ///
    /// # Errors
    /// [`ObserveError`] when the process has gone, does not answer, or its definition does not
    /// parse.
    pub fn schema(
        &self,
        process: PeerName,
        end: &PortSnapshot,
    ) -> Result<Arc<Schema>, ObserveError> {
        let label = self.label(process);
        let port = end.port;
        let Asked { socket, .. } =
            self.asking.ask(process, &label, Purpose::Definition { port })?;
        let mut text = Vec::new();
        for _ in 0..ANSWER_FRAMES_MAX {
            let (frame, _) = answer(&socket, &label)?;
            let Frame::Definition { offset, total, piece, .. } = frame else {
                return Err(unexpected(&label, frame));
            };
            if offset as usize != text.len() {
                break;
            }
            text.extend_from_slice(&piece);
            if text.len() == total as usize {
                break;
            }
        }
        let wrong = |reason: String| ObserveError::Definition { process: label.clone(), reason };
        let text = String::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
        let schema = Schema::parse(&end.type_name, &text);
        let schema = schema.map_err(|error| wrong(error.to_string()))?;
        if schema.type_hash().0 != end.type_hash {
            return Err(wrong("its definition is not of the type that it says".to_string()));
        }
        Ok(Arc::new(schema))
    }

    /// Starts to read the messages that one publisher writes to its ring, from the next one on.
    ///
    /// # Errors
    /// [`ObserveError::InsideChain`] when nobody outside its chain subscribes, so that its ring is
    /// not written; others as [`Observer::schema`].
    pub fn echo(
        &mut self,
        process: PeerName,
        publisher: &PortSnapshot,
    ) -> Result<Echo, ObserveError> {
        let on_ring = self.processes.values().any(|seen| {
            seen.view.entities().filter(|entity| entity.kind == kind::CONNECTION).any(|entity| {
                ConnectionDetail::decode(&entity.detail).is_some_and(|detail| {
                    detail.carrier == Carrier::Ring
                        && detail.publisher_process == process
                        && detail.publisher == publisher.port
                })
            })
        });
        if !on_ring && !publisher.qos.is_transient_local() {
            let (topic, process) = (publisher.topic.clone(), self.label(process));
            return Err(ObserveError::InsideChain { topic, process });
        }
        let schema = self.schema(process, publisher)?;
        let source = EchoSource {
            asking: Arc::clone(&self.asking),
            process,
            label: self.label(process),
            port: publisher.port,
            topic: publisher.topic.clone(),
            node: publisher.node.clone(),
        };
        Echo::open(source, schema)
    }

    /// Opens the trace of a process, which is asked once for its descriptors and does nothing more
    /// for it: what is traced is switched, and what was traced is read, also after its death, in
    /// shared memory. Strangers are not traced: they could fill the reader's memory.
    ///
    /// # Errors
    /// [`ObserveError`] when the process has gone, does not answer, has no trace memory, or is of a
    /// user who is not trusted.
    pub fn trace(&self, process: PeerName) -> Result<TraceView, ObserveError> {
        let label = self.label(process);
        let Asked { socket, stranger, .. } = self.asking.ask(process, &label, Purpose::Trace)?;
        if let Some(user) = stranger {
            return Err(ObserveError::Untrusted { process: label, user });
        }
        let (frame, fds) = answer(&socket, &label)?;
        let (Frame::Welcome { version: VERSION, .. }, [switch, record]) = (&frame, &fds[..]) else {
            return Err(unexpected(&label, frame));
        };
        Ok(TraceView::open(&label, switch.as_fd(), record.as_fd())?)
    }

    /// The level of a publisher of logs, after it was set if `wanted` says one: the least severe
    /// level that its node lets pass. Wakes the control thread of its process once.
    ///
    /// # Errors
    /// [`ObserveError`] when the process has gone, does not answer or does not trust us, or when
    /// the publisher publishes no logs.
    pub fn level(
        &self,
        process: PeerName,
        publisher: &PortSnapshot,
        wanted: Option<NonZeroU8>,
    ) -> Result<NonZeroU8, ObserveError> {
        let label = self.label(process);
        let purpose = Purpose::Level { port: publisher.port, level: wanted };
        let Asked { socket, .. } = self.asking.ask(process, &label, purpose)?;
        match answer(&socket, &label)?.0 {
            Frame::Level { level } => Ok(level),
            frame => Err(unexpected(&label, frame)),
        }
    }

    fn label(&self, process: PeerName) -> String {
        match self.processes.get(&process) {
            Some(seen) => format!("process `{}` (pid {})", seen.view.process(), seen.pid),
            None => format!("process {process}"),
        }
    }

    /// Opens a process's status table, which is in its answer.
    fn attach(&self, name: PeerName, expected: Expected) -> Result<Observed, ObserveError> {
        let label = expected.label(name);
        let Asked { socket, pid, uid, stranger } = expected.asked;
        let pidfd = socket.peer_pidfd();
        let answered = answer(&socket, &label);
        if matches!(answered, Err(ObserveError::Gone { .. })) && expected.closed + 1 >= CLOSED_MAX {
            return Err(ObserveError::Closes { process: label, user: uid });
        }
        let (frame, fds) = answered?;
        let (Frame::Welcome { version: VERSION, name: said, .. }, [status_table]) =
            (&frame, &fds[..])
        else {
            return Err(unexpected(&label, frame));
        };
        if *said != name {
            let (process, found, said) = (label, name, *said);
            return Err(ObserveError::OtherName { process, user: uid, found, said });
        }
        let view = StatusView::open(status_table.as_fd())?;
        let pid = if pid == 0 { view.pid() } else { pid };
        let socket = Some(socket).filter(|_| matches!(self.purpose, Purpose::Watch));
        Ok(Observed { name, view, pid, stranger, pidfd, socket })
    }
}

/// Why processes cannot be looked at (of a stranger?): what many have in common once, and only so
/// many, reasons about strangers last.
fn reasons(all: BTreeSet<(bool, String)>) -> Vec<String> {
    let is_cut = all.len() > REASONS_MAX;
    let mut told: Vec<String> = all.into_iter().take(REASONS_MAX).map(|(_, why)| why).collect();
    if is_cut {
        told.push(format!(
            "there are more than {REASONS_MAX} reasons why processes cannot be looked at; no more \
             are told"
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_reasons_are_told_and_a_strangers_displace_none_of_ours() {
        let of_stranger = (0..100).map(|number| (true, format!("a {number}")));
        let all: BTreeSet<_> = of_stranger.chain([(false, "z".to_owned())]).collect();
        let told = reasons(all);
        assert_eq!((told.len(), told[0].as_str()), (REASONS_MAX + 1, "z"));
        assert!(told[REASONS_MAX].contains("no more are told"), "{told:?}");
        assert_eq!(reasons(BTreeSet::from([(true, "a".to_owned())])), ["a"]);
    }
}
