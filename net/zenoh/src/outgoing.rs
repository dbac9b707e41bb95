//! Messages of one topic on their way to the network.
//!
//! One subscriber, for which no publisher waits, takes them: each message once, whatever the number
//! of those who want it on the other side. A thread of the topic encodes it as a head and slices of
//! the memory in which it lies, and hands it to zenoh once. What a publisher has kept for
//! latecomers is taken by a second subscriber, and kept by zenoh for latecomers there.
//!
//! A thread that waits for a slow link holds up its own topic alone: what comes meanwhile waits in
//! the ring of its publisher, and is lost and counted if it is more than that holds.

use crate::counters::{add, count};
use crate::shared::Shared;
use bytes::Bytes;
use crossdock_comm::{
    AnySample, AnySubscriber, AnyThread, BackPressure, DoorbellControl, DoorbellOptions,
    FreeSubscriberOptions, Participant, PortError, Qos, SharedDoorbell, SubscriberCounters,
    Uncarried,
};
use crossdock_msg::cdr::{CdrBuffer, CdrSlices};
use crossdock_msg::{FlatError, Schema};
use crossdock_wire::{Attachment, Gid};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use zenoh::Wait as _;
use zenoh::bytes::ZBytes;
use zenoh::pubsub::Publisher;
use zenoh_ext::AdvancedPublisher;

/// The most messages that wait for the network. A publisher keeps no more than its own depth, and
/// those over there who want them may have any.
const DEPTH: usize = 1000;

/// Messages of publishers that are not known yet, and how long they wait until they are.
const PENDING_MAX: usize = 64;
const PENDING_FOR: Duration = Duration::from_secs(2);

/// Messages that are moved before the thread looks who has come.
const TURN_MAX: usize = 64;

/// A publisher here as the network sees it.
pub(crate) struct Source {
    /// Its GID on the network.
    pub(crate) gid: Gid,
    pub(crate) publisher: WirePublisher,
}

pub(crate) enum WirePublisher {
    Plain(Publisher<'static>),
    /// Keeps its last messages for latecomers.
    Keeping(AdvancedPublisher<'static>),
}

/// Publishers by their GID here.
pub(crate) type Sources = Arc<BTreeMap<[u8; 16], Arc<Source>>>;

/// What a topic's thread is told.
#[derive(Default)]
struct Orders {
    sources: Sources,
    /// Whether some of them keep messages.
    kept: Option<AnySubscriber<AnyThread>>,
    drop_kept: bool,
    is_over: bool,
}

/// A topic that is carried to the network, until it is dropped.
pub(crate) struct Outgoing {
    orders: Arc<Mutex<Orders>>,
    control: DoorbellControl,
    bell: SharedDoorbell,
    /// What the thread is to run, until there is a publisher here: others may want any number of
    /// topics that nobody here has.
    idle: Option<Carrier>,
    thread: Option<JoinHandle<()>>,
    topic: String,
    schema: Arc<Schema>,
    keeps: bool,
    /// The GID of its subscriber.
    pub(crate) gid: [u8; 16],
}

/// A topic could not be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutgoingError {
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("a thread cannot be started: {0}; is the limit of threads reached?")]
    Thread(#[from] std::io::Error),
}

impl Outgoing {
    /// Is there for a topic's messages.
    pub(crate) fn open(
        participant: &Participant,
        shared: &Arc<Shared>,
        node: &str,
        topic: &str,
        schema: &Arc<Schema>,
    ) -> Result<Self, PortError> {
        let bell = participant.shared_doorbell(DoorbellOptions::default())?;
        let subscriber =
            subscribe(participant, node, topic, schema, Qos::best_effort(DEPTH), &bell)?;
        let gid = subscriber.gid();
        let orders = Arc::new(Mutex::new(Orders::default()));
        let carrier = Carrier {
            shared: Arc::clone(shared),
            orders: Arc::clone(&orders),
            bell: bell.clone(),
            live: subscriber,
            kept: None,
            sources: Sources::default(),
            pending: VecDeque::new(),
            counted: SubscriberCounters::default(),
            buffer: CdrBuffer::default(),
        };
        Ok(Self {
            orders,
            control: bell.control(),
            bell,
            idle: Some(carrier),
            thread: None,
            topic: topic.to_owned(),
            schema: Arc::clone(schema),
            keeps: false,
            gid,
        })
    }

    /// The publishers here from now on.
    ///
    /// # Errors
    /// The thread, or the subscriber for what publishers have kept, cannot be made: it carries
    /// nothing.
    pub(crate) fn follow(
        &mut self,
        participant: &Participant,
        node: &str,
        sources: Sources,
    ) -> Result<(), OutgoingError> {
        let has_sources = !sources.is_empty();
        let is_keeping =
            |source: &Arc<Source>| matches!(source.publisher, WirePublisher::Keeping(_));
        let keeps = sources.values().any(is_keeping);
        let kept = match keeps && !self.keeps {
            true => {
                let qos = Qos::best_effort(DEPTH).transient_local();
                Some(subscribe(participant, node, &self.topic, &self.schema, qos, &self.bell)?)
            }
            false => None,
        };
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.sources = sources;
        orders.drop_kept = self.keeps && !keeps;
        orders.kept = kept;
        drop(orders);
        self.keeps = keeps;
        self.control.wake();
        if let Some(mut carrier) = self.idle.take_if(|_| has_sources) {
            let thread = std::thread::Builder::new().name("net-out".to_owned());
            self.thread = Some(thread.spawn(move || carrier.run())?);
        }
        Ok(())
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.control.wake();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn subscribe(
    participant: &Participant,
    node: &str,
    topic: &str,
    schema: &Arc<Schema>,
    qos: Qos,
    bell: &SharedDoorbell,
) -> Result<AnySubscriber<AnyThread>, PortError> {
    let (back_pressure, doorbell) = (BackPressure::Never, Some(bell));
    let options = FreeSubscriberOptions { node, topic, qos, back_pressure, doorbell };
    participant.free_any_subscriber(Some(Arc::clone(schema)), options)
}

/// Why a message that has been taken does not go out.
#[derive(Clone, Copy)]
enum Loss {
    /// There are newer ones.
    Overtaken,
    /// Its publisher was gone before it was known.
    Gone,
    /// The network does not take it.
    Refused,
    /// It is no message of its type.
    Malformed,
}

/// The thread of a topic.
struct Carrier {
    shared: Arc<Shared>,
    orders: Arc<Mutex<Orders>>,
    bell: SharedDoorbell,
    /// Takes what is published from now on.
    live: AnySubscriber<AnyThread>,
    /// Takes from publishers that keep messages what they have kept, too.
    kept: Option<AnySubscriber<AnyThread>>,
    sources: Sources,
    /// Messages of publishers that are not known yet: were they taken from `kept`?
    pending: VecDeque<(Instant, bool, AnySample)>,
    /// What the subscriber had counted when it was looked at last.
    counted: SubscriberCounters,
    buffer: CdrBuffer,
}

impl Carrier {
    fn run(&mut self) {
        while self.follow_orders() {
            self.carry_pending();
            let moved = self.carry(false) + self.carry(true);
            self.count_losses();
            if moved == 0 {
                let timeout = (!self.pending.is_empty()).then_some(PENDING_FOR);
                let (live, kept) = (&self.live, &self.kept);
                let arm = || live.arm() | kept.as_ref().is_some_and(AnySubscriber::arm);
                self.bell.wait(timeout, arm, |_| {});
            }
        }
    }

    /// False: it is over.
    fn follow_orders(&mut self) -> bool {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&self.sources, &orders.sources) {
            self.sources = Arc::clone(&orders.sources);
        }
        if std::mem::take(&mut orders.drop_kept) {
            self.kept = None;
        }
        if let Some(kept) = orders.kept.take() {
            self.kept = Some(kept);
        }
        !orders.is_over
    }

    /// Moves messages of one of the two subscribers; gives how many.
    fn carry(&mut self, is_kept: bool) -> usize {
        for moved in 0..TURN_MAX {
            let subscriber = if is_kept { self.kept.as_ref() } else { Some(&self.live) };
            match subscriber.map(AnySubscriber::take) {
                Some(Ok(Some(sample))) => self.put(is_kept, sample, Instant::now()),
                Some(Ok(None)) | None => return moved,
                // A publisher that contradicts itself is cut off by its connection.
                Some(Err(_)) => {}
            }
        }
        TURN_MAX
    }

    fn carry_pending(&mut self) {
        for _ in 0..self.pending.len() {
            let Some((since, is_kept, sample)) = self.pending.pop_front() else { return };
            if since.elapsed() < PENDING_FOR {
                self.put(is_kept, sample, since);
            } else {
                self.lose(Loss::Gone);
            }
        }
    }

    /// Counts a message that has been taken and does not go out.
    fn lose(&self, loss: Loss) {
        let counters = &self.shared.counters;
        match loss {
            Loss::Overtaken => count(&counters.overtaken),
            Loss::Gone => count(&counters.gone),
            Loss::Refused => count(&counters.refused),
            // With the others that the port counts.
            Loss::Malformed => return self.live.count_uncarried(Uncarried::Malformed, 1),
        }
        self.live.count_uncarried(Uncarried::Network, 1);
    }

    /// Hands a message to the network, once: a publisher that keeps messages is heard by the one
    /// subscriber, all others by the other.
    fn put(&mut self, is_kept: bool, sample: AnySample, since: Instant) {
        let Some(source) = self.sources.get(&sample.publisher_gid()).map(Arc::clone) else {
            // Its process tells of it soon.
            if self.pending.len() == PENDING_MAX {
                self.pending.pop_front();
                self.lose(Loss::Overtaken);
            }
            return self.pending.push_back((since, is_kept, sample));
        };
        let attachment = Attachment {
            sequence: sample.seq() as i64,
            stamp_ns: sample.stamp_ns() as i64,
            gid: source.gid,
        };
        let attachment = attachment.encode();
        let put = match &source.publisher {
            WirePublisher::Plain(publisher) if !is_kept => {
                let Ok(message) = encoded(sample, &mut self.buffer) else {
                    return self.lose(Loss::Malformed);
                };
                publisher.put(message).attachment(attachment).wait()
            }
            WirePublisher::Keeping(publisher) if is_kept => {
                // Kept for long: the publisher's memory is not held meanwhile.
                let mut copy = Vec::new();
                if sample.schema().encode_cdr(sample.block(), &mut copy).is_err() {
                    return self.lose(Loss::Malformed);
                }
                drop(sample);
                publisher.put(copy).attachment(attachment).wait()
            }
            WirePublisher::Plain(_) | WirePublisher::Keeping(_) => return,
        };
        match put {
            Ok(()) => count(&self.shared.counters.put),
            Err(_) => self.lose(Loss::Refused),
        }
    }

    /// What the subscriber was too late for. The port says that it has passed over messages, as
    /// nobody waits for it: here they are lost.
    fn count_losses(&mut self) {
        let now = self.live.counters();
        let counters = &self.shared.counters;
        let before = std::mem::replace(&mut self.counted, now);
        let late = |it: &SubscriberCounters| it.lapped + it.keep_last + it.overwritten + it.skipped;
        let overtaken = late(&now) - late(&before);
        add(&counters.overtaken, overtaken);
        self.live.count_uncarried(Uncarried::Network, now.skipped - before.skipped);
        add(&counters.expired, now.expired - before.expired);
        add(&counters.malformed, now.corrupt - before.corrupt);
    }
}

/// The memory of a message, held as long as the network needs it.
struct Held(AnySample);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.block().as_bytes()
    }
}

/// A message as CDR: a copied head, and slices of the memory in which it lies.
fn encoded(sample: AnySample, buffer: &mut CdrBuffer) -> Result<ZBytes, FlatError> {
    /// A piece of the encoding: bytes of the head, or a range of the message's memory.
    enum Piece {
        Head(Vec<u8>),
        Slice(std::ops::Range<usize>),
    }
    let mut pieces = Vec::new();
    {
        let block = sample.block();
        let memory = block.as_bytes().as_ptr_range();
        let mut slices = CdrSlices::new(buffer);
        sample.schema().encode_cdr_slices(block, &mut slices)?;
        for piece in slices.pieces() {
            let at = piece.as_ptr_range();
            pieces.push(match memory.start <= at.start && at.end <= memory.end {
                true => {
                    let start = at.start.addr() - memory.start.addr();
                    Piece::Slice(start..start + piece.len())
                }
                false => Piece::Head(piece.to_vec()),
            });
        }
    }
    if let [Piece::Head(_)] = pieces[..]
        && let Some(Piece::Head(head)) = pieces.pop()
    {
        return Ok(head.into());
    }
    let held = Bytes::from_owner(Held(sample));
    let mut writer = ZBytes::writer();
    for piece in pieces {
        writer.append(match piece {
            Piece::Head(head) => head.into(),
            Piece::Slice(range) => held.slice(range).into(),
        });
    }
    Ok(writer.finish())
}
