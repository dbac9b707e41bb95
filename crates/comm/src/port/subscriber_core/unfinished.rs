//! Messages that a device still writes: how long a subscriber waits for them, and what it does to a
//! publisher that never finishes one.

use std::time::Duration;

use crossdock_shm::RawSample;
use crossdock_shm::faults::{self, fault};
use crossdock_shm::timeline::FencePoint;

use super::{SubscriberConnections, SubscriberCore};
use crate::device::fence::{Unreached, wait_reached};
use crate::error::{TakeError, UnfinishedPayload};
use crate::port::connection::Connection;

impl SubscriberCore {
    /// Waits until the device that writes a message is done with it. Blocks, mostly for as long as
    /// the device computes. `None`: its publisher is gone, and with it the message, which is
    /// counted.
    #[cold]
    pub(super) fn finished(
        &self,
        connection: &Connection,
        taken: RawSample,
    ) -> Result<Option<RawSample>, Box<UnfinishedPayload>> {
        let Some(point) = taken.finish_point() else { return Ok(Some(taken)) };
        match self.wait_finished(taken.seq(), &point, || connection.is_alive()) {
            Ok(()) => Ok(Some(taken)),
            Err(unfinished) if unfinished.publisher_gone => Ok(None),
            Err(unfinished) => Err(unfinished),
        }
    }

    /// A publisher for which one had to wait for too long is cut off: one that never finishes
    /// anything stops an executor once.
    #[cold]
    pub(super) fn unfinished(
        &self,
        state: &mut SubscriberConnections,
        place: Option<usize>,
        unfinished: Box<UnfinishedPayload>,
    ) -> TakeError {
        if let Some(place) =
            place.filter(|_| unfinished.timed_out && !faults::is(fault::WAITED_FOR_EVER))
        {
            self.cut_off(state, place, format!("{unfinished}, and its publisher is cut off"));
        }
        TakeError::Unfinished(unfinished)
    }

    /// Where the messages of a fence point come from.
    fn source_of(&self, point: &FencePoint) -> Option<usize> {
        let state = self.state.borrow();
        state.connections.iter().position(|connection| connection.is_source_of(point))
    }

    /// The same for a message that was handed out before.
    pub(crate) fn await_device(&self, seq: u64, point: &FencePoint) -> Result<(), TakeError> {
        self.wait_finished(seq, point, || self.has_source(point)).map_err(|unfinished| {
            let place = self.source_of(point);
            self.unfinished(&mut self.state.borrow_mut(), place, unfinished)
        })
    }

    /// See [`crate::SubscriberHandle::await_uploaded`].
    pub(crate) fn await_uploaded(&self, point: &FencePoint) -> bool {
        let waited = wait_reached(point, self.patience.get(), || self.has_source(point));
        if waited == Err(Unreached::TimedOut)
            && !faults::is(fault::WAITED_FOR_EVER)
            && let Some(place) = self.source_of(point)
        {
            let topic = self.topic();
            let why = format!(
                "topic `{topic}`: a message was not uploaded to its device in time, and its publisher is \
                 cut off"
            );
            self.cut_off(&mut self.state.borrow_mut(), place, why);
        }
        waited.is_ok()
    }

    /// How long it waits for a device.
    pub(crate) fn set_device_patience(&self, patience: Duration) {
        self.patience.set(patience);
    }

    /// Is the publisher of a fence point there? One that has taken the place of another finishes
    /// nothing of what the other has left. A connection that has been dropped is of nobody who is
    /// there.
    fn has_source(&self, point: &FencePoint) -> bool {
        let state = self.state.borrow();
        let mut alive = state.connections.iter().filter(|connection| connection.is_alive());
        alive.any(|connection| connection.is_local() || connection.is_source_of(point))
    }

    fn wait_finished(
        &self,
        seq: u64,
        point: &FencePoint,
        is_alive: impl Fn() -> bool,
    ) -> Result<(), Box<UnfinishedPayload>> {
        let Err(why) = wait_reached(point, self.patience.get(), &is_alive) else { return Ok(()) };
        self.count_corrupt();
        let (topic, publisher_gone) = (self.topic().to_owned(), !is_alive());
        let timed_out = why == Unreached::TimedOut;
        let why = why.text();
        Err(Box::new(UnfinishedPayload { topic, seq, why, publisher_gone, timed_out }))
    }
}
