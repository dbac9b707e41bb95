//! Where a topic's payloads lie on a device, as observers see it. Must not know how they get there.

use crossdock_comm::Entity;
use crossdock_comm::entities::device_counter;
use std::cell::Cell;
use std::collections::BTreeSet;

/// The topics of which a queue has memory of the device for itself.
pub(crate) type OwnTopics = BTreeSet<String>;

/// What observers see of a topic of one node: the record of its way to the device.
#[derive(Debug)]
pub(crate) struct Resident {
    record: Entity,
    /// What does not change any more has been told.
    is_told: Cell<bool>,
}

impl Resident {
    pub(crate) fn new(record: Entity) -> Self {
        Self { record, is_told: Cell::new(false) }
    }

    /// The publisher has payloads on the device for all who read them there. One branch but the first time.
    pub(crate) fn is_shared(&self) {
        if !self.is_told.replace(true) {
            self.record.add(device_counter::SHARED, 1);
        }
    }

    /// The queue has memory of its own for payloads of the topic, which counts once, whoever of its nodes fills it.
    /// As [`Resident::is_shared`].
    pub(crate) fn is_own(&self, topics: &mut OwnTopics, topic: &str) {
        if !self.is_told.replace(true) && topics.insert(topic.to_owned()) {
            self.record.add(device_counter::OWN, 1);
        }
    }

    /// One more message is not in memory of the host.
    pub(crate) fn count_away(&self) {
        self.record.add(device_counter::AWAY, 1);
    }
}
