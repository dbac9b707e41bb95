//! The part of a subscriber that does not depend on the message type: connections, merging,
//! counters.
//!
//! With several publishers the message with the smallest stamp comes first among those that are
//! there; none waits for more messages of others than its publisher's depth, so that nothing is
//! overtaken in its ring because of a clock that runs ahead. Of equal stamps the publishers' own
//! order decides, which is the same wherever they run.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossdock_shm::status::Entity;
use crossdock_shm::{Marks, Meta, RawSample, TakeError as RingTakeError};
use crossdock_trace::{ReleaseTrace, SubscriptionTrace};

use crate::device::fence::PATIENCE;
use crate::device::slabs::{SlabTaker, Wish};
use crate::discovery::local_ports::{Depth, LocalSubscriber, Takes};
use crate::discovery::mailbox::{Mailbox, Note};
use crate::discovery::participant::{Participant, ParticipantHandle};
use crate::discovery::port_events::PortEvents;
use crate::discovery::slab_exchange;
use crate::discovery::subscribing_side::{self, local_conflict};
use crate::error::{PortError, TakeError};
use crate::port::connection::Connection;
use crate::port::doorbell::Input;
use crate::port::group::{LinkedSubscriber, PortGroup};
use crate::port::lookahead::Lookahead;
use crate::port::message_type::{MessageType, PayloadCheck};
use crate::port::registration::{self, NewPort};
use crate::wire::names::{NameKind, check_name};
use crate::wire::port_info::PortInfo;
use crate::wire::qos::{BackPressure, Qos};
use crate::wire::status_records::{counter, kind};

pub(crate) mod gathering;
mod losses;
mod marks;
mod unfinished;

/// What all subscribers have in common when they are created.
pub(crate) struct SubscriberPlan<'a> {
    pub(crate) node: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) qos: Qos,
    /// Where its messages ring.
    pub(crate) doorbell: Option<Input>,
    pub(crate) group: Option<&'a PortGroup>,
    /// The bridge that it belongs to, whose other end it does not meet.
    pub(crate) bridge: Option<u64>,
    pub(crate) takes: Takes,
    pub(crate) back_pressure: BackPressure,
    /// May its messages be used in memory of a device?
    pub(crate) slabs: bool,
    /// [`MessageType::ANY`] when any type is taken.
    pub(crate) message: MessageType<'a>,
}

/// See the head of this file.
pub(crate) struct SubscriberCore {
    handle: Arc<ParticipantHandle>,
    info: PortInfo,
    entity: Entity,
    trace: SubscriptionTrace,
    mailbox: Arc<Mailbox>,
    bell: Option<Input>,
    back_pressure: BackPressure,
    /// Messages handed out or passed over on request, and the stamp of the last of them.
    passed: Cell<u64>,
    last_stamp_ns: Cell<u64>,
    /// How many of `passed` had been looked at or taken one by one.
    left: Cell<u64>,
    /// Was it said that what is here waits for messages on other inputs?
    waits: Cell<bool>,
    /// Messages that were looked at and not handed out yet.
    pub(crate) lookahead: Lookahead,
    reading: Cell<Reading>,
    /// Does its node take messages that a device still writes?
    early: Cell<bool>,
    /// How long it waits for a device.
    patience: Cell<Duration>,
    /// Was it told that messages were not copied?
    told_refused: Cell<bool>,
    /// Was it told that messages are damaged?
    told_damaged: Cell<bool>,
    /// What copies of strangers' messages have to be.
    check_copy: Option<PayloadCheck>,
    /// Through what it reaches what publishers leave in memory of a device.
    slabs: OnceCell<Arc<dyn SlabTaker>>,
    pub(crate) state: RefCell<SubscriberConnections>,
    events: PortEvents,
    closed: Cell<bool>,
}

#[derive(Default)]
pub(crate) struct SubscriberConnections {
    pub(crate) connections: Vec<Connection>,
}

/// What [`crate::Subscriber::read`] gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// The next message.
    #[default]
    Next,
    /// The newest message; older ones are passed over.
    Latest,
    /// All messages that have come since the last time.
    SinceLast,
}

impl SubscriberConnections {
    /// Adds a connection at its place in the order of the publishers.
    fn add(&mut self, connection: Connection) {
        let key = connection.publisher();
        let place = self.connections.partition_point(|other| other.publisher() <= key);
        self.connections.insert(place, connection);
    }
}

impl SubscriberCore {
    /// A port of its group's thread.
    pub(crate) fn create(
        participant: &Participant,
        plan: SubscriberPlan<'_>,
    ) -> Result<Rc<SubscriberCore>, PortError> {
        let group = plan.group;
        let subscriber: Rc<SubscriberCore> = Self::create_alone(participant, plan)?;
        if let Some(group) = group {
            for publisher in group.publishers_on(subscriber.topic()) {
                publisher.link(&*subscriber)?;
            }
            let weak = Rc::downgrade(&subscriber);
            group.add_subscriber(weak);
        }
        Ok(subscriber)
    }

    /// A port that no other one is linked with.
    pub(crate) fn create_alone<C: Deref<Target = SubscriberCore> + From<SubscriberCore>>(
        participant: &Participant,
        plan: SubscriberPlan<'_>,
    ) -> Result<C, PortError> {
        participant.check_process()?;
        let SubscriberPlan { node, topic, qos, message, .. } = plan;
        let port = NewPort { node, topic, topic_kind: NameKind::Topic, qos, message };
        port.check()?;
        if plan.takes.any().is_none() {
            check_name(NameKind::Type, message.type_name)?;
        }
        let core = &participant.handle.core;
        let info = port.describe(core);
        let entity = registration::record(core, kind::SUBSCRIBER, &info)?;
        let gid = core.gid(info.port);
        let trace = SubscriptionTrace::new(plan.node, plan.topic, plan.qos.depth, gid);
        let subscriber = C::from(SubscriberCore {
            handle: Arc::clone(&participant.handle),
            info,
            entity,
            trace,
            mailbox: Arc::default(),
            bell: plan.doorbell,
            back_pressure: plan.back_pressure,
            passed: Cell::new(0),
            last_stamp_ns: Cell::new(0),
            left: Cell::new(0),
            waits: Cell::new(false),
            lookahead: Lookahead::default(),
            reading: Cell::default(),
            early: Cell::default(),
            patience: Cell::new(PATIENCE),
            told_refused: Cell::default(),
            told_damaged: Cell::default(),
            check_copy: message.check_whole,
            slabs: OnceCell::new(),
            events: PortEvents::new(&core.callbacks),
            closed: Cell::new(false),
            state: RefCell::default(),
        });
        let wish = if plan.slabs { Wish::Undecided } else { Wish::No };
        subscriber.register(plan.takes, plan.group.map(PortGroup::id), plan.bridge, wish)?;
        Ok(subscriber)
    }

    fn register(
        &self,
        takes: Takes,
        group: Option<u64>,
        bridge: Option<u64>,
        slabs: Wish,
    ) -> Result<(), PortError> {
        let core = &self.handle.core;
        let mut state = core.lock();
        if core.refuses_misfits()
            && let Some((publisher, reason)) = local_conflict(&state.publishers, &self.info)
        {
            return Err(registration::mismatch(core, &publisher, &self.info, reason));
        }
        // Only the ring has the history that a transient-local subscriber may miss, and only it
        // tells an untyped one the type.
        let linked = !self.info.qos.is_transient_local() && takes.any().is_none();
        let wake = self.bell.as_ref().map(Input::wake);
        let subscriber = LocalSubscriber {
            info: self.info.clone(),
            takes,
            back_pressure: self.back_pressure,
            mailbox: Arc::clone(&self.mailbox),
            wake,
            group: group.filter(|_| linked).or(bridge),
            depth: Depth::Own,
            slabs,
            events: self.events.clone(),
        };
        subscribing_side::add_subscriber(core, &mut state, subscriber);
        core.publish(state);
        Ok(())
    }

    pub(crate) fn topic(&self) -> &str {
        &self.info.topic
    }

    pub(crate) fn info(&self) -> &PortInfo {
        &self.info
    }

    /// What names it across processes.
    pub(crate) fn gid(&self) -> [u8; 16] {
        self.handle.core.gid(self.info.port)
    }

    /// What happens to it.
    pub(crate) fn events_of(&self) -> PortEvents {
        self.events.clone()
    }

    pub(crate) fn doorbell_index(&self) -> Option<u16> {
        self.bell.as_ref().map(Input::index)
    }

    /// Publishers that it is connected to.
    pub(crate) fn matched(&self) -> usize {
        let state = self.state.borrow();
        let inside = state.connections.iter().filter(|c| c.pair().is_none() && !c.is_gone());
        self.mailbox.matched() + inside.count()
    }

    /// The same without publishers of processes outside our run. Takes the participant's lock.
    pub(crate) fn matched_in_run(&self) -> usize {
        // In this order: what comes in between is one too few, which its news mends.
        let matched = self.matched();
        let state = self.handle.core.lock();
        matched.saturating_sub(subscribing_side::outsiders(&state, self.info.port))
    }

    /// Place of a sample's publisher among those that it is connected to; behind all if it has
    /// gone.
    pub(crate) fn place_of(&self, sample: &RawSample) -> usize {
        let connections = &self.state.borrow().connections;
        let gid = sample.source();
        connections.iter().position(|it| it.gid() == gid).unwrap_or(connections.len())
    }

    /// Whether a publisher elsewhere may be waiting for this subscriber.
    pub(crate) fn is_full(&self, depth: usize) -> bool {
        let state = self.state.borrow();
        state.connections.iter().any(|connection| connection.is_full(depth))
    }

    /// Takes in what the control thread left. One load when there is nothing.
    #[inline]
    pub(crate) fn absorb(&self, state: &mut SubscriberConnections) {
        if self.mailbox.has_notes() {
            self.absorb_notes(state);
        }
    }

    #[cold]
    fn absorb_notes(&self, state: &mut SubscriberConnections) {
        let (notes, lost) = self.mailbox.take();
        self.give_up(lost);
        for note in notes {
            match note {
                Note::Connected(made) => state.add(Connection::ring(*made)),
                Note::Gone(pair) => {
                    let of_pair = |connection: &&mut Connection| connection.pair() == Some(pair);
                    if let Some(connection) = state.connections.iter_mut().find(of_pair) {
                        connection.set_gone();
                    }
                }
            }
        }
        self.prune(state);
        self.bound_gone(state);
    }

    /// Drops connections whose publisher is gone and that are drained.
    fn prune(&self, state: &mut SubscriberConnections) {
        state.connections.retain_mut(|connection| {
            self.count_losses(connection);
            !connection.is_gone() || connection.is_ready()
        });
    }

    /// Counts what was lost, if anything was.
    #[inline]
    fn count_gap(&self, connection: &mut Connection) {
        if connection.take_gap() {
            self.count_losses(connection);
        }
    }

    /// Counts what publishers of the same group have pushed out of full queues since the last call
    /// as skipped; returns how many these were.
    pub(crate) fn take_overflow(&self) -> u64 {
        let mut state = self.state.borrow_mut();
        let overflow = state.connections.iter_mut().map(Connection::take_overflow).sum();
        if overflow > 0 {
            self.pass_over(overflow);
        }
        overflow
    }

    /// Is a message there (or a loss to count)? A few loads.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        !self.lookahead.is_empty() || state.connections.iter().any(Connection::is_ready)
    }

    /// The next message, whatever it is.
    #[inline]
    pub(crate) fn take(&self) -> Result<Option<RawSample>, TakeError> {
        let taken = match self.lookahead.is_empty() {
            false => self.lookahead.pop(),
            true => {
                let mut state = self.state.borrow_mut();
                self.absorb(&mut state);
                self.take_next(&mut state)?
            }
        };
        if let Some(taken) = &taken {
            self.pass(taken);
        }
        Ok(taken)
    }

    #[inline]
    pub(crate) fn pass(&self, taken: &RawSample) {
        self.passed.set(self.passed.get() + 1);
        let stamp_ns = taken.meta().stamp_ns;
        self.last_stamp_ns.set(stamp_ns);
        self.left.set(self.left.get() + 1);
        self.lookahead.pass(taken);
        self.trace.take(|| taken.raw_parts().0.addr(), stamp_ns);
    }

    pub(crate) fn left(&self) -> u64 {
        self.left.get()
    }

    /// Its events.
    pub(crate) fn trace(&self) -> SubscriptionTrace {
        self.trace
    }

    /// The event at the end of a sample that it hands out.
    #[inline]
    pub(crate) fn release(&self) -> ReleaseTrace {
        self.trace.release()
    }

    /// Stamp of the last message handed out or passed over.
    pub(crate) fn last_stamp_ns(&self) -> u64 {
        self.last_stamp_ns.get()
    }

    /// Messages handed out or passed over on request.
    #[inline]
    pub(crate) fn passed(&self) -> u64 {
        self.passed.get()
    }

    /// What is known of the message that [`SubscriberCore::take`] would give.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Meta> {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        if !self.lookahead.is_empty() {
            return self.lookahead.messages().front().map(|taken| taken.meta());
        }
        self.peek_connections(&mut state)
    }

    /// What is known of the next message that is not in the window.
    pub(crate) fn peek_connections(&self, state: &mut SubscriberConnections) -> Option<Meta> {
        let mut best: Option<(bool, Meta)> = None;
        let mut place = 0;
        // Bounded: each turn goes on or drops a connection. It chooses as `choose` does.
        while place < state.connections.len() {
            let connection = &mut state.connections[place];
            match connection.peek() {
                Ok(None) => {}
                Ok(Some(meta)) => {
                    let preferred = !connection.has_waited();
                    let before = |(other, best): (bool, Meta)| {
                        (preferred, meta.stamp_ns) < (other, best.stamp_ns)
                    };
                    if best.is_none_or(before) {
                        best = Some((preferred, meta));
                    }
                }
                Err(error) => {
                    // What the take will say, a look does not.
                    place += usize::from(self.failed(state, place, error).is_err());
                    continue;
                }
            }
            place += 1;
        }
        best.map(|(_, meta)| meta)
    }

    #[inline]
    pub(crate) fn take_next(
        &self,
        state: &mut SubscriberConnections,
    ) -> Result<Option<RawSample>, TakeError> {
        // Each turn either ends or drops a connection or finds that one was lapped meanwhile.
        for _ in 0..2 * state.connections.len() + 1 {
            let place = match state.connections.len() {
                0 => return Ok(None),
                1 => 0,
                _ => match self.choose(state)? {
                    Some(place) => place,
                    None => return Ok(None),
                },
            };
            let connection = &mut state.connections[place];
            match self.take_from(connection) {
                Ok(Some(taken)) if self.passes_over(connection, &taken) => {}
                Ok(Some(taken)) if !taken.meta().marks.any(Marks::EARLY) || self.early.get() => {
                    return Ok(Some(taken));
                }
                Ok(Some(taken)) => match self.finished(connection, taken) {
                    Ok(Some(taken)) => return Ok(Some(taken)),
                    Ok(None) => {}
                    Err(unfinished) => return Err(self.unfinished(state, Some(place), unfinished)),
                },
                Ok(None) if connection.is_gone() => drop(state.connections.remove(place)),
                Ok(None) if state.connections.len() == 1 => return Ok(None),
                Ok(None) => {}
                Err(error) => self.failed(state, place, error)?,
            }
        }
        Ok(None)
    }

    /// Takes from one connection and counts.
    #[inline]
    fn take_from(
        &self,
        connection: &mut Connection,
    ) -> Result<Option<RawSample>, Box<RingTakeError>> {
        let taken = connection.take();
        self.count_gap(connection);
        let Some(raw) = taken? else { return Ok(None) };
        self.entity.add(counter::MESSAGES, 1);
        self.entity.add(counter::BYTES, raw.meta().len as u64);
        self.entity.set(counter::NEWEST_NS, raw.meta().stamp_ns);
        Ok(Some(raw))
    }

    /// Drops a connection, counts what it lost, and reports why.
    fn cut_off(&self, state: &mut SubscriberConnections, place: usize, why: String) {
        self.count_losses(&mut state.connections.remove(place));
        let mut shared = self.handle.core.lock();
        shared.trouble(why);
        self.handle.core.publish(shared);
    }

    /// Can the node get at what the publisher has left in memory of its device? It cannot if it has
    /// just joined and the publisher did not know of it.
    fn reaches(&self, raw: &RawSample) -> bool {
        let (Some(taker), Some(region)) = (self.slabs.get(), raw.region()) else { return false };
        let offset = raw.raw_parts().0.addr() - region.address();
        region.slab_at(offset as u64, 1).is_some_and(|slab| slab.device() == taker.device())
    }

    /// See [`crate::SubscriberHandle::take_slabs`].
    pub(crate) fn take_slabs(&self, taker: Option<Arc<dyn SlabTaker>>) {
        if self.handle.core.in_child() {
            return;
        }
        if let Some(taker) = &taker {
            let _ = self.slabs.set(Arc::clone(taker));
        }
        slab_exchange::decide(&self.handle.core, self.info.port, taker);
    }

    /// Whether messages are handed out while a device still writes them.
    pub(crate) fn hand_out_early(&self, early: bool) {
        self.early.set(early);
    }

    /// A corrupt publisher is cut off, counted and reported, and the caller goes on with the
    /// others: its connection is gone. Every other error is the caller's.
    #[cold]
    fn failed(
        &self,
        state: &mut SubscriberConnections,
        place: usize,
        error: Box<RingTakeError>,
    ) -> Result<(), TakeError> {
        if !matches!(*error, RingTakeError::Corrupt { .. }) {
            return Err(TakeError::Ring(error));
        }
        self.cut_off(state, place, error.to_string());
        Ok(())
    }

    /// Which of several connections is next: one that has waited long enough, else the smallest
    /// stamp.
    fn choose(&self, state: &mut SubscriberConnections) -> Result<Option<usize>, TakeError> {
        let mut best: Option<(bool, u64, usize)> = None;
        let mut place = 0;
        // Bounded: each turn goes on or drops a connection.
        while place < state.connections.len() {
            let connection = &mut state.connections[place];
            match connection.peek() {
                Ok(None) if connection.is_gone() => {
                    self.count_losses(connection);
                    drop(state.connections.remove(place));
                    continue;
                }
                Ok(None) => {}
                Ok(Some(Meta { stamp_ns, .. })) => {
                    let candidate = (!connection.has_waited(), stamp_ns, place);
                    if best.is_none_or(|best| candidate < best) {
                        best = Some(candidate);
                    }
                }
                Err(error) => {
                    self.failed(state, place, error)?;
                    continue;
                }
            }
            place += 1;
        }
        let Some((_, _, chosen)) = best else { return Ok(None) };
        for (place, connection) in state.connections.iter_mut().enumerate() {
            if place != chosen && connection.is_ready() {
                connection.pass_over();
            }
        }
        Ok(Some(chosen))
    }

    /// The message with the largest stamp; the others are passed over and counted as skipped.
    pub(crate) fn latest(&self) -> Result<Option<RawSample>, TakeError> {
        let newest = self.find_newest()?;
        if let Some(newest) = &newest {
            self.pass(newest);
        }
        Ok(newest)
    }

    /// The message with the largest stamp, which has not left the input yet; the others have.
    pub(crate) fn find_newest(&self) -> Result<Option<RawSample>, TakeError> {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        // Bounded: each turn but the last drops a connection.
        while let Some(newest) = self.choose_newest(&mut state)? {
            // What it holds may be what the take needs.
            self.skip_window();
            let connection = &mut state.connections[newest];
            let taken = match self.take_from(connection) {
                Ok(taken) => taken,
                Err(error) => {
                    self.failed(&mut state, newest, error)?;
                    continue;
                }
            };
            self.skip_all_but(&mut state, newest);
            let Some(taken) = taken else {
                // Overtaken between the two looks.
                return Ok(None);
            };
            let connection = &state.connections[newest];
            if self.passes_over(connection, &taken) {
                return Ok(None);
            }
            if !taken.meta().marks.any(Marks::EARLY) || self.early.get() {
                return Ok(Some(taken));
            }
            let finished = self.finished(connection, taken);
            return finished.map_err(|it| self.unfinished(&mut state, Some(newest), it));
        }
        Ok(self.newest_of_window())
    }

    /// Which of the connections has the message with the largest stamp. Older ones of each are
    /// passed over.
    fn choose_newest(&self, state: &mut SubscriberConnections) -> Result<Option<usize>, TakeError> {
        let mut newest: Option<(u64, usize)> = None;
        let mut place = 0;
        // Bounded: each turn goes on or drops a connection.
        while place < state.connections.len() {
            let connection = &mut state.connections[place];
            let peeked = connection.skip_to_newest().and_then(|skipped| {
                self.pass_over(skipped);
                connection.peek()
            });
            match peeked {
                Ok(Some(meta)) if newest.is_none_or(|(stamp, _)| meta.stamp_ns >= stamp) => {
                    newest = Some((meta.stamp_ns, place));
                }
                Ok(_) => {}
                Err(error) => {
                    self.failed(state, place, error)?;
                    continue;
                }
            }
            place += 1;
        }
        Ok(newest.map(|(_, place)| place))
    }

    /// Passes over the message of each connection but one, and counts what all of them have lost.
    fn skip_all_but(&self, state: &mut SubscriberConnections, newest: usize) {
        for (place, connection) in state.connections.iter_mut().enumerate() {
            if place != newest && matches!(connection.skip(), Ok(true)) {
                self.pass_over(1);
            }
            self.count_gap(connection);
        }
    }

    /// Messages have left the input on request, untaken.
    fn pass_over(&self, skipped: u64) {
        self.entity.add(counter::SKIPPED, skipped);
        self.passed.set(self.passed.get() + skipped);
    }

    /// The newest message that was looked at; the others are passed over.
    fn newest_of_window(&self) -> Option<RawSample> {
        while self.lookahead.len() > 1 {
            let Some(older) = self.lookahead.pop() else { break };
            self.pass(&older);
            // It counts as taken already; nobody will process it.
            self.entity.add(counter::SKIPPED, 1);
            self.entity.add(counter::PROCESSED, 1);
        }
        self.lookahead.pop()
    }

    /// Adds to a counter of this subscriber.
    pub(crate) fn add(&self, counter: usize, more: u64) {
        self.entity.add(counter, more);
    }

    /// Whether the control thread has left something.
    pub(crate) fn has_notes(&self) -> bool {
        self.mailbox.has_notes()
    }

    pub(crate) fn reading(&self) -> Reading {
        self.reading.get()
    }

    pub(crate) fn set_reading(&self, reading: Reading) {
        self.reading.set(reading);
    }

    /// Messages that can wait on all its connections together.
    pub(crate) fn waiting_max(&self) -> usize {
        let connections = self.state.borrow().connections.len();
        self.lookahead.len() + self.info.qos.depth * connections.max(1)
    }

    /// Passes over the next message; false when there is none.
    pub(crate) fn skip(&self) -> Result<bool, TakeError> {
        let skipped = self.take()?;
        if skipped.is_some() {
            self.entity.add(counter::SKIPPED, 1);
            self.entity.add(counter::PROCESSED, 1);
        }
        Ok(skipped.is_some())
    }

    /// `header.stamp` of the next message, which stays the next one.
    pub(crate) fn peek_header_stamp(
        &self,
        offset: Option<usize>,
    ) -> Result<Option<(i32, u32)>, TakeError> {
        let Some(offset) = offset else { return Ok(None) };
        if self.lookahead.is_empty() {
            let mut state = self.state.borrow_mut();
            self.absorb(&mut state);
            match self.take_next(&mut state)? {
                Some(taken) => self.lookahead.push(taken),
                None => return Ok(None),
            }
        }
        Ok(self.lookahead.header_stamp_at(0, offset))
    }

    /// Arms the doorbells of all publishers; true when a message is there already.
    pub(crate) fn arm(&self) -> bool {
        self.arm_behind_window() || !self.lookahead.is_empty()
    }

    pub(crate) fn counter(&self, counter: usize) -> u64 {
        self.entity.value(counter)
    }

    /// Nothing will be taken any more: no publisher elsewhere waits for this subscriber. What the
    /// status table says of it and its connections stays.
    pub(crate) fn leave(&self) {
        let mut state = self.state.borrow_mut();
        self.absorb(&mut state);
        state.connections.iter_mut().for_each(Connection::leave);
    }

    /// Ends all connections, for good: nothing comes any more, nobody waits for this subscriber.
    pub(crate) fn close(&self) {
        if self.closed.replace(true) || self.handle.core.in_child() {
            return;
        }
        let unseen = self.mailbox.close();
        let connections = std::mem::take(&mut self.state.borrow_mut().connections);
        self.lookahead.clear();
        // What was looked at and not taken is done with.
        self.mark_processed();
        drop((connections, unseen));
        let core = &self.handle.core;
        let mut state = core.lock();
        // A publisher of this process counts it no more when this returns.
        subscribing_side::hear_of_pairs(core, &mut state);
        subscribing_side::remove_subscriber(&mut state, self.info.port);
        core.publish(state);
        self.events.close();
    }
}

impl LinkedSubscriber for SubscriberCore {
    fn info(&self) -> &PortInfo {
        &self.info
    }

    fn is_triggering(&self) -> bool {
        self.bell.is_some()
    }

    fn events(&self) -> PortEvents {
        self.events.clone()
    }

    fn refuses_inside(&self) -> bool {
        self.info.qos.is_reliable() && self.back_pressure == BackPressure::All
    }

    fn add_connection(&self, connection: Connection) {
        self.state.borrow_mut().add(connection);
        self.handle.core.publish(self.handle.core.lock());
    }
}

impl Drop for SubscriberCore {
    fn drop(&mut self) {
        self.close();
    }
}
