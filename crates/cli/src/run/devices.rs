//! Topics as nodes on devices have them: rows of the closing table. It must not know how messages get
//! to a device.

use super::figures::hosted;
use crate::summary::DeviceRow;
use crossdock_comm::entities::{counter, kind};
use crossdock_comm::{EntitySnapshot, ProcessSnapshot};

/// One row for each topic of each node that leaves its work to a device.
pub(super) fn rows(boards: &[ProcessSnapshot]) -> Vec<DeviceRow> {
    let row = |(record, detail): (&EntitySnapshot, String)| {
        let mut parts = detail.split('\n').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        let (node, device, model, reason) = (part(), part(), part(), part());
        let ports = boards.iter().flat_map(|it| it.publishers.iter().chain(&it.subscribers));
        let ports = ports.filter(|it| it.topic == record.name && it.node == node);
        // What came by a service is counted beside the record: its port has no such counters.
        let sum = |index: usize| {
            record.counters[index] + ports.clone().map(|it| it.counters[index]).sum::<u64>()
        };
        let (copies, copied_bytes) = (sum(counter::COPIES), sum(counter::COPIED_BYTES));
        DeviceRow { topic: record.name.clone(), node, device, model, reason, copies, copied_bytes }
    };
    hosted(boards, kind::DEVICE_TOPIC).map(row).collect()
}
