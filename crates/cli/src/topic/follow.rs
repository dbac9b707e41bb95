//! The messages of a topic as an observer sees them go by: stamps and sizes, whoever publishes.
//!
//! Rings are read from outside; the publishers do nothing for it after their memory has been asked for.
//! Topics of a chain have no ring: of them only counters are known. It must not know what is made of it.

use super::{look_again, open, publishers};
use crate::arguments::WatchArguments;
use crate::output::{clean, say};
use crate::sight::sum;
use anyhow::Result;
use crossdock_comm::status_records::counter;
use crossdock_comm::{Echo, EchoError, GraphSnapshot, ObserveError, Observer, PeerName, Stamps};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Between two looks at rings: short enough for a ring of a few slots at 1 kHz, long for a processor.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);
/// Between two looks for publishers that came.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);
/// How long a publisher is left alone that did not hand out its ring.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Messages of one ring that are read before others have their turn.
const MESSAGES_PER_LOOK: usize = 4096;

/// Who publishes: process and port.
pub(super) type Source = (PeerName, u64);

/// A topic that is followed.
pub(super) struct Follow<'a> {
    topic: &'a str,
    observer: Observer,
    echoes: BTreeMap<Source, Echo>,
    /// Publishers whose rings cannot be read, and when they are asked for them again: at the next look
    /// where their status tables tell whether there is a ring, so that nobody is asked.
    silent: BTreeMap<Source, Instant>,
    /// What was said once and need not be said again.
    told: BTreeSet<String>,
    refresh_at: Instant,
    snapshot: GraphSnapshot,
}

impl<'a> Follow<'a> {
    /// Starts with the messages that come from now on. The topic must have a port.
    pub(super) fn start(topic: &'a str, watch: &WatchArguments) -> Result<Self> {
        let mut observer = open(watch)?;
        let mut told = BTreeSet::new();
        let snapshot = look_again(&mut observer, &mut told)?;
        super::must_exist(&snapshot, topic, watch.domain_id)?;
        let (echoes, silent) = Default::default();
        let refresh_at = Instant::now() + REFRESH_INTERVAL;
        let mut follow = Self { topic, observer, echoes, silent, told, refresh_at, snapshot };
        follow.attach();
        Ok(follow)
    }

    /// Opens the rings of publishers that came, and forgets those that went.
    fn attach(&mut self) {
        let there: BTreeMap<Source, _> = publishers(&self.snapshot, self.topic)
            .map(|(process, port)| ((process.name, port.port), port))
            .collect();
        self.echoes.retain(|source, _| there.contains_key(source));
        self.silent.retain(|source, _| there.contains_key(source));
        let now = Instant::now();
        for (source, port) in there {
            let is_early = self.silent.get(&source).is_some_and(|again| *again > now);
            if is_early || self.echoes.contains_key(&source) {
                continue;
            }
            match self.observer.echo(source.0, port) {
                Ok(echo) => {
                    self.silent.remove(&source);
                    self.echoes.insert(source, echo);
                }
                // It may get subscribers outside its chain later; counters are there meanwhile.
                Err(ObserveError::InsideChain { .. }) => {
                    self.silent.insert(source, now);
                }
                Err(error) => {
                    self.silent.insert(source, now + AGAIN_AFTER);
                    if self.told.insert(error.to_string()) {
                        say!("note: {}", clean(&error.to_string()));
                    }
                }
            }
        }
    }

    /// Gives `each` what goes by until `deadline`. Of payloads at most a header's stamp is read, and
    /// that only if `header` says so.
    pub(super) fn until(
        &mut self,
        deadline: Instant,
        header: bool,
        mut each: impl FnMut(Source, Stamps),
    ) -> Result<()> {
        loop {
            for (source, echo) in &mut self.echoes {
                drain(echo, header, |stamps| each(*source, stamps))?;
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(());
            }
            if now >= self.refresh_at {
                self.snapshot = look_again(&mut self.observer, &mut self.told)?;
                self.attach();
                self.refresh_at = now + REFRESH_INTERVAL;
            }
            std::thread::sleep(LOOK_INTERVAL.min(deadline.saturating_duration_since(now)));
        }
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

    /// Whether some publisher's messages go by unseen.
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

fn drain(echo: &mut Echo, header: bool, mut each: impl FnMut(Stamps)) -> Result<()> {
    for _ in 0..MESSAGES_PER_LOOK {
        match echo.next_stamps(header) {
            Ok(Some(stamps)) => each(stamps),
            Ok(None) => return Ok(()),
            // Its process has died or is stopped: others go on.
            Err(EchoError::Memory { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
