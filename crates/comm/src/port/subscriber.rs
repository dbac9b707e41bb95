//! Typed subscribers and samples. Where a message comes from is in `subscriber_core`.

use std::cell::Ref;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::rc::Rc;

use crossdock_msg::{Block, FlatError, Message};
use crossdock_shm::timeline::FencePoint;
use crossdock_shm::{Marks, RawSample, Region};
use crossdock_trace::ReleaseTrace;

use crate::discovery::local_ports::Takes;
use crate::discovery::participant::Participant;
use crate::discovery::port_events::PortEvents;
use crate::error::{PortError, TakeError};
use crate::port::counters::SubscriberCounters;
use crate::port::doorbell::{Doorbell, SharedDoorbell};
use crate::port::erased::SubscriberHandle;
use crate::port::group::PortGroup;
use crate::port::message_type::MessageType;
use crate::port::owner::{AnyThread, OwnThread, Owner};
use crate::port::subscriber_core::{Reading, SubscriberCore, SubscriberPlan};
use crate::wire::qos::{BackPressure, Qos};

/// How to create a subscriber.
#[derive(Clone, Copy, Debug)]
pub struct SubscriberOptions<'a> {
    /// The node that it belongs to.
    pub node: &'a str,
    /// The topic, absolute: `/camera/image`.
    pub topic: &'a str,
    /// What it requests.
    pub qos: Qos,
    /// Where messages wake the executor; `None`: not triggering, which costs publishers nothing.
    pub doorbell: Option<&'a Doorbell>,
    /// The ports of the same executor, joined inside the thread.
    pub group: Option<&'a PortGroup>,
}

impl<'a> SubscriberOptions<'a> {
    /// The plan of a subscriber that every publisher waits for and that no device reads.
    pub(crate) fn plan(self, takes: Takes, message: MessageType<'a>) -> SubscriberPlan<'a> {
        let SubscriberOptions { node, topic, qos, doorbell, group } = self;
        SubscriberPlan {
            node,
            topic,
            qos,
            doorbell: doorbell.map(Doorbell::add_input),
            group,
            bridge: None,
            takes,
            back_pressure: BackPressure::All,
            slabs: false,
            message,
        }
    }
}

/// Takes messages of type `T` from one topic.
///
/// It belongs to the thread that created it, or is free ([`AnyThread`]): then it is `Send`, and any
/// thread may use it, one at a time. No call blocks; the data
/// path takes no lock and allocates nothing, except when a publisher came or went. Its only system
/// call wakes a publisher that waits for this very subscriber.
pub struct Subscriber<T: Message, O: Owner = OwnThread> {
    core: O::Of<SubscriberCore>,
    message: PhantomData<fn() -> T>,
}

/// How to create a free subscriber: see [`SubscriberOptions`].
#[derive(Clone, Copy, Debug)]
pub struct FreeSubscriberOptions<'a> {
    /// The node that it belongs to.
    pub node: &'a str,
    /// The topic, absolute.
    pub topic: &'a str,
    /// What it requests.
    pub qos: Qos,
    /// Which publishers wait for it.
    pub back_pressure: BackPressure,
    /// Where messages ring; `None`: they do not, which costs publishers nothing.
    pub doorbell: Option<&'a SharedDoorbell>,
}

impl<'a> FreeSubscriberOptions<'a> {
    pub(crate) fn plan(self, takes: Takes, message: MessageType<'a>) -> SubscriberPlan<'a> {
        let FreeSubscriberOptions { node, topic, qos, back_pressure, doorbell } = self;
        let doorbell = doorbell.map(SharedDoorbell::add_input);
        let options = SubscriberOptions { node, topic, qos, doorbell: None, group: None };
        SubscriberPlan { doorbell, back_pressure, ..options.plan(takes, message) }
    }
}

impl<T: Message, O: Owner> std::fmt::Debug for Subscriber<T, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Subscriber").field(self.core.info()).finish()
    }
}

impl Participant {
    /// Creates a subscriber. Publishers in this process are connected before it returns, others
    /// while the caller goes on.
    ///
    /// Allocates, maps memory, takes the participant's lock.
    ///
    /// # Errors
    /// [`PortError`] says which name, limit or other port of this process is in the way.
    pub fn subscriber<T: Message>(
        &self,
        options: SubscriberOptions<'_>,
    ) -> Result<Subscriber<T>, PortError> {
        self.subscriber_with(options, BackPressure::All)
    }

    /// As [`Participant::subscriber`], for one that not every publisher waits for: a reader of the
    /// latest value, which may look rarely or never and holds nobody up.
    ///
    /// # Errors
    /// As [`Participant::subscriber`].
    pub fn subscriber_with<T: Message>(
        &self,
        options: SubscriberOptions<'_>,
        back_pressure: BackPressure,
    ) -> Result<Subscriber<T>, PortError> {
        self.open_subscriber(options, back_pressure, false)
    }

    /// As [`Participant::subscriber_with`], for a node that may use its messages in memory of a
    /// device: publishers that have them there wait until
    /// [`SubscriberHandle::take_slabs`](crate::SubscriberHandle::take_slabs) has said whether it
    /// does.
    ///
    /// # Errors
    /// As [`Participant::subscriber`].
    pub fn subscriber_for_device<T: Message>(
        &self,
        options: SubscriberOptions<'_>,
        back_pressure: BackPressure,
    ) -> Result<Subscriber<T>, PortError> {
        self.open_subscriber(options, back_pressure, true)
    }

    fn open_subscriber<T: Message>(
        &self,
        options: SubscriberOptions<'_>,
        back_pressure: BackPressure,
        slabs: bool,
    ) -> Result<Subscriber<T>, PortError> {
        let message = MessageType::of::<T>();
        let plan = options.plan(message.taken(), message);
        let core = SubscriberCore::create(self, SubscriberPlan { back_pressure, slabs, ..plan })?;
        Ok(Subscriber { core, message: PhantomData })
    }

    /// As [`Participant::subscriber`], for any thread.
    ///
    /// # Errors
    /// As [`Participant::subscriber`].
    pub fn free_subscriber<T: Message>(
        &self,
        options: FreeSubscriberOptions<'_>,
    ) -> Result<Subscriber<T, AnyThread>, PortError> {
        let message = MessageType::of::<T>();
        let plan = options.plan(message.taken(), message);
        let core = SubscriberCore::create_alone(self, plan)?;
        Ok(Subscriber { core, message: PhantomData })
    }
}

impl<T: Message, O: Owner> Subscriber<T, O> {
    /// The next message: of several publishers the one with the smallest stamp.
    ///
    /// # Errors
    /// [`TakeError`]: all samples that may be held are held. Calling again goes on. A message that is
    /// none of the type is no error: it is passed over, counted as `corrupt` and reported by an
    /// event. Nor is a publisher that breaks the protocol: it is cut off, with the same count and
    /// report, and the others go on.
    #[inline]
    pub fn take(&self) -> Result<Option<Sample<T>>, TakeError> {
        next_whole(&self.core, SubscriberCore::take)
    }

    /// The newest message; older ones are passed over and counted as skipped, not as lost.
    ///
    /// # Errors
    /// As [`Subscriber::take`].
    pub fn latest(&self) -> Result<Option<Sample<T>>, TakeError> {
        next_whole(&self.core, SubscriberCore::latest)
    }

    /// What has come, as the input was declared ([`Reading`]): the next message, the newest one, or
    /// all since the last time, oldest first. Ends with the first error.
    ///
    /// Each message is taken when the iterator gets to it, so that one sample is held at a time if
    /// each is dropped before the next; what is not asked for stays. Never gives more than could
    /// wait when it began, so that it ends however fast the publishers are. Does not allocate.
    pub fn read(&self) -> Since<'_, T> {
        let left = match self.core.reading() {
            Reading::Next | Reading::Latest => 1,
            Reading::SinceLast => self.core.waiting_max(),
        };
        Since { core: &self.core, left, message: PhantomData }
    }

    /// Whether messages are handed out while a device still writes what their publisher left to it
    /// ([`Loan::publish_early`](crate::Loan::publish_early)): for nodes that give them to a device.
    /// Otherwise taking waits for the device.
    pub fn hand_out_early(&self, early: bool) {
        self.core.hand_out_early(early);
    }

    /// How long a message that a device still writes is waited for; 10 s if nothing is said. A
    /// publisher whose device takes longer is cut off, with a report.
    pub fn set_device_patience(&self, patience: std::time::Duration) {
        self.core.set_device_patience(patience);
    }

    /// What [`read`](Self::read) gives from now on.
    pub fn set_reading(&self, reading: Reading) {
        self.core.set_reading(reading);
    }

    /// The messages that the executor has looked at to decide when the node runs, oldest first,
    /// read-only where they wait: for predicates. None of them is taken; while this exists nothing
    /// can be taken (that panics). Does not allocate.
    pub fn waiting(&self) -> Waiting<'_, T> {
        Waiting { messages: self.core.lookahead.messages(), message: PhantomData }
    }

    /// Is a message there (or a loss to be counted)? A few loads. A message that is older than its
    /// lifespan is there until a take has passed over it.
    #[inline]
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

    /// What happened so far.
    pub fn counters(&self) -> SubscriberCounters {
        SubscriberCounters::read(&self.core)
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// What happens to it: with whom it is matched, what does not fit, what it lost. Does
    /// not block.
    pub fn events(&self) -> PortEvents {
        self.core.events_of()
    }

    /// What its doorbell calls this subscriber; `None`: it has none.
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.doorbell_index()
    }

    /// Asks all publishers to ring, before waiting on the doorbell. True: something is there
    /// already.
    pub fn arm(&self) -> bool {
        self.core.arm()
    }
}

impl<T: Message> Subscriber<T> {
    /// The part that does not depend on the type, for executors.
    pub fn handle(&self) -> SubscriberHandle {
        SubscriberHandle::new(Rc::clone(&self.core), T::STAMP_OFFSET)
    }
}

/// How a message is chosen and taken.
type Take = fn(&SubscriberCore) -> Result<Option<RawSample>, TakeError>;

/// The next message that is one of the type. Its root is checked once and for all: its length does
/// not change.
#[inline]
fn next_whole<T: Message>(
    core: &SubscriberCore,
    take: Take,
) -> Result<Option<Sample<T>>, TakeError> {
    let Some(raw) = take(core)? else { return Ok(None) };
    match T::view(Block::new(raw.bytes())).err() {
        None => Ok(Some(Sample { raw, release: core.release(), message: PhantomData })),
        Some(damage) => behind_damaged(core, take, raw, &damage),
    }
}

/// Passes over a message that is none of the type. It goes on with as many as can wait, so that who
/// publishes nothing else keeps nobody here.
#[cold]
fn behind_damaged<T: Message>(
    core: &SubscriberCore,
    take: Take,
    damaged: RawSample,
    damage: &FlatError,
) -> Result<Option<Sample<T>>, TakeError> {
    core.pass_taken(&damaged, damage);
    drop(damaged);
    for _ in 0..core.waiting_max() {
        let Some(raw) = take(core)? else { return Ok(None) };
        match T::view(Block::new(raw.bytes())).err() {
            None => return Ok(Some(Sample { raw, release: core.release(), message: PhantomData })),
            Some(damage) => core.pass_taken(&raw, &damage),
        }
    }
    Ok(None)
}

/// What has come: see [`Subscriber::read`].
pub struct Since<'a, T: Message> {
    core: &'a SubscriberCore,
    left: usize,
    message: PhantomData<fn() -> T>,
}

impl<T: Message> std::fmt::Debug for Since<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Since").field("topic", &self.core.topic()).finish_non_exhaustive()
    }
}

impl<T: Message> Iterator for Since<'_, T> {
    type Item = Result<Sample<T>, TakeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let next = match self.core.reading() {
            Reading::Latest => next_whole(self.core, SubscriberCore::latest),
            Reading::Next | Reading::SinceLast => next_whole(self.core, SubscriberCore::take),
        };
        if !matches!(next, Ok(Some(_))) {
            self.left = 0;
        }
        next.transpose()
    }
}

/// Messages where they wait: see [`Subscriber::waiting`].
pub struct Waiting<'a, T: Message> {
    messages: Ref<'a, VecDeque<RawSample>>,
    message: PhantomData<fn() -> T>,
}

impl<T: Message> std::fmt::Debug for Waiting<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").field("messages", &self.messages.len()).finish()
    }
}

impl<T: Message> Waiting<'_, T> {
    /// All of them, oldest first; what is damaged is left out.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = T::View<'_>> {
        self.messages.iter().filter_map(|taken| T::view(Block::new(taken.bytes())).ok())
    }

    /// The newest.
    pub fn newest(&self) -> Option<T::View<'_>> {
        self.messages().next_back()
    }

    /// The one that would be taken next.
    pub fn first(&self) -> Option<T::View<'_>> {
        self.messages().next()
    }
}

/// A message of type `T`, read-only in the memory where its publisher wrote it.
///
/// `Send`; may outlive its subscriber and its publisher. Dropping it is one store. Holding it keeps
/// its memory from being used again, so drop it soon.
///
/// Memory visibility: everything that the publisher wrote before it published is visible. A
/// publisher that breaks the protocol can change bytes at any time: see [`crossdock_msg::block`].
pub struct Sample<T: Message> {
    raw: RawSample,
    release: ReleaseTrace,
    message: PhantomData<fn() -> T>,
}

impl<T: Message> std::fmt::Debug for Sample<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sample").field("seq", &self.raw.seq()).finish_non_exhaustive()
    }
}

impl<T: Message> Drop for Sample<T> {
    #[inline]
    fn drop(&mut self) {
        self.release.released(|| self.raw.raw_parts().0.addr());
    }
}

impl<T: Message> Sample<T> {
    /// A message whose root was checked.
    #[inline]
    pub(crate) fn of_raw(raw: RawSample) -> Sample<T> {
        Sample { raw, release: ReleaseTrace::default(), message: PhantomData }
    }

    /// The message.
    ///
    /// # Panics
    /// In a forked child, whose samples are empty.
    #[inline]
    pub fn message(&self) -> T::View<'_> {
        match T::view(self.block()) {
            Ok(view) => view,
            Err(error) => unreachable!("the root was checked when the sample was taken: {error}"),
        }
    }

    /// The payload in the flat layout.
    #[inline]
    pub fn block(&self) -> Block<'_> {
        Block::new(self.raw.bytes())
    }

    /// The stamp that its publisher gave it, in ns.
    #[inline]
    pub fn stamp_ns(&self) -> u64 {
        self.raw.meta().stamp_ns
    }

    /// What a device has written of it is in memory of that device only
    /// ([`Loan::leave_on_device`](crate::Loan::leave_on_device)).
    pub fn away(&self) -> bool {
        self.raw.meta().marks.any(Marks::AWAY)
    }

    /// The memory object that the message lies in, for a device; `None` in a forked child.
    pub fn region(&self) -> Option<Region> {
        self.raw.region()
    }

    /// When the message is finished, if it was published early and is handed out so; before that
    /// only what its publisher has written itself, and not a device for it, may be read.
    pub fn finish_point(&self) -> Option<FencePoint> {
        self.raw.finish_point()
    }

    /// When the message is in memory of a device, if its publisher uploads it to one; it can be
    /// read on the host before that. Allocates if so.
    pub fn uploaded_point(&self) -> Option<FencePoint> {
        self.raw.uploaded_point()
    }

    /// Which trigger it goes back to.
    #[inline]
    pub fn origin(&self) -> [u64; 2] {
        self.raw.meta().origin
    }

    /// Its number at its publisher: consecutive, from 1.
    #[inline]
    pub fn seq(&self) -> u64 {
        self.raw.seq()
    }
}
