//! Where a topic's payloads lie on a device, as observers see it.

use crossdock_comm::status_records::{counter, device_counter, kind};
use crossdock_comm::{Entity, EntityDescription, StatusTable, WithHistogram};
use crossdock_shm::status::AddEntityError;
use std::cell::Cell;
use std::collections::BTreeSet;

/// The topics for which a queue has memory of the device of its own.
pub(crate) type OwnTopics = BTreeSet<String>;

/// What observers see of a topic of one node: the record of its way to the device.
#[derive(Debug)]
pub(crate) struct Resident {
    record: Entity,
    /// What does not change any more has been told.
    is_told: Cell<bool>,
}

impl Resident {
    /// Shows observers the way of a topic: node, device, way, and reason. Allocates.
    pub(crate) fn new(
        status_table: &StatusTable,
        topic: &str,
        said: [&str; 4],
    ) -> Result<Self, AddEntityError> {
        let record = status_table.add(EntityDescription {
            kind: kind::DEVICE_TOPIC,
            name: topic,
            detail: said.join("\n").as_bytes(),
            histogram: WithHistogram::No,
        })?;
        Ok(Self { record, is_told: Cell::new(false) })
    }

    /// Payloads are on the device for all who use them there: their publisher has them there, or a
    /// buffer's owner. One branch but the first time.
    pub(crate) fn is_shared(&self) {
        if !self.is_told.replace(true) {
            self.record.add(device_counter::SHARED, 1);
        }
    }

    /// The queue has memory of its own for payloads of the topic. It counts once, whichever of its
    /// nodes fills it. As [`Resident::is_shared`].
    pub(crate) fn is_own(&self, topics: &mut OwnTopics, topic: &str) {
        if !self.is_told.replace(true) && topics.insert(topic.to_owned()) {
            self.record.add(device_counter::OWN, 1);
        }
    }

    /// Something was copied that no port counts.
    pub(crate) fn count_copied(&self, bytes: u64) {
        self.record.add(counter::COPIES, 1);
        self.record.add(counter::COPIED_BYTES, bytes);
    }

    /// One more message is not in memory of the host.
    pub(crate) fn count_away(&self) {
        self.record.add(device_counter::AWAY, 1);
    }
}
