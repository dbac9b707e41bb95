//! Ports whose message type is known at run time only: for players, recorders and tools.

use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use crossdock_msg::{Block, FlatError, Schema};
use crossdock_shm::{ParkedLoan, RawLoan, RawSample, Region};
use crossdock_trace::ReleaseTrace;

use crate::discovery::local_ports::{LearnedType, Takes};
use crate::discovery::participant::Participant;
use crate::discovery::port_events::PortEvents;
use crate::error::{LoanError, PortError, PublishCdrError, PublishError, TakeError};
use crate::port::connection::Connection;
use crate::port::counters::{PublisherCounters, SubscriberCounters, Uncarried};
use crate::port::doorbell::Doorbell;
use crate::port::erased::{PublisherHandle, SubscriberHandle};
use crate::port::group::{self, NO_STAMP};
use crate::port::message_type::MessageType;
use crate::port::owner::{AnyThread, OwnThread, Owner};
use crate::port::publisher::{FreePublisherOptions, PublisherOptions};
use crate::port::publisher_core::{PublisherCore, PublisherPlan, Refused};
use crate::port::subscriber::{FreeSubscriberOptions, SubscriberOptions};
use crate::port::subscriber_core::{SubscriberCore, SubscriberPlan};
use crate::wire::port_info::{PortInfo, is_of_one_process};
use crate::wire::qos::{BackPressure, Qos};

/// Flag of a topic's message: its origin is the GID of the endpoint that has published it.
pub(crate) const SHARED: u32 = 1;

impl Participant {
    /// Creates a publisher of a type that is known at run time only.
    ///
    /// Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// As [`Participant::publisher`].
    pub fn any_publisher(
        &self,
        schema: Arc<Schema>,
        options: PublisherOptions<'_>,
    ) -> Result<AnyPublisher, PortError> {
        self.open_any_publisher(schema, options, None)
    }

    fn open_any_publisher(
        &self,
        schema: Arc<Schema>,
        options: PublisherOptions<'_>,
        bridge: Option<u64>,
    ) -> Result<AnyPublisher, PortError> {
        let plan = options.plan(MessageType::of_schema(&schema));
        let core = PublisherCore::create(self, PublisherPlan { bridge, ..plan })?;
        Ok(AnyPublisher { core, schema })
    }

    /// Creates a subscriber that takes the type of the first publisher that it meets: the
    /// definition travels in the handshake and is checked against the advertised hashes.
    ///
    /// Always connected through the publisher's ring, also to publishers of its own group.
    /// Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// As [`Participant::subscriber`].
    pub fn any_subscriber(
        &self,
        options: SubscriberOptions<'_>,
    ) -> Result<AnySubscriber, PortError> {
        self.open_any_subscriber(None, options, BackPressure::All)
    }

    /// The same for a port that only looks, such as one of a tool: nobody waits for it, and its
    /// messages release no node. So nobody waits either until it has taken them
    /// ([`Quiescence`](crate::Quiescence)), and those that it misses are lost to nobody.
    ///
    /// # Errors
    /// As [`Participant::subscriber`].
    pub fn watching_subscriber(
        &self,
        options: SubscriberOptions<'_>,
    ) -> Result<AnySubscriber, PortError> {
        self.open_any_subscriber(None, options, BackPressure::Never)
    }

    /// Creates a subscriber that takes exactly this type, from all publishers, connected through
    /// their rings. Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// As [`Participant::subscriber`].
    pub fn any_subscriber_of(
        &self,
        schema: &Arc<Schema>,
        options: SubscriberOptions<'_>,
        back_pressure: BackPressure,
    ) -> Result<AnySubscriber, PortError> {
        self.open_any_subscriber(Some(Arc::clone(schema)), options, back_pressure)
    }

    /// `None`: takes the type of the first publisher. Never joins a group: the ring says the type.
    fn open_any_subscriber(
        &self,
        schema: Option<Arc<Schema>>,
        options: SubscriberOptions<'_>,
        back_pressure: BackPressure,
    ) -> Result<AnySubscriber, PortError> {
        let schema = type_cell(schema);
        let (takes, message) = takes_of(&schema);
        let options = SubscriberOptions { group: None, ..options };
        let plan = SubscriberPlan { back_pressure, ..options.plan(takes, message) };
        let core = SubscriberCore::create(self, plan)?;
        Ok(AnySubscriber { core, schema })
    }

    /// As [`Participant::any_publisher`], for any thread.
    ///
    /// # Errors
    /// As [`Participant::publisher`].
    pub fn free_any_publisher(
        &self,
        schema: Arc<Schema>,
        options: FreePublisherOptions<'_>,
    ) -> Result<AnyPublisher<AnyThread>, PortError> {
        let plan = options.plan(MessageType::of_schema(&schema));
        let core = PublisherCore::create_alone(self, plan)?;
        Ok(AnyPublisher { core, schema })
    }

    /// For any thread: as [`Participant::any_subscriber_of`] of this type, or as
    /// [`Participant::any_subscriber`] (`None`).
    ///
    /// # Errors
    /// As [`Participant::subscriber`].
    pub fn free_any_subscriber(
        &self,
        schema: Option<Arc<Schema>>,
        options: FreeSubscriberOptions<'_>,
    ) -> Result<AnySubscriber<AnyThread>, PortError> {
        let schema = type_cell(schema);
        let (takes, message) = takes_of(&schema);
        let core = SubscriberCore::create_alone(self, options.plan(takes, message))?;
        Ok(AnySubscriber { core, schema })
    }

    /// Both ends of a topic for a node that carries it to another medium (hardware, a wire):
    /// neither hears what the other publishes, everybody else on the topic hears and is heard. Only
    /// publishers of exactly this type are taken.
    ///
    /// Both are connected through rings. Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// As [`Participant::publisher`] and [`Participant::subscriber`].
    pub fn bridge(
        &self,
        schema: &Arc<Schema>,
        options: BridgeOptions<'_>,
    ) -> Result<Bridge, PortError> {
        let BridgeOptions { node, topic, directions, max_bytes, doorbell, .. } = options;
        let bridge = Some(group::next_id());
        let publisher = (directions != Directions::Out).then(|| {
            let qos = options.offered;
            let options = PublisherOptions { node, topic, qos, max_bytes, group: None };
            self.open_any_publisher(Arc::clone(schema), options, bridge)
        });
        let publisher = publisher.transpose()?;
        let subscriber = (directions != Directions::In).then(|| -> Result<_, PortError> {
            let qos = options.requested;
            let options = SubscriberOptions { node, topic, qos, doorbell, group: None };
            let message = MessageType::of_schema(schema);
            let plan = options.plan(message.taken(), message);
            let core = SubscriberCore::create(self, SubscriberPlan { bridge, ..plan })?;
            Ok(AnySubscriber { core, schema: type_cell(Some(Arc::clone(schema))) })
        });
        Ok(Bridge { publisher, subscriber: subscriber.transpose()? })
    }
}

/// Where a subscriber's type is, or will be left.
fn type_cell(schema: Option<Arc<Schema>>) -> LearnedType {
    Arc::new(schema.map_or_else(OnceLock::new, OnceLock::from))
}

/// What a subscriber of this type takes, if the type is known; otherwise any type.
fn takes_of(schema: &LearnedType) -> (Takes, MessageType<'_>) {
    match schema.get() {
        Some(schema) => {
            let message = MessageType::of_schema(schema);
            (message.taken(), message)
        }
        None => (Takes::Any(Arc::clone(schema)), MessageType::ANY),
    }
}

/// Which way a [`Bridge`] carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// From the other medium to the topic.
    In,
    /// From the topic to the other medium.
    Out,
    /// Both.
    Both,
}

/// How to open a [`Bridge`].
#[derive(Clone, Copy, Debug)]
pub struct BridgeOptions<'a> {
    /// What it is called among the nodes.
    pub node: &'a str,
    /// The topic, absolute: `/camera/image`.
    pub topic: &'a str,
    /// What it offers to subscribers of the topic.
    pub offered: Qos,
    /// What it requests of publishers.
    pub requested: Qos,
    /// Which way messages go.
    pub directions: Directions,
    /// Largest message that memory is planned for, in bytes of the flat layout, as in
    /// [`PublisherOptions`].
    pub max_bytes: Option<usize>,
    /// Where messages for the other medium wake the executor.
    pub doorbell: Option<&'a Doorbell>,
}

/// Both ends of a topic, see [`Participant::bridge`]. Neither `Send` nor `Sync`.
#[derive(Debug)]
pub struct Bridge {
    /// Publishes what comes from the other medium.
    pub publisher: Option<AnyPublisher>,
    /// Takes what goes to the other medium.
    pub subscriber: Option<AnySubscriber>,
}

/// Publishes messages of a type that is known at run time only.
///
/// For one thread or any: as the typed port. Blocking, allocation and system calls as
/// [`crate::Publisher`].
pub struct AnyPublisher<O: Owner = OwnThread> {
    core: O::Of<PublisherCore>,
    schema: Arc<Schema>,
}

impl<O: Owner> std::fmt::Debug for AnyPublisher<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnyPublisher").field(self.core.info()).finish()
    }
}

impl<O: Owner> AnyPublisher<O> {
    /// The type.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Bytes of memory that it takes: its messages, those among them that it keeps for later
    /// subscribers, and the list of them, which is as long as its depth asks for. No lock, no
    /// allocation.
    pub fn memory_bytes(&self) -> u64 {
        self.core.memory_bytes()
    }

    /// Memory for one message of at most `bytes` bytes in the flat layout.
    ///
    /// # Errors
    /// As [`crate::Publisher::loan`].
    pub fn loan(&self, bytes: usize) -> Result<AnyLoan<'_>, LoanError> {
        let mut raw = self.core.loan(bytes.max(self.schema.root_bytes()))?;
        let (memory, meta) = raw.parts_mut();
        meta.len = memory.len();
        Ok(AnyLoan { raw, core: &self.core })
    }

    /// Counts messages that a bridge should have published with it and could not. No lock, no
    /// allocation.
    pub fn count_uncarried(&self, cause: Uncarried, count: u64) {
        self.core.count_uncarried(cause, count);
    }

    /// Decodes a CDR message into a loan and publishes it. Counts as one copy.
    ///
    /// Blocks as [`crate::Loan::publish`]; does not allocate.
    ///
    /// # Errors
    /// [`PublishCdrError`]; nothing was published then.
    pub fn publish_cdr(
        &self,
        cdr: &[u8],
        stamp_ns: u64,
        origin: [u64; 2],
    ) -> Result<(), PublishCdrError> {
        self.publish_decoded(cdr, stamp_ns, origin, 0)
    }

    /// The same for a member of a [`crate::SharedTopic`].
    pub(crate) fn publish_cdr_as(
        &self,
        gid: [u8; 16],
        cdr: &[u8],
        stamp_ns: u64,
    ) -> Result<(), PublishCdrError> {
        let origin = u128::from_le_bytes(gid);
        self.publish_decoded(cdr, stamp_ns, [origin as u64, (origin >> 64) as u64], SHARED)
    }

    fn publish_decoded(
        &self,
        cdr: &[u8],
        stamp_ns: u64,
        origin: [u64; 2],
        flags: u32,
    ) -> Result<(), PublishCdrError> {
        let wrong = |source| PublishCdrError::Cdr { topic: self.core.topic().to_string(), source };
        let bytes = self.schema.flat_bytes_of_cdr(cdr).map_err(wrong)?;
        let mut loan = self.loan(bytes)?;
        let len = self.schema.decode_cdr(cdr, loan.bytes_mut()).map_err(wrong)?;
        loan.set_len(len);
        loan.set_stamp_ns(stamp_ns);
        loan.set_origin(origin);
        loan.raw.meta_mut().flags = flags;
        loan.publish().map_err(|refused| refused.reason)?;
        self.core.count_copy();
        Ok(())
    }

    /// The loan that was parked. Does not block or allocate.
    ///
    /// # Errors
    /// It is another publisher's; it comes back.
    pub fn resume(&self, parked: ParkedLoan) -> Result<AnyLoan<'_>, ParkedLoan> {
        Ok(AnyLoan { raw: self.core.resume(parked)?, core: &self.core })
    }

    /// Whether the next message would be published without waiting for a reliable subscriber.
    pub fn has_room(&self) -> bool {
        self.core.has_room()
    }

    /// As [`crate::Publisher::settle`].
    pub fn settle(&self) {
        self.core.settle();
    }

    /// Subscribers outside this thread's group that the next message reaches.
    pub fn peers(&self) -> usize {
        self.core.peers()
    }

    /// All subscribers that the next message reaches.
    pub fn matched(&self) -> usize {
        self.core.matched()
    }

    /// What names the ports of gateways among these; each carries messages to those for whom it
    /// stands ([`GraphSnapshot::carried_to`](crate::GraphSnapshot::carried_to)). Takes the
    /// participant's lock; allocates if there are some.
    pub fn gateways(&self) -> Vec<[u8; 16]> {
        self.core.gateways()
    }

    /// What happened so far.
    pub fn counters(&self) -> PublisherCounters {
        PublisherCounters::read(&self.core)
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// As [`crate::Publisher::assert_liveliness`].
    pub fn assert_liveliness(&self) {
        self.core.assert_liveliness();
    }

    /// What happens to it, as for typed ports. Does not block.
    pub fn events(&self) -> PortEvents {
        self.core.events()
    }

    /// What names it across processes: its messages carry it ([`AnySample::publisher_gid`]).
    pub fn gid(&self) -> [u8; 16] {
        self.core.gid()
    }

    pub(crate) fn info(&self) -> &PortInfo {
        self.core.info()
    }
}

impl AnyPublisher {
    /// The part that executors need.
    pub fn handle(&self) -> PublisherHandle {
        PublisherHandle::new(Rc::clone(&self.core))
    }
}

/// A message of a type that is known at run time only, under construction in the flat layout.
///
/// Memory visibility: as [`crate::Loan`].
pub struct AnyLoan<'a> {
    raw: RawLoan<'a>,
    core: &'a PublisherCore,
}

impl std::fmt::Debug for AnyLoan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyLoan").field("topic", &self.core.topic()).finish_non_exhaustive()
    }
}

impl<'a> AnyLoan<'a> {
    /// The memory; its contents are unspecified at first.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.raw.bytes_mut()
    }

    /// How many of the bytes are the message; all of them unless this is called.
    pub fn set_len(&mut self, len: usize) {
        self.raw.parts_mut().1.len = len;
    }

    /// Lets go of the publisher without giving the memory back, for a caller that has others write
    /// it meanwhile; [`AnyPublisher::resume`] makes it a loan again.
    pub fn park(self) -> ParkedLoan {
        self.raw.park()
    }

    /// The memory object that the bytes lie in, for a caller that writes them by other means.
    pub fn region(&self) -> Region {
        self.raw.region()
    }

    /// As [`crate::Loan::set_stamp_ns`].
    pub fn set_stamp_ns(&mut self, stamp_ns: u64) {
        self.raw.parts_mut().1.stamp_ns = stamp_ns;
    }

    /// As [`crate::Loan::set_origin`].
    pub fn set_origin(&mut self, origin: [u64; 2]) {
        self.raw.parts_mut().1.origin = origin;
    }

    /// As [`crate::Loan::publish`]. That the bytes are a message of the type is the caller's word;
    /// subscribers check.
    ///
    /// # Errors
    /// [`PublishError`] gives the message back.
    pub fn publish(mut self) -> Result<(), PublishError<AnyLoan<'a>>> {
        let meta = self.raw.meta_mut();
        if meta.stamp_ns == NO_STAMP {
            meta.stamp_ns = self.core.stamp_ns();
        }
        let origin = meta.origin;
        let AnyLoan { raw, core } = self;
        core.set_last_origin(origin);
        core.publish(raw).map_err(|Refused { loan: raw, reason }| {
            let loan = AnyLoan { raw, core };
            PublishError { loan, reason }
        })
    }
}

/// Takes messages of whatever type the topic's first publisher has.
///
/// For one thread or any: as the typed port. Blocking, allocation and system calls as
/// [`crate::Subscriber`].
pub struct AnySubscriber<O: Owner = OwnThread> {
    core: O::Of<SubscriberCore>,
    schema: LearnedType,
}

impl<O: Owner> std::fmt::Debug for AnySubscriber<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnySubscriber").field(self.core.info()).finish()
    }
}

impl<O: Owner> AnySubscriber<O> {
    /// The next message. Whether its payload is whole can be asked with [`Schema::validate`].
    ///
    /// # Errors
    /// As [`crate::Subscriber::take`].
    pub fn take(&self) -> Result<Option<AnySample>, TakeError> {
        Ok(self.core.take()?.and_then(|taken| self.sample(taken)))
    }

    /// The newest message, as [`crate::Subscriber::latest`].
    ///
    /// # Errors
    /// As [`crate::Subscriber::take`].
    pub fn latest(&self) -> Result<Option<AnySample>, TakeError> {
        Ok(self.core.latest()?.and_then(|taken| self.sample(taken)))
    }

    fn sample(&self, raw: RawSample) -> Option<AnySample> {
        // It is known before the first message is there.
        let schema = Arc::clone(self.schema.get()?);
        let (release, publisher) = (self.core.release(), self.core.place_of(&raw));
        Some(AnySample { raw, release, schema, publisher })
    }

    /// Is a message there (or a loss to be counted)?
    pub fn is_ready(&self) -> bool {
        self.core.is_ready()
    }

    /// Publishers that it is connected to.
    pub fn matched(&self) -> usize {
        self.core.matched()
    }

    /// Messages lost so far, whatever the cause.
    pub fn lost(&self) -> u64 {
        self.core.lost()
    }

    /// Counts messages that it has taken, or should have taken, and that a bridge could not carry
    /// on. No lock, no allocation.
    pub fn count_uncarried(&self, cause: Uncarried, count: u64) {
        self.core.count_uncarried(cause, count);
    }

    /// A message that was taken turned out to be none of the type: it is counted as corrupt, and
    /// told for the first one. Its memory goes back to the publisher.
    #[cold]
    pub fn pass_damaged(&self, sample: AnySample, damage: &FlatError) {
        self.core.pass_taken(&sample.raw, damage);
        drop(sample);
    }

    /// What happened so far.
    pub fn counters(&self) -> SubscriberCounters {
        SubscriberCounters::read(&self.core)
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// What happens to it, as for typed ports. Does not block.
    pub fn events(&self) -> PortEvents {
        self.core.events_of()
    }

    pub(crate) fn info(&self) -> &PortInfo {
        self.core.info()
    }

    /// As [`crate::Subscriber::doorbell_index`].
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.doorbell_index()
    }

    /// As [`crate::Subscriber::arm`].
    pub fn arm(&self) -> bool {
        self.core.arm()
    }

    /// As [`AnySubscriber::arm`], but publishers of the same participant do not ring: for programs
    /// that look again after each message that they publish.
    pub fn arm_others(&self) -> bool {
        self.core.arm_others() || !self.core.lookahead.is_empty()
    }

    /// How many messages have come since the last call, taken ones among them, and of each
    /// publisher at most as many as it keeps. A few loads for each publisher.
    pub fn arrived(&self) -> u64 {
        let mut state = self.core.state.borrow_mut();
        self.core.absorb(&mut state);
        state.connections.iter_mut().map(Connection::take_arrived).sum()
    }

    /// What names it across processes.
    pub fn gid(&self) -> [u8; 16] {
        self.core.gid()
    }
}

impl AnySubscriber {
    /// The part that executors need; header stamps cannot be looked at.
    pub fn handle(&self) -> SubscriberHandle {
        SubscriberHandle::new(Rc::clone(&self.core), None)
    }
}

/// A message and its type.
///
/// `Send`; otherwise as [`crate::Sample`].
#[derive(Debug)]
pub struct AnySample {
    raw: RawSample,
    release: ReleaseTrace,
    schema: Arc<Schema>,
    publisher: usize,
}

impl Drop for AnySample {
    fn drop(&mut self) {
        self.release.released(|| self.raw.raw_parts().0.addr());
    }
}

impl AnySample {
    /// The type.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The payload in the flat layout.
    pub fn block(&self) -> Block<'_> {
        Block::new(self.raw.bytes())
    }

    /// The memory object that the payload lies in, for a caller that reads it by other means.
    pub fn region(&self) -> Option<Region> {
        self.raw.region()
    }

    /// The stamp that its publisher gave it, in ns.
    pub fn stamp_ns(&self) -> u64 {
        self.raw.meta().stamp_ns
    }

    /// Which trigger it goes back to.
    pub fn origin(&self) -> [u64; 2] {
        self.raw.meta().origin
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.raw.bytes()
    }

    /// The GID of the member of a [`crate::SharedTopic`] that has published it. The message says
    /// which, and is believed within the process that it comes from.
    pub(crate) fn shared_gid(&self) -> Option<[u8; 16]> {
        let [low, high] = self.raw.meta().origin.map(u128::from);
        let gid = (low | high << 64).to_le_bytes();
        let is_shared = self.raw.meta().flags & SHARED != 0;
        (is_shared && is_of_one_process(gid, self.raw.source())).then_some(gid)
    }

    /// Place of its publisher among those that its subscriber is connected to, in the order of
    /// their nodes' names; the same in every run while none comes or goes. The last place if it has
    /// gone meanwhile.
    pub fn publisher(&self) -> usize {
        self.publisher
    }

    /// What names its publisher across processes.
    pub fn publisher_gid(&self) -> [u8; 16] {
        self.shared_gid().unwrap_or_else(|| self.raw.source())
    }

    /// Its number at its publisher.
    pub fn seq(&self) -> u64 {
        self.raw.seq()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::time::{Duration, Instant};

    use super::*;
    use crate::{ParticipantOptions, Rendezvous};
    use crossdock_msg::types::std_msgs::Empty;

    #[test]
    fn a_message_names_a_publisher_of_its_own_process_and_of_no_other() {
        let folder = std::env::temp_dir().join(format!("xd-gids-{}", std::process::id()));
        let open = |name| {
            let rendezvous = Rendezvous::Folder(folder.clone());
            let options = ParticipantOptions { rendezvous, ..ParticipantOptions::new(0, name) };
            Participant::open(options).unwrap()
        };
        let (there, here) = (open("there"), open("here"));
        let (node, topic, qos) = ("node", "/topic", Qos::best_effort(4));
        let options = PublisherOptions { node, topic, qos, max_bytes: None, group: None };
        let output =
            there.any_publisher(Arc::new(Schema::of::<Empty>().unwrap()), options).unwrap();
        let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
        let input = here.any_subscriber(options).unwrap();
        let own = there.handle.core.gid(1000);
        let others = here.handle.core.gid(1000);
        let heard = |said| {
            let end = Instant::now() + Duration::from_secs(20);
            loop {
                output.publish_cdr_as(said, &[0, 1, 0, 0, 0], 1).unwrap();
                if let Some(sample) = input.take().unwrap() {
                    return sample.publisher_gid();
                }
                assert!(Instant::now() < end, "no message came");
            }
        };
        assert_eq!(heard(own), own);
        while input.take().unwrap().is_some() {}
        let ring = there.handle.core.gid(output.core.info().port);
        assert_eq!(heard(others), ring);
        drop((input, output, here, there));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
