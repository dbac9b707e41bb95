//! The subscribing half of a service's port: one lane for each publisher on the other side. A
//! client has a lane for its server, a server one for each client.
//!
//! Unlike a topic's subscriber (`port::subscriber_core`) it does not merge its lanes, because it
//! matters whose message it is.

use std::cell::RefCell;
use std::sync::Arc;

use crossdock_msg::FlatError;
use crossdock_shm::RawSample;
use crossdock_shm::status::Entity;

use crate::device::slabs::Wish;
use crate::discovery::handover::Counterpart;
use crate::discovery::local_ports::{Depth, LocalSubscriber, Takes, Wake};
use crate::discovery::mailbox::{Mailbox, Note};
use crate::discovery::participant::{Participant, ParticipantHandle};
use crate::discovery::port_events::PortEvents;
use crate::discovery::subscribing_side::{self, local_conflict};
use crate::error::{PortError, TakeError};
use crate::port::connection::Connection;
use crate::port::doorbell::Input;
use crate::port::message_type::MessageType;
use crate::port::registration::{self, NewPort};
use crate::wire::names::NameKind;
use crate::wire::port_info::PortInfo;
use crate::wire::qos::{BackPressure, Qos};
use crate::wire::status_records::{counter, kind};

/// One publisher on the other side, and what the port keeps of it.
pub(crate) struct ServiceLane<X> {
    pub(crate) connection: Connection,
    pub(crate) counterpart: Arc<Counterpart>,
    pub(crate) extra: X,
}

/// What a port's lanes are made from.
pub(crate) struct ServiceLanesPlan<'a> {
    pub(crate) node: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) qos: Qos,
    pub(crate) message: MessageType<'a>,
    pub(crate) doorbell: Option<Input>,
}

/// See the head of this file.
pub(crate) struct ServiceLanes<X> {
    handle: Arc<ParticipantHandle>,
    info: PortInfo,
    entity: Entity,
    mailbox: Arc<Mailbox>,
    bell: Option<Input>,
    lanes: RefCell<Vec<ServiceLane<X>>>,
}

impl<X> ServiceLanes<X> {
    pub(crate) fn create(
        participant: &Participant,
        plan: ServiceLanesPlan<'_>,
    ) -> Result<ServiceLanes<X>, PortError> {
        let ServiceLanesPlan { node, topic, qos, message, .. } = plan;
        let port = NewPort { node, topic, topic_kind: NameKind::Inner, qos, message };
        port.check()?;
        let core = &participant.handle.core;
        let info = port.describe(core);
        let entity = registration::record(core, kind::SUBSCRIBER, &info)?;
        let lanes = ServiceLanes {
            handle: Arc::clone(&participant.handle),
            info,
            entity,
            mailbox: Arc::default(),
            bell: plan.doorbell,
            lanes: RefCell::default(),
        };
        lanes.register(message.definition.into())?;
        Ok(lanes)
    }

    fn register(&self, definition: Arc<str>) -> Result<(), PortError> {
        let core = &self.handle.core;
        let mut state = core.lock();
        if let Some((publisher, reason)) = local_conflict(&state.publishers, &self.info) {
            return Err(registration::mismatch(core, &publisher, &self.info, reason));
        }
        let subscriber = LocalSubscriber {
            info: self.info.clone(),
            takes: Takes::One(definition),
            back_pressure: BackPressure::All,
            mailbox: Arc::clone(&self.mailbox),
            wake: self.wake(),
            group: None,
            depth: Depth::OfPublisher,
            slabs: Wish::No,
            events: PortEvents::new(&core.callbacks),
        };
        subscribing_side::add_subscriber(core, &mut state, subscriber);
        core.publish(state);
        Ok(())
    }

    /// Where the executor is rung for this port.
    pub(crate) fn wake(&self) -> Option<Wake> {
        self.bell.as_ref().map(Input::wake)
    }

    pub(crate) fn doorbell_index(&self) -> Option<u16> {
        self.bell.as_ref().map(Input::index)
    }

    /// Number of the port.
    pub(crate) fn port(&self) -> u64 {
        self.info.port
    }

    pub(crate) fn handle(&self) -> &Arc<ParticipantHandle> {
        &self.handle
    }

    /// Takes in what the control thread left: `make` says what to keep of somebody new (`None`: let
    /// go again), `lost` hears of lanes that have ended. A few loads when there is nothing. `keep`:
    /// whether a lane whose publisher has gone still stays.
    #[inline]
    pub(crate) fn absorb(
        &self,
        keep: impl Fn(&Connection) -> bool,
        mut make: impl FnMut(&Arc<Counterpart>) -> Option<X>,
        mut lost: impl FnMut(ServiceLane<X>),
    ) {
        if self.mailbox.has_notes() {
            // Nobody waits for answers to requests that were given up with their clients.
            let (notes, _) = self.mailbox.take();
            for note in notes {
                match note {
                    Note::Connected(made) => {
                        let counterpart = Arc::new(made.counterpart.clone());
                        let connection = Connection::ring(*made);
                        let Some(extra) = make(&counterpart) else { continue };
                        self.lanes.borrow_mut().push(ServiceLane {
                            connection,
                            counterpart,
                            extra,
                        });
                    }
                    Note::Gone(pair) => {
                        let mut lanes = self.lanes.borrow_mut();
                        let of_pair =
                            lanes.iter_mut().filter(|lane| lane.connection.pair() == Some(pair));
                        of_pair.for_each(|lane| lane.connection.set_gone());
                    }
                }
            }
        }
        // Few lanes are ever gone, and then for one look.
        while let Some(lane) = self.take_ended(&keep) {
            lost(lane);
        }
    }

    fn take_ended(&self, keep: impl Fn(&Connection) -> bool) -> Option<ServiceLane<X>> {
        let mut lanes = self.lanes.borrow_mut();
        let ended =
            lanes.iter().position(|lane| lane.connection.is_gone() && !keep(&lane.connection))?;
        Some(lanes.remove(ended))
    }

    /// Is there anything new from the control thread? One load.
    pub(crate) fn has_notes(&self) -> bool {
        self.mailbox.has_notes()
    }

    /// The lanes, oldest first.
    pub(crate) fn lanes(&self) -> std::cell::Ref<'_, Vec<ServiceLane<X>>> {
        self.lanes.borrow()
    }

    pub(crate) fn lanes_mut(&self) -> std::cell::RefMut<'_, Vec<ServiceLane<X>>> {
        self.lanes.borrow_mut()
    }

    /// Are the messages of a lane copied when they are taken? Nobody changes them then.
    pub(crate) fn is_copied(&self, place: usize) -> bool {
        self.lanes.borrow().get(place).is_some_and(|lane| lane.connection.is_copied())
    }

    /// The next message of a lane; counted. A publisher that broke the protocol is cut off and
    /// reported, and nothing comes of it any more: it is no error of this port, whose other lanes
    /// go on.
    pub(crate) fn take(&self, place: usize) -> Result<Option<RawSample>, TakeError> {
        let mut lanes = self.lanes.borrow_mut();
        let Some(lane) = lanes.get_mut(place) else { return Ok(None) };
        match lane.connection.take() {
            Ok(None) => Ok(None),
            Ok(Some(raw)) => {
                if lane.connection.is_copied() {
                    self.entity.add(counter::COPIES, 1);
                }
                self.entity.add(counter::MESSAGES, 1);
                self.entity.add(counter::BYTES, raw.meta().len as u64);
                Ok(Some(raw))
            }
            Err(error) => {
                if matches!(*error, crossdock_shm::TakeError::Corrupt { .. }) {
                    lane.connection.set_gone();
                    self.entity.add(counter::LOST_CORRUPT, 1);
                    self.report(error.to_string());
                    return Ok(None);
                }
                Err(TakeError::Ring(error))
            }
        }
    }

    /// Tells observers of trouble with somebody on the other side. Takes the participant's lock.
    #[cold]
    fn report(&self, sentence: String) {
        let mut shared = self.handle.core.lock();
        shared.trouble(sentence);
        self.handle.core.publish(shared);
    }

    /// What was taken has been dealt with, but for `open` messages.
    pub(crate) fn mark_processed(&self, open: u64) {
        let taken = self.entity.value(counter::MESSAGES);
        self.entity.set(counter::PROCESSED, taken.saturating_sub(open));
    }

    /// A message that was no message of the type was passed over.
    fn count_corrupt(&self) {
        self.entity.add(counter::LOST_CORRUPT, 1);
    }

    /// The same, and reports whose the first one was.
    #[cold]
    pub(crate) fn pass_damaged(&self, service: &str, seq: u64, source: &FlatError, sender: &str) {
        self.count_corrupt();
        self.report_once(
            format!("damaged: {service}"),
            format!(
                "topic `{service}`: message {seq} is damaged: {source}; it was passed over; it came from \
                 {sender}. Others like it are counted as corrupt, and not told"
            ),
        );
    }

    /// Tells observers of the first trouble of a kind. Takes the participant's lock.
    #[cold]
    pub(crate) fn report_once(&self, kind: String, sentence: String) {
        let mut shared = self.handle.core.lock();
        shared.trouble_once_for(kind, sentence);
        self.handle.core.publish(shared);
    }

    /// Messages that have come since the last call.
    pub(crate) fn take_arrived(&self) -> u64 {
        self.lanes.borrow_mut().iter_mut().map(|lane| lane.connection.take_arrived()).sum()
    }

    /// What names the port across processes.
    pub(crate) fn gid(&self) -> [u8; 16] {
        self.handle.core.gid(self.info.port)
    }

    /// Arms the doorbells of all publishers; true when something is there already.
    pub(crate) fn arm(&self) -> bool {
        let lanes = self.lanes.borrow();
        let ready = lanes.iter().fold(false, |ready, lane| lane.connection.arm() | ready);
        ready || self.mailbox.has_notes()
    }
}

impl<X> Drop for ServiceLanes<X> {
    fn drop(&mut self) {
        let unseen = self.mailbox.close();
        self.lanes.get_mut().clear();
        drop(unseen);
        let core = &self.handle.core;
        let mut state = core.lock();
        subscribing_side::remove_subscriber(&mut state, self.info.port);
        core.publish(state);
    }
}
