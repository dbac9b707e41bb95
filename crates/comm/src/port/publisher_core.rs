//! The part of a publisher that does not depend on the message type: ring, links, counters.

use std::cell::{Cell, OnceCell};
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crossdock_shm::status::Entity;
use crossdock_shm::timeline::Timeline;
use crossdock_shm::{
    CreateRingError, LocalLink, LocalOptions, MemoryMaker, Meta, ParkedLoan, PublishRefused,
    RawLoan, Reliability as RingReliability, RingConfig, RingPublisher, Sizing, Slab,
};
use crossdock_trace::PublisherTrace;

use crate::device::slabs::Reach;
use crate::device::upload::{OwnUploader, Uploader, UploadingPublisher};
use crate::discovery::handover::PublisherKey;
use crate::discovery::handshake::PUBLISHERS_OF_PEER_MAX;
use crate::discovery::local_ports::{Audience, Level, LocalPublisher, Wake};
use crate::discovery::pairs::Outgoing;
use crate::discovery::participant::{Participant, ParticipantHandle};
use crate::discovery::participant_core::ParticipantCore;
use crate::discovery::port_events::PortEvents;
use crate::discovery::watches::{OwnPulse, Pulse};
use crate::discovery::{publishing_side, slab_exchange, subscribing_side};
use crate::error::{LoanError, PortError};
use crate::port::connection::{Connection, GroupPublisher, LinkCount};
use crate::port::counters::Uncarried;
use crate::port::group::{GroupContext, LinkedSubscriber, LinkingPublisher, NO_STAMP, PortGroup};
use crate::port::message_type::MessageType;
use crate::port::registration::{self, NewPort};
use crate::wire::frame::DEFINITION_BYTES_MAX;
use crate::wire::mismatch::conflict;
use crate::wire::names::{NameKind, check_name};
use crate::wire::port_info::PortInfo;
use crate::wire::qos::{Qos, Reliability, limit as limit_of};
use crate::wire::status_records::{Carrier, ConnectionDetail, Triggering, counter, kind};

/// Slots of a ring: generous, because a slot costs 64 bytes and readers may be deeper than we.
const SLOTS_MIN: usize = 1024;
/// Samples that each subscriber may hold, unless its depth asks for more.
const HOLDS_MIN: usize = 4;
const HOLDS_MAX: usize = 15;
/// Subscribers that the memory of a topic is planned for; more work as long as they do not all
/// hold all the samples that they may.
const PLANNED_SUBSCRIBERS: usize = 8;
/// Largest message in the ring's own memory when the topic's contract names none; larger ones make
/// memory grow.
const DEFAULT_BYTES: usize = 16 * 1024;
/// Memory of a topic whose contract names no largest message, while its messages are small.
const DEFAULT_LIMIT_BYTES: u64 = 256 << 20;
/// Memory that a topic may use even if its messages are small: so many chunks that the publisher
/// seldom has to ask a hundred subscribers which of them they hold.
const SMALL_LIMIT_BYTES: u64 = 256 << 10;
/// Address space of a topic in which messages are kept for subscribers deeper than their publisher,
/// if small messages are enough for it; as memory it exists only while such a subscriber is
/// behind.
const DEEPER_LIMIT_BYTES: u64 = 8 << 20;
/// Memory that is made present when a publisher is created, at most.
const PREFAULT_BYTES_MAX: usize = 64 << 20;
/// How long a loan that makes memory grow waits for the peers to map it.
const GROWTH_TIMEOUT: Duration = Duration::from_secs(1);
/// The same of a publisher that overwrites: long enough for a process that runs, and no longer, as
/// one that stands still must not hold it up. ROS 2's middleware has the same limit.
const OVERWRITING_GROWTH_TIMEOUT: Duration = Duration::from_millis(100);
/// Messages that memory is made present for if a publisher keeps all: it is seldom behind so far.
const KEEP_ALL_PREFAULT: usize = 16;

/// What all publishers have in common when they are created.
pub(crate) struct PublisherPlan<'a> {
    pub(crate) node: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) qos: Qos,
    pub(crate) max_bytes: Option<usize>,
    pub(crate) group: Option<&'a PortGroup>,
    /// The bridge that it belongs to, whose other end it does not meet.
    pub(crate) bridge: Option<u64>,
    pub(crate) message: MessageType<'a>,
    pub(crate) audience: Audience,
    /// Where its executor is rung when a subscriber was attached.
    pub(crate) wake: Option<Wake>,
    /// Who makes the memory that messages lie in, for this process alone; `None`: processes share
    /// it.
    pub(crate) memory: Option<Box<dyn MemoryMaker>>,
}

/// A message that was not published.
pub(crate) struct Refused<'a> {
    pub(crate) loan: RawLoan<'a>,
    pub(crate) reason: Box<crossdock_shm::PublishError>,
}

/// See the head of this file.
pub(crate) struct PublisherCore {
    handle: Arc<ParticipantHandle>,
    info: PortInfo,
    /// Before the ring: it waits for its device, which reads memory of the ring.
    uploader: OnceCell<Box<OwnUploader>>,
    ring: RingPublisher,
    timeline: Timeline,
    entity: Entity,
    trace: PublisherTrace,
    group: Option<Arc<GroupContext>>,
    /// Messages published.
    published: Cell<u64>,
    /// The last number whose end was promised before its message was published.
    promised: Cell<u64>,
    /// Stamp and header stamp of the last message.
    last: Cell<(u64, Option<(i32, u32)>)>,
    /// Origin of the last message of a type that is known at run time only.
    last_origin: Cell<[u64; 2]>,
    /// Subscribers of the same group.
    links: LinkCount,
    closed: Cell<bool>,
    /// Who has its slabs, and whether it has waited in vain for one to decide.
    reach: Arc<Reach>,
    is_overdue: Cell<bool>,
    level: Arc<Level>,
    events: PortEvents,
}

fn ring_config(plan: &PublisherPlan<'_>) -> RingConfig {
    let Qos { reliability, depth, .. } = plan.qos;
    let usual = if plan.qos.keeps_all() { depth.min(KEEP_ALL_PREFAULT) } else { depth };
    let bytes = plan.max_bytes.unwrap_or(DEFAULT_BYTES).max(plan.message.root_bytes);
    let holds = (depth + 1).clamp(HOLDS_MIN, HOLDS_MAX);
    let subscribers = match plan.audience {
        Audience::Topic => PLANNED_SUBSCRIBERS,
        Audience::One => 1,
    };
    let chunks = depth + subscribers * holds + 2;
    let chunk = |unit| (bytes as u64).checked_next_multiple_of(unit).unwrap_or(u64::MAX);
    let planned = chunk(4096).saturating_mul(chunks as u64);
    let slots = (depth + 1).next_power_of_two().max(SLOTS_MIN);
    // Half of the limit is for subscribers deeper than we.
    let deepest = chunk(64).saturating_mul(2 * (slots + chunks) as u64);
    let limit = match (plan.max_bytes, plan.audience) {
        (None, _) => planned.max(DEFAULT_LIMIT_BYTES),
        (Some(_), Audience::One) => planned.max(SMALL_LIMIT_BYTES),
        (Some(_), Audience::Topic) => {
            planned.max(SMALL_LIMIT_BYTES).max(deepest.min(DEEPER_LIMIT_BYTES))
        }
    };
    let prefault = match plan.max_bytes {
        // Nothing lies there.
        _ if plan.memory.is_some() => 0,
        // In the ring, in a subscriber's hands, in the next loan. A call is answered before the
        // next in most cases: what it used is used again.
        Some(bytes) if plan.audience == Audience::One => 2.min(PREFAULT_BYTES_MAX / bytes.max(1)),
        Some(bytes) => (usual + 3).min(PREFAULT_BYTES_MAX / bytes.max(1)),
        None => 0,
    };
    RingConfig {
        slots,
        depth,
        // What all subscribers have taken is written again at once, while it is in the cache.
        history: if plan.qos.is_transient_local() { depth } else { 0 },
        chunk_bytes: bytes,
        sizing: match plan.max_bytes {
            Some(_) => Sizing::Contract,
            None => Sizing::Messages,
        },
        holds_per_subscriber: holds,
        memory_limit_bytes: limit,
        transient_local: plan.qos.is_transient_local(),
        // To the ring, one that overwrites is one that waits for nobody.
        reliability: match reliability {
            Reliability::Reliable { timeout } if plan.qos.waits() => {
                RingReliability::Reliable { timeout, lifespan: limit_of(plan.qos.lifespan) }
            }
            _ => RingReliability::BestEffort,
        },
        prefault_chunks: prefault,
        growth_timeout: match plan.qos.overwrites() {
            true => OVERWRITING_GROWTH_TIMEOUT,
            false => GROWTH_TIMEOUT,
        },
    }
}

/// Checks the plan of a publisher, and describes its port.
fn describe(core: &ParticipantCore, plan: &PublisherPlan<'_>) -> Result<PortInfo, PortError> {
    let topic_kind = match plan.audience {
        Audience::Topic => NameKind::Topic,
        Audience::One => NameKind::Inner,
    };
    let PublisherPlan { node, topic, qos, message, .. } = *plan;
    let port = NewPort { node, topic, topic_kind, qos, message };
    port.check()?;
    check_name(NameKind::Type, message.type_name)?;
    if message.definition.len() > DEFINITION_BYTES_MAX {
        return Err(PortError::Definition {
            type_name: message.type_name.to_string(),
            bytes: message.definition.len(),
            limit: DEFINITION_BYTES_MAX,
        });
    }
    Ok(port.describe(core))
}

/// The ring of a publisher, which tells the control thread of further segments.
fn make_ring(
    core: &Arc<ParticipantCore>,
    info: &PortInfo,
    plan: &PublisherPlan<'_>,
) -> Result<RingPublisher, PortError> {
    let ring = RingPublisher::create(&info.label(&core.process), ring_config(plan))?;
    let notify = Arc::downgrade(core);
    ring.control().set_notifier(move || {
        if let Some(core) = notify.upgrade() {
            core.new_segments.store(true, Ordering::Release);
            core.wake();
        }
    });
    Ok(ring)
}

impl PublisherCore {
    /// A port of its group's thread.
    pub(crate) fn create(
        participant: &Participant,
        plan: PublisherPlan<'_>,
    ) -> Result<Rc<PublisherCore>, PortError> {
        Self::make(participant, plan, |publisher, group| {
            let publisher = Rc::new(publisher);
            publisher.join_group(group)?;
            Ok(publisher)
        })
    }

    /// A port that no other one is linked with.
    pub(crate) fn create_alone<C: Deref<Target = PublisherCore> + From<PublisherCore>>(
        participant: &Participant,
        plan: PublisherPlan<'_>,
    ) -> Result<C, PortError> {
        Self::make(participant, plan, |publisher, _| Ok(C::from(publisher)))
    }

    fn make<C: Deref<Target = PublisherCore>>(
        participant: &Participant,
        plan: PublisherPlan<'_>,
        own: impl FnOnce(PublisherCore, Option<&PortGroup>) -> Result<C, PortError>,
    ) -> Result<C, PortError> {
        participant.check_process()?;
        let core = &participant.handle.core;
        let info = describe(core, &plan)?;
        let ring = make_ring(core, &info, &plan)?;
        if let Some(memory) = plan.memory {
            ring.keep_in(memory).map_err(CreateRingError::from)?;
        }
        let entity = registration::record(core, kind::PUBLISHER, &info)?;
        let (control, timeline) = (ring.control(), ring.timeline());
        let trace = PublisherTrace::new(plan.node, plan.topic, plan.qos.depth, core.gid(info.port));
        let publisher = PublisherCore {
            handle: Arc::clone(&participant.handle),
            info,
            uploader: OnceCell::new(),
            ring,
            timeline,
            entity,
            trace,
            group: plan.group.map(|group| Arc::clone(group.context())),
            published: Cell::new(0),
            promised: Cell::new(0),
            last: Cell::new((0, None)),
            last_origin: Cell::new([0; 2]),
            links: LinkCount::default(),
            closed: Cell::new(false),
            reach: Arc::default(),
            is_overdue: Cell::new(false),
            level: Arc::default(),
            events: PortEvents::new(&core.callbacks),
        };
        let publisher = own(publisher, plan.group)?;
        publisher.register(LocalPublisher {
            info: publisher.info.clone(),
            definition: plan.message.definition.into(),
            control,
            group: plan.group.map(PortGroup::id).or(plan.bridge),
            audience: plan.audience,
            max_bytes: plan.max_bytes,
            wake: plan.wake,
            slabs: Vec::new(),
            reach: Arc::clone(&publisher.reach),
            level: Arc::clone(&publisher.level),
            events: publisher.events.clone(),
        })?;
        Ok(publisher)
    }

    fn register(&self, publisher: LocalPublisher) -> Result<(), PortError> {
        let core = &self.handle.core;
        let mut state = core.lock();
        if state.publishers.len() >= PUBLISHERS_OF_PEER_MAX {
            let (process, limit) = (core.process.clone(), PUBLISHERS_OF_PEER_MAX);
            return Err(PortError::Publishers { process, limit });
        }
        let on_topic = state.subscribers.values().filter(|s| s.info.topic == self.info.topic);
        for subscriber in on_topic.filter(|_| core.refuses_misfits()) {
            if let Some(reason) = conflict(&self.info, &subscriber.info) {
                return Err(registration::mismatch(core, &self.info, &subscriber.info, reason));
            }
        }
        let identity = (self.info.port, self.gid());
        state.watches.add_publisher(identity, &self.info.qos, self.pulse(), self.events.clone());
        subscribing_side::add_publisher(core, &mut state, publisher);
        core.publish(state);
        Ok(())
    }

    fn join_group(self: &Rc<Self>, group: Option<&PortGroup>) -> Result<(), PortError> {
        let Some(group) = group else { return Ok(()) };
        for subscriber in group.subscribers_on(&self.info.topic) {
            self.link(&*subscriber)?;
        }
        let weak = Rc::downgrade(self);
        group.add_publisher(weak);
        Ok(())
    }

    pub(crate) fn topic(&self) -> &str {
        &self.info.topic
    }

    /// Bytes of memory that its messages and the list of them take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.ring.list_bytes() + self.ring.memory_bytes().0
    }

    pub(crate) fn info(&self) -> &PortInfo {
        &self.info
    }

    /// What names it across processes.
    pub(crate) fn gid(&self) -> [u8; 16] {
        self.handle.core.gid(self.info.port)
    }

    /// What happens to it.
    pub(crate) fn events(&self) -> PortEvents {
        self.events.clone()
    }

    /// What tells of its life inside this process.
    fn pulse(&self) -> OwnPulse {
        let [messages, newest_ns] =
            [counter::MESSAGES, counter::NEWEST_NS].map(|counter| self.entity.reader(counter));
        OwnPulse { control: self.ring.control(), messages, newest_ns }
    }

    /// Its node says that it is alive. One store.
    pub(crate) fn assert_liveliness(&self) {
        self.ring.control().say_alive(self.stamp_ns());
    }

    /// What a publisher of logs lets pass.
    #[inline]
    pub(crate) fn level(&self) -> &Level {
        &self.level
    }

    /// The participant of this process.
    pub(crate) fn handle(&self) -> &Arc<ParticipantHandle> {
        &self.handle
    }

    #[inline]
    pub(crate) fn loan(&self, bytes: usize) -> Result<RawLoan<'_>, LoanError> {
        let mut loan = self.ring.loan(bytes)?;
        let (origin, stamp_ns) = match &self.group {
            Some(group) => (group.origin(), group.stamp_ns()),
            None => ([0; 2], NO_STAMP),
        };
        *loan.meta_mut() = Meta { stamp_ns, origin, ..Meta::default() };
        self.trace.loan(|| loan.bytes_mut().as_ptr().addr(), bytes);
        Ok(loan)
    }

    /// The time of day, for a message's stamp.
    #[inline]
    pub(crate) fn stamp_ns(&self) -> u64 {
        self.trace.stamp_ns()
    }

    pub(crate) fn resume(&self, parked: ParkedLoan) -> Result<RawLoan<'_>, ParkedLoan> {
        self.ring.resume(parked)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.ring.has_room()
    }

    /// Notes the header stamp of the message that was published last.
    #[inline]
    pub(crate) fn set_header_stamp(&self, header_stamp: Option<(i32, u32)>) {
        self.last.set((self.last.get().0, header_stamp));
    }

    /// Stamp in ns and header stamp of the last message.
    #[inline]
    pub(crate) fn last(&self) -> (u64, Option<(i32, u32)>) {
        self.last.get()
    }

    pub(crate) fn set_last_origin(&self, origin: [u64; 2]) {
        self.last_origin.set(origin);
    }

    pub(crate) fn last_origin(&self) -> [u64; 2] {
        self.last_origin.get()
    }

    /// Publishes with the meta data that the loan has, and counts.
    #[inline]
    pub(crate) fn publish<'a>(&'a self, mut loan: RawLoan<'a>) -> Result<(), Refused<'a>> {
        let &mut Meta { len, stamp_ns, .. } = loan.meta_mut();
        self.trace.publish(|| loan.bytes_mut().as_ptr().addr(), stamp_ns);
        if self.uploader.get().is_some() {
            self.upload(&mut loan);
        }
        match loan.publish_prepared() {
            Ok(seq) => {
                self.count(seq, len, stamp_ns);
                Ok(())
            }
            Err(refused) => Err(self.refused(refused)),
        }
    }

    #[inline]
    fn count(&self, seq: u64, len: usize, stamp_ns: u64) {
        self.published.set(seq);
        self.last.set((stamp_ns, None));
        self.entity.set(counter::MESSAGES, seq);
        self.entity.add(counter::BYTES, len as u64);
        self.entity.set(counter::NEWEST_NS, stamp_ns);
        let counters = self.ring.counters();
        self.entity.set(counter::WAKES, counters.wakes);
        self.entity.set(counter::SCANS, counters.scans);
        self.entity.set(counter::WAITS, counters.would_block);
        if self.matched() == 0 {
            self.entity.add(counter::LOST_UNMATCHED, 1);
        }
    }

    /// Out of the way of publishers that have no uploader.
    #[cold]
    #[inline(never)]
    fn upload(&self, loan: &mut RawLoan<'_>) {
        if let Some(uploader) = self.uploader.get()
            && self.reach.has_takers()
        {
            uploader.upload(self, loan);
        }
    }

    #[cold]
    fn refused<'a>(&self, refused: PublishRefused<RawLoan<'a>>) -> Refused<'a> {
        self.entity.add(counter::LOST_TIMEOUT, 1);
        let PublishRefused { mut loan, reason } = refused;
        if let Some(uploader) = self.uploader.get() {
            uploader.take_back(self, &mut loan);
        }
        Refused { loan, reason }
    }

    /// See [`crate::PublisherHandle::upload_by`].
    pub(crate) fn upload_by(&self, uploader: Box<dyn Uploader>) -> bool {
        let core = &self.handle.core;
        if core.in_child() {
            return false;
        }
        let uploader = OwnUploader::new(uploader, self.ring.uploaded());
        let is_first = self.uploader.set(Box::new(uploader)).is_ok();
        if is_first {
            slab_exchange::count_takers(core, self.info.port);
        }
        is_first
    }

    /// The number of the next message, if its end was not promised before: then the point may be
    /// reached at any time.
    pub(crate) fn promise(&self) -> Option<u64> {
        let number = self.published.get() + 1;
        (self.promised.replace(number) != number).then_some(number)
    }

    /// How far messages that were published early are finished.
    pub(crate) fn timeline(&self) -> Timeline {
        self.timeline.clone()
    }

    /// Counts messages that a bridge could not carry in.
    pub(crate) fn count_uncarried(&self, cause: Uncarried, count: u64) {
        self.entity.add(cause.counter(), count);
    }

    /// Counts a message that was not published, because there was no memory for it.
    #[cold]
    pub(crate) fn count_refused(&self) {
        self.entity.add(counter::LOST_TIMEOUT, 1);
    }

    /// Counts a payload that was copied or converted.
    pub(crate) fn count_copy(&self) {
        self.entity.add(counter::COPIES, 1);
    }

    /// Counts part of a payload that was copied from a device or to it.
    pub(crate) fn count_copied(&self, bytes: u64) {
        self.count_copy();
        self.entity.add(counter::COPIED_BYTES, bytes);
    }

    pub(crate) fn offer_slab(&self, slab: &Arc<Slab>, memory: Option<OwnedFd>) {
        if !self.handle.core.in_child() {
            slab_exchange::offer(&self.handle.core, self.info.port, Arc::clone(slab), memory);
        }
    }

    pub(crate) fn slabs_reach_all(&self) -> bool {
        self.reach.is_complete()
            || slab_exchange::wait_for_all(&self.handle.core, &self.reach, &self.is_overdue)
    }

    /// All subscribers that the next message reaches.
    #[inline]
    pub(crate) fn matched(&self) -> usize {
        self.ring.peers() + self.links.load(Ordering::Relaxed)
    }

    /// The same without subscribers of processes outside our run. Takes the participant's lock.
    pub(crate) fn matched_in_run(&self) -> usize {
        // In this order: what comes in between is one too few, which its news mends.
        let matched = self.matched();
        let state = self.handle.core.lock();
        matched.saturating_sub(publishing_side::outsiders(&state, self.info.port))
    }

    /// What names the ports of gateways among these.
    pub(crate) fn gateways(&self) -> Vec<[u8; 16]> {
        let core = &self.handle.core;
        if core.in_child() {
            return Vec::new();
        }
        let state = core.lock();
        let ours = |pair: &&Outgoing| pair.publisher == self.info.port && !pair.retired;
        state.outgoing.values().filter(ours).filter_map(|pair| pair.gateway).collect()
    }

    /// Subscribers outside the group.
    pub(crate) fn peers(&self) -> usize {
        self.ring.peers()
    }

    #[inline]
    pub(crate) fn published(&self) -> u64 {
        self.published.get()
    }

    pub(crate) fn settle(&self) {
        self.ring.settle();
    }

    pub(crate) fn counter(&self, counter: usize) -> u64 {
        self.entity.value(counter)
    }
}

impl PublisherCore {
    /// Ends all connections to other executors, for good: nothing will be published any more.
    pub(crate) fn close(&self) {
        let core = &self.handle.core;
        if self.closed.replace(true) || core.in_child() {
            return;
        }
        let mut state = core.lock();
        subscribing_side::remove_publisher(&mut state, self.info.port);
        core.publish(state);
        self.events.close();
    }
}

impl LinkingPublisher for PublisherCore {
    fn topic(&self) -> &str {
        &self.info.topic
    }

    fn link(&self, subscriber: &dyn LinkedSubscriber) -> Result<(), PortError> {
        let theirs = subscriber.info();
        // Types and quality of service that do not fit are refused when the port registers; late
        // subscribers that want the history get it from the ring.
        if conflict(&self.info, theirs).is_some() || theirs.qos.is_transient_local() {
            return Ok(());
        }
        let core = &self.handle.core;
        let link = LocalLink::new(LocalOptions {
            label: theirs.label(&core.process),
            depth: theirs.qos.depth,
            reliable: subscriber.refuses_inside() && !self.info.qos.overwrites(),
            holds: HOLDS_MAX,
        });
        self.ring.link(&link)?;
        let detail = ConnectionDetail {
            subscriber: theirs.port,
            publisher_process: core.name,
            publisher: self.info.port,
            carrier: Carrier::Thread,
            triggering: if subscriber.is_triggering() { Triggering::Yes } else { Triggering::No },
        };
        let mut state = core.lock();
        let record = core.connection_record(&mut state, &self.info.topic, &detail);
        let their_port = (theirs.port, &theirs.qos, &subscriber.events());
        let our_port = (self.gid(), &self.info.qos);
        state.watches.connected(their_port, our_port, Pulse::Own(self.pulse()));
        drop(state);
        let ours = GroupPublisher {
            key: PublisherKey::of(&self.info),
            gid: self.gid(),
            links: &self.links,
            published: self.published(),
            qos: &self.info.qos,
            events: [self.events.clone(), subscriber.events()],
        };
        subscriber.add_connection(Connection::local(link, ours, record));
        Ok(())
    }
}

impl UploadingPublisher for PublisherCore {
    fn topic(&self) -> &str {
        &self.info.topic
    }

    fn published(&self) -> u64 {
        self.published.get()
    }

    fn offer_slab(&self, slab: &Arc<Slab>, memory: Option<OwnedFd>) {
        self.offer_slab(slab, memory);
    }

    fn count_copied(&self, bytes: u64) {
        self.count_copied(bytes);
    }

    fn warn(&self, sentence: String) {
        let core = &self.handle.core;
        let mut state = core.lock();
        state.trouble(sentence);
        core.publish(state);
    }
}

impl Drop for PublisherCore {
    fn drop(&mut self) {
        self.close();
    }
}
