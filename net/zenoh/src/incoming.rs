//! Messages of one topic that come from the network.
//!
//! Each publisher over there has a publisher here, of its node's name and with its quality of
//! service. While somebody here subscribes, so does the bridge over there, once for all publishers
//! of the topic; a message is decoded straight into the memory from which subscribers read it.
//! Threads of the network's links do that: none of them waits, but for a publisher that keeps all
//! messages, and then for a bounded time.

use crate::counters::count;
use crate::shared::{Shared, wall_ns};
use crossdock_comm::{
    AnyPublisher, AnyThread, FreePublisherOptions, Participant, PortError, PublishCdrError, Qos,
    Uncarried,
};
use crossdock_msg::Schema;
use crossdock_wire::{Attachment, Gid};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Locality, Sample, SampleKind};
use zenoh::{Session, Wait as _};
use zenoh_ext::{AdvancedSubscriber, AdvancedSubscriberBuilderExt as _, HistoryConfig};

/// Messages of publishers whose token is on its way, their bytes, and how long they wait for it.
const PENDING_MAX: usize = 64;
const PENDING_BYTES_MAX: usize = 64 << 20;
const PENDING_FOR: Duration = Duration::from_secs(2);

/// A GID that no token has after this time is none that is made of a token, as some peers have it:
/// its messages are those of a publisher of the topic.
pub(crate) const STRANGE_AFTER: Duration = Duration::from_millis(200);

/// GIDs without a token that are remembered, at most.
pub(crate) const STRANGE_MAX: usize = 1024;

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
}

/// The publishers here that stand for those over there.
struct Entries {
    by_gid: Mutex<BTreeMap<Gid, Entry>>,
    /// Whose publisher stands for a GID without a token.
    strange: Mutex<BTreeMap<Gid, Gid>>,
    pending: Mutex<VecDeque<(Instant, Attachment, Vec<u8>)>>,
    shared: Arc<Shared>,
}

struct Entry {
    publisher: Arc<Mutex<AnyPublisher<AnyThread>>>,
    qos: Qos,
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
    pub(crate) fn new(shared: &Arc<Shared>, topic: &str, key: &str, schema: Arc<Schema>) -> Self {
        let (by_gid, strange, pending) = Default::default();
        let entries = Arc::new(Entries { by_gid, strange, pending, shared: Arc::clone(shared) });
        let (topic, key) = (topic.to_owned(), key.to_owned());
        Self { entries, schema, topic, key, subscription: None, has_history: false }
    }

    /// The publishers over there from now on, with the names of their nodes. Gives what could not
    /// be opened.
    pub(crate) fn follow(
        &mut self,
        participant: &Participant,
        publishers: &BTreeMap<Gid, (String, Qos)>,
    ) -> Vec<PortError> {
        let mut failed = Vec::new();
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
            let options =
                FreePublisherOptions { node, topic: &self.topic, qos: *qos, max_bytes: None };
            match participant.free_any_publisher(Arc::clone(&self.schema), options) {
                Ok(publisher) => {
                    let publisher = Arc::new(Mutex::new(publisher));
                    lock(&self.entries.by_gid).insert(*gid, Entry { publisher, qos: *qos });
                }
                Err(error) => failed.push(error),
            }
        }
        self.entries.deliver_pending();
        failed
    }

    /// Whether messages wait for the token of their publisher.
    pub(crate) fn is_waiting(&self) -> bool {
        !lock(&self.entries.pending).is_empty()
    }

    /// Whether anything is left of it.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.entries.by_gid).is_empty()
    }

    /// Subscribes over there while somebody here does. Whether publishers here are to be made again
    /// ([`Incoming::follow`]): what those over there have kept is asked for anew when somebody
    /// comes, and the publishers here that kept it would tell it a second time.
    ///
    /// # Errors
    /// What zenoh says.
    pub(crate) fn subscribe(&mut self, session: &Session, is_wanted: bool) -> zenoh::Result<bool> {
        let kept: usize = {
            let entries = lock(&self.entries.by_gid);
            let keeping = entries.values().filter(|entry| entry.qos.is_transient_local());
            keeping.map(|entry| entry.qos.depth).max().unwrap_or(0)
        };
        let needs_history = kept > 0;
        if !is_wanted {
            let had_history = self.subscription.take().is_some() && self.has_history;
            if had_history {
                lock(&self.entries.by_gid).retain(|_, entry| !entry.qos.is_transient_local());
            }
            return Ok(had_history);
        }
        if needs_history && !self.has_history {
            self.subscription = None;
        }
        if self.subscription.is_some() {
            return Ok(false);
        }
        let entries = Arc::clone(&self.entries);
        let take = move |sample: Sample| entries.take(&sample);
        let subscriber = session
            .declare_subscriber(self.key.clone())
            .callback(take)
            .allowed_origin(Locality::Remote);
        self.has_history = needs_history;
        self.subscription = Some(match needs_history {
            false => Subscription::Plain(subscriber.wait()?),
            true => {
                let history = HistoryConfig::default()
                    .detect_late_publishers()
                    .max_samples(kept.min(HISTORY_MAX));
                Subscription::WithHistory(
                    subscriber.advanced().history(history).subscriber_detection().wait()?,
                )
            }
        });
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
        if self.shared.bytes_max.is_some_and(|max| sample.payload().len() > max) {
            count(&counters.oversize);
            if let Some(publisher) = self.publisher(attachment.gid) {
                lock(&publisher).count_uncarried(Uncarried::Oversize, 1);
            }
            return;
        }
        with_whole(sample.payload(), |cdr| {
            if !self.deliver(attachment.gid, cdr) {
                self.keep(attachment, cdr);
            }
        });
    }

    /// The publisher here that stands for the one over there.
    fn publisher(&self, gid: Gid) -> Option<Arc<Mutex<AnyPublisher<AnyThread>>>> {
        let gid = lock(&self.strange).get(&gid).copied().unwrap_or(gid);
        lock(&self.by_gid).get(&gid).map(|entry| Arc::clone(&entry.publisher))
    }

    /// Publishes a message here; false: its publisher is not known.
    fn deliver(&self, gid: Gid, cdr: &[u8]) -> bool {
        let Some(publisher) = self.publisher(gid) else { return false };
        // By our clock: the other one may be an hour off.
        let publisher = lock(&publisher);
        let counters = &self.shared.counters;
        let (counter, cause) = match publisher.publish_cdr(cdr, wall_ns(), [0; 2]) {
            Ok(()) => (&counters.taken, None),
            Err(PublishCdrError::Cdr { .. }) => (&counters.malformed, Some(Uncarried::Malformed)),
            Err(PublishCdrError::Loan(error)) => match error.is_too_large() {
                true => (&counters.oversize, Some(Uncarried::Oversize)),
                false => (&counters.no_room, Some(Uncarried::NoRoom)),
            },
            // The publisher has counted it.
            Err(_) => (&counters.blocked, None),
        };
        count(counter);
        if let Some(cause) = cause {
            publisher.count_uncarried(cause, 1);
        }
        true
    }

    /// Keeps a message for a moment: the token of its publisher may come right behind it.
    fn keep(&self, attachment: Attachment, cdr: &[u8]) {
        let mut pending = lock(&self.pending);
        let bytes: usize = pending.iter().map(|(_, _, cdr)| cdr.len()).sum();
        if pending.len() == PENDING_MAX || bytes + cdr.len() > PENDING_BYTES_MAX {
            return count(&self.shared.counters.unknown);
        }
        pending.push_back((Instant::now(), attachment, cdr.to_vec()));
        self.shared.tell_change();
    }

    /// A publisher of the topic stands for a GID without a token.
    fn adopt(&self, strange: Gid) {
        let entries = lock(&self.by_gid);
        let first = entries.keys().next().copied().filter(|_| !entries.contains_key(&strange));
        drop(entries);
        if let Some(first) = first {
            remember(&mut lock(&self.strange), strange, first);
        }
    }

    fn deliver_pending(&self) {
        let mut pending = lock(&self.pending);
        pending.retain(|(since, attachment, cdr)| {
            if since.elapsed() > STRANGE_AFTER {
                self.adopt(attachment.gid);
            }
            if self.deliver(attachment.gid, cdr) {
                return false;
            }
            let is_over = since.elapsed() > PENDING_FOR;
            if is_over {
                count(&self.shared.counters.unknown);
            }
            !is_over
        });
    }
}
