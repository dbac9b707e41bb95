//! Messages of one topic that come from the network.
//!
//! Each publisher over there has a publisher here, of its node's name and with its quality of
//! service. While somebody here subscribes, so does the bridge over there, once for all publishers
//! of the topic; a message is decoded straight into the memory from which subscribers read it.
//! Threads of the network's links do that: none of them waits, but for a publisher that keeps all
//! messages, and then for a bounded time.

use crate::counters::{add, count};
use crate::kept::KeepingPublisher;
use crate::numbers::Numbers;
use crate::shared::{Shared, wall_ns};
use crossdock_comm::{
    FreePublisherOptions, Participant, PortEvent, PortEvents, PublishCdrError, Qos, Uncarried,
};
use crossdock_msg::Schema;
use crossdock_wire::{Attachment, Gid};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Locality, Sample, SampleKind};
use zenoh::{Session, Wait as _};
use zenoh_ext::{AdvancedSubscriber, AdvancedSubscriberBuilderExt as _, HistoryConfig};

/// Messages of publishers whose token is on its way or that are not connected yet, their bytes, and
/// how long they wait for that.
const PENDING_MAX: usize = 1024;
const PENDING_BYTES_MAX: usize = 64 << 20;
const PENDING_FOR: Duration = Duration::from_secs(2);

/// A GID that no token has after this time is none that is made of a token, as some peers have it:
/// its messages are those of a publisher of the topic.
pub(crate) const STRANGE_AFTER: Duration = Duration::from_millis(200);

/// How long a publisher here may take to be connected with those who want its messages. Some are
/// never: their type or their limits do not fit.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// GIDs without a token that are remembered, at most.
pub(crate) const STRANGE_MAX: usize = 1024;

/// How long messages are remembered when a subscription takes the place of another one, and how
/// many at most: as long as the network may take to answer what publishers have kept.
const RECENT_FOR: Duration = Duration::from_secs(2);
const RECENT_MAX: usize = 100_000;

/// Messages that are asked of a publisher that keeps them, at most.
const HISTORY_MAX: usize = 1000;

/// Bytes that a thread of a link keeps for messages that come in pieces.
const WHOLE_KEPT_MAX: usize = 16 << 20;

/// What a subscription over the network is.
#[expect(dead_code, reason = "held for as long as messages are to come")]
enum Subscription {
    Plain(Subscriber<()>),
    /// It gets what publishers have kept, too.
    WithHistory(AdvancedSubscriber<()>),
}

/// A topic that nodes over there publish.
pub(crate) struct Incoming {
    entries: Arc<Entries>,
    schema: Arc<Schema>,
    topic: String,
    key: String,
    subscription: Option<Subscription>,
    has_history: bool,
    /// Since when somebody here is not connected, and of how many.
    unreached: Option<(Instant, usize)>,
}

/// The publishers here that stand for those over there.
struct Entries {
    by_gid: Mutex<BTreeMap<Gid, Entry>>,
    /// Whose publisher stands for a GID without a token.
    strange: Mutex<BTreeMap<Gid, Gid>>,
    pending: Mutex<Pending>,
    /// Whether there are pending messages. Whoever has put one there puts the next ones behind it.
    some_wait: AtomicBool,
    /// What has come in the last moment, while a subscription takes the place of another one.
    recent: Mutex<Option<Recent>>,
    has_recent: AtomicBool,
    numbers: Mutex<Numbers>,
    /// The session as timestamps name it: what is kept of our own publishers is answered, too, if
    /// the network is asked for what publishers have kept.
    own: [u8; 16],
    shared: Arc<Shared>,
}

/// Messages that wait for their publisher, and their bytes.
#[derive(Default)]
struct Pending {
    messages: VecDeque<(Instant, Attachment, Vec<u8>)>,
    bytes: usize,
}

/// Messages that have come since a moment, by what tells them apart.
struct Recent {
    since: Instant,
    messages: HashSet<(Gid, i64, i64, u64)>,
}

struct Entry {
    publisher: Arc<Mutex<KeepingPublisher>>,
    events: PortEvents,
    qos: Qos,
    since: Instant,
    /// How many here want its messages; `None`: not known yet.
    wanted: Option<u64>,
    /// All who wanted its messages when it came get them.
    is_connected: bool,
}

impl Entry {
    /// Does it reach all who want its messages?
    fn reaches_all(&self) -> bool {
        self.wanted.is_some_and(|wanted| self.events.take_matched().current >= wanted)
    }

    /// Nobody is waited for any more who is not there yet, if all are, or never will be.
    fn connect(&mut self) {
        let is_late = || self.since.elapsed() > CONNECT_TIMEOUT;
        self.is_connected = self.is_connected || self.reaches_all() || is_late();
    }
}

thread_local! {
    static WHOLE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Does this with a payload in one piece. One that came in several is put together in memory that
/// the thread keeps: fresh memory costs more than the copy, a page fault for every 4 KiB.
fn with_whole(payload: &ZBytes, work: impl FnOnce(&[u8])) {
    let mut slices = payload.slices();
    match (slices.next(), slices.next()) {
        (None, _) => work(&[]),
        (Some(one), None) => work(one),
        _ => WHOLE.with_borrow_mut(|whole| {
            whole.clear();
            whole.reserve(payload.len());
            payload.slices().for_each(|slice| whole.extend_from_slice(slice));
            work(whole);
            whole.shrink_to(WHOLE_KEPT_MAX);
        }),
    }
}

/// What tells a message from others of its publisher. Some peers count none.
fn told_apart(attachment: &Attachment, cdr: &[u8]) -> (Gid, i64, i64, u64) {
    let mut hasher = DefaultHasher::new();
    hasher.write_usize(cdr.len());
    hasher.write(&cdr[..cdr.len().min(4096)]);
    (attachment.gid, attachment.sequence, attachment.stamp_ns, hasher.finish())
}

/// Remembers that `gid` stands for `strange`.
pub(crate) fn remember(known: &mut BTreeMap<Gid, Gid>, strange: Gid, gid: Gid) {
    if known.len() == STRANGE_MAX {
        known.pop_first();
    }
    known.insert(strange, gid);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Incoming {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        session: &Session,
        (topic, key): (&str, &str),
        schema: Arc<Schema>,
    ) -> Self {
        let entries = Arc::new(Entries {
            by_gid: Mutex::default(),
            strange: Mutex::default(),
            pending: Mutex::default(),
            some_wait: AtomicBool::default(),
            recent: Mutex::default(),
            has_recent: AtomicBool::default(),
            numbers: Mutex::default(),
            own: session.zid().to_le_bytes(),
            shared: Arc::clone(shared),
        });
        let (topic, key) = (topic.to_owned(), key.to_owned());
        let (subscription, has_history, unreached) = Default::default();
        Self { entries, schema, topic, key, subscription, has_history, unreached }
    }

    /// The publishers over there from now on, with the names of their nodes. Says what could not be
    /// opened.
    pub(crate) fn follow(
        &mut self,
        participant: &Participant,
        publishers: &BTreeMap<Gid, (String, Qos)>,
    ) -> Vec<String> {
        let mut failed = Vec::new();
        let kept = Arc::clone(&self.entries.shared.kept);
        let gone: Vec<Entry> = {
            let mut entries = lock(&self.entries.by_gid);
            let is_gone = |gid: &Gid| !publishers.contains_key(gid);
            let gone: Vec<Gid> = entries.keys().filter(|gid| is_gone(gid)).copied().collect();
            gone.iter().filter_map(|gid| entries.remove(gid)).collect()
        };
        drop(gone);
        lock(&self.entries.strange).retain(|_, gid| publishers.contains_key(gid));
        for (gid, (node, qos)) in publishers {
            if lock(&self.entries.by_gid).contains_key(gid) {
                continue;
            }
            if kept.is_full() {
                failed.push(format!(
                    "some publishers of {} are not carried: publishers on the network take {} bytes of \
                     memory here already; give their topics a smaller depth, or set `max_kept_bytes`",
                    self.topic,
                    kept.max()
                ));
                break;
            }
            let options =
                FreePublisherOptions { node, topic: &self.topic, qos: *qos, max_bytes: None };
            match participant.free_any_publisher(Arc::clone(&self.schema), options) {
                Ok(publisher) => {
                    let events = publisher.events();
                    let shared = Arc::clone(&self.entries.shared);
                    // Without a thread for it the bridge looks again by itself.
                    let tell = move |_| shared.tell_change();
                    let _ = events.set_callback(PortEvent::Matched, tell);
                    let publisher = KeepingPublisher::new(publisher, &kept);
                    let publisher = Arc::new(Mutex::new(publisher));
                    let (qos, since, wanted, is_connected) = (*qos, Instant::now(), None, false);
                    let entry = Entry { publisher, events, qos, since, wanted, is_connected };
                    lock(&self.entries.by_gid).insert(*gid, entry);
                    self.entries.charge(*gid);
                }
                Err(error) => failed.push(error.to_string()),
            }
        }
        failed
    }

    /// Whether the publishers here reach all who want this, as far as they ever will. What has come
    /// for one that did not is published when it does.
    pub(crate) fn connect(&mut self, wanted: &[Qos]) -> bool {
        let mut reach_all = true;
        for entry in lock(&self.entries.by_gid).values_mut() {
            let suited = |requested: &&Qos| entry.qos.conflict_with(requested).is_none();
            entry.wanted = Some(wanted.iter().filter(suited).count() as u64);
            reach_all &= entry.reaches_all();
        }
        self.entries.deliver_pending(&mut lock(&self.entries.pending));
        let since = match self.unreached {
            _ if reach_all => None,
            Some((since, count)) if count == wanted.len() => Some(since),
            _ => Some(Instant::now()),
        };
        self.unreached = since.map(|since| (since, wanted.len()));
        since.is_none_or(|since| since.elapsed() > CONNECT_TIMEOUT)
    }

    /// Whether messages wait for their publisher.
    pub(crate) fn is_waiting(&self) -> bool {
        self.entries.some_wait.load(Ordering::Acquire)
    }

    /// Subscribes over there while somebody here does. Whether publishers here are to be made again
    /// ([`Incoming::follow`]): what those over there have kept is asked for anew when somebody
    /// comes, and the publishers here that kept it would tell it a second time.
    ///
    /// # Errors
    /// What zenoh says.
    pub(crate) fn subscribe(&mut self, session: &Session, wanted: &[Qos]) -> zenoh::Result<bool> {
        let is_kept = |entry: &Entry| entry.qos.is_transient_local();
        let needs_history = wanted.iter().any(Qos::is_transient_local)
            || lock(&self.entries.by_gid).values().any(is_kept);
        if wanted.is_empty() {
            let had_history = self.subscription.take().is_some() && self.has_history;
            lock(&self.entries.numbers).forget();
            if had_history {
                lock(&self.entries.by_gid).retain(|_, entry| !is_kept(entry));
            }
            return Ok(had_history);
        }
        if self.subscription.is_some() && (self.has_history || !needs_history) {
            return Ok(false);
        }
        // Until the new one stands the old one goes on: what both bring is taken once.
        if self.subscription.is_some() {
            self.entries.remember_for_now();
        }
        let entries = Arc::clone(&self.entries);
        let take = move |sample: Sample| entries.take(&sample);
        let subscriber = session
            .declare_subscriber(self.key.clone())
            .callback(take)
            .allowed_origin(Locality::Remote);
        let next = match needs_history {
            false => Subscription::Plain(subscriber.wait()?),
            true => {
                let history =
                    HistoryConfig::default().detect_late_publishers().max_samples(HISTORY_MAX);
                Subscription::WithHistory(
                    subscriber.advanced().history(history).subscriber_detection().wait()?,
                )
            }
        };
        self.has_history = needs_history;
        self.subscription = Some(next);
        Ok(false)
    }
}

impl Entries {
    fn take(&self, sample: &Sample) {
        let counters = &self.shared.counters;
        if sample.kind() != SampleKind::Put {
            return count(&counters.malformed);
        }
        let attachment = sample.attachment().map(|it| Attachment::decode(&it.to_bytes()));
        let Some(Ok(attachment)) = attachment else { return count(&counters.malformed) };
        // A router stamps what others have not stamped, too.
        let is_stamped_here =
            sample.timestamp().is_some_and(|it| it.get_id().to_le_bytes() == self.own);
        if is_stamped_here && self.shared.is_own(attachment.gid) {
            return;
        }
        self.count_missed(&attachment);
        if self.shared.bytes_max.is_some_and(|max| sample.payload().len() > max) {
            count(&counters.oversize);
            if let Some((publisher, _)) = self.publisher(attachment.gid) {
                lock(&publisher).count_uncarried(Uncarried::Oversize, 1);
            }
            return;
        }
        with_whole(sample.payload(), |cdr| {
            if self.has_recent.load(Ordering::Acquire) && self.is_repeated(&attachment, cdr) {
                return;
            }
            // Nothing overtakes what waits.
            let is_free = !self.some_wait.load(Ordering::Acquire);
            if !(is_free && self.deliver(attachment.gid, cdr)) {
                self.keep(attachment, cdr);
            }
        });
    }

    /// Counts what never came before this message.
    fn count_missed(&self, attachment: &Attachment) {
        let missed = lock(&self.numbers).missed_before(attachment.gid, attachment.sequence);
        if missed > 0 {
            add(&self.shared.counters.missed, missed);
            self.charge(attachment.gid);
        }
    }

    /// Counts to the publisher here what never came of the one over there. One that is not known
    /// yet hears of it when it is ([`Incoming::follow`]).
    fn charge(&self, gid: Gid) {
        let Some((publisher, _)) = self.publisher(gid) else { return };
        let missed = lock(&self.numbers).take_missed(gid);
        if missed > 0 {
            lock(&publisher).count_uncarried(Uncarried::Network, missed);
        }
    }

    /// Two subscriptions bring the same messages for a moment.
    fn remember_for_now(&self) {
        let pending = lock(&self.pending);
        let messages = pending.messages.iter();
        let messages = messages.map(|(_, attachment, cdr)| told_apart(attachment, cdr)).collect();
        *lock(&self.recent) = Some(Recent { since: Instant::now(), messages });
        self.has_recent.store(true, Ordering::Release);
    }

    /// Whether a message has come on the other of two subscriptions.
    fn is_repeated(&self, attachment: &Attachment, cdr: &[u8]) -> bool {
        let mut recent = lock(&self.recent);
        let Some(Recent { since, messages }) = &mut *recent else { return false };
        if since.elapsed() > RECENT_FOR || messages.len() == RECENT_MAX {
            self.has_recent.store(false, Ordering::Release);
            *recent = None;
            return false;
        }
        !messages.insert(told_apart(attachment, cdr))
    }

    /// The publisher here that stands for the one over there, and whether it is connected.
    fn publisher(&self, gid: Gid) -> Option<(Arc<Mutex<KeepingPublisher>>, bool)> {
        let gid = lock(&self.strange).get(&gid).copied().unwrap_or(gid);
        lock(&self.by_gid).get(&gid).map(|it| (Arc::clone(&it.publisher), it.is_connected))
    }

    /// Publishes a message here; false: its publisher is not known or not connected.
    fn deliver(&self, gid: Gid, cdr: &[u8]) -> bool {
        let Some((publisher, true)) = self.publisher(gid) else { return false };
        // By our clock: the other one may be an hour off.
        let mut publisher = lock(&publisher);
        let counters = &self.shared.counters;
        if !publisher.has_room() {
            count(&counters.no_room);
            publisher.count_uncarried(Uncarried::NoRoom, 1);
            return true;
        }
        let (counter, cause) = match publisher.get().publish_cdr(cdr, wall_ns(), [0; 2]) {
            Ok(()) => (&counters.taken, None),
            Err(PublishCdrError::Cdr { .. }) => (&counters.malformed, Some(Uncarried::Malformed)),
            Err(PublishCdrError::Loan(error)) => match error.is_too_large() {
                true => (&counters.oversize, Some(Uncarried::Oversize)),
                false => (&counters.no_room, Some(Uncarried::NoRoom)),
            },
            // The publisher has counted it.
            Err(_) => (&counters.blocked, None),
        };
        publisher.note_bytes();
        count(counter);
        if let Some(cause) = cause {
            publisher.count_uncarried(cause, 1);
        }
        true
    }

    /// Keeps a message for a moment: the token of its publisher may come right behind it, and then
    /// those here who want it are to be connected.
    fn keep(&self, attachment: Attachment, cdr: &[u8]) {
        let mut pending = lock(&self.pending);
        // It may be connected now.
        self.deliver_pending(&mut pending);
        let gid = attachment.gid;
        let is_first = pending.messages.iter().all(|(_, waits, _)| waits.gid != gid);
        if is_first && self.deliver(gid, cdr) {
            return;
        }
        if pending.messages.len() == PENDING_MAX || pending.bytes + cdr.len() > PENDING_BYTES_MAX {
            return self.give_up(gid);
        }
        pending.bytes += cdr.len();
        pending.messages.push_back((Instant::now(), attachment, cdr.to_vec()));
        self.some_wait.store(true, Ordering::Release);
        self.shared.tell_change();
    }

    /// Counts a message whose publisher is not there.
    fn give_up(&self, gid: Gid) {
        let counters = &self.shared.counters;
        count(match self.publisher(gid) {
            Some(_) => &counters.early,
            None => &counters.unknown,
        });
    }

    /// A publisher of the topic stands for a GID without a token.
    fn adopt(&self, strange: Gid) {
        let entries = lock(&self.by_gid);
        let first = entries.keys().next().copied().filter(|_| !entries.contains_key(&strange));
        drop(entries);
        if let Some(first) = first {
            remember(&mut lock(&self.strange), strange, first);
            self.charge(strange);
        }
    }

    fn deliver_pending(&self, pending: &mut Pending) {
        lock(&self.by_gid).values_mut().for_each(Entry::connect);
        let Pending { messages, bytes } = pending;
        messages.retain(|(since, attachment, cdr)| {
            if since.elapsed() > STRANGE_AFTER {
                self.adopt(attachment.gid);
            }
            let is_delivered = self.deliver(attachment.gid, cdr);
            let is_over = !is_delivered && since.elapsed() > PENDING_FOR;
            if is_over {
                self.give_up(attachment.gid);
            }
            let stays = !is_delivered && !is_over;
            *bytes -= if stays { 0 } else { cdr.len() };
            stays
        });
        self.some_wait.store(!messages.is_empty(), Ordering::Release);
    }
}
