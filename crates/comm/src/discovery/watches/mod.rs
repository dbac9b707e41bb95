//! Who watches that messages come before their deadline, and that publishers are alive.
//!
//! The control thread does, when its sleep ends for it: no thread is added, and no message. What
//! it looks at is written anyway: the number and the stamp of each message. Beside them a publisher
//! has one word that says when it was alive:
//! - of *automatic* liveliness with a lease, its control thread writes it four times in each lease,
//!   while somebody is connected through the ring. So a process that is stopped, or whose control
//!   thread hangs, is found out. That a process has died or a publisher has gone is heard at once;
//! - of liveliness *by topic*, the publisher writes it when its node says so, and each message
//!   counts as well.
//!
//! 1. A deadline runs from the first message on, and goes on when the publisher has gone: a
//!    subscriber that waits for messages hears that they do not come.
//! 2. A lease is the publisher's own, as offered. It begins with the connection, and at the
//!    publisher with its creation. Without a lease a publisher is alive while it is connected.
//! 3. A look is due when the earliest deadline or lease may end, and a millisecond after the last
//!    look at the soonest: so many ports cost no more wake-ups than one.
//! 4. Nothing is due while no port has a deadline or a lease.

pub(crate) mod timing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossdock_shm::RingControl;
use crossdock_shm::status::CounterReader;

use crate::discovery::port_events::PortEvents;
use crate::wire::qos::{Liveliness, Qos, limit};
use timing::{Deadline, Lease, Now, Recurring, Turn};

/// Between two looks.
const STEP: Duration = Duration::from_millis(1);
/// How often in each lease a publisher of automatic liveliness says that it is alive.
const BEATS: u32 = 4;

/// What tells of a publisher's life.
pub(crate) enum Pulse {
    /// One of this process.
    Own(OwnPulse),
    /// Its ring, wherever it is.
    Ring {
        ring: crossdock_shm::Pulse,
        /// The number of the last message that the subscriber does not get.
        before: u64,
    },
}

/// The same of a publisher of this process, whose ring is not written while nobody reads it.
#[derive(Clone)]
pub(crate) struct OwnPulse {
    pub(crate) control: Arc<RingControl>,
    /// How many messages it has published, and the stamp of the last.
    pub(crate) messages: CounterReader,
    pub(crate) newest_ns: CounterReader,
}

/// One look at a publisher.
struct Signs {
    /// Changes with each message: its number, and inside the process its stamp, too, which is
    /// written after that. Messages may have the same stamp.
    message: [u64; 2],
    stamp_ns: u64,
    alive_ns: u64,
}

impl Pulse {
    fn signs(&self) -> Signs {
        match self {
            Pulse::Own(OwnPulse { control, messages, newest_ns }) => {
                let (stamp_ns, alive_ns) = (newest_ns.value(), control.alive_ns());
                Signs { message: [messages.value(), stamp_ns], stamp_ns, alive_ns }
            }
            Pulse::Ring { ring, .. } => {
                let crossdock_shm::Signs { seq, stamp_ns, alive_ns } = ring.signs();
                Signs { message: [seq, 0], stamp_ns, alive_ns }
            }
        }
    }
}

/// A publisher that is looked at.
struct Source {
    pulse: Pulse,
    message: Recurring<[u64; 2]>,
    alive: Recurring<u64>,
    lease: Option<Lease>,
}

impl Source {
    fn new(pulse: Pulse, lease: Option<Duration>, now: Now) -> Source {
        let Signs { message, alive_ns, .. } = pulse.signs();
        let before = match &pulse {
            Pulse::Own(_) => message,
            Pulse::Ring { before, .. } => [*before, 0],
        };
        Source {
            message: Recurring::since(before, now),
            alive: Recurring::since(alive_ns, now),
            lease: lease.map(|duration| Lease::new(duration, now)),
            pulse,
        }
    }

    fn look(&mut self, now: Now) -> Option<Turn> {
        let Signs { message, stamp_ns, alive_ns } = self.pulse.signs();
        let message = self.message.look(message, stamp_ns, now);
        let alive = self.alive.look(alive_ns, alive_ns, now);
        self.lease.as_mut()?.look(message.max(alive), now)
    }
}

/// A publisher of this process with a deadline or a lease.
struct WatchedPublisher {
    gid: [u8; 16],
    source: Source,
    deadline: Option<Deadline>,
    /// Of automatic liveliness: how often it is said, and when next.
    beats: Option<(Duration, Instant)>,
    control: Arc<RingControl>,
    events: PortEvents,
}

impl WatchedPublisher {
    fn look(&mut self, now: Now, next: &mut Next) -> bool {
        if let Some((every, due)) = &mut self.beats
            && self.control.peers() > 0
        {
            if *due <= now.at {
                self.control.say_alive(now.wall_ns);
                *due = now.at + *every;
            }
            next.at(*due);
        }
        let turn = self.source.look(now);
        let is_lost = matches!(turn, Some(Turn::Lost | Turn::BackAndLost));
        if is_lost {
            self.events.liveliness_lost();
        }
        if let Some(lease) = &self.source.lease {
            next.at(lease.next_look(now));
        }
        let missed = count_missed(&mut self.deadline, self.source.message.last(), now, next);
        self.events.deadline_missed(missed);
        is_lost || missed > 0
    }
}

/// A subscriber of this process with a deadline, or with publishers that have a lease.
struct WatchedSubscriber {
    deadline: Option<Deadline>,
    /// When the last message came, from whatever publisher.
    last: Option<Instant>,
    sources: BTreeMap<[u8; 16], Source>,
    events: PortEvents,
}

impl WatchedSubscriber {
    fn look(&mut self, now: Now, next: &mut Next) -> bool {
        let mut has_news = false;
        for (gid, source) in &mut self.sources {
            let turn = source.look(now);
            self.last = self.last.max(source.message.last());
            match turn {
                Some(Turn::Lost) => self.events.publisher_silent(*gid),
                Some(Turn::Back) => self.events.publisher_back(*gid),
                // As it was.
                Some(Turn::BackAndLost) | None => {}
            }
            has_news |= turn.is_some();
            if let Some(lease) = &source.lease {
                next.at(lease.next_look(now));
            }
        }
        let missed = count_missed(&mut self.deadline, self.last, now, next);
        self.events.deadline_missed(missed);
        has_news || missed > 0
    }
}

fn count_missed(
    deadline: &mut Option<Deadline>,
    last: Option<Instant>,
    now: Now,
    next: &mut Next,
) -> u64 {
    let Some(deadline) = deadline else { return 0 };
    let missed = deadline.missed(last, now);
    next.at(deadline.next_look(now));
    missed
}

/// The earliest time of several.
#[derive(Default)]
struct Next(Option<Instant>);

impl Next {
    fn at(&mut self, time: Instant) {
        self.0 = Some(self.0.map_or(time, |before| before.min(time)));
    }
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Watches {
    publishers: BTreeMap<u64, WatchedPublisher>,
    subscribers: BTreeMap<u64, WatchedSubscriber>,
    due: Option<Instant>,
    /// The control thread does not know that a look is due.
    is_new: bool,
}

impl Watches {
    /// A publisher of this process was created.
    pub(crate) fn add_publisher(
        &mut self,
        (port, gid): (u64, [u8; 16]),
        qos: &Qos,
        pulse: OwnPulse,
        events: PortEvents,
    ) {
        let (deadline, lease) = (limit(qos.deadline), limit(qos.lease));
        if deadline.is_none() && lease.is_none() {
            return;
        }
        let now = Now::read();
        let is_manual = qos.liveliness == Liveliness::ManualByTopic;
        let beats = lease.filter(|_| !is_manual).map(|lease| (lease / BEATS, now.at));
        let control = Arc::clone(&pulse.control);
        let source = Source::new(Pulse::Own(pulse), lease.filter(|_| is_manual), now);
        let deadline = deadline.map(Deadline::new);
        let watched = WatchedPublisher { gid, source, deadline, beats, control, events };
        self.publishers.insert(port, watched);
        self.look_soon();
    }

    /// It was dropped.
    pub(crate) fn remove_publisher(&mut self, port: u64) {
        let Some(WatchedPublisher { gid, .. }) = self.publishers.remove(&port) else { return };
        for subscriber in self.subscribers.values_mut() {
            subscriber.sources.remove(&gid);
        }
    }

    /// A subscriber was attached to a publisher of this process.
    pub(crate) fn attached(&mut self, publisher: u64) {
        if self.publishers.get(&publisher).is_some_and(|known| known.beats.is_some()) {
            self.look_soon();
        }
    }

    /// A subscriber of this process was connected to a publisher.
    pub(crate) fn connected(
        &mut self,
        (port, requested, events): (u64, &Qos, &PortEvents),
        (gid, offered): ([u8; 16], &Qos),
        pulse: Pulse,
    ) {
        let deadline = limit(requested.deadline);
        // Inside one executor, a control thread that hangs could not tell of itself.
        let is_watched =
            offered.liveliness == Liveliness::ManualByTopic || matches!(pulse, Pulse::Ring { .. });
        let lease = limit(offered.lease).filter(|_| is_watched);
        if deadline.is_none() && lease.is_none() {
            return;
        }
        let watched = self.subscribers.entry(port).or_insert_with(|| WatchedSubscriber {
            deadline: deadline.map(Deadline::new),
            last: None,
            sources: BTreeMap::new(),
            events: events.clone(),
        });
        watched.sources.insert(gid, Source::new(pulse, lease, Now::read()));
        self.look_soon();
    }

    /// They are connected no more.
    pub(crate) fn parted(&mut self, subscriber: u64, publisher: [u8; 16]) {
        if let Some(watched) = self.subscribers.get_mut(&subscriber) {
            watched.sources.remove(&publisher);
        }
    }

    /// A subscriber of this process was dropped.
    pub(crate) fn remove_subscriber(&mut self, port: u64) {
        self.subscribers.remove(&port);
    }

    fn look_soon(&mut self) {
        self.due = Some(Instant::now());
        self.is_new = true;
    }

    /// Must the control thread be woken to look?
    pub(crate) fn take_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// How long the control thread may sleep; `None`: for ever.
    pub(crate) fn patience(&self) -> Option<Duration> {
        Some(self.due?.saturating_duration_since(Instant::now()))
    }

    /// Looks, if it is time; true: something was missed, lost or found again.
    pub(crate) fn look(&mut self) -> bool {
        if self.due.is_none_or(|due| due > Instant::now()) {
            return false;
        }
        self.is_new = false;
        let now = Now::read();
        let (mut next, mut has_news) = (Next::default(), false);
        // Publishers first: what they say now is seen by subscribers beside them.
        for publisher in self.publishers.values_mut() {
            has_news |= publisher.look(now, &mut next);
        }
        for subscriber in self.subscribers.values_mut() {
            has_news |= subscriber.look(now, &mut next);
        }
        self.due = next.0.map(|next| next.max(now.at + STEP));
        has_news
    }
}
