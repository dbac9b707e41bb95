//! Ports without their message type, for executors that own nodes of many types.
//!
//! A handle shares its port with the typed one and keeps it alive.

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use crossdock_shm::Slab;
use crossdock_shm::timeline::FencePoint;
use crossdock_trace::SubscriptionTrace;

use crate::device::slabs::SlabTaker;
use crate::device::upload::Uploader;
use crate::error::TakeError;
use crate::port::counters::{PublisherCounters, SubscriberCounters};
use crate::port::publisher_core::PublisherCore;
use crate::port::subscriber_core::SubscriberCore;
use crate::port::subscriber_core::gathering::Gathered;
use crate::wire::status_records::counter;

/// A subscriber without its type.
///
/// Neither `Send` nor `Sync`; cloning gives another handle. No call blocks.
#[derive(Clone)]
pub struct SubscriberHandle {
    core: Rc<SubscriberCore>,
    stamp_offset: Option<usize>,
}

impl std::fmt::Debug for SubscriberHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SubscriberHandle").field(self.core.info()).finish()
    }
}

impl SubscriberHandle {
    pub(crate) fn new(core: Rc<SubscriberCore>, stamp_offset: Option<usize>) -> SubscriberHandle {
        SubscriberHandle { core, stamp_offset }
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// The subscriber's events, for who runs something when a message comes.
    pub fn trace(&self) -> SubscriptionTrace {
        self.core.trace()
    }

    /// Is a message there (or a loss to be counted)?
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.core.is_ready()
    }

    /// Whether as many messages of a publisher of another group wait, and nobody has looked at
    /// them, as it keeps, or as `depth`: it may be waiting for this subscriber.
    pub fn is_full(&self, depth: usize) -> bool {
        self.core.is_full(depth)
    }

    /// Stamp in ns and origin of the next message, which stays the next one and does not count as
    /// taken. `None`: there is no message. Does not allocate, except when a publisher came, went or
    /// was cut off.
    #[inline]
    pub fn peek(&self) -> Option<NextMessage> {
        self.core.peek().map(|meta| NextMessage { stamp_ns: meta.stamp_ns, origin: meta.origin })
    }

    /// Messages that have left the input: taken by the node, or passed over on request.
    #[inline]
    pub fn passed(&self) -> u64 {
        self.core.passed()
    }

    /// Stamp of the last message that has left the input, in ns; 0 before the first.
    pub fn last_stamp_ns(&self) -> u64 {
        self.core.last_stamp_ns()
    }

    /// `header.stamp` (seconds, nanoseconds) of the next message, which stays the next one. `None`:
    /// there is no message, or its type has no header.
    ///
    /// The message counts as taken from now on, and uses one of the samples that may be held.
    ///
    /// # Errors
    /// As [`crate::Subscriber::take`].
    pub fn peek_header_stamp(&self) -> Result<Option<(i32, u32)>, TakeError> {
        self.core.peek_header_stamp(self.stamp_offset)
    }

    /// Passes over the next message; false when there is none. It counts as skipped and processed.
    ///
    /// # Errors
    /// As [`crate::Subscriber::take`].
    pub fn skip(&self) -> Result<bool, TakeError> {
        self.core.skip()
    }

    /// Looks at the next message that nobody has looked at: it joins those that wait in the input's
    /// window, stays next to be taken when its turn comes, counts as taken from now on, and uses
    /// one of the samples that may be held. Allocates nothing after [`watch`](Self::watch).
    ///
    /// # Errors
    /// As [`crate::Subscriber::take`], but that all samples are held is no error.
    pub fn gather(&self) -> Result<Gathered, TakeError> {
        self.core.gather()
    }

    /// Stamp in ns and origin of the message that [`gather`](Self::gather) would look at.
    pub fn peek_to_gather(&self) -> Option<NextMessage> {
        let meta = self.core.peek_behind_window()?;
        Some(NextMessage { stamp_ns: meta.stamp_ns, origin: meta.origin })
    }

    /// Messages that have been looked at or taken and have left the input.
    pub fn left(&self) -> u64 {
        self.core.left()
    }

    /// Messages that were lost or passed over before anybody looked at them.
    pub fn missed(&self) -> u64 {
        self.core.passed() - self.core.left() + self.core.lost()
    }

    /// Looks at the newest message and passes over all others, which count as skipped; answers how
    /// many these were.
    ///
    /// # Errors
    /// As [`crate::Subscriber::take`].
    pub fn gather_newest(&self) -> Result<u64, TakeError> {
        self.core.gather_newest()
    }

    /// Messages that have been looked at and not taken.
    #[inline]
    pub fn gathered(&self) -> usize {
        self.core.lookahead.len()
    }

    /// `header.stamp` of one of these, counted from the oldest. `None`: there is no such message,
    /// or its type has no header.
    pub fn gathered_header_stamp(&self, place: usize) -> Option<(i32, u32)> {
        self.core.lookahead.header_stamp_at(place, self.stamp_offset?)
    }

    /// Whether the type has a `header.stamp`.
    pub fn has_header_stamp(&self) -> bool {
        self.stamp_offset.is_some()
    }

    /// To be called once, before messages are gathered: makes room, and has
    /// [`newest`](Self::newest) know of messages that have been taken. Allocates.
    pub fn watch(&self) {
        self.core.lookahead.watch(self.stamp_offset);
    }

    /// Publication time in ns and `header.stamp` of the newest message that has been looked at or
    /// taken; `None` before the first.
    pub fn newest(&self) -> Option<(u64, Option<(i32, u32)>)> {
        self.core.newest()
    }

    /// Is a message there (or a loss to be counted) that nobody has looked at?
    #[inline]
    pub fn is_ready_to_gather(&self) -> bool {
        self.core.is_ready_behind_window()
    }

    /// As [`arm`](Self::arm), for messages that nobody has looked at yet.
    #[inline]
    pub fn arm_to_gather(&self) -> bool {
        self.core.arm_behind_window()
    }

    /// Messages that publishers of the same group have pushed out since the last call, because
    /// `depth` of them were waiting (only with [`crate::BackPressure::Outside`]). They count as
    /// skipped and have left the input.
    pub fn take_overflow(&self) -> u64 {
        self.core.take_overflow()
    }

    /// To be called before sleeping: asks all publishers to ring. True: a message is there already,
    /// do not sleep.
    #[inline]
    pub fn arm(&self) -> bool {
        self.core.arm()
    }

    /// What [`crate::Doorbell::drain`] calls this input; `None` when it is not triggering.
    pub fn doorbell_index(&self) -> Option<u16> {
        self.core.doorbell_index()
    }

    /// Does a message release the node?
    pub fn is_triggering(&self) -> bool {
        self.core.doorbell_index().is_some()
    }

    /// Publishers that it is connected to.
    pub fn matched(&self) -> usize {
        self.core.matched()
    }

    /// The same without publishers of strangers, and of processes outside the run of a graph that
    /// this process belongs to. Takes the participant's lock.
    pub fn matched_in_run(&self) -> usize {
        self.core.matched_in_run()
    }

    /// Counts copies that the taker of the messages makes of their payloads. Does not block or
    /// allocate.
    pub fn count_copies(&self, copies: u64) {
        self.core.add(counter::COPIES, copies);
    }

    /// Counts part of a payload that was copied to a device.
    pub fn count_copied(&self, bytes: u64) {
        self.count_copies(1);
        self.core.add(counter::COPIED_BYTES, bytes);
    }

    /// Whether messages are handed out while a device still writes them, see
    /// [`Subscriber::hand_out_early`](crate::Subscriber::hand_out_early).
    pub fn hand_out_early(&self, early: bool) {
        self.core.hand_out_early(early);
    }

    /// From now on the node uses messages in memory of its device, if their publishers have them
    /// there ([`Sample::away`](crate::Sample::away)); `None`: it does not. For a subscriber that
    /// was made [for a device](crate::Participant::subscriber_for_device), whose publishers wait
    /// for this; else, and the second time, it does nothing. Takes the participant's lock, imports
    /// what has been offered: blocks.
    pub fn take_slabs(&self, taker: Option<Arc<dyn SlabTaker>>) {
        self.core.take_slabs(taker);
    }

    /// Waits until a device is done with a message that was handed out early. Blocks, at most until
    /// the message's publisher is gone or the subscriber's patience is over (10 s, if nothing else
    /// is said). A publisher for which that was too short is cut off.
    ///
    /// # Errors
    /// [`TakeError::Unfinished`], counted as a damaged message.
    pub fn await_device(&self, seq: u64, point: &FencePoint) -> Result<(), TakeError> {
        self.core.await_device(seq, point)
    }

    /// Waits until a message is on the device that it is uploaded to
    /// ([`Sample::uploaded_point`](crate::Sample::uploaded_point)). False: it will not come there,
    /// because the device has failed or the publisher is gone, or the subscriber's patience is
    /// over, and its publisher cut off. Nothing is lost then: the message is in memory of the host.
    /// Blocks.
    pub fn await_uploaded(&self, point: &FencePoint) -> bool {
        self.core.await_uploaded(point)
    }

    /// The node has finished with everything that it has taken.
    #[inline]
    pub fn mark_processed(&self) {
        self.core.mark_processed();
    }

    /// To be called before sleeping, if messages are left that wait for others to come on other
    /// inputs: who waits for the graph to drain shall not wait for these.
    pub fn mark_waiting(&self) {
        self.core.mark_waiting();
    }

    /// Whether messages that are left wait for others: [`mark_waiting`](Self::mark_waiting) was
    /// called behind the last [`mark_processed`](Self::mark_processed).
    #[must_use]
    pub fn is_marked_waiting(&self) -> bool {
        self.core.is_marked_waiting()
    }

    /// To be called when nothing will be taken any more, although the subscriber stays: no
    /// publisher in another executor waits for it. What the status table says of it and of its
    /// connections stays as it is. Wakes publishers that wait. May allocate.
    pub fn leave(&self) {
        self.core.leave();
    }

    /// Ends all connections of the subscriber, for good, although others still have it: nothing
    /// comes any more, no publisher waits for it. Takes the participant's lock; allocates.
    pub fn close(&self) {
        self.core.close();
    }

    /// Messages lost so far, whatever the cause.
    pub fn lost(&self) -> u64 {
        self.core.lost()
    }

    /// What happened so far.
    pub fn counters(&self) -> SubscriberCounters {
        SubscriberCounters::read(&self.core)
    }
}

/// What is known of a message before it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextMessage {
    /// The stamp that its publisher gave it, in ns.
    pub stamp_ns: u64,
    /// Which trigger it goes back to.
    pub origin: [u64; 2],
}

/// A publisher without its type.
///
/// Neither `Send` nor `Sync`; cloning gives another handle. No call blocks.
#[derive(Clone)]
pub struct PublisherHandle {
    core: Rc<PublisherCore>,
}

impl std::fmt::Debug for PublisherHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PublisherHandle").field(self.core.info()).finish()
    }
}

impl PublisherHandle {
    pub(crate) fn new(core: Rc<PublisherCore>) -> PublisherHandle {
        PublisherHandle { core }
    }

    /// The topic.
    pub fn topic(&self) -> &str {
        self.core.topic()
    }

    /// Messages published so far.
    #[inline]
    pub fn published(&self) -> u64 {
        self.core.published()
    }

    /// Stamp of the last message, in ns; 0 before the first.
    #[inline]
    pub fn last_stamp_ns(&self) -> u64 {
        self.core.last().0
    }

    /// `header.stamp` (seconds, nanoseconds) of the last message; `None`: there was none, or its
    /// type has no header.
    #[inline]
    pub fn last_header_stamp(&self) -> Option<(i32, u32)> {
        self.core.last().1
    }

    /// Origin of the last message; only of publishers whose type is known at run time only, else
    /// zeros.
    pub fn last_origin(&self) -> [u64; 2] {
        self.core.last_origin()
    }

    /// Subscribers that the next message reaches, inside and outside the group.
    pub fn matched(&self) -> usize {
        self.core.matched()
    }

    /// The same without subscribers of strangers, and of processes outside the run of a graph that
    /// this process belongs to. Takes the participant's lock.
    pub fn matched_in_run(&self) -> usize {
        self.core.matched_in_run()
    }

    /// Counts part of a payload that was copied from a device or to it.
    pub fn count_copied(&self, bytes: u64) {
        self.core.count_copied(bytes);
    }

    /// Has each message uploaded to a device when it is published, as long as anybody outside the
    /// group takes slabs; messages that a device writes itself are left out. False: the publisher
    /// has an uploader already. Takes the participant's lock; allocates.
    pub fn upload_by(&self, uploader: Box<dyn Uploader>) -> bool {
        self.core.upload_by(uploader)
    }

    /// Ends the publisher's connections to other executors, for good, although others still have
    /// it: its subscribers see it go. Takes the participant's lock; allocates.
    pub fn close(&self) {
        self.core.close();
    }

    /// Offers a slab to all subscribers outside the group that give their messages to a device,
    /// also to those that come later. It hangs on the mapping of its segment
    /// ([`Region::add_slab`](crate::Region::add_slab)) already. `memory` is the descriptor of its
    /// memory for other processes; `None`: the device has none. Takes the participant's lock;
    /// allocates.
    pub fn offer_slab(&self, slab: &Arc<Slab>, memory: Option<OwnedFd>) {
        self.core.offer_slab(slab, memory);
    }

    /// Whether all subscribers outside the group have all slabs that were offered, so that nobody
    /// needs messages in memory of the host. One load if so. Otherwise it blocks while nodes of
    /// such subscribers are still being made, at most 10 s.
    pub fn slabs_reach_all(&self) -> bool {
        self.core.slabs_reach_all()
    }

    /// Subscribers outside the group.
    pub fn peers(&self) -> usize {
        self.core.peers()
    }

    /// Lets go of subscribers that have gone; publishing does the same. For publishers that are
    /// idle for long.
    pub fn settle(&self) {
        self.core.settle();
    }

    /// What happened so far.
    pub fn counters(&self) -> PublisherCounters {
        PublisherCounters::read(&self.core)
    }
}
