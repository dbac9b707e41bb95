//! The thread that looks at the graph, offers its topics and services, and moves messages of those
//! that somebody wants.
//!
//! It sleeps while nobody looks: the graph tells it of changes, and viewers of their wishes. While
//! a topic is shown it looks at rings a few hundred times a second, which their publishers do not
//! notice. One thread does all of it, so nothing here is locked but the words that wake it.

use crate::calls;
use crate::feed::{Arrived, Feed, Opener, Source, on_rings};
use crate::flow::{Flow, Given};
use crate::panel::Panel;
use crate::parameters::{EVENTS_TOPIC, EVENTS_TYPE, Followed, of_event};
use crate::studio::{Channel, Studio};
use crossdock_comm::{GraphSnapshot, Observer, Participant, PeerName, PortSnapshot};
use crossdock_msg::{JsonOptions, Schema};
use crossdock_sight::Definitions;
use foxglove::ChannelId;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Between two looks at rings: short for a person, long for a processor.
const TURN: Duration = Duration::from_millis(5);

/// Between two words about the time.
const TIME_INTERVAL: Duration = Duration::from_millis(50);

/// Between two looks at the graph while something is shown: connections come and go without a word.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What was seen in this time is what there is.
const FRESH: Duration = Duration::from_millis(100);

/// How long something is left alone that could not be opened.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Stamps that are further from the time of day are of simulated time.
const SIMULATED_FROM: Duration = Duration::from_secs(10);

/// Where ROS publishes simulated time.
const CLOCK_TOPIC: &str = "/clock";
const CLOCK_TYPE: &str = "rosgraph_msgs/msg/Clock";

/// What wakes the watcher.
#[derive(Default)]
pub(crate) struct Shared {
    signals: Mutex<Signals>,
    bell: Condvar,
    /// What pages show of topics.
    panels: Mutex<Vec<Arc<Panel>>>,
    /// Parameters that viewers follow.
    pub(crate) followed: Followed,
    /// How many viewers have subscribed to a channel.
    subscribed: Mutex<HashMap<ChannelId, usize>>,
    pub(crate) flow: Flow,
}

#[derive(Clone, Copy, Default)]
struct Signals {
    is_woken: bool,
    has_graph_changed: bool,
    is_over: bool,
}

impl Shared {
    /// Somebody came, went, or wants something else.
    pub(crate) fn wake(&self) {
        self.signal(|signals| signals.is_woken = true);
    }

    pub(crate) fn tell_graph_change(&self) {
        self.signal(|signals| signals.has_graph_changed = true);
    }

    /// Ends the watcher.
    pub(crate) fn end(&self) {
        self.signal(|signals| signals.is_over = true);
    }

    /// A page shows a topic from now on.
    pub(crate) fn add_panel(&self, panel: &Arc<Panel>) {
        self.lock_panels().push(Arc::clone(panel));
        self.wake();
    }

    pub(crate) fn remove_panel(&self, panel: &Arc<Panel>) {
        self.lock_panels().retain(|known| !Arc::ptr_eq(known, panel));
        self.wake();
    }

    /// A viewer subscribes to a channel, or does so no longer.
    pub(crate) fn follow_channel(&self, channel: ChannelId, change: impl FnOnce(usize) -> usize) {
        let mut subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        let viewers = subscribed.entry(channel).or_default();
        *viewers = change(*viewers);
        if *viewers == 0 {
            subscribed.remove(&channel);
        }
        drop(subscribed);
        self.wake();
    }

    /// Viewers that have subscribed to a channel.
    fn viewers_of(&self, channel: ChannelId) -> usize {
        let subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        subscribed.get(&channel).copied().unwrap_or(0)
    }

    /// Whether all is to end.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    fn panels(&self) -> Vec<Arc<Panel>> {
        self.lock_panels().clone()
    }

    fn lock_panels(&self) -> MutexGuard<'_, Vec<Arc<Panel>>> {
        self.panels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, set: impl FnOnce(&mut Signals)) {
        set(&mut self.lock());
        self.bell.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Signals> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until there is a signal, at most for `timeout`.
    fn wait(&self, timeout: Option<Duration>) -> Signals {
        let is_quiet = |it: &mut Signals| !it.is_woken && !it.has_graph_changed && !it.is_over;
        let signals = self.lock();
        let mut signals = match timeout {
            Some(timeout) => {
                let waited = self.bell.wait_timeout_while(signals, timeout, is_quiet);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.bell.wait_while(signals, is_quiet);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        let seen = *signals;
        *signals = Signals { is_over: seen.is_over, ..Signals::default() };
        seen
    }
}

/// A topic that is offered.
struct Topic {
    schema: Arc<Schema>,
    channel: Channel,
    sources: Vec<Source>,
    /// While somebody wants it.
    feed: Option<Feed>,
    /// When it may be opened again after a failure.
    again_at: Option<Instant>,
}

/// See the module.
pub(crate) struct Watcher {
    participant: Participant,
    observer: Observer,
    node: String,
    definitions: Definitions,
    studio: Studio,
    shared: Arc<Shared>,
    topics: BTreeMap<String, Topic>,
    /// Types by hash; each is asked for once.
    schemas: BTreeMap<[u8; 32], Arc<Schema>>,
    /// Services that are offered, with the hash of their type.
    services: BTreeMap<String, [u8; 32]>,
    clock: Clock,
    given: Given,
    /// How many messages were not given when that was said last, and when.
    told_left_out: (u64, Option<Instant>),
    /// When something is asked for again that did not answer.
    again_at: Option<Instant>,
    cdr: Vec<u8>,
}

impl Watcher {
    pub(crate) fn new(
        participant: Participant,
        observer: Observer,
        node: String,
        definitions: Definitions,
        studio: Studio,
        shared: Arc<Shared>,
    ) -> Self {
        let (topics, schemas, services) = Default::default();
        let (clock, given, told_left_out, again_at, cdr) = Default::default();
        Self {
            participant,
            observer,
            node,
            definitions,
            studio,
            shared,
            topics,
            schemas,
            services,
            clock,
            given,
            told_left_out,
            again_at,
            cdr,
        }
    }

    /// Works until [`Shared::end`].
    pub(crate) fn run(mut self) {
        let mut look_at = Instant::now();
        let mut tell_at = Instant::now();
        loop {
            let now = Instant::now();
            let is_shown = self.topics.values().any(|topic| topic.feed.is_some());
            let has_clients = self.studio.has_clients();
            let timeout = match (is_shown, has_clients, self.again_at) {
                (true, ..) => Some(TURN),
                (false, true, _) => Some(TIME_INTERVAL),
                (false, false, again_at) => again_at.map(|at| at.saturating_duration_since(now)),
            };
            let signals = self.shared.wait(timeout);
            if signals.is_over {
                return;
            }
            let now = Instant::now();
            let is_due = is_shown && look_at <= now;
            // Connections tell nobody when they come, and how a topic is read depends on them.
            let is_old = look_at.saturating_duration_since(now) + FRESH < LOOK_INTERVAL;
            let is_asked_for = signals.is_woken && is_old;
            let is_again = self.again_at.is_some_and(|at| at <= now);
            if signals.has_graph_changed || is_due || is_asked_for || is_again {
                self.look();
                look_at = now + LOOK_INTERVAL;
            }
            self.move_messages(has_clients);
            if has_clients && tell_at <= now {
                self.studio.tell_time(self.clock.now_ns(wall_ns()));
                self.tell_left_out(now);
                tell_at = now + TIME_INTERVAL;
            }
        }
    }

    /// Looks at the graph, and offers what is there.
    fn look(&mut self) {
        self.again_at = None;
        // A meeting place that cannot be read now is looked at again.
        let Ok(snapshot) = self.observer.snapshot() else { return self.again() };
        self.look_at_topics(&snapshot);
        self.look_at_services(&snapshot);
        self.studio.show_graph(&snapshot);
    }

    /// Tells viewers of messages that they all together take too slowly.
    fn tell_left_out(&mut self, now: Instant) {
        let (told, at) = self.told_left_out;
        let left_out = self.given.left_out();
        if left_out > told && at.is_none_or(|at| now.duration_since(at) >= LOOK_INTERVAL) {
            self.studio.tell_left_out(left_out);
            self.told_left_out = (left_out, Some(now));
        }
    }

    fn again(&mut self) {
        self.again_at = Some(Instant::now() + AGAIN_AFTER);
    }

    fn look_at_topics(&mut self, snapshot: &GraphSnapshot) {
        let on_rings = on_rings(snapshot, self.participant.peer_name(), &self.node);
        let mut published: BTreeMap<&str, Vec<Source>> = BTreeMap::new();
        for process in &snapshot.processes {
            for port in process.publishers.iter().filter(|port| !is_hidden(&port.topic)) {
                let is_on_ring = on_rings.contains(&(process.name, port.port));
                let source = Source { process: process.name, port: port.clone(), is_on_ring };
                published.entry(&port.topic).or_default().push(source);
            }
        }
        let of_type =
            |topic: &Topic, port: &PortSnapshot| port.type_hash == topic.schema.type_hash().0;
        let studio = &self.studio;
        self.topics.retain(|name, topic| {
            let sources = published.get(name.as_str()).into_iter().flatten();
            topic.sources =
                sources.filter(|source| of_type(topic, &source.port)).cloned().collect();
            if topic.sources.is_empty() {
                topic.close(name, studio);
            }
            !topic.sources.is_empty()
        });
        for (name, sources) in published {
            if !self.topics.contains_key(name) {
                self.offer(name, sources);
            }
        }
        let Self { participant, observer, node, topics, .. } = self;
        let mut opener = Opener { participant, observer, node };
        for topic in topics.values_mut() {
            let Some(feed) = &mut topic.feed else { continue };
            // What no longer fits, or fails, is opened anew.
            if !matches!(feed.follow(&topic.sources, &mut opener), Ok(true)) {
                topic.feed = None;
            }
        }
    }

    /// Offers a topic of the type that its first publisher has.
    fn offer(&mut self, name: &str, mut sources: Vec<Source>) {
        let Some(Source { process, port, .. }) = sources.first() else { return };
        let Some(schema) = self.schema(*process, &port.clone()) else { return self.again() };
        let hash = schema.type_hash().0;
        sources.retain(|source| source.port.type_hash == hash);
        if let Ok(channel) = self.studio.offer(name, &schema) {
            let topic = Topic { schema, channel, sources, feed: None, again_at: None };
            self.topics.insert(name.to_owned(), topic);
        }
    }

    /// The type of a publisher: its process is asked once for each type.
    fn schema(&mut self, process: PeerName, port: &PortSnapshot) -> Option<Arc<Schema>> {
        if let Some(known) = self.schemas.get(&port.type_hash) {
            return Some(Arc::clone(known));
        }
        let schema = self.observer.schema(process, port).ok()?;
        self.schemas.insert(port.type_hash, Arc::clone(&schema));
        Some(schema)
    }

    fn look_at_services(&mut self, snapshot: &GraphSnapshot) {
        let mut served: BTreeMap<&str, &PortSnapshot> = BTreeMap::new();
        for process in &snapshot.processes {
            for port in process.servers.iter().filter(|port| !is_hidden(&port.topic)) {
                served.entry(&port.topic).or_insert(port);
            }
        }
        let Self { studio, services, .. } = self;
        services.retain(|name, hash| {
            let stays = served.get(name.as_str()).is_some_and(|port| port.type_hash == *hash);
            if !stays {
                studio.remove_service(name);
            }
            stays
        });
        for (name, port) in served {
            if self.services.contains_key(name) {
                continue;
            }
            let found = self.definitions.service(&port.type_name, port.type_hash);
            let Some(schema) = found else { continue };
            let service = calls::service(&self.participant, &self.node, name, schema);
            if self.studio.add_service(service).is_ok() {
                self.services.insert(name.to_owned(), port.type_hash);
            }
        }
    }

    /// Opens and closes feeds as they are wanted, and moves what is new.
    fn move_messages(&mut self, has_clients: bool) {
        let Self { participant, observer, node, topics, studio, clock, given, cdr, shared, .. } =
            self;
        let (panels, are_followed) = (shared.panels(), shared.followed.are_any());
        let mut opener = Opener { participant, observer, node };
        for (name, topic) in topics {
            let is_clock = name == CLOCK_TOPIC && topic.schema.type_name() == CLOCK_TYPE;
            let panels: Vec<&Arc<Panel>> =
                panels.iter().filter(|panel| panel.topic() == name).collect();
            let tells_parameters =
                are_followed && name == EVENTS_TOPIC && topic.schema.type_name() == EVENTS_TYPE;
            let is_wanted = topic.channel.is_wanted()
                || !panels.is_empty()
                || is_clock && has_clients
                || tells_parameters;
            if is_wanted {
                topic.open(name, &mut opener, studio);
            } else {
                topic.close(name, studio);
            }
            let Topic { channel, feed: Some(feed), .. } = topic else { continue };
            feed.pump(&mut |arrived| {
                clock.see(&arrived, is_clock);
                panels.iter().for_each(|panel| panel.take(&arrived));
                if tells_parameters {
                    let options = JsonOptions::shown(usize::MAX);
                    if let Ok(event) = arrived.schema.to_json_with(arrived.block, options) {
                        studio.tell_parameters(of_event(&event));
                    }
                }
                // A message that is damaged is no message.
                if channel.is_wanted() && arrived.schema.encode_cdr(arrived.block, cdr).is_ok() {
                    let viewers = || shared.viewers_of(channel.id());
                    if given.may_give(cdr.len(), viewers, &shared.flow) {
                        channel.send(cdr, arrived.stamp_ns);
                    }
                }
            });
            panels.iter().for_each(|panel| panel.flush());
        }
        let failed = self.topics.values().filter_map(|topic| topic.again_at).min();
        self.again_at = [self.again_at, failed].into_iter().flatten().min();
    }
}

impl Topic {
    fn open(&mut self, name: &str, opener: &mut Opener<'_>, studio: &Studio) {
        if self.feed.is_some() || self.again_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        match Feed::open(name, &self.sources, opener) {
            Ok(feed) => {
                if feed.is_subscriber() && self.sources.iter().any(|source| !source.is_on_ring) {
                    studio.note(name, inside_chain(name));
                }
                self.feed = Some(feed);
                self.again_at = None;
            }
            Err(_) => self.again_at = Some(Instant::now() + AGAIN_AFTER),
        }
    }

    fn close(&mut self, name: &str, studio: &Studio) {
        self.again_at = None;
        if self.feed.take().is_some_and(|feed| feed.is_subscriber()) {
            studio.take_note_back(name);
        }
    }
}

fn inside_chain(topic: &str) -> String {
    format!(
        "{topic} is read by nobody outside its chain, so the view subscribes while it is shown: its \
         publisher writes each message to its ring"
    )
}

/// What the time of the graph is: that of `/clock`, else that of messages, else the time of day.
#[derive(Default)]
struct Clock {
    /// What `/clock` said last.
    told_ns: Option<u64>,
    /// The newest stamp of a message.
    newest_ns: u64,
}

impl Clock {
    fn see(&mut self, arrived: &Arrived<'_>, is_clock: bool) {
        self.newest_ns = arrived.stamp_ns;
        if is_clock {
            let field = arrived.schema.field_json(arrived.block, "clock", JsonOptions::shown(1));
            self.told_ns = field.ok().as_ref().and_then(time_ns).or(self.told_ns);
        }
    }

    fn now_ns(&self, wall_ns: u64) -> u64 {
        let is_simulated = u128::from(self.newest_ns.abs_diff(wall_ns)) > SIMULATED_FROM.as_nanos();
        match (self.told_ns, self.newest_ns) {
            (Some(told_ns), _) => told_ns,
            (None, newest_ns) if newest_ns != 0 && is_simulated => newest_ns,
            (None, _) => wall_ns,
        }
    }
}

/// A `builtin_interfaces/Time` in ns.
fn time_ns(value: &Value) -> Option<u64> {
    let seconds = value.get("sec")?.as_u64()?;
    Some(seconds * 1_000_000_000 + value.get("nanosec")?.as_u64()?)
}

fn wall_ns() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// Whether a name has a part that begins with `_`, as hidden ones in ROS 2, or is that of a topic
/// behind a service.
fn is_hidden(name: &str) -> bool {
    name.contains("/_") || !name.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 1_700_000_000_000_000_000;

    #[test]
    fn the_time_is_that_of_the_run() {
        let wall = Clock::default();
        assert_eq!(wall.now_ns(DAY), DAY);
        let live = Clock { newest_ns: DAY - 3, ..Clock::default() };
        assert_eq!(live.now_ns(DAY), DAY);
        let simulated = Clock { newest_ns: 5_000, ..Clock::default() };
        assert_eq!(simulated.now_ns(DAY), 5_000);
        let told = Clock { newest_ns: 5_000, told_ns: Some(7) };
        assert_eq!(told.now_ns(DAY), 7);
    }

    #[test]
    fn a_signal_is_seen_once_and_the_end_again_and_again() {
        let shared = Shared::default();
        shared.tell_graph_change();
        assert!(shared.wait(None).has_graph_changed);
        assert!(!shared.wait(Some(Duration::ZERO)).has_graph_changed);
        shared.end();
        assert!(shared.wait(None).is_over && shared.wait(None).is_over);
    }
}
