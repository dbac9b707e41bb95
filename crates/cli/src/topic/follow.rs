//! The messages of a topic as an observer sees them go by: stamps and sizes, of all publishers.
//!
//! Rings are read from outside; the publishers do nothing for it after their memory has been asked
//! for. Topics of a chain have no ring: of them the counters are read so often that each message is
//! seen unless two come between two looks.

use super::{is_far, look_again, open, publishers};
use crate::arguments::WatchArguments;
use crate::output;
use crate::output::{clean, say};
use anyhow::Result;
use crossdock_comm::status_records::counter;
use crossdock_comm::{
    Echo, EchoError, GraphSnapshot, Maker, ObserveError, Observer, PeerName, PortKind,
    PortSnapshot, Stamps,
};
use crossdock_sight::sum;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Between two looks at rings: short enough for a ring of a few slots at 1 kHz, long for a
/// processor.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);
/// Between two looks for publishers that came.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);
/// How long a publisher is left alone that did not hand out its ring.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Messages of one ring that are read before others have their turn.
const MESSAGES_PER_LOOK: usize = 4096;

/// Of a topic whose publishers are all on other computers.
const FAR: &str = "comes over the network, which carries it while somebody here subscribes to it";

/// Who publishes: process and port.
pub(super) type Source = (PeerName, u64);

/// A topic that is followed.
pub(super) struct Follow<'a> {
    topic: &'a str,
    observer: Observer,
    echoes: BTreeMap<Source, Echo>,
    /// Publishers whose rings cannot be read.
    silent: BTreeMap<Source, Silent>,
    /// Publishers whose rings are damaged.
    damaged: BTreeSet<Source>,
    /// What was said once and need not be said again.
    told: BTreeSet<String>,
    refresh_at: Instant,
    snapshot: GraphSnapshot,
}

/// A publisher whose ring cannot be read.
struct Silent {
    /// When it is asked again: at the next look where its status table tells whether there is a
    /// ring, so that nobody is asked.
    again: Instant,
    /// As it was at the last look.
    port: PortSnapshot,
}

impl Silent {
    /// The message that has come since the last look, if it is one. Of several only the last is
    /// known.
    fn look(&mut self, observer: &Observer, process: PeerName) -> Option<Stamps> {
        let now = observer.counters(process, &self.port)?;
        // Counters are written one after the other: the next look tells if they change just now.
        if observer.counters(process, &self.port) != Some(now) {
            return None;
        }
        let before = std::mem::replace(&mut self.port.counters, now);
        let seq = now[counter::MESSAGES];
        let bytes = now[counter::BYTES].checked_sub(before[counter::BYTES])?;
        (seq == before[counter::MESSAGES].wrapping_add(1)).then(|| Stamps {
            seq,
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            stamp_ns: now[counter::NEWEST_NS],
            header: None,
        })
    }
}

/// Sleeps until the next look, at most until `deadline`. False: that is over.
pub(super) fn pause(deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    std::thread::sleep(LOOK_INTERVAL.min(left));
    !left.is_zero()
}

impl<'a> Follow<'a> {
    /// Starts with the messages that come from now on. The topic must have a port.
    pub(super) fn start(topic: &'a str, watch: &WatchArguments) -> Result<Self> {
        let mut observer = open(watch)?;
        let mut told = BTreeSet::new();
        let snapshot = look_again(&mut observer, &mut told)?;
        super::must_exist(&snapshot, topic, watch.domain_id)?;
        let (echoes, silent, damaged) = Default::default();
        let refresh_at = Instant::now() + REFRESH_INTERVAL;
        let mut follow =
            Self { topic, observer, echoes, silent, damaged, told, refresh_at, snapshot };
        follow.attach();
        Ok(follow)
    }

    /// Opens the rings of publishers that came, and forgets those that went.
    fn attach(&mut self) {
        self.tell_if_far();
        let there: BTreeMap<Source, _> = publishers(&self.snapshot, self.topic)
            .map(|(process, port)| ((process.name, port.port), port.clone()))
            .collect();
        self.echoes.retain(|source, _| there.contains_key(source));
        self.silent.retain(|source, _| there.contains_key(source));
        self.damaged.retain(|source| there.contains_key(source));
        let now = Instant::now();
        for (source, port) in there {
            let is_early = self.silent.get(&source).is_some_and(|silent| silent.again > now);
            if is_early || self.echoes.contains_key(&source) || self.damaged.contains(&source) {
                continue;
            }
            match self.observer.echo(source.0, &port) {
                Ok(echo) => {
                    self.silent.remove(&source);
                    self.echoes.insert(source, echo);
                }
                // It may get subscribers outside its chain later; counters are there meanwhile.
                Err(ObserveError::InsideChain { .. }) => self.is_silent(source, port, now),
                Err(error) => {
                    self.is_silent(source, port, now + AGAIN_AFTER);
                    if self.told.insert(error.to_string()) {
                        say!("note: {}", clean(&error.to_string()));
                    }
                }
            }
        }
    }

    /// Says why nothing comes if all publishers are elsewhere and nobody here wants their messages.
    fn tell_if_far(&mut self) {
        let Self { topic, snapshot, told, .. } = self;
        let subscribers = snapshot.ports(PortKind::Subscriber);
        let mut wishes =
            subscribers.filter(|(_, port)| port.topic == *topic && port.maker != Maker::Gateway);
        let is_unheard = is_far(snapshot, topic) && wishes.next().is_none();
        if is_unheard && told.insert(FAR.to_owned()) {
            let topic = clean(topic);
            say!(
                "note: {topic} {FAR}, and nobody does; subscribe in another terminal: `crossdock topic \
                 echo {topic}`"
            );
        }
    }

    fn is_silent(&mut self, source: Source, port: PortSnapshot, again: Instant) {
        self.silent.entry(source).or_insert(Silent { again, port }).again = again;
    }

    /// Gives `each` what has gone by since the last look. Of payloads at most a header's stamp is
    /// read, and that only if `header` says so. A publisher whose ring is damaged is told once and
    /// passed over; if it is the last one, that is the error.
    pub(super) fn look(
        &mut self,
        header: bool,
        mut each: impl FnMut(Source, Stamps),
    ) -> Result<()> {
        let mut damaged = Vec::new();
        for (source, echo) in &mut self.echoes {
            if let Err(error) = drain(echo, header, |stamps| each(*source, stamps)) {
                damaged.push((*source, error));
            }
        }
        for (source, error) in damaged {
            self.echoes.remove(&source);
            self.damaged.insert(source);
            if self.echoes.is_empty() && self.silent.is_empty() {
                return Err(error.into());
            }
            output::warn([&error.to_string()]);
        }
        for (source, silent) in &mut self.silent {
            if let Some(stamps) = silent.look(&self.observer, source.0) {
                each(*source, stamps);
            }
        }
        let now = Instant::now();
        if now >= self.refresh_at {
            self.snapshot = look_again(&mut self.observer, &mut self.told)?;
            self.attach();
            self.refresh_at = now + REFRESH_INTERVAL;
        }
        Ok(())
    }

    /// Messages and bytes that all publishers have counted.
    pub(super) fn counted(&mut self) -> Result<[u64; 2]> {
        self.snapshot = self.observer.snapshot()?;
        let snapshot = &self.snapshot;
        let count = |index: usize| {
            sum(publishers(snapshot, self.topic).map(|(_, port)| port.counters[index]))
        };
        Ok([count(counter::MESSAGES), count(counter::BYTES)])
    }

    /// The processes as they were at the last look.
    pub(super) fn snapshot(&self) -> &GraphSnapshot {
        &self.snapshot
    }

    /// Whether some publisher's messages are in no ring that can be read.
    pub(super) fn is_partial(&self) -> bool {
        !self.silent.is_empty()
    }

    /// Whether the messages have a header, where a ring can be read.
    pub(super) fn has_header(&self) -> Option<bool> {
        let echo = self.echoes.values().next()?;
        Some(echo.schema().stamp_offset().is_some())
    }

    /// Messages that were overtaken before they were seen.
    pub(super) fn missed(&self) -> u64 {
        sum(self.echoes.values().map(Echo::missed))
    }
}

fn drain(echo: &mut Echo, header: bool, mut each: impl FnMut(Stamps)) -> Result<(), EchoError> {
    for _ in 0..MESSAGES_PER_LOOK {
        match echo.next_stamps(header) {
            Ok(Some(stamps)) => each(stamps),
            Ok(None) => return Ok(()),
            Err(error) if error.is_final() => return Err(error),
            // Its process has died or is stopped: others go on.
            Err(_) => {}
        }
    }
    Ok(())
}
